#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A78, A145, A149: the monitor. It explains; nobody gets anything from it, and without it nothing goes.
# A150, A151: what the host reads before it starts a run: the tree and the configuration.
# shellcheck disable=SC2016,SC2154,SC2034
load ../lib/e2e
load ../lib/violations

# Threads that swap the path between the look and the kernel.
SWAP='
import ctypes, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
own, other = sys.argv[1].encode(), sys.argv[2].encode()
path = ctypes.create_string_buffer(256)
path.value = own
stop = False
def swap():
    while not stop:
        path.value = other
        path.value = own
threads = [threading.Thread(target=swap) for _ in range(2)]
for t in threads: t.start()
opened = 0
sys.setswitchinterval(1e-5)
for i in range(400):
    fd = libc.open(path, os.O_WRONLY | os.O_TRUNC)
    if fd >= 0:
        os.write(fd, b"x"); os.close(fd); opened += 1
stop = True
for t in threads: t.join()
print("opened" if opened else "never")
'

@test "A78 a path that is swapped under the monitor's eyes opens nothing" {
    echo "$SWAP" >"$W/swap.py"
    own "$W/swap.py"
    watch "$O"
    records -- python3 swap.py "$W/file" "$O/f" >"$X/lines"
    expect "$(cat "$X/out")" opened
    untouched
    python3 -c '
import json, sys
for v in json.load(open(sys.argv[1]))["violations"]:
    assert v["attempt"] and v["path"] == sys.argv[2], v' "$X/r.json" "$O/f"
}

# init_of [PID]: the sandbox's pid 1, as the host counts, of the box in the background: the first that is
# one in a namespace, however many stand between (bubblewrap does).
init_of() {
    local pid
    for pid in $(pgrep -P "${1:-$BOX_PID}"); do
        if grep -q '^NSpid:.*[[:space:]][0-9]*[[:space:]]1$' "/proc/$pid/status" 2>/dev/null; then
            echo "$pid"
            return
        fi
        ! init_of "$pid" || return 0
    done
    return 1
}

memory_of() {
    sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB$/\1/p' "/proc/$1/status"
}

FLOOD='
import os, sys, time
def flood(n):
    for i in range(n):
        try:
            os.open(f"{sys.argv[1]}/n{os.getpid()}.{i}", os.O_WRONLY | os.O_CREAT)
        except OSError:
            pass
pids = []
for _ in range(4):
    pid = os.fork()
    if pid == 0:
        flood(int(sys.argv[2]))
        os._exit(0)
    pids.append(pid)
for pid in pids: os.waitpid(pid, 0)
open("flooded", "w").close()
while not os.path.exists("go"):
    time.sleep(0.02)
'

@test "A145 a flood of refusals is bounded, counted, and does not stop the command" {
    echo "$FLOOD" >"$W/flood.py"
    : >"$X/r.json"
    own "$W" "$X"
    watch "$O"
    start_box --result "$X/r.json" -- python3 flood.py "$O" 25000
    wait_for test -e "$W/flooded"
    [ "$(memory_of "$(init_of)")" -lt 4096 ]
    [ "$(memory_of "$BOX_PID")" -lt 65536 ]
    touch "$W/go"
    wait "$BOX_PID"
    untouched
    [ "$(field exitCode)" = 0 ]
    [ "$(field violationsDropped)" -ge 90000 ]
    python3 -c '
import json, sys
assert 10 <= len(json.load(open(sys.argv[1]))["violations"]) <= 512' "$X/r.json"
}

@test "A149 nobody inside can stop the monitor or make it wait" {
    watch "$O"
    expect "$(inside_records '
        kill -STOP 1; kill -KILL 1; kill -SEGV 1
        "$P" write "$O/f" x' | cut -d'|' -f1,2)" "file-write|$O/f"
    [[ "$(cat "$X/out")" == *EROFS ]]
    untouched
}

