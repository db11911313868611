/* SPDX-License-Identifier: Apache-2.0 */
/* shell-calls FILE…: the calls that the shell reader finds in each, one a line. */
#include "lib/shell_print.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    static char text[2 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *f = argv[i][0] == '-' && !argv[i][1] ? stdin : fopen(argv[i], "r");
        size_t n = fread(text, 1, sizeof(text), f);
        struct buf b;
        buf_init(&b, (size_t)64 << 20);
        shell_print_text(&b, text, n);
        printf("%s\n", b.data ? b.data : "");
        buf_done(&b);
    }
}
