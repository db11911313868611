/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host and the launcher say to each other.
 *
 * The launcher is started before the plan exists: it makes namespaces while the host still looks at
 * files. Its arguments are "run", the layers of the plan (decimal), the name of a control group (""
 * for none) and, if that is to start pid 1, the path of bwrap; or "probe". As pid 1 of bwrap's they
 * are "inside", the layers and the umask. Its descriptors (the exec form hands them out in this
 * order):
 *   3 status    SOCK_SEQPACKET. Pid 1 sends struct status_msg; the host sends a struct deliver_msg
 *               with the plan (a sealed memfd, plan/codec.h), with the wrapper's program if there
 *               are wrapped commands, and, if there are placeholders, one
 *               that says that they are made.
 *   4 lifeline  SOCK_SEQPACKET. The keeper gets one struct deliver_msg with the placeholders'
 *               descriptors, if the run has any: the registry directory, then for each directory
 *               with placeholders the directory and its registry file. EOF: the host is gone.
 *               With bwrap the keeper gets one with bwrap's words over the status socket first,
 *               waits for the placeholders itself, and leaves the plan to pid 1.
 *   5, 6        the control group's parent directory and the group itself, if there is one.
 *
 * The host believes the launcher and pid 1, which run our code outside the command's reach; both
 * ends check the length of what they get.
 */
#ifndef ABX_PLAN_PROTOCOL_H
#define ABX_PLAN_PROTOCOL_H

#include "base/defs.h"

#define LAUNCH_FD_STATUS   3
#define LAUNCH_FD_LIFELINE 4
#define LAUNCH_FD_PARENT   5
#define LAUNCH_FD_CGROUP   6
#define LAUNCH_FD_FREE     7 /* the first one that the launcher may use for itself */
#define LAUNCH_MAX_HOLDS   96
#define LAUNCH_CGROUP_MAX  48 /* bytes of the control group's name */
/*
 * In the command's filters: the thread of pid 1 that serves masks. Nobody can have that number; the
 * launcher puts the thread's own in its place, where there is one.
 */
#define LAUNCH_MASKS_TID 0x7fff0001u
#define LAUNCH_THREAD    0x00050f00u /* CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM */

/*
 * A registry file names the placeholders in one directory. Its own name is "<dev>-<ino>" of that
 * directory, in hex. It starts with struct hold_header and the directory's path; from
 * HOLD_ENTRIES_AT on there are struct hold_entry. Every run that uses them holds a shared flock;
 * whoever can turn his into an exclusive one, with the registry directory locked, was the last: he
 * removes them and cuts the entries off. The file itself stays for the next run.
 */
/*
 * What a placeholder looks like: a socket without any permission, which nobody can open and git
 * does not see; where programs read the name and must find nothing special there, a small regular
 * file or an empty directory with the sticky bit (run/hold.c says which).
 */
#define HOLD_SOCKET_BITS 0u
#define HOLD_FILE_BITS   01444u
#define HOLD_DIR_BITS    01555u
/* As made under any umask, and so at every moment of their lives. */
#define HOLD_IS_FILE(bits) (((bits)&01333u) == 01000u)
#define HOLD_IS_DIR(bits)  (((bits)&01222u) == 01000u)
#define HOLD_FILE_MAX      3u /* bytes */

/* Could this be a placeholder, by st_mode and st_size? Who may trust that: see probe/held.c. */
static inline bool hold_is_shaped(uint32_t mode, uint64_t size)
{
    const uint32_t type = mode & 0170000u, bits = mode & 07777u;

    return (type == 0140000u /* S_IFSOCK */ && bits == HOLD_SOCKET_BITS) ||
           (type == 0100000u /* S_IFREG */ && HOLD_IS_FILE(bits) && size <= HOLD_FILE_MAX) ||
           (type == 0040000u /* S_IFDIR */ && HOLD_IS_DIR(bits));
}

/*
 * Where permissions are not kept (FAT, shares of other machines) its time tells it from what else
 * is there. That is no proof: only with device and inode of the registry.
 */
