/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of YAML: libyaml's events to a document.
 *
 * libyaml knows the grammar, which is not for writing by hand, and nothing else is left to it: the
 * tree, its limits and what a scalar means are decided here. doc.c has checked that the text is
 * UTF-8 without NUL. Refused are anchors, aliases, tags, merge keys, lines that begin with '%'
 * (directives), a second document, keys that are lists or maps or are there twice, more than
 * DOC_MAX_DEPTH levels. Plain scalars mean what they mean in JSON; all others ("yes", "0x10",
 * "1_000", "True") are text, so that whoever expects a number or a truth value refuses them, with
 * their place, instead of guessing.
 */
#include <string.h>
#include <yaml.h>

#include "base/doc_build.h"
#include "base/str.h"

struct level {
    struct doc_node *node;
    struct doc_node **tail;
    const char *key; /* MAP: read, its value is next */
    struct doc_place key_place;
};

struct reader {
    struct doc_builder *b;
    const char *text;
    size_t len;
    struct level levels[DOC_MAX_DEPTH];
    unsigned depth;
    struct doc_node *root, **tail; /* tail: of the root */
    unsigned documents;
    bool ended;
};

static struct doc_place place_of(const yaml_mark_t *mark)
{
    return (struct doc_place){ (uint32_t)mark->line + 1, (uint32_t)mark->column + 1 };
}

/* Notes a feature that is not for us; the reading goes on. */
static void refuse_extras(struct reader *r, const yaml_event_t *e, const yaml_char_t *anchor,
                          const yaml_char_t *tag)
{
    struct doc_place place = place_of(&e->start_mark);

    if (anchor)
        (void)doc_note(r->b, place, "anchors (&name) are not read",
                       "write the value where it is needed");
    if (tag)
        (void)doc_note(r->b, place, "tags (!name) are not read",
                       "quote the text to keep it a text");
}

/* A node at the place where the next value belongs; NULL: failed. */
static struct doc_node *add_value(struct reader *r, enum doc_type type, struct doc_place place)
{
    struct level *level = r->depth ? &r->levels[r->depth - 1] : NULL;
    struct doc_node *node = doc_add(r->b, level ? &level->tail : &r->tail, type, place);

    if (!node || !level)
        return node;
    level->node->count++;
    if (level->node->type == DOC_MAP) {
        node->key = level->key;
        node->key_place = level->key_place;
        level->key = NULL;
    }
    return node;
}

static bool key_is_next(const struct reader *r)
{
    const struct level *level = r->depth ? &r->levels[r->depth - 1] : NULL;

    return level && level->node->type == DOC_MAP && !level->key;
}

static void take_key(struct reader *r, const char *text, struct doc_place place)
{
    struct level *level = &r->levels[r->depth - 1];

    if (str_eq(text, "<<"))
        (void)doc_note(r->b, place, "merge keys (<<) are not read",
                       "write the values where they are needed");
    level->key = text;
    level->key_place = place;
}

static void take_scalar(struct reader *r, const yaml_event_t *e)
{
    const char *value = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    struct doc_place place = place_of(&e->start_mark);
    bool plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    enum doc_type type = DOC_STRING;

    refuse_extras(r, e, e->data.scalar.anchor, e->data.scalar.tag);
    if (memchr(value, '\0', len)) {
        (void)doc_stop(r->b, place, "\\0: no text may hold NUL", NULL);
        return;
    }
    const char *text = arena_strndup(r->b->arena, value, len);
    if (!text) {
        (void)doc_nomem(r->b);
        return;
    }
    if (key_is_next(r)) {
        take_key(r, text, place);
        return;
    }
    if (plain && (len == 0 || str_eq(text, "~") || str_eq(text, "null")))
        type = DOC_NULL;
    else if (plain && (str_eq(text, "true") || str_eq(text, "false")))
        type = DOC_BOOL;
    else if (plain && doc_check_number(text, len) == DOC_NUMBER_OK)
        type = DOC_NUMBER;
    else if (plain && doc_check_number(text, len) == DOC_NUMBER_TOO_LARGE)
        (void)doc_note(r->b, place, "the number is too large", "quote it if it is a text");

    struct doc_node *node = add_value(r, type, place);
    if (node) {
        node->text = text;
        node->truth = type == DOC_BOOL && text[0] == 't';
    }
}

static void take_alias(struct reader *r, const yaml_event_t *e)
{
    struct doc_place place = place_of(&e->start_mark);

    (void)doc_note(r->b, place, "aliases (*name) are not read",
                   "write the value itself; quote a pattern that begins with *");
    if (key_is_next(r))
        take_key(r, "*", place);
    else
        (void)add_value(r, DOC_NULL, place);
}

