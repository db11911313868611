#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The kernel's own file systems, mounted elsewhere than usual, as a chroot or a container's root has them:
# hidden, whatever the rules say. Nothing here writes another value than is there already.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

# mounting TEXT: the boxes that follow are started where this shell text ($0: $W) has mounted something.
mounting() {
    need_root "mounting needs root"
    mkdir -p "$W/at" "$W/part" "$W/shut/at"
    touch "$W/one"
    own "$W"
    own_mounts "$1
exec \"\$@\""
}

# untold TEXT: it runs, and says nothing of the process outside.
untold() {
    run inside "$1"'; echo end'
    echo "$status $output"
    [ "$status" -eq 0 ]
    [[ $output == *end && $output != *WRITTEN* && $output != *SEEN* ]]
}

# At none of these places is there anything that the kernel shows of the host.
TRY='for p in $O/sub at part one shut/at; do
    chmod 755 "${p%/*}" 2>/dev/null
    ls "$p/" >/dev/null 2>&1 && [ "$(ls "$p" | wc -l)" -gt 2 ] && echo "SEEN $p"
    grep -q . "$p/version" "$p/kernel/ostype" && echo "SEEN in $p"
    grep -qx sleep $p/[0-9]*/comm && echo "SEEN a process in $p"
    for f in "$p/kernel/core_pattern" "$p/sys/kernel/core_pattern" "$p/kernel/mm/ksm/run" "$p"; do
        v=$(cat "$f" 2>/dev/null) && [ -n "$v" ] && echo "$v" >"$f" && echo "WRITTEN $f"
    done
done 2>/dev/null'

setup() {
    need_who
    fixture "$FIX/t$BATS_TEST_NUMBER"
    victim # sleep
}

@test "a second procfs shows no process and no sysctl, outside and in the workspace" {
    mounting 'mount -t proc p "$0/../o/sub" && mount -t proc p "$0/at"'
    untold "$TRY"
    run inside 'cat at/1/status at/self/status; ls at'
    [[ $output != *Name:* ]]
}

@test "a part of a procfs that is not mounted itself cannot be written" {
    mounting 'mount -t proc p "$0/at" && mount --bind "$0/at/sys" "$0/part" &&
        mount --bind "$0/at/sys/kernel/core_pattern" "$0/one" && umount "$0/at"'
    untold "$TRY"
    mounting 'mount --bind /proc/sys "$0/part" && mount --bind /proc/sys/kernel/core_pattern "$0/one"'
    untold "$TRY"
}

@test "a second sysfs is hidden like the first, which can still be granted" {
    lacks landlock "that names in /sys are hidden: one file system is the same to it wherever it is mounted"
    mounting 'mount -t sysfs s "$0/at" && mount --bind "$0/at/kernel" "$0/part" && mount -t sysfs s "$0/../o/sub"'
    untold "$TRY"
    OPTIONS+=(--ro /sys)
    untold "$TRY"
    box -- ls /sys/kernel
}

