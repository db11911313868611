#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The public headers are C90 and C++98, alone, in any order, with every warning on.

load ../lib/need

setup() {
    headers=("$ABX_SOURCE"/include/agentbox/*.h)
    user=$BATS_TEST_TMPDIR/user
    local order
    for order in agentbox network; do
        printf '#include <agentbox/%s.h>\n#include <agentbox/agentbox.h>\n%s\n' "$order" \
            'int main(void) { abx_bridge_free(0); return abx_error_code(0) != ABX_OK; }' >"$user-$order.c"
        cp "$user-$order.c" "$user-$order.cc"
    done
}

compile() { # compile COMPILER STANDARD SUFFIX
    need "$1"
    "$1" -std="$2" -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only \
        -I"$ABX_SOURCE/include" "$user-agentbox.$3" "$user-network.$3"
}

@test "the headers compile as C90 with gcc" {
    compile gcc c90 c
}

@test "the headers compile as C99 with gcc" {
    compile gcc c99 c
}

@test "the headers compile as C17 with clang" {
    compile clang c17 c
}

@test "the headers compile as C90 with clang" {
    compile clang c90 c
}

@test "the headers compile as C++98" {
    compile g++ c++98 cc
}

@test "the headers compile as C++17" {
    compile g++ c++17 cc
}

@test "the headers have no varargs, bit-fields, bool or inline functions" {
    code=$(cat "${headers[@]}" | gcc -fpreprocessed -dD -E -P -x c -)
    grep -q abx_manager_new <<<"$code"
    grep -q abx_bridge_new <<<"$code"
    run grep -nwE 'bool|_Bool|inline|\.\.\.|int32_t [a-z_]+ *: *[0-9]+' <<<"$code"
    [ "$status" -eq 1 ]
    run grep -nF '...' <<<"$code"
    [ "$status" -eq 1 ]
}

@test "every function that can fail takes err last" {
    run awk '/abx_error \*\*err[^)]/ { print; bad = 1 } END { exit bad }' "${headers[@]}"
    [ "$status" -eq 0 ]
}
