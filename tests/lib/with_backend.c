/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in the place of agentbox and gives every `run` a back end: executes `agentbox.real` in its
 * own directory, with the back end that the link `backend` there names. Static, so that nothing in
 * the environment concerns it, and it keeps the process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char option[] = "--backend", set[] = "--set", policy[] = "fallbackPolicy=warn";

int main(int argc, char **argv)
{
    static char program[4096], link[4096];
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 64);
    char **words = calloc((size_t)argc + 5, sizeof *words);
    size_t n = 0;

    if (len < 0 || !words)
        return 99;
    program[len] = '\0';
    memcpy(strrchr(program, '/'), "/backend", sizeof "/backend");
    len = readlink(program, link, sizeof link - 1); /* its name; the program lies beside it */
    if (len < 0)
        return 99;
    link[len] = '\0';
    memcpy(strrchr(program, '/'), "/agentbox.real", sizeof "/agentbox.real");
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
