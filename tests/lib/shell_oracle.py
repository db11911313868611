#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bash as the oracle of the shell reader.

shell_oracle.py match CALLS LOG SCRIPT   every command of the log is among the calls of the script
shell_oracle.py accepts CALLS FILE…      what `bash -n` accepts is read: counts, and a rate
shell_oracle.py refuses CALLS TABLE      what `bash -n` refuses is not read, row by row

CALLS is the program shell-calls. The log has, for each command, the number of its words and the
words, each followed by a NUL. TABLE is tests/classify/shell.tsv; refuses also takes every prefix of
its texts, which are full of unfinished constructs.
"""
import concurrent.futures
import re
import subprocess
import sys
import urllib.parse

UNKNOWN, SPLITS, GLOB, TILDE = 0x1, 0x2, 0x4, 0x10
HOLE = b"\x01"

# What bash refuses and the reader does not, and why.
REFUSED_BUT_READ = [
    (re.compile(rb"[?*+@!]\([^)]*\)"), "a pattern that bash has only with extglob"),
]
# What bash refuses with -n although it runs it, line by line.
ACCEPTED_LATER = re.compile(rb"shopt -s extglob")


def word_pattern(flags, text, home):
    """The words of a run, each with a NUL behind it, that this word may have become."""
    if flags & (SPLITS | GLOB):
        return b"(?:[^\\x00]*\\x00)*?"
    pattern = b"[^\\x00]*".join(re.escape(p) for p in text.split(HOLE))
    if flags & TILDE and text[:1] == b"~":
        pattern = re.escape(home) + pattern[len(re.escape(b"~")):]
    return pattern + b"\\x00"


def parse_calls(program, path):
    out = subprocess.run([program, "-w", path], stdout=subprocess.PIPE, check=True).stdout
    lines = out.split(b"\n")
    calls = []
    for line in lines[:-2]:
        words = []
        for word in line.split():
            flags, _, text = word.partition(b":")
            words.append((int(flags, 16), urllib.parse.unquote_to_bytes(text)))
        calls.append(words)
    return calls, lines[-2]


def log_commands(path):
    with open(path, "rb") as file:
        items = file.read().split(b"\0")[:-1]
    while items:
        count = int(items[0])
        yield items[1:1 + count]
        items = items[1 + count:]


def match(program, log, script, home):
    calls, result = parse_calls(program, script)
    if not result.endswith(b": ok"):
        print(result.decode())
        return 1
    patterns = []
    for words in calls:
        while words and words[0][1] in (b"command", b"builtin", b"exec", b"nohup"):
            words = words[1:]
        patterns.append(re.compile(b"".join(word_pattern(f, t, home) for f, t in words)))
    missing = seen = 0
    for command in log_commands(log):
        text = b"".join(word + b"\0" for word in command)
        seen += 1
        if not any(p.fullmatch(text) for p in patterns):
            print(f"{script}: bash ran {command}, which is not among the calls")
            missing += 1
    if seen == 0:
        print(f"{script}: bash ran nothing")
    return 1 if missing or seen == 0 else 0


def bash_accepts(text, *options):
    done = subprocess.run(["bash", *options, "-n"], input=text, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    # An unfinished here-document is only a warning.
    return done.returncode == 0 and b"here-document" not in done.stderr


def reader_accepts(program, text):
    out = subprocess.run([program, "-"], input=text, stdout=subprocess.PIPE, check=True).stdout
    return out.endswith(b"= -: ok\n"), out.split(b"\n")[-2].decode(errors="replace")


def accepts(program, paths):
    read = refused = 0
    for path in paths:
        with open(path, "rb") as file:
            text = file.read()
        options = ["-O", "extglob"] if ACCEPTED_LATER.search(text) else []
        if len(text) >= 1 << 20 or not bash_accepts(text, *options):
            continue
        ok, result = reader_accepts(program, text)
        if ok:
            read += 1
        else:
            refused += 1
            print(f"# {path}{result[3:]}")
    total = read + refused
    rate = 100 * read / total if total else 0
    print(f"# {read} of {total} scripts read, {rate:.1f} %")
    return 0 if total and rate >= 97 else 1


def table_texts(path):
    with open(path, "rb") as file:
        for line in file.read().split(b"\n"):
            if b"\t" in line and not line.startswith(b"#"):
                text = line.split(b"\t")[0]
                yield text.decode().encode("latin1", "ignore").decode("unicode_escape").encode()


def refuses(program, path):
    texts = set()
    for text in table_texts(path):
        if b"\0" not in text:
            texts.update(text[:i] for i in range(1, len(text) + 1))
    texts = sorted(texts)
    out = subprocess.run([program, "-0", "-"], input=b"".join(t + b"\0" for t in texts),
                         stdout=subprocess.PIPE, check=True).stdout.split(b"\n")
    read = [t for t, result in zip(texts, out) if result == b"ok"]
    read = [t for t in read if not any(p.search(t) for p, _ in REFUSED_BUT_READ)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [t for t, ok in zip(read, pool.map(bash_accepts, read)) if not ok]
    for text in wrong:
        print(f"bash refuses what is read: {text!r}")
    print(f"# {len(read)} texts read that bash accepts too")
    return 1 if wrong or len(read) < 1000 else 0


def main():
    command, program, args = sys.argv[1], sys.argv[2], sys.argv[3:]
    if command == "match":
        return match(program, args[0], args[1], args[2].encode())
    if command == "accepts":
        return accepts(program, args)
    return refuses(program, args[0])


if __name__ == "__main__":
    sys.exit(main())
