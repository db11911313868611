#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1003,SC2016,SC2119
# Signals to a run, the grace period, and what is left when a part of agentbox itself is killed.

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
}

teardown() {
    life_teardown
}

now_ms() {
    echo $(($(date +%s%N) / 1000000))
}

# start_sleeper: a run that says "ready" in W and then sleeps, marked. It starts nothing after that:
# dash loses a SIGINT that comes while it starts a process.
start_sleeper() {
    box_start -- sh -c "sleep 5000.$MARK & echo >ready; exec sleep 5000.$MARK"
    within 5 test -e ready
}

@test "SIGINT, SIGTERM and SIGHUP reach the command first, which ends as it likes" {
    for who in $(everybody); do
        life_as "$who"
        for sig in INT TERM HUP; do
            box_start -- bash -c "trap 'echo $sig >got; exit 33' $sig; echo >ready; while :; do sleep 0.01; done"
            within 5 test -e ready
            kill -s "$sig" "$BOX"
            box_end
            echo "$who $sig: $status"
            [ "$status" -eq 33 ]
            [ "$(cat got)" = "$sig" ]
            rm got ready
            nothing_left
        done
    done
}

@test "a command without a trap dies of the signal, and the status says so" {
    for sig in INT:2 TERM:15 HUP:1 QUIT:3 USR1:10 USR2:12; do
        start_sleeper
        kill -s "${sig%:*}" "$BOX"
        box_end
        echo "$sig: $status"
        [ "$status" -eq $((128 + ${sig#*:})) ]
        rm -f ready core*
        nothing_left
    done
}

@test "a command that does not listen is killed when the grace period is over" {
    box_start --grace 1s -- sh -c "trap '' TERM; echo >ready; sleep 5000.$MARK & while :; do sleep 5000.$MARK; done"
    within 5 test -e ready
    start=$(now_ms)
    kill -TERM "$BOX"
    box_end
    took=$(($(now_ms) - start))
    echo "status $status after $took ms"
    [ "$status" -eq 137 ]
    [ "$took" -ge 950 ] && [ "$took" -lt 4000 ]
    rm ready
    nothing_left
}

@test "a second signal kills at once" {
    box_start --grace 50s -- sh -c "trap '' TERM INT; echo >ready; while :; do sleep 5000.$MARK; done"
    within 5 test -e ready
    start=$(now_ms)
    kill -TERM "$BOX"
    sleep 0.2
    kill -INT "$BOX"
    box_end
    took=$(($(now_ms) - start))
    echo "status $status after $took ms"
    [ "$status" -eq 137 ]
    [ "$took" -lt 4000 ]
    rm ready
    nothing_left
}

@test "no grace at all kills at once" {
    box_start --grace 0 -- sh -c "trap '' TERM INT; echo >ready; while :; do sleep 5000.$MARK; done"
    within 5 test -e ready
    kill -TERM "$BOX"
    box_end
    [ "$status" -eq 137 ]
}

@test "a stopped command hears SIGTERM too" {
    box_start --grace 30s -- bash -c "trap 'echo >got; exit 3' TERM; echo >ready; kill -STOP \$\$; while :; do sleep 0.01; done"
    within 5 test -e ready
    sleep 0.2
    kill -TERM "$BOX"
    kill -CONT "$BOX"
    box_end
    [ "$status" -eq 3 ]
    [ -e got ]
}

@test "the time limit holds also in the grace period, and during a stop" {
    start=$(now_ms)
    box_start --grace 60s --timeout 1s -- sh -c "trap '' TERM; echo >ready; while :; do sleep 5000.$MARK; done"
    within 5 test -e ready
    kill -TERM "$BOX"
    box_end
    took=$(($(now_ms) - start))
    echo "status $status after $took ms"
    [ "$took" -lt 6000 ]
    [ "$status" -eq 124 ] || [ "$status" -eq 137 ]
    rm ready
    nothing_left
}

@test "a signal in the first moment is not lost" {
    # The moment of the signal moves through the start-up; every run must end soon, by the signal.
    for ms in $(seq 0 2 38); do
        box_start --grace 20s -- sh -c "sleep 5000.$MARK"
        sleep "0.$(printf %03d "$ms")"
        kill -TERM "$BOX" || true
        start=$(now_ms)
        box_end
        took=$(($(now_ms) - start))
        echo "after $ms ms: status $status, took $took ms"
        [ "$took" -lt 5000 ]
        [ "$status" -eq 143 ] || [ "$status" -eq 125 ]
        nothing_left
    done
}

@test "signals from inside do not move pid 1" {
    run box -- bash -c 'for s in TERM INT HUP KILL STOP TSTP USR1 CHLD CONT 34 64; do kill -s $s 1 2>/dev/null; done; sleep 0.2; echo alive; exit 8'
    echo "$output"
    [ "$status" -eq 8 ]
    [ "$output" = alive ]
}

@test "SIGKILL of agentbox takes everything along, without a repair" {
    for who in $(everybody); do
        life_as "$who"
        for _ in 1 2 3 4 5; do
            start_sleeper
            init=$(init_of "$BOX") keeper=$(keeper_of "$BOX")
            [ -n "$init" ]
            kill -KILL "$BOX"
            box_end
            [ "$status" -eq 137 ]
            within 5 gone "$init" "$keeper"
            rm ready
            within 5 nothing_left
        done
    done
}

@test "SIGKILL of the keeper ends the run with 125 and a reason" {
    for who in $(everybody); do
        life_as "$who"
        start_sleeper 2>"$O/err"
        init=$(init_of "$BOX")
        kill -KILL "$(keeper_of "$BOX")"
        box_end
        echo "$who: $status $(cat "$O/err")"
        [ "$status" -eq 125 ]
        grep -q '^agentbox: .' "$O/err"
        rm ready
        within 5 gone "$init"
        nothing_left
    done
}

@test "SIGKILL of pid 1 ends the run with 125 and a reason" {
    for who in $(everybody); do
        life_as "$who"
        start_sleeper 2>"$O/err"
        kill -KILL "$(init_of "$BOX")"
        box_end
        echo "$who: $status $(cat "$O/err")"
        [ "$status" -eq 125 ]
        grep -q '^agentbox: .' "$O/err"
        rm ready
        nothing_left
    done
}

@test "SIGKILL of the command alone ends the run with 137" {
    start_sleeper
    kill -KILL "$(pgrep -P "$(init_of "$BOX")" -o)"
    box_end
    [ "$status" -eq 137 ]
    rm ready
    nothing_left
}

@test "SIGKILL of agentbox and keeper together: the next run repairs" {
    start_sleeper
    init=$(init_of "$BOX")
    kill -KILL "$(keeper_of "$BOX")" "$BOX"
    box_end
    within 5 gone "$init"
    none_marked
    rm ready
    box -- true
    nothing_left
}

@test "SIGKILL to the whole process group leaves nothing, without a repair" {
    for who in $(everybody); do
        life_as "$who"
        setsid "${AS[@]}" "$AGENTBOX" run -- sh -c "echo >ready; sleep 5000.$MARK" 3>&- &
        within 5 test -e ready
        BOX=$(pgrep -f "^$AGENTBOX run .*5000\.$MARK")
        BACKGROUND+=("$BOX")
        init=$(init_of "$BOX")
        kill -KILL -- "-$BOX"
        within 5 gone "$init" "$BOX"
        rm ready
        within 5 nothing_left
    done
}

@test "a stopped agentbox does not keep a killed sandbox alive" {
    start_sleeper
    init=$(init_of "$BOX")
    kill -STOP "$BOX"
    kill -KILL "$init"
    within 5 none_marked
    kill -CONT "$BOX"
    box_end
    [ "$status" -eq 125 ]
}

@test "the caller's death closes a run whose parent shell is gone" {
    # agentbox itself lives on when its shell dies, unless it hears SIGHUP: then all of it ends.
    setsid bash -c '"$@" & echo $! >'"$O/pid"'; wait' - "${AS[@]}" "$AGENTBOX" run -- \
        sh -c "echo >ready; sleep 5000.$MARK" 3>&- &
    within 5 test -e ready
    BOX=$(cat "$O/pid")
    BACKGROUND+=("$BOX")
    kill -HUP "$BOX"
    within 5 gone "$BOX"
    none_marked
}

@test "runs in one directory share it: the first to end leaves the others' protection" {
    box_start -- sh -c "echo >ready; sleep 5000.$MARK"
    within 5 test -e ready
    box -- true
    kill -0 "$BOX"
    run box -- sh -c 'echo x >.mcp.json'
    [ "$status" -ne 0 ]
    [ -e .mcp.json ] && [ ! -f .mcp.json ] # the placeholder of the first
    kill -TERM "$BOX"
    box_end
    rm ready
    nothing_left
}

@test "a run that joined later keeps its protection when the first one ends" {
    for who in $(everybody); do
        life_as "$who"
        box_start -- sh -c 'echo >ready; while [ ! -e first-ends ]; do sleep 0.01; done'
        first=$BOX
        within 5 test -e ready
        # In a file: the classifier forbids such a text.
        printf '%s\n' 'echo >joined; while [ ! -e go ]; do sleep 0.01; done' \
            'echo x >.mcp.json; mkdir .claude; ln -s /etc .vscode; touch new && mv new .envrc; true' >"$O/late"
        box_start -- sh "$O/late"
        within 5 test -e joined
        "${AS[@]}" touch first-ends
        wait "$first"
        "${AS[@]}" touch go
        box_end
        rm -f ready first-ends joined go new
        nothing_left
    done
}

# queued FILE: somebody waits for its lock.
queued() {
    grep -q -e "-> FLOCK .*:$(stat -c %i "$1") " /proc/locks
}

@test "a signal ends agentbox also while it waits to begin, and nothing is left" {
    for who in $(everybody); do
        life_as "$who"
        box -- true # there is a registry by now
        exec {lock}<"$HOME/.local/state/agentbox/held"
        flock "$lock"
        for sig in INT TERM HUP; do
            # What the caller ignores agentbox does, too: a background job SIGINT, under nohup SIGHUP.
            "${AS[@]}" env --default-signal=INT,TERM,HUP "$AGENTBOX" run -- sh -c "echo >ran; sleep 5000.$MARK" 3>&- &
            BOX=$!
            BACKGROUND+=("$BOX")
            within 20 queued "$HOME/.local/state/agentbox/held"
            within 5 keeper_of "$BOX" # it may not have its name yet
            keeper=$(keeper_of "$BOX")
            kill -"$sig" "$BOX"
            box_end
            within 5 gone "$keeper"
            [ "$status" -eq $((128 + $(kill -l "$sig"))) ]
        done
        exec {lock}<&-
        nothing_left
    done
}

@test "under nohup a hangup ends nothing" {
    "${AS[@]}" env --ignore-signal=HUP "$AGENTBOX" run -- sh -c 'echo >ran; sleep 1; exit 7' 3>&- &
    BOX=$!
    BACKGROUND+=("$BOX")
    within 20 test -e "$W/ran"
    kill -HUP "$BOX"
    box_end
    [ "$status" -eq 7 ]
    rm "$W/ran"
    nothing_left
}

@test "a timer that the caller has set is still his" {
    status=0
    timeout 20 "${AS[@]}" python3 -c 'import os, signal, sys
signal.alarm(2)
os.execv(sys.argv[1], sys.argv[1:])' "$AGENTBOX" run -- sleep "5000.$MARK" 3>&- || status=$?
    [ "$status" -eq $((128 + 14)) ]
    within 5 nothing_left
}
