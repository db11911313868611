/* SPDX-License-Identifier: Apache-2.0 */
/* Git's index, and what a command can leave for the host's git. */
#include "lib/tree.h"

#include "probe/gitindex.h"
#include "probe/remains.h"

#define FILE_MODE 0100644u
#define LINK_MODE 0160000u

/* ---- an index as git writes it ---- */

static void put_number(struct buf *b, uint32_t value, size_t bytes)
{
    for (size_t i = bytes; i > 0; i--)
        buf_putc(b, (char)(value >> 8 * (i - 1)));
}

static void put_header(struct buf *b, uint32_t version, uint32_t entries)
{
    buf_puts(b, "DIRC");
    put_number(b, version, 4);
    put_number(b, entries, 4);
}

/* strip: of the last path, version 4 only; extended: with the second flags. */
static void put_entry(struct buf *b, uint32_t version, size_t hash, uint32_t mode, size_t len,
                      const char *path, size_t strip, bool extended)
{
    const size_t start = b->len;

    for (size_t i = 0; i < 40; i += 4)
        put_number(b, i == 24 ? mode : 7, 4);
    for (size_t i = 0; i < hash; i++)
        buf_putc(b, 'h');
    put_number(b, (uint32_t)MIN_OF(len, 0xfff) | (extended ? 0x4000 : 0), 2);
    if (extended)
        put_number(b, 0x2000, 2);
    if (version == 4 && strip >= 128)
        buf_putc(b, (char)(0x80 | ((strip >> 7) - 1)));
    if (version == 4)
        buf_putc(b, (char)(strip & 0x7f));
    buf_puts(b, path);
    do
        buf_putc(b, '\0');
    while (version < 4 && (b->len - start) % 8);
}

static void expect_links(const struct buf *b, size_t hash, const char *expected)
{
    _buf_ struct buf found = { .limit = 1 << 20 };
    struct gitindex x;
    const char *path;

    buf_puts(&found, "");
    gitindex_init(&x, b->data, b->len, hash);
    while ((path = gitindex_next_link(&x)))
        buf_printf(&found, "%s\n", path);
    gitindex_done(&x);
    assert_string_equal(found.data, expected);
}

static void gitlinks_of_every_version_are_found(void **state)
{
    static const size_t hashes[] = { 20, 32 };
    (void)state;

    for (uint32_t version = 2; version <= 3; version++)
        for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
            _buf_ struct buf b = { .limit = 1 << 20 };

            put_header(&b, version, 4);
            put_entry(&b, version, hashes[i], FILE_MODE, 4, "file", 0, false);
            put_entry(&b, version, hashes[i], LINK_MODE, 3, "mod", 0, version == 3);
            put_entry(&b, version, hashes[i], FILE_MODE, 5, "other", 0, false);
            put_entry(&b, version, hashes[i], LINK_MODE, 9, "sub/lower", 0, false);
            expect_links(&b, hashes[i], "mod\nsub/lower\n");
            expect_links(&b, hashes[1 - i], "");
        }
}

static void version_4_builds_on_the_last_path(void **state)
{
    _buf_ struct buf b = { .limit = 1 << 20 };
    char name[201];
    (void)state;

    memset(name, 'n', 200);
    name[200] = '\0';
    put_header(&b, 4, 4);
    put_entry(&b, 4, 20, FILE_MODE, 10, "sub/file.c", 0, false);
    put_entry(&b, 4, 20, LINK_MODE, 8, "link", 6, true);
    put_entry(&b, 4, 20, LINK_MODE, 204, name, 4, false);
    put_entry(&b, 4, 20, LINK_MODE, 3, "mod", 204, false);
    _buf_ struct buf expected = { .limit = 4096 };
    buf_printf(&expected, "sub/link\nsub/%s\nmod\n", name);
    expect_links(&b, 20, expected.data);
}

static void long_paths_go_up_to_their_end(void **state)
{
    _buf_ struct buf b = { .limit = 1 << 20 };
    char name[5001];
    (void)state;

    memset(name, 'n', 5000);
    name[5000] = '\0';
    put_header(&b, 2, 2);
    put_entry(&b, 2, 20, LINK_MODE, 5000, name, 0, false);
    put_entry(&b, 2, 20, LINK_MODE, 1, "z", 0, false);
    _buf_ struct buf expected = { .limit = 1 << 16 };
    buf_printf(&expected, "%s\nz\n", name);
    expect_links(&b, 20, expected.data);
}

