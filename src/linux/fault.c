/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Test builds only. ABX_FAULT=ROLE:N makes the N-th checked system call of that process of the
 * launcher fail with EPERM; counting stops when the command has been started. ABX_TEST_SKIP=NAME,…
 * leaves steps out, and parts of them.
 */
#include "linux/sys.h"

#ifdef ABX_TESTING

static const char *const role_names[ROLE_COUNT] = { "keeper:", "init:", "command:" };
static uint64_t fault_at, fault_count;
static enum sys_role fault_role = ROLE_COUNT;
static bool fault_armed;
static char skip_list[1024]; /* a copy: the launcher gives its environment back */

void sys_fault_init(const char *const *envp)
{
    for (; *envp; envp++) {
        if (text_has_prefix(*envp, "ABX_TEST_SKIP="))
            (void)text_append(skip_list, sizeof skip_list, *envp + text_len("ABX_TEST_SKIP="));
        if (!text_has_prefix(*envp, "ABX_FAULT="))
            continue;
        const char *value = *envp + text_len("ABX_FAULT=");
        for (unsigned r = 0; r < ROLE_COUNT; r++) {
            if (!text_has_prefix(value, role_names[r]))
                continue;
            fault_role = (enum sys_role)r;
            fault_at = text_to_u64(value + text_len(role_names[r]));
        }
    }
}

void sys_fault_role(enum sys_role role)
{
    fault_armed = role == fault_role;
    fault_count = 0;
}

void sys_fault_disarm(void)
{
    fault_armed = false;
}

long sys_fault(void)
{
    return fault_armed && ++fault_count == fault_at ? EPERM : 0;
}

bool sys_skips(const char *name)
{
    const size_t len = text_len(name);

    for (const char *s = skip_list; *s; s++) {
        bool begins = s == skip_list || s[-1] == ',';

        if (begins && text_has_prefix(s, name) && (s[len] == '\0' || s[len] == ','))
            return true;
    }
    return false;
}

#endif
