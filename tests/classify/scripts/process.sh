# SPDX-License-Identifier: Apache-2.0
one < <(two; three)
four <(five | six) >/dev/null
while read -r l; do seven "$l"; done < <(echo a; echo b)
echo x > >(eight)
wait
sleep_a_bit
