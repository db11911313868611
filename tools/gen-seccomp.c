/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints seccomp_programs.c: the filters of src/plan/syscalls.def as constants.
 *
 * Runs on the build machine, which need not be the machine that agentbox is built for: the
 * programs of both CPUs are printed and the compiler of the result keeps those of its own.
 * Trusts its source; a table that does not compile ends it with status 1 and no complete file.
 */
#include <stdio.h>

#include "plan/seccomp_compile.h"

static const struct {
    const char *macro;
    enum seccomp_arch arch;
} cpus[] = {
    { "__x86_64__", SECCOMP_X86_64 },
    { "__aarch64__", SECCOMP_AARCH64 },
};

static uint32_t print_program(enum seccomp_arch arch, unsigned program)
{
    static uint64_t insns[PLAN_MAX_INSNS];
    struct seccomp_target target = seccomp_target_at(program);
    size_t rows;
    const struct seccomp_row *table = seccomp_table(&rows);

    target.arch = arch;

    uint32_t count = seccomp_compile(table, rows, &target, insns);

    printf("\nstatic const uint64_t program_%u[] = {", program);
    for (uint32_t i = 0; i < count; i++)
        printf("%s0x%016llx,", i % 4 == 0 ? "\n    " : " ", (unsigned long long)insns[i]);
    printf("\n};\n");
    return count;
}

static bool print_cpu(enum seccomp_arch arch)
{
    uint32_t counts[SECCOMP_PROGRAM_COUNT];

    for (unsigned p = 0; p < SECCOMP_PROGRAM_COUNT; p++) {
        counts[p] = print_program(arch, p);
        if (counts[p] == 0)
            return false;
    }
    printf("\nconst struct plan_filter seccomp_programs[SECCOMP_PROGRAM_COUNT] = {\n");
    for (unsigned p = 0; p < SECCOMP_PROGRAM_COUNT; p++)
        printf("    { %u, program_%u },\n", counts[p], p);
    printf("};\n");
    return true;
}

int main(void)
{
    printf("/* SPDX-License-Identifier: Apache-2.0 */\n"
           "/* Made by tools/gen-seccomp from src/plan/syscalls.def. */\n"
           "#include \"plan/seccomp_compile.h\"\n\n");
    for (size_t i = 0; i < ARRAY_LEN(cpus); i++) {
        printf("%s defined(%s)\n", i == 0 ? "#if" : "\n#elif", cpus[i].macro);
        if (!print_cpu(cpus[i].arch)) {
            fprintf(stderr, "gen-seccomp: syscalls.def does not compile for %s\n", cpus[i].macro);
            return 1;
        }
    }
    printf("\n#else\n#error \"no system call table for this CPU\"\n#endif\n");
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
