#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The back end bwrap: the system's bubblewrap makes namespaces and view, pid 1 looks whether they are
# what was planned. For root it lacks something, so there a run needs fallbackPolicy warn.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
bats_require_minimum_version 1.5.0
PREFIX=()
load ../lib/e2e

setup() {
    need_who
    [ -x /usr/bin/bwrap ] || skip "bwrap: not installed"
    fixture "$FIX/t$BATS_TEST_NUMBER"
    OPTIONS+=(--backend bwrap)
    [ "$WHO" != root ] || OPTIONS+=(--set fallbackPolicy=warn)
}

# with_bwrap FILE [OPTION…]: a box on a host where that is /usr/bin/bwrap; $FIX/bwrap is the real one.
with_bwrap() {
    [ "$(id -u)" -eq 0 ] || skip "root: mounting needs it"
    local file=$1
    shift
    cp -p /usr/bin/bwrap "$FIX/bwrap"
    unshare -m --propagation private -- bash -c '
        mount --bind "$1" /usr/bin/bwrap; cd "$2"; shift 2; exec "$@"' bash "$file" "$W" \
        "${PREFIX[@]}" "${AS[@]}" "$BOX" run -q --approve yes "${OPTIONS[@]}" --env W="$W" --env D="$D" --env O="$O" "$@" 3>&-
}

# liar PYTHON: a bwrap that changes its words (a list of bytes) first.
liar() {
    cat >"$FIX/liar" <<END
#!/usr/bin/python3 -IS
import os, sys
if sys.argv[1:] == ["--version"]:
    print("bubblewrap 0.8.0")
    sys.exit()
words = os.read(7, 1 << 20).split(b"\0")[:-1]
$1
fd = os.memfd_create("words", 0)
os.write(fd, b"".join(w + b"\0" for w in words))
os.lseek(fd, 0, 0)
os.dup2(fd, 7)
os.execv("$FIX/bwrap", ["bwrap", *sys.argv[1:]])
END
    chmod 755 "$FIX/liar"
    chown 0:0 "$FIX/liar"
}

# The box refuses before anything runs.
caught() {
    rm -f "$W/ran"
    run with_bwrap "$FIX/liar" -c 'echo ran >ran; cat "$D/s"'
    echo "$status $output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
    [[ $output != *"$SECRET"* ]]
    [[ $output == *"set up the sandbox"* ]]
}

@test "files: what is outside stays as it was, what is hidden is, what is granted works" {
    watch "$O" "$D"
    run inside 'echo ran >ran; cat "$D/s" "$D/deep/s"; ls "$D"; echo x >"$O/f"; echo x >"$O/new"; rm -rf "$O/sub"
        mv "$O/f" "$W/f"; ln "$D/s" s; chmod 777 "$D" "$O/f"; touch /usr/x /run/x /sys/x; : >/dev/null; mkdir /tmp/own; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(cat "$W/ran")" = ran ]
    [[ $output != *"$SECRET"* ]]
    untouched
    [ ! -e /tmp/own ]
}

@test "the result names the back end, and every layer is in force" {
    run box --result "$X/result" -- true
    echo "$output"
    cat "$X/result"
    grep -q '"backend":"bwrap","enforced":\["userns","mounts","pidns","netns","ipcns","utsns","cgroupns","landlock","seccomp","limits"\]' \
        "$X/result"
    [ "$WHO" = root ] || grep -q '"sandboxed":true' "$X/result"
}

@test "root is refused under strict, with what it would lose; under warn that is said" {
    [ "$WHO" = root ] || skip "root: this is about it"
    run box --set fallbackPolicy=strict -- true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"cannot promise everything"* && $output == *fallbackPolicy=warn* ]]
    run --separate-stderr box --result "$X/result" -- true
    grep -q '"gaps":.*"ids"' "$X/result"
}

@test "absent names stay absent, their parents stay, and nothing is left behind" {
    run inside 'for n in .mcp.json .vscode .envrc; do mkdir $n; echo x >$n; ln -s file $n; mv file $n; done; mkdir -p .claude/hooks; :'
    [ "$status" -eq 0 ]
    [ "$(cd "$W" && echo .[a-z]*)" = ".[a-z]*" ]
    [ "$(cat "$W/file")" = work ]
    mkdir -p "$W/.git/hooks"
    own "$W"
    run inside 'mv .git g; echo x >.git/hooks/pre-commit; rm -rf .git; :'
    [ -d "$W/.git/hooks" ]
    [ -z "$(ls -A "$W/.git/hooks")" ]
}

