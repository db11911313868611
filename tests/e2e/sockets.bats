#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Sockets of the host that are let in by name. The server's log says which of them was called: "listed"
# may be, "other" next to it must never be.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

# The host's sockets in $S, or in another directory.
serve_named() {
    local folder=${1:-$S}
    LOG=$X/log
    : >"$LOG"
    : >"$X/ready"
    cp "$BATS_TEST_DIRNAME/../lib/sockets.py" "$T/sockets.py"
    chmod 644 "$T/sockets.py"
    own "$LOG"
    "${AS[@]}" /usr/bin/python3 "$T/sockets.py" serve "$folder" "$LOG" >"$X/ready" 2>&1 3>&- &
    started+=($!)
    wait_for grep -qx ready "$X/ready"
    OPTIONS+=(--env T="$T")
}

peer() {
    box -- /usr/bin/python3 "$T/sockets.py" "$@"
}

# How often the host's socket of that name was called; the host calls "packets" itself to see all.
calls() {
    "${AS[@]}" /usr/bin/python3 "$T/sockets.py" talk seqpacket "$S/packets" >/dev/null
    wait_for grep -qx packets "$LOG"
    grep -cx "$1" "$LOG" || :
}

@test "a named socket answers; one next to it is not called" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer talk stream "$S/listed"
    [ "$output" = "got hello" ]
    run inside 'curl -sS --max-time 10 --unix-socket $S/listed http://x/'
    [ "$output" = served ]
    run inside 'curl -sS --max-time 10 --unix-socket $S/other http://x/'
    [ "$status" -ne 0 ]
    refused EACCES unix stream "$S/other"
    [ "$(calls listed)" -eq 2 ]
    [ "$(calls other)" -eq 0 ]
}

@test "without the option nothing has changed: no socket can be made" {
    serve_named
    refused EPERM unix stream "$S/listed"
    [ "$(calls listed)" -eq 0 ]
}

@test "by a symlink, by a relative name, through /proc, in seqpackets" {
    serve_named
    ln -s "$S/listed" "$W/link"
    own "$W/link"
    OPTIONS+=(--unix-socket "$S/listed" --unix-socket "$S/packets")
    local path
    for path in link ../s/listed "/proc/self/root$S/listed" /proc/self/cwd/link; do
        run peer talk stream "$path"
        [ "$output" = "got hello" ]
    done
    run peer talk seqpacket "$S/packets"
    [ "$output" = "got hello" ]
}

@test "a symlink to another socket does not lead to it" {
    serve_named
    ln -s "$S/other" "$W/link"
    own "$W/link"
    OPTIONS+=(--unix-socket "$S/listed")
    refused EACCES unix stream link
    refused EACCES unix stream "/proc/self/root$S/other"
    [ "$(calls other)" -eq 0 ]
}

@test "a socket in a covered or hidden folder can be seen and called when it is named" {
    local folder
    folder=$(mktemp -d /tmp/abx-test.XXXXXX)
    made+=("$folder")
    own "$folder"
    serve_named "$folder"
    S=$folder
    OPTIONS+=(--unix-socket "$folder/listed" --exclude "$folder")
    run peer talk stream "$folder/listed"
    [ "$output" = "got hello" ]
    run inside 'test -S $S/listed && ! ls $S/other'
    [ "$status" -eq 0 ]
    refused ENOENT unix stream "$folder/other"
}

@test "the descriptor keeps its flags" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer flags "$S/listed"
    [ "$output" = $'True True\nTrue True\nTrue True\nTrue True' ]
}

@test "a socket that is not connected is of no use, and there are no datagrams" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed" --unix-socket "$S/mail")
    run peer refusals "$S/other"
    [ "${lines[0]}" = "EISCONN EISCONN EPIPE" ]
    [ "${lines[1]}" = EINVAL ]
    [ "${lines[2]}" = EPERM ]
    [ "${lines[3]}" = EPERM ]
    run peer refusals "$S/listed"
    [ "${lines[4]}" = ENOTSOCK ]
    [ "${lines[5]}" = EBADF ]
    [ "${lines[6]}" = EBADF ]
    refused EPERM unix dgram "$S/mail"
    refused EPROTOTYPE unix stream "$S/mail"
    [ "$(calls other)" -eq 0 ]
    [ "$(calls mail)" -eq 0 ]
}

