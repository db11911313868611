#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The back end Landlock, on a host and in something like a container without namespaces: what it
# promises holds, and what it does not is refused or named.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
bats_require_minimum_version 1.5.0
load ../lib/e2e

BARE=(--backend landlock --set fallbackPolicy=warn)

# A directory to work in without protected names, so that new ones can be made in it.
bare() {
    mkdir -p "$W/sub"
    echo work >"$W/sub/file"
    own "$W"
    OPTIONS+=("${BARE[@]}")
}

# kill_part agentbox|keeper: of what start_box has started.
kill_part() {
    local -a pids=("$BOX_PID")
    [ "$1" = agentbox ] || mapfile -t pids < <(pgrep -P "$BOX_PID")
    kill -KILL "${pids[@]}"
}

# The words before the box: an engine's filter that lets no user namespace be made.
contain() {
    cp "$ABX_BUILD/tests/ladder" "$FIX/bin/ladder"
    AS+=("$FIX/bin/ladder" userns=EPERM --)
}

@test "strict refuses it, with a list of what it cannot promise, and runs nothing" {
    run box --backend landlock -- touch "$W/ran"
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"processes can be seen"* && $output == *"/tmp and /dev/shm"* ]]
    [[ $output == *"hint: --set fallbackPolicy=warn"* ]]
    [ ! -e "$W/ran" ]
}

@test "warn runs it; notice and result name the gaps, and it does not call itself sandboxed" {
    bare
    run --separate-stderr as_who sh -c 'cd "$1" && shift && exec "$@"' - "$W" "$BOX" run "${BARE[@]}" \
        --result "$X/result" -- cat sub/file
    echo "$output $stderr"
    [ "$output" = work ]
    [[ $stderr == *"Landlock alone"*"the host's processes can be seen"* ]]
    python3 - "$X/result" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["backend"] == "landlock" and r["sandboxed"] is False, r
assert {"names", "processes", "tmp", "ipc", "attributes"} <= set(r["gaps"]), r
assert r["enforced"] == ["landlock", "seccomp", "limits"], r
P
}

@test "a native run has no gaps" {
    box --result "$X/result" -- true
    grep -q '"gaps":\[\]' "$X/result"
}

@test "files outside can neither be changed nor made, hidden ones neither read nor listed" {
    bare
    watch "$O" "$D"
    refused "$CLOSED" write "$O/f" x
    refused "$CLOSED" create "$O/new"
    refused "$CLOSED" sys truncate "@$O/f" 0
    refused "$CLOSED" sys mkdirat -100 "@$O/new" 0777
    refused "$CLOSED" sys unlinkat -100 "@$O/f" 0
    refused "$CLOSED|EXDEV" sys renameat2 -100 "@$O/f" -100 "@$W/sub/new" 0
    refused "$CLOSED|EXDEV" sys linkat -100 "@$O/f" -100 "@$W/sub/new" 0
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    refused "$HIDDEN" sys openat -100 "@$D" 0200000
    [[ $(inside 'ls "$D"; find "$D"' 2>/dev/null || :) != *deep* ]]
    run inside 'cat "$D/s" "$D/deep/s"; ln -s "$D/s" sub/link; cat sub/link; cat /proc/self/root/"$D/s"'
    [[ $output != *"$SECRET"* ]]
    untouched
}

@test "what is writable can be changed, and below it names can be made" {
    bare
    inside 'echo more >>sub/file && mkdir sub/new && echo x >sub/new/f && mv sub/new sub/newer && rm sub/newer/f'
    [ "$(cat "$W/sub/file")" = $'work\nmore' ]
    [ -d "$W/sub/newer" ]
}

@test "what is protected stays so, also where it does not exist yet" {
    bare
    make_repo
    echo '#!/bin/sh' >"$W/.envrc"
    own "$W"
    watch "$W/.git/hooks" "$W/.git/config" "$W/.envrc"
    run inside 'echo x >.git/hooks/pre-commit; echo x >>.git/config; mv .git .git2; mkdir .vscode; echo x >.envrc
        mv .envrc sub/; rm -f .envrc; ln .envrc sub/hard; echo x >.mcp.json; mv sub .claude'
    echo "$output"
    untouched
    [ ! -e "$W/.vscode" ] && [ ! -e "$W/.mcp.json" ] && [ ! -e "$W/.claude" ] && [ -d "$W/sub" ]
}

@test "a link that a rule leads through cannot be replaced" {
    bare
    mkdir "$W/a" "$W/b"
    ln -s a "$W/link"
    own "$W"
    OPTIONS+=(--exclude "$W/link/secret" --set filesystem.autoProtectDangerousFiles=false --set 'filesystem.presets=!@git')
    run inside 'rm link; ln -s b link; mv link gone'
    [ "$(readlink "$W/link")" = a ]
}

