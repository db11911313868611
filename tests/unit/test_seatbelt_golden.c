/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole profiles, held against tests/golden/seatbelt: the three presets and more policies, on a Mac
 * that stands in a table here. ABX_GOLDEN_UPDATE=1 writes the files anew; look at the difference
 * before it is committed.
 */
#include "lib/facts_case.h"
#include "lib/golden.h"
#include "lib/sbpl.h"

#include <stdio.h>

#include "base/glob.h"
#include "base/str.h"
#include "plan/seatbelt.h"
#include "policy/presets.h"

#define HOME_DIR "/Users/u"
#define WORK_DIR HOME_DIR "/work"

/* What there is: sorted, directories before what they hold. */
static const char *const disk[] = {
    "/",
    "/Library",
    "/Users",
    HOME_DIR,
    HOME_DIR "/.aws",
    HOME_DIR "/.cargo",
    HOME_DIR "/.cargo/bin",
    HOME_DIR "/.cargo/registry",
    HOME_DIR "/.claude",
    HOME_DIR "/.claude.json",
    HOME_DIR "/.claude/projects",
    HOME_DIR "/.claude/settings.json",
    HOME_DIR "/.gitconfig",
    HOME_DIR "/.npm",
    HOME_DIR "/.npm/_cacache",
    HOME_DIR "/.npmrc",
    HOME_DIR "/.ssh",
    HOME_DIR "/Documents",
    WORK_DIR,
    WORK_DIR "/.env",
    WORK_DIR "/.git",
    WORK_DIR "/.git/config",
    WORK_DIR "/.git/hooks",
    WORK_DIR "/package.json",
    WORK_DIR "/sub",
    WORK_DIR "/sub/.env",
    WORK_DIR "/tsconfig.json",
    WORK_DIR "/vendor",
    WORK_DIR "/vendor/a.lock",
    WORK_DIR "/vendor/own",
    "/private/tmp",
};

/* What the scanner adds in a repository, in a writable working directory. */
static const struct {
    const char *path;
    bool is_git_config;
} found[] = {
    { WORK_DIR "/.git/config", true }, { WORK_DIR "/.git/hooks", false },
    { WORK_DIR "/.mcp.json", false },  { WORK_DIR "/.vscode", false },
    { WORK_DIR "/.claude", false },
};

static bool on_disk(const char *path)
{
    for (size_t i = 0; i < ARRAY_LEN(disk); i++)
        if (str_eq(disk[i], path))
            return true;
    return false;
}

struct mac {
    struct facts_case c;
    struct pattern_fact patterns[8];
};

static void add_fact(struct facts_case *c, const struct policy_rule *rule, const char *path)
{
    assert_true(c->facts.path_count < CASE_MAX_PATHS);
    struct path_fact *f = &c->paths[c->facts.path_count++];

    *f = (struct path_fact){ .rule = rule, .path = path, .exists = on_disk(path), .is_dir = true };
    f->why = arena_printf(&c->arena, "%s %s", rule->source, rule->text);
    for (const char *at = path; !f->exists && !f->ancestor; at = path_parent(&c->arena, at))
        f->ancestor = on_disk(at) ? at : NULL;
}

static void add_rule_facts(struct mac *m, const struct policy_rule *rule)
{
    struct arena *a = &m->c.arena;
    const char *text = rule->text[0] == '~' ? arena_printf(a, HOME_DIR "%s", rule->text + 1)
                                            : path_clean(a, WORK_DIR, rule->text);
    size_t fixed = strcspn(text, "*?[\\");

    if (!(rule->flags & RULE_GLOB)) {
        add_fact(&m->c, rule, text);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(disk); i++)
        if (glob_match(text + 1, strlen(text + 1), disk[i] + 1, strlen(disk[i] + 1)))
            add_fact(&m->c, rule, disk[i]);
    if (rule->access == ACCESS_RW || (rule->flags & RULE_IF_PRESENT))
        return;
    while (text[fixed - 1] != '/')
        fixed--;
    assert_true(m->c.facts.pattern_count < ARRAY_LEN(m->patterns));
    m->patterns[m->c.facts.pattern_count++] =
        (struct pattern_fact){ rule, arena_printf(a, "%s %s", rule->source, rule->text),
                               arena_strndup(a, text, fixed > 1 ? fixed - 1 : 1), text + fixed };
}

static void make_facts(struct mac *m, const struct policy *policy)
{
    static const struct policy_rule name = { ACCESS_RO, ORIGIN_BUILTIN, RULE_PROTECT | RULE_NAME,
                                             "name", "protected" };

    m->c.policy = *policy;
    m->c.facts.home = HOME_DIR;
    m->c.facts.cwd = WORK_DIR;
    m->c.facts.patterns = m->patterns;
    for (size_t i = 0; i < policy->rule_count; i++)
        add_rule_facts(m, &policy->rules[i]);
    for (size_t i = 0; i < ARRAY_LEN(found) && policy->protect_names; i++)
        if (!found[i].is_git_config || !policy->git_config)
            add_fact(&m->c, &name, found[i].path);
}

/* ---- policies ---- */

struct setting {
    char kind; /* '=' set, '+' append, '!' append, final */
    const char *key, *value;
};

