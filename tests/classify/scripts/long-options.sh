# SPDX-License-Identifier: Apache-2.0
args=()
args+=(--one)
args+=(--two "a b")
[ -n "$none" ] && args+=(--never)
cmd "${args[@]}"
cmd "${args[@]/--/-}"
cmd "${args[@]#--}"
cmd "${!args[@]}"
