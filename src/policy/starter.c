/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that `config init` writes, from schema.def.
 *
 * JSONC in which every key is a comment: as it is, it changes nothing. A line that begins with //
 * and a quote is a key with its example or its default, and ends with a comma; without the // it is
 * valid where it stands. All other comments explain. Aliases are left out. What people look for
 * first comes first.
 */
#include "policy/schema.h"

#include <string.h>

#include "base/str.h"
#include "policy/settings.h"

#define WIDTH 96

static const char *const first[] = { "preset",   "filesystem", "network",       "environment",
                                     "commands", "classifier", "resourceLimits" };

static const char head[] =
    "// Configuration of agentbox. Every key is a comment here; take the // away to set one.\n"
    "// Lists of several files are joined, other values replaced by the later file:\n"
    "// /etc/agentbox, your own, the project's, the command line.\n"
    "//\n"
    "//   agentbox config validate     what is wrong in it, and where\n"
    "//   agentbox config show         what holds, and where it comes from\n"
    "//   agentbox help keys           all keys\n";

static void indent(struct buf *out, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        (void)buf_puts(out, "  ");
}

/* The help text in lines of comments. */
static void write_help(struct buf *out, const char *help, size_t depth)
{
    size_t room = WIDTH - 2 * depth - 3;

    while (*help) {
        size_t n = strlen(help);

        if (n > room) {
            n = room;
            while (n > 0 && help[n] != ' ')
                n--;
        }
        indent(out, depth);
        (void)buf_printf(out, "// %.*s\n", (int)n, help);
        help += n + (help[n] == ' ');
    }
}

static void write_value(struct buf *out, const struct schema_row *row)
{
    const char *quote = row->type == SETTINGS_ENUM || row->type == SETTINGS_PATH ? "\"" : "";

    if (row->example[0])
        (void)buf_puts(out, row->example);
    else
        (void)buf_printf(out, "%s%s%s", quote, row->fallback, quote);
}

static size_t write_rows(struct buf *out, size_t from, const char *prefix, size_t len,
                         size_t depth);

/* One key or one section; returns the first row behind it. */
static size_t write_row(struct buf *out, size_t i, size_t len, size_t depth)
{
    const struct schema_row *row = schema_row(i);
    const char *part = row->name + len, *dot = strchr(part, '.');

    if (schema_is_alias(row))
        return i + 1;
    if (!dot) {
        write_help(out, row->help, depth);
        indent(out, depth);
        (void)buf_printf(out, "// \"%s\": ", part);
        write_value(out, row);
        (void)buf_puts(out, ",\n");
        return i + 1;
    }
    indent(out, depth);
    (void)buf_printf(out, "\"%.*s\": {\n", (int)(dot - part), part);
    size_t end = write_rows(out, i, row->name, (size_t)(dot - row->name) + 1, depth + 1);
    indent(out, depth);
    (void)buf_puts(out, "},\n");
    return end;
}

static size_t write_rows(struct buf *out, size_t from, const char *prefix, size_t len, size_t depth)
{
    size_t i = from;

    while (i < KEY_COUNT && strncmp(schema_row(i)->name, prefix, len) == 0)
        i = write_row(out, i, len, depth);
    return i;
}

/* Whether the row is the key, or in the section, of this name. */
static bool belongs(const struct schema_row *row, const char *name)
{
    size_t len = strlen(name);

    return strncmp(row->name, name, len) == 0 && (row->name[len] == '\0' || row->name[len] == '.');
}

static bool is_first(const struct schema_row *row)
{
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        if (belongs(row, first[i]))
            return true;
    return false;
}

void schema_write_starter(struct buf *out)
{
    (void)buf_puts(out, head);
    (void)buf_puts(out, "{\n");
    for (size_t i = 0; i < ARRAY_LEN(first); i++) {
        size_t row = 0;
        while (row < KEY_COUNT && !belongs(schema_row(row), first[i]))
            row++;
        (void)buf_puts(out, i ? "\n" : "");
        if (row < KEY_COUNT)
            (void)write_row(out, row, 0, 1);
    }
    for (size_t row = 0; row < KEY_COUNT; row++) {
        if (is_first(schema_row(row)))
            continue;
        (void)buf_putc(out, '\n');
        row = write_row(out, row, 0, 1) - 1;
    }
    (void)buf_puts(out, "}\n");
}
