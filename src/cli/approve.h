/* SPDX-License-Identifier: Apache-2.0 */
/* Who answers when a command needs an approval: --approve ask|deny|yes. */
#ifndef ABX_CLI_APPROVE_H
#define ABX_CLI_APPROVE_H

#include "cli/cli.h"
#include "cli/network.h"

enum approve_mode {
    APPROVE_ASK,  /* on the controlling terminal */
    APPROVE_DENY, /* nobody */
    APPROVE_YES,  /* whoever wrote the option */
    APPROVE_PLAN, /* nothing will run: go on, and say that a run would ask */
};

struct approver {
    enum approve_mode mode;
    int signals;                   /* cli/signals.h; says when the user wants to stop; -1: none */
    const char *hint;              /* why nobody was asked, and what to do; NULL: somebody was */
    struct network_asker *network; /* hosts to ask about */
};

/* "ask", "deny" or "yes". */
bool approver_mode(const char *word, enum approve_mode *ret);
/* Somebody sits at the terminal and sees what is asked. */
bool approver_is_there(void);
/* An abx_approve_fn and an abx_network_fn; user is the struct approver. */
int32_t approver_answer(void *user, const abx_question *question);
void approver_network(void *user, uint32_t question, const char *host, int32_t port);

#endif
