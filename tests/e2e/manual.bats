#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016
# The manual pages: complete, clean, their claims backed by tests that exist, their examples run.

bats_require_minimum_version 1.5.0

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
}

teardown() {
    life_teardown
}

pages() {
    find "$ABX_BUILD" -maxdepth 1 -name 'agentbox*.[1578]' -o -maxdepth 1 -name libagentbox.3
}

# The page as text, without escapes.
text_of() {
    sed 's/\\f[BIR]//g; s/\\&//g; s/\\(aq/'\''/g; s/\\(ti/~/g; s/\\(ga/`/g; s/\\(ha/^/g; s/\\e/\\/g; s/\\-/-/g' "$ABX_BUILD/$1"
}

@test "examples stand before the options" {
    local page
    for page in $(pages); do
        [[ $page != *.1 ]] || ! grep -q '^\.SH EXAMPLES' "$page" ||
            [ "$(grep -E '^\.SH (EXAMPLES|OPTIONS|COMMANDS)' "$page" | head -1)" = ".SH EXAMPLES" ] || { echo "$page"; false; }
    done
}

@test "every page renders without a word from mandoc" {
    need mandoc
    local page
    for page in $(pages); do
        [[ $(head -1 "$page") != .so* ]] || continue
        run mandoc -T lint -W style "$page"
        echo "$output"
        [[ $status -eq 0 && -z $output ]]
    done
}

@test "there is a page for every command, with every option of its help" {
    local name option
    while read -r name option; do
        [ -e "$ABX_BUILD/agentbox-$name.1" ]
        [ -z "$option" ] || text_of "agentbox-$name.1" | grep -qF -- "--$option" || { echo "$name $option"; false; }
        text_of agentbox.1 | grep -qF "agentbox-$name(1)"
    done < <("$AGENTBOX" help --json | python3 -c '
import json, sys
for c in json.load(sys.stdin)["commands"]:
    for o in c["options"] or [{"long": ""}]:
        print(c["name"], o["long"] or "")')
}

@test "the pages of section 5 and 7 have every key and every rule, those of section 3 every function" {
    local name
    while read -r name; do
        text_of agentbox-config.5 | grep -q "^$name (" || { echo "$name"; false; }
    done < <("$AGENTBOX" help --json keys | python3 -c 'import json,sys; [print(k["name"]) for k in json.load(sys.stdin)["keys"]]')
    while read -r name; do
        text_of agentbox-rules.7 | grep -q "^$name (" || { echo "$name"; false; }
    done < <("$AGENTBOX" rules --json | python3 -c 'import json,sys; [print(r["name"]) for r in json.load(sys.stdin)]')
    while read -r name; do
        grep -qF "$name" "$ABX_BUILD/libagentbox.3" || { echo "$name"; false; }
        grep -qxF ".so man3/libagentbox.3" "$ABX_BUILD/$name.3"
    done < <(grep -o 'abx_[a-z_]*' "$ABX_SOURCE/src/libagentbox.map")
}

@test "every claim of agentbox-security(7) names tests that exist" {
    text_of agentbox-security.7 >page
    python3 - "$ABX_SOURCE/tests" page <<'END'
import pathlib, re, sys
tests = pathlib.Path(sys.argv[1])
attacks = "".join(path.read_text() for path in tests.glob("attacks/*.bats"))
claims = open(sys.argv[2]).read().split("\\(bu\n")[1:]
assert len(claims) >= 20, len(claims)
for claim in claims:
    named = " ".join(claim.split("\n.SH ")[0].split()).partition("Tests:")[2]
    files = re.findall(r"[a-z_/0-9]+\.(?:bats|c)\b|tests/attacks", named)
    assert files, claim
    for name in files:
        places = (tests / name, tests / "e2e" / name, tests.parent / name)
        assert any(place.exists() for place in places), name
    for number in re.findall(r"\bA\d+\b", named):
        assert re.search(rf"\b{number}\b", attacks), number
END
}

# A project in which the examples mean something.
examples_project() {
    printf 'all: ; @echo built\ntest: ; @echo tested\nclean: ; @:\n' >Makefile
    mkdir -p src vendor bin
    touch src/main.c vendor/x .env
    printf '#!/bin/sh\necho agent\n' >agent
    printf '#!/bin/sh\necho npm "$@"\n' >bin/npm
    printf 'ls\ngit push\n' >commands.txt
    echo '{ "network": false }' >.agent-sandbox.json
    chmod +x agent bin/npm
    mkdir -p "$HOME/.npm" "$HOME/work" "$HOME/.ssh" "$HOME/.config/fish/completions" zfunctions
    echo '{ "filesystem": { "allowWrite": ["."] } }' >"$HOME/.srt-settings.json"
    PATH=$PWD/bin:$PATH
}

# examples PAGE: the lines of its examples, as they are printed.
examples() {
    text_of "$1" | awk '/^\.SH / { on = $2 == "EXAMPLES" } on && !/^\./' | sed 's/^ *//'
}

# Without a terminal, an agent and a network; what is not listed succeeds.
expected_status() {
    case $1 in
    *"| diff .agentbox.jsonc"*) echo 1 ;;            # it proposes something else
    *"npm ci"*) echo 126 ;;                           # nobody to approve it
    *"git push --force"*) echo 1 ;;                   # escalated
    *"rm -rf /"*) echo 2 ;;                           # forbidden
    *"why read ~/.ssh"* | *"why write ~/.bashrc"* | *"why --ro vendor write"* | *"why net"*) echo 1 ;;
    "agentbox init" | *"approvals forget 3f2a"*) echo 125 ;; # nobody to ask; no such key
    *) echo 0 ;;
    esac
}

@test "every example of every page runs, and ends with the status that it should" {
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: their run-time cannot start inside"
    export HOME=$PWD/home
    mkdir home project
    cd project
    examples_project
    local line count=0
    agentbox() { "$AGENTBOX" "$@"; }
    while read -r line; do
        rm -f .agentbox.jsonc
        [[ $line != "agentbox config trust" && $line != *"diff .agentbox.jsonc"* ]] || echo '{}' >.agentbox.jsonc
        line=${line%%    *}
        case $line in
        *"agentbox proxy "* | *"agentbox bridge "*) # they go on until they are told to stop
            [[ $line != *proxy* ]] || line=${line/:3128/:0}
            line=${line/\/run\/user\/1000/$PWD}
            bash -c "exec '$AGENTBOX' ${line#agentbox }" >out 2>err 3>&- &
            BACKGROUND+=($!)
            for _ in $(seq 500); do
                [ ! -s out ] || break
                sleep 0.02
            done
            [ -s out ] || { echo "$line"; cat out err; false; }
            kill $! && wait $! || : ;;
        *)
            # shellcheck disable=SC2034 # an example names it
            fpath=("$PWD/zfunctions" "$PWD/zfunctions")
            status=0
            eval "$line" >out 2>err 3>&- </dev/null || status=$?
            [ "$status" -eq "$(expected_status "$line")" ] || { echo "$line: $status"; cat out err; false; } ;;
        esac
        count=$((count + 1))
    done < <(for page in $(pages); do [[ $page != *.1 ]] || examples "${page##*/}"; done)
    echo "$count examples"
    [ "$count" -ge 30 ]
}

@test "the example of every key, and the one of agentbox-config(5), is a valid configuration" {
    python3 - "$ABX_SOURCE/tools/gen-man" <<'END'
import importlib.machinery, importlib.util, json, sys
loader = importlib.machinery.SourceFileLoader("gen_man", sys.argv[1])
sys.dont_write_bytecode = True
gen_man = importlib.util.module_from_spec(importlib.util.spec_from_loader("gen_man", loader))
loader.exec_module(gen_man)
config, count = {}, 0
for name, *_, example in gen_man.keys():
    if example:
        *groups, name = name.split(".")
        at = config
        for group in groups:
            at = at.setdefault(group, {})
        at[name] = json.loads(example)
        count += 1
assert count >= 20, count
json.dump(config, open("keys.json", "w"), indent=2)
END
    examples agentbox-config.5 >page.jsonc
    local file
    for file in keys.json page.jsonc; do
        run "$AGENTBOX" config validate "$file"
        echo "$file: $output"
        [ "$status" -eq 0 ]
    done
}

@test "the five calls of libagentbox(3) compile, and run a command" {
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: the archive needs their libraries"
    {
        printf '#include <agentbox/agentbox.h>\n#include <stdio.h>\nint main(void)\n{\n'
        text_of libagentbox.3 | sed -n '/^ *abx_manager \*m;/,/printf(/p' | sed 's/;  .*/;/; /^\./d'
        printf 'abx_result_free(r); abx_command_free(c); abx_manager_free(m);\nreturn 0;\n}\n'
    } >five.c
    cc -Wall -Werror -I"$ABX_SOURCE/include" five.c "$ABX_BUILD/libagentbox.a" -pthread -o five
    printf 'test:\n\t@echo tested\n' >Makefile
    run ./five
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$output" = $'0\ntested' ]
}
