/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox inside, version, help: what needs no sandbox. */
#include <stdlib.h>

#include "base/str.h"
#include "cli/simple.h"

CLI_COMMAND(inside)
{
    bool json = false;
    int code = simple_read(command, argc, argv, &json, NULL);

    if (code)
        return code - 1;
    bool inside = abx_inside() == 1;
    if (json)
        (void)printf("{\"inside\":%s}\n", inside ? "true" : "false");
    else
        (void)puts(inside ? "inside sandbox" : "outside sandbox");
    return inside ? 0 : 1;
}

CLI_COMMAND(version)
{
    bool json = false;
    int code = simple_read(command, argc, argv, &json, NULL);

    if (code)
        return code - 1;
    if (json)
        (void)printf("{\"version\":\"%s\"}\n", abx_version());
    else
        (void)printf("agentbox %s\n", abx_version());
    return 0;
}

static int print_overview(void)
{
    size_t count;
    const struct cli_command *all = cli_commands(&count);

    (void)printf(
        "agentbox: run commands that nobody vouches for in a sandbox of the host's kernel\n\n"
        "Usage: agentbox COMMAND [options]\n\n");
    for (size_t i = 0; i < count; i++)
        (void)printf("  %-9s %s\n", all[i].name, all[i].summary);
    (void)printf(
        "\nStart with:\n"
        "  agentbox run -- ls            the current directory may be written, your secrets "
        "are hidden\n"
        "  agentbox plan                 what exactly that enforces\n"
        "  agentbox doctor               whether this host can do it\n"
        "\n`agentbox COMMAND --help` explains each.\n");
    return 0;
}

static int print_keys(void)
{
    (void)printf("Keys of the configuration (--set KEY=VALUE, abx_config_set_string):\n\n");
    for (size_t i = 0; abx_key_name(i); i++)
        (void)printf("  %-40s %s\n", abx_key_name(i), abx_key_help(i));
    return 0;
}

CLI_COMMAND(help)
{
    const char *topic = NULL;
    bool json = false;
    int code = simple_read(command, argc, argv, &json, &topic);

    if (code)
        return code - 1;
    if (!topic)
        return print_overview();
    if (str_eq(topic, "keys"))
        return print_keys();
    const struct cli_command *about = cli_find(topic);
    if (!about)
        return cli_misuse("agentbox help lists the commands", "there is no help on '%s'", topic);
    return cli_help(about);
}
