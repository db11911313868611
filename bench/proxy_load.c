/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the connections that go through the proxies: a sink that reads so many bytes and
 * then says so, an echo, and clients that ask a proxy for them.
 *
 * The servers wait for nobody in particular (epoll): a proxy connects to the server before its
 * client may speak, and a server that waited for one client after the other would be measured
 * instead of it. They are a process of their own. Clients are threads that block, since clients are
 * programs, each with its own wake-ups.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "proxy.h"

#define PIECE   (256u << 10)
#define BACKLOG 4096
#define BATCH   64
#define FD_MAX  8192

static uint16_t targets[TARGET_COUNT];
static _Atomic(const char *) trouble;

/* Many clients fail alike: the last one's reason is enough. */
static int fail(const char *what)
{
    atomic_store(&trouble, what);
    return -1;
}

const char *load_trouble(void)
{
    return atomic_load(&trouble);
}

void load_set_targets(const uint16_t ports[static TARGET_COUNT])
{
    memcpy(targets, ports, sizeof targets);
}

/* ---- servers ---- */

static int listen_any(uint16_t *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    _fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        return bench_fail("listen: %s", strerror(errno));
    *ret_port = ntohs(at.sin_port);
    return TAKE_FD(fd);
}

uint16_t load_free_port(void)
{
    uint16_t port = 0;
    int fd = listen_any(&port);

    fd_close(fd);
    return fd < 0 ? 0 : port;
}

/* The first eight bytes say how many follow: some proxies do not pass a half-close on. */
static void serve_sink(int fd)
{
    static char piece[PIECE];
    static struct {
        uint64_t left;
        bool begun;
    } streams[FD_MAX];
    ssize_t n;

    if (!streams[fd].begun) {
        n = recv(fd, &streams[fd].left, sizeof streams[fd].left, MSG_WAITALL);
        streams[fd].begun = n == sizeof streams[fd].left;
    } else {
        n = read(fd, piece, sizeof piece);
        streams[fd].left -= (uint64_t)MAX_OF(n, 0);
    }
    if (n < 0 && errno == EAGAIN)
        return;
    if (n > 0 && streams[fd].begun && streams[fd].left > 0)
        return;
    if (n > 0 && streams[fd].begun)
        (void)!write(fd, "k", 1);
    streams[fd].begun = false;
    fd_close(fd);
}

static void serve_echo(int fd)
{
    char bytes[256];
    ssize_t n = read(fd, bytes, sizeof bytes);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0 || write(fd, bytes, (size_t)n) != n)
        fd_close(fd);
}

struct server {
    int listener;
    void (*serve)(int fd);
};

static void *server_thread(void *arg)
{
    const struct server *s = arg;
    struct epoll_event batch[BATCH], event = { .events = EPOLLIN, .data.fd = s->listener };
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, s->listener, &event) < 0)
        _exit(1);
    for (;;) {
        int count = epoll_wait(epoll, batch, BATCH, -1);

        for (int i = 0; i < count; i++) {
            int fd = batch[i].data.fd;

            if (fd != s->listener) {
                s->serve(fd);
                continue;
            }
            while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
                event.data.fd = fd;
                if (fd >= FD_MAX || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
                    fd_close(fd);
            }
        }
    }
    return NULL;
}

int load_serve(uint16_t ret_ports[static TARGET_COUNT])
{
    static struct server servers[TARGET_COUNT] = { { .serve = serve_sink },
                                                   { .serve = serve_echo } };
    pthread_t thread;

    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        servers[i].listener = listen_any(&ret_ports[i]);
        if (servers[i].listener < 0)
            return -1;
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
            pthread_create(&thread, NULL, server_thread, &servers[TARGET_SINK]) != 0)
            _exit(1);
        (void)server_thread(&servers[TARGET_ECHO]);
    }
    for (unsigned i = 0; i < TARGET_COUNT; i++)
        fd_close(servers[i].listener);
    return pid < 0 ? bench_fail("fork: %s", strerror(errno)) : 0;
}

/* ---- clients ---- */

static int dial(uint16_t port)
{
    const struct sockaddr_in to = { .sin_family = AF_INET,
                                    .sin_port = htons(port),
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    static const int on = 1;
    _fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) < 0)
        return fail("it does not let us connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return TAKE_FD(fd);
}

static int ask_connect(int fd, uint16_t port)
{
    char text[512];
    size_t have = 0;
    int n = snprintf(text, sizeof text,
                     "CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", port, port);

    if (write(fd, text, (size_t)n) != n)
        return fail("it does not listen to us");
    while (have < 4 || memcmp(text + have - 4, "\r\n\r\n", 4) != 0) {
        ssize_t got = read(fd, text + have, sizeof text - 1 - have);

        if (got <= 0)
            return fail("it hangs up");
        have += (size_t)got;
    }
    text[have] = '\0';
    return strncmp(text + 8, " 200", 4) == 0 ? 0 : fail("it refuses");
}

