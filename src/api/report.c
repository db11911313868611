/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a report, and its JSON. */
#include "api/report.h"

#include <stdlib.h>

#include "api/internal.h"
#include "base/json.h"

struct report_row *report_add(abx_report *r, const char *name, int32_t status)
{
    struct report_row *row = &r->rows[r->count++];

    row->name = name;
    row->status = status;
    row->hint = "";
    return row;
}

const char *abx_report_backend(const abx_report *r)
{
    if (!r)
        return "none";
    return r->native ? "native" : r->bwrap ? "bwrap" : r->landlock ? "landlock" : "none";
}

const char *abx_report_monitor(const abx_report *r)
{
    return r && r->notify && (r->native || r->bwrap) ? "notify" : "none";
}

size_t abx_report_layers(const abx_report *r)
{
    return r ? r->count : 0;
}

const char *abx_report_layer_name(const abx_report *r, size_t i)
{
    return r && i < r->count ? r->rows[i].name : "";
}

int32_t abx_report_layer_status(const abx_report *r, size_t i)
{
    return r && i < r->count ? r->rows[i].status : ABX_STATUS_MISSING;
}

const char *abx_report_layer_detail(const abx_report *r, size_t i)
{
    return r && i < r->count ? r->rows[i].detail : "";
}

const char *abx_report_layer_hint(const abx_report *r, size_t i)
{
    return r && i < r->count ? r->rows[i].hint : "";
}

int32_t abx_report_json(const abx_report *r, char **ret_text, abx_error **err)
{
    static const char *const words[] = { "ok", "limited", "missing" };
    _buf_ struct buf b = { .limit = 1 << 20 };
    struct json j;

    if (!r || !ret_text)
        return err_new(err, ABX_E_INVALID, "print a report: there is none");
    json_init(&j, &b);
    json_object(&j);
    json_pair_str(&j, "backend", abx_report_backend(r));
    json_key(&j, "layers");
    json_array(&j);
    for (size_t i = 0; i < r->count; i++) {
        json_object(&j);
        json_pair_str(&j, "name", r->rows[i].name);
        json_pair_str(&j, "status", words[r->rows[i].status]);
        json_pair_str(&j, "detail", r->rows[i].detail);
        json_pair_str(&j, "hint", r->rows[i].hint);
        json_object_end(&j);
    }
    json_array_end(&j);
    json_pair_str(&j, "monitor", abx_report_monitor(r));
    json_object_end(&j);
    (void)buf_putc(&b, '\n');
    return take_text(&b, ret_text, err);
}

void abx_report_free(abx_report *r)
{
    free(r);
}
