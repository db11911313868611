/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar of a shell text, down to the single command: lists, pipelines, simple commands,
 * functions. Compound commands are in compound.c.
 *
 * Recursive descent with one token of lookahead. What bash would refuse is refused; so is what this
 * reader does not know, because a command that it lost would be judged by nobody. Depth and the
 * number of commands are bounded.
 */
#include <string.h>

#include "classify/shell.h"

struct shell_command *shell_command_new(struct shell_reader *r, enum command_kind kind)
{
    struct shell_command *command = shell_alloc(r, sizeof(*command));

    if (command) {
        command->kind = kind;
        command->raw = r->text + r->token_begin;
    }
    return command;
}

static void command_ends(struct shell_reader *r, struct shell_command *command)
{
    command->raw_len = (size_t)(r->text + r->last_end - command->raw);
}

bool shell_skip_newlines(struct shell_reader *r)
{
    while (shell_peek(r) == TOKEN_NEWLINE)
        shell_take(r);
    return r->token != TOKEN_NONE;
}

bool shell_expect(struct shell_reader *r, const char *word)
{
    r->flags = READ_COMMAND;
    (void)shell_peek(r);
    if (!shell_is_reserved(r, word))
        return shell_fail(r, "an incomplete command", r->token_begin);
    shell_take(r);
    return true;
}

/* ---- redirections ---------------------------------------------------------------------------- */

static bool heredoc_begin(struct shell_reader *r, struct shell_redirect *redirect)
{
    for (const struct shell_part *part = redirect->target->parts; part; part = part->next) {
        if (part->kind != PART_TEXT)
            return shell_fail(r, "an expansion as the end of a here-document", r->token_begin);
        if (part->flags & PART_QUOTED)
            redirect->literal = true;
        if (memchr(part->text, '\n', part->len))
            return shell_fail(r, "a newline in the end of a here-document", r->token_begin);
    }
    if (r->pending_count == SHELL_MAX_HEREDOCS)
        return shell_limit(r, "too many here-documents on a line", r->token_begin);
    r->pending[r->pending_count++] = redirect;
    return true;
}

/* At a redirection: takes it with its target. */
static struct shell_redirect *parse_redirect(struct shell_reader *r)
{
    struct shell_redirect *redirect = r->redirect;
    uint32_t flags = r->flags;

    shell_take(r);
    r->flags = 0;
    if (shell_peek(r) != TOKEN_WORD) {
        (void)shell_fail(r, "a redirection without a target", r->token_begin);
        return NULL;
    }
    redirect->target = r->word;
    if (redirect->here && !heredoc_begin(r, redirect))
        return NULL;
    shell_take(r);
    r->flags = flags;
    return redirect;
}

bool shell_parse_redirects(struct shell_reader *r, struct shell_command *command)
{
    struct shell_redirect **tail = &command->redirects;

    r->flags = READ_COMMAND;
    while (shell_peek(r) == TOKEN_REDIRECT) {
        *tail = parse_redirect(r);
        if (!*tail)
            return false;
        tail = &(*tail)->next;
    }
    command_ends(r, command);
    return r->token != TOKEN_NONE;
}

/* ---- simple commands and functions ----------------------------------------------------------- */

/* Builtins whose arguments may be NAME=(…). */
static bool takes_arrays(const struct shell_word *word)
{
    static const char *const names[] = {
        "declare", "typeset", "local", "export", "readonly", "eval"
    };

    for (size_t i = 0; i < ARRAY_LEN(names) && (word->flags & SHELL_WORD_PLAIN); i++) {
        if (word->first.len == strlen(names[i]) &&
            memcmp(word->first.text, names[i], word->first.len) == 0)
            return true;
    }
    return false;
}

/* The body of a function, which is one compound command. */
static struct shell_command *parse_function(struct shell_reader *r, const struct shell_word *name)
{
    struct shell_command *command = shell_command_new(r, COMMAND_FUNCTION);
    bool is_one = false;

    if (!command)
        return NULL;
    if (!(name->flags & SHELL_WORD_PLAIN)) {
        (void)shell_fail(r, "a function with such a name", r->token_begin);
        return NULL;
    }
    command->raw = name->raw;
    command->name = name->first.text;
    command->name_len = name->first.len;
    r->flags = READ_COMMAND;
    if (!shell_skip_newlines(r))
        return NULL;
    command->body = shell_parse_compound(r, &is_one);
    if (!is_one)
        (void)shell_fail(r, "a function without a body", r->token_begin);
    if (!command->body || !is_one)
        return NULL;
    command_ends(r, command);
    return command;
}

