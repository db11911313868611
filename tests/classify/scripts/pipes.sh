# SPDX-License-Identifier: Apache-2.0
one | two | three
one |& two
(one; two) | { three; four; }
one | while read -r line; do never "$line"; done
echo x | while read -r line; do got "$line"; done
! one | two
time one | two
time -p three
