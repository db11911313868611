/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abx_probe on macOS. Whether a profile can be applied is known only by applying one, for good; so
 * what is looked at is what a run needs: its launcher. The rest is what every macOS has.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/internal.h"
#include "api/report.h"
#include "run/image.h"

int32_t abx_probe(int32_t refresh, abx_report **ret_report, abx_error **err)
{
    _err_ abx_error *why = NULL;
    struct image image;

    (void)refresh; /* nothing is remembered */
    if (!ret_report)
        return err_new(err, ABX_E_INVALID, "probe: no place for the report");
    abx_report *r = calloc(1, sizeof *r);
    if (!r)
        return err_nomem(err);
    image_init(&image, NULL);
    r->native = image_ready(&image, &why) == ABX_OK;
    image_done(&image);
    struct report_row *row = report_add(r, "seatbelt",
                                        r->native ? ABX_STATUS_OK : ABX_STATUS_MISSING);
    (void)snprintf(row->detail, sizeof row->detail, "%s",
                   r->native ? "files, network and services by a profile of the kernel"
                             : "the launcher is not installed");
    if (!r->native)
        row->hint = "install agentbox with its launcher (libexec/agentbox/abx-launcher)";
    row = report_add(r, "limits", ABX_STATUS_LIMITED);
    (void)snprintf(row->detail, sizeof row->detail,
                   "processes, files and cpu time by rlimits; memory is not limited");
    row->hint = "macOS has no limit of memory that holds; docs/macos.md";
    *ret_report = r;
    return ABX_OK;
}
