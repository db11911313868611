/* SPDX-License-Identifier: Apache-2.0 */
/* What abx_probe found out; each system fills it (probe.c, probe_darwin.c). */
#ifndef ABX_API_REPORT_H
#define ABX_API_REPORT_H

#include "agentbox/agentbox.h"
#include "base/defs.h"

#define REPORT_ROWS 12

struct report_row {
    const char *name;
    int32_t status;
    char detail[160];
    const char *hint;
};

struct abx_report {
    bool native, landlock, notify;
    bool inner; /* in another sandbox that lets no namespace be made */
    struct report_row rows[REPORT_ROWS];
    size_t count;
};

struct report_row *report_add(abx_report *r, const char *name, int32_t status);

#endif
