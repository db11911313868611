/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of YAML on any bytes: a tree within its limits, or problems; and back as JSON. */
#include "fuzz_doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)fuzz_doc((const char *)data, size, DOC_YAML);
    return 0;
}
