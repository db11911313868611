#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A122–A133: making the host run our code later. The host's own git and shell are the canaries: after
# the run they are used as a user would, and nothing that the command planted may have run.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

# What the host runs if the command gets its way; run by hand once, so that a test can fail.
plant() {
    printf '#!/bin/sh\ntouch "%s"\n' "$X/ran" >"$W/evil"
    chmod 755 "$W/evil"
    own "$W/evil" "$X"
    as_who "$W/evil"
    [ -e "$X/ran" ]
    rm "$X/ran"
}

# Everyday git on the host, in each directory.
use_git() {
    local dir
    for dir in "$@"; do
        host_git -C "$dir" status >/dev/null 2>&1 || :
        host_git -C "$dir" log -1 >/dev/null 2>&1 || :
        host_git -C "$dir" diff HEAD >/dev/null 2>&1 || :
        host_git -C "$dir" add -A >/dev/null 2>&1 || :
        host_git -C "$dir" commit -q --allow-empty -m next >/dev/null 2>&1 || :
        host_git -C "$dir" checkout -q -b "b$RANDOM" >/dev/null 2>&1 || :
    done
    if [ -e "$X/ran" ]; then
        echo "the host's git ran what the command planted"
        return 1
    fi
}

HOOKS='for h in pre-commit post-commit post-checkout reference-transaction post-index-change prepare-commit-msg; do
    cp evil "$G/hooks/$h"; ln -sf "$W/evil" "$G/hooks/$h"; done'

@test "A122 hooks: there, absent, or a link" {
    make_repo
    plant
    run inside 'G=.git; rm -rf .git/hooks; mkdir .git/hooks; mv .git/hooks x; '"$HOOKS"
    use_git "$W"
    rm -rf "$W/.git/hooks"
    run inside 'G=.git; mkdir .git/hooks; '"$HOOKS"'; ln -s .. .git/hooks; mkdir n; cp evil n/pre-commit; mv n .git/hooks'
    use_git "$W"
    mkdir "$W/shared"
    ln -s ../shared "$W/.git/hooks"
    own "$W"
    run inside 'G=.git; '"$HOOKS"'; cp evil shared/pre-commit; mv shared s; mkdir shared; cp evil shared/pre-commit
        rm .git/hooks; mkdir .git/hooks; '"$HOOKS"
    use_git "$W"
}

@test "A123 git's settings that name programs" {
    make_repo
    plant
    echo '*.c filter=x diff=x' >"$W/.gitattributes"
    echo 'int x;' >"$W/a.c"
    own "$W"
    host_git -C "$W" add a.c
    watch "$W/.git/config" "$H/.gitconfig"
    run inside 'e=$W/evil; for k in core.fsmonitor diff.external core.sshCommand core.pager core.editor core.hooksPath \
            filter.x.clean filter.x.smudge filter.x.process diff.x.textconv diff.x.command core.askPass \
            sequence.editor gpg.program credential.helper include.path alias.status; do
            git config "$k" "$e"; git config --global "$k" "$e"; git config --worktree "$k" "$e"
            git config --file .git/config "$k" "$e"
        done
        printf "[core]\n\tfsmonitor = %s\n[filter \"x\"]\n\tclean = %s\n" $e $e >.git/evil; cat .git/evil >>.git/config
        cat .git/evil >>~/.gitconfig; mkdir -p ~/.config/git; cp .git/evil ~/.config/git/config
        mv .git/evil .git/config; git submodule foreach "git config core.fsmonitor $e"'
    untouched
    use_git "$W" "$W/mod"
}

