#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1003,SC2016,SC2119
# The program around a run: help, version, plan, inside, options, messages.

bats_require_minimum_version 1.5.0

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
}

teardown() {
    life_teardown
}

program() {
    "${AS[@]}" "$AGENTBOX" "$@"
}

@test "help lists every command, and each command explains itself" {
    run program help
    [ "$status" -eq 0 ]
    all=$output
    for name in run plan why config doctor inside version help; do
        [[ $all == *"$name"* ]]
        by_help=$(program help "$name")
        [ "$(program "$name" --help)" = "$by_help" ]
        [ "$(program "$name" -h)" = "$by_help" ]
        [[ $by_help == *"agentbox $name"* ]]
    done
    [ "$(program)" = "$all" ]
    [ "$(program --help)" = "$all" ]
    [ "$(program -h)" = "$all" ]
}

@test "help names every key of the configuration, and no line is wider than a screen" {
    run program help keys
    [ "$status" -eq 0 ]
    [[ $output == *filesystem.rw* && $output == *network.mode* && $output == *graceSeconds* ]]
    for topic in '' run plan doctor; do
        # shellcheck disable=SC2086 # none or one
        longest=$(program help $topic | wc -L)
        echo "$topic: $longest"
        [ "$longest" -le 100 ]
    done
}

