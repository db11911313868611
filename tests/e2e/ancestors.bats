#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What stopped the ancestors of agentbox, or slipped through them (docs/ancestors.md).
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

abx() {
    (cd "$W" && exec timeout --foreground -k 2 20 "${AS[@]}" "$BOX" "$@" 3>&-)
}

@test "help, version, inside, schema and show need neither environment nor home" {
    local word
    for word in help version 'config schema' 'config show' rules 'help keys'; do
        # shellcheck disable=SC2086
        as_who env -i "$BOX" $word >"$X/out"
        [ -s "$X/out" ]
    done
    run as_who env -i "$BOX" inside
    [ "$output" = "outside sandbox" ]
}

@test "an empty path is refused, wherever it stands" {
    local option
    for option in --ro --rw --exclude; do
        run abx run -q "$option" '' -- touch "$W/ran"
        [ "$status" -eq 125 ]
        [[ $output = *"not a path"*hint:* ]]
    done
    [ ! -e "$W/ran" ]
    mkdir "$W/ "
    own "$W"
    run abx run -q --ro ' ' -c 'touch " /x"'
    [ ! -e "$W/ /x" ] # a blank is a name
}

@test "a rule about what cannot be reached stops no run" {
    mkdir "$X/closed"
    chmod 0 "$X/closed"
    ln -s loop "$W/loop"
    mkdir -p "$H/.config/agentbox"
    cat >"$H/.config/agentbox/config.json" <<FILE
{ "filesystem": { "rw": ["$X/closed/a/b", "file/x", "$X/none/x"], "ro": ["$X/closed/c", "file/y"],
  "exclude": ["$X/closed/d", "file/z", "loop/z"] } }
FILE
    own "$T"
    abx run -q -- true
    OPTIONS+=(--ro "$X/closed/e" --exclude file/e --exclude loop/e)
    box -- true
    chmod 755 "$X/closed"
}

@test "a grant on the command line that cannot be given is told" {
    is_other || skip "other: root may enter everything"
    mkdir "$X/closed"
    chown 0 "$X/closed"
    chmod 700 "$X/closed"
    run abx run -q --rw "$X/closed/a" -- true
    [ "$status" -eq 125 ]
    [[ $output = *"enter '$X/closed'"*hint:* ]]
}

@test "neither git nor a plain PATH nor TMPDIR is needed" {
    make_repo
    AS+=(PATH="$X/file:$X/none:/proc/1/root::.:/bin" TMPDIR="$X/none" GIT_DIR=/nowhere)
    touch "$X/file"
    [ "$(abx run -q -- sh -c 'echo "$TMPDIR"; touch "$TMPDIR/x" made && echo fine')" = $'/tmp\nfine' ]
    [ -e "$W/made" ]
    AS+=(PATH="$X/none")
    abx run -q -- /bin/true
}

@test "a plan is the same each time, and its names are quoted" {
    mkdir "$W/a b" "$W/"$'c\nd'
    own "$W"
    local first
    first=$(abx plan --json --ro 'a b' --exclude $'c\nd' --env 'X=a  b' -- echo '' 'x  y')
    [ "$first" = "$(abx plan --json --ro 'a b' --exclude $'c\nd' --env 'X=a  b' -- echo '' 'x  y')" ]
    python3 -c '
import json, sys
plan = json.load(sys.stdin)
assert plan["command"] == ["echo", "", "x  y"], plan["command"]
paths = [m["path"] for m in plan["mounts"]]
assert any(p.endswith("/a b") for p in paths) and any(p.endswith("/c\nd") for p in paths)' <<<"$first"
    run abx plan --exclude $'c\nd' -- echo 'x  y'
    [[ $output = *'c\x0ad'* && $output = *"'x  y'"* ]]
}

@test "a .git that is a link, a pipe, empty or wrong stops no run" {
    make_repo
    local kind
    for kind in empty wrong nowhere missing pointer link loop pipe; do
        mkdir "$W/$kind"
    done
    : >"$W/empty/.git"
    echo hello >"$W/wrong/.git"
    echo gitdir: >"$W/nowhere/.git"
    echo 'gitdir: /nowhere/x' >"$W/missing/.git"
    echo 'gitdir: ../empty/.git' >"$W/pointer/.git"
    ln -s ../.git "$W/link/.git"
    ln -s .git "$W/loop/.git"
    mkfifo "$W/pipe/.git"
    own "$W"
    for kind in empty wrong nowhere missing pointer link loop pipe; do
        abx run -q -C "$W/$kind" -- touch ran
        [ -e "$W/$kind/ran" ]
    done
}

@test "@git-strict keeps branches and tags, packed or not, and lets the current one go on" {
    make_repo
    host_git -C "$W" branch packed
    host_git -C "$W" branch team/packed
    host_git -C "$W" tag v1
    host_git -C "$W" pack-refs --all
    host_git -C "$W" branch loose
    own "$W"
    host_git -C "$W" for-each-ref refs/heads/packed refs/heads/team refs/heads/loose refs/tags >"$X/before"
    OPTIONS+=(--set filesystem.presets=@git-strict)
    run inside 'git commit -q --allow-empty -m next
        for ref in packed team/packed loose; do
            git update-ref "refs/heads/$ref" HEAD; git branch -f "$ref" HEAD; git branch -D "$ref"
            rmdir ".git/refs/heads/$ref"; mkdir -p .git/refs/heads/team
            git rev-parse HEAD >".git/refs/heads/$ref"
            git rev-parse HEAD >.git/r; mv .git/r ".git/refs/heads/$ref"
        done
        git tag v2; git tag -d v1; rm -f .git/packed-refs; : >.git/packed-refs; git pack-refs --all
        git for-each-ref --format="%(refname)" refs/heads/packed refs/heads/team'
    [[ $output = *refs/heads/packed*refs/heads/team/packed* ]] # they can be seen inside
    host_git -C "$W" for-each-ref refs/heads/packed refs/heads/team refs/heads/loose refs/tags | diff "$X/before" -
    [ "$(host_git -C "$W" log -1 --format=%s)" = next ]
    [ -z "$(find "$W/.git/refs" -type d -empty -perm 555)" ]
    [ "$(host_git -C "$W" fsck 2>&1 | grep -c error)" -eq 0 ]
}
