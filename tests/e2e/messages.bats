#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1003,SC2016,SC2086,SC2154
# What the program says when it is used in a wrong way: what was tried on what, and what to do.

bats_require_minimum_version 1.5.0

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
}

teardown() {
    rm -rf "${there:-}"
    life_teardown
}

program() {
    "${AS[@]}" "$AGENTBOX" "$@" 3>&-
}

# says MESSAGE HINT WORDS: the program is misused so; its two lines begin with that, and it prints nothing.
says() {
    ends 125 "$@"
}

# ends STATUS MESSAGE HINT WORDS
ends() {
    local wanted=$1 message=$2 hint=$3 status=0
    shift 3
    program "$@" >"$O/out" 2>"$O/err" </dev/null || status=$?
    {
        [ "$status" -eq "$wanted" ] && [ ! -s "$O/out" ] &&
            [[ $(sed -n 1p "$O/err") == "agentbox: $message"* && $(sed -n 2p "$O/err") == "hint: $hint"* ]]
    } || {
        echo "agentbox $*: $status, wanted: $message / $hint"
        cat "$O/out" "$O/err"
        return 1
    }
}

@test "a value that an option does not take is told with the option, the key and what it takes" {
    says "--network: set 'network.mode' to 'open': not one of its words" 'use filtered, blocked or allowed' run --network open -- true
    says "--profile: set 'profile' to 'cluade'" 'did you mean claude?' run --profile cluade -- true
    says "--rw: set 'filesystem.rw' to '': not a path" 'name a file or directory' run --rw= -- true
    says "--memory: set 'resourceLimits.maxMemoryBytes' to '2': no program starts" 'write a unit' run --memory 2 -- true
    says "--fds: set 'resourceLimits.maxFileDescriptors' to '99999999999999999999': not a whole number from 0 to 2147483647" '' \
        run --fds 99999999999999999999 -- true
    says "--pass-env: set 'environment.pass' to 'A=b'" 'name the variable alone' run --pass-env A=b -- true
    says "--publish: set 'network.publish' to '99999'" 'for example 8080' run -p 99999 -- true
    says "--cmd: set 'commands' to 'git=@nothing'" 'known, each for the command of its name: @docker' run --cmd git=@nothing -- true
    says "--allow-domain: set 'network.allowedDomains' to 'a b'" 'for example example.com' run --allow-domain 'a b' -- true
    says "--timeout '5x': not a time" 'write ' run --timeout 5x -- true
    says "--approve 'maybe': not one of its words" 'use ask, deny or yes' run --approve maybe -- true
    says "--set 'network.mode': not KEY=VALUE" '`agentbox help keys`' run --set network.mode -- true
    says "--set '=x': not KEY=VALUE" '`agentbox help keys`' proxy --set =x
    says "set 'network.mode' to 'open'" 'use filtered' run --set network.mode=open -- true
    says "set 'filesystem.rw' to '': not a path" 'name a file or directory' run --set filesystem.rw= -- true
    says "set 'network.allowedDomains' to 'localhost'" '' run --set network.allowedDomains=localhost -- true
    says "a rule of classifier.rules is not JSON" 'for example' check --set classifier.rules=x -- true
    says "set 'network.deniedDomains' to '*'" '' proxy --set 'network.deniedDomains=*'
    says "set the time limit: out of range" '50000 days' run --timeout 100000d -- true
    says "--deny-domain: set 'network.deniedDomains' to '*'" '' proxy --deny-domain '*'
    says "--max-connections '0': not a number from 1 to 10000" '`agentbox bridge --help`' bridge --max-connections 0 . 127.0.0.1:1
}

