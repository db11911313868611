#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The filtered network with the clients that people use, by the variables that a run gets: what is
# allowed works, what is not fails with our reason, and the canary sees nobody.
# Text for the shell inside stands in single quotes.
# shellcheck disable=SC2016,SC2102,SC2154
load ../lib/filtered

@test "curl: http, https, SOCKS5 with names, HTTP/2" {
    [ "$(netbox -- curl -sS http://ok.test/hello)" = hello ]
    [ "$(netbox -- curl -sS --cacert "$NET/cert.pem" https://ok.test/hello)" = hello ]
    [ "$(netbox -- curl -sS -x socks5h://127.0.0.1:1080 http://a.b.wild.test/hello)" = hello ]
    [ "$(netbox -- curl -sS -x socks5h://[::1]:1080 http://ok.test/hello)" = hello ]
    [ "$(netbox -- env -u http_proxy curl -sS http://ok.test/hello)" = hello ]
    # Each port speaks both.
    [ "$(netbox -- curl -sS -x http://127.0.0.1:1080 http://ok.test/hello)" = hello ]
    [ "$(netbox -- curl -sS -x socks5h://127.0.0.1:3128 http://ok.test/hello)" = hello ]
    run netbox -- curl -sS http://evil.test:"$CANARY"/
    [[ $output == *"evil.test:$CANARY is not allowed"*"--allow-domain evil.test:$CANARY"* ]]
    run netbox -- curl -sSv "https://evil.test:$CANARY/"
    [[ $output == *403*"evil.test:$CANARY is not allowed"* ]]
    run netbox -- curl -sS -x socks5h://127.0.0.1:1080 "http://evil.test:$CANARY/"
    [ "$status" -eq 97 ]
    nobody_reached
}

@test "curl over HTTP/2 through a tunnel" {
    need node
    cat >"$X/h2.js" <<'JS'
const h2 = require("http2"), fs = require("fs"), [, , dir, out] = process.argv;
const s = h2.createSecureServer({ key: fs.readFileSync(dir + "/key.pem"), cert: fs.readFileSync(dir + "/cert.pem") });
s.on("stream", t => { t.respond({ ":status": 200 }); t.end("two\n"); });
s.listen(8443, "127.0.0.5", () => fs.writeFileSync(out, "up"));
JS
    "${IN_NET[@]}" node "$X/h2.js" "$NET" "$X/up" 3>&- &
    started+=($!)
    wait_for test -s "$X/up"
    run netbox -- curl -sS --http2 -w '%{http_version}' --cacert "$NET/cert.pem" https://ok.test:8443/
    [[ $output == *two*2 ]]
}

@test "wget, python and node's fetch" {
    [ "$(netbox -- wget -qO- http://ok.test/hello)" = hello ]
    [ "$(netbox -- wget -qO- --ca-certificate="$NET/cert.pem" https://ok.test/hello)" = hello ]
    run netbox -- wget -O- "http://evil.test:$CANARY/"
    [[ $output == *"403"*"not allowed"* ]]
    local text='import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode().strip())'
    [ "$(netbox -- /usr/bin/python3 -c "$text" http://ok.test/hello)" = hello ]
    run netbox -- /usr/bin/python3 -c "$text" "http://evil.test:$CANARY/"
    [[ $output == *"403"*"not allowed"* ]]
    nobody_reached
}

@test "node's fetch goes through the proxy where node reads the variables, and is told why not" {
    need node
    # NODE_USE_ENV_PROXY is read from version 24 on; older ones reach nothing, and nothing else is reached.
    run netbox -- node -e 'fetch("http://ok.test/hello").then(r => r.text()).then(console.log, e => console.log("failed", e.cause.code))'
    if [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 24 ]; then
        [[ $output == *hello* ]]
    else
        [[ $output == *"failed "* ]]
    fi
    run netbox -- node -e "fetch('http://evil.test:$CANARY/').then(r => r.text()).then(console.log, e => console.log('failed', e.cause.code))"
    [[ $output == *"not allowed"* || $output == *"failed "* ]]
    nobody_reached
}

make_served_repo() {
    make_repo
    host_git clone -q --bare "$W" "$T/repo.git"
    host_git -C "$T/repo.git" update-server-info
    cp -r "$T/repo.git" "$NET/repo$BATS_TEST_NUMBER.git"
    REPO=repo$BATS_TEST_NUMBER.git
}

