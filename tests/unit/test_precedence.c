/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rule decides a path: random sets of rules against a slow model that is plainly right, for
 * the function that answers one question and for the mount list that answers all of them.
 */
#include "lib/access_model.h"

#include "policy/precedence.h"

#define ROUNDS 12000

static void verdict_equals_the_model(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct facts_case c;
        struct access_claim claims[MAX_RULES];
        const struct policy_rule *decides;

        seed = round + 1;
        case_init(&c);
        random_rules(&c, 0);
        for (size_t i = 0; i < c.facts.path_count; i++)
            claims[i] = (struct access_claim){ c.paths[i].path, c.paths[i].rule };
        for (unsigned i = 0; i < 20; i++) {
            const char *path = random_path(&c.arena, 0);
            uint32_t got = precedence_verdict(claims, c.facts.path_count, path, &decides);
            if (got != model(&c, path))
                fail_msg("round %u, path %s: %s, model says %s", round, path, access_name(got),
                         access_name(model(&c, path)));
            assert_true(!decides || decides->access >= got || (decides->flags & RULE_PROTECT));
        }
        case_done(&c);
    }
}

/* ---- the mount list, seen as a kernel would ------------------------------------------------- */

static const struct mount_op *mount_at(const struct plan *p, const char *path)
{
    const struct mount_op *best = NULL;

    for (uint32_t i = 0; i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];
        if (op->kind != MOUNT_DIR && op->kind != MOUNT_FILE && path_is_beneath(path, op->path) &&
            (!best || strlen(op->path) >= strlen(best->path)))
            best = op;
    }
    return best;
}

static uint32_t seen_access(const struct plan *p, const char *path)
{
    const struct mount_op *op = mount_at(p, path);

    if (!op || op->kind == MOUNT_BIND_RO)
        return ACCESS_RO;
    return op->kind == MOUNT_BIND_RW || op->kind == MOUNT_PIN ? ACCESS_RW : ACCESS_EXCLUDE;
}

static bool is_mounted(const struct plan *p, const char *path, uint32_t before)
{
    for (uint32_t i = 0; i < before; i++)
        if (str_eq(p->mounts[i].path, path))
            return true;
    return false;
}

/* Parents first, one mount a path, nothing above a mount can be renamed, hidden sources are early.
 */
static void check_order(struct facts_case *c, const struct plan *p, unsigned round)
{
    for (uint32_t i = 0; i < p->mount_count; i++) {
        const struct mount_op *op = &p->mounts[i];
        const char *parent = path_parent(&c->arena, op->path);

        for (uint32_t j = 0; j < i; j++) {
            if (path_is_beneath(p->mounts[j].path, op->path) &&
                !(str_eq(p->mounts[j].path, op->path) && p->mounts[j].kind == MOUNT_DIR))
                fail_msg("round %u: %s comes after what lies below it", round, op->path);
        }
        for (const char *at = parent; at[1]; at = path_parent(&c->arena, at))
            if (seen_access(p, path_parent(&c->arena, at)) == ACCESS_RW && !is_mounted(p, at, i))
                fail_msg("round %u: %s could be renamed from above %s", round, at, op->path);
        const struct mount_op *above = mount_at(p, parent);
        bool covered = above && above->kind == MOUNT_TMPFS;
        if (op->kind == MOUNT_BIND_RW || op->kind == MOUNT_BIND_RO) {
            assert_int_equal(covered, (op->flags & MOUNT_EARLY) != 0);
            assert_int_equal(covered, is_mounted(p, op->path, i)); /* a mount point was made */
        }
    }
}

static void mounts_show_what_the_model_says(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct facts_case c;
        struct plan plan = { 0 };
        abx_error *err = NULL;

        seed = round + 1;
        case_init(&c);
        c.facts.cwd = "/elsewhere";
        c.facts.home = NULL;
        random_rules(&c, 1);
        assert_int_equal(mounts_compile(&c.policy, &c.facts, &c.arena, &plan, &err), ABX_OK);
        for (unsigned i = 0; i < 40; i++) {
            const char *path = random_path(&c.arena, 1);
            if (seen_access(&plan, path) != model(&c, path))
                fail_msg("round %u, path %s: mounted %s, model says %s", round, path,
                         access_name(seen_access(&plan, path)), access_name(model(&c, path)));
        }
        check_order(&c, &plan, round);
        case_done(&c);
    }
}

