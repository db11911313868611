/* SPDX-License-Identifier: Apache-2.0 */
/* What the program says about itself: errors with hints, help, notices. Always on stderr, except
 * help. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/cli.h"

#define HELP_MAX 65536

bool cli_colours(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fileno(stream)) && (!no || !no[0]) && !(term && strcmp(term, "dumb") == 0);
}

static void put_line(const char *colour, const char *label, const char *text)
{
    if (cli_colours(stderr))
        (void)fprintf(stderr, "\033[%sm%s\033[0m %s\n", colour, label, text);
    else
        (void)fprintf(stderr, "%s %s\n", label, text);
}

static int exit_code(const abx_error *err)
{
    int32_t system_error = abx_error_errno(err);

    switch (abx_error_code(err)) {
    case ABX_E_FORBIDDEN:
    case ABX_E_ESCALATED:
        return EXIT_NOT_RUNNABLE;
    case ABX_E_EXEC:
        return system_error == ENOENT || system_error == ENOTDIR ? EXIT_NOT_FOUND
                                                                 : EXIT_NOT_RUNNABLE;
    default:
        return EXIT_AGENTBOX;
    }
}

int cli_fail(abx_error *err)
{
    int code = exit_code(err);

    for (const abx_error *e = err; e; e = abx_error_next(e)) {
        put_line("31", "agentbox:", abx_error_message(e));
        if (abx_error_hint(e)[0])
            put_line("36", "hint:", abx_error_hint(e));
    }
    abx_error_free(err);
    return code;
}

void cli_hint(const char *hint)
{
    if (hint)
        put_line("36", "hint:", hint);
}

int cli_misuse(const char *hint, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put_line("31", "agentbox:", text);
    cli_hint(hint);
    return EXIT_AGENTBOX;
}

int cli_bad_option(const struct cli_command *command, const struct opt *o, int problem)
{
    char hint[160];
    int len = (int)o->name_len;

    (void)snprintf(hint, sizeof hint, "`agentbox %s --help` lists the options", command->name);
    if (problem == OPT_MISSING_VALUE)
        return cli_misuse(hint, "option %s%.*s needs a value: %s", o->dashes, len, o->name,
                          o->spec->value);
    if (problem == OPT_UNEXPECTED_VALUE)
        return cli_misuse(hint, "option %s%.*s takes no value", o->dashes, len, o->name);
    if (problem == OPT_OPERAND)
        return cli_misuse(hint, "'%s' is not expected here", o->value);
    if (o->nearest)
        (void)snprintf(hint, sizeof hint, "did you mean --%s?", o->nearest);
    return cli_misuse(hint, "option %s%.*s is not known", o->dashes, len, o->name);
}

int cli_help(const struct cli_command *command)
{
    _buf_ struct buf b = { .limit = HELP_MAX };

    (void)buf_printf(&b, "agentbox %s: %s\n\nUsage: agentbox %s\n\n%s%s", command->name,
                     command->summary, command->usage, command->text, command->text[0] ? "\n" : "");
    if (opt_help(&b, command->options, command->option_count) < 0 || b.failed)
        return EXIT_AGENTBOX;
    return fputs(b.data, stdout) < 0 || fflush(stdout) != 0 ? EXIT_AGENTBOX : 0;
}

#define NOTICE_MAX 8
static struct {
    int32_t level;
    char *text;
} notices[NOTICE_MAX];
static size_t notice_count;

void cli_notice(void *user, int32_t level, const char *module, const char *text)
{
    (void)user;
    (void)module;
    if (level == ABX_NOTICE_DEBUG) { /* before the command runs */
        put_line("2", "agentbox: debug:", text);
        return;
    }
    if (level == ABX_NOTICE_VIOLATION || notice_count == NOTICE_MAX)
        return; /* the report at the end has it */
    notices[notice_count].level = level;
    notices[notice_count].text = strdup(text);
    notice_count += notices[notice_count].text != NULL;
}

void cli_flush_notices(void)
{
    for (size_t i = 0; i < notice_count; i++) {
        put_line(notices[i].level == ABX_NOTICE_WARNING ? "33" : "0",
                 "agentbox: note:", notices[i].text);
        free(notices[i].text);
    }
    notice_count = 0;
}
