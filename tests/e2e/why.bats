#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Why: the answer is what the kernel does, and the change that it names works.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2088
load ../lib/e2e

# why OPERATION PATH: "allow" or "deny", with the options of `box`.
why() {
    (cd "$W" && "${AS[@]}" "$BOX" why "${OPTIONS[@]}" "$@" --json 3>&-) >"$X/answer" || [ $? -eq 1 ]
    python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["verdict"])' "$X/answer"
}

# field NAME: of the last answer.
field() {
    python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$X/answer" "$1"
}

# What the kernel says: try the thing in a run.
kernel() {
    local answer
    case $1 in
    read) if [ -d "$2" ]; then answer=$(attempt dir-open "$2"); else answer=$(attempt sys openat -100 "@$2" 0); fi ;;
    write)
        if [ -d "$2" ]; then
            answer=$(attempt create "$2/.abx-probe")
            rm -f "$2/.abx-probe"
        elif [ -e "$2" ]; then
            answer=$(attempt append "$2" '')
        else
            answer=$(attempt create "$2")
            rm -f "$2"
        fi
        ;;
    exec) if box -- "$2" >/dev/null 2>&1; then answer=ok; else answer=no; fi ;;
    esac
    # The payload prints the number of the descriptor before the word.
    if [[ $answer == ok || $answer == *" ok" ]]; then echo allow; else echo deny; fi
}

# agree OPERATION PATH…: one verdict from both.
agree() {
    local path
    for path in "${@:2}"; do
        local said kernel
        said=$(why "$1" "$path")
        kernel=$(kernel "$1" "$path")
        if [ "$said" != "$kernel" ]; then
            echo "$1 $path: why says $said, the kernel $kernel ($(cat "$X/answer"))"
            return 1
        fi
    done
}

# The change that the last answer names makes it work.
grant_works() {
    local grant word
    [ "$(why "$1" "$2")" = deny ]
    grant=$(field grant)
    eval "word=($grant)"
    OPTIONS+=("${word[@]}")
    [ "$(why "$1" "$2")" = allow ]
    [ "$(kernel "$1" "$2")" = allow ]
}

@test "the default: read everywhere, write here" {
    agree read /etc/passwd "$O/f" "$W/file" "$W" / /usr
    agree write "$W/file" "$W/new" "$W" "$O/f" "$O/new" "$O" "$T/new" /etc/new /new "$H/new"
    cp /bin/true "$W/mine"
    own "$W"
    agree exec /bin/true "$W/mine" "$W/file" /dev/null
}

@test "rules, nested three deep" {
    mkdir -p "$W/ro/rw/ex/ro" "$W/ro/rw/in"
    for f in "$W/ro" "$W/ro/rw" "$W/ro/rw/ex" "$W/ro/rw/ex/ro" "$W/ro/rw/in"; do echo x >"$f/f"; done
    own "$W"
    OPTIONS+=(--ro ro --rw ro/rw --exclude ro/rw/ex --ro ro/rw/ex/ro)
    for d in ro ro/rw ro/rw/ex ro/rw/ex/ro ro/rw/in; do
        agree read "$W/$d/f" "$W/$d"
        agree write "$W/$d/f" "$W/$d/new" "$W/$d"
    done
}

@test "hidden things, patterns and absent names" {
    mkdir -p "$W/a/b"
    echo x >"$W/a/b/.env"
    echo x >"$W/a/b/ok"
    own "$W"
    OPTIONS+=(--exclude '**/.env' --exclude nothere/deep --ro later)
    agree read "$D/s" "$D" "$D/deep/s" "$W/a/b/.env" "$W/a/b/ok"
    agree write "$D/s" "$D/new" "$W/a/b/.env" "$W/a/b/ok" "$W/nothere" "$W/later" "$W/later2" "$W/a"
}

@test "protected names, present and absent, and git's own" {
    mkdir -p "$W/.vscode"
    echo x >"$W/.vscode/f"
    make_repo
    own "$W"
    agree write "$W/.vscode/f" "$W/.vscode/new" "$W/.idea" "$W/.mcp.json" "$W/.agentbox.json" "$W/.git/config" \
        "$W/.git/hooks/new" "$W/.git/index" "$W/.git/new" "$W/.git"
    agree read "$W/.git/config" "$W/.vscode/f"
}

