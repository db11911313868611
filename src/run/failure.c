/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A failed step in words: what was tried on what, and what to do about it. The step's name comes
 * from the launcher, which is ours; its object may be a path, and is escaped like all errors.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "plan/explain.h"
#include "run/bwrap.h"
#include "run/run.h"

static const struct {
    const char *step;
    int error;
    const char *text;
} hints[] = {
#define HINT(step, error, text) { step, error, text },
#include "run/hints.def"
#undef HINT
};

static const struct {
    const char *name, *words;
} steps[] = {
#define INIT(name, layer, apply, words) { name, words },
#define BWRAPPED(name, layer, apply)
#define COMMAND(name, layer, apply, words) { name, words },
#define OTHER(name, words)                 { name, words },
#include "plan/steps.def"
#undef INIT
#undef BWRAPPED
#undef COMMAND
#undef OTHER
};

static const char *hint_for(const char *step, int error)
{
    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if ((!hints[i].step[0] || strcmp(hints[i].step, step) == 0) &&
            (hints[i].error == error || hints[i].error == 0))
            return hints[i].text;
    return NULL;
}

/* What only a shell understands was given as the name of a program. */
static const char *shell_hint(const char *name)
{
    static const char *const own[] = { "cd",     "export", "source", "alias",   "unset", "set",
                                       "eval",   "exec",   "ulimit", "umask",   "type",  "trap",
                                       "return", "let",    "local",  "declare", "." };

    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (strcmp(own[i], name) == 0)
            return "it is a command of the shell, not a program: -c TEXT runs shell text";
    return strpbrk(name, " \t\n;&|<>$`")
               ? "all of it is taken for one name: write a program and its arguments as words of "
                 "their own; -c TEXT runs shell text"
               : NULL;
}

/* What a file that could not be executed named; NULL: it named nothing, or is not there. */
static const char *interpreter_of(const struct status_msg *msg)
{
    bool told = msg->err == ENOENT && msg->text[0] == '#' && msg->text[1] == '!';

    return told ? msg->text + 2 : NULL;
}

static const char *exec_hint(const struct status_msg *msg, const char *name)
{
    const char *interpreter = interpreter_of(msg);

    if (msg->err != ENOENT)
        return NULL;
    if (!interpreter)
        return shell_hint(name);
    if (!interpreter[0])
        return "the file is there, but the loader that it names is not: is it for another C "
               "library or CPU?";
    return strchr(interpreter, '\r')
               ? "its first line ends in a carriage return: give the file the line ends of Unix"
               : NULL;
}

/* The run's own directory that has taken the place of the host's, path among it; NULL: none has. */
static const char *own_directory(const struct plan *plan, const char *path)
{
    const struct mount_op *over = NULL;

    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct mount_op *op = &plan->mounts[i];

        if (op->kind != MOUNT_DIR && path_is_beneath(path, op->path) &&
            (!over || strlen(op->path) >= strlen(over->path)))
            over = op;
    }
    return over && over->kind == MOUNT_TMPFS && !(over->flags & MOUNT_SEAL) ? over->path : NULL;
}

/* A program, or its interpreter, that the host has in its /tmp. */
static bool hint_own_directory(const struct status_msg *msg, const struct plan *plan,
                               abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    const char *interpreter = interpreter_of(msg),
               *name = interpreter && interpreter[0] ? interpreter : plan->argv[0];
    char found[PATH_MAX];

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    if (msg->err != ENOENT || !strchr(name, '/'))
        return false;
    if (name[0] != '/')
        name = arena_printf(&arena, "%s/%s", plan->cwd, name);
    const char *own = name && realpath(name, found) ? own_directory(plan, found) : NULL;
    const char *word = own ? explain_word(&arena, found) : NULL;
    if (word)
        err_hint(err,
                 "the run has a %s of its own, where the host's files are not: --ro %s shows this "
                 "one, --tmp host all of them",
                 own, word);
    return word;
}

static int32_t exec_failure(const struct status_msg *msg, const char *name, abx_error **err)
{
    const char *interpreter = interpreter_of(msg);

    return interpreter && interpreter[0]
               ? err_sys(err, ABX_E_EXEC, -msg->err, "execute '%s': its interpreter '%s'", name,
                         interpreter)
               : err_sys(err, ABX_E_EXEC, -msg->err, "execute '%s'", name);
}

static const char *words_for(const char *step)
{
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        if (strcmp(steps[i].name, step) == 0)
            return steps[i].words;
    return "go on";
}

int32_t run_failure(const struct status_msg *msg, const struct plan *plan, abx_error **err)
{
    const bool exec = strcmp(msg->step, "exec") == 0;
    const char *hint = exec ? exec_hint(msg, plan->argv[0]) : NULL;
    int32_t code;

    if (!hint)
        hint = hint_for(msg->step, msg->err);
    if (strcmp(msg->step, "bwrap") == 0 && msg->err == 0)
        code = err_new(err, ABX_E_SANDBOX, "set up the sandbox: bubblewrap said: %s",
                       bwrap_said(msg->text));
    else if (exec)
        code = exec_failure(msg, plan->argv[0], err);
    else if (msg->text[0])
        code = err_sys(err, ABX_E_SANDBOX, -msg->err, "set up the sandbox: %s (step '%s' on '%s')",
                       words_for(msg->step), msg->step, msg->text);
    else
        code = err_sys(err, ABX_E_SANDBOX, -msg->err, "set up the sandbox: %s (step '%s')",
                       words_for(msg->step), msg->step);
    err_subject(err, msg->step);
    if (hint && !(exec && hint_own_directory(msg, plan, err)))
        err_hint(err, "%s", hint);
    return code;
}
