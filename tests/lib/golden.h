/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are held against a file of tests/golden; ABX_GOLDEN_UPDATE writes it anew. */
#ifndef ABX_TESTS_GOLDEN_H
#define ABX_TESTS_GOLDEN_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"

static inline void golden_expect(const struct buf *got, const char *name)
{
    _buf_ struct buf wanted = { .limit = 1 << 20 };
    const char *source = getenv("ABX_SOURCE");
    char path[4096];

    assert_non_null(source);
    assert_int_equal(got->failed, 0);
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s", source, name);
    if (getenv("ABX_GOLDEN_UPDATE")) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        assert_true(fd >= 0 && io_write_all(fd, got->data, got->len) == 0);
        (void)close(fd);
    }
    assert_int_equal(io_read_file(AT_FDCWD, path, &wanted), 0);
    if (strcmp(got->data, wanted.data) != 0)
        fail_msg("%s is not what is written now:\n%s", path, got->data);
}

#endif
