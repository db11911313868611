/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way from a configuration's bytes to a policy. The first byte chooses format and origin.
 * Wrong texts enter nothing and have a message; right ones are dumped, read back and dumped again,
 * and the two dumps are the same.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/decode.h"
#include "policy/policy.h"
#include "policy/settings_dump.h"

#define FUZZ_TEXT ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void dump(enum origin origin, const char *text, size_t len, enum doc_format format,
                 struct buf *out)
{
    _settings_ struct settings *s = NULL;
    abx_error *err = NULL;

    if (settings_new(origin, &s, NULL) != ABX_OK)
        abort();
    int32_t code = config_decode(s, "f", text, len, format, &err);
    if ((code == ABX_OK) != (err == NULL) || (code != ABX_OK && s->count != 0))
        abort();
    for (const abx_error *e = err; e; e = abx_error_next(e))
        if (!abx_error_message(e)[0])
            abort();
    abx_error_free(err);
    if (code != ABX_OK)
        return;
    _arena_ struct arena arena = { 0 };
    const struct policy *policy = NULL;
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    if ((policy_build(s, NULL, &arena, &policy, NULL) == ABX_OK) != (policy != NULL))
        abort();
    (void)settings_check(s, NULL);
    settings_dump_json(s, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum doc_format formats[] = { DOC_JSON, DOC_JSONC, DOC_YAML };
    _buf_ struct buf once = { .limit = FUZZ_TEXT }, twice = { .limit = FUZZ_TEXT };

    if (size == 0)
        return 0;
    enum origin origin = data[0] & 0x4 ? ORIGIN_SYSTEM : ORIGIN_PROJECT;
    dump(origin, (const char *)data + 1, size - 1, formats[data[0] % 3], &once);
    if (!once.data || once.failed || once.len > DOC_MAX_BYTES)
        return 0;
    dump(origin, once.data, once.len, DOC_JSON, &twice);
    if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
        abort();
    return 0;
}
