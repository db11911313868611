#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2154
# Ordinary work leaves no record. docs/violations.md lists what does, and why.

load ../lib/filtered
load ../lib/violations

# quiet ARGUMENTS OF BOX: it works, watched, and nothing is told.
quiet() {
    expect "$(records "${ALLOW[@]}" "$@")" ""
    expect "$(field exitCode)" 0
    expect "$(field monitor)" notify
    expect "$(field violationsDropped)" 0
}

@test "git: clone over the network and from a directory, commit, branch, merge, without an identity set" {
    ALLOW+=(--allow-domain git.test)
    host_git init -q "$X/upstream"
    echo x >"$X/upstream/f"
    host_git -C "$X/upstream" add f
    host_git -C "$X/upstream" commit -qm first
    host_git clone -q --bare "$X/upstream" "$X/up.git"
    host_git -C "$X/up.git" update-server-info
    cp -r "$X/up.git" "$NET/quiet.git"
    printf '[safe]\n\tdirectory = *\n' >"$H/.gitconfig"
    own "$H"
    quiet -- git clone -q "http://git.test/quiet.git" one
    quiet -c 'set -e
        git clone -q one two
        cd two
        git status -s && git log --oneline && git switch -q -c b
        echo y >>f && git add f && git diff --cached --stat
        EMAIL=t@t git commit -q -m two && git switch -q - && git merge -q b
        git stash list && git gc -q && git fsck && git tag v1 && git describe --tags'
    # Looks up its own name; whether it accepts what it finds is its own matter.
    expect "$(records "${ALLOW[@]}" -c 'cd two && git commit -q --allow-empty -m x; :')" ""
}

@test "git: a stash and back, a rebase, branches, here and in a linked worktree" {
    # After each stash git tries to remove what its ref was in, up to the repository's own directory.
    make_repo
    for W in "$W" "$T/linked"; do
        quiet --approve yes -c 'set -e
            echo y >>file && git stash -q && git stash pop -q && git commit -qam two
            git switch -q -c other HEAD~1 && git commit -q --allow-empty -m three
            git rebase -q - && git switch -q --detach && git reset -q --hard && git update-ref -d refs/heads/other'
    done
}

@test "make of a C project, in parallel, with a library and tests" {
    local i
    for i in 1 2 3 4 5 6; do echo "int f$i(void) { return $i; }" >"$W/f$i.c"; done
    printf 'int f6(void);\nint main(void) { return f6() != 6; }\n' >"$W/main.c"
    cat >"$W/Makefile" <<'MAKE'
OBJECTS = f1.o f2.o f3.o f4.o f5.o f6.o
check: app
	./app
app: main.o libf.a
	$(CC) -o $@ $^
libf.a: $(OBJECTS)
	$(AR) rcs $@ $^
clean:
	rm -f *.o libf.a app
MAKE
    own "$W"
    quiet -- make -s -j4 check
    quiet -- make -s clean
}

@test "python and node: tests, temporary files, child processes" {
    cat >"$W/test_app.py" <<'PY'
import logging, multiprocessing, os, sqlite3, subprocess, tempfile, threading, unittest

class App(unittest.TestCase):
    def test_all(self):
        with tempfile.TemporaryDirectory() as d:
            db = sqlite3.connect(os.path.join(d, "x.db"))
            db.execute("create table t (a)")
            db.commit()
            db.close()
        self.assertEqual(subprocess.check_output(["echo", "x"]), b"x\n")
        with multiprocessing.Pool(2) as pool:
            self.assertEqual(pool.map(abs, [-1, -2]), [1, 2])
        t = threading.Thread(target=logging.getLogger().info)
        t.daemon = True
PY
    own "$W"
    quiet -- python3 -m unittest -q
    if command -v node; then
        cat >"$W/app.test.js" <<'JS'
const test = require('node:test');
const { execFileSync } = require('node:child_process');
const { mkdtempSync, writeFileSync, rmSync } = require('node:fs');
const http = require('node:http');
test('files', () => {
    const d = mkdtempSync(require('node:os').tmpdir() + '/x');
    writeFileSync(d + '/f', execFileSync('echo', ['x']));
    rmSync(d, { recursive: true });
});
test('a server of its own', (t, done) => {
    const s = http.createServer((q, r) => r.end('x')).listen(0, '127.0.0.1', () =>
        http.get({ port: s.address().port, host: '127.0.0.1' }, r => { r.resume(); s.close(done); }));
});
JS
        own "$W"
        quiet -- node --test
    fi
}

@test "npm install, into a home that npm has used before" {
    need npm
    ALLOW+=(--allow-domain npm.test)
    mkdir -p "$X/package" "$NET/reg" "$H/.npm"
    echo '{"name":"tiny","version":"1.0.0","scripts":{"postinstall":"echo done"}}' >"$X/package/package.json"
    tar -C "$X" -czf "$NET/reg/tiny-1.0.0.tgz" package
    printf '{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","dist":{"tarball":"http://npm.test/reg/tiny-1.0.0.tgz","shasum":"%s"}}}}' \
        "$(sha1sum "$NET/reg/tiny-1.0.0.tgz" | cut -d' ' -f1)" >"$NET/tiny"
    own "$H"
    quiet -- npm install --no-audit --no-fund --no-update-notifier --registry http://npm.test/ tiny
    [ -e "$W/node_modules/tiny/package.json" ]
    quiet -- npm ls --no-update-notifier
}

@test "apt list, dpkg, and looking around" {
    ! command -v apt || quiet -- apt list --installed
    ! command -v dpkg || quiet -- dpkg -l
    quiet -c 'set -e; ls -la / /etc /dev >/dev/null; ps aux >/dev/null; df >/dev/null; find . >/dev/null; id; uname -a
        getent passwd "$(id -u)"; getent ahostsv4 "$(hostname)" || :; mktemp; date; locale; env >/dev/null; bash -lc true'
}

@test "a full-screen editor on a terminal" {
    need vim
    : >"$X/r.json"
    mkdir -p "$H/.vim"
    own "$W" "$X" "$H"
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" "${AS[@]}" "$BOX" run -q --result "$X/r.json" -- vim -u NONE text 3>&-) <<'STEPS'
expect \x1b
expect text
send ihello
expect hello
send \x1b:wq\r
exit 0
STEPS
    [ "$(cat "$W/text")" = hello ]
    expect "$(field violations)" "[]"
    expect "$(field monitor)" notify
}
