/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Approvals: who says yes to an escalated command.
 *
 * In this order: the session set (SESSION and ALWAYS answers of this manager), the cache (ALWAYS
 * answers of the past), the caller's approver. Only a clear yes counts; silence, failure, a late
 * answer and files that changed meanwhile are a no. A no is never kept. What is forbidden does not
 * come here.
 *
 * Equal questions are asked once: the first thread puts the key into `pending` and asks without any
 * lock; the others wait until it has an answer. They share it unless it was for that run alone;
 * then the next of them asks. Canceling the command and closing the manager end every wait, and
 * wake the approver through the question's descriptor.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/judge.h"
#include "base/list.h"
#include "base/str.h"
#include "base/wake.h"
#include "probe/approvals.h"
#include "probe/refusals.h"
#include "probe/state.h"

#define APPROVE_MAX_SESSION 65536 /* keys; more are asked about again */

/* How a question ended. The approver's words, and some of ours. */
enum answer {
    ANSWER_FAILED = ABX_APPROVE_FAILED,
    ANSWER_NO = ABX_APPROVE_NO,
    ANSWER_ONCE = ABX_APPROVE_ONCE,
    ANSWER_SESSION = ABX_APPROVE_SESSION,
    ANSWER_ALWAYS = ABX_APPROVE_ALWAYS,
    ANSWER_NOBODY,  /* there is no approver */
    ANSWER_FLOOD,   /* too many noes just now: not asked */
    ANSWER_CHANGED, /* yes, but not to what there is now */
    ANSWER_VOID,    /* canceled, closed or too late: nobody may rely on it */
};

/* A key that somebody is asking about. */
struct pending {
    struct pending *next;
    unsigned refs; /* who asks, and who waits */
    bool answered;
    enum answer answer;
    char key[SHA256_HEX_BYTES];
};

/* All that belongs to one command's question. */
struct asking {
    abx_manager *manager;
    abx_command *command;
    const abx_check *check;
    const struct layers *layers;
    const char *cwd;
    abx_question *question;
};

/* ---- with the manager's lock ---- */

static bool session_has(const abx_manager *m, const char *key)
{
    for (size_t i = 0; i < m->session_count; i++)
        if (str_eq(m->session[i], key))
            return true;
    return false;
}

/* Without memory it is asked about again. */
static void session_add(abx_manager *m, const char *key)
{
    if (session_has(m, key) || m->session_count >= APPROVE_MAX_SESSION)
        return;
    if (m->session_count == m->session_capacity) {
        size_t capacity = m->session_capacity ? 2 * m->session_capacity : 16;
        void *more = reallocarray(m->session, capacity, sizeof *m->session);
        if (!more)
            return;
        m->session = more;
        m->session_capacity = capacity;
    }
    memcpy(m->session[m->session_count++], key, SHA256_HEX_BYTES);
}

static struct pending *find_pending(const abx_manager *m, const char *key)
{
    for (struct pending *p = m->pending; p; p = p->next)
        if (str_eq(p->key, key))
            return p;
    return NULL;
}

static void unref_pending(struct pending *p)
{
    if (--p->refs == 0)
        free(p);
}

static void end_pending(abx_manager *m, struct pending *p, enum answer answer)
{
    for (struct pending **at = &m->pending; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    p->answered = true;
    p->answer = answer;
    unref_pending(p);
    (void)pthread_cond_broadcast(&m->idle);
}

void manager_drop_questions(abx_manager *m)
{
    for (abx_question *q = m->questions; q; q = q->next)
        question_wake(q);
    (void)pthread_cond_broadcast(&m->idle);
}

static bool is_void(const struct asking *a)
{
    return a->command->canceled || a->manager->closed || abx_question_timeout_ms(a->question) == 0;
}

/* Until the one who asks has an answer, or we need none. */
static enum answer wait_for_answer(struct asking *a, struct pending *p)
{
    abx_manager *m = a->manager;

    p->refs++;
    while (!p->answered && !is_void(a)) {
        int64_t left = abx_question_timeout_ms(a->question);
        struct timespec until = deadline_after(left < 0 || left > 60000 ? 60000 : (int32_t)left);
        (void)pthread_cond_timedwait(&m->idle, &m->lock, &until);
    }
    enum answer answer = p->answered ? p->answer : ANSWER_VOID;
    unref_pending(p);
    return answer;
}

/* ---- without it ---- */

static const char *const *cache_directories(struct arena *arena)
{
    return state_directories(arena, configfiles_home(arena));
}

static bool cache_has(const struct asking *a)
{
    const abx_hooks *hooks = &a->manager->hooks;
    _arena_ struct arena arena = { 0 };

    if (!a->question->can_keep)
        return false;
    if (hooks->approval_lookup)
        return hooks->approval_lookup(hooks->user, a->question->key) == 1;
    if (!(hooks->flags & ABX_KEEP_APPROVALS))
        return false;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = cache_directories(&arena);
    return dirs && approvals_has(dirs, a->question->key);
}

static int32_t store_in_files(const abx_question *q, abx_error **err)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = cache_directories(&arena);
    const char *about = arena_printf(&arena, "command: %s\npart: %s\nrule: %s\nin: %s\n",
                                     q->command, q->part, q->rule, q->cwd);
    return dirs && about ? approvals_add(dirs, q->key, about, err) : err_nomem(err);
}

