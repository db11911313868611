# SPDX-License-Identifier: Apache-2.0
one & two & wait
(three &) 
{ four; five; } &
wait
six &&
seven &
wait $!
eight
