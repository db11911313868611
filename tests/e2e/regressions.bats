#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What attackers and reviewers of agentbox found, each as the input that showed it.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

# Git of the host, which a planted configuration would make leave $W/pwned.
not_pwned() {
    local dir
    for dir in "$@"; do
        host_git -C "$dir" status >/dev/null 2>&1 || :
    done
    [ ! -e "$W/pwned" ]
}

# two_runs FIRST SECOND: the second run writes what FILE names, unless the sandbox stops it.
EVIL='evil() { printf "[core]\n\tfsmonitor = \"touch %s/pwned; false\"\n" "$W" >"$1"; }; '
two_runs() {
    inside "$1" >/dev/null 2>&1 || :
    inside "$EVIL$2" >/dev/null 2>&1 || :
}

# ---- git, in two runs --------------------------------------------------------------------------

@test "a repository that one run makes look like none is protected in the next" {
    make_repo
    local first second
    watch "$W/.git/config"
    while IFS='|' read -r first second; do
        two_runs "$first" "evil .git/config; chmod 755 .git; evil .git/config; $second; evil .git/config"
        chmod 755 "$W/.git"
        not_pwned "$W"
        cmp <(cksum <"$W/.git/config") <(awk -v f="$W/.git/config" '$3 == f { print $1, $2 }' \
            "$FIX/watched.$BATS_TEST_NUMBER")
    done <<'TABLE'
mv .git/HEAD .git/HX|mv .git/HX .git/HEAD
mv .git/refs .git/RX|mv .git/RX .git/refs
mv .git/objects .git/OX|mv .git/OX .git/objects
mv .git/HEAD .git/HX; mkdir .git/HEAD|rmdir .git/HEAD; mv .git/HX .git/HEAD
mv .git/HEAD .git/HX; mkfifo .git/HEAD|rm .git/HEAD; mv .git/HX .git/HEAD
mv .git/HEAD .git/HX; ln -s HEAD .git/HEAD|rm .git/HEAD; mv .git/HX .git/HEAD
chmod 01555 .git|:
chmod 01000 .git|:
chmod 0444 .git|:
chmod 0 .git|:
TABLE
    untouched
}

@test "a submodule that one run makes look like none is protected in the next" {
    make_repo
    watch "$W/.git/modules/mod/config" "$W/mod/.git"
    host_git init -q "$W/evil"
    two_runs 'mv .git/modules/mod/HEAD .git/modules/mod/HX' \
        'evil .git/modules/mod/config; mv .git/modules/mod/HX .git/modules/mod/HEAD'
    not_pwned "$W" "$W/mod"
    local dir mode
    for dir in mod .git/modules/mod .git/modules; do
        for mode in 01555 01000 0444 0311 0; do
            two_runs "chmod $mode $dir" "chmod 755 $dir"'; evil .git/modules/mod/config
                evil evil/.git/config; echo "gitdir: ../evil/.git" >mod/.git'
            chmod 755 "$W/$dir"
            echo "chmod $mode $dir"
            not_pwned "$W" "$W/mod"
        done
    done
    untouched
}

@test "a worktree that one run makes look like none is protected in the next" {
    make_repo
    watch "$T/linked/.git" "$W/.git/config" "$W/.git/worktrees/linked/commondir"
    cp -r "$W/.git" "$W/evil"
    own "$W/evil"
    local dir mode
    for dir in .git/worktrees/linked .git/worktrees; do
        for mode in 01555 01000 0444 0311 0; do
            two_runs "chmod $mode $dir" "chmod 755 $dir"'; evil evil/config
                echo ../../../evil >.git/worktrees/linked/commondir'
            chmod 755 "$W/$dir"
            echo "chmod $mode $dir"
            not_pwned "$T/linked"
        done
    done
    inside 'mv .git/worktrees/linked/HEAD .git/worktrees/linked/HX' || :
    local main=$W
    W=$T/linked
    host_git init -q "$W/evil"
    two_runs 'rm -f ../w/.git/worktrees/linked/HEAD' \
        'evil evil/.git/config; echo "gitdir: evil/.git" >.git; evil ../w/.git/config'
    not_pwned "$W" "$main"
    untouched
}

