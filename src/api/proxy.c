/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filtering proxy as an object: starts the net role (net/role.h), gives it listeners and rules,
 * passes its records on. Nothing of what the sandbox or the network sends is read in this process.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api/net_rules.h"
#include "api/role.h"
#include "base/fd.h"
#include "base/json.h"
#include "net/client.h"

#define RULES_ID 1u
#define BACKLOG  1024

struct abx_proxy {
    pid_t owner;
    struct role_process role;
    struct client client;
    abx_proxy_options options;
    uint32_t last_listener;
};

/* ---- records ---- */

static void tell_record(void *user, const struct server_record *r)
{
    static const char *const outcomes[] = { "allowed", "refused", "failed" };
    const abx_proxy *p = user;
    _buf_ struct buf out = { .limit = 65536 };
    struct timespec now;
    struct json j;

    if (!p->options.record)
        return;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    json_init(&j, &out);
    json_object(&j);
    json_pair_str(&j, "event", outcomes[r->outcome]);
    json_pair_int(&j, "timeNs", (int64_t)now.tv_sec * NSEC_PER_SEC + now.tv_nsec);
    json_pair_str(&j, "operation", "network");
    json_pair_str(&j, "host", r->host[0] ? r->host : NULL);
    json_key(&j, "port");
    r->port ? json_uint(&j, r->port) : json_null(&j);
    json_pair_str(&j, "detail", r->protocol);
    json_pair_str(&j, "rule", r->rule);
    json_pair_str(&j, "origin", r->origin);
    json_pair_str(&j, "grant", r->grant);
    json_pair_str(&j, "message", r->text);
    json_object_end(&j);
    if (!out.failed)
        p->options.record(p->options.user, out.data);
}

static void tell_lost(void *user, uint32_t records)
{
    const abx_proxy *p = user;
    char text[64];

    (void)snprintf(text, sizeof text, "{\"event\":\"lost\",\"records\":%u}", records);
    if (p->options.record)
        p->options.record(p->options.user, text);
}

static void tell_question(void *user, uint32_t question, uint32_t listener, const char *host,
                          uint16_t port)
{
    const abx_proxy *p = user;

    (void)listener;
    if (p->options.ask)
        p->options.ask(p->options.user, question, host, port);
}

/* ---- the process ---- */

static int32_t start_role(abx_proxy *p, abx_error **err)
{
    const struct client_hooks hooks = {
        .user = p, .record = tell_record, .lost = tell_lost, .ask = tell_question
    };
    int control;
    int32_t code = role_start(role_program(p->options.program), &p->role, &control, err);

    if (code == ABX_OK)
        client_init(&p->client, control, &hooks);
    return code;
}

static void reap(abx_proxy *p)
{
    if (p->owner == getpid())
        role_end(&p->role);
    else
        role_forget(&p->role);
}

static int32_t refuse_blocked(abx_error **err)
{
    int32_t code = err_new(err, ABX_E_CONFIG, "start a proxy: network.mode is 'blocked'");

    err_hint(err, "--set network.mode=filtered serves what is allowed, and nothing else");
    return code;
}

static int32_t set_rules(abx_proxy *p, const abx_config *config, bool starting, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    struct net_rules net;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t code = net_rules_make(config, NULL, &arena, &net, err);
    if (code == ABX_OK && net.blocked && starting)
        code = refuse_blocked(err);
    if (code != ABX_OK)
        return code;
    if (net.blocked) /* by an update: then nothing is allowed */
        net.rules.lists.allowed.count = 0;
    net.rules.ask = p->options.ask && !net.blocked;
    net.rules.tell_allowed = p->options.flags & ABX_PROXY_TELL_ALLOWED;
    return client_rules(&p->client, RULES_ID, &net.rules, net.upstream, err);
}

/* ---- the public calls ---- */

static int32_t check(const abx_proxy *p, const char *what, abx_error **err)
{
    if (!p)
        return err_new(err, ABX_E_INVALID, "%s: the proxy is NULL", what);
    if (p->owner != getpid())
        return err_new(err, ABX_E_FORKED, "%s: the proxy belongs to the parent process", what);
    return ABX_OK;
}

static int32_t proxy_start(abx_proxy *p, const abx_config *config, abx_error **err)
{
    const abx_proxy_options *o = &p->options;
    int32_t code = start_role(p, err);

    if (code == ABX_OK)
        code = client_setup(&p->client, &(struct server_limits){ 0 },
                            (uint16_t)(o->dns_port ? o->dns_port : 53), err);
    if (code == ABX_OK)
        code = client_names(&p->client, o->hosts_file ? o->hosts_file : "/etc/hosts",
                            o->resolv_file ? o->resolv_file : "/etc/resolv.conf", err);
    return code == ABX_OK ? set_rules(p, config, true, err) : code;
}

