/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare-cases [--strict] FILE…: judges the rows of case tables and prints those that come out
 * differently: file:line, what was wanted, what came out, the row. Ends with 1 if a row came out
 * lower than it should (with --strict: if any did).
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "cases.h"

struct tally {
    size_t lower, higher, mild, mild_total;
};

static void show(void *user, const struct case_row *row)
{
    struct tally *t = user;
    enum decision want;
    bool known = decision_parse(row->want, &want);
    const char *kind = "rule";

    t->mild_total += known && want <= DECISION_SANDBOXED;
    if (row->decision_right && row->rule_right)
        return;
    if (!row->decision_right) {
        bool lower = !known || row->got.decision < want;
        /* Allowed and sandboxed run alike. */
        bool mild = known && want <= DECISION_SANDBOXED && row->got.decision <= DECISION_SANDBOXED;

        kind = mild ? "mild" : lower ? "LOWER" : "higher";
        t->lower += lower && !mild;
        t->higher += !lower && !mild;
        t->mild += known && want <= DECISION_SANDBOXED && !mild;
    }
    (void)printf("%s:%zu: %s: want %s %s, got %s %s: %s\n", row->file, row->line, kind, row->want,
                 row->want_rule, decision_name(row->got.decision), row->got.rule, row->shown);
}

int main(int argc, char **argv)
{
    struct case_counts counts = { 0 };
    struct tally tally = { 0 };
    bool strict = argc > 1 && strcmp(argv[1], "--strict") == 0;

    for (int i = 1 + strict; i < argc; i++) {
        if (!cases_run(argv[i], show, &tally, &counts))
            return 2;
    }
    (void)printf("%zu rows: %zu decisions differ (%zu lower, %zu higher), %zu rules differ; "
                 "%zu of %zu expected allow or sandboxed are asked about or refused\n",
                 counts.rows, counts.wrong_decisions, tally.lower, tally.higher, counts.wrong_rules,
                 tally.mild, tally.mild_total);
    return tally.lower > 0 || (strict && counts.wrong_decisions > 0);
}
