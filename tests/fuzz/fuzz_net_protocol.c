/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of the control socket, of both directions, from any bytes. */
#include <string.h>

#include "net/protocol.h"

static void read_one(const struct protocol_head *head, const char *bytes)
{
    struct server_limits limits;
    struct server_rules rules;
    struct server_record record;
    struct arena arena;
    const char *a, *b;
    size_t a_len, b_len;
    uint32_t x, y;
    int32_t code;
    uint16_t port;

    arena_init(&arena, PROTOCOL_MAX);
    if (protocol_get_rules(bytes, head->len, &arena, &x, &rules))
        for (size_t i = 0; i < rules.lists.allowed.count; i++)
            (void)strlen(rules.lists.allowed.patterns[i].text);
    arena_done(&arena);
    (void)protocol_get_setup(bytes, head->len, &limits, &port);
    if (protocol_get_names(bytes, head->len, &a, &a_len, &b, &b_len) &&
        (a[a_len] != '\0' || b[b_len] != '\0'))
        __builtin_trap();
    (void)protocol_get_numbers(bytes, head->len, &x, &y);
    (void)protocol_get_done(bytes, head->len, &code, &a);
    (void)protocol_get_question(bytes, head->len, &x, &y, &a, &port);
    if (protocol_get_record(bytes, head->len, &record)) {
        struct buf out = { .limit = PROTOCOL_MAX };

        protocol_put_record(&out, &record);
        if (!out.failed && (out.len != head->len + PROTOCOL_HEAD ||
                            memcmp(out.data + PROTOCOL_HEAD, bytes, head->len) != 0))
            __builtin_trap(); /* one reading, one writing */
        buf_done(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct protocol_head head;

    while (protocol_get_head(bytes, size, PROTOCOL_MAX, &head) > 0) {
        read_one(&head, bytes + PROTOCOL_HEAD);
        bytes += PROTOCOL_HEAD + head.len;
        size -= PROTOCOL_HEAD + head.len;
    }
    return 0;
}
