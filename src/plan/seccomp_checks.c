/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the actions of syscalls.def demand of a call's arguments: one short decision list each.
 *
 * Arguments: every one that is looked at is an int or an unsigned int to the kernel, or its high
 * half is refused by the kernel itself (unshare), or dropped (clone). So only the low 32 bits are
 * compared; junk in the high half neither opens nor closes anything. Of a pointer both halves
 * count, but all that is asked is whether there is one. What hides behind it
 * cannot be seen: clone3 and openat2 are answered with ENOSYS, and programs then use clone and
 * openat.
 *
 * With a monitor (watch.def) calls that would be let through ask it first, and go on whatever it
 * says; calls that would be refused as a whole ask it for the refusal. The other verdicts are the
 * same as without.
 */
#include "plan/seccomp_checks.h"

#include "plan/protocol.h"

#define E_PROTONOSUPPORT 93u
#define E_OPNOTSUPP      95u
#define E_AFNOSUPPORT    97u

#define IS(arg, value)                arg, false, SECCOMP_ALL_BITS, value
#define IS_NOT(arg, value)            arg, true, SECCOMP_ALL_BITS, value
#define PART_IS(arg, mask, value)     arg, false, mask, value
#define PART_IS_NOT(arg, mask, value) arg, true, mask, value
#define HAS_ANY(arg, mask)            arg, true, mask, 0
#define REFUSE                        RET_ERRNO(E_PERM)

/*
 * NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET. CLONE_NEWTIME (0x80) is not among them:
 * in clone() that bit belongs to the exit signal. All 32 bits have a meaning by now, so a new
 * kind of namespace cannot come in through clone().
 */
#define CLONE_NEW_ANY 0x7e020000u
static const struct seccomp_check clone_checks[] = {
    { HAS_ANY(0, CLONE_NEW_ANY), REFUSE },
};

/* unshare() has bits left for new kinds: an allow-list of VM FS FILES SIGHAND THREAD SYSVSEM. */
#define UNSHARE_HARMLESS 0x00050f00u
static const struct seccomp_check unshare_checks[] = {
    { HAS_ANY(0, ~UNSHARE_HARMLESS), REFUSE },
};

/*
 * TIOCSTI types into the terminal, TIOCLINUX pastes into a console, TIOCCONS takes the console's
 * output, TIOCSETD loads line disciplines, a part of the kernel with a history.
 *
 * All of btrfs that take the name of a subvolume (or of a device, which is root's): a snapshot is a
 * copy without the mounts in it, with all that they hide, in any directory that can be written. Its
 * owner may take one, on older kernels whoever owns one file in it; and to destroy one takes along
 * what mounts protect below it.
 */
#define BTRFS_NAMES 0x50009400u /* _IOW(0x94, 0, struct btrfs_ioctl_vol_args), and _v2 */
static const struct seccomp_check ioctl_checks[] = {
    { IS(1, 0x5412), REFUSE },
    { IS(1, 0x541c), REFUSE },
    { IS(1, 0x541d), REFUSE },
    { IS(1, 0x5423), REFUSE },
    { PART_IS(1, ~0xffu, BTRFS_NAMES), REFUSE },
};

/* F_SETLEASE: a lease on a file makes everybody else's open() of it wait, up to 45 seconds. */
static const struct seccomp_check fcntl_checks[] = {
    { IS(1, 1024), REFUSE },
};

/*
 * Pid 1 hands the terminal's foreground around (TIOCGPGRP, TIOCSPGRP) and is the monitor
 * (SECCOMP_IOCTL_NOTIF_RECV, _SEND), which looks at paths without opening
 * what is there.
 */
static const struct seccomp_check init_ioctl_checks[] = {
    { IS(1, 0x540f), RET_ALLOW },
    { IS(1, 0x5410), RET_ALLOW },
    { IS(1, 0xc0502100), RET_ALLOW },
    { IS(1, 0xc0182101), RET_ALLOW },
};
/* A thread of its own, as confined as itself (launcher/watch_thread.c). */
static const struct seccomp_check init_clone_checks[] = {
    { IS(0, LAUNCH_THREAD), RET_ALLOW },
};
#define OPEN_PATH 010000000u /* O_PATH */
static const struct seccomp_check init_openat_checks[] = {
    { PART_IS(2, OPEN_PATH, OPEN_PATH), RET_ALLOW },
};

