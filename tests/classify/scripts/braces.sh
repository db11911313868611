# SPDX-License-Identifier: Apache-2.0
one {a,b} x{a,b}y {a,b}{c,d} {1..3} {3..1} {a..c} {1..7..3} {01..03}
two {a} {} {a,b a,b} '{a,b}' "{a,b}" \{a,b} {a\,b,c}
three {a,{b,c}} {{a,b},c} pre{,-suf} {"x y",z}
v=1
four $v{a,b} {$v,b} "$v"{a,b}
five a{b,c}d{e,f} {-1..1}
six {x,y}*nomatch
