#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A01–A23, A161, A164: reading what is denied. The numbers are those of our list of attack cases.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

# The text must not bring the secret out, by output or by anything it leaves in the workspace.
keeps_secret() {
    run inside "$1"
    echo "$output"
    [[ $output != *"$SECRET"* ]]
    not grep -rq "$SECRET" "$W"
}

@test "A01 the hidden file read plainly" {
    refused "$HIDDEN" sys openat -100 "@$D/s" 0
    keeps_secret 'cat $D/s; head $D/s; cp $D/s .; tar cf t.tar $D; dd if=$D/s of=x; base64 $D/s'
}

@test "A01 variant: exec, stat, access, readlink and inotify tell nothing of what is hidden" {
    cp "$PAYLOAD" "$D/program"
    own "$D"
    run box -- "$D/program" fds
    [ "$status" -ge 126 ]
    refused "$HIDDEN" identify "$D/s"
    run inside 'stat $D/s; test -e $D/s && echo there; test -e $D/nothing && echo there; ls -d $D/*'
    [[ $output != *there* && $output != *deep* ]]
}

@test "A02 through /proc/self/root, cwd, thread-self, task and fd" {
    keeps_secret 'cat /proc/self/root$D/s /proc/self/cwd/../..$D/s /proc/thread-self/root$D/s
        cat /proc/self/cwd/../d/s /proc/self/task/*/root$D/s /proc/1/root$D/s /proc/$$/root$D/s
        exec 5</; cat /proc/self/fd/5$D/s; exec 6<..; cat /dev/fd/6/d/s; cd /proc/self/root; cat .$D/s'
}

@test "A02 variant: a directory opened before chdir, dot-dot through every mount" {
    keeps_secret 'cat ../d/s ../../*/d/s ./../d/./s ..//d//s; cd /; cat .$D/s; cd /tmp; cat ../$D/s
        cd /proc; cat ..$D/s; cd /dev/shm; cat ../..$D/s; cd /run/agentbox; cat ../..$D/s'
}

@test "A03 a symlink made inside" {
    keeps_secret 'ln -s $D/s l; cat l; ln -s $D dir; cat dir/s dir/deep/s; ln -s ../d rel; cat rel/s
        ln -s /proc/self/root$D p; cat p/s; ln -s l ll; cat ll'
}

@test "A05 a symlink that came with the repository" {
    mkdir "$W/vendor"
    ln -s "$D" "$W/vendor/data"
    ln -s "$D/s" "$W/README"
    ln -s ../../d "$W/vendor/rel"
    own "$W"
    OPTIONS+=(--ro "$W/vendor")
    run inside 'cat vendor/data/s README vendor/rel/s; ls vendor/data/'
    [[ $output != *"$SECRET"* ]]
}

@test "A05 variant: granting the planted link does not open what an exclude hides" {
    ln -s "$D" "$W/data"
    own "$W"
    OPTIONS+=(--ro "$W/data" --rw "$W/data/deep")
    run inside 'cat data/s $D/s'
    [[ $output != *"$SECRET"* ]]
}

@test "A06 a hard link made inside" {
    keeps_secret 'ln $D/s h; cat h; ln -P $D/s h2; cat h2; exec 5<$D; ln /proc/self/fd/5/s h3; cat h3'
    [ "$(stat -c %h "$D/s")" -eq 1 ]
}

@test "A06 a hard link that existed before: hidden too inside a writable root, or documented" {
    ln "$D/s" "$W/h"
    run inside 'cat h'
    if [[ $output == *"$SECRET"* ]]; then
        grep -qi 'hard link' "$ABX_SOURCE/docs/threat-model.md"
    fi
}

