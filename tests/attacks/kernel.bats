#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A50–A79, A162, A163: the kernel's surface, processes and resources.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

@test "A50 kill -9 -1, and the supervisor stopped" {
    victim
    mkfifo "$W/gate"
    own "$W"
    start_box -c 'read -r pid <gate; kill -STOP $pid; kill -9 $pid; kill -STOP 1; kill -STOP $PPID; kill -9 -1; kill -9 -$pid
        echo reached >end; exit 5'
    echo "$BOX_PID" >"$W/gate"
    local status=0
    wait "$BOX_PID" || status=$?
    # kill -9 -1 spares the caller and pid 1.
    [ "$status" -eq 5 ]
    [ -e "$W/end" ]
    victim_lives
}

@test "A51 ptrace of pid 1, the victim and the supervisor; of a sibling it works" {
    victim
    local pid
    for pid in 1 "$VICTIM" $$ "$PPID"; do
        refused 'EPERM|ESRCH' sys ptrace 16 "$pid" 0 0
        refused 'EPERM|ESRCH' sys ptrace 0x4206 "$pid" 0 0
        refused 'EPERM|ESRCH' peek "$pid"
        refused 'EPERM|ESRCH' poke "$pid"
    done
    victim_lives
}

@test "A51 variant: no other process of the same user becomes visible by guessing" {
    victim
    run inside 'for i in $(seq 1 400); do kill -0 $i && echo "pid $i"; done 2>/dev/null'
    [ "$(grep -c '^pid' <<<"$output")" -le 6 ]
    refused 'ESRCH|EPERM|EINVAL' sys pidfd_open "$VICTIM" 0
}

# No CPU time at all kills a process, no descriptors break it; the kernel asks for nothing but the same user.
LIMITS='
import resource, sys
for pid in map(int, sys.argv[1:]):
    for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_CPU):
        try:
            resource.prlimit(pid, limit, (0, 0))
            print("set", pid)
        except OSError as e:
            print(pid, e)
'

@test "A162 limits set for the victim and pid 1" {
    local init=1
    [ "${BACKEND:-native}" != landlock ] || init= # the host's own: nothing to try it on
    victim
    cat "/proc/$VICTIM/limits" >"$X/before"
    run box -- python3 -c "$LIMITS" "$VICTIM" $init
    echo "$output"
    [[ $output == *"$VICTIM "* && $output != *set* ]]
    diff "$X/before" "/proc/$VICTIM/limits"
    victim_lives
}

# A pid 1 that only runs when nobody else wants to does not see when the time is up.
BEHIND='
import os
def attempt(call, *args):
    try:
        call(*args)
        print("done", call.__name__, *args[:2])
    except OSError as e:
        print(call.__name__, *args[:2], e)
attempt(os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0))
attempt(os.sched_setparam, 1, os.sched_param(0))
attempt(os.sched_setaffinity, 1, os.sched_getaffinity(0))
for tid in sorted(map(int, os.listdir("/proc/1/task")))[1:]:
    print("thread", tid)
    attempt(os.sched_setscheduler, tid, os.SCHED_IDLE, os.sched_param(0))
    attempt(os.sched_setparam, tid, os.sched_param(0))
    attempt(os.sched_setaffinity, tid, os.sched_getaffinity(0))
    attempt(os.setpriority, os.PRIO_PROCESS, tid, 19)
for kind, who in ((os.PRIO_PROCESS, 1), (os.PRIO_PGRP, 1), (os.PRIO_USER, 0), (os.PRIO_USER, os.getuid())):
    attempt(os.setpriority, kind, who, 19)
os.setpriority(os.PRIO_PROCESS, 0, 19)
os.setpriority(os.PRIO_PROCESS, os.getpid(), 19)
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
print("finished")
'

@test "A163 pid 1 put behind everybody else, so that no time limit comes" {
    run box -- python3 -c "$BEHIND"
    echo "$output"
    [[ $output == *finished* && $output != *done* ]]
}

# Pid 1 waits for it when it looks at a path: what it waits for must run, too.
@test "A163 variant: the thread of pid 1 that serves masks" {
    mkdir -p "$W/masked"
    own "$W"
    run box --exclude "$W/masked" -- python3 -c "$BEHIND"
    echo "$output"
    [[ $output == *finished* && $output != *done* ]]
}

