#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A person at a terminal: starts a command on a new one and follows a script.

usage: terminal.py [--size ROWSxCOLS] COMMAND [ARGUMENT…] < SCRIPT

The script has one step a line:
    expect REGEX     reads until it comes (15 s at most), and forgets what came before
    refuse REGEX     reads for half a second; it must not come
    send TEXT        types it; Python's escapes count (\\x03 is Ctrl-C, \\r is Return)
    rest             reads and types nothing for a moment, as somebody who reads a question does
    size ROWS COLS   resizes the terminal
    signal NAME      to the command that was started
    hangup           closes the terminal
    shell TEXT       runs it somewhere else, meanwhile
    exit STATUS      the command ends with that status (-N: by signal N)
Lines that are empty or start with # are skipped. What the screen showed is printed at the end when a
step fails.
"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

LIMIT = 15.0


class Failed(Exception):
    pass


class Terminal:
    def __init__(self, size, command):
        self.seen = self.fresh = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            try:
                os.execvp(command[0], command)
            except OSError:
                os._exit(127)
        self.resize(*size)

    def resize(self, rows, cols):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))

    def read(self, seconds):
        """False when nothing came in time or the other side is closed."""
        if self.fd < 0 or not select.select([self.fd], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.seen += data
        self.fresh += data
        return bool(data)

    def expect(self, regex):
        end = time.monotonic() + LIMIT
        while True:
            found = re.search(regex.encode(), self.fresh)
            if found:
                self.fresh = self.fresh[found.end():]
                return
            if not self.read(end - time.monotonic()):
                raise Failed(f"did not come: {regex}")

    def refuse(self, regex):
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            self.read(end - time.monotonic())
            if re.search(regex.encode(), self.fresh):
                raise Failed(f"came, but must not: {regex}")

    def hangup(self):
        os.close(self.fd)
        self.fd = -1

    def wait(self, wanted):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                while self.read(0):
                    pass
                if self.status != wanted:
                    raise Failed(f"ended with {self.status}, not {wanted}")
                return
            self.read(0.02) if self.fd >= 0 else time.sleep(0.02)
        raise Failed(f"has not ended after {LIMIT} s")

    def step(self, word, rest):
        if word == "expect":
            self.expect(rest)
        elif word == "refuse":
            self.refuse(rest)
        elif word == "send":
            os.write(self.fd, rest.encode().decode("unicode_escape").encode("latin-1"))
        elif word == "rest":
            time.sleep(1.2)
        elif word == "size":
            self.resize(*map(int, rest.split()))
        elif word == "signal":
            os.kill(self.pid, signal.Signals["SIG" + rest])
        elif word == "hangup":
            self.hangup()
        elif word == "shell":
            subprocess.run(["sh", "-c", rest], check=True)
        elif word == "exit":
            self.wait(int(rest))
        else:
            raise Failed(f"no step '{word}'")

    def end(self):
        if self.status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def main():
    args, size = sys.argv[1:], (24, 80)
    if args and args[0] == "--size":
        size, args = tuple(map(int, args[1].split("x"))), args[2:]
    script = sys.stdin.read().splitlines()
    terminal = Terminal(size, args)
    try:
        for number, line in enumerate(script, 1):
            word, _, rest = line.strip().partition(" ")
            if word and not word.startswith("#"):
                try:
                    terminal.step(word, rest)
                except Failed as e:
                    print(f"step {number} ({line.strip()}): {e}; the screen showed:")
                    print(terminal.seen.decode(errors="backslashreplace"))
                    return 1
        return 0
    finally:
        terminal.end()


if __name__ == "__main__":
    sys.exit(main())
