/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wrapped program, inside the sandbox: this runs in the place of git, rm or curl, decides, and
 * becomes the real one, a script of the user's, or two lines that say why not.
 *
 * What it has to know is in its own file (slot.c, linux/wrap.c): the environment is not asked.
 * Which rule counts is decided by the name that was called and by the file that was covered, so
 * that other names of the same file (unxz beside xz, dash beside sh) stay what they are:
 *
 *   the path that was executed, or argv[0], is the name of a rule       that rule
 *   the file's own name has no rule                                     the real one
 *   a link on a read-only mount                                         the real one
 *   any other name (a link or a copy made inside)                       the rule of the file's name
 *
 * Nothing stays between the caller and the real program: it is executed in this process, so exit
 * code, signals and streams are its own. Wrappers are guidance; the mounts are the boundary.
 */
#include <asm/signal.h>
#include <asm/statfs.h>
#include <linux/magic.h>
#include <linux/stat.h>

#include "plan/watch.h"
#include "wrap/guard.h"
#include "wrap/words.h"
#include "wrapper/wrapper.h"

#define WRAPPER_PATH  ((size_t)4096)
#define WRAPPER_OWN   "/run/agentbox"
#define SHELL_FOR_ALL "/bin/sh"

/* The next word of the slot; "" behind the last. */
static const char *next_word(const struct wrap_slot *slot, uint32_t *pos)
{
    const char *word = slot->text + *pos;

    if (*pos >= slot->len)
        return "";
    *pos += (uint32_t)text_len(word) + 1;
    return word;
}

static void read_private(struct wrapper *w)
{
    const char *word;

    w->private = (struct guard_private){ .tmp = next_word(&wrap_slot, &w->rules),
                                         .roots = w->roots };
    while ((word = next_word(&wrap_slot, &w->rules))[0]) {
        if (w->private.root_count < WRAP_MAX_ROOTS)
            w->roots[w->private.root_count++] = word;
        else
            w->private.tmp = "";
    }
}

static bool find_rule(const struct wrapper *w, const char *name, struct wrapper_rule *ret)
{
    uint32_t pos = w->rules;

    while (pos < wrap_slot.len) {
        struct wrapper_rule r;
        r.name = next_word(&wrap_slot, &pos);
        r.action = next_word(&wrap_slot, &pos);
        if (text_eq(r.name, name)) {
            *ret = r;
            return true;
        }
    }
    return false;
}

/* The entry of dir leads to the file that we are. */
static bool leads_here(long dir, const char *entry)
{
    struct statx ours = { 0 }, its = { 0 };

    return TRY5(__NR_statx, SYS_AT_FDCWD, "/proc/self/exe", 0, STATX_INO, &ours) == 0 &&
           TRY5(__NR_statx, dir, entry, 0, STATX_INO, &its) == 0 && its.stx_ino == ours.stx_ino &&
           its.stx_dev_major == ours.stx_dev_major && its.stx_dev_minor == ours.stx_dev_minor;
}

/*
 * A link that was there before us: it lies on a read-only mount, so nobody here made it. Modes do
 * not count (who owns a directory can take its own right to write away), nor do the numbers below
 * /proc, which lead to whatever is open. The directory may have been exchanged since we were
 * executed; then the link must be in the new one, too.
 */
static bool is_fixed(const char *path)
{
    const long read_only = 1; /* ST_RDONLY */
    char name[WRAPPER_PATH] = ".";
    const char *entry = words_base(path);
    size_t len = (size_t)(entry - path);
    struct statfs fs = { 0 };

    if (len >= sizeof name)
        return false;
    if (len > 0) {
        memcpy(name, path, len);
        name[len] = '\0';
    }
    long dir = TRY4(__NR_openat, SYS_AT_FDCWD, name, SYS_O_PATH | SYS_O_DIRECTORY | SYS_O_CLOEXEC,
                    0);
    if (dir < 0)
        return false;
    bool fixed = TRY2(__NR_fstatfs, dir, &fs) == 0 && (fs.f_flags & read_only) &&
                 fs.f_type != PROC_SUPER_MAGIC && leads_here(dir, entry);
    file_close((int)dir);
    return fixed;
}

/* A path that goes up again leads anywhere. */
static bool goes_up(const char *path)
{
    for (; *path; path++)
        if (text_has_prefix(path, "/../"))
            return true;
    return false;
}

/*
 * The kernel runs us for a script of ours whose first line names us: then we are an interpreter,
 * and nobody asked for the command.
 */
static bool is_interpreter(const struct wrapper *w)
{
    return text_has_prefix(w->path, WRAPPER_OWN) && !goes_up(w->path) && w->argc > 1 &&
           text_eq(w->argv[1], w->path);
}

