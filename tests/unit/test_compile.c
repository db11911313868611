/* SPDX-License-Identifier: Apache-2.0 */
/* A whole plan from policy, facts and request. */
#include "lib/facts_case.h"

#include <sys/resource.h>

#include "base/str.h"
#include "plan/codec.h"

static const char *const argv[] = { "make", "test", NULL };
static const char *const envp[] = { "PATH=/bin", "A_TOKEN=x", NULL };

static const struct plan_request request = {
    .argv = argv, .argc = 2, .envp = envp, .tty = 7, .timeout_ns = 5 * NSEC_PER_SEC
};

static const struct plan *compile(struct facts_case *c)
{
    const struct plan *plan = NULL;
    abx_error *err = NULL;

    if (plan_compile(&c->policy, &c->facts, &request, &c->arena, &plan, &err) != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    return plan;
}

static uint64_t limit_of(const struct plan *p, uint32_t resource)
{
    for (uint32_t i = 0; i < p->limit_count; i++)
        if (p->limits[i].resource == resource)
            return p->limits[i].value;
    return 0;
}

static void plan_says_what_policy_facts_and_request_say(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    case_workdir(&c);
    const struct plan *p = compile(&c);
    assert_int_equal(p->argv_count, 2);
    assert_string_equal(p->argv[1], "test");
    assert_null(p->argv[2]);
    assert_string_equal(p->cwd, "/w");
    assert_string_equal(p->path, "/bin");
    assert_int_equal(p->tty, 7);
    assert_int_equal(p->timeout_ns, 5 * NSEC_PER_SEC);
    assert_int_equal(p->grace_ns, 10 * NSEC_PER_SEC);
    assert_int_equal(p->uid, 1000);
    assert_int_equal(p->map_all_ids, 0);
    assert_true(p->filter.count > 0 && p->init_filter.count > 0);
    assert_int_equal(p->test_skip, 0);
    for (uint32_t i = 0; i < p->env_count; i++)
        assert_false(str_has_prefix(p->env[i], "A_TOKEN="));
    case_done(&c);
}

static void all_layers_are_required_unless_the_network_is_shared(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    const struct plan *p = compile(&c);
    assert_int_equal(p->required, LAYER_BIT(LAYER_COUNT) - 1);
    assert_int_equal(p->layers, p->required);
    assert_int_equal(p->network_shared, 0);
    c.policy.network = NETWORK_ALLOWED;
    p = compile(&c);
    assert_int_equal(p->required, (LAYER_BIT(LAYER_COUNT) - 1) & ~LAYER_BIT(LAYER_NETNS));
    assert_int_equal(p->network_shared, 1);
    case_done(&c);
}

static void limits_bind_root_by_pids_only(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    c.policy.max_cpu_seconds = 9;
    const struct plan *p = compile(&c);
    assert_int_equal(limit_of(p, RLIMIT_CORE), 1);
    assert_int_equal(limit_of(p, RLIMIT_NOFILE), 64);
    assert_int_equal(limit_of(p, RLIMIT_DATA), UINT64_C(1) << 30);
    assert_int_equal(limit_of(p, RLIMIT_CPU), 9);
    assert_int_equal(limit_of(p, RLIMIT_NPROC), 100);
    assert_int_equal(p->pid_max, 400);
    c.facts.is_root = true;
    p = compile(&c);
    assert_int_equal(limit_of(p, RLIMIT_NPROC), 0);
    assert_int_equal(p->pid_max, 400);
    assert_int_equal(p->map_all_ids, 1);
    case_done(&c);
}

static void no_limit_means_no_limit(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    c.policy.max_memory = c.policy.max_fds = c.policy.max_processes = 0;
    const struct plan *p = compile(&c);
    assert_int_equal(p->limit_count, 1); /* core */
    assert_int_equal(p->pid_max, 0);
    case_done(&c);
}

static void filter_follows_the_options(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    const uint64_t *plain = compile(&c)->filter.insns;
    c.policy.nested = true;
    const uint64_t *nested = compile(&c)->filter.insns;
    c.policy.nested = false;
    c.policy.unix_sockets = true;
    const uint64_t *sockets = compile(&c)->filter.insns;
    assert_ptr_not_equal(plain, nested);
    assert_ptr_not_equal(plain, sockets);
    assert_ptr_not_equal(nested, sockets);
    case_done(&c);
}

static void misuse_is_refused(void **state)
{
    static const char *const empty[] = { "", NULL };
    static const char *const holed[] = { "a", NULL, "b" };
    const struct plan_request bad[] = {
        { .argv = NULL, .argc = 0 },
        { .argv = argv, .argc = 0 },
        { .argv = empty, .argc = 1 },
        { .argv = holed, .argc = 3 },
        { .argv = argv, .argc = 2, .timeout_ns = -1 },
        { .argv = argv, .argc = PLAN_MAX_STRINGS },
    };
    struct facts_case c;

    (void)state;
    case_init(&c);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct plan *p = NULL;
        abx_error *err = NULL;
        assert_int_equal(plan_compile(&c.policy, &c.facts, &bad[i], &c.arena, &p, &err),
                         ABX_E_INVALID);
        assert_null(p);
        assert_true(abx_error_message(err)[0] != '\0');
        abx_error_free(err);
    }
    case_done(&c);
}

