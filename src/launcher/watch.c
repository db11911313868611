/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: pid 1 looks at calls of the command that the view of files, the network namespace or
 * the filter may refuse (plan/watch.def), and tells the host about those that will be.
 *
 * Trusts nothing: path and address are the caller's memory and may change while we look, the caller
 * may be gone, and all of it may come a million times a second. So this explains and never decides:
 * a call that the plan's filter allows goes on whatever was found, the others get EPERM always.
 * What is looked at is looked at by name, through /proc/PID/cwd and /proc/PID/fd, never opened for
 * more than O_PATH (pid 1's own filter sees to that). Records are bounded, told once and then
 * counted; beyond LOOKS_PER_SECOND closer looks attempts are only counted. Messages never wait.
 *
 * First a cheap test: is the mount that the name leads to read-only, or is there none? Only then
 * the path is made canonical. Whether a rule refuses it, and which, is for the host to say.
 */
#include <linux/stat.h>
#include <linux/time_types.h>

#include "launcher/launcher.h"
#include "plan/watch.h"

#define TEXT_MAX         WATCH_NAME_MAX
#define LOOKS_PER_SECOND 2000u
#define SLOTS            1024u /* twice WATCH_MAX_RECORDS */

#define O_ACCMODE_BITS  03u
#define O_TRUNC_BIT     01000u
#define O_TMPFILE_BIT   020000000u
#define AT_NOFOLLOW_BIT 0x100u
#define ST_RDONLY_BIT   1

/* Arguments of the calls, for this CPU. */
static const struct call {
    int16_t number;
    uint8_t level, kind;
    int8_t dir, path, flags, dir2, path2;
} calls[] = {
#if defined(__x86_64__)
#define WATCH(name, x86_64, aarch64, level, kind, dir, path, flags, dir2, path2)                   \
    { x86_64, WATCH_##level, WATCH_##kind, dir, path, flags, dir2, path2 },
#else
#define WATCH(name, x86_64, aarch64, level, kind, dir, path, flags, dir2, path2)                   \
    { aarch64, WATCH_##level, WATCH_##kind, dir, path, flags, dir2, path2 },
#endif
#include "plan/watch.def"
#undef WATCH
};

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
    bool learn, networked;
} watch;

/* One look at one name. Texts are static: there is one thread. */
struct look {
    const struct notice *n;
    const struct call *call;
    uint32_t open_flags; /* OPEN */
    uint32_t flags;      /* WATCH_READ, … */
    bool follow;
    char *text;      /* a name that leads there from here; TEXT_MAX bytes */
    size_t base_len; /* of "/proc/PID/cwd" in it; 0: the path was absolute */
    size_t parent_len, name_at;
};
static char look_text[TEXT_MAX], parent_text[TEXT_MAX], other_text[TEXT_MAX];
static struct watch_msg message;

static const struct call *find_call(int32_t number)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (calls[i].number == number)
            return &calls[i];
    return NULL;
}

/* ---- names ---- */

static size_t put_process(char *to, const struct notice *n, const char *what)
{
    to[0] = '\0';
    (void)text_append(to, TEXT_MAX, "/proc/");
    (void)text_append_u64(to, TEXT_MAX, n->pid);
    return text_append(to, TEXT_MAX, what);
}

/* "/proc/PID/cwd" or "/proc/PID/fd/N". */
static size_t put_base(char *to, const struct notice *n, int dir)
{
    int fd = dir < 0 ? SYS_AT_FDCWD : (int)n->args[dir];

    if (fd == SYS_AT_FDCWD)
        return put_process(to, n, "/cwd");
    (void)put_process(to, n, "/fd/");
    return text_append_u64(to, TEXT_MAX, (uint64_t)(uint32_t)fd);
}

/* The caller's /proc/self is not ours. */
static const char *skip_self(const char *path)
{
    static const char *const own[] = { "/proc/self", "/proc/thread-self" };

    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        size_t len = text_len(own[i]);
        if (text_has_prefix(path, own[i]) && (path[len] == '/' || path[len] == '\0'))
            return path + len;
    }
    return NULL;
}

/* The last name and what it is in; trailing slashes do not count. */
static void split(struct look *l)
{
    size_t end = text_len(l->text);

    while (end > 1 && l->text[end - 1] == '/')
        l->text[--end] = '\0';
    size_t at = end;
    while (at && l->text[at - 1] != '/')
        at--;
    l->name_at = at;
    l->parent_len = at > 1 ? at - 1 : at;
}

