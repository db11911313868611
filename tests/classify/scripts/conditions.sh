# SPDX-License-Identifier: Apache-2.0
if true; then one; elif false; then two; else three; fi
if false; then one; elif true; then two; else three; fi
if false; then one; else three; fi
if one; then two; fi
if ! true; then never; else four; fi
[ -n x ] && five
[[ a == a* && -n b || c < d ]] && six
[[ abc =~ ^(a|b)(b)c$ ]] && seven "${BASH_REMATCH[1]}"
((1 + 1 == 2)) && eight
test 1 -eq 1 && nine
