#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# At the end of a run: what the command left that the host's git would run, or write through.
# Text for the shell inside stands in single quotes.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154
load ../lib/e2e

setup() {
    need_who
    ours_only
    fixture "$FIX/t$BATS_TEST_NUMBER"
    make_repo
}

# notes [TEXT [DIRECTORY]]: runs it; what agentbox said about git.
notes() {
    (cd "${2:-$W}" && "${AS[@]}" "$BOX" run --approve yes "${OPTIONS[@]}" -c "$1" 3>&-) 2>&1 >/dev/null |
        grep -a 'git\b.*would' || :
}

expect_note() {
    local got=$1
    shift
    for word; do
        [[ $got == *"$word"* ]] || {
            echo "no '$word' in: $got"
            return 1
        }
    done
    [ "$(wc -l <<<"$got")" -eq 1 ]
}

@test "ordinary work with git leaves no note" {
    OPTIONS+=(--ro "$T")
    [ -z "$(notes "set -e; echo a >>file; git commit -qam second; git switch -qc topic; git stash -q || :
        git switch -q main; git merge -q topic; git gc -q; git worktree add -q tree; git -C tree status
        git clone -q '$T/upstream' clone; git init -q new; git -C new commit -q --allow-empty -m first
        git clone -q --bare '$T/upstream' bare; git rebase -q HEAD~1
        git -c protocol.file.allow=always submodule --quiet add '$T/upstream' second 2>/dev/null || :")" ]
    [ "$(host_git -C "$W" log --oneline | wc -l)" -eq 2 ]
}

@test "a repository in the index that git enters: told what it would run" {
    local got
    got=$(notes 'git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub
        git -C sub config core.fsmonitor "touch '"$W"'/pwned; false"')
    expect_note "$got" "repository in '$W/sub'" "core.fsmonitor"
    # It is no idle threat.
    run host_git -C "$W" status
    [ -e "$W/pwned" ]
    rm "$W/pwned"
    # Known now, and protected.
    [ -z "$(notes 'echo x >>file')" ]
}

@test "the same in index version 4, in a split index, and with a .git file" {
    local got
    host_git -C "$W" update-index --index-version 4
    got=$(notes 'git init -q aa/b/c && git -C aa/b/c commit -q --allow-empty -m x && git add aa
        git -C aa/b/c config alias.x "!x"')
    expect_note "$got" "'$W/aa/b/c'" "alias.x"
    host_git -C "$W" update-index --index-version 2 --split-index
    got=$(notes 'git init -q two && git -C two commit -q --allow-empty -m x && git add two
        git update-index --no-split-index; git update-index --split-index
        mv two/.git other && echo "gitdir: ../other" >two/.git && mkdir other/hooks -p && touch other/hooks/pre-push')
    expect_note "$got" "'$W/two'" "hooks/pre-push"
}

@test "a submodule that was not checked out, of SHA-256 objects too" {
    local got
    host_git -C "$W" submodule --quiet deinit -f mod
    rm -rf "$W/.git/modules" "$W/mod"
    got=$(notes 'git init -q mod; git -C mod config core.fsmonitor x')
    expect_note "$got" "'$W/mod'" "core.fsmonitor"

    host_git init -q --object-format=sha256 "$T/w/other"
    got=$(notes 'git init -q --object-format=sha256 s; git -C s commit -q --allow-empty -m x; git add s
        git -C s config core.editor x' "$W/other")
    expect_note "$got" "'$W/other/s'" "core.editor"
}

@test "a repository where there was none" {
    local got
    mkdir "$W/plain"
    own "$W"
    got=$(notes 'git init -q . && git config core.pager x' "$W/plain")
    expect_note "$got" "'$W/plain'" "core.pager"
}

@test "links in .git that git would write through" {
    local got
    got=$(notes 'ln -sf ../../h/.bashrc .git/COMMIT_EDITMSG')
    expect_note "$got" "'$W/.git/COMMIT_EDITMSG'" "'../../h/.bashrc'"
    rm "$W/.git/COMMIT_EDITMSG"
    got=$(notes 'for i in 1 2 3 4 5; do ln -s "x
y" .git/logs/l$i; done')
    [ "$(wc -l <<<"$got")" -eq 3 ]
    [[ $got == *"'x\\x0ay'"* || $got == *"'x\\ny'"* ]]
    [[ $got == *"and 2 more"* ]]
}

@test "a .git that is none any more" {
    local got
    got=$(notes 'rm .git/HEAD')
    expect_note "$got" "'$W/.git' is no repository any more" "in '$W' or above"
}

@test "exec lines of a rebase that goes on" {
    local got
    got=$(notes 'git commit -q --allow-empty -m 2; GIT_SEQUENCE_EDITOR="printf \"break\nexec touch pwned\n\" >" git rebase -q -i HEAD~1')
    expect_note "$got" "git rebase --continue" ".git/rebase-merge/git-rebase-todo"
}

@test "-q: nothing is looked at; a limit that is passed is said" {
    local got
    OPTIONS+=(-q)
    [ -z "$(notes 'rm .git/HEAD')" ]
    OPTIONS=(--exclude "$D")
    echo 'ref: refs/heads/main' >"$W/.git/HEAD"
    own "$W"
    got=$(notes 'head -c 300m /dev/zero >.git/sharedindex.x')
    [[ $got == "" ]]
    got=$("${AS[@]}" "$BOX" run --approve yes -C "$W" -- true 2>&1)
    [[ $got == *"sharedindex.x' has too much in it"* ]]
}
