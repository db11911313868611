/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The oracle says what the actions of syscalls.def mean as rules for libseccomp, and takes the
 * program that libseccomp makes of them.
 *
 * libseccomp is used with EQ and MASKED_EQ only: its other comparisons are known to be merged
 * wrongly. "Other than" is therefore spelled out as a list of masks, one for each bit.
 */
#include "seccomp_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint32_t audit_arches[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };

struct oracle {
    scmp_filter_ctx ctx;
    struct seccomp_target target;
    const struct seccomp_row *row;
    int native; /* the number libseccomp wants: of the CPU it runs on */
};

static void add_rule(struct oracle *o, uint32_t verdict, unsigned count,
                     const struct scmp_arg_cmp *args)
{
    if (verdict != model_default(&o->target))
        assert_int_equal(seccomp_rule_add_exact_array(o->ctx, verdict, o->native, count, args), 0);
}

/* Conditions that hold as well. */
struct given {
    unsigned count;
    struct scmp_arg_cmp list[2];
};

static struct scmp_arg_cmp part_is(unsigned arg, uint32_t mask, uint32_t value)
{
    return (struct scmp_arg_cmp){ arg, SCMP_CMP_MASKED_EQ, mask, value };
}

static void rule_is(struct oracle *o, uint32_t verdict, unsigned arg, uint32_t mask, uint32_t value)
{
    struct scmp_arg_cmp cmp = part_is(arg, mask, value);

    add_rule(o, verdict, 1, &cmp);
}

/*
 * One rule for each way to differ from all values within mask: bits are taken from the top; where
 * no value is left that begins like `prefix`, the prefix itself is the rule.
 */
static void rule_other(struct oracle *o, uint32_t verdict, const struct given *given, unsigned arg,
                       uint32_t mask, const uint32_t *values, size_t count, uint32_t decided,
                       uint32_t prefix)
{
    uint32_t rest = mask & ~decided;
    bool any = false;

    for (size_t i = 0; i < count; i++)
        any = any || (values[i] & decided) == prefix;
    if (!any) {
        struct scmp_arg_cmp cmp[ARRAY_LEN(given->list) + 1] = { part_is(arg, decided, prefix) };
        const unsigned more = given ? given->count : 0;

        for (unsigned i = 0; i < more; i++)
            cmp[1 + i] = given->list[i];
        add_rule(o, verdict, 1 + more, cmp);
    } else if (rest) {
        uint32_t bit = 0x80000000u >> __builtin_clz(rest);

        rule_other(o, verdict, given, arg, mask, values, count, decided | bit, prefix);
        rule_other(o, verdict, given, arg, mask, values, count, decided | bit, prefix | bit);
    }
}

/* `listed` for the values, `other` for the rest. */
static void rule_list(struct oracle *o, unsigned arg, uint32_t mask, const uint32_t *values,
                      size_t count, uint32_t listed, uint32_t other)
{
    for (size_t i = 0; i < count; i++)
        rule_is(o, listed, arg, mask, values[i]);
    rule_other(o, other, NULL, arg, mask, values, count, 0, 0);
}

#define RULE_LIST(o, arg, mask, listed, other, ...)                                                \
    do {                                                                                           \
        const uint32_t list_[] = { __VA_ARGS__ };                                                  \
        rule_list(o, arg, mask, list_, ARRAY_LEN(list_), listed, other);                           \
    } while (0)

/* TCP and UDP of one family, by number or by 0; the rest of the family is refused. */
static void oracle_internet(struct oracle *o, uint32_t family)
{
    static const uint32_t types[] = { SOCK_STREAM, SOCK_DGRAM },
                          protocols[][2] = { { 0, IPPROTO_TCP }, { 0, IPPROTO_UDP } };
    const uint32_t refused = SCMP_ACT_ERRNO(EPROTONOSUPPORT);
    struct given given = { 1, { part_is(0, UINT32_MAX, family) } };

    if (o->target.options.offline) {
        rule_is(o, SCMP_ACT_ERRNO(EAFNOSUPPORT), 0, UINT32_MAX, family);
        return;
    }
    rule_other(o, refused, &given, 1, 0xf, types, ARRAY_LEN(types), 0, 0);
    given.count = 2;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct scmp_arg_cmp all[3] = { given.list[0], part_is(1, 0xf, types[i]) };

        for (size_t j = 0; j < ARRAY_LEN(protocols[i]); j++) {
            all[2] = part_is(2, UINT32_MAX, protocols[i][j]);
            add_rule(o, SCMP_ACT_ALLOW, 3, all);
        }
        given.list[1] = all[1];
        rule_other(o, refused, &given, 2, UINT32_MAX, protocols[i], ARRAY_LEN(protocols[i]), 0, 0);
    }
}

