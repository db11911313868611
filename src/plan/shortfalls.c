/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock and seccomp alone keep files from being read and changed, and the network away. What of
 * a policy they do not keep is decided here, row by row of shortfalls.def; whoever applies a plan
 * refuses it or says so. Nothing else of the policy may be lost: a promise that is in no row is
 * kept, and tests/e2e/landlock.bats holds the back end to that.
 */
#include "plan/shortfalls.h"

#include "plan/bwrap.h"

static const struct {
    const char *name, *text;
} rows[] = {
#define SHORTFALL(id, name, when, text) { name, text },
#include "plan/shortfalls.def"
#undef SHORTFALL
};

/* Blocking a program needs no cover: it is not granted. */
static bool has_covers(const struct policy *p)
{
    for (size_t i = 0; i < p->command_count; i++)
        if (p->commands[i].kind != COMMAND_BLOCK)
            return true;
    return false;
}

uint32_t shortfalls_find(const struct policy *p, const struct shortfall_facts *f)
{
    uint32_t bits = 0;

#define SHORTFALL(id, name, when, text) bits |= (when) ? UINT32_C(1) << SHORTFALL_##id : 0;
#include "plan/shortfalls.def"
#undef SHORTFALL
    return bits;
}

#define BIT(id) (UINT32_C(1) << SHORTFALL_##id)

uint32_t shortfalls_of_bwrap(const struct policy *p, const struct bwrap_facts *f, uint32_t lacks)
{
    uint32_t bits = 0;

    if ((f->setuid && p->command_count) || (lacks & BWRAP_LACKS_WRAPS))
        bits |= BIT(COMMANDS);
    if (f->root)
        bits |= BIT(IDS) | (p->max_processes ? BIT(PROCESS_LIMIT) : 0);
    if (f->root && !f->mounts)
        bits |= BIT(DEVICE_MODES);
    if (f->setuid && p->tmp_bytes)
        bits |= BIT(TMPSIZE);
    if (lacks & BWRAP_LACKS_LINKS)
        bits |= BIT(LINKS);
    return bits;
}

const char *shortfall_name(uint32_t shortfall)
{
    return shortfall < ARRAY_LEN(rows) ? rows[shortfall].name : "?";
}

void shortfalls_print(uint32_t bits, struct buf *b)
{
    const char *between = "";

    for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!(bits & UINT32_C(1) << i))
            continue;
        (void)buf_printf(b, "%s%s", between, rows[i].text);
        between = "; ";
    }
}
