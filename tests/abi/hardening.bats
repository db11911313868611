#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How the binaries are made: static, position-independent, hardened, without NSS, launcher small.

setup() {
    so=$ABX_BUILD/libagentbox.so
    launcher=$ABX_BUILD/abx-launcher
}

@test "the program is one static position-independent binary" {
    readelf -h "$AGENTBOX" | grep -E 'Type: +DYN'
    run readelf -lW "$AGENTBOX"
    [[ $output != *INTERP* ]]
    run bash -c "readelf -d '$AGENTBOX' | grep NEEDED"
    [ "$status" -eq 1 ]
}

@test "no name service switch is linked into the program" {
    run bash -c "nm '$AGENTBOX' | grep -E '__nss_|getaddrinfo|getpw|getgr(nam|gid)'"
    echo "$output"
    [ "$status" -eq 1 ]
}

@test "program and library have full RELRO and no executable stack" {
    for file in "$AGENTBOX" "$so"; do
        readelf -lW "$file" | grep -F GNU_RELRO
        readelf -dW "$file" | grep -E 'BIND_NOW|FLAGS.*NOW'
        readelf -lW "$file" | grep -E 'GNU_STACK.* RW '
    done
}

@test "program and library have no segment that is both writable and executable" {
    for file in "$AGENTBOX" "$so" "$launcher"; do
        run bash -c "readelf -lW '$file' | grep -E 'LOAD.* RWE '"
        [ "$status" -eq 1 ]
    done
}

@test "the program and the library are compiled with stack protector and fortify" {
    nm "$AGENTBOX" | grep -w __stack_chk_fail
    nm -D "$so" | grep -E '__stack_chk_fail'
    nm -D "$so" | grep -E '_chk(@|$)' | grep -v __stack_chk_fail
}

# Object by object, because the distribution's own start files and libyaml may lack the mark.
@test "our code is marked for CET on x86-64, for BTI on aarch64" {
    case $(uname -m) in
    x86_64) mark='IBT.*SHSTK' ;;
    aarch64) mark=BTI ;;
    *) skip "cpu_marks: no such marks on this CPU" ;;
    esac
    [ "$(readelf -n "$ABX_BUILD/libabx.a" | grep -cE "$mark")" -eq "$(ar t "$ABX_BUILD/libabx.a" | wc -l)" ]
}

@test "a program with shadow stacks may link the archive" {
    [ "$(uname -m)" = x86_64 ] || skip "cpu_marks: no such marks on this CPU"
    readelf -n "$ABX_BUILD/libagentbox.a" | grep -F SHSTK
}

@test "the launcher is a static-pie binary without libc below 80 KiB" {
    readelf -h "$launcher" | grep -E 'Type: +DYN'
    run readelf -lW "$launcher"
    [[ $output != *INTERP* ]]
    [ "$(stat -c %s "$launcher")" -lt 81920 ]
    run nm "$launcher-unstripped"
    [[ $output != *__libc_start* ]]
}

@test "the launcher needs no relocation but relative ones" {
    run bash -c "readelf -rW '$launcher' | grep R_ | grep -v _RELATIVE"
    echo "$output"
    [ "$status" -eq 1 ]
}

@test "the launcher that ships has nothing of the test build" {
    run bash -c "nm '$launcher-unstripped' | grep -i fault"
    [ "$status" -eq 1 ]
}

@test "the launcher in the library is the launcher that was built" {
    python3 - "$launcher" "$so" "$AGENTBOX" <<'PY'
import sys
image = open(sys.argv[1], "rb").read()
for path in sys.argv[2:]:
    assert image in open(path, "rb").read(), path
PY
}
