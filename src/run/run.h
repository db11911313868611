/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: a plan made real, from spawning the launcher to the last byte of output.
 *
 *     run_init
 *     run_launch    the launcher makes its namespaces
 *     run_deliver   the plan; returns when the command has been executed, or why it was not
 *     run_pump      until run_ended
 *     run_done
 *
 * A run belongs to one thread at a time; run_cancel and run_signal may come from any.
 */
#ifndef ABX_RUN_RUN_H
#define ABX_RUN_RUN_H

#include <pthread.h>
#include <sys/types.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"
#include "plan/plan.h"
#include "plan/protocol.h"
#include "plan/watch.h"
#include "run/cgroup.h"
#include "run/hold.h"
#include "run/image.h"
#include "run/stream.h"
#include "run/violations.h"

#define RUN_DIRECTORY "run" /* macOS: in the state directory, for files that lose their name */

struct run;
struct run_request {
    uint32_t layers; /* of the plan that will be delivered */
    struct image *image;
    const char *bwrap; /* the program that starts pid 1; NULL: the launcher itself does */
    int cwd_fd;        /* where the launcher starts; -1: the caller's own directory */
    int stdio[3];      /* what the command gets; -1: /dev/null; ignored where captured */
    bool capture[3];   /* [1] and [2] */
    bool forget[3];    /* … of those, for the callback alone */
    uint64_t limit;    /* of each captured stream */
    struct cgroup_limits cgroup;
    abx_output_fn output;
    void *user;
};

/* A launcher that has nothing left to do but to exit. */
struct run_rest {
    pid_t keeper;
    int pidfd;
};

/* What pid 1 tells about the command, for somebody who can explain it. */
struct run_watch {
    uint32_t level; /* enum watch_level, as planned */
    void (*tell)(void *user, struct run *run, const struct watch_msg *msg); /* or NULL */
    void (*release)(void *user);
    void *user;
    const char *program, *cwd; /* of the run, for the log; live as long as user; or NULL */
    uint16_t records[WATCH_MAX_RECORDS]; /* by id: index of the violation + 1; 0: none */
};

struct run {
    /* lifeline_fd, canceled, the end of pidfd: run_cancel and run_signal come from any thread */
    pthread_mutex_t lock;
    pid_t keeper;
    int pidfd, status_fd, lifeline_fd, tty_fd;
    int side_fd;                   /* something else to wait for; -1: nothing */
    bool side_ready;               /* run_pump found it readable */
    int listeners[LISTENER_COUNT]; /* of the proxy, for whoever takes them; -1: none */
    int sockets[2 * SOCKET_COUNT]; /* for published ports, likewise */
    size_t socket_count;
    struct hold hold;
    struct cgroup cgroup;
    struct cgroup_counts counts; /* of the group, at the end */
    struct stream streams[3];    /* [1] and [2] */
    bool early;                  /* the launcher was started before main() */
    bool started, failed;
    _Atomic bool exited, gone; /* run_signal looks at them, from any thread */
    _Atomic int stopped;       /* signal, or 0 */
    bool canceled;
    int64_t start_ns, end_ns;
    struct status_msg failure, start, end;
    struct violations violations;
    struct run_watch watch;
    struct remains *remains; /* probe/remains.h, for whoever looks at the end; or NULL */
    bool limits_told;        /* those that it hit are among the violations */
    bool logged;
    int log_error;          /* -errno: the log that was asked for has not all of it */
    uint64_t cpu_seconds;   /* limit of each process; 0: none */
    uint32_t shortfalls;    /* of the back end; for the result … */
    uint32_t backend;       /* … as is this: enum plan_backend */
    struct run_rest unused; /* a launcher that was started early and did not fit */
    struct run_mac *mac;    /* macOS: run/mac.h; NULL elsewhere */
};

