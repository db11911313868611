#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Network: an own, empty one; "allowed" opens internet sockets and no more. filtered.bats has the proxy.
# Text for the shell inside stands in single quotes; the fixture reads what a test sets.
# shellcheck disable=SC2016,SC2034
load ../lib/e2e

NONE='ENETUNREACH|ECONNREFUSED|EHOSTUNREACH|EADDRNOTAVAIL|EPERM|EACCES|EPROTONOSUPPORT|EAFNOSUPPORT|ESOCKTNOSUPPORT|EINPROGRESS|EOPNOTSUPP|EINVAL'

@test "servers on the host's loopback cannot be reached" {
    serve
    local kind
    for kind in tcp tfo mptcp; do
        refused "$NONE" inet "$kind" 127.0.0.1 "$TCP"
        refused "$NONE" inet "$kind" 127.0.0.2 "$TCP"
        refused "$NONE" inet "$kind" ::ffff:127.0.0.1 "$TCP"
        refused "$NONE" inet "$kind" 0.0.0.0 "$TCP"
    done
    attempt inet udp 127.0.0.1 "$UDP"
    attempt inet udp ::ffff:127.0.0.1 "$UDP"
    nobody_called
}

@test "no address outside can be reached" {
    local host
    host=$(hostname -I | cut -d' ' -f1)
    for host in "${host:-192.0.2.1}" 192.0.2.1 8.8.8.8 169.254.169.254 255.255.255.255 2001:db8::1; do
        refused 'ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EACCES|EAFNOSUPPORT' inet tcp "$host" 80
        refused 'ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EACCES|EAFNOSUPPORT' inet udp "$host" 53
    done
}

@test "the own loopback works" {
    allowed loopback
}

@test "without allowLocalBinding nothing listens, with or without a port, and clients work" {
    serve
    OPTIONS+=(--set network.allowLocalBinding=false)
    refused EPERM loopback
    run box -- /usr/bin/python3 -c '
import socket
for family in socket.AF_INET, socket.AF_INET6:
    for bound in True, False:
        s = socket.socket(family, socket.SOCK_STREAM)
        if bound:
            s.bind(("", 0))
        try:
            s.listen(); print("listens")
        except PermissionError:
            print("refused")'
    [[ $output != *listens* && $output == *refused* ]]
    # It is of use where the network is the host'"'"'s.
    OPTIONS+=(--network allowed)
    refused EPERM loopback
    allowed inet tcp 127.0.0.1 "$TCP"
    OPTIONS+=(--set network.allowAllUnixSockets=true --monitor full)
    refused EPERM loopback
}

@test "a port of somebody who may not listen is not published" {
    run box --set network.allowLocalBinding=false -p 3000 -- true
    [ "$status" -eq 125 ]
    [[ $output == *"port 3000 cannot be published"*"allowLocalBinding"* ]]
}

@test "only a loopback device is there, and no route" {
    run inside 'cat /proc/net/dev /proc/net/route /proc/net/tcp /proc/net/unix'
    [ "$(grep -c ':' <<<"$output")" -le 4 ]
    [[ $output != *eth* && $output != *docker* && $output != */run/* ]]
}

# Beyond TCP and UDP nothing is made: whatever the kernel would load for it, whatever network it is.
@test "of the Internet's protocols there are TCP and UDP, by number or without" {
    local network
    cat >"$W/protocols.py" <<'EOF'
import errno, socket
FLAGS = socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
tried = 0
for family in socket.AF_INET, socket.AF_INET6:
    for kind in range(16):
        for flags in 0, FLAGS:
            for protocol in 0, 1, 2, 6, 17, 33, 41, 47, 58, 132, 136, 137, 255, 256, 262, 0x106, 0x111:
                try:
                    socket.socket(family, kind | flags, protocol).close()
                    got = "ok"
                except OSError as e:
                    got = errno.errorcode[e.errno]
                good = (kind, protocol) in ((1, 0), (1, 6), (2, 0), (2, 17))
                tried += 1
                if got != ("ok" if good else "EPROTONOSUPPORT"):
                    print(int(family), kind, protocol, got)
print(tried)
EOF
    for network in filtered blocked allowed; do
        run box --network "$network" -- /usr/bin/python3 protocols.py
        [ "$output" = 1088 ]
    done
}

@test "unusual families are refused" {
    local family
    for family in 3 4 5 9 15 17 21 23 27 29 30 31 32 37 38 39 40 41 42 43 44 45; do
        refused 'EAFNOSUPPORT|EPERM' sys socket "$family" 3 0
        refused 'EAFNOSUPPORT|EPERM' sys socket "$family" 1 0
        refused 'EAFNOSUPPORT|EPERM' sys socket "0x1000000$(printf %02x "$family")" 2 0
    done
}

@test "netlink is for routes only" {
    allowed sys socket 16 3 0
    local protocol
    for protocol in 2 4 5 6 7 9 11 12 15 16 21; do
        refused 'EPROTONOSUPPORT|EPERM' sys socket 16 3 "$protocol"
        refused 'EPROTONOSUPPORT|EPERM' sys socket 16 3 "0x1000000$(printf %02x "$protocol")"
    done
}

@test "network allowed reaches the host's loopback, and no unix socket" {
    serve
    OPTIONS+=(--network allowed)
    allowed inet tcp 127.0.0.1 "$TCP"
    wait_for test -s "$LOG"
    [ "$(cat "$LOG")" = tcp ]
    : >"$LOG"
    refused EPERM unix stream "$S/stream"
    refused EPERM unix dgram "$S/dgram"
    nobody_called
}

@test "what the box listens on cannot be reached from the host" {
    # Not of those numbers that the kernel gives out: a server of another test may have one.
    start_box -- python3 -c '
import socket, time
s = socket.socket(); s.bind(("0.0.0.0", 21733)); s.listen()
open("up", "w").write("up\n"); time.sleep(600)'
    wait_for test -s "$W/up"
    [ "$("$PAYLOAD" inet tcp 127.0.0.1 21733)" = ECONNREFUSED ]
}

@test "blocked has no proxy, and nothing listens" {
    OPTIONS+=(--network blocked)
    refused ECONNREFUSED inet tcp 127.0.0.1 3128
    refused ECONNREFUSED inet tcp 127.0.0.1 1080
    run inside 'env | grep 127.0.0.1:'
    [ "$status" -eq 1 ]
}

@test "denied hosts of a network that is not filtered are refused" {
    run box --network allowed --deny-domain evil.example.com -- true
    [ "$status" -eq 125 ]
    [[ $output == *"network.deniedDomains"*"--network filtered"* ]]
}
