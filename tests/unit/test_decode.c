/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration files to settings: what is entered, with which source, and for everything that is
 * wrong the place, the message and the hint. Entries are compared as text, one line each:
 * "KEY = VALUE (ORIGIN, SOURCE)".
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
#include "policy/decode.h"
#include "policy/problems.h"
#include "policy/settings_dump.h"

static int32_t decode(struct settings *s, const char *text, enum doc_format format, abx_error **err)
{
    return config_decode(s, "f", text, strlen(text), format, err);
}

static void expect_entries(enum origin origin, enum doc_format format, const char *text,
                           const char *entries)
{
    _settings_ struct settings *s = NULL;
    abx_error *err = NULL;
    struct buf b;

    assert_int_equal(settings_new(origin, &s, NULL), ABX_OK);
    if (decode(s, text, format, &err) != ABX_OK)
        fail_msg("%s", abx_error_message(err));
    buf_init(&b, 1 << 20);
    buf_puts(&b, "");
    settings_dump_text(s, &b);
    assert_string_equal(b.data, entries);
    buf_done(&b);
}

struct wrong {
    const char *text, *message, *hint;
};

/* Each text has exactly this problem, and leaves the settings as they were. */
static void expect_wrong(enum origin origin, enum doc_format format, const struct wrong *table,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _settings_ struct settings *s = NULL;
        abx_error *err = NULL;

        assert_int_equal(settings_new(origin, &s, NULL), ABX_OK);
        assert_int_equal(settings_set(s, "shell", "/bin/before", NULL, NULL), ABX_OK);
        if (decode(s, table[i].text, format, &err) != ABX_E_CONFIG)
            fail_msg("taken: %s", table[i].text);
        if (!strstr(abx_error_message(err), table[i].message) ||
            !strstr(abx_error_hint(err), table[i].hint) || abx_error_next(err))
            fail_msg("%s\n  %s\n  %s", table[i].text, abx_error_message(err), abx_error_hint(err));
        assert_int_equal(s->count, 1);
        abx_error_free(err);
    }
}

static void every_kind_of_value_is_entered_with_its_place(void **state)
{
    static const char text[] =
        "{\n"
        "  \"$schema\": \"x\",\n"
        "  \"preset\": \"ci\", \"docker\": true, \"maxOutputBytes\": \"1M\", "
        "\"graceSeconds\": 1.5,\n"
        "  \"filesystem\": { \"rw\": [\"a\",\n"
        "    \"b\"], \"writableRoots\": [\"c\"], \"exclude\": [], \"presets\": [\"!@git\"] },\n"
        "  \"network\": { \"mode\": \"blocked\", \"allowedDomains\": [\"x.org:443\"],\n"
        "    \"mitmProxy\": { \"socketPath\": \"/s\", \"domains\": [\"*.x.org\"] },\n"
        "    \"upstreamProxy\": \"http://proxy:3128\", \"allowUnixSockets\": [\"~/s\"] },\n"
        "  \"commands\": { \"rm\": false, \"npm\": true, \"git\": \"@git\", \"ls\": \"./ls\" },\n"
        "  \"classifier\": { \"overrides\": { \"docker-container\": \"sandboxed\" },\n"
        "    \"rules\": [{ \"decision\": \"allow\", \"pattern\": \"a *\" }] },\n"
        "  \"environment\": { \"set\": { \"A\": \"b=c\" }, \"pass\": [\"T\"] },\n"
        "  \"resourceLimits\": { \"maxProcesses\": 7 }, \"shell\": null\n"
        "}\n";

    (void)state;
    expect_entries(
        ORIGIN_PROJECT, DOC_JSON, text,
        "classifier.overrides = docker-container=sandboxed (project, f:10:54)\n"
        "classifier.rules = {\"pattern\":\"a *\",\"decision\":\"allow\"} (project, f:11:15)\n"
        "commands = git=@git (project, f:9:50)\n"
        "commands = ls=./ls (project, f:9:64)\n"
        "commands = npm=true (project, f:9:37)\n"
        "commands = rm=false (project, f:9:23)\n"
        "docker = true (project, f:3:29)\n"
        "environment.pass = T (project, f:12:52)\n"
        "environment.set = A=b=c (project, f:12:34)\n"
        "filesystem.presets = !@git (project, f:5:62)\n"
        "filesystem.rw = a (project, f:4:26)\n"
        "filesystem.rw = b (project, f:5:5)\n"
        "filesystem.rw = c (project, f:5:29)\n"
        "graceSeconds = 1.5 (project, f:3:75)\n"
        "maxOutputBytes = 1M (project, f:3:53)\n"
        "network.allowUnixSockets = ~/s (project, f:8:64)\n"
        "network.allowedDomains = x.org:443 (project, f:6:54)\n"
        "network.mitmProxy.domains = *.x.org (project, f:7:52)\n"
        "network.mitmProxy.socketPath = /s (project, f:7:34)\n"
        "network.mode = blocked (project, f:6:24)\n"
        "network.upstreamProxy = http://proxy:3128 (project, f:8:22)\n"
        "preset = ci (project, f:3:13)\n"
        "resourceLimits.maxProcesses = 7 (project, f:13:39)\n");
}

