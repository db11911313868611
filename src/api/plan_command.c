/* SPDX-License-Identifier: Apache-2.0 */
/* Wrapping: settings -> policy -> facts -> plan, in the command's arena. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/explain.h"
#include "api/internal.h"
#include "api/net_env.h"
#include "api/test_skip.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/compile.h"
#include "plan/shortfalls.h"
#include "plan/view.h"
#include "policy/presets.h"
#include "probe/scan.h"
#include "probe/state.h"

uint32_t command_wants_tty(const abx_command *c)
{
    uint32_t streams = 0;

    for (uint32_t i = 0; i < 3; i++)
        if (c->wish.stdio_mode[i] == ABX_STDIO_TTY)
            streams |= UINT32_C(1) << i;
    return streams;
}

int32_t command_cannot(const abx_command *c, const char *where, const char *what, abx_error **err)
{
    char text[512];

    if (c->policy->strict)
        return err_new(err, ABX_E_UNSUPPORTED, "run %s: %s", where, what);
    (void)snprintf(text, sizeof text, "%s %s", where, what);
    manager_notice(c->manager, ABX_NOTICE_WARNING, text);
    return ABX_OK;
}

int32_t command_build_policy(abx_manager *m, abx_command *c, abx_error **err)
{
    c->manager = m;
    c->plan = NULL;
    arena_done(&c->arena);
    arena_init(&c->arena, ARENA_DEFAULT_LIMIT);
    c->judged = false;
    config_unref(c->config);
    c->config = manager_config(m);
    int32_t code = config_merge(c->config, c->wish.settings, 0, &c->arena, &c->layers, err);
    if (code == ABX_OK)
        code = config_policy(c->config, &c->layers, m->log_path, &c->arena, &c->policy, err);
    if (code == ABX_OK)
        code = command_choose_backend(c, err);
    if (code == ABX_OK)
        trace_config(m, c->config, &c->layers);
    return code;
}

/* The size of the caller's terminal, for the one inside. */
static void take_window(struct plan *plan)
{
    struct winsize size;

    for (int fd = 0; plan->tty && fd < 3; fd++) {
        if (!(plan->tty >> fd & 1) || ioctl(fd, TIOCGWINSZ, &size) < 0)
            continue;
        plan->tty_rows = size.ws_row;
        plan->tty_columns = size.ws_col;
        return;
    }
}

static void notice_cwd(const abx_command *c)
{
    const char *why = plan_notice(c->policy, c->facts);
    char text[256];

    if (!why && (c->policy->presets & PRESET_BASE) && geteuid() == 0 &&
        !host_allows(c->facts->cwd, W_OK))
        manager_notice(c->manager, ABX_NOTICE_INFO,
                       "files here stay as they are: the working directory is another user's, and "
                       "root has no power over permissions inside; run it as that user");
    if (!why)
        return;
    (void)snprintf(text, sizeof text,
                   "files here stay as they are: %s; --rw . allows to write them", why);
    manager_notice(c->manager, ABX_NOTICE_INFO, text);
}

static void notice_secrets(const abx_command *c)
{
    _buf_ struct buf text = { .limit = 4096 };

    if (!c->plan->secret_count)
        return;
    (void)buf_puts(&text, "taken out of the environment:");
    for (uint32_t i = 0; i < c->plan->secret_count; i++)
        (void)buf_printf(&text, " %s", c->plan->secrets[i]);
    (void)buf_puts(&text, "; --pass-env NAME keeps one");
    if (!text.failed)
        manager_notice(c->manager, ABX_NOTICE_INFO, text.data);
}

static void notice_docker(const abx_command *c)
{
    for (size_t i = 0; i < c->facts->path_count; i++)
        if (c->facts->paths[i].rule->flags & RULE_DOCKER)
            manager_notice(c->manager, ABX_NOTICE_WARNING,
                           "Docker's socket is let in: whoever has it owns the host");
}

