/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `agentbox run` reads its signals from a descriptor, so that they reach the command. Until there
 * is one nobody reads, and that may take as long as a walk through a large tree may, or a lock that
 * another program holds. So a timer looks twice a second whether somebody wants us to end. Most
 * runs have begun long before it does.
 */
#include "cli/patience.h"

#include <signal.h>
#include <sys/time.h>

#include "base/defs.h"

#define LOOK_EVERY 500000 /* usec */

static struct sigaction before;
static sigset_t mask_before;
static bool begun;

/* Only calls that are safe in a handler. */
static void look(int number)
{
    static const int enders[] = { SIGINT, SIGTERM, SIGHUP };
    sigset_t pending, one;

    (void)number;
    if (sigpending(&pending) < 0)
        return;
    for (size_t i = 0; i < ARRAY_LEN(enders); i++) {
        if (sigismember(&pending, enders[i]) != 1)
            continue;
        (void)sigemptyset(&one);
        (void)sigaddset(&one, enders[i]);
        (void)sigprocmask(SIG_UNBLOCK, &one, NULL); /* the default action; nothing, if ignored */
    }
}

static void set_timer(suseconds_t usec)
{
    const struct itimerval timer = { { 0, usec }, { 0, usec } };

    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

/* A timer that the caller has set for us, as a limit of time, is his. */
static bool timer_is_free(void)
{
    struct itimerval timer;

    return getitimer(ITIMER_REAL, &timer) == 0 && !timer.it_value.tv_sec && !timer.it_value.tv_usec;
}

void patience_begin(void)
{
    struct sigaction action = { .sa_handler = look, .sa_flags = SA_RESTART };
    sigset_t own;

    (void)sigemptyset(&action.sa_mask);
    begun = timer_is_free() && sigaction(SIGALRM, &action, &before) == 0;
    if (!begun)
        return;
    (void)sigemptyset(&own);
    (void)sigaddset(&own, SIGALRM);
    (void)sigprocmask(SIG_UNBLOCK, &own, &mask_before);
    patience_resume();
}

void patience_end(void)
{
    patience_pause();
    if (begun) {
        (void)sigaction(SIGALRM, &before, NULL);
        (void)sigprocmask(SIG_SETMASK, &mask_before, NULL);
    }
    begun = false;
}

void patience_pause(void)
{
    if (begun)
        set_timer(0);
}

void patience_resume(void)
{
    if (begun)
        set_timer(LOOK_EVERY);
}
