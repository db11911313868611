/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program in a container made for it, as an engine would, and in odd ones:
 *
 *     container WORD… -- PROGRAM ARG…
 *
 *     user             a user namespace with the first 65536 ids, as rootless engines have it;
 *                      whoever is not root has one of a single id anyway
 *     ids=N            … with the first N ids: files of all others are nobody's, as on a server
 *                      that squashes root
 *     masked           /proc has the covers of engines, parts are read-only; /sys/firmware is empty
 *     proc=none        /proc is an empty directory;  proc=hidepid=2 and the like: its options
 *     sys=ro|none      /sys is read-only, or an empty directory
 *     dev=engine|bare  /dev has terminals and shared memory of its own; bare: the six nodes alone
 *     shm=SIZE         /dev/shm is that small
 *     root=ro          everything is read-only but for …
 *     rw=DIR           … this, and what is mounted by these words
 *     tmpfs=DIR        an empty tmpfs is mounted there
 *     overlay=DIR      an overlay of it, whose upper part goes with the container
 *     flags=DIR:LIST   it is a mount of its own, with ro, nosuid, nodev, noexec of the list
 *     chroot           the root is a directory that is no mount
 *     caps             no more capabilities than engines give
 *     filter           the calls that engines' filters refuse are refused
 *
 * Mount, pid, network, IPC and host name are always its own; loopback is up. The first process in
 * it waits for the program, and takes the rest along when it ends. Nothing of this needs root. The
 * exit status is the program's; 99 if the container cannot be made here.
 */
#include "lib/container.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MISUSED 99

struct container want = { .ids = "65536" };

_Noreturn void give_up(const char *what, const char *object)
{
    (void)fprintf(stderr, "container: %s %s: %s\n", what, object, strerror(errno));
    _exit(MISUSED);
}

void must(long r, const char *what, const char *object)
{
    if (r < 0)
        give_up(what, object);
}

/* ---- words ---- */

static void add_place(enum place_kind kind, char *path)
{
    struct place *p = &want.places[want.place_count++];

    errno = E2BIG;
    if (want.place_count > MAX_PLACES)
        give_up("too many places:", path);
    *p = (struct place){ .kind = kind, .path = path, .tree = -1 };
    if (kind != PLACE_FLAGS)
        return;
    p->flags = strchr(path, ':');
    errno = EINVAL;
    if (!p->flags)
        give_up("no list of flags in", path);
    *p->flags++ = '\0';
}

static bool take_flag(const char *word)
{
    const struct {
        const char *name;
        bool *value;
    } flags[] = {
        { "user", &want.user },     { "masked", &want.masked }, { "root=ro", &want.read_only },
        { "chroot", &want.chroot }, { "caps", &want.caps },     { "filter", &want.filter },
    };

    for (size_t i = 0; i < COUNT(flags); i++)
        if (strcmp(word, flags[i].name) == 0)
            return *flags[i].value = true;
    return false;
}

static bool take_value(char *word, char *value)
{
    const struct {
        const char *name;
        const char **value;
    } values[] = {
        { "proc", &want.proc }, { "sys", &want.sys }, { "dev", &want.dev },
        { "shm", &want.shm },   { "ids", &want.ids },
    };
    static const char *const places[] = { "rw", "tmpfs", "overlay", "flags" };

    for (size_t i = 0; i < COUNT(values); i++)
        if (strcmp(word, values[i].name) == 0)
            return (*values[i].value = value) != NULL;
    for (size_t i = 0; i < COUNT(places); i++)
        if (strcmp(word, places[i]) == 0) {
            add_place((enum place_kind)i, value);
            return true;
        }
    return false;
}

static void take_word(char *word)
{
    char *value = strchr(word, '=');

    if (take_flag(word))
        return;
    errno = EINVAL;
    if (!value)
        give_up("what is", word);
    *value++ = '\0';
    if (!take_value(word, value))
        give_up("what is", word);
}

/* ---- the rest of it ---- */

static void bring_up_loopback(void)
{
    struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    must(fd, "make", "a socket");
    must(ioctl(fd, SIOCSIFFLAGS, &request), "bring up", "lo");
    (void)close(fd);
}

#define REFUSE(answer) (SECCOMP_RET_ERRNO | (answer))

/* Refused by engines to whoever is without the capability that the call asks for, or to all. */
static const int refused_calls[] = {
    SYS_acct,
    SYS_add_key,
    SYS_bpf,
    SYS_clock_adjtime,
    SYS_clock_settime,
    SYS_delete_module,
    SYS_finit_module,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fsopen,
    SYS_fspick,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mount,
    SYS_mount_setattr,
    SYS_move_mount,
    SYS_open_by_handle_at,
    SYS_open_tree,
    SYS_perf_event_open,
    SYS_pivot_root,
    SYS_quotactl,
    SYS_reboot,
    SYS_request_key,
    SYS_setdomainname,
    SYS_sethostname,
    SYS_setns,
    SYS_settimeofday,
    SYS_swapoff,
    SYS_swapon,
    SYS_syslog,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
};

