/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox approvals: what was approved for always, and taking it back. */
#include "base/str.h"
#include "cli/cli.h"

enum { APPROVALS_MAX_WORDS = 256 };

struct request {
    const char *words[APPROVALS_MAX_WORDS];
    size_t count;
    bool json;
};

/* 0 to go on, or 1 + exit code when help or a complaint was printed. */
static int read_words(const struct cli_command *command, int argc, char **argv, struct request *r)
{
    struct opt opt;

    opt_init(&opt, command->options, command->option_count, argc - 1, argv + 1, 0);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id == OPT_OPERAND && r->count < APPROVALS_MAX_WORDS) {
            r->words[r->count++] = opt.value;
            continue;
        }
        if (id == OPT_OPERAND)
            return 1 + cli_misuse("`agentbox approvals forget all` takes all back",
                                  "approvals forget: too many keys");
        if (id < 0)
            return 1 + cli_bad_option(command, &opt, id);
        if (str_eq(opt.spec->long_name, "help"))
            return 1 + cli_help(command);
        r->json = true;
    }
    return 0;
}

static int list(const struct request *r)
{
    abx_error *err = NULL;
    char *text = NULL;

    if (abx_approvals_list(r->json ? "json" : "text", &text, &err) != ABX_OK)
        return cli_fail(err);
    bool ok = fputs(text[0] ? text : "nothing is approved for always\n", stdout) >= 0;
    abx_free(text);
    return ok ? 0 : EXIT_AGENTBOX;
}

static int forget(const struct request *r)
{
    abx_error *err = NULL;
    size_t total = 0;

    for (size_t i = 1; i < r->count; i++) {
        size_t n = 0;
        const char *key = str_eq(r->words[i], "all") ? NULL : r->words[i];
        if (abx_approvals_forget(key, &n, &err) != ABX_OK)
            return cli_fail(err);
        total += n;
    }
    if (r->json)
        (void)printf("{\"forgotten\":%zu}\n", total);
    else
        (void)printf("%zu approval%s taken back\n", total, total == 1 ? "" : "s");
    return 0;
}

CLI_COMMAND(approvals)
{
    struct request r = { 0 };
    int code = read_words(command, argc, argv, &r);

    if (code)
        return code - 1;
    if (r.count == 0 || (r.count == 1 && str_eq(r.words[0], "list")))
        return list(&r);
    if (r.count > 1 && str_eq(r.words[0], "forget"))
        return forget(&r);
    return cli_misuse(
        "agentbox approvals; agentbox approvals forget KEY; agentbox approvals forget all",
        "approvals takes list, or forget with keys");
}