@test "git over http and https" {
    make_served_repo
    ALLOW+=(--allow-domain git.test)
    netbox -- git clone -q "http://git.test/$REPO" one
    [ -e "$W/one/file" ]
    netbox --env GIT_SSL_CAINFO="$NET/cert.pem" -- git clone -q "https://git.test/$REPO" two
    [ -e "$W/two/file" ]
    run netbox -- git clone "http://evil.test:$CANARY/$REPO" three
    [[ $output == *403* ]]
    run netbox -- git clone "https://evil.test:$CANARY/$REPO" three
    [[ $output == *403* ]]
    nobody_reached
}

# A server that lets in whoever has the key $X/key, as the one whose box it is.
start_sshd() {
    need sshd
    need_root "sshd needs root"
    ssh-keygen -q -t ed25519 -N '' -f "$X/hostkey"
    ssh-keygen -q -t ed25519 -N '' -f "$W/key"
    cp "$W/key.pub" "$X/authorized"
    own "$W/key"
    cat >"$X/sshd" <<CONFIG
ListenAddress 127.0.0.5:22
HostKey $X/hostkey
AuthorizedKeysFile $X/authorized
StrictModes no
UsePAM no
PidFile $X/pid
Subsystem sftp internal-sftp
CONFIG
    chmod 755 "$FIX" "$T" "$X"
    nsenter -t "$PEERS" -n -m unshare -m sh -c "mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f $X/sshd" 2>"$X/sshd.log" 3>&- &
    started+=($!)
    wait_for grep -q listening "$X/sshd.log"
    LOGIN=$([ "$WHO" = root ] && echo root || echo boxer)
}

@test "git over ssh, ssh and scp: our own helper, and why not" {
    make_served_repo
    start_sshd
    ALLOW+=(--allow-domain git.test:22 "${ROOM[@]}") # the helper is our own program
    local plain='-F none -i key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR'
    netinside "GIT_SSH_COMMAND=\"\$GIT_SSH_COMMAND $plain\" git clone -q ssh://$LOGIN@git.test$T/repo.git one"
    [ -e "$W/one/file" ]
    netinside "eval \"\$GIT_SSH_COMMAND $plain\" $LOGIN@git.test cat $O/f >got"
    [ "$(cat "$W/got")" = outside ]
    netinside "scp -q $plain -o \"ProxyCommand=$BOX net-connect 127.0.0.1:1080 %h %p\" $LOGIN@git.test:$O/f copied"
    [ "$(cat "$W/copied")" = outside ]
    run netinside "GIT_SSH_COMMAND=\"\$GIT_SSH_COMMAND $plain\" git clone ssh://$LOGIN@evil.test:$CANARY/x two"
    [[ $output == *"connect to evil.test:$CANARY: it is not allowed"*"--allow-domain evil.test:$CANARY"* ]]
    nobody_reached
}

@test "npm installs from a registry that is allowed" {
    need npm
    ALLOW+=(--allow-domain npm.test)
    mkdir -p "$X/package" "$NET/reg"
    echo '{"name":"tiny","version":"1.0.0"}' >"$X/package/package.json"
    tar -C "$X" -czf "$NET/reg/tiny-1.0.0.tgz" package
    printf '{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0","dist":{"tarball":"http://npm.test/reg/tiny-1.0.0.tgz","shasum":"%s"}}}}' \
        "$(sha1sum "$NET/reg/tiny-1.0.0.tgz" | cut -d' ' -f1)" >"$NET/tiny"
    netbox -- npm install --cache "$W/cache" --no-audit --no-fund --registry http://npm.test/ tiny
    [ -e "$W/node_modules/tiny/package.json" ]
    run netbox -- npm install --cache "$W/cache" --no-audit --no-fund --fetch-retries 0 --registry "http://evil.test:$CANARY/" other
    [[ $output == *403* ]]
    nobody_reached
}

