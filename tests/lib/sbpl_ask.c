/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbpl-ask PROFILE OPERATION [WHAT=VALUE…]: what a profile says about an operation, "allow" or
 * "deny", by the evaluator of sbpl.c. WHAT: path, name, remote, local, extension, target=same.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/io.h"
#include "lib/sbpl.h"

static bool set_field(struct sbpl_query *q, const char *word)
{
    const struct {
        const char *name;
        const char **field;
    } table[] = {
        { "path=", &q->path },   { "name=", &q->name },           { "remote=", &q->remote },
        { "local=", &q->local }, { "extension=", &q->extension },
    };

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strncmp(word, table[i].name, strlen(table[i].name)) == 0) {
            *table[i].field = strchr(word, '=') + 1;
            return true;
        }
    q->same_sandbox = strcmp(word, "target=same") == 0;
    return q->same_sandbox;
}

int main(int argc, char **argv)
{
    static const struct sbpl_param params[] = { { "AGENTBOX_TMP", "/private/var/folders/x/T/run" },
                                                { "AGENTBOX_TTY", "/dev/ttys007" },
                                                { "AGENTBOX_PORT", "9999" } };
    struct sbpl_query query = { 0 };
    char *problem = NULL;
    _buf_ struct buf text;

    buf_init(&text, (size_t)64 << 20);
    if (argc < 3 || io_read_file(AT_FDCWD, argv[1], &text) < 0)
        return 2;
    query.operation = argv[2];
    for (int i = 3; i < argc; i++)
        if (!set_field(&query, argv[i]))
            return 2;
    struct sbpl *profile = sbpl_read(text.data ? text.data : "", params, ARRAY_LEN(params),
                                     &problem);
    if (!profile) {
        fprintf(stderr, "%s: %s\n", argv[1], problem);
        free(problem);
        return 2;
    }
    puts(sbpl_allows(profile, &query) ? "allow" : "deny");
    sbpl_free(profile);
    return 0;
}
