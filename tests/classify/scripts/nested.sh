# SPDX-License-Identifier: Apache-2.0
f() { g() { one "$1"; }; g "$1"; }
f a
g b
for x in 1 2; do
    if [ $x = 1 ]; then
        (while true; do two $x; break; done)
    else
        { case $x in 2) three "$(four "$(five $x)")" ;; esac; }
    fi
done
((x = 1, x++)) && { ( { six $x; } ); }
