/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator: text -> lists (as Scheme reads them) -> rules with compiled filters. Strings have
 * the escapes of the system's reader; a regex is what regcomp calls extended. Rules are looked at
 * from the last to the first, the first one that matches decides: "last match wins" word by word.
 *
 * Operations are checked against a list written from Apple's own profiles, not from ours.
 */
#include "lib/sbpl.h"

#include <ctype.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 16 };

struct term { /* a word, a string, or a list */
    enum { WORD, STRING, LIST } kind;
    char *text;
    size_t len;
    struct term *first, *next;
    char *value;    /* of a filter: its string, parameters filled in */
    regex_t *regex; /* made of it */
};

struct sbpl {
    struct term *rules; /* a LIST of lists */
    const struct term **in_order;
    size_t rule_count;
    const struct sbpl_param *params;
    size_t param_count;
    size_t longest;
    const char *at;
    char *error;
};

static const char *const operations[] = {
    "default",
    "file-ioctl",
    "file-map-executable",
    "file-read*",
    "file-read-data",
    "file-read-metadata",
    "file-write*",
    "file-write-data",
    "file-write-setugid",
    "file-write-unlink",
    "ipc-posix-sem*",
    "ipc-posix-shm*",
    "ipc-posix-shm-read*",
    "mach-lookup",
    "network-bind",
    "network-inbound",
    "network-outbound",
    "process-exec*",
    "process-fork",
    "process-info*",
    "pseudo-tty",
    "signal",
    "sysctl-read",
};

static void fail(struct sbpl *p, const char *fmt, ...) ATTR_PRINTF(2, 3);
static void fail(struct sbpl *p, const char *fmt, ...)
{
    va_list args;

    if (p->error)
        return;
    va_start(args, fmt);
    if (vasprintf(&p->error, fmt, args) < 0)
        abort();
    va_end(args);
}

static void *new_zeroed(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory)
        abort();
    return memory;
}

/* ---- reading ---- */

static void skip_blanks(struct sbpl *p)
{
    for (;;) {
        p->at += strspn(p->at, " \t\r\n");
        if (*p->at != ';')
            return;
        p->at += strcspn(p->at, "\n");
    }
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char read_escape(struct sbpl *p)
{
    char c = *++p->at;

    switch (c) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case '"':
    case '\\':
        return c;
    case 'x':
        if (hex_digit(p->at[1]) >= 0 && hex_digit(p->at[2]) >= 0) {
            p->at += 2;
            return (char)(hex_digit(p->at[-1]) * 16 + hex_digit(p->at[0]));
        }
        FALLTHROUGH;
    default:
        fail(p, "escape '\\%c'", c);
        return '?';
    }
}

static struct term *read_string(struct sbpl *p)
{
    struct term *t = new_zeroed(sizeof *t);
    const char *start = ++p->at;

    t->kind = STRING;
    t->text = new_zeroed(strlen(p->at) + 1);
    for (; *p->at != '"' && !p->error; p->at++) {
        if (!*p->at || *p->at == '\n')
            fail(p, "a string that does not end");
        else
            t->text[t->len++] = *p->at == '\\' ? read_escape(p) : *p->at;
    }
    p->longest = MAX_OF(p->longest, (size_t)(p->at - start));
    if (!p->error)
        p->at++;
    return t;
}

static struct term *read_word(struct sbpl *p)
{
    struct term *t = new_zeroed(sizeof *t);

    t->len = strcspn(p->at, " \t\r\n();\"");
    t->text = strndup(p->at, t->len);
    if (!t->text)
        abort();
    if (t->len == 0)
        fail(p, "unexpected '%.10s'", p->at);
    p->at += t->len;
    return t;
}

static struct term *read_list(struct sbpl *p, int depth)
{
    struct term *t = new_zeroed(sizeof *t), **end = &t->first;

    t->kind = LIST;
    if (depth > MAX_DEPTH)
        fail(p, "too deep");
    for (p->at++; !p->error;) {
        skip_blanks(p);
        if (*p->at == ')') {
            p->at++;
            return t;
        }
        *end = *p->at == '('   ? read_list(p, depth + 1)
               : *p->at == '"' ? read_string(p)
                               : read_word(p);
        end = &(*end)->next;
    }
    return t;
}

/* ---- checking ---- */

static bool is_word(const struct term *t, const char *word)
{
    return t && t->kind == WORD && strcmp(t->text, word) == 0;
}

static const char *head(const struct term *t)
{
    return t->kind == LIST && t->first && t->first->kind == WORD ? t->first->text : "";
}

