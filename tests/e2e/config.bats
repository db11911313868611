#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Configuration files: which ones count, what wins, what is refused, and what is said about it.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034
load ../lib/e2e

# The program in the workspace.
abx() {
    (cd "$W" && exec timeout --foreground -k 2 20 "${AS[@]}" "$BOX" "$@" 3>&-)
}

# put FILE TEXT: a file of whoever runs the box.
put() {
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
    chmod 644 "$1"
    own "$H" "$W"
}

global() {
    put "$H/.config/agentbox/config.json" "$1"
}

project() {
    put "$W/.agentbox.json" "$1"
}

# value KEY: "value origin" of `config show`.
value() {
    abx config show --json "${@:2}" | python3 -c '
import json, sys
for v in json.load(sys.stdin)["values"]:
    if v["key"] == sys.argv[1]:
        print(v["value"], v["origin"])' "$1"
}

# with_etc TEXT COMMAND…: /etc/agentbox/config.json holds TEXT, in a mount namespace of its own.
with_etc() {
    need_root "needs root to mount over /etc"
    rm -rf "${X:?}/etc"
    cp -a /etc "$X/etc"
    mkdir "$X/etc/agentbox"
    printf '%s\n' "$1" >"$X/etc/agentbox/config.json"
    chmod 755 "$X/etc/agentbox"
    chown -R "${ETC_OWNER:-0:0}" "$X/etc/agentbox"
    shift
    (cd "$W" && exec unshare -m --propagation private sh -c 'mount --bind "$1" /etc && shift && exec "$@"' \
        sh "$X/etc" timeout --foreground -k 2 20 "${AS[@]}" "$@" 3>&-)
}

@test "the project's value beats the user's, an option beats both" {
    [ "$(value graceSeconds)" = "10 built-in" ]
    global '{ "graceSeconds": 9 }'
    [ "$(value graceSeconds)" = "9 global" ]
    project '{ "graceSeconds": 8 }'
    [ "$(value graceSeconds)" = "8 project" ]
    [ "$(value graceSeconds --no-config)" = "10 built-in" ]
    run abx plan --json --grace 7
    [[ $output == *'"graceNs":7000000000'* ]]
    run abx plan --json
    [[ $output == *'"graceNs":8000000000'* ]]
}

@test "lists of all layers count, each with its origin" {
    mkdir "$W/a" "$W/b"
    global '{ "filesystem": { "ro": ["a"] } }'
    project '{ "filesystem": { "ro": ["b"] } }'
    [ "$(value filesystem.ro | tr '\n' ,)" = "a global,b project," ]
    refused "$CLOSED" create "$W/a/x"
    refused "$CLOSED" create "$W/b/x"
    allowed create "$W/c"
}

@test "JSON, JSONC and YAML are obeyed" {
    mkdir "$W/src"
    put "$W/.agentbox.json" '{ "filesystem": { "ro": ["src"] } }'
    refused "$CLOSED" create "$W/src/x"
    rm "$W/.agentbox.json"
    allowed create "$W/src/x"
    put "$W/.agentbox.jsonc" '{ /* why */ "filesystem": { "denyWrite": ["src",], }, } // end'
    refused "$CLOSED" create "$W/src/y"
    rm "$W/.agentbox.jsonc"
    put "$W/.agentbox.yaml" $'filesystem:\n  ro:\n    - src'
    refused "$CLOSED" create "$W/src/z"
}

@test "a project's file is found up to the top of the repository, and not beyond" {
    mkdir -p "$W/repo/sub/deep" "$W/plain/sub"
    own "$W"
    host_git init -q "$W/repo"
    own "$W"
    project '{ "graceSeconds": 1 }'
    [ "$(value graceSeconds -C "$W/repo/sub/deep")" = "10 built-in" ]
    [ "$(value graceSeconds -C "$W/plain/sub")" = "10 built-in" ]
    put "$W/repo/.agentbox.json" '{ "graceSeconds": 2 }'
    [ "$(value graceSeconds -C "$W/repo/sub/deep")" = "2 project" ]
    [ "$(value graceSeconds -C repo/sub/deep)" = "2 project" ]
    put "$W/repo/sub/.agentbox.yaml" 'graceSeconds: 3'
    [ "$(value graceSeconds -C "$W/repo/sub/deep")" = "3 project" ]
    [ "$(value graceSeconds -C "$W/repo")" = "2 project" ]
}

