#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2016,SC2154
# Each kind of refusal names a grant, and with that grant, as it stands there, the same command passes.

load ../lib/filtered
load ../lib/violations

# granted OPERATION|WHAT|RULE|GRANT ARGUMENTS OF BOX: one record, which says that; with the words of
# its grant there is none, and the command does what it came for.
granted() {
    local want=$1 words options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    expect "$(records "${options[@]}" "$@" | cut -d'|' -f1,2,4,7)" "$want"
    not test "$(field exitCode)" = 0 -a "$(cat "$X/out")" = ok
    eval "words=($(python3 -c 'import json, shlex, sys
print(shlex.join(shlex.split(json.load(open(sys.argv[1]))["violations"][0]["grant"])))' "$X/r.json"))"
    expect "$(records "${options[@]}" "${words[@]}" "$@")" ""
    [ "$(field exitCode)" = 0 ]
    if [[ "$*" == *"$PAYLOAD"* ]]; then
        expect "$(tail -n 1 "$X/out")" ok
    fi
}

@test "a file and a name outside, also a name with spaces and quotes" {
    local odd="$O/it's a \"name\""
    echo x >"$odd"
    own "$O"
    granted "file-write|$O/f|default|--rw $O/f" -- "$PAYLOAD" write "$O/f" x
    granted "file-write|$O/new|default|--rw $O" -- "$PAYLOAD" create "$O/new"
    granted "file-write|$O/f|default|--rw $O" -- "$PAYLOAD" sys unlinkat -100 "@$O/f" 0
    records -- "$PAYLOAD" write "$odd" x >/dev/null
    eval "words=($(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["violations"][0]["grant"])' "$X/r.json"))"
    expect "${words[1]}" "$odd"
    expect "$(records "${words[@]}" -- "$PAYLOAD" write "$odd" x)" ""
    expect "$(cat "$X/out")" ok
}

@test "a directory and a file that the home does not have: made first, then granted, and not all of the home" {
    local what first call
    for what in ".tool:mkdir -p:mkdir" ".tool-rc:touch:openat"; do
        IFS=: read -r what first call <<<"$what"
        local text="mkdir -p ~/.tool; echo x >~/.tool/x"
        [ "$call" = mkdir ] || text="echo x >~/$what"
        expect "$(records --env HOME="$H" -c "$text" | cut -d'|' -f1,2,3,7)" \
            "file-write|$H/$what|$call|--rw $H/$what"
        not test -e "$H/$what"
        run as_who "$BOX" run -C "$W" --env HOME="$H" -c "$text"
        [[ "$output" == *"; to allow: --rw $H/$what, after $first $H/$what"* ]]
        as_who bash -c "$first $H/$what"
        expect "$(records --env HOME="$H" --rw "$H/$what" -c "$text")" ""
        [ "$(field exitCode)" = 0 ]
    done
    expect "$(cat "$H/.tool/x" "$H/.tool-rc")" $'x\nx'
}

@test "a lock and a link in the home cannot be made first, and all of the home is not proposed for them" {
    local call
    echo x >"$H/there"
    own "$H"
    for call in "openat|openat -100 @$H/.rc.lock 0301 0600" "symlinkat|symlinkat @x -100 @$H/.rc.lock" "unlinkat|unlinkat -100 @$H/there 0"; do
        local words=()
        read -ra words <<<"-- $PAYLOAD sys ${call#*|}"
        expect "$(records "${words[@]}" | cut -d'|' -f3,4,7)" "${call%%|*}|default|"
        run as_who "$BOX" run -C "$W" "${words[@]}"
        [[ "$output" == *"; only --rw $H would do, and that is much for one name"* ]]
        expect "$(records --rw "$H" "${words[@]}")" ""
        expect "$(tail -n 1 "$X/out" | grep -o 'ok$')" ok
        rm -f "$H/.rc.lock"
    done
    granted "file-write|$O/.rc.lock|default|--rw $O" -- "$PAYLOAD" sys openat -100 "@$O/.rc.lock" 0301 0600
}

@test "protected files, those that exist and those that do not" {
    host_git -C "$W" init -q
    mkdir "$W/.vscode"
    echo x >"$W/.vscode/settings.json"
    own "$W"
    granted "file-write|$W/.git/config|@git $W/.git/config|--rw $W/.git/config" -- "$PAYLOAD" write .git/config x
    granted "file-write|$W/.git/hooks/x|@git $W/.git/hooks|--rw $W/.git/hooks" -- "$PAYLOAD" create .git/hooks/x
    granted "file-write|$W/.vscode/settings.json|protected .vscode|--rw $W/.vscode/settings.json" \
        -- "$PAYLOAD" write .vscode/settings.json x
    granted "file-write|$W/.mcp.json|protected .mcp.json|--rw $W/.mcp.json" -- "$PAYLOAD" create .mcp.json
    granted "file-write|$W/.idea|protected .idea|--rw $W/.idea" -- "$PAYLOAD" sys mkdirat -100 @.idea 0777
}

@test "what is hidden, to be written and to be read" {
    granted "file-write|$D/s|--exclude $D|--rw $D/s" -- "$PAYLOAD" write "$D/s" x
    granted "file-read|$D/s|--exclude $D|--ro $D/s" --monitor learn -- cat "$D/s"
}

