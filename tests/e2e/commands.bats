#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Wrapped commands: blocked ones, guarded ones, scripts, and what all others keep.
# shellcheck disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../lib/e2e

# A program with three names, where the box can only read.
names() {
    P=$T/p
    mkdir "$P"
    cp "$(command -v cat)" "$P/tool"
    ln -s tool "$P/ta"
    ln -s tool "$P/tb"
    echo content >"$W/in"
    own "$P" "$W"
    OPTIONS+=(--env PATH="$P:$PATH")
}

# A repository with a change that is not committed.
repository() {
    G=$1
    mkdir -p "$G"
    own "$G"
    as_who git -C "$G" init -q -b main
    as_who git -C "$G" config user.name a
    as_who git -C "$G" config user.email a@b
    echo first >"$G/f"
    own "$G"
    as_who git -C "$G" add f
    as_who git -C "$G" commit -qm one
    echo dirty >"$G/f"
}

script() {
    cat >"$1"
    chmod 755 "$1"
    own "$1"
}

@test "a blocked command does not run, and says so in two lines" {
    echo keep >"$W/k"
    own "$W"
    run --separate-stderr box --cmd rm=false -- rm "$W/k"
    [ "$status" -eq 126 ]
    [ "${stderr_lines[0]}" = "agentbox: rm: blocked in this sandbox" ]
    [[ "${stderr_lines[1]}" == "hint: "* ]]
    [ -e "$W/k" ]
}

@test "true takes a rule back, and a command that is nowhere is no error" {
    box --cmd rm=false --cmd rm=true --cmd no-such-command=false -- rm "$W/file"
    [ ! -e "$W/file" ]
}

@test "places in PATH that are closed, no directories, relative or not there stop no run" {
    mkdir "$T/closed"
    chmod 000 "$T/closed"
    own "$T/closed"
    run box --env PATH="$T/closed:$W/file:$T/none:.::../w:$PATH" --cmd git=@git --cmd rm=false -- rm file
    chmod 755 "$T/closed"
    [ "$status" -eq 126 ]
    [[ "$output" == *"rm: blocked in this sandbox"* ]]
    [ "$(box --env PATH=/nowhere --cmd git=@git -- "$(command -v cat)" file)" = work ]
}

@test "other names of a blocked file keep working" {
    names
    run box --cmd ta=false -- ta in
    [ "$status" -eq 126 ]
    [ "$(box --cmd ta=false -- tb in)" = content ]
    [ "$(box --cmd ta=false -- tool in)" = content ]
    [ "$(box --cmd tool=false -- tb in)" = content ]
    run box --cmd tool=false -- tool in
    [ "$status" -eq 126 ]
}

@test "a link or another argv[0] made inside does not lead around a rule" {
    names
    run box --cmd tool=false -c "ln -s '$P/tool' x; ./x in"
    [ "$status" -eq 126 ]
    run box --cmd tool=false -- bash -c "exec -a other '$P/tool' in"
    [ "$status" -eq 126 ]
    run box --cmd ta=false -- bash -c "exec -a ta '$P/tb' in"
    [ "$status" -eq 126 ]
}

@test "neither a descriptor nor a directory of one's own nor '..' looks like a name that was there" {
    names
    cat >"$X/forge.py" <<'END'
import os, sys
way, program = sys.argv[1:3]
name = "/run/agentbox/../.." + program
fd = os.open(program, os.O_PATH)
calls = {
    "interpreter": (name, ["x", name, "in"]),
    "descriptor": (f"/proc/self/fd/{fd}", [str(fd), "in"]),
    "empty": (fd, [str(fd), "in"]),
    "closed": ("closed/x", ["closed/x", "in"]),
}
if way == "closed":
    os.mkdir("closed")
    os.symlink(program, "closed/x")
    os.chmod("closed", 0o555)
os.execve(*calls[way], os.environ)
END
    own "$X"
    for way in interpreter descriptor empty closed; do
        run box --cmd tool=false -- python3 "$X/forge.py" "$way" "$P/tool"
        echo "$way: $status $output"
        [ "$status" -eq 126 ]
        [[ "$output" == *"agentbox: tool: blocked in this sandbox"* ]]
    done
}

@test "all places of a command in PATH are covered" {
    names
    mkdir "$T/q"
    cp "$(command -v cat)" "$T/q/tool"
    own "$T/q"
    OPTIONS+=(--env PATH="$P:$T/q:$PATH")
    run box --cmd tool=false -- "$T/q/tool" in
    [ "$status" -eq 126 ]
    run box --cmd tool=false -- "$P/tool" in
    [ "$status" -eq 126 ]
}