@test "help and hint of an option name the same words, and the option takes each" {
    local option words word hint
    while read -r option words; do
        says "$option: set " 'use ' run "$option" no-such-word -- true
        hint=$(sed -n 's/^hint: use //; s/, / /g; s/ or / /; 2p' "$O/err")
        [ "$hint" = "${words//|/ }" ] || {
            echo "$option: help has $words, the hint: $hint"
            return 1
        }
        for word in ${words//|/ }; do
            program plan "$option" "$word" -- true >/dev/null 2>"$O/err" || # another back end may be refused here
                [ "$(grep -c 'not one of its words' "$O/err")" -eq 0 ]
        done
        echo "$option" >>"$O/seen"
    done < <(program run --help | sed -nE 's/^ +(--[a-z-]+) ([a-z-]+(\|[a-z-]+)+).*/\1 \2/p' | grep -vE -- '^--(approve|format) ')
    grep -qx -- --monitor "$O/seen"
}

@test "what --rw cannot grant, because it is not there, is said; nothing is said where it can be made" {
    said() { # PATH…: about these and no others
        local path args=()
        for path in "$@"; do args+=("agentbox: note: --rw '$path': it does not exist, so nothing is granted; make it first"); done
        diff <(printf '%s\n' "${args[@]}") <(grep -- --rw "$O/err")
    }
    mkdir "$O/there"
    program run --approve yes --rw "$O/absent" --rw "$O/there" --rw "/tmp/abx-absent.$$" --rw new --rw .vscode --rw "$O/none*" \
        -- sh -c 'echo x >new; mkdir .vscode' 2>"$O/err"
    [ -s "$W/new" ] && [ -d "$W/.vscode" ]
    said "$O/absent" "/tmp/abx-absent.$$"
    program run --rw "$O/a"$'\e]0;b' -- true 2>"$O/err"
    said "$O/a\\x1b]0;b"
    program run -q --rw "$O/absent" -- true 2>"$O/err"
    [ ! -s "$O/err" ]
    echo "{\"filesystem\": {\"rw\": [\"$O/absent\"]}}" >"$O/config.json"
    program run --config "$O/config.json" -- true 2>"$O/err"
    [ ! -s "$O/err" ]
}

@test "a hint fits what went wrong" {
    says "open '/nowhere/r' for the result: No such file" 'its directory is not there' run --result /nowhere/r -- true
    says "open '$W' for the result: Is a directory" 'name a file in it' run --result "$W" -- true
    ln -s f "$W/link"
    says "open '$W/link' for the result:" 'it is a symbolic link' run --result "$W/link" -- true
    says "open the log '/nowhere/l': No such file" 'its directory is not there' run --log /nowhere/l -- true
    says "read configuration '/nowhere/c': No such file" 'is the name right?' run --config /nowhere/c -- true
    says "read configuration '$W': it is not a plain file" 'it is a directory' run --config "$W" -- true
    says "read configuration '/nowhere/c': No such file" 'is the name right?' import /nowhere/c
    says "working directory '/nowhere': No such file" 'name a directory that is there' plan -C /nowhere
    says "enter the working directory '/nowhere': No such file" 'name a directory that is there' init -C /nowhere --yes
    says "enter the working directory '/nowhere': No such file" 'name a directory that is there' check -C /nowhere -c ls
    says "enter the working directory '/nowhere': No such file" 'name a directory that is there' config show -C /nowhere
    says "make a command: there is no program name" 'the first word' run -- ''
    says "make a command: the shell text is empty" 'write what the shell' check -c ''
    says "explain 'read': of what?" 'name a file' why read ''
    says "listen on 'here': not ADDRESS:PORT" 'write an address and a port' proxy --listen here
    says "listen on '192.0.2.1:80': Cannot assign" 'this machine does not have that address' proxy --listen 192.0.2.1:80
    says "make a bridge: 'a/b' is no label" 'it becomes a file' bridge --label a/b . 127.0.0.1:1
    says "listen on '/nowhere/bridge.sock': No such file" "the socket's directory" bridge /nowhere 127.0.0.1:1
    says "write '/nowhere/x': No such file" 'its directory is not there' config init -o /nowhere/x
    says "'network.deniedDomains' cannot be kept" 'use --network filtered' run --network allowed --deny-domain example.com -- true
    says "set up the sandbox: shut its first process in (step 'enclose'" 'the limit of open files is too low' run --fds 4 -- true
    echo '{}' >"$W/.agentbox.jsonc"
    says 'write .agentbox.jsonc: there is a .agentbox.jsonc already' 'edit it; agentbox init -o -' init --yes
    says 'write .agentbox.jsonc: there is a .agentbox.jsonc already' 'edit it; agentbox config init -o -' config init
}

@test "what belongs into a shell is not a program, and the hint says so" {
    ends 127 "execute 'ls -la': No such file" 'all of it is taken for one name' run -- 'ls -la'
    ends 127 "execute 'cd': No such file" 'it is a command of the shell' run -- cd src
    ends 127 "execute 'no-such-program': No such file" 'is it installed' run -- no-such-program
    ends 126 "execute '/etc': Permission denied" 'it is a directory' run -- /etc
}

@test "a program of the host's /tmp, or a script's interpreter there: the run has a /tmp of its own" {
    there=$(mktemp -d /tmp/abx-there.XXXXXX)
    chmod 755 "$there"
    cp /bin/sh "$there/sh it"
    printf '#!/bin/sh\n' >"$there/x.sh"
    printf '#!%s/x.sh\n' "$there" >"$W/script"
    chmod +x "$there/x.sh" "$W/script"
    local hint='the run has a /tmp of its own'
    ends 127 "execute '$there/x.sh': No such file" "$hint, where the host's files are not: --ro $there/x.sh shows this one, --tmp host" run -- "$there/x.sh"
    ends 127 "execute '$there/sh it': No such file" "$hint, where the host's files are not: --ro '$there/sh it' shows" run -- "$there/sh it"
    ends 127 "execute './script': its interpreter '$there/x.sh': No such file" "$hint" run -- ./script
    ends 127 "execute '$there/y.sh': No such file" 'is it installed' run -- "$there/y.sh"
    program run -q --ro "$there/x.sh" -- "$there/x.sh"
    program run -q --tmp host -- "$there/x.sh"
}

@test "limits of this shell that are too low for a run: each error names the limit, and nothing that would not help" {
    # memory and descriptors of the sanitizers' run-time
    [ -z "${ABX_SANITIZED:-}" ] || skip "sanitizers: their run-time needs more"
    local limit
    for limit in '-n 7' '-n 9' '-n 11' '-n 12' '-n 13' '-n 16' '-n 17' '-f 0'; do
        "${AS[@]}" bash -c 'ulimit $0 && exec "$@"' "$limit" "$AGENTBOX" run -- true 2>&1 3>&- | cat >"$O/err"
        cat "$O/err"
        [ "$(wc -l <"$O/err")" -eq 2 ]
        [[ $(sed -n 2p "$O/err") == "hint: "*"ulimit ${limit% *}" ]]
    done
}

@test "a script whose interpreter is missing, and a program whose loader is, are said to be that" {
    local want="its interpreter '/nowhere/python3'"
    mkdir "$W/bin"
    printf '#! /nowhere/python3 -u\nprint(1)\n' >"$W/bin/moved"
    printf '#!/bin/sh\r\nexit\r\n' >"$W/dos"
    sed 's,ld-linux-,no-linux-,' "$(command -v env)" >"$W/foreign"
    chmod +x "$W/bin/moved" "$W/dos" "$W/foreign"
    ends 127 "execute 'bin/moved': $want: No such file" 'is it installed' run -- bin/moved
    ends 127 "execute 'bin/moved': $want: No such file" 'is it installed' run --monitor learn -- bin/moved
    ends 127 "execute 'moved': $want: No such file" 'is it installed' run --env PATH="/bin:$W/bin" -- moved
    ends 127 "execute './dos': its interpreter '/bin/sh\\x0d': No such file" 'its first line ends in a carriage return' run -- ./dos
    ends 127 "execute './foreign': No such file" 'the file is there, but the loader' run -- ./foreign
}

@test "how many still ran in the background when the command ended is told, and not with -q" {
    local note='agentbox: note: 2 processes that still ran in the background were ended with the command'
    run program run -c 'sleep 60 & setsid sleep 61 & echo x'
    [ "$output" = "x"$'\n'"$note" ]
    run program run -c 'sleep 60 & :'
    [ "$output" = 'agentbox: note: 1 process that still ran in the background was ended with the command' ]
    run program run -q -c 'sleep 60 & :'
    [ -z "$output" ]
    # the dead that nobody waited for; what the time ended
    run program run --approve yes -c 'sh -c "exit 3" & sh -c "kill -9 \$\$" & sleep 0.2; exec true'
    [ -z "$output" ]
    run program run --timeout 200ms -c 'sleep 60 & sleep 61'
    [[ $output == *"the time is up"* && $output != *background* ]]
}

@test "a name that is not known: the nearest one, or the one that begins like that" {
    says "option --allow is not known" 'did you mean --allow-domain?' run --allow example.com -- true
    says "option --un is not known" '`agentbox run --help`' run --un x -- true
    says "option --agent is not known" '--agent is an option of `agentbox init`; for `run` use --profile' run --agent claude -- true
    says "option --profile is not known" '--profile is an option of `agentbox run`; for `init` use --agent' init --profile claude
    says "option --rw is not known" '--rw is an option of `agentbox run`; `agentbox proxy --help` lists those of `proxy`' proxy --rw x
    says "option --format is not known" '--format is an option of `agentbox run`; for `doctor` use --json' doctor --format json
    says "option --ro-bind is not known" 'did you mean --ro?' run --ro-bind / / -- true
    says "option --net is not known" 'did you mean --network?' run --net=host -- true
    says "option --volume is not known" 'did you mean --rw?' run --volume a:b -- true
    says "option --nothing-like-it is not known" '`agentbox log --help` lists the options' log --nothing-like-it
    says "option -o is not known" '`agentbox run --help` lists the options' run -o x -- true
    says "unknown key 'network'" 'it is a group: write network.KEY;' run --set network=blocked -- true
    says "unknown key 'commands.rm'" 'its entries are values: commands=rm=VALUE' run --set commands.rm=false -- true
    says "unknown key 'environment.set.A'" 'its entries are values: environment.set=A=VALUE' run --set environment.set.A=1 -- true
    says "unknown key 'nothing.like.it'" '`agentbox help keys` lists all keys' run --set nothing.like.it=1 -- true
    says "'trust' is not a command of agentbox" 'did you mean agentbox config trust?' trust
    says "'bash' is not a command of agentbox" 'to run a program: agentbox run -- bash' bash
    says "there is no help on 'rnu'" 'did you mean agentbox help run?' help rnu
    says "there is no help on 'key'" 'did you mean agentbox help keys?' help key
    says "there is no help on 'nothing-like-it'" '`agentbox help` lists' help nothing-like-it
}

@test "shell text that check is given as a program: the verdict stays, and the hint says so" {
    run -0 --separate-stderr program check 'rm -rf /'
    [[ $output == sandboxed* && $stderr == *"hint: all of it was taken for one program's name; -c TEXT"* ]]
    run -0 --separate-stderr program check -c 'ls -la'
    [ -z "$stderr" ]
    run -0 --separate-stderr program check ls
    [ -z "$stderr" ]
}

@test "a port of the host that is root's: another one is proposed" {
    life_as user
    "${AS[@]}" python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 80))' 2>&1 | grep -q 'Permission denied' ||
        skip "low ports are everybody's here"
    says "publish port 80 on 127.0.0.1:80: Permission denied" 'low ports of the host are root'"'"'s: -p 8080:80' run -p 80 -- true
}

