/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first instructions of the program `agentbox` (not of the library, nor of the launcher): when
 * it is called as `agentbox run`, the launcher is started before the libc is (plan/early.h). In a
 * virtual machine the libc's start-up takes as long as half of the namespaces.
 *
 * Nothing works here yet: no relocation, no thread-local storage, no libc function. So this is
 * built like the launcher, uses no pointer constants and no stack canary, and leaves everything to
 * main() that is not plain: whatever it does not like, it does not do.
 */
#include <asm/ioctls.h>
#include <asm/signal.h>
#include <linux/auxvec.h>
#include <linux/elf.h>
#include <linux/fcntl.h>
#include <linux/memfd.h>
#include <linux/sched.h>
#include <linux/stat.h>
#include <linux/time_types.h>

#include "linux/sys.h"
#include "plan/early.h"
#include "plan/plan.h"
#include "plan/protocol.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif
#define EARLY_CLOSE_RANGE_CLOEXEC 4
#define EARLY_AF_UNIX             1
#define EARLY_SEQPACKET           5
#define EARLY_STACK               2048
#define EARLY_PROCESSORS          1024
#define EARLY_PAGE                4096
#define EARLY_POPULATE_WRITE      23    /* MADV_POPULATE_WRITE, Linux 5.14 */
#define EARLY_PAUSE               50000 /* ns */
#define EARLY_LIFTED              16    /* above every descriptor of the launcher */

/* The kernel jumps here (-e); the libc's own _start gets the registers as they were. */
#if defined(__x86_64__)
__asm__(".globl early_start\n"
        ".type early_start,@function\n"
        "early_start:\n"
        "mov %rdx,%rbx\n"
        "mov %rsp,%rbp\n"
        "mov %rsp,%rdi\n"
        "and $-16,%rsp\n"
        "call early_entry\n"
        "mov %rbp,%rsp\n"
        "mov %rbx,%rdx\n"
        "jmp _start\n");
#elif defined(__aarch64__)
__asm__(".globl early_start\n"
        ".type early_start,%function\n"
        "early_start:\n"
        "mov x19, x0\n"
        "mov x20, sp\n"
        "mov x0, sp\n"
        "and sp, x20, #-16\n"
        "bl early_entry\n"
        "mov sp, x20\n"
        "mov x0, x19\n"
        "b _start\n");
#endif

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
extern const char launcher_image[] __attribute__((visibility("hidden")));
extern const char launcher_image_end[] __attribute__((visibility("hidden")));
extern struct early_launch early_launch __attribute__((visibility("hidden")));

static uintptr_t own_base(void)
{
    return (uintptr_t)&__ehdr_start;
}

static const Elf64_Phdr *own_headers(void)
{
    return (const Elf64_Phdr *)(own_base() + __ehdr_start.e_phoff);
}

/* Of the part of our file that lies at an address; NULL: none. */
static const Elf64_Phdr *own_header(uintptr_t address)
{
    const Elf64_Phdr *headers = own_headers();
    const uintptr_t at = address - own_base();

    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++)
        if (headers[i].p_type == PT_LOAD && at >= headers[i].p_vaddr &&
            at - headers[i].p_vaddr < headers[i].p_filesz)
            return &headers[i];
    return NULL;
}

/* The child's own: it shares our memory until it executes, and we go on meanwhile. */
static struct {
    int status, lifeline;
    char layers[12];
    long parent;
    bool may_borrow;
    bool settled; /* the parent has moved it, or not, and has nothing to do with it any more */
} child;
static _Alignas(16) char child_stack[EARLY_STACK];

/*
 * Our own file, if the launcher can borrow its pages from there: the kernel keeps them once for all
 * programs then. Only if whoever runs inside, who is no more than we are, could not write to it.
 */
static long open_own_file(void)
{
    struct statx st;
    const long user = TRY0(__NR_geteuid);
    long fd;

    if (user == 0 || !child.may_borrow)
        return -EPERM;
    fd = TRY4(__NR_openat, SYS_AT_FDCWD, "/proc/self/exe", SYS_O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    if (TRY5(__NR_statx, fd, "", SYS_AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == 0 &&
        st.stx_uid != user && !(st.stx_mode & 022))
        return fd;
    (void)TRY1(__NR_close, fd);
    return -EPERM;
}

static bool write_page(long fd, size_t at)
{
    return TRY4(__NR_pwrite64, fd, launcher_image + at, EARLY_PAGE, at) == EARLY_PAGE;
}

/* The page where it begins, the one that fetches the others, and where they are in the file. */
static bool write_borrowing(long fd, size_t size)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)launcher_image;
    const Elf64_Phdr *own = own_header((uintptr_t)launcher_image);
    const size_t first = header->e_entry & ~(size_t)(EARLY_PAGE - 1);

    if (!own || first + EARLY_PAGE > size)
        return false;
    const uint64_t at = (uintptr_t)launcher_image - own_base() - own->p_vaddr + own->p_offset;
    const uint32_t page = (uint32_t)(at / EARLY_PAGE);
    return at % EARLY_PAGE == 0 && TRY2(__NR_ftruncate, fd, size) == 0 && write_page(fd, 0) &&
           write_page(fd, first) &&
           TRY4(__NR_pwrite64, fd, &page, sizeof page, EARLY_MARK) == sizeof page;
}

