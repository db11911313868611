/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to addresses, without the system's resolver: hosts file, then DNS. Works in a static
 * program and in a process that can open no file: the files' texts are given.
 *
 * A name is asked for once however many wait for it. Answers are kept for their time to live, at
 * most RESOLVE_TTL_MAX; that there is none, at most RESOLVE_NEGATIVE_MAX. Who asks judges all
 * addresses of every answer anew: a kept one is no permission.
 */
#ifndef ABX_NET_RESOLVE_H
#define ABX_NET_RESOLVE_H

#include "base/addr.h"
#include "base/defs.h"
#include "base/loop.h"
#include "net/host.h"

#define RESOLVE_TTL_MAX      300 /* seconds */
#define RESOLVE_TTL_MIN      1
#define RESOLVE_NEGATIVE_MAX 30
#define RESOLVE_CACHE        512 /* names */
#define RESOLVE_MAX_QUERIES  128 /* names at one time; an owner's further ones fail at half of it */
#define RESOLVE_TIME_LIMIT   (10 * NSEC_PER_SEC)
#define RESOLVE_FILE_MAX     ((size_t)16 << 20) /* of a hosts file */

enum resolve_status {
    RESOLVE_OK,
    RESOLVE_NO_NAME, /* it does not exist, or has no address */
    RESOLVE_FAILED,  /* no server gave an answer that can be used */
    RESOLVE_TIMEOUT,
};

struct resolver;

struct resolve_waiter {
    /* Told once; addrs live until it returns. The waiter is free again. */
    void (*done)(struct resolve_waiter *waiter, enum resolve_status status,
                 const struct addr *addrs, size_t count);
    uint32_t owner; /* none may ask for more names at one time than it leaves for others */
    struct resolve_query *query;
    struct resolve_waiter *next, **prev;
};

/* 0 or -ENOMEM. port is that of the servers: 53. */
int resolver_new(struct loop *loop, uint16_t port, struct resolver **ret);
void resolver_free(struct resolver *r); /* whoever waits is told nothing any more */
/* The texts of the two files, which are copied; kept answers are forgotten. 0 or -errno. */
int resolver_load(struct resolver *r, const char *hosts, size_t hosts_len, const char *resolv_conf,
                  size_t resolv_len);

/* A name, not an address. true: `done` was called already. */
bool resolver_ask(struct resolver *r, const struct host *name, struct resolve_waiter *waiter);
void resolver_cancel(struct resolve_waiter *waiter); /* also one that does not wait */

#endif
