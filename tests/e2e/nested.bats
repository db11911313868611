#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# A run inside a run only narrows: with Landlock and seccomp where no namespace can be made, and
# natively where the outer one allows them.
# shellcheck disable=SC2016,SC2154
bats_require_minimum_version 1.5.0
load ../lib/e2e

NATIVE="--set allowNestedNamespaces=true"

# levels TEXT OPTIONS…: shell text in as many boxes as there are words of options, the first outermost.
levels() {
    local text=$1 words=() option
    shift
    for option in "${@:2}"; do
        # shellcheck disable=SC2206
        words+=("$BOX" run -q --approve yes "${ROOM[@]}" $option --)
    done
    # shellcheck disable=SC2086
    box "${ROOM[@]}" --env W="$W" --env D="$D" --env O="$O" --env P="$PAYLOAD" $1 -- "${words[@]}" sh -c "$text"
}

@test "a run inside a run works, and says what it is" {
    levels 'echo "ran in $PWD"; echo x >new' '' '--result result.json' >"$X/out"
    [ "$(cat "$X/out")" = "ran in $W" ]
    [ "$(cat "$W/new")" = x ]
    grep -q '"backend":"landlock"' "$W/result.json"
    grep -q '"enforced":\["landlock","seccomp","limits"\]' "$W/result.json"
    [ "$(levels "$BOX inside" '' '')" = "inside sandbox" ]
}

@test "it says once what is the outer sandbox's" {
    run --separate-stderr box "${ROOM[@]}" -- "$BOX" run "${ROOM[@]}" -- true
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"inside another sandbox: /tmp, processes"* ]]
}

@test "exit codes and signals pass through both" {
    run levels 'exit 42' '' ''
    [ "$status" -eq 42 ]
    run levels 'kill -TERM $$' '' ''
    [ "$status" -eq 143 ]
    run levels 'sleep 60' '' '--timeout 1s'
    [ "$status" -eq 124 ]
}

@test "three levels: files are narrowed by each, seen from the innermost" {
    mkdir "$W/a" "$W/b" "$W/c" "$W/d"
    for name in a b c d; do echo "$name" >"$W/$name/f"; done
    own "$W"
    levels '
        for name in a b c; do ! (echo no >$name/f) && ! mv $name gone && ! rm -f $name/f || exit 3; done &&
        ! touch a/new && ! touch c/new &&
        cat a/f c/f && ! cat b/f && echo more >>d/f && touch d/new && ! cat "$D/s" && ! touch "$O/x"' \
        '--ro a' '--exclude b/f' '--ro c' 2>/dev/null >"$X/out"
    [ "$(cat "$X/out")" = $'a\nc' ]
    for name in a b c; do [ "$(cat "$W/$name/f")" = "$name" ]; done
    [ "$(cat "$W/d/f")" = $'d\nmore' ]
    [ -e "$W/d/new" ]
}

@test "a directory that an inner run hides shows neither contents nor names" {
    mkdir "$W/b" "$W/c"
    echo secret-of-b >"$W/b/name-in-b"
    echo c >"$W/c/f"
    own "$W"
    run levels 'cat b/name-in-b; ls b; cat c/f; echo more >>c/f' '' '--exclude b'
    [[ "$output" != *secret-of-b* ]]
    [[ "$(levels 'ls b; find b' '' '--exclude b' 2>/dev/null)" != *name-in-b* ]]
    [ "$(cat "$W/c/f")" = $'c\nmore' ]
}

@test "three levels: commands are narrowed by each" {
    run levels 'ls; echo $?; basename x; echo $?; dirname x; echo $?; cat file' \
        '--cmd ls=false' '--cmd basename=false' '--cmd dirname=false'
    [ "$status" -eq 0 ]
    [ "$(grep -c '^126$' <<<"$output")" -eq 3 ]
    [ "${lines[-1]}" = work ]
}

@test "three levels: the network is narrowed" {
    [ "$(levels 'python3 -c "import socket; socket.socket()" 2>/dev/null && echo open || echo closed' \
        '--network allowed' '--network allowed' '--network allowed')" = open ]
    [ "$(levels 'python3 -c "import socket; socket.socket()" 2>/dev/null && echo open || echo closed' \
        '--network allowed' '--network allowed' '--network blocked')" = closed ]
    [ "$(levels 'python3 -c "import socket; socket.socket()" 2>/dev/null && echo open || echo closed' \
        '--network allowed' '--network blocked' '--network allowed')" = closed ]
}

