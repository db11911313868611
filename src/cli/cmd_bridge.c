/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox bridge: a Unix socket that leads to a TCP address, until a signal comes. */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/proxy_options.h"

#define USAGE           "agentbox bridge DIRECTORY ADDRESS:PORT"
#define STOP_MS         5000
#define CONNECTIONS_MAX 10000
#define DIAL_MS_MAX     600000

enum { OPTION_LABEL, OPTION_CONNECTIONS, OPTION_DIAL, OPTION_JSON, OPTION_HELP };

const struct opt_spec bridge_options[BRIDGE_OPTION_COUNT] = {
    { OPTION_LABEL, 0, "label", "NAME", "The socket is NAME.sock (bridge)." },
    { OPTION_CONNECTIONS, 0, "max-connections", "N", "At one time (100); others wait." },
    { OPTION_DIAL, 0, "dial-timeout", "MS", "For a connection to the target (5000)." },
    { OPTION_JSON, 0, "json", NULL, "Print JSON." },
    { OPTION_HELP, 'h', "help", NULL, "This text." },
};

struct bridge_words {
    abx_bridge_options options;
    bool json, help;
};

static int read_number(const char *name, const char *text, uint64_t max, int32_t *ret)
{
    uint64_t value;

    if (!str_to_u64(text, max, &value) || value == 0)
        return cli_misuse("`agentbox bridge --help` says what it is for",
                          "--%s '%s': not a number from 1 to %u", name, text, (unsigned)max);
    *ret = (int32_t)value;
    return 0;
}

static int read_operand(struct bridge_words *w, const char *word)
{
    if (!w->options.socket_dir)
        w->options.socket_dir = word;
    else if (!w->options.target)
        w->options.target = word;
    else
        return cli_misuse(USAGE, "'%s' is not expected here", word);
    return 0;
}

static int read_words(struct bridge_words *w, const struct cli_command *command, int argc,
                      char **argv)
{
    struct opt opt;
    int code = 0;

    opt_init(&opt, command->options, command->option_count, argc - 1, argv + 1, 0);
    for (int id; code == 0 && (id = opt_next(&opt)) != OPT_END;) {
        if (id == OPTION_LABEL)
            w->options.label = opt.value;
        else if (id == OPTION_CONNECTIONS)
            code = read_number("max-connections", opt.value, CONNECTIONS_MAX,
                               &w->options.max_connections);
        else if (id == OPTION_DIAL)
            code = read_number("dial-timeout", opt.value, DIAL_MS_MAX, &w->options.dial_timeout_ms);
        else if (id == OPTION_JSON)
            w->json = true;
        else if (id == OPTION_HELP)
            w->help = true;
        else if (id == OPT_OPERAND)
            code = read_operand(w, opt.value);
        else
            return cli_bad_option(command, &opt, id);
    }
    if (code != 0 || w->help)
        return code;
    return w->options.target ? 0 : cli_misuse(USAGE, "bridge needs a directory and a target");
}

static void print_path(const char *path, bool json)
{
    _buf_ struct buf out = { .limit = 4096 };
    struct json j;

    json_init(&j, &out);
    json_object(&j);
    json_pair_str(&j, "event", "listening");
    json_pair_str(&j, "path", path);
    json_object_end(&j);
    (void)printf("%s\n", json && !out.failed ? out.data : path);
    (void)fflush(stdout);
}

static int run_bridge(const struct bridge_words *w)
{
    abx_error *err = NULL;
    abx_bridge *b = NULL;
    int signals = cli_open_signals();
    struct pollfd wait = { .fd = signals, .events = POLLIN };

    if (signals < 0)
        return cli_misuse(NULL, "cannot watch for signals");
    int32_t code = abx_bridge_new(&w->options, &b, &err);
    if (code == ABX_OK)
        code = abx_bridge_start(b, &err);
    if (code == ABX_OK) {
        print_path(abx_bridge_path(b), w->json);
        while (poll(&wait, 1, -1) < 0 && errno == EINTR)
            continue;
        code = abx_bridge_shutdown(b, STOP_MS, &err);
    }
    abx_bridge_free(b);
    return code == ABX_OK ? 0 : cli_fail(err);
}

CLI_COMMAND(bridge)
{
    struct bridge_words w = { .options = { .size = sizeof w.options } };
    int code = read_words(&w, command, argc, argv);

    if (code != 0)
        return code;
    return w.help ? cli_help(command) : run_bridge(&w);
}
