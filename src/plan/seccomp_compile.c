/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From syscalls.def to BPF. A pure function: same table, same program, on any machine.
 *
 * A program checks the architecture (another one, such as i386 by `int 0x80`, kills the process),
 * then searches the number in a balanced tree of ranges, and at the leaves looks at arguments
 * where the row asks for it. Numbers without a row are refused, so a newer kernel adds nothing.
 * On x86-64 the numbers of the x32 ABI are refused before the search.
 *
 * Arguments: every one that is looked at is an int or an unsigned int to the kernel, or its high
 * half is refused by the kernel itself (unshare), or dropped (clone). So only the low 32 bits are
 * compared; junk in the high half neither opens nor closes anything. What hides behind a pointer
 * cannot be seen: clone3 and openat2 are answered with ENOSYS, and programs then use clone and
 * openat.
 *
 * Only LD, JMP, AND and RET are used: the kernel (since 5.11) works out with those which numbers
 * are always allowed, and then skips the filter for them.
 *
 * With a monitor (watch.def) calls that would be let through ask it first, and goes on whatever it
 * says; calls that would be refused as a whole ask it for the refusal. The other verdicts are the
 * same as without.
 *
 * The program is written from its end to its beginning, so each jump knows its target. Leaves are
 * shared as far as a jump reaches (255 instructions); beyond that they are written again.
 */
#include "plan/seccomp_compile.h"

/* The kernel's numbers, by our own names: this file is also compiled where <linux/…> is not. */
#define BPF_LOAD   0x20u /* BPF_LD | BPF_W | BPF_ABS */
#define BPF_AND_K  0x54u
#define BPF_JUMP   0x05u
#define BPF_JEQ_K  0x15u
#define BPF_JGE_K  0x35u
#define BPF_RETURN 0x06u

#define DATA_NUMBER 0u /* offsets in struct seccomp_data */
#define DATA_ARCH   4u
#define DATA_ARG(n) (16u + 8u * (n)) /* the low half: both CPUs are little-endian */

#define RET_KILL     0x80000000u /* the whole process */
#define RET_ALLOW    0x7fff0000u
#define RET_ASK      0x7fc00000u /* the monitor */
#define RET_ERRNO(e) (0x00050000u | (e))

#define E_PERM           1u
#define E_NOSYS          38u
#define E_PROTONOSUPPORT 93u
#define E_AFNOSUPPORT    97u

#define X32_FIRST 0x40000000u

static const uint32_t audit_arch[SECCOMP_ARCH_COUNT] = {
    [SECCOMP_X86_64] = 0xc000003eu,
    [SECCOMP_AARCH64] = 0xc00000b7u,
};

/* ---- what the arguments must be ---- */

/*
 * A decision list: the first check that holds gives the verdict, `otherwise` if none does.
 * A check holds when (the low half of the argument & mask) equals value, or differs from it.
 */
struct check {
    uint8_t arg;
    bool differs;
    uint32_t mask, value, verdict;
};
struct checks {
    const struct check *list;
    size_t count;
    uint32_t otherwise;
};

#define ALL_BITS                  UINT32_MAX
#define IS(arg, value)            arg, false, ALL_BITS, value
#define IS_NOT(arg, value)        arg, true, ALL_BITS, value
#define PART_IS(arg, mask, value) arg, false, mask, value
#define HAS_ANY(arg, mask)        arg, true, mask, 0
#define REFUSE                    RET_ERRNO(E_PERM)

/*
 * NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET. CLONE_NEWTIME (0x80) is not among them:
 * in clone() that bit belongs to the exit signal. All 32 bits have a meaning by now, so a new
 * kind of namespace cannot come in through clone().
 */
#define CLONE_NEW_ANY 0x7e020000u
static const struct check clone_checks[] = {
    { HAS_ANY(0, CLONE_NEW_ANY), REFUSE },
};

/* unshare() has bits left for new kinds: an allow-list of VM FS FILES SIGHAND THREAD SYSVSEM. */
#define UNSHARE_HARMLESS 0x00050f00u
static const struct check unshare_checks[] = {
    { HAS_ANY(0, ~UNSHARE_HARMLESS), REFUSE },
};

