/* SPDX-License-Identifier: Apache-2.0 */
/* What this host can do: the launcher's probe mode, asked once per boot. */
#ifndef ABX_RUN_PROBE_H
#define ABX_RUN_PROBE_H

#include "agentbox/agentbox.h"
#include "base/defs.h"
#include "run/image.h"

/* The launcher's tries (launcher/probe.c), in the order of the report. */
enum probe_item {
    PROBE_USERNS,
    PROBE_MOUNTS,
    PROBE_PROC,
    PROBE_PIDNS,
    PROBE_NETNS,
    PROBE_IPCNS,
    PROBE_UTSNS,
    PROBE_CGROUPNS,
    PROBE_LANDLOCK,
    PROBE_SECCOMP,
    PROBE_NOTIFY,
    PROBE_PIDLIMIT,
    PROBE_CLOSE_RANGE,
    PROBE_PIDFD,
    PROBE_COUNT,
};

struct probe_facts {
    struct {
        bool tried;
        int32_t error; /* errno, 0: works */
        int32_t value; /* landlock: ABI */
    } items[PROBE_COUNT];
};

extern const char *const probe_names[PROBE_COUNT];

long probe_landlock_abi(void); /* or -errno */
/* refresh: do not believe what was stored since boot. */
int32_t probe_host(struct image *image, const char *const *state_dirs, bool refresh,
                   struct probe_facts *ret, abx_error **err);
/* Bits of enum plan_layer that work here. */
uint32_t probe_layers(const struct probe_facts *facts);

#endif
