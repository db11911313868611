#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# Completion scripts, as each shell itself uses them.

bats_require_minimum_version 1.5.0

load ../lib/need

setup() {
    ABX_SOURCE=${ABX_SOURCE:-$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}
    AGENTBOX=${AGENTBOX:-${ABX_BUILD:-$ABX_SOURCE/build}/agentbox}
    cd "$BATS_TEST_TMPDIR"
    touch notes.txt
    mkdir folder
}

# in_bash WORD…: what bash offers for the last one.
in_bash() {
    bash -c '. <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _agentbox
             printf "%s\n" "${COMPREPLY[@]}"' "$AGENTBOX" "$@"
}

in_fish() {
    fish --no-config -c 'source (eval $argv[1] completion fish | psub); complete -C $argv[2]' \
        "$AGENTBOX" "$1" | cut -f1
}

in_zsh() {
    "$AGENTBOX" completion zsh >_agentbox
    python3 "$ABX_SOURCE/tests/lib/zsh_complete.py" "$PWD/_agentbox" "$1"
}

@test "bash: commands, options, words, files, directories, programs" {
    [ "$(in_bash agentbox doc)" = doctor ]
    [ "$(in_bash agentbox run --exc)" = --exclude ]
    [ "$(in_bash agentbox run --network bl)" = blocked ]
    [ "$(in_bash agentbox run --network = bl)" = blocked ]
    [ "$(in_bash agentbox run --rw no)" = notes.txt ]
    [ "$(in_bash agentbox run --cwd '')" = folder ]
    [ -z "$(in_bash agentbox run --env '')" ]
    [ "$(in_bash agentbox config val)" = validate ]
    [ "$(in_bash agentbox why writ)" = write ]
    [ "$(in_bash agentbox why write no)" = notes.txt ]
    [ "$(in_bash agentbox why '' | xargs)" = "read write exec net" ]
    [ "$(in_bash agentbox approvals '' | xargs)" = "list forget" ]
    [ "$(in_bash agentbox import no)" = notes.txt ]
    [ "$(in_bash agentbox help doc)" = doctor ]
    in_bash agentbox run --rw x -- mkfif | grep -qx mkfifo
    # What follows the program is the program's, also what looks like an option of ours.
    run in_bash agentbox run cat --exc
    [[ $output != *--exclude* ]]
    [ "$(in_bash agentbox run cat no)" = notes.txt ]
}

@test "bash: every command and option that the help knows is offered" {
    local name option
    while read -r name option; do
        in_bash agentbox "$name" "$option" | grep -qx -- "$option" || { echo "$name $option"; false; }
    done < <("$AGENTBOX" help --json | python3 -c '
import json, sys
for c in json.load(sys.stdin)["commands"]:
    for o in c["options"]:
        if o["long"]:
            print(c["name"], "--" + o["long"])')
}

@test "words that are offered behind the options are in the usage of their command" {
    "$AGENTBOX" completion bash >script.bash
    "$AGENTBOX" help --json | python3 -c '
import json, re, sys
script = open("script.bash").read()
for c in json.load(sys.stdin)["commands"]:
    if c["name"] == "help":
        continue
    part = re.search(r"^    %s\)\n.*?operands=\x27(.*?)\x27" % c["name"], script, re.M | re.S)[1]
    words = set(re.findall(r"[a-z]+", re.sub(r"\[[^]]*options\]|agentbox \w+|^\w+", "", c["usage"])))
    assert set(part.split()) <= words, (c["name"], part, words)
    groups = re.findall(r"(?<=[ ])[a-z]+(?:\|[a-z]+)+(?= |$)", c["usage"])
    assert set("|".join(groups).split("|")) - {""} <= set(part.split()), (c["name"], part, groups)'
}

@test "bash: shellcheck has nothing to say about the script" {
    need shellcheck
    "$AGENTBOX" completion bash >script.bash
    shellcheck -s bash script.bash
}

@test "fish: commands, options, words, operands" {
    need fish
    export HOME=$PWD
    in_fish 'agentbox doc' | grep -qx doctor
    [ "$(in_fish 'agentbox run --exc')" = --exclude ]
    in_fish 'agentbox run --network ' | grep -qx blocked
    in_fish 'agentbox config val' | grep -qx validate
    in_fish 'agentbox why n' | grep -qx net
    in_fish 'agentbox approvals f' | grep -qx forget
    in_fish 'agentbox run mkfif' | grep -qx mkfifo
}

@test "zsh: commands, options, words, operands" {
    need zsh
    [ "$(in_zsh 'agentbox doc')" = 'agentbox doctor ' ]
    [ "$(in_zsh 'agentbox run --exc')" = 'agentbox run --exclude=' ]
    [ "$(in_zsh 'agentbox run --network bl')" = 'agentbox run --network blocked ' ]
    [ "$(in_zsh 'agentbox config val')" = 'agentbox config validate ' ]
    [ "$(in_zsh 'agentbox import no')" = 'agentbox import notes.txt ' ]
    [ "$(in_zsh 'agentbox why ne')" = 'agentbox why net ' ]
    [ "$(in_zsh 'agentbox approvals fo')" = 'agentbox approvals forget ' ]
    [[ "$(in_zsh 'agentbox run -- mkfif')" = 'agentbox run -- mkfifo'* ]]
}

@test "another shell, or none, is refused with the names of those that there are" {
    run "$AGENTBOX" completion csh
    [ "$status" -eq 125 ]
    [[ $output == *csh* && $output == *"bash, zsh or fish"* ]]
    run "$AGENTBOX" completion
    [ "$status" -eq 125 ]
}

@test "help as JSON: one command, the keys, everything" {
    "$AGENTBOX" help --json >all.json
    python3 - "$AGENTBOX" <<'END'
import json, subprocess, sys
whole = json.load(open("all.json"))
names = [c["name"] for c in whole["commands"]]
assert "run" in names and "completion" in names and any(k["name"] == "filesystem.rw" for k in whole["keys"])
one = json.loads(subprocess.check_output([sys.argv[1], "help", "--json", "run"]))
assert [c["name"] for c in one["commands"]] == ["run"] and one["keys"] == []
keys = json.loads(subprocess.check_output([sys.argv[1], "help", "keys", "--json"]))
assert keys["keys"] == whole["keys"] and keys["commands"] == []
END
    run "$AGENTBOX" help --json nonsense
    [ "$status" -eq 125 ]
}
