/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Other programs' configurations to settings: what each key becomes, what is told, what is refused.
 * Entries are compared as the JSON that they are dumped to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "policy/import.h"
#include "policy/settings_dump.h"

struct outcome {
    struct settings *settings;
    abx_error *notes, *err;
    int32_t code;
};

static struct outcome import(const char *text, bool strict)
{
    const struct import_request request = { .name = "f",
                                            .text = text,
                                            .len = strlen(text),
                                            .cwd = "/home/u/p",
                                            .home = "/home/u",
                                            .strict = strict };
    struct outcome o = { 0 };

    assert_int_equal(settings_new(ORIGIN_PROJECT, &o.settings, NULL), ABX_OK);
    o.code = import_decode(o.settings, &request, &o.notes, &o.err);
    return o;
}

static void done(struct outcome *o)
{
    settings_free(o->settings);
    abx_error_free(o->notes);
    abx_error_free(o->err);
}

static bool says(const abx_error *list, const char *text)
{
    for (; list; list = abx_error_next(list))
        if (strstr(abx_error_message(list), text))
            return true;
    return false;
}

/* The dump holds `part`. */
static void expect_part(const char *text, const char *part)
{
    struct outcome o = import(text, true);
    struct buf b;

    if (o.code != ABX_OK)
        fail_msg("%s: %s", text, abx_error_message(o.err));
    buf_init(&b, 1 << 20);
    settings_dump_json(o.settings, &b);
    if (!b.data || !strstr(b.data, part))
        fail_msg("%s becomes %s, without %s", text, b.data, part);
    buf_done(&b);
    done(&o);
}

static void expect_note(const char *text, const char *note)
{
    struct outcome o = import(text, true);

    assert_int_equal(o.code, ABX_OK);
    if (!says(o.notes, note))
        fail_msg("%s does not say: %s", text, note);
    done(&o);
}

static void expect_refused(const char *text, const char *message)
{
    struct outcome o = import(text, true);

    assert_int_equal(o.code, ABX_E_CONFIG);
    assert_int_equal(o.settings->count, 0);
    assert_null(o.notes);
    if (!says(o.err, message))
        fail_msg("%s: %s", text, abx_error_message(o.err));
    done(&o);
}

static void sandbox_runtime_keys_become_ours(void **state)
{
    static const char *const table[][2] = {
        { "{\"network\":{\"allowedDomains\":[\"a.org:443\"]}}",
          "\"network\":{\"allowedDomains\":[\"a.org:443\"],\"mode\":\"filtered\"}" },
        { "{\"network\":{\"deniedDomains\":[\"*:22\"]}}", "[\"0.0.0.0/0:22\",\"[::/0]:22\"]" },
        { "{\"network\":{\"deniedResolvedAddresses\":[\"10.0.0.0/8\"]}}",
          "\"deniedDomains\":[\"10.0.0.0/8\"]" },
        { "{\"network\":{\"httpProxyPort\":3128}}", "\"upstreamProxy\":\"http://127.0.0.1:3128\"" },
        { "{\"filesystem\":{\"denyRead\":[\"~/.ssh\",\"s/**\"]}}",
          "\"exclude\":[\"~/.ssh\",\"s\"]" },
        { "{\"filesystem\":{\"denyRead\":[{\"path\":\"a[1]\",\"literal\":true}]}}",
          "\"exclude\":[\"a\\\\[1]\"]" },
        { "{\"credentials\":{\"envVars\":[{\"name\":\"T\",\"mode\":\"deny\"}]}}",
          "\"environment\":{\"unset\":[\"T\"]}" },
        { "{\"credentials\":{\"files\":[{\"path\":\"~/.netrc\",\"mode\":\"deny\"}]}}",
          "\"exclude\":[\"~/.netrc\"]" },
        { "{\"allowNestedUserNamespaces\":true}", "\"allowNestedNamespaces\":true" },
        { "{\"mandatoryDenySearchDepth\":7}", "\"dangerousFileScanDepth\":7" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        expect_part(table[i][0], table[i][1]);
}

static void no_allowed_host_or_all_denied_is_no_network(void **state)
{
    (void)state;
    expect_part("{\"network\":{\"allowedDomains\":[]}}", "\"mode\":\"blocked\"");
    expect_part("{\"network\":{\"allowedDomains\":[\"localhost\"]}}", "\"mode\":\"blocked\"");
    expect_part("{\"network\":{\"allowedDomains\":[\"a.org\"],\"deniedDomains\":[\"*\"]}}",
                "\"mode\":\"blocked\"");
}

static void working_directory_is_writable_only_if_named(void **state)
{
    static const char *const named[] = { ".", "./", "/home/u", "~", "~/p", "/home/u/p/**" };
    char text[128];

    (void)state;
    expect_part("{\"filesystem\":{}}", "\"ro\":[\".\"]");
    expect_part("{\"filesystem\":{\"allowWrite\":[\"out\"]}}", "\"ro\":[\".\"],\"rw\":[\"out\"]");
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        (void)snprintf(text, sizeof text, "{\"filesystem\":{\"allowWrite\":[\"%s\"]}}", named[i]);
        expect_part(text, "\"presets\":[\"!@caches\",\"!@agents\"],\"rw\":[");
    }
}

static void denied_write_wins_over_what_is_allowed_below(void **state)
{
    static const char *const same[] = { "vendor/x", "~/p/vendor/x", "/home/u/p/a/../vendor" };
    char text[160];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        (void)snprintf(
            text, sizeof text,
            "{\"filesystem\":{\"allowWrite\":[\".\",\"%s\"],\"denyWrite\":[\"vendor\"]}}", same[i]);
        expect_part(text, "\"ro\":[\"vendor\"],\"rw\":[\".\"]");
        expect_note(text, "stays read-only");
    }
}

