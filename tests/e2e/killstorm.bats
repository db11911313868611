#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs that are killed at random moments, many at a time in one directory: the host is as before.

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
    mkdir "$W/.git" "$W/sub"
    echo keep >"$W/file"
    echo keep >"$W/.git/config"
    RUNS=${ABX_STORM_RUNS:-200}
}

teardown() {
    life_teardown
}

# All of the host that a run could leave something in. Directories that others use too are listed by
# name only, and only what is ours by its owner or name.
snapshot() {
    echo "== mounts"
    sort /proc/self/mountinfo
    echo "== files"
    (cd "$W" && find . -printf '%y %m %U %s %p %l\n' | sort && sha256sum file .git/config)
    find "$HOME" -mindepth 1 -path "$HOME/.local" -prune -o -printf '%y %m %U %s %p %l\n' | sort
    echo "== shared"
    find /dev/shm /tmp /dev/mqueue -maxdepth 1 \( -user 1001 -o -iname '*agentbox*' \) \
        ! -name 'bats-run-*' ! -name 'abx-*' 2>/dev/null | sort # tests beside this one call theirs abx-…
    echo "== cgroups"
    find /sys/fs/cgroup -type d -iname '*agentbox*' 2>/dev/null | sort
    echo "== ipc"
    cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg
}

# storm SEED VICTIM…: RUNS runs, 8 at a time, each killed 0-30 ms after its start. A victim is one of
# box (the program), keeper, both, group.
storm() {
    python3 - "$RUNS" "$MARK" "$@" 3>&- <<'PY'
import os, random, signal, subprocess, sys, threading, time
runs, mark, seed, victims = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
box = os.environ["STORM_AS"].split() + [os.environ["AGENTBOX"], "run", "--", "sh", "-c",
      "echo x >>scratch; rm -f scratch; sleep 5000." + mark]
lock, left, killed = threading.Lock(), [runs], [0]

def children(pid):
    try:
        return [int(p) for p in open(f"/proc/{pid}/task/{pid}/children").read().split()]
    except OSError:
        return []

def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        killed[0] += 1
    except ProcessLookupError:
        pass

def one(rng):
    victim, delay = rng.choice(victims), rng.uniform(0, 0.030)
    child = subprocess.Popen(box, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(delay)
    if victim in ("keeper", "both"):
        for pid in children(child.pid):
            kill(pid)
    if victim in ("box", "both"):
        kill(child.pid)
    if victim == "group":
        os.killpg(child.pid, signal.SIGKILL)
        killed[0] += 1
    if victim == "keeper":                  # killed before there was one: end it all the same
        try:
            child.wait(1)
        except subprocess.TimeoutExpired:
            kill(child.pid)
    child.wait()

def worker(n):
    rng = random.Random(seed * 1000 + n)
    while True:
        with lock:
            if left[0] == 0:
                return
            left[0] -= 1
        one(rng)

threads = [threading.Thread(target=worker, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print("killed", killed[0])
PY
}

only_ours_alive() { # of the launchers that were there right after the storm, none is left
    local pid
    for pid in $AFTER; do
        gone "$pid" || return 1
    done
    none_marked
}

# run_storm SEED REPAIR VICTIM…
run_storm() {
    local seed=$1 repair=$2 before held known killed

    shift 2
    box -- true # what agentbox keeps in its own state directory is there by now
    held=$(registry)
    before=$(snapshot)
    known=$(launchers)
    export STORM_AS="${AS[*]}" AGENTBOX
    killed=$(storm "$seed" "$@")
    echo "# $RUNS runs, $killed times $*" >&3
    AFTER=$(comm -13 <(echo "$known") <(launchers))
    within 5 only_ours_alive
    rm -f "$W/scratch" # the command's own
    [ "$repair" = no ] || box -- true
    within 5 same "$before" || {
        diff <(echo "$before") <(snapshot)
        return 1
    }
    [ "$(registry)" = "$held" ] || {
        diff <(echo "$held") <(registry)
        return 1
    }
}

registry() {
    find "$HOME" -type f -printf '%P\n' | sort
}

same() {
    [ "$1" = "$(snapshot)" ]
}

@test "agentbox killed at random moments: nothing is left, without a repair" {
    run_storm 1 no box
}

@test "the whole group killed at random moments: nothing is left, without a repair" {
    run_storm 2 no group
}

@test "agentbox, keeper, both or the group killed at random moments: the next run finds all as before" {
    run_storm 3 yes box keeper both group
}

@test "the same as root" {
    need_root "needs root"
    life_as root
    RUNS=$((RUNS / 2))
    run_storm 4 no box
    run_storm 5 yes box keeper both group
}

files() {
    find "$W" "$HOME" -path "$HOME/.local" -prune -o -printf '%y %m %U %s %p %l\n' | sort
}

same_files() {
    [ "$1" = "$(files)" ]
}

# The same without chance.
@test "agentbox killed after each of its system calls: nothing is left, without a repair" {
    local n=0 r=0 before kept

    box -- true
    before=$(snapshot)
    kept=$(files)
    in_bulk
    while [ "$r" -ne 3 ]; do
        n=$((n + 1)) r=0
        "${AS[@]}" "$ABX_BUILD/tests/killat" $n "$AGENTBOX" run -- true >/dev/null 2>&1 3>&- || r=$?
        [ "$r" -ne 2 ] || {
            echo "call $n: killat failed"
            return 1
        }
        within 5 same_files "$kept" || {
            echo "killed after call $n"
            diff <(echo "$kept") <(files)
            return 1
        }
    done
    echo "# killed after each of $((n - 1)) calls" >&3
    [ "$n" -gt 50 ]
    within 5 same "$before"
}

@test "the group killed before the launcher has left it, on a busy machine: nothing is left" {
    local kept r=0

    box -- true
    kept=$(files)
    "${AS[@]}" "$ABX_BUILD/tests/killborn" "$AGENTBOX" run -- true >/dev/null 2>&1 3>&- </dev/null || r=$?
    [ "$r" -eq 0 ]
    within 5 same_files "$kept" || {
        diff <(echo "$kept") <(files)
        return 1
    }
}

# In these, held names are files and directories that programs can read, not sockets only.
@test "the same with folders of programs in the home, whose absent names are held as files and directories" {
    local who
    for who in $(everybody); do
        mkdir -p "$HOME/.cargo" "$HOME/.claude" "$HOME/.codex" "$W/.claude"
        life_as "$who"
        box -- sh -c 'test -f ~/.cargo/config.toml && test -d ~/.cargo/bin && test -d ~/.claude/agents'
        RUNS=$((${ABX_STORM_RUNS:-200} / 2))
        run_storm 6 no box group
        run_storm 7 yes box keeper both group
        [ -z "$(find "$HOME/.cargo" "$HOME/.claude" "$HOME/.codex" "$W/.claude" -mindepth 1)" ]
    done
}
