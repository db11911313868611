# SPDX-License-Identifier: Apache-2.0
a=1 b='x y'
one $a "$b" $b ${a} "${b}z"
c=$a$b
two "$c"
c+=more
three "$c"
d=$undefined
four $d "$d" end
A=1 B=2 five "$a"
e=; six $e "$e"
unset a; seven $a x
readonly R=r; eight "$R"
f=${b#x }; nine "$f" ${b% y} ${b:0:1} ${#b}