/* What is absent can be made where another rule makes its directory writable, and only there. */
static void notice_absent(abx_command *c)
{
    struct view view = { 0 };

    for (size_t i = 0; i < c->facts->path_count; i++) {
        const struct path_fact *f = &c->facts->paths[i];
        _buf_ struct buf text = { .limit = 32768 };

        if (f->exists || f->rule->access != ACCESS_RW || f->rule->origin != ORIGIN_CALL ||
            (f->rule->flags & RULE_GLOB))
            continue;
        if (!view.entries && view_make(c->plan, &c->arena, &view, NULL) != ABX_OK)
            return;
        if (view_access(&view, f->path) == ACCESS_RW)
            continue;
        (void)buf_puts(&text, "--rw '");
        (void)str_escape(&text, f->rule->text, strlen(f->rule->text));
        (void)buf_puts(&text, "': it does not exist, so nothing is granted; make it first");
        if (!text.failed)
            manager_notice(c->manager, ABX_NOTICE_INFO, text.data);
    }
}

/* What a restriction of the project's file names next to that file; NULL: nothing. */
static const char *path_beside_file(abx_command *c, const struct config_file *file,
                                    const struct policy_rule *rule)
{
    if (rule->origin != ORIGIN_PROJECT || rule->access == ACCESS_RW || (rule->flags & RULE_GLOB) ||
        rule->text[0] == '/' || rule->text[0] == '~')
        return NULL;
    const char *path = path_clean(&c->arena, file->directory, rule->text);
    return path && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? path : NULL;
}

/* Relative paths are the run's. Whoever starts it below his file may have meant the file's. */
static void notice_elsewhere(abx_command *c)
{
    const struct config_file *file = config_project(c->config);
    struct view view = { 0 };

    for (size_t i = 0; file && i < c->facts->path_count; i++) {
        const struct policy_rule *rule = c->facts->paths[i].rule;
        const char *path = path_beside_file(c, file, rule);
        _buf_ struct buf text = { .limit = 65536 };

        if (path && !view.entries && view_make(c->plan, &c->arena, &view, NULL) != ABX_OK)
            return;
        if (!path || view_access(&view, path) <= rule->access)
            continue;
        (void)buf_puts(&text, access_name(rule->access));
        put_quoted(&text, " ", rule->text, " of the project's file");
        put_quoted(&text, " is about the working directory, not about ", path, "");
        put_quoted(&text, "; start in ", file->directory, " (-C), or write the whole path");
        if (!text.failed)
            manager_notice(c->manager, ABX_NOTICE_WARNING, text.data);
    }
}

/* Said once, although a plan may be made again. */
static void say_notices(abx_command *c)
{
    if (c->noticed)
        return;
    c->noticed = true;
    notice_cwd(c);
    notice_absent(c);
    notice_elsewhere(c);
    notice_secrets(c);
    notice_docker(c);
    backend_notice(c);
    trace_plan(c);
}

/* Mounts cover names, and here one file has more than the kernel knows. */
static int32_t check_spellings(abx_command *c, abx_error **err)
{
    _buf_ struct buf text = { .limit = 32768 };

    if (!scan_has_spellings(c->facts->cwd))
        return ABX_OK;
    c->shortfalls |= UINT32_C(1) << SHORTFALL_SPELLINGS;
    put_quoted(&text, "the share of ", c->facts->cwd, " does not tell cases apart: ");
    shortfalls_print(UINT32_C(1) << SHORTFALL_SPELLINGS, &text);
    if (text.failed)
        return err_nomem(err);
    if (c->policy->strict) {
        int32_t r = err_new(err, ABX_E_UNSUPPORTED, "run there: %s", text.data);

        err_hint(err, "work on a file system of Linux, or accept it: --set fallbackPolicy=warn");
        return r;
    }
    if (!c->noticed)
        manager_notice(c->manager, ABX_NOTICE_WARNING, text.data);
    return ABX_OK;
}

