#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Command lines of git, carried out one by one, each in a repository of its own.

    git_lines.py verdicts TABLE DIR    what the git in PATH says: prints "stop" or "run" and the line
    git_lines.py losses TABLE DIR      what it does: prints "lost: WHAT" or "kept" and the line

$REPO stands for the repository.

The repository has a file with changes (f), a staged file (s), an untracked and an ignored one, a
stash, commits that only one branch, only the reflog or only a second worktree's files have, hooks
that note their calls, and a remote whose branches have gone another way.
"""
import os
import shlex
import shutil
import subprocess
import sys

ENV = dict(os.environ, GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b",
           GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b", GIT_EDITOR="true", GIT_PAGER="cat",
           GIT_TERMINAL_PROMPT="0", LC_ALL="C", X="/dev/null")
for name in ("GIT_DIR", "GIT_WORK_TREE"):
    ENV.pop(name, None)
MARKS = ("DIRTY-f", "STAGED-s", "UNTRACKED-u", "IGNORED-i", "DIRTY-wt", "STASHED")


def run(cwd, *args, check=True, **more):
    r = subprocess.run(args, cwd=cwd, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, timeout=60, **more)
    if check and r.returncode:
        sys.exit(f"{args}: {r.stderr.decode(errors='replace')}")
    return r


def git(cwd, *args, check=True):
    return run(cwd, "git", *args, check=check).stdout.decode(errors="replace").strip()


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text + "\n")
    os.chmod(path, mode)


def commit_object(repo, parent, message):
    tree = git(repo, "rev-parse", parent + "^{tree}")
    return git(repo, "commit-tree", "-p", parent, "-m", message, tree)


def make_template(base):
    """Everything but what the guard would stop: this may run inside, under it."""
    repo, remote = base + "/repo", base + "/remote.git"
    os.makedirs(repo + "/sub")
    git(base, "init", "-q", "--bare", "--template=", "remote.git")
    git(repo, "init", "-q", "-b", "main", "--template=")
    os.makedirs(repo + "/.git/hooks")
    for key, value in (("user.name", "a"), ("user.email", "a@b"), ("advice.detachedHead", "false"),
                       ("alias.co", "checkout"), ("alias.wipe", "reset --hard"),
                       ("alias.shout", "!git clean -f"), ("alias.deep", "co"),
                       ("alias.quoted", "commit -m 'a b'"), ("alias.loop", "loop"),
                       ("push.default", "current"), ("gc.auto", "0"), ("core.fsync", "none")):
        git(repo, "config", key, value)
    for name in ("f", "s", "t", "sub/g"):
        write(f"{repo}/{name}", "first " + name)
    write(repo + "/.gitignore", "i")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "one")
    git(repo, "branch", "merged")
    one = git(repo, "rev-parse", "HEAD")
    git(repo, "remote", "add", "origin", "../remote.git")
    git(repo, "push", "-q", "origin", "main", "main:feature")
    git(repo, "fetch", "-q")
    write(repo + "/t", "second t")
    git(repo, "commit", "-qam", "two")
    git(repo, "commit", "--allow-empty", "-qm", "only the reflog")
    git(repo, "reset", "-q", "--soft", "HEAD~1")
    other = commit_object(repo, one, "only the branch other")
    git(repo, "branch", "other", other)
    theirs = commit_object(repo, one, "theirs")
    more = commit_object(repo, one, "theirs, too")
    git(repo, "push", "-q", "origin", theirs + ":refs/heads/main", more + ":refs/heads/other")
    git(repo, "update-ref", "refs/remotes/origin/main", one)
    git(repo, "worktree", "add", "-q", "../wt", "merged")
    write(base + "/wt/g", "DIRTY-wt")
    write(base + "/wt/f", "DIRTY-wt")
    write(repo + "/f", "STASHED")
    git(repo, "stash", "push", "-q")
    write(repo + "/f", "DIRTY-f")
    write(repo + "/s", "STAGED-s")
    git(repo, "add", "s")
    write(repo + "/u", "UNTRACKED-u")
    write(repo + "/i", "IGNORED-i")
    write(repo + "/list", "f")
    write(repo + "/note", "note")
    write(base + "/dangling", "DANGLING")
    git(repo, "hash-object", "-w", base + "/dangling")
    for hook in ("pre-commit", "pre-push"):
        write(f"{repo}/.git/hooks/{hook}", f"#!/bin/sh\necho {hook} >>{base}/hooks.log", 0o755)


def lines(table):
    with open(table, encoding="utf-8") as f:
        for text in f:
            verdict, tab, line = text.rstrip("\n").partition("\t")
            if tab and not verdict.startswith("#"):
                yield verdict, line


def words(line):
    argv = shlex.split(line)
    return ["git", argv[0].rpartition("git-")[2], *argv[1:]] if "git-" in argv[0] else argv


def fresh(directory):
    base = directory + "/now"
    shutil.rmtree(base, ignore_errors=True)
    shutil.copytree(directory + "/template", base, symlinks=True)
    for path in (f"{base}/repo/.git/worktrees/wt/gitdir", f"{base}/wt/.git",
                 *(f"{base}/repo/.git/hooks/{h}" for h in ("pre-commit", "pre-push"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(directory + "/template", base))
    return base


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def state(base, argv=("commit", "push")):
    """Only what argv may have changed is asked for: a process is dear."""
    repo, remote = base + "/repo", base + "/remote.git"
    pushed, committed = "push" in argv, "commit" in argv or "quoted" in argv
    loose = f"{repo}/.git/objects/{BLOBS['DANGLING'][:2]}/{BLOBS['DANGLING'][2:]}"
    objects = set(git(repo, "rev-list", "--objects", "--all", "--reflog", "--indexed-objects",
                      "--no-object-names", check=False).split())
    present = set()
    for top, folders, files in os.walk(base):
        folders[:] = [f for f in folders if f not in (".git", "remote.git")]
        for name in files:
            present.add(read(os.path.join(top, name)).strip())
    marks = {m for m in MARKS if m in present or BLOBS[m] in objects}
    return {
        "marks": marks,
        "objects": objects,
        "heads": set(git(repo, "rev-list", "--branches", "--tags", check=False).split()),
        "stashes": set(read(repo + "/.git/logs/refs/stash").split("\n")),
        "reflog": read(repo + "/.git/logs/HEAD").count("\n"),
        "dangling": not os.path.exists(loose) and run(repo, "git", "cat-file", "-e", BLOBS["DANGLING"],
                                                      check=False).returncode,
        "remote": set(git(remote, "rev-list", "--all", check=False).split()) if pushed else None,
        "remote_refs": git(remote, "for-each-ref") if pushed else None,
        "head": git(repo, "rev-parse", "HEAD", check=False) if committed else None,
        "hooks": read(base + "/hooks.log"),
    }


BLOBS = {}


def loss(argv, before, after, current):
    if before["marks"] - after["marks"]:
        return "content " + " ".join(sorted(before["marks"] - after["marks"]))
    if (before["heads"] - current) - after["heads"]:
        return "commits of a branch"
    if before["stashes"] - after["stashes"]:
        return "a stash"
    if before["reflog"] > after["reflog"]:
        return "the reflog"
    if after["dangling"]:
        return "an object that could be brought back"
    if "push" not in argv:
        skipped = "commit" in argv and before["head"] != after["head"]
        return "the check of a commit" if skipped and "pre-commit" not in after["hooks"] else None
    names = [{ref.split()[-1] for ref in s["remote_refs"].splitlines()} for s in (before, after)]
    if before["remote"] - after["remote"] or names[0] - names[1]:
        return "the remote's"
    if before["remote_refs"] != after["remote_refs"] and "pre-push" not in after[
            "hooks"]:
        return "the check of a push"
    return None


def main():
    mode, table, directory = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    if not os.path.exists(directory + "/template"):
        make_template(directory + "/template")
    for text in (*MARKS, "DANGLING"):
        write(directory + "/blob", text)
        BLOBS[text] = git(directory, "hash-object", directory + "/blob")
    before = current = None
    for verdict, line in lines(table):
        argv = words(line)
        argv = [word.replace("$REPO", directory + "/now/repo") for word in argv]
        if mode == "losses" and verdict.endswith("!"):
            continue
        base = fresh(directory)
        repo = base + "/repo"
        if mode == "verdicts":
            r = run(repo, *argv, check=False)
            stopped = r.returncode == 126 and b"agentbox: git " in r.stderr
            if stopped and b"\nhint: " not in r.stderr:
                sys.exit(f"{line}: no advice")
            print(("stop" if stopped else "run") + "\t" + line)
            continue
        if not before:
            current = set(git(repo, "rev-list", "HEAD").split()) - set(
                git(repo, "rev-list", "other", "merged").split())
            before = state(base)
        run(repo, *argv, check=False)
        what = loss(argv, before, state(base, argv), current)
        print((f"lost: {what}" if what else "kept") + "\t" + line)


main()
