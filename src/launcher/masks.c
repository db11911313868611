/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves the masks that tell who looked: a thread of pid 1 that answers the requests of two file
 * systems of FUSE (linux/masks.c), and tells the host of those that wanted to see something.
 *
 * A thread, because pid 1 looks at paths for the monitor and would wait for itself. It begins
 * before the command, whose program may lie in a mask; shuts itself in with pid 1's filter first;
 * and ends with pid 1. If it ended alone nobody would get an answer: no mask opens by accident.
 *
 * The kernel says who asks (a pid) and what is looked up in the mask (a name), but not which of the
 * places that the mask covers it came through. So the waiting call is read from /proc, its path
 * from the caller's memory, and followed from the root, one component after the other, up to the
 * mask and never into it: that would be to wait for ourselves again. The caller may lie about all
 * of it, and another thread of it may change it; it gets EACCES all the same, and the record is an
 * attempt.
 */
#include <asm/poll.h>
#include <linux/stat.h>
#include <linux/time_types.h>

#include "launcher/fuse.h"
#include "launcher/steps.h"
#include "launcher/watch.h"

#define STACK_BYTES  32768
#define FILTER_MAX   512u  /* instructions; pid 1's filter has some 150 */
#define BPF_EQUALS   0x15u /* BPF_JMP | BPF_JEQ | BPF_K */
#define LINKS_MAX    40u
#define STEPS_MAX    256u
#define STATE_PAUSE  (NSEC_PER_MSEC / 50) /* the caller is about to wait: it is looked at again */
#define STATE_LIMIT  (20 * NSEC_PER_MSEC)
#define BUSY_LIMIT   (200 * NSEC_PER_MSEC) /* of a second, for looks; the rest is for answers */
#define OPEN_CHANGES 020001103u /* as in the filter: not for reading, and watched elsewhere */

static const struct reader {
    int16_t number;
    int8_t dir, path;
} readers[] = {
#if defined(__x86_64__)
#define READS(name, x86_64, aarch64, dir, path) { x86_64, dir, path },
#else
#define READS(name, x86_64, aarch64, dir, path) { aarch64, dir, path },
#endif
#include "plan/reads.def"
#undef READS
};

static _Alignas(4096) char stack[STACK_BYTES];

static struct {
    struct mask_teller tellers[MASK_KINDS];
    struct fuse_mask masks[MASK_KINDS];
    uint64_t insns[FILTER_MAX];
    struct plan_filter filter; /* count 0: none is due */
    _Alignas(8) uint8_t request[FUSE_REQUEST_MAX];
    char path[TEXT_MAX], found[TEXT_MAX], link[TEXT_MAX];
} served;

/* ---- the waiting call ---- */

/* "NUMBER 0xARG 0xARG …"; false: it does not wait in a call. */
static bool parse_state(const char *s, struct notice *n)
{
    uint64_t values[7] = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        const bool hex = s[0] == '0' && s[1] == 'x';
        const char *start = s += hex ? 2 : 0;

        for (; (*s >= '0' && *s <= '9') || (hex && *s >= 'a' && *s <= 'f'); s++)
            values[i] = values[i] * (hex ? 16 : 10) +
                        (uint64_t)(*s <= '9' ? *s - '0' : *s - 'a' + 10);
        if (s == start || *s++ != ' ')
            return false;
    }
    n->number = (int32_t)values[0];
    memcpy(n->args, values + 1, sizeof n->args);
    return true;
}

static bool read_state(struct notice *n)
{
    const struct __kernel_timespec pause = { .tv_nsec = STATE_PAUSE };
    const int64_t end = now_ns() + STATE_LIMIT;
    char text[256];

    (void)look_process(served.link, n, "/syscall");
    do {
        long fd = TRY4(__NR_openat, SYS_AT_FDCWD, served.link, SYS_O_RDONLY | SYS_O_CLOEXEC, 0);
        if (fd < 0)
            return false;
        long len = TRY3(__NR_read, fd, text, sizeof text - 1);
        file_close((int)fd);
        text[len > 0 ? len : 0] = '\0';
        if (parse_state(text, n))
            return true;
        (void)TRY5(__NR_ppoll, 0, 0, &pause, 0, 0); /* "running": not asleep yet */
    } while (now_ns() < end);
    return false;
}

static const struct reader *find_reader(const struct notice *n)
{
    const struct reader *r = NULL;

    for (size_t i = 0; i < ARRAY_LEN(readers) && !r; i++)
        if (readers[i].number == n->number)
            r = &readers[i];
    if (!r)
        return NULL;
    const bool opens = n->number == __NR_openat
#ifdef __NR_open
                       || n->number == __NR_open
#endif
        ;
    return opens && (n->args[r->path + 1] & OPEN_CHANGES) ? NULL : r;
}

