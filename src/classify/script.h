/* SPDX-License-Identifier: Apache-2.0 */
/* The languages of sed and awk, as far as they start programs. */
#ifndef ABX_CLASSIFY_SCRIPT_H
#define ABX_CLASSIFY_SCRIPT_H

#include "base/defs.h"

/* e, the flag e of s, w of a file of the system. */
bool script_sed_acts(const char *code);
/* system(), pipes, calls by a name, other files of code. */
bool script_awk_acts(const char *code);

#endif
