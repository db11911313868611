/* SPDX-License-Identifier: Apache-2.0 */
/* What is watched, and the list of violations that comes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/bpf.h"
#include "plan/seccomp_compile.h"
#include "run/violations.h"

#define CALLS        200u
#define TARGET_COUNT (SECCOMP_ARCH_COUNT * SECCOMP_PROGRAM_COUNT)

static uint64_t random_state = UINT64_C(0x2545f4914f6cdd1d); /* the same in every run */

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static struct seccomp_data random_call(enum seccomp_arch arch, uint32_t number)
{
    static const uint32_t arches[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };
    static const uint32_t telling[] = {
        0,       O_WRONLY, O_RDWR | O_CREAT, O_TMPFILE | O_RDWR, S_ISUID,
        S_ISGID, 0644,     CLONE_NEWUSER,    CLONE_NEWNS,        O_TRUNC,
        1
    };
    struct seccomp_data data = { .nr = (int)number, .arch = arches[arch] };

    for (size_t i = 0; i < ARRAY_LEN(data.args); i++)
        data.args[i] = random_next() % 4 ? telling[random_next() % ARRAY_LEN(telling)]
                                         : random_next();
    return data;
}

static void compile_target(const struct seccomp_target *t, struct bpf_program *ret)
{
    static uint64_t insns[PLAN_MAX_INSNS];
    size_t count;
    const struct seccomp_row *table = seccomp_table(&count);
    uint32_t length = seccomp_compile(table, count, t, insns);

    assert_int_not_equal(length, 0);
    assert_true(bpf_from_plan(insns, length, ret));
}

static uint32_t run(const struct bpf_program *p, const struct seccomp_data *data)
{
    uint32_t verdict = 0;

    assert_true(bpf_run(p, data, &verdict));
    return verdict;
}

/* ---- what is watched ---- */

static void watched_rows_are_sorted_and_have_the_tables_numbers(void **state)
{
    size_t count;
    const struct seccomp_watch *list = seccomp_watch_table(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct seccomp_row *row = seccomp_row_by_name(list[i].name);

        if (i > 0 && strcmp(list[i - 1].name, list[i].name) >= 0)
            fail_msg("%s must come after %s", list[i - 1].name, list[i].name);
        if (!row || memcmp(row->number, list[i].number, sizeof row->number) != 0)
            fail_msg("%s has other numbers than in syscalls.def", list[i].name);
        bool refused = row->command == SECCOMP_DENY || row->command == SECCOMP_NESTED ||
                       row->command == SECCOMP_CLONE || row->command == SECCOMP_UNSHARE ||
                       row->command == SECCOMP_SOCKET || row->command == SECCOMP_ABSENT;
        if (refused != (list[i].level == WATCH_TOLD))
            fail_msg("%s: TOLD is for what is refused, and for nothing else", list[i].name);
    }
}

/* The monitor adds questions; it neither opens nor closes anything. */
static void watching_changes_no_verdict_but_into_a_question(void **state)
{
    static struct bpf_program plain, watched;

    (void)state;
    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        struct seccomp_target t = seccomp_target_at(i % SECCOMP_PROGRAM_COUNT), without;
        size_t asked = 0;

        if (!t.options.watch)
            continue;
        t.arch = i / SECCOMP_PROGRAM_COUNT;
        without = t;
        without.options.watch = WATCH_OFF;
        compile_target(&t, &watched);
        compile_target(&without, &plain);
        for (uint32_t n = 0; n <= SECCOMP_MAX_NUMBER; n++) {
            for (unsigned j = CALLS; j > 0; j--) {
                struct seccomp_data data = random_call(t.arch, n);
                uint32_t verdict = run(&watched, &data), before = run(&plain, &data);

                asked += verdict == SECCOMP_RET_USER_NOTIF;
                if (verdict != before && verdict != SECCOMP_RET_USER_NOTIF)
                    fail_msg("call %u: %x became %x", n, before, verdict);
            }
        }
        assert_true(asked > 1000);
    }
}

