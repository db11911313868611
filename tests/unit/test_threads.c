/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library from many threads: one manager and several, cancel at every moment, close with
 * commands running, a host that reaps every child, threads that end. ABX_ROUNDS changes how much is
 * done.
 */
#include "lib/api_case.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>

#define THREADS 16

static int rounds(void)
{
    const char *text = getenv("ABX_ROUNDS");

    return text ? atoi(text) : 50;
}

/* cmocka's asserts are for the main thread: workers count what went wrong. */
struct worker {
    pthread_t thread;
    const struct api_case *c;
    abx_manager *manager;
    int number, rounds, wrong;
};

static void start_all(struct worker *w, int count, const struct api_case *c, void *(*fn)(void *))
{
    for (int i = 0; i < count; i++) {
        w[i] = (struct worker){ .c = c, .manager = c->manager, .number = i, .rounds = rounds() };
        assert_int_equal(pthread_create(&w[i].thread, NULL, fn, &w[i]), 0);
    }
}

static void join_all(struct worker *w, int count)
{
    int wrong = 0;

    for (int i = 0; i < count; i++) {
        assert_int_equal(pthread_join(w[i].thread, NULL), 0);
        wrong += w[i].wrong;
    }
    assert_int_equal(wrong, 0);
}

static abx_command *make_command(const struct worker *w, const char *text)
{
    abx_command *command = NULL;

    if (abx_command_new_shell(text, &command, NULL) != ABX_OK ||
        abx_command_set_cwd(command, w->c->dir, NULL) != ABX_OK)
        abort();
    return command;
}

/* One run whose output and status are this thread's own. */
static bool run_one(const struct worker *w, int round)
{
    char text[64], wanted[32];
    abx_result *r = NULL;
    abx_error *e = NULL;

    (void)snprintf(text, sizeof text, "echo %d.%d; exit %d", w->number, round, round % 256);
    (void)snprintf(wanted, sizeof wanted, "%d.%d\n", w->number, round);
    abx_command *command = make_command(w, text);
    int32_t code = abx_manager_run(w->manager, command, &r, &e);
    bool good = code == ABX_OK && abx_result_exit_code(r) == round % 256 &&
                strcmp(abx_result_stdout(r, NULL), wanted) == 0 && abx_result_sandboxed(r) == 1;
    api_show(e);
    abx_error_free(e);
    abx_result_free(r);
    abx_command_free(command);
    return good;
}

static void *run_many(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < w->rounds; i++)
        w->wrong += !run_one(w, i);
    return NULL;
}

static void many_threads_share_a_manager(void **state)
{
    struct worker w[THREADS];

    start_all(w, THREADS, *state, run_many);
    join_all(w, THREADS);
}

static void *run_many_with_own_managers(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < w->rounds / 5 + 1; i++) {
        if (abx_manager_new(NULL, NULL, &w->manager, NULL) != ABX_OK) {
            w->wrong++;
            continue;
        }
        w->wrong += !run_one(w, i);
        abx_manager_free(w->manager);
    }
    return NULL;
}

static void managers_are_independent_of_each_other(void **state)
{
    struct worker w[THREADS];

    start_all(w, THREADS, *state, run_many_with_own_managers);
    join_all(w, THREADS);
}

/* ---- spawned processes
 * ------------------------------------------------------------------------------ */

static void *spawn_many(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < w->rounds / 5 + 1; i++) {
        abx_command *command = make_command(w, "head -c 100000 /dev/zero; exit 3");
        abx_process *p = NULL;
        abx_result *r = NULL;
        abx_error *e = NULL;

        bool good = abx_command_set_stdio(command, 1, ABX_STDIO_CAPTURE, -1, &e) == ABX_OK &&
                    abx_manager_spawn(w->manager, command, &p, &e) == ABX_OK &&
                    (i % 2 == 0 || abx_process_wait(p, 20000, &r, &e) == ABX_OK);
        if (r && (abx_result_exit_code(r) != 3 || abx_result_output_bytes(r, 1) != 100000)) {
            (void)fprintf(stderr, "# status %d, %d bytes\n", (int)abx_result_exit_code(r),
                          (int)abx_result_output_bytes(r, 1));
            good = false;
        }
        w->wrong += !good;
        api_show(e);
        abx_error_free(e);
        abx_result_free(r);
        abx_process_free(p); /* each second one still runs */
        abx_command_free(command);
    }
    return NULL;
}

