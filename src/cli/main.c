/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox: dispatch over commands.def, which also makes the help. */
#include <ctype.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/check_options.h"
#include "cli/cli.h"
#include "cli/config_options.h"
#include "cli/import_options.h"
#include "cli/init_options.h"
#include "cli/log_options.h"
#include "cli/proxy_options.h"
#include "cli/run_options.h"

enum { OPTION_JSON_ONLY, OPTION_HELP_ONLY };
#define HELP_ROW                                                                                   \
    {                                                                                              \
        OPTION_HELP_ONLY, 'h', "help", NULL, "This text."                                          \
    }
#define JSON_ROW                                                                                   \
    {                                                                                              \
        OPTION_JSON_ONLY, 0, "json", NULL, "Print JSON."                                           \
    }

static const struct opt_spec approvals_options[] = { JSON_ROW, HELP_ROW };
static const struct opt_spec doctor_options[] = { JSON_ROW, HELP_ROW };
static const struct opt_spec inside_options[] = { JSON_ROW, HELP_ROW };
static const struct opt_spec rules_options[] = { JSON_ROW, HELP_ROW };
static const struct opt_spec version_options[] = { JSON_ROW, HELP_ROW };
static const struct opt_spec completion_options[] = { HELP_ROW };
static const struct opt_spec help_options[] = { JSON_ROW, HELP_ROW };
#define COUNT_run_options        0 /* known only to the linker; filled in below */
#define COUNT_check_options      CHECK_OPTION_COUNT
#define COUNT_config_options     CONFIG_OPTION_COUNT
#define COUNT_import_options     IMPORT_OPTION_COUNT
#define COUNT_init_options       INIT_OPTION_COUNT
#define COUNT_proxy_options      PROXY_OPTION_COUNT
#define COUNT_approvals_options  ARRAY_LEN(approvals_options)
#define COUNT_bridge_options     BRIDGE_OPTION_COUNT
#define COUNT_completion_options ARRAY_LEN(completion_options)
#define COUNT_log_options        LOG_OPTION_COUNT
#define COUNT_doctor_options     ARRAY_LEN(doctor_options)
#define COUNT_inside_options     ARRAY_LEN(inside_options)
#define COUNT_rules_options      ARRAY_LEN(rules_options)
#define COUNT_version_options    ARRAY_LEN(version_options)
#define COUNT_help_options       ARRAY_LEN(help_options)

static struct cli_command commands[] = {
#define COMMAND(name, options, words, usage, summary, text)                                        \
    { #name, cmd_##name, words, usage, summary, text, options, COUNT_##options },
#include "cli/commands.def"
#undef COMMAND
};

const struct cli_command *cli_commands(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(commands);
    return commands;
}

const struct cli_command *cli_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (str_eq(commands[i].name, name))
            return &commands[i];
    return NULL;
}

/* Can be shown, and typed, as it is. */
static bool is_plain(const char *name)
{
    const char *end = name;

    while (isgraph((unsigned char)*end))
        end++;
    return end > name && *end == '\0';
}

const char *cli_nearest(const char *name)
{
    const char *names[ARRAY_LEN(commands) + 1] = { NULL };

    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    return str_nearest(name, names);
}

/* A word that `agentbox config` takes: "show|validate|…" of its usage. */
static bool is_of_config(const char *name)
{
    const char *words = strchr(cli_find("config")->usage, ' ') + 1;
    const size_t len = strlen(name);

    for (;; words++) {
        const size_t n = strcspn(words, "| ");
        if (n == len && memcmp(words, name, n) == 0)
            return true;
        words += n;
        if (*words != '|')
            return false;
    }
}

static int unknown_command(const char *name)
{
    const char *near = cli_nearest(name);
    char hint[160];

    if (is_of_config(name))
        (void)snprintf(hint, sizeof hint, "did you mean agentbox config %s?", name);
    else if (near)
        (void)snprintf(hint, sizeof hint, "did you mean agentbox %s?", near);
    else if (is_plain(name))
        (void)snprintf(hint, sizeof hint, "to run a program: agentbox run -- %.100s", name);
    else
        (void)snprintf(hint, sizeof hint, "`agentbox help` lists the commands");
    return cli_misuse(hint, "'%s' is not a command of agentbox", name);
}

/*
 * A stream that the caller closed must not become one of our own files. What takes its place cannot
 * be used the way the stream would be, so that what is lost is noticed.
 */
static bool open_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 &&
            open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    if (!open_streams())
        return EXIT_AGENTBOX;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (commands[i].options == run_options)
            commands[i].option_count = run_option_count;

    const char *name = argc > 1 ? argv[1] : "help";
    if (str_eq(name, "--help") || str_eq(name, "-h"))
        name = "help";
    else if (str_eq(name, "--version") || str_eq(name, "-V"))
        name = "version";
    else if (name[0] == '-')
        return cli_misuse("agentbox run [options] -- PROGRAM; agentbox help",
                          "'%s': options stand behind a command", name);
    else if (argc == 2 && str_eq(name, "net-role"))
        return cli_net_role();
    else if (argc == 5 && str_eq(name, "net-connect"))
        return cli_net_connect(argv + 2);
    const struct cli_command *command = cli_find(name);
    if (!command)
        return unknown_command(name);
    int code = command->run(command, argc > 1 ? argc - 1 : 1, argc > 1 ? argv + 1 : argv);
    return cli_output_is_lost() ? EXIT_AGENTBOX : code;
}
