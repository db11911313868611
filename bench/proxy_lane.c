/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: one way with its servers, clients and proxy, in a process and a network namespace of
 * their own, made anew for each round.
 *
 * The kernel remembers a closed connection for a minute, and its local port with it. dante binds
 * each outgoing connection to an address, and a port that was bound so is passed over by everybody
 * who looks for one: after dante's second of connections the way without a proxy made a third of
 * what it made before. In a namespace of its own a lane meets only the ports that it has used
 * itself, and only those of this round. Where there may be no namespace the lanes share the
 * machine's ports, and dante is left out.
 *
 * The process does one task after the other, as the bench says through a socket, and leaves what it
 * measured in shared memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "proxy.h"

#define STREAM_BYTES ((uint64_t)512 << 20)
#define STREAM_TRIES                                                                               \
    3u /* the best: where two ends meet on one processor, that is what is measured */
#define GIB      ((double)(1 << 30))
#define RATE_NS  NSEC_PER_SEC
#define FILES    8192u
#define PAUSE_MS 50u

struct order {
    enum lane_task task;
    unsigned round;
};

/* ---- its network ---- */

static bool write_text(const char *path, const char *text)
{
    _fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    size_t len = strlen(text);

    return fd >= 0 && write(fd, text, len) == (ssize_t)len;
}

/* Nobody but the caller, as the caller. */
static bool map_self(uid_t uid, gid_t gid)
{
    char users[64], groups[64];

    (void)snprintf(users, sizeof users, "%u %u 1", uid, uid);
    (void)snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
    return write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users) &&
           write_text("/proc/self/gid_map", groups);
}

static bool own_network(void)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };

    if (unshare(uid == 0 ? CLONE_NEWNET : CLONE_NEWUSER | CLONE_NEWNET) < 0 ||
        (uid != 0 && !map_self(uid, gid)))
        return false;
    _fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
}

/* ---- the process of the lane ---- */

static int measure_load(const struct way *way, struct lane_samples *s, unsigned round)
{
    size_t count;

    bench_pause(PAUSE_MS);
    double cpu = way->pid ? peer_cpu_seconds(way) : 0;
    for (unsigned i = 0; i < STREAM_TRIES; i++) {
        double speed;

        if (load_streams(way, 1, STREAM_BYTES, &speed) < 0)
            return -1;
        s->stream[round] = MAX_OF(s->stream[round], speed);
    }
    if (way->pid)
        s->cpu[round] = (peer_cpu_seconds(way) - cpu) * GIB / ((double)STREAM_BYTES * STREAM_TRIES);
    if (load_streams(way, LOAD_AT_ONCE, STREAM_BYTES, &s->streams[round]) < 0 ||
        load_connections(way, RATE_NS, &s->rate[round], s->latency + s->latencies, LANE_LATENCIES,
                         &count) < 0)
        return -1;
    s->latencies += count;
    s->stream[round] /= 1e6;
    s->streams[round] /= 1e6;
    return 0;
}

static int measure_idle(const struct way *way, double *ret_mib)
{
    static int fds[LOAD_IDLE];
    unsigned opened = 0;
    double before = peer_rss_mib(way);

    while (opened < LOAD_IDLE && (fds[opened] = load_open(way, TARGET_ECHO)) >= 0)
        opened++;
    *ret_mib = peer_rss_mib(way) - before;
    for (unsigned i = 0; i < opened; i++)
        fd_close(fds[i]);
    return opened == LOAD_IDLE ? 0 : -1;
}

static int do_order(const struct way *way, const struct order *order, struct lane_samples *s)
{
    double unused;

    switch (order->task) {
    case LANE_WARM_UP:
        return load_single(way, &unused);
    case LANE_SINGLE:
        return load_single(way, &s->single[s->singles++]);
    case LANE_LOAD:
        return measure_load(way, s, order->round);
    default:
        return way->pid ? measure_idle(way, &s->idle) : 0;
    }
}

/* 1: ready; 0: the peer is not here; -1: failed. */
static int set_up(const struct bench *b, enum path path, struct way *way)
{
    uint16_t servers[TARGET_COUNT];
    struct rlimit files;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = MIN_OF(files.rlim_max, (rlim_t)FILES);
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (!own_network() && path == PATH_DANTE)
        return bench_fail("no network namespace for %s: it would take everybody's ports",
                          peer_name(path));
    if (load_serve(servers) < 0)
        return -1;
    load_set_targets(servers);
    int r = peer_start(b, path, servers, way);
    if (r == 0)
        (void)bench_fail("%s is not there, left out (apt-get install %s)", peer_name(path),
                         peer_package(path));
    return r;
}

/* The servers end with this process. */
static void lane_main(const struct bench *b, enum path path, struct lane_samples *s, int control)
{
    struct way way = { 0 };
    struct order order;
    int r = prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 ? -1 : set_up(b, path, &way);
    bool ready = r == 1;

    while (write(control, &r, sizeof r) == sizeof r && ready &&
           read(control, &order, sizeof order) == sizeof order) {
        r = do_order(&way, &order, s);
        if (r < 0)
            (void)bench_fail("%s could not be measured: %s", peer_name(path), load_trouble());
    }
    peer_stop(&way);
    _exit(0);
}

/* ---- the bench's side ---- */

static int await(const struct lane *lane)
{
    int r;

    return read(lane->control, &r, sizeof r) == sizeof r ? r : -1;
}

int lane_open(const struct bench *b, enum path path, struct lane_samples *samples, struct lane *ret)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return bench_fail("socketpair: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0) {
        fd_close(ends[0]);
        lane_main(b, path, samples, ends[1]);
    }
    fd_close(ends[1]);
    *ret = (struct lane){ .pid = pid, .control = ends[0] };
    if (pid < 0)
        (void)bench_fail("fork: %s", strerror(errno));
    int r = pid < 0 ? -1 : await(ret);
    if (r != 1)
        lane_close(ret);
    return r;
}

int lane_do(const struct lane *lane, enum lane_task task, unsigned round)
{
    const struct order order = { task, round };

    if (send(lane->control, &order, sizeof order, MSG_NOSIGNAL) != sizeof order)
        return -1;
    return await(lane);
}

/* Lanes that were opened later have copies of the socket, so closing ours is not enough. */
void lane_close(struct lane *lane)
{
    if (lane->control >= 0)
        (void)shutdown(lane->control, SHUT_RDWR);
    fd_close(lane->control);
    if (lane->pid > 0)
        (void)waitpid(lane->pid, NULL, 0);
    *lane = (struct lane){ .control = -1 };
}