@test "abstract sockets and pairs do not lead out" {
    serve_named
    S=$O
    serve
    OPTIONS+=(--unix-socket "$T/s/listed")
    refused ECONNREFUSED abstract "$ABSTRACT"
    refused EACCES unix stream "$O/stream"
    refused 'EPERM|EISCONN' pair dgram "$O/dgram"
    refused 'EISCONN|EACCES' pair stream "$O/stream"
    nobody_called
}

# only_listed_is_reached WORD: what `peer WORD` tries with the socket that is let in and another.
only_listed_is_reached() {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer "$1" "$S/listed" "$S/other"
    [ "$output" = connected ]
    [ "$(calls other)" -eq 0 ]
}

@test "threads that exchange the address while it is looked at reach no other socket" {
    only_listed_is_reached swap
}

@test "threads that exchange the descriptor meanwhile reach no other socket" {
    only_listed_is_reached places
}

@test "a name that leads elsewhere from one moment to the next reaches no other socket" {
    only_listed_is_reached names
}

@test "an address counts as the kernel would read it: ended or not, and not longer than it may be" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer forms "$S/listed"
    [ "${lines[0]}" = "ended ok ok ok" ]
    [ "${lines[1]}" = "full ok ENOENT" ]
    [ "${lines[2]}" = "long EINVAL EINVAL EINVAL EINVAL EINVAL" ]
    [ "${lines[3]}" = "longer EINVAL EINVAL" ]
    [ "${lines[4]}" = "short EINVAL EINVAL EINVAL EINVAL" ]
    [ "${lines[5]}" = "abstract ECONNREFUSED ECONNREFUSED" ]
    [ "${lines[6]}" = "memory EFAULT EFAULT" ]
    [ "${lines[7]}" = "family EINVAL EINVAL EINVAL EINVAL" ]
    [ "${lines[8]}" = "files ECONNREFUSED ECONNREFUSED ENOENT ECONNREFUSED" ]
    [ "$(calls listed)" -eq 4 ]
    [ "$(calls other)" -eq 0 ]
}

@test "an address that ends where memory does is read as the kernel reads it" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer edge "$S/listed" "$S/other"
    [ "${lines[0]}" = "ok EFAULT EFAULT" ]
    [ "${lines[1]}" = "EACCES EFAULT EFAULT" ]
    [ "$(calls listed)" -eq 1 ]
    [ "$(calls other)" -eq 0 ]
}

@test "socket() gives what it was asked for, and takes nothing unknown" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer makes
    [ "${lines[0]}" = "ok ok ok ok ok EINVAL EINVAL EPROTONOSUPPORT EPROTONOSUPPORT" ]
    [ "${lines[1]}" = "${lines[0]}" ]
    [ "${lines[2]}" = "EPERM EPERM EPERM EPERM EPERM EPERM EPERM" ]
}

# Pid 1 has the command's limit of open files: whatever it forgot to close would be missing soon.
@test "any number of sockets, one after the other" {
    serve_named
    /usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$S/dead"
    own "$S/dead"
    run box --set resourceLimits.maxFileDescriptors=64 --unix-socket "$S/listed" --unix-socket "$S/dead" -- \
        /usr/bin/python3 "$T/sockets.py" often "$S/listed" 150 "$S/dead"
    [ "$output" = "done" ]
}

@test "a server that is busy is waited for a little, then that is what the caller hears" {
    serve_named
    "${AS[@]}" /usr/bin/python3 "$T/sockets.py" hold "$S/held" "$W/go" >"$X/held" 2>&1 3>&- &
    started+=($!)
    wait_for grep -qx ready "$X/held"
    OPTIONS+=(--unix-socket "$S/held")
    run peer busy "$S/held" go
    [ "$output" = $'EAGAIN EAGAIN\nok' ]
}

# "other" takes the place of "listed" while the command runs.
@test "a socket that comes into the place of a named one is not called" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    start_box -- /usr/bin/python3 "$T/sockets.py" again "$S/listed" ready go >"$X/again"
    wait_for test -e "$W/ready"
    mv -f "$S/other" "$S/listed"
    : >"$W/go"
    wait "$BOX_PID"
    run cat "$X/again"
    [ "${lines[0]}" = "got hello" ]
    [[ ${lines[1]} =~ ^(EACCES|ok)$ ]]
    [ "${lines[2]}" = "${lines[1]}" ]
    [ "$(calls other)" -eq 0 ]
}

