# SPDX-License-Identifier: Apache-2.0
x='one a'
eval "$x b"
eval 'two "$x"'
c=three
$c d
"$c" e
${c} f
eval "v=4; four \$v"
five $v