static void yaml_means_the_same(void **state)
{
    (void)state;
    expect_entries(ORIGIN_GLOBAL, DOC_YAML,
                   "# mine\n"
                   "network: false\n"
                   "filesystem:\n"
                   "  denyRead:\n"
                   "    - ~/.ssh\n"
                   "    - '*.pem'\n"
                   "  denyWrite: [src]\n"
                   "commands:\n"
                   "  rm: false\n"
                   "resourceLimits: {maxMemoryBytes: 2G}\n"
                   "environment:\n",
                   "commands = rm=false (global, f:9:7)\n"
                   "filesystem.exclude = ~/.ssh (global, f:5:7)\n"
                   "filesystem.exclude = *.pem (global, f:6:7)\n"
                   "filesystem.ro = src (global, f:7:15)\n"
                   "network.mode = blocked (global, f:2:10)\n"
                   "resourceLimits.maxMemoryBytes = 2G (global, f:10:34)\n");
    expect_entries(ORIGIN_GLOBAL, DOC_YAML, "", "");
    expect_entries(ORIGIN_GLOBAL, DOC_JSON, "{\"network\": true}",
                   "network.mode = allowed (global, f:1:13)\n");
    expect_entries(ORIGIN_GLOBAL, DOC_JSON, "null", "");
    expect_entries(ORIGIN_GLOBAL, DOC_JSON,
                   "{\"network\":{\"mitmProxy\":{\"socketPath\":\"\",\"domains\":[]}}}",
                   "network.mitmProxy.socketPath =  (global, f:1:39)\n");
    expect_entries(ORIGIN_GLOBAL, DOC_JSON, "{\"network\": null, \"filesystem\": {\"rw\": null}}",
                   "");
}

