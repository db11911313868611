/* SPDX-License-Identifier: Apache-2.0 */
/* As much of kqueue as src/darwin uses, on Linux: shim.c. Numbers are macOS's. */
#ifndef ABX_TESTS_DARWIN_EVENT_H
#define ABX_TESTS_DARWIN_EVENT_H

#include <stdint.h>
#include <time.h>

#define EVFILT_READ   (-1)
#define EVFILT_PROC   (-5)
#define EVFILT_SIGNAL (-6)
#define EVFILT_TIMER  (-7)
#define EV_ADD        0x1
#define EV_ONESHOT    0x10
#define NOTE_EXIT     0x80000000
#define NOTE_NSECONDS 0x4

struct kevent {
    uintptr_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t fflags;
    intptr_t data;
    void *udata;
};

#define EV_SET(event, a, b, c, d, e, f)                                                            \
    (*(event) = (struct kevent){ (a), (b), (uint16_t)(c), (d), (intptr_t)(e), (f) })

int kqueue(void);
int kevent(int queue, const struct kevent *changes, int change_count, struct kevent *events,
           int event_count, const struct timespec *timeout);

#endif
