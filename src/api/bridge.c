/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridges as objects: a Unix socket in a directory, whose clients get connections to one TCP
 * address (net/bridge.h does the work), in a thread of its own. Bytes are passed on unread.
 *
 * The thread has every signal blocked and touches nothing but its loop; the lock guards what both
 * sides see. Whoever asks for the end sets a flag and wakes it. Any number of threads may shut one
 * bridge down at once: one of them joins the thread and removes the socket, all return after that.
 *
 * The socket's file is 0600 from the moment that it exists. Only a socket is ever removed for
 * being in the way, and at the end only the one that is ours.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/internal.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/wake.h"
#include "net/bridge.h"
#include "net/host.h"

#define DEFAULT_LABEL  "bridge"
#define BACKLOG        128
#define SECOND_WAIT_MS 2000
#define PAIR_WAIT_MS   5000
#define MODE_OWNER     (S_IRUSR | S_IWUSR)

enum bridge_state { BRIDGE_NEW, BRIDGE_RUNS, BRIDGE_ENDED, BRIDGE_JOINED };

struct abx_bridge {
    pid_t owner;
    struct sockaddr_un at;
    struct bridge_config config;
    dev_t device; /* of the socket's file */
    ino_t inode;
    pthread_t thread;
    int wake; /* base/wake.h */

    pthread_mutex_t lock; /* the rest */
    pthread_cond_t changed;
    enum bridge_state state;
    bool stop, cut, joining;
    int removed; /* 0 or -errno, once BRIDGE_JOINED */

    /* The thread's. */
    struct loop *loop;
    struct bridge *bridge;
    struct loop_io wake_io;
};

/* ---- the thread ---- */

static void woken(struct loop_io *io, unsigned events)
{
    abx_bridge *b = CONTAINER_OF(io, abx_bridge, wake_io);

    (void)events;
    wake_clear(io->fd);
    (void)pthread_mutex_lock(&b->lock);
    bool cut = b->cut;
    (void)pthread_mutex_unlock(&b->lock);
    if (cut)
        bridge_cut(b->bridge);
    else
        bridge_stop(b->bridge);
}

static void all_gone(void *user)
{
    abx_bridge *b = user;

    loop_stop(b->loop);
}

static void *thread_main(void *user)
{
    abx_bridge *b = user;

    (void)loop_run(b->loop);
    bridge_free(b->bridge);
    loop_free(b->loop);
    (void)pthread_mutex_lock(&b->lock);
    b->bridge = NULL;
    b->loop = NULL;
    b->state = BRIDGE_ENDED;
    (void)pthread_cond_broadcast(&b->changed);
    (void)pthread_mutex_unlock(&b->lock);
    return NULL;
}

static int start_thread(abx_bridge *b)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(&b->thread, NULL, thread_main, b);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r;
}

/* ---- the socket ---- */

/* What a bridge that was killed left behind. Anything else that is there makes bind fail. */
static int remove_stale(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (!S_ISSOCK(st.st_mode))
        return -EEXIST;
    return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}

/* 0 or -errno; the file is gone again on failure. */
static int open_socket(abx_bridge *b, int *ret)
{
    struct stat st;
    _fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    /* A socket's own mode is what bind gives the file: it is never open to others. */
    if (fd < 0 || fchmod(fd, MODE_OWNER) < 0 ||
        bind(fd, (const struct sockaddr *)&b->at, sizeof b->at) < 0)
        return -errno;
    if (chmod(b->at.sun_path, MODE_OWNER) < 0 || lstat(b->at.sun_path, &st) < 0 ||
        listen(fd, BACKLOG) < 0) {
        int r = -errno;
        (void)unlink(b->at.sun_path);
        return r;
    }
    b->device = st.st_dev;
    b->inode = st.st_ino;
    *ret = TAKE_FD(fd);
    return 0;
}

