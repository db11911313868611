# SPDX-License-Identifier: Apache-2.0
"""zsh_complete.py SCRIPT LINE: what zsh makes of LINE and a Tab, with the completion SCRIPT."""
import os
import pty
import select
import sys
import tempfile
import time

SETUP = """PS1=
autoload -U compinit && compinit -u -D && . "$ABX_SCRIPT"
shown() { print -r -- "<<$BUFFER>>"; exit; }
ready() { print ready; }
zle -N shown; zle -N zle-line-init ready; bindkey '^X' shown
"""

script, line = sys.argv[1:]
home = tempfile.TemporaryDirectory()
with open(home.name + "/.zshrc", "w", encoding="utf-8") as f:
    f.write(SETUP)
pid, master = pty.fork()
if pid == 0:
    os.environ.update(ZDOTDIR=home.name, ABX_SCRIPT=script, TERM="dumb")
    os.execvp("zsh", ["zsh", "-d", "-i"])
seen = b""


def wait_for(text, seconds=30):
    """Reads until text was printed, and returns what came before it."""
    global seen
    end = time.monotonic() + seconds
    while text not in seen:
        if not select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            sys.exit(f"zsh said: {seen!r}")
        seen += os.read(master, 4096)
    before, _, seen = seen.partition(text)
    return before


wait_for(b"ready")
os.write(master, line.encode() + b"\t\x18")
wait_for(b"<<")
print(wait_for(b">>").decode())
os.close(master)
os.waitpid(pid, 0)
