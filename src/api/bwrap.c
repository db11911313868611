/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The back end bwrap: the same plan, with namespaces and mounts by the system's bubblewrap, for
 * hosts that let that program make them and not us. Taken if it was asked for, or if our own
 * attempt was refused (next.c). What it cannot keep of a policy (plan/shortfalls.def) is
 * refused under fallbackPolicy "strict", and said under "warn".
 */
#include "run/bwrap.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "api/internal.h"
#include "base/buf.h"
#include "plan/bwrap.h"
#include "plan/shortfalls.h"

static void tell(const abx_command *c, uint32_t bits)
{
    _buf_ struct buf text = { .limit = 4096 };

    (void)buf_puts(&text, "the sandbox is incomplete: built by bubblewrap: ");
    shortfalls_print(bits, &text);
    if (!text.failed)
        manager_notice(c->manager, ABX_NOTICE_WARNING, text.data);
}

/* What launcher/bwrap.c goes by, too. */
static bool may_mount(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct have[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

    return syscall(SYS_capget, &header, have) == 0 && (have[0].effective & 1u << CAP_SYS_ADMIN);
}

static uint32_t find_shortfalls(const abx_command *c, const struct bwrap *b, uint32_t lacks)
{
    const struct bwrap_facts facts = {
        .root = geteuid() == 0,
        .mounts = may_mount(),
        .setuid = b->setuid,
    };

    return shortfalls_of_bwrap(c->policy, &facts, lacks);
}

/*
 * Refuses what this command loses, or says it, each thing once. Where bubblewrap was not asked for,
 * it may turn out to be refused as well: then it is said when it has worked (command_tell_bwrap).
 */
static int32_t accept_shortfalls(abx_command *c, uint32_t bits, abx_error **err)
{
    _buf_ struct buf text = { .limit = 4096 };
    const uint32_t more = bits & ~c->shortfalls;

    if (!more)
        return ABX_OK;
    shortfalls_print(more, &text);
    if (text.failed)
        return err_nomem(err);
    if (c->policy->strict) {
        int32_t r = err_new(err, ABX_E_UNSUPPORTED,
                            "run with bubblewrap: it cannot promise everything: %s", text.data);
        err_hint(err, "--set fallbackPolicy=warn accepts that");
        return r;
    }
    c->shortfalls |= more;
    if (c->policy->backend == CHOICE_BWRAP)
        tell(c, more);
    return ABX_OK;
}

static bool works(const abx_command *c, const struct bwrap *b, uint32_t layers)
{
    char *said = bwrap_try(b, layers, &c->manager->image);
    const bool silent = !said;

    free(said);
    return silent;
}

bool command_would_lack(abx_command *c, struct buf *text)
{
    struct bwrap found;

    if (c->policy->backend != CHOICE_AUTO || bwrap_find(&found, NULL) != ABX_OK ||
        !works(c, &found, plan_layers(c->policy, BACKEND_BWRAP)))
        return false;
    shortfalls_print(find_shortfalls(c, &found, 0), text);
    return true;
}

void command_tell_bwrap(const abx_command *c)
{
    if (c->backend == BACKEND_BWRAP && c->policy->backend == CHOICE_AUTO && c->shortfalls)
        tell(c, c->shortfalls);
}

bool command_bwrap_works(const abx_command *c)
{
    return works(c, &c->bwrap, c->plan ? c->plan->layers : command_layers(c));
}

int32_t command_choose_bwrap(abx_command *c, abx_error **err)
{
    struct bwrap found;
    int32_t r = bwrap_find(&found, err);

    if (r == ABX_OK)
        r = accept_shortfalls(c, find_shortfalls(c, &found, 0), err);
    if (r != ABX_OK)
        return r;
    c->backend = BACKEND_BWRAP;
    c->bwrap = found;
    c->plan = NULL;
    return ABX_OK;
}

/* A bwrap that is setuid makes no user namespace, and none is needed. */
uint32_t command_layers(const abx_command *c)
{
    uint32_t layers = plan_layers(c->policy, c->backend);

    return c->backend == BACKEND_BWRAP && c->bwrap.setuid ? layers & ~LAYER_BIT(LAYER_USERNS)
                                                          : layers;
}

int32_t command_finish_bwrap(abx_command *c, struct plan *plan, abx_error **err)
{
    const uint32_t lacks = bwrap_lacks(plan);
    _buf_ struct buf words = { .limit = PLAN_MAX_BYTES };

    plan->layers = plan->required = command_layers(c);
    plan->map_all_ids = 0;
    if (lacks & (BWRAP_LACKS_PATHS | BWRAP_LACKS_FILES)) {
        int32_t r = err_new(err, ABX_E_UNSUPPORTED, "run with bubblewrap: %s",
                            lacks & BWRAP_LACKS_PATHS ? "a path is too long for it"
                                                      : "it is nested too deeply");
        err_hint(err, "use --backend native");
        return r;
    }
    int32_t r = bwrap_words(plan, &words, err); /* there may be too many */
    return r == ABX_OK ? accept_shortfalls(c, find_shortfalls(c, &c->bwrap, lacks), err) : r;
}
