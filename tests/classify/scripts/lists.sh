# SPDX-License-Identifier: Apache-2.0
one; two && three || four
! five && six
seven & eight
wait
{ nine; ten; } && (eleven; twelve)
false || thirteen && fourteen
true && fifteen; # comment
sixteen # ; seventeen