static void put(struct sock_fprog *p, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
    p->filter[p->len++] = (struct sock_filter){ code, yes, no, k };
}

/* clone3 hides its flags from a filter: engines say that there is none. */
static void load_filter(void)
{
    const uint32_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                            CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
    struct sock_filter program[2 * COUNT(refused_calls) + 16];
    struct sock_fprog p = { 0, program };

    put(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
    for (size_t i = 0; i < COUNT(refused_calls); i++) {
        put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)refused_calls[i]);
        put(&p, BPF_RET | BPF_K, 0, 0, REFUSE(EPERM));
    }
    put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_clone3);
    put(&p, BPF_RET | BPF_K, 0, 0, REFUSE(ENOSYS));
    put(&p, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_clone);
    put(&p, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, args));
    put(&p, BPF_JMP | BPF_JSET | BPF_K, 0, 1, spaces);
    put(&p, BPF_RET | BPF_K, 0, 0, REFUSE(EPERM));
    put(&p, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p), "load", "the filter");
}

static void drop_capabilities(void)
{
    static const int kept[] = {
        CAP_AUDIT_WRITE, CAP_CHOWN,   CAP_DAC_OVERRIDE,     CAP_FOWNER,    CAP_FSETID,
        CAP_KILL,        CAP_MKNOD,   CAP_NET_BIND_SERVICE, CAP_NET_RAW,   CAP_SETFCAP,
        CAP_SETGID,      CAP_SETPCAP, CAP_SETUID,           CAP_SYS_CHROOT
    };
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[2] = { 0 };
    uint32_t bits = 0;

    for (size_t i = 0; i < COUNT(kept); i++)
        bits |= UINT32_C(1) << kept[i]; /* all below 32 */
    for (int i = 0; i <= CAP_LAST_CAP; i++)
        if (i >= 32 || !(bits >> i & 1))
            (void)prctl(PR_CAPBSET_DROP, i, 0, 0, 0); /* a kernel may know fewer */
    data[0].effective = data[0].permitted = geteuid() == 0 ? bits : 0;
    must(syscall(SYS_capset, &header, data), "drop", "capabilities");
}

static int exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The first process: reaps whatever comes to it, until the program ends. */
static _Noreturn void be_init(char **argv)
{
    int status = 0;
    pid_t program = fork();

    must(program, "start", argv[0]);
    if (program == 0) {
        if (want.filter)
            load_filter();
        if (want.caps || geteuid() != 0)
            drop_capabilities();
        (void)execvp(argv[0], argv);
        give_up("execute", argv[0]);
    }
    for (;;) {
        pid_t pid = wait(&status);
        if (pid == program)
            _exit(exit_code(status));
        if (pid < 0 && errno != EINTR)
            give_up("wait for", argv[0]);
    }
}

/* ---- from outside ---- */

static void write_file(pid_t pid, const char *name, const char *text)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    must(fd, "open", path);
    must(write(fd, text, strlen(text)), "write", path);
    (void)close(fd);
}

static void map_ids(pid_t pid)
{
    char uids[64], gids[64];

    if (geteuid() == 0) {
        (void)snprintf(uids, sizeof uids, "0 0 %s\n", want.ids);
        (void)snprintf(gids, sizeof gids, "0 0 %s\n", want.ids);
    } else {
        write_file(pid, "setgroups", "deny");
        (void)snprintf(uids, sizeof uids, "%u %u 1\n", (unsigned)geteuid(), (unsigned)geteuid());
        (void)snprintf(gids, sizeof gids, "%u %u 1\n", (unsigned)getegid(), (unsigned)getegid());
    }
    write_file(pid, "uid_map", uids);
    write_file(pid, "gid_map", gids);
}

static int run_container(char **argv)
{
    unsigned long flags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    int mapped[2], status = 0;
    char byte = 'm';

    must(pipe2(mapped, O_CLOEXEC), "make", "a pipe");
    if (want.user || geteuid() != 0)
        flags |= CLONE_NEWUSER;
    pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    must(pid, "make", "namespaces");
    if (pid == 0) {
        (void)close(mapped[1]);
        must(read(mapped[0], &byte, 1) == 1 ? 0 : -1, "wait for", "the id map");
        must(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0), "die with", "the parent");
        make_view();
        bring_up_loopback();
        be_init(argv);
    }
    (void)close(mapped[0]);
    if (flags & CLONE_NEWUSER)
        map_ids(pid);
    must(write(mapped[1], &byte, 1), "start", "the first process");
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            give_up("wait for", "the container");
    return exit_code(status);
}

int main(int argc, char **argv)
{
    int i = 1;

    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        take_word(argv[i]);
    if (i + 1 >= argc) {
        (void)fprintf(stderr, "usage: container WORD... -- PROGRAM ARG...\n");
        return MISUSED;
    }
    return run_container(argv + i + 1);
}
