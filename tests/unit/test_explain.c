/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why: verdict, rule, origin and the change that would help, from the plan of a wrapped command.
 * That the kernel agrees is shown by tests/e2e/why.bats.
 */
#include "lib/tree.h"

#include <malloc.h>

#include "plan/explain.h"

/* Options of one question: "key=value" each, NULL-terminated. */
typedef const char *const options[8];

static abx_answer *ask(const char *const *list, const char *operation, const char *target)
{
    static const char *const argv[] = { "true", NULL };
    abx_manager *m = NULL;
    abx_command *c = NULL;
    abx_config *config = NULL;
    abx_answer *a = NULL;
    abx_error *err = NULL;

    if (abx_config_new(&config, &err) != ABX_OK ||
        abx_config_load_layers(config, NULL, NULL, 0, &err) != ABX_OK ||
        abx_manager_new(config, NULL, &m, &err) != ABX_OK ||
        abx_command_new(argv, &c, &err) != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    for (; list && *list; list++) {
        char key[64] = "";
        memcpy(key, *list, strcspn(*list, "="));
        if (abx_command_append(c, key, strchr(*list, '=') + 1, NULL) != ABX_OK)
            assert_int_equal(abx_command_set_string(c, key, strchr(*list, '=') + 1, NULL), ABX_OK);
    }
    if (abx_manager_wrap(m, c, &err) != ABX_OK ||
        abx_command_explain(c, operation, target, &a, &err) != ABX_OK)
        fail_msg("%s %s: %s", operation, target, abx_error_message(err));
    abx_command_free(c);
    abx_manager_free(m);
    abx_config_free(config);
    return a;
}

static void has_text(const char *what, const char *text, const char *wanted, const char *target)
{
    if (wanted && (wanted[0] ? !strstr(text, wanted) : text[0] != '\0'))
        fail_msg("%s: %s is '%s', not '%s'", target, what, text, wanted);
}

/* wanted: texts that must be in the answer; "" is no text at all, NULL is not looked at. */
static void expect_answer(const char *const *list, const char *operation, const char *target,
                          bool allowed, const char *rule, const char *grant, const char *note)
{
    abx_answer *a = ask(list, operation, target);

    if (abx_answer_allowed(a) != allowed)
        fail_msg("%s %s is %s", operation, target, allowed ? "denied" : "allowed");
    has_text("rule", abx_answer_rule(a), rule, target);
    has_text("grant", abx_answer_grant(a), grant, target);
    has_text("note", abx_answer_note(a), note, target);
    abx_answer_free(a);
}

static void the_default_reads_and_does_not_write(void **state)
{
    (void)state;
    expect_answer(NULL, "read", "/etc/passwd", true, "default", "", NULL);
    expect_answer(NULL, "exec", "/bin/sh", true, "default", "", NULL);
    expect_answer(NULL, "write", "/etc/passwd", false, "default", "--rw /etc/passwd", "no rule");
    expect_answer(NULL, "write", "/etc/abx-absent/x", false, "default", "--rw /etc/abx-absent",
                  "first: mkdir -p /etc/abx-absent");
    expect_answer(NULL, "write", "/abx-absent", false, "default", "", NULL);
    expect_answer(NULL, "write", "new", true, "@base .", "", "");
    expect_answer(NULL, "write", ".", true, "@base .", "", "cannot itself be renamed");
}

static void a_whole_home_is_not_granted_for_one_name(void **state)
{
    struct tree *t = *state;

    make_dir(t, "/home/.config");
    make_dir(t, "/home/data");
    expect_answer(NULL, "write", at(t, "/home/.npm"), false, "default", "/home/.npm",
                  "/home/.npm (a file: touch)");
    expect_answer(NULL, "write", at(t, "/home/.npm/_logs/x"), false, "default", "/home/.npm/_logs",
                  "first: mkdir -p ");
    expect_answer(NULL, "write", at(t, "/home/.config/app"), false, "default", "/home/.config/app",
                  "first: mkdir -p ");
    expect_answer(NULL, "write", at(t, "/home/data/new"), false, "default", "/home/data",
                  "no rule");
}

static void the_deciding_rule_is_named(void **state)
{
    struct tree *t = *state;
    options rules = { "filesystem.ro=src", "filesystem.exclude=src/key", "filesystem.rw=src/out" };

    make_file(t, "/home/w/src/key/k", "");
    make_dir(t, "/home/w/src/out");
    make_file(t, "/home/w/src/f", "");
    expect_answer(rules, "write", "src/f", false, "--ro src", "--rw ", NULL);
    expect_answer(rules, "write", "src", false, "--ro src", "leave out --ro src", NULL);
    expect_answer(rules, "read", "src/key/k", false, "--exclude src/key", "--ro ", NULL);
    expect_answer(rules, "read", "src/key", false, "--exclude src/key", "leave out --exclude",
                  NULL);
    expect_answer(rules, "write", "src/out/new", true, "--rw src/out", "", NULL);
    expect_answer(rules, "write", "other", true, "@base .", "", NULL);
}

static void ancestors_of_protected_paths_are_told(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/a/b/k", "");
    expect_answer((options){ "filesystem.ro=a/b" }, "write", "a", true, NULL, "",
                  "cannot be renamed or removed: it holds");
}

static void secrets_and_protected_names_are_told(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/.ssh/id", "");
    make_git(t, "/home/w/.git");
    make_dir(t, "/home/w/.git/hooks");
    expect_answer(NULL, "read", at(t, "/home/.ssh/id"), false, "@base ~/.ssh", "--ro ", NULL);
    expect_answer(NULL, "write", ".git/config", false, "@git", "--rw ", NULL);
    expect_answer(NULL, "write", ".git/hooks/new", false, "@git", "/.git/hooks", NULL);
    expect_answer(NULL, "write", ".vscode", false, "protected .vscode", "--rw ", "does not exist");
    expect_answer(NULL, "write", ".vscode/tasks.json", false, "protected .vscode", "/.vscode",
                  "does not exist");
    expect_answer((options){ "filesystem.exclude=no/such" }, "write", "no/such", false,
                  "--exclude no/such", "leave out --exclude", "does not exist");
}

static void directories_of_the_system_are_told(void **state)
{
    (void)state;
    expect_answer(NULL, "write", "/tmp/x", true, "filesystem.tmp", "", "of its own");
    expect_answer(NULL, "read", "/tmp", true, "filesystem.tmp", "", "of its own");
    expect_answer(NULL, "read", "/proc/1/status", true, "/proc", "", NULL);
    expect_answer(NULL, "write", "/proc/sys/kernel/hostname", false, "/proc", "", "made anew");
    expect_answer(NULL, "write", "/dev/null", true, "/dev", "", NULL);
    expect_answer(NULL, "read", "/dev/kmsg", false, "/dev", "", "made anew");
    expect_answer(NULL, "write", "/dev/shm/x", true, "/dev", "", "of its own");
    expect_answer(NULL, "exec", "/dev/null", false, "/dev", "", NULL);
    expect_answer(NULL, "read", "/sys/kernel", false, "/sys", "--ro /sys/kernel", NULL);
    expect_answer(NULL, "write", "/run/agentbox/inside", false, "/run", "", "made anew");
    /* no rule changes /run itself: what it lacks has to be made on the host */
    expect_answer(NULL, "write", "/run/abx-absent/x", false, "/run", "--rw /run/abx-absent",
                  "first: mkdir -p /run/abx-absent");
    expect_answer(NULL, "read", "/run/abx-absent", false, "/run", "", "made anew");
}

static void files_of_the_host_are_not_in_a_private_tmp(void **state)
{
    char path[] = "/tmp/abx-explain-XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    close(fd);
    expect_answer(NULL, "read", path, false, "filesystem.tmp", "--ro /tmp/abx-explain", "host");
    expect_answer((options){ "filesystem.tmp=host" }, "write", path, true, NULL, "", NULL);
    assert_int_equal(unlink(path), 0);
}

static void links_are_answered_for_what_they_lead_to(void **state)
{
    struct tree *t = *state;

    make_link(t, "/etc/passwd", "/home/w/link");
    abx_answer *a = ask(NULL, "write", "link");
    assert_false(abx_answer_allowed(a));
    assert_string_equal(abx_answer_target(a), "/etc/passwd");
    abx_answer_free(a);
}

static void a_rule_of_a_file_has_its_place(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/w/src/f", "");
    make_file(t, "/home/w/.agentbox.jsonc", "{ \"filesystem\": {\n \"ro\": [ \"src\", ] } }");
    abx_answer *a = ask(NULL, "write", "src/f");
    assert_false(abx_answer_allowed(a));
    assert_string_equal(abx_answer_rule(a), "ro src");
    assert_string_equal(abx_answer_origin(a), "project");
    assert_string_equal(abx_answer_source(a), at(t, "/home/w/.agentbox.jsonc:2:10"));
    abx_answer_free(a);
    expect_answer(NULL, "write", ".agentbox.jsonc", false, "agentbox ", "", "keeps its own");
    expect_answer((options){ "filesystem.rw=.agentbox.jsonc" }, "write", ".agentbox.jsonc", false,
                  "agentbox ", "", "keeps its own");
}

static void a_home_as_working_directory_is_told(void **state)
{
    struct tree *t = *state;

    assert_int_equal(chdir(at(t, "/home")), 0);
    expect_answer(NULL, "write", "new", false, "default", "--rw ",
                  "the working directory is the home directory");
}

static void odd_names_are_quoted_for_a_shell(void **state)
{
    struct tree *t = *state;

    make_file(t, "/home/it's a \"[file]*", "");
    expect_answer(NULL, "write", at(t, "/home/it's a \"[file]*"), false, "default",
                  "it'\\''s a \"[file]*'", NULL);
}

static void the_network_is_answered_by_its_mode(void **state)
{
    abx_answer *a;

    (void)state;
    expect_answer((options){ "network.mode=blocked" }, "net", "example.com", false,
                  "network.mode blocked", "--network filtered --allow-domain example.com",
                  "loopback");
    expect_answer((options){ "network.mode=allowed" }, "net", "[2001:db8::1]:443", true,
                  "network.mode allowed", "", NULL);
    a = ask(NULL, "net", "[2001:db8::1]:443");
    assert_string_equal(abx_answer_target(a), "2001:db8::1");
    assert_int_equal(abx_answer_port(a), 443);
    abx_answer_free(a);
    a = ask(NULL, "net", "2001:db8::1");
    assert_string_equal(abx_answer_target(a), "2001:db8::1");
    assert_int_equal(abx_answer_port(a), 0);
    abx_answer_free(a);
}

static void a_filtered_network_is_answered_by_its_rules(void **state)
{
    (void)state;
    expect_answer(NULL, "net", "example.com:80", false, "default", "--allow-domain example.com:80",
                  "no rule names it");
    expect_answer((options){ "network.allowedDomains=*.example.com" }, "net", "WWW.Example.com.",
                  true, "*.example.com", "", "port 443");
    expect_answer((options){ "network.allowedDomains=*.example.com" }, "net", "example.com:443",
                  false, "default", "--allow-domain example.com:443", NULL);
    expect_answer(
        (options){ "network.allowedDomains=example.com", "network.deniedDomains=example.com:25" },
        "net", "example.com:25", false, "example.com:25", "", "stays so");
    expect_answer((options){ "network.allowedDomains=example.com" }, "net", "0x7f.1:80", false,
                  "blocked", "--allow-domain 127.0.0.1:80", "the sandbox's own");
    expect_answer((options){ "network.allowedDomains=127.0.0.0/8" }, "net", "0x7f.1:80", true,
                  "127.0.0.0/8", "", NULL);
    abx_answer *a = ask((options){ "network.allowedDomains=example.com" }, "net", "EXAMPLE.com:1");
    assert_string_equal(abx_answer_target(a), "example.com");
    assert_string_equal(abx_answer_origin(a), "command line");
    abx_answer_free(a);
}

static void an_answer_is_json(void **state)
{
    abx_answer *a = ask(NULL, "write", "/etc/passwd");
    char *text = NULL;

    (void)state;
    assert_int_equal(abx_answer_json(a, &text, NULL), ABX_OK);
    assert_non_null(strstr(text, "{\"operation\":\"write\",\"path\":\"/etc/passwd\",\"verdict\":"
                                 "\"deny\",\"rule\":\"default\",\"origin\":\"built-in\","));
    assert_non_null(strstr(text, "\"grant\":\"--rw /etc/passwd\""));
    abx_free(text);
    abx_answer_free(a);
}

static void nonsense_is_refused(void **state)
{
    static const char *const argv[] = { "true", NULL };
    static const char *const hosts[] = { ":443", "h:",   "h:0",    "h:65536",
                                         "h:x",  "[::1", "[::1]x", "http://h/" };
    abx_manager *m = NULL;
    abx_command *c = NULL;
    abx_answer *a = NULL;

    (void)state;
    assert_int_equal(abx_manager_new(NULL, NULL, &m, NULL), ABX_OK);
    assert_int_equal(abx_command_new(argv, &c, NULL), ABX_OK);
    assert_int_equal(abx_command_explain(c, "read", "/", &a, NULL), ABX_E_STATE);
    assert_int_equal(abx_manager_wrap(m, c, NULL), ABX_OK);
    assert_int_equal(abx_command_explain(c, "eat", "/", &a, NULL), ABX_E_INVALID);
    assert_int_equal(abx_command_explain(c, "read", "", &a, NULL), ABX_E_INVALID);
    assert_int_equal(abx_command_explain(c, NULL, "/", &a, NULL), ABX_E_INVALID);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++)
        assert_int_equal(abx_command_explain(c, "net", hosts[i], &a, NULL), ABX_E_INVALID);
    assert_null(a);
    abx_answer_free(NULL);
    abx_command_free(c);
    abx_manager_free(m);
}

