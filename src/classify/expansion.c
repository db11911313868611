/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What begins with $ or ` in a shell text, and <(…) and >(…).
 *
 * $(…) is read by a reader of its own in place; `…` loses one level of backslashes first, so it is
 * read from a copy. $((…)) is arithmetic if its inner parenthesis ends just before its outer one
 * and commands otherwise, as in bash: a scan decides, then the text is read for what it is. Each
 * level of nesting scans once more, so the work is bounded by the depth.
 *
 * Refused: names and operators of ${…} that no shell has, quotes in arithmetic, NUL from $'\0'.
 */
#include <string.h>

#include "base/str.h"
#include "classify/shell.h"

static bool place_is_double(enum word_place place)
{
    return place == PLACE_DOUBLE || place == PLACE_HERE || place == PLACE_PARAM_DOUBLE ||
           place == PLACE_PARAM_DOUBLE_TEXT;
}

static uint8_t part_flags(enum word_place place)
{
    return place_is_double(place) ? PART_QUOTED : 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* The commands up to ), which is taken. */
static const struct shell_list *read_commands(struct shell_reader *r)
{
    struct shell_reader inner = { .shell = r->shell, .text = r->text, .pos = r->pos };
    const struct shell_list *list;
    size_t begin = r->pos;

    inner.end = r->end;
    inner.origin = r->origin;
    inner.is_copy = r->is_copy;
    if (!shell_enter(r))
        return NULL;
    list = shell_parse_list(&inner, true);
    if (!list)
        return NULL;
    if (shell_peek(&inner) != TOKEN_CLOSE || inner.pending_count > 0) {
        (void)shell_fail(r, "unterminated command substitution", begin);
        return NULL;
    }
    shell_leave(r);
    r->pos = inner.pos;
    return list;
}

static bool read_command_part(struct shell_reader *r, struct shell_word *word, enum part_kind kind,
                              uint8_t flags)
{
    struct shell_part *part = shell_word_part(r, word, kind, flags);

    if (!part)
        return false;
    part->u.list = read_commands(r);
    return part->u.list != NULL;
}

bool shell_read_process(struct shell_reader *r, struct shell_word *word)
{
    enum part_kind kind = r->text[r->pos] == '<' ? PART_PROCESS_IN : PART_PROCESS_OUT;

    r->pos += 2;
    return read_command_part(r, word, kind, 0);
}

/* The text of `…` without the backslashes that only protected it, and where it ends. */
static char *backquote_text(struct shell_reader *r, enum word_place place, size_t *ret_len)
{
    size_t end = r->pos + 1, len = 0;
    char *copy;

    while (end < r->end && r->text[end] != '`')
        end += r->text[end] == '\\' ? 2 : 1;
    if (end >= r->end) {
        (void)shell_fail(r, "unterminated `", r->pos);
        return NULL;
    }
    r->shell->steps += end - r->pos;
    copy = shell_alloc(r, end - r->pos);
    if (!copy)
        return NULL;
    for (size_t i = r->pos + 1; i < end; i++) {
        char c = r->text[i], next = r->text[i + 1];

        if (c == '\\' && next == '"' && place_is_double(place)) {
            if (place != PLACE_DOUBLE) {
                (void)shell_fail(r, "\\\" inside `…` here", i);
                return NULL;
            }
            c = r->text[++i];
        } else if (c == '\\' && (next == '$' || next == '`' || next == '\\')) {
            c = r->text[++i];
        } else if (c == '\\') {
            copy[len++] = c;
            c = r->text[++i];
        }
        copy[len++] = c;
    }
    r->pos = end + 1;
    *ret_len = len;
    return copy;
}