@test "A54 TIOCSTI on every stream and on /dev/tty" {
    cat >"$FIX/tiocsti" <<TEXT
#!/bin/bash
cd "$W" || exit
for fd in 0 1 2; do
    ${AS[*]} "$BOX" run -q -- "$PAYLOAD" sys ioctl \$fd 0x5412 @X
    ${AS[*]} "$BOX" run -q -- "$PAYLOAD" sys ioctl \$fd 0xabcdef0000005412 @X
done
${AS[*]} "$BOX" run -q -- sh -c '"$PAYLOAD" sys ioctl 0 0x5412 @X </dev/tty'
read -r -t 0.2 -n 1 typed && echo "typed: \$typed"
echo finished
TEXT
    chmod 755 "$FIX/tiocsti"
    run timeout 20 script -qec "$FIX/tiocsti" /dev/null </dev/null
    rm -f "$FIX/tiocsti"
    echo "$output"
    [[ $output == *finished* && $output != *typed:* && $output == *EPERM* && $output != *ok* ]]
}

@test "A55 TIOCLINUX, TIOCCONS and line disciplines" {
    local request
    for request in 0x541c 0x541d 0x5423; do
        refused EPERM sys ioctl 0 "$request" @x
        refused EPERM sys ioctl 1 "$((request + 0x100000000))" @x
    done
}

@test "A56 documented: escape sequences reach the screen, and what it answers reaches the command alone" {
    ours_only
    cat >"$X/ask.py" <<'PY'
import os, termios, tty
old = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"\x1b]52;c;ZXZpbA==\x07\x1b[21t\x1bP$q\"p\x1b\\\x1b[?2004h\x1b[5nasked")
answer = os.read(0, 64)
termios.tcsetattr(0, termios.TCSANOW, old)
print("answer", answer == b"\x1b[0n", flush=True)
PY
    chmod -R a+rX "$X"
    (cd "$W" && python3 "$ABX_SOURCE/tests/lib/terminal.py" bash --norc --noprofile -i) <<STEPS
expect \$|#
send PS1=outer\\>\r
expect outer>
send before=\$(stty -g); ${AS[*]} $BOX run -q -- python3 $X/ask.py; [ "\$before" = "\$(stty -g)" ] && echo same modes\r
expect asked
send \x1b[0n
expect answer True
expect same modes\r
expect outer>
refuse 0n
send exit\r
exit 0
STEPS
    grep -q 'OSC 52' "$ABX_SOURCE/docs/threat-model.md"
}

@test "A57 io_uring" {
    refused 'EPERM|ENOSYS' sys io_uring_setup 1 %120
    refused 'EPERM|ENOSYS' sys io_uring_enter 0 0 0 0 0
    refused 'EPERM|ENOSYS' sys io_uring_register 0 0 0 0
}

@test "A59 setns to every namespace of pid 1, unshare of the network" {
    local ns
    for ns in user mnt pid net ipc uts cgroup time; do
        refused EPERM sys setns "^/proc/1/ns/$ns" 0
        refused EPERM sys setns "^/proc/self/ns/$ns" 0
    done
    refused EPERM sys unshare 0x40000000
    refused EPERM sys unshare 0x50000000
}

@test "A59 variant: every namespace is another than the host's" {
    local name
    for name in user mnt pid net ipc uts cgroup; do
        [ "$(box -- readlink "/proc/self/ns/$name")" != "$(readlink "/proc/self/ns/$name")" ] || {
            echo "the host's: $name"
            return 1
        }
    done
}

@test "A60 bpf, perf, userfaultfd, keys, kexec, modules, ports, quota, handles, syslog" {
    refused EPERM sys bpf 5 %120 120
    refused EPERM sys perf_event_open %128 0 -1 -1 0
    refused EPERM sys userfaultfd 0
    refused EPERM sys userfaultfd 1
    refused EPERM sys keyctl 0 -3 1
    refused EPERM sys add_key @user @k @v 1 -2
    refused EPERM sys kexec_load 0 0 0 0
    refused EPERM sys init_module %8 8 @
    refused EPERM sys quotactl 0 @ 0 0
    refused EPERM handle "$O/f" "$O"
    refused 'EPERM|EACCES' handle / /
    refused EPERM sys syslog 10 0 0
    [ "$(uname -m)" != x86_64 ] || refused EPERM sys iopl 3
}

