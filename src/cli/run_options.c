/* SPDX-License-Identifier: Apache-2.0 */
/* From words on the command line to a command of the library; options.def says what goes where. */
#include "cli/run_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define KEY_MAX 64

enum option_id {
#define OPTION(id, short_name, long_name, value, kind, key, help) OPTION_##id,
#include "cli/options.def"
#undef OPTION
};
enum option_kind { HEADING, APPEND, SET, SPECIAL };

static const struct {
    enum option_kind kind;
    const char *key;
} option_keys[] = {
#define OPTION(id, short_name, long_name, value, kind, key, help) { kind, key },
#include "cli/options.def"
#undef OPTION
};

#define OPTION_ROW(id, kind) ((kind) == HEADING ? OPT_HEADING : OPTION_##id)
const struct opt_spec run_options[] = {
#define OPTION(id, short_name, long_name, value, kind, key, help)                                  \
    { OPTION_ROW(id, kind), short_name, long_name, value, help },
#include "cli/options.def"
#undef OPTION
};
const size_t run_option_count = ARRAY_LEN(run_options);

/* Values that are known only when the command exists. */
struct pending {
    const char *shell_text, *timeout, *config, *settings, *approve, *log;
    bool no_config;
};

/* What the options said, in order; the command is made when all are read. */
struct entry {
    int id;
    const char *value;
};

/* A SPECIAL option; false: it is none. */
static bool read_special(struct run_options *o, struct pending *p, int id, const char *value)
{
    switch (id) {
    case OPTION_SHELL:
        p->shell_text = value;
        break;
    case OPTION_CWD:
        o->cwd = value;
        break;
    case OPTION_TIMEOUT:
        p->timeout = value;
        break;
    case OPTION_APPROVE:
        p->approve = value;
        break;
    case OPTION_MAX_OUTPUT:
        o->max_output = value;
        return false; /* a key, too, which judges the value */
    case OPTION_CONFIG:
        p->config = value;
        break;
    case OPTION_SETTINGS:
        p->settings = value;
        break;
    case OPTION_NO_CONFIG:
        p->no_config = true;
        break;
    case OPTION_RESULT:
        o->result_path = value;
        break;
    case OPTION_LOG:
        p->log = value;
        break;
    case OPTION_FORMAT:
    case OPTION_JSON:
        o->format = value ? value : "json";
        o->format_given = true;
        break;
    case OPTION_DRY_RUN:
        o->dry_run = true;
        break;
    case OPTION_DEBUG:
        o->debug = true;
        break;
    case OPTION_QUIET:
        o->quiet = true;
        break;
    case OPTION_HELP:
        o->help = true;
        break;
    default:
        return false;
    }
    return true;
}

static int read_words(struct run_options *o, struct pending *p, struct opt *opt,
                      const struct cli_command *command, struct entry *entries, size_t *ret_count)
{
    size_t n = 0;

    for (int id; !o->help && (id = opt_next(opt)) != OPT_END;) {
        if (id == OPT_OPERAND) { /* RUN_OPERANDS only */
            o->operands[o->operand_count++] = opt->value;
            continue;
        }
        if (id < 0)
            return cli_bad_option(command, opt, id);
        if (!read_special(o, p, id, opt->value))
            entries[n++] = (struct entry){ id, opt->value };
    }
    *ret_count = n;
    return 0;
}

/* Takes KEY=VALUE apart; false, after a complaint, if it is not that. */
static bool split_key(const char *text, char key[KEY_MAX], const char **ret_value)
{
    const char *eq = strchr(text, '=');
    size_t len = eq ? (size_t)(eq - text) : 0;

    if (len == 0 || len >= KEY_MAX) {
        (void)cli_misuse("`agentbox help keys` lists all keys", "--set '%s': not KEY=VALUE", text);
        return false;
    }
    memcpy(key, text, len);
    key[len] = '\0';
    *ret_value = eq + 1;
    return true;
}

int option_set(abx_config *config, const char *text)
{
    char key[KEY_MAX];
    const char *value;
    abx_error *err = NULL;

    if (!split_key(text, key, &value))
        return EXIT_AGENTBOX;
    int32_t code = abx_config_append(config, key, value, &err);
    if (code == ABX_E_INVALID) { /* not a list */
        abx_error_free(TAKE_PTR(err));
        code = abx_config_set_string(config, key, value, &err);
    }
    return code == ABX_OK ? 0 : cli_fail(err); /* it names the key */
}

int option_set_command(abx_command *command, const char *text)
{
    char key[KEY_MAX];
    const char *value;
    abx_error *err = NULL;

    if (!split_key(text, key, &value))
        return EXIT_AGENTBOX;
    int32_t code = abx_command_append(command, key, value, &err);
    if (code == ABX_E_INVALID) {
        abx_error_free(TAKE_PTR(err));
        code = abx_command_set_string(command, key, value, &err);
    }
    return code == ABX_OK ? 0 : cli_fail(err);
}