static void processes_of_many_threads_share_the_managers_thread(void **state)
{
    struct worker w[THREADS];

    start_all(w, THREADS, *state, spawn_many);
    join_all(w, THREADS);
}

/* It may be over before the spawn returns; whoever waits or polls hears of it all the same. */
static void the_end_of_a_short_command_is_never_missed(void **state)
{
    for (int i = 0; i < rounds() * 10; i++) {
        abx_command *command = api_shell(*state, "exit 4");
        abx_process *p = api_spawn(*state, command);
        struct pollfd fd = { .fd = abx_process_fd(p), .events = POLLIN };

        if (i % 2)
            assert_int_equal(poll(&fd, 1, 10000), 1);
        abx_result *r = api_wait(p, 10000);
        assert_int_equal(abx_result_exit_code(r), 4);
        abx_result_free(r);
        abx_process_free(p);
        abx_command_free(command);
    }
}

static void *spawn_and_leave(void *arg)
{
    struct worker *w = arg;
    abx_command *command = make_command(w, "sleep 0.4; exit 21");
    abx_process **p = malloc(sizeof(void *) * 2);

    if (!p || abx_manager_spawn(w->manager, command, &p[0], NULL) != ABX_OK)
        abort();
    p[1] = (abx_process *)(void *)command;
    return p;
}

static void a_command_outlives_the_thread_that_spawned_it(void **state)
{
    struct worker w = { .c = *state, .manager = ((struct api_case *)*state)->manager };
    void *left;

    assert_int_equal(pthread_create(&w.thread, NULL, spawn_and_leave, &w), 0);
    assert_int_equal(pthread_join(w.thread, &left), 0);
    abx_process **p = left;
    abx_result *r = api_wait(p[0], 20000);
    assert_int_equal(abx_result_exit_code(r), 21);
    abx_result_free(r);
    abx_process_free(p[0]);
    abx_command_free((abx_command *)(void *)p[1]);
    free(p);
}

static void a_caller_without_a_thread_dispatches_itself(void **state)
{
    const struct api_case *c = *state;
    abx_hooks hooks;
    abx_manager *m;
    abx_process *p[4];
    abx_command *command[4];
    abx_error *e = NULL;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.flags = ABX_NO_THREAD;
    api_ok(abx_manager_new(NULL, &hooks, &m, &e), &e);
    for (int i = 0; i < 4; i++) {
        command[i] = api_shell(c, "head -c 500000 /dev/zero; exit 2");
        api_ok(abx_command_set_stdio(command[i], 1, ABX_STDIO_CAPTURE, -1, &e), &e);
        api_ok(abx_manager_spawn(m, command[i], &p[i], &e), &e);
    }
    for (int i = 0; i < 4; i++) {
        abx_result *r = NULL;
        while (abx_process_wait(p[i], 0, &r, NULL) == ABX_E_TIMEOUT) {
            struct pollfd fd = { .fd = abx_manager_fd(m), .events = POLLIN };
            assert_int_equal(poll(&fd, 1, 10000), 1);
            api_ok(abx_manager_dispatch(m, 0, &e), &e);
        }
        assert_non_null(r);
        assert_int_equal(abx_result_exit_code(r), 2);
        assert_int_equal(abx_result_output_bytes(r, 1), 500000);
        abx_result_free(r);
        abx_process_free(p[i]);
        abx_command_free(command[i]);
    }
    abx_manager_free(m);
}

/* ---- cancel
 * ---------------------------------------------------------------------------------------- */

struct canceler {
    abx_command *command;
    unsigned delay_us;
};

static void *cancel_later(void *arg)
{
    const struct canceler *c = arg;

    (void)usleep(c->delay_us);
    abx_command_cancel(c->command);
    abx_command_cancel(c->command);
    return NULL;
}

