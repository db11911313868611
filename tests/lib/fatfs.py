#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A file system as FAT and shares of other machines are: one mode for all, no sockets, no links.

usage: fatfs.py [--any-case] DIRECTORY MOUNTPOINT UID

Shows DIRECTORY at MOUNTPOINT, by the kernel's FUSE, as root, until it is unmounted or its parent ends. Only what a
small project needs. --any-case: names are found in any case, as a share of Windows or of a Mac does it.
"""
import ctypes
import errno
import os
import signal
import stat
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, MKNOD, MKDIR, UNLINK, RMDIR, RENAME = 1, 2, 3, 4, 8, 9, 10, 11, 12
SYMLINK, LINK, OPEN, READ, WRITE, STATFS, RELEASE, FLUSH, INIT = 6, 13, 14, 15, 16, 17, 18, 25, 26
OPENDIR, READDIR, RELEASEDIR, CREATE, INTERRUPT, BATCH_FORGET, RENAME2 = 27, 28, 29, 35, 36, 42, 45
ROOT, MODE, MS_NOSUID_NODEV, PR_SET_PDEATHSIG = 1, 0o755, 6, 1


class Tree:
    def __init__(self, directory, uid, any_case):
        self.directory, self.uid, self.any_case = directory, uid, any_case
        self.names, self.nodes, self.last = {ROOT: "."}, {".": ROOT}, ROOT

    def path(self, node, name=b""):
        name = os.fsdecode(name.split(b"\0")[0])
        if self.any_case and name:
            there = os.listdir(self.real(self.names[node]))
            name = next((n for n in there if n.lower() == name.lower()), name)
        return os.path.normpath(os.path.join(self.names[node], name))

    def real(self, path):
        return os.path.join(self.directory, path)

    def attributes(self, path):
        st = os.lstat(self.real(path))
        times = [int(t) for t in (st.st_atime, st.st_mtime, st.st_ctime)]
        return struct.pack("<6Q10I", st.st_ino, st.st_size, st.st_blocks, *times, 0, 0, 0,
                           stat.S_IFMT(st.st_mode) | MODE, 1, self.uid, self.uid, 0, 512, 0)

    def entry(self, path):
        attributes = self.attributes(path)
        if path not in self.nodes:
            self.last += 1
            self.nodes[path], self.names[self.last] = self.last, path
        return struct.pack("<4QII", self.nodes[path], 0, 0, 0, 0, 0) + attributes

    def set(self, node, body):
        valid, size, seconds = *struct.unpack("<I12xQ", body[:24]), struct.unpack("<Q", body[40:48])[0]
        path = self.real(self.names[node])
        if valid & 1 and struct.unpack("<I", body[68:72])[0] & 0o7777 != MODE:
            raise OSError(errno.EPERM, "one mode for all")
        if valid & 8:
            os.truncate(path, size)
        if valid & 32 and not valid & 256:
            os.utime(path, (seconds, seconds))
        return struct.pack("<QII", 0, 0, 0) + self.attributes(self.names[node])

    def make(self, op, node, body):
        skip = {MKDIR: 8, MKNOD: 16, CREATE: 16}[op]
        path, flags = self.path(node, body[skip:]), struct.unpack("<I", body[:4])[0]
        if op == MKDIR:
            os.mkdir(self.real(path), MODE)
            return self.entry(path)
        if op == MKNOD and not stat.S_ISREG(flags):
            raise OSError(errno.EPERM, "files and directories only")
        flags = os.O_EXCL if op == MKNOD else flags & ~os.O_APPEND
        fd = os.open(self.real(path), flags | os.O_CREAT, MODE)
        if op == CREATE:
            return self.entry(path) + struct.pack("<QII", fd, 0, 0)
        os.close(fd)
        return self.entry(path)

    def remove(self, op, node, body):
        path = self.path(node, body)
        (os.rmdir if op == RMDIR else os.unlink)(self.real(path))
        self.nodes.pop(path, None)
        return b""

    def rename(self, op, node, body):
        to, flags = struct.unpack("<QI4x", body[:16]) if op == RENAME2 else (*struct.unpack("<Q", body[:8]), 0)
        old, new = body[16 if op == RENAME2 else 8:].split(b"\0")[:2]
        old, new = self.path(node, old), self.path(to, new)
        if flags > 1:
            raise OSError(errno.EINVAL, "no exchange")
        if flags and os.path.lexists(self.real(new)):
            raise OSError(errno.EEXIST, "there")
        os.rename(self.real(old), self.real(new))
        self.nodes.pop(new, None)
        for path, n in [(p, n) for p, n in self.nodes.items() if p == old or p.startswith(old + "/")]:
            del self.nodes[path]
            self.names[n] = new + path[len(old):]
            self.nodes[self.names[n]] = n
        return b""

    def list(self, node, body):
        offset, size = struct.unpack("<8xQI", body[:20])
        found = [(".", 4), ("..", 4)]
        found += [(e.name, 4 if e.is_dir() else 8) for e in sorted(os.scandir(self.real(self.names[node])), key=lambda e: e.name)]
        out = b""
        for i, (name, kind) in enumerate(found[offset:], offset + 1):
            name = os.fsencode(name)
            one = struct.pack("<QQII", i, i, len(name), kind) + name
            one += b"\0" * (-len(one) % 8)
            if len(out) + len(one) > size:
                break
            out += one
        return out

    def answer(self, op, node, body):
        if op == INIT:
            return struct.pack("<4IHHIIHH", 7, 31, 65536, 0, 0, 0, 65536, 1, 0, 0) + b"\0" * 28
        if op == LOOKUP:
            return self.entry(self.path(node, body))
        if op == GETATTR:
            return struct.pack("<QII", 0, 0, 0) + self.attributes(self.names[node])
        if op == SETATTR:
            return self.set(node, body)
        if op in (MKDIR, MKNOD, CREATE):
            return self.make(op, node, body)
        if op in (UNLINK, RMDIR):
            return self.remove(op, node, body)
        if op in (RENAME, RENAME2):
            return self.rename(op, node, body)
        if op in (OPEN, OPENDIR):
            flags = struct.unpack("<I", body[:4])[0] & (os.O_ACCMODE | os.O_TRUNC) if op == OPEN else 0
            return struct.pack("<QII", os.open(self.real(self.names[node]), flags), 0, 0)
        if op == READDIR:
            return self.list(node, body)
        if op in (READ, WRITE):
            fd, offset, size = struct.unpack("<QQI", body[:20])
            if op == READ:
                return os.pread(fd, size, offset)
            return struct.pack("<II", os.pwrite(fd, body[40:40 + size], offset), 0)
        if op in (RELEASE, RELEASEDIR):
            os.close(struct.unpack("<Q", body[:8])[0])
            return b""
        if op == STATFS:
            return struct.pack("<5Q4I", 1 << 20, 1 << 19, 1 << 19, 1 << 20, 1 << 19, 4096, 255, 4096, 0) + b"\0" * 24
        if op == FLUSH:
            return b""
        raise OSError(errno.EPERM if op in (SYMLINK, LINK) else errno.ENOSYS, "not here")


def main():
    directory, mountpoint, uid = sys.argv[-3:]
    tree, device = Tree(directory, int(uid), "--any-case" in sys.argv), os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if libc.mount(b"fatfs", mountpoint.encode(), b"fuse", MS_NOSUID_NODEV, options.encode()) != 0:
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError as e:
            if e.errno in (errno.EINTR, errno.ENOENT):
                continue
            return
        length, op, unique, node = struct.unpack("<IIQQ", request[:24])
        if op in (FORGET, BATCH_FORGET, INTERRUPT):
            continue
        try:
            out, error = tree.answer(op, node, request[40:length]), 0
        except OSError as e:
            out, error = b"", -e.errno
        try:
            os.write(device, struct.pack("<IiQ", 16 + len(out), error, unique) + out)
        except FileNotFoundError:  # whoever asked has gone
            pass


main()
