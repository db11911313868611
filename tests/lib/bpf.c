/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter for the part of classic BPF that seccomp programs are made of, simple rather than
 * fast. Jumps only go forwards, so every run ends. An instruction that is not known, and a jump or
 * a load out of bounds, give no verdict rather than a guess.
 */
#include "bpf.h"

#include <string.h>

#define DATA_WORDS (sizeof(struct seccomp_data) / sizeof(uint32_t))

bool bpf_from_plan(const uint64_t *insns, size_t count, struct bpf_program *ret)
{
    _Static_assert(sizeof(struct sock_filter) == sizeof(uint64_t), "8 bytes each");
    if (count > BPF_MAXINSNS)
        return false;
    memcpy(ret->insns, insns, count * sizeof(*insns));
    ret->count = count;
    return true;
}

/* Whether the jump is taken; false in *known if there is no such jump. */
static bool jump_taken(const struct sock_filter *i, uint32_t a, bool *known)
{
    switch (BPF_OP(i->code)) {
    case BPF_JEQ:
        return a == i->k;
    case BPF_JGT:
        return a > i->k;
    case BPF_JGE:
        return a >= i->k;
    case BPF_JSET:
        return (a & i->k) != 0;
    }
    *known = false;
    return false;
}

bool bpf_run(const struct bpf_program *p, const struct seccomp_data *data, uint32_t *ret_verdict)
{
    uint32_t words[DATA_WORDS], a = 0;

    memcpy(words, data, sizeof(words));
    for (size_t pc = 0; pc < p->count; pc++) {
        const struct sock_filter *i = &p->insns[pc];
        bool known = true;

        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            if (i->k % 4 != 0 || i->k / 4 >= DATA_WORDS)
                return false;
            a = words[i->k / 4];
            break;
        case BPF_ALU | BPF_AND | BPF_K:
            a &= i->k;
            break;
        case BPF_RET | BPF_K:
            *ret_verdict = i->k;
            return true;
        case BPF_JMP | BPF_JA:
            pc += i->k;
            break;
        default:
            if (BPF_CLASS(i->code) != BPF_JMP || BPF_SRC(i->code) != BPF_K)
                return false;
            pc += jump_taken(i, a, &known) ? i->jt : i->jf;
            if (!known)
                return false;
        }
    }
    return false;
}

/* The two places an instruction may go on to; 0 where there is none (nothing goes back to 0). */
static bool successors(const struct bpf_program *p, size_t pc, size_t ret_next[2])
{
    const struct sock_filter *i = &p->insns[pc];
    bool known = true;

    ret_next[0] = ret_next[1] = 0;
    switch (i->code) {
    case BPF_RET | BPF_K:
        return true;
    case BPF_LD | BPF_W | BPF_ABS:
        ret_next[0] = pc + 1;
        return i->k % 4 == 0 && i->k / 4 < DATA_WORDS && ret_next[0] < p->count;
    case BPF_ALU | BPF_AND | BPF_K:
        ret_next[0] = pc + 1;
        return ret_next[0] < p->count;
    case BPF_JMP | BPF_JA:
        ret_next[0] = pc + 1 + i->k;
        return ret_next[0] < p->count;
    }
    if (BPF_CLASS(i->code) != BPF_JMP || BPF_SRC(i->code) != BPF_K)
        return false;
    (void)jump_taken(i, 0, &known);
    ret_next[0] = pc + 1 + i->jt;
    ret_next[1] = pc + 1 + i->jf;
    return known && ret_next[0] < p->count && ret_next[1] < p->count;
}

bool bpf_is_cacheable(const struct bpf_program *p)
{
    bool reached[BPF_MAXINSNS + 1] = { [0] = true };

    for (size_t pc = 0; pc < p->count; pc++) {
        size_t next[2];

        if (!reached[pc] || !successors(p, pc, next))
            return false;
        reached[next[0]] = reached[next[1]] = true;
    }
    return p->count > 0;
}

size_t bpf_longest_path(const struct bpf_program *p)
{
    size_t length[BPF_MAXINSNS + 1] = { 0 };

    for (size_t pc = p->count; pc-- > 0;) {
        size_t next[2];

        if (!successors(p, pc, next))
            return 0;
        for (size_t i = 0; i < 2; i++)
            if (next[i] != 0 && length[next[i]] > length[pc])
                length[pc] = length[next[i]];
        length[pc]++;
    }
    return length[0];
}
