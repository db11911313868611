#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Git works inside, and nothing inside can make the host's git run code later.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

setup() {
    need_who
    fixture "$FIX/t$BATS_TEST_NUMBER"
    make_repo
}

listing() {
    (cd "$1" && find . -printf '%p %y %m %l\n' | sort)
}

@test "commit, switch, stash, merge, rebase, tag and gc work" {
    inside 'set -e; echo a >>file; git commit -qam second; git switch -qc topic; echo b >>file
        git stash -q; git stash pop -q; git commit -qam third; git switch -q main
        git merge -q topic; git tag v1; git rebase -q HEAD~1; git gc -q; git worktree list
        git branch -d topic; git reset -q --hard; git clean -fdq; git notes add -m n; git fsck'
    [ "$(host_git -C "$W" log --oneline main | wc -l)" -eq 3 ]
    [ -z "$(host_git -C "$W" status --porcelain)" ]
}

@test "commit works in a linked worktree and in a submodule" {
    W=$T/linked
    inside 'set -e; echo a >>file; git commit -qam linked; git status'
    [ "$(host_git -C "$T/linked" log -1 --format=%s)" = linked ]
    W=$T/w/mod
    inside 'set -e; echo a >sub; git add sub; git commit -qm sub; git status'
    [ "$(host_git -C "$T/w/mod" log -1 --format=%s)" = sub ]
}

@test "hooks cannot be added, changed or replaced" {
    printf '#!/bin/sh\nexit 0\n' >"$W/.git/hooks/pre-push"
    own "$W"
    local before
    before=$(listing "$W/.git/hooks")
    run inside 'echo evil >.git/hooks/pre-commit; echo evil >.git/hooks/pre-push; chmod +x .git/hooks/*
        rm -rf .git/hooks; mv .git/hooks x; mkdir -p .git/hooks; ln -sfn /tmp .git/hooks
        mv .git x; cp -r .git x; rm -rf .git/hooks/pre-push; mkdir x/hooks; mv x .git'
    diff <(listing "$W/.git/hooks") - <<<"$before"
    [ "$(sed -n 2p "$W/.git/hooks/pre-push")" = "exit 0" ]
}

@test "absent hooks cannot be made" {
    rm -rf "$W/.git/hooks"
    run inside 'mkdir .git/hooks; mkdir -p .git/hooks && echo evil >.git/hooks/pre-commit
        ln -s /tmp .git/hooks; mkdir h; mv h .git/hooks; git init -q --template=/usr/share/git-core/templates'
    [ ! -e "$W/.git/hooks" ]
}

@test "hooks that are a symlink are protected at both ends" {
    lacks bwrap links
    mv "$W/.git/hooks" "$W/hooks"
    ln -s ../hooks "$W/.git/hooks"
    own "$W"
    local before
    before=$(listing "$W/hooks")
    run inside 'echo evil >.git/hooks/pre-commit; echo evil >hooks/pre-commit; rm -f .git/hooks
        mkdir .git/hooks; echo evil >.git/hooks/pre-commit; mv hooks old; mkdir hooks; echo evil >hooks/pre-commit'
    diff <(listing "$W/hooks") - <<<"$before"
    [ "$(readlink "$W/.git/hooks")" = ../hooks ]
}

@test "the config cannot be changed by git or by hand" {
    watch "$W/.git/config"
    run inside 'git config core.fsmonitor ./x; git config core.hooksPath .; git config alias.st "!x"
        git config diff.external ./x; git config include.path ../evil; echo evil >>.git/config
        cp .git/config c; echo evil >>c; mv c .git/config; cp c .git/config; ln -f c .git/config
        rm -f .git/config; sed -i s/core/evil/ .git/config; git remote add evil ext::sh'
    untouched
    [ -z "$(host_git -C "$W" config --get core.fsmonitor)" ]
}

@test "the pointers of a linked worktree cannot be turned" {
    local before
    before=$(cat "$T/linked/.git" "$W/.git/worktrees/linked/commondir" "$W/.git/worktrees/linked/gitdir")
    run inside 'for f in commondir gitdir; do echo /tmp/evil >.git/worktrees/linked/$f
        rm -f .git/worktrees/linked/$f; mv file .git/worktrees/linked/$f; done
        mv .git/worktrees/linked .git/worktrees/x; mv .git/worktrees .git/x'
    W=$T/linked
    run inside 'echo "gitdir: /tmp/evil" >.git; rm -f .git; mv .git x; mkdir .git; ln -sfn /tmp .git
        cp -r "$(git rev-parse --git-common-dir)" .git'
    W=$T/w
    [ "$before" = "$(cat "$T/linked/.git" "$W/.git/worktrees/linked/commondir" \
        "$W/.git/worktrees/linked/gitdir")" ]
}

