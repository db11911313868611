/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compound commands of a shell text: groups, subshells, conditions, loops, case, [[ ]], (( )),
 * coproc. Each is one level deeper; the words of [[ ]] are kept only for the commands inside them,
 * but its grammar is checked, because what bash refuses is not to be called understood.
 */
#include <string.h>

#include "classify/shell.h"

static bool parse_body(struct shell_reader *r, const struct shell_list **ret, const char *end)
{
    *ret = shell_parse_list(r, false);
    return *ret && shell_expect(r, end);
}

/* do … done, or { … } where bash takes that too. */
static bool parse_loop_body(struct shell_reader *r, const struct shell_list **ret)
{
    r->flags = READ_COMMAND;
    if (!shell_skip_newlines(r))
        return false;
    if (shell_is_reserved(r, "{")) {
        shell_take(r);
        return parse_body(r, ret, "}");
    }
    return shell_expect(r, "do") && parse_body(r, ret, "done");
}

static bool parse_subshell(struct shell_reader *r, struct shell_command *command)
{
    shell_take(r);
    command->first = shell_parse_list(r, false);
    if (!command->first)
        return false;
    if (shell_peek(r) != TOKEN_CLOSE)
        return shell_fail(r, "unterminated (", r->token_begin);
    shell_take(r);
    return true;
}

/* At ( with another behind it: arithmetic, or else two subshells. */
static bool parse_paren(struct shell_reader *r, struct shell_command *command)
{
    if (r->pos < r->end && r->text[r->pos] == '(' && !r->shell->plain) {
        r->pos++;
        if (!shell_read_arith(r, &command->words))
            return false;
        if (command->words) {
            command->kind = COMMAND_ARITH;
            r->shell->differs = true;
            shell_take(r);
            return true;
        }
        r->pos--;
    }
    command->kind = COMMAND_SUBSHELL;
    return parse_subshell(r, command);
}

static bool parse_if(struct shell_reader *r, struct shell_command *command)
{
    for (;;) {
        struct shell_list *list;

        if (!parse_body(r, &command->first, "then"))
            return false;
        command->second = shell_parse_list(r, false);
        if (!command->second)
            return false;
        if (shell_is_reserved(r, "else")) {
            shell_take(r);
            return parse_body(r, &command->third, "fi");
        }
        if (!shell_is_reserved(r, "elif"))
            return shell_expect(r, "fi");
        list = shell_alloc(r, sizeof(*list));
        if (!list)
            return false;
        list->items = shell_alloc(r, sizeof(*list->items));
        command->third = list;
        if (!list->items)
            return false;
        list->items->pipeline = shell_command_new(r, COMMAND_IF);
        command = list->items->pipeline;
        if (!command)
            return false;
        shell_take(r);
    }
}

static bool parse_for_words(struct shell_reader *r, struct shell_command *command)
{
    const struct shell_word **tail = &command->words;

    r->flags = READ_PATTERN;
    while (shell_peek(r) == TOKEN_WORD) {
        *tail = r->word;
        tail = (const struct shell_word **)&r->word->next;
        shell_take(r);
    }
    if (r->token != TOKEN_SEMI && r->token != TOKEN_NEWLINE)
        return shell_fail(r, "unexpected in a list of words", r->token_begin);
    shell_take(r);
    return true;
}

static bool parse_for(struct shell_reader *r, struct shell_command *command)
{
    bool is_select = (command->flags & COMMAND_SELECT) != 0;

    r->flags = 0;
    if (shell_peek(r) == TOKEN_OPEN && !is_select && r->pos < r->end && r->text[r->pos] == '(') {
        r->pos++;
        command->kind = COMMAND_FOR_ARITH;
        if (!shell_read_arith(r, &command->words))
            return false;
        if (!command->words)
            return shell_fail(r, "for without its ((…))", r->token_begin);
        shell_take(r);
        r->flags = READ_COMMAND;
        if (shell_peek(r) == TOKEN_SEMI)
            shell_take(r);
        return parse_loop_body(r, &command->first);
    }
    if (r->token != TOKEN_WORD || !(r->word->flags & SHELL_WORD_PLAIN))
        return shell_fail(r, "for without a name", r->token_begin);
    command->name = r->word->first.text;
    command->name_len = r->word->first.len;
    shell_take(r);
    if (!shell_skip_newlines(r))
        return false;
    if (shell_is_reserved(r, "in")) {
        shell_take(r);
        if (!parse_for_words(r, command))
            return false;
    } else {
        command->flags |= COMMAND_ARGS;
        if (r->token == TOKEN_SEMI)
            shell_take(r);
    }
    return parse_loop_body(r, &command->first);
}

