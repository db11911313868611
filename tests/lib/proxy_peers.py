#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers for the tests of the proxy, and a client that says exactly what it is told.

  proxy_peers.py serve DIR [known]   starts, in DIR: an HTTP server and a TLS one (127.0.0.5), a server that
                             nobody may reach (127.0.0.6), a DNS server (127.0.0.5), a proxy that wants a
                             password (127.0.0.5) and one on a Unix socket. Ports go to DIR/ports as shell
                             variables. DIR/log has a line for each request, DIR/canary one for each
                             connection to the forbidden server, DIR/dns one for each question. known: HTTP,
                             HTTPS and DNS have their usual ports, in a network of their own.
  proxy_peers.py say PORT [BYTES…]   sends each of BYTES (with \\escapes) and prints what comes back
                             until the end, or for two seconds of silence.
"""
import functools
import http.server
import os
import socket
import socketserver
import ssl
import struct
import subprocess
import sys
import threading
import time

HERE, ELSEWHERE = "127.0.0.5", "127.0.0.6"
KNOWN = sys.argv[1:2] == ["serve"] and sys.argv[3:] == ["known"]


def usual_port(number):
    return number if KNOWN else 0


@functools.lru_cache
def many(count):
    """The same bytes for all who ask."""
    return b"x" * count


class Log:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def __call__(self, text):
        self.file.write(text + "\n")


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return data
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def reply(self, data, code=200, headers=()):
        self.send_response(code)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_GET(self):
        self.server.note(f"{self.command} {self.path} {self.headers.get('Host')}")
        self.path = self.path.split("?")[0]
        if self.path == "/headers":
            self.reply(str(self.headers).encode())
        elif self.path == "/chunked":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in (b"one ", b"two ", b"three"):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")
        elif self.path == "/close":
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nuntil the end")
            self.close_connection = True
        elif self.path.startswith("/big/"):
            self.reply(many(int(self.path[5:])))
        elif self.path == "/redirect":
            self.reply(b"", 302, [("Location", "http://evil.test:%d/" % self.server.canary_port)])
        elif self.path == "/silent":
            time.sleep(600)
        elif self.path == "/slow":
            time.sleep(2)
            self.reply(b"late\n")
        elif self.path == "/nonsense":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx")
            self.close_connection = True
        elif self.path == "/socket":
            self.wfile.write(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"
                             b"Connection: Upgrade\r\n\r\nhello from the socket\n")
            self.wfile.write(self.rfile.readline())
            self.close_connection = True
        elif os.path.isfile(self.server.root + self.path):
            with open(self.server.root + self.path, "rb") as file:
                self.reply(file.read())
        elif self.path == "/hello":
            self.reply(b"hello\n")
        else:
            self.reply(b"not here\n", 404)

    do_HEAD = do_GET

    def do_POST(self):
        data = self.body()
        self.server.note(f"POST {self.path} {len(data)}")
        self.reply(b"got %d %s\n" % (len(data), data[:40]))

    do_PUT = do_POST


class Threaded(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 1024

    def handle_error(self, request, client_address):
        pass


def origin(note, root, canary_port, tls=None):
    server = Threaded((HERE, usual_port(443 if tls else 80)), Origin)
    server.note, server.root, server.canary_port = note, root, canary_port
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True,
                                        do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def accept_all(listener, handle):
    def loop():
        while True:
            conn, _ = listener.accept()
            threading.Thread(target=handle, args=(conn,), daemon=True).start()
    threading.Thread(target=loop, daemon=True).start()


def listen(address=HERE, port=0):
    listener = socket.create_server((address, port), backlog=1024)
    return listener, listener.getsockname()[1]


# ---- DNS -------------------------------------------------------------------------------------------

ZONE = {  # name: addresses, or a name that it is an alias of
    "ok.dns.test": [HERE],
    "inside.dns.test": ["127.0.0.1"],
    "metadata.dns.test": ["169.254.169.254"],
    "metadata2.dns.test": ["100.100.100.200"],
    "metadata6.dns.test": ["fd00:ec2::254"],
    "lan.dns.test": ["192.168.1.1"],
    "mapped.dns.test": ["::ffff:127.0.0.1"],
    "nat64.dns.test": ["64:ff9b::7f00:1"],
    "both.dns.test": [HERE, "::1"],
    "mixed.dns.test": [HERE, "127.0.0.1"],
    "alias.dns.test": "ok.dns.test",
    "trap.dns.test": "inside.dns.test",
    "many.dns.test": [HERE] * 60,
    "dead.dns.test": ["127.0.0.9", HERE],
    "host.search.test": [HERE],
}
flips = {"rebind.dns.test": 0}


def labels(name):
    return b"".join(bytes([len(p)]) + p.encode() for p in name.split(".")) + b"\0"


def answer(query, over_tcp, note):
    at, parts = 12, []
    while query[at]:
        parts.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    name = ".".join(parts).lower()
    kind, = struct.unpack(">H", query[at + 1:at + 3])
    question = query[12:at + 5]
    note(f"{name} {kind}{' tcp' if over_tcp else ''}")
    if name == "servfail.dns.test":
        return query[:2] + b"\x81\x82" + b"\0\1\0\0\0\0\0\0" + question
    if name in flips:  # the first answer is good, the second is not
        addrs = [HERE] if flips[name] == 0 else ["127.0.0.1"]
        flips[name] += kind == 1
    else:
        addrs = ZONE.get(name)
    if addrs is None:
        return query[:2] + b"\x81\x83" + b"\0\1\0\0\0\0\0\0" + question
    records = []
    if isinstance(addrs, str):
        target = labels(addrs)
        records.append(b"\xc0\x0c\0\5\0\1\0\0\0\1" + struct.pack(">H", len(target)) + target)
        owner, addrs = target, ZONE[addrs]
    else:
        owner = b"\xc0\x0c"
    if kind == 1:
        records += [owner + b"\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(a)
                    for a in addrs if ":" not in a]
    if kind == 28:
        records += [owner + b"\0\34\0\1\0\0\0\0\0\20" + socket.inet_pton(socket.AF_INET6, a)
                    for a in addrs if ":" in a]
    flags = b"\x81\x80"
    if len(records) > 30 and not over_tcp:
        flags, records = b"\x83\x80", []
    return (query[:2] + flags + struct.pack(">HHHH", 1, len(records), 0, 0) + question +
            b"".join(records))


def dns(note):
    listener, port = listen(port=usual_port(53))
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind((HERE, port))

    def serve_udp():
        while True:
            query, peer = udp.recvfrom(4096)
            good = answer(query, False, note)
            # What somebody else might send first: another id, and an answer to another question.
            udp.sendto(bytes([good[0] ^ 1]) + good[1:], peer)
            udp.sendto(good[:12] + b"\4evil\0" + good[12:], peer)
            udp.sendto(good, peer)

    def serve_tcp(conn):
        head = conn.recv(2, socket.MSG_WAITALL)
        query = conn.recv(struct.unpack(">H", head)[0], socket.MSG_WAITALL)
        reply = answer(query, True, note)
        conn.sendall(struct.pack(">H", len(reply)) + reply)
        conn.close()
    threading.Thread(target=serve_udp, daemon=True).start()
    accept_all(listener, serve_tcp)
    return port


# ---- proxies ---------------------------------------------------------------------------------------

def pump(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
        b.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def proxy(conn, note, name, port, password):
    """CONNECT to our own HTTP server whatever the name; plain requests are answered here."""
    head = b""
    while b"\r\n\r\n" not in head:
        data = conn.recv(1)
        if not data:
            return
        head += data
    lines = head.decode().split("\r\n")
    given = [line for line in lines if line.lower().startswith("proxy-authorization:")]
    note(f"{name} {lines[0]}")
    if password and given != ["Proxy-Authorization: Basic dXNlcjpwYXNzIHdvcmQ="]:
        conn.sendall(b"HTTP/1.1 407 Who Are You\r\nContent-Length: 0\r\n\r\n")
    elif lines[0].startswith("CONNECT "):
        server = socket.create_connection((HERE, port))
        conn.sendall(b"HTTP/1.1 200 Fine\r\nX: y\r\n\r\n")
        thread = threading.Thread(target=pump, args=(server, conn), daemon=True)
        thread.start()
        pump(conn, server)
        thread.join()
    else:
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nproxied\n")
    conn.close()


def serve(root):
    note, canary, questions = (Log(f"{root}/{n}") for n in ("log", "canary", "dns"))
    forbidden, canary_port = listen(ELSEWHERE)
    loopback = socket.create_server(("127.0.0.1", canary_port))
    for listener in (forbidden, loopback):
        accept_all(listener, lambda conn: canary("reached"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                    "/CN=ok.test", "-addext", "subjectAltName=DNS:ok.test,DNS:*.wild.test,DNS:git.test", "-keyout",
                    f"{root}/key.pem", "-out", f"{root}/cert.pem"], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(f"{root}/cert.pem", f"{root}/key.pem")
    http_port = origin(note, root, canary_port)
    https_port = origin(note, root, canary_port, tls)
    upstream, upstream_port = listen()
    accept_all(upstream, lambda conn: proxy(conn, note, "upstream", http_port, True))
    mitm = socket.socket(socket.AF_UNIX)
    mitm.bind(f"{root}/mitm.sock")
    mitm.listen(64)
    accept_all(mitm, lambda conn: proxy(conn, note, "mitm", http_port, False))
    with open(f"{root}/ports.new", "w") as file:
        file.write(f"HTTP={http_port}\nHTTPS={https_port}\nCANARY={canary_port}\n"
                   f"DNS={dns(questions)}\nUPSTREAM={upstream_port}\n")
    os.rename(f"{root}/ports.new", f"{root}/ports")
    threading.Event().wait()


def say(port, words):
    conn = socket.create_connection(("127.0.0.1", int(port)), timeout=5)
    for word in words:
        conn.sendall(word.encode().decode("unicode_escape").encode("latin-1"))
        time.sleep(0.05)
    conn.settimeout(2)
    try:
        while data := conn.recv(65536):
            sys.stdout.buffer.write(data)
        sys.stdout.buffer.write(b"<end>\n")
    except TimeoutError:
        sys.stdout.buffer.write(b"<silence>\n")
    except ConnectionError:
        sys.stdout.buffer.write(b"<reset>\n")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        say(sys.argv[2], sys.argv[3:])
