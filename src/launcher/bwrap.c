/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pid 1 by way of the system's bubblewrap, for hosts that let bwrap, and not us, make namespaces.
 *
 * The keeper waits for the words that the plan was rendered into (plan/bwrap.c) and until the
 * placeholders are made: bwrap mounts all at once. Then bwrap runs, and executes the keeper's own
 * program as pid 1. That one gets its plan over the status socket, as ever, and looks whether the
 * view is what was planned (linux/bwrapped.c): what bwrap did is believed only as far as it shows.
 *
 * bwrap gets neither the command's streams nor a signal. What it writes goes into a memory file and
 * becomes our error. Signals for the command go over a socket, since pid 1 is not our child; its
 * end tells pid 1 that we are gone, and bwrap is told so by the kernel (--die-with-parent).
 */
#include <asm/poll.h>
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/sched.h>

#include "launcher/launcher.h"

/* bwrap's descriptors, and pid 1's when it starts; up to LAUNCH_FD_LIFELINE they are ours. */
#define FD_RELAY   5 /* LAUNCH_FD_RELAY */
#define FD_PROGRAM 6
#define FD_WORDS   7
#define FD_EMPTY   9 /* BWRAP_FD_EMPTY */
#define FD_STREAMS 10
#define FD_WRAPS   16 /* BWRAP_FD_WRAPS; behind them ours wait meanwhile */

_Static_assert(FD_RELAY == LAUNCH_FD_RELAY, "where pid 1 looks for it");

/* What the host sent: the words, then the programs that cover others. */
struct words {
    int fds[DELIVER_MAX_FDS];
    size_t count;
};

_Static_assert(DELIVER_MAX_FDS >= 1 + PLAN_MAX_WRAPS, "all at once");

/* One message for us, from either socket. */
static long receive_start(struct holds *holds, struct words *words, bool *awaits)
{
    struct pollfd fds[2] = {
        { .fd = LAUNCH_FD_STATUS, .events = POLLIN },
        { .fd = LAUNCH_FD_LIFELINE, .events = POLLIN },
    };
    struct deliver_msg msg = { 0 };

    (void)TRY5(__NR_ppoll, fds, 2, 0, 0, 0);
    if (fds[1].revents & POLLIN)
        hold_receive(holds);
    if ((fds[0].revents | fds[1].revents) & (POLLHUP | POLLERR))
        return -ECANCELED; /* the host gave up, and knows why */
    if (!(fds[0].revents & POLLIN))
        return 0;
    if (words->count == 0) {
        long n = receive_fds(LAUNCH_FD_STATUS, &msg, words->fds, 1 + PLAN_MAX_WRAPS);
        if (n < 0)
            return n;
        words->count = (size_t)n;
        *awaits = msg.holds != 0;
        return n > 0 && msg.kind == DELIVER_WORDS ? 0 : -ECANCELED;
    }
    long n = SYS3(__NR_read, LAUNCH_FD_STATUS, &msg, sizeof msg);
    if (n < 0)
        return n;
    *awaits = false;
    return n == (long)sizeof msg && msg.kind == DELIVER_HOLDS_MADE ? 0 : -ECANCELED;
}

/* Everything that bwrap gets, away from the places where it will lie. */
struct parcel {
    int relay[2], program, null, report, streams[3];
    struct words words;
};

static long lift(const struct parcel *p, long fd)
{
    if (fd < 0)
        return fd;
    long high = SYS3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, FD_WRAPS + (int)p->words.count);
    if (fd > 2)
        file_close((int)fd);
    return high;
}

static long pack(struct parcel *p)
{
    const int unix_family = 1, stream = 1;
    long r = SYS4(__NR_socketpair, unix_family, stream | SYS_O_CLOEXEC, 0, p->relay);

    for (int i = 0; i < 2 && r >= 0; i++)
        p->relay[i] = (int)(r = lift(p, p->relay[i]));
    for (size_t i = 0; i < p->words.count && r >= 0; i++)
        p->words.fds[i] = (int)(r = lift(p, p->words.fds[i]));
    if (r >= 0)
        p->program =
            (int)(r = lift(p, SYS4(__NR_openat, SYS_AT_FDCWD, "/proc/self/exe", SYS_O_CLOEXEC, 0)));
    if (r >= 0)
        p->null = (int)(r = lift(p,
                                 SYS4(__NR_openat, SYS_AT_FDCWD, "/dev/null", SYS_O_CLOEXEC, 0)));
    if (r >= 0)
        p->report = (int)(r = lift(p, SYS2(__NR_memfd_create, "bwrap", 1 /* MFD_CLOEXEC */)));
    for (int i = 0; i < 3 && r >= 0; i++)
        p->streams[i] = (int)(r = lift(p, i));
    return r;
}

/* In the new process. */
static long unpack(const struct parcel *p)
{
    const int from[] = { p->null,         p->report, p->report,     p->relay[1],   p->program,
                         p->words.fds[0], p->null,   p->streams[0], p->streams[1], p->streams[2] };
    const int to[] = { 0,        1,        2,          FD_RELAY,       FD_PROGRAM,
                       FD_WORDS, FD_EMPTY, FD_STREAMS, FD_STREAMS + 1, FD_STREAMS + 2 };
    long r = 0;

    for (size_t i = 0; i < ARRAY_LEN(to) && r >= 0; i++)
        r = SYS3(__NR_dup3, from[i], to[i], 0);
    for (size_t i = 1; i < p->words.count && r >= 0; i++)
        r = SYS3(__NR_dup3, p->words.fds[i], FD_WRAPS + (int)i - 1, 0);
    return r;
}

