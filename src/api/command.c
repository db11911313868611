/* SPDX-License-Identifier: Apache-2.0 */
/* Commands: what to run, and the state machine that keeps an unwrapped one from being started. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/judge.h"
#include "api/net_rules.h"
#include "base/str.h"
#include "plan/bwrap.h"
#include "plan/seatbelt.h"

static void free_strings(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free((void *)list);
}

static char **copy_strings(const char *const *list)
{
    size_t n = 0;

    while (list[n])
        n++;
    char **copy = calloc(n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++) {
        copy[i] = strdup(list[i]);
        if (!copy[i]) {
            free_strings(copy);
            return NULL;
        }
    }
    return copy;
}

static abx_command *command_alloc(abx_error **err)
{
    abx_command *c = calloc(1, sizeof *c);

    if (!c) {
        (void)err_nomem(err);
        return NULL;
    }
    (void)pthread_mutex_init(&c->lock, NULL);
    c->owner = getpid();
    arena_init(&c->arena, ARENA_DEFAULT_LIMIT);
    for (int i = 0; i < 3; i++)
        c->wish.stdio_fd[i] = -1;
    if (settings_new(ORIGIN_CALL, &c->wish.settings, err) != ABX_OK) {
        abx_command_free(c);
        return NULL;
    }
    return c;
}

static int32_t refuse(const char *message, const char *hint, abx_error **err)
{
    int32_t code = err_new(err, ABX_E_INVALID, "%s", message);

    err_hint(err, "%s", hint);
    return code;
}

int32_t abx_command_new(const char *const *argv, abx_command **ret_command, abx_error **err)
{
    if (!argv || !argv[0] || !argv[0][0] || !ret_command)
        return refuse("make a command: there is no program name",
                      "the first word is the program to run", err);
    abx_command *c = command_alloc(err);
    if (!c)
        return ABX_E_NOMEM; /* nothing else can fail there */
    c->wish.argv = copy_strings(argv);
    if (!c->wish.argv) {
        abx_command_free(c);
        return err_nomem(err);
    }
    *ret_command = c;
    return ABX_OK;
}

int32_t abx_command_new_shell(const char *text, abx_command **ret_command, abx_error **err)
{
    if (!text || !text[0] || !ret_command)
        return refuse("make a command: the shell text is empty",
                      "write what the shell is to run; ':' does nothing", err);
    abx_command *c = command_alloc(err);
    if (!c)
        return ABX_E_NOMEM; /* nothing else can fail there */
    c->wish.text = strdup(text);
    if (!c->wish.text) {
        abx_command_free(c);
        return err_nomem(err);
    }
    *ret_command = c;
    return ABX_OK;
}

