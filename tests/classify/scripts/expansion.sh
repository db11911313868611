# SPDX-License-Identifier: Apache-2.0
x=abcabc
one ${x#a} ${x##*b} ${x%c} ${x%%b*} ${x/b/X} ${x//b/X} ${x/#a/X} ${x/%c/X}
two ${x:2} ${x:1:3} ${x: -2} ${#x}
three ${x^} ${x^^} ${x,,} ${x@Q}
four ${u:-d} ${u-d} ${x:-d} ${x:+alt} ${u:+alt} end
five ${u:=assigned}
six "$u"
n=x
seven ${!n} "${!n}"
eight "${u:-'q'}" "${nope:-'q'}" ${nope:-'q r'} "${nope:-"q r"}"
