/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From syscalls.def to BPF. A pure function: same table, same program, on any machine.
 *
 * A program checks the architecture (another one, such as i386 by `int 0x80`, kills the process),
 * then searches the number in a balanced tree of ranges, and at the leaves looks at arguments
 * where the row asks for it (seccomp_checks.c). Numbers without a row are refused, so a newer
 * kernel adds nothing. On x86-64 the numbers of the x32 ABI are refused before the search.
 *
 * Only LD, JMP, AND and RET are used: the kernel (since 5.11) works out with those which numbers
 * are always allowed, and then skips the filter for them.
 *
 * The program is written from its end to its beginning, so each jump knows its target. Leaves are
 * shared as far as a jump reaches (255 instructions); beyond that they are written again.
 */
#include "plan/seccomp_compile.h"

#include "plan/seccomp_checks.h"

/* The kernel's numbers, by our own names: this file is also compiled where <linux/…> is not. */
#define BPF_LOAD   0x20u /* BPF_LD | BPF_W | BPF_ABS */
#define BPF_AND_K  0x54u
#define BPF_JUMP   0x05u
#define BPF_JEQ_K  0x15u
#define BPF_JGE_K  0x35u
#define BPF_RETURN 0x06u

#define DATA_NUMBER 0u /* offsets in struct seccomp_data */
#define DATA_ARCH   4u
#define DATA_ARG(n) (16u + 8u * ((n) % CHECK_HIGH) + 4u * ((n) / CHECK_HIGH)) /* little-endian */

#define X32_FIRST 0x40000000u

static const uint32_t audit_arch[SECCOMP_ARCH_COUNT] = {
    [SECCOMP_X86_64] = 0xc000003eu,
    [SECCOMP_AARCH64] = 0xc00000b7u,
};

static const struct seccomp_watch *watch_of(const struct seccomp_row *row, enum seccomp_arch arch)
{
    size_t count;
    const struct seccomp_watch *watches = seccomp_watch_table(&count);

    for (size_t i = 0; i < count; i++)
        if (row->number[arch] >= 0 && watches[i].number[arch] == row->number[arch])
            return &watches[i];
    return NULL;
}

static struct seccomp_checks row_checks(const struct seccomp_row *row,
                                        const struct seccomp_target *t)
{
    const struct seccomp_options *o = &t->options;
    const struct seccomp_watch *w = o->watch ? watch_of(row, t->arch) : NULL;

    if (t->init)
        return seccomp_action_checks(row->init, o);
    if (w && (w->level == WATCH_TOLD || w->level <= o->watch))
        return seccomp_watched_checks(row->command, w, o);
    return seccomp_action_checks(row->command, o);
}

/* ---- writing the program, backwards ---- */

#define JUMP_REACH 255u
#define LEAF_MAX   8u /* verdicts: ALLOW, ASK, KILL and four errnos */

struct leaf {
    uint32_t verdict, place;
};

/* A place in the program is counted from its end: the last instruction is 1. */
struct writer {
    uint64_t *insns; /* room for PLAN_MAX_INSNS; the program grows down from its end */
    uint32_t top;    /* place of the instruction written last */
    bool full;
    struct leaf leaves[LEAF_MAX];
    size_t leaf_count;
};

static uint32_t write_insn(struct writer *w, uint32_t code, uint32_t yes, uint32_t no, uint32_t k)
{
    if (w->top == PLAN_MAX_INSNS) {
        w->full = true;
        return w->top;
    }
    w->top++;
    w->insns[PLAN_MAX_INSNS - w->top] = code | (uint64_t)yes << 16 | (uint64_t)no << 24 |
                                        (uint64_t)k << 32;
    return w->top;
}

/* A place near enough for the next conditional jump, even if one more instruction is put between.
 */
static uint32_t write_reachable(struct writer *w, uint32_t place)
{
    if (w->top - place < JUMP_REACH)
        return place;
    return write_insn(w, BPF_JUMP, 0, 0, w->top - place);
}

static uint32_t write_branch(struct writer *w, uint32_t code, uint32_t k, uint32_t yes, uint32_t no)
{
    yes = write_reachable(w, yes);
    no = write_reachable(w, no);
    return write_insn(w, code, w->top - yes, w->top - no, k);
}

static uint32_t write_leaf(struct writer *w, uint32_t verdict)
{
    struct leaf *leaf = NULL;

    for (size_t i = 0; i < w->leaf_count; i++)
        if (w->leaves[i].verdict == verdict)
            leaf = &w->leaves[i];
    if (leaf && w->top - leaf->place < JUMP_REACH)
        return leaf->place;
    if (!leaf && w->leaf_count < LEAF_MAX)
        leaf = &w->leaves[w->leaf_count++];

    uint32_t place = write_insn(w, BPF_RETURN, 0, 0, verdict);

    if (leaf)
        *leaf = (struct leaf){ verdict, place };
    return place;
}