/* All of an answer as one text, in the given arena. */
static const char *answer_text(const struct explain_context *context, struct arena *arena,
                               enum explain_operation operation, const struct explain_path *path)
{
    struct explain_answer a;

    assert_int_equal(explain_path(context, operation, path, arena, &a, NULL), ABX_OK);
    assert_false(a.allowed);
    return arena_printf(arena, "%s|%s|%s|%s|%s|%s|%s", a.rule, a.origin, a.source, a.grant,
                        a.grant_path, a.first, a.note);
}

static void what_is_kept_explains_refusals_as_the_plan_does(void **state)
{
    struct tree *t = *state;
    const struct {
        enum explain_operation operation;
        struct explain_path path;
    } questions[] = {
        { EXPLAIN_WRITE, { .path = "/etc/passwd", .exists = true } },
        { EXPLAIN_WRITE, { .path = "/etc/absent/x", .ancestor = "/etc" } },
        { EXPLAIN_WRITE, { .path = strdup(at(t, "/home/w/src/f")), .exists = true } },
        { EXPLAIN_READ, { .path = strdup(at(t, "/home/w/src/key")), .exists = true } },
        { EXPLAIN_READ, { .path = strdup(at(t, "/home/w/b.pem")), .exists = true } },
        { EXPLAIN_WRITE,
          { .path = strdup(at(t, "/home/w/.vscode")), .ancestor = strdup(at(t, "/home/w")) } },
        { EXPLAIN_WRITE, { .path = strdup(at(t, "/home/.config/agentbox/x")), .exists = true } },
        { EXPLAIN_WRITE, { .path = "/proc/sys/kernel/hostname", .exists = true } },
        { EXPLAIN_READ, { .path = "/dev/kmsg", .exists = true } },
        { EXPLAIN_READ, { .path = "/tmp/of-the-host", .exists = true } },
    };
    const char *wanted[ARRAY_LEN(questions)];
    struct explain_context kept, context = { 0 };
    _arena_ struct arena own = { 0 }, answers = { 0 };

    arena_init(&own, ARENA_DEFAULT_LIMIT);
    arena_init(&answers, ARENA_DEFAULT_LIMIT);
    make_file(t, "/home/w/src/key", "");
    make_file(t, "/home/w/src/f", "");
    make_file(t, "/home/w/a.pem", "");
    make_file(t, "/home/w/b.pem", "");
    make_dir(t, "/home/.config/agentbox");
    rule(t, "filesystem.ro", "src");
    rule(t, "filesystem.exclude", "src/key");
    rule(t, "filesystem.exclude", "*.pem");
    run(t);
    context = (struct explain_context){ t->policy, t->facts, t->plan, { 0 } };
    assert_int_equal(view_make(t->plan, &t->arena, &context.view, NULL), ABX_OK);
    for (size_t i = 0; i < ARRAY_LEN(questions); i++)
        wanted[i] = answer_text(&context, &answers, questions[i].operation, &questions[i].path);
    assert_true(explain_keep(&context, &own, &kept));
    (void)mallopt(M_PERTURB, 0xa5); /* what is given back is written over; a sanitizer watches it */
    arena_done(&t->arena);
    arena_init(&t->arena, ARENA_DEFAULT_LIMIT);
    for (size_t i = 0; i < ARRAY_LEN(questions); i++)
        assert_string_equal(
            answer_text(&kept, &answers, questions[i].operation, &questions[i].path), wanted[i]);
    for (size_t i = 2; i < 7; i++)
        free((char *)questions[i].path.path);
    free((char *)questions[5].path.ancestor);
    (void)mallopt(M_PERTURB, 0);
}

