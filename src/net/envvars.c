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
#include <stdio.h>
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

/* What stands in braces in the table. */
struct words {
    char http[8], socks[8], url[40], all[40];
    const char *connect;
};

static void make_url(char *url, size_t size, const struct envvars_ports *p, enum envvars_all all)
{
    const bool http = p->socks == 0 || (all == ENVVARS_HTTP && p->http != 0);
    const char *scheme = http ? "http" : all == ENVVARS_SOCKS5 ? "socks5" : "socks5h";
    const unsigned port = http ? p->http : p->socks;

    (void)snprintf(url, size, "%s://127.0.0.1:%u", scheme, port);
}

static struct words make_words(const struct envvars_ports *p)
{
    struct words w = { .connect = p->connect };

    (void)snprintf(w.http, sizeof w.http, "%u", p->http);
    (void)snprintf(w.socks, sizeof w.socks, "%u", p->socks);
    make_url(w.url, sizeof w.url, p, ENVVARS_HTTP);
    make_url(w.all, sizeof w.all, p, p->all);
    return w;
}

static void put_word(struct buf *out, struct span word, const struct words *w)
{
    (void)buf_puts(out, span_eq(word, "http")    ? w->http
                        : span_eq(word, "socks") ? w->socks
                        : span_eq(word, "url")   ? w->url
                        : span_eq(word, "all")   ? w->all
                                                 : w->connect);
}

static void put_value(struct buf *out, const char *value, const struct words *w)
{
    struct span rest = { value, strlen(value) }, text, word;

    while (span_next(&rest, '{', &text)) {
        (void)buf_append(out, text.at, text.len);
        if (span_next(&rest, '}', &word))
            put_word(out, word, w);
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
    const struct words words = make_words(ports);
    _buf_ struct buf b = { .limit = VALUE_MAX };
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    if (ports->connect && !is_plain(ports->connect))
        return -EINVAL;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!is_needed(rows[i].need, ports))
            continue;
        b.len = 0;
        put_value(&b, rows[i].value, &words);
        list[n] = b.failed ? NULL : arena_join(arena, rows[i].name, "=", b.len ? b.data : "");
        if (!list[n++])
            return -ENOMEM;
    }
    *ret = list;
    return 0;
}