/* What start.c says of it, when it comes first. */
static void hint_cwd(abx_error **err)
{
    if (!abx_error_hint(*err)[0])
        err_hint(err, "name a directory that is there, with -C DIR");
}

/* What the plan is made for; what it points to is the command's, or in its arena. */
static int32_t fill_request(abx_command *c, struct plan_request *ret, abx_error **err)
{
    const char **shell_argv = arena_alloc(&c->arena, 4, sizeof *shell_argv);

    if (!shell_argv)
        return err_nomem(err);
    shell_argv[0] = c->policy->shell;
    shell_argv[1] = "-c";
    shell_argv[2] = c->wish.text;
    *ret = (struct plan_request){
        .argv = c->wish.text ? shell_argv : (const char *const *)c->wish.argv,
        .envp = (const char *const *)(c->wish.env ? c->wish.env : environ),
        .tty = command_wants_tty(c),
        .timeout_ns = c->wish.timeout_ns,
        .backend = c->backend,
        .uncovered = c->bwrap.setuid,
    };
    while (ret->argv[ret->argc])
        ret->argc++;
    if (c->policy->network != NETWORK_FILTERED || c->backend == BACKEND_INNER)
        return ABX_OK;
    return net_env_make(c->manager, &c->layers, &c->arena, ret, err);
}

/* Facts and plan as they are now. */
static int32_t make_plan(abx_command *c, const struct plan_request *request,
                         const struct plan **ret, bool *ret_widens, abx_error **err)
{
    int32_t code = scan_facts(c->policy, c->wish.cwd, &c->arena, &c->facts, err);

    *ret_widens = false;
    if (code != ABX_OK && err && c->wish.cwd && str_eq(abx_error_subject(*err), c->wish.cwd))
        hint_cwd(err);
    if (code == ABX_OK)
        code = plan_compile(c->policy, c->facts, request, &c->arena, ret, err);
    return code == ABX_OK ? command_check_trust(c, *ret, ret_widens, err) : code;
}

/* … looked at again while a project's file seems to grant something: the tree may have changed. */
static int32_t make_trusted_plan(abx_command *c, const struct plan_request *request,
                                 const struct plan **ret, abx_error **err)
{
    for (int looks = 1;; looks++) {
        _err_ abx_error *why = NULL;
        bool widens;
        int32_t code = make_plan(c, request, ret, &widens, &why);

        if (widens && looks < TRUST_LOOKS)
            continue;
        if (err)
            *err = TAKE_PTR(why);
        return code;
    }
}

int32_t command_compile(abx_command *c, abx_error **err)
{
    struct plan_request request = { 0 };
    const struct plan *plan = NULL;
    int32_t code = fill_request(c, &request, err);

    if (code == ABX_OK)
        code = make_trusted_plan(c, &request, &plan, err);
    if (code == ABX_OK)
        code = check_spellings(c, err);
    if (code != ABX_OK)
        return code;

    struct plan *own = arena_alloc(&c->arena, 1, sizeof *own);
    if (!own)
        return err_nomem(err);
    *own = *plan;
    code = command_finish_plan(c, own, &c->arena, err);
    if (code != ABX_OK)
        return code;
    test_skip_plan(own, request.envp, &c->arena);
    take_window(own);
    c->plan = own;
    say_notices(c);
    return ABX_OK;
}

/* What does not exist when a plan is made is not hidden, and the first run makes its own state. */
int32_t command_hide_state(abx_command *c, const char *const *state_dirs, abx_error **err)
{
    const bool log = c->manager->hooks.flags & ABX_KEEP_LOG;
    bool is_new = log && state_prepare(state_dirs, LOG_DIRECTORY);

    if (c->plan->hold_count && state_prepare(state_dirs, "held"))
        is_new = true;
    if (c->plan->profile && state_prepare(state_dirs, RUN_DIRECTORY))
        is_new = true;
    return is_new ? command_compile(c, err) : ABX_OK;
}
