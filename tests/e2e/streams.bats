#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A file as a standard stream: what was opened for reading cannot be written, whoever may write it.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034,SC2094
load ../lib/e2e

# Every way to a change that a descriptor of the file opens; each must be refused.
ATTEMPTS='for fd in 0 1 2; do
    sh -c "echo evil >/proc/self/fd/$1" - $fd; sh -c "echo evil >>/dev/fd/$1" - $fd
    sh -c "echo evil >/proc/\$PPID/fd/$1" - $fd
    chmod 777 /proc/self/fd/$fd; touch /proc/self/fd/$fd; truncate -s 0 /proc/self/fd/$fd
    "$P" xattr /proc/self/fd/$fd; "$P" mmap-write /proc/self/fd/$fd
done 3>&1 >/dev/null; :'

protected_files() {
    echo '{}' >"$W/.mcp.json"
    echo 'ours' >"$W/read-only"
    echo 'hidden' >"$W/hidden"
    own "$W"
    OPTIONS+=(--ro "$W/read-only" --exclude "$W/hidden")
}

@test "a file that is passed for reading can be read and not changed, wherever it lies" {
    protected_files
    local file
    for file in .mcp.json read-only hidden file ../o/f; do
        # By bubblewrap it is as in the view: the one cannot be passed, the other can be written by its name, too.
        [[ ${BACKEND:-} != bwrap || ($file != hidden && $file != file) ]] || continue
        watch "$W/$file"
        [ "$(box -- cat <"$W/$file")" = "$(cat "$W/$file")" ]
        inside "$ATTEMPTS" <"$W/$file" >/dev/null 2>&1
        untouched
    done
}

@test "the same on standard output and standard error" {
    protected_files
    watch "$W/.mcp.json"
    inside "$ATTEMPTS" 2<"$W/.mcp.json" >/dev/null || :
    inside "$ATTEMPTS" 1<"$W/.mcp.json" 2>/dev/null || :
    untouched
}

# Root owns the host's node: by its descriptor a command could change it for everybody.
@test "a device that comes in as a stream is one of the view's own" {
    need_root "a device needs root"
    mknod -m 666 "$W/null" c 1 3
    own "$W"
    watch "$W/null"
    inside "$ATTEMPTS; chown 7 /proc/self/fd/0; echo done >&2; : >/dev/stdout; : </dev/stdin" <"$W/null" >"$W/null" 2>"$X/err"
    grep -q 'done' "$X/err"
    untouched
}

# Of fd 0, 1 or 2 (an argument) by the descriptor itself: what it must not be able to change.
CHANGES='import os, sys
fd = int(sys.argv[1])
for change in (lambda: os.fchmod(fd, 0o666), lambda: os.utime(fd, (1, 1)), lambda: os.utime(fd),
               lambda: os.fchown(fd, os.getuid(), os.getgid()), lambda: os.setxattr(fd, "user.x", b"1")):
    try:
        change()
        os._exit(3)
    except OSError:
        pass'

a_fifo() { # outside of all that can be written
    rm -f "$O/fifo"
    mkfifo -m 600 "$O/fifo"
    own "$O/fifo"
}

# What goes through it moves its times; mode, owner and the year are what nobody may change.
fifo_kept() {
    [ "$(stat -c "%a %u" "$O/fifo")" = "600 $(stat -c %u "$O/f")" ]
    [[ $(stat -c %y "$O/fifo") != 1970* ]]
}

@test "a FIFO that comes in as a stream is read and written, and cannot be changed" {
    a_fifo
    exec 7<>"$O/fifo"
    watch "$O"
    for fd in 0 1 2; do
        box -- python3 -c "$CHANGES" "$fd" <"$O/fifo" >"$O/fifo" 2>"$O/fifo"
        box -- python3 -c "$CHANGES" "$fd" 0<>"$O/fifo" 1<>"$O/fifo" 2<>"$O/fifo"
    done
    untouched
    echo through >&7
    [ "$(box -- head -n 1 <"$O/fifo")" = through ]
    box -- echo back >"$O/fifo"
    read -r -t 5 line <&7
    [ "$line" = back ]
    exec 7>&-
    fifo_kept
}

