#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A24–A49: writing what is denied.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

# Runs the text; the outside is as before, whatever the text said.
changes_nothing() {
    watch "$O" "$D"
    run inside "$1"
    echo "$output"
    untouched
}

@test "A24 a file outside, plainly and by dot-dot" {
    changes_nothing 'echo x >$O/f; echo x >>$O/f; echo x >../o/f; echo x >$W/../../*/o/f; tee $O/f <file; cp file $O/f
        dd if=file of=$O/f; rm -f $O/f; rm -rf $O; sed -i s/o/x/ $O/f; python3 -c "open(\"../o/f\",\"w\")"'
}

@test "A24 variant: copy_file_range, O_TMPFILE with link, fallocate, O_PATH reopened" {
    watch "$O"
    refused "$CLOSED" tmpfile "$O"
    run inside 'python3 - <<PY
import os
o = os.environ["O"] + "/f"
for attempt in ("os.open(o, os.O_RDWR)", "os.truncate(o, 0)", "os.open(o, os.O_RDONLY | os.O_TRUNC)",
                "os.open(\"/proc/self/fd/%d\" % os.open(o, os.O_PATH), os.O_WRONLY)",
                "os.link(\"/proc/self/fd/%d\" % os.open(os.environ[\"W\"], os.O_TMPFILE | os.O_RDWR), o + \"2\", follow_symlinks=True)",
                "os.posix_fallocate(os.open(o, os.O_RDONLY), 0, 4096)", "os.utime(os.open(o, os.O_RDONLY))",
                "os.fchmod(os.open(o, os.O_RDONLY), 0)", "os.fchown(os.open(o, os.O_RDONLY), 0, 0)",
                "os.setxattr(o, \"user.x\", b\"y\")", "os.removexattr(o, \"user.x\")", "os.mkfifo(o + \"3\")"):
    try:
        eval(attempt)
        print("worked:", attempt)
    except OSError as e:
        pass
PY'
    echo "$output"
    [[ $output != *worked* ]]
    untouched
}

@test "A25 a symlink made inside, every way of writing through it" {
    changes_nothing 'ln -s $O/f l; echo x >l; echo x >>l; truncate -s0 l; cp file l; dd if=file of=l; sed -i s/o/x/ l
        chmod 600 l; touch l; ln -sfn $O d; echo x >d/f; echo x >d/new; rm -f d/f; mv file d/; mkdir d/m
        ln -s /proc/self/root$O p; echo x >p/f; rsync -a ./ d/; tar xf t.tar -C d; git init -q d'
}

@test "A26 a directory and a symlink swapped while another thread writes" {
    watch "$O"
    allowed race-swap "$W" "$O" 100000
    untouched
}

@test "A26 variant: the target is hidden, or a protected name" {
    watch "$D"
    allowed race-swap "$W" "$D" 20000
    untouched
    rm -rf "$W/race" "$W/race.link"
    mkdir "$W/.vscode"
    echo '{}' >"$W/.vscode/f"
    own "$W"
    watch "$W/.vscode"
    allowed race-swap "$W" "$W/.vscode" 20000
    untouched
}

@test "A27 hooks removed and made anew" {
    make_repo
    watch "$W/.git/hooks"
    run inside 'rm -rf .git/hooks; mkdir -p .git/hooks; echo evil >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit'
    untouched
}

@test "A28 the directory above a protected path moved away and made anew" {
    mkdir -p "$W/a/.git/hooks" "$W/other"
    echo original >"$W/a/.git/hooks/pre-commit"
    own "$W"
    OPTIONS+=(--ro "$W/a/.git/hooks")
    watch "$W/a/.git/hooks"
    run inside 'mv a b; mkdir -p a/.git/hooks; echo evil >a/.git/hooks/pre-commit; mv a/.git a/x; mkdir a/.git
        mkdir -p a/.git/hooks; echo evil >a/.git/hooks/pre-commit; rm -rf a; mv other a; mv -T other a'
    untouched
    [ ! -e "$W/b" ]
}

@test "A28 variant: the workspace itself, its parent, exchange with a sibling" {
    watch "$O"
    mkdir -p "$W/a/keep" "$W/other/keep"
    echo original >"$W/a/keep/f"
    echo evil >"$W/other/keep/f"
    own "$W"
    OPTIONS+=(--ro "$W/a/keep")
    refused "$HELD" sys renameat2 -100 "@$W/a" -100 "@$W/other" 2
    refused "$HELD" sys renameat2 -100 "@$W/other" -100 "@$W/a" 2
    refused "$HELD" sys renameat2 -100 "@$W/a/keep" -100 "@$W/other/keep" 2
    refused "$HELD" sys renameat2 -100 "@$W/other/keep" -100 "@$W/a/keep" 0
    refused "$HELD" sys renameat2 -100 "@$W" -100 "@$T/w2" 0
    refused "$HELD" sys renameat2 -100 "@$T" -100 "@$T.x" 0
    [ "$(cat "$W/a/keep/f")" = original ]
    untouched
}

