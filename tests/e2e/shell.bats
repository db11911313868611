#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The shell reader against bash itself. Scripts run in the sandbox with an empty PATH and a handler
# that writes down every command that was not found: nothing else happens, everything is seen.
# shellcheck disable=SC2016
load ../lib/e2e

CALLS=$ABX_BUILD/tests/shell-calls
ORACLE=$ABX_SOURCE/tests/lib/shell_oracle.py
SCRIPTS=$ABX_SOURCE/tests/classify/scripts

# trace SCRIPT LOG: what bash runs of it. The handler may be called with output closed or
# redirected, so it has a file of its own.
trace() {
    cp "$1" "$W/script.sh"
    printf '%s\n' "log=$W/log" \
        'command_not_found_handle() { printf "%s\0" "$#" "$@" >>"$log"; }' >"$W/handler.sh"
    : >"$W/log"
    chmod -R a+rwX "$W"
    run box --env PATH=/nonexistent --env HOME=/home/h --timeout 20s -- \
        /bin/bash -c '. ./handler.sh; . ./script.sh; wait' </dev/null
    [ "$status" -ne 124 ] && [ "$status" -ne 125 ] && cp "$W/log" "$2"
}

@test "every command that bash runs is among those that are reported" {
    local script failed=0
    for script in "$SCRIPTS"/*.sh; do
        rm -rf "${W:?}"/*
        trace "$script" "$X/log"
        python3 "$ORACLE" match "$CALLS" "$X/log" "$script" /home/h || failed=1
    done
    [ "$failed" -eq 0 ]
}

@test "a command that is not reported would be noticed" {
    printf 'one a\ntwo b\n' >"$W/whole.sh"
    printf 'one a\n' >"$X/part.sh"
    trace "$W/whole.sh" "$X/log"
    run python3 "$ORACLE" match "$CALLS" "$X/log" "$X/part.sh" /home/h
    [ "$status" -eq 1 ]
    [[ $output == *two* ]]
}

@test "there are enough scripts" {
    set -- "$SCRIPTS"/*.sh
    [ $# -ge 40 ]
}

@test "what bash accepts is read: own scripts and those of the system" {
    local system
    mapfile -t system < <(find /usr/bin /usr/sbin /usr/share /etc -xdev -type f -size -1000k \
        -exec awk 'FNR == 1 && /^#! *\/(usr\/)?bin\/(env )?(ba|da)?sh/ { print FILENAME }
            FNR == 1 { nextfile }' {} + 2>/dev/null)
    python3 "$ORACLE" accepts "$CALLS" "$SCRIPTS"/*.sh
    python3 "$ORACLE" accepts "$CALLS" "${system[@]}" | sed 's/^/# /' >&3
    [ "${PIPESTATUS[0]}" -eq 0 ]
}

@test "what bash refuses is not read" {
    python3 "$ORACLE" refuses "$CALLS" "$ABX_SOURCE/tests/classify/shell.tsv"
}
