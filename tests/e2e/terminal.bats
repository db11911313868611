#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Runs on a terminal, driven by tests/lib/terminal.py as a person would: full-screen programs, job control,
# Ctrl-C and Ctrl-Z, resize, and that nothing inside can type into the terminal outside.

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
    echo 'set enable-bracketed-paste off' >"$O/inputrc"
    export INPUTRC=$O/inputrc
}

teardown() {
    life_teardown
}

# at ARGS…: the script on stdin, for a terminal whose first program is this.
at() {
    python3 "$ABX_SOURCE/tests/lib/terminal.py" "$@" 3>&-
}

# at_run ARGS…: for a terminal whose first program is agentbox itself.
at_run() {
    at "${AS[@]}" "$AGENTBOX" run --approve yes "$@"
}

# at_shell: for a terminal with an interactive shell outside; BOX is the program in it.
at_shell() {
    at "${AS[@]}" env "BOX=$AGENTBOX" 'PS1=outer> ' bash --norc --noprofile -i
}

@test "a terminal of its own: tty names it, all three streams are on it" {
    at_run -- sh -c 'tty; test -t 0 && test -t 1 && test -t 2 && echo "all three"; ls -l /proc/self/fd' <<'STEPS'
expect /dev/pts/\d+\r
expect all three\r
expect 0 -> /dev/pts/\d+\r
exit 0
STEPS
}

@test "the size is the outer one, and a resize reaches inside" {
    at --size 33x101 "${AS[@]}" "$AGENTBOX" run -- \
        bash -c 'trap "stty size; exit 4" WINCH; stty size; while :; do sleep 0.05; done' <<'STEPS'
expect 33 101\r
size 44 122
expect 44 122\r
exit 4
STEPS
}

@test "Ctrl-C ends the command, and the status says so" {
    # exec: dash, also without us, loses a SIGINT that comes while it starts a process
    at_run -- sh -c 'echo ready; exec sleep 60' <<'STEPS'
expect ready
send \x03
exit 130
STEPS
    at_run -- bash -c 'trap "echo caught; exit 9" INT; echo ready; while :; do sleep 0.05; done' <<'STEPS'
expect ready
send \x03
expect caught
exit 9
STEPS
}

@test "Ctrl-\\ and Ctrl-D mean what they mean" {
    at_run -- sh -c 'ulimit -c 0; echo ready; exec sleep 60' <<'STEPS'
expect ready
send \x1c
exit 131
STEPS
    at_run -- sh -c 'echo ready; cat; echo end; exit 6' <<'STEPS'
expect ready
send abc\r
expect abc\r\nabc\r
send \x04
expect end
exit 6
STEPS
}

