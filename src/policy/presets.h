/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Built-in path presets (presets.def), the toggles that switch them, and the names that are
 * protected in every place where people work (names.def).
 */
#ifndef ABX_POLICY_PRESETS_H
#define ABX_POLICY_PRESETS_H

#include "base/defs.h"

/* Bits of a set of presets. */
enum preset {
    PRESET_BASE = 1 << 0,
    PRESET_CACHES = 1 << 1,
    PRESET_CLAUDE = 1 << 2,
    PRESET_GIT = 1 << 3,
    PRESET_LINT_TS = 1 << 4,
    PRESET_LINT_GO = 1 << 5,
    PRESET_LINT_PYTHON = 1 << 6,
    PRESET_GIT_STRICT = 1 << 7,
    PRESET_CODEX = 1 << 8,
    PRESET_PI = 1 << 9,
    PRESET_AIDER = 1 << 10, /* from here on: only with their profile */
    PRESET_CURSOR = 1 << 11,
    PRESET_GEMINI = 1 << 12,
    PRESET_OPENCODE = 1 << 13,
    PRESET_AGENTS = PRESET_CLAUDE | PRESET_CODEX | PRESET_PI,
    PRESET_LINT_ALL = PRESET_LINT_TS | PRESET_LINT_GO | PRESET_LINT_PYTHON,
    PRESET_ALL = PRESET_BASE | PRESET_CACHES | PRESET_AGENTS | PRESET_GIT | PRESET_LINT_ALL,
};

/* "@git", "!@lint/all", …: known, with at most one '!'. */
bool preset_is_toggle(const char *text);
/* Applies one toggle to a set. */
uint32_t preset_toggle(uint32_t set, const char *text);
bool preset_is_all(const char *text); /* "@all" or "!@all" */
/* All names, for messages. */
const char *preset_list(void);

struct preset_row {
    uint32_t preset;  /* the bits of which one must be on */
    const char *name; /* "@base" */
    uint32_t access;  /* enum access */
    uint32_t flags;   /* RULE_* */
    const char *path; /* with '~', or relative to the working directory */
};
/* The i-th row, or NULL beyond the last. */
const struct preset_row *preset_row(size_t i);

/* When a name in names.def is protected. */
enum name_when {
    NAME_ALWAYS,  /* also when absent */
    NAME_PRESENT, /* when it exists; in a writable home also when absent */
    NAME_INSIDE,  /* PARENT/NAME: also when absent, if the parent exists */
    NAME_PARENT,  /* itself only when absent; when it exists its NAME_INSIDE rows count */
    NAME_SKIPPED, /* not protected, and no names are looked for below it */
};
struct name_row {
    const char *name;
    uint32_t when; /* enum name_when */
};
const struct name_row *name_row(size_t i);

#endif
