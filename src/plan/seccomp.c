/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which filter a run gets.
 *
 * The programs are constants: tools/gen-seccomp compiles syscalls.def when agentbox is built and
 * prints seccomp_programs.c, which is linked with this file. So nothing that a run does, and no
 * configuration, can make a filter that the tests have not seen.
 */
#include "plan/seccomp.h"

#include "plan/seccomp_compile.h"

void seccomp_program(const struct seccomp_options *o, struct plan_filter *ret)
{
    uint32_t program = SECCOMP_PROGRAM(o->unix_sockets, o->nested, o->offline);

    if (o->watch != WATCH_OFF && !o->nested && !o->offline)
        program = o->named ? SECCOMP_PROGRAM_NAMED(o->watch)
                           : SECCOMP_PROGRAM_WATCH(o->unix_sockets, o->watch);
    program += o->deaf ? SECCOMP_PROGRAM_DEAF : 0;
    *ret = seccomp_programs[o->relayed ? SECCOMP_PROGRAM_RELAYED : program];
}

void seccomp_init_program(bool named, bool reads, struct plan_filter *ret)
{
    *ret = seccomp_programs[SECCOMP_PROGRAM_INIT_FOR(named, reads)];
}
