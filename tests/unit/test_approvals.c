/* SPDX-License-Identifier: Apache-2.0 */
/* Approvals that are kept: listed, taken back, and the pause after many noes. */
#include "lib/approve_case.h"

#include <limits.h>

#include "base/arena.h"
#include "probe/approvals.h"
#include "probe/record.h"
#include "probe/refusals.h"
#include "probe/trust.h"

static struct case_state *start_keeping(void **state, int32_t answer, uint32_t flags)
{
    struct case_state *s = *state;
    abx_hooks hooks = make_hooks(&s->desk);

    s->desk.answer = answer;
    hooks.flags |= ABX_KEEP_APPROVALS | flags;
    start(s, NULL, &hooks);
    return s;
}

static char *listed(const char *format)
{
    abx_error *e = NULL;
    char *text = NULL;

    api_ok(abx_approvals_list(format, &text, &e), &e);
    return text;
}

static void always_is_listed_and_once_is_not(void **state)
{
    struct case_state *s = start_keeping(state, ABX_APPROVE_ONCE, 0);

    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    char *text = listed("json");
    assert_string_equal(text, "[]\n");
    abx_free(text);
    s->desk.answer = ABX_APPROVE_ALWAYS;
    assert_int_equal(wrap_text(s, ESCALATED " \x1b"), ABX_OK);
    text = listed("text");
    assert_non_null(strstr(text, "command: " ESCALATED " \\x1b\n"));
    assert_non_null(strstr(text, "rule:    process-kill\n"));
    abx_free(text);
    text = listed("json");
    assert_non_null(strstr(text, "\"command\":\"" ESCALATED " \\\\x1b\""));
    assert_non_null(strstr(text, "\"rule\":\"process-kill\""));
    abx_free(text);
}

#define KEY      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEY2     "1" KEY_REST
#define KEY_REST "123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_record_counts_only_if_it_reads_exactly_right(void **state)
{
    static const char *const wrong[] = { "", "agentbox-approval-1\n",
                                         "agentbox-approval-2\n" KEY "\n",
                                         "agentbox-approval-1\n" KEY "\n",
                                         "agentbox-approval-1\n" KEY2 };
    const struct case_state *s = *state;
    const char *const dirs[] = { "/nonexistent/agentbox", s->api.dir, NULL };
    const struct approval *list = NULL;
    struct arena arena;
    size_t count = 9;
    char path[512];

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    assert_int_equal(approvals_add(dirs, "../x", "", NULL), ABX_E_INVALID);
    assert_int_equal(approvals_take(dirs, "../x", NULL), ABX_E_INVALID);
    assert_false(approvals_has(dirs, "../x"));
    assert_int_equal(approvals_add(dirs + 1, KEY, "no label", NULL), ABX_OK);
    assert_int_equal(approvals_add(dirs + 1, KEY2, "command: c\nin: /d\n", NULL), ABX_OK);
    assert_true(approvals_has(dirs, KEY));
    (void)snprintf(path, sizeof path, "%s/approvals/" KEY2, s->api.dir);
    const struct timespec old[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
    assert_int_equal(utimensat(AT_FDCWD, path, old, 0), 0);
    assert_int_equal(approvals_list(dirs, &arena, &list, &count, NULL), ABX_OK);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].key, KEY); /* the newest first */
    assert_string_equal(list[0].command, "");
    assert_string_equal(list[1].cwd, "/d");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        write_file(path, wrong[i]);
        assert_false(approvals_has(dirs, KEY2));
        assert_int_equal(approvals_list(dirs, &arena, &list, &count, NULL), ABX_OK);
        assert_int_equal(count, 1);
    }
    write_file(path, "agentbox-approval-1\n" KEY2 "\n");
    assert_true(approvals_has(dirs, KEY2));
    assert_int_equal(chmod(path, 0620), 0); /* somebody else may write it */
    assert_false(approvals_has(dirs, KEY2));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(approvals_take(dirs, KEY2, NULL), ABX_E_IO);
    assert_int_equal(approvals_take(dirs, KEY, NULL), ABX_OK);
    assert_false(approvals_has(dirs, KEY));
    arena_done(&arena);
}