@test "processes of the host are not seen and not reached; no capability, a filter, one way only" {
    victim
    run inside "kill -9 $VICTIM; ls -d /proc/$VICTIM; cat /proc/1/comm; ps ax 2>/dev/null | grep -c 'sleep 600'
        grep -E '^(NoNewPrivs|Seccomp|CapEff|CapBnd):' /proc/self/status"
    echo "$output"
    victim_lives
    [[ $output == *agentbox-init* ]]
    grep -qx 'NoNewPrivs:.1' <<<"$output"
    grep -qx 'Seccomp:.2' <<<"$output"
    grep -qxE 'CapEff:.0+' <<<"$output"
}

@test "the words for bubblewrap are in no command line" {
    run inside 'cat /proc/*/cmdline | tr "\0" " "'
    [[ $output != *"$D"*" "*"--ro-bind"* ]]
    start_box -c 'echo up >up; sleep 600'
    wait_for test -s "$W/up"
    # Others may run bubblewrap as they like: in no line that is about this workspace.
    local line
    while read -r line; do
        not grep -qaF -- "$W" "$line"
    done < <(grep -laF -- "--ro-bind" /proc/[0-9]*/cmdline 2>/dev/null)
}

@test "no network: nothing of the host answers" {
    serve
    run box --network blocked -- python3 -c "
import socket
for kind, port in ((socket.SOCK_STREAM, $TCP), (socket.SOCK_DGRAM, $UDP)):
    try:
        s = socket.socket(socket.AF_INET, kind); s.connect(('127.0.0.1', port)); s.send(b'x'); s.recv(1); print('CALLED')
    except OSError as e:
        print('refused')"
    echo "$output"
    [ "$(grep -c refused <<<"$output")" -eq 2 ]
    nobody_called
}

@test "filtered: the proxy is there, and refuses what is not listed" {
    serve
    run box --network filtered -- python3 -c "
import http.client, os
c = http.client.HTTPConnection('127.0.0.1', 3128)
c.request('GET', 'http://denied.example/')
print(c.getresponse().status)
c = http.client.HTTPConnection('127.0.0.1', 3128)
c.request('GET', 'http://127.0.0.1:$TCP/')
print(c.getresponse().status)"
    echo "$output"
    [ "$(grep -c '^403$' <<<"$output")" -eq 2 ]
    nobody_called
}

@test "exit codes are the command's; not found, not executable and too long have their own" {
    run box -c 'exit 7'
    [ "$status" -eq 7 ]
    run box -c 'kill -KILL $$'
    [ "$status" -eq 137 ]
    run -127 box -- no-such-program
    run box -- "$W/file"
    [ "$status" -eq 126 ]
    run box --timeout 100ms -- sleep 600
    [ "$status" -eq 124 ]
}

@test "a signal reaches the command, which has its say" {
    start_box -c 'trap "echo heard >heard; exit 5" TERM; echo up >up; while :; do sleep 0.01; done'
    wait_for test -s "$W/up"
    kill -TERM "$BOX_PID"
    wait "$BOX_PID" && status=0 || status=$?
    [ "$status" -eq 5 ]
    [ "$(cat "$W/heard")" = heard ]
}

no_mark() {
    ! grep -qsa "$1" /proc/[0-9]*/environ
}

no_placeholder() {
    [ "$(cd "$W" && echo .[a-z]*)" = ".[a-z]*" ]
}

@test "when agentbox is killed, nothing runs any more and nothing is left" {
    local mark=mark-$$-$BATS_TEST_NUMBER
    start_box --env MARK="$mark" -c 'setsid sh -c "while :; do sleep 0.1; done" & echo up >up; sleep 600'
    wait_for test -s "$W/up"
    wait_for grep -qsa "MARK=$mark" /proc/[0-9]*/environ
    kill -KILL "$BOX_PID"
    wait "$BOX_PID" || :
    wait_for no_mark "MARK=$mark"
    wait_for no_placeholder
}

