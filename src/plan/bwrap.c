/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's view of files, said in bubblewrap's words.
 *
 * bubblewrap applies its options from left to right, onto a new root; what it binds comes from the
 * host's tree, whatever was put over it before. So the plan's list, parents first, is its order,
 * and nothing has to be taken early. Differences to the native mounts:
 *
 *   a hidden directory   is an empty tmpfs of mode 000, read-only
 *   a hidden file        is /dev/null, bound without access to devices: opening it is refused
 *   a cover              gets its mode at once; a bwrap that is setuid root works as the user in
 *                        it, who must be able to make the mount points: his bits stay
 *   devices              are bound writable: read-only would mean without access to devices
 *   a covered program    is covered by a copy of a descriptor's file. A plan for a bwrap that is
 *                        setuid root has none: the user could list where the real ones are
 *
 * bubblewrap goes by names and follows links. The launcher looks afterwards whether each name leads
 * to what was planned (linux/bwrapped.c), so nothing rests on a word that is taken otherwise.
 *
 * Printed words go to a terminal and into a shell: names that others chose are quoted, and what a
 * terminal would obey is spelled out.
 */
#include "plan/bwrap.h"

#include <limits.h>
#include <string.h>

#include "base/str.h"

#define BWRAP_TEXT_FD "9"
_Static_assert(BWRAP_FD_EMPTY == 9, "the text above");

struct words {
    struct buf *out;
    bool printed; /* for a shell, an option a line; else for --args */
    bool setuid;
    size_t count;
    uint32_t wraps; /* so far */
    bool empty;     /* the empty file is used */
    bool joined;    /* what comes next belongs to the option before */
};

/* ---- words ---- */

static bool is_plain(const char *s)
{
    size_t len = strlen(s), n;

    for (size_t i = 0; i < len; i += n) {
        uint32_t c;

        n = str_utf8(s + i, len - i, &c);
        if (n == 0 || str_is_invisible(c))
            return false;
    }
    return true;
}

/* $'…': what a terminal would obey is spelled out. */
static void put_spelled(struct buf *b, const char *s)
{
    (void)buf_puts(b, "$'");
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;

        if (c == '\'' || c == '\\')
            (void)buf_printf(b, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            (void)buf_printf(b, "\\%03o", c);
        else
            (void)buf_putc(b, (char)c);
    }
    (void)buf_putc(b, '\'');
}

static void put_word(struct buf *b, const char *s)
{
    if (is_plain(s))
        (void)str_word(b, s);
    else
        put_spelled(b, s);
}

/* An option with up to two operands. Failure stays in the buffer. */
static void put(struct words *w, const char *option, const char *first, const char *second)
{
    const char *const words[] = { option, first, second };

    if (w->printed && !w->joined)
        (void)buf_puts(w->out, " \\\n ");
    w->joined = false;
    for (size_t i = 0; i < ARRAY_LEN(words) && words[i]; i++) {
        if (w->printed) {
            (void)buf_putc(w->out, ' ');
            put_word(w->out, words[i]);
        } else {
            w->count++;
            (void)buf_append(w->out, words[i], strlen(words[i]) + 1);
        }
    }
}

static void put_number(struct words *w, const char *option, const char *format, uint64_t value)
{
    _buf_ struct buf text;

    buf_init(&text, 32);
    (void)buf_printf(&text, format[0] == 'o' ? "%04llo" : "%llu", (unsigned long long)value);
    put(w, option, text.data ? text.data : "0", NULL);
    w->joined = true;
}

static void put_mode(struct words *w, uint32_t mode)
{
    put_number(w, "--perms", "o", mode);
}

/* ---- the view ---- */

static void put_tmpfs(struct words *w, const char *path, uint32_t mode, uint64_t size)
{
    put_mode(w, mode);
    if (size && !w->setuid) /* which it refuses then: half of the memory is the limit */
        put_number(w, "--size", "u", size);
    put(w, "--tmpfs", path, NULL);
}

static void put_dev(struct words *w, const struct mount_op *op)
{
    _buf_ struct buf shm;

    buf_init(&shm, PATH_MAX + 8);
    (void)buf_printf(&shm, "%s/shm", op->path);
    put(w, "--dev", op->path, NULL);
    put_tmpfs(w, shm.data ? shm.data : "/dev/shm", 01777, op->size);
    put(w, "--remount-ro", op->path, NULL);
}

static uint32_t cover_mode(const struct words *w, const struct mount_op *op)
{
    return w->setuid ? op->mode | 0700 : op->mode;
}

/* Whether what comes next is mounted here: bubblewrap then makes the file by itself. */
static bool is_mount_point(const struct plan *p, uint32_t i)
{
    return i + 1 < p->mount_count && str_eq(p->mounts[i].path, p->mounts[i + 1].path);
}

