/* SPDX-License-Identifier: Apache-2.0 */
/* Who is asked when a command wants a host that no rule mentions: the user, on the terminal. */
#ifndef ABX_CLI_NETWORK_H
#define ABX_CLI_NETWORK_H

#include "cli/cli.h"

#define NETWORK_QUEUE 64 /* the library has no more open at one time */

struct network_asker {
    struct network_question {
        uint32_t id;
        int32_t port;
        char host[256];
    } queue[NETWORK_QUEUE];
    size_t count;
};

/* For abx_hooks.network: only takes the question down. */
void network_take(struct network_asker *a, uint32_t question, const char *host, int32_t port);

/* What else goes on while a question is open. */
struct network_scene {
    int signals;
    int process_fd;
    bool (*serve)(void *user); /* the process has something to say; false: it has ended */
    /* Instead of an answer a signal came, which is for the command: before it hears a no. */
    void (*pass)(void *user, int number);
    void *user;
};
/* Asks the first question and passes the answer on. */
void network_ask(struct network_asker *a, abx_manager *m, const struct network_scene *scene);
/* … says no to all of them. */
void network_refuse(struct network_asker *a, abx_manager *m);

#endif