@test "a covered program in a writable directory can be neither replaced nor moved away" {
    mkdir -p "$W/bin/deep"
    cp "$(command -v cat)" "$W/bin/deep/tool"
    own "$W"
    OPTIONS+=(--env PATH="$W/bin/deep:$PATH" --cmd tool=false)
    for attempt in "rm -f bin/deep/tool" "mv bin/deep/tool x" "mv bin/deep x" "mv bin x" \
        "cp /bin/ls bin/deep/tool" "ln -f file bin/deep/tool"; do
        run inside "$attempt"
        [ "$status" -ne 0 ]
    done
    cmp "$(command -v cat)" "$W/bin/deep/tool"
}

@test "blocking the shell does not recurse, and what it really is keeps working" {
    [ "$(readlink -f /bin/sh)" != /bin/sh ] || skip "sh_link: sh is none here"
    local real
    real=$(readlink -f /bin/sh)
    run box --cmd sh=false --cmd basename=false -- sh -c 'echo ran'
    [ "$status" -eq 126 ]
    [ "${lines[0]}" = "agentbox: sh: blocked in this sandbox" ]
    [ "$(box --cmd sh=false -- "$real" -c 'echo ran')" = ran ]
}

@test "a script gets the arguments, the names and the streams, and its exit code counts" {
    script "$O/wrap" <<'END'
#!/bin/sh
echo "$AGENTBOX_CMD|$#|$1|$2"
"$AGENTBOX_REAL" -
exit 42
END
    run bash -c 'echo from stdin | "$@"' _ "${AS[@]}" "$BOX" run -q -C "$W" \
        --env AGENTBOX_REAL=/bin/false --cmd cat="$O/wrap" -- cat "a b" ''
    [ "$status" -eq 42 ]
    [ "${lines[0]}" = "cat|2|a b|" ]
    [ "${lines[1]}" = "from stdin" ]
}

@test "a script for the shell, or one whose shell is blocked, does not recurse" {
    script "$O/wrap" <<'END'
#!/bin/sh
echo wrapped
exec "$AGENTBOX_REAL" "$@"
END
    [ "$(box --cmd sh="$O/wrap" -- sh -c 'echo ran')" = $'wrapped\nran' ]
    [ "$(box --cmd sh=false --cmd cat="$O/wrap" -- cat file)" = $'wrapped\nwork' ]
}

@test "a script without a first line is the shell's" {
    script "$O/wrap" <<<$'preset:git 2>/dev/null\necho "plain $1"'
    [ "$(box --cmd cat="$O/wrap" -- cat x)" = "plain x" ]
}

@test "a script in the workspace, in /tmp or in a hidden directory works and cannot be changed" {
    script "$W/wrap" <<<$'#!/bin/sh\necho wrapped'
    script "$D/wrap" <<<$'#!/bin/sh\necho hidden'
    [ "$(box --cmd cat=./wrap -- cat x)" = wrapped ]
    [ "$(box --cmd cat="$D/wrap" -- cat x)" = hidden ]
    cp "$W/wrap" "$X/as-it-was"
    for attempt in "echo >wrap" "rm -f wrap" "mv wrap x" "ln -sf file wrap"; do
        OPTIONS+=(--cmd cat=./wrap)
        run inside "$attempt"
        [ "$status" -ne 0 ]
    done
    [ ! -L "$W/wrap" ]
    cmp "$W/wrap" "$X/as-it-was"
}

@test "a wrapper that is missing or cannot be executed is told before anything runs" {
    run box --cmd cat=./none -- touch "$W/ran"
    [ "$status" -eq 125 ]
    [[ "$output" == *"wrapper './none' of 'cat' is not there"* ]]
    echo x >"$W/plain"
    own "$W"
    run box --cmd cat=./plain -- touch "$W/ran"
    [ "$status" -eq 125 ]
    [[ "$output" == *"chmod +x"* ]]
    [ ! -e "$W/ran" ]
}

@test "a link to a script finds its neighbours, and is covered by its name" {
    lacks bwrap commands
    mkdir -p "$T/lib/bin"
    echo neighbour >"$T/lib/data"
    script "$T/lib/bin/cli.sh" <<<$'#!/bin/sh\ncat "$(dirname "$(readlink -f "$0")")/../data" "$@"'
    mkdir "$T/p"
    ln -s ../lib/bin/cli.sh "$T/p/npm"
    own "$T/lib" "$T/p"
    OPTIONS+=(--env PATH="$T/p:$PATH" --cmd npm=@npm)
    [ "$(box -- npm)" = neighbour ]
    run box -- npm publish
    [ "$status" -eq 126 ]
    [[ "${lines[0]}" == "agentbox: npm publish: "* ]]
}

