# SPDX-License-Identifier: Apache-2.0
one || { two; }
one | false || three
(exit 3) || four
! (exit 1) && five
{ six; false; } || seven
set +e
false
eight $?
