/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters are described three times: by the compiler's decision lists, by model_verdict() in
 * plain C with the system's own constants, and by rules given to libseccomp. All three must agree
 * for every number and for arguments picked to hurt. What the kernel makes of the programs is
 * tested in test_seccomp_kernel.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <asm/ioctls.h>
#include <asm/unistd.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/btrfs.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "lib/bpf.h"
#include "lib/seccomp_model.h"
#include "plan/seccomp_compile.h"

#define X32_BIT      0x40000000u
#define TARGET_COUNT (SECCOMP_ARCH_COUNT * SECCOMP_PROGRAM_COUNT)

static const uint32_t audit_arches[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_AARCH64 };
static const char *const arch_names[] = { "x86-64", "aarch64" };

static struct seccomp_target target_at(unsigned i)
{
    struct seccomp_target t = seccomp_target_at(i % SECCOMP_PROGRAM_COUNT);

    t.arch = i / SECCOMP_PROGRAM_COUNT;
    return t;
}

static void compile(const struct seccomp_row *table, size_t count, const struct seccomp_target *t,
                    struct bpf_program *ret)
{
    static uint64_t insns[PLAN_MAX_INSNS];
    uint32_t length = seccomp_compile(table, count, t, insns);

    assert_int_not_equal(length, 0);
    assert_true(bpf_from_plan(insns, length, ret));
}

static void compile_target(const struct seccomp_target *t, struct bpf_program *ret)
{
    size_t count;
    const struct seccomp_row *table = seccomp_table(&count);

    compile(table, count, t, ret);
}

static uint32_t run(const struct bpf_program *p, const struct seccomp_data *data)
{
    uint32_t verdict = 0;

    assert_true(bpf_run(p, data, &verdict));
    return verdict;
}

/* ---- calls to try ---- */

static uint64_t random_state = UINT64_C(0x9e3779b97f4a7c15); /* the same in every run */

static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* What the checks look for, by argument, and values next to it. */
#define TELLING_MAX 50
/* clang-format off */
static const uint32_t telling[4][TELLING_MAX] = {
    { AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_NETLINK, AF_PACKET, AF_ALG, AF_VSOCK,
      AF_XDP, CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWTIME, MODEL_NAMESPACES, MODEL_UNSHARE, CLONE_VM
      | CLONE_VFORK | 17, PER_LINUX32, UNAME26, UNAME26 | PER_LINUX32, ADDR_NO_RANDOMIZE,
      READ_IMPLIES_EXEC, UINT32_MAX, AF_UNIX, AF_INET, AF_INET, AF_INET6, AF_NETLINK,
      RLIMIT_CORE, RLIMIT_CORE },
    { TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD, TIOCGPGRP, TIOCSPGRP, TIOCGWINSZ,
      (uint32_t)BTRFS_IOC_SNAP_CREATE, (uint32_t)BTRFS_IOC_SNAP_CREATE_V2,
      (uint32_t)BTRFS_IOC_SNAP_DESTROY, (uint32_t)BTRFS_IOC_SNAP_DESTROY_V2,
      (uint32_t)BTRFS_IOC_SUBVOL_CREATE, (uint32_t)BTRFS_IOC_SYNC, TIOCSTI, S_IFBLK,
      S_IFCHR, S_IFIFO, S_IFSOCK, S_IFREG, S_IFDIR, S_IFBLK | 0644, S_IFCHR | 0666, SOCK_STREAM,
      SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, SOCK_DCCP, SOCK_PACKET, SOCK_STREAM |
      SOCK_CLOEXEC, SOCK_DGRAM | SOCK_NONBLOCK, SOCK_RAW | SOCK_CLOEXEC, SOCK_SEQPACKET |
      SOCK_CLOEXEC, S_ISUID, S_ISGID | 0755, S_ISUID | S_ISGID, S_IFREG | S_ISUID | 0755, O_CREAT,
      O_CREAT | O_WRONLY, O_TMPFILE | O_RDWR, O_TMPFILE | O_CREAT, F_SETLEASE, O_DIRECTORY,
      SOL_TCP, SOL_TCP, RLIMIT_CORE, RLIMIT_CORE },
    { 0, 0, 0, 0, 1, 2, 9, 16, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDP, IPPROTO_ICMPV6,
      IPPROTO_SCTP, IPPROTO_DCCP, IPPROTO_UDPLITE, IPPROTO_RAW, 262, /* IPPROTO_MPTCP */ S_IFBLK,
      S_IFCHR, S_IFIFO, S_IFSOCK, S_IFREG, S_IFDIR, S_IFBLK | 0644, S_IFCHR | 0666, S_ISUID,
      S_ISGID, S_ISUID | 0755, S_IFREG | S_ISGID, O_CREAT, O_CREAT | O_WRONLY, O_TMPFILE | O_RDWR,
      O_TMPFILE | O_CREAT, O_RDONLY, 0644, IPPROTO_TCP, IPPROTO_TCP, IPPROTO_MPTCP, IPPROTO_SCTP,
      TCP_ULP, MSG_FASTOPEN, MSG_FASTOPEN | MSG_DONTWAIT },
    { 0, MSG_FASTOPEN, MSG_FASTOPEN | MSG_NOSIGNAL, 0644, S_ISUID, S_ISGID, S_ISUID | 0755,
      S_ISGID | 0755, S_ISUID | S_ISGID | 0777, 0777 },
};
/* clang-format on */