# BTRFS_IOC_SNAP_CREATE, _V2, SNAP_DESTROY, _V2; on another file system they would answer ENOTTY.
@test "A60 variant: a snapshot of a btrfs subvolume, without the mounts that hide and protect" {
    local request
    for request in 0x50009401 0x50009417 0x5000940f 0x5000943f; do
        refused EPERM sys ioctl 0 "$request" @x
        refused EPERM sys ioctl 0 "$((request + 0x100000000))" @x
    done
}

@test "A62 loader and interpreter variables do nothing to the helpers" {
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: the program is not static with them"
    local library=$X/evil.so
    printf 'touch %s\n' "$X/ran" >"$X/evil.sh"
    cc -shared -fPIC -o "$library" -x c - <<TEXT
#include <fcntl.h>
__attribute__((constructor)) static void run(void) { open("$X/ran", O_CREAT | O_WRONLY, 0666); }
TEXT
    own "$X"
    AS+=(LD_PRELOAD="$library" LD_AUDIT="$library" BASH_ENV="$X/evil.sh" ENV="$X/evil.sh" GCONV_PATH="$X"
        NODE_OPTIONS="--require $library" PYTHONSTARTUP="$X/evil.sh")
    box -- true
    [ ! -e "$X/ran" ]
}

@test "A63 the program itself overwritten through /proc" {
    local before
    before=$(cksum <"$BOX")
    run inside 'for p in 1 self $PPID; do echo evil >/proc/$p/exe; exec 9</proc/$p/exe; echo evil >/proc/self/fd/9
        truncate -s0 /proc/self/fd/9; done; readlink /proc/1/exe'
    [ "$before" = "$(cksum <"$BOX")" ]
    [ "$(box -- echo fine)" = fine ]
}

@test "A64 a process that outlives its shell" {
    box -c 'setsid sh -c "sleep 0.5; touch late" & nohup sh -c "sleep 0.5; touch late" >/dev/null 2>&1 & exit 0'
    allowed daemon 1 "$W/late"
    sleep 1.2
    [ ! -e "$W/late" ]
}

@test "A66 a fork bomb ends at the limit, and the host goes on" {
    OPTIONS+=(--pids 100 --timeout 10s)
    # Nothing would end it there (gaps.tsv): it is not tried.
    [ "$WHO" != root ] || [ "${BACKEND:-native}" = native ]
    run attempt forks 100000
    [[ $output == *EAGAIN ]]
    run inside 'b() { b | b & b; }; b 2>/dev/null'
    [ "$(box -- echo fine)" = fine ]
}

@test "A67 memory until the end" {
    OPTIONS+=(--memory 128M)
    run attempt memory 1024
    [ "$output" != ok ]
    [ "$(box -- echo fine)" = fine ]
}

@test "A68 descriptors until EMFILE" {
    run attempt files
    [[ $output == *EMFILE ]]
    [ "${output%% *}" -le 1024 ]
}

@test "A69 /tmp and /dev/shm are capped" {
    OPTIONS+=(--memory 64M)
    run inside 'dd if=/dev/zero of=/tmp/big bs=1M count=200; dd if=/dev/zero of=/dev/shm/big bs=1M count=200'
    [ "$(grep -c 'No space left' <<<"$output")" -eq 2 ]
    run inside 'dd if=/dev/zero of=/dev/big bs=1M count=10; dd if=/dev/zero of=/run/big bs=1M count=10'
    [ "$(grep -Ec 'No space|Read-only|denied' <<<"$output")" -eq 2 ]
}

@test "A70 a loop ends at the time limit, with all its children" {
    local start=$SECONDS
    run box --timeout 1s -- sh -c 'for i in 1 2 3; do (while :; do :; done) & done; while :; do :; done'
    [ "$status" -eq 124 ]
    [ $((SECONDS - start)) -le 8 ]
}

@test "A72 keyrings" {
    local ring
    for ring in -1 -2 -3 -4 -5; do
        refused EPERM sys keyctl 0 "$ring" 0
        refused EPERM sys keyctl 11 "$ring" 0 0
    done
}

