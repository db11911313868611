/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan in bubblewrap's words. The words are read by a small model of bubblewrap (options from
 * left to right, each later mount over the earlier ones) and must show what the slow model of
 * precedence says; the printed command is read by a real shell and must give the same words.
 */
#include "lib/access_model.h"

#include <stdio.h>

#include "plan/bwrap.h"
#include "plan/shortfalls.h"

#define ROUNDS       6000
#define SHELL_ROUNDS 30
#define MAX_STEPS    512

enum shows { SHOWS_RO, SHOWS_RW, SHOWS_HIDDEN, SHOWS_TMPFS };

struct step {
    const char *path;
    enum shows shows;
};

/* What a run of bubblewrap would have mounted. */
struct shown {
    struct step steps[MAX_STEPS];
    size_t count;
};

static const struct step *at(const struct shown *v, const char *path)
{
    for (size_t i = v->count; i-- > 0;)
        if (path_is_beneath(path, v->steps[i].path))
            return &v->steps[i];
    fail_msg("nothing is mounted at %s", path);
    return NULL;
}

static void show(struct shown *v, const char *path, enum shows shows)
{
    assert_true(v->count < MAX_STEPS);
    v->steps[v->count++] = (struct step){ path, shows };
}

static const char *next_word(const struct buf *words, size_t *pos)
{
    if (*pos >= words->len)
        fail_msg("an operand is missing at the end");
    const char *word = words->data + *pos;
    *pos += strlen(word) + 1;
    assert_true(*pos <= words->len);
    return word;
}

/* New entries must never be made in the host's own directories. */
static void check_made(struct facts_case *c, const struct shown *v, const char *path)
{
    if (at(v, path_parent(&c->arena, path))->shows != SHOWS_TMPFS)
        fail_msg("%s would be made on the host", path);
}

static void seal(struct shown *v, const char *path)
{
    for (size_t i = v->count; i-- > 0;)
        if (str_eq(v->steps[i].path, path)) {
            assert_int_equal(v->steps[i].shows, SHOWS_TMPFS); /* or the host's would be closed */
            v->steps[i].shows = SHOWS_HIDDEN;
            return;
        }
    fail_msg("%s is no mount", path);
}

static void read_option(struct facts_case *c, struct shown *v, const struct buf *words, size_t *pos)
{
    static const char *const plain[] = { "--unshare-user", "--unshare-pid",    "--unshare-net",
                                         "--unshare-ipc",  "--unshare-cgroup", "--unshare-uts",
                                         "--as-pid-1",     "--die-with-parent" };
    static const char *const one[] = { "--hostname", "--cap-drop", "--perms", "--size", "--chdir" };
    const char *option = next_word(words, pos);

    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        if (str_eq(option, plain[i]))
            return;
    const char *first = next_word(words, pos);
    for (size_t i = 0; i < ARRAY_LEN(one); i++)
        if (str_eq(option, one[i]))
            return;
    if (str_eq(option, "--tmpfs") || str_eq(option, "--dev") || str_eq(option, "--proc")) {
        show(v, first, SHOWS_TMPFS);
    } else if (str_eq(option, "--remount-ro")) {
        seal(v, first);
    } else if (str_eq(option, "--dir")) {
        check_made(c, v, first);
    } else {
        const char *dest = next_word(words, pos);

        assert_int_equal(dest[0], '/');
        if (str_eq(option, "--file") || str_eq(option, "--symlink"))
            check_made(c, v, dest);
        else if (str_eq(option, "--bind") || str_eq(option, "--bind-try"))
            show(v, dest, SHOWS_RW);
        else if (str_eq(option, "--ro-bind") || str_eq(option, "--ro-bind-try"))
            show(v, dest, str_eq(first, "/dev/null") ? SHOWS_HIDDEN : SHOWS_RO);
        else
            fail_msg("bubblewrap does not know %s", option);
    }
}

static void read_words(struct facts_case *c, const struct buf *words, struct shown *ret)
{
    size_t pos = 0;

    ret->count = 0;
    while (pos < words->len)
        read_option(c, ret, words, &pos);
}

