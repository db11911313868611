/* SPDX-License-Identifier: Apache-2.0 */
/* The pure half of src/darwin: names of files, lines of the log, who ends whom, the host's side. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "darwin/canonical.h"
#include "darwin/clear.h"
#include "darwin/host.h"
#include "darwin/logstream.h"
#include "darwin/watch.h"

static void one_name_for_a_file(void **state)
{
    static const struct {
        const char *path, *canonical;
    } table[] = {
        { "/", "/" },
        { "/tmp", "/private/tmp" },
        { "/tmp/x", "/private/tmp/x" },
        { "/tmpx", "/tmpx" },
        { "/var/folders/a", "/private/var/folders/a" },
        { "/etc/hosts", "/private/etc/hosts" },
        { "/private/tmp/x", "/private/tmp/x" },
        { "/System/Volumes/Data/Users/u/.ssh", "/Users/u/.ssh" },
        { "/System/Volumes/Data/private/tmp", "/private/tmp" },
        { "/System/Volumes/Data/usr/local/bin", "/usr/local/bin" },
        { "/System/Volumes/Data/usr/bin", "/System/Volumes/Data/usr/bin" },
        { "/System/Volumes/Data", "/System/Volumes/Data" },
        { "/System/Volumes/DataX/Users", "/System/Volumes/DataX/Users" },
        { "/System/Volumes/Data/Usersx", "/System/Volumes/Data/Usersx" },
        { "/Users/u/tmp", "/Users/u/tmp" },
    };
    char out[DARWIN_PATH_MAX], twice[DARWIN_PATH_MAX], path[DARWIN_PATH_MAX + 1];

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        assert_int_equal(darwin_canonical(table[i].path, out), 0);
        assert_string_equal(out, table[i].canonical);
        assert_int_equal(darwin_canonical(out, twice), 0);
        assert_string_equal(twice, out);
    }
    memset(path, 'x', sizeof path);
    memcpy(path, "/tmp/", 5);
    path[DARWIN_PATH_MAX - 1] = '\0';
    assert_int_equal(darwin_canonical(path, out), -ENAMETOOLONG);
    path[DARWIN_PATH_MAX - 9] = '\0';
    assert_int_equal(darwin_canonical(path, out), 0);
}

#define TAG        "agentbox-0123456789abcdef"
#define LINE(text) "{\"timestamp\":\"T\",\"eventMessage\":\"" text "\"}"

static void denials_are_read_from_the_log(void **state)
{
    static const struct {
        const char *line;
        struct logstream_event event; /* operation NULL: there is none */
    } table[] = {
        { LINE("Sandbox: cat(96728) deny(1) file-read-data /a b\\n" TAG),
          { LOG_FILE_READ, "file-read-data", "/a b", "cat", "T", 96728, 1, false } },
        { LINE("Sandbox: touch(3) deny(1) file-write-create /w/\\u00e4\\nb\\n" TAG),
          { LOG_FILE_WRITE, "file-write-create", "/w/\xc3\xa4\nb", "touch", "T", 3, 1, false } },
        { LINE(
              "12 duplicate reports for Sandbox: a(7) deny(1) network-outbound 192.0.2.1:4\\n" TAG),
          { LOG_NETWORK, "network-outbound", "192.0.2.1:4", "a", "T", 7, 12, false } },
        { LINE("1 duplicate report for Sandbox: ps(7) deny(1) process-info-pidinfo 88\\n" TAG),
          { LOG_PROCESS, "process-info-pidinfo", "88", "ps", "T", 7, 1, false } },
        { LINE("Sandbox: sandbox-exec(9) deny(1) forbidden-sandbox-reinit\\n" TAG),
          { LOG_PROCESS, "forbidden-sandbox-reinit", "", "sandbox-exec", "T", 9, 1, true } },
        { LINE("Sandbox: security(5) deny(1) mach-lookup com.apple.SecurityServer\\n" TAG),
          { LOG_OTHER, "mach-lookup", "com.apple.SecurityServer", "security", "T", 5, 1, false } },
        { LINE("Sandbox: a (b)(5) deny(1) file-link /x\\n" TAG),
          { LOG_FILE_WRITE, "file-link", "/x", "a (b)", "T", 5, 1, false } },
        /* What a path says about other processes is part of the path. */
        { LINE("Sandbox: x(1) deny(1) file-read-data /(2) deny(1) signal\\n" TAG),
          { LOG_FILE_READ, "file-read-data", "/(2) deny(1) signal", "x", "T", 1, 1, false } },
        { LINE("Sandbox: cat(1) deny(1) file-read-data /x\\nagentbox-f"), { .operation = NULL } },
        { LINE("Sandbox: cat(1) deny(1) file-read-data /x" TAG), { .operation = NULL } },
        { LINE("Sandbox: cat(1) allow file-read-data /x\\n" TAG), { .operation = NULL } },
        { LINE("Sandbox: cat(99999999999) deny(1) file-read-data /x\\n" TAG),
          { .operation = NULL } },
        { LINE("Sandbox: cat(1) deny(1) \\n" TAG), { .operation = NULL } },
        { "{\"eventMessage\":1}", { .operation = NULL } },
        { "[]", { .operation = NULL } },
        { "Filtering the log data using \"sender\"", { .operation = NULL } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct arena arena;
        struct logstream_event e;
        const struct logstream_event *wanted = &table[i].event;

        arena_init(&arena, 1 << 20);
        int r = logstream_read(&arena, table[i].line, strlen(table[i].line), TAG, &e);
        assert_int_equal(r, wanted->operation != NULL);
        if (r) {
            assert_string_equal(e.operation, wanted->operation);
            assert_string_equal(e.target, wanted->target);
            assert_string_equal(e.process, wanted->process);
            assert_string_equal(e.time, wanted->time);
            assert_string_equal(logstream_kind_name(e.kind), logstream_kind_name(wanted->kind));
            assert_int_equal(e.pid, wanted->pid);
            assert_int_equal(e.count, wanted->count);
            assert_int_equal(e.is_nesting, wanted->is_nesting);
        }
        arena_done(&arena);
    }
}