static const struct golden {
    const char *name;
    struct setting settings[6];
    bool tty;
    const char *tag;
    int network; /* -1: as the policy says */
} goldens[] = {
    /* The first three are the presets of PRODUCT.md 4. */
    { "default",
      { { '=', "preset", "default" } },
      true,
      "agentbox-0011223344556677",
      NETWORK_FILTERED },
    { "development", { { '=', "preset", "development" } }, true, NULL, NETWORK_ALLOWED },
    { "ci", { { '=', "preset", "ci" } }, false, NULL, NETWORK_BLOCKED },
    { "nested",
      { { '+', "filesystem.ro", "vendor" },
        { '+', "filesystem.rw", "vendor/own" },
        { '+', "filesystem.exclude", "vendor/own/secret" },
        { '+', "filesystem.presets", "!@all" } },
      false,
      NULL,
      NETWORK_BLOCKED },
    { "hidden-home",
      { { '+', "filesystem.exclude", "~" },
        { '+', "filesystem.rw", "." },
        { '+', "filesystem.ro", "~/.gitconfig" },
        { '+', "filesystem.presets", "!@all" } },
      false,
      NULL,
      NETWORK_BLOCKED },
    { "patterns",
      { { '+', "filesystem.exclude", "**/.env" },
        { '+', "filesystem.ro", "vendor/*.lock" },
        { '+', "filesystem.rw", "sub/.env" },
        { '+', "filesystem.rw", "." },
        { '+', "filesystem.presets", "!@all" } },
      false,
      NULL,
      NETWORK_BLOCKED },
    { "sockets",
      { { '=', "network.allowAllUnixSockets", "true" }, { '+', "filesystem.presets", "!@all" } },
      false,
      NULL,
      NETWORK_ALLOWED },
    { "tmp-host",
      { { '=', "filesystem.tmp", "host" }, { '+', "filesystem.presets", "!@all" } },
      false,
      NULL,
      NETWORK_BLOCKED },
    { "git-config",
      { { '=', "filesystem.allowGitConfig", "true" },
        { '+', "filesystem.presets", "!@all" },
        { '+', "filesystem.rw", "." } },
      false,
      NULL,
      NETWORK_BLOCKED },
    { "nothing", { { '+', "filesystem.presets", "!@all" } }, false, NULL, NETWORK_BLOCKED },
    { "final",
      { { '!', "filesystem.exclude", "/Users/u/Documents" },
        { '!', "filesystem.ro", "**/*.key" },
        { '+', "filesystem.rw", "~" },
        { '+', "filesystem.presets", "!@all" } },
      false,
      NULL,
      NETWORK_BLOCKED },
    { "odd-names",
      { { '+', "filesystem.rw", "." },
        { '+', "filesystem.ro", "a\"b)(allow default" },
        { '+', "filesystem.exclude", "new\nline;" },
        { '+', "filesystem.ro",
          "Stra\xc3\x9f"
          "e" },
        { '+', "filesystem.presets", "!@all" } },
      false,
      NULL,
      NETWORK_BLOCKED },
    { "terminal",
      { { '+', "filesystem.presets", "!@all" } },
      true,
      "agentbox-8899aabbccddeeff",
      NETWORK_FILTERED },
};

static const struct policy *build_policy(struct mac *m, const struct golden *g)
{
    struct settings *settings = NULL;
    const struct policy *policy = NULL;
    abx_error *err = NULL;
    int32_t r = settings_new(ORIGIN_SYSTEM, &settings, &err);

    for (size_t i = 0; r == ABX_OK && i < ARRAY_LEN(g->settings) && g->settings[i].key; i++) {
        const struct setting *s = &g->settings[i];
        r = s->kind == '='   ? settings_set(settings, s->key, s->value, NULL, &err)
            : s->kind == '+' ? settings_append(settings, s->key, s->value, NULL, &err)
                             : settings_append_final(settings, s->key, s->value, NULL, &err);
    }
    if (r == ABX_OK)
        r = policy_build(settings, NULL, &m->c.arena, &policy, &err);
    if (r != ABX_OK)
        fail_msg("%s: %s", g->name, abx_error_message(err));
    struct policy *copy = arena_alloc(&m->c.arena, 1, sizeof *copy);
    assert_non_null(copy);
    *copy = *policy;
    copy->network = (uint32_t)g->network;
    settings_free(settings);
    return copy;
}

static void expect_golden(const struct golden *g, const struct buf *got)
{
    char name[256];

    (void)snprintf(name, sizeof name, "seatbelt/%s.sb", g->name);
    golden_expect(got, name);
}

static void profiles_equal_the_golden_files(void **state)
{
    static const struct sbpl_param params[] = { { SEATBELT_PARAM_TMP, "/t" },
                                                { SEATBELT_PARAM_TTY, "/dev/ttys0" },
                                                { SEATBELT_PARAM_PORT, "1" } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(goldens); i++) {
        const struct golden *g = &goldens[i];
        const struct seatbelt_request request = { .tty = g->tty,
                                                  .tag = g->tag,
                                                  .local_binding = !str_eq(g->name, "nothing") };
        struct mac m = { 0 };
        struct buf got;
        abx_error *err = NULL;
        char *problem = NULL;

        case_init(&m.c);
        buf_init(&got, 1 << 20);
        make_facts(&m, build_policy(&m, g));
        if (seatbelt_compile(&m.c.policy, &m.c.facts, &request, &m.c.arena, &got, &err) != ABX_OK)
            fail_msg("%s: %s", g->name, abx_error_message(err));
        struct sbpl *p = sbpl_read(got.data, params, ARRAY_LEN(params), &problem);
        if (!p)
            fail_msg("%s: %s", g->name, problem);
        assert_false(sbpl_allows(
            p, &(struct sbpl_query){ .operation = "file-write-data", .path = "/Library/x" }));
        sbpl_free(p);
        expect_golden(g, &got);
        buf_done(&got);
        case_done(&m.c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_equal_the_golden_files),
    };

    return cmocka_run_group_tests_name("seatbelt_golden", tests, NULL, NULL);
}
