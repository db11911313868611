#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2069,SC2154
# What a run was refused: seen, explained, counted; and nothing that was not.

load ../lib/e2e
load ../lib/violations

# told PATH CALL GRANT ATTEMPT…: one record with that grant, and with it the attempt works.
told() {
    local path=$1 call=$2 grant=$3
    shift 3
    expect "$(records -- "$PAYLOAD" "$@")" "file-write|$path|$call|default|built-in|1|--rw $grant"
    expect "$(records --rw "$grant" -- "$PAYLOAD" "$@")" ""
    expect "$(cat "$X/out")" ok
}

@test "each way to change a file outside is told with its rule, and the grant makes it pass" {
    told "$O/f" openat "$O/f" write "$O/f" x
    told "$O/f" openat "$O/f" append "$O/f" x
    told "$O/f" truncate "$O/f" sys truncate "@$O/f" 0
    told "$O/f" fchmodat "$O/f" sys fchmodat -100 "@$O/f" 0640
    told "$O/f" utimensat "$O/f" sys utimensat -100 "@$O/f" 0 0
    told "$O/new" openat "$O" create "$O/new"
    told "$O/dir" mkdirat "$O" sys mkdirat -100 "@$O/dir" 0777
    told "$O/link" symlinkat "$O" sys symlinkat @x -100 "@$O/link"
    told "$O/pipe" mknodat "$O" sys mknodat -100 "@$O/pipe" 010644 0
    told "$O/pipe" unlinkat "$O" sys unlinkat -100 "@$O/pipe" 0
    told "$O/dir" unlinkat "$O" sys unlinkat -100 "@$O/dir" 0x200
}

@test "a rename tells about both ends, and a name through links and dots as what it is" {
    expect "$(records -- "$PAYLOAD" sys renameat2 -100 "@$O/f" -100 "@$O/g" 0)" \
        "file-write|$O/f|renameat2|default|built-in|1|--rw $O
file-write|$O/g|renameat2|default|built-in|1|--rw $O"
    ln -s "$O" "$W/way"
    expect "$(records -- "$PAYLOAD" write way/../o/sub/../f x)" \
        "file-write|$O/f|openat|default|built-in|1|--rw $O/f"
    expect "$(inside_records 'cd way/sub && "$P" create ../new')" \
        "file-write|$O/new|openat|default|built-in|1|--rw $O"
}

@test "protected names and rules of files are told with where they come from" {
    host_git -C "$W" init -q
    echo x >"$W/keep"
    printf '{\n  "filesystem": { "ro": ["keep"] }\n}\n' >"$W/.agentbox.jsonc"
    own "$W"
    records -- "$PAYLOAD" write keep x >"$X/lines"
    expect "$(cat "$X/lines")" "file-write|$W/keep|openat|ro keep|project|1|--rw $W/keep"
    python3 -c '
import json, sys
v, = json.load(open(sys.argv[1]))["violations"]
assert v["source"].startswith(sys.argv[2] + "/.agentbox.jsonc:2:"), v
assert v["attempt"] is True and v["process"] == "payload" and v["pid"] > 1, v' "$X/r.json" "$W"
    expect "$(records -- "$PAYLOAD" write .git/config x | cut -d'|' -f1,2,5)" \
        "file-write|$W/.git/config|built-in"
    expect "$(records -- "$PAYLOAD" sys mkdirat -100 @.vscode 0777 | cut -d'|' -f1,2,4)" \
        "file-write|$W/.vscode|protected .vscode"
    expect "$(cat "$X/out")" EEXIST
    expect "$(records -- "$PAYLOAD" sys renameat2 -100 @.git -100 @x 0 | cut -d'|' -f1,2)" \
        "file-write|$W/.git"
    expect "$(cat "$X/out")" EBUSY
}

