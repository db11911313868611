/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scripts of sed and awk, read as far as it takes to find their ways to start a program or to
 * write a file: commands and their addresses, statements, strings and patterns. What does not read
 * right is left alone; sed and awk would refuse it.
 */
#include "classify/script.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "classify/place.h"

/* ---- sed ---- */

struct sed {
    const char *at;
    bool brackets; /* a delimiter in [ ] is text: not so in older ones */
    bool acts;
};

/* To the delimiter that ends a part; false: there is none. */
static bool sed_part(struct sed *s, char delimiter, bool is_pattern)
{
    bool bracket = false;

    for (; *s->at && (*s->at != delimiter || bracket); s->at++) {
        if (*s->at == '\\' && s->at[1] && !bracket) {
            s->at++;
        } else if (s->brackets && is_pattern && !bracket && *s->at == '[') {
            bracket = true;
            s->at += s->at[1] == '^';
            s->at += s->at[1] == ']';
        } else if (*s->at == ']') {
            bracket = false;
        }
    }
    if (!*s->at)
        return false;
    s->at++;
    return true;
}

static void sed_blanks(struct sed *s)
{
    s->at += strspn(s->at, " \t");
}

/* One address: N, $, /x/, \,x,, +N, ~N, with what may stand behind it. */
static bool sed_address(struct sed *s)
{
    if (*s->at == '/' || (*s->at == '\\' && s->at[1])) {
        char delimiter = *s->at == '/' ? '/' : *++s->at;

        s->at++;
        if (!sed_part(s, delimiter, true))
            return false;
        s->at += strspn(s->at, "IM");
        return true;
    }
    s->at += strspn(s->at, "0123456789$+~");
    return true;
}

static bool sed_addresses(struct sed *s)
{
    if (!sed_address(s))
        return false;
    sed_blanks(s);
    if (*s->at == ',') {
        s->at++;
        sed_blanks(s);
        if (!sed_address(s))
            return false;
    }
    s->at += strspn(s->at, " \t!");
    return true;
}

/* The name of a file goes on to the end of the line. */
static void sed_file(struct sed *s, bool writes)
{
    char name[256];
    size_t len;

    sed_blanks(s);
    len = strcspn(s->at, "\n");
    if (len < sizeof(name)) {
        memcpy(name, s->at, len);
        name[len] = '\0';
        s->acts |= writes && (place_kind(name) != PLACE_ORDINARY || place_is_startup_file(name));
    } else {
        s->acts |= writes;
    }
    s->at += len;
}

/* s/x/y/flags */
static void sed_substitute(struct sed *s)
{
    char delimiter = *s->at;

    if (!delimiter || delimiter == '\n' || delimiter == '\\')
        return;
    s->at++;
    if (!sed_part(s, delimiter, true) || !sed_part(s, delimiter, false))
        return;
    for (; isalnum((unsigned char)*s->at); s->at++) {
        if (*s->at == 'w') {
            s->at++;
            sed_file(s, true);
            return;
        }
        s->acts |= *s->at == 'e';
    }
}

/* Text of a, i and c: to the end of the line, and further behind a backslash. */
static void sed_text(struct sed *s)
{
    for (; *s->at && *s->at != '\n'; s->at++) {
        if (*s->at == '\\' && s->at[1])
            s->at++;
    }
}

/* A command; false: nothing that is known. */
static bool sed_command(struct sed *s)
{
    char name = *s->at++;

    switch (name) {
    case 'e':
        s->acts = true;
        return true;
    case 's':
        sed_substitute(s);
        return true;
    case 'y':
        name = *s->at;
        s->at += name != '\0';
        return name && sed_part(s, name, false) && sed_part(s, name, false);
    case 'a':
    case 'i':
    case 'c':
        sed_text(s);
        return true;
    case 'r':
    case 'R':
    case 'w':
    case 'W':
        sed_file(s, name == 'w' || name == 'W');
        return true;
    case '#':
        s->at += strcspn(s->at, "\n");
        return true;
    case ':': /* to GNU's a command may follow: ":a e ls", "v 4 e ls" */
    case 'v':
        sed_blanks(s);
        s->at += strcspn(s->at, "; \t\n\v\f\r");
        return true;
    case 'b':
    case 't':
    case 'T':
        s->at += strcspn(s->at, ";\n");
        return true;
    default:
        s->at += strspn(s->at, " \t0123456789");
        return name && strchr("=dDgGhHnNpPxzFlLqQ{}", name);
    }
}

