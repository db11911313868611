/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of approvals share: a desk that is asked and remembers it, and managers that ask
 * there. Most tests only wrap: that is where the question is asked, and nothing needs to run.
 */
#ifndef ABX_TESTS_APPROVE_CASE_H
#define ABX_TESTS_APPROVE_CASE_H

#include "lib/api_case.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>

#define ESCALATED "kill -0 12345" /* rule process-kill */

/* What the approver is told to do, and what it saw. */
struct desk {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool shut; /* answers wait until it is opened */
    int32_t answer;
    int asked, looked_up, stored;
    char command[256], part[256], cwd[256], rule[64], key[128];
    int32_t can_keep;
    bool wait_fd;         /* waits until the answer is not needed any more */
    bool late;            /* … until the time is over */
    const char *rewrites; /* a file that somebody changes meanwhile */
    abx_command *cancels;
    int32_t found; /* what the cache says */
};

static inline void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static inline int32_t approve(void *user, const abx_question *q)
{
    struct desk *d = user;

    (void)pthread_mutex_lock(&d->lock);
    d->asked++;
    (void)snprintf(d->command, sizeof d->command, "%s", abx_question_command(q));
    (void)snprintf(d->part, sizeof d->part, "%s", abx_question_part(q));
    (void)snprintf(d->cwd, sizeof d->cwd, "%s", abx_question_cwd(q));
    (void)snprintf(d->rule, sizeof d->rule, "%s", abx_question_rule(q));
    d->can_keep = abx_question_can_keep(q);
    while (d->shut)
        (void)pthread_cond_wait(&d->opened, &d->lock);
    int32_t answer = d->answer;
    (void)pthread_mutex_unlock(&d->lock);
    struct pollfd fd = { .fd = abx_question_fd(q), .events = POLLIN };
    if (d->cancels)
        abx_command_cancel(d->cancels);
    if (d->wait_fd && (fd.fd < 0 || poll(&fd, 1, 10000) != 1))
        abort();
    if (d->late) {
        if (abx_question_timeout_ms(q) < 0)
            abort();
        while (abx_question_timeout_ms(q) > 0)
            (void)usleep(1000);
    }
    if (d->rewrites)
        write_file(d->rewrites, "something else\n");
    return answer;
}

static inline int32_t lookup(void *user, const char *key)
{
    struct desk *d = user;

    d->looked_up++;
    return d->found && strcmp(key, d->key) == 0 ? 1 : 0;
}

static inline int32_t store(void *user, const char *key, const abx_question *q)
{
    struct desk *d = user;

    assert_true(abx_question_command(q)[0] != '\0');
    d->stored++;
    (void)snprintf(d->key, sizeof d->key, "%s", key);
    return 0;
}

struct case_state {
    struct api_case api;
    struct desk desk;
};

static inline int setup(void **state)
{
    struct case_state *s = calloc(1, sizeof *s);

    if (!s)
        return -1;
    (void)snprintf(s->api.dir, sizeof s->api.dir, "/var/tmp/abx-approve-XXXXXX");
    if (!mkdtemp(s->api.dir) || setenv("XDG_STATE_HOME", s->api.dir, 1) < 0)
        return -1;
    (void)pthread_mutex_init(&s->desk.lock, NULL);
    (void)pthread_cond_init(&s->desk.opened, NULL);
    s->api.fds = api_open_fds();
    *state = s;
    return 0;
}

static inline int teardown(void **state)
{
    struct case_state *s = *state;
    char text[128];

    abx_manager_free(s->api.manager);
    int fds = api_open_fds();
    (void)snprintf(text, sizeof text, "rm -rf '%s'", s->api.dir);
    int bad = fds != s->api.fds || system(text) != 0; /* NOLINT(cert-env33-c) */
    (void)unsetenv("XDG_STATE_HOME");
    free(s);
    return bad ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static inline abx_hooks make_hooks(struct desk *d)
{
    abx_hooks hooks;

    abx_hooks_init(&hooks, sizeof hooks);
    hooks.approve = approve;
    hooks.user = d;
    return hooks;
}

static inline void start(struct case_state *s, const abx_config *config, const abx_hooks *hooks)
{
    abx_error *e = NULL;

    abx_manager_free(s->api.manager);
    s->api.manager = NULL;
    api_ok(abx_manager_new(config, hooks, &s->api.manager, &e), &e);
}

static inline struct case_state *start_with(void **state, int32_t answer)
{
    struct case_state *s = *state;
    abx_hooks hooks = make_hooks(&s->desk);

    s->desk.answer = answer;
    start(s, NULL, &hooks);
    return s;
}

static inline int32_t wrap(const struct case_state *s, abx_command *c)
{
    int32_t code = abx_manager_wrap(s->api.manager, c, NULL);

    abx_command_free(c);
    return code;
}

static inline int32_t wrap_text(const struct case_state *s, const char *text)
{
    return wrap(s, api_shell(&s->api, text));
}

#endif