@test "a named socket in the workspace can be neither removed nor replaced nor led around" {
    mkdir "$W/sub"
    own "$W/sub"
    serve_named "$W/sub"
    OPTIONS+=(--unix-socket "$W/sub/listed")
    S=$W/sub
    run inside 'rm -f sub/listed; mv sub/other sub/listed; mv sub moved; ln -f sub/other sub/listed; ls sub'
    [[ $output == *listed*mail*other*packets* ]]
    run inside 'cd sub && rm -f other && "$P" unix stream other'
    [[ $output == *ENOENT ]]
    run peer talk stream "$W/sub/listed"
    [ "$output" = "got hello" ]
    [ "$(grep -c other "$LOG")" -eq 0 ]
}

@test "every way of watching has it, and a shared network, too" {
    serve_named
    local level
    for level in off writes full learn; do
        run box --set monitor="$level" --unix-socket "$S/listed" -- /usr/bin/python3 "$T/sockets.py" talk stream "$S/listed"
        [ "$output" = "got hello" ]
    done
    run box --network allowed --unix-socket "$S/listed" -- /usr/bin/python3 "$T/sockets.py" talk stream "$S/listed"
    [ "$output" = "got hello" ]
}

@test "where all Unix sockets are allowed, the monitor is not in their way" {
    serve_named
    run box --set network.allowAllUnixSockets=true --monitor full -- /usr/bin/python3 "$T/sockets.py" talk stream "$S/other"
    [ "$output" = "got hello" ]
}

@test "the Internet's sockets work beside it" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    allowed loopback
}

@test "--docker lets Docker's socket in, with DOCKER_HOST, and says what that means" {
    serve_named
    AS+=(DOCKER_HOST="unix://$S/listed")
    run inside 'curl -sS --max-time 10 --unix-socket "${DOCKER_HOST#unix://}" http://x/'
    [ "$status" -ne 0 ]
    OPTIONS+=(--docker)
    run inside 'curl -sS --max-time 10 --unix-socket "${DOCKER_HOST#unix://}" http://x/'
    [ "$output" = served ]
    refused EACCES unix stream "$S/other"
    cd "$W"
    run "${AS[@]}" "$BOX" run --docker -- true
    [ "$status" -eq 0 ]
    [[ $output == *"whoever has it owns the host"* ]]
    [ "$(calls other)" -eq 0 ]
}

# in_view TEXT: bash text in a mount namespace of its own, where it may mount; it runs the box by `box` as whoever the
# test is for. Nothing of the machine's own /run is touched.
in_view() {
    local script=$X/view.sh own=(unshare -m)
    [ "$WHO" = root ] || own=(unshare -Um --map-current-user --keep-caps)
    : >"$LOG"
    own "$LOG"
    cp "$BATS_TEST_DIRNAME/../lib/sockets.py" "$T/sockets.py"
    chmod 644 "$T/sockets.py"
    cat >"$script" <<EOF
set -eu
unset DOCKER_HOST
servers=()
trap 'kill "\${servers[@]}"' EXIT
log() { while ! grep -qx "\$1" "$LOG"; do sleep 0.01; done; }
serve() {
    mkdir -p "\$1"
    /usr/bin/python3 "$T/sockets.py" serve "\$1" "$LOG" >"\$1/ready" 2>&1 &
    servers+=(\$!)
    while ! grep -qsx ready "\$1/ready"; do sleep 0.01; done
}
box() {
    (cd "$W" && exec timeout --foreground -k 2 20 setpriv --ambient-caps=-all --inh-caps=-all \
        "$BOX" run -q --approve yes "\$@")
}
peer() { /usr/bin/python3 "$T/sockets.py" "\$@"; }
T=$T W=$W PAYLOAD=$PAYLOAD
EOF
    cat >>"$script"
    chmod 755 "$script"
    "${AS[@]}" "${own[@]}" bash "$script" 3>&-
}

@test "sockets in their usual places below /run, by every name of the place" {
    [ "$WHO" = root ] || lacks bwrap "that its owner must be seen"
    LOG=$X/log
    run in_view <<'EOF'
mount -t tmpfs none /run
serve /run
mv /run/listed /run/docker.sock
echo "$(readlink /var/run)"
for options in --docker "--unix-socket /run/docker.sock" "--unix-socket /var/run/docker.sock"; do
    for path in /run/docker.sock /var/run/docker.sock; do
        box $options -- /usr/bin/python3 "$T/sockets.py" talk stream $path
    done
    box $options -- "$PAYLOAD" unix stream /run/other
    box $options -- sh -c 'test -S /run/docker.sock && test ! -e /run/other && echo alone'
done
box -- "$PAYLOAD" unix stream /run/docker.sock
peer talk seqpacket /run/packets
log packets
EOF
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = /run ]
    local i
    for i in 1 5 9; do
        [ "${lines[i]}" = "got hello" ]
        [ "${lines[i + 1]}" = "got hello" ]
        [[ ${lines[i + 2]} == *ENOENT ]]
        [ "${lines[i + 3]}" = alone ]
    done
    [[ ${lines[13]} == *EPERM ]]
    [ "${lines[14]}" = "got hello" ]
    [ "$(grep -cx listed "$LOG")" -eq 6 ]
    [ "$(grep -cx other "$LOG")" -eq 0 ]
}

