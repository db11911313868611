#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The core of the end-to-end tests, for a system that has busybox, our program and the tests'
# payload, and nothing else. Prints TAP. Whatever must not happen inside has a canary outside.
#
#   abx_landlock   the Landlock ABI that this kernel has, "7+" for that or a later one; 0: none
#   abx_view       0: it is older than the calls that make the view of files
#
# Everything runs as root, as an ordinary user, and, where there is Landlock, as that user with the
# back end that has nothing else. Without Landlock a run must be refused first; then the same tests run
# with fallbackPolicy=warn. With neither a view nor Landlock everything must be refused.
# shellcheck disable=SC2009,SC2012,SC2015,SC2016,SC2154 # busybox; text in quotes is for the shell inside
set -u

BASE=/var/tmp/t
SECRET=the-hidden-canary
number=0
why=

ok() { # ok NAME: the last command's status decides
    if [ $? -eq 0 ]; then
        number=$((number + 1))
        echo "ok $number $WHO: $*"
    else
        number=$((number + 1))
        echo "not ok $number $WHO: $*"
        # shellcheck disable=SC2001 # one line each
        [ ! -s "$X/said" ] || sed 's/^/# said: /' "$X/said"
        [ -z "$why" ] || echo "# $why"
    fi
    why=
}

skip() { # skip NAME REASON
    number=$((number + 1))
    echo "ok $number $WHO: $1 # skip $2"
}

wait_for() { # up to a minute; a machine may be emulated, and slow
    tries=600
    until "$@" 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        usleep 100000
    done
}

# ---- the fixture -----------------------------------------------------------------------------------

fixture() { # fixture root|user|landlock
    WHO=$1
    W=$BASE/$1/w D=$BASE/$1/d O=$BASE/$1/o H=$BASE/$1/h S=$BASE/$1/s X=$BASE/$1/x
    mkdir -p "$W/.git/hooks" "$W/src" "$D" "$O" "$H/.ssh" "$S" "$X"
    printf 'ref: refs/heads/main\n' >"$W/.git/HEAD"
    printf '[core]\n' >"$W/.git/config"
    mkdir "$W/.git/objects" "$W/.git/refs"
    echo "$SECRET" >"$D/s"
    echo "$SECRET" >"$H/.ssh/id_ed25519"
    echo outside >"$O/f"
    echo work >"$W/file"
    echo 'echo hook' >"$W/.git/hooks/pre-commit"
    AS="env HOME=$H"
    if [ "$1" != root ]; then
        chown -R 1001:1001 "$BASE/$1"
        printf '#!/bin/sh\nexec su -c '\''exec "$@"'\'' -- user sh "$@"\n' >/bin/as-user
        chmod 755 /bin/as-user
        AS="as-user env HOME=$H"
    fi
}

box() { # box OPTION… -- COMMAND: what it prints is also kept, for whoever asks why
    # shellcheck disable=SC2086 # words
    (cd "$W" && exec timeout 600 $AS agentbox run $QUIET --approve yes $MORE --exclude "$D" "$@" \
        </dev/null >"$X/said" 2>&1)
    status=$?
    cat "$X/said"
    return $status
}

# inside TEXT: by the shell there; from a file that nobody judges, because what counts is the kernel.
inside() {
    printf 'echo inside-ran\n%s\n' "$1" >"$X/script"
    box --env "D=$D" --env "O=$O" --env "H=$H" --env "S=$S" --network blocked -- sh "$X/script" |
        grep -vx inside-ran
    return 0
}

ran() { # … and it was: what did not run has changed nothing, too
    grep -qx inside-ran "$X/said" || {
        why="it did not run"
        return 1
    }
}

alone() { # Landlock alone
    [ "$WHO" = landlock ]
}

older() { # older ABI: than that
    [ "${abx_landlock%+}" -lt "$1" ]
}

is() { # is WANTED GOT
    [ "$1" = "$2" ] || {
        why="wanted '$1', got '$2'"
        return 1
    }
}

refused() { # refused ERRNOS ATTEMPT…: the payload's attempt ends with one of them (E1|E2)
    names=$1
    shift
    got=$(box --network blocked -- payload "$@")
    echo "$got" | grep -qxE "$names" || {
        why="$*: wanted $names, got '$got'"
        return 1
    }
}

