/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files by the words of a command. Nothing is parsed: every piece of a word that happens to be the
 * name of a file counts, which can only make an approval more exact. What a script reads in turn,
 * and names that are made while it runs, are not seen; docs/classifier.md says so.
 *
 * The words are foreign: the number of looks is bounded, only regular files are opened, without
 * blocking. A large file counts by its identity and times (ctime cannot be set) instead of its
 * bytes. What cannot be opened counts as absent.
 */
#include "probe/named.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/io.h"

#define NAMED_MAX_LOOKS 4096
#define NAMED_MAX_BASES 16
#define NAMED_MAX_BYTES ((size_t)1 << 20)

#define SIGNS " \t\r\n\"'`$;&|()<>{}=,:\\"

struct search {
    const char *home;
    int bases[NAMED_MAX_BASES]; /* the first is cwd */
    size_t base_count;
    size_t looks;
    struct sha256 *hash;
};

typedef void (*piece_fn)(struct search *s, const char *name);

static void add_number(struct sha256 *h, int64_t number)
{
    sha256_update(h, &number, sizeof number);
}

static void add_content(struct sha256 *h, int fd, const struct stat *st)
{
    _buf_ struct buf b = { .limit = NAMED_MAX_BYTES };

    if (io_read_fd(fd, &b) == 0) {
        add_number(h, (int64_t)b.len);
        sha256_update(h, b.data ? b.data : "", b.len);
        return;
    }
    add_number(h, (int64_t)st->st_dev);
    add_number(h, (int64_t)st->st_ino);
    add_number(h, st->st_size);
    add_number(h, st->st_mtim.tv_sec);
    add_number(h, st->st_mtim.tv_nsec);
    add_number(h, st->st_ctim.tv_sec);
    add_number(h, st->st_ctim.tv_nsec);
}

static void add_file(struct search *s, int base, const char *name)
{
    struct stat st;

    if (s->looks++ >= NAMED_MAX_LOOKS || fstatat(base, name, &st, 0) < 0 || S_ISDIR(st.st_mode))
        return;
    if (!S_ISREG(st.st_mode)) { /* a pipe in the place of a script is not its absence */
        sha256_update(s->hash, name, strlen(name) + 1);
        add_number(s->hash, (int64_t)(st.st_mode & S_IFMT));
        add_number(s->hash, (int64_t)st.st_rdev);
        return;
    }
    _fd_ int fd = openat(base, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return;
    sha256_update(s->hash, name, strlen(name) + 1);
    add_content(s->hash, fd, &st);
}

/* "~/x" is x below the home. */
static const char *below_home(const struct search *s, const char *name, char *path, size_t size)
{
    if (name[0] != '~' || name[1] != '/' || !s->home)
        return name;
    int n = snprintf(path, size, "%s%s", s->home, name + 1);
    return n > 0 && (size_t)n < size ? path : name;
}

static void look_for_file(struct search *s, const char *name)
{
    char path[PATH_MAX];

    name = below_home(s, name, path, sizeof path);
    for (size_t i = 0; i < (name[0] == '/' ? 1 : s->base_count); i++) {
        add_number(s->hash, (int64_t)i); /* the same file in another directory is another one */
        add_file(s, s->bases[i], name);
    }
}

static void look_for_base(struct search *s, const char *name)
{
    char path[PATH_MAX];

    if (s->base_count == NAMED_MAX_BASES || s->looks++ >= NAMED_MAX_LOOKS)
        return;
    name = below_home(s, name, path, sizeof path);
    int fd = openat(s->bases[0], name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        s->bases[s->base_count++] = fd;
}

/* Behind ">": the command writes it, what was in it does not matter. */
static bool is_written(const char *word, const char *piece)
{
    while (piece > word && (piece[-1] == ' ' || piece[-1] == '\t'))
        piece--;
    return piece > word &&
           (piece[-1] == '>' || (piece[-1] == '|' && piece - word > 1 && piece[-2] == '>'));
}

static void each_piece(struct search *s, const char *word, piece_fn fn)
{
    const char *start = word;
    char name[PATH_MAX];
    size_t whole = strlen(word);

    if (whole > 0 && whole < sizeof name)
        fn(s, word);
    for (size_t n; *word; word += n) {
        word += strspn(word, SIGNS);
        n = strcspn(word, SIGNS);
        if (n == 0 || n == whole || n >= sizeof name || is_written(start, word))
            continue;
        memcpy(name, word, n);
        name[n] = '\0';
        fn(s, name);
    }
}

bool named_digest(const char *const *words, size_t count, const char *cwd, const char *home,
                  struct sha256 *h)
{
    struct search s = { .home = home, .hash = h };

    s.bases[0] = open(cwd, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (s.bases[0] < 0)
        return false;
    s.base_count = 1;
    for (size_t i = 0; i < count; i++)
        each_piece(&s, words[i], look_for_base);
    bool all = s.base_count < NAMED_MAX_BASES;
    for (size_t i = 0; i < count; i++)
        each_piece(&s, words[i], look_for_file);
    for (size_t i = 0; i < s.base_count; i++)
        fd_close(s.bases[i]);
    return all && s.looks < NAMED_MAX_LOOKS;
}
