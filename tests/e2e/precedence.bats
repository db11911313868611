#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The table of precedence against the kernel: random trees and rules, every path tried.
load ../lib/e2e

ROUNDS=${ABX_ROUNDS:-60}

@test "every path can be read, written, made, renamed and removed exactly as the rules say" {
    local seed=${ABX_SEED:-$((RANDOM * 32768 + RANDOM))}
    cp "$ABX_SOURCE/tests/lib/access.py" "$FIX/bin/"
    run timeout 100 "${AS[@]}" python3 -S "$FIX/bin/access.py" check "$BOX" "$X" "$seed" "$ROUNDS"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == "seed $seed, $ROUNDS rounds" ]]
    echo "# $output" >&3
}
