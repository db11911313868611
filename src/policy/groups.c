/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of groups and profiles. Both are sorted by name, so that the rows of one stand
 * together. Names are compared whole. Pure.
 */
#include "policy/groups.h"

#include "base/str.h"

static const struct group_row groups[] = {
#define GROUP(group, pattern) { group, pattern },
#include "policy/groups.def"
#undef GROUP
};

static const struct profile_row profiles[] = {
#define PROFILE(profile, key, value) { profile, KEY_##key, value },
#include "policy/profiles.def"
#undef PROFILE
};

const struct group_row *group_row(size_t i)
{
    return i < ARRAY_LEN(groups) ? &groups[i] : NULL;
}

const struct group_row *group_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        if (str_eq(groups[i].group, name))
            return &groups[i];
    return NULL;
}

size_t group_size(const struct group_row *first)
{
    size_t n = 0;

    while (first + n < groups + ARRAY_LEN(groups) && str_eq(first[n].group, first->group))
        n++;
    return n;
}

const char *group_nearest(const char *name)
{
    const char *names[ARRAY_LEN(groups) + 1] = { NULL };

    for (size_t i = 0; i < ARRAY_LEN(groups); i++)
        names[i] = groups[i].group;
    return str_nearest(name, names);
}

const struct profile_row *profile_row(size_t i)
{
    return i < ARRAY_LEN(profiles) ? &profiles[i] : NULL;
}

const struct profile_row *profile_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++)
        if (str_eq(profiles[i].profile, name))
            return &profiles[i];
    return NULL;
}

size_t profile_size(const struct profile_row *first)
{
    size_t n = 0;

    while (first + n < profiles + ARRAY_LEN(profiles) && str_eq(first[n].profile, first->profile))
        n++;
    return n;
}
