/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox config: what a run here would read. One function an action; the table lists them. Files
 * are found, read and judged by the library, so that nothing is shown or trusted that a run would
 * see differently.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/config_options.h"
#include "cli/run_options.h"

enum {
    OPTION_CWD,
    OPTION_CONFIG,
    OPTION_SETTINGS,
    OPTION_NO_CONFIG,
    OPTION_OUTPUT,
    OPTION_JSON,
    OPTION_HELP
};
const struct opt_spec config_options[CONFIG_OPTION_COUNT] = {
    { OPTION_CWD, 'C', "cwd", "DIR", "As if started in DIR." },
    { OPTION_CONFIG, 0, "config", "FILE", "FILE instead of the project's." },
    { OPTION_SETTINGS, 0, "settings", "FILE",
      "The same for sandbox-runtime's or agent-sandbox's." },
    { OPTION_NO_CONFIG, 0, "no-config", NULL, "The system's file only." },
    { OPTION_OUTPUT, 'o', "output", "FILE", "init: where to write; - is standard output." },
    { OPTION_JSON, 0, "json", NULL, "Print JSON." },
    { OPTION_HELP, 'h', "help", NULL, "This text." },
};

struct action_options {
    const char *cwd, *config, *settings, *output, *file;
    bool no_config, json, help;
};

static const char *format_of(const struct action_options *o)
{
    return o->json ? "json" : "text";
}

static int load(const struct action_options *o, abx_config **ret)
{
    if (o->settings)
        return load_settings(o->cwd, o->settings, o->file ? o->file : o->config, o->no_config, ret);
    return load_config(o->cwd, o->file ? o->file : o->config, o->no_config, ret);
}

/* Prints a text of the library and releases it. */
static int print_taken(char *text)
{
    bool ok = fputs(text, stdout) >= 0;

    abx_free(text);
    return ok ? 0 : EXIT_AGENTBOX;
}

/* "PATH STATE", with the path made visible. */
static int print_state(const char *path, const char *state)
{
    _buf_ struct buf b = { .limit = (size_t)8 << 20 };

    (void)str_escape(&b, path, strlen(path));
    return buf_puts(&b, state) == 0 && puts(b.data) >= 0 ? 0 : EXIT_AGENTBOX;
}

int config_print_written(const char *name, bool trusted)
{
    _buf_ struct buf b = { .limit = (size_t)1 << 20 };
    struct json j;

    json_init(&j, &b);
    json_object(&j);
    json_pair_str(&j, "file", name);
    json_pair_bool(&j, "trusted", trusted);
    json_object_end(&j);
    return !b.failed && puts(b.data) >= 0 ? 0 : EXIT_AGENTBOX;
}

int config_refuse_json_text(const char *command)
{
    return cli_misuse("leave --json or -o - out",
                      "%s -o - prints a commented file, which is not JSON", command);
}

static int action_show(const struct action_options *o)
{
    abx_config *config = NULL;
    abx_error *err = NULL;
    char *text = NULL;
    int code = load(o, &config);

    if (code == 0)
        code = abx_config_show(config, format_of(o), &text, &err) == ABX_OK ? print_taken(text)
                                                                            : cli_fail(err);
    abx_config_free(config);
    return code;
}

static int action_presets(const struct action_options *o)
{
    abx_config *config = NULL;
    abx_error *err = NULL;
    char *text = NULL;
    int code = load(o, &config);

    if (code == 0)
        code = abx_config_presets(config, o->cwd, format_of(o), &text, &err) == ABX_OK
                   ? print_taken(text)
                   : cli_fail(err);
    abx_config_free(config);
    return code;
}

static int action_schema(const struct action_options *o)
{
    abx_error *err = NULL;
    char *text = NULL;

    (void)o;
    return abx_config_template("schema", &text, &err) == ABX_OK ? print_taken(text) : cli_fail(err);
}

/* ---- validate ---- */

static int print_problems(const abx_error *err)
{
    _buf_ struct buf b = { .limit = (size_t)16 << 20 };
    struct json j;

    json_init(&j, &b);
    json_object(&j);
    json_pair_bool(&j, "valid", !err);
    json_key(&j, "problems");
    json_array(&j);
    for (; err; err = abx_error_next(err)) {
        json_object(&j);
        json_pair_str(&j, "message", abx_error_message(err));
        json_pair_str(&j, "key", abx_error_subject(err));
        json_pair_str(&j, "hint", abx_error_hint(err));
        json_object_end(&j);
    }
    json_array_end(&j);
    json_object_end(&j);
    (void)buf_putc(&b, '\n');
    return !b.failed && fputs(b.data, stdout) >= 0 ? 0 : EXIT_AGENTBOX;
}

