/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts of a container (container.c): what an engine has, and what is odd about it. */
#include "lib/container.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_BYTES 4096
#define STAGE      "/mnt" /* covered in our own mount namespace */
#define NOTHING    (MS_NOSUID | MS_NODEV | MS_NOEXEC)

static int clone_tree(const char *path)
{
    int fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
                          OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

    must(fd, "copy the mount", path);
    return fd;
}

static void attach(int tree, const char *path)
{
    must(syscall(SYS_move_mount, tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH), "mount", path);
    (void)close(tree);
}

static void set_attributes(int fd, const char *path, uint64_t set)
{
    struct mount_attr attr = { .attr_set = set };

    must(syscall(SYS_mount_setattr, fd, path, AT_RECURSIVE | (*path ? 0 : AT_EMPTY_PATH), &attr,
                 sizeof attr),
         "change the mount", *path ? path : "of a place");
}

static void mount_new(const char *type, const char *path, unsigned long flags, const char *options)
{
    must(mount(type, path, type, flags, options), type, path);
}

static uint64_t flags_of(char *list)
{
    static const struct {
        const char *name;
        uint64_t bit;
    } known[] = { { "ro", MOUNT_ATTR_RDONLY },
                  { "nosuid", MOUNT_ATTR_NOSUID },
                  { "nodev", MOUNT_ATTR_NODEV },
                  { "noexec", MOUNT_ATTR_NOEXEC } };
    uint64_t bits = 0;

    for (char *next = NULL, *name = strtok_r(list, ",", &next); name;
         name = strtok_r(NULL, ",", &next))
        for (size_t i = 0; i < COUNT(known); i++)
            if (strcmp(name, known[i].name) == 0)
                bits |= known[i].bit;
    return bits;
}

static void mount_overlay(const char *path)
{
    char options[PATH_BYTES];

    mount_new("tmpfs", STAGE, NOTHING, "mode=755");
    must(mkdir(STAGE "/upper", 0755), "make", STAGE "/upper");
    must(mkdir(STAGE "/work", 0755), "make", STAGE "/work");
    struct stat st;
    must(stat(path, &st), "look at", path);
    must(chown(STAGE "/upper", st.st_uid, st.st_gid), "own", STAGE "/upper");
    must(chmod(STAGE "/upper", st.st_mode & 07777), "chmod", STAGE "/upper");
    (void)snprintf(options, sizeof options,
                   "lowerdir=%s,upperdir=" STAGE "/upper,workdir=" STAGE "/work,userxattr", path);
    mount_new("overlay", path, 0, options);
    must(umount2(STAGE, MNT_DETACH), "unmount", STAGE);
}

static void mount_place(struct place *p)
{
    if (p->kind == PLACE_OVERLAY)
        mount_overlay(p->path);
    else if (p->kind == PLACE_TMPFS)
        mount_new("tmpfs", p->path, 0, "mode=1777");
    p->tree = clone_tree(p->path);
    if (p->kind == PLACE_FLAGS)
        set_attributes(p->tree, "", flags_of(p->flags));
}

/* The places' own trees survive what is done to everything else. */
static void mount_places(void)
{
    for (size_t i = 0; i < want.place_count; i++)
        mount_place(&want.places[i]);
    if (want.read_only)
        set_attributes(AT_FDCWD, "/", MOUNT_ATTR_RDONLY);
    for (size_t i = 0; i < want.place_count; i++)
        attach(want.places[i].tree, want.places[i].path);
}

/* What is not there on this machine need not be covered. */
static void mask(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode))
        mount_new("tmpfs", path, NOTHING | MS_RDONLY, "mode=755");
    else
        must(mount("/dev/null", path, NULL, MS_BIND, NULL), "cover", path);
}

static void seal(const char *path)
{
    if (access(path, F_OK) < 0)
        return;
    int tree = clone_tree(path);
    set_attributes(tree, "", MOUNT_ATTR_RDONLY);
    attach(tree, path);
}

/* A second /proc, of somebody's chroot, is none of the container's, and would count as seen. */
static void cover_others(void)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");

    if (!mounts)
        give_up("read", "/proc/self/mounts");
    for (struct mntent *m; (m = getmntent(mounts));)
        if (strcmp(m->mnt_type, "proc") == 0 && strcmp(m->mnt_dir, "/proc") != 0)
            mount_new("tmpfs", m->mnt_dir, NOTHING | MS_RDONLY, "mode=000");
    (void)endmntent(mounts);
}

