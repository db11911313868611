/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seatbelt profiles of hostile names. The input is a list of rules, NUL between them: a byte that
 * says what kind it is, then a name below /w (or a pattern, where it is a valid one). Whatever the
 * names are, the profile can be read, opens nothing outside, and denies what it is to deny.
 */
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/path.h"
#include "lib/sbpl.h"
#include "plan/seatbelt.h"

#define MAX_RULES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    struct arena arena;
    struct policy_rule rules[MAX_RULES + 1];
    struct path_fact paths[MAX_RULES + 1];
    struct pattern_fact patterns[MAX_RULES];
    size_t rule_count;
    struct facts facts;
};

static void add_rule(struct input *in, const char *word)
{
    unsigned kind = (unsigned char)word[0];
    const char *name = word + 1, *path = path_clean(&in->arena, "/w", name);
    struct policy_rule *rule = &in->rules[in->rule_count];

    if (!path || !path_is_beneath(path, "/w") || !path[2] || strlen(path) > 200 ||
        in->rule_count > MAX_RULES - 1)
        return;
    *rule = (struct policy_rule){ kind & 1, (kind >> 1) % ORIGIN_COUNT, 0, name, "rule" };
    if (kind & 0x80) {
        if (!glob_is_pattern(path, strlen(path)) || glob_check(path + 3, strlen(path + 3)) != 0 ||
            path_depth(path) > GLOB_MAX_PARTS)
            return;
        rule->flags = RULE_GLOB;
        in->patterns[in->facts.pattern_count++] = (struct pattern_fact){ rule, name, "/w",
                                                                         path + 3 };
    } else {
        in->paths[in->facts.path_count++] = (struct path_fact){
            .rule = rule, .why = name, .path = path, .exists = (kind & 0x40) != 0, .ancestor = "/w"
        };
    }
    in->rule_count++;
}

static bool can(const struct sbpl *p, const char *operation, const char *path)
{
    return sbpl_allows(p, &(struct sbpl_query){ .operation = operation, .path = path });
}

static void check(struct input *in, const char *text)
{
    static const struct sbpl_param params[] = { { SEATBELT_PARAM_TMP, "/t" } };
    char *problem = NULL;
    struct sbpl *p = sbpl_read(text, params, 1, &problem);

    if (!p || sbpl_longest_string(p) > SEATBELT_MAX_STRING)
        abort();
    if (can(p, "file-write-data", "/etc/passwd") || can(p, "lsopen", NULL) ||
        can(p, "file-write-unlink", "/w") || !can(p, "file-read-data", "/etc/passwd"))
        abort();
    for (size_t i = 0; i < in->facts.path_count; i++) /* none of the rules grants a write below */
        if (in->paths[i].rule->access != ACCESS_RW && can(p, "file-write-data", in->paths[i].path))
            abort();
    sbpl_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input *in = calloc(1, sizeof *in);
    char *text = malloc(size + 1);
    const struct policy policy = { .tmp_private = true, .network = NETWORK_BLOCKED };
    _buf_ struct buf out;

    buf_init(&out, (size_t)16 << 20);
    if (in && text) {
        arena_init(&in->arena, (size_t)64 << 20);
        if (size)
            memcpy(text, data, size);
        text[size] = '\0';
        in->rules[MAX_RULES] = (struct policy_rule){ ACCESS_RW, ORIGIN_BUILTIN, 0, "/w", "root" };
        in->paths[0] = (struct path_fact){ .rule = &in->rules[MAX_RULES],
                                           .why = "root",
                                           .path = "/w",
                                           .exists = true,
                                           .is_dir = true };
        in->facts = (struct facts){
            .cwd = "/w", .paths = in->paths, .path_count = 1, .patterns = in->patterns
        };
        for (const char *word = text; word < text + size; word += strlen(word) + 1)
            add_rule(in, word);
        if (seatbelt_compile(&policy, &in->facts, &(struct seatbelt_request){ .tag = "t" },
                             &in->arena, &out, NULL) == ABX_OK)
            check(in, out.data);
        arena_done(&in->arena);
    }
    free(text);
    free(in);
    return 0;
}