static void a_run_ends_once_and_asks_first(void **state)
{
    struct watch w = { 0 };

    (void)state;
    assert_int_equal(watch_decide(&w, WATCH_SIGNAL, SIGWINCH), WATCH_FORWARD);
    assert_int_equal(watch_decide(&w, WATCH_GRACE_OVER, 0), 0);
    assert_int_equal(watch_decide(&w, WATCH_SIGNAL, SIGINT), WATCH_FORWARD | WATCH_START_GRACE);
    assert_int_equal(watch_decide(&w, WATCH_SIGNAL, SIGUSR1), WATCH_FORWARD);
    assert_int_equal(watch_decide(&w, WATCH_SIGNAL, SIGTERM), WATCH_KILL);
    assert_int_equal(watch_decide(&w, WATCH_EXITED, 0), WATCH_KILL | WATCH_REPORT);
    assert_int_equal(watch_decide(&w, WATCH_SIGNAL, SIGINT), 0);
    assert_int_equal(watch_decide(&w, WATCH_HOST_GONE, 0), 0);
    assert_false(w.timed_out);

    w = (struct watch){ 0 };
    assert_int_equal(watch_decide(&w, WATCH_TIMEOUT, 0), WATCH_TERMINATE | WATCH_START_GRACE);
    assert_int_equal(watch_decide(&w, WATCH_GRACE_OVER, 0), WATCH_KILL);
    assert_true(w.timed_out && !w.is_over);
    assert_int_equal(watch_decide(&w, WATCH_HOST_GONE, 0), WATCH_KILL | WATCH_LEAVE);
    assert_true(w.is_over);
}

static void records_come_out_of_a_stream_whatever_its_pieces(void **state)
{
    struct status_msg sent[3] = { { .kind = STATUS_TTY }, { .kind = STATUS_STARTED, .value = 7 } };

    (void)state;
    sent[2].kind = STATUS_FAILED;
    memset(sent[2].step, 'x', sizeof sent[2].step); /* without a NUL, as no launcher sends it */
    memset(sent[2].text, 'y', sizeof sent[2].text);
    for (size_t piece = 1; piece <= sizeof sent; piece += 13) {
        struct inbox inbox = { .have = 0 };
        size_t done = 0, got = 0;
        while (done < sizeof sent) {
            size_t room;
            void *to = inbox_room(&inbox, &room);
            size_t n = MIN_OF(MIN_OF(piece, room), sizeof sent - done);
            assert_true(room > 0 && room <= sizeof inbox.msg);
            memcpy(to, (const char *)sent + done, n);
            done += n;
            if (!inbox_add(&inbox, n))
                continue;
            assert_int_equal(inbox.msg.kind, sent[got].kind);
            assert_int_equal(inbox.msg.value, sent[got].value);
            assert_true(strlen(inbox.msg.step) < sizeof inbox.msg.step);
            assert_true(strlen(inbox.msg.text) < sizeof inbox.msg.text);
            got++;
        }
        assert_int_equal(got, 3);
        assert_int_equal(inbox.have, 0);
    }
}

