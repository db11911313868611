/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox run: spawn, relay, wait.
 *
 * Signals come through a descriptor. SIGINT, SIGTERM and SIGHUP go to the command first, which then
 * has its grace period; a second one ends everything. Ctrl-Z stops the command and this program;
 * `fg` and `bg` continue both. With a terminal on both sides the command gets a terminal of its
 * own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/str.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/patience.h"
#include "cli/plan.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/terminal.h"

static const int relayed[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                               SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH };

#define REST_AFTER_MS 250 /* without anything to do; most commands have ended by then */

struct session {
    abx_process *process;
    int signals;
    unsigned streams;          /* that are terminals and not passed through, a bit each */
    struct terminal *terminal; /* NULL: none of what the command has is one */
    abx_manager *manager;
    struct network_asker *network;
    struct output output;
    abx_result *result; /* once it has ended */
    bool told_to_stop;
};

static void stop_self(struct session *s)
{
    sigset_t stop;

    if (s->terminal)
        terminal_leave(s->terminal);
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTSTP);
    (void)sigprocmask(SIG_UNBLOCK, &stop, NULL);
    (void)raise(SIGTSTP); /* ignored where nobody could continue us */
    (void)sigprocmask(SIG_BLOCK, &stop, NULL);
    if (s->terminal)
        terminal_enter(s->terminal);
}

/*
 * This program stops as its command did, if it was told to or a terminal is there where that is
 * seen; returns when somebody continues it. Elsewhere a command that stops itself goes on: its time
 * limit would not bring us back, and whoever waits for us would wait for ever.
 */
static void on_stopped(struct session *s)
{
    if (s->terminal || s->told_to_stop)
        stop_self(s);
    s->told_to_stop = false;
    (void)abx_process_signal(s->process, SIGCONT, NULL);
}

static void on_signal(struct session *s, int number)
{
    if (number == SIGTSTP || number == SIGCONT)
        s->told_to_stop = number == SIGTSTP;
    if (s->terminal && number == SIGWINCH)
        terminal_resize(s->terminal);
    else if (s->terminal && number == SIGCONT)
        terminal_enter(s->terminal);
    else
        (void)abx_process_signal(s->process, number, NULL);
}

static void read_signals(struct session *s)
{
    for (int number = signals_next(s->signals); number; number = signals_next(s->signals))
        on_signal(s, number);
}

/* Waits for one thing to happen and handles it. */
static void pump(struct session *s)
{
    struct pollfd fds[4] = {
        { .fd = abx_process_fd(s->process), .events = POLLIN },
        { .fd = s->signals, .events = POLLIN },
        { .fd = -1 },
        { .fd = -1 },
    };
    /* No signal says that `fg` has brought a job to the front that was running: look again. */
    const bool looks = s->terminal && s->terminal->away;

    if (s->terminal)
        terminal_poll(s->terminal, fds + 2);
    int r = poll(fds, 4, REST_AFTER_MS);
    if (r == 0 && !looks)
        r = memory_rest(fds, 4);
    if (r > 0 && fds[1].revents)
        read_signals(s);
    if (r > 0 && s->terminal)
        terminal_relay(s->terminal, fds + 2);
    if (looks)
        terminal_enter(s->terminal);
}

static bool still_runs(void *user)
{
    struct session *s = user;

    return abx_process_wait(s->process, 0, &s->result, NULL) == ABX_E_TIMEOUT;
}

/*
 * Somebody who can write to the user's terminal himself could make a question look like another
 * one. With a terminal of its own the command cannot: what it prints waits until the answer is
 * there.
 */
static bool screen_is_ours(const struct session *s)
{
    return s->terminal ||
           (!isatty(STDIN_FILENO) && !isatty(STDOUT_FILENO) && !isatty(STDERR_FILENO));
}

static void pass_signal(void *user, int number)
{
    on_signal(user, number);
}

