/* SPDX-License-Identifier: Apache-2.0 */
/* Wrapped programs in a plan: covers, their words, the real ones; and rules without mounts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/facts_case.h"

#include "base/str.h"
#include "plan/bwrap.h"
#include "plan/codec.h"
#include "plan/slot.h"
#include "plan/wraps.h"
#include "probe/enumerate.h"

static const char *const argv[] = { "true", NULL };

static const struct policy_command rules[] = {
    { COMMAND_BLOCK, ORIGIN_CALL, "sh", "false", "--cmd" },
    { COMMAND_GUARD, ORIGIN_CALL, "git", "@git", "--cmd" },
    { COMMAND_SCRIPT, ORIGIN_CALL, "npm", "./w.sh", "--cmd" },
};
static const struct target_fact targets[] = {
    { "/usr/bin/dash", NULL, 7, 1 },
    { "/usr/bin/git", NULL, 7, 2 },
    { "/usr/bin/npm", "/usr/lib/npm/cli.js", 7, 3 },
    { "/home/u/secret/git", NULL, 7, 4 },
};
static const uint32_t numbers[] = { 0, 1, 2, 3 };
static const struct command_fact commands[] = {
    { .rule = &rules[0], .targets = numbers, .target_count = 1 },
    { .rule = &rules[1], .targets = numbers + 1, .target_count = 1 },
    { .rule = &rules[2],
      .script = "/w/w.sh",
      .script_dev = 7,
      .script_ino = 9,
      .targets = numbers + 2,
      .target_count = 2 },
};

static void wrapped_case(struct facts_case *c)
{
    case_init(c);
    case_places(c);
    c->facts.own_dir = "/run/agentbox";
    c->facts.secret = "secret";
    c->facts.targets = targets;
    c->facts.target_count = ARRAY_LEN(targets);
    c->facts.commands = commands;
    c->facts.command_count = ARRAY_LEN(commands);
    case_rule(c, ACCESS_RW, ORIGIN_CALL, 0, "/w", "d");
    case_rule(c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/home/u/secret", "d");
}

static const struct plan *compile(struct facts_case *c, uint32_t backend)
{
    const struct plan_request request = { .argv = argv, .argc = 1, .backend = backend };
    const struct plan *plan = NULL;
    abx_error *err = NULL;

    if (plan_compile(&c->policy, &c->facts, &request, &c->arena, &plan, &err) != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    return plan;
}

static const struct mount_op *find_op(const struct plan *p, uint32_t kind, const char *path)
{
    for (uint32_t i = 0; i < p->mount_count; i++)
        if (p->mounts[i].kind == kind && str_eq(p->mounts[i].path, path))
            return &p->mounts[i];
    return NULL;
}

static void expect_words(const struct plan *p, const char *path, const char *const *words,
                         size_t count)
{
    const struct mount_op *op = find_op(p, MOUNT_WRAP, path);

    assert_non_null(op);
    assert_int_equal(op->mode, count);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(p->words[op->size + i], words[i]);
}

static void each_cover_knows_its_own_rules(void **state)
{
    static const char *const dash[] = {
        "/run/agentbox/secret/0/dash", "dash", "/tmp", "", "sh", "b"
    };
    static const char *const git[] = {
        "/run/agentbox/secret/1/git", "git", "/tmp", "", "git", "g@git"
    };
    static const char *const npm[] = { "/usr/lib/npm/cli.js",          "npm", "/tmp", "", "npm",
                                       "s/run/agentbox/secret/s2/w.sh" };
    struct facts_case c;

    (void)state;
    wrapped_case(&c);
    const struct plan *p = compile(&c, BACKEND_NATIVE);
    expect_words(p, "/usr/bin/dash", dash, ARRAY_LEN(dash));
    expect_words(p, "/usr/bin/git", git, ARRAY_LEN(git));
    expect_words(p, "/usr/bin/npm", npm, ARRAY_LEN(npm));
    assert_int_not_equal(plan_encoded_size(p), 0);
    case_done(&c);
}

static void what_is_mounted_in_the_private_tmp_is_not_private(void **state)
{
    static const char *const git[] = {
        "/run/agentbox/secret/1/git", "git", "/tmp", "/tmp/a/b", "/tmp/work", "", "git", "g@git"
    };
    struct facts_case c;

    (void)state;
    wrapped_case(&c);
    case_rule(&c, ACCESS_RW, ORIGIN_CALL, 0, "/tmp/work", "d");
    case_rule(&c, ACCESS_RW, ORIGIN_CALL, 0, "/tmp/work/sub", "d");
    case_rule(&c, ACCESS_RW, ORIGIN_CALL, 0, "/tmp/a/b", "d");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/tmp/fixed", "d");
    expect_words(compile(&c, BACKEND_NATIVE), "/usr/bin/git", git, ARRAY_LEN(git));
    case_done(&c);
}

static void with_more_roots_than_a_wrapper_can_know_nothing_is_private(void **state)
{
    static const char *const git[] = {
        "/run/agentbox/secret/1/git", "git", "", "", "git", "g@git"
    };
    char paths[WRAP_MAX_ROOTS + 1][16];
    struct facts_case c;

    (void)state;
    wrapped_case(&c);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        (void)snprintf(paths[i], sizeof paths[i], "/tmp/r%02zu", i);
        case_rule(&c, ACCESS_RW, ORIGIN_CALL, 0, paths[i], "d");
    }
    expect_words(compile(&c, BACKEND_NATIVE), "/usr/bin/git", git, ARRAY_LEN(git));
    case_done(&c);
}

static void real_programs_and_scripts_are_where_only_wrappers_look(void **state)
{
    struct facts_case c;

    (void)state;
    wrapped_case(&c);
    const struct plan *p = compile(&c, BACKEND_NATIVE);
    const struct mount_op *op = find_op(p, MOUNT_COPY, "/run/agentbox/secret/0/dash");
    assert_non_null(op);
    assert_string_equal(op->text, "/usr/bin/dash");
    assert_int_equal(op->ino, 1);
    assert_true(op->flags & MOUNT_EARLY);
    assert_non_null(find_op(p, MOUNT_LINK, "/run/agentbox/secret/0/sh"));
    assert_non_null(find_op(p, MOUNT_COPY, "/run/agentbox/secret/s2/w.sh"));
    assert_int_equal(find_op(p, MOUNT_DIR, "/run/agentbox")->mode, 0111);
    assert_int_equal(find_op(p, MOUNT_DIR, "/run/agentbox/secret")->mode, 0111);
    case_done(&c);
}

static void what_is_hidden_is_neither_covered_nor_copied(void **state)
{
    struct facts_case c;

    (void)state;
    wrapped_case(&c);
    const struct plan *p = compile(&c, BACKEND_NATIVE);
    assert_null(find_op(p, MOUNT_WRAP, "/home/u/secret/git"));
    for (uint32_t i = 0; i < p->mount_count; i++)
        assert_false(str_has_prefix(p->mounts[i].text, "/home/u/secret/"));
    case_done(&c);
}

/* With the NULs between them, and behind the last. */
static bool has_words(const struct buf *b, const char *words, size_t len)
{
    return memmem(b->data, b->len, words, len) != NULL;
}

