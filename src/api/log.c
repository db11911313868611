/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: what was refused in past runs, one JSON object a line, in the state directory that
 * every sandbox has hidden (ABX_KEEP_LOG), or in a file of the caller's (abx_hooks.log_file).
 *
 * A run's records are one write at its end, so lines of several runs do not mix; names with line
 * breaks are escaped by JSON. The file is ours, mode 0600; one that is not, or is a link, is left
 * alone, and the run does not fail for it. Beyond LOG_MAX_BYTES the file becomes the old one, and
 * the old one goes. A reader trusts no line: one that cannot be read is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/internal.h"
#include "base/doc.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "probe/state.h"

#define LOG_NAME      "violations.jsonl"
#define LOG_OLD       "violations.jsonl.1"
#define LOG_MAX_BYTES ((size_t)4 << 20)

/* ---- writing ---- */

static void put_line(struct buf *b, const struct run *run, const abx_violation *v)
{
    struct json j;
    char id[64];

    (void)snprintf(id, sizeof id, "%d-%jd", (int)run->keeper, (intmax_t)run->start_ns);
    json_init(&j, b);
    json_object(&j);
    json_pair_str(&j, "run", id);
    json_pair_str(&j, "program", run->watch.program);
    json_pair_str(&j, "cwd", run->watch.cwd);
    violation_members(&j, v);
    json_pair_str(&j, "text", v->text);
    json_object_end(&j);
    (void)buf_putc(b, '\n');
}

/* A regular file of ours that nobody else may write, to append to; or -errno. */
static int open_log(int dir, const char *name)
{
    _fd_ int fd = openat(dir, name,
                         O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return -EPERM;
    return TAKE_FD(fd);
}

static int append_file(int fd, const struct buf *lines)
{
    int r = lines->failed ? -ENOMEM : io_may_grow(fd, lines->len);

    return r < 0 ? r : io_write_all(fd, lines->data, lines->len);
}

static int append_rotating(int dir, const struct buf *lines)
{
    _fd_ int fd = open_log(dir, LOG_NAME);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return fd < 0 ? fd : -errno;
    if ((uint64_t)st.st_size + lines->len > LOG_MAX_BYTES) {
        if (renameat(dir, LOG_NAME, dir, LOG_OLD) < 0)
            return -errno;
        fd_close(TAKE_FD(fd));
        fd = open_log(dir, LOG_NAME);
        if (fd < 0)
            return fd;
    }
    return append_file(fd, lines);
}

static const char *const *find_states(struct arena *arena)
{
    return state_directories(arena, configfiles_home(arena));
}

static void append_state(const struct buf *lines)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    for (const char *const *dirs = find_states(&arena); dirs && *dirs; dirs++) {
        _fd_ int dir = state_open(*dirs, LOG_DIRECTORY, true);

        if (dir < 0 || fd_lock(dir, LOCK_EX) < 0) /* nobody holds it for longer than a write */
            continue;
        int r = append_rotating(dir, lines);
        (void)fd_lock(dir, LOCK_UN); /* a process that the host forked meanwhile has a copy */
        if (r == 0)
            return;
    }
}

void log_run(const abx_manager *m, struct run *run)
{
    _buf_ struct buf lines = { .limit = (size_t)64 << 20 };

    if (!m || run->logged || !run->violations.count ||
        (!(m->hooks.flags & ABX_KEEP_LOG) && m->log_fd < 0))
        return;
    run->logged = true;
    /* Names of thousands of odd bytes become long lines: a run does not get more than its share. */
    for (size_t i = 0; i < run->violations.count && lines.len < LOG_MAX_BYTES / 2; i++)
        put_line(&lines, run, &run->violations.list[i]);
    if (m->log_fd >= 0)
        run->log_error = append_file(m->log_fd, &lines); /* a full disk is no reason to fail */
    if (m->hooks.flags & ABX_KEEP_LOG && !lines.failed)
        append_state(&lines);
}

