/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the files of one corpus folder through a fuzz target, without libFuzzer: one TAP result for
 * the folder. A crash ends the program, so the file about to be tried is named before. An empty or
 * missing corpus is a failure: a target without inputs would test nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The allocation is exactly as large as the file, so that a sanitizer sees reads beyond it. */
static int replay_file(int dir_fd, const char *name)
{
    struct stat st;
    int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) {
        printf("# %s: %s\n", name, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }

    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size > 0 ? size : 1);
    ssize_t got = data ? read(fd, data, size) : -1;
    (void)close(fd);
    if (got < 0 || (size_t)got != size) {
        printf("# %s: short read\n", name);
        free(data);
        return -1;
    }

    printf("# %s, %zu bytes\n", name, size);
    (void)fflush(stdout);
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    unsigned files = 0, bad = 0;

    printf("1..1\n");
    if (dir != NULL) {
        for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
            if (entry->d_name[0] == '.')
                continue;
            files++;
            if (replay_file(dirfd(dir), entry->d_name) < 0)
                bad++;
        }
        (void)closedir(dir);
    }

    int failed = files == 0 || bad > 0;
    printf("%sok 1 - survives its corpus of %u files\n", failed ? "not " : "", files);
    return failed;
}
