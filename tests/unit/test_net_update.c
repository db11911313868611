/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New rules while there is work: what is allowed before and after loses no connection, what is no
 * longer allowed reaches nobody from the moment on that the update has returned, whether it is
 * being resolved, dialled, or served; and one manager's update is no other's.
 */
#include "lib/net_case.h"

#define PHASES 6

/* ---- under load ---- */

/*
 * Others hammer all the time (one that has no answer yet when its host is no longer allowed gets
 * none); whoever is told that rules changed sees them, at once.
 */
static void an_update_under_load_loses_and_lets_through_nothing(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command(
        c,
        "load() { while [ ! -e stop ]; do get 127.0.0.1; done >load.$1; }; "
        "for i in 1 2 3 4; do load $i & done; "
        "for n in 1 2 3 4 5 6; do touch ready.$n; while [ ! -e phase.$n ]; do sleep 0.005; done; "
        "for i in 1 2 3 4 5; do get 127.0.0.1; done; done; "
        "touch stop; wait; cat load.* | sort -u | grep -v none");
    abx_process *p = net_spawn(m, command);
    char name[32];

    for (int n = 1; n <= 6; n++) {
        (void)snprintf(name, sizeof name, "ready.%d", n);
        net_await_file(c, name);
        net_update(m, n % 2 ? NULL : "127.0.0.1");
        (void)snprintf(name, sizeof name, "phase.%d", n);
        net_make_file(c, name);
    }
    abx_result *r = api_wait(p, 3 * NET_WAIT_MS);
    const char *no = "403\n403\n403\n403\n403\n", *yes = "200\n200\n200\n200\n200\n";
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, "%s%s%s%s%s%s200\n403\n", no, yes, no, yes, no, yes);
    assert_string_equal(abx_result_stdout(r, NULL), wanted);
    abx_result_free(r);
    abx_process_free(p);
    abx_command_free(command);
    abx_manager_free(m);
}

/* ---- an update waits for the role ---- */

/* The proxy's process, a child of ours. */
static pid_t find_role(void)
{
    DIR *d = opendir("/proc");
    pid_t found = 0;

    assert_non_null(d);
    for (const struct dirent *e; !found && (e = readdir(d));) {
        char path[300], text[64] = "", stat[512] = "";
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        (void)!read(fd, text, sizeof text - 1);
        (void)close(fd);
        (void)snprintf(path, sizeof path, "/proc/%s/stat", e->d_name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        (void)!read(fd, stat, sizeof stat - 1);
        (void)close(fd);
        const char *rest = strrchr(stat, ')');
        if (rest && strlen(rest) > 4 && strtol(rest + 4, NULL, 10) == getpid() && /* ") S 1" */
            memcmp(text, "agentbox\0net-role", 17) == 0)
            found = (pid_t)strtol(e->d_name, NULL, 10);
    }
    (void)closedir(d);
    return found;
}

struct late_update {
    abx_manager *m;
    _Atomic bool returned;
};

static void *update_late(void *arg)
{
    struct late_update *late = arg;

    net_update(late->m, NULL);
    late->returned = true;
    return NULL;
}

/* That it has not returned is looked at for a moment: a fault may be missed, never invented. */
static void an_update_returns_when_the_proxy_has_the_rules_not_before(void **state)
{
    struct api_case *c = *state;
    struct late_update late = { .m = net_manager("127.0.0.1", NULL) };
    abx_command *command = net_command_twice(c);
    abx_process *p = net_spawn(late.m, command);
    pthread_t thread;

    net_await_file(c, "up");
    pid_t role = find_role();
    assert_true(role > 1);
    assert_int_equal(kill(role, SIGSTOP), 0);
    assert_int_equal(pthread_create(&thread, NULL, update_late, &late), 0);
    usleep(200000);
    bool early = late.returned;
    assert_int_equal(kill(role, SIGCONT), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(early);
    net_make_file(c, "go");
    net_finish(p, command, "200\n403\n");
    abx_manager_free(late.m);
}

static void expect_output(const struct api_case *c, abx_manager *m, const char *text,
                          const char *output)
{
    abx_command *command = net_command(c, text);
    abx_process *p = net_spawn(m, command);
    net_finish(p, command, output);
}

/* The role has given up the sockets that it would need: it ends, and the next has them. */
static void mitm_proxy_that_is_added_takes_a_new_proxy(void **state)
{
    struct api_case *c = *state;
    abx_manager *m = net_manager("127.0.0.1", NULL);
    abx_command *command = net_command_twice(c);
    abx_process *p = net_spawn(m, command);
    abx_config *config = net_config("127.0.0.1");
    abx_error *e = NULL;

    net_await_file(c, "up");
    api_ok(abx_config_set_string(config, "network.mitmProxy.socketPath", "/run/mitm.sock", &e), &e);
    api_ok(abx_config_append(config, "network.mitmProxy.domains", "mitm.test", &e), &e);
    api_ok(abx_manager_update(m, config, &e), &e);
    abx_config_free(config);
    net_make_file(c, "go");
    net_finish(p, command, "200\nnone\n");
    expect_output(c, m, "get 127.0.0.1", "200\n");
    abx_manager_free(m);
}

/* ---- two managers, opposite rules ---- */

static struct echo_server toggled[2]; /* one for each manager; net_server is always allowed */

/* always: asks for the first server; toggled: for the second, and counts its tries. */
static abx_command *load_command(const struct api_case *c, unsigned i)
{
    static const char text[] =
        "always() { while [ ! -e stop ]; do get 127.0.0.1; done | sort -u >always.%u.$1; }; "
        "toggled() { n=0; while [ ! -e stop ]; do PORT=%u get 127.0.0.1; n=$((n + 1)); "
        "echo $n >tries.%u; done | sort -u >toggled.%u; }; "
        "always 1 & always 2 & toggled & wait; cat always.%u.*; cat toggled.%u | grep -v none";
    char *all = NULL;

    assert_true(asprintf(&all, text, i, toggled[i].port, i, i, i, i) > 0);
    abx_command *command = net_command(c, all);
    free(all);
    return command;
}

static void set_rules(abx_manager *m, unsigned i, bool open)
{
    abx_config *config = NULL;
    abx_error *e = NULL;
    char text[64];

    (void)snprintf(text, sizeof text, "127.0.0.1:%u", net_server.port);
    config = net_config(text);
    (void)snprintf(text, sizeof text, "127.0.0.1:%u", toggled[i].port);
    if (open)
        api_ok(abx_config_append(config, "network.allowedDomains", text, &e), &e);
    api_ok(abx_manager_update(m, config, &e), &e);
    abx_config_free(config);
}

static unsigned tries(const struct api_case *c, unsigned i)
{
    char path[128], text[32] = "";

    (void)snprintf(path, sizeof path, "%s/tries.%u", c->dir, i);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof text - 1);
        (void)close(fd);
    }
    return (unsigned)strtoul(text, NULL, 10);
}

