/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One manager against a simple model: threads make random calls (run, cancel, time out, explain,
 * drop, update, update with nonsense), and each answer must be the model's. The model is one
 * number: which of the directories 0 to 2 may be written. A command keeps the number that was valid
 * when it was wrapped, whatever comes later. ABX_ROUNDS and ABX_SEED change how much is done, and
 * what.
 */
#include "lib/api_case.h"

#include <pthread.h>
#include <signal.h>

#include "base/defs.h"

#define THREADS     6
#define DIRECTORIES 3

struct model {
    const struct api_case *c;
    pthread_rwlock_t lock; /* held for reading while a command is wrapped, for writing by updates */
    int open;              /* the directory that may be written */
    char dirs[DIRECTORIES][80];
    char work[80];
};

struct worker {
    pthread_t thread;
    struct model *m;
    unsigned seed;
    int number, rounds, wrong;
};

static int from_environment(const char *name, int otherwise)
{
    const char *text = getenv(name);

    return text ? atoi(text) : otherwise;
}

static bool refused(const struct worker *w, const char *what, int32_t code, abx_error *e)
{
    if (code != ABX_OK) {
        (void)fprintf(stderr, "# seed %u: %s: %s\n", w->seed, what, abx_error_message(e));
        abx_error_free(e);
    }
    return code != ABX_OK;
}

/* A wrapped command and the directory that is open to it; NULL: counted as wrong. */
static abx_command *wrap(struct worker *w, const char *text, int64_t timeout_ms, int *ret_open)
{
    abx_command *command = NULL;
    abx_error *e = NULL;
    int32_t code = abx_command_new_shell(text, &command, &e);

    if (code == ABX_OK)
        code = abx_command_set_cwd(command, w->m->work, &e);
    if (code == ABX_OK)
        code = abx_command_set_timeout(command, timeout_ms, &e);
    (void)pthread_rwlock_rdlock(&w->m->lock);
    *ret_open = w->m->open;
    if (code == ABX_OK)
        code = abx_manager_wrap(w->m->c->manager, command, &e);
    (void)pthread_rwlock_unlock(&w->m->lock);
    if (!refused(w, "wrap", code, e))
        return command;
    abx_command_free(command);
    return NULL;
}

static bool update(struct worker *w, int open, const char *key, const char *value)
{
    abx_config *config = NULL;
    abx_error *e = NULL;
    int32_t code = abx_config_new(&config, &e);

    if (code == ABX_OK)
        code = abx_config_set_string(config, "network.mode", "blocked", &e);
    if (code == ABX_OK)
        code = abx_config_append(config, key, value, &e);
    if (code == ABX_OK) {
        (void)pthread_rwlock_wrlock(&w->m->lock);
        code = abx_manager_update(w->m->c->manager, config, &e);
        if (code == ABX_OK)
            w->m->open = open;
        (void)pthread_rwlock_unlock(&w->m->lock);
    }
    abx_config_free(config);
    return !refused(w, "update", code, e);
}

static bool do_update(struct worker *w, int n)
{
    return update(w, n % DIRECTORIES, "filesystem.rw", w->m->dirs[n % DIRECTORIES]);
}

/* Changes nothing, and says why. */
static bool do_bad_update(struct worker *w, int n)
{
    abx_config *config = NULL;
    abx_error *e = NULL;
    bool good = abx_config_new(&config, NULL) == ABX_OK &&
                abx_config_append(config, "filesystem.rw", w->m->dirs[n % DIRECTORIES], NULL) ==
                    ABX_OK &&
                abx_config_append(config, "network.mitmProxy.domains", "x.test", NULL) == ABX_OK &&
                abx_manager_update(w->m->c->manager, config, &e) == ABX_E_CONFIG && e;

    abx_error_free(e);
    abx_config_free(config);
    return good;
}

static bool do_run(struct worker *w, int n)
{
    char text[256], wanted[32];
    abx_result *r = NULL;
    abx_error *e = NULL;
    int open;

    (void)snprintf(
        text, sizeof text,
        "for d in 0 1 2; do (: >../$d/f%d) 2>/dev/null && rm ../$d/f%d && echo $d; done; exit %d",
        w->number, w->number, n % 256);
    abx_command *command = wrap(w, text, 0, &open);
    if (!command)
        return false;
    (void)snprintf(wanted, sizeof wanted, "%d\n", open);
    int32_t code = abx_manager_run(w->m->c->manager, command, &r, &e);
    bool good = !refused(w, "run", code, e) && abx_result_exit_code(r) == n % 256 &&
                strcmp(abx_result_stdout(r, NULL), wanted) == 0;
    if (code == ABX_OK && !good)
        (void)fprintf(stderr, "# seed %u: exit %d, wrote in %s instead of %s", w->seed,
                      abx_result_exit_code(r), abx_result_stdout(r, NULL), wanted);
    abx_result_free(r);
    abx_command_free(command);
    return good;
}