/* A string, a parameter, or several of them put together: for free(). NULL: none of these. */
static char *string_value(const struct sbpl *p, const struct term *t)
{
    if (!t)
        return NULL;
    if (t->kind == STRING)
        return strlen(t->text) == t->len ? strdup(t->text) : NULL;
    if (strcmp(head(t), "param") == 0 && t->first->next && t->first->next->kind == STRING) {
        for (size_t i = 0; i < p->param_count; i++)
            if (strcmp(p->params[i].name, t->first->next->text) == 0)
                return strdup(p->params[i].value);
        return NULL;
    }
    if (strcmp(head(t), "string-append") == 0) {
        char *all = strdup("");
        for (const struct term *part = t->first->next; part && all; part = part->next) {
            char *value = string_value(p, part), *longer = NULL;
            if (value && asprintf(&longer, "%s%s", all, value) < 0)
                abort();
            free(value);
            free(all);
            all = longer;
        }
        return all;
    }
    return NULL;
}

static void check_filter(struct sbpl *p, struct term *t);

static void check_value(struct sbpl *p, struct term *t)
{
    char *value = string_value(p, t->first->next);

    if (!value || t->first->next->next)
        fail(p, "(%s …) without its one string", head(t));
    if (value && strstr(head(t), "regex")) {
        regex_t *regex = new_zeroed(sizeof *regex);
        if (regcomp(regex, value, REG_EXTENDED | REG_NOSUB) != 0)
            fail(p, "regex '%s'", value);
        t->regex = regex;
    }
    t->value = value;
}

static void check_socket(struct sbpl *p, struct term *t)
{
    struct term *what = t->first->next;

    if (is_word(what, "unix-socket")) {
        if (what->next)
            check_filter(p, what->next);
        return;
    }
    char *value = what ? string_value(p, what->next) : NULL;
    if (!value || (!is_word(what, "ip") && !is_word(what, "tcp")) ||
        (strncmp(value, "localhost:", 10) != 0 && strncmp(value, "*:", 2) != 0))
        fail(p, "(%s …) of something else than localhost or *", head(t));
    t->value = value;
}

static void check_filter(struct sbpl *p, struct term *t)
{
    static const char *const with_string[] = {
        "literal",
        "subpath",
        "regex",
        "path-literal",
        "path-regex",
        "global-name",
        "sysctl-name",
        "extension",
        "ipc-posix-name",
        "ipc-posix-name-regex",
        "sysctl-name-prefix",
    };
    const char *name = head(t);

    for (size_t i = 0; i < ARRAY_LEN(with_string); i++)
        if (strcmp(name, with_string[i]) == 0) {
            check_value(p, t);
            return;
        }
    if (strcmp(name, "require-all") == 0) {
        for (struct term *part = t->first->next; part; part = part->next)
            check_filter(p, part);
    } else if (strcmp(name, "remote") == 0 || strcmp(name, "local") == 0) {
        check_socket(p, t);
    } else if (strcmp(name, "target") == 0) {
        if (!is_word(t->first->next, "same-sandbox"))
            fail(p, "(target …)");
    } else if (strcmp(name, "with") != 0 || !is_word(t->first->next, "message")) {
        fail(p, "filter '%s'", name);
    }
}

static void check_rule(struct sbpl *p, struct term *rule)
{
    struct term *t = rule->first ? rule->first->next : NULL;
    bool known = false;

    for (; t && t->kind == WORD; t = t->next) {
        known = false;
        for (size_t i = 0; i < ARRAY_LEN(operations); i++)
            known = known || strcmp(t->text, operations[i]) == 0;
        if (!known)
            fail(p, "operation '%s'", t->text);
    }
    if (!known || (strcmp(head(rule), "allow") != 0 && strcmp(head(rule), "deny") != 0))
        fail(p, "not a rule: (%s …)", head(rule));
    for (; t && !p->error; t = t->next)
        check_filter(p, t);
}

/* ---- asking ---- */

static bool is_beneath(const char *path, const char *dir)
{
    size_t len = strcmp(dir, "/") == 0 ? 0 : strlen(dir);

    return strncmp(path, dir, len) == 0 && (path[len] == '/' || !path[len]);
}

static bool compare(const char *filter, const char *wanted, const struct sbpl_query *q)
{
    if (strcmp(filter, "literal") == 0 || strcmp(filter, "path-literal") == 0)
        return q->path && strcmp(q->path, wanted) == 0;
    if (strcmp(filter, "subpath") == 0)
        return q->path && is_beneath(q->path, wanted);
    if (strcmp(filter, "extension") == 0)
        return q->extension && strcmp(q->extension, wanted) == 0;
    if (strcmp(filter, "sysctl-name-prefix") == 0)
        return q->name && strncmp(q->name, wanted, strlen(wanted)) == 0;
    return q->name && strcmp(q->name, wanted) == 0;
}

