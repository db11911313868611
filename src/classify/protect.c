/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protected paths: files in a project that others execute or trust (hooks, settings of editors and
 * agents, .env). Any command that would write, replace, delete or re-own one counts, however the
 * path is spelled: relative, absolute, through "..", after a cd. Patterns are compared at every
 * depth, component by component; a path may be a pattern of the shell itself, and then it is the
 * file if it could match it. Deleting what a protected path lies in is asked about.
 */
#include <string.h>

#include "base/glob.h"
#include "classify/place.h"
#include "classify/rules.h"
#include "classify/writes.h"

enum fit { FIT_NONE, FIT_PARENT, FIT_WHOLE };

static bool component_fits(const char *pattern, size_t pattern_len, const char *name, size_t len)
{
    if (glob_match(pattern, pattern_len, name, len))
        return true;
    bool hidden = pattern_len > 0 && pattern[0] == '.' && len > 0 && name[0] != '.';

    return !hidden && glob_is_pattern(name, len) && glob_match(name, len, pattern, pattern_len);
}

/* The pattern against the path from here on. */
static enum fit fits_at(const char *pattern, const char *path)
{
    for (;;) {
        size_t p = strcspn(pattern, "/"), n = strcspn(path, "/");

        if (p == 1 && *pattern == '*' && pattern[1] == '\0')
            return FIT_WHOLE; /* everything below */
        if (!component_fits(pattern, p, path, n))
            return FIT_NONE;
        pattern += p;
        path += n;
        if (*pattern == '\0')
            return *path == '\0' ? FIT_WHOLE : FIT_NONE;
        if (*path == '\0') /* "dir/" and a star covers dir itself, too */
            return strcmp(pattern, "/*") == 0 ? FIT_WHOLE : FIT_PARENT;
        pattern++;
        path++;
    }
}

static enum fit fits(const char *pattern, const char *place)
{
    enum fit best = FIT_NONE;

    if (*pattern == '/')
        return *place == '/' ? fits_at(pattern + 1, place + 1) : FIT_NONE;
    for (const char *at = place + (*place == '/'); at; at = strchr(at, '/')) {
        at += *at == '/';
        enum fit fit = fits_at(pattern, at);

        best = MAX_OF(best, fit);
    }
    return best;
}

const struct protected_path *ruleset_protected(const struct ruleset *r, const struct subject *s,
                                               enum decision *ret)
{
    const struct protected_path *best = NULL;
    struct writes w;
    struct write one;

    if (r->protected_count == 0)
        return NULL;
    writes_init(&w, s);
    while (writes_next(&w, &one)) {
        const char *place = place_of(s, one.word, one.text);

        for (size_t i = 0; i < r->protected_count; i++) {
            const struct protected_path *p = &r->protected[i];
            enum fit fit = fits(p->pattern, place);
            enum decision decision = p->decision;

            if (fit == FIT_NONE || (fit == FIT_PARENT && one.how != WRITE_DELETE))
                continue;
            if (fit == FIT_PARENT)
                decision = MIN_OF(decision, DECISION_ESCALATED);
            if (!best || decision > *ret) {
                best = p;
                *ret = decision;
            }
        }
    }
    return best;
}
