#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# README.md, from top to bottom: every command in it is run and says what it is said to say; what is
# named in it exists.
# shellcheck disable=SC2013,SC2016

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
}

teardown() {
    life_teardown
}

@test "every command of the README does what the page shows" {
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: the archive needs their libraries"
    mkdir "$O/bin"
    cp "$AGENTBOX" "$O/bin/agentbox"
    # An agent, and pkg-config for a library that is not installed.
    printf '#!/bin/sh\necho 1.0 "$(agentbox inside)"\n' >"$O/bin/claude"
    printf '#!/bin/sh\necho "-I%s/include %s/libagentbox.a -lpthread"\n' "$ABX_SOURCE" "$O" >"$O/bin/pkg-config"
    cp "$ABX_BUILD/libagentbox.a" "$O"
    chmod -R a+rX "$O"
    chmod 755 "$O"/bin/*
    printf 'test:\n\t@echo all 3 tests pass\nclean:\n' >Makefile
    echo secret | tee notes >.env
    life_as user
    run "${AS[@]}" env PATH="$O/bin:$PATH" python3 "$ABX_SOURCE/tests/lib/readme.py" "$ABX_SOURCE/README.md" "$ABX_SOURCE"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == "1"[0-9]" commands" ]]
}

@test "every file and every page that the README names is there" {
    local name
    for name in $(grep -o '](\([^)h][^)]*\))' "$ABX_SOURCE/README.md" | tr -d '()]'); do
        [ -e "$ABX_SOURCE/$name" ] || { echo "$name"; false; }
    done
    for name in $(grep -o 'man [a-z-]*' "$ABX_SOURCE/README.md" | cut -d' ' -f2); do
        compgen -G "$ABX_BUILD/$name.[1-8]" >/dev/null || { echo "$name"; false; }
    done
}
