/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The question about a host. What the command did to the terminal before must not make it say
 * something else: a sequence that was begun would swallow it, lines that do not wrap, margins or a
 * scroll region would let only the front of a long name be seen, a palette of one colour nothing at
 * all, and what the command had printed above it would be read instead. So all of that is undone
 * first. The host is canonical: letters, digits, '.', '-', ':'. The command sees the user's keys up
 * to the question, and might bring it between two of them: the first second's answer nothing.
 *
 * "y" is for those who wait now, "s" for the run; everything else is a no, and a no is asked about
 * again when the command tries again.
 */
#include "cli/network.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/prompt.h"

#define ASK_TEXT_MAX 4096
#define REST_MS      1000
#define SIGNAL_MS    300
/* Ends what was begun; margins and scroll region are the screen (the cursor stays); lines wrap. */
#define WHOLE_SCREEN                                                                               \
    "\030\033\\"                                                                                   \
    "\0337\033[?69l\033[r\0338"                                                                    \
    "\033[?7h\033[4l"
/* ASCII, the cursor shown, no attributes but colours that no palette changes. */
#define PLAIN_TEXT  "\017\033(B\033[?25h\r\n\033[0;38;2;255;255;255;48;2;0;0;0m"
#define OWN_COLOURS "\033[0m"

void network_take(struct network_asker *a, uint32_t question, const char *host, int32_t port)
{
    if (a->count == NETWORK_QUEUE)
        return; /* silence is a no */
    struct network_question *q = &a->queue[a->count++];
    *q = (struct network_question){ .id = question, .port = port };
    (void)snprintf(q->host, sizeof q->host, "%s", host);
}

static int32_t meaning(const char *word)
{
    if (strcasecmp(word, "y") == 0 || strcasecmp(word, "yes") == 0)
        return ABX_ANSWER_YES;
    if (strcasecmp(word, "s") == 0 || strcasecmp(word, "session") == 0)
        return ABX_ANSWER_YES_SESSION;
    return ABX_ANSWER_NO;
}

static void put_question(struct buf *text, const struct network_question *q)
{
    const char *brackets = strchr(q->host, ':') ? "[]" : "";

    (void)buf_puts(text, WHOLE_SCREEN PLAIN_TEXT "agentbox: the command wants to connect to ");
    (void)buf_append(text, brackets, brackets[0] ? 1 : 0);
    (void)str_escape(text, q->host, strlen(q->host));
    (void)buf_append(text, brackets + (brackets[0] ? 1 : 0), brackets[0] ? 1 : 0);
    (void)buf_printf(
        text, ":%d; let it? [y]es, now; [s]ession: until it ends; [N]o:" OWN_COLOURS " ", q->port);
}

static struct network_question take_first(struct network_asker *a)
{
    struct network_question first = a->queue[0];

    memmove(a->queue, a->queue + 1, --a->count * sizeof *a->queue);
    return first;
}

void network_ask(struct network_asker *a, abx_manager *m, const struct network_scene *scene)
{
    _buf_ struct buf text = { .limit = ASK_TEXT_MAX };
    const struct network_question q = take_first(a);
    char line[PROMPT_LINE_MAX];
    int signal = 0;

    put_question(&text, &q);
    const struct prompt_request request = { .text = text.data,
                                            .text_len = text.len,
                                            .signals = scene->signals,
                                            .fd = scene->process_fd,
                                            .serve = scene->serve,
                                            .rest_ms = REST_MS,
                                            .user = scene->user };
    enum prompt_end end = text.failed ? PROMPT_FAILED : prompt_ask(&request, line, &signal);
    if (signal) {
        struct pollfd process = { .fd = scene->process_fd, .events = POLLIN };

        /* A shell that hears the no first goes on, and dash loses a signal as it executes. */
        scene->pass(scene->user, signal);
        (void)poll(&process, 1, SIGNAL_MS);
    }
    (void)abx_manager_answer(m, q.id, end == PROMPT_LINE ? meaning(line) : ABX_ANSWER_NO, NULL);
}

void network_refuse(struct network_asker *a, abx_manager *m)
{
    while (a->count > 0)
        (void)abx_manager_answer(m, a->queue[--a->count].id, ABX_ANSWER_NO, NULL);
}
