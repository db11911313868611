/* SPDX-License-Identifier: Apache-2.0 */
/*
 * abx_config: settings behind a handle.
 *
 * Texts and files may be anybody's: policy/decode.c reads them, and enters all or nothing. A file
 * is opened once, must be a regular one, and is read up to the limit; who may have written it is
 * for the caller to judge.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "api/internal.h"
#include "base/doc.h"
#include "base/io.h"
#include "base/str.h"
#include "policy/decode.h"
#include "policy/settings_dump.h"

#define DUMP_LIMIT ((size_t)256 << 20)

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

static bool find_format(const char *name, enum doc_format *ret)
{
    static const char *const names[] = {
        [DOC_JSON] = "json", [DOC_JSONC] = "jsonc", [DOC_YAML] = "yaml"
    };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_eq(names[i], name)) {
            *ret = (enum doc_format)i;
            return true;
        }
    return false;
}

int32_t abx_config_parse(abx_config *config, const char *name, const char *text, size_t len,
                         const char *format, abx_error **err)
{
    enum doc_format form;

    if (!config || !name || (!text && len > 0) || !format)
        return err_new(err, ABX_E_INVALID,
                       "parse a configuration: config, name, text or format is missing");
    if (!find_format(format, &form)) {
        int32_t code = err_new(err, ABX_E_INVALID, "parse '%s': there is no format '%s'", name,
                               format);
        err_hint(err, "use json, jsonc or yaml");
        return code;
    }
    return config_decode(config->settings, name, text ? text : "", len, form, err);
}

int32_t abx_config_load(abx_config *config, const char *path, abx_error **err)
{
    _buf_ struct buf text = { .limit = DOC_MAX_BYTES };

    if (!config || !path)
        return err_new(err, ABX_E_INVALID, "load a configuration: config or path is missing");
    int r = io_read_file(AT_FDCWD, path, &text);
    if (r < 0) {
        int32_t code = r == -E2BIG ? err_new(err, ABX_E_CONFIG,
                                             "read configuration '%s': it is too large", path)
                                   : err_sys(err, ABX_E_IO, r, "read configuration '%s'", path);
        err_subject(err, path);
        if (r == -E2BIG || r == -EISDIR || r == -EINVAL)
            err_hint(err, "a configuration is a regular file of at most 1 MiB");
        return code;
    }
    return config_decode(config->settings, path, text.data ? text.data : "", text.len,
                         doc_format_of_name(path), err);
}

int32_t abx_config_validate(const abx_config *config, abx_error **err)
{
    if (!config)
        return err_new(err, ABX_E_INVALID, "validate a configuration: it is missing");
    return settings_check(config->settings, err);
}

int32_t abx_config_dump(const abx_config *config, const char *format, char **ret_text,
                        abx_error **err)
{
    _buf_ struct buf out = { .limit = DUMP_LIMIT };

    if (!config || !format || !ret_text)
        return err_new(err, ABX_E_INVALID, "dump a configuration: an argument is missing");
    if (str_eq(format, "json")) {
        settings_dump_json(config->settings, &out);
    } else if (str_eq(format, "text")) {
        settings_dump_text(config->settings, &out);
    } else {
        int32_t code = err_new(err, ABX_E_INVALID, "dump a configuration: no format '%s'", format);
        err_hint(err, "use json or text");
        return code;
    }
    return take_text(&out, ret_text, err);
}

void abx_config_free(abx_config *config)
{
    if (!config)
        return;
    config_done(config);
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