/* A telling value; often with one bit flipped or with junk in the half that the kernel drops. */
static uint64_t random_argument(size_t index)
{
    uint64_t r = random_next();
    uint64_t value = telling[index % 4][random_next() % TELLING_MAX];

    if ((r & 7) == 0)
        value = random_next();
    else if ((r & 7) == 1)
        value = UINT64_C(1) << (r >> 8) % 32;
    else if ((r & 7) == 2)
        value ^= UINT64_C(1) << (r >> 8) % 32;
    if (r & 8)
        value |= random_next() << 32;
    return value;
}

static struct seccomp_data random_call(uint32_t arch, uint32_t number)
{
    struct seccomp_data data = { .nr = (int)number, .arch = arch };

    data.instruction_pointer = random_next();
    for (size_t i = 0; i < ARRAY_LEN(data.args); i++)
        data.args[i] = random_argument(i);
    return data;
}

/* More calls for rows that look at arguments. */
static unsigned calls_for(const struct seccomp_target *t, uint32_t number)
{
    const struct seccomp_row *row = seccomp_row_by_number(t->arch, number);

    return row && (row->command > SECCOMP_NESTED || row->init > SECCOMP_NESTED) ? 3000 : 60;
}

static void expect(const struct bpf_program *p, const struct seccomp_target *t,
                   const struct seccomp_data *data, uint32_t wanted)
{
    uint32_t verdict = run(p, data);

    if (verdict != wanted)
        fail_msg("%s init=%d unix=%d nested=%d watch=%u: call %d (%llx, %llx, %llx): %x and not %x",
                 arch_names[t->arch], t->init, t->options.unix_sockets, t->options.nested,
                 t->options.watch, data->nr, data->args[0], data->args[1], data->args[2], verdict,
                 wanted);
}

/* ---- the table ---- */

static void rows_are_sorted_by_name_and_unique(void **state)
{
    size_t count;
    const struct seccomp_row *table = seccomp_table(&count);

    (void)state;
    for (size_t i = 1; i < count; i++)
        if (strcmp(table[i - 1].name, table[i].name) >= 0)
            fail_msg("%s must come after %s", table[i - 1].name, table[i].name);
}

static void numbers_are_those_of_libseccomp(void **state)
{
    size_t count, resolved = 0;
    const struct seccomp_row *table = seccomp_table(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (unsigned arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
            int number = seccomp_syscall_resolve_name_arch(audit_arches[arch], table[i].name);

            if (number == __NR_SCMP_ERROR)
                continue;
            resolved++;
            if (number < 0)
                number = -1; /* libseccomp knows the name, the CPU does not have the call */
            if (number != table[i].number[arch])
                fail_msg("%s on %s: %d and not %d", table[i].name, arch_names[arch],
                         table[i].number[arch], number);
        }
    }
    assert_true(resolved > count);
}

