# SPDX-License-Identifier: Apache-2.0
a="multi
line"
one "$a"
two $a
b='single $not `exp`'
three "$b"
c="nested \"quotes\" and \`ticks\`"
four "$c"
d=a'b'"c"\d
five $d
six "$(printf '%s' "$a")"
seven ${a//
/ }
