/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards: every line of tests/wrap/git.tsv gets the verdict it has there (what only git can say is
 * left to tests/e2e/gitlines.bats, which also holds the table against real git), lines with an
 * environment, the other guards, and the form of the tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wrap/guard.h"

#define MAX_WORDS 32

static const char *const no_environment[] = { NULL };

static struct guard_verdict judge(size_t guard, const char *line, const char *const *envp)
{
    char text[512];
    const char *argv[MAX_WORDS];
    struct guard_verdict v;
    long argc = git_split_alias(line, strlen(line), text, argv, MAX_WORDS);

    assert_true(argc > 0);
    guard_judge(guard, &(struct guard_call){ (size_t)argc, argv, envp, 0 }, &v);
    return v;
}

static void every_line_of_the_table_is_judged_as_it_says(void **state)
{
    char line[512];
    const char *source = getenv("ABX_SOURCE");
    size_t count = 0, decided = 0;

    (void)state;
    (void)snprintf(line, sizeof line, "%s/tests/wrap/git.tsv", source ? source : ".");
    FILE *file = fopen(line, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *tab = strchr(line, '\t');
        if (line[0] == '#' || !tab)
            continue;
        tab[strcspn(tab, "\n")] = '\0';
        struct guard_verdict v = judge(GUARD_GIT, tab + 1, no_environment);
        count++;
        if (v.action == GUARD_ALIAS || v.action == GUARD_IF_FILE)
            continue;
        decided++;
        if ((v.action == GUARD_STOP) != (strncmp(line, "stop", 4) == 0))
            fail_msg("%s", line);
        if (v.action == GUARD_STOP && (!v.what[0] || !v.why[0] || !v.instead[0]))
            fail_msg("no advice: %s", line);
    }
    (void)fclose(file);
    assert_true(count >= 150 && decided >= 150);
}

static void settings_in_the_environment_count(void **state)
{
    static const struct {
        const char *variable, *line;
        uint32_t action;
    } table[] = {
        { "GIT_CONFIG_KEY_0=core.hooksPath", "git commit -m x", GUARD_STOP },
        { "GIT_CONFIG_KEY_7=Core.HooksPath", "git push", GUARD_STOP },
        { "GIT_CONFIG_KEY_0=core.hooksPath", "git status", GUARD_RUN },
        { "GIT_CONFIG_KEY_0=core.editor", "git commit -m x", GUARD_RUN },
        { "GIT_CONFIG_PARAMETERS='core.hooksPath=/x'", "git commit -m x", GUARD_STOP },
        { "GIT_CONFIG_PARAMETERS='a.b=c' 'core.hookspath'='/x'", "git commit", GUARD_STOP },
        { "GIT_CONFIG_PARAMETERS='a.b=c'", "git commit -m x", GUARD_RUN },
        { "GIT_CONFIG_PARAMETERS='include.path=/x'", "git gc", GUARD_STOP },
        { "GIT_CONFIG_KEY_0=includeIf.onbranch:x.path", "git commit", GUARD_STOP },
        { "GIT_CONFIG_KEY_0=gc.reflogExpire", "git gc", GUARD_STOP },
        { "GIT_CONFIG_KEY_0=remote.origin.push", "git push", GUARD_STOP },
        { "GIT_CONFIG_KEY_0=remote.origin.mirror", "git push origin", GUARD_STOP },
        { "GIT_CONFIG_KEY_0=remote.origin.url", "git push", GUARD_RUN },
        { "HOME=core.hooksPath", "git commit -m x", GUARD_RUN },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const char *const envp[] = { "A=b", "odd", table[i].variable, NULL };
        if (judge(GUARD_GIT, table[i].line, envp).action != table[i].action)
            fail_msg("%s %s", table[i].variable, table[i].line);
    }
}