@test "bytes pass unchanged both ways" {
    at_run -- bash -c 'stty raw -echo; echo ready; head -c 5 | od -An -tx1; printf "\033[31m\377x"' <<'STEPS'
expect ready
send \x03\x1a\xff\x00\x04
expect 03 1a ff 00 04
expect \x1b\[31m\xff?
exit 0
STEPS
}

@test "much output arrives complete" {
    at_run -- sh -c 'seq 1 30000; echo the-end' <<'STEPS'
expect \r\n12345\r
expect 30000\r\nthe-end\r
exit 0
STEPS
}

@test "a full-screen editor edits and saves" {
    need vi
    at_run -- vi -u NONE -i NONE -n text <<'STEPS'
expect text
send ihello from inside\x1b
send :wq\r
exit 0
STEPS
    [ "$(cat text)" = "hello from inside" ]
}

@test "a pager pages" {
    need less
    seq 1 5000 >numbers
    at_run --unset-env LESS -- less numbers <<'STEPS'
expect 22\r\n
send G
expect 4999\r\n5000\r\n
send q
exit 0
STEPS
}

@test "an interactive shell inside has job control" {
    at_run --env 'PS1=inner> ' -- bash --norc --noprofile -i <<'STEPS'
expect inner> 
refuse no job control
send sh -c 'echo up; exec sleep 61'\r
expect \r\nup\r
send \x1a
expect Stopped +sh
send jobs\r
expect \[1\]\+ +Stopped +sh
send fg\r
expect fg\r\n.*sleep 61.\r\n
refuse inner
send \x03
expect inner> 
send sleep 62 &\r
expect \[1\] \d+
send kill %1; wait; echo waited\r
expect \r\nwaited
send exit 7\r
exit 7
STEPS
}

@test "Ctrl-Z stops a plain command and agentbox; fg in the outer shell goes on with both" {
    at_shell <<'STEPS'
expect outer> 
send $BOX run -- sh -c 'echo ready; until [ -e go ]; do :; done; echo went on; exit 5'\r
expect \r\nready
send \x1a
expect Stopped
expect outer> 
send jobs\r
expect \[1\]\+ +Stopped
send touch go; stty -a | grep -c -w -e icanon\r
expect \r\n1\r
refuse went on
send fg\r
expect went on
expect outer> 
send echo status $?\r
expect status 5\r
send exit\r
exit 0
STEPS
}

@test "Ctrl-Z twice, then Ctrl-C" {
    at_shell <<'STEPS'
expect outer> 
send $BOX run -- sh -c 'echo up; exec sleep 63'\r
expect \r\nup\r
send \x1a
expect Stopped
expect outer> 
send fg\r
expect fg\r\n
refuse outer> $
send \x1a
expect Stopped
expect outer> 
send fg\r
expect fg\r\n
refuse outer> $
send \x03
expect outer> 
send echo status $?\r
expect status 130\r
send exit\r
exit 0
STEPS
}

@test "bg after Ctrl-Z: it goes on behind the shell, and shows its output" {
    at_shell <<'STEPS'
expect outer> 
send before=$(stty -g); same() { [ "$(stty -g)" = "$before" ] && echo "is same $1" || echo "is other $1"; }; echo defined\r
expect \r\ndefined
send $BOX run -- sh -c 'echo ready; until [ -e go ]; do :; done; echo went on; until [ -e end ]; do :; done; exit 5'\r
expect \r\nready
send \x1a
expect Stopped
send bg\r
expect outer> 
send touch go\r
expect went on
refuse Stopped
send jobs\r
expect \[1\]\+ +Running
send same 1\r
expect is same 1
send touch end; wait; same 2\r
expect Exit 5
expect is same 2
send exit\r
exit 0
STEPS
}

@test "fg after bg: keys and Ctrl-C are for the command again" {
    at_shell <<'STEPS'
expect outer> 
send before=$(stty -g); same() { [ "$(stty -g)" = "$before" ] && echo "is same $1" || echo "is other $1"; }; echo defined\r
expect \r\ndefined
send $BOX run -- bash -c 'trap "echo caught; exit 9" INT; echo ready; while IFS= read -rsn 1 key; do echo "got <$key>"; done'\r
expect \r\nready
send \x1a
expect Stopped
send bg\r
expect outer> 
send echo for the shell\r
expect \r\nfor the shell
refuse got <
send fg\r
expect fg\r\n.*run --.*\n
send k
expect got <k>
send \x1a
expect Stopped
send bg\r
expect outer> 
send fg\r
expect fg\r\n.*run --.*\n
send l
expect got <l>
send \x03
expect caught
expect outer> 
send echo status $?; same 1\r
expect status 9
expect is same 1
send exit\r
exit 0
STEPS
}

@test "a run that bg put behind, or that is stopped, is ended by kill %1" {
    local ways=('bg; echo behind' 'bg; sleep 0.6; echo behind' 'echo behind') way

    for way in "${ways[@]}"; do
        at_shell <<STEPS
expect outer> 
send before=\$(stty -g); same() { [ "\$(stty -g)" = "\$before" ] && echo "is same \$1" || echo "is other \$1"; }; echo defined\r
expect \r\ndefined
send \$BOX run -- sh -c 'echo ready; exec sleep 5000.$MARK'\r
expect \r\nready
send \x1a
expect Stopped
send $way\r
expect \r\nbehind
send kill %1; wait -f %1; echo status \$?; same 1\r
expect status 143
expect is same 1
send exit\r
exit 0
STEPS
        within 5 nothing_left
    done
}

@test "SIGSTOP, bg and fg: the terminal is the shell's, then the command's, then as it was" {
    at_shell <<'STEPS'
expect outer> 
send before=$(stty -g); same() { [ "$(stty -g)" = "$before" ] && echo "is same $1" || echo "is other $1"; }; echo defined\r
expect \r\ndefined
send (until [ -e up ]; do sleep 0.1; done; pkill -STOP -n -f "run -- bash -c .* $$\x24") &\r
expect outer> 
send $BOX run -- bash -c 'echo ready; touch up; while IFS= read -rsn 1 key; do echo "got <$key>"; done' x $$\r
expect \r\nready\r
expect Stopped
send same 1\r
expect is same 1
send bg %+\r
expect outer> 
send same 2\r
expect is same 2
refuse Stopped
refuse got <
send fg\r
expect fg\r\n.*run --.*\n
send k
expect got <k>
send \x03
expect outer> 
send same 3\r
expect is same 3
send exit\r
exit 0
STEPS
}

@test "a stopped run that is killed leaves nothing" {
    at_shell <<'STEPS'
expect outer> 
send $BOX run -- sh -c 'echo ready; exec sleep 60'\r
expect \r\nready
send \x1a
expect Stopped
send kill -9 %1; sleep 0.1; jobs\r
expect Killed
send exit\r
exit 0
STEPS
    within 5 nothing_left
}

@test "the outer terminal is as before, however the run ends" {
    at_shell <<'STEPS'
expect outer> 
send before=$(stty -g); same() { [ "$(stty -g)" = "$before" ] && echo "is same $1" || echo "is other $1"; }; echo defined\r
expect \r\ndefined
send $BOX run -- true; same 1\r
expect is same 1
send $BOX run -- stty raw -echo; same 2\r
expect is same 2
send $BOX run --approve yes -- sh -c 'stty raw -echo; kill -9 $$'; same 3\r
expect is same 3
send $BOX run --timeout 300ms -- sleep 60; same 4\r
expect is same 4
send $BOX run -- no-such-program; same 5\r
expect is same 5
send (until kill -9 $(pgrep -P $(pgrep -n -f "run -- sleep 64.$$") -x agentbox-keeper); do sleep 0.1; done 2>/dev/null) & $BOX run -- sleep 64.$$; same 6\r
expect is same 6
send (sleep 0.5; pkill -TERM -n -f "run -- sleep 65.$$") & $BOX run -- sleep 65.$$; same 7\r
expect is same 7
send exit\r
exit 0
STEPS
}

@test "hanging up ends everything" {
    at_run -- sh -c "echo ready; sleep 5000.$MARK & sleep 5000.$MARK" <<'STEPS'
expect ready
hangup
exit 129
STEPS
    within 5 nothing_left
}

@test "nothing inside can type into the terminal outside" {
    cat >"$O/type.py" <<'PY'
import fcntl, os, sys, termios
def attempt(name, fd, request):
    try:
        fcntl.ioctl(fd, request, b"#")
        print(name, "typed")
    except OSError as e:
        print(name, "refused", e.errno)
for fd in (0, 1, 2):
    attempt(f"TIOCSTI {fd}", fd, termios.TIOCSTI)
try:
    attempt("TIOCSTI tty", os.open("/dev/tty", os.O_RDWR), termios.TIOCSTI)
except OSError as e:
    print("TIOCSTI tty refused: none", e.errno)
attempt("TIOCLINUX", 0, 0x541C)
sys.stdout.flush()
PY
    at_shell <<STEPS
expect outer> 
send \$BOX run -- /usr/bin/python3 $O/type.py\r
expect TIOCSTI 0 refused
expect TIOCSTI 1 refused
expect TIOCSTI 2 refused
expect TIOCSTI tty refused
expect TIOCLINUX refused
expect outer> 
refuse #
send \$BOX run -- /usr/bin/python3 $O/type.py | cat\r
expect TIOCSTI 0 refused
expect outer> 
refuse #
send exit\r
exit 0
STEPS
}

@test "a pipe on one side: streams are passed through" {
    at_shell <<'STEPS'
expect outer> 
send echo from-pipe | $BOX run -- cat\r
expect \r\nfrom-pipe
send $BOX run -- sh -c 'test -t 1 || echo no-tty' | cat\r
expect \r\nno-tty
send exit\r
exit 0
STEPS
}

@test "a run in the background leaves the terminal alone" {
    at_shell <<'STEPS'
expect outer> 
send $BOX run -- sh -c 'sleep 0.3; echo in-background' &\r
expect outer> 
expect in-background
send echo $((40 + 2))\r
expect 42\r
send wait; echo waited\r
expect \r\nwaited
send exit\r
exit 0
STEPS
}

@test "a run in the background does not get what is typed for the shell" {
    at_shell <<'STEPS'
expect outer> 
send $BOX run -- sh -c 'while read -r line; do echo "stole: $line"; done' &\r
expect outer> 
refuse nothing-yet
send echo one\r
expect \r\none\r
refuse stole: [a-z]
send echo two\r
expect \r\ntwo\r
refuse stole: [a-z]
send kill %1; wait; exit\r
exit 0
STEPS
}

@test "a run in the background gets the terminal by none of its streams" {
    cat >"$W/reader.py" <<'PY'
import os, select, sys, termios
print("a terminal" if os.isatty(2) else "none", file=sys.stderr, flush=True)
modes = termios.tcgetattr(2)
modes[3] &= ~termios.ECHO
termios.tcsetattr(2, termios.TCSANOW, modes)
os.close(os.open("up", os.O_CREAT))
with open("stolen", "wb", buffering=0) as out:
    while not os.path.exists("go"):
        if select.select([2], [], [], 0.1)[0]:
            out.write(os.read(2, 100))
print("line one\nline two", file=sys.stderr)
PY
    for redirect in '' '</dev/null' '>/dev/null' '</dev/null >/dev/null' '</dev/null | cat'; do
        rm -f "$W"/{up,stolen,go}
        at_shell <<STEPS
expect outer> 
send before=\$(stty -g); echo \$((40 + 2))\r
expect 42\r
send \$BOX run -- python3 reader.py $redirect &\r
expect a terminal
shell until [ -e "$W/up" ]; do sleep 0.05; done
send echo s3cret-pass\r
expect \r\ns3cret-pass\r
send echo again-typed\r
expect \r\nagain-typed\r
send [ "\$before" = "\$(stty -g)" ] && echo same-\$((40 + 2))\r
expect same-42
shell touch "$W/go"
expect line one\r+\nline two\r+\n
send wait; exit 0\r
exit 0
STEPS
        [ -e "$W/stolen" ]
        [ ! -s "$W/stolen" ]
    done
}

@test "output that goes elsewhere is not on the screen, with a terminal for the rest" {
    at_shell <<'STEPS'
expect outer> 
send $BOX run -- sh -c 'test -t 0 && test -t 1 && ! test -t 2 && echo "on screen"; echo "for the file" >&2' 2>err; cat err\r
expect on screen\r
expect for the file\r
send grep -c 'on screen' err\r
expect \r\n0\r
send exit 0\r
exit 0
STEPS
}

@test "in tmux: a run, a resize, a full-screen program" {
    need tmux
    sock=$O/tmux
    T() { tmux -f /dev/null -S "$sock" "$@" 3>&-; }
    T new-session -d -x 90 -y 30 "${AS[@]}" env TERM=screen "$AGENTBOX" run -- \
        bash -c 'trap "stty size" WINCH; stty size; echo ready; while [ ! -e stop ]; do sleep 0.05; done'
    shows() { T capture-pane -p | grep -q "$1"; }
    within 5 shows ready
    shows '^30 90' || shows '^29 90'
    T resize-window -x 70 -y 20
    within 5 shows ' 70$'
    touch stop
    within 5 sh -c "! tmux -S '$sock' has-session 2>/dev/null"
}
