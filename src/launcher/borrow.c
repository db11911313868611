/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launcher's very first instructions: its own pages, taken from the file of the program that
 * carries it. A memfd with the whole launcher is 68 KiB for each program that starts one; where
 * launcher/early.c found that nobody on our side could write to the program's file, it left holes
 * for all but the first page and this one, and passes that file. What is executed, and what
 * /proc/self/exe leads to, is the sealed memfd either way.
 *
 * Nothing else is there yet: this lies on a page of its own, calls nothing and uses no constants
 * but those in its instructions. Whatever fails ends it.
 */
#include <elf.h>

#include "linux/sys.h"
#include "plan/early.h"

#define BORROW_SECTION __attribute__((section("borrow"), used, no_stack_protector))
#define BORROW_PAGE    ((uintptr_t)4096)
#define BORROW_HERE    (0x02 | 0x10) /* MAP_PRIVATE, MAP_FIXED */
#define BORROW_READ    1u
#define BORROW_WRITE   2u
#define BORROW_EXECUTE 4u

/* The kernel jumps here (-e); _start gets the stack as it was. */
#if defined(__x86_64__)
__asm__(".pushsection borrow,\"ax\",@progbits\n"
        ".balign 4096\n"
        ".globl borrow_start\n"
        ".type borrow_start,@function\n"
        "borrow_start:\n"
        "mov %rsp,%rbp\n"
        "and $-16,%rsp\n"
        "call borrow_pages\n"
        "mov %rbp,%rsp\n"
        "jmp _start\n"
        ".popsection\n");
#elif defined(__aarch64__)
__asm__(".pushsection borrow,\"ax\",%progbits\n"
        ".balign 4096\n"
        ".globl borrow_start\n"
        ".type borrow_start,%function\n"
        "borrow_start:\n"
        "mov x20, sp\n"
        "bl borrow_pages\n"
        "mov sp, x20\n"
        "b _start\n"
        ".popsection\n");
#endif

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));

static inline __attribute__((always_inline)) uint32_t protection(uint32_t flags)
{
    return (flags & PF_R ? BORROW_READ : 0) | (flags & PF_W ? BORROW_WRITE : 0) |
           (flags & PF_X ? BORROW_EXECUTE : 0);
}

BORROW_SECTION void borrow_pages(void);
BORROW_SECTION void borrow_pages(void)
{
    const uintptr_t base = (uintptr_t)&__ehdr_start, mask = BORROW_PAGE - 1;
    const uint64_t file = (uint64_t) * (const uint32_t *)(__ehdr_start.e_ident + EARLY_MARK) *
                          BORROW_PAGE;
    const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + __ehdr_start.e_phoff);
    const unsigned count = __ehdr_start.e_phnum;

    if (!file)
        return;
    for (unsigned i = 0; i < count; i++) {
        const uintptr_t end = ph[i].p_vaddr + ph[i].p_filesz, from = ph[i].p_vaddr & ~mask;
        const uintptr_t to = (end + mask) & ~mask;

        if (ph[i].p_type != PT_LOAD)
            continue;
        if (TRY6(__NR_mmap, base + from, to - from, protection(ph[i].p_flags), BORROW_HERE,
                 LAUNCH_FD_BORROW, file + (ph[i].p_offset & ~mask)) != (long)(base + from))
            (void)TRY1(__NR_exit_group, 125);
        if (ph[i].p_flags & PF_W) /* what follows in the file are no zeros */
            for (volatile char *at = (char *)(base + end); at < (char *)(base + to); at++)
                *at = 0;
    }
    (void)TRY1(__NR_close, LAUNCH_FD_BORROW);
}
