# SPDX-License-Identifier: Apache-2.0
export A=1 B
one "$A"
declare -x C=2
two "$C"
local_test() { local A=3; three "$A"; }
local_test
four "$A"
typeset D=4
five "$D"
export A=5
six "$A"
readonly E=6
seven "$E"
