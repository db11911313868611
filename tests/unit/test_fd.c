/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and whole reads and writes, against the real kernel: symlinks on the way, paths
 * beyond PATH_MAX, seals, execution from memory, files that are none. Each test has a directory of
 * its own.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/io.h"
#include "lib/need.h"

static char dir[64];
static int dir_fd = -1;

static int set_up(void **state)
{
    (void)state;
    strcpy(dir, "/tmp/abx-test-fd-XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

/* Takes away the names that the tests use; "deep" is a chain of directories. */
static int tear_down(void **state)
{
    static const char *const names[] = { "file", "link", "fifo", "dir/inner", "dirlink" };
    int at = dir_fd, depth = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        (void)unlinkat(dir_fd, names[i], 0);
    (void)unlinkat(dir_fd, "dir", AT_REMOVEDIR);

    static char name[201];
    memset(name, 'd', 200);
    for (int next; (next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)) >= 0; depth++) {
        (void)unlinkat(next, "link", 0);
        if (at != dir_fd)
            fd_close(at);
        at = next;
    }
    for (; depth > 0; depth--) {
        int up = openat(at, "..", O_RDONLY | O_DIRECTORY);

        (void)unlinkat(up, name, AT_REMOVEDIR);
        fd_close(at);
        at = up;
    }
    fd_close(at);
    if (at != dir_fd)
        fd_close(dir_fd);
    return rmdir(dir);
}

static void make_file(const char *name, const char *text)
{
    _fd_ int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

static void close_keeps_errno(void **state)
{
    (void)state;
    errno = EXDEV;
    fd_close(-1);
    fd_close(1000000);
    assert_int_equal(errno, EXDEV);
}

static void open_path_gives_a_cloexec_o_path_descriptor(void **state)
{
    _fd_ int fd = -1;

    (void)state;
    make_file("file", "x");
    fd = fd_open_path(dir_fd, "file");
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_true((fcntl(fd, F_GETFL) & O_PATH) != 0);
}

static void open_path_takes_absolute_and_relative_paths(void **state)
{
    struct stat a, b;
    _fd_ int absolute = fd_open_path(-1, dir), relative = fd_open_path(dir_fd, ".");

    (void)state;
    assert_true(absolute >= 0 && relative >= 0);
    assert_int_equal(fstat(absolute, &a) | fstat(relative, &b), 0);
    assert_int_equal(a.st_ino, b.st_ino);
}

static void open_path_says_what_is_wrong(void **state)
{
    char name[NAME_MAX + 2];

    (void)state;
    make_file("file", "");
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(fd_open_path(dir_fd, "missing"), -ENOENT);
    assert_int_equal(fd_open_path(dir_fd, ""), -ENOENT);
    assert_int_equal(fd_open_path(dir_fd, "file/x"), -ENOTDIR);
    assert_int_equal(fd_open_path(-1, "x"), -EBADF);
    assert_int_equal(fd_open_path(dir_fd, name), -ENAMETOOLONG);
}

static void open_path_never_follows_a_link_on_the_way(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(dir_fd, "dir", 0700), 0);
    assert_int_equal(symlinkat("dir", dir_fd, "dirlink"), 0);
    make_file("dir/inner", "x");
    assert_int_equal(fd_open_path(dir_fd, "dirlink/inner"), -ELOOP);
    assert_int_equal(fd_open_path(dir_fd, "dirlink/"), -ELOOP);
    assert_int_equal(fd_open_path(-1, "/proc/self/root/etc"), -ELOOP);
}

static void open_path_opens_a_last_link_itself(void **state)
{
    struct stat st;
    _fd_ int fd = -1;

    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, "link"), 0);
    fd = fd_open_path(dir_fd, "link");
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* Directories below dir_fd, each of 200 bytes; the path has `slashes` between them. */
static char *make_deep(unsigned depth, const char *slashes, ino_t *ret_ino)
{
    char name[201] = { 0 }, *path = calloc(depth + 2, 210);
    struct stat st;
    int at = dup(dir_fd);

    assert_non_null(path);
    memset(name, 'd', 200);
    for (unsigned i = 0; i < depth; i++) {
        int next;

        assert_int_equal(mkdirat(at, name, 0700), 0);
        next = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        fd_close(at);
        at = next;
        strcat(strcat(path, name), i + 1 < depth ? slashes : "");
    }
    assert_int_equal(symlinkat("/", at, "link"), 0);
    assert_int_equal(fstat(at, &st), 0);
    *ret_ino = st.st_ino;
    fd_close(at);
    return path;
}

