#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1003,SC2016,SC2119
# Where and as whom a run is started: odd directories, homes, environments and identities.

bats_require_minimum_version 1.5.0

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
}

teardown() {
    chmod -R u+rwx "$BASE" 2>/dev/null || true
    life_teardown
}

# works_in DIR [ARGS…]: the directory is where the command is, and may be written; nothing stays but that.
works_in() {
    local dir=$1

    shift
    (cd "$dir" && box "$@" -- sh -c 'echo "$(pwd -P)" >made && cat made') >"$O/out" || return 1
    [ "$(cat "$O/out")" = "$(cd "$dir" && pwd -P)" ] || return 1
    [ -f "$dir/made" ] || return 1
    rm -f "$dir/made"
    [ -z "$(ls -A "$dir")" ]
}

@test "a plain directory, as user and as root" {
    for who in $(everybody); do
        life_as "$who"
        works_in "$W"
        box -- sh -c 'echo x >mine'
        [ "$(stat -c %u mine)" = "$([ "$who" = root ] && echo 0 || stat -c %u "$W")" ]
        rm mine
    done
}

@test "directories with odd names" {
    for name in $'new\nline' '*' '[a-z]?' ' ' 'a b' '-rf' "'" '"' '\' '$HOME' '{a,b}' '~' $'\xff\xfe' \
        $'\x01\x7f' 'ünï' '#' '%s%n' ':' '.hidden' '...'; do
        mkdir -- "$W/$name"
        life_as user
        works_in "$W/$name" || {
            printf 'does not work in %q\n' "$name"
            return 1
        }
        [ "$(cd /; box -C "$W/$name" -- sh -c 'pwd -P')" = "$W/$name" ]
        rmdir -- "$W/$name"
    done
}

@test "a directory as long as PATH_MAX allows, and one that is longer" {
    part=$(printf 'd%.0s' $(seq 200))
    cd "$W"
    for n in $(seq 30); do
        "${AS[@]}" mkdir "$part" && cd "$part"
        case $n in
        18 | 19 | 20 | 21 | 30)
            echo "depth $n"
            box -- sh -c 'echo ran >made; ls'
            [ "$(cat made)" = ran ]
            rm made
            [ -z "$(ls -A)" ]
            run box -- sh -c 'echo x >../outside-of-here'
            [ "$status" -ne 0 ]
            [ ! -e ../outside-of-here ]
            ;;
        esac
    done
}

@test "a directory that was removed gives a clear error" {
    "${AS[@]}" mkdir "$W/gone"
    cd "$W/gone"
    rmdir "$W/gone"
    run box -- sh -c 'echo ran'
    echo "$output"
    [ "$status" -eq 125 ]
    [[ $output != *ran* ]]
    [[ ${lines[0]} == agentbox:*director* ]]
}

@test "a directory that cannot be read, only entered, is refused unless it is granted for reading only" {
    mkdir "$W/blind" && chmod 311 "$W/blind"
    life_as user
    cd "$W/blind"
    run box -- sh -c 'echo ran >made'
    echo "$status: $output"
    [ "$status" -eq 125 ]
    [[ ${lines[0]} == "agentbox: look for protected names: list '$W/blind'"* ]]
    [[ ${lines[1]} == "hint: chmod u+rx it"* ]]
    [ ! -e made ]
    box --ro . -- sh -c 'echo ran' >"$O/out"
    [ "$(cat "$O/out")" = ran ]
    chmod 755 "$W/blind"
    [ -z "$(ls -A "$W/blind")" ]
}

