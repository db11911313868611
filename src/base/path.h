/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths as text. Pure: no system call. "Clean" means absolute, no "." or ".." component, no double
 * or trailing slash (except "/" itself). Bytes are bytes: no encoding is assumed.
 */
#ifndef ABX_BASE_PATH_H
#define ABX_BASE_PATH_H

#include "base/arena.h"
#include "base/defs.h"

bool path_is_clean(const char *path);
/* child equals dir or lies below it; both clean. "/a" does not contain "/ab". */
bool path_is_beneath(const char *child, const char *dir);
/* Number of components; 0 for "/". */
size_t path_depth(const char *path);
const char *path_basename(const char *path); /* points into path; "" for "/" */
/* Lexically cleaned; relative ones are put behind base (clean). NULL when out of memory. */
char *path_clean(struct arena *a, const char *base, const char *path);
/* dir clean, name relative: one component or more. */
char *path_join(struct arena *a, const char *dir, const char *name);
char *path_parent(struct arena *a, const char *path); /* path clean; "/" for "/" */

#endif