size_t watch_name(const struct notice *n, int dir, const char *given, char *to)
{
    const char *rest = skip_self(given);
    size_t base_len = 0;

    to[0] = '\0';
    if (rest)
        (void)put_process(to, n, "");
    else if (given[0] != '/')
        base_len = put_base(to, n, dir);
    (void)text_append(to, TEXT_MAX, base_len ? "/" : "");
    (void)text_append(to, TEXT_MAX, rest ? rest : given);
    return base_len;
}

/* Reads the path; false: there is none to look at. */
static bool read_name(struct look *l, int dir, int path)
{
    static char given[WATCH_PATH_MAX + 1];
    const uint64_t address = l->n->args[path];
    long got = address ? notify_read(l->n, address, given, WATCH_PATH_MAX) : 0;

    if (got <= 0)
        return false;
    given[got] = '\0';
    if (!given[0] || text_len(given) >= WATCH_PATH_MAX)
        return false; /* the descriptor itself is meant, or the kernel refuses the name */
    l->base_len = watch_name(l->n, dir, given, l->text);
    split(l);
    return true;
}

static const char *parent_of(const struct look *l)
{
    memcpy(parent_text, l->text, l->parent_len);
    parent_text[l->parent_len] = '\0';
    return parent_text;
}

/* ---- the cheap test ---- */

enum found { FOUND_WRITABLE, FOUND_READ_ONLY, FOUND_NOTHING, FOUND_CLOSED };

struct statfs_kernel {
    long type, bsize, blocks, bfree, bavail, files, ffree;
    int fsid[2];
    long namelen, frsize, flags, spare[4];
};

/* The mount that a name leads to, symlinks followed. */
static enum found find_mount(const char *text)
{
    struct statfs_kernel fs;
    long r = TRY2(__NR_statfs, text, &fs);

    if (r == 0)
        return fs.flags & ST_RDONLY_BIT ? FOUND_READ_ONLY : FOUND_WRITABLE;
    return r == -EACCES ? FOUND_CLOSED : FOUND_NOTHING;
}

static bool stat_name(const char *text, bool follow, struct statx *ret)
{
    const unsigned mask = STATX_TYPE | STATX_MODE | STATX_SIZE;

    return TRY5(__NR_statx, SYS_AT_FDCWD, text, follow ? 0 : SYS_AT_NOFOLLOW, mask, ret) == 0;
}

static bool is_mount_root(const struct statx *st)
{
    return st->stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* Devices and pipes are written whatever the mount says. */
static bool is_stream(const struct statx *st)
{
    const unsigned type = st->stx_mode & S_IFMT;

    return type == S_IFCHR || type == S_IFBLK || type == S_IFIFO;
}

static bool parent_refuses(const struct look *l)
{
    enum found parent = find_mount(parent_of(l));

    return parent == FOUND_READ_ONLY || parent == FOUND_CLOSED;
}

/* Learning: a mask has no permission bits, and hides what is below. */
static bool read_is_refused(const struct look *l)
{
    struct statx st;
    long r = TRY5(__NR_statx, SYS_AT_FDCWD, l->text, 0, STATX_TYPE | STATX_MODE, &st);

    return r == -EACCES || (r == 0 && (st.stx_mode & 0777) == 0);
}

static bool open_is_refused(struct look *l)
{
    const uint32_t f = l->open_flags;
    const bool changes = f & (O_ACCMODE_BITS | O_TRUNC_BIT | O_TMPFILE_BIT);
    struct statx st;

    if (!changes && !(f & SYS_O_CREAT)) {
        l->flags |= WATCH_READ;
        return watch.learn && read_is_refused(l);
    }
    if (text_has_prefix(l->text, "/dev/") && !text_has_prefix(l->text, "/dev/shm/"))
        return false;
    switch (find_mount(l->text)) {
    case FOUND_WRITABLE:
        return false;
    case FOUND_READ_ONLY:
        if (!stat_name(l->text, true, &st) || is_stream(&st))
            return false;
        if ((f & SYS_O_CREAT) && (f & SYS_O_EXCL)) /* it exists, and that is the answer */
            return hold_is_shaped(st.stx_mode, st.stx_size);
        return changes && !((st.stx_mode & S_IFMT) == S_IFDIR && !(f & O_TMPFILE_BIT));
    case FOUND_CLOSED:
        return true;
    default:
        /* A symlink that leads nowhere: the name to be made is another one. */
        return (f & SYS_O_CREAT) && !stat_name(l->text, false, &st) && parent_refuses(l);
    }
}

static bool make_is_refused(const struct look *l)
{
    struct statx st;

    if (stat_name(l->text, false, &st)) /* it exists; so does a placeholder */
        return hold_is_shaped(st.stx_mode, st.stx_size) && is_mount_root(&st);
    return parent_refuses(l);
}

/* replace: what is there is about to be replaced; there may be nothing. */
static bool remove_is_refused(struct look *l, bool replace)
{
    struct statx st;
    bool there = stat_name(l->text, false, &st);

    if (there && is_mount_root(&st)) {
        l->flags |= WATCH_ROOT;
        return true;
    }
    return (there || replace) && parent_refuses(l);
}

static bool change_is_refused(const struct look *l)
{
    struct statx st;

    switch (find_mount(l->follow ? l->text : parent_of(l))) {
    case FOUND_READ_ONLY:
        return stat_name(l->text, l->follow, &st);
    case FOUND_CLOSED:
        return true;
    default:
        return false;
    }
}

/* ---- telling ---- */

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
        struct slot *s = &watch.slots[i];

        if (s->id && s->hash != hash)
            continue;
        if (s->id) {
            s->count++;
            return false;
        }
        if (watch.records == WATCH_MAX_RECORDS) {
            watch.dropped++;
            return false;
        }
        *s = (struct slot){ hash, 1, ++watch.records };
        message.id = s->id;
        return true;
    }
}