@test "a configuration that another program spoilt: what to do" {
    printf '\357\273\277{}' >"$W/bom.json"
    says "$W/bom.json:1:1: the text begins with a byte order mark" 'save it as UTF-8 without one' run --config "$W/bom.json" -- true
    echo '{} {}' >"$W/two.json"
    says "$W/two.json:1:4: more text behind the end" 'a file is one object' run --config "$W/two.json" -- true
    echo 'network: yes' >"$W/yes.yaml"
    says "$W/yes.yaml:1:10: 'network' must be an object, true or false" 'true is mode allowed, false is blocked' \
        run --config "$W/yes.yaml" -- true
}

@test "--result goes to a descriptor that the caller opened, and to no other; what is in its file stays" {
    local fd
    echo kept >"$O/all"
    program run --result /dev/fd/4 -- echo hello 4>>"$O/all" >>"$O/all"
    [ "$(sed -n 1,2p "$O/all")" = "$(printf 'kept\nhello')" ]
    sed -n 3p "$O/all" | python3 -c 'import json, sys; assert json.load(sys.stdin)["exitCode"] == 0'
    [ "$(program run --result /dev/stdout -- true | python3 -c 'import json, sys; print(json.load(sys.stdin)["exitCode"])')" = 0 ]
    for fd in 3 4 5 6 7 8 9; do # ours among them
        says "open '/dev/fd/$fd' for the result: Bad file descriptor" 'the descriptor is not open' run --result "/dev/fd/$fd" -- true
    done 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    says "--result '-': not a file" "the command's own output goes there" run --result - -- true
    [ ! -e "$W/-" ]
    says "write the result to '/dev/full': No space" 'is there room' run --result /dev/full -- true
}