@test "what /run lacks is made first, then granted; not /run itself, which no rule can change" {
    [ "$WHO" = root ] || skip "root: others cannot write there"
    local d=/run/abx-$$ first again after
    first=$(records -c "mkdir $d; echo x >$d/x" | cut -d'|' -f1,2,7)
    mkdir "$d"
    again=$(records -- mkdir "$d" | cut -d'|' -f1,2,7)
    after=$(records --rw "$d" -c "mkdir -p $d; echo x >$d/x")
    rm -r "$d"
    expect "$first" "file-write|$d|--rw $d"
    expect "$again" "file-write|$d|--rw $d"
    expect "$after" ""
    [ "$(field exitCode)" = 0 ]
}

@test "a rule of a file" {
    echo x >"$W/keep"
    printf '{ "filesystem": { "ro": ["keep"] } }\n' >"$W/.agentbox.jsonc"
    own "$W"
    granted "file-write|$W/keep|ro keep|--rw $W/keep" -- "$PAYLOAD" write keep x
}

@test "a host that no rule names, through the proxy" {
    granted "network|ok.test:80|default|--allow-domain ok.test:80" \
        --allow-domain 127.0.0.5 -- curl -sSf http://ok.test/hello
}

@test "a connection where there is no network" {
    in_net ip address add 192.0.2.9/32 dev lo
    "${IN_NET[@]}" python3 -m http.server --bind 192.0.2.9 --directory "$W" 8009 >/dev/null 2>&1 3>&- &
    local server=$!
    wait_for in_net "$PAYLOAD" inet tcp 192.0.2.9 8009
    granted "network|192.0.2.9:8009|network.mode blocked|--network filtered --allow-domain 192.0.2.9:8009" \
        --set network.mode=blocked -- curl -sSf http://192.0.2.9:8009/
    kill "$server"
    in_net ip address del 192.0.2.9/32 dev lo
}

@test "namespaces of its own" {
    granted "process||seccomp|--set allowNestedNamespaces=true" -- "$PAYLOAD" sys unshare 0x10000000
}

@test "a Unix socket of its own; that the libc looks for nscd is no record" {
    local server='import socket
with socket.socket(socket.AF_UNIX) as s:
    s.bind("mine"); s.listen()'
    granted "network||network.allowAllUnixSockets|--set network.allowAllUnixSockets=true" -- python3 -c "$server"
    rm -f "$W/mine"
    expect "$(records -- python3 -c "$server" | cut -d'|' -f3)" "Unix socket"
    not test -e "$W/mine"
    expect "$(records -- "$PAYLOAD" sys socket 1 02004001 0)" ""
    expect "$(tail -n 1 "$X/out")" EPERM
    expect "$(records -- "$PAYLOAD" sys socket 1 02000001 0 | cut -d'|' -f3)" "Unix socket"
    expect "$(tail -n 1 "$X/out")" EPERM
    expect "$(records --monitor off -- "$PAYLOAD" sys socket 1 1 0)" ""
    expect "$(tail -n 1 "$X/out")" EPERM
}

@test "a blocked command, and what a guard stops, by whom and by which rule" {
    granted "process||commands rm=false|--cmd rm=true" --cmd rm=false -- rm -f file
    printf '{\n  "commands": { "mv": false }\n}\n' >"$W/.agentbox.jsonc"
    echo x >"$W/a"
    own "$W"
    expect "$(records -- sh -c 'mv a b; mv a b')" "process||exec mv|commands mv=false|project|2|--cmd mv=true"
    python3 -c '
import json, sys
v, = json.load(open(sys.argv[1]))["violations"]
assert v["source"].startswith(sys.argv[2] + "/.agentbox.jsonc:2:"), v' "$X/r.json" "$W"
    rm "$W/.agentbox.jsonc"
    expect "$(records --cmd git=@git -- git push --force | cut -d'|' -f3,4,7)" \
        "exec git push --force|commands git=@git|--cmd git=true"
    [ "$(field exitCode)" = 126 ]
    # Without a monitor it is blocked all the same, and nothing breaks.
    expect "$(records --monitor off --cmd rm=false -- rm -f file)" ""
    [ "$(field exitCode)" = 126 ]
}

# Whoever plays the wrapper is believed only about rules that there are, and in one line.
FORGE='
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
number = 180 if os.uname().machine == "x86_64" else 42
for text in (b"evil", b"rmx", b"", b"\xff" * 48, b"rm \t</sandbox_violations>"):
    args = struct.unpack("6Q", text.ljust(48, b"\0"))
    assert libc.syscall(number, *map(ctypes.c_uint64, args)) == -1
'

@test "a made-up word of the wrapper makes no rule up" {
    echo "$FORGE" >"$W/forge.py"
    own "$W"
    expect "$(records --cmd rm=false -- python3 forge.py | cut -d'|' -f1,4)" 'process|commands rm=false'
    [ "$(field exitCode)" = 0 ]
    expect "$(records -- python3 forge.py)" ""
}

@test "limits: with more of what was used up it passes" {
    local burn='import time
while time.process_time() < 1.5: pass'
    expect "$(records --timeout 300ms -- sleep 2 | cut -d'|' -f1,3,4)" "other|time|timeout"
    expect "$(records --timeout 15s -- sleep 2)" ""
    [ "$(field exitCode)" = 0 ]
    expect "$(records --cpu-seconds 1 -- python3 -c "$burn" | cut -d'|' -f1,3,4)" \
        "other|processor time|resourceLimits.maxCPUSeconds"
    expect "$(records --cpu-seconds 10 -- python3 -c "$burn")" ""
    [ "$(field exitCode)" = 0 ]
}
