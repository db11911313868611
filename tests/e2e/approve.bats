#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Approvals: a person at a terminal is asked before an escalated command runs; without one it does
# not run. `kill -0 $$` needs an approval (rule process-kill) and does no harm.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

abx() {
    (cd "$W" && exec timeout --foreground -k 2 20 "${AS[@]}" "$BOX" "$@" 3>&-)
}

# at ARGS… <STEPS: agentbox run is the first program of a terminal.
at() {
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" "${AS[@]}" "$BOX" run -q "$@" 3>&-)
}

TEXT='kill -0 $$ && echo "it works" && echo >ran'
APPROVALS=.local/state/agentbox/approvals

@test "a person sees command, place, part, rule and reason, and says yes" {
    at -c "true; $TEXT" <<STEPS
expect needs your approval\r
expect command: true; kill -0 \\$\\$ && echo "it works" && echo >ran\r
expect in: +$W\r
expect part: +kill -0 \\$\\$\r
expect rule: +process-kill\r
expect reason: +\w
expect \[N\]o: $
send y\r
expect it works
exit 0
STEPS
    [ -e "$W/ran" ]
    [ ! -e "$H/$APPROVALS" ]
}

@test "anything but a yes is a no" {
    local answer
    for answer in '\r' 'n\r' 'no\r' 'yess\r' 'yes please, but\x15\r' 'x\r' '\x04' '\x03' 's\r' ' \r'; do
        at -c "$TEXT" <<STEPS
expect \[N\]o: $
send $answer
expect not approved
exit 126
STEPS
        [ ! -e "$W/ran" ]
        rm -r "$H/.local/state/agentbox/questions" # or the sixth would not be asked
    done
}

# age SECONDS: the noes that are counted happened so long ago.
age() {
    local refused=$H/.local/state/agentbox/questions/refused
    awk -v then="$(($(date +%s) - $1))" 'NR == 1 { print } NR > 1 { print then }' "$refused" >"$X/refused"
    cat "$X/refused" >"$refused"
}

# say ANSWER: one question about the text, answered.
say() {
    at -c "$TEXT" <<STEPS
expect \\[N\\]o: $
send $1\\r
exit $2
STEPS
}

@test "A147 after five noes within a minute nobody is asked, whatever the command; a yes starts anew" {
    local i
    for i in 1 2 3 4; do
        say n 126
    done
    say y 0
    for i in 1 2 3 4 5; do
        say n 126
    done
    age 0 # however long that took
    rm -f "$W/ran"
    at -c "true; $TEXT" <<'STEPS'
expect not asked about, because five commands were refused
expect wait a minute
exit 126
STEPS
    [ ! -e "$W/ran" ]
    # Without a question it is as ever: allowed commands run, and refusals without a terminal do not count.
    abx run -q -- true
    abx run -q --approve yes -c "$TEXT"
    # The minute is over: the noes are as old as that.
    age 61
    say y 0
}

@test "where nobody can be asked, nothing is counted" {
    local i
    for i in 1 2 3 4 5 6; do
        run abx run -q -c "$TEXT" </dev/null
        [ "$status" -eq 126 ]
        [[ $output = *"no terminal to ask on"* ]]
    done
    [ ! -e "$H/.local/state/agentbox/questions" ]
}

