/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a project's file grants beyond the other layers: every key has a direction, and files are
 * judged by what becomes of them. Through the public calls, with real files in a temporary home.
 */
#include "lib/tree.h"

#include "plan/widen.h"

/* The grants of a project's text, with the user's own text beside it (NULL: none). */
static char *grants(struct tree *t, const char *user, const char *project)
{
    abx_config *config = NULL;
    abx_error *err = NULL;
    char *text = NULL;

    make_file(t, "/home/.config/agentbox/config.json", user ? user : "{}");
    make_file(t, "/home/w/.agentbox.json", project);
    if (abx_config_new(&config, &err) != ABX_OK ||
        abx_config_load_layers(config, NULL, NULL, 0, &err) != ABX_OK ||
        abx_config_grants(config, NULL, "text", &text, &err) != ABX_OK)
        fail_msg("%s: %s", project, abx_error_message(err));
    abx_config_free(config);
    return text;
}

static void widens(struct tree *t, const char *user, const char *project, const char *said)
{
    char *text = grants(t, user, project);

    if (!strstr(text, said))
        fail_msg("%s: no '%s' in '%s'", project, said, text);
    abx_free(text);
}

static void narrows(struct tree *t, const char *user, const char *project)
{
    char *text = grants(t, user, project);

    if (text[0])
        fail_msg("%s: '%s'", project, text);
    abx_free(text);
}

static void every_key_has_a_direction(void **state)
{
    (void)state;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (!widen_has_row((enum settings_key)i))
            fail_msg("src/plan/widen.def has no row for %s", schema_row(i)->name);
}

static void what_only_narrows_needs_no_trust(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/src/a", "");
    narrows(t, NULL, "{}");
    narrows(t, NULL,
            "{ \"filesystem\": { \"ro\": [\"src\"], \"exclude\": [\".env\", \"/etc\"] } }");
    narrows(t, NULL, "{ \"filesystem\": { \"presets\": [\"@git-strict\", \"@all\"] } }");
    narrows(t, NULL, "{ \"network\": { \"mode\": \"blocked\" }, \"preset\": \"ci\" }");
    narrows(t, NULL, "{ \"resourceLimits\": { \"maxProcesses\": 10, \"maxCPUSeconds\": 5 } }");
    narrows(t, NULL,
            "{ \"environment\": { \"set\": { \"CI\": \"1\" }, \"unset\": [\"EDITOR\"] } }");
    narrows(t, NULL, "{ \"graceSeconds\": 1, \"fallbackPolicy\": \"strict\" }");
    narrows(t, "{ \"network\": { \"mode\": \"allowed\" } }", "{ \"network\": true }");
    narrows(t, "{ \"resourceLimits\": { \"maxProcesses\": 0 } }",
            "{ \"resourceLimits\": { \"maxProcesses\": 5000 } }");
}

static void writing_in_the_project_needs_no_trust(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/w/.git");
    make_dir(t, "/home/w/sub/deep");
    make_dir(t, "/home/w/other");
    narrows(t, NULL, "{ \"filesystem\": { \"rw\": [\"sub\", \"new\", \"*/deep\"] } }");
    assert_int_equal(chdir(at(t, "/home/w/sub")), 0);
    narrows(t, NULL, "{ \"filesystem\": { \"rw\": [\"../other\"] } }");
}

