# SPDX-License-Identifier: Apache-2.0
for d in /a /b; do
    p=$d/sub
    one "$p"
    q=$q:$p
done
two "$q" "$p"
n=0
for x in a b c; do n=$((n + 1)); three "$n"; done
acc=
for x in a b; do acc="$acc $x"; done
four $acc