/* Files, then what all keys together show, then what this version can keep. */
static int32_t validate(const struct action_options *o, abx_config *config, abx_error **err)
{
    const char *file = o->file ? o->file : o->settings ? o->settings : o->config;
    uint32_t flags = (o->file        ? ABX_LOAD_FILE_ONLY
                      : o->no_config ? ABX_LOAD_SYSTEM_ONLY
                                     : 0) |
                     (o->settings ? ABX_LOAD_SETTINGS : 0);
    abx_manager *manager = NULL;
    int32_t code = abx_config_load_layers(config, o->cwd, file, flags, err);

    if (code == ABX_OK)
        code = abx_config_validate(config, err);
    if (code == ABX_OK)
        code = abx_manager_new(config, NULL, &manager, err);
    abx_manager_free(manager);
    return code;
}

static int print_valid(const abx_config *config)
{
    size_t files = 0;

    for (size_t i = 0; i < abx_config_files(config); i++)
        if (abx_config_file_state(config, i) != ABX_FILE_ABSENT) {
            files++;
            (void)print_state(abx_config_file_path(config, i), ": no problems");
        }
    if (!files)
        (void)puts("there is no configuration file here: nothing to check");
    return 0;
}

static int action_validate(const struct action_options *o)
{
    abx_config *config = NULL;
    abx_error *err = NULL;

    if (abx_config_new(&config, &err) != ABX_OK)
        return cli_fail(err);
    int32_t code = validate(o, config, &err);
    bool problems = code == ABX_E_CONFIG || code == ABX_E_UNSUPPORTED;
    int status;
    if (o->json && (code == ABX_OK || problems)) {
        status = print_problems(err);
        abx_error_free(err);
    } else {
        status = code == ABX_OK ? print_valid(config) : cli_fail(err);
    }
    abx_config_free(config);
    return problems ? 1 : status;
}

/* ---- init ---- */

