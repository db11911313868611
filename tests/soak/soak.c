/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak SECONDS DIRECTORY AGENTBOX: one manager under mixed load, for tests/soak/run.
 *
 * Four threads run commands as fast as they can: short ones, ones that write, that are refused a
 * write, that fetch through the proxy, that ask it for a host nobody allowed, that are killed,
 * cancelled or time out; a fifth thread gives the manager another configuration all the while. At
 * rest after a warm-up, and again at the end, descriptors, threads, children and memory of this
 * process (a host of the library like any other) are counted: what has grown is a leak.
 *
 * Prints figures, "name value" a line. Ends with 1 if something leaked, if a command ended as it
 * should not have, or if a host that is not allowed was reached. It trusts its caller.
 */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <agentbox/agentbox.h>

#define WORKERS      4
#define RSS_SLACK_KB 8192 /* and a quarter: what an allocator keeps, and arenas of threads */

enum kind { SHORT, WRITES, REFUSED, FETCHES, STRANGER, KILLED, CANCELED, LATE, KIND_COUNT };
static const char *const kind_names[KIND_COUNT] = {
    [SHORT] = "runs.short",       [WRITES] = "runs.writing",  [REFUSED] = "runs.refused-a-write",
    [FETCHES] = "runs.fetching",  [STRANGER] = "runs.asking", [KILLED] = "runs.killed",
    [CANCELED] = "runs.canceled", [LATE] = "runs.timed-out",
};

struct soak {
    abx_manager *manager;
    const char *directory;
    unsigned port, canary_port;
    int listener, canary;
    atomic_bool stop;
    atomic_ulong runs[KIND_COUNT], updates, served, canary_calls, wrong;
};

struct count {
    long fds, threads, children, rss_kb;
};

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void rest(long ms)
{
    const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    (void)nanosleep(&t, NULL);
}

static long entries(const char *path)
{
    DIR *dir = opendir(path);
    long n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        (void)closedir(dir);
    return n;
}

static long field_kb(const char *name)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long value = -1;

    while (file && value < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtol(line + strlen(name), NULL, 10);
    if (file)
        (void)fclose(file);
    return value;
}

static bool lives(long pid)
{
    char path[64], text[256] = "";

    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        (void)fclose(file);
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' && end[2] != 'Z';
}

/* That live: the manager collects the dead with its next runs. */
static long children(void)
{
    char path[64], text[4096] = "", *rest_of = text;
    long n = 0;

    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    if (file && !fgets(text, sizeof text, file))
        text[0] = '\0';
    if (file)
        (void)fclose(file);
    for (long pid; (pid = strtol(rest_of, &rest_of, 10)) > 0;)
        n += lives(pid);
    return n;
}

static struct count take_count(void)
{
    return (struct count){
        .fds = entries("/proc/self/fd"),
        .threads = field_kb("Threads:"),
        .children = children(),
        .rss_kb = field_kb("VmRSS:"),
    };
}

/* Whoever connects gets one answer. */
static void *serve(void *arg)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\n"
                                 "hello\n";
    struct soak *s = arg;
    char request[4096];
    int fd;

    while ((fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        if (recv(fd, request, sizeof request, 0) > 0 &&
            send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL) > 0)
            atomic_fetch_add(&s->served, 1);
        (void)close(fd);
    }
    return NULL;
}

