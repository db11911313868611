/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probing by doing. A run never needs this: it tries the real thing and says what failed. `doctor`,
 * abx_probe and fallbackPolicy "warn" do. The answers are stored per boot and user in the state
 * directory, which no sandbox can write; a stored file that does not read exactly right is ignored.
 */
#include "run/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/io.h"
#include "plan/plan.h"
#include "plan/protocol.h"
#include "run/spawn.h"

#define PROBE_FILE_MAX 4096
#define PROBE_FORMAT   "agentbox-probe-2"

const char *const probe_names[PROBE_COUNT] = {
    [PROBE_USERNS] = "userns",
    [PROBE_MOUNTS] = "mounts",
    [PROBE_PROC] = "proc",
    [PROBE_PIDNS] = "pidns",
    [PROBE_NETNS] = "netns",
    [PROBE_IPCNS] = "ipcns",
    [PROBE_UTSNS] = "utsns",
    [PROBE_CGROUPNS] = "cgroupns",
    [PROBE_LANDLOCK] = "landlock",
    [PROBE_SECCOMP] = "seccomp",
    [PROBE_NOTIFY] = "notify",
    [PROBE_PIDLIMIT] = "pidlimit",
    [PROBE_CLOSE_RANGE] = "close_range",
    [PROBE_PIDFD] = "pidfd_open",
};

static int item_by_name(const char *name)
{
    for (int i = 0; i < PROBE_COUNT; i++)
        if (strcmp(probe_names[i], name) == 0)
            return i;
    return -1;
}

/* ---- asking ---- */

static void collect(int fd, struct probe_facts *facts)
{
    struct status_msg msg;

    while (recv(fd, &msg, sizeof msg, 0) == (ssize_t)sizeof msg) {
        msg.step[sizeof msg.step - 1] = '\0';
        int i = item_by_name(msg.step);
        if (msg.kind != STATUS_PROBE || i < 0)
            continue;
        facts->items[i].tried = true;
        facts->items[i].error = msg.err;
        facts->items[i].value = msg.value;
    }
}

