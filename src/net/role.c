/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of the net role: control socket on one side, server on the other.
 *
 * Order: check what was inherited, shut in, then read. The host is trusted to say what may be
 * reached, but its messages are checked all the same: what is malformed ends the role, and with it
 * every connection. What goes to the host never blocks: records that do not fit are counted, a
 * question that does not fit is a no.
 */
#include "net/role.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "net/confine.h"
#include "net/protocol.h"
#include "net/publish.h"
#include "net/relay.h"

#define FDS_MAX     16                /* received and not yet asked for */
#define OUT_RECORDS ((size_t)1 << 20) /* records wait up to here; answers may go beyond */
#define OUT_MAX     ((size_t)2 << 20)
#define READ_PIECE  65536
#define FDS_OWN     (64 + 2 * RELAY_PIPES + 4 * RESOLVE_MAX_QUERIES)
#define FDS_A_CONN  2 /* a dial has more than one for a moment; FDS_OWN has some to spare */

struct role {
    struct loop *loop;
    struct resolver *resolver;
    struct server *server;
    struct publish *publish;
    struct loop_io control;
    struct buf in, out;
    size_t out_sent;
    struct loop_task flush; /* records of a turn go together, after what clients wait for */
    uint32_t lost;
    uint64_t files;
    int fds[FDS_MAX];
    size_t fd_count;
    bool stopped;
    bool mitm;   /* rules name a Unix socket */
    bool closed; /* foreign bytes may come from now on */
    int status;
};

static void role_end(struct role *r, int status)
{
    r->status = status;
    loop_stop(r->loop);
}

/* ---- to the host ---- */

static void role_flush(struct role *r)
{
    while (r->out_sent < r->out.len) {
        ssize_t n = send(r->control.fd, r->out.data + r->out_sent, r->out.len - r->out_sent,
                         MSG_NOSIGNAL);
        if (n < 0) {
            if (errno != EAGAIN)
                role_end(r, 0);
            return;
        }
        r->out_sent += (size_t)n;
    }
    r->out_sent = r->out.len = 0;
    if (r->lost > 0) {
        protocol_put_numbers(&r->out, PROTOCOL_LOST, 0, r->lost, 0);
        r->lost = 0;
        role_flush(r);
    } else if (r->stopped) {
        role_end(r, 0);
    }
}

static void flush_later(struct loop_task *task)
{
    role_flush(CONTAINER_OF(task, struct role, flush));
}

static bool has_room(const struct role *r)
{
    return r->out.len < OUT_RECORDS && !r->out.failed;
}

static void tell_record(void *user, const struct server_record *record)
{
    struct role *r = user;

    if (!has_room(r)) {
        r->lost++;
        return;
    }
    protocol_put_record(&r->out, record);
    loop_post(r->loop, &r->flush);
}

static void tell_question(void *user, uint32_t question, uint32_t listener, const char *host,
                          uint16_t port)
{
    struct role *r = user;

    if (!has_room(r))
        return; /* silence is a no */
    protocol_put_question(&r->out, question, listener, host, port);
    role_flush(r);
}

static void tell_stopped(void *user)
{
    struct role *r = user;

    r->stopped = true;
    protocol_put_numbers(&r->out, PROTOCOL_STOPPED, 0, 0, 0);
    role_flush(r);
}

/* ---- from the host ---- */

static int take_fd(struct role *r)
{
    int fd = r->fd_count > 0 ? r->fds[0] : -1;

    if (r->fd_count > 0)
        memmove(r->fds, r->fds + 1, --r->fd_count * sizeof *r->fds);
    return fd;
}

/* Each connection has two descriptors; the limit is what the process may have. */
static void fit_limits(const struct role *r, struct server_limits *limits)
{
    uint64_t most = r->files > FDS_OWN + FDS_A_CONN ? (r->files - FDS_OWN) / FDS_A_CONN : 1;

    const uint64_t wanted = limits->connections ? limits->connections : SERVER_CONNECTIONS;

    limits->connections = (uint32_t)MIN_OF(wanted, most);
}

static int32_t do_setup(struct role *r, const char *bytes, size_t len, abx_error **err)
{
    struct server_limits limits;
    const struct server_hooks hooks = {
        .user = r, .record = tell_record, .ask = tell_question, .stopped = tell_stopped
    };
    uint16_t dns_port;

    if (r->server || !protocol_get_setup(bytes, len, &limits, &dns_port))
        return err_new(err, ABX_E_INVALID, "read the set-up: malformed, or not the first");
    fit_limits(r, &limits);
    int e = resolver_new(r->loop, dns_port, &r->resolver);
    if (e == 0)
        e = publish_new(r->loop, &r->publish);
    if (e == 0)
        e = server_new(r->loop, r->resolver, &limits, &hooks, &r->server);
    return e < 0 ? err_nomem(err) : ABX_OK;
}