@test "a directory above the workspace that cannot be listed, as /home often is, does not close the workspace" {
    bare
    chmod 711 "$T"
    ! is_other || chown root: "$T"
    chmod 755 "$W"
    run inside 'cat sub/file "$D/s"; echo more >>sub/file; echo x >"$O/f"'
    echo "$output"
    [[ $output == work* && $output != *"$SECRET"* ]]
    [ "$(cat "$W/sub/file")" = $'work\nmore' ]
    [ "$(cat "$O/f")" = outside ]
}

@test "the host's /tmp, /dev/shm and /run are closed" {
    bare
    local place file
    for place in /tmp /dev/shm; do
        file=$(mktemp "$place/abx-canary.XXXXXX")
        made+=("$file")
        echo "$SECRET" >"$file"
        chmod 666 "$file"
        run inside "cat $file; echo x >$file; echo x >$place/abx-new.$$; rm -f $file"
        [[ $output != *"$SECRET"* ]]
        [ "$(cat "$file")" = "$SECRET" ]
        [ ! -e "$place/abx-new.$$" ]
    done
}

@test "only harmless devices can be opened" {
    bare
    inside 'echo x >/dev/null && head -c 1 /dev/zero >/dev/null && head -c 1 /dev/urandom >/dev/null'
    for name in /dev/mem /dev/kmsg /dev/ptmx /dev/kvm /dev/fuse /dev/net/tun; do
        [ ! -e "$name" ] || refused "$CLOSED|ENXIO" sys openat -100 "@$name" 0
    done
}

