/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: everything that a run enforces, as plain data.
 *
 * plan/compile.c makes one from a policy and facts; plan/dump.c prints it; plan/codec.c turns it
 * into bytes and back; the launcher applies it in the order of its step table and adds nothing.
 * A plan is immutable once made. All memory belongs to the arena it was made in.
 *
 * Freestanding: the launcher includes this header without a libc.
 */
#ifndef ABX_PLAN_PLAN_H
#define ABX_PLAN_PLAN_H

#include "base/defs.h"

/* Layers, as they appear in `enforced`, in `doctor` and in errors. Bit numbers. */
enum plan_layer {
    LAYER_USERNS,
    LAYER_MOUNTS,
    LAYER_PIDNS,
    LAYER_NETNS,
    LAYER_IPCNS,
    LAYER_UTSNS,
    LAYER_CGROUPNS,
    LAYER_LANDLOCK,
    LAYER_SECCOMP,
    LAYER_LIMITS,
    LAYER_COUNT,                  /* of Linux */
    LAYER_SEATBELT = LAYER_COUNT, /* of macOS, which has this one and the limits */
    LAYER_NAME_COUNT,
};
#define LAYER_BIT(layer) (UINT32_C(1) << (layer))
#define LAYERS_OF_VIEW   (LAYER_BIT(LAYER_LANDLOCK) - 1) /* that bubblewrap makes, too */

/* How a plan is carried out. */
enum plan_backend {
    BACKEND_NATIVE,   /* namespaces, mounts, Landlock, seccomp */
    BACKEND_LANDLOCK, /* Landlock and seccomp alone, where no namespace can be made; what they
                       * cannot keep is in shortfalls.def */
    BACKEND_INNER,    /* the same inside another sandbox, which holds: it is narrowed further */
    BACKEND_BWRAP,    /* as native, with namespaces and mounts by the system's bubblewrap */
};

/* Whether a run has namespaces and a view of files of its own. */
static inline bool backend_has_view(uint32_t backend)
{
    return backend == BACKEND_NATIVE || backend == BACKEND_BWRAP;
}

/*
 * One change of the mount view. The list is applied from top to bottom, parents before children.
 * Paths are absolute, canonical (no symlink, no "." or "..") and may be longer than PATH_MAX.
 */
enum mount_kind {
    MOUNT_BIND_RW,   /* path onto itself, writable; its submounts come along */
    MOUNT_BIND_RO,   /* path onto itself, read-only */
    MOUNT_PIN,       /* path onto itself, writable: an ancestor that must not be renamed away */
    MOUNT_MASK_DIR,  /* an empty directory, mode 000 */
    MOUNT_MASK_FILE, /* an empty file, mode 000 */
    MOUNT_TMPFS,     /* a new tmpfs: mode, size; read-only at the end if MOUNT_SEAL is set */
    MOUNT_PROC,      /* a new proc of the new pid namespace, read-only unless MOUNT_WRITABLE */
    MOUNT_DEV,       /* a minimal /dev: null zero full random urandom tty ptmx pts fd std* */
    MOUNT_DIR,       /* mkdir inside a tmpfs of this plan; mode */
    MOUNT_FILE,      /* an empty file inside a tmpfs of this plan; mode */
    MOUNT_LINK,      /* a symlink inside a tmpfs of this plan; text is its target */
    MOUNT_COPY,      /* text, a file of the host, also at path, read-only */
    MOUNT_WRAP,      /* path is covered by a wrapper; its words: mode of them, from number size */
    MOUNT_KIND_COUNT,
};

#define MOUNT_SEAL     0x1u /* TMPFS: made read-only when all mounts are in place */
#define MOUNT_EARLY    0x2u /* BIND_*: the source is hidden by a cover further up in the list */
#define MOUNT_OPTIONAL 0x4u /* a path that is gone by now is not an error */
#define MOUNT_CWD      0x8u /* BIND_RW: the source is the launcher's working directory */
#define MOUNT_WRITABLE 0x10u
#define MOUNT_HELD     0x20u  /* BIND_RO: a placeholder that the host makes for the run */
#define MOUNT_SOCKET   0x40u  /* BIND_RO: a socket of the host that pid 1 connects (named) */
#define MOUNT_LINKED   0x80u  /* PIN, WRAP: the entry is a symlink */
#define MOUNT_TELLS    0x100u /* MASK_*: says who looked, if it can (reads) */

struct mount_op {
    uint32_t kind; /* enum mount_kind */
    uint32_t flags;
    uint32_t mode;
    uint64_t size; /* TMPFS: bytes; WRAP: its first word */
    uint64_t dev;  /* BIND_*, PIN, MASK_*, WRAP: what path must be (st_dev, st_ino); COPY: text;
                    * 0: not checked */
    uint64_t ino;
    const char *path;
    const char *text; /* LINK: target. COPY: source. Otherwise why: "--ro src", "@git", … */
};

/* Landlock: rights by meaning; the launcher turns them into the bits of the kernel's ABI. */
enum landlock_grant {
    GRANT_READ,   /* read files, list directories, execute */
    GRANT_WRITE,  /* all of it */
    GRANT_DEVICE, /* read, write and ioctl, no creation */
    GRANT_FILES,  /* read files; the parts, for where something below is not granted */
    GRANT_LIST,   /* list directories */
    GRANT_EXEC,   /* execute */
    GRANT_CHANGE, /* write, make, remove, rename; not read */
    GRANT_COUNT,
};
struct landlock_rule {
    uint32_t grant; /* enum landlock_grant */
    uint32_t flags; /* MOUNT_OPTIONAL */
    const char *path;
};

