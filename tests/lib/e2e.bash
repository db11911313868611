# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# The fixture of the end-to-end and attack tests. A file says `load ../lib/e2e` and gets setup and
# teardown; each test then finds
#
#   $W  the workspace, also the working directory of the box    $H  a home of its own
#   $D  a hidden directory (--exclude) with the secret $D/s      $O  outside every grant, file $O/f
#   $S  where `serve` puts its sockets                           $X  a directory for the test's notes
#
# all fresh, in /var/tmp (the box has a /tmp of its own), owned by whoever runs the box, so that no
# permission bit stops what the sandbox should stop. ABX_AS=root|user decides who that is: root, or
# uid 1001; the suite lists each file twice. Not run as root, there is only "user": ourselves.
#
#   box [OPTION…] -- PROGRAM…     runs in the sandbox       inside TEXT    runs shell text there
#                                 (what needs an approval has it)
#   "${ROOM[@]}"                  options with which our own program works inside (a sanitizer's
#                                 run-time wants terabytes of address space, and to trace itself)
#   start_box …                   … in the background, $BOX_PID
#   refused NAMES ATTEMPT…        the payload's attempt must end with one of NAMES (E1|E2)
#   allowed ATTEMPT…              … must work
#   not COMMAND                   must fail
#   own_mounts TEXT               the box is started by this shell text, as "$@", which may mount ($0: $W)
#   lacks BACKEND GAP             what follows does not hold there, as docs/backends.md says
#   ours_only                     what follows is about something that only agentbox has
#   watch DIR… ; untouched        the host's files are as they were: names, contents, modes, times
#   victim ; victim_lives         a process of the same user
#   serve ; nobody_called         sockets of every kind; `nobody_called` proves the log works, too
#
# ABX_IN_VAIN: an expression; what a test waits for whose name it matches will not come.
# BACKEND=native|bwrap|landlock: the back end of every run of every test, with fallbackPolicy warn.
#
# ABX_WITH: the words of another sandbox, with {W}, {D}, {H} for these directories; the command is
# appended. A test that needs more than that of agentbox then ends with "not applicable".