@test "no host can be called: not by TCP, UDP or a Unix socket" {
    bare
    serve
    for mode in filtered blocked; do
        run box --network "$mode" -- python3 -c "
import socket
for family, kind, where in ((socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', $TCP)),
                            (socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', $UDP)),
                            (socket.AF_UNIX, socket.SOCK_STREAM, '$S/stream'),
                            (socket.AF_UNIX, socket.SOCK_STREAM, '\0$ABSTRACT')):
    try:
        s = socket.socket(family, kind); s.connect(where); s.send(b'x'); print('CALLED', where)
    except OSError as e:
        print('refused', e)"
        echo "$output"
        [[ $output != *CALLED* && $(grep -c refused <<<"$output") -eq 4 ]]
    done
    nobody_called
}

@test "why knows what Landlock alone does not grant" {
    bare
    run as_who sh -c 'cd "$1" && exec "$2" why --backend landlock --set fallbackPolicy=warn write new' - "$W" "$BOX"
    [[ $output == *denied*landlock*"without namespaces"* ]]
    not box -- touch new
    run as_who sh -c 'cd "$1" && exec "$2" why --backend landlock --set fallbackPolicy=warn write sub/new' - "$W" "$BOX"
    [[ $output == *allowed* ]]
    box -- touch sub/new
}

@test "a single socket is a gap of its own, and so is a list of hosts with all sockets" {
    bare
    serve
    run box --unix-socket "$S/stream" --result "$X/result" -- python3 -c "
import socket
socket.socket(socket.AF_UNIX).connect('$S/stream')"
    [[ $output == *PermissionError* || $output == *"not supported"* ]]
    grep -q '"named-sockets"' "$X/result"
    nobody_called
    box --allow-domain example.com --set network.allowAllUnixSockets=true --result "$X/result" -- true
    grep -q '"hosts"' "$X/result"
}

@test "ports that cannot be published are a gap: the command runs, and nobody waits at them" {
    local port=$((20000 + RANDOM % 10000))
    bare
    run box -p "$port" --result "$X/result" -- sh -c 'sleep 0.5; echo ran >sub/ran; exit 7'
    echo "$output"
    [ "$status" -eq 7 ]
    [ "$(cat "$W/sub/ran")" = ran ]
    grep -q '"ports"' "$X/result"
    start_box -p "$port" -- sh -c ': >sub/up; sleep 60'
    wait_for test -e "$W/sub/up"
    wait_for not bash -c "exec 4<>/dev/tcp/127.0.0.1/$port"
    kill -0 "$BOX_PID"
}

@test "message queues of the host cannot be removed, and none are left there" {
    local name=abx-${FIX##*.} made
    bare
    made=$(as_who "$PAYLOAD" sys mq_open "@$name" 0102 0666 0)
    [ "$made" = ok ] || skip "mqueue: $made"
    run attempt sys mq_unlink "@$name"
    run attempt sys mq_open "@$name-left" 0102 0600 0
    [ "$(as_who "$PAYLOAD" sys mq_unlink "@$name")" = ok ]
    [ "$(as_who "$PAYLOAD" sys mq_unlink "@$name-left")" = ENOENT ]
}

@test "processes of the host can neither be signalled, traced nor looked into" {
    bare
    victim
    run inside "kill -9 $VICTIM; kill -9 -1; cat /proc/$VICTIM/environ; ls /proc/$VICTIM/fd/; cat /proc/$VICTIM/root/$D/s; true"
    echo "$output"
    [[ $output != *"$SECRET"* ]]
    [[ $(attempt ptrace "$VICTIM") != *ok* ]]
    victim_lives
}

@test "it holds the command's exit code, signals and time limit" {
    bare
    run box -- sh -c 'exit 42'
    [ "$status" -eq 42 ]
    run box --timeout 300ms -- sleep 60
    [ "$status" -eq 124 ]
    start_box -- sh -c 'trap "echo got >sub/got; exit 7" TERM; echo up >sub/up; while :; do sleep 0.05; done'
    wait_for test -s "$W/sub/up"
    kill -TERM "$BOX_PID"
    wait "$BOX_PID" || status=$?
    [ "$status" -eq 7 ]
    [ "$(cat "$W/sub/got")" = got ]
}

@test "who is refused before anything began does not wait for pid 1" {
    local start=$SECONDS
    OPTIONS+=("${BARE[@]}" --approve deny)
    for _ in 1 2 3 4; do
        run box -- rm -rf /usr/abx-absent
        [ "$status" -eq 126 ]
        [[ $output == *"not approved"* ]]
    done
    [ $((SECONDS - start)) -lt 30 ] # each was the ten seconds that a keeper is patient
}

@test "a command on a terminal has one of its own, and reaches no other" {
    bare
    run as_who sh -c 'cd "$1" && shift && exec python3 "$@"' - "$W" "$ABX_SOURCE/tests/lib/terminal.py" \
        "$BOX" run -q "${BARE[@]}" -- sh -c 'tty; test -t 0 && test -t 1 && echo both; (: >"$(tty)"); : >/dev/tty; exec sleep 60' <<'STEPS'
expect /dev/pts/\d+\r
expect both\r
expect Permission denied
send \x03
exit 130
STEPS
    echo "$output"
    [ "$status" -eq 0 ]
}

MARK=$$ # in the arguments of what must not survive

alive() {
    pgrep -f "sleep 7777.$MARK" >/dev/null
}
dead() {
    ! alive
}

@test "the whole tree is dead when it ends, and when agentbox or the keeper is killed" {
    bare
    local tree="(setsid sh -c \"setsid sleep 7777.$MARK & sleep 7777.$MARK\" &); "
    tree+="setsid sleep 7777.$MARK & echo up >sub/up"
    run box -c "$tree; exit 3"
    [ "$status" -eq 3 ]
    dead
    for whom in agentbox keeper; do
        rm -f "$W/sub/up"
        start_box -c "$tree; sleep 60"
        wait_for test -s "$W/sub/up"
        wait_for alive
        kill_part "$whom"
        wait_for dead
        wait "$BOX_PID" || :
    done
}

storms() {
    pgrep -f "storm [0-9]+ sub/up sub/outlived.*$MARK" >/dev/null
}
calm() {
    ! storms
}

# A line of processes that grows while it is killed (payload_process.c); its first one is the command.
STORM=(storm 30 sub/up sub/outlived "$MARK")

# Whoever ends it: all die at one stroke, so none sees another gone; and nobody else is hit.
@test "a storm of forks ends at once: at its time limit, or with the command" {
    bare
    victim
    local seconds
    for seconds in 1 4 16; do # it has to be up before that
        run box --timeout "${seconds}s" -- "$PAYLOAD" "${STORM[@]}"
        [ "$status" -eq 124 ]
        [ ! -e "$W/sub/up" ] || break
    done
    [ -e "$W/sub/up" ]
    calm
    rm "$W/sub/up"

    run inside "\$P ${STORM[*]} & until [ -e sub/up ]; do sleep 0.02; done; exit 3"
    echo "$output"
    [ "$status" -eq 3 ]
    calm
    [ ! -e "$W/sub/outlived" ]
    victim_lives
}

@test "a storm of forks ends at once when agentbox or the keeper is killed" {
    bare
    victim
    local whom
    for whom in agentbox keeper; do
        rm -f "$W/sub/up"
        start_box -- "$PAYLOAD" "${STORM[@]}"
        wait_for test -e "$W/sub/up"
        storms
        kill_part "$whom"
        wait_for calm
        wait "$BOX_PID" || :
        [ ! -e "$W/sub/outlived" ]
    done
    victim_lives
}

# Signals by number, by thread, by group, by descriptor and by a file's owner.
@test "pid 1, the keeper and other processes of the user get no signal from inside" {
    bare
    victim
    run inside "exec python3 - $VICTIM <<'P'
import ctypes, fcntl, os, signal, sys
def parent(pid):
    return int(open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[1])
init = os.getppid()
keeper = parent(init)
libc = ctypes.CDLL(None, use_errno=True)
def refused(what, call):
    try:
        call()
    except PermissionError:
        return
    print('WENT', what)
def thread_kill(pid):
    if libc.syscall(200 if os.uname().machine == 'x86_64' else 130, pid, 9) < 0: # tkill
        raise OSError(ctypes.get_errno(), 'tkill')
for pid in init, keeper, int(sys.argv[1]):
    for sig in 0, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM:
        refused(('kill', pid, sig), lambda: os.kill(pid, sig))
    if os.getpgid(pid) > 1: # 0: of another pid namespace, and killpg's name for our own
        refused(('group', pid), lambda: os.killpg(os.getpgid(pid), signal.SIGKILL))
    refused(('thread', pid), lambda: thread_kill(pid))
    try:
        fd = os.pidfd_open(pid)
    except PermissionError:
        pass
    else:
        refused(('pidfd', pid), lambda: signal.pidfd_send_signal(fd, signal.SIGKILL))
    r, w = os.pipe()
    try:
        fcntl.fcntl(r, fcntl.F_SETOWN, pid)
        fcntl.fcntl(r, 10, signal.SIGKILL) # F_SETSIG
        fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        os.write(w, b'x')
    except PermissionError:
        pass
print('done', flush=True)
sys.exit(7)
P"
    echo "$output"
    [ "$output" = "done" ]
    [ "$status" -eq 7 ]
    victim_lives
}

@test "below ABI 6 the gap 'signals' says what a storm can do, and a tree still ends" {
    bare
    cp "$ABX_BUILD/tests/ladder" "$FIX/bin/ladder"
    AS+=("$FIX/bin/ladder" landlock=5 --)
    run box --timeout 500ms --result "$X/result" -c "(setsid sh -c \"setsid sleep 7777.$MARK & sleep 7777.$MARK\" &); sleep 60"
    echo "$output"
    [ "$status" -eq 124 ]
    dead
    grep -q '"gaps":.*"signals"' "$X/result"
    OPTIONS=(--backend landlock)
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"put off their end (Landlock below ABI 6)"* ]]
    AS=("${AS[@]/landlock=5/landlock=6}")
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"processes can be seen"* && $output != *"put off"* ]]
}