/* Hosts that the command wants and no rule mentions. */
static void ask_network(struct session *s)
{
    const struct network_scene scene = { .signals = s->signals,
                                         .process_fd = abx_process_fd(s->process),
                                         .serve = still_runs,
                                         .pass = pass_signal,
                                         .user = s };

    if (!screen_is_ours(s)) {
        network_refuse(s->network, s->manager);
        return;
    }
    if (s->terminal)
        terminal_leave(s->terminal);
    network_ask(s->network, s->manager, &scene);
    if (s->terminal)
        terminal_enter(s->terminal);
}

static int32_t wait_end(struct session *s, abx_result **ret, abx_error **err)
{
    bool was_stopped = false;

    for (;;) {
        int32_t code = s->result ? ABX_OK : abx_process_wait(s->process, 0, &s->result, NULL);
        if (code != ABX_E_TIMEOUT) {
            *ret = s->result;
            return code == ABX_OK ? code : abx_process_wait(s->process, 0, ret, err);
        }
        if (s->network->count > 0) {
            ask_network(s);
            continue;
        }
        bool stopped = abx_process_stopped(s->process) != 0;
        if (stopped && !was_stopped) {
            on_stopped(s);
            was_stopped = true;
            continue;
        }
        was_stopped = stopped;
        pump(s);
    }
}

/* /dev/fd/N and its like: what the caller has open, as in --result >(jq .); otherwise -1. */
static int named_descriptor(const char *path)
{
    static const struct {
        const char *name;
        int fd;
    } streams[] = { { "/dev/stdout", STDOUT_FILENO }, { "/dev/stderr", STDERR_FILENO } };
    uint64_t fd;

    for (size_t i = 0; i < ARRAY_LEN(streams); i++)
        if (str_eq(path, streams[i].name))
            return streams[i].fd;
    return str_has_prefix(path, "/dev/fd/") && str_to_u64(path + strlen("/dev/fd/"), INT_MAX, &fd)
               ? (int)fd
               : -1;
}

