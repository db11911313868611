/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out: each allocation of the library fails once, one a round. Every round ends
 * with what was asked for, or with an error that tells of it, and leaves no memory (ASan looks), no
 * descriptor and no child. The linker leads the allocators of the library's code here (--wrap);
 * those of the libc itself are not touched.
 */
#include "lib/api_case.h"

#include <stdatomic.h>

#include "classify/judge.h"
#include "classify/rules.h"
#include "run/violations.h"

#define MAX_ROUNDS 20000

static _Atomic long countdown;  /* this many allocations work, then one fails; negative: all do */
static void (*meanwhile)(void); /* what another thread does before the next allocation is over */

static bool fails_now(void)
{
    void (*other)(void) = meanwhile;

    meanwhile = NULL;
    if (other)
        other();
    return atomic_load(&countdown) >= 0 && atomic_fetch_sub(&countdown, 1) == 0;
}

#define WRAP(ret, name, params, args)                                                              \
    ret __real_##name params;                                                                      \
    ret __wrap_##name params;                                                                      \
    ret __wrap_##name params                                                                       \
    {                                                                                              \
        if (fails_now()) {                                                                         \
            errno = ENOMEM;                                                                        \
            return NULL;                                                                           \
        }                                                                                          \
        return __real_##name args;                                                                 \
    }

WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *old, size_t size), (old, size))
WRAP(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size))
WRAP(char *, strdup, (const char *text), (text))
WRAP(char *, strndup, (const char *text, size_t len), (text, len))

static const char settings[] =
    "{ \"filesystem\": { \"rw\": [\"./out\", \"~/x\"], \"ro\": [\"**/*.lock\"],\n"
    "  \"exclude\": [\"./secret\"] }, // a comment\n"
    "  \"resourceLimits\": { \"maxProcesses\": 64 }, \"network\": { \"mode\": \"blocked\" } }\n";

static int32_t configure(const char *dir, abx_config **ret, abx_error **err)
{
    int32_t code = abx_config_new(ret, err);

    if (code == ABX_OK)
        code = abx_config_parse(*ret, "test", settings, strlen(settings), "jsonc", err);
    if (code == ABX_OK)
        code = abx_config_append(*ret, "filesystem.rw", dir, err);
    if (code == ABX_OK)
        code = abx_config_validate(*ret, err);
    return code;
}

static int32_t texts_of_config(const char *dir, abx_error **err)
{
    static const char *const formats[] = { "json", "text" };
    abx_config *config = NULL;
    char *text = NULL;
    int32_t code = configure(dir, &config, err);

    for (size_t i = 0; i < 2 && code == ABX_OK; i++) {
        code = abx_config_show(config, formats[i], &text, err);
        abx_free(text);
        text = NULL;
    }
    if (code == ABX_OK)
        code = abx_config_dump(config, "json", &text, err);
    abx_free(text);
    abx_config_free(config);
    return code;
}

static int32_t check_commands(const char *dir, abx_error **err)
{
    static const char *const lines[] = { "for i in a b; do sudo env A=$i sh -c 'rm -rf /'; done",
                                         "cat <<X | tee f\n$(date)\nX\n", "git push --force &" };
    int32_t code = ABX_OK;

    (void)dir;
    for (size_t i = 0; i < 3 && code == ABX_OK; i++) {
        abx_check *check = NULL;
        char *text = NULL;

        code = abx_check_shell(lines[i], &check, err);
        if (code == ABX_OK)
            code = abx_check_json(check, &text, err);
        abx_free(text);
        abx_check_free(check);
    }
    return code;
}

#define MANY 256  /* in one list: it needs a block of the arena to itself */
#define LONG 5000 /* a text that does, too */

