/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of a shell text: quoting, escapes, patterns, assignments. Expansions ($ and `) are read by
 * expansion.c, which comes back here for the words inside them.
 *
 * One loop serves all places where words stand; place_special[] says which bytes are more than text
 * there. Text is never copied, except that of $'…'. Everything else that the shells treat
 * differently from one another, or that ends nowhere, is refused.
 */
#include <string.h>

#include "base/str.h"
#include "classify/shell.h"

/* Why a byte may be more than itself. */
#define BYTE_BLANK    0x1u  /* blank, newline */
#define BYTE_OPERATOR 0x2u  /* ; & | < > */
#define BYTE_PAREN    0x4u  /* ( ) */
#define BYTE_EXPAND   0x8u  /* $ ` \ */
#define BYTE_SINGLE   0x10u /* ' */
#define BYTE_DOUBLE   0x20u /* " */
#define BYTE_OPEN     0x40u /* { ? * + @ ! = [: only in plain words */
#define BYTE_BRACE    0x80u /* } */
#define BYTE_SLASH    0x100u
#define BYTE_SQUARE   0x200u /* [ ] */

static const uint16_t byte_class[256] = {
    [' '] = BYTE_BLANK,    ['\t'] = BYTE_BLANK,   ['\n'] = BYTE_BLANK,
    [';'] = BYTE_OPERATOR, ['&'] = BYTE_OPERATOR, ['|'] = BYTE_OPERATOR,
    ['<'] = BYTE_OPERATOR, ['>'] = BYTE_OPERATOR, ['('] = BYTE_PAREN,
    [')'] = BYTE_PAREN,    ['$'] = BYTE_EXPAND,   ['`'] = BYTE_EXPAND,
    ['\\'] = BYTE_EXPAND,  ['\''] = BYTE_SINGLE,  ['"'] = BYTE_DOUBLE,
    ['{'] = BYTE_OPEN,     ['?'] = BYTE_OPEN,     ['*'] = BYTE_OPEN,
    ['+'] = BYTE_OPEN,     ['@'] = BYTE_OPEN,     ['!'] = BYTE_OPEN,
    ['='] = BYTE_OPEN,     ['}'] = BYTE_BRACE,    ['['] = BYTE_OPEN | BYTE_SQUARE,
    [']'] = BYTE_SQUARE,   ['/'] = BYTE_SLASH,
};

static const uint16_t place_special[] = {
    [PLACE_WORD] = BYTE_BLANK | BYTE_OPERATOR | BYTE_PAREN | BYTE_EXPAND | BYTE_SINGLE |
                   BYTE_DOUBLE | BYTE_OPEN,
    [PLACE_REGEX] = BYTE_BLANK | BYTE_OPERATOR | BYTE_PAREN | BYTE_EXPAND | BYTE_SINGLE |
                    BYTE_DOUBLE,
    [PLACE_DOUBLE] = BYTE_EXPAND | BYTE_DOUBLE,
    [PLACE_HERE] = BYTE_EXPAND,
    [PLACE_PARAM] = BYTE_EXPAND | BYTE_SINGLE | BYTE_DOUBLE | BYTE_BRACE | BYTE_OPERATOR,
    [PLACE_PARAM_DOUBLE] = BYTE_EXPAND | BYTE_SINGLE | BYTE_DOUBLE | BYTE_BRACE,
    [PLACE_PARAM_DOUBLE_TEXT] = BYTE_EXPAND | BYTE_SINGLE | BYTE_DOUBLE | BYTE_BRACE,
    [PLACE_PATTERN] = BYTE_EXPAND | BYTE_SINGLE | BYTE_DOUBLE | BYTE_PAREN,
    [PLACE_ARITH] = BYTE_EXPAND | BYTE_SINGLE | BYTE_DOUBLE | BYTE_PAREN,
    [PLACE_INDEX] = BYTE_EXPAND | BYTE_SINGLE | BYTE_DOUBLE | BYTE_SQUARE,
    [PLACE_SUBSCRIPT] = BYTE_EXPAND | BYTE_SINGLE | BYTE_DOUBLE | BYTE_SQUARE | BYTE_OPERATOR |
                        BYTE_BLANK,
};

static bool place_is_quoted(enum word_place place)
{
    return place == PLACE_DOUBLE || place == PLACE_HERE || place == PLACE_PARAM_DOUBLE ||
           place == PLACE_PARAM_DOUBLE_TEXT;
}

/* ---- building -------------------------------------------------------------------------------- */

struct shell_word *shell_word_new(struct shell_reader *r)
{
    return shell_alloc(r, sizeof(struct shell_word));
}

struct shell_part *shell_word_part(struct shell_reader *r, struct shell_word *word,
                                   enum part_kind kind, uint8_t flags)
{
    struct shell_part *part = &word->first;

    if (word->last) {
        part = shell_alloc(r, sizeof(*part));
        if (!part)
            return NULL;
        word->last->next = part;
    } else {
        word->parts = part;
    }
    word->last = part;
    part->kind = (uint8_t)kind;
    part->flags = flags;
    return part;
}

bool shell_word_text(struct shell_reader *r, struct shell_word *word, const char *text, size_t len,
                     uint8_t flags)
{
    struct shell_part *last = word->last;

    if (last && last->kind == PART_TEXT && last->flags == flags && last->text + last->len == text) {
        last->len += (uint32_t)len;
        return true;
    }
    last = shell_word_part(r, word, PART_TEXT, flags);
    if (!last)
        return false;
    last->text = text;
    last->len = (uint32_t)len;
    return true;
}

/* ---- quotes ---------------------------------------------------------------------------------- */

static bool read_single(struct shell_reader *r, struct shell_word *word)
{
    const char *begin = r->text + r->pos + 1;
    const char *end = memchr(begin, '\'', r->end - r->pos - 1);

    if (!end)
        return shell_fail(r, "unterminated quote", r->pos);
    r->pos = (size_t)(end - r->text) + 1;
    return shell_word_text(r, word, begin, (size_t)(end - begin), PART_QUOTED);
}

/*
 * A quote in "${x:-…}" is text; but bash looks for its other end, dash does not. Where that makes
 * no difference both quotes are taken.
 */
static bool read_literal_single(struct shell_reader *r, struct shell_word *word)
{
    size_t end = r->pos + 1;

    while (end < r->end && !strchr("'}\"$`\\", r->text[end]))
        end++;
    if (end == r->end || r->text[end] != '\'')
        return shell_fail(r, "a quote inside \"${…}\"", r->pos);
    end++;
    r->shell->steps += end - r->pos;
    if (!shell_word_text(r, word, r->text + r->pos, end - r->pos, PART_QUOTED))
        return false;
    r->pos = end;
    return true;
}

static bool read_double(struct shell_reader *r, struct shell_word *word)
{
    r->pos++;
    if (!shell_word_text(r, word, r->text + r->pos, 0, PART_QUOTED) || !shell_enter(r) ||
        !shell_read_parts(r, word, PLACE_DOUBLE, false))
        return false;
    shell_leave(r);
    r->pos++;
    return true;
}

static bool read_escape(struct shell_reader *r, struct shell_word *word, enum word_place place)
{
    const char *at = r->text + r->pos;
    uint8_t flags = place_is_quoted(place) ? PART_QUOTED : 0;

    if (r->pos + 1 >= r->end)
        return shell_fail(r, "ends in a backslash", r->pos);
    r->pos += 2;
    if (at[1] == '\n') {
        word->flags |= SHELL_WORD_JOINED;
        return true;
    }
    if (place == PLACE_ARITH)
        return shell_fail(r, "a backslash in arithmetic", r->pos - 2);
    if (place_is_quoted(place) && !strchr("$`\\", at[1]) &&
        !(at[1] == '"' && place != PLACE_HERE) &&
        !(at[1] == '}' && place != PLACE_HERE && place != PLACE_DOUBLE)) {
        r->pos--;
        return shell_word_text(r, word, at, 1, flags);
    }
    return shell_word_text(r, word, at + 1, 1, PART_QUOTED);
}

/* ---- assignments and patterns ---------------------------------------------------------------- */

/* The word so far is a NAME, and nothing else. */
static bool word_is_name(const struct shell_word *word)
{
    const struct shell_part *part = &word->first;

    if (!word->parts || part->next || part->kind != PART_TEXT || part->flags || part->len == 0 ||
        (part->text[0] >= '0' && part->text[0] <= '9'))
        return false;
    for (size_t i = 0; i < part->len; i++) {
        if (!shell_name_byte(part->text[i]))
            return false;
    }
    return true;
}

/* The elements up to the ) of NAME=(…). */
static bool read_array(struct shell_reader *r, struct shell_word *word)
{
    struct shell_reader inner = *r;
    const struct shell_word **tail;
    struct shell_part *part;

    inner.pos++;
    inner.token = TOKEN_NONE;
    inner.flags = READ_PATTERN;
    inner.pending_count = 0;
    part = shell_word_part(r, word, PART_ARRAY, 0);
    if (!part || !shell_enter(r))
        return false;
    tail = &part->u.word;
    for (;;) {
        enum shell_token token = shell_peek(&inner);

        if (token == TOKEN_CLOSE)
            break;
        if (token != TOKEN_WORD && token != TOKEN_NEWLINE)
            return shell_fail(&inner, "unexpected in an array", inner.token_begin);
        if (token == TOKEN_WORD) {
            *tail = inner.word;
            tail = (const struct shell_word **)&inner.word->next;
        }
        shell_take(&inner);
    }
    shell_leave(r);
    r->pos = inner.pos;
    word->flags |= SHELL_WORD_ARRAY;
    return true;
}

/* At = or += behind a NAME or NAME[…]. */
static bool read_assignment(struct shell_reader *r, struct shell_word *word)
{
    size_t len = r->text[r->pos] == '+' ? 2 : 1;

    word->flags |= SHELL_WORD_ASSIGN;
    if (!shell_word_text(r, word, r->text + r->pos, len, 0))
        return false;
    r->pos += len;
    word->value = r->text + r->pos;
    if (r->pos < r->end && r->text[r->pos] == '(' && (r->flags & (READ_COMMAND | READ_ARRAY)))
        return read_array(r, word);
    return true;
}

static bool at_assignment(const struct shell_reader *r)
{
    return r->pos < r->end &&
           (r->text[r->pos] == '=' ||
            (r->text[r->pos] == '+' && r->pos + 1 < r->end && r->text[r->pos + 1] == '='));
}

/* NAME[…] where a command may begin: bash takes all up to ] as one; dash does not. */
static bool read_subscript(struct shell_reader *r, struct shell_word *word)
{
    size_t begin = r->pos;
    bool blanks;

    if (!shell_word_text(r, word, r->text + r->pos++, 1, 0) || !shell_enter(r))
        return false;
    if (!shell_read_parts(r, word, PLACE_SUBSCRIPT, false))
        return false;
    shell_leave(r);
    blanks = memchr(r->text + begin, ' ', r->pos - begin) ||
             memchr(r->text + begin, '\t', r->pos - begin);
    if (!shell_word_text(r, word, r->text + r->pos++, 1, 0))
        return false;
    if (at_assignment(r))
        return read_assignment(r, word);
    return !blanks || shell_fail(r, "blanks in a subscript", begin);
}

/*
 * What is in the ( ) behind a pattern selects files, to zsh: e:'text': runs the text for each, and
 * +name the command. To bash it would be a pattern that nobody writes.
 */
static bool selects_by_running(const char *text, size_t len)
{
    if (memchr(text, '|', len))
        return false;
    for (size_t i = 0; i + 1 < len; i++) {
        if (text[i] == '+' && shell_name_byte(text[i + 1]))
            return true;
        if (text[i] == 'e' && strchr("([{<:;,/%#^~'\"\\", text[i + 1]))
            return true;
    }
    return false;
}

/*
 * a=(@(x)): without extglob an error, and then bash does not give up the text but this line only;
 * the body of a here-document that was begun on it would be commands.
 */
static bool is_lost_in_array(const struct shell_reader *r)
{
    return (r->flags & READ_PATTERN) && !(r->flags & READ_TEST);
}

static bool read_pattern(struct shell_reader *r, struct shell_word *word)
{
    size_t begin = r->pos + 2;

    if (is_lost_in_array(r))
        return shell_fail(r, "a pattern in an array", r->pos);
    if (!shell_word_text(r, word, r->text + r->pos, 2, 0) || !shell_enter(r))
        return false;
    r->pos += 2;
    if (!shell_read_parts(r, word, PLACE_PATTERN, false))
        return false;
    shell_leave(r);
    if (selects_by_running(r->text + begin, r->pos - begin))
        return shell_fail(r, "a pattern that runs commands", begin);
    return shell_word_text(r, word, r->text + r->pos++, 1, 0);
}

/* One of { ? * + @ ! = [ in a plain word. */
static bool read_open(struct shell_reader *r, struct shell_word *word)
{
    char c = r->text[r->pos];
    bool assigns = (r->flags & (READ_COMMAND | READ_ARRAY)) != 0;

    if (c == '{')
        word->flags |= SHELL_WORD_BRACE;
    if (r->pos + 1 < r->end && r->text[r->pos + 1] == '(' && strchr("?*+@!", c) &&
        !(c == '!' && !word->parts && (r->flags & READ_COMMAND)) &&
        (!(r->flags & READ_TEST) || (r->flags & READ_PATTERN) || word->parts))
        return read_pattern(r, word);
    if (!(word->flags & SHELL_WORD_ASSIGN) && (c == '=' || c == '+' || c == '[') &&
        word_is_name(word)) {
        if (c == '[' && (r->flags & READ_COMMAND))
            return read_subscript(r, word);
        if (at_assignment(r) && assigns)
            return read_assignment(r, word);
        if (at_assignment(r)) {
            word->flags |= SHELL_WORD_ASSIGN;
            word->value = r->text + r->pos + (c == '+' ? 2 : 1);
        }
    }
    return shell_word_text(r, word, r->text + r->pos++, 1, 0);
}

/* ---- the loop -------------------------------------------------------------------------------- */

enum step { STEP_ON, STEP_END, STEP_FAILED };

static enum step step_of(bool ok)
{
    return ok ? STEP_ON : STEP_FAILED;
}

static enum step step_text(struct shell_reader *r, struct shell_word *word, enum word_place place)
{
    return step_of(
        shell_word_text(r, word, r->text + r->pos++, 1, place_is_quoted(place) ? PART_QUOTED : 0));
}

/* Brackets count where they end the place, and only as text elsewhere. */
static enum step read_bracket(struct shell_reader *r, struct shell_word *word,
                              enum word_place place, uint32_t *nested)
{
    char c = r->text[r->pos];
    bool round = place == PLACE_ARITH || place == PLACE_PATTERN || place == PLACE_REGEX;

    if (place == PLACE_WORD)
        return STEP_END;
    if (c == (round ? '(' : '[')) {
        (*nested)++;
    } else if (c == (round ? ')' : ']')) {
        if (*nested == 0)
            return STEP_END;
        (*nested)--;
    }
    return step_text(r, word, place);
}

static enum step read_operator_byte(struct shell_reader *r, struct shell_word *word,
                                    enum word_place place, uint32_t nested)
{
    char c = r->text[r->pos];

    if ((c == '<' || c == '>') && place != PLACE_SUBSCRIPT && r->pos + 1 < r->end &&
        r->text[r->pos + 1] == '(')
        return step_of(shell_read_process(r, word));
    if (place == PLACE_SUBSCRIPT)
        return step_of(shell_fail(r, "an operator in a subscript", r->pos));
    if (place == PLACE_PARAM || (place == PLACE_REGEX && (nested > 0 || c == '|')))
        return step_text(r, word, place);
    return STEP_END;
}

static enum step read_special(struct shell_reader *r, struct shell_word *word,
                              enum word_place place, uint32_t *nested)
{
    switch (r->text[r->pos]) {
    case '\\':
        return step_of(read_escape(r, word, place));
    case '$':
        return step_of(shell_read_dollar(r, word, place));
    case '`':
        return step_of(shell_read_backquote(r, word, place));
    case '\'':
        if (place == PLACE_ARITH)
            return step_of(shell_fail(r, "a quote in arithmetic", r->pos));
        if (place == PLACE_PARAM_DOUBLE_TEXT)
            return step_of(read_literal_single(r, word));
        return step_of(read_single(r, word));
    case '"':
        return place == PLACE_DOUBLE ? STEP_END : step_of(read_double(r, word));
    case '}':
    case '/':
        return STEP_END;
    case '(':
    case ')':
    case ']':
        return read_bracket(r, word, place, nested);
    case '[':
        if (place != PLACE_WORD)
            return read_bracket(r, word, place, nested);
        return step_of(read_open(r, word));
    case ' ':
    case '\t':
        if (place == PLACE_SUBSCRIPT || (place == PLACE_REGEX && *nested > 0))
            return step_text(r, word, place);
        return STEP_END;
    case '\n':
        if (place == PLACE_SUBSCRIPT)
            return step_of(shell_fail(r, "a newline in a subscript", r->pos));
        return STEP_END;
    case ';':
    case '&':
    case '|':
    case '<':
    case '>':
        return read_operator_byte(r, word, place, *nested);
    default:
        return step_of(read_open(r, word));
    }
}

bool shell_read_parts(struct shell_reader *r, struct shell_word *word, enum word_place place,
                      bool slash)
{
    uint16_t special = (uint16_t)(place_special[place] | (slash ? BYTE_SLASH : 0));
    uint8_t flags = place_is_quoted(place) ? PART_QUOTED : 0;
    uint32_t nested = 0;

    for (;;) {
        size_t begin = r->pos;

        while (r->pos < r->end && !(byte_class[(unsigned char)r->text[r->pos]] & special))
            r->pos++;
        r->shell->steps += r->pos - begin + 1;
        if (r->pos > begin && !shell_word_text(r, word, r->text + begin, r->pos - begin, flags))
            return false;
        if (r->pos >= r->end)
            return place == PLACE_WORD || place == PLACE_HERE ||
                   (place == PLACE_REGEX && nested == 0) ||
                   shell_fail(
                       r, place == PLACE_DOUBLE ? "unterminated quote" : "unterminated expansion",
                       begin);
        switch (read_special(r, word, place, &nested)) {
        case STEP_ON:
            break;
        case STEP_END:
            return nested == 0 || shell_fail(r, "unbalanced parentheses", r->pos);
        case STEP_FAILED:
            return false;
        }
    }
}

/* A word over two lines is as good a reserved word as any. */
static bool word_join(struct shell_reader *r, struct shell_word *word)
{
    size_t len = 0;
    char *text;

    for (const struct shell_part *part = word->parts; part; part = part->next) {
        if (part->kind != PART_TEXT || part->flags || (word->flags & SHELL_WORD_ASSIGN))
            return true;
        len += part->len;
    }
    text = shell_alloc(r, len + 1);
    if (!text)
        return false;
    len = 0;
    for (const struct shell_part *part = word->parts; part; part = part->next) {
        memcpy(text + len, part->text, part->len);
        len += part->len;
    }
    if (word->parts) {
        word->first = (struct shell_part){ .text = text, .len = (uint32_t)len };
        word->last = &word->first;
    }
    return true;
}

bool shell_read_word(struct shell_reader *r)
{
    struct shell_word *word = shell_word_new(r);
    size_t begin = r->pos;
    struct shell_part *last;

    if (!word ||
        !shell_read_parts(r, word, (r->flags & READ_REGEX) ? PLACE_REGEX : PLACE_WORD, false))
        return false;
    if (r->pos == begin)
        return shell_fail(r, "not understood", begin);
    if ((word->flags & SHELL_WORD_JOINED) && !word_join(r, word))
        return false;
    word->raw = r->text + begin;
    word->raw_len = (uint32_t)(r->pos - begin);
    last = word->last;
    if (last && last == &word->first && last->kind == PART_TEXT && last->flags == 0)
        word->flags |= SHELL_WORD_PLAIN;
    if (last && last->kind == PART_TEXT && last->flags == 0 && last->text[last->len - 1] == '\r' &&
        (r->pos == r->end || r->text[r->pos] == '\n'))
        word->flags |= SHELL_WORD_CR;
    r->word = word;
    r->token = TOKEN_WORD;
    return true;
}