@test "A124 .git files, commondir, config.worktree, modules and worktrees" {
    make_repo
    plant
    local linked=$T/linked before
    before=$(cat "$linked/.git" "$W/mod/.git" "$W/.git/worktrees/linked/commondir" "$W/.git/modules/mod/config")
    run inside 'cp -r .git forged; printf "[core]\n\tfsmonitor = %s/evil\n" $W >>forged/config; cp evil forged/hooks/pre-commit
        echo "gitdir: $W/forged" >mod/.git; rm -f mod/.git; cp -r forged mod/.git; mv mod m; mkdir mod; echo "gitdir: ../forged" >mod/.git
        for d in .git .git/modules/mod .git/worktrees/linked; do
            echo $W/forged >$d/commondir; cp forged/config $d/config.worktree; cp forged/config $d/config; cp evil $d/hooks/pre-commit
            mkdir -p $d/hooks; mv $d $d.x; cp -r forged $d
        done; echo $W/forged >.git/worktrees/linked/gitdir'
    [ "$before" = "$(cat "$linked/.git" "$W/mod/.git" "$W/.git/worktrees/linked/commondir" "$W/.git/modules/mod/config")" ]
    use_git "$W" "$W/mod" "$linked"
}

# The module's settings as the command wants them, in each of the files.
FORGE='forge() { for f; do printf "[core]\n\tfsmonitor = %s\n" "$W/evil" >>"$f"; mkdir -p "${f%/*}/hooks"; cp "$W/evil" "${f%/*}/hooks/pre-commit"; done; }'

