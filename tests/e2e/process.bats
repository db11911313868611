#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Processes: those of the host are neither seen nor touched, nothing is inherited, nothing stays.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

@test "only processes of the sandbox are in /proc" {
    victim
    run inside 'ls /proc | grep -cx "[0-9]*"; cat /proc/[0-9]*/cmdline | tr "\0" " "'
    echo "$output"
    [ "${lines[0]}" -le 6 ]
    [[ $output != *"sleep 600"* ]]
    run inside "cat /proc/$VICTIM/cmdline /proc/$VICTIM/environ /proc/$VICTIM/status; ls /proc/$VICTIM/fd"
    [[ $output != *sleep* && $output != *"$SECRET"* ]]
}

@test "a process of the host cannot be signalled" {
    victim
    refused 'ESRCH|EPERM' sys kill "$VICTIM" 9
    refused 'ESRCH|EPERM' sys kill "$VICTIM" 19
    refused 'ESRCH|EPERM' sys kill "-$VICTIM" 9
    refused 'ESRCH|EPERM' sys tgkill "$VICTIM" "$VICTIM" 9
    refused 'ESRCH|EPERM' sys rt_sigqueueinfo "$VICTIM" 9 %128
    refused 'ESRCH|EPERM|EINVAL' sys pidfd_open "$VICTIM" 0
    inside 'kill -9 -1; :' 2>/dev/null || :
    victim_lives
}

@test "a process of the host cannot be traced, read or written" {
    victim
    refused 'ESRCH|EPERM' sys ptrace 16 "$VICTIM" 0 0
    refused 'ESRCH|EPERM' sys ptrace 0x4206 "$VICTIM" 0 0
    refused 'ESRCH|EPERM' peek "$VICTIM"
    refused 'ESRCH|EPERM' poke "$VICTIM"
    refused 'ESRCH|EPERM' sys kcmp 1 "$VICTIM" 0 0 0
    victim_lives
}

@test "kill -1 inside reaches neither pid 1 nor the host, and the status still comes out" {
    victim
    run inside 'trap "" TERM; kill -TERM -1; exit 7'
    [ "$status" -eq 7 ]
    victim_lives
}

@test "pid 1 of the sandbox can be neither traced, read, signalled nor stopped" {
    refused EPERM sys ptrace 16 1 0 0
    refused EPERM sys ptrace 0x4206 1 0 0
    refused EPERM peek 1
    refused EPERM poke 1
    run inside 'kill -9 1; kill -STOP 1; kill -SEGV 1; sleep 0.05; cat /proc/1/maps /proc/1/environ /proc/1/mem
        ls /proc/1/fd/ /proc/1/root/; readlink /proc/1/exe /proc/1/cwd; echo alive; exit 3'
    echo "$output"
    [ "$status" -eq 3 ]
    [[ $output == *alive* ]]
    [[ $output != *heap* && $output != */usr* && $output != *HOME=* ]]
}

@test "descriptors of the caller are not passed on" {
    echo "$SECRET" >"$X/secret"
    exec 7<"$X/secret" 8<"$O" 9>>"$O/f" 200<"$D"
    watch "$O"
    run box -- "$PAYLOAD" fds
    [ "$output" = "0 1 2 ok" ]
    run inside 'cat <&7; cat /proc/self/fd/7; echo x >&9; echo x >/dev/fd/9; cat /proc/self/fd/8/f
        cat /proc/self/fd/200/s; for i in $(seq 3 255); do cat /proc/self/fd/$i; done'
    exec 7<&- 8<&- 9>&- 200<&-
    [[ $output != *"$SECRET"* && $output != *outside* ]]
    untouched
}

@test "a closed standard stream does not become something else" {
    (exec <&-; box -- "$PAYLOAD" fds >"$X/out")
    grep -Eqx '(0 )?1 2 ok' "$X/out"
    (exec 2>&-; box -- "$PAYLOAD" fds >"$X/out")
    grep -Eqx '0 1 (2 )?ok' "$X/out"
}

@test "the working directory of the caller leads nowhere else" {
    cd "$O"
    watch "$O"
    run "${AS[@]}" "$BOX" run -q -C "$W" --exclude "$D" -- sh -c 'pwd; echo x >f; ls'
    [ "${lines[0]}" = "$W" ]
    untouched
}

@test "the command may use the processors of its caller, and no others" {
    local mine first
    mine=$(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status)
    first=${mine%%[,-]*}
    [ "$(inside 'sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status')" = "$mine" ]
    taskset -cp "$first" "$BASHPID" >/dev/null
    [ "$(inside 'sed -n "s/^Cpus_allowed_list:\t//p" /proc/self/status')" = "$first" ]
}

@test "a daemon that left everything behind is dead when the run returns" {
    allowed daemon 1 "$W/late"
    box -c "$PAYLOAD daemon 1 $W/late; setsid sh -c 'sleep 1; touch late' & (sleep 1; touch late) & :"
    not pgrep -f "$W/late"
    sleep 1.3
    [ ! -e "$W/late" ]
}

@test "the number of processes is limited" {
    [ "$WHO" = user ] || lacks bwrap process-limit
    OPTIONS+=(--pids 50)
    run attempt forks 2000
    echo "$output"
    [[ $output == *EAGAIN ]]
    [ "${output%% *}" -le 50 ]
}

@test "the number of open files is limited" {
    OPTIONS+=(--fds 64)
    run attempt files
    [ "$output" = "61 EMFILE" ]
    run inside 'ulimit -n 100000 2>&1; ulimit -n'
    [ "${lines[-1]}" = 64 ]
}

@test "the memory of a process is limited" {
    OPTIONS+=(--memory 64M)
    run attempt memory 512
    [ "$output" != ok ]
    allowed memory 16
}

@test "processor time is limited" {
    OPTIONS+=(--cpu-seconds 1)
    run inside 'while :; do :; done'
    [ "$status" -gt 128 ]
}

@test "no core file is written by a crash" {
    run inside 'ulimit -c unlimited 2>/dev/null; kill -SEGV $$'
    [ "$status" -eq 139 ]
    [ -z "$(find "$W" -name '*core*')" ]
}

@test "the command has every processor of its caller, however long its launcher's start takes" {
    local all
    all=$("${AS[@]}" grep Cpus_allowed: /proc/self/status)
    cp "$ABX_BUILD/tests/holdat" "$FIX/holdat"
    AS+=(env ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" "$FIX/holdat")
    run box -- grep Cpus_allowed: /proc/self/status </dev/null
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = "$all" ]
}