/* What git runs by itself is part of what it was asked to do ("worktree add" resets hard). */
static bool parent_is_real(const struct wrapper *w)
{
    char link[40] = "/proc/", path[WRAPPER_PATH];

    text_append_u64(link, sizeof link, (uint64_t)TRY0(__NR_getppid));
    text_append(link, sizeof link, "/exe");
    long n = TRY4(__NR_readlinkat, SYS_AT_FDCWD, link, path, sizeof path - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    return text_has_prefix(path, WRAPPER_OWN) && text_eq(words_base(path), w->own);
}

static void say(const char *text)
{
    (void)TRY3(__NR_write, 2, text, text_len(text));
}

/* To the monitor, if there is one: the call itself does nothing (plan/watch.def). */
static void tell_monitor(const char *word)
{
    uint64_t a[WATCH_COMMAND_MAX / sizeof(uint64_t)] = { 0 };
    size_t len = text_len(word);

    memcpy(a, word, len < sizeof a ? len : sizeof a);
    (void)TRY6(__NR_nfsservctl, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int refuse(const char *name, const char *what, const char *why, const char *instead)
{
    static const char from[] = "agentbox: ";
    char text[1024] = "";

    text_append(text, sizeof text, from);
    text_append(text, sizeof text, name);
    if (what) {
        text_append(text, sizeof text, " ");
        text_append(text, sizeof text, what);
    }
    tell_monitor(text + sizeof from - 1);
    text_append(text, sizeof text, ": ");
    text_append(text, sizeof text, why);
    text_append(text, sizeof text, "\nhint: ");
    text_append(text, sizeof text, instead);
    text_append(text, sizeof text, "\n");
    say(text);
    return EXIT_NOT_RUNNABLE;
}

static int exec_failed(const char *path, long error)
{
    char text[WRAPPER_PATH + 64] = "agentbox: execute ";

    text_append(text, sizeof text, path);
    text_append(text, sizeof text, ": error ");
    text_append_u64(text, sizeof text, (uint64_t)-error);
    text_append(text, sizeof text, "\n");
    say(text);
    return error == -ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUNNABLE;
}

static int run_real(const struct wrapper *w)
{
    long r = TRY3(__NR_execve, w->real, w->argv, w->envp);

    return exec_failed(w->real, r);
}

void *wrapper_alloc(size_t count, size_t size)
{
    const int read_write = 3, private_anonymous = 0x22;
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes))
        return NULL;
    long r = TRY6(__NR_mmap, 0, bytes, read_write, private_anonymous, -1, 0);
    return r < 0 && r >= -4095 ? NULL : (void *)r;
}

/* The real program under the rule's name: beside the file there is a link for each. */
static void real_for(const struct wrapper *w, const char *name, char *path, size_t size)
{
    size_t len = (size_t)(words_base(w->real) - w->real);

    path[0] = '\0';
    text_append(path, size, w->real);
    if (!text_has_prefix(path, WRAPPER_OWN) || len >= size)
        return;
    path[len] = '\0';
    text_append(path, size, name);
}

static const char **script_environment(const struct wrapper *w, const char *name)
{
    static const char cmd[] = "AGENTBOX_CMD=", real[] = "AGENTBOX_REAL=";
    size_t count = 0, n = 0;
    const size_t room = 2 * WRAPPER_PATH;

    while (w->envp[count])
        count++;
    const char **env = wrapper_alloc(count + 3, sizeof *env);
    char *text = wrapper_alloc(2, room);
    if (!env || !text)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (!text_has_prefix(w->envp[i], cmd) && !text_has_prefix(w->envp[i], real))
            env[n++] = w->envp[i];
    text_append(text, room, cmd);
    text_append(text, room, name);
    env[n++] = text;
    text += room;
    text_append(text, room, real);
    real_for(w, name, text + sizeof real - 1, room - sizeof real);
    env[n] = text;
    return env;
}

/* A script without a first line that names an interpreter is the shell's, as in execvp(3). */
static int run_script(const struct wrapper *w, const char *name, const char *script)
{
    const char **env = script_environment(w, name);
    const char **argv = wrapper_alloc((size_t)w->argc + 2, sizeof *argv);

    if (!env || !argv)
        return exec_failed(script, -ENOMEM);
    long r = TRY3(__NR_execve, script, w->argv, env);
    if (r != -ENOEXEC)
        return exec_failed(script, r);
    argv[0] = SHELL_FOR_ALL;
    argv[1] = script;
    for (size_t i = 1; i < w->argc; i++)
        argv[i + 1] = w->argv[i];
    r = TRY3(__NR_execve, SHELL_FOR_ALL, argv, env);
    return exec_failed(SHELL_FOR_ALL, r);
}

static int run_guarded(const struct wrapper *w, const struct wrapper_rule *r)
{
    struct guard_verdict v;
    size_t id = guard_find(r->action + 1);

    if (id == GUARD_COUNT)
        return refuse(r->name, NULL, "its guard is unknown", "this is a fault of agentbox");
    if (parent_is_real(w))
        return run_real(w);
    if (id == GUARD_GIT)
        wrapper_judge_git(w, &v);
    else
        guard_judge(id, &(struct guard_call){ w->argc, w->argv, w->envp, 0 }, &v);
    if (v.action != GUARD_STOP)
        return run_real(w);
    return refuse(r->name, v.what, v.why, v.instead);
}

static int apply_rule(const struct wrapper *w, const struct wrapper_rule *r)
{
    if (r->action[0] == WRAP_GUARD)
        return run_guarded(w, r);
    if (r->action[0] == WRAP_SCRIPT)
        return run_script(w, r->name, r->action + 1);
    return refuse(r->name, NULL, "blocked in this sandbox",
                  "the user's configuration says so (commands, --cmd); work without it");
}

int launcher_main(int argc, const char *const *argv, const char *const *envp, const char *path)
{
    struct wrapper w = { .argc = (size_t)argc, .argv = argv, .envp = envp, .path = path };
    struct wrapper_rule rule;

    w.real = next_word(&wrap_slot, &w.rules);
    w.own = next_word(&wrap_slot, &w.rules);
    read_private(&w);
    if (wrap_slot.magic != WRAP_MAGIC)
        return EXIT_SETUP; /* not a copy that pid 1 made */
    const char *called = words_base(argc > 0 ? argv[0] : path), *entry = words_base(path);

    if (is_interpreter(&w))
        return run_real(&w);
    if (find_rule(&w, entry, &rule) || find_rule(&w, called, &rule))
        return apply_rule(&w, &rule);
    if (!find_rule(&w, w.own, &rule))
        return run_real(&w);
    if (rule.action[0] != WRAP_GUARD && text_eq(called, entry) && is_fixed(path))
        return run_real(&w);
    return apply_rule(&w, &rule);
}