static void put_bind(struct words *w, const struct mount_op *op)
{
    bool writable = op->kind == MOUNT_BIND_RW || op->kind == MOUNT_PIN;
    /* A placeholder that could not be made is judged by the launcher. */
    bool maybe = op->flags & (MOUNT_OPTIONAL | MOUNT_HELD);

    if (op->kind == MOUNT_COPY)
        put(w, "--ro-bind", op->text, op->path);
    else if (writable)
        put(w, maybe ? "--bind-try" : "--bind", op->path, op->path);
    else
        put(w, maybe ? "--ro-bind-try" : "--ro-bind", op->path, op->path);
}

static void put_file(struct words *w, const struct plan *p, uint32_t i)
{
    if (is_mount_point(p, i) || w->empty)
        return;
    w->empty = true;
    put_mode(w, p->mounts[i].mode);
    put(w, "--file", BWRAP_TEXT_FD, p->mounts[i].path);
}

static void put_wrap(struct words *w, const struct mount_op *op)
{
    _buf_ struct buf fd;

    buf_init(&fd, 16);
    if (w->printed || !bwrap_covers(op))
        return;
    (void)buf_printf(&fd, "%u", BWRAP_FD_WRAPS + w->wraps++);
    put_mode(w, WRAP_MODE);
    put(w, "--ro-bind-data", fd.data ? fd.data : "", op->path);
}

static void put_op(struct words *w, const struct plan *p, uint32_t i)
{
    const struct mount_op *op = &p->mounts[i];

    switch (op->kind) {
    case MOUNT_PIN:
        if (!(op->flags & MOUNT_LINKED))
            put_bind(w, op);
        break;
    case MOUNT_BIND_RO:
        if (!w->printed || !(op->flags & MOUNT_HELD))
            put_bind(w, op);
        break;
    case MOUNT_BIND_RW:
    case MOUNT_COPY:
        put_bind(w, op);
        break;
    case MOUNT_MASK_DIR:
        put_tmpfs(w, op->path, 0, 0);
        put(w, "--remount-ro", op->path, NULL);
        break;
    case MOUNT_MASK_FILE:
        put(w, "--ro-bind", "/dev/null", op->path);
        break;
    case MOUNT_TMPFS:
        put_tmpfs(w, op->path, cover_mode(w, op), op->size);
        break;
    case MOUNT_PROC:
        put(w, "--proc", op->path, NULL);
        if (!(op->flags & MOUNT_WRITABLE))
            put(w, "--remount-ro", op->path, NULL);
        break;
    case MOUNT_DEV:
        put_dev(w, op);
        break;
    case MOUNT_DIR:
        put_mode(w, cover_mode(w, op));
        put(w, "--dir", op->path, NULL);
        break;
    case MOUNT_FILE:
        put_file(w, p, i);
        break;
    case MOUNT_LINK:
        put(w, "--symlink", op->text, op->path);
        break;
    default: /* MOUNT_WRAP */
        put_wrap(w, op);
        break;
    }
}

static void put_view(struct words *w, const struct plan *p)
{
    put(w, "--ro-bind", "/", "/");
    for (uint32_t i = 0; i < p->mount_count; i++)
        put_op(w, p, i);
    for (uint32_t i = 0; i < p->mount_count; i++)
        if (p->mounts[i].kind == MOUNT_TMPFS && (p->mounts[i].flags & MOUNT_SEAL))
            put(w, "--remount-ro", p->mounts[i].path, NULL);
}

size_t bwrap_namespaces(uint32_t layers, const char *ret[BWRAP_NAMESPACES])
{
    static const struct {
        uint32_t layer;
        const char *option;
    } table[BWRAP_NAMESPACES] = {
        { LAYER_USERNS, "--unshare-user" },     { LAYER_PIDNS, "--unshare-pid" },
        { LAYER_NETNS, "--unshare-net" },       { LAYER_IPCNS, "--unshare-ipc" },
        { LAYER_CGROUPNS, "--unshare-cgroup" }, { LAYER_UTSNS, "--unshare-uts" },
    };
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (layers & LAYER_BIT(table[i].layer))
            ret[n++] = table[i].option;
    return n;
}

static void put_namespaces(struct words *w, const struct plan *p)
{
    const char *options[BWRAP_NAMESPACES];
    const size_t count = bwrap_namespaces(p->layers, options);

    for (size_t i = 0; i < count; i++)
        put(w, options[i], NULL, NULL);
    if (p->layers & LAYER_BIT(LAYER_UTSNS))
        put(w, "--hostname", p->hostname, NULL);
    put(w, "--die-with-parent", NULL, NULL);
    put(w, "--cap-drop", "ALL", NULL);
}

uint32_t bwrap_lacks(const struct plan *p)
{
    uint32_t bits = 0, files = 0;

    for (uint32_t i = 0; i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];

        if (op->flags & MOUNT_LINKED)
            bits |= op->kind == MOUNT_WRAP ? BWRAP_LACKS_WRAPS : BWRAP_LACKS_LINKS;
        if (strlen(op->path) >= PATH_MAX)
            bits |= BWRAP_LACKS_PATHS;
        files += op->kind == MOUNT_FILE && !is_mount_point(p, i);
    }
    return files > 1 ? bits | BWRAP_LACKS_FILES : bits;
}

