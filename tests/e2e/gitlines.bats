#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# tests/wrap/git.tsv against real git: what is stopped would have lost something, what runs loses
# nothing; and the wrapper inside says of each line what the table says.
load ../lib/e2e

TABLE=$ABX_SOURCE/tests/wrap/git.tsv
LINES_PY=$ABX_SOURCE/tests/lib/git_lines.py

@test "the guard says of each line what the table says" {
    cp "$LINES_PY" "$TABLE" "$T"
    own "$T"
    (cd "$W" && timeout 500 "${AS[@]}" "$BOX" run -q --approve yes --cmd git=@git -- \
        python3 "$T/git_lines.py" verdicts "$T/git.tsv" /dev/shm/lines) >"$X/verdicts"
    grep -P '^(stop|run)!?\t' "$TABLE" | sed 's/^\([a-z]*\)!/\1/' >"$X/table"
    diff "$X/table" "$X/verdicts"
}

@test "what is stopped would have lost something, and what runs loses nothing" {
    local memory
    memory=$(mktemp -d /dev/shm/abx-test.XXXXXX) # no disk has to keep up with 260 repositories
    made+=("$memory")
    own "$memory"
    (cd "$memory" && timeout 550 "${AS[@]}" python3 "$LINES_PY" losses "$TABLE" "$memory/lines") >"$X/losses"
    grep -P '^(stop|run)\t' "$TABLE" >"$X/table"
    sed 's/^lost: [^\t]*/stop/; s/^kept/run/' "$X/losses" >"$X/found"
    diff "$X/table" "$X/found"
}
