/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pure part of the host's side: records out of a stream, and the plan that goes to the
 * launcher. The launcher is trusted as far as its code goes; what comes from it is still cut into
 * records by length alone, and its texts are ended here.
 */
#include "darwin/host.h"

#include <string.h>

void *inbox_room(struct inbox *i, size_t *ret_size)
{
    *ret_size = sizeof i->msg - i->have;
    return (char *)&i->msg + i->have;
}

bool inbox_add(struct inbox *i, size_t size)
{
    i->have += size;
    if (i->have < sizeof i->msg)
        return false;
    i->have = 0;
    i->msg.step[sizeof i->msg.step - 1] = '\0';
    i->msg.text[sizeof i->msg.text - 1] = '\0';
    return true;
}

void host_plan(const struct plan *plan, const char *tmpdir, const char **env, struct plan *ret)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < plan->env_count; i++)
        if (strncmp(plan->env[i], "TMPDIR=", strlen("TMPDIR=")) != 0)
            env[n++] = plan->env[i];
    env[n++] = tmpdir;
    env[n] = NULL;
    *ret = *plan;
    ret->env = env;
    ret->env_count = n;
    ret->mount_count = ret->rule_count = ret->word_count = ret->hold_count = 0;
    ret->filter.count = ret->watch_filter.count = ret->init_filter.count = 0;
    ret->watch = 0;
}
