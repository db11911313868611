/* SPDX-License-Identifier: Apache-2.0 */
/* abx_config: settings behind a handle. */
#include <stdlib.h>

#include "api/internal.h"

int32_t abx_config_new(abx_config **ret_config, abx_error **err)
{
    if (!ret_config)
        return err_new(err, ABX_E_INVALID, "make a configuration: no place for it");
    abx_config *config = calloc(1, sizeof *config);
    if (!config)
        return err_nomem(err);
    int32_t code = settings_new(ORIGIN_GLOBAL, &config->settings, err);
    if (code != ABX_OK) {
        abx_config_free(config);
        return code;
    }
    *ret_config = config;
    return ABX_OK;
}

int32_t abx_config_set_string(abx_config *config, const char *key, const char *value,
                              abx_error **err)
{
    if (!config || !key || !value)
        return err_new(err, ABX_E_INVALID, "set a key: config, key or value is missing");
    return settings_set(config->settings, key, value, NULL, err);
}

int32_t abx_config_append(abx_config *config, const char *key, const char *value, abx_error **err)
{
    if (!config || !key || !value)
        return err_new(err, ABX_E_INVALID, "append to a key: config, key or value is missing");
    return settings_append(config->settings, key, value, NULL, err);
}

void abx_config_free(abx_config *config)
{
    if (!config)
        return;
    settings_free(config->settings);
    free(config);
}

const char *abx_key_name(size_t index)
{
    const struct schema_row *row = schema_row(index);

    return row ? row->name : NULL;
}

const char *abx_key_help(size_t index)
{
    const struct schema_row *row = schema_row(index);

    return row ? row->help : NULL;
}
