#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which rule decides a path, asked of the kernel.

usage: access.py check AGENTBOX DIR SEED ROUNDS     access.py try LIST

check makes random trees (odd names, symlinks, hard links) and random rules (exact, patterns,
nested, absent), lets one sandbox each try every path, and compares with a model of the table: the
longest path wins, then an exact one, then the later layer, then the stricter. In every third round
names are protected: that may only narrow, hides nothing, and leaves no way to change such a name.
Prints the seed and what differs; a round is repeated by giving its seed and 1. try is the part
inside: for each path of the list it tries to read, write, create, rename and unlink, undoes what
worked, and prints letters.

Whoever else gives verdicts about paths is put to the same test by a function in JUDGES: `agentbox
why` where the program has it.
"""
import collections
import json
import os
import random
import re
import shutil
import subprocess
import sys

EXCLUDE, RO, RW = 0, 1, 2
OPTION = {EXCLUDE: b"--exclude", RO: b"--ro", RW: b"--rw"}
NAMES = [b"a", b"b", b"c", b"a-", b"ab", b"z", b"[z]", b"x y", b"new\nline", b"\xff\xfe", b"-d",
         b"st*r", b"q?", b"back\\s", b".hid", b"$(x)", b"'\"", b".envrc", b".vscode", b".mcp.json"]
PROTECTED = NAMES[-3:]
HOLDS_LINKS = os.environ.get("BACKEND") != "bwrap"  # else the gap "links"


# ---- inside -------------------------------------------------------------------------------------

def works(action):
    """Whether the system lets it happen."""
    try:
        action()
        return True
    except OSError:
        return False


def try_path(path):
    """The letters of what can be done with a path."""
    done = ""
    made, moved = path + b"/zz-new", path + b".mv"
    folder = os.path.isdir(path) and not os.path.islink(path)

    def read():
        if os.path.isdir(path):
            os.listdir(path)
        else:
            with open(path, "rb") as file:
                file.read()

    def create():
        os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        os.unlink(made)

    def rename():
        os.rename(path, moved)
        os.rename(moved, path)

    def unlink():
        target = os.readlink(path) if os.path.islink(path) else None
        os.unlink(path)
        if target is None:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
        else:
            os.symlink(target, path)

    if works(read):
        done += "r"
    if not os.path.isdir(path) and works(lambda: os.close(os.open(path, os.O_WRONLY))):
        done += "w"
    if folder and works(create):
        done += "c"
    if works(rename):
        done += "m"
    if not folder and works(unlink):
        done += "u"
    return done


def try_make(path):
    """An absent name: as a file and as a directory."""
    file = works(lambda: os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)))
    if file:
        os.unlink(path)
    folder = works(lambda: os.mkdir(path))
    if folder:
        os.rmdir(path)
    return "n" * (file + folder)


def role_try(path):
    """One line of letters for each entry of the list."""
    with open(path, "rb") as file:
        entries = file.read().split(b"\0")[:-1]
    for entry in entries:
        print((try_make if entry[:1] == b"N" else try_path)(entry[1:]) or "-")


# ---- the world ----------------------------------------------------------------------------------

class World:
    """A random tree with random rules."""

    def __init__(self, rng, top):
        self.rng, self.top = rng, top
        self.folders, self.files, self.links = [top], [], {}
        self.rules = []

    def make_tree(self):
        rng = self.rng
        os.mkdir(self.top)
        for _ in range(rng.randrange(10, 45)):
            parent = rng.choice(self.folders)
            path = parent + b"/" + rng.choice(NAMES)
            if os.path.lexists(path) or parent.count(b"/") - self.top.count(b"/") > 4:
                continue
            kind = rng.randrange(12)
            if kind < 6:
                os.mkdir(path)
                self.folders.append(path)
            elif kind < 10 or not self.files:
                with open(path, "wb") as file:
                    file.write(b"data")
                self.files.append(path)
            elif kind == 10:
                os.link(rng.choice(self.files), path)
                self.files.append(path)
            else:
                target = rng.choice(self.folders[1:] + self.files)
                relative = os.path.relpath(target, parent)
                os.symlink(rng.choice([target, relative]), path)
                self.links[path] = target

    def everything(self):
        return self.folders + self.files + list(self.links)

    def add_rule(self):
        rng = self.rng
        access = rng.randrange(3)
        path = rng.choice(self.folders[1:] + self.files)
        kind = rng.randrange(10)
        if kind < 2 and self.links and access == EXCLUDE:
            path = rng.choice(list(self.links))
        elif kind < 4:
            path = rng.choice(self.folders) + b"/" + b"/".join([b"gone"] * rng.randrange(1, 3))
        elif kind < 8:
            path = self.pattern(path)
        elif kind == 8 and access != EXCLUDE:
            path = self.top
        rule = Rule(self, access, path)
        # A grant through a symlink is refused, or left out, and has tests of its own. A link below
        # another match says nothing new, and whether it is looked at is open.
        if not rule.pins or (access == EXCLUDE and not rule.nested_pins()):
            if rng.randrange(2) and rule.text != self.top:
                rule.text = rule.text[len(self.top) + 1:]
                if rule.text[:1] in b"~-$":
                    rule.text = b"./" + rule.text
            self.rules.append(rule)

    def pattern(self, path):
        """Something that matches path, and likely others."""
        rng = self.rng
        parts = path[len(self.top) + 1:].split(b"/")
        parts = [re.sub(rb"([*?\[\\])", rb"\\\1", part) for part in parts]
        for _ in range(rng.randrange(1, 3)):
            at = rng.randrange(len(parts))
            parts[at] = rng.choice([b"*", b"?*", b"[ab]*", b"[!a]*", b"**", b"*" + parts[at][-1:]])
            if parts[at][-1:] == b"\\":
                parts[at] = b"*"
        if rng.randrange(4) == 0:
            parts.insert(0, b"**")
        if rng.randrange(6) == 0:
            parts.append(b"**")
        return self.top + b"/" + b"/".join(parts)


def component(pattern):
    """A component of a pattern as a regular expression."""
    out, i = b"", 0
    while i < len(pattern):
        char = pattern[i:i + 1]
        i += 1
        if char == b"*":
            out += b".*"
        elif char == b"?":
            out += b"."
        elif char == b"[":
            end = pattern.index(b"]", i + 1)
            out += b"[" + pattern[i:end].replace(b"!", b"^", 1) + b"]"
            i = end + 1
        else:
            if char == b"\\":
                char = pattern[i:i + 1]
                i += 1
            out += re.escape(char)
    return re.compile(out + rb"\Z", re.S)


def matches(parts, names):
    """Whether a pattern fits a path, both as lists; by trying every way."""
    if not parts:
        return not names
    if parts[0] == b"**":
        if len(parts) == 1:
            return bool(names)
        return any(matches(parts[1:], names[i:]) for i in range(len(names) + 1))
    return (bool(names) and bool(component(parts[0]).match(names[0]))
            and matches(parts[1:], names[1:]))


class Rule:
    """A rule and the paths that it speaks about: path -> whether it came from a pattern."""

    def __init__(self, world, access, text):
        self.access, self.text = access, text
        self.layer = 4
        self.paths, self.pins = {}, set()
        self.is_pattern = any(c in text for c in b"*?[\\")
        if not self.is_pattern or os.path.lexists(text):
            self.claim(world, text)
            if access == RW or not self.is_pattern:
                return
        for path in world.everything():
            if path != world.top and matches(text[len(world.top) + 1:].split(b"/"),
                                             path[len(world.top) + 1:].split(b"/")):
                self.claim(world, path)

    def claim(self, world, path):
        if path in world.links:
            self.pins.add(path)
            path = world.links[path]
        self.paths[path] = self.is_pattern

    def nested_pins(self):
        return any(pin.startswith(path + b"/") for pin in self.pins for path in self.paths)


class Model:
    """The table, word by word."""

    def __init__(self, world, rules):
        self.world = world
        self.claims = [(path, not glob, rule.layer, -rule.access)
                       for rule in rules for path, glob in rule.paths.items()]
        self.pins = set().union(*[rule.pins for rule in rules]) if rules else set()
        self.held = set()
        for path, *_ in self.claims:
            if not os.path.lexists(path) and self.verdict(path) != RW:
                while not os.path.lexists(os.path.dirname(path)):
                    path = os.path.dirname(path)
                self.held.add(path)

    def verdict(self, path):
        best = None
        for claim in self.claims:
            if path == claim[0] or path.startswith(claim[0] + b"/"):
                rank = (len(claim[0]),) + claim[1:]
                best = rank if best is None or rank > best else best
        return RO if best is None else -best[3]

    def may_move(self, path):
        """An entry that nothing is mounted on, or below."""
        inside = [p for p in self.world.everything() if p == path or p.startswith(path + b"/")]
        return (path != self.world.top and self.verdict(os.path.dirname(path)) == RW
                and all(self.verdict(p) == RW for p in inside if p not in self.world.links)
                and not any(p in self.pins for p in inside if HOLDS_LINKS or p != path or p not in self.world.links)
                and not any(p.startswith(path + b"/") for p in self.held))

    def letters(self, path):
        link = self.world.links.get(path)
        folder = path in self.world.folders
        access = self.verdict(link or path)
        if link and self.verdict(os.path.dirname(path)) == EXCLUDE:
            return ""
        done = "r" if access != EXCLUDE else ""
        if access == RW:
            done += "c" if folder else "w" if link not in self.world.folders else ""
        moves = self.may_move(path)
        return done + ("m" if moves else "") + ("u" if moves and not folder else "")

    def make(self, path):
        free = self.verdict(os.path.dirname(path)) == RW and path not in self.held
        return "nn" if free else ""


class Protected(Model):
    """The same with protected names: what is allowed at most, and what must not be."""

    def is_protected(self, path):
        """Below the top, and no rule but those about the top speaks about it."""
        below = path[len(self.world.top) + 1:].split(b"/")
        name = next((i for i, part in enumerate(below) if part in PROTECTED), None)
        return (name is not None and name <= 5 and self.verdict(self.world.top) == RW
                and not any(path == claim[0] or path.startswith(claim[0] + b"/")
                            for claim in self.claims if claim[0] != self.world.top))

    def agrees(self, path, letters):
        most = super().letters(path)
        if self.is_protected(path) and path not in self.world.links:
            return letters.replace("-", "") == most.replace(most.lstrip("r"), "")
        return set(letters) - {"-"} <= set(most) and ("r" in letters) == ("r" in most)


# ---- judges -------------------------------------------------------------------------------------

Run = collections.namedtuple("Run", "agentbox options world rules names entries said")


def judge_model(run):
    """What the model would have said, where the kernel says otherwise."""
    model = (Protected if run.names else Model)(run.world, run.rules)
    for entry, letters in zip(run.entries, run.said):
        path = entry[1:]
        if entry[:1] == b"N":
            right = model.make(path) or "-"
            if not run.names and letters != right:
                yield path, letters, "model " + right
        elif run.names:
            if not model.agrees(path, letters):
                yield path, letters, "with names protected"
        elif letters != (model.letters(path) or "-"):
            yield path, letters, "model " + model.letters(path)


def judge_why(run):
    """The same for `why read` and `why write`."""
    if subprocess.run([run.agentbox, b"help", b"why"], capture_output=True, check=False).returncode:
        return
    for word, signs in ((b"read", "r"), (b"write", "wcn")):
        tried = [(entry[1:], letters) for entry, letters in zip(run.entries, run.said)
                 if word == b"read" and entry[:1] == b"P"
                 or word == b"write" and entry[1:] not in run.world.links]
        result = subprocess.run(
            [run.agentbox, b"why", *run.options, b"--json", word, *[path for path, _ in tried]],
            cwd=run.world.top, capture_output=True, check=False)
        lines = result.stdout.decode(errors="replace").splitlines()
        if len(lines) != len(tried):
            yield word, str(len(tried)), "why: " + result.stderr.decode(errors="replace")
            return
        for (path, letters), line in zip(tried, lines):
            verdict = json.loads(line)["verdict"]
            if (verdict == "allow") != any(sign in letters for sign in signs):
                yield path, letters, f"why {word.decode()}: {verdict}"


JUDGES = [judge_model, judge_why]


# ---- outside ------------------------------------------------------------------------------------

def entries_of(world):
    """What is tried: all that exists, and the first missing part of what does not."""
    absent = set()
    for rule in world.rules:
        for path in rule.paths:
            if os.path.lexists(path):
                continue
            while not os.path.lexists(os.path.dirname(path)):
                path = os.path.dirname(path)
            absent.add(path)
    return [b"P" + p for p in world.everything()] + [b"N" + p for p in sorted(absent)]


def one_round(agentbox, place, seed):
    """A number of differences."""
    rng = random.Random(seed)
    shutil.rmtree(place + b"/tree", ignore_errors=True)
    world = World(rng, place + b"/tree")
    world.make_tree()
    for _ in range(rng.randrange(1, 11) if len(world.everything()) > 1 else 0):
        world.add_rule()
    rules, options = list(world.rules), []
    if rng.randrange(3):
        own = Rule(world, RW, world.top)  # @base: weaker than what is written
        own.layer = 0
        rules.append(own)
        options = [b"--set", b"filesystem.presets=@base"]
    for rule in world.rules:
        options += [OPTION[rule.access], rule.text]
    entries = entries_of(world)
    with open(place + b"/list", "wb") as file:
        file.write(b"".join(entry + b"\0" for entry in entries))
    names = seed % 3 == 0
    options = [b"--set", b"filesystem.presets=!@all", *options, b"--set",
               b"filesystem.autoProtectDangerousFiles=" + (b"true" if names else b"false")]
    result = subprocess.run(
        [agentbox, b"run", b"-q", *options, b"--", sys.executable.encode(), b"-S",
         os.path.abspath(__file__).encode(), b"try", place + b"/list"],
        cwd=world.top, capture_output=True, check=False, timeout=60)
    said = result.stdout.decode().split()
    if result.returncode != 0 or len(said) != len(entries):
        print(f"seed {seed}: ended with {result.returncode}: {result.stderr.decode()}", options)
        return 1
    wrong = 0
    for judge in JUDGES:
        run = Run(agentbox, options, world, rules, names, entries, said)
        for path, letters, right in judge(run):
            wrong += 1
            print(f"seed {seed}: {path!r}: kernel {letters}, {right}")
    if wrong:
        print(f"seed {seed}:", *options, sep="\n    ")
    return wrong


def role_check(agentbox, place, seed, rounds):
    """Seeds follow each other, so that any one can be repeated alone."""
    print(f"seed {seed}, {rounds} rounds")
    return any([one_round(os.fsencode(agentbox), os.fsencode(place), int(seed) + i)
                for i in range(int(rounds))])


if __name__ == "__main__":
    if sys.argv[1] == "try":
        sys.exit(role_try(os.fsencode(sys.argv[2])))
    sys.exit(role_check(*sys.argv[2:]))