/* The launcher's program, sealed (as run/image.c does it), or -errno. */
static long seal_image(bool borrows)
{
    const unsigned seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    const size_t size = (size_t)(launcher_image_end - launcher_image);
    long fd = TRY2(__NR_memfd_create, "agentbox-launcher",
                   MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

    if (fd < 0)
        return fd;
    if ((borrows ? write_borrowing(fd, size)
                 : TRY3(__NR_write, fd, launcher_image, size) == (long)size) &&
        TRY3(__NR_fcntl, fd, F_ADD_SEALS, seals) == 0)
        return fd;
    (void)TRY1(__NR_close, fd);
    return -EIO;
}

/*
 * In the child: until its processors are those of its parent again, nothing is started that would
 * keep the fewer ones for good. It is over by now, unless the parent was made to wait, or ended.
 */
static void await_settled(void)
{
    const struct __kernel_timespec pause = { .tv_nsec = EARLY_PAUSE };

    while (!__atomic_load_n(&child.settled, __ATOMIC_ACQUIRE) && TRY0(__NR_getppid) == child.parent)
        (void)TRY2(__NR_nanosleep, &pause, 0);
}

/* In the child: what run/spawn.c gives; the keeper itself sees to the signals' actions. If it
 * fails, its end is noticed. */
static void child_main(void *arg)
{
    (void)arg;
    const uint64_t all = ~UINT64_C(0);
    const char *argv[5], *envp[1] = { NULL };

    argv[0] = "agentbox-launcher"; /* one by one: a constant array would need relocation */
    argv[1] = "run";
    argv[2] = child.layers;
    argv[3] = "";
    argv[4] = NULL;
    (void)TRY4(__NR_rt_sigprocmask, SIG_SETMASK, &all, 0, sizeof all);
    (void)TRY0(__NR_setsid); /* early_await waits for it */
    long own = open_own_file();
    long sealed = seal_image(own >= 0);
    long status = TRY3(__NR_fcntl, child.status, F_DUPFD, EARLY_LIFTED);
    long lifeline = TRY3(__NR_fcntl, child.lifeline, F_DUPFD, EARLY_LIFTED);
    long image = TRY3(__NR_fcntl, sealed, F_DUPFD, EARLY_LIFTED);
    long lent = TRY3(__NR_fcntl, own, F_DUPFD, EARLY_LIFTED);
    long r = TRY3(__NR_dup3, status, LAUNCH_FD_STATUS, 0);
    if (r >= 0)
        r = TRY3(__NR_dup3, lifeline, LAUNCH_FD_LIFELINE, 0);
    if (r >= 0)
        r = TRY3(__NR_close_range, LAUNCH_FD_LIFELINE + 1, ~0u, EARLY_CLOSE_RANGE_CLOEXEC);
    if (r >= 0 && own >= 0)
        r = TRY3(__NR_dup3, lent, LAUNCH_FD_BORROW, 0);
    await_settled();
    if (r >= 0)
        (void)TRY5(__NR_execveat, image, "", argv, envp, SYS_AT_EMPTY_PATH);
    for (;;)
        (void)TRY1(__NR_exit, 1);
}

/* Both ends, or false. */
static bool make_sockets(int status[2], int lifeline[2])
{
    const int type = EARLY_SEQPACKET | SYS_O_CLOEXEC;

    if (TRY4(__NR_socketpair, EARLY_AF_UNIX, type, 0, status) < 0)
        return false;
    if (TRY4(__NR_socketpair, EARLY_AF_UNIX, type, 0, lifeline) >= 0)
        return true;
    (void)TRY1(__NR_close, status[0]);
    (void)TRY1(__NR_close, status[1]);
    return false;
}

static void write_layers(char *text, uint32_t layers)
{
    char digits[12];
    int n = 0;

    for (; layers; layers /= 10)
        digits[n++] = (char)('0' + layers % 10);
    while (n > 0)
        *text++ = digits[--n];
    *text = '\0';
}

/*
 * Onto another processor than ours, if there is one: a new task waits in the queue of its parent
 * when all others are busy at that moment, as whoever started us still is, and would stay there
 * until we sleep, a millisecond later. Only the move is wanted: the mask is as before right after
 * it. (It is one of its own then: processors that are added to the machine later are not in it.)
 */
static void send_away(long pid)
{
    uint64_t mask[EARLY_PROCESSORS / 64], others[EARLY_PROCESSORS / 64];
    unsigned here = 0;
    long n = TRY3(__NR_sched_getaffinity, 0, sizeof mask, mask);

    if (n <= 0 || TRY3(__NR_getcpu, &here, 0, 0) < 0 || here / 64 >= (size_t)n / sizeof *mask)
        return;
    for (size_t i = 0; i < (size_t)n / sizeof *mask; i++)
        others[i] = mask[i];
    others[here / 64] &= ~(UINT64_C(1) << here % 64);
    if (TRY3(__NR_sched_setaffinity, pid, n, others) == 0) /* refused where it is the only one */
        (void)TRY3(__NR_sched_setaffinity, pid, n, mask);
}

static void start_launcher(void)
{
    int status[2] = { -1, -1 }, lifeline[2] = { -1, -1 };
    const uint32_t layers = LAYER_BIT(LAYER_COUNT) - 1;

    if (!make_sockets(status, lifeline))
        return;
    child.status = status[1];
    child.lifeline = lifeline[1];
    write_layers(child.layers, layers);
    child.parent = TRY0(__NR_getpid);
    long pid = sys_clone_vm(CLONE_VM | SIGCHLD, child_stack + sizeof child_stack, child_main, NULL);
    if (pid > 0)
        send_away(pid);
    __atomic_store_n(&child.settled, true, __ATOMIC_RELEASE);
    (void)TRY1(__NR_close, status[1]);
    (void)TRY1(__NR_close, lifeline[1]);
    if (pid < 0) {
        (void)TRY1(__NR_close, status[0]);
        (void)TRY1(__NR_close, lifeline[0]);
        return;
    }
    early_launch.pid = (int32_t)pid;
    early_launch.status_fd = status[0];
    early_launch.lifeline_fd = lifeline[0];
    early_launch.layers = layers;
}

/* A missing stream would be filled by our descriptors; a terminal gets a run of its own kind. */
static bool streams_are_plain(void)
{
    char termios[64];
    int terminals = 0;

    for (int fd = 0; fd < 3; fd++) {
        if (TRY3(__NR_fcntl, fd, F_GETFD, 0) < 0)
            return false;
        if (fd < 2 && TRY3(__NR_ioctl, fd, TCGETS, termios) == 0)
            terminals++;
    }
    return terminals == 0;
}

/* --help, --dry-run, -C …: what comes first is a cheap hint, no more. --backend wants another. */
static bool options_are_usual(const char *const *words)
{
    if (words[0][0] == '-' &&
        (words[0][1] == 'C' || words[0][1] == 'h' || (words[0][1] && words[0][2] == 'h')))
        return false;
    for (; *words; words++) {
        const char *w = *words;
        if (w[0] == '-' && w[1] == '-' && !w[2])
            break;
        if (w[0] == '-' && w[1] == '-' && w[2] == 'b' && w[3] == 'a')
            return false;
    }
    return true;
}

/*
 * The pages that relocation is about to write to, in one call: they would be a fault each, and
 * while the launcher's child shares our memory each of those interrupts its processor, too.
 */
static void fetch_data(void)
{
    const uintptr_t base = own_base();
    const Elf64_Phdr *headers = own_headers();

    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
        const uintptr_t from = (base + headers[i].p_vaddr) & ~(uintptr_t)(EARLY_PAGE - 1);

        if (headers[i].p_type == PT_LOAD && headers[i].p_flags & PF_W)
            (void)TRY3(__NR_madvise, from, base + headers[i].p_vaddr + headers[i].p_filesz - from,
                       EARLY_POPULATE_WRITE);
    }
}

