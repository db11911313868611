/* SPDX-License-Identifier: Apache-2.0 */
/* abx_config_parse, load, validate and dump, as a program that links the library sees them. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "agentbox/agentbox.h"

static abx_config *new_config(void)
{
    abx_config *c = NULL;

    assert_int_equal(abx_config_new(&c, NULL), ABX_OK);
    return c;
}

static void expect_dump(const abx_config *c, const char *format, const char *wanted)
{
    char *text = NULL;

    assert_int_equal(abx_config_dump(c, format, &text, NULL), ABX_OK);
    assert_string_equal(text, wanted);
    abx_free(text);
}

static int32_t parse(abx_config *c, const char *text, const char *format, abx_error **err)
{
    return abx_config_parse(c, "mine", text, strlen(text), format, err);
}

static void texts_add_up_in_every_format(void **state)
{
    abx_config *c = new_config();

    (void)state;
    expect_dump(c, "json", "{}");
    expect_dump(c, "text", "");
    assert_int_equal(parse(c, "{\"filesystem\":{\"rw\":[\"a\"]}}", "json", NULL), ABX_OK);
    assert_int_equal(parse(c, "{\"filesystem\":{\"rw\":[\"b\",]}} // x", "jsonc", NULL), ABX_OK);
    assert_int_equal(parse(c, "filesystem:\n  rw: [c]\nnetwork: false", "yaml", NULL), ABX_OK);
    assert_int_equal(abx_config_append(c, "filesystem.rw", "d", NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(c, "network.mode", "allowed", NULL), ABX_OK);
    expect_dump(
        c, "json",
        "{\"filesystem\":{\"rw\":[\"a\",\"b\",\"c\",\"d\"]},\"network\":{\"mode\":\"allowed\"}}");
    expect_dump(c, "text",
                "filesystem.rw = a (global, mine:1:22)\n"
                "filesystem.rw = b (global, mine:1:22)\n"
                "filesystem.rw = c (global, mine:2:8)\n"
                "filesystem.rw = d (global, filesystem.rw)\n"
                "network.mode = allowed (global, network.mode)\n");
    abx_config_free(c);
}

static void wrong_text_changes_nothing(void **state)
{
    abx_config *c = new_config();
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(parse(c, "{\"docker\":false}", "json", NULL), ABX_OK);
    assert_int_equal(parse(c, "{\"docker\":true,\"shell\":\"x\",\"y\":1}", "json", &err),
                     ABX_E_CONFIG);
    assert_string_equal(abx_error_message(err),
                        "mine:1:24: set 'shell' to 'x': not an absolute path");
    assert_string_equal(abx_error_subject(err), "shell");
    assert_string_equal(abx_error_message(abx_error_next(err)), "mine:1:28: unknown key 'y'");
    assert_null(abx_error_next(abx_error_next(err)));
    expect_dump(c, "json", "{\"docker\":false}");
    abx_error_free(err);
    abx_config_free(c);
}

static void misuse_is_told(void **state)
{
    abx_config *c = new_config();
    abx_error *err = NULL;
    char *text = NULL;

    (void)state;
    assert_int_equal(abx_config_parse(NULL, "n", "{}", 2, "json", NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_parse(c, NULL, "{}", 2, "json", NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_parse(c, "n", NULL, 2, "json", NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_parse(c, "n", NULL, 0, "yaml", NULL), ABX_OK);
    assert_int_equal(abx_config_parse(c, "n", "{}", 2, NULL, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_parse(c, "n", "{}", 2, "toml", &err), ABX_E_INVALID);
    assert_string_equal(abx_error_hint(err), "use json, jsonc or yaml");
    abx_error_free(err);
    assert_int_equal(abx_config_load(c, NULL, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_load(NULL, "x", NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_validate(NULL, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_dump(NULL, "json", &text, NULL), ABX_E_INVALID);
    assert_int_equal(abx_config_dump(c, "yaml", &text, &err), ABX_E_INVALID);
    assert_string_equal(abx_error_hint(err), "use json or text");
    assert_null(text);
    abx_error_free(err);
    abx_config_free(c);
}

static void put_file(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && write(fd, text, len) == (ssize_t)len);
    close(fd);
}

static void expect_load(const char *name, int32_t code, const char *message)
{
    abx_config *c = new_config();
    abx_error *err = NULL;

    if (abx_config_load(c, name, &err) != code || !strstr(abx_error_message(err), message))
        fail_msg("%s: %s", name, abx_error_message(err));
    abx_error_free(err);
    abx_config_free(c);
}

static void files_are_read_by_the_end_of_their_name(void **state)
{
    char dir[] = "/tmp/abx-config-XXXXXX";
    char *large = calloc(1, (1 << 20) + 1);

    (void)state;
    assert_non_null(large);
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    put_file("a.json", "{\"docker\":false}", 16);
    put_file("a.jsonc", "{\"docker\":false,}", 17);
    put_file("comma.json", "{\"docker\":false,}", 17);
    put_file("a.yaml", "docker: false", 13);
    put_file("a.conf", "{\"docker\":false,}", 17);
    put_file("empty.yaml", "", 0);
    put_file("empty.json", "", 0);
    memset(large, ' ', (1 << 20) + 1);
    put_file("large.json", large, (1 << 20) + 1);
    assert_int_equal(mkfifo("fifo.json", 0600), 0);
    assert_int_equal(mkdir("dir.json", 0700), 0);
    expect_load("a.json", ABX_OK, "");
    expect_load("a.jsonc", ABX_OK, "");
    expect_load("comma.json", ABX_E_CONFIG, "comma.json:1:16: a comma behind the last one");
    expect_load("a.yaml", ABX_OK, "");
    expect_load("a.conf", ABX_OK, "");
    expect_load("empty.yaml", ABX_OK, "");
    expect_load("empty.json", ABX_E_CONFIG, "empty.json:1:1: there is nothing in it");
    expect_load("none.json", ABX_E_IO, "read configuration 'none.json': No such file or directory");
    expect_load("large.json", ABX_E_CONFIG, "read configuration 'large.json': it is too large");
    expect_load("dir.json", ABX_E_IO, "read configuration 'dir.json': Is a directory");
    expect_load("fifo.json", ABX_E_IO, "read configuration 'fifo.json'");
    free(large);
    static const char *const names[] = { "a.json",     "a.jsonc",    "comma.json",
                                         "a.yaml",     "a.conf",     "empty.yaml",
                                         "empty.json", "large.json", "fifo.json" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(unlink(names[i]), 0);
    assert_int_equal(rmdir("dir.json"), 0);
    assert_int_equal(rmdir(dir), 0);
}

static void whole_configurations_are_validated(void **state)
{
    abx_config *c = new_config();
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(abx_config_validate(c, &err), ABX_OK);
    assert_int_equal(parse(c, "network: {mitmProxy: {domains: [x.org]}}", "yaml", NULL), ABX_OK);
    assert_int_equal(abx_config_validate(c, &err), ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "mine:1:33: "));
    abx_error_free(err);
    abx_config_free(c);
}

/* A key that a run would not keep is never passed over. */
static void managers_refuse_what_they_cannot_keep(void **state)
{
    abx_config *c = new_config();
    abx_manager *m = NULL;
    abx_error *err = NULL;

    (void)state;
    assert_int_equal(parse(c, "network: { mode: allowed, deniedDomains: [a.test] }", "yaml", NULL),
                     ABX_OK);
    assert_int_equal(abx_manager_new(c, NULL, &m, &err), ABX_E_UNSUPPORTED);
    assert_non_null(strstr(abx_error_message(err), "'network.deniedDomains' cannot be kept"));
    abx_error_free(err);
    abx_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_add_up_in_every_format),
        cmocka_unit_test(wrong_text_changes_nothing),
        cmocka_unit_test(misuse_is_told),
        cmocka_unit_test(files_are_read_by_the_end_of_their_name),
        cmocka_unit_test(whole_configurations_are_validated),
        cmocka_unit_test(managers_refuse_what_they_cannot_keep),
    };

    return cmocka_run_group_tests_name("config_text", tests, NULL, NULL);
}