@test "the result of an earlier run is not taken for that of one which does not start" {
    program run --result "$W/r" -- true
    grep -q '"exitCode":0' "$W/r"
    ends 127 "execute 'no-such-program'" 'is it installed' run --result "$W/r" -- no-such-program
    [ ! -s "$W/r" ]
    program run --help | tr -s ' \n' ' ' | grep -q -e '--result FILE Write the result as JSON to FILE, empty if nothing ran'
}

@test "the help says for which commands --format and --json are" {
    local command
    says "run prints nothing of its own" '--dry-run prints the plan' run --json -- true
    for command in run plan why learn; do
        program "$command" --help | tr -s ' \n' ' ' | grep -q 'Of plan, why, learn, and run with --dry-run: how it is printed'
    done
    program run --dry-run --json -- true | grep -q '^{'
}

@test "a working directory that is not made writable is told with the reason, and --rw allows it" {
    local text='files here stay as they are: the working directory is'
    cd /
    run program run -- true
    [[ $status -eq 0 && $output == *"note: $text '/'; --rw . allows to write them"* ]]
    cd /tmp
    run program run -- sh -c 'echo x >abx-new && cat abx-new'
    [[ $status -eq 0 && $output == x*"note: $text /tmp, which is private; --rw"* ]]
    [ ! -e /tmp/abx-new ]
}

