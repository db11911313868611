#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The filtered network of the back end Landlock: pid 1 connects the command to the proxy, and to
# nothing else, whatever the command does. The servers are those of the native tests.
# Text for the shell inside stands in single quotes.
# shellcheck disable=SC2016,SC2030,SC2031,SC2102,SC2154
load ../lib/filtered

eval "$(declare -f setup | sed '1s/setup/net_setup/')"
setup() {
    net_setup
    mkdir -p "$W/sub"
    own "$W"
    OPTIONS+=(--backend landlock --set fallbackPolicy=warn)
    cp "$ABX_BUILD/tests/ladder" "$FIX/bin/ladder"
}

# What is wanted of the command's own calls: text for python, with the ports in it.
python() {
    box "${ALLOW[@]}" -- /usr/bin/python3 -c "
import errno, os, socket, struct, sys, threading
def name(call):
    try:
        call()
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
$1"
}

@test "curl: http, https, SOCKS5, both ports, IPv4 and IPv6" {
    [ "$(netbox -- curl -sS http://ok.test/hello 2>"$X/err")" = hello ]
    [ "$(netbox -- curl -sS --cacert "$NET/cert.pem" https://ok.test/hello 2>"$X/err")" = hello ]
    [ "$(netbox -- curl -sS -x socks5h://127.0.0.1:1080 http://a.b.wild.test/hello 2>"$X/err")" = hello ]
    [ "$(netbox -- curl -sS -x socks5h://[::1]:1080 http://ok.test/hello 2>"$X/err")" = hello ]
    [ "$(netbox -- curl -sS -x 'http://[::ffff:127.0.0.1]:3128' http://ok.test/hello 2>"$X/err")" = hello ]
    run netbox -- curl -sS http://evil.test:"$CANARY"/
    [[ $output == *"evil.test:$CANARY is not allowed"*"--allow-domain evil.test:$CANARY"* ]]
    nobody_reached
}

@test "wget, python and git, several at once" {
    [ "$(netbox -- wget -qO- http://ok.test/hello 2>"$X/err")" = hello ]
    run netbox -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do curl -sS http://ok.test/hello & done; wait'
    [ "$(grep -c '^hello$' <<<"$output")" -eq 12 ]
    run python '
import urllib.request
print(urllib.request.urlopen("http://ok.test/hello").read().decode().strip())'
    [[ $output == *hello* ]]
}

@test "nothing else can be connected: no address, no other port of the loopback" {
    run python "
for family, where in ((socket.AF_INET, ('127.0.0.6', $CANARY)), (socket.AF_INET, ('127.0.0.1', $CANARY)),
                      (socket.AF_INET, ('127.0.0.5', 3128)), (socket.AF_INET, ('8.8.8.8', 3128)),
                      (socket.AF_INET6, ('::1', $CANARY)), (socket.AF_INET6, ('::ffff:127.0.0.6', $CANARY))):
    s = socket.socket(family)
    print(where[0], where[1], name(lambda: s.connect(where)))"
    echo "$output"
    [[ $output == *"127.0.0.6 $CANARY ECONNREFUSED"* && $output == *"127.0.0.1 $CANARY ECONNREFUSED"* ]]
    [[ $output == *"127.0.0.5 3128 ECONNREFUSED"* ]]
    [[ $output == *"8.8.8.8 3128 ENETUNREACH"* && $output == *"::ffff:127.0.0.6 $CANARY "E* ]]
    nobody_reached
}

@test "only TCP: no datagram, no other protocol of streams, no netlink, no Unix socket" {
    run python "
print('udp', name(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
print('udp6', name(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)))
print('raw', name(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)))
print('mptcp', name(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)))
print('sctp', name(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)))
print('netlink', name(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)))
print('unix', name(lambda: socket.socket(socket.AF_UNIX)))
print('vsock', name(lambda: socket.socket(40, socket.SOCK_STREAM)))
print('smc', name(lambda: socket.socket(43, socket.SOCK_STREAM)))"
    echo "$output"
    [ "$(grep -cE '^(udp|udp6|raw|mptcp|sctp|netlink|unix|vsock|smc) E[A-Z]+$' <<<"$output")" -eq 9 ]
}

@test "connecting without connect(): fast open, a protocol on top, a listener" {
    run python "
s = socket.socket()
print('fastopen', name(lambda: s.sendto(b'x', 0x20000000, ('127.0.0.6', $CANARY))))
print('message', name(lambda: s.sendmsg([b'x'], [], 0x20000000, ('127.0.0.6', $CANARY))))
print('send', name(lambda: s.sendto(b'x', 0, ('127.0.0.6', $CANARY))))
print('ulp', name(lambda: s.setsockopt(6, 31, b'smc')))
print('listen', name(lambda: s.listen()))
print('bind', name(lambda: s.bind(('127.0.0.1', 0))))"
    echo "$output"
    [[ $output == *"fastopen ENOTSUP"* && $output == *"message ENOTSUP"* && $output == *"ulp ENOTSUP"* ]]
    [[ $output == *"listen EPERM"* ]]
    not grep -q 'send ok' <<<"$output"
    nobody_reached
}

