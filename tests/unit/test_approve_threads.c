/* SPDX-License-Identifier: Apache-2.0 */
/* Approvals from several threads: equal questions, cancel, close, time, a forked child. */
#include "lib/approve_case.h"

#include "api/internal.h"

#define THREADS 8

struct worker {
    pthread_t thread;
    const struct case_state *s;
    abx_command *command;
    int32_t code;
};

static void *wrap_one(void *arg)
{
    struct worker *w = arg;

    w->code = abx_manager_wrap(w->s->api.manager, w->command, NULL);
    return NULL;
}

static void start_worker(struct worker *w, const struct case_state *s, const char *text)
{
    *w = (struct worker){ .s = s, .command = api_shell(&s->api, text) };
    assert_int_equal(pthread_create(&w->thread, NULL, wrap_one, w), 0);
}

static int32_t join_worker(struct worker *w)
{
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    abx_command_free(w->command);
    return w->code;
}

static void wait_for_askers(abx_manager *m, unsigned count)
{
    for (bool there = false; !there;) {
        (void)pthread_mutex_lock(&m->lock);
        there = m->askers == count;
        (void)pthread_mutex_unlock(&m->lock);
        (void)usleep(1000);
    }
    (void)usleep(20000); /* from the count to the wait */
}

static void open_desk(struct desk *d)
{
    (void)pthread_mutex_lock(&d->lock);
    d->shut = false;
    (void)pthread_cond_broadcast(&d->opened);
    (void)pthread_mutex_unlock(&d->lock);
}

static int ask_together(struct case_state *s, int32_t answer, int32_t wanted)
{
    struct worker w[THREADS];

    s->desk.asked = 0;
    s->desk.answer = answer;
    s->desk.shut = true;
    for (int i = 0; i < THREADS; i++)
        start_worker(&w[i], s, ESCALATED);
    wait_for_askers(s->api.manager, THREADS);
    open_desk(&s->desk);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(join_worker(&w[i]), wanted);
    return s->desk.asked;
}

static void equal_questions_are_asked_once(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_NO);

    assert_int_equal(ask_together(s, ABX_APPROVE_NO, ABX_E_ESCALATED), 1);
    assert_int_equal(ask_together(s, ABX_APPROVE_FAILED, ABX_E_ESCALATED), 1);
    assert_int_equal(ask_together(s, ABX_APPROVE_ONCE, ABX_OK), THREADS);
    assert_int_equal(ask_together(s, ABX_APPROVE_SESSION, ABX_OK), 1);
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 1);
}

static void different_questions_do_not_wait_for_each_other(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ONCE);
    struct worker w[2];

    s->desk.shut = true;
    start_worker(&w[0], s, ESCALATED);
    start_worker(&w[1], s, "kill -0 2");
    for (int asked = 0; asked < 2;) {
        (void)pthread_mutex_lock(&s->desk.lock);
        asked = s->desk.asked;
        (void)pthread_mutex_unlock(&s->desk.lock);
        (void)usleep(1000);
    }
    assert_int_equal(wrap_text(s, "true"), ABX_OK); /* the manager is not held up */
    open_desk(&s->desk);
    assert_int_equal(join_worker(&w[0]), ABX_OK);
    assert_int_equal(join_worker(&w[1]), ABX_OK);
}

static void cancel_ends_a_question(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);

    s->desk.wait_fd = true;
    s->desk.cancels = api_shell(&s->api, ESCALATED);
    assert_int_equal(abx_manager_wrap(s->api.manager, s->desk.cancels, NULL), ABX_E_CANCELED);
    abx_command_free(s->desk.cancels);
    s->desk.cancels = NULL;
    s->desk.wait_fd = false;
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK); /* that yes was not kept */
    assert_int_equal(s->desk.asked, 2);
}

static void cancel_ends_the_wait_for_anothers_answer(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ONCE);
    struct worker w[2];

    s->desk.shut = true;
    start_worker(&w[0], s, ESCALATED);
    wait_for_askers(s->api.manager, 1);
    start_worker(&w[1], s, ESCALATED);
    wait_for_askers(s->api.manager, 2);
    abx_command_cancel(w[1].command);
    assert_int_equal(join_worker(&w[1]), ABX_E_CANCELED);
    open_desk(&s->desk);
    assert_int_equal(join_worker(&w[0]), ABX_OK);
    assert_int_equal(s->desk.asked, 1);
}

static void close_ends_questions_and_waits(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    struct worker w[2];
    abx_error *e = NULL;

    s->desk.wait_fd = true;
    start_worker(&w[0], s, ESCALATED);
    wait_for_askers(s->api.manager, 1);
    start_worker(&w[1], s, ESCALATED);
    wait_for_askers(s->api.manager, 2);
    api_ok(abx_manager_close(s->api.manager, 10000, &e), &e);
    assert_int_equal(join_worker(&w[0]), ABX_E_CLOSED);
    assert_int_equal(join_worker(&w[1]), ABX_E_CLOSED);
}

static void a_late_answer_is_a_no(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_SESSION);
    abx_error *e = NULL;
    abx_command *c = api_shell(&s->api, ESCALATED);

    s->desk.late = true;
    api_ok(abx_command_set_timeout(c, 50, &e), &e);
    assert_int_equal(abx_manager_wrap(s->api.manager, c, &e), ABX_E_ESCALATED);
    assert_non_null(strstr(abx_error_message(e), "in time"));
    abx_error_free(e);
    abx_command_free(c);
    s->desk.late = false;
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(s->desk.asked, 2);
}

static void in_a_forked_child_nobody_is_asked(void **state)
{
    struct case_state *s = start_with(state, ABX_APPROVE_ONCE);
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        abx_command *c = NULL;
        abx_check *check = NULL;
        if (abx_command_new_shell(ESCALATED, &c, NULL) != ABX_OK)
            _exit(1);
        if (abx_manager_wrap(s->api.manager, c, NULL) != ABX_E_FORKED)
            _exit(2);
        if (abx_manager_check(s->api.manager, c, &check, NULL) != ABX_E_FORKED)
            _exit(3);
        abx_command_free(c);
        _exit(s->desk.asked ? 4 : 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(equal_questions_are_asked_once),
        TEST(different_questions_do_not_wait_for_each_other),
        TEST(cancel_ends_a_question),
        TEST(cancel_ends_the_wait_for_anothers_answer),
        TEST(close_ends_questions_and_waits),
        TEST(a_late_answer_is_a_no),
        TEST(in_a_forked_child_nobody_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
