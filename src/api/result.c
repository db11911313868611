/* SPDX-License-Identifier: Apache-2.0 */
/* Results: a snapshot of what a run reported, owned by the caller. */
#include <stdlib.h>
#include <sys/wait.h>

#include "api/internal.h"
#include "base/json.h"
#include "plan/dump.h"
#include "plan/shortfalls.h"

#define EXIT_TIMED_OUT 124

static void set_status(abx_result *r, const struct run *run)
{
    int status = run->exited ? run->end.value : SIGKILL;

    r->timed_out = run->exited && run->end.detail == 1;
    r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    r->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (r->timed_out)
        r->exit_code = EXIT_TIMED_OUT;
}

static int32_t copy_stream(abx_result *r, struct stream *s, int i, abx_error **err)
{
    r->streams[i].captured = s->captured;
    r->streams[i].passed_on = s->forgets;
    r->streams[i].total = s->total;
    r->streams[i].truncated = s->captured && stream_truncated(s);
    if (!s->captured)
        return ABX_OK;
    /* A process may be waited for again: the run keeps its bytes. */
    r->streams[i].bytes = malloc(s->kept.len + 1);
    if (!r->streams[i].bytes)
        return err_nomem(err);
    for (size_t n = 0; n < s->kept.len; n++)
        r->streams[i].bytes[n] = s->kept.data[n];
    r->streams[i].bytes[s->kept.len] = '\0';
    r->streams[i].len = s->kept.len;
    return ABX_OK;
}

int32_t result_from_run(const abx_manager *m, struct run *run, uint32_t required, abx_result **ret,
                        abx_error **err)
{
    bool canceled = run_canceled(run) && !run->exited;

    if (!run->exited && !canceled) {
        int32_t code = err_new(err, ABX_E_SANDBOX,
                               "run the command: the sandbox was ended from outside");
        err_hint(err, "its first process or its keeper was killed; nothing of it runs any more");
        return code;
    }
    abx_result *r = calloc(1, sizeof *r);
    if (!r)
        return err_nomem(err);
    set_status(r, run);
    r->canceled = canceled;
    r->duration_ns = (run->exited ? run->end_ns : run_now_ns()) - run->start_ns;
    r->user_ns = run->end.user_ns;
    r->system_ns = run->end.system_ns;
    r->max_rss = run->end.max_rss;
    r->layers = run->start.layers;
    r->shortfalls = run->shortfalls;
    r->backend = run->backend;
    r->monitor = run->start.value & STATUS_WATCHED;
    r->reads = (r->monitor && run->watch.level == WATCH_LEARN) || (run->start.value & STATUS_READS);
    r->sandboxed = required != 0 && (required & ~r->layers) == 0 && !r->shortfalls;
    for (uint32_t i = 0, n = 0; i < LAYER_NAME_COUNT; i++)
        if (r->layers & LAYER_BIT(i))
            r->enforced[n++] = plan_layer_name(i);
    for (int i = 1; i < 3; i++) {
        int32_t code = copy_stream(r, &run->streams[i], i, err);
        if (code != ABX_OK) {
            abx_result_free(r);
            return code;
        }
    }
    add_limit_records(run);
    log_run(m, run);
    if (violations_copy(&run->violations, &r->violations) < 0) {
        abx_result_free(r);
        return err_nomem(err);
    }
    *ret = r;
    return ABX_OK;
}

int32_t abx_result_exit_code(const abx_result *r)
{
    return r ? r->exit_code : -1;
}

int32_t abx_result_signal(const abx_result *r)
{
    return r ? r->signal : 0;
}

int32_t abx_result_timed_out(const abx_result *r)
{
    return r && r->timed_out;
}

int32_t abx_result_canceled(const abx_result *r)
{
    return r && r->canceled;
}

static const char *stream_text(const abx_result *r, int i, size_t *ret_len)
{
    if (ret_len)
        *ret_len = r ? r->streams[i].len : 0;
    return r ? r->streams[i].bytes : NULL;
}

const char *abx_result_stdout(const abx_result *r, size_t *ret_len)
{
    return stream_text(r, 1, ret_len);
}

const char *abx_result_stderr(const abx_result *r, size_t *ret_len)
{
    return stream_text(r, 2, ret_len);
}

