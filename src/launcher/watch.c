/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: pid 1 looks at calls of the command that the view of files, the network namespace or
 * the filter may refuse (plan/watch.def), and tells the host about those that will be.
 *
 * Trusts nothing: path and address are the caller's memory and may change while we look, the caller
 * may be gone, and all of it may come a million times a second. So this explains and never decides:
 * a call that the plan's filter allows goes on whatever was found, the others get EPERM always.
 *
 * First a cheap test: is the mount that the name leads to read-only, or is there none
 * (watch_judge.c)? Only then the path is made canonical (watch_names.c) and told (watch_records.c).
 */
#include "launcher/watch.h"

#define AT_NOFOLLOW_BIT 0x100u
#define NUMBERS         512u /* more than any call of watch.def has */

static const struct call calls[] = {
#if defined(__x86_64__)
#define WATCH(name, x86_64, aarch64, level, kind, dir, path, flags, dir2, path2)                   \
    { x86_64, WATCH_##level, WATCH_##kind, dir, path, flags, dir2, path2 },
#else
#define WATCH(name, x86_64, aarch64, level, kind, dir, path, flags, dir2, path2)                   \
    { aarch64, WATCH_##level, WATCH_##kind, dir, path, flags, dir2, path2 },
#endif
#include "plan/watch.def"
#undef WATCH
};

SMALL_STATE static struct {
    uint8_t rows[NUMBERS]; /* of calls, from 1 on; 0: none has this number */
    bool networked;
} watch;

_Static_assert(ARRAY_LEN(calls) < UINT8_MAX, "rows has bytes");

static const struct call *find_call(int32_t number)
{
    const uint32_t row = number >= 0 && number < (int32_t)NUMBERS ? watch.rows[number] : 0;

    return row ? &calls[row - 1] : NULL;
}

/* ---- paths ---- */

/* An open that wants a new file is about the name as well: made before, it would fail. */
static bool is_about_name(const struct look *l)
{
    const uint32_t makes = SYS_O_CREAT | SYS_O_EXCL;

    return l->call->kind == WATCH_REMOVE || l->call->kind == WATCH_MAKE ||
           l->call->kind == WATCH_MOVE || (l->open_flags & makes) == makes;
}

static void look_closer(const struct look *l)
{
    static char path[TEXT_MAX];
    const bool name_only = is_about_name(l);

    if (!record_may_look(&record_calls))
        return;
    size_t len = look_path(l, name_only, path);
    if (len)
        record_tell(&record_calls, l->n, l->flags | (name_only ? WATCH_NAME : 0), 0, path, len);
}

static void look_at_move(struct look *l)
{
    if (look_read(l, l->call->dir, l->call->path) && judge_remove(l, false))
        look_closer(l);
    l->flags = 0;
    if (look_read(l, l->call->dir2, l->call->path2) && judge_remove(l, true))
        look_closer(l);
}

static void look_at_name(struct look *l)
{
    const struct call *c = l->call;
    bool refused = false;

    if (!look_read(l, c->dir, c->path))
        return;
    switch (c->kind) {
    case WATCH_CREAT:
        l->open_flags = SYS_O_WRONLY | SYS_O_CREAT | SYS_O_TRUNC;
        refused = judge_open(l);
        break;
    case WATCH_OPEN:
        l->open_flags = (uint32_t)l->n->args[c->flags];
        l->follow = !(l->open_flags & SYS_O_NOFOLLOW);
        refused = judge_open(l);
        break;
    case WATCH_MAKE:
        refused = judge_make(l);
        break;
    case WATCH_REMOVE:
        refused = judge_remove(l, false);
        break;
    default:
        l->follow = c->flags != WATCH_NOFOLLOW &&
                    !(c->flags >= 0 && (l->n->args[c->flags] & AT_NOFOLLOW_BIT));
        refused = judge_change(l);
    }
    if (refused)
        look_closer(l);
}

/* ---- addresses ---- */

struct address {
    uint16_t family, port;
    uint8_t v4[4], v6[16];
    uint32_t scope;
};

/* With a network of its own everything but loopback is out of reach. */
static bool is_own(const struct address *a)
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff }, none[15];
    const uint8_t *v4 = a->v4;

    if (a->family == 10 /* AF_INET6 */) {
        if (memcmp(a->v6, none, sizeof none) == 0 && a->v6[15] <= 1)
            return true;
        if (memcmp(a->v6, mapped, sizeof mapped) != 0)
            return false;
        v4 = a->v6 + sizeof mapped;
    }
    return v4[0] == 127 || (v4[0] | v4[1] | v4[2] | v4[3]) == 0;
}

static void look_at_address(const struct notice *n, const struct call *c)
{
    struct address a = { 0 };
    const uint64_t given = n->args[c->flags] & UINT32_MAX;
    const size_t size = given < sizeof a ? (size_t)given : sizeof a;

    if (!watch.networked || size < 8 || notify_read(n, n->args[c->path], &a, size) != (long)size)
        return;
    const bool v6 = a.family == 10;
    if ((!v6 && a.family != 2) || (v6 && size < 24) || is_own(&a) ||
        !record_may_look(&record_calls))
        return;
    record_tell(&record_calls, n, WATCH_INET, (uint32_t)(a.port >> 8 | (a.port & 0xff) << 8),
                v6 ? a.v6 : a.v4, v6 ? 16 : 4);
}

/* ---- calls that are refused as a whole ---- */

/* With a command, what the wrapper says, or whoever plays it: text in the six arguments. */
static void look_at_told(const struct notice *n, const struct call *c)
{
    char word[WATCH_COMMAND_MAX + 1] = "";
    const bool command = c->kind == WATCH_COMMAND;

    _Static_assert(sizeof n->args == WATCH_COMMAND_MAX, "the arguments are the word");
    if (command)
        memcpy(word, n->args, WATCH_COMMAND_MAX);
    if ((!command || word[0]) && record_may_look(&record_calls))
        record_tell(&record_calls, n, command ? WATCH_WORD : 0, 0, word, text_len(word));
}

void watch_begin(const struct launch *l)
{
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        if (calls[i].number >= 0 && calls[i].number < (int16_t)NUMBERS)
            watch.rows[calls[i].number] = (uint8_t)(i + 1);
    watch.networked = (l->plan.layers & LAYER_BIT(LAYER_NETNS)) != 0;
    judge_begin(&l->plan);
    watch_allow_thread(&l->plan);
}

bool watch_serve(int fd)
{
    static char text[TEXT_MAX];
    struct notice n;

    if (!notify_receive(fd, &n))
        return false;
    if (sockets_serve(fd, &n) || relay_serve(fd, &n))
        return true;
    const struct call *c = find_call(n.number);
    if (!c || c->level == WATCH_TOLD) {
        if (c)
            look_at_told(&n, c);
        notify_answer(fd, &n, EPERM);
        return true;
    }
    struct look look = { .n = &n, .call = c, .follow = true, .text = text };
    if (c->kind == WATCH_ADDRESS)
        look_at_address(&n, c);
    else if (c->kind == WATCH_MOVE)
        look_at_move(&look);
    else if (c->kind != WATCH_CHDIR)
        look_at_name(&look);
    if (c->kind == WATCH_MAKE || c->kind == WATCH_MOVE || c->kind == WATCH_CHDIR)
        known_change(&n);
    notify_answer(fd, &n, 0);
    return true;
}
