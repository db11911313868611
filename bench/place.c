/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories in which everything is measured, one set for each identity, and their removal.
 *
 * They lie below a directory of mkdtemp in /var/tmp and not in /tmp, which is private in the
 * sandbox and in bwrap's profile, so that a project there would be hidden. Programs are copied
 * there too: a checkout in somebody's home may be closed to the ordinary user that root measures
 * as. Nobody else is given write access to anything; only the measured commands, which we choose,
 * run as the owners.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#define REMOVE_FDS 16
#define WORK_DIR   "work"

static int path_of(char ret[static BENCH_PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(ret, BENCH_PATH_MAX, "%s/%s", dir, name);

    return n > 0 && n < BENCH_PATH_MAX ? 0 : bench_fail("'%s/%s' is too long", dir, name);
}

static int make_dir(const char *path)
{
    return mkdir(path, 0755) == 0 ? 0 : bench_fail("make '%s': %s", path, strerror(errno));
}

static int make_file(const char *path)
{
    _fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    if (fd < 0 || write(fd, "content\n", 8) != 8)
        return bench_fail("make '%s': %s", path, strerror(errno));
    return 0;
}

int place_copy(const char *from, const char *to)
{
    _fd_ int in = open(from, O_RDONLY | O_CLOEXEC);
    _fd_ int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    ssize_t n;

    if (in < 0)
        return bench_fail("open '%s': %s", from, strerror(errno));
    if (out < 0)
        return bench_fail("make '%s': %s", to, strerror(errno));
    do
        n = sendfile(out, in, NULL, 1 << 20);
    while (n > 0);
    return n == 0 ? 0 : bench_fail("copy '%s': %s", from, strerror(errno));
}

static int make_masks(const char *dir)
{
    char path[BENCH_PATH_MAX], name[16];

    for (unsigned i = 0; i < BENCH_MASKS; i++) {
        (void)snprintf(name, sizeof name, "%04u", i);
        if (path_of(path, dir, name) < 0 || make_file(path) < 0)
            return -1;
    }
    return 0;
}

static unsigned components(const char *path)
{
    unsigned n = 0;

    for (; *path; path++)
        n += *path == '/';
    return n;
}

/* calls/d/d/…/file, so deep that the whole path has BENCH_DEPTH components. */
static int make_deep(struct place *p)
{
    char dir[BENCH_PATH_MAX], next[BENCH_PATH_MAX];

    memcpy(dir, p->calls, sizeof dir);
    while (components(dir) < BENCH_DEPTH - 1) {
        if (path_of(next, dir, "d") < 0 || make_dir(next) < 0)
            return -1;
        memcpy(dir, next, sizeof dir);
    }
    return path_of(p->deep, dir, "file") < 0 || make_file(p->deep) < 0 ? -1 : 0;
}

static int make_repo(const char *dir)
{
    struct args a = { .n = 0 };

    ARGS_ADD(&a, "/usr/bin/git", "init", "--quiet", dir);
    return make_dir(dir) < 0 || bench_wait(&a, bench_launch(&a, -1)) < 0 ? -1 : 0;
}

static int make_place(struct place *p, const char *dir)
{
    if (make_dir(dir) < 0 || path_of(p->home, dir, "home") < 0 ||
        path_of(p->project, dir, "project") < 0 || path_of(p->repo, dir, "repo") < 0 ||
        path_of(p->masks, dir, "masks") < 0 || path_of(p->calls, dir, "calls") < 0)
        return -1;
    if (make_dir(p->home) < 0 || make_dir(p->project) < 0 || make_dir(p->masks) < 0 ||
        make_dir(p->calls) < 0)
        return -1;
    return make_masks(p->masks) < 0 || make_deep(p) < 0 || make_repo(p->repo) < 0 ? -1 : 0;
}

static int give_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return lchown(path, BENCH_USER, BENCH_USER);
}

/* A tmpfs on dir that nobody else sees, in a mount namespace of our own. */
static bool mount_tmpfs(const char *dir)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("bench", dir, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755") == 0;
}

int place_make(struct bench *b, const char *dir, bool root)
{
    char work[BENCH_PATH_MAX];

    if (path_of(work, dir, WORK_DIR) < 0 || make_dir(work) < 0)
        return -1;
    b->tmpfs = b->tmpfs && mount_tmpfs(work);
    for (unsigned who = root ? WHO_ROOT : WHO_USER; who < WHO_COUNT; who++) {
        char own[BENCH_PATH_MAX];

        if (path_of(own, work, report_who_name(who)) < 0 || make_place(&b->places[who], own) < 0)
            return -1;
        if (root && who == WHO_USER && nftw(own, give_one, REMOVE_FDS, FTW_PHYS) != 0)
            return bench_fail("change the owner of '%s': %s", own, strerror(errno));
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

void place_remove(const char *dir)
{
    char work[BENCH_PATH_MAX];

    if (path_of(work, dir, WORK_DIR) == 0)
        (void)umount2(work, MNT_DETACH); /* fails where nothing was mounted */
    (void)nftw(dir, remove_one, REMOVE_FDS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
