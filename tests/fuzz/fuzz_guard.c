/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of any bytes for the guards: NULs divide the words, the first byte says which guard
 * and how many of the words are environment. A verdict is one of those that there are, names a word
 * that is there, and has its advice; git's text and aliases never leave their buffers.
 */
#include <stdlib.h>
#include <string.h>

#include "wrap/guard.h"

#define FUZZ_MAX_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_verdict(const struct guard_verdict *v, const struct guard_call *call)
{
    if (v->action > GUARD_IF_FILE)
        abort();
    if (v->action == GUARD_STOP && (!v->what || !v->why || !v->instead))
        abort();
    if ((v->action == GUARD_ALIAS || v->action == GUARD_IF_FILE) && v->word >= call->argc)
        abort();
}

static void check_text(const char *text, size_t len)
{
    struct guard_verdict v;
    const char *words[8];
    char *buffer = malloc(len + 1);

    git_judge_text(text, 0, &v);
    if (v.action != GUARD_RUN && v.action != GUARD_STOP)
        abort();
    long n = buffer ? git_split_alias(text, len, buffer, words, 8) : -1;
    for (long i = 0; i < n; i++)
        if (words[i] < buffer || words[i] + strlen(words[i]) > buffer + len)
            abort();
    free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words[FUZZ_MAX_WORDS + 1] = { NULL };
    const char *envp[FUZZ_MAX_WORDS + 1] = { NULL };
    char *text = malloc(size + 1);
    struct guard_verdict v;
    size_t count = 0;

    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 1; at < size && count < FUZZ_MAX_WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    size_t guard = size > 0 ? data[0] % GUARD_COUNT : 0;
    size_t env = size > 0 ? MIN_OF(data[0] / 64u, count) : 0;
    memcpy(envp, words, env * sizeof *envp);
    const struct guard_call call = { count - env, words + env, envp, 0 };
    guard_judge(guard, &call, &v);
    check_verdict(&v, &call);
    if (count > 0)
        check_text(words[0], strlen(words[0]));
    free(text);
    return 0;
}
