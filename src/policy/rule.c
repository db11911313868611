/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of the user for the classifier. Here only their form is judged: known members, each once,
 * of the right type, a pattern that is not empty, a decision that exists. What a pattern matches is
 * the classifier's business.
 */
#include "policy/rule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"

#define KEY_NAME   "classifier.rules"
#define TREE_LIMIT ((size_t)4 << 20)

enum member { PATTERN, DECISION, DESCRIPTION, MEMBER_COUNT };
static const char *const names[MEMBER_COUNT + 1] = { "pattern", "decision", "description", NULL };

static const char *const decisions[] = { "allow", "sandboxed", "escalated", "forbidden" };

static bool is_decision(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(decisions); i++)
        if (str_eq(decisions[i], text))
            return true;
    return false;
}

static void refuse_member(const struct doc_node *child, struct problems *p)
{
    const char *nearest = str_nearest(child->key, names);

    char hint[64];

    (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest ? nearest : "");
    problems_add(p, child->key_place, KEY_NAME,
                 nearest ? hint : "a rule has pattern, decision and description",
                 "unknown key '%.256s' in a rule of " KEY_NAME, child->key);
}

static void take_member(const struct doc_node *child, const char *values[MEMBER_COUNT],
                        struct problems *p)
{
    size_t i = 0;

    while (i < MEMBER_COUNT && !str_eq(names[i], child->key))
        i++;
    if (i == MEMBER_COUNT) {
        refuse_member(child, p);
        return;
    }
    values[i] = child->text ? child->text : "";
    if (child->type != DOC_STRING)
        problems_add(p, child->place, KEY_NAME, NULL, "'%s' of a rule of " KEY_NAME " must be text",
                     names[i]);
    else if (i == PATTERN && values[i][0] == '\0')
        problems_add(p, child->place, KEY_NAME, "for example \"docker run *\"",
                     "the pattern of a rule of " KEY_NAME " is empty");
    else if (i == DECISION && !is_decision(values[i]))
        problems_add(p, child->place, KEY_NAME, "use allow, sandboxed, escalated or forbidden",
                     "set a decision of " KEY_NAME " to '%.256s': not one of its words", values[i]);
}

void rule_write(const struct doc_node *node, struct buf *out, struct problems *problems)
{
    const char *values[MEMBER_COUNT] = { NULL };
    size_t before = problems->count;
    struct json j;

    if (node->type != DOC_MAP) {
        problems_add(problems, node->place, KEY_NAME,
                     "for example { \"pattern\": \"docker run *\", \"decision\": \"escalated\" }",
                     "a rule of " KEY_NAME " must be an object");
        return;
    }
    for (const struct doc_node *child = node->first; child; child = child->next)
        take_member(child, values, problems);
    for (size_t i = 0; i < DESCRIPTION && problems->count == before; i++)
        if (!values[i])
            problems_add(problems, node->place, KEY_NAME,
                         "a rule needs its pattern and its decision",
                         "a rule of " KEY_NAME " has no '%s'", names[i]);
    if (problems->count != before)
        return;
    json_init(&j, out);
    json_object(&j);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        if (!values[i])
            continue;
        json_pair_str(&j, names[i], values[i]);
    }
    json_object_end(&j);
}

void rule_read(const char *text, struct buf *out, struct problems *problems)
{
    _arena_ struct arena arena = { 0 };
    struct doc doc;

    arena_init(&arena, TREE_LIMIT);
    int r = doc_read(&arena, text, strlen(text), DOC_JSON, &doc);
    if (r == 0)
        rule_write(doc.root, out, problems);
    else if (r == -ENOMEM)
        problems_take(problems, (struct doc_place){ 1, 1 }, NULL);
    else
        problems_add(problems, (struct doc_place){ 1, 1 }, KEY_NAME,
                     "for example {\"pattern\":\"docker run *\",\"decision\":\"escalated\"}",
                     "a rule of " KEY_NAME " is not JSON: %s", doc.problems[0].what);
}