@test "a working directory that is hidden is named, also below a private /tmp" {
    local dir
    says "working directory '$W': hidden in the sandbox" 'grant it' run --exclude . -- true
    dir=$(mktemp -d /tmp/abx-test.XXXXXX)
    chmod 755 "$dir"
    says "working directory '$dir': hidden in the sandbox" 'grant it' run -C "$dir" --exclude . -- true || { rmdir "$dir"; false; }
    rmdir "$dir"
    [ "$(cd /tmp && program run -q --network blocked -- pwd)" = /tmp ]
}

@test "a text that the shell could not read is shown" {
    run program run --approve deny -c 'echo one; if'
    [ "$status" -eq 126 ]
    [[ $output == "agentbox: run 'echo one; if': not approved (rule 'unreadable'"* ]]
    program check --json -c 'echo "' >"$O/out" || :
    python3 -c 'import json, sys; assert json.load(sys.stdin)["part"] == "echo \""' <"$O/out"
}

@test "nothing that was typed reaches the terminal as it is" {
    local words
    for words in $'\e[2J' $'run\e[2J' $'--\e[2J'; do
        run program "$words"
        [ "$status" -eq 125 ]
        [[ $output != *$'\e'* && $output == *'\x1b'* ]]
    done
    run program run --approve $'\e]0;x\a' -- true
    [[ $output != *$'\e'* ]]
    says "'' is not a command" '`agentbox help`' ''
}