static void plan_that_is_too_large_is_refused(void **state)
{
    size_t len = (size_t)40 << 20;
    char *word = malloc(len + 1);
    const char *words[] = { "a", word, word, NULL };
    const struct plan_request large = { .argv = words, .argc = 3 };
    struct facts_case c;
    const struct plan *p = NULL;

    (void)state;
    assert_non_null(word);
    memset(word, 'x', len);
    word[len] = '\0';
    case_init(&c);
    assert_int_equal(plan_compile(&c.policy, &c.facts, &large, &c.arena, &p, NULL), ABX_E_INVALID);
    case_done(&c);
    free(word);
}

static void same_input_gives_the_same_bytes(void **state)
{
    uint8_t *images[2];
    size_t sizes[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct facts_case c;
        case_init(&c);
        case_places(&c);
        case_workdir(&c);
        /* The order in which facts come must not matter. */
        case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, i ? "/w/a" : "/w/b", "d");
        case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, i ? "/w/b" : "/w/a", "d");
        c.paths[1].ino = c.paths[2].ino = 5;
        const struct plan *p = compile(&c);
        sizes[i] = plan_encoded_size(p);
        images[i] = malloc(sizes[i]);
        assert_non_null(images[i]);
        plan_encode(p, images[i], sizes[i]);
        case_done(&c);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(images[0], images[1], sizes[0]);
    free(images[0]);
    free(images[1]);
}

static void notice_is_silent_where_a_rule_grants_the_directory(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    c.policy.presets = 1;
    c.facts.cwd = "/home/u";
    assert_non_null(plan_notice(&c.policy, &c.facts));
    case_rw(&c, "/home");
    assert_null(plan_notice(&c.policy, &c.facts));
    case_done(&c);
}

static void sizes_follow_the_memory_limit(void **state)
{
    struct facts_case c;
    struct plan plan;

    (void)state;
    case_init(&c);
    case_places(&c);
    static const struct {
        uint64_t memory, tmp, expected;
    } table[] = { { UINT64_C(1) << 30, 0, UINT64_C(1) << 30 },
                  { UINT64_C(8) << 30, 0, UINT64_C(2) << 30 },
                  { 0, 0, UINT64_C(2) << 30 },
                  { 0, UINT64_C(5) << 30, UINT64_C(5) << 30 } };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        c.policy.max_memory = table[i].memory;
        c.policy.tmp_bytes = table[i].tmp;
        free(case_mounts(&c, &plan));
        for (uint32_t j = 0; j < plan.mount_count; j++)
            if (str_eq(plan.mounts[j].path, "/tmp"))
                assert_int_equal(plan.mounts[j].size, table[i].expected);
    }
    case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_says_what_policy_facts_and_request_say),
        cmocka_unit_test(all_layers_are_required_unless_the_network_is_shared),
        cmocka_unit_test(limits_bind_root_by_pids_only),
        cmocka_unit_test(no_limit_means_no_limit),
        cmocka_unit_test(filter_follows_the_options),
        cmocka_unit_test(sizes_follow_the_memory_limit),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(plan_that_is_too_large_is_refused),
        cmocka_unit_test(same_input_gives_the_same_bytes),
        cmocka_unit_test(notice_is_silent_where_a_rule_grants_the_directory),
    };

    return cmocka_run_group_tests_name("compile", tests, NULL, NULL);
}
