/* SPDX-License-Identifier: Apache-2.0 */
/* The library's side: a manager as the measured program would have one. */
#include "library.h"

int library_failed(const char *what, abx_error *err)
{
    (void)bench_fail("library: %s: %s", what, abx_error_message(err));
    abx_error_free(err);
    return -1;
}

int library_manager(abx_manager **ret)
{
    abx_config *config;
    abx_error *err = NULL;

    if (abx_config_new(&config, &err) != ABX_OK)
        return library_failed("new config", err);
    int32_t code = abx_config_set_string(config, "network.mode", "blocked", &err);
    if (code == ABX_OK)
        code = abx_manager_new(config, NULL, ret, &err);
    abx_config_free(config);
    return code == ABX_OK ? 0 : library_failed("new manager", err);
}