static void open_path_walks_paths_beyond_path_max(void **state)
{
    static const char *const ends[] = { "", "/", "/.", "///" };
    ino_t ino = 0;
    char *path = make_deep(100, "/", &ino);
    size_t n = strlen(path);

    (void)state;
    assert_true(n > 4 * PATH_MAX);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        struct stat st;
        _fd_ int fd = -1;

        strcpy(path + n, ends[i]);
        fd = fd_open_path(dir_fd, path);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_ino, ino);
    }
    free(path);
}

static void open_path_cuts_runs_of_slashes_without_becoming_absolute(void **state)
{
    ino_t ino = 0;
    char *path = make_deep(60, "//////", &ino);
    struct stat st;
    _fd_ int fd = fd_open_path(dir_fd, path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_ino, ino);
    free(path);
}

static void open_path_follows_no_link_deep_down_either(void **state)
{
    ino_t ino = 0;
    char *path = make_deep(100, "/", &ino);
    size_t n = strlen(path);
    int r;

    (void)state;
    strcpy(path + n, "/link/etc");
    assert_int_equal(fd_open_path(dir_fd, path), -ELOOP);
    /* A link just before a cut: the piece that ends with it must be a directory. */
    for (size_t slashes = 1; slashes < 2 * PATH_MAX; slashes += 97) {
        char *cut = malloc(n + slashes + 20);

        assert_non_null(cut);
        memcpy(cut, path, n);
        strcpy(cut + n, "/link");
        memset(cut + n + 5, '/', slashes);
        strcpy(cut + n + 5 + slashes, "etc");
        r = fd_open_path(dir_fd, cut);
        assert_true(r == -ELOOP || r == -ENOTDIR);
        free(cut);
    }
    free(path);
}

static void open_path_refuses_a_long_path_without_slashes(void **state)
{
    char *path = malloc(2 * PATH_MAX);

    (void)state;
    assert_non_null(path);
    memset(path, 'a', 2 * PATH_MAX - 1);
    path[2 * PATH_MAX - 1] = '\0';
    assert_int_equal(fd_open_path(dir_fd, path), -ENAMETOOLONG);
    free(path);
}

static void a_memfd_holds_the_bytes_from_offset_zero(void **state)
{
    _fd_ int fd = fd_memfd("abx-test", "hello", 5, false);
    char text[10];

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(read(fd, text, sizeof(text)), 5);
    assert_memory_equal(text, "hello", 5);
}

static void a_memfd_cannot_be_changed_any_more(void **state)
{
    _fd_ int fd = fd_memfd("abx-test", "hello", 5, false);
    int seals = fcntl(fd, F_GET_SEALS),
        want = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;

    (void)state;
    assert_int_equal(seals & want, want);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 100), -1);
    assert_ptr_equal(mmap(NULL, 5, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
}

static void an_empty_memfd_is_fine(void **state)
{
    _fd_ int fd = fd_memfd("abx-test", NULL, 0, false);
    struct stat st;

    (void)state;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 0);
}

