#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# agentbox check and rules: verdicts without a run, by the rules that a run would use.
# shellcheck disable=SC2016
load ../lib/e2e

abx() {
    (cd "$W" && exec timeout --foreground -k 2 20 "${AS[@]}" "$BOX" "$@" 3>&-)
}

# verdict STATUS DECISION RULE ARGS…: a rule that is "" is not looked at.
verdict() {
    local wanted=$1 decision=$2 rule=$3
    shift 3
    run abx check --json "$@"
    echo "$output"
    [ "$status" -eq "$wanted" ]
    [[ $output == '{"decision":"'"$decision"'",'* ]]
    [ -z "$rule" ] || [[ $output == *'"rule":"'"$rule"'"'* ]]
}

user_config() {
    mkdir -p "$H/.config/agentbox"
    printf '%s\n' "$1" >"$H/.config/agentbox/config.json"
    chmod 644 "$H/.config/agentbox/config.json"
    own "$H"
}

project() {
    printf '%s\n' "$1" >"$W/.agentbox.json"
    chmod 644 "$W/.agentbox.json"
    own "$W"
}

@test "the exit status tells the decision" {
    local text
    for text in 0:'ls -l' 0:./unknown 1:'git push' 2:'rm -rf /'; do
        run abx check -c "${text#*:}"
        echo "$text: $status"
        [ "$status" -eq "${text%%:*}" ]
    done
    run abx check -- git push
    [ "$status" -eq 1 ]
    run abx check rm -rf /
    [ "$status" -eq 2 ]
}

@test "the text names decision, part, rule and reason" {
    run abx check -c 'cd / && ls; rm -rf /'
    [ "${lines[0]}" = forbidden ]
    [ "${lines[1]}" = '  part:   rm -rf /' ]
    [ "${lines[2]}" = '  rule:   recursive-delete-root' ]
    [[ ${lines[3]} == '  reason: '* ]]
}

@test "the JSON has the four members" {
    run abx check --json -- rm -rf /
    [ "$status" -eq 2 ]
    python3 - "$output" <<'PY'
import json, sys
v = json.loads(sys.argv[1])
assert list(v) == ["decision", "rule", "reason", "part"], v
assert (v["decision"], v["rule"], v["part"]) == ("forbidden", "recursive-delete-root", "rm -rf /"), v
PY
}

@test "nothing runs" {
    run abx check -c 'touch ran; git push'
    run abx check -- touch ran
    [ ! -e "$W/ran" ]
}

@test "arguments are not read as shell" {
    verdict 0 allow '' -- echo '; rm -rf /' '$(git push)'
    verdict 2 forbidden recursive-delete-root -- sh -c 'true; rm -rf /'
}

@test "what a terminal would obey is shown, not sent" {
    run abx check -c $'rm -rf /\e[2J\u202e'
    [[ $output != *$'\e'* && $output != *$'\u202e'* ]]
    run abx check --json -c $'kill \e[2J\u202e'
    [[ $output != *$'\e'* && $output != *$'\u202e'* ]]
}

@test "--stdin answers each line by one, at once" {
    python3 - "${AS[@]}" "$BOX" check --stdin 3>&- <<'PY'
import json, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for text, decision in [(b"ls", "allow"), (b"git push", "escalated"), (b"", "sandboxed"),
                       (b"rm -rf /", "forbidden"), (b"echo a\0b", "escalated"),
                       (b"echo '", "escalated"), (b"x" * (5 << 20), "escalated"),
                       (b"echo $(rm -rf /)", "forbidden"), (b"./x", "sandboxed")]:
    p.stdin.write(text + b"\n")
    p.stdin.flush()
    verdict = json.loads(p.stdout.readline())
    assert verdict["decision"] == decision, (text[:20], verdict)
p.stdin.write(b"git status")
p.stdin.close()
assert json.loads(p.stdout.readline())["decision"] == "allow"
assert p.stdout.read() == b"" and p.wait() == 0
PY
}

@test "--stdin that cannot be read is an error, not the end of the lines" {
    run abx check --stdin <"$W"
    [ "$status" -eq 125 ]
    [[ $output == "agentbox: read the standard input: Is a directory"*hint:* ]]
    run abx check --stdin </dev/null
    [[ $status -eq 0 && -z $output ]]
}

@test "misuse: nothing, or two things, to check" {
    local args
    for args in '' '-c ls -- ls' '-c ls --stdin' '--stdin ls' '--nonsense' '--config a --no-config ls'; do
        # shellcheck disable=SC2086
        run abx check $args </dev/null
        echo "$args: $status $output"
        [ "$status" -eq 125 ]
        [[ $output == *"hint: "* ]]
    done
}

@test "the user's rules count, and not with --no-config" {
    user_config '{ "classifier": { "rules": [ { "pattern": "deploy *", "decision": "forbidden", "description": "never" } ],
        "overrides": { "git-write": "sandboxed" } } }'
    verdict 2 forbidden 'custom: never' -c 'true; deploy now'
    verdict 0 sandboxed '' -- git push
    verdict 0 sandboxed '' --no-config -c 'deploy now'
    verdict 1 escalated git-write --no-config -- git push
    run abx run -c 'deploy now'
    [ "$status" -eq 126 ]
    [[ $output == *"custom: never"* ]]
}

