/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the name of a command to the rules, the traits, the wrapper and the writes that it has.
 *
 * The tables are searched from front to back at first: a program that judges one command and ends
 * does not pay for an index, which costs more than a few searches. After INDEX_AFTER searches one
 * thread makes it, and everybody uses it; whoever comes second throws his away. Tables that have
 * outgrown their limits end the program at the first search or build: every test would see it.
 */
#include <stdlib.h>
#include <string.h>

#include "classify/rules.h"
#include "classify/unwrap.h"
#include "classify/writes.h"

#define INDEX_SLOTS 2048 /* a power of two, more than twice the names there are */

/* One name in one table. */
struct entry {
    const char *name; /* not NUL-terminated */
    size_t len;
    uint32_t traits;
    int rule; /* -1: none */
    const struct wrapper *wrapper;
    const struct writer *writer;
};
typedef void (*entry_fn)(void *user, const struct entry *e);

static const struct {
    uint32_t trait;
    const char *names;
} traits[] = {
#define TRAIT(id, names) { TRAIT_##id, names },
#include "classify/traits.def"
#undef TRAIT
};

static const char *const flagged[] = {
#define COMMAND_FLAG(program, name, letter, inner) program,
#include "classify/command_flags.def"
#undef COMMAND_FLAG
};

static void each_name(const char *names, struct entry e, entry_fn fn, void *user)
{
    for (const char *at = names; *at;) {
        for (e.name = at; *at && *at != ' '; at++)
            ;
        e.len = (size_t)(at - e.name);
        fn(user, &e);
        while (*at == ' ')
            at++;
    }
}

static void each_entry(entry_fn fn, void *user)
{
    const struct entry none = { .rule = -1 };
    struct entry e = none;

    e.traits = TRAIT_FLAGGED;
    for (size_t i = 0; i < ARRAY_LEN(flagged); i++)
        each_name(flagged[i], e, fn, user);
    for (size_t i = 0; i < ARRAY_LEN(traits); i++) {
        e.traits = traits[i].trait;
        each_name(traits[i].names, e, fn, user);
    }
    e = none;
    for (size_t i = 0; i < RULE_COUNT; i++) {
        e.rule = (int)i;
        if (strcmp(builtin_rules[i].commands, "*") != 0)
            each_name(builtin_rules[i].commands, e, fn, user);
    }
    e = none;
    for (size_t i = 0; i < wrapper_count; i++) {
        e.wrapper = &wrappers[i];
        each_name(wrappers[i].name, e, fn, user);
    }
    e = none;
    for (size_t i = 0; i < writer_count; i++) {
        e.writer = writer_at(i);
        each_name(writer_names(e.writer), e, fn, user);
    }
}

static void add_entry(struct command *c, const struct entry *e)
{
    c->name = e->name;
    c->name_len = (uint32_t)e->len;
    c->traits |= e->traits;
    if (e->wrapper)
        c->wrapper = e->wrapper;
    if (e->writer)
        c->writer = e->writer;
    if (e->rule < 0)
        return;
    if (c->rule_count == COMMAND_MAX_RULES)
        abort(); /* a row too many in rules.def */
    c->rules[c->rule_count++] = (uint8_t)e->rule;
}

/* ---- without an index ---- */

struct search {
    const char *name;
    size_t len;
    struct command found;
};

static void search_entry(void *user, const struct entry *e)
{
    struct search *s = user;

    if (e->len == s->len && memcmp(e->name, s->name, e->len) == 0)
        add_entry(&s->found, e);
}

static const struct command *search(const char *name, struct arena *arena, bool *no_memory)
{
    struct search s = { .name = name, .len = strlen(name) };

    each_entry(search_entry, &s);
    if (!s.found.name)
        return NULL;
    struct command *c = arena_alloc(arena, 1, sizeof(*c));

    if (c)
        *c = s.found;
    else
        *no_memory = true;
    return c;
}

/* ---- with one ---- */

struct index {
    struct command *slots;
    size_t count;
};

static uint32_t hash_name(const char *name, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h ^ h >> 15;
}

static struct command *find_slot(struct command *slots, const char *name, size_t len)
{
    for (uint32_t at = hash_name(name, len);; at++) {
        struct command *c = &slots[at % INDEX_SLOTS];

        if (!c->name || (c->name_len == len && memcmp(c->name, name, len) == 0))
            return c;
    }
}

static void index_entry(void *user, const struct entry *e)
{
    struct index *index = user;
    struct command *c = find_slot(index->slots, e->name, e->len);

    if (!c->name && ++index->count > INDEX_SLOTS / 2)
        abort(); /* the tables have outgrown the index */
    add_entry(c, e);
}

/* NULL: no memory, or too early. */
static struct command *find_index(struct lookup *l)
{
    struct command *there = __atomic_load_n(&l->slots, __ATOMIC_ACQUIRE);

    if (there || __atomic_add_fetch(&l->searches, 1, __ATOMIC_RELAXED) <= INDEX_AFTER)
        return there;
    struct index index = { .slots = calloc(INDEX_SLOTS, sizeof(struct command)) };

    if (!index.slots)
        return NULL;
    each_entry(index_entry, &index);
    if (__atomic_compare_exchange_n(&l->slots, &there, index.slots, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return index.slots;
    free(index.slots);
    return there;
}

const struct command *ruleset_command(const struct ruleset *r, const char *name,
                                      struct arena *arena, bool *no_memory)
{
    if (!name[0])
        return NULL;
    struct command *slots = find_index(r->lookup);

    if (!slots)
        return search(name, arena, no_memory);
    const struct command *c = find_slot(slots, name, strlen(name));

    return c->name ? c : NULL;
}
