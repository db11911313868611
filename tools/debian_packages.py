# SPDX-License-Identifier: Apache-2.0
"""Debian packages of another release or CPU, unpacked beside the machine's own.

apt does the fetching and checks the archive's signatures, with lists and settings of its own in the user's
cache: neither the machine's sources nor what is installed on it change, and nobody has to be root. Nothing
of a package is run; its files are unpacked.
"""
import contextlib
import fcntl
import os
import pathlib
import shutil
import subprocess
import threading
import time

MIRROR = "http://deb.debian.org/debian"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
LISTS_LAST = 86400  # seconds
FETCH_LIMIT = 600
SETTINGS = """\
Dir "{home}";
Dir::State "{home}/state";
Dir::State::status "{home}/state/status";
Dir::Cache "{home}/cache";
Dir::Etc "{home}/etc";
Dir::Etc::sourcelist "{home}/etc/sources.list";
APT::Architecture "{arch}";
APT::Architectures {{ "{arch}"; }};
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
"""


class Unavailable(Exception):
    """What was wanted cannot be had here; says why."""


def cache():
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "agentbox"


class Archive:
    """One release (a suite of Debian's archive) for one CPU (by Debian's name)."""

    def __init__(self, suite, arch):
        self.suite, self.arch = suite, arch
        self.home = cache() / "debian" / f"{suite}-{arch}"
        for tool in ("apt-get", "dpkg-deb"):
            if shutil.which(tool) is None:
                raise Unavailable(f"no {tool} here")
        if not os.path.exists(KEYS):
            raise Unavailable(f"no {KEYS} (package debian-archive-keyring)")
        for part in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"):
            (self.home / part).mkdir(parents=True, exist_ok=True)
        (self.home / "state/status").touch()
        self.write("etc/sources.list", f"deb [signed-by={KEYS}] {MIRROR} {suite} main\n")
        self.write("apt.conf", SETTINGS.format(home=self.home, arch=arch))

    def write(self, name, text):
        """In one step: somebody else may be reading it."""
        new = self.home / f"{name}.{os.getpid()}.{threading.get_native_id()}"
        new.write_text(text)
        new.rename(self.home / name)

    @contextlib.contextmanager
    def locked(self):
        with open(self.home / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def apt(self, *words, cwd=None):
        env = dict(os.environ, APT_CONFIG=str(self.home / "apt.conf"), LC_ALL="C")
        try:
            done = subprocess.run(words, env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, errors="replace", timeout=FETCH_LIMIT, check=False)
        except subprocess.TimeoutExpired as late:
            raise Unavailable(f"{' '.join(words)}: not done after {FETCH_LIMIT} s") from late
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.startswith("E:")] or ["failed"]
            raise Unavailable(f"{' '.join(words)}: {said[0]}")
        return done.stdout

    def refresh(self):
        """The lists, at most once a day."""
        stamp = self.home / "fresh"
        if not stamp.exists() or time.time() - stamp.stat().st_mtime > LISTS_LAST:
            self.apt("apt-get", "-qq", "--error-on=any", "update")
            stamp.touch()

    def depends(self, name):
        """What a package needs, by name."""
        with self.locked():
            self.refresh()
            found = self.apt("apt-cache", "depends", "--important", name)
        return [line.split()[-1] for line in found.splitlines() if "Depends: " in line]

    def unpacked(self, *names, only="*"):
        """A directory with the files of these packages whose path ("./usr/…") matches; fetched once."""
        root = self.home / "unpacked" / "+".join(names)
        with self.locked():
            if not root.exists():
                self.refresh()
                with self.scratch() as new:
                    self.apt("apt-get", "-qq", "download", *names, cwd=new)
                    for package in sorted(new.glob("*.deb")):
                        self.unpack(package, new / "root", only)
                    root.parent.mkdir(exist_ok=True)
                    (new / "root").rename(root)
        return root

    def unpack(self, package, to, only):
        to.mkdir(exist_ok=True)
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE) as files:
            done = subprocess.run(["tar", "-x", "-C", to, "--no-same-owner", "--wildcards", only],
                                  stdin=files.stdout, check=False)
        if files.returncode != 0 or done.returncode != 0:
            raise Unavailable(f"{package.name}: cannot be unpacked")

    @contextlib.contextmanager
    def scratch(self):
        new = self.home / "scratch"  # ours alone, by the lock
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir()
        try:
            yield new
        finally:
            shutil.rmtree(new, ignore_errors=True)
