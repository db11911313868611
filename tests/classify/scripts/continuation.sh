# SPDX-License-Identifier: Apache-2.0
one \
    two \
    three
four && \
    five |
    six ||
    seven
eight; nine \
# not a comment?
ten
x=a\
b
eleven $x
