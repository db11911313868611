/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox inside, version, help: what needs no sandbox. */
#include <stdlib.h>
#include <string.h>

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

/* Where the second column begins. */
#define COMMAND_COLUMN 14
#define START_COLUMN   22
#define KEY_COLUMN     6

static int print_buf(const struct buf *b)
{
    return !b->failed && fputs(b->data, stdout) >= 0 ? 0 : EXIT_AGENTBOX;
}

/* "  WORD   text", the text from `column` on; in the next line if the word is too long. */
static void put_pair(struct buf *b, const char *word, const char *text, size_t column, size_t width)
{
    bool fits = strlen(word) + 4 <= column;

    (void)buf_printf(b, "  %s%s%*s", word, fits ? "" : "\n",
                     (int)(fits ? column - 2 - strlen(word) : column), "");
    opt_put_words(b, text, column, width);
}

static int print_overview(void)
{
    static const char *const first[][2] = {
        { "agentbox run -- ls", "it may write the current directory; your secrets are hidden" },
        { "agentbox plan", "what exactly that enforces" },
        { "agentbox doctor", "whether this host can do it" },
    };
    _buf_ struct buf b = { .limit = (size_t)1 << 16 };
    size_t count, width = cli_width();
    const struct cli_command *all = cli_commands(&count);

    opt_put_words(
        &b, "agentbox: run commands that nobody vouches for in a sandbox of the host's kernel", 0,
        width);
    (void)buf_puts(&b, "\nUsage: agentbox COMMAND [options]\n\n");
    for (size_t i = 0; i < count; i++)
        put_pair(&b, all[i].name, all[i].summary, COMMAND_COLUMN, width);
    (void)buf_puts(&b, "\nStart with:\n");
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        put_pair(&b, first[i][0], first[i][1], START_COLUMN, width);
    (void)buf_puts(&b, "\n`agentbox COMMAND --help` explains each.\n");
    return print_buf(&b);
}

/* Everything that the program says about itself, for man pages and other tools. */
static void put_option(struct json *j, const struct opt_spec *spec)
{
    const char short_name[] = { spec->short_name, '\0' };

    json_object(j);
    json_pair_str(j, "short", spec->short_name ? short_name : NULL);
    json_pair_str(j, "long", spec->long_name);
    json_pair_str(j, "value", spec->value);
    json_pair_str(j, "help", spec->help);
    json_object_end(j);
}

static void put_command(struct json *j, const struct cli_command *command)
{
    json_object(j);
    json_pair_str(j, "name", command->name);
    json_pair_str(j, "usage", command->usage);
    json_pair_str(j, "summary", command->summary);
    json_pair_str(j, "text", command->text);
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
        json_pair_str(&j, "name", abx_key_name(i));
        json_pair_str(&j, "help", abx_key_help(i));
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    (void)buf_putc(&b, '\n');
    return !b.failed && fputs(b.data, stdout) >= 0 ? 0 : EXIT_AGENTBOX;
}

static int print_keys(void)
{
    _buf_ struct buf b = { .limit = (size_t)1 << 20 };
    size_t width = cli_width();

    opt_put_words(&b, "Keys of the configuration (--set KEY=VALUE, abx_config_set_string):", 0,
                  width);
    (void)buf_putc(&b, '\n');
    for (size_t i = 0; abx_key_name(i); i++)
        put_pair(&b, abx_key_name(i), abx_key_help(i), KEY_COLUMN, width);
    return print_buf(&b);
}

static int unknown_topic(const char *topic)
{
    static const char *const other[] = { "keys", NULL };
    const char *near = cli_nearest(topic);
    char hint[80];

    if (!near)
        near = str_nearest(topic, other);
    (void)snprintf(hint, sizeof hint,
                   near ? "did you mean agentbox help %s?" : "`agentbox help` lists the commands",
                   near);
    return cli_misuse(hint, "there is no help on '%s'", topic);
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
        return unknown_topic(topic);
    return cli_help(about);
}
