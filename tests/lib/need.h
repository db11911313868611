/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a unit test cannot do without: it skips by the name of that, which tools/test-run reads
 * (ABX_MUST_WORK), because cmocka's own skip has no reason. need.bash is the same for programs.
 */
#ifndef ABX_TESTS_NEED_H
#define ABX_TESTS_NEED_H

#include <stdio.h>

#define need(there, reason)                                                                        \
    do {                                                                                           \
        if (!(there)) {                                                                            \
            (void)printf("# skip %s\n", (reason));                                                 \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#endif