static void oracle_socket(struct oracle *o)
{
    static const uint32_t families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK }, route = 0;
    struct given netlink = {
        1, { part_is(0, UINT32_MAX, AF_NETLINK), part_is(2, UINT32_MAX, route) }
    };

    rule_is(o,
            o->target.options.named          ? SCMP_ACT_NOTIFY
            : o->target.options.unix_sockets ? SCMP_ACT_ALLOW
                                             : SCMP_ACT_ERRNO(EPERM),
            0, UINT32_MAX, AF_UNIX);
    oracle_internet(o, AF_INET);
    oracle_internet(o, AF_INET6);
    add_rule(o, SCMP_ACT_ALLOW, 2, netlink.list);
    rule_other(o, SCMP_ACT_ERRNO(EPROTONOSUPPORT), &netlink, 2, UINT32_MAX, &route, 1, 0, 0);
    rule_other(o, SCMP_ACT_ERRNO(EAFNOSUPPORT), NULL, 0, UINT32_MAX, families, ARRAY_LEN(families),
               0, 0);
}

static void oracle_socketpair(struct oracle *o)
{
    static const uint32_t unix_family = AF_UNIX, types[] = { SOCK_STREAM, SOCK_SEQPACKET };
    struct given pair = { 1, { part_is(0, UINT32_MAX, AF_UNIX) } };

    rule_other(o, SCMP_ACT_ERRNO(EAFNOSUPPORT), NULL, 0, UINT32_MAX, &unix_family, 1, 0, 0);
    if (o->target.options.unix_sockets) {
        add_rule(o, SCMP_ACT_ALLOW, 1, pair.list);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        pair.list[1] = part_is(1, 0xf, types[i]);
        add_rule(o, SCMP_ACT_ALLOW, 2, pair.list);
    }
    rule_other(o, SCMP_ACT_ERRNO(EPERM), &pair, 1, 0xf, types, ARRAY_LEN(types), 0, 0);
}

/* Types that are refused, and for the others the bits. */
static void oracle_mknod(struct oracle *o, unsigned arg)
{
    static const uint32_t types[] = { S_IFBLK, S_IFCHR }, plain = 0;

    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        rule_is(o, SCMP_ACT_ERRNO(EPERM), arg, S_IFMT, types[i]);
    for (uint32_t type = 0; type <= S_IFMT; type += 010000) {
        if (type == S_IFBLK || type == S_IFCHR)
            continue;
        for (uint32_t bits = 0; bits <= MODEL_SETID; bits += S_ISGID)
            rule_is(o, bits == plain ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM), arg,
                    S_IFMT | MODEL_SETID, type | bits);
    }
}

static void oracle_open(struct oracle *o, unsigned flags, unsigned mode)
{
    static const uint32_t none = 0,
                          makes[] = { O_CREAT, MODEL_MAKES & ~(uint32_t)O_CREAT, MODEL_MAKES };

    rule_is(o, SCMP_ACT_ALLOW, flags, MODEL_MAKES, 0);
    for (size_t i = 0; i < ARRAY_LEN(makes); i++) {
        struct given made = {
            1, { part_is(flags, MODEL_MAKES, makes[i]), part_is(mode, MODEL_SETID, 0) }
        };
        add_rule(o, SCMP_ACT_ALLOW, 2, made.list);
        rule_other(o, SCMP_ACT_ERRNO(EPERM), &made, mode, MODEL_SETID, &none, 1, 0, 0);
    }
}

