/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the monitor remembers of directories, and when it forgets: whatever a command does between
 * two calls, by hand or by another's, the second is told if the view refuses it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lib/monitor_place.h"

#define MAKES (O_WRONLY | O_CREAT | O_EXCL)
#define USES  256 /* at most, of what is remembered */

/* A directory of its own for each test, below rw. */
static const char *fresh(void)
{
    static char path[32];
    static unsigned count;

    (void)snprintf(path, sizeof path, "rw/d%u", count++);
    assert_int_equal(mkdir(path, 0755), 0);
    return path;
}

static const char *in(const char *dir, const char *name)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* dir leads to the read-only directory from now on. Nobody tells the monitor. */
static void turn(const char *dir)
{
    char away[64];

    (void)snprintf(away, sizeof away, "%s-away", dir);
    assert_int_equal(rename(dir, away), 0);
    assert_int_equal(symlink("../ro", dir), 0);
}

static void a_directory_is_looked_at_again_after_a_while(void **state)
{
    unsigned missed = 0;

    (void)state;
    need_namespaces();
    const char *dir = fresh();
    assert_false(serve_open(in(dir, "new"), MAKES));
    turn(dir);
    while (missed < 2 * USES && !serve_open(in(dir, "new"), MAKES))
        missed++;
    assert_told("ro/new", WATCH_NAME);
    assert_in_range(missed, 1, USES); /* it was remembered, and not for ever */
}

static void moving_linking_and_making_are_noticed(void **state)
{
    (void)state;
    need_namespaces();
    for (unsigned i = 0; i < 4; i++) {
        const char *dir = fresh();
        char name[16];

        assert_false(serve_open(in(dir, "new"), MAKES));
        turn(dir);
        (void)snprintf(name, sizeof name, "new%u", i);
        const uint64_t one = text(in(dir, "one")), two = text(in(dir, "two"));
        if (i == 0)
            (void)serve(SYS_renameat2, HERE, one, HERE, two);
        else if (i == 1)
            (void)serve(SYS_symlinkat, one, HERE, two, 0);
        else if (i == 2)
            (void)serve(SYS_linkat, HERE, one, HERE, two);
        else
            (void)serve(SYS_mkdirat, HERE, one, 0, 0);
        assert_true(serve_open(in(dir, name), MAKES));
        assert_told(in("ro", name), WATCH_NAME);
    }
}

static void who_goes_elsewhere_is_followed(void **state)
{
    (void)state;
    need_namespaces();
    const int back = open(".", O_PATH | O_CLOEXEC);

    for (unsigned i = 0; i < 2; i++) {
        assert_false(serve_open("new", MAKES));
        assert_false(serve(i ? SYS_fchdir : SYS_chdir, text("ro"), 0, 0, 0));
        assert_int_equal(monitor.error, 0);
        assert_int_equal(chdir("ro"), 0);
        assert_true(serve_open(i ? "two" : "one", MAKES));
        assert_told(i ? "ro/two" : "ro/one", WATCH_NAME);
        assert_false(serve(SYS_chdir, text(".."), 0, 0, 0));
        assert_int_equal(fchdir(back), 0);
    }
    (void)close(back);
}

/* Somebody else looks while the change is still under way. */
static void what_is_being_changed_is_not_remembered(void **state)
{
    (void)state;
    need_namespaces();
    const char *dir = fresh();
    const pid_t other = fork();

    if (other == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            (void)pause();
    }
    assert_true(other > 0);
    assert_false(serve(SYS_renameat2, HERE, text("rw/a"), HERE, text("rw/b")));
    serve_pid = (uint32_t)other;
    assert_false(serve_open(in(dir, "new"), MAKES));
    turn(dir);
    assert_true(serve_open(in(dir, "late"), MAKES));
    serve_pid = 0;
    (void)kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
}