/* The program's name: the last part of what it runs. */
static void set_process(const struct notice *n)
{
    char *link = other_text, *path = parent_text;

    (void)put_process(link, n, "/exe");
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

static void tell(const struct notice *n)
{
    if (!count_record())
        return;
    set_process(n);
    message.kind = STATUS_VIOLATION;
    message.number = (uint32_t)n->number;
    message.pid = (int32_t)n->pid;
    if (!report_bytes(&message, WATCH_MSG_HEAD + message.path_len))
        watch.dropped++;
}

static void set_path(const char *text, size_t len)
{
    message.path_len = (uint32_t)MIN_OF(len, sizeof message.path);
    message.flags |= len > sizeof message.path ? WATCH_CUT : 0;
    memcpy(message.path, text, message.path_len);
}

static bool may_look(void)
{
    struct __kernel_timespec t = { 0 };

    (void)TRY2(__NR_clock_gettime, 6 /* CLOCK_MONOTONIC_COARSE */, &t);
    if (t.tv_sec != watch.second)
        watch.looks = 0;
    watch.second = t.tv_sec;
    if (watch.looks++ < LOOKS_PER_SECOND)
        return true;
    watch.dropped++;
    return false;
}

static void tell_path(const struct notice *n, uint32_t flags, const char *path, size_t len)
{
    message.flags = flags;
    message.port = 0;
    set_path(path, len);
    tell(n);
}

void watch_tell(const struct notice *n, uint32_t flags, const char *path, size_t len)
{
    if (may_look())
        tell_path(n, flags, path, len);
}

/* The canonical path of what text names, at most TEXT_MAX bytes; 0: it cannot be reached. */
static size_t canonical(const char *text, bool follow, char *to)
{
    const long flags = SYS_O_PATH | SYS_O_CLOEXEC | (follow ? 0 : SYS_O_NOFOLLOW);
    long fd = TRY4(__NR_openat, SYS_AT_FDCWD, text, flags, 0);
    char link[40] = "/proc/self/fd/";

    if (fd < 0)
        return 0;
    (void)text_append_u64(link, sizeof link, (uint64_t)fd);
    long len = TRY4(__NR_readlinkat, SYS_AT_FDCWD, link, to, TEXT_MAX - 1);
    file_close((int)fd);
    if (len <= 0 || to[0] != '/')
        return 0;
    to[len] = '\0';
    return (size_t)len;
}

/*
 * As canonical as it can be had: the whole path, else the parent's and the name, else as given,
 * from the directory that it is relative to.
 */
static size_t find_path(struct look *l, bool name_only, char *to)
{
    size_t len = name_only ? 0 : canonical(l->text, l->follow, to);

    if (len)
        return len;
    len = canonical(parent_of(l), true, to);
    if (len) {
        (void)text_append(to, TEXT_MAX, to[1] ? "/" : "");
        return text_append(to, TEXT_MAX, l->text + l->name_at);
    }
    to[0] = '\0';
    if (l->base_len) {
        memcpy(parent_text, l->text, l->base_len);
        parent_text[l->base_len] = '\0';
        if (!canonical(parent_text, true, to))
            return 0;
    }
    return text_append(to, TEXT_MAX, l->text + l->base_len);
}

static void look_closer(struct look *l)
{
    static char path[TEXT_MAX];
    const bool name_only = l->call->kind == WATCH_REMOVE || l->call->kind == WATCH_MAKE ||
                           l->call->kind == WATCH_MOVE;

    if (!may_look())
        return;
    size_t len = find_path(l, name_only, path);
    if (len)
        tell_path(l->n, l->flags | (name_only ? WATCH_NAME : 0), path, len);
}

/* ---- by kind ---- */

static void look_at_move(struct look *l)
{
    if (read_name(l, l->call->dir, l->call->path) && remove_is_refused(l, false))
        look_closer(l);
    l->flags = 0;
    if (read_name(l, l->call->dir2, l->call->path2) && remove_is_refused(l, true))
        look_closer(l);
}

static void look_at_name(struct look *l)
{
    const struct call *c = l->call;
    bool refused = false;

    if (!read_name(l, c->dir, c->path))
        return;
    switch (c->kind) {
    case WATCH_CREAT:
        l->open_flags = SYS_O_WRONLY | SYS_O_CREAT | O_TRUNC_BIT;
        refused = open_is_refused(l);
        break;
    case WATCH_OPEN:
        l->open_flags = (uint32_t)l->n->args[c->flags];
        l->follow = !(l->open_flags & SYS_O_NOFOLLOW);
        refused = open_is_refused(l);
        break;
    case WATCH_MAKE:
        refused = make_is_refused(l);
        break;
    case WATCH_REMOVE:
        refused = remove_is_refused(l, false);
        break;
    default:
        l->follow = c->flags != WATCH_NOFOLLOW &&
                    !(c->flags >= 0 && (l->n->args[c->flags] & AT_NOFOLLOW_BIT));
        refused = change_is_refused(l);
    }
    if (refused)
        look_closer(l);
}

struct address {
    uint16_t family, port;
    uint8_t v4[4], v6[16];
    uint32_t scope;
};

/* With a network of its own everything but loopback is out of reach. */
static bool is_own(const struct address *a)
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, none[15];
    const uint8_t *v4 = a->v4;

    if (a->family == 10 /* AF_INET6 */) {
        if (memcmp(a->v6, none, sizeof none) == 0 && a->v6[15] <= 1)
            return true;
        if (memcmp(a->v6, mapped, sizeof mapped) != 0)
            return false;
        v4 = a->v6 + sizeof mapped;
    }
    return v4[0] == 127 || (v4[0] | v4[1] | v4[2] | v4[3]) == 0;
}

