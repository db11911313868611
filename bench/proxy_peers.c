/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxies: ours and those that Debian has. Each listens on a free port of its lane, with a
 * configuration of a few lines in the fresh HOME: no log, no cache, every target allowed. haproxy
 * speaks no proxy protocol here, it passes connections on to the two servers: the least that a
 * relay can do. What is not installed is left out.
 *
 * dante binds each outgoing connection to its external address, which takes a port from everybody
 * on it for as long as the kernel remembers the connection: with 127.0.0.1 its own clients would
 * soon find none, and it refuses. So it has an address of loopback for itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy.h"

#define START_MS   10000
#define TREE_MAX   1024 /* processes of one proxy */
#define CONFIG_MAX 2048

/* {0} the port, {1} a second one, {2} and {3} those of the servers. */
static const struct {
    const char *name, *package, *program;
    enum speech speech;
    const char *config;   /* "": none */
    const char *words[8]; /* {c}: the configuration's path, {p}: the port */
} peers[PATH_COUNT] = {
    [PATH_DIRECT] = { "no proxy", NULL, NULL, SPEECH_NONE, "", { NULL } },
    [PATH_OURS] = { "agentbox, CONNECT",
                    NULL,
                    "",
                    SPEECH_CONNECT,
                    "",
                    { "proxy", "-q", "--no-config", "--allow-domain", "127.0.0.1", "--listen",
                      "127.0.0.1:{p}" } },
    [PATH_OURS_SOCKS] = { "agentbox, SOCKS5",
                          NULL,
                          "",
                          SPEECH_SOCKS5,
                          "",
                          { "proxy", "-q", "--no-config", "--allow-domain", "127.0.0.1", "--listen",
                            "127.0.0.1:{p}" } },
    [PATH_HAPROXY] = { "haproxy",
                       "haproxy",
                       "/usr/sbin/haproxy",
                       SPEECH_NONE,
                       "global\n maxconn 4096\n nbthread 1\n"
                       "defaults\n mode tcp\n option splice-auto\n timeout connect 10s\n"
                       " timeout client 600s\n timeout server 600s\n"
                       "listen sink\n bind 127.0.0.1:%1$u\n server sink 127.0.0.1:%3$u\n"
                       "listen echo\n bind 127.0.0.1:%2$u\n server echo 127.0.0.1:%4$u\n",
                       { "-db", "-q", "-f", "{c}" } },
    [PATH_SQUID] = { "squid",
                     "squid",
                     "/usr/sbin/squid",
                     SPEECH_CONNECT,
                     "http_port 127.0.0.1:%1$u\nhttp_access allow all\ncache deny all\n"
                     "access_log none\ncache_log /dev/null\ncache_store_log none\n"
                     "pid_filename none\nnetdb_filename none\npinger_enable off\n"
                     "visible_hostname localhost\nmax_filedescriptors 4096\nworkers 1\n"
                     "shutdown_lifetime 0 seconds\n",
                     { "-N", "-f", "{c}" } },
    [PATH_TINYPROXY] = { "tinyproxy",
                         "tinyproxy",
                         "/usr/bin/tinyproxy",
                         SPEECH_CONNECT,
                         "Port %1$u\nListen 127.0.0.1\nAllow 127.0.0.1\nMaxClients 4096\n"
                         "LogLevel Critical\nTimeout 600\n",
                         { "-d", "-c", "{c}" } },
    [PATH_DANTE] = { "dante",
                     "dante-server",
                     "/usr/sbin/danted",
                     SPEECH_SOCKS5,
                     "errorlog: /dev/null\nlogoutput: /dev/null\n"
                     "internal: 127.0.0.1 port = %1$u\nexternal: 127.0.0.2\n"
                     "clientmethod: none\nsocksmethod: none\n"
                     "client pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }\n"
                     "socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }\n",
                     { "-f", "{c}", "-p", "/dev/null" } },
    [PATH_MICROSOCKS] = { "microsocks",
                          "microsocks",
                          "/usr/bin/microsocks",
                          SPEECH_SOCKS5,
                          "",
                          { "-i", "127.0.0.1", "-p", "{p}" } },
};

const char *peer_name(enum path path)
{
    return peers[path].name;
}

const char *peer_package(enum path path)
{
    return peers[path].package;
}

/* ---- start and stop ---- */

static int write_config(const struct bench *b, enum path path, const struct way *way,
                        const uint16_t servers[static TARGET_COUNT], char ret[BENCH_PATH_MAX])
{
    char text[CONFIG_MAX];

    (void)snprintf(ret, BENCH_PATH_MAX, "%.200s/%s.conf", b->place->home, peers[path].name);
    FILE *file = fopen(ret, "we");
    if (!file)
        return bench_fail("write '%s': %s", ret, strerror(errno));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(text, sizeof text, peers[path].config, way->ports[0], way->ports[1], servers[0],
                   servers[1]);
#pragma GCC diagnostic pop
    (void)fputs(text, file);
    return fclose(file) == 0 ? 0 : bench_fail("write '%s': %s", ret, strerror(errno));
}

/* The word with its placeholder filled in. */
static const char *fill(const char *word, const char *config, uint16_t port,
                        char room[static BENCH_PATH_MAX])
{
    const char *at = strstr(word, "{p}");

    if (strcmp(word, "{c}") == 0)
        return config;
    if (!at)
        return word;
    (void)snprintf(room, BENCH_PATH_MAX, "%.*s%u", (int)(at - word), word, port);
    return room;
}