#define HOLD_TIME INT64_C(978307200) /* the first second of 2001 */
static inline bool hold_is_timed(uint32_t mode, uint64_t size, int64_t seconds)
{
    const uint32_t type = mode & 0170000u;

    return seconds == HOLD_TIME &&
           (type == 0040000u || (type == 0100000u && size <= HOLD_FILE_MAX));
}

#define HOLD_PATH_MAX   8000
#define HOLD_ENTRIES_AT 8192
#define HOLD_NAME_MAX   255

struct hold_header {
    uint64_t dev, ino;
    uint32_t path_len; /* 0: too long to be stored */
};

struct hold_entry {
    uint64_t dev, ino; /* 0: about to be made; then its looks must do */
    char name[HOLD_NAME_MAX + 1];
};

/* A socket that is known by its inode goes even if somebody who shares it gave it permissions. */
static inline bool hold_is_removable(const struct hold_entry *known, uint32_t mode, uint64_t size,
                                     int64_t seconds)
{
    return hold_is_shaped(mode, size) ||
           (known->ino && ((mode & 0170000u) == 0140000u || hold_is_timed(mode, size, seconds)));
}

enum deliver_kind { DELIVER_PLAN = 1, DELIVER_HOLDS, DELIVER_HOLDS_MADE, DELIVER_WORDS };
/* HOLDS: see run/deliver.c; WORDS: they, then the plan's wrappers. The kernel passes up to 253. */
#define DELIVER_MAX_FDS (1 + 2 * LAUNCH_MAX_HOLDS)

struct deliver_msg {
    uint32_t kind;
    uint32_t holds; /* HOLDS, WORDS: directories */
    uint32_t slot;  /* PLAN with a second descriptor, the wrapper's program: where its slot is */
};

/* The proxy's ports inside (linux/listen.c); both protocols on each, on 127.0.0.1 and ::1. */
#define LISTEN_HTTP    3128
#define LISTEN_SOCKS   1080
#define LISTENER_COUNT 4
#define SOCKET_COUNT   32 /* for published ports, of each family */
#define STATUS_MAX_FDS 64 /* with one message to the host: of both families */

enum status_kind {
    STATUS_FAILED = 1, /* step, err, text: set-up ended here; the command was not started */
    STATUS_STARTED,    /* layers: in force; the command has been executed */
    STATUS_TTY,        /* one descriptor comes along: the terminal's master side */
    STATUS_LISTENERS,  /* descriptors come along: the proxy's listening sockets, or the one that
                        * connections come through (net/server.h) */
    STATUS_SOCKETS,    /* … and sockets that are connected to nothing yet, for published ports */
    STATUS_STOPPED,    /* value: the signal that stopped the command */
    STATUS_CONTINUED,
    STATUS_EXITED,    /* value: wait status; timed_out; usage. Nothing runs inside any more */
    STATUS_PROBE,     /* probe mode: step, err, value */
    STATUS_VIOLATION, /* struct watch_msg (watch.h) */
    STATUS_COUNTS,    /* struct watch_counts: before EXITED, if there is something to count */
    STATUS_KIND_COUNT,
};

#define STATUS_TEXT_MAX 480

/* What the monitor sees: watched calls; refused reads. What else pid 1 is asked: connections. */
#define STATUS_WATCHED 1
#define STATUS_READS   2
#define STATUS_RELAYED 4

struct status_msg {
    uint32_t kind;
    int32_t err;     /* errno; FAILED 0: text is what bubblewrap said */
    int32_t value;   /* STARTED: STATUS_WATCHED, STATUS_READS, STATUS_RELAYED */
    uint32_t layers; /* STARTED: layers in force */
    uint32_t detail; /* STARTED: Landlock ABI; EXITED: 1 if timed out */
    uint32_t text_len;
    int64_t user_ns, system_ns, max_rss;
    int64_t left; /* EXITED: how many still ran when the command ended by itself */
    char step[24];
    /*
     * FAILED: the object, mostly a path; text_len bytes, then NUL. Of "exec": none or, where the
     * file is there, "#!" and the interpreter that is not; "#!" alone: its loader.
     */
    char text[STATUS_TEXT_MAX];
};

#endif
