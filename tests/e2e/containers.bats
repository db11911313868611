#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# agentbox in containers, made here as an engine makes them (tests/lib/container.c), and in other odd
# places: a run that holds, or a refusal that names the step and what to do. Never less than its result
# says.
# The fixture reads what a test sets.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034
bats_require_minimum_version 1.5.0
load ../lib/e2e

# What an engine gives by default, and the same with the two options that doctor names.
ENGINE=(caps filter masked sys=ro dev=engine)
UNCONFINED=(caps sys=ro dev=engine)

setup() {
    if [ "$WHO" = root ] && [ "$(id -u)" -ne 0 ]; then
        skip "root: not run as root"
    fi
    cp "$ABX_BUILD/tests/container" "$ABX_SOURCE/tests/lib/contained.sh" "$FIX/bin/"
    "$FIX/bin/container" -- true || skip "userns: no container can be made here"
    fixture "$FIX/t$BATS_TEST_NUMBER"
    BASE=("${AS[@]}")
    mkdir -p "$W/sub" "$W/.git/hooks" "$W/.git/objects" "$W/.git/refs"
    printf 'ref: refs/heads/main\n' >"$W/.git/HEAD"
    echo work >"$W/sub/file"
    own "$W"
    within
}

# within WORD…: where everything that follows is.
within() {
    PLACE=("$FIX/bin/container" "$@" -- "${BASE[@]}")
    echo "within: $*"
}

in_place() {
    timeout --foreground -k 5 60 "${PLACE[@]}" "$@" 3>&-
}

# contained OPTION…: the box there, with its attempts and its canaries.
contained() {
    rm -f "$X/result" "$X/log" "$X/ports"
    rm -rf "$S"
    mkdir "$S"
    echo work >"$W/sub/file"
    own "$S" "$W/sub/file"
    watch "$O" "$D" "$W/.git/hooks" "$W/.git/HEAD"
    run in_place env W="$W" D="$D" O="$O" S="$S" X="$X" P="$PAYLOAD" BOX="$BOX" ABSTRACT=abx-contained \
        sh "$FIX/bin/contained.sh" "$@"
    echo "$output"
}

# holds BACKEND [OPTION…]: a run, with all its canaries as they were; what it says of itself is true.
holds() {
    local backend=$1
    shift
    contained "$@"
    [[ $output == *inside-ran* && $output == *"--- status 0"* ]]
    canaries
    [[ $output == *$'\nwrote\n'* && $output == *"--- file work more"* ]]
    python3 - "$X/result" "$backend" <<'P'
import json, sys
r = json.load(open(sys.argv[1]))
layers = {"userns", "mounts", "pidns", "netns", "ipcns", "utsns", "cgroupns"}
assert r["backend"] == sys.argv[2], r
assert {"landlock", "seccomp"} <= set(r["enforced"]), r
if sys.argv[2] == "landlock":
    assert r["sandboxed"] is False and not layers & set(r["enforced"]), r
    assert {"processes", "names", "attributes"} <= set(r["gaps"]), r
else:
    assert r["sandboxed"] is True and layers <= set(r["enforced"]) and not r["gaps"], r
P
}

canaries() {
    [[ $output != *"$SECRET"* && $output != *$'\ndeep\n'* ]]
    # The server lives, was called by nobody inside, and would have heard it.
    [[ $output == *"--- server ok"* && $output == *"--- called stream "* ]]
    [[ $output != *"tcp ok"* && $output != *"unix ok"* && $output != *"abstract ok"* ]]
    untouched
}

# refuses TEXT [OPTION…]: nothing ran; the error has TEXT, and one hint.
refuses() {
    local text=$1
    shift
    contained "$@"
    [[ $output == *"--- status 125"* && $output != *inside-ran* ]]
    [[ $output == *"$text"* ]]
    [ "$(grep -c '^hint: .' <<<"$output")" -eq 1 ]
    canaries
    [[ $output == *"--- file work "* && $output != *"--- file work more"* ]]
    [ ! -s "$X/result" ] || not grep -q '"sandboxed":true' "$X/result"
}

WARN=(--set fallbackPolicy=warn)

@test "the container of the tests is one" {
    within "${ENGINE[@]}"
    run in_place cat /proc/self/status
    echo "$output"
    grep -qx 'Seccomp:.2' <<<"$output"
    grep -qx 'CapBnd:.00000000a80425fb' <<<"$output"
    [ "$(in_place "$PAYLOAD" sys unshare 0x10000000)" = EPERM ]
    [ "$(in_place "$PAYLOAD" clone 0x10000000)" = EPERM ]
    [ "$(in_place "$PAYLOAD" sys mount @none @/mnt @tmpfs 0 0)" = EPERM ]
    [ "$(in_place "$PAYLOAD" sys keyctl 0 -3 1)" = EPERM ]
    [ -z "$(in_place cat /proc/keys)" ]
    [ "$(in_place sh -c 'echo /proc/[0-9]*' | wc -w)" -lt 10 ]
    not in_place sh -c 'echo x >/proc/sys/kernel/core_pattern'
    not in_place mkdir /sys/x
}

