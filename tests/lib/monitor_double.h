/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's monitor (launcher/watch*.c, sockets.c) without a kernel that asks it: what a
 * command would have in its memory is a text of the test's, and answers are counted. Include it
 * once, in the test's only file; that is built with monitor_src of tests/meson.build.
 */
#ifndef ABX_TESTS_MONITOR_DOUBLE_H
#define ABX_TESTS_MONITOR_DOUBLE_H

#include <string.h>
#include <unistd.h>

/* Their state is static: it begins anew with each test. */
#include "launcher/watch.c"
#include "launcher/watch_records.c"

static struct {
    struct notice next;   /* the call that waits */
    const uint8_t *bytes; /* what the caller's memory holds from MONITOR_MEMORY on */
    size_t size;
    unsigned answers; /* to it */
    int error;        /* of the last; 0: goes on */
    int given;        /* a copy of the descriptor that it got; -1: none */
    uint32_t place;   /* where */
    struct watch_msg told;
    struct watch_counts counts;
    unsigned told_count, counts_count;
    bool deaf;   /* the host does not read */
    int refuses; /* what becomes of descriptors that are given; 0: they are taken */
} monitor = { .given = -1 };

#define MONITOR_MEMORY UINT64_C(0x10000)

/* networked: as with a network namespace. */
static inline void monitor_begin(enum watch_level level, bool networked)
{
    static const struct mount_op hidden = { .kind = MOUNT_MASK_DIR, .path = "/tmp" };
    const struct launch l = { .plan = { .mount_count = 1,
                                        .mounts = &hidden,
                                        .watch = level,
                                        .layers = networked ? LAYER_BIT(LAYER_NETNS) : 0 } };

    if (monitor.given >= 0)
        (void)close(monitor.given);
    memset(&monitor, 0, sizeof monitor);
    monitor.given = -1;
    memset(&watch, 0, sizeof watch);
    memset(&record_calls, 0, sizeof record_calls);
    memset(&record_reads, 0, sizeof record_reads);
    last_id = 0;
    watch_begin(&l);
}

void watch_allow_thread(const struct plan *p)
{
    (void)p;
}

bool notify_receive(int fd, struct notice *ret)
{
    (void)fd;
    *ret = monitor.next;
    return monitor.next.id != 0;
}

void notify_answer(int fd, const struct notice *n, int error)
{
    (void)fd;
    (void)n;
    monitor.answers++;
    monitor.error = error;
}

long notify_give(int listener, const struct notice *n, int fd, bool cloexec)
{
    return notify_replace(listener, n, fd, UINT32_MAX, cloexec);
}

long notify_replace(int listener, const struct notice *n, int fd, uint32_t place, bool cloexec)
{
    (void)listener;
    (void)n;
    (void)cloexec;
    if (monitor.refuses)
        return -monitor.refuses;
    if (monitor.given >= 0)
        (void)close(monitor.given);
    monitor.given = dup(fd);
    monitor.place = place;
    monitor.answers++;
    monitor.error = 0;
    return 0;
}

/* As the kernel: what is there, up to the end of the page that is not. */
long notify_read(const struct notice *n, uint64_t address, void *to, size_t size)
{
    (void)n;
    if (address < MONITOR_MEMORY || address - MONITOR_MEMORY >= monitor.size)
        return -EFAULT;
    size_t at = (size_t)(address - MONITOR_MEMORY), len = MIN_OF(size, monitor.size - at);

    memcpy(to, monitor.bytes + at, len);
    return (long)len;
}

long notify_read_text(const struct notice *n, uint64_t address, char *to, size_t size)
{
    long len = notify_read(n, address, to, size);

    if (len < 0)
        return len;
    const char *end = memchr(to, 0, (size_t)len);
    return end ? end - to : (size_t)len == size ? -ENAMETOOLONG : -EFAULT;
}

bool report_bytes(const void *bytes, size_t len)
{
    const uint32_t *kind = bytes;

    if (monitor.deaf)
        return false;
    if (*kind == STATUS_COUNTS) {
        memset(&monitor.counts, 0, sizeof monitor.counts);
        memcpy(&monitor.counts, bytes, MIN_OF(len, sizeof monitor.counts));
        monitor.counts_count++;
        return true;
    }
    memset(&monitor.told, 0, sizeof monitor.told);
    memcpy(&monitor.told, bytes, MIN_OF(len, sizeof monitor.told));
    monitor.told_count++;
    return len == WATCH_MSG_HEAD + monitor.told.path_len;
}

void report_last_bytes(const void *bytes, size_t len)
{
    (void)report_bytes(bytes, len);
}

#endif