int32_t abx_proxy_new(const abx_config *config, const abx_proxy_options *options,
                      abx_proxy **ret_proxy, abx_error **err)
{
    if (!ret_proxy)
        return err_new(err, ABX_E_INVALID, "start a proxy: no place for the result");
    if (options && options->size < sizeof options->size)
        return err_new(err, ABX_E_INVALID, "start a proxy: the options have no size");
    abx_proxy *p = calloc(1, sizeof *p);
    if (!p)
        return err_nomem(err);
    if (options)
        memcpy(&p->options, options, MIN_OF((size_t)options->size, sizeof *options));
    p->owner = getpid();
    p->client.control = -1;
    p->role = ROLE_NONE;
    int32_t code = p->options.dns_port < 0 || p->options.dns_port > 65535
                       ? err_new(err, ABX_E_INVALID, "start a proxy: dns_port is out of range")
                       : proxy_start(p, config, err);
    p->options.program = p->options.hosts_file = p->options.resolv_file = NULL; /* the caller's */
    if (code != ABX_OK) {
        abx_proxy_free(p);
        return code;
    }
    *ret_proxy = p;
    return ABX_OK;
}

void abx_proxy_free(abx_proxy *p)
{
    if (!p)
        return;
    client_done(&p->client);
    reap(p);
    free(p);
}

static socklen_t fill_address(const struct host *host, uint16_t port, struct sockaddr_storage *ret)
{
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)ret;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)ret;

    *ret = (struct sockaddr_storage){ 0 };
    if (host->addr.family == ADDR_V4) {
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, host->addr.bytes + 12, 4);
        return sizeof *in;
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, host->addr.bytes, 16);
    return sizeof *in6;
}

/* A listening socket, or -errno; -EINVAL: not an address and port. */
static int open_listener(const char *address, int32_t *ret_port)
{
    static const int on = 1;
    struct sockaddr_storage at;
    struct host host;
    uint16_t port = 0;
    size_t len = strlen(address);
    bool any = len > 2 && strcmp(address + len - 2, ":0") == 0; /* no port of a host: cut it off */

    if (host_parse_authority(address, any ? len - 2 : len, any ? 1 : 0, &host, &port) != HOST_OK ||
        !host.is_address)
        return -EINVAL;
    socklen_t at_len = fill_address(&host, any ? 0 : port, &at);
    _fd_ int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)(void *)&at, at_len) < 0 || listen(fd, BACKLOG) < 0 ||
        getsockname(fd, (struct sockaddr *)(void *)&at, &at_len) < 0)
        return -errno;
    /* The port is at the same place in both. */
    *ret_port = ntohs(((struct sockaddr_in *)(void *)&at)->sin_port);
    return TAKE_FD(fd);
}

static int32_t refuse_listen(const char *address, int error, abx_error **err)
{
    int32_t code = error == -EINVAL
                       ? err_new(err, ABX_E_INVALID, "listen on '%s': not ADDRESS:PORT", address)
                       : err_sys(err, ABX_E_PROXY, error, "listen on '%s'", address);

    err_hint(err, "%s",
             error == -EADDRINUSE ? "something listens there already; port 0 takes any free one"
             : error == -EACCES   ? "ports below 1024 are for root; port 0 takes any free one"
             : error == -EADDRNOTAVAIL
                 ? "this machine does not have that address; 127.0.0.1 is always there"
                 : "write an address and a port, such as 127.0.0.1:0 for any free port");
    return code;
}

int32_t abx_proxy_listen(abx_proxy *p, const char *address, int32_t *ret_port, abx_error **err)
{
    int32_t code = check(p, "listen", err), port = 0;

    if (code != ABX_OK)
        return code;
    if (!address)
        return err_new(err, ABX_E_INVALID, "listen: no address");
    _fd_ int fd = open_listener(address, &port);
    if (fd < 0)
        return refuse_listen(address, fd, err);
    code = client_listen(&p->client, ++p->last_listener, RULES_ID, fd, err);
    if (code == ABX_OK && ret_port)
        *ret_port = port;
    return code;
}

int32_t abx_proxy_update(abx_proxy *p, const abx_config *config, abx_error **err)
{
    int32_t code = check(p, "update", err);

    return code == ABX_OK ? set_rules(p, config, false, err) : code;
}

int32_t abx_proxy_answer(abx_proxy *p, uint32_t question, int32_t answer, abx_error **err)
{
    int32_t code = check(p, "answer", err);

    if (code == ABX_OK && (answer < ABX_ANSWER_NO || answer > ABX_ANSWER_NO_SESSION))
        code = err_new(err, ABX_E_INVALID, "answer a question: %d is no answer", answer);
    return code == ABX_OK ? client_answer(&p->client, question, (enum server_answer)answer, err)
                          : code;
}

int32_t abx_proxy_fd(const abx_proxy *p)
{
    return p ? p->client.control : -1;
}

int32_t abx_proxy_dispatch(abx_proxy *p, int32_t timeout_ms, abx_error **err)
{
    int32_t code = check(p, "dispatch", err);

    return code == ABX_OK ? client_dispatch(&p->client, timeout_ms, err) : code;
}

int32_t abx_proxy_close(abx_proxy *p, int32_t timeout_ms, abx_error **err)
{
    struct timespec now;
    int32_t code = check(p, "close", err);

    if (code == ABX_OK)
        code = client_stop(&p->client, err);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t end = (int64_t)now.tv_sec * 1000 + now.tv_nsec / NSEC_PER_MSEC + timeout_ms;
    while (code == ABX_OK && !p->client.stopped) {
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t left = end - ((int64_t)now.tv_sec * 1000 + now.tv_nsec / NSEC_PER_MSEC);
        if (left <= 0)
            break;
        code = client_dispatch(&p->client, (int)left, err);
    }
    if (p && p->owner == getpid()) {
        client_done(&p->client);
        reap(p);
    }
    return code;
}