#define BIND_DATA(fd, path) "--perms\0000111\0--ro-bind-data\0" fd "\0" path

static void bubblewrap_covers_programs_by_descriptor_but_no_links(void **state)
{
    static const char dash[] = BIND_DATA("16", "/usr/bin/dash"),
                      git[] = BIND_DATA("17", "/usr/bin/git"), npm[] = "\0/usr/bin/npm";
    struct facts_case c;
    struct buf words;

    (void)state;
    wrapped_case(&c);
    const struct plan *p = compile(&c, BACKEND_BWRAP);
    buf_init(&words, PLAN_MAX_BYTES);
    assert_int_equal(bwrap_words(p, &words, NULL), ABX_OK);
    assert_true(has_words(&words, dash, sizeof dash));
    assert_true(has_words(&words, git, sizeof git));
    assert_false(has_words(&words, npm, sizeof npm));
    assert_int_equal(bwrap_lacks(p) & BWRAP_LACKS_WRAPS, BWRAP_LACKS_WRAPS);
    buf_done(&words);
    case_done(&c);
}

static void for_a_setuid_bubblewrap_nothing_is_covered(void **state)
{
    const struct plan_request request = {
        .argv = argv, .argc = 1, .backend = BACKEND_BWRAP, .uncovered = true
    };
    struct facts_case c;
    const struct plan *p = NULL;

    (void)state;
    wrapped_case(&c);
    assert_int_equal(plan_compile(&c.policy, &c.facts, &request, &c.arena, &p, NULL), ABX_OK);
    assert_int_equal(p->word_count, 0);
    assert_null(find_op(p, MOUNT_WRAP, "/usr/bin/dash"));
    case_done(&c);
}

