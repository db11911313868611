/* SPDX-License-Identifier: Apache-2.0 */
/* The options that run and plan share: read once, turned into a wrapped command. */
#ifndef ABX_CLI_RUN_OPTIONS_H
#define ABX_CLI_RUN_OPTIONS_H

#include "cli/cli.h"

extern const struct opt_spec run_options[];
extern const size_t run_option_count;

struct run_options {
    abx_command *command;
    abx_manager *manager;
    const char *result_path;
    int result_fd; /* once it was opened */
    const char *format;
    bool dry_run, quiet, help;
};

/*
 * Reads argv; program_needed: without a program or -c it is misuse, otherwise a plan of /bin/true
 * is made. Returns 0, or an exit code after the complaint was printed. Release with
 * run_options_done.
 */
int run_options_read(struct run_options *o, const struct cli_command *command, int argc,
                     char **argv, bool program_needed);
void run_options_done(struct run_options *o);

#endif
