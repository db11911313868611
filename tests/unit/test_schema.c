/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What schema.def becomes: the starter and the JSON Schema (both held against tests/golden;
 * ABX_GOLDEN_UPDATE=1 writes the files anew), dumps that can be read back, and what this version
 * refuses to promise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "lib/golden.h"
#include "policy/decode.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "policy/settings_dump.h"

static void expect_golden(void (*write_text)(struct buf *), const char *name)
{
    _buf_ struct buf got = { .limit = 1 << 20 };

    write_text(&got);
    golden_expect(&got, name);
}

static void starter_equals_the_golden_file(void **state)
{
    (void)state;
    expect_golden(schema_write_starter, "starter.jsonc");
}

static void json_schema_equals_the_golden_file(void **state)
{
    (void)state;
    expect_golden(schema_write_json_schema, "schema.json");
}

static struct settings *decoded(enum origin origin, const char *text, size_t len,
                                enum doc_format format)
{
    struct settings *s = NULL;
    abx_error *err = NULL;

    assert_int_equal(settings_new(origin, &s, NULL), ABX_OK);
    if (config_decode(s, "f", text, len, format, &err) != ABX_OK)
        fail_msg("%s (%s)", abx_error_message(err), abx_error_hint(err));
    return s;
}

static void starter_as_it_is_says_nothing(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    schema_write_starter(&b);
    struct settings *s = decoded(ORIGIN_PROJECT, b.data, b.len, DOC_JSONC);
    assert_int_equal(s->count, 0);
    settings_free(s);
    buf_done(&b);
}

/* The line without the comment's mark, if it is a key's. */
static void uncomment(struct buf *out, const char *line, size_t len)
{
    size_t blanks = strspn(line, " ");

    if (len > blanks + 3 && memcmp(line + blanks, "// \"", 4) == 0)
        buf_append(out, line + blanks + 3, len - blanks - 3);
    else
        buf_append(out, line, len);
}

static void starter_without_comment_marks_sets_every_key(void **state)
{
    struct buf b, bare;
    bool seen[KEY_COUNT] = { false };

    (void)state;
    buf_init(&b, 1 << 20);
    buf_init(&bare, 1 << 20);
    schema_write_starter(&b);
    for (const char *line = b.data; *line;) {
        size_t len = strcspn(line, "\n") + 1;
        uncomment(&bare, line, len);
        line += len;
    }
    struct settings *s = decoded(ORIGIN_PROJECT, bare.data, bare.len, DOC_JSONC);
    assert_int_equal(settings_check(s, NULL), ABX_OK);
    for (size_t i = 0; i < s->count; i++)
        seen[s->entries[i].key] = true;
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (seen[i] == schema_is_alias(schema_row(i)))
            fail_msg("%s", schema_row(i)->name);
    settings_free(s);
    buf_done(&b);
    buf_done(&bare);
}

static void every_key_is_in_the_json_schema(void **state)
{
    struct arena arena;
    struct buf b;
    struct doc doc;

    (void)state;
    buf_init(&b, 1 << 20);
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    schema_write_json_schema(&b);
    assert_int_equal(doc_read(&arena, b.data, b.len, DOC_JSON, &doc), 0);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *dot = strrchr(schema_row(i)->name, '.');
        char quoted[80], help[300];
        snprintf(quoted, sizeof quoted, "\"%s\": {", dot ? dot + 1 : schema_row(i)->name);
        snprintf(help, sizeof help, "\"description\": \"%s\"", schema_row(i)->help);
        assert_non_null(strstr(b.data, quoted));
        assert_non_null(strstr(b.data, help));
    }
    arena_done(&arena);
    buf_done(&b);
}