static int32_t ask_launcher(struct image *image, struct probe_facts *facts, abx_error **err)
{
    const char *argv[] = { "agentbox-launcher", "probe", NULL };
    _fd_ int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int ends[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(err, ABX_E_IO, -errno, "make a socket pair");
    const int fds[] = { null_fd, null_fd, null_fd, ends[1] };
    const struct spawn_request spawn = {
        .image = image, .argv = argv, .cwd_fd = -1, .fds = fds, .count = ARRAY_LEN(fds)
    };
    _Static_assert(LAUNCH_FD_STATUS == 3, "the list above");
    int32_t code = spawn_launcher(&spawn, &pid, err);
    fd_close(ends[1]);
    if (code == ABX_OK) {
        collect(ends[0], facts);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    fd_close(ends[0]);
    return code;
}

/* ---- storing ---- */

/* A line of /proc/self/status, or nothing on kernels that do not have it. */
static void put_status(struct buf *b, const char *status, const char *name)
{
    const char *line = strstr(status, name);

    if (line)
        (void)buf_append(b, line, strcspn(line, "\n"));
    (void)buf_putc(b, ' ');
}

/* What must be the same for an answer to count; a container may share our home. */
static bool put_key(struct buf *b)
{
    _buf_ struct buf status = { .limit = 1 << 16 };
    struct stat user, mounts;

    if (io_read_file(AT_FDCWD, "/proc/self/status", &status) < 0 || !status.data)
        return false;
    put_status(b, status.data, "CapBnd:");
    put_status(b, status.data, "Seccomp_filters:");

    if (stat("/proc/self/ns/user", &user) < 0 || stat("/proc/self/ns/mnt", &mounts) < 0)
        return false;
    (void)buf_printf(b, PROBE_FORMAT " %s %u %ju %ju ", abx_version(), (unsigned)geteuid(),
                     (uintmax_t)user.st_ino, (uintmax_t)mounts.st_ino);
    return io_read_file(AT_FDCWD, "/proc/sys/kernel/random/boot_id", b) == 0 && !b->failed;
}

static bool parse(const char *text, struct probe_facts *facts)
{
    struct probe_facts read = { 0 };
    char name[24];

    while (*text) {
        size_t len = strcspn(text, " ");
        char *end;

        if (len >= sizeof name)
            return false;
        memcpy(name, text, len);
        name[len] = '\0';
        int i = item_by_name(name);
        if (i < 0 || text[len] != ' ')
            return false;
        read.items[i].tried = true;
        read.items[i].error = (int32_t)strtol(text + len, &end, 10);
        read.items[i].value = (int32_t)strtol(end, &end, 10);
        if (*end != '\n')
            return false;
        text = end + 1;
    }
    for (int i = 0; i < PROBE_COUNT; i++)
        if (!read.items[i].tried)
            return false;
    *facts = read;
    return true;
}

static char *store_path(const char *dir)
{
    char *path;

    return asprintf(&path, "%s/probe", dir) < 0 ? NULL : path;
}

static bool load(const char *const *dirs, struct probe_facts *facts)
{
    _buf_ struct buf key, text;

    buf_init(&key, PROBE_FILE_MAX);
    buf_init(&text, PROBE_FILE_MAX);
    if (!put_key(&key))
        return false;
    for (; *dirs; dirs++) {
        char *path = store_path(*dirs);
        struct stat st;
        bool ours = path && lstat(path, &st) == 0 && st.st_uid == geteuid() &&
                    S_ISREG(st.st_mode) && !(st.st_mode & 022);
        int r = ours ? io_read_file(AT_FDCWD, path, &text) : -ENOENT;
        free(path);
        if (r == 0)
            break;
    }
    return text.len > key.len && memcmp(text.data, key.data, key.len) == 0 &&
           strlen(text.data) == text.len && parse(text.data + key.len, facts);
}

static void store(const char *const *dirs, const struct probe_facts *facts)
{
    _buf_ struct buf text;

    buf_init(&text, PROBE_FILE_MAX);
    if (!put_key(&text))
        return;
    for (int i = 0; i < PROBE_COUNT; i++)
        (void)buf_printf(&text, "%s %d %d\n", probe_names[i], facts->items[i].error,
                         facts->items[i].value);
    for (; *dirs && !text.failed; dirs++) {
        char *path = store_path(*dirs);
        _fd_ int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600)
                           : -1;
        free(path);
        if (fd >= 0 && io_write_all(fd, text.data, text.len) == 0)
            return;
    }
}

int32_t probe_host(struct image *image, const char *const *state_dirs, bool refresh,
                   struct probe_facts *ret, abx_error **err)
{
    struct probe_facts facts = { 0 };

    if (!refresh && load(state_dirs, &facts)) {
        *ret = facts;
        return ABX_OK;
    }
    int32_t code = ask_launcher(image, &facts, err);
    if (code != ABX_OK)
        return code;
    bool whole = true;
    for (int i = 0; i < PROBE_COUNT; i++)
        if (!facts.items[i].tried) {
            facts.items[i].error = EIO;
            whole = false;
        }
    if (whole) /* what was cut short says nothing about the next time */
        store(state_dirs, &facts);
    *ret = facts;
    return ABX_OK;
}

long probe_landlock_abi(void)
{
    const unsigned version = 1; /* LANDLOCK_CREATE_RULESET_VERSION */
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, version);

    return abi < 0 ? -errno : abi;
}

uint32_t probe_layers(const struct probe_facts *f)
{
    static const struct {
        enum probe_item item;
        uint32_t layer;
    } table[] = {
        { PROBE_USERNS, LAYER_USERNS },     { PROBE_MOUNTS, LAYER_MOUNTS },
        { PROBE_PIDNS, LAYER_PIDNS },       { PROBE_NETNS, LAYER_NETNS },
        { PROBE_IPCNS, LAYER_IPCNS },       { PROBE_UTSNS, LAYER_UTSNS },
        { PROBE_CGROUPNS, LAYER_CGROUPNS }, { PROBE_LANDLOCK, LAYER_LANDLOCK },
        { PROBE_SECCOMP, LAYER_SECCOMP },
    };
    uint32_t bits = LAYER_BIT(LAYER_LIMITS);

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (f->items[table[i].item].error == 0)
            bits |= LAYER_BIT(table[i].layer);
    if (f->items[PROBE_PROC].error)
        bits &= ~LAYER_BIT(LAYER_MOUNTS);
    return bits;
}