static int remove_own(const abx_bridge *b)
{
    struct stat st;

    if (lstat(b->at.sun_path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (st.st_dev != b->device || st.st_ino != b->inode)
        return 0; /* somebody else's by now */
    return unlink(b->at.sun_path) < 0 && errno != ENOENT ? -errno : 0;
}

/* ---- options ---- */

/* "127.0.0.1:8080", "[::1]:8080", "localhost:8080". */
static bool parse_target(const char *text, struct bridge_config *ret)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&ret->to[0];
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&ret->to[0];
    struct host host;
    uint16_t port;

    if (host_parse_authority(text, strlen(text), 0, &host, &port) != HOST_OK)
        return false;
    if (strcmp(host.text, "localhost") == 0)
        (void)host_parse("127.0.0.1", 9, &host);
    if (!host.is_address)
        return false;
    ret->to_count = 1;
    if (host.addr.family == ADDR_V4) {
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, host.addr.bytes + 12, 4);
    } else {
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port);
        memcpy(&in6->sin6_addr, host.addr.bytes, 16);
    }
    return true;
}

static int32_t read_options(abx_bridge *b, const abx_bridge_options *o, abx_error **err)
{
    const char *label = o->label ? o->label : DEFAULT_LABEL;

    if (!o->socket_dir || !o->socket_dir[0])
        return err_new(err, ABX_E_INVALID, "make a bridge: there is no directory for its socket");
    if (!o->target || !o->target[0])
        return err_new(err, ABX_E_INVALID, "make a bridge: there is no target");
    if (!label[0] || strchr(label, '/')) {
        int32_t code = err_new(err, ABX_E_INVALID, "make a bridge: '%s' is no label", label);
        err_hint(err, "it becomes a file's name, NAME.sock: no '/', and not empty");
        return code;
    }
    if (o->max_connections < 0 || o->dial_timeout_ms < 0)
        return err_new(err, ABX_E_INVALID, "make a bridge: a limit is negative");
    if (!parse_target(o->target, &b->config)) {
        int32_t code = err_new(err, ABX_E_INVALID, "make a bridge: '%s' is no target", o->target);
        err_hint(err, "write ADDRESS:PORT, such as 127.0.0.1:8080");
        return code;
    }
    b->config.connections = (uint32_t)o->max_connections;
    b->config.dial_ns = (int64_t)o->dial_timeout_ms * NSEC_PER_MSEC;
    b->config.user = b;
    b->config.ended = all_gone;
    b->at.sun_family = AF_UNIX;
    size_t len = strlen(o->socket_dir) + strlen(label) + sizeof "/.sock";
    if (len > sizeof b->at.sun_path) {
        int32_t code = err_new(err, ABX_E_INVALID,
                               "make a bridge: '%s/%s.sock' is longer than %zu bytes",
                               o->socket_dir, label, sizeof b->at.sun_path - 1);
        err_hint(err, "the system has no longer paths of sockets: choose a shorter directory");
        return code;
    }
    (void)snprintf(b->at.sun_path, sizeof b->at.sun_path, "%s/%s.sock", o->socket_dir, label);
    return ABX_OK;
}

/* ---- one ---- */

static int32_t check(const abx_bridge *b, const char *what, abx_error **err)
{
    if (!b)
        return err_new(err, ABX_E_INVALID, "%s: the bridge is NULL", what);
    if (b->owner != getpid())
        return err_new(err, ABX_E_FORKED, "%s: the bridge belongs to the parent process", what);
    return ABX_OK;
}

int32_t abx_bridge_new(const abx_bridge_options *options, abx_bridge **ret_bridge, abx_error **err)
{
    abx_bridge_options o = { .size = 0 };

    if (!ret_bridge || !options || options->size < sizeof options->size)
        return err_new(err, ABX_E_INVALID, "make a bridge: no options, or no place for the result");
    memcpy(&o, options, MIN_OF((size_t)options->size, sizeof o));
    abx_bridge *b = calloc(1, sizeof *b);
    if (!b)
        return err_nomem(err);
    b->owner = getpid();
    (void)pthread_mutex_init(&b->lock, NULL);
    cond_init(&b->changed);
    b->wake = wake_open();
    int32_t code = b->wake < 0 ? err_sys(err, ABX_E_IO, b->wake, "make a bridge")
                               : read_options(b, &o, err);
    if (code != ABX_OK) {
        abx_bridge_free(b);
        return code;
    }
    *ret_bridge = b;
    return ABX_OK;
}

