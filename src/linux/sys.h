/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every system call of the launcher, without a libc: a result or -errno, nothing else.
 *
 * Two kinds. SYSn() are the calls that a run depends on: their results are always checked, and
 * test builds (ABX_TESTING) can make the n-th of them fail (tests/e2e/faults.bats). TRYn() are
 * those whose failure changes nothing that is promised; each says why where it is called.
 */
#ifndef ABX_LINUX_SYS_H
#define ABX_LINUX_SYS_H

#include <asm/unistd.h>
#include <errno.h>

#include "base/defs.h"

#if defined(__x86_64__)
static inline long raw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long ret;

    __asm__ volatile("syscall"
                     : "=a"(ret)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return ret;
}
#elif defined(__aarch64__)
static inline long raw_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}
#else
#error "agentbox's launcher knows x86-64 and aarch64"
#endif

/* The same on both CPUs, and missing from old kernel headers. */
#ifndef __NR_open_tree
#define __NR_open_tree  428
#define __NR_move_mount 429
#define __NR_fsopen     430
#define __NR_fsconfig   431
#define __NR_fsmount    432
#endif
#ifndef __NR_close_range
#define __NR_close_range 436
#endif
#ifndef __NR_openat2
#define __NR_openat2 437
#endif
#ifndef __NR_mount_setattr
#define __NR_mount_setattr 442
#endif
#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_add_rule       445
#define __NR_landlock_restrict_self  446
#endif

/* Which of the launcher's processes this is; faults are counted in each for itself. */
enum sys_role { ROLE_KEEPER, ROLE_INIT, ROLE_COMMAND, ROLE_COUNT };

#ifdef ABX_TESTING
/* Counts the call; the errno to fail with, or 0. */
long sys_fault(void);
void sys_fault_init(const char *const *envp); /* ABX_FAULT=keeper:3, init:40, command:2 */
void sys_fault_role(enum sys_role role);
void sys_fault_disarm(void);      /* set-up is over */
bool sys_skips(const char *name); /* ABX_TEST_SKIP has it */
#else
static inline long sys_fault(void)
{
    return 0;
}
static inline void sys_fault_init(const char *const *envp)
{
    (void)envp;
}
static inline void sys_fault_role(enum sys_role role)
{
    (void)role;
}
static inline void sys_fault_disarm(void)
{
}
static inline bool sys_skips(const char *name)
{
    (void)name;
    return false;
}
#endif

static inline long checked_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
    long fault = sys_fault();

    return fault ? -fault : raw_syscall(nr, a, b, c, d, e, f);
}

#define SYS_ARG(x) ((long)(x))
#define SYS6(nr, a, b, c, d, e, f)                                                                 \
    checked_syscall((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), SYS_ARG(f))
#define SYS5(nr, a, b, c, d, e) SYS6(nr, a, b, c, d, e, 0)
#define SYS4(nr, a, b, c, d)    SYS6(nr, a, b, c, d, 0, 0)
#define SYS3(nr, a, b, c)       SYS6(nr, a, b, c, 0, 0, 0)
#define SYS2(nr, a, b)          SYS6(nr, a, b, 0, 0, 0, 0)
#define SYS1(nr, a)             SYS6(nr, a, 0, 0, 0, 0, 0)
#define SYS0(nr)                SYS6(nr, 0, 0, 0, 0, 0, 0)

#define TRY6(nr, a, b, c, d, e, f)                                                                 \
    raw_syscall((nr), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), SYS_ARG(f))
#define TRY5(nr, a, b, c, d, e) TRY6(nr, a, b, c, d, e, 0)
#define TRY4(nr, a, b, c, d)    TRY6(nr, a, b, c, d, 0, 0)
#define TRY3(nr, a, b, c)       TRY6(nr, a, b, c, 0, 0, 0)
#define TRY2(nr, a, b)          TRY6(nr, a, b, 0, 0, 0, 0)
#define TRY1(nr, a)             TRY6(nr, a, 0, 0, 0, 0, 0)
#define TRY0(nr)                TRY6(nr, 0, 0, 0, 0, 0, 0)

/* clone(flags) whose child calls fn(arg) on the new stack (linux/clone.c); fn does not return. */
long sys_clone_vm(unsigned long flags, void *stack_top, void (*fn)(void *), void *arg);

/* Constants of the kernel's interface that need no header of a libc. */
#define SYS_AT_FDCWD      (-100)
#define SYS_AT_EMPTY_PATH 0x1000
#define SYS_AT_RECURSIVE  0x8000
#define SYS_AT_NOFOLLOW   0x100
#define SYS_AT_REMOVEDIR  0x200
#define SYS_MADV_DONTNEED 4
#define SYS_WNOHANG       1
#define SYS_O_RDONLY      00
#define SYS_O_WRONLY      01
#define SYS_O_RDWR        02
#define SYS_O_CREAT       0100
#define SYS_O_EXCL        0200
#define SYS_O_NOCTTY      0400
#define SYS_O_TRUNC       01000
#define SYS_O_NONBLOCK    04000
#define SYS_O_CLOEXEC     02000000
#define SYS_O_PATH        010000000
#if defined(__aarch64__)
#define SYS_O_DIRECTORY 040000
#define SYS_O_NOFOLLOW  0100000
#else
#define SYS_O_DIRECTORY 0200000
#define SYS_O_NOFOLLOW  0400000
#endif

struct statfs_kernel {
    long type, bsize;
    uint64_t blocks, bfree, bavail, files, ffree;
    int fsid[2];
    long namelen, frsize, flags, spare[4];
};
#define SYS_ST_RDONLY 1 /* in its flags */
#define SYS_ST_NODEV  4

/* ---- text and memory (linux/text.c, memory.c) ---- */

void *memcpy(void *to, const void *from, size_t len);
void *memset(void *to, int byte, size_t len);
int memcmp(const void *a, const void *b, size_t len);
size_t text_len(const char *s);
bool text_eq(const char *a, const char *b);
bool text_has_prefix(const char *s, const char *prefix);
/* Appends to a NUL-terminated buffer of cap bytes; cuts silently. Returns the new length. */
size_t text_append(char *to, size_t cap, const char *s);
size_t text_append_u64(char *to, size_t cap, uint64_t v);
uint64_t text_to_u64(const char *s);

/* ---- small things that several steps need (linux/file.c) ---- */

struct file_id {
    uint64_t dev, ino, mount, size;
    int64_t changed; /* its contents, in seconds */
    uint32_t mode;
    bool mount_root;
};

/*
 * An O_PATH descriptor of an absolute path as the calling process sees it now. No symlink is
 * followed anywhere; paths longer than PATH_MAX are walked in pieces.
 */
long file_open_path(const char *path);
/* One name below dirfd. */
long file_open_at(int dirfd, const char *name);
/* The same for a path's parent; *ret_name points at the last component inside path. */
long file_open_parent(const char *path, const char **ret_name);
long file_identify(int fd, struct file_id *ret);
/* The same by one name below dirfd, which may be a symlink itself: for looking again, not for
 * opening. */
long file_identify_at(int dirfd, const char *name, struct file_id *ret);
/* … by what the kernel knows without asking the file system; name "": dirfd itself. */
long file_identify_cached_at(int dirfd, const char *name, struct file_id *ret);
/* Writes text to an existing file relative to dirfd. */
long file_write(int dirfd, const char *path, const char *text);
void file_close(int fd);

#endif
