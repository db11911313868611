/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second look at what was not understood. It guesses: cuts at every operator, drops quotes, and
 * lets the rules see the pieces. Guesses are only used to be stricter, so a wrong one costs a
 * question at most. A text is cut into at most MAX_PIECES pieces of MAX_WORDS words; what is behind
 * them is not looked at, the text is escalated anyway.
 */
#include "classify/salvage.h"

#include <ctype.h>
#include <string.h>

#define MAX_PIECES 1024
#define MAX_WORDS  256
#define MAX_NAME   64

/* ---- N(){ N|N& } however it is spaced ---- */

static size_t skip_blanks(const char *text, size_t len, size_t at)
{
    while (at < len && isspace((unsigned char)text[at]))
        at++;
    return at;
}

static bool starts_itself(const char *body, size_t len, const char *name, size_t n)
{
    for (size_t i = 0; i + n <= len; i++) {
        if (memcmp(body + i, name, n) != 0)
            continue;
        size_t at = skip_blanks(body, len, i + n);

        if (at >= len || body[at] != '|')
            continue;
        at = skip_blanks(body, len, at + 1);
        if (at + n <= len && memcmp(body + at, name, n) == 0)
            return true;
    }
    return false;
}

static bool is_fork_bomb(const char *text, size_t len)
{
    for (size_t i = 1; i < len; i++) {
        if (text[i] != '(')
            continue;
        size_t close = skip_blanks(text, len, i + 1), end = i;

        while (end > 0 && isspace((unsigned char)text[end - 1]))
            end--;
        size_t start = end;

        if (close >= len || text[close] != ')')
            continue;
        while (start > 0 && !isspace((unsigned char)text[start - 1]) && text[start - 1] != ';' &&
               end - start < MAX_NAME)
            start--;
        size_t brace = skip_blanks(text, len, close + 1);

        if (start == end || brace >= len || text[brace] != '{')
            continue;
        const char *last = memchr(text + brace, '}', len - brace);
        size_t body = last ? (size_t)(last - text) - brace : len - brace;

        if (starts_itself(text + brace, body, text + start, end - start))
            return true;
        i = brace + body;
    }
    return false;
}

/* ---- pieces ---- */

struct piece {
    struct arena *arena;
    salvage_visit visit;
    void *user;
    struct word *words;
    size_t count, pieces;
    struct redirect *redirects;
    size_t redirect_count;
    bool after_pipe;
    const char *text;
    size_t start;
};

static bool piece_begin(struct piece *p)
{
    p->words = arena_alloc(p->arena, MAX_WORDS, sizeof(*p->words));
    p->redirects = arena_alloc(p->arena, 4, sizeof(*p->redirects));
    p->count = p->redirect_count = 0;
    return p->words && p->redirects && p->pieces++ < MAX_PIECES;
}

/* False: no more pieces. */
static bool piece_end(struct piece *p, size_t end, bool pipe)
{
    struct call *call = arena_alloc(p->arena, 1, sizeof(*call));

    if (!call)
        return false;
    if (p->count > 0) {
        *call = (struct call){ .words = p->words,
                               .count = p->count,
                               .redirects = p->redirects,
                               .redirect_count = p->redirect_count,
                               .flags = p->after_pipe ? CALL_STDIN_PIPE : 0,
                               .cwd = "",
                               .part = p->text ? p->text + p->start : NULL,
                               .part_len = p->text ? end - p->start : 0 };
        p->visit(p->user, call);
    }
    p->after_pipe = pipe;
    p->start = end + 1;
    return p->count == 0 || piece_begin(p);
}

static void piece_word(struct piece *p, const char *text, size_t len)
{
    char *copy = p->count < MAX_WORDS ? arena_alloc(p->arena, len + 1, 1) : NULL;
    size_t n = 0;

    if (!copy)
        return;
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '"' && text[i] != '\'')
            copy[n++] = text[i];
    }
    copy[n] = '\0';
    p->words[p->count++] =
        (struct word){ .text = copy, .len = n, .flags = copy[0] == '~' ? WORD_TILDE : 0 };
}

void salvage_text(const char *text, size_t len, struct arena *arena, salvage_visit visit,
                  void *user)
{
    struct piece p = { .arena = arena, .visit = visit, .user = user, .text = text };
    size_t at = 0;

    if (is_fork_bomb(text, len)) {
        static const struct call bomb = { .flags = CALL_FORK_BOMB, .cwd = "" };

        visit(user, &bomb);
    }
    if (!piece_begin(&p))
        return;
    while (at < len) {
        size_t start = at;

        if (strchr(";|&(){}\n`", text[at]) && text[at]) {
            if (!piece_end(&p, at, text[at] == '|'))
                return;
            at++;
            continue;
        }
        while (at < len && text[at] && !isspace((unsigned char)text[at]) &&
               !strchr(";|&(){}`", text[at]))
            at++;
        if (at > start)
            piece_word(&p, text + start, at - start);
        else
            at++;
    }
    (void)piece_end(&p, len, false);
}

/* ---- words ---- */

static bool is_separator(const char *text)
{
    return strcmp(text, "|") == 0 || strcmp(text, "|&") == 0 || strcmp(text, "||") == 0 ||
           strcmp(text, "&&") == 0 || strcmp(text, "&") == 0;
}

static bool redirect_op(const char *text, enum redirect_op *ret)
{
    static const struct {
        const char *text;
        enum redirect_op op;
    } ops[] = { { ">", REDIRECT_OUT },   { ">>", REDIRECT_APPEND }, { ">&", REDIRECT_BOTH },
                { "&>", REDIRECT_BOTH }, { "<", REDIRECT_IN },      { "<>", REDIRECT_INOUT } };

    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (strcmp(text, ops[i].text) == 0) {
            *ret = ops[i].op;
            return true;
        }
    }
    return false;
}

void salvage_argv(const struct word *words, size_t count, struct arena *arena, salvage_visit visit,
                  void *user)
{
    struct piece p = { .arena = arena, .visit = visit, .user = user };
    enum redirect_op op;
    bool any = false;

    for (size_t i = 1; i < count; i++)
        any |= is_separator(words[i].text) || redirect_op(words[i].text, &op);
    if (!any || !piece_begin(&p))
        return;
    for (size_t i = 0; i < count; i++) {
        const char *text = words[i].text;

        if (i > 0 && is_separator(text)) {
            if (!piece_end(&p, 0, text[0] == '|' && text[1] != '|'))
                return;
        } else if (i > 0 && i + 1 < count && redirect_op(text, &op)) {
            i++;
            if (p.redirect_count < 4)
                p.redirects[p.redirect_count++] = (struct redirect){
                    op, op == REDIRECT_IN || op == REDIRECT_INOUT ? 0 : 1, words[i]
                };
        } else if (p.count < MAX_WORDS) {
            p.words[p.count++] = words[i];
        }
    }
    (void)piece_end(&p, 0, false);
}
