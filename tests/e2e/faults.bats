#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2119
# Every system call that the launcher depends on is made to fail once (ABX_FAULT, src/linux/fault.c): the
# command never runs, the error names a step, nothing is left. A sweep goes on well beyond the first
# run that passes, so that a fault which is swallowed in the middle shows as a run that passes too early.

# A sweep is several hundred runs.
BATS_TEST_TIMEOUT=$((${BATS_TEST_TIMEOUT:-60} * 5))

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
    BACKEND=(--backend native)
    CANARY=canary
}

teardown() {
    life_teardown
}

# Right after a run. What lives on is looked for after a sweep: that takes longer than the run.
no_files() {
    [ -z "$(find "$W" -mindepth 1)" ]
}

no_launchers() { # of the runs here
    local pid
    for pid in $(pgrep -x 'agentbox-(keeper|init)'); do
        [ "$(readlink "/proc/$pid/cwd")" != "$W" ] || return 1
    done
}

STEP=$'\nagentbox: [^\n]*(step \'[a-z]+\'|execute)' # at the start of a line

# one ROLE N ARGS…: one run with that fault; 0 if it failed as it should, 1 if it passed, 2 if neither.
# The back end is named: auto would try another one.
one() {
    local role=$1 n=$2 rc=0 said

    shift 2
    rm -f "$CANARY"
    "${AS[@]}" env "ABX_FAULT=$role:$n" timeout 10 "$AGENTBOX_TESTING" run "${BACKEND[@]}" "$@" -- sh -c "echo ran >$CANARY" \
        >/dev/null 2>"$O/err" </dev/null || rc=$?
    if [ "$rc" -eq 0 ] && [ -e "$CANARY" ] && [ "$(<"$CANARY")" = ran ]; then
        return 1
    fi
    said=$(<"$O/err")
    if [ -e "$CANARY" ]; then
        echo "$role:$n: the command ran, yet the status is $rc: $said"
        return 2
    fi
    if ! [[ $rc =~ ^12[567]$ && $'\n'$said =~ $STEP ]]; then
        echo "$role:$n: status $rc, no step in: $said"
        return 2
    fi
    if ! no_files; then
        echo "$role:$n: something is left"
        return 2
    fi
}

# sweep ROLE LAST ARGS…: faults 1…LAST; fails for each that is not as it should be.
sweep() {
    local role=$1 last=$2 n rc passed=0 wrong=0 early=

    shift 2
    in_bulk
    for n in $(seq 1 "$last"); do
        rc=0
        one "$role" "$n" "$@" || rc=$?
        case $rc in
        0)
            if [ "$passed" -gt 0 ]; then
                echo "$role: a fault before $n was swallowed: runs$early passed"
                wrong=1 passed=0 early=
            fi
            ;;
        1)
            passed=$((passed + 1)) early="$early $n"
            # 25 in a row without the fault being noticed: it is past the last call.
            [ "$passed" -lt 25 ] || break
            ;;
        *) wrong=1 ;;
        esac
    done
    rm -f "$CANARY"
    within 20 no_launchers || wrong=1
    echo "# $role, as ${who:-user}: $((n - passed)) calls" >&3
    [ "$passed" -ge 25 ] || {
        echo "$role: no end after $last calls"
        return 1
    }
    [ "$((n - passed))" -ge 1 ] || {
        echo "$role: not a single fault was seen"
        return 1
    }
    return "$wrong"
}

@test "each call of the keeper fails once: the command never runs" {
    for who in $(everybody); do
        life_as "$who"
        sweep keeper 100
    done
}

@test "each call of pid 1 fails once, as user: the command never runs" {
    life_as user
    sweep init 900
}

@test "each call of pid 1 fails once, as root: the command never runs" {
    need_root "needs root"
    who=root
    life_as root
    sweep init 900
}

@test "each call of pid 1 fails once, with more rules, host network and /tmp: the command never runs" {
    mkdir -p "$W/sub/deep" "$O/rw"
    echo >"$W/sub/file"
    chmod 777 "$O/rw"
    life_as user
    no_files() { :; }
    sweep init 1200 --rw "$O/rw" --ro "$W/sub" --exclude "$W/sub/file" --exclude "$W/absent/x" \
        --network allowed --tmp host
}

@test "each call of the command's last steps fails once: it never runs" {
    for who in $(everybody); do
        life_as "$who"
        sweep command 100
    done
}

# Rules of what may vanish meanwhile are left out if they fail: those of the command, and where pid 1
# relays connections its own.
@test "without namespaces each call of keeper and pid 1 fails once: the command never runs" {
    BACKEND=(--backend landlock --set fallbackPolicy=warn --network blocked)
    CANARY=sub/canary # Landlock alone lets no name be made at the top
    mkdir "$W/sub"
    no_files() { [ -z "$(find "$W/sub" -mindepth 1)" ]; }
    for who in $(everybody); do
        life_as "$who"
        sweep keeper 100
        sweep init 900
    done
}

@test "without a fault the same program runs" {
    rc=0
    one nobody 1 || rc=$?
    [ "$rc" -eq 1 ]
}

@test "the program that is shipped knows no faults" {
    AGENTBOX_TESTING=$AGENTBOX
    for role in keeper init command; do
        rc=0
        one "$role" 1 || rc=$?
        [ "$rc" -eq 1 ]
    done
    run grep -c ABX_FAULT "$AGENTBOX"
    [ "$output" = 0 ]
}