static void look_at_address(const struct notice *n, const struct call *c)
{
    struct address a = { 0 };
    const uint64_t given = n->args[c->flags] & UINT32_MAX;
    const size_t size = given < sizeof a ? (size_t)given : sizeof a;

    if (!watch.networked || size < 8 || notify_read(n, n->args[c->path], &a, size) != (long)size)
        return;
    const bool v6 = a.family == 10;
    if ((!v6 && a.family != 2) || (v6 && size < 24) || is_own(&a) || !may_look())
        return;
    message.flags = WATCH_INET;
    message.port = (uint32_t)(a.port >> 8 | (a.port & 0xff) << 8);
    set_path(v6 ? (const char *)a.v6 : (const char *)a.v4, v6 ? 16 : 4);
    tell(n);
}

/* What the wrapper says, or whoever plays it: as much text as six arguments hold. */
static bool read_word(const struct notice *n)
{
    char word[WATCH_COMMAND_MAX + 1] = "";

    _Static_assert(sizeof n->args == WATCH_COMMAND_MAX, "the arguments are the word");
    memcpy(word, n->args, WATCH_COMMAND_MAX);
    message.flags = WATCH_WORD;
    set_path(word, text_len(word));
    return word[0];
}

void watch_begin(const struct launch *l)
{
    watch.learn = l->plan.watch == WATCH_LEARN;
    watch.networked = (l->plan.layers & LAYER_BIT(LAYER_NETNS)) != 0;
}

void watch_serve(int fd)
{
    struct notice n;

    if (!notify_receive(fd, &n) || sockets_serve(fd, &n) || relay_serve(fd, &n))
        return;
    const struct call *c = find_call(n.number);
    if (!c || c->level == WATCH_TOLD) {
        message.flags = message.port = message.path_len = 0;
        if (c && (c->kind != WATCH_COMMAND || read_word(&n)) && may_look())
            tell(&n);
        notify_answer(fd, &n, EPERM);
        return;
    }
    struct look look = { .n = &n, .call = c, .follow = true, .text = look_text };
    if (c->kind == WATCH_ADDRESS)
        look_at_address(&n, c);
    else if (c->kind == WATCH_MOVE)
        look_at_move(&look);
    else
        look_at_name(&look);
    notify_answer(fd, &n, 0);
}

void watch_end(void)
{
    static struct watch_counts counts;

    counts.kind = STATUS_COUNTS;
    counts.dropped = watch.dropped;
    for (uint32_t i = 0; i < SLOTS; i++) {
        if (watch.slots[i].count < 2)
            continue;
        counts.list[counts.count++] = (struct watch_count){ .id = watch.slots[i].id,
                                                            .count = watch.slots[i].count };
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