@test "what is hidden is told when it is to be written or removed; reading it when learning" {
    expect "$(records -- "$PAYLOAD" write "$D/s" x | cut -d'|' -f1,2,4)" \
        "file-write|$D/s|--exclude $D"
    expect "$(records -- "$PAYLOAD" sys unlinkat -100 "@$D/s" 0 | cut -d'|' -f1,2,4)" \
        "file-write|$D/s|--exclude $D"
    expect "$(records --monitor writes -c "cat $D/s")" ""
    [ "$(field reads)" = unreported ]
    expect "$(records --set monitor=learn -c "cat $D/s; cat $D/deep/s" | cut -d'|' -f1,2,4)" \
        "file-read|$D/s|--exclude $D
file-read|$D/deep/s|--exclude $D"
    [ "$(field reads)" = reported ]
}

@test "connections that have no way out are told, those to itself are not" {
    expect "$(records --network blocked -- "$PAYLOAD" inet tcp 192.0.2.7 443)" \
        "network|192.0.2.7:443|connect|network.mode blocked|command line|1|--network filtered --allow-domain 192.0.2.7:443"
    expect "$(records --network blocked -- "$PAYLOAD" inet tcp 2001:db8::7 443 | cut -d'|' -f7)" \
        "--network filtered --allow-domain [2001:db8::7]:443"
    # whose name was looked up nobody knows
    expect "$(records --network blocked -- "$PAYLOAD" inet udp 192.0.2.7 53 | cut -d'|' -f1,2,7)" \
        "network|192.0.2.7:53|--network filtered"
    run report --network blocked -- "$PAYLOAD" inet udp 192.0.2.7 53
    [[ $output == *"network 192.0.2.7:53: "*"; to allow a host: --allow-domain HOST --network filtered"* ]]
    expect "$(records --network blocked -- "$PAYLOAD" loopback)" ""
    expect "$(cat "$X/out")" ok
}

@test "namespaces and mounts are told and refused; namespaces are allowed by their grant" {
    local user=0x10000000
    expect "$(records -- "$PAYLOAD" sys unshare $user)" \
        "process||unshare|seccomp|built-in|1|--set allowNestedNamespaces=true"
    expect "$(cat "$X/out")" EPERM
    expect "$(records -- "$PAYLOAD" clone $user | cut -d'|' -f1,3)" "process|clone"
    # what takes a capability would be refused with it, too
    expect "$(records -- "$PAYLOAD" sys mount @x @/mnt @tmpfs 0 0 | cut -d'|' -f1,3,7)" "process|mount|"
    expect "$(cat "$X/out")" EPERM
    expect "$(records -- "$PAYLOAD" sys syslog 3 0 0 | cut -d'|' -f1,3,7)" "other|syslog|"
    expect "$(records --set allowNestedNamespaces=true -- "$PAYLOAD" sys unshare $user)" ""
    expect "$(cat "$X/out")" ok
    [ "$(field monitor)" = none ]
}

@test "limits that were hit are told" {
    expect "$(records --timeout 1s -c 'sleep 60')" "other||time|timeout|limits|1|a longer --timeout"
    expect "$(records --cpu-seconds 1 -c 'while :; do :; done' | cut -d'|' -f1,3,4)" \
        "other|processor time|resourceLimits.maxCPUSeconds"
}

@test "the same thing again is counted, not told again" {
    expect "$(inside_records 'for i in 1 2 3 4 5; do echo x 2>/dev/null >"$O/f"; done')" \
        "file-write|$O/f|openat|default|built-in|5|--rw $O/f"
}

