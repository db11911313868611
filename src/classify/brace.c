/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brace expansion: a{b,c}d and a{1..3}d, as bash does it before all other expansions. Works on the
 * parts of a word: unquoted text byte by byte, everything else as it is. Small ones are expanded;
 * of a large one it is only said that it is large. {x} and {} are text.
 */
#include <stdio.h>
#include <string.h>

#include "classify/walker.h"

#define BRACE_MAX_ATOMS 4096  /* of one word */
#define BRACE_MAX_TOTAL 16384 /* of all its alternatives */
#define BRACE_COST      32    /* of the budget for expansions, each */

/* A byte of unquoted text, or another part. */
struct atom {
    const struct shell_part *part; /* NULL: text */
    char text[12];                 /* one byte, or a number of a sequence */
};

struct atoms {
    struct atoms *next;
    struct atom *list;
    size_t count;
};

struct brace {
    struct walker *w;
    size_t words, total; /* made so far */
    size_t work;         /* atoms that may still be looked at */
};

static struct atoms *atoms_new(struct brace *b, size_t count)
{
    struct atoms *atoms;

    b->total += count + 1;
    b->words++;
    if (b->words > WALK_MAX_BRACES || b->total > BRACE_MAX_TOTAL ||
        BRACE_COST * (count + 4) > b->w->budget)
        return NULL;
    b->w->budget -= BRACE_COST * (count + 4);
    atoms = walk_alloc(b->w, 1, sizeof(*atoms));
    if (!atoms)
        return NULL;
    atoms->list = walk_alloc(b->w, count, sizeof(*atoms->list));
    atoms->count = count;
    return atoms->list ? atoms : NULL;
}

static bool atom_is(const struct atom *atom, char c)
{
    return !atom->part && atom->text[0] == c && atom->text[1] == '\0';
}

static struct atoms *atoms_join(struct brace *b, const struct atoms *a, const struct atoms *c)
{
    struct atoms *joined = atoms_new(b, a->count + c->count);

    if (!joined)
        return NULL;
    if (a->count > 0)
        memcpy(joined->list, a->list, a->count * sizeof(*a->list));
    if (c->count > 0)
        memcpy(joined->list + a->count, c->list, c->count * sizeof(*c->list));
    return joined;
}

/* The } of the { at begin, or end. *ret_comma: it has alternatives. */
static size_t find_close(struct brace *b, const struct atom *list, size_t begin, size_t end,
                         bool *ret_comma)
{
    size_t nested = 0;

    *ret_comma = false;
    for (size_t i = begin + 1; i < end; i++) {
        if (b->work == 0)
            return end;
        b->work--;
        b->w->bytes++;
        if (atom_is(&list[i], '{')) {
            nested++;
        } else if (atom_is(&list[i], '}')) {
            if (nested == 0)
                return i;
            nested--;
        } else if (atom_is(&list[i], ',') && nested == 0) {
            *ret_comma = true;
        }
    }
    return end;
}

/* The text between braces, if it is all text and short. */
static bool plain_text(const struct atom *list, size_t begin, size_t end, char *out, size_t size)
{
    if (end - begin >= size)
        return false;
    for (size_t i = begin; i < end; i++) {
        if (list[i].part || list[i].text[1] != '\0')
            return false;
        out[i - begin] = list[i].text[0];
    }
    out[end - begin] = '\0';
    return true;
}

/* A number of at most nine digits, with its sign. */
static bool parse_number(const char **at, int64_t *ret)
{
    const char *text = *at;
    bool negative = *text == '-';
    int64_t value = 0;
    int digits = 0;

    text += *text == '-' || *text == '+';
    for (; *text >= '0' && *text <= '9'; text++, digits++) {
        if (digits == 9)
            return false;
        value = value * 10 + (*text - '0');
    }
    *ret = negative ? -value : value;
    *at = text;
    return digits > 0;
}

static bool parse_dots(const char **at)
{
    if ((*at)[0] != '.' || (*at)[1] != '.')
        return false;
    *at += 2;
    return true;
}

static bool parse_letter(const char **at, int64_t *ret)
{
    unsigned char c = (unsigned char)**at;

    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        return false;
    *ret = c;
    (*at)++;
    return true;
}