@test "the search goes neither above the home nor through a directory of others; a mode does not end it" {
    mkdir -p "$H/p" "$W/open/repo/sub"
    own "$T"
    host_git init -q "$T"
    put "$T/.agentbox.json" '{ "graceSeconds": 4 }'
    own "$T"
    [ "$(value graceSeconds -C "$H/p")" = "10 built-in" ]
    host_git init -q "$W/open"
    put "$W/open/.agentbox.json" '{ "graceSeconds": 4 }'
    own "$T"
    [ "$(value graceSeconds -C "$W/open/repo/sub")" = "4 project" ]
    chmod 777 "$W/open"
    [ "$(value graceSeconds -C "$W/open/repo/sub")" = "4 project" ]
    [ "$(id -u)" -eq 0 ] || return 0
    chown 12345 "$W/open"
    [ "$(value graceSeconds -C "$W/open/repo/sub")" = "10 built-in" ]
}

@test "validate judges a file as whose it is: what only the system's or the user's may say is right there" {
    local final='{ "filesystem": { "exclude": [{ "path": "/srv/x", "final": true }] } }'
    local lower='{ "classifier": { "overrides": { "recursive-delete-root": "escalated" } } }'
    put "$W/other.json" "$final"
    run abx config validate other.json
    [ "$status" -eq 1 ]
    global "$lower"
    run abx config validate "$H/.config/agentbox/config.json"
    echo "$output"
    [[ $status -eq 0 && $output == *"config.json: no problems" ]]
    run abx config validate ../h/.config/agentbox/config.json
    [ "$status" -eq 0 ]
    with_etc "$final" "$BOX" config validate /etc/agentbox/config.json
    run with_etc '{ "filesystem": { "exclude": [{ "path": "/srv/x", "finale": true }] } }' "$BOX" config validate /etc/agentbox/config.json
    [[ $status -eq 1 && $output == *"unknown key 'finale'"* ]]
}

@test "two files in one place are refused, both named" {
    project '{}'
    put "$W/.agentbox.yaml" '{}'
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"both .agentbox.json and .agentbox.yaml"*hint:*"keep one"* ]]
    rm "$W/.agentbox.yaml"
    global '{}'
    put "$H/.config/agentbox/config.jsonc" '{}'
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"both config.json and config.jsonc"* ]]
    box --no-config -- true
}

@test "a file that ends in .yml, which would not be read, is refused by its name" {
    put "$W/.agentbox.yml" 'filesystem: { exclude: [file] }'
    run box -- cat file
    [ "$status" -eq 125 ]
    [[ $output == *"'$W/.agentbox.yml': a file of that name would not be read"*"hint: call it .agentbox.yaml"* ]]
    run abx init --yes
    [ "$status" -eq 125 ]
    [[ $output == *"there is a .agentbox.yml already"* && ! -e $W/.agentbox.jsonc ]]
    box --no-config -- true
    mv "$W/.agentbox.yml" "$W/.agentbox.yaml"
    run box -- cat file
    [[ $output == *"Permission denied"* ]]
    put "$H/.config/agentbox/config.yml" '{}'
    run box -- true
    [[ $status -eq 125 && $output == *"call it config.yaml"* ]]
}

@test "a file that somebody else may have put there is refused, with a hint" {
    put "$O/target.json" '{}'
    ln -s "$O/target.json" "$W/.agentbox.json"
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"symbolic link"*hint:* ]]
    rm "$W/.agentbox.json"

    project '{}'
    chmod 646 "$W/.agentbox.json"
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"others can write it"*hint:*chmod* ]]
    box --no-config -- true
    rm "$W/.agentbox.json"

    mkfifo "$W/.agentbox.json"
    own "$W"
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"not a plain file"* ]]
    rm "$W/.agentbox.json"

    mkdir "$W/.agentbox.json"
    own "$W"
    run box -- true
    [ "$status" -eq 125 ]
    rmdir "$W/.agentbox.json"

    head -c 1100000 /dev/zero | tr '\0' ' ' >"$W/.agentbox.json"
    own "$W"
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"larger than 1 MiB"* ]]
}

@test "another user's file is refused" {
    need_root "needs root to make one"
    project '{}'
    chown 12345 "$W/.agentbox.json"
    run box -- true
    [ "$status" -eq 125 ]
    [[ $output == *"belongs to another user"*hint:* ]]
    box --no-config -- true
}

