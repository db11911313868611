/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox completion: a script for bash, zsh or fish, made of the same tables as the help, so that
 * no shell knows an option that the program does not, or misses one.
 *
 * How a value is completed follows from its name in the table: words with '|' between them are
 * offered as they are; PATH and FILE are files, DIR is a directory; anything else is the user's to
 * type. What follows the options is a column of the table: words with '|' between them; or, by the
 * usage, a PROGRAM with what that completes for itself. Texts of the tables are ours; they are
 * quoted for the shell all the same.
 */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/simple.h"

#define SCRIPT_MAX ((size_t)1 << 20)

enum value_kind { VALUE_NONE, VALUE_TEXT, VALUE_FILE, VALUE_DIRECTORY, VALUE_WORDS };

static enum value_kind kind_of(const struct opt_spec *spec)
{
    if (!spec->value)
        return VALUE_NONE;
    if (strchr(spec->value, '|'))
        return VALUE_WORDS;
    if (str_eq(spec->value, "PATH") || str_eq(spec->value, "FILE"))
        return VALUE_FILE;
    return str_eq(spec->value, "DIR") ? VALUE_DIRECTORY : VALUE_TEXT;
}

static bool is_shown(const struct opt_spec *spec)
{
    return spec->id != OPT_HEADING && spec->help && (spec->long_name || spec->short_name);
}

static bool takes_program(const struct cli_command *command)
{
    return strstr(command->usage, "PROGRAM");
}

/* The words of a value, with blanks between them. */
static void put_words(struct buf *b, const char *words)
{
    for (; *words; words++)
        (void)buf_putc(b, *words == '|' ? ' ' : *words);
}

static bool is_help(const struct cli_command *command)
{
    return str_eq(command->name, "help");
}

/* What comes behind the options; of "help" the commands themselves. */
static void put_operands(struct buf *b, const struct cli_command *command)
{
    size_t count;
    const struct cli_command *all = cli_commands(&count);

    put_words(b, command->words);
    if (!is_help(command))
        return;
    for (size_t i = 0; i < count; i++)
        (void)buf_printf(b, "%s ", all[i].name);
    (void)buf_puts(b, "keys");
}

/* Text in single quotes; `also` are characters that the tool behind the shell wants escaped. */
static void put_quoted(struct buf *b, const char *text, const char *also)
{
    for (; *text; text++) {
        if (*text == '\'')
            (void)buf_puts(b, "'\\''");
        else if (strchr(also, *text))
            (void)buf_printf(b, "\\%c", *text);
        else
            (void)buf_putc(b, *text);
    }
}

/* "-x" and "--long", each with a blank behind it. */
static void put_names(struct buf *b, const struct opt_spec *spec)
{
    if (spec->short_name)
        (void)buf_printf(b, "-%c ", spec->short_name);
    if (spec->long_name)
        (void)buf_printf(b, "--%s ", spec->long_name);
}

/* ---- bash ---- */

static const char bash_head[] =
    "# bash completion for agentbox; made by: agentbox completion bash\n"
    "_agentbox() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} options='' files='' dirs='' texts='' valued=''\n"
    "    local words='' operands='' program='' i\n"
    "    COMPREPLY=()\n"
    "    if [ \"$cur\" = = ]; then\n"
    "        cur=\n"
    "    elif [ \"$prev\" = = ]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    case $command in\n";