static uint32_t access_at(const struct shown *v, const char *path)
{
    static const uint32_t accesses[] = { [SHOWS_RO] = ACCESS_RO,
                                         [SHOWS_RW] = ACCESS_RW,
                                         [SHOWS_HIDDEN] = ACCESS_EXCLUDE,
                                         [SHOWS_TMPFS] = ACCESS_EXCLUDE };

    return accesses[at(v, path)->shows];
}

static void words_show_what_the_model_says(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct facts_case c;
        const uint32_t layers = LAYER_BIT(LAYER_COUNT) - 1;
        struct plan plan = { .hostname = "h" };
        struct shown shown;
        struct buf words;

        seed = round + 1;
        case_init(&c);
        c.facts.cwd = "/elsewhere";
        c.facts.home = NULL;
        plan.layers = round % 3 ? layers : layers & ~LAYER_BIT(LAYER_USERNS);
        if (round % 2)
            case_places(&c);
        random_rules(&c, 1);
        buf_init(&words, 1 << 20);
        assert_int_equal(mounts_compile(&c.policy, &c.facts, &c.arena, &plan, NULL), ABX_OK);
        assert_int_equal(bwrap_words(&plan, &words, NULL), ABX_OK);
        read_words(&c, &words, &shown);
        for (unsigned i = 0; i < 40; i++) {
            const char *path = random_path(&c.arena, 1);
            if (access_at(&shown, path) != model(&c, path))
                fail_msg("round %u, path %s: shown %s, model says %s", round, path,
                         access_name(access_at(&shown, path)), access_name(model(&c, path)));
        }
        buf_done(&words);
        case_done(&c);
    }
}

/* ---- the printed command ---- */

static const char *odd_name(struct arena *a)
{
    static const char *const parts[] = { "a",  " ",    "'",  "\"",   "\\",     "\n", "$(x)", "`x`",
                                         "\t", "\x1b", "\"", "\xff", "\u00e9", "*",  "--",   "#",
                                         ";",  "&",    "|",  "!",    "~",      "{",  "\x7f", "=" };
    char *name = arena_strdup(a, "/w/");
    unsigned n = 1 + random_below(6);

    for (unsigned i = 0; i < n; i++)
        name = arena_printf(a, "%s%s", name, parts[random_below(ARRAY_LEN(parts))]);
    return name;
}

/* The arguments that a shell gives bubblewrap when the text is pasted; each ends with a NUL. */
static void ask_shell(const char *text, struct buf *ret)
{
    _buf_ struct buf script;
    char bytes[4096];
    size_t n;

    buf_init(&script, 1 << 20);
    (void)buf_puts(&script, "bwrap() { printf '%s\\0' \"$@\"; }; set -f +H; exec 2>&1\n");
    (void)buf_puts(&script, text);
    assert_int_equal(setenv("ABX_SCRIPT", script.data, 1), 0);
    FILE *f = popen("bash -c 'eval \"$ABX_SCRIPT\"'", "re");
    assert_non_null(f);
    while ((n = fread(bytes, 1, sizeof bytes, f)) > 0)
        (void)buf_append(ret, bytes, n);
    assert_int_equal(pclose(f), 0);
}

static bool has_word(const struct buf *words, const char *word)
{
    for (size_t pos = 0; pos < words->len; pos += strlen(words->data + pos) + 1)
        if (str_eq(words->data + pos, word))
            return true;
    return false;
}

