/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of /run a run keeps: the systems of NixOS, where resolv.conf really lies, and, in a run
 * inside another, the directories of the outer ones (their wrappers lead there). It also finds the
 * name of this run's own directory: the first that no outer run has.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "probe/inside.h"
#include "probe/scan_state.h"

#define KEEPS_MAX_NESTED 32u
#define KEEPS_OWN        "/run/agentbox"

static const char *const system_names[] = { "/run/booted-system", "/run/current-system",
                                            "/run/opengl-driver", "/run/opengl-driver-32" };

static int32_t keep_link(struct scan *s, struct keep_fact *keeps, size_t *n, const char *name)
{
    char target[4096];
    ssize_t len = readlink(name, target, sizeof target);

    if (len <= 0 || len == (ssize_t)sizeof target)
        return ABX_OK;
    keeps[*n] = (struct keep_fact){ .path = name,
                                    .target = arena_strndup(s->arena, target, (size_t)len) };
    return keeps[(*n)++].target ? ABX_OK : err_nomem(s->err);
}

static int32_t keep_outer(struct scan *s, struct keep_fact *keeps, size_t *n)
{
    struct stat st;

    s->facts->own_dir = KEEPS_OWN;
    if (!inside_sandbox())
        return ABX_OK;
    for (unsigned depth = 1; depth <= KEEPS_MAX_NESTED; depth++) {
        const char *path = depth == 1 ? KEEPS_OWN : arena_printf(s->arena, KEEPS_OWN ".%u", depth);
        if (!path)
            return err_nomem(s->err);
        s->facts->own_dir = path;
        if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            return ABX_OK;
        keeps[(*n)++] = (struct keep_fact){
            .path = path, .is_dir = true, .dev = (uint64_t)st.st_dev, .ino = (uint64_t)st.st_ino
        };
    }
    int32_t r = err_new(s->err, ABX_E_UNSUPPORTED, "run inside %u other runs: too many",
                        KEEPS_MAX_NESTED);
    err_hint(s->err, "run it in the sandbox that is there already");
    return r;
}

int32_t scan_keeps(struct scan *s)
{
    size_t n = 0, room = ARRAY_LEN(system_names) + KEEPS_MAX_NESTED + 1;
    struct keep_fact *keeps = arena_alloc(s->arena, room, sizeof *keeps);
    struct resolved where;
    int32_t r = ABX_OK;

    if (!keeps)
        return err_nomem(s->err);
    for (size_t i = 0; i < ARRAY_LEN(system_names) && r == ABX_OK; i++)
        r = keep_link(s, keeps, &n, system_names[i]);
    if (r == ABX_OK)
        r = keep_outer(s, keeps, &n);
    if (r == ABX_OK)
        r = resolve_path(s->arena, &s->root, "/etc/resolv.conf", &where, s->err);
    if (r != ABX_OK)
        return r;
    if (where.exists && !where.denied && !where.is_dir && s->facts->places[PLACE_RUN] &&
        path_is_beneath(where.path, s->facts->places[PLACE_RUN]))
        keeps[n++] = (struct keep_fact){ .path = where.path, .dev = where.dev, .ino = where.ino };
    s->facts->keeps = keeps;
    s->facts->keep_count = n;
    return ABX_OK;
}