static void no_call_that_libseccomp_knows_is_missing(void **state)
{
    (void)state;
    for (unsigned arch = 0; arch < SECCOMP_ARCH_COUNT; arch++) {
        for (int number = 0; number < SECCOMP_MAX_NUMBER; number++) {
            char *name = seccomp_syscall_resolve_num_arch(audit_arches[arch], number);

            if (name && !seccomp_row_by_number(arch, (uint32_t)number))
                fail_msg("%s: %d is %s", arch_names[arch], number, name);
            free(name);
        }
    }
}

/* The number in the system's headers as text; its own name where they are older than the call. */
#define HEADER_TEXT(number) #number
#define HEADER_NUMBER(name) HEADER_TEXT(name)
#define NEWER(name)         HEADER_TEXT(name), HEADER_NUMBER(__NR_##name)

/* libseccomp 2.5 does not know these; the last two came with Linux 6.17. */
static void numbers_of_newer_calls_are_right(void **state)
{
    static const struct {
        const char *name, *number;
    } newer[] = {
        { NEWER(statmount) },         { NEWER(listmount) },        { NEWER(lsm_get_self_attr) },
        { NEWER(lsm_set_self_attr) }, { NEWER(lsm_list_modules) }, { NEWER(mseal) },
        { NEWER(setxattrat) },        { NEWER(getxattrat) },       { NEWER(listxattrat) },
        { NEWER(removexattrat) },     { NEWER(open_tree_attr) },   { NEWER(file_getattr) },
        { NEWER(file_setattr) },
    };

    (void)state;
    for (int i = 0; i < (int)ARRAY_LEN(newer); i++) {
        const struct seccomp_row *row = seccomp_row_by_name(newer[i].name);

        assert_non_null(row);
        assert_int_equal(row->number[SECCOMP_X86_64], 457 + i);
        assert_int_equal(row->number[SECCOMP_AARCH64], 457 + i);
        if (newer[i].number[0] != '_')
            assert_int_equal(strtol(newer[i].number, NULL, 10), 457 + i);
    }
    assert_int_equal(seccomp_row_by_name("uretprobe")->number[SECCOMP_X86_64], 335);
    assert_int_equal(seccomp_row_by_name("uprobe")->number[SECCOMP_X86_64], 336);
    assert_null(seccomp_row_by_name("no_such_call"));
}

/* ---- the programs ---- */

static void generated_programs_are_what_the_table_compiles_to(void **state)
{
    static struct bpf_program ours, generated;

    (void)state;
    for (unsigned i = 0; i < SECCOMP_PROGRAM_COUNT; i++) {
        struct seccomp_target t = target_at(i);
        struct plan_filter filter;

        if (seccomp_arch_native() != audit_arches[t.arch])
            t.arch = SECCOMP_AARCH64;
        if (t.init)
            seccomp_init_program(t.options.named, t.options.reads, &filter);
        else
            seccomp_program(&t.options, &filter);
        compile_target(&t, &ours);
        assert_true(bpf_from_plan(filter.insns, filter.count, &generated));
        assert_int_equal(generated.count, ours.count);
        assert_memory_equal(generated.insns, ours.insns, ours.count * sizeof(ours.insns[0]));
    }
}

static void programs_are_short_shallow_and_cacheable(void **state)
{
    static struct bpf_program p;

    (void)state;
    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        struct seccomp_target t = target_at(i);

        compile_target(&t, &p);
        assert_true(bpf_is_cacheable(&p));
        assert_true(p.count < (t.options.watch || t.options.relayed ? 296 : 236));
        assert_true(bpf_longest_path(&p) < (t.options.watch ? 43 : 40));
    }
}

static void every_number_and_argument_gets_the_verdict_of_the_model(void **state)
{
    static struct bpf_program p;

    (void)state;
    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        struct seccomp_target t = target_at(i);

        compile_target(&t, &p);
        for (uint32_t n = 0; n <= SECCOMP_MAX_NUMBER; n++) {
            const struct seccomp_row *row = seccomp_row_by_number(t.arch, n);

            for (unsigned j = calls_for(&t, n); j > 0; j--) {
                struct seccomp_data data = random_call(audit_arches[t.arch], n);

                expect(&p, &t, &data, model_verdict(row, &t, &data));
            }
        }
    }
}

