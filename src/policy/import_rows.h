/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the converter share. */
#ifndef ABX_POLICY_IMPORT_ROWS_H
#define ABX_POLICY_IMPORT_ROWS_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/doc.h"
#include "policy/import.h"
#include "policy/problems.h"

/* Absolute and clean; NULL: unknown. */
struct import_dirs {
    const char **list;
    size_t count;
};

struct importer {
    const struct import_request *request;
    struct settings *settings;
    struct arena *arena;
    const struct doc_node *root;
    struct problems problems, notes;
    struct import_dirs writable, unwritable; /* of sandbox-runtime, before the first key is taken */
    bool reaches;                            /* a host was allowed */
    bool blocked;                            /* all hosts are denied */
};

struct import_row;
typedef void import_take(struct importer *im, const struct doc_node *node,
                         const struct import_row *row);

struct import_row {
    uint32_t program;
    const char *key;
    import_take *take;
    const char *to, *say;
};

/* The value at a key such as "filesystem.denyWrite", or NULL. */
const struct doc_node *import_find(const struct importer *im, const char *key);
/* One value for one of our keys; a list is appended to. What is wrong with it is a problem. */
void import_enter(struct importer *im, const struct doc_node *node, const char *key,
                  const char *value);
/* "'KEY' must be WANTED" */
void import_refuse(struct importer *im, const struct doc_node *node, const char *key,
                   const char *wanted);
/* The list's length, or 0 with a problem if the node is no list or has more than the limit. */
size_t import_list(struct importer *im, const struct doc_node *node, const char *key);

/* ---- import_paths.c ---- */
import_take take_paths, take_readable, take_writable, take_files;
void import_read_dirs(struct importer *im);
/* Behind all keys: the working directory is writable only if sandbox-runtime's file says so. */
void import_close_directory(struct importer *im);

#endif
