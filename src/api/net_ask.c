/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions about hosts that no rule mentions: from the role to abx_hooks.network, and the answer
 * back.
 *
 * Runs that want the same host at the same time share one question, as connections of one run do in
 * the role. An answer for the session holds for the whole manager. What is not answered within the
 * role's time is a no there; here it is forgotten, so that the next one who wants to know asks
 * again. Too many questions at once are a no.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/net_internal.h"
#include "base/str.h"

#define ASK_NS      (60 * NSEC_PER_SEC) /* the role's own limit */
#define SHARERS_MAX 64

struct net_question {
    struct net_question *next;
    uint32_t id;
    char *host;
    uint16_t port;
    bool told;
    int64_t since;
    uint32_t sharers[SHARERS_MAX]; /* the role's numbers */
    size_t sharer_count;
};

struct net_answer {
    char *host;
    uint16_t port;
    enum server_answer answer;
};

static void question_free(struct net_asks *a, struct net_question **at)
{
    struct net_question *q = *at;

    *at = q->next;
    a->question_count--;
    free(q->host);
    free(q);
}

static void forget_old(struct net_asks *a)
{
    int64_t oldest = run_now_ns() - ASK_NS;

    for (struct net_question **at = &a->questions; *at;)
        if ((*at)->since < oldest)
            question_free(a, at);
        else
            at = &(*at)->next;
}

/* ---- the session ---- */

static const struct net_answer *find_answer(const struct net_asks *a, const char *host,
                                            uint16_t port)
{
    for (size_t i = 0; i < a->answer_count; i++)
        if (a->answers[i].port == port && str_eq(a->answers[i].host, host))
            return &a->answers[i];
    return NULL;
}

static void keep_answer(struct net_asks *a, const struct net_question *q, enum server_answer answer)
{
    if (a->answer_count == SERVER_MAX_ANSWERS || find_answer(a, q->host, q->port))
        return; /* it is asked again, at worst */
    struct net_answer *more = reallocarray(a->answers, a->answer_count + 1, sizeof *more);
    if (!more)
        return;
    a->answers = more;
    struct net_answer *kept = &a->answers[a->answer_count];
    *kept = (struct net_answer){ strdup(q->host), q->port, answer };
    if (kept->host)
        a->answer_count++;
}

/* ---- from the role ---- */

static struct net_question *question_new(struct net_asks *a, const char *host, uint16_t port)
{
    struct net_question *q = a->question_count < SERVER_MAX_QUESTIONS ? calloc(1, sizeof *q) : NULL;

    if (!q)
        return NULL;
    *q = (struct net_question){
        .id = ++a->last_id, .host = strdup(host), .port = port, .since = run_now_ns()
    };
    if (!q->host) {
        free(q);
        return NULL;
    }
    struct net_question **end = &a->questions; /* asked in the order of coming */
    while (*end)
        end = &(*end)->next;
    *end = q;
    a->question_count++;
    return q;
}

void net_asked(void *user, uint32_t question, uint32_t listener, const char *host, uint16_t port)
{
    struct net *n = user;
    struct net_asks *a = &n->asks;
    const struct net_answer *known = find_answer(a, host, port);
    struct net_question *q;

    (void)listener;
    forget_old(a);
    if (known) {
        (void)client_answer(&n->client, question, known->answer, NULL);
        return;
    }
    for (q = a->questions; q && !(q->port == port && str_eq(q->host, host));)
        q = q->next;
    if (!q)
        q = question_new(a, host, port);
    if (q && q->sharer_count < SHARERS_MAX)
        q->sharers[q->sharer_count++] = question;
    else
        (void)client_answer(&n->client, question, SERVER_NO, NULL);
}

void net_ask_untold(struct net *n)
{
    const abx_hooks *hooks = &n->manager->hooks;

    for (;;) {
        (void)pthread_mutex_lock(&n->lock);
        struct net_question *q = n->asks.questions;
        while (q && q->told)
            q = q->next;
        if (!q) {
            (void)pthread_mutex_unlock(&n->lock);
            return;
        }
        q->told = true;
        char host[HOST_MAX + 1];
        (void)snprintf(host, sizeof host, "%s", q->host);
        uint32_t id = q->id;
        uint16_t port = q->port;
        (void)pthread_mutex_unlock(&n->lock);
        hooks->network(hooks->user, id, host, port);
    }
}

void net_asks_clear(struct net_asks *a)
{
    while (a->questions)
        question_free(a, &a->questions);
}

void net_asks_done(struct net_asks *a)
{
    net_asks_clear(a);
    for (size_t i = 0; i < a->answer_count; i++)
        free(a->answers[i].host);
    free(a->answers);
    *a = (struct net_asks){ 0 };
}

/* ---- the answer ---- */

static void answer_question(struct net *n, uint32_t id, enum server_answer answer)
{
    struct net_question **at = &n->asks.questions;

    while (*at && (*at)->id != id)
        at = &(*at)->next;
    if (!*at)
        return; /* too late */
    if (answer == SERVER_YES_SESSION || answer == SERVER_NO_SESSION)
        keep_answer(&n->asks, *at, answer);
    for (size_t i = 0; i < (*at)->sharer_count && n->client.control >= 0; i++)
        (void)client_answer(&n->client, (*at)->sharers[i], answer, NULL);
    question_free(&n->asks, at);
}

int32_t abx_manager_answer(abx_manager *m, uint32_t question, int32_t answer, abx_error **err)
{
    int32_t code = manager_check(m, err);

    if (code != ABX_OK)
        return code;
    if (answer < ABX_ANSWER_NO || answer > ABX_ANSWER_NO_SESSION)
        return err_new(err, ABX_E_INVALID, "answer a question: %d is no answer", answer);
    struct net *n = NULL;
    code = manager_net(m, &n, err);
    if (code != ABX_OK)
        return code;
    (void)pthread_mutex_lock(&n->lock);
    answer_question(n, question, (enum server_answer)answer);
    (void)pthread_mutex_unlock(&n->lock);
    return ABX_OK;
}