@test "--docker says it if Docker has no socket" {
    [ "$WHO" = root ] || lacks bwrap "that its owner must be seen"
    LOG=$X/log
    run in_view <<'EOF'
mount -t tmpfs none /run
box --docker -- touch ran || echo "status $?"
mkdir /run/docker.sock
box --docker -- touch ran || echo "status $?"
EOF
    [[ $output == *"there is no such socket"*"status 125"*"not a socket"*"status 125"* ]]
    [ ! -e "$W/ran" ]
}

# Two file systems that number their files alike.
@test "a socket of the same number on another file system is another socket" {
    [ "$WHO" = root ] || lacks bwrap "that its owner must be seen"
    mkdir "$T/a" "$T/b"
    own "$T/a" "$T/b"
    LOG=$X/log
    run in_view <<'EOF'
mount -t tmpfs none "$T/a"
mount -t tmpfs none "$T/b"
serve "$T/a"
serve "$T/b"
[ "$(stat -c %i "$T/a/listed")" = "$(stat -c %i "$T/b/listed")" ]
box --unix-socket "$T/a/listed" -- /usr/bin/python3 "$T/sockets.py" talk stream "$T/a/listed"
box --unix-socket "$T/a/listed" -- "$PAYLOAD" unix stream "$T/b/listed"
box --unix-socket "$T/a/listed" -- "$PAYLOAD" unix stream "$T/a/other"
peer talk seqpacket "$T/b/packets"
log packets
EOF
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "got hello" ]
    [[ ${lines[1]} == *EACCES ]]
    [[ ${lines[2]} == *EACCES ]]
    [ "$(grep -cx listed "$LOG")" -eq 1 ]
    [ "$(grep -cx other "$LOG")" -eq 0 ]
}

@test "a refused socket is told, with what would allow it" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    cd "$W"
    run "${AS[@]}" "$BOX" run "${OPTIONS[@]}" -- "$PAYLOAD" unix stream "$S/other"
    [[ $output == *"--unix-socket $S/other"* ]]
    run "${AS[@]}" "$BOX" run "${OPTIONS[@]}" -- "$PAYLOAD" abstract some-name
    [[ $output == *"@some-name"* ]]
    run "${AS[@]}" "$BOX" plan "${OPTIONS[@]}" -- true
    [[ $output == *"bind-ro"*"$S/listed"*"socket"* ]]
    run "${AS[@]}" "$BOX" why "${OPTIONS[@]}" read "$S/listed"
    [[ $output == *"the command may connect to it"* ]]
}

@test "what cannot be kept is refused before the command runs" {
    serve_named
    run box --unix-socket "$S/none" -- touch ran
    [ "$status" -eq 125 ]
    [[ $output == *"no such socket"* ]]
    run box --unix-socket "$T/sockets.py" -- touch ran
    [ "$status" -eq 125 ]
    [[ $output == *"not a socket"* ]]
    run box --unix-socket "$S/listed" --set allowNestedNamespaces=true -- touch ran
    [ "$status" -eq 125 ]
    [[ $output == *allowNestedNamespaces* ]]
    [ ! -e "$W/ran" ]
}

@test "a symlink in the workspace does not choose what is let in" {
    serve_named
    ln -s "$S/other" "$W/link"
    own "$W/link"
    run box --unix-socket "$W/link" -- "$PAYLOAD" unix stream "$W/link"
    [ "$status" -eq 125 ]
    [[ $output == *"symbolic link"* ]]
    [ "$(calls other)" -eq 0 ]
}

@test "a project's file that names a socket must be trusted" {
    serve_named
    printf '{ "network": { "allowUnixSockets": ["%s"] } }\n' "$S/listed" >"$W/.agentbox.json"
    own "$W/.agentbox.json"
    run box -- "$PAYLOAD" unix stream "$S/listed"
    [[ $output != ok ]]
    [ "$(calls listed)" -eq 0 ]
}
