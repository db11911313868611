/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record is one file, `questions/refused` in the state directory: a version word and the times
 * of the last noes, a line each. What does not read right counts as no noes, as does a time that
 * lies ahead (a clock that was set back). Two programs that write at once may lose one of two noes:
 * then one more question is asked.
 */
#include "probe/refusals.h"

#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "probe/record.h"
#include "probe/state.h"

#define REFUSALS_DIRECTORY "questions"
#define REFUSALS_NAME      "refused"
#define REFUSALS_FORMAT    "agentbox-refused-1\n"
#define REFUSALS_BYTES     ((size_t)1024)

/* Those that still count, oldest first. */
static size_t read_times(int dir, int64_t now, int64_t times[REFUSALS_MAX])
{
    _buf_ struct buf record = { .limit = REFUSALS_BYTES };
    size_t count = 0;

    if (dir < 0 || record_read(dir, REFUSALS_NAME, &record) < 0 || !record.data ||
        !str_has_prefix(record.data, REFUSALS_FORMAT))
        return 0;
    char *line = record.data + strlen(REFUSALS_FORMAT);
    while (*line && count < REFUSALS_MAX) {
        size_t len = strcspn(line, "\n");
        bool more = line[len] == '\n';
        uint64_t time;
        line[len] = '\0';
        if (!str_to_u64(line, INT64_MAX, &time))
            return 0;
        if ((int64_t)time <= now && now - (int64_t)time < REFUSALS_SECONDS)
            times[count++] = (int64_t)time;
        line += len + (more ? 1 : 0);
    }
    return count;
}

int64_t refusals_wait(const char *const *state_dirs, int64_t now)
{
    int64_t times[REFUSALS_MAX], wait = 0;

    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, REFUSALS_DIRECTORY, false);
        if (read_times(dir, now, times) == REFUSALS_MAX)
            wait = MAX_OF(wait, times[0] + REFUSALS_SECONDS - now);
    }
    return wait;
}

void refusals_add(const char *const *state_dirs, int64_t now)
{
    for (; *state_dirs; state_dirs++) {
        _buf_ struct buf record = { .limit = REFUSALS_BYTES };
        _fd_ int dir = state_open(*state_dirs, REFUSALS_DIRECTORY, true);
        int64_t times[REFUSALS_MAX];

        if (dir < 0)
            continue;
        size_t count = read_times(dir, now, times);
        (void)buf_puts(&record, REFUSALS_FORMAT);
        for (size_t i = count == REFUSALS_MAX ? 1 : 0; i < count; i++)
            (void)buf_printf(&record, "%lld\n", (long long)times[i]);
        if (buf_printf(&record, "%lld\n", (long long)now) == 0 &&
            record_write(dir, REFUSALS_NAME, &record) == 0)
            return; /* where nothing can be kept, nothing is counted */
    }
}

void refusals_clear(const char *const *state_dirs)
{
    for (; *state_dirs; state_dirs++) {
        _fd_ int dir = state_open(*state_dirs, REFUSALS_DIRECTORY, false);
        if (dir >= 0)
            (void)unlinkat(dir, REFUSALS_NAME, 0); /* if not, the wait is short */
    }
}
