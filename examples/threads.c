/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One manager, many threads, each with commands of its own; the slow ones are canceled from the
 * main thread after a second.
 *
 *     cc -pthread threads.c $(pkg-config --cflags --libs agentbox) -o threads
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <agentbox/agentbox.h>

#define WORKERS 8

struct worker {
    pthread_t thread;
    abx_manager *manager;
    abx_command *command;
    int number;
    int failed;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    abx_error *err = NULL;
    abx_result *result = NULL;
    int32_t code = abx_manager_run(w->manager, w->command, &result, &err);

    if (code == ABX_OK && !abx_result_canceled(result))
        (void)printf("worker %d: status %d, %s", w->number, (int)abx_result_exit_code(result),
                     abx_result_stdout(result, NULL));
    else if (code == ABX_OK || code == ABX_E_CANCELED)
        (void)printf("worker %d: canceled\n", w->number);
    else
        (void)printf("worker %d: %s\n", w->number, abx_error_message(err));
    w->failed = code != ABX_OK && code != ABX_E_CANCELED;
    abx_error_free(err);
    abx_result_free(result);
    return NULL;
}

/* Each second worker has something to do that takes too long. */
static int start(struct worker *w)
{
    char text[64];

    (void)snprintf(text, sizeof text, "echo worker %d here; %s", w->number,
                   w->number % 2 ? "sleep 60" : "exit 0");
    if (abx_command_new_shell(text, &w->command, NULL) != ABX_OK)
        return -1;
    return pthread_create(&w->thread, NULL, work, w);
}

int main(void)
{
    struct worker workers[WORKERS] = { { 0 } };
    abx_error *err = NULL;
    abx_manager *manager;
    int failed = 0, started = 0;

    if (abx_manager_new(NULL, NULL, &manager, &err) != ABX_OK) {
        (void)fprintf(stderr, "threads: %s\n", abx_error_message(err));
        abx_error_free(err);
        return EXIT_FAILURE;
    }
    for (; started < WORKERS; started++) {
        workers[started].manager = manager;
        workers[started].number = started;
        if (start(&workers[started]) != 0)
            break;
    }
    (void)sleep(1);
    for (int i = 0; i < started; i++)
        abx_command_cancel(workers[i].command);
    for (int i = 0; i < started; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        failed += workers[i].failed;
    }
    for (int i = 0; i < WORKERS; i++)
        abx_command_free(workers[i].command);
    abx_manager_free(manager);
    return failed || started < WORKERS ? EXIT_FAILURE : EXIT_SUCCESS;
}
