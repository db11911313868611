/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the programs of `commands` are: each directory of PATH, and those that every system has,
 * is asked for the name; what is found is resolved, and each file is listed once. A command that is
 * nowhere is no error. The script of a wrapper must be there and executable; what leads to it
 * becomes read-only, or a command could change what the next run executes.
 *
 * A link to a script is covered itself, and the script stays: scripts find their neighbours by
 * their own path (npm). Any other program is covered where it really lies, whatever links lead
 * there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/str.h"
#include "plan/env.h"
#include "plan/plan.h"
#include "probe/scan_state.h"

#define COMMANDS_MAX_DIRS 256u
/* Where git has a second copy of itself, under the name that it calls itself by. */
#define COMMANDS_GIT "/usr/lib/git-core:/usr/libexec/git-core:/usr/local/libexec/git-core"

struct finder {
    struct scan *s;
    struct target_fact *targets;
    uint32_t *found; /* of the command that is looked for */
    size_t found_count;
};

/* PATH as the command will have it, as far as the policy decides. */
static const char *search_path(const struct scan *s)
{
    const char *path = getenv("PATH");

    for (size_t i = 0; i < s->policy->env_count; i++)
        if (s->policy->env[i].action == ENV_SET && str_eq(s->policy->env[i].name, "PATH"))
            path = s->policy->env[i].value;
    return path ? path : "";
}

static bool is_program(const char *path, bool follow, struct stat *st)
{
    int r = follow ? stat(path, st) : lstat(path, st);

    return r == 0 && (follow ? S_ISREG(st->st_mode) && (st->st_mode & 0111) : true);
}

static bool is_script(const char *path)
{
    char start[2] = "";
    _fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    return fd >= 0 && read(fd, start, sizeof start) == (ssize_t)sizeof start && start[0] == '#' &&
           start[1] == '!';
}

static int32_t add_target(struct finder *f, struct target_fact target)
{
    struct facts *facts = f->s->facts;
    uint32_t i = 0;

    while (i < facts->target_count && !str_eq(facts->targets[i].path, target.path))
        i++;
    if (i == PLAN_MAX_WRAPS) {
        int32_t r = err_new(f->s->err, ABX_E_CONFIG, "cover '%s': more than %u programs",
                            target.path, PLAN_MAX_WRAPS);
        err_subject(f->s->err, "commands");
        err_hint(f->s->err, "name fewer programs in `commands` (--cmd)");
        return r;
    }
    if (i == facts->target_count)
        f->targets[facts->target_count++] = target;
    for (size_t j = 0; j < f->found_count; j++)
        if (f->found[j] == i)
            return ABX_OK;
    f->found[f->found_count++] = i;
    return ABX_OK;
}

/* path names the command in a directory of PATH. */
static int32_t look_at(struct finder *f, const char *path)
{
    struct stat st, entry;
    struct resolved where;

    if (!is_program(path, true, &st) || !is_program(path, false, &entry))
        return ABX_OK;
    int32_t r = scan_resolve(f->s, path, &where);
    if (r != ABX_OK || !where.exists || where.denied || where.is_dir)
        return r;
    struct target_fact target = { where.path, NULL, where.dev, where.ino };
    if (S_ISLNK(entry.st_mode) && is_script(where.path)) {
        const char *name = path_basename(path), *dir = path_parent(f->s->arena, path);
        if (!dir)
            return err_nomem(f->s->err);
        struct resolved parent;
        r = scan_resolve(f->s, dir, &parent);
        if (r != ABX_OK)
            return r;
        target = (struct target_fact){ path_join(f->s->arena, parent.path, name), where.path,
                                       (uint64_t)entry.st_dev, (uint64_t)entry.st_ino };
        if (!target.path)
            return err_nomem(f->s->err);
    }
    return add_target(f, target);
}

