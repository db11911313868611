/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy against no proxy, interleaved, as ratios: one stream's throughput, connections per
 * second with 64 at once, the latency of one at a time, processor time of the proxy per GiB, memory
 * of 1,000 idle tunnels. Clients and servers are threads of this program, on loopback; the proxy is
 * the agentbox program. Usage: bench-proxy AGENTBOX [ROUNDS [DIR-OF-PEER…]]
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/defs.h"

#define STREAM_BYTES ((uint64_t)1 << 30)
#define PIECE        (256 << 10)
#define AT_ONCE      64
#define RATE_NS      (NSEC_PER_SEC + NSEC_PER_SEC / 2)
#define SINGLES      500
#define IDLE         1000
#define ROUNDS_MAX   50

static uint16_t sink_port, echo_port, proxy_port;
static pid_t proxy_pid, role_pid;

static void die(const char *what)
{
    (void)fprintf(stderr, "bench-proxy: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int64_t now_ns(void)
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- servers ---- */

static int listen_any(uint16_t *ret_port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 1024) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) < 0)
        die("listen");
    *ret_port = ntohs(at.sin_port);
    return fd;
}

/* Reads to the end, then says so with one byte. */
static void *sink(void *arg)
{
    int listener = *(int *)arg;
    static char piece[PIECE];

    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        while (fd >= 0 && read(fd, piece, sizeof piece) > 0)
            ;
        if (fd >= 0 && write(fd, "k", 1) == 1)
            close(fd);
    }
    return NULL;
}

/* One byte there and back. */
static void *echo(void *arg)
{
    int listener = *(int *)arg;

    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        char byte;

        if (fd >= 0 && read(fd, &byte, 1) == 1)
            (void)!write(fd, &byte, 1);
        close(fd);
    }
    return NULL;
}

/* ---- clients ---- */

static int dial(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) < 0)
        die("connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

/* A connection to a server's port, directly or through the proxy. */
static int open_path(bool through, uint16_t port)
{
    char text[256];

    if (!through)
        return dial(port);
    int fd = dial(proxy_port);
    int n = snprintf(text, sizeof text, "CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", port);
    if (write(fd, text, (size_t)n) != n)
        die("ask the proxy");
    size_t have = 0;
    while (have < 4 || memcmp(text + have - 4, "\r\n\r\n", 4) != 0) {
        ssize_t got = read(fd, text + have, sizeof text - 1 - have);
        if (got <= 0)
            die("the proxy's answer");
        have += (size_t)got;
    }
    text[have] = '\0';
    if (strncmp(text, "HTTP/1.1 200", 12) != 0) {
        (void)fprintf(stderr, "bench-proxy: %s\n", text);
        exit(1);
    }
    return fd;
}

/* Bytes per second. */
static double stream(bool through)
{
    static char piece[PIECE];
    char byte;
    int fd = open_path(through, sink_port);
    int64_t start = now_ns();

    for (uint64_t sent = 0; sent < STREAM_BYTES;) {
        ssize_t n = write(fd, piece, sizeof piece);
        if (n < 0)
            die("write");
        sent += (uint64_t)n;
    }
    (void)shutdown(fd, SHUT_WR);
    if (read(fd, &byte, 1) != 1)
        die("the sink's word");
    close(fd);
    return (double)STREAM_BYTES * 1e9 / (double)(now_ns() - start);
}

static void one_connection(bool through)
{
    int fd = open_path(through, echo_port);
    char byte = 'x';

    if (write(fd, &byte, 1) != 1 || read(fd, &byte, 1) != 1)
        die("echo");
    close(fd);
}

struct rate {
    bool through;
    int64_t until;
    unsigned count;
};

static void *rate_thread(void *arg)
{
    struct rate *r = arg;

    while (now_ns() < r->until) {
        one_connection(r->through);
        r->count++;
    }
    return NULL;
}

/* Connections per second. */
static double rate(bool through)
{
    struct rate rates[AT_ONCE];
    pthread_t threads[AT_ONCE];
    double sum = 0;
    int64_t until = now_ns() + RATE_NS;

    for (unsigned i = 0; i < AT_ONCE; i++) {
        rates[i] = (struct rate){ through, until, 0 };
        if (pthread_create(&threads[i], NULL, rate_thread, &rates[i]) != 0)
            die("thread");
    }
    for (unsigned i = 0; i < AT_ONCE; i++) {
        (void)pthread_join(threads[i], NULL);
        sum += rates[i].count;
    }
    return sum * 1e9 / (double)RATE_NS;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, compare);
    return values[n / 2];
}

/* Nanoseconds for one at a time: the smallest, what it takes when nobody interferes. */
static double latency(bool through)
{
    double least = 1e12;

    for (unsigned i = 0; i < SINGLES; i++) {
        int64_t start = now_ns();
        one_connection(through);
        least = MIN_OF(least, (double)(now_ns() - start));
    }
    return least;
}

/* ---- the proxy ---- */

