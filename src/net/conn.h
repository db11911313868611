/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's connection, as the files of the server see it.
 *
 * A connection is a state machine: conn_run calls the state's step until it has to wait. A step
 * never frees the connection; it returns CONN_CLOSE and conn_run does. Whoever is called by the
 * loop, the resolver or a dial sets what it learnt and calls conn_run last.
 */
#ifndef ABX_NET_CONN_H
#define ABX_NET_CONN_H

#include "net/body.h"
#include "net/clienthello.h"
#include "net/dial.h"
#include "net/server.h"

#define CONN_OUT_MAX (HTTP1_HEAD_MAX + 8192) /* a response's head, or a reply of ours */

enum conn_state {
    CONN_FIRST,    /* nothing read yet */
    CONN_HEAD,     /* an HTTP request's head */
    CONN_GREETING, /* SOCKS5 */
    CONN_REQUEST,  /* SOCKS5 */
    CONN_JUDGE,    /* the request is known: may it? */
    CONN_ASKED,    /* … somebody else is asked */
    CONN_RESOLVE,
    CONN_DIAL,
    CONN_TUNNEL,
    CONN_EXCHANGE, /* a plain HTTP request and its response */
    CONN_REPLY,    /* the last words */
    CONN_LINGER,   /* they are sent; until the client has read them */
    CONN_STATES,
};

enum conn_step { CONN_GO_ON, CONN_WAIT, CONN_CLOSE };

enum conn_protocol { CONN_HTTP, CONN_CONNECT, CONN_SOCKS5 };

struct rules { /* one set; id and slot stay, the rest is replaced by a reload */
    struct rules *next;
    uint32_t id;
    struct filter *filter;
    struct server_rules how; /* lists are not used any more; mitm_path is ours */
    struct answer *answers;  /* kept for the session */
    size_t answer_count;
    size_t connections;
};

struct listener {
    struct loop_io io;
    struct server *server;
    struct listener *next;
    uint32_t id;
    struct rules *rules;
    unsigned round; /* accepts in a turn: grows while more are waiting */
    bool paused;
    bool passed; /* connections come as descriptors */
};

/* A plain HTTP request on its way, and its response. */
struct exchange {
    bool is_head, keep_alive, old_client; /* old: HTTP/1.0 */
    bool upgrade;                         /* asks for a WebSocket */
    bool absolute;                        /* the head is written for an upstream proxy */
    bool expects_continue, wants_json;
    bool response_begun, upload_broken;
    enum http1_framing framing;
    uint64_t length;
    struct buf request; /* the head for the server */
    size_t request_sent;
    struct body up, down;
    struct http1_scan scan;
    struct buf response; /* the server's head so far */
};

/* The client's first bytes in a tunnel, until they are judged. */
struct peek {
    struct clienthello hello;
    char *bytes; /* of the pool */
    size_t len;
};

struct conn {
    struct server *server;
    struct listener *listener;
    struct conn *next, **prev;            /* all of them */
    struct conn *young_next, *young_prev; /* those that may make room */
    bool is_young;
    enum conn_state state;
    enum conn_protocol protocol;
    struct loop_io client, upstream;         /* upstream: the server, or the proxy before it */
    unsigned client_events, upstream_events; /* that the loop tells of; 0: it does not know it */
    bool client_readable, client_writable, upstream_readable, upstream_writable;
    bool client_ends;  /* its stream: the loop said so */
    bool client_ended; /* … and all before it was read */
    struct loop_timer timer;
    struct loop_task task;
    int64_t active; /* when a byte last moved */

    struct buf in; /* from the client, from in_from on not yet used */
    size_t in_from;
    struct http1_scan scan;
    struct buf out; /* to the client, from out_sent on */
    size_t out_sent;

    bool has_target, granted; /* granted: somebody said yes for this connection */
    struct host host;
    uint16_t port;
    struct resolve_waiter waiter;
    struct question *question;
    struct conn *question_next;
    struct dial *dial;
    bool asking; /* the resolver, right now */
    enum conn_step asked_step;

    struct exchange *exchange;
    struct relay *relay;
    struct peek *peek;
    bool is_tls;    /* the tunnel */
    uint64_t heard; /* what the server had said in it when the client last spoke */
    unsigned turns; /* how often the client spoke in it after the server */
};