void run_init(struct run *r);
/* The proxy's listeners, which the caller owns then; how many. */
size_t run_take_listeners(struct run *r, int fds[LISTENER_COUNT]);
/* Those for published ports, likewise. */
size_t run_take_sockets(struct run *r, int fds[2 * SOCKET_COUNT]);
int32_t run_launch(struct run *r, const struct run_request *q, abx_error **err);
int32_t run_deliver(struct run *r, const struct plan *plan, const char *const *state_dirs,
                    abx_error **err);
/* Handles what is there; waits for it at most timeout_ms (-1: without limit). */
int32_t run_pump(struct run *r, int timeout_ms, abx_error **err);
/*
 * The exit status is known, every process inside is dead, no placeholder is left. What remains of
 * the launcher is on its way out; run_done leaves it to be reaped.
 */
bool run_ended(const struct run *r);
void run_signal(struct run *r, int signal_number);
void run_cancel(struct run *r);
bool run_canceled(struct run *r);
int64_t run_now_ns(void);

/*
 * Ends it if need be, closes everything. *ret_rest is what may still have to be reaped (keeper 0:
 * nothing); NULL: waits for it here. The run may be launched again, unless it was canceled.
 */
void run_done(struct run *r, struct run_rest *ret_rest);
/* In a forked process: closes our copies and touches nothing that the parent still uses. */
void run_forget(struct run *r);
/* true: reaped (or waited for by somebody else). */
bool run_reap(struct run_rest *rest, bool wait);

/* ---- message.c: what comes from pid 1 ---- */

/* The descriptors that came along with a message; the rest is -1. */
struct msghdr;
void run_passed_fds(struct msghdr *header, int fds[STATUS_MAX_FDS]);
union message {
    struct status_msg status;
    struct watch_msg violation;
    struct watch_counts counts;
};
/* Takes one of len bytes in, with its descriptors; false: it is no message, nobody speaks there. */
bool message_take(struct run *r, union message *msg, size_t len, int fds[STATUS_MAX_FDS]);

/* ---- pump.c, for run.c and run_darwin.c ---- */

/* The lifeline's end: whatever still runs ends. */
void run_hang_up(struct run *r);
/* Nobody writes any more: what is in the pipes now is all. */
void run_drain(struct run *r);
/* Until the command has been executed, or why it was not. */
int32_t run_await_start(struct run *r, const struct plan *plan, abx_error **err);

/* ---- run.c or run_darwin.c, for pump.c ---- */

/* Some of the launcher's messages; false: the socket is empty, or closed (then here too). */
bool run_read_message(struct run *r);
/* The launcher is gone, and all that it said is read: what it may have left to do. */
void run_after_gone(struct run *r);

/* ---- deliver.c: what goes to the launcher ---- */

/* The plan for pid 1, its words for bwrap, and the placeholders, made now. */
int32_t deliver_plan(int status_fd, int lifeline_fd, struct hold *hold, const struct plan *plan,
                     const char *const *state_dirs, abx_error **err);
/* child_fds: the launcher's descriptors from 3 on. 0 or -errno. */
int deliver_sockets(int *ret_status, int *ret_lifeline, int child_fds[2]);
/* Nobody will read what it says (the exec form): it does not wait for that. */
void deliver_unheard(int status_fd);
/*
 * Of a launcher that nobody else listens to (the exec form): reads what is there. How many
 * listeners came, after which it is unheard, 0, or -1 once it is gone.
 */
int deliver_listeners(int status_fd, int fds[LISTENER_COUNT]);
/* The second argument of the launcher. */
void deliver_layers(char *text, size_t size, uint32_t layers);

/* ---- early.c: the launcher that the program's entry code started ---- */

/* true: it is the run's keeper now. Otherwise there was none, or it is r->unused. */
bool early_take(struct run *r, const struct run_request *q, bool cgroup, int *ret_lifeline);
/*
 * Until the keeper has left our process group, which on a busy machine may still be to come:
 * whoever kills the group must not kill the one that removes the placeholders. False: it ended.
 */
bool early_await(const struct run *r);

/* ---- failure.c ---- */

/* The message of a failed step as an error, with a hint (run/hints.def). */
int32_t run_failure(const struct status_msg *msg, const struct plan *plan, abx_error **err);

#endif
