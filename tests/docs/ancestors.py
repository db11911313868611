#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every test that docs/ancestors.md names exists, and every row names one. Prints TAP.

usage: ancestors.py SOURCE-FOLDER
"""
import pathlib
import re
import sys

SOURCE = pathlib.Path(sys.argv[1])
NAMED = re.compile(r"`([\w.]+\.(?:bats|c)): ([^`]+)`")
FOLDERS = ("tests/e2e", "tests/attacks", "tests/unit")


def has_test(file, name):
    path = next((SOURCE / f / file for f in FOLDERS if (SOURCE / f / file).exists()), None)
    if not path:
        return False
    text = path.read_text()
    if file.endswith(".bats"):
        return f'@test "{name}" {{' in text
    # Defined, and listed for cmocka.
    return f"static void {name}(" in text and re.search(rf"\b\w*(?:TEST|test\w*)\({name}\b", text)


def main():
    rows = [line for line in (SOURCE / "docs/ancestors.md").read_text().splitlines()
            if line.startswith("| ") and not line.startswith(("| there", "| ---"))]
    print(f"1..{len(rows)}")
    for number, row in enumerate(rows, 1):
        named = NAMED.findall(row)
        missing = [f"{file}: {name}" for file, name in named if not has_test(file, name)]
        good = named and not missing
        print(f"{'ok' if good else 'not ok'} {number} - {row.split('|')[1].strip()}")
        for name in missing:
            print(f"# there is no test {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
