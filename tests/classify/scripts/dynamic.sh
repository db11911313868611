# SPDX-License-Identifier: Apache-2.0
cmd=one
arg='a b'
$cmd $arg
"$cmd" "$arg"
${cmd}x y
l=(two 'c d')
"${l[@]}" e
name=f
f() { three "$@"; }
$name g
p=PREFIX
four "${p}_x" "${p,,}"
