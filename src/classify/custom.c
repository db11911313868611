/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of the user: a pattern against the words of one simple command, joined by blanks. The
 * command is tried as written and by its bare name, so that a rule for "git push *" also sees
 * /usr/bin/git; but what allows must match as written, or a program of the same name somewhere else
 * would be allowed with it. Each byte of the pattern meets each byte of the text a constant number
 * of times: only the last star is ever tried again.
 */
#include <string.h>

#include "classify/rules.h"

/* One of a set at p ("[a-c]"); *ret_end is behind it. false and no end: not a set. */
static bool set_has(const char *p, char c, const char **ret_end)
{
    const char *at = p + 1;
    bool negated = *at == '!' || *at == '^', found = false;

    at += negated;
    for (const char *start = at; *at && (*at != ']' || at == start); at++) {
        if (at[1] == '-' && at[2] && at[2] != ']') {
            found |= c >= at[0] && c <= at[2];
            at += 2;
        } else {
            found |= c == *at;
        }
    }
    if (*at != ']')
        return false;
    *ret_end = at + 1;
    return found != negated;
}

/* Whether one byte fits; *ret_next is what follows in the pattern. */
static bool one_fits(const char *p, char c, const char **ret_next)
{
    const char *end = NULL;

    *ret_next = p + 1;
    if (*p == '?')
        return true;
    if (*p == '[') {
        bool has = set_has(p, c, &end);

        if (end) {
            *ret_next = end;
            return has;
        }
    }
    if (*p == '\\' && p[1]) {
        *ret_next = p + 2;
        return p[1] == c;
    }
    return *p == c;
}

static bool pattern_fits(const char *pattern, const char *text)
{
    const char *p = pattern, *star = NULL, *again = NULL, *next;

    while (*text) {
        if (*p == '*') {
            star = ++p;
            again = text;
        } else if (*p && one_fits(p, *text, &next)) {
            p = next;
            text++;
        } else if (star) {
            p = star;
            text = ++again;
        } else {
            return false;
        }
    }
    p += strspn(p, "*");
    return *p == '\0';
}

static char *join(const struct subject *s, const char *first)
{
    size_t size = strlen(first) + 1, at = 0;

    for (size_t i = 0; i < s->count; i++)
        size += s->args[i].len + 1;
    char *text = arena_alloc(s->arena, size, 1);

    if (!text)
        return NULL;
    memcpy(text, first, strlen(first));
    at = strlen(first);
    for (size_t i = 0; i < s->count; i++) {
        text[at++] = ' ';
        memcpy(text + at, s->args[i].text, s->args[i].len);
        at += s->args[i].len;
    }
    text[at] = '\0';
    return text;
}

const struct custom_rule *ruleset_custom(const struct ruleset *r, const struct subject *s)
{
    static const struct custom_rule no_memory = { "", DECISION_ESCALATED, "out of memory", false };

    if (r->custom_count == 0 || s->call->count == 0)
        return NULL;
    const char *written = join(s, s->call->words[0].text), *bare = join(s, s->name);

    if (!written || !bare)
        return &no_memory;
    bool passed = false; /* a rule that guards has matched */

    for (size_t i = 0; i < r->custom_count; i++) {
        const struct custom_rule *c = &r->custom[i];

        if (c->guards && passed)
            continue;
        if (c->decision < DECISION_ESCALATED && s->call->words[0].flags & WORD_UNKNOWN)
            continue;
        if (pattern_fits(c->pattern, written) ||
            (c->decision >= DECISION_ESCALATED && *s->name && pattern_fits(c->pattern, bare))) {
            if (!c->guards || c->decision == DECISION_FORBIDDEN)
                return c;
            passed = true;
        }
    }
    return NULL;
}
