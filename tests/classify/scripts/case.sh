# SPDX-License-Identifier: Apache-2.0
for x in apple banana cherry date; do
    case $x in
        apple | avocado) one "$x" ;;
        b*) two "$x" ;&
        never) three "$x" ;;
        (c*) four "$x" ;;&
        *y) five "$x" ;;
        *) six "$x"
    esac
done
case "$(seven)" in '') eight ;; *) nine ;; esac