@test "an engine's container: strict refuses, and says what Landlock alone would not keep" {
    within "${ENGINE[@]}"
    refuses "step 'namespaces'"
    [[ $output == *"fallbackPolicy=warn runs with Landlock alone, and then: "*"processes can be seen"* ]]
    refuses "step 'namespaces'" --backend native "${WARN[@]}"
    refuses bubblewrap --backend bwrap "${WARN[@]}"
}

@test "an engine's container: under warn Landlock holds alone" {
    within "${ENGINE[@]}"
    holds landlock "${WARN[@]}"
    [[ $output == *"the sandbox is incomplete: Landlock alone"* ]]
    within user "${ENGINE[@]}"
    holds landlock "${WARN[@]}"
}

@test "an engine's container: with the options that doctor names a run is whole" {
    within "${UNCONFINED[@]}"
    holds native
    within user "${UNCONFINED[@]}"
    holds native
}

@test "user namespaces, but a masked /proc: refused with the reason, under warn Landlock" {
    local words
    for words in "masked" "user masked" "caps masked sys=ro dev=engine"; do
        # shellcheck disable=SC2086 # words
        within $words
        refuses "'/proc'"
        [[ $output == *masked* ]]
        holds landlock "${WARN[@]}"
    done
}

@test "in a chroot: refused, under warn Landlock" {
    within chroot
    refuses "step 'namespaces'"
    [[ $output == *chroot* ]]
    holds landlock "${WARN[@]}"
    within chroot caps filter
    holds landlock "${WARN[@]}"
}

# two_boxes OPTION…: of the outer one; the inner one hides more.
two_boxes() {
    watch "$O" "$D"
    run in_place "$BOX" run -q -C "$W" --approve yes "${ROOM[@]}" --exclude "$D" "$@" -- sh -c "echo outer-ran
        $BOX run -q --approve yes ${ROOM[*]} --set fallbackPolicy=warn --exclude '$W/sub' --result .git/../inner -- sh -c '
        echo inner-ran; cat \"$D/s\" sub/file; echo x >\"$O/f\"'"
    echo "$output"
    [[ $output == *outer-ran*inner-ran* && $output != *"$SECRET"* && $output != *work* ]]
    untouched
}

@test "a run inside a run, in a container" {
    : >"$W/inner"
    own "$W/inner"
    within "${ENGINE[@]}"
    two_boxes "${WARN[@]}"
    grep -q '"sandboxed":false' "$W/inner"
    within "${UNCONFINED[@]}"
    two_boxes
    grep -q '"backend":"landlock"' "$W/inner"
}

@test "a workspace on a tmpfs or an overlay" {
    within "overlay=$W"
    holds native
    [ "$(cat "$W/sub/file")" = work ] # the upper part went with the container
    within caps filter "overlay=$W"
    holds landlock "${WARN[@]}"
    within "tmpfs=$W/sub"
    PLACE+=(sh -c "echo work >'$W/sub/file' && exec \"\$@\"" -)
    holds native
}

@test "a workspace whose mount has flags that nobody may take off" {
    within "flags=$W:nosuid,nodev,noexec"
    holds native
    cp "$PAYLOAD" "$W/sub/program"
    run in_place "$BOX" run -q -C "$W" -- sub/program state
    [ "$status" -eq 126 ]
    within caps filter "flags=$W:nosuid,nodev,noexec"
    holds landlock "${WARN[@]}"
    within "flags=$W:ro,nosuid,nodev,noexec"
    contained
    [[ $output == *inside-ran* && $output == *"--- status 0"* && $output != *$'\nwrote\n'* ]]
    canaries
    grep -q '"sandboxed":true' "$X/result"
}

# As on a server that squashes root: no power over files of others.
@test "a workspace that root has no power over" {
    [ "$WHO" = root ] || skip "root: this is about it"
    chown -R 1001:1001 "$W"
    chmod -R a+rwX "$W"
    chmod a+rwX "$T"
    within user ids=1000
    holds native
    chmod -R go-w "$W"
    contained
    [[ $output == *inside-ran* && $output != *$'\nwrote\n'* ]]
    canaries
    chmod 700 "$W"
    run in_place "$BOX" run -q -C "$W" -- true
    echo "$output"
    [ "$status" -eq 125 ]
    [ "$(grep -c '^hint: .' <<<"$output")" -eq 1 ]
}