@test "hundreds of paths go through the descriptor; too many are refused with a hint" {
    mkdir "$W/many"
    (cd "$W/many" && touch f{1..300} && for n in {1..300}; do echo "$SECRET" >"f$n"; done)
    own "$W"
    run box --exclude "$W/many/*" -c 'cat many/*; grep -c "/many/" /proc/self/mountinfo'
    [[ $output != *"$SECRET"* ]]
    [ "${lines[-1]}" -eq 300 ]
    (cd "$W/many" && touch f{1..3100})
    run box --exclude "$W/many/*" -c 'echo ran >ran'
    echo "$output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
    grep -q '^hint: name parents' <<<"$output"
}

@test "a covered command is covered, by every name, and what covers it can be neither read nor changed" {
    run box --cmd rm=false -- rm "$W/file"
    echo "$output"
    [ "$status" -eq 126 ]
    [[ ${lines[0]} == "agentbox: rm: blocked in this sandbox" ]]
    run box --cmd rm=false --env W="$W" -c 'rm=$(readlink -f "$(command -v rm)"); "$rm" "$W/file"; ln -s "$rm" x; ./x "$W/file"
        cat "$rm" >copy; cp "$rm" copy; ls -R /run/agentbox; echo x >"$rm"; chmod 755 "$rm"; mv "$rm" y; :'
    echo "$output"
    [ "$(cat "$W/file")" = work ]
    [ ! -s "$W/copy" ]
    [ "$(grep -c 'blocked in this sandbox' <<<"$output")" -eq 2 ]
    [[ $output == *"cannot open directory '/run/agentbox'"* ]]
}

@test "a command that is a symlink, and a rule through one, are refused under strict; under warn that is said" {
    mkdir -p "$T/lib" "$T/p" "$W/.git" "$W/shared"
    printf '#!/bin/sh\necho ran\n' >"$T/lib/cli.sh"
    chmod 755 "$T/lib/cli.sh"
    ln -s ../lib/cli.sh "$T/p/npm"
    own "$T/lib" "$T/p" "$W"
    run box --env PATH="$T/p:$PATH" --cmd npm=@npm --set fallbackPolicy=strict -- npm
    echo "$output"
    [ "$status" -eq 125 ]
    run box --result "$X/result" --env PATH="$T/p:$PATH" --cmd npm=@npm --set fallbackPolicy=warn -- npm
    echo "$output"
    [[ $output == *ran* ]]
    grep -q '"gaps":\[.*"commands"' "$X/result"
    ln -s ../shared "$W/.git/hooks"
    own "$W"
    run box --set fallbackPolicy=strict -- touch ran
    echo "$output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
    [[ $WHO == root || $output == *"symlinks that rules lead through"* ]]
    run box --result "$X/result" --set fallbackPolicy=warn -- true
    grep -q '"gaps":\[.*"links"' "$X/result"
}

@test "odd names are covered" {
    mkdir -p "$W/a b" "$W"/$'new\nline' "$W/--tmpfs" "$W/q'\""
    local n
    for n in "$W/a b" "$W"/$'new\nline' "$W/--tmpfs" "$W/q'\""; do
        echo "$SECRET" >"$n/s"
        OPTIONS+=(--exclude "$n")
    done
    own "$W"
    run inside 'cat */s; ls *; echo x >file; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* ]]
    [ "$(cat "$W/file")" = x ]
}

@test "a file for reading is read and not changed; one that the view does not have is refused" {
    echo input >"$W/in"
    own "$W"
    run box -c 'cat; echo x >/proc/self/fd/0; chmod 600 /proc/self/fd/0' <"$W/in"
    [ "${lines[0]}" = input ]
    run box -c 'cat; echo x >/proc/self/fd/0' <"$D/s"
    [ "$(cat "$D/s")" = "$SECRET" ]
    [ "$status" -eq 125 ]
    grep -q '^hint: .*pipe' <<<"$output"
}

