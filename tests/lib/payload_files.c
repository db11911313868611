/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempts on files: every way of changing one that is more than a single call, and the two races
 * that a sandbox judging by names would lose. The races run for a number of rounds or a few
 * seconds, whichever ends first; what they reached is for the host to look at afterwards.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "payload.h"

#define RACE_SECONDS 2

static long open_and_write(const char *path, int flags, const char *text)
{
    int fd = open(path, flags | O_CLOEXEC, 0666);

    if (fd < 0)
        return -errno;
    long r = payload_errno(write(fd, text, strlen(text)));
    (void)close(fd);
    return r;
}

long try_write(char **args)
{
    return open_and_write(args[0], O_WRONLY, args[1]);
}

long try_append(char **args)
{
    return open_and_write(args[0], O_RDWR | O_APPEND, args[1]);
}

/* Truncates on Linux whatever the access mode is. */
long try_truncate_open(char **args)
{
    return payload_errno(open(args[0], O_RDONLY | O_TRUNC | O_CLOEXEC));
}

long try_create(char **args)
{
    return open_and_write(args[0], O_WRONLY | O_CREAT | O_EXCL, "made inside\n");
}

long try_dir_open(char **args)
{
    DIR *dir = opendir(args[0]);

    if (!dir)
        return -errno;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)printf("%s ", entry->d_name);
    (void)closedir(dir);
    return 0;
}

long try_tmpfile(char **args)
{
    return payload_errno(open(args[0], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
}

long try_xattr(char **args)
{
    return payload_errno(setxattr(args[0], "user.abx", "x", 1, 0));
}

long try_mmap_write(char **args)
{
    int fd = open(args[0], O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    char *map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    *map = '!';
    return 0;
}

long try_reopen(char **args)
{
    char link[64];
    int fd = open(args[0], O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    long r = payload_errno(truncate(link, 0));
    if (r >= 0)
        return r;
    return open_and_write(link, O_WRONLY, "reopened\n");
}

long try_handle(char **args)
{
    union {
        struct file_handle head;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } handle;
    int mount_id;

    (void)memset(&handle, 0, sizeof handle);
    handle.head.handle_bytes = MAX_HANDLE_SZ;
    if (name_to_handle_at(AT_FDCWD, args[0], &handle.head, &mount_id, 0) < 0)
        return -errno;
    int mount = open(args[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (mount < 0)
        return -errno;
    return payload_errno(open_by_handle_at(mount, &handle.head, O_RDONLY | O_CLOEXEC));
}

/* The mode is behind a pointer, where no filter sees it. */
long try_openat2(char **args)
{
    struct open_how how = { .flags = (uint64_t)payload_number(args[1]),
                            .mode = (uint64_t)payload_number(args[2]) };

    return payload_errno(syscall(SYS_openat2, AT_FDCWD, args[0], &how, sizeof how));
}

long try_identify(char **args)
{
    struct stat st;

    if (lstat(args[0], &st) < 0)
        return -errno;
    (void)printf("%llu:%llu ", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    return 0;
}

/* ---- races ------------------------------------------------------------------------------------
 */

struct race {
    char dir[4096], link[4096], name[4096], file[4096];
    long rounds;
    atomic_bool over;
};

static bool race_may_go_on(const struct timespec *start, long i)
{
    struct timespec now;

    if (i % 256)
        return true;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - start->tv_sec < RACE_SECONDS;
}

static void race_paths(struct race *race, char **args)
{
    (void)snprintf(race->dir, sizeof race->dir, "%s/race.dir", args[0]);
    (void)snprintf(race->link, sizeof race->link, "%s/race.link", args[0]);
    (void)snprintf(race->name, sizeof race->name, "%s/race", args[0]);
    (void)snprintf(race->file, sizeof race->file, "%s/race/f", args[0]);
}

/* The name is in turn the directory and the symlink: two exchanges, no gap. */
static void *swap_names(void *data)
{
    struct race *race = data;

    while (!atomic_load(&race->over))
        (void)syscall(SYS_renameat2, AT_FDCWD, race->name, AT_FDCWD, race->link,
                      1 /* RENAME_EXCHANGE */);
    return NULL;
}

long try_race_swap(char **args)
{
    static struct race race;
    pthread_t thread;
    struct timespec start;

    race_paths(&race, args);
    race.rounds = payload_number(args[2]);
    if (mkdir(race.name, 0777) < 0 || symlink(args[1], race.link) < 0)
        return -errno;
    if (pthread_create(&thread, NULL, swap_names, &race) != 0)
        return -EAGAIN;

    long inside = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < race.rounds && race_may_go_on(&start, i); i++) {
        if (open_and_write(race.file, O_WRONLY | O_CREAT, "raced\n") >= 0)
            inside++;
        (void)chmod(race.file, i % 2 ? 0600 : 0666);
        (void)!truncate(race.file, 0);
        (void)unlink(race.file);
    }
    atomic_store(&race.over, true);
    (void)pthread_join(thread, NULL);
    return inside > 0 ? 0 : -EDOM; /* nothing raced: the test would show nothing */
}

static void *rename_over(void *data)
{
    struct race *race = data;

    while (!atomic_load(&race->over)) {
        (void)mkdir(race->dir, 0777);
        (void)rename(race->dir, race->name);
        (void)!symlink("/", race->link);
        (void)rename(race->link, race->name);
    }
    return NULL;
}

/* args: directory, the protected name in it, rounds. Both threads try to take the name's place. */
long try_race_rename(char **args)
{
    static struct race race;
    char aside[4096];
    pthread_t thread;
    struct timespec start;
    long won = 0;

    race_paths(&race, args);
    race.rounds = payload_number(args[2]);
    (void)snprintf(race.name, sizeof race.name, "%s/%s", args[0], args[1]);
    (void)snprintf(aside, sizeof aside, "%s/race.aside", args[0]);
    if (pthread_create(&thread, NULL, rename_over, &race) != 0)
        return -EAGAIN;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (long i = 0; i < race.rounds && race_may_go_on(&start, i); i++) {
        won += rename(race.name, aside) == 0;
        won += unlink(race.name) == 0;
        won += rmdir(race.name) == 0;
    }
    atomic_store(&race.over, true);
    (void)pthread_join(thread, NULL);
    return won ? 0 : -EBUSY;
}
