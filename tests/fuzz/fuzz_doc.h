/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for every document, whatever it was read from. */
#ifndef ABX_TESTS_FUZZ_DOC_H
#define ABX_TESTS_FUZZ_DOC_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/doc.h"
#include "base/str.h"

#define FUZZ_ARENA ((size_t)64 << 20)
#define FUZZ_TEXT  ((size_t)64 << 20)

static inline void fuzz_text(struct buf *out, const char *text)
{
    size_t len = strlen(text);

    (void)buf_putc(out, '"');
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        size_t n = str_utf8(text + i, len - i, &c);

        if (n == 0)
            abort();
        if (c < 0x20 || c == '"' || c == '\\')
            (void)buf_printf(out, "\\u%04x", (unsigned)c);
        else
            (void)buf_append(out, text + i, n);
        i += n;
    }
    (void)buf_putc(out, '"');
}

static inline void fuzz_write(struct buf *out, const struct doc_node *node, unsigned depth)
{
    size_t children = 0;

    if (depth > DOC_MAX_DEPTH || node->place.line == 0 || node->place.column == 0)
        abort();
    if (node->type == DOC_STRING)
        fuzz_text(out, node->text);
    else if (node->type < DOC_LIST)
        (void)buf_puts(out, node->type == DOC_NULL ? "null" : node->text);
    if (node->type < DOC_LIST)
        return;
    (void)buf_putc(out, node->type == DOC_MAP ? '{' : '[');
    for (const struct doc_node *child = node->first; child; child = child->next, children++) {
        (void)buf_puts(out, children ? "," : "");
        if ((node->type == DOC_MAP) != (child->key != NULL))
            abort();
        if (child->key) {
            fuzz_text(out, child->key);
            (void)buf_putc(out, ':');
        }
        fuzz_write(out, child, depth + 1);
    }
    if (children != node->count)
        abort();
    (void)buf_putc(out, node->type == DOC_MAP ? '}' : ']');
}

/* Whether the text is taken. One that is, is written as JSON, read again and written again. */
static inline bool fuzz_doc(const char *text, size_t len, enum doc_format format)
{
    _arena_ struct arena arena = { 0 }, other = { 0 };
    _buf_ struct buf once = { .limit = FUZZ_TEXT }, twice = { .limit = FUZZ_TEXT };
    struct doc doc;

    arena_init(&arena, FUZZ_ARENA);
    arena_init(&other, FUZZ_ARENA);
    int r = doc_read(&arena, text, len, format, &doc);
    if ((r == 0) != (doc.root && doc.problem_count == 0) || (r < 0 && r != -EBADMSG))
        abort();
    for (size_t i = 0; i < MIN_OF(doc.problem_count, DOC_MAX_PROBLEMS); i++)
        if (!doc.problems[i].what || doc.problems[i].place.line == 0)
            abort();
    if (r < 0)
        return false;
    fuzz_write(&once, doc.root, 0);
    if (once.failed || once.len > DOC_MAX_BYTES)
        return true;
    if (doc_read(&other, once.data, once.len, DOC_JSON, &doc) != 0)
        abort();
    fuzz_write(&twice, doc.root, 0);
    if (once.len != twice.len || memcmp(once.data, twice.data, once.len) != 0)
        abort();
    return true;
}

#endif