@test "secrets of the home" {
    mkdir -p "$H/.ssh" "$H/.cache"
    echo x >"$H/.ssh/id"
    own "$H"
    agree read "$H/.ssh/id" "$H/.ssh" "$H" "$H/.cache"
    agree write "$H/.ssh/id" "$H/.ssh/new" "$H/.cache/new" "$H/.bashrc" "$H/.local/state/agentbox/x" \
        "$H/.config/agentbox/config.json"
}

@test "~ is the home, as in a rule, and ./~ a file of that name" {
    mkdir -p "$H/.ssh" "$W/~/.ssh"
    own "$H" "$W"
    [ "$(why read '~/.ssh/id')" = deny ]
    [ "$(field path)" = "$H/.ssh/id" ]
    [ "$(why write '~')" = deny ]
    [ "$(field path)" = "$H" ]
    [ "$(why exec '~/bin/x')" = allow ]
    [ "$(field path)" = "$H/bin/x" ]
    [ "$(why write './~/.ssh/id')" = allow ]
    [ "$(field path)" = "$W/~/.ssh/id" ]
    OPTIONS+=(--rw '~/.ssh')
    [ "$(why write '~/.ssh/id')" = allow ]
}

@test "the system's directories" {
    local mark=/tmp/abx-${FIX##*.}-$BATS_TEST_NUMBER
    echo x >"$mark"
    agree read "$mark" /tmp /proc/self/status /proc /sys /sys/kernel /dev/null /dev /run /dev/kmsg
    rm "$mark"
    agree write /tmp/new /tmp /dev/null /dev/shm/new /dev/new /run/new /sys/new
    [ "$(why write /proc/sys/kernel/hostname)" = deny ]
    refused "$CLOSED" write /proc/sys/kernel/hostname x
}

@test "links are answered for what they lead to" {
    ln -s "$O/f" "$W/out"
    ln -s "$D" "$W/hidden"
    ln -s file "$W/in"
    own "$W"
    agree read "$W/out" "$W/hidden/s" "$W/in"
    agree write "$W/out" "$W/hidden/s" "$W/in"
}

@test "the named change works: outside, hidden, protected, absent" {
    grant_works write "$O/f"
    OPTIONS=(--exclude "$D")
    grant_works write "$O/sub/new/deeper" || [ "$(kernel write "$O/sub/new")" = allow ]
    OPTIONS=(--exclude "$D/deep")
    grant_works read "$D/deep/s"
    OPTIONS=()
    grant_works write "$W/.vscode"
    OPTIONS=(--ro sub)
    mkdir "$W/sub"
    echo x >"$W/sub/f"
    own "$W"
    grant_works write "$W/sub/f"
}

@test "where only leaving an option out helps, that is said" {
    mkdir "$W/sub"
    own "$W"
    OPTIONS=(--ro sub)
    [ "$(why write "$W/sub")" = deny ]
    [ "$(field grant)" = "leave out --ro sub" ]
    [ "$(field origin)" = "command line" ]
}

@test "a directory above a protected path can be filled, and not moved" {
    mkdir -p "$W/a/b"
    own "$W"
    OPTIONS+=(--ro a/b)
    [ "$(why write "$W/a")" = allow ]
    [[ $(field note) == *"cannot be renamed or removed"* ]]
    refused "$HELD" sys renameat2 -100 "@$W/a" -100 "@$W/c" 0
    allowed create "$W/a/new"
}

@test "a program's name is looked up as a run would, and one that is not there is said" {
    run as_who "$BOX" why -C "$W" exec sh
    [[ $output = "allowed: exec /"*/bin/* ]]
    run as_who "$BOX" why -C "$W" --json exec env
    [[ $output = *'"path":"'*'/bin/env"'* ]]
    run as_who "$BOX" why -C "$W" exec no-such-program
    [[ $output = *"$W/no-such-program"*"no such program"* ]]
    cp /bin/true "$W/env"
    run as_who "$BOX" why -C "$W" exec ./env
    [[ $output = *"exec $W/env"* ]]
}

@test "what permissions close to whoever asks is denied, also by a directory above" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make such a directory"
    mkdir "$O/closed"
    echo x >"$O/closed/f"
    chmod 644 "$O/closed/f"
    chmod 700 "$O/closed"
    if [ "$WHO" = root ]; then chown 1001:1001 "$O/closed"; else chown 0:0 "$O/closed"; fi
    agree read "$O/closed/f" "$O/closed"
    [ "$(field rule)" = permissions ]
    # what no rule grants, and no grant would open
    chmod 755 "$O/closed"
    for path in "$O/closed/f" "$O/closed/new"; do
        if [ "$WHO" = root ]; then chown 1001:1001 "$O/closed/f"; else chown 0:0 "$O/closed/f"; fi
        agree write "$path"
        [[ $(field rule) == default && $(field grant) == None && $(field note) == *"permissions"*"do not allow it"* ]]
    done
    run as_who "$BOX" why -C "$W" --rw /new write /new
    [[ $output == *"note:   what does not exist cannot be granted, and a run makes nothing in /"* ]]
}

@test "of what lies in a process no more is said than is known" {
    run as_who "$BOX" why -C "$W" read /proc/1/root/etc/passwd
    [[ $output = *"read /proc/1"*"note:"*"the run's own processes"* ]]
    run as_who "$BOX" why -C "$W" read /proc/self/environ
    [[ $output = *"note:"*"the run's own processes"* ]]
    run as_who "$BOX" why -C "$W" read /proc/meminfo
    [[ $output = *allowed* && $output != *"own processes"* ]]
}

@test "text, exit status and misuse" {
    cd "$W"
    run as_who "$BOX" why write "$O/f"
    [ "$status" -eq 1 ]
    [[ ${lines[0]} == "denied: write $O/f" ]]
    [[ $output == *"rule:   default"*"from:   built-in"*"change: --rw $O/f"* ]]
    run as_who "$BOX" why read "$O/f"
    [ "$status" -eq 0 ]
    run as_who "$BOX" why net example.com:443
    [ "$status" -eq 1 ]
    [[ $output == *"rule:   default"*"change: --allow-domain example.com:443"* ]]
    run as_who "$BOX" why --network blocked net example.com:443
    [ "$status" -eq 1 ]
    [[ $output == *"network.mode blocked"*"--network filtered --allow-domain example.com:443"* ]]
    # What no option would take is not proposed.
    run as_who "$BOX" why --network blocked net '[2001:DB8::1]:80'
    [[ $output == *"change: --network filtered --allow-domain [2001:db8::1]:80"* ]]
    run as_who "$BOX" why --network blocked net db:80
    [[ $output == *"change: --network filtered" ]]
    run as_who "$BOX" why net db:80
    [[ $status -eq 1 && $output == *"use its whole name, or its address"* && $output != *change:* ]]
    run as_who "$BOX" why net localhost:80
    [[ $status -eq 1 && $output == *"the sandbox's own"*"ask about 127.0.0.1"* && $output != *change:* ]]
    run as_who "$BOX" why --allow-domain '*.example.com' net WWW.example.com:443
    [ "$status" -eq 0 ]
    [[ $output == *"rule:   *.example.com"*"from:   command line"* ]]
    run as_who "$BOX" why --network allowed net example.com
    [ "$status" -eq 0 ]
    # The host's own loopback: allowing it is half of it.
    run as_who "$BOX" why net 127.0.0.1:9
    [[ $status -eq 1 && $output == *"note:"*"the sandbox's own"*"--env NO_PROXY="*"change: --allow-domain 127.0.0.1:9"* ]]
    run as_who "$BOX" why --allow-domain 127.0.0.0/8 net 127.0.0.1:9
    [[ $status -eq 0 && $output == *"note:"*"the sandbox's own"*"--env NO_PROXY="* ]]
    run as_who "$BOX" why --allow-domain 10.0.0.0/8 net 10.0.0.1:9
    [[ $status -eq 0 && $output != *NO_PROXY* ]]
    run as_who "$BOX" why write file "$O/f" new --json
    [ "$status" -eq 1 ]
    [ "$(grep -o '"verdict":"[a-z]*"' <<<"$output" | tr '\n' ' ')" = '"verdict":"allow" "verdict":"deny" "verdict":"allow" ' ]
    for words in "" "read" "eat $O/f" "net x:y" "net a_b.example.com" "--network blocked net a_b.example.com"; do
        # shellcheck disable=SC2086
        run as_who "$BOX" why $words
        [ "$status" -eq 125 ]
        [[ $output == *hint:* ]]
    done
    as_who "$BOX" why --help | grep -q 'agentbox why net'
}

@test "a hidden name that does not exist: the answer says what will hide it" {
    rm -rf "$H/.aws"
    [ "$(why read "$H/.aws/credentials")" = allow ]
    [[ $(field note) == *"@base ~/.aws"* ]]
    "${AS[@]}" mkdir "$H/.aws"
    [ "$(why read "$H/.aws/credentials")" = deny ]
}
