#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
# Refused reads: masks that tell who looked, served by pid 1 over FUSE. They hide as the plain ones
# do, answer whatever happens, and nothing inside gets hold of them.

load ../lib/e2e
load ../lib/violations

# Many hosts keep /dev/fuse for root. Uid 1001 then has one of its own in a mount namespace of the
# test; without = "hidden" nobody has any.
fuse_device() {
    local node=$X/node
    [ "$(id -u)" -eq 0 ] || return 0
    mkdir -p "$node"
    AS=(unshare -m --propagation private sh -c '
        mount -t tmpfs -o mode=755 none "$1" || exit 99
        if [ "$2" = hidden ]; then : >"$1/fuse"; else mknod -m 666 "$1/fuse" c 10 229 || exit 99; fi
        mount --bind "$1/fuse" /dev/fuse || exit 99
        shift 2
        exec "$@"' sh "$node" "${1:-open}" "${AS[@]}")
}

need_fuse() {
    lacks bwrap "that its masks tell nobody"
    [ -c /dev/fuse ] || skip "fuse: no /dev/fuse"
    fuse_device
    "${AS[@]}" sh -c ': <>/dev/fuse' 2>/dev/null || skip "fuse: /dev/fuse cannot be opened"
}

reads() {
    records "$@" | grep ^file-read || :
}

@test "a read of what is hidden is told with call, path, rule, origin and grant, which makes it pass" {
    need_fuse
    expect "$(reads -- cat "$D/s")" "file-read|$D/s|openat|--exclude $D|command line|1|--ro $D/s"
    not grep "$SECRET" "$X/out"
    [ "$(field reads)" = reported ]
    expect "$(reads --ro "$D/s" -- cat "$D/s")" ""
    expect "$(cat "$X/out")" "$SECRET"
    expect "$(reads -- ls "$D")" "file-read|$D|openat|--exclude $D|command line|1|leave out --exclude $D"
    expect "$(reads -- stat "$D/deep/s" | cut -d'|' -f1,2,7)" "file-read|$D/deep/s|--ro $D/deep/s"
    echo "$SECRET" >"$W/.env"
    own "$W"
    expect "$(reads --exclude .env -- cat .env)" \
        "file-read|$W/.env|openat|--exclude .env|command line|1|leave out --exclude .env"
    not grep "$SECRET" "$X/out"
}

@test "the rule of a file is told with its line" {
    need_fuse
    printf '{\n  "filesystem": { "exclude": ["private"] }\n}\n' >"$W/.agentbox.jsonc"
    mkdir "$W/private"
    echo "$SECRET" >"$W/private/s"
    own "$W"
    OPTIONS=()
    expect "$(reads -- cat private/s)" "file-read|$W/private/s|openat|exclude private|project|1|--ro $W/private/s"
    python3 -c '
import json, sys
v, = json.load(open(sys.argv[1]))["violations"]
assert v["source"].startswith(sys.argv[2] + "/.agentbox.jsonc:2:"), v
assert v["attempt"] is True and v["process"] == "cat" and v["pid"] > 1, v' "$X/r.json" "$W"
}

@test "what a program sees is what it sees of a plain mask" {
    local script='
import ctypes, errno, os, sys
d, f = sys.argv[1], sys.argv[2]
def say(what, call):
    try:
        call()
        print(what, "ok")
    except OSError as e:
        print(what, errno.errorcode[e.errno])
for p in (d, f, d + "/s", d + "/none", d + "/deep/s", f + "/x", d + "/" + "n" * 255, d + "/" + "n" * 256):
    n = p[len(d) - 1:][:20]
    say(n + " open", lambda: os.close(os.open(p, os.O_RDONLY)))
    if p != f: # EROFS and not EACCES
        say(n + " write", lambda: os.close(os.open(p, os.O_WRONLY)))
        say(n + " create", lambda: os.close(os.open(p, os.O_WRONLY | os.O_CREAT)))
    say(n + " path", lambda: os.close(os.open(p, os.O_PATH)))
    say(n + " stat", lambda: os.stat(p))
    say(n + " list", lambda: os.listdir(p))
    say(n + " statfs", lambda: os.statvfs(p))
    say(n + " chdir", lambda: os.chdir(p))
    say(n + " readlink", lambda: os.readlink(p))
    say(n + " mkdir", lambda: os.mkdir(p))
    say(n + " link", lambda: os.link(p, "linked"))
    say(n + " chmod", lambda: os.chmod(p, 0o777))
    say(n + " utime", lambda: os.utime(p))
    say(n + " exec", lambda: os.execv(p, [p]))
    for mode in (os.F_OK, os.R_OK, os.W_OK, os.X_OK):
        print(n, "access", mode, os.access(p, mode))
for p in (d, f):
    st = os.stat(p)
    print(oct(st.st_mode), st.st_uid == os.getuid())
'
    need_fuse
    echo "$SECRET" >"$W/.env"
    own "$W"
    records --monitor writes --exclude .env -- python3 -c "$script" "$D" "$W/.env" >/dev/null
    cp "$X/out" "$X/plain"
    [ "$(field reads)" = unreported ]
    records --exclude .env -- python3 -c "$script" "$D" "$W/.env" >/dev/null
    [ "$(field reads)" = reported ]
    diff "$X/plain" "$X/out"
    [ "$(wc -l <"$X/out")" -gt 130 ]
}

@test "the path is found through links, dots, the working directory and descriptors" {
    need_fuse
    ln -s "$D" "$W/way"
    ln -s way/deep "$W/far"
    expect "$(reads -- cat way/s)" "file-read|$D/s|openat|--exclude $D|command line|1|--ro $D/s"
    expect "$(reads -- cat far/s | cut -d'|' -f2)" "$D/deep/s"
    expect "$(reads -- cat "../d/../w/./way//s" | cut -d'|' -f2)" "$D/s"
    expect "$(reads -C "$O" --ro "$O" -- cat ../d/s | cut -d'|' -f2)" "$D/s"
    expect "$(reads -- python3 -c '
import os, sys, threading
def read():
    try:
        os.open("deep/s", os.O_RDONLY, dir_fd=os.open(sys.argv[1], os.O_PATH))
    except PermissionError:
        pass
t = threading.Thread(target=read)
t.start()
t.join()' "$D" | cut -d'|' -f2,6)" "$D/deep/s|1"
}

@test "who wants to write there is told about once, and what looks like a line stays one" {
    need_fuse
    expect "$(records -- "$PAYLOAD" write "$D/s" x | cut -d'|' -f1,2)" "file-write|$D/s"
    expect "$(records -- "$PAYLOAD" sys unlinkat -100 "@$D/s" 0 | cut -d'|' -f1,2)" "file-write|$D/s"
    records -- cat "$D/"$'a\nfile-write|x' >/dev/null
    python3 -c 'import json, sys
v, = json.load(open(sys.argv[1]))["violations"]
assert v["path"] == sys.argv[2] + "/a\nfile-write|x", v' "$X/r.json" "$D"
}

@test "it is counted, bounded and answered, whatever the number and the load" {
    need_fuse
    expect "$(reads -- python3 -c '
import os, sys
for i in range(300):
    os.path.exists(sys.argv[1] + "/s")' "$D" | cut -d'|' -f2,6)" "$D/s|300"
    reads -- python3 -c '
import os, sys
for n in range(8):
    if os.fork() == 0:
        for i in range(600):
            try:
                os.stat(sys.argv[1] + "/%d-%d" % (n, i) + "/x" * 100)
            except PermissionError:
                continue
            os._exit(1)
        os._exit(0)
print([os.wait()[1] for n in range(8)])' "$D" >"$X/lines"
    expect "$(cat "$X/out")" "[0, 0, 0, 0, 0, 0, 0, 0]"
    [ "$(wc -l <"$X/lines")" -le 512 ]
    [ "$(field violationsDropped)" -gt 0 ]
}

@test "a program in a mask is not run, and a caller that is killed while it asks leaves nothing" {
    need_fuse
    cp "$PAYLOAD" "$D/prog"
    own "$D"
    run box -- "$D/prog" true
    [ "$status" -eq 126 ]
    records -- sh -c 'PATH=$1:$PATH; nothing-of-that-name; exit 3' sh "$D" >/dev/null
    [ "$(field exitCode)" = 3 ]
    records -- python3 -c '
import os, signal, sys, time
for i in range(200):
    pid = os.fork()
    if pid == 0:
        while True:
            os.path.exists(sys.argv[1] + "/s")
    time.sleep(0.0005 * (i % 4))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
print(os.path.exists(sys.argv[1] + "/s"))' "$D" >/dev/null
    expect "$(cat "$X/out")" False
}

@test "nothing inside reaches the device, the server or the mounts" {
    need_fuse
    watch "$D"
    records -- python3 -c '
import os, signal, sys
d = sys.argv[1]
print(sorted(f for f in map(int, os.listdir("/proc/self/fd")) if f > 2 and os.path.exists("/proc/self/fd/%d" % f)))
print(os.path.exists("/dev/fuse"))
for s in (signal.SIGSTOP, signal.SIGKILL, signal.SIGSEGV):
    try:
        os.kill(1, s)
    except PermissionError:
        pass
for t in os.listdir("/proc/1/task"):
    for f in ["cwd"] + ["fd/%d" % i for i in range(32)]:
        try:
            os.readlink("/proc/1/task/%s/%s" % (t, f))
            print("open", f)
        except (PermissionError, FileNotFoundError):
            pass
try:
    open(d + "/s")
except PermissionError:
    print("answered")' "$D" >/dev/null
    expect "$(cat "$X/out")" "[]
False
answered"
    refused "EPERM" sys umount2 "@$D" 2
    refused "EBUSY|EXDEV" sys renameat2 -100 "@$D" -100 "@$W/moved" 0
    untouched
    not grep -F "$D" /proc/self/mounts
}

@test "cut off by the host's root it stays closed" {
    need_fuse
    need_root "needs root"
    mkfifo "$W/go"
    mkdir "$X/connections"
    own "$W"
    start_box -- sh -c '{ stat -c %d "$1" >number.new && mv number.new number; cat go; cat "$1/s"; ls "$1"; echo done; } >out 2>&1' sh "$D"
    until [ -s "$W/number" ]; do
        kill -0 "$BOX_PID"
        sleep 0.05
    done
    local number # fusectl names it by its minor, of which stat shows the upper bits elsewhere
    number=$(cat "$W/number")
    unshare -m --propagation private sh -c '
        mount -t fusectl none "$1" || exit 99
        echo 1 >"$1/$2/abort"' sh "$X/connections" "$((number & 255 | number >> 12 & ~255))"
    echo >"$W/go"
    wait "$BOX_PID" || :
    expect "$(tail -n 1 "$W/out")" "done"
    not grep "$SECRET" "$W/out"
    [ "$(grep -c "$D" "$W/out")" -eq 2 ]
}

@test "without the device, or with nothing hidden, masks are plain and the result says so" {
    if [ "$(id -u)" -eq 0 ]; then
        fuse_device hidden
    elif : <>/dev/fuse; then
        skip "no_fuse: the device is there"
    fi 2>/dev/null
    expect "$(records -- cat "$D/s")" ""
    [ "$(field reads)" = unreported ]
    not grep "$SECRET" "$X/out"
}

@test "a run that hides nothing of its own has no such masks" {
    need_fuse
    OPTIONS=()
    records -- cat /proc/mounts >/dev/null
    not grep " fuse " "$X/out"
    [ "$(field reads)" = unreported ]
    records --exclude "$D" -- cat /proc/mounts >/dev/null
    grep " $D fuse ro,nosuid,nodev,noexec," "$X/out"
}