static void each_loosened_value_is_named(void **state)
{
    static const char *const table[][2] = {
        { "{ \"network\": true }", "network.mode becomes allowed (it is filtered)" },
        { "{ \"preset\": \"development\" }", "network.mode becomes allowed" },
        { "{ \"preset\": \"development\" }", "fallbackPolicy becomes warn (it is strict)" },
        { "{ \"fallbackPolicy\": \"warn\" }", "fallbackPolicy becomes warn" },
        { "{ \"allowNestedNamespaces\": true }", "allowNestedNamespaces becomes true" },
        { "{ \"resourceLimits\": { \"maxProcesses\": 0 } }", "maxProcesses becomes 0" },
        { "{ \"resourceLimits\": { \"maxProcesses\": 1025 } }", "maxProcesses becomes 1025" },
        { "{ \"resourceLimits\": { \"maxMemoryBytes\": \"3G\" } }", "maxMemoryBytes becomes 3G" },
        { "{ \"resourceLimits\": { \"maxFileDescriptors\": 0 } }", "maxFileDescriptors becomes 0" },
        { "{ \"maxOutputBytes\": 0 }", "maxOutputBytes becomes 0" },
        { "{ \"graceSeconds\": 3600 }", "graceSeconds becomes 3600" },
        { "{ \"shell\": \"/w/evil\" }", "shell becomes /w/evil" },
        { "{ \"environment\": { \"pass\": [\"GITHUB_TOKEN\"] } }",
          "environment.pass adds GITHUB_TOKEN" },
        { "{ \"environment\": { \"set\": { \"LD_PRELOAD\": \"/x\" } } }",
          "environment.set adds LD_PRELOAD\n" },
        { "{ \"environment\": { \"set\": { \"PATH\": \"./bin\" } } }",
          "environment.set adds PATH\n" },
        { "{ \"environment\": { \"set\": { \"HOME\": \"/w\" } } }", "environment.set adds HOME\n" },
        { "{ \"environment\": { \"set\": { \"XDG_CONFIG_HOME\": \"/w\" } } }",
          "environment.set adds XDG_CONFIG_HOME\n" },
        { "{ \"network\": { \"allowAllUnixSockets\": true } }",
          "allowAllUnixSockets becomes true" },
        { "{ \"network\": { \"mode\": \"blocked\", \"allowedDomains\": [\"example.com\"] } }",
          "allowedDomains adds example.com" },
        { "{ \"filesystem\": { \"tmp\": \"host\" } }", "'/tmp' becomes readable and writable" },
        { "{ \"filesystem\": { \"tmpBytes\": \"3G\" } }", "tmpBytes becomes 3G" },
        { "{ \"filesystem\": { \"dangerousFileScanDepth\": 1 } }",
          "dangerousFileScanDepth becomes 1" },
        { "{ \"filesystem\": { \"autoProtectDangerousFiles\": false } }",
          "autoProtectDangerousFiles becomes false" },
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        widens(*state, NULL, table[i][0], table[i][1]);
}

static void a_grant_is_told_with_its_place(void **state)
{
    struct tree *t = *state;
    char *text = grants(t, NULL, "{ \"filesystem\": {\n  \"rw\": [ \"/var\" ] } }");

    assert_non_null(strstr(text, "/home/w/.agentbox.json:2:11: '/var' becomes writable\n"));
    abx_free(text);
}

static void files_are_judged_by_what_becomes_of_them(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/.ssh/id", "");
    make_file(t, "/home/.ssh/known", "");
    make_file(t, "/home/w/.vscode/settings.json", "");
    make_file(t, "/home/w/.env", "");
    make_git(t, "/home/w/.git");
    make_dir(t, "/home/data");
    make_link(t, "/home", "/home/data/link");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\"~/data\"] } }", "/home/data' becomes writable");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\"..\"] } }", "/home' becomes writable");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\"/\"] } }", "'/etc' becomes writable");
    widens(t, NULL, "{ \"filesystem\": { \"ro\": [\"~/.ssh\"] } }", "/.ssh' becomes readable\n");
    widens(t, NULL, "{ \"filesystem\": { \"ro\": [\"~/.ssh/id\"] } }",
           "/.ssh/id' becomes readable");
    widens(t, NULL, "{ \"filesystem\": { \"ro\": [\"~/.ssh/k*\"] } }",
           "/.ssh/known' becomes readable");
    widens(t, NULL, "{ \"filesystem\": { \"presets\": [\"!@base\"] } }", "/.ssh' becomes readable");
    widens(t, NULL, "{ \"filesystem\": { \"presets\": [\"!@all\", \"@git\"] } }",
           "/.ssh' becomes readable");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\".vscode\"] } }", "/.vscode' becomes writable");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\".mcp.json\"] } }",
           "/.mcp.json' becomes writable");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\".git/hooks\"] } }", "hooks' becomes writable");
    widens(t, NULL, "{ \"filesystem\": { \"ro\": [\"/tmp\"] } }", "'/tmp' becomes readable");
    widens(t, "{ \"filesystem\": { \"exclude\": [\".env\"] } }",
           "{ \"filesystem\": { \"rw\": [\".env\"] } }", "/.env' becomes readable and writable");
    widens(t, "{ \"filesystem\": { \"ro\": [\".env\"] } }",
           "{ \"filesystem\": { \"rw\": [\".env\"] } }", "/.env' becomes writable");
}

static void what_is_not_there_yet_is_judged_too(void **state)
{
    struct tree *t = *state;

    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\"~/later\"] } }",
           "/home/later' becomes writable once it exists");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\"~/l*ter\"] } }",
           "what '~/l*ter' matches becomes writable");
    widens(t, NULL, "{ \"filesystem\": { \"rw\": [\"a*/../../b\"] } }",
           "what 'a*/../../b' matches");
    widens(t, NULL, "{ \"filesystem\": { \"ro\": [\"~/.ssh/*.pub\"] } }", "becomes readable");
}