static void unix_sockets_are_told_but_for_the_type_of_nscd(void **state)
{
    static const struct {
        uint64_t family, type;
        bool allowed; /* Unix sockets */
        uint32_t verdict;
    } cases[] = {
        { AF_UNIX, SOCK_STREAM, false, SECCOMP_RET_USER_NOTIF },
        { AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, false, SECCOMP_RET_USER_NOTIF },
        { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, false, SECCOMP_RET_USER_NOTIF },
        { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, false, SECCOMP_RET_ERRNO | EPERM },
        { AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, false, SECCOMP_RET_ALLOW },
        { AF_UNIX, SOCK_STREAM, true, SECCOMP_RET_ALLOW },
    };
    static struct bpf_program p;
    const struct seccomp_row *row = seccomp_row_by_name("socket");

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (unsigned level = WATCH_WRITES; level < WATCH_LEVEL_COUNT; level++) {
            struct seccomp_target t = seccomp_target_at(
                SECCOMP_PROGRAM_WATCH(cases[i].allowed, level));
            struct seccomp_data data = random_call(SECCOMP_X86_64, (uint32_t)row->number[0]);

            t.arch = SECCOMP_X86_64;
            compile_target(&t, &p);
            data.args[0] = cases[i].family;
            data.args[1] = cases[i].type;
            data.args[2] = 0;
            assert_int_equal(run(&p, &data), cases[i].verdict);
        }
}

/* ---- the list ---- */

static const struct abx_violation example = {
    .operation = VIOLATION_WRITE,
    .path = "/etc/x",
    .detail = "openat",
    .process = "touch",
    .rule = "default",
    .origin = "built-in",
    .grant = "--rw /etc",
};

static void the_same_thing_stands_once_with_a_count(void **state)
{
    struct violations v = { 0 };
    struct abx_violation other = example;
    bool is_new;

    (void)state;
    assert_non_null(violations_add(&v, &example, &is_new));
    assert_true(is_new);
    other.detail = "mkdir"; /* another way to the same path */
    other.count = 5;
    assert_int_equal(violations_add(&v, &other, &is_new)->count, 6);
    assert_false(is_new);
    other.operation = VIOLATION_READ;
    assert_non_null(violations_add(&v, &other, &is_new));
    assert_true(is_new);
    assert_int_equal(v.count, 2);
    violations_done(&v);
}

static void a_count_stays_at_its_end_and_an_unknown_operation_has_a_name(void **state)
{
    struct violations v = { 0 };
    struct abx_violation much = example;

    (void)state;
    much.count = UINT64_MAX - 1;
    assert_non_null(violations_add(&v, &much, NULL));
    assert_true(violations_add(&v, &much, NULL)->count == UINT64_MAX);
    assert_true(violations_add(&v, &example, NULL)->count == UINT64_MAX);
    assert_string_equal(violation_operation_name(VIOLATION_OPERATION_COUNT), "?");
    violations_done(&v);
}

static void a_line_is_one_line_whatever_the_names_contain(void **state)
{
    struct violations v = { 0 };
    struct abx_violation bad = example;

    (void)state;
    bad.path = "/tmp/a\nfile-write /etc/passwd\033[2J\xff";
    bad.process = "x\r\n";
    const char *text = violations_add(&v, &bad, NULL)->text;
    for (const char *s = text; *s; s++)
        assert_true((unsigned char)*s >= 0x20 && (unsigned char)*s < 0x7f);
    assert_non_null(strstr(text, "to allow: --rw /etc"));
    violations_done(&v);
}

static void the_list_is_bounded_and_counts_the_rest(void **state)
{
    struct violations v = { 0 }, copy;
    static char long_path[3 * VIOLATIONS_TEXT_MAX];
    char path[64];

    (void)state;
    memset(long_path, 'a', sizeof long_path - 1);
    struct abx_violation one = example;
    one.path = long_path;
    assert_int_equal(strlen(violations_add(&v, &one, NULL)->path), VIOLATIONS_TEXT_MAX);
    one.path = path;
    for (unsigned i = 1; i < VIOLATIONS_MAX + 10; i++) {
        (void)snprintf(path, sizeof path, "/x/%u", i);
        assert_true((violations_add(&v, &one, NULL) != NULL) == (i < VIOLATIONS_MAX));
    }
    assert_int_equal(v.count, VIOLATIONS_MAX);
    assert_int_equal(v.dropped, 10);
    assert_int_equal(violations_copy(&v, &copy), 0);
    assert_int_equal(copy.count, VIOLATIONS_MAX);
    assert_int_equal(copy.dropped, 10);
    assert_string_equal(copy.list[7].path, "/x/7");
    violations_done(&copy);
    violations_done(&v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(watched_rows_are_sorted_and_have_the_tables_numbers),
        cmocka_unit_test(watching_changes_no_verdict_but_into_a_question),
        cmocka_unit_test(unix_sockets_are_told_but_for_the_type_of_nscd),
        cmocka_unit_test(the_same_thing_stands_once_with_a_count),
        cmocka_unit_test(a_count_stays_at_its_end_and_an_unknown_operation_has_a_name),
        cmocka_unit_test(a_line_is_one_line_whatever_the_names_contain),
        cmocka_unit_test(the_list_is_bounded_and_counts_the_rest),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
