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

@test "threads that exchange the address while it is looked at reach no other socket" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer swap "$S/listed" "$S/other"
    [ "$output" = connected ]
    [ "$(calls other)" -eq 0 ]
}

@test "threads that exchange the descriptor meanwhile reach no other socket" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    run peer places "$S/listed" "$S/other"
    [ "$output" = connected ]
    [ "$(calls other)" -eq 0 ]
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

@test "a refused socket is told, with what would allow it" {
    serve_named
    OPTIONS+=(--unix-socket "$S/listed")
    cd "$W"
    run "${AS[@]}" "$BOX" run "${OPTIONS[@]}" -- "$PAYLOAD" unix stream "$S/other"
    [[ $output == *"--unix-socket $S/other"* ]]
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
