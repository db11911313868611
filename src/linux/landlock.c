/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: the second fence. Everything that the running kernel's Landlock can handle is handled,
 * so it is refused unless a rule of the plan grants it: reading and executing everywhere, changes
 * only below the writable roots, devices in the sandbox's /dev. Signals and abstract sockets do not
 * leave the domain; without a pid namespace pid 1 has one around the command's, by which it finds
 * all of the run and nobody else. Where pid 1 connects for the command (plan.relayed), the command
 * connects and binds nothing. The table below says what each ABI added; rights that a kernel does
 * not know are left out, and the result names the ABI in force.
 */
#include <linux/stat.h>

#include "linux/launch.h"

/* Our own names: the headers of a build machine may be older than the kernel that runs. */
#define FS_EXECUTE     (UINT64_C(1) << 0)
#define FS_WRITE_FILE  (UINT64_C(1) << 1)
#define FS_READ_FILE   (UINT64_C(1) << 2)
#define FS_READ_DIR    (UINT64_C(1) << 3)
#define FS_REMOVE_DIR  (UINT64_C(1) << 4)
#define FS_REMOVE_FILE (UINT64_C(1) << 5)
#define FS_MAKE_CHAR   (UINT64_C(1) << 6)
#define FS_MAKE_DIR    (UINT64_C(1) << 7)
#define FS_MAKE_REG    (UINT64_C(1) << 8)
#define FS_MAKE_SOCK   (UINT64_C(1) << 9)
#define FS_MAKE_FIFO   (UINT64_C(1) << 10)
#define FS_MAKE_BLOCK  (UINT64_C(1) << 11)
#define FS_MAKE_SYM    (UINT64_C(1) << 12)
#define FS_REFER       (UINT64_C(1) << 13) /* ABI 2 */
#define FS_TRUNCATE    (UINT64_C(1) << 14) /* ABI 3 */
#define FS_IOCTL_DEV   (UINT64_C(1) << 15) /* ABI 5 */
#define SCOPE_ABSTRACT (UINT64_C(1) << 0)  /* ABI 6 */
#define SCOPE_SIGNAL   (UINT64_C(1) << 1)  /* ABI 6 */
#define NET_BIND       (UINT64_C(1) << 0)  /* ABI 4: TCP */
#define NET_CONNECT    (UINT64_C(1) << 1)
#define NET_ABI        4
#define SCOPE_ABI      6
#define QUIET_ABI      7

#define RULESET_VERSION   1u
#define RULE_PATH_BENEATH 1
#define LOG_SAME_EXEC_OFF 1u /* ABI 7: what this program itself is refused is no audit record */

/* Indexed by ABI; the last row serves all later ones. */
static const struct {
    uint64_t fs, scoped;
} abi_table[] = {
    { 0, 0 },
    { (FS_MAKE_SYM << 1) - 1, 0 },
    { (FS_REFER << 1) - 1, 0 },
    { (FS_TRUNCATE << 1) - 1, 0 },
    { (FS_TRUNCATE << 1) - 1, 0 },
    { (FS_IOCTL_DEV << 1) - 1, 0 },
    { (FS_IOCTL_DEV << 1) - 1, SCOPE_ABSTRACT | SCOPE_SIGNAL },
};

struct ruleset_attr {
    uint64_t handled_fs, handled_net, scoped;
};

struct __attribute__((packed)) path_attr {
    uint64_t allowed;
    int32_t parent_fd;
};

#define GRANT_READ_BITS   (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define GRANT_DEVICE_BITS (FS_READ_FILE | FS_READ_DIR | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define GRANT_CHANGE_BITS (~(GRANT_READ_BITS | FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV))
#define FILE_BITS         (FS_EXECUTE | FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

static const uint64_t grant_bits[] = {
    [GRANT_READ] = GRANT_READ_BITS,
    /* Device nodes are never made or driven from a writable root. */
    [GRANT_WRITE] = ~(FS_MAKE_CHAR | FS_MAKE_BLOCK | FS_IOCTL_DEV),
    [GRANT_DEVICE] = GRANT_DEVICE_BITS,
    [GRANT_FILES] = FS_READ_FILE,
    [GRANT_LIST] = FS_READ_DIR,
    [GRANT_EXEC] = FS_EXECUTE,
    [GRANT_CHANGE] = GRANT_CHANGE_BITS,
};

long landlock_abi(void)
{
    return SYS3(__NR_landlock_create_ruleset, 0, 0, RULESET_VERSION);
}

static long create_ruleset(uint64_t fs, uint64_t net, uint64_t scoped)
{
    struct ruleset_attr attr = { .handled_fs = fs, .handled_net = net, .scoped = scoped };
    /* No longer than what the kernel must know for it. */
    size_t size = scoped ? sizeof attr
                  : net  ? offsetof(struct ruleset_attr, scoped)
                         : sizeof attr.handled_fs;

    return SYS3(__NR_landlock_create_ruleset, &attr, size, 0);
}

