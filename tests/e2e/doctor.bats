#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2119
# What doctor says about this host, and what a run does where a layer is missing.

setup() {
    # shellcheck source=tests/lib/life.bash
    . "$ABX_SOURCE/tests/lib/life.bash"
    life_setup
}

teardown() {
    life_teardown
}

doctor() {
    "${AS[@]}" "$AGENTBOX" doctor "$@"
}

@test "doctor names every layer and says that this host has them" {
    for who in $(everybody); do
        life_as "$who"
        run doctor
        echo "$who: $output"
        [ "$status" -eq 0 ] || skip "native: not every layer works on this host"
        for layer in userns mounts pidns netns ipcns utsns landlock seccomp; do
            grep -qE "^ +(ok|limited) +$layer" <<<"$output"
        done
    done
}

@test "doctor prints JSON, and leaves nothing" {
    doctor --json | python3 -c '
import json, sys
r = json.load(sys.stdin)
names = {l["name"] for l in r["layers"]}
assert {"userns", "mounts", "landlock", "seccomp"} <= names, names
assert r["backend"] in ("native", "landlock", "none")'
    nothing_left
    none_marked
}

@test "doctor works without a home, in a removed directory, with an empty environment" {
    "${AS[@]}" env -i "$AGENTBOX" doctor >/dev/null
    "${AS[@]}" mkdir "$W/gone" && cd "$W/gone" && rmdir "$W/gone"
    doctor >/dev/null
}

# without_userns ARGS…: on a host that lets nobody make user namespaces.
without_userns() {
    unshare -U --map-root-user bash -c '
        echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"' - "$@"
}

@test "without user namespaces: doctor says so with a hint, run refuses, warn runs and says so" {
    need_root "needs root"
    without_userns true || skip "userns: the limit cannot be set here"
    life_as root
    run without_userns "$AGENTBOX" doctor
    echo "$output"
    [ "$status" -eq 1 ]
    grep -qE '^ +missing +userns' <<<"$output"
    grep -q 'hint: ' <<<"$output"

    run without_userns "$AGENTBOX" run -- sh -c 'echo ran >canary'
    echo "$output"
    [ "$status" -eq 125 ]
    [ ! -e canary ]
    grep -q '^hint: ' <<<"$output"

    "$AGENTBOX" doctor >/dev/null # what is known from outside does not count in there
    mkdir below # at the top, where names are protected, none can be made
    run without_userns "$AGENTBOX" run --approve yes --set fallbackPolicy=warn --result "$O/r" -- \
        sh -c 'echo ran >below/canary; python3 -c "import socket; socket.socket(type=socket.SOCK_DGRAM)" && echo online >>below/canary; echo x >/var/tmp/abx-escaped'
    echo "$output"
    [ "$(cat below/canary)" = ran ]
    [ ! -e /var/tmp/abx-escaped ] # Landlock is there all the same
    [[ $output == *incomplete* && $output == *"without namespaces"* ]]
    python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["sandboxed"] is False, r
assert "mounts" not in r["enforced"] and "landlock" in r["enforced"], r' "$O/r"
}

@test "without user namespaces, warn: the tree is dead when run returns all the same" {
    need_root "needs root"
    without_userns true || skip "userns: the limit cannot be set here"
    life_as root
    run without_userns timeout 20 "$AGENTBOX" run -q --set fallbackPolicy=warn -- \
        sh -c "setsid sleep 5000.$MARK & (setsid sh -c 'setsid sleep 5000.$MARK &' &) ; sleep 0.2; exit 3"
    echo "$status $output"
    [ "$status" -eq 3 ]
    within 5 none_marked
}
