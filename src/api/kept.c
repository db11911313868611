/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept plans, counted. A copy is never written to once it is made, so runs read it without a lock;
 * which one is the manager's last is under the manager's. Only with that one is compared: projects
 * that take turns get a copy for each turn.
 */
#include "api/kept.h"

#include <stdatomic.h>
#include <stdlib.h>

struct kept {
    _Atomic unsigned users;
    struct arena arena;
    struct explain_context context;
};

static struct kept *make(const struct explain_context *context)
{
    struct kept *k = calloc(1, sizeof *k);

    if (!k)
        return NULL;
    atomic_init(&k->users, 1);
    arena_init(&k->arena, ARENA_DEFAULT_LIMIT);
    k->arena.lasting = true;
    if (!explain_keep(context, &k->arena, &k->context)) {
        kept_release(k);
        return NULL;
    }
    return k;
}

struct kept *kept_plan(abx_manager *m, const struct explain_context *context)
{
    struct kept *k, *before = NULL;

    (void)pthread_mutex_lock(&m->lock);
    k = m->kept;
    if (k && explain_same(&k->context, context)) {
        atomic_fetch_add(&k->users, 1);
    } else {
        k = make(context);
        if (k) {
            before = m->kept;
            m->kept = k;
            atomic_fetch_add(&k->users, 1);
        }
    }
    (void)pthread_mutex_unlock(&m->lock);
    kept_release(before);
    return k;
}

const struct explain_context *kept_context(const struct kept *k)
{
    return &k->context;
}

void kept_release(struct kept *k)
{
    if (!k || atomic_fetch_sub(&k->users, 1) > 1)
        return;
    arena_done(&k->arena);
    free(k);
}
