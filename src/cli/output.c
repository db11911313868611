/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output with a limit. The command never waits for what is not wanted: bytes beyond the limit are
 * read all the same. Whoever reads ours may be slow, though, or gone: then writing waits, or ends
 * this program, as it would have ended the command.
 */
#include "cli/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/io.h"
#include "cli/cli.h"

static void pass_on(void *user, int32_t stream, const char *bytes, size_t len)
{
    struct output *o = user;
    uint64_t *seen = &o->seen[stream == STDERR_FILENO];
    uint64_t room = o->limit == 0 ? len : *seen < o->limit ? o->limit - *seen : 0;

    *seen += len;
    (void)io_write_all(stream, bytes, (size_t)MIN_OF((uint64_t)len, room));
}

int32_t output_limit(struct output *o, abx_command *command, abx_error **err)
{
    int32_t code = abx_command_set_output(command, pass_on, o, err);

    for (int32_t i = STDOUT_FILENO; i <= STDERR_FILENO && code == ABX_OK; i++)
        code = abx_command_set_stdio(command, i, ABX_STDIO_STREAM, -1, err);
    return code;
}

void output_tell(const struct output *o)
{
    static const char *const names[] = { "standard output", "standard error" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char text[160];

        if (o->limit == 0 || o->seen[i] <= o->limit)
            continue;
        (void)snprintf(text, sizeof text,
                       "--max-output: the last %" PRIu64 " of %" PRIu64
                       " bytes of %s were left out",
                       o->seen[i] - o->limit, o->seen[i], names[i]);
        cli_notice(NULL, ABX_NOTICE_WARNING, "run", text);
    }
}
