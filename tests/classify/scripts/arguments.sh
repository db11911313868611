# SPDX-License-Identifier: Apache-2.0
set -- a 'b c' d
one "$@"
two $@
three "$*" "$#" "$1" "${2}" ${3}
shift
four "$@"
shift 5
five "$@"
set --
six "$@" end
