/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of JSON and JSONC on any bytes: no problem means a tree within its limits whose texts
 * are UTF-8; what JSON takes, JSONC takes too; what was taken, written again, reads the same.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool plain = fuzz_doc((const char *)data, size, DOC_JSON);
    bool extended = fuzz_doc((const char *)data, size, DOC_JSONC);

    if (plain && !extended)
        abort();
    return 0;
}