/* O_PATH; with named sockets or masks to serve, also what changes nothing. */
static void oracle_init_openat(struct oracle *o)
{
    static const uint32_t none = 0;
    struct scmp_arg_cmp opens = part_is(2, O_PATH, 0);
    struct scmp_arg_cmp reads[1] = { part_is(2, O_PATH | MODEL_CHANGES, 0) };

    rule_is(o, SCMP_ACT_ALLOW, 2, O_PATH, O_PATH);
    if (!o->target.options.named && !o->target.options.reads) {
        add_rule(o, SCMP_ACT_ERRNO(EPERM), 1, &opens);
        return;
    }
    add_rule(o, SCMP_ACT_ALLOW, 1, reads);
    rule_other(o, SCMP_ACT_ERRNO(EPERM), NULL, 2, O_PATH | MODEL_CHANGES, &none, 1, O_PATH, 0);
}

/* The terminal's requests one by one; all of btrfs that take a name. */
static void oracle_ioctl(struct oracle *o)
{
    const uint32_t yes = SCMP_ACT_ALLOW, no = SCMP_ACT_ERRNO(EPERM), group = ~0xffu;
    const uint32_t requests[] = { TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD };
    const uint32_t groups[] = { TIOCSTI & group, (uint32_t)BTRFS_IOC_SNAP_CREATE & group };

    for (size_t i = 0; i < ARRAY_LEN(requests); i++)
        rule_is(o, no, 1, UINT32_MAX, requests[i]);
    rule_other(o, yes, NULL, 1, UINT32_MAX, requests, ARRAY_LEN(requests), group, groups[0]);
    rule_is(o, no, 1, group, groups[1]);
    rule_other(o, yes, NULL, 1, group, groups, ARRAY_LEN(groups), 0, 0);
}

static void oracle_init_ioctl(struct oracle *o)
{
    const uint32_t yes = SCMP_ACT_ALLOW, no = SCMP_ACT_ERRNO(EPERM);

    if (o->target.options.named)
        RULE_LIST(o, 1, UINT32_MAX, yes, no, TIOCGPGRP, TIOCSPGRP, FIONBIO,
                  (uint32_t)SECCOMP_IOCTL_NOTIF_RECV, (uint32_t)SECCOMP_IOCTL_NOTIF_SEND,
                  (uint32_t)SECCOMP_IOCTL_NOTIF_ADDFD);
    else
        RULE_LIST(o, 1, UINT32_MAX, yes, no, TIOCGPGRP, TIOCSPGRP,
                  (uint32_t)SECCOMP_IOCTL_NOTIF_RECV, (uint32_t)SECCOMP_IOCTL_NOTIF_SEND);
}

static void oracle_named(struct oracle *o, unsigned action)
{
    const uint32_t yes = SCMP_ACT_ALLOW, no = SCMP_ACT_ERRNO(EPERM);
    bool named = o->target.options.named;

    if (action == SECCOMP_CONNECT)
        add_rule(o, named ? SCMP_ACT_NOTIFY : yes, 0, NULL);
    else if (action == SECCOMP_INIT_IOCTL)
        oracle_init_ioctl(o);
    else if (action == SECCOMP_INIT_OPENAT)
        oracle_init_openat(o);
    else if (action == SECCOMP_INIT_CONNECT)
        add_rule(o, named ? yes : no, 0, NULL);
    else
        RULE_LIST(o, 0, UINT32_MAX, named ? yes : no, no, AF_UNIX);
}

static void oracle_setpriority(struct oracle *o)
{
    static const uint32_t kinds[] = { PRIO_PROCESS, PRIO_PGRP }, init = 1;
    const struct given nothing = { 0 };

    rule_other(o, SCMP_ACT_ERRNO(EPERM), &nothing, 0, UINT32_MAX, kinds, ARRAY_LEN(kinds), 0, 0);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct given kind = { 1,
                              { part_is(0, UINT32_MAX, kinds[i]), part_is(1, UINT32_MAX, init) } };
        add_rule(o, SCMP_ACT_ERRNO(EPERM), 2, kind.list);
        rule_other(o, SCMP_ACT_ALLOW, &kind, 1, UINT32_MAX, &init, 1, 0, 0);
    }
}

