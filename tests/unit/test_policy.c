/* SPDX-License-Identifier: Apache-2.0 */
/* Settings and presets to a policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "policy/policy.h"
#include "policy/presets.h"

struct fixture {
    struct arena arena;
    struct settings *config, *call;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f || settings_new(ORIGIN_GLOBAL, &f->config, NULL) ||
        settings_new(ORIGIN_CALL, &f->call, NULL))
        return -1;
    arena_init(&f->arena, ARENA_DEFAULT_LIMIT);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    settings_free(f->config);
    settings_free(f->call);
    arena_done(&f->arena);
    free(f);
    return 0;
}

static const struct policy *build(struct fixture *f)
{
    const struct policy *p = NULL;
    abx_error *err = NULL;

    if (policy_build(f->config, f->call, &f->arena, &p, &err) != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    return p;
}

static const struct policy_rule *rule_for(const struct policy *p, const char *text)
{
    for (size_t i = 0; i < p->rule_count; i++)
        if (str_eq(p->rules[i].text, text))
            return &p->rules[i];
    return NULL;
}

static void defaults_are_strict_and_filtered(void **state)
{
    struct fixture *f = *state;
    const struct policy *p = NULL;

    assert_int_equal(policy_build(NULL, NULL, &f->arena, &p, NULL), ABX_OK);
    assert_true(p->strict && p->tmp_private && p->protect_names);
    assert_false(p->unix_sockets || p->nested);
    assert_int_equal(p->network, NETWORK_FILTERED);
    assert_int_equal(p->presets, PRESET_ALL);
    assert_int_equal(p->max_processes, 1024);
    assert_int_equal(p->max_memory, UINT64_C(2) << 30);
    assert_int_equal(p->max_fds, 1024);
    assert_int_equal(p->max_cpu_seconds, 0);
    assert_int_equal(p->max_output, 10 << 20);
    assert_int_equal(p->grace_ns, 10 * NSEC_PER_SEC);
    assert_string_equal(p->shell, "/bin/sh");
}

static void presets_of_the_program_fill_what_is_not_said(void **state)
{
    struct fixture *f = *state;

    settings_set(f->config, "preset", "development", NULL, NULL);
    const struct policy *p = build(f);
    assert_false(p->strict);
    assert_int_equal(p->network, NETWORK_ALLOWED);

    settings_set(f->call, "network.mode", "blocked", NULL, NULL);
    p = build(f);
    assert_false(p->strict);
    assert_int_equal(p->network, NETWORK_BLOCKED);

    settings_set(f->call, "preset", "ci", NULL, NULL);
    p = build(f);
    assert_true(p->strict);
}

static void call_beats_config_for_single_values(void **state)
{
    struct fixture *f = *state;

    settings_set(f->config, "resourceLimits.maxMemoryBytes", "1G", NULL, NULL);
    settings_set(f->config, "filesystem.tmp", "host", NULL, NULL);
    settings_set(f->call, "resourceLimits.maxMemoryBytes", "0", NULL, NULL);
    const struct policy *p = build(f);
    assert_int_equal(p->max_memory, 0);
    assert_false(p->tmp_private);
}

static void network_modes_are_what_they_are_called(void **state)
{
    static const struct {
        const char *word;
        enum network_mode mode;
    } modes[] = { { "filtered", NETWORK_FILTERED },
                  { "blocked", NETWORK_BLOCKED },
                  { "allowed", NETWORK_ALLOWED } };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        const struct policy *p = NULL;

        settings_set(f->call, "network.mode", modes[i].word, NULL, NULL);
        assert_int_equal(policy_build(f->config, f->call, &f->arena, &p, NULL), ABX_OK);
        assert_int_equal(p->network, modes[i].mode);
    }
}

static void toggles_follow_the_table(void **state)
{
    static const struct {
        const char *toggles[3];
        uint32_t expected;
    } table[] = {
        { { NULL }, PRESET_ALL },
        { { "!@lint/python" }, PRESET_ALL & ~PRESET_LINT_PYTHON },
        { { "@git-strict" }, PRESET_ALL | PRESET_GIT_STRICT },
        { { "@base" }, PRESET_ALL },
        { { "!@all", "@base" }, PRESET_BASE },
        { { "!@base", "@all" }, PRESET_ALL },
        { { "@all", "!@base" }, PRESET_ALL & ~PRESET_BASE },
        { { "!@lint/all", "@lint/python" }, (PRESET_ALL & ~PRESET_LINT_ALL) | PRESET_LINT_PYTHON },
        { { "!@all" }, 0 },
        { { "!@all", "@git-strict" }, PRESET_GIT_STRICT },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct fixture *f = NULL;
        assert_int_equal(setup((void **)&f), 0);
        for (size_t j = 0; j < 3 && table[i].toggles[j]; j++)
            settings_append(j ? f->call : f->config, "filesystem.presets", table[i].toggles[j],
                            NULL, NULL);
        assert_int_equal(build(f)->presets, table[i].expected);
        teardown((void **)&f);
    }
}

static void rules_keep_origin_source_and_text(void **state)
{
    struct fixture *f = *state;

    settings_append(f->config, "filesystem.denyRead", "~/x", NULL, NULL);
    settings_append(f->call, "filesystem.rw", "src/*", "--rw", NULL);
    const struct policy *p = build(f);
    const struct policy_rule *hidden = rule_for(p, "~/x"), *rw = rule_for(p, "src/*");
    assert_non_null(hidden);
    assert_int_equal(hidden->access, ACCESS_EXCLUDE);
    assert_int_equal(hidden->origin, ORIGIN_GLOBAL);
    assert_string_equal(hidden->source, "filesystem.denyRead");
    assert_int_equal(hidden->flags, 0);
    assert_non_null(rw);
    assert_int_equal(rw->origin, ORIGIN_CALL);
    assert_int_equal(rw->flags, RULE_GLOB);
    assert_string_equal(rw->source, "--rw");
}

static void presets_that_are_off_leave_no_rules(void **state)
{
    struct fixture *f = *state;

    const struct policy *all = build(f);
    assert_non_null(rule_for(all, "~/.ssh"));
    assert_non_null(rule_for(all, "tsconfig.json"));
    assert_non_null(rule_for(all, ".editorconfig"));
    settings_append(f->call, "filesystem.presets", "!@all", NULL, NULL);
    assert_int_equal(build(f)->rule_count, 0);
    settings_append(f->call, "filesystem.presets", "@lint/go", NULL, NULL);
    const struct policy *go = build(f);
    assert_non_null(rule_for(go, ".golangci.yml"));
    assert_non_null(rule_for(go, ".editorconfig"));
    assert_null(rule_for(go, "tsconfig.json"));
}

static void default_presets_hide_secrets_and_keep_host_programs(void **state)
{
    static const char *const hidden[] = { "~/.ssh",
                                          "~/.gnupg",
                                          "~/.aws",
                                          "~/.git-credentials",
                                          "~/.npmrc",
                                          "~/.netrc",
                                          "~/.docker",
                                          "~/.pypirc",
                                          "~/.kube",
                                          "~/.config/gcloud",
                                          "~/.config/gh",
                                          "~/.azure",
                                          "~/.password-store",
                                          "~/.local/share/keyrings",
                                          "~/.mozilla",
                                          "~/.bash_history" };
    static const char *const kept[] = { "~/.cargo/bin",    "~/.cargo/config.toml",
                                        "~/.cargo/env",    "~/go/bin",
                                        "~/.bun/bin",      "~/.claude/settings.json",
                                        "~/.claude/hooks", "~/.codex/config.toml" };
    const struct policy *p = build(*state);

    for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
        const struct policy_rule *rule = rule_for(p, hidden[i]);
        assert_true(rule && rule->access == ACCESS_EXCLUDE);
    }
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct policy_rule *rule = rule_for(p, kept[i]);
        assert_true(rule && rule->access == ACCESS_RO && (rule->flags & RULE_PROTECT));
    }
}

static void environment_entries_keep_their_order(void **state)
{
    struct fixture *f = *state;

    settings_append(f->config, "environment.set", "A=1=2", NULL, NULL);
    settings_append(f->config, "environment.pass", "B", NULL, NULL);
    settings_append(f->call, "environment.unset", "A", NULL, NULL);
    const struct policy *p = build(f);
    assert_int_equal(p->env_count, 3);
    assert_int_equal(p->env[0].action, ENV_SET);
    assert_string_equal(p->env[0].name, "A");
    assert_string_equal(p->env[0].value, "1=2");
    assert_int_equal(p->env[1].action, ENV_PASS);
    assert_int_equal(p->env[2].action, ENV_UNSET);
    assert_int_equal(p->env[2].origin, ORIGIN_CALL);
}

static void tables_are_sorted_and_unique(void **state)
{
    (void)state;
    for (size_t i = 1; preset_row(i); i++) {
        const struct preset_row *a = preset_row(i - 1), *b = preset_row(i);
        int r = strcmp(a->name, b->name);
        if (r > 0 || (r == 0 && strcmp(a->path, b->path) >= 0))
            fail_msg("presets.def: %s %s", b->name, b->path);
    }
    for (size_t i = 1; name_row(i); i++)
        assert_true(strcmp(name_row(i - 1)->name, name_row(i)->name) < 0);
}

static void running_out_of_memory_is_reported(void **state)
{
    struct fixture *f = *state;

    settings_append(f->call, "filesystem.rw", "x", NULL, NULL);
    for (size_t limit = 0; limit < 16000; limit += 500) {
        struct arena small;
        const struct policy *p = NULL;
        arena_init(&small, limit);
        int32_t r = policy_build(f->config, f->call, &small, &p, NULL);
        assert_true(r == ABX_E_NOMEM || (r == ABX_OK && p));
        arena_done(&small);
    }
}

int main(void)
{
#define POLICY_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        POLICY_TEST(defaults_are_strict_and_filtered),
        POLICY_TEST(presets_of_the_program_fill_what_is_not_said),
        POLICY_TEST(call_beats_config_for_single_values),
        POLICY_TEST(network_modes_are_what_they_are_called),
        cmocka_unit_test(toggles_follow_the_table),
        POLICY_TEST(rules_keep_origin_source_and_text),
        POLICY_TEST(presets_that_are_off_leave_no_rules),
        POLICY_TEST(default_presets_hide_secrets_and_keep_host_programs),
        POLICY_TEST(environment_entries_keep_their_order),
        cmocka_unit_test(tables_are_sorted_and_unique),
        POLICY_TEST(running_out_of_memory_is_reported),
    };

    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