/* What cannot be kept for good still holds for the session, and is said. */
static void cache_store(const struct asking *a)
{
    const abx_hooks *hooks = &a->manager->hooks;
    _err_ abx_error *why = NULL;

    if (hooks->approval_store) {
        if (hooks->approval_store(hooks->user, a->question->key, a->question) != 0)
            manager_notice(a->manager, ABX_NOTICE_WARNING, "the approval could not be kept");
    } else if ((hooks->flags & ABX_KEEP_APPROVALS) && store_in_files(a->question, &why) != ABX_OK) {
        manager_notice(a->manager, ABX_NOTICE_WARNING, abx_error_message(why));
    }
}

/* The question is known to abx_command_cancel and abx_manager_close while it is asked. */
static void publish_question(struct asking *a, bool on)
{
    abx_manager *m = a->manager;
    abx_question *q = a->question;

    (void)pthread_mutex_lock(&a->command->lock);
    (void)pthread_mutex_lock(&m->lock);
    a->command->question = on ? q : NULL;
    if (on) {
        LIST_PUSH(m->questions, q);
    } else {
        LIST_REMOVE(q);
    }
    (void)pthread_mutex_unlock(&m->lock);
    (void)pthread_mutex_unlock(&a->command->lock);
}

/* Who is asked again and again says yes in the end. */
static bool is_flood(void)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = cache_directories(&arena);
    return dirs && refusals_wait(dirs, time(NULL)) > 0;
}

static void count_answer(int32_t said)
{
    _arena_ struct arena arena = { 0 };

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = cache_directories(&arena);
    if (dirs && said > ABX_APPROVE_NO)
        refusals_clear(dirs);
    else if (dirs && said == ABX_APPROVE_NO)
        refusals_add(dirs, time(NULL));
}

static enum answer ask_approver(struct asking *a)
{
    const abx_hooks *hooks = &a->manager->hooks;

    if (!hooks->approve)
        return ANSWER_NOBODY;
    if ((hooks->flags & ABX_LIMIT_QUESTIONS) && is_flood())
        return ANSWER_FLOOD;
    const int wake = wake_open();
    a->question->fd = MAX_OF(wake, -1);
    publish_question(a, true);
    int32_t said = hooks->approve(hooks->user, a->question);
    publish_question(a, false);
    if (said < ABX_APPROVE_FAILED || said > ABX_APPROVE_ALWAYS)
        said = ABX_APPROVE_NO;
    if (hooks->flags & ABX_LIMIT_QUESTIONS)
        count_answer(said);
    if (said > ABX_APPROVE_ONCE && !a->question->can_keep)
        said = ABX_APPROVE_ONCE;
    if (said > ABX_APPROVE_NO &&
        !question_still_holds(a->question, a->command, a->check, a->layers, a->cwd))
        return ANSWER_CHANGED;
    return (enum answer)said;
}

static enum answer ask(struct asking *a)
{
    if (cache_has(a))
        return ANSWER_ONCE; /* whoever waits looks it up, too: it may be taken back */
    return ask_approver(a);
}

/* We are the one who asks. */
static enum answer ask_for_all(struct asking *a, struct pending *p)
{
    abx_manager *m = a->manager;

    (void)pthread_mutex_unlock(&m->lock);
    enum answer answer = ask(a);
    (void)pthread_mutex_lock(&m->lock);
    if (is_void(a))
        answer = ANSWER_VOID;
    (void)pthread_mutex_unlock(&m->lock);
    if (answer == ANSWER_ALWAYS)
        cache_store(a);
    (void)pthread_mutex_lock(&m->lock);
    if (answer == ANSWER_SESSION || answer == ANSWER_ALWAYS)
        session_add(m, a->question->key);
    end_pending(m, p, answer);
    return answer;
}