/* Everything that a copy has, changed one by one: copies are shared only if nothing differs. */
static void what_is_kept_is_the_same_or_is_not(void **state)
{
    struct tree *t = *state;
    struct explain_context kept, context = { 0 };

    make_file(t, "/home/w/src/f", "");
    rule(t, "filesystem.ro", "src");
    rule(t, "commands", "rm=false");
    run(t);
    context = (struct explain_context){ t->policy, t->facts, t->plan, { 0 } };
    assert_int_equal(view_make(t->plan, &t->arena, &context.view, NULL), ABX_OK);
    assert_true(explain_keep(&context, &t->arena, &kept));
    assert_true(explain_same(&kept, &context));
    assert_true(kept.policy->command_count > 0 && kept.facts->path_count > 0);

    struct policy *policy = (struct policy *)kept.policy;
    struct policy_command *command = (struct policy_command *)policy->commands;
    struct facts *facts = (struct facts *)kept.facts;
    struct path_fact *path = (struct path_fact *)&facts->paths[facts->path_count - 1];
    struct policy_rule *rule = (struct policy_rule *)path->rule;
    struct plan *plan = (struct plan *)kept.plan;
    struct mount_op *op = (struct mount_op *)&plan->mounts[plan->mount_count - 1];
#define DIFFERS(field, other)                                                                      \
    do {                                                                                           \
        __typeof__(field) was = (field);                                                           \
        (field) = (other);                                                                         \
        assert_false(explain_same(&kept, &context));                                               \
        (field) = was;                                                                             \
        assert_true(explain_same(&kept, &context));                                                \
    } while (0)
    DIFFERS(policy->presets, was + 1);
    DIFFERS(policy->tmp_private, !was);
    DIFFERS(policy->network, was + 1);
    DIFFERS(policy->network_origin, was + 1);
    DIFFERS(policy->network_source, "x");
    DIFFERS(policy->command_count, 0);
    DIFFERS(command->kind, was + 1);
    DIFFERS(command->origin, was + 1);
    DIFFERS(command->name, "x");
    DIFFERS(command->text, "x");
    DIFFERS(command->source, NULL);
    DIFFERS(facts->home, "/x");
    DIFFERS(facts->cwd, "/x");
    DIFFERS(facts->places[PLACE_COUNT - 1], "/x");
    DIFFERS(facts->path_count, was - 1);
    DIFFERS(path->why, "x");
    DIFFERS(path->path, "/x");
    DIFFERS(rule->access, was + 1);
    DIFFERS(rule->origin, was + 1);
    DIFFERS(rule->flags, was + 1);
    DIFFERS(rule->text, "x");
    DIFFERS(rule->source, "x");
    DIFFERS(plan->backend, was + 1);
    DIFFERS(plan->mount_count, was - 1);
    DIFFERS(op->kind, was + 1);
    DIFFERS(op->flags, was + 1);
    DIFFERS(op->mode, was + 1);
    DIFFERS(op->path, "/x");
    DIFFERS(op->text, "x");
#undef DIFFERS
}

