/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clone(2) with a stack of its own for a child that shares our memory: the child must never return
 * through frames that the parent is still using, so this cannot be written in C.
 */
#include "linux/sys.h"

#if defined(__x86_64__)
__asm__(".globl sys_clone_vm\n"
        ".type sys_clone_vm,@function\n"
        "sys_clone_vm:\n" /* rdi flags, rsi stack top, rdx fn, rcx arg */
        "and $-16,%rsi\n"
        "sub $16,%rsi\n"
        "mov %rdx,0(%rsi)\n"
        "mov %rcx,8(%rsi)\n"
        "xor %edx,%edx\n"
        "xor %r10d,%r10d\n"
        "xor %r8d,%r8d\n"
        "mov $56,%eax\n"
        "syscall\n"
        "test %eax,%eax\n"
        "jnz 1f\n"
        "xor %ebp,%ebp\n"
        "pop %rax\n"
        "pop %rdi\n"
        "call *%rax\n"
        "hlt\n"
        "1: ret\n");
#elif defined(__aarch64__)
__asm__(".globl sys_clone_vm\n"
        ".type sys_clone_vm,%function\n"
        "sys_clone_vm:\n" /* x0 flags, x1 stack top, x2 fn, x3 arg */
        "and x1, x1, #-16\n"
        "stp x2, x3, [x1, #-16]!\n"
        "mov x2, #0\n"
        "mov x3, #0\n"
        "mov x4, #0\n"
        "mov x8, #220\n"
        "svc #0\n"
        "cbnz x0, 1f\n"
        "mov x29, #0\n"
        "ldp x2, x0, [sp], #16\n"
        "blr x2\n"
        "1: ret\n");
#endif
