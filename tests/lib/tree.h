/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary home with a project in it, scanned and compiled for tests: run leaves the mounts
 * below it as lines "kind path flags", in which @ stands for the temporary directory.
 */
#ifndef ABX_TESTS_TREE_H
#define ABX_TESTS_TREE_H

#include "lib/facts_case.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/str.h"
#include "probe/scan.h"

struct tree {
    struct arena arena;
    char base[64];
    struct settings *call;
    const struct policy *policy;
    const struct facts *facts;
    const struct plan *plan;
    char *text;
};

/* For root too: whether permissions of files count. */
static inline void obey_permissions(bool obey)
{
    const uint32_t past = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2];

    assert_int_equal(syscall(SYS_capget, &header, data), 0);
    data[0].effective = obey ? data[0].effective & ~past
                             : data[0].effective | (data[0].permitted & past);
    assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

static inline const char *at(struct tree *t, const char *path)
{
    char *full = arena_printf(&t->arena, "%s%s", t->base, path);

    assert_non_null(full);
    return full;
}

static inline void make_dir(struct tree *t, const char *path)
{
    char *full = arena_strdup(&t->arena, at(t, path));

    for (char *p = full + 1; *p; p++)
        if (*p == '/') {
            *p = '\0';
            (void)mkdir(full, 0755);
            *p = '/';
        }
    assert_true(mkdir(full, 0755) == 0 || errno == EEXIST);
}

static inline void make_file(struct tree *t, const char *path, const char *content)
{
    const char *full = at(t, path);
    make_dir(t, path_parent(&t->arena, path));
    FILE *f = fopen(full, "we");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
}

static inline void make_link(struct tree *t, const char *target, const char *path)
{
    assert_int_equal(symlink(target, at(t, path)), 0);
}

static inline void make_git(struct tree *t, const char *dir)
{
    make_file(t, arena_printf(&t->arena, "%s/HEAD", dir), "ref: refs/heads/main\n");
    make_file(t, arena_printf(&t->arena, "%s/config", dir), "[core]\n\tbare = false\n");
    make_dir(t, arena_printf(&t->arena, "%s/objects", dir));
    make_dir(t, arena_printf(&t->arena, "%s/refs/heads", dir));
}

static inline int setup(void **state)
{
    struct tree *t = calloc(1, sizeof *t);

    assert_non_null(t);
    /* Not below /tmp, which every sandbox replaces. */
    strcpy(t->base, "/var/tmp/abx-scan-XXXXXX");
    assert_non_null(mkdtemp(t->base));
    arena_init(&t->arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(settings_new(ORIGIN_CALL, &t->call, NULL), ABX_OK);
    make_dir(t, "/home/w");
    setenv("HOME", at(t, "/home"), 1);
    unsetenv("XDG_STATE_HOME");
    unsetenv("XDG_CONFIG_HOME");
    assert_int_equal(chdir(at(t, "/home/w")), 0);
    *state = t;
    return 0;
}

static inline int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static inline int teardown(void **state)
{
    struct tree *t = *state;

    assert_int_equal(chdir("/"), 0);
    (void)nftw(t->base, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    settings_free(t->call);
    free(t->text);
    arena_done(&t->arena);
    free(t);
    return 0;
}

static inline void only(struct tree *t, const char *preset)
{
    assert_int_equal(settings_append(t->call, "filesystem.presets", "!@all", NULL, NULL), ABX_OK);
    if (preset)
        assert_int_equal(settings_append(t->call, "filesystem.presets", preset, NULL, NULL),
                         ABX_OK);
}

static inline void no_names(struct tree *t)
{
    assert_int_equal(
        settings_set(t->call, "filesystem.autoProtectDangerousFiles", "false", NULL, NULL), ABX_OK);
}

static inline void rule(struct tree *t, const char *key, const char *value)
{
    assert_int_equal(settings_append(t->call, key, value, NULL, NULL), ABX_OK);
}

static inline int32_t scan(struct tree *t, const char *cwd, abx_error **err)
{
    int32_t r = policy_build(NULL, t->call, &t->arena, &t->policy, err);

    return r == ABX_OK ? scan_facts(t->policy, cwd, &t->arena, &t->facts, err) : r;
}

/* Scans, compiles, and leaves in t->text the mounts below the temporary directory. */
static inline void run(struct tree *t)
{
    static const char *const argv[] = { "true", NULL };
    const struct plan_request request = { .argv = argv, .argc = 1 };
    abx_error *err = NULL;
    struct buf b;
    size_t len = strlen(t->base);

    if (scan(t, NULL, &err) != ABX_OK ||
        plan_compile(t->policy, t->facts, &request, &t->arena, &t->plan, &err) != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    buf_init(&b, 1 << 20);
    (void)buf_puts(&b, "");
    for (uint32_t i = 0; i < t->plan->mount_count; i++) {
        const struct mount_op *op = &t->plan->mounts[i];
        if (!path_is_beneath(op->path, t->base))
            continue;
        (void)buf_printf(&b, "%s @%s%s%s\n", plan_mount_name(op->kind), op->path + len,
                         op->flags & MOUNT_HELD ? " held" : "",
                         op->flags & MOUNT_EARLY ? " early" : "");
    }
    free(t->text);
    t->text = buf_take(&b);
    assert_non_null(t->text);
}

static inline void expect(struct tree *t, const char *expected)
{
    run(t);
    assert_string_equal(t->text, expected);
}

static inline void has(struct tree *t, const char *line)
{
    if (!strstr(t->text, line))
        fail_msg("no '%s' in\n%s", line, t->text);
}

static inline void has_not(struct tree *t, const char *line)
{
    if (strstr(t->text, line))
        fail_msg("'%s' in\n%s", line, t->text);
}

static inline void expect_error(struct tree *t, const char *cwd, int32_t code, const char *message,
                                const char *hint)
{
    abx_error *err = NULL;

    assert_int_equal(scan(t, cwd, &err), code);
    if (!strstr(abx_error_message(err), message) || !strstr(abx_error_hint(err), hint))
        fail_msg("'%s' / '%s'", abx_error_message(err), abx_error_hint(err));
    abx_error_free(err);
}

#endif
