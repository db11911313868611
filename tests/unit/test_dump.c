/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as text and as JSON, held against tests/golden. ABX_GOLDEN_UPDATE=1 writes the files anew;
 * look at the difference before it is committed.
 */
#include "lib/facts_case.h"

#include "base/str.h"
#include "lib/golden.h"
#include "plan/bwrap.h"

static const char *const argv[] = { "sh", "-c", "echo \x1b[31m", NULL };
static const char *const envp[] = { "PATH=/bin", "SHOWN_TOKEN=secret-value", NULL };

/* One of everything. */
static const struct plan *sample(struct facts_case *c)
{
    static const struct keep_fact keep = { .path = "/run/current-system", .target = "/nix/x" };
    static const struct proc_fact proc = { "/proc/keys", false };
    static const struct pin_fact pin = { "/w/link", 7, 70, true, false };
    static const struct policy_env pass = { ENV_PASS, ORIGIN_CALL, "SHOWN_TOKEN", NULL };
    const struct plan_request request = {
        .argv = argv, .argc = 3, .envp = envp, .timeout_ns = 30 * NSEC_PER_SEC
    };
    const struct plan *plan = NULL;

    case_init(c);
    case_places(c);
    c->facts.keeps = &keep;
    c->facts.keep_count = 1;
    c->facts.procs = &proc;
    c->facts.proc_count = 1;
    c->policy.env = &pass;
    c->policy.env_count = 1;
    case_workdir(c);
    case_rule(c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/w/.git/config", "f");
    case_rule(c, ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT, "/w/.git/hooks", "/w/.git");
    struct path_fact *f = case_rule(c, ACCESS_RO, ORIGIN_CALL, 0, "/w/a\nb", "f");
    f->pins = &pin;
    f->pin_count = 1;
    case_rule(c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/home/u", "d");
    case_rule(c, ACCESS_RW, ORIGIN_CALL, RULE_IF_PRESENT, "/home/u/.cache", "d");
    case_rule(c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/w/.env", "f");
    assert_int_equal(plan_compile(&c->policy, &c->facts, &request, &c->arena, &plan, NULL), ABX_OK);
    /* The filters have tests of their own; here they would only change with every syscall. */
    struct plan *copy = arena_alloc(&c->arena, 1, sizeof *copy);
    assert_non_null(copy);
    *copy = *plan;
    copy->filter.count = 100;
    copy->init_filter.count = 40;
    return copy;
}

static void expect_golden(const char *format, const char *name)
{
    struct facts_case c;
    _buf_ struct buf got = { .limit = 1 << 20 };

    if (str_eq(format, "bwrap"))
        assert_int_equal(bwrap_print(sample(&c), envp, &got, NULL), ABX_OK);
    else
        assert_int_equal(plan_dump(sample(&c), format, &got, NULL), ABX_OK);
    golden_expect(&got, name);
    assert_null(strstr(got.data, "secret-value"));
    case_done(&c);
}

static void text_equals_the_golden_file(void **state)
{
    (void)state;
    expect_golden("text", "plan.txt");
}

static void json_equals_the_golden_file(void **state)
{
    (void)state;
    expect_golden("json", "plan.json");
}

static void command_for_bubblewrap_equals_the_golden_file(void **state)
{
    (void)state;
    expect_golden("bwrap", "bwrap.txt");
}

static void unknown_format_is_refused(void **state)
{
    struct facts_case c;
    struct buf b;
    abx_error *err = NULL;

    (void)state;
    buf_init(&b, 1 << 20);
    assert_int_equal(plan_dump(sample(&c), "yaml", &b, &err), ABX_E_INVALID);
    assert_string_equal(abx_error_hint(err), "use text, json, bwrap or seatbelt");
    abx_error_free(err);
    buf_done(&b);
    case_done(&c);
}

static void full_buffer_is_reported(void **state)
{
    struct facts_case c;
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    assert_int_equal(plan_dump(sample(&c), "text", &b, NULL), ABX_E_NOMEM);
    buf_done(&b);
    case_done(&c);
}

static void names_cover_every_value(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < LAYER_NAME_COUNT; i++)
        assert_string_not_equal(plan_layer_name(i), "?");
    for (uint32_t i = 0; i < MOUNT_KIND_COUNT; i++)
        assert_non_null(plan_mount_name(i));
    assert_string_equal(plan_layer_name(LAYER_NAME_COUNT), "?");
    assert_string_equal(plan_mount_name(MOUNT_KIND_COUNT), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_equals_the_golden_file),
        cmocka_unit_test(json_equals_the_golden_file),
        cmocka_unit_test(command_for_bubblewrap_equals_the_golden_file),
        cmocka_unit_test(unknown_format_is_refused),
        cmocka_unit_test(full_buffer_is_reported),
        cmocka_unit_test(names_cover_every_value),
    };

    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