static const char bash_tail[] =
    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$commands\" -- \"$cur\")\n"
    "        return\n"
    "    fi\n"
    "    # A program's own words begin behind the options.\n"
    "    for ((i = 2; program && i < COMP_CWORD; i++)); do\n"
    "        case ${COMP_WORDS[i]} in\n"
    "        --) ((i++)); break ;;\n"
    "        -*) [[ \" $files$dirs$texts$valued\" != *\" ${COMP_WORDS[i]} \"* ]] || ((i++)) ;;\n"
    "        *) break ;;\n"
    "        esac\n"
    "    done\n"
    "    if [ -n \"$program\" ] && [ \"$i\" -lt \"$COMP_CWORD\" ]; then\n"
    "        if declare -F _command_offset >/dev/null; then\n"
    "            _command_offset \"$i\"\n"
    "        else\n"
    "            mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "        fi\n"
    "    elif [ -n \"$words\" ]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
    "    elif [[ \" $files \" == *\" $prev \"* ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "    elif [[ \" $dirs \" == *\" $prev \"* ]]; then\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
    "    elif [[ \" $texts \" == *\" $prev \"* ]]; then\n"
    "        return\n"
    "    elif [[ $cur == -* && $prev != -- ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")\n"
    "    elif [ -n \"$program\" ]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
    "    elif [[ -n $operands && ($COMP_CWORD -eq 2 || \" $operands \" != *\" $prev \"*) ]]; then\n"
    "        mapfile -t COMPREPLY < <(compgen -W \"$operands\" -- \"$cur\")\n"
    "    else\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "    fi\n"
    "}\n"
    "complete -F _agentbox agentbox\n";

static void put_bash_list(struct buf *b, const struct cli_command *command, const char *name,
                          enum value_kind kind)
{
    (void)buf_printf(b, "        %s='", name);
    for (size_t i = 0; i < command->option_count; i++)
        if (is_shown(&command->options[i]) && kind_of(&command->options[i]) == kind)
            put_names(b, &command->options[i]);
    (void)buf_puts(b, "'\n");
}

static void put_bash_command(struct buf *b, const struct cli_command *command)
{
    (void)buf_printf(b, "    %s)\n        options='", command->name);
    for (size_t i = 0; i < command->option_count; i++)
        if (is_shown(&command->options[i]))
            put_names(b, &command->options[i]);
    (void)buf_puts(b, "'\n");
    put_bash_list(b, command, "files", VALUE_FILE);
    put_bash_list(b, command, "dirs", VALUE_DIRECTORY);
    put_bash_list(b, command, "texts", VALUE_TEXT);
    put_bash_list(b, command, "valued", VALUE_WORDS);
    (void)buf_puts(b, "        case $prev in\n");
    for (size_t i = 0; i < command->option_count; i++) {
        const struct opt_spec *spec = &command->options[i];
        if (!is_shown(spec) || kind_of(spec) != VALUE_WORDS || !spec->long_name)
            continue;
        (void)buf_printf(b, "        --%s) words='", spec->long_name);
        put_words(b, spec->value);
        (void)buf_puts(b, "' ;;\n");
    }
    (void)buf_printf(b, "        esac\n        program=%s\n        operands='",
                     takes_program(command) ? "1" : "");
    put_operands(b, command);
    (void)buf_puts(b, "'\n        ;;\n");
}

static void write_bash(struct buf *b, const struct cli_command *all, size_t count)
{
    (void)buf_puts(b, bash_head);
    for (size_t i = 0; i < count; i++)
        put_bash_command(b, &all[i]);
    (void)buf_puts(b, "    esac\n    local commands='");
    for (size_t i = 0; i < count; i++)
        (void)buf_printf(b, "%s ", all[i].name);
    (void)buf_puts(b, "'\n");
    (void)buf_puts(b, bash_tail);
}

/* ---- zsh ---- */

static void put_zsh_option(struct buf *b, const struct opt_spec *spec)
{
    static const char *const actions[] = { "", ":", ":_files", ":_files -/", ":" };
    enum value_kind kind = kind_of(spec);

    if (spec->short_name && spec->long_name)
        (void)buf_printf(b, " \\\n            '*'{-%c,--%s}'", spec->short_name, spec->long_name);
    else if (spec->long_name)
        (void)buf_printf(b, " \\\n            '*--%s", spec->long_name);
    else
        (void)buf_printf(b, " \\\n            '*-%c", spec->short_name);
    if (kind != VALUE_NONE)
        (void)buf_puts(b, spec->long_name ? "=[" : "+[");
    else
        (void)buf_putc(b, '[');
    put_quoted(b, spec->help, "[]:\\");
    (void)buf_putc(b, ']');
    if (kind != VALUE_NONE) {
        (void)buf_putc(b, ':');
        put_quoted(b, kind == VALUE_WORDS ? "word" : spec->value, "[]:\\");
        (void)buf_puts(b, actions[kind]);
    }
    if (kind == VALUE_WORDS) {
        (void)buf_putc(b, '(');
        put_words(b, spec->value);
        (void)buf_putc(b, ')');
    }
    (void)buf_putc(b, '\'');
}

static void put_zsh_command(struct buf *b, const struct cli_command *command)
{
    (void)buf_printf(b, "    %s)\n        _arguments -s -S", command->name);
    for (size_t i = 0; i < command->option_count; i++)
        if (is_shown(&command->options[i]))
            put_zsh_option(b, &command->options[i]);
    if (takes_program(command)) {
        (void)buf_puts(b, " \\\n            '(-)1:program:_command_names -e' "
                          "'*::argument:_normal'\n        ;;\n");
        return;
    }
    (void)buf_puts(b, " \\\n            ");
    if (command->words[0] || is_help(command)) { /* an empty list would offer no files either */
        (void)buf_puts(b, "'1:what:(");
        put_operands(b, command);
        (void)buf_puts(b, ")' ");
    }
    (void)buf_puts(b, "'*:file:_files'\n        ;;\n");
}

static void write_zsh(struct buf *b, const struct cli_command *all, size_t count)
{
    (void)buf_puts(b, "#compdef agentbox\n"
                      "# zsh completion for agentbox; made by: agentbox completion zsh\n"
                      "_agentbox() {\n"
                      "    local -a subcommands\n"
                      "    if (( CURRENT == 2 )); then\n"
                      "        subcommands=(\n");
    for (size_t i = 0; i < count; i++) {
        (void)buf_printf(b, "            '%s:", all[i].name);
        put_quoted(b, all[i].summary, ":\\");
        (void)buf_puts(b, "'\n");
    }
    (void)buf_puts(b, "        )\n"
                      "        _describe -t commands command subcommands\n"
                      "        return\n"
                      "    fi\n"
                      "    local command=$words[2]\n"
                      "    shift words\n"
                      "    (( CURRENT-- ))\n"
                      "    case $command in\n");
    for (size_t i = 0; i < count; i++)
        put_zsh_command(b, &all[i]);
    (void)buf_puts(b, "    esac\n"
                      "}\n"
                      "if [ \"$funcstack[1]\" = _agentbox ]; then\n"
                      "    _agentbox \"$@\"\n"
                      "else\n"
                      "    compdef _agentbox agentbox\n"
                      "fi\n");
}

/* ---- fish ---- */

static void put_fish_option(struct buf *b, const char *command, const struct opt_spec *spec)
{
    static const char *const actions[] = { "", " -x", " -r -F",
                                           " -x -a '(__fish_complete_directories)'", " -x -a '" };
    enum value_kind kind = kind_of(spec);

    (void)buf_printf(b, "complete -c agentbox -n '__fish_seen_subcommand_from %s'", command);
    if (spec->short_name)
        (void)buf_printf(b, " -s %c", spec->short_name);
    if (spec->long_name)
        (void)buf_printf(b, " -l %s", spec->long_name);
    (void)buf_puts(b, actions[kind]);
    if (kind == VALUE_WORDS) {
        put_words(b, spec->value);
        (void)buf_putc(b, '\'');
    }
    (void)buf_puts(b, " -d '");
    for (const char *c = spec->help; *c; c++)
        (void)buf_printf(b, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    (void)buf_puts(b, "'\n");
}

static void put_fish_command(struct buf *b, const struct cli_command *command)
{
    (void)buf_printf(b, "complete -c agentbox -n __fish_use_subcommand -f -a %s -d '",
                     command->name);
    for (const char *c = command->summary; *c; c++)
        (void)buf_printf(b, *c == '\'' || *c == '\\' ? "\\%c" : "%c", *c);
    (void)buf_puts(b, "'\n");
    for (size_t i = 0; i < command->option_count; i++)
        if (is_shown(&command->options[i]))
            put_fish_option(b, command->name, &command->options[i]);
    (void)buf_printf(b, "complete -c agentbox -n '__fish_seen_subcommand_from %s' -a '",
                     command->name);
    if (takes_program(command))
        (void)buf_puts(b, "(__fish_complete_subcommand --fcs-skip=2)");
    else
        put_operands(b, command);
    (void)buf_puts(b, "'\n");
}

static void write_fish(struct buf *b, const struct cli_command *all, size_t count)
{
    (void)buf_puts(b, "# fish completion for agentbox; made by: agentbox completion fish\n");
    for (size_t i = 0; i < count; i++)
        put_fish_command(b, &all[i]);
}

/* ---- the command ---- */

static const struct {
    const char *name;
    void (*write)(struct buf *b, const struct cli_command *all, size_t count);
} shells[] = { { "bash", write_bash }, { "fish", write_fish }, { "zsh", write_zsh } };

CLI_COMMAND(completion)
{
    static const char hint[] = "use bash, zsh or fish";
    _buf_ struct buf b = { .limit = SCRIPT_MAX };
    const char *shell = NULL;
    bool json = false;
    size_t count;
    int code = simple_read(command, argc, argv, &json, &shell);

    if (code)
        return code - 1;
    if (!shell)
        return cli_misuse(hint, "completion takes the name of a shell");
    const struct cli_command *all = cli_commands(&count);
    for (size_t i = 0; i < ARRAY_LEN(shells); i++)
        if (str_eq(shells[i].name, shell)) {
            shells[i].write(&b, all, count);
            return !b.failed && fputs(b.data, stdout) >= 0 ? 0 : EXIT_AGENTBOX;
        }
    return cli_misuse(hint, "completion knows no shell '%s'", shell);
}
