#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2088,SC2154,SC2317
# learn on small projects of three kinds: what it proposes is valid, enough, and no more than needed.

load ../lib/filtered
load ../lib/violations

# The proposal as the project's own file; it is accepted as a person would.
accept() {
    cp "$1" "$W/.agentbox.jsonc"
    own "$W"
    (cd "$W" && as_who "$BOX" config validate >"$X/out" 2>&1 && as_who "$BOX" config trust >"$X/out" 2>&1) ||
        { cat "$X/out" "$1"; return 1; }
}

# grants FILE: the entries of its lists, one a line.
grants() {
    sed -n 's/^      "\(.*\)",\( \/\/.*\)\?$/\1/p' "$1"
}

# learned WANTED ARGUMENTS: the proposal for the command has the grants WANTED (one a line); with them
# it runs clean, but for reads below ~/.ssh, which nothing proposes and masks may tell; without any
# one of them it does not; asked again, learn says the same.
learned() {
    local want=$1 line
    shift
    learn "$@" >"$X/proposed" || { cat "$X/err"; return 1; }
    expect "$(grants "$X/proposed")" "$want" || { cat "$X/err" "$X/proposed"; return 1; }
    clean
    learn "$@" >"$X/again"
    diff "$X/proposed" "$X/again"
    accept "$X/proposed"
    clean
    expect "$(records "$@" | grep -v "^file-read|$H/\.ssh/")" ""
    expect "$(field exitCode)" 0
    while IFS= read -r line; do
        grep -vF "      \"$line\"," "$X/proposed" >"$X/less"
        accept "$X/less"
        clean
        records "$@" | grep -v "^file-read|$H/\.ssh/" >"$X/lines" || :
        [ -s "$X/lines" ] || { echo "not needed: $line"; return 1; }
    done <<<"$want"
}

# What a run of the project leaves; each test says its own.
clean() {
    :
}

