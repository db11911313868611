#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Older kernels and engines' filters, rung by rung: a run is whole, or is refused with a hint; doctor
# works everywhere. Never is there a run with less than its result says.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets, bats sets stderr.
# shellcheck disable=SC2016,SC2034,SC2154
bats_require_minimum_version 1.5.0
load ../lib/e2e

# rung NAME=VALUE…: everything that follows is on it.
rung() {
    cp "$ABX_BUILD/tests/ladder" "$FIX/bin/ladder"
    AS=("${BASE[@]}" "$FIX/bin/ladder" "$@" --)
    echo "rung: $*"
}

setup() {
    need_who
    fixture "$FIX/t$BATS_TEST_NUMBER"
    BASE=("${AS[@]}")
}

# The box, whole: grants and refusals, by what is left on the host.
whole() {
    rm -f "$W/ran"
    watch "$O" "$D"
    run box --result "$X/result" --env D="$D" --env O="$O" -c 'echo ran >ran; cat "$D/s"; echo x >"$O/f"; echo x >"$O/new"; true'
    echo "$status $output"
    [ "$status" -eq 0 ]
    [ "$(cat "$W/ran")" = ran ]
    [[ $output != *"$SECRET"* ]]
    untouched
    grep -q '"sandboxed":true' "$X/result"
}

# Refused before anything ran, with the step and a hint.
clear_refusal() {
    rm -f "$W/ran"
    run box -c 'echo ran >ran'
    echo "$status $output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
    [ "$(grep -c '^hint: .' <<<"$output")" -eq 1 ]
}

# … or the system's bubblewrap can what we cannot: then the run is whole. Not for root, for whom it
# lacks something.
refusal_or_bwrap() {
    if [ "$WHO" = user ] && command -v bwrap >/dev/null; then
        whole
        grep -q '"backend":"bwrap"' "$X/result"
    else
        clear_refusal
    fi
}

@test "without clone3, notifications or keyrings a run is whole" {
    for name in clone3=ENOSYS notify=EINVAL notify=EPERM keyctl=ENOSYS; do
        rung "$name"
        whole
    done
}

@test "without notifications the result says that nobody watched" {
    rung notify=EINVAL
    whole
    grep -q '"monitor":"none"' "$X/result"
}

@test "with each Landlock of the past a run is whole" {
    for abi in 1 2 3 4 5 6; do
        rung "landlock=$abi"
        whole
        grep -q '"landlock"' "$X/result"
    done
}

@test "without Landlock a run is refused; under warn the mounts hold, and it is said" {
    for name in landlock=0 landlock_create_ruleset=ENOSYS; do
        rung "$name"
        clear_refusal
        watch "$O" "$D"
        run box --set fallbackPolicy=warn --result "$X/result" --env D="$D" --env O="$O" -c \
            'cat "$D/s"; echo x >"$O/f"; true'
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output != *"$SECRET"* ]]
        untouched
        grep -q '"sandboxed":false' "$X/result"
        not grep -q '"enforced":.*"landlock"' "$X/result"
    done
}

@test "without the calls that make the view bubblewrap makes it, or a run is refused; under warn Landlock holds alone" {
    local name
    for name in mount_setattr=ENOSYS open_tree=ENOSYS open_tree=EPERM move_mount=ENOSYS fsopen=EPERM; do
        rung "$name"
        refusal_or_bwrap
        watch "$O" "$D"
        run box --set fallbackPolicy=warn --result "$X/result" --env D="$D" --env O="$O" -c \
            'cat "$D/s"; echo x >"$O/f"; echo x >"$O/new"; true'
        echo "$output"
        [ "$status" -eq 0 ]
        [[ $output != *"$SECRET"* ]]
        untouched
        grep -qE '"backend":"(landlock|bwrap)"' "$X/result"
        # Whoever has a gap does not call itself sandboxed.
        grep -q '"gaps":\[\]' "$X/result" || grep -q '"sandboxed":false' "$X/result"
    done
}

@test "without close_range, pidfd_open or seccomp a run is refused, and ends" {
    local name
    for name in close_range=ENOSYS close_range=EPERM pidfd_open=ENOSYS seccomp=ENOSYS; do
        rung "$name"
        clear_refusal
    done
}