static void a_cancel_before_the_start_prevents_it(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "touch ran; sleep 500");
    abx_result *r = NULL;
    abx_error *e = NULL;

    abx_command_cancel(command);
    api_fails(abx_manager_run(c->manager, command, &r, &e), ABX_E_CANCELED, &e);
    abx_command_free(command);
}

static void a_cancel_ends_a_run_at_every_moment(void **state)
{
    const struct api_case *c = *state;

    for (unsigned i = 0; i < 60; i++) {
        abx_command *command = api_shell(c, "trap '' TERM INT HUP; setsid sleep 500 & sleep 500");
        struct canceler canceler = { .command = command, .delay_us = i * 500 };
        abx_result *r = NULL;
        pthread_t thread;
        int64_t start = api_now_ms();

        assert_int_equal(pthread_create(&thread, NULL, cancel_later, &canceler), 0);
        int32_t code = abx_manager_run(c->manager, command, &r, NULL);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_in_range(api_now_ms() - start, 0, 10000);
        if (code == ABX_OK)
            assert_int_equal(abx_result_canceled(r), 1);
        else
            assert_int_equal(code, ABX_E_CANCELED);
        abx_result_free(r);
        abx_command_free(command);
    }
}

static void a_cancel_after_the_end_changes_nothing(void **state)
{
    const struct api_case *c = *state;
    abx_command *command = api_shell(c, "exit 4");
    abx_process *p = api_spawn(c, command);
    abx_result *r = api_wait(p, 20000);

    abx_command_cancel(command);
    assert_int_equal(abx_result_exit_code(r), 4);
    abx_result_free(r);
    r = api_wait(p, 0);
    assert_int_equal(abx_result_exit_code(r), 4);
    assert_int_equal(abx_result_canceled(r), 0);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_cancel(command);
    abx_command_free(command);
}

/* ---- close
 * ------------------------------------------------------------------------------------------- */

static void *run_until_closed(void *arg)
{
    struct worker *w = arg;

    for (;;) {
        abx_command *command = make_command(w, "sleep 500");
        abx_result *r = NULL;
        int32_t code = abx_manager_run(w->manager, command, &r, NULL);

        w->wrong += code != ABX_E_CLOSED && code != ABX_E_CANCELED &&
                    !(code == ABX_OK && abx_result_canceled(r));
        abx_result_free(r);
        abx_command_free(command);
        if (code == ABX_E_CLOSED || w->wrong)
            return NULL;
    }
}

static void closing_ends_what_runs_and_refuses_what_comes(void **state)
{
    const struct api_case *c = *state;
    abx_command *mine = api_shell(c, "trap '' TERM; sleep 500"), *late = api_shell(c, "true");
    abx_process *p = api_spawn(c, mine);
    struct worker w[THREADS];
    abx_result *r = NULL;
    abx_error *e = NULL;

    start_all(w, THREADS, c, run_until_closed);
    (void)usleep(100000);
    int64_t start = api_now_ms();
    api_ok(abx_manager_close(c->manager, 20000, &e), &e);
    assert_in_range(api_now_ms() - start, 0, 15000);
    join_all(w, THREADS);
    api_fails(abx_manager_run(c->manager, late, &r, &e), ABX_E_CLOSED, &e);
    r = api_wait(p, 0);
    assert_int_equal(abx_result_canceled(r), 1);
    abx_result_free(r);
    api_ok(abx_manager_close(c->manager, 0, &e), &e);
    abx_process_free(p);
    abx_command_free(mine);
    abx_command_free(late);
}

