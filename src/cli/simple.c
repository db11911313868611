/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/simple.h"

#include "base/str.h"

int simple_read(const struct cli_command *command, int argc, char **argv, bool *ret_json,
                const char **ret_operand)
{
    struct opt opt;

    opt_init(&opt, command->options, command->option_count, argc - 1, argv + 1, 0);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id == OPT_OPERAND && ret_operand && !*ret_operand) {
            *ret_operand = opt.value;
            continue;
        }
        if (id < 0)
            return 1 + cli_bad_option(command, &opt, id);
        if (str_eq(opt.spec->long_name, "help"))
            return 1 + cli_help(command);
        *ret_json = true;
    }
    return 0;
}