/* docs/keys.md has a row for each key, with its default and its help, and no other. */
static void every_key_is_documented(void **state)
{
    const char *source = getenv("ABX_SOURCE");
    struct buf b;
    char path[4096];
    size_t rows = 0;

    (void)state;
    assert_non_null(source);
    snprintf(path, sizeof path, "%s/docs/keys.md", source);
    buf_init(&b, 1 << 20);
    assert_int_equal(io_read_file(AT_FDCWD, path, &b), 0);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const struct schema_row *row = schema_row(i);
        char start[80], end[300];
        snprintf(start, sizeof start, "\n| `%s` | ", row->name);
        snprintf(end, sizeof end, "| %s%s%s | %s |\n", row->fallback[0] ? "`" : "", row->fallback,
                 row->fallback[0] ? "`" : "", row->help);
        const char *line = strstr(b.data, start), *rest = line ? strstr(line, end) : NULL;
        if (!rest || memchr(line + 1, '\n', (size_t)(rest - line - 1)))
            fail_msg("docs/keys.md lacks: %s…%s", start, end);
    }
    for (const char *line = strstr(b.data, "\n## Keys"); (line = strstr(line + 1, "\n| `"));)
        rows++;
    assert_int_equal(rows, KEY_COUNT);
    buf_done(&b);
}

static void full_buffers_are_reported(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100);
    schema_write_starter(&b);
    assert_true(b.failed < 0);
    buf_done(&b);
    buf_init(&b, 100);
    schema_write_json_schema(&b);
    assert_true(b.failed < 0);
    buf_done(&b);
}

static const char sample[] =
    "{\"classifier\":{\"overrides\":{\"a\":\"allow\",\"b\":\"forbidden\"},"
    "\"rules\":[{\"pattern\":\"x\\\"\\\\\",\"decision\":\"allow\",\"description\":\"\"}]},"
    "\"commands\":{\"git\":\"@git\",\"ls\":false},\"docker\":true,"
    "\"environment\":{\"set\":{\"A\":\"b=c\"}},"
    "\"filesystem\":{\"ro\":[\"b\",{\"path\":\"a\",\"final\":true}],\"tmpBytes\":\"1.5G\"},"
    "\"graceSeconds\":\"500ms\",\"maxOutputBytes\":5,"
    "\"network\":{\"allowedDomains\":[\"x.org\"],\"mitmProxy\":{\"domains\":[\"*.x.org\"],"
    "\"socketPath\":\"\"},\"mode\":\"blocked\"},\"resourceLimits\":{\"maxProcesses\":1},"
    "\"shell\":\"/bin/b\"}";

static void what_is_dumped_reads_back_as_the_same(void **state)
{
    struct settings *s = decoded(ORIGIN_SYSTEM, sample, strlen(sample), DOC_JSON);
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    settings_dump_json(s, &b);
    assert_string_equal(b.data, sample);
    settings_free(s);
    buf_done(&b);
}

static void the_last_value_is_dumped_once(void **state)
{
    static const char twice[] =
        "{\"docker\":true,\"commands\":{\"b\":true,\"a\":true,\"ab\":true}}";
    static const char later[] = "{\"docker\":false,\"commands\":{\"a\":false}}";
    struct settings *s = decoded(ORIGIN_GLOBAL, twice, strlen(twice), DOC_JSON);
    struct buf b;

    (void)state;
    assert_int_equal(config_decode(s, "g", later, strlen(later), DOC_JSON, NULL), ABX_OK);
    buf_init(&b, 1 << 20);
    settings_dump_json(s, &b);
    assert_string_equal(b.data,
                        "{\"commands\":{\"a\":false,\"ab\":true,\"b\":true},\"docker\":false}");
    buf_done(&b);
    buf_init(&b, 1 << 20);
    settings_dump_text(s, &b);
    assert_string_equal(b.data, "commands = a=false (global, g:1:33)\n"
                                "commands = ab=true (global, f:1:51)\n"
                                "commands = b=true (global, f:1:32)\n"
                                "docker = false (global, g:1:11)\n");
    settings_free(s);
    buf_done(&b);
}

static void rules_are_kept_without_blanks(void **state)
{
    struct settings *s = NULL;
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(settings_new(ORIGIN_CALL, &s, NULL), ABX_OK);
    assert_int_equal(settings_append(s, "classifier.rules",
                                     " {\n\"decision\": \"allow\", \"pattern\": \"a\"} ", NULL,
                                     &err),
                     ABX_OK);
    assert_string_equal(s->entries[0].value, "{\"pattern\":\"a\",\"decision\":\"allow\"}");
    assert_int_equal(settings_append(s, "classifier.rules", "{\"pattern\": \"a\"", NULL, &err),
                     ABX_E_CONFIG);
    assert_string_equal(abx_error_message(err),
                        "a rule of classifier.rules is not JSON: the text ends too early");
    abx_error_free(err);
    settings_free(s);
}