/* A directory in its place: no record, and nothing that could be removed. */
static void a_trust_that_cannot_be_taken_back_is_told(const char *const *dirs,
                                                      const uint8_t digest[SHA256_BYTES])
{
    static const char project[] = "/q/.agentbox.json";
    uint8_t of_path[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES], path[256];
    abx_error *e = NULL;
    bool was = true;

    sha256(project, strlen(project), of_path);
    sha256_hex(of_path, hex);
    (void)snprintf(path, sizeof path, "%s/trust/%s", dirs[0], hex);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_false(trust_is_given(dirs, project, digest));
    assert_int_equal(trust_take(dirs, project, &was, &e), ABX_E_IO);
    assert_true(was); /* not written */
    assert_string_equal(abx_error_subject(e), dirs[0]);
    abx_error_free(e);
    assert_int_equal(rmdir(path), 0);
}

static void a_record_that_cannot_be_kept_is_told(void **state)
{
    const struct case_state *s = *state;
    const char *const none[] = { "/proc/nonexistent/agentbox", NULL }, *const dirs[] = { s->api.dir,
                                                                                         NULL };
    const uint8_t digest[SHA256_BYTES] = { 1 }, other[SHA256_BYTES] = { 2 };
    abx_error *e = NULL;
    bool was = true;
    char name[NAME_MAX], beside[NAME_MAX + 64];
    struct buf record = { .limit = 64 };

    assert_int_equal(approvals_add(none, KEY, "", &e), ABX_E_IO);
    assert_non_null(strstr(abx_error_hint(e), "XDG_STATE_HOME"));
    abx_error_free(e);
    assert_int_equal(trust_give(dirs, "/p/.agentbox.json", digest, NULL), ABX_OK);
    assert_true(trust_is_given(dirs, "/p/.agentbox.json", digest));
    assert_false(trust_is_given(dirs, "/p/.agentbox.json", other));
    assert_false(trust_is_given(dirs, "/q/.agentbox.json", digest));
    assert_int_equal(trust_take(dirs, "/p/.agentbox.json", &was, NULL), ABX_OK);
    assert_true(was);
    assert_int_equal(trust_take(dirs, "/p/.agentbox.json", &was, NULL), ABX_OK);
    assert_false(was);
    assert_int_equal(trust_give(none, "/p/.agentbox.json", digest, NULL), ABX_E_IO);
    a_trust_that_cannot_be_taken_back_is_told(dirs, digest);

    /* What a writer of the same thread left when it was killed is replaced; a name has an end. */
    int dir = open(s->api.dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    (void)buf_puts(&record, "yes");
    (void)snprintf(beside, sizeof beside, "%s/r.%ld", s->api.dir, (long)gettid());
    write_file(beside, "half");
    assert_int_equal(record_write(dir, "r", &record), 0);
    assert_true(record_begins(dir, "r", &record));
    assert_int_not_equal(access(beside, F_OK), 0);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(record_write(dir, name, &record), -ENAMETOOLONG);
    assert_int_equal(mkdirat(dir, "taken", 0700), 0);
    assert_int_equal(record_write(dir, "taken", &record), -EISDIR);
    assert_int_equal(symlinkat("r", dir, "link"), 0);
    assert_false(record_begins(dir, "link", &record));
    (void)close(dir);
    buf_done(&record);
}

static void forgetting_names_one_or_all(void **state)
{
    struct case_state *s = start_keeping(state, ABX_APPROVE_ALWAYS, 0);
    abx_error *e = NULL;
    size_t n = 0;

    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    assert_int_equal(wrap_text(s, ESCALATED " 1"), ABX_OK);
    assert_int_equal(wrap_text(s, ESCALATED " 2"), ABX_OK);
    char *text = listed("text"), key[13] = "";
    (void)snprintf(key, sizeof key, "%s", text);
    abx_free(text);

    static const char *const wrong[] = { "", "12345", "/../..", "000000000000", "............" };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(abx_approvals_forget(wrong[i], &n, &e), ABX_E_INVALID);
        assert_true(abx_error_hint(e)[0] != '\0');
        abx_error_free(e);
        e = NULL;
    }
    api_ok(abx_approvals_forget(key, &n, &e), &e);
    assert_int_equal(n, 1);
    assert_int_equal(abx_approvals_forget(key, &n, NULL), ABX_E_INVALID);
    api_ok(abx_approvals_forget(NULL, &n, &e), &e);
    assert_int_equal(n, 2);
    api_ok(abx_approvals_forget(NULL, NULL, &e), &e);

    start_keeping(state, ABX_APPROVE_NO, 0); /* another program: this one still knows them */
    assert_int_equal(wrap_text(s, ESCALATED " 1"), ABX_E_ESCALATED);
}

static void misuse_is_told(void **state)
{
    char *text;

    (void)state;
    assert_int_equal(abx_approvals_list("xml", &text, NULL), ABX_E_INVALID);
    assert_int_equal(abx_approvals_list(NULL, &text, NULL), ABX_E_INVALID);
    assert_int_equal(abx_approvals_list("text", NULL, NULL), ABX_E_INVALID);
}

