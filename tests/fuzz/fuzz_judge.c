/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a text, and, cut at newlines, as an argument vector: no crash, the verdict is
 * complete and the same the second time, an allowed text has a rule, the part lies in the input or
 * is text of its own. Rules of the user are in force, so that their matcher is met too.
 */
#include <stdlib.h>
#include <string.h>

#include "classify/judge.h"

#define MAX_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ruleset *rules_once(void)
{
    static const struct custom_rule custom[] = {
        { "git push *", DECISION_ALLOW, NULL, false },
        { "*[a-c]?\\*", DECISION_ESCALATED, "odd", false },
    };
    static const struct ruleset_config config = { .custom = custom,
                                                  .custom_count = ARRAY_LEN(custom) };
    static struct ruleset *rules;

    if (!rules && ruleset_new(&config, &rules, NULL) != 0)
        abort();
    return rules;
}

static void check(const struct verdict *a, const struct verdict *b)
{
    if (!a->rule || !a->reason || !a->reason[0] || !a->part || a->decision > DECISION_FORBIDDEN)
        abort();
    if (a->decision == DECISION_ALLOW && !a->rule[0])
        abort();
    if (a->decision != b->decision || strcmp(a->rule, b->rule) != 0 || a->part_len != b->part_len ||
        memcmp(a->part, b->part, a->part_len) != 0)
        abort();
}

static void check_argv(struct ruleset *rules, char *text, struct arena *arena)
{
    const char *argv[MAX_WORDS];
    struct verdict a, b;
    size_t count = 0;

    for (char *at = text; at && count < MAX_WORDS; count++) {
        argv[count] = at;
        at = strchr(at, '\n');
        if (at)
            *at++ = '\0';
    }
    judge_argv(rules, argv, count, "/srv/p", arena, &a);
    judge_argv(rules, argv, count, "/srv/p", arena, &b);
    check(&a, &b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ruleset *rules = rules_once();
    _arena_ struct arena arena = { 0 };
    struct verdict a, b;
    char *text = malloc(size + 1); /* its own size, so that a sanitizer sees the end */
    char *terminated = malloc(size + 1);

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    if (text && terminated) {
        if (size > 0)
            memcpy(text, data, size);
        text = realloc(text, size > 0 ? size : 1);
        if (!text)
            abort();
        judge_text(rules, text, size, NULL, &arena, &a);
        judge_text(rules, text, size, NULL, &arena, &b);
        check(&a, &b);
        judge_text(rules, text, size, "/srv/p", &arena, &a);
        if (size > 0)
            memcpy(terminated, data, size);
        terminated[size] = '\0';
        check_argv(rules, terminated, &arena);
    }
    free(text);
    free(terminated);
    return 0;
}