@test "C with make: what it installs outside" {
    mkdir -p "$W/src" "$O/prefix"
    echo 'int twice(int x) { return 2 * x; }' >"$W/src/twice.c"
    printf 'int twice(int);\nint main(void) { return twice(2) != 4; }\n' >"$W/src/main.c"
    cat >"$W/Makefile" <<'MAKE'
PREFIX = /usr/local
app: src/twice.o src/main.o
	$(CC) -o $@ $^
check: app
	./app
install: check
	install -d $(PREFIX)/bin $(PREFIX)/share/doc/app
	install app $(PREFIX)/bin
	cp Makefile $(PREFIX)/share/doc/app/Makefile
MAKE
    own "$W" "$O"
    clean() {
        rm -rf "$O/prefix/"* "$W/app" "$W"/src/*.o
    }
    learned "$O/prefix" make -s -j2 install PREFIX="$O/prefix"
}

@test "Node with npm and its own test runner: the registry, and a file of reports" {
    need npm
    mkdir -p "$X/package" "$NET/reg" "$O/reports"
    printf '{"name":"tiny","version":"1.0.0","main":"i.js"}' >"$X/package/package.json"
    echo 'module.exports = x => 2 * x;' >"$X/package/i.js"
    tar -C "$X" -czf "$NET/reg/tiny-1.0.0.tgz" package
    printf '{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","dist":{"tarball":"http://npm.test/reg/tiny-1.0.0.tgz","shasum":"%s"}}}}' \
        "$(sha1sum "$NET/reg/tiny-1.0.0.tgz" | cut -d' ' -f1)" >"$NET/tiny"
    echo '{"name":"app","version":"1.0.0","dependencies":{"tiny":"1.0.0"}}' >"$W/package.json"
    cat >"$W/app.test.js" <<JS
const test = require('node:test');
const assert = require('node:assert');
test('twice', () => {
    assert.strictEqual(require('tiny')(2), 4);
    require('node:fs').writeFileSync('$O/reports/last.json', '{}');
});
JS
    : >"$O/reports/last.json"
    own "$W" "$O"
    clean() {
        rm -rf "$W/node_modules" "$W/package-lock.json" "$W/cache"
    }
    learned "$O/reports/last.json
npm.test:80" --allow-domain 127.0.0.5 -c 'set -e
        npm install --cache cache --no-audit --no-fund --fetch-retries 0 --registry http://npm.test/
        node --test'
}

@test "nobody is asked about a host, nor waited for: its refusal is what is learned" {
    cd "$W"
    run timeout 50 "${AS[@]}" "$BOX" learn --allow-domain 127.0.0.5 -c 'curl -fsS http://npm.test/' 3>&- 2>"$X/err"
    cat "$X/err"
    [ "$status" -ne 124 ]
    [[ $output == *'"npm.test:80"'* ]]
}

@test "Python with unittest: files of a directory become the directory; a key is a remark" {
    mkdir -p "$O/data" "$H/.ssh"
    echo key >"$H/.ssh/id_test"
    own "$H" "$O"
    cat >"$W/test_app.py" <<PY
import os, pathlib, tempfile, unittest

class App(unittest.TestCase):
    def test_files(self):
        for name in ("one", "two", "three"):
            pathlib.Path("$O/data", name).write_text(name)
            self.assertEqual(pathlib.Path("$O/data", name).read_text(), name)

    def test_key_if_there(self):
        try:
            self.assertTrue(pathlib.Path("$H/.ssh/id_test").read_text())
        except OSError:
            self.skipTest("no key")

    def test_temporary(self):
        with tempfile.TemporaryDirectory() as d:
            os.mkdir(os.path.join(d, "x"))
PY
    for name in one two three; do : >"$O/data/$name"; done
    own "$W" "$O"
    clean() {
        rm -rf "$W/__pycache__"
    }
    learned "$O/data" python3 -m unittest -q
    grep -q '^  //   file-read .*/\.ssh' "$X/proposed"
    not grep -q '^ *"[^"]*ssh' "$X/proposed"
}

@test "what the home does not have is a remark that says how to make it" {
    learn --env HOME="$H" -c 'mkdir ~/.tool; true' >"$X/proposed"
    expect "$(grants "$X/proposed")" ""
    grep -q "^  //   file-write $H/.tool: .* after mkdir -p $H/.tool" "$X/proposed"
}

@test "nothing needed, nothing proposed; what is protected is said and not granted" {
    host_git -C "$W" init -q
    own "$W"
    learn -- true >"$X/proposed"
    expect "$(grants "$X/proposed")" ""
    learn -c 'echo x >>.git/config; echo x >.mcp.json; true' >"$X/proposed" || :
    expect "$(grants "$X/proposed")" ""
    grep -q '^  //   file-write .*/\.git/config' "$X/proposed"
    grep -q '^  //   file-write .*/\.mcp\.json' "$X/proposed"
    accept "$X/proposed"
}

@test "what a command was refused it gets in no further round, unless --approve yes says so" {
    : >"$O/f"
    own "$O"
    cd "$W"
    run "${AS[@]}" "$BOX" learn -c 'echo >>rounds; echo x >>../o/f; exit 1' 3>&-
    [ "$status" -eq 1 ]
    [ "$(wc -l <rounds)" -eq 1 ]
    [ ! -s "$O/f" ]
    [[ $output == *"--approve yes: it is run again"*"What 1 run needed"*"\"$O/f\""* ]]
    run "${AS[@]}" "$BOX" learn -q -c 'echo x >>../o/f; exit 1' 3>&-
    [[ $output == *"\"$O/f\""* && $output != *"--approve"* && ! -s $O/f ]]
    learn -c 'echo >>rounds; echo x >>../o/f; exit 1' >"$X/proposed" || :
    [ "$(wc -l <rounds)" -eq 3 ]
    [ -s "$O/f" ]
}

@test "what the host's programs obey is a remark, and files beside each other open no folder of everybody's" {
    local home link=$T/home-by-another-name
    ln -s "$H" "$link"
    mkdir -p "$H/.config" "$H/.tool"
    touch "$H"/.bashrc "$H"/.gitconfig "$H"/.profile "$H"/.config/{a,b,c} "$H/.tool/x"
    : >"$X/out"
    own "$H" "$link"
    for home in "$H" "$link"; do
        (AS+=(env HOME="$home") && learn --env HOME="$home" -c 'cd && for f in .bashrc .gitconfig .profile .tool/x .config/a .config/b .config/c; do
            echo x >>$f; done; exit 1') >"$X/proposed" || :
        expect "$(grants "$X/proposed")" "$(printf '%s\n' '~/.config/a' '~/.config/b' '~/.config/c' '~/.tool/x')"
        grep -A1 "^  //   file-write $H/.bashrc: " "$X/proposed" | grep -q "obey it when they start"
    done
    [ ! -s "$H/.bashrc" ]
}

@test "--dry-run shows the plan and runs nothing, least of all what needs an approval" {
    cd "$W"
    run "${AS[@]}" "$BOX" learn --dry-run -c 'kill -0 $$; echo >ran' 3>&-
    [ "$status" -eq 0 ]
    [[ $output == *"back end: "* ]]
    [ ! -e "$W/ran" ]
}

@test "options that learn could not keep are refused" {
    local words
    for words in "--result $X/r" '--max-output 10'; do
        # shellcheck disable=SC2086 # an option and its value
        run learn $words -c 'echo >ran'
        [ "$status" -eq 125 ]
        grep -q "learn takes no ${words%% *}" "$X/err"
        [ ! -e "$W/ran" ]
    done
}

@test "-C: what is relative in the proposal is so to the directory of the command" {
    (AS+=(env -C "$T") && learn -C "$W" -c 'echo x >../o/f') >"$X/proposed"
    expect "$(grants "$X/proposed")" "$O/f"
    accept "$X/proposed"
    expect "$(records -c 'echo x >../o/f')" ""
}

@test "Ctrl-C ends the command, which may tidy up, and what was learned by then is proposed" {
    cd "$W"
    O=$O "${AS[@]}" "$BOX" learn -c 'trap "echo >tidied; exit 7" INT; echo x >>"$O/f"; : >ready; while :; do sleep 0.1; done' \
        >"$X/proposed" 2>"$X/err" 3>&- &
    started+=($!)
    wait_for test -e ready
    kill -INT $!
    status=0
    wait $! || status=$?
    expect "$status" 7
    [ -e tidied ]
    expect "$(grants "$X/proposed")" "$O/f"
    grep -q 'What 1 run needed' "$X/proposed"
}