@test "A124 variant: modules of a worktree, worktrees of a module, from above and from a subdirectory" {
    make_repo
    plant
    local linked=$T/linked of_module=$T/of-module dir git=$W/.git
    host_git -C "$linked" submodule --quiet update --init
    host_git -C "$W/mod" worktree add -q "$of_module" -b of-module
    host_git -C "$W/mod" config extensions.worktreeConfig true
    mkdir "$W/sub"
    own "$W"
    for dir in "$W" "$W/sub"; do
        OPTIONS=(--exclude "$D" -C "$dir")
        run inside "$FORGE; G=$git; cp -r \$G/modules/mod \$G/forged; rm \$G/forged/config; forge \$G/forged/config
            forge \$G/worktrees/linked/modules/mod/config \$G/modules/mod/config.worktree
            for d in \$G/modules/mod/worktrees/*; do echo \$G/forged >\$d/commondir; done"
        use_git "$W" "$W/mod" "$linked" "$linked/mod" "$of_module"
        rm -rf "$git/forged"
    done
}

@test "A124 variant: modules whose names have slashes, also behind what a run before made look like one" {
    make_repo
    plant
    local name
    for name in lib/a lib/info 1/2/3/4/5/6/7/8/9/10; do
        host_git -C "$W" submodule --quiet add "$T/upstream" "$name"
    done
    mkdir "$W/sub"
    own "$W"
    OPTIONS+=(-C "$W/sub")
    run inside 'cd ../.git/modules/lib; echo "ref: refs/heads/main" >HEAD; mkdir objects refs; echo >config'
    run inside "$FORGE; cd ../.git/modules; forge lib/a/config lib/info/config 1/2/3/4/5/6/7/8/9/10/config; mv lib/a lib/b"
    use_git "$W" "$W/lib/a" "$W/lib/info" "$W/1/2/3/4/5/6/7/8/9/10"
}

@test "A124 variant: links that a run before made, between modules and worktrees, hide none of them" {
    make_repo
    plant
    local dir
    mkdir "$W/sub"
    host_git -C "$W" worktree remove --force "$T/linked"
    [ ! -e "$W/.git/worktrees" ]
    host_git -C "$W" submodule --quiet add --name lib/lfs/a "$T/upstream" other
    host_git -C "$W" submodule --quiet add --name lib/objects/ab/b "$T/upstream" third
    host_git -C "$W" submodule --quiet add --name lib/worktrees/c "$T/upstream" fourth
    own "$W"
    for dir in "$W/sub" "$W"; do
        OPTIONS=(--exclude "$D" -C "$dir")
        run inside "cd $W/.git; ln -s modules worktrees; ln -s ../lib modules/mod/worktrees
            echo 'ref: refs/heads/main' >modules/lib/HEAD; mkdir -p modules/lib/objects modules/lib/refs"
        run inside "$FORGE; cd $W/.git/modules; forge mod/config lib/lfs/a/config lib/objects/ab/b/config lib/worktrees/c/config; mv lib/lfs lib/x"
        use_git "$W" "$W/mod" "$W/other" "$W/third" "$W/fourth"
    done
    # Not checked out: what is there is used again.
    host_git -C "$W" submodule --quiet deinit --all --force
    run inside "$FORGE; cd $W/.git/modules; forge mod/config lib/lfs/a/config lib/objects/ab/b/config lib/worktrees/c/config
        for m in mod lib/lfs/a lib/objects/ab/b lib/worktrees/c; do mkdir -p \$m/hooks; cp $W/evil \$m/hooks/post-checkout; done"
    host_git -C "$W" submodule --quiet update --init >/dev/null 2>&1 || :
    use_git "$W" "$W/mod" "$W/other" "$W/third" "$W/fourth"
}

@test "A124 variant: settings of a worktree are held, whoever else points at its directory" {
    make_repo
    plant
    local zz=$W/zz
    rm -rf "$W/.git" "$W/mod" "$W/.gitmodules"
    host_git init -q "$zz"
    host_git -C "$zz" commit -q --allow-empty -m first
    host_git -C "$zz" worktree add -q "$T/of-zz" -b of-zz
    host_git -C "$zz" config extensions.worktreeConfig true
    own "$W"
    # Which of them is found first, nobody knows.
    run inside 'for n in $(seq 12); do mkdir -p $n/.git; ln -s ../../zz/.git/worktrees $n/.git/worktrees; done'
    [ -L "$W/12/.git/worktrees" ]
    run inside "$FORGE; forge $zz/.git/worktrees/of-zz/config.worktree"
    [ ! -e "$zz/.git/worktrees/of-zz/config.worktree" ]
    use_git "$zz" "$T/of-zz"
}

@test "A125 the workspace as a bare repository" {
    make_repo
    plant
    run inside 'git init -q --bare b; cp -r b/. .; printf "[core]\n\tbare = true\n\tfsmonitor = %s/evil\n" $W >config
        mkdir -p hooks; cp evil hooks/pre-commit'
    use_git "$W"
    # Without a repository of its own a directory can become one: documented, and git asks for an owner's word.
    grep -q 'Repositories that the command makes' "$ABX_SOURCE/docs/threat-model.md"
}

@test "A128 variant: documented: a protected name in a commit, which the host's git writes" {
    make_repo
    run inside 'git update-index --add --cacheinfo "100644,$(git hash-object -w file),.envrc"; git commit -qm named'
    [ ! -e "$W/.envrc" ]
    grep -q 'What git checks out' "$ABX_SOURCE/docs/threat-model.md"
    # By Landlock alone git cannot commit at all.
    [ "${BACKEND:-native}" = landlock ] || [ "$(host_git -C "$W" status --short .envrc)" = " D .envrc" ]
}

@test "A124 variant: documented: links in .git, through which the host's git writes" {
    make_repo
    echo kept >"$O/rc"
    own "$O"
    run inside 'rm -f .git/logs/HEAD; ln -s "$O/rc" .git/logs/HEAD; echo evil >>"$O/rc"; git switch -qc other; echo evil >>.git/logs/HEAD'
    [ "$(cat "$O/rc")" = kept ]
    grep -q 'Links in `.git`' "$ABX_SOURCE/docs/threat-model.md"
    [ -n "$(find "$W/.git" -type l)" ]
}

# As bare as git wants it: with a work tree, so that everyday git goes on, and what it runs.
BARE='bare() {
    mkdir $1/objects $1/refs; echo "ref: refs/heads/main" >$1/HEAD
    printf "[core]\n\trepositoryformatversion = 0\n\tworktree = %s\n\tfsmonitor = %s/evil\n" "$2" "$W" >$1/config
}; exec 2>/dev/null'

@test "A125 variant: documented: by @git alone, a work tree whose .git is made none" {
    make_repo
    run inside "$BARE"'; rm .git/HEAD; bare . "$W"'
    grep -q 'takes `.git/HEAD` away' "$ABX_SOURCE/docs/threat-model.md"
    [ "${BACKEND:-native}" = landlock ] || [ -e "$W/refs" ]
}

@test "A125 variant: @git-strict: a work tree whose .git is made none" {
    local how dir
    OPTIONS+=(--set filesystem.presets=@git-strict)
    make_repo
    plant
    for how in 'rm $d/.git/HEAD' 'echo x >$d/.git/HEAD' 'mv $d/.git/refs $d/.git/r' 'chmod 0 $d/.git/objects' \
        'chmod 0 $d/.git; exit'; do
        rm -rf "$W/dep" "$W/away"
        host_git clone -q "$T/upstream" "$W/dep"
        as_who cp -r "$W/.git" "$X/git"
        run inside "for d in . dep; do $how; done"
        run inside "$BARE"'; for d in . dep; do bare $d "$W/$d"; mkdir $d/s; bare $d/s "$W/$d"; echo s >$d/commondir; done'
        use_git "$W" "$W/dep"
        chmod -R u+rwX "$W/.git" "$W/dep"
        (cd "$W" && rm -rf .git HEAD config commondir objects refs s)
        mv "$X/git" "$W/.git"
    done
    # It would work.
    rm -rf "$W/dep/.git"
    run inside "$BARE"'; bare dep "$W/dep"'
    run use_git "$W/dep"
    [ "$status" -ne 0 ]
}

@test "A125 variant: @git-strict: a project that has such names already" {
    OPTIONS+=(--set filesystem.presets=@git-strict)
    make_repo
    plant
    as_who mkdir "$W/refs"
    run inside "$BARE"'; rm .git/HEAD; bare . $W'
    use_git "$W"
    as_who git -C "$W" symbolic-ref HEAD refs/heads/main || echo "ref: refs/heads/main" >"$W/.git/HEAD"
    own "$W"
    as_who mkdir -p "$W/objects"
    rm -f "$W/HEAD" "$W/config"
    run inside "$BARE"'; rm .git/HEAD; bare . $W'
    use_git "$W"
}

# To git a file that may be executed is as good as a directory, and so is what a link leads to.
@test "A125 variant: @git-strict: a project that has such a name, which becomes a file or a link" {
    local how
    OPTIONS+=(--set filesystem.presets=@git-strict)
    make_repo
    plant
    for how in 'echo >refs; chmod 755 refs' 'ln -s /bin/sh refs' 'ln -s /proc/self/cwd/bin refs'; do
        rm -rf "$W/refs" "$W/sub"
        as_who mkdir -p "$W/refs" "$W/sub/bin"
        run inside "rm -rf refs; $how"
        run inside "$BARE"'; rm .git/HEAD; bare . $W'
        use_git "$W" "$W/sub"
        echo "ref: refs/heads/main" >"$W/.git/HEAD"
        own "$W"
        (cd "$W" && rm -rf HEAD config objects)
    done
}

@test "A125 variant: @git-strict: a project that has such a name, and two runs that each have another" {
    OPTIONS+=(--set filesystem.presets=@git-strict)
    make_repo
    plant
    as_who mkdir "$W/refs"
    inside 'rm -rf refs; : >gone; for i in $(seq 100); do [ -e there ] && break; sleep 0.1; done; rm -f refs; mkdir refs; : >back' 3>&- &
    started+=("$!")
    [ "${BACKEND:-native}" = landlock ] || wait_for test -e "$W/gone" # by Landlock alone nothing is made at the top
    run inside "$BARE"'; rm .git/HEAD; rm -f objects; bare . $W; : >there; for i in $(seq 100); do [ -e back ] && break; sleep 0.1; done'
    wait "${started[-1]}" || :
    [ "${BACKEND:-native}" = landlock ] || [ -e "$W/back" ]
    use_git "$W"
}

# made NAMES…: which of them the command could make or change.
made_of() {
    (cd "$1" && shift && for n in "$@"; do grep -rl evil "$n" 2>/dev/null || :; done)
}

AGENT=(.mcp.json .claude/settings.json .claude/settings.local.json .claude/hooks/x .claude/commands/x .claude/agents/x
    .claude/skills/x .codex/config.toml .cursor/mcp.json .gemini/settings.json .gemini/commands/x
    .pi/settings.json .pi/extensions/x)
EDITOR_NAMES=(.vscode/tasks.json .vscode/settings.json .idea/workspace.xml .devcontainer/devcontainer.json .devcontainer.json .envrc)

# changes NAMES…: absent, then there, each way of making or changing one; none may stick.
cannot_plant() {
    local text='for n in $N; do mkdir -p "${n%/*}"; echo evil >"$n"; echo evil >t; mv t "$n"; cp evil.txt "$n"; ln -f evil.txt "$n"
        mkdir -p d/x; echo evil >d/x/tasks.json; mv -T d/x "${n%/*}"; rm -rf "${n%%/*}"; mv "${n%%/*}" gone
        mkdir -p "${n%/*}"; echo evil >"$n"; ln -s evil.txt "$n"; done'
    echo evil >"$W/evil.txt"
    own "$W"
    run inside "N='$*'; $text"
    [ -z "$(made_of "$W" "$@")" ] || {
        echo "made: $(made_of "$W" "$@")"
        return 1
    }
    local n
    for n in "$@"; do
        mkdir -p "$(dirname "$W/$n")"
        echo good >"$W/$n"
    done
    own "$W"
    run inside "N='$*'; $text"
    for n in "$@"; do
        [ "$(cat "$W/$n")" = good ] || {
            echo "changed: $n"
            return 1
        }
    done
}

@test "A127 settings of agents" {
    cannot_plant "${AGENT[@]}"
}

@test "A127 documented: AGENTS.md and CLAUDE.md of the project are text like any other, unless they are named" {
    inside 'echo evil >AGENTS.md'
    grep -q evil "$W/AGENTS.md"
    grep -q 'AGENTS.md' "$ABX_SOURCE/docs/threat-model.md"
    OPTIONS+=(--ro "$W/AGENTS.md" --ro "$W/CLAUDE.md")
    watch "$W/AGENTS.md"
    refused "$CLOSED" append "$W/AGENTS.md" x
    refused "$HELD" create "$W/CLAUDE.md"
    untouched
}

@test "A128 settings of editors, containers and directories" {
    cannot_plant "${EDITOR_NAMES[@]}"
}

@test "A128 variant: version managers and hook runners that the project has" {
    local n
    for n in .tool-versions mise.toml .mise.toml .npmrc .yarnrc .exrc .nvim.lua .dir-locals.el .husky/pre-commit .githooks/x; do
        mkdir -p "$(dirname "$W/$n")"
        echo good >"$W/$n"
    done
    own "$W"
    run inside 'for n in .tool-versions mise.toml .mise.toml .npmrc .yarnrc .exrc .nvim.lua .dir-locals.el .husky/pre-commit .githooks/x; do
        echo evil >$n; rm -f $n; echo evil >t; mv -f t $n; mv "${n%%/*}" gone; done; rm -f t'
    not grep -rq evil "$W"
    [ "$(grep -rl good "$W" | wc -l)" -eq 10 ]
}

@test "A129 start-up files, autostart, a program in the user's path" {
    mkdir -p "$H/.config/autostart" "$H/.local/bin" "$H/.config/fish/conf.d"
    echo good | tee "$H/.bashrc" "$H/.zshenv" "$H/.config/fish/config.fish" >/dev/null
    own "$H"
    watch "$H"
    run inside 'cd ~; for f in .bashrc .zshenv .profile .bash_profile .zshrc .config/fish/config.fish .config/fish/conf.d/x.fish \
            .config/autostart/x.desktop .config/systemd/user/x.service .local/bin/git bin/git .inputrc .xinitrc .vimrc; do
            mkdir -p "${f%/*}"; echo evil >$f; echo evil >>$f; ln -s $W/file $f; mv $f $f.old; done; mv .config c; mv .local l'
    # Only what agentbox keeps itself may be new.
    not grep -rq evil "$H"
    [ "$(cat "$H/.bashrc" "$H/.zshenv" "$H/.config/fish/config.fish")" = $'good\ngood\ngood' ]
    [ -z "$(find "$H" -mindepth 1 ! -path "$H/.local/state*" ! -path "$H/.config*" ! -path "$H/.local" ! -path "$H/.local/bin" \
        ! -name .bashrc ! -name .zshenv)" ]
}

@test "A130 settings of ssh, package managers and git in the home: not changed, not read" {
    mkdir -p "$H/.ssh" "$H/.cargo" "$H/.config/pip"
    echo "$SECRET" | tee "$H/.ssh/config" "$H/.ssh/authorized_keys" "$H/.ssh/id_rsa" "$H/.npmrc" "$H/.netrc" \
        "$H/.config/pip/pip.conf" >/dev/null
    echo good | tee "$H/.gitconfig" "$H/.cargo/config.toml" >/dev/null
    own "$H"
    watch "$H/.ssh" "$H/.npmrc" "$H/.netrc" "$H/.config" "$H/.gitconfig" "$H/.cargo/config.toml"
    run inside 'cd ~; for f in .ssh/config .ssh/authorized_keys .ssh/rc .ssh/environment .ssh/id_rsa .npmrc .netrc .config/pip/pip.conf \
            .gitconfig .cargo/config.toml .cargo/config; do
            cat $f; echo evil >>$f; rm -f $f; echo evil >$W/t; mv $W/t $f; ln -sf $W/file $f; chmod 777 $f; done; mv .ssh s; mkdir .ssh'
    [[ $output != *"$SECRET"* ]]
    untouched
    not grep -rq evil "$H"
}

@test "A131 documented: what the project itself runs can be changed, and nothing of it has run by itself" {
    inside 'mkdir -p node_modules/.bin .venv/bin; for f in node_modules/.bin/x .venv/bin/python package.json Makefile conftest.py build.rs
        do echo evil >$f; done'
    [ "$(cat "$W/Makefile")" = evil ]
    grep -q 'By nature.*`Makefile`, `package.json`, `conftest.py`, `.venv/bin`' "$ABX_SOURCE/docs/threat-model.md"
    # Whoever does not want it says so.
    OPTIONS+=(--ro "$W/Makefile" --ro "$W/node_modules")
    refused "$CLOSED" append "$W/Makefile" x
    refused "$CLOSED" create "$W/node_modules/.bin/y"
}

@test "A132 a policy of our own in the repository, and a run inside with another one" {
    ours_only
    watch "$O" "$D"
    run inside 'for n in .agentbox.json .agentbox.jsonc .agentbox.yaml .agentbox.yml; do
        echo "{ \"filesystem\": { \"rw\": [\"$O\"] } }" >$n; mv $n x; done; mkdir -p ~/.config/agentbox
        echo "{ \"filesystem\": { \"rw\": [\"/\"] } }" >~/.config/agentbox/config.json'
    [ -z "$(find "$W" "$H" -name '.agentbox*' -o -name 'config.json')" ]
    # One that came with the repository widens nothing either: the run is refused.
    printf '{ "filesystem": { "rw": ["%s"] } }' "$O" >"$W/.agentbox.json"
    own "$W"
    run box -- sh -c "echo x >$O/f"
    [ "$status" -eq 125 ]
    rm "$W/.agentbox.json"
    [ -z "${ABX_SANITIZED:-}" ] || {
        untouched
        return 0
    }
    run box --env A="$BOX" --env O="$O" --env D="$D" -- sh -c '"$A" run -q --no-config --approve yes --rw / --rw "$O" --network allowed -- \
        sh -c "echo x >$O/f; cat $D/s; touch $O/new"; "$A" run -q --set filesystem.autoProtectDangerousFiles=false -- sh -c "echo x >.mcp.json"'
    [[ $output != *"$SECRET"* ]]
    [ ! -e "$W/.mcp.json" ]
    untouched
}

@test "A133 a .env that moves the home of an agent or of us is not read" {
    printf '%s\n' "CODEX_HOME=./.codex" "HOME=$O" "XDG_CONFIG_HOME=$W/x" "XDG_STATE_HOME=$O" "LD_PRELOAD=$W/x.so" >"$W/.env"
    mkdir -p "$W/x/agentbox"
    printf '{ "filesystem": { "rw": ["%s"] } }' "$O" >"$W/x/agentbox/config.json"
    own "$W"
    watch "$O"
    refused "$CLOSED" append "$O/f" x
    run inside 'echo "home=$HOME codex=$CODEX_HOME"; mkdir -p .codex; echo evil >.codex/config.toml'
    [[ $output == *"home=$H codex="* ]]
    [[ $output != *codex=./* ]]
    [ ! -e "$W/.codex" ]
    untouched
}
