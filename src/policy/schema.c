/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON Schema of a configuration file, from schema.def.
 *
 * It is for editors: it says what a file may look like, and is a little more lenient than the
 * reader (hosts and patterns are only texts to it). Rows are sorted, so that the keys of a section
 * stand together, and one walk writes the nested objects.
 */
#include "policy/schema.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "policy/settings.h"

#define SCHEMA_LIMIT ((size_t)1 << 20)

#define NUMBER_OR_TEXT(number, pattern)                                                            \
    "\"anyOf\":[{\"type\":\"" number                                                               \
    "\",\"minimum\":0},{\"type\":\"string\",\"pattern\":\"" pattern "\"}]"
#define LIST_OF(pattern)                                                                           \
    "\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"" pattern "\"}"
#define MAP_OF(value)                                                                              \
    "\"type\":\"object\",\"propertyNames\":{\"pattern\":\"^[^=]+$\"},"                             \
    "\"additionalProperties\":" value
#define DECISION "{\"enum\":[\"allow\",\"sandboxed\",\"escalated\",\"forbidden\"]}"

/* The members of the schema of each type; ENUM lists its words. */
static const char *const members[] = {
    [SETTINGS_PATH] = "\"type\":\"string\",\"pattern\":\"^/\"",
    [SETTINGS_BOOL] = "\"type\":\"boolean\"",
    [SETTINGS_SIZE] = NUMBER_OR_TEXT("integer",
                                     "^[0-9]+(\\\\.[0-9]{1,9})?([kmgtp]|[KMGTP](i?B)?|B)$"),
    [SETTINGS_COUNT] = "\"type\":\"integer\",\"minimum\":0,\"maximum\":2147483647",
    [SETTINGS_DURATION] = NUMBER_OR_TEXT("number", "^[0-9]+(\\\\.[0-9]{1,9})?(ms|s|m|h|d)$"),
    [SETTINGS_SOCKET] = "\"type\":\"string\",\"pattern\":\"^(~?/.*)?$\"",
    [SETTINGS_URL] = "\"type\":\"string\",\"pattern\":\"^((https?|socks5)://[^/@]+:[0-9]+)?$\"",
    [SETTINGS_PATHS] =
        "\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"^[^$]\"},"
        "{\"description\":\"only in /etc/agentbox/\",\"type\":\"object\","
        "\"properties\":{\"path\":{\"type\":\"string\",\"pattern\":\"^[^$]\"},"
        "\"final\":{\"type\":\"boolean\"}},"
        "\"required\":[\"path\"],\"additionalProperties\":false}]}",
    [SETTINGS_NAMES] = LIST_OF("^[^=]+$"),
    [SETTINGS_PRESETS] = LIST_OF("^!?@[a-z/-]+$"),
    [SETTINGS_DOMAINS] = LIST_OF("^[^ ]+$"),
    [SETTINGS_SOCKETS] = LIST_OF("^~?/"),
    [SETTINGS_PORTS] = LIST_OF("^([0-9]+:)?[0-9]+$"),
    [SETTINGS_RULES] =
        "\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
        "\"pattern\":{\"type\":\"string\",\"minLength\":1},\"decision\":" DECISION ","
        "\"description\":{\"type\":\"string\"}},\"required\":[\"pattern\",\"decision\"],"
        "\"additionalProperties\":false}",
    [SETTINGS_MAP] = MAP_OF("{\"type\":\"string\"}"),
    [SETTINGS_COMMANDS] = MAP_OF(
        "{\"anyOf\":[{\"type\":\"boolean\"},{\"type\":\"string\",\"pattern\":\"^@|/\"}]}"),
    [SETTINGS_OVERRIDES] = MAP_OF(DECISION),
};

static void write_words(struct json *j, const char *words)
{
    json_key(j, "enum");
    json_array(j);
    while (*words) {
        size_t n = strcspn(words, "|");
        json_strn(j, words, n);
        words += n + (words[n] == '|');
    }
    json_array_end(j);
}

static void write_default(struct json *j, const struct schema_row *row)
{
    if (!row->fallback[0])
        return;
    json_key(j, "default");
    if (row->type == SETTINGS_ENUM || row->type == SETTINGS_PATH)
        json_str(j, row->fallback);
    else
        json_raw(j, row->fallback);
}

static void write_key(struct json *j, const struct schema_row *row)
{
    json_object(j);
    json_pair_str(j, "description", row->help);
    if (row->type == SETTINGS_ENUM)
        write_words(j, row->words);
    else
        json_raw(j, members[row->type]);
    write_default(j, row);
    json_object_end(j);
}

static size_t write_section(struct json *j, size_t from, const char *prefix, size_t len);

/* `network` may also be true or false. */
static size_t write_nested(struct json *j, size_t from, const char *name, size_t len)
{
    bool network = len == strlen("network.") && memcmp(name, "network.", len) == 0;
    size_t end;

    json_object(j);
    if (network) {
        json_pair_str(j, "description", "true means the mode allowed, false means blocked");
        json_key(j, "anyOf");
        json_array(j);
        json_raw(j, "{\"type\":\"boolean\"}");
        json_object(j);
    }
    end = write_section(j, from, name, len);
    if (network) {
        json_object_end(j);
        json_array_end(j);
    }
    json_object_end(j);
    return end;
}

/* The members for all rows that begin with the prefix; returns the first row behind them. */
static size_t write_section(struct json *j, size_t from, const char *prefix, size_t len)
{
    size_t i = from;

    json_raw(j, "\"type\":\"object\",\"additionalProperties\":false");
    json_key(j, "properties");
    json_object(j);
    if (len == 0)
        json_raw(j, "\"$schema\":{\"type\":\"string\"}");
    while (i < KEY_COUNT && strncmp(schema_row(i)->name, prefix, len) == 0) {
        const char *name = schema_row(i)->name, *dot = strchr(name + len, '.');
        char part[64];
        size_t n = dot ? (size_t)(dot - name) - len : strlen(name + len);

        memcpy(part, name + len, MIN_OF(n, sizeof part - 1));
        part[MIN_OF(n, sizeof part - 1)] = '\0';
        json_key(j, part);
        if (dot)
            i = write_nested(j, i, name, (size_t)(dot - name) + 1);
        else
            write_key(j, schema_row(i++));
    }
    json_object_end(j);
    return i;
}

void schema_write_json_schema(struct buf *out)
{
    _buf_ struct buf text = { .limit = SCHEMA_LIMIT };
    struct json j;

    json_init(&j, &text);
    json_object(&j);
    json_pair_str(&j, "$schema", "https://json-schema.org/draft/2020-12/schema");
    json_pair_str(&j, "title", "agentbox configuration");
    (void)write_section(&j, 0, "", 0);
    json_object_end(&j);
    if (text.failed) {
        out->failed = out->failed ? out->failed : text.failed;
        return;
    }
    json_indent(out, text.data, text.len);
    (void)buf_putc(out, '\n');
}
