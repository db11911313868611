/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a command to a started run. The launcher is started as soon as the policy says which layers
 * there will be, and makes its namespaces while the command is judged, the files are looked at and
 * the plan is made. It knows nothing of the command until it gets the plan; if there is none, it
 * ends.
 *
 * An attempt that fails may be followed by others: next.c says by which.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/fallback.h"
#include "api/net.h"
#include "api/test_skip.h"
#include "base/fd.h"
#include "plan/protocol.h"
#include "plan/shortfalls.h"
#include "probe/remains.h"
#include "probe/state.h"

/*
 * A number that was closed when the manager was made, or since, is not a stream: what has it by now
 * may be a descriptor of ours, and those are closed on exec.
 */
static bool is_stream(const abx_manager *m, int fd)
{
    int flags = fcntl(fd, F_GETFD);

    return !m->no_stream[fd] && flags >= 0 && !(flags & FD_CLOEXEC);
}

static void fill_request(const abx_command *c, bool capture, uint32_t layers, int cwd_fd,
                         struct run_request *ret)
{
    static const int own[3] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };

    *ret = (struct run_request){
        .layers = layers,
        .image = &c->manager->image,
        .bwrap = c->backend == BACKEND_BWRAP ? c->bwrap.path : NULL,
        .cwd_fd = cwd_fd,
        .limit = c->policy->max_output,
        .cgroup = { c->policy->max_memory, c->policy->max_processes },
        .output = c->wish.output,
        .user = c->wish.output_user,
    };
    for (int i = 0; i < 3; i++) {
        int32_t mode = c->wish.stdio_mode[i];

        if (mode == ABX_STDIO_DEFAULT)
            mode = !capture ? ABX_STDIO_INHERIT : i == 0 ? ABX_STDIO_NULL : ABX_STDIO_CAPTURE;
        ret->capture[i] = mode == ABX_STDIO_CAPTURE || mode == ABX_STDIO_STREAM;
        ret->forget[i] = mode == ABX_STDIO_STREAM;
        if (mode == ABX_STDIO_INHERIT && !is_stream(c->manager, i))
            mode = ABX_STDIO_NULL;
        ret->stdio[i] = mode == ABX_STDIO_INHERIT ? own[i]
                        : mode == ABX_STDIO_FD    ? c->wish.stdio_fd[i]
                                                  : -1;
    }
}

static int32_t open_cwd(const abx_command *c, int *ret_fd, abx_error **err)
{
    if (!c->wish.cwd)
        return ABX_OK; /* the launcher inherits ours, whatever its name */
    int fd = open(c->wish.cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        int32_t r = err_sys(err, ABX_E_INVALID, -errno, "enter the working directory '%s'",
                            c->wish.cwd);
        err_hint(err, "name a directory that is there, with -C DIR");
        return r;
    }
    *ret_fd = fd;
    return ABX_OK;
}

/* Makes the run known to abx_command_cancel; false if it came first. */
static bool publish_run(abx_command *c, struct run *run)
{
    (void)pthread_mutex_lock(&c->lock);
    bool canceled = c->canceled;
    c->run = canceled ? NULL : run;
    (void)pthread_mutex_unlock(&c->lock);
    return !canceled;
}

/* What every attempt of a start has in common. */
struct start {
    abx_command *command;
    struct run *run;
    bool capture;
    int cwd_fd;
    const char *const *state_dirs; /* once the facts are known */
    struct arena arena;            /* of those */
};

/* The plan, made while the launcher works; without it the launcher can only wait. */
static int32_t prepare_plan(struct start *s, abx_error **err)
{
    abx_command *c = s->command;
    int32_t code = command_judge(c, err);

    if (code == ABX_OK && !c->plan)
        code = command_compile(c, err);
    if (code != ABX_OK)
        return code;
    if (!s->state_dirs)
        s->state_dirs = state_directories(&s->arena, c->facts->home);
    return s->state_dirs ? command_hide_state(c, s->state_dirs, err) : err_nomem(err);
}