static void child_exec(const struct args *a)
{
    int null = open("/dev/null", O_RDWR);

    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(127);
    (void)setsid();
    (void)execv(a->v[0], (char *const *)(uintptr_t)a->v);
    _exit(127);
}

/* Until it accepts. */
static int await(const struct way *way, enum path path)
{
    for (int64_t end = bench_now() + START_MS * NSEC_PER_MSEC; bench_now() < end;) {
        char path_of[64];
        FILE *tcp = fopen("/proc/net/tcp", "re");
        char line[256];
        bool listens = false;

        (void)snprintf(path_of, sizeof path_of, "0100007F:%04X 00000000:0000 0A", way->ports[0]);
        while (tcp && fgets(line, sizeof line, tcp))
            listens = listens || strstr(line, path_of);
        if (tcp)
            (void)fclose(tcp);
        if (listens)
            return 0;
        if (waitpid(way->pid, NULL, WNOHANG) != 0)
            break;
        bench_pause(10);
    }
    return bench_fail("%s did not start", peers[path].name);
}

int peer_start(const struct bench *b, enum path path, const uint16_t servers[static TARGET_COUNT],
               struct way *ret)
{
    char config[BENCH_PATH_MAX] = "", room[BENCH_PATH_MAX];
    const char *program = peers[path].program;
    struct args a = { .n = 0 };

    *ret = (struct way){ .speech = peers[path].speech };
    memcpy(ret->ports, servers, sizeof ret->ports);
    if (!program)
        return 1;
    if (!program[0])
        program = b->agentbox;
    if (access(program, X_OK) < 0)
        return 0;
    ret->ports[0] = load_free_port();
    ret->ports[1] = peers[path].speech == SPEECH_NONE ? load_free_port() : ret->ports[0];
    if (peers[path].config[0] && write_config(b, path, ret, servers, config) < 0)
        return -1;
    ARGS_ADD(&a, program);
    for (const char *const *word = peers[path].words; *word; word++)
        ARGS_ADD(&a, fill(*word, config, ret->ports[0], room));
    ret->pid = fork();
    if (ret->pid == 0)
        child_exec(&a);
    if (ret->pid < 0)
        return bench_fail("fork: %s", strerror(errno));
    return await(ret, path) < 0 ? -1 : 1;
}

void peer_stop(struct way *way)
{
    if (way->pid <= 0)
        return;
    (void)kill(way->pid, SIGTERM);
    for (unsigned i = 0; i < 100 && waitpid(way->pid, NULL, WNOHANG) == 0; i++)
        bench_pause(20);
    (void)kill(-way->pid, SIGKILL); /* its group: children that stayed */
    (void)waitpid(way->pid, NULL, 0);
    way->pid = 0;
}

/* ---- what it uses ---- */

struct process {
    pid_t pid, parent;
    double ticks, pages;
};

/* Fields of /proc/PID/stat, counted from the one behind the name (the state) on. */
enum { FIELD_PARENT = 1, FIELD_TIMES = 11, FIELD_PAGES = 21, FIELD_COUNT };

static bool process_read(const char *pid, struct process *ret)
{
    char path[300], text[1024] = "";
    double fields[FIELD_COUNT] = { 0 };

    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "re");
    bool got = file && fgets(text, sizeof text, file);
    if (file)
        (void)fclose(file);
    char *at = got ? strrchr(text, ')') : NULL;
    if (!at || strlen(at) < 4)
        return false;
    at += 3;
    for (unsigned i = FIELD_PARENT; i < FIELD_COUNT; i++)
        fields[i] = strtod(at, &at);
    *ret = (struct process){ .pid = (pid_t)strtol(pid, NULL, 10),
                             .parent = (pid_t)fields[FIELD_PARENT],
                             .pages = fields[FIELD_PAGES] };
    for (unsigned i = 0; i < 4; i++) /* its own and its children's, user and system */
        ret->ticks += fields[FIELD_TIMES + i];
    return true;
}

/* The sum over the proxy and all below it. Children have higher numbers, or are found next time. */
static struct process tree_sum(pid_t root)
{
    pid_t tree[TREE_MAX] = { root };
    size_t count = 1;
    struct process sum = { 0 };
    struct dirent *entry;

    for (size_t before = 0; before != count;) {
        DIR *proc = opendir("/proc");

        before = count;
        sum = (struct process){ 0 };
        while (proc && (entry = readdir(proc))) {
            struct process p;
            bool is_in = false, parent_in = false;

            if (entry->d_name[0] < '0' || entry->d_name[0] > '9' ||
                !process_read(entry->d_name, &p))
                continue;
            for (size_t i = 0; i < count; i++) {
                is_in = is_in || tree[i] == p.pid;
                parent_in = parent_in || tree[i] == p.parent;
            }
            if (!is_in && parent_in && count < TREE_MAX)
                tree[count++] = p.pid;
            if (is_in || parent_in) {
                sum.ticks += p.ticks;
                sum.pages += p.pages;
            }
        }
        if (proc)
            (void)closedir(proc);
    }
    return sum;
}

double peer_cpu_seconds(const struct way *way)
{
    return tree_sum(way->pid).ticks / (double)sysconf(_SC_CLK_TCK);
}

double peer_rss_mib(const struct way *way)
{
    return tree_sum(way->pid).pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}