static void final_rules_belong_to_the_system(void **state)
{
    static const char text[] =
        "{\"filesystem\": {\"ro\": [{\"path\": \"/srv\", \"final\": true}, "
        "{\"path\": \"/x\"}], \"rw\": [{\"path\": \"/y\", \"final\": false}],"
        "\"denyRead\": [{\"final\": true, \"path\": \"/k\"}]}}";
    static const struct wrong outside[] = {
        { "{\"filesystem\":{\"ro\":[{\"path\":\"/x\",\"final\":true}]}}", "f:1:22: an object in",
          "/etc/agentbox" },
        { "{\"filesystem\":{\"rw\":[{\"path\":\"/x\"}]}}", "f:1:22: an object in", "as a text" },
    };
    static const struct wrong inside[] = {
        { "{\"filesystem\":{\"rw\":[{\"path\":\"/x\",\"final\":true}]}}",
          "f:1:30: a final entry of 'filesystem.rw': only filesystem.ro", "nothing gives back" },
        { "{\"filesystem\":{\"ro\":[{\"path\":\"/x\",\"final\":\"yes\"}]}}",
          "f:1:43: 'final' must be true or false", "without quotes" },
        { "{\"filesystem\":{\"ro\":[{\"final\":true}]}}",
          "f:1:22: an entry of 'filesystem.ro' needs", "\"path\"" },
        { "{\"filesystem\":{\"ro\":[{\"path\":3}]}}", "f:1:30: an entry of 'filesystem.ro' needs",
          "" },
        { "{\"filesystem\":{\"ro\":[{\"path\":\"/x\",\"finl\":true}]}}",
          "f:1:35: unknown key 'finl' in an entry of 'filesystem.ro'", "path and final" },
        { "{\"filesystem\":{\"ro\":[{\"path\":\"\",\"final\":true}]}}",
          "f:1:30: set 'filesystem.ro' to '': not a path", "" },
        { "{\"environment\":{\"pass\":[{\"path\":\"A\"}]}}",
          "f:1:25: an entry of 'environment.pass' must be a text, not an object", "" },
    };

    (void)state;
    expect_entries(ORIGIN_SYSTEM, DOC_JSON, text,
                   "filesystem.exclude = /k final (system, f:1:150)\n"
                   "filesystem.ro = /srv final (system, f:1:33)\n"
                   "filesystem.ro = /x (system, f:1:66)\n"
                   "filesystem.rw = /y (system, f:1:90)\n");
    expect_wrong(ORIGIN_PROJECT, DOC_JSON, outside, ARRAY_LEN(outside));
    expect_wrong(ORIGIN_GLOBAL, DOC_JSON, outside, ARRAY_LEN(outside));
    expect_wrong(ORIGIN_SYSTEM, DOC_JSON, inside, ARRAY_LEN(inside));
}

/* The table of errors of spec/agent-sandbox.md 3.5, as far as it is about a text. */
static void ancestor_errors_are_told_with_their_place(void **state)
{
    static const struct wrong table[] = {
        { "{\"network\": tru}", "f:1:13: neither a number nor true, false or null", "" },
        { "{\n\"docker\" true}", "f:2:10: expected ':' behind the key", "" },
        { "", "f:1:1: there is nothing in it", "{}" },
        { "[]", "f:1:1: a configuration must be an object, not a list", "{}" },
        { "\"x\"", "f:1:1: a configuration must be an object, not the text \"x\"", "" },
        { "{\"docker\": \"yes\"}", "f:1:12: 'docker' must be true or false, not the text \"yes\"",
          "without quotes" },
        { "{\"filesystem\": []}", "f:1:16: 'filesystem' must be an object, not a list", "" },
        { "{\"network\": \"on\"}", "f:1:13: 'network' must be an object, true or false", "" },
        { "{\"filesystem\": {\"ro\": \"x\"}}",
          "f:1:23: 'filesystem.ro' must be a list of texts, not the text \"x\"", "brackets" },
        { "{\"filesystem\": {\"ro\": [1]}}",
          "f:1:24: an entry of 'filesystem.ro' must be a text, not the number 1", "quotes" },
        { "{\"filesystem\": {\"ro\": [null]}}", "must be a text, not null", "" },
        { "{\"commands\": true}", "f:1:14: 'commands' must be an object, not true", "" },
        { "{\"nework\": true}", "f:1:2: unknown key 'nework'", "did you mean 'network'?" },
        { "{\"Network\": true}", "f:1:2: unknown key 'Network'", "did you mean 'network'?" },
        { "{\"rw\": []}", "f:1:2: unknown key 'rw'", "did you mean 'filesystem.rw'?" },
        { "{\"network\": {\"mitmProxy\": {\"socket\": \"\"}}}",
          "f:1:28: unknown key 'network.mitmProxy.socket'", "lists all keys" },
        { "{\"network.mode\": \"blocked\"}", "f:1:2: unknown key 'network.mode'",
          "\"network\": { \"mode\": ... }" },
        { "{\"filesystem\": {\"rw.x\": []}}", "f:1:17: unknown key 'filesystem.rw.x'", "" },
        { "{\"docker\": true, \"docker\": false}",
          "f:1:18: the key is there twice: 'docker', first in line 1", "keep one" },
        { "{\"commands\": {\"git\": 1}}",
          "f:1:22: 'git' in 'commands' must be true, false or a text, not the number 1", "@git" },
        { "{\"commands\": {\"git\": null}}", "must be true, false or a text, not null", "" },
        { "{\"commands\": {\"npm\": \"@git\"}}",
          "f:1:22: set 'commands' to 'npm=@git': a guard is for the command that it is named after",
          "" },
        { "{\"commands\": {\"npm\": \"@nmp\"}}",
          "f:1:22: set 'commands' to 'npm=@nmp': there is no such guard", "@npm" },
        { "{\"commands\": {\"\": true}}", "f:1:15: an empty name in 'commands'", "" },
        { "{\"filesystem\": {\"presets\": [\"@gti\"]}}",
          "f:1:29: set 'filesystem.presets' to '@gti': not a preset's name", "@git-strict" },
        { "{\"filesystem\": {\"presets\": [\"\"]}}",
          "set 'filesystem.presets' to '': not a preset's name", "known are" },
    };

    (void)state;
    expect_wrong(ORIGIN_PROJECT, DOC_JSON, table, ARRAY_LEN(table));
}

