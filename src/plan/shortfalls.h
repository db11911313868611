/* SPDX-License-Identifier: Apache-2.0 */
/* What the back end Landlock cannot keep of a policy. Pure. */
#ifndef ABX_PLAN_SHORTFALLS_H
#define ABX_PLAN_SHORTFALLS_H

#include "base/buf.h"
#include "policy/policy.h"

enum shortfall {
#define SHORTFALL(id, name, when, text) SHORTFALL_##id,
#include "plan/shortfalls.def"
#undef SHORTFALL
    SHORTFALL_COUNT,
};

struct shortfall_facts {
    long abi;     /* of the kernel's Landlock */
    bool hosts;   /* some are allowed */
    bool endless; /* nothing limits the number of this user's processes: root, no control group */
};

/* Bits of enum shortfall. */
uint32_t shortfalls_find(const struct policy *policy, const struct shortfall_facts *facts);

struct bwrap_facts {
    bool root;   /* who runs it */
    bool mounts; /* and may mount by himself */
    bool setuid; /* bwrap is */
};

/* … of the back end bwrap. lacks: BWRAP_LACKS_* of its plan. */
uint32_t shortfalls_of_bwrap(const struct policy *policy, const struct bwrap_facts *facts,
                             uint32_t lacks);
const char *shortfall_name(uint32_t shortfall);
/* Their texts, with "; " between them. */
void shortfalls_print(uint32_t bits, struct buf *b);

#endif
