/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question about a command, on the terminal (prompt.h). The command is shown escaped, as a
 * whole, and the part that decides last, where it is not scrolled away. Only "y", "yes", "a" and
 * "always" are a yes; an empty line, the end of the input, Ctrl-C, any signal that ends a run, and
 * time that is up are a no.
 */
#include "cli/approve.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/patience.h"
#include "cli/prompt.h"

#define PROMPT_MAX_TEXT ((size_t)64 << 20)

#define HINT_NO_TERMINAL                                                                           \
    "there is no terminal to ask on; --approve yes runs it, and so does a rule in your own "       \
    "configuration (classifier.rules)"
#define HINT_DENIED "--approve deny refuses whatever needs an approval"

bool approver_mode(const char *word, enum approve_mode *ret)
{
    static const char *const words[] = { "ask", "deny", "yes" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eq(words[i], word)) {
            *ret = (enum approve_mode)i;
            return true;
        }
    return false;
}

static void put_row(struct buf *b, const char *label, const char *text)
{
    (void)buf_printf(b, "  %-9s", label);
    (void)str_escape(b, text, strlen(text));
    (void)buf_putc(b, '\n');
}

static void put_question(struct buf *b, const abx_question *q)
{
    (void)buf_puts(b, "agentbox: this command needs your approval\n");
    put_row(b, "command:", abx_question_command(q));
    put_row(b, "in:", abx_question_cwd(q));
    put_row(b, "part:", abx_question_part(q));
    put_row(b, "rule:", abx_question_rule(q));
    put_row(b, "reason:", abx_question_reason(q));
    (void)buf_puts(b, abx_question_can_keep(q)
                          ? "Run it? [y]es, this time; [a]lways, exactly this; [N]o: "
                          : "Run it? [y]es, this time; [N]o: ");
}

static int32_t meaning(const char *word)
{
    if (strcasecmp(word, "y") == 0 || strcasecmp(word, "yes") == 0)
        return ABX_APPROVE_ONCE;
    if (strcasecmp(word, "a") == 0 || strcasecmp(word, "always") == 0)
        return ABX_APPROVE_ALWAYS;
    return ABX_APPROVE_NO;
}

static int64_t time_left(void *user)
{
    return abx_question_timeout_ms(user);
}

bool approver_is_there(void)
{
    int tty = prompt_terminal();

    return tty >= 0 && close(tty) == 0;
}

static int32_t ask(struct approver *a, const abx_question *question)
{
    _buf_ struct buf text = { .limit = PROMPT_MAX_TEXT };
    char line[PROMPT_LINE_MAX];
    int ended_by;

    put_question(&text, question);
    if (text.failed)
        return ABX_APPROVE_FAILED;
    const struct prompt_request request = { .text = text.data,
                                            .text_len = text.len,
                                            .signals = a->signals,
                                            .fd = abx_question_fd(question),
                                            .left_ms = time_left,
                                            .user = (void *)(uintptr_t)question };
    patience_pause();
    const enum prompt_end end = prompt_ask(&request, line, &ended_by);
    patience_resume();
    switch (end) {
    case PROMPT_LINE:
        return meaning(line);
    case PROMPT_FAILED:
        return ABX_APPROVE_FAILED;
    case PROMPT_NO_TERMINAL:
        a->hint = HINT_NO_TERMINAL;
        return ABX_APPROVE_NO;
    default:
        return ABX_APPROVE_NO;
    }
}

int32_t approver_answer(void *user, const abx_question *question)
{
    struct approver *a = user;

    switch (a->mode) {
    case APPROVE_YES:
        return ABX_APPROVE_ONCE;
    case APPROVE_PLAN:
        cli_notice(NULL, ABX_NOTICE_INFO, "plan", "a run would ask for an approval first");
        return ABX_APPROVE_ONCE;
    case APPROVE_DENY:
        a->hint = HINT_DENIED;
        return ABX_APPROVE_NO;
    case APPROVE_ASK:
        break;
    }
    return ask(a, question);
}

void approver_network(void *user, uint32_t question, const char *host, int32_t port)
{
    struct approver *a = user;

    network_take(a->network, question, host, port);
}