static void numbers_without_a_row_are_refused(void **state)
{
    static struct bpf_program p;

    (void)state;
    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        struct seccomp_target t = target_at(i);

        compile_target(&t, &p);
        for (unsigned j = 0; j < 20000; j++) {
            uint32_t n = j < 2 ? UINT32_MAX - j : (uint32_t)random_next() >> j % 20;
            struct seccomp_data data = random_call(audit_arches[t.arch], n);

            if (!seccomp_row_by_number(t.arch, n))
                expect(&p, &t, &data, model_default(&t));
        }
    }
}

static void numbers_of_x32_are_refused(void **state)
{
    static struct bpf_program p;

    (void)state;
    for (unsigned i = 0; i < SECCOMP_PROGRAM_COUNT; i++) {
        struct seccomp_target t = target_at(i);

        compile_target(&t, &p);
        for (uint32_t n = 0; n <= SECCOMP_MAX_NUMBER; n++) {
            struct seccomp_data data = random_call(AUDIT_ARCH_X86_64, X32_BIT | n);

            expect(&p, &t, &data, model_default(&t));
        }
    }
}

static void other_architectures_kill_the_process(void **state)
{
    static const uint32_t others[] = { AUDIT_ARCH_I386, AUDIT_ARCH_ARM, AUDIT_ARCH_RISCV64, 0,
                                       UINT32_MAX };
    static struct bpf_program p;

    (void)state;
    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        struct seccomp_target t = target_at(i);

        compile_target(&t, &p);
        for (size_t j = 0; j <= ARRAY_LEN(others); j++) {
            uint32_t arch = j < ARRAY_LEN(others) ? others[j] : audit_arches[!t.arch];

            for (uint32_t n = 0; n <= SECCOMP_MAX_NUMBER; n++) {
                struct seccomp_data data = random_call(arch, n);

                expect(&p, &t, &data, SECCOMP_RET_KILL_PROCESS);
            }
        }
    }
}

/* ---- libseccomp ---- */

struct sample {
    struct seccomp_data data;
    uint32_t verdict;
};

static struct sample samples[160 * SECCOMP_MAX_NUMBER];
static bool known[SECCOMP_MAX_NUMBER]; /* numbers that libseccomp has rules for */

/* Fills samples with calls, at most `most` for a number, and libseccomp's verdicts on them. */
static size_t take_samples(const struct seccomp_target *t, unsigned most)
{
    static struct bpf_program theirs;
    size_t count = 0;

    oracle_build(t, &theirs, known);
    for (uint32_t n = 0; n < SECCOMP_MAX_NUMBER; n++) {
        if (!known[n] && seccomp_row_by_number(t->arch, n))
            continue;
        for (unsigned j = MIN_OF(calls_for(t, n), most); j > 0; j--, count++) {
            assert_true(count < ARRAY_LEN(samples));
            samples[count].data = random_call(audit_arches[t->arch], n);
            samples[count].verdict = run(&theirs, &samples[count].data);
        }
    }
    return count;
}

static void libseccomp_agrees_on_every_number_and_argument(void **state)
{
    static struct bpf_program ours;

    (void)state;
    for (unsigned i = 0; i < TARGET_COUNT; i++) {
        struct seccomp_target t = target_at(i);

        if (t.options.watch || t.options.relayed)
            continue; /* what these add is for the model to say */
        size_t count = take_samples(&t, UINT_MAX);

        compile_target(&t, &ours);
        for (size_t j = 0; j < count; j++)
            expect(&ours, &t, &samples[j].data, samples[j].verdict);
    }
}

static bool differs_from_samples(const struct bpf_program *p, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (run(p, &samples[i].data) != samples[i].verdict)
            return true;
    return false;
}