static void proxy_domains_need_their_proxy(void **state)
{
    static const char alone[] = "{\"network\":{\"mitmProxy\":{\"domains\":[\"*.x.org\"]}}}";
    struct settings *s = decoded(ORIGIN_GLOBAL, alone, strlen(alone), DOC_JSON);
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(settings_check(s, &err), ABX_E_CONFIG);
    assert_string_equal(
        abx_error_message(err),
        "f:1:37: 'network.mitmProxy.domains' without 'network.mitmProxy.socketPath'");
    abx_error_free(err);
    assert_int_equal(settings_set(s, "network.mitmProxy.socketPath", "/s", NULL, NULL), ABX_OK);
    assert_int_equal(settings_check(s, NULL), ABX_OK);
    settings_free(s);
}

/* No key is passed over: what a run would not do is refused. */
static void keys_that_cannot_be_kept_are_refused(void **state)
{
    static const char *const refused[] = {
        "{\"network\":{\"allowLocalBinding\":false,\"publish\":[\"80\"]}}",
        "{\"network\":{\"mode\":\"allowed\",\"deniedDomains\":[\"x.org\"]}}",
    };
    static const char *const kept[] = {
        "{\"docker\":false,\"commands\":{\"rm\":false,\"npm\":\"@npm\"}}",
        "{\"filesystem\":{\"allowGitConfig\":true}}",
        "{\"docker\":true,\"network\":{\"allowUnixSockets\":[\"/s\"]}}",
        "{\"network\":{\"allowLocalBinding\":false}}",
        "{\"network\":{\"allowLocalBinding\":true,\"upstreamProxy\":\"\",\"allowedDomains\":[]}}",
        "{\"network\":{\"mode\":\"blocked\",\"allowedDomains\":[\"x.org\"]}}",
        "{\"network\":{\"mode\":\"allowed\",\"allowedDomains\":[\"x.org\"]}}",
        "{\"network\":{\"mode\":\"filtered\",\"deniedDomains\":[\"x.org\"]}}",
        "{\"network\":{\"upstreamProxy\":\"http://p:1\"}}",
        "{\"network\":{\"mitmProxy\":{\"socketPath\":\"/s\",\"domains\":[\"x.org\"]}}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refused) + ARRAY_LEN(kept); i++) {
        bool ok = i >= ARRAY_LEN(refused);
        const char *text = ok ? kept[i - ARRAY_LEN(refused)] : refused[i];
        struct settings *s = decoded(ORIGIN_GLOBAL, text, strlen(text), DOC_JSON);
        const struct policy *policy = NULL;
        struct arena arena;
        abx_error *err = NULL;
        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        if (policy_build(s, NULL, &arena, &policy, &err) != (ok ? ABX_OK : ABX_E_UNSUPPORTED))
            fail_msg("%s: %s", text, abx_error_message(err));
        assert_true(ok || str_has_prefix(abx_error_message(err), "f:1:"));
        abx_error_free(err);
        settings_free(s);
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starter_equals_the_golden_file),
        cmocka_unit_test(json_schema_equals_the_golden_file),
        cmocka_unit_test(starter_as_it_is_says_nothing),
        cmocka_unit_test(starter_without_comment_marks_sets_every_key),
        cmocka_unit_test(every_key_is_in_the_json_schema),
        cmocka_unit_test(every_key_is_documented),
        cmocka_unit_test(full_buffers_are_reported),
        cmocka_unit_test(what_is_dumped_reads_back_as_the_same),
        cmocka_unit_test(the_last_value_is_dumped_once),
        cmocka_unit_test(rules_are_kept_without_blanks),
        cmocka_unit_test(proxy_domains_need_their_proxy),
        cmocka_unit_test(keys_that_cannot_be_kept_are_refused),
    };

    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
