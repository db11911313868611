/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /etc/hosts and /etc/resolv.conf.
 *
 * The files are the host's own, so what is odd in them is passed over as libc does it, not refused.
 * Addresses may have any spelling. Names go through host_parse: one that no request could ask for
 * (with an underscore, say) is not looked at. Allocates nothing; a hosts file is searched as it is,
 * and only lines that hold the name are read: lists of hosts that are to be blocked have megabytes.
 */
#include "net/resolvconf.h"

#include <string.h>

#include "net/span.h"

#define NDOTS_MAX    15
#define TIMEOUT_MAX  30
#define ATTEMPTS_MAX 5

/* The next word of a line; blanks, tabs and a CR at the end divide. */
static bool next_word(struct span *line, struct span *ret)
{
    size_t start = 0, end;

    while (start < line->len && strchr(" \t\r", line->at[start]) && line->at[start])
        start++;
    for (end = start; end < line->len; end++)
        if (line->at[end] && strchr(" \t\r", line->at[end]))
            break;
    *ret = (struct span){ line->at + start, end - start };
    line->at += end;
    line->len -= end;
    return ret->len > 0;
}

/* The next line, without what a '#' begins (in resolv.conf also a ';' at its start). */
static bool next_line(struct span *rest, struct span *ret)
{
    const char *comment;

    if (!span_next(rest, '\n', ret))
        return false;
    comment = ret->len > 0 ? memchr(ret->at, '#', ret->len) : NULL;
    if (comment)
        ret->len = (size_t)(comment - ret->at);
    return true;
}

/* ---- resolv.conf ---- */

static void add_server(struct resolv_conf *conf, struct span word)
{
    struct resolv_server *server = &conf->servers[conf->server_count];
    const char *percent = memchr(word.at, '%', word.len);
    size_t zone_len = percent ? (size_t)(word.at + word.len - percent - 1) : 0;

    if (conf->server_count == RESOLV_MAX_SERVERS || zone_len >= sizeof server->zone ||
        addr_parse(word.at, word.len, &server->addr) < 0)
        return;
    memset(server->zone, 0, sizeof server->zone);
    if (percent)
        memcpy(server->zone, percent + 1, zone_len);
    conf->server_count++;
}

static void set_search(struct resolv_conf *conf, struct span line, size_t max)
{
    struct span word;

    conf->search_count = 0;
    while (conf->search_count < max && next_word(&line, &word)) {
        struct host *host = &conf->search[conf->search_count];
        if (host_parse(word.at, word.len, host) == HOST_OK && !host->is_address)
            conf->search_count++;
    }
}

/* "name:number"; numbers beyond the limits are cut to them. */
static void set_number(struct span word, const char *name, unsigned min, unsigned max,
                       unsigned *ret)
{
    size_t len = strlen(name);
    uint64_t value = 0;

    if (word.len > len && memcmp(word.at, name, len) == 0 &&
        span_to_u64((struct span){ word.at + len, word.len - len }, UINT32_MAX, &value))
        *ret = (unsigned)MIN_OF(MAX_OF(value, min), max);
}

static void set_options(struct resolv_conf *conf, struct span line)
{
    struct span word;

    while (next_word(&line, &word)) {
        set_number(word, "ndots:", 0, NDOTS_MAX, &conf->ndots);
        set_number(word, "timeout:", 1, TIMEOUT_MAX, &conf->timeout);
        set_number(word, "attempts:", 1, ATTEMPTS_MAX, &conf->attempts);
        if (span_eq(word, "use-vc"))
            conf->use_tcp = true;
    }
}

void resolv_conf_parse(const char *text, size_t len, struct resolv_conf *ret)
{
    static const uint8_t loopback[] = { 127, 0, 0, 1 };
    struct span rest = { text, len }, line, word;

    *ret = (struct resolv_conf){ .ndots = 1, .timeout = 5, .attempts = 2 };
    while (next_line(&rest, &line)) {
        if (!next_word(&line, &word) || word.at[0] == ';')
            continue;
        if (span_eq(word, "nameserver") && next_word(&line, &word))
            add_server(ret, word);
        else if (span_eq(word, "search"))
            set_search(ret, line, RESOLV_MAX_SEARCH);
        else if (span_eq(word, "domain"))
            set_search(ret, line, 1);
        else if (span_eq(word, "options"))
            set_options(ret, line);
    }
    if (ret->server_count == 0) {
        ret->servers[0].addr = addr_from_v4(loopback);
        ret->server_count = 1;
    }
}

/* name.domain; false if that is too long. */
static bool join(const struct host *name, const struct host *domain, struct host *ret)
{
    char text[2 * HOST_MAX + 1];

    memcpy(text, name->text, name->len);
    text[name->len] = '.';
    memcpy(text + name->len + 1, domain->text, domain->len);
    return host_parse(text, (size_t)name->len + 1 + domain->len, ret) == HOST_OK;
}

bool resolv_candidate(const struct resolv_conf *conf, const struct host *name, size_t n,
                      struct host *ret)
{
    unsigned dots = 0;
    bool first;

    for (size_t i = 0; i < name->len; i++)
        dots += name->text[i] == '.';
    first = dots >= conf->ndots;
    if (n == (first ? 0 : conf->search_count)) {
        *ret = *name;
        return true;
    }
    if (n > conf->search_count)
        return false;
    if (!join(name, &conf->search[n - (first ? 1 : 0)], ret))
        *ret = *name;
    return true;
}

/* ---- hosts ---- */

static bool names_host(struct span line, const struct host *name)
{
    struct span word;

    while (next_word(&line, &word)) {
        struct host host;
        size_t len = word.len > 0 && word.at[word.len - 1] == '.' ? word.len - 1 : word.len;
        if (len == name->len && host_parse(word.at, word.len, &host) == HOST_OK &&
            host_eq(&host, name))
            return true;
    }
    return false;
}

/* The next line with the name anywhere in it. */
static bool next_line_with(struct span *rest, const struct host *name, struct span *ret)
{
    const char *found = memmem(rest->at, rest->len, name->text, name->len);
    const char *before = found ? memrchr(rest->at, '\n', (size_t)(found - rest->at)) : NULL;

    if (!found)
        return false;
    if (before) {
        rest->len -= (size_t)(before + 1 - rest->at);
        rest->at = before + 1;
    }
    return next_line(rest, ret);
}

size_t hosts_find(const char *text, size_t len, const struct host *name,
                  struct addr addrs[HOSTS_MAX_ADDRS])
{
    struct span rest = { text, len }, line, word;
    size_t count = 0;

    while (count < HOSTS_MAX_ADDRS && next_line_with(&rest, name, &line)) {
        struct addr addr;
        bool known = false;

        if (!next_word(&line, &word) || !names_host(line, name) ||
            addr_parse(word.at, word.len, &addr) < 0)
            continue;
        for (size_t i = 0; i < count; i++)
            known = known || addr_eq(&addrs[i], &addr);
        if (!known)
            addrs[count++] = addr;
    }
    return count;
}

size_t hosts_builtin(const struct host *name, struct addr addrs[HOSTS_MAX_ADDRS])
{
    static const char local[] = "localhost";
    const size_t len = sizeof local - 1;

    if (name->is_address || name->len < len ||
        memcmp(name->text + name->len - len, local, len) != 0 ||
        (name->len > len && name->text[name->len - len - 1] != '.'))
        return 0;
    (void)addr_parse("127.0.0.1", strlen("127.0.0.1"), &addrs[0]);
    (void)addr_parse("::1", strlen("::1"), &addrs[1]);
    return 2;
}
