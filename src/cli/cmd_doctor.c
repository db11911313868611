/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox doctor: one line a layer; below a bad one, what to do. */
#include <stdlib.h>

#include "base/str.h"
#include "cli/simple.h"

static void print_row(const abx_report *r, size_t i)
{
    static const char *const words[] = { "ok", "limited", "missing" };
    static const char *const colours[] = { "32", "33", "31" };
    int32_t status = abx_report_layer_status(r, i);

    if (cli_colours(stdout))
        (void)printf("  \033[%sm%-8s\033[0m", colours[status], words[status]);
    else
        (void)printf("  %-8s", words[status]);
    (void)printf("%-10s %s\n", abx_report_layer_name(r, i), abx_report_layer_detail(r, i));
    if (abx_report_layer_hint(r, i)[0])
        (void)printf("          hint: %s\n", abx_report_layer_hint(r, i));
}

static int print_text(const abx_report *r)
{
    bool native = str_eq(abx_report_backend(r), "native");

    (void)printf("agentbox %s\n\n", abx_version());
    for (size_t i = 0; i < abx_report_layers(r); i++)
        print_row(r, i);
    bool landlock = str_eq(abx_report_backend(r), "landlock");

    (void)printf("\nBack end: %s.\n", native     ? "native, all layers"
                                      : landlock ? "landlock, which cannot promise everything"
                                                 : "none: a layer is missing");
    if (!native)
        (void)printf("`agentbox run` refuses to start here%s. To run with what there is: "
                     "--set fallbackPolicy=warn\n",
                     landlock ? ", and says what would not hold" : "");
    (void)printf("Monitor: %s.\n",
                 str_eq(abx_report_monitor(r), "notify")
                     ? "notify, refusals are explained; refused reads only with --set monitor=learn"
                     : "none: the kernel, or a sandbox around us, gives no notifications");
    (void)printf("Not in this version: the filtering proxy (network is blocked or allowed).\n");
    return native ? 0 : 1;
}

CLI_COMMAND(doctor)
{
    abx_error *err = NULL;
    abx_report *report;
    bool json = false;
    char *text;
    int code = simple_read(command, argc, argv, &json, NULL);

    if (code)
        return code - 1;
    if (abx_probe(1, &report, &err) != ABX_OK)
        return cli_fail(err);
    if (!json) {
        code = print_text(report);
    } else if (abx_report_json(report, &text, &err) == ABX_OK) {
        (void)fputs(text, stdout);
        abx_free(text);
        code = str_eq(abx_report_backend(report), "native") ? 0 : 1;
    } else {
        code = cli_fail(err);
    }
    abx_report_free(report);
    return code;
}
