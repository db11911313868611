/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of filtered runs share: a server of this process, managers with what they allow,
 * commands that ask for it by CONNECT, files by which command and test wait for each other. The
 * proxy's process is the program that $AGENTBOX names.
 */
#ifndef ABX_TESTS_NET_CASE_H
#define ABX_TESTS_NET_CASE_H

#include "lib/api_case.h"

#include <fcntl.h>
#include <signal.h>

#include "lib/echo_server.h"

#define NET_WAIT_MS 20000

static struct echo_server net_server;

static inline int net_start(void **state)
{
    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    return echo_start(&net_server);
}

static inline abx_config *net_config(const char *allowed)
{
    abx_config *config = NULL;

    assert_int_equal(abx_config_new(&config, NULL), ABX_OK);
    assert_int_equal(abx_config_set_string(config, "network.mode", "filtered", NULL), ABX_OK);
    if (allowed)
        assert_int_equal(abx_config_append(config, "network.allowedDomains", allowed, NULL),
                         ABX_OK);
    if (allowed && strcmp(allowed, "127.0.0.1") == 0) /* which is one address of "localhost" */
        assert_int_equal(abx_config_append(config, "network.allowedDomains", "::1", NULL), ABX_OK);
    return config;
}

static inline abx_manager *net_manager(const char *allowed, abx_hooks *hooks)
{
    abx_config *config = net_config(allowed);
    abx_hooks plain;
    abx_manager *m = NULL;
    abx_error *e = NULL;

    abx_hooks_init(&plain, sizeof plain);
    hooks = hooks ? hooks : &plain;
    hooks->approve = api_approve;
    if (!hooks->program)
        hooks->program = getenv("AGENTBOX");
    api_ok(abx_manager_new(config, hooks, &m, &e), &e);
    abx_config_free(config);
    return m;
}

static inline void net_update(abx_manager *m, const char *allowed)
{
    abx_config *config = net_config(allowed);
    abx_error *e = NULL;

    api_ok(abx_manager_update(m, config, &e), &e);
    abx_config_free(config);
}

/* connect HOST: what the proxy says, then up to five bytes of the server; get HOST: its code. */
#define NET_FUNCTIONS                                                                              \
    "connect() { exec 3<>/dev/tcp/127.0.0.1/3128 || return; "                                      \
    "printf 'CONNECT %s:%s HTTP/1.1\\r\\n\\r\\n' \"$1\" \"$PORT\" >&3; "                           \
    "read -r _ code _ <&3; while read -r line <&3 && [ ${#line} -gt 1 ]; do :; done; }; "          \
    "get() { code=; connect \"$1\" && [ \"$code\" = 200 ] && head -c 5 <&3 >/dev/null; "           \
    "printf '%s\\n' \"${code:-none}\"; exec 3>&-; }; "

static inline abx_command *net_command(const struct api_case *c, const char *text)
{
    static const char *const argv[] = { "bash", "-c", "text=$TEXT; unset TEXT; eval \"$text\"",
                                        NULL }; /* not for the classifier */
    char *all = NULL, port[16];
    abx_command *command = NULL;
    abx_error *e = NULL;

    assert_true(asprintf(&all, "TEXT=%s%s", NET_FUNCTIONS, text) > 0);
    (void)snprintf(port, sizeof port, "PORT=%u", net_server.port);
    api_ok(abx_command_new(argv, &command, &e), &e);
    api_ok(abx_command_set_cwd(command, c->dir, &e), &e);
    api_ok(abx_command_append(command, "environment.set", port, &e), &e);
    api_ok(abx_command_append(command, "environment.set", all, &e), &e);
    for (int32_t i = 1; i < 3; i++)
        api_ok(abx_command_set_stdio(command, i, ABX_STDIO_CAPTURE, -1, &e), &e);
    free(all);
    return command;
}

static inline abx_result *net_run(const struct api_case *c, abx_manager *m, const char *text)
{
    abx_command *command = net_command(c, text);
    abx_result *result = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_run(m, command, &result, &e), &e);
    abx_command_free(command);
    return result;
}

static inline void net_prints(const struct api_case *c, abx_manager *m, const char *text,
                              const char *wanted)
{
    abx_result *r = net_run(c, m, text);

    if (strcmp(abx_result_stdout(r, NULL), wanted) != 0)
        fail_msg("%s printed '%s', %s", text, abx_result_stdout(r, NULL),
                 abx_result_stderr(r, NULL));
    abx_result_free(r);
}

/* Asks before the file "up" is there, and again once "go" is. */
static inline abx_command *net_command_twice(const struct api_case *c)
{
    return net_command(
        c, "get 127.0.0.1; touch up; while [ ! -e go ]; do sleep 0.01; done; get 127.0.0.1");
}

static inline abx_process *net_spawn(abx_manager *m, abx_command *command)
{
    abx_process *p = NULL;
    abx_error *e = NULL;

    api_ok(abx_manager_spawn(m, command, &p, &e), &e);
    return p;
}

static inline void net_make_file(const struct api_case *c, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", c->dir, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static inline void net_await_file(const struct api_case *c, const char *name)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", c->dir, name);
    for (int64_t end = api_now_ms() + NET_WAIT_MS; access(path, F_OK) < 0; usleep(2000))
        if (api_now_ms() > end)
            fail_msg("%s did not come", name);
}

/* What the commands wrote, and the server's connections, which end a moment later. */
static inline int net_clear(void **state)
{
    struct api_case *c = *state;
    DIR *d = opendir(c->dir);

    for (const struct dirent *e; (e = readdir(d));)
        (void)unlinkat(dirfd(d), e->d_name, 0);
    (void)closedir(d);
    for (int64_t end = api_now_ms() + NET_WAIT_MS; api_open_fds() > c->fds && api_now_ms() < end;)
        usleep(2000);
    return api_teardown(state);
}

/* The run ends by itself, with this output; it and its command are gone then. */
static inline void net_finish(abx_process *process, abx_command *command, const char *output)
{
    abx_result *r = api_wait(process, NET_WAIT_MS);

    assert_string_equal(abx_result_stdout(r, NULL), output);
    abx_result_free(r);
    abx_process_free(process);
    abx_command_free(command);
}

#endif
