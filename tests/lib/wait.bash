# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# wait_for COMMAND…: until it succeeds, nearly as long as a test may take: how fast a machine is, is not
# the question.
# in_bulk: from here on, bats keeps no track of each command, which takes longer than most commands. A failure
# is as one, but names an earlier line: what fails must say what it is.
# wait_for_ports FILE OUTPUT: servers (proxy_peers.py) have written FILE; else shows what they printed.
wait_for() {
    local end=$((SECONDS + ${BATS_TEST_TIMEOUT:-60} - 5))
    until "$@"; do
        if ((SECONDS >= end)); then
            echo "waited in vain for: $*"
            return 1
        fi
        sleep 0.02
    done
}

wait_for_ports() {
    wait_for test -s "$1" || {
        cat "$2" >&2
        return 1
    }
}

in_bulk() {
    trap - DEBUG
}
