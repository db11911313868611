# SPDX-License-Identifier: Apache-2.0
x=1
one $((x + 1)) $((x++)) $((x)) $[x + 1]
((x += 5))
two "$x"
let y=x*2
three "$y"
((x > 3)) && four
if ((y == 0)); then never; else five; fi
six $((16#ff)) $((x ? 1 : 2)) $(((1 + 2) * 3))
seven $(( $(eight) + 1 ))
