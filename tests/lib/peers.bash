# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# What the tests of the proxy share: names and servers on loopback (proxy_peers.py), for all tests of
# a file. The file writes $DIR/hosts and $DIR/resolv between the two calls.

# shellcheck source=tests/lib/wait.bash
. "$BATS_TEST_DIRNAME/../lib/wait.bash"

# peers_dir NAME: the directory of the file, $DIR.
peers_dir() {
    DIR=$(mktemp -d "/var/tmp/$1.XXXXXX")
    export DIR
}

# The servers; their ports are in $DIR/ports by then.
peers_start() {
    python3 "$BATS_TEST_DIRNAME/../lib/proxy_peers.py" serve "$DIR" >"$DIR/peers.out" 2>&1 3>&- &
    PEERS=$!
    export PEERS
    wait_for_ports "$DIR/ports" "$DIR/peers.out"
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
