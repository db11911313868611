#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Repositories that lie deeper, bare ones, and what their configs name: git works inside, and the
# host's git runs nothing that the command wrote.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

setup() {
    need_who
    fixture "$FIX/t$BATS_TEST_NUMBER"
    make_repo
}

# A repository at $1 with one commit.
make_nested() {
    host_git init -q "$1"
    echo text >"$1/text"
    host_git -C "$1" add text
    host_git -C "$1" commit -q -m first
    own "$1"
}

# Everything by which a command could plant code in the git directory $1. Says nothing if it cannot.
ATTACK='attack() {
    echo evil >$1/hooks/pre-commit && echo "hook in $1"
    mkdir $1/hooks/sub && echo "directory in $1/hooks"
    echo evil >>$1/config && echo "config of $1"
    git config -f $1/config core.fsmonitor evil && echo "config of $1 by git"
    echo ../elsewhere >$1/commondir && echo "commondir of $1"
    mv $1/hooks $1/h && echo "hooks of $1 moved"
    mv $1/config $1/c && echo "config of $1 moved"
    mv $1 $1.old && echo "$1 moved"
    rm -rf $1/hooks $1/config
}; exec 2>/dev/null'

# unharmed GITDIR…: they are as they were made.
unharmed() {
    local dir
    for dir; do
        [ -f "$dir/config" ]
        [ -d "$dir/hooks" ]
        not grep -rq evil "$dir/config" "$dir/hooks"
        [ ! -e "$dir/commondir" ]
    done
}

@test "repositories that lie deeper keep their hooks and config, and commits work in them" {
    make_nested "$W/vendor/dep"
    make_nested "$W/a/b/c/d/e"
    [ -z "$(inside "$ATTACK; attack vendor/dep/.git; attack a/b/c/d/e/.git
        mv vendor v && echo moved; mv a/b/c x && echo moved")" ]
    unharmed "$W/vendor/dep/.git" "$W/a/b/c/d/e/.git"
    inside 'set -e; cd vendor/dep; echo x >>text; git commit -qam inside; git switch -qc topic; git stash list
        git switch -q -; git merge -q topic; git rebase -q HEAD~1; git status'
    [ "$(host_git -C "$W/vendor/dep" log -1 --format=%s)" = inside ]
}

@test "a repository behind five directories is protected, one behind six is not looked for" {
    make_nested "$W/1/2/3/4/5"
    make_nested "$W/1/2/3/4/5x/6"
    inside 'echo evil >>1/2/3/4/5/.git/config; echo evil >>1/2/3/4/5x/6/.git/config; :' 2>/dev/null
    not grep -q evil "$W/1/2/3/4/5/.git/config"
    grep -q evil "$W/1/2/3/4/5x/6/.git/config"
}

@test "repositories in a second writable root are protected" {
    make_nested "$O/top"
    make_nested "$O/top/sub"
    OPTIONS+=(--rw "$O")
    [ -z "$(inside "$ATTACK; attack $O/top/.git; attack $O/top/sub/.git")" ]
    unharmed "$O/top/.git" "$O/top/sub/.git"
    OPTIONS+=(--rw "$O/top")
    [ -z "$(inside "$ATTACK; attack $O/top/.git; attack $O/top/sub/.git")" ]
    unharmed "$O/top/.git" "$O/top/sub/.git"
}

@test "bare repositories keep their hooks and config, also when one run makes them look like none" {
    host_git init -q --bare "$W/store/bare.git"
    rm "$W/store/bare.git/hooks/"*
    own "$W"
    inside 'set -e; git push -q store/bare.git main; git -C store/bare.git log -1'
    [ -z "$(inside "$ATTACK; attack store/bare.git")" ]
    inside 'mv store/bare.git/HEAD head'
    [ -z "$(inside "$ATTACK; attack store/bare.git")" ]
    mv "$W/head" "$W/store/bare.git/HEAD"
    unharmed "$W/store/bare.git"
    inside 'mkdir away; cd store/bare.git; mv objects refs HEAD packed-refs description info ../../away; :' 2>/dev/null
    [ ! -e "$W/store/bare.git/refs" ]
    [ -z "$(inside "$ATTACK; attack store/bare.git")" ]
    mv "$W/away/"* "$W/store/bare.git"
    unharmed "$W/store/bare.git"
    W=$W/store/bare.git
    [ -z "$(inside "$ATTACK; attack .")" ]
    unharmed "$W"
}

@test "more repositories than there are placeholders for are all protected" {
    local i
    make_nested "$W/r0"
    for i in {1..39}; do
        cp -r "$W/r0" "$W/r$i"
    done
    own "$W"
    [ -z "$(inside "$ATTACK; for i in r*; do attack \$i/.git; done")" ]
    for i in {0..39}; do
        unharmed "$W/r$i/.git"
    done
}

@test "@git-strict: more directories that only look like repositories than there are placeholders for do not stop a run" {
    OPTIONS+=(--set filesystem.presets=@git-strict)
    local i
    inside 'for i in $(seq 150); do mkdir -p n$i/.git; done'
    run inside 'for i in $(seq 150); do mkdir n$i/refs; echo . >n$i/commondir; done 2>/dev/null
        echo a >>file; git commit -qam second'
    [ "$status" -eq 0 ]
    for i in {1..150}; do
        [ ! -e "$W/n$i/refs" ]
        [ ! -e "$W/n$i/commondir" ]
    done
}