bool shell_read_backquote(struct shell_reader *r, struct shell_word *word, enum word_place place)
{
    struct shell_reader inner = { .shell = r->shell, .is_copy = true };
    struct shell_part *part = shell_word_part(r, word, PART_COMMAND, part_flags(place));
    size_t begin = r->pos;

    inner.origin = r->is_copy ? r->origin : begin;
    if (!part || !shell_enter(r))
        return false;
    inner.text = backquote_text(r, place, &inner.end);
    if (!inner.text)
        return false;
    part->u.list = shell_parse_list(&inner, true);
    if (!part->u.list)
        return false;
    if (shell_peek(&inner) != TOKEN_END)
        return shell_fail(&inner, "unexpected in `…`", inner.token_begin);
    shell_leave(r);
    return true;
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

static size_t skip_quoted(const struct shell_reader *r, size_t pos)
{
    char quote = r->text[pos++];

    while (pos < r->end && r->text[pos] != quote)
        pos += r->text[pos] == '\\' && quote != '\'' ? 2 : 1;
    return pos + 1;
}

/* From behind "((": the inner parenthesis ends just before the outer one. False: see *ret_end. */
static bool scan_is_arith(struct shell_reader *r, bool *ret_ended)
{
    uint32_t nested = 0;
    size_t pos = r->pos;

    *ret_ended = false;
    while (pos < r->end) {
        char c = r->text[pos];

        if (c == ')' && nested == 0)
            break;
        if (c == '(')
            nested++;
        else if (c == ')')
            nested--;
        if (c == '\\')
            pos += 2;
        else if (c == '\'' || c == '"' || c == '`')
            pos = skip_quoted(r, pos);
        else
            pos++;
    }
    r->shell->steps += pos - r->pos;
    *ret_ended = pos < r->end;
    return pos + 1 < r->end && r->text[pos + 1] == ')';
}

/* What an expression is never made of. A for (( )) has its semicolons. */
static bool arith_is_odd(const struct shell_word *word)
{
    for (const struct shell_part *part = word->parts; part; part = part->next) {
        if (part->kind == PART_TEXT && !(part->flags & PART_QUOTED) &&
            (memchr(part->text, '{', part->len) || memchr(part->text, '\\', part->len)))
            return true;
    }
    return false;
}

bool shell_read_arith(struct shell_reader *r, const struct shell_word **ret_word)
{
    struct shell_word *word;
    size_t begin = r->pos;
    bool ended;

    *ret_word = NULL;
    if (!scan_is_arith(r, &ended))
        return ended || shell_fail(r, "unterminated arithmetic", begin);
    word = shell_word_new(r);
    if (!word || !shell_enter(r) || !shell_read_parts(r, word, PLACE_ARITH, false))
        return false;
    shell_leave(r);
    if (r->pos + 1 >= r->end || r->text[r->pos + 1] != ')' || arith_is_odd(word))
        return shell_fail(r, "arithmetic that is not understood", begin);
    word->raw = r->text + begin;
    word->raw_len = (uint32_t)(r->pos - begin);
    r->pos += 2;
    *ret_word = word;
    return true;
}

static bool read_dollar_paren(struct shell_reader *r, struct shell_word *word, uint8_t flags)
{
    const struct shell_word *expression = NULL;
    struct shell_part *part;

    r->pos += 2;
    if (r->pos < r->end && r->text[r->pos] == '(') {
        r->pos++;
        if (!shell_read_arith(r, &expression))
            return false;
        if (expression) {
            part = shell_word_part(r, word, PART_ARITH, flags);
            if (part)
                part->u.word = expression;
            return part != NULL;
        }
        r->pos--;
    }
    return read_command_part(r, word, PART_COMMAND, flags);
}

static bool read_dollar_square(struct shell_reader *r, struct shell_word *word, uint8_t flags)
{
    struct shell_part *part = shell_word_part(r, word, PART_ARITH, flags);
    struct shell_word *expression = shell_word_new(r);
    size_t begin = r->pos + 2;

    r->pos += 2;
    if (!part || !expression || !shell_enter(r) ||
        !shell_read_parts(r, expression, PLACE_INDEX, false))
        return false;
    shell_leave(r);
    expression->raw = r->text + begin;
    expression->raw_len = (uint32_t)(r->pos - begin);
    part->u.word = expression;
    r->pos++;
    return true;
}

/* ---- $'…' ------------------------------------------------------------------------------------ */

static int digit_value(char c, int base)
{
    int value = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : 99;

    return value < base ? value : -1;
}

static uint32_t read_digits(struct shell_reader *r, int base, int max)
{
    uint32_t value = 0;

    for (int i = 0; i < max && r->pos < r->end; i++) {
        int digit = digit_value(r->text[r->pos], base);

        if (digit < 0)
            break;
        value = value * (uint32_t)base + (uint32_t)digit;
        r->pos++;
    }
    return value;
}

/* At the byte behind the backslash. Writes no more bytes than it reads; 0: a NUL. */
static size_t read_ansi_escape(struct shell_reader *r, char *out)
{
    static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    char c = r->text[r->pos++];
    const char *simple = strchr(from, c);
    size_t before = r->pos;
    uint32_t value = 0;

    if (simple) {
        value = (unsigned char)to[simple - from];
    } else if (c >= '0' && c <= '7') {
        r->pos--;
        value = read_digits(r, 8, 3) & 0xff;
    } else if (c == 'x') {
        value = read_digits(r, 16, 2);
    } else if (c == 'u' || c == 'U') {
        value = read_digits(r, 16, c == 'u' ? 4 : 8);
    } else if (c == 'c' && r->pos < r->end) {
        value = (uint32_t)(r->text[r->pos++] & 0x1f);
    } else {
        value = UINT32_MAX;
    }
    if (value == UINT32_MAX || (r->pos == before && strchr("xuU", c))) {
        out[0] = '\\'; /* not an escape: both stay */
        out[1] = c;
        return 2;
    }
    if (value == 0)
        return 0;
    if (c == 'u' || c == 'U')
        return str_put_utf8(out, value);
    out[0] = (char)value;
    return 1;
}

static bool read_ansi(struct shell_reader *r, struct shell_word *word)
{
    size_t begin = r->pos, end = r->pos + 2, len = 0;
    char *text;

    while (end < r->end && r->text[end] != '\'')
        end += r->text[end] == '\\' ? 2 : 1;
    if (end >= r->end)
        return shell_fail(r, "unterminated quote", begin);
    r->shell->steps += end - begin;
    text = shell_alloc(r, end - begin + 1);
    if (!text)
        return false;
    r->pos += 2;
    while (r->pos < end) {
        size_t n;

        if (r->text[r->pos] != '\\') {
            text[len++] = r->text[r->pos++];
            continue;
        }
        r->pos++;
        n = read_ansi_escape(r, text + len);
        if (n == 0)
            return shell_fail(r, "a NUL byte in $'…'", r->pos);
        len += n;
    }
    if (r->pos != end)
        return shell_fail(r, "an escape over the end of $'…'", begin);
    r->pos = end + 1;
    return shell_word_text(r, word, text, len, PART_QUOTED);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* A name, digits or a special parameter at pos: its length, 0 if none. */
static size_t param_name(const struct shell_reader *r, size_t pos, bool many_digits)
{
    size_t len = 0;

    if (pos >= r->end)
        return 0;
    if (r->text[pos] >= '0' && r->text[pos] <= '9') {
        do
            len++;
        while (many_digits && pos + len < r->end && r->text[pos + len] >= '0' &&
               r->text[pos + len] <= '9');
        return len;
    }
    while (pos + len < r->end && shell_name_byte(r->text[pos + len]))
        len++;
    if (len > 0)
        return len;
    return r->text[pos] != '\0' && strchr("@*#?-$!", r->text[pos]) ? 1 : 0;
}

static const struct shell_word *read_operand(struct shell_reader *r, enum word_place place,
                                             bool slash)
{
    struct shell_word *word = shell_word_new(r);
    size_t begin = r->pos;

    if (!word || !shell_enter(r) || !shell_read_parts(r, word, place, slash))
        return NULL;
    shell_leave(r);
    word->raw = r->text + begin;
    word->raw_len = (uint32_t)(r->pos - begin);
    return word;
}

static bool read_index(struct shell_reader *r, struct shell_param *param)
{
    r->pos++;
    param->index = read_operand(r, PLACE_INDEX, false);
    r->pos++;
    return param->index != NULL;
}

/* At the operator. */
static bool read_param_op(struct shell_reader *r, struct shell_param *param, enum word_place place)
{
    static const char ops[] = "-=?+#%/^,@";
    static const uint8_t kinds[] = { PARAM_DEFAULT, PARAM_ASSIGN,   PARAM_ERROR,   PARAM_ALTERNATE,
                                     PARAM_PREFIX,  PARAM_SUFFIX,   PARAM_REPLACE, PARAM_CASE,
                                     PARAM_CASE,    PARAM_TRANSFORM };
    enum word_place inner = place_is_double(place) ? PLACE_PARAM_DOUBLE : PLACE_PARAM;
    const char *found;

    if (r->text[r->pos] == ':') {
        r->pos++;
        param->colon = r->pos < r->end && strchr("-=?+", r->text[r->pos]);
        param->op = PARAM_SUBSTRING;
    }
    if (r->pos >= r->end)
        return shell_fail(r, "unterminated expansion", r->pos);
    if (param->op != PARAM_SUBSTRING || param->colon) {
        found = r->text[r->pos] ? strchr(ops, r->text[r->pos]) : NULL;
        if (!found)
            return shell_fail(r, "unknown operator in ${…}", r->pos);
        param->op = kinds[found - ops];
        r->pos++;
        if (param->op >= PARAM_PREFIX && r->pos < r->end && r->text[r->pos] == *found)
            r->pos++;
    }
    if (inner == PLACE_PARAM_DOUBLE && param->op <= PARAM_ALTERNATE)
        inner = PLACE_PARAM_DOUBLE_TEXT;
    param->operand = read_operand(r, inner, param->op == PARAM_REPLACE);
    if (param->operand && param->op == PARAM_REPLACE && r->text[r->pos] == '/') {
        r->pos++;
        param->second = read_operand(r, inner, false);
        return param->second != NULL;
    }
    return param->operand != NULL;
}

/* ${#x}: a length; but ${#}, ${#-x}, ${#:-x} are about $#. */
static bool is_length(const struct shell_reader *r)
{
    size_t len = param_name(r, r->pos + 1, true);
    size_t next = r->pos + 1 + len;

    return len > 0 && next < r->end && (r->text[next] == '}' || r->text[next] == '[');
}

static bool is_indirect(const struct shell_reader *r)
{
    size_t len = param_name(r, r->pos + 1, true);

    return len > 0 && !strchr("-?", r->text[r->pos + 1]);
}

static bool read_braced(struct shell_reader *r, struct shell_word *word, enum word_place place)
{
    struct shell_part *part = shell_word_part(r, word, PART_PARAM, part_flags(place));
    struct shell_param *param = shell_alloc(r, sizeof(*param));
    size_t begin = r->pos;

    if (!part || !param)
        return false;
    part->u.param = param;
    r->pos += 2;
    if (r->pos < r->end && r->text[r->pos] == '#' && is_length(r)) {
        param->length = true;
        r->pos++;
    } else if (r->pos < r->end && r->text[r->pos] == '!' && is_indirect(r)) {
        param->indirect = true;
        r->pos++;
    }
    param->name = r->text + r->pos;
    param->name_len = (uint32_t)param_name(r, r->pos, true);
    r->pos += param->name_len;
    if (param->name_len == 0)
        return shell_fail(r, "unknown name in ${…}", begin);
    if (r->pos < r->end && r->text[r->pos] == '[' && !read_index(r, param))
        return false;
    if (param->indirect && r->pos < r->end && r->text[r->pos] == '*')
        r->pos++; /* ${!prefix*}: names, unknown as all indirect ones are */
    if (r->pos >= r->end)
        return shell_fail(r, "unterminated expansion", begin);
    if (r->text[r->pos] != '}' && !read_param_op(r, param, place))
        return false;
    r->pos++;
    return true;
}

static bool read_param(struct shell_reader *r, struct shell_word *word, uint8_t flags, size_t len)
{
    struct shell_part *part = shell_word_part(r, word, PART_PARAM, flags);
    struct shell_param *param = shell_alloc(r, sizeof(*param));

    if (!part || !param)
        return false;
    part->u.param = param;
    param->name = r->text + r->pos + 1;
    param->name_len = (uint32_t)len;
    r->pos += 1 + len;
    if (r->pos + 1 < r->end && r->text[r->pos] == '\\' && r->text[r->pos + 1] == '\n' &&
        r->pos + 2 < r->end && shell_name_byte(r->text[r->pos + 2]) &&
        shell_name_byte(*param->name))
        return shell_fail(r, "a line continuation inside a name", r->pos);
    return true;
}

bool shell_read_dollar(struct shell_reader *r, struct shell_word *word, enum word_place place)
{
    uint8_t flags = part_flags(place);
    char next = r->pos + 1 < r->end ? r->text[r->pos + 1] : '\0';
    size_t len;

    if (next == '[' || next == '\'' || next == '"') {
        r->shell->differs = true;
        if (r->shell->plain)
            return shell_word_text(r, word, r->text + r->pos++, 1, flags);
    }
    switch (next) {
    case '(':
        return read_dollar_paren(r, word, flags);
    case '{':
        return read_braced(r, word, place);
    case '[':
        return read_dollar_square(r, word, flags);
    case '\'':
        if (flags || place == PLACE_ARITH)
            break;
        return read_ansi(r, word);
    case '"':
        if (flags || place == PLACE_ARITH)
            break;
        r->pos++; /* a text to be translated: the $ goes */
        return true;
    case '\\':
        if (r->pos + 2 < r->end && r->text[r->pos + 2] == '\n')
            return shell_fail(r, "a line continuation behind $", r->pos);
        break;
    default:
        len = param_name(r, r->pos + 1, false);
        if (len > 0)
            return read_param(r, word, flags, len);
    }
    return shell_word_text(r, word, r->text + r->pos++, 1, flags);
}