# Names, modes, owners; of files also times and contents. A directory's time tells of placeholders, which
# are ours.
listing() {
    find "$@" -exec stat -c '%n %f %u:%g %i' {} + | sort
    find "$@" -type f -exec stat -c '%n %s %Y %Z' {} + | sort
    find "$@" -type f -exec md5sum {} + | sort
}

canaries() {
    listing "$O" "$D" "$H/.ssh" "$W/.git"
}

unchanged() {
    canaries >"$X/after"
    cmp -s "$X/before" "$X/after" || {
        why="a canary changed: $(diff "$X/before" "$X/after" | tr '\n' ' ')"
        return 1
    }
}

# ---- what must hold --------------------------------------------------------------------------------

check_results() {
    box -- true >/dev/null
    ok "a command runs"
    box -- sh -c 'exit 7' >/dev/null
    is 7 $?
    ok "its exit status is the run's"
    box -- sh -c 'kill -KILL $$' >/dev/null
    is 137 $?
    ok "a signal is 128 and its number"
    box -- no-such-program >/dev/null
    is 127 $?
    ok "a program that is not there is 127"
    box --timeout 1s --grace 1s -- sleep 1000 >/dev/null
    is 124 $?
    ok "a time limit is 124"
    is hello "$(box --env WORD=hello -- sh -c 'echo "$WORD"')"
    ok "output and environment pass"
    is "file" "$(inside 'echo more >>file && ls file')" && is 2 "$(wc -l <"$W/file")"
    ok "the workspace is writable"
}