@test "A29 a rename over a protected path in the same directory" {
    echo '{}' >"$W/.mcp.json"
    mkdir "$W/.vscode" "$W/dir"
    own "$W"
    watch "$W/.mcp.json" "$W/.vscode"
    refused "$HELD" sys renameat2 -100 "@$W/file" -100 "@$W/.mcp.json" 0
    refused "$HELD" sys renameat2 -100 "@$W/file" -100 "@$W/.mcp.json" 2
    refused "$HELD" sys renameat2 -100 "@$W/dir" -100 "@$W/.vscode" 0
    refused "$HELD" sys linkat -100 "@$W/file" -100 "@$W/.mcp.json" 0
    refused "$HELD" sys unlinkat -100 "@$W/.mcp.json" 0
    untouched
}

@test "A31 an absent protected name, with missing parents" {
    run inside 'mkdir -p .claude; echo "{}" >.claude/settings.json; mkdir .claude/hooks; echo "{}" >.mcp.json
        mkdir -p .cursor/rules .gemini; echo x >.codex/config.toml; install -D file .vscode/tasks.json
        git init -q .; cp -r /etc/skel .idea; tar cf - file | tar xf - --transform s,file,.envrc,; ls -A'
    echo "$output"
    [ "$(find "$W" -mindepth 1 -maxdepth 1 ! -name .git ! -name file)" = "" ]
}

@test "A32 an absent protected name as symlink, dangling symlink, fifo, socket, directory" {
    local mode
    for mode in 0010666 0140666 0100666; do
        refused "$HELD" sys mknodat -100 "@$W/.mcp.json" "$mode" 0
    done
    refused "$HELD" sys symlinkat @/nonexistent -100 "@$W/.mcp.json"
    refused "$HELD" sys symlinkat @file -100 "@$W/.claude"
    refused "$HELD" sys mkdirat -100 "@$W/.mcp.json" 0777
    [ -z "$(find "$W" -name .mcp.json -o -name .claude)" ]
}

@test "A34 mode, times, owner and attributes outside" {
    changes_nothing 'chmod 777 $O/f; chmod 000 $O; touch -d 1999-01-01 $O/f; touch $O; setfattr -n user.a -v b $O/f
        chown $(id -u) $O/f; chgrp $(id -g) $O/f; setfacl -m u:nobody:rwx $O/f; chattr +i $O/f; touch -h $O/f'
}