/* The rules of spec/agentbox.md b.2, but for its conflict rule: here the longest path wins. */
static void ancestor_validation_rules_hold(void **state)
{
    static const struct wrong table[] = {
        { "{\"filesystem\": {\"writableRoots\": [\"\"]}}",
          "set 'filesystem.writableRoots' to '': not a path", "'.' is the working directory" },
        { "{\"filesystem\": {\"denyWrite\": [\"\"]}}", "set 'filesystem.denyWrite' to ''", "" },
        { "{\"filesystem\": {\"denyRead\": [\"\"]}}", "set 'filesystem.denyRead' to ''", "" },
        { "{\"filesystem\": {\"denyRead\": [\"a\\u0000b\"]}}", "f:1:32: \\u0000", "" },
        { "{\"filesystem\": {\"dangerousFileScanDepth\": -1}}",
          "set 'filesystem.dangerousFileScanDepth' to '-1': not a whole number", "levels" },
        { "{\"maxOutputBytes\": -1}", "set 'maxOutputBytes' to '-1': not a size", "no limit" },
        { "{\"resourceLimits\": {\"maxProcesses\": -1}}", "to '-1': not a whole number", "" },
        { "{\"resourceLimits\": {\"maxMemoryBytes\": -1}}", "to '-1': not a size", "" },
        { "{\"resourceLimits\": {\"maxFileDescriptors\": -1}}", "to '-1': not a whole", "" },
        { "{\"resourceLimits\": {\"maxCPUSeconds\": -1}}", "to '-1': not a whole number", "" },
        { "{\"resourceLimits\": {\"maxCPUSeconds\": 1.5}}", "to '1.5': not a whole number", "" },
        { "{\"resourceLimits\": {\"maxCPUSeconds\": 1e3}}", "to '1e3': not a whole number", "" },
        { "{\"resourceLimits\": {\"maxCPUSeconds\": \"5\"}}", "must be a number, not the text",
          "without quotes" },
        { "{\"maxOutputBytes\": \"1048576\"}", "must be a number, or a text such as \"512M\"",
          "without quotes" },
        { "{\"network\": {\"mode\": \"open\"}}",
          "f:1:22: set 'network.mode' to 'open': not one of its words",
          "use filtered, blocked or allowed" },
        { "{\"fallbackPolicy\": \"none\"}", "not one of its words", "use strict or warn" },
        { "{\"shell\": \"bash\"}", "set 'shell' to 'bash': not an absolute path", "" },
        { "{\"shell\": \"\"}", "set 'shell' to '': not an absolute path", "" },
        { "{\"network\": {\"allowUnixSockets\": [\"\"]}}", "to '': not an absolute path", "" },
        { "{\"network\": {\"allowUnixSockets\": [\"a/b\"]}}", "to 'a/b': not an absolute path",
          "" },
        { "{\"network\": {\"mitmProxy\": {\"socketPath\": \"x\"}}}",
          "set 'network.mitmProxy.socketPath' to 'x': not an absolute path", "" },
        { "{\"network\": {\"mitmProxy\": {\"domains\": [\"x\"]}}}",
          "set 'network.mitmProxy.domains' to 'x': the name needs a dot", "" },
        { "{\"network\": {\"allowedDomains\": [\"\"]}}", "to '': it is empty", "" },
        { "{\"network\": {\"allowedDomains\": [\"https://x.org\"]}}", "an address of the web",
          "the host alone" },
        { "{\"network\": {\"allowedDomains\": [\"*.com\"]}}", "what follows '*.' needs a dot", "" },
        { "{\"network\": {\"deniedDomains\": [\"a*.x.org\"]}}", "'*' stands only at the front",
          "" },
        { "{\"network\": {\"upstreamProxy\": \"http://me:secret@x:1\"}}",
          "set 'network.upstreamProxy' to '@x:1': it holds a name or a password",
          "AGENTBOX_UPSTREAM_AUTH=" },
    };

    (void)state;
    expect_wrong(ORIGIN_PROJECT, DOC_JSON, table, ARRAY_LEN(table));
    expect_entries(
        ORIGIN_PROJECT, DOC_JSON,
        "{\"filesystem\":{\"writableRoots\":[\"/home/u/p\"],\"denyWrite\":[\"/home/u\"]}}",
        "filesystem.ro = /home/u (project, f:1:59)\n"
        "filesystem.rw = /home/u/p (project, f:1:33)\n");
}