@test "--config replaces the project's file, is relative to -C, and must exist" {
    project '{ "graceSeconds": 1 }'
    mkdir "$W/sub"
    put "$W/sub/other.json" '{ "graceSeconds": 2 }'
    [ "$(value graceSeconds --config sub/other.json)" = "2 project" ]
    [ "$(value graceSeconds -C sub --config other.json)" = "2 project" ]
    [ "$(value graceSeconds --config "$W/sub/other.json")" = "2 project" ]
    run box --config nowhere.json -- true
    [ "$status" -eq 125 ]
    [[ $output == *"nowhere.json"*"No such file"* ]]
    run box --config nowhere/x.json -- true
    [ "$status" -eq 125 ]
    run box --config sub -- true
    [ "$status" -eq 125 ]
    run box --config sub/other.json --no-config -- true
    [ "$status" -eq 125 ]
}

@test "XDG_CONFIG_HOME moves the user's file" {
    global '{ "graceSeconds": 1 }'
    put "$H/xdg/agentbox/config.yaml" 'graceSeconds: 2'
    AS+=(XDG_CONFIG_HOME="$H/xdg")
    [ "$(value graceSeconds)" = "2 global" ]
}

@test "all problems of all files are told at once, each with its place and a hint" {
    global '{ "grace": 1,
  "network": { "mode": "fast" } }'
    project '{ "filesystem": { "wr": ["x"],
    "tmp": 3 } }'
    run abx config validate
    echo "$output"
    [ "$status" -eq 1 ]
    [[ $output == *"config/agentbox/config.json:1:3: "* ]]
    [[ $output == *"config/agentbox/config.json:2:24: "* ]]
    [[ $output == *".agentbox.json:1:19: "* ]]
    [[ $output == *".agentbox.json:2:12: "* ]]
    [[ $output == *"did you mean"* ]]
    run box -- touch "$W/ran"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
    run abx config validate --json
    [ "$status" -eq 1 ]
    [ "$(python3 -c 'import json,sys; d=json.load(sys.stdin); print(d["valid"], len(d["problems"]))' <<<"$output")" = "False 4" ]
}

@test "a broken file breaks neither help nor version nor init" {
    project '{'
    abx help >/dev/null
    abx run --help >/dev/null
    abx version
    abx config init -o - >/dev/null
    abx config schema >/dev/null
    abx inside || [ $? -eq 1 ]
    abx run -q --no-config -- true
}

@test "validate looks at one file, or at those of a run" {
    run abx config validate
    [ "$status" -eq 0 ]
    [[ $output == *"no configuration file"* ]]
    project '{ "graceSeconds": 1 }'
    run abx config validate
    [ "$status" -eq 0 ]
    [[ $output == *".agentbox.json: no problems" ]]
    put "$W/bad.json" '{ "shell": "sh" }'
    run abx config validate bad.json
    [ "$status" -eq 1 ]
    [[ $output == *"bad.json:1:"* ]]
    abx config validate --json | python3 -m json.tool >/dev/null
}

@test "init writes a starter that is valid and changes nothing, and overwrites nothing" {
    abx config show | grep -v '^#' >"$X/before"
    abx config init
    [ -f "$W/.agentbox.jsonc" ]
    abx config validate
    abx config show | grep -v '^#' | diff "$X/before" -
    box -- true
    cp "$W/.agentbox.jsonc" "$X/kept"
    run abx config init
    [ "$status" -eq 125 ]
    [[ $output == *"already"*hint:* ]]
    run abx config init -o .agentbox.jsonc
    [ "$status" -eq 125 ]
    cmp "$X/kept" "$W/.agentbox.jsonc"
    abx config init -o - | cmp "$X/kept" -
    rm "$W/.agentbox.jsonc"
    project '{}'
    run abx config init
    [ "$status" -eq 125 ]
    [ ! -e "$W/.agentbox.jsonc" ]
}

@test "schema, show and presets are JSON where they say so" {
    abx config schema | python3 -m json.tool >/dev/null
    abx config show --json | python3 -m json.tool >/dev/null
    abx config presets --json | python3 -m json.tool >/dev/null
    mkdir "$H/.ssh"
    own "$H"
    run abx config presets
    [[ $output == *"@base"*"exclude"*"present"*"$H/.ssh"* ]]
    [[ $output == *"@base"*"rw"*"present"*"$W"* ]]
}