@test "an inner run cannot take back what an outer one said" {
    echo keep >"$W/k"
    own "$W"
    run levels 'echo no >k; cat "$D/s"; touch "$O/x"; rm -f k; git reset --hard' \
        "--ro k --cmd git=@git" "--rw k --rw / --ro $D --cmd git=true --network allowed"
    [ "$(cat "$W/k")" = keep ]
    [ ! -e "$O/x" ]
    echo "$output"
    [[ "$output" != *"$SECRET"* ]]
    [[ "$output" == *"agentbox: git reset --hard"* ]]
}

@test "an inner rule about what an outer one hides or protects stops nothing and opens nothing" {
    mkdir "$W/b"
    echo secret-of-b | tee "$W/b/f" >"$W/b/g"
    own "$W"
    for outer in '' "$NATIVE"; do
        for inner in --ro --rw --exclude; do
            run levels 'cat b/f; echo no >b/f; echo no >b/g; echo ran' "$outer --exclude b/f --ro b/g" "$inner b/f $inner b/g"
            echo "$outer $inner: $output"
            [ "${lines[-1]}" = ran ]
            [[ "$output" != *secret-of-b* ]]
        done
    done
    [ "$(cat "$W/b/f" "$W/b/g")" = $'secret-of-b\nsecret-of-b' ]
}

@test "limits are only lowered" {
    [ "$(levels 'ulimit -n' '--fds 64' '')" = 64 ]
    [ "$(levels 'ulimit -n' '--fds 64' '--fds 32')" = 32 ]
    [ "$(levels 'ulimit -Hn' '--fds 64' '--fds 128')" = 64 ]
}

@test "a name that an inner run protects cannot be made, and what is beside it can be changed" {
    run levels 'touch absent/x; mkdir absent; echo more >>file' '' '--ro absent'
    [ ! -e "$W/absent" ]
    [ "$(cat "$W/file")" = $'work\nmore' ]
}

@test "an inner command can neither signal nor trace the processes of the outer one" {
    run box "${ROOM[@]}" -c "sleep 60 & victim=\$!; $BOX run -q ${ROOM[*]} -- sh -c \"kill -9 \$victim; $PAYLOAD ptrace \$victim\"
        kill -0 \$victim && echo lives; kill \$victim"
    echo "$output"
    [[ "$output" == *lives* ]]
    [[ "$output" != *"OK"* ]]
}

@test "descriptors, links, /proc and other processes do not lead around an inner rule" {
    mkdir "$W/r" "$W/x"
    echo kept >"$W/r/f"
    echo secret-of-x >"$W/x/f"
    own "$W"
    # shellcheck disable=SC2016
    run box "${ROOM[@]}" --env BOX="$BOX" --env ROOM="${ROOM[*]}" -- bash -c '
        exec 5<>r/f 6<x/f; sleep 60 <x/f & p=$!
        $BOX run -q --approve yes $ROOM --ro r --exclude x/f -- bash -c "
            echo no >&5; cat <&6; echo no >/proc/self/fd/0; ln r/f l; echo no >l; mv r q; ln -s r/f s; echo no >s
            cat x/f /proc/self/cwd/x/f /proc/1/root\$PWD/x/f /proc/$p/fd/0 /proc/$p/cwd/x/f /proc/\$PPID/fd/6" <r/f
        kill $p && echo ended'
    echo "$output"
    [ "${lines[-1]}" = ended ]
    [[ "$output" != *secret-of-x* ]]
    [ "$(cat "$W/r/f")" = kept ]
}

