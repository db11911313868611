#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Published ports: what listens inside is reached on the host's 127.0.0.1, and nothing else is.
# shellcheck disable=SC2034 # the fixture reads what a test sets
load ../lib/e2e

# A server for inside: answers every line with "inside: LINE", on the address and port given.
write_server() {
    cat >"$W/server.py" <<'PY'
import socket, sys, threading
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.socket(family)
listener.bind((sys.argv[1], int(sys.argv[2])))
listener.listen(64)
open("ready", "w").close()
def serve(client):
    for line in client.makefile("rb"):
        client.sendall(b"inside: " + line)
    client.close()
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
PY
    own "$W"
}

# Not of those numbers that the kernel gives out: it stays free.
free_port() {
    python3 -c '
import random, socket
while True:
    port = random.randrange(20000, 32000)
    try:
        socket.socket().bind(("127.0.0.1", port))
    except OSError:
        continue
    print(port)
    break'
}

# ask PORT TEXT: the answer of what listens on the host's port.
ask() {
    (
        exec 4<>"/dev/tcp/127.0.0.1/$1" || exit 1
        echo "$2" >&4
        timeout 10 head -n 1 <&4
    ) 2>/dev/null
}

serve_inside() {
    rm -f "$W/ready"
    start_box "$@"
    wait_for test -e "$W/ready"
}

@test "a port inside is reached on the host, at the same number or another" {
    write_server
    local same other mode
    same=$(free_port)
    other=$(free_port)
    for mode in filtered blocked; do
        serve_inside --network "$mode" -p "$same" -p "$other:$same" -- python3 server.py 127.0.0.1 "$same"
        [ "$(ask "$same" one)" = "inside: one" ]
        [ "$(ask "$other" two)" = "inside: two" ]
        kill -TERM "$BOX_PID"
        wait "$BOX_PID" || :
        not ask "$same" three
    done
}

@test "a server on the sandbox's ::1 is reached, too" {
    [ -e /proc/net/if_inet6 ] || skip "ipv6: this kernel has none"
    write_server
    local port
    port=$(free_port)
    serve_inside -p "$port" -- python3 server.py ::1 "$port"
    [ "$(ask "$port" one)" = "inside: one" ]
    [ "$(ask "$port" two)" = "inside: two" ]
}

@test "many connections one after the other, and more at once than there are sockets" {
    write_server
    local port i
    port=$(free_port)
    serve_inside -p "$port" -- python3 server.py 127.0.0.1 "$port"
    for ((i = 0; i < 100; i++)); do
        [ "$(ask "$port" "$i")" = "inside: $i" ]
    done
    python3 - "$port" <<'PY'
import socket, sys
clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) for _ in range(60)]
for at, client in enumerate(clients):
    client.sendall(b"%d\n" % at)
for at, client in enumerate(clients):
    assert client.makefile("rb").readline() == b"inside: %d\n" % at
    client.close()
PY
}

@test "where nobody listens inside, the host's own server of that port is not reached" {
    write_server
    serve # the host's; its port is $TCP
    local port
    port=$(free_port)
    start_box -p "$port:$TCP" -- sleep 60
    wait_for ask_ends "$port"
    nobody_called
}

# Connects, and is hung up on without a byte.
ask_ends() {
    python3 - "$1" <<'PY'
import socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20)
try:
    sys.exit(1 if client.recv(1) else 0)
except ConnectionResetError:
    sys.exit(0)
PY
}

@test "nothing of it is inside: no descriptor, no way to the host's loopback" {
    serve
    local port
    port=$(free_port)
    run box -p "$port" -- sh -c 'ls -l /proc/self/fd | grep -c socket:'
    [ "$output" = 0 ]
    OPTIONS+=(-p "$port")
    refused 'ECONNREFUSED|ENETUNREACH' inet tcp 127.0.0.1 "$TCP"
    nobody_called
}

@test "a port that is taken, or that is none, ends the run before it begins" {
    serve
    run box -p "$TCP" -- touch "$W/ran"
    [ "$status" -eq 125 ]
    [[ $output == *"publish port $TCP on 127.0.0.1:$TCP"*"-p HOSTPORT:$TCP"* ]]
    local word
    for word in 0 65536 80:0 0:80 a 80: :80 1:2:3; do
        run box -p "$word" -- touch "$W/ran"
        [ "$status" -eq 125 ]
    done
    run box --network allowed -p 8080 -- touch "$W/ran"
    [ "$status" -eq 125 ]
    [[ $output == *"the host's own network"* ]]
    [ ! -e "$W/ran" ]
}

@test "the ports of a run that is killed are free again" {
    write_server
    local port
    port=$(free_port)
    serve_inside -p "$port" -- python3 server.py 127.0.0.1 "$port"
    [ "$(ask "$port" one)" = "inside: one" ]
    kill -KILL "$BOX_PID"
    wait "$BOX_PID" || :
    wait_for not ask "$port" two
    rm -f "$W/ready"
    serve_inside -p "$port" -- python3 server.py 127.0.0.1 "$port"
    [ "$(ask "$port" three)" = "inside: three" ]
}
