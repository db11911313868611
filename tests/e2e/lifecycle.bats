#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1003,SC2016,SC2119
# What comes out of a run: exit status, signal, result, streams; and that everything inside is dead.

bats_require_minimum_version 1.5.0

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
    ulimit -c 0
}

teardown() {
    life_teardown
}

# field FILE EXPRESSION: of a result.
field() {
    python3 -c 'import json,sys; r=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

@test "every exit status from 0 to 255 comes out as it is" {
    in_bulk
    for code in $(seq 0 255); do
        status=0
        box -- sh -c "exit $code" || status=$?
        [ "$status" -eq "$code" ] || {
            echo "exit $code: status $status"
            return 1
        }
    done
}

@test "every signal that ends a command comes out as 128+N and in the result" {
    for who in $(everybody); do
        life_as "$who"
        for n in $(seq 1 16) 24 25 26 27 29 30 31; do
            [ "$n" -ne 13 ] || continue # below
            status=0
            box --result "$W/r" -- sh -c "kill -$n \$\$; sleep 5" || status=$?
            echo "$who, signal $n: status $status"
            [ "$status" -eq $((128 + n)) ]
            [ "$(field "$W/r" 'r["exitCode"], r["signal"], r["timedOut"]')" = "($((128 + n)), $n, False)" ]
        done
        rm -f "$W/r"
    done
}

@test "signals that end nothing by default end nothing" {
    for n in 17 18 23 28; do
        box -- sh -c "kill -$n \$\$; exit 7" && return 1
        status=0
        box -- sh -c "kill -$n \$\$; exit 7" || status=$?
        [ "$status" -eq 7 ]
    done
}

@test "a command starts with default signals although the caller ignored them" {
    status=0
    (
        trap '' PIPE TERM INT
        box -- sh -c 'kill -PIPE $$; exit 1'
    ) || status=$?
    [ "$status" -eq $((128 + 13)) ]
    run box -- sh -c 'grep -E "^Sig(Blk|Ign)" /proc/self/status'
    echo "$output"
    [ "$(grep -c -E '0{16}$' <<<"$output")" -eq 2 ]
}

@test "the result has every field, and says what was enforced" {
    status=0
    box --result "$W/r" -- sh -c 'exit 3' || status=$?
    [ "$status" -eq 3 ]
    [ "$(field "$W/r" 'r["exitCode"], r["signal"], r["timedOut"], r["sandboxed"], r["backend"]')" = \
        "(3, None, False, True, 'native')" ]
    [ "$(field "$W/r" 'r["stdout"], r["stderr"], r["violations"]')" = '(None, None, [])' ]
    [ "$(field "$W/r" '{"mounts","landlock","seccomp","pidns","userns"} <= set(r["enforced"])')" = True ]
    [ "$(field "$W/r" '0 < r["durationNs"] < 60e9 and r["usage"]["maxRssBytes"] > 0')" = True ]
    [ "$(stat -c %a "$W/r")" = 600 ]
}

@test "the result counts the processor time and memory of the whole tree" {
    box --result "$W/r" -- bash -c \
        '(n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done) & wait; x=$(head -c 30000000 /dev/zero | tr "\0" a); true'
    [ "$(field "$W/r" 'r["usage"]["userNs"] > 20e6')" = True ]
    [ "$(field "$W/r" 'r["usage"]["maxRssBytes"] > 25e6')" = True ]
}

@test "a result that cannot be written is 125, not silence" {
    status=0
    box --result "$O/no/such/r" -- true || status=$?
    [ "$status" -eq 125 ]
}

@test "a program that is not there is 127" {
    for program in no-such-program-here /no/such/program ./nothing "$W/nothing" /etc/passwd/x; do
        run -127 box -- "$program"
        echo "$program: $output"
        [[ $output == *"$program"* ]]
    done
}

@test "a program that cannot be executed is 126" {
    echo 'echo ran' >"$W/plain"
    printf '#!/no/such/interpreter\n' >"$W/script" && chmod 755 "$W/script"
    mkdir "$W/directory"
    printf '\x7fELF junk' >"$W/junk" && chmod 755 "$W/junk"
    for program in ./plain ./directory ./junk /etc/passwd; do
        run box -- "$program"
        echo "$program: $status $output"
        [ "$status" -eq 126 ]
    done
    run -127 box -- ./script # the kernel says ENOENT for its interpreter, as a shell would see it
}

@test "misuse is 125 with one line that says what, and a hint" {
    for args in '--no-such-option -- true' '' '--timeout never -- true' '--grace -1 -- true' \
        '--memory lots -- true' '--set nothing=1 -- true' '--network open -- true' \
        '-C /no/such/directory -- true' '-c true -- true' '--tmp other -- true'; do
        # shellcheck disable=SC2086 # several words
        run box $args
        echo "[$args] $status: $output"
        [ "$status" -eq 125 ]
        [ "${#lines[@]}" -ge 1 ] && [ "${#lines[@]}" -le 3 ]
        [[ ${lines[0]} == agentbox:* ]]
    done
}

@test "time is up: 124, and the whole tree is dead" {
    start=$(date +%s%N)
    status=0
    box --timeout 300ms --result "$W/r" -- sh -c "trap '' TERM INT HUP; setsid sleep 5000.$MARK & sleep 5000.$MARK" 2>"$O/err" ||
        status=$?
    [ "$status" -eq 124 ]
    took=$((($(date +%s%N) - start) / 1000000))
    echo "took $took ms"
    [ "$took" -ge 290 ] && [ "$took" -lt 5000 ]
    nothing_left r
    [ "$(field "$W/r" 'r["exitCode"], r["timedOut"]')" = '(124, True)' ]
    grep -q 'time is up' "$O/err"
}

# timeout(1) makes a group of its own below somebody of the same session: there a stop is one.
@test "a command that stops itself does not stop who waits for it" {
    run setsid -w bash -c 'timeout -s KILL 20 "$@"; echo "status $?"' - "${AS[@]}" "$AGENTBOX" run --approve yes \
        --timeout 1s -- sh -c 'while :; do kill -STOP $$; done'
    echo "$output"
    [[ $output == *"status 124" ]]
    run setsid -w bash -c 'timeout -s KILL 20 "$@"; echo "status $?"' - "${AS[@]}" "$AGENTBOX" run --approve yes \
        -- sh -c 'kill -TSTP $$; exit 5'
    echo "$output"
    [[ $output == *"status 5" ]]
}

@test "a command that ends in time is not touched by its time limit" {
    status=0
    box --timeout 20s -- sh -c 'exit 9' || status=$?
    [ "$status" -eq 9 ]
}

@test "daemons, double forks, sessions and nohup are dead when run returns" {
    for who in $(everybody); do
        life_as "$who"
        box -- bash -c "
            nohup sleep 5000.$MARK >/dev/null 2>&1 &
            setsid sleep 5000.$MARK </dev/null >/dev/null 2>&1 &
            setsid sh -c 'setsid sh -c \"sleep 5000.$MARK\" & setsid sleep 5000.$MARK &' &
            ( ( trap '' TERM HUP INT QUIT; while :; do date +%N >>beat; sleep 0.01; done ) & ) &
            ( exec -a '[kworker]' sleep 5000.$MARK ) &
            sleep 0.2; exit 4" || status=$?
        [ "$status" -eq 4 ]
        none_marked
        size=$(stat -c %s beat)
        [ "$size" -gt 0 ]
        sleep 0.1
        [ "$(stat -c %s beat)" -eq "$size" ]
        rm beat
        nothing_left
    done
}

@test "what hides behind a subreaper, stopped or not, is dead when run returns" {
    cat >"$O/reaper.py" <<PY
import ctypes, os, signal, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)          # PR_SET_CHILD_SUBREAPER
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    for n in range(1, 65):
        try:
            signal.signal(n, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    for n in range(8):
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
                if n % 2:
                    os.kill(os.getpid(), signal.SIGSTOP)
                os.execlp("sleep", "sleep", "5000.$MARK")
            os._exit(0)
    os.execlp("sleep", "sleep", "5000.$MARK")
time.sleep(0.4)
PY
    for who in $(everybody); do
        life_as "$who"
        box -- /usr/bin/python3 "$O/reaper.py"
        nothing_left
    done
}

@test "a command that keeps forking is dead when run returns" {
    # Below its limit nobody forks with certainty: the command marks its start and waits by itself.
    box --pids 100 -- bash -c 'f() { while :; do (f) & :; done; }; f 2>/dev/null & : >started; exec sleep 0.5'
    [ -e started ]
    run pgrep -u 1001 -f ': >started; exec sleep'
    [ "$status" -eq 1 ]
}

# To kill all takes longer the more there are, and the dead count.
@test "thousands of children that nobody waits for do not put off the time limit" {
    local start took
    status=0
    start=$(date +%s%N)
    box --pids 12000 --timeout 4s -- /usr/bin/python3 -c '
import os, time
try:
    while os.fork():
        pass
    os._exit(0)
except OSError:
    time.sleep(60)' || status=$?
    took=$((($(date +%s%N) - start) / 1000000))
    echo "took $took ms"
    [ "$status" -eq 124 ]
    [ "$took" -lt 10000 ]
}

@test "input comes from a pipe, a file, nothing at all" {
    [ "$(printf 'one\ntwo\n' | box -- cat)" = "$(printf 'one\ntwo')" ]
    echo from-file >"$O/in"
    [ "$(box -- cat <"$O/in")" = from-file ]
    [ -z "$(box -- cat </dev/null)" ]
    [ "$(box -- sh -c 'cat; echo end' <&-)" = end ]
    # Reading stops where the command stops: the rest stays for the next.
    [ "$( (box -- head -c 4 >/dev/null; cat) <"$O/in")" = -file ]
}

@test "closed streams are /dev/null inside, and no descriptor of ours takes their place" {
    run bash -c '"$@" <&- >&- 2>&-' - "${AS[@]}" "$AGENTBOX" run -- sh -c \
        'ls -l /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 >fds; ls /proc/self/fd | sort | tr "\n" " " >numbers'
    [ "$status" -eq 0 ]
    cat fds numbers
    [ "$(grep -c '/dev/null' fds)" -ge 2 ]
    [ "$(cat numbers)" = "0 1 2 3 " ]
    for closed in '<&-' '>&-' '2>&-'; do
        run bash -c "\"\$@\" $closed" - "${AS[@]}" "$AGENTBOX" run -- sh -c 'exit 6'
        [ "$status" -eq 6 ]
    done
}

@test "64 MB go through both ways intact" {
    head -c 67108864 /dev/urandom >"$O/big"
    want=$(sha256sum <"$O/big")
    [ "$(box -- cat <"$O/big" | sha256sum)" = "$want" ]
    # shellcheck disable=SC2002 # a pipe, not a file
    [ "$(cat "$O/big" | box -- cat | sha256sum)" = "$want" ]
    [ "$(box -- sh -c 'cat >&2' <"$O/big" 2>&1 >/dev/null | sha256sum)" = "$want" ]
}

@test "a reader that goes away ends the run" {
    run timeout 20 bash -c '"$@" | head -n 1; exit "${PIPESTATUS[0]}"' - "${AS[@]}" "$AGENTBOX" run -- yes
    [ "${lines[0]}" = y ]
    [ "$status" -eq $((128 + 13)) ]
    run timeout 20 bash -c '"$@" | true; exit "${PIPESTATUS[0]}"' - "${AS[@]}" "$AGENTBOX" run -- \
        sh -c 'sleep 0.2; echo x; echo y; exit 5'
    [ "$status" -ne 124 ]
}

@test "stdout and stderr are the command's own, byte for byte" {
    printf 'a\0b\r\n\xff\x1b[31m' >"$O/bytes"
    box -- cat "$O/bytes" >"$O/out" 2>"$O/err"
    cmp "$O/bytes" "$O/out"
    [ ! -s "$O/err" ]
}

@test "output that is still in the pipe when the command ends is not lost" {
    for _ in $(seq 30); do
        [ "$(box -- sh -c 'head -c 60000 /dev/zero; head -c 5000 /dev/zero &' | wc -c)" -ge 60000 ]
    done
}

@test "a process that outlives the command does not keep the streams open" {
    start=$(date +%s)
    out=$(box -- sh -c "sleep 5000.$MARK & echo done")
    [ "$out" = "done" ]
    [ $(($(date +%s) - start)) -lt 5 ]
}

@test "many arguments and a large environment reach the command" {
    mapfile -t many < <(seq 1 20000)
    [ "$(box -- sh -c 'echo $# ${20000}' - "${many[@]}")" = "20000 20000" ]
    [ "$(BIG=$(head -c 100000 /dev/zero | tr '\0' x) box -- sh -c 'echo ${#BIG}')" -eq 100000 ]
    [ "$(box -- printf '[%s]' '' 'a b' $'n\nl' '*' "'" '"' '\' $'\xff')" = $'[][a b][n\nl][*][\']["][\\][\xff]' ]
}

# rests PID: the program has given back what it does not need to wait.
rests() {
    [ "$(awk '/^RssAnon/ { print $2 }' "/proc/$1/status")" -le $((100 * $(getconf PAGESIZE) / 4096)) ]
}

@test "a run that rests gives memory back, and has all of it again when something happens" {
    for who in $(everybody); do
        life_as "$who"
        chmod 777 "$O"
        rm -f "$W"/go-*
        box_start --result "$W/r" -- sh -c 'for n in 1 2; do
            until [ -e "go-$n" ]; do sleep 0.1; done
            echo >"$1/canary-$n"
        done; exit 9' - "$O" 2>"$BASE/err"
        for n in 1 2; do
            if [ -n "$ABX_SANITIZED" ]; then sleep 0.5; else within 20 rests "$BOX"; fi
            touch "$W/go-$n"
        done
        box_end
        cat "$BASE/err"
        [ "$status" -eq 9 ]
        for n in 1 2; do
            grep -q "^file-write $O/canary-$n: .*; rule default (built-in); to allow: --rw $O$" "$BASE/err"
            [ ! -e "$O/canary-$n" ]
        done
        field "$W/r" 'r["exitCode"]' | grep -qx 9
    done
}

# shmem_of NAME: KiB of the launcher's own copy that the process NAME below the program has.
shmem_of() {
    awk '/^RssShmem/ { print $2 }' "/proc/$(pgrep -x -s "$(pgrep -P "$BOX")" "$1")/status"
}

@test "the launcher borrows the program's pages if nobody on our side could write to them" {
    [ "$(id -u)" -eq 0 ] || skip "root: only it can give the program away"
    [ -z "$ABX_SANITIZED" ] || skip "sanitizer: no early start"
    local own=$AGENTBOX
    for who in $(everybody); do
        for mode in others mine open; do
            life_as "$who"
            AGENTBOX=$BASE/agentbox
            install -m 755 "$own" "$AGENTBOX"
            [ "$mode" != mine ] || chown --reference="$W" "$AGENTBOX"
            [ "$mode" != open ] || chmod 775 "$AGENTBOX"
            box_start -- sh -c ': >up; sleep 100'
            within 20 test -e "$W/up"
            # What is executed is in memory either way, sealed.
            keeper=$(pgrep -P "$BOX" -x agentbox-keeper)
            [[ $(readlink "/proc/$keeper/exe") == /memfd:agentbox-launcher* ]]
            if [ "$mode" = others ] && [ "$who" = user ]; then
                [ "$(shmem_of agentbox-keeper)" -eq 0 ]
                grep -q " r-xp .*$AGENTBOX\$" "/proc/$keeper/maps"
            else
                [ "$(shmem_of agentbox-keeper)" -gt 20 ]
                ! grep -q "$AGENTBOX" "/proc/$keeper/maps"
            fi
            kill "$BOX"
            box_end
            rm -f "$W/up"
        done
    done
}

@test "a control group goes with its run, however that ends" {
    [ "$(id -u)" -eq 0 ] || skip "root: only it may make a group here"
    local testing=$ABX_BUILD/tests/agentbox-testing groups=/sys/fs/cgroup how pid

    [ "$(stat -fc %T $groups)" = cgroup2fs ] || groups=$groups/unified
    [ "$(stat -fc %T $groups)" = cgroup2fs ] || skip "cgroup: no control groups v2"
    export ABX_TEST_CGROUP=1
    life_as root
    for how in end host init; do
        "$testing" run --network blocked -C "$W" -- sh -c ': >started; while [ ! -e end ]; do sleep 0.05; done' &
        pid=$!
        within 20 test -e "$W/started"
        find $groups -type d -name "agentbox-$pid-*" | grep -q .
        case $how in
        end) touch "$W/end" ;;
        host) kill -KILL $pid ;;
        init) kill -KILL "$(init_of $pid)" ;;
        esac
        wait $pid || [ $how != end ]
        within 20 eval "! find $groups -type d -name 'agentbox-$pid-*' | grep -q ."
        rm -f "$W/started" "$W/end"
    done
}
