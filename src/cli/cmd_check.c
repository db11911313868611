/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox check: what the classifier thinks of a command; agentbox rules: what it knows. Nothing
 * runs and nobody is asked. With --stdin, whoever decides about many commands pays the start once:
 * each line that comes in is answered by one line, at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/check_options.h"
#include "cli/config_options.h"
#include "cli/run_options.h"
#include "cli/simple.h"

#define CHECK_MAX_LINE ((size_t)4 << 20)

enum {
    OPTION_SHELL,
    OPTION_CWD,
    OPTION_CONFIG,
    OPTION_NO_CONFIG,
    OPTION_SET,
    OPTION_STDIN,
    OPTION_JSON,
    OPTION_HELP
};
const struct opt_spec check_options[CHECK_OPTION_COUNT] = {
    { OPTION_SHELL, 'c', "shell", "TEXT", "Shell text." },
    { OPTION_CWD, 'C', "cwd", "DIR", "As if started in DIR." },
    { OPTION_CONFIG, 0, "config", "FILE", "FILE instead of the project's." },
    { OPTION_NO_CONFIG, 0, "no-config", NULL, "The system's file only." },
    { OPTION_SET, 0, "set", "KEY=VALUE",
      "Any key of the configuration; those of classifier.* matter." },
    { OPTION_STDIN, 0, "stdin", NULL, "Shell text from standard input, a line each; prints JSON." },
    { OPTION_JSON, 0, "json", NULL, "Print JSON." },
    { OPTION_HELP, 'h', "help", NULL, "This text." },
};

struct check_request {
    const char *text, *cwd, *config;
    const char *const *argv; /* NULL: none */
    const char **set;        /* --set, in order */
    size_t set_count;
    bool no_config, from_stdin, json, help;
    abx_manager *manager;
};

/* ---- one command ---- */

/* An exit code, or 0 and the verdict. */
static int judge(const struct check_request *r, const char *text, abx_check **ret)
{
    abx_command *command = NULL;
    abx_error *err = NULL;
    int32_t code = text ? abx_command_new_shell(text, &command, &err)
                        : abx_command_new(r->argv, &command, &err);

    if (code == ABX_OK && r->cwd)
        code = abx_command_set_cwd(command, r->cwd, &err);
    int status = code == ABX_OK ? 0 : cli_fail(err);
    for (size_t i = 0; i < r->set_count && status == 0; i++)
        status = option_set_command(command, r->set[i]);
    if (status == 0 && abx_manager_check(r->manager, command, ret, &err) != ABX_OK)
        status = cli_fail(err);
    abx_command_free(command);
    return status;
}

static bool print_json(const abx_check *check)
{
    char *text = NULL;
    bool ok = abx_check_json(check, &text, NULL) == ABX_OK && fputs(text, stdout) >= 0;

    abx_free(text);
    return ok;
}

static void put_row(struct buf *b, const char *label, const char *text)
{
    if (!text[0])
        return;
    (void)buf_printf(b, "  %-8s", label);
    (void)str_escape(b, text, strlen(text));
    (void)buf_putc(b, '\n');
}

static bool print_text(const abx_check *check)
{
    _buf_ struct buf b = { .limit = (size_t)64 << 20 };

    (void)buf_printf(&b, "%s\n", abx_decision_name(abx_check_decision(check)));
    put_row(&b, "part:", abx_check_part(check));
    put_row(&b, "rule:", abx_check_rule(check));
    put_row(&b, "reason:", abx_check_reason(check));
    return !b.failed && fputs(b.data, stdout) >= 0;
}

/* "rm -rf /" as one word is a program's name, and of that nothing is known. */
static bool looks_like_text(const struct check_request *r)
{
    return !r->text && !r->argv[1] && strpbrk(r->argv[0], " \t\n;|&") &&
           access(r->argv[0], F_OK) < 0;
}

static int check_one(const struct check_request *r)
{
    static const int codes[] = { [ABX_DECISION_ALLOW] = 0,
                                 [ABX_DECISION_SANDBOXED] = 0,
                                 [ABX_DECISION_ESCALATED] = 1,
                                 [ABX_DECISION_FORBIDDEN] = 2 };
    abx_check *check = NULL;
    int code = judge(r, r->text, &check);

    if (code != 0)
        return code;
    bool ok = r->json ? print_json(check) : print_text(check);
    code = ok ? codes[abx_check_decision(check)] : EXIT_AGENTBOX;
    abx_check_free(check);
    if (ok && fflush(stdout) == 0 && looks_like_text(r))
        cli_hint("all of it was taken for one program's name; -c TEXT judges shell text");
    return code;
}

/* ---- many ---- */

/* One line without its end; false behind the last. What is too long is cut, and *ret_bad set. */
static bool read_line(struct buf *line, bool *ret_bad)
{
    int c = getc(stdin);

    if (c == EOF)
        return false;
    line->len = 0;
    *ret_bad = false;
    (void)buf_puts(line, "");
    for (; c != EOF && c != '\n'; c = getc(stdin)) {
        *ret_bad |= c == '\0' || line->len >= CHECK_MAX_LINE;
        if (!*ret_bad)
            (void)buf_putc(line, (char)c);
    }
    return true;
}

