# SPDX-License-Identifier: Apache-2.0
touch_files
: >f1; : >f2
one f* f? f[12] nomatch*
two 'f*' "f*" \f\*
x='f*'
three $x "$x"
for f in f*; do four "$f"; done
shopt -s extglob
five @(f1|f2) !(f1) +(f)1