/*
 * What a wrapper knows, in its own program file (linux/wrap.c): words, each with its NUL. The real
 * program's path, its name, the private /tmp or "", the host's writable roots in it and "", then
 * for each rule the command's name and WRAP_BLOCK, WRAP_GUARD with the guard's name, or WRAP_SCRIPT
 * with the script's path.
 */
#define WRAP_MAX_ROOTS 16 /* with more of them, or too long ones, nothing counts as private */
#define WRAP_BLOCK     'b'
#define WRAP_GUARD     'g'
#define WRAP_SCRIPT    's'
#define WRAP_MAGIC     UINT32_C(0x50415257)
#define WRAP_EMPTY     UINT32_C(0x45584241) /* the slot of a program that is no copy */

#define WRAP_SLOT_BYTES 4096
#define WRAP_MODE       0111u /* not even readable */

struct wrap_slot {
    uint32_t magic; /* WRAP_MAGIC: this program is a wrapper */
    uint32_t len;
    char text[4088];
};

struct plan_filter {
    uint32_t count;
    const uint64_t *insns; /* struct sock_filter, 8 bytes each */
};

struct plan_limit {
    uint32_t resource; /* RLIMIT_* */
    uint64_t value;    /* soft and hard */
};

/* A directory in which the host keeps placeholders for the run (run/hold.c). */
struct plan_hold {
    const char *directory;
    const char *const *names; /* in that directory */
    uint32_t count;
};

/* What the run's proxy says about a host, and where that comes from. */
struct plan_host {
    const char *verdict; /* "deny", "allow", "mitm" */
    const char *pattern, *source;
};

/* A published port: the host's, and the one inside. */
struct plan_port {
    uint16_t host, inside;
};

struct plan {
    uint32_t layers;    /* bits: what to apply */
    uint32_t required;  /* bits: what the policy asks for; `sandboxed` means layers == required */
    uint32_t backend;   /* enum plan_backend; for the host only, as is … */
    uint32_t refused;   /* 1: … that this host cannot have it: it is printed, never run */
    uint32_t test_skip; /* test builds: layers that pretend to be applied */

    uint32_t tty; /* a new terminal for these streams, a bit each; master passed out */
    uint32_t tty_rows, tty_columns;
    uint32_t network_shared; /* 1: the host's network namespace */
    uint32_t proxied;        /* 1: the proxy's listeners are made inside and passed out … */
    uint32_t relayed;        /* 1: … or, without namespaces, each connection by itself */
    uint32_t publishes;      /* 1: sockets for published ports are made inside and passed out */
    uint32_t nested;         /* 1: allowNestedNamespaces */
    uint32_t map_all_ids;    /* 1: started by root: identity map of all ids */
    uint32_t uid, gid;       /* mapped onto themselves */
    uint32_t pid_max;        /* limit of pids in the new namespace; 0: none */
    int64_t timeout_ns;      /* 0: none */
    int64_t grace_ns;        /* between the first signal and the end */

    const char *hostname;
    const char *cwd;  /* inside */
    const char *path; /* where a name without '/' is looked up */

    uint32_t mount_count, rule_count, limit_count, argv_count, env_count, word_count, hold_count;
    const struct mount_op *mounts;
    const struct landlock_rule *rules;
    const struct plan_limit *limits;
    const char *const *argv; /* NULL-terminated, as is env */
    const char *const *env;
    const char *const *words;      /* of wrappers */
    const struct plan_hold *holds; /* for the host only; not in the encoded form */
    const char *const *secrets;    /* names of variables that were taken away; likewise */
    uint32_t secret_count;
    const struct plan_host *hosts; /* likewise; there only to be printed, as are … */
    const struct plan_port *ports; /* … these */
    uint32_t host_count, port_count;
    const char *profile; /* macOS: the Seatbelt text, NULL elsewhere; likewise */
    const char *tmp;     /* … and where its temporary files are; NULL: a directory of the run */
    uint32_t named;      /* 1: Unix sockets are made by pid 1; those of MOUNT_SOCKET only */
    uint32_t watch;      /* enum watch_level (watch.h): with watch_filter, if it can */
    uint32_t reads;      /* 1: masks tell who looked, if they can */
    struct plan_filter filter; /* of the command */
    struct plan_filter watch_filter;
    struct plan_filter init_filter; /* of pid 1 */
};

/* Named limits of a plan; the compiler refuses more, the decoder too. */
#define PLAN_MAX_BYTES   (UINT32_C(64) << 20)
#define PLAN_MAX_MOUNTS  UINT32_C(65536)
#define PLAN_MAX_HELD    UINT32_C(2048) /* each costs the kernel a millisecond when it is removed */
#define PLAN_MAX_RULES   UINT32_C(65536)
#define PLAN_MAX_LIMITS  UINT32_C(16)
#define PLAN_MAX_STRINGS UINT32_C(262144)
#define PLAN_MAX_SOCKETS UINT32_C(32)
#define PLAN_MAX_WRAPS   UINT32_C(128)
#define PLAN_MAX_INSNS   UINT32_C(4096)

/* Pids up to here are given out only once in a namespace, so they come on top of a limit. */
#define PLAN_FIRST_PIDS UINT32_C(300)

#endif
