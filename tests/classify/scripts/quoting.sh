# SPDX-License-Identifier: Apache-2.0
one 'a b' "c d" e\ f $'g\th' "i'j" 'k"l' m''n "" '' o"p"'q'r
two "a\"b" "a\$b" "a\\b" "a\nb" \" \' \\ \$
three $'\x61\142\u0063\'\\' "x
y" 'x
y'
four a\
b "c\
d"
r\un 'na'me qu"ot"ed