static void maps_and_rules_are_checked(void **state)
{
    static const struct wrong table[] = {
        { "{\"commands\": {\"ls\": \"true\"}}", "f:1:21: the rule of 'ls' in 'commands' is a text",
          "without quotes" },
        { "{\"commands\": {\"ls\": \"no\"}}", "to 'ls=no': a command's rule must be true",
          "a '/'" },
        { "{\"commands\": {\"ls\": \"$HOME/ls\"}}", "variables are not expanded", "" },
        { "{\"commands\": {\"/bin/ls\": true}}", "named without its directory", "not /usr" },
        { "{\"commands\": {\"a=b\": true}}", "f:1:15: a name in 'commands' holds '='", "" },
        { "{\"environment\": {\"set\": {\"A\": 1}}}",
          "f:1:31: 'A' in 'environment.set' must be a text, not the number 1", "quotes" },
        { "{\"environment\": {\"set\": {\"A=B\": \"\"}}}", "a name in 'environment.set' holds",
          "" },
        { "{\"environment\": {\"set\": [\"A=B\"]}}", "must be an object of texts, not a list", "" },
        { "{\"environment\": {\"pass\": [\"A=B\"]}}", "to 'A=B': not a variable's name", "" },
        { "{\"classifier\": {\"overrides\": {\"x\": \"maybe\"}}}",
          "set 'classifier.overrides' to 'x=maybe': not a decision",
          "use allow, sandboxed, escalated or forbidden" },
        { "{\"classifier\": {\"rules\": [\"x\"]}}", "f:1:27: a rule of classifier.rules must be an",
          "pattern" },
        { "{\"classifier\": {\"rules\": [{\"pattern\": \"x\"}]}}",
          "f:1:27: a rule of classifier.rules has no 'decision'", "needs" },
        { "{\"classifier\": {\"rules\": [{\"pattern\": \"\", \"decision\": \"allow\"}]}}",
          "f:1:39: the pattern of a rule of classifier.rules is empty", "docker" },
        { "{\"classifier\": {\"rules\": [{\"pattern\": \"x\", \"decision\": \"deny\"}]}}",
          "f:1:56: set a decision of classifier.rules to 'deny'", "forbidden" },
        { "{\"classifier\": {\"rules\": [{\"patern\": \"x\", \"decision\": \"allow\"}]}}",
          "f:1:28: unknown key 'patern' in a rule", "did you mean 'pattern'?" },
        { "{\"classifier\": {\"rules\": [{\"pattern\": 1, \"decision\": \"allow\"}]}}",
          "f:1:39: 'pattern' of a rule of classifier.rules must be text", "" },
    };

    (void)state;
    expect_wrong(ORIGIN_PROJECT, DOC_JSON, table, ARRAY_LEN(table));
}