static int32_t look_in(struct finder *f, const char *dirs, const char *name)
{
    int32_t r = ABX_OK;

    for (unsigned n = 0; *dirs && n < COMMANDS_MAX_DIRS && r == ABX_OK; n++) {
        size_t len = strcspn(dirs, ":");
        if (len > 0) {
            const char *dir = arena_strndup(f->s->arena, dirs, len);
            dir = dir ? path_clean(f->s->arena, f->s->cwd.path, dir) : NULL;
            const char *path = dir ? path_join(f->s->arena, dir, name) : NULL;
            r = path ? look_at(f, path) : err_nomem(f->s->err);
        }
        dirs += len + (dirs[len] == ':');
    }
    return r;
}

static int32_t refuse_script(struct scan *s, const struct policy_command *c, const char *problem,
                             const char *hint)
{
    int32_t r = err_new(s->err, ABX_E_CONFIG, "%s: wrapper '%s' of '%s' %s", c->source, c->text,
                        c->name, problem);

    err_subject(s->err, c->text);
    err_hint(s->err, "%s", hint);
    return r;
}

static int32_t find_script(struct scan *s, const struct policy_command *c, struct command_fact *ret)
{
    struct policy_rule *rule = scan_derive(s, ACCESS_RO, RULE_FINAL, c->source, c->text);
    struct resolved where;
    struct stat st;

    if (!rule)
        return err_nomem(s->err);
    rule->origin = c->origin;
    int32_t r = scan_locate(s, rule, &where);
    if (r != ABX_OK)
        return r;
    rule->origin = ORIGIN_BUILTIN; /* a ceiling of ours, not a wish of the user's */
    if (!where.exists || where.denied || where.is_dir || stat(where.path, &st) < 0)
        return refuse_script(s, c, "is not there",
                             "name a file that exists; the path is relative "
                             "to the working directory");
    if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
        return refuse_script(s, c, "cannot be executed", "chmod +x makes a script executable");
    ret->script = where.path;
    ret->script_dev = where.dev;
    ret->script_ino = where.ino;
    return scan_add(s, rule, &where);
}

static int32_t find_command(struct finder *f, const struct policy_command *c,
                            struct command_fact *ret)
{
    *ret = (struct command_fact){ .rule = c };
    f->found_count = 0;
    int32_t r = look_in(f, search_path(f->s), c->name);
    if (r == ABX_OK)
        r = look_in(f, ENV_DEFAULT_PATH, c->name);
    if (r == ABX_OK && str_eq(c->text, "@git"))
        r = look_in(f, COMMANDS_GIT, c->name);
    if (r == ABX_OK && c->kind == COMMAND_SCRIPT)
        r = find_script(f->s, c, ret);
    if (r != ABX_OK || f->found_count == 0)
        return r;
    uint32_t *targets = arena_alloc(f->s->arena, f->found_count, sizeof *targets);
    if (!targets)
        return err_nomem(f->s->err);
    memcpy(targets, f->found, f->found_count * sizeof *targets);
    ret->targets = targets;
    ret->target_count = f->found_count;
    return ABX_OK;
}

static int32_t make_secret(struct scan *s)
{
    uint64_t bits[2];

    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return err_sys(s->err, ABX_E_IO, -errno, "get random bytes");
    s->facts->secret = arena_printf(s->arena, "%016llx%016llx", (unsigned long long)bits[0],
                                    (unsigned long long)bits[1]);
    return s->facts->secret ? ABX_OK : err_nomem(s->err);
}

int32_t scan_commands(struct scan *s)
{
    const struct policy *p = s->policy;
    struct finder f = { .s = s };
    int32_t r = p->command_count ? make_secret(s) : ABX_OK;

    if (r != ABX_OK || !p->command_count)
        return r;
    struct command_fact *commands = arena_alloc(s->arena, p->command_count, sizeof *commands);
    f.targets = arena_alloc(s->arena, PLAN_MAX_WRAPS, sizeof *f.targets);
    f.found = arena_alloc(s->arena, PLAN_MAX_WRAPS, sizeof *f.found);
    if (!commands || !f.targets || !f.found)
        return err_nomem(s->err);
    s->facts->targets = f.targets;
    s->facts->commands = commands;
    for (size_t i = 0; i < p->command_count && r == ABX_OK; i++) {
        r = find_command(&f, &p->commands[i], &commands[s->facts->command_count]);
        s->facts->command_count += r == ABX_OK && commands[s->facts->command_count].target_count;
    }
    return r;
}