static int32_t launch(struct start *s, abx_error **err)
{
    abx_command *c = s->command;
    uint32_t layers = c->plan ? c->plan->layers : test_skip_layers(command_layers(c));
    struct run_request request;

    if (!publish_run(c, s->run))
        return err_new(err, ABX_E_CANCELED, "start the command: it was canceled");
    fill_request(c, s->capture, layers, s->cwd_fd, &request);
    int32_t code = run_launch(s->run, &request, err);
    if (code == ABX_OK)
        code = prepare_plan(s, err);
    if (code == ABX_OK)
        code = command_watch(c, s->run, err);
    if (code != ABX_OK)
        return code;
    if (c->manager->hooks.notice) /* else nobody would hear of it */
        s->run->remains = remains_expect(c->facts);
    return run_deliver(s->run, c->plan, s->state_dirs, err);
}

/* One attempt, of which nothing is left if it fails. */
static int32_t attempt(void *user, struct setback *ret, abx_error **err)
{
    struct start *s = user;
    struct run *run = s->run;
    int32_t code = launch(s, err);

    if (code == ABX_OK)
        return ABX_OK;
    if (run->failed)
        ret->failure = run->failure;
    /* The entry code's launcher went without a word: memory files may not be executed here. */
    ret->mute = run->early && !run->started && !run->failed && !run_canceled(run);
    (void)publish_run(s->command, NULL);
    run_done(run, NULL);
    return code;
}

/* The filter that asks pid 1 could not be had, and the other one lets nothing through. */
static void tell_offline(const abx_command *c, struct run *run)
{
    if (!c->plan->relayed || (run->start.value & STATUS_RELAYED) ||
        !c->layers.last[KEY_ALLOWED_DOMAINS])
        return;
    run->shortfalls |= UINT32_C(1) << SHORTFALL_HOSTS;
    manager_notice(c->manager, ABX_NOTICE_WARNING,
                   "there is no network at all: the kernel, or a sandbox around us, gives no "
                   "notifications, without which hosts cannot be chosen");
}

/* Without a network of its own nothing can be published; that it has none was said and accepted. */
static void drop_ports(abx_command *c, struct net_ports *ports)
{
    if (ports->count == 0 || (c->plan->layers & LAYER_BIT(LAYER_NETNS)))
        return;
    net_ports_close(ports);
    c->shortfalls |= UINT32_C(1) << SHORTFALL_PORTS;
}

/* A run may last for hours; what it was made from is not needed any more. */
static void forget_plan(abx_command *c, struct run *run)
{
    c->required = c->plan->required;
    run->shortfalls = c->shortfalls;
    run->backend = c->backend;
    tell_offline(c, run);
    run->cpu_seconds = c->policy->max_cpu_seconds;
    command_keep_plan(c, run);
    c->policy = NULL;
    c->facts = NULL;
    c->plan = NULL;
    arena_done(&c->arena);
    arena_init(&c->arena, ARENA_DEFAULT_LIMIT);
    settings_free(c->wish.settings);
    c->wish.settings = NULL;
    config_unref(c->config);
    c->config = NULL;
}

int32_t command_start_run(abx_command *c, struct run *run, bool capture, struct net_run **ret_net,
                          abx_error **err)
{
    struct start start = { .command = c, .run = run, .capture = capture, .cwd_fd = -1 };
    const struct fallback fallback = { .command = c, .attempt = attempt, .user = &start };
    _net_ports_ struct net_ports ports = { .count = 0 };
    int32_t code = open_cwd(c, &start.cwd_fd, err);

    if (code == ABX_OK)
        code = net_ports_open(c->policy, &ports, err);
    arena_init(&start.arena, ARENA_DEFAULT_LIMIT);
    if (code == ABX_OK)
        code = fallback_run(&fallback, err);
    arena_done(&start.arena);
    fd_close(start.cwd_fd);
    if (code != ABX_OK)
        return code;
    drop_ports(c, &ports);
    code = net_join(c->manager, run, &ports, &c->wish.settings, ret_net, err);
    command_tell_bwrap(c);
    forget_plan(c, run);
    return code;
}