static long add_rule(long ruleset, const struct landlock_rule *rule, uint64_t handled)
{
    struct path_attr attr = { .allowed = grant_bits[rule->grant] & handled };
    long fd = file_open_path(rule->path);
    struct file_id id;

    if (fd < 0)
        return rule->flags & MOUNT_OPTIONAL ? 0 : fd;
    long r = file_identify((int)fd, &id);
    if (r >= 0) {
        if ((id.mode & S_IFMT) != S_IFDIR)
            attr.allowed &= FILE_BITS;
        attr.parent_fd = (int32_t)fd;
        r = attr.allowed ? SYS4(__NR_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &attr, 0) : 0;
    }
    file_close((int)fd);
    return r;
}

static long restrict_self(long ruleset, unsigned flags)
{
    long r = SYS2(__NR_landlock_restrict_self, ruleset, flags);

    file_close((int)ruleset);
    return r;
}

/* pid 1 is refused one signal for every process of the user when it ends a run (kill_all). */
static unsigned quiet_flags(long abi)
{
    return abi >= QUIET_ABI ? LOG_SAME_EXEC_OFF : 0;
}

/* The plan's rules, for the calling process and those to come, and the scopes if it has them. */
static long apply_rules(struct launch *l, uint64_t scopes, bool quiet)
{
    l->object = "ruleset";
    long abi = landlock_abi();
    if (abi < 1)
        return abi < 0 ? abi : -EOPNOTSUPP;

    size_t row = MIN_OF((size_t)abi, ARRAY_LEN(abi_table) - 1);
    long ruleset = create_ruleset(abi_table[row].fs, 0, scopes & abi_table[row].scoped);
    if (ruleset < 0)
        return ruleset;
    for (uint32_t i = 0; i < l->plan.rule_count; i++) {
        l->object = l->plan.rules[i].path;
        long r = add_rule(ruleset, &l->plan.rules[i], abi_table[row].fs);
        if (r < 0)
            return r;
    }
    l->object = "domain";
    l->landlock_abi = (uint32_t)abi;
    return restrict_self(ruleset, quiet ? quiet_flags(abi) : 0);
}

/*
 * A domain that adds scopes and network rights to the one around it, which decides about files.
 * Every domain refuses links and renames from one directory to another (REFER) unless it says
 * otherwise, so it does, for all. The other right is one that no plan grants: a domain must handle
 * something.
 */
static long apply_scopes(struct launch *l, long abi, uint64_t net, uint64_t scopes, unsigned flags)
{
    static const struct landlock_rule all = { .grant = GRANT_WRITE, .path = "/" };
    const size_t row = MIN_OF((size_t)abi, ARRAY_LEN(abi_table) - 1);
    const uint64_t handled = abi_table[row].fs & (FS_REFER | FS_MAKE_BLOCK);

    l->object = "domain";
    long ruleset = create_ruleset(handled, net, scopes & abi_table[row].scoped);
    if (ruleset < 0)
        return ruleset;
    long r = handled & FS_REFER ? add_rule(ruleset, &all, handled) : 0;
    return r < 0 ? r : restrict_self(ruleset, flags);
}

/* Whether pid 1 looks into the command. */
static bool is_asked(const struct plan *p)
{
    return p->watch || p->relayed;
}

/*
 * Pid 1's domain, around the command's. Who looks into another process must be in its domain or in
 * one around it, so a pid 1 that is asked has the command's rules. Where no pid namespace holds the
 * run together, the scope does: signals of pid 1 reach the run, all of it, and nobody else.
 */
long landlock_enclose(struct launch *l)
{
    const uint64_t scopes = l->keeper ? SCOPE_SIGNAL : 0;

    if (is_asked(&l->plan)) {
        long r = apply_rules(l, scopes, scopes != 0);
        return r < 0 ? r : scopes && l->landlock_abi >= SCOPE_ABI;
    }
    if (!scopes)
        return 0;
    l->object = "ruleset";
    long abi = landlock_abi();
    if (abi < SCOPE_ABI)
        return abi < 0 ? abi : 0;
    long r = apply_scopes(l, abi, 0, scopes, quiet_flags(abi));
    return r < 0 ? r : 1;
}

long landlock_apply(struct launch *l)
{
    const long abi = l->landlock_abi;
    const uint64_t net = l->plan.relayed && abi >= NET_ABI ? NET_BIND | NET_CONNECT : 0;

    if (!is_asked(&l->plan))
        return apply_rules(l, ~UINT64_C(0), false);
    return apply_scopes(l, abi, net, ~UINT64_C(0), 0);
}

/* Pid 1 opens nothing any more. Its signals must still reach the command: no scope. */
long landlock_close_all(void)
{
    long ruleset = create_ruleset(abi_table[1].fs, 0, 0);

    return ruleset < 0 ? ruleset : restrict_self(ruleset, 0);
}