@test "formats belong to what is printed" {
    says "run prints nothing of its own" '--dry-run prints the plan' run --json -- touch "$W/ran"
    says "run prints nothing of its own" '--dry-run prints the plan' run --format text -- touch "$W/ran"
    says "print the plan as 'xml'" 'use text, json' plan --format xml
    says "--format 'bwrap': not one of its words here" 'use text or json' why --format bwrap read /
    says "--format 'bwrap': not one of its words here" 'use text or json' learn --format bwrap -- touch "$W/ran"
    [ ! -e "$W/ran" ]
}

@test "with --json the standard output is JSON and nothing else, whatever happens" {
    local words
    echo '{"profile": "claude"}' >"$W/conf.json"
    echo '{"filesystem": {"allowWrite": ["."]}}' >"$W/srt.json"
    while read -r words; do
        "${AS[@]}" "$AGENTBOX" $words --json >"$O/out" 2>"$O/err" </dev/null 3>&- || :
        python3 - "$words" "$O/out" <<'END'
import json, sys
text = open(sys.argv[2]).read()
for value in [text] if sys.argv[1] == "config schema" else text.splitlines():
    json.loads(value)
assert text, sys.argv[1]
END
    done <<'WORDS'
approvals
approvals forget all
check -c ls
config init -o new.jsonc
config presets
config schema
config show
config trust conf.json
config untrust conf.json
config validate
config validate conf.json
config validate /nowhere
doctor
help
help run
help keys
import srt.json
import srt.json -o imported.jsonc
init --yes
inside
plan
rules
run --dry-run -c true
version
why read /etc/passwd
why net example.com
WORDS
    program config trust conf.json --json | grep -q '"trusted":true'
    # Complaints leave it empty.
    while read -r words; do
        run --separate-stderr "${AS[@]}" "$AGENTBOX" $words --json
        [[ $status -eq 125 && -z $output && $stderr == agentbox:*hint:* ]] || { echo "$words: $output $stderr"; false; }
    done <<'WORDS'
check
config init -o -
config nothing
help nothing
import /nowhere
init -o -
plan -C /nowhere
run
why read
WORDS
}

@test "learn proposes nothing for what it could not start, and speaks JSON" {
    run -127 --separate-stderr program learn -- no-such-program
    [[ -z $output && $stderr == *"execute 'no-such-program'"*hint:* ]]
    run -126 --separate-stderr program learn --approve deny -- git push
    [[ -z $output && $stderr == *"not approved"*"hint: --approve deny"* ]]
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: their run-time cannot start inside"
    mkdir "$HOME/d"
    life_as user
    run --separate-stderr program learn --approve yes --json -c 'echo x >>~/d/f && exit; echo x >.mcp.json; exit 1'
    python3 - "$output" <<'END'
import json, sys
said = json.loads(sys.argv[1])
assert said["runs"] == 2, said
assert said["proposal"] == {"filesystem": {"rw": ["~/d"]}}, said
assert any(".mcp.json" in n["refused"] and n["reason"] for n in said["notProposed"]), said
END
}

@test "text fits the terminal: 80 columns, or fewer where COLUMNS says so" {
    local topic width
    for topic in '' keys run check plan why init config import learn log doctor rules approvals proxy bridge; do
        for width in '' 40; do
            # Usage lines and what is indented for copying stay whole.
            env COLUMNS="$width" "$AGENTBOX" help $topic 3>&- |
                awk -v max="${width:-80}" -v topic="$topic" '
                    /^(Usage|       agentbox)/ || /^  (agentbox|\. <|show|validate|init|presets|trust)/ { next }
                    length($0) > max && !/^      --|^  -/ { print topic ": " $0; bad = 1 }
                    END { exit bad }' || false
        done
    done
    COLUMNS=60 program doctor | awk 'length($0) > 60 { exit 1 }'
    COLUMNS=nonsense program help >"$O/a"
    COLUMNS=1000 program help >"$O/b"
    cmp "$O/a" "$O/b"
}

