# SPDX-License-Identifier: Apache-2.0
read -r a b <<<"x y z"
one "$a" "$b"
printf -v c '%s-%s' p q
two "$c"
mapfile -t lines < <(echo l1; echo l2)
three "${lines[@]}"
while IFS=, read -r f g; do four "$f" "$g"; done <<E
1,2
3,4
E
IFS=: read -ra parts <<<a:b
five "${parts[@]}"
getopts ab: opt -a
six "$opt"
