# SPDX-License-Identifier: Apache-2.0
# one
two # three
four#five
six '#' "#" \# # seven
eight $(nine # ten
) eleven
if true; then # c
    twelve # c
fi # c
case x in # c
    x) thirteen ;; # c
esac
