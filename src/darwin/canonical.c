/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of a Mac as text: /tmp, /var and /etc are links into /private, and what lies behind a
 * firmlink has a second name below /System/Volumes/Data. A path that is moved by one rule may be
 * moved by the next: /System/Volumes/Data/private/tmp has one name like everything else (A156).
 *
 * Pure, and trusts that the path is clean; "/tmpx" is not "/tmp".
 */
#include "darwin/canonical.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DATA_VOLUME "/System/Volumes/Data"

static const char *const firmlinks[] = {
#define FIRMLINK(path) path,
#include "darwin/firmlinks.def"
#undef FIRMLINK
};

/* What follows dir in path; NULL if path is neither dir nor below it. */
static const char *rest_below(const char *path, const char *dir)
{
    size_t len = strlen(dir);

    if (strncmp(path, dir, len) != 0 || (path[len] && path[len] != '/'))
        return NULL;
    return path + len;
}

static const char *without_volume(const char *path)
{
    const char *rest = rest_below(path, DATA_VOLUME);

    for (size_t i = 0; rest && i < ARRAY_LEN(firmlinks); i++)
        if (rest_below(rest, firmlinks[i]))
            return rest;
    return path;
}

int darwin_canonical(const char *path, char *out)
{
    static const char *const links[] = { "/etc", "/tmp", "/var" };
    const char *prefix = "";

    path = without_volume(path);
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        if (rest_below(path, links[i]))
            prefix = "/private";
    int len = snprintf(out, DARWIN_PATH_MAX, "%s%s", prefix, path);
    return len < 0 || len >= DARWIN_PATH_MAX ? -ENAMETOOLONG : 0;
}
