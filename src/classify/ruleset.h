/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of one configuration: the built-in ones (rules.def), what the configuration says about
 * them, rules and protected paths of its own. Built once, never changed, safe for any number of
 * threads. docs/classifier.md tells who wins over whom.
 */
#ifndef ABX_CLASSIFY_RULESET_H
#define ABX_CLASSIFY_RULESET_H

#include "base/defs.h"
#include "base/err.h"

/* In the order of strictness: of several verdicts the greatest holds. */
enum decision {
    DECISION_ALLOW,
    DECISION_SANDBOXED,
    DECISION_ESCALATED,
    DECISION_FORBIDDEN,
};

/* One simple command, its words joined by blanks; * matches anything, ? one byte, [] a set. */
struct custom_rule {
    const char *pattern;
    enum decision decision;
    const char *description; /* NULL or "": none */
    bool guards;             /* of the first such rule that matches only "forbidden" counts */
};

struct rule_override {
    const char *rule; /* a name of rules.def, or RULE_CHAIN_ALLOW */
    enum decision decision;
    bool trusted; /* from the user's or the system's own config: may also lower a forbidden rule */
    const char *source; /* where it stands, for people; NULL: not known */
    bool withheld;      /* changes nothing, but must be right like the others */
};

/* Relative to the project, at any depth; a pattern that ends in / and a star covers all below. */
struct protected_path {
    const char *pattern;
    enum decision decision;
    const char *description; /* NULL or "": none */
};

struct ruleset_config {
    const struct custom_rule *custom; /* the first that matches counts */
    size_t custom_count;
    const struct rule_override *overrides; /* the last for a rule counts */
    size_t override_count;
    const struct protected_path *protected; /* besides the built-in ones */
    size_t protected_count;
    bool no_builtin_rules;
    bool no_protected_paths; /* leave the built-in list out */
    const char *home;        /* absolute; NULL: not known */
};

#define RULE_CHAIN_ALLOW "compound-chain-allow" /* several commands, each allowed */
#define RULE_UNREADABLE  "unreadable"           /* text that no shell would take, or too much */

struct ruleset;

/* Copies all it needs. ABX_E_CONFIG names the rule that does not exist or the broken pattern. */
int32_t ruleset_new(const struct ruleset_config *config, struct ruleset **ret, abx_error **err);
void ruleset_free(struct ruleset *r);
void ruleset_freep(struct ruleset **r);
#define _ruleset_ __attribute__((cleanup(ruleset_freep)))

const char *decision_name(enum decision decision);
bool decision_parse(const char *name, enum decision *ret);

/* The built-in rules, for people: i counts from 0; false behind the last. */
struct rule_info {
    const char *name, *reason, *example, *counter_example;
    enum decision decision;
};
bool rule_info(size_t i, struct rule_info *ret);

#endif
