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

static struct {
    struct slot slots[SLOTS];
    uint32_t records;
    uint64_t dropped;
    int64_t second; /* of the looks */
    uint32_t looks;
} records;

static struct watch_msg message;

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
    const uint8_t *b = bytes;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ b[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* True: it is new, and message.id is set. */
static bool count_record(void)
{
    const uint32_t told = message.flags & (WATCH_READ | WATCH_INET | WATCH_WORD);
    uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), &told, sizeof told);

    hash = hash_bytes(hash, &message.port, sizeof message.port);
    if (message.path_len == 0)
        hash = hash_bytes(hash, &message.number, sizeof message.number);
    hash = hash_bytes(hash, message.path, message.path_len);
    for (uint32_t i = (uint32_t)hash % SLOTS;; i = (i + 1) % SLOTS) {
        struct slot *s = &records.slots[i];

        if (s->id && s->hash != hash)
            continue;
        if (s->id) {
            s->count++;
            return false;
        }
        if (records.records == WATCH_MAX_RECORDS) {
            records.dropped++;
            return false;
        }
        *s = (struct slot){ hash, 1, ++records.records };
        message.id = s->id;
        return true;
    }
}

/* The program's name: the last part of what it runs. */
static void set_process(const struct notice *n)
{
    static char link[TEXT_MAX], path[TEXT_MAX];

    (void)look_process(link, n, "/exe");
    long len = TRY4(__NR_readlinkat, SYS_AT_FDCWD, link, path, TEXT_MAX - 1);
    memset(message.process, 0, sizeof message.process);
    if (len <= 0)
        return;
    path[len] = '\0';
    const char *name = path;
    for (const char *s = path; *s; s++)
        if (*s == '/')
            name = s + 1;
    (void)text_append(message.process, sizeof message.process, name);
}

bool record_may_look(void)
{
    struct __kernel_timespec t = { 0 };

    (void)TRY2(__NR_clock_gettime, 6 /* CLOCK_MONOTONIC_COARSE */, &t);
    if (t.tv_sec != records.second)
        records.looks = 0;
    records.second = t.tv_sec;
    if (records.looks++ < LOOKS_PER_SECOND)
        return true;
    records.dropped++;
    return false;
}

void record_tell(const struct notice *n, uint32_t flags, uint32_t port, const void *path,
                 size_t len)
{
    message.kind = STATUS_VIOLATION;
    message.number = (uint32_t)n->number;
    message.flags = flags | (len > sizeof message.path ? WATCH_CUT : 0);
    message.pid = (int32_t)n->pid;
    message.port = port;
    message.path_len = (uint32_t)MIN_OF(len, sizeof message.path);
    memcpy(message.path, path, message.path_len);
    if (!count_record())
        return;
    set_process(n);
    if (!report_bytes(&message, WATCH_MSG_HEAD + message.path_len))
        records.dropped++;
}

void watch_tell(const struct notice *n, uint32_t flags, const char *path, size_t len)
{
    if (record_may_look())
        record_tell(n, flags, 0, path, len);
}

void watch_end(void)
{
    static struct watch_counts counts;

    counts.kind = STATUS_COUNTS;
    counts.dropped = records.dropped;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (records.slots[i].count < 2)
            continue;
        counts.list[counts.count++] = (struct watch_count){ .id = records.slots[i].id,
                                                            .count = records.slots[i].count };
        if (counts.count < WATCH_COUNTS_MAX)
            continue;
        (void)report_bytes(&counts, sizeof counts);
        counts.count = 0;
        counts.dropped = 0;
    }
    if (counts.count || counts.dropped)
        (void)report_bytes(&counts, offsetof(struct watch_counts, list) +
                                        counts.count * sizeof counts.list[0]);
}