@test "a submodule whose path needs quotes in git's configuration keeps its pointer" {
    make_repo
    local name
    for name in 'c#lib' 'a;b' ' blank ' 'quo"te' 'back\slash'; do
        host_git -C "$W" submodule --quiet add "$T/upstream" "$name"
        watch "$W/$name/.git"
        box --env W="$W" --env N="$name" -c "$EVIL"'git init -q evil; evil evil/.git/config
            echo "gitdir: ../evil/.git" >"$N/.git"; rm -f "$N/.git"; mv evil/.git "$N/.git"' || :
        untouched
        not_pwned "$W" "$W/$name"
    done
}

# ---- what looks like a placeholder -------------------------------------------------------------

@test "a hidden directory or file stays hidden, whatever its mode" {
    local mode
    mkdir "$W/secrets"
    echo "$SECRET" >"$W/secrets/k"
    for mode in 1555 1000 1444 0000 1777; do
        echo xy >"$W/small"
        own "$W"
        chmod "$mode" "$W/secrets" "$W/small"
        run box --exclude "$W/secrets" --exclude "$W/small" -c 'cat secrets/k small; ls secrets; cd secrets && cat k'
        [ "$status" -ne 0 ]
        [[ $output != *"$SECRET"* && $output != *xy* ]]
        chmod 755 "$W/secrets"
        rm -f "$W/small"
    done
}

@test "modes that a command sets do not open what is hidden in the next run" {
    mkdir "$W/secrets"
    echo "$SECRET" >"$W/secrets/k"
    own "$W"
    inside 'chmod 1555 secrets; chmod 1444 secrets/k'
    run box --exclude "$W/secrets" -- cat secrets/k
    [ "$status" -ne 0 ]
    [[ $output != *"$SECRET"* ]]
}

@test "a link in place of a held name is not followed: no mode of its target changes" {
    make_repo
    rm -rf "$W/.git/hooks"
    mkdir "$W/.claude" "$H/.cargo"
    ln -s "$O/sub" "$W/.git/hooks"
    ln -s "$O/sub" "$W/.claude/agents"
    ln -s "$O/f" "$W/.claude/settings.json"
    ln -s "$O/f" "$H/.cargo/config.toml"
    ln -s "$O/none" "$W/.claude/commands"
    own "$T"
    watch "$O"
    run box -- true
    untouched
    [ "$(readlink "$W/.claude/agents")" = "$O/sub" ]
}

@test "names that programs read are readable as nothing, inside and outside, and go with the run" {
    mkdir "$H/.cargo"
    own "$H"
    watch "$H/.cargo"
    start_box -c 'test -f "$HOME/.cargo/config.toml" && cat "$HOME/.cargo/config.toml" >seen && touch up; sleep 30'
    wait_for test -e "$W/up"
    [ ! -s "$W/seen" ]
    [ -f "$H/.cargo/config.toml" ]
    [ -z "$(as_who cat "$H/.cargo/config.toml")" ]
    kill -TERM "$BOX_PID"
    wait "$BOX_PID" || :
    [ -z "$(ls -A "$H/.cargo")" ]
}

# ---- results and options -----------------------------------------------------------------------

@test "a result is never written through a link, and a bad path is told before the command runs" {
    local path
    echo precious >"$O/bashrc"
    ln -s "$O/bashrc" "$W/r.json"
    own "$W" "$O"
    watch "$O"
    for path in "$W/r.json" "$W/no/such/r.json" "$O" "$W/file/r.json"; do
        run box --result "$path" -- touch ran
        [ "$status" -eq 125 ]
        [[ $output == *"$path"* ]]
        [ ! -e "$W/ran" ]
    done
    run box --result "$W/late.json" -c "ln -sf '$O/bashrc' late.json"
    untouched
}

@test "a wrong value is named as such" {
    local pair
    for pair in network.mode=bogus filesystem.tmp=bogus allowNestedNamespaces=maybe \
        resourceLimits.maxProcesses=many; do
        run box --set "$pair" -- true
        echo "$output"
        [ "$status" -eq 125 ]
        [[ $output == *"${pair#*=}"* ]]
        [[ $output != *"single value"* && $output != *"append to"* && $output != *"is a list"* ]]
    done
}

