/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host that are let in by name. What is listed must be a socket when the run starts:
 * it is bound into the view, and pid 1 connects to that one and no other. Who names one in the call
 * is told when there is none; a file lists what may be there.
 *
 * Trusts DOCKER_HOST, which is the user's own. Of its forms only Unix sockets are let in; for the
 * others Docker's usual place counts.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "probe/scan_state.h"

static bool is_socket(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

/* "unix:///run/x" and "unix:/run/x". */
static const char *docker_path(void)
{
    const char *host = getenv("DOCKER_HOST");

    if (host && str_has_prefix(host, "unix:///"))
        return host + strlen("unix://");
    if (host && str_has_prefix(host, "unix:/") && host[strlen("unix:/")] != '/')
        return host + strlen("unix:");
    return is_socket("/run/docker.sock") ? "/run/docker.sock" : SCAN_DOCKER_SOCKET;
}

static const struct policy_rule *docker_rule(struct scan *s, const struct policy_rule *rule)
{
    struct policy_rule *own = arena_alloc(s->arena, 1, sizeof *own);

    if (!own)
        return NULL;
    *own = *rule;
    own->text = arena_strdup(s->arena, docker_path());
    return own->text ? own : NULL;
}

int32_t scan_socket(struct scan *s, const struct policy_rule *rule)
{
    struct resolved where;

    if (rule->flags & RULE_DOCKER)
        rule = docker_rule(s, rule);
    if (!rule)
        return err_nomem(s->err);
    int32_t r = scan_locate(s, rule, &where);
    if (r != ABX_OK)
        return r;
    if (where.exists && !where.denied && is_socket(where.path))
        return scan_add(s, rule, &where);
    if (rule->origin != ORIGIN_CALL)
        return ABX_OK;
    r = err_new(s->err, ABX_E_CONFIG, "%s %s: %s", rule->source, rule->text,
                where.exists && !where.denied ? "not a socket" : "there is no such socket");
    err_subject(s->err, rule->text);
    err_hint(s->err, "%s",
             rule->flags & RULE_DOCKER ? "is Docker running? DOCKER_HOST=unix://PATH names another"
                                       : "start its server first; a path that ends in a socket");
    return r;
}
