/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher: one small static program in three roles.
 *   keeper   keeper.c         the host's child, in the host's namespaces: starts pid 1, ends it
 *                             when the host is gone, removes placeholders, passes signals on
 *   init     steps.c, init.c  pid 1 inside: applies the plan, then reaps, relays, times out
 *   command  command.c        the last steps before exec
 */
#ifndef ABX_LAUNCHER_LAUNCHER_H
#define ABX_LAUNCHER_LAUNCHER_H

#include <linux/time_types.h>

#include "linux/launch.h"
#include "plan/protocol.h"

/* Small and written to in every run: beside what is initialized, so that all of it is one page. */
#define SMALL_STATE __attribute__((section(".data")))

/*
 * Of whoever is linked with entry.c: the launcher, or the wrapper (src/wrapper). path: as it was
 * executed (AT_EXECFN).
 */
int launcher_main(int argc, const char *const *argv, const char *const *envp, const char *path);
ATTR_NORETURN void launcher_exit(int code);
/* Gives the kernel's stack back: from now on no argument and no variable of the environment. */
void stack_leave(void);
/* What a shell makes of a wait status. */
static inline int exit_code_of(int status)
{
    return (status & 0x7f) == 0 ? status >> 8 & 0xff : 128 + (status & 0x7f);
}
static inline int64_t now_ns(void)
{
    struct __kernel_timespec t = { 0 };

    (void)TRY2(__NR_clock_gettime, 1 /* CLOCK_MONOTONIC */, &t);
    return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

int keeper_run(struct launch *l, const char *cgroup);
ATTR_NORETURN void init_run(struct launch *l);
/* Starts the command; returns its pid once it was executed, or -errno with l->command_step set. */
long command_start(struct launch *l);
/* Of a file that is there and could not be executed for ENOENT; see struct status_msg. */
const char *command_interpreter(struct launch *l);
void command_release_stack(void); /* once that has returned */
int probe_run(void);
/* ---- stray.c: without a pid namespace ---- */
long stray_enclose(struct launch *l); /* the step; sets l->enclosed */
/* Kills the command's group and every process that is our child by now. */
void stray_kill(int group);
long stray_ready(struct launch *l); /* 0, or -errno: they could not be found */

/* ---- bwrap.c: pid 1 by way of the system's bubblewrap ---- */
struct holds;
/* In the keeper: waits for what it needs; bwrap's pid, or -errno. */
long bwrap_start(struct launch *l, bool cgroup, struct holds *holds);
void bwrap_relay(const struct launch *l, int sig);
void bwrap_told(const struct launch *l); /* at its end: why, if it failed */
ATTR_NORETURN void bwrap_inside(struct launch *l);

/* ---- plan.c: the plan, delivered ---- */
long plan_receive(struct launch *l);
/* The command runs: only the plan's numbers are needed from now on. */
void plan_release(struct launch *l);

/* ---- receive.c: a message with descriptors; how many, or -errno ---- */
long receive_fds(int socket, struct deliver_msg *msg, int *fds, size_t max);

/* ---- hold.c: the keeper's part in placeholders ---- */
struct holds {
    int registry;
    unsigned count;
    int dirs[LAUNCH_MAX_HOLDS], files[LAUNCH_MAX_HOLDS];
};
void hold_receive(struct holds *h);
/* Removes the placeholders of this run where no other run uses them. */
void hold_release(const struct holds *h);

/* ---- report.c: the status socket ---- */

void report_failed(const char *step, long err, const char *object);
void report_started(const struct launch *l);
void report_tty(int master);
/* STATUS_LISTENERS or STATUS_SOCKETS; 0, or -errno */
long report_sockets(uint32_t kind, const int *fds, size_t count);
long report_pass(int to, int fd); /* a descriptor to another socket; 0 or more, or -errno */
void report_state(uint32_t kind, int value);
void report_exited(int wait_status, uint32_t detail, const struct status_msg *usage);
void report_probe(const char *name, long err, int value);

/* Another kind of message; false if the host does not read: it never waits. */
bool report_bytes(const void *bytes, size_t len);
/* Once nothing runs any more: waits for a host that is late, until it is gone. */
void report_last_bytes(const void *bytes, size_t len);

/* ---- watch.c: the monitor ---- */
void watch_begin(const struct launch *l);
bool watch_serve(int fd);   /* one call that waits at the listener; false: there was none */
void watch_end(void);       /* how often it was what */
#define WATCH_NAME_MAX 4160 /* a path of the caller's and what leads to it */
/*
 * How pid 1 names what the caller calls `given`; to has WATCH_NAME_MAX bytes. dir: the argument
 * with the directory, or -1. Returns the length of what stands before a relative path; 0: none.
 */
size_t watch_name(const struct notice *n, int dir, const char *given, char *to);
/* After a call: true if a thread serves the listener from now on, and nobody else must. */
bool watch_detach(int fd);
void watch_tell(const struct notice *n, uint32_t flags, const char *path, size_t len);

/* ---- masks.c: masks that tell who looked ---- */
long masks_serve(struct launch *l);

/* ---- sockets.c: sockets of the host that the plan names ---- */
long sockets_open(struct launch *l);
/* socket() and connect(); false: the call is not about such a socket and not answered. */
bool sockets_serve(int listener, const struct notice *n);

/* Puts fd in the place of the descriptor that is connected, with its flags; 0 or -errno. */
long sockets_replace(int listener, const struct notice *n, int fd);

/* ---- relay.c: the way to the proxy without a network namespace ---- */
long relay_open(struct launch *l);
bool relay_serve(int listener, const struct notice *n); /* connect(); false: not ours */

/* Exit codes of the launcher itself, as in PRODUCT: what a shell would say. */
#define EXIT_TIMED_OUT    124
#define EXIT_SETUP        125
#define EXIT_NOT_RUNNABLE 126
#define EXIT_NOT_FOUND    127

/* ---- signals (signals.c) ---- */

/*
 * Blocks all signals and sets their actions to the defaults; LAUNCH_FD_SIGNALS delivers those that
 * the keeper and pid 1 act on.
 */
long signals_open(void);
/* Next signal number and its sender as seen from here (0: from outside), or 0 when none waits. */
int signals_next(uint32_t *ret_sender);
/* With the defaults that all have since signals_open: what a program expects at its start. */
void signals_unblock(void);

#endif