@test "who is busy with files is watched by a thread, and told as exactly as before" {
    mkdir "$O/sub/deep"
    touch "$O/sub/one" "$O/sub/deep/two"
    cat >"$W/busy.py" <<'PY'
import os, shutil
outside = os.environ["O"]
def threads(): return len(os.listdir("/proc/1/task"))
def make(path): # a new name, as the monitor remembers directories
    try: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    except OSError: return
def remove(name, fd):
    try: os.unlink(name, dir_fd=fd)
    except OSError: pass
before = threads() # one more may serve masks
os.mkdir("d")
for i in range(500): make(f"d/{i}")
assert threads() == before + 1, threads()
fd = os.open("d", os.O_RDONLY)
for i in range(400): remove(str(i), fd)
os.dup2(os.open(outside + "/sub", os.O_RDONLY), fd)
remove("one", fd)                       # the descriptor is another
shutil.rmtree(outside + "/sub/deep", ignore_errors=True)
for i in range(100): make(f"d/n{i}")
here = os.getcwd()
os.chdir(outside)
make("new")                             # so is the directory
os.chdir(here)
for i in range(100): make(f"d/m{i}")
os.rename("d", "e")
os.symlink(outside, "d")
make("d/linked")                        # and the name
shutil.rmtree("e")
PY
    own "$W" "$O"
    expect "$(records --env O="$O" -- python3 busy.py | cut -d'|' -f2 | sort)" \
        "$O/linked
$O/new
$O/sub/deep
$O/sub/deep/two
$O/sub/one"
    expect "$(cat "$X/out")" ""
    [ "$(field exitCode)" = 0 ]
}

