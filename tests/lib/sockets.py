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
names LISTED OTHER       threads that exchange what the path leads to: links, directories, files
forms P                  every form of an address: ended, padded, cut off, too long, abstract, none
makes                    what socket() takes and gives
often P N DEAD           N sockets, N calls of one whose server is gone, N connections, one after the other
edge P OTHER             addresses that end where memory does
hold P GO                a server that accepts nobody until GO is there, and whose queue is full
busy P GO                calls it, makes GO, calls it until it answers
again P READY GO         is connected, makes READY, waits for GO, calls P twice
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
SUN_PATH = 108
RENAME_EXCHANGE = 2
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


def connect_raw(fd, address, size=None):
    size = len(address) if size is None else size
    return 0 if libc.connect(fd, address, size) == 0 else ctypes.get_errno()


def call_raw(address, size=None):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        return name_of(connect_raw(s.fileno(), address, size))


def unix_address(path):
    return b"\x01\x00" + (path if isinstance(path, bytes) else path.encode())


def forms(path):
    folder, name = os.path.split(path)
    room = SUN_PATH - len(path)
    longest = folder + "/" * (1 + room % 2) + "./" * (room // 2) + name
    assert len(longest) == SUN_PATH
    plain, full = unix_address(path), unix_address(longest)
    print("ended", call_raw(plain + b"\0"), call_raw(plain), call_raw(plain + b"\0junk"))
    print("full", call_raw(full), call_raw(full[:-1]))
    print("long", *(call_raw(plain.ljust(n, b"\0")) for n in (111, 120, 128, 129, 4096)))
    print("longer", *(call_raw(full.ljust(n, b"/")) for n in (111, 128)))
    print("short", *(call_raw(plain, n) for n in (0, 1, 2, -1)))
    print("abstract", call_raw(unix_address(b"\0" + path.encode())), call_raw(plain[:2] + b"\0"))
    print("memory", call_raw(None, 20), call_raw(ctypes.c_void_p(-4096), 20))
    print("family", *(call_raw(bytes([n, 0]) + plain[2:] + b"\0") for n in (0, 2, 3, 255)))
    print("files", *(call_raw(unix_address(p + "\0")) for p in ("/etc/passwd", "/", "/none", ".")))


def edge(path, other):
    """Addresses before a page that is not there: the whole of what is said to be one must be."""
    page = os.sysconf("SC_PAGESIZE")
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    start = libc.mmap(None, 2 * page, 3, 0x22, -1, 0)
    libc.munmap(start + page, page)
    for target in (path, other):
        text = unix_address(target + "\0")
        at = start + page - len(text)
        ctypes.memmove(at, text, len(text))
        print(call_raw(ctypes.c_void_p(at), len(text)), call_raw(ctypes.c_void_p(at), 110),
              call_raw(ctypes.c_void_p(at), len(text) + 1))


def makes():
    def made(kind, protocol=0):
        fd = libc.socket(socket.AF_UNIX, kind, protocol)
        if fd < 0:
            return name_of(ctypes.get_errno())
        found = (bool(fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK),
                 bool(fcntl.fcntl(fd, fcntl.F_GETFD) & fcntl.FD_CLOEXEC))
        os.close(fd)
        return "ok" if found == (bool(kind & socket.SOCK_NONBLOCK), bool(kind & socket.SOCK_CLOEXEC)) else found

    for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        print(made(kind), made(kind | socket.SOCK_NONBLOCK), made(kind | socket.SOCK_CLOEXEC),
              made(kind | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC), made(kind, socket.AF_UNIX),
              made(kind | 0x100), made(kind | 0x40000000), made(kind, 6), made(kind, -1))
    print(*(made(kind) for kind in (0, 2, 3, 4, 6, 10, 15)))


def often(path, count, dead):
    for _ in range(int(count)):
        socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()
    for _ in range(int(count)):
        assert call_raw(unix_address(dead)) == "ECONNREFUSED"
    for _ in range(int(count)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.connect(path)
            s.shutdown(socket.SHUT_WR)
            assert s.recv(1) == b""
    print("done")


def wait_file(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def hold(path, go):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.bind(path)
        s.listen(0)
        held = []
        while not held or attempt(lambda: held[-1].connect(path)) == "ok":
            held.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK))
        print("ready", flush=True)
        wait_file(go)
        while True:
            peer, _ = s.accept()
            threading.Thread(target=answer, args=(peer,), daemon=True).start()


def busy(path, go):
    def call(blocking):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            s.setblocking(blocking)
            return attempt(lambda: s.connect(path))

    print(call(True), call(False), flush=True)
    with open(go, "w", encoding="ascii"):
        pass
    while call(True) != "ok":
        pass
    print("ok")


def again(path, ready, go):
    talk("stream", path)
    with open(ready, "w", encoding="ascii"):
        pass
    wait_file(go)
    for _ in range(2):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            print(attempt(lambda: s.connect(path)))


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


def names(listed, other):
    """Connects to a name that leads now to one, now to the other, at any step of the way."""
    for i, target in enumerate((listed, other)):
        os.mkdir(f"way{i}")
        os.symlink(target, f"way{i}/end")
        os.symlink(target, f"link{i}")
    os.symlink("link0", "chain")
    stop = threading.Event()

    def exchange():
        while not stop.is_set():
            libc.renameat2(-100, b"way0", -100, b"way1", RENAME_EXCHANGE)
            libc.renameat2(-100, b"link0", -100, b"link1", RENAME_EXCHANGE)

    threads = [threading.Thread(target=exchange) for _ in range(2)]
    for t in threads:
        t.start()
    ways = [unix_address(p + "\0") for p in ("way0/end", "link0", "chain", "way1/../link1")]
    results = set()
    for i in rounds(results):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
            results.add(connect_raw(s.fileno(), ways[i % len(ways)]))
    stop.set()
    for t in threads:
        t.join()
    summarise(results)


globals()[sys.argv[1]](*sys.argv[2:])