ABX_SOURCE=${ABX_SOURCE:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
ABX_BUILD=${ABX_BUILD:-$ABX_SOURCE/build}
# shellcheck source=tests/lib/need.bash
. "$ABX_SOURCE/tests/lib/need.bash"
# shellcheck source=tests/lib/wait.bash
. "$ABX_SOURCE/tests/lib/wait.bash"
WHO=${ABX_AS:-user}
USER_ID=1001
SECRET=the-hidden-canary
FIX_PREFIX=/var/tmp/abx-test

# Copies, because uid 1001 may not be able to reach the build folder.
setup_file() {
    FIX=$(mktemp -d "$FIX_PREFIX.XXXXXX")
    chmod 755 "$FIX"
    mkdir "$FIX/bin"
    cp "${AGENTBOX:-$ABX_BUILD/agentbox}" "$FIX/bin/agentbox"
    cp "${AGENTBOX_TESTING:-$ABX_BUILD/tests/agentbox-testing}" "$FIX/bin/agentbox-testing"
    cp "$ABX_BUILD/tests/payload" "$FIX/bin/payload"
    [ -z "${BACKEND:-}" ] || use_backend "$BACKEND"
    export FIX
}

# However a run is started.
use_backend() {
    local program
    ln -s "$1" "$FIX/bin/backend"
    for program in agentbox agentbox-testing; do
        mv "$FIX/bin/$program" "$FIX/bin/$program.real"
        cp "$ABX_BUILD/tests/with-backend" "$FIX/bin/$program"
    done
}

teardown_file() {
    rm -rf "$FIX"
}

need_who() {
    [ "$WHO" != root ] || need_root "not run as root"
}

setup() {
    need_who
    [[ -z ${ABX_IN_VAIN:-} || ! $BATS_TEST_DESCRIPTION =~ $ABX_IN_VAIN ]] || BATS_TEST_TIMEOUT=10 # of wait_for
    fixture "$FIX/t$BATS_TEST_NUMBER"
}

# fixture DIR: may be called again, for a workspace elsewhere.
fixture() {
    T=$1
    W=$T/w D=$T/d O=$T/o H=$T/h S=$T/s X=$T/x
    BOX=$FIX/bin/agentbox
    PAYLOAD=$FIX/bin/payload
    OPTIONS=(--exclude "$D")
    ROOM=()
    [ -z "${ABX_SANITIZED:-}" ] || ROOM=(--set resourceLimits.maxMemoryBytes=0 --env ASAN_OPTIONS=detect_leaks=0)
    # Runs as the one whose box it is, with nothing of the caller's session. An array, so that a
    # command in the background has the pid that is looked for.
    AS=(env -u XDG_STATE_HOME -u XDG_CONFIG_HOME -u XDG_RUNTIME_DIR -u TMPDIR HOME="$H")
    if is_other; then
        AS=(setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups "${AS[@]}")
    fi
    mkdir -p "$W" "$D/deep" "$O/sub" "$H" "$S" "$X"
    echo "$SECRET" >"$D/s"
    echo "$SECRET" >"$D/deep/s"
    echo "outside" >"$O/f"
    echo "outside too" >"$O/sub/g"
    echo "work" >"$W/file"
    chmod -R a+rwX "$O" "$D"
    own "$T"
    made+=("$T")
}

is_other() {
    [ "$WHO" = user ] && [ "$(id -u)" -eq 0 ]
}

own() {
    ! is_other || chown -hR "$USER_ID:$USER_ID" "$@"
}

# Only our own children: the number of a process that was waited for may be another's by now.
teardown() {
    local pid
    for pid in "${started[@]}"; do
        if grep -qsx "PPid:.$BASHPID" "/proc/$pid/status"; then
            kill -KILL "$pid" || :
        fi
    done
    [ "${#made[@]}" -eq 0 ] || rm -rf "${made[@]}"
    [ -z "${ABX_WITH:-}" ] || was_applicable
}

made=()
started=()

as_who() {
    "${AS[@]}" "$@"
}

# In a mount namespace that tells the host nothing: root's, or else of a user namespace.
own_mounts() {
    local as=(env HOME="$H")
    ! is_other || as=(setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups "${as[@]}")
    if [ "$(id -u)" -eq 0 ]; then
        AS=(unshare -m --propagation slave sh -c "$1" "$W" "${as[@]}")
    else
        AS=("${as[@]}" unshare -Urm --propagation slave sh -c "$1" "$W")
    fi
}

# Bounded: an attempt that blocks fails its test, and not the suite.
box() {
    [ -z "${ABX_WITH:-}" ] || {
        other_box timeout --foreground -k 2 20 -- "$@"
        return
    }
    (cd "$W" && exec timeout --foreground -k 2 20 "${AS[@]}" "$BOX" run -q --approve yes "${OPTIONS[@]}" "$@" 3>&-)
}

# In the background; $BOX_PID is agentbox itself.
start_box() {
    [ -z "${ABX_WITH:-}" ] || {
        other_box -- "$@" &
        BOX_PID=$!
        started+=("$BOX_PID")
        return
    }
    (cd "$W" && exec "${AS[@]}" "$BOX" run -q --approve yes "${OPTIONS[@]}" "$@" 3>&-) &
    BOX_PID=$!
    started+=("$BOX_PID")
}

# other_box [WORD…] -- ARGUMENTS OF BOX: the words, the other sandbox, the command.
other_box() {
    local before=() variables=() words=() word

    while [ "$1" != -- ]; do
        before+=("$1")
        shift
    done
    shift
    [ "${OPTIONS[*]}" = "--exclude $D" ] || set -- "${OPTIONS[@]}" "$@"
    while [ $# -gt 0 ]; do
        case $1 in
        --env)
            variables+=("$2")
            shift 2
            ;;
        -c)
            set -- sh -c "$2"
            break
            ;;
        --)
            shift
            break
            ;;
        *)
            echo "option $1" >>"$FIX/foreign.$BATS_TEST_NUMBER"
            return 125
            ;;
        esac
    done
    echo ran >"$FIX/ran.$BATS_TEST_NUMBER"
    for word in $ABX_WITH; do
        word=${word//'{W}'/$W} word=${word//'{D}'/$D} word=${word//'{H}'/$H}
        words+=("$word")
    done
    (cd "$W" && exec "${before[@]}" "${AS[@]}" "${words[@]}" env "${variables[@]}" "$@" 3>&-)
}

lacks() {
    [ "${BACKEND:-native}" != "$1" ] || skip "$1 has the gap $2"
}

ours_only() {
    echo "only agentbox" >>"$FIX/foreign.$BATS_TEST_NUMBER"
}

was_applicable() {
    if [ -e "$FIX/foreign.$BATS_TEST_NUMBER" ] || [ ! -e "$FIX/ran.$BATS_TEST_NUMBER" ]; then
        echo "not applicable"
        return 1
    fi
}

