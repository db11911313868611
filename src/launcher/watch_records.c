/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told to the host: each record once, then it is counted; the numbers follow at the end.
 *
 * Bounded whatever the command does: WATCH_MAX_RECORDS different ones in a run, LOOKS_PER_SECOND
 * closer looks, and messages that never wait. What is beyond that is counted as dropped.
 */
#include <linux/time_types.h>

#include "launcher/watch.h"

#define LOOKS_PER_SECOND 2000u
#define SLOTS            1024u /* twice WATCH_MAX_RECORDS */

/* What was told: found again by the hash of operation and path. */
struct slot {
    uint64_t hash, count;
    uint32_t id; /* 0: empty */
};

struct recorder {
    bool busy; /* the lock */
    struct slot slots[SLOTS];
    uint64_t dropped;
    int64_t second; /* of the looks */
    uint32_t looks;
    struct watch_msg message;
    char link[64], exe[TEXT_MAX];
};
struct recorder record_calls, record_reads;

static uint32_t last_id; /* of both */
/*
 * Nothing was ever looked at: the tables are not touched at the end either. Not zero, so that it
 * lies in a page that is ours anyway.
 */
static bool pristine = true;

/* At the end pid 1 reads what a thread may still be writing; it lives as long as pid 1. */
static void recorder_lock(struct recorder *r)
{
    const struct __kernel_timespec pause = { .tv_nsec = NSEC_PER_MSEC / 10 };

    while (__atomic_exchange_n(&r->busy, true, __ATOMIC_ACQUIRE))
        (void)TRY5(__NR_ppoll, 0, 0, &pause, 0, 0);
}

static void recorder_unlock(struct recorder *r)
{
    __atomic_store_n(&r->busy, false, __ATOMIC_RELEASE);
}

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *b = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* False: there are enough. */
static bool new_id(uint32_t *ret)
{
    uint32_t id = __atomic_load_n(&last_id, __ATOMIC_RELAXED);

    while (id < WATCH_MAX_RECORDS)
        if (__atomic_compare_exchange_n(&last_id, &id, id + 1, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            *ret = id + 1;
            return true;
        }
    return false;
}

/* True: it is new, and its message has an id. */
static bool count_record(struct recorder *r)
{
    const struct watch_msg *m = &r->message;
    const uint32_t told = m->flags & (WATCH_READ | WATCH_INET | WATCH_WORD);
    uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), &told, sizeof told);

    hash = hash_bytes(hash, &m->port, sizeof m->port);
    if (m->path_len == 0)
        hash = hash_bytes(hash, &m->number, sizeof m->number);
    hash = hash_bytes(hash, m->path, m->path_len);
    for (uint32_t i = (uint32_t)hash % SLOTS;; i = (i + 1) % SLOTS) {
        struct slot *s = &r->slots[i];

        if (s->id && s->hash != hash)
            continue;
        if (s->id) {
            s->count++;
            return false;
        }
        if (!new_id(&r->message.id)) {
            r->dropped++;
            return false;
        }
        *s = (struct slot){ hash, 1, r->message.id };
        return true;
    }
}

/* The program's name: the last part of what it runs. */
static void set_process(struct recorder *r)
{
    char *to = r->message.process;

    r->link[0] = '\0';
    (void)text_append(r->link, sizeof r->link, "/proc/");
    (void)text_append_u64(r->link, sizeof r->link, (uint32_t)r->message.pid);
    (void)text_append(r->link, sizeof r->link, "/exe");
    long len = TRY4(__NR_readlinkat, SYS_AT_FDCWD, r->link, r->exe, sizeof r->exe - 1);
    memset(to, 0, sizeof r->message.process);
    if (len <= 0)
        return;
    r->exe[len] = '\0';
    const char *name = r->exe;
    for (const char *s = r->exe; *s; s++)
        if (*s == '/')
            name = s + 1;
    (void)text_append(to, sizeof r->message.process, name);
}

bool record_may_look(struct recorder *r)
{
    struct __kernel_timespec t = { 0 };

    __atomic_store_n(&pristine, false, __ATOMIC_RELAXED);
    (void)TRY2(__NR_clock_gettime, 6 /* CLOCK_MONOTONIC_COARSE */, &t);
    if (t.tv_sec != r->second)
        r->looks = 0;
    r->second = t.tv_sec;
    if (r->looks++ < LOOKS_PER_SECOND)
        return true;
    r->dropped++;
    return false;
}

void record_drop(struct recorder *r)
{
    __atomic_store_n(&pristine, false, __ATOMIC_RELAXED);
    r->dropped++;
}

void record_tell(struct recorder *r, const struct notice *n, uint32_t flags, uint32_t port,
                 const void *path, size_t len)
{
    struct watch_msg *m = &r->message;

    m->kind = STATUS_VIOLATION;
    m->number = (uint32_t)n->number;
    m->flags = flags | (len > sizeof m->path ? WATCH_CUT : 0);
    m->pid = (int32_t)n->pid;
    m->port = port;
    m->path_len = (uint32_t)MIN_OF(len, sizeof m->path);
    memcpy(m->path, path, m->path_len);
    recorder_lock(r);
    if (count_record(r)) {
        set_process(r);
        if (!report_bytes(m, WATCH_MSG_HEAD + m->path_len))
            r->dropped++;
    }
    recorder_unlock(r);
}

void watch_tell(const struct notice *n, uint32_t flags, const char *path, size_t len)
{
    if (record_may_look(&record_calls))
        record_tell(&record_calls, n, flags, 0, path, len);
}

static void send_counts(const struct watch_counts *c)
{
    if (c->count || c->dropped)
        report_last_bytes(c, offsetof(struct watch_counts, list) + c->count * sizeof c->list[0]);
}

static void tell_counts(struct recorder *r)
{
    static struct watch_counts counts;

    recorder_lock(r);
    counts.kind = STATUS_COUNTS;
    counts.count = 0;
    counts.dropped = r->dropped;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (r->slots[i].count < 2)
            continue;
        counts.list[counts.count++] = (struct watch_count){ .id = r->slots[i].id,
                                                            .count = r->slots[i].count };
        if (counts.count < WATCH_COUNTS_MAX)
            continue;
        send_counts(&counts);
        counts.count = 0;
        counts.dropped = 0;
    }
    send_counts(&counts);
    recorder_unlock(r);
}

/* Nothing runs any more that could be told about. */
void watch_end(void)
{
    if (__atomic_load_n(&pristine, __ATOMIC_RELAXED))
        return;
    tell_counts(&record_calls);
    tell_counts(&record_reads);
}