const char *abx_bridge_path(const abx_bridge *b)
{
    return b ? b->at.sun_path : NULL;
}

/* Everything that the thread will own; 0 or -errno. */
static int prepare(abx_bridge *b)
{
    int r = loop_new(&b->loop);

    if (r == 0)
        r = open_socket(b, &b->config.listener);
    if (r == 0) {
        r = bridge_new(b->loop, &b->config, &b->bridge);
        b->wake_io = (struct loop_io){ .fd = b->wake, .ready = woken };
        if (r == 0)
            r = loop_add(b->loop, &b->wake_io, LOOP_READ);
        if (r == 0)
            r = start_thread(b);
        if (r < 0)
            (void)remove_own(b);
    }
    if (r < 0) {
        bridge_free(TAKE_PTR(b->bridge));
        loop_free(TAKE_PTR(b->loop));
    }
    return r;
}

int32_t abx_bridge_start(abx_bridge *b, abx_error **err)
{
    int32_t code = check(b, "start a bridge", err);

    if (code != ABX_OK)
        return code;
    (void)pthread_mutex_lock(&b->lock);
    bool is_new = b->state == BRIDGE_NEW && !b->stop;
    int stale = is_new ? remove_stale(b->at.sun_path) : 0;
    int r = is_new && stale == 0 ? prepare(b) : 0;
    if (is_new && stale == 0 && r == 0)
        b->state = BRIDGE_RUNS;
    (void)pthread_mutex_unlock(&b->lock);
    if (!is_new)
        return err_new(err, ABX_E_STATE, "start a bridge: it was started or shut down before");
    if (stale < 0)
        return err_sys(err, ABX_E_IO, stale, "remove '%s', which is in the way", b->at.sun_path);
    if (r == 0)
        return ABX_OK;
    code = err_sys(err, ABX_E_IO, r, "listen on '%s'", b->at.sun_path);
    if (r == -ENOENT || r == -ENOTDIR || r == -EACCES || r == -EROFS)
        err_hint(err, "the socket's directory must exist, and be yours to write");
    return code;
}

/* With the lock. */
static void ask(abx_bridge *b, bool cut)
{
    b->stop = true;
    b->cut = b->cut || cut;
    if (b->state == BRIDGE_RUNS)
        wake_signal(b->wake);
}

/* With the lock: until it has ended, or the time has come. */
static void await(abx_bridge *b, enum bridge_state state, const struct timespec *end)
{
    int r = 0;

    while (b->state != BRIDGE_NEW && b->state < state && r == 0)
        r = end ? pthread_cond_timedwait(&b->changed, &b->lock, end)
                : pthread_cond_wait(&b->changed, &b->lock);
}

/* With the lock: the first who comes does it, the others wait. */
static void join(abx_bridge *b)
{
    if (b->joining) {
        await(b, BRIDGE_JOINED, NULL);
        return;
    }
    b->joining = true;
    (void)pthread_mutex_unlock(&b->lock);
    (void)pthread_join(b->thread, NULL);
    int removed = remove_own(b);
    (void)pthread_mutex_lock(&b->lock);
    b->removed = removed;
    b->state = BRIDGE_JOINED;
    (void)pthread_cond_broadcast(&b->changed);
}

int32_t abx_bridge_shutdown(abx_bridge *b, int32_t timeout_ms, abx_error **err)
{
    int32_t code = check(b, "shut a bridge down", err);
    struct timespec end = deadline_after(MAX_OF(timeout_ms, 0));

    if (code != ABX_OK)
        return code;
    (void)pthread_mutex_lock(&b->lock);
    ask(b, false);
    await(b, BRIDGE_ENDED, timeout_ms < 0 ? NULL : &end);
    if (b->state == BRIDGE_RUNS) {
        ask(b, true);
        end = deadline_after(SECOND_WAIT_MS);
        await(b, BRIDGE_ENDED, &end);
    }
    bool ended = b->state != BRIDGE_RUNS;
    if (ended && b->state != BRIDGE_NEW)
        join(b);
    int removed = b->removed;
    (void)pthread_mutex_unlock(&b->lock);
    if (!ended)
        return err_new(err, ABX_E_TIMEOUT, "shut a bridge down: its thread does not end");
    return removed < 0 ? err_sys(err, ABX_E_IO, removed, "remove '%s'", b->at.sun_path) : ABX_OK;
}