static bool do_explain(struct worker *w, int n)
{
    abx_answer *answer = NULL;
    abx_error *e = NULL;
    int open;
    abx_command *command = wrap(w, "true", 0, &open);

    if (!command)
        return false;
    int32_t code = abx_command_explain(command, "write", w->m->dirs[n % DIRECTORIES], &answer, &e);
    bool good = !refused(w, "explain", code, e) &&
                abx_answer_allowed(answer) == (n % DIRECTORIES == open);
    abx_answer_free(answer);
    abx_command_free(command);
    return good;
}

/* Spawns something that would last; *ret_process is NULL if it was canceled before it started. */
static bool spawn_long(struct worker *w, int64_t timeout_ms, bool cancel, abx_command **ret_command,
                       abx_process **ret_process)
{
    abx_error *e = NULL;
    int open;
    abx_command *command = wrap(w, "sleep 30", timeout_ms, &open);

    *ret_process = NULL;
    *ret_command = command;
    if (!command)
        return false;
    if (cancel)
        abx_command_cancel(command);
    int32_t code = abx_command_spawn(command, ret_process, &e);
    if (cancel && code == ABX_E_CANCELED) {
        abx_error_free(e);
        return true;
    }
    return !refused(w, "spawn", code, e);
}

static bool end_of(struct worker *w, abx_process *process, bool timed_out)
{
    abx_result *r = NULL;
    abx_error *e = NULL;
    int32_t code = abx_process_wait(process, 20000, &r, &e);
    bool good = !refused(w, "wait", code, e) &&
                (timed_out ? abx_result_timed_out(r) && abx_result_exit_code(r) == 124
                           : abx_result_canceled(r) || abx_result_signal(r) == SIGKILL);

    abx_result_free(r);
    return good;
}

static bool do_time_out(struct worker *w, int n)
{
    abx_command *command;
    abx_process *process;
    bool good = spawn_long(w, 1 + n % 30, false, &command, &process) && end_of(w, process, true);

    abx_process_free(process);
    abx_command_free(command);
    return good;
}

static bool do_cancel(struct worker *w, int n)
{
    abx_command *command;
    abx_process *process;
    bool good = spawn_long(w, 0, n % 4 == 0, &command, &process);

    if (good && process) {
        (void)usleep((useconds_t)(n % 20) * 500);
        if (n % 2)
            abx_command_cancel(command);
        else
            good = abx_process_signal(process, SIGKILL, NULL) == ABX_OK;
        good = good && end_of(w, process, false);
    }
    abx_process_free(process);
    abx_command_free(command);
    return good;
}

/* Left in the middle: wrapped and not run, or running and not waited for. */
static bool do_drop(struct worker *w, int n)
{
    abx_command *command;
    abx_process *process = NULL;
    int open;
    bool good;

    if (n % 2) {
        command = wrap(w, "sleep 30", 0, &open);
        good = command != NULL;
    } else {
        good = spawn_long(w, 0, false, &command, &process);
    }
    abx_process_free(process);
    abx_command_free(command);
    return good;
}

static const struct {
    const char *name;
    bool (*act)(struct worker *w, int n);
} actions[] = {
    { "run", do_run },         { "run", do_run },           { "update", do_update },
    { "explain", do_explain }, { "time out", do_time_out }, { "bad update", do_bad_update },
    { "cancel", do_cancel },   { "drop", do_drop },
};

static void *work(void *arg)
{
    struct worker *w = arg;
    unsigned state = w->seed;

    for (int i = 0; i < w->rounds; i++) {
        unsigned action = (unsigned)rand_r(&state) / 64 % ARRAY_LEN(actions);

        if (actions[action].act(w, rand_r(&state) / 64))
            continue;
        (void)fprintf(stderr, "# seed %u, round %d: %s\n", w->seed, i, actions[action].name);
        w->wrong++;
    }
    return NULL;
}

static void prepare(struct model *m, const struct api_case *c)
{
    *m = (struct model){ .c = c };
    assert_int_equal(pthread_rwlock_init(&m->lock, NULL), 0);
    (void)snprintf(m->work, sizeof m->work, "%s/work", c->dir);
    assert_int_equal(mkdir(m->work, 0755), 0);
    for (int i = 0; i < DIRECTORIES; i++) {
        (void)snprintf(m->dirs[i], sizeof m->dirs[i], "%s/%d", c->dir, i);
        assert_int_equal(mkdir(m->dirs[i], 0755), 0);
    }
}

static void every_answer_is_the_models(void **state)
{
    struct worker workers[THREADS];
    struct model m;
    int wrong = 0;

    prepare(&m, *state);
    workers[0] = (struct worker){ .m = &m };
    assert_true(do_update(&workers[0], 0));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){ .m = &m,
                                      .number = i,
                                      .seed = (unsigned)from_environment("ABX_SEED", 1) * 100 +
                                              (unsigned)i,
                                      .rounds = from_environment("ABX_ROUNDS", 40) };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        wrong += workers[i].wrong;
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(rmdir(m.work), 0);
    for (int i = 0; i < DIRECTORIES; i++)
        assert_int_equal(rmdir(m.dirs[i]), 0);
    (void)pthread_rwlock_destroy(&m.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(every_answer_is_the_models),
    };

    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