static void oracle_clone(struct oracle *o, unsigned action)
{
    const uint32_t yes = SCMP_ACT_ALLOW, no = SCMP_ACT_ERRNO(EPERM);
    const uint32_t others = o->target.options.nested ? yes : no;

    if (action == SECCOMP_CLONE)
        RULE_LIST(o, 0, MODEL_NAMESPACES, yes, others, 0);
    else if (action == SECCOMP_UNSHARE)
        RULE_LIST(o, 0, ~(uint32_t)MODEL_UNSHARE, yes, others, 0);
    else
        RULE_LIST(o, 0, UINT32_MAX, yes, no, MODEL_THREAD);
}

/* The new limit is a pointer: each bit of it, also of the upper half, makes it one. */
static void oracle_prlimit(struct oracle *o)
{
    static const uint32_t own = 0, core = RLIMIT_CORE;
    struct given given = { 1, { part_is(0, UINT32_MAX, own) } };
    struct scmp_arg_cmp cmp[3] = { given.list[0],
                                   part_is(1, UINT32_MAX, core),
                                   { 2, SCMP_CMP_EQ, 0, 0 } };

    rule_other(o, SCMP_ACT_ERRNO(EPERM), NULL, 0, UINT32_MAX, &own, 1, 0, 0);
    rule_other(o, SCMP_ACT_ALLOW, &given, 1, UINT32_MAX, &core, 1, 0, 0);
    add_rule(o, SCMP_ACT_ALLOW, ARRAY_LEN(cmp), cmp);
    for (unsigned bit = 0; bit < 64; bit++) {
        const uint64_t from = UINT64_C(1) << bit;

        cmp[2] = (struct scmp_arg_cmp){ 2, SCMP_CMP_MASKED_EQ, ~(from - 1), from };
        add_rule(o, SCMP_ACT_ERRNO(0), ARRAY_LEN(cmp), cmp);
    }
}

static void oracle_others(struct oracle *o, unsigned action)
{
    const uint32_t yes = SCMP_ACT_ALLOW, no = SCMP_ACT_ERRNO(EPERM);

    if (action == SECCOMP_SETPRIORITY)
        oracle_setpriority(o);
    else if (action == SECCOMP_PRLIMIT)
        oracle_prlimit(o);
    else if (action == SECCOMP_SETRLIMIT)
        RULE_LIST(o, 0, UINT32_MAX, SCMP_ACT_ERRNO(0), yes, RLIMIT_CORE);
    else
        RULE_LIST(o, 0, UINT32_MAX, no, yes, 1);
}

static void oracle_mode(struct oracle *o, unsigned action)
{
    RULE_LIST(o, action == SECCOMP_FCHMODAT ? 2 : 1,
              action == SECCOMP_CREAT ? MODEL_SETID : S_ISUID, SCMP_ACT_ALLOW,
              SCMP_ACT_ERRNO(EPERM), 0);
}

