#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# Profiles of agents and groups of hosts: what they open, and what stays shut.

load ../lib/e2e

# Where each agent keeps its own data, its settings, and what is not its own.
agent_home() {
    mkdir -p "$H"/.claude/{projects,hooks} "$H"/.codex/sessions "$H"/.gemini/{tmp,extensions} \
        "$H"/.local/share/opencode/{storage,bin} "$H"/.local/state/opencode "$H"/.config/opencode \
        "$H"/.aider "$H"/.cursor/chats "$H"/.config/cursor
    local f
    for f in .claude/settings.json .claude/.credentials.json .codex/config.toml .codex/auth.json \
        .gemini/settings.json .gemini/oauth_creds.json .config/opencode/opencode.json .aider.conf.yml \
        .cursor/cli-config.json .cursor/mcp.json .config/cursor/auth.json; do
        echo "$SECRET" >"$H/$f"
    done
    own "$H"
    OPTIONS+=(--network blocked)
}

# agent NAME DATA SETTINGS…: writes its data, not its settings.
agent() {
    local name=$1 data=$2 settings
    shift 2
    OPTIONS=(--network blocked --profile "$name")
    inside 'echo x >"$H/'"$data"'/new" && cat "$H/'"$data"'/new"'
    [ -e "$H/$data/new" ]
    for settings in "$@"; do
        run inside 'echo x >>"$H/'"$settings"'"'
        [ "$status" -ne 0 ]
        run inside 'rm -rf "$H/'"$settings"'"'
        [ "$(cat "$H/$settings")" = "$SECRET" ]
    done
}

@test "each profile lets its agent keep its data, and nothing touch its settings" {
    agent_home
    agent claude .claude/projects .claude/settings.json
    agent codex .codex/sessions .codex/config.toml
    agent gemini .gemini/tmp .gemini/settings.json
    agent opencode .local/share/opencode/storage .config/opencode/opencode.json
    agent aider .aider .aider.conf.yml
    agent cursor-agent .cursor/chats .cursor/cli-config.json .cursor/mcp.json
}

@test "a profile hides what other agents log in with, and does not let their data be changed" {
    agent_home
    OPTIONS+=(--profile codex)
    run inside 'cat "$H/.claude/.credentials.json" "$H/.gemini/oauth_creds.json"'
    [[ $status -ne 0 && $output != *"$SECRET"* ]]
    [ "$(inside 'cat "$H/.codex/auth.json"')" = "$SECRET" ]
    run inside 'touch "$H/.claude/projects/x"'
    [ "$status" -ne 0 ]
    [ ! -e "$H/.claude/projects/x" ]
    # Without a profile, that folder is the agents' own.
    OPTIONS=()
    inside 'touch "$H/.claude/projects/x"'
}

@test "a profile passes its agent's key and no other's" {
    OPTIONS+=(--network blocked --profile claude)
    AS+=(ANTHROPIC_API_KEY=sk-one OPENAI_API_KEY=sk-two)
    [ "$(inside 'echo "$ANTHROPIC_API_KEY$OPENAI_API_KEY"')" = sk-one ]
    OPTIONS=()
    [ -z "$(inside 'echo "$ANTHROPIC_API_KEY$OPENAI_API_KEY"')" ]
}

@test "show names every host of a profile and of a group, with where it comes from" {
    cd "$W"
    echo '{ "network": { "allowedDomains": ["@pypi", "own.example.com"] } }' >.agentbox.jsonc
    own "$W"
    run as_who "$BOX" config show
    echo "$output"
    [[ $output =~ allowedDomains\ +files.pythonhosted.org\ +project\ +.*jsonc:1:.*\(@pypi\) ]]
    [[ $output =~ allowedDomains\ +own.example.com ]]
    # Names of groups are checked where they are written.
    echo '{ "network": { "allowedDomains": ["@ppyi"] } }' >.agentbox.jsonc
    run as_who "$BOX" config validate
    [ "$status" -eq 1 ]
    [[ $output == *"jsonc:1:"*"there is no such group of hosts"*"did you mean @pypi?"* ]]
}