static void shell_reads_what_was_meant(void **state)
{
    (void)state;
    for (unsigned round = 0; round < SHELL_ROUNDS; round++) {
        struct facts_case c;
        const char *names[6];
        struct buf text, words;

        seed = round + 1;
        case_init(&c);
        case_places(&c);
        case_workdir(&c);
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            names[i] = odd_name(&c.arena);
            case_rule(&c, (uint32_t)i % 3, ORIGIN_CALL, 0, names[i], i % 2 ? "d" : "f");
        }
        const char *const argv[] = { "sh", names[0], "--", "", names[1], NULL };
        const char *const env[] = { "A=--x", "B=1", "C= '$x\x1b[0m'", "P%=f", NULL };
        const char *const host[] = { "B=1", "P%=f", NULL };
        struct plan plan = { .layers = LAYER_BIT(LAYER_COUNT) - 1,
                             .hostname = "h",
                             .cwd = names[2],
                             .argv = argv,
                             .argv_count = 5,
                             .env = env,
                             .env_count = 4 };
        buf_init(&text, 1 << 20);
        buf_init(&words, 1 << 20);
        assert_int_equal(mounts_compile(&c.policy, &c.facts, &c.arena, &plan, NULL), ABX_OK);
        assert_int_equal(bwrap_print(&plan, host, &text, NULL), ABX_OK);
        for (size_t i = 0; i < text.len; i++) /* nothing that a terminal obeys */
            assert_true(text.data[i] == '\n' || (unsigned char)text.data[i] >= 0x20);
        assert_int_equal(setenv("B", "of the shell", 1), 0);
        ask_shell(text.data, &words);

        for (uint32_t i = 0; i < plan.mount_count; i++)
            assert_true(has_word(&words, plan.mounts[i].path));
        assert_true(has_word(&words, "of the shell"));
        assert_true(has_word(&words, "f") && has_word(&words, "P%"));
        assert_true(has_word(&words, "--x") && has_word(&words, " '$x\x1b[0m'"));
        size_t tail = words.len; /* the command comes last, as it was */
        for (size_t i = ARRAY_LEN(argv) - 1; i-- > 0;) {
            tail -= strlen(argv[i]) + 1;
            assert_string_equal(words.data + tail, argv[i]);
        }
        buf_done(&text);
        buf_done(&words);
        case_done(&c);
    }
}

/* ---- what it cannot do ---- */

static void lacks_are_found(void **state)
{
    char path[5000];
    struct mount_op op = { .kind = MOUNT_BIND_RO, .path = "/a", .text = "" };
    struct mount_op two[2] = { { .kind = MOUNT_FILE, .path = "/a", .text = "" },
                               { .kind = MOUNT_FILE, .path = "/b", .text = "" } };
    struct plan plan = { .mounts = &op, .mount_count = 1 };

    (void)state;
    assert_int_equal(bwrap_lacks(&plan), 0);
    op.kind = MOUNT_WRAP;
    assert_int_equal(bwrap_lacks(&plan), 0);
    op.flags = MOUNT_LINKED;
    assert_int_equal(bwrap_lacks(&plan), BWRAP_LACKS_WRAPS);
    op.kind = MOUNT_PIN;
    assert_int_equal(bwrap_lacks(&plan), BWRAP_LACKS_LINKS);
    op.flags = 0;
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    op.path = path;
    assert_int_equal(bwrap_lacks(&plan), BWRAP_LACKS_PATHS);
    plan = (struct plan){ .mounts = two, .mount_count = 2 };
    assert_int_equal(bwrap_lacks(&plan), BWRAP_LACKS_FILES);
    two[1] = (struct mount_op){ .kind = MOUNT_BIND_RO, .path = "/a", .text = "" };
    assert_int_equal(bwrap_lacks(&plan), 0); /* made for the mount on it */
}

#define GAP(id) (UINT32_C(1) << SHORTFALL_##id)

