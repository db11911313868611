#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# Other programs' configurations: `run --settings` and `agentbox import`, held against the host.

load ../lib/e2e

abx() {
    (cd "$W" && exec "${AS[@]}" "$BOX" "$@")
}

# What anybody may have who ran the box, so that its owner fits.
give() {
    "${AS[@]}" tee "$1" >/dev/null
}

settings() {
    give "$W/srt.json" <<'END'
{
  "network": { "allowedDomains": [], "deniedDomains": [] },
  "filesystem": {
    "denyRead": ["secret/**"], "allowRead": ["secret/open"],
    "allowWrite": ["out", "out/locked/in"], "denyWrite": ["out/locked"]
  },
  "credentials": { "envVars": [{ "name": "SOME_NAME", "mode": "deny" }] }
}
END
    "${AS[@]}" mkdir -p "$W/out/locked/in" "$W/secret/open"
    echo "$SECRET" | give "$W/secret/s"
    echo open | give "$W/secret/open/f"
}

@test "a settings file of sandbox-runtime holds in a run: reading, writing, variables, network" {
    settings
    SOME_NAME=seen run abx run --settings srt.json -c '
        touch out/new && echo wrote
        touch top; touch out/locked/x; touch out/locked/in/x
        cat secret/s; cat secret/open/f; echo "[$SOME_NAME]"
        echo >/dev/tcp/127.0.0.1/1; ls /sys/class/net'
    echo "$output"
    [[ $output == *wrote* && $output == *open* && $output == *"[]"* ]]
    [[ $output != *"$SECRET"* ]]
    [ -e "$W/out/new" ]
    [ ! -e "$W/top" ] && [ ! -e "$W/out/locked/x" ] && [ ! -e "$W/out/locked/in/x" ]
    [[ $output == *"differ here: \`agentbox import FILE\`"* ]]
}

@test "what the file grants needs trust, by its own option" {
    echo '{"network":{"allowedDomains":["a.example.org"]},"filesystem":{"allowWrite":["."]}}' | give "$W/srt.json"
    run abx run --settings srt.json -- touch ran
    [[ $status -eq 125 && $output == *"config trust --settings"* ]]
    [ ! -e "$W/ran" ]
    abx config trust --settings srt.json
    abx run --settings srt.json -- touch ran
    [ -e "$W/ran" ]
    echo ' ' | "${AS[@]}" tee -a "$W/srt.json" >/dev/null
    run abx run --settings srt.json -- true
    [ "$status" -eq 125 ]
}

@test "a misspelt protection, and one that cannot be kept, stop the run" {
    echo '{"filesystem":{"denyRaed":["x"]}}' | give "$W/srt.json"
    run abx run --settings srt.json -- touch ran
    [[ $status -eq 125 && $output == *"did you mean 'filesystem.denyRead'?"* ]]
    echo '{"network":{"stripResponseHeaders":["x"]}}' | give "$W/srt.json"
    run abx run --settings srt.json -- touch ran
    [[ $status -eq 125 && $output == *"'network.stripResponseHeaders' cannot be kept"* ]]
    [ ! -e "$W/ran" ]
    run abx import srt.json
    [[ $status -eq 0 && $output == *"//"*"cannot be kept"* ]]
    run abx run --settings srt.json --config srt.json -- true
    [[ $status -eq 125 && $output == *"--settings is given, and --config too"* ]]
    run abx run --settings missing.json -- true
    [ "$status" -eq 125 ]
}

@test "what import prints is a configuration that enforces the same" {
    settings
    run abx import srt.json -o .agentbox.jsonc
    echo "$output"
    [[ $status -eq 0 && $output == "wrote .agentbox.jsonc; not the same here:"* ]]
    abx config validate
    run abx run -c 'touch out/new && echo wrote; touch top out/locked/x out/locked/in/x; cat secret/s'
    [[ $output == *wrote* && $output != *"$SECRET"* ]]
    [ ! -e "$W/top" ] && [ ! -e "$W/out/locked/x" ] && [ ! -e "$W/out/locked/in/x" ]
    run abx import srt.json -o .agentbox.jsonc
    [[ $status -eq 125 && $output == *"not overwritten"* ]]
}

@test "an agent-sandbox configuration: paths, commands, its defaults written out" {
    give "$W/.agent-sandbox.json" <<'END'
{ // comments are fine
  "network": false,
  "filesystem": { "exclude": [".env"], "ro": ["src"], },
  "commands": { "rm": false },
}
END
    echo "$SECRET" | give "$W/.env"
    "${AS[@]}" mkdir "$W/src"
    run abx import .agent-sandbox.json
    echo "$output"
    [[ $status -eq 0 && $output == *'"git": "@git"'* && $output == *'"mode": "blocked"'* ]]
    run abx run --approve yes --settings .agent-sandbox.json -c 'cat .env; touch src/x; rm -f nothing; touch made'
    echo "$output"
    [[ $output != *"$SECRET"* && $output == *rm* ]]
    [[ ! -e $W/src/x && -e $W/made ]]
}

@test "a hostile file gets no line of its own into what import prints" {
    printf '{"network":{"allowedDomains":["a\\nb\\u2028c\\u001b[31m"]},"filesystem":{"allowWrite":["."]}}' |
        give "$W/srt.json"
    run abx import srt.json
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *$'\e'* ]]
    [ "$(grep -c '^//' <<<"$output")" -eq "$(sed '/^{/,$d' <<<"$output" | wc -l)" ]
}
