#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A07, A11, A152–A160: what a Mac would refuse. There is no Mac here: the program writes the profile
# for this very tree, and an evaluator of the profile language (tests/lib/sbpl.c) says what it
# means. docs/macos.md has the same list to be tried by hand on a real one.
# shellcheck disable=SC2034
load ../lib/e2e

# profile OPTION…: of a run in $W.
profile() {
    (cd "$W" && "${AS[@]}" "$BOX" plan --format seatbelt "${OPTIONS[@]}" "$@" 3>&-) >"$X/profile"
}

ask() {
    "$ABX_BUILD/tests/sbpl-ask" "$X/profile" "$@"
}

# denied|granted OPERATION [WHAT=VALUE…]
denied() {
    [ "$(ask "$@")" = deny ] || {
        echo "allowed: $*"
        return 1
    }
}

granted() {
    [ "$(ask "$@")" = allow ] || {
        echo "denied: $*"
        return 1
    }
}

@test "A07 macOS: a hidden directory and all above it cannot be moved" {
    mkdir -p "$W/sub/hidden"
    own "$W"
    profile --exclude sub/hidden
    for path in "$W/sub/hidden" "$W/sub" "$W" "$T" "$D"; do
        denied file-write-unlink "path=$path"
    done
    denied file-read-data "path=$W/sub/hidden/s"
    granted file-write-unlink "path=$W/file"
    # and no second name: hard links and clones
    denied file-link "path=$W/file"
    denied file-clone "path=$W/sub/hidden/s"
}

@test "A11 macOS: a protected name that is absent cannot be made in any spelling" {
    profile
    for name in .mcp.json .MCP.JSON .mcp.jſon .envrc .ENVRC .vſcode .Vscode/tasks.json; do
        denied file-write-create "path=$W/$name"
    done
    granted file-write-create "path=$W/mcp.json"
}

@test "A152 macOS: nothing is opened by Launch Services" {
    profile --network allowed
    denied lsopen
    denied mach-lookup name=com.apple.coreservices.launchservicesd
    denied mach-lookup name=com.apple.coreservices.quarantine-resolver
    denied job-creation
}

@test "A153 macOS: no Apple events" {
    profile --network allowed
    denied appleevent-send
    denied mach-lookup name=com.apple.coreservices.appleevents
}

@test "A154 macOS: no keychain" {
    profile --network allowed
    denied mach-lookup name=com.apple.SecurityServer
    denied mach-lookup name=com.apple.securityd.xpc
    denied mach-lookup name=com.apple.secd
    denied file-read-data "path=$H/Library/Keychains/login.keychain-db"
}

@test "A155 macOS: no pasteboard, no screen, no private folders" {
    profile --network allowed
    denied mach-lookup name=com.apple.pasteboard.1
    denied mach-lookup name=com.apple.windowserver.active
    denied mach-lookup name=com.apple.tccd
    denied iokit-open
    for dir in Messages Mail Safari Calendars Cookies Containers "Group Containers" \
        "Application Support/com.apple.TCC" "Mobile Documents"; do
        denied file-read-data "path=$H/Library/$dir/x"
    done
}

@test "A156 macOS: a second name of the same place opens nothing" {
    profile --rw "$W"
    granted file-write-data "path=$W/x"
    denied file-write-data "path=/System/Volumes/Data$W/x"
    denied file-read-data "path=/System/Volumes/Data$D/s"
    denied file-read-data path=/private/tmp/other
}

@test "A157 macOS: the narrower rule wins, whatever the order of the options" {
    mkdir -p "$W/a/b/c"
    own "$W"
    profile --exclude a/b --ro a --rw a/b/c
    cp "$X/profile" "$X/first"
    profile --rw a/b/c --ro a --exclude a/b
    cmp "$X/profile" "$X/first"
    denied file-write-data "path=$W/a/x"
    granted file-read-data "path=$W/a/x"
    denied file-read-data "path=$W/a/b/x"
    granted file-write-data "path=$W/a/b/c/x"
    granted file-read-metadata "path=$W/a/b"
    denied file-write-unlink "path=$W/a/b/c"
}

@test "A158 macOS: localhost has one verdict, for every family" {
    profile --network filtered
    granted network-outbound "remote=tcp localhost:9999"
    denied network-outbound "remote=tcp localhost:22"
    denied network-outbound "remote=udp localhost:53"
    denied network-outbound "remote=tcp 192.0.2.1:443"
    profile --network blocked
    denied network-outbound "remote=tcp localhost:9999"
}

@test "A159 macOS: nobody sends for the command" {
    for mode in blocked filtered; do
        profile --network "$mode"
        for service in trustd trustd.agent mDNSResponder nsurlsessiond networkd \
            SystemConfiguration.configd cfprefsd.agent distributed_notifications@Uv3; do
            denied mach-lookup "name=com.apple.$service"
        done
        denied network-outbound path=/private/var/run/mDNSResponder
        denied network-outbound path=/private/var/run/docker.sock
    done
}

@test "A160 macOS: a sandbox inside is refused, and the processes of others are out of reach" {
    profile
    denied forbidden-sandbox-reinit
    denied signal
    granted signal target=same
    denied process-info-pidinfo
    denied sysctl-read name=kern.procargs2
    denied file-ioctl path=/dev/ttys001
}

@test "the profile for macOS is printed, and nothing is run" {
    watch "$O" "$W"
    profile -- touch "$W/made"
    head -n 1 "$X/profile" | grep -qx '(version 1)'
    [ ! -e "$W/made" ]
    untouched
    run bash -c 'cd "$1" && shift && "$@"' _ "$W" "${AS[@]}" "$BOX" plan --format seatbelts
    [ "$status" -eq 125 ]
    [[ $output == *"text, json, bwrap or seatbelt"* ]]
}