static void gaps_follow_from_who_runs_it_and_what_is_planned(void **state)
{
    static const struct {
        struct bwrap_facts facts;
        uint32_t lacks, gaps;
    } table[] = {
        { { .root = false }, 0, 0 },
        { { .root = false }, BWRAP_LACKS_LINKS, GAP(LINKS) },
        { { .root = false }, BWRAP_LACKS_WRAPS, GAP(COMMANDS) },
        { { .setuid = true }, 0, GAP(COMMANDS) | GAP(TMPSIZE) },
        { { .root = true, .mounts = true }, 0, GAP(IDS) | GAP(PROCESS_LIMIT) },
        { { .root = true }, 0, GAP(IDS) | GAP(PROCESS_LIMIT) | GAP(DEVICE_MODES) },
    };
    const struct policy policy = { .command_count = 1, .max_processes = 7, .tmp_bytes = 7 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        assert_int_equal(shortfalls_of_bwrap(&policy, &table[i].facts, table[i].lacks),
                         table[i].gaps);
}

static void full_buffer_is_reported(void **state)
{
    struct facts_case c;
    struct plan plan = { .layers = LAYER_BIT(LAYER_COUNT) - 1, .hostname = "h", .cwd = "/" };

    (void)state;
    case_init(&c);
    case_places(&c);
    assert_int_equal(mounts_compile(&c.policy, &c.facts, &c.arena, &plan, NULL), ABX_OK);
    for (size_t limit = 0; limit < 300; limit += 7) {
        _buf_ struct buf b = { .limit = limit };

        assert_int_equal(bwrap_words(&plan, &b, NULL), ABX_E_NOMEM);
        buf_done(&b);
        b = (struct buf){ .limit = limit };
        assert_int_equal(bwrap_print(&plan, NULL, &b, NULL), ABX_E_NOMEM);
    }
    case_done(&c);
}

static void more_words_than_bubblewrap_takes_are_refused(void **state)
{
    const uint32_t most = 4000;
    struct mount_op *ops = calloc(most, sizeof *ops);
    struct plan plan = { .mounts = ops, .hostname = "h" };
    _buf_ struct buf b = { .limit = 1 << 20 };
    abx_error *err = NULL;

    (void)state;
    assert_non_null(ops);
    for (uint32_t i = 0; i < most; i++)
        ops[i] = (struct mount_op){ .kind = MOUNT_MASK_FILE, .path = "/x", .text = "" };
    plan.mount_count = BWRAP_MAX_WORDS / 3 - 10;
    assert_int_equal(bwrap_words(&plan, &b, NULL), ABX_OK);
    plan.mount_count = most;
    assert_int_equal(bwrap_words(&plan, &b, &err), ABX_E_UNSUPPORTED);
    assert_non_null(strstr(abx_error_hint(err), "parents"));
    abx_error_free(err);
    free(ops);
}

static void versions_are_read(void **state)
{
    static const struct {
        const char *text;
        bool right;
        uint32_t major, minor;
    } rows[] = {
        { "bubblewrap 0.8.0\n", true, 0, 8 }, { "bubblewrap 0.11.0", true, 0, 11 },
        { "bubblewrap 1.0", true, 1, 0 },     { "bubblewrap 0.9.0-rc1\n", true, 0, 9 },
        { "bubblewrap 0.4.1\n", true, 0, 4 }, { "", false, 0, 0 },
        { "bubblewrap", false, 0, 0 },        { "bubblewrap ", false, 0, 0 },
        { "bubblewrap 0", false, 0, 0 },      { "bubblewrap 0.", false, 0, 0 },
        { "bubblewrap .8", false, 0, 0 },     { "bubblewrap 0.8x", false, 0, 0 },
        { "bwrap 0.8.0", false, 0, 0 },       { "bubblewrap 0.9999999", false, 0, 0 },
        { "bubblewrap -1.8", false, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t major = 0, minor = 0;
        size_t len = strlen(rows[i].text);
        char *exact = malloc(len + !len); /* so that a sanitizer sees a byte too many */

        assert_non_null(exact);
        memcpy(exact, rows[i].text, len);
        if (bwrap_version(exact, len, &major, &minor) != rows[i].right || major != rows[i].major ||
            minor != rows[i].minor)
            fail_msg("'%s': %u.%u", rows[i].text, major, minor);
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_show_what_the_model_says),
        cmocka_unit_test(shell_reads_what_was_meant),
        cmocka_unit_test(lacks_are_found),
        cmocka_unit_test(gaps_follow_from_who_runs_it_and_what_is_planned),
        cmocka_unit_test(full_buffer_is_reported),
        cmocka_unit_test(more_words_than_bubblewrap_takes_are_refused),
        cmocka_unit_test(versions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
