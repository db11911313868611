/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line options from a table.
 *
 * Trusts the table (checked by assertions: at most OPT_MAX_SPECS rows) and nothing of argv. Names
 * are compared whole, never by prefix, so that a new option cannot change what an old script means.
 * A word in error is consumed like any other; whether to go on after it is the caller's choice.
 */
#include "base/opt.h"

#include <assert.h>
#include <string.h>

#include "base/str.h"

#define OPT_MAX_NAME     64 /* bytes of a long name that "did you mean" looks at */
#define OPT_HELP_COLUMN  30 /* the help texts begin here at the latest */
#define OPT_HELP_INDENT  2
#define OPT_HELP_MINIMUM 20 /* columns that a help text always gets */

void opt_init(struct opt *o, const struct opt_spec *specs, size_t spec_count, int argc,
              char *const *argv, unsigned flags)
{
    assert(spec_count <= OPT_MAX_SPECS);
    *o = (struct opt){
        .specs = specs,
        .spec_count = spec_count,
        .argc = argc,
        .argv = argv,
        .flags = flags,
    };
}

static const struct opt_spec *find_long(const struct opt *o, const char *name, size_t len)
{
    for (size_t i = 0; i < o->spec_count; i++) {
        const char *candidate = o->specs[i].long_name;

        if (candidate && strlen(candidate) == len && memcmp(candidate, name, len) == 0)
            return &o->specs[i];
    }
    return NULL;
}

static const struct opt_spec *find_short(const struct opt *o, char name)
{
    for (size_t i = 0; i < o->spec_count; i++) {
        if (o->specs[i].short_name != '\0' && o->specs[i].short_name == name)
            return &o->specs[i];
    }
    return NULL;
}

/* The one name that begins like that. */
static const char *find_longer(const char *word, const char *const *names)
{
    const char *found = NULL;

    for (; *names; names++) {
        if (!str_has_prefix(*names, word))
            continue;
        if (found)
            return NULL;
        found = *names;
    }
    return found;
}

/* The long name that was perhaps meant. Hidden options are not given away. */
static const char *find_nearest(const struct opt *o)
{
    const char *names[OPT_MAX_SPECS + 1];
    char word[OPT_MAX_NAME];
    size_t n = 0;

    if (o->name_len >= sizeof(word))
        return NULL;
    memcpy(word, o->name, o->name_len);
    word[o->name_len] = '\0';
    for (size_t i = 0; i < o->spec_count; i++) {
        if (o->specs[i].long_name && o->specs[i].help)
            names[n++] = o->specs[i].long_name;
    }
    names[n] = NULL;
    const char *nearest = str_nearest(word, names);
    return nearest ? nearest : find_longer(word, names);
}

static int next_long(struct opt *o, const char *word)
{
    const char *equals = strchr(word, '=');

    o->dashes = "--";
    o->name = word;
    o->name_len = equals ? (size_t)(equals - word) : strlen(word);
    o->value = equals ? equals + 1 : NULL;
    o->spec = find_long(o, o->name, o->name_len);
    if (!o->spec) {
        o->nearest = find_nearest(o);
        return OPT_UNKNOWN;
    }
    if (!o->spec->value)
        return o->value ? OPT_UNEXPECTED_VALUE : o->spec->id;
    if (!o->value) {
        if (o->next >= o->argc)
            return OPT_MISSING_VALUE;
        o->value = o->argv[o->next++];
    }
    return o->spec->id;
}

/* The next letter of a cluster. */
static int next_short(struct opt *o)
{
    const char *rest = o->cluster + 1;

    o->dashes = "-";
    o->name = o->cluster;
    o->name_len = 1;
    o->cluster = *rest != '\0' ? rest : NULL;
    o->spec = find_short(o, *o->name);
    if (!o->spec) {
        o->cluster = NULL;
        return OPT_UNKNOWN;
    }
    if (!o->spec->value)
        return o->spec->id;
    if (o->cluster) {
        o->value = o->cluster;
        o->cluster = NULL;
        return o->spec->id;
    }
    if (o->next >= o->argc)
        return OPT_MISSING_VALUE;
    o->value = o->argv[o->next++];
    return o->spec->id;
}

