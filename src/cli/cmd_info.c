/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox inside, version, help: what needs no sandbox. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/json.h"
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
        (void)printf("  %-10s %s\n", all[i].name, all[i].summary);
    (void)printf(
        "\nStart with:\n"
        "  agentbox run -- ls            the current directory may be written, your secrets "
        "are hidden\n"
        "  agentbox plan                 what exactly that enforces\n"
        "  agentbox doctor               whether this host can do it\n"
        "\n`agentbox COMMAND --help` explains each.\n");
    return 0;
}

/* Everything that the program says about itself, for man pages and other tools. */
static void put_option(struct json *j, const struct opt_spec *spec)
{
    const char short_name[] = { spec->short_name, '\0' };

    json_object(j);
    json_key(j, "short");
    json_str(j, spec->short_name ? short_name : NULL);
    json_key(j, "long");
    json_str(j, spec->long_name);
    json_key(j, "value");
    json_str(j, spec->value);
    json_key(j, "help");
    json_str(j, spec->help);
    json_object_end(j);
}

static void put_command(struct json *j, const struct cli_command *command)
{
    json_object(j);
    json_key(j, "name");
    json_str(j, command->name);
    json_key(j, "usage");
    json_str(j, command->usage);
    json_key(j, "summary");
    json_str(j, command->summary);
    json_key(j, "text");
    json_str(j, command->text);
    json_key(j, "options");
    json_array(j);
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].help) /* NULL: hidden */
            put_option(j, &command->options[i]);
    json_array_end(j);
    json_object_end(j);
}

static int print_json(const char *topic)
{
    _buf_ struct buf b = { .limit = (size_t)1 << 20 };
    struct json j;
    size_t count;
    const struct cli_command *all = cli_commands(&count);

    json_init(&j, &b);
    json_object(&j);
    json_key(&j, "commands");
    json_array(&j);
    for (size_t i = 0; i < count; i++)
        if (!topic || str_eq(all[i].name, topic))
            put_command(&j, &all[i]);
    json_array_end(&j);
    json_key(&j, "keys");
    json_array(&j);
    for (size_t i = 0; abx_key_name(i) && (!topic || str_eq(topic, "keys")); i++) {
        json_object(&j);
        json_key(&j, "name");
        json_str(&j, abx_key_name(i));
        json_key(&j, "help");
        json_str(&j, abx_key_help(i));
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    (void)buf_putc(&b, '\n');
    return !b.failed && fputs(b.data, stdout) >= 0 ? 0 : EXIT_AGENTBOX;
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
    const struct cli_command *about = topic ? cli_find(topic) : NULL;
    bool keys = topic && str_eq(topic, "keys");
    if (json && (!topic || about || keys))
        return print_json(topic);
    if (!topic)
        return print_overview();
    if (keys)
        return print_keys();
    if (!about)
        return cli_misuse("`agentbox help` lists the commands", "there is no help on '%s'", topic);
    return cli_help(about);
}