@test "a project may forbid at once, and loosens only when it is trusted" {
    project '{ "classifier": { "rules": [ { "pattern": "deploy *", "decision": "forbidden" } ] } }'
    verdict 2 forbidden '' -c 'deploy now'
    project '{ "classifier": { "rules": [ { "pattern": "git push*", "decision": "allow" } ] } }'
    run abx check -- git push
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"agentbox config trust"* ]]
    run abx run -- git push
    [ "$status" -eq 125 ]
    abx config trust
    verdict 0 allow '' -- git push
    abx config untrust
    project '{ "classifier": { "protectedPaths": false } }'
    run abx check -c 'echo >.git/hooks/x'
    [ "$status" -eq 125 ]
    verdict 2 forbidden '' --no-config -c 'echo >.git/hooks/x'
}

@test "a project cannot open what is forbidden, trusted or not" {
    project '{ "classifier": { "overrides": { "recursive-delete-root": "allow" },
        "rules": [ { "pattern": "rm *", "decision": "allow" } ] } }'
    run abx check -- rm -rf /
    [ "$status" -eq 125 ]
    run abx run -- rm -rf /
    [ "$status" -eq 125 ]
    run abx config trust
    run abx check -- rm -rf /
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"cannot be lowered"* ]]
    project '{ "classifier": { "rules": [ { "pattern": "rm *", "decision": "allow" } ] } }'
    abx config trust
    verdict 2 forbidden recursive-delete-root -- rm -rf /
}

@test "a project cannot undo what the user forbids" {
    user_config '{ "classifier": { "overrides": { "git-write": "forbidden" } } }'
    project '{ "classifier": { "overrides": { "git-write": "escalated" } } }'
    run abx check -- git push
    [ "$status" -eq 125 ]
}

@test "a trusted project cannot open what a rule of the user forbids" {
    user_config '{ "classifier": { "rules": [
        { "pattern": "git push fork*", "decision": "allow" },
        { "pattern": "git push*", "decision": "forbidden" } ] } }'
    project '{ "classifier": { "rules": [ { "pattern": "git *", "decision": "allow" } ] } }'
    abx config trust "$W/.agentbox.json"
    verdict 2 forbidden 'custom: git push*' -- git push origin
    verdict 0 allow 'custom: git *' -- git push fork
    verdict 0 allow 'custom: git *' -- git fetch
    user_config '{ "classifier": { "overrides": { "git-write": "forbidden" } } }'
    project '{ "classifier": { "overrides": { "git-write": "allow" } } }'
    abx config trust "$W/.agentbox.json"
    run abx check -- git push
    [ "$status" -eq 125 ]
}

@test "overrides of rules that are not there: all of them, each with its place and the nearest name" {
    user_config '{ "classifier": { "overrides": { "git-wirte": "allow",
  "no-such-rule-at-all": "forbidden" } } }'
    run abx config validate
    [ "$status" -eq 1 ]
    [[ $output == *"config.json:1:47: there is no rule 'git-wirte'"*"hint: did you mean 'git-write'?"*"config.json:2:26: there is no rule 'no-such-rule-at-all'"*"hint: "*"agentbox rules"* ]]
    user_config '{}'
    for decision in sandboxed forbidden; do # what loosens does not count before it is trusted
        project '{ "classifier": { "overrides": { "docker-containr": "'$decision'" } } }'
        for say in "config validate" "check -- ls" "run -- true"; do
            # shellcheck disable=SC2086 # words
            run abx $say
            [[ $status -ne 0 && $output == *"$W/.agentbox.json:1:53: there is no rule 'docker-containr'"*"hint: did you mean 'docker-container'?"* ]]
        done
    done
    project '{ "classifier": { "overrides": { "recursive-delete-root": "allow" } } }'
    run abx config validate
    [[ $status -eq 1 && $output == *"forbids and cannot be lowered here"* ]]
    abx config trust "$W/.agentbox.json" || :
    run abx check -- ls
    [[ $status -eq 125 && $output == *"$W/.agentbox.json:1:59: rule 'recursive-delete-root' forbids and cannot be lowered here"* ]]
}

@test "--set counts as it does for a run" {
    run abx check --set 'classifier.rules={"pattern": "deploy *", "decision": "escalated"}' -- deploy now
    [ "$status" -eq 1 ]
    [[ $output == escalated*"custom: deploy *"* ]]
    run abx check --set classifier.overrides=git-write=sandboxed -- git push
    [ "$status" -eq 0 ]
    run abx check --set classifier.overrides=recursive-delete-root=allow -- rm -rf /
    [ "$status" -eq 125 ]
    [[ $output == *"cannot be lowered here"*hint:* ]]
    run abx check --set nothing -- ls
    [ "$status" -eq 125 ]
}

@test "rules are listed with a decision, a reason and an example, which is judged so" {
    run abx rules
    [ "$status" -eq 0 ]
    [[ $output == *recursive-delete-root*forbidden*"for example: "* ]]
    abx rules --json >"$X/rules"
    python3 - "$X/rules" "${AS[@]}" "$BOX" check --no-config --stdin <<'PY'
import json, subprocess, sys
rules = json.load(open(sys.argv[1]))
assert len(rules) >= 63 and all(list(r) == ["name", "decision", "reason", "example"] for r in rules)
order = ["allow", "sandboxed", "escalated", "forbidden"]
lines = [r for r in rules if "\n" not in r["example"]]
out = subprocess.run(sys.argv[2:], input="".join(r["example"] + "\n" for r in lines), text=True,
                     capture_output=True, check=True).stdout.splitlines()
for rule, line in zip(lines, out, strict=True):
    assert order.index(json.loads(line)["decision"]) >= order.index(rule["decision"]), (rule, line)
PY
}
