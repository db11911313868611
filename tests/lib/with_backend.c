/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in the place of a program PROGRAM and gives every `run` a back end: executes PROGRAM.real
 * beside it, with the back end that the link `backend` there names. Static, so that nothing in the
 * environment concerns it, and it keeps the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char option[] = "--backend", set[] = "--set", policy[] = "fallbackPolicy=warn";

int main(int argc, char **argv)
{
    static char self[4096], program[4200], link[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 64);
    char **words = calloc((size_t)argc + 5, sizeof *words);
    size_t n = 0;

    if (len < 0 || !words)
        return 99;
    self[len] = '\0';
    (void)snprintf(program, sizeof program, "%s.real", self);
    memcpy(strrchr(self, '/'), "/backend", sizeof "/backend");
    len = readlink(self, link, sizeof link - 1); /* its name */
    if (len < 0)
        return 99;
    link[len] = '\0';
    for (int i = 0; i < argc; i++) {
        words[n++] = argv[i];
        if (i == 1 && strcmp(argv[1], "run") == 0) {
            words[n++] = option;
            words[n++] = link;
            words[n++] = set;
            words[n++] = policy;
        }
    }
    execv(program, words);
    perror(program);
    return 99;
}
