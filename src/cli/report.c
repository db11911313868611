/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was refused, on the standard error. For a person at a terminal a line each; for whoever
 * reads our output, an agent mostly, the same lines in a block that can be found. Texts come from
 * inside the sandbox and are escaped by the library.
 */
#include "cli/report.h"

#include <unistd.h>

#define REPORT_LINES 10 /* all in all */

static void report_block(const abx_result *result)
{
    char *text = NULL;

    /* The two tags, how many more, how many were not looked at. */
    if (abx_result_violations_text(result, REPORT_LINES - 4, &text, NULL) == ABX_OK)
        (void)fputs(text, stderr);
    abx_free(text);
}

static void report_lines(const abx_result *result)
{
    const char *label = cli_colours(stderr) ? "\033[33magentbox: refused:\033[0m"
                                            : "agentbox: refused:";
    const size_t count = abx_result_violations(result), most = REPORT_LINES - 2;
    const size_t shown = count > most ? most : count;
    const uint64_t dropped = abx_result_violations_dropped(result);

    for (size_t i = 0; i < shown; i++) {
        const abx_violation *v = abx_result_violation(result, i);
        const uint64_t times = abx_violation_count(v);

        (void)fprintf(stderr, "%s %s", label, abx_violation_text(v));
        if (times > 1)
            (void)fprintf(stderr, " (%ju times)", (uintmax_t)times);
        (void)fputc('\n', stderr);
    }
    if (count > shown)
        (void)fprintf(stderr, "%s and %zu more (agentbox log)\n", label, count - shown);
    if (dropped)
        (void)fprintf(stderr, "%s %ju attempts were not looked at: too many\n", label,
                      (uintmax_t)dropped);
}

void report_violations(const abx_result *result)
{
    if (isatty(STDERR_FILENO))
        report_lines(result);
    else
        report_block(result);
}
