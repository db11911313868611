# SPDX-License-Identifier: Apache-2.0
: "${x:=dflt}"
one "$x"
: ${y=z}
two "$y"
x=${x:+alt}
three "$x"
[ -z "$undefined" ] && z=yes
four "$z"
z=${z:-no}
five "$z"
w=1
[ $w = 1 ] || w=2
six "$w"