@test "without setns or openat2 bubblewrap builds the sandbox, or a run is refused" {
    local name
    for name in setns=EPERM openat2=ENOSYS; do
        rung "$name"
        refusal_or_bwrap
    done
}

@test "without a network namespace a run is refused; under warn there is no network instead" {
    rung netns=EPERM
    clear_refusal
    [[ $output == *"fallbackPolicy=warn runs without: netns" ]]
    serve
    run box --set fallbackPolicy=warn --network blocked --result "$X/result" -- python3 -c "
import socket
for kind, port in ((socket.SOCK_STREAM, $TCP), (socket.SOCK_DGRAM, $UDP)):
    try:
        s = socket.socket(socket.AF_INET, kind); s.connect(('127.0.0.1', port)); s.send(b'x'); print('CALLED')
    except OSError as e:
        print('refused', e)"
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c refused <<<"$output")" -eq 2 ]
    grep -q '"sandboxed":false' "$X/result"
    nobody_called
}

# systemd's SocketBindDeny=any.
@test "where no port can be bound a blocked network works, and a filtered one is refused" {
    rung bind=EPERM
    clear_refusal
    OPTIONS+=(--network blocked)
    whole
}

@test "with neither a view nor Landlock nothing runs, whatever the policy" {
    rung userns=EPERM landlock=0
    run box --set fallbackPolicy=warn -c 'echo ran >ran'
    echo "$output"
    [ "$status" -eq 125 ]
    [ ! -e "$W/ran" ]
}

# Under "warn", too; its exit status is that of the run under "strict", and both name the same gaps.
@test "the back end and the monitor that doctor names are those of a run" {
    local rungs backend monitor
    for rungs in clone3=ENOSYS notify=EINVAL setns=EPERM mount_setattr=ENOSYS userns=EPERM landlock=0; do
        rung "$rungs"
        run -0 box --set fallbackPolicy=warn --result "$X/result" -- true
        read -r backend monitor < <(python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(r["backend"], r["monitor"])' "$X/result")
        [ "$rungs" != landlock=0 ] || backend=none # the native one is not whole, and nothing stands in for it
        run as_who "$BOX" doctor --json
        echo "$output"
        [[ $output == *"\"backend\":\"$backend\""*"\"monitor\":\"$monitor\""* ]]
        run as_who "$BOX" doctor
        echo "$output"
        [[ $output == *"Back end: $backend"*"Monitor: $monitor:"* ]]
        [[ $backend != none || $output != *"gives no notifications"* ]]
        [[ $backend != bwrap || $output != *"also those to read"* ]]
        [ "$status" -eq 0 ] || {
            clear_refusal
            [[ $backend != bwrap || $output == *"fallbackPolicy=warn runs with bubblewrap, and then: root's"* ]]
            continue
        }
        whole
    done
}

# Under "strict", where a run is refused, plan says so; under "warn" layers go, and plan names those that stay.
@test "the back end and the layers that plan names are those of a run" {
    local rungs policy backend ran
    for rungs in clone3=ENOSYS mount_setattr=ENOSYS userns=EPERM netns=EPERM landlock=0 pidfd_open=ENOSYS; do
        for policy in strict warn; do
            for backend in auto native bwrap; do
                rung "$rungs"
                rm -f "$X/result"
                run box --backend "$backend" --set fallbackPolicy="$policy" --result "$X/result" -- true
                echo "$policy $backend: $output"
                ran=$status
                run --separate-stderr as_who "$BOX" plan --format json --backend "$backend" \
                    --set fallbackPolicy="$policy" -- true
                echo "$stderr"
                # A back end that was asked for and cannot promise everything is refused by both.
                [ "$status" -eq 0 ] || { [ "$status" -eq "$ran" ] && continue; }
                run -0 python3 -c 'import json, os, sys
plan, (path, ran) = json.loads(sys.argv[1]), sys.argv[2:]
assert plan["refused"] == (ran != "0"), (ran, plan["refused"], plan["backend"])
if ran == "0":
    result = json.load(open(path))
    assert plan["backend"] == result["backend"], (plan["backend"], result["backend"])
    assert sorted(plan["layers"]) == sorted(result["enforced"]), (plan["layers"], result["enforced"])' \
                    "$output" "$X/result" "$ran"
            done
        done
    done
    run -0 as_who "$BOX" plan -- true
    [[ $output == *"back end: native, which this host refuses: "*doctor* ]]
}

@test "a plan that bubblewrap cannot take is Landlock's under warn, in a plan and in a run" {
    rung mount_setattr=ENOSYS
    # A path that is too long for it.
    python3 - "$W" "$SECRET" <<'END'
import os, sys
os.chdir(sys.argv[1])
for _ in range(21):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
open("hidden", "w").write(sys.argv[2])
END
    own "$W"
    OPTIONS=(--exclude "**/hidden" --set fallbackPolicy=warn)
    run box --result "$X/result" -c 'echo ran >file; find . -name hidden -execdir cat {} +'
    [ "$(cat "$W/file")" = ran ]
    [[ $output != *"$SECRET"* ]]
    grep -q '"backend":"landlock"' "$X/result"
    cd "$W"
    run -0 as_who "$BOX" plan "${OPTIONS[@]}" -- true
    [[ $output == *"back end: landlock"* ]]
}

# Rungs | layer that is missing or limited | what that costs | what to do | back end, or any
@test "doctor says on every rung what is missing, what that costs, and one thing to do" {
    local rungs layer cost todo backend
    while IFS='|' read -r rungs layer cost todo backend; do
        # shellcheck disable=SC2086 # words
        rung $rungs
        run as_who "$BOX" doctor
        output=$(doctor_rows <<<"$output")
        echo "$output"
        [ "$status" -le 1 ]
        grep -qE "^Back end: (${backend//,/|})" <<<"$output"
        case $layer in
        "") not grep -q '^  missing' <<<"$output" ;;
        Monitor) grep -q "^Monitor: none: $cost.*: $todo" <<<"$output" ;;
        *)
            grep -qE "^  (missing|limited) +$layer .*: (${cost//,/|})" <<<"$output"
            grep -A1 -E "^  (missing|limited) +$layer" <<<"$output" | grep -q "hint: .*$todo"
            # One hint a cause.
            [ "$(grep -A1 -E '^  missing' <<<"$output" | grep -c 'hint: ')" -le 1 ]
            ;;
        esac
        if [[ $output == *"Back end: native"* ]]; then
            [ "$status" -eq 0 ]
        elif [[ $output != *"Back end: bwrap, all layers"* ]]; then
            [ "$status" -eq 1 ]
            [[ $output == *"refuses to start here"* ]]
        fi
    done <<'TABLE'