static void await_tries(const struct api_case *c, unsigned i, unsigned more)
{
    unsigned last = 0;

    for (int64_t end = api_now_ms() + NET_WAIT_MS; last < more; usleep(2000)) {
        unsigned now = tries(c, i);

        last = now > last ? now : last; /* a file that is being written is empty */
        if (api_now_ms() > end)
            fail_msg("%u of %u tries", last, more);
    }
}

static unsigned tries_now(const struct api_case *c, unsigned i)
{
    unsigned n = tries(c, i);

    for (int k = 0; k < 1000 && n == 0; k++, n = tries(c, i))
        usleep(2000);
    return n;
}

/* The listener's queue is in order: who came before us was counted before we hear something. */
static unsigned visit(struct echo_server *s)
{
    char text[8];
    int fd = echo_connect(s->port);

    assert_true(fd >= 0);
    assert_int_equal(recv(fd, text, 5, MSG_WAITALL), 5);
    (void)close(fd);
    return s->calls;
}

static void two_managers_change_their_rules_in_opposite_ways_under_load(void **state)
{
    struct api_case *c = *state;
    abx_manager *m[2] = { net_manager("127.0.0.1", NULL), net_manager("127.0.0.1", NULL) };
    abx_command *commands[2];
    abx_process *p[2];

    for (unsigned i = 0; i < 2; i++) {
        set_rules(m[i], i, true);
        commands[i] = load_command(c, i);
        p[i] = net_spawn(m[i], commands[i]);
    }
    for (unsigned i = 0; i < 2; i++)
        await_tries(c, i, 3);
    for (unsigned phase = 0; phase < PHASES; phase++) {
        unsigned open = phase % 2, closed = !open;

        set_rules(m[open], open, true);
        set_rules(m[closed], closed, false);
        unsigned before = visit(&toggled[closed]), calls = toggled[open].calls;
        for (unsigned i = 0; i < 2; i++)
            await_tries(c, i, tries_now(c, i) + 8);
        assert_int_equal(visit(&toggled[closed]), before + 1);
        assert_true(toggled[open].calls > calls);
    }
    net_make_file(c, "stop");
    for (unsigned i = 0; i < 2; i++) {
        abx_result *r = api_wait(p[i], NET_WAIT_MS);

        assert_string_equal(abx_result_stdout(r, NULL), "200\n200\n200\n403\n");
        abx_result_free(r);
        abx_process_free(p[i]);
        abx_command_free(commands[i]);
        abx_manager_free(m[i]);
    }
}

static int start_servers(void **state)
{
    return net_start(state) || echo_start(&toggled[0]) || echo_start(&toggled[1]) ? -1 : 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, api_setup, net_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_update_under_load_loses_and_lets_through_nothing),
        TEST(an_update_returns_when_the_proxy_has_the_rules_not_before),
        TEST(mitm_proxy_that_is_added_takes_a_new_proxy),
        TEST(two_managers_change_their_rules_in_opposite_ways_under_load),
    };

    return cmocka_run_group_tests_name("net_update", tests, start_servers, NULL);
}