static const struct {
    size_t guard;
    const char *line;
    bool stops;
} tool_lines[] = {
    { GUARD_NPM, "npm publish", true },
    { GUARD_NPM, "npm --registry https://x publish --tag beta", true },
    { GUARD_NPM, "npm -w pkg publish", true },
    { GUARD_NPM, "npm publish --dry-run", false },
    { GUARD_NPM, "npm publish --dry-run=false", true },
    { GUARD_NPM, "npm publish --dry-run false", true },
    { GUARD_NPM, "npm publish --dry-run --no-dry-run", true },
    { GUARD_NPM, "npm publish --dry-run x", false },
    { GUARD_NPM, "npm pub", true },
    { GUARD_NPM, "npm publi ./x", true },
    { GUARD_NPM, "npm unpub x@1", true },
    { GUARD_NPM, "npm dist-tags add x@1 latest", true },
    { GUARD_NPM, "npm dist-tag set x@1 latest", true },
    { GUARD_NPM, "npm un x", false },
    { GUARD_NPM, "npm p", false },
    { GUARD_NPM, "npm publisher", false },
    { GUARD_NPM, "npm run publish", false },
    { GUARD_NPM, "npm install token", false },
    { GUARD_NPM, "npm token create", true },
    { GUARD_NPM, "npm unpublish x@1", true },
    { GUARD_NPM, "npm deprecate x y", true },
    { GUARD_NPM, "npm dist-tag ls", false },
    { GUARD_NPM, "npm test", false },
    { GUARD_NPM, "npm", false },
    { GUARD_DOCKER, "docker ps", false },
    { GUARD_DOCKER, "docker --context x system prune -af", true },
    { GUARD_DOCKER, "docker volume rm v", true },
    { GUARD_DOCKER, "docker volume ls", false },
    { GUARD_DOCKER, "docker run push", false },
    { GUARD_DOCKER, "docker push x", true },
    { GUARD_DOCKER, "docker compose down", false },
    { GUARD_DOCKER, "docker compose down -v", true },
    { GUARD_DOCKER, "docker compose down --volumes", true },
    { GUARD_DOCKER, "docker image prune", false },
    { GUARD_DOCKER, "docker image prune -a", true },
    { GUARD_DOCKER, "docker compose push", true },
    { GUARD_DOCKER, "docker buildx build --push .", true },
    { GUARD_DOCKER, "docker buildx build .", false },
    { GUARD_DOCKER, "docker buildx build --push false", true },
    { GUARD_DOCKER, "docker buildx build --push=false .", false },
    { GUARD_DOCKER, "docker compose push --dry-run", false },
    { GUARD_DOCKER, "docker compose push --dry-run=0", true },
    { GUARD_GH, "gh pr view 1", false },
    { GUARD_GH, "gh -R a/b pr merge 1", true },
    { GUARD_GH, "gh repo delete a/b --yes", true },
    { GUARD_GH, "gh repo view", false },
    { GUARD_GH, "gh secret set X", true },
    { GUARD_GH, "gh auth status", false },
    { GUARD_GH, "gh auth token", true },
    { GUARD_KUBECTL, "kubectl get pods", false },
    { GUARD_KUBECTL, "kubectl -n apply get pods", false },
    { GUARD_KUBECTL, "kubectl -n prod delete pod x", true },
    { GUARD_KUBECTL, "kubectl --namespace=prod apply -f x", true },
    { GUARD_KUBECTL, "kubectl apply --dry-run=server -f x", false },
    { GUARD_KUBECTL, "kubectl apply --dry-run=none -f x", true },
    { GUARD_KUBECTL, "kubectl apply --dry-run=server --dry-run=none -f x", true },
    { GUARD_KUBECTL, "kubectl apply --dry-run=none --dry-run=server -f x", false },
    { GUARD_KUBECTL, "kubectl app -f x", false },
    { GUARD_KUBECTL, "kubectl rollout status x", false },
    { GUARD_TERRAFORM, "terraform plan", false },
    { GUARD_TERRAFORM, "terraform -chdir=x apply", true },
    { GUARD_TERRAFORM, "terraform destroy", true },
    { GUARD_TERRAFORM, "terraform state list", false },
    { GUARD_TERRAFORM, "terraform state rm x", true },
    { GUARD_TERRAFORM, "terraform apply -help", false },
};

static void other_guards_stop_what_costs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tool_lines); i++) {
        struct guard_verdict v = judge(tool_lines[i].guard, tool_lines[i].line, no_environment);
        if ((v.action == GUARD_STOP) != tool_lines[i].stops)
            fail_msg("%s", tool_lines[i].line);
    }
}