/* What is closed on exec is not the caller's, but ours. */
static int take_descriptor(int fd)
{
    const int flags = fcntl(fd, F_GETFD);

    if (flags >= 0 && (flags & FD_CLOEXEC)) {
        errno = EBADF;
        return -1;
    }
    return fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

/* What we opened ourselves holds this result or none; what the caller opened is the caller's. */
static int empty_result(const struct run_options *o)
{
    struct stat st;

    if (named_descriptor(o->result_path) >= 0)
        return 0;
    if (fstat(o->result_fd, &st) < 0)
        return -1;
    return S_ISREG(st.st_mode) ? ftruncate(o->result_fd, 0) : 0;
}

/*
 * Opened before anything runs: a path that cannot be written is found out in time, and the command
 * cannot put a symlink in its place that we would follow. The result of an earlier run goes at
 * once: it must not be taken for that of a run which does not even start.
 */
static int open_result(struct run_options *o)
{
    if (!o->result_path)
        return 0;
    if (str_eq(o->result_path, "-"))
        return cli_misuse(
            "the command's own output goes there: name a file, or /dev/fd/3 and 3>FILE",
            "--result '-': not a file");
    const int fd = named_descriptor(o->result_path);
    o->result_fd = fd >= 0 ? take_descriptor(fd)
                           : open(o->result_path,
                                  O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (o->result_fd >= 0 && empty_result(o) == 0)
        return 0;
    int error = errno;
    const char *hint = error == ENOENT   ? "its directory is not there: make it, or name another"
                       : error == ELOOP  ? "it is a symbolic link: name the file itself"
                       : error == EBADF  ? "the descriptor is not open: 3>FILE opens 3"
                       : error == EISDIR ? "name a file in it"
                                         : "name a file that you may write";
    return cli_misuse(hint, "open '%s' for the result: %s", o->result_path, strerrordesc_np(error));
}

static int write_result(const abx_result *result, const struct run_options *o)
{
    abx_error *err = NULL;
    char *text;

    if (abx_result_json(result, &text, &err) != ABX_OK)
        return cli_fail(err);
    int r = empty_result(o) < 0 ? -errno : 0;
    if (r == 0)
        r = io_write_all(o->result_fd, text, strlen(text));
    abx_free(text);
    if (r < 0)
        return cli_misuse("is there room, and does somebody read it? Name another file",
                          "write the result to '%s': %s", o->result_path, strerrordesc_np(-r));
    return 0;
}

/* A terminal that is not for our input is not for the command's. */
static int32_t set_terminal(abx_command *command, unsigned streams, abx_error **err)
{
    const bool keys = terminal_has_keys(streams);
    int32_t code = ABX_OK;

    for (int32_t i = 0; i < 3 && code == ABX_OK; i++) {
        int32_t mode = !(streams >> i & 1)          ? ABX_STDIO_INHERIT
                       : i == STDIN_FILENO && !keys ? ABX_STDIO_NULL
                                                    : ABX_STDIO_TTY;
        code = abx_command_set_stdio(command, i, mode, -1, err);
    }
    return code;
}

/* Who limits the output reads it: no terminal for that, then. */
static int32_t set_streams(const struct run_options *o, struct session *s, abx_error **err)
{
    s->streams = terminal_streams(o->max_output ? 1u << STDIN_FILENO : ~0u);
    int32_t code = set_terminal(o->command, s->streams, err);

    if (code != ABX_OK || !o->max_output)
        return code;
    (void)str_to_size(o->max_output, &s->output.limit); /* the key was taken: it is one */
    return output_limit(&s->output, o->command, err);
}

static int run_session(struct run_options *o, struct session *s)
{
    static struct terminal terminal;
    abx_error *err = NULL;
    abx_result *result = NULL;

    if (abx_process_tty_fd(s->process) >= 0) {
        s->terminal = &terminal;
        terminal_open(&terminal, abx_process_tty_fd(s->process), s->streams);
        terminal_enter(&terminal);
    }
    int32_t code = wait_end(s, &result, &err);
    if (s->terminal) {
        terminal_drain(s->terminal);
        terminal_leave(s->terminal);
    }
    if (code != ABX_OK)
        return cli_fail(err);
    if (abx_result_timed_out(result) && !o->quiet)
        cli_notice(NULL, ABX_NOTICE_WARNING, "run", "the time is up: everything inside was ended");
    if (!o->quiet)
        output_tell(&s->output);
    cli_flush_notices();
    if (!o->quiet)
        report_violations(result);
    int status = abx_result_exit_code(result);
    if (o->result_path && write_result(result, o) != 0)
        status = EXIT_AGENTBOX;
    abx_result_free(result);
    return status;
}

static int run_command(struct run_options *o)
{
    struct session s = { .manager = o->manager, .network = o->approver.network };
    abx_error *err = NULL;

    int code = open_result(o);
    if (code != 0)
        return code;
    s.signals = o->approver.signals = signals_open(relayed, ARRAY_LEN(relayed));
    patience_begin();
    const bool started = set_streams(o, &s, &err) == ABX_OK &&
                         abx_manager_spawn(o->manager, o->command, &s.process, &err) == ABX_OK;
    patience_end();
    if (!started) {
        cli_flush_notices();
        code = cli_fail(err);
        cli_hint(o->approver.hint);
        return code;
    }
    /*
     * What is left of the launcher exits by itself while we do: not freeing the manager, which
     * would wait for it, saves the time the kernel needs to take the namespaces down.
     */
    exit(run_session(o, &s));
}

CLI_COMMAND(run)
{
    struct run_options o;

    memory_prepare();
    int code = run_options_read(&o, command, argc, argv, RUN_PROGRAM);

    if (code == 0 && o.help)
        code = cli_help(command);
    else if (code == 0)
        code = o.dry_run ? plan_print(&o) : run_command(&o);
    run_options_done(&o);
    return code;
}
