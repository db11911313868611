/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the system's bubblewrap. It gets the user's files into its hands before anything holds,
 * so it counts only in a few places that are the system's, and only if nobody but root can change
 * the file or a directory above it; PATH is not asked. Its version is asked from itself: options
 * that we use came with 0.8. Newer ones than we know are taken, as pid 1 looks at what it made
 * (linux/bwrapped.c).
 */
#include "run/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "plan/bwrap.h"
#include "plan/protocol.h"
#include "run/spawn.h"

#define BWRAP_SAYS_MAX 4096
#define TRY_WORDS      24

static const char *const places[] = { "/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap",
                                      "/run/current-system/sw/bin/bwrap" };

/* Root's alone, with every directory above it. path is cut while it is looked at. */
static bool is_trusted(char *path)
{
    struct stat st;

    for (;;) {
        if (lstat(path[0] ? path : "/", &st) < 0 || st.st_uid != 0 || (st.st_mode & 022))
            return false;
        if (!path[0])
            return true;
        *strrchr(path, '/') = '\0'; /* absolute */
    }
}

/* What it writes, up to a limit; false: it could not be run. */
static bool ask_version(const char *path, struct buf *ret)
{
    const char *argv[] = { "bwrap", "--version", NULL };
    _fd_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ends[2];
    pid_t pid;

    if (null_fd < 0 || pipe2(ends, O_CLOEXEC) < 0)
        return false;
    const int fds[] = { null_fd, ends[1], null_fd };
    const struct spawn_request spawn = {
        .argv = argv, .cwd_fd = -1, .fds = fds, .count = ARRAY_LEN(fds)
    };
    int r = spawn_program(&spawn, path, &pid);
    fd_close(ends[1]);
    if (r == 0) {
        char bytes[256];
        ssize_t n;

        while ((n = read(ends[0], bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))
            if (n > 0)
                (void)buf_append(ret, bytes, (size_t)n);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    fd_close(ends[0]);
    return r == 0;
}

static int32_t check_version(struct bwrap *b, abx_error **err)
{
    _buf_ struct buf says;

    buf_init(&says, 256);
    if (!ask_version(b->path, &says) ||
        !bwrap_version(says.data ? says.data : "", says.len, &b->major, &b->minor)) {
        int32_t r = err_new(err, ABX_E_DEPENDENCY, "use %s: it does not tell its version", b->path);
        err_hint(err, "is that bubblewrap? `%s --version` should say so", b->path);
        return r;
    }
    if (b->major > 0 || b->minor >= BWRAP_MIN_MINOR)
        return ABX_OK;
    int32_t r = err_new(err, ABX_E_DEPENDENCY, "use %s: it is version %u.%u", b->path, b->major,
                        b->minor);
    err_hint(err, "agentbox needs bubblewrap 0.%d or newer", BWRAP_MIN_MINOR);
    return r;
}

int32_t bwrap_find(struct bwrap *ret, abx_error **err)
{
    struct bwrap found = { 0 };
    const char *untrusted = NULL;
    int32_t r;

    for (size_t i = 0; i < ARRAY_LEN(places) && !found.path; i++) {
        char *real = realpath(places[i], NULL);
        struct stat st;

        if (real && stat(real, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111)) {
            found.setuid = (st.st_mode & S_ISUID) != 0 && geteuid() != 0;
            if (is_trusted(real))
                found.path = places[i];
            else
                untrusted = places[i];
        }
        free(real);
    }
    if (found.path) {
        r = check_version(&found, err);
        if (r == ABX_OK)
            *ret = found;
        return r;
    }
    if (untrusted) {
        r = err_new(err, ABX_E_DEPENDENCY,
                    "use %s: it, or a directory above it, can be changed by others than root",
                    untrusted);
        err_hint(err, "look who owns it; install bubblewrap from your distribution anew");
    } else {
        r = err_new(err, ABX_E_DEPENDENCY, "find bubblewrap: there is no bwrap in /usr/bin");
        err_hint(err, "install the package bubblewrap (0.%d or newer)", BWRAP_MIN_MINOR);
    }
    return r;
}

/* ---- trying ---- */

static bool was_told(int fd)
{
    struct status_msg msg;

    return recv(fd, &msg, sizeof msg, 0) == (ssize_t)sizeof msg && msg.kind == STATUS_PROBE &&
           msg.err == 0;
}

static char *read_words(int fd)
{
    char bytes[BWRAP_SAYS_MAX];
    ssize_t n = read(fd, bytes, sizeof bytes - 1);

    n = n < 0 ? 0 : n;
    while (n > 0 && bytes[n - 1] == '\n')
        n--;
    bytes[n] = '\0';
    return strdup(n > 0 ? bwrap_said(bytes) : "it ended without a word");
}

/* The plainest sandbox, in which our own program tells that it is there. */
static void list_words(uint32_t layers, const char *argv[TRY_WORDS])
{
    static const char *const rest[] = { "--as-pid-1", "--ro-bind", "/",      "/",
                                        "--dev",      "/dev",      "--proc", "/proc",
                                        "--tmpfs",    "/tmp",      "--",     "/proc/self/fd/4",
                                        "tell",       NULL };
    _Static_assert(1 + BWRAP_NAMESPACES + ARRAY_LEN(rest) <= TRY_WORDS, "room for all");
    argv[0] = "bwrap";
    const size_t n = 1 + bwrap_namespaces(layers, argv + 1);
    memcpy(argv + n, rest, sizeof rest);
}

char *bwrap_try(const struct bwrap *b, uint32_t layers, struct image *image)
{
    const char *argv[TRY_WORDS];
    _fd_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ends[2], words[2];
    pid_t pid;

    list_words(b->setuid ? layers & ~LAYER_BIT(LAYER_USERNS) : layers, argv);
    if (null_fd < 0 || image_ready(image, NULL) != ABX_OK || image->fd < 0)
        return strdup("no program to try it with");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return strdup("no socket");
    if (pipe2(words, O_CLOEXEC) < 0) {
        fd_close(ends[0]);
        fd_close(ends[1]);
        return strdup("no pipe");
    }
    const int fds[] = { null_fd, words[1], words[1], ends[1], image->fd };
    const struct spawn_request spawn = {
        .argv = argv, .cwd_fd = -1, .fds = fds, .count = ARRAY_LEN(fds)
    };
    _Static_assert(LAUNCH_FD_STATUS == 3, "the list above");
    int r = spawn_program(&spawn, b->path, &pid);
    fd_close(ends[1]);
    fd_close(words[1]);
    char *said = NULL;
    if (r < 0 || !was_told(ends[0]))
        said = r < 0 ? strdup(strerrordesc_np(-r)) : read_words(words[0]);
    while (r == 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    fd_close(ends[0]);
    fd_close(words[0]);
    return said;
}
