/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables that lead programs to the proxy, made from proxy_env.def.
 *
 * They are a convenience, not a fence: a program that ignores them reaches nothing. The connect
 * helper becomes a part of a shell's command line (ssh gives ProxyCommand to one), so it may hold
 * plain words only.
 */
#include "net/envvars.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "net/span.h"

#define VALUE_MAX 8192

enum need { ALWAYS, HTTP, EITHER, SSH };

static const struct {
    const char *name;
    enum need need;
    const char *value;
} rows[] = {
#define PROXY_ENV(name, need, value) { name, need, value },
#include "net/proxy_env.def"
#undef PROXY_ENV
};

static bool is_needed(enum need need, const struct envvars_ports *p)
{
    switch (need) {
    case HTTP:
        return p->http != 0;
    case EITHER:
        return p->http != 0 || p->socks != 0;
    case SSH:
        return p->socks != 0 && p->connect;
    default:
        return true;
    }
}

static void put_url(struct buf *out, const struct envvars_ports *p, enum envvars_all all)
{
    bool http = p->socks == 0 || (all == ENVVARS_HTTP && p->http != 0);

    (void)buf_printf(out, "%s://127.0.0.1:%u",
                     http                    ? "http"
                     : all == ENVVARS_SOCKS5 ? "socks5"
                                             : "socks5h",
                     http ? p->http : p->socks);
}

static void put_word(struct buf *out, struct span word, const struct envvars_ports *p)
{
    if (span_eq(word, "http"))
        (void)buf_printf(out, "%u", p->http);
    else if (span_eq(word, "socks"))
        (void)buf_printf(out, "%u", p->socks);
    else if (span_eq(word, "url"))
        put_url(out, p, ENVVARS_HTTP);
    else if (span_eq(word, "all"))
        put_url(out, p, p->all);
    else
        (void)buf_puts(out, p->connect);
}

static void put_value(struct buf *out, const char *value, const struct envvars_ports *p)
{
    struct span rest = { value, strlen(value) }, text, word;

    while (span_next(&rest, '{', &text)) {
        (void)buf_append(out, text.at, text.len);
        if (span_next(&rest, '}', &word))
            put_word(out, word, p);
    }
}

static bool is_plain(const char *command)
{
    size_t len = strlen(command);

    for (size_t i = 0; i < len; i++)
        if (!ascii_is_alnum(command[i]) && !strchr(" /._-+=:,@", command[i]))
            return false;
    return len > 0 && len < VALUE_MAX / 2;
}

int envvars_make(const struct envvars_ports *ports, struct arena *arena, const char *const **ret)
{
    const char **list = arena_alloc(arena, ARRAY_LEN(rows) + 1, sizeof *list);
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    if (ports->connect && !is_plain(ports->connect))
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        _buf_ struct buf b = { .limit = VALUE_MAX };
        if (!is_needed(rows[i].need, ports))
            continue;
        (void)buf_printf(&b, "%s=", rows[i].name);
        put_value(&b, rows[i].value, ports);
        list[n] = b.failed ? NULL : arena_strndup(arena, b.data, b.len);
        if (!list[n++])
            return -ENOMEM;
    }
    *ret = list;
    return 0;
}
