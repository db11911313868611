/* SPDX-License-Identifier: Apache-2.0 */
/* Layers: the stronger origin counts, whoever came first; lists keep all of them, in order. */
#include "policy/layers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "policy/groups.h"
#include "policy/policy.h"
#include "policy/presets.h"

struct fixture {
    struct arena arena;
    struct settings *settings; /* of all origins, in the order of the test */
    struct settings *call;
};

static int setup(void **state)
{
    static struct fixture f;

    arena_init(&f.arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(settings_new(ORIGIN_GLOBAL, &f.settings, NULL), ABX_OK);
    assert_int_equal(settings_new(ORIGIN_CALL, &f.call, NULL), ABX_OK);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    settings_free(f->settings);
    settings_free(f->call);
    arena_done(&f->arena);
    return 0;
}

static void set(struct fixture *f, enum origin origin, const char *key, const char *value)
{
    f->settings->origin = origin;
    assert_int_equal(settings_set(f->settings, key, value, NULL, NULL), ABX_OK);
}

static void append(struct fixture *f, enum origin origin, const char *key, const char *value)
{
    f->settings->origin = origin;
    assert_int_equal(settings_append(f->settings, key, value, NULL, NULL), ABX_OK);
}

static struct layers merged(struct fixture *f, uint32_t skip)
{
    const struct settings *const list[] = { f->call, NULL, f->settings };
    struct layers l;

    assert_int_equal(layers_merge(list, ARRAY_LEN(list), skip, &f->arena, &l, NULL), ABX_OK);
    return l;
}

static const struct policy *policy(struct fixture *f, const char *const *guards)
{
    struct layers l = merged(f, 0);
    const struct policy *p = NULL;

    assert_int_equal(policy_build_layers(&l, guards, &f->arena, &p, NULL), ABX_OK);
    return p;
}

static void a_scalar_is_that_of_the_strongest_origin(void **state)
{
    struct fixture *f = *state;
    struct layers l;

    set(f, ORIGIN_PROJECT, "shell", "/project");
    set(f, ORIGIN_SYSTEM, "shell", "/system");
    set(f, ORIGIN_GLOBAL, "shell", "/global");
    l = merged(f, 0);
    assert_string_equal(layers_value(&l, KEY_SHELL), "/project");
    l = merged(f, LAYERS_SKIP(ORIGIN_PROJECT));
    assert_string_equal(layers_value(&l, KEY_SHELL), "/global");
    l = merged(f, LAYERS_SKIP(ORIGIN_PROJECT) | LAYERS_SKIP(ORIGIN_GLOBAL));
    assert_string_equal(layers_value(&l, KEY_SHELL), "/system");
    assert_int_equal(settings_set(f->call, "shell", "/call", NULL, NULL), ABX_OK);
    l = merged(f, 0);
    assert_string_equal(layers_value(&l, KEY_SHELL), "/call");
    assert_int_equal(l.last[KEY_SHELL]->origin, ORIGIN_CALL);
}

static void within_an_origin_the_last_one_counts(void **state)
{
    struct fixture *f = *state;

    set(f, ORIGIN_GLOBAL, "shell", "/one");
    set(f, ORIGIN_GLOBAL, "shell", "/two");
    struct layers l = merged(f, 0);
    assert_string_equal(layers_value(&l, KEY_SHELL), "/two");
}

static void what_nobody_set_is_the_presets_or_the_schemas(void **state)
{
    struct fixture *f = *state;
    struct layers l = merged(f, 0);

    assert_null(l.last[KEY_SHELL]);
    assert_string_equal(layers_value(&l, KEY_SHELL), "/bin/sh");
    assert_string_equal(layers_value(&l, KEY_FALLBACK), "strict");
    set(f, ORIGIN_PROJECT, "preset", "development");
    l = merged(f, 0);
    assert_string_equal(layers_value(&l, KEY_FALLBACK), "warn");
    assert_string_equal(layers_value(&l, KEY_NETWORK), "allowed");
    set(f, ORIGIN_SYSTEM, "network.mode", "blocked");
    l = merged(f, 0);
    assert_string_equal(layers_value(&l, KEY_NETWORK), "blocked");
    set(f, ORIGIN_PROJECT, "preset", "ci");
    l = merged(f, 0);
    assert_string_equal(layers_value(&l, KEY_FALLBACK), "strict");
}

static void lists_are_put_together_weaker_layers_first(void **state)
{
    static const char *const wanted[] = { "s", "g1", "g2", "p", "c" };
    struct fixture *f = *state;

    append(f, ORIGIN_PROJECT, "filesystem.rw", "p");
    append(f, ORIGIN_GLOBAL, "filesystem.rw", "g1");
    append(f, ORIGIN_SYSTEM, "filesystem.rw", "s");
    append(f, ORIGIN_GLOBAL, "filesystem.rw", "g2");
    assert_int_equal(settings_append(f->call, "filesystem.rw", "c", NULL, NULL), ABX_OK);
    struct layers l = merged(f, 0);
    assert_int_equal(l.count, ARRAY_LEN(wanted));
    for (size_t i = 0; i < l.count; i++)
        assert_string_equal(l.entries[i]->value, wanted[i]);
}

static void preset_toggles_are_read_in_the_order_of_the_layers(void **state)
{
    struct fixture *f = *state;

    append(f, ORIGIN_PROJECT, "filesystem.presets", "@git");
    append(f, ORIGIN_GLOBAL, "filesystem.presets", "!@git");
    assert_true(policy(f, NULL)->presets & PRESET_GIT);
    assert_int_equal(settings_append(f->call, "filesystem.presets", "!@git", NULL, NULL), ABX_OK);
    assert_false(policy(f, NULL)->presets & PRESET_GIT);
}

static void guards_become_ceilings_taken_literally(void **state)
{
    static const char *const guards[] = { "/p/[x]/.agentbox.json", NULL };
    const struct policy *p = policy(*state, guards);
    const struct policy_rule *last = &p->rules[p->rule_count - 1];

    assert_string_equal(last->text, guards[0]);
    assert_int_equal(last->access, ACCESS_RO);
    assert_int_equal(last->flags, RULE_FINAL);
}

static void the_network_knows_who_chose_it(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(policy(f, NULL)->network_origin, ORIGIN_BUILTIN);
    f->settings->origin = ORIGIN_GLOBAL;
    assert_int_equal(settings_set(f->settings, "network.mode", "allowed", "F:1:2", NULL), ABX_OK);
    assert_int_equal(policy(f, NULL)->network_origin, ORIGIN_GLOBAL);
    assert_string_equal(policy(f, NULL)->network_source, "F:1:2");
}

/* How many entries of a key there are; with a value: of that value. */
static size_t count_of(const struct layers *l, enum settings_key key, const char *value)
{
    size_t n = 0;

    for (size_t i = 0; i < l->count; i++)
        n += l->entries[i]->key == key && (!value || strcmp(l->entries[i]->value, value) == 0);
    return n;
}

static void a_group_becomes_its_hosts_where_it_stood(void **state)
{
    struct fixture *f = *state;

    append(f, ORIGIN_PROJECT, "network.allowedDomains", "first.example.com");
    append(f, ORIGIN_PROJECT, "network.allowedDomains", "@pypi");
    append(f, ORIGIN_PROJECT, "network.deniedDomains", "@npm");
    struct layers l = merged(f, 0);
    assert_int_equal(l.count, 1 + 2 + 2);
    assert_string_equal(l.entries[0]->value, "first.example.com");
    assert_string_equal(l.entries[1]->value, "files.pythonhosted.org");
    assert_string_equal(l.entries[2]->value, "pypi.org");
    assert_int_equal(l.entries[2]->origin, ORIGIN_PROJECT);
    assert_string_equal(l.entries[2]->source, "network.allowedDomains (@pypi)");
    assert_int_equal(count_of(&l, KEY_DENIED_DOMAINS, "registry.npmjs.org"), 1);
    l = merged(f, LAYERS_SKIP(ORIGIN_PROJECT));
    assert_int_equal(l.count, 0);
}

static void groups_hold_patterns_and_profiles_what_the_schema_allows(void **state)
{
    const struct group_row *group;
    const struct profile_row *row;
    struct fixture *f = *state;

    for (size_t i = 0; (group = group_row(i)); i++)
        append(f, ORIGIN_GLOBAL, "network.allowedDomains", group->pattern);
    for (size_t i = 0; (row = profile_row(i)); i++) {
        append(f, ORIGIN_GLOBAL, schema_row(row->key)->name, row->value);
        set(f, ORIGIN_GLOBAL, "profile", row->profile);
    }
    assert_int_equal(settings_append(f->call, "network.allowedDomains", "@nonesuch", NULL, NULL),
                     ABX_E_CONFIG);
    assert_int_equal(settings_append(f->call, "network.allowedDomains", "@npm:443", NULL, NULL),
                     ABX_E_CONFIG);
    assert_int_equal(settings_append(f->call, "network.allowedDomains", "@", NULL, NULL),
                     ABX_E_CONFIG);
}

static void the_profile_that_counts_becomes_its_entries(void **state)
{
    struct fixture *f = *state;

    set(f, ORIGIN_GLOBAL, "profile", "claude");
    set(f, ORIGIN_PROJECT, "profile", "codex");
    set(f, ORIGIN_SYSTEM, "network.mode", "blocked");
    struct layers l = merged(f, 0);
    assert_int_equal(count_of(&l, KEY_ALLOWED_DOMAINS, "api.openai.com"), 1);
    assert_int_equal(count_of(&l, KEY_ALLOWED_DOMAINS, "api.anthropic.com"), 0);
    assert_int_equal(l.last[KEY_ENV_PASS]->origin, ORIGIN_PROJECT);
    assert_string_equal(l.last[KEY_ENV_PASS]->source, "profile (profile codex)");
    assert_int_equal(policy(f, NULL)->presets & PRESET_AGENTS, PRESET_CODEX);
    l = merged(f, LAYERS_SKIP(ORIGIN_PROJECT));
    assert_int_equal(count_of(&l, KEY_ALLOWED_DOMAINS, "api.openai.com"), 0);
    assert_int_equal(count_of(&l, KEY_ALLOWED_DOMAINS, "api.anthropic.com"), 1);
    assert_int_equal(l.last[KEY_ENV_PASS]->origin, ORIGIN_GLOBAL);
    assert_int_equal(settings_set(f->call, "profile", "none", NULL, NULL), ABX_OK);
    l = merged(f, 0);
    assert_int_equal(count_of(&l, KEY_ALLOWED_DOMAINS, NULL), 0);
    assert_int_equal(count_of(&l, KEY_ENV_PASS, NULL), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_scalar_is_that_of_the_strongest_origin),
        TEST(within_an_origin_the_last_one_counts),
        TEST(what_nobody_set_is_the_presets_or_the_schemas),
        TEST(lists_are_put_together_weaker_layers_first),
        TEST(preset_toggles_are_read_in_the_order_of_the_layers),
        TEST(guards_become_ceilings_taken_literally),
        TEST(the_network_knows_who_chose_it),
        TEST(a_group_becomes_its_hosts_where_it_stood),
        TEST(groups_hold_patterns_and_profiles_what_the_schema_allows),
        TEST(the_profile_that_counts_becomes_its_entries),
    };

    return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
