# SPDX-License-Identifier: Apache-2.0
for x in a 'b c' d; do one "$x" $x; done
for x in {1..3} {p,q}r; do two $x; done
for ((i = 0; i < 3; i++)); do three $i; done
i=0
while [ $i -lt 2 ]; do four $i; i=$((i + 1)); done
until [ $i -ge 4 ]; do five $i; ((i++)); done
set -- p q
for y; do six "$y"; done
for z in; do never; done
for w in a b c; do [ $w = b ] && continue; seven $w; done
for w in a b c; do [ $w = b ] && break; eight $w; done
for o in 1 2; do for p in x y; do nine $o$p; done; done