@test "apt-get updates through the proxy" {
    ALLOW+=(--allow-domain apt.test)
    mkdir -p "$NET/apt"
    : >"$NET/apt/Packages"
    printf 'Origin: t\nSuite: ./\nDate: Sun, 15 Nov 2026 00:00:00 UTC\nMD5Sum:\n d41d8cd98f00b204e9800998ecf8427e 0 Packages\nSHA256:\n e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 Packages\n' \
        >"$NET/apt/Release"
    echo 'deb [trusted=yes] http://apt.test/apt ./' >"$W/list"
    echo "deb [trusted=yes] http://evil.test:$CANARY/apt ./" >"$W/evil"
    mkdir -p "$W/state/lists/partial" "$W/cache/archives/partial"
    own "$W"
    local apt=(apt-get update -o Dir::State="$W/state" -o Dir::Cache="$W/cache" -o Dir::Etc::sourceparts=- -o
        APT::Sandbox::User= -o Dir::State::status="$W/status" -o Acquire::Retries=0)
    : >"$W/status"
    own "$W/status"
    run netbox -- "${apt[@]}" -o Dir::Etc::sourcelist="$W/list"
    [[ $output == *"http://apt.test/apt"* && $output != *Err:* ]]
    grep -q 'GET /apt/./Release apt.test' "$NET/log"
    run netbox -- "${apt[@]}" -o Dir::Etc::sourcelist="$W/evil"
    [[ $output == *403*"not allowed"* ]]
    nobody_reached
}

@test "openssl s_client" {
    run netbox -- openssl s_client -proxy 127.0.0.1:3128 -connect ok.test:443 -servername ok.test </dev/null
    [[ $output == *"CN = ok.test"* ]]
    run netbox -- openssl s_client -proxy 127.0.0.1:3128 -connect "evil.test:$CANARY" -servername evil.test </dev/null
    [[ $output == *403* ]]
    nobody_reached
}

@test "java reads the properties that it is given" {
    need java
    cat >"$W/Get.java" <<'JAVA'
import java.net.*;
public class Get {
    public static void main(String[] a) throws Exception {
        HttpURLConnection c = (HttpURLConnection) new URL(a[0]).openConnection();
        System.out.println(c.getResponseCode() + " " + c.getResponseMessage());
    }
}
JAVA
    run netbox -- java Get.java http://ok.test/hello
    [ "$status" -eq 0 ] || skip "java: cannot compile here"
    [[ $output == *"200 OK"* ]]
    run netbox -- java Get.java "http://evil.test:$CANARY/"
    [[ $output == *403* ]]
    nobody_reached
}

# ---- what a run is told ----------------------------------------------------------------------------

@test "every refusal is one record, with the grant that would help" {
    run netbox --result "$X/result" -c "for i in 1 2 3; do curl -sS http://evil.test:$CANARY/; done; curl -sS http://wild.test:$CANARY/"
    own "$X"
    /usr/bin/python3 - "$X/result" "$CANARY" <<'PY'
import json, sys
v, port = json.load(open(sys.argv[1]))["violations"], int(sys.argv[2])
v = [x for x in v if x["operation"] == "network"]
assert [(x["host"], x["port"], x["count"]) for x in v] == [("evil.test", port, 3), ("wild.test", port, 1)], v
assert v[0]["detail"] == "http" and v[0]["rule"] == "default" and v[0]["origin"] == "built-in", v
assert v[0]["grant"] == f"--allow-domain evil.test:{port}", v
PY
    nobody_reached
}

@test "the named grant works" {
    reach_canary 127.0.0.6
    : >"$NET/canary"
    # The name, and the address that it has.
    netbox --allow-domain "evil.test:$CANARY" --allow-domain "127.0.0.6:$CANARY" -- curl -s --max-time 2 "http://evil.test:$CANARY/" || :
    wait_for test -s "$NET/canary"
}

@test "denied by a file: the record has its place" {
    printf '{\n  "network": { "deniedDomains": ["a.wild.test"] }\n}\n' >"$W/.agentbox.json"
    own "$W/.agentbox.json"
    run netbox --result "$X/result" -- curl -sS http://a.wild.test/hello
    [[ $output == *"is denied by 'a.wild.test'"* ]]
    grep -q '"rule":"a.wild.test","origin":"project","source":"[^"]*.agentbox.json:2:34"' "$X/result"
}

# ---- life ------------------------------------------------------------------------------------------

role_of() {
    pgrep -P "$1" -f 'agentbox net-role'
}

@test "nobody starts a proxy for a run that does not talk" {
    start_box "${ALLOW[@]}" -- sh -c 'echo >up; while [ ! -e go ]; do sleep 0.05; done; curl -sS http://ok.test/hello >got; echo >done; sleep 60'
    wait_for test -e "$W/up"
    not role_of "$BOX_PID"
    touch "$W/go"
    wait_for test -e "$W/done"
    [ "$(cat "$W/got")" = hello ]
    role_of "$BOX_PID"
}

