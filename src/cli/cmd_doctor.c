/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox doctor: one line a layer; below a bad one, what to do. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/simple.h"

#define HINT_COLUMN   10
#define DETAIL_COLUMN 21

static void print_words(const char *text, size_t column)
{
    _buf_ struct buf b = { .limit = (size_t)1 << 20 };

    opt_put_words(&b, text, column, cli_width());
    (void)fputs(b.failed ? text : b.data, stdout);
}

static void print_row(const abx_report *r, size_t i)
{
    static const char *const words[] = { "ok", "limited", "missing" };
    static const char *const colours[] = { "32", "33", "31" };
    int32_t status = abx_report_layer_status(r, i);
    const char *hint = abx_report_layer_hint(r, i);

    if (cli_colours(stdout))
        (void)printf("  \033[%sm%-8s\033[0m", colours[status], words[status]);
    else
        (void)printf("  %-8s", words[status]);
    (void)printf("%-10s ", abx_report_layer_name(r, i));
    print_words(abx_report_layer_detail(r, i), DETAIL_COLUMN);
    if (!hint[0])
        return;
    (void)printf("%*shint: ", HINT_COLUMN, "");
    print_words(hint, HINT_COLUMN + strlen("hint: "));
}

static int32_t status_of(const abx_report *r, const char *layer)
{
    for (size_t i = 0; i < abx_report_layers(r); i++)
        if (str_eq(abx_report_layer_name(r, i), layer))
            return abx_report_layer_status(r, i);
    return ABX_STATUS_OK;
}

static bool is_missing(const abx_report *r, const char *layer)
{
    return status_of(r, layer) == ABX_STATUS_MISSING;
}

/* Whether a run starts here, under the strict policy. */
static bool is_whole(const abx_report *r)
{
    const char *backend = abx_report_backend(r);

    return str_eq(backend, "native") ||
           (str_eq(backend, "bwrap") && status_of(r, "bwrap") == ABX_STATUS_OK) ||
           (str_eq(backend, "landlock") && abx_inside() == 1);
}

/* Whether a run without some of its layers is possible. */
static bool can_do_with_less(const abx_report *r)
{
    return !str_eq(abx_report_backend(r), "none") ||
           (!is_missing(r, "mounts") && !is_missing(r, "close_range") &&
            !is_missing(r, "pidfd_open"));
}

static const char *monitor_text(const abx_report *r)
{
    const char *backend = abx_report_backend(r);

    if (str_eq(backend, "landlock"))
        return "none: Landlock alone explains no refusal.";
    if (str_eq(backend, "none"))
        return "none: without all layers no refusal is explained.";
    if (!str_eq(abx_report_monitor(r), "notify"))
        return "none: no refusal is explained; the kernel, or a sandbox around this one, gives no "
               "notifications: use kernel 5.14 or newer, or let the filter around this have none.";
    if (str_eq(backend, "bwrap"))
        return "notify: refusals are explained; those to read what is hidden only with --set "
               "monitor=learn.";
    return access("/dev/fuse", R_OK | W_OK) == 0
               ? "notify: refusals are explained, also those to read what is hidden."
               : "notify: refusals are explained; those to read what is hidden only with --set "
                 "monitor=learn (/dev/fuse cannot be opened).";
}

static const char *backend_text(const abx_report *r)
{
    const char *backend = abx_report_backend(r);

    if (str_eq(backend, "native"))
        return "native, all layers.";
    if (str_eq(backend, "bwrap") && is_whole(r))
        return "bwrap, all layers; namespaces and mounts are made by bubblewrap. What the host "
               "mounts later is seen; a rule through a symlink, or a covered command that is one, "
               "is refused.";
    if (str_eq(backend, "bwrap"))
        return "bwrap, which cannot promise everything to root.";
    if (str_eq(backend, "landlock") && is_whole(r))
        return "landlock: this is a sandbox already, and a run inside it only narrows; no hosts "
               "chosen anew, no guards and wrappers of commands.";
    return str_eq(backend, "landlock")
               ? "landlock, which cannot promise everything: see what is missing."
               : "none: a layer is missing.";
}

static int print_text(const abx_report *r)
{
    (void)printf("agentbox %s\n\n", abx_version());
    for (size_t i = 0; i < abx_report_layers(r); i++)
        print_row(r, i);
    (void)printf("\nBack end: ");
    print_words(backend_text(r), strlen("Back end: "));
    if (!can_do_with_less(r))
        print_words("`agentbox run` refuses to start here, under every policy.", 0);
    else if (!is_whole(r))
        print_words(!str_eq(abx_report_backend(r), "none")
                        ? "`agentbox run` refuses to start here, and says what would not hold. "
                          "To run with what there is: --set fallbackPolicy=warn"
                        : "`agentbox run` refuses to start here. To run with what there is: "
                          "--set fallbackPolicy=warn",
                    0);
    (void)printf("Monitor: ");
    print_words(monitor_text(r), strlen("Monitor: "));
    return is_whole(r) ? 0 : 1;
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
        code = is_whole(report) ? 0 : 1;
    } else {
        code = cli_fail(err);
    }
    abx_report_free(report);
    return code;
}