@test "version is one line, and JSON on request" {
    run program version
    [ "$status" -eq 0 ]
    [[ ${#lines[@]} -eq 1 && $output =~ ^agentbox\ [0-9]+\.[0-9]+\.[0-9]+ ]]
    [ "$(program --version)" = "$output" ]
    [ "$(program -V)" = "$output" ]
    program version --json | python3 -c 'import json,sys; assert json.load(sys.stdin)["version"]'
}

@test "inside tells where it is, and cannot be lied to" {
    # A sanitizer's run-time wants its own LD_PRELOAD and terabytes of address space.
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: their run-time cannot start there"
    run program inside
    [ "$status" -eq 1 ]
    [ "$output" = "outside sandbox" ]
    run box -- "$AGENTBOX" inside
    [ "$status" -eq 0 ]
    [ "$output" = "inside sandbox" ]
    run box -- sh -c "rm -rf /run/agentbox; mkdir /run/agentbox; '$AGENTBOX' inside"
    [ "$status" -eq 0 ]
    # From outside it cannot be claimed by variables or files of one's own.
    run "${AS[@]}" env AGENTBOX=1 AGENTBOX_INSIDE=1 container=agentbox "$AGENTBOX" inside
    [ "$status" -eq 1 ]
    program inside --json | python3 -c 'import json,sys; assert json.load(sys.stdin)["inside"] is False' ||
        program inside --json | grep -q false
}

@test "an unknown command or option is refused with the nearest name" {
    run program rum
    [ "$status" -eq 125 ]
    [[ $output == *"agentbox run"* ]]
    run program run --tiemout 3s -- true
    [ "$status" -eq 125 ]
    [[ $output == *timeout* ]]
    run program --frobnicate
    [ "$status" -eq 125 ]
}

@test "options end at --, and at the program's name" {
    [ "$(box -- echo --rw /)" = "--rw /" ]
    [ "$(box echo -q --timeout)" = "-q --timeout" ]
    [ "$(box -q echo hello)" = hello ]
    run box --
    [ "$status" -eq 125 ]
    run box ''
    [ "$status" -eq 125 ]
}

@test "options take their value in each usual form" {
    [ "$(box --env A=1 --env=B=2 -- sh -c 'echo $A$B')" = 12 ]
    [ "$(box -c 'echo shell $0' | cut -d' ' -f1)" = shell ]
    [ "$(box -C"$O" -- pwd)" = "$O" ]
    [ "$(box -C "$O" -- pwd)" = "$O" ]
    [ "$(box --cwd="$O" -- pwd)" = "$O" ]
    run box --env
    [ "$status" -eq 125 ]
    run box --quiet=yes -- true
    [ "$status" -eq 125 ]
}

@test "shell text runs in the configured shell" {
    [ "$(box -c 'x=1; echo $((x + 1)) "a  b" | cat')" = "2 a  b" ]
    [ "$(box --set shell=/bin/bash -c 'echo ${BASH_VERSION:+bash}')" = bash ]
    run box -c 'exit 21'
    [ "$status" -eq 21 ]
    run -127 box --set shell=/no/such/shell -c true
}

@test "plan says what would be enforced, and runs nothing" {
    run program plan -- sh -c 'touch ran'
    [ "$status" -eq 0 ]
    [[ $output == *"$W"* ]]
    [ ! -e ran ]
    nothing_left
    program plan --format json --rw "$O" -- true | python3 -c '
import json, sys
text = sys.stdin.read()
json.loads(text)
assert sys.argv[1] in text' "$O"
    [ "$(program plan --json)" = "$(program plan --format json)" ]
    run program run --dry-run -- touch ran
    [ "$status" -eq 0 ]
    [ ! -e ran ]
    for backend in native landlock; do
        run program plan --backend "$backend" --set fallbackPolicy=warn
        [[ $status -eq 0 && $output == *$'\n'"back end: $backend"$'\n'* ]]
    done
    # As many names as there are, and no line too long for a screen.
    program plan --env A_LONG_NAME_OF_A_VARIABLE=1 --env ANOTHER_LONG_NAME_OF_A_VARIABLE=1 | sed '1,/^environment:/d' >"$O/names"
    [ "$(wc -L <"$O/names")" -le 80 ]
    grep -qw ANOTHER_LONG_NAME_OF_A_VARIABLE "$O/names"
    run program plan --format poem
    [ "$status" -eq 125 ]
}

@test "plan names hosts and ports, and where each comes from" {
    echo '{"network": {"deniedDomains": ["a.example.com"]}}' >.agentbox.json
    run program plan --allow-domain '*.example.com' -p 8081:8080
    [[ $output == *$'\nhosts: '*$'\n  deny      a.example.com  # '"$W/.agentbox.json:1:32"$'\n  allow     *.example.com  # '*$'\nports:\n  8080      on the host'"'s 127.0.0.1:8081"$'\n'* ]]
    run program plan --json --allow-domain '*.example.com' -p 8081:8080
    python3 - "$output" <<'END'
import json, sys
plan = json.loads(sys.argv[1])
assert plan["network"] == "filtered"
assert [(h["verdict"], h["pattern"]) for h in plan["hosts"]] == [("deny", "a.example.com"), ("allow", "*.example.com")], plan["hosts"]
assert plan["ports"] == [{"host": 8081, "inside": 8080}], plan["ports"]
END
    for mode in blocked allowed; do
        run program plan --no-config --network $mode
        [[ $output != *$'\nhosts: '* && $output != *$'\nports:'* ]]
    done
    # Without namespaces, too.
    program plan --json --backend landlock --set fallbackPolicy=warn --allow-domain example.com 2>/dev/null |
        python3 -c 'import json, sys; plan = json.load(sys.stdin); assert plan["network"] == "filtered" and len(plan["hosts"]) == 2, plan["network"]'
}

@test "messages are one line, escaped, and on stderr" {
    box -C $'/no/such\n\e[31mdirectory' -- true 2>"$O/err" >"$O/out" || status=$?
    [ "$status" -eq 125 ]
    [ ! -s "$O/out" ]
    cat -v "$O/err"
    [ "$(grep -c '^agentbox: ' "$O/err")" -eq 1 ]
    run ! grep -q $'\e' "$O/err"
    [ "$(wc -l <"$O/err")" -le 2 ]
}

@test "a full disk, a closed stdout: printing says so" {
    run bash -c '"$@" >/dev/full' - "${AS[@]}" "$AGENTBOX" help
    [ "$status" -ne 0 ]
    run bash -c '"$@" >/dev/full' - "${AS[@]}" "$AGENTBOX" plan
    [ "$status" -ne 0 ]
}

@test "an odd argv[0], no arguments at all" {
    run "${AS[@]}" bash -c 'exec -a "" "$0" version' "$AGENTBOX"
    [ "$status" -eq 0 ]
    run bash -c 'exec -a agent\\nbox "$0"' "$AGENTBOX"
    [ "$status" -eq 0 ]
}

# What an unknown option prints on a terminal of its own.
complaint_on_terminal() {
    timeout 60 env "$@" python3 - "$AGENTBOX" 3>&- <<'END'
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "run", "--nope"])
said = b""
while True:
    try:
        said += os.read(master, 4096)
    except OSError:
        break
os.waitpid(pid, 0)
sys.stdout.buffer.write(said)
END
}

@test "colours only on a terminal, and not with NO_COLOR or TERM=dumb" {
    run complaint_on_terminal -u NO_COLOR TERM=xterm
    [[ $output == *$'\e['*"option --nope"* ]]
    run complaint_on_terminal NO_COLOR= TERM=xterm # empty: as if it were not set
    [[ $output == *$'\e['* ]]
    run complaint_on_terminal NO_COLOR=1 TERM=xterm
    [[ $output == *"option --nope"* && $output != *$'\e'* ]]
    run complaint_on_terminal -u NO_COLOR TERM=dumb
    [[ $output == *"option --nope"* && $output != *$'\e'* ]]
    TERM=xterm run "$AGENTBOX" run --nope
    [[ $output == *"option --nope"* && $output != *$'\e'* ]]
    TERM=xterm run "$AGENTBOX" doctor
    [[ $output == *seccomp* && $output != *$'\e'* ]]
}

@test "--max-output passes on so much of each stream, reads the rest, and says what it left out" {
    chown "$(id -u)" "$W" # in another user's root gets a note
    cd "$W"
    [ "$("$AGENTBOX" run --max-output 10 -c 'printf 0123456789; printf abc >&2' 2>&1)" = 0123456789abc ]
    run "$AGENTBOX" run --max-output 10 -c 'printf 0123456789+; exit 7'
    echo "$output"
    [ "$status" -eq 7 ]
    [[ $output == 0123456789agentbox:*"the last 1 of 11 bytes of standard output"* ]]
    [[ $output == *"rule maxOutputBytes"*"to allow: --max-output 0"* ]]
    [ "$("$AGENTBOX" run --max-output 10 --max-output 0 -c 'printf 0123456789+' 2>&1)" = 0123456789+ ]
    # What was passed on is not in the result; that it was cut is.
    "$AGENTBOX" run -q --max-output 10 --result "$O/r" -c 'printf 0123456789+' >/dev/null
    grep -qF '"stdout":null,"stderr":null,"truncated":{"stdout":true,"stderr":false}' "$O/r"
    [ "$("$AGENTBOX" run -q --max-output 4K -c 'head -c 100M /dev/zero; echo over >&2' 2>"$O/err" | wc -c)" -eq 4096 ]
    [ "$(cat "$O/err")" = over ]
    run "$AGENTBOX" run --max-output much -- true
    [ "$status" -eq 125 ]
    [[ $output == *"--max-output"*"not a size"* ]]
}
