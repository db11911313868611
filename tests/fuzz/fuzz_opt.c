/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines of any bytes: NULs divide the words, the first byte says whether to stop at the
 * first operand. The iterator ends, never goes back, and what it reports lies within the words.
 */
#include <stdlib.h>
#include <string.h>

#include "base/opt.h"

#define FUZZ_MAX_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct opt_spec specs[] = {
    { 0, 'C', "cwd", "DIR", "Run there." },      { 1, 0, "rw", "PATH", "Make it writable." },
    { 2, 'q', "quiet", NULL, "Say less." },      { 3, 'v', NULL, NULL, "Say more." },
    { 4, 'c', NULL, "TEXT", "Shell text." },     { 5, 0, "network", "MODE", "What is reachable." },
    { 6, 0, "no-network", NULL, "Nothing is." },
};

static void check_result(const struct opt *o, int id)
{
    if (id >= 0 && (!o->spec || o->spec->id != id || !o->spec->value != !o->value))
        abort();
    if (id == OPT_OPERAND && (!o->value || (o->flags & OPT_STOP_AT_OPERAND)))
        abort();
    if (id == OPT_UNKNOWN && (!o->name || o->spec))
        abort();
    if ((id == OPT_MISSING_VALUE || id == OPT_UNEXPECTED_VALUE) && (!o->name || !o->spec))
        abort();
    if (id < OPT_UNEXPECTED_VALUE)
        abort();
    if (o->name && strlen(o->name) < o->name_len)
        abort();
}

static void check_words(int argc, char *const *argv, unsigned flags, size_t size)
{
    struct opt o;
    size_t left = size + 2; /* each call but the last uses up at least one byte */
    int last = 0;

    opt_init(&o, specs, ARRAY_LEN(specs), argc, argv, flags);
    for (int id; (id = opt_next(&o)) != OPT_END; last = o.next) {
        check_result(&o, id);
        if (o.next < last || o.next > argc || left-- == 0)
            abort();
    }
    if (!(flags & OPT_STOP_AT_OPERAND) && o.next != argc)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[FUZZ_MAX_WORDS + 1] = { NULL };
    char *text = malloc(size + 1);
    int argc = 0;

    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    for (size_t at = 1; at < size && argc < FUZZ_MAX_WORDS; at += strlen(text + at) + 1)
        argv[argc++] = text + at;
    check_words(argc, argv, size > 0 && data[0] & 1 ? OPT_STOP_AT_OPERAND : 0, size);
    free(text);
    return 0;
}