static void links_of_proc_are_never_remembered(void **state)
{
    char path[64];

    (void)state;
    need_namespaces();
    int fd = open("rw", O_PATH | O_CLOEXEC), ro = open("ro", O_PATH | O_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d/pnew", fd);
    assert_false(serve_open(path, MAKES));
    assert_int_equal(dup3(ro, fd, O_CLOEXEC), fd);
    assert_true(serve_open(path, MAKES));
    assert_told("ro/pnew", WATCH_NAME);
    (void)close(fd);
    (void)close(ro);
}

static void with_opens_alone_nothing_is_remembered(void **state)
{
    const struct plan plan = { .watch = WATCH_WRITES };

    (void)state;
    need_namespaces();
    judge_begin(&plan);
    const char *dir = fresh();
    assert_false(serve_open(in(dir, "new"), MAKES));
    turn(dir); /* which it would not be told of */
    assert_true(serve_open(in(dir, "writes"), MAKES));
}

/* ---- descriptors ---- */

static bool serve_remove(int fd, const char *name)
{
    return serve(SYS_unlinkat, (uint64_t)fd, text(name), 0, 0);
}

static void a_descriptor_that_became_another_is_noticed(void **state)
{
    (void)state;
    need_namespaces();
    const char *dir = fresh();
    for (const char *name = "abcde"; *name; name++)
        write_text(in(dir, (const char[]){ *name, '\0' }), "");
    int fd = open(dir, O_PATH | O_CLOEXEC), ro = open("ro", O_PATH | O_CLOEXEC);

    assert_false(serve_remove(fd, "a"));
    assert_false(serve_remove(fd, "b"));
    assert_false(serve_remove(fd, "c"));
    assert_int_equal(dup3(ro, fd, O_CLOEXEC), fd);
    assert_false(serve_remove(fd, "d")); /* is not in ro */
    assert_true(serve_remove(fd, "f"));
    assert_told("ro/f", WATCH_NAME);
    (void)close(fd);
    (void)close(ro);
}

/* A name that is in both: the one case that is missed, and not for ever. */
static void a_descriptor_is_looked_at_again_after_a_while(void **state)
{
    unsigned missed = 0;

    (void)state;
    need_namespaces();
    const char *dir = fresh();
    write_text(in(dir, "link"), "");
    int fd = open(dir, O_PATH | O_CLOEXEC), ro = open("ro", O_PATH | O_CLOEXEC);

    for (int i = 0; i < 3; i++)
        assert_false(serve_remove(fd, "link"));
    assert_int_equal(dup3(ro, fd, O_CLOEXEC), fd);
    while (missed < 2 * USES && !serve_remove(fd, "link"))
        missed++;
    assert_told("ro/link", WATCH_NAME);
    assert_in_range(missed, 1, USES);
    (void)close(fd);
    (void)close(ro);
}

/* How many descriptors this process has. */
static int count_open(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void at_most_one_directory_is_held(void **state)
{
    (void)state;
    need_namespaces();
    int fd = open("rw", O_PATH | O_CLOEXEC);
    const int before = count_open();

    for (int i = 0; i < 10; i++) {
        int own = open(fresh(), O_PATH | O_CLOEXEC);
        for (int j = 0; j < 3; j++)
            (void)serve_remove(own, "none");
        assert_int_equal(count_open(), before + 2);
        (void)close(own);
    }
    /* Whoever removes a directory does it by its name: it can go. */
    (void)serve(SYS_unlinkat, HERE, text("rw/gone"), AT_REMOVEDIR, 0);
    assert_int_equal(count_open(), before);
    (void)close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        TEST(a_directory_is_looked_at_again_after_a_while),
        TEST(moving_linking_and_making_are_noticed),
        TEST(who_goes_elsewhere_is_followed),
        TEST(what_is_being_changed_is_not_remembered),
        TEST(links_of_proc_are_never_remembered),
        TEST(with_opens_alone_nothing_is_remembered),
        TEST(a_descriptor_that_became_another_is_noticed),
        TEST(a_descriptor_is_looked_at_again_after_a_while),
        TEST(at_most_one_directory_is_held),
    };

    return cmocka_run_group_tests_name("known", tests, setup_all, NULL);
}