/* One round, with the lock. False: what came out was for somebody else. */
static bool try_answer(struct asking *a, struct pending **spare, enum answer *ret)
{
    abx_manager *m = a->manager;
    bool can_keep = a->question->can_keep;
    struct pending *p = can_keep ? find_pending(m, a->question->key) : NULL;

    if (is_void(a)) {
        *ret = ANSWER_VOID;
        return true;
    }
    if (can_keep && session_has(m, a->question->key)) {
        *ret = ANSWER_SESSION;
        return true;
    }
    if (p) {
        *ret = wait_for_answer(a, p);
        return is_void(a) || (*ret != ANSWER_ONCE && *ret != ANSWER_VOID);
    }
    p = TAKE_PTR(*spare);
    p->refs = 1;
    memcpy(p->key, a->question->key, sizeof p->key);
    p->next = m->pending;
    m->pending = p;
    *ret = ask_for_all(a, p);
    return true;
}

/* ---- the outcome ---- */

static int32_t refuse(const struct asking *a, const char *what, const char *hint, abx_error **err)
{
    const abx_check *check = a->check;
    int32_t code = err_new(err, ABX_E_ESCALATED, "run '%.1000s': %s (rule '%s': %s)", check->part,
                           what, check->rule, check->reason);

    err_subject(err, check->rule);
    if (hint)
        err_hint(err, "%s", hint);
    return code;
}

static int32_t refuse_failed(const struct asking *a, abx_error **err)
{
    int32_t code = refuse(a, "not approved, because nobody could be asked", NULL, err);
    abx_error *cause = NULL;

    if (!err)
        return code;
    (void)err_new(&cause, ABX_E_CALLBACK, "ask for an approval: the approver failed");
    err_append(err, cause);
    return code;
}

static int32_t outcome_void(const struct asking *a, abx_error **err)
{
    if (a->command->canceled)
        return err_new(err, ABX_E_CANCELED, "start the command: it was canceled");
    int32_t code = manager_check_open(a->manager, "start a command", err);
    return code != ABX_OK ? code : refuse(a, "no approval came in time", NULL, err);
}

static int32_t outcome(const struct asking *a, enum answer answer, abx_error **err)
{
    switch (answer) {
    case ANSWER_ONCE:
    case ANSWER_SESSION:
    case ANSWER_ALWAYS:
        return ABX_OK;
    case ANSWER_FAILED:
        return refuse_failed(a, err);
    case ANSWER_NOBODY:
        return refuse(
            a, "it needs an approval, and there is nobody to ask",
            "give the manager an approver (hooks.approve), or allow it by a rule in the user's "
            "own configuration",
            err);
    case ANSWER_FLOOD:
        return refuse(a, "not asked about, because five commands were refused just now",
                      "wait a minute; a rule of your own (classifier.rules) decides without a "
                      "question",
                      err);
    case ANSWER_CHANGED:
        return refuse(a, "a file that it names changed while it was being approved",
                      "look at it, and try again", err);
    case ANSWER_VOID:
        return outcome_void(a, err);
    case ANSWER_NO:
        break;
    }
    return refuse(a, "not approved", NULL, err);
}

/* Known to abx_command_cancel from now on. */
static void set_asking(abx_command *c, abx_manager *m)
{
    (void)pthread_mutex_lock(&c->lock);
    c->asking = m;
    (void)pthread_mutex_unlock(&c->lock);
}

int32_t command_approve(abx_manager *m, abx_command *c, const abx_check *check,
                        const struct layers *layers, const char *cwd, abx_error **err)
{
    struct pending *spare = calloc(1, sizeof *spare);
    _question_ abx_question *q = NULL;
    enum answer answer = ANSWER_NO;

    int32_t code = spare ? question_new(c, check, layers, cwd, &q, err) : err_nomem(err);
    if (code != ABX_OK || !q) {
        free(spare);
        return code;
    }
    struct asking a = { m, c, check, layers, cwd, q };
    set_asking(c, m);
    (void)pthread_mutex_lock(&m->lock);
    m->askers++;
    while (!try_answer(&a, &spare, &answer))
        ;
    (void)pthread_mutex_unlock(&m->lock);
    set_asking(c, NULL);
    code = outcome(&a, answer, err);
    free(spare);
    (void)pthread_mutex_lock(&m->lock);
    m->askers--;
    (void)pthread_cond_broadcast(&m->idle); /* whoever closes the manager waits for us */
    (void)pthread_mutex_unlock(&m->lock);
    return code;
}