/* Rules as a configuration has them, then commands until there is an index. */
static int32_t make_rules(const char *dir, abx_error **err)
{
    static char text[LONG + 1];
    static struct custom_rule custom[MANY];
    static struct protected_path paths[MANY];
    const struct ruleset_config config = { .custom = custom,
                                           .custom_count = MANY,
                                           .protected = paths,
                                           .protected_count = MANY,
                                           .home = text };
    _ruleset_ struct ruleset *rules = NULL;

    (void)dir;
    memset(text, '/', LONG);
    for (size_t i = 0; i < MANY; i++) {
        custom[i] = (struct custom_rule){ i % 64 ? "b" : text, DECISION_ALLOW, NULL, false };
        paths[i] = (struct protected_path){ i % 64 ? "c" : text, DECISION_ESCALATED, NULL };
    }
    int32_t code = ruleset_new(&config, &rules, err);
    for (unsigned i = 0; i <= INDEX_AFTER && code == ABX_OK; i++) {
        _arena_ struct arena arena;
        struct verdict v;

        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        judge_text(rules, "rm -rf /", 8, NULL, &arena, &v);
        assert_true(v.decision >= DECISION_ESCALATED);
    }
    return code;
}

/* Another program's settings, from a file. */
static int32_t import_settings(const char *dir, abx_error **err)
{
    static const char text[] =
        "{ \"network\": { \"allowedDomains\": [\"a.org\", \"*.b.org:443\"],\n"
        "  \"deniedDomains\": [\"c.org\"] },\n"
        "  \"filesystem\": { \"denyRead\": [\"~/.ssh\", \"s/**\"], \"denyWrite\": [\"a\"],\n"
        "  \"allowWrite\": [\".\", \"/tmp/x\"] }, \"ripgrep\": {},\n"
        "  \"credentials\": { \"envVars\": [{ \"name\": \"T\", \"mode\": \"deny\" }],\n"
        "  \"files\": [{ \"path\": \"~/.netrc\", \"mode\": \"deny\" }] } }\n";
    abx_config *config = NULL;
    char path[128];

    (void)snprintf(path, sizeof path, "%s/settings.json", dir);
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
    int32_t code = abx_config_new(&config, err);
    if (code == ABX_OK)
        code = abx_config_load_layers(config, dir, path, ABX_LOAD_SETTINGS, err);
    abx_config_free(config);
    assert_int_equal(unlink(path), 0);
    return code;
}

#define RECORDS 20 /* the list grows twice */

/* A record that cannot be kept is counted; a list that cannot be copied is none. */
static int32_t keep_violations(const char *dir, abx_error **err)
{
    struct violations list = { 0 }, copy;
    struct abx_violation one = { .operation = VIOLATION_WRITE, .path = dir, .rule = "default" };

    (void)err;
    for (int32_t i = 0; i < RECORDS; i++) {
        one.port = i;
        one.count = 2;
        const size_t before = list.count;
        const struct abx_violation *kept = violations_add(&list, &one, NULL);
        assert_int_equal(list.count, before + (kept ? 1 : 0));
    }
    assert_int_equal(2 * list.count + list.dropped, 2 * RECORDS);
    const int r = violations_copy(&list, &copy);
    assert_true(r == 0 || r == -ENOMEM);
    assert_int_equal(copy.count, r == 0 ? list.count : 0);
    violations_done(&copy);
    violations_done(&list);
    return r == 0 ? ABX_OK : ABX_E_NOMEM;
}

static int32_t use(abx_manager *manager, abx_command *command, abx_error **err)
{
    abx_answer *answer = NULL;
    abx_result *result = NULL;
    char *text = NULL;
    int32_t code = abx_manager_wrap(manager, command, err);

    if (code == ABX_OK)
        code = abx_command_plan(command, "json", &text, err);
    if (code == ABX_OK)
        code = abx_command_explain(command, "write", "/etc/passwd", &answer, err);
    if (code == ABX_OK)
        code = abx_manager_run(manager, command, &result, err);
    if (code == ABX_OK && !abx_result_truncated(result, 1))
        assert_string_equal(abx_result_stdout(result, NULL), "it ran\n");
    abx_free(text);
    abx_answer_free(answer);
    abx_result_free(result);
    return code;
}