/*
 * Where it serves masks it reads in /proc what a caller is doing.
 *
 * With named sockets it also makes Unix sockets, connects them, clears O_NONBLOCK (FIONBIO), gives
 * them to the command (SECCOMP_IOCTL_NOTIF_ADDFD), and reads the flags of a descriptor in /proc.
 */
#define OPEN_CHANGES 020001103u /* O_ACCMODE, O_CREAT, O_TRUNC, O_TMPFILE: else nothing changes */
static const struct seccomp_check init_ioctl_named_checks[] = {
    { IS(1, 0x540f), RET_ALLOW },     { IS(1, 0x5410), RET_ALLOW },
    { IS(1, 0xc0502100), RET_ALLOW }, { IS(1, 0xc0182101), RET_ALLOW },
    { IS(1, 0x40182103), RET_ALLOW }, { IS(1, 0x5421), RET_ALLOW },
};
static const struct seccomp_check init_openat_read_checks[] = {
    { PART_IS(2, OPEN_PATH, OPEN_PATH), RET_ALLOW },
    { PART_IS(2, OPEN_CHANGES, 0), RET_ALLOW },
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
static const struct seccomp_check mknod_checks[] = {
    { PART_IS(1, MODE_TYPE, 0020000), REFUSE },
    { PART_IS(1, MODE_TYPE, 0060000), REFUSE },
    { HAS_ANY(1, MODE_SETID), REFUSE },
};
static const struct seccomp_check mknodat_checks[] = {
    { PART_IS(2, MODE_TYPE, 0020000), REFUSE },
    { PART_IS(2, MODE_TYPE, 0060000), REFUSE },
    { HAS_ANY(2, MODE_SETID), REFUSE },
};
static const struct seccomp_check chmod_checks[] = {
    { HAS_ANY(1, MODE_SETUID), REFUSE },
};
static const struct seccomp_check fchmodat_checks[] = {
    { HAS_ANY(2, MODE_SETUID), REFUSE },
};
static const struct seccomp_check creat_checks[] = {
    { HAS_ANY(1, MODE_SETID), REFUSE },
};

/* Without O_CREAT and O_TMPFILE the mode is not looked at, and may be anything. */
#define OPEN_MAKES 020000100u
static const struct seccomp_check open_checks[] = {
    { PART_IS(1, OPEN_MAKES, 0), RET_ALLOW },
    { HAS_ANY(2, MODE_SETID), REFUSE },
};
static const struct seccomp_check openat_checks[] = {
    { PART_IS(2, OPEN_MAKES, 0), RET_ALLOW },
    { HAS_ANY(3, MODE_SETID), REFUSE },
};

/*
 * Only one's own limits. The kernel asks for the same user and for nothing else: a limit of no time
 * at all kills whatever process can be named.
 *
 * That of core files stays at 1 (limits.c): with 0 the host's handler of crashes would be started
 * on what the command made of itself. Programs that ask for 0 want no core file, and have none, so
 * they are told that it is done.
 */
#define LIMIT_OF_CORES 4u
#define PRETEND        RET_ERRNO(0u)
static const struct seccomp_check prlimit_checks[] = {
    { IS_NOT(0, 0), REFUSE },
    { IS_NOT(1, LIMIT_OF_CORES), RET_ALLOW },
    { IS_NOT(2, 0), PRETEND }, /* a new limit: not only a question */
    { IS_NOT(2 + CHECK_HIGH, 0), PRETEND },
};
static const struct seccomp_check setrlimit_checks[] = {
    { IS(0, LIMIT_OF_CORES), PRETEND },
};

/*
 * Pid 1 ends the run when its time is up, and needs some for that: neither it nor its group, nor
 * all processes of the user (PRIO_USER), are put behind others. Nor is its thread that serves
 * masks: pid 1 itself waits for that one when it looks at a path.
 */
static const struct seccomp_check sched_checks[] = {
    { IS(0, 1), REFUSE },
    { IS(0, LAUNCH_MASKS_TID), REFUSE },
};
static const struct seccomp_check setpriority_checks[] = {
    { IS(1, 1), REFUSE },
    { IS(1, LAUNCH_MASKS_TID), REFUSE },
    { IS(0, 0), RET_ALLOW }, /* PRIO_PROCESS */
    { IS(0, 1), RET_ALLOW }, /* PRIO_PGRP */
};

/*
 * PER_LINUX, PER_LINUX32, both with UNAME26, ADDR_NO_RANDOMIZE (debuggers), and the question.
 * Not READ_IMPLIES_EXEC, MMAP_PAGE_ZERO and the systems that nobody has.
 */
static const struct seccomp_check personality_checks[] = {
    { IS(0, 0x00000000), RET_ALLOW }, { IS(0, 0x00000008), RET_ALLOW },
    { IS(0, 0x00020000), RET_ALLOW }, { IS(0, 0x00020008), RET_ALLOW },
    { IS(0, 0x00040000), RET_ALLOW }, { IS(0, 0xffffffff), RET_ALLOW },
};

/*
 * AF_INET and AF_INET6: TCP and UDP, the network namespace decides what they reach. Nothing else:
 * raw, ping, SCTP, DCCP, MPTCP, SMC and UDP-Lite sockets go past what the proxy and its records
 * see, and are a part of the kernel (some as modules, loaded by asking) that no build needs. Nor
 * SOCK_PACKET, which makes AF_INET an AF_PACKET. Programs take EPROTONOSUPPORT for a kernel without
 * and use TCP (Go with MPTCP). AF_NETLINK only for NETLINK_ROUTE, which getifaddrs() needs. AF_UNIX
 * reaches the host through any socket whose path is visible, so it needs the option. Offline there
 * are no Internet sockets at all.
 */
#define FAMILY_UNIX     1u
#define FAMILY_INET     2u
#define FAMILY_INET6    10u
#define FAMILY_NETLINK  16u
#define FAMILY_INTERNET ~(FAMILY_INET ^ FAMILY_INET6) /* what both have in common */
#define TYPE_MASK       0xfu                          /* without SOCK_CLOEXEC and SOCK_NONBLOCK */
#define TYPE_STREAM     1u
#define TYPE_DGRAM      2u
#define TYPE_SEQPACKET  5u
#define PROTOCOL_TCP    6u
#define PROTOCOL_UDP    17u
#define NO_FAMILY       RET_ERRNO(E_AFNOSUPPORT)
#define NO_PROTOCOL     RET_ERRNO(E_PROTONOSUPPORT) /* also where a list ends */

_Static_assert((FAMILY_INET & FAMILY_INTERNET) == FAMILY_INET &&
                   (FAMILY_INET6 & FAMILY_INTERNET) == FAMILY_INET,
               "one bit tells them apart");

/* Netlink and the Internet, whatever is said of Unix sockets. */
/* clang-format off */
#define SOCKETS_ONLINE                                                                             \
    { IS(0, FAMILY_NETLINK), CHECK_AND },              { IS(2, 0), RET_ALLOW },                    \
    { IS(0, FAMILY_NETLINK), NO_PROTOCOL },                                                        \
    { PART_IS_NOT(0, FAMILY_INTERNET, FAMILY_INET), NO_FAMILY },                                   \
    { PART_IS(1, TYPE_MASK, TYPE_STREAM), CHECK_AND }, { IS(2, PROTOCOL_TCP), RET_ALLOW },         \
    { PART_IS(1, TYPE_MASK, TYPE_DGRAM), CHECK_AND },  { IS(2, PROTOCOL_UDP), RET_ALLOW },         \
    { IS_NOT(2, 0), NO_PROTOCOL },                                                                 \
    { PART_IS(1, TYPE_MASK, TYPE_STREAM), RET_ALLOW },                                             \
    { PART_IS(1, TYPE_MASK, TYPE_DGRAM), RET_ALLOW }
#define SOCKETS_OFFLINE                                                                            \
    { IS_NOT(0, FAMILY_NETLINK), NO_FAMILY },          { IS(2, 0), RET_ALLOW }
/* clang-format on */

static const struct seccomp_check socket_checks[] = {
    { IS(0, FAMILY_UNIX), REFUSE },
    SOCKETS_ONLINE,
};
static const struct seccomp_check socket_offline_checks[] = {
    { IS(0, FAMILY_UNIX), REFUSE },
    SOCKETS_OFFLINE,
};
/* Relayed: TCP, which pid 1 connects. Netlink would tell about the host's network. */
static const struct seccomp_check socket_relayed_checks[] = {
    { IS(0, FAMILY_UNIX), REFUSE },
    { PART_IS_NOT(0, FAMILY_INTERNET, FAMILY_INET), NO_FAMILY },
    { PART_IS_NOT(1, TYPE_MASK, TYPE_STREAM), NO_PROTOCOL },
    { IS(2, 0), RET_ALLOW },
    { IS(2, PROTOCOL_TCP), RET_ALLOW },
};
/* What connects without connect(): MSG_FASTOPEN. What makes another socket of it: TCP_ULP. */
#define FLAG_FASTOPEN 0x20000000u
static const struct seccomp_check sendmsg_checks[] = {
    { HAS_ANY(2, FLAG_FASTOPEN), RET_ERRNO(E_OPNOTSUPP) },
};
static const struct seccomp_check sendto_checks[] = {
    { HAS_ANY(3, FLAG_FASTOPEN), RET_ERRNO(E_OPNOTSUPP) },
};
#define OPTION_ULP 31u
static const struct seccomp_check setsockopt_checks[] = {
    { IS_NOT(1, PROTOCOL_TCP), RET_ALLOW },
    { IS(2, OPTION_ULP), RET_ERRNO(E_OPNOTSUPP) },
};
static const struct seccomp_check init_socket_checks[] = {
    { IS(0, FAMILY_UNIX), RET_ALLOW },
};
/* Pid 1 makes them, and only ever gives out connected ones (launcher/sockets.c). */
static const struct seccomp_check socket_named_checks[] = {
    { IS(0, FAMILY_UNIX), RET_ASK },
    SOCKETS_ONLINE,
};
static const struct seccomp_check socket_unix_offline_checks[] = {
    { IS(0, FAMILY_UNIX), RET_ALLOW },
    SOCKETS_OFFLINE,
};
static const struct seccomp_check socket_unix_checks[] = {
    { IS(0, FAMILY_UNIX), RET_ALLOW },
    SOCKETS_ONLINE,
};

/*
 * A pair of stream or seqpacket sockets is connected for good. A datagram socket can connect() or
 * sendto() to any other address later, and SOCK_RAW becomes one: without the option both are
 * refused, or socketpair() would be the way around socket().
 */
static const struct seccomp_check socketpair_checks[] = {
    { IS_NOT(0, FAMILY_UNIX), NO_FAMILY },
    { PART_IS(1, TYPE_MASK, TYPE_STREAM), RET_ALLOW },
    { PART_IS(1, TYPE_MASK, TYPE_SEQPACKET), RET_ALLOW },
};
static const struct seccomp_check socketpair_unix_checks[] = {
    { IS_NOT(0, FAMILY_UNIX), NO_FAMILY },
};

#define CHECKS(list, otherwise) ((struct seccomp_checks){ list, ARRAY_LEN(list), otherwise })
#define VERDICT(verdict)        ((struct seccomp_checks){ NULL, 0, verdict })

static struct seccomp_checks socket_action(const struct seccomp_options *o)
{
    if (o->relayed)
        return CHECKS(socket_relayed_checks, NO_PROTOCOL);
    if (o->offline)
        return o->unix_sockets ? CHECKS(socket_unix_offline_checks, NO_PROTOCOL)
                               : CHECKS(socket_offline_checks, NO_PROTOCOL);
    if (o->named)
        return CHECKS(socket_named_checks, NO_PROTOCOL);
    return o->unix_sockets ? CHECKS(socket_unix_checks, NO_PROTOCOL)
                           : CHECKS(socket_checks, NO_PROTOCOL);
}

static struct seccomp_checks init_action(enum seccomp_action action,
                                         const struct seccomp_options *o)
{
    const bool named = o->named;

    switch (action) {
    case SECCOMP_INIT_CLONE:
        return CHECKS(init_clone_checks, REFUSE);
    case SECCOMP_INIT_CONNECT:
        return VERDICT(named ? RET_ALLOW : REFUSE);
    case SECCOMP_INIT_IOCTL:
        return named ? CHECKS(init_ioctl_named_checks, REFUSE) : CHECKS(init_ioctl_checks, REFUSE);
    case SECCOMP_INIT_OPENAT:
        return named || o->reads ? CHECKS(init_openat_read_checks, REFUSE)
                                 : CHECKS(init_openat_checks, REFUSE);
    default: /* SECCOMP_INIT_SOCKET */
        return named ? CHECKS(init_socket_checks, REFUSE) : VERDICT(REFUSE);
    }
}

/* Calls that could make a socket's own connection, where pid 1 makes it. */
static struct seccomp_checks relayed_action(enum seccomp_action action)
{
    switch (action) {
    case SECCOMP_SENDMSG:
        return CHECKS(sendmsg_checks, RET_ALLOW);
    case SECCOMP_SENDTO:
        return CHECKS(sendto_checks, RET_ALLOW);
    default:
        return CHECKS(setsockopt_checks, RET_ALLOW);
    }
}

static struct seccomp_checks limit_action(enum seccomp_action action)
{
    if (action == SECCOMP_PRLIMIT)
        return CHECKS(prlimit_checks, RET_ALLOW);
    if (action == SECCOMP_SETRLIMIT)
        return CHECKS(setrlimit_checks, RET_ALLOW);
    return action == SECCOMP_SCHED ? CHECKS(sched_checks, RET_ALLOW)
                                   : CHECKS(setpriority_checks, REFUSE);
}

static struct seccomp_checks mode_action(enum seccomp_action action)
{
    if (action == SECCOMP_OPEN)
        return CHECKS(open_checks, RET_ALLOW);
    if (action == SECCOMP_OPENAT)
        return CHECKS(openat_checks, RET_ALLOW);
    if (action == SECCOMP_CHMOD)
        return CHECKS(chmod_checks, RET_ALLOW);
    return action == SECCOMP_FCHMODAT ? CHECKS(fchmodat_checks, RET_ALLOW)
                                      : CHECKS(creat_checks, RET_ALLOW);
}

struct seccomp_checks seccomp_action_checks(enum seccomp_action action,
                                            const struct seccomp_options *o)
{
    switch (action) {
    case SECCOMP_ALLOW:
        return VERDICT(RET_ALLOW);
    case SECCOMP_NESTED:
        return VERDICT(o->nested ? RET_ALLOW : REFUSE);
    case SECCOMP_CLONE:
        return o->nested ? VERDICT(RET_ALLOW) : CHECKS(clone_checks, RET_ALLOW);
    case SECCOMP_CONNECT:
        return VERDICT(o->named || o->relayed ? RET_ASK : RET_ALLOW);
    case SECCOMP_CHMOD:
    case SECCOMP_FCHMODAT:
    case SECCOMP_CREAT:
    case SECCOMP_OPEN:
    case SECCOMP_OPENAT:
        return mode_action(action);
    case SECCOMP_FCNTL:
        return CHECKS(fcntl_checks, RET_ALLOW);
    case SECCOMP_OPENAT2:
    case SECCOMP_CLONE3:
        return VERDICT(o->nested ? RET_ALLOW : RET_ERRNO(E_NOSYS));
    case SECCOMP_UNSHARE:
        return o->nested ? VERDICT(RET_ALLOW) : CHECKS(unshare_checks, RET_ALLOW);
    case SECCOMP_IOCTL:
        return CHECKS(ioctl_checks, RET_ALLOW);
    case SECCOMP_INIT_CLONE:
    case SECCOMP_INIT_CONNECT:
    case SECCOMP_INIT_IOCTL:
    case SECCOMP_INIT_OPENAT:
    case SECCOMP_INIT_SOCKET:
        return init_action(action, o);
    case SECCOMP_LISTEN:
        return VERDICT(o->deaf ? REFUSE : RET_ALLOW);
    case SECCOMP_MKNOD:
        return CHECKS(mknod_checks, RET_ALLOW);
    case SECCOMP_MKNODAT:
        return CHECKS(mknodat_checks, RET_ALLOW);
    case SECCOMP_PERSONALITY:
        return CHECKS(personality_checks, REFUSE);
    case SECCOMP_PRLIMIT:
    case SECCOMP_SCHED:
    case SECCOMP_SETPRIORITY:
    case SECCOMP_SETRLIMIT:
        return limit_action(action);
    case SECCOMP_SENDMSG:
    case SECCOMP_SENDTO:
    case SECCOMP_SETSOCKOPT:
        return o->relayed ? relayed_action(action) : VERDICT(RET_ALLOW);
    case SECCOMP_SOCKET:
        return socket_action(o);
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

static const struct seccomp_check open_asks[] = {
    { PART_IS(1, OPEN_CHANGES, 0), RET_ALLOW },
    { PART_IS(1, OPEN_MAKES, 0), RET_ASK },
    { HAS_ANY(2, MODE_SETID), REFUSE },
};
static const struct seccomp_check openat_asks[] = {
    { PART_IS(2, OPEN_CHANGES, 0), RET_ALLOW },
    { PART_IS(2, OPEN_MAKES, 0), RET_ASK },
    { HAS_ANY(3, MODE_SETID), REFUSE },
};
static const struct seccomp_check clone_asks[] = {
    { HAS_ANY(0, CLONE_NEW_ANY), RET_ASK },
};
static const struct seccomp_check unshare_asks[] = {
    { HAS_ANY(0, ~UNSHARE_HARMLESS), RET_ASK },
};
/* Not of this very type: so the libc asks nscd and systemd about users, and goes on without. */
#define TYPE_OF_NSCD 02004001u /* SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK */
static const struct seccomp_check socket_asks[] = {
    { IS(0, FAMILY_UNIX), CHECK_AND },
    { IS(1, TYPE_OF_NSCD), REFUSE },
    { IS(0, FAMILY_UNIX), RET_ASK },
    SOCKETS_ONLINE,
};
/* No address: the socket is connected. */
static const struct seccomp_check sendto_asks[] = {
    { IS(5, 0), RET_ALLOW },
};

/* What is refused, and only ever refused by the monitor. */
static struct seccomp_checks told_checks(enum seccomp_action action,
                                         const struct seccomp_checks *plain)
{
    if (action == SECCOMP_CLONE)
        return CHECKS(clone_asks, RET_ALLOW);
    if (action == SECCOMP_UNSHARE)
        return CHECKS(unshare_asks, RET_ALLOW);
    if (action == SECCOMP_ABSENT)
        return VERDICT(RET_ASK);
    if (plain->list == socket_checks)
        return CHECKS(socket_asks, NO_PROTOCOL);
    return !plain->count && plain->otherwise == REFUSE ? VERDICT(RET_ASK) : *plain;
}

struct seccomp_checks seccomp_watched_checks(enum seccomp_action action,
                                             const struct seccomp_watch *w,
                                             const struct seccomp_options *o)
{
    const struct seccomp_checks plain = seccomp_action_checks(action, o);
    const bool learn = o->watch == WATCH_LEARN; /* then every open is looked at */
    const size_t first = learn ? 1 : 0;

    if (w->level == WATCH_TOLD)
        return told_checks(action, &plain);
    switch (action) {
    case SECCOMP_OPEN:
        return (struct seccomp_checks){ open_asks + first, ARRAY_LEN(open_asks) - first, RET_ASK };
    case SECCOMP_OPENAT:
        return (struct seccomp_checks){ openat_asks + first, ARRAY_LEN(openat_asks) - first,
                                        RET_ASK };
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