@test "A72 variant: a key in the caller's session keyring is not found inside" {
    # keyctl(KEYCTL_JOIN_SESSION_KEYRING), then add_key(2). The search works outside, so the key is there.
    AS+=(python3 -c 'import ctypes, os, sys
add_key, keyctl = (248, 250) if os.uname().machine == "x86_64" else (217, 219)
c = ctypes.CDLL(None)
c.syscall(keyctl, 1, None)
assert c.syscall(add_key, b"user", b"abx-canary", b"x", 1, -3) > 0
os.execvp(sys.argv[1], sys.argv[1:])')
    [ "$(as_who "$PAYLOAD" sys keyctl 10 -3 @user @abx-canary 0)" = ok ]
    refused 'EPERM|ENOKEY' sys keyctl 10 -3 @user @abx-canary 0
}

@test "A73 control groups" {
    run inside 'find /sys -name "cgroup.*" -o -name "memory.max"; echo $$ >/sys/fs/cgroup/cgroup.procs; mkdir /sys/fs/cgroup/x'
    [[ $output != */cgroup.procs$'\n'* ]]
    run inside 'cat /proc/self/cgroup'
    [[ $output != *system.slice* && $output != *user.slice* ]]
}

@test "A74 core_pattern, binfmt_misc, sysrq, oom_score_adj" {
    local file
    for file in /proc/sys/kernel/core_pattern /proc/sys/fs/binfmt_misc/register /proc/sysrq-trigger \
        /proc/sys/kernel/pid_max /proc/sys/vm/overcommit_memory /proc/sys/kernel/randomize_va_space; do
        refused "$CLOSED|ENOENT" write "$file" 0
    done
    refused "$CLOSED" write /proc/self/oom_score_adj -1000
}

# A limit of 0 would start it; the last try has a pointer whose lower half is 0.
CORES='
import ctypes, mmap, os, resource, struct
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
at = libc.mmap(1 << 32, 4096, 3, 0x100022, -1, 0)
assert at == 1 << 32, hex(at)
ctypes.memset(at, 0, 16)
libc.prlimit(0, resource.RLIMIT_CORE, ctypes.c_void_p(at), None)
print(*resource.getrlimit(resource.RLIMIT_CORE))
'

@test "A74 variant: the host's handler of crashes is not started: the limit of core files stays at 1" {
    ours_only
    run box -- python3 -c "$CORES"
    echo "$output"
    [ "$output" = "1 1" ]
    run inside 'ulimit -c 0 && grep "core file size" /proc/self/limits'
    [[ $output =~ ^"Max core file size "\ +1\ +1\  ]]
}

@test "A75 WSL: the way to Windows is a socket below /run or vsock, and a PE file is no program" {
    ours_only
    AS+=(WSL_INTEROP=/run/WSL/8_interop WSLENV=x)
    run inside 'env; ls /run/WSL'
    [[ $output != *WSL_INTEROP=* && $output != *8_interop* ]]
    refused 'EAFNOSUPPORT|EPERM' sys socket 40 1 0
    printf 'MZ\x90\x00\x03\x00\x00\x00' >"$W/cmd.exe"
    chmod 755 "$W/cmd.exe"
    own "$W"
    run box -- ./cmd.exe
    [ "$status" -eq 126 ]
    refused 'ENOENT|EACCES|EPERM|EROFS' write /proc/sys/fs/binfmt_misc/register ':x:M::MZ::/bin/true:'
}

@test "A76 socket families" {
    local family
    for family in 1 17 38 40 44 31 43 29 15 21 36 8; do
        refused 'EAFNOSUPPORT|EPERM' sys socket "$family" 1 0
        refused 'EAFNOSUPPORT|EPERM' sys socket "$family" 2 0
        refused 'EAFNOSUPPORT|EPERM' sys socket "$family" 3 0
        refused 'EAFNOSUPPORT|EPERM' sys socket "$family" 5 0
    done
    refused 'EPROTONOSUPPORT|EAFNOSUPPORT|EPERM' sys socket 16 3 9
    refused 'EPROTONOSUPPORT|EAFNOSUPPORT|EPERM' sys socket 16 3 15
}

@test "A79 exit statuses and signals are exact" {
    local code got
    for code in 0 1 2 42 124 125 126 127 128 200 254 255; do
        got=0
        box -- sh -c "exit $code" || got=$?
        [ "$got" -eq "$code" ]
    done
    for code in 1 2 3 6 9 11 15; do
        got=0
        box -- sh -c "kill -$code \$\$" || got=$?
        [ "$got" -eq $((128 + code)) ]
    done
}