static bool sed_acts(const char *code, bool brackets)
{
    struct sed s = { .at = code, .brackets = brackets };

    for (;;) {
        s.at += strspn(s.at, " \t\n\v\f\r;");
        if (!*s.at || s.acts || !sed_addresses(&s) || !*s.at || !sed_command(&s))
            return s.acts;
    }
}

bool script_sed_acts(const char *code)
{
    return sed_acts(code, true) || sed_acts(code, false);
}

/* ---- awk ---- */

struct awk {
    const char *at;
    bool operand; /* the last token was one: a slash divides */
    bool divides; /* … also behind i++, length and $, where awks differ */
    bool prints;  /* in a print statement: a bar is a pipe */
};

/* i++, --i */
static bool awk_counts(const char *at)
{
    return (at[0] == '+' || at[0] == '-') && at[1] == at[0];
}

/* To behind the end of a string or a pattern. */
static void awk_quoted(struct awk *a, char end)
{
    bool bracket = false;

    for (a->at++; *a->at && *a->at != '\n' && (*a->at != end || bracket); a->at++) {
        if (*a->at == '\\' && a->at[1])
            a->at++;
        else if (end == '/' && (*a->at == '[' || *a->at == ']'))
            bracket = *a->at == '[';
    }
    a->at += *a->at == end;
    a->operand = true;
}

/* A number may stand right in front of it: 1system ("x"). */
static bool awk_name_is(const char *name, size_t len, const char *word)
{
    size_t n = strlen(word);

    return len >= n && (len == n || isdigit((unsigned char)*name)) &&
           memcmp(name + len - n, word, n) == 0;
}

/* A name or a number. True: it runs something. */
static bool awk_name(struct awk *a)
{
    static const char *const keywords[] = { "print", "printf", "return", "in",  "case",
                                            "if",    "while",  "do",     "else" };
    static const char *const doubtful[] = { "exit", "getline", "length" };
    const char *name = a->at;
    size_t len = 0;

    while (isalnum((unsigned char)name[len]) || name[len] == '_')
        len++;
    a->at += len;
    a->operand = true;
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
        a->operand &= !awk_name_is(name, len, keywords[i]);
    for (size_t i = 0; i < ARRAY_LEN(doubtful); i++)
        a->operand &= a->divides || !awk_name_is(name, len, doubtful[i]);
    a->prints |= awk_name_is(name, len, "print") || awk_name_is(name, len, "printf");
    return awk_name_is(name, len, "system") && a->at[strspn(a->at, " \t")] == '(';
}

/* At a bar. True: it is a pipe. */
static bool awk_bar(struct awk *a)
{
    const char *next = a->at + 1;

    a->operand = false;
    if (*next == '|') {
        a->at += 2;
        return false;
    }
    next += *next == '&';
    next += strspn(next, " \t\n");
    a->at++;
    return a->prints || str_has_prefix(next, "getline");
}

static bool awk_acts(const char *code, bool divides)
{
    struct awk a = { .at = code, .divides = divides };

    while (*a.at) {
        char c = *a.at;

        if (c == '"' || (c == '/' && !a.operand)) {
            awk_quoted(&a, c);
        } else if (c == '#') {
            a.at += strcspn(a.at, "\n");
        } else if (isalnum((unsigned char)c) || c == '_') {
            if (awk_name(&a))
                return true;
        } else if (c == '|') {
            if (awk_bar(&a))
                return true;
        } else if (c == '@' && (isalpha((unsigned char)a.at[1]) || a.at[1] == '_')) {
            if (!str_has_prefix(a.at, "@namespace"))
                return true; /* @load, @include, a call by a name */
            a.at++;
        } else if (awk_counts(a.at)) {
            a.at += 2;
            a.operand &= divides;
        } else {
            if (strchr(";{}\n", c))
                a.prints = false;
            if (!strchr(" \t", c))
                a.operand = strchr(divides ? ")]$" : ")]", c) != NULL;
            a.at += c == '\\' && a.at[1] ? 2 : 1;
        }
    }
    return false;
}

bool script_awk_acts(const char *code)
{
    return awk_acts(code, true) || awk_acts(code, false);
}
