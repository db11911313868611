/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers, display and suggestions on any bytes: what is shown is visible UTF-8 and stays the same
 * when shown again; what the JSON writer makes is visible UTF-8 too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

#define FUZZ_MAX_INPUT ((size_t)1 << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_visible(const struct buf *b)
{
    if (b->failed)
        abort();
    for (size_t i = 0; i < b->len;) {
        uint32_t c = 0;
        size_t n = str_utf8(b->data + i, b->len - i, &c);

        if (n == 0 || str_is_invisible(c))
            abort();
        i += n;
    }
}

static void check_display(const char *bytes, size_t size)
{
    _buf_ struct buf once = { .limit = FUZZ_MAX_INPUT * 16 }, twice = once, text = once;
    struct json j;

    (void)str_escape(&once, bytes, size);
    check_visible(&once);
    (void)str_escape(&twice, once.data ? once.data : "", once.len);
    if (once.len != twice.len || (once.len > 0 && memcmp(once.data, twice.data, once.len) != 0))
        abort();
    json_init(&j, &text);
    json_strn(&j, bytes, size);
    check_visible(&text);
}

static void check_numbers(const char *s)
{
    static const char *const names[] = { "network", "filesystem.rw", "rw", "timeout", NULL };
    uint64_t number = 0, bytes = 0;
    int64_t ns = 0;

    if (str_to_u64(s, 1000, &number) && number > 1000)
        abort();
    if (str_to_u64(s, UINT64_MAX, &number) && (!str_to_size(s, &bytes) || bytes != number))
        abort();
    if (str_to_duration(s, &ns) && ns < 0)
        abort();
    (void)str_nearest(s, names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s;

    if (size > FUZZ_MAX_INPUT)
        return 0;
    check_display((const char *)data, size);
    s = malloc(size + 1);
    if (!s)
        return 0;
    if (size > 0)
        memcpy(s, data, size);
    s[size] = '\0';
    check_numbers(s);
    free(s);
    return 0;
}