static void *serve_canary(void *arg)
{
    struct soak *s = arg;
    int fd;

    while ((fd = accept4(s->canary, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        atomic_fetch_add(&s->canary_calls, 1);
        (void)close(fd);
    }
    return NULL;
}

static int listen_on(unsigned *ret_port)
{
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 512) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0) {
        perror("soak: listen");
        exit(2);
    }
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static void wrong(struct soak *s, enum kind kind, const char *what)
{
    if (atomic_fetch_add(&s->wrong, 1) < 10)
        (void)fprintf(stderr, "soak: %s: %s\n", kind_names[kind], what);
}

/* $1 is a port. */
static const char *const texts[KIND_COUNT] = {
    [SHORT] = "true",
    [WRITES] = "f=$(mktemp ./x.XXXXXX) && echo x >$f && rm $f",
    [REFUSED] = "! echo x 2>/dev/null >/etc/soak-canary && ! echo x 2>/dev/null >.mcp.json",
    [FETCHES] =
        "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET http://127.0.0.1:'$1'/ HTTP/1.1\\r\\n"
        "Host: x\\r\\nConnection: close\\r\\n\\r\\n' >&3 && cat <&3 | grep -q hello",
    [STRANGER] =
        "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'GET http://127.0.0.1:'$1'/ HTTP/1.1\\r\\n"
        "Host: x\\r\\nConnection: close\\r\\n\\r\\n' >&3 && cat <&3 | grep -q ' 403 '",
    [KILLED] = "sleep 100 & sleep 100",
    [CANCELED] = "sleep 100 & sleep 100",
    [LATE] = "sleep 100 & sleep 100",
};

/* Spawned, left alone for a moment, ended. */
static int32_t end_it(struct soak *s, abx_command *command, enum kind kind, unsigned *seed,
                      abx_result **result, abx_error **err)
{
    abx_process *process = NULL;
    int32_t code = abx_manager_spawn(s->manager, command, &process, err);

    if (code != ABX_OK)
        return code;
    rest(rand_r(seed) % 20);
    if (kind == CANCELED)
        abx_command_cancel(command);
    else
        code = abx_process_signal(process, SIGKILL, err);
    if (code == ABX_OK)
        code = abx_process_wait(process, -1, result, err);
    abx_process_free(process);
    return code;
}

static bool ended_well(enum kind kind, int32_t code, const abx_result *result)
{
    if (kind == CANCELED)
        return code == ABX_E_CANCELED || (code == ABX_OK && abx_result_canceled(result));
    if (kind == LATE) /* its time may be over before it is approved */
        return code == ABX_E_ESCALATED || (code == ABX_OK && abx_result_timed_out(result));
    if (kind == KILLED)
        return code == ABX_OK && abx_result_signal(result) == SIGKILL;
    return code == ABX_OK && abx_result_exit_code(result) == 0;
}

static void run_one(struct soak *s, enum kind kind, unsigned *seed)
{
    abx_error *err = NULL;
    abx_command *command = NULL;
    abx_result *result = NULL;
    char port[16], what[512];

    (void)snprintf(port, sizeof port, "%u", kind == FETCHES ? s->port : s->canary_port);
    /* The classifier does not see the text: it would forbid what the sandbox is to refuse. */
    const char *argv[] = { "/bin/bash", "-c", "eval \"$2\"", "soak", port, texts[kind], NULL };
    int32_t code = abx_command_new(argv, &command, &err);
    if (code == ABX_OK)
        code = abx_command_set_cwd(command, s->directory, &err);
    if (code == ABX_OK && kind == LATE)
        code = abx_command_set_timeout(command, 1 + rand_r(seed) % 20, &err);
    if (code == ABX_OK)
        code = kind == KILLED || kind == CANCELED
                   ? end_it(s, command, kind, seed, &result, &err)
                   : abx_manager_run(s->manager, command, &result, &err);
    if (!ended_well(kind, code, result)) {
        (void)snprintf(what, sizeof what, "%s, %s; exit status %d", abx_error_name(code),
                       abx_error_message(err), result ? (int)abx_result_exit_code(result) : -1);
        wrong(s, kind, what);
    }
    atomic_fetch_add(&s->runs[kind], 1);
    abx_result_free(result);
    abx_command_free(command);
    abx_error_free(err);
}

static int32_t approve(void *user, const abx_question *question)
{
    (void)user;
    (void)question;
    return ABX_APPROVE_ONCE;
}

static void *work(void *arg)
{
    static atomic_uint next_seed = 1;
    struct soak *s = arg;
    unsigned seed = atomic_fetch_add(&next_seed, 1);

    while (!atomic_load(&s->stop))
        run_one(s, (enum kind)(rand_r(&seed) % KIND_COUNT), &seed);
    return NULL;
}

static abx_config *make_config(const struct soak *s, const char *more)
{
    char host[64];
    abx_config *config = NULL;

    (void)snprintf(host, sizeof host, "127.0.0.1:%u", s->port);
    if (abx_config_new(&config, NULL) != ABX_OK ||
        abx_config_append(config, "network.allowedDomains", host, NULL) != ABX_OK ||
        abx_config_append(config, "network.allowedDomains", more, NULL) != ABX_OK) {
        (void)fprintf(stderr, "soak: no configuration\n");
        exit(2);
    }
    return config;
}

static void *update(void *arg)
{
    struct soak *s = arg;
    abx_config *configs[2] = { make_config(s, "a.test"), make_config(s, "*.b.test") };

    for (unsigned n = 0; !atomic_load(&s->stop); n++) {
        abx_error *err = NULL;

        if (abx_manager_update(s->manager, configs[n % 2], &err) != ABX_OK)
            wrong(s, SHORT, abx_error_message(err));
        abx_error_free(err);
        atomic_fetch_add(&s->updates, 1);
        rest(5);
    }
    abx_config_free(configs[0]);
    abx_config_free(configs[1]);
    return NULL;
}

/* All threads for a while, then none; what there is at rest. */
static struct count load(struct soak *s, double seconds)
{
    pthread_t threads[WORKERS + 1];
    const double end = now() + seconds;

    atomic_store(&s->stop, false);
    for (int i = 0; i <= WORKERS; i++)
        if (pthread_create(&threads[i], NULL, i < WORKERS ? work : update, s) != 0)
            exit(2);
    while (now() < end)
        rest(50);
    atomic_store(&s->stop, true);
    for (int i = 0; i <= WORKERS; i++)
        (void)pthread_join(threads[i], NULL);
    /* Keepers outlive their runs by a moment; the role of the proxy stays. */
    for (int i = 0; i < 200 && children() > 1; i++)
        rest(50);
    return take_count();
}

/* 1 if there is more than before. The role of the proxy may come and go, with its socket, and runs
 * whose keeper is not collected yet have a descriptor each: a leak is more than that. */
static int compare(const struct count *a, const struct count *b)
{
    int leaks = 0;

    if (b->fds > a->fds + 2L * WORKERS || b->threads > a->threads || b->children > 1)
        leaks = 1;
#ifndef __SANITIZE_ADDRESS__
    if (b->rss_kb > a->rss_kb + a->rss_kb / 4 + RSS_SLACK_KB)
        leaks = 1;
#endif
    return leaks;
}

static void print_count(const char *when, const struct count *c)
{
    (void)printf("%s.fds %ld\n%s.threads %ld\n%s.children %ld\n%s.rss-kb %ld\n", when, c->fds, when,
                 c->threads, when, c->children, when, c->rss_kb);
}

int main(int argc, char **argv)
{
    static struct soak s;
    abx_error *err = NULL;
    abx_hooks hooks;
    pthread_t server, canary;

    if (argc != 4)
        return 2;
    double seconds = strtod(argv[1], NULL);
    s.directory = argv[2];
    s.listener = listen_on(&s.port);
    s.canary = listen_on(&s.canary_port);
    (void)pthread_create(&server, NULL, serve, &s);
    (void)pthread_create(&canary, NULL, serve_canary, &s);
    abx_hooks_init(&hooks, sizeof hooks);
    hooks.program = argv[3];
    hooks.approve = approve;
    abx_config *config = make_config(&s, "a.test");
    if (abx_manager_new(config, &hooks, &s.manager, &err) != ABX_OK) {
        (void)fprintf(stderr, "soak: %s\n", abx_error_message(err));
        return 2;
    }
    abx_config_free(config);

    const struct count warm = load(&s, seconds / 5);
    const struct count end = load(&s, seconds * 4 / 5);
    int status = compare(&warm, &end) || atomic_load(&s.wrong) || atomic_load(&s.canary_calls);
    abx_manager_free(s.manager);

    for (int i = 0; i < KIND_COUNT; i++)
        (void)printf("%s %lu\n", kind_names[i], atomic_load(&s.runs[i]));
    (void)printf("updates %lu\nproxy.answers %lu\nproxy.canary-reached %lu\nwrong %lu\n",
                 atomic_load(&s.updates), atomic_load(&s.served), atomic_load(&s.canary_calls),
                 atomic_load(&s.wrong));
    print_count("warm", &warm);
    print_count("end", &end);
    (void)printf("closed.fds %ld\nclosed.children %ld\n", entries("/proc/self/fd"), children());
    return status;
}