# coloured VARIABLES: on a pipe.
coloured() {
    [[ $(env -u NO_COLOR -u CLICOLOR_FORCE "$@" "$AGENTBOX" nothing 2>&1 3>&-) == *$'\e['* ]]
}

# coloured_there VARIABLES: on a terminal.
coloured_there() {
    env -u NO_COLOR -u CLICOLOR_FORCE "$@" python3 -c '
import os, pty, sys
said = b""
def read(fd):
    global said
    data = os.read(fd, 1024)
    said += data
    return data
pty.spawn([sys.argv[1], "nothing"], read)
sys.exit(0 if b"\x1b[" in said else 1)' "$AGENTBOX" 3>&- </dev/null >/dev/null
}

@test "colours: on a terminal, not where NO_COLOR or TERM say no, elsewhere where CLICOLOR_FORCE says so" {
    run -1 coloured TERM=xterm
    coloured TERM=xterm CLICOLOR_FORCE=1
    run -1 coloured CLICOLOR_FORCE=0
    run -1 coloured CLICOLOR_FORCE=1 NO_COLOR=1
    coloured_there TERM=xterm
    coloured_there TERM=xterm NO_COLOR=
    run -1 coloured_there TERM=xterm NO_COLOR=1
    run -1 coloured_there TERM=dumb
}

@test "output that is lost is an error: a closed stream, a full disk" {
    local words
    for words in version rules plan 'check -c ls' 'why read /etc/passwd' doctor; do
        run --separate-stderr bash -c '"$@" >&-' - "$AGENTBOX" $words 3>&-
        [[ $status -eq 125 && $stderr == *"agentbox: write to the standard output: "*hint:* ]] || { echo "$words: $status $stderr"; false; }
        run --separate-stderr bash -c '"$@" >/dev/full' - "$AGENTBOX" $words 3>&-
        [[ $status -eq 125 && $stderr == *"agentbox: write to the standard output: "*hint:* ]] || { echo "$words: $status $stderr"; false; }
    done
    # A command's own streams are as closed for it as they were for us.
    run -1 bash -c '"$@" >&-' - "$AGENTBOX" run -q --network blocked -- /bin/echo hello 3>&-
    [[ $output == *"Bad file descriptor"* ]]
    run -1 bash -c '"$@" <&-' - "$AGENTBOX" run -q --network blocked -- cat 3>&-
    [ "$(bash -c '"$@" 2>&-' - "$AGENTBOX" run -q --network blocked -c 'echo lost >&2; echo out' 3>&-)" = out ]
}

# full_disk WORDS: run in a directory on a full disk; what it holds afterwards comes last.
full_disk() {
    local own=(unshare -m)
    [ "$(id -u)" -eq 0 ] || own=(unshare -Urm)
    mkdir -p "$W/full"
    # shellcheck disable=SC2016 # its own shell's
    "${own[@]}" sh -c 'mount -t tmpfs -o "size=4k,nr_inodes=$2,mode=777" full "$1" && cd "$1" && shift 2 &&
        dd if=/dev/zero of=fill bs=4k count=1 2>/dev/null && "$@"; echo "status $?"; ls -A' - "$W/full" "$@"
}

