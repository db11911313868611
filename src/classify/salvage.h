/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that no shell would take is escalated; but if it shows something forbidden, then it is that.
 * And arguments that are operators ("|", ">&") show what somebody meant a shell to do.
 */
#ifndef ABX_CLASSIFY_SALVAGE_H
#define ABX_CLASSIFY_SALVAGE_H

#include "base/arena.h"
#include "classify/call.h"

typedef void (*salvage_visit)(void *user, const struct call *call);

/* The pieces of a text between operators, quotes dropped, as commands. */
void salvage_text(const char *text, size_t len, struct arena *arena, salvage_visit visit,
                  void *user);
/* The same for words; nothing is visited if none is an operator. */
void salvage_argv(const struct word *words, size_t count, struct arena *arena, salvage_visit visit,
                  void *user);

#endif
