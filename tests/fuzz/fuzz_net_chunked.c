/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked bodies of any bytes: the same body, end and verdict, however they are cut into pieces. */
#include <stdlib.h>
#include <string.h>

#include "net/http1.h"

#define FUZZ_MAX 8192

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    enum http1_chunks_step step;
    size_t used, len;
    char body[FUZZ_MAX];
};

static void decode(const char *bytes, size_t size, size_t piece, struct result *ret)
{
    struct http1_chunks k = { 0 };

    *ret = (struct result){ .step = HTTP1_CHUNKS_MORE };
    while (ret->used < size && ret->step != HTTP1_CHUNKS_END && ret->step != HTTP1_CHUNKS_BAD) {
        size_t n = MIN_OF(piece, size - ret->used), used = 0;
        struct span data = { NULL, 0 };

        ret->step = http1_chunks_next(&k, bytes + ret->used, n, &used, &data);
        if (used > n || (used == 0 && ret->step == HTTP1_CHUNKS_MORE))
            abort();
        if (ret->step == HTTP1_CHUNKS_DATA) {
            if (data.len == 0 || data.len > used || ret->len + data.len > size)
                abort();
            memcpy(ret->body + ret->len, data.at, data.len);
            ret->len += data.len;
        }
        ret->used += used;
    }
    if (ret->step == HTTP1_CHUNKS_DATA)
        ret->step = HTTP1_CHUNKS_MORE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 1, 3, 64 };
    static struct result whole, cut;

    if (size > FUZZ_MAX)
        return 0;
    decode((const char *)data, size, FUZZ_MAX, &whole);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        decode((const char *)data, size, pieces[i], &cut);
        if (whole.step != cut.step || whole.used != cut.used || whole.len != cut.len ||
            memcmp(whole.body, cut.body, whole.len) != 0)
            abort();
    }
    return 0;
}