@test "an address that another thread changes meanwhile leads nowhere else" {
    run python "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
good = struct.pack('!HH4s8x', socket.htons(socket.AF_INET), 3128, socket.inet_aton('127.0.0.1'))
evil = struct.pack('!HH4s8x', socket.htons(socket.AF_INET), $CANARY, socket.inet_aton('127.0.0.6'))
cell = ctypes.create_string_buffer(good, 16)
stop = False
def swap():
    while not stop:
        ctypes.memmove(cell, evil, 16)
        ctypes.memmove(cell, good, 16)
t = threading.Thread(target=swap)
t.start()
peers = set()
for i in range(2000):
    s = socket.socket()
    if libc.connect(s.fileno(), cell, 16) == 0:
        peers.add(s.getpeername()[0])
    s.close()
stop = True
t.join()
print('peers', sorted(peers))"
    echo "$output"
    [[ $output == *"peers ['127.0.0.1']"* ]]
    nobody_reached
}

@test "flags of the socket stay, and a second connect is refused" {
    run python "
s = socket.socket(); s.setblocking(False)
print('connect', name(lambda: s.connect(('127.0.0.1', 3128))), s.fileno(), os.get_blocking(s.fileno()), os.get_inheritable(s.fileno()))
print('receive', name(lambda: s.recv(1)))
b = socket.socket(); b.connect(('127.0.0.1', 1080))
print('blocking', os.get_blocking(b.fileno()))
p = os.pipe()
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
a = struct.pack('!HH4s8x', socket.htons(socket.AF_INET), 3128, socket.inet_aton('127.0.0.1'))
print('pipe', libc.connect(p[0], a, 16), errno.errorcode[ctypes.get_errno()])
print('closed', libc.connect(999, a, 16), errno.errorcode[ctypes.get_errno()])
print('fault', libc.connect(b.fileno(), 8, 16), errno.errorcode[ctypes.get_errno()])
print('long', libc.connect(b.fileno(), a, 4096), errno.errorcode[ctypes.get_errno()])
print('short', libc.connect(b.fileno(), a, 8), errno.errorcode[ctypes.get_errno()])"
    echo "$output"
    grep -qE '^connect ok [0-9]+ False False$' <<<"$output"
    [[ $output == *"receive EAGAIN"* && $output == *"blocking True"* && $output == *"pipe -1 ENOTSOCK"* ]]
    [[ $output == *"closed -1 EBADF"* && $output == *"fault -1 EFAULT"* && $output == *"long -1 EINVAL"* && $output == *"short -1 EINVAL"* ]]
}

@test "there is no port on the host for others to use" {
    start_box "${ALLOW[@]}" -- sh -c 'curl -sS http://ok.test/hello >sub/got; echo up >sub/up; sleep 60'
    wait_for test -s "$W/sub/up"
    [ "$(cat "$W/sub/got")" = hello ]
    in_net ss -Hltn >"$X/ports"
    cat "$X/ports"
    not grep -qE '127\.0\.0\.1:(3128|1080)|\[::1\]:(3128|1080)' "$X/ports"
    # Nothing listens but the servers of the tests, which were there before.
    kill "$BOX_PID"
    wait "$BOX_PID" || :
    in_net ss -Hltn | awk '{print $4}' | sort >"$X/before"
    awk '{print $4}' "$X/ports" | sort >"$X/during"
    diff "$X/before" "$X/during"
}

@test "hosts are chosen: nothing is missing of them in notice, result and why" {
    run netbox --result "$X/result" -- true
    not grep -q 'hosts' <<<"$output"
    not grep -q '"hosts"' "$X/result"
    run as_who sh -c 'cd "$1" && exec "$2" why --backend landlock --set fallbackPolicy=warn --allow-domain ok.test net ok.test:80' - "$W" "$BOX"
    [[ $output == *allowed* ]]
    run as_who sh -c 'cd "$1" && exec "$2" why --backend landlock --set fallbackPolicy=warn net evil.test:80' - "$W" "$BOX"
    [[ $output == *denied*"--allow-domain evil.test:80"* ]]
    run as_who sh -c 'cd "$1" && exec "$2" why --backend landlock --set fallbackPolicy=warn --network blocked net evil.test:80' - "$W" "$BOX"
    [[ $output == *denied*"change: --network filtered --allow-domain evil.test:80"* ]]
}

@test "where nobody can be asked there is no network, and the result says so" {
    AS+=("$FIX/bin/ladder" notify=EPERM --)
    run netbox --result "$X/result" -- curl -sS -m 20 http://ok.test/hello
    echo "$output"
    [[ $output != *hello* ]]
    grep -q '"hosts"' "$X/result"
}

@test "in a container without user namespaces: warn gets it by itself" {
    AS+=("$FIX/bin/ladder" userns=EPERM --)
    OPTIONS=(--set fallbackPolicy=warn)
    [ "$(netbox --result "$X/result" -- curl -sS http://ok.test/hello 2>"$X/err")" = hello ]
    grep -q '"backend":"landlock"' "$X/result"
    run netbox -- curl -sS http://evil.test:"$CANARY"/
    [[ $output == *"not allowed"* ]]
    nobody_reached
}
