#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2119
# Many sandboxes at once, idle: started, listed, ended; how much memory each of them takes is printed.

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
    COUNT=${ABX_MANY:-500}
    [ -z "$ABX_SANITIZED" ] || COUNT=$((COUNT / 10))
}

teardown() {
    life_teardown
}

available_kb() {
    awk '/^MemAvailable:/ { print $2 }' /proc/meminfo
}

inside_count() {
    pgrep -c -f "^sleep 5000\.$MARK" || true
}

all_inside() {
    [ "$(inside_count)" -eq "$COUNT" ]
}

# start_all: in its own process, so that they are one group to end.
start_all() {
    cat >"$O/start" <<'SH'
for n in $(seq "$1"); do
    shift_args=("${@:2}")
    "${shift_args[@]}" </dev/null >/dev/null 2>>"$ERRORS" &
done
wait
SH
    ERRORS=$O/errors setsid bash "$O/start" "$COUNT" "${AS[@]}" "$AGENTBOX" run -- sleep "5000.$MARK" 3>&- &
    GROUP=$!
}

boxes() {
    pgrep -f "^$AGENTBOX run -- sleep 5000\.$MARK" || true
}

@test "500 idle sandboxes at once: started, listed, ended, nothing left" {
    before=$(available_kb)
    : >"$O/errors" && chmod 666 "$O/errors"
    start=$(date +%s%N)
    start_all
    within 50 all_inside || {
        echo "only $(inside_count) run: $(sort "$O/errors" | uniq -c | head -5)"
        boxes | xargs -r kill -KILL
        return 1
    }
    took=$((($(date +%s%N) - start) / 1000000))
    sleep 0.5
    after=$(available_kb)
    echo "# $COUNT sandboxes in $took ms; $(((before - after) / COUNT)) kB of memory each" >&3
    [ "$(boxes | wc -l)" -eq "$COUNT" ]

    boxes | xargs kill -TERM
    within 30 none_marked
    wait "$GROUP" || true
    [ -z "$(boxes)" ]
    cat "$O/errors"
    [ ! -s "$O/errors" ]
    within 5 nothing_left
}

@test "hundreds of runs one after another leak nothing" {
    held() { find "$HOME" -path '*/held/*' -printf '%f %s\n' | sort; }
    box -- true
    before=$(held) # one small file a directory may stay
    for _ in $(seq 200); do
        box -- true
    done
    [ "$(held)" = "$before" ]
    nothing_left
}