@test "a directory as a standard stream is refused" {
    run box -- ls /proc/self/fd/0/ <"$O"
    [ "$status" -eq 125 ]
    [[ $output != *sub* ]]
}

@test "with a HOME elsewhere the account's own secrets stay hidden" {
    need_root "needs a user database of its own"
    local id=0
    ! is_other || id=$USER_ID
    mkdir -p "$T/real/.ssh" "$T/real/.aws"
    echo "$SECRET" | tee "$T/real/.ssh/id_rsa" "$T/real/.aws/credentials"
    own "$T/real"
    echo "someone:x:$id:$id::$T/real:/bin/sh" >"$X/passwd"
    chmod 644 "$X/passwd"
    AS=(unshare -m sh -c 'mount --bind "$0" /etc/passwd && exec "$@"' "$X/passwd" "${AS[@]}")
    [ "$(as_who cat "$T/real/.ssh/id_rsa")" = "$SECRET" ]
    run box -c "cat $T/real/.ssh/id_rsa $T/real/.aws/credentials"
    [ "$status" -ne 0 ]
    [[ $output != *"$SECRET"* ]]
}

@test "root in a user namespace that has one id only can run a sandbox" {
    as_who unshare -Ur true || skip "userns: no namespace for this user"
    [ "$WHO" = root ] || lacks bwrap "that its owner must be seen"
    AS+=(unshare -Ur)
    inside 'id -u >id; echo more >>file'
    [ "$(cat "$W/id")" = 0 ]
    [ "$(tail -n 1 "$W/file")" = more ]
}

# ---- calls -------------------------------------------------------------------------------------

@test "signals forged to come from outside do not move pid 1, with no Landlock scope either" {
    cat >"$W/forge.py" <<'PY'
import ctypes, fcntl, os, signal, struct, time
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 129, "aarch64": 138}[os.uname().machine]
for sig in (signal.SIGUSR1, signal.SIGTERM, signal.SIGHUP):
    for code in (-1, -2, -3, -4, -5, -6):
        info = ctypes.create_string_buffer(struct.pack("iiiiII", sig, 0, code, 0, 0, 0), 128)
        libc.syscall(ctypes.c_long(number), ctypes.c_long(1), ctypes.c_long(sig), info)
PY
    cat >"$W/sigio.py" <<'PY'
import fcntl, os, signal
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, 1)
fcntl.fcntl(r, 10, signal.SIGUSR1)   # F_SETSIG
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
os.write(w, b"x")
PY
    own "$W"
    local option script
    for option in true false; do
        for script in forge sigio; do
            run box --set allowNestedNamespaces=$option -c \
                "trap 'echo reached' USR1 TERM HUP; python3 $script.py; sleep 0.3; exit 7"
            echo "$option $script: $status $output"
            [ "$status" -eq 7 ]
            [[ $output != *reached* ]]
        done
    done
}

@test "no lease can be taken on a file, with or without junk in the high bits" {
    cat >"$W/lease.py" <<'PY'
import ctypes, errno, fcntl, os
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 72, "aarch64": 25}[os.uname().machine]
fd = os.open("mine", os.O_RDONLY)
for command in (1024, 1024 | 1 << 32):
    for kind in (0, 1):              # F_RDLCK, F_WRLCK
        done = libc.syscall(ctypes.c_long(number), ctypes.c_long(fd), ctypes.c_long(command), ctypes.c_long(kind))
        print("lease", "taken" if done >= 0 else errno.errorcode[ctypes.get_errno()])
fcntl.flock(fd, fcntl.LOCK_SH)
fcntl.lockf(os.open("mine", os.O_RDWR), fcntl.LOCK_EX)
print("locked")
PY
    echo mine >"$W/mine"
    own "$W"
    run inside 'python3 lease.py'
    echo "$output"
    [ "$(grep -c '^lease EPERM$' <<<"$output")" -eq 4 ]
    [[ $output == *locked ]]
}