static int ask_socks5(int fd, uint16_t port)
{
    const uint8_t request[] = { 5, 1, 0, 1, 127, 0, 0, 1, (uint8_t)(port >> 8), (uint8_t)port };
    uint8_t reply[10];

    if (write(fd, "\x05\x01", 3) != 3 || recv(fd, reply, 2, MSG_WAITALL) != 2 || reply[1] != 0 ||
        write(fd, request, sizeof request) != sizeof request ||
        recv(fd, reply, sizeof reply, MSG_WAITALL) != sizeof reply || reply[1] != 0)
        return fail("it refuses");
    return 0;
}

int load_open(const struct way *way, enum target target)
{
    _fd_ int fd = dial(way->ports[target]);

    if (fd < 0)
        return -1;
    int r = way->speech == SPEECH_CONNECT  ? ask_connect(fd, targets[target])
            : way->speech == SPEECH_SOCKS5 ? ask_socks5(fd, targets[target])
                                           : 0;
    return r < 0 ? -1 : TAKE_FD(fd);
}

static int one_stream(const struct way *way, uint64_t bytes)
{
    static const char piece[PIECE];
    char byte;
    _fd_ int fd = load_open(way, TARGET_SINK);

    if (fd < 0)
        return -1;
    if (write(fd, &bytes, sizeof bytes) != sizeof bytes)
        return fail("a stream breaks");
    while (bytes > 0) {
        ssize_t n = write(fd, piece, MIN_OF(bytes, (uint64_t)sizeof piece));

        if (n < 0)
            return fail("a stream breaks");
        bytes -= (uint64_t)n;
    }
    if (read(fd, &byte, 1) != 1)
        return fail("the sink does not get all");
    return 0;
}

static int one_connection(const struct way *way)
{
    char byte = 'x';
    _fd_ int fd = load_open(way, TARGET_ECHO);

    if (fd < 0)
        return -1;
    if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
        return fail("there is no echo");
    return 0;
}

int load_single(const struct way *way, double *ret_ns)
{
    int64_t start = bench_now();
    int r = one_connection(way);

    *ret_ns = (double)(bench_now() - start);
    return r;
}

/* ---- many at once ---- */

struct client {
    pthread_t thread;
    const struct way *way;
    uint64_t bytes; /* of a stream */
    int64_t until;  /* … or connections until then */
    double *latencies;
    size_t room, count;
    bool failed;
};

static void *stream_thread(void *arg)
{
    struct client *c = arg;

    c->failed = one_stream(c->way, c->bytes) < 0;
    return NULL;
}

static void *connections_thread(void *arg)
{
    struct client *c = arg;

    while (!c->failed && c->count < c->room && bench_now() < c->until) {
        c->failed = load_single(c->way, &c->latencies[c->count]) < 0;
        c->count++;
    }
    return NULL;
}

static int run_clients(struct client *clients, unsigned count, void *(*thread)(void *))
{
    unsigned started = 0;
    bool failed = false;

    while (started < count &&
           pthread_create(&clients[started].thread, NULL, thread, &clients[started]) == 0)
        started++;
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        failed = failed || clients[i].failed;
    }
    return started < count ? fail("no more threads") : failed ? -1 : 0;
}

int load_streams(const struct way *way, unsigned streams, uint64_t bytes, double *ret)
{
    struct client clients[LOAD_AT_ONCE] = { 0 };

    for (unsigned i = 0; i < streams; i++)
        clients[i] = (struct client){ .way = way, .bytes = bytes / streams };
    int64_t start = bench_now();
    if (run_clients(clients, streams, stream_thread) < 0)
        return -1;
    *ret = (double)bytes * NSEC_PER_SEC / (double)(bench_now() - start);
    return 0;
}

int load_connections(const struct way *way, int64_t duration, double *ret_rate, double *latencies,
                     size_t room, size_t *ret_count)
{
    struct client clients[LOAD_AT_ONCE] = { 0 };
    size_t count = 0, each = room / LOAD_AT_ONCE;
    int64_t start = bench_now();

    for (unsigned i = 0; i < LOAD_AT_ONCE; i++)
        clients[i] = (struct client){
            .way = way, .until = start + duration, .latencies = latencies + i * each, .room = each
        };
    if (run_clients(clients, LOAD_AT_ONCE, connections_thread) < 0)
        return -1;
    double seconds = (double)(bench_now() - start) / NSEC_PER_SEC;
    for (unsigned i = 0; i < LOAD_AT_ONCE; i++) { /* one beside the other */
        memmove(latencies + count, clients[i].latencies, clients[i].count * sizeof *latencies);
        count += clients[i].count;
    }
    *ret_rate = (double)count / seconds;
    *ret_count = count;
    return 0;
}