int opt_next(struct opt *o)
{
    const char *word;

    o->spec = NULL;
    o->value = o->dashes = o->name = o->nearest = NULL;
    o->name_len = 0;
    if (o->cluster)
        return next_short(o);
    if (o->next >= o->argc)
        return OPT_END;

    word = o->argv[o->next];
    if (!o->operands_only && str_eq(word, "--")) {
        o->operands_only = true;
        o->next++;
        return opt_next(o);
    }
    if (o->operands_only || word[0] != '-' || word[1] == '\0') {
        if (o->flags & OPT_STOP_AT_OPERAND) {
            o->operands_only = true;
            return OPT_END;
        }
        o->next++;
        o->value = word;
        return OPT_OPERAND;
    }
    o->next++;
    if (word[1] == '-')
        return next_long(o, word + 2);
    o->cluster = word + 1;
    return next_short(o);
}

/* Characters, for alignment: bytes that do not continue a UTF-8 sequence. */
static size_t columns(const char *s, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += ((unsigned char)s[i] & 0xc0) != 0x80;
    return n;
}

static void put_spaces(struct buf *b, size_t count)
{
    while (count-- > 0)
        (void)buf_putc(b, ' ');
}

/* "  -C, --cwd DIR" */
static void put_names(struct buf *b, const struct opt_spec *spec)
{
    put_spaces(b, OPT_HELP_INDENT);
    if (spec->short_name != '\0')
        (void)buf_printf(b, "-%c", spec->short_name);
    if (spec->long_name)
        (void)buf_printf(b, "%s--%s", spec->short_name != '\0' ? ", " : "    ", spec->long_name);
    if (spec->value)
        (void)buf_printf(b, " %s", spec->value);
}

void opt_put_words(struct buf *b, const char *text, size_t indent, size_t width)
{
    size_t room = MAX_OF(width - MIN_OF(indent, width), OPT_HELP_MINIMUM);
    size_t used = 0;

    while (*text != '\0') {
        size_t len = strcspn(text, " "), need = columns(text, len);

        if (used > 0 && used + 1 + need > room) {
            (void)buf_putc(b, '\n');
            put_spaces(b, indent);
            used = 0;
        }
        if (used > 0) {
            (void)buf_putc(b, ' ');
            used++;
        }
        (void)buf_append(b, text, len);
        used += need;
        text += len;
        text += strspn(text, " ");
    }
    (void)buf_putc(b, '\n');
}

/* The columns of what put_names writes. */
static size_t names_columns(const struct opt_spec *spec)
{
    size_t n = OPT_HELP_INDENT + strlen("-x");

    if (spec->long_name)
        n += strlen(", --") + columns(spec->long_name, strlen(spec->long_name));
    if (spec->value)
        n += 1 + columns(spec->value, strlen(spec->value));
    return n;
}

/* Where the help texts begin: two columns behind the longest names that are not too long. */
static size_t help_column(const struct opt_spec *specs, size_t count, size_t width)
{
    size_t column = 0, most = MIN_OF(OPT_HELP_COLUMN, width / 2);

    for (size_t i = 0; i < count; i++) {
        size_t end = names_columns(&specs[i]) + 2;

        if (specs[i].id != OPT_HEADING && specs[i].help && end <= most)
            column = MAX_OF(column, end);
    }
    return column > 0 ? column : most;
}

int opt_help(struct buf *b, const struct opt_spec *specs, size_t spec_count, size_t width)
{
    size_t column = help_column(specs, spec_count, width);

    for (size_t i = 0; i < spec_count; i++) {
        size_t used = names_columns(&specs[i]);

        if (!specs[i].help)
            continue;
        if (specs[i].id == OPT_HEADING) {
            (void)buf_puts(b, i > 0 ? "\n" : "");
            opt_put_words(b, specs[i].help, 0, width);
            continue;
        }
        put_names(b, &specs[i]);
        if (used + 2 > column) {
            (void)buf_putc(b, '\n');
            used = 0;
        }
        put_spaces(b, column - used);
        opt_put_words(b, specs[i].help, column, width);
    }
    return b->failed;
}
