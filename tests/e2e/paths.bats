#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Names for one thing: links, second mounts, odd spellings and odd names lead to the same verdict.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034,SC2088
load ../lib/e2e

# private COMMAND: in a mount namespace of its own, so that what is mounted goes with it.
private() {
    need_root "mounting needs root"
    unshare -m --propagation private -- "$@"
}

# As box, in the namespace in which TEXT has mounted.
box_after() {
    local text=$1
    shift
    private bash -c "$text"$'\n''cd "$1"; shift; exec "$@"' bash "$W" "${AS[@]}" "$BOX" run -q --approve yes \
        "${OPTIONS[@]}" --env W="$W" --env D="$D" --env O="$O" --env P="$PAYLOAD" "$@" 3>&-
}

@test "a symlink to the outside is judged by where it leads" {
    ln -s "$O/f" "$W/link"
    ln -s "$O" "$W/dir"
    ln -s "$D" "$W/hidden"
    ln -s "$D/s" "$W/secret"
    own "$W"
    watch "$O" "$D"
    run inside 'echo x >link; echo x >>dir/f; echo x >dir/new; truncate -s0 link; cp file link
        chmod 600 link; touch link; cat hidden/s secret; ls hidden/; rm -f dir/f; mv file dir/'
    echo "$output"
    [[ $output != *"$SECRET"* ]]
    untouched
}

@test "excluding a symlink hides what it leads to, under both names" {
    ln -s "$D" "$T/alias"
    own "$T/alias"
    OPTIONS=(--exclude "$T/alias")
    run inside 'cat $D/s $D/../alias/s $D/deep/s; ls $D/../alias/'
    [[ $output != *"$SECRET"* ]]
}

@test "excluding a path through a symlinked parent hides the real one" {
    ln -s "$T" "$T/up"
    own "$T/up"
    OPTIONS=(--exclude "$T/up/up/d")
    run inside 'cat $D/s $D/../up/d/s $D/../up/up/up/d/s'
    [[ $output != *"$SECRET"* ]]
}

@test "a link to a hidden file cannot be made into the workspace" {
    watch "$D"
    refused "EXDEV|$HIDDEN|EPERM" sys linkat -100 "@$D/s" -100 "@$W/h" 0
    refused "EXDEV|$HIDDEN|EPERM" sys linkat -100 "@$D/s" -100 "@$W/h" 0x400
    [ ! -e "$W/h" ]
    untouched
}

@test "a link to a file outside cannot be made into the workspace and written there" {
    watch "$O"
    refused "EXDEV|$CLOSED" sys linkat -100 "@$O/f" -100 "@$W/h" 0
    refused "EXDEV|$CLOSED" sys linkat -100 "@$O/f" -100 "@$W/h" 0x400
    inside 'exec 5<$O/f; ln -L /proc/self/fd/5 h; echo x >h' || :
    untouched
}