userns=EPERM|userns|none of the other namespaces|seccomp=unconfined|landlock
userns=ENOSPC|userns|none of the other namespaces|user.max_user_namespaces=15000|landlock
mount_setattr=ENOSYS|mounts|Landlock stands alone,bubblewrap can|update it|landlock,bwrap
move_mount=ENOSYS|mounts|Landlock stands alone,bubblewrap can|update it|landlock,bwrap
openat2=ENOSYS|mounts|Landlock stands alone,bubblewrap can|update it|landlock,bwrap
open_tree=EPERM|mounts|Landlock stands alone,bubblewrap can|seccomp=unconfined|landlock,bwrap
fsopen=EPERM|mounts|Landlock stands alone,bubblewrap can|seccomp=unconfined|landlock,bwrap
netns=EPERM|netns|there is no network at all|seccomp=unconfined|none
setns=EPERM|netns|there is no network at all,bubblewrap can|seccomp=unconfined|none,bwrap
close_range=ENOSYS|close_range|nothing can run|update it|none
pidfd_open=EPERM|pidfd_open|nothing can run|update it|none
seccomp=ENOSYS|seccomp|every system call|CONFIG_SECCOMP_FILTER|none
landlock=0|landlock|the mounts stand alone|lsm=landlock|none
landlock=1|landlock|no control of truncation|newer kernel|native
landlock=4|landlock|no control of device ioctls|newer kernel|native
landlock=5|landlock|no scopes|newer kernel|native
userns=EPERM landlock=2|landlock|no control of truncation|newer kernel|landlock
notify=EINVAL|Monitor|no refusal is explained|use kernel 5.14|native
clone3=ENOSYS||||native
keyctl=ENOSYS||||native
TABLE
    rung userns=EPERM landlock=0
    run as_who "$BOX" doctor
    output=$(doctor_rows <<<"$output")
    echo "$output"
    [[ $output == *"nothing is left that could stand around the files"*"under every policy"* ]]
}
