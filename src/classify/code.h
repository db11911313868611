/* SPDX-License-Identifier: Apache-2.0 */
/* Code that is written in a command: python -c, perl -e, awk programs, and text on their input. */
#ifndef ABX_CLASSIFY_CODE_H
#define ABX_CLASSIFY_CODE_H

#include "classify/subject.h"

/* Of sed and awk: the script comes from a pipe. */
bool code_is_elsewhere(const struct subject *s);

#endif