@test "more submodules than there are placeholders for do not stop a run" {
    local i
    for i in {1..80}; do
        mkdir -p "$W/.git/modules/m$i"
        echo "ref: refs/heads/main" >"$W/.git/modules/m$i/HEAD"
    done
    own "$W"
    run inside 'set -e; for i in $(seq 80); do ! mkdir .git/modules/m$i/hooks; done
        echo a >>file; git commit -qam second'
    [ "$status" -eq 0 ]
    not find "$W/.git/modules" -path '*/m*/hooks' | grep -v /mod/ | grep .
}

@test "the directory that core.hooksPath names is protected, there or not" {
    local dir
    for dir in .hooks tools/git/hooks "$W/abs" "\"quo ted\""; do
        host_git -C "$W" config core.hooksPath "${dir//\"/}"
        rm -rf "$W/tools"
        mkdir -p "$W/tools/git"
        own "$W"
        run inside 'd=$(git config core.hooksPath); mkdir -p "$d"; echo evil >"$d/pre-commit"
            chmod +x "$d/pre-commit"; rm -rf tools; :'
        [ -z "$(find "$W" -name pre-commit)" ]
        as_who mkdir -p "$W/x" "$T/w/${dir//\"/}" 2>/dev/null || as_who mkdir -p "${dir//\"/}"
        run inside 'd=$(git config core.hooksPath); echo evil >"$d/pre-commit"; mv "$d" elsewhere
            mv tools t; mkdir -p "$d"; echo evil >"$d/pre-commit"'
        [ -z "$(find "$W" -name pre-commit)" ]
    done
    inside 'echo a >>file; git commit -qam works'
}

# Of a push the hooks run in the git directory, and a path that is not absolute counts from there.
@test "the directory that core.hooksPath names is protected for what is pushed into the repository" {
    host_git clone -q "$W" "$T/other" 2>/dev/null
    host_git -C "$W" config core.hooksPath .hooks
    host_git -C "$W" config receive.denyCurrentBranch ignore
    printf '#!/bin/sh\ntouch "%s/ran"\n' "$X" >"$W/evil"
    chmod 755 "$W/evil"
    own "$W" "$X"
    run inside 'for d in .git .git/worktrees/linked .git/modules/mod; do
            mkdir -p $d/.hooks; cp evil $d/.hooks/post-receive; done'
    host_git -C "$T/other" push -q "$W" HEAD:refs/heads/pushed
    host_git -C "$T/other" push -q "$T/linked" HEAD:refs/heads/there
    [ ! -e "$X/ran" ]
    as_who mkdir "$W/.git/.hooks"
    as_who cp "$W/evil" "$W/.git/.hooks/post-receive"
    host_git -C "$T/other" push -q "$W" HEAD:refs/heads/again
    [ -e "$X/ran" ]
}

@test "hooks of the user's own config, husky's and .githooks are protected" {
    host_git config -f "$H/.gitconfig" core.hooksPath .own
    mkdir -p "$W/.husky/_" "$W/sub/.githooks" "$W/.own"
    own "$W" "$H"
    run inside 'for d in .husky .husky/_ sub/.githooks .own; do echo evil >$d/pre-commit; done; mv .husky h
        mv sub s; mv .own o'
    [ -z "$(find "$W" -name pre-commit)" ]
}

@test "files that the config includes are protected, under any condition" {
    mkdir -p "$W/cfg"
    printf '[include]\n\tpath = third\n' >"$W/cfg/second"
    host_git -C "$W" config include.path ../cfg/first
    host_git -C "$W" config includeIf.onbranch:none.path "$W/cfg/second"
    own "$W"
    run inside 'for f in first second third; do
            git config -f cfg/$f core.fsmonitor evil; echo evil >>cfg/$f; echo evil >n; mv n cfg/$f
        done; mv cfg c; mkdir cfg; echo "[core] fsmonitor = evil" >cfg/first'
    not grep -rq evil "$W/cfg"
    [ ! -e "$W/cfg/first" ]
    [ ! -e "$W/cfg/third" ]
}