static int32_t do_names(struct role *r, const char *bytes, size_t len, abx_error **err)
{
    const char *hosts, *resolv;
    size_t hosts_len, resolv_len;

    if (!protocol_get_names(bytes, len, &hosts, &hosts_len, &resolv, &resolv_len))
        return err_new(err, ABX_E_INVALID, "read hosts and resolv.conf: malformed");
    int e = resolver_load(r->resolver, hosts, hosts_len, resolv, resolv_len);
    return e < 0 ? err_sys(err, ABX_E_PROXY, e, "keep hosts and resolv.conf") : ABX_OK;
}

static int32_t do_rules(struct role *r, const char *bytes, size_t len, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    struct server_rules rules;
    uint32_t id;

    arena_init(&arena, PROTOCOL_MAX);
    if (!protocol_get_rules(bytes, len, &arena, &id, &rules))
        return err_new(err, ABX_E_INVALID, "read rules: malformed");
    const bool mitm = rules.mitm_path && rules.mitm_path[0];
    if (mitm && r->closed && !r->mitm)
        return err_new(err, ABX_E_STATE,
                       "use network.mitmProxy: this proxy has given up Unix sockets");
    r->mitm = r->mitm || mitm;
    return server_set_rules(r->server, id, &rules, err);
}

/* Before the first foreign byte can come. */
static int32_t close_in(struct role *r, abx_error **err)
{
    int e = r->closed ? 0 : confine_more(r->mitm);

    r->closed = r->closed || e == 0;
    return e < 0 ? err_sys(err, ABX_E_PROXY, e, "confine the proxy further") : ABX_OK;
}

static int32_t do_listen(struct role *r, uint32_t id, uint32_t rules, abx_error **err)
{
    _fd_ int fd = take_fd(r);

    if (fd < 0)
        return err_new(err, ABX_E_INVALID, "listen: no socket came along");
    int32_t code = close_in(r, err);
    if (code != ABX_OK)
        return code;
    int e = server_listen(r->server, id, rules, TAKE_FD(fd));
    return e < 0 ? err_sys(err, ABX_E_PROXY, e, "listen on socket %u with rules %u", id, rules)
                 : ABX_OK;
}

static int32_t do_publish(struct role *r, uint32_t type, uint32_t run, uint32_t port,
                          abx_error **err)
{
    _fd_ int fd = take_fd(r);

    if (fd < 0 || port > UINT16_MAX || !r->publish)
        return err_new(err, ABX_E_INVALID,
                       "publish: no socket came along, a wrong port, or too late");
    int32_t code = close_in(r, err);
    if (code != ABX_OK)
        return code;
    int e = type == PROTOCOL_SOCKET ? publish_give_socket(r->publish, run, TAKE_FD(fd))
                                    : publish_open(r->publish, run, (uint16_t)port, TAKE_FD(fd));
    return e < 0 ? err_sys(err, ABX_E_PROXY, e, "publish port %u of run %u", port, run) : ABX_OK;
}

static int32_t do_numbers(struct role *r, const struct protocol_head *head, const char *bytes,
                          abx_error **err)
{
    uint32_t a, b;

    if (!protocol_get_numbers(bytes, head->len, &a, &b))
        return err_new(err, ABX_E_INVALID, "read a message of type %u: malformed", head->type);
    switch (head->type) {
    case PROTOCOL_DROP_RULES:
        if (r->publish)
            publish_drop(r->publish, a);
        server_remove_rules(r->server, a);
        return ABX_OK;
    case PROTOCOL_LISTEN:
        return do_listen(r, a, b, err);
    case PROTOCOL_SOCKET:
    case PROTOCOL_PUBLISH:
        return do_publish(r, head->type, a, b, err);
    case PROTOCOL_ANSWER:
        server_answer(r->server, a, b <= SERVER_NO_SESSION ? (enum server_answer)b : SERVER_NO);
        return ABX_OK;
    case PROTOCOL_STOP:
        publish_free(TAKE_PTR(r->publish));
        server_stop(r->server);
        return ABX_OK;
    default:
        return err_new(err, ABX_E_INVALID, "there is no message of type %u", head->type);
    }
}

static void do_message(struct role *r, const struct protocol_head *head, const char *bytes)
{
    _err_ abx_error *err = NULL;
    int32_t code;

    if (head->type == PROTOCOL_SETUP)
        code = do_setup(r, bytes, head->len, &err);
    else if (!r->server)
        code = err_new(&err, ABX_E_STATE, "a message came before the set-up");
    else if (head->type == PROTOCOL_NAMES)
        code = do_names(r, bytes, head->len, &err);
    else if (head->type == PROTOCOL_RULES)
        code = do_rules(r, bytes, head->len, &err);
    else
        code = do_numbers(r, head, bytes, &err);
    protocol_put_done(&r->out, head->serial, code, code == ABX_OK ? "" : abx_error_message(err));
    if (r->out.failed)
        role_end(r, ROLE_EXIT_PROTOCOL);
    else
        role_flush(r);
}