@test "config.worktree is protected where git reads it, and harmless where it does not" {
    local evil="[core]\n\tfsmonitor = \"touch $T/pwned; false\"\n"
    run inside "printf '$evil' >.git/config.worktree; printf '$evil' >.git/worktrees/linked/config.worktree"
    run host_git -C "$W" status
    run host_git -C "$T/linked" status
    [ ! -e "$T/pwned" ]
    rm -f "$W/.git/config.worktree" "$W/.git/worktrees/linked/config.worktree"
    host_git -C "$W" config extensions.worktreeConfig true
    run inside "printf '$evil' >.git/config.worktree; printf '$evil' >.git/worktrees/linked/config.worktree"
    [ ! -e "$W/.git/config.worktree" ]
    [ ! -e "$W/.git/worktrees/linked/config.worktree" ]
    host_git -C "$W" status
    [ ! -e "$T/pwned" ]
}

@test "an absent commondir cannot be made to lead the host's git elsewhere" {
    run inside 'cp -r .git evil && printf "[core]\n\tfsmonitor = \"touch %s/w/pwned; false\"\n" "${W%/w}" >>evil/config
        echo ../evil >.git/commondir; ln -s ../evil .git/commondir; mv file .git/commondir
        echo ../../../evil >.git/modules/mod/commondir'
    run host_git -C "$W" status
    [ ! -e "$W/pwned" ]
    run host_git -C "$W/mod" status
    [ ! -e "$W/pwned" ]
    inside 'git status; git commit -q --allow-empty -m works'
}

@test "from a linked worktree the main repository's hooks and config are protected" {
    local before
    before=$(listing "$W/.git/hooks")
    watch "$W/.git/config"
    W=$T/linked
    run inside 'g=$(git rev-parse --git-common-dir); echo evil >$g/hooks/pre-commit; echo evil >>$g/config
        git config core.fsmonitor ./x; rm -rf $g/hooks; mv $g/hooks $g/x; mv $g $g.x; rm -rf $g'
    untouched
    diff <(listing "$T/w/.git/hooks") - <<<"$before"
}

@test "a submodule's hooks and config are protected" {
    local module=$W/.git/modules/mod before
    before=$(listing "$module/hooks")
    watch "$module/config"
    run inside 'echo evil >.git/modules/mod/hooks/pre-commit; echo evil >>.git/modules/mod/config
        git -C mod config core.fsmonitor ./x; mv .git/modules x; mv .git/modules/mod .git/modules/x
        rm -rf .git/modules/mod/hooks; echo "gitdir: /tmp/evil" >mod/.git; rm -f mod/.git; mv mod/.git mod/x
        mkdir -p .git/modules/mod/hooks && echo evil >.git/modules/mod/hooks/post-checkout'
    untouched
    diff <(listing "$module/hooks") - <<<"$before"
    [ "$(cat "$W/mod/.git")" = "gitdir: ../.git/modules/mod" ]
}

@test "the git directory itself cannot be moved away or replaced" {
    refused "$HELD" sys renameat2 -100 "@$W/.git" -100 "@$W/x" 0
    refused "$HELD" sys renameat2 -100 "@$W/.git" -100 "@$W/file" 2
    refused "$HELD" sys unlinkat -100 "@$W/.git" 0x200
    inside 'rm -rf .git; mkdir .git; :' 2>/dev/null || :
    [ -e "$W/.git/config" ]
    [ -d "$W/.git/hooks" ]
}

@test "the workspace does not become a bare repository that the host's git would trust" {
    rm -rf "$W/.git" "$W/mod" "$W/.gitmodules"
    run inside 'mkdir -p objects refs hooks; echo "ref: refs/heads/main" >HEAD
        printf "[core]\n\tbare = true\n\tfsmonitor = \"touch %s/pwned\"\n" "$W" >config'
    run host_git -C "$W" status
    [ ! -e "$W/pwned" ]
}

@test "filesystem.allowGitConfig lets the configuration be changed, and nothing else" {
    run inside 'git config user.name inside'
    [ "$status" -ne 0 ]
    OPTIONS+=(--set filesystem.allowGitConfig=true)
    inside 'git config user.name inside'
    [ "$(host_git -C "$W" config --local user.name)" = inside ]
    run inside 'echo evil >.git/hooks/pre-commit'
    [ ! -e "$W/.git/hooks/pre-commit" ]
}