@test "the setuid bit is refused by each call that could set it" {
    cp "$PAYLOAD" "$W/program"
    own "$W"
    refused EPERM sys fchmodat -100 "@$W/program" 04755
    refused EPERM sys 452 -100 "@$W/program" 04755 0
    refused EPERM sys openat -100 "@$W/born" 0102 04755
    refused EPERM sys mknodat -100 "@$W/born" 0104755 0
    refused 'EPERM|ENOSYS' openat2 "$W/born" 0102 04755
    if [ "$(uname -m)" = x86_64 ]; then
        refused EPERM sys 90 "@$W/program" 04755  # chmod
        refused EPERM sys 2 "@$W/born" 0102 04755 # open
        refused EPERM sys 85 "@$W/born" 04755     # creat
        refused EPERM sys 133 "@$W/born" 0104755 0 # mknod
    fi
    run inside 'python3 -c "import os; os.fchmod(os.open(\"program\", os.O_RDONLY), 0o4755)"'
    [[ $output == *"Operation not permitted"* ]]
    [ ! -e "$W/born" ]
    [ "$(stat -c %a "$W/program")" = 755 ]
}

# ---- planted links -----------------------------------------------------------------------------

@test "a link that one run plants where a grant has no target yet widens no later run" {
    mkdir "$W/sub" "$H/.config"
    own "$W" "$H"
    box --rw "$W/out" -- ln -s "$H/.config" "$W/out"
    cd "$W/sub"
    run "${AS[@]}" "$BOX" run -q --approve yes --rw "$W/out" -- touch "$H/.config/planted"
    [ "$status" -eq 125 ]
    [[ $output == *"a symbolic link in a writable directory leads to '$H/.config'"* ]]
    [ ! -e "$H/.config/planted" ]
}

@test "a link in the folder of an agent or a cache grants nothing, in its first run or later" {
    mkdir -p "$H/.claude" "$H/go" "$H/.config"
    own "$H"
    inside 'ln -s "$H/.config" "$H/.claude/todos"; ln -s .. "$H/go/pkg"'
    [ -L "$H/.claude/todos" ]
    [ -L "$H/go/pkg" ]
    refused "$CLOSED" create "$H/.config/planted"
    refused "$CLOSED" create "$H/planted"
}

@test "a pattern that grants directories below a read-only one leaves protected names alone" {
    mkdir -p "$W/all/one/deep/.vscode"
    git init -q "$W/all/one/repo"
    own "$W"
    run box --ro all --rw 'all/*' -- "$PAYLOAD" create "$W/all/one/deep/.vscode/tasks.json"
    [[ $output =~ ($CLOSED)$ ]]
    run box --ro all --rw 'all/*' -- "$PAYLOAD" create "$W/all/one/repo/.git/hooks/pre-commit"
    [[ $output =~ ($CLOSED)$ ]]
    box --ro all --rw 'all/*' -- touch "$W/all/one/deep/file"
}

@test "hooks that the machine's git config names are protected" {
    need_root "needs root to mount over /etc"
    git init -q "$W"
    mkdir "$W/machine"
    own "$W"
    cp -a /etc "$X/etc"
    printf '[core]\n\thooksPath = machine\n' >"$X/etc/gitconfig"
    cd "$W"
    run unshare -m --propagation private sh -c 'mount --bind "$1" /etc && shift && exec "$@"' sh "$X/etc" \
        "${AS[@]}" "$BOX" run -q --approve yes -- "$PAYLOAD" create "$W/machine/pre-commit"
    [[ $output =~ ($CLOSED)$ ]]
    [ ! -e "$W/machine/pre-commit" ]
}

# ---- ends --------------------------------------------------------------------------------------

