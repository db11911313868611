/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over the tree of a shell text (walk.c), what it makes of words (expand.c, param.c,
 * brace.c) and what the shell's own commands change (builtin.c).
 */
#ifndef ABX_CLASSIFY_WALKER_H
#define ABX_CLASSIFY_WALKER_H

#include "classify/scope.h"
#include "classify/shell.h"

#define WALK_MAX_VALUE     ((size_t)16 << 10) /* bytes of a variable; longer is unknown */
#define WALK_MAX_REDIRECTS 64                 /* redirections of the compounds around a call */
#define WALK_MAX_BRACES    1024               /* words of one brace expansion, made on the way */
#define WALK_MAX_ROUNDS    64                 /* of for loops in for loops, value by value */
#define WALK_MAX_LIST      256                /* elements of an array that can be counted */
#define WALK_MAX_BODIES    8                  /* times a function is walked for one call each */
#define WALK_MAX_NESTED    256                /* constructs and function calls, one in the other */
#define WALK_MAX_PASSES    4                  /* times a loop is walked until nothing changes */
#define WALK_MIN_BUDGET    ((uint64_t)256 << 10)
#define WALK_BYTE_BUDGET   16 /* and so much for each byte of the text */
#define WALK_STEP_FACTOR   64 /* nodes walked for each byte of the text, at most */

/* What holds for all commands of one part of the tree. */
struct context {
    uint32_t flags; /* CALL_* */
    const struct call *feeder;
    const struct redirect *redirects;
    size_t redirect_count;
};

struct local {
    struct local *next;
    struct symbol *symbol;
    struct value value;
    uint32_t flags;
};

struct frame { /* a function being walked */
    struct frame *outer;
    struct symbol *symbol;
    struct local *locals;
    uint32_t branches; /* of the walker, at its start */
    uint32_t flags;    /* of the context, at its start */
};

enum jump_kind {
    JUMP_LOOP,     /* left by break and continue */
    JUMP_FUNCTION, /* … by return */
    JUMP_LINE,     /* … by an error: the text goes on with the next line */
};

/* What can be left in the middle, and what that would leave there. */
struct jump {
    struct jump *outer;
    size_t mark; /* of the log, at its start */
    enum jump_kind kind;
    bool taken;
    struct taint {
        struct taint *next;
        struct symbol *symbol;
    } * taints;
};

struct walker {
    struct arena *arena;
    struct scope *scope; /* own, or that of the shell whose eval this is */
    struct scope own;
    struct shell shell;
    walk_visit visit;
    void *user;
    enum walk_result result;
    struct walk_problem problem;
    const char *text;
    size_t len;
    char *pool; /* room for the text of words */
    size_t pool_left;
    char *scratch; /* the words being built */
    size_t scratch_len, scratch_cap;
    struct word *stack; /* the words that are done, of the lists being built */
    size_t stack_len, stack_cap;
    uint64_t budget; /* bytes that values may still expand to */
    uint64_t steps;  /* nodes walked; limited */
    uint64_t bytes;  /* of words built */
    uint32_t calls, depth;
    uint32_t unsure;   /* around us: what may not run, or runs in a process of its own */
    uint32_t branches; /* … of which may not run */
    uint32_t rounds;   /* of the loops around us that are walked value by value */
    struct frame *frame;
    struct jump *jump;           /* the innermost */
    struct function **functions; /* all that were defined */
    size_t function_count, function_cap;
    const struct call *last;    /* visited */
    const struct call *current; /* being visited */
    struct value array;         /* the elements of the NAME=(…) expanded last */
};

/* All return false after a failure, which w->result tells. */
bool walk_fail(struct walker *w, enum walk_result result, const char *what, const char *at);
void *walk_alloc(struct walker *w, size_t count, size_t size);
bool walk_step(struct walker *w);
/* Commands in a process of their own. */
bool walk_subshell(struct walker *w, const struct shell_list *list, const struct context *cx);
bool walk_list(struct walker *w, const struct shell_list *list, const struct context *cx);

/* The words of a list, as the command gets them. */
bool expand_words(struct walker *w, const struct context *cx, const struct shell_word *words,
                  const struct word **ret, size_t *ret_count);
/* One word that stays one: a value, a target, a text. */
bool expand_word(struct walker *w, const struct context *cx, const struct shell_word *word,
                 struct word *ret);
bool expand_value(struct walker *w, const struct context *cx, const struct shell_word *word,
                  struct word *ret);