@test "worktrees and submodules can be added and updated inside" {
    host_git clone -q "$W" "$T/clone" 2>/dev/null
    host_git -C "$T/clone" submodule --quiet init
    (W=$T/clone && inside 'set -e; git -c protocol.file.allow=always submodule --quiet update
        cd mod; git log -1 --format=%s') | grep first
    host_git clone -q "$W" "$T/plain" 2>/dev/null # not initialized: that would write the config
    (W=$T/plain && inside 'set -e; git -c protocol.file.allow=always -c submodule.active=. submodule --quiet update
        cd mod; git log -1 --format=%s') | grep first
    inside 'set -e; git worktree add -q wt -b new; cd wt; echo a >>file; git commit -qam in-wt; cd ..
        git worktree list; git worktree remove wt; git merge -q new'
    [ "$(host_git -C "$W" log -1 --format=%s)" = in-wt ]
    # What rewrites a config is refused, so a submodule that is there is not updated but entered.
    inside 'set -e; cd mod; git switch -qc t; echo a >s; git add s
        git commit -qm in-mod; cd ..; git add mod; git commit -qm moved; git submodule status'
    as_who mkdir "$W/new"
    inside 'set -e; cd new; git init -q; echo a >f; git add f; git commit -qm own'
    [ "$(host_git -C "$W/new" log -1 --format=%s)" = own ]
}

@test "from a subdirectory git works, and the repository above is protected" {
    as_who mkdir "$W/sub"
    make_nested "$W/sub/dep"
    own "$W"
    local top=$W
    W=$W/sub
    inside 'set -e; echo a >new; git add new; git commit -qm below; git stash list; git switch -qc t; git status'
    [ "$(host_git -C "$top" log -1 --format=%s)" = below ]
    [ -z "$(inside "$ATTACK; attack $top/.git; attack dep/.git")" ]
    not grep -q evil "$top/.git/config"
    unharmed "$W/dep/.git"
}

@test "the .git files of linked worktrees and submodules inside the workspace are protected" {
    host_git -C "$W" worktree add -q "$W/lw" -b lw
    own "$W"
    run inside 'for f in mod/.git lw/.git; do
            echo "gitdir: /tmp/evil" >$f; rm -f $f; mv $f x; mkdir $f
        done; mv lw l; mv mod m; echo evil >>.git/modules/mod/config'
    [ "$(cat "$W/mod/.git")" = "gitdir: ../.git/modules/mod" ]
    grep -q '/.git/worktrees/lw$' "$W/lw/.git"
    not grep -q evil "$W/.git/modules/mod/config"
    inside 'set -e; cd lw; echo a >>file; git commit -qam lw'
}

@test "the .git file of a linked worktree is protected where no search finds it" {
    local tree
    for tree in "$W/.git/trees/x" "$W/1/2/3/4/5/6/7"; do
        host_git -C "$W" worktree add -q "$tree" -b "b${tree##*/}"
    done
    own "$W"
    run inside 'for d in .git/trees/x 1/2/3/4/5/6/7; do
            echo "gitdir: /tmp/evil" >$d/.git; rm -f $d/.git; mv $d/.git x; mv $d y; mkdir -p $d; echo "gitdir: /tmp/evil" >$d/.git
        done; mv 1 one; mv .git/trees t'
    grep -q '/.git/worktrees/x$' "$W/.git/trees/x/.git"
    grep -q '/.git/worktrees/7$' "$W/1/2/3/4/5/6/7/.git"
    inside 'set -e; cd .git/trees/x; echo a >>file; git commit -qam there'
    inside 'git worktree prune; git worktree list'
}

@test "a link that leads to a git directory cannot be turned" {
    lacks bwrap links
    host_git -C "$W" submodule --quiet absorbgitdirs
    mv "$W/.git/modules/mod" "$W/store"
    ln -s ../../store "$W/.git/modules/mod"
    own "$W"
    run inside "$ATTACK; attack store; attack .git/modules/mod
        rm .git/modules/mod; ln -sfn /tmp .git/modules/mod; mv .git/modules m; mv store s"
    [ "$(readlink "$W/.git/modules/mod")" = ../../store ]
    unharmed "$W/store"
    inside 'set -e; cd mod; echo a >s; git add s; git commit -qm in-mod'
}

@test "a directory without permissions does not hide a repository" {
    is_other || [ "$(id -u)" -ne 0 ] || skip "other: root reads everything"
    make_nested "$W/hide/dep"
    inside 'chmod 0 hide'
    run inside 'chmod 755 hide; echo evil >>hide/dep/.git/config; mv hide h'
    chmod 755 "$W/hide"
    unharmed "$W/hide/dep/.git"
    chmod 311 "$W/hide"
    run inside 'echo evil >>hide/dep/.git/config'
    chmod 755 "$W/hide"
    unharmed "$W/hide/dep/.git"
}

@test "@git-strict: a work tree that is closed to writing stays so, and does not stop a run" {
    OPTIONS+=(--set filesystem.presets=@git-strict)
    make_nested "$W/dep"
    chmod 555 "$W/dep"
    [ "$WHO" = root ] || not as_who mkdir "$W/dep/refs"
    inside 'cat dep/text && : >other'
    [ -e "$W/other" ]
    run inside 'chmod 755 dep; mkdir dep/refs'
    [ "$status" -ne 0 ]
    [ ! -e "$W/dep/refs" ]
    chmod 755 "$W/dep"
}

@test "pipes, sockets and loops among git's files do not stop the scan" {
    make_nested "$W/dep"
    inside 'mkfifo .git/index2 dep/.git/MERGE_HEAD dep/fifo; ln -s . loop; ln -s loop/loop dep/loop
        ln -s . .git/modules/loop; mkdir bare; mkfifo bare/HEAD; mkdir bare/objects; mkfifo bare/config'
    inside 'echo a >>file; git commit -qam second'
    unharmed "$W/dep/.git"
}