@test "a directory below one that may not be searched" {
    mkdir -p "$W/shut/in"
    life_as user
    cd "$W/shut/in"
    chmod 000 "$W/shut"
    run box -- sh -c 'echo ran >made && cat made'
    echo "$status: $output"
    chmod 755 "$W/shut"
    # It works, or it is refused with a reason; a run elsewhere or without its protection is neither.
    if [ "$status" -eq 0 ]; then
        [ "$output" = ran ] && [ -f "$W/shut/in/made" ]
    else
        [ "$status" -eq 125 ]
        [[ ${lines[0]} == agentbox:* ]]
        [ ! -e "$W/shut/in/made" ]
    fi
    rm -f "$W/shut/in/made"
    [ -z "$(ls -A "$W/shut/in")" ]
}

@test "a directory that may not be written stays so" {
    chmod 555 "$W"
    run box -- sh -c 'echo x >made'
    [ "$status" -ne 0 ]
    [ -z "$(ls -A "$W")" ]
    chmod 755 "$W"
}

@test "the root directory: nothing may be written, and the run works" {
    for who in $(everybody); do
        life_as "$who"
        cd /
        run box -- sh -c 'pwd; touch /abx-made /etc/abx-made /var/tmp/abx-made; true'
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output == *$'\n/\n'* || ${lines[0]} == / || $output == *$'\n/' ]]
        for f in /abx-made /etc/abx-made /var/tmp/abx-made; do
            [ ! -e "$f" ]
        done
    done
}

@test "the home directory is not made writable, nor one above it" {
    for who in $(everybody); do
        life_as "$who"
        for dir in "$HOME" "$BASE"; do
            cd "$dir"
            run box -- sh -c 'touch abx-made .bashrc; pwd'
            echo "$output"
            grep -qxF "$dir" <<<"$output"
            [ ! -e abx-made ] && [ ! -e .bashrc ]
        done
        cd "$HOME"
        run box --rw . -- sh -c 'touch abx-made; pwd'
        [ "$status" -eq 0 ]
        rm abx-made
    done
}

@test "below /tmp: the directory is there, the rest of /tmp is not" {
    dir=$(mktemp -d /tmp/abx-test-XXXXXX)
    [ "$(id -u)" -ne 0 ] || chown 1001 "$dir"
    run works_in "$dir"
    other=$(mktemp /tmp/abx-test-XXXXXX)
    chmod 644 "$other"
    run2=$(cd "$dir" && box -- sh -c "[ ! -e '$other' ] && echo hidden")
    rm -rf "$dir" "$other"
    echo "$status $output / $run2"
    [ "$status" -eq 0 ]
    [ "$run2" = hidden ]
}

@test "a symlink to a directory leads to the directory" {
    mkdir "$W/real"
    life_as user
    ln -s real "$W/link"
    [ "$(box -C "$W/link" -- sh -c 'touch made; pwd -P')" = "$W/real" ]
    [ -e "$W/real/made" ]
    (cd "$W/link" && box -- sh -c 'touch made2')
    [ -e "$W/real/made2" ]
}

@test "on another file system" {
    need_root "needs root"
    unshare -m --propagation private bash -c '
        set -e
        mount -t tmpfs -o mode=777 tmpfs "$1"
        cd "$1"
        shift
        "$@" run --approve yes -- sh -c "echo ran >made; cat made; ! touch /etc/abx-made"
        [ "$(cat made)" = ran ]
        rm made
        [ -z "$(ls -A .)" ]' - "$W" "${AS[@]}" "$AGENTBOX"
}

@test "a read-only file system" {
    need_root "needs root"
    unshare -m --propagation private bash -c '
        mount -t tmpfs tmpfs "$1" && mkdir "$1/d" && mount -o remount,ro "$1" && cd "$1/d" || exit 99
        shift
        "$@" run -- sh -c "! touch made 2>/dev/null; exit 5"' - "$W" "${AS[@]}" "$AGENTBOX" || status=$?
    [ "$status" -eq 5 ]
}

@test "HOME unset, empty, relative, absent or not a directory" {
    for home in unset '' relative /no/such/home /etc/passwd /; do
        words=(env "HOME=$home")
        [ "$home" != unset ] || words=(env -u HOME)
        run "${AS[@]}" "${words[@]}" "$AGENTBOX" run --approve yes -- sh -c 'echo ran >made; cat made; touch /etc/abx-made'
        echo "[$home] $status: $output"
        [ "$(cat made)" = ran ]
        rm made
        nothing_left
    done
}