/* All whole messages in front of the buffer. False: nonsense. */
static bool take_messages(struct role *r)
{
    size_t used = 0;
    struct protocol_head head;
    int whole;

    while ((whole = protocol_get_head(r->in.data + used, r->in.len - used, PROTOCOL_MAX, &head)) >
           0) {
        do_message(r, &head, r->in.data + used + PROTOCOL_HEAD);
        used += PROTOCOL_HEAD + head.len;
    }
    r->in.len -= used;
    memmove(r->in.data, r->in.data + used, r->in.len);
    if (r->in.len == 0) { /* rules may have been long */
        buf_done(&r->in);
        buf_init(&r->in, PROTOCOL_MAX);
    }
    return whole == 0;
}

static bool keep_fds(struct role *r, struct msghdr *message)
{
    bool ok = !(message->msg_flags & MSG_CTRUNC);

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (r->fd_count == FDS_MAX) {
                fd_close(fd);
                ok = false;
            } else {
                r->fds[r->fd_count++] = fd;
            }
        }
    }
    return ok;
}

static void control_ready(struct loop_io *io, unsigned events)
{
    struct role *r = CONTAINER_OF(io, struct role, control);
    static char piece[READ_PIECE];
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FDS_MAX)];
        struct cmsghdr align;
    } control;
    struct iovec iov = { piece, sizeof piece };

    if (events & LOOP_WRITE)
        role_flush(r);
    for (;;) {
        struct msghdr message = { .msg_iov = &iov,
                                  .msg_iovlen = 1,
                                  .msg_control = control.bytes,
                                  .msg_controllen = sizeof control.bytes };
        ssize_t n = recvmsg(io->fd, &message, MSG_CMSG_CLOEXEC);

        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) { /* the host is gone */
            role_end(r, 0);
            return;
        }
        if (!keep_fds(r, &message) || buf_append(&r->in, piece, (size_t)n) < 0 ||
            !take_messages(r)) {
            role_end(r, ROLE_EXIT_PROTOCOL);
            return;
        }
    }
}

/* ---- life ---- */

static bool is_control_socket(int fd)
{
    int domain = 0, type = 0;
    socklen_t len = sizeof domain;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 || domain != AF_UNIX)
        return false;
    len = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM;
}

/*
 * A stopped process does not see that its control socket is closed. The kernel kills it then:
 * standard input is a pipe into which nobody writes, so all that happens to it is its other end's
 * end.
 */
static bool tie_to_host(void)
{
    struct stat st;

    if (fstat(STDIN_FILENO, &st) < 0 || !S_ISFIFO(st.st_mode))
        return true; /* whoever started it so does without */
    return fcntl(STDIN_FILENO, F_SETOWN, getpid()) == 0 &&
           fcntl(STDIN_FILENO, F_SETSIG, SIGKILL) == 0 &&
           fcntl(STDIN_FILENO, F_SETFL, O_ASYNC) == 0;
}

static void role_done(struct role *r)
{
    server_free(r->server);
    publish_free(r->publish);
    resolver_free(r->resolver);
    for (size_t i = 0; i < r->fd_count; i++)
        fd_close(r->fds[i]);
    loop_free(r->loop);
    buf_done(&r->in);
    buf_done(&r->out);
}

int role_main(void)
{
    struct role r = { .control = { .fd = ROLE_CONTROL_FD, .ready = control_ready },
                      .flush = { .run = flush_later } };

    if (!is_control_socket(ROLE_CONTROL_FD) || fcntl(ROLE_CONTROL_FD, F_SETFL, O_NONBLOCK) < 0 ||
        fcntl(ROLE_CONTROL_FD, F_SETFD, FD_CLOEXEC) < 0)
        return ROLE_EXIT_MISUSED;
    if (!tie_to_host() || close_range(ROLE_CONTROL_FD + 1, ~0u, 0) < 0)
        return ROLE_EXIT_CONFINE;
    (void)signal(SIGPIPE, SIG_IGN);
    r.files = MIN_OF(confine_files(), FDS_OWN + (uint64_t)FDS_A_CONN * 65536);
    buf_init(&r.in, PROTOCOL_MAX);
    buf_init(&r.out, OUT_MAX);
    if (confine_self(r.files).result < 0)
        return ROLE_EXIT_CONFINE;
    if (loop_new(&r.loop) < 0)
        return ROLE_EXIT_PROTOCOL;
    if (loop_add(r.loop, &r.control, LOOP_READ | LOOP_WRITE | LOOP_EDGE) < 0 ||
        loop_run(r.loop) < 0)
        r.status = ROLE_EXIT_PROTOCOL;
    role_done(&r);
    return r.status;
}