void log_tell(const abx_manager *m, int error)
{
    _buf_ struct buf text = { .limit = 65536 };

    if (!m || error == 0)
        return;
    (void)buf_puts(&text, "the log '");
    (void)str_escape(&text, m->log_path, strlen(m->log_path));
    (void)buf_printf(&text, "' could not be written: %s", strerrordesc_np(-error));
    if (!text.failed)
        manager_notice(m, ABX_NOTICE_WARNING, text.data);
}

int32_t log_open(const char *path, int *ret_fd, abx_error **err)
{
    int fd = open_log(AT_FDCWD, path);

    if (fd < 0) {
        int32_t code = err_sys(err, ABX_E_IO, fd, "open the log '%s'", path);
        err_subject(err, path);
        err_hint(err, fd == -ENOENT ? "its directory is not there: make it, or name another file"
                                    : "name a regular file of yours that nobody else may write; "
                                      "not a link");
        return code;
    }
    *ret_fd = fd;
    return ABX_OK;
}

/* ---- reading ---- */

static const char *member(const struct doc_node *map, const char *key)
{
    for (const struct doc_node *n = map->first; n; n = n->next)
        if (n->key && str_eq(n->key, key))
            return n->type == DOC_STRING || n->type == DOC_NUMBER ? n->text : "";
    return "";
}

static void put_human(struct buf *b, const char *line, size_t len)
{
    _arena_ struct arena arena = { 0 };
    struct doc doc;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    if (doc_read(&arena, line, len, DOC_JSON, &doc) < 0 || doc.root->type != DOC_MAP)
        return;
    const char *text = member(doc.root, "text"), *count = member(doc.root, "count");
    const char *time = member(doc.root, "time"), *program = member(doc.root, "program");

    (void)str_escape(b, time, strlen(time));
    (void)buf_puts(b, program[0] ? " [" : "");
    (void)str_escape(b, program, strlen(program));
    (void)buf_puts(b, program[0] ? "] " : " ");
    (void)str_escape(b, text, strlen(text));
    if (count[0] && !str_eq(count, "1"))
        (void)buf_printf(b, " (%s times)", count);
    (void)buf_putc(b, '\n');
}

static size_t count_lines(const struct buf *b)
{
    size_t count = 0;

    for (size_t i = 0; i < b->len; i++)
        count += b->data[i] == '\n';
    return count;
}

static void put_last(const struct buf *all, size_t last, bool json, struct buf *ret)
{
    const size_t count = count_lines(all);
    size_t skip = last && last < count ? count - last : 0;
    const char *at = all->data, *end = all->data + all->len;

    while (at && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop)
            return; /* cut off in the middle: a full disk */
        if (skip)
            skip--;
        else if (json)
            (void)buf_append(ret, at, (size_t)(stop - at) + 1);
        else
            put_human(ret, at, (size_t)(stop - at));
        at = stop + 1;
    }
}

static int read_both(int dir, struct buf *all)
{
    static const char *const names[] = { LOG_OLD, LOG_NAME };
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(names) && (r == 0 || r == -ENOENT); i++)
        r = io_read_file(dir, names[i], all);
    return r == -ENOENT ? 0 : r;
}

int32_t abx_log_text(const char *format, size_t last, char **ret_text, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    _buf_ struct buf all = { .limit = 4 * LOG_MAX_BYTES }, text = { .limit = 16 * LOG_MAX_BYTES };

    if (!format_is_known(format) || !ret_text)
        return err_new(err, ABX_E_INVALID, "read the log: the format is text or json");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = find_states(&arena);
    if (!dirs)
        return err_nomem(err);
    for (; *dirs && !all.len; dirs++) {
        _fd_ int dir = state_open(*dirs, LOG_DIRECTORY, false);

        if (dir < 0 || fd_lock(dir, LOCK_SH) < 0)
            continue;
        int r = read_both(dir, &all);
        (void)fd_lock(dir, LOCK_UN);
        if (r < 0)
            return err_sys(err, ABX_E_IO, r, "read the log in '%s/%s'", *dirs, LOG_DIRECTORY);
    }
    (void)buf_puts(&text, "");
    put_last(&all, last, str_eq(format, "json"), &text);
    return take_text(&text, ret_text, err);
}
