#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names inside the workspace through which the host would run our code later: those that exist cannot
# be changed or moved, those that do not exist cannot be made, and nothing is left on the host.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

ABSENT=(.mcp.json .claude .codex .cursor .gemini .vscode .idea .envrc .devcontainer .agentbox.json
    .agentbox.yaml .agentbox.yml .agentbox.jsonc .devcontainer.json .pi)

list_workspace() {
    find "$W" -printf '%P %y %m %U:%G %l\n' | sort
}

# Every call that can make a name, on $W/NAME.
cannot_make() {
    local name=$1
    refused "$HELD|ENXIO" create "$W/$name"
    refused "$HELD|ENXIO" sys openat -100 "@$W/$name" 0101 0666
    refused "$HELD" sys mkdirat -100 "@$W/$name" 0777
    refused "$HELD" sys symlinkat @/etc/passwd -100 "@$W/$name"
    refused "$HELD" sys symlinkat @dangling -100 "@$W/$name"
    refused "$HELD" sys linkat -100 "@$W/file" -100 "@$W/$name" 0
    refused "$HELD" sys renameat2 -100 "@$W/file" -100 "@$W/$name" 0
    refused "$HELD|EINVAL" sys renameat2 -100 "@$W/file" -100 "@$W/$name" 2
    refused "$HELD" sys renameat2 -100 "@$W/dir" -100 "@$W/$name" 0
    refused "$HELD" sys mknodat -100 "@$W/$name" 0100666 0
    refused "$HELD" sys mknodat -100 "@$W/$name" 0010666 0
    refused "$HELD" sys mknodat -100 "@$W/$name" 0140666 0
    refused "$HELD" sys unlinkat -100 "@$W/$name" 0
    refused "$HELD|ENOTDIR" sys unlinkat -100 "@$W/$name" 0x200
    refused "$HELD" sys renameat2 -100 "@$W/$name" -100 "@$W/away" 0
}

@test "absent protected names cannot be made by any call" {
    mkdir "$W/dir"
    own "$W"
    local before
    before=$(list_workspace)
    cannot_make .mcp.json
    cannot_make .claude
    cannot_make .vscode
    diff <(list_workspace) - <<<"$before"
}

@test "no absent protected name can be made, with or without its parents" {
    local before
    before=$(list_workspace)
    run inside 'for n in '"${ABSENT[*]}"'; do
            mkdir -p $n && echo "made $n"; echo x 2>/dev/null >$n && echo "wrote $n"
            mkdir -p $n/sub && echo "made $n/sub"
            rm -rf $n && echo "removed $n"
            cp file $n && echo "copied $n"; mv file $n && { echo "moved $n"; mv $n file; }
        done; mkdir -p .claude; echo "{}" >.claude/settings.json && echo wrote settings'
    echo "$output"
    [[ $output != *made* && $output != *wrote* && $output != *removed* && $output != *copied* ]]
    [[ $output != *moved* ]]
    diff <(list_workspace) - <<<"$before"
}

@test "a name given with --ro or --exclude that does not exist cannot be made" {
    OPTIONS+=(--ro "$W/none" --exclude "$W/secret")
    mkdir "$W/dir"
    own "$W"
    local before
    before=$(list_workspace)
    cannot_make none
    cannot_make secret
    diff <(list_workspace) - <<<"$before"
}

@test "an absent name below absent directories cannot be made" {
    OPTIONS+=(--ro "$W/a/b/c")
    local before
    before=$(list_workspace)
    run inside 'mkdir -p a/b && echo x >a/b/c && echo made; mkdir -p a/b/c && echo made
        ln -s . a && mkdir b && echo x >b/c && echo made'
    echo "$output"
    [ ! -e "$W/a/b/c" ]
    [ ! -e "$W/b/c" ]
    diff <(list_workspace) - <<<"$before"
}

@test "an absent name below an existing directory cannot be made, nor its parent moved" {
    mkdir "$W/conf"
    own "$W"
    OPTIONS+=(--ro "$W/conf/hook")
    local before
    before=$(list_workspace)
    run inside 'echo x >conf/hook && echo made; mv conf old && mkdir conf && echo x >conf/hook && echo made
        rm -rf conf && echo gone'
    [[ $output != *made* && $output != *gone* ]]
    diff <(list_workspace) - <<<"$before"
}