/* name ( ): the name is taken, the parenthesis is the token. */
static struct shell_command *parse_posix_function(struct shell_reader *r,
                                                  const struct shell_word *name)
{
    shell_take(r);
    if (shell_peek(r) != TOKEN_CLOSE) {
        (void)shell_fail(r, "unexpected (", r->token_begin);
        return NULL;
    }
    shell_take(r);
    return parse_function(r, name);
}

static struct shell_command *parse_function_keyword(struct shell_reader *r)
{
    const struct shell_word *name;
    size_t pos;

    shell_take(r);
    r->flags = 0;
    if (shell_peek(r) != TOKEN_WORD) {
        (void)shell_fail(r, "a function without a name", r->token_begin);
        return NULL;
    }
    name = r->word;
    shell_take(r);
    r->flags = READ_COMMAND;
    if (shell_peek(r) == TOKEN_OPEN) {
        for (pos = r->pos; pos < r->end && (r->text[pos] == ' ' || r->text[pos] == '\t'); pos++)
            ;
        if (pos < r->end && r->text[pos] == ')') {
            r->pos = pos + 1;
            shell_take(r);
        }
    }
    return parse_function(r, name);
}

/* Takes one word of a simple command. */
static void simple_word(struct shell_reader *r, const struct shell_word ***words,
                        const struct shell_word ***assigns, bool *named)
{
    struct shell_word *word = r->word;

    if (!*named && (word->flags & SHELL_WORD_ASSIGN)) {
        **assigns = word;
        *assigns = (const struct shell_word **)&word->next;
    } else {
        **words = word;
        *words = (const struct shell_word **)&word->next;
        r->flags = *named ? r->flags : takes_arrays(word) ? READ_ARRAY : 0;
        *named = true;
    }
    shell_take(r);
}

/* name: a first word that was taken already, or NULL. */
struct shell_command *shell_parse_simple(struct shell_reader *r, struct shell_word *name)
{
    struct shell_command *command = shell_command_new(r, COMMAND_SIMPLE);
    const struct shell_word **words, **assigns;
    struct shell_redirect **redirects;
    bool named = name != NULL;

    if (!command)
        return NULL;
    words = &command->words;
    assigns = &command->assigns;
    redirects = &command->redirects;
    if (r->shell->commands++ >= WALK_MAX_CALLS) {
        (void)shell_limit(r, "too many commands", r->token_begin);
        return NULL;
    }
    r->flags = named ? 0 : READ_COMMAND;
    if (name) {
        command->raw = name->raw;
        command->words = name;
        words = (const struct shell_word **)&name->next;
    }
    for (;;) {
        enum shell_token token = shell_peek(r);

        if (token == TOKEN_WORD) {
            simple_word(r, &words, &assigns, &named);
        } else if (token == TOKEN_REDIRECT) {
            *redirects = parse_redirect(r);
            if (!*redirects)
                return NULL;
            redirects = &(*redirects)->next;
        } else if (token == TOKEN_OPEN && command->words && !command->words->next &&
                   !command->assigns && !command->redirects && !name) {
            return parse_posix_function(r, command->words);
        } else {
            break;
        }
    }
    if (r->token == TOKEN_NONE)
        return NULL;
    if (!command->words && !command->assigns && !command->redirects) {
        (void)shell_fail(r, "a command is missing", r->token_begin);
        return NULL;
    }
    command_ends(r, command);
    return command;
}

static struct shell_command *parse_command(struct shell_reader *r)
{
    struct shell_command *command;
    bool is_one = false;

    r->flags = READ_COMMAND;
    (void)shell_peek(r);
    command = shell_parse_compound(r, &is_one);
    if (is_one)
        return command;
    if (shell_is_reserved(r, "function"))
        return parse_function_keyword(r);
    if (shell_is_reserved(r, "coproc"))
        return shell_parse_coproc(r);
    return shell_parse_simple(r, NULL);
}

/* ---- pipelines and lists --------------------------------------------------------------------- */

static bool at_command(struct shell_reader *r)
{
    r->flags = READ_COMMAND;
    switch (shell_peek(r)) {
    case TOKEN_WORD:
    case TOKEN_REDIRECT:
    case TOKEN_OPEN:
        return true;
    default:
        return false;
    }
}

/*
 * time [-p] [--] in front of a pipeline. With other options it is a program, for the judge to look
 * through: *ret_name is then the word, as it is when nothing follows.
 */
static bool parse_time(struct shell_reader *r, struct shell_word **ret_name)
{
    struct shell_word *name = r->word;

    shell_take(r);
    *ret_name = NULL;
    while (at_command(r) && r->token == TOKEN_WORD &&
           (shell_is_reserved(r, "-p") || shell_is_reserved(r, "--")))
        shell_take(r);
    if (r->token == TOKEN_NONE)
        return false;
    if (!at_command(r) || (r->token == TOKEN_WORD && r->word->raw[0] == '-'))
        *ret_name = name;
    return true;
}