@test "a keeper that is killed during the start ends the run, and nothing spins" {
    AS+=(env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0") # whose own child would be hit, too
    (cd "$W" && exec python3 - "${AS[@]}" "$BOX" run -q -- true 3>&-) <<'PY'
import os, random, signal, subprocess, sys, time
rng, ended, hit = random.Random(7), {}, 0
for i in range(60):
    p = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    keeper, end = None, time.monotonic() + 2
    while keeper is None and p.poll() is None and time.monotonic() < end:
        try:
            found = open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()
            keeper = int(found[0]) if found else None
        except OSError:
            pass
    time.sleep(rng.uniform(0, 0.004))
    try:
        if keeper and p.poll() is None:
            os.kill(keeper, signal.SIGKILL)
            hit += 1 # one that was started before main() is replaced: 0 is right then too
    except ProcessLookupError:
        pass
    try:
        text = p.communicate(timeout=5)[1].decode()
    except subprocess.TimeoutExpired:
        p.kill()
        sys.exit(f"round {i}: agentbox did not end")
    if p.returncode not in (0, 125) or (p.returncode == 125 and not text.startswith("agentbox: ")):
        sys.exit(f"round {i}: {p.returncode} {text}")
    ended[p.returncode] = ended.get(p.returncode, 0) + 1
print(ended, hit)
sys.exit(0 if hit else "no keeper was hit")
PY
    box -- true
    [ "$(ls -A "$W")" = file ]
}

@test "a terminal that hangs up does not make agentbox spin, though the command lives on" {
    (cd "$W" && exec python3 - "${AS[@]}" "$BOX" run -q -c "trap '' HUP; touch up; sleep 1.5" 3>&-) <<'PY'
import os, pty, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.execvp(sys.argv[1], sys.argv[1:])
end = time.monotonic() + 10
while not os.path.exists("up") and time.monotonic() < end:
    time.sleep(0.01)
os.close(fd)
_, status, usage = os.wait4(pid, 0)
spent = usage.ru_utime + usage.ru_stime
print("spent", spent, "status", status)
sys.exit(1 if spent > 0.5 else 0)
PY
}

# ---- permissions that one run takes away ---------------------------------------------------------

# in_folder FOLDER TEXT: a run of its own there, as `inside`.
in_folder() {
    local W=$W/$1
    inside "$2"
}

@test "a folder that one run makes unwritable is no place for protected names in one that starts there" {
    is_other || [ "$(id -u)" -ne 0 ] || skip "other: root writes everywhere"
    local mode name
    mkdir "$W/sub"
    own "$W"
    for mode in 0755 0555 0500 0444 0111 0000; do
        inside "chmod $mode sub"
        run in_folder sub 'chmod 755 .; mkdir .claude .vscode; echo evil >.claude/settings.json
            echo evil >.mcp.json'
        chmod 755 "$W/sub"
        echo "$mode: $output"
        for name in .claude .vscode .mcp.json; do
            [ ! -e "$W/sub/$name" ]
        done
        [ "$mode" = 0755 ] || [[ $output == agentbox:* ]]
    done
    inside 'chmod 555 sub'
    (W=$W/sub box --ro . -- true)
}

@test "the same in a git directory" {
    is_other || [ "$(id -u)" -ne 0 ] || skip "other: root writes everywhere"
    local mode
    host_git init -q "$W/sub"
    rm -rf "$W/sub/.git/hooks"
    own "$W"
    for mode in 0755 0555 0500 0444 0111 0000; do
        chmod "$mode" "$W/sub/.git"
        run in_folder sub 'chmod 755 .git; mkdir .git/hooks; echo evil >.git/hooks/pre-commit'
        chmod 755 "$W/sub/.git"
        echo "$mode: $output"
        [ ! -e "$W/sub/.git/hooks" ]
    done
}

@test "a directory that one run makes unreadable hides nothing from the search of the next" {
    is_other || [ "$(id -u)" -ne 0 ] || skip "other: root reads everything"
    local mode dir
    mkdir -p "$W/sub/deep/.claude"
    echo '{}' >"$W/sub/deep/.claude/settings.json"
    own "$W"
    host_git init -q "$W/sub/dep"
    own "$W"
    for dir in . sub sub/deep sub/deep/.claude; do
        for mode in 0311 0300 0444 0400 0600 0; do
            chmod "$mode" "$W/$dir"
            run inside "chmod 755 $dir; echo evil >sub/deep/.claude/settings.json
                echo evil >>sub/dep/.git/config"
            chmod 755 "$W/$dir"
            echo "$mode $dir: $output"
            [ "$(cat "$W/sub/deep/.claude/settings.json")" = '{}' ]
            not grep evil "$W/sub/dep/.git/config"
        done
    done
}

@test "the rule about a directory that cannot be listed names it" {
    is_other || [ "$(id -u)" -ne 0 ] || skip "other: root reads everything"
    mkdir -p "$W/many/closed" "$W/other"
    own "$W"
    chmod 311 "$W/many/closed"
    run as_who "$BOX" why -C "$W" write "$W/many/closed/x"
    echo "$output"
    chmod 755 "$W/many/closed"
    [[ $output == *"cannot be listed: closed"* ]]
}