void abx_command_free(abx_command *c)
{
    if (!c)
        return;
    if (c->process)
        c->process->command = NULL;
    form_free(c->form);
    free_strings(c->wish.argv);
    free_strings(c->wish.env);
    free(c->wish.text);
    free(c->wish.cwd);
    settings_free(c->wish.settings);
    config_unref(c->config);
    arena_done(&c->arena);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

const char *abx_command_text(const abx_command *c)
{
    return c ? c->wish.text : NULL;
}

const char *const *abx_command_argv(const abx_command *c)
{
    return c ? (const char *const *)c->wish.argv : NULL;
}

const char *abx_command_cwd(const abx_command *c)
{
    return c ? c->wish.cwd : NULL;
}

int32_t command_check(const abx_command *c, const char *what, abx_error **err)
{
    if (!c)
        return err_new(err, ABX_E_INVALID, "%s: the command is NULL", what);
    if (c->owner != getpid())
        return err_new(err, ABX_E_FORKED, "%s: the command belongs to process %d", what,
                       (int)c->owner);
    return ABX_OK;
}

static int32_t check_new(const abx_command *c, const char *what, abx_error **err)
{
    int32_t code = command_check(c, what, err);

    if (code != ABX_OK)
        return code;
    if (c->state != COMMAND_NEW)
        return err_new(err, ABX_E_STATE, "%s: the command is wrapped already", what);
    return ABX_OK;
}

static int32_t replace_text(char **to, const char *from, abx_error **err)
{
    char *copy = from ? strdup(from) : NULL;

    if (from && !copy)
        return err_nomem(err);
    free(*to);
    *to = copy;
    return ABX_OK;
}

int32_t abx_command_set_cwd(abx_command *c, const char *dir, abx_error **err)
{
    int32_t code = check_new(c, "set the working directory", err);

    return code != ABX_OK ? code : replace_text(&c->wish.cwd, dir, err);
}

int32_t abx_command_set_env(abx_command *c, const char *const *envp, abx_error **err)
{
    int32_t code = check_new(c, "set the environment", err);

    if (code != ABX_OK)
        return code;
    char **copy = envp ? copy_strings(envp) : NULL;
    if (envp && !copy)
        return err_nomem(err);
    free_strings(c->wish.env);
    c->wish.env = copy;
    return ABX_OK;
}

int32_t abx_command_set_timeout(abx_command *c, int64_t timeout_ms, abx_error **err)
{
    int32_t code = check_new(c, "set the time limit", err);

    if (code != ABX_OK)
        return code;
    if (timeout_ms < 0 || timeout_ms > INT64_MAX / NSEC_PER_MSEC / 2)
        return refuse("set the time limit: out of range",
                      "50000 days are possible; without it there is no limit", err);
    c->wish.timeout_ns = timeout_ms * NSEC_PER_MSEC;
    return ABX_OK;
}

int32_t abx_command_set_string(abx_command *c, const char *key, const char *value, abx_error **err)
{
    int32_t code = check_new(c, "set a key", err);

    if (code != ABX_OK)
        return code;
    if (!key || !value)
        return err_new(err, ABX_E_INVALID, "set a key: key or value is missing");
    return settings_set(c->wish.settings, key, value, NULL, err);
}

int32_t abx_command_append(abx_command *c, const char *key, const char *value, abx_error **err)
{
    int32_t code = check_new(c, "append to a key", err);

    if (code != ABX_OK)
        return code;
    if (!key || !value)
        return err_new(err, ABX_E_INVALID, "append to a key: key or value is missing");
    return settings_append(c->wish.settings, key, value, NULL, err);
}

int32_t abx_command_set_stdio(abx_command *c, int32_t stream, int32_t mode, int32_t fd,
                              abx_error **err)
{
    int32_t code = check_new(c, "set a stream", err);

    if (code != ABX_OK)
        return code;
    if (stream < 0 || stream > 2 || mode < ABX_STDIO_DEFAULT || mode > ABX_STDIO_STREAM ||
        ((mode == ABX_STDIO_CAPTURE || mode == ABX_STDIO_STREAM) && stream == 0) ||
        (mode == ABX_STDIO_FD && fd < 0))
        return err_new(err, ABX_E_INVALID, "set stream %d: mode %d is not possible", (int)stream,
                       (int)mode);
    c->wish.stdio_mode[stream] = mode;
    c->wish.stdio_fd[stream] = mode == ABX_STDIO_FD ? fd : -1;
    return ABX_OK;
}

int32_t abx_command_set_output(abx_command *c, abx_output_fn output, void *user, abx_error **err)
{
    int32_t code = check_new(c, "set the output callback", err);

    if (code != ABX_OK)
        return code;
    c->wish.output = output;
    c->wish.output_user = user;
    return ABX_OK;
}

void abx_command_cancel(abx_command *c)
{
    if (!c || c->owner != getpid())
        return; /* a forked copy: the run is the parent's */
    (void)pthread_mutex_lock(&c->lock);
    c->canceled = true;
    if (c->run)
        run_cancel(c->run);
    if (c->form)
        (void)shutdown(c->form->lifeline_fd, SHUT_RDWR);
    if (c->question)
        question_wake(c->question);
    if (c->asking) {
        (void)pthread_mutex_lock(&c->asking->lock);
        (void)pthread_cond_broadcast(&c->asking->idle);
        (void)pthread_mutex_unlock(&c->asking->lock);
    }
    (void)pthread_mutex_unlock(&c->lock);
}

int32_t abx_manager_wrap(abx_manager *m, abx_command *c, abx_error **err)
{
    int32_t code = manager_check_open(m, "wrap a command", err);

    if (code == ABX_OK)
        code = check_new(c, "wrap", err);
    if (code == ABX_OK)
        code = command_build_policy(m, c, err);
    if (code == ABX_OK)
        code = command_judge(c, err);
    if (code == ABX_OK)
        code = command_compile(c, err);
    if (code == ABX_OK)
        c->state = COMMAND_WRAPPED;
    return code;
}

int32_t command_check_wrapped(const abx_command *c, const char *what, abx_error **err)
{
    int32_t code = command_check(c, what, err);

    if (code != ABX_OK)
        return code;
    if (c->state != COMMAND_WRAPPED)
        return err_new(err, ABX_E_STATE, "%s: the command is %s", what,
                       c->state == COMMAND_NEW ? "not wrapped yet" : "spawned already");
    return ABX_OK;
}

/* What macOS would enforce: not part of the plan, which is for this system. */
static int32_t print_profile(const abx_command *c, struct buf *b, abx_error **err)
{
    const struct seatbelt_request request = { .tty = c->plan->tty != 0,
                                              .local_binding = c->policy->local_binding };
    _arena_ struct arena arena;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    return seatbelt_compile(c->policy, c->facts, &request, &arena, b, err);
}

/* With the back end and the layers that a run would have here. */
static int32_t print_plan(const abx_command *c, const char *format, struct buf *b, abx_error **err)
{
    const struct plan *plan;
    _arena_ struct arena arena;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t code = command_foresee(c, &arena, &plan, err);
    return code == ABX_OK ? net_rules_dump(c, plan, format, b, err) : code;
}

int32_t abx_command_plan(const abx_command *c, const char *format, char **ret_text, abx_error **err)
{
    int32_t code = command_check_wrapped(c, "print the plan", err);

    if (code != ABX_OK)
        return code;
    if (!format || !ret_text)
        return err_new(err, ABX_E_INVALID, "print the plan: no format or no place for it");
    _buf_ struct buf b;
    buf_init(&b, (size_t)256 << 20);
    if (str_eq(format, "seatbelt"))
        code = print_profile(c, &b, err);
    else if (str_eq(format, "bwrap"))
        code = bwrap_print(c->plan, (const char *const *)environ, &b, err);
    else
        code = print_plan(c, format, &b, err);
    if (code != ABX_OK)
        return code;
    return take_text(&b, ret_text, err);
}
