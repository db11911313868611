/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the steps of the launcher share: the decoded plan, a few descriptors, a bump allocator, and
 * the object to name when a step fails. One file in this folder applies one mechanism.
 */
#ifndef ABX_LINUX_LAUNCH_H
#define ABX_LINUX_LAUNCH_H

#include "linux/sys.h"
#include "plan/plan.h"
#include "plan/protocol.h"

#define DEV_NODE_COUNT 6

/* The plain masks in the common tmpfs. */
#define MASK_DIR_NAME  "d"
#define MASK_FILE_NAME "f"
#define MASK_KINDS     2 /* directories, files */

/* The source of all masks of one kind that tell who looked (masks.c). */
struct mask_teller {
    int device; /* of FUSE; -1: there is none, and plain masks take its place */
    int tree;   /* its file system, while mounts are made */
    struct file_id id;
};

struct launch {
    struct plan plan;
    uint8_t *memory; /* for steps; never released */
    size_t memory_size, memory_used;
    const uint8_t *image; /* the plan as it came */
    size_t image_size;

    bool grouped;   /* init: born in a control group of the run's own */
    int keeper;     /* its pid as pid 1 sees it: 0 in a pid namespace of its own */
    bool enclosed;  /* init: nobody outside of the run can be signalled, which was tried */
    int sync_fd;    /* init: the keeper has written the id maps (root only); -1 otherwise */
    int cwd_fd;     /* O_PATH, where the command starts, in the final view */
    int tty_fd;     /* slave side, or -1 */
    int tty_master; /* until it is passed out */
    int notify_fd;  /* of the command's filter; -1: it is not watched */
    uint32_t enforced;
    uint32_t landlock_abi;

    int input_fd; /* what the caller passed, if fd 0 is a file that was opened anew; else -1 */

    uint32_t umask_bits; /* the caller's; the steps work without one */
    /* Made while the plan is still being made (view_prepare): what every view has. */
    int dev_nodes[DEV_NODE_COUNT], devpts_fd, proc_fd, source_fd;
    int pid_max_fd, last_pid_fd; /* of proc_fd; -1: there is none */
    bool hosts_root;             /* our number is that of the host's root, whatever it is here */
    int dev_fd;                  /* /dev with all of these; -1: is made when it has its place */

    struct mask_teller tellers[MASK_KINDS];
    bool reads; /* they are served */

    int netns_helper;  /* its pid; 0: none (any more) */
    long netns_result; /* what it leaves: a descriptor of the namespace, or -errno */

    int wrapper_fd;        /* the wrapper's program, or -1 */
    uint32_t wrapper_slot; /* where its slot lies in it */

    const char *bwrap;       /* keeper: the program that starts pid 1 for us; NULL: we do */
    const char *const *envp; /* keeper: its environment */
    bool bwrapped;           /* init: by bwrap */
    int relay_fd;            /* keeper: signals for pid 1; -1: it is our child */
    int bwrap_report;        /* keeper: what bwrap said */

    const char *object; /* what the running step works on; named in its error */
    long command_error; /* written by the command's process before it ends: -errno of exec */
    const char *command_step;
};

/* Zeroed memory for the life of the process, or NULL. */
void *launch_alloc(struct launch *l, size_t count, size_t size);

/* Each applies one layer and returns 0 or -errno, with l->object set where there is a noun. */
bool userns_has_all_ids(void); /* false for a root that is one of another namespace's users */
long userns_map_self(struct launch *l);           /* in the new namespace, by itself */
long userns_map_child(struct launch *l, int pid); /* from outside, by root */
long netns_loopback(struct launch *l);
#define NETNS_SHARED_FDS 256
long netns_begin(struct launch *l); /* a helper makes the namespace … */
long netns_join(struct launch *l);  /* … and pid 1 enters it */
void netns_release_stack(void);
/* The proxy's listeners on the loopback of the caller: how many, or -errno. */
long listen_open(struct launch *l, int fds[LISTENER_COUNT]);
/* Sockets that are connected to nothing yet: how many, or -errno. */
long listen_sockets(struct launch *l, int fds[2 * SOCKET_COUNT]);
long view_prepare(struct launch *l);
long streams_confine(struct launch *l);         /* before mount_view closes the mounts */
long streams_renew(struct launch *l);           /* in the view: devices of its own */
void streams_give_back(const struct launch *l); /* the position of what was read */
/* Mounts by their ids; those that were found at their names. */
struct seen {
    uint64_t *mounts; /* a table, 0 where there is none */
    uint32_t last;
};
long seen_init(struct launch *l, struct seen *s); /* room for all of the plan */
bool seen_before(struct seen *s, uint64_t mount); /* enters it, if not */
long mount_view(struct launch *l);
long bwrapped_view(struct launch *l); /* the same, made by bwrap: looks whether it is */
/*
 * A placeholder that the host could not make, in a directory where nobody here can make anything,
 * nor, not being its owner, allow it.
 */
