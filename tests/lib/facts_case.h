/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy and facts written by hand, for tests of the compiler: a user with home /home/u who works
 * in /w, on a machine with the usual places. Nothing here looks at the real machine.
 */
#ifndef ABX_TESTS_FACTS_CASE_H
#define ABX_TESTS_FACTS_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/path.h"
#include "plan/compile.h"
#include "plan/dump.h"
#include "plan/mounts.h"

#define CASE_MAX_PATHS 20000

struct facts_case {
    struct arena arena;
    struct policy policy;
    struct facts facts;
    struct path_fact *paths;
    struct policy_rule *rules;
};

static inline void case_init(struct facts_case *c)
{
    *c = (struct facts_case){ 0 };
    arena_init(&c->arena, ARENA_DEFAULT_LIMIT);
    c->paths = calloc(CASE_MAX_PATHS, sizeof *c->paths);
    c->rules = calloc(CASE_MAX_PATHS, sizeof *c->rules);
    assert_true(c->paths && c->rules);
    c->policy.tmp_private = true;
    c->policy.network = NETWORK_BLOCKED;
    c->policy.max_memory = UINT64_C(1) << 30;
    c->policy.max_processes = 100;
    c->policy.max_fds = 64;
    c->policy.grace_ns = 10 * NSEC_PER_SEC;
    c->facts.uid = c->facts.gid = 1000;
    c->facts.home = "/home/u";
    c->facts.cwd = "/w";
    c->facts.paths = c->paths;
}

static inline void case_places(struct facts_case *c)
{
    c->facts.places[PLACE_DEV] = "/dev";
    c->facts.places[PLACE_PROC] = "/proc";
    c->facts.places[PLACE_RUN] = "/run";
    c->facts.places[PLACE_SHM] = "/dev/shm";
    c->facts.places[PLACE_SYS] = "/sys";
    c->facts.places[PLACE_TMP] = "/tmp";
}

static inline void case_done(struct facts_case *c)
{
    arena_done(&c->arena);
    free(c->paths);
    free(c->rules);
}

/* what: 'd' directory, 'f' file, or the ancestor of an absent path. */
static inline struct path_fact *case_rule(struct facts_case *c, uint32_t access, uint32_t origin,
                                          uint32_t flags, const char *path, const char *what)
{
    assert_true(c->facts.path_count < CASE_MAX_PATHS);
    struct policy_rule *rule = &c->rules[c->facts.path_count];
    struct path_fact *fact = &c->paths[c->facts.path_count++];

    *rule = (struct policy_rule){ access, origin, flags, path, "rule" };
    *fact = (struct path_fact){ .rule = rule, .path = path };
    fact->why = arena_printf(&c->arena, "%s %s", access_name(access), path);
    assert_non_null(fact->why);
    if (what[0] == '/') {
        fact->ancestor = what;
    } else {
        fact->exists = true;
        fact->is_dir = what[0] == 'd';
        fact->dev = 7;
        fact->ino = 1000 + c->facts.path_count;
    }
    return fact;
}

static inline void case_rw(struct facts_case *c, const char *path)
{
    case_rule(c, ACCESS_RW, ORIGIN_CALL, 0, path, "d");
}

static inline void case_ro(struct facts_case *c, const char *path)
{
    case_rule(c, ACCESS_RO, ORIGIN_CALL, 0, path, "d");
}

static inline void case_exclude(struct facts_case *c, const char *path)
{
    case_rule(c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, path, "d");
}

static inline void case_workdir(struct facts_case *c)
{
    case_rule(c, ACCESS_RW, ORIGIN_BUILTIN, RULE_WORKDIR, c->facts.cwd, "d");
}

/* "kind path flags…" a line, without reasons. */
static inline char *case_mounts(struct facts_case *c, struct plan *plan)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } flags[] = { { MOUNT_SEAL, "sealed" },       { MOUNT_EARLY, "early" },
                  { MOUNT_OPTIONAL, "optional" }, { MOUNT_CWD, "cwd" },
                  { MOUNT_WRITABLE, "writable" }, { MOUNT_HELD, "held" } };
    struct buf b;
    abx_error *err = NULL;

    *plan = (struct plan){ 0 };
    int32_t r = mounts_compile(&c->policy, &c->facts, &c->arena, plan, &err);
    if (r != ABX_OK)
        fail_msg("mounts_compile: %s", abx_error_message(err));
    buf_init(&b, (size_t)64 << 20);
    (void)buf_puts(&b, "");
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct mount_op *op = &plan->mounts[i];
        (void)buf_printf(&b, "%s %s", plan_mount_name(op->kind), op->path);
        for (size_t j = 0; j < ARRAY_LEN(flags); j++)
            if (op->flags & flags[j].flag)
                (void)buf_printf(&b, " %s", flags[j].name);
        (void)buf_putc(&b, '\n');
    }
    assert_false(b.failed);
    char *text = buf_take(&b);
    assert_non_null(text);
    return text;
}

static inline void case_expect(struct facts_case *c, const char *expected)
{
    struct plan plan;
    char *text = case_mounts(c, &plan);

    assert_string_equal(text, expected);
    free(text);
}

static inline void case_expect_error(struct facts_case *c, int32_t code, const char *message,
                                     const char *hint)
{
    struct plan plan = { 0 };
    abx_error *err = NULL;

    assert_int_equal(mounts_compile(&c->policy, &c->facts, &c->arena, &plan, &err), code);
    assert_non_null(strstr(abx_error_message(err), message));
    assert_non_null(strstr(abx_error_hint(err), hint));
    abx_error_free(err);
}

#endif