static int apply_entry(abx_command *c, const struct entry *entry)
{
    const char *key = option_keys[entry->id].key, *value = entry->value ? entry->value : "true";
    abx_error *err = NULL;

    if (entry->id == OPTION_SET)
        return option_set_command(c, value);
    int32_t code = option_keys[entry->id].kind == APPEND
                       ? abx_command_append(c, key, value, &err)
                       : abx_command_set_string(c, key, value, &err);
    return code == ABX_OK ? 0 : cli_fail_option(err, run_options[entry->id].long_name);
}

static int apply_entries(abx_command *c, const struct entry *entries, size_t count)
{
    int code = 0;

    for (size_t i = 0; i < count && code == 0; i++)
        code = apply_entry(c, &entries[i]);
    return code;
}

static int apply_pending(struct run_options *o, const struct pending *p, abx_error **err)
{
    int64_t ns = 0;

    if (p->timeout && (!str_to_duration(p->timeout, &ns) || ns < NSEC_PER_MSEC))
        return cli_misuse("write 500ms, 30s, 5m or 1h", "--timeout '%s': not a time", p->timeout);
    if (p->approve && !approver_mode(p->approve, &o->approver.mode))
        return cli_misuse("use ask, deny or yes", "--approve '%s': not one of its words",
                          p->approve);
    if (o->cwd && abx_command_set_cwd(o->command, o->cwd, err) != ABX_OK)
        return cli_fail(*err);
    if (ns && abx_command_set_timeout(o->command, ns / NSEC_PER_MSEC, err) != ABX_OK)
        return cli_fail(*err);
    return 0;
}

/* A command is started. */
static bool shape_runs(enum run_shape shape)
{
    return shape == RUN_PROGRAM || shape == RUN_LESSON;
}

static int misuse_without_program(const char *name)
{
    char hint[160];

    (void)snprintf(hint, sizeof hint,
                   "agentbox %s -- make test; agentbox %s -c 'echo $HOME'; agentbox help %s", name,
                   name, name);
    return cli_misuse(hint, "there is no command to run");
}

static int make_command(struct run_options *o, const struct pending *p, struct opt *opt,
                        const char *name, enum run_shape shape)
{
    static const char *const nothing[] = { "/bin/true", NULL };
    const char *const *argv = (const char *const *)(opt->argv + opt->next);
    abx_error *err = NULL;
    bool has_program = shape != RUN_OPERANDS && opt->next < opt->argc;

    if (p->shell_text && has_program)
        return cli_misuse("use either -c TEXT or a program with arguments",
                          "-c is given, and a program '%s' too", argv[0]);
    if (!p->shell_text && !has_program && shape_runs(shape))
        return misuse_without_program(name);
    int32_t code = p->shell_text ? abx_command_new_shell(p->shell_text, &o->command, &err)
                                 : abx_command_new(has_program ? argv : nothing, &o->command, &err);
    return code == ABX_OK ? 0 : cli_fail(err);
}

int load_config(const char *cwd, const char *file, bool none, abx_config **ret)
{
    abx_error *err = NULL;
    abx_config *config = NULL;

    if (file && none)
        return cli_misuse("leave one of them out", "--config is given, and --no-config too");
    if (abx_config_new(&config, &err) != ABX_OK ||
        abx_config_load_layers(config, cwd, file, none ? ABX_LOAD_SYSTEM_ONLY : 0, &err) !=
            ABX_OK) {
        abx_config_free(config);
        return cli_fail(err);
    }
    *ret = config;
    return 0;
}

int load_settings(const char *cwd, const char *file, const char *config_file, bool none,
                  abx_config **ret)
{
    abx_error *err = NULL;
    abx_config *config = NULL;

    if (config_file || none)
        return cli_misuse("leave one of them out", "--settings is given, and %s too",
                          none ? "--no-config" : "--config");
    if (abx_config_new(&config, &err) != ABX_OK ||
        abx_config_load_layers(config, cwd, file, ABX_LOAD_SETTINGS, &err) != ABX_OK) {
        abx_config_free(config);
        return cli_fail(err);
    }
    *ret = config;
    return 0;
}

/* What the settings file has and we have not: one line, behind the command's output. */
static void count_notes(const struct run_options *o, const struct pending *p,
                        const abx_config *config)
{
    char text[256];
    size_t n = 0;

    for (const abx_error *e = abx_config_notes(config); e; e = abx_error_next(e))
        n++;
    (void)snprintf(text, sizeof text,
                   "%zu %s of the settings file differ%s here: `agentbox import FILE` lists them",
                   n, n == 1 ? "thing" : "things", n == 1 ? "s" : "");
    if (p->settings && n && !o->quiet)
        cli_notice(NULL, ABX_NOTICE_INFO, "settings", text);
}