/* x..y or x..y..step, of numbers or letters. */
static bool parse_sequence(const char *text, int64_t range[3], bool *ret_letters)
{
    bool (*parse)(const char **at, int64_t *ret) = parse_number;

    *ret_letters = (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z');
    if (*ret_letters)
        parse = parse_letter;
    range[2] = 1;
    if (!parse(&text, &range[0]) || !parse_dots(&text) || !parse(&text, &range[1]))
        return false;
    if (*text != '\0' && (!parse_dots(&text) || !parse_number(&text, &range[2])))
        return false;
    range[2] = range[2] == 0 ? 1 : range[2] < 0 ? -range[2] : range[2];
    return *text == '\0';
}

static bool brace_run(struct brace *b, const struct atom *list, size_t count, struct atoms **ret);

/* The alternatives between { and }, each expanded. */
static bool alternatives(struct brace *b, const struct atom *list, size_t begin, size_t end,
                         struct atoms **ret)
{
    struct atoms **tail = ret;
    size_t nested = 0, from = begin;

    for (size_t i = begin; i <= end; i++) {
        if (i < end && atom_is(&list[i], '{'))
            nested++;
        else if (i < end && atom_is(&list[i], '}') && nested > 0)
            nested--;
        if (i < end && !(atom_is(&list[i], ',') && nested == 0))
            continue;
        if (!brace_run(b, list + from, i - from, tail))
            return false;
        while (*tail)
            tail = &(*tail)->next;
        from = i + 1;
    }
    return true;
}

static bool sequence(struct brace *b, const int64_t range[3], bool letters, bool padded,
                     size_t width, struct atoms **ret)
{
    int64_t step = range[0] <= range[1] ? range[2] : -range[2];

    for (int64_t i = range[0]; step > 0 ? i <= range[1] : i >= range[1]; i += step) {
        struct atoms *one = atoms_new(b, 1);

        if (!one)
            return false;
        if (letters)
            one->list[0].text[0] = (char)i;
        else
            (void)snprintf(one->list[0].text, sizeof(one->list[0].text), "%0*d",
                           padded ? (int)MIN_OF(width, 10) : 1, (int)i);
        *ret = one;
        ret = &one->next;
    }
    return true;
}

/* A leading zero of one end pads all numbers. */
static bool is_padded(const char *text, size_t *ret_width)
{
    const char *dots = strstr(text, ".."), *second = dots + 2;
    size_t second_len = strcspn(second, ".");

    *ret_width = MAX_OF((size_t)(dots - text), second_len);
    text += text[0] == '-';
    second += second[0] == '-';
    return (text[0] == '0' && text[1] != '.') ||
           (second[0] == '0' && second[1] != '\0' && second[1] != '.');
}

/* The first { that expands: *ret_middle is what it expands to. */
static bool first_brace(struct brace *b, const struct atom *list, size_t count, size_t *ret_open,
                        size_t *ret_close, struct atoms **ret_middle)
{
    size_t width;
    int64_t range[3];
    char text[40];
    bool comma, letters;

    *ret_middle = NULL;
    for (size_t open = 0; open < count; open++) {
        if (!atom_is(&list[open], '{'))
            continue;
        *ret_close = find_close(b, list, open, count, &comma);
        *ret_open = open;
        if (b->work == 0)
            return false;
        if (*ret_close == count)
            continue;
        if (comma)
            return alternatives(b, list, open + 1, *ret_close, ret_middle);
        if (plain_text(list, open + 1, *ret_close, text, sizeof(text)) &&
            parse_sequence(text, range, &letters)) {
            bool padded = is_padded(text, &width);

            return sequence(b, range, letters, padded, width, ret_middle);
        }
    }
    return true;
}

static bool brace_run(struct brace *b, const struct atom *list, size_t count, struct atoms **ret)
{
    struct atoms *middle, *rest = NULL, **tail = ret, *head;
    size_t open = 0, close = 0;

    if (!first_brace(b, list, count, &open, &close, &middle))
        return false;
    if (!middle) {
        *ret = atoms_new(b, count);
        if (*ret && count > 0)
            memcpy((*ret)->list, list, count * sizeof(*list));
        return *ret != NULL;
    }
    head = atoms_new(b, open);
    if (!head || !brace_run(b, list + close + 1, count - close - 1, &rest))
        return false;
    if (open > 0)
        memcpy(head->list, list, open * sizeof(*list));
    for (; middle; middle = middle->next) {
        struct atoms *front = atoms_join(b, head, middle);

        for (const struct atoms *r = rest; front && r; r = r->next) {
            *tail = atoms_join(b, front, r);
            if (!*tail)
                return false;
            tail = &(*tail)->next;
        }
        if (!front)
            return false;
    }
    return true;
}

/* $x in front of a {a,b} is $xa and $xb then. Gives how many atoms belong to the name. */
static size_t name_goes_on(const struct atoms *atoms, size_t at)
{
    const struct shell_part *part = atoms->list[at].part;
    size_t end = at + 1;

    if (part->kind != PART_PARAM || part->flags || part->u.param->name[-1] != '$' ||
        !shell_name_byte(part->u.param->name[0]) ||
        (part->u.param->name[0] >= '0' && part->u.param->name[0] <= '9'))
        return 0;
    while (end < atoms->count && !atoms->list[end].part &&
           shell_name_byte(atoms->list[end].text[0]))
        end++;
    return end - at - 1;
}

static bool name_extend(struct walker *w, const struct atoms *atoms, size_t at, size_t more,
                        struct shell_part *part)
{
    const struct shell_param *old = part->u.param;
    struct shell_param *param = walk_alloc(w, 1, sizeof(*param));
    char *name = walk_alloc(w, old->name_len + more * sizeof(atoms->list[0].text) + 1, 1);
    size_t len = old->name_len;

    if (!param || !name)
        return false;
    memcpy(name, old->name, len);
    for (size_t i = at + 1; i <= at + more; i++) {
        size_t piece = strlen(atoms->list[i].text);

        memcpy(name + len, atoms->list[i].text, piece);
        len += piece;
    }
    *param = (struct shell_param){ .name = name, .name_len = (uint32_t)len };
    part->u.param = param;
    return true;
}

/* Back to parts. */
static bool atoms_parts(struct walker *w, const struct atoms *atoms, const struct shell_part **ret)
{
    struct shell_part *parts = walk_alloc(w, atoms->count, sizeof(*parts));
    char *text = walk_alloc(w, atoms->count, sizeof(atoms->list[0].text));
    size_t used = 0;

    if (!parts || !text)
        return false;
    for (size_t i = 0; i < atoms->count; i++) {
        const struct atom *atom = &atoms->list[i];
        struct shell_part *last = used > 0 ? &parts[used - 1] : NULL;
        size_t len = atom->part ? 0 : strlen(atom->text);

        if (atom->part) {
            size_t more = name_goes_on(atoms, i);

            parts[used++] = *atom->part;
            if (more > 0 && !name_extend(w, atoms, i, more, &parts[used - 1]))
                return false;
            i += more;
            continue;
        }
        memcpy(text, atom->text, len);
        if (last && last->kind == PART_TEXT && !last->flags && last->text + last->len == text)
            last->len += (uint32_t)len;
        else
            parts[used++] = (struct shell_part){ .text = text, .len = (uint32_t)len };
        text += len;
    }
    for (size_t i = 0; i < used; i++)
        parts[i].next = i + 1 < used ? &parts[i + 1] : NULL;
    *ret = used > 0 ? parts : NULL;
    return true;
}

static bool word_atoms(struct brace *b, const struct shell_word *word, struct atoms **ret)
{
    struct atoms *atoms;
    size_t count = 0;

    for (const struct shell_part *part = word->parts; part; part = part->next)
        count += part->kind == PART_TEXT && !part->flags ? part->len : 1;
    b->work = 1024 + 16 * count;
    atoms = count > BRACE_MAX_ATOMS ? NULL : atoms_new(b, count);
    *ret = atoms;
    if (!atoms)
        return false;
    count = 0;
    for (const struct shell_part *part = word->parts; part; part = part->next) {
        if (part->kind != PART_TEXT || part->flags) {
            atoms->list[count++].part = part;
            continue;
        }
        for (uint32_t i = 0; i < part->len; i++)
            atoms->list[count++].text[0] = part->text[i];
    }
    return true;
}

bool brace_expand(struct walker *w, const struct shell_word *word, const struct brace_word **ret)
{
    struct brace b = { .w = w };
    const struct brace_word **tail = ret;
    struct atoms *atoms, *words = NULL;

    *ret = NULL;
    if (word_atoms(&b, word, &atoms) && !brace_run(&b, atoms->list, atoms->count, &words))
        words = NULL;
    if (!words)
        return w->result == WALK_OK;
    for (; words; words = words->next) {
        struct brace_word *one = walk_alloc(w, 1, sizeof(*one));

        if (!one || !atoms_parts(w, words, &one->parts))
            return false;
        *tail = one;
        tail = (const struct brace_word **)&one->next;
    }
    return true;
}
