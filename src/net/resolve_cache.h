/* SPDX-License-Identifier: Apache-2.0 */
/* Kept answers of the resolver: a table of fixed size, the one that ends first makes room. */
#ifndef ABX_NET_RESOLVE_CACHE_H
#define ABX_NET_RESOLVE_CACHE_H

#include "net/resolve.h"

#define CACHE_WAYS 4 /* places that a name may have */

struct cache_entry { /* count == 0: the name has no address */
    char *name;      /* NULL: free */
    int64_t until;
    struct addr *addrs;
    size_t count;
};

struct cache { /* zeroed is empty */
    struct cache_entry entries[RESOLVE_CACHE];
};

const struct cache_entry *cache_find(const struct cache *cache, const struct host *name,
                                     int64_t now);
/* Without memory nothing is kept. */
void cache_put(struct cache *cache, const struct host *name, const struct addr *addrs, size_t count,
               int64_t until);
void cache_clear(struct cache *cache);

#endif