@test "@git stops what throws work away, with a reason and a way out" {
    repository "$W"
    run --separate-stderr inside 'git reset --hard'
    [ "$status" -eq 0 ]
    echo dirty >"$W/f"
    OPTIONS+=(--cmd git=@git)
    for line in "git reset --hard" "git checkout f" "git -C . checkout -- f" \
        "git clean -fd" "/usr/bin/git restore ." "cd / && git -C '$W' reset --har" \
        "GIT_DIR='$W/.git' GIT_WORK_TREE='$W' git reset --hard" "exec -a x git reset --hard" \
        "ln -s /usr/bin/git x; ./x reset --hard" "PATH= /usr/bin/git reset --hard" \
        "git -c alias.zap='reset --hard' zap" "git -c alias.zap='!git reset --hard' zap" \
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.zap GIT_CONFIG_VALUE_0='reset --hard' git zap" \
        "printf '[alias]\nzap = reset --hard\n' >inc; git -c include.path=\$PWD/inc zap" \
        "n=z\$(printf %0300d 0); git -c alias.\$n='reset --hard' \$n" \
        "v=\$(printf %09000d 0); git -c alias.zap=\"reset --hard --\$v\" zap" \
        "cd / && GIT_DIR='$W/.git' GIT_WORK_TREE='$W' git checkout f" \
        "git --shallow-file x checkout f" "git read-tree --reset -u HEAD"; do
        run --separate-stderr box -- bash -c "$line"
        echo "$line: $status $stderr"
        [ "$status" -eq 126 ]
        [[ "${stderr_lines[0]}" == "agentbox: git "* ]]
        [[ "${stderr_lines[1]}" == "hint: "* ]]
        [ "$(cat "$W/f")" = dirty ]
    done
}

@test "@git covers git's second copy, and its names with a dash" {
    local core
    core=$(git --exec-path)
    repository "$W"
    OPTIONS+=(--cmd git=@git)
    for line in "$core/git reset --hard" "$core/git-reset --hard" "$core/git-checkout f"; do
        run inside "$line"
        [ "$status" -eq 126 ]
    done
    [ "$(cat "$W/f")" = dirty ]
    run inside 'git-upload-pack . </dev/null 2>/dev/null | head -c 4'
    echo "$output"
    [[ "$output" == 0* ]]
}

@test "@git lets everyday work through, and what git runs by itself" {
    repository "$W"
    OPTIONS+=(--cmd git=@git)
    inside 'git status -s && git add f && git commit -qmnote && git checkout -q -b new &&
        git switch -q main && git checkout -q new && git worktree add -q ../w/tree main &&
        echo more >f && git stash -q && git stash apply -q >/dev/null && git commit -qam more && git rebase -q main && git log -1 >/dev/null'
    [ "$(cat "$W/f")" = more ]
    [ -e "$W/tree/f" ]
}

@test "@git leaves repositories in the private /tmp alone, and only those" {
    repository "$W/r"
    OPTIONS+=(--cmd git=@git)
    inside 'cd /tmp && git init -q a && cd a && git config user.name a && git config user.email a@b &&
        echo 1 >f && git add f && git commit -qm x && echo 2 >f && git reset -q --hard && [ "$(cat f)" = 1 ]'
    for line in "cd /tmp && git -C '$W/r' checkout f" "cd '$W/r' && git worktree add -q -b n /tmp/t && cd /tmp/t &&
        git branch -D main" "cd /tmp && GIT_DIR='$W/r/.git' git reset --hard" \
        "git init -q /tmp/b && git -C /tmp/b config core.worktree '$W/r' && git -C /tmp/b clean -fdx" \
        "git init -q /tmp/c && cd /tmp/c && GIT_OBJECT_DIRECTORY='$W/r/.git/objects' git prune --expire=now"; do
        run inside "$line"
        echo "$line: $status $output"
        [ "$status" -eq 126 ]
    done
    [ "$(cat "$W/r/f")" = dirty ]
}

# Makes a repository there, and throws a change away.
restores() {
    inside "git init -q '$1' && cd '$1' && git config user.name a && git config user.email a@b &&
        echo 1 >f && git add f && git commit -qm x && echo 2 >f && git reset -q --hard && grep -qx 1 f"
}