static void many_noes_are_a_pause_where_that_is_asked_for(void **state)
{
    struct case_state *s = start_keeping(state, ABX_APPROVE_NO, ABX_LIMIT_QUESTIONS);
    abx_error *e = NULL;

    for (int i = 1; i <= REFUSALS_MAX; i++) {
        assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
        assert_int_equal(s->desk.asked, i);
    }
    s->desk.answer = ABX_APPROVE_ALWAYS; /* nobody hears it */
    abx_command *c = api_shell(&s->api, ESCALATED);
    assert_int_equal(abx_manager_wrap(s->api.manager, c, &e), ABX_E_ESCALATED);
    assert_non_null(strstr(abx_error_message(e), "not asked about"));
    assert_non_null(strstr(abx_error_hint(e), "wait"));
    abx_error_free(e);
    abx_command_free(c);
    assert_int_equal(s->desk.asked, REFUSALS_MAX);
    assert_int_equal(wrap_text(s, "echo harmless"), ABX_OK);

    start_keeping(state, ABX_APPROVE_ONCE, 0); /* an approver that is no person */
    assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
}

static void a_yes_ends_the_count_and_failures_are_none(void **state)
{
    struct case_state *s = start_keeping(state, ABX_APPROVE_FAILED, ABX_LIMIT_QUESTIONS);

    for (int i = 0; i <= REFUSALS_MAX; i++)
        assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
    assert_int_equal(s->desk.asked, REFUSALS_MAX + 1);
    for (int round = 0; round < 2; round++) {
        s->desk.answer = ABX_APPROVE_NO;
        for (int i = 1; i < REFUSALS_MAX; i++)
            assert_int_equal(wrap_text(s, ESCALATED), ABX_E_ESCALATED);
        s->desk.answer = ABX_APPROVE_ONCE;
        assert_int_equal(wrap_text(s, ESCALATED), ABX_OK);
    }
}

static void the_pause_ends_with_the_minute(void **state)
{
    const struct case_state *s = *state;
    const char *const dirs[] = { s->api.dir, NULL };
    const int64_t now = 1000000;

    for (int i = 0; i < REFUSALS_MAX; i++) {
        assert_int_equal(refusals_wait(dirs, now + i), 0);
        refusals_add(dirs, now + i);
    }
    assert_int_equal(refusals_wait(dirs, now + 10), REFUSALS_SECONDS - 10);
    assert_int_equal(refusals_wait(dirs, now + REFUSALS_SECONDS), 0); /* four are left */
    refusals_add(dirs, now + REFUSALS_SECONDS);
    assert_int_equal(refusals_wait(dirs, now + REFUSALS_SECONDS), 1);
    assert_int_equal(refusals_wait(dirs, now - 1), 0); /* the clock was set back */
    refusals_clear(dirs);
    assert_int_equal(refusals_wait(dirs, now + REFUSALS_SECONDS), 0);
}

static void a_record_that_does_not_read_right_counts_nothing(void **state)
{
    static const char *const wrong[] = { "", "x", "agentbox-refused-1", "agentbox-refused-1\n-1\n",
                                         "agentbox-refused-1\n1\n1\nx\n1\n1\n1\n1\n" };
    const struct case_state *s = *state;
    const char *const dirs[] = { s->api.dir, "/nonexistent/agentbox", NULL };
    char path[512];

    refusals_add(dirs, 1);
    (void)snprintf(path, sizeof path, "%s/questions/refused", s->api.dir);
    write_file(path, "agentbox-refused-1\n1\n1\n1\n1\n1\n");
    assert_int_equal(refusals_wait(dirs, 1), REFUSALS_SECONDS);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        write_file(path, wrong[i]);
        assert_int_equal(refusals_wait(dirs, 1), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(always_is_listed_and_once_is_not),
        TEST(forgetting_names_one_or_all),
        TEST(a_record_counts_only_if_it_reads_exactly_right),
        TEST(a_record_that_cannot_be_kept_is_told),
        TEST(misuse_is_told),
        TEST(many_noes_are_a_pause_where_that_is_asked_for),
        TEST(a_yes_ends_the_count_and_failures_are_none),
        TEST(the_pause_ends_with_the_minute),
        TEST(a_record_that_does_not_read_right_counts_nothing),
    };

    return cmocka_run_group_tests_name("approvals", tests, NULL, NULL);
}
