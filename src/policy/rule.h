/* SPDX-License-Identifier: Apache-2.0 */
/* One entry of classifier.rules: {"pattern": …, "decision": …, "description": …}. */
#ifndef ABX_POLICY_RULE_H
#define ABX_POLICY_RULE_H

#include "base/buf.h"
#include "base/defs.h"
#include "base/doc.h"
#include "policy/problems.h"

#define RULE_DECISIONS "allow|sandboxed|escalated|forbidden"

/*
 * Appends the rule as JSON without blanks: pattern, decision, and description if it has one. If
 * something is wrong it goes to problems, and nothing is appended.
 */
void rule_write(const struct doc_node *node, struct buf *out, struct problems *problems);
/* The same for a rule that is text already. */
void rule_read(const char *text, struct buf *out, struct problems *problems);

#endif