static void what_is_no_index_has_none(void **state)
{
    _buf_ struct buf b = { .limit = 1 << 20 };
    (void)state;

    put_header(&b, 2, 0xffffffff);
    put_entry(&b, 2, 20, LINK_MODE, 3, "mod", 0, false);
    for (size_t len = 0; len < b.len; len++) {
        char *part = malloc(len + 1);
        struct gitindex x;

        assert_non_null(part);
        memcpy(part, b.data, len);
        gitindex_init(&x, part, len, 20);
        assert_null(gitindex_next_link(&x));
        gitindex_done(&x);
        free(part);
    }
    expect_links(&b, 20, "mod\n");
    b.data[7] = 5; /* a version to come */
    expect_links(&b, 20, "");
    b.data[7] = 2;
    b.data[0] = 'd';
    expect_links(&b, 20, "");
}

/* ---- what is left ---- */

static struct remains *before(struct tree *t)
{
    only(t, "@git");
    rule(t, "filesystem.presets", "@base");
    assert_int_equal(scan(t, NULL, NULL), ABX_OK);
    (void)usleep(20000); /* what the test made is older, by the clock of files */
    struct remains *r = remains_expect(t->facts);
    assert_non_null(r);
    return r;
}

/* "kind path what" lines; @ is the temporary directory. */
static void expect_finds(struct tree *t, struct remains *r, const char *expected)
{
    static const char *const names[] = { "link", "repository", "broken", "rebase", "unread" };
    const size_t len = strlen(t->base);
    struct remains_find finds[REMAINS_MAX];
    _buf_ struct buf b = { .limit = 1 << 20 };
    const size_t count = remains_look(r, &t->arena, finds);

    buf_puts(&b, "");
    for (size_t i = 0; i < MIN_OF(count, REMAINS_MAX); i++) {
        const char *what = finds[i].what ? finds[i].what : "-";

        buf_printf(&b, "%s @%s %s%s\n", names[finds[i].kind], finds[i].path + len,
                   str_has_prefix(what, t->base) ? "@" : "",
                   str_has_prefix(what, t->base) ? what + len : what);
    }
    if (count > REMAINS_MAX)
        buf_printf(&b, "%zu more\n", count - REMAINS_MAX);
    free(r);
    assert_string_equal(b.data, expected);
}

static void write_index(struct tree *t, const char *path, const char *link)
{
    _buf_ struct buf b = { .limit = 1 << 16 };
    FILE *f = fopen(at(t, path), "we");

    assert_non_null(f);
    put_header(&b, 2, 1);
    put_entry(&b, 2, 20, LINK_MODE, strlen(link), link, 0, false);
    assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
    fclose(f);
}

static void nothing_is_said_of_ordinary_work(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_git(t, "/home/w/old/.git");
    make_file(t, "/home/w/old/.git/config", "[core]\n\tfsmonitor = x\n"); /* the user's own */
    make_dir(t, "/home/w/.git/logs");
    make_link(t, "elsewhere", "/home/w/.git/rr-cache"); /* was there */
    write_index(t, "/home/w/.git/index", "old");
    struct remains *r = before(t);
    make_file(t, "/home/w/.git/logs/HEAD", "x\n");
    make_file(t, "/home/w/old/.git/index.lock", "x\n");
    make_file(t, "/home/w/.git/rebase-merge/git-rebase-todo", "pick 1234\n# exec x\n");
    make_git(t, "/home/w/new/.git"); /* no gitlink */
    expect_finds(t, r, "");
}

static void links_that_git_writes_through_are_found(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_dir(t, "/home/w/.git/logs/refs/heads");
    make_dir(t, "/home/w/logs/refs");
    make_link(t, "../../old", "/home/w/logs/refs/heads");
    struct remains *r = before(t);
    make_link(t, "../../.bashrc", "/home/w/.git/COMMIT_EDITMSG");
    make_dir(t, "/home/w/.git/logs/refs/heads/objects"); /* a branch of that name */
    make_link(t, "x", "/home/w/.git/logs/refs/heads/objects/topic");
    expect_finds(t, r,
                 "link @/home/w/.git/COMMIT_EDITMSG ../../.bashrc\n"
                 "link @/home/w/.git/logs/refs/heads/objects/topic x\n");

    assert_int_equal(unlink(at(t, "/home/w/.git/COMMIT_EDITMSG")), 0);
    assert_int_equal(unlink(at(t, "/home/w/.git/logs/refs/heads/objects/topic")), 0);
    r = before(t);
    assert_int_equal(rename(at(t, "/home/w/.git/logs"), at(t, "/home/w/away")), 0);
    assert_int_equal(rename(at(t, "/home/w/logs"), at(t, "/home/w/.git/logs")), 0);
    /* The link is as old as it was; the directory was moved. */
    make_file(t, "/home/w/.git/logs/refs/x", "");
    expect_finds(t, r, "link @/home/w/.git/logs/refs/heads ../../old\n");
}