@test "a rule of the system may be final, and counts whatever is asked for" {
    mkdir "$W/src" "$W/plain"
    own "$W"
    local etc='{ "filesystem": { "ro": [ { "path": "'$W'/src", "final": true }, "'$W'/plain" ] },
        "graceSeconds": 5 }'
    run with_etc "$etc" "$BOX" run -q --rw src --rw plain -c 'touch src/x; touch plain/y'
    echo "$output"
    [ ! -e "$W/src/x" ] && [ -e "$W/plain/y" ]
    run with_etc "$etc" "$BOX" run -q --no-config --rw src -c 'touch src/x'
    [ "$status" -ne 0 ] && [ ! -e "$W/src/x" ]
    run with_etc "$etc" "$BOX" why --rw src write src/x
    [ "$status" -eq 1 ]
    [[ $output == *"from:   system"* && $output == *"/etc/agentbox/config.json:1:"* ]]
    [[ $output == *"final"* && $output != *"change:"* ]]
    run with_etc "$etc" "$BOX" config show --no-config
    [[ $output == *"graceSeconds"*" 5 "*"system  /etc/agentbox/config.json:2:"* ]]
}

@test "the system's file must be root's, and in order" {
    run with_etc '{}' "$BOX" run -q -- true
    [ "$status" -eq 0 ]
    run with_etc '{' "$BOX" run -q --no-config -- true
    [ "$status" -eq 125 ]
    ETC_OWNER=12345 run with_etc '{}' "$BOX" run -q -- true
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"belongs to another user"*"must belong to root"* ]]
}

@test "placeholders of a run that is going on are no configuration" {
    start_box -c 'touch started; exec sleep 30'
    wait_for test -e "$W/started"
    [ -e "$W/.agentbox.json" ] # that is what this test is about
    abx config show | grep -q '^# project  absent'
    box -- true
    kill "$BOX_PID"
    wait "$BOX_PID" || :
    [ ! -e "$W/.agentbox.json" ]
}

@test "--debug tells files, values, paths, access, layers and the plan, in this order" {
    project '{ "graceSeconds": 8 }'
    run abx run --debug --rw "$O" -- true
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *"file: project $W/.agentbox.json: loaded"*"merge: graceSeconds = 8 (project, $W/.agentbox.json:1:19)"*"path: rw filesystem.rw $O -> $O"*"access: bind-rw $O"*"layers: userns mounts"*"plan: back end: "*"plan: environment:"* ]]
    run abx plan --debug
    [[ $output == *"file: project"* ]]
    run abx run -- true
    [[ $output != *"file: project"* ]]
}

@test "plan names the place of a file's rule" {
    mkdir "$W/src"
    project '{ "filesystem": { "ro": ["src"] } }'
    run abx plan
    [[ $output == *"bind-ro   $W/src  # $W/.agentbox.json:1:26 src"* ]]
}

@test "what a file hides beside it, but not where the run is, is said" {
    host_git -C "$W" init -q
    mkdir "$W/sub" "$W/keys"
    put "$W/.env" "$SECRET"
    put "$W/.agentbox.json" '{ "filesystem": { "exclude": [".env", "keys", "nothing", "sub/.env"], "ro": ["file"] } }'
    said() { # DIRECTORY: the names that are said, run from there
        (cd "$1" && "${AS[@]}" "$BOX" run --network blocked -- true 2>&1 3>&-) |
            sed -n "s/^agentbox: note: \(.*\) of the project's file is about the working directory, not about .*/\1/p"
    }
    [ -z "$(said "$W")" ]
    [ "$(said "$W/sub")" = "exclude '.env'"$'\n'"exclude 'keys'" ]
    run abx run -C sub --network blocked -- true
    [[ $output == *"not about '$W/.env'; start in '$W' (-C), or write the whole path"* ]]
    run abx run --network blocked -C sub --exclude "$W/.env" --exclude "$W/keys" -- true
    [[ $output != *"not about"* ]]
    put "$W/.agentbox.json" "{ \"filesystem\": { \"exclude\": [\"$W/.env\"] } }"
    [ -z "$(said "$W/sub")" ]
}