void abx_bridge_free(abx_bridge *b)
{
    if (!b)
        return;
    if (b->owner == getpid()) {
        (void)pthread_mutex_lock(&b->lock);
        ask(b, true);
        await(b, BRIDGE_ENDED, NULL);
        if (b->state != BRIDGE_NEW)
            join(b);
        (void)pthread_mutex_unlock(&b->lock);
        (void)pthread_cond_destroy(&b->changed);
        (void)pthread_mutex_destroy(&b->lock);
    }
    fd_close(b->wake);
    free(b);
}

/* ---- a pair ---- */

struct abx_bridge_pair {
    abx_bridge *http, *socks;
};

int32_t abx_bridge_pair_new(const char *socket_dir, const char *http_target,
                            const char *socks_target, abx_bridge_pair **ret_pair, abx_error **err)
{
    abx_bridge_options o = { .size = sizeof o, .socket_dir = socket_dir };

    if (!ret_pair)
        return err_new(err, ABX_E_INVALID, "make two bridges: no place for the result");
    abx_bridge_pair *pair = calloc(1, sizeof *pair);
    if (!pair)
        return err_nomem(err);
    o.target = http_target;
    o.label = "http-proxy";
    int32_t code = abx_bridge_new(&o, &pair->http, err);
    o.target = socks_target;
    o.label = "socks-proxy";
    if (code == ABX_OK)
        code = abx_bridge_new(&o, &pair->socks, err);
    if (code != ABX_OK) {
        abx_bridge_pair_free(pair);
        return code;
    }
    *ret_pair = pair;
    return ABX_OK;
}

const abx_bridge *abx_bridge_pair_http(const abx_bridge_pair *pair)
{
    return pair ? pair->http : NULL;
}

const abx_bridge *abx_bridge_pair_socks(const abx_bridge_pair *pair)
{
    return pair ? pair->socks : NULL;
}

int32_t abx_bridge_pair_start(abx_bridge_pair *pair, abx_error **err)
{
    if (!pair)
        return err_new(err, ABX_E_INVALID, "start two bridges: the pair is NULL");
    int32_t code = abx_bridge_start(pair->http, err);
    if (code != ABX_OK)
        return code;
    code = abx_bridge_start(pair->socks, err);
    if (code != ABX_OK)
        (void)abx_bridge_shutdown(pair->http, PAIR_WAIT_MS, NULL);
    return code;
}

/* Asked first, so that both end at the same time. */
static void ask_to_stop(abx_bridge *b)
{
    (void)pthread_mutex_lock(&b->lock);
    ask(b, false);
    (void)pthread_mutex_unlock(&b->lock);
}

static int32_t time_left(const struct timespec *end)
{
    struct timespec now = deadline_after(0);
    int64_t ms = (int64_t)(end->tv_sec - now.tv_sec) * 1000 +
                 (end->tv_nsec - now.tv_nsec) / NSEC_PER_MSEC;

    return (int32_t)MAX_OF(ms, 0);
}

void abx_bridge_pair_shutdown(abx_bridge_pair *pair, int32_t timeout_ms)
{
    struct timespec end = deadline_after(MAX_OF(timeout_ms, 0));

    if (!pair || pair->http->owner != getpid())
        return;
    ask_to_stop(pair->http);
    ask_to_stop(pair->socks);
    (void)abx_bridge_shutdown(pair->http, timeout_ms, NULL);
    (void)abx_bridge_shutdown(pair->socks, timeout_ms < 0 ? -1 : time_left(&end), NULL);
}

void abx_bridge_pair_free(abx_bridge_pair *pair)
{
    if (!pair)
        return;
    abx_bridge_free(pair->http);
    abx_bridge_free(pair->socks);
    free(pair);
}
