# SPDX-License-Identifier: Apache-2.0
"""zsh_complete.py SCRIPT LINE: what zsh makes of LINE and a Tab, with the completion SCRIPT."""
import os
import pty
import select
import sys
import time

script, line = sys.argv[1:]
pid, master = pty.fork()
if pid == 0:
    os.environ.update(PS1="", TERM="dumb")
    os.execvp("zsh", ["zsh", "-f", "-i"])
seen = b""


def wait_for(text, seconds=30):
    """Reads until text was printed; the text must not be what was typed."""
    global seen
    end = time.monotonic() + seconds
    while text not in seen:
        if not select.select([master], [], [], max(0, end - time.monotonic()))[0]:
            sys.exit(f"zsh said: {seen!r}")
        seen += os.read(master, 4096)
    before, _, seen = seen.partition(text)
    return before


os.write(master, b"unsetopt zle; stty -echo\n")
os.write(master, b"autoload -U compinit && compinit -u -D && . " + script.encode() + b"\n")
os.write(master, b"shown() { print -r -- \"<<$BUFFER>>\"; BUFFER=; zle accept-line; }; zle -N shown\n")
os.write(master, b"bindkey '^X' shown; setopt zle; print read''y\n")
wait_for(b"ready")
os.write(master, line.encode() + b"\t\x18")
wait_for(b"<<")
print(wait_for(b">>").decode())
os.close(master)
os.waitpid(pid, 0)