static void mount_proc(void)
{
    static const char *const masked[] = {
        "/proc/acpi", "/proc/asound",      "/proc/interrupts",  "/proc/kcore",      "/proc/keys",
        "/proc/scsi", "/proc/sched_debug", "/proc/timer_stats", "/proc/timer_list", "/sys/firmware",
    };
    static const char *const sealed[] = { "/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                          "/proc/sysrq-trigger" };

    cover_others();
    if (want.proc && strcmp(want.proc, "none") == 0) {
        mount_new("tmpfs", "/proc", NOTHING | MS_RDONLY, "mode=555");
        return;
    }
    mount_new("proc", "/proc", NOTHING, want.proc);
    for (size_t i = 0; want.masked && i < COUNT(masked); i++)
        mask(masked[i]);
    for (size_t i = 0; want.masked && i < COUNT(sealed); i++)
        seal(sealed[i]);
}

static void mount_sys(void)
{
    if (!want.sys)
        return;
    if (strcmp(want.sys, "none") == 0)
        mount_new("tmpfs", "/sys", NOTHING | MS_RDONLY, "mode=555");
    else
        set_attributes(AT_FDCWD, "/sys", MOUNT_ATTR_RDONLY);
}

/* A subdirectory of the new /dev with a file system in it. */
static void mount_below_dev(const char *type, const char *path, unsigned long flags,
                            const char *options)
{
    must(mkdir(path, 0755), "make", path);
    mount_new(type, path, flags, options);
}

static void mount_dev(void)
{
    static const char *const nodes[] = { "/dev/null",   "/dev/zero",    "/dev/full",
                                         "/dev/random", "/dev/urandom", "/dev/tty" };
    static const char *const links[][2] = { { "/proc/self/fd", "/dev/fd" },
                                            { "/proc/self/fd/0", "/dev/stdin" },
                                            { "/proc/self/fd/1", "/dev/stdout" },
                                            { "/proc/self/fd/2", "/dev/stderr" } };
    int trees[COUNT(nodes)];

    if (!want.dev)
        return;
    for (size_t i = 0; i < COUNT(nodes); i++)
        trees[i] = clone_tree(nodes[i]);
    mount_new("tmpfs", "/dev", MS_NOSUID, "mode=755,size=64k");
    for (size_t i = 0; i < COUNT(nodes); i++) {
        must(mknod(nodes[i], S_IFREG | 0666, 0), "make", nodes[i]);
        attach(trees[i], nodes[i]);
    }
    for (size_t i = 0; i < COUNT(links); i++)
        must(symlink(links[i][0], links[i][1]), "link", links[i][1]);
    if (strcmp(want.dev, "bare") == 0)
        return;
    mount_below_dev("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666");
    mount_below_dev("tmpfs", "/dev/shm", NOTHING, "mode=1777,size=64m");
    mount_below_dev("mqueue", "/dev/mqueue", NOTHING, NULL);
    must(symlink("pts/ptmx", "/dev/ptmx"), "link", "/dev/ptmx");
}

static void mount_shm(void)
{
    char options[64];

    if (!want.shm)
        return;
    (void)snprintf(options, sizeof options, "mode=1777,size=%s", want.shm);
    mount_new("tmpfs", "/dev/shm", NOTHING, options);
}

/* An entry of the root, seen at the same name below the new one. */
static void show_entry(const char *name)
{
    char from[PATH_BYTES], to[PATH_BYTES], target[PATH_BYTES] = "";
    struct stat st;

    (void)snprintf(from, sizeof from, "/%.255s", name);
    (void)snprintf(to, sizeof to, STAGE "/root/%.255s", name);
    if (strcmp(from, STAGE) == 0 || lstat(from, &st) < 0)
        return;
    if (S_ISLNK(st.st_mode) && readlink(from, target, sizeof target - 1) > 0) {
        must(symlink(target, to), "link", to);
    } else if (S_ISDIR(st.st_mode)) {
        must(mkdir(to, 0755), "make", to);
        attach(clone_tree(from), to);
    }
}

static void change_root(void)
{
    char cwd[PATH_BYTES];

    if (!getcwd(cwd, sizeof cwd))
        give_up("find", "the working directory");
    mount_new("tmpfs", STAGE, MS_NOSUID | MS_NODEV, "mode=755");
    must(mkdir(STAGE "/root", 0755), "make", STAGE "/root");
    DIR *root = opendir("/");
    if (!root)
        give_up("list", "/");
    for (struct dirent *entry; (entry = readdir(root));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            show_entry(entry->d_name);
    (void)closedir(root);
    must(chroot(STAGE "/root"), "change the root to", STAGE "/root");
    must(chdir(cwd), "enter", cwd);
}

void make_view(void)
{
    char cwd[PATH_BYTES];

    if (!getcwd(cwd, sizeof cwd))
        give_up("find", "the working directory");
    must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "make private", "/");
    mount_places();
    mount_proc();
    mount_sys();
    mount_dev();
    mount_shm();
    must(chdir(cwd), "enter", cwd); /* it may be covered by now */
    if (want.chroot)
        change_root();
}
