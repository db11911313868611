/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads case tables and judges their rows. A row that does not have the format ends the run: a
 * table that is not read proves nothing.
 */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define MAX_ITEMS 512

/* ---- JSON, as far as the tables need it ---- */

struct reader {
    struct arena *arena;
    const char *at;
    bool failed;
};

static void json_blank(struct reader *r)
{
    r->at += strspn(r->at, " ");
}

static bool json_take(struct reader *r, char c)
{
    json_blank(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

static size_t put_utf8(char *out, unsigned c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 63));
    out[2] = (char)(0x80 | (c & 63));
    return 3;
}

static const char *json_string(struct reader *r)
{
    static const char from[] = "nrtbf", to[] = "\n\r\t\b\f";
    char *text = arena_alloc(r->arena, strlen(r->at) + 1, 1);
    size_t n = 0;

    if (!text || !json_take(r, '"')) {
        r->failed = true;
        return "";
    }
    while (*r->at && *r->at != '"') {
        if (*r->at != '\\') {
            text[n++] = *r->at++;
            continue;
        }
        const char *known = strchr(from, r->at[1]);

        if (r->at[1] == 'u') {
            char digits[5] = { 0 };

            memcpy(digits, r->at + 2, strnlen(r->at + 2, 4));
            n += put_utf8(text + n, (unsigned)strtoul(digits, NULL, 16));
            r->at += 2 + strlen(digits);
        } else {
            text[n++] = known && r->at[1] ? to[known - from] : r->at[1];
            r->at += r->at[1] ? 2 : 1;
        }
    }
    text[n] = '\0';
    r->failed |= *r->at != '"';
    r->at += *r->at == '"';
    return text;
}

static size_t json_strings(struct reader *r, const char **items)
{
    size_t n = 0;

    r->failed |= !json_take(r, '[');
    if (json_take(r, ']'))
        return 0;
    do {
        if (n >= MAX_ITEMS || r->failed) {
            r->failed = true;
            return n;
        }
        items[n++] = json_string(r);
    } while (json_take(r, ','));
    r->failed |= !json_take(r, ']');
    return n;
}

/* ---- the context of a row ---- */

struct context {
    struct custom_rule custom[MAX_ITEMS];
    struct rule_override overrides[MAX_ITEMS];
    struct protected_path protected[MAX_ITEMS];
    struct ruleset_config config;
};

static enum decision decision_of(struct reader *r, const char *name)
{
    enum decision d = DECISION_SANDBOXED;

    if (!decision_parse(name, &d))
        r->failed = true;
    return d;
}

/* [{"pattern":…,"decision":…,"description":…}, …] for both kinds of rules. */
static void read_rules(struct reader *r, struct context *c, bool protected)
{
    r->failed |= !json_take(r, '[');
    if (json_take(r, ']'))
        return;
    do {
        struct custom_rule rule = { .pattern = "",
                                    .decision = DECISION_SANDBOXED,
                                    .description = "" };

        r->failed |= !json_take(r, '{');
        do {
            const char *key = json_string(r);

            r->failed |= !json_take(r, ':');
            const char *value = json_string(r);

            if (strcmp(key, "pattern") == 0)
                rule.pattern = value;
            else if (strcmp(key, "decision") == 0)
                rule.decision = decision_of(r, value);
            else
                rule.description = value;
        } while (!r->failed && json_take(r, ','));
        r->failed |= !json_take(r, '}');
        if (protected)
            c->protected[c->config.protected_count++] =
                (struct protected_path){ rule.pattern, rule.decision, rule.description };
        else
            c->custom[c->config.custom_count++] = rule;
    } while (!r->failed && json_take(r, ','));
    r->failed |= !json_take(r, ']');
}

static void read_overrides(struct reader *r, struct context *c, bool ordered)
{
    r->failed |= !json_take(r, ordered ? '[' : '{');
    if (json_take(r, ordered ? ']' : '}'))
        return;
    do {
        r->failed |= ordered && !json_take(r, '[');
        const char *rule = json_string(r);

        r->failed |= !json_take(r, ordered ? ',' : ':');
        c->overrides[c->config.override_count++] =
            (struct rule_override){ rule, decision_of(r, json_string(r)), true, NULL, false };
        r->failed |= ordered && !json_take(r, ']');
    } while (!r->failed && json_take(r, ','));
    r->failed |= !json_take(r, ordered ? ']' : '}');
}

static void read_context(struct reader *r, struct context *c)
{
    r->failed |= !json_take(r, '{');
    do {
        const char *key = json_string(r);

        r->failed |= !json_take(r, ':');
        if (strcmp(key, "base") == 0)
            c->config.no_builtin_rules = strcmp(json_string(r), "none") == 0;
        else if (strcmp(key, "home") == 0)
            c->config.home = json_string(r);
        else if (strcmp(key, "customRules") == 0)
            read_rules(r, c, false);
        else if (strcmp(key, "protectedPaths") == 0)
            read_rules(r, c, true);
        else
            read_overrides(r, c, strcmp(key, "overridesInOrder") == 0);
    } while (!r->failed && json_take(r, ','));
    r->failed |= !json_take(r, '}');
    c->config.no_protected_paths = true;
}

