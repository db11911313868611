/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-man 1|5: the manual pages, from the same tables as the program's help: agentbox(1) from
 * src/cli/{commands,options}.def, agentbox-config(5) from src/policy/schema.def. Prints man(7).
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Text of ours as text for roff: nothing in it is a request or an escape. */
static void put(const char *text)
{
    const char *line = text;

    for (const char *c = text; *c; c++) {
        if (c == line && (*c == '.' || *c == '\''))
            fputs("\\&", stdout);
        if (*c == '\\')
            fputs("\\e", stdout);
        else if (*c == '-')
            fputs("\\-", stdout);
        else
            putchar(*c);
        if (*c == '\n')
            line = c + 1;
    }
}

static void put_bold(const char *text)
{
    fputs("\\fB", stdout);
    put(text);
    fputs("\\fR", stdout);
}

static void put_lines(const char *text)
{
    printf(".nf\n");
    put(text);
    if (*text && text[strlen(text) - 1] != '\n')
        putchar('\n');
    printf(".fi\n");
}

static void put_command(const char *usage, const char *summary, const char *text)
{
    const char *end = usage + strcspn(usage, "\n");
    char first[256];

    (void)snprintf(first, sizeof first, "agentbox %.*s", (int)(end - usage), usage);
    printf(".TP\n");
    put_bold(first);
    for (; *end; end = *end ? end + strcspn(end + 1, "\n") + 1 : end) {
        const char *more = end + 1 + strspn(end + 1, " ");
        (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(more, "\n"), more);
        printf("\n.TQ\n");
        put_bold(first);
    }
    printf("\n");
    put(summary);
    printf("\n");
    if (*text)
        put_lines(text);
}

static void put_option(char short_name, const char *name, const char *value, const char *help)
{
    char text[128] = "";

    if (!name && !short_name) {
        printf(".SS ");
        put(help);
        printf("\n");
        return;
    }
    if (short_name)
        (void)snprintf(text, sizeof text, "-%c%s", short_name, name ? ", " : "");
    printf(".TP\n");
    if (name) {
        size_t used = strlen(text);
        (void)snprintf(text + used, sizeof text - used, "--%s", name);
    }
    put_bold(text);
    if (value) {
        fputs(" \\fI", stdout);
        put(value);
        fputs("\\fR", stdout);
    }
    printf("\n");
    put(help);
    printf("\n");
}

static void put_key(const char *name, const char *type, const char *words, const char *fallback,
                    int per_call, const char *help, const char *example)
{
    printf(".TP\n");
    put_bold(name);
    fputs(" (", stdout);
    if (strchr(words, '|'))
        put(words);
    else
        for (const char *c = type; *c; c++)
            putchar(tolower((unsigned char)*c));
    if (*fallback) {
        fputs("; default ", stdout);
        put(fallback);
    }
    fputs(per_call ? ")\n" : "; not for single commands)\n", stdout);
    put(help);
    printf("\n");
    if (*example) {
        printf(".br\nExample: ");
        put(example);
        printf("\n");
    }
}

static void page_program(void)
{
    printf(
        ".TH AGENTBOX 1 \"\" \"agentbox\"\n.SH NAME\nagentbox \\- run commands that nobody vouches "
        "for in a sandbox of the host's kernel\n.SH SYNOPSIS\n.B agentbox\n.I COMMAND\n"
        "[options]\n.SH COMMANDS\n");
#define COMMAND(name, options, usage, summary, text) put_command(usage, summary, text);
#include "cli/commands.def"
#undef COMMAND
    printf(".SH OPTIONS OF RUN, PLAN AND WHY\n");
#define OPTION(id, short_name, long_name, value, kind, key, help)                                  \
    put_option(short_name, long_name, value, help);
#include "cli/options.def"
#undef OPTION
    printf(".SH SEE ALSO\n.BR agentbox-config (5)\n");
}

static void page_config(void)
{
    printf(
        ".TH AGENTBOX-CONFIG 5 \"\" \"agentbox\"\n.SH NAME\nagentbox-config \\- configuration of "
        "agentbox\n.SH FILES\nWeaker first; lists are joined, other values replaced by the "
        "stronger file.\n");
    put_lines("/etc/agentbox/config.{json,jsonc,yaml}\n"
              "$XDG_CONFIG_HOME/agentbox/config.{json,jsonc,yaml}\n"
              ".agentbox.{json,jsonc,yaml} in the working directory, or upwards to the top of its "
              "git repository\n");
    printf(".PP\nA project's file may always narrow. What it widens counts once it is trusted:\n"
           ".B agentbox config trust\n.SH KEYS\n");
#define KEY(id, name, type, words, fallback, per_call, help, example)                              \
    put_key(name, #type, words, fallback, per_call, help, example);
#include "policy/schema.def"
#undef KEY
    printf(".SH SEE ALSO\n.BR agentbox (1)\n");
}

int main(int argc, char **argv)
{
    if (argc != 2 || (strcmp(argv[1], "1") != 0 && strcmp(argv[1], "5") != 0)) {
        fprintf(stderr, "usage: gen-man 1|5\n");
        return 2;
    }
    if (argv[1][0] == '1')
        page_program();
    else
        page_config();
    return ferror(stdout) ? 1 : 0;
}
