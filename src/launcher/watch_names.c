/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller's path names, as pid 1 sees it: through /proc/PID/cwd and /proc/PID/fd.
 *
 * Trusts nothing: the path is the caller's memory and may change, the caller may be gone, its
 * descriptors may be others by now. Nothing is opened for more than O_PATH (pid 1's own filter sees
 * to that), and what is found is only told.
 */
#include "launcher/watch.h"

static char parent_text[TEXT_MAX];

size_t look_process(char *to, const struct notice *n, const char *what)
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
        return look_process(to, n, "/cwd");
    (void)look_process(to, n, "/fd/");
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
        (void)look_process(to, n, "");
    else if (given[0] != '/')
        base_len = put_base(to, n, dir);
    (void)text_append(to, TEXT_MAX, base_len ? "/" : "");
    (void)text_append(to, TEXT_MAX, rest ? rest : given);
    return base_len;
}

/*
 * In pieces that end where a page does, for the next one may not be there. The first one is small:
 * most names are, and each page of the caller's costs.
 */
long look_text(const struct notice *n, uint64_t address, char *to, size_t size)
{
    const uint64_t page = 4096, usual = 256;
    size_t got = 0;

    while (address && got < size) {
        const uint64_t from = address + got;
        uint64_t piece = MIN_OF(page - from % page, (uint64_t)(size - got));

        piece = got ? piece : MIN_OF(piece, usual);
        long r = notify_read(n, from, to + got, (size_t)piece);
        if (r <= 0)
            return r < 0 ? r : -EFAULT;
        for (size_t end = got + (size_t)r; got < end; got++)
            if (!to[got])
                return (long)got;
    }
    return address ? -ENAMETOOLONG : -EFAULT;
}

bool look_read(struct look *l, int dir, int path)
{
    static char given[WATCH_PATH_MAX];

    if (look_text(l->n, l->n->args[path], given, sizeof given) <= 0)
        return false; /* the descriptor itself is meant, or the kernel refuses the name */
    const int fd = dir < 0 ? SYS_AT_FDCWD : (int)l->n->args[dir];
    l->base_len = watch_name(l->n, dir, given, l->text);
    l->dir_fd = l->base_len && fd != SYS_AT_FDCWD ? fd : -1;
    split(l);
    return true;
}

const char *look_parent(const struct look *l)
{
    memcpy(parent_text, l->text, l->parent_len);
    parent_text[l->parent_len] = '\0';
    return parent_text;
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

size_t look_path(const struct look *l, bool name_only, char *to)
{
    size_t len = name_only ? 0 : canonical(l->text, l->follow, to);

    if (len)
        return len;
    len = canonical(look_parent(l), true, to);
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