bool mount_is_unmakeable(const struct plan *p, const struct mount_op *op, int parent);
long mount_close(struct launch *l); /* the many descriptors that mount_view leaves open */
uint32_t mask_kind(const struct mount_op *op); /* of the tellers */
long masks_open(struct launch *l);
long masks_attach(struct launch *l);
long masks_keep(struct launch *l);
/* A program that covers op->path, detached. */
long wrap_make(struct launch *l, const struct mount_op *op, uint32_t number);
long dev_mount(struct launch *l, const struct mount_op *op);
long dev_close(struct launch *l); /* the host's nodes are read-only in this mount namespace */
long proc_mount(struct launch *l, const struct mount_op *op);
long tty_open(struct launch *l);
long limits_apply(struct launch *l);
long caps_bound(struct launch *l); /* what execve could give back; what there is stays */
long caps_drop(struct launch *l);
bool caps_may_mount(void);
/* In pid 1, around the command's domain: 1 if signals do not leave it, 0, or -errno. */
long landlock_enclose(struct launch *l);
long landlock_apply(struct launch *l);
long landlock_close_all(void); /* for pid 1: nothing at all */
long landlock_abi(void);
long seccomp_apply(const struct plan_filter *filter);

/* ---- notify.c ---- */

/* A system call that waits for an answer: struct seccomp_notif. */
struct notice {
    uint64_t id;
    uint32_t pid, flags;
    int32_t number;
    uint32_t arch;
    uint64_t instruction, args[6];
};
/* Loads the filter into the calling process; a descriptor that tells about its calls, or -errno. */
long notify_listen(const struct plan_filter *filter);
bool notify_receive(int fd, struct notice *ret); /* false: whoever it was is gone */
/* The call goes on (0), or fails with an errno. */
void notify_answer(int fd, const struct notice *n, int error);
/* Gives it fd as a new descriptor, which is what the call returns; 0 or -errno. */
long notify_give(int listener, const struct notice *n, int fd, bool cloexec);
/* … in the place of its descriptor `place`; the call returns 0. */
long notify_replace(int listener, const struct notice *n, int fd, uint32_t place, bool cloexec);
/* Memory of the waiting process: bytes that were there, or -errno. */
long notify_read(const struct notice *n, uint64_t address, void *to, size_t size);

/* Descriptors of pid 1 behind those of plan/protocol.h. Everything above is temporary. */
#define LAUNCH_FD_RELAY   LAUNCH_FD_PARENT /* bwrapped: the keeper's signals; one byte each */
#define LAUNCH_FD_SIGNALS LAUNCH_FD_FREE
#define LAUNCH_FD_INPUT   (LAUNCH_FD_FREE + 1)
#define LAUNCH_FD_MASKS   (LAUNCH_FD_FREE + 2)           /* one of each kind */
#define LAUNCH_FD_CWD     (LAUNCH_FD_MASKS + MASK_KINDS) /* the last one */

/* Mount helpers (linux/mountapi.c). Descriptors or -errno. */
long mountapi_tmpfs(uint64_t bytes, const char *mode, uint64_t attr);
long mountapi_clone(int fd);                      /* a detached copy of the mount tree at fd */
long mountapi_clone_at(int fd, const char *name); /* … of one entry below fd, without submounts */
long mountapi_set(int fd, uint64_t set, bool recursive);
/* Everything that is mounted: read-only, nosuid, nodev, private. */
long mountapi_close_view(void);
long mountapi_attach(int tree, int target);
/* … onto one name below dir; a symlink there is not followed. */
long mountapi_attach_at(int tree, int dir, const char *name);

#endif
