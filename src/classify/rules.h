/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the classifier: the built-in rules (rules.def), and the ruleset as the judge sees it.
 */
#ifndef ABX_CLASSIFY_RULES_H
#define ABX_CLASSIFY_RULES_H

#include "base/arena.h"
#include "classify/ruleset.h"
#include "classify/subject.h"

struct rule {
    const char *name;
    enum decision decision;
    bool (*match)(struct subject *s);
    const char *commands; /* blank-separated; "*": asked about every command */
    const char *reason, *example, *counter_example;
};

enum {
#define RULE(id, decision, name, commands, reason, example, counter_example) RULE_##id,
#include "classify/rules.def"
#undef RULE
    RULE_COUNT,
};
extern const struct rule builtin_rules[RULE_COUNT];

#define RULE(id, decision, name, commands, reason, example, counter_example)                       \
    bool match_##id(struct subject *s);
#include "classify/rules.def"
#undef RULE
#define MATCH(id) bool match_##id(struct subject *s)

#define COMMAND_MAX_RULES 12

/* All that is known by the name of a command. */
struct command {
    const char *name; /* not NUL-terminated; NULL: a free slot */
    uint32_t name_len;
    uint32_t rule_count;
    uint8_t rules[COMMAND_MAX_RULES]; /* in the order of the table */
    uint32_t traits;
    const struct wrapper *wrapper; /* or NULL */
    const struct writer *writer;   /* or NULL */
};

#define INDEX_AFTER 32 /* searches */

/* index.c: how commands are found by name; changes behind a ruleset that does not. */
struct lookup {
    unsigned searches;     /* atomic */
    struct command *slots; /* atomic; NULL: not worth it yet */
};

struct ruleset {
    struct arena arena;
    const char *home;
    bool builtin;
    enum decision decisions[RULE_COUNT]; /* after the overrides */
    enum decision chain_allow;
    struct custom_rule *custom;
    size_t custom_count;
    struct protected_path *protected;
    size_t protected_count;
    uint8_t every[RULE_COUNT]; /* the rules for every command */
    size_t every_count;
    struct lookup *lookup;
};

/* Known by the name, or NULL; then *no_memory is set if it is not known for lack of memory. */
const struct command *ruleset_command(const struct ruleset *r, const char *name,
                                      struct arena *arena, bool *no_memory);
const char *ruleset_home(const struct ruleset *r); /* absolute; made up if not known */
/* The first custom rule for these words; NULL: none. */
const struct custom_rule *ruleset_custom(const struct ruleset *r, const struct subject *s);
/* The strictest protected path that the command would change, and what to do then. */
const struct protected_path *ruleset_protected(const struct ruleset *r, const struct subject *s,
                                               enum decision *ret);

#endif
