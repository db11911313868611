#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2119
# The programs in examples/: each compiles against header and archive alone, without options of its own, and does what it says.

bats_require_minimum_version 1.5.0

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: the archive needs their libraries"
}

teardown() {
    life_teardown
}

build() {
    "${CC:-cc}" -Wall -Wextra -Wshadow -Wconversion -Werror -I"$ABX_SOURCE/include" \
        "$ABX_SOURCE/examples/$1.c" "$ABX_BUILD/libagentbox.a" -lpthread -o "$O/$1"
    chmod 755 "$O/$1"
}

example() {
    local name=$1
    shift
    "${AS[@]}" "$O/$name" "$@"
}

@test "every example has a test here" {
    local file
    for file in "$ABX_SOURCE"/examples/*.c; do
        file=${file##*/}
        grep -q "^    build ${file%.c}\$" "$BATS_TEST_FILENAME" || { echo "$file"; false; }
    done
}

@test "minimal: runs its arguments, sandboxed" {
    build minimal
    run example minimal sh -c 'echo from-inside; ! touch "$HOME/made" 2>/dev/null'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *from-inside* && $output == *", sandboxed"* ]]
    nothing_left
}

@test "threads: four at once, and four that are canceled" {
    build threads
    run example threads
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'status 0, worker' <<<"$output")" -eq 4 ]
    [ "$(grep -c canceled <<<"$output")" -eq 4 ]
    nothing_left
}

@test "approve: one rule is approved and runs, another is not and does not" {
    build approve
    run example approve 'git push origin main' 'kill 1234567'
    echo "$output"
    [[ $output == *"rule git-write"*"answer: no"*"not run (ABX_E_ESCALATED)"*"rule process-kill"*"answer: yes"*"ran, exit status 1"* ]]
}

@test "stream: output comes while the command runs" {
    build stream
    # The command goes on only once its first line was seen outside.
    run timeout 30 bash -c '"$@" | while read -r line; do echo "$line"; [[ $line != *one* ]] || touch go; done' - \
        "${AS[@]}" "$O/stream" 'echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ ${lines[0]} =~ ^[0-9]+\ ms\ +out\ +one && ${lines[1]} =~ err\ +two ]]
}

@test "event_loop: commands end in their own order, nothing waits for another" {
    build event_loop
    run example event_loop 'while [ ! -e go ]; do sleep 0.02; done; echo slow' 'touch go; echo quick' 'exit 3'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"ended with 0: slow"* && $output == *"ended with 0: quick"* && $output == *"'exit 3' ended with 3"* ]]
}

@test "exec_form: the caller spawns, and gets output and status" {
    build exec_form
    run example exec_form sh -c 'echo hello; touch "$HOME/made" || exit 7'
    echo "$output"
    [ "$status" -eq 7 ]
    [[ $output == *hello* ]]
    [ ! -e "$HOME/made" ]
    nothing_left
}

@test "update: what the new configuration grants holds for the next command" {
    build update
    life_as user
    [ "$(id -u)" -ne 0 ] || chown 1001 "$O"
    run example update "$O"
    [ "$status" -eq 0 ]
    [ "$output" = $'before: refused\nafter: written' ]
    [ -e "$O/made-by-update" ]
}