/* One clause, from behind its optional ( to its end. */
static bool parse_clause(struct shell_reader *r, struct shell_clause *clause)
{
    const struct shell_word **tail = &clause->patterns;

    for (;;) {
        if (shell_peek(r) != TOKEN_WORD)
            return shell_fail(r, "a case without a pattern", r->token_begin);
        *tail = r->word;
        tail = (const struct shell_word **)&r->word->next;
        shell_take(r);
        if (shell_peek(r) != TOKEN_PIPE)
            break;
        shell_take(r);
    }
    if (r->token != TOKEN_CLOSE)
        return shell_fail(r, "unterminated case pattern", r->token_begin);
    shell_take(r);
    clause->body = shell_parse_list(r, true);
    if (!clause->body)
        return false;
    if (r->token == TOKEN_BREAK || r->token == TOKEN_FALL || r->token == TOKEN_TEST_NEXT) {
        clause->falls = r->token != TOKEN_BREAK;
        shell_take(r);
        return true;
    }
    return shell_is_reserved(r, "esac") || shell_fail(r, "unterminated case", r->token_begin);
}

static bool parse_case(struct shell_reader *r, struct shell_command *command)
{
    const struct shell_clause **tail = &command->clauses;

    r->flags = 0;
    if (shell_peek(r) != TOKEN_WORD)
        return shell_fail(r, "case without a word", r->token_begin);
    command->words = r->word;
    shell_take(r);
    if (!shell_skip_newlines(r))
        return false;
    if (!shell_is_reserved(r, "in"))
        return shell_fail(r, "case without in", r->token_begin);
    shell_take(r);
    for (;;) {
        struct shell_clause *clause;

        r->flags = READ_PATTERN;
        if (!shell_skip_newlines(r))
            return false;
        if (shell_is_reserved(r, "esac"))
            break;
        if (r->token == TOKEN_OPEN)
            shell_take(r);
        clause = shell_alloc(r, sizeof(*clause));
        if (!clause || !parse_clause(r, clause))
            return false;
        *tail = clause;
        tail = (const struct shell_clause **)&clause->next;
    }
    shell_take(r);
    return true;
}

/* ---- [[ ]] ----------------------------------------------------------------------------------- */

struct test_words {
    struct shell_command *command;
    const struct shell_word **tail;
};

static bool test_or(struct shell_reader *r, struct test_words *words);

static bool test_take(struct shell_reader *r, struct test_words *words)
{
    if (shell_peek(r) != TOKEN_WORD || shell_is_reserved(r, "]]"))
        return shell_fail(r, "an incomplete [[ ]]", r->token_begin);
    *words->tail = r->word;
    words->tail = (const struct shell_word **)&r->word->next;
    shell_take(r);
    return true;
}

static bool test_is_binary(const struct shell_reader *r)
{
    static const char *const ops[] = { "=",   "==",  "!=",  "=~",  "<",   ">",   "-eq", "-ne",
                                       "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef" };

    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (shell_is_reserved(r, ops[i]))
            return true;
    }
    return false;
}

static bool test_is_unary(const struct shell_word *word)
{
    return (word->flags & SHELL_WORD_PLAIN) && word->first.len == 2 && word->raw[0] == '-' &&
           strchr("abcdefghknoprstuvwxzGLNORS", word->raw[1]);
}

/* A word, -f word, or word op word. The operators are among the words. */
static bool test_primary(struct shell_reader *r, struct test_words *words)
{
    bool unary = shell_peek(r) == TOKEN_WORD && test_is_unary(r->word);

    if (!test_take(r, words))
        return false;
    if (unary)
        return test_take(r, words);
    if (shell_peek(r) != TOKEN_WORD || !test_is_binary(r))
        return r->token != TOKEN_NONE;
    r->flags = READ_TEST | READ_PATTERN;
    if (shell_is_reserved(r, "=~")) {
        r->flags = READ_TEST | READ_REGEX;
        words->command->flags |= COMMAND_MATCH;
    }
    for (int word = 0; word < 2; word++) /* the operator, and its right side */
        if (!test_take(r, words))
            return false;
    r->flags = READ_TEST;
    return true;
}

