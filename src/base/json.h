/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON writer, for one value without white space (json_indent adds it). Commas, nesting and
 * escaping are its business; each byte that is not UTF-8 is written as U+FFFD, and what a terminal
 * would obey or hide (str_is_invisible) as \uXXXX. Errors stay in the buffer (buf.failed).
 */
#ifndef ABX_BASE_JSON_H
#define ABX_BASE_JSON_H

#include "base/buf.h"
#include "base/defs.h"

#define JSON_MAX_DEPTH 16
struct json {
    struct buf *out;
    unsigned depth;
    bool first[JSON_MAX_DEPTH + 1];
    bool after_key;
};

void json_init(struct json *j, struct buf *out);
void json_object(struct json *j);
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);
void json_key(struct json *j, const char *key);
void json_str(struct json *j, const char *s); /* NULL is null */
void json_strn(struct json *j, const char *s, size_t len);
void json_int(struct json *j, int64_t v);
void json_uint(struct json *j, uint64_t v);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);
/* A key and its value. */
void json_pair_str(struct json *j, const char *key, const char *value); /* NULL is null */
void json_pair_int(struct json *j, const char *key, int64_t value);
void json_pair_uint(struct json *j, const char *key, uint64_t value);
void json_pair_bool(struct json *j, const char *key, bool value);
/* JSON that is written already: a value, or in an object members. */
void json_raw(struct json *j, const char *text);
/* Valid JSON without blanks, with line breaks and two blanks a level. */
void json_indent(struct buf *out, const char *text, size_t len);

#endif
