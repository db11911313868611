/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver's kept answers. Names are canonical (host.h) and were allowed by a filter before
 * they were asked for, so who fills this table is whom the user lets be reached; its size is fixed
 * all the same, and each name has only CACHE_WAYS places.
 */
#include "net/resolve_cache.h"

#include <stdlib.h>
#include <string.h>

static struct cache_entry *places(const struct cache *cache, const struct host *name)
{
    uint32_t hash = UINT32_C(2166136261);

    for (size_t i = 0; i < name->len; i++)
        hash = (hash ^ (uint8_t)name->text[i]) * UINT32_C(16777619);
    _Static_assert(RESOLVE_CACHE % CACHE_WAYS == 0, "whole sets");
    size_t set = hash % (RESOLVE_CACHE / CACHE_WAYS);
    return (struct cache_entry *)(uintptr_t)&cache->entries[set * CACHE_WAYS];
}

const struct cache_entry *cache_find(const struct cache *cache, const struct host *name,
                                     int64_t now)
{
    const struct cache_entry *set = places(cache, name);

    for (size_t i = 0; i < CACHE_WAYS; i++)
        if (set[i].name && set[i].until > now && strcmp(set[i].name, name->text) == 0)
            return &set[i];
    return NULL;
}

static void entry_clear(struct cache_entry *e)
{
    free(e->name);
    free(e->addrs);
    *e = (struct cache_entry){ 0 };
}

void cache_put(struct cache *cache, const struct host *name, const struct addr *addrs, size_t count,
               int64_t until)
{
    struct cache_entry *set = places(cache, name), *e = set;

    for (size_t i = 0; i < CACHE_WAYS; i++) {
        if (set[i].name && strcmp(set[i].name, name->text) == 0) {
            e = &set[i];
            break;
        }
        if (!set[i].name || set[i].until < e->until)
            e = &set[i];
    }
    entry_clear(e);
    e->name = strdup(name->text);
    e->addrs = malloc(MAX_OF(count, (size_t)1) * sizeof *addrs);
    if (!e->name || !e->addrs) {
        entry_clear(e);
        return;
    }
    if (count > 0)
        memcpy(e->addrs, addrs, count * sizeof *addrs);
    e->count = count;
    e->until = until;
}

void cache_clear(struct cache *cache)
{
    for (size_t i = 0; i < RESOLVE_CACHE; i++)
        entry_clear(&cache->entries[i]);
}
