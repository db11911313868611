/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: key/value entries in the order they were given, each with its origin and the text that
 * names its source ("--ro", a file and line). A key or value that schema.def does not allow is
 * refused when it is entered, so whoever reads settings may rely on them.
 */
#ifndef ABX_POLICY_SETTINGS_H
#define ABX_POLICY_SETTINGS_H

#include "base/defs.h"
#include "base/err.h"

/* Where an entry comes from. Later ones are stronger. */
enum origin {
    ORIGIN_BUILTIN,
    ORIGIN_SYSTEM,
    ORIGIN_GLOBAL,
    ORIGIN_PROJECT,
    ORIGIN_CALL, /* command line, or one call of the library */
    ORIGIN_COUNT,
};
const char *origin_name(enum origin origin); /* "built-in", "system", … */

enum settings_type {
    SETTINGS_PATH, /* absolute */
    SETTINGS_ENUM,
    SETTINGS_BOOL,
    SETTINGS_SIZE,
    SETTINGS_COUNT,
    SETTINGS_DURATION,
    SETTINGS_SOCKET, /* path of one: absolute, or below "~/"; or "" */
    SETTINGS_URL,    /* of a proxy, or "" */
    SETTINGS_PATHS,  /* from here on: lists */
    SETTINGS_NAMES,
    SETTINGS_PRESETS,
    SETTINGS_DOMAINS, /* domain.h */
    SETTINGS_SOCKETS,
    SETTINGS_PORTS,     /* PORT or HOSTPORT:PORT */
    SETTINGS_RULES,     /* rule.h: each entry is JSON without blanks */
    SETTINGS_MAP,       /* from here on, in a file: objects. Each entry is NAME=VALUE */
    SETTINGS_COMMANDS,  /* VALUE: true, false, @git, or a path with a '/' */
    SETTINGS_OVERRIDES, /* VALUE: a decision */
};

enum settings_key {
#define KEY(id, name, type, words, fallback, help, example) KEY_##id,
#include "policy/schema.def"
#undef KEY
    KEY_COUNT,
};

struct schema_row {
    const char *name;
    enum settings_type type;
    const char *words, *fallback, *help, *example;
};
/* The row of a key; NULL beyond the last. */
const struct schema_row *schema_row(size_t key);
bool schema_is_alias(const struct schema_row *row);

#define SETTINGS_MAX_ENTRIES 65536
#define SETTINGS_MAX_VALUE   ((size_t)128 << 10)

#define SETTINGS_FINAL 0x1u /* of the system layer: what it takes away, nothing gives back */

struct settings_entry {
    enum settings_key key; /* never an alias */
    enum origin origin;
    char *value, *source;
    uint32_t flags; /* SETTINGS_* */
};

struct settings {
    enum origin origin; /* of entries to come */
    struct settings_entry *entries;
    size_t count, capacity;
};

int32_t settings_new(enum origin origin, struct settings **ret, abx_error **err);
int32_t settings_copy(const struct settings *settings, struct settings **ret, abx_error **err);
void settings_free(struct settings *settings);
void settings_freep(struct settings **settings);
#define _settings_ __attribute__((cleanup(settings_freep)))

/*
 * set: scalars, the last one counts. append: lists. source may be NULL (the key itself). Anything
 * wrong is ABX_E_CONFIG, with the key as the subject and a hint.
 */
int32_t settings_set(struct settings *settings, const char *key, const char *value,
                     const char *source, abx_error **err);
int32_t settings_append(struct settings *settings, const char *key, const char *value,
                        const char *source, abx_error **err);
/* For filesystem.ro and filesystem.exclude of the system layer: an entry with SETTINGS_FINAL. */
int32_t settings_append_final(struct settings *settings, const char *key, const char *value,
                              const char *source, abx_error **err);
/* Removes the last entries until `count` are left. */
void settings_cut(struct settings *settings, size_t count);
/* What only all keys together show: ABX_E_CONFIG. For settings that are merged already. */
int32_t settings_check(const struct settings *settings, abx_error **err);

/* The value of a scalar, or NULL if it was not set. */
const char *settings_get(const struct settings *settings, enum settings_key key);

#endif
