/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor's parts: watch.c is told of calls, watch_names.c finds what their paths name,
 * watch_judge.c says which will be refused, watch_known.c remembers which were not,
 * watch_records.c tells the host.
 */
#ifndef ABX_LAUNCHER_WATCH_H
#define ABX_LAUNCHER_WATCH_H

#include "launcher/launcher.h"
#include "plan/watch.h"

#define TEXT_MAX WATCH_NAME_MAX

/* The arguments of a call of watch.def, on this CPU. */
struct call {
    int16_t number;
    uint8_t level, kind;
    int8_t dir, path, flags, dir2, path2;
};

/* One look at one name. There is one thread: its texts are static. */
struct look {
    const struct notice *n;
    const struct call *call;
    uint32_t open_flags; /* OPEN */
    uint32_t flags;      /* WATCH_READ, … */
    bool follow;
    char *text;      /* a name that leads there from here; TEXT_MAX bytes */
    size_t base_len; /* of "/proc/PID/cwd" in it; 0: the path was absolute */
    int dir_fd;      /* … of "/proc/PID/fd/N"; -1: it is none */
    size_t parent_len, name_at;
};

/* ---- watch_names.c ---- */

/* A string of the caller's: its length, or -errno; it must end within size bytes. */
long look_text(const struct notice *n, uint64_t address, char *to, size_t size);
/* Reads the path; false: there is none to look at. */
bool look_read(struct look *l, int dir, int path);
/* The directory of the name. Static. */
const char *look_parent(const struct look *l);
/*
 * As canonical as it can be had: the whole path, else the parent's and the name, else as given,
 * from the directory that it is relative to. to: TEXT_MAX bytes; 0: it cannot be reached.
 */
size_t look_path(const struct look *l, bool name_only, char *to);
/* "/proc/PID" and what follows; returns its length. to: TEXT_MAX bytes. */
size_t look_process(char *to, const struct notice *n, const char *what);

/* ---- watch_judge.c: will the view refuse it? By names and mounts, not by the plan. ---- */

void judge_begin(const struct plan *p);
bool judge_open(struct look *l);
bool judge_make(const struct look *l);
/* replace: what is there is about to be replaced; there may be nothing. */
bool judge_remove(struct look *l, bool replace);
bool judge_change(const struct look *l);
bool judge_is_writable(const char *text); /* the mount that it leads to */

/* ---- watch_known.c: directories that were found writable a moment ago ---- */

void known_begin(bool all_seen); /* whatever changes the meaning of a name */
/* The directory of the name is the one that was kept. */
bool known_named(const struct look *l);
void known_keep_named(const struct look *l);
/* … the one that was kept, by the caller's descriptor, for a name that is to be removed. */
bool known_held(const struct look *l);
void known_keep_held(const struct look *l);
/* The call can change what names mean. */
void known_change(const struct notice *n);

/* ---- watch_thread.c ---- */

void watch_allow_thread(const struct plan *p); /* if there is room for it */

/* ---- watch_records.c ---- */

/* Two threads tell, of calls and of masks; each has records of its own. */
struct recorder;
extern struct recorder record_calls, record_reads;

/* False: enough for this second; the attempt is only counted. */
bool record_may_look(struct recorder *r);
/* An attempt that nothing more is known about. */
void record_drop(struct recorder *r);
/* What is told is `path`: a path, an address, a word, or nothing. */
void record_tell(struct recorder *r, const struct notice *n, uint32_t flags, uint32_t port,
                 const void *path, size_t len);

#endif