check_files() {
    canaries >"$X/before"
    inside 'echo evil >"$O/f"; rm -rf "$O" "$D" "$H"; mv "$O/f" "$O/g"; echo >"$O/new"; ln -s x "$O/l"
        ln "$O/f" linked; mkdir "$H/x"; echo evil >/etc/evil; echo >/bin/evil; echo evil >/evil' >/dev/null
    ran && unchanged && [ ! -e /etc/evil ] && [ ! -e /bin/evil ] && [ ! -e /evil ] && [ ! -e "$H/x" ]
    ok "nothing outside can be written, made, removed or renamed"
    if alone; then
        skip "modes and times outside stay" "the gap 'attributes' of Landlock alone"
    else
        inside 'chmod 777 "$O/f"; touch "$O/f"; chown 1 "$O/f"; touch -d 2001-01-01 "$O"' >/dev/null
        ran && unchanged
        ok "modes and times outside stay"
    fi
    is '' "$(inside 'cat "$D/s" "$D/../d/s" /proc/self/root"$D/s" /proc/1/root"$D/s" 2>/dev/null
        ls "$D" 2>/dev/null; echo "$D"/*/* | grep /s')" && ran
    ok "what is excluded is neither read nor listed"
    ! inside 'cat "$H/.ssh/id_ed25519"' | grep -q "$SECRET" && ran
    ok "keys in the home are hidden"
    inside 'echo evil >.git/hooks/pre-commit; echo evil >.git/hooks/post-commit; echo evil >>.git/config
        mv .git .old; rm -rf .git/hooks; mkdir .vscode; echo evil >.mcp.json; echo evil >.envrc
        echo evil >.agentbox.json; echo fine >src/new' >/dev/null
    ran && unchanged && [ ! -e "$W/.mcp.json" ] &&
        [ ! -e "$W/.envrc" ] && [ ! -e "$W/.agentbox.json" ] && is fine "$(cat "$W/src/new")"
    ok "protected names cannot be changed or made, others can"
    is ".git file src" "$(ls -A "$W" | tr '\n' ' ' | sed 's/ $//')"
    ok "nothing of ours is left in the workspace"
    if alone && older 3; then
        skip "files outside cannot be emptied" "the gap 'truncate' of Landlock alone"
    else
        refused 'EROFS|EACCES|EPERM' sys truncate "@$O/f" 0 && refused 'EROFS|EACCES|EPERM' truncate-open "$O/f" &&
            refused 'EROFS|EACCES|EPERM' reopen "$O/f" && unchanged
        ok "files outside cannot be emptied"
    fi
    refused 'EROFS|EACCES|EPERM' mmap-write "$O/f" &&
        refused 'EROFS|EACCES|EPERM' tmpfile "$O" &&
        refused 'EROFS|EACCES|EPERM' append "$O/f" evil && refused ok create "$W/src/made"
    ok "each way to write is refused outside and works inside"
    echo host >/tmp/hosts
    ! inside 'cat /tmp/hosts; echo evil >/tmp/evil' | grep -qx host && ran && [ ! -e /tmp/evil ]
    ok "/tmp is its own, or closed"
    is '' "$(inside 'for f in /dev/kmsg /dev/mem /dev/port /proc/sysrq-trigger /proc/sys/kernel/core_pattern \
        /sys/power/state; do (: >>"$f") 2>/dev/null && echo "$f"; done')" && ran
    ok "devices and switches of the kernel are closed"
}

check_network() {
    : >"$X/log"
    chmod 666 "$X/log"
    $AS payload serve "$X/log" "$S" "abx-$WHO" >"$X/ports" 2>&1 &
    server=$!
    wait_for test -s "$X/ports"
    read -r tcp udp <"$X/ports"
    refused 'ECONNREFUSED|ENETUNREACH|EAFNOSUPPORT|EACCES|EPERM' inet tcp 127.0.0.1 "$tcp"
    ok "TCP to the host is refused"
    # A datagram to the sandbox's own loopback may be sent; the server's log decides.
    box --network blocked -- payload inet udp 127.0.0.1 "$udp" >/dev/null
    refused 'ECONNREFUSED|EPERM|EACCES' abstract "abx-$WHO"
    ok "an abstract socket of the host is refused"
    refused 'EACCES|EPERM|ENOENT|ECONNREFUSED' unix stream "$S/stream"
    ok "a socket file of the host is refused"
    is ok "$(payload unix stream "$S/stream")" && wait_for test -s "$X/log" && is stream "$(cat "$X/log")"
    ok "the host's servers were not called, and would have been"
    if alone; then
        skip "it has a loopback of its own" "Landlock alone has no network"
    else
        is ok "$(box --network blocked -- payload loopback)"
        ok "it has a loopback of its own"
    fi
    kill $server
    wait $server 2>/dev/null
}

check_filtered() {
    mkdir -p "$X/www"
    echo served >"$X/www/index.html"
    httpd -f -p 127.0.0.1:8080 -h "$X/www" &
    server=$!
    wait_for wget -q -O /dev/null http://127.0.0.1:8080/
    is served "$(box --network filtered --allow-domain 127.0.0.1:8080 -- \
        sh -c 'wget -q -Y on -O - http://127.0.0.1:8080/')"
    ok "filtered: what is allowed is reached by the proxy"
    ! box --network filtered --allow-domain 127.0.0.1:8081 -- \
        sh -c 'echo inside-ran; wget -q -Y on -O - http://127.0.0.1:8080/' | grep -q served && ran
    ok "filtered: what is not allowed is refused by the proxy"
    ! box --network filtered --allow-domain 127.0.0.1:8080 -- \
        sh -c 'echo inside-ran; wget -q -Y off -O - http://127.0.0.1:8080/' | grep -q served && ran
    ok "filtered: there is no way around the proxy"
    kill $server
    wait $server 2>/dev/null
}

check_processes() {
    # shellcheck disable=SC2086 # words
    $AS sleep 100000 &
    victim=$!
    wait_for grep -qx sleep /proc/$victim/comm
    if alone && older 6; then
        skip "a process of the host cannot be signalled" "the gap 'signals' of Landlock alone"
    else
        inside "kill -KILL $victim; kill -STOP $victim" >/dev/null
        ran && grep -q '^State:.S' /proc/$victim/status
        ok "a process of the host cannot be signalled"
    fi
    if alone; then
        skip "processes of the host are not seen" "the gap 'processes' of Landlock alone"
    else
        ! inside 'cat /proc/[0-9]*/comm' | grep -qx sleep && ran
        ok "processes of the host are not seen"
    fi
    kill -KILL $victim
    wait $victim 2>/dev/null
    box --timeout 1s --grace 1s -- sh -c 'setsid sleep 54321 & echo inside-ran; sleep 54321' >/dev/null
    left=$(ps -o comm,args | grep '^sleep *sleep 54321')
    is '' "$left" && ran
    ok "nothing outlives the run"
}

