/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell text of any bytes: no read beyond it, no more work than promised, and calls that keep their
 * promises: terminated words, a hole wherever a word is unknown, a reason for every refusal.
 */
#include <stdlib.h>
#include <string.h>

#include "classify/walk.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_word(const struct word *word)
{
    bool hole = memchr(word->text, WORD_HOLE, word->len) != NULL;

    if (strlen(word->text) != word->len || hole != ((word->flags & WORD_UNKNOWN) != 0))
        abort();
    if ((word->flags & WORD_SPLITS) && !hole)
        abort();
}

static bool check_call(void *user, const struct call *call)
{
    size_t *calls = user;

    if (++*calls > WALK_MAX_CALLS || !call->cwd || !call->part)
        abort();
    if (call->count + call->assign_count + call->redirect_count == 0)
        abort();
    for (size_t i = 0; i < call->count; i++)
        check_word(&call->words[i]);
    for (size_t i = 0; i < call->redirect_count; i++)
        check_word(&call->redirects[i].target);
    for (size_t i = 0; i < call->assign_count; i++)
        check_word(&call->assigns[i].value);
    for (size_t i = 0; i < call->export_count; i++)
        check_word(&call->exports[i].value);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct walk_problem problem;
    char *text = malloc(size > 0 ? size : 1); /* its own size, so that a sanitizer sees its end */
    enum walk_result result;
    size_t calls = 0;

    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    for (int plain = 0; plain < 2; plain++) {
        arena_init(&arena, (size_t)64 << 20);
        calls = 0;
        result = (plain ? walk_plain_text : walk_text)(text, size, NULL, 0, &arena, check_call,
                                                       &calls, &problem);
        if (result == WALK_STOPPED ||
            (result != WALK_OK && (!problem.what || problem.offset > size)))
            abort();
        if (problem.steps > 4096 * ((uint64_t)size + 1024))
            abort();
        arena_done(&arena);
    }
    free(text);
    return 0;
}
