# SPDX-License-Identifier: Apache-2.0
time one
time -p two
time { three; four; }
! five
! { six; }
! ! seven
time ! eight
