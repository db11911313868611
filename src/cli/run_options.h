/* SPDX-License-Identifier: Apache-2.0 */
/* The options that run, plan and why share: read once, turned into a command and its manager. */
#ifndef ABX_CLI_RUN_OPTIONS_H
#define ABX_CLI_RUN_OPTIONS_H

#include "cli/approve.h"
#include "cli/cli.h"

extern const struct opt_spec run_options[];
extern const size_t run_option_count;

/* What stands behind the options. */
enum run_shape {
    RUN_PROGRAM,  /* a program, or -c TEXT */
    RUN_LESSON,   /* the same; nobody is asked about hosts, whose refusal is what is learned */
    RUN_OPTIONAL, /* the same, or nothing: then /bin/true is meant */
    RUN_OPERANDS, /* words that the caller reads; options may stand among them */
};

struct run_options {
    abx_command *command;
    abx_manager *manager;
    const char *cwd; /* -C; NULL: our own */
    const char *result_path;
    int result_fd; /* once it was opened */
    const char *format;
    const char *max_output; /* NULL: the streams are the command's own */
    struct approver approver;
    bool format_given, dry_run, quiet, help, debug;
    const char **operands; /* RUN_OPERANDS */
    size_t operand_count;
};

/*
 * Reads argv. Returns 0, or an exit code after the complaint was printed. Release with
 * run_options_done.
 */
int run_options_read(struct run_options *o, const struct cli_command *command, int argc,
                     char **argv, enum run_shape shape);
void run_options_done(struct run_options *o);

/* --set KEY=VALUE: a list is appended to, anything else is set. 0, or an exit code. */
int option_set(abx_config *config, const char *text);
int option_set_command(abx_command *command, const char *text);

/* Loads the layers as --config and --no-config say; either may be absent. */
int load_config(const char *cwd, const char *file, bool none, abx_config **ret);
/* The same for --settings FILE; the others are what --config and --no-config said. */
int load_settings(const char *cwd, const char *file, const char *config_file, bool none,
                  abx_config **ret);

#endif