static void read_again_is_writable_only_where_writing_is_allowed(void **state)
{
    (void)state;
    expect_part(
        "{\"filesystem\":{\"denyRead\":[\"~\"],\"allowRead\":[\".\"],\"allowWrite\":[\".\"]}}",
        "\"rw\":[\".\"]}");
    expect_part(
        "{\"filesystem\":{\"denyRead\":[\"s\"],\"allowRead\":[\"s/p\"],\"allowWrite\":[\".\"]}}",
        "\"rw\":[\"s/p\",\".\"]");
    expect_part("{\"filesystem\":{\"denyRead\":[\"s\"],\"allowRead\":[\"s/p\"],"
                "\"allowWrite\":[\".\"],\"denyWrite\":[\"s\"]}}",
                "\"ro\":[\"s/p\",\"s\"],\"rw\":[\".\"]");
    expect_part("{\"filesystem\":{\"allowRead\":[\"~/.ssh/known_hosts\"],\"allowWrite\":[\".\"]}}",
                "\"ro\":[\"~/.ssh/known_hosts\"]");
}

static void what_has_no_equivalent_is_told_with_its_place(void **state)
{
    (void)state;
    expect_note("{\n \"network\": { \"tlsTerminate\": {\"maxTunnels\": 1} }}",
                "f:2:31: 'network.tlsTerminate' has no equivalent");
    expect_note("{\"bwrapPath\": \"/x\"}", "'bwrapPath' is not needed");
    expect_note("{\"network\":{\"allowedDomains\":[\"localhost:1\"]}}", "is left out");
    expect_note("{\"credentials\":{\"envVars\":[{\"name\":\"T\",\"mode\":\"mask\"}]}}",
                "not masked");
    expect_note("{\"credentials\":{\"files\":[{\"path\":\"~/.netrc\",\"mode\":\"mask\"}]}}",
                "is hidden, not masked");
    expect_note("{\"docker\":false,\"commands\":{}}", "the host's network is shared");
}

static void what_asks_for_nothing_is_not_mentioned(void **state)
{
    struct outcome o = import("{\"network\":{\"refuseOpaqueTunnels\":false,\"tlsTerminate\":{}},"
                              "\"filesystem\":{\"allowWrite\":[\".\"]},\"ripgrep\":null}",
                              true);

    (void)state;
    assert_int_equal(o.code, ABX_OK);
    assert_null(o.notes);
    done(&o);
}

static void protection_that_would_be_lost_is_refused_for_a_run(void **state)
{
    static const char text[] = "{\"network\":{\"refuseOpaqueTunnels\":true}}";
    struct outcome o = import(text, false);

    (void)state;
    expect_refused(text, "'network.refuseOpaqueTunnels' cannot be kept");
    assert_int_equal(o.code, ABX_OK);
    assert_true(says(o.notes, "cannot be kept"));
    done(&o);
}

static void wrong_texts_enter_nothing(void **state)
{
    (void)state;
    expect_refused("{\"filesystem\":{\"denyRaed\":[\"x\"]}}", "unknown key 'filesystem.denyRaed'");
    expect_refused("{\"network\":{\"deniedDomains\":[\"a b\"]}}", "a b");
    expect_refused("{\"filesystem\":{\"denyRead\":\"x\"}}", "must be a list");
    expect_refused("{\"filesystem\":{\"denyRead\":[{}]}}", "must be a list of paths");
    expect_refused("{\"network\":{\"httpProxyPort\":\"x\"}}", "must be a number");
    expect_refused("{\"network.allowedDomains\":[]}", "unknown key");
    expect_refused("[]", "must hold an object");
    expect_refused("{", "f:1:");
    expect_refused("", "f:1:1");
    expect_refused("{\"network\":true,\"commands\":{\"a=b\":true}}", "no name of a command");
    expect_refused("{\"network\":true,\"commands\":{\"rm\":null}}", "true, false and texts");
}

