#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Each fence alone. The program for tests leaves one layer out: then another one must still stop the
# write outside, and the test of the missing layer must notice that it is gone (or it would prove
# nothing about the program that ships).
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

without() {
    BOX=$FIX/bin/agentbox-testing
    [[ $1 != *mounts* ]] || lacks bwrap "that its mounts cannot be left out"
    AS+=("ABX_TEST_SKIP=$1")
}

write_outside_fails() {
    refused "$1" write "$O/f" x
    refused "$1" append "$O/f" x
    refused "$1" sys truncate "@$O/f" 0
    refused "$1" create "$O/new"
    refused "$1" sys mkdirat -100 "@$O/new" 0777
    refused "$1" sys unlinkat -100 "@$O/f" 0
    refused "$1" sys symlinkat @x -100 "@$O/new"
    refused "$1|EXDEV" sys renameat2 -100 "@$O/f" -100 "@$O/new" 0
    refused "$1|EXDEV" sys linkat -100 "@$O/f" -100 "@$O/new" 0
}

@test "with all layers the program for tests behaves as the one that ships" {
    BOX=$FIX/bin/agentbox-testing
    watch "$O" "$D"
    write_outside_fails EROFS
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    refused EPERM sys unshare 0x10000000
    refused "$CLOSED" sys fchmodat -100 "@$O/f" 0600
    untouched
}

@test "the program that ships takes no notice of the switch" {
    AS+=("ABX_TEST_SKIP=mounts,landlock,seccomp")
    watch "$O" "$D"
    write_outside_fails EROFS
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    refused EPERM sys unshare 0x10000000
    untouched
}

@test "without mounts Landlock stops the write outside" {
    without mounts
    watch "$O"
    write_outside_fails EACCES
    untouched
}

@test "without mounts the tests of the mounts notice" {
    without mounts
    # What is hidden is seen, and what Landlock does not know of (modes, times) can be changed.
    allowed sys openat -100 "@$D/s" 0
    allowed sys fchmodat -100 "@$O/f" 0600
    [ "$(stat -c %a "$O/f")" = 600 ]
    allowed sys utimensat -100 "@$O/f" %32 0
    [ "$(stat -c %Y "$O/f")" = 0 ]
}

@test "without Landlock the mounts stop the write outside" {
    without landlock
    watch "$O" "$D"
    write_outside_fails EROFS
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    refused EROFS sys fchmodat -100 "@$O/f" 0600
    untouched
}

@test "without Landlock the tests of Landlock notice" {
    without landlock
    # Its scope is what keeps pid 1 from being signalled, and abstract sockets apart in one network.
    serve
    OPTIONS+=(--network allowed --set network.allowAllUnixSockets=true)
    allowed abstract "$ABSTRACT"
    until grep -qx abstract "$LOG"; do sleep 0.05; done # its server writes that when it comes to it
    BOX=$FIX/bin/agentbox
    refused EPERM abstract "$ABSTRACT"
}

@test "without seccomp mounts and Landlock stop the write outside" {
    without seccomp
    watch "$O" "$D"
    write_outside_fails EROFS
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    refused 'EPERM' sys mount "@$D" "@$W" 0 0x1000 0
    refused 'EPERM|EINVAL' sys umount2 "@$D" 2
    untouched
}

@test "without seccomp the tests of the filter notice" {
    without seccomp
    run attempt sys keyctl 0 -3 0
    [ "$output" != EPERM ]
    run attempt sys ioctl 0 0x5412 @x
    [ "$output" != EPERM ]
    run attempt sys 0x7fffffff
    allowed sys unshare 0x10000000
    allowed sys socket 1 1 0
    run attempt state
    [[ $output == *"seccomp=0 ok" ]]
}

@test "without mounts and seccomp Landlock alone stops the write outside" {
    without mounts,seccomp
    watch "$O"
    write_outside_fails EACCES
    untouched
}

@test "without Landlock and seccomp the mounts alone stop the write outside" {
    without landlock,seccomp
    watch "$O" "$D"
    write_outside_fails EROFS
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    untouched
}

@test "with mounts and Landlock both left out the write outside is seen to succeed" {
    without mounts,landlock
    allowed write "$O/f" written
    grep -q written "$O/f"
}

@test "without seccomp a nested user namespace still cannot undo the masks" {
    without seccomp
    watch "$O" "$D"
    run inside 'unshare -Urm sh -c "umount -l $D; umount $D; cat $D/s; mount -o remount,rw /; mount --bind / /mnt
        cat /mnt$D/s; echo x >$O/f; mount -o remount,bind,rw $O; echo x >$O/f; chmod 600 $O/f
        mount -t proc none /proc; mkdir /tmp/r; mount --rbind / /tmp/r; cat /tmp/r$D/s; echo x >/tmp/r$O/f"'
    echo "$output"
    [[ $output != *"$SECRET"* ]]
    untouched
}
