/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The prompt. It goes to the controlling terminal and to nothing else, so neither a pipe nor a file
 * can answer; keys that were typed before the question was there are thrown away. The command is
 * shown escaped, as a whole, and the part that decides last, where it is not scrolled away. Only
 * "y", "yes", "a" and "always" are a yes; an empty line, the end of the input, Ctrl-C, any signal
 * that ends a run, and time that is up are a no. In the background there is nobody to ask.
 */
#include "cli/approve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/str.h"

#define PROMPT_MAX_TEXT ((size_t)64 << 20)

#define HINT_NO_TERMINAL                                                                           \
    "there is no terminal to ask on; --approve yes runs it, and so does a rule in your own "       \
    "configuration (classifier.rules)"
#define HINT_DENIED "--approve deny refuses whatever needs an approval"

struct prompt {
    const abx_question *question;
    int tty, signals;
    struct termios saved;
    bool changed; /* the terminal's mode */
    char line[64];
    size_t len;
};

bool approver_mode(const char *word, enum approve_mode *ret)
{
    static const char *const words[] = { "ask", "deny", "yes" };

    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_eq(words[i], word)) {
            *ret = (enum approve_mode)i;
            return true;
        }
    return false;
}

static void put_row(struct buf *b, const char *label, const char *text)
{
    (void)buf_printf(b, "  %-9s", label);
    (void)str_escape(b, text, strlen(text));
    (void)buf_putc(b, '\n');
}

static bool show(const struct prompt *p)
{
    const abx_question *q = p->question;
    _buf_ struct buf b = { .limit = PROMPT_MAX_TEXT };

    (void)buf_puts(&b, "agentbox: this command needs your approval\n");
    put_row(&b, "command:", abx_question_command(q));
    put_row(&b, "in:", abx_question_cwd(q));
    put_row(&b, "part:", abx_question_part(q));
    put_row(&b, "rule:", abx_question_rule(q));
    put_row(&b, "reason:", abx_question_reason(q));
    (void)buf_puts(&b, abx_question_can_keep(q)
                           ? "Run it? [y]es, this time; [a]lways, exactly this; [N]o: "
                           : "Run it? [y]es, this time; [N]o: ");
    return !b.failed && io_write_all(p->tty, b.data, b.len) == 0;
}

/* Lines with echo and Ctrl-C, whatever the caller's program made of the terminal. */
static void enter(struct prompt *p)
{
    struct termios lines;

    if (tcgetattr(p->tty, &p->saved) < 0)
        return;
    lines = p->saved;
    lines.c_iflag |= ICRNL;
    lines.c_oflag |= OPOST | ONLCR;
    lines.c_lflag |= ICANON | ECHO | ISIG;
    p->changed = tcsetattr(p->tty, TCSAFLUSH, &lines) == 0;
}

static void leave(const struct prompt *p)
{
    if (p->changed)
        (void)tcsetattr(p->tty, TCSANOW, &p->saved);
}

/* Ctrl-Z: this program stops, and asks again when it goes on. */
static bool suspend(struct prompt *p)
{
    sigset_t stop;

    leave(p);
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
    (void)raise(SIGTSTP);
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    enter(p);
    p->len = 0;
    return show(p);
}

/* False: the user wants to end this. */
static bool read_signals(struct prompt *p)
{
    struct signalfd_siginfo info;

    while (read(p->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        switch (info.ssi_signo) {
        case SIGTSTP:
            if (!suspend(p))
                return false;
            break;
        case SIGINT:
        case SIGTERM:
        case SIGHUP:
        case SIGQUIT:
            return false;
        default:
            break;
        }
    }
    return true;
}

static int32_t meaning(char *line)
{
    line[strcspn(line, "\r\n")] = '\0';
    line += strspn(line, " \t");
    line[strcspn(line, " \t")] = '\0';
    if (strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0)
        return ABX_APPROVE_ONCE;
    if (strcasecmp(line, "a") == 0 || strcasecmp(line, "always") == 0)
        return ABX_APPROVE_ALWAYS;
    return ABX_APPROVE_NO;
}

/* True: the line is complete, or there will be none; *ret is what it means. */
static bool read_line(struct prompt *p, int32_t *ret)
{
    ssize_t n = read(p->tty, p->line + p->len, sizeof p->line - 1 - p->len);

    *ret = ABX_APPROVE_NO;
    if (n < 0)
        return errno != EINTR && errno != EAGAIN;
    p->len += (size_t)n;
    p->line[p->len] = '\0';
    if (n > 0 && strchr(p->line, '\n'))
        *ret = meaning(p->line);
    else if (n > 0 && p->len < sizeof p->line - 1)
        return false;
    return true;
}

static int32_t wait_answer(struct prompt *p)
{
    int32_t answer = ABX_APPROVE_NO;

    for (;;) {
        struct pollfd fds[] = { { .fd = p->tty, .events = POLLIN },
                                { .fd = p->signals, .events = POLLIN },
                                { .fd = abx_question_fd(p->question), .events = POLLIN } };
        int64_t left = abx_question_timeout_ms(p->question);
        int n = poll(fds, ARRAY_LEN(fds), left < 0 ? -1 : (int)MIN_OF(left, INT64_C(1000000)));

        if ((n < 0 && errno != EINTR) || fds[2].revents || left == 0)
            return ABX_APPROVE_NO;
        if (n > 0 && fds[1].revents && !read_signals(p))
            return ABX_APPROVE_NO;
        if (n > 0 && fds[0].revents && read_line(p, &answer))
            return answer;
    }
}

/* The controlling terminal, if we are in its foreground; else -1. */
static int open_terminal(void)
{
    int tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

    if (tty >= 0 && tcgetpgrp(tty) != getpgrp()) {
        (void)close(tty);
        return -1;
    }
    return tty;
}

bool approver_is_there(void)
{
    int tty = open_terminal();

    return tty >= 0 && close(tty) == 0;
}

static int32_t ask(struct approver *a, const abx_question *question)
{
    struct prompt p = { .question = question, .signals = a->signals };

    p.tty = open_terminal();
    if (p.tty < 0) {
        a->hint = HINT_NO_TERMINAL;
        return ABX_APPROVE_NO;
    }
    enter(&p);
    int32_t answer = show(&p) ? wait_answer(&p) : ABX_APPROVE_FAILED;
    if (!p.len)
        (void)io_write_all(p.tty, "\n", 1);
    leave(&p);
    (void)close(p.tty);
    return answer;
}

int32_t approver_answer(void *user, const abx_question *question)
{
    struct approver *a = user;

    switch (a->mode) {
    case APPROVE_YES:
        return ABX_APPROVE_ONCE;
    case APPROVE_PLAN:
        cli_notice(NULL, ABX_NOTICE_INFO, "plan", "a run would ask for an approval first");
        return ABX_APPROVE_ONCE;
    case APPROVE_DENY:
        a->hint = HINT_DENIED;
        return ABX_APPROVE_NO;
    case APPROVE_ASK:
        break;
    }
    return ask(a, question);
}