@test "what an inner run cannot do is refused, or named under warn" {
    for option in '--cmd git=@git' '--set network.mode=filtered --set network.allowedDomains=x.org' "-p $((20000 + RANDOM % 10000))"; do
        run levels 'touch ran' '' "$option"
        echo "$option: $output"
        [ "$status" -eq 125 ]
        [[ "$output" == *"run inside another sandbox: "* ]]
        [[ "$output" == *"allowNestedNamespaces=true"* ]]
        [ ! -e "$W/ran" ]
    done
    run box "${ROOM[@]}" -- "$BOX" run "${ROOM[@]}" --set fallbackPolicy=warn --cmd git=@git -- true
    [ "$status" -eq 0 ]
    [[ "$output" == *"'git' cannot be covered by '@git'"* ]]
    local gap
    for option in '--cmd git=@git commands' '--allow-domain x.org hosts' "-p $((20000 + RANDOM % 10000)) ports"; do
        gap=${option##* }
        run levels 'exit 7' '' "--set fallbackPolicy=warn --result result.json ${option% *}"
        echo "$option: $output"
        [ "$status" -eq 7 ]
        grep -q '"sandboxed":false.*"gaps":\["'"$gap"'"\]' "$W/result.json"
    done
}

@test "doctor, plan, why and inside answer for the place where they are asked" {
    mkdir "$W/a" "$W/b"
    echo a | tee "$W/a/f" >"$W/b/f"
    own "$W"
    run box "${ROOM[@]}" -- "$BOX" doctor --json
    [ "$status" -eq 0 ]
    [[ "$output" == '{"backend":"landlock",'*'"name":"mounts","status":"missing"'* ]]
    run box "${ROOM[@]}" -- "$BOX" doctor
    [[ "$output" == *"Back end: landlock: this is a sandbox already"*"no guards and wrappers"* ]]
    [[ "$output" != *"refuses to start"* ]]
    run box "${ROOM[@]}" -- "$BOX" plan --ro a -- true
    [[ "$output" == *"mounts: those of the sandbox around"* ]]
    [[ "$output" == *"  change    $W/b"* ]]
    [[ "$output" != *"  change    $W"$'\n'* ]]
    # Denied by the outermost, by the one between, by the innermost; and what is left.
    run levels "$BOX why --ro b write a/f; $BOX why --cmd ls=false exec ls; $BOX why net x.org
        $BOX why read \"\$D/s\"; $BOX why write \"\$O/f\"; $BOX why --ro b write b/f; $BOX why write b/f" '' '--ro a'
    echo "$output"
    [ "$(grep -c '^denied: ' <<<"$output")" -eq 6 ]
    [ "$(grep -c 'rule:   outer sandbox' <<<"$output")" -eq 4 ]
    [[ "$output" == *"denied: exec "*"rule:   commands ls=false"*"change: --cmd ls=true"* ]]
    [[ "$output" == *"allowed: write $W/b/f"* ]]
    [ "$(cat "$W/a/f" "$W/b/f")" = $'a\na' ]
}

@test "an inner run that is to be native is refused where it cannot be" {
    run box "${ROOM[@]}" -- "$BOX" run --backend native -- touch ran
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output == *"no namespace"*native*"hint: "* ]]
    run box "${ROOM[@]}" -- "$BOX" run --backend native --set fallbackPolicy=warn -- touch ran
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
}

@test "with allowNestedNamespaces an inner run is native again, three levels deep" {
    [ "$WHO" = user ] || skip "user: root's /proc is read-only: its inner runs have Landlock"
    mkdir "$W/a" "$W/b"
    echo a >"$W/a/f"
    own "$W"
    run levels "echo no >a/f; cat b/f; ls; basename x; dirname x; cat \"\$D/s\"; $BOX inside" \
        "$NATIVE --ro a --cmd ls=false" "$NATIVE --exclude b --cmd basename=false" \
        "--result result.json --cmd dirname=false"
    echo "$output"
    grep -q '"backend":"native"' "$W/result.json"
    [ "$(grep -c 'blocked in this sandbox' <<<"$output")" -eq 3 ]
    [[ "$output" == *"inside sandbox"* ]]
    [[ "$output" != *"$SECRET"* ]]
    [ "$(cat "$W/a/f")" = a ]
}

@test "with allowNestedNamespaces the outer masks stay locked" {
    [ "$WHO" = user ] || skip "user: root's /proc is read-only: no user namespace can be given its ids"
    mkdir "$W/a"
    echo a >"$W/a/f"
    own "$W"
    # shellcheck disable=SC2086
    run box $NATIVE --ro a --cmd rm=false --env D="$D" --env W="$W" -- unshare -Urm sh -c '
        id -u; umount "$D"; umount -l "$D"; umount "$W/a"; mount -o remount,rw,bind "$W/a"; umount /usr/bin/rm
        umount -l /run; mount --bind / /mnt; cat "/mnt$D/s" "$D/s"; echo no >a/f; echo no >"/mnt$W/a/f"; rm a/f'
    echo "$output"
    [ "${lines[0]}" = 0 ]
    [[ "$output" != *"$SECRET"* ]]
    [ "$(cat "$W/a/f")" = a ]
}

# Root that goes by another number, in a user namespace: `podman --uidmap`, `unshare --map-user`.
@test "with allowNestedNamespaces the host's root cannot write sysctls by its number, whatever that is called" {
    [ "$WHO" = root ] || skip "root: this is about it"
    AS=(unshare -U --map-user=1001 --map-group=1001 "${AS[@]}")
    printf 'id -u\nfor f in threads-max core_pattern; do (exec 3>>/proc/sys/kernel/$f) && echo "$f"; done\n' >"$W/try"
    run --separate-stderr box --set allowNestedNamespaces=true -- sh ./try
    echo "$output $stderr"
    [ "$output" = 1001 ]
    [[ $stderr == *"Read-only"* ]]
}