/*
 * TIOCSTI types into the terminal, TIOCLINUX pastes into a console, TIOCCONS takes the console's
 * output, TIOCSETD loads line disciplines, a part of the kernel with a history.
 */
static const struct check ioctl_checks[] = {
    { IS(1, 0x5412), REFUSE },
    { IS(1, 0x541c), REFUSE },
    { IS(1, 0x541d), REFUSE },
    { IS(1, 0x5423), REFUSE },
};

/* F_SETLEASE: a lease on a file makes everybody else's open() of it wait, up to 45 seconds. */
static const struct check fcntl_checks[] = {
    { IS(1, 1024), REFUSE },
};

/*
 * Pid 1 hands the terminal's foreground around (TIOCGPGRP, TIOCSPGRP) and is the monitor
 * (SECCOMP_IOCTL_NOTIF_RECV, _SEND), which looks at paths without opening
 * what is there.
 */
static const struct check init_ioctl_checks[] = {
    { IS(1, 0x540f), RET_ALLOW },
    { IS(1, 0x5410), RET_ALLOW },
    { IS(1, 0xc0502100), RET_ALLOW },
    { IS(1, 0xc0182101), RET_ALLOW },
};
#define OPEN_PATH 010000000u /* O_PATH */
static const struct check init_openat_checks[] = {
    { PART_IS(2, OPEN_PATH, OPEN_PATH), RET_ALLOW },
};

/*
 * A program with the setuid bit in a writable directory would run as us for whoever starts it on
 * the host. Nothing is born with that bit or setgid, and chmod does not set it; setgid by chmod
 * stays allowed, since directories are shared that way.
 */
#define MODE_SETUID 04000u
#define MODE_SETID  06000u

/* S_IFCHR and S_IFBLK. Fifos, sockets and plain files are fine. */
#define MODE_TYPE 0170000u
static const struct check mknod_checks[] = {
    { PART_IS(1, MODE_TYPE, 0020000), REFUSE },
    { PART_IS(1, MODE_TYPE, 0060000), REFUSE },
    { HAS_ANY(1, MODE_SETID), REFUSE },
};
static const struct check mknodat_checks[] = {
    { PART_IS(2, MODE_TYPE, 0020000), REFUSE },
    { PART_IS(2, MODE_TYPE, 0060000), REFUSE },
    { HAS_ANY(2, MODE_SETID), REFUSE },
};
static const struct check chmod_checks[] = {
    { HAS_ANY(1, MODE_SETUID), REFUSE },
};
static const struct check fchmodat_checks[] = {
    { HAS_ANY(2, MODE_SETUID), REFUSE },
};
static const struct check creat_checks[] = {
    { HAS_ANY(1, MODE_SETID), REFUSE },
};

/* Without O_CREAT and O_TMPFILE the mode is not looked at, and may be anything. */
#define OPEN_MAKES 020000100u
static const struct check open_checks[] = {
    { PART_IS(1, OPEN_MAKES, 0), RET_ALLOW },
    { HAS_ANY(2, MODE_SETID), REFUSE },
};
static const struct check openat_checks[] = {
    { PART_IS(2, OPEN_MAKES, 0), RET_ALLOW },
    { HAS_ANY(3, MODE_SETID), REFUSE },
};

/*
 * PER_LINUX, PER_LINUX32, both with UNAME26, ADDR_NO_RANDOMIZE (debuggers), and the question.
 * Not READ_IMPLIES_EXEC, MMAP_PAGE_ZERO and the systems that nobody has.
 */
static const struct check personality_checks[] = {
    { IS(0, 0x00000000), RET_ALLOW }, { IS(0, 0x00000008), RET_ALLOW },
    { IS(0, 0x00020000), RET_ALLOW }, { IS(0, 0x00020008), RET_ALLOW },
    { IS(0, 0x00040000), RET_ALLOW }, { IS(0, 0xffffffff), RET_ALLOW },
};