@test "a home of its own that cannot be written" {
    chmod 555 "$HOME"
    box -- sh -c 'echo ran >made'
    chmod 755 "$HOME"
    rm made
    nothing_left
}

@test "an empty environment" {
    run "${AS[@]}" env -i "$AGENTBOX" run -- /bin/sh -c 'echo ran'
    echo "$output"
    [ "$status" -eq 0 ]
    [[ $output == *ran ]]
    run "${AS[@]}" env -i "$AGENTBOX" run -- sh -c 'echo found' # PATH unset: the usual places, or 127
    echo "$status $output"
    [ "$status" -eq 0 ] || [ "$status" -eq 127 ]
    nothing_left
}

@test "an odd PATH" {
    printf '#!/bin/sh\necho mine\n' >"$W/tool" && chmod 755 "$W/tool"
    [ "$(PATH="/nothing:$W:$PATH" box -- tool)" = mine ]
    [ "$(PATH=":::$W::/usr/bin:/bin" "${AS[@]:0}" "$AGENTBOX" run -- tool)" = mine ]
    run -127 "${AS[@]}" env PATH= "$AGENTBOX" run -- tool
    run "${AS[@]}" env "PATH=$(printf '/d%.0s' $(seq 5000)):/usr/bin:/bin" "$AGENTBOX" run -- sh -c 'exit 4'
    [ "$status" -eq 4 ]
    # The caller's PATH is not believed for a name with a slash, nor is the current directory added.
    run -127 "${AS[@]}" env PATH=/usr/bin:/bin "$AGENTBOX" run -- tool
}

@test "under sudo" {
    need sudo
    sudo -n true 2>/dev/null || skip "sudo: needs a password"
    life_as root
    sudo -n "$AGENTBOX" run --approve yes -- sh -c 'id -u >made; ! touch /etc/abx-made 2>/dev/null'
    [ "$(cat made)" = 0 ]
    [ ! -e /etc/abx-made ]
    rm made
    nothing_left
}

@test "with no passwd entry, many groups, another umask" {
    need_root "needs root"
    chown 54321:54322 "$W" "$HOME"
    run bash -c 'umask 027; "$@"' - setpriv --reuid=54321 --regid=54322 --groups=1,2,3,4,5,54323 "$AGENTBOX" run -- \
        sh -c 'id -u; id -g; umask; touch made'
    echo "$output"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = 54321 ] && [ "${lines[1]}" = 54322 ] && [ "${lines[2]}" = 0027 ]
    [ "$(stat -c '%u %g %a' made)" = '54321 54322 640' ]
}

@test "a set-user-ID copy of agentbox gives nobody more than root has inside" {
    need_root "needs root"
    cp "$AGENTBOX" "$BASE/suid" && chmod 4755 "$BASE/suid"
    chown 1001 "$W"
    run setpriv --reuid=1001 --regid=1001 --clear-groups "$BASE/suid" run --approve yes -- sh -c 'touch /etc/abx-made /root/abx-made; true'
    [ ! -e /etc/abx-made ] && [ ! -e /root/abx-made ]
}

@test "few descriptors, and many open ones" {
    run bash -c 'ulimit -n 64; "$@"' - "${AS[@]}" "$AGENTBOX" run -- sh -c 'exit 3'
    echo "$output"
    [ "$status" -eq 3 ] || [ "$status" -eq 125 ]
    run bash -c 'for n in $(seq 10 200); do eval "exec $n</etc/passwd"; done; "$@"' - \
        "${AS[@]}" "$AGENTBOX" run -- sh -c 'ls /proc/self/fd | tr "\n" " "'
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "0 1 2 3 " ]
}
