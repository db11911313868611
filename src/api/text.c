/* SPDX-License-Identifier: Apache-2.0 */
/* What the calls that return text have in common. */
#include <string.h>

#include "api/internal.h"
#include "base/str.h"

bool format_is_known(const char *format)
{
    return format && (str_eq(format, "text") || str_eq(format, "json"));
}

int32_t take_text(struct buf *b, char **ret_text, abx_error **err)
{
    char *text = buf_take(b);

    if (!text)
        return err_nomem(err);
    *ret_text = text;
    return ABX_OK;
}

void put_quoted(struct buf *b, const char *before, const char *text, const char *after)
{
    (void)buf_printf(b, "%s'", before);
    (void)str_escape(b, text, strlen(text));
    (void)buf_printf(b, "'%s", after);
}