/* Whether the value that check i looks at is there already, whichever way leads to it. */
static bool is_loaded(const struct seccomp_check *list, size_t i)
{
    return i > 0 && list[i - 1].arg == list[i].arg && list[i - 1].mask == list[i].mask &&
           !(i > 1 && list[i - 2].verdict == CHECK_AND);
}

static uint32_t write_checks(struct writer *w, const struct seccomp_checks *checks)
{
    uint32_t next = write_leaf(w, checks->otherwise), after = next;

    for (size_t i = checks->count; i-- > 0;) {
        const struct seccomp_check *c = &checks->list[i];
        bool joined = c->verdict == CHECK_AND;
        uint32_t holds = joined ? next : write_leaf(w, c->verdict);
        uint32_t fails = joined ? after : next;

        after = next;
        next = write_branch(w, BPF_JEQ_K, c->value, c->differs ? fails : holds,
                            c->differs ? holds : fails);
        if (is_loaded(checks->list, i))
            continue;
        if (c->mask != SECCOMP_ALL_BITS)
            write_insn(w, BPF_AND_K, 0, 0, c->mask);
        next = write_insn(w, BPF_LOAD, 0, 0, DATA_ARG(c->arg));
    }
    return next;
}

/* ---- the tree ---- */

/* Numbers from `first` up to the next run. */
struct run {
    uint32_t first;
    struct seccomp_checks checks;
};

static uint32_t write_tree(struct writer *w, const struct run *runs, size_t count)
{
    if (count == 1)
        return write_checks(w, &runs[0].checks);

    size_t half = count / 2;
    uint32_t upper = write_tree(w, runs + half, count - half);
    uint32_t lower = write_tree(w, runs, half);

    return write_branch(w, BPF_JGE_K, runs[half].first, upper, lower);
}

static bool checks_equal(const struct seccomp_checks *a, const struct seccomp_checks *b)
{
    return a->list == b->list && a->count == b->count && a->otherwise == b->otherwise;
}

/* ret_runs has room for SECCOMP_MAX_NUMBER + 1. Returns their count; 0 if the table is unfit. */
static size_t make_runs(const struct seccomp_row *table, size_t count,
                        const struct seccomp_target *target, const struct seccomp_checks *unknown,
                        struct run *ret_runs)
{
    const struct seccomp_row *by_number[SECCOMP_MAX_NUMBER + 1] = { NULL };
    size_t runs = 0;

    for (size_t i = 0; i < count; i++) {
        int number = table[i].number[target->arch];

        if (table[i].command >= SECCOMP_ACTION_COUNT || table[i].init >= SECCOMP_ACTION_COUNT ||
            number < -1 || number >= SECCOMP_MAX_NUMBER || (number >= 0 && by_number[number]))
            return 0;
        if (number >= 0)
            by_number[number] = &table[i];
    }
    /* The last one has no row and stands for all above. */
    for (uint32_t number = 0; number <= SECCOMP_MAX_NUMBER; number++) {
        const struct seccomp_row *row = by_number[number];
        struct seccomp_checks checks = *unknown;

        if (row)
            checks = row_checks(row, target);
        if (runs == 0 || !checks_equal(&ret_runs[runs - 1].checks, &checks))
            ret_runs[runs++] = (struct run){ number, checks };
    }
    return runs;
}

uint32_t seccomp_compile(const struct seccomp_row *table, size_t count,
                         const struct seccomp_target *target, uint64_t *insns)
{
    struct writer w = { .insns = insns };
    struct seccomp_checks unknown = { NULL, 0, RET_ERRNO(target->init ? E_PERM : E_NOSYS) };
    struct run runs[SECCOMP_MAX_NUMBER + 1];
    size_t run_count = make_runs(table, count, target, &unknown, runs);

    if (run_count == 0)
        return 0;

    /* From here on each instruction goes on to the one that was written before it. */
    uint32_t search = write_tree(&w, runs, run_count);

    if (target->arch == SECCOMP_X86_64)
        write_branch(&w, BPF_JGE_K, X32_FIRST, write_leaf(&w, unknown.otherwise), search);

    uint32_t load = write_insn(&w, BPF_LOAD, 0, 0, DATA_NUMBER);

    write_branch(&w, BPF_JEQ_K, audit_arch[target->arch], load, write_leaf(&w, RET_KILL));
    write_insn(&w, BPF_LOAD, 0, 0, DATA_ARCH);
    if (w.full)
        return 0;
    for (uint32_t i = 0; i < w.top; i++)
        insns[i] = insns[PLAN_MAX_INSNS - w.top + i];
    return w.top;
}
