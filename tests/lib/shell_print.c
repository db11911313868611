/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/shell_print.h"

#include <string.h>

static void print_word(struct buf *b, const struct word *word)
{
    bool quote = word->len == 0 || strpbrk(word->text, " \t\n;") != NULL;

    if (quote)
        (void)buf_putc(b, '\'');
    for (size_t i = 0; i < word->len; i++) {
        if (word->text[i] == WORD_HOLE)
            (void)buf_puts(b, "<>");
        else if (word->text[i] == '\n')
            (void)buf_puts(b, "\\n");
        else if (word->text[i] == '\t')
            (void)buf_puts(b, "\\t");
        else
            (void)buf_putc(b, word->text[i]);
    }
    if (quote)
        (void)buf_putc(b, '\'');
    if (word->flags & WORD_SPLITS)
        (void)buf_putc(b, '+');
    if (word->flags & WORD_GLOB)
        (void)buf_puts(b, ":*");
    if (word->flags & WORD_TILDE)
        (void)buf_puts(b, ":~");
    if (word->source)
        (void)buf_printf(b, ":(%s)", word->source->count > 0 ? word->source->words[0].text : "");
}

static void print_redirect(struct buf *b, const struct redirect *redirect)
{
    static const char *const ops[] = { "<", ">", ">>", "&>", "&>>", "<>", "<&", ">&", "<<" };
    bool own_fd = redirect->fd == (redirect->op == REDIRECT_IN || redirect->op == REDIRECT_INOUT ||
                                           redirect->op == REDIRECT_DUP_IN ||
                                           redirect->op == REDIRECT_TEXT
                                       ? 0
                                       : 1);

    if (redirect->fd < 0)
        (void)buf_puts(b, "{}");
    else if (!own_fd)
        (void)buf_printf(b, "%d", redirect->fd);
    (void)buf_puts(b, ops[redirect->op]);
    print_word(b, &redirect->target);
}

static void print_flags(struct buf *b, const struct call *call)
{
    static const struct {
        uint32_t flag;
        char letter;
    } rows[] = {
        { CALL_STDIN_PIPE, 'p' },   { CALL_STDOUT_PIPE, 'o' }, { CALL_BACKGROUND, 'b' },
        { CALL_SUBSTITUTION, 's' }, { CALL_FORK_BOMB, 'F' },   { CALL_FUNCTION_BODY, 'f' },
        { CALL_CWD_UNKNOWN, 'c' },
    };

    if (call->cwd[0] != '\0')
        (void)buf_printf(b, " @%s", call->cwd);
    if (call->feeder)
        (void)buf_printf(b, " <%s", call->feeder->count > 0 ? call->feeder->words[0].text : "");
    if (call->flags == 0)
        return;
    (void)buf_puts(b, " {");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (call->flags & rows[i].flag)
            (void)buf_putc(b, rows[i].letter);
    }
    (void)buf_putc(b, '}');
}

void shell_print_call(struct buf *b, const struct call *call)
{
    const char *gap = "";

    for (size_t i = 0; i < call->assign_count; i++, gap = " ") {
        (void)buf_printf(b, "%s%s=", gap, call->assigns[i].name);
        print_word(b, &call->assigns[i].value);
    }
    for (size_t i = 0; i < call->count; i++, gap = " ") {
        (void)buf_puts(b, gap);
        print_word(b, &call->words[i]);
    }
    for (size_t i = 0; i < call->redirect_count; i++, gap = " ") {
        (void)buf_puts(b, gap);
        print_redirect(b, &call->redirects[i]);
    }
    print_flags(b, call);
}

static bool print_visit(void *user, const struct call *call)
{
    struct buf *b = user;

    if (b->len > 0)
        (void)buf_puts(b, " ; ");
    shell_print_call(b, call);
    return true;
}

void shell_print_text(struct buf *b, const char *text, size_t len)
{
    static const char *const results[] = { "ok", "unreadable", "limit", "nomem", "stopped" };
    _arena_ struct arena arena;
    struct walk_problem problem;
    enum walk_result result;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    result = walk_text(text, len, NULL, 0, &arena, print_visit, b, &problem);
    if (result != WALK_OK)
        (void)buf_printf(b, "%s%s: %s @%zu", b->len > 0 ? " ; " : "", results[result], problem.what,
                         problem.offset);
}