static void a_slot_takes_what_fits_and_belongs_to_the_plan(void **state)
{
    static char longest[sizeof((struct wrap_slot *)NULL)->text - 2];
    const char *const words[] = { "a", longest, "" };
    const struct plan p = { .words = words, .word_count = 3 };
    struct mount_op op = { .kind = MOUNT_WRAP, .size = 0, .mode = 2 };
    struct wrap_slot slot = { 0 };

    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    assert_int_equal(slot_fill(&p, &op, &slot), 0);
    assert_int_equal(slot.magic, WRAP_MAGIC);
    assert_int_equal(slot.len, sizeof slot.text);
    assert_memory_equal(slot.text, "a\0xx", 4);
    op.mode = 3;
    assert_int_equal(slot_fill(&p, &op, &slot), -E2BIG);
    op.mode = 4;
    assert_int_equal(slot_fill(&p, &op, &slot), -EINVAL);
    op.size = 4;
    op.mode = 0;
    assert_int_equal(slot_fill(&p, &op, &slot), -EINVAL);
    op.size = UINT64_MAX;
    op.mode = 2;
    assert_int_equal(slot_fill(&p, &op, &slot), -EINVAL);
}

/* GRANT_READ is three of them. */
static bool has_rule(const struct plan *p, uint32_t grant, const char *path)
{
    const bool reads = grant == GRANT_FILES || grant == GRANT_LIST || grant == GRANT_EXEC;

    for (uint32_t i = 0; i < p->rule_count; i++)
        if ((p->rules[i].grant == grant || (reads && p->rules[i].grant == GRANT_READ)) &&
            str_eq(p->rules[i].path, path))
            return true;
    return false;
}

static void without_mounts_there_are_only_rules(void **state)
{
    struct facts_case c;

    (void)state;
    wrapped_case(&c);
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_BUILTIN, 0, "/home/u/.ssh", "d");
    struct plan p = *compile(&c, BACKEND_INNER);
    assert_int_equal(p.layers, LAYER_BIT(LAYER_LANDLOCK) | LAYER_BIT(LAYER_SECCOMP) |
                                   LAYER_BIT(LAYER_LIMITS));
    assert_int_equal(p.word_count, 0);
    assert_int_equal(p.hold_count, 0);
    assert_null(find_op(&p, MOUNT_MASK_DIR, "/home/u/.ssh")); /* the outer run hides it */

    c.facts.command_count = c.facts.target_count = 0;
    assert_int_equal(enumerate_rules(&c.facts, &c.arena, &p, NULL), ABX_OK);
    assert_true(has_rule(&p, GRANT_CHANGE, "/w"));
    assert_true(has_rule(&p, GRANT_CHANGE, "/tmp"));
    assert_true(has_rule(&p, GRANT_DEVICE, "/dev"));
    assert_false(has_rule(&p, GRANT_FILES, "/")); /* something below is hidden */
    assert_true(has_rule(&p, GRANT_EXEC, "/usr"));
    assert_false(has_rule(&p, GRANT_LIST, "/home/u/secret"));
    case_done(&c);
}

/* What a command made may take for ever: entries by the thousand, each held against every rule. */
static void rules_that_take_too_long_are_refused(void **state)
{
    struct facts_case c;
    abx_error *err = NULL;

    (void)state;
    wrapped_case(&c);
    struct plan p = *compile(&c, BACKEND_INNER);
    assert_int_equal(enumerate_rules_within(-1, &c.facts, &c.arena, &p, &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "seconds"));
    assert_string_not_equal(abx_error_hint(err), "");
    abx_error_free(err);
    case_done(&c);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cover_knows_its_own_rules),
        cmocka_unit_test(what_is_mounted_in_the_private_tmp_is_not_private),
        cmocka_unit_test(with_more_roots_than_a_wrapper_can_know_nothing_is_private),
        cmocka_unit_test(real_programs_and_scripts_are_where_only_wrappers_look),
        cmocka_unit_test(what_is_hidden_is_neither_covered_nor_copied),
        cmocka_unit_test(bubblewrap_covers_programs_by_descriptor_but_no_links),
        cmocka_unit_test(for_a_setuid_bubblewrap_nothing_is_covered),
        cmocka_unit_test(a_slot_takes_what_fits_and_belongs_to_the_plan),
        cmocka_unit_test(without_mounts_there_are_only_rules),
        cmocka_unit_test(rules_that_take_too_long_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