@test "existing protected files and folders stay as they are" {
    mkdir -p "$W/.claude/commands" "$W/.vscode"
    echo '{}' >"$W/.claude/settings.json"
    echo 'do it' >"$W/.claude/commands/c.md"
    echo '{}' >"$W/.mcp.json"
    echo '{}' >"$W/.vscode/tasks.json"
    own "$W"
    watch "$W/.claude/commands" "$W/.claude/settings.json" "$W/.mcp.json" "$W/.vscode"
    run inside 'for f in .claude/settings.json .claude/commands/c.md .mcp.json .vscode/tasks.json; do
            echo evil >$f; echo evil >>$f; rm -f $f; mv $f x; cp file $f; ln -sf file $f; sed -i s/x/y/ $f
            chmod 777 $f; touch -d 2001-01-01 $f
        done; mv .claude old; mv .vscode old; rm -rf .claude .vscode; mkdir .claude/hooks
        echo x >.claude/settings.local.json; echo x >.vscode/settings.json'
    untouched
    [ ! -e "$W/old" ]
    [ ! -e "$W/.claude/hooks" ]
    [ ! -e "$W/.claude/settings.local.json" ]
    [ ! -e "$W/.vscode/settings.json" ]
}

@test "existing shell start-up files in the workspace are protected" {
    for name in .bashrc .profile .zshrc .gitconfig .npmrc mise.toml; do
        echo original >"$W/$name"
    done
    own "$W"
    watch "$W/.bashrc" "$W/.profile" "$W/.zshrc" "$W/.gitconfig" "$W/.npmrc" "$W/mise.toml"
    run inside 'for f in .bashrc .profile .zshrc .gitconfig .npmrc mise.toml; do
        echo evil >$f; mv file $f; rm -f $f; done'
    untouched
}

@test "a protected name that is a symlink cannot be replaced, nor its target in the workspace changed" {
    lacks bwrap links
    mkdir "$W/real"
    echo '{}' >"$W/real/settings.json"
    ln -s real "$W/.claude"
    own "$W"
    watch "$W/real/settings.json"
    run inside 'rm -f .claude; mkdir .claude && echo evil >.claude/settings.json; ln -sfn /tmp .claude
        echo evil >.claude/settings.json; echo evil >real/settings.json; mv real gone
        mkdir -p real && echo evil >real/settings.json'
    [ "$(readlink "$W/.claude")" = real ]
    [ "$(cat "$W/.claude/settings.json")" = '{}' ]
    [ "$(ls -A "$W/real")" = settings.json ]
    untouched
}

@test "a dangling protected symlink cannot be filled" {
    lacks bwrap links
    ln -s later "$W/.envrc"
    own "$W"
    run inside 'echo evil >later; echo evil >.envrc; rm -f .envrc; echo evil >.envrc'
    [ ! -f "$W/.envrc" ] || [ "$(cat "$W/.envrc")" != evil ]
}

@test "nothing is left in the workspace or the state folder after a run" {
    local before
    before=$(list_workspace)
    inside 'ls -A >/dev/null'
    diff <(list_workspace) - <<<"$before"
    find "$H" -type f -o -type s
    [ -z "$(find "$H" -type s ! -path '*/held/spare')" ]
}

@test "placeholders are links to a socket that the registry keeps" {
    local spare=$H/.local/state/agentbox/held/spare round
    for round in 1 2; do
        mkfifo "$X/gate$round"
        own "$X"
        start_box -c "echo up >up$round; read -r _ <$X/gate$round"
        wait_for test -s "$W/up$round"
        [ "$W/.mcp.json" -ef "$spare" ]
        [ "$W/.vscode" -ef "$spare" ]
        echo go >"$X/gate$round"
        wait "$BOX_PID"
        [ "$(stat -c '%F %a %h' "$spare")" = "socket 0 1" ]
    done
}

@test "who shares a directory with a run cannot make its placeholders stay, nor spoil the next" {
    local spare=$H/.local/state/agentbox/held/spare i
    mkfifo "$X/gate"
    own "$X"
    start_box -c "echo up >up; read -r _ <$X/gate"
    wait_for test -s "$W/up"
    box --set filesystem.autoProtectDangerousFiles=false -- chmod 777 "$W/.mcp.json"
    [ "$(stat -c %a "$W/.vscode")" = 777 ]
    echo go >"$X/gate"
    wait "$BOX_PID"
    for i in "${ABSENT[@]}"; do
        [ ! -e "$W/$i" ]
    done
    inside 'ls -A >/dev/null'
    [ "$(stat -c '%F %a %h' "$spare")" = "socket 0 1" ]
}

@test "who shares a directory with a run cannot take the protection of a second one away" {
    mkfifo "$X/gate" "$X/second"
    own "$X"
    start_box -c "echo up >up; read -r _ <$X/gate"
    local first=$BOX_PID
    wait_for test -s "$W/up"
    box --set filesystem.autoProtectDangerousFiles=false -- chmod 777 "$W/.mcp.json"
    start_box -c "echo up >up2; read -r _ <$X/second; echo evil >.mcp.json; echo evil >.envrc; mkdir .vscode; :"
    wait_for test -s "$W/up2"
    echo go >"$X/gate"
    wait "$first"
    echo go >"$X/second"
    wait "$BOX_PID"
    for i in "${ABSENT[@]}"; do
        [ ! -e "$W/$i" ]
    done
}