static void oracle_row(struct oracle *o, unsigned action)
{
    const uint32_t yes = SCMP_ACT_ALLOW, no = SCMP_ACT_ERRNO(EPERM);
    bool nested = o->target.options.nested, deaf = o->target.options.deaf;

    switch (action) {
    case SECCOMP_ALLOW:
    case SECCOMP_DENY:
    case SECCOMP_SENDMSG: /* what they look at where connections are relayed, the model says */
    case SECCOMP_SENDTO:
    case SECCOMP_SETSOCKOPT:
        return add_rule(o, action == SECCOMP_DENY ? no : yes, 0, NULL);
    case SECCOMP_ABSENT:
        return add_rule(o, SCMP_ACT_ERRNO(ENOSYS), 0, NULL);
    case SECCOMP_NESTED:
    case SECCOMP_LISTEN:
        return add_rule(o, (action == SECCOMP_NESTED ? nested : !deaf) ? yes : no, 0, NULL);
    case SECCOMP_OPENAT2:
    case SECCOMP_CLONE3:
        return add_rule(o, nested ? yes : SCMP_ACT_ERRNO(ENOSYS), 0, NULL);
    case SECCOMP_CLONE:
    case SECCOMP_INIT_CLONE:
    case SECCOMP_UNSHARE:
        return oracle_clone(o, action);
    case SECCOMP_IOCTL:
        oracle_ioctl(o);
        return;
    case SECCOMP_CONNECT:
    case SECCOMP_INIT_CONNECT:
    case SECCOMP_INIT_IOCTL:
    case SECCOMP_INIT_OPENAT:
    case SECCOMP_INIT_SOCKET:
        return oracle_named(o, action);
    case SECCOMP_MKNOD:
    case SECCOMP_MKNODAT:
        return oracle_mknod(o, action == SECCOMP_MKNOD ? 1 : 2);
    case SECCOMP_CHMOD:
    case SECCOMP_FCHMODAT:
    case SECCOMP_CREAT:
        return oracle_mode(o, action);
    case SECCOMP_FCNTL:
        RULE_LIST(o, 1, UINT32_MAX, no, yes, F_SETLEASE);
        return;
    case SECCOMP_OPEN:
    case SECCOMP_OPENAT:
        return action == SECCOMP_OPEN ? oracle_open(o, 1, 2) : oracle_open(o, 2, 3);
    case SECCOMP_PERSONALITY:
        RULE_LIST(o, 0, UINT32_MAX, yes, no, PER_LINUX, PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32,
                  ADDR_NO_RANDOMIZE, UINT32_MAX);
        return;
    case SECCOMP_PRLIMIT:
    case SECCOMP_SCHED:
    case SECCOMP_SETPRIORITY:
    case SECCOMP_SETRLIMIT:
        return oracle_others(o, action);
    case SECCOMP_SOCKET:
    case SECCOMP_SOCKETPAIR:
        return action == SECCOMP_SOCKET ? oracle_socket(o) : oracle_socketpair(o);
    }
    fail_msg("no rule for action %u", action);
}

/* libseccomp takes numbers of its own CPU and translates them by name to that of the filter. */
static bool oracle_number(struct oracle *o, enum seccomp_arch arch)
{
    bool same_cpu = seccomp_arch_native() == audit_arches[arch];

    o->native = same_cpu ? o->row->number[arch] : seccomp_syscall_resolve_name(o->row->name);
    return o->native != __NR_SCMP_ERROR;
}

void oracle_build(const struct seccomp_target *t, struct bpf_program *ret, bool *ret_known)
{
    /* What the kernel below can do does not matter here: nothing is loaded. */
    int api = seccomp_api_set(5);
    struct oracle o = { .ctx = seccomp_init(model_default(t)), .target = *t };
    size_t count;
    const struct seccomp_row *table = seccomp_table(&count);
    int fd = memfd_create("oracle", MFD_CLOEXEC);

    assert_int_equal(api, 0);
    assert_non_null(o.ctx);
    assert_int_equal(seccomp_attr_set(o.ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), 0);
    if (seccomp_arch_native() != audit_arches[t->arch]) {
        assert_int_equal(seccomp_arch_remove(o.ctx, SCMP_ARCH_NATIVE), 0);
        assert_int_equal(seccomp_arch_add(o.ctx, audit_arches[t->arch]), 0);
    }
    memset(ret_known, 0, SECCOMP_MAX_NUMBER * sizeof(*ret_known));
    for (size_t i = 0; i < count; i++) {
        o.row = &table[i];
        if (o.row->number[t->arch] < 0 || !oracle_number(&o, t->arch))
            continue;
        oracle_row(&o, t->init ? o.row->init : o.row->command);
        ret_known[o.row->number[t->arch]] = true;
    }
    assert_int_equal(seccomp_export_bpf(o.ctx, fd), 0);

    ssize_t size = pread(fd, ret->insns, sizeof(ret->insns), 0);

    assert_true(size > 0 && (size_t)size < sizeof(ret->insns));
    ret->count = (size_t)size / sizeof(ret->insns[0]);
    close(fd);
    seccomp_release(o.ctx);
}
