/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox why: questions to the plan of a run with the same options. */
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/run_options.h"

static void put_escaped(struct buf *b, const char *text)
{
    (void)str_escape(b, text, strlen(text));
}

static void put_row(struct buf *b, const char *label, const char *text)
{
    if (!text[0])
        return;
    (void)buf_printf(b, "  %-7s ", label);
    put_escaped(b, text);
    (void)buf_putc(b, '\n');
}

static bool print_text(const abx_answer *a, const char *operation)
{
    _buf_ struct buf b = { .limit = (size_t)16 << 20 };

    (void)buf_printf(&b, "%s: %s ", abx_answer_allowed(a) ? "allowed" : "denied", operation);
    put_escaped(&b, abx_answer_target(a));
    if (abx_answer_port(a))
        (void)buf_printf(&b, ", port %d", (int)abx_answer_port(a));
    (void)buf_putc(&b, '\n');
    put_row(&b, "rule:", abx_answer_rule(a));
    put_row(&b, "from:", abx_answer_origin(a));
    put_row(&b, "at:", abx_answer_source(a));
    put_row(&b, "note:", abx_answer_note(a));
    put_row(&b, "change:", abx_answer_grant(a));
    return !b.failed && fputs(b.data, stdout) >= 0;
}

static bool print_json(const abx_answer *a)
{
    char *text = NULL;
    bool ok = abx_answer_json(a, &text, NULL) == ABX_OK && fputs(text, stdout) >= 0;

    abx_free(text);
    return ok;
}

static int answer(const struct run_options *o, const char *target)
{
    abx_error *err = NULL;
    abx_answer *a = NULL;

    if (abx_command_explain(o->command, o->operands[0], target, &a, &err) != ABX_OK)
        return cli_fail(err);
    bool ok = str_eq(o->format, "json") ? print_json(a) : print_text(a, o->operands[0]);
    int code = ok ? !abx_answer_allowed(a) : EXIT_AGENTBOX;
    abx_answer_free(a);
    return code;
}

static int answer_all(const struct run_options *o)
{
    abx_error *err = NULL;
    int code = 0;

    if (o->operand_count < 2)
        return cli_misuse("agentbox why write src/main.c; agentbox why net example.com:443",
                          "why takes an operation (read, write, exec, net) and what it is about");
    if (abx_manager_wrap(o->manager, o->command, &err) != ABX_OK)
        return cli_fail(err);
    for (size_t i = 1; i < o->operand_count && code != EXIT_AGENTBOX; i++) {
        int one = answer(o, o->operands[i]);
        code = MAX_OF(code, one);
    }
    return code;
}

CLI_COMMAND(why)
{
    struct run_options o;
    int code = run_options_read(&o, command, argc, argv, RUN_OPERANDS);

    if (code == 0)
        code = o.help ? cli_help(command) : answer_all(&o);
    run_options_done(&o);
    return code;
}
