/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first instructions: a static PIE without a libc relocates itself, seeds its stack canary from
 * the kernel's random bytes and calls launcher_main (the launcher's, or the wrapper's). A libc's
 * start-up would cost more than all that the launcher does (68 trapped CPUID instructions in a
 * virtual machine).
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

#if defined(__x86_64__)
__asm__(".globl _start\n"
        ".type _start,@function\n"
        "_start:\n"
        "xor %ebp,%ebp\n"
        "mov %rsp,%rdi\n"
        "and $-16,%rsp\n"
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
        "and sp, x0, #-16\n"
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
    launcher_exit(launcher_main(argc, argv, envp, path));
}
