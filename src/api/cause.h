/* SPDX-License-Identifier: Apache-2.0 */
/* Why a layer is missing on this host, and the one thing to do about it. */
#ifndef ABX_API_CAUSE_H
#define ABX_API_CAUSE_H

#include "base/defs.h"
#include "run/probe.h"

/* What else tells of the cause. */
struct cause_signs {
    bool inner;     /* another agentbox around us lets no namespace be made */
    bool chroot;    /* our root is not that of the mount namespace */
    bool filter;    /* a filter answers in the kernel's place when a user namespace is made */
    bool container; /* an engine's mark is there */
    bool apparmor;  /* only named programs may make user namespaces */
    bool only_root; /* … only root */
    bool none;      /* … nobody */
    bool follows;   /* there is no user namespace, in which the layer would be */
    bool bwrap;     /* bubblewrap is there, and can make the layer */
};

void cause_look(struct cause_signs *ret);

/* Pure; "" where another row's hint is the one to follow. */
const char *cause_hint(enum probe_item item, int32_t error, const struct cause_signs *signs);

/* What else there is. */
struct cause_rest {
    bool view;     /* namespaces and mounts */
    bool landlock; /* Landlock and seccomp */
};

/* What a run is without that layer. Pure. */
const char *cause_cost(enum probe_item item, struct cause_rest rest);

#endif