/* ---- rows ---- */

static void unescape(char *text)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at == '\\' && at[1]) {
            at++;
            *to++ = (char)(*at == 'n' ? '\n' : *at == 't' ? '\t' : *at == 'r' ? '\r' : *at);
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
}

static bool judge_row(const char *command, const char *cwd, struct arena *arena,
                      struct verdict *ret)
{
    struct reader r = { .arena = arena, .at = command };
    struct context *c = arena_alloc(arena, 1, sizeof(*c));
    _ruleset_ struct ruleset *rules = NULL;
    const char *items[MAX_ITEMS];

    if (!c)
        return false;
    c->config.custom = c->custom;
    c->config.overrides = c->overrides;
    c->config.protected = c->protected;
    c->config.no_protected_paths = true;
    if (str_has_prefix(r.at, "protected:")) { /* all of it, as a user has it */
        r.at += strlen("protected:");
        c->config.no_protected_paths = false;
    } else if (str_has_prefix(r.at, "protected-only:")) {
        r.at += strlen("protected-only:");
        c->config.no_builtin_rules = true;
        c->config.no_protected_paths = false;
    } else if (str_has_prefix(r.at, "with:")) {
        r.at += strlen("with:");
        read_context(&r, c);
        r.failed |= *r.at != ' ';
        r.at += *r.at == ' ';
    }
    if (r.failed || ruleset_new(&c->config, &rules, NULL) != 0)
        return false;
    if (str_has_prefix(r.at, "argv:")) {
        r.at += strlen("argv:");
        size_t n = json_strings(&r, items);

        if (!r.failed)
            judge_argv(rules, items, n, cwd, arena, ret);
    } else {
        judge_text(rules, r.at, strlen(r.at), cwd, arena, ret);
    }
    /* The names live in the ruleset. */
    ret->rule = r.failed ? "" : arena_strdup(arena, ret->rule);
    return !r.failed && ret->rule;
}

static bool decision_fits(const char *want, const struct verdict *got)
{
    const char *name = decision_name(got->decision);

    if (*want == '\0')
        return true;
    return *want == '!' ? strcmp(want + 1, name) != 0 : strcmp(want, name) == 0;
}

static bool rule_fits(const char *want, const char *got)
{
    if (*want == '\0')
        return true;
    if (*want == '!')
        return strcmp(want + 1, got) != 0;
    size_t n = strlen(got);

    for (const char *at = want;;) { /* a|b */
        size_t len = strcspn(at, "|");

        if (len == n && memcmp(at, got, n) == 0)
            return true;
        if (at[len] == '\0')
            return false;
        at += len + 1;
    }
}

static bool run_row(struct case_row *row, char *line, struct arena *arena)
{
    char *columns[4] = { line, "", "", "" };
    const char *cwd = NULL;

    for (unsigned i = 1; i < 4; i++) {
        char *tab = strchr(columns[i - 1], '\t');

        if (!tab)
            break;
        *tab = '\0';
        columns[i] = tab + 1;
    }
    row->shown = arena_strdup(arena, columns[0]);
    row->want = columns[1];
    row->want_rule = columns[2];
    if (str_has_prefix(columns[3], "cwd:"))
        cwd = columns[3] + strlen("cwd:");
    unescape(columns[0]);
    if (!row->shown || !judge_row(columns[0], cwd, arena, &row->got))
        return false;
    row->decision_right = decision_fits(row->want, &row->got);
    row->rule_right = rule_fits(row->want_rule, row->got.rule);
    return true;
}

bool cases_run(const char *path, void (*show)(void *user, const struct case_row *row), void *user,
               struct case_counts *counts)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    bool ok = file != NULL;
    struct case_row row = { .file = path };

    if (!file)
        (void)fprintf(stderr, "cannot open %s\n", path);
    while (ok && (len = getline(&line, &size, file)) >= 0) {
        _arena_ struct arena arena = { 0 };

        row.line++;
        if (len > 0 && line[len - 1] == '\n')
            line[len - 1] = '\0';
        if (line[0] == '\0' || str_has_prefix(line, "## "))
            continue;
        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        ok = run_row(&row, line, &arena);
        if (!ok) {
            (void)fprintf(stderr, "%s:%zu: a row that cannot be read\n", path, row.line);
            break;
        }
        counts->rows++;
        counts->wrong_decisions += !row.decision_right;
        counts->wrong_rules += row.decision_right && !row.rule_right;
        show(user, &row);
    }
    free(line);
    if (file)
        (void)fclose(file);
    return ok;
}
