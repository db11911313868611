/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell reader, by the table tests/classify/shell.tsv: each group of it is a test, each row a
 * text and the calls that it has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/shell_print.h"

#define MAX_GROUPS 64
#define MIN_ROWS   300

struct group {
    char *name;
    char **rows;
    size_t count;
};

/* \n \t \r \\ \xNN, in place; the length. */
static size_t decode(char *text)
{
    char *out = text;

    for (const char *in = text; *in; in++) {
        unsigned byte;

        if (*in != '\\') {
            *out++ = *in;
            continue;
        }
        in++;
        if (*in == 'x' && sscanf(in + 1, "%2x", &byte) == 1) {
            *out++ = (char)byte;
            in += 2;
        } else {
            *out++ = (char)(*in == 'n' ? '\n' : *in == 't' ? '\t' : *in == 'r' ? '\r' : *in);
        }
    }
    *out = '\0';
    return (size_t)(out - text);
}

static void calls_are_those_of_the_table(void **state)
{
    const struct group *group = *state;
    size_t wrong = 0;

    for (size_t i = 0; i < group->count; i++) {
        char *text = strdup(group->rows[i]), *want = strchr(text, '\t');
        _buf_ struct buf got;
        char *exact;
        size_t len;

        buf_init(&got, (size_t)1 << 20);
        assert_non_null(want);
        *want++ = '\0';
        len = decode(text);
        (void)decode(want);
        exact = malloc(len + 1); /* its own size, so that a sanitizer sees its end */
        memcpy(exact, text, len);
        exact = realloc(exact, len > 0 ? len : 1);
        shell_print_text(&got, exact, len);
        if (strcmp(got.data ? got.data : "", want) != 0) {
            print_error("%s\n  want %s\n  got  %s\n", group->rows[i], want,
                        got.data ? got.data : "");
            wrong++;
        }
        free(exact);
        free(text);
    }
    assert_int_equal(wrong, 0);
    assert_true(group->count > 0);
}

static size_t load(FILE *file, struct group *groups, size_t *ret_rows)
{
    static const char mark[] = "# claim: ";
    size_t count = 0, size = 0;
    char *line = NULL;

    *ret_rows = 0;
    while (getline(&line, &size, file) >= 0) {
        struct group *group = count > 0 ? &groups[count - 1] : NULL;

        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, mark, strlen(mark)) == 0 && count < MAX_GROUPS) {
            groups[count++].name = strdup(line + strlen(mark));
        } else if (line[0] != '#' && strchr(line, '\t') && group) {
            group->rows = realloc(group->rows, (group->count + 1) * sizeof(char *));
            group->rows[group->count++] = strdup(line);
            (*ret_rows)++;
        }
    }
    free(line);
    return count;
}

static void table_is_large(void **state)
{
    assert_true(*(const size_t *)*state >= MIN_ROWS);
}

int main(void)
{
    static struct group groups[MAX_GROUPS];
    static struct CMUnitTest tests[MAX_GROUPS + 1];
    const char *source = getenv("ABX_SOURCE");
    char path[4096];
    size_t count, rows = 0;
    FILE *file;
    int failed;

    (void)snprintf(path, sizeof(path), "%s/tests/classify/shell.tsv", source ? source : ".");
    file = fopen(path, "re");
    if (!file) {
        perror(path);
        return 1;
    }
    count = load(file, groups, &rows);
    (void)fclose(file);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){ groups[i].name, calls_are_those_of_the_table, NULL, NULL,
                                        &groups[i] };
    tests[count] = (struct CMUnitTest){ "the table is large", table_is_large, NULL, NULL, &rows };
    failed = _cmocka_run_group_tests("shell", tests, count + 1, NULL, NULL);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < groups[i].count; k++)
            free(groups[i].rows[k]);
        free(groups[i].rows);
        free(groups[i].name);
    }
    return failed;
}