@test "A07 moving the hidden directory or a directory above it" {
    watch "$D"
    keeps_secret 'mv $D x; cat x/s; mv $D $D.x; cat $D.x/s; mv $D/.. /tmp/x; mv $D/../d ../e; cat ../e/s'
    OPTIONS=(--exclude "$W/a/b/hidden")
    mkdir -p "$W/a/b/hidden"
    echo "$SECRET" >"$W/a/b/hidden/s"
    own "$W"
    watch "$W/a/b/hidden"
    run inside 'mv a x; cat x/b/hidden/s; mv a/b x; cat x/hidden/s; mv a/b/hidden x; cat x/s; mkdir c
        mv -T --exchange a c; python3 -c "
import os, ctypes
ctypes.CDLL(None).renameat2(-100, b\"a\", -100, b\"c\", 2)"; cat c/b/hidden/s'
    [[ $output != *"$SECRET"* ]]
    untouched
}

@test "A08 a nested user namespace with a second mount of the root" {
    keeps_secret 'mkdir r; unshare -Urm sh -c "mount --bind / r; cat r$D/s"; unshare -r cat $D/s
        unshare -Urm umount -l $D; cat $D/s'
}

@test "A10 descriptors 3 to 255" {
    exec 4<"$D/s" 5<"$D" 100<"$D/s" 255<"$D/s"
    run inside 'ls -l /proc/self/fd/; for i in $(seq 3 255); do cat /proc/self/fd/$i; cat <&$i; done; cat /proc/self/fd/5/s'
    local seen=$output
    run attempt fds
    exec 4<&- 5<&- 100<&-
    [[ $seen != *"$SECRET"* ]]
    [ "$output" = "0 1 2 ok" ]
}

@test "A10 variant: descriptors of pid 1" {
    keeps_secret 'ls -l /proc/1/fd/; for i in $(seq 0 63); do timeout 1 cat /proc/1/fd/$i; ls /proc/1/fd/$i/; done
        cat /proc/1/fd/*/d/s'
}

@test "A12 what the host adds to a hidden directory later" {
    mkfifo "$W/gate"
    own "$W"
    start_box -c "echo up >up; read -r _ <gate; cat $D/new $D/s; ls $D" >"$X/out" 2>&1
    wait_for test -s "$W/up"
    echo "$SECRET" >"$D/new"
    echo go >"$W/gate"
    wait "$BOX_PID" || :
    not grep -q "$SECRET" "$X/out"
}

@test "A12 variant: the host replaces a hidden file by a new one while the box runs" {
    OPTIONS=(--exclude "$O/f")
    mkfifo "$W/gate"
    own "$W"
    start_box -c "echo up >up; read -r _ <gate; cat $O/f $O/sub/f; ls $O" >"$X/out" 2>&1
    wait_for test -s "$W/up"
    echo "$SECRET" >"$O/f"
    echo go >"$W/gate"
    wait "$BOX_PID" || :
    not grep -q "$SECRET" "$X/out"
}

@test "A13 a name that a glob would have hidden, made inside: the same in this run and documented in the next" {
    OPTIONS+=(--exclude "$W/**/.env")
    mkdir "$W/sub"
    own "$W"
    run inside 'echo mine >sub/.env; cat sub/.env'
    [ "$output" = mine ]
    # From the next start on it exists, so it is hidden.
    run inside 'cat sub/.env'
    [[ $output != *mine* ]]
}

@test "A15 documented: a hidden file that was committed is still in the objects" {
    make_repo
    echo "$SECRET" >"$W/.env"
    own "$W/.env"
    host_git -C "$W" add -f .env
    host_git -C "$W" commit -qm env
    OPTIONS+=(--exclude "$W/.env")
    run inside 'cat .env'
    [[ $output != *"$SECRET"* ]]
    run inside 'git show HEAD:.env'
    [ "$output" = "$SECRET" ]
    OPTIONS+=(--exclude "$W/.git/objects")
    run inside 'git show HEAD:.env; git cat-file -p HEAD:.env'
    [[ $output != *"$SECRET"* ]]
}

@test "A17 the environment of pid 1, of parents and our own" {
    AS+=("HOST_SECRET_TOKEN=$SECRET")
    keeps_secret 'env; cat /proc/1/environ /proc/$PPID/environ /proc/self/environ; tr "\0" "\n" </proc/1/cmdline
        cat /proc/1/mem /proc/1/auxv; export; set'
}

@test "A18 the supervisor: not there" {
    AS+=("HOST_SECRET_TOKEN=$SECRET")
    mkfifo "$W/gate"
    own "$W"
    start_box -c 'read -r pid <gate; for p in $pid 1 $PPID; do cat /proc/$p/maps /proc/$p/mem /proc/$p/environ
        ls -l /proc/$p/fd/ /proc/$p/cwd/ /proc/$p/root/ /proc/$p/task/; done; echo end' >"$X/out" 2>&1
    echo "$BOX_PID" >"$W/gate"
    wait "$BOX_PID" || :
    cat "$X/out"
    grep -qx end "$X/out"
    not grep -Eq "$SECRET|agentbox\$|heap" "$X/out"
}

@test "A19 devices of the host" {
    local node
    for node in sda vda nvme0n1 mem kmem port kmsg core kvm fuse dri snd input mapper/control net/tun vhost-net; do
        refused 'ENOENT|EACCES' sys openat -100 "@/dev/$node" 0
    done
}

@test "A20 a device made in the workspace, in /tmp or in /dev/shm" {
    local dir
    for dir in "$W" /tmp /dev/shm /dev; do
        refused "$CLOSED" sys mknodat -100 "@$dir/d" 0060660 0x800
        refused "$CLOSED" sys mknodat -100 "@$dir/d" 0020660 0x101
    done
    [ ! -e "$W/d" ]
}

@test "A20 variant: the disk's node made on the host into the workspace before" {
    need_root "making one needs root"
    mknod -m 666 "$W/d" c 1 8
    refused EACCES sys openat -100 "@$W/d" 0
}

@test "A21 kcore, kallsyms, kernel messages, firmware and security folders" {
    run inside 'head -c 16 /proc/kcore; cat /proc/kmsg; dmesg; ls /sys/firmware /sys/kernel/security /sys/kernel/debug
        cat /sys/class/dmi/id/product_uuid; cat /proc/sys/fs/binfmt_misc/status; cat /proc/keys'
    [[ $output != *Linux\ version* && $output != *ELF* && $output != *enabled* ]]
    run inside 'grep -v "^0* " /proc/kallsyms | head -1'
    [ -z "$output" ] || [[ $output == *"No such file"* || $output == *denied* ]]
}

@test "A23 swap and shared memory of others" {
    local mark=/dev/shm/abx-${FIX##*.}
    echo "$SECRET" >"$mark"
    chmod 666 "$mark"
    run inside "cat $mark /dev/shm/*; ls /dev/shm; swapon file; swapoff -a"
    local content
    content=$(cat "$mark")
    rm -f "$mark"
    [[ $output != *"$SECRET"* ]]
    [ "$content" = "$SECRET" ]
    refused EPERM sys swapon "@$W/file" 0
}

# swapping CALL NAME A B [C D]: further boxes are set up under the eyes of somebody who writes the workspace, too.
swapping() {
    cp "$ABX_BUILD/tests/swapat" "$FIX/swapat"
    AS+=(env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$FIX/swapat" "$@" --)
}

@test "A161 a placeholder that another run makes a link while it is covered" {
    ours_only
    local at=mount of=.agentbox.json
    [ "${BACKEND:-native}" != bwrap ] || at=readlink of=.envrc # which looks for links in what it binds
    mkdir "$X/hidden"
    echo "$SECRET" >"$X/hidden/s" # is masked after the workspace is mounted
    ln -s "$X/hidden/s" "$W/link"
    own "$W" "$X"
    OPTIONS+=(--exclude "$X/hidden")
    swapping "$at" .envrc "$W/$of" "$W/link"
    keeps_secret 'cat .envrc; echo x >>.envrc; mv .envrc other'
    [ "$status" -ne 99 ]
    [ ! -e "$W/other" ]
    [ "$(cat "$X/hidden/s")" = "$SECRET" ]
}

@test "A161 variant: the cover of one lands on another file, and that of its neighbour is shown for it" {
    ours_only
    ln -s "$O/f" "$W/link"
    own "$W"
    swapping mount .envrc "$W/.envrc" "$W/link" "$W/.envrc" "$W/.cursor"
    run inside 'echo started; cat "$O/f"'
    echo "$status $output"
    [ "$status" -ne 99 ]
    [[ $output != *started* || $output == *outside* ]]
}

# Where a chroot or a container's root has the kernel's file systems, beside the workspace and in it.
with_kernelfs() {
    need_root "mounting needs root"
    mkdir -p "$W/root/proc" "$W/root/sys" "$O/root/proc"
    own "$W/root" "$O/root"
    own_mounts 'mount -t proc p "$0/../o/root/proc" && mount -t proc p "$0/root/proc" &&
        mount --bind "$0/root/proc/sys" "$0/root/sys" && '"${1:-:}"' && exec "$@"'
}

@test "A164 the host's processes through a procfs that is mounted elsewhere" {
    ours_only
    victim
    with_kernelfs
    run inside 'for p in $O/root/proc root/proc; do
        ls $p/self $p/1 2>/dev/null; cat $p/[0-9]*/comm; cat $p/'"$VICTIM"'/environ; cat $p/1/root'"$D"'/s; done; echo end'
    [[ $output == *end ]]
    not grep -qx -e sleep -e status <<<"$output"
    [[ $output != *"$SECRET"* ]]
    victim_lives
}

@test "A164 variant: the kernel's settings, which root may write, in the workspace" {
    ours_only
    local before
    before=$(cat /proc/sys/kernel/core_pattern)
    with_kernelfs 'umount "$0/root/proc"'
    # The same value: nothing changes if it is let through.
    run inside 'for f in root/sys/kernel/core_pattern root/proc/sys/kernel/core_pattern; do
        v=$(cat $f) && echo "$v" >$f && echo written; done; ls root/sys/kernel && echo listed; echo end'
    echo "$output"
    [[ $output == *end && $output != *written* && $output != *listed* ]]
    [ "$(cat /proc/sys/kernel/core_pattern)" = "$before" ]
}
