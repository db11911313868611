#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""attacks.py SOURCE: every number of the list of attacks has a test, and a row in docs/attacks.md. TAP."""
import pathlib
import re
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
run = subprocess.run([source / "tests/attacks/run", "--missing"], capture_output=True, text=True, check=False)
page = set(re.findall(r"^\| (A\d+) \|", (source / "docs/attacks.md").read_text(), re.M))
tests = set()
for path in (source / "tests/attacks").glob("*.bats"):
    for title in re.findall(r'^@test "((?:A\d+ )+)', path.read_text(), re.M):
        tests |= set(title.split())
absent = sorted(tests - page)
print("1..2")
print(("ok" if run.returncode == 0 else "not ok") + " 1 every number has a test")
print("# " + run.stdout.strip())
print(("not ok" if absent else "ok") + " 2 every number is in docs/attacks.md")
if absent:
    print("# absent: " + " ".join(absent) + "; tests/attacks/run --markdown --with bwrap >docs/attacks.md")
