/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals on macOS: a kqueue says that one came. It also stays pending, because it is blocked; it
 * is taken away here, or it would strike when somebody unblocks it (Ctrl-Z does that).
 */
#include "cli/signals.h"

#include <sys/event.h>
#include <unistd.h>

static bool watch(int queue, int number)
{
    struct kevent event;

    EV_SET(&event, (uintptr_t)number, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL);
    return kevent(queue, &event, 1, NULL, 0, NULL) == 0;
}

int signals_open(const int *numbers, size_t count)
{
    int queue = kqueue();
    bool ok = queue >= 0;
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < count && ok; i++) {
        if (signals_is_nohup(numbers[i]))
            continue;
        (void)sigaddset(&set, numbers[i]);
        ok = watch(queue, numbers[i]);
    }
    if (ok && sigprocmask(SIG_BLOCK, &set, NULL) == 0)
        return queue;
    if (queue >= 0)
        (void)close(queue);
    return -1;
}

static void take_pending(int number)
{
    sigset_t pending, one;
    int taken;

    if (sigpending(&pending) < 0 || !sigismember(&pending, number))
        return;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)sigwait(&one, &taken);
}

int signals_next(int fd)
{
    const struct timespec now = { 0, 0 };
    struct kevent event;

    if (kevent(fd, NULL, 0, &event, 1, &now) != 1 || event.filter != EVFILT_SIGNAL)
        return 0;
    take_pending((int)event.ident);
    return (int)event.ident;
}
