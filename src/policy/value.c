/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values, checked against their key's row of schema.def.
 *
 * A value is any C string. Refused are: what is not of the type, words that an enum does not list,
 * numbers with a sign, empty paths, patterns that do not parse, paths that begin with '$'
 * (variables are never expanded, and a rule that silently names nothing is the worst kind), sockets
 * and shells that are not absolute, hosts that domain.h does not know, commands with a rule that
 * means nothing.
 */
#include "policy/value.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "base/str.h"
#include "policy/domain.h"
#include "policy/groups.h"
#include "policy/presets.h"
#include "policy/problems.h"
#include "policy/rule.h"
#include "wrap/guard.h"

#define VALUE_MAX_WORDS  16 /* of an enum */
#define VALUE_MIN_MEMORY ((uint64_t)1 << 20)

static const char known_guards[] = "known, each for the command of its name:"
#define GUARD(id, name, command, shorts, longs) " " name
#include "wrap/guards.def"
#undef GUARD
    ;

static const char *const type_words[] = {
    [SETTINGS_PATH] = "an absolute path",
    [SETTINGS_ENUM] = "one of its words",
    [SETTINGS_BOOL] = "true or false",
    [SETTINGS_SIZE] = "a size such as 512M or 2G",
    [SETTINGS_COUNT] = "a whole number from 0 to 2147483647",
    [SETTINGS_DURATION] = "a time such as 30s or 5m",
    [SETTINGS_SOCKET] = "an absolute path",
    [SETTINGS_URL] = "the address of a proxy",
    [SETTINGS_PATHS] = "a path or a pattern",
    [SETTINGS_NAMES] = "a variable's name",
    [SETTINGS_PRESETS] = "a preset's name",
    [SETTINGS_DOMAINS] = "a pattern of hosts",
    [SETTINGS_SOCKETS] = "an absolute path",
    [SETTINGS_PORTS] = "PORT or HOSTPORT:PORT",
    [SETTINGS_RULES] = "a rule as JSON",
    [SETTINGS_MAP] = "NAME=VALUE",
    [SETTINGS_COMMANDS] = "COMMAND=VALUE",
    [SETTINGS_OVERRIDES] = "RULE=DECISION",
};

static bool word_is_listed(const char *words, const char *value)
{
    size_t len = strlen(value);

    while (*words) {
        size_t n = strcspn(words, "|");
        if (n == len && memcmp(words, value, n) == 0)
            return true;
        words += n + (words[n] == '|');
    }
    return false;
}

static bool name_is_valid(const char *name, size_t len)
{
    return len > 0 && !memchr(name, '=', len);
}

static bool has_name_and_equals(const char *value)
{
    const char *equals = strchr(value, '=');

    return equals && name_is_valid(value, (size_t)(equals - value));
}

/* "~/": the home directory, known only when it is used. */
static bool is_absolute(const char *path)
{
    return path[0] == '/' || str_has_prefix(path, "~/");
}

bool value_ports(const char *value, uint16_t *ret_host, uint16_t *ret_inside)
{
    const char *colon = strchr(value, ':');
    char first[sizeof "65535"] = "";
    uint64_t host, inside;

    if (colon && (size_t)(colon - value) >= sizeof first)
        return false;
    if (colon)
        memcpy(first, value, (size_t)(colon - value));
    if (!str_to_u64(colon ? colon + 1 : value, UINT16_MAX, &inside) || inside == 0 ||
        (colon && (!str_to_u64(first, UINT16_MAX, &host) || host == 0)))
        return false;
    *ret_host = (uint16_t)(colon ? host : inside);
    *ret_inside = (uint16_t)inside;
    return true;
}