static void start_proxy(const char *agentbox)
{
    int out[2];
    char line[4096] = "";

    if (pipe(out) < 0)
        die("pipe");
    proxy_pid = fork();
    if (proxy_pid == 0) {
        (void)dup2(out[1], 1);
        (void)execl(agentbox, "agentbox", "proxy", "-q", "--no-config", "--allow-domain",
                    "127.0.0.1", (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    if (read(out[0], line, sizeof line - 1) <= 0)
        die("start the proxy");
    const char *colon = strrchr(line, ':');
    proxy_port = colon ? (uint16_t)atoi(colon + 1) : 0;
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", proxy_pid, proxy_pid);
    FILE *children = fopen(path, "r");
    if (!children || fscanf(children, "%d", &role_pid) != 1)
        die("find the role");
    (void)fclose(children);
    /* Its lines are read and thrown away. */
    if (fork() == 0) {
        while (read(out[0], line, sizeof line) > 0)
            ;
        _exit(0);
    }
    close(out[0]);
}

/* Seconds of processor time so far. */
static double role_cpu(void)
{
    char path[64], text[1024] = "";
    unsigned long user, system;

    (void)snprintf(path, sizeof path, "/proc/%d/stat", role_pid);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file))
        die("read the role's times");
    (void)fclose(file);
    const char *rest = strrchr(text, ')');
    if (!rest || sscanf(rest + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                        &system) != 2)
        die("understand the role's times");
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double role_kib(void)
{
    char path[64], line[256];
    long kib = 0;

    (void)snprintf(path, sizeof path, "/proc/%d/status", role_pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (file)
        (void)fclose(file);
    return (double)kib;
}

static double idle_kib(void)
{
    static int fds[IDLE];
    double before = role_kib();

    for (unsigned i = 0; i < IDLE; i++)
        fds[i] = open_path(true, sink_port == 0 ? echo_port : sink_port);
    double more = role_kib() - before;
    for (unsigned i = 0; i < IDLE; i++)
        close(fds[i]);
    return more;
}

static void judge(const char *name, double value, const char *unit, bool at_least, double limit)
{
    bool met = at_least ? value >= limit : value <= limit;

    (void)printf("target %s %s %g%s: %s (%.2f)\n", name, at_least ? ">=" : "<=", limit, unit,
                 met ? "met" : "missed", value);
}

int main(int argc, char **argv)
{
    static double direct[3][ROUNDS_MAX], ours[3][ROUNDS_MAX], cpu[ROUNDS_MAX], each[ROUNDS_MAX];
    static double (*const parts[3])(bool) = { stream, rate, latency };
    unsigned rounds = argc > 2 ? (unsigned)atoi(argv[2]) : 5;
    struct rlimit files = { 4096, 4096 };
    int listeners[2];
    pthread_t thread;

    if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX) {
        (void)fprintf(stderr, "usage: bench-proxy AGENTBOX [ROUNDS]\n");
        return 2;
    }
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)signal(SIGPIPE, SIG_IGN);
    start_proxy(argv[1]);
    listeners[0] = listen_any(&sink_port);
    listeners[1] = listen_any(&echo_port);
    if (pthread_create(&thread, NULL, sink, &listeners[0]) != 0 ||
        pthread_create(&thread, NULL, echo, &listeners[1]) != 0)
        die("thread");
    for (unsigned r = 0; r < rounds; r++)
        for (unsigned p = 0; p < 3; p++) {
            direct[p][r] = parts[p](false);
            double before = role_cpu();
            ours[p][r] = parts[p](true);
            if (p == 0)
                cpu[r] = role_cpu() - before;
            if (p == 1)
                each[r] = (role_cpu() - before) * 1e6 / (ours[p][r] * ((double)RATE_NS / 1e9));
        }
    double medians[2][3], seconds = median(cpu, rounds);
    for (unsigned p = 0; p < 3; p++) {
        medians[0][p] = median(direct[p], rounds);
        medians[1][p] = median(ours[p], rounds);
    }
    double idle = idle_kib();
    (void)printf("one stream        direct %8.0f MB/s    proxy %8.0f MB/s\n", medians[0][0] / 1e6,
                 medians[1][0] / 1e6);
    (void)printf("64 at once        direct %8.0f /s      proxy %8.0f /s\n", medians[0][1],
                 medians[1][1]);
    (void)printf("one at a time     direct %8.1f us      proxy %8.1f us\n", medians[0][2] / 1e3,
                 medians[1][2] / 1e3);
    (void)printf("proxy's processor time for a connection: %.1f us\n", median(each, rounds));
    judge("one stream, of direct", medians[1][0] / medians[0][0], "", true, 0.45);
    judge("connections per second, of direct", medians[1][1] / medians[0][1], "", true, 0.55);
    judge("latency, of direct", medians[1][2] / medians[0][2], "", false, 2.3);
    judge("processor seconds per GiB", seconds, "", false, 0.35);
    judge("MiB for 1,000 idle tunnels", idle / 1024, "", false, 16);
    (void)kill(proxy_pid, SIGTERM);
    (void)waitpid(proxy_pid, NULL, 0);
    return 0;
}
