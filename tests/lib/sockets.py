#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Both sides of tests/e2e/sockets.bats.

serve DIR LOG            the host's sockets: listed, other (stream), packets (seqpacket), mail (dgram);
                         each call is a line in LOG
talk stream|seqpacket P  connects, sends, prints the answer
flags P                  what a connection keeps of the descriptor's flags
refusals P               what a socket that nobody connected can be used for
swap LISTED OTHER        threads that exchange the address while it is looked at
places LISTED OTHER      threads that exchange the descriptor meanwhile
"""
import ctypes
import errno
import fcntl
import os
import selectors
import socket
import sys
import threading
import time

ROUNDS = 300
libc = ctypes.CDLL(None, use_errno=True)


def answer(peer):
    peer.settimeout(5)
    try:
        text = peer.recv(4096)
        if text.startswith(b"GET"):
            peer.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 6\r\n\r\nserved")
        elif text:
            peer.sendall(b"got " + text)
    except OSError:
        pass
    peer.close()


def serve(folder, log):
    kinds = {"listed": socket.SOCK_STREAM, "other": socket.SOCK_STREAM,
             "packets": socket.SOCK_SEQPACKET, "mail": socket.SOCK_DGRAM}
    ready = selectors.DefaultSelector()
    with open(log, "a", buffering=1, encoding="ascii") as out:
        for name, kind in kinds.items():
            s = socket.socket(socket.AF_UNIX, kind)
            s.bind(os.path.join(folder, name))
            if kind != socket.SOCK_DGRAM:
                s.listen(128)
            ready.register(s, selectors.EVENT_READ, name)
        print("ready", flush=True)
        while True:
            for key, _ in ready.select():
                print(key.data, file=out)
                if key.data == "mail":
                    key.fileobj.recv(4096)
                else:
                    peer, _ = key.fileobj.accept()
                    threading.Thread(target=answer, args=(peer,), daemon=True).start()


def name_of(error):
    return errno.errorcode[error] if error else "ok"


def attempt(what):
    try:
        what()
        return "ok"
    except OSError as e:
        return name_of(e.errno)


def talk(kind, path):
    kinds = {"stream": socket.SOCK_STREAM, "seqpacket": socket.SOCK_SEQPACKET}
    with socket.socket(socket.AF_UNIX, kinds[kind]) as s:
        s.connect(path)
        s.sendall(b"hello")
        print(s.recv(100).decode())


def flags(path):
    for nonblocking in (False, True):
        for cloexec in (False, True):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                s.setblocking(not nonblocking)
                s.set_inheritable(not cloexec)
                s.connect(path)
                print(bool(fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK) == nonblocking,
                      bool(fcntl.fcntl(s, fcntl.F_GETFD) & fcntl.FD_CLOEXEC) == cloexec)


def refusals(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        print(attempt(lambda: s.sendto(b"x", path)), attempt(lambda: s.sendmsg([b"x"], [], 0, path)),
              attempt(lambda: s.send(b"x")))
        s.bind("own.sock")
        print(attempt(lambda: s.listen(1)))
        os.unlink("own.sock")
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        print(attempt(lambda k=kind: socket.socket(socket.AF_UNIX, k)))
    address = b"\x01\x00" + path.encode() + b"\0"
    with open("/etc/passwd", encoding="utf-8") as f:
        for fd in (f.fileno(), 999, -1):
            libc.connect(fd, address, len(address))
            print(name_of(ctypes.get_errno()))


def connect_raw(fd, address):
    return 0 if libc.connect(fd, address, len(address)) == 0 else ctypes.get_errno()


def summarise(results):
    print("connected" if 0 in results else results, flush=True)


def rounds(results):
    """ROUNDS at least, and until the listed one was reached; bounded."""
    i, end = 0, time.monotonic() + 12
    while (i < ROUNDS or 0 not in results) and time.monotonic() < end:
        yield i
        i += 1


def swap(listed, other):
    """One thread connects, another writes one path or the other, or another family, all the time."""
    size = 110
    forms = [b"\x01\x00" + p.encode().ljust(size - 2, b"\0") for p in (listed, other)]
    forms.append(b"\x02\x00" + forms[1][2:])
    address = ctypes.create_string_buffer(forms[0], size)
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            for form in forms:
                ctypes.memmove(address, form, size)

    threads = [threading.Thread(target=exchange) for _ in range(2)]
    for t in threads:
        t.start()
    results = set()
    for _ in rounds(results):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            results.add(0 if libc.connect(s.fileno(), address, size) == 0 else ctypes.get_errno())
    stop.set()
    for t in threads:
        t.join()
    summarise(results)


def places(listed, other):
    """Connects a number whose socket others replace: by fresh ones, connected ones, Internet ones."""
    place = os.dup(0)
    stop = threading.Event()

    def exchange(make):
        while not stop.is_set():
            with make() as s:
                os.dup2(s.fileno(), place)

    def connected():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        attempt(lambda: s.connect(listed))
        return s

    makers = [lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), connected,
              lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM)]
    threads = [threading.Thread(target=exchange, args=(m,)) for m in makers]
    for t in threads:
        t.start()
    forms = [b"\x01\x00" + p.encode() + b"\0" for p in (listed, other)]
    results = set()
    for i in rounds(results):
        results.add(connect_raw(place, forms[i % 2]))
    stop.set()
    for t in threads:
        t.join()
    summarise(results)


globals()[sys.argv[1]](*sys.argv[2:])
