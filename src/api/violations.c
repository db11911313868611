/* SPDX-License-Identifier: Apache-2.0 */
/* Violations of a result: accessors, JSON, and the block for people and agents. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/internal.h"
#include "base/json.h"

size_t abx_result_violations(const abx_result *r)
{
    return r ? r->violations.count : 0;
}

const abx_violation *abx_result_violation(const abx_result *r, size_t i)
{
    return r && i < r->violations.count ? &r->violations.list[i] : NULL;
}

uint64_t abx_result_violations_dropped(const abx_result *r)
{
    return r ? r->violations.dropped : 0;
}

const char *abx_result_monitor(const abx_result *r)
{
    return r && r->monitor ? "notify" : "none";
}

int32_t abx_result_reads_reported(const abx_result *r)
{
    return r && r->reads;
}

int64_t abx_violation_time_ns(const abx_violation *v)
{
    return v ? v->time_ns : 0;
}

const char *abx_violation_operation(const abx_violation *v)
{
    return v ? violation_operation_name(v->operation) : "";
}

const char *abx_violation_path(const abx_violation *v)
{
    return v ? v->path : "";
}

const char *abx_violation_host(const abx_violation *v)
{
    return v ? v->host : "";
}

int32_t abx_violation_port(const abx_violation *v)
{
    return v ? v->port : 0;
}

const char *abx_violation_detail(const abx_violation *v)
{
    return v ? v->detail : "";
}

int32_t abx_violation_pid(const abx_violation *v)
{
    return v ? v->pid : 0;
}

const char *abx_violation_process(const abx_violation *v)
{
    return v ? v->process : "";
}

const char *abx_violation_rule(const abx_violation *v)
{
    return v ? v->rule : "";
}

const char *abx_violation_origin(const abx_violation *v)
{
    return v ? v->origin : "";
}

const char *abx_violation_source(const abx_violation *v)
{
    return v ? v->source : "";
}

const char *abx_violation_grant(const abx_violation *v)
{
    return v ? v->grant : "";
}

const char *abx_violation_grant_path(const abx_violation *v)
{
    return v ? v->grant_path : "";
}

const char *abx_violation_note(const abx_violation *v)
{
    return v ? v->note : "";
}

int32_t abx_violation_attempt(const abx_violation *v)
{
    return v && v->attempt;
}

uint64_t abx_violation_count(const abx_violation *v)
{
    return v ? v->count : 0;
}

const char *abx_violation_text(const abx_violation *v)
{
    return v ? v->text : "";
}

/* ---- JSON ---- */

static void put_text(struct json *j, const char *key, const char *text)
{
    json_pair_str(j, key, text[0] ? text : NULL);
}

static void put_number(struct json *j, const char *key, int32_t number)
{
    json_key(j, key);
    if (number)
        json_int(j, number);
    else
        json_null(j);
}

static void time_text(int64_t time_ns, char *text, size_t size)
{
    const time_t seconds = (time_t)(time_ns / NSEC_PER_SEC);
    struct tm tm = { 0 };
    char day[32];

    (void)gmtime_r(&seconds, &tm);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
    (void)snprintf(text, size, "%s.%03dZ", day, (int)(time_ns % NSEC_PER_SEC / NSEC_PER_MSEC));
}

void violation_members(struct json *j, const abx_violation *v)
{
    char time[48];

    time_text(v->time_ns, time, sizeof time);
    put_text(j, "time", time);
    put_text(j, "operation", violation_operation_name(v->operation));
    put_text(j, "path", v->path);
    put_text(j, "host", v->host);
    put_number(j, "port", v->port);
    put_text(j, "detail", v->detail);
    put_number(j, "pid", v->pid);
    put_text(j, "process", v->process);
    put_text(j, "rule", v->rule);
    put_text(j, "origin", v->origin);
    put_text(j, "source", v->source);
    json_pair_bool(j, "attempt", v->attempt);
    json_pair_uint(j, "count", v->count);
    put_text(j, "grant", v->grant);
    put_text(j, "note", v->note);
}

void violation_json(struct json *j, const abx_violation *v)
{
    json_object(j);
    violation_members(j, v);
    json_object_end(j);
}

/* ---- the block ---- */

/* Names are the command's choice, and none of them ends the block: "</" becomes "\x3c/". */
static void put_line(struct buf *b, const char *text)
{
    for (const char *end; (end = strstr(text, "</")) != NULL; text = end + 1) {
        (void)buf_append(b, text, (size_t)(end - text));
        (void)buf_puts(b, "\\x3c");
    }
    (void)buf_puts(b, text);
}

int32_t abx_result_violations_text(const abx_result *r, size_t max_lines, char **ret_text,
                                   abx_error **err)
{
    _buf_ struct buf b = { .limit = (size_t)256 << 20 };

    if (!r || !ret_text)
        return err_new(err, ABX_E_INVALID, "print violations: no result, or no place for them");
    const size_t count = r->violations.count;
    const size_t shown = max_lines && max_lines < count ? max_lines : count;
    const uint64_t rest = count - shown, dropped = r->violations.dropped;

    (void)buf_puts(&b, count || dropped ? "<sandbox_violations>\n" : "");
    for (size_t i = 0; i < shown; i++) {
        const abx_violation *v = &r->violations.list[i];

        put_line(&b, v->text);
        if (v->count > 1)
            (void)buf_printf(&b, " (%ju times)", (uintmax_t)v->count);
        (void)buf_putc(&b, '\n');
    }
    if (rest)
        (void)buf_printf(&b, "and %ju more\n", (uintmax_t)rest);
    if (dropped)
        (void)buf_printf(&b, "%ju attempts were not looked at: too many\n", (uintmax_t)dropped);
    (void)buf_puts(&b, count || dropped ? "</sandbox_violations>\n" : "");
    return take_text(&b, ret_text, err);
}
