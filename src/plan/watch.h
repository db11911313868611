/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the monitor looks at, and what it tells the host. Freestanding: the launcher reads it too.
 *
 * The filter of a watched command (seccomp_compile.c) stops each call of watch.def until pid 1 has
 * looked at it (launcher/watch.c). A call that syscalls.def allows then always goes on, and the
 * kernel decides; a TOLD one is always refused. So nothing is granted by what pid 1 thinks it saw.
 */
#ifndef ABX_PLAN_WATCH_H
#define ABX_PLAN_WATCH_H

#include "base/defs.h"

/* How much a run watches: the key "monitor", in this order. */
enum watch_level { WATCH_OFF, WATCH_WRITES, WATCH_FULL, WATCH_LEARN, WATCH_LEVEL_COUNT };
#define WATCH_TOLD WATCH_LEVEL_COUNT /* in watch.def only */

enum watch_kind {
    WATCH_OPEN,    /* by its flags */
    WATCH_CREAT,   /* O_WRONLY | O_CREAT | O_TRUNC */
    WATCH_MAKE,    /* a new name */
    WATCH_REMOVE,  /* a name goes */
    WATCH_MOVE,    /* both */
    WATCH_CHANGE,  /* what is there */
    WATCH_CHDIR,   /* where relative paths begin; only for what the monitor remembers */
    WATCH_ADDRESS, /* a socket address; flags: the argument with its length */
    WATCH_NESTING, /* namespaces: what allowNestedNamespaces would allow */
    WATCH_NESTED,  /* what takes a capability, which a command has in a namespace of its own only */
    WATCH_SOCKET,  /* a Unix socket: what allowAllUnixSockets would allow */
    WATCH_SYSTEM,  /* what nothing allows */
    WATCH_COMMAND, /* no call, but a word of the wrapper: which command it refused */
};
#define WATCH_NOFOLLOW (-2)

struct watch_call {
    const char *name;
    int16_t number;
    uint8_t kind; /* enum watch_kind */
};
/* Of the host; NULL: not watched. */
const struct watch_call *watch_find(uint32_t number);

/* ---- from pid 1 to the host ---- */

#define WATCH_PATH_MAX    4096
#define WATCH_COMMAND_MAX 48 /* of the wrapper's word: six arguments */
#define WATCH_PROCESS_MAX 16
#define WATCH_MAX_RECORDS 512 /* different ones in a run; the rest is only counted */

/* What pid 1 saw at the path. */
#define WATCH_READ 0x1u  /* meant to read */
#define WATCH_ROOT 0x2u  /* a mount stands there: it cannot be moved or removed */
#define WATCH_CUT  0x4u  /* the path is longer than what is told */
#define WATCH_NAME 0x10u /* the name in its directory is meant, not what it stands for */
#define WATCH_UNIX 0x40u /* path is of a socket, or "@" and the name of one without a path */
#define WATCH_INET 0x8u  /* path is an address: 4 or 16 bytes; port */
#define WATCH_WORD 0x20u /* path is the wrapper's word: "rm", "git push --force" */

/* The first word is STATUS_VIOLATION; as many bytes are sent as there are. */
struct watch_msg {
    uint32_t kind;
    uint32_t id;     /* 1 … WATCH_MAX_RECORDS, once each */
    uint32_t number; /* of the system call */
    uint32_t flags;
    int32_t pid;
    uint32_t port;
    char process[WATCH_PROCESS_MAX];
    uint32_t path_len;
    char path[WATCH_PATH_MAX]; /* not terminated */
};
#define WATCH_MSG_HEAD offsetof(struct watch_msg, path)

/* How often records were seen in all, at the end: the first word is STATUS_COUNTS. */
#define WATCH_COUNTS_MAX 256
struct watch_count {
    uint32_t id, pad;
    uint64_t count;
};
struct watch_counts {
    uint32_t kind, count;
    uint64_t dropped; /* attempts that were not looked at */
    struct watch_count list[WATCH_COUNTS_MAX];
};

#endif
