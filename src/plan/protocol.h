/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the host and the launcher say to each other.
 *
 * Descriptors of the launcher, by number (the exec form hands them out in this order from 3 on):
 *   3 plan      sealed memfd, plan/codec.h
 *   4 status    SOCK_SEQPACKET; the launcher writes struct status_msg, nothing is read from it
 *   5 lifeline  SOCK_SEQPACKET; the host writes one LIFELINE_GO, then keeps it open; EOF: host is gone
 *   6 registry  the directory of run/hold.c, or /dev/null when the run holds nothing
 *   7…          for each directory with placeholders: the directory, then its registry file
 * Its arguments: "run" and the number of those directories, or "probe".
 *
 * Messages are trusted in one direction only: the host believes the launcher and pid 1, which run our
 * code, outside the command's reach; both ends check the length of what they get.
 */
#ifndef ABX_PLAN_PROTOCOL_H
#define ABX_PLAN_PROTOCOL_H

#include "base/defs.h"

#define LAUNCH_FD_PLAN     3
#define LAUNCH_FD_STATUS   4
#define LAUNCH_FD_LIFELINE 5
#define LAUNCH_FD_REGISTRY 6
#define LAUNCH_FD_HOLDS    7
#define LAUNCH_MAX_HOLDS   64

/*
 * A registry file names the placeholders in one directory. Its own name is "<dev>-<ino>" of that
 * directory, in hex. It starts with struct hold_header and the directory's path; from HOLD_ENTRIES_AT on
 * there are struct hold_entry. Every run that uses them holds a shared flock; whoever can turn his
 * into an exclusive one, with the registry directory locked, was the last and removes them.
 */
#define HOLD_PATH_MAX   8000
#define HOLD_ENTRIES_AT 8192
#define HOLD_NAME_MAX   255

struct hold_header {
    uint64_t dev, ino;
    uint32_t path_len; /* 0: too long to be stored */
};

struct hold_entry {
    uint64_t dev, ino;
    char name[HOLD_NAME_MAX + 1];
};

#define LIFELINE_GO 'g' /* the placeholders are in place: mount */

enum status_kind {
    STATUS_FAILED = 1, /* step, err, text: set-up ended here; the command was not started */
    STATUS_STARTED,    /* layers: in force; the command has been executed */
    STATUS_TTY,        /* one descriptor comes along: the terminal's master side */
    STATUS_STOPPED,    /* value: the signal that stopped the command */
    STATUS_CONTINUED,
    STATUS_EXITED, /* value: wait status; timed_out; usage. Nothing runs inside any more */
    STATUS_PROBE,  /* probe mode: step, err, value */
    STATUS_KIND_COUNT,
};

#define STATUS_TEXT_MAX 480

struct status_msg {
    uint32_t kind;
    int32_t err;     /* errno */
    int32_t value;
    uint32_t layers; /* STARTED: layers in force */
    uint32_t detail; /* STARTED: Landlock ABI; EXITED: 1 if timed out, 2 if the grace ran out */
    uint32_t text_len;
    int64_t user_ns, system_ns, max_rss;
    char step[24];
    char text[STATUS_TEXT_MAX]; /* FAILED: the object, mostly a path; text_len bytes, then NUL */
};

#endif
