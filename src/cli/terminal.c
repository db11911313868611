/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay between two terminals. What comes from inside is bytes for the user's screen, nothing else.
 *
 * In the background (`&`, `bg`) the terminal is somebody else's: its modes stay as they are and
 * what is typed is not read, or the kernel would stop us, and again whenever we went on. It could
 * not stop the command, which is in a session of its own: that one gets no descriptor of the
 * terminal, from which it could read what is typed for others, whichever stream it came as.
 */
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A terminal that is gone is nobody's: reading it says so. */
static bool is_away(int fd)
{
    const pid_t front = tcgetpgrp(fd);

    return front >= 0 && front != getpgrp();
}

unsigned terminal_streams(unsigned among)
{
    unsigned streams = 0;
    bool away = false;

    for (int fd = 0; fd < 3; fd++) {
        if (!(among >> fd & 1) || !isatty(fd))
            continue;
        streams |= 1u << fd;
        away = away || is_away(fd);
    }
    return away || terminal_has_keys(streams) ? streams : 0;
}

void terminal_open(struct terminal *t, int master, unsigned streams)
{
    struct termios inside;

    memset(t, 0, sizeof *t);
    t->master = master;
    t->keys = terminal_has_keys(streams) ? STDIN_FILENO : -1;
    t->screen = streams & 1u << STDOUT_FILENO ? STDOUT_FILENO : STDERR_FILENO;
    (void)fcntl(master, F_SETFL, O_NONBLOCK);
    /* Never raw outside: the outer one makes two bytes of each end of a line already. */
    if (t->keys < 0 && tcgetattr(master, &inside) == 0) {
        inside.c_oflag &= ~(tcflag_t)OPOST;
        (void)tcsetattr(master, TCSANOW, &inside);
    }
}

void terminal_resize(const struct terminal *t)
{
    struct winsize size;

    if (t->master >= 0 && ioctl(t->screen, TIOCGWINSZ, &size) == 0)
        (void)ioctl(t->master, TIOCSWINSZ, &size);
}

void terminal_enter(struct terminal *t)
{
    struct termios raw;

    t->away = t->keys >= 0 && is_away(t->keys);
    if (t->away)
        return;
    terminal_resize(t);
    /* Who was stopped by SIGSTOP had no time to leave: some shells bring his modes back. */
    if (t->keys < 0 || (!t->raw && tcgetattr(t->keys, &t->saved) < 0))
        return;
    raw = t->saved;
    cfmakeraw(&raw);
    t->raw = tcsetattr(t->keys, TCSADRAIN, &raw) == 0;
}

void terminal_leave(struct terminal *t)
{
    if (t->raw && !is_away(t->keys))
        (void)tcsetattr(t->keys, TCSADRAIN, &t->saved);
    t->raw = false;
}

void terminal_poll(const struct terminal *t, struct pollfd fds[2])
{
    bool room = t->in_len < sizeof t->in && !t->hung_up && !t->away;

    fds[0] = (struct pollfd){ .fd = t->master >= 0 && room ? t->keys : -1, .events = POLLIN };
    fds[1] = (struct pollfd){ .fd = t->master, .events = POLLIN };
    if (t->in_len)
        fds[1].events |= POLLOUT;
}

static void write_screen(int screen, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(screen, bytes, len);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd out = { .fd = screen, .events = POLLOUT };
            (void)poll(&out, 1, -1);
        } else if (n < 0 && errno != EINTR) {
            return; /* the screen is gone; SIGHUP will say so */
        } else if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
}

/* False when the other side is closed for good. */
static bool read_master(struct terminal *t)
{
    char bytes[TERMINAL_BUFFER];
    ssize_t n = read(t->master, bytes, sizeof bytes);

    if (n > 0)
        write_screen(t->screen, bytes, (size_t)n);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void write_master(struct terminal *t)
{
    ssize_t n = write(t->master, t->in, t->in_len);

    if (n <= 0)
        return;
    memmove(t->in, t->in + n, t->in_len - (size_t)n);
    t->in_len -= (size_t)n;
}

void terminal_relay(struct terminal *t, const struct pollfd fds[2])
{
    if (fds[0].revents && t->in_len < sizeof t->in && !t->away) {
        ssize_t n = read(t->keys, t->in + t->in_len, sizeof t->in - t->in_len);
        if (n > 0)
            t->in_len += (size_t)n;
        else if (n == 0 || (errno != EINTR && errno != EAGAIN))
            t->hung_up = true; /* nobody types any more */
    }
    if (fds[1].revents && !read_master(t)) {
        t->master = -1;
        return;
    }
    if (t->in_len)
        write_master(t);
}

void terminal_drain(struct terminal *t)
{
    struct pollfd fd = { .fd = t->master, .events = POLLIN };

    while (t->master >= 0 && poll(&fd, 1, 0) == 1 && read_master(t))
        ;
}
