/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line is a JSON object; the kernel's words are its eventMessage:
 *   [N duplicate report[s] for ]Sandbox: NAME(PID) deny(N) OPERATION[ TARGET]\nTAG
 * The tag is the message that every denial of a profile carries (plan/seatbelt.h): the last line.
 * It has 64 random bits, so a path that ends like it is no way into another run's report.
 *
 * A name or a path may hold anything, also "(1) deny(1)" and line ends. The kernel's own words come
 * first, and the name is short: so the first "(PID) deny(N) " counts. Whatever does not fit is
 * "something else"; nothing is guessed.
 */
#include "darwin/logstream.h"

#include <errno.h>
#include <string.h>

#include "base/doc.h"
#include "base/str.h"

#define NAME_MAX_BYTES 64

const char *logstream_kind_name(enum logstream_kind kind)
{
    static const char *const names[] = {
        [LOG_FILE_READ] = "file-read", [LOG_FILE_WRITE] = "file-write", [LOG_NETWORK] = "network",
        [LOG_PROCESS] = "process",     [LOG_OTHER] = "other",
    };

    return names[kind];
}

static enum logstream_kind kind_of(const char *operation)
{
    static const struct {
        const char *prefix;
        enum logstream_kind kind;
    } table[] = {
        { "file-write", LOG_FILE_WRITE }, { "file-link", LOG_FILE_WRITE },
        { "file-clone", LOG_FILE_WRITE }, { "file-mknod", LOG_FILE_WRITE },
        { "file-", LOG_FILE_READ },       { "network", LOG_NETWORK },
        { "system-socket", LOG_NETWORK }, { "process-", LOG_PROCESS },
        { "signal", LOG_PROCESS },        { "forbidden-", LOG_PROCESS },
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_has_prefix(operation, table[i].prefix))
            return table[i].kind;
    return LOG_OTHER;
}

/* A decimal number at *at, which moves behind it. */
static bool take_number(const char **at, uint32_t max, uint32_t *ret)
{
    const char *s = *at;
    uint64_t value = 0;

    for (; *s >= '0' && *s <= '9'; s++) {
        value = value * 10 + (uint64_t)(*s - '0');
        if (value > max)
            return false;
    }
    if (s == *at)
        return false;
    *at = s;
    *ret = (uint32_t)value;
    return true;
}

static bool take_word(const char **at, const char *word)
{
    if (!str_has_prefix(*at, word))
        return false;
    *at += strlen(word);
    return true;
}

/* "5 duplicate reports for " */
static bool take_count(const char **at, uint32_t *ret)
{
    const char *s = *at;

    *ret = 1;
    if (!take_number(&s, 1000000, ret))
        return true;
    if (!take_word(&s, " duplicate report"))
        return false;
    (void)take_word(&s, "s");
    *at = s;
    return take_word(at, " for ");
}

/* "(PID) deny(N) " */
static bool take_verdict(const char **at, int32_t *ret_pid)
{
    uint32_t pid, level;
    const char *s = *at;

    if (!take_word(&s, "(") || !take_number(&s, INT32_MAX, &pid) || !take_word(&s, ") deny(") ||
        !take_number(&s, 1000, &level) || !take_word(&s, ") "))
        return false;
    *at = s;
    *ret_pid = (int32_t)pid;
    return true;
}

/* message is NUL-terminated, and the tag is cut off already. */
static int read_message(struct arena *arena, const char *message, struct logstream_event *ret)
{
    const char *at = message;

    if (!take_count(&at, &ret->count) || !take_word(&at, "Sandbox: "))
        return 0;
    const char *name = at, *end = at;
    while (at = end, !take_verdict(&at, &ret->pid))
        if (!*end++ || (size_t)(end - name) > NAME_MAX_BYTES)
            return 0;
    ret->process = arena_strndup(arena, name, (size_t)(end - name));

    size_t len = strcspn(at, " \n");
    if (len == 0)
        return 0;
    ret->operation = arena_strndup(arena, at, len);
    ret->target = arena_strdup(arena, at + len + (at[len] == ' '));
    if (!ret->process || !ret->operation || !ret->target)
        return -ENOMEM;
    ret->kind = kind_of(ret->operation);
    ret->is_nesting = str_eq(ret->operation, "forbidden-sandbox-reinit");
    return 1;
}

/* The message without "\nTAG"; NULL: it does not end so. */
static const char *cut_tag(struct arena *arena, const char *message, const char *tag, int *ret)
{
    size_t len = strlen(message), tail = strlen(tag);

    *ret = 0;
    if (!tail || len <= tail || message[len - tail - 1] != '\n' ||
        memcmp(message + len - tail, tag, tail) != 0)
        return NULL;
    const char *cut = arena_strndup(arena, message, len - tail - 1);
    *ret = cut ? 0 : -ENOMEM;
    return cut;
}

int logstream_read(struct arena *arena, const char *line, size_t len, const char *tag,
                   struct logstream_event *ret)
{
    struct doc doc;
    const char *message = NULL;
    int r = len > LOGSTREAM_MAX_LINE ? -EBADMSG : doc_read(arena, line, len, DOC_JSON, &doc);

    *ret = (struct logstream_event){ .time = "" };
    if (r < 0)
        return r == -ENOMEM ? r : 0;
    if (doc.root->type != DOC_MAP)
        return 0;
    for (const struct doc_node *n = doc.root->first; n; n = n->next) {
        if (n->type == DOC_STRING && str_eq(n->key, "eventMessage"))
            message = n->text;
        else if (n->type == DOC_STRING && str_eq(n->key, "timestamp"))
            ret->time = n->text;
    }
    message = message ? cut_tag(arena, message, tag, &r) : NULL;
    return message ? read_message(arena, message, ret) : r;
}