/*
 * Whoever may mount (root) gets mounts of his own first: what the host mounts later is not seen in
 * them, and its devices cannot be changed through them. bwrap's follow the host's, and root's
 * command is the owner of what they lead to. The host goes by the same capability (api/bwrap.c).
 */
static long part_mounts(struct launch *l)
{
    const unsigned long rec_private = 16384 | 1u << 18; /* MS_REC | MS_PRIVATE */

    if (!caps_may_mount())
        return 0;
    l->object = "mount namespace";
    long r = SYS1(__NR_unshare, CLONE_NEWNS);
    if (r >= 0) {
        l->object = "/";
        r = SYS5(__NR_mount, 0, "/", 0, rec_private, 0);
    }
    return r < 0 ? r : dev_close(l);
}

static ATTR_NORETURN void become_bwrap(struct launch *l, const struct parcel *p)
{
    char layers[16] = "", umask[16] = "";
    const char *const argv[] = { "bwrap",  "--args", "7",   "--", "/proc/self/fd/6",
                                 "inside", layers,   umask, NULL };
    _Static_assert(FD_WORDS == 7 && FD_PROGRAM == 6, "the words above");
    long r = part_mounts(l);

    text_append_u64(layers, sizeof layers, l->plan.layers);
    text_append_u64(umask, sizeof umask, l->umask_bits);
    if (r >= 0) {
        l->object = "descriptors";
        r = unpack(p);
    }
    if (r >= 0) {
        l->object = l->bwrap;
        r = SYS3(__NR_execve, l->bwrap, argv, l->envp);
    }
    report_failed("bwrap", r, l->object);
    launcher_exit(EXIT_SETUP);
}

static long start(struct launch *l, const struct parcel *p, bool cgroup)
{
    struct clone_args args = { .flags = cgroup ? CLONE_INTO_CGROUP : 0,
                               .exit_signal = SIGCHLD,
                               .cgroup = LAUNCH_FD_CGROUP };

    long pid = cgroup ? SYS2(__NR_clone3, &args, sizeof args)
                      : SYS5(__NR_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        become_bwrap(l, p);
    return pid;
}

long bwrap_start(struct launch *l, bool cgroup, struct holds *holds)
{
    static struct parcel p;
    bool awaits = true;
    long r = 0;

    l->object = "host";
    while (r >= 0 && (p.words.count == 0 || awaits))
        r = receive_start(holds, &p.words, &awaits);
    if (r < 0)
        return r;
    l->object = "descriptors";
    r = pack(&p);
    if (r < 0)
        return r;
    l->object = l->bwrap;
    long pid = start(l, &p, cgroup);
    file_close(p.relay[1]);
    for (size_t i = 0; i < p.words.count; i++)
        file_close(p.words.fds[i]);
    file_close(p.program);
    file_close(p.null);
    for (int i = 0; i < 3; i++)
        file_close(p.streams[i]);
    l->relay_fd = p.relay[0];
    l->bwrap_report = p.report;
    return pid;
}

/* bwrap says something only when it fails; then pid 1 was not started. Its words are no errno. */
void bwrap_told(const struct launch *l)
{
    char text[STATUS_TEXT_MAX];
    long n = TRY4(__NR_pread64, l->bwrap_report, text, sizeof text - 1, 0);

    if (n <= 0)
        return;
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = '\0';
    report_failed("bwrap", 0, text);
}

void bwrap_relay(const struct launch *l, int sig)
{
    const char byte = (char)sig;
    const int flags = 0x4000 | 0x40; /* MSG_NOSIGNAL, MSG_DONTWAIT */

    (void)TRY6(__NR_sendto, l->relay_fd, &byte, 1, flags, 0,
               0); /* a pid 1 that is gone needs none */
}

/* ---- inside ---- */

static long take_over(void)
{
    long r = 0;

    for (int i = 0; i < 3 && r >= 0; i++)
        r = SYS3(__NR_dup3, FD_STREAMS + i, i, 0);
    if (r >= 0)
        r = SYS3(__NR_close_range, FD_RELAY + 1, ~0u, 0);
    for (int fd = LAUNCH_FD_STATUS; fd <= FD_RELAY && r >= 0; fd++)
        r = SYS3(__NR_fcntl, fd, F_SETFD, FD_CLOEXEC);
    return r < 0 ? r : signals_open();
}

void bwrap_inside(struct launch *l)
{
    sys_fault_role(ROLE_INIT);
    l->object = "descriptors";
    l->bwrapped = true;
    long r = take_over();
    if (r >= 0 && TRY0(__NR_getpid) != 1) {
        l->object = "pid namespace";
        r = -EINVAL;
    }
    if (r < 0) {
        report_failed("bwrap", r, l->object);
        launcher_exit(EXIT_SETUP);
    }
    (void)TRY1(__NR_umask, 0);
    init_run(l);
}