static void values_of_another_type_are_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"filesystem\":[]}",
        "{\"allowNestedUserNamespaces\":[1]}",
        "{\"network\":{\"allowUnixSockets\":[{}]}}",
        "{\"network\":{\"allowUnixSockets\":1}}",
        "{\"network\":{\"allowedDomains\":[[]]}}",
        "{\"network\":{\"deniedDomains\":[{}]}}",
        "{\"network\":{\"deniedDomains\":1}}",
        "{\"credentials\":{\"envVars\":[1]}}",
        "{\"credentials\":{\"envVars\":[{}]}}",
        "{\"credentials\":{\"files\":[1]}}",
        "{\"credentials\":{\"files\":[{\"mode\":\"deny\"}]}}",
        "{\"filesystem\":{\"denyRead\":[{\"literal\":true}]}}",
        "{\"filesystem\":{\"denyRead\":{}}}",
        "{\"filesystem\":{\"presets\":[{}],\"rw\":[]}}",
        "{\"filesystem\":{\"presets\":1,\"rw\":[]}}",
        "{\"commands\":[],\"filesystem\":{\"rw\":[]}}",
        "{\"commands\":{\"rm\":[]},\"filesystem\":{\"rw\":[]}}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        expect_refused(wrong[i], "");
}

/* "~bob" is nobody here: such a path covers nothing, and is passed on as it is written. */
static void homes_of_others_cover_nothing(void **state)
{
    (void)state;
    expect_part("{\"filesystem\":{\"allowWrite\":[\"~bob\"]}}", "\"ro\":[\".\"]");
    expect_part("{\"filesystem\":{\"allowWrite\":[\".\",\"a\"],\"denyWrite\":[\"~bob\"]}}",
                "\"rw\":[\".\",\"a\"]");
}

static void paths_that_no_kernel_takes_are_refused(void **state)
{
    static const char *const keys[] = { "allowWrite", "denyWrite", "denyRead", "allowRead" };
    static char path[5000], text[6000];

    (void)state;
    memset(path, 'a', sizeof path - 1);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        (void)snprintf(text, sizeof text, "{\"filesystem\":{\"%s\":[\"%s\"]}}", keys[i], path);
        expect_refused(text, "shorter than 4096 bytes");
    }
}

static void too_many_paths_are_refused(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "{\"filesystem\":{\"denyWrite\":[");
    for (int i = 0; i <= IMPORT_MAX_PATHS; i++)
        buf_puts(&b, i ? ",\"x\"" : "\"x\"");
    buf_puts(&b, "]}}");
    expect_refused(b.data, "more than 1024 entries");
    buf_done(&b);
}

static void agent_sandbox_keys_become_ours(void **state)
{
    (void)state;
    expect_part(
        "{ \"network\": false, /* c */ \"commands\": { \"git\": true, \"rm\": \"w.sh\" }, }",
        "\"commands\":{\"git\":true,\"rm\":\"./w.sh\"}");
    expect_part("{\"network\":true}",
                "\"commands\":{\"git\":\"@git\"},\"network\":{\"mode\":\"allowed\"}");
    expect_part("{\"network\":false}", "\"mode\":\"blocked\"");
    expect_part("{\"docker\":false}", "\"mode\":\"allowed\"");
    expect_part(
        "{\"docker\":true,\"filesystem\":{\"presets\":[\" !@lint/all \"],\"rw\":[\"~/x\"],"
        "\"ro\":[\"y\"],\"exclude\":[\"*.pem\"]}}",
        "\"filesystem\":{\"exclude\":[\"*.pem\"],\"presets\":[\"!@lint/all\"],\"ro\":[\"y\"],"
        "\"rw\":[\"~/x\"]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sandbox_runtime_keys_become_ours),
        cmocka_unit_test(no_allowed_host_or_all_denied_is_no_network),
        cmocka_unit_test(working_directory_is_writable_only_if_named),
        cmocka_unit_test(denied_write_wins_over_what_is_allowed_below),
        cmocka_unit_test(read_again_is_writable_only_where_writing_is_allowed),
        cmocka_unit_test(what_has_no_equivalent_is_told_with_its_place),
        cmocka_unit_test(what_asks_for_nothing_is_not_mentioned),
        cmocka_unit_test(protection_that_would_be_lost_is_refused_for_a_run),
        cmocka_unit_test(wrong_texts_enter_nothing),
        cmocka_unit_test(values_of_another_type_are_refused),
        cmocka_unit_test(homes_of_others_cover_nothing),
        cmocka_unit_test(paths_that_no_kernel_takes_are_refused),
        cmocka_unit_test(too_many_paths_are_refused),
        cmocka_unit_test(agent_sandbox_keys_become_ours),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
