/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a command to a started run. The launcher is started as soon as the policy says which layers
 * there will be, and makes its namespaces while the command is judged, the files are looked at and
 * the plan is made. It knows nothing of the command until it gets the plan; if there is none, it
 * ends.
 *
 * Three things make a second attempt. The tree changed between planning and mounting (another run's
 * placeholders came or went): the plan is made anew. Our own namespaces are refused: those of
 * bubblewrap are tried (bwrap.c). A layer is missing on this host while fallbackPolicy is "warn":
 * there is less (reduce.c). Under "strict" a missing layer is the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/net.h"
#include "api/test_skip.h"
#include "base/fd.h"
#include "plan/protocol.h"
#include "plan/shortfalls.h"
#include "probe/remains.h"
#include "probe/state.h"

#define START_ATTEMPTS       5
#define START_ATTEMPTS_BWRAP 20 /* it goes by names, and takes longer */

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
        .output = c->output,
        .user = c->output_user,
    };
    for (int i = 0; i < 3; i++) {
        int32_t mode = c->stdio_mode[i];

        if (mode == ABX_STDIO_DEFAULT)
            mode = !capture ? ABX_STDIO_INHERIT : i == 0 ? ABX_STDIO_NULL : ABX_STDIO_CAPTURE;
        ret->capture[i] = mode == ABX_STDIO_CAPTURE || mode == ABX_STDIO_STREAM;
        ret->forget[i] = mode == ABX_STDIO_STREAM;
        if (mode == ABX_STDIO_INHERIT && !is_stream(c->manager, i))
            mode = ABX_STDIO_NULL;
        ret->stdio[i] = mode == ABX_STDIO_INHERIT ? own[i]
                        : mode == ABX_STDIO_FD    ? c->stdio_fd[i]
                                                  : -1;
    }
}

/* The tree is no longer what was planned; bubblewrap then misses a path, or cannot make one. */
static bool is_stale(const struct run *run)
{
    const struct status_msg *msg = &run->failure;

    if (run->failed && strcmp(msg->step, "bwrap") == 0) /* a new /proc is refused by the host */
        return strncmp(msg->text, "bwrap: Can't ", 13) == 0 &&
               strncmp(msg->text, "bwrap: Can't mount proc", 23) != 0;
    return run->failed && strcmp(msg->step, "mounts") == 0 &&
           (msg->err == ESTALE || msg->err == ENOENT || msg->err == ELOOP || msg->err == ENOTDIR);
}

static int most_attempts(const abx_command *c)
{
    return c->backend == BACKEND_BWRAP ? START_ATTEMPTS_BWRAP : START_ATTEMPTS;
}

/* The entry code's launcher went without a word: memory files may not be executed here. */
static bool early_is_void(struct run *run)
{
    return run->early && !run->started && !run->failed && !run_canceled(run);
}

/* Whether the first step into a sandbox of our own was refused; by the host, not by us. */
static bool is_closed_host(const struct run *run)
{
    static const char *const first[] = { "namespaces", "identity", "prepare",
                                         "netns",      "loopback", "bwrap" };

    if (run->failure.err == ECANCELED)
        return false;
    for (size_t i = 0; run->failed && i < ARRAY_LEN(first); i++)
        if (strcmp(run->failure.step, first[i]) == 0)
            return true;
    return run->failed && strcmp(run->failure.step, "mounts") == 0 &&
           (run->failure.err == ENOSYS || run->failure.err == EPERM);
}

/*
 * Our own namespaces are refused: bubblewrap's may not be. If they are as well, everything is as it
 * was, with the first reason. True: there is something to try.
 */