/* Without this, "they agree" could mean that nobody looked. */
static void libseccomp_notices_any_single_changed_row(void **state)
{
    static struct seccomp_row changed[SECCOMP_MAX_NUMBER];
    static struct bpf_program p;
    size_t rows;
    const struct seccomp_row *table = seccomp_table(&rows);

    (void)state;
    assert_true(rows <= ARRAY_LEN(changed));
    memcpy(changed, table, rows * sizeof(*table));
    for (unsigned i = 0; i < TARGET_COUNT; i += SECCOMP_PROGRAM_COUNT) {
        struct seccomp_target t = target_at(i);
        size_t count = take_samples(&t, 300);

        for (size_t j = 0; j < rows; j++) {
            if (table[j].number[t.arch] < 0 || !known[table[j].number[t.arch]])
                continue;
            const uint8_t action = table[j].command;
            bool open = action == SECCOMP_ALLOW || action == SECCOMP_LISTEN ||
                        action == SECCOMP_CONNECT || action == SECCOMP_SENDMSG ||
                        action == SECCOMP_SENDTO || action == SECCOMP_SETSOCKOPT;

            changed[j].command = open ? SECCOMP_DENY : SECCOMP_ALLOW;
            compile(changed, rows, &t, &p);
            if (!differs_from_samples(&p, count))
                fail_msg("nobody noticed the change of %s", table[j].name);
            changed[j] = table[j];
        }
    }
}

/* ---- any table ---- */

/* Long enough that jumps do not reach and leaves are written several times. */
static void any_table_compiles_to_its_own_verdicts(void **state)
{
    static struct seccomp_row table[SECCOMP_MAX_NUMBER];
    static struct bpf_program p;

    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct seccomp_target t = target_at(round % TARGET_COUNT);
        unsigned actions = round % 2 ? SECCOMP_NESTED + 1 : SECCOMP_CLONE3 + 1;

        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
            uint8_t action = (uint8_t)(random_next() % actions);

            table[i] = (struct seccomp_row){ "x", { (int16_t)i, (int16_t)i }, action, action };
        }
        compile(table, ARRAY_LEN(table), &t, &p);
        assert_true(bpf_is_cacheable(&p));
        for (uint32_t n = 0; n < SECCOMP_MAX_NUMBER * 10; n++) {
            const struct seccomp_row *row = &table[n % SECCOMP_MAX_NUMBER];
            struct seccomp_data data = random_call(audit_arches[t.arch], n % SECCOMP_MAX_NUMBER);

            expect(&p, &t, &data, model_verdict(row, &t, &data));
        }
    }
}

static void a_table_that_is_too_long_or_wrong_is_refused(void **state)
{
    static struct seccomp_row table[SECCOMP_MAX_NUMBER];
    static uint64_t insns[PLAN_MAX_INSNS];
    struct seccomp_target t = { .arch = SECCOMP_X86_64 };

    (void)state;
    for (int i = 0; i < SECCOMP_MAX_NUMBER; i++)
        table[i] = (struct seccomp_row){ "x",
                                         { (int16_t)i, (int16_t)i },
                                         i % 2 ? SECCOMP_SOCKET : SECCOMP_PERSONALITY,
                                         SECCOMP_DENY };
    assert_int_equal(seccomp_compile(table, ARRAY_LEN(table), &t, insns), 0);

    table[1] = table[0];
    assert_int_not_equal(seccomp_compile(table, 1, &t, insns), 0);
    assert_int_equal(seccomp_compile(table, 2, &t, insns), 0);

    table[0].number[SECCOMP_X86_64] = SECCOMP_MAX_NUMBER;
    assert_int_equal(seccomp_compile(table, 1, &t, insns), 0);

    table[1].command = SECCOMP_ACTION_COUNT;
    assert_int_equal(seccomp_compile(table + 1, 1, &t, insns), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_by_name_and_unique),
        cmocka_unit_test(numbers_are_those_of_libseccomp),
        cmocka_unit_test(no_call_that_libseccomp_knows_is_missing),
        cmocka_unit_test(numbers_of_newer_calls_are_right),
        cmocka_unit_test(generated_programs_are_what_the_table_compiles_to),
        cmocka_unit_test(programs_are_short_shallow_and_cacheable),
        cmocka_unit_test(every_number_and_argument_gets_the_verdict_of_the_model),
        cmocka_unit_test(numbers_without_a_row_are_refused),
        cmocka_unit_test(numbers_of_x32_are_refused),
        cmocka_unit_test(other_architectures_kill_the_process),
        cmocka_unit_test(libseccomp_agrees_on_every_number_and_argument),
        cmocka_unit_test(libseccomp_notices_any_single_changed_row),
        cmocka_unit_test(any_table_compiles_to_its_own_verdicts),
        cmocka_unit_test(a_table_that_is_too_long_or_wrong_is_refused),
    };

    return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