static bool test_term(struct shell_reader *r, struct test_words *words)
{
    r->flags = READ_TEST;
    if (!shell_skip_newlines(r))
        return false;
    while (shell_is_reserved(r, "!")) {
        shell_take(r);
        if (!shell_skip_newlines(r))
            return false;
    }
    if (r->token != TOKEN_OPEN)
        return test_primary(r, words) && shell_skip_newlines(r);
    shell_take(r);
    if (!shell_enter(r) || !test_or(r, words))
        return false;
    shell_leave(r);
    if (r->token != TOKEN_CLOSE)
        return shell_fail(r, "unterminated ( in [[ ]]", r->token_begin);
    shell_take(r);
    return shell_skip_newlines(r);
}

/* && and || have no order of their own here: only the words count. */
static bool test_or(struct shell_reader *r, struct test_words *words)
{
    for (;;) {
        if (!test_term(r, words))
            return false;
        if (r->token != TOKEN_AND && r->token != TOKEN_OR)
            return true;
        shell_take(r);
    }
}

static bool parse_test(struct shell_reader *r, struct shell_command *command)
{
    struct test_words words = { command, &command->words };

    if (!test_or(r, &words))
        return false;
    if (!shell_is_reserved(r, "]]"))
        return shell_fail(r, "unterminated [[", r->token_begin);
    shell_take(r);
    return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool parse_group(struct shell_reader *r, struct shell_command *command)
{
    return parse_body(r, &command->first, "}");
}

static bool parse_while(struct shell_reader *r, struct shell_command *command)
{
    return parse_body(r, &command->first, "do") && parse_body(r, &command->second, "done");
}

static const struct compound_row {
    const char *word;
    enum command_kind kind;
    uint32_t flags;
    bool (*parse)(struct shell_reader *r, struct shell_command *command);
} compound_rows[] = {
    /* clang-format off */
    { "if",     COMMAND_IF,    0,              parse_if },
    { "for",    COMMAND_FOR,   0,              parse_for },
    { "while",  COMMAND_WHILE, 0,              parse_while },
    { "{",      COMMAND_GROUP, 0,              parse_group },
    { "[[",     COMMAND_TEST,  0,              parse_test },
    { "case",   COMMAND_CASE,  0,              parse_case },
    { "until",  COMMAND_WHILE, 0,              parse_while },
    { "select", COMMAND_FOR,   COMMAND_SELECT, parse_for },
    /* clang-format on */
};

static const struct compound_row *compound_at(const struct shell_reader *r)
{
    for (size_t i = 0; i < ARRAY_LEN(compound_rows); i++) {
        const struct compound_row *row = &compound_rows[i];

        if (shell_is_reserved(r, row->word))
            return row->kind == COMMAND_TEST && r->shell->plain ? NULL : row;
    }
    return NULL;
}

struct shell_command *shell_parse_compound(struct shell_reader *r, bool *ret_is_one)
{
    const struct compound_row *row = compound_at(r);
    struct shell_command *command;
    bool ok;

    *ret_is_one = row || r->token == TOKEN_OPEN;
    if (!*ret_is_one)
        return NULL;
    command = shell_command_new(r, row ? row->kind : COMMAND_SUBSHELL);
    if (!command || !shell_enter(r))
        return NULL;
    if (row) {
        command->flags = row->flags;
        r->shell->differs |= row->kind == COMMAND_TEST;
        shell_take(r);
        ok = row->parse(r, command);
    } else {
        ok = parse_paren(r, command);
    }
    shell_leave(r);
    return ok && shell_parse_redirects(r, command) ? command : NULL;
}

/* coproc [NAME] compound, or coproc simple-command. */
struct shell_command *shell_parse_coproc(struct shell_reader *r)
{
    struct shell_command *command = shell_command_new(r, COMMAND_COPROC);
    struct shell_word *name;
    bool is_one;

    if (!command || !shell_enter(r))
        return NULL;
    command->name = "COPROC";
    shell_take(r);
    r->flags = READ_COMMAND;
    (void)shell_peek(r);
    command->body = shell_parse_compound(r, &is_one);
    if (!is_one && r->token == TOKEN_WORD && (r->word->flags & SHELL_WORD_PLAIN)) {
        name = r->word;
        shell_take(r);
        (void)shell_peek(r);
        if (compound_at(r) || r->token == TOKEN_OPEN) {
            command->name = name->first.text;
            command->name_len = name->first.len;
            command->body = shell_parse_compound(r, &is_one);
        } else if (r->token != TOKEN_NONE) {
            command->body = shell_parse_simple(r, name);
        }
    } else if (!is_one) {
        command->body = shell_parse_simple(r, NULL);
    }
    shell_leave(r);
    if (command->name_len == 0)
        command->name_len = strlen(command->name);
    if (!command->body)
        return NULL;
    command->raw_len = (size_t)(r->text + r->last_end - command->raw);
    return command;
}