# Names that the text may use; the rest of the environment is the box's. The classifier does not see
# the text: here the sandbox alone has to hold.
inside() {
    box --env W="$W" --env D="$D" --env O="$O" --env S="$S" --env H="$H" --env P="$PAYLOAD" --env ABX_TEXT="$1" \
        -c 'text=$ABX_TEXT; unset ABX_TEXT; eval "$text"'
}

attempt() {
    box -- "$PAYLOAD" "$@"
}

refused() {
    local names=$1 answer
    shift
    answer=$(attempt "$@")
    if [[ ! $answer =~ ^(.*\ )?($names)$ ]]; then
        echo "expected $names, got '$answer': $*"
        return 1
    fi
}

allowed() {
    refused ok "$@"
}

# What doctor prints, with each row, hint and sentence on a line of its own.
doctor_rows() {
    sed -E ':a;N;$!ba;s/\n {16,}/ /g;s/\n {9,10}([^ h])/ \1/g;s/(To run with)\n/\1 /g'
}

# A plain "!" fails no test.
not() {
    if "$@"; then
        echo "should have failed: $*"
        return 1
    fi
}

# Any of these is a refusal to change a file.
CLOSED='EROFS|EACCES|EPERM'
# … to take or make a name that a mount holds.
HELD='EBUSY|EROFS|EACCES|EPERM|EEXIST|EXDEV|ENOTEMPTY|EISDIR|ENOTDIR'
# … to see something.
HIDDEN='EACCES|ENOENT|ENOTDIR'

# ---- the host's files --------------------------------------------------------------------------

list_host() {
    find "$@" -printf '%p %D:%i %y %m %U:%G %s %n %T@ %C@ %l\n' | sort
    find "$@" -type f -exec cksum {} + | sort
    getfattr -h -R -d --absolute-names "$@" 2>/dev/null || :
}

watch() {
    WATCHED=("$@")
    list_host "$@" >"$FIX/watched.$BATS_TEST_NUMBER"
}

untouched() {
    list_host "${WATCHED[@]}" | diff "$FIX/watched.$BATS_TEST_NUMBER" -
}

# ---- processes and sockets of the host ---------------------------------------------------------

victim() {
    "${AS[@]}" HOST_CANARY="$SECRET" sleep 600 >/dev/null 2>&1 3>&- &
    VICTIM=$!
    started+=("$VICTIM")
    wait_for grep -qxa sleep "/proc/$VICTIM/comm"
}

victim_lives() {
    grep -q '^State:.S' "/proc/$VICTIM/status"
    grep -qx 'TracerPid:.0' "/proc/$VICTIM/status"
}

serve() {
    ABSTRACT=abx-canary-${FIX##*.}-$BATS_TEST_NUMBER
    LOG=$X/log
    : >"$LOG"
    own "$LOG"
    "${AS[@]}" "$PAYLOAD" serve "$LOG" "$S" "$ABSTRACT" >"$FIX/ports.$BATS_TEST_NUMBER" 2>&1 3>&- &
    started+=($!)
    wait_for test -s "$FIX/ports.$BATS_TEST_NUMBER"
    read -r TCP UDP <"$FIX/ports.$BATS_TEST_NUMBER"
}

# The host calls once itself: when that is in the log, everything before it would be.
nobody_called() {
    [ "$("$PAYLOAD" unix stream "$S/stream")" = ok ]
    wait_for test -s "$LOG"
    if [ "$(cat "$LOG")" != stream ]; then
        echo "the host was called: $(tr '\n' ' ' <"$LOG")"
        return 1
    fi
}

# ---- a repository ------------------------------------------------------------------------------

host_git() {
    as_who GIT_CONFIG_NOSYSTEM=1 git -c user.name=t -c user.email=t@t -c init.defaultBranch=main \
        -c protocol.file.allow=always -c advice.detachedHead=false "$@"
}

# $W becomes a repository with a submodule "mod" and a linked worktree $T/linked.
make_repo() {
    printf '[user]\n\tname = t\n\temail = t@t\n[safe]\n\tdirectory = *\n' >"$H/.gitconfig"
    own "$H/.gitconfig"
    host_git init -q "$T/upstream"
    host_git -C "$T/upstream" commit -q --allow-empty -m first
    host_git -C "$W" init -q
    host_git -C "$W" submodule --quiet add "$T/upstream" mod
    host_git -C "$W" add file
    host_git -C "$W" commit -q -m first
    host_git -C "$W" worktree add -q "$T/linked" -b linked
}