@test "A118 a killed proxy: the run goes on, connections are refused, the result says why" {
    start_box --result "$X/result" "${ALLOW[@]}" -- sh -c 'curl -sS http://ok.test/hello >got; echo >up
        while [ ! -e go ]; do sleep 0.05; done; curl -sS http://ok.test/hello >after 2>&1; echo $? >>after; exit 7'
    own "$X"
    wait_for test -e "$W/up"
    kill -KILL "$(role_of "$BOX_PID")"
    wait_for not role_of "$BOX_PID"
    touch "$W/go"
    wait "$BOX_PID" || status=$?
    [ "$status" -eq 7 ]
    [ "$(cat "$W/got")" = hello ]
    [ "$(tail -1 "$W/after")" -eq 7 ]
    grep -q 'the network proxy has died' "$X/result"
}

@test "A118 a proxy that stands still lets nothing through" {
    start_box "${ALLOW[@]}" -- sh -c 'curl -sS http://ok.test/hello >got; echo >up
        while [ ! -e go ]; do sleep 0.05; done; curl -sS --max-time 2 "http://evil.test/"; echo $? >after'
    wait_for test -e "$W/up"
    kill -STOP "$(role_of "$BOX_PID")"
    touch "$W/go"
    wait_for test -s "$W/after"
    [ "$(cat "$W/after")" -eq 28 ]
    nobody_reached
}

@test "the proxy ends with the run, however that ends" {
    start_box "${ALLOW[@]}" -- sh -c 'curl -sS http://ok.test/hello >got; echo >up; sleep 60'
    wait_for test -e "$W/up"
    local pid
    pid=$(role_of "$BOX_PID")
    kill -KILL "$BOX_PID"
    wait_for test ! -e "/proc/$pid"
}

@test "a stopped proxy ends with its host, too" {
    local pid
    start_box "${ALLOW[@]}" -- sh -c 'curl -sS http://ok.test/hello >got; echo >up; sleep 60'
    wait_for test -e "$W/up"
    pid=$(role_of "$BOX_PID")
    kill -STOP "$pid"
    wait_for grep -q '^State:.T' "/proc/$pid/status"
    kill -KILL "$BOX_PID"
    wait_for test ! -e "/proc/$pid" || { kill -KILL "$pid" && false; }
}

@test "names follow the host's files while a run goes on" {
    ALLOW+=(--allow-domain later.test)
    start_box "${ALLOW[@]}" -- sh -c 'curl -sS http://later.test/hello >first; echo >up
        while [ ! -e go ]; do sleep 0.05; done
        for i in $(seq 100); do curl -sS http://later.test/hello >second && grep -q hello second && break; sleep 0.1; done; echo >done'
    wait_for test -e "$W/up"
    grep -q 'cannot be resolved' "$W/first"
    in_net sh -c 'echo "127.0.0.5 later.test" >>/etc/hosts'
    touch "$W/go"
    wait_for test -e "$W/done"
    grep -q hello "$W/second"
    in_net sh -c 'sed "/later/d" /etc/hosts >"$0"; cat "$0" >/etc/hosts' "$X/hosts"
}

# What the user sees: not -q.
seen() {
    (cd "$W" && exec timeout --foreground -k 2 20 "${AS[@]}" "$BOX" run "${ALLOW[@]}" "$@" 3>&-)
}

@test "an allowed host that cannot be reached: one note each, and no violation" {
    ALLOW+=(--allow-domain nowhere.dns.test --allow-domain '[::1]:9')
    run seen -c 'curl -sS https://nowhere.dns.test; curl -sS https://nowhere.dns.test; curl -sSp http://127.0.0.5:9/ --noproxy ""; curl -sSpg "http://[::1]:9/" --noproxy ""'
    [ "$(grep -c '^agentbox: note: nowhere.dns.test:443 cannot be resolved' <<<"$output")" = 1 ]
    [[ $output == *"note: 127.0.0.5:9 refused the connection"* && $output == *"note: [::1]:9 refused the connection"* ]]
    [[ $output != *violation* ]]
    # Nothing for a client that is merely slow, or refused.
    run seen -- curl -sS "http://evil.test:$CANARY/"
    not grep 'note:.*evil\.test' <<<"$output"
}