# Root's command is their owner: the machine's own are not put at risk.
@test "A34 variant: mode, times and owner of the devices" {
    local nodes=(/dev/{null,zero,full,random,urandom,tty})
    [ "$WHO" != root ] || own_mounts 'mount -t tmpfs -o mode=755 none /dev; mkdir /dev/pts /dev/shm
        mknod -m 666 /dev/null c 1 3; mknod -m 666 /dev/zero c 1 5; mknod -m 666 /dev/full c 1 7; mknod -m 666 /dev/random c 1 8
        mknod -m 666 /dev/urandom c 1 9; mknod -m 666 /dev/tty c 5 0
        "$@"; status=$?; stat -c "%n %a %u %Y" /dev/* >"$0/../x/nodes"; exit $status'
    inside 'for d in null zero full random urandom tty; do chmod 777 /dev/$d; touch -d @7 /dev/$d; chown 7:7 /dev/$d; done
        echo x >/dev/null && head -c1 /dev/zero >/dev/null && ! echo x >/dev/full'
    [ "$WHO" = root ] || stat -c '%n %a %u %Y' "${nodes[@]}" >"$X/nodes"
    [ "$(grep -cE '^/dev/(null|zero|full|random|urandom|tty) 666 ' "$X/nodes")" -eq 6 ]
    not grep -E ' (777 .*|.* 7 .*|.* 7)$' "$X/nodes"
}

@test "A35 truncation and device controls are covered by more than Landlock" {
    watch "$O"
    BOX=$FIX/bin/agentbox-testing
    AS+=(ABX_TEST_SKIP=landlock)
    refused EROFS sys truncate "@$O/f" 0
    refused EROFS truncate-open "$O/f"
    refused EPERM sys ioctl 0 0x5412 @x
    untouched
}

@test "A36 a protected file opened to read, written by its descriptor" {
    echo '{}' >"$W/.mcp.json"
    own "$W"
    watch "$W/.mcp.json" "$O"
    refused "$CLOSED" reopen "$W/.mcp.json"
    refused "$CLOSED" reopen "$O/f"
    run inside 'exec 3<.mcp.json; echo x >/proc/self/fd/3; echo x >/dev/fd/3; chmod 777 /proc/self/fd/3; truncate -s0 /proc/self/fd/3'
    untouched
}

@test "A39 a fifo, socket or loop in place of what the next start looks at" {
    make_repo
    run inside 'rm -f .git/index .git/HEAD; mkfifo .git/index .git/HEAD .git/packed-refs; mkfifo .gitmodules .editorconfig
        ln -s loop loop; mkfifo .git/modules/mod/HEAD; ln -sfn .. .git/worktrees/up; mkfifo sub; :'
    # Refusing with a reason is fine, waiting for a writer is not.
    run timeout 5 "${AS[@]}" "$BOX" run -q -C "$W" -- true
    [ "$status" -ne 124 ]
    run timeout 5 "${AS[@]}" "$BOX" plan -C "$W" -- true
    [ "$status" -ne 124 ]
}

@test "A39 variant: .git, commondir and gitdir themselves a fifo or a symlink loop" {
    local kind
    for kind in fifo loop self; do
        rm -rf "$W/.git"
        case $kind in
        fifo) mkfifo "$W/.git" ;;
        loop) ln -s .git "$W/.git" ;;
        self) echo "gitdir: ." >"$W/.git" ;;
        esac
        own "$W"
        run timeout 5 "${AS[@]}" "$BOX" run -q -C "$W" -- true
        [ "$status" -ne 124 ]
    done
    rm -rf "$W/.git"
    mkdir "$W/.git"
    mkfifo "$W/.git/commondir" "$W/.git/config" "$W/.git/gitdir"
    own "$W"
    run timeout 5 "${AS[@]}" "$BOX" run -q -C "$W" -- true
    [ "$status" -ne 124 ]
}

@test "A40 the mount calls" {
    watch "$O" "$D"
    refused EPERM sys mount "@$O" "@$W" 0 0x1000 0
    refused EPERM sys umount2 "@$D" 2
    refused EPERM sys umount2 "@$W" 2
    refused EPERM sys pivot_root @/ @/
    refused EPERM sys fsopen @tmpfs 0
    refused EPERM sys open_tree -100 @/ 0x8001
    refused EPERM sys move_mount -100 "@$W" -100 "@$O" 0
    refused EPERM sys mount_setattr -100 @/ 0x8000 %32 32
    untouched
}

@test "A41 a new user namespace, then the masks taken off" {
    changes_nothing 'unshare -Urm sh -c "umount -l $D; cat $D/s; mount -o remount,rw /; echo x >$O/f"
        python3 -c "import os; os.unshare(os.CLONE_NEWUSER)"; bwrap --dev-bind / / sh -c "echo x >$O/f"'
    [[ $output != *"$SECRET"* ]]
    refused EPERM clone 0x10020000
    refused ENOSYS clone3 0x10020000
}

@test "A42 sudo, su, pkexec, newuidmap, ping" {
    changes_nothing 'sudo -n sh -c "echo x >$O/f"; echo | su -c "echo x >$O/f"; pkexec touch $O/f; newuidmap $$ 0 0 1
        newgrp root; passwd -d root; ping -c1 -W1 127.0.0.1; mount; umount $D; chsh -s /bin/evil; :'
    [ "$(stat -c %a /etc/passwd)" = 644 ]
}

@test "A42 variant: no program gives more rights than its caller has" {
    run attempt state
    [[ $output == *" no_new_privs=1 "* ]]
}

@test "A42 variant: no capability is there, and none can come back" {
    run inside 'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb):" /proc/self/status'
    [ "$(grep -c ':.0000000000000000$' <<<"$output")" -eq 5 ]
}

@test "A43 nothing mounted inside is seen outside" {
    local before
    before=$(sort /proc/self/mountinfo)
    mkdir "$W/m"
    own "$W"
    run inside 'mount -t tmpfs none m; mount --bind /etc m; mount --make-rshared /; unshare -Urm mount -t tmpfs none $W/m; touch m/x'
    [ "$(sort /proc/self/mountinfo)" = "$before" ]
}

@test "A43 variant: what the host mounts later is not seen inside" {
    ours_only
    # In the namespace that the box has got its view from.
    own_mounts 'mount --make-rshared /; mkdir "$0/late"; "$@" & n=500
        while [ ! -e "$0/up" ] && [ $((n -= 1)) -gt 0 ]; do sleep 0.02; done
        mount -t tmpfs none "$0/late" && echo there >"$0/late/s"; echo >"$0/mounted"; wait'
    run inside 'echo >up; while [ ! -e mounted ]; do sleep 0.02; done; cat late/s; echo "end"'
    [[ $output == *end* && $output != *there* ]]
}

@test "A44 a denied name with newline, pattern characters, invalid bytes" {
    local name
    for name in $'a\nb' 'a*' '[x]' 'a\b' $'\xff\xfe' 'a b' '..a' '...' 'a.'; do
        mkdir -p "$W/odd/$name"
        echo original >"$W/odd/$name/f"
        own "$W"
        # The grant is for the folder; the name only lies in it.
        OPTIONS=(--ro "$W/odd")
        refused "$CLOSED" write "$W/odd/$name/f" evil
        refused "$CLOSED" sys renameat2 -100 "@$W/odd/$name" -100 "@$W/odd/x" 0
        [ "$(cat "$W/odd/$name/f")" = original ]
    done
}

@test "A46 spellings of one rule: the same meaning or an error" {
    local rule
    mkdir "$W/p"
    own "$W"
    for rule in "$W/p" "$W/p/" "$W/p/." p ./p p/ "$W/../w/p" "$W//p" '**/p' '*/../p'; do
        echo original >"$W/p/f"
        run "${AS[@]}" "$BOX" run -q -C "$W" --ro "$rule" -- sh -c 'echo evil >p/f; echo evil >p/new'
        [ "$(cat "$W/p/f")" = original ]
        [ ! -e "$W/p/new" ]
    done
    # A pattern covers what it matches at the start, and says nothing of names to come.
    run "${AS[@]}" "$BOX" run -q -C "$W" --ro "$W/p/**" -- sh -c 'echo evil >p/f; rm -f p/f; mv p x'
    [ "$(cat "$W/p/f")" = original ]
}