static void a_process_handle_may_outlive_its_manager(void **state)
{
    struct api_case *c = *state;
    abx_command *command = api_shell(c, "sleep 500");
    abx_process *p = api_spawn(c, command);

    abx_manager_free(c->manager);
    c->manager = NULL;
    abx_result *r = api_wait(p, 0);
    assert_int_equal(abx_result_canceled(r), 1);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

/* ---- hosts that do as they like
 * ------------------------------------------------------------------------ */

static int reaping; /* accessed atomically */

static void *reap_everything(void *arg)
{
    (void)arg;
    while (__atomic_load_n(&reaping, __ATOMIC_ACQUIRE))
        if (waitpid(-1, NULL, WNOHANG) <= 0)
            (void)sched_yield();
    return NULL;
}

static void a_host_that_reaps_every_child_does_no_harm(void **state)
{
    struct worker w[4];
    pthread_t reaper;

    __atomic_store_n(&reaping, 1, __ATOMIC_RELEASE);
    assert_int_equal(pthread_create(&reaper, NULL, reap_everything, NULL), 0);
    start_all(w, 2, *state, run_many);
    start_all(w + 2, 2, *state, spawn_many);
    join_all(w, 4);
    __atomic_store_n(&reaping, 0, __ATOMIC_RELEASE);
    assert_int_equal(pthread_join(reaper, NULL), 0);
}

static void a_host_that_ignores_sigchld_does_no_harm(void **state)
{
    struct worker w = { .c = *state, .manager = ((struct api_case *)*state)->manager };
    struct sigaction ignore = { .sa_handler = SIG_IGN }, old;

    assert_int_equal(sigaction(SIGCHLD, &ignore, &old), 0);
    for (int i = 0; i < 10; i++)
        assert_true(run_one(&w, i));
    assert_int_equal(sigaction(SIGCHLD, &old, NULL), 0);
}

static void the_hosts_signals_and_mask_stay_as_they_are(void **state)
{
    const struct api_case *c = *state;
    sigset_t before, after;
    abx_command *command = api_shell(c, "grep -E '^Sig(Blk|Ign)' /proc/self/status");
    struct sigaction ignore = { .sa_handler = SIG_IGN }, old, now;

    (void)sigemptyset(&before);
    (void)sigaddset(&before, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &ignore, &old), 0);
    abx_result *r = api_run(c, command);
    assert_string_equal(abx_result_stdout(r, NULL),
                        "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
    abx_result_free(r);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    assert_true(sigismember(&after, SIGUSR1) && !sigismember(&after, SIGTERM));
    assert_int_equal(sigaction(SIGUSR2, &old, &now), 0);
    assert_true(now.sa_handler == SIG_IGN);
    (void)sigdelset(&before, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

/* ---- signals from other threads
 * ---------------------------------------------------------------------- */

static void *signal_often(void *arg)
{
    for (int i = 0; i < 200; i++) {
        (void)abx_process_signal(arg, SIGUSR1, NULL);
        (void)usleep(200);
    }
    (void)abx_process_signal(arg, SIGTERM, NULL);
    return NULL;
}

static void signals_come_from_any_thread(void **state)
{
    abx_command *command = api_shell(
        *state, "exec 2>&-; trap : USR1; trap 'exit 30' TERM; while :; do sleep 0.01; done");
    abx_process *p = api_spawn(*state, command);
    pthread_t threads[4];

    (void)usleep(100000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, signal_often, p), 0);
    abx_result *r = api_wait(p, 20000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    /* Its own trap, or the end that a second SIGTERM means. */
    assert_true(abx_result_exit_code(r) == 30 || abx_result_signal(r) == SIGKILL);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(many_threads_share_a_manager),
        API_TEST(managers_are_independent_of_each_other),
        API_TEST(processes_of_many_threads_share_the_managers_thread),
        API_TEST(the_end_of_a_short_command_is_never_missed),
        API_TEST(a_command_outlives_the_thread_that_spawned_it),
        API_TEST(a_caller_without_a_thread_dispatches_itself),
        API_TEST(a_cancel_before_the_start_prevents_it),
        API_TEST(a_cancel_ends_a_run_at_every_moment),
        API_TEST(a_cancel_after_the_end_changes_nothing),
        API_TEST(closing_ends_what_runs_and_refuses_what_comes),
        API_TEST(a_process_handle_may_outlive_its_manager),
        API_TEST(a_host_that_reaps_every_child_does_no_harm),
        API_TEST(a_host_that_ignores_sigchld_does_no_harm),
        API_TEST(the_hosts_signals_and_mask_stay_as_they_are),
        API_TEST(signals_come_from_any_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