static void repositories_that_git_enters_are_judged_by_their_config(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_dir(t, "/home/w/.git/modules/mod");
    write_index(t, "/home/w/.git/index", "mod");
    struct remains *r = before(t);
    make_git(t, "/home/w/mod/.git");
    make_file(t, "/home/w/mod/.git/hooks/pre-commit.sample", "");
    make_file(t, "/home/w/mod/.git/config",
              "[core]\n\tbare = false\n\tworktree = ..\n[remote \"origin\"]\n\turl = x\n");
    expect_finds(t, r, "");

    r = before(t);
    assert_int_equal(rename(at(t, "/home/w/mod"), at(t, "/home/w/away")), 0);
    make_git(t, "/home/w/mod/.git");
    make_file(t, "/home/w/mod/.git/config", "[core]\n\tfsmonitor = x\n");
    expect_finds(t, r, "repository @/home/w/mod core.fsmonitor\n");

    r = before(t); /* which is known now */
    make_file(t, "/home/w/mod/.git/hooks/pre-commit", "");
    expect_finds(t, r, "");

    r = before(t);
    assert_int_equal(rename(at(t, "/home/w/mod"), at(t, "/home/w/again")), 0);
    make_git(t, "/home/w/mod/.git");
    make_file(t, "/home/w/mod/.git/config", "[core]\n\tworktree = ../..\n");
    expect_finds(t, r, "repository @/home/w/mod core.worktree\n");

    assert_int_equal(rename(at(t, "/home/w/mod"), at(t, "/home/w/partial")), 0);
    r = before(t);
    make_git(t, "/home/w/mod/.git");
    make_file(t, "/home/w/mod/.git/config", "[remote \"x\"]\n\turl = y\n\tpromisor = true\n");
    expect_finds(t, r, "repository @/home/w/mod remote.promisor\n");

    assert_int_equal(rename(at(t, "/home/w/mod"), at(t, "/home/w/third")), 0);
    r = before(t);
    make_git(t, "/home/w/.git/modules/mod");
    make_file(t, "/home/w/.git/modules/mod/hooks/post-checkout", "");
    make_file(t, "/home/w/mod/.git", "gitdir: ../.git/modules/mod\n");
    expect_finds(t, r, "repository @/home/w/mod hooks/post-checkout\n");
}

/* Git takes them as they are, and would enter the directory. */
static void links_of_the_index_lead_anywhere(void **state)
{
    struct tree *t = *state;
    struct remains *r;

    make_git(t, "/home/w/.git");
    make_dir(t, "/home/other");
    r = before(t);
    make_git(t, "/home/other/.git");
    make_file(t, "/home/other/.git/config", "[core]\n\tfsmonitor = x\n");
    write_index(t, "/home/w/.git/index", at(t, "/home/other"));
    expect_finds(t, r, "repository @/home/other core.fsmonitor\n");

    assert_int_equal(rename(at(t, "/home/other"), at(t, "/home/first")), 0);
    r = before(t);
    make_git(t, "/home/other/.git");
    make_file(t, "/home/other/.git/config", "[core]\n\tfsmonitor = x\n");
    write_index(t, "/home/w/.git/index", "../other");
    expect_finds(t, r, "repository @/home/w/../other core.fsmonitor\n");

    r = before(t);
    write_index(t, "/home/w/.git/index", "");
    expect_finds(t, r, "");
    r = before(t);
    write_index(t, "/home/w/.git/index", "/");
    expect_finds(t, r, "");
}

/* Read with names of 32 bytes, the index of every third repository has links of random bytes. */
static void links_of_random_bytes_harm_nobody(void **state)
{
    _buf_ struct buf b = { .limit = 1 << 16 };
    struct gitindex x;
    (void)state;

    put_header(&b, 2, 2);
    put_entry(&b, 2, 32, LINK_MODE, 4, "", 0, false); /* four bytes, of which the first is a NUL */
    put_entry(&b, 2, 32, LINK_MODE, 3, "mod", 0, false);
    gitindex_init(&x, b.data, b.len, 32);
    assert_string_equal(gitindex_next_link(&x), "mod");
    assert_null(gitindex_next_link(&x));
    gitindex_done(&x);
}