/*
 * AF_INET and AF_INET6: the network namespace decides what they reach. AF_NETLINK only for
 * NETLINK_ROUTE, which getifaddrs() needs. AF_UNIX reaches the host through any socket whose path
 * is visible, so it needs the option. Offline there are no Internet sockets at all: that kernel has
 * no such protocol.
 */
#define FAMILY_UNIX    1u
#define FAMILY_INET    2u
#define FAMILY_INET6   10u
#define FAMILY_NETLINK 16u
static const struct check socket_checks[] = {
    { IS(0, FAMILY_UNIX), REFUSE },
    { IS(0, FAMILY_INET), RET_ALLOW },
    { IS(0, FAMILY_INET6), RET_ALLOW },
    { IS_NOT(0, FAMILY_NETLINK), RET_ERRNO(E_AFNOSUPPORT) },
    { IS(2, 0), RET_ALLOW },
};
static const struct check socket_offline_checks[] = {
    { IS(0, FAMILY_UNIX), REFUSE },
    { IS_NOT(0, FAMILY_NETLINK), RET_ERRNO(E_AFNOSUPPORT) },
    { IS(2, 0), RET_ALLOW },
};
static const struct check socket_unix_offline_checks[] = {
    { IS(0, FAMILY_UNIX), RET_ALLOW },
    { IS_NOT(0, FAMILY_NETLINK), RET_ERRNO(E_AFNOSUPPORT) },
    { IS(2, 0), RET_ALLOW },
};
static const struct check socket_unix_checks[] = {
    { IS(0, FAMILY_UNIX), RET_ALLOW },
    { IS(0, FAMILY_INET), RET_ALLOW },
    { IS(0, FAMILY_INET6), RET_ALLOW },
    { IS_NOT(0, FAMILY_NETLINK), RET_ERRNO(E_AFNOSUPPORT) },
    { IS(2, 0), RET_ALLOW },
};

/*
 * A pair of stream or seqpacket sockets is connected for good. A datagram socket can connect() or
 * sendto() to any other address later, and SOCK_RAW becomes one: without the option both are
 * refused, or socketpair() would be the way around socket().
 */
#define TYPE_MASK 0xfu /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
static const struct check socketpair_checks[] = {
    { IS_NOT(0, FAMILY_UNIX), RET_ERRNO(E_AFNOSUPPORT) },
    { PART_IS(1, TYPE_MASK, 1), RET_ALLOW },
    { PART_IS(1, TYPE_MASK, 5), RET_ALLOW },
};
static const struct check socketpair_unix_checks[] = {
    { IS_NOT(0, FAMILY_UNIX), RET_ERRNO(E_AFNOSUPPORT) },
};

#define CHECKS(list, otherwise) ((struct checks){ list, ARRAY_LEN(list), otherwise })
#define VERDICT(verdict)        ((struct checks){ NULL, 0, verdict })

