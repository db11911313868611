/* SPDX-License-Identifier: Apache-2.0 */
/* What the program says about itself: errors with hints, help, notices. Always on stderr, except
 * help. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"

#define HELP_MAX    65536
#define MESSAGE_MAX ((size_t)65536) /* of our own; the library's may be longer */
#define WIDTH_MIN   40

/* no-color.org; CLICOLOR_FORCE asks for them without a terminal, too (a pager, the log of a CI). */
bool cli_colours(FILE *stream)
{
    const char *no = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE"), *term = getenv("TERM");

    if (no && no[0])
        return false;
    if (force && force[0] && !str_eq(force, "0"))
        return true;
    return isatty(fileno(stream)) && !(term && str_eq(term, "dumb"));
}

size_t cli_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    uint64_t width = 0;

    if (!columns || !str_to_u64(columns, UINT32_MAX, &width))
        width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
    return width == 0 ? OPT_HELP_WIDTH : MAX_OF(MIN_OF((size_t)width, OPT_HELP_WIDTH), WIDTH_MIN);
}

static void put_line(const char *colour, const char *label, const char *text)
{
    if (cli_colours(stderr))
        (void)fprintf(stderr, "\033[%sm%s\033[0m %s\n", colour, label, text);
    else
        (void)fprintf(stderr, "%s %s\n", label, text);
}

void cli_hint(const char *hint)
{
    if (hint && hint[0])
        put_line("36", "hint:", hint);
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

int cli_fail_option(abx_error *err, const char *option)
{
    _buf_ struct buf text = { .limit = MESSAGE_MAX };
    int code = exit_code(err);

    (void)buf_printf(&text, "--%s: %s", option, abx_error_message(err));
    put_line("31", "agentbox:", text.failed ? abx_error_message(err) : text.data);
    cli_hint(abx_error_hint(err));
    abx_error_free(err);
    return code;
}

int cli_fail(abx_error *err)
{
    int code = exit_code(err);

    for (const abx_error *e = err; e; e = abx_error_next(e)) {
        put_line("31", "agentbox:", abx_error_message(e));
        cli_hint(abx_error_hint(e));
    }
    abx_error_free(err);
    return code;
}

int cli_misuse(const char *hint, const char *fmt, ...)
{
    _buf_ struct buf raw = { .limit = MESSAGE_MAX }, text = { .limit = 4 * MESSAGE_MAX };
    va_list args;

    va_start(args, fmt);
    (void)buf_vprintf(&raw, fmt, args);
    va_end(args);
    if (!raw.failed)
        (void)str_escape(&text, raw.data, raw.len);
    put_line("31", "agentbox:", raw.failed || text.failed ? fmt : text.data);
    cli_hint(hint);
    return EXIT_AGENTBOX;
}

/* ---- options that are not known ---- */

static bool has_option(const struct cli_command *command, const char *name, size_t len)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const struct opt_spec *spec = &command->options[i];

        if (spec->long_name && spec->help && strlen(spec->long_name) == len &&
            memcmp(spec->long_name, name, len) == 0)
            return true;
    }
    return false;
}

/* The command's option for what was tried, or NULL. */
static const char *find_instead(const struct cli_command *command, const char *name, size_t len)
{
    static const char *const rows[][2] = {
#define INSTEAD(tried, option) { tried, option },
#include "cli/instead.def"
#undef INSTEAD
    };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strlen(rows[i][0]) == len && memcmp(rows[i][0], name, len) == 0 &&
            has_option(command, rows[i][1], strlen(rows[i][1])))
            return rows[i][1];
    return NULL;
}

/* The first command that has it, or NULL. */
static const char *find_owner(const char *name, size_t len)
{
    size_t count;
    const struct cli_command *all = cli_commands(&count);

    for (size_t i = 0; i < count; i++)
        if (has_option(&all[i], name, len))
            return all[i].name;
    return NULL;
}

/* What was perhaps meant, or whose option it is; otherwise the hint stays. */
static void hint_unknown(const struct cli_command *command, const struct opt *o, char *hint,
                         size_t size)
{
    const bool is_long = str_eq(o->dashes, "--");
    const char *owner = is_long ? find_owner(o->name, o->name_len) : NULL;
    const char *instead = is_long ? find_instead(command, o->name, o->name_len) : NULL;
    const int len = (int)o->name_len;

    if (instead && owner)
        (void)snprintf(hint, size, "--%.*s is an option of `agentbox %s`; for `%s` use --%s", len,
                       o->name, owner, command->name, instead);
    else if (instead || o->nearest)
        (void)snprintf(hint, size, "did you mean --%s?", instead ? instead : o->nearest);
    else if (owner)
        (void)snprintf(hint, size,
                       "--%.*s is an option of `agentbox %s`; `agentbox %s --help` lists those of "
                       "`%s`",
                       len, o->name, owner, command->name, command->name);
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
    hint_unknown(command, o, hint, sizeof hint);
    return cli_misuse(hint, "option %s%.*s is not known", o->dashes, len, o->name);
}

bool cli_output_is_lost(void)
{
    bool failed_before = ferror(stdout) != 0;

    errno = 0;
    if (fflush(stdout) == 0 && !failed_before)
        return false;
    (void)cli_misuse("is it open, and is there room for more?", "write to the standard output: %s",
                     errno ? strerrordesc_np(errno) : "a part is lost");
    return true;
}

/*
 * Paragraphs, each broken at `width` whatever its lines are in the table; what is indented
 * (examples, lists) stays as it is.
 */
static void put_text(struct buf *b, const char *text, size_t width)
{
    _buf_ struct buf paragraph = { .limit = HELP_MAX };

    while (*text) {
        size_t len = strcspn(text, "\n");
        bool prose = len > 0 && text[0] != ' ';

        if (prose)
            (void)buf_printf(&paragraph, "%s%.*s", paragraph.len ? " " : "", (int)len, text);
        else
            (void)buf_printf(b, "%.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
        if (prose && (!*text || *text == '\n' || *text == ' ')) {
            opt_put_words(b, paragraph.failed ? "" : paragraph.data, 0, width);
            paragraph.len = 0;
        }
    }
    (void)buf_puts(b, "\n");
}

int cli_help(const struct cli_command *command)
{
    _buf_ struct buf b = { .limit = HELP_MAX };
    size_t width = cli_width();

    (void)buf_printf(&b, "agentbox %s: ", command->name);
    opt_put_words(&b, command->summary, 0, width - MIN_OF(b.len, width));
    (void)buf_printf(&b, "\nUsage: agentbox %s\n\n", command->usage);
    if (command->text[0])
        put_text(&b, command->text, width);
    if (opt_help(&b, command->options, command->option_count, width) < 0 || b.failed)
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
