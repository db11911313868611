/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program is the library's first binding: it uses agentbox.h and a few pure helpers of base/,
 * so what it can do, any program can. One cmd_*.c a command; commands.def lists them.
 */
#ifndef ABX_CLI_CLI_H
#define ABX_CLI_CLI_H

#include <stdio.h>

#include "agentbox/agentbox.h"
#include "base/defs.h"
#include "base/opt.h"

#define EXIT_TIMED_OUT    124
#define EXIT_AGENTBOX     125 /* misuse, or the sandbox could not be set up */
#define EXIT_NOT_RUNNABLE 126
#define EXIT_NOT_FOUND    127

struct cli_command {
    const char *name;
    int (*run)(const struct cli_command *command, int argc, char **argv); /* argv[0]: the name */
    const char *words;   /* "list|forget": what comes first behind the options; may be "" */
    const char *usage;   /* behind "agentbox " */
    const char *summary; /* one line */
    const char *text;    /* paragraphs and examples for --help; may be "" */
    const struct opt_spec *options;
    size_t option_count;
};
const struct cli_command *cli_commands(size_t *ret_count);
const struct cli_command *cli_find(const char *name);
/* The command that was perhaps meant, or NULL. */
const char *cli_nearest(const char *name);

/* ---- print.c ---- */
/* Prints an error and its hints to stderr; returns the exit code for it. Takes the error. */
int cli_fail(abx_error *err);
/* The same for a value that an option was given: its name, without dashes, stands in front. */
int cli_fail_option(abx_error *err, const char *option);
/* "agentbox: …" and "hint: …" for the program's own misuse; hint may be NULL. Returns 125. */
int cli_misuse(const char *hint, const char *fmt, ...) ATTR_PRINTF(2, 3);
/* What opt_next complained about. Returns 125. */
int cli_bad_option(const struct cli_command *command, const struct opt *o, int problem);
/* "hint: …" behind an error that has none of its own; NULL: nothing. */
void cli_hint(const char *hint);
int cli_help(const struct cli_command *command);
/* Writes out what was printed; true, after a complaint, if that or something before it failed. */
bool cli_output_is_lost(void);
/* An abx_notice_fn. Notices wait for cli_flush_notices: nothing of ours gets into a command's
 * output. */
void cli_notice(void *user, int32_t level, const char *module, const char *text);
void cli_flush_notices(void);
bool cli_colours(FILE *stream);
/* Columns for text on the standard output: COLUMNS, or the terminal's; 40 to 80. */
size_t cli_width(void);

#define CLI_COMMAND(name) int cmd_##name(const struct cli_command *command, int argc, char **argv)
CLI_COMMAND(run);
CLI_COMMAND(check);
CLI_COMMAND(plan);
CLI_COMMAND(why);
CLI_COMMAND(config);
CLI_COMMAND(doctor);
CLI_COMMAND(proxy);
CLI_COMMAND(init);
CLI_COMMAND(import);
CLI_COMMAND(bridge);
CLI_COMMAND(inside);
CLI_COMMAND(learn);
CLI_COMMAND(log);
CLI_COMMAND(approvals);
CLI_COMMAND(rules);
CLI_COMMAND(completion);
CLI_COMMAND(version);
CLI_COMMAND(help);

#endif
