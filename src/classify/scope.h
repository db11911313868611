/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the text itself tells about the shell that runs it: variables, arguments, the directory,
 * functions, aliases, exports. Unknown is the default: a name that the text never set has a value
 * that only the run tells.
 *
 * Changes are logged. A part that may or may not run (a branch, a loop, the right side of &&) is
 * walked between scope_mark and scope_merge: what it changed to something else is unknown after. A
 * part that runs in a process of its own ends with scope_rollback.
 */
#ifndef ABX_CLASSIFY_SCOPE_H
#define ABX_CLASSIFY_SCOPE_H

#include "base/arena.h"
#include "classify/call.h"

#define SCOPE_MAX_EXPORTS 1024

enum value_kind {
    VALUE_INITIAL, /* the text has not set it: known of IFS and HOME, unknown otherwise */
    VALUE_UNKNOWN,
    VALUE_UNSET,
    VALUE_SCALAR, /* items[0] */
    VALUE_LIST,   /* an array; the arguments; the stack of directories */
};

struct value {
    enum value_kind kind;
    uint32_t count;
    const struct word *items;
    uint32_t epoch; /* valid only while the scope's is the same */
};

struct shell_command;

struct function { /* one of the bodies that a name may have */
    struct function *next;
    const struct shell_command *definition;
    bool called;
    bool general;           /* it was walked with nothing known, … */
    uint32_t general_flags; /* … in a context with these flags */
    uint32_t walked;        /* times */
};

struct alias {
    struct alias *next;
    struct word text;
};

#define SYMBOL_EXPORTED 0x1u
#define SYMBOL_READONLY 0x2u
#define SYMBOL_ODD      0x4u /* integer, upper-case, reference: what is read is not what was set */

struct symbol {
    const char *name;
    size_t len;
    struct symbol *left, *right; /* an AA tree: no order of names makes it slow */
    uint32_t level;
    uint32_t flags;
    uint32_t stamp; /* of the merge that met it last */
    struct value value;
    struct function *functions;
    uint32_t function_epoch; /* while it is the scope's, the name is one of these functions */
    uint32_t active;         /* calls of it being walked */
    const struct shell_command *again; /* … and the first place in it that calls it again */
    bool is_fixed;                     /* readonly -f: another definition fails */
    bool is_rebound;                   /* hash -p: another program than the name says */
    struct alias *aliases;
    bool in_alias;
    bool listed; /* among the exports */
};

/* What a part of the text changed, and to what. */
struct scope_delta {
    struct scope_delta *next; /* for the caller */
    struct scope_change *changes;
    size_t count;
    bool forgets;   /* all values */
    bool redefines; /* functions are no longer certain */
};

struct scope_change {
    struct symbol *symbol;
    struct value value; /* before */
    uint32_t flags;
};

struct scope {
    struct arena *arena;
    struct symbol *root;
    struct symbol cwd, old_cwd, args, dirs;
    struct symbol epoch, definitions; /* in value.epoch: of the values, of the functions */
    struct scope_change *changes;
    size_t change_count, change_cap;
    struct assignment *exports;
    size_t export_count, export_cap;
    uint32_t stamps, epochs;
    uint64_t steps;      /* changes made, undone and joined */
    bool poisoned;       /* nothing can be known any more */
    bool all_exported;   /* set -a */
    bool stops_on_error; /* set -e */
    bool failed;         /* no memory */
    bool too_many;       /* exports */
};

void scope_init(struct scope *s, struct arena *arena);
struct symbol *scope_find(const struct scope *s, const char *name, size_t len); /* or NULL */
struct symbol *scope_intern(struct scope *s, const char *name, size_t len);

/* The value that holds now; VALUE_UNKNOWN for NULL and whatever is out of date. */
struct value scope_get(const struct scope *s, const struct symbol *symbol);
void scope_set(struct scope *s, struct symbol *symbol, struct value value);
void scope_set_flags(struct scope *s, struct symbol *symbol, uint32_t flags);
void scope_set_word(struct scope *s, struct symbol *symbol, const struct word *word);
void scope_forget(struct scope *s, struct symbol *symbol);
void scope_forget_name(struct scope *s, const char *name, size_t len);
void scope_forget_values(struct scope *s); /* the directory too */
void scope_forget_all(struct scope *s);    /* and functions */
void scope_export(struct scope *s, struct symbol *symbol);
/* One that an environment commonly has, or that changes what programs do. */
bool name_is_environment(const char *name);

bool value_equal(const struct value *a, const struct value *b);

size_t scope_mark(const struct scope *s);
void scope_rollback(struct scope *s, size_t mark);
/* Goes back to the mark and gives what is lost by that; NULL: nothing. */
struct scope_delta *scope_detach(struct scope *s, size_t mark);
/* It may have happened. Returns how many known values are unknown now. */
size_t scope_join(struct scope *s, const struct scope_delta *delta);
size_t scope_merge(struct scope *s, size_t mark); /* both */

#endif
