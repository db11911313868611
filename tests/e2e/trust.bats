#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Trust: a file in the project may narrow, and grants nothing until the user has accepted its bytes.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034
load ../lib/e2e

abx() {
    (cd "$W" && exec timeout --foreground -k 2 20 "${AS[@]}" "$BOX" "$@" 3>&-)
}

project() {
    printf '%s\n' "$1" >"$W/.agentbox.json"
    chmod 644 "$W/.agentbox.json"
    own "$W"
}

WIDE() {
    echo '{ "filesystem": { "rw": ["'"$O"'"] } }'
}

# The run is refused before anything started.
stops() {
    run box "$@" -- touch "$W/ran"
    echo "$output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
}

@test "a file that widens stops the run, with its lines and the command that accepts it" {
    project "$(WIDE)"
    watch "$O"
    stops
    [[ $output == *"$W/.agentbox.json:1:26: '$O' becomes writable"* ]]
    [[ $output == *"hint: "*"agentbox config trust '$W/.agentbox.json'"* ]]
    run abx plan
    [ "$status" -eq 125 ]
    run abx why write "$O/f"
    [ "$status" -eq 125 ]
    box --no-config -- true
    untouched
}

@test "a file that narrows counts at once" {
    mkdir "$W/src"
    project '{ "filesystem": { "ro": ["src"], "exclude": ["file"] }, "resourceLimits": { "maxProcesses": 50 } }'
    refused "$CLOSED" create "$W/src/x"
    refused "$HIDDEN" sys openat -100 "@$W/file" 0
}

@test "a file cannot say which program a name on the command line is" {
    mkdir "$W/bin"
    printf '#!/bin/sh\necho "$TOKEN" >"%s/ran"\n' "$W" >"$W/bin/id"
    chmod +x "$W/bin/id"
    project '{ "environment": { "set": { "PATH": "./bin:/usr/bin:/bin" } } }'
    TOKEN=secret run abx run --pass-env TOKEN -- id
    [ "$status" -eq 125 ]
    [[ $output == *"$W/.agentbox.json:1:"*"environment.set adds PATH"* ]]
    [ ! -e "$W/ran" ]
}

@test "trusted, it grants what it says" {
    project "$(WIDE)"
    run abx config trust
    [ "$status" -eq 0 ]
    [[ $output == *"$W/.agentbox.json:1:26: '$O' becomes writable"* ]]
    allowed create "$O/new"
    [ -e "$O/new" ]
    abx config show | grep -q '^# project  trusted'
}

@test "another byte, another place, or untrust, and it must be accepted anew" {
    project "$(WIDE)"
    abx config trust
    box -- true
    printf ' ' >>"$W/.agentbox.json"
    stops
    abx config trust
    box -- true
    mkdir "$W/sub"
    cp "$W/.agentbox.json" "$W/sub/.agentbox.json"
    own "$W"
    stops -C sub
    abx config untrust
    stops
    run abx config untrust
    [[ $output == *"was not trusted"* ]]
}

@test "a file that is gone can be untrusted by name" {
    project "$(WIDE)"
    abx config trust .agentbox.json
    rm "$W/.agentbox.json"
    run abx config untrust .agentbox.json
    [[ $output == *"not trusted any more"* ]]
    project "$(WIDE)"
    stops
}

@test "a file given by --config needs trust as well: a run may have written it" {
    WIDE >"$W/box.json"
    own "$W"
    stops --config box.json
    abx config trust box.json
    box --config box.json -- touch "$O/new"
    allowed append "$W/box.json" ' '
    stops --config box.json
}

@test "a file cannot reopen what an option hides" {
    mkdir "$W/secrets"
    echo "$SECRET" >"$W/secrets/key"
    project '{ "filesystem": { "ro": ["secrets/key"] } }'
    stops --exclude secrets
    [[ $output == *"secrets/key' becomes readable"* ]]
    box -- true
}