static void aliases_are_split_as_git_does_it(void **state)
{
    static const struct {
        const char *value, *words[4];
        long count;
    } table[] = {
        { "reset --hard", { "reset", "--hard" }, 2 },
        { "  a\t b\n", { "a", "b" }, 2 },
        { "commit -m 'a b'", { "commit", "-m", "a b" }, 3 },
        { "a\\ b \"c 'd'\" e\\\\", { "a b", "c 'd'", "e\\" }, 3 },
        { "'a\\b'", { "a\\b" }, 1 },
        { "x '' y", { "x", "", "y" }, 3 },
        { "", { NULL }, 0 },
        { "a 'b", { NULL }, -1 },
        { "a \\", { NULL }, -1 },
        { "a b c d e", { NULL }, -1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char text[64];
        const char *words[4];
        long n = git_split_alias(table[i].value, strlen(table[i].value), text, words, 4);
        assert_int_equal(n, table[i].count);
        for (long j = 0; j < n; j++)
            assert_string_equal(words[j], table[i].words[j]);
    }
}

/* Not even where the repository is private: a line in a line may go elsewhere. */
static void lines_in_lines_are_never_local(void **state)
{
    static const char *const lines[] = { "git bisect run git -C /w reset --hard",
                                         "git rebase -x 'cd /w && git reset --hard' main" };
    struct guard_verdict v = judge(GUARD_GIT, "git reset --hard", no_environment);

    (void)state;
    assert_int_equal(v.action, GUARD_STOP);
    assert_true(v.is_local);
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        v = judge(GUARD_GIT, lines[i], no_environment);
        assert_int_equal(v.action, GUARD_STOP);
        assert_false(v.is_local);
    }
    git_judge_text("cd /w && git reset --hard", 0, &v);
    assert_int_equal(v.action, GUARD_STOP);
    assert_false(v.is_local);
}

static void a_directory_is_private_with_all_that_is_in_it(void **state)
{
    static const char *const roots[] = { "/tmp/work", "/tmp/a/b" };
    static const struct guard_private p = { "/tmp", roots, ARRAY_LEN(roots) };
    static const struct guard_private none = { "", roots, 0 };
    static const char *const all[] = { "/tmp" };
    static const struct guard_private host = { "/tmp", all, 1 };
    static const struct {
        const char *dir;
        bool is_private;
    } table[] = {
        { "/tmp/x", true },         { "/tmp/x/.git", true },    { "/tmp/workshop", true },
        { "/tmp/wor", true },       { "/tmp/a/c", true },       { "/tmp/work", false },
        { "/tmp/work/sub", false }, { "/tmp/a/b/.git", false }, { "/tmp/a", false },
        { "/tmp", false },          { "/tmpfoo", false },       { "/", false },
        { "/home/u", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        size_t len = strlen(table[i].dir);
        assert_int_equal(git_dir_is_private(&p, table[i].dir, len), table[i].is_private);
        assert_false(git_dir_is_private(&none, table[i].dir, len));
        assert_false(git_dir_is_private(&host, table[i].dir, len));
    }
    assert_true(git_dir_is_private(&p, "/tmp/workshop\n/tmp/work", strlen("/tmp/workshop")));
}

static void guards_are_found_by_their_whole_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < GUARD_COUNT; i++) {
        assert_int_equal(guard_find(guard_row(i)->name), i);
        assert_string_equal(guard_row(i)->name + 1, guard_row(i)->command);
    }
    assert_int_equal(guard_find("@gi"), GUARD_COUNT);
    assert_int_equal(guard_find("git"), GUARD_COUNT);
    assert_null(guard_row(GUARD_COUNT));
}

/* Bounded: as deep as it is allowed to look, and no deeper. */
static void lines_in_lines_are_bounded(void **state)
{
    const char *argv[1024];
    struct guard_verdict v;
    size_t n = 0;

    (void)state;
    while (n + 3 < ARRAY_LEN(argv)) {
        argv[n++] = "git";
        argv[n++] = "bisect";
        argv[n++] = "run";
    }
    guard_judge(GUARD_GIT, &(struct guard_call){ n, argv, no_environment, 0 }, &v);
    assert_int_equal(v.action, GUARD_RUN);
    guard_judge(GUARD_GIT, &(struct guard_call){ 0, argv, no_environment, 0 }, &v);
    assert_int_equal(v.action, GUARD_RUN);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_the_table_is_judged_as_it_says),
        cmocka_unit_test(settings_in_the_environment_count),
        cmocka_unit_test(other_guards_stop_what_costs),
        cmocka_unit_test(aliases_are_split_as_git_does_it),
        cmocka_unit_test(lines_in_lines_are_never_local),
        cmocka_unit_test(a_directory_is_private_with_all_that_is_in_it),
        cmocka_unit_test(guards_are_found_by_their_whole_name),
        cmocka_unit_test(lines_in_lines_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