static bool try_bwrap(abx_command *c, abx_error **native, abx_error **why)
{
    if (c->policy->backend != CHOICE_AUTO || c->backend == BACKEND_LANDLOCK)
        return false;
    if (c->backend == BACKEND_NATIVE && !*native) {
        if (command_choose_bwrap(c, NULL) != ABX_OK)
            return false;
        *native = TAKE_PTR(*why);
        return true;
    }
    if (!*native)
        return false;
    abx_error_free(*why);
    *why = TAKE_PTR(*native);
    c->backend = BACKEND_NATIVE;
    c->shortfalls = 0;
    (void)command_compile(c, NULL); /* without a plan nothing is reduced */
    return false;
}

static int32_t open_cwd(const abx_command *c, int *ret_fd, abx_error **err)
{
    if (!c->cwd)
        return ABX_OK; /* the launcher inherits ours, whatever its name */
    int fd = open(c->cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        int32_t r = err_sys(err, ABX_E_INVALID, -errno, "enter the working directory '%s'", c->cwd);
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

/* One attempt. Without a plan yet, it is made while the launcher works. */
static int32_t attempt(abx_command *c, struct run *run, bool capture, int cwd_fd,
                       struct arena *arena, abx_error **err)
{
    uint32_t layers = c->plan ? c->plan->layers : test_skip_layers(command_layers(c));
    struct run_request request;

    if (!publish_run(c, run))
        return err_new(err, ABX_E_CANCELED, "start the command: it was canceled");
    fill_request(c, capture, layers, cwd_fd, &request);
    int32_t code = run_launch(run, &request, err);
    if (code == ABX_OK)
        code = command_judge(c, err); /* without a plan the launcher can only wait */
    if (code == ABX_OK && !c->plan)
        code = command_compile(c, err);
    if (code != ABX_OK)
        return code;
    const char *const *dirs = state_directories(arena, c->facts->home);
    if (!dirs)
        return err_nomem(err);
    code = command_hide_state(c, dirs, err);
    if (code == ABX_OK)
        code = command_watch(c, run, err);
    if (code != ABX_OK)
        return code;
    if (c->manager->hooks.notice) /* else nobody would hear of it */
        run->remains = remains_expect(c->facts);
    return run_deliver(run, c->plan, dirs, err);
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
    settings_free(c->settings);
    c->settings = NULL;
    config_unref(c->config);
    c->config = NULL;
}

int32_t command_start_run(abx_command *c, struct run *run, bool capture, struct net_run **ret_net,
                          abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    _fd_ int cwd_fd = -1;
    _net_ports_ struct net_ports ports = { .count = 0 };
    _err_ abx_error *native = NULL;
    struct status_msg refusal = { 0 };
    bool reduced = false;
    int32_t code = open_cwd(c, &cwd_fd, err);

    if (code == ABX_OK)
        code = net_ports_open(c->policy, &ports, err);
    if (code != ABX_OK)
        return code;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    for (int tries = 1;; tries++) {
        _err_ abx_error *why = NULL;

        code = attempt(c, run, capture, cwd_fd, &arena, &why);
        if (code == ABX_OK) {
            drop_ports(c, &ports);
            code = net_join(c->manager, run, &ports, &c->settings, ret_net, err);
            command_tell_bwrap(c);
            forget_plan(c, run);
            return code;
        }
        bool closed = code == ABX_E_SANDBOX &&
                      (is_closed_host(run) || (native && command_bwrap_fails(c, run)));
        if (closed && c->backend == BACKEND_NATIVE)
            refusal = run->failure;
        bool stale = is_stale(run) || (code == ABX_E_SANDBOX && early_is_void(run));
        (void)publish_run(c, NULL);
        run_done(run, NULL);
        if (stale && tries < most_attempts(c)) {
            c->plan = NULL;
            continue;
        }
        if (closed && try_bwrap(c, &native, &why))
            continue;
        if (code == ABX_E_SANDBOX && !reduced && command_reduce(c, closed, &arena)) {
            reduced = true;
            continue;
        }
        if (closed && why)
            command_hint_closed(c, &refusal, &why);
        if (err)
            *err = TAKE_PTR(why);
        return code;
    }
}