static bool socket_fits(const struct term *what, const char *pattern, const char *address)
{
    const char *end;

    if (!address || (is_word(what, "tcp") && strncmp(address, "tcp ", 4) != 0))
        return false;
    address = strchr(address, ' ') + 1;
    if (strncmp(pattern, "*:", 2) != 0 && strncmp(address, "localhost:", 10) != 0)
        return false;
    end = strrchr(pattern, ':') + 1;
    return strcmp(end, "*") == 0 || strcmp(end, strrchr(address, ':') + 1) == 0;
}

static bool filter_fits(const struct term *t, const struct sbpl_query *q)
{
    const char *name = head(t);
    const struct term *what = t->first->next;

    if (strcmp(name, "require-all") == 0) {
        for (; what; what = what->next)
            if (!filter_fits(what, q))
                return false;
        return true;
    }
    if (strcmp(name, "target") == 0)
        return q->same_sandbox;
    if (is_word(what, "unix-socket"))
        return q->path && (!what->next || filter_fits(what->next, q));
    if (strcmp(name, "remote") == 0 || strcmp(name, "local") == 0)
        return socket_fits(what, t->value, name[0] == 'r' ? q->remote : q->local);
    if (t->regex) {
        const char *text = strncmp(name, "ipc", 3) == 0 ? q->name : q->path;
        return text && regexec(t->regex, text, 0, NULL, 0) == 0;
    }
    return compare(name, t->value, q);
}

static bool operation_fits(const char *rule, const char *operation)
{
    size_t len;

    if (rule[0] != operation[0]) /* most of them: quickly */
        return rule[0] == 'd' && strcmp(rule, "default") == 0;
    len = strlen(rule);
    if (rule[len - 1] == '*')
        return strncmp(rule, operation, len - 1) == 0;
    return strcmp(rule, operation) == 0;
}

static bool rule_fits(const struct term *rule, const struct sbpl_query *q)
{
    const struct term *t = rule->first->next;
    bool fits = false, filtered = false;

    for (; t && t->kind == WORD; t = t->next)
        fits = fits || operation_fits(t->text, q->operation);
    if (!fits)
        return false;
    for (; t; t = t->next) {
        if (strcmp(head(t), "with") == 0)
            continue;
        filtered = true;
        if (filter_fits(t, q))
            return true;
    }
    return !filtered;
}

bool sbpl_allows(const struct sbpl *p, const struct sbpl_query *q)
{
    for (size_t i = p->rule_count; i-- > 0;)
        if (rule_fits(p->in_order[i], q))
            return strcmp(head(p->in_order[i]), "allow") == 0;
    return false;
}

/* ---- a profile ---- */

struct sbpl *sbpl_read(const char *text, const struct sbpl_param *params, size_t param_count,
                       char **ret_error)
{
    struct sbpl *p = new_zeroed(sizeof *p);
    struct term **end;

    p->params = params;
    p->param_count = param_count;
    p->at = text;
    p->rules = new_zeroed(sizeof *p->rules);
    p->rules->kind = LIST;
    end = &p->rules->first;
    for (skip_blanks(p); *p->at && !p->error; skip_blanks(p)) {
        if (*p->at != '(') {
            fail(p, "outside of any list: '%.20s'", p->at);
            break;
        }
        *end = read_list(p, 0);
        end = &(*end)->next;
    }
    struct term *first = p->rules->first;
    if (!first || strcmp(head(first), "version") != 0 || !is_word(first->first->next, "1"))
        fail(p, "no (version 1) at the top");
    for (struct term *rule = first ? first->next : NULL; rule && !p->error; rule = rule->next) {
        check_rule(p, rule);
        p->rule_count++;
    }
    p->in_order = new_zeroed((p->rule_count + 1) * sizeof *p->in_order);
    p->rule_count = 0;
    for (struct term *rule = first ? first->next : NULL; rule && !p->error; rule = rule->next)
        p->in_order[p->rule_count++] = rule;
    *ret_error = p->error;
    if (!p->error)
        return p;
    p->error = NULL;
    sbpl_free(p);
    return NULL;
}

static void free_term(struct term *t)
{
    while (t) {
        struct term *next = t->next;
        free_term(t->first);
        if (t->regex) {
            regfree(t->regex);
            free(t->regex);
        }
        free(t->value);
        free(t->text);
        free(t);
        t = next;
    }
}

void sbpl_free(struct sbpl *p)
{
    if (!p)
        return;
    free_term(p->rules);
    free(p->in_order);
    free(p);
}

size_t sbpl_longest_string(const struct sbpl *p)
{
    return p->longest;
}
