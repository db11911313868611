# SPDX-License-Identifier: Apache-2.0
one $(echo a b) "$(echo c d)" `echo e` "`echo f`"
two $(three; four | five)
six "$(echo "$(echo "in ner")")"
seven `echo \`echo deep\``
x=$(echo v)
eight "$x"
nine $(($(echo 1) + 2)) $((1 + 2))
ten "${undefined:-$(echo default)}" ${undefined:-`echo d2`}
$(echo eleven) arg
twelve "$(cat <<'E'
text
E
)"
thirteen $( (fourteen) ) $((fifteen); (sixteen))