@test "every type that the table has and this kernel mounts is hidden" {
    local type types=() line
    while read -r line; do
        type=${line#KERNELFS(\"}
        type=${type%%\"*}
        [ "$type" = cgroup ] || grep -qw "$type" /proc/filesystems || continue
        types+=("$type")
    done < <(grep '^KERNELFS(' "$ABX_SOURCE/src/probe/kernelfs.def")
    [ "${#types[@]}" -ge 3 ]
    for type in "${types[@]}"; do
        mkdir -p "$W/at/$type" "$O/sub/$type"
    done
    own "$W/at" "$O"
    mounting "for t in ${types[*]}; do
        mount -t \$t none \"\$0/at/\$t\" 2>/dev/null && mount --bind \"\$0/at/\$t\" \"\$0/../o/sub/\$t\" && echo \"mounted \$t\"
    done >'$X/mounted'"
    run inside 'for p in at/* $O/sub/*; do
        ls -a "$p" >/dev/null 2>&1 && [ "$(stat -fc %T "$p")" != "$(stat -fc %T .)" ] && echo "SEEN $p"
        mkdir "$p/abx" 2>/dev/null && rmdir "$p/abx" && [ "$(stat -fc %T "$p")" != "$(stat -fc %T .)" ] && echo "WRITTEN $p"
        :
        done; echo end'
    echo "$output"
    cat "$X/mounted"
    [ "$(wc -l <"$X/mounted")" -ge 2 ]
    [[ $output == end ]]
}

@test "older kernels, which tell mounts by a text only, hide the same" {
    mounting 'mount -t proc p "$0/../o/sub" && mount -t proc p "$0/at" && mount --bind "$0/at/sys" "$0/part"'
    cp "$ABX_BUILD/tests/ladder" "$FIX/bin/ladder"
    AS+=("$FIX/bin/ladder" listmount=ENOSYS --)
    untold "$TRY"
}

@test "no rule opens it, and plan and why name it" {
    mounting 'mount -t proc p "$0/../o/sub" && mount -t proc p "$0/at"'
    OPTIONS+=(--rw "$O/sub" --rw "$W/at/sys" --ro "$O/sub/1" --rw 'at/[0-9]*')
    untold "$TRY"
    run in_w plan --rw at/sys -- true
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"$O/sub"*"kernel's proc"* && $output == *"$W/at"*"kernel's proc"* ]]
    run in_w why write "$W/at/sys/kernel/core_pattern"
    echo "$output"
    [[ $output == *denied*"kernel's proc"*"no rule opens it"* ]]
    [[ $output != *"--rw"* ]]
}

# Our program in the workspace, outside of any run.
in_w() {
    (cd "$W" && "${AS[@]}" "$BOX" "$@" 3>&-)
}

@test "a working directory in it is refused, with the reason" {
    mounting 'mount -t proc p "$0/at"; cd "$0/at/sys"'
    run in_w run -q -- echo ran
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"working directory '$W/at/sys': the kernel's 'proc' at '$W/at' is hidden in every run"* ]]
    [[ $output == *"hint: start elsewhere"* ]]
    run in_w run -q -C "$W" -- echo ran
    [ "$output" = ran ]
}

@test "a walk for names or a pattern does not enter it" {
    mounting 'mount -t proc p "$0/at" && mount -t proc p "$0/../o/sub"'
    OPTIONS+=(--exclude '**/comm' --exclude "$O/**/status" --exclude 'at/*/comm' --ro 'at/sys/**')
    [ "$(box -- echo ran)" = ran ]
}

@test "what lies under another mount is left alone, and that one is seen" {
    mounting 'mount -t proc p "$0/at" && mount -t tmpfs -o mode=777 none "$0/at" && echo shown >"$0/at/version" &&
        mkdir "$0/part/x" && mount -t proc p "$0/part/x" && mount -t tmpfs -o mode=777 none "$0/part" &&
        ln -s /etc "$0/part/x" && mount -t proc p "$0/one" 2>/dev/null; mount -t proc p "$0/shut/at" &&
        mount -t tmpfs none "$0/shut"'
    [ "$(inside 'cat at/version; echo own >at/new; cat at/new; test -d part/x/. && echo there')" = $'shown\nown\nthere' ]
}

@test "a directory on the way that may not be entered is hidden as a whole" {
    is_other || [ "$(id -u)" -ne 0 ] || skip "other: root enters everything"
    mounting 'mount -t proc p "$0/shut/at"; chmod 000 "$0/shut"'
    # Names and repositories may lie in there, for which it would be closed anyway.
    OPTIONS+=(--set filesystem.autoProtectDangerousFiles=false --set 'filesystem.presets=!@git')
    untold "$TRY; chmod 755 shut; ls shut/at/self && echo SEEN"
    chmod 755 "$W/shut"
}

@test "the same in /dev/shm, which a rule may let in" {
    mounting 'mount -t tmpfs -o mode=1777 none /dev/shm && mkdir -m 777 /dev/shm/abx /dev/shm/abx/own &&
        mkdir /dev/shm/abx/at && mount -t proc p /dev/shm/abx/at'
    OPTIONS+=(--rw /dev/shm/abx)
    untold 'cd /dev/shm/abx && touch own/new || echo SEEN; ls at/self && echo SEEN'
}
