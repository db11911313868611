#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The public header is C90 and C++98, alone, with every warning on.

load ../lib/need

setup() {
    header=$ABX_SOURCE/include/agentbox/agentbox.h
    user=$BATS_TEST_TMPDIR/user
    printf '#include <agentbox/agentbox.h>\n#include <agentbox/agentbox.h>\n%s\n' \
        'int main(void) { return abx_error_code(0) != ABX_OK; }' >"$user.c"
    cp "$user.c" "$user.cc"
}

compile() { # compile COMPILER STANDARD FILE
    need "$1"
    "$1" -std="$2" -pedantic -Wall -Wextra -Wshadow -Wconversion -Werror -fsyntax-only \
        -I"$ABX_SOURCE/include" "$3"
}

@test "the header compiles as C90 with gcc" {
    compile gcc c90 "$user.c"
}

@test "the header compiles as C99 with gcc" {
    compile gcc c99 "$user.c"
}

@test "the header compiles as C17 with clang" {
    compile clang c17 "$user.c"
}

@test "the header compiles as C90 with clang" {
    compile clang c90 "$user.c"
}

@test "the header compiles as C++98" {
    compile g++ c++98 "$user.cc"
}

@test "the header compiles as C++17" {
    compile g++ c++17 "$user.cc"
}

@test "the header has no varargs, bit-fields, bool or inline functions" {
    code=$(gcc -fpreprocessed -dD -E -P "$header")
    run grep -nwE 'bool|_Bool|inline|\.\.\.|int32_t [a-z_]+ *: *[0-9]+' <<<"$code"
    [ "$status" -eq 1 ]
    run grep -nF '...' <<<"$code"
    [ "$status" -eq 1 ]
}

@test "every function that can fail takes err last" {
    run awk '/abx_error \*\*err[^)]/ { print; bad = 1 } END { exit bad }' "$header"
    [ "$status" -eq 0 ]
}
