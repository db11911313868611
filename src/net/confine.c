/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shutting the net role in.
 *
 * Three fences, each of which would do for files: Landlock without a rule, a system call filter
 * that knows no call with a path, and a limit that makes written files impossible. The filter is a
 * list (confine.def) in the order of the table; a role makes few calls that are not among the
 * first, and the kernel remembers the answer for calls whose arguments do not matter.
 *
 * The address space has a limit; sanitizers need more than any, so their builds have none.
 */
#include "net/confine.h"

#include <asm/unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__x86_64__)
#define CONFINE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CONFINE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no system call filter for this CPU"
#endif

/* aarch64 has only epoll_pwait. */
#ifndef __NR_epoll_wait
#define __NR_epoll_wait (-1)
#endif

enum check { ANY, FAMILY, FILTER, INTERFACE, DESCRIPTOR, NO_EXEC };

static const struct {
    int number; /* -1: this CPU does not have it */
    enum check check;
} calls[] = {
#define CONFINE(name, check) { __NR_##name, check },
#include "net/confine.def"
#undef CONFINE
#ifdef ABX_SANITIZED
    { __NR_sigaltstack, ANY }, /* what a sanitizer does before the process ends */
#endif
};

/* ---- the filter ---- */

struct program {
    struct sock_filter insns[16 * ARRAY_LEN(calls)];
    unsigned short len;
};

static void emit(struct program *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    p->insns[p->len++] = (struct sock_filter){ code, yes, no, k };
}

static void emit_load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static void emit_return(struct program *p, uint32_t action)
{
    emit(p, BPF_RET | BPF_K, 0, 0, action);
}

#define REFUSE      (SECCOMP_RET_ERRNO | (uint32_t)EPERM)
#define LOW_HALF(i) (offsetof(struct seccomp_data, args) + 8 * (size_t)(i))

/* The argument is one of these: allow, else refuse. */
static void emit_one_of(struct program *p, size_t arg, const uint32_t *values, size_t count)
{
    emit_load(p, LOW_HALF(arg));
    for (size_t i = 0; i < count; i++)
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(count - i), 0, values[i]);
    emit_return(p, REFUSE);
    emit_return(p, SECCOMP_RET_ALLOW);
}

static void emit_check(struct program *p, enum check check)
{
    static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6 };
    static const uint32_t modes[] = { SECCOMP_SET_MODE_FILTER };
    static const uint32_t requests[] = { SIOCGIFINDEX };
    static const uint32_t commands[] = { F_SETPIPE_SZ, F_SETFL };

    switch (check) {
    case FAMILY:
        emit_one_of(p, 0, families, ARRAY_LEN(families));
        break;
    case FILTER:
        emit_one_of(p, 0, modes, ARRAY_LEN(modes));
        break;
    case INTERFACE:
        emit_one_of(p, 1, requests, ARRAY_LEN(requests));
        break;
    case DESCRIPTOR:
        emit_one_of(p, 1, commands, ARRAY_LEN(commands));
        break;
    case NO_EXEC:
        emit_load(p, LOW_HALF(2));
        emit(p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, PROT_EXEC);
        emit_return(p, REFUSE);
        FALLTHROUGH;
    default:
        emit_return(p, SECCOMP_RET_ALLOW);
    }
}

static void make_program(struct program *p)
{
    emit_load(p, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, CONFINE_ARCH);
    emit_return(p, SECCOMP_RET_KILL_PROCESS);
    for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
        if (calls[i].number < 0)
            continue;
        emit_load(p, offsetof(struct seccomp_data, nr));
        unsigned short jump = p->len;
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, 0, 0, (uint32_t)calls[i].number);
        emit_check(p, calls[i].check);
        p->insns[jump].jf = (uint8_t)(p->len - jump - 1);
    }
    emit_return(p, REFUSE);
}

static int load_program(const struct program *p)
{
    struct sock_fprog program = { .len = p->len, .filter = (struct sock_filter *)p->insns };

    return syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

static int load_filter(void)
{
    struct program p = { .len = 0 };

    make_program(&p);
    return load_program(&p);
}

int confine_more(bool unix_sockets)
{
    struct program p = { .len = 0 };

    emit_load(&p, offsetof(struct seccomp_data, nr));
    emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 3, 0, __NR_seccomp);
    emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, __NR_socket);
    emit_load(&p, LOW_HALF(0));
    emit(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, unix_sockets ? UINT32_MAX : AF_UNIX);
    emit_return(&p, REFUSE);
    emit_return(&p, SECCOMP_RET_ALLOW);
    return load_program(&p);
}

/* ---- Landlock ---- */

#ifndef __NR_landlock_create_ruleset
#define __NR_landlock_create_ruleset 444
#define __NR_landlock_restrict_self  446
#endif

/* Every right on files that a kernel of this ABI knows is handled, and none is granted. */
static int apply_landlock(void)
{
    static const uint64_t rights[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff };
    struct {
        uint64_t fs, net, scoped;
    } attr = { 0 };
    long abi = syscall(__NR_landlock_create_ruleset, NULL, 0, 1u);

    if (abi < 0 && errno != ENOSYS && errno != EOPNOTSUPP)
        return -errno;
    if (abi < 1)
        return 0; /* a kernel without: the filter alone keeps files closed */
    attr.fs = rights[MIN_OF((size_t)abi, ARRAY_LEN(rights) - 1)];
    attr.scoped = abi >= 6 ? 3 : 0; /* abstract sockets, signals */
    int fd = (int)syscall(__NR_landlock_create_ruleset, &attr,
                          abi >= 6 ? sizeof attr : sizeof attr.fs, 0u);
    if (fd < 0)
        return -errno;
    int r = syscall(__NR_landlock_restrict_self, fd, 0u) < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

/* ---- all of it ---- */

static int set_limit(int resource, uint64_t value)
{
    struct rlimit limit = { .rlim_cur = value, .rlim_max = value };

    return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? -errno : 0;
}

static int apply_limits(uint64_t files)
{
    int r = set_limit(RLIMIT_NOFILE, files);

    if (r == 0)
        r = set_limit(RLIMIT_CORE, 0);
    if (r == 0)
        r = set_limit(RLIMIT_FSIZE, 0);
    if (r == 0)
        r = set_limit(RLIMIT_NPROC, 0);
#ifndef ABX_SANITIZED
    if (r == 0)
        r = set_limit(RLIMIT_AS, CONFINE_MEMORY);
#endif
    return r;
}

uint64_t confine_files(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) < 0 ? 1024 : limit.rlim_max;
}

static int apply_privileges(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    return 0;
}

struct confine_step confine_self(uint64_t files)
{
    int r = apply_privileges();

    if (r < 0)
        return (struct confine_step){ "privileges", r };
    r = apply_limits(files);
    if (r < 0)
        return (struct confine_step){ "limits", r };
    r = apply_landlock();
    if (r < 0)
        return (struct confine_step){ "landlock", r };
    return (struct confine_step){ "seccomp", load_filter() };
}
