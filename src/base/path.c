/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths as text: no system call, no encoding, no limit of length but the arena's.
 *
 * Cleaning is lexical: ".." takes away the component before it, whatever that is on disk. So a
 * verdict about access is never made on a cleaned path alone; it needs the kernel's own answer.
 * Names with newlines, glob characters or bytes that are not UTF-8 are ordinary names.
 */
#include "base/path.h"

#include <assert.h>
#include <string.h>

static size_t component_length(const char *s)
{
    size_t n = 0;

    while (s[n] != '\0' && s[n] != '/')
        n++;
    return n;
}

static bool is_dot(const char *s, size_t len)
{
    return len == 1 && s[0] == '.';
}

static bool is_dotdot(const char *s, size_t len)
{
    return len == 2 && s[0] == '.' && s[1] == '.';
}

bool path_is_clean(const char *path)
{
    if (path[0] != '/')
        return false;
    if (path[1] == '\0')
        return true;
    while (*path == '/') {
        size_t n = component_length(++path);

        if (n == 0 || is_dot(path, n) || is_dotdot(path, n))
            return false;
        path += n;
    }
    return true;
}

bool path_is_beneath(const char *child, const char *dir)
{
    size_t n = strlen(dir);

    if (dir[0] != '/' || child[0] != '/')
        return false;
    if (n == 1)
        return true;
    return strncmp(child, dir, n) == 0 && (child[n] == '\0' || child[n] == '/');
}

size_t path_depth(const char *path)
{
    size_t depth = 0;

    while (*path != '\0') {
        size_t n = component_length(path);

        depth += n > 0;
        path += n;
        path += *path == '/';
    }
    return depth;
}

const char *path_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Appends the components of path to the clean path of len bytes in out. "/" is len 0 here. */
static size_t append_clean(char *out, size_t len, const char *path)
{
    while (*path != '\0') {
        size_t n = component_length(path);

        if (is_dotdot(path, n)) {
            while (len > 0 && out[--len] != '/')
                continue;
        } else if (n > 0 && !is_dot(path, n)) {
            out[len++] = '/';
            memcpy(out + len, path, n);
            len += n;
        }
        path += n;
        path += *path == '/';
    }
    return len;
}

char *path_clean(struct arena *a, const char *base, const char *path)
{
    bool absolute = path[0] == '/';
    size_t base_len = absolute ? 0 : strlen(base), room, len = 0;
    char *out;

    /* Each component costs its length and a slash; then the NUL. */
    if (__builtin_add_overflow(base_len, strlen(path), &room) ||
        __builtin_add_overflow(room, 3, &room))
        return NULL;
    out = arena_alloc(a, room, 1);
    if (!out)
        return NULL;
    if (!absolute) {
        assert(path_is_clean(base));
        len = append_clean(out, len, base);
    }
    len = append_clean(out, len, path);
    if (len == 0)
        out[len++] = '/';
    out[len] = '\0';
    return out;
}

char *path_join(struct arena *a, const char *dir, const char *name)
{
    assert(path_is_clean(dir) && name[0] != '\0' && name[0] != '/');
    return arena_join(a, dir[1] == '\0' ? "" : dir, "/", name);
}

char *path_parent(struct arena *a, const char *path)
{
    size_t n = (size_t)(path_basename(path) - path);

    assert(path_is_clean(path));
    return arena_strndup(a, path, n > 1 ? n - 1 : 1);
}
