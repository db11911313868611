/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of the system log of any bytes: an event is whole, and comes only from a line that has the
 * tag. The same bytes as the kernel's message, in a line that is right: what they say stays inside.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "darwin/logstream.h"

#define TAG "agentbox-0123456789abcdef"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *line, size_t len, bool may_be)
{
    _arena_ struct arena arena;
    struct logstream_event event;

    arena_init(&arena, (size_t)64 << 20);
    int r = logstream_read(&arena, line, len, TAG, &event);
    if (r < 0 || (r > 0 && !may_be))
        abort();
    if (r > 0 && (!event.operation[0] || strchr(event.operation, ' ') || event.pid < 0 ||
                  strlen(event.process) > 64 || strlen(event.target) >= len ||
                  event.count > 1000000 || !logstream_kind_name(event.kind)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size ? size : 1); /* of its own size, so that a sanitizer sees the end */
    _buf_ struct buf line, message;

    buf_init(&line, (size_t)1 << 20);
    buf_init(&message, (size_t)1 << 20);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    check(text, size, memmem(text, size, "agentbox-", 9) != NULL || memchr(text, '\\', size));

    (void)buf_append(&message, text, strnlen(text, size));
    (void)buf_puts(&message, "\n" TAG);
    (void)buf_puts(&line, "{\"eventMessage\":\"");
    for (size_t i = 0; i < message.len; i++)
        (void)buf_printf(&line, "\\u%04x", (unsigned char)message.data[i]);
    (void)buf_puts(&line, "\"}");
    if (!line.failed && !message.failed)
        check(line.data, line.len, true);
    free(text);
    return 0;
}
