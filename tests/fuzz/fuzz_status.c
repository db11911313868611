/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of any bytes in the place of pid 1's: each begins with its length (two bytes, the low
 * one first). The run stays whole, records are bounded and refer to what is there, and no text for
 * people has a byte that a terminal would obey.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agentbox/agentbox.h"
#include "api/internal.h"
#include "base/str.h"
#include "plan/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A command whose plan explains; it is never run. */
static abx_command *command_once(void)
{
    static const char *const argv[] = { "true", NULL };
    static abx_command *command;
    abx_config *config = NULL;
    abx_manager *manager = NULL;

    if (command)
        return command;
    char dir[] = "/tmp/fuzz-status.XXXXXX";
    if (!mkdtemp(dir) || abx_config_new(&config, NULL) != ABX_OK ||
        abx_config_append(config, "commands", "rm=false", NULL) != ABX_OK ||
        abx_config_set_string(config, "monitor", "learn", NULL) != ABX_OK ||
        abx_manager_new(config, NULL, &manager, NULL) != ABX_OK ||
        abx_command_new(argv, &command, NULL) != ABX_OK ||
        abx_command_set_cwd(command, dir, NULL) != ABX_OK ||
        abx_manager_wrap(manager, command, NULL) != ABX_OK || !command->plan->watch)
        abort();
    abx_config_free(config);
    (void)rmdir(dir);
    return command;
}

static void check_line(const char *text)
{
    uint32_t c;

    for (size_t len = strlen(text), n; len; text += n, len -= n) {
        n = str_utf8(text, len, &c);
        if (n == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0))
            abort();
    }
}

static void check_run(const struct run *run)
{
    if (run->violations.count > VIOLATIONS_MAX || run->socket_count > ARRAY_LEN(run->sockets))
        abort();
    for (size_t i = 0; i < WATCH_MAX_RECORDS; i++)
        if (run->watch.records[i] > run->violations.count)
            abort();
    for (size_t i = 0; i < run->violations.count; i++)
        check_line(run->violations.list[i].text);
    if (!memchr(run->failure.step, '\0', sizeof run->failure.step) ||
        !memchr(run->failure.text, '\0', sizeof run->failure.text))
        abort();
}

static void take(struct run *run, const uint8_t *bytes, size_t len)
{
    union message *msg = calloc(1, sizeof *msg);
    int fds[STATUS_MAX_FDS];

    memset(fds, 0xff, sizeof fds);
    len = MIN_OF(len, sizeof *msg); /* as recvmsg cuts it */
    if (!msg)
        return;
    if (len)
        memcpy(msg, bytes, len);
    (void)message_take(run, msg, len, fds);
    free(msg);
}

/* Its explainer serves all inputs; what they leave is taken away. */
static struct run *run_once(const abx_command *command)
{
    static struct run run;

    if (!run.watch.tell) {
        run_init(&run);
        if (command_watch((abx_command *)(uintptr_t)command, &run, NULL) != ABX_OK)
            abort();
    }
    violations_done(&run.violations);
    memset(run.watch.records, 0, sizeof run.watch.records);
    run.started = run.failed = false;
    run.exited = false;
    return &run;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const abx_command *command = command_once();
    struct run *run = run_once(command);
    abx_error *err = NULL;

    while (size >= 2) {
        size_t len = MIN_OF((size_t)(data[0] | data[1] << 8), size - 2);

        take(run, data + 2, len);
        data += 2 + len;
        size -= 2 + len;
    }
    check_run(run);
    if (run->failed) {
        if (run_failure(&run->failure, command->plan, &err) == ABX_OK)
            abort();
        check_line(abx_error_message(err));
        abx_error_free(err);
    }
    return 0;
}