int32_t bwrap_words(const struct plan *plan, struct buf *out, abx_error **err)
{
    struct words w = { .out = out, .setuid = !(plan->layers & LAYER_BIT(LAYER_USERNS)) };

    put_namespaces(&w, plan);
    put(&w, "--as-pid-1", NULL, NULL);
    put_view(&w, plan);
    put(&w, "--chdir", "/", NULL);
    if (out->failed)
        return err_nomem(err);
    if (w.count <= BWRAP_MAX_WORDS)
        return ABX_OK;
    int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                        "the rules need %zu arguments of bubblewrap, which takes %u", w.count,
                        BWRAP_MAX_WORDS);
    err_hint(err, "name parents instead of many single paths, or use --backend native");
    return r;
}

/* ---- its version ---- */

static bool read_number(const char **at, const char *end, uint32_t *ret)
{
    const char *start = *at;
    uint32_t value = 0;

    for (; *at < end && **at >= '0' && **at <= '9' && *at - start < 6; (*at)++)
        value = value * 10 + (uint32_t)(**at - '0');
    *ret = value;
    return *at > start;
}

bool bwrap_version(const char *text, size_t len, uint32_t *ret_major, uint32_t *ret_minor)
{
    static const char name[] = "bubblewrap ";
    const char *at = text + sizeof name - 1, *end = text + len;
    uint32_t major, minor;

    if (len < sizeof name || memcmp(text, name, sizeof name - 1) != 0 ||
        !read_number(&at, end, &major) || at == end || *at != '.')
        return false;
    at++;
    if (!read_number(&at, end, &minor) ||
        (at < end && *at != '.' && *at != '\n' && *at != '-' && *at != '+'))
        return false;
    *ret_major = major;
    *ret_minor = minor;
    return true;
}

/* ---- for people ---- */

static void put_comments(const struct plan *p, struct buf *b)
{
    (void)buf_puts(
        b, "# The same view of files and the same namespaces, by bubblewrap alone: without\n"
           "# Landlock, seccomp, limits, monitor and report.\n");
    if (p->proxied)
        (void)buf_puts(b, "# There is no network: the proxy is agentbox's.\n");
    if (p->word_count)
        (void)buf_puts(b, "# Commands are not covered: they run as they are.\n");
    if (bwrap_lacks(p) & BWRAP_LACKS_LINKS)
        (void)buf_puts(b, "# Symlinks that rules lead through can be replaced.\n");
    if (p->hold_count)
        (void)buf_puts(b, "# These names can be made, which a run would keep absent:\n");
    for (uint32_t i = 0; i < p->mount_count; i++) {
        if (!(p->mounts[i].flags & MOUNT_HELD))
            continue;
        (void)buf_puts(b, "#   ");
        (void)str_escape(b, p->mounts[i].path, strlen(p->mounts[i].path));
        (void)buf_putc(b, '\n');
    }
}

static bool is_identifier(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool letter = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
                      name[i] == '_';
        if (!letter && (i == 0 || name[i] < '0' || name[i] > '9'))
            return false;
    }
    return len > 0;
}

static bool is_in(const char *const *list, const char *entry)
{
    for (; list && *list; list++)
        if (str_eq(*list, entry))
            return true;
    return false;
}

/* "NAME=value": by reference if the shell has the same. */
static void put_variable(struct buf *b, const char *entry, const char *const *host_env)
{
    const char *value = strchr(entry, '=');
    _buf_ struct buf name;

    if (!value)
        return;
    size_t len = (size_t)(value - entry);
    buf_init(&name, len + 1);
    (void)buf_append(&name, entry, len);
    (void)buf_puts(b, " \\\n  --setenv ");
    put_word(b, name.data ? name.data : "");
    (void)buf_putc(b, ' ');
    if (is_identifier(entry, len) && is_in(host_env, entry))
        (void)buf_printf(b, "\"$%.*s\"", (int)len, entry);
    else
        put_word(b, value + 1);
}

int32_t bwrap_print(const struct plan *plan, const char *const *host_env, struct buf *out,
                    abx_error **err)
{
    struct words w = { .out = out, .printed = true };

    put_comments(plan, out);
    (void)buf_puts(out, "bwrap");
    put_namespaces(&w, plan);
    if (!plan->nested && (plan->layers & LAYER_BIT(LAYER_USERNS)))
        put(&w, "--disable-userns", NULL, NULL);
    put(&w, "--new-session", NULL, NULL);
    put_view(&w, plan);
    put(&w, "--chdir", plan->cwd, NULL);
    put(&w, "--clearenv", NULL, NULL);
    for (uint32_t i = 0; i < plan->env_count; i++)
        put_variable(out, plan->env[i], host_env);
    put(&w, "--", NULL, NULL);
    for (uint32_t i = 0; i < plan->argv_count; i++) {
        (void)buf_putc(out, ' ');
        put_word(out, plan->argv[i]);
    }
    (void)buf_puts(out, w.empty ? " " BWRAP_TEXT_FD "</dev/null\n" : "\n");
    return out->failed ? err_nomem(err) : ABX_OK;
}
