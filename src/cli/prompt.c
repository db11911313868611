/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking on the terminal. Lines, echo and Ctrl-C are on while the question is open, whatever the
 * caller's program made of the terminal, and are put back afterwards. Ctrl-Z stops this program;
 * the question is shown again when it goes on, unless it does so in the background.
 *
 * What was typed before the question is thrown away, and so is what comes within its first moment
 * (rest_ms): a command that sees the user's keys can have a question come between two of them.
 */
#include "cli/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/signals.h"

struct prompt {
    const struct prompt_request *q;
    int tty;
    struct termios saved;
    bool changed;     /* the terminal's mode */
    int64_t hears_at; /* nothing is read before; 0: now it is */
    char *line;
    size_t len;
    int signal;
};

int prompt_terminal(void)
{
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (tty >= 0 && tcgetpgrp(tty) != getpgrp()) {
        (void)close(tty);
        return -1;
    }
    return tty;
}

static bool show(const struct prompt *p)
{
    return io_write_all(p->tty, p->q->text, p->q->text_len) == 0;
}

static int64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NSEC_PER_MSEC;
}

/* Throws away what was typed. */
static bool set_lines(const struct prompt *p, bool echo)
{
    struct termios lines = p->saved;

    lines.c_iflag |= ICRNL;
    lines.c_oflag |= OPOST | ONLCR;
    lines.c_lflag |= ICANON | ECHO | ISIG;
    lines.c_lflag &= ~(echo ? 0u : ECHO);
    return tcsetattr(p->tty, TCSAFLUSH, &lines) == 0;
}

static bool present(struct prompt *p)
{
    p->changed = tcgetattr(p->tty, &p->saved) == 0 && set_lines(p, p->q->rest_ms == 0);
    if (!show(p))
        return false;
    p->hears_at = p->q->rest_ms ? now_ms() + p->q->rest_ms : 0;
    return true;
}

/* How long nothing is read yet. */
static int64_t deaf_for(struct prompt *p)
{
    int64_t left = p->hears_at ? p->hears_at - now_ms() : 0;

    if (p->hears_at && left <= 0) {
        p->hears_at = 0;
        if (p->changed)
            (void)set_lines(p, true);
    }
    return MAX_OF(left, INT64_C(0));
}

static void leave(const struct prompt *p)
{
    if (p->changed)
        (void)tcsetattr(p->tty, TCSANOW, &p->saved);
}

/*
 * Ctrl-Z: this program stops, and asks again when it goes on. After `bg` there is nobody to ask,
 * and who touched the terminal would be stopped again, whatever else is wanted of him.
 */
static bool suspend(struct prompt *p)
{
    sigset_t stop;

    leave(p);
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    p->len = 0;
    p->changed = false;
    return tcgetpgrp(p->tty) == getpgrp() && present(p);
}

/* False: the user wants to end this. */
static bool read_signals(struct prompt *p)
{
    int number;

    while ((number = signals_next(p->q->signals)) != 0) {
        switch (number) {
        case SIGTSTP:
            if (!suspend(p))
                return false;
            break;
        case SIGINT:
        case SIGTERM:
        case SIGHUP:
        case SIGQUIT:
            p->signal = number;
            return false;
        default:
            break;
        }
    }
    return true;
}

/* What is between blanks at the beginning. */
static void cut_word(char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    size_t blanks = strspn(line, " \t");
    memmove(line, line + blanks, strlen(line + blanks) + 1);
    line[strcspn(line, " \t")] = '\0';
}

/* True: it is over, and *ret says how. */
static bool read_line(struct prompt *p, enum prompt_end *ret)
{
    ssize_t n = read(p->tty, p->line + p->len, PROMPT_LINE_MAX - 1 - p->len);

    *ret = PROMPT_NOTHING;
    if (n < 0)
        return errno != EINTR && errno != EAGAIN;
    p->len += (size_t)n;
    p->line[p->len] = '\0';
    if (n > 0 && strchr(p->line, '\n')) {
        cut_word(p->line);
        *ret = PROMPT_LINE;
    } else if (n > 0 && p->len < PROMPT_LINE_MAX - 1) {
        return false;
    }
    return true;
}

static enum prompt_end wait_line(struct prompt *p)
{
    const struct prompt_request *q = p->q;
    enum prompt_end end = PROMPT_NOTHING;

    for (;;) {
        int64_t deaf = deaf_for(p);
        struct pollfd fds[] = { { .fd = deaf ? -1 : p->tty, .events = POLLIN },
                                { .fd = q->signals, .events = POLLIN },
                                { .fd = q->fd, .events = POLLIN } };
        int64_t left = q->left_ms ? q->left_ms(q->user) : -1;
        int64_t wait = deaf && (left < 0 || deaf < left) ? deaf : left;
        int n = poll(fds, ARRAY_LEN(fds), wait < 0 ? -1 : (int)MIN_OF(wait, INT64_C(1000000)));

        if ((n < 0 && errno != EINTR) || left == 0)
            return PROMPT_NOTHING;
        if (n > 0 && fds[2].revents && !(q->serve && q->serve(q->user)))
            return PROMPT_NOTHING;
        if (n > 0 && fds[1].revents && !read_signals(p))
            return PROMPT_NOTHING;
        if (n > 0 && fds[0].revents && read_line(p, &end))
            return end;
    }
}

enum prompt_end prompt_ask(const struct prompt_request *q, char line[PROMPT_LINE_MAX],
                           int *ret_signal)
{
    struct prompt p = { .q = q, .tty = prompt_terminal(), .line = line };

    *ret_signal = 0;
    line[0] = '\0';
    if (p.tty < 0)
        return PROMPT_NO_TERMINAL;
    enum prompt_end end = present(&p) ? wait_line(&p) : PROMPT_FAILED;
    if (!p.len)
        (void)io_write_all(p.tty, "\n", 1);
    leave(&p);
    (void)close(p.tty);
    *ret_signal = p.signal;
    return end;
}