/* The caller's path, absolute but not canonical, into served.path. */
static bool read_path(const struct notice *n, const struct reader *r)
{
    static char given[WATCH_PATH_MAX];

    if (look_text(n, n->args[r->path], given, sizeof given) < 0)
        return false;
    size_t base = watch_name(n, r->dir, given, served.path);
    if (!base)
        return true;
    served.path[base] = '\0'; /* relative: to what its directory is called */
    long len = TRY4(__NR_readlinkat, SYS_AT_FDCWD, served.path, served.link, TEXT_MAX - 1);
    if (len <= 0 || served.link[0] != '/')
        return false;
    served.link[len] = '\0';
    served.path[0] = '\0';
    (void)text_append(served.path, TEXT_MAX, served.link);
    (void)text_append(served.path, TEXT_MAX, "/");
    (void)text_append(served.path, TEXT_MAX, given);
    return true;
}

/* ---- the mask that it leads to ---- */

struct walk {
    int at;           /* the directory reached, never below a mask */
    const char *rest; /* in served.path */
    uint32_t links;
};

static bool is_served(const struct file_id *id)
{
    for (size_t i = 0; i < MASK_KINDS; i++)
        if (served.tellers[i].device >= 0 && served.tellers[i].id.dev == id->dev)
            return true;
    return false;
}

/* A symlink: its text in the place of its name. */
static bool walk_link(struct walk *w, int link)
{
    static char text[TEXT_MAX];
    long len = TRY4(__NR_readlinkat, link, "", text, TEXT_MAX - 1);

    if (len <= 0 || ++w->links > LINKS_MAX)
        return false;
    text[len] = '\0';
    if (text[0] == '/') {
        file_close(w->at);
        w->at = (int)TRY4(__NR_openat, SYS_AT_FDCWD, "/", SYS_O_PATH | SYS_O_CLOEXEC, 0);
    }
    (void)text_append(text, TEXT_MAX, "/");
    (void)text_append(text, TEXT_MAX, w->rest);
    served.path[0] = '\0';
    (void)text_append(served.path, TEXT_MAX, text);
    w->rest = served.path;
    return w->at >= 0;
}

/* Out of the mask again, or on the spot: neither asks anything of it. */
static bool stays_outside(const char *rest)
{
    while (*rest == '/')
        rest++;
    const size_t dots = rest[0] != '.' ? 0 : rest[1] != '.' ? 1 : 2;
    return dots && (rest[dots] == '/' || (dots == 2 && !rest[dots]));
}

/* One component. A descriptor of the mask; -1: go on; -2: it leads nowhere. */
static int walk_step(struct walk *w)
{
    const long flags = SYS_O_PATH | SYS_O_CLOEXEC | SYS_O_NOFOLLOW;
    char name[256];
    struct file_id id;
    size_t len = 0;

    while (*w->rest == '/')
        w->rest++;
    while (w->rest[len] && w->rest[len] != '/' && len < sizeof name - 1)
        len++;
    if (len == 0 || (w->rest[len] && w->rest[len] != '/'))
        return -2;
    memcpy(name, w->rest, len);
    name[len] = '\0';
    w->rest += len;
    int next = (int)TRY4(__NR_openat, w->at, name, flags, 0);
    if (next < 0)
        return -2;
    bool known = file_identify_cached_at(next, "", &id) >= 0;
    if (known && is_served(&id) && !stays_outside(w->rest))
        return next;
    if (known && (id.mode & S_IFMT) == S_IFLNK) {
        known = walk_link(w, next);
        file_close(next);
        return known ? -1 : -2;
    }
    file_close(w->at);
    w->at = next;
    return known ? -1 : -2;
}

/* What the mask covers, as the command calls it; the rest of the path lies behind *ret_rest. */
static size_t find_mask(const char **ret_rest)
{
    struct walk w = { .rest = served.path };
    char link[40] = "/proc/self/fd/";
    int found = -1;

    w.at = (int)TRY4(__NR_openat, SYS_AT_FDCWD, "/", SYS_O_PATH | SYS_O_CLOEXEC, 0);
    for (uint32_t steps = 0; found == -1 && w.at >= 0 && steps < STEPS_MAX; steps++)
        found = walk_step(&w);
    file_close(w.at);
    if (found < 0)
        return 0;
    (void)text_append_u64(link, sizeof link, (uint64_t)found);
    long len = TRY4(__NR_readlinkat, SYS_AT_FDCWD, link, served.found, TEXT_MAX - 1);
    file_close(found);
    if (len <= 0)
        return 0;
    served.found[len] = '\0';
    *ret_rest = w.rest;
    return (size_t)len;
}

/* The rest must begin with the name that the kernel looked up, or it was not this path. */
static bool begins_with(const char *rest, const char *name)
{
    while (*rest == '/')
        rest++;
    if (!*name)
        return !*rest || (rest[0] == '.' && !rest[1]);
    const size_t len = text_len(name);
    return text_has_prefix(rest, name) && (!rest[len] || rest[len] == '/');
}