@test "a full disk is told with what to do, and leaves nothing half-written" {
    run full_disk 9 "${AS[@]}" "$AGENTBOX" config init
    echo "$output"
    [[ $output == *"agentbox: write '.agentbox.jsonc': No space left on device"*"hint: the disk is full: make room"*$'status 125\nfill' ]]
    run full_disk 9 "${AS[@]}" "$AGENTBOX" init --yes
    [[ $output == *"hint: the disk is full: make room"*$'status 125\nfill' ]]
    run full_disk 4 "${AS[@]}" "$AGENTBOX" run -- true
    echo "$output"
    [[ $output == *"agentbox: protect absent names in '$W/full': No space"*"hint: there is no room for new names"*$'status 125\nfill' ]]
}

# full_home PAGES INODES WORDS: run in W, with a home that has so much room left for our state.
full_home() {
    local own=(unshare -m)
    [ "$(id -u)" -eq 0 ] || own=(unshare -Urm)
    "${own[@]}" sh -c 'mount -t tmpfs -o "size=$((4 * $2 + 4))k,nr_inodes=$((7 + $3)),mode=777" full "$1" && umask 000 &&
        mkdir -p "$1/.local/state" && mkdir -m 700 "$1/.local/state/agentbox" "$1/.local/state/agentbox/held" &&
        chown -R --reference="$0" "$1" && dd if=/dev/zero of="$1/fill" bs=4k count=1 2>/dev/null && shift 3 && "$@"
        echo "status $?"' "$W" "$HOME" "$@"
}

@test "a full home is told as what it is: our own state is there, whatever room the project has" {
    local room state=$HOME/.local/state/agentbox

    # no room for a file, for its header, for what comes behind
    for room in '4 0' '0 4' '1 4'; do
        run full_home $room "${AS[@]}" "$AGENTBOX" run -- true
        echo "$room: $output"
        [[ $output == *"agentbox: write the registry of placeholders in '$state': No space left on device"$'\n'"hint: "*": make room there"$'\n'"status 125" ]]
        [ -z "$(ls -A "$W")" ]
    done
    run full_home 8 8 "${AS[@]}" "$AGENTBOX" run -- true
    echo "$output"
    [ "$output" = "status 0" ]
}

@test "a submodule that cannot be protected for want of memory is not told to be closed" {
    local d said=0
    [ -z "$ABX_SANITIZED" ] || skip "sanitizers: they need more memory"
    "${AS[@]}" git init -q .
    "${AS[@]}" mkdir -p .git/modules/a/refs
    for d in $(seq 600 50 1800); do # with less the kernel does not even load it
        run bash -c "ulimit -d $d"'; "$@"' - "${AS[@]}" "$AGENTBOX" run -- true
        echo "$d: $status $output"
        [[ $output != *"Permission denied"* ]]
        [[ $output != *"out of memory"* ]] || said=$((said + 1))
    done
    [ "$said" -gt 0 ]
    "${AS[@]}" chmod 0 .git/modules
    says "protect the submodule in '$W/.git/modules': Permission denied" 'an earlier command may have taken its permissions' run -- true
    chmod 755 .git/modules
}

@test "every step of the launcher has words, and every hint is about a step" {
    python3 - "$ABX_SOURCE/src" <<'END'
import pathlib, re, sys
src = pathlib.Path(sys.argv[1])
table = (src / "plan/steps.def").read_text()
words = dict(re.findall(r'^[A-Z]+\("([a-z]+)",.* "(.+)"\)$', table, re.M))
named = set(re.findall(r'^[A-Z]+\("([a-z]+)",', table, re.M))
assert len(named) > 30, named
for file in ["launcher/keeper.c", "launcher/bwrap.c", "launcher/command.c"]:
    named |= set(re.findall(r'(?:step = |report_failed\()(?:l->bwrap \? )?"([a-z]+)"', (src / file).read_text()))
for file in ["darwin/main.c", "darwin/command.c"]:
    named |= set(re.findall(r'^    \{ "([a-z]+)", ', (src / file).read_text(), re.M))
for step in named | set(re.findall(r'^HINT\("([a-z]+)"', (src / "run/hints.def").read_text(), re.M)):
    assert step in words or step == "exec", step
END
}
