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

enum option_state { OPTION_NONE, OPTION_ON, OPTION_OFF };

static bool begins(const char *word, const char *start, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (word[i] != start[i])
            return false;
    return true;
}

/* To Go's tools also 0 and f. */
static bool is_off(const char *value)
{
    static const char *const words[] = { "none", "false", "False", "FALSE", "f", "F", "0" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (words_same(value, words[i]))
            return true;
    return false;
}

/* The option itself, "--x=value", "--no-x", or a letter of a group. */
static enum option_state option_in(const char *word, const char *next, const char *option,
                                   size_t len)
{
    if (begins(word, option, len) && (!word[len] || word[len] == '=')) {
        const char *value = word[len] ? word + len + 1 : next;
        return is_off(value) ? OPTION_OFF : OPTION_ON;
    }
    if (len > 2 && words_begin(word, "--no-") && begins(word + 5, option + 2, len - 2) &&
        !word[len + 3])
        return OPTION_OFF;
    bool in_group = len == 2 && option[1] != '-' && word[0] == '-' && word[1] != '-' && word[1] &&
                    words_find(word + 1, option[1]);
    return in_group ? OPTION_ON : OPTION_NONE;
}

/*
 * One of them is on: of several times the same the last counts. may_follow: the next word may be
 * its value; of an option that does the harm it is not, but an operand ("--push false").
 */
static bool has_option(const struct guard_call *call, const char *options, bool may_follow)
{
    while (*options) {
        bool on = false;
        size_t len = 0;
        while (options[len] && options[len] != ' ')
            len++;
        for (size_t i = 1; i < call->argc && !words_same(call->argv[i], "--"); i++) {
            const char *next = may_follow && i + 1 < call->argc ? call->argv[i + 1] : "";
            enum option_state state = option_in(call->argv[i], next, options, len);
            on = state == OPTION_NONE ? on : state == OPTION_ON;
        }
        if (on)
            return true;
        options += len + (options[len] == ' ');
    }
    return false;
}

/* npm takes the beginning of a command for the whole; "un" is one of its own. */
static bool is_abbreviation(size_t guard, const char *operand, const char *word, size_t len)
{
    size_t n = words_len(operand);

    return guard == GUARD_NPM && n >= 2 && n < len && begins(word, operand, n) &&
           !words_same(operand, "un");
}

static bool words_match(const struct tool_row *t, const char *const *operands, size_t count)
{
    const char *words = t->words;

    for (size_t i = 0; *words; i++) {
        size_t len = 0;
        while (words[len] && words[len] != ' ')
            len++;
        if (i == count)
            return false;
        bool same = words_len(operands[i]) == len && begins(words, operands[i], len);
        if (!same && !(i == 0 && is_abbreviation(t->guard, operands[0], words, len)))
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
        if (t->guard != guard || !words_match(t, operands, count) ||
            (t->with[0] && !has_option(call, t->with, false)) || has_option(call, t->unless, true))
            continue;
        *ret = (struct guard_verdict){
            .action = GUARD_STOP, .what = t->words, .why = t->why, .instead = t->instead
        };
        return;
    }
}
