# SPDX-License-Identifier: Apache-2.0
x=' a  b '
one $x "$x" p$x"q"
IFS=:
y=a:b::c
two $y "$y"
IFS=$' \t\n'
three $x
unset IFS
four $x
IFS=
five $x
