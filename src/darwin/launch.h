/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher of macOS: one process that starts the command in its profile and stays to end it.
 *
 * Its arguments are "run", the run's directory for temporary files (canonical) and the port of the
 * proxy ("0": none). Its descriptors:
 *   3 status    a stream socket: whole struct status_msg (plan/protocol.h); with STATUS_TTY one
 *               descriptor comes along
 *   4 lifeline  its end is the host's end
 *   5 plan      the encoded plan: an unlinked file, for macOS has no sealed memory
 *   6 profile   the Seatbelt text (plan/seatbelt.h), likewise
 *   0, 1, 2     the command's
 */
#ifndef ABX_DARWIN_LAUNCH_H
#define ABX_DARWIN_LAUNCH_H

#include <sys/resource.h>

#include "base/defs.h"
#include "plan/plan.h"
#include "plan/protocol.h"

#define DARWIN_FD_STATUS   3
#define DARWIN_FD_LIFELINE 4
#define DARWIN_FD_PLAN     5
#define DARWIN_FD_PROFILE  6
#define DARWIN_FD_COUNT    7

#define DARWIN_TTY_MAX 128

struct launch {
    struct plan plan;
    const char *profile;
    const char *tmp, *port;
    char tty[DARWIN_TTY_MAX];   /* the slave's path; "": none */
    int queue;                  /* of events, from supervise_prepare on */
    int tty_master, tty_slave;  /* -1: none */
    const char *step, *object;  /* what is being done, for errors */
    char text[STATUS_TEXT_MAX]; /* the system's own words about it */
};

/* Each step returns 0 or -errno, with object set. */
typedef int (*launch_step)(struct launch *l);

/* ---- receive.c ---- */
int receive_plan(struct launch *l);
/* ---- harden.c ---- */
int harden_launcher(struct launch *l); /* nobody may trace it, and it leaves no core */
int harden_limits(struct launch *l);   /* the plan's, and no core; in the command's process */
int harden_descriptors(struct launch *l);
/* ---- apply.c: the profile; from here on it holds ---- */
int apply_profile(struct launch *l);
/* ---- command.c ---- */
/* Starts the command; its pid once it was executed, or -errno with step, object and text set. */
int command_start(struct launch *l);
/* ---- terminal.c ---- */
int terminal_open(struct launch *l);
/* ---- supervise.c ---- */
int supervise_prepare(struct launch *l); /* before the command is started */
int supervise(const struct launch *l, int pid);
/* ---- report.c ---- */
void report_failed(const struct launch *l, int error);
void report_started(const struct launch *l, int pid); /* value: its pid, also its session */
void report_tty(int master);
void report_exited(int wait_status, bool timed_out, const struct rusage *usage);

/* Exit codes of the launcher itself. */
#define EXIT_SETUP 125

#endif
