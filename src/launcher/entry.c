/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first instructions: a static PIE without a libc relocates itself, seeds its stack canary from
 * the kernel's random bytes and calls launcher_main (the launcher's, or the wrapper's). A libc's
 * start-up would cost more than all that the launcher does (68 trapped CPUID instructions in a
 * virtual machine).
 *
 * It runs on a stack in its own image. The one that the kernel made, with arguments and environment
 * on it, lies far from all else: for whoever waits for hours it would be two pages of its own and
 * two of page tables, and it can be given back (stack_leave).
 */
#include <elf.h>

#include "launcher/launcher.h"

/* What the compiler's stack protector compares with (-mstack-protector-guard=global). */
uintptr_t __stack_chk_guard = 0x595e9fbd94fda766u;
void launcher_exit(int code)
{
    for (;;)
        (void)TRY1(__NR_exit_group, code);
}

ATTR_NORETURN void __stack_chk_fail(void);
ATTR_NORETURN void __stack_chk_fail(void)
{
    for (;;)
        (void)TRY1(__NR_exit_group, 125);
}

/* The deepest chain of calls takes less than a quarter (-fstack-usage); nothing calls itself. */
#define STACK_BYTES 65536
__attribute__((used, visibility("hidden"),
               aligned(4096))) unsigned char launcher_stack[STACK_BYTES];
static SMALL_STATE uintptr_t given_stack, given_end; /* what the kernel made of it */
#define STACK_TEXT_(bytes) #bytes
#define STACK_TEXT(bytes)  STACK_TEXT_(bytes)

#if defined(__x86_64__)
__asm__(".globl _start\n"
        ".type _start,@function\n"
        "_start:\n"
        "xor %ebp,%ebp\n"
        "mov %rsp,%rdi\n"
        "lea launcher_stack+" STACK_TEXT(STACK_BYTES) "(%rip),%rsp\n"
                                                      "call launcher_entry\n"
                                                      "hlt\n");
#define RELOC_RELATIVE R_X86_64_RELATIVE
#elif defined(__aarch64__)
__asm__(".globl _start\n"
        ".type _start,%function\n"
        "_start:\n"
        "mov x29, #0\n"
        "mov x30, #0\n"
        "mov x0, sp\n"
        "adrp x1, launcher_stack\n"
        "add x1, x1, :lo12:launcher_stack\n"
        "add sp, x1, #" STACK_TEXT(STACK_BYTES) "\n"
                                                "b launcher_entry\n");
#define RELOC_RELATIVE R_AARCH64_RELATIVE
#endif

extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden")));
extern const Elf64_Dyn _DYNAMIC[] __attribute__((visibility("hidden")));

/* Runs before relocation: no pointer constant, no canary. */
__attribute__((no_stack_protector)) static void relocate_self(uintptr_t base)
{
    const Elf64_Rela *rela = NULL;
    size_t bytes = 0;

    for (const Elf64_Dyn *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
        if (d->d_tag == DT_RELA)
            rela = (const Elf64_Rela *)(base + d->d_un.d_ptr);
        else if (d->d_tag == DT_RELASZ)
            bytes = d->d_un.d_val;
    }
    for (size_t i = 0; rela && i < bytes / sizeof *rela; i++)
        if (ELF64_R_TYPE(rela[i].r_info) == RELOC_RELATIVE)
            *(uintptr_t *)(base + rela[i].r_offset) = base + (uintptr_t)rela[i].r_addend;
}

/* Tables with pointers become constant again. */
static void protect_relro(uintptr_t base)
{
    const Elf64_Phdr *ph = (const Elf64_Phdr *)(base + __ehdr_start.e_phoff);
    const uintptr_t page = 4096;

    for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
        if (ph[i].p_type != PT_GNU_RELRO)
            continue;
        uintptr_t from = (base + ph[i].p_vaddr) & ~(page - 1);
        uintptr_t to = (base + ph[i].p_vaddr + ph[i].p_memsz) & ~(page - 1);
        (void)TRY3(__NR_mprotect, from, to - from, 1 /* PROT_READ */); /* hardening only */
    }
}

/* Where the kernel's stack ends: it begins with the name that was executed, and a word of zeros. */
static void note_given_stack(const uintptr_t *stack, const char *path)
{
    const uintptr_t page = 4096;

    given_stack = (uintptr_t)stack;
    given_end = ((uintptr_t)path + text_len(path) + 1 + sizeof(void *) + page - 1) & ~(page - 1);
}

void stack_leave(void)
{
    const uintptr_t page = 4096, room = (uintptr_t)256 << 10; /* the kernel makes 132 KiB of it */
    const uintptr_t from = (given_stack - room) & ~(page - 1);
    const uintptr_t frame = 512; /* more than this function's own */
    const uintptr_t here = ((uintptr_t)__builtin_frame_address(0) - frame) & ~(page - 1);

    (void)TRY2(__NR_munmap, from, given_end - from);
    (void)TRY3(__NR_madvise, launcher_stack, here - (uintptr_t)launcher_stack, SYS_MADV_DONTNEED);
}

__attribute__((no_stack_protector, used)) ATTR_NORETURN void launcher_entry(uintptr_t *stack);
__attribute__((no_stack_protector, used)) ATTR_NORETURN void launcher_entry(uintptr_t *stack)
{
    uintptr_t base = (uintptr_t)&__ehdr_start;
    int argc = (int)stack[0];
    const char *const *argv = (const char *const *)(stack + 1);
    const char *const *envp = argv + argc + 1;
    const uintptr_t *aux = (const uintptr_t *)envp;
    const char *path = "";

    relocate_self(base);
    while (*aux)
        aux++;
    for (aux++; aux[0]; aux += 2)
        if (aux[0] == AT_RANDOM)
            memcpy(&__stack_chk_guard, (const void *)aux[1], sizeof __stack_chk_guard);
        else if (aux[0] == AT_EXECFN)
            path = (const char *)aux[1];
    __stack_chk_guard &= ~(uintptr_t)0xff; /* a NUL byte stops string overflows */
    protect_relro(base);
    note_given_stack(stack, path);
    launcher_exit(launcher_main(argc, argv, envp, path));
}
