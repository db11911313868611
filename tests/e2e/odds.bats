#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A host in trouble: full file systems, no descriptors, a home that cannot be written, another clock,
# processes that are stopped. A run then works as ever or is refused with a sentence; in neither case
# is anything open that should not be, and when the trouble is over nothing is left of it.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034,SC2154
load ../lib/e2e

# in_mounts TEXT: from now on the box is started by a shell that has run TEXT in a mount namespace of
# its own, as root of a user namespace; $0 is the test's directory.
in_mounts() {
    local as=(env HOME="$H")
    ! is_other || as=(setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups "${as[@]}")
    [ "$WHO" = root ] || lacks bwrap "that its owner must be seen"
    AS=("${as[@]}" unshare -Urm sh -c "$1"$'\nexec "$@"' "$T")
}

# works_or_refuses [OPTION…]: the command has run within its fences, or it has not run at all and the
# program has said why.
works_or_refuses() {
    watch "$O"
    run box "$@" --env O="$O" -- sh -c 'echo ran; echo x >"$O/f"; echo x >.mcp.json; exit 7'
    case $status in
    7) [[ $output == ran* ]] ;;
    125) [[ $output == *"agentbox: "* && $output != *$'\n'ran* && $output != ran* ]] ;;
    *) false ;;
    esac || {
        echo "status $status: $output"
        return 1
    }
    untouched
    [ ! -e "$W/.mcp.json" ]
}

works() {
    works_or_refuses
    [ "$status" -eq 7 ] || {
        echo "refused: $output"
        return 1
    }
}

@test "a full disk: the workspace" {
    # A tmpfs of one page and few inodes, both used up: no placeholder can be made.
    in_mounts 'mount -t tmpfs -o size=4k,nr_inodes=3,mode=777 none "$0/w"; cd "$0/w"; echo full >a; echo >b 2>/dev/null; mkdir c 2>/dev/null'
    works_or_refuses
    # Without room for data only.
    in_mounts 'mount -t tmpfs -o size=4k,mode=777 none "$0/w"; cd "$0/w"; head -c 8192 /dev/zero >a 2>/dev/null'
    works_or_refuses
}

@test "a full disk: the home, with our own state in it" {
    in_mounts 'mount -t tmpfs -o size=4k,nr_inodes=2,mode=777 none "$0/h"; echo full >"$0/h/a"'
    works_or_refuses
    in_mounts 'mount -t tmpfs -o size=4k,mode=777 none "$0/h"; mkdir -p "$0/h/.local/state"; head -c 8192 /dev/zero >"$0/h/a" 2>/dev/null'
    works_or_refuses
    [[ $status -eq 7 || $output == *"No space left"* ]]
}

@test "a full /tmp, the host's" {
    in_mounts 'mount -t tmpfs -o size=4k,nr_inodes=2,mode=1777 none /tmp; echo full >/tmp/a'
    works_or_refuses
    works_or_refuses --tmp host
}

@test "a home that cannot be written, and none at all" {
    in_mounts 'mount -t tmpfs -o ro none "$0/h"'
    works_or_refuses
    chmod 555 "$H"
    in_mounts :
    works_or_refuses
    chmod 755 "$H"
    AS+=(env HOME="$T/absent")
    works_or_refuses
}

# fat TEXT [OPTION]: the workspace keeps no permissions and has neither sockets nor links; its files are in $X/back.
fat() {
    local uid=0
    ! is_other || uid=$USER_ID
    own_mounts "python3 '$ABX_SOURCE/tests/lib/fatfs.py' ${2:-} '$X/back' \"\$0\" $uid & fs=\$!
        until mountpoint -q \"\$0\" || ! kill -0 \$fs; do sleep 0.05; done
        cd \"\$0\"; $1; status=\$?; kill \$fs; exit \$status"
}

@test "a workspace as FAT has it: one run after the other, two at a time, and nothing is left" {
    need_root "mounts"
    [ -c /dev/fuse ] || skip "fuse: no /dev/fuse"
    lacks bwrap "that its owner must be seen"
    mkdir "$X/back"
    chmod 755 "$X"
    fat '"$@"'
    for _ in 1 2; do
        run box -- sh -c 'echo made >made; mkdir .vscode; echo >.envrc; exit 7'
        echo "$output"
        [ "$status" -eq 7 ]
        [ "$(ls -A "$X/back")" = made ]
    done
    # The first has ended when the second tries.
    fat '"$@" & first=$!; sleep 0.5; "$@"; r=$?; wait $first; (exit $r)'
    run box -- sh -c 'sleep 1; mkdir .vscode && exit 1; [ -d .vscode ] && exit 7'
    echo "$output"
    [ "$status" -eq 7 ]
    [ "$(ls -A "$X/back")" = made ]
}

