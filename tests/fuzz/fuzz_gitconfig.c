/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Git's configuration of any bytes: no read behind the end, as many entries as lines at most, keys
 * and sections in lower case, values without a line end unless one was written as an escape.
 */
#include <stdlib.h>
#include <string.h>

#include "probe/gitconfig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_lower(const char *s)
{
    for (; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            return false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _arena_ struct arena arena = { 0 };
    char *text = malloc(size ? size : 1); /* of its own size, so that a sanitizer sees the end */
    struct gitconfig parser;
    struct gitconfig_entry entry;
    size_t count = 0, lines = 1;

    arena_init(&arena, (size_t)64 << 20);
    if (text) {
        if (size)
            memcpy(text, data, size);
        for (size_t i = 0; i < size; i++)
            lines += text[i] == '\n' || text[i] == ']';
        gitconfig_init(&parser, &arena, text, size);
        while (gitconfig_next(&parser, &entry)) {
            count++;
            if (!is_lower(entry.section) || !is_lower(entry.key) || !entry.key[0] ||
                strlen(entry.value) > size || count > lines)
                abort();
        }
        if (!parser.failed && parser.at != text + size)
            abort();
    }
    free(text);
    return 0;
}
