/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy: what the user, the presets and the call ask for, merged. Immutable, in an arena, and
 * independent of the machine: paths are still as written ("~", relative, patterns). probe/scan.c
 * turns them into facts, plan/compile.c decides with both.
 */
#ifndef ABX_POLICY_POLICY_H
#define ABX_POLICY_POLICY_H

#include "base/arena.h"
#include "base/defs.h"
#include "base/err.h"
#include "policy/layers.h"
#include "policy/settings.h"

/* In the order of what they allow: the smaller one is the stricter one. */
enum access {
    ACCESS_EXCLUDE,
    ACCESS_RO,
    ACCESS_RW,
};
const char *access_name(uint32_t access); /* "exclude", "ro", "rw" */

#define RULE_GLOB       0x1u /* text is a pattern */
#define RULE_FINAL      0x2u /* a ceiling for all below, whatever other rules say; grants nothing */
#define RULE_IF_PRESENT 0x4u /* says nothing about a path that does not exist */
#define RULE_STORE      0x8u /* RW: a program's data, not a place where people work */
#define RULE_WORKDIR    0x10u  /* RW: the working directory, granted because it is that */
#define RULE_PROTECT    0x20u  /* only narrows; never makes visible what another rule hides */
#define RULE_NURSERY    0x80u  /* only while none of the preset's grants below it exists */
#define RULE_SOCKET     0x100u /* RO: a socket that the command may connect to */
#define RULE_DOCKER     0x200u /* … Docker's, wherever it is */
#define RULE_KERNEL     0x400u /* EXCLUDE, final: a file system of the kernel's own */
#define RULE_NAME       0x40u  /* of names.def: yields to every other rule of its origin */

struct policy_rule {
    uint32_t access; /* enum access */
    uint32_t origin; /* enum origin */
    uint32_t flags;
    const char *text;   /* as written */
    const char *source; /* "--ro", "@base", a key */
};

/* The words of "backend". */
enum backend_choice { CHOICE_AUTO, CHOICE_NATIVE, CHOICE_BWRAP, CHOICE_LANDLOCK };

enum network_mode { NETWORK_FILTERED, NETWORK_BLOCKED, NETWORK_ALLOWED };

/* What happens when a program is called by its name. COMMAND_RAW: nothing; not in a policy. */
enum command_kind { COMMAND_BLOCK, COMMAND_GUARD, COMMAND_SCRIPT, COMMAND_RAW };
struct policy_command {
    uint32_t kind; /* enum command_kind */
    uint32_t origin;
    const char *name;
    const char *text;   /* GUARD: "@git"; SCRIPT: its path, as written */
    const char *source; /* as in struct policy_rule */
};
/* NAME=VALUE as value_check lets it in: the kind, and the length of NAME. */
enum command_kind command_read(const char *entry, size_t *ret_name_len);

enum env_action { ENV_PASS, ENV_SET, ENV_UNSET };
struct policy_env {
    uint32_t action; /* enum env_action; carried out in order */
    uint32_t origin;
    const char *name;
    const char *value; /* ENV_SET */
};

struct policy_port {
    uint16_t host, inside;
};

struct policy {
    const struct policy_rule *rules;
    size_t rule_count;
    uint32_t presets;    /* enum preset */
    uint32_t name_depth; /* filesystem.dangerousFileScanDepth */
    bool protect_names;  /* names.def */
    bool git_config;     /* the command may change a repository's configuration */
    bool tmp_private;
    uint64_t tmp_bytes; /* 0: chosen */
    uint32_t network;   /* enum network_mode */
    uint32_t network_origin;
    const char *network_source;      /* "" if nobody chose */
    const struct policy_port *ports; /* published */
    size_t port_count;
    bool unix_sockets;    /* all that can be seen */
    uint32_t named_count; /* rules with RULE_SOCKET */
    bool docker;
    bool local_binding; /* it may listen */
    bool nested;
    uint32_t watch;                                               /* "monitor", as in its words */
    uint32_t backend;                                             /* enum backend_choice */
    bool strict;                                                  /* fallbackPolicy */
    uint64_t max_processes, max_memory, max_fds, max_cpu_seconds; /* 0: no limit */
    uint64_t max_output;                                          /* 0: no limit */
    int64_t grace_ns;
    const char *shell;
    const struct policy_env *env;
    size_t env_count;
    const struct policy_command *commands; /* one a name */
    size_t command_count;
};

/*
 * guards: absolute paths, NULL-terminated or NULL, that stay read-only whatever the layers say (the
 * configuration's own files, a log).
 */
int32_t policy_build_layers(const struct layers *layers, const char *const *guards,
                            struct arena *arena, const struct policy **ret, abx_error **err);
/* The same of two settings. config and call may be NULL. */
int32_t policy_build(const struct settings *config, const struct settings *call,
                     struct arena *arena, const struct policy **ret, abx_error **err);

#endif