static void tell(const struct fuse_request *request)
{
    struct notice n = { .pid = request->pid };
    const char *rest;

    if (!read_state(&n)) {
        record_drop(&record_reads);
        return;
    }
    const struct reader *r = find_reader(&n);
    if (!r)
        return; /* a change, which the monitor has seen */
    if (!read_path(&n, r) || !find_mask(&rest) || !begins_with(rest, request->name)) {
        record_drop(&record_reads);
        return;
    }
    if (request->name[0])
        (void)text_append(served.found, TEXT_MAX, rest);
    record_tell(&record_reads, &n, WATCH_READ, 0, served.found, text_len(served.found));
}

/*
 * Whoever waits for an answer waits for all that came before, the monitor among them. So no more
 * than a part of each second goes into looks, however slow a command makes them.
 */
static void tell_in_time(const struct fuse_request *request)
{
    static int64_t second, busy;
    const int64_t start = now_ns();

    if (request->pid <= 1)
        return; /* pid 1 itself, which looks where others want to write */
    if (start / NSEC_PER_SEC != second) {
        second = start / NSEC_PER_SEC;
        busy = 0;
    }
    if (busy >= BUSY_LIMIT) {
        record_drop(&record_reads);
        return;
    }
    if (record_may_look(&record_reads))
        tell(request);
    busy += now_ns() - start;
}

/* ---- the thread ---- */

static void serve_one(size_t kind)
{
    struct mask_teller *t = &served.tellers[kind];
    uint8_t answer[FUSE_ANSWER_MAX];
    struct fuse_request request;
    long got = TRY3(__NR_read, t->device, served.request, sizeof served.request);

    if (got < 0 && got != -EAGAIN && got != -EINTR && got != -ENOENT) {
        file_close(t->device); /* unmounted, or the host's root has cut it off: closed for good */
        t->device = -1;
        return;
    }
    const size_t len = got > 0 ? (size_t)got : 0;
    const size_t size = fuse_answer(&served.masks[kind], served.request, len, &request, answer);
    if (request.refused)
        tell_in_time(&request); /* while the caller waits */
    if (size)
        (void)TRY3(__NR_write, t->device, answer, size); /* who has given up needs none */
}

static ATTR_NORETURN void masks_main(void *arg)
{
    (void)arg;
    if (served.filter.count && seccomp_apply(&served.filter) < 0)
        launcher_exit(EXIT_SETUP); /* with all of pid 1 */
    for (;;) {
        struct pollfd fds[MASK_KINDS];

        for (size_t i = 0; i < MASK_KINDS; i++)
            fds[i] = (struct pollfd){ .fd = served.tellers[i].device, .events = POLLIN };
        (void)TRY5(__NR_ppoll, fds, MASK_KINDS, 0, 0, 0);
        for (size_t i = 0; i < MASK_KINDS; i++)
            if (fds[i].revents)
                serve_one(i);
    }
}

static bool take_filter(const struct plan *p)
{
    const struct plan_filter *f = &p->init_filter;

    if (!layer_is_due(p, LAYER_SECCOMP))
        return true;
    if (f->count > FILTER_MAX)
        return false;
    memcpy(served.insns, f->insns, f->count * sizeof *f->insns);
    served.filter = (struct plan_filter){ .count = f->count, .insns = served.insns };
    return true;
}

/* The command must not put the thread behind others: its filters get to know the number. */
static void name_thread(const struct plan_filter *f, uint32_t tid)
{
    uint64_t *insns = (uint64_t *)(uintptr_t)f->insns; /* decoded into memory of ours */

    for (uint32_t i = 0; i < f->count; i++)
        if (insns[i] >> 32 == LAUNCH_MASKS_TID && (uint16_t)insns[i] == BPF_EQUALS)
            insns[i] = (uint64_t)tid << 32 | (uint32_t)insns[i];
}

long masks_serve(struct launch *l)
{
    const struct plan *p = &l->plan;
    bool any = false;

    l->object = "masks";
    for (size_t i = 0; i < MASK_KINDS; i++)
        any = any || l->tellers[i].device >= 0;
    if (!any)
        return 0;
    for (size_t i = 0; i < MASK_KINDS; i++) {
        served.tellers[i] = l->tellers[i];
        served.masks[i] = (struct fuse_mask){ i ? S_IFREG : S_IFDIR, p->uid, p->gid };
    }
    if (!take_filter(p))
        return -E2BIG;
    long r = sys_clone_vm(LAUNCH_THREAD, stack + sizeof stack, masks_main, 0);
    if (r < 0)
        return r;
    name_thread(&p->filter, (uint32_t)r);
    name_thread(&p->watch_filter, (uint32_t)r);
    l->reads = true;
    return 0;
}
