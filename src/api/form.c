/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exec form, for runtimes that spawn by themselves (Node, Go, a JVM): everything that a spawn
 * call needs. The launcher's exit status is the command's, so waiting for it as for any child is
 * enough. A filtered network is served by the manager, whose thread (or caller, with ABX_NO_THREAD)
 * listens to the launcher for that alone.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/internal.h"
#include "api/net.h"
#include "base/fd.h"
#include "probe/state.h"
#include "run/spawn.h"

/* Both messages wait in their sockets until the launcher asks for them. */
static int32_t form_open(abx_command *c, struct abx_exec_form *form, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    int child_fds[ARRAY_LEN(form->fds)];
    int r = deliver_sockets(&form->status_fd, &form->lifeline_fd, child_fds);

    if (r < 0)
        return err_sys(err, ABX_E_IO, r, "make a socket pair");
    for (size_t i = 0; i < ARRAY_LEN(child_fds); i++)
        form->fds[i] = child_fds[i];
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *const *dirs = state_directories(&arena, c->facts->home);
    if (!dirs)
        return err_nomem(err);
    int32_t code = command_hide_state(c, dirs, err);
    return code == ABX_OK
               ? deliver_plan(form->status_fd, form->lifeline_fd, &form->hold, c->plan, dirs, err)
               : code;
}

static int32_t form_describe(const abx_command *c, struct abx_exec_form *form, abx_error **err)
{
    struct image *image = &c->manager->image;
    int32_t code = image_ready(image, err);
    int n;

    if (code != ABX_OK)
        return code;
    deliver_layers(form->layers, sizeof form->layers, c->plan->layers);
    form->argv[0] = "agentbox-launcher";
    form->argv[1] = "run";
    form->argv[2] = form->layers;
    form->argv[3] =
        ""; /* no control group: nobody would remove it for a launcher that never runs */
    form->argv[4] = c->backend == BACKEND_BWRAP ? c->bwrap.path : NULL;
    /* Named through the caller's process: in the child, this descriptor number is something else.
     */
    n = image->path ? asprintf(&form->path, "%s", image->path)
                    : asprintf(&form->path, "/proc/%d/fd/%d", (int)c->manager->owner, image->fd);
    if (n < 0)
        return err_nomem(err);
    form->cwd = strdup(c->plan->cwd);
    return form->cwd ? ABX_OK : err_nomem(err);
}

/*
 * A launcher may have been spawned from copies of these descriptors, or not. The status socket
 * tells: when all ends but ours are closed, nothing of it is left.
 */
void form_free(struct abx_exec_form *form)
{
    const int limit_ms = 10000;

    if (!form)
        return;
    if (form->owner == getpid())
        net_run_free(form->net);
    else
        net_run_forget(form->net);
    for (size_t i = 0; i < ARRAY_LEN(form->fds); i++)
        fd_close(form->fds[i]);
    fd_close(form->lifeline_fd);
    struct pollfd gone = { .fd = form->status_fd };
    if (form->owner == getpid() && form->status_fd >= 0 && poll(&gone, 1, limit_ms) == 1)
        hold_release(&form->hold);
    hold_close(&form->hold);
    fd_close(form->status_fd);
    free(form->path);
    free(form->cwd);
    free(form);
}

/* Makes it known to abx_command_cancel; false if it came first. */
static bool publish_form(abx_command *c, struct abx_exec_form *form)
{
    (void)pthread_mutex_lock(&c->lock);
    bool canceled = c->canceled;
    c->form = canceled ? NULL : form;
    (void)pthread_mutex_unlock(&c->lock);
    return !canceled;
}

int32_t abx_command_exec_form(abx_command *c, const abx_exec_form **ret_form, abx_error **err)
{
    if (!c || !ret_form)
        return err_new(err, ABX_E_INVALID, "exec form: no command, or no place for the form");
    int32_t code = command_check_wrapped(c, "exec form", err);
    if (code == ABX_OK && command_wants_tty(c))
        code = err_new(err, ABX_E_INVALID, "exec form: a terminal needs abx_command_spawn");
    if (code == ABX_OK)
        code = manager_check_open(c->manager, "exec form", err);
    if (code != ABX_OK)
        return code;

    struct abx_exec_form *form = calloc(1, sizeof *form);
    if (!form)
        return err_nomem(err);
    form->owner = getpid();
    form->status_fd = form->lifeline_fd = -1;
    for (size_t i = 0; i < ARRAY_LEN(form->fds); i++)
        form->fds[i] = -1;
    hold_init(&form->hold);
    code = c->policy->port_count > 0 ? err_new(err, ABX_E_UNSUPPORTED,
                                               "the exec form publishes no ports (network.publish)")
                                     : form_open(c, form, err);
    if (code == ABX_OK)
        code = form_describe(c, form, err);
    if (code == ABX_OK && !c->plan->proxied)
        deliver_unheard(form->status_fd);
    else if (code == ABX_OK)
        code = net_join_form(c->manager, form->status_fd, &c->wish.settings, &form->net, err);
    if (code == ABX_OK && !publish_form(c, form))
        code = err_new(err, ABX_E_CANCELED, "exec form: the command was canceled");
    if (code != ABX_OK) {
        form_free(form);
        return code;
    }
    c->state = COMMAND_SPAWNED;
    *ret_form = form;
    return ABX_OK;
}

const char *abx_exec_form_path(const abx_exec_form *form)
{
    return form ? form->path : NULL;
}

const char *const *abx_exec_form_argv(const abx_exec_form *form)
{
    return form ? form->argv : NULL;
}

const char *const *abx_exec_form_envp(const abx_exec_form *form)
{
    (void)form;
    return spawn_environment();
}

const char *abx_exec_form_cwd(const abx_exec_form *form)
{
    return form ? form->cwd : NULL;
}

size_t abx_exec_form_fds(const abx_exec_form *form, const int32_t **ret_fds)
{
    if (!form || !ret_fds)
        return 0;
    *ret_fds = form->fds;
    return ARRAY_LEN(form->fds);
}
