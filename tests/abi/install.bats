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

@test "every file that is installed goes into a Debian package" {
    local dest=$BATS_TEST_TMPDIR/dest
    meson install -C "$ABX_BUILD" --no-rebuild --quiet --destdir "$dest"
    python3 - "$ABX_SOURCE/tools/package" "$ABX_BUILD" "$dest" <<'END'
import json, pathlib, re, subprocess, sys
options = {o["name"]: o["value"] for o in json.loads(subprocess.check_output(["meson", "introspect", "--buildoptions", sys.argv[2]]))}
text = pathlib.Path(sys.argv[1]).read_text().replace("\\\n", " ").split("\ndeb() {")[1].split("\n}")[0]
taken = [word.strip('"').replace("$lib", options["libdir"]) for line in re.findall(r"^    put \S+ (.*)$", text, re.M) for word in line.split()]
taken += re.findall(r'mv "\$stage/(usr/\S+)"', text)
taken = [re.sub(r"\$version$", "", word) for word in taken]
prefix = pathlib.Path(sys.argv[3] + options["prefix"])
files = ["usr/" + str(p.relative_to(prefix)) for p in prefix.rglob("*") if not p.is_dir()]
assert len(files) > 50, files
left = [f for f in files if not any(f == t or f.startswith(t + "/") or (t[-1] == "." and f.startswith(t)) for t in taken)]
assert not left, left
END
}