static void split_index_and_worktree_have_their_own_top(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.git/worktrees/x/HEAD", "ref: refs/heads/x\n");
    make_file(t, "/home/w/.git/worktrees/x/commondir", "../..\n");
    make_file(t, "/home/w/.git/worktrees/x/gitdir", at(t, "/home/w/tree/.git"));
    make_file(t, "/home/w/tree/.git",
              arena_printf(&t->arena, "gitdir: %s\n", at(t, "/home/w/.git/worktrees/x")));
    struct remains *r = before(t);
    write_index(t, "/home/w/.git/sharedindex.1234", "mod");
    write_index(t, "/home/w/.git/worktrees/x/index", "sub");
    make_git(t, "/home/w/mod/.git");
    make_file(t, "/home/w/mod/.git/config", "[include]\n\tpath = x\n");
    make_git(t, "/home/w/tree/sub/.git");
    make_file(t, "/home/w/tree/sub/.git/config", "[alias]\n\tx = !x\n");
    make_git(t, "/home/w/sub/.git"); /* of no index */
    make_file(t, "/home/w/sub/.git/config", "[alias]\n\tx = !x\n");
    expect_finds(t, r,
                 "repository @/home/w/mod include.path\n"
                 "repository @/home/w/tree/sub alias.x\n");
}

static void new_repository_here_counts_a_new_worktree_does_not(void **state)
{
    struct tree *t = *state;
    struct remains *r = before(t);

    make_git(t, "/home/w/.git");
    make_file(t, "/home/w/.git/config", "[core]\n\tsshCommand = x\n");
    expect_finds(t, r, "repository @/home/w core.sshcommand\n");

    assert_int_equal(rename(at(t, "/home/w/.git"), at(t, "/home/main.git")), 0);
    r = before(t);
    make_file(t, "/home/w/HEAD", "ref: refs/heads/main\n");
    make_file(t, "/home/w/config", "[core]\n\tbare = true\n\tfsmonitor = x\n");
    expect_finds(t, r, "repository @/home/w core.fsmonitor\n");
    assert_int_equal(unlink(at(t, "/home/w/HEAD")), 0);

    make_git(t, "/home/w/sub/.git");
    make_file(t, "/home/w/sub/.git/config", "[core]\n\tfsmonitor = x\n");
    assert_int_equal(mkdir(at(t, "/home/w/tree"), 0755), 0);
    r = before(t);
    assert_int_equal(chdir(at(t, "/home/w/tree")), 0);
    make_file(t, "/home/w/sub/.git/worktrees/tree/commondir", "../..\n");
    make_file(t, "/home/w/.git", "gitdir: sub/.git/worktrees/tree\n");
    expect_finds(t, r, "");
}

static void odd_repositories_are_told_or_left_alone(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    write_index(t, "/home/w/.git/index", "mod");
    struct remains *r = before(t);
    make_file(t, "/home/w/mod", ""); /* no directory */
    expect_finds(t, r, "");
    assert_int_equal(unlink(at(t, "/home/w/mod")), 0);

    r = before(t);
    make_git(t, "/home/w/mod/.git");
    assert_int_equal(unlink(at(t, "/home/w/mod/.git/config")), 0);
    expect_finds(t, r, "");
    assert_int_equal(rename(at(t, "/home/w/mod"), at(t, "/home/w/1")), 0);

    r = before(t);
    make_dir(t, "/home/w/mod/.git/config");
    expect_finds(t, r, "repository @/home/w/mod config\n");
    assert_int_equal(rename(at(t, "/home/w/mod"), at(t, "/home/w/2")), 0);

    r = before(t);
    make_git(t, "/home/w/mod/.git");
    make_file(t, "/home/w/mod/.git/config",
              "[core]\n\ta123456789012345678901234567890123456789012345678901234567890123 = x\n");
    struct remains_find finds[REMAINS_MAX];
    assert_int_equal(remains_look(r, &t->arena, finds), 1);
    free(r);
    assert_int_equal(rename(at(t, "/home/w/mod"), at(t, "/home/w/3")), 0);

    r = before(t);
    assert_int_equal(truncate(at(t, "/home/w/.git/index"), (off_t)1 << 28), 0);
    assert_int_equal(mkfifo(at(t, "/home/w/.git/sharedindex.x"), 0600), 0);
    make_file(t, "/home/w/.git/sharedindex.y", "");
    assert_int_equal(remains_look(r, &t->arena, finds), 2);
    assert_int_equal(finds[0].kind, REMAINS_UNREAD);
    assert_int_equal(finds[1].kind, REMAINS_UNREAD);
    free(r);
}

