#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients that mean harm, for tests/e2e/proxy_abuse.bats.

proxy_abuse.py KIND COUNT PROXY-PORT SERVER-PORT: holds COUNT connections that misbehave as KIND
says, prints "ready" once all of them did, and goes on until it is killed. Connections that the proxy
closes are made anew, a few at a time.
"""
import resource
import selectors
import socket
import sys
import time

PIECE = b"X" * 4096
A_TURN = 20  # connections made in one turn
kind, count, proxy, server = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()

CONNECT = b"CONNECT ok.test:%s HTTP/1.1\r\n\r\n" % server
GET = b"GET http://ok.test:%s/%%s HTTP/1.1\r\nHost: ok.test\r\n\r\n" % server
# What is said at once, and what is said again and again; how often.
KINDS = {
    "half-open": (b"", b"", 0),
    "half-asked": (b"CONNECT ok.test:1 HTTP/1.1\r\nX: ", b"", 0),
    "slow": (b"GET http://ok.test/ HTTP/1.1\r\nX: ", b"a", 0.5),
    "slow-socks": (b"\x05", b"", 0),
    "full-heads": (b"GET http://ok.test/ HTTP/1.1\r\nX: " + b"a" * 60000, b"", 0),
    "endless-heads": (b"GET http://ok.test/ HTTP/1.1\r\nX: ", PIECE, 0.001),
    "endless-bodies": (
        b"POST http://ok.test:%s/put HTTP/1.1\r\nHost: ok.test\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n" % server,
        b"1000\r\n" + PIECE + b"\r\n",
        0.001,
    ),
    "never-reads": (GET % b"big/50000000", b"", 0),
    "never-reads-tunnel": (CONNECT + b"GET /big/50000000 HTTP/1.0\r\n\r\n", b"", 0),
    "never-answered": (GET % b"silent", b"", 0),
    "half-hello": (CONNECT + b"\x16\x03\x01\x40\x00\x01\x00\x3f\xfc" + b"\x00" * 9000, b"", 0),
    "nonsense": (bytes(range(256)) * 16, PIECE, 0.01),
}
first, again, pause = KINDS[kind]


class Client:
    """One connection; `left` is what it still has to say."""

    def __init__(self, selector):
        self.selector, self.due = selector, 0.0
        self.sock, self.left, self.said, self.wanted = None, b"", False, 0
        self.open()

    def open(self):
        self.sock, self.left, self.said = socket.socket(), first, first == b""
        self.sock.setblocking(False)
        self.sock.connect_ex(("127.0.0.1", proxy))
        self.wanted = selectors.EVENT_READ | selectors.EVENT_WRITE
        self.selector.register(self.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, self)

    def close(self):
        self.selector.unregister(self.sock)
        self.sock.close()
        self.sock, self.said = None, True

    def writable(self, now):
        if not self.left:
            if again and now >= self.due:
                self.left, self.due = again, now + pause
            else:
                return
        try:
            self.left = self.left[self.sock.send(self.left):]
        except BlockingIOError:
            return
        self.said = self.said or not self.left

    def readable(self):
        if "never-reads" in kind:
            return
        if not self.sock.recv(65536):
            self.close()

    def serve(self, events, now):
        try:
            if events & selectors.EVENT_READ:
                self.readable()
            if events & selectors.EVENT_WRITE:
                self.writable(now)
        except OSError:
            self.close()
        if not self.sock:
            return
        wanted = selectors.EVENT_READ if "never-reads" not in kind else 0
        wanted |= selectors.EVENT_WRITE if self.left or again else 0
        if wanted and wanted != self.wanted:
            self.selector.modify(self.sock, wanted, self)
        elif not wanted:
            self.selector.unregister(self.sock)
        self.wanted = wanted


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    selector = selectors.DefaultSelector()
    clients, told = [], False
    while True:
        if len(clients) < count:
            clients += [Client(selector) for _ in range(min(500, count - len(clients)))]
        for client in [c for c in clients if not c.sock][:A_TURN if told else 0]:
            client.open()
        for key, events in selector.select(0.01):
            key.data.serve(events, time.monotonic())
        if not told and len(clients) == count and sum(c.said for c in clients) >= count * 9 // 10:
            print("ready", flush=True)
            told = True
        if told:
            time.sleep(0.02)


main()
