/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox proxy: the filtering proxy on its own, one line on stdout for each listener and
 * decision. agentbox net-role: the process behind it; refuses to be started by hand.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/proxy_options.h"
#include "cli/run_options.h"
#include "cli/signals.h"
#include "net/role.h"

#define STOP_MS 5500 /* a little more than the proxy gives its connections */

enum {
    OPTION_LISTEN,
    OPTION_ALLOW,
    OPTION_DENY,
    OPTION_CONFIG,
    OPTION_NO_CONFIG,
    OPTION_SET,
    OPTION_HOSTS,
    OPTION_RESOLV,
    OPTION_DNS_PORT,
    OPTION_JSON,
    OPTION_QUIET,
    OPTION_HELP,
};

const struct opt_spec proxy_options[PROXY_OPTION_COUNT] = {
    { OPTION_LISTEN, 0, "listen", "ADDRESS:PORT", "Where to listen (127.0.0.1:0); repeatable." },
    { OPTION_ALLOW, 0, "allow-domain", "PATTERN",
      "May be reached: host, *.host, address or network, each with an optional :port." },
    { OPTION_DENY, 0, "deny-domain", "PATTERN", "May not be reached although it is allowed." },
    { OPTION_CONFIG, 0, "config", "FILE", "Read FILE instead of the project's .agentbox.*." },
    { OPTION_NO_CONFIG, 0, "no-config", NULL,
      "Read neither your configuration nor the project's; the system's counts." },
    { OPTION_SET, 0, "set", "KEY=VALUE",
      "Any key of the configuration; those of network.* matter." },
    { OPTION_HOSTS, 0, "hosts-file", "FILE", "Instead of /etc/hosts." },
    { OPTION_RESOLV, 0, "resolv-file", "FILE", "Instead of /etc/resolv.conf." },
    { OPTION_DNS_PORT, 0, "dns-port", "PORT", NULL },
    { OPTION_JSON, 0, "json", NULL, "Print JSON lines." },
    { OPTION_QUIET, 'q', "quiet", NULL, "No line for what is allowed." },
    { OPTION_HELP, 'h', "help", NULL, "This text." },
};

struct proxy_words {
    const char **listen, **allow, **deny, **set;
    size_t listen_count, allow_count, deny_count, set_count;
    const char *config, *hosts, *resolv, *dns_port;
    bool no_config, json, quiet, help;
};

int cli_net_role(void)
{
    int code = role_main();

    if (code != ROLE_EXIT_MISUSED)
        _exit(code); /* what runs at a usual exit may want more than it is left with */
    return cli_misuse("it is started by agentbox itself; for a proxy: agentbox proxy",
                      "net-role has no control socket");
}

/* ---- options ---- */

static int read_words(struct proxy_words *w, const struct cli_command *command, int argc,
                      char **argv)
{
    struct opt opt;

    opt_init(&opt, command->options, command->option_count, argc - 1, argv + 1, 0);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id == OPTION_LISTEN)
            w->listen[w->listen_count++] = opt.value;
        else if (id == OPTION_ALLOW)
            w->allow[w->allow_count++] = opt.value;
        else if (id == OPTION_DENY)
            w->deny[w->deny_count++] = opt.value;
        else if (id == OPTION_SET)
            w->set[w->set_count++] = opt.value;
        else if (id == OPTION_CONFIG)
            w->config = opt.value;
        else if (id == OPTION_HOSTS)
            w->hosts = opt.value;
        else if (id == OPTION_RESOLV)
            w->resolv = opt.value;
        else if (id == OPTION_DNS_PORT)
            w->dns_port = opt.value;
        else if (id == OPTION_NO_CONFIG)
            w->no_config = true;
        else if (id == OPTION_JSON)
            w->json = true;
        else if (id == OPTION_QUIET)
            w->quiet = true;
        else if (id == OPTION_HELP)
            w->help = true;
        else
            return cli_bad_option(command, &opt, id);
    }
    return 0;
}

static int append_all(abx_config *c, const char *key, const char *const *values, size_t count,
                      const char *option)
{
    abx_error *err = NULL;

    for (size_t i = 0; i < count; i++)
        if (abx_config_append(c, key, values[i], &err) != ABX_OK)
            return cli_fail_option(err, option);
    return 0;
}