@test "a project that names a profile or a group grants it only once it is trusted" {
    cd "$W"
    echo '{ "profile": "claude", "network": { "mode": "blocked" } }' >.agentbox.jsonc
    own "$W"
    run as_who env ANTHROPIC_API_KEY=sk-one "$BOX" run -- env
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"environment.pass adds ANTHROPIC_API_KEY"* && $output == *api.anthropic.com* ]]
    [[ $output != *sk-one* ]]
    as_who "$BOX" config trust
    run as_who env ANTHROPIC_API_KEY=sk-one "$BOX" run -- env
    [[ $status -eq 0 && $output == *ANTHROPIC_API_KEY=sk-one* ]]
    echo '{ "network": { "mode": "blocked", "allowedDomains": ["@github"] } }' >.agentbox.jsonc
    run as_who "$BOX" run -- true
    [ "$status" -eq 125 ]
    [[ $output == *"allowedDomains adds github.com"* ]]
}

@test "presets lists groups and profiles" {
    run as_who "$BOX" config presets
    [ "$status" -eq 0 ]
    [[ $output =~ @github\ +net\ +-\ +github.com ]]
    [[ $output =~ claude\ +profile\ +-\ +network.allowedDomains\ @anthropic ]]
    as_who "$BOX" config presets --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)
groups = {r["preset"] for r in rows if r["access"] == "net"}
assert {"@github", "@npm", "@pypi", "@crates", "@golang", "@debian", "@docker-hub", "@anthropic", "@openai"} <= groups
profiles = {r["preset"] for r in rows if r["access"] == "profile"}
assert profiles == {"aider", "claude", "codex", "cursor-agent", "gemini", "opencode"}, profiles'
    # The names that run offers are those of the table.
    run as_who "$BOX" run --help
    [[ $output == *"aider|claude|codex|cursor-agent|gemini|opencode"* ]]
    run as_who "$BOX" run --profile nobody -- true
    [ "$status" -eq 125 ]
    [[ $output == *claude* ]]
}

@test "the proxy lets a group's hosts through and nothing else" {
    printf '127.0.0.1 pypi.org files.pythonhosted.org other.test\n' >"$X/hosts"
    as_who "$BOX" proxy --no-config --json --hosts-file "$X/hosts" --allow-domain @pypi >"$X/out" 3>&- &
    started+=("$!")
    wait_for grep -q listening "$X/out"
    port=$(sed -n 's/.*"port":\([0-9]*\).*/\1/p' "$X/out" | head -1)
    # Allowed by name; then the address is loopback's, which no name leads to.
    run curl -sS --max-time 20 -x "http://127.0.0.1:$port" http://pypi.org/
    echo "$output"
    [[ $output == *address* ]]
    run curl -sS --max-time 20 -x "http://127.0.0.1:$port" http://other.test/
    [[ $output != *address* && $output == *other.test* ]]
}

@test "a project cannot switch off what your own profile hides, unless it is trusted" {
    agent_home
    mkdir -p "$H/.config/agentbox"
    echo '{ "profile": "claude", "network": { "mode": "blocked" } }' >"$H/.config/agentbox/config.jsonc"
    echo '{ "profile": "none" }' >"$W/.agentbox.jsonc"
    own "$H" "$W"
    OPTIONS=()
    run inside 'cat "$H/.codex/auth.json"'
    echo "$output"
    [[ $status -eq 125 && $output == *.agentbox.jsonc* && $output != *"$SECRET"* ]]
    rm "$W/.agentbox.jsonc"
    run inside 'cat "$H/.codex/auth.json"'
    [[ $status -ne 0 && $output != *"$SECRET"* ]]
}

@test "why names the group or the profile that opens a host" {
    cd "$W"
    run as_who "$BOX" why --profile claude net api.anthropic.com
    echo "$output"
    [[ $status -eq 0 && $output == *"allowed: net api.anthropic.com"* && $output == *"command line"*"profile (@anthropic)"* ]]
    run as_who "$BOX" why --allow-domain @pypi net pypi.org
    [[ $status -eq 0 && $output == *"(@pypi)"* ]]
    run as_who "$BOX" why --allow-domain @pypi net pypi.org.example.com
    [[ $status -eq 1 && $output == *denied* ]]
}
