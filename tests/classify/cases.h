/* SPDX-License-Identifier: Apache-2.0 */
/* Case tables of the classifier: README.md has the format. */
#ifndef ABX_TESTS_CLASSIFY_CASES_H
#define ABX_TESTS_CLASSIFY_CASES_H

#include "classify/judge.h"

struct case_row {
    const char *file;
    size_t line;
    const char *shown; /* the first column as it stands in the file */
    const char *want, *want_rule;
    struct verdict got;
    bool decision_right, rule_right;
};

struct case_counts {
    size_t rows, wrong_decisions, wrong_rules;
};

/* Judges every row and shows it. False: the file cannot be read or has a broken row (told). */
bool cases_run(const char *path, void (*row)(void *user, const struct case_row *row), void *user,
               struct case_counts *counts);

#endif
