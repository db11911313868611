#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the libraries show to a linker is what the headers declare, no more and no less.

setup() {
    cd "$BATS_TEST_TMPDIR"
    so=$ABX_BUILD/libagentbox.so
    archive=$ABX_BUILD/libagentbox.a
    cat "$ABX_SOURCE"/include/agentbox/*.h | tr '\n' ' ' |
        grep -oE 'ABX_API [^;{]*;' | grep -oE 'abx_[a-z0-9_]+\(' | tr -d '(' | sort -u >declared
}

@test "the headers declare functions" {
    [ "$(wc -l <declared)" -ge 70 ]
}

@test "the version script names the headers' functions" {
    grep -oE '^ +abx_[a-z0-9_]+;' "$ABX_SOURCE/src/libagentbox.map" | tr -d ' ;' | sort >mapped
    diff declared mapped
}

@test "the shared library exports the headers' functions" {
    nm -D --defined-only --format=posix "$so" | awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' |
        sort >exported
    diff declared exported
}

@test "every exported symbol has the version ABX_0.1" {
    run bash -c "nm -D --defined-only --format=posix '$so' |
        awk '\$2 != \"A\" && \$1 !~ /@@ABX_0\.1\$/ { print; bad = 1 } END { exit bad }'"
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "the archive defines the headers' functions and nothing else" {
    nm -g --defined-only --format=posix "$archive" 2>/dev/null | awk 'NF >= 2 { print $1 }' |
        sort >defined
    diff declared defined
}

@test "the shared library needs nothing but libc" {
    run bash -c "readelf -d '$so' | grep NEEDED | grep -vE '\[(libc\.so\.6|ld-linux.*)\]'"
    echo "$output"
    [ "$status" -eq 1 ]
}

@test "a program links and runs with the shared library, found through its soname" {
    printf '#include <agentbox/agentbox.h>\n#include <stdio.h>\n%s\n' \
        'int main(void) { return puts(abx_version()) < 0; }' >user.c
    cc -I"$ABX_BUILD/include" user.c -o user -L"$ABX_BUILD" -lagentbox
    readelf -d user | grep -F 'libagentbox.so.0]'
    [ "$(LD_LIBRARY_PATH=$ABX_BUILD ./user)" = 0.1.0 ]
}

@test "a program with function names of ours links with the archive" {
    printf '#include <agentbox/agentbox.h>\n%s\n%s\n%s\n' 'int path_join(void) { return 7; }' \
        'int buf_free(void) { return 1; }' \
        'int main(void) { abx_free(0); return path_join() - 7; }' >user.c
    cc -I"$ABX_BUILD/include" user.c -o user "$archive" -pthread
    ./user
}