check_privileges() {
    cp /bin/payload "$O/setuid"
    chown 0:0 "$O/setuid"
    chmod 4755 "$O/setuid"
    box --network blocked -- "$O/setuid" state >"$X/state"
    rm -f "$O/setuid"
    # The bounding set cannot be emptied without a capability; nothing can be gained from it here.
    is 'effective=000000000 permitted=000000000 inheritable=000000000 ambient=0 no_new_privs=1 seccomp=2 ok' \
        "$(sed 's/bounding=[0-9]* //' "$X/state")"
    ok "a set-uid program gives no capability"
    box --network blocked -- cat /proc/self/status >"$X/state"
    grep -qx 'NoNewPrivs:.1' "$X/state" && grep -qx 'Seccomp:.2' "$X/state" &&
        ! grep -E '^Cap(Inh|Prm|Eff|Amb):' "$X/state" | grep -qv '0000000000000000' &&
        { alone || grep -qx 'CapBnd:.0000000000000000' "$X/state"; }
    ok "no capabilities, no new privileges, a filter"
    refused 'EPERM|ENOSYS' sys bpf 0 %64 64 && refused 'EPERM|ENOSYS' sys keyctl 0 -3 1 &&
        refused 'EPERM|ENOSYS' sys io_uring_setup 8 %120 && refused 'EPERM|ENOSYS' sys chroot @/ &&
        refused 'EPERM|ENOSYS' sys mount @none @/tmp @tmpfs 0 0 &&
        refused 'EPERM|ENOSYS' sys unshare 0x10000000 && refused 'EPERM|ENOSYS' sys setns 0 0 && refused 'EPERM|ENOSYS' clone 0x10000000 &&
        refused 'EPERM|ENOSYS' sys ptrace 16 1 0 0
    ok "dangerous system calls are refused"
    inside 'hostname evil' >/dev/null
    ran && is kernels "$(hostname)"
    ok "the host's name stays"
    is 0 "$(box --network blocked -- payload fds | grep -cvE '^(0|1|2|ok)')"
    ok "no descriptor leaks in"
}

# Before 6.14 there is one pid_max for all, and root's number alone lets write it: also the number of a
# root that has no other one, as in `unshare -r` or a service with PrivateUsers=.
check_limits() {
    most=$(cat /proc/sys/kernel/pid_max)
    box -- true >/dev/null && is "$most" "$(cat /proc/sys/kernel/pid_max)"
    ok "the host's number of processes stays"
    [ "$WHO" = root ] || return
    AS="unshare -r $AS"
    box -- true >/dev/null && is "$most" "$(cat /proc/sys/kernel/pid_max)"
    ok "the host's number of processes stays, by a root without other users"
    # shellcheck disable=SC2086 # words
    $AS agentbox doctor >/dev/null 2>&1
    is "$most" "$(cat /proc/sys/kernel/pid_max)"
    ok "doctor does not change it either"
    AS=${AS#unshare -r }
}

groups_of_run() { # groups_of_run DIR: how many there are below it while one run is there
    box --network blocked -- sh -c 'touch up; while [ -e up ]; do sleep 0.1; done' >/dev/null 2>&1 &
    wait_for test -e "$W/up"
    find "$1" -name 'agentbox-*' | wc -l
    rm -f "$W/up"
    wait $!
}

# As systemd delegates it: the user's own group, with its controllers, and the shell below it.
check_group() {
    group=/sys/fs/cgroup/$WHO before=$AS
    mkdir -p "$group/leaf"
    echo '+memory +pids' >"$group/cgroup.subtree_control"
    [ "$WHO" = root ] || chown -R 1001:1001 "$group"
    printf '#!/bin/sh\necho $$ >"$1/cgroup.procs"; shift; exec "$@"\n' >/bin/in-group
    chmod 755 /bin/in-group
    AS="in-group $group/leaf $AS" QUIET=
    got=$(box --memory 64M --network blocked -- sh -c '
        for i in 1 2 3; do head -c 40m /dev/zero | tail >/dev/null & done; wait; echo "goes on"')
    is 0 $? && echo "$got" | grep -q '^goes on$' && echo "$got" | grep -q 'larger --memory'
    ok "what takes the group's memory is killed, the rest goes on, and it is told"
    got=$(box --memory 64M --network blocked -- sh -c 'exec cat /dev/zero >/tmp/x')
    is 137 $? && echo "$got" | grep -q 'larger --memory'
    ok "files in /tmp count as memory: who writes them is killed, and it is told"
    got=$(box --pids 20 --network blocked -- sh -c '
        for i in $(seq 1 60); do sleep 1 & done 2>/dev/null; true')
    echo "$got" | grep -q 'larger --pids'
    ok "too many processes are told"
    is "" "$(find "$group" -name 'agentbox-*')"
    ok "no control group is left"
    is 1 "$(groups_of_run "$group")"
    ok "the group of a run lies beside that of its caller"
    echo 500M >"$group/leaf/memory.high"
    is 0 "$(groups_of_run "$group")"
    ok "but what its caller's is limited to is not left behind"
    echo max >"$group/leaf/memory.high"
    AS=$before QUIET=-q
}

check_monitor() {
    got=$(QUIET='' && box --monitor writes --network blocked --env "O=$O" -- sh -c 'echo evil >"$O/f"')
    echo "$got" | grep -qF "$O/f" && is outside "$(cat "$O/f")"
    ok "a refused write is explained"
}

# ---- what the kernel has ---------------------------------------------------------------------------

check_doctor() {
    # shellcheck disable=SC2086 # words
    $AS agentbox doctor >"$X/said" 2>&1
    status=$?
    sed 's/^/# doctor: /' "$X/said"
    abi=$(sed -n 's/^  .* landlock *ABI \([0-9]*\).*/\1/p' "$X/said")
    case $abx_landlock in
    0) grep -q '^  missing *landlock' "$X/said" && is 1 "$status" ;;
    *+) [ "${abi:-0}" -ge "${abx_landlock%+}" ] && is 0 "$status" ;;
    *) is "$abx_landlock" "$abi" && is 0 "$status" ;;
    esac
    ok "doctor tells the Landlock ABI"
    if [ "${abx_view:-1}" = 0 ]; then
        grep -q '^  missing *mounts' "$X/said" && grep -q 'hint: .*5\.1[23]' "$X/said"
        ok "doctor tells that the kernel is too old for mounts"
    fi
}

