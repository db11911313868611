/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classic BPF without a kernel: runs seccomp programs, ours and libseccomp's, over made-up calls.
 */
#ifndef ABX_TESTS_LIB_BPF_H
#define ABX_TESTS_LIB_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bpf_program {
    size_t count;
    struct sock_filter insns[BPF_MAXINSNS];
};

/* From the form that plans carry. False if it is too long. */
bool bpf_from_plan(const uint64_t *insns, size_t count, struct bpf_program *ret);

/* False if the program is not one that the kernel would take: then there is no verdict. */
bool bpf_run(const struct bpf_program *p, const struct seccomp_data *data, uint32_t *ret_verdict);

/*
 * Only loads of whole words of struct seccomp_data, jumps forwards and inside, AND and RET; and
 * every instruction is reached. That is what the kernel's cache of allowed calls understands.
 */
bool bpf_is_cacheable(const struct bpf_program *p);

/* Instructions on the longest way through. Of cacheable programs only. */
size_t bpf_longest_path(const struct bpf_program *p);

#endif
