/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another program's configuration to ours. The first byte says whether a run follows. Wrong texts
 * enter nothing and have a message; what comes out of right ones is a configuration of ours.
 */
#include <stdlib.h>

#include "policy/decode.h"
#include "policy/import.h"
#include "policy/settings_dump.h"

#define FUZZ_TEXT ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_back(const struct settings *settings)
{
    _buf_ struct buf json = { .limit = FUZZ_TEXT };
    _settings_ struct settings *again = NULL;
    abx_error *err = NULL;

    settings_dump_json(settings, &json);
    if (json.failed || json.len > DOC_MAX_BYTES)
        return;
    if (settings_new(ORIGIN_PROJECT, &again, NULL) != ABX_OK ||
        config_decode(again, "f", json.data, json.len, DOC_JSON, &err) != ABX_OK)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _settings_ struct settings *settings = NULL;
    _err_ abx_error *notes = NULL, *err = NULL;

    if (size == 0)
        return 0;
    const struct import_request request = { .name = "f",
                                            .text = (const char *)data + 1,
                                            .len = size - 1,
                                            .cwd = "/home/u/p",
                                            .home = data[0] & 2 ? NULL : "/home/u",
                                            .strict = data[0] & 1 };
    if (settings_new(ORIGIN_PROJECT, &settings, NULL) != ABX_OK)
        abort();
    int32_t code = import_decode(settings, &request, &notes, &err);
    if ((code == ABX_OK) != (err == NULL) ||
        (code != ABX_OK && (settings->count != 0 || notes != NULL)))
        abort();
    for (const abx_error *e = err ? err : notes; e; e = abx_error_next(e))
        if (!abx_error_message(e)[0])
            abort();
    if (code == ABX_OK)
        read_back(settings);
    return 0;
}