/* An index can have more of them than anybody looks at; the rest is said to be there. */
static void gitlinks_beyond_all_measure_are_told(void **state)
{
    struct tree *t = *state;
    _buf_ struct buf b = { .limit = (size_t)64 << 20 };

    make_git(t, "/home/w/.git");
    struct remains *r = before(t);
    put_header(&b, 2, 300001);
    for (int i = 0; i < 300001; i++)
        put_entry(&b, 2, 20, LINK_MODE, 1, "x", 0, false);
    FILE *f = fopen(at(t, "/home/w/.git/index"), "we");
    assert_non_null(f);
    assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
    fclose(f);
    expect_finds(t, r, "unread @/home/w/.git -\n");
}

static void repository_that_is_none_any_more_is_told(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    struct remains *r = before(t);
    assert_int_equal(unlink(at(t, "/home/w/.git/HEAD")), 0);
    expect_finds(t, r, "broken @/home/w/.git @/home/w\n");

    make_file(t, "/home/w/.git/HEAD", "ref: refs/heads/main\n");
    r = before(t);
    make_file(t, "/home/w/.git/HEAD", "nonsense\n");
    expect_finds(t, r, "broken @/home/w/.git @/home/w\n");

    r = before(t); /* git_is_there is content with any HEAD */
    assert_int_equal(unlink(at(t, "/home/w/.git/HEAD")), 0);
    make_link(t, "refs/heads/main", "/home/w/.git/HEAD"); /* core.preferSymlinkRefs */
    expect_finds(t, r, "link @/home/w/.git/HEAD refs/heads/main\n");
}

static void exec_lines_of_a_rebase_are_told(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    struct remains *r = before(t);
    make_file(t, "/home/w/.git/rebase-merge/git-rebase-todo", "pick 1234\n  x touch y\n");
    expect_finds(t, r, "rebase @/home/w/.git/rebase-merge/git-rebase-todo -\n");
}

static void there_is_no_hiding_behind_a_limit(void **state)
{
    struct tree *t = *state;
    char *dir = arena_strdup(&t->arena, "/home/w/.git/logs");

    make_git(t, "/home/w/.git");
    struct remains *r = before(t);
    for (int i = 0; i < 70; i++)
        dir = arena_printf(&t->arena, "%s/d", dir);
    make_dir(t, dir);
    struct remains_find finds[REMAINS_MAX];
    assert_int_equal(remains_look(r, &t->arena, finds), 1);
    assert_int_equal(finds[0].kind, REMAINS_UNREAD);
    free(r);
}

static void three_are_named_and_the_rest_counted(void **state)
{
    struct tree *t = *state;

    make_git(t, "/home/w/.git");
    struct remains *r = before(t);
    for (int i = 0; i < 5; i++)
        make_link(t, "x", arena_printf(&t->arena, "/home/w/.git/L%d", i));
    struct remains_find finds[REMAINS_MAX];
    assert_int_equal(remains_look(r, &t->arena, finds), 5);
    free(r);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gitlinks_of_every_version_are_found),
        cmocka_unit_test(version_4_builds_on_the_last_path),
        cmocka_unit_test(long_paths_go_up_to_their_end),
        cmocka_unit_test(what_is_no_index_has_none),
        TEST(nothing_is_said_of_ordinary_work),
        TEST(links_that_git_writes_through_are_found),
        TEST(repositories_that_git_enters_are_judged_by_their_config),
        TEST(split_index_and_worktree_have_their_own_top),
        TEST(new_repository_here_counts_a_new_worktree_does_not),
        TEST(odd_repositories_are_told_or_left_alone),
        TEST(links_of_the_index_lead_anywhere),
        cmocka_unit_test(links_of_random_bytes_harm_nobody),
        TEST(gitlinks_beyond_all_measure_are_told),
        TEST(repository_that_is_none_any_more_is_told),
        TEST(exec_lines_of_a_rebase_are_told),
        TEST(there_is_no_hiding_behind_a_limit),
        TEST(three_are_named_and_the_rest_counted),
    };

    return cmocka_run_group_tests_name("remains", tests, NULL, NULL);
}