static struct checks action_checks(enum seccomp_action action, const struct seccomp_options *o)
{
    switch (action) {
    case SECCOMP_ALLOW:
        return VERDICT(RET_ALLOW);
    case SECCOMP_NESTED:
        return VERDICT(o->nested ? RET_ALLOW : REFUSE);
    case SECCOMP_CLONE:
        return o->nested ? VERDICT(RET_ALLOW) : CHECKS(clone_checks, RET_ALLOW);
    case SECCOMP_CHMOD:
        return CHECKS(chmod_checks, RET_ALLOW);
    case SECCOMP_FCHMODAT:
        return CHECKS(fchmodat_checks, RET_ALLOW);
    case SECCOMP_FCNTL:
        return CHECKS(fcntl_checks, RET_ALLOW);
    case SECCOMP_CREAT:
        return CHECKS(creat_checks, RET_ALLOW);
    case SECCOMP_OPEN:
        return CHECKS(open_checks, RET_ALLOW);
    case SECCOMP_OPENAT:
        return CHECKS(openat_checks, RET_ALLOW);
    case SECCOMP_OPENAT2:
    case SECCOMP_CLONE3:
        return VERDICT(o->nested ? RET_ALLOW : RET_ERRNO(E_NOSYS));
    case SECCOMP_UNSHARE:
        return o->nested ? VERDICT(RET_ALLOW) : CHECKS(unshare_checks, RET_ALLOW);
    case SECCOMP_IOCTL:
        return CHECKS(ioctl_checks, RET_ALLOW);
    case SECCOMP_INIT_IOCTL:
        return CHECKS(init_ioctl_checks, REFUSE);
    case SECCOMP_INIT_OPENAT:
        return CHECKS(init_openat_checks, REFUSE);
    case SECCOMP_MKNOD:
        return CHECKS(mknod_checks, RET_ALLOW);
    case SECCOMP_MKNODAT:
        return CHECKS(mknodat_checks, RET_ALLOW);
    case SECCOMP_PERSONALITY:
        return CHECKS(personality_checks, REFUSE);
    case SECCOMP_SOCKET:
        if (o->offline)
            return o->unix_sockets ? CHECKS(socket_unix_offline_checks, RET_ERRNO(E_PROTONOSUPPORT))
                                   : CHECKS(socket_offline_checks, RET_ERRNO(E_PROTONOSUPPORT));
        return o->unix_sockets ? CHECKS(socket_unix_checks, RET_ERRNO(E_PROTONOSUPPORT))
                               : CHECKS(socket_checks, RET_ERRNO(E_PROTONOSUPPORT));
    case SECCOMP_SOCKETPAIR:
        return o->unix_sockets ? CHECKS(socketpair_unix_checks, RET_ALLOW)
                               : CHECKS(socketpair_checks, REFUSE);
    case SECCOMP_ABSENT:
        return VERDICT(RET_ERRNO(E_NOSYS));
    case SECCOMP_DENY:
    case SECCOMP_ACTION_COUNT:
        break;
    }
    return VERDICT(REFUSE);
}

/* ---- what the monitor is asked about ---- */

/* O_ACCMODE, O_CREAT, O_TRUNC, O_TMPFILE: without these nothing is changed. */
#define OPEN_CHANGES 020001103u
static const struct check open_asks[] = {
    { PART_IS(1, OPEN_CHANGES, 0), RET_ALLOW },
    { PART_IS(1, OPEN_MAKES, 0), RET_ASK },
    { HAS_ANY(2, MODE_SETID), REFUSE },
};
static const struct check openat_asks[] = {
    { PART_IS(2, OPEN_CHANGES, 0), RET_ALLOW },
    { PART_IS(2, OPEN_MAKES, 0), RET_ASK },
    { HAS_ANY(3, MODE_SETID), REFUSE },
};
static const struct check clone_asks[] = {
    { HAS_ANY(0, CLONE_NEW_ANY), RET_ASK },
};
static const struct check unshare_asks[] = {
    { HAS_ANY(0, ~UNSHARE_HARMLESS), RET_ASK },
};
/* No address: the socket is connected. */
static const struct check sendto_asks[] = {
    { IS(5, 0), RET_ALLOW },
};

/* Never opens what is refused: REFUSE becomes ASK only where the monitor always refuses (TOLD). */
static struct checks watched_checks(enum seccomp_action action, const struct seccomp_watch *w,
                                    const struct seccomp_options *o)
{
    const struct checks plain = action_checks(action, o);
    const bool learn = o->watch == WATCH_LEARN; /* then every open is looked at */
    const size_t first = learn ? 1 : 0;

    if (w->level == WATCH_TOLD) {
        if (action == SECCOMP_CLONE)
            return CHECKS(clone_asks, RET_ALLOW);
        if (action == SECCOMP_UNSHARE)
            return CHECKS(unshare_asks, RET_ALLOW);
        return !plain.count && plain.otherwise == REFUSE ? VERDICT(RET_ASK) : plain;
    }
    switch (action) {
    case SECCOMP_OPEN:
        return (struct checks){ open_asks + first, ARRAY_LEN(open_asks) - first, RET_ASK };
    case SECCOMP_OPENAT:
        return (struct checks){ openat_asks + first, ARRAY_LEN(openat_asks) - first, RET_ASK };
    case SECCOMP_CREAT:
        return CHECKS(creat_checks, RET_ASK);
    case SECCOMP_CHMOD:
        return CHECKS(chmod_checks, RET_ASK);
    case SECCOMP_FCHMODAT:
        return CHECKS(fchmodat_checks, RET_ASK);
    case SECCOMP_MKNOD:
        return CHECKS(mknod_checks, RET_ASK);
    case SECCOMP_MKNODAT:
        return CHECKS(mknodat_checks, RET_ASK);
    default:
        if (plain.count || plain.otherwise != RET_ALLOW)
            return plain;
        return w->kind == WATCH_ADDRESS && w->number[SECCOMP_X86_64] == 44
                   ? CHECKS(sendto_asks, RET_ASK)
                   : VERDICT(RET_ASK);
    }
}

