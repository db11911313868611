# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of a run's life share: a directory to work in, who runs, and what may be left (nothing).
#
#   BASE  a new directory; W: the one to work in; O: one outside; HOME: a home of its own
#   AS    the words before a command that make it run as the current "who"

# shellcheck source=tests/lib/need.bash
. "$ABX_SOURCE/tests/lib/need.bash"
# shellcheck source=tests/lib/wait.bash
. "$ABX_SOURCE/tests/lib/wait.bash"

life_setup() {
    BASE=$(mktemp -d /var/tmp/abx-life-XXXXXX)
    chmod 755 "$BASE"
    W=$BASE/work O=$BASE/outside
    export HOME=$BASE/home
    unset XDG_STATE_HOME XDG_RUNTIME_DIR XDG_CONFIG_HOME
    mkdir "$W" "$O" "$HOME"
    MARK=$((RANDOM * 32768 + RANDOM)) # in the arguments of what must not survive: sleep 5000.MARK
    BACKGROUND=()
    life_as user
    cd "$W" || return 1
}

# Ends what a failed test left; only what it started itself.
life_teardown() {
    local pid

    for pid in "${BACKGROUND[@]}"; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    marked | xargs -r kill -KILL 2>/dev/null || true
    cd /
    rm -rf -- "$BASE"
}

# life_as user|root: who runs from now on, also where the tests themselves run under nohup. Root's files
# in W go to the new one.
life_as() {
    AS=(env --default-signal=HUP)
    [ "$(id -u)" -eq 0 ] || return 0
    case $1 in
    user)
        AS=(setpriv --reuid=1001 --regid=1001 --clear-groups "${AS[@]}")
        chown -R 1001:1001 "$W" "$HOME"
        ;;
    root) chown -R 0:0 "$W" "$HOME" ;;
    esac
}

# Those that this run of the tests can play.
everybody() {
    if [ "$(id -u)" -eq 0 ]; then echo user root; else echo user; fi
}

box() {
    "${AS[@]}" "$AGENTBOX" run --approve yes "$@"
}

# box_start ARGS…: in the background; its pid (the program's own) is in BOX.
box_start() {
    "${AS[@]}" "$AGENTBOX" run --approve yes "$@" 3>&- &
    BOX=$!
    BACKGROUND+=("$BOX")
}

# box_end: waits for it; the status is in status, as with run.
# shellcheck disable=SC2034
box_end() {
    status=0
    wait "$BOX" || status=$?
}

# What runs inside with the mark (agentbox has it in its arguments too).
marked() {
    pgrep -f "^(sleep|sh|bash|\\[kworker\\]) .*5000\\.$MARK" || true
}

# within SECONDS CONDITION…: becomes true in time.
within() {
    local rounds=$(($1 * 50))

    shift
    until "$@" >/dev/null 2>&1; do
        rounds=$((rounds - 1))
        [ "$rounds" -gt 0 ] || {
            echo "not in time: $1"
            return 1
        }
        sleep 0.02
    done
}

keeper_of() { # keeper_of PID: the launcher that the program PID started
    pgrep -P "$1" -x agentbox-keeper
}

init_of() { # init_of PID: the first process of its sandbox, as the host sees it
    pgrep -P "$(keeper_of "$1")"
}

launchers() { # but those of whoever works in another directory, as far as that can be seen
    local pid where

    for pid in $((pgrep -x 'agentbox-(keeper|init)'; pgrep -f '^agentbox-launcher ') | sort -u); do
        where=$(readlink "/proc/$pid/cwd") || where=$W
        [ "$where" != "$W" ] && [ "$where" != / ] || echo "$pid"
    done
}

none_marked() {
    [ -z "$(marked)" ]
}

gone() { # gone PID…: none of them lives; one that only waits for its new parent to notice does not
    local pid

    for pid in "$@"; do
        [ ! -e "/proc/$pid" ] || grep -q '^State:.Z' "/proc/$pid/status" 2>/dev/null ||
            [ ! -e "/proc/$pid" ] || return 1
    done
}

# Names of what lies in W, and what they are.
entries() {
    find "$W" -mindepth 1 -printf '%y %m %s %p\n' | sort
}

# Right now: no process of the test inside, nothing in W but what is named.
nothing_left() {
    local left

    left=$(find "$W" -mindepth 1 -printf '%P\n' | sort | tr '\n' ' ')
    [ "$left" = "${*:+$* }" ] || {
        echo "in the directory: $left"
        return 1
    }
    none_marked || {
        echo "still alive: $(marked)"
        return 1
    }
}
