/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens of a shell text: operators, redirections, comments, newlines with the here-documents
 * behind them; words are read by word.c.
 *
 * A token is read when the parser looks at it, not before: what a word may be (an assignment, a
 * pattern, a regular expression) depends on what stands in front of it, and the parser says that in
 * reader->flags. A line continuation inside an operator is refused: shells differ there.
 *
 * The first failure of any reader of the text is the one that is kept.
 */
#include <limits.h>
#include <string.h>

#include "classify/shell.h"

bool shell_fail(struct shell_reader *r, const char *what, size_t pos)
{
    struct shell *shell = r->shell;

    if (shell->result == WALK_OK) {
        shell->result = WALK_UNREADABLE;
        shell->problem.what = what;
        shell->problem.offset = r->is_copy ? r->origin : pos;
    }
    r->token = TOKEN_NONE;
    return false;
}

bool shell_limit(struct shell_reader *r, const char *what, size_t pos)
{
    if (r->shell->result == WALK_OK) {
        (void)shell_fail(r, what, pos);
        r->shell->result = WALK_LIMIT;
    }
    return false;
}

void *shell_alloc(struct shell_reader *r, size_t size)
{
    void *piece = arena_alloc(r->shell->arena, 1, size);

    if (!piece && r->shell->result == WALK_OK) {
        (void)shell_fail(r, "no memory", r->pos);
        r->shell->result = WALK_NOMEM;
    }
    return piece;
}

bool shell_enter(struct shell_reader *r)
{
    if (r->shell->depth >= WALK_MAX_DEPTH)
        return shell_limit(r, "nested too deeply", r->pos);
    r->shell->depth++;
    return true;
}

void shell_leave(struct shell_reader *r)
{
    r->shell->depth--;
}

bool shell_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* ---- here-documents -------------------------------------------------------------------------- */

/* The delimiter as it will be compared: its text without the quotes. */
static bool heredoc_delimiter(struct shell_reader *r, const struct shell_redirect *redirect,
                              const char **ret_text, size_t *ret_len)
{
    const struct shell_part *part = redirect->target->parts;
    size_t len = 0;
    char *text;

    if (part && !part->next) {
        *ret_text = part->text;
        *ret_len = part->len;
        return true;
    }
    for (; part; part = part->next)
        len += part->len;
    text = shell_alloc(r, len + 1);
    if (!text)
        return false;
    *ret_text = text;
    *ret_len = len;
    for (part = redirect->target->parts; part; part = part->next) {
        memcpy(text, part->text, part->len);
        text += part->len;
    }
    return true;
}

static bool ends_in_backslash(const char *line, size_t len)
{
    size_t count = 0;

    while (count < len && line[len - 1 - count] == '\\')
        count++;
    return count % 2 == 1;
}

/*
 * The bytes of the body and where the text goes on. A line that a backslash joins to the one before
 * cannot be the delimiter; if the joined line would be, shells differ.
 */
static bool heredoc_extent(struct shell_reader *r, const struct shell_redirect *redirect,
                           size_t *ret_body_end)
{
    const char *delimiter;
    size_t delimiter_len, joined = 0; /* bytes of the delimiter that the joined line begins with */
    bool continued = false;

    if (!heredoc_delimiter(r, redirect, &delimiter, &delimiter_len))
        return false;
    for (size_t begin = r->pos; begin < r->end;) {
        const char *newline = memchr(r->text + begin, '\n', r->end - begin);
        size_t end = newline ? (size_t)(newline - r->text) : r->end, line = begin;

        while (redirect->strip_tabs && line < end && r->text[line] == '\t')
            line++;
        if (end - line == delimiter_len - joined && (!continued || joined != SIZE_MAX) &&
            memcmp(r->text + line, delimiter + joined, end - line) == 0) {
            if (continued)
                return shell_fail(r, "a here-document ends in a joined line", line);
            *ret_body_end = begin;
            r->pos = newline ? end + 1 : end;
            return true;
        }
        bool goes_on = !redirect->literal && ends_in_backslash(r->text + line, end - line);
        size_t part = end - line - 1;

        if (goes_on && joined != SIZE_MAX && part <= delimiter_len - joined &&
            memcmp(r->text + line, delimiter + joined, part) == 0)
            joined += part;
        else
            joined = goes_on ? SIZE_MAX : 0;
        continued = goes_on;
        begin = end + 1;
    }
    if (!r->shell->plain)
        return shell_fail(r, "a here-document without its end", r->pos);
    *ret_body_end = r->pos = r->end; /* shells take it, with a warning */
    return true;
}

/* The body without the tabs in front of its lines. */
static bool heredoc_stripped(struct shell_reader *r, size_t begin, size_t end, const char **ret)
{
    char *copy = shell_alloc(r, end - begin + 1), *out = copy;
    bool line_begins = true;

    if (!copy)
        return false;
    for (size_t i = begin; i < end; i++) {
        if (line_begins && r->text[i] == '\t')
            continue;
        line_begins = r->text[i] == '\n';
        *out++ = r->text[i];
    }
    *out = '\0';
    *ret = copy;
    return true;
}

