/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a command to its verdict, and from that to a yes or no. A verdict is made anew for each
 * command; rules are made once for each configuration.
 */
#ifndef ABX_API_JUDGE_H
#define ABX_API_JUDGE_H

#include "api/internal.h"
#include "classify/judge.h"

struct abx_check {
    enum decision decision;
    char *rule, *reason, *part;
};

/* ---- rules.c ---- */
/* Whether any of these entries is for the classifier. */
bool rules_are_set(const struct settings *settings);
/*
 * The rules of a configuration. What a project's file that is not trusted would loosen is left out;
 * ret_withheld says whether something was.
 */
int32_t rules_build(const abx_config *config, const struct layers *layers, struct ruleset **ret,
                    bool *ret_withheld, abx_error **err);

/* ---- question.c ---- */
struct abx_question {
    char key[SHA256_HEX_BYTES];
    bool can_keep;
    char *command, *part, *cwd;
    const char *rule, *reason;
    int fd;           /* eventfd, or -1 */
    int64_t deadline; /* by run_now_ns; -1: none */
    abx_question *next, **prev;
};
int32_t question_new(const abx_command *c, const abx_check *check, const struct layers *layers,
                     const char *cwd, abx_question **ret, abx_error **err);
void question_free(abx_question *q);
void question_freep(abx_question **q);
#define _question_ __attribute__((cleanup(question_freep)))
/* What the key is made of, once more: false if a file has changed since. */
bool question_still_holds(const abx_question *q, const abx_command *c, const abx_check *check,
                          const struct layers *layers, const char *cwd);
/* Nobody needs the answer any more. */
void question_wake(const abx_question *q);

/* ---- approve.c ---- */
/* ABX_OK: somebody approves what check, which is escalated, is about. */
int32_t command_approve(abx_manager *m, abx_command *c, const abx_check *check,
                        const struct layers *layers, const char *cwd, abx_error **err);

#endif