static void a_project_that_is_the_home_is_none(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/.agentbox.json", "{ \"filesystem\": { \"rw\": [\".\"] } }");
    assert_int_equal(chdir(at(t, "/home")), 0);
    widens(t, NULL, "{}", "/home' becomes writable");
}

/* ---- random rules ---- */

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static const char *random_path(struct arena *a, uint32_t *seed)
{
    static const char *const names[] = { "a", "b", "c" };
    const char *path = "";

    for (uint32_t depth = 1 + next_random(seed) % 4; depth > 0; depth--)
        path = arena_printf(a, "%s/%s", path, names[next_random(seed) % 3]);
    assert_non_null(path);
    return path;
}

static void make_side(struct facts_case *c, struct widen_side *side)
{
    struct plan *plan = arena_alloc(&c->arena, 1, sizeof *plan);

    assert_non_null(plan);
    assert_int_equal(mounts_compile(&c->policy, &c->facts, &c->arena, plan, NULL), ABX_OK);
    *side = (struct widen_side){ .context = { &c->policy, &c->facts, plan, { 0 } } };
    assert_int_equal(view_make(plan, &c->arena, &side->context.view, NULL), ABX_OK);
}

/* The path that a text speaks about. */
static const char *named_path(const char *text, char *path, size_t size)
{
    const char *start = strchr(text, '\''), *end = strrchr(text, '\'');

    assert_true(start && end > start && (size_t)(end - start) <= size);
    memcpy(path, start + 1, (size_t)(end - start) - 1);
    path[end - start - 1] = '\0';
    return path;
}

static bool list_covers(const struct widening *list, size_t count, const char *path)
{
    char named[64];

    for (size_t i = 0; i < count; i++)
        if (path_is_beneath(path, named_path(list[i].text, named, sizeof named)))
            return true;
    return false;
}

static void compare_at_random(const struct widen_side *old, const struct widen_side *new,
                              struct arena *arena, uint32_t *seed)
{
    const struct view *before = &old->context.view, *after = &new->context.view;
    const struct widening *list = NULL;
    size_t count = 0;
    char path[64];

    assert_int_equal(widen_compare(old, new, NULL, arena, &list, &count, NULL), ABX_OK);
    for (int i = 0; i < 60; i++) {
        const char *any = random_path(arena, seed);
        if (view_access(after, any) > view_access(before, any) && !list_covers(list, count, any))
            fail_msg("'%s' is not told", any);
    }
    for (size_t i = 0; i < count; i++) {
        (void)named_path(list[i].text, path, sizeof path);
        if (view_access(after, path) <= view_access(before, path))
            fail_msg("%s, but it does not", list[i].text);
    }
}

/* Where more can be done than before, the list says so, and it says nothing else. */
static void random_rules_are_compared_everywhere(void **state)
{
    uint32_t seed = 4711;

    (void)state;
    for (int round = 0; round < 3000; round++) {
        struct facts_case before, after;
        struct widen_side old, new;

        case_init(&before);
        case_init(&after);
        before.facts.cwd = after.facts.cwd = "/";
        for (uint32_t i = 1 + next_random(&seed) % 6; i > 0; i--) {
            uint32_t access = next_random(&seed) % 3;
            uint32_t origin = next_random(&seed) % 2 ? ORIGIN_PROJECT : ORIGIN_GLOBAL;
            uint32_t flags = next_random(&seed) % 5 ? 0 : RULE_GLOB;
            const char *path = random_path(&after.arena, &seed);
            case_rule(&after, access, origin, flags, path, "d");
            if (origin != ORIGIN_PROJECT)
                case_rule(&before, access, origin, flags, path, "d");
        }
        make_side(&before, &old);
        make_side(&after, &new);
        compare_at_random(&old, &new, &after.arena, &seed);
        case_done(&before);
        case_done(&after);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_has_a_direction),
        TEST(what_only_narrows_needs_no_trust),
        TEST(writing_in_the_project_needs_no_trust),
        TEST(each_loosened_value_is_named),
        TEST(a_grant_is_told_with_its_place),
        TEST(files_are_judged_by_what_becomes_of_them),
        TEST(what_is_not_there_yet_is_judged_too),
        TEST(a_project_that_is_the_home_is_none),
        cmocka_unit_test(random_rules_are_compared_everywhere),
    };

    return cmocka_run_group_tests_name("widen", tests, NULL, NULL);
}
