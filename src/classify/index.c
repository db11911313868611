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

/* What one row of a table says about the names that it lists. */
struct row {
    const char *names; /* separated by a blank each */
    uint32_t traits;
    int rule; /* -1: none */
    const struct wrapper *wrapper;
    const struct writer *writer;
};
typedef void (*row_fn)(void *user, const struct row *row);

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

static void each_row(row_fn fn, void *user)
{
    for (size_t i = 0; i < ARRAY_LEN(flagged); i++)
        fn(user, &(struct row){ flagged[i], TRAIT_FLAGGED, -1, NULL, NULL });
    for (size_t i = 0; i < ARRAY_LEN(traits); i++)
        fn(user, &(struct row){ traits[i].names, traits[i].trait, -1, NULL, NULL });
    for (size_t i = 0; i < RULE_COUNT; i++)
        if (strcmp(builtin_rules[i].commands, "*") != 0)
            fn(user, &(struct row){ builtin_rules[i].commands, 0, (int)i, NULL, NULL });
    for (size_t i = 0; i < wrapper_count; i++)
        fn(user, &(struct row){ wrappers[i].name, 0, -1, &wrappers[i], NULL });
    for (size_t i = 0; i < writer_count; i++)
        fn(user, &(struct row){ writer_names(writer_at(i)), 0, -1, NULL, writer_at(i) });
}

static void add_row(struct command *c, const struct row *row, const char *name, size_t len)
{
    c->name = name;
    c->name_len = (uint32_t)len;
    c->traits |= row->traits;
    if (row->wrapper)
        c->wrapper = row->wrapper;
    if (row->writer)
        c->writer = row->writer;
    if (row->rule < 0)
        return;
    if (c->rule_count == COMMAND_MAX_RULES)
        abort(); /* a row too many in rules.def */
    c->rules[c->rule_count++] = (uint8_t)row->rule;
}

/* ---- without an index ---- */

struct search {
    const char *name;
    size_t len;
    struct command found;
};

/* Where the name is one of the row's, or NULL. */
static const char *find_name(const char *names, const char *name, size_t len)
{
    for (const char *at = names; (at = strstr(at, name)) != NULL; at += len)
        if ((at == names || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return at;
    return NULL;
}

static void search_row(void *user, const struct row *row)
{
    struct search *s = user;
    const char *at = find_name(row->names, s->name, s->len);

    if (at)
        add_row(&s->found, row, at, s->len);
}

static const struct command *search(const char *name, struct arena *arena, bool *no_memory)
{
    struct search s = { .name = name, .len = strlen(name) };

    if (!strchr(name, ' ')) /* or it could be two of a row, and the blank between them */
        each_row(search_row, &s);
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

static void index_row(void *user, const struct row *row)
{
    struct index *index = user;

    for (const char *at = row->names; *at; at += strspn(at, " ")) {
        const size_t len = strcspn(at, " ");
        struct command *c = find_slot(index->slots, at, len);

        if (!c->name && ++index->count > INDEX_SLOTS / 2)
            abort(); /* the tables have outgrown the index */
        add_row(c, row, at, len);
        at += len;
    }
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
    each_row(index_row, &index);
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