@test "a hidden file inside the workspace is hidden under its second name too" {
    echo "$SECRET" >"$W/one"
    ln "$W/one" "$W/two"
    own "$W"
    OPTIONS+=(--exclude "$W/one")
    run inside 'cat one; cat two; ln two three; cat three'
    echo "$output"
    if [[ $output == *"$SECRET"* ]]; then
        # Documented gap (A06): a hard link that existed before is another file to the kernel.
        run inside 'cat one'
        [[ $output != *"$SECRET"* ]]
        grep -qi 'hard link' "$ABX_SOURCE"/docs/*.md
    fi
}

@test "a hidden file is hidden at its second mount" {
    local text="mkdir -p '$T/second' && mount --bind '$D' '$T/second'"
    private true
    run box_after "$text" -c 'cat $D/s $D/../second/s $D/../second/deep/s; ls $D/../second; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* ]]
    [[ $output != *deep$'\n'* ]]
}

@test "a hidden file is hidden through a second mount of its parent" {
    private true
    run box_after "mkdir '$T/second' && mount --bind '$T' '$T/second'" \
        -c 'cat $D/s $W/../second/d/s $W/../second/second/d/s; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* ]]
}

@test "a hidden file is hidden at its second mount, whichever mount is the deepest or the last" {
    private true
    OPTIONS=()
    # Another mount lies below the one that covers it all.
    run box_after "mkdir -p '$T/cover/d' && mount -t tmpfs none '$T/cover/d' && mount --bind '$T' '$T/cover'" \
        --exclude "$T/cover/d/s" -c 'cat $D/../cover/d/s $D/s; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* ]]
    # The upper one of two is the older one.
    run box_after "mkdir -p '$T/one' '$T/two' '$T/three' && mount -t tmpfs none '$T/one' && chmod 755 '$T/one' &&
        echo $SECRET >'$T/one/s' && chmod 644 '$T/one/s' && mount --bind '$T/one' '$T/three' && mount -t tmpfs none '$T/two' &&
        mount --move '$T/one' '$T/two' && cat '$T/two/s' >/dev/null" \
        --exclude "$T/two/s" -c 'cat $D/../two/s $D/../three/s; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* ]]
}

@test "what is mounted in a hidden or read-only directory is so at its second mount, too" {
    private true
    mkdir -p "$W/data/disk" "$W/other" "$T/second"
    own "$W"
    run box_after "mount -t tmpfs none '$D/deep' && chmod 777 '$D/deep' && echo $SECRET >'$D/deep/s' &&
        chmod 644 '$D/deep/s' && mount --bind '$D/deep' '$T/second' && mount -t tmpfs none '$W/data/disk' &&
        chmod 777 '$W/data/disk' && mount --bind '$W/data/disk' '$W/other'" \
        --ro data -c 'cat $W/../second/s; touch other/new && echo written; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* && $output != *written* ]]
}

@test "what is granted for reading opens nothing at a second mount of what is hidden in it" {
    private true
    mkdir -p "$H/.config/agentbox" "$T/second"
    echo "{ \"filesystem\": { \"exclude\": [\"$D/deep\"] } }" >"$H/.config/agentbox/config.json"
    own "$H"
    OPTIONS=()
    run box_after "mount --bind '$D/deep' '$T/second'" --ro "$D" -c 'cat $D/deep/s $D/../second/s; :'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* ]]
}

@test "what must not be made is not made, nor is its placeholder written, through a second mount" {
    private true
    local deep=$W/a/b/c/d/e/f
    mkdir -p "$deep" "$W/loop"
    git init -q "$W"
    rm -rf "$W/.git/hooks"
    own "$W"
    cat >"$W/try" <<'END'
for d in loop a/b/c/d/e/f; do
    chmod 755 $d/AGENTS.md $d/.git/hooks; rm -rf $d/AGENTS.md $d/.git/hooks; mkdir $d/.git/hooks
    echo x >>$d/AGENTS.md; echo x >$d/.git/hooks/pre-commit
done
exit 0
END
    run box_after "mount --bind '$W' '$W/loop' && mount --bind '$W' '$deep'" --ro AGENTS.md -- sh ./try
    echo "$output"
    [ "$status" -eq 0 ]
    [ ! -e "$W/AGENTS.md" ]
    [ ! -e "$W/.git/hooks" ]
}

@test "a second mount of the outside is not writable through the workspace" {
    private true
    watch "$O"
    run box_after "mkdir '$W/mnt' && mount --bind '$O' '$W/mnt'" -c 'cat mnt/f; ls -A mnt; :'
    [ "$status" -eq 0 ]
    run box_after "mount --bind '$O' '$W/mnt'; mount -o remount,bind,ro '$W/mnt'" \
        -c 'echo x >mnt/f; echo x >mnt/new; chmod 600 mnt/f; touch mnt/f; :'
    [ "$status" -eq 0 ]
    untouched
}

@test "a mount inside a hidden directory is hidden as well" {
    private true
    run box_after "mount -t tmpfs none '$D/deep' && echo $SECRET >'$D/deep/s'" \
        -c 'cat $D/deep/s; ls $D/deep $D; :'
    [ "$status" -eq 0 ]
    [[ $output != *"$SECRET"* ]]
}

@test "a mount inside a protected directory is protected as well" {
    mkdir -p "$W/.vscode/sub"
    own "$W"
    private true
    run box_after "mount -t tmpfs none '$W/.vscode/sub' && chmod 777 '$W/.vscode/sub'" \
        -c 'echo x >.vscode/sub/new && echo written; mkdir .vscode/sub/d && echo made; :'
    [ "$status" -eq 0 ]
    [[ $output != *written* && $output != *made* ]]
}

@test "a mount outside is read-only, whatever its own flags" {
    private true
    run box_after "mount -t tmpfs none '$O/sub' && chmod 777 '$O/sub' && echo a >'$O/sub/g' &&
        chmod 666 '$O/sub/g'" \
        -c 'echo x >$O/sub/g && echo written; touch $O/sub/new && echo made
            chmod 600 $O/sub/g && echo changed; cat $O/sub/g'
    [[ $output != *written* && $output != *made* && $output != *changed* && $output == *a* ]]
}

@test "a mount in the workspace is part of it" {
    private true
    run box_after "mkdir '$W/mnt'; mount -t tmpfs none '$W/mnt'; chmod 777 '$W/mnt'" \
        -c 'echo x >mnt/new && cat mnt/new'
    [ "$output" = x ]
}

@test "what is mounted inside does not show outside, nor does what is mounted outside later inside" {
    [ "$WHO" = root ] || lacks bwrap "that a user's run sees what is mounted later"
    private true
    mkfifo "$X/gate" "$W/up"
    own "$X" "$W"
    local seen
    seen=$(box_after "mount --make-shared --bind '$O' '$O'
        { read -r _ <'$W/up'; mount -t tmpfs none '$O/sub'; echo $SECRET >'$O/sub/late'
        echo >'$X/gate'; } 3>&- >'$X/out' 2>&1 &" \
        -c "echo up >up; read -r _ <$X/gate; cat \$O/sub/late; ls \$O/sub" 2>&1) || :
    echo "$seen"
    [[ $seen != *"$SECRET"* && $seen == *$'\n'g ]]
}

@test "odd names in rules and in the tree mean themselves" {
    local names=('new
line' 'st*r' '[abc]' 'quest?' 'back\slash' 'sp ace ' $'inv\xff\xfealid' "quo'te\"" '-dash' $'\x1b[31m'
        '{a,b}' '$HOME' 'caf'$'\xc3\xa9') name
    for name in "${names[@]}"; do
        mkdir -p "$T/odd/$name" "$W/$name"
        echo "$SECRET" >"$T/odd/$name/s"
        echo original >"$W/$name/keep"
    done
    # What a rule would also match if its name were taken for a pattern.
    mkdir -p "$W/star" "$W/a" "$W/quests"
    own "$T"
    OPTIONS=()
    for name in "${names[@]}"; do
        OPTIONS+=(--exclude "$T/odd/$(pattern_of "$name")" --ro "$W/$(pattern_of "$name")")
    done
    watch "$T/odd"
    for name in "${names[@]}"; do
        refused "$HIDDEN" sys openat -100 "@$T/odd/$name/s" 0
        refused "$CLOSED" write "$W/$name/keep" x
        refused "$HELD" sys renameat2 -100 "@$W/$name" -100 "@$W/x" 0
    done
    untouched
    allowed create "$W/star/new"
    allowed create "$W/a/new"
    allowed create "$W/quests/new"
}

# A name as a rule spells it: pattern characters stand for themselves after a backslash.
pattern_of() {
    local name=$1
    name=${name//\\/\\\\}
    name=${name//\*/\\*}
    name=${name//\?/\\?}
    name=${name//\[/\\[}
    printf '%s' "$name"
}

@test "a rule's spelling does not change its meaning" {
    local spelling
    mkdir -p "$H/x"
    echo "$SECRET" >"$H/x/s"
    own "$H"
    for spelling in "$D/" "$D/." "$D//" "$D/../d" "$W/../d" "../d" "./../d/" "$T/./d/deep/.."; do
        OPTIONS=(--exclude "$spelling")
        run inside 'cat $D/s'
        echo "$spelling: $status $output"
        [[ $output != *"$SECRET"* ]]
    done
    OPTIONS=(--exclude '~/x')
    run inside 'cat $H/x/s'
    [[ $output != *"$SECRET"* ]]
}

@test "a glob in a rule covers every match at the start" {
    mkdir -p "$W/a" "$W/b/c"
    for dir in "$W" "$W/a" "$W/b/c"; do
        echo "$SECRET" >"$dir/.env"
        echo "$SECRET" >"$dir/key.pem"
    done
    own "$W"
    OPTIONS=(--exclude "$W/**/.env" --exclude "$W/*/*.pem" --exclude "$W/b/**/*.pem" --exclude '*.pem')
    run inside 'cat .env a/.env b/c/.env key.pem a/key.pem b/c/key.pem; find . -type f -exec cat {} +'
    echo "$output"
    [[ $output != *"$SECRET"* ]]
}

@test "a deep path, a long name and a path of the greatest length are covered" {
    local long deep
    long=$(printf 'n%.0s' {1..250})
    deep=$T/$long/$long/$long/$long
    mkdir -p "$deep"
    echo "$SECRET" >"$deep/s"
    own "$T/$long"
    OPTIONS=(--exclude "$deep")
    run box -- cat "$deep/s"
    [[ $output != *"$SECRET"* ]]
}

@test "a path through /proc/self/root or /proc/self/cwd in a rule is refused or means the same" {
    OPTIONS=(--exclude "/proc/self/root$D")
    run inside 'cat $D/s'
    [ "$status" -ne 0 ]
    [[ $output != *"$SECRET"* ]]
}

@test "a pattern below a directory that cannot be listed hides all of it, or is refused" {
    is_other || [ "$(id -u)" -ne 0 ] || skip "other: root reads everything"
    mkdir -p "$W/a/shut"
    echo "$SECRET" >"$W/a/shut/key"
    own "$W"
    chmod 311 "$W/a/shut"
    OPTIONS+=(--exclude '**/key')
    [ "$(inside 'cat a/shut/key; chmod 755 a/shut; cat a/shut/key' 2>/dev/null)" = "" ]
    OPTIONS+=(--exclude 'a/shut/k*')
    run inside 'echo ran'
    [ "$status" -eq 125 ]
    [[ $output == *"list '$W/a/shut': Permission denied"* ]]
}

@test "ten thousand rules, and a pattern with thousands of matches, start a run in good time" {
    local args
    # No loops: bats looks at each command of the shell.
    mapfile -t args < <(seq 0 9999 | awk '{ printf "--exclude\nd%d/f%d\n", $1 / 100, $1 }')
    [ "${args[*]: -2}" = "--exclude d99/f9999" ]
    mkdir -p "$W"/d{0..99}
    (cd "$W" && printf '%s\n' "${args[@]}" | grep -vx -e --exclude | xargs touch)
    echo "$SECRET" >"$W/d99/f9999"
    own "$W"
    local before=$SECONDS
    [ "$(box "${args[@]}" -- cat d99/f9999 2>/dev/null)" = "" ]
    [ "$(box --exclude '**/f*' -- cat d99/f9999 2>/dev/null)" = "" ]
    [ $((SECONDS - before)) -lt 10 ]
}

@test "a link that a command planted does not choose the working directory" {
    ln -s ../o "$W/pkg"
    mkdir "$W/real"
    ln -s real "$W/inner"
    ln -s w "$T/outer"
    own "$T"
    run box -C "$W/pkg" -- true
    [ "$status" -eq 125 ]
    [[ $output == *"'$W/pkg' leads to '$O'"* ]]
    run box -C "$W/inner" -- touch made
    [ "$status" -eq 0 ]
    [ -e "$W/real/made" ]
    run box -C "$O" -- touch made
    [ -e "$O/made" ]
}

@test "a trailing ** hides all that is below, and the directory itself stays" {
    mkdir -p "$W/dir/sub" "$W/dir/.hid"
    echo "$SECRET" | tee "$W/dir/f" "$W/dir/sub/g" "$W/dir/.hid/h" >/dev/null
    own "$W"
    OPTIONS+=(--exclude 'dir/**')
    run inside 'cat dir/f dir/sub/g dir/.hid/h; ls dir/sub dir/.hid; ls -d dir'
    [[ $output != *"$SECRET"* ]]
    [[ $output == *dir ]]
    inside 'set -e; echo own >dir/new; cat dir/new'
}

@test "** in the middle spans any number of directories" {
    mkdir -p "$W/a/x/y" "$W/b/x"
    echo "$SECRET" | tee "$W/a/key" "$W/a/x/key" "$W/a/x/y/key" >/dev/null
    echo open >"$W/b/x/key"
    own "$W"
    OPTIONS+=(--exclude 'a/**/key')
    [ "$(inside 'cat a/key a/x/key a/x/y/key b/x/key' 2>/dev/null)" = open ]
}

@test "a working directory inside a hidden one is there, its siblings are not" {
    OPTIONS=(--exclude "$T")
    [ "$(inside 'set -e; echo own >made; cat made; ls "$O" 2>/dev/null || echo hidden')" = $'own\nhidden' ]
    OPTIONS=(--exclude .)
    run inside 'echo ran'
    [ "$status" -eq 125 ]
    [[ $output == *"hidden in the sandbox"* ]]
    OPTIONS=(--exclude "$T" --set 'filesystem.presets=!@all')
    run inside 'echo ran'
    [ "$status" -eq 125 ]
}
