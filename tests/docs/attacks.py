#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attacks.py SOURCE: every number of the list of attacks has a test, and a row in docs/attacks.md; the table of the back
ends in docs/backends.md says what gaps.tsv says. TAP."""
import csv
import pathlib
import re
import subprocess
import sys

BACKENDS = ("native", "landlock", "bwrap")
source = pathlib.Path(sys.argv[1])
count = 0


def ok(name, problems):
    global count
    count += 1
    print(f"{'not ok' if problems else 'ok'} {count} {name}")
    for problem in problems:
        print(f"# {problem}")


def rows(page):
    """(number, title) and the cells of a page's table of attacks, by column."""
    heads = []
    for line in (source / "docs" / page).read_text().splitlines():
        cells = [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[:2] == ["case", "what is tried"]:
            heads = cells[2:]
        elif heads and re.fullmatch(r"A\d+", cells[0] if cells else ""):
            yield (int(cells[0][1:]), cells[1]), dict(zip(heads, cells[2:]))


def verdicts(cell):
    """Of root and of the user, if they differ."""
    return [re.sub(r" \((root|user)\)$", "", v) for v in re.split(r"(?<=\)), ", cell)]


def disagree():
    """Cells that gaps.tsv does not have, and lines of it that no cell has."""
    with open(source / "tests/attacks/gaps.tsv", encoding="utf-8") as f:
        gaps = [tuple(row) for row in csv.reader((line for line in f if line[0] != "#"), delimiter="\t")]
    used = set()
    for (number, title), cells in rows("backends.md"):
        for backend in BACKENDS:
            for verdict in verdicts(cells.get(backend, "absent")):
                mine = [g for g in gaps if g[0] == backend and g[1] == f"A{number:02}" and title.startswith(g[2])
                        and verdict == f"{g[3]}: {g[4]}"]
                used.update(mine)
                if verdict != "holds" and not mine:
                    yield f"A{number:02} {title}: {backend} {verdict}"
    yield from (" ".join(g) + ": in no row" for g in gaps if g not in used)


listed = subprocess.run([source / "tests/attacks/run", "--missing"], capture_output=True, text=True, check=False)
have = {f"A{number:02}" for (number, _), _ in rows("attacks.md")}
tests = set()
for path in (source / "tests/attacks").glob("*.bats"):
    for names in re.findall(r'^@test "((?:A\d+ )+)', path.read_text(), re.M):
        tests |= set(names.split())
print("1..3")
ok("every number has a test", [listed.stdout.strip()] if listed.returncode else [])
ok("every number is in docs/attacks.md", sorted(tests - have))
ok("docs/backends.md says of each back end what gaps.tsv says", list(disagree()))