@test "where few processes are allowed none goes to the monitor" {
    expect "$(records --pids 60 -- python3 -c '
import os
before = os.listdir("/proc/1/task")
os.mkdir("d")
for i in range(600): os.close(os.open(f"d/{i}", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
print(os.listdir("/proc/1/task") == before)')" ""
    expect "$(cat "$X/out")" True
}

@test "ordinary work leaves no record" {
    host_git -C "$W" init -q
    host_git -C "$W" config user.name t
    host_git -C "$W" config user.email t@t
    printf 'int main(void) { return 0; }\n' >"$W/m.c"
    printf 'm: m.c\n\tcc -o m m.c\n' >"$W/Makefile"
    own "$W"
    expect "$(inside_records 'set -e
        make -s && ./m
        git add m.c Makefile && git commit -q -m one && git switch -q -c b && git status -s
        mkdir -p a/b && cp m.c a/b && mv a/b/m.c a/x && ln -s x a/l && chmod 600 a/x && touch a/x && rm -r a
        python3 -c "import json, tempfile, subprocess; tempfile.TemporaryFile(); subprocess.run([\"true\"])"
        echo x >/tmp/x; echo y >/dev/null; echo z >&2; ls -lR . >/dev/null
        echo hello | sort | tee f >/dev/null
        rm -f /usr/not-there; mkdir -p /usr/bin /tmp/a/b; exec 3<>/tmp/x; id >/dev/null')" ""
    [ "$(field monitor)" = notify ]
    [ "$(field exitCode)" = 0 ] || { cat "$X/out"; false; }
}

@test "what the user may not do outside either is no violation" {
    [ "$WHO" = user ] || skip "root: may write everything"
    expect "$(records -- "$PAYLOAD" create /etc/new)" ""
    expect "$(cat "$X/out")" EROFS
}

@test "without a monitor everything is refused all the same, and nothing is told" {
    expect "$(records --monitor off -- "$PAYLOAD" write "$O/f" x)" ""
    expect "$(cat "$X/out")" EROFS
    [ "$(field monitor)" = none ]
    expect "$(records --monitor writes -- "$PAYLOAD" sys mkdirat -100 "@$O/dir" 0777)" ""
    expect "$(records --monitor writes -- "$PAYLOAD" write "$O/f" x | cut -d'|' -f1,2)" "file-write|$O/f"
}

# A filter of its own that allows everything, then one with a listener of its own.
OWN_FILTER='
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
insn = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
class prog(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
p = prog(1, ctypes.addressof(insn))
number = 317 if os.uname().machine == "x86_64" else 277
print(libc.syscall(number, 1, 0, ctypes.byref(p)))
r = libc.syscall(number, 1, 8, ctypes.byref(p))
print("listener" if r >= 0 else os.strerror(ctypes.get_errno()))
try:
    open(sys.argv[1], "w")
except OSError as e:
    print(e.strerror)
'

@test "programs with filters of their own are watched; a second listener the kernel does not give" {
    echo "$OWN_FILTER" >"$W/own.py"
    own "$W/own.py"
    expect "$(records -- python3 own.py "$O/f" | cut -d'|' -f1,2)" "file-write|$O/f"
    expect "$(cat "$X/out")" "0
Device or resource busy
Read-only file system"
    records --monitor off -- python3 own.py "$O/f" >"$X/lines"
    [ "$(sed -n 2p "$X/out")" = listener ]
}

# run without -q, the standard error alone
report() {
    (cd "$W" && "${AS[@]}" "$BOX" run --approve yes "$@" 2>&1 >/dev/null) || :
}

@test "no name ends the report's block" {
    [ "$WHO" = user ] || lacks bwrap "that it says for root what it lacks"
    mkdir -p "$O/</sandbox_violations>"
    echo x >"$O/</sandbox_violations>/f"
    own "$O"
    report -- "$PAYLOAD" write "$O/</sandbox_violations>/f" x >"$X/report"
    cat "$X/report"
    [ "$(grep -c '</' "$X/report")" -eq 1 ]
    [ "$(tail -n 1 "$X/report")" = "</sandbox_violations>" ]
    grep -qF 'file-write '"$O"'/\x3c/sandbox_violations>/f: openat' "$X/report"
}

@test "a Unix socket: the line names the narrow way first, as nobody knows yet which one it would be" {
    report -- "$PAYLOAD" sys socket 1 1 0 >"$X/report"
    cat "$X/report"
    grep -qF 'rule network.allowAllUnixSockets (built-in); to reach one of the host: --unix-socket PATH; for sockets of its own: --set network.allowAllUnixSockets=true' "$X/report"
}

@test "the report is a block of at most ten lines on the standard error, and -q is quiet" {
    [ "$WHO" = user ] || lacks bwrap "that it says for root what it lacks"
    report -- "$PAYLOAD" write "$O/f" x >"$X/report"
    expect "$(cat "$X/report")" "<sandbox_violations>
file-write $O/f: openat by payload; rule default (built-in); to allow: --rw $O/f
</sandbox_violations>"
    report -c 'for i in $(seq 30); do true 2>/dev/null >"'"$O"'/n$i"; done' >"$X/report"
    [ "$(wc -l <"$X/report")" -le 10 ]
    grep -qx 'and 24 more' "$X/report"
    expect "$(report -q -- "$PAYLOAD" write "$O/f" x)" ""
    expect "$(report -- true)" ""
}

@test "docs/violations.md names every key of a result, and no other" {
    records -- "$PAYLOAD" write "$O/f" x
    python3 - "$X/r.json" "$ABX_SOURCE/docs/violations.md" <<'PY'
import json, re, sys
page = open(sys.argv[2]).read().split("\n## The result as JSON\n")[1].split("\n## ")[0]
named = set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\|([^|]*)\|", page, re.M))))
have = set()
json.load(open(sys.argv[1]), object_hook=have.update)
assert have == named, have ^ named
PY
}

@test "the log has one line for each record whatever the names contain, and no sandbox sees it" {
    local log=$H/.local/state/agentbox/log/violations.jsonl
    report -c ': >"'"$O"'/a
b
{\"time\":1}"' >/dev/null
    report -- "$PAYLOAD" write "$O/f" x >/dev/null
    [ "$(stat -c %a "$log")" = 600 ]
    [ "$(wc -l <"$log")" -eq 2 ]
    as_who "$BOX" log --json | python3 -c '
import json, sys
a, b = [json.loads(l) for l in sys.stdin]
assert "\n" in a["path"] and b["path"] == sys.argv[1] and b["program"], (a, b)
assert b["cwd"] == sys.argv[2]' "$O/f" "$W"
    [ "$(as_who "$BOX" log | wc -l)" -eq 2 ]
    [ "$(as_who "$BOX" log -n 1 | grep -c "file-write $O/f")" -eq 1 ]
    not box -- cat "$log"
    not box --rw "$H" -- cat "$log"
    inside "rm -rf $H/.local 2>/dev/null; echo x >$log" || :
    [ "$(head -n 1 "$log" | cut -c1-8)" = '{"run":"' ]
    box --log "$X/mine" -- "$PAYLOAD" write "$O/f" x
    [ "$(wc -l <"$X/mine")" -eq 1 ]
    [ "$(stat -c %a "$X/mine")" = 600 ]
    rm "$X/mine" && ln -s "$H/else" "$X/mine"
    not box --log "$X/mine" -- true
    [ ! -e "$H/else" ]
}

# full DIRECTORY: from now on the box finds a full disk there.
full() {
    local as=(env HOME="$H")
    ! is_other || as=(setpriv --reuid="$USER_ID" --regid="$USER_ID" --clear-groups "${as[@]}")
    [ "$WHO" = root ] || lacks bwrap "that its owner must be seen"
    # shellcheck disable=SC2016 # its own shell's
    AS=("${as[@]}" unshare -Urm sh -c 'mount -t tmpfs -o size=4k,mode=777 none "$0" &&
        dd if=/dev/zero of="$0/fill" bs=4k count=1 2>/dev/null && exec "$@"' "$1")
}

@test "a log that was asked for and cannot be written is told, once, and the run does not fail for it" {
    local log=$X/full/mine
    mkdir "$X/full"
    chmod 755 "$X"
    full "$X/full"
    run box --log "$log" -- sh -c "echo x >'$O/f'; exit 7"
    [ "$status" -eq 7 ]
    run report --log "$log" -- sh -c "echo x >'$O/f'; echo x >'$O/g'"
    echo "$output"
    [ "$(grep -c "the log '$log' could not be written: No space left on device" <<<"$output")" -eq 1 ]
    run report --log "$log" -- true
    [[ $output != *"could not be written"* ]]
}

@test "a command changes no log that is kept of it, wherever that lies" {
    mkdir -p "$W/logs [1]*"
    own "$W"
    local log
    for log in "$W/mine" "$W/logs [1]*/mine"; do
        box --log "$log" -- "$PAYLOAD" write "$O/f" x || :
        [ "$(wc -l <"$log")" -eq 1 ]
        # shellcheck disable=SC2016 # for the shell inside
        box --log "$log" --rw "$log" --env L="$log" -c 'for i in "echo forged >>\"$L\"" ": >\"$L\"" "rm -f \"$L\"" "mv \"$L\" other" "mv \"${L%/*}\" other"; do
            (eval "$i"); done; echo >new' 2>"$X/err" || :
        [ -e "$W/new" ]
        [ "$(head -n 1 "$log" | cut -c1-8)" = '{"run":"' ]
        not grep -q forged "$log"
        [ "$(grep -c "\"path\":\"$O/f\"" "$log")" -eq 1 ]
    done
}

@test "without HOME the log is in the home of the account, where it is looked for with HOME" {
    need_root "needs a user database of its own"
    local id=0
    ! is_other || id=$USER_ID
    echo "someone:x:$id:$id::$H:/bin/sh" >"$X/passwd"
    chmod 644 "$X/passwd"
    (cd "$W" && unshare -m sh -c 'mount --bind "$0" /etc/passwd && exec "$@"' "$X/passwd" "${AS[@]}" env -u HOME \
        "$BOX" run -- "$PAYLOAD" write "$O/f" x 3>&-) || :
    [ "$(grep -c "file-write $O/f" "$H/.local/state/agentbox/log/violations.jsonl")" -eq 1 ]
    expect "$(as_who "$BOX" log | grep -c "file-write $O/f")" 1
}

@test "a log that is full becomes the old one, and one that is not ours is left alone" {
    local log=$H/.local/state/agentbox/log/violations.jsonl
    report -- "$PAYLOAD" write "$O/f" x >/dev/null
    python3 - "$log" <<'PY'
import sys
line = open(sys.argv[1]).read()
with open(sys.argv[1], "a") as log:
    log.write(line * ((4 << 20) // len(line) - 1)) # the next one does not fit
PY
    local before
    before=$(cksum <"$log")
    report -- "$PAYLOAD" create "$O/new" >/dev/null
    expect "$(cksum <"$log.1")" "$before"
    [ "$(wc -l <"$log")" -eq 1 ]
    [ "$(stat -c %a "$log" "$log.1" | sort -u)" = 600 ]
    expect "$(as_who "$BOX" log -n 2 | sed 's/.*file-write \([^:]*\):.*/\1/')" "$O/f
$O/new"
    report -- "$PAYLOAD" create "$O/new" >/dev/null # the old one stays until the new one is full
    expect "$(cksum <"$log.1")" "$before"
    rm "$log"
    ln -s "$H/else" "$log"
    report -- "$PAYLOAD" create "$O/new" >/dev/null
    [ ! -e "$H/else" ]
}

@test "learn proposes the grants that a command needs, and with them it runs clean" {
    mkdir -p "$H/cache/tool" "$H/.ssh"
    echo key >"$H/.ssh/id"
    own "$H"
    local text='echo a >"$HOME/cache/tool/a" && echo b >"'"$O"'/f" && echo out && cat "$HOME/.ssh/id" >/dev/null 2>&1; grep -qx b "'"$O"'/f"'
    learn -c "$text" >"$X/proposed"
    cp "$X/proposed" "$W/.agentbox.jsonc"
    cat "$W/.agentbox.jsonc"
    grep -q '"~/cache/tool",' "$W/.agentbox.jsonc"
    grep -q "\"$O/f\"," "$W/.agentbox.jsonc"
    [ "$(grep -c '^      "' "$W/.agentbox.jsonc")" -eq 2 ]
    grep -q '//.*file-read.*/.ssh' "$W/.agentbox.jsonc"
    grep -qx out "$X/err"
    own "$W"
    (cd "$W" && "${AS[@]}" "$BOX" config validate >/dev/null && "${AS[@]}" "$BOX" config trust >/dev/null)
    echo outside >"$O/f"
    expect "$(records --env HOME="$H" -c "$text" | grep -v ^file-read)" ""
    [ "$(cat "$O/f")" = b ]
}

# flood STATUS: a run whose host is stopped meanwhile has more to tell than it can, and ends with that status.
flood() {
    start_box --result "$X/r.json" -- python3 -c '
import os, sys, time
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
for i in range(400):
    for again in range(2):
        try:
            open(sys.argv[1] + "/%d-" % i + "x" * 200, "w")
        except OSError:
            pass
open("done", "w").close()
os._exit(int(sys.argv[2]))' "$O" "$1" >"$X/out" 2>&1
    wait_for test -e "$W/ready"
    INIT=$(pgrep -P "$(pgrep -P "$BOX_PID" -x agentbox-keeper)")
    kill -STOP "$BOX_PID"
    touch "$W/go"
    wait_for test -e "$W/done"
    sleep 0.3 # pid 1 is at its last words by now
}

@test "a host that is late hears at the end how much it missed" {
    flood 0
    kill -CONT "$BOX_PID"
    wait "$BOX_PID"
    python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))
told = r["violations"]
assert 0 < len(told) < 400 and r["violationsDropped"] > 0, (len(told), r["violationsDropped"])
assert all(v["count"] == 2 for v in told), [v["count"] for v in told][:9]' "$X/r.json"
}

@test "a host that does not read for seconds hears the command's own status all the same" {
    flood 7
    sleep 2.5
    kill -CONT "$BOX_PID"
    local status=0
    wait "$BOX_PID" || status=$?
    [ "$status" -eq 7 ]
    [ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["exitCode"])' "$X/r.json")" = 7 ]
}

init_gone() { [ ! -e "/proc/$INIT" ]; }

@test "pid 1 waits with its last words for a host that is stopped, not for one that is gone" {
    flood 0
    not init_gone
    kill -KILL "$BOX_PID"
    wait_for init_gone
}
