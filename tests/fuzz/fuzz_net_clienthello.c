/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of any bytes: the same answer, however it is cut; a name is a host. */
#include <stdlib.h>
#include <string.h>

#include "net/clienthello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct clienthello *c, const uint8_t *data, size_t size, size_t piece)
{
    memset(c, 0, sizeof *c);
    for (size_t at = 0; at < size; at += piece)
        (void)clienthello_feed(c, data + at, MIN_OF(piece, size - at));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 1, 5, 100 };
    struct clienthello whole, cut;

    feed(&whole, data, size, size > 0 ? size : 1);
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
        feed(&cut, data, size, pieces[i]);
        if (cut.step != whole.step || cut.has_host != whole.has_host ||
            (whole.has_host && !host_eq(&cut.host, &whole.host)))
            abort();
    }
    if (whole.step == CLIENTHELLO_NAME && !whole.has_host)
        abort();
    if (whole.step == CLIENTHELLO_ECH && !whole.has_ech)
        abort();
    if (whole.has_host && (whole.host.len == 0 || strlen(whole.host.text) != whole.host.len))
        abort();
    return 0;
}