static bool value_has_type(const struct schema_row *row, const char *value)
{
    uint64_t number;
    int64_t time;

    switch (row->type) {
    case SETTINGS_URL:     /* domain.h knows */
    case SETTINGS_DOMAINS: /* the same */
    case SETTINGS_RULES:   /* rule.h */
        return true;
    case SETTINGS_PATH:
        return value[0] == '/';
    case SETTINGS_SOCKET:
        return value[0] == '\0' || is_absolute(value);
    case SETTINGS_SOCKETS:
        return is_absolute(value);
    case SETTINGS_PORTS: {
        uint16_t host, inside;
        return value_ports(value, &host, &inside);
    }
    case SETTINGS_ENUM:
        return word_is_listed(row->words, value);
    case SETTINGS_BOOL:
        return str_eq(value, "true") || str_eq(value, "false");
    case SETTINGS_SIZE:
        return str_to_size(value, &number);
    case SETTINGS_COUNT:
        return str_to_u64(value, INT32_MAX, &number);
    case SETTINGS_DURATION:
        return str_to_duration(value, &time);
    case SETTINGS_PATHS:
        return value[0] != '\0' && value[0] != '$';
    case SETTINGS_NAMES:
        return name_is_valid(value, strlen(value));
    case SETTINGS_PRESETS:
        return preset_is_toggle(value);
    case SETTINGS_MAP:
    case SETTINGS_COMMANDS:
    case SETTINGS_OVERRIDES:
        return has_name_and_equals(value);
    default:
        return false;
    }
}

/* The error of a value of the right type that means nothing. */
static int32_t refuse(const struct schema_row *row, const char *value, const char *why,
                      const char *hint, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_CONFIG, "set '%s' to '%.256s': %s", row->name, value, why);

    err_subject(err, row->name);
    if (hint)
        err_hint(err, "%s", hint);
    return r;
}

/* "use a, b or c" from "a|b|c", and which of them was perhaps meant. */
static void hint_words(const char *words, const char *value, abx_error **err)
{
    _buf_ struct buf list = { .limit = 1024 };
    char copy[256];
    const char *names[VALUE_MAX_WORDS + 1] = { NULL };
    size_t count = 0;
    char *rest = copy;

    (void)snprintf(copy, sizeof copy, "%s", words);
    for (char *word; count < VALUE_MAX_WORDS && (word = strsep(&rest, "|"));)
        names[count++] = word;
    for (size_t i = 0; i < count; i++)
        (void)buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
    const char *near = list.failed ? NULL : str_nearest(value, names);
    if (near)
        err_hint(err, "did you mean %s? Otherwise use %s", near, list.data);
    else if (!list.failed)
        err_hint(err, "use %s", list.data);
}

static void hint_type(const struct schema_row *row, const char *value, abx_error **err)
{
    if (row->type == SETTINGS_ENUM)
        hint_words(row->words, value, err);
    else if (row->type == SETTINGS_PATHS && value[0] == '$')
        err_hint(err, "variables are not expanded; write '~' or the whole path, or './%.256s'",
                 value);
    else if (row->type == SETTINGS_PATHS)
        err_hint(err, "name a file or directory; '.' is the working directory");
    else if (row->type == SETTINGS_PRESETS)
        err_hint(err, "known are: %s", preset_list());
    else if (row->type == SETTINGS_NAMES)
        err_hint(err,
                 "name the variable alone; environment.set (--env NAME=VALUE) gives it a value");
    else if (row->type == SETTINGS_PORTS)
        err_hint(err,
                 "for example 8080, or 8080:80 for another one on the host; ports are 1 to 65535");
    else
        err_hint(err, "%s", row->help);
}

static int32_t refuse_type(const struct schema_row *row, const char *value, abx_error **err)
{
    int32_t r = err_new(err, ABX_E_CONFIG, "set '%s' to '%.256s': not %s", row->name, value,
                        type_words[row->type]);

    err_subject(err, row->name);
    hint_type(row, value, err);
    return r;
}

/* RULE=DECISION is there already. */
static int32_t check_decision(const struct schema_row *row, const char *value, abx_error **err)
{
    const char *decision = strchr(value, '=') + 1;

    if (word_is_listed(RULE_DECISIONS, decision))
        return ABX_OK;
    int32_t r = refuse(row, value, "not a decision", NULL, err);
    hint_words(RULE_DECISIONS, decision, err);
    return r;
}

static int32_t check_group(const struct schema_row *row, const char *value, abx_error **err)
{
    if (group_find(value))
        return ABX_OK;
    int32_t r = refuse(row, value, "there is no such group of hosts", NULL, err);
    const char *near = group_nearest(value);
    err_hint(err,
             near ? "did you mean %s? `agentbox config presets` lists the groups"
                  : "`agentbox config presets` lists the groups",
             near);
    return r;
}