static const struct seccomp_watch *watch_of(const struct seccomp_row *row, enum seccomp_arch arch)
{
    size_t count;
    const struct seccomp_watch *watches = seccomp_watch_table(&count);

    for (size_t i = 0; i < count; i++)
        if (row->number[arch] >= 0 && watches[i].number[arch] == row->number[arch])
            return &watches[i];
    return NULL;
}

static struct checks row_checks(const struct seccomp_row *row, const struct seccomp_target *t)
{
    const struct seccomp_options *o = &t->options;
    const struct seccomp_watch *w = o->watch ? watch_of(row, t->arch) : NULL;

    if (t->init)
        return action_checks(row->init, o);
    if (w && (w->level == WATCH_TOLD || w->level <= o->watch))
        return watched_checks(row->command, w, o);
    return action_checks(row->command, o);
}

/* ---- writing the program, backwards ---- */

#define JUMP_REACH 255u
#define LEAF_MAX   8u /* verdicts: ALLOW, ASK, KILL and four errnos */

struct leaf {
    uint32_t verdict, place;
};

/* A place in the program is counted from its end: the last instruction is 1. */
struct writer {
    uint64_t *insns; /* room for PLAN_MAX_INSNS; the program grows down from its end */
    uint32_t top;    /* place of the instruction written last */
    bool full;
    struct leaf leaves[LEAF_MAX];
    size_t leaf_count;
};

static uint32_t write_insn(struct writer *w, uint32_t code, uint32_t yes, uint32_t no, uint32_t k)
{
    if (w->top == PLAN_MAX_INSNS) {
        w->full = true;
        return w->top;
    }
    w->top++;
    w->insns[PLAN_MAX_INSNS - w->top] = code | (uint64_t)yes << 16 | (uint64_t)no << 24 |
                                        (uint64_t)k << 32;
    return w->top;
}

/* A place near enough for the next conditional jump, even if one more instruction is put between.
 */
static uint32_t write_reachable(struct writer *w, uint32_t place)
{
    if (w->top - place < JUMP_REACH)
        return place;
    return write_insn(w, BPF_JUMP, 0, 0, w->top - place);
}

static uint32_t write_branch(struct writer *w, uint32_t code, uint32_t k, uint32_t yes, uint32_t no)
{
    yes = write_reachable(w, yes);
    no = write_reachable(w, no);
    return write_insn(w, code, w->top - yes, w->top - no, k);
}

static uint32_t write_leaf(struct writer *w, uint32_t verdict)
{
    struct leaf *leaf = NULL;

    for (size_t i = 0; i < w->leaf_count; i++)
        if (w->leaves[i].verdict == verdict)
            leaf = &w->leaves[i];
    if (leaf && w->top - leaf->place < JUMP_REACH)
        return leaf->place;
    if (!leaf && w->leaf_count < LEAF_MAX)
        leaf = &w->leaves[w->leaf_count++];

    uint32_t place = write_insn(w, BPF_RETURN, 0, 0, verdict);

    if (leaf)
        *leaf = (struct leaf){ verdict, place };
    return place;
}

