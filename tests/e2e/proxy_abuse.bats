#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The proxy with clients and servers that mean harm (A119): its memory has a bound, everybody else is
# served meanwhile, and what is not allowed stays so.
# shellcheck disable=SC2154 # ports come from the peers' file

# What 1,024 connections may cost at the very most: a head, and a chunk each way, of 64 KiB.
MOST_KIB=$((1024 * 3 * 64 + 16384))
FEW_KIB=40000 # what those may cost that hold no buffers

load ../lib/peers

setup_file() {
    peers_dir abx-abuse
    printf '127.0.0.5 ok.test\n127.0.0.6 evil.test\n' >"$DIR/hosts"
    printf 'nameserver 127.0.0.5\n' >"$DIR/resolv"
    peers_start
}

setup() {
    peers_setup
    : >"$OUT"
    : >"$DIR/canary"
    ABUSERS=()
    "$BOX" proxy -q --no-config --json --hosts-file "$DIR/hosts" --resolv-file "$DIR/resolv" \
        --dns-port "$DNS" --allow-domain ok.test --allow-domain 127.0.0.5 >"$OUT" 2>"$OUT.err" 3>&- &
    PROXY_PID=$!
    wait_for grep -q listening "$OUT"
    P=$(sed -n 's/.*"listening".*"port":\([0-9]*\).*/\1/p' "$OUT")
    ROLE=$(pgrep -P "$PROXY_PID")
}

teardown() {
    local pid
    for pid in "${ABUSERS[@]}" "$PROXY_PID"; do
        { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null || :
    done
    if grep -s 'Sanitizer\|runtime error' "$OUT.err"; then
        return 1
    fi
}

# abuse KIND COUNT: returns when all of them are at it.
abuse() {
    python3 "$BATS_TEST_DIRNAME/../lib/proxy_abuse.py" "$1" "$2" "$P" "$HTTP" >"$OUT.$1" 2>&1 3>&- &
    ABUSERS+=($!)
    wait_for grep -q ready "$OUT.$1" || { tail "$OUT.$1"; return 1; }
}

get() {
    curl -sS --max-time 30 -x "$@"
}

# Everybody else: all three protocols, and what is not allowed is refused as ever.
others_are_served() {
    [ "$(get "http://127.0.0.1:$P" "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(get "http://127.0.0.1:$P" -p "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(get "socks5h://127.0.0.1:$P" "http://ok.test:$HTTP/hello")" = hello ]
    run get "http://127.0.0.1:$P" "http://evil.test:$CANARY/"
    [[ $output == *"is not allowed"* ]]
    [ ! -s "$DIR/canary" ]
    [ "$(pgrep -P "$PROXY_PID")" = "$ROLE" ]
}

# memory_below KIB: the most that the role ever had. A sanitizer's own memory is not what is meant.
memory_below() {
    local most
    most=$(awk '/VmHWM/ { print $2 }' "/proc/$ROLE/status")
    echo "the role had $most KiB at most"
    [ -n "${ABX_SANITIZED:-}" ] || [ "$most" -lt "$1" ]
}

@test "10,000 half-open connections" {
    abuse half-open 10000
    others_are_served
    memory_below "$FEW_KIB"
}

@test "3,000 connections with half a request, in HTTP and SOCKS5" {
    abuse half-asked 1500
    abuse slow-socks 1500
    others_are_served
    memory_below "$FEW_KIB"
}

@test "1,000 requests that come byte by byte" {
    abuse slow 1000
    others_are_served
    memory_below "$FEW_KIB"
}

@test "1,500 heads that are nearly as long as allowed, and never end" {
    abuse full-heads 1500
    others_are_served
    memory_below "$MOST_KIB"
}

@test "heads without an end, and bytes without a sense" {
    abuse endless-heads 200
    abuse nonsense 200
    others_are_served
    memory_below "$FEW_KIB"
}

@test "bodies without an end" {
    abuse endless-bodies 100
    others_are_served
    memory_below "$MOST_KIB"
}

@test "200 clients that never read, half of them in tunnels" {
    abuse never-reads 100
    abuse never-reads-tunnel 100
    others_are_served
    memory_below "$MOST_KIB"
}

@test "500 requests to a server that never answers" {
    abuse never-answered 500
    others_are_served
    memory_below "$FEW_KIB"
}

@test "500 tunnels that begin a TLS greeting and do not end it" {
    abuse half-hello 500
    others_are_served
    memory_below "$MOST_KIB"
}

@test "after all of that at once, everything is as it was" {
    local before kind
    before=$(find "/proc/$ROLE/fd" | wc -l)
    for kind in half-open slow full-heads endless-heads never-reads half-hello; do
        abuse "$kind" 100
    done
    others_are_served
    memory_below "$MOST_KIB"
    kill -KILL "${ABUSERS[@]}"
    wait_for few_descriptors "$before"
    others_are_served
}

# Pipes of the pool and the like may stay.
few_descriptors() {
    [ "$(find "/proc/$ROLE/fd" | wc -l)" -le $(($1 + 140)) ]
}