@test "a run cannot plant a configuration for the next one" {
    local name
    for name in .agentbox.json .agentbox.jsonc .agentbox.yaml; do
        refused "$HELD" create "$W/$name"
        refused "$HELD" sys symlinkat "@$O/f" -100 "@$W/$name"
        refused "$HELD" sys renameat2 -100 "@$W/file" -100 "@$W/$name" 0
        refused "$HELD" sys linkat -100 "@$W/file" -100 "@$W/$name" 0
        refused "$HELD" sys mkdirat -100 "@$W/$name" 0777
    done
    [ -z "$(find "$W" -name '.agentbox*')" ]
}

@test "a run cannot change the configuration that it has" {
    project '{ "graceSeconds": 5 }'
    watch "$W/.agentbox.json"
    inside 'echo "{}" >.agentbox.json; rm -f .agentbox.json; mv file .agentbox.json; sed -i s/5/6/ .agentbox.json
        mv .agentbox.json x; chmod 666 .agentbox.json; touch .agentbox.json' 2>/dev/null || :
    OPTIONS+=(--rw .agentbox.json)
    refused "$CLOSED" append "$W/.agentbox.json" x
    untouched
}

@test "what a run plants deeper grants nothing there" {
    inside "mkdir -p sub && printf '%s' '$(WIDE)' >sub/.agentbox.json"
    [ -f "$W/sub/.agentbox.json" ]
    stops -C sub
    watch "$O"
    inside "cd sub && git init -q . 2>/dev/null; mkdir -p .git"
    stops -C sub
    untouched
}

@test "a repository that a run made deeper takes nothing from the project's file" {
    git init -q "$W"
    project '{ "network": { "deniedDomains": ["bad.example"] } }'
    inside 'mkdir -p sub/deep && git init -q sub && git init -q sub/deep && chmod 777 . sub'
    [ -e "$W/sub/deep/.git" ]
    run abx config show -C sub/deep
    [[ $output == *"# project  loaded   $W/.agentbox.json"* ]]
    [[ $output == *"deniedDomains "*" bad.example "*" project "* ]]
    box -C sub/deep -- true
}

@test "a file that a run made deeper takes the place of the project's only if it is trusted" {
    local file=$W/sub/.agentbox.json
    git init -q "$W"
    project '{ "filesystem": { "exclude": ["'"$W"'/file"] }, "classifier": { "overrides": { "fork-bomb": "forbidden" } } }'
    inside 'mkdir -p sub/deep && printf %s {} >sub/.agentbox.json'
    local where
    for where in sub sub/deep; do
        stops -C $where
        [[ $output == *"$file: it takes the place of '$W/.agentbox.json'"* ]]
        [[ $output == *"hint: "*"agentbox config trust '$file'"* ]]
        run abx plan -C $where
        [ "$status" -eq 125 ]
        run abx why -C $where read "$W/file"
        [ "$status" -eq 125 ]
        run abx check -C $where -- true
        [ "$status" -eq 125 ]
    done
    # Others are the user's own words.
    box -C sub --no-config -- true
    box -C sub --config .agentbox.json -- true
    box -C sub --config ../.agentbox.json -- true
    box -- true

    run abx config show -C sub
    [ "$status" -eq 0 ]
    [[ $output == *"# project  loaded   $file, in the place of '$W/.agentbox.json'"* ]]
    abx config show -C sub --json | grep -qF '"inPlaceOf":"'"$W/.agentbox.json"'"'
    abx config show -C sub --config .agentbox.json --json >"$X/shown"
    run grep -F '"inPlaceOf":"' "$X/shown"
    [ "$status" -eq 1 ]
    run abx config trust "$file"
    [[ $output == *"It grants:"*"$file: it takes the place of '$W/.agentbox.json'"* ]]
    box -C sub/deep -- true
    printf ' ' >>"$file"
    stops -C sub
    rm "$W/.agentbox.json"
    box -C sub -- true
}

