/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exec form, for runtimes that spawn by themselves (Node, Go, a JVM): everything that a spawn call
 * needs. The launcher's exit status is the command's, so waiting for it as for any child is enough.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api/internal.h"
#include "run/spawn.h"
#include "run/state.h"

static int32_t form_open(abx_command *c, struct abx_exec_form *form, abx_error **err)
{
    _arena_ struct arena arena;
    struct run_request request;
    const char go = LIFELINE_GO;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    command_fill_request(c, false, &request);
    request.state_dirs = state_directories(&arena, c->facts->home);
    if (!request.state_dirs)
        return err_nomem(err);
    int32_t code = run_form_open(&form->fds, &request, err);
    if (code == ABX_OK)
        code = hold_fill(&form->fds.hold, c->plan, err);
    if (code != ABX_OK)
        return code;
    /* Waits in the socket until the launcher asks for it. */
    if (send(form->fds.lifeline_host, &go, 1, MSG_NOSIGNAL) != 1)
        return err_sys(err, ABX_E_IO, -errno, "prepare the lifeline");
    return ABX_OK;
}

static int32_t form_describe(const abx_command *c, struct abx_exec_form *form, abx_error **err)
{
    const struct image *image = &c->manager->image;
    int n;

    form->argv[0] = "agentbox-launcher";
    form->argv[1] = "run";
    form->argv[2] = form->fds.holds_text;
    /* Named through the caller's process: in the child, this descriptor number is something else. */
    n = image->path ? asprintf(&form->path, "%s", image->path)
                    : asprintf(&form->path, "/proc/%d/fd/%d", (int)c->manager->owner, image->fd);
    if (n < 0)
        return err_nomem(err);
    form->cwd = strdup(c->plan->cwd);
    if (!form->cwd)
        return err_nomem(err);
    for (size_t i = 0; i < form->fds.count; i++)
        form->fd_list[i] = form->fds.fds[i];
    return ABX_OK;
}

void form_free(struct abx_exec_form *form)
{
    if (!form)
        return;
    run_form_end(&form->fds);
    free(form->path);
    free(form->cwd);
    free(form);
}

int32_t abx_command_exec_form(abx_command *c, const abx_exec_form **ret_form, abx_error **err)
{
    if (!c || !ret_form)
        return err_new(err, ABX_E_INVALID, "exec form: no command, or no place for the form");
    if (c->state != COMMAND_WRAPPED)
        return err_new(err, ABX_E_STATE, "exec form: the command is %s",
                       c->state == COMMAND_NEW ? "not wrapped yet" : "spawned already");
    if (command_wants_tty(c))
        return err_new(err, ABX_E_INVALID, "exec form: a terminal needs abx_command_spawn");
    int32_t code = manager_check(c->manager, err);
    if (code != ABX_OK)
        return code;

    struct abx_exec_form *form = calloc(1, sizeof *form);
    if (!form)
        return err_nomem(err);
    run_form_init(&form->fds);
    code = form_open(c, form, err);
    if (code == ABX_OK)
        code = form_describe(c, form, err);
    if (code != ABX_OK) {
        form_free(form);
        return code;
    }
    c->state = COMMAND_SPAWNED;
    c->form = form;
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
    *ret_fds = form->fd_list;
    return form->fds.count;
}
