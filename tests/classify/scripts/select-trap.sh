# SPDX-License-Identifier: Apache-2.0
trap 'one' EXIT
two
trap - EXIT
trap '' INT
trap 'three' USR1
four