@test "A149 variant: a host that does not listen holds nobody up" {
    echo "$FLOOD" >"$W/flood.py"
    : >"$X/r.json"
    own "$W" "$X"
    start_box --result "$X/r.json" -- sh -c 'echo >up; while [ ! -e begin ]; do sleep 0.02; done; exec python3 flood.py "$1" 500' sh "$O"
    wait_for test -e "$W/up"
    kill -STOP "$BOX_PID"
    touch "$W/begin"
    wait_for test -e "$W/flooded"
    kill -CONT "$BOX_PID"
    touch "$W/go"
    wait "$BOX_PID"
    [ "$(field exitCode)" = 0 ]
    [ "$(field violationsDropped)" -ge 1 ]
}

@test "A149 variant: without the monitor nothing goes on, and its end is the run's, with a reason" {
    local init status
    watch "$O"
    start_box -- sh -c 'echo >up; while [ ! -e begin ]; do sleep 0.02; done; "$1" write "$2" x >answer; echo >after' \
        sh "$PAYLOAD" "$O/f" 2>"$X/said"
    wait_for test -e "$W/up"
    init=$(init_of)
    kill -STOP "$init"
    wait_for grep -q '^State:.T' "/proc/$init/status"
    touch "$W/begin"
    sleep 0.3 # the time that it takes to see that nothing happens
    [ ! -e "$W/answer" ]
    kill -KILL "$init"
    status=0
    wait "$BOX_PID" || status=$?
    [ "$status" -eq 125 ]
    grep -q 'ended from outside' "$X/said"
    [ ! -e "$W/after" ]
    untouched
}

# no_run TEXT: the run is refused, in the words of TEXT, and the command did not run.
no_run() {
    local text=$1
    shift
    rm -f "$W/ran"
    run box "$@" -- touch ran
    [ "$status" -eq 125 ]
    [[ $output == *$text* ]] || {
        echo "expected '$text': $output"
        return 1
    }
    [ ! -e "$W/ran" ]
}

@test "A150 loops, depth, pipes and an own ancestor mounted inside do not keep the scan from its end" {
    ours_only
    inside 'ln -s . loop; ln -s loop/loop b; ln -s .. up; ln -s /proc/self/cwd self; mkfifo .env; ln -s a c; ln -s c a
        mkdir -p x/y; mkfifo x/y/.env; ln -s ../.. x/y/top'
    [ "$(box --exclude '**/.env' --exclude '**/loop/**' -- echo fine)" = fine ]
    mkdir -p "$W/sub/again"
    own "$W"
    echo "$SECRET" >"$W/sub/.secret"
    own_mounts 'mount --rbind "$0" "$0/sub/again" && exec "$@"'
    run box --exclude '**/.secret' -- sh -c 'cat sub/.secret sub/again/sub/.secret; echo end'
    [[ $output != *"$SECRET"* ]]
    [[ $output == *end* ]]
}

@test "A150 variant: more depth or entries than the scan's limits refuse the run" {
    ours_only
    as_who python3 -c '
import os, sys
os.chdir(sys.argv[1])
for _ in range(1100):
    os.mkdir("d")
    os.chdir("d")' "$W"
    no_run "deep" --exclude '**/.env'
    rm -rf "$W/d" || python3 -c 'import shutil, sys; sys.setrecursionlimit(10000); shutil.rmtree(sys.argv[1])' "$W/d"
    [ "$(box --exclude '**/.env' -- echo fine)" = fine ]
}

@test "A151 a configuration that is not exactly one stops the run, and counts for nothing" {
    ours_only
    local wide='"filesystem": { "rw": ["'$O'"] }' bad
    watch "$O"
    for bad in "{ $wide, $wide }" '{ "graceSeconds": NaN }' '{ "graceSeconds": 1e999 }' '{ "nosuchkey": 1 }' "{ $wide" \
        '{ "graceSeconds": "5" }' '{} {}' '' '[]' "$(printf '[%.0s' {1..5000})" '{ "environment": { "set": { "A": "\u0000" } } }' \
        $'{ "graceSeconds": 5 \xff }'; do
        printf '%s' "$bad" >"$W/.agentbox.json"
        own "$W"
        no_run .agentbox.json
    done
    # A link in its place leads nowhere.
    rm "$W/.agentbox.json"
    printf '{ %s }' "$wide" >"$W/wide.json"
    ln -s wide.json "$W/.agentbox.json"
    own "$W"
    no_run .agentbox.json
    untouched
}