static bool project_has_file(int dir, const char **ret)
{
    static const char *const names[] = { ".agentbox.json", ".agentbox.jsonc", ".agentbox.yaml",
                                         ".agentbox.yml" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (faccessat(dir, names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
            *ret = names[i];
            return true;
        }
    return false;
}

int config_refuse_second(int dir, const char *command)
{
    const char *there = NULL;
    char hint[80];

    if (!project_has_file(dir, &there))
        return 0;
    (void)snprintf(hint, sizeof hint, "edit it; agentbox %s -o - prints a new one", command);
    return cli_misuse(hint, "write " PROJECT_FILE ": there is a %s already", there);
}

static int write_at(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    int r = fd < 0 ? -errno : io_write_all(fd, text, strlen(text));

    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    if (fd >= 0 && r < 0)
        (void)unlinkat(dir, name, 0); /* half of it would stop every run */
    if (r < 0)
        return cli_misuse(r == -EEXIST   ? "existing files are not overwritten: name a new one"
                          : r == -ENOENT ? "its directory is not there: make it, or name another"
                          : r == -ENOSPC
                              ? "the disk is full: make room, or use another, with -o FILE"
                              : "name a file that you may write, with -o FILE",
                          "write '%s': %s", name, strerrordesc_np(-r));
    return 0;
}

int config_open_directory(const char *cwd)
{
    int dir = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (dir < 0)
        (void)cli_misuse("name a directory that is there, with -C DIR",
                         "enter the working directory '%s': %s", cwd, strerrordesc_np(errno));
    return dir;
}

int config_check_directory(const char *cwd)
{
    int dir = cwd ? config_open_directory(cwd) : AT_FDCWD;

    if (cwd && dir >= 0)
        (void)close(dir);
    return cwd && dir < 0 ? EXIT_AGENTBOX : 0;
}

int config_write_new(const char *cwd, const char *output, const char *text, const char *command,
                     const char **ret_name)
{
    const char *name = output ? output : PROJECT_FILE;
    int dir = cwd ? config_open_directory(cwd) : AT_FDCWD;

    if (cwd && dir < 0)
        return EXIT_AGENTBOX;
    int code = output ? 0 : config_refuse_second(dir, command);
    if (code == 0)
        code = write_at(dir, name, text);
    if (cwd)
        (void)close(dir);
    *ret_name = name;
    return code;
}

static int action_init(const struct action_options *o)
{
    abx_error *err = NULL;
    char *text = NULL;

    bool to_stdout = o->output && str_eq(o->output, "-");
    if (to_stdout && o->json)
        return config_refuse_json_text("config init");
    if (abx_config_template("starter", &text, &err) != ABX_OK)
        return cli_fail(err);
    if (to_stdout)
        return print_taken(text);
    const char *name = NULL;
    int code = config_write_new(o->cwd, o->output, text, "config init", &name);
    abx_free(text);
    if (code == 0 && o->json)
        return config_print_written(name, false);
    if (code == 0)
        (void)printf("wrote %s; every line in it is a comment until you change it\n", name);
    return code;
}

/* ---- trust ---- */

static const char *project_file(const abx_config *config)
{
    for (size_t i = 0; i < abx_config_files(config); i++)
        if (abx_config_file_state(config, i) != ABX_FILE_ABSENT &&
            str_eq(abx_config_file_origin(config, i), "project"))
            return abx_config_file_path(config, i);
    return NULL;
}

static int trust(const struct action_options *o, abx_config *config)
{
    const char *path = project_file(config);
    abx_error *err = NULL;
    char *text = NULL;

    if (!path)
        return cli_misuse("name it: agentbox config trust FILE", "there is no project file here");
    if (abx_config_grants(config, o->cwd, format_of(o), &text, &err) != ABX_OK ||
        abx_config_trust(config, &err) != ABX_OK) {
        abx_free(text);
        return cli_fail(err);
    }
    if (!o->json) {
        (void)print_state(path, text[0] ? " is trusted as it reads now. It grants:"
                                        : " is trusted as it reads now. Here it grants nothing.");
        return print_taken(text);
    }
    abx_free(text); /* of before it was trusted */
    return abx_config_grants(config, o->cwd, "json", &text, &err) == ABX_OK ? print_taken(text)
                                                                            : cli_fail(err);
}

static int action_trust(const struct action_options *o)
{
    abx_config *config = NULL;
    int code = load(o, &config);

    if (code == 0)
        code = trust(o, config);
    abx_config_free(config);
    return code;
}

static int untrust(const struct action_options *o, const char *file)
{
    abx_error *err = NULL;
    int32_t was = 0;

    if (abx_config_untrust(o->cwd, file, &was, &err) != ABX_OK)
        return cli_fail(err);
    if (o->json)
        return config_print_written(file, false);
    return print_state(file, was ? " is not trusted any more" : " was not trusted");
}

static int action_untrust(const struct action_options *o)
{
    const char *file = o->file ? o->file : o->settings ? o->settings : o->config;
    abx_config *config = NULL;

    if (file)
        return untrust(o, file);
    int code = load(o, &config);
    if (code == 0)
        file = project_file(config);
    if (code == 0)
        code = file ? untrust(o, file)
                    : cli_misuse("name it: agentbox config untrust FILE",
                                 "there is no project file here");
    abx_config_free(config);
    return code;
}

/* ---- words ---- */

static const struct action {
    const char *name;
    int (*run)(const struct action_options *o);
    bool takes_file;
} actions[] = {
    { "init", action_init, false },        { "presets", action_presets, false },
    { "schema", action_schema, false },    { "show", action_show, false },
    { "trust", action_trust, true },       { "untrust", action_untrust, true },
    { "validate", action_validate, true },
};

static void read_option(struct action_options *o, int id, const char *value)
{
    switch (id) {
    case OPTION_CWD:
        o->cwd = value;
        break;
    case OPTION_CONFIG:
        o->config = value;
        break;
    case OPTION_SETTINGS:
        o->settings = value;
        break;
    case OPTION_NO_CONFIG:
        o->no_config = true;
        break;
    case OPTION_OUTPUT:
        o->output = value;
        break;
    case OPTION_JSON:
        o->json = true;
        break;
    default:
        o->help = true;
    }
}

static const struct action *find_action(const char *name)
{
    const char *names[ARRAY_LEN(actions) + 1] = { NULL };
    char hint[160];

    for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
        if (name && str_eq(actions[i].name, name))
            return &actions[i];
        names[i] = actions[i].name;
    }
    const char *near = name ? str_nearest(name, names) : NULL;
    (void)snprintf(hint, sizeof hint,
                   near ? "did you mean agentbox config %s?"
                        : "use show, validate, init, presets, schema, trust or untrust",
                   near);
    if (name)
        (void)cli_misuse(hint, "config has no '%s'", name);
    else
        (void)cli_misuse(hint, "config takes a word that says what to do");
    return NULL;
}

CLI_COMMAND(config)
{
    struct action_options o = { 0 };
    const struct action *action = NULL;
    const char *name = NULL;
    struct opt opt;

    opt_init(&opt, config_options, ARRAY_LEN(config_options), argc - 1, argv + 1, 0);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id == OPT_OPERAND && !name)
            name = opt.value;
        else if (id == OPT_OPERAND && !o.file)
            o.file = opt.value;
        else if (id < 0)
            return cli_bad_option(command, &opt, id);
        else
            read_option(&o, id, opt.value);
    }
    if (o.help)
        return cli_help(command);
    action = find_action(name);
    if (!action)
        return EXIT_AGENTBOX;
    if (o.file && !action->takes_file)
        return cli_misuse("`agentbox config --help` says what it takes", "config %s takes no '%s'",
                          name, o.file);
    if (o.file && (o.config || o.settings || o.no_config))
        return cli_misuse("name the file once", "config %s: '%s' and an option of the same sense",
                          name, o.file);
    int code = config_check_directory(o.cwd);
    return code == 0 ? action->run(&o) : code;
}
