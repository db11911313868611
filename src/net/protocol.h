/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host and the net role say to each other over the control socket (role.h tells how to use
 * it). Pure: messages to bytes and back. Both sides read the other's bytes as hostile; the role's
 * really may be, for it talks to the sandbox.
 *
 * A message is a head of three 32-bit numbers (length of the rest, type, serial) and fields behind
 * it: numbers of 32 or 64 bits, and texts (length, bytes, NUL). Both ends are the same machine and
 * the same build, so numbers are as the machine has them.
 */
#ifndef ABX_NET_PROTOCOL_H
#define ABX_NET_PROTOCOL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/defs.h"
#include "net/server.h"

#define PROTOCOL_HEAD    12
#define PROTOCOL_MAX     ((size_t)32 << 20) /* of a message to the role */
#define PROTOCOL_MAX_OUT ((size_t)64 << 10) /* … of one from it */

enum protocol_type {
    /* host → role; each is answered by one DONE with the same serial */
    PROTOCOL_SETUP = 1, /* limits; once, first */
    PROTOCOL_NAMES,     /* the texts of /etc/hosts and resolv.conf */
    PROTOCOL_RULES,     /* a set of rules, by its number */
    PROTOCOL_DROP_RULES,
    PROTOCOL_LISTEN, /* a listener, by its number; the socket comes along (SCM_RIGHTS) */
    PROTOCOL_ANSWER, /* to a question */
    PROTOCOL_STOP,
    PROTOCOL_SOCKET,  /* for published ports: a socket made inside, of the run with these rules */
    PROTOCOL_PUBLISH, /* … a port inside, and the host's listener that leads to it */
    /* role → host */
    PROTOCOL_DONE = 64, /* code (ABX_*) and text */
    PROTOCOL_RECORD,
    PROTOCOL_QUESTION,
    PROTOCOL_LOST,    /* so many records did not fit */
    PROTOCOL_STOPPED, /* all is over; the role exits */
};

struct protocol_head {
    uint32_t len, type, serial;
};

/* ---- writing: appends a whole message; failures stay in the buffer ---- */

void protocol_put_setup(struct buf *out, uint32_t serial, const struct server_limits *limits,
                        uint16_t dns_port);
void protocol_put_names(struct buf *out, uint32_t serial, const char *hosts, size_t hosts_len,
                        const char *resolv_conf, size_t resolv_len);
/* upstream: the URL, or "". rules->upstream is not looked at. */
void protocol_put_rules(struct buf *out, uint32_t serial, uint32_t id,
                        const struct server_rules *rules, const char *upstream);
/* All messages of up to two numbers: DROP_RULES, LISTEN, PUBLISH, STOP, STOPPED, … */
void protocol_put_numbers(struct buf *out, enum protocol_type type, uint32_t serial, uint32_t a,
                          uint32_t b);
void protocol_put_done(struct buf *out, uint32_t serial, int32_t code, const char *text);
void protocol_put_record(struct buf *out, const struct server_record *record);
void protocol_put_question(struct buf *out, uint32_t question, uint32_t listener, const char *host,
                           uint16_t port);

/* ---- reading: texts point into the message; false: malformed ---- */

/* 1: a whole message lies in front (head->len bytes behind the head); 0: not yet; -1: too long. */
int protocol_get_head(const char *bytes, size_t len, size_t max, struct protocol_head *ret);

bool protocol_get_setup(const char *bytes, size_t len, struct server_limits *ret,
                        uint16_t *ret_dns_port);
bool protocol_get_names(const char *bytes, size_t len, const char **ret_hosts,
                        size_t *ret_hosts_len, const char **ret_resolv, size_t *ret_resolv_len);
/* Lists are in the arena. */
bool protocol_get_rules(const char *bytes, size_t len, struct arena *arena, uint32_t *ret_id,
                        struct server_rules *ret);
bool protocol_get_numbers(const char *bytes, size_t len, uint32_t *ret_a, uint32_t *ret_b);
bool protocol_get_done(const char *bytes, size_t len, int32_t *ret_code, const char **ret_text);
bool protocol_get_record(const char *bytes, size_t len, struct server_record *ret);
bool protocol_get_question(const char *bytes, size_t len, uint32_t *ret_question,
                           uint32_t *ret_listener, const char **ret_host, uint16_t *ret_port);

#endif