@test "A46 variant: a rule that cannot be meant is an error, not ignored" {
    local rule
    for rule in '' '~nobodyatall/x' '[' "$W/[a"; do
        run "${AS[@]}" "$BOX" run -q -C "$W" --exclude "$rule" -- true
        echo "'$rule': $status $output"
        [ "$status" -eq 125 ] || [ "$rule" = '~nobodyatall/x' ]
    done
}

@test "A47 the registry and the launcher's own files" {
    inside true
    watch "$H"
    changes_nothing 'find $H -name held -path "*agentbox*"; echo x >$H/.local/state/agentbox/held/x; rm -rf $H/.local; mv $H $H.x'
    refused "$HIDDEN" dir-open "$H/.local/state/agentbox/held"
}

@test "A47 variant: a forged registry entry removes nothing that is not a placeholder" {
    mkdir -p "$H/.local/state/agentbox/held"
    head -c 8192 /dev/urandom >"$H/.local/state/agentbox/held/0000000000000001-0000000000000001"
    : >"$H/.local/state/agentbox/held/empty"
    printf 'x' >"$H/.local/state/agentbox/held/$(printf %016x-%016x "$(stat -c %d "$W")" "$(stat -c %i "$W")")"
    own "$H"
    watch "$O"
    run inside 'ls'
    [ "$(cat "$W/file")" = work ]
    untouched
}

@test "A48 SIGKILL of the supervisor in the middle" {
    local before command
    before=$(find "$W" | sort)
    command="sleep 602.$BASHPID" # nobody else's, in the same test as the other user
    # shellcheck disable=SC2086 # two words
    start_box -- $command
    wait_for test -e "$W/.mcp.json"
    wait_for pgrep -f "^$command" >/dev/null
    kill -KILL "$BOX_PID"
    wait_for test ! -e "$W/.mcp.json"
    [ "$before" = "$(find "$W" | sort)" ]
    for _ in {1..50}; do
        pgrep -f "^$command" >/dev/null || break
        sleep 0.02
    done
    not pgrep -f "^$command"
}

@test "A49 owner and mode of what was written" {
    inside 'umask 027; echo x >a; mkdir b; ln -s a c; mkfifo d; cp -p file e'
    [ "$(find "$W" -printf '%U:%G\n' | sort -u)" = "$(stat -c %u:%g "$W")" ]
    [ "$(stat -c %a "$W/a" "$W/b" "$W/d" | tr '\n' ' ')" = "640 750 640 " ]
}
