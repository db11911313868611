/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model repeats what the actions of syscalls.def mean, from the system's own headers and with
 * nothing of the compiler.
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

#include "plan/protocol.h"

#define ERRNO(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))

static const uint32_t audit_arches[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };

uint32_t model_default(const struct seccomp_target *t)
{
    return ERRNO(t->init ? EPERM : ENOSYS);
}

static bool is_tcp_or_udp(uint32_t type, uint32_t protocol)
{
    type &= 0xf;
    return (type == SOCK_STREAM && (protocol == 0 || protocol == IPPROTO_TCP)) ||
           (type == SOCK_DGRAM && (protocol == 0 || protocol == IPPROTO_UDP));
}

static uint32_t model_socket(const struct seccomp_options *o, uint32_t family, uint32_t type,
                             uint32_t protocol)
{
    if ((family == AF_INET || family == AF_INET6) && o->relayed)
        return is_tcp_or_udp(type, protocol) && (type & 0xf) == SOCK_STREAM
                   ? SECCOMP_RET_ALLOW
                   : ERRNO(EPROTONOSUPPORT);
    if (family == AF_NETLINK && o->relayed)
        return ERRNO(EAFNOSUPPORT);
    if (family == AF_INET || family == AF_INET6) {
        if (o->offline)
            return ERRNO(EAFNOSUPPORT);
        return is_tcp_or_udp(type, protocol) ? SECCOMP_RET_ALLOW : ERRNO(EPROTONOSUPPORT);
    }
    if (family == AF_UNIX && o->named)
        return SECCOMP_RET_USER_NOTIF;
    if (family == AF_UNIX)
        return o->unix_sockets ? SECCOMP_RET_ALLOW : ERRNO(EPERM);
    if (family == AF_NETLINK)
        return protocol == 0 ? SECCOMP_RET_ALLOW : ERRNO(EPROTONOSUPPORT);
    return ERRNO(EAFNOSUPPORT);
}

static uint32_t model_socketpair(const struct seccomp_options *o, uint32_t family, uint32_t type)
{
    if (family != AF_UNIX)
        return ERRNO(EAFNOSUPPORT);
    if (o->unix_sockets || (type & 0xf) == SOCK_STREAM || (type & 0xf) == SOCK_SEQPACKET)
        return SECCOMP_RET_ALLOW;
    return ERRNO(EPERM);
}

/* Calls on a socket that could connect it, or make another of it. */
static uint32_t model_connected(unsigned action, const struct seccomp_options *o,
                                const struct seccomp_data *data)
{
    const bool other = action == SECCOMP_SETSOCKOPT
                           ? (uint32_t)data->args[1] == SOL_TCP &&
                                 (uint32_t)data->args[2] == TCP_ULP
                           : (uint32_t)data->args[action == SECCOMP_SENDMSG ? 2 : 3] & MSG_FASTOPEN;

    return o->relayed && other ? ERRNO(EOPNOTSUPP) : SECCOMP_RET_ALLOW;
}

static uint32_t allow_if(bool condition)
{
    return condition ? SECCOMP_RET_ALLOW : ERRNO(EPERM);
}

static bool model_init(unsigned action, const struct seccomp_options *o, uint32_t a0, uint32_t a1,
                       uint32_t a2)
{
    const bool named = o->named;

    if (action == SECCOMP_INIT_CLONE)
        return a0 == MODEL_THREAD;
    if (action == SECCOMP_INIT_IOCTL)
        return a1 == TIOCGPGRP || a1 == TIOCSPGRP || a1 == SECCOMP_IOCTL_NOTIF_RECV ||
               a1 == SECCOMP_IOCTL_NOTIF_SEND ||
               (named && (a1 == SECCOMP_IOCTL_NOTIF_ADDFD || a1 == FIONBIO));
    if (action == SECCOMP_INIT_OPENAT)
        return (a2 & O_PATH) || ((named || o->reads) && !(a2 & MODEL_CHANGES));
    return named && (action == SECCOMP_INIT_CONNECT || a0 == AF_UNIX);
}

/* Limits of one's own but the one of core files, which is only said to be set. */
static uint32_t model_limit(uint64_t resource, bool sets)
{
    return (uint32_t)resource == RLIMIT_CORE && sets ? ERRNO(0) : SECCOMP_RET_ALLOW;
}

