# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# What the tests of the proxy share: names and servers on loopback (proxy_peers.py), for all tests of
# a file. The file writes $DIR/hosts and $DIR/resolv between the two calls.

# peers_dir NAME: the directory of the file, $DIR.
peers_dir() {
    DIR=$(mktemp -d "/var/tmp/$1.XXXXXX")
    export DIR
}

# The servers; their ports are in $DIR/ports by then.
peers_start() {
    local i
    python3 "$BATS_TEST_DIRNAME/../lib/proxy_peers.py" serve "$DIR" >"$DIR/peers.out" 2>&1 3>&- &
    PEERS=$!
    export PEERS
    for ((i = 0; i < 500; i++)); do
        [ ! -s "$DIR/ports" ] || return 0
        sleep 0.02
    done
    cat "$DIR/peers.out" >&2
    return 1
}

teardown_file() {
    kill "$PEERS" || :
    rm -rf "$DIR"
}

# For each test: ports, the program, and no proxy of the caller's.
peers_setup() {
    # shellcheck source=/dev/null
    . "$DIR/ports"
    BOX=${AGENTBOX:-$BATS_TEST_DIRNAME/../../build/agentbox}
    OUT=$DIR/out.$BATS_TEST_NUMBER
    unset http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
}