static int make_config(const struct proxy_words *w, abx_config **ret)
{
    abx_config *config = NULL;
    int code = load_config(NULL, w->config, w->no_config, &config);

    if (code == 0)
        code = append_all(config, "network.allowedDomains", w->allow, w->allow_count,
                          "allow-domain");
    if (code == 0)
        code = append_all(config, "network.deniedDomains", w->deny, w->deny_count, "deny-domain");
    for (size_t i = 0; i < w->set_count && code == 0; i++)
        code = option_set(config, w->set[i]);
    if (code != 0) {
        abx_config_free(config);
        return code;
    }
    *ret = config;
    return 0;
}

/* ---- output ---- */

static void print_json(void *user, const char *json)
{
    (void)user;
    (void)printf("%s\n", json);
    (void)fflush(stdout);
}

/* The message alone: it says host, reason and what to do. */
static void print_text(void *user, const char *json)
{
    const char *message = strstr(json, "\"message\":\"");
    const char *event = strstr(json, "\"event\":\"");
    size_t len = message ? strlen(message) : 0;

    (void)user;
    if (!message || !event || len < 14)
        return;
    message += 11;
    event += 9;
    (void)printf("%.*s: %.*s\n", (int)strcspn(event, "\""), event, (int)(len - 13), message);
    (void)fflush(stdout);
}

static int start_listening(abx_proxy *p, const struct proxy_words *w)
{
    static const char *const any[] = { "127.0.0.1:0" };
    const char *const *list = w->listen_count ? w->listen : any;
    size_t count = w->listen_count ? w->listen_count : 1;

    for (size_t i = 0; i < count; i++) {
        abx_error *err = NULL;
        int32_t port = 0;

        if (abx_proxy_listen(p, list[i], &port, &err) != ABX_OK)
            return cli_fail(err);
        int host = (int)(strrchr(list[i], ':') - list[i]);
        (void)printf(w->json ? "{\"event\":\"listening\",\"address\":\"%.*s\",\"port\":%d}\n"
                             : "listening on %.*s:%d\n",
                     host, list[i], port);
    }
    (void)fflush(stdout);
    return 0;
}

/* ---- the run ---- */

/* Until a signal, or until the role is gone. */
static int serve(abx_proxy *p, int signals)
{
    abx_error *err = NULL;

    for (;;) {
        struct pollfd fds[] = { { .fd = abx_proxy_fd(p), .events = POLLIN },
                                { .fd = signals, .events = POLLIN } };

        if (poll(fds, ARRAY_LEN(fds), -1) < 0 && errno != EINTR)
            return cli_misuse(NULL, "wait for the proxy: %s", strerrordesc_np(errno));
        if (fds[1].revents)
            return 0;
        if (fds[0].revents && abx_proxy_dispatch(p, 0, &err) != ABX_OK)
            return cli_fail(err);
    }
}

static int run_proxy(const struct proxy_words *w, const abx_config *config, int signals)
{
    abx_proxy_options options = { .size = sizeof options,
                                  .flags = w->quiet ? 0 : ABX_PROXY_TELL_ALLOWED,
                                  .program = "/proc/self/exe",
                                  .hosts_file = w->hosts,
                                  .resolv_file = w->resolv,
                                  .record = w->json ? print_json : print_text };
    abx_error *err = NULL;
    abx_proxy *p = NULL;
    uint64_t port = 53;

    if (w->dns_port && !str_to_u64(w->dns_port, 65535, &port))
        return cli_misuse(NULL, "--dns-port '%s' is not a port", w->dns_port);
    options.dns_port = (int32_t)port;
    if (abx_proxy_new(config, &options, &p, &err) != ABX_OK)
        return cli_fail(err);
    int code = start_listening(p, w);
    if (code == 0)
        code = serve(p, signals);
    if (code == 0 && abx_proxy_close(p, STOP_MS, &err) != ABX_OK)
        code = cli_fail(err);
    abx_proxy_free(p);
    return code;
}

int cli_open_signals(void)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

    return signals_open(ending, ARRAY_LEN(ending));
}

CLI_COMMAND(proxy)
{
    size_t room = (size_t)MAX_OF(argc, 1);
    const char **words = calloc(4 * room, sizeof *words);
    struct proxy_words w = { .listen = words };
    abx_config *config = NULL;

    if (!words)
        return cli_misuse(NULL, "out of memory");
    w.allow = words + room;
    w.deny = words + 2 * room;
    w.set = words + 3 * room;
    int code = read_words(&w, command, argc, argv);
    if (code == 0 && w.help)
        code = cli_help(command);
    else if (code == 0)
        code = make_config(&w, &config);
    int signals = config ? cli_open_signals() : -1;
    if (config)
        code = signals < 0 ? cli_misuse(NULL, "cannot watch for signals")
                           : run_proxy(&w, config, signals);
    abx_config_free(config);
    free((void *)words);
    return code;
}
