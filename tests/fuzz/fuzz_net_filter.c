/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules and targets as lines: "+pattern" is allowed, "-pattern" denied, "~pattern" goes to
 * mitmProxy, and any other line is a target. The filter must say what the definition says, pattern
 * by pattern.
 */
#include <stdlib.h>
#include <string.h>

#include "net/filter.h"
#include "net/pattern.h"

#define FUZZ_MAX  4096
#define MAX_RULES 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct list {
    struct filter_pattern sources[MAX_RULES];
    struct pattern patterns[MAX_RULES];
    size_t count;
};

static bool matches(const struct list *l, const struct host *h, uint16_t port)
{
    for (size_t i = 0; i < l->count; i++)
        if (pattern_matches(&l->patterns[i], h, port))
            return true;
    return false;
}

static void check_target(const struct filter *f, const struct list lists[3], const char *line)
{
    enum filter_decision expected = FILTER_UNLISTED;
    struct filter_verdict v;
    struct host h;
    uint16_t port;

    if (host_parse_authority(line, strlen(line), 443, &h, &port) != HOST_OK)
        return;
    if (h.is_address && addr_blocked(&h.addr) && !matches(&lists[0], &h, port))
        expected = FILTER_DENY;
    else if (matches(&lists[1], &h, port))
        expected = FILTER_DENY;
    else if (matches(&lists[0], &h, port))
        expected = FILTER_ALLOW;
    filter_check_host(f, &h, port, &v);
    if (v.decision != expected || !v.rule || !v.origin || strlen(v.grant) >= sizeof v.grant)
        abort();
    if (filter_routes_to_mitm(f, &h, port) != matches(&lists[2], &h, port))
        abort();
    if (h.is_address) {
        filter_check_addresses(f, &h.addr, 1, port, &v);
        if ((v.decision == FILTER_DENY) != (expected == FILTER_DENY))
            abort();
    }
}

/* Takes a line that is a rule into its list. */
static void take_rule(struct list lists[3], const char *line)
{
    const char *sign = line[0] != '\0' ? strchr("+-~", line[0]) : NULL;
    struct list *l = sign ? &lists[sign[0] == '+' ? 0 : sign[0] == '-' ? 1 : 2] : NULL;

    if (!l || l->count == MAX_RULES || !pattern_parse(line + 1, &l->patterns[l->count]))
        return;
    l->sources[l->count++] = (struct filter_pattern){ line + 1, "seed" };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct list lists[3];
    _filter_ struct filter *f = NULL;
    char text[FUZZ_MAX + 1];
    size_t at;

    if (size > FUZZ_MAX)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (at = 0; at < size; at++)
        if (text[at] == '\n')
            text[at] = '\0';
    memset(lists, 0, sizeof lists);
    for (at = 0; at < size; at += strlen(text + at) + 1)
        take_rule(lists, text + at);
    const struct filter_lists all = { { lists[0].sources, lists[0].count },
                                      { lists[1].sources, lists[1].count },
                                      { lists[2].sources, lists[2].count } };
    if (filter_new(&all, &f, NULL) != ABX_OK)
        abort();
    for (at = 0; at < size; at += strlen(text + at) + 1)
        check_target(f, lists, text + at);
    return 0;
}
