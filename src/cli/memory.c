/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's memory on Linux. It finds its own pages by the headers that the linker put in
 * front, and trusts them; where a program was linked in another way, less is given back.
 *
 * A position-independent program is written to before its first line runs: every pointer in its
 * constant tables gets the address that it was loaded at, and those pages are its own from then on.
 * While it rests they are the file's again. Only pages are dropped of which that was just tried and
 * compared, so what the libc has written among them stays. What else it holds is folded (fold.c).
 */
#include "cli/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/defs.h"
#include "cli/fold.h"

#define TLS_ROOM   3072u /* more than the libc keeps about a thread, what the kernel writes incl. */
#define HEAP_MAX   ((uintptr_t)64 << 20)
#define STACK_USED ((uintptr_t)64 << 10) /* at most, by what comes before the waiting */
#define HEAP_STEP  (1 << 20)
#define TABLES_MAX 64u /* pages of tables: bits of a mask */

#if defined(__x86_64__)
#define RELOC_RELATIVE R_X86_64_RELATIVE
#elif defined(__aarch64__)
#define RELOC_RELATIVE R_AARCH64_RELATIVE
#else
#error "which relocation adds the base?"
#endif

void memory_prepare(void)
{
    (void)mallopt(M_TOP_PAD, HEAP_STEP);
    (void)mallopt(M_TRIM_THRESHOLD, 4 * HEAP_STEP);
}

/* Of this program, wherever it was loaded. One that always lies at one place has no _DYNAMIC. */
#pragma weak _DYNAMIC
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct program {
    uintptr_t base, page; /* page: its size */
    const ElfW(Phdr) * headers;
    const ElfW(Rela) * relocs;
    size_t reloc_count;
    uintptr_t from, to; /* tables that were relocated and are constant since */
    off_t offset;       /* of these in the file */
    uint64_t remade;    /* pages of these that are the file's at the moment, one bit each */
    bool opened;        /* they are writable at the moment */
};

static const ElfW(Phdr) * find_header(const struct program *p, uint32_t type, uintptr_t at)
{
    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
        const ElfW(Phdr) *h = &p->headers[i];

        if (h->p_type == type && (!at || (at >= h->p_vaddr && at - h->p_vaddr < h->p_filesz)))
            return h;
    }
    return NULL;
}

static struct program read_program(void)
{
    struct program p = {
        .base = (uintptr_t)&__ehdr_start,
        .page = (uintptr_t)getauxval(AT_PAGESZ),
        .headers = (const ElfW(Phdr) *)((uintptr_t)&__ehdr_start + __ehdr_start.e_phoff),
    };
    const ElfW(Phdr) *relro = find_header(&p, PT_GNU_RELRO, 0);
    const ElfW(Phdr) *load = relro ? find_header(&p, PT_LOAD, relro->p_vaddr) : NULL;

    for (const ElfW(Dyn) *d = _DYNAMIC; d && d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_RELA) /* some libcs have made it an address */
            p.relocs = (const ElfW(Rela) *)(d->d_un.d_ptr + (d->d_un.d_ptr < p.base ? p.base : 0));
        else if (d->d_tag == DT_RELASZ)
            p.reloc_count = d->d_un.d_val / sizeof *p.relocs;
    if (!load || !p.relocs)
        return p;
    p.from = (p.base + relro->p_vaddr) & ~(p.page - 1);
    p.to = (p.base + relro->p_vaddr + relro->p_memsz) & ~(p.page - 1);
    p.to = MIN_OF(p.to, p.from + TABLES_MAX * p.page);
    p.offset = (off_t)(p.from - p.base - load->p_vaddr + load->p_offset);
    return p;
}

/* Relocates what is at `to`, which stands for the tables; all of it, or the pages of a mask. */
WHOLE_PAGES static void relocate(const struct program *p, unsigned char *to, uint64_t pages)
{
    for (size_t i = 0; i < p->reloc_count; i++) {
        const ElfW(Rela) *r = &p->relocs[i];
        const uintptr_t at = p->base + r->r_offset;
        const uintptr_t value = p->base + (uintptr_t)r->r_addend;

        if (ELF64_R_TYPE(r->r_info) == RELOC_RELATIVE && at >= p->from && at < p->to &&
            pages >> (at - p->from) / p->page & 1)
            *(uintptr_t *)(to + (at - p->from)) = value;
    }
}