static uint32_t model_others(unsigned action, const struct seccomp_data *data)
{
    uint32_t a0 = (uint32_t)data->args[0], a1 = (uint32_t)data->args[1];

    if (action == SECCOMP_SETPRIORITY)
        return allow_if((a0 == PRIO_PROCESS || a0 == PRIO_PGRP) && a1 != 1 &&
                        a1 != LAUNCH_MASKS_TID);
    if (action == SECCOMP_SETRLIMIT)
        return model_limit(a0, true);
    if (action == SECCOMP_PRLIMIT)
        return a0 == 0 ? model_limit(a1, data->args[2] != 0) : ERRNO(EPERM);
    return allow_if(a0 != 1 && a0 != LAUNCH_MASKS_TID);
}

static bool model_mode(unsigned action, const struct seccomp_data *data)
{
    uint32_t a1 = (uint32_t)data->args[1], a2 = (uint32_t)data->args[2];
    uint32_t a3 = (uint32_t)data->args[3];

    if (action == SECCOMP_OPEN)
        return !(a1 & MODEL_MAKES) || !(a2 & MODEL_SETID);
    if (action == SECCOMP_OPENAT)
        return !(a2 & MODEL_MAKES) || !(a3 & MODEL_SETID);
    if (action == SECCOMP_CREAT)
        return !(a1 & MODEL_SETID);
    return !((action == SECCOMP_CHMOD ? a1 : a2) & S_ISUID);
}

static bool model_ioctl(uint32_t request)
{
    const bool names = _IOC_TYPE(request) == BTRFS_IOCTL_MAGIC && _IOC_DIR(request) == _IOC_WRITE &&
                       _IOC_SIZE(request) == sizeof(struct btrfs_ioctl_vol_args);

    return request != TIOCSTI && request != TIOCLINUX && request != TIOCCONS &&
           request != TIOCSETD && !names;
}

static bool model_personality(uint32_t kind)
{
    return kind == PER_LINUX || kind == PER_LINUX32 || kind == UNAME26 ||
           kind == (UNAME26 | PER_LINUX32) || kind == ADDR_NO_RANDOMIZE || kind == UINT32_MAX;
}

static uint32_t model_action(unsigned action, const struct seccomp_options *o,
                             const struct seccomp_data *data)
{
    uint32_t a0 = (uint32_t)data->args[0], a1 = (uint32_t)data->args[1];
    uint32_t a2 = (uint32_t)data->args[2];

    switch (action) {
    case SECCOMP_ALLOW:
        return SECCOMP_RET_ALLOW;
    case SECCOMP_ABSENT:
        return ERRNO(ENOSYS);
    case SECCOMP_NESTED:
        return allow_if(o->nested);
    case SECCOMP_CLONE:
        return allow_if(o->nested || !(a0 & MODEL_NAMESPACES));
    case SECCOMP_OPENAT2:
    case SECCOMP_CLONE3:
        return o->nested ? SECCOMP_RET_ALLOW : ERRNO(ENOSYS);
    case SECCOMP_UNSHARE:
        return allow_if(o->nested || !(a0 & ~(uint32_t)MODEL_UNSHARE));
    case SECCOMP_IOCTL:
        return allow_if(model_ioctl(a1));
    case SECCOMP_INIT_CLONE:
    case SECCOMP_INIT_IOCTL:
    case SECCOMP_INIT_OPENAT:
    case SECCOMP_INIT_CONNECT:
    case SECCOMP_INIT_SOCKET:
        return allow_if(model_init(action, o, a0, a1, a2));
    case SECCOMP_CONNECT:
        return o->named || o->relayed ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW;
    case SECCOMP_SENDMSG:
    case SECCOMP_SENDTO:
    case SECCOMP_SETSOCKOPT:
        return model_connected(action, o, data);
    case SECCOMP_LISTEN:
        return allow_if(!o->deaf);
    case SECCOMP_MKNOD:
        return allow_if(!S_ISBLK(a1) && !S_ISCHR(a1) && !(a1 & MODEL_SETID));
    case SECCOMP_MKNODAT:
        return allow_if(!S_ISBLK(a2) && !S_ISCHR(a2) && !(a2 & MODEL_SETID));
    case SECCOMP_CHMOD:
    case SECCOMP_FCHMODAT:
    case SECCOMP_CREAT:
    case SECCOMP_OPEN:
    case SECCOMP_OPENAT:
        return allow_if(model_mode(action, data));
    case SECCOMP_FCNTL:
        return allow_if(a1 != F_SETLEASE);
    case SECCOMP_PERSONALITY:
        return allow_if(model_personality(a0));
    case SECCOMP_PRLIMIT:
    case SECCOMP_SCHED:
    case SECCOMP_SETPRIORITY:
    case SECCOMP_SETRLIMIT:
        return model_others(action, data);
    case SECCOMP_SOCKET:
        return model_socket(o, a0, a1, a2);
    case SECCOMP_SOCKETPAIR:
        return model_socketpair(o, a0, a1);
    }
    return ERRNO(EPERM);
}