static void open_level(struct reader *r, const yaml_event_t *e, enum doc_type type)
{
    struct doc_place place = place_of(&e->start_mark);

    if (type == DOC_MAP)
        refuse_extras(r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag);
    else
        refuse_extras(r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag);
    if (key_is_next(r)) {
        (void)doc_stop(r->b, place, "a list or a map as a key", "keys are texts");
        return;
    }
    if (r->depth == DOC_MAX_DEPTH) {
        (void)doc_stop(r->b, place, "nested too deeply", NULL);
        return;
    }
    struct doc_node *node = add_value(r, type, place);
    if (node)
        r->levels[r->depth++] = (struct level){ .node = node, .tail = &node->first };
}

static void close_level(struct reader *r)
{
    if (r->depth == 0) /* libyaml closes nothing that it did not open */
        return;

    const struct doc_node *node = r->levels[--r->depth].node;

    if (node->type == DOC_MAP)
        doc_check_keys(r->b, node);
}

static void open_document(struct reader *r, const yaml_event_t *e)
{
    struct doc_place place = place_of(&e->start_mark);

    if (r->documents++ > 0)
        (void)doc_stop(r->b, place, "a second document", "one file is one document: remove '---'");
}

static void take_event(struct reader *r, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        open_document(r, e);
        break;
    case YAML_SCALAR_EVENT:
        take_scalar(r, e);
        break;
    case YAML_ALIAS_EVENT:
        take_alias(r, e);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_level(r, e, DOC_LIST);
        break;
    case YAML_MAPPING_START_EVENT:
        open_level(r, e, DOC_MAP);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_level(r);
        break;
    case YAML_STREAM_END_EVENT:
        r->ended = true;
        break;
    default: /* stream start, document end */
        break;
    }
}

static struct doc_place place_of_offset(const struct reader *r, size_t offset)
{
    struct doc_place place = { 1, 1 };

    for (size_t i = 0; i < offset && i < r->len; i++) {
        if (r->text[i] == '\n')
            place = (struct doc_place){ place.line + 1, 1 };
        else if (((unsigned char)r->text[i] & 0xc0) != 0x80)
            place.column++;
    }
    return place;
}

/* libyaml's own words; they are constants. It has no mark for bytes that it does not take. */
static void refuse_text(struct reader *r, const yaml_parser_t *p)
{
    struct doc_place place = p->error == YAML_READER_ERROR ? place_of_offset(r, p->problem_offset)
                                                           : place_of(&p->problem_mark);
    const char *hint = NULL;

    if (p->error == YAML_MEMORY_ERROR) {
        (void)doc_nomem(r->b);
        return;
    }
    if (p->problem && strstr(p->problem, "cannot start any token"))
        hint = "indent with blanks, not tabs; quote texts that begin with @, ` or %";
    else if (p->context && (strstr(p->context, "alias") || strstr(p->context, "anchor")))
        hint = "quote a text that begins with * or &";
    (void)doc_stop(r->b, place, p->problem ? p->problem : "this is not YAML", hint);
}

static void read_events(struct reader *r, yaml_parser_t *p)
{
    while (!r->ended && !r->b->failed) {
        yaml_event_t event;

        if (!yaml_parser_parse(p, &event)) {
            refuse_text(r, p);
            return;
        }
        take_event(r, &event);
        yaml_event_delete(&event);
    }
}

/* Directives: libyaml holds each against all before it, which takes 20 s for a MiB of them. */
static void refuse_directives(struct reader *r)
{
    bool line_begins = true;

    for (size_t i = 0; i < r->len;) {
        uint32_t c = 0;
        size_t n = str_utf8(r->text + i, r->len - i, &c);

        if (line_begins && c == '%') {
            (void)doc_stop(r->b, place_of_offset(r, i), "directives (%) are not read",
                           "remove the lines that begin with %");
            return;
        }
        line_begins = c == '\n' || c == '\r' || c == 0x85 || c == 0x2028 || c == 0x2029;
        i += n ? n : 1; /* never 0: doc.c has looked */
    }
}

void yaml_read(struct doc_builder *b, const char *text, size_t len)
{
    struct reader r = { .b = b, .text = text, .len = len };
    yaml_parser_t parser;

    r.tail = &r.root;
    refuse_directives(&r);
    if (b->failed)
        return;
    if (!yaml_parser_initialize(&parser)) {
        (void)doc_nomem(b);
        return;
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, len);
    read_events(&r, &parser);
    yaml_parser_delete(&parser);
    /* A text of blanks and comments is a document too: of nothing. */
    if (!b->failed && !r.root)
        (void)add_value(&r, DOC_NULL, (struct doc_place){ 1, 1 });
    b->doc->root = r.root;
}