WHOLE_PAGES static bool pages_equal(const uintptr_t *a, const uintptr_t *b, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *a; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Which pages of the tables are no more than the file's, relocated. */
static uint64_t compare_tables(const struct program *p)
{
    const size_t size = p->to - p->from;
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    uint64_t same = 0;

    if (fd < 0)
        return 0;
    unsigned char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, p->offset);
    (void)close(fd);
    if (copy == MAP_FAILED)
        return 0;
    relocate(p, copy, ~UINT64_C(0));
    for (size_t at = 0; at < size; at += p->page)
        if (pages_equal((const void *)(copy + at), (const void *)(p->from + at), p->page))
            same |= UINT64_C(1) << at / p->page;
    (void)munmap(copy, size);
    return same;
}

/* Another thread could use the tables, or need them to end us. */
static bool is_alone(void)
{
    struct stat st;

    return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

/* From here until tables_restore nothing that has a pointer in a constant may be used. */
static void tables_drop(struct program *p)
{
    const uint64_t pages = p->from < p->to && is_alone() ? compare_tables(p) : 0;

    /* Now: when it cannot be had, nothing has happened yet. */
    p->opened = pages && mprotect((void *)p->from, p->to - p->from, PROT_READ | PROT_WRITE) == 0;
    if (!p->opened)
        return;
    for (uintptr_t at = p->from; at < p->to; at += p->page) {
        const uint64_t bit = UINT64_C(1) << (at - p->from) / p->page;

        if (pages & bit && madvise((void *)at, p->page, MADV_DONTNEED) == 0)
            p->remade |= bit;
    }
}

static void tables_restore(const struct program *p)
{
    if (!p->opened)
        return;
    relocate(p, (unsigned char *)p->from, p->remade);
    (void)mprotect((void *)p->from, p->to - p->from, PROT_READ); /* hardening only */
}

/* What the page cache has as well, and what the stack was used for. */
static void give_back(const struct program *p)
{
    const uintptr_t mask = p->page - 1;

    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
        const ElfW(Phdr) *h = &p->headers[i];
        const uintptr_t from = p->base + h->p_vaddr, to = from + h->p_memsz;

        if (h->p_type == PT_LOAD && !(h->p_flags & PF_W))
            (void)madvise((void *)(from & ~mask), (to & ~mask) - (from & ~mask), MADV_DONTNEED);
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~mask;
    (void)madvise((void *)(here - STACK_USED), STACK_USED - p->page, MADV_DONTNEED);
}

/* Static memory: what the file begins with, then what begins as zeros, but for the fold's own. */
static void fold_static(const struct program *p)
{
    const ElfW(Phdr) *load = find_header(p, PT_LOAD, p->to - p->base);
    uintptr_t fold_from, fold_to;

    if (!load)
        return;
    const uintptr_t mask = p->page - 1;
    const uintptr_t zeros = (p->base + load->p_vaddr + load->p_filesz + mask) & ~mask;
    const uintptr_t end = (p->base + load->p_vaddr + load->p_memsz + mask) & ~mask;

    fold_place(&fold_from, &fold_to);
    fold_pages(p->to, zeros, true);
    fold_pages(zeros, fold_from, false);
    fold_pages(fold_to, end, false);
}

/*
 * The heap of a static program begins with what belongs to its one thread, which the kernel writes
 * to (rseq): that stays. Where the thread's lies elsewhere, it is not known where the heap begins.
 */
static void fold_heap(const struct program *p)
{
    const uintptr_t thread = MAX_OF((uintptr_t)pthread_self() + TLS_ROOM, (uintptr_t)(&errno + 1));
    const uintptr_t from = (thread + p->page - 1) & ~(p->page - 1);
    const uintptr_t to = (uintptr_t)sbrk(0) & ~(p->page - 1);

    if (from < to && to - from < HEAP_MAX)
        fold_pages(from, to, false);
}

int memory_rest(struct pollfd *fds, nfds_t count)
{
    struct program p = read_program();

    (void)malloc_trim(0);
    tables_drop(&p);
    if (p.opened && p.page == FOLD_PAGE) {
        fold_heap(&p);
        fold_static(&p);
    }
    give_back(&p);
    long r = syscall(SYS_ppoll, fds, count, NULL, NULL, 0); /* nothing of the libc's around it */
    fold_open();
    tables_restore(&p);
    return (int)r;
}