static uint32_t write_checks(struct writer *w, const struct checks *checks)
{
    uint32_t next = write_leaf(w, checks->otherwise);

    for (size_t i = checks->count; i-- > 0;) {
        const struct check *c = &checks->list[i];
        uint32_t verdict = write_leaf(w, c->verdict);

        next = write_branch(w, BPF_JEQ_K, c->value, c->differs ? next : verdict,
                            c->differs ? verdict : next);
        if (i > 0 && c[-1].arg == c->arg && c[-1].mask == c->mask)
            continue; /* the check before has loaded it */
        if (c->mask != ALL_BITS)
            write_insn(w, BPF_AND_K, 0, 0, c->mask);
        next = write_insn(w, BPF_LOAD, 0, 0, DATA_ARG(c->arg));
    }
    return next;
}

/* ---- the tree ---- */

/* Numbers from `first` up to the next run. */
struct run {
    uint32_t first;
    struct checks checks;
};

static uint32_t write_tree(struct writer *w, const struct run *runs, size_t count)
{
    if (count == 1)
        return write_checks(w, &runs[0].checks);

    size_t half = count / 2;
    uint32_t upper = write_tree(w, runs + half, count - half);
    uint32_t lower = write_tree(w, runs, half);

    return write_branch(w, BPF_JGE_K, runs[half].first, upper, lower);
}

static bool checks_equal(const struct checks *a, const struct checks *b)
{
    return a->list == b->list && a->count == b->count && a->otherwise == b->otherwise;
}

/* ret_runs has room for SECCOMP_MAX_NUMBER + 1. Returns their count; 0 if the table is unfit. */
static size_t make_runs(const struct seccomp_row *table, size_t count,
                        const struct seccomp_target *target, const struct checks *unknown,
                        struct run *ret_runs)
{
    const struct seccomp_row *by_number[SECCOMP_MAX_NUMBER + 1] = { NULL };
    size_t runs = 0;

    for (size_t i = 0; i < count; i++) {
        int number = table[i].number[target->arch];

        if (table[i].command >= SECCOMP_ACTION_COUNT || table[i].init >= SECCOMP_ACTION_COUNT ||
            number < -1 || number >= SECCOMP_MAX_NUMBER || (number >= 0 && by_number[number]))
            return 0;
        if (number >= 0)
            by_number[number] = &table[i];
    }
    /* The last one has no row and stands for all above. */
    for (uint32_t number = 0; number <= SECCOMP_MAX_NUMBER; number++) {
        const struct seccomp_row *row = by_number[number];
        struct checks checks = *unknown;

        if (row)
            checks = row_checks(row, target);
        if (runs == 0 || !checks_equal(&ret_runs[runs - 1].checks, &checks))
            ret_runs[runs++] = (struct run){ number, checks };
    }
    return runs;
}

uint32_t seccomp_compile(const struct seccomp_row *table, size_t count,
                         const struct seccomp_target *target, uint64_t *insns)
{
    struct writer w = { .insns = insns };
    struct checks unknown = VERDICT(RET_ERRNO(target->init ? E_PERM : E_NOSYS));
    struct run runs[SECCOMP_MAX_NUMBER + 1];
    size_t run_count = make_runs(table, count, target, &unknown, runs);

    if (run_count == 0)
        return 0;

    /* From here on each instruction goes on to the one that was written before it. */
    uint32_t search = write_tree(&w, runs, run_count);

    if (target->arch == SECCOMP_X86_64)
        write_branch(&w, BPF_JGE_K, X32_FIRST, write_leaf(&w, unknown.otherwise), search);

    uint32_t load = write_insn(&w, BPF_LOAD, 0, 0, DATA_NUMBER);

    write_branch(&w, BPF_JEQ_K, audit_arch[target->arch], load, write_leaf(&w, RET_KILL));
    write_insn(&w, BPF_LOAD, 0, 0, DATA_ARCH);
    if (w.full)
        return 0;
    for (uint32_t i = 0; i < w.top; i++)
        insns[i] = insns[PLAN_MAX_INSNS - w.top + i];
    return w.top;
}
