/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pid 1 told becomes a record: the rule and the grant that fit the run's network, a notice for
 * what is new, and none of it without end. No program is started.
 */
#include "lib/api_case.h"

#include <sys/syscall.h>

#include "api/internal.h"
#include "plan/watch.h"

#define DOCUMENTATION "\xc0\x00\x02\x01" /* 192.0.2.1 */

struct told {
    struct api_case *c;
    abx_manager *manager;
    abx_command *command;
    struct run run;
    unsigned notices;
    char last[256];
};

static void take_notice(void *user, int32_t level, const char *module, const char *text)
{
    struct told *t = user;

    if (level != ABX_NOTICE_VIOLATION)
        return;
    assert_string_equal(module, "monitor");
    t->notices++;
    (void)snprintf(t->last, sizeof t->last, "%s", text);
}

/* A run of "true" with this one setting, as far as it has an explainer. */
static void begin(struct told *t, void **state, const char *key, const char *value)
{
    static const char *const argv[] = { "true", NULL };
    abx_config *config = NULL;
    abx_error *e = NULL;
    abx_hooks hooks;

    *t = (struct told){ .c = *state };
    abx_hooks_init(&hooks, sizeof hooks);
    hooks.notice = take_notice;
    hooks.user = t;
    api_ok(abx_config_new(&config, &e), &e);
    api_ok(abx_config_set_string(config, key, value, &e), &e);
    api_ok(abx_manager_new(config, &hooks, &t->manager, &e), &e);
    abx_config_free(config);
    api_ok(abx_command_new(argv, &t->command, &e), &e);
    api_ok(abx_command_set_cwd(t->command, t->c->dir, &e), &e);
    api_ok(abx_manager_wrap(t->manager, t->command, &e), &e);
    run_init(&t->run);
    api_ok(command_watch(t->command, &t->run, &e), &e);
}

static void end(struct told *t)
{
    run_done(&t->run, NULL);
    abx_command_free(t->command);
    abx_manager_free(t->manager);
}

/* A message of pid 1; returns the record that it became, or NULL. */
static const struct abx_violation *tell(struct told *t, uint32_t id, long number, uint32_t flags,
                                        const char *path, size_t len)
{
    union message msg = { .violation = { .kind = STATUS_VIOLATION,
                                         .id = id,
                                         .number = (uint32_t)number,
                                         .flags = flags,
                                         .pid = 7,
                                         .port = 443,
                                         .process = "sh",
                                         .path_len = (uint32_t)len } };
    int fds[STATUS_MAX_FDS];

    memset(fds, 0xff, sizeof fds);
    memcpy(msg.violation.path, path, len);
    t->run.watch.records[id - 1] = 0;
    assert_true(message_take(&t->run, &msg, WATCH_MSG_HEAD + len, fds));
    const uint16_t record = t->run.watch.records[id - 1];
    return record ? &t->run.violations.list[record - 1] : NULL;
}

static const struct abx_violation *tell_write(struct told *t, uint32_t id, const char *path)
{
    return tell(t, id, SYS_openat, 0, path, strlen(path));
}

static const struct abx_violation *tell_connect(struct told *t)
{
    return tell(t, 1, SYS_connect, WATCH_INET, DOCUMENTATION, 4);
}

static void what_is_new_is_noticed_once(void **state)
{
    struct told t;

    begin(&t, state, "monitor", "full");
    const struct abx_violation *v = tell_write(&t, 1, "/var/tmp/told");
    assert_non_null(v);
    assert_string_equal(v->path, "/var/tmp/told");
    assert_string_equal(v->process, "sh");
    assert_int_equal(t.notices, 1);
    assert_string_equal(t.last, v->text);
    v = tell_write(&t, 2, "/var/tmp/told");
    assert_int_equal(v->count, 2);
    assert_int_equal(t.notices, 1);
    assert_null(tell_write(&t, 3, "relative")); /* pid 1 sends none */
    assert_null(tell(&t, 3, SYS_getpid, 0, "/var/tmp/told", 13));
    end(&t);
}

/* Numbers of records come from outside; sent twice they must not fill the memory. */
static void records_end_whatever_is_sent(void **state)
{
    struct told t;
    char path[64];

    begin(&t, state, "monitor", "full");
    for (uint32_t i = 0; i < VIOLATIONS_MAX + 100; i++) {
        (void)snprintf(path, sizeof path, "/var/tmp/told-%u", i);
        const struct abx_violation *v = tell_write(&t, i % WATCH_MAX_RECORDS + 1, path);
        assert_int_equal(v != NULL, i < VIOLATIONS_MAX);
    }
    assert_int_equal(t.run.violations.count, VIOLATIONS_MAX);
    assert_int_equal(t.run.violations.dropped, 100);
    assert_int_equal(t.notices, VIOLATIONS_MAX);
    end(&t);
}

static void grants_fit_the_network(void **state)
{
    struct told t;

    begin(&t, state, "network.mode", "blocked");
    const struct abx_violation *v = tell_connect(&t);
    assert_non_null(v);
    assert_string_equal(v->host, "192.0.2.1");
    assert_int_equal(v->port, 443);
    assert_string_equal(v->grant, "--network filtered --allow-domain 192.0.2.1:443");
    assert_null(tell(&t, 1, SYS_connect, WATCH_INET, DOCUMENTATION, 3)); /* no address */
    end(&t);
    begin(&t, state, "network.mode", "filtered");
    v = tell_connect(&t);
    assert_non_null(v);
    assert_string_equal(v->grant, "");
    assert_string_equal(v->rule, "network.mode filtered");
    assert_non_null(strstr(v->note, "went around it"));
    end(&t);
    begin(&t, state, "network.mode", "allowed");
    assert_null(tell_connect(&t)); /* nobody refused it */
    end(&t);
}

static void who_does_not_watch_keeps_nothing(void **state)
{
    struct told t;

    begin(&t, state, "monitor", "off");
    assert_null(t.run.watch.tell);
    assert_null(tell_write(&t, 1, "/var/tmp/told"));
    command_keep_plan(t.command, &t.run);
    assert_non_null(t.command->arena.blocks); /* still the command's */
    end(&t);
}

/* What a plan says outlives the command only where somebody will tell something. */
static void a_plan_is_kept_for_those_who_tell(void **state)
{
    struct told t;

    begin(&t, state, "monitor", "full");
    t.run.start.value = STATUS_WATCHED;
    command_keep_plan(t.command, &t.run);
    assert_non_null(t.command->arena.blocks); /* what was kept is a copy */
    t.command->plan = NULL;
    abx_command_free(t.command);
    t.command = NULL;
    assert_non_null(tell_write(&t, 1, "/var/tmp/told"));
    end(&t);

    begin(&t, state, "monitor", "full");
    t.run.start.value = 0; /* the kernel gave no listener */
    command_keep_plan(t.command, &t.run);
    assert_non_null(t.command->arena.blocks);
    assert_null(t.run.watch.tell);
    assert_int_equal(t.run.watch.level, WATCH_FULL);
    assert_null(tell_write(&t, 1, "/var/tmp/told"));
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        API_TEST(what_is_new_is_noticed_once),
        API_TEST(records_end_whatever_is_sent),
        API_TEST(grants_fit_the_network),
        API_TEST(who_does_not_watch_keeps_nothing),
        API_TEST(a_plan_is_kept_for_those_who_tell),
    };

    return cmocka_run_group_tests_name("told", tests, NULL, NULL);
}