/* A plan has four formats, an answer of why and a proposal of learn two, a run none. */
static int check_format(const struct run_options *o, enum run_shape shape)
{
    bool is_json = str_eq(o->format, "json");

    if (shape == RUN_PROGRAM && o->format_given && !o->dry_run)
        return cli_misuse("--dry-run prints the plan; --result FILE writes the result as JSON",
                          "run prints nothing of its own, so there is nothing to print as '%s'",
                          o->format);
    if ((shape == RUN_OPERANDS || shape == RUN_LESSON) && !is_json && !str_eq(o->format, "text"))
        return cli_misuse("use text or json", "--format '%s': not one of its words here",
                          o->format);
    return 0;
}

/* What learn writes is its proposal; the command's output is passed on whole. */
static int check_lesson(const struct run_options *o, enum run_shape shape)
{
    const char *given = o->result_path ? "--result" : o->max_output ? "--max-output" : NULL;

    if (shape != RUN_LESSON || !given)
        return 0;
    return cli_misuse("leave it out; `agentbox run` has it", "learn takes no %s", given);
}

/* Where nothing runs nobody is asked. */
static void set_approver(struct run_options *o, enum run_shape shape, abx_hooks *hooks)
{
    if (!shape_runs(shape) || o->dry_run)
        o->approver.mode = APPROVE_PLAN;
    if (o->approver.mode == APPROVE_ASK)
        hooks->flags |= ABX_KEEP_APPROVALS | (approver_is_there() ? ABX_LIMIT_QUESTIONS : 0);
    if (o->approver.mode == APPROVE_ASK && shape != RUN_LESSON)
        hooks->network = approver_network;
    hooks->approve = approver_answer;
    hooks->user = &o->approver;
}

static int make_manager(struct run_options *o, const struct pending *p, enum run_shape shape)
{
    abx_error *err = NULL;
    abx_config *config = NULL;
    abx_hooks hooks;
    int code = p->settings ? load_settings(o->cwd, p->settings, p->config, p->no_config, &config)
                           : load_config(o->cwd, p->config, p->no_config, &config);

    if (code != 0)
        return code;
    count_notes(o, p, config);
    abx_hooks_init(&hooks, sizeof hooks);
    hooks.flags = ABX_NO_THREAD | ABX_KEEP_LOG | (o->debug ? ABX_TRACE : 0);
    hooks.log_file = shape_runs(shape) && !o->dry_run ? p->log : NULL;
    hooks.notice = o->quiet && !o->debug ? NULL : cli_notice;
    hooks.program = "/proc/self/exe";
    set_approver(o, shape, &hooks);
    if (abx_manager_new(config, &hooks, &o->manager, &err) != ABX_OK)
        code = cli_fail(err);
    abx_config_free(config);
    return code;
}

int run_options_read(struct run_options *o, const struct cli_command *command, int argc,
                     char **argv, enum run_shape shape)
{
    static struct network_asker network; /* large, and mostly never touched */
    struct entry *entries = argc > 0 ? calloc((size_t)argc, sizeof *entries) : NULL;
    struct pending pending = { 0 };
    struct opt opt;
    abx_error *err = NULL;
    size_t count = 0;

    *o = (struct run_options){ .format = "text",
                               .approver = { .signals = -1, .network = &network } };
    o->operands = argc > 0 ? calloc((size_t)argc, sizeof *o->operands) : NULL;
    if (!entries || !o->operands) {
        free(entries);
        return cli_misuse(NULL, "out of memory");
    }
    opt_init(&opt, run_options, run_option_count, argc - 1, argv + 1,
             shape == RUN_OPERANDS ? 0 : OPT_STOP_AT_OPERAND);
    int code = read_words(o, &pending, &opt, command, entries, &count);
    if (code == 0 && !o->help)
        code = check_format(o, shape);
    if (code == 0 && !o->help)
        code = check_lesson(o, shape);
    if (code == 0 && !o->help)
        code = make_command(o, &pending, &opt, command->name, shape);
    if (code == 0 && !o->help)
        code = apply_pending(o, &pending, &err);
    if (code == 0 && !o->help)
        code = apply_entries(o->command, entries, count);
    if (code == 0 && !o->help)
        code = make_manager(o, &pending, shape);
    free(entries);
    return code;
}

void run_options_done(struct run_options *o)
{
    abx_command_free(o->command);
    abx_manager_free(o->manager);
    free((void *)o->operands);
}
