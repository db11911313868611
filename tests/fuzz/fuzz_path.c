/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of any bytes but NUL, the first newline divides base and path: what is cleaned is clean,
 * cleaning it again changes nothing, parents lie above, and the order of paths puts a directory
 * before what lies below it and nothing in between.
 */
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "policy/precedence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool claim)
{
    if (!claim)
        abort();
}

static void check_parents(struct arena *a, const char *path)
{
    size_t depth = path_depth(path);

    for (const char *at = path; at[1]; depth--) {
        const char *parent = path_parent(a, at);
        if (!parent)
            return;
        check(path_is_clean(parent) && path_is_beneath(path, parent));
        check(!path_is_beneath(parent, at) && path_depth(parent) + 1 == path_depth(at));
        const char *again = path_join(a, parent, path_basename(at));
        check(!again || strcmp(again, at) == 0);
        check(precedence_path_order(parent, path) < 0 && precedence_path_order(path, parent) > 0);
        at = parent;
    }
    check(depth == 0);
}

static void check_pair(const char *a, const char *b)
{
    int order = precedence_path_order(a, b);

    check((order == 0) == (strcmp(a, b) == 0));
    check((order < 0) == (precedence_path_order(b, a) > 0));
    if (path_is_beneath(a, b))
        check(order >= 0);
    if (path_is_beneath(a, b) && path_is_beneath(b, a))
        check(order == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _arena_ struct arena a = { 0 };
    const uint8_t *newline = size > 0 ? memchr(data, '\n', size) : NULL;
    size_t first = newline ? (size_t)(newline - data) : size;

    arena_init(&a, (size_t)16 << 20);
    if (size > 4096 || (size && memchr(data, '\0', size)))
        return 0;
    const char *base = arena_strndup(&a, (const char *)data, first);
    const char *text = newline ? arena_strndup(&a, (const char *)newline + 1, size - first - 1)
                               : "";
    const char *root = base ? path_clean(&a, "/", base) : NULL;
    const char *path = root && text ? path_clean(&a, root, text) : NULL;
    if (!path)
        return 0;
    check(path_is_clean(root) && path_is_clean(path));
    check(strcmp(path_clean(&a, "/", path), path) == 0);
    if (text[0] == '/')
        check(strcmp(path, path_clean(&a, "/", text)) == 0);
    check_parents(&a, path);
    check_pair(root, path);
    return 0;
}