static bool heredoc_read(struct shell_reader *r, struct shell_redirect *redirect)
{
    struct shell_reader body = { .shell = r->shell, .text = r->text, .pos = r->pos };
    struct shell_word *word = shell_word_new(r);
    const char *stripped;
    bool ok;

    body.is_copy = r->is_copy;
    body.origin = r->origin;
    if (!word || !heredoc_extent(r, redirect, &body.end))
        return false;
    if (redirect->strip_tabs) {
        if (!heredoc_stripped(r, body.pos, body.end, &stripped))
            return false;
        if (!r->is_copy)
            body.origin = body.pos;
        body.is_copy = true;
        body.text = stripped;
        body.end = strlen(stripped);
        body.pos = 0;
    }
    r->shell->steps += body.end - body.pos;
    redirect->target = word;
    if (redirect->literal)
        return shell_word_text(r, word, body.text + body.pos, body.end - body.pos, PART_QUOTED);
    if (!shell_enter(r))
        return false;
    ok = shell_read_parts(&body, word, PLACE_HERE, false);
    shell_leave(r);
    return ok;
}

/* Their bodies, behind a newline. */
static bool read_heredocs(struct shell_reader *r)
{
    size_t count = r->pending_count;

    r->pending_count = 0;
    for (size_t i = 0; i < count; i++) {
        if (!heredoc_read(r, r->pending[i]))
            return false;
    }
    return true;
}

/* ---- operators ------------------------------------------------------------------------------- */

struct operator_row {
    const char *text;
    enum shell_token token;
    enum redirect_op op;
    int fd;
};

/* Of those that begin alike, the longest first. */
static const struct operator_row operator_rows[] = {
    /* clang-format off */
    { ";;&", TOKEN_TEST_NEXT,  0, 0 },
    { ";;",  TOKEN_BREAK,      0, 0 },
    { ";&",  TOKEN_FALL,       0, 0 },
    { ";",   TOKEN_SEMI,       0, 0 },
    { "&&",  TOKEN_AND,        0, 0 },
    { "&>>", TOKEN_REDIRECT,   REDIRECT_BOTH_APPEND, 1 },
    { "&>",  TOKEN_REDIRECT,   REDIRECT_BOTH, 1 },
    { "&",   TOKEN_BACKGROUND, 0, 0 },
    { "||",  TOKEN_OR,         0, 0 },
    { "|&",  TOKEN_PIPE_BOTH,  0, 0 },
    { "|",   TOKEN_PIPE,       0, 0 },
    { "(",   TOKEN_OPEN,       0, 0 },
    { ")",   TOKEN_CLOSE,      0, 0 },
    { "<<<", TOKEN_REDIRECT,   REDIRECT_TEXT, 0 },
    { "<<-", TOKEN_REDIRECT,   REDIRECT_TEXT, 0 },
    { "<<",  TOKEN_REDIRECT,   REDIRECT_TEXT, 0 },
    { "<&",  TOKEN_REDIRECT,   REDIRECT_DUP_IN, 0 },
    { "<>",  TOKEN_REDIRECT,   REDIRECT_INOUT, 0 },
    { "<",   TOKEN_REDIRECT,   REDIRECT_IN, 0 },
    { ">>",  TOKEN_REDIRECT,   REDIRECT_APPEND, 1 },
    { ">&",  TOKEN_REDIRECT,   REDIRECT_DUP_OUT, 1 },
    { ">|",  TOKEN_REDIRECT,   REDIRECT_OUT, 1 },
    { ">",   TOKEN_REDIRECT,   REDIRECT_OUT, 1 },
    /* clang-format on */
};

static const struct operator_row *operator_at(const struct shell_reader *r)
{
    size_t left = r->end - r->pos;

    for (size_t i = 0; i < ARRAY_LEN(operator_rows); i++) {
        const char *text = operator_rows[i].text;
        size_t len = strlen(text);

        if (r->shell->plain && text[0] == '&' && text[1] == '>')
            continue;
        if (text[0] == r->text[r->pos] && len <= left && memcmp(text, r->text + r->pos, len) == 0)
            return &operator_rows[i];
    }
    return NULL;
}

/* "&\<newline>&" is && in some shells; nobody writes it. */
static bool operator_is_split(const struct shell_reader *r)
{
    size_t pos = r->pos;

    while (pos + 2 < r->end && r->text[pos] == '\\' && r->text[pos + 1] == '\n')
        pos += 2;
    return pos > r->pos && strchr("&|;<>-(", r->text[pos]) && r->text[pos - 1] == '\n' &&
           r->text[r->pos - 1] != '(' && r->text[r->pos - 1] != ')';
}

