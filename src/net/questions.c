/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about targets that no rule mentions.
 *
 * Connections to the same host and port wait for one question. Silence is a no, and so is one
 * question too many: a run may have as many open as are left for others. Only an answer that says
 * so is kept.
 */
#include <stdlib.h>

#include "net/conn.h"

int questions_known(const struct rules *rules, const struct host *host, uint16_t port)
{
    for (const struct answer *a = rules->answers; a; a = a->next)
        if (a->port == port && host_eq(&a->host, host))
            return a->yes;
    return -1;
}

static void keep_answer(struct rules *rules, const struct question *q, bool yes)
{
    struct answer *a = rules->answer_count < SERVER_MAX_ANSWERS ? malloc(sizeof *a) : NULL;

    if (!a)
        return; /* it is asked again */
    *a = (struct answer){ .next = rules->answers, .host = q->host, .port = q->port, .yes = yes };
    rules->answers = a;
    rules->answer_count++;
}

void answers_free(struct rules *rules)
{
    while (rules->answers) {
        struct answer *next = rules->answers->next;

        free(rules->answers);
        rules->answers = next;
    }
    rules->answer_count = 0;
}

/* It is out of the list before anybody is told: who is told may ask again. */
static void question_finish(struct question *q, bool yes)
{
    struct question **at = &q->server->questions;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    q->server->question_count--;
    loop_timer_clear(q->server->loop, &q->timer);
    while (q->waiting) {
        struct conn *c = q->waiting;

        q->waiting = c->question_next;
        c->question = NULL;
        conn_answered(c, yes);
    }
    free(q);
}

static void question_expired(struct loop_timer *timer)
{
    question_finish(CONTAINER_OF(timer, struct question, timer), false);
}

static bool may_ask(const struct server *s, const struct rules *rules)
{
    size_t own = 0;

    for (const struct question *q = s->questions; q; q = q->next)
        own += q->rules == rules;
    return own < SERVER_MAX_QUESTIONS - s->question_count;
}

static struct question *question_new(struct conn *c)
{
    struct server *s = c->server;
    struct question *q = may_ask(s, conn_rules(c)) ? calloc(1, sizeof *q) : NULL;

    if (!q)
        return NULL;
    q->id = ++s->last_question;
    q->rules = conn_rules(c);
    q->host = c->host;
    q->port = c->port;
    q->server = s;
    q->timer.expired = question_expired;
    q->next = s->questions;
    s->questions = q;
    s->question_count++;
    loop_timer_set(s->loop, &q->timer, loop_now(s->loop) + s->limits.ask_ns);
    s->hooks.ask(s->hooks.user, q->id, c->listener->id, q->host.text, q->port);
    return q;
}

bool questions_ask(struct conn *c)
{
    struct question *q = c->server->questions;

    while (q && !(q->rules == conn_rules(c) && q->port == c->port && host_eq(&q->host, &c->host)))
        q = q->next;
    if (!q)
        q = question_new(c);
    if (!q)
        return false;
    c->question = q;
    c->question_next = q->waiting;
    q->waiting = c;
    return true;
}

/* The question stays: its answer may be for the session. */
void questions_leave(struct conn *c)
{
    if (!c->question)
        return;
    struct conn **at = &c->question->waiting;
    while (*at != c)
        at = &(*at)->question_next;
    *at = c->question_next;
    c->question = NULL;
}

void questions_forget(struct server *s, const struct rules *rules)
{
    struct question *q = s->questions;

    while (q) {
        if (rules && q->rules != rules) {
            q = q->next;
            continue;
        }
        question_finish(q, false);
        q = s->questions; /* whoever was told may have changed the list */
    }
}

void server_answer(struct server *s, uint32_t question, enum server_answer answer)
{
    struct question *q = s->questions;
    bool yes = answer == SERVER_YES || answer == SERVER_YES_SESSION;

    while (q && q->id != question)
        q = q->next;
    if (!q)
        return; /* too late */
    if (answer == SERVER_YES_SESSION || answer == SERVER_NO_SESSION)
        for (struct rules *r = s->rules; r; r = r->next)
            if (r == q->rules)
                keep_answer(r, q, yes);
    question_finish(q, yes);
}
