#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is installed is where the library looks for it.

@test "the library finds the program and the launcher where they are installed" {
    local dest=$BATS_TEST_TMPDIR/dest dir
    meson install -C "$ABX_BUILD" --no-rebuild --quiet --destdir "$dest"
    dir=$(strings "$ABX_BUILD/libagentbox.so" | sed -n 's,^\(/.*/agentbox\)/agentbox$,\1,p' | head -n 1)
    [ -n "$dir" ]
    [ -x "$dest$dir/abx-launcher" ]
    [ -L "$dest$dir/agentbox" ]
    "$dest$dir/agentbox" version # a relative link: it leads there wherever the tree is put
}