struct young { /* oldest first */
    struct conn *first, *last;
};

struct server {
    struct loop *loop;
    struct resolver *resolver;
    struct server_limits limits;
    struct server_hooks hooks;
    struct relay_pool pool;
    struct listener *listeners;
    struct rules *rules;
    size_t rules_count;
    struct conn *conns;
    struct young young;
    size_t count;
    struct question *questions;
    size_t question_count;
    uint32_t last_question;
    bool stopping, resting;     /* resting: a listener is paused */
    struct loop_timer deadline; /* of server_stop */
    struct loop_timer retry;    /* listeners rest because something ran out */
    struct loop_task settle;    /* listeners go on, or all is over */
};

/* ---- conn.c ---- */

int conn_new(struct listener *listener, int fd); /* takes fd; 0 or -errno */
void conn_free(struct conn *c);
/* Steps until it waits. c may be gone after it. */
void conn_run(struct conn *c);
void conn_set_state(struct conn *c, enum conn_state state);
/* The timer of this state. */
void conn_deadline(struct conn *c, int64_t ns);
/* Bytes of the client that were not used yet. */
size_t conn_input(const struct conn *c, const char **ret);
void conn_used(struct conn *c, size_t n);
/* Sends c->out. 0: all of it; -EAGAIN; another -errno. */
int conn_flush(struct conn *c);
void conn_close_upstream(struct conn *c);
/* Back to the beginning, for another request. */
enum conn_step conn_next_request(struct conn *c);
/* Tells the client and, as a record, everybody else. What to do next is the result. */
enum conn_step conn_refuse(struct conn *c, const struct reply *reply);
enum conn_step conn_fail(struct conn *c, enum reply_kind kind, const char *detail);
/* Where the rules ask for it. */
void conn_tell_allowed(const struct conn *c);
/* A record alone, for what the client cannot be told any more. */
void conn_record(const struct conn *c, const struct reply *reply);
const struct rules *conn_rules(const struct conn *c);

/* ---- conn_open.c: from a request to a connected server ---- */

enum conn_step conn_judge(struct conn *c);
void conn_answered(struct conn *c, bool yes);
void conn_open_cancel(struct conn *c);
/* After a reload: begins to open the target once more if it is about to. c may be gone after it. */
void conn_open_again(struct conn *c);
/* After a reload: is it still allowed? False: there was a record, it has to be closed. */
bool conn_still_allowed(struct conn *c);
/* A plain request that is written for an upstream proxy, not for the server itself. */
bool conn_is_absolute(const struct conn *c);

/* ---- conn_http.c ---- */

/* A whole request head of len bytes lies in front of the input. */
enum conn_step conn_http_request(struct conn *c, size_t len);
enum conn_step conn_http_connected(struct conn *c);
enum conn_step conn_exchange(struct conn *c);
void exchange_free(struct conn *c);

/* ---- conn_tunnel.c ---- */

enum conn_step conn_tunnel_connected(struct conn *c);
/* The client gets c->out first. judge: the TLS client's name has to be the target's. */
enum conn_step conn_tunnel_start(struct conn *c, bool judge);
enum conn_step conn_tunnel(struct conn *c);
/* The client spoke last, as far as one can see that from outside. */
bool tunnel_awaits_answer(const struct conn *c);
void tunnel_free(struct conn *c);

/* ---- questions.c ---- */

struct question {
    struct question *next;
    uint32_t id;
    const struct rules *rules;
    struct host host;
    uint16_t port;
    struct conn *waiting;
    struct loop_timer timer;
    struct server *server;
};

struct answer {
    struct answer *next;
    struct host host;
    uint16_t port;
    bool yes;
};

/* What was answered for the session: 1 yes, 0 no, -1 nothing. */
int questions_known(const struct rules *rules, const struct host *host, uint16_t port);
/* The connection waits for conn_answered. False: there are too many questions. */
bool questions_ask(struct conn *c);
void questions_leave(struct conn *c);
void questions_forget(struct server *s, const struct rules *rules); /* all that wait get no */
void answers_free(struct rules *rules);

/* ---- server.c ---- */

void server_lost_connection(struct server *s);
void young_add(struct conn *c);
void young_remove(struct conn *c);

#endif
