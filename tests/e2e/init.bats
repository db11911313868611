#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# agentbox init: by options, by questions on a terminal, and what it refuses.

load ../lib/e2e

abx() {
    (cd "$W" && exec "${AS[@]}" env PATH="$X/bin:/usr/bin:/bin" "$BOX" "$@")
}

# typed LINE…: init on a terminal, the lines typed one after the other, each once it is asked for.
typed() {
    (cd "$W" && exec timeout 60 "${AS[@]}" env PATH="$X/bin:/usr/bin:/bin" \
        python3 - "$BOX" "$@" 3>&-) <<'END'
import os, pty, sys
pid, master = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "init"])
said, lines = b"", list(sys.argv[2:])
while True:
    try:
        said += os.read(master, 4096)
    except OSError:
        break
    asked = said.rpartition(b"\n")[2]
    if asked.startswith(b"    [") and asked.endswith(b"] ") and lines:
        line = lines.pop(0)
        os.write(master, b"\x04" if line == "EOF" else line.encode() + b"\n")
        said += b"\n"
print(said.decode().replace("\r", ""))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
}

@test "options answer: the file is valid, trusted, and holds in a run" {
    echo "$SECRET" >"$W/.env"
    run abx init --agent none --allow none --exclude .env
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"wrote .agentbox.jsonc"* && $output == *"agentbox run -- make test"* ]]
    abx config validate
    run abx config show
    [[ $output =~ exclude\ +\.env\ +project ]]
    run abx run --network blocked -- cat .env
    [[ $status -ne 0 && $output != *"$SECRET"* ]]
}

@test "--yes takes what is there: agent, package manager, secrets" {
    mkdir "$X/bin"
    printf '#!/bin/sh\n' >"$X/bin/codex"
    chmod 755 "$X" "$X/bin" "$X/bin/codex"
    touch "$W/Cargo.toml" "$W/go.mod" "$W/.env"
    abx init --yes
    grep -qF '"profile": "codex"' "$W/.agentbox.jsonc"
    grep -qF '["@crates","@golang"]' "$W/.agentbox.jsonc"
    grep -qF '[".env"]' "$W/.agentbox.jsonc"
}

@test "with nothing found the file grants nothing, and -o - writes none" {
    run abx init --yes -o -
    [ "$status" -eq 0 ]
    [[ $output != *allowedDomains* && $output != *profile* ]]
    [ ! -e "$W/.agentbox.jsonc" ]
    abx init --yes
    [ -z "$(abx config trust | tail -n +2)" ]
}

@test "on a terminal three questions are asked; a wrong answer is asked again; Enter takes the offer" {
    touch "$W/package.json"
    run typed claud claude '' '*.pem'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"1/3"*"did you mean claude?"*"1/3"*"2/3"*"[@npm]"*"3/3"* ]]
    grep -qF '"profile": "claude"' "$W/.agentbox.jsonc"
    grep -qF '["@npm"]' "$W/.agentbox.jsonc"
    grep -qF '["*.pem"]' "$W/.agentbox.jsonc"
}

@test "the end of the input ends it, and nothing is written" {
    run typed claude EOF
    echo "$output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/.agentbox.jsonc" ]
}

@test "no terminal and no answer, an existing file, a wrong host: refused, nothing written" {
    run abx init </dev/null
    [ "$status" -eq 125 ]
    [[ $output == *"no terminal"*--yes* ]]
    run abx init --yes --allow @nmp
    [ "$status" -eq 125 ]
    [[ $output == *"did you mean @npm?"* ]]
    [ ! -e "$W/.agentbox.jsonc" ]
    echo '{}' >"$W/.agentbox.yaml"
    run abx init --yes
    [ "$status" -eq 125 ]
    [[ $output == *.agentbox.yaml* ]]
    [ ! -e "$W/.agentbox.jsonc" ]
}

@test "strange characters in an answer stay text" {
    abx init --agent none --allow none --exclude 'a"b,}//x \d'
    abx config validate
    abx config show --json | python3 -c '
import json, sys
values = [v["value"] for v in json.load(sys.stdin)["values"] if v["key"] == "filesystem.exclude"]
assert values == ["a\"b", "}//x", "\\d"], values'
}

@test "init cannot write or trust a file from inside" {
    run box -- "$BOX" init --yes
    [ "$status" -ne 0 ]
    [ ! -e "$W/.agentbox.jsonc" ]
}

@test "a file of the user's that is wrong: what was written is told, and what makes it count" {
    mkdir -p "$H/.config/agentbox"
    echo '{ "networ": 1 }' >"$H/.config/agentbox/config.json"
    own "$H"
    run abx init --agent none --allow example.com --exclude none
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"unknown key 'networ'"*"note: .agentbox.jsonc is written, but not trusted"*"agentbox config trust" ]]
    rm "$H/.config/agentbox/config.json"
    run abx config trust
    [[ $status -eq 0 && $output == *"is trusted"*example.com* ]]
}

@test "what it says to type next works from there: another directory, another file" {
    local line
    mkdir "$W/my project"
    own "$W"
    run abx init -C 'my project' --agent none --allow none --exclude .env
    [[ $output == *"  agentbox run -C 'my project' -- make test"$'\n'"  agentbox plan -C 'my project' "* ]]
    run abx init -C 'my project' -o other.jsonc --agent none --allow example.com --exclude none
    [[ $output == *"wrote other.jsonc"* && $output != *trusted* ]]
    mkdir "$X/bin"
    ln -s "$BOX" "$X/bin/agentbox"
    chmod 755 "$X" "$X/bin"
    printf 'test:\n\techo ran >made\n' >"$W/my project/Makefile"
    own "$W"
    grep '^  agentbox' <<<"$output" | sed 's/        what.*//' >"$X/next"
    [ "$(wc -l <"$X/next")" -eq 3 ]
    while IFS= read -r line; do
        (cd "$W" && as_who env PATH="$X/bin:/usr/bin:/bin" sh -ec "$line" 3>&- </dev/null)
    done <"$X/next"
    [ -e "$W/my project/made" ]
}

@test "a file that somebody puts in the place of init's, before it is trusted, is not trusted" {
    mkdir "$W/sub"
    own "$W"
    run as_who timeout 300 python3 - "$BOX" "$W/sub" 3>&- <<'END'
import os, subprocess, sys
box, project = sys.argv[1:]
target, evil = project + "/.agentbox.jsonc", project + "/evil"
for _ in range(150):
    with open(evil, "w") as f:
        f.write('{ "filesystem": { "rw": ["/"] } }')
    words = [box, "init", "-C", project, "--agent", "none", "--allow", "none", "--exclude", "none"]
    init = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(target):
        pass
    os.rename(evil, target)
    init.wait()
    show = subprocess.run([box, "config", "show", "-C", project], capture_output=True, text=True)
    assert "# project  trusted" not in show.stdout, show.stdout
    os.remove(target)
END
    echo "$output"
    [ "$status" -eq 0 ]
}
