# SPDX-License-Identifier: Apache-2.0
"""readme.py FILE: runs what a page says, in order, in the current directory.

```console blocks: each "$ COMMAND" is run by bash, and what it prints (both streams) must be the lines that
follow; a line "…" stands for any lines, "…" within a line for any text. ```c blocks become demo.c. Of ```sh
blocks only that their make targets exist is checked: they build and test the whole.
"""
import re
import subprocess
import sys


def blocks(text):
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)


def matches(want, got):
    pattern = ""
    for line in want:
        if line == "…":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("…")) + r"\n"
    return re.fullmatch(pattern, got)


def run(command, want):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120, check=False)
    got = done.stdout.decode(errors="replace")
    if not matches(want, got):
        sys.exit(f"$ {command}\nsaid:\n{got}the page says:\n" + "\n".join(want))


def main():
    count = 0
    with open(sys.argv[1], encoding="utf-8") as f:
        text = f.read()
    for kind, body in blocks(text):
        if kind == "c":
            with open("demo.c", "w", encoding="utf-8") as f:
                f.write(body)
        elif kind == "sh":
            for target in re.findall(r"^make (\S+)", body, re.M):
                subprocess.run(["make", "-nsC", sys.argv[2], target], check=True, stdout=subprocess.DEVNULL)
        elif kind == "console":
            for part in re.split(r"^\$ ", body, flags=re.M)[1:]:
                command, *want = part.rstrip("\n").split("\n")
                run(command, want)
                count += 1
        else:
            sys.exit(f"a block of kind {kind}: what is to be done with it?")
    print(f"{count} commands")


if __name__ == "__main__":
    main()
