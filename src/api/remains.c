/* SPDX-License-Identifier: Apache-2.0 */
/* Notices, at the end of a run, of what the command left: its processes, and for the host's git. */
#include <stdio.h>
#include <stdlib.h>

#include "api/internal.h"
#include "probe/remains.h"

static void put_find(struct buf *b, const struct remains_find *f)
{
    switch (f->kind) {
    case REMAINS_LINK:
        put_quoted(b, "the command made ", f->path, "");
        put_quoted(b, ", a link to ", f->what ? f->what : "", ": git would write there; remove it");
        break;
    case REMAINS_REPOSITORY:
        put_quoted(b, "the command made a repository in ", f->path, "");
        put_quoted(b, " that has ", f->what, ": git would run that; look at it before you use git");
        break;
    case REMAINS_BROKEN:
        put_quoted(b, "", f->path, " is no repository any more");
        put_quoted(b, ": git would take one that it finds in ", f->what ? f->what : f->path,
                   " or above; put HEAD back before you use git");
        break;
    case REMAINS_REBASE:
        put_quoted(b, "\"git rebase --continue\" would run what the command wrote into ", f->path,
                   "");
        break;
    case REMAINS_UNREAD:
        put_quoted(b, "", f->path, " has too much in it to look for what the command left for git");
        break;
    }
}

static void tell_left(const abx_manager *m, const struct run *run)
{
    const long long left = run->end.left;
    char text[128];

    if (left <= 0)
        return;
    (void)snprintf(text, sizeof text,
                   "%lld process%s that still ran in the background %s ended with the command",
                   left, left == 1 ? "" : "es", left == 1 ? "was" : "were");
    manager_notice(m, ABX_NOTICE_INFO, text);
}

void tell_remains(const abx_manager *m, struct run *run)
{
    _arena_ struct arena arena = { 0 };
    struct remains_find finds[REMAINS_MAX];
    struct remains *remains = TAKE_PTR(run->remains);

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const size_t count = remains ? remains_look(remains, &arena, finds) : 0;
    for (size_t i = 0; i < MIN_OF(count, REMAINS_MAX); i++) {
        _buf_ struct buf text = { .limit = 65536 };

        put_find(&text, &finds[i]);
        if (i + 1 == REMAINS_MAX && count > REMAINS_MAX)
            (void)buf_printf(&text, " (and %zu more like that)", count - REMAINS_MAX);
        if (!text.failed)
            manager_notice(m, ABX_NOTICE_WARNING, text.data);
    }
    free(remains); /* the finds name what it has */
    tell_left(m, run);
}
