# SPDX-License-Identifier: Apache-2.0
set -eu
name=${1-default}
usage() { one "usage: $0"; }
while [ $# -gt 0 ]; do
    case $1 in
        -h) usage ;;
        *) two "$1" ;;
    esac
    shift
done
three "$name"
tmp=$(echo /tmp/x.$$)
trap 'four "$tmp"' EXIT
five >"${tmp##*/}" || exit 1
if command -v six >/dev/null 2>&1; then seven; fi