static int32_t check_hosts(const struct schema_row *row, const char *value, abx_error **err)
{
    struct domain_fault fault = { NULL, NULL };

    if (row->type == SETTINGS_DOMAINS && value[0] == '@')
        return check_group(row, value, err);
    bool right = row->type == SETTINGS_DOMAINS ? domain_is_pattern(value, &fault)
                                               : !value[0] || domain_is_proxy(value, &fault);

    const char *at = row->type == SETTINGS_URL ? strrchr(value, '@') : NULL;

    /* What stands before an '@' may be a password. */
    return right ? ABX_OK : refuse(row, at ? at : value, fault.why, fault.hint, err);
}

/* NAME=VALUE is there already. */
static int32_t check_command(const struct schema_row *row, const char *value, abx_error **err)
{
    static const char kinds[] = "false blocks, true runs it as it is, @git guards git; a path "
                                "to a wrapper has a '/'";
    const struct guard_row *guard = NULL;
    const char *equals = strchr(value, '='), *rule = equals + 1;
    size_t len = (size_t)(equals - value);
    if (memchr(value, '/', len))
        return refuse(row, value, "a command is named without its directory",
                      "for example curl, not /usr/bin/curl", err);
    if (str_eq(rule, "true") || str_eq(rule, "false"))
        return ABX_OK;
    guard = guard_row(guard_find(rule));
    if (guard && strlen(guard->command) == len && memcmp(value, guard->command, len) == 0)
        return ABX_OK;
    if (guard)
        return refuse(row, value, "a guard is for the command that it is named after", kinds, err);
    if (rule[0] == '@')
        return refuse(row, value, "there is no such guard", known_guards, err);
    if (rule[0] == '$')
        return refuse(row, value, "variables are not expanded", kinds, err);
    if (!strchr(rule, '/'))
        return refuse(row, value, "a command's rule must be true, false, \"@git\" or a path", kinds,
                      err);
    return ABX_OK;
}

static int32_t check_rule(const char *value, abx_error **err)
{
    _problems_ struct problems problems = { 0 };
    _buf_ struct buf out = { .limit = SETTINGS_MAX_VALUE };

    rule_read(value, &out, &problems);
    return problems_report(&problems, err);
}

/* "--memory 2" is a forgotten unit: no program starts with so little. */
static int32_t check_size(const struct schema_row *row, const char *value, abx_error **err)
{
    uint64_t bytes = 0;

    if (row != schema_row(KEY_MAX_MEMORY) || !str_to_size(value, &bytes) || bytes == 0 ||
        bytes >= VALUE_MIN_MEMORY)
        return ABX_OK;
    return refuse(row, value, "no program starts with less than 1M",
                  "write a unit, such as 512M or 2G; 0: no limit", err);
}

static int32_t check_meaning(const struct schema_row *row, const char *value, abx_error **err)
{
    size_t len = strlen(value);

    switch (row->type) {
    case SETTINGS_PATHS:
        if (glob_is_pattern(value, len) && glob_check(value, len) < 0)
            return refuse(row, value, "the pattern is not valid",
                          "a set '[...]' must end in the same component; '\\[' is a plain bracket",
                          err);
        return ABX_OK;
    case SETTINGS_URL:
    case SETTINGS_DOMAINS:
        return check_hosts(row, value, err);
    case SETTINGS_COMMANDS:
        return check_command(row, value, err);
    case SETTINGS_OVERRIDES:
        return check_decision(row, value, err);
    case SETTINGS_RULES:
        return check_rule(value, err);
    case SETTINGS_SIZE:
        return check_size(row, value, err);
    default:
        return ABX_OK;
    }
}

int32_t value_check(const struct schema_row *row, const char *value, abx_error **err)
{
    if (strnlen(value, SETTINGS_MAX_VALUE + 1) > SETTINGS_MAX_VALUE) {
        int32_t r = err_new(err, ABX_E_CONFIG, "set '%s': the value is longer than %zu bytes",
                            row->name, SETTINGS_MAX_VALUE);
        err_subject(err, row->name);
        return r;
    }
    if (!value_has_type(row, value))
        return refuse_type(row, value, err);
    return check_meaning(row, value, err);
}