static void landlock_never_grants_less_than_the_mounts(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS / 4; round++) {
        struct facts_case c;
        struct plan plan = { 0 };
        abx_error *err = NULL;

        seed = round + 1;
        case_init(&c);
        c.facts.cwd = "/elsewhere";
        random_rules(&c, 1);
        assert_int_equal(mounts_compile(&c.policy, &c.facts, &c.arena, &plan, &err), ABX_OK);
        for (unsigned i = 0; i < 20; i++) {
            const char *path = random_path(&c.arena, 1);
            bool granted = false;
            for (uint32_t j = 0; j < plan.rule_count; j++)
                granted = granted || (plan.rules[j].grant == GRANT_WRITE &&
                                      path_is_beneath(path, plan.rules[j].path));
            assert_true(granted || seen_access(&plan, path) != ACCESS_RW);
        }
        case_done(&c);
    }
}

static void order_puts_a_directory_right_before_its_contents(void **state)
{
    static const char *const sorted[] = { "/",   "/a",    "/a/b", "/a/b/c", "/a/c", "/a\x01",
                                          "/a-", "/a-/x", "/a.b", "/ab",    "/b" };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sorted); i++)
        for (size_t j = 0; j < ARRAY_LEN(sorted); j++) {
            int r = precedence_path_order(sorted[i], sorted[j]);
            assert_int_equal((r > 0) - (r < 0), (i > j) - (i < j));
        }
}

static void examples_of_the_ancestor_hold(void **state)
{
    /* spec/agent-sandbox.md 6.4, with /d for the tree. */
    static const struct {
        struct policy_rule rules[3];
        const char *paths[3];
        const char *path;
        uint32_t expected;
    } table[] = {
        { { { ACCESS_RO, 4, 0, 0, 0 }, { ACCESS_RW, 4, 0, 0, 0 }, { ACCESS_EXCLUDE, 4, 0, 0, 0 } },
          { "/d", "/d/a", "/d/a/b" },
          "/d/a/b/x",
          ACCESS_EXCLUDE },
        { { { ACCESS_EXCLUDE, 4, RULE_GLOB, 0, 0 }, { ACCESS_RW, 4, 0, 0, 0 } },
          { "/d/a", "/d/a" },
          "/d/a",
          ACCESS_RW },
        { { { ACCESS_RW, 4, 0, 0, 0 }, { ACCESS_RO, 4, 0, 0, 0 } },
          { "/d", "/d" },
          "/d",
          ACCESS_RO },
        { { { ACCESS_EXCLUDE, 4, 0, 0, 0 }, { ACCESS_RO, 4, 0, 0, 0 } },
          { "/d", "/d/a/f" },
          "/d/a/f",
          ACCESS_RO },
        { { { ACCESS_EXCLUDE, 2, 0, 0, 0 }, { ACCESS_RO, 3, 0, 0, 0 } },
          { "/t", "/t" },
          "/t",
          ACCESS_RO },
        { { { ACCESS_RO, 3, 0, 0, 0 }, { ACCESS_RW, 4, 0, 0, 0 } },
          { "/x", "/x" },
          "/x",
          ACCESS_RW },
        { { { ACCESS_RW, 0, 0, 0, 0 } }, { "/x" }, "/xy", ACCESS_RO },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct access_claim claims[3];
        const struct policy_rule *decides;
        size_t n = 0;

        for (; n < 3 && table[i].paths[n]; n++)
            claims[n] = (struct access_claim){ table[i].paths[n], &table[i].rules[n] };
        assert_int_equal(precedence_verdict(claims, n, table[i].path, &decides), table[i].expected);
    }
}

/* What every run has anew is no rule, but what a rule lets in below it is. */
static void a_ceiling_holds_below_a_cover(void **state)
{
    struct facts_case c;
    struct plan plan;

    (void)state;
    case_init(&c);
    case_places(&c);
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_SYSTEM, RULE_FINAL, "/tmp", "d");
    case_rw(&c, "/tmp/x");
    char *text = case_mounts(&c, &plan);
    assert_non_null(strstr(text, "tmpfs /tmp\n"));
    assert_null(strstr(text, "/tmp/x"));
    free(text);
    case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdict_equals_the_model),
        cmocka_unit_test(mounts_show_what_the_model_says),
        cmocka_unit_test(landlock_never_grants_less_than_the_mounts),
        cmocka_unit_test(order_puts_a_directory_right_before_its_contents),
        cmocka_unit_test(examples_of_the_ancestor_hold),
        cmocka_unit_test(a_ceiling_holds_below_a_cover),
    };

    return cmocka_run_group_tests_name("precedence", tests, NULL, NULL);
}
