/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of a filtered run (net/proxy_env.def), and the connect helper for ssh among them.
 *
 * The helper is the agentbox program itself, by its own path (`agentbox net-connect`): the view
 * shows it like every other program, so nothing has to be put there for it. It runs with the
 * rights of whoever calls it, inside; a command that replaces it fools itself only. Where the
 * program is hidden or its name would need quoting, ssh is not led anywhere.
 */
#include "api/net_env.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "api/role.h"
#include "base/str.h"
#include "net/envvars.h"

static enum envvars_all all_proxy(const struct layers *layers)
{
    const char *word = layers_value(layers, KEY_ALL_PROXY);

    return str_eq(word, "http")     ? ENVVARS_HTTP
           : str_eq(word, "socks5") ? ENVVARS_SOCKS5
                                    : ENVVARS_SOCKS5H;
}

int32_t net_env_make(const abx_manager *m, const struct layers *layers, struct arena *arena,
                     struct plan_request *request, abx_error **err)
{
    struct envvars_ports ports = { LISTEN_HTTP, LISTEN_SOCKS, all_proxy(layers), NULL };
    char program[PATH_MAX];
    const char *given = role_program(m->hooks.program);
    ssize_t len = readlink(given, program, sizeof program - 1);

    if (envvars_make(&ports, arena, &request->proxy_env) < 0)
        return err_nomem(err);
    if (len > 0)
        program[len] = '\0';
    request->helper = arena_strdup(arena, len > 0 && program[0] == '/' ? program : given);
    ports.connect = arena_printf(arena, "%s net-connect", request->helper ? request->helper : "");
    if (!ports.connect || !request->helper)
        return err_nomem(err);
    /* A name with other characters is refused; one with a blank would be two words. */
    if (strchr(request->helper, ' ') || envvars_make(&ports, arena, &request->helper_env) < 0)
        request->helper = NULL;
    return ABX_OK;
}