@test "a FIFO whose writer has gone has its data and its end, also for those who poll" {
    a_fifo
    local reader='import os, select
p, data = select.poll(), b""
p.register(0, select.POLLIN)
while True:
    events = p.poll(5000)
    part = os.read(0, 100) if events else b"nobody said that it ended"
    data += part
    if not events or not part:
        break
os.fchmod(0, 0o666) if os.environ.get("CHANGE") else None
print(data.decode(), end="")'
    (echo gone >"$O/fifo") &
    { wait $! && sleep 0.1 && got=$(box -- python3 -c "$reader"); } <"$O/fifo"
    [ "$got" = gone ]
    (sleep 0.5 && echo late) >"$O/fifo" &
    [ "$(box -- python3 -c "$reader" <"$O/fifo")" = late ]
    (echo gone >"$O/fifo") &
    { wait $! && run box --env CHANGE=1 -- python3 -c "$reader"; } <"$O/fifo"
    [[ $output = *OSError* ]]
    fifo_kept
}

@test "a FIFO whose reader has gone breaks the pipe of who writes" {
    a_fifo
    exec 7<>"$O/fifo"
    exec 8>"$O/fifo"
    exec 7>&-
    box -- python3 -c "$CHANGES" 1 >&8
    local status=0
    box -- python3 -c 'import os
try:
    os.write(1, b"x")
except BrokenPipeError:
    os._exit(9)' >&8 || status=$?
    exec 8>&-
    [ "$status" -eq 9 ]
    fifo_kept
}

@test "a disk that comes in as a stream is read, and its node cannot be changed" {
    need_root "a device needs root"
    local disk
    disk=$(lsblk -dpno NAME | head -n 1)
    [ -b "$disk" ] || skip "disk: none here"
    # shellcheck disable=SC2046
    mknod -m 600 "$O/disk" b $(stat -c '0x%t 0x%T' "$disk")
    head -c 4096 "$O/disk" >/dev/null 2>&1 || skip "disk: cannot be opened"
    watch "$O"
    if [[ ${BACKEND:-} = bwrap ]] && ! is_other; then # its view opens no device
        not box -- true <"$O/disk"
        return
    fi
    box -- python3 -c "$CHANGES" 0 <"$O/disk"
    [ "$(box -- head -c 4096 <"$O/disk" | sha256sum)" = "$(head -c 4096 "$O/disk" | sha256sum)" ]
    untouched
}

@test "the same without Landlock" {
    protected_files
    OPTIONS+=(--set allowNestedNamespaces=true)
    watch "$W/.mcp.json" "$O/f"
    inside "$ATTEMPTS" <"$W/.mcp.json" >/dev/null 2>&1
    inside "$ATTEMPTS" <"$O/f" >/dev/null 2>&1
    untouched
}

@test "a file that is passed for writing is written" {
    box -- sh -c 'echo out; echo err >&2' >"$W/out" 2>>"$W/err"
    [ "$(cat "$W/out" "$W/err")" = $'out\nerr' ]
    box -- sh -c 'read -r line; echo "$line" >&0' <>"$W/file"
    [ "$(cat "$W/file")" = $'work\nwork' ]
}

@test "input goes on where it was, and the caller goes on where the command stopped" {
    printf '%s\n' one two three >"$W/list"
    {
        read -r first
        second=$(box -- head -n 1)
        read -r third
    } <"$W/list"
    [ "$first $second $third" = "one two three" ]
}

@test "here-documents, removed files, pipes and nothing at all are passed as they are" {
    [ "$(box -- cat <<<'a here-document')" = "a here-document" ]
    echo removed >"$X/gone"
    { rm "$X/gone" && [ "$(box -- cat)" = removed ]; } <"$X/gone"
    [ "$(echo piped | box -- cat)" = piped ]
    box -- sh -c ': <&0' </dev/null
    box -- true <&-
}

@test "a file of another user that cannot be reached by its name is passed" {
    is_other || skip "other: nobody else here"
    mkdir "$X/closed"
    echo mine >"$X/closed/f"
    chown -R 0:0 "$X/closed"
    chmod 700 "$X/closed"
    [ "$(box -- cat <"$X/closed/f")" = mine ]
}

@test "a file that its name does not lead to any more, but another does, is refused with a hint" {
    echo ours >"$W/a"
    own "$W/a"
    ln "$W/a" "$W/b"
    run bash -c 'rm "$1"; shift; exec "$@"' - "$W/a" "${AS[@]}" "$BOX" run -q -C "$W" -- cat <"$W/a"
    [ "$status" -eq 125 ]
    [[ $output = *"standard input"*"hint: "*"through a pipe"* ]]
}
