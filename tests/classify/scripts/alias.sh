# SPDX-License-Identifier: Apache-2.0
alias one='two x'
one y
\one z
unalias one
one w
