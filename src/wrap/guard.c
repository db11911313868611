/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guards' table, and the judge of all but git: operands are found by skipping options, of which
 * guards.def says which take a value, and compared with tools.def. Trusts nothing about the words
 * but that each ends in NUL. What it does not know, it lets run.
 */
#include "wrap/guard.h"

#include "wrap/words.h"

static const struct guard_row guards[] = {
#define GUARD(id, name, command, shorts, longs) { name, command, shorts, longs },
#include "wrap/guards.def"
#undef GUARD
};

static const struct tool_row {
    uint32_t guard;
    char words[24], with[16], unless[24], why[56], instead[80];
} tools[] = {
#define TOOL(guard, words, with, unless, why, instead)                                             \
    { GUARD_##guard, words, with, unless, why, instead },
#include "wrap/tools.def"
#undef TOOL
};

#define TOOL_OPERANDS 3

const struct guard_row *guard_row(size_t guard)
{
    return guard < ARRAY_LEN(guards) ? &guards[guard] : NULL;
}

size_t guard_find(const char *name)
{
    size_t i = 0;

    while (i < ARRAY_LEN(guards) && !words_same(guards[i].name, name))
        i++;
    return i;
}

/* Whether the option's value is the next word. */
static bool takes_next(const struct guard_row *g, const char *word)
{
    if (word[0] != '-' || words_find(word, '='))
        return false;
    if (word[1] == '-')
        return words_list(g->longs, word + 2, words_len(word + 2));
    size_t len = words_len(word);
    return len >= 2 && words_find(g->shorts, word[len - 1]);
}

/* The first operands; how many. */
static size_t find_operands(const struct guard_row *g, const struct guard_call *call,
                            const char *ret[TOOL_OPERANDS])
{
    size_t n = 0;
    bool ended = false;

    for (size_t i = 1; i < call->argc && n < TOOL_OPERANDS; i++) {
        const char *word = call->argv[i];
        if (!ended && words_same(word, "--")) {
            ended = true;
        } else if (!ended && word[0] == '-' && word[1]) {
            i += takes_next(g, word) ? 1 : 0;
        } else {
            ret[n++] = word;
        }
    }
    return n;
}

/* The option itself, "--x=value", or a letter of a group. */
static bool word_is_option(const char *word, const char *option, size_t len)
{
    size_t i = 0;

    while (i < len && word[i] == option[i])
        i++;
    if (i == len && (!word[i] || word[i] == '='))
        return !words_same(word + i, "=none") && !words_same(word + i, "=false");
    return len == 2 && option[1] != '-' && word[0] == '-' && word[1] != '-' && word[1] &&
           words_find(word + 1, option[1]);
}

static bool has_option(const struct guard_call *call, const char *options)
{
    while (*options) {
        size_t len = 0;
        while (options[len] && options[len] != ' ')
            len++;
        for (size_t i = 1; i < call->argc && !words_same(call->argv[i], "--"); i++)
            if (word_is_option(call->argv[i], options, len))
                return true;
        options += len + (options[len] == ' ');
    }
    return false;
}

static bool words_match(const char *words, const char *const *operands, size_t count)
{
    for (size_t i = 0; *words; i++) {
        size_t len = 0;
        while (words[len] && words[len] != ' ')
            len++;
        if (i == count || words_len(operands[i]) != len || !words_begin(words, operands[i]))
            return false;
        words += len + (words[len] == ' ');
    }
    return true;
}

void guard_judge(size_t guard, const struct guard_call *call, struct guard_verdict *ret)
{
    const char *operands[TOOL_OPERANDS] = { NULL };

    *ret = (struct guard_verdict){ .action = GUARD_RUN };
    if (guard >= ARRAY_LEN(guards) || call->argc == 0)
        return;
    if (guard == GUARD_GIT) {
        git_judge(call, ret);
        return;
    }
    size_t count = find_operands(&guards[guard], call, operands);
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        const struct tool_row *t = &tools[i];
        if (t->guard != guard || !words_match(t->words, operands, count) ||
            (t->with[0] && !has_option(call, t->with)) || has_option(call, t->unless))
            continue;
        *ret = (struct guard_verdict){
            .action = GUARD_STOP, .what = t->words, .why = t->why, .instead = t->instead
        };
        return;
    }
}
