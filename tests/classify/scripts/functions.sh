# SPDX-License-Identifier: Apache-2.0
f() { one "$1" "$#" "$@"; }
f a 'b c'
function g { two "$*"; f "$@"; }
g x y
h() ( cd /; three "$PWD" )
h
i() { local v=$1; four "$v"; shift; five "$@"; }
i 1 2 3
v=outer
j() { v=inner; }
j
six "$v"
k() { if [ "$1" -gt 0 ]; then seven "$1"; k $(($1 - 1)); fi; }
k 2
l() { eight; } >/dev/null
l
m() { return 3; }
m || nine
