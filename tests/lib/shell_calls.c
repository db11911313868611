/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell-calls [-w] FILE…: what the shell reader finds in each file. One line a call, as
 * shell_print.h writes it, then "= FILE: result". -w, for programs: the words of each call, flags
 * in hexadecimal, a colon, the bytes with %XX for all but letters and digits. The texts of eval and
 * trap are read too, as the judge would. -0 FILE: the file is many texts, each followed by a NUL; a
 * line says of each whether it is read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "lib/shell_print.h"

struct calls {
    struct arena arena;
    uint32_t depth;
    bool words;
};

static bool print_call(void *user, const struct call *call);

/* eval joins its words; trap has its text in the first. */
static void print_inner(struct calls *calls, const struct call *call)
{
    struct walk_problem problem;
    struct buf text;

    buf_init(&text, WALK_MAX_TEXT);
    for (size_t i = 1; i < call->count; i++) {
        (void)buf_printf(&text, "%s%s", i > 1 ? " " : "", call->words[i].text);
        if (str_eq(call->words[0].text, "trap"))
            break;
    }
    calls->depth++;
    if (text.data)
        (void)walk_text(arena_strndup(&calls->arena, text.data, text.len), text.len, call,
                        calls->depth, &calls->arena, print_call, calls, &problem);
    calls->depth--;
    buf_done(&text);
}

static bool print_call(void *user, const struct call *call)
{
    struct calls *calls = user;
    struct buf line;

    buf_init(&line, (size_t)16 << 20);
    if (!calls->words)
        shell_print_call(&line, call);
    for (size_t i = 0; calls->words && i < call->count; i++) {
        (void)buf_printf(&line, "%s%x:", i > 0 ? " " : "", call->words[i].flags);
        for (size_t k = 0; k < call->words[i].len; k++) {
            unsigned char c = (unsigned char)call->words[i].text[k];

            if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
                (void)buf_putc(&line, (char)c);
            else
                (void)buf_printf(&line, "%%%02X", c);
        }
    }
    (void)puts(line.data ? line.data : "");
    buf_done(&line);
    if (call->count > 1 &&
        (str_eq(call->words[0].text, "eval") || str_eq(call->words[0].text, "trap")))
        print_inner(calls, call);
    return true;
}

static const char *const results[] = { "ok", "unreadable", "limit", "nomem", "stopped" };

static FILE *open_file(const char *path)
{
    FILE *file = str_eq(path, "-") ? stdin : fopen(path, "re");

    if (!file)
        (void)fprintf(stderr, "shell-calls: %s: %s\n", path, strerror(errno));
    return file;
}

static bool ignore_call(void *user, const struct call *call)
{
    (void)user;
    (void)call;
    return true;
}

static int print_texts(const char *path)
{
    FILE *file = open_file(path);
    size_t size = 0;
    char *text = NULL;
    ssize_t len;

    while (file && (len = getdelim(&text, &size, '\0', file)) > 0) {
        _arena_ struct arena arena;
        struct walk_problem problem;

        arena_init(&arena, ARENA_DEFAULT_LIMIT);
        (void)puts(results[walk_text(text, (size_t)len - 1, NULL, 0, &arena, ignore_call, NULL,
                                     &problem)]);
    }
    free(text);
    if (file)
        (void)fclose(file);
    return file ? 0 : -1;
}

static int print_file(const char *path, bool words)
{
    static char text[WALK_MAX_TEXT + 1];
    struct calls calls = { .words = words };
    struct walk_problem problem;
    FILE *file = open_file(path);
    enum walk_result result;
    size_t len;

    if (!file)
        return -1;
    len = fread(text, 1, sizeof(text), file);
    (void)fclose(file);
    arena_init(&calls.arena, ARENA_DEFAULT_LIMIT);
    result = walk_text(text, len, NULL, 0, &calls.arena, print_call, &calls, &problem);
    printf("= %s: %s", path, results[result]);
    if (result != WALK_OK)
        printf(": %s, byte %zu", problem.what, problem.offset);
    (void)puts("");
    arena_done(&calls.arena);
    return 0;
}

int main(int argc, char **argv)
{
    bool words = argc > 1 && str_eq(argv[1], "-w");
    int status = 0;

    if (argc == 3 && str_eq(argv[1], "-0"))
        return print_texts(argv[2]) < 0;
    for (int i = words ? 2 : 1; i < argc; i++) {
        if (print_file(argv[i], words) < 0)
            status = 1;
    }
    return status;
}