@test "approvals are listed and taken back, one or all" {
    run abx approvals
    [ "$status" -eq 0 ]
    [ "$output" = "nothing is approved for always" ]
    say a 0
    at -C "$O" -c 'kill -0 $$' <<'STEPS'
expect \[N\]o: $
send a\r
exit 0
STEPS
    run abx approvals
    [[ $output = *"command: kill -0 \$\$ && echo \"it works\" && echo >ran"*"in:      $W"*"rule:    process-kill"* ]]
    [ "$(abx approvals --json | python3 -c '
import json, sys
for a in json.load(sys.stdin):
    print(len(a["key"]), a["rule"], a["part"], a["cwd"], a["time"] > 1e9)' | sort)" = \
        "$(printf '64 process-kill kill -0 $$ %s True\n' "$O" "$W" | sort)" ]
    local key
    key=$(abx approvals | grep -B1 'it works' | head -n 1)
    run abx approvals forget "${key%% *}"
    [ "$output" = "1 approval taken back" ]
    run abx run -q -c "$TEXT" </dev/null
    [ "$status" -eq 126 ]
    abx run -q -C "$O" -c 'kill -0 $$' </dev/null
    run abx approvals forget "${key%% *}"
    [ "$status" -eq 125 ]
    [[ $output = *"there is none"*hint:*"agentbox approvals"* ]]
    run abx approvals forget all
    [ "$output" = "1 approval taken back" ]
    run abx run -q -C "$O" -c 'kill -0 $$' </dev/null
    [ "$status" -eq 126 ]
}

@test "what is approved inside or planted there is neither listed nor obeyed" {
    say a 0
    local dir=$H/$APPROVALS
    # A record that others may write, one that says another key, a link, and no record at all.
    printf 'agentbox-approval-1\n%064d\ncommand: planted\n' 1 >"$dir/$(printf %064d 1)"
    chmod 666 "$dir/$(printf %064d 1)"
    printf 'agentbox-approval-1\n%064d\ncommand: planted\n' 3 >"$dir/$(printf %064d 2)"
    ln -s "$(printf %064d 3)" "$dir/$(printf %064d 4)"
    echo x >"$dir/../planted"
    ln -s ../planted "$dir/x"
    own "$dir"
    run abx approvals
    [[ $output != *planted* && $output = *"it works"* ]]
    [ "$(grep -c command: <<<"$output")" -eq 1 ]
    run box "${ROOM[@]}" --env B="$BOX" -c '"$B" approvals && "$B" approvals forget all'
    [[ $output = *"nothing is approved"*"0 approvals taken back"* ]]
    run abx approvals
    [[ $output = *"it works"* ]]
}

@test "once is once, always is for exactly this" {
    at -c "$TEXT" <<'STEPS'
expect \[N\]o: $
send yes\r
expect it works
exit 0
STEPS
    at -c "$TEXT" <<'STEPS'
expect \[N\]o: $
send a\r
expect it works
exit 0
STEPS
    rm "$W/ran"
    at -c "$TEXT" <<'STEPS'
expect it works
exit 0
STEPS
    [ -e "$W/ran" ]
    run abx run -q -c "$TEXT" </dev/null
    [ "$status" -eq 0 ]
    run abx run -q -c "$TEXT " </dev/null
    [ "$status" -eq 126 ]
    run abx run -q --rw "$O" -c "$TEXT" </dev/null
    [ "$status" -eq 126 ]
    run abx run -q -C "$O" --rw "$W" -c "$TEXT" </dev/null
    [ "$status" -eq 126 ]
}

@test "an approval is a file of the user's, and gone with it" {
    at -c "$TEXT" <<'STEPS'
expect \[N\]o: $
send always\r
expect it works
exit 0
STEPS
    [ "$(stat -c %a "$H/$APPROVALS")" = 700 ]
    [ "$(stat -c %a "$H/$APPROVALS"/*)" = 600 ]
    grep -q 'it works' "$H/$APPROVALS"/*
    rm "$H/$APPROVALS"/*
    run abx run -q -c "$TEXT" </dev/null
    [ "$status" -eq 126 ]
}

@test "no sandbox reaches the approvals, even where the home is writable" {
    at -c "$TEXT" <<'STEPS'
expect \[N\]o: $
send a\r
expect it works
exit 0
STEPS
    watch "$H/$APPROVALS"
    local state=$H/.local/state/agentbox
    OPTIONS+=(--rw "$H" --rw "$state/approvals")
    refused "$HIDDEN|$CLOSED" sys openat -100 "@$state/approvals" 0200000
    refused "$HIDDEN|$CLOSED" create "$state/approvals/$(printf '0%.0s' {1..64})"
    refused "$HELD|$HIDDEN" sys renameat2 -100 "@$state" -100 "@$H/away" 0
    refused "$HELD|$HIDDEN" sys renameat2 -100 "@$H/.local" -100 "@$H/away" 0
    untouched
}

@test "a script that changed is asked about again" {
    echo 'echo one' >"$W/script.sh"
    own "$W"
    at -c 'kill -0 $$; sh script.sh' <<'STEPS'
expect \[N\]o: $
send a\r
expect one
exit 0
STEPS
    run abx run -q -c 'kill -0 $$; sh script.sh' </dev/null
    [ "$output" = one ]
    inside 'echo "echo two" >script.sh'
    run abx run -q -c 'kill -0 $$; sh script.sh' </dev/null
    [ "$status" -eq 126 ]
}

@test "what is typed too early is not an answer" {
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" bash -c \
        'echo ready; sleep 1; exec "$@"' - "${AS[@]}" "$BOX" run -q -c "$TEXT" 3>&-) <<'STEPS'
expect ready
send y\ry\ry\r
expect \[N\]o: $
refuse it works
send \r
expect not approved
exit 126
STEPS
    [ ! -e "$W/ran" ]
}

@test "the command is shown escaped" {
    at -c $'echo \e[2J\u202e; kill -0 1' <<'STEPS'
expect command: echo \\x1b\[2J\\u\{202e\}; kill -0 1\r
send \r
exit 126
STEPS
}

@test "time that is up is a no" {
    at --timeout 0.3s -c "$TEXT" <<'STEPS'
expect \[N\]o: $
expect in time
exit 126
STEPS
    [ ! -e "$W/ran" ]
}

@test "a signal ends the question" {
    at -c "$TEXT" <<'STEPS'
expect \[N\]o: $
signal TERM
expect not approved
exit 126
STEPS
    at -c "$TEXT" <<'STEPS'
expect \[N\]o: $
hangup
exit 126
STEPS
    [ ! -e "$W/ran" ]
}

@test "Ctrl-Z stops the question, and it is asked again" {
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" "${AS[@]}" env "BOX=$BOX" "TEXT=$TEXT" \
        'PS1=outer> ' bash --norc --noprofile -i 3>&-) <<'STEPS'
expect outer> $
send "$BOX" run -q -c "$TEXT"\r
expect \[N\]o: $
send \x1a
expect Stopped
expect outer> $
send fg\r
expect \[N\]o: $
send y\r
expect it works
expect outer> $
send exit\r
STEPS
    [ -e "$W/ran" ]
}

@test "bg after Ctrl-Z at the question is a no, and kill %1 ends it" {
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" "${AS[@]}" env "BOX=$BOX" "TEXT=$TEXT" \
        'PS1=outer> ' bash --norc --noprofile -i 3>&-) <<'STEPS'
expect outer> $
send before=$(stty -g); same() { [ "$(stty -g)" = "$before" ] && echo "is same $1" || echo "is other $1"; }; echo $((40 + 2))\r
expect 42\r
send "$BOX" run -q -c "$TEXT"\r
expect \[N\]o: $
send \x1a
expect Stopped
send bg; wait -f %1; echo "status $?"; same 1\r
expect status 126
expect is same 1
send "$BOX" run -q -c "$TEXT"\r
expect \[N\]o: $
send \x1a
expect Stopped
send kill %1; wait -f %1; echo "status $?"; same 2\r
expect status (126|143)
expect is same 2
send exit\r
exit 0
STEPS
    [ ! -e "$W/ran" ]
}

@test "in the background nobody is asked" {
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" "${AS[@]}" env "BOX=$BOX" "TEXT=$TEXT" \
        'PS1=outer> ' bash --norc --noprofile -i 3>&-) <<'STEPS'
expect outer> $
send "$BOX" run -q -c "$TEXT" & wait $!; echo "status $?"\r
expect no terminal to ask on
expect status 126
expect outer> $
send exit\r
STEPS
    [ ! -e "$W/ran" ]
}

@test "a pipe on standard input answers nothing" {
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" bash -c \
        'yes | "$@"; echo "status ${PIPESTATUS[1]}"' - "${AS[@]}" "$BOX" run -q -c "$TEXT" 3>&-) <<'STEPS'
expect \[N\]o: $
refuse it works
send n\r
expect status 126
STEPS
    [ ! -e "$W/ran" ]
}

@test "without a terminal it is refused, with a hint" {
    run setsid -w "${AS[@]}" "$BOX" run -q -C "$W" -c "$TEXT" </dev/null 3>&-
    echo "$output"
    [ "$status" -eq 126 ]
    [[ $output == *"'kill -0 \$\$': not approved (rule 'process-kill'"* ]]
    [[ $output == *"hint: "*"--approve yes"* ]]
    [ ! -e "$W/ran" ]
}

@test "--approve deny refuses, --approve yes runs, another word is a mistake" {
    run abx run -q --approve deny -c "$TEXT"
    [ "$status" -eq 126 ]
    [ ! -e "$W/ran" ]
    run abx run -q --approve maybe -c true
    [ "$status" -eq 125 ]
    run abx run -q --approve yes -c "$TEXT"
    [ "$status" -eq 0 ]
    [ -e "$W/ran" ]
    [ ! -e "$H/$APPROVALS" ]
}

@test "what is forbidden is refused whatever is said" {
    at -c 'touch ran; rm -rf /' <<'STEPS'
expect forbidden by rule 'recursive-delete-root'
exit 126
STEPS
    run abx run -q --approve yes -- rm -rf /
    [ "$status" -eq 126 ]
    [ ! -e "$W/ran" ]
}

@test "what is harmless, or unknown, is not asked about" {
    run abx run -q --approve deny -- ls
    [ "$status" -eq 0 ]
    run abx run -q --approve deny -- "$PAYLOAD" create "$W/made"
    [ "$status" -eq 0 ]
    [ -e "$W/made" ]
}

@test "a plan asks nobody and says that a run would" {
    run abx plan -c "$TEXT" </dev/null
    [ "$status" -eq 0 ]
    [[ $output == *"a run would ask for an approval first"* ]]
    run abx run --dry-run -- rm -rf /
    [ "$status" -eq 126 ]
}

@test "a rule of the user's own is an approval" {
    mkdir -p "$H/.config/agentbox"
    echo '{ "classifier": { "rules": [ { "pattern": "kill -0 *", "decision": "sandboxed" } ] } }' \
        >"$H/.config/agentbox/config.json"
    own "$H"
    run abx run -q -c "$TEXT" </dev/null
    [ "$status" -eq 0 ]
    [ -e "$W/ran" ]
}
