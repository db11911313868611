/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel logs when a profile refuses something, from the lines of
 *   log stream --style ndjson --predicate 'sender == "Sandbox" AND eventMessage ENDSWITH "TAG"'
 * Pure. The lines hold what the command chose (paths, its own name): hostile.
 */
#ifndef ABX_DARWIN_LOGSTREAM_H
#define ABX_DARWIN_LOGSTREAM_H

#include "base/arena.h"
#include "base/defs.h"

#define LOGSTREAM_MAX_LINE ((size_t)64 << 10)

/* As in results: file-read, file-write, network, process, other. */
enum logstream_kind { LOG_FILE_READ, LOG_FILE_WRITE, LOG_NETWORK, LOG_PROCESS, LOG_OTHER };
const char *logstream_kind_name(enum logstream_kind kind);

struct logstream_event {
    enum logstream_kind kind;
    const char *operation; /* "file-write-create" */
    const char *target;    /* path, service, address; "" where the operation has none */
    const char *process;   /* its name, cut by the kernel */
    const char *time;      /* as written; "" if there is none */
    int32_t pid;
    uint32_t count;  /* also of reports that the kernel put together */
    bool is_nesting; /* the command tried to start a sandbox of its own (A160): no grant helps */
};

/*
 * One line, without its end. 1: an event with this tag; 0: something else (the stream's banner,
 * other runs, other subsystems); -ENOMEM. Strings are in the arena.
 */
int logstream_read(struct arena *arena, const char *line, size_t len, const char *tag,
                   struct logstream_event *ret);

#endif
