#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Agents and builds keep their data in the home directory; what the host runs there stays as it is.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

# Directories and files of a home that has been lived in.
furnish() {
    mkdir -p "$H"/.claude/{projects,todos,shell-snapshots,plugins,local,ide} "$H"/.codex/{sessions,skills} \
        "$H"/.cache/{pip,go-build,uv,gitstatus,nvim,pre-commit} "$H"/.cargo/{bin,registry} "$H"/go/{bin,pkg,src} \
        "$H"/.npm/{_cacache,_npx} "$H"/.bun/{bin,install/cache,install/global} "$H"/.pi/agent/{sessions,bin}
    echo old | tee "$H/.claude.json" "$H/.claude/settings.json" "$H/.claude/statusline.sh" "$H/.claude/history.jsonl" \
        "$H/.claude/shell-snapshots/s.sh" "$H/.codex/config.toml" "$H/.cache/p10k-dump.zsh" "$H/.cargo/env" \
        "$H/.cargo/.package-cache" >/dev/null
    own "$H"
}

@test "data of agents and caches of builds can be written, and new ones made" {
    furnish
    inside 'set -e; cd ~
        for d in .claude/projects .claude/todos .claude/ide .codex/sessions .cache/pip .cache/go-build .cache/uv \
            .cargo/registry go/pkg .npm/_cacache .bun/install/cache .pi/agent/sessions .cache/new; do
            mkdir -p $d; echo x >$d/x; mv $d/x $d/y
        done
        echo x >>.claude/history.jsonl; echo x >.cargo/.package-cache; echo x >.claude.json'
    [ "$(cat "$H/.claude.json")" = x ]
    [ -e "$H/.cache/new/y" ]
    [ -e "$H/go/pkg/y" ]
}

@test "what the host runs in agent folders and caches stays as it is" {
    furnish
    local kept=(.claude/settings.json .claude/statusline.sh .claude/shell-snapshots .claude/plugins .claude/local
        .codex/config.toml .codex/skills .cache/p10k-dump.zsh .cache/gitstatus .cache/nvim .cache/pre-commit
        .cargo/bin .cargo/env go/bin go/src .npm/_npx .bun/bin .bun/install/global .pi/agent/bin)
    watch "${kept[@]/#/$H/}"
    run inside "cd ~; for p in ${kept[*]}; do"'
            echo evil >$p; echo evil >$p/x; mkdir $p/d; mv $p moved; rm -rf $p; ln -sfn /tmp $p
        done; mv .claude c; mv .cache c; mv .cargo c'
    untouched
}

@test "beside the data of agents nothing new can be made; in a folder without any it can" {
    furnish
    run inside 'cd ~; for d in .claude .codex .pi/agent .cargo .npm go .bun .bun/install; do
            mkdir $d/new; echo evil >$d/n
        done'
    [ -z "$(find "$H" -name new -o -name n)" ]
    rm -rf "$H"/.cargo/{registry,.package-cache} "$H/go/pkg"
    inside 'set -e; cd ~; mkdir .cargo/registry go/pkg; echo x >.cargo/registry/x'
    [ -e "$H/.cargo/registry/x" ]
}

@test "absent names that agents and shells would run cannot be made" {
    mkdir -p "$H"/.claude "$H"/.codex "$H"/.pi/agent "$H"/.cargo "$H"/go
    own "$H"
    run inside 'cd ~; for d in .claude/shell-snapshots .claude/hooks .claude/commands .claude/plugins .claude/agents \
            .claude/session-env .codex/rules .codex/shell_snapshots .pi/agent/extensions .pi/agent/bin .cargo/bin go/bin; do
            mkdir -p $d; echo evil >$d/x
        done; for f in .claude/settings.json .claude/CLAUDE.md .codex/config.toml .codex/AGENTS.md .pi/agent/settings.json \
            .pi/agent/models.json .cargo/config.toml .cargo/env; do echo evil >$f; echo evil >n; mv n $f; done'
    [ -z "$(find "$H" -name x)" ]
    not grep -rq evil "$H/.claude" "$H/.codex" "$H/.pi" "$H/.cargo" "$H/go" --include='*.*'
    [ -z "$(find "$H/.claude" "$H/.codex" "$H/.pi/agent" -mindepth 1)" ]
}

@test "what the user grants or hides there counts more" {
    furnish
    OPTIONS+=(--rw "$H/.cache/nvim" --exclude "$H/.cache/pip")
    echo "$SECRET" >"$H/.cache/pip/s"
    run inside 'cd ~; echo x >.cache/nvim/x; cat .cache/pip/s'
    [ -e "$H/.cache/nvim/x" ]
    [[ $output != *"$SECRET"* ]]
}

@test "agentbox's own state in the account's home is hidden and kept, whatever HOME says" {
    local account
    account=$(python3 -c 'import pwd, sys; print(pwd.getpwuid(int(sys.argv[1])).pw_dir)' "$(as_who id -u)" 2>/dev/null) ||
        skip "account: this user has none"
    [ "$account" != "$H" ]
    run as_who "$BOX" plan --rw "$account" -- true
    echo "$output"
    grep -q "$account/.local/state/agentbox" <<<"$output"
}
