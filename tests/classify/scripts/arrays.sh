# SPDX-License-Identifier: Apache-2.0
a=(one 'two three' four)
"${a[@]}"
cmd "${a[@]}" ${a[1]} "${a[1]}" ${#a[@]} "${a[@]:1}" "${a[*]}"
a+=(five)
cmd "${a[@]}"
b=()
cmd "${b[@]}" end
b[3]=x
cmd "${b[@]}"
declare -a c=(x y)
cmd "${c[@]}" "${c[0]}"
declare -A m=([k]=v [l]='w x')
cmd "${m[k]}" "${m[l]}"