@test "@git protects the workspace in /tmp, and leaves what is private beside it alone" {
    fixture "$(mktemp -d /tmp/abx-test.XXXXXX)"
    mkdir "$T/mixed" "$T/mixed/kept"
    echo dirty >"$T/mixed/kept/f"
    own "$T/mixed"
    repository "$W"
    OPTIONS+=(--rw "$T/mixed/kept" --cmd git=@git)
    for line in "git reset --hard" "cd /tmp && git -C '$W' checkout f" \
        "git init -q /tmp/b && git -C /tmp/b config core.worktree '$W' && git -C /tmp/b clean -fdx" \
        "git init -q /tmp/c && cd /tmp/c && git -c alias.zap='!git -C $W reset --hard' zap" \
        "git init -q '$T/mixed' && cd '$T/mixed' && git clean -ffdx"; do
        run inside "$line"
        echo "$line: $status $output"
        [ "$status" -eq 126 ]
    done
    [ "$(cat "$W/f")" = dirty ]
    [ "$(cat "$T/mixed/kept/f")" = dirty ]
    restores /tmp/a
    restores "$W-other"
}

@test "a signal to a wrapped program is the program's own" {
    repository "$W"
    OPTIONS+=(--cmd git=@git)
    run inside 'mkfifo p; git cat-file --batch <p >q & exec 3>p; echo HEAD >&3
        until [ -s q ]; do :; done; kill -TERM $!; wait $!; echo "ended $?"'
    [ "${lines[-1]}" = "ended 143" ]
}

@test "what the wrappers know cannot be read, listed, changed or imitated" {
    repository "$W"
    OPTIONS+=(--cmd git=@git --cmd rm=false)
    for attempt in "ls /run/agentbox" "cat /usr/bin/git" "cp /usr/bin/git x" "mv /run/agentbox /run/x" \
        "mkdir /run/agentbox/x" "chmod 755 /run/agentbox" "rmdir /run/agentbox" "touch /run/agentbox/inside" \
        "chmod 755 /usr/bin/git" "umount /usr/bin/git" "mount --bind /bin/true /usr/bin/git" \
        "mv /usr/bin/git /usr/bin/x" "ln /usr/bin/git x"; do
        run inside "$attempt"
        echo "$attempt: $output"
        [ "$status" -ne 0 ]
    done
    [ "$(box "${ROOM[@]}" -- "$BOX" inside)" = "inside sandbox" ]
    run inside "git reset --hard"
    [ "$status" -eq 126 ]
}

@test "why names the rule that decides about a command, and what takes it back" {
    names
    OPTIONS+=(--cmd ta=false --cmd git=@git --cmd cat="$O/wrap")
    script "$O/wrap" <<<$'#!/bin/sh\necho wrapped'
    run as_who "$BOX" why -C "$W" "${OPTIONS[@]}" exec ta
    echo "$output"
    [ "$status" -eq 1 ]
    [[ "$output" == *"denied: exec $P/tool"*"rule:   commands ta=false"*"change: --cmd ta=true"* ]]
    run as_who "$BOX" why -C "$W" "${OPTIONS[@]}" exec tb tool git cat
    [ "$status" -eq 0 ]
    [[ "$output" == *"rule:   commands git=@git"*"stopped by its arguments"* ]]
    [[ "$output" == *"rule:   commands cat=$O/wrap"*"the wrapper is run in its place"* ]]
    run as_who "$BOX" why -C "$W" "${OPTIONS[@]}" write "$(command -v git)"
    [ "$status" -eq 1 ]
    [[ "$output" != *"change:"* ]]
}

@test "what is hidden stays hidden although a rule is about it" {
    mkdir "$D/bin"
    cp "$(command -v cat)" "$D/bin/hidden-tool"
    own "$D"
    OPTIONS+=(--env PATH="$D/bin:$PATH" --cmd hidden-tool=false)
    run inside 'grep hidden-tool /proc/self/mountinfo; true'
    echo "$output"
    [ -z "$output" ]
}

@test "a project's file may block, but not unblock or send elsewhere, without trust" {
    echo '{ "commands": { "cat": false } }' >"$W/.agentbox.json"
    own "$W"
    run box -- cat file
    [ "$status" -eq 126 ]
    for value in '{ "cat": "./odd=false" }' '{ "rm": true }' '{ "rm": "@git" }'; do
        echo "{ \"commands\": $value }" >"$W/.agentbox.json"
        own "$W"
        run box -- true
        echo "$value: $status $output"
        case $value in
        *true*) [ "$status" -eq 0 ] ;;
        *) [ "$status" -eq 125 ] ;;
        esac
    done
    mkdir -p "$H/.config/agentbox"
    echo '{ "commands": { "rm": false } }' >"$H/.config/agentbox/config.json"
    echo '{ "commands": { "rm": true } }' >"$W/.agentbox.json"
    own "$H" "$W"
    run box -- true
    [ "$status" -eq 125 ]
    [[ "$output" == *"commands adds rm=true"* ]]
}