# In a pid namespace, in which kill(-1) would end no more than the canary.
@test "where Landlock does not confine signals nothing runs, and everything lives" {
    bare
    local rung own=(unshare -pf --mount-proc) as=("${AS[@]}")
    cp "$ABX_BUILD/tests/ladder" "$FIX/bin/ladder"
    [ "$(id -u)" -eq 0 ] || own=(unshare -Urpf --mount-proc)
    for rung in landlock_restrict_self=nothing kill=EPERM; do
        AS=("${own[@]}" sh -c 'sleep 600 & "$@"; status=$?; kill -KILL "$!" && exit "$status"; exit 99' -
            "${as[@]}" "$FIX/bin/ladder" "$rung" --)
        run box --timeout 1s -- touch sub/ran
        echo "$output"
        [ "$status" -eq 125 ]
        [[ $output == *"step 'enclose'"*"hint: signals between"* ]]
        [ ! -e "$W/sub/ran" ]
    done
}

@test "in a container without user namespaces: strict refuses and says what warn would give" {
    contain
    run box -- touch "$W/ran"
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"'namespaces'"* && $output == *"hint: "*"fallbackPolicy=warn runs with Landlock alone"* ]]
    [ ! -e "$W/ran" ]
}

@test "in a container without user namespaces: warn gets Landlock by itself, and it holds" {
    contain
    bare
    OPTIONS=(--exclude "$D" --set fallbackPolicy=warn)
    watch "$O" "$D"
    run box --result "$X/result" --env D="$D" --env O="$O" -c \
        'cat sub/file "$D/s"; echo x >sub/new; echo x >"$O/new"; echo x >"$O/f"; cat /proc/1/environ >/dev/null; true'
    echo "$output"
    [ -s "$W/sub/new" ]
    [[ $output == *work* && $output != *"$SECRET"* ]]
    untouched
    grep -q '"backend":"landlock"' "$X/result"
}

@test "--backend native does not fall back" {
    contain
    run box --backend native --set fallbackPolicy=warn -- cat "$D/s"
    echo "$output"
    [[ $output != *"$SECRET"* || $output == *incomplete* ]]
    [ "$status" -eq 125 ]
}

@test "in a container without user namespaces: doctor says which back end, and what to do" {
    contain
    run as_who "$BOX" doctor
    echo "$output"
    [ "$status" -eq 1 ]
    grep -qE '^ +missing +userns' <<<"$output"
    grep -q '^ *hint: ' <<<"$output"
    grep -q 'Back end: landlock' <<<"$output"
    as_who "$BOX" doctor --json >"$X/json" || :
    grep -q '"backend":"landlock"' "$X/json"
}