@test "a read-only root: the state has to lie somewhere, and the hint says where" {
    within root=ro "rw=$W" "rw=$X" "rw=$S"
    refuses "registry of placeholders"
    [[ $output == *XDG_STATE_HOME* ]]
    PLACE+=(XDG_STATE_HOME="$X/state")
    holds native
    within caps filter root=ro "rw=$W" "rw=$X" "rw=$S"
    holds landlock "${WARN[@]}"
    # A state directory that was made before, and cannot be written now: the next one is taken.
    mkdir -p "$H/.local/state/agentbox/held"
    chmod -R go-rwx "$H/.local"
    own "$H"
    within root=ro "rw=$W" "rw=$X" "rw=$S"
    refuses "registry of placeholders"
    PLACE+=(XDG_RUNTIME_DIR="$X")
    holds native
}

@test "/proc that hides processes, or shows nothing else" {
    local options
    for options in hidepid=1 hidepid=2 hidepid=4 subset=pid; do
        within "proc=$options"
        holds native
        within caps filter "proc=$options"
        holds landlock "${WARN[@]}"
    done
}

@test "without /proc nothing runs, and the hint says so" {
    local words
    [ -z "${ABX_SANITIZED:-}" ] || skip "sanitizer: it needs /proc itself"
    for words in proc=none "proc=none caps filter"; do
        # shellcheck disable=SC2086 # words
        within $words
        refuses /proc
        [[ $output == *"mount -t proc"* ]]
        refuses /proc "${WARN[@]}"
        run in_place "$BOX" doctor
        echo "$output"
        [ "$status" -eq 125 ]
        [[ $output == *"hint: "*"mount -t proc"* ]]
    done
}

@test "without /sys, terminals or shared memory, with little of it, without a home" {
    local words
    for words in sys=none dev=bare shm=4k "sys=none dev=bare"; do
        # shellcheck disable=SC2086 # words
        within $words
        holds native
        # shellcheck disable=SC2086 # words
        within $words caps filter
        holds landlock "${WARN[@]}"
    done
    within
    PLACE+=(HOME="$T/nowhere")
    holds native
    within "${ENGINE[@]}"
    PLACE+=(HOME="$T/nowhere")
    holds landlock "${WARN[@]}"
    within "${ENGINE[@]}"
    PLACE+=(env -u HOME)
    holds landlock "${WARN[@]}"
    [ ! -e "$T/nowhere" ]
}

# Words of the container | layer that is missing | what that costs | what to do | back end
@test "doctor says in each place what is missing, what that costs, and one thing to do" {
    local words layer cost todo backend
    while IFS='|' read -r words layer cost todo backend; do
        # shellcheck disable=SC2086 # words
        within $words
        run in_place "$BOX" doctor
        output=$(doctor_rows <<<"$output")
        echo "$output"
        grep -q "^Back end: $backend" <<<"$output"
        if [ -z "$layer" ]; then
            [ "$status" -eq 0 ]
            not grep -q '^  missing' <<<"$output"
            continue
        fi
        [ "$status" -eq 1 ]
        grep -qE "^  missing +$layer .*: $cost" <<<"$output"
        # Under that layer's row, and under no other that is missing.
        [ "$(grep -A1 -E '^  missing' <<<"$output" | grep -c 'hint: ')" -eq 1 ]
        grep -A1 -E "^  missing +$layer" <<<"$output" | grep -q "hint: .*$todo"
        [[ $output == *"refuses to start here"*"fallbackPolicy=warn"* ]]
        in_place "$BOX" doctor --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
row = next(l for l in r["layers"] if l["name"] == sys.argv[1])
assert r["backend"] == sys.argv[2] and row["status"] == "missing" and row["hint"], r' "$layer" "$backend"
    done <<'TABLE'
caps filter masked sys=ro dev=engine|userns|none of the other namespaces|--security-opt seccomp=unconfined --security-opt systempaths=unconfined|landlock
user caps filter masked|userns|none of the other namespaces|--security-opt seccomp=unconfined|landlock
caps masked sys=ro dev=engine|mounts|Landlock stands alone|--security-opt systempaths=unconfined|landlock
user masked|mounts|Landlock stands alone|unmask=ALL|landlock
chroot|userns|none of the other namespaces|in place of chroot|landlock
caps sys=ro dev=engine||||native
user caps sys=ro dev=engine||||native
root=ro||||native
proc=hidepid=2||||native
sys=none dev=bare||||native
TABLE
}