# no_run NAME WORD: it is refused, the command does not run, what is missing and what to do are said.
no_run() {
    rm -f "$W/ran"
    box -- sh -c ': >ran' >/dev/null
    is 125 $? && [ ! -e "$W/ran" ] && grep -qi "$2" "$X/said" && grep -q '^hint: ' "$X/said"
    ok "$1"
}

check_missing() {
    if [ "${abx_view:-1}" = 0 ]; then
        no_run "a kernel that is too old is refused" 'kernel\|missing'
        MORE="--set fallbackPolicy=warn"
        no_run "with fallbackPolicy=warn, too: nothing would hold" 'kernel\|missing\|landlock'
        return
    fi
    no_run "without Landlock a run is refused" landlock
    MORE="--set fallbackPolicy=warn" QUIET=
    box -- true >/dev/null
    is 0 $? && grep -qi landlock "$X/said"
    ok "with fallbackPolicy=warn it runs, and what is missing is named"
    QUIET=-q
}

check_gaps() {
    MORE="--backend landlock"
    no_run "Landlock alone is refused" 'host.s processes'
    MORE="$MORE --set fallbackPolicy=warn" QUIET=
    box -- true >/dev/null
    is 0 $? && grep -q 'Landlock alone' "$X/said" && { ! older 3 || grep -q emptied "$X/said"; } &&
        { ! older 6 || grep -qi signal "$X/said"; }
    ok "with fallbackPolicy=warn it runs, and the gaps are named"
    QUIET=-q
}

check_all() {
    check_results
    check_files
    check_network
    alone || check_filtered
    check_processes
    check_privileges
    check_limits
    [ "${abx_view:-1}" = 0 ] || alone || check_group
    check_monitor
}

QUIET=-q
echo "# $(uname -srm)"
for who in root user landlock; do
    MORE=
    [ $who != landlock ] || [ "$abx_landlock" != 0 ] || continue
    fixture $who
    if alone; then
        check_gaps
    else
        check_doctor
        [ "$abx_landlock" != 0 ] || check_missing
    fi
    [ "${abx_view:-1}" = 0 ] || check_all
done
echo "1..$number"