/* Does the kernel map files by the pages that the launcher is linked for? */
static bool pages_are_usual(const uintptr_t *stack)
{
    const uintptr_t *aux = stack + 1 + stack[0] + 1;

    while (*aux)
        aux++;
    for (aux++; aux[0]; aux += 2)
        if (aux[0] == AT_PAGESZ)
            return aux[1] == EARLY_PAGE;
    return false;
}

__attribute__((used)) void early_entry(const uintptr_t *stack);
__attribute__((used)) void early_entry(const uintptr_t *stack)
{
    const char *const *argv = (const char *const *)(stack + 1);
    const char *word = stack[0] > 2 ? argv[1] : NULL;

    if (!word || word[0] != 'r' || word[1] != 'u' || word[2] != 'n' || word[3])
        return;
    if (!options_are_usual(argv + 2) || !streams_are_plain())
        return;
    fetch_data();
    child.may_borrow = pages_are_usual(stack);
    start_launcher();
}

/*
 * Of a static glibc, whose start-up asks where the program lies, for libraries that it might load
 * one day. Ours loads none, and the answer takes a look into /proc: it is not known. Weak: a glibc
 * that brings its own along for another reason has its way.
 */
__attribute__((weak)) const char *_dl_get_origin(void);
__attribute__((weak)) const char *_dl_get_origin(void)
{
    return (const char *)-1;
}