@test "agentbox proxy does not go by a file that takes another's place unasked" {
    git init -q "$W"
    project '{ "network": { "deniedDomains": ["bad.example"] } }'
    inside 'mkdir sub && printf %s {} >sub/.agentbox.json'
    cd "$W/sub"
    run timeout -k 2 20 "${AS[@]}" "$BOX" proxy --allow-domain ok.example 3>&-
    [ "$status" -eq 125 ]
    [[ $output == *"it takes the place of '$W/.agentbox.json'"* ]]
}

@test "trust is kept out of every sandbox's reach" {
    local state=$H/.local/state/agentbox
    project "$(WIDE)"
    abx config trust
    [ "$(stat -c %a "$state/trust")" = 700 ]
    [ "$(find "$state/trust" -type f -printf '%m\n')" = 600 ]
    cp -r "$state" "$X/kept"
    abx config untrust
    # Whoever knows the record still cannot put it back.
    cp -r "$X/kept" "$W/kept"
    own "$W"
    rm "$W/.agentbox.json"
    OPTIONS+=(--rw "$H")
    inside 'ls ~/.local/state/agentbox; mkdir -p ~/.local/state/agentbox/trust; cp kept/trust/* ~/.local/state/agentbox/trust/
        mv ~/.local/state ~/.local/other; mv ~/.local ~/other; cp -r kept ~/.local/state/agentbox' || :
    OPTIONS=()
    project "$(WIDE)"
    stops
}

@test "the state directory is hidden from the very first run, which makes it" {
    [ ! -e "$H/.local" ]
    refused "$HIDDEN" sys openat -100 "@$H/.local/state/agentbox" 0
    [ -d "$H/.local/state/agentbox/held" ]
}

@test "the program inside cannot give trust" {
    project '{}'
    run inside "$FIX/bin/agentbox config trust; XDG_STATE_HOME=\$W/s $FIX/bin/agentbox config trust; true"
    echo "$output"
    project "$(WIDE)"
    stops
}

@test "records that somebody tampered with do not count" {
    project "$(WIDE)"
    abx config trust
    local record
    record=$(find "$H/.local/state/agentbox/trust" -type f)
    chmod 666 "$record"
    stops
    chmod 600 "$record"
    box -- true
    mv "$record" "$X/record"
    ln -s "$X/record" "$record"
    stops
    rm "$record"
    head -c 20 "$X/record" >"$record"
    own "$record"
    chmod 600 "$record"
    stops
    chmod 777 "$H/.local/state/agentbox/trust"
    cp "$X/record" "$record"
    own "$record"
    stops
}

@test "trust without a project's file is refused" {
    run abx config trust
    [ "$status" -eq 125 ]
    [[ $output == *"no project file"*hint:* ]]
    run abx config trust nowhere.json
    [ "$status" -eq 125 ]
}

@test "grants are listed as JSON" {
    project "$(WIDE)"
    abx config trust --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["grants"][0]["key"] == "filesystem.rw", d'
}

@test "a directory with quotes and escapes in its name cannot make the hint or the answer say more" {
    D=$'dir\'$(touch planted)\'\e[1m\nagentbox: fine'
    mkdir "$W/$D"
    W=$W/$D
    project '{ "network": true }'
    stops
    [[ $output == *"config trust '$T/w/dir'\\''\$(touch planted)'\\''"* ]]
    run abx config trust
    [[ $output == *'\x1b[1m\x0aagentbox: fine/.agentbox.json is trusted'* ]]
    [[ $output != *$'\e'* ]]
}

@test "a file that grants thousands of paths can be judged and trusted" {
    (cd "$O" && seq -f f%g 6000 | xargs touch)
    own "$O"
    project '{ "filesystem": { "rw": ["'"$O"'/f*"] } }'
    stops
    [[ $output == *"(6002 grants)"* ]]
    abx config trust >"$X/grants"
    [ "$(wc -l <"$X/grants")" -eq 6003 ]
}