/* Only for the commands inside. */
bool expand_visit(struct walker *w, const struct context *cx, const struct shell_word *words);
bool expand_arith(struct walker *w, const struct context *cx, const struct shell_word *word);
/* The words of [[ ]]: some are expressions. */
bool expand_test(struct walker *w, const struct context *cx, const struct shell_word *words);
/* NAME[…] or […]=value: what is in the brackets is an expression. */
bool expand_subscript(struct walker *w, const struct word *word);
/* Names that the text of an expression may set. */
bool expand_arith_effects(struct walker *w, const char *text, size_t len);

/* A field: a word being built. */
struct field {
    struct walker *w;
    const struct context *cx;
    size_t base; /* of its text in the scratch */
    uint32_t flags;
    const struct call *source;
    bool splits;       /* unquoted values may become several words */
    bool started;      /* there is a word, even if it is empty */
    bool empty_quotes; /* "" was seen: a word unless "$@" was nothing */
    bool empty_list;
};

bool field_text(struct field *f, const char *text, size_t len, bool quoted);
bool field_hole(struct field *f, bool quoted, const struct call *source);
bool field_value(struct field *f, const struct word *word, bool quoted);
bool field_end(struct field *f, bool forced);
bool field_parts(struct field *f, const struct shell_part *part);
bool field_param(struct field *f, const struct shell_param *param, bool quoted);

/* The alternatives of a word with braces. *ret NULL: too many. */
struct brace_word {
    struct brace_word *next;
    const struct shell_part *parts;
};
bool brace_expand(struct walker *w, const struct shell_word *word, const struct brace_word **ret);

bool expand_command(struct walker *w, const struct context *cx, const struct shell_command *command,
                    const struct word **ret, size_t *ret_count);
bool expand_redirects(struct walker *w, const struct context *cx,
                      const struct shell_redirect *redirects, const struct redirect **ret,
                      size_t *ret_count);

/* Effects on the scope of a command that is the shell's own. */
bool builtin_apply(struct walker *w, const struct call *call);
bool builtin_cd(struct walker *w, const struct word *words, size_t count);
bool builtin_pushd(struct walker *w, const struct word *words, size_t count);
bool builtin_popd(struct walker *w, const struct word *words, size_t count);
bool builtin_alias(struct walker *w, const struct word *words, size_t count);
bool builtin_hash(struct walker *w, const struct word *words, size_t count);
/* A cd from here that fails unseen leaves the text where it does harm. */
bool cwd_is_risky(const struct value *cwd);
/* NAME=value in front of a command, or alone (keep). */
bool assign_word(struct walker *w, const struct context *cx, const struct shell_word *word,
                 bool keep, struct assignment *ret);
bool assign_array(struct walker *w, const struct shell_word *word);
void assign_text(struct walker *w, const char *name, size_t len, bool append,
                 const struct word *value);

/* Commands that are functions or aliases of the text. */
bool function_define(struct walker *w, const struct shell_command *command);
bool function_call(struct walker *w, struct symbol *symbol, const struct call *call,
                   const struct shell_command *command, const struct context *cx);
bool function_rest(struct walker *w, const struct context *cx); /* those that nobody called */
bool function_is_certain(const struct walker *w, const struct symbol *symbol);
bool alias_call(struct walker *w, struct symbol *symbol, const struct call *call,
                const struct shell_command *command, const struct context *cx);
bool walk_command(struct walker *w, const struct shell_command *command, const struct context *cx);
bool walk_visit_call(struct walker *w, const struct call *call);
/* The same call of a program that nobody knows. */
bool walk_visit_unknown(struct walker *w, const struct call *call);
/* What is known of the place goes into the call. */
void walk_call_context(struct walker *w, struct call *call, const struct context *cx);
bool walk_compound(struct walker *w, const struct shell_command *command, const struct context *cx);
struct jump *walk_jump_begin(struct walker *w, enum jump_kind kind);
bool walk_jump_end(struct walker *w, struct jump *jump); /* after the merge; something was lost */
bool walk_jump_take(struct walker *w, bool loops, bool functions);
/* Here an error may end the line: arithmetic that fails, a variable that cannot be set. */
bool walk_may_fail(struct walker *w);
/* What stands here may have been jumped over. */
bool walk_is_skipped(const struct walker *w);
bool walk_list_exits(const struct walker *w, const struct shell_list *list); /* it ends in exit */

#endif