@test "the file of a run cannot be changed by it, wherever it lies" {
    mkdir "$W/etc"
    put "$W/etc/box.json" '{ "graceSeconds": 8 }'
    watch "$W/etc/box.json"
    OPTIONS+=(--config etc/box.json --rw etc/box.json --rw etc)
    refused "$CLOSED" append "$W/etc/box.json" x
    refused "$HELD" sys unlinkat -100 "@$W/etc/box.json" 0
    refused "$HELD" sys renameat2 -100 "@$W/file" -100 "@$W/etc/box.json" 0
    refused "$HELD" sys renameat2 -100 "@$W/etc" -100 "@$W/moved" 0
    untouched
}

@test "without a home directory a run works, and '~' is refused by name" {
    need_root "needs root to be somebody without a home"
    AS=(setpriv --reuid=54321 --regid=54321 --clear-groups env -u HOME -u XDG_STATE_HOME
        -u XDG_CONFIG_HOME -u XDG_RUNTIME_DIR)
    chmod 777 "$W"
    box -- true
    run box --rw "~"/x -- true
    [ "$status" -eq 125 ]
    [[ $output == *"home directory is unknown"*hint:* ]]
    run abx config show
    [ "$status" -eq 0 ]
    [[ $output == *"no home directory"* ]]
}

@test "a project below a home that is denied is writable once it is granted" {
    mkdir -p "$H/proj/keep"
    put "$H/.config/agentbox/config.json" '{ "filesystem": { "denyWrite": ["~"], "writableRoots": ["~/proj"] } }'
    run abx run -q -C "$H/proj" -c 'touch ok; touch ../no'
    [ -e "$H/proj/ok" ] && [ ! -e "$H/no" ]
}

@test "the root, the home and what lies above it can be worked in, and are not made writable" {
    project '{ "graceSeconds": 1 }'
    put "$H/.agentbox.json" '{ "graceSeconds": 2 }'
    for dir in / "$H" "$T"; do
        run abx run -q -C "$dir" -c 'touch abx-made 2>/dev/null; pwd'
        echo "$output"
        [ "$status" -eq 0 ]
        [ ! -e "$dir/abx-made" ]
        run abx why -C "$dir" write abx-made
        [ "$status" -eq 1 ]
    done
    [ "$(value graceSeconds -C "$H")" = "2 project" ]
    [ "$(value graceSeconds -C /)" = "10 built-in" ]
}

@test "a working directory that a rule hides is refused, and works once it is granted" {
    mkdir "$W/in"
    own "$W"
    run abx run -q --exclude "$W" -C "$W/in" -- true
    [ "$status" -eq 0 ] # the deeper grant of the working directory itself
    run abx run -q --exclude "$W/in" -C "$W/in" -- true
    [ "$status" -eq 125 ]
    [[ $output == *hidden*hint:* ]]
}

@test "ten thousand entries are read, merged and compared in reasonable time" {
    python3 -c '
import json
print(json.dumps({"filesystem": {"ro": ["a/b%d" % i for i in range(5000)],
                                 "exclude": ["c/d%d" % i for i in range(5000)]}}))' >"$W/.agentbox.json"
    own "$W"
    SECONDS=0
    box -- true
    abx why write a/b4999 && false
    [ "$SECONDS" -lt 10 ]
}

@test "more absent names than can be held are refused with a sentence, before anything happens" {
    python3 -c '
import json
print(json.dumps({"filesystem": {"ro": ["a%d" % i for i in range(60000)]}}))' >"$W/.agentbox.json"
    own "$W"
    SECONDS=0
    run box -- touch "$W/ran"
    [ "$status" -eq 125 ]
    [[ $output == *"names that do not exist; at most 2048 can be held"*hint:*"name the directory"* ]]
    [ ! -e "$W/ran" ]
    [ "$(find "$W" -name 'a*' | wc -l)" -eq 0 ]
    [ "$SECONDS" -lt 10 ]
}

@test "paths with newlines, pattern characters or invalid UTF-8 are ordinary paths" {
    local odd
    for odd in $'new\nline' 'a[b]c' 'star*' 'quest?' $'bad\xffbyte' 'space at end ' '~tilde' 'back\slash'; do
        mkdir -p "$W/$odd/src"
        echo 1 >"$W/$odd/src/f"
        put "$W/$odd/.agentbox.json" '{ "filesystem": { "ro": ["src"] } }'
        own "$W"
        run abx run -q -C "$W/$odd" -c 'touch src/x; touch y'
        [ -e "$W/$odd/y" ] && [ ! -e "$W/$odd/src/x" ]
        run abx why -C "$W/$odd" write src/x
        [ "$status" -eq 1 ]
        rm -rf "${W:?}/$odd"
    done
}