static void yaml_mistakes_lead_out(void **state)
{
    static const struct wrong table[] = {
        { "docker: yes\n", "f:1:9: 'docker' must be true or false, not the text \"yes\"",
          "without quotes" },
        { "filesystem:\n  rw: [~]\n", "f:2:8: an entry of 'filesystem.rw' must be a text, not null",
          "quote '~'" },
        { "filesystem:\n  rw: ~\n", "f:2:7: 'filesystem.rw' must be a list of texts, not null",
          "quote '~'" },
        { "maxOutputBytes: 0100\n", "f:1:17: 'maxOutputBytes' must be a number", "" },
        { "resourceLimits:\n  maxProcesses: 0x10\n", "f:2:17: 'resourceLimits.maxProcesses' must",
          "" },
        { "network:\n  allowedDomains:\n    - *.npmjs.org\n", "f:3:8: did not find", "quote" },
        { "filesystem: &a {}\n", "f:1:13: anchors (&name) are not read", "where it is needed" },
        { "docker: !!bool true\n", "f:1:9: tags (!name) are not read", "" },
        { "docker: true\ndocker: true\n",
          "f:2:1: the key is there twice: 'docker', first in line 1", "" },
        { "filesystem:\n\trw: [a]\n", "f:2:1: found character that cannot start any token",
          "not tabs" },
    };

    (void)state;
    expect_wrong(ORIGIN_GLOBAL, DOC_YAML, table, ARRAY_LEN(table));
}

static void all_problems_are_told_at_once(void **state)
{
    static const char text[] = "{\n\"docker\": 1,\n\"docker\": 2,\n\"filesystm\": {},\n"
                               "\"filesystem\": {\"rw\": [\"\", \"$x\", 1]},\n"
                               "\"network\": {\"mode\": \"x\", \"y\": 1}\n}";
    static const char *const places[] = { "f:2:11: ", "f:3:1: ",  "f:3:11: ", "f:4:1: ", "f:5:23: ",
                                          "f:5:27: ", "f:5:33: ", "f:6:21: ", "f:6:26: " };
    _settings_ struct settings *s = NULL;
    abx_error *err = NULL;
    const abx_error *e;
    size_t n = 0;

    (void)state;
    assert_int_equal(settings_new(ORIGIN_PROJECT, &s, NULL), ABX_OK);
    assert_int_equal(decode(s, text, DOC_JSON, &err), ABX_E_CONFIG);
    for (e = err; e; e = abx_error_next(e), n++) {
        assert_true(n < ARRAY_LEN(places));
        assert_int_equal(abx_error_code(e), ABX_E_CONFIG);
        if (!str_has_prefix(abx_error_message(e), places[n]))
            fail_msg("%s instead of %s", abx_error_message(e), places[n]);
        assert_string_not_equal(abx_error_subject(e), "");
    }
    assert_int_equal(n, ARRAY_LEN(places));
    assert_int_equal(s->count, 0);
    abx_error_free(err);
    assert_int_equal(decode(s, text, DOC_JSON, NULL), ABX_E_CONFIG);
}