static bool read_operator(struct shell_reader *r)
{
    const struct operator_row *row = operator_at(r);
    struct shell_redirect *redirect;

    if (!row)
        return shell_fail(r, "unknown operator", r->pos);
    r->pos += strlen(row->text);
    if (operator_is_split(r))
        return shell_fail(r, "a line continuation inside an operator", r->pos);
    r->token = row->token;
    if (row->token != TOKEN_REDIRECT)
        return true;
    redirect = shell_alloc(r, sizeof(*redirect));
    if (!redirect)
        return false;
    r->shell->differs |= row->text[0] == '&';
    redirect->op = row->op;
    redirect->fd = row->fd;
    redirect->here = row->op == REDIRECT_TEXT && row->text[2] != '<';
    redirect->strip_tabs = row->op == REDIRECT_TEXT && row->text[2] == '-';
    redirect->file_or_dup = row->op == REDIRECT_DUP_OUT || row->op == REDIRECT_DUP_IN;
    r->redirect = redirect;
    return true;
}

/* In front of < or >: the digits of a descriptor or {name}; *ret_len 0 if there is neither. */
static bool redirect_prefix(struct shell_reader *r, size_t *ret_len, int *ret_fd)
{
    const char *at = r->text + r->pos;
    size_t left = r->end - r->pos, len = 0;
    int64_t fd = 0;

    *ret_len = 0;
    *ret_fd = -1;
    if (*at == '{') {
        for (len = 1; len < left && shell_name_byte(at[len]); len++)
            ;
        if (len == 1 || len + 1 >= left || at[len] != '}' || (at[1] >= '0' && at[1] <= '9'))
            return true;
        len++;
    } else {
        for (; len < left && at[len] >= '0' && at[len] <= '9'; len++)
            fd = MIN_OF(fd * 10 + (at[len] - '0'), (int64_t)INT_MAX + 1);
        *ret_fd = (int)MIN_OF(fd, INT_MAX);
    }
    if (len == 0 || len >= left || (at[len] != '<' && at[len] != '>') ||
        (len + 1 < left && at[len + 1] == '('))
        return true;
    if (fd > INT_MAX)
        return shell_fail(r, "a descriptor that large", r->pos);
    *ret_len = len;
    return true;
}

static bool read_prefixed_redirect(struct shell_reader *r, size_t len, int fd)
{
    const char *name = r->text + r->pos + 1;

    r->pos += len;
    if (!read_operator(r))
        return false;
    r->redirect->fd = fd;
    if (fd < 0) {
        r->redirect->name = name;
        r->redirect->name_len = (uint32_t)(len - 2);
    }
    return true;
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static void skip_blanks(struct shell_reader *r)
{
    while (r->pos < r->end) {
        char c = r->text[r->pos];

        if (c == ' ' || c == '\t') {
            r->pos++;
        } else if (c == '\\' && r->pos + 1 < r->end && r->text[r->pos + 1] == '\n') {
            r->pos += 2;
        } else if (c == '#') {
            const char *newline = memchr(r->text + r->pos, '\n', r->end - r->pos);

            r->pos = newline ? (size_t)(newline - r->text) : r->end;
        } else {
            return;
        }
    }
}

static bool read_token(struct shell_reader *r)
{
    size_t before = r->pos, prefix;
    int fd;
    char c;

    skip_blanks(r);
    r->token_begin = r->pos;
    if (r->pos >= r->end) {
        r->token = TOKEN_END;
        return r->pending_count == 0 ||
               (r->shell->plain ? read_heredocs(r)
                                : shell_fail(r, "a here-document without its end", r->pos));
    }
    r->shell->steps += r->pos - before + 1;
    c = r->text[r->pos];
    if (c == '\n') {
        r->pos++;
        r->token = TOKEN_NEWLINE;
        return read_heredocs(r);
    }
    if ((c >= '0' && c <= '9') || c == '{') {
        if (!redirect_prefix(r, &prefix, &fd))
            return false;
        if (prefix > 0)
            return read_prefixed_redirect(r, prefix, fd);
    }
    if ((c == '<' || c == '>') && r->pos + 1 < r->end && r->text[r->pos + 1] == '(')
        return shell_read_word(r);
    if ((c == '<' || c == '>') && (r->flags & READ_TEST)) {
        r->word = shell_word_new(r);
        if (!r->word || !shell_word_text(r, r->word, r->text + r->pos, 1, 0))
            return false;
        r->word->flags = SHELL_WORD_PLAIN;
        r->word->raw = r->text + r->pos++;
        r->word->raw_len = 1;
        r->token = TOKEN_WORD;
        return true;
    }
    if (strchr(";&|()<>", c) && !((r->flags & READ_REGEX) && (c == '(' || c == '|')))
        return read_operator(r);
    return shell_read_word(r);
}

enum shell_token shell_peek(struct shell_reader *r)
{
    if (r->token == TOKEN_NONE && r->shell->result == WALK_OK && !read_token(r))
        r->token = TOKEN_NONE;
    return r->token;
}

void shell_take(struct shell_reader *r)
{
    r->token = TOKEN_NONE;
    r->last_end = r->pos;
}

bool shell_is_reserved(const struct shell_reader *r, const char *word)
{
    size_t len = strlen(word);

    return r->token == TOKEN_WORD && (r->word->flags & SHELL_WORD_PLAIN) &&
           r->word->first.len == len && memcmp(r->word->first.text, word, len) == 0;
}