/* A line that no shell could be given: the verdict that judges what cannot be read. */
static bool print_unreadable(void)
{
    return puts("{\"decision\":\"escalated\",\"rule\":\"unreadable\","
                "\"reason\":\"The line is too long, or holds a NUL byte.\",\"part\":\"\"}") >= 0;
}

static int check_line(const struct check_request *r, const char *text)
{
    abx_check *check = NULL;
    int code = judge(r, text[0] ? text : " ", &check);

    if (code == 0 && !print_json(check))
        code = EXIT_AGENTBOX;
    abx_check_free(check);
    return code;
}

static int check_lines(const struct check_request *r)
{
    _buf_ struct buf line = { .limit = CHECK_MAX_LINE + 1 };
    int code = 0;

    for (bool bad; code == 0 && read_line(&line, &bad);) {
        if (line.failed)
            return cli_misuse(NULL, "out of memory");
        if (!bad)
            code = check_line(r, line.data);
        else if (!print_unreadable())
            code = EXIT_AGENTBOX;
        if (fflush(stdout) != 0)
            return EXIT_AGENTBOX; /* main tells */
    }
    if (code == 0 && ferror(stdin))
        return cli_misuse("pass a file or a pipe: agentbox check --stdin <FILE",
                          "read the standard input: %s", strerrordesc_np(errno));
    return code;
}

/* ---- words ---- */

static void read_option(struct check_request *r, int id, const char *value)
{
    switch (id) {
    case OPTION_SHELL:
        r->text = value;
        break;
    case OPTION_CWD:
        r->cwd = value;
        break;
    case OPTION_CONFIG:
        r->config = value;
        break;
    case OPTION_NO_CONFIG:
        r->no_config = true;
        break;
    case OPTION_SET:
        r->set[r->set_count++] = value;
        break;
    case OPTION_STDIN:
        r->from_stdin = true;
        break;
    case OPTION_JSON:
        r->json = true;
        break;
    default:
        r->help = true;
    }
}

static int make_manager(struct check_request *r)
{
    abx_error *err = NULL;
    abx_config *config = NULL;
    int code = config_check_directory(r->cwd);

    if (code == 0)
        code = load_config(r->cwd, r->config, r->no_config, &config);
    if (code == 0 && abx_manager_new(config, NULL, &r->manager, &err) != ABX_OK)
        code = cli_fail(err);
    abx_config_free(config);
    return code;
}

/* 0, or an exit code after the complaint. */
static int read_words(struct check_request *r, const struct cli_command *command, int argc,
                      char **argv)
{
    struct opt opt;

    opt_init(&opt, check_options, ARRAY_LEN(check_options), argc - 1, argv + 1,
             OPT_STOP_AT_OPERAND);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id < 0)
            return cli_bad_option(command, &opt, id);
        read_option(r, id, opt.value);
    }
    if (opt.next < opt.argc)
        r->argv = (const char *const *)(opt.argv + opt.next);
    if (!r->help && (r->text != NULL) + (r->argv != NULL) + r->from_stdin != 1)
        return cli_misuse("agentbox check -- git push; agentbox check -c 'a && b'; "
                          "agentbox check --stdin",
                          "check takes one of -c TEXT, a program with arguments, and --stdin");
    return 0;
}

CLI_COMMAND(check)
{
    struct check_request r = { .set = calloc((size_t)MAX_OF(argc, 1), sizeof *r.set) };

    if (!r.set)
        return cli_misuse(NULL, "out of memory");
    int code = read_words(&r, command, argc, argv);
    if (code == 0 && r.help)
        code = cli_help(command);
    else if (code == 0)
        code = make_manager(&r);
    if (code == 0 && r.manager)
        code = r.from_stdin ? check_lines(&r) : check_one(&r);
    abx_manager_free(r.manager);
    free((void *)r.set);
    return code;
}

/* ---- rules ---- */

static int rules_json(void)
{
    _buf_ struct buf b = { .limit = (size_t)16 << 20 };
    struct json j;

    json_init(&j, &b);
    json_array(&j);
    for (size_t i = 0; abx_rule_name(i); i++) {
        json_object(&j);
        json_pair_str(&j, "name", abx_rule_name(i));
        json_pair_str(&j, "decision", abx_decision_name(abx_rule_decision(i)));
        json_pair_str(&j, "reason", abx_rule_reason(i));
        json_pair_str(&j, "example", abx_rule_example(i));
        json_object_end(&j);
    }
    json_array_end(&j);
    (void)buf_putc(&b, '\n');
    return !b.failed && fputs(b.data, stdout) >= 0 ? 0 : EXIT_AGENTBOX;
}

static int rules_text(void)
{
    _buf_ struct buf b = { .limit = (size_t)16 << 20 };
    size_t width = cli_width();

    for (size_t i = 0; abx_rule_name(i); i++) {
        (void)buf_printf(&b, "%s: %s\n  ", abx_rule_name(i),
                         abx_decision_name(abx_rule_decision(i)));
        opt_put_words(&b, abx_rule_reason(i), 2, width);
        (void)buf_printf(&b, "  for example: %s\n", abx_rule_example(i));
    }
    return !b.failed && fputs(b.data, stdout) >= 0 ? 0 : EXIT_AGENTBOX;
}

CLI_COMMAND(rules)
{
    bool json = false;
    int code = simple_read(command, argc, argv, &json, NULL);

    if (code)
        return code - 1;
    if (json)
        return rules_json();
    return rules_text();
}