@test "placeholders of a running box are empty, without permissions, and go with it" {
    start_box -- sh -c 'echo up >up; sleep 600'
    wait_for test -s "$W/up"
    [ -e "$W/.mcp.json" ]
    [ "$(stat -c '%a %s' "$W/.mcp.json")" = "0 0" ]
    kill -TERM "$BOX_PID"
    wait "$BOX_PID" || :
    [ ! -e "$W/.mcp.json" ]
    [ "$(list_workspace | wc -l)" -eq 3 ]
}

@test "boxes that run at once in one directory share placeholders; the last one removes them" {
    local i pids=()
    mkfifo "$X/gate1" "$X/gate2"
    own "$X"
    OPTIONS+=(--ro "$W/none")
    start_box -c "echo up >up1; read -r _ <$X/gate1; echo x >.mcp.json; echo x >none; :"
    pids+=("$BOX_PID")
    start_box -c "echo up >up2; read -r _ <$X/gate2; echo x >.mcp.json; echo x >none; :"
    pids+=("$BOX_PID")
    wait_for test -s "$W/up1"
    wait_for test -s "$W/up2"
    echo go >"$X/gate1"
    wait "${pids[0]}"
    [ -S "$W/.mcp.json" ]
    [ -e "$W/none" ]
    refused "$HELD|ENXIO" create "$W/.mcp.json"
    [ -S "$W/.mcp.json" ]
    echo go >"$X/gate2"
    wait "${pids[1]}"
    for i in "${ABSENT[@]}" none; do
        [ ! -e "$W/$i" ]
    done
}

@test "a file that the host makes in place of a placeholder survives the run" {
    mkfifo "$X/gate"
    own "$X"
    start_box -c "echo up >up; read -r _ <$X/gate"
    wait_for test -s "$W/up"
    as_who rm -f "$W/.mcp.json"
    as_who sh -c 'echo "{}" >"$1"' sh "$W/.mcp.json"
    echo go >"$X/gate"
    wait "$BOX_PID"
    [ "$(cat "$W/.mcp.json")" = '{}' ]
    [ ! -e "$W/.vscode" ]
}

@test "twenty short boxes at once, several times, leave nothing and all work" {
    local i round pids
    for round in 1 2 3 4 5 6; do
        pids=()
        for ((i = 0; i < 20; i++)); do
            start_box -c "echo $i >done.$round.$i; echo x 2>/dev/null >.mcp.json; :"
            pids+=("$BOX_PID")
        done
        for i in "${pids[@]}"; do
            wait "$i"
        done
        [ "$(find "$W" -name "done.$round.*" | wc -l)" -eq 20 ]
        for i in "${ABSENT[@]}"; do
            [ ! -e "$W/$i" ]
        done
    done
}

@test "racing renames never take a protected name" {
    mkdir "$W/.vscode"
    echo '{}' >"$W/.vscode/tasks.json"
    own "$W"
    watch "$W/.vscode"
    refused EBUSY race-rename "$W" .vscode 20000
    refused EBUSY race-rename "$W" .mcp.json 20000
    untouched
    [ ! -e "$W/.mcp.json" ]
}

@test "protected names that exist deeper stay as they are, and their parents where they are" {
    mkdir -p "$W/pkg/a/.vscode" "$W/pkg/b/.claude/commands" "$W/1/2/3/4/5"
    echo old | tee "$W/pkg/a/.envrc" "$W/pkg/a/.vscode/tasks.json" "$W/pkg/b/.claude/settings.json" \
        "$W/1/2/3/4/5/.mcp.json" "$W/pkg/.npmrc" >/dev/null
    own "$W"
    watch "$W/pkg/a/.envrc" "$W/pkg/a/.vscode" "$W/pkg/b/.claude/settings.json" "$W/pkg/.npmrc" \
        "$W/pkg/b/.claude/commands" "$W/1/2/3/4/5/.mcp.json"
    run inside 'for f in pkg/a/.envrc pkg/a/.vscode/tasks.json pkg/b/.claude/settings.json 1/2/3/4/5/.mcp.json; do
            echo evil >$f; rm -f $f; echo evil >new && mv new $f
        done; echo x >pkg/b/.claude/commands/c.md; mv pkg p; mv pkg/a x; rm -rf pkg/a pkg/b; mv 1/2/3 y; rm -rf 1'
    untouched
    inside 'set -e; echo a >pkg/a/source; mv pkg/a/source pkg/b/moved; mkdir pkg/new; mv pkg/new pkg/newer; rm pkg/b/moved'
}

@test "names below node_modules and deeper than five directories are left to the command" {
    mkdir -p "$W/node_modules/x/.vscode" "$W/1/2/3/4/5/6"
    own "$W"
    inside 'set -e; echo a >node_modules/x/.vscode/t; echo a >1/2/3/4/5/6/.envrc; mkdir sub; echo a >sub/.envrc'
    # What a run leaves is protected in the next.
    run inside 'echo evil >sub/.envrc'
    [ "$(cat "$W/sub/.envrc")" = a ]
}
