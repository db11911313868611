/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's side of the net role's control socket (role.h). One thread at a time. The role may be
 * in anybody's hands: its messages are checked, and the first that makes no sense ends the
 * connection.
 */
#ifndef ABX_NET_CLIENT_H
#define ABX_NET_CLIENT_H

#include "base/buf.h"
#include "base/defs.h"
#include "base/err.h"
#include "net/server.h"

struct client_hooks { /* called from all below; may call client_answer only */
    void *user;
    void (*record)(void *user, const struct server_record *record);
    void (*lost)(void *user, uint32_t records); /* NULL: not told */
    void (*ask)(void *user, uint32_t question, uint32_t listener, const char *host, uint16_t port);
    /* A call that nobody waited for failed; NULL: not told. */
    void (*failed)(void *user, uint32_t serial, const char *text);
};

struct client { /* zeroed, with control < 0: none */
    int control;
    struct client_hooks hooks;
    struct buf in;
    uint32_t last_serial;
    bool stopped;    /* the role said so */
    bool pipelined;  /* calls are sent and not waited for; hooks.failed tells */
    int64_t call_ns; /* how long one is waited for; 0: ten seconds */
    bool sending;    /* a message is on its way: answers wait in late */
    struct buf late;
    /* The call that waits for its DONE. */
    uint32_t waits_for;
    int32_t code;
    char *text;
};

/* Takes the socket over. */
void client_init(struct client *c, int control, const struct client_hooks *hooks);
void client_done(struct client *c);

/*
 * Each waits for the role's word, unless they are pipelined; call_ns at most. ABX_E_PROXY: it
 * is gone or silent. last_serial is the number of the call.
 */
int32_t client_setup(struct client *c, const struct server_limits *limits, uint16_t dns_port,
                     abx_error **err);
/* Reads the two files and passes them on; one that is not there is empty. */
int32_t client_names(struct client *c, const char *hosts, const char *resolv_conf, abx_error **err);
int32_t client_rules(struct client *c, uint32_t id, const struct server_rules *rules,
                     const char *upstream, abx_error **err);
/* The caller keeps fd, which the role needs no longer. */
int32_t client_listen(struct client *c, uint32_t id, uint32_t rules, int fd, abx_error **err);
/* Published ports (publish.h), of the run with these rules: sockets first. The caller keeps fd. */
int32_t client_give_socket(struct client *c, uint32_t rules, int fd, abx_error **err);
int32_t client_publish(struct client *c, uint32_t rules, uint16_t port, int fd, abx_error **err);
int32_t client_drop_rules(struct client *c, uint32_t id, abx_error **err);
int32_t client_stop(struct client *c, abx_error **err); /* begins; client.stopped tells the end */
/* Does not wait: may be called by a hook. */
int32_t client_answer(struct client *c, uint32_t question, enum server_answer answer,
                      abx_error **err);

/* Serves what the role says; waits at most timeout_ms for something (negative: no limit). */
int32_t client_dispatch(struct client *c, int timeout_ms, abx_error **err);

#endif