@test "a refusal is one line a host and port, and what it says can be pasted" {
    local grant address='[2001:db8::7]'
    run seen -c "for i in 1 2 3; do curl -sS http://GIT.test./; curl -sS -x socks5h://127.0.0.1:1080 http://git.test/; done; curl -sSg 'http://$address/'"
    [ "$(grep -c '^network ' <<<"$output")" = 2 ]
    [[ $output == *"network git.test:80: http; "*"(6 times)"* && $output == *"network $address:80: http; "* ]]
    while read -r grant; do
        # shellcheck disable=SC2206 # as a shell would split it
        ALLOW+=($grant)
    done < <(sed -n 's/^network .*; to allow: \(--allow-domain [^ ]*\).*/\1/p' <<<"$output")
    run seen -c "curl -sS http://git.test/; curl -sSg 'http://$address/'"
    [[ $output != *"not allowed"* && $output != *violation* ]]
}

# ---- questions -------------------------------------------------------------------------------------

at_terminal() {
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" "${AS[@]}" "$BOX" run -q --allow-domain 127.0.0.5 "$@" 3>&-)
}

@test "a host that no rule mentions is asked about on the terminal: once, for the session, no" {
    at_terminal -- sh -c 'for i in 1 2 3 4; do curl -sS http://ok.test/hello; done' <<'STEPS'
expect connect to ok.test:80; let it\?.*: 
rest
send y\r
expect hello
expect connect to ok.test:80; let it\?.*: 
rest
send n\r
expect not allowed
expect connect to ok.test:80; let it\?.*: 
rest
send s\r
expect hello
expect hello
exit 0
STEPS
}

@test "what the command did to the terminal does not change what a question says" {
    # Lines that do not wrap, margins, a scroll region above the cursor, and the beginning of a title.
    at_terminal -- sh -c 'printf "\\033[?7l\\033[?69h\\033[1;8s\\033[1;9r\\033[24;1H\\033]0;"; curl -sS http://ok.test/hello' <<'STEPS'
expect \x1b\]0;.*\x18\x1b\\\x1b7\x1b\[\?69l\x1b\[r\x1b8\x1b\[\?7h[^a]*\x1b\[0;38;2;255;255;255;48;2;0;0;0magentbox: .*connect to ok.test:80; let it\?.*\x1b\[0m 
rest
send n\r
expect not allowed
exit 0
STEPS
}

@test "what somebody types as a question comes is no answer to it" {
    # The command sees the keys, and asks for the host before the one that would be a yes.
    at_terminal -- sh -c 'stty -icanon; printf "to go on, type deploy: "; head -c 5 >/dev/null; curl -sS http://ok.test/hello' <<'STEPS'
expect type deploy: 
send deplo
expect let it\?
send y\r
refuse hello
rest
send \r
expect not allowed
exit 0
STEPS
}

@test "Ctrl-C at the question ends the command, and the end of a run ends the question" {
    at_terminal -- sh -c 'curl -sS http://ok.test/hello; echo survived; sleep 60' <<'STEPS'
expect let it\?
send \x03
refuse survived
exit 130
STEPS
    at_terminal --timeout 2s -- curl -sS http://ok.test/hello <<'STEPS'
expect let it\?
exit 124
STEPS
}

@test "nobody is asked without a terminal, or by a command that could write to it" {
    run netbox -- curl -sS --max-time 5 "http://evil.test:$CANARY/"
    [[ $output == *"not allowed"* ]]
    # Its errors go to the terminal itself: it could paint over a question.
    at_terminal -c 'true' <<<'exit 0'
    (cd "$W" && exec python3 "$ABX_SOURCE/tests/lib/terminal.py" "${AS[@]}" sh -c \
        "'$BOX' run -q --allow-domain 127.0.0.5 -- curl -sS http://ok.test/hello >out" 3>&-) <<'STEPS'
refuse let it
exit 0
STEPS
    grep -q 'not allowed' "$W/out"
    nobody_reached
}

@test "--approve deny and yes do not open the network" {
    local mode
    for mode in deny yes; do
        at_terminal --approve "$mode" -- curl -sS http://ok.test/hello <<'STEPS'
expect not allowed
exit 0
STEPS
    done
}
