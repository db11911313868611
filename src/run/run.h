/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run: a plan made real, from spawning the launcher to the last byte of output.
 *
 *     run_init -> run_start (the command has been executed, or why not) -> run_pump … until run_ended
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
#include "run/hold.h"
#include "run/image.h"
#include "run/stream.h"

struct run_request {
    const struct plan *plan;
    const struct image *image;
    const char *const *state_dirs;
    int cwd_fd;       /* where the launcher starts; -1: the caller's own directory */
    int stdio[3];     /* what the command gets; -1: /dev/null; ignored where captured */
    bool capture[3];  /* [1] and [2] */
    uint64_t limit;   /* of each captured stream */
    abx_output_fn output;
    void *user;
};

struct run {
    pthread_mutex_t lock; /* lifeline_fd and canceled: run_cancel comes from other threads */
    pid_t keeper;
    int pidfd, status_fd, lifeline_fd, tty_fd;
    struct hold hold;
    struct stream streams[3]; /* [1] and [2] */
    bool started, failed, exited, reaped;
    int stopped; /* signal, or 0 */
    bool canceled;
    int64_t start_ns, end_ns;
    struct status_msg failure, start, end;
};

void run_init(struct run *r);
int32_t run_start(struct run *r, const struct run_request *request, abx_error **err);
/* Handles what is there; waits for it at most timeout_ms (-1: without limit). */
int32_t run_pump(struct run *r, int timeout_ms, abx_error **err);
bool run_ended(const struct run *r); /* exit status known, nothing left behind */
void run_signal(struct run *r, int signal_number);
void run_cancel(struct run *r);
bool run_canceled(struct run *r);
/* Ends it if need be, waits, closes everything. The run may be started again, unless it was canceled. */
void run_done(struct run *r);

/* For the exec form: the plan's descriptors, in the order of plan/protocol.h from 3 on. */
struct run_form {
    int fds[4 + 2 * LAUNCH_MAX_HOLDS];
    size_t count;
    int lifeline_host, status_host;
    struct hold hold;
    char holds_text[16];
};
void run_form_init(struct run_form *form);
int32_t run_form_open(struct run_form *form, const struct run_request *request, abx_error **err);
void run_form_close(struct run_form *form);
/* Ends what was started from the form, if anything was, and leaves nothing behind. */
void run_form_end(struct run_form *form);

/* The message of a failed step as an error, with a hint (run/hints.def). */
int32_t run_failure(const struct status_msg *msg, const struct plan *plan, abx_error **err);

int64_t run_now_ns(void);

#endif