static bool is_one_of(unsigned action, const uint8_t *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == action)
            return true;
    return false;
}

/* A Unix socket is refused and told, but for the type that the libc looks for nscd with. */
static bool model_asks_socket(const struct seccomp_options *o, const struct seccomp_data *data)
{
    return !o->unix_sockets && !o->named && !o->relayed && !o->offline &&
           (uint32_t)data->args[0] == AF_UNIX &&
           (uint32_t)data->args[1] != (SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Whether the monitor wants to know: of what is let through, the calls that may change things. */
static bool model_asks(const struct seccomp_watch *w, const struct seccomp_row *row,
                       const struct seccomp_options *o, const struct seccomp_data *data)
{
    static const uint8_t watched[] = { SECCOMP_ALLOW,  SECCOMP_OPEN,    SECCOMP_OPENAT,
                                       SECCOMP_CREAT,  SECCOMP_CHMOD,   SECCOMP_FCHMODAT,
                                       SECCOMP_MKNOD,  SECCOMP_MKNODAT, SECCOMP_CONNECT,
                                       SECCOMP_SENDTO, SECCOMP_SENDMSG };
    static const uint8_t told[] = { SECCOMP_DENY, SECCOMP_NESTED, SECCOMP_CLONE, SECCOMP_UNSHARE,
                                    SECCOMP_ABSENT };
    static const uint8_t whole[] = { SECCOMP_ALLOW, SECCOMP_CONNECT, SECCOMP_SENDTO,
                                     SECCOMP_SENDMSG };
    const uint32_t verdict = model_action(row->command, o, data);

    if (w->level == WATCH_TOLD && row->command == SECCOMP_SOCKET)
        return model_asks_socket(o, data);
    if (w->level == WATCH_TOLD)
        return verdict != SECCOMP_RET_ALLOW && is_one_of(row->command, told, sizeof told);
    if (w->level > o->watch || verdict != SECCOMP_RET_ALLOW ||
        !is_one_of(row->command, watched, sizeof watched))
        return false;
    if (row->command == SECCOMP_OPEN || row->command == SECCOMP_OPENAT)
        return o->watch == WATCH_LEARN ||
               ((uint32_t)data->args[row->command == SECCOMP_OPEN ? 1 : 2] & MODEL_CHANGES);
    return strcmp(w->name, "sendto") != 0 || (uint32_t)data->args[5] != 0 ||
           !is_one_of(row->command, whole, sizeof whole);
}

static const struct seccomp_watch *find_watch(const struct seccomp_target *t, int number)
{
    size_t count;
    const struct seccomp_watch *list = seccomp_watch_table(&count);

    for (size_t i = 0; i < count; i++)
        if (number >= 0 && list[i].number[t->arch] == number)
            return &list[i];
    return NULL;
}

uint32_t model_verdict(const struct seccomp_row *row, const struct seccomp_target *t,
                       const struct seccomp_data *data)
{
    if (data->arch != audit_arches[t->arch])
        return SECCOMP_RET_KILL_PROCESS;
    if (!row)
        return model_default(t);
    const struct seccomp_watch *w = t->options.watch ? find_watch(t, data->nr) : NULL;
    if (w && model_asks(w, row, &t->options, data))
        return SECCOMP_RET_USER_NOTIF;
    return model_action(t->init ? row->init : row->command, &t->options, data);
}