int32_t abx_result_truncated(const abx_result *r, int32_t stream)
{
    return r && stream >= 1 && stream <= 2 && r->streams[stream].truncated;
}

uint64_t abx_result_output_bytes(const abx_result *r, int32_t stream)
{
    return r && stream >= 1 && stream <= 2 ? r->streams[stream].total : 0;
}

int64_t abx_result_duration_ns(const abx_result *r)
{
    return r ? r->duration_ns : 0;
}

int64_t abx_result_user_ns(const abx_result *r)
{
    return r ? r->user_ns : 0;
}

int64_t abx_result_system_ns(const abx_result *r)
{
    return r ? r->system_ns : 0;
}

int64_t abx_result_max_rss_bytes(const abx_result *r)
{
    return r ? r->max_rss : 0;
}

int32_t abx_result_sandboxed(const abx_result *r)
{
    return r && r->sandboxed;
}

const char *abx_result_backend(const abx_result *r)
{
    if (!r || !r->layers)
        return "none";
    if (r->backend == BACKEND_BWRAP)
        return "bwrap";
    return r->layers & LAYER_BIT(LAYER_USERNS) ? "native" : "landlock";
}

const char *const *abx_result_enforced(const abx_result *r)
{
    static const char *const none[] = { NULL };

    return r ? r->enforced : none;
}

static void put_streams(struct json *j, const abx_result *r)
{
    static const char *const names[] = { NULL, "stdout", "stderr" };

    for (int i = 1; i < 3; i++) {
        json_key(j, names[i]);
        if (r->streams[i].captured && !r->streams[i].passed_on)
            json_strn(j, r->streams[i].bytes, r->streams[i].len);
        else
            json_null(j);
    }
    json_key(j, "truncated");
    json_object(j);
    for (int i = 1; i < 3; i++) {
        json_pair_bool(j, names[i], r->streams[i].truncated);
    }
    json_object_end(j);
}

static void put_result(struct json *j, const abx_result *r)
{
    json_object(j);
    json_pair_int(j, "exitCode", r->exit_code);
    json_key(j, "signal");
    if (r->signal)
        json_int(j, r->signal);
    else
        json_null(j);
    json_pair_bool(j, "timedOut", r->timed_out);
    put_streams(j, r);
    json_pair_int(j, "durationNs", r->duration_ns);
    json_pair_bool(j, "sandboxed", r->sandboxed);
    json_pair_str(j, "backend", abx_result_backend(r));
    json_key(j, "enforced");
    json_array(j);
    for (size_t i = 0; r->enforced[i]; i++)
        json_str(j, r->enforced[i]);
    json_array_end(j);
    json_key(j, "gaps");
    json_array(j);
    for (uint32_t i = 0; i < SHORTFALL_COUNT; i++)
        if (r->shortfalls & UINT32_C(1) << i)
            json_str(j, shortfall_name(i));
    json_array_end(j);
    json_pair_str(j, "monitor", abx_result_monitor(r));
    json_pair_str(j, "reads", r->reads ? "reported" : "unreported");
    json_key(j, "violations");
    json_array(j);
    for (size_t i = 0; i < r->violations.count; i++)
        violation_json(j, &r->violations.list[i]);
    json_array_end(j);
    json_pair_uint(j, "violationsDropped", r->violations.dropped);
    json_key(j, "usage");
    json_object(j);
    json_pair_int(j, "userNs", r->user_ns);
    json_pair_int(j, "systemNs", r->system_ns);
    json_pair_int(j, "maxRssBytes", r->max_rss);
    json_object_end(j);
    json_object_end(j);
}

int32_t abx_result_json(const abx_result *r, char **ret_text, abx_error **err)
{
    _buf_ struct buf b = { .limit = SIZE_MAX - 1 };
    struct json j;

    if (!r || !ret_text)
        return err_new(err, ABX_E_INVALID, "print a result: there is none");
    json_init(&j, &b);
    put_result(&j, r);
    (void)buf_putc(&b, '\n');
    return take_text(&b, ret_text, err);
}

void abx_result_free(abx_result *r)
{
    if (!r)
        return;
    for (int i = 1; i < 3; i++)
        free(r->streams[i].bytes);
    violations_done(&r->violations);
    free(r);
}
