/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's memory on Linux. It finds its own pages by the headers that the linker put in
 * front, and trusts them.
 */
#include "cli/memory.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define STACK_USED ((uintptr_t)64 << 10) /* at most, by what comes before the waiting */
#define HEAP_STEP  (1 << 20)

void memory_prepare(void)
{
    (void)mallopt(M_TOP_PAD, HEAP_STEP);
    (void)mallopt(M_TRIM_THRESHOLD, 4 * HEAP_STEP);
}

/* Of this program, wherever it was loaded. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

/*
 * From now on this is one of the processes that only wait, perhaps for days, perhaps for its end in
 * a moment: it keeps what it needs. The program's own pages come back from the page cache as they
 * are used; what is not mapped at the end need not be unmapped then.
 */
void memory_give_back(void)
{
    const uintptr_t base = (uintptr_t)&__ehdr_start;
    const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(base + __ehdr_start.e_phoff);
    const uintptr_t page = (uintptr_t)getauxval(AT_PAGESZ) - 1;

    (void)malloc_trim(0);
    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
        const ElfW(Phdr) *h = &headers[i];
        const uintptr_t from = base + h->p_vaddr, to = from + h->p_memsz;

        if (h->p_type == PT_LOAD && !(h->p_flags & PF_W))
            (void)madvise((void *)(from & ~page), (to & ~page) - (from & ~page), MADV_DONTNEED);
    }
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~page;
    (void)madvise((void *)(here - STACK_USED), STACK_USED - page - 1, MADV_DONTNEED);
}