/* Runs a copy of /bin/true from memory: the exit status, or 111 if it could not be executed. */
static int run_from_memory(bool executable)
{
    _buf_ struct buf image;
    _fd_ int fd = -1;
    int status;
    pid_t pid;

    buf_init(&image, (size_t)64 << 20);
    assert_int_equal(io_read_file(AT_FDCWD, "/bin/true", &image), 0);
    fd = fd_memfd("abx-test", image.data, image.len, executable);
    assert_true(fd >= 0);
    pid = fork();
    if (pid == 0) {
        char *argv[] = { "true", NULL }, *envp[] = { NULL };

        (void)fexecve(fd, argv, envp);
        _exit(111);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void an_executable_memfd_can_be_executed(void **state)
{
    (void)state;
    assert_int_equal(run_from_memory(true), 0);
}

static void another_memfd_cannot_be_executed(void **state)
{
    _fd_ int probe = memfd_create("abx-test", 0x0008U);

    (void)state;
    need(probe >= 0, "memfd_noexec: before 6.3 every memfd can");
    assert_int_equal(run_from_memory(false), 111);
}

static void read_file_appends_the_whole_file(void **state)
{
    _buf_ struct buf b;

    (void)state;
    make_file("file", "content");
    buf_init(&b, 100);
    (void)buf_puts(&b, "before ");
    assert_int_equal(io_read_file(dir_fd, "file", &b), 0);
    assert_string_equal(b.data, "before content");
}

static void read_file_does_not_believe_a_size_of_zero(void **state)
{
    _buf_ struct buf b;

    (void)state;
    buf_init(&b, (size_t)1 << 20);
    assert_int_equal(io_read_file(AT_FDCWD, "/proc/self/status", &b), 0);
    assert_true(b.len > 100);
}

static void read_file_stops_at_the_limit(void **state)
{
    _buf_ struct buf exact, small;

    (void)state;
    make_file("file", "12345678");
    buf_init(&exact, 8);
    buf_init(&small, 7);
    assert_int_equal(io_read_file(dir_fd, "file", &exact), 0);
    assert_int_equal(io_read_file(dir_fd, "file", &small), -E2BIG);
}

static void read_file_refuses_what_is_no_regular_file_without_blocking(void **state)
{
    _buf_ struct buf b;

    (void)state;
    assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
    buf_init(&b, 100);
    (void)alarm(20);
    assert_int_equal(io_read_file(dir_fd, "fifo", &b), -EINVAL);
    assert_int_equal(io_read_file(AT_FDCWD, "/dev/zero", &b), -EINVAL);
    assert_int_equal(io_read_file(dir_fd, ".", &b), -EISDIR);
    assert_int_equal(io_read_file(dir_fd, "missing", &b), -ENOENT);
    (void)alarm(0);
}

static void write_all_writes_more_than_a_pipe_holds(void **state)
{
    enum { LENGTH = 1 << 20 };
    char *bytes = malloc(LENGTH);
    int ends[2], status;
    pid_t pid;

    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', LENGTH);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        size_t total = 0;
        char chunk[1000];

        (void)close(ends[1]);
        for (ssize_t n; (n = read(ends[0], chunk, sizeof(chunk))) > 0;)
            total += (size_t)n;
        _exit(total == LENGTH ? 0 : 1);
    }
    fd_close(ends[0]);
    assert_int_equal(io_write_all(ends[1], bytes, LENGTH), 0);
    fd_close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    free(bytes);
}

static void write_all_reports_a_full_device_and_a_bad_descriptor(void **state)
{
    _fd_ int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(io_write_all(full, "x", 1), -ENOSPC);
    assert_int_equal(io_write_all(-1, "x", 1), -EBADF);
    assert_int_equal(io_write_all(-1, "", 0), 0);
}

static volatile sig_atomic_t ticks;
static int held = -1;

static void on_tick(int signal_number)
{
    (void)signal_number;
    if (++ticks == 3)
        (void)flock(held, LOCK_UN);
}

static void a_lock_is_waited_for_through_signals(void **state)
{
    const struct sigaction action = { .sa_handler = on_tick }, usual = { .sa_handler = SIG_DFL };
    const struct itimerval timer = { { .tv_usec = 5000 }, { .tv_usec = 5000 } }, none = { 0 };

    (void)state;
    held = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fd_lock(held, LOCK_EX), 0);
    assert_int_equal(fd_lock(dir_fd, LOCK_EX | LOCK_NB), -EWOULDBLOCK);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
    const int r = fd_lock(dir_fd, LOCK_EX);
    assert_int_equal(setitimer(ITIMER_REAL, &none, NULL), 0);
    assert_int_equal(sigaction(SIGALRM, &usual, NULL), 0);
    fd_close(held);
    assert_int_equal(r, 0);
    assert_true(ticks >= 3);
}

#define TEST_IN_DIR(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(close_keeps_errno),
        TEST_IN_DIR(a_lock_is_waited_for_through_signals),
        TEST_IN_DIR(open_path_gives_a_cloexec_o_path_descriptor),
        TEST_IN_DIR(open_path_takes_absolute_and_relative_paths),
        TEST_IN_DIR(open_path_says_what_is_wrong),
        TEST_IN_DIR(open_path_never_follows_a_link_on_the_way),
        TEST_IN_DIR(open_path_opens_a_last_link_itself),
        TEST_IN_DIR(open_path_walks_paths_beyond_path_max),
        TEST_IN_DIR(open_path_cuts_runs_of_slashes_without_becoming_absolute),
        TEST_IN_DIR(open_path_follows_no_link_deep_down_either),
        TEST_IN_DIR(open_path_refuses_a_long_path_without_slashes),
        cmocka_unit_test(a_memfd_holds_the_bytes_from_offset_zero),
        cmocka_unit_test(a_memfd_cannot_be_changed_any_more),
        cmocka_unit_test(an_empty_memfd_is_fine),
        cmocka_unit_test(an_executable_memfd_can_be_executed),
        cmocka_unit_test(another_memfd_cannot_be_executed),
        TEST_IN_DIR(read_file_appends_the_whole_file),
        cmocka_unit_test(read_file_does_not_believe_a_size_of_zero),
        TEST_IN_DIR(read_file_stops_at_the_limit),
        TEST_IN_DIR(read_file_refuses_what_is_no_regular_file_without_blocking),
        cmocka_unit_test(write_all_writes_more_than_a_pipe_holds),
        cmocka_unit_test(write_all_reports_a_full_device_and_a_bad_descriptor),
    };

    return cmocka_run_group_tests_name("fd", tests, NULL, NULL);
}
