#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What surrounds a command: variables, /proc, /sys, /dev, /run, the host's name.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

@test "variables that inject code are removed" {
    # A sanitizer's run-time wants its own LD_PRELOAD and terabytes of address space.
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: their run-time cannot start there"
    AS+=(LD_PRELOAD=/nonexistent.so LD_AUDIT=x LD_LIBRARY_PATH=/evil BASH_ENV=/evil ENV=/evil GCONV_PATH=/evil
        NODE_OPTIONS=--evil PYTHONSTARTUP=/evil PERL5OPT=-Mevil RUBYOPT=-revil JAVA_TOOL_OPTIONS=-evil
        PROMPT_COMMAND=evil GLIBC_TUNABLES=evil GIT_EXEC_PATH=/evil)
    run box -- env
    echo "$output"
    [[ $output != *evil* && $output != *LD_PRELOAD* && $output != *LD_AUDIT* ]]
}

@test "secrets and sockets in variables are removed, the rest stays" {
    AS+=("GITHUB_TOKEN=$SECRET" "AWS_SECRET_ACCESS_KEY=$SECRET" "aws_session_token=$SECRET" "DB_PASSWORD=$SECRET"
        "MY_API_KEY=$SECRET" "INNOCENT=ghp_$SECRET" "SSH_AUTH_SOCK=/run/$SECRET" "DBUS_SESSION_BUS_ADDRESS=$SECRET"
        "DOCKER_HOST=unix://$SECRET" "DISPLAY=:$SECRET" "TMUX=/tmp/$SECRET" "VSCODE_IPC_HOOK_CLI=$SECRET"
        "XDG_RUNTIME_DIR=/run/user/$SECRET" "WAYLAND_DISPLAY=$SECRET" PLAIN=kept)
    run box -- env
    echo "$output"
    [[ $output != *"$SECRET"* && $output == *PLAIN=kept* ]]
    run inside 'cat /proc/1/environ /proc/self/environ /proc/*/environ | tr "\0" "\n"'
    [[ $output != *"$SECRET"* ]]
}

@test "what was taken out and somebody may miss is named at the end, not what is set on many machines" {
    AS+=(NODE_OPTIONS=--max-old-space-size=64 RUBYOPT=-w "A_TOKEN=$SECRET" "DB=x://u:$SECRET@h/d" PS4=+ GIT_ASKPASS=/x
        BASH_ENV=/x ZDOTDIR=/x "AWS_PROFILE=x" DISPLAY=:0)
    run as_who sh -c 'cd "$1" && exec "$2" run -- true' - "$W" "$BOX"
    echo "$output"
    note=$(grep 'taken out of the environment' <<<"$output")
    for name in A_TOKEN DB NODE_OPTIONS RUBYOPT; do
        [[ " ${note//;/ } " == *" $name "* ]]
    done
    [[ $note != *PS4* && $note != *ASKPASS* && $note != *BASH_ENV* && $note != *ZDOTDIR* && $note != *$SECRET* ]]
    run as_who sh -c 'cd "$1" && exec "$2" run --pass-env NODE_OPTIONS -- env' - "$W" "$BOX"
    [[ $output == *"NODE_OPTIONS=--max-old-space-size=64"* && $(grep 'taken out' <<<"$output") != *NODE_OPTIONS* ]]
}

@test "a secret is passed only by its whole name" {
    AS+=("A_TOKEN=$SECRET" "AA_TOKEN=other-$SECRET")
    run box --pass-env A_TOKEN -- env
    [[ $output == *"A_TOKEN=$SECRET"* && $output != *other* ]]
}

@test "an injection variable set twice or oddly in the caller's block is removed" {
    # A sanitizer's run-time wants its own LD_PRELOAD and terabytes of address space.
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: their run-time cannot start there"
    run python3 - "$BOX" "$W" <<'PY'
import os, sys
argv = [sys.argv[1], "run", "-q", "--", "/usr/bin/env"]
os.chdir(sys.argv[2])
import ctypes
libc = ctypes.CDLL(None)
env = [b"LD_PRELOAD=/evil1", b"PATH=/usr/bin:/bin", b"LD_PRELOAD=/evil2", b"=evil3", b"evil4", b"HOME=/nonexistent",
       b"X_TOKEN=evil5", b"X_TOKEN=evil6", b"XDG_STATE_HOME=" + sys.argv[2].encode() + b"/../state"]
A = (ctypes.c_char_p * (len(argv) + 1))(*[a.encode() for a in argv], None)
E = (ctypes.c_char_p * (len(env) + 1))(*env, None)
libc.execve(argv[0].encode(), A, E)
PY
    rm -rf "$T/state"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *evil* && $output == *PATH=* ]]
}

@test "the sandbox has a name of its own" {
    [ "$(box -- uname -n)" = localhost ]
    # Its own name can be looked up, where the machine's can.
    [ ! -e /etc/hosts ] || box -- getent hosts localhost
}

@test "/proc shows nothing of the host that helps, and cannot be written" {
    local file
    for file in /proc/kcore /proc/kmsg /proc/keys /proc/key-users /proc/timer_list /proc/sched_debug \
        /proc/kpagecgroup /proc/kpagecount /proc/kpageflags /proc/pagetypeinfo /proc/slabinfo /proc/vmallocinfo; do
        run box -- head -c 64 "$file"
        [ -z "$output" ] || [ "$status" -ne 0 ] || {
            echo "$file can be read"
            return 1
        }
    done
    for file in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches \
        /proc/sys/kernel/hostname /proc/self/oom_score_adj /proc/self/coredump_filter /proc/self/uid_map \
        /proc/self/setgroups /proc/irq/default_smp_affinity /proc/sys/net/ipv4/ip_forward /proc/mtrr; do
        refused "$CLOSED|ENOENT" write "$file" 0
    done
    # The kernel's addresses, where it hides them from ordinary users.
    local nobody=(cat) # who may not become one is one
    [ "$(id -u)" -ne 0 ] || nobody=(setpriv --reuid=65534 --clear-groups cat)
    [ "$(inside 'head -1 /proc/kallsyms')" = "$("${nobody[@]}" /proc/kallsyms 2>/dev/null | head -1)" ]
}

