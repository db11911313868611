/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns and texts of any bytes: the first newline divides them. No read beyond either, no more
 * steps than promised, invalid patterns match nothing, and the pattern in parts (what a walk has)
 * says the same as the whole one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Component by component; the states may run out only where nothing below can match. */
static void check_parts(const char *pattern, size_t pattern_len, const char *text, size_t text_len,
                        bool matched)
{
    _arena_ struct arena arena = { 0 };
    struct glob_parts parts;
    bool match = false;

    arena_init(&arena, (size_t)1 << 20);
    if (glob_split(&arena, pattern, pattern_len, &parts) < 0)
        return;
    uint64_t states = glob_begin(&parts);
    for (size_t at = 0, n; at <= text_len; at += n + 1) {
        const char *slash = at < text_len ? memchr(text + at, '/', text_len - at) : NULL;
        n = slash ? (size_t)(slash - text) - at : text_len - at;
        if (n == 0)
            return; /* no file has an empty name */
        states = glob_advance(&parts, states, text + at, n, &match);
        if (match != glob_match(pattern, pattern_len, text, at + n))
            abort();
    }
    if (match != matched)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t pattern_len = newline ? (size_t)(newline - data) : size;
    size_t text_len = newline ? size - pattern_len - 1 : 0;
    /* Copies of their own size, so that a sanitizer sees the end of each. */
    char *pattern = malloc(pattern_len + 1), *text = malloc(text_len + 1);
    uint64_t steps = 0;

    if (pattern && text) {
        if (pattern_len > 0)
            memcpy(pattern, data, pattern_len);
        if (text_len > 0)
            memcpy(text, newline + 1, text_len);
        bool matched = glob_match_steps(pattern, pattern_len, text, text_len, &steps);

        if (steps > 4 * (uint64_t)(pattern_len + 1) * (text_len + 1))
            abort();
        if (matched && glob_check(pattern, pattern_len) < 0)
            abort();
        if (!glob_is_pattern(pattern, pattern_len) && !memchr(pattern, '\0', pattern_len) &&
            pattern_len <= GLOB_MAX_PATTERN &&
            matched != (pattern_len == text_len && memcmp(pattern, text, text_len) == 0))
            abort();
        if (pattern_len < 512 && text_len < 512)
            check_parts(pattern, pattern_len, text, text_len, matched);
    }
    free(pattern);
    free(text);
    return 0;
}
