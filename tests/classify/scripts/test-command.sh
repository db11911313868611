# SPDX-License-Identifier: Apache-2.0
[[ -f nothing ]] || one
[[ -n "$(two)" ]] || three
[[ ! -e x && ( -z '' || -n a ) ]] && four
[[ a -nt b ]] || five
[[ x == @(x|y) ]] && six
[[ 'a b' == a\ b ]] && seven
[[ 1 -lt 2 ]] && eight
