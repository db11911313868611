#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Files: what lies outside cannot be changed in any way, what is hidden cannot be seen in any way,
# and what is granted works.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

@test "can write, make, rename and remove below the workspace" {
    inside 'echo more >>file && mkdir -p a/b && mv file a/b/ && ln a/b/file hard && ln -s hard soft &&
        rm soft && chmod 600 hard && touch -d 2001-01-01 hard && mkfifo pipe'
    [ "$(cat "$W/a/b/file")" = "work
more" ]
    [ "$(stat -c '%a %Y' "$W/hard")" = "600 978307200" ]
    [ -p "$W/pipe" ]
}

@test "cannot write, append to, truncate or map a file outside" {
    watch "$O"
    refused "$CLOSED" write "$O/f" x
    refused "$CLOSED" append "$O/f" x
    refused "$CLOSED" truncate-open "$O/f"
    refused "$CLOSED" sys truncate "@$O/f" 0
    refused "$CLOSED" mmap-write "$O/f"
    refused "$CLOSED" reopen "$O/f"
    untouched
}

@test "cannot make anything outside" {
    watch "$O"
    refused "$CLOSED" create "$O/new"
    refused "$CLOSED" tmpfile "$O"
    refused "$CLOSED" sys mkdirat -100 "@$O/new" 0777
    refused "$CLOSED" sys symlinkat @x -100 "@$O/new"
    refused "$CLOSED|EXDEV" sys linkat -100 "@$W/file" -100 "@$O/new" 0
    refused "$CLOSED|EXDEV" sys linkat -100 "@$O/f" -100 "@$O/new" 0
    refused "$CLOSED" sys mknodat -100 "@$O/new" 0100666 0
    refused "$CLOSED" sys mknodat -100 "@$O/new" 0010666 0
    refused "$CLOSED" sys mknodat -100 "@$O/new" 0140666 0
    refused "$CLOSED|EXDEV" sys renameat2 -100 "@$W/file" -100 "@$O/new" 0
    untouched
}

@test "cannot remove, rename or exchange anything outside" {
    watch "$O"
    refused "$CLOSED" sys unlinkat -100 "@$O/f" 0
    refused "$CLOSED" sys unlinkat -100 "@$O/sub/g" 0
    refused "$CLOSED|ENOTEMPTY" sys unlinkat -100 "@$O/sub" 0x200
    refused "$CLOSED|EXDEV" sys renameat2 -100 "@$O/f" -100 "@$O/g" 0
    refused "$CLOSED|EXDEV" sys renameat2 -100 "@$O/f" -100 "@$W/g" 0
    refused "$CLOSED|EXDEV" sys renameat2 -100 "@$O/f" -100 "@$W/file" 2
    refused "$CLOSED|EXDEV" sys renameat2 -100 "@$W/file" -100 "@$O/f" 0
    refused "$CLOSED|EXDEV|EBUSY" sys renameat2 -100 "@$O" -100 "@$W/stolen" 0
    untouched
}

@test "cannot change mode, owner, times or attributes of a file outside" {
    watch "$O"
    refused "$CLOSED" sys fchmodat -100 "@$O/f" 0600
    refused "$CLOSED" sys fchmodat -100 "@$O" 0700
    refused "$CLOSED" sys fchownat -100 "@$O/f" "$(id -u)" -1 0
    refused "$CLOSED" sys utimensat -100 "@$O/f" %32 0
    refused "$CLOSED" sys utimensat -100 "@$O" 0 0
    refused "$CLOSED" xattr "$O/f"
    inside 'chmod 600 /proc/self/fd/9; touch /proc/self/fd/9' 2>/dev/null 9<"$O/f" || :
    untouched
}

@test "cannot change a file outside by the descriptor it reads with" {
    watch "$O"
    inside 'exec 5<"$O/f"; chmod 600 /proc/self/fd/5; touch -d 2001-01-01 /proc/self/fd/5
        echo x >/proc/self/fd/5; echo x >/dev/fd/5; setfattr -n user.x -v y /proc/self/fd/5' || :
    untouched
}

@test "the parent of the workspace and the home cannot be written" {
    refused "$CLOSED" create "$T/new"
    refused "$CLOSED" create "$H/.bashrc"
    refused "$CLOSED" create "$W/../new"
    refused "$CLOSED" create /new
    refused "$CLOSED" create /etc/new
    refused "$CLOSED" create /usr/new
    refused "$CLOSED|ENOENT" create /var/tmp/abx-new
    [ ! -e /var/tmp/abx-new ]
    [ ! -e "$T/new" ]
    [ ! -e "$H/.bashrc" ]
    [ ! -e /new ]
    [ ! -e /etc/new ]
    [ ! -e /usr/new ]
}

@test "the hidden directory can be neither listed nor read, by any name" {
    run inside 'cat $D/s $D/deep/s; ls -la $D; cat $D/../d/s; cd $D && cat s; cat $D//./s
        cat /proc/self/root$D/s /proc/self/cwd/../d/s /proc/1/root$D/s /proc/thread-self/root$D/s
        cat /dev/fd/../../root$D/s; find / -xdev -samefile $D/s; grep -r hidden-canary $D/..'
    echo "$output"
    [[ $output != *"$SECRET"* ]]
    refused "$HIDDEN" dir-open "$D"
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    refused "$HIDDEN" sys openat -100 "@$D/s" 010000000
    refused "$HIDDEN" identify "$D/s"
}

@test "what is hidden cannot be changed, moved or replaced either" {
    watch "$D"
    refused "$CLOSED" create "$D/new"
    refused "$CLOSED" sys fchmodat -100 "@$D" 0777
    refused "$CLOSED|EBUSY|EXDEV" sys renameat2 -100 "@$D" -100 "@$W/d" 0
    refused "$CLOSED|EBUSY" sys unlinkat -100 "@$D" 0x200
    untouched
}

@test "a hidden file is hidden, and its neighbours are not" {
    echo "$SECRET" >"$W/.env"
    echo open >"$W/.env.example"
    own "$W"
    OPTIONS+=(--exclude "$W/.env")
    watch "$W/.env"
    run inside 'cat .env; cat .env.example; cp .env x; mv .env y; rm -f .env; echo z >.env; dd if=.env'
    [[ $output != *"$SECRET"* ]]
    [[ $output == *open* ]]
    untouched
}

# Their masks are copies of each other (mask_from_sibling): each must be whole.
@test "many hidden neighbours, files and directories in turn, are hidden each" {
    for n in 1 2 3 4; do
        mkdir "$W/dir$n"
        echo "$SECRET" >"$W/file$n"
        echo "$SECRET" >"$W/dir$n/s"
        OPTIONS+=(--exclude "$W/file$n" --exclude "$W/dir$n")
    done
    echo open >"$W/between"
    own "$W"
    watch "$W/file2" "$W/dir3"
    # bubblewrap knows no noexec; there is nothing to execute in an empty directory or a closed device.
    [ "${BACKEND:-}" = bwrap ] || OPTIONS+=(--env "NOEXEC=,noexec")
    run inside 'cat between file* dir*/*; ls dir*; chmod 777 file* dir*; rm -rf file* dir*; for n in 1 2 3 4; do
        echo x >file$n; echo x >dir$n/x; mv file$n f; mv dir$n d; done
        grep -cE " $W/(file|dir)[1-4] ro,nosuid,nodev$NOEXEC" /proc/self/mountinfo'
    [[ $output != *"$SECRET"* && $output == *open* ]]
    [ "${lines[-1]}" -eq 8 ]
    untouched
}

@test "a grant below a hidden directory opens that and nothing beside it" {
    mkdir "$D/open"
    echo fine >"$D/open/file"
    own "$D"
    OPTIONS+=(--rw "$D/open")
    run inside 'cat $D/open/file; echo more >>$D/open/file; cat $D/s $D/deep/s; ls $D; touch $D/new'
    echo "$output"
    [[ $output == *fine* && $output != *"$SECRET"* && $output != *deep$'\n'* ]]
    [ "$(cat "$D/open/file")" = "fine
more" ]
    [ ! -e "$D/new" ]
}

@test "a read-only path inside the workspace is read-only to its roots" {
    mkdir -p "$W/src/auth"
    echo key >"$W/src/auth/k"
    own "$W"
    OPTIONS+=(--ro "$W/src/auth")
    watch "$W/src/auth"
    refused "$CLOSED" write "$W/src/auth/k" x
    refused "$CLOSED" create "$W/src/auth/new"
    refused "$HELD" sys renameat2 -100 "@$W/src/auth" -100 "@$W/x" 0
    refused "$HELD" sys unlinkat -100 "@$W/src/auth/k" 0
    refused "$HELD" sys renameat2 -100 "@$W/src" -100 "@$W/x" 0
    refused "$HELD" sys renameat2 -100 "@$W/src" -100 "@$W/file" 2
    inside 'rm -rf src; mkdir -p src/auth; echo x >src/auth/k' || :
    untouched
    allowed create "$W/src/beside"
}

@test "files made inside belong to the one who runs it" {
    inside 'umask 022; echo x >made; mkdir dir; chmod 750 dir'
    [ "$(stat -c %u:%g "$W/made" "$W/dir" | sort -u)" = "$(stat -c %u:%g "$W")" ]
    [ "$(stat -c %a "$W/made" "$W/dir" | tr '\n' ' ')" = "644 750 " ]
    [ "$(inside 'stat -c %u made')" = "$(stat -c %u "$W/made")" ]
}

@test "/tmp and /dev/shm have room for a number of files that goes with their size" {
    run inside "stat -f -c '%b %S %c' /tmp /dev/shm"
    [ "$status" -eq 0 ]
    while read -r blocks size entries; do
        echo "$blocks blocks of $size, $entries entries"
        ((entries <= blocks * size / 2048 + 1024 && entries >= blocks))
    done <<<"$output"
    [ "${#lines[@]}" -eq 2 ]
}

@test "/tmp is its own and gone afterwards" {
    local mark=abx-${FIX##*.}-$BATS_TEST_NUMBER
    echo host >"/tmp/$mark"
    run inside "cat /tmp/$mark; ls -A /tmp; echo inside >/tmp/$mark.in; cat /tmp/$mark.in"
    rm -f "/tmp/$mark"
    [[ $output != *host* && $output == *inside* ]]
    [ ! -e "/tmp/$mark.in" ]
    run inside "cat /tmp/$mark.in"
    [ "$status" -ne 0 ]
}

@test "/dev/shm is its own and gone afterwards" {
    local mark=abx-${FIX##*.}-$BATS_TEST_NUMBER
    echo host >"/dev/shm/$mark"
    run inside "cat /dev/shm/$mark; echo inside >/dev/shm/$mark.in; cat /dev/shm/$mark.in"
    rm -f "/dev/shm/$mark"
    [[ $output != *host* && $output == *inside* ]]
    [ ! -e "/dev/shm/$mark.in" ]
}

@test "a workspace below /tmp works, and the rest of /tmp stays hidden" {
    local base
    base=$(mktemp -d /tmp/abx-test.XXXXXX)
    chmod 755 "$base"
    fixture "$base"
    watch "$O" "$D"
    run inside 'echo written >>file; ls /tmp; ls $W/..; cat $O/f; cat $D/s; echo x >$W/../new; echo x >$O/f'
    echo "$output"
    [[ $output != *outside* && $output != *"$SECRET"* ]]
    [ "$(tail -n 1 "$W/file")" = written ]
    [ ! -e "$base/new" ]
    untouched
}

@test "--tmp host shares the host's /tmp, and only that" {
    local mark=/tmp/abx-${FIX##*.}-$BATS_TEST_NUMBER
    echo host >"$mark"
    own "$mark"
    OPTIONS+=(--tmp host)
    watch "$O"
    run inside "cat $mark; echo inside >>$mark; echo x >$O/f"
    local content
    content=$(cat "$mark")
    rm -f "$mark"
    [[ $output == *host* ]]
    [ "$content" = "host
inside" ]
    untouched
}