static void the_launcher_gets_the_runs_own_tmpdir_and_nothing_of_linux(void **state)
{
    static const char *const env[] = { "A=1", "TMPDIR=/tmp", "TMPDIRX=2", NULL };
    static const struct mount_op mount = { .kind = MOUNT_PROC, .path = "/proc", .text = "" };
    const struct plan plan = { .env = env,
                               .env_count = 3,
                               .mounts = &mount,
                               .mount_count = 1,
                               .hold_count = 1,
                               .filter = { .count = 3 },
                               .cwd = "/w" };
    const char *room[5];
    struct plan own;

    (void)state;
    host_plan(&plan, "TMPDIR=/private/x", room, &own);
    assert_int_equal(own.env_count, 3);
    assert_string_equal(own.env[0], "A=1");
    assert_string_equal(own.env[1], "TMPDIRX=2");
    assert_string_equal(own.env[2], "TMPDIR=/private/x");
    assert_null(own.env[3]);
    assert_int_equal(own.mount_count + own.hold_count + own.filter.count, 0);
    assert_string_equal(own.cwd, "/w");
}

static void put(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    (void)close(fd);
}

static void clearing_a_tree_follows_no_link(void **state)
{
    char dir[] = "/tmp/abx-clear.XXXXXX", old[PATH_MAX];

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_non_null(getcwd(old, sizeof old));
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(mkdir("outside", 0700), 0);
    put("outside/canary");
    assert_int_equal(mkdir("tree", 0700), 0);
    assert_int_equal(mkdir("tree/a", 0700), 0);
    put("tree/a/file");
    assert_int_equal(symlink("../../outside", "tree/a/link"), 0);
    assert_int_equal(chmod("tree/a", 0), 0);
    assert_int_equal(clear_tree(AT_FDCWD, "tree"), 0);
    assert_int_equal(access("tree", F_OK), -1);
    assert_int_equal(access("outside/canary", F_OK), 0);
    assert_int_equal(symlink("outside", "tree"), 0);
    assert_int_equal(clear_tree(AT_FDCWD, "tree"), 0); /* the link itself */
    assert_int_equal(access("outside/canary", F_OK), 0);

    /* Deeper than it goes: an error, and no descriptor is left. */
    char deep[2 * CLEAR_MAX_DEPTH + 16] = "deep";
    assert_int_equal(mkdir(deep, 0700), 0);
    for (int i = 0; i < CLEAR_MAX_DEPTH + 4; i++) {
        (void)strcat(deep, "/d");
        assert_int_equal(mkdir(deep, 0700), 0);
    }
    assert_int_equal(clear_tree(AT_FDCWD, "deep"), -ENOTEMPTY);
    assert_int_equal(chdir("deep/d/d/d/d/d/d/d/d"), 0);
    assert_int_equal(clear_tree(AT_FDCWD, "d"), 0);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(clear_tree(AT_FDCWD, "deep"), 0);
    assert_int_equal(clear_tree(AT_FDCWD, "outside"), 0);
    assert_int_equal(chdir(old), 0);
    assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_name_for_a_file),
        cmocka_unit_test(denials_are_read_from_the_log),
        cmocka_unit_test(a_run_ends_once_and_asks_first),
        cmocka_unit_test(clearing_a_tree_follows_no_link),
        cmocka_unit_test(records_come_out_of_a_stream_whatever_its_pieces),
        cmocka_unit_test(the_launcher_gets_the_runs_own_tmpdir_and_nothing_of_linux),
    };

    return cmocka_run_group_tests_name("darwin", tests, NULL, NULL);
}
