# SPDX-License-Identifier: Apache-2.0
cd . && one --flag "value with spaces" && two 2>&1 | three -20; four $?
for f in $(echo a.c b.c); do five "$f" && six "${f%.c}.o"; done; seven -C dir status
X=1 Y="a b" eight --opt=$HOME/x ~/y "$HOME"
nine <<'PY' | ten
print("hello $(never)")
PY
