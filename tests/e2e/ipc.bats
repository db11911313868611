#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Ways from process to process that are neither files nor network.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

@test "sockets with a name cannot be reached" {
    serve
    refused 'EPERM|EACCES' unix stream "$S/stream"
    refused 'EPERM|EACCES' unix dgram "$S/dgram"
    refused 'EPERM|EACCES|EPROTOTYPE' unix seqpacket "$S/stream"
    nobody_called
}

@test "sockets in the workspace that the host listens on cannot be reached either" {
    S=$W
    serve
    refused 'EPERM|EACCES' unix stream "$S/stream"
    refused 'EPERM|EACCES' unix dgram "$S/dgram"
    nobody_called
}

@test "abstract sockets cannot be reached" {
    serve
    refused 'EPERM|EACCES|ECONNREFUSED' abstract "$ABSTRACT"
    OPTIONS+=(--set network.allowAllUnixSockets=true)
    refused 'EPERM|EACCES|ECONNREFUSED' abstract "$ABSTRACT"
    nobody_called
}

@test "abstract sockets stay closed when network and unix sockets are open" {
    serve
    OPTIONS+=(--network allowed --set network.allowAllUnixSockets=true)
    refused 'EPERM|EACCES|ECONNREFUSED' abstract "$ABSTRACT"
    nobody_called
}

@test "a pair of sockets cannot be turned towards the host" {
    serve
    local kind
    for kind in stream dgram seqpacket raw; do
        refused 'EPERM|EACCES|EISCONN|ECONNREFUSED|EINVAL|EPROTOTYPE|EOPNOTSUPP|ESOCKTNOSUPPORT|EPIPE|ENOTCONN' \
            pair "$kind" "$S/dgram"
        refused 'EPERM|EACCES|EISCONN|ECONNREFUSED|EINVAL|EPROTOTYPE|EOPNOTSUPP|ESOCKTNOSUPPORT|EPIPE|ENOTCONN' \
            pair "$kind" "$S/stream"
        refused 'EPERM|EACCES|EISCONN|ECONNREFUSED|EINVAL|EPROTOTYPE|EOPNOTSUPP|ESOCKTNOSUPPORT|EPIPE|ENOTCONN' \
            pair "$kind" "@$ABSTRACT"
    done
    nobody_called
}

@test "junk above the 32 bits that count does not open socket or socketpair" {
    refused EPERM sys socket 0x100000001 1 0
    refused EPERM sys socket 0xffffffff00000001 0x80002 0
    refused EPERM sys socketpair 0x100000001 0x100000002 0 %16
    refused EPERM sys socketpair 1 3 0 %16
}

@test "pairs and passing a descriptor over one work" {
    allowed sys socketpair 1 1 0 %8
    allowed sys socketpair 1 5 0 %8
    allowed passing
}

@test "System V shared memory, semaphores and queues of the host are not there" {
    local shm sem msg key=0x00abc${RANDOM: -3}
    shm=$("${AS[@]}" ipcmk -M 4096 -p 666)
    sem=$("${AS[@]}" ipcmk -S 1 -p 666)
    msg=$("${AS[@]}" ipcmk -Q -p 666)
    run inside 'ipcs -a; cat /proc/sysvipc/*'
    local seen=$output
    run attempt sys shmat "${shm##* }" 0 0
    local attached=$output
    ipcrm -m "${shm##* }" -s "${sem##* }" -q "${msg##* }"
    [[ $seen != *" 4096 "* && $seen != *0x????????*666* ]]
    [[ $attached == EINVAL || $attached == EIDRM || $attached == EACCES ]]
    refused ENOENT sys shmget "$key" 0 0
    allowed sys shmget "$key" 4096 01666
    run ipcs -m
    [[ $output != *"${key,,}"* ]]
}

@test "POSIX message queues of the host are not there, and ours not outside" {
    local name=abx-${FIX##*.} made
    made=$(as_who "$PAYLOAD" sys mq_open "@$name" 0102 0666 0)
    [ "$made" = ok ] || skip "mqueue: $made"
    run attempt sys mq_open "@$name" 0
    local opened=$output
    run attempt sys mq_unlink "@$name"
    [ "$(as_who "$PAYLOAD" sys mq_unlink "@$name")" = ok ]
    [ "$opened" = EPERM ]
    run attempt sys mq_open "@$name" 0102 0600 0
    [ "$(as_who "$PAYLOAD" sys mq_open "@$name" 0)" = ENOENT ]
}

@test "the keyrings of the host cannot be used" {
    refused EPERM sys keyctl 0 -3 0
    refused EPERM sys keyctl 0 -4 0
    refused EPERM sys keyctl 11 -3 0 0
    refused EPERM sys add_key @user @abx @x 1 -4
    refused EPERM sys request_key @user @abx 0 0
    run inside 'cat /proc/keys /proc/key-users'
    [[ $output != *_ses* && $output != *_uid* ]]
}

@test "a fifo of the host outside cannot be written, one in the workspace can" {
    mkfifo "$O/fifo" "$W/fifo"
    own "$O" "$W"
    exec 6<>"$O/fifo"
    refused "$CLOSED" write "$O/fifo" x
    run timeout 0.2 head -c1 <&6
    exec 6>&-
    [ -z "$output" ]
    exec 6<>"$W/fifo"
    allowed write "$W/fifo" x
    exec 6>&-
}

@test "a lock on a file outside does not hold up the host for longer than the run" {
    inside 'exec 5<$O/f; flock -n 5; sleep 0' || :
    flock -n "$O/f" true
}