@test "pid 1 finds a mount that bubblewrap left out, left writable, or put elsewhere" {
    OPTIONS+=(--exclude "$W/secret" --ro "$W/file")
    echo "$SECRET" >"$W/secret"
    own "$W"
    liar "i = words.index(b'$W/secret'); del words[i - 2:i + 1]"
    caught
    liar "i = words.index(b'$W/file'); words[i - 1] = b'--bind'"
    caught
    liar "i = words.index(b'$W/file'); words[i] = b'$O/f'"
    caught
    liar "i = words.index(b'/'); words[i - 1] = b'--bind'"
    caught
    liar "i = words.index(b'--remount-ro'); del words[i:i + 2]"
    caught
    liar "words.remove(b'--unshare-pid')"
    caught
    liar "words += [b'--bind', b'$O', b'$O']"
    caught
    liar "words += [b'--bind', b'$D', b'$D']"
    caught
    OPTIONS+=(--cmd rm=false)
    liar "i = words.index(b'--ro-bind-data'); del words[i - 2:i + 3]"
    caught
    liar "i = words.index(b'--ro-bind-data'); words[i + 1] = b'9'"
    caught
    liar "i = words.index(b'--ro-bind-data'); words[i - 1] = b'0755'"
    caught
    liar "i = words.index(b'--ro-bind-data'); words[i] = b'--bind-data'"
    caught
    liar ""
    run with_bwrap "$FIX/liar" -c 'echo ran >ran'
    echo "$output"
    [ "$(cat "$W/ran")" = ran ]
}

@test "no bubblewrap, one that is too old, and one that others can change are refused" {
    [ "$(id -u)" -eq 0 ] || skip "root: mounting needs it"
    run with_bwrap /dev/null -- true
    echo "$output"
    [ "$status" -eq 125 ]
    grep -q '^hint: install the package bubblewrap' <<<"$output"
    printf '#!/bin/sh\necho bubblewrap 0.7.0\n' >"$FIX/old"
    chmod 755 "$FIX/old"
    run with_bwrap "$FIX/old" -- true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"0.7"* && $output == *"hint: agentbox needs bubblewrap 0.8"* ]]
    cp /usr/bin/bwrap "$FIX/open"
    chmod 775 "$FIX/open"
    run with_bwrap "$FIX/open" -- true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"can be changed by others"* ]]
    chmod 755 "$FIX/open"
    chown 1001 "$FIX/open"
    run with_bwrap "$FIX/open" -- true
    [ "$status" -eq 125 ]
    rm -f "$FIX/open"
}

@test "what bubblewrap says when it fails is the error" {
    liar "words += [b'--bind', b'/nowhere', b'/nowhere']"
    run with_bwrap "$FIX/liar" -c 'echo ran >ran'
    echo "$output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
    [[ $output == *"bubblewrap said: Can't find source path /nowhere"* ]]
}

@test "where only a setuid bubblewrap may make namespaces, auto finds it" {
    [ "$(id -u)" -eq 0 ] || skip "root: a setuid program needs it"
    [ "$WHO" = user ] || skip "user: root needs no setuid program"
    cp /usr/bin/bwrap "$FIX/setuid"
    chmod 4755 "$FIX/setuid"
    cp "$ABX_BUILD/tests/ladder" "$FIX/bin/ladder"
    PREFIX=("$FIX/bin/ladder" userns=EPERM --)
    OPTIONS=("${OPTIONS[@]/bwrap/auto}")
    watch "$O" "$D"
    run with_bwrap "$FIX/setuid" --result "$X/result" -c 'cat "$D/s"; echo x >"$O/f"; echo ran >ran; id -u'
    echo "$output"
    cat "$X/result"
    [ "$status" -eq 0 ]
    [ "$(cat "$W/ran")" = ran ]
    [[ $output != *"$SECRET"* ]]
    untouched
    grep -q '"sandboxed":true,"backend":"bwrap"' "$X/result"
    OPTIONS+=(--backend bwrap)
    run with_bwrap "$FIX/setuid" --cmd rm=false -- true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"guarded and wrapped commands run as they are"* ]]
    rm -f "$FIX/setuid"
}

@test "the printed command works when it is pasted" {
    [ "$WHO" = user ] || skip "user: once is enough"
    echo 'cat "$D/s"; echo x >"$O/f"; echo ran >ran; touch /usr/x; ls /run' >"$W/script"
    own "$W"
    (cd "$W" && as_who "$BOX" plan --format bwrap "${OPTIONS[@]}" --env D="$D" --env O="$O" -- sh script) >"$X/command"
    watch "$O" "$D"
    cd "$W"
    run as_who bash "$X/command"
    echo "$output"
    [ "$(cat "$W/ran")" = ran ]
    [[ $output != *"$SECRET"* ]]
    untouched
}

@test "doctor names bubblewrap" {
    run as_who "$BOX" doctor
    echo "$output"
    grep -qE '^ +ok +bwrap +/usr/bin/bwrap, version 0\.' <<<"$output"
}