# loud [OPTION…]
loud() {
    (cd "$W" && exec timeout -k 2 20 "${AS[@]}" "$BOX" run -C sub "$@" -- true 3>&-)
}

@test "a share that does not tell cases apart: refused, or a gap that is named" {
    need_root "mounts"
    [ -c /dev/fuse ] || skip "fuse: no /dev/fuse"
    lacks bwrap "that its owner must be seen"
    mkdir -p "$X/back/sub"
    chmod 755 "$X"
    fat '"$@"'
    run loud
    [[ $status -eq 0 && $output != *"tell cases apart"* ]]
    fat '"$@"' --any-case
    run loud
    echo "$output"
    [[ $status -eq 125 && $output == *"the share of "*/sub*" does not tell cases apart"*fallbackPolicy=warn* ]]
    run loud --set fallbackPolicy=warn --result /dev/stdout
    echo "$output"
    [[ $status -eq 0 && $output == *"note: the share of "*/sub*" does not tell cases apart"* ]]
    [[ $output == *'"spellings"'* ]]
    grep -q 'Another spelling' "$ABX_SOURCE/docs/threat-model.md"
}

@test "no descriptors: from four to as many as are needed" {
    [ -z "${ABX_SANITIZED:-}" ] || skip "sanitizers: their run-time opens files of its own"
    local n worked=0
    for n in $(seq 4 24) 32 48 64 96 128; do
        BOX=$X/limited
        printf '#!/bin/sh\nulimit -n %d\nexec "%s" "$@"\n' "$n" "$FIX/bin/agentbox" >"$BOX"
        chmod 755 "$BOX" "$X"
        works_or_refuses && [[ $output != *"Operation canceled"* ]] || {
            echo "with $n descriptors: $output"
            return 1
        }
        [ "$status" -ne 7 ] || worked=$((worked + 1))
    done
    [ "$worked" -ge 1 ]
}

@test "another clock: monotonic time far ahead and just begun, limits hold" {
    local offset started
    unshare -UrT --boottime 5 true 2>/dev/null || skip "timens: the kernel has no time namespaces"
    for offset in 1000000000 -5; do
        in_mounts :
        AS=("${AS[@]/-Urm/-UrmT}")
        local at=0
        while [ "${AS[at]}" != unshare ]; do at=$((at + 1)); done
        AS=("${AS[@]:0:at+1}" --monotonic "$offset" --fork "${AS[@]:at+1}")
        works
        run box --timeout 1s -- sh -c 'sleep 100 & sleep 100'
        [ "$status" -eq 124 ]
    done
}

# processes_of: program, keeper, bubblewrap if it is there, pid 1 and the command's shell of the box in the
# background.
processes_of() {
    local pid=$BOX_PID count=4
    [ "${BACKEND:-}" != bwrap ] || count=5
    while [ -n "$pid" ] && [ "$count" -gt 0 ]; do
        echo "$pid"
        count=$((count - 1))
        pid=$(ps --ppid "$pid" -o pid=,stat= | awk '$2 !~ /^Z/ { print $1; exit }')
    done
}

@test "each of our processes stopped and continued: the run goes on, and its result is the command's" {
    local pid pids
    rm -f "$W/up" "$W/go"
    start_box -- sh -c 'echo >up; while [ ! -e go ]; do sleep 0.02; done; exit 9'
    wait_for test -e "$W/up"
    mapfile -t pids < <(processes_of)
    [ "${#pids[@]}" -ge 4 ]
    for pid in "${pids[@]}"; do
        kill -STOP "$pid"
        wait_for grep -q '^State:.[TZ]' "/proc/$pid/status"
    done
    touch "$W/go"
    for pid in "${pids[@]}"; do
        kill -CONT "$pid" || : # the program continues the command by itself
    done
    status=0
    wait "$BOX_PID" || status=$?
    [ "$status" -eq 9 ]
}

@test "a stopped keeper or pid 1 does not keep a killed run alive" {
    local pid pids which
    for which in 1 -2; do
        rm -f "$W/up"
        start_box -- sh -c 'echo >up; sleep 600'
        wait_for test -e "$W/up"
        mapfile -t pids < <(processes_of)
        kill -STOP "${pids[which]}"
        wait_for grep -q '^State:.T' "/proc/${pids[which]}/status"
        kill -KILL "$BOX_PID"
        wait "$BOX_PID" || :
        # A keeper that is stopped for good: pid 1 has seen the host's end itself. A stopped pid 1 is killed by the keeper.
        wait_for test ! -e "/proc/${pids[-1]}"
        kill -CONT "${pids[which]}" 2>/dev/null || :
        wait_for test ! -e "/proc/${pids[1]}"
        wait_for test ! -e "/proc/${pids[-2]}"
    done
    [ "$(box -- echo fine)" = fine ]
    [ -z "$(find "$W" -name '.mcp.json')" ]
}