@test "without a control group the kernel that runs out of memory looks inside first" {
    [[ ${BACKEND:-native} = native ]] || skip "backend: only by our own"
    "${AS[@]}" "$BOX" doctor | tr -s " \n" " " | grep -q "memory per process" || skip "cgroup: has one"
    inside 'cat /proc/self/oom_score_adj; echo 0 >/proc/self/oom_score_adj; cat /proc/1/oom_score_adj' >"$X/out" 2>&1 || :
    [ "$(grep -cx 500 "$X/out")" -eq 2 ]
    [ "$("${AS[@]}" choom -n 900 -- "$BOX" run -q -C "$W" -- cat /proc/self/oom_score_adj)" = 900 ]
}

@test "core_pattern and the other switches of the host are as before" {
    local files=(/proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/kernel/hostname) before
    before=$(cat "${files[@]}" 2>/dev/null || :)
    inside 'for f in core_pattern modprobe hostname; do echo "|/evil" >/proc/sys/kernel/$f; done; :' 2>/dev/null
    [ "$before" = "$(cat "${files[@]}" 2>/dev/null || :)" ]
}

@test "/sys is hidden, control groups included" {
    run inside 'ls /sys; ls /sys/fs/cgroup /sys/firmware /sys/kernel /sys/class/net'
    [[ $output != *kernel$'\n'* && $output != *cgroup.procs* ]]
    refused 'ENOENT|EACCES|EROFS' write /sys/fs/cgroup/cgroup.procs 0
    refused 'ENOENT|EACCES|EROFS' write /sys/fs/cgroup/memory.max max
}

@test "/run holds nothing of the host" {
    run inside 'find /run /var/run/'
    echo "$output"
    [ "$(grep -vc -e '^/run$' -e '^/run/agentbox' -e '^/var/run' -e '^find:' <<<"$output")" -eq 0 ] ||
        [[ $output != *sock* ]]
    refused "$CLOSED" create /run/new
}

@test "inside knows that it is inside, and the mark cannot be forged or removed" {
    # A sanitizer's run-time wants its own LD_PRELOAD and terabytes of address space.
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: their run-time cannot start there"
    [ "$(box -- "$BOX" inside)" = "inside sandbox" ]
    refused "$CLOSED|EBUSY" sys unlinkat -100 @/run/agentbox/inside 0
    refused "$CLOSED|EBUSY|EXDEV" sys renameat2 -100 @/run/agentbox -100 "@$W/x" 0
    run as_who "$BOX" inside
    [ "$status" -eq 1 ]
    [ "$output" = "outside sandbox" ]
}

@test "the program that runs us is not found in /proc as something to write" {
    local before
    before=$(cksum <"$BOX")
    inside 'for p in /proc/[0-9]*/exe; do echo evil >$p; cp file $p; dd if=file of=$p; done; :' 2>/dev/null
    [ "$before" = "$(cksum <"$BOX")" ]
    refused "ETXTBSY|$CLOSED|ENOENT" write /proc/1/exe evil
}

@test "the state folder of agentbox can be neither read nor written" {
    inside true
    mkdir -p "$H/.local/state/agentbox/held"
    own "$H"
    refused "$HIDDEN" dir-open "$H/.local/state/agentbox"
    refused "$HIDDEN|$CLOSED" create "$H/.local/state/agentbox/held/forged"
    refused "$HIDDEN|$CLOSED" create "$H/.local/state/agentbox/forged"
    OPTIONS+=(--rw "$H")
    refused "$HIDDEN|$CLOSED" create "$H/.local/state/agentbox/held/forged"
    refused "$HELD" sys renameat2 -100 "@$H/.local/state" -100 "@$H/x" 0
    refused "$HELD" sys renameat2 -100 "@$H/.local" -100 "@$H/x" 0
    [ -z "$(find "$H" -name forged)" ]
}

@test "the usual secrets of a home are hidden, and stay hidden when the home is writable" {
    local file
    for file in .ssh/id_rsa .aws/credentials .gnupg/key .netrc .npmrc .pypirc .docker/config.json .kube/config \
        .git-credentials .config/gh/hosts.yml .config/gcloud/token .password-store/x .bash_history; do
        mkdir -p "$H/$(dirname "$file")"
        echo "$SECRET" >"$H/$file"
    done
    own "$H"
    watch "$H/.ssh/id_rsa" "$H/.netrc"
    run inside 'grep -r hidden-canary $H; cat $H/.ssh/id_rsa $H/.netrc $H/.aws/credentials'
    [[ $output != *"$SECRET"* ]]
    OPTIONS+=(--rw "$H")
    run inside 'grep -r hidden-canary $H; echo x >$H/.netrc; mv $H/.ssh $H/x; rm -rf $H/.ssh $H/.netrc'
    [[ $output != *"$SECRET"* ]]
    untouched
}

@test "the start-up files of a writable home are protected" {
    local file
    for file in .bashrc .profile .zshenv .gitconfig; do
        echo original >"$H/$file"
    done
    own "$H"
    OPTIONS+=(--rw "$H")
    watch "$H/.bashrc" "$H/.profile" "$H/.zshenv" "$H/.gitconfig"
    run inside 'for f in .bashrc .profile .zshenv .gitconfig; do echo evil >>$H/$f; mv file $H/$f; done'
    untouched
}