static void too_many_problems_are_counted(void **state)
{
    _settings_ struct settings *s = NULL;
    abx_error *err = NULL;
    const abx_error *e;
    struct buf b;
    size_t n = 0;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "{\"filesystem\":{\"rw\":[");
    for (int i = 0; i < PROBLEMS_MAX + 5; i++)
        buf_puts(&b, "1,");
    buf_puts(&b, "]}}");
    assert_int_equal(settings_new(ORIGIN_PROJECT, &s, NULL), ABX_OK);
    assert_int_equal(config_decode(s, "f", b.data, b.len, DOC_JSONC, &err), ABX_E_CONFIG);
    for (e = err; abx_error_next(e); e = abx_error_next(e))
        n++;
    assert_int_equal(n, PROBLEMS_MAX);
    assert_string_equal(abx_error_message(e), "5 more problems are not shown");
    abx_error_free(err);
    buf_done(&b);
}

static void double_keys_beyond_the_room_are_counted(void **state)
{
    _settings_ struct settings *s = NULL;
    abx_error *err = NULL;
    const abx_error *e;
    struct buf b;
    size_t n = 0;

    (void)state;
    buf_init(&b, 1 << 20);
    for (int i = 0; i < DOC_MAX_PROBLEMS + 8; i++)
        buf_puts(&b, "docker: true\n");
    assert_int_equal(settings_new(ORIGIN_PROJECT, &s, NULL), ABX_OK);
    assert_int_equal(config_decode(s, "f", b.data, b.len, DOC_YAML, &err), ABX_E_CONFIG);
    for (e = err; abx_error_next(e); e = abx_error_next(e))
        n++;
    assert_int_equal(n, DOC_MAX_PROBLEMS);
    assert_string_equal(abx_error_message(e), "7 more problems are not shown");
    abx_error_free(err);
    buf_done(&b);
}

static void ten_thousand_paths_are_taken(void **state)
{
    enum { PATHS = 10000 };
    _settings_ struct settings *s = NULL;
    struct buf b;

    (void)state;
    buf_init(&b, 1 << 20);
    buf_puts(&b, "filesystem:\n  exclude:\n");
    for (int i = 0; i < PATHS; i++)
        buf_printf(&b, "  - secrets/%d\n", i);
    assert_int_equal(settings_new(ORIGIN_PROJECT, &s, NULL), ABX_OK);
    assert_int_equal(config_decode(s, "f", b.data, b.len, DOC_YAML, NULL), ABX_OK);
    assert_int_equal(s->count, PATHS);
    assert_string_equal(s->entries[PATHS - 1].value, "secrets/9999");
    assert_string_equal(s->entries[PATHS - 1].source, "f:10002:5");
    buf_done(&b);
}

static void names_and_values_are_shown_safely(void **state)
{
    static const char text[] = "{\"a\\u001b[31m\": 1, \"shell\": \"x\\n\\u202e\"}";
    _settings_ struct settings *s = NULL;
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(settings_new(ORIGIN_PROJECT, &s, NULL), ABX_OK);
    assert_int_equal(config_decode(s, "n\n\x1b", text, strlen(text), DOC_JSON, &err), ABX_E_CONFIG);
    assert_string_equal(abx_error_message(err), "n\\x0a\\x1b:1:2: unknown key 'a\\x1b[31m'");
    assert_string_equal(abx_error_message(abx_error_next(err)),
                        "n\\x0a\\x1b:1:29: set 'shell' to 'x\\x0a\\u{202e}': not an absolute path");
    abx_error_free(err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_entered_with_its_place),
        cmocka_unit_test(yaml_means_the_same),
        cmocka_unit_test(final_rules_belong_to_the_system),
        cmocka_unit_test(ancestor_errors_are_told_with_their_place),
        cmocka_unit_test(ancestor_validation_rules_hold),
        cmocka_unit_test(maps_and_rules_are_checked),
        cmocka_unit_test(yaml_mistakes_lead_out),
        cmocka_unit_test(all_problems_are_told_at_once),
        cmocka_unit_test(too_many_problems_are_counted),
        cmocka_unit_test(double_keys_beyond_the_room_are_counted),
        cmocka_unit_test(ten_thousand_paths_are_taken),
        cmocka_unit_test(names_and_values_are_shown_safely),
    };

    return cmocka_run_group_tests_name("decode", tests, NULL, NULL);
}