/* The reserved words that only stand where a command ends. */
static bool at_terminator(const struct shell_reader *r)
{
    static const char *const words[] = { "then", "else", "elif", "fi", "do", "done", "esac", "}" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (shell_is_reserved(r, words[i]))
            return true;
    }
    return false;
}

static bool parse_pipeline(struct shell_reader *r, struct shell_item *item)
{
    struct shell_command **tail = &item->pipeline;
    struct shell_word *name = NULL;

    while (at_command(r) && r->token == TOKEN_WORD && !name) {
        if (shell_is_reserved(r, "!")) {
            item->negated = !item->negated;
            shell_take(r);
        } else if (!shell_is_reserved(r, "time")) {
            break;
        } else if (!parse_time(r, &name)) {
            return false;
        }
    }
    for (;;) {
        if (!name && at_command(r) && (at_terminator(r) || shell_is_reserved(r, "!")))
            return shell_fail(r, "unexpected word", r->token_begin);
        *tail = name ? shell_parse_simple(r, name) : parse_command(r);
        name = NULL;
        if (!*tail)
            return false;
        if (shell_peek(r) != TOKEN_PIPE && r->token != TOKEN_PIPE_BOTH)
            return r->token != TOKEN_NONE;
        if (r->token == TOKEN_PIPE_BOTH)
            (*tail)->flags |= COMMAND_PIPE_BOTH;
        tail = &(*tail)->next;
        shell_take(r);
        r->flags = READ_COMMAND;
        if (!shell_skip_newlines(r))
            return false;
    }
}

/* The token behind a pipeline. False: a failure, or the list ends here (the token is not NONE). */
static bool list_goes_on(struct shell_reader *r, struct shell_item *item)
{
    switch (r->token) {
    case TOKEN_AND:
        item->op = NEXT_AND;
        break;
    case TOKEN_OR:
        item->op = NEXT_OR;
        break;
    case TOKEN_BACKGROUND:
        item->op = NEXT_BACKGROUND;
        break;
    case TOKEN_SEMI:
    case TOKEN_NEWLINE:
        item->op = NEXT_SEQUENCE;
        break;
    default:
        return false;
    }
    shell_take(r);
    r->flags = READ_COMMAND;
    return shell_skip_newlines(r);
}

const struct shell_list *shell_parse_list(struct shell_reader *r, bool may_be_empty)
{
    struct shell_list *list = shell_alloc(r, sizeof(*list));
    struct shell_item **tail;
    bool must = !may_be_empty;

    if (!list)
        return NULL;
    if (!r->shell->whole)
        r->shell->whole = list;
    tail = &list->items;
    r->flags = READ_COMMAND;
    if (!shell_skip_newlines(r))
        return NULL;
    while (must || (at_command(r) && !at_terminator(r))) {
        struct shell_item *item = shell_alloc(r, sizeof(*item));

        if (!item || !parse_pipeline(r, item))
            return NULL;
        *tail = item;
        tail = &item->next;
        size_t behind = r->last_end;
        bool goes_on = list_goes_on(r, item);

        item->ends_line = memchr(r->text + behind, '\n', r->token_begin - behind) != NULL;
        if (list == r->shell->whole && item->ends_line)
            r->shell->last_line = item;
        if (!goes_on)
            break;
        must = item->op == NEXT_AND || item->op == NEXT_OR;
    }
    return r->token == TOKEN_NONE ? NULL : list;
}

const struct shell_list *shell_lines_before(struct shell *shell)
{
    if (shell->result != WALK_UNREADABLE || !shell->last_line)
        return NULL;
    shell->last_line->next = NULL;
    return shell->whole;
}

const struct shell_list *shell_parse(struct shell *shell, const char *text, size_t len)
{
    struct shell_reader r = { .shell = shell, .text = text, .end = len };
    const struct shell_list *list;
    const char *nul;

    if (len > WALK_MAX_TEXT) {
        (void)shell_limit(&r, "a text that long", WALK_MAX_TEXT);
        return NULL;
    }
    nul = len > 0 ? memchr(text, '\0', len) : NULL;
    if (nul) {
        (void)shell_fail(&r, "a NUL byte", (size_t)(nul - text));
        return NULL;
    }
    list = shell_parse_list(&r, true);
    if (list && shell_peek(&r) != TOKEN_END) {
        (void)shell_fail(&r, "unexpected here", r.token_begin);
        return NULL;
    }
    return list;
}
