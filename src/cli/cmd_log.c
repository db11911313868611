/* SPDX-License-Identifier: Apache-2.0 */
/* agentbox log: what was refused in past runs, oldest first. */
#include "base/str.h"
#include "cli/log_options.h"

const struct opt_spec log_options[LOG_OPTION_COUNT] = {
    { LOG_OPTION_LAST, 'n', "last", "N", "Only the last N records." },
    { LOG_OPTION_JSON, 0, "json", NULL, "Print JSON, one record a line." },
    { LOG_OPTION_HELP, 'h', "help", NULL, "This text." },
};

CLI_COMMAND(log)
{
    abx_error *err = NULL;
    const char *format = "text";
    uint64_t last = 0;
    struct opt opt;
    char *text;

    opt_init(&opt, command->options, command->option_count, argc - 1, argv + 1, 0);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id < 0)
            return cli_bad_option(command, &opt, id);
        if (id == LOG_OPTION_HELP)
            return cli_help(command);
        if (id == LOG_OPTION_JSON)
            format = "json";
        else if (!str_to_u64(opt.value, UINT32_MAX, &last) || last == 0)
            return cli_misuse("write a number from 1 on", "--last '%s': not a number of records",
                              opt.value);
    }
    if (abx_log_text(format, (size_t)last, &text, &err) != ABX_OK)
        return cli_fail(err);
    int code = fputs(text, stdout) < 0 ? EXIT_AGENTBOX : 0;
    abx_free(text);
    return code;
}
