# SPDX-License-Identifier: Apache-2.0
x=1
(x=2; one $x)
two $x
{ x=3; three $x; }
four $x
echo a | x=4
five $x
x=5 &
wait
six $x
y=$(x=6; echo $x)
seven $x "$y"
if true; then x=7; fi
eight $x
true && x=8
nine $x
false && x=9
ten $x
while true; do x=10; break; done
eleven $x