static void no_memory_for_what_is_kept_is_told(void **state)
{
    struct tree *t = *state;
    struct explain_context kept, context;
    bool done = false;

    run(t);
    context = (struct explain_context){ t->policy, t->facts, t->plan, { 0 } };
    assert_int_equal(view_make(t->plan, &t->arena, &context.view, NULL), ABX_OK);
    for (size_t limit = 0; !done; limit += 64) {
        _arena_ struct arena small = { 0 };

        arena_init(&small, limit);
        done = explain_keep(&context, &small, &kept);
        assert_true(limit < 1 << 20);
    }
    assert_int_equal(kept.view.count, context.view.count);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_default_reads_and_does_not_write),
        TEST(a_whole_home_is_not_granted_for_one_name),
        TEST(the_deciding_rule_is_named),
        TEST(ancestors_of_protected_paths_are_told),
        TEST(secrets_and_protected_names_are_told),
        TEST(directories_of_the_system_are_told),
        TEST(files_of_the_host_are_not_in_a_private_tmp),
        TEST(links_are_answered_for_what_they_lead_to),
        TEST(a_rule_of_a_file_has_its_place),
        TEST(a_home_as_working_directory_is_told),
        TEST(odd_names_are_quoted_for_a_shell),
        TEST(the_network_is_answered_by_its_mode),
        TEST(a_filtered_network_is_answered_by_its_rules),
        TEST(an_answer_is_json),
        TEST(nonsense_is_refused),
        TEST(what_is_kept_explains_refusals_as_the_plan_does),
        TEST(what_is_kept_is_the_same_or_is_not),
        TEST(no_memory_for_what_is_kept_is_told),
    };

    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
