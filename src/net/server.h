/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filtering proxy: accepts on listeners that it is given, speaks HTTP and SOCKS5 on each (the
 * first byte tells which), lets through what the rules allow, and tells about the rest.
 *
 * Every connection goes: read the request → judge the name → (ask) → resolve → judge all addresses
 * → dial what was judged → for a tunnel: the TLS client's server name must be the target's. What is
 * refused is answered with the reason in the client's own protocol and becomes one record.
 *
 * One thread, one loop. Everything has a limit; reaching one is answered, never waited out by
 * others. Connections that have not said yet what they want make room for new ones, oldest first.
 * No set of rules (a run) can use up what all of them share: connections, questions, look-ups.
 */
#ifndef ABX_NET_SERVER_H
#define ABX_NET_SERVER_H

#include "base/defs.h"
#include "base/err.h"
#include "base/loop.h"
#include "net/filter.h"
#include "net/reply.h"
#include "net/resolve.h"
#include "net/upstream.h"

struct server;

struct server_limits {     /* 0: the default */
    uint32_t connections;  /* SERVER_CONNECTIONS */
    uint64_t request_body; /* bytes of a plain HTTP request's body: 10 MiB */
    int64_t head_ns;       /* from the first byte to the end of a request's head: 10 s */
    int64_t dial_ns;       /* 10 s */
    int64_t idle_ns;       /* no byte either way: 60 s */
    int64_t ask_ns;        /* no answer to a question: 60 s, then it is no */
    int64_t stop_ns;       /* server_stop: 5 s */
};

/* What is judged by. Several listeners may share one. */
struct server_rules {
    struct filter_lists lists;
    struct upstream upstream;    /* how this host reaches the network */
    const char *mitm_path;       /* Unix socket for the hosts of lists.mitm; NULL or "": none */
    uint64_t request_body;       /* instead of the limit; 0: that */
    bool ask;                    /* hooks.ask is asked about what no rule mentions */
    bool allow_tls_without_name; /* a TLS client may leave the server's name out */
    bool refuse_ech;   /* … may not use encrypted_client_hello, even with our name outside */
    bool tell_allowed; /* records for what is let through, too */
};

enum server_outcome {
    SERVER_ALLOWED, /* a connection or a request was let through */
    SERVER_REFUSED, /* a violation */
    SERVER_FAILED,  /* allowed, and did not come about, or was not answered */
};

struct server_record { /* texts live until the hook returns; none is NULL */
    uint32_t listener;
    enum server_outcome outcome;
    enum reply_kind kind; /* REFUSED, FAILED */
    const char *protocol; /* "http", "connect", "socks5" */
    const char *host;     /* canonical; "" if the request named none that is valid */
    uint16_t port;
    const char *rule, *origin; /* what decided; "" where no rule did */
    const char *grant;         /* the smallest that would allow it, or "" */
    const char *text;          /* one line for people */
};

struct server_hooks {
    void *user;
    void (*record)(void *user, const struct server_record *record);
    /* Asks somebody; server_answer follows, now or later. One question a host and port. */
    void (*ask)(void *user, uint32_t question, uint32_t listener, const char *host, uint16_t port);
    void (*stopped)(void *user); /* after server_stop: nothing is left */
};

enum server_answer {
    SERVER_NO,          /* those that wait are refused; the next one asks again */
    SERVER_YES,         /* those that wait go through */
    SERVER_YES_SESSION, /* … and all that follow */
    SERVER_NO_SESSION,
};

#define SERVER_CONNECTIONS   1024
#define SERVER_MAX_LISTENERS 1024
#define SERVER_MAX_RULES     1024
#define SERVER_MAX_QUESTIONS 64   /* of all runs at one time; one run has half of it at most */
#define SERVER_MAX_ANSWERS   1024 /* kept for the session, for each set of rules */

/* The loop and the resolver outlive the server. 0 or -ENOMEM. */
int server_new(struct loop *loop, struct resolver *resolver, const struct server_limits *limits,
               const struct server_hooks *hooks, struct server **ret);
void server_free(struct server *s);

/*
 * Rules by number: new ones, or others instead. Connections that the new ones would not let through
 * are closed, each with a record. On failure the old ones stay.
 */
int32_t server_set_rules(struct server *s, uint32_t id, const struct server_rules *rules,
                         abx_error **err);
/* Closes what came in by these rules' listeners, and them. */
void server_remove_rules(struct server *s, uint32_t id);

/*
 * Takes a listening socket over, also on failure; or a connected Unix socket of packets, each of
 * which brings a connection (SCM_RIGHTS). 0 or -errno.
 */
int server_listen(struct server *s, uint32_t id, uint32_t rules, int fd);

void server_answer(struct server *s, uint32_t question, enum server_answer answer);
/* Nothing new; what is going on has stop_ns to end. hooks.stopped tells when all is over. */
void server_stop(struct server *s);
size_t server_connections(const struct server *s);

#endif