static int32_t run_command(const char *dir, abx_error **err)
{
    static const char *const argv[] = { "echo", "it ran", NULL };
    abx_config *config = NULL;
    abx_manager *manager = NULL;
    abx_command *command = NULL;
    int32_t code = configure(dir, &config, err);

    if (code == ABX_OK)
        code = abx_manager_new(config, NULL, &manager, err);
    if (code == ABX_OK)
        code = abx_command_new(argv, &command, err);
    if (code == ABX_OK)
        code = abx_command_set_cwd(command, dir, err);
    if (code == ABX_OK)
        code = use(manager, command, err);
    abx_command_free(command);
    abx_manager_free(manager);
    abx_config_free(config);
    return code;
}

/* Rounds until one has fewer allocations than were to work. */
static void sweep(const char *name, int32_t (*scenario)(const char *dir, abx_error **err),
                  void **state)
{
    struct api_case *c = *state;
    abx_error *e = NULL;
    long round;

    api_ok(scenario(c->dir, &e), &e); /* what is kept for good is there by now */
    const int fds = api_open_fds();
    for (round = 0; round < MAX_ROUNDS; round++) {
        atomic_store(&countdown, round);
        int32_t code = scenario(c->dir, &e);
        const bool failed = atomic_exchange(&countdown, -1) < 0;

        const bool told = code == ABX_OK || code == ABX_E_NOMEM || abx_error_errno(e) == ENOMEM;
        if (!told) {
            (void)fprintf(stderr, "# allocation %ld: ", round);
            api_show(e);
        }
        assert_true(told);
        abx_error_free(e);
        e = NULL;
        assert_int_equal(api_open_fds(), fds);
        if (!failed)
            break;
    }
    (void)fprintf(stderr, "# %s: %ld allocations\n", name, round);
    assert_in_range(round, 10, MAX_ROUNDS - 1);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void config_texts(void **state)
{
    sweep("texts of a configuration", texts_of_config, state);
}

static void checks(void **state)
{
    sweep("checks", check_commands, state);
}

static void rulesets(void **state)
{
    sweep("rules", make_rules, state);
}

static struct ruleset *shared;

static const struct command *search_shared(void)
{
    _arena_ struct arena arena;
    bool no_memory = false;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const struct command *c = ruleset_command(shared, "rm", &arena, &no_memory);
    assert_non_null(c);
    assert_false(no_memory);
    return c;
}

static const struct command *found_first;

static void search_first(void)
{
    found_first = search_shared();
}

static void of_two_indexes_made_at_once_one_is_kept(void **state)
{
    const struct ruleset_config config = { 0 };
    abx_error *e = NULL;

    (void)state;
    api_ok(ruleset_new(&config, &shared, &e), &e);
    for (unsigned i = 0; i < INDEX_AFTER; i++)
        (void)search_shared();
    assert_null(shared->lookup->slots);
    meanwhile = search_first;
    const struct command *second = search_shared();
    assert_ptr_equal(second, found_first);
    assert_ptr_equal(search_shared(), found_first);
    ruleset_free(shared);
}

static void imports(void **state)
{
    sweep("imports", import_settings, state);
}

static void records(void **state)
{
    sweep("records", keep_violations, state);
}

static void runs(void **state)
{
    sweep("a run", run_command, state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(config_texts, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(checks, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(rulesets, api_setup, api_teardown),
        cmocka_unit_test(of_two_indexes_made_at_once_one_is_kept),
        cmocka_unit_test_setup_teardown(imports, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(records, api_setup, api_teardown),
        cmocka_unit_test_setup_teardown(runs, api_setup, api_teardown),
    };

    atomic_store(&countdown, -1);
    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
