/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox import: another program's configuration as one of ours.
 *
 * The library reads and converts it, as for `run --settings`; here its notes become comments of the
 * file that is printed. Their texts are one line each and escaped, so a foreign file cannot get a
 * line of its own into ours. Nothing is trusted by being imported.
 */
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/config_options.h"
#include "cli/import_options.h"

#define TEXT_LIMIT ((size_t)256 << 20)

enum { OPTION_CWD, OPTION_OUTPUT, OPTION_JSON, OPTION_HELP };
const struct opt_spec import_options[IMPORT_OPTION_COUNT] = {
    { OPTION_CWD, 'C', "cwd", "DIR", "As if started in DIR: what relative paths mean." },
    { OPTION_OUTPUT, 'o', "output", "FILE", "Write to FILE, a new one, and list what differs." },
    { OPTION_JSON, 0, "json", NULL, "Print JSON: the configuration or the file, and the notes." },
    { OPTION_HELP, 'h', "help", NULL, "This text." },
};

struct words {
    const char *cwd, *output, *file;
    bool json, help;
};

static void write_notes(struct buf *out, const abx_config *config, const char *mark)
{
    for (const abx_error *e = abx_config_notes(config); e; e = abx_error_next(e)) {
        (void)buf_printf(out, "%s%s\n", mark, abx_error_message(e));
        if (abx_error_hint(e)[0])
            (void)buf_printf(out, "%s  (%s)\n", mark, abx_error_hint(e));
    }
}

/* Compact JSON, as the library writes it, with objects over several lines. */
static void indent(struct buf *out, const char *json)
{
    size_t depth = 0, lists = 0;
    bool text = false;

    for (const char *c = json; *c; c++) {
        bool mark = !text;

        if (*c == '"')
            text = !text;
        depth -= mark && *c == '}';
        lists = lists + (mark && *c == '[') - (mark && *c == ']');
        if (mark && *c == '}' && c[-1] != '{')
            (void)buf_printf(out, "\n%*s", (int)(2 * depth), "");
        (void)buf_putc(out, *c);
        if (text && *c == '\\' && c[1])
            (void)buf_putc(out, *++c);
        depth += mark && *c == '{';
        if (mark && lists == 0 && ((*c == '{' && c[1] != '}') || *c == ','))
            (void)buf_printf(out, "\n%*s", (int)(2 * depth), "");
        else if (mark && (*c == ',' || *c == ':'))
            (void)buf_putc(out, ' ');
    }
    (void)buf_putc(out, '\n');
}

/* file: where it was written; NULL: nowhere, and it is shown itself. */
static int print_json(const abx_config *config, const char *json, const char *file)
{
    _buf_ struct buf b = { .limit = TEXT_LIMIT };
    struct json j;

    json_init(&j, &b);
    json_object(&j);
    json_key(&j, file ? "file" : "config");
    if (file)
        json_str(&j, file);
    else
        json_raw(&j, json);
    json_key(&j, "notes");
    json_array(&j);
    for (const abx_error *e = abx_config_notes(config); e; e = abx_error_next(e)) {
        json_object(&j);
        json_pair_str(&j, "message", abx_error_message(e));
        json_pair_str(&j, "hint", abx_error_hint(e));
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    return !b.failed && puts(b.data) >= 0 ? 0 : EXIT_AGENTBOX;
}

static int print(const struct words *w, const abx_config *config, const char *json)
{
    _buf_ struct buf text = { .limit = TEXT_LIMIT }, notes = { .limit = TEXT_LIMIT };
    bool to_stdout = !w->output || str_eq(w->output, "-");
    const char *name = NULL;

    if (to_stdout && w->json)
        return print_json(config, json, NULL);

    (void)buf_puts(&text, "// Made by `agentbox import` from ");
    (void)str_escape(&text, w->file, strlen(w->file));
    (void)buf_puts(&text, ".\n");
    if (abx_config_notes(config))
        (void)buf_puts(&text, "// What is not the same here:\n");
    write_notes(&text, config, "//   ");
    indent(&text, json);
    write_notes(&notes, config, "  ");
    (void)buf_puts(&notes, "");
    if (text.failed || notes.failed)
        return cli_misuse(NULL, "out of memory");
    if (to_stdout)
        return fputs(text.data, stdout) < 0 ? EXIT_AGENTBOX : 0;
    int code = config_write_new(w->cwd, w->output, text.data, "import", &name);
    if (code == 0 && w->json)
        return print_json(config, json, name);
    if (code == 0)
        (void)printf("wrote %s%s\n%s", name, notes.len ? "; not the same here:" : "", notes.data);
    return code;
}

static int import(const struct words *w)
{
    abx_config *config = NULL;
    abx_error *err = NULL;
    char *json = NULL;
    int code;

    if (abx_config_new(&config, &err) != ABX_OK ||
        abx_config_load_layers(config, w->cwd, w->file, ABX_LOAD_FILE_ONLY | ABX_LOAD_SETTINGS,
                               &err) != ABX_OK ||
        abx_config_dump(config, "json", &json, &err) != ABX_OK)
        code = cli_fail(err);
    else
        code = print(w, config, json);
    abx_free(json);
    abx_config_free(config);
    return code;
}

CLI_COMMAND(import)
{
    struct words w = { 0 };
    struct opt opt;

    opt_init(&opt, import_options, ARRAY_LEN(import_options), argc - 1, argv + 1, 0);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id == OPT_OPERAND && !w.file)
            w.file = opt.value;
        else if (id < 0)
            return cli_bad_option(command, &opt, id);
        else if (id == OPTION_CWD)
            w.cwd = opt.value;
        else if (id == OPTION_OUTPUT)
            w.output = opt.value;
        else if (id == OPTION_JSON)
            w.json = true;
        else
            w.help = true;
    }
    if (w.help)
        return cli_help(command);
    if (!w.file)
        return cli_misuse("for example: agentbox import ~/.srt-settings.json",
                          "there is no file to import");
    return import(&w);
}
