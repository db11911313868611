/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seatbelt profiles, asked through an evaluator of their language: random policies against the
 * model that the mounts of Linux are held against, and what an attacker would try by hand.
 */
#include "lib/access_model.h"
#include "lib/sbpl.h"

#include "base/glob.h"
#include "plan/seatbelt.h"
#include "plan/seatbelt_text.h"
#include "policy/presets.h"

#define ROUNDS         10000
#define PATTERN_ROUNDS 500

static const struct sbpl_param params[] = {
    { SEATBELT_PARAM_TMP, "/private/var/folders/x/T/agentbox-1" },
    { SEATBELT_PARAM_TTY, "/dev/ttys007" },
    { SEATBELT_PARAM_PORT, "9999" },
};

static struct sbpl *profile_of(struct facts_case *c, const struct seatbelt_request *request)
{
    struct buf b;
    abx_error *err = NULL;
    char *problem = NULL;

    buf_init(&b, (size_t)16 << 20);
    if (seatbelt_compile(&c->policy, &c->facts, request, &c->arena, &b, &err) != ABX_OK)
        fail_msg("seatbelt_compile: %s", abx_error_message(err));
    struct sbpl *p = sbpl_read(b.data, params, ARRAY_LEN(params), &problem);
    if (!p)
        fail_msg("%s in\n%s", problem, b.data);
    assert_true(sbpl_longest_string(p) <= SEATBELT_MAX_STRING);
    buf_done(&b);
    return p;
}

static struct sbpl *profile(struct facts_case *c)
{
    return profile_of(c, &(struct seatbelt_request){ .tty = true, .tag = "agentbox-test" });
}

static bool can(const struct sbpl *p, const char *operation, const char *path)
{
    return sbpl_allows(p, &(struct sbpl_query){ .operation = operation, .path = path });
}

/* What the profile gives at a path; all operations of a kind must say the same. */
static uint32_t seen_access(const struct sbpl *p, const char *path)
{
    bool reads = can(p, "file-read-data", path), writes = can(p, "file-write-data", path);

    assert_int_equal(reads, can(p, "process-exec", path));
    assert_int_equal(writes, can(p, "file-write-create", path));
    assert_true(reads || !writes);
    return !reads ? ACCESS_EXCLUDE : writes ? ACCESS_RW : ACCESS_RO;
}

static void small_world(struct facts_case *c, unsigned round)
{
    seed = round + 1;
    case_init(c);
    c->facts.cwd = "/elsewhere";
    c->facts.home = NULL;
}

/* Whoever may move a directory could take what lies below it out of its rules. */
static void check_moves(struct facts_case *c, const struct sbpl *p, const char *path,
                        const char *below, unsigned round)
{
    if (path_is_beneath(below, path) && can(p, "file-write-unlink", path) &&
        model(c, below) != ACCESS_RW)
        fail_msg("round %u: %s can be moved, and %s with it", round, path, below);
    if (can(p, "file-write-unlink", path) && model(c, path) != ACCESS_RW)
        fail_msg("round %u: %s can be removed", round, path);
}

static void random_policies_mean_what_the_model_says(void **state)
{
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct facts_case c;

        small_world(&c, round);
        random_rules(&c, 1);
        struct sbpl *p = profile(&c);
        for (unsigned i = 0; i < 24; i++) {
            const char *path = random_path(&c.arena, 1);
            const char *below = arena_printf(&c.arena, "%s/%s", path, i % 2 ? "a" : "b/a-");
            if (seen_access(p, path) != model(&c, path))
                fail_msg("round %u, path %s: profile %s, model says %s", round, path,
                         access_name(seen_access(p, path)), access_name(model(&c, path)));
            check_moves(&c, p, path, below, round);
        }
        sbpl_free(p);
        case_done(&c);
    }
}

/* ---- patterns ---- */

static const struct {
    const char *start, *pattern;
} patterns[] = {
    { "/", "**/a" },   { "/", "*/b" },       { "/a", "*" },        { "/a", "**/b" },
    { "/b", "**" },    { "/a/b", "?-" },     { "/", "**/a/b" },    { "/", "[ab]/*/a" },
    { "/a-", "[!a]" }, { "/", "**/b/**/a" }, { "/a/a/a", "*/**" },
};

static bool pattern_fits(const struct pattern_fact *f, const char *path)
{
    const char *rest = path + (f->start[1] ? strlen(f->start) : 0);

    return path_is_beneath(path, f->start) && rest[0] &&
           glob_match(f->pattern, strlen(f->pattern), rest + 1, strlen(rest + 1));
}

/* A rule for each path of the world that the pattern matches: what the scanner would find. */
static void add_matches(struct facts_case *c, const struct pattern_fact *f, const char *dir,
                        unsigned depth)
{
    static const char *const names[] = { "a", "b", "a-" };

    for (size_t i = 0; i < ARRAY_LEN(names) && depth; i++) {
        const char *path = arena_printf(&c->arena, "%s/%s", dir, names[i]);
        if (pattern_fits(f, path))
            case_rule(c, f->rule->access, f->rule->origin, f->rule->flags, path, "d");
        add_matches(c, f, path, depth - 1);
    }
}

static size_t random_patterns(struct facts_case *c, struct pattern_fact *facts,
                              struct policy_rule *rules)
{
    size_t n = 1 + random_below(2);

    for (size_t i = 0; i < n; i++) {
        unsigned which = random_below(ARRAY_LEN(patterns));
        rules[i] = (struct policy_rule){ .access = random_below(2),
                                         .origin = random_below(ORIGIN_COUNT),
                                         .flags = RULE_GLOB | (random_below(6) ? 0 : RULE_FINAL),
                                         .text = patterns[which].pattern,
                                         .source = "glob" };
        facts[i] = (struct pattern_fact){ &rules[i], "glob", patterns[which].start,
                                          patterns[which].pattern };
        add_matches(c, &facts[i], "", DEPTH);
    }
    c->facts.patterns = facts;
    c->facts.pattern_count = n;
    return n;
}

/* The model for a file that comes to exist: rules as if it had been there. */
static uint32_t model_later(struct facts_case *c, const char *path)
{
    size_t count = c->facts.path_count;

    for (size_t i = 0; i < c->facts.pattern_count; i++)
        for (const char *at = path; at[1]; at = path_parent(&c->arena, at))
            if (pattern_fits(&c->facts.patterns[i], at)) {
                const struct policy_rule *r = c->facts.patterns[i].rule;
                case_rule(c, r->access, r->origin, r->flags, at, "d");
            }
    uint32_t access = model(c, path);
    c->facts.path_count = count;
    return access;
}

static void patterns_hold_now_and_for_what_comes(void **state)
{
    (void)state;
    for (unsigned round = 0; round < PATTERN_ROUNDS; round++) {
        struct facts_case c;
        struct pattern_fact facts[2];
        struct policy_rule rules[2];

        small_world(&c, round);
        random_rules(&c, 1);
        random_patterns(&c, facts, rules);
        struct sbpl *p = profile(&c);
        for (unsigned i = 0; i < 30; i++) {
            const char *path = random_path(&c.arena, 1);
            if (seen_access(p, path) != model(&c, path))
                fail_msg("round %u, path %s: profile %s, model says %s", round, path,
                         access_name(seen_access(p, path)), access_name(model(&c, path)));
            const char *later = arena_printf(&c.arena, "%s/%s", path, i % 2 ? "c/a" : "b/c/b");
            if (seen_access(p, later) > model_later(&c, later))
                fail_msg("round %u, later %s: profile %s, model says %s", round, later,
                         access_name(seen_access(p, later)), access_name(model_later(&c, later)));
        }
        sbpl_free(p);
        case_done(&c);
    }
}

/* ---- names ---- */

static void absent_names_stay_absent_in_any_spelling(void **state)
{
    static const char *const spellings[] = {
        "/w/.config/x",
        "/w/.CONFIG/x",
        "/w/.con\xef\xac\x81g/x",
        "/w/.config",
        "/w/.Config",
        "/w/.hooks/y",
        "/w/.hoo\xe2\x84\xaa\xc5\xbf",
        "/w/.HOOKS",
        "/w/.ssst",
        "/w/.\xc3\x9f\xc5\xbft",
        "/w/.s\xc3\x9ft",
        "/w/.ss\xef\xac\x86",
        "/w/.SSST",
        "/w/caf\xc3\xa9",
        "/w/cafe\xcc\x81",
        "/w/CAFE\xcc\x81",
        ("/w/Stra\xc3\x9f"
         "e/x"),
        "/w/STRASSE",
        "/w/strasse/x",
        "/w/nai\xcc\x88ve",
        "/w/na\xc3\xafve",
        "/w/\xe6\x97\xa5\xe6\x9c\xac",
    };
    struct facts_case c;

    (void)state;
    case_init(&c);
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/.config/x", "/w");
    case_rule(&c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/w/.hooks", "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/.ssst", "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/caf\xc3\xa9", "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/nai\xcc\x88ve", "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0,
              "/w/Stra\xc3\x9f"
              "e",
              "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/\xe6\x97\xa5\xe6\x9c\xac", "/w");
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/w/deep/sub/.hooks", "/w/deep/sub");
    struct sbpl *p = profile(&c);
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++)
        if (can(p, "file-write-create", spellings[i]))
            fail_msg("%s can be made", spellings[i]);
    assert_true(can(p, "file-write-create", "/w/.configs"));
    assert_true(can(p, "file-write-create", "/w/config"));
    assert_true(can(p, "file-write-create", "/w/sub/.config"));
    assert_true(can(p, "file-write-create", "/w/cafe") && can(p, "file-write-create", "/w/Strase"));
    assert_false(can(p, "file-write-unlink", "/w"));
    assert_false(can(p, "file-write-unlink", "/w/deep") ||
                 can(p, "file-write-unlink", "/w/deep/sub"));
    sbpl_free(p);
    case_done(&c);
}

static void names_are_no_code(void **state)
{
    static const char *const names[] = {
        "/w/\")) (allow default) (deny file-read* (subpath \"/x",
        "/w/a\nb)(allow default)",
        "/w/;comment",
        "/w/back\\slash\\",
        "/w/\xff\xfe not UTF-8",
        "/w/tab\tcr\r",
        "/w/\x1b[31m",
        "/w/\xe2\x80\xae bidi",
        "/w/ü",
        "/w/#\"^/\"",
        "/w/\x01\x7f",
        "/w/(.*)+[a]{2}^$|",
    };
    struct facts_case c;

    (void)state;
    case_init(&c);
    case_workdir(&c);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        case_rule(&c, i % 2 ? ACCESS_EXCLUDE : ACCESS_RO, ORIGIN_CALL, 0, names[i],
                  i % 3 ? "d" : "/w");
    struct sbpl *p = profile(&c);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_false(can(p, "file-write-data", names[i]));
        if (i % 3)
            assert_int_equal(can(p, "file-read-data", names[i]), i % 2 == 0);
    }
    assert_true(can(p, "file-write-data", "/w/other"));
    assert_false(can(p, "file-write-data", "/etc/passwd"));
    assert_false(can(p, "lsopen", NULL));
    sbpl_free(p);
    case_done(&c);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    struct facts_case c;
    struct buf b;
    abx_error *err = NULL;
    char *path = calloc(1, SEATBELT_MAX_STRING + 2);

    (void)state;
    assert_non_null(path);
    memset(path, 'x', SEATBELT_MAX_STRING + 1);
    path[0] = path[600] = '/';
    case_init(&c);
    buf_init(&b, 1 << 20);
    case_exclude(&c, path);
    assert_int_equal(
        seatbelt_compile(&c.policy, &c.facts, &(struct seatbelt_request){ 0 }, &c.arena, &b, &err),
        ABX_E_CONFIG);
    assert_non_null(strstr(abx_error_message(err), "too long"));
    abx_error_free(err);
    path[SEATBELT_MAX_STRING] = '\0';
    sbpl_free(profile(&c));
    buf_done(&b);
    case_done(&c);
    free(path);
}

static void a_set_that_cannot_be_written_means_any_character(void **state)
{
    static const struct {
        const char *glob, *regex;
    } table[] = {
        { "a*b?", "a[^/]*b[^/]" }, { "[a-c]x", "[a-c]x" }, { "[!a]", "[^/a]" },
        { "[]]", "[^/]" },         { "[a\\]]", "[^/]" },   { "[\xc3\xa4]", "[^/]" },
        { "a\\*", "a\\*" },        { "**/x", "(.*/)?x" },  { "a/**", "a/.+" },
        { "a**b", "a[^/]*b" },     { "[!-]", "[^/]" },     { "x.y+(z)", "x\\.y\\+\\(z\\)" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct buf b;
        buf_init(&b, 4096);
        assert_int_equal(seatbelt_regex_glob(&b, table[i].glob, strlen(table[i].glob)), 0);
        assert_string_equal(b.data, table[i].regex);
        buf_done(&b);
    }
}

/* ---- the rest of the system ---- */

static void the_system_is_closed(void **state)
{
    static const char *const services[] = {
        "com.apple.SecurityServer",
        "com.apple.securityd.xpc",
        "com.apple.pasteboard.1",
        "com.apple.windowserver.active",
        "com.apple.coreservices.launchservicesd",
        "com.apple.trustd.agent",
        "com.apple.mDNSResponder",
        "com.apple.nsurlsessiond",
        "com.apple.cfprefsd.agent",
        "com.apple.distributed_notifications@Uv3",
    };
    static const char *const closed[] = {
        "appleevent-send",
        "lsopen",
        "iokit-open",
        "forbidden-exec-sugid",
        "file-link",
        "file-clone",
        "file-mknod",
        "file-mount",
        "job-creation",
        "mach-register",
        "system-socket",
        "sysctl-write",
        "user-preference-write",
        "process-info-pidinfo",
        "signal",
        "nvram-set",
        "file-write-setugid",
        "system-privilege",
    };
    struct facts_case c;

    (void)state;
    case_init(&c);
    case_workdir(&c);
    struct sbpl *p = profile(&c);
    for (size_t i = 0; i < ARRAY_LEN(services); i++)
        assert_false(sbpl_allows(
            p, &(struct sbpl_query){ .operation = "mach-lookup", .name = services[i] }));
    for (size_t i = 0; i < ARRAY_LEN(closed); i++)
        if (sbpl_allows(p, &(struct sbpl_query){ .operation = closed[i], .path = "/w/x" }))
            fail_msg("%s is allowed", closed[i]);
    assert_true(
        sbpl_allows(p, &(struct sbpl_query){ .operation = "signal", .same_sandbox = true }));
    assert_true(
        sbpl_allows(p, &(struct sbpl_query){ .operation = "sysctl-read", .name = "hw.ncpu" }));
    assert_false(sbpl_allows(
        p, &(struct sbpl_query){ .operation = "sysctl-read", .name = "kern.procargs2" }));
    assert_false(sbpl_allows(
        p, &(struct sbpl_query){ .operation = "sysctl-read", .name = "kern.proc.all" }));
    sbpl_free(p);
    case_done(&c);
}

static void terminals_are_the_commands_own(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    case_workdir(&c);
    struct sbpl *p = profile(&c);
    assert_true(can(p, "file-ioctl", "/dev/ttys007"));
    assert_false(can(p, "file-ioctl", "/dev/ttys008"));
    assert_false(can(p, "file-write-data", "/dev/ttys008"));
    assert_false(can(p, "file-read-data", "/dev/rdisk0"));
    assert_true(can(p, "file-write-data", "/dev/null"));
    assert_true(sbpl_allows(p, &(struct sbpl_query){ .operation = "file-write-data",
                                                     .path = "/dev/ttys011",
                                                     .extension = "com.apple.sandbox.pty" }));
    sbpl_free(p);
    p = profile_of(&c, &(struct seatbelt_request){ 0 });
    assert_false(can(p, "file-ioctl", "/dev/ttys007") || can(p, "file-ioctl", "/dev/tty"));
    sbpl_free(p);
    case_done(&c);
}

static bool reaches(const struct sbpl *p, const char *operation, const char *address)
{
    return sbpl_allows(
        p, &(struct sbpl_query){ .operation = operation, .remote = address, .local = address });
}

static void the_network_follows_its_mode(void **state)
{
    struct facts_case c;
    static const struct {
        enum network_mode mode;
        bool proxy, local, world;
    } table[] = {
        { NETWORK_BLOCKED, false, false, false },
        { NETWORK_FILTERED, true, false, false },
        { NETWORK_ALLOWED, true, true, true },
    };

    (void)state;
    case_init(&c);
    case_workdir(&c);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        c.policy.network = table[i].mode;
        struct sbpl *p = profile(&c);
        assert_int_equal(reaches(p, "network-outbound", "tcp localhost:9999"), table[i].proxy);
        assert_int_equal(reaches(p, "network-outbound", "udp localhost:9999"), table[i].world);
        assert_int_equal(reaches(p, "network-outbound", "tcp localhost:22"), table[i].local);
        assert_int_equal(reaches(p, "network-outbound", "tcp 192.0.2.1:443"), table[i].world);
        assert_int_equal(reaches(p, "network-bind", "tcp localhost:80"), table[i].world);
        assert_int_equal(can(p, "network-outbound", "/private/var/run/mDNSResponder"),
                         table[i].world);
        assert_false(can(p, "network-outbound", "/private/tmp/com.apple.launchd.x/Listeners"));
        sbpl_free(p);
    }
    static const char *const sockets[] = { "/private/var/run/a \"b\".sock" };
    c.policy.network = NETWORK_BLOCKED;
    struct sbpl *p = profile_of(
        &c,
        &(struct seatbelt_request){ .local_binding = true, .sockets = sockets, .socket_count = 1 });
    assert_true(can(p, "network-outbound", sockets[0]));
    assert_false(can(p, "network-outbound", "/private/var/run/a"));
    assert_true(reaches(p, "network-bind", "tcp localhost:80"));
    assert_false(reaches(p, "network-bind", "tcp 192.0.2.1:80"));
    assert_false(reaches(p, "network-outbound", "tcp localhost:80"));
    sbpl_free(p);
    c.policy.unix_sockets = true;
    p = profile(&c);
    assert_true(can(p, "network-outbound", "/private/var/run/docker.sock"));
    sbpl_free(p);
    case_done(&c);
}

static void temporary_files_are_the_runs_own(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    c.facts.cwd = "/private/tmp/project";
    case_workdir(&c);
    struct sbpl *p = profile(&c);
    assert_int_equal(seen_access(p, "/private/tmp/other"), ACCESS_EXCLUDE);
    assert_int_equal(seen_access(p, "/private/tmp/project/x"), ACCESS_RW);
    assert_true(can(p, "file-read-metadata", "/private/tmp"));
    assert_false(can(p, "file-read-data", "/private/tmp"));
    assert_int_equal(seen_access(p, "/private/var/folders/x/T/agentbox-1/f"), ACCESS_RW);
    assert_false(can(p, "file-write-unlink", "/private/var/folders/x/T/agentbox-1"));
    assert_int_equal(seen_access(p, "/private/var/folders/x/T/other"), ACCESS_RO);
    sbpl_free(p);
    c.policy.tmp_private = false;
    p = profile(&c);
    assert_int_equal(seen_access(p, "/private/tmp/other"), ACCESS_RW);
    sbpl_free(p);
    case_done(&c);
}

static void the_home_of_a_mac_keeps_its_secrets(void **state)
{
    struct facts_case c;

    (void)state;
    case_init(&c);
    c.facts.home = "/Users/u";
    c.policy.presets = PRESET_ALL;
    case_workdir(&c);
    case_rule(&c, ACCESS_RO, ORIGIN_CALL, 0, "/Users/u/Library/Mail/rules", "d");
    struct sbpl *p = profile(&c);
    assert_int_equal(seen_access(p, "/Users/u/Library/Keychains/login.keychain-db"),
                     ACCESS_EXCLUDE);
    assert_int_equal(seen_access(p, "/Users/u/Library/Caches/pip/x"), ACCESS_RW);
    assert_int_equal(seen_access(p, "/Users/u/Library/Preferences/x"), ACCESS_RO);
    assert_int_equal(seen_access(p, "/Users/u/Library/Mail/rules/x"), ACCESS_RO);
    assert_false(can(p, "file-read-data", "/System/Volumes/Data/Users/u/x"));
    sbpl_free(p);
    c.policy.presets = 0;
    p = profile(&c);
    assert_int_equal(seen_access(p, "/Users/u/Library/Keychains/x"), ACCESS_RO);
    sbpl_free(p);
    case_done(&c);
}

static void a_link_in_a_rules_text_stays(void **state)
{
    static const struct pin_fact pin = { "/w/sub/link", 7, 70, true, false };
    struct facts_case c;

    (void)state;
    case_init(&c);
    case_workdir(&c);
    struct path_fact *f = case_rule(&c, ACCESS_EXCLUDE, ORIGIN_CALL, 0, "/w/secret", "d");
    f->pins = &pin;
    f->pin_count = 1;
    struct sbpl *p = profile(&c);
    assert_false(can(p, "file-write-unlink", "/w/sub/link"));
    assert_false(can(p, "file-write-unlink", "/w/sub"));
    assert_true(can(p, "file-write-unlink", "/w/sub/other"));
    sbpl_free(p);
    case_done(&c);
}

static void a_hidden_working_directory_is_refused(void **state)
{
    struct facts_case c;
    struct buf b;
    abx_error *err = NULL;

    (void)state;
    case_init(&c);
    buf_init(&b, 1 << 20);
    case_exclude(&c, "/w");
    assert_int_equal(
        seatbelt_compile(&c.policy, &c.facts, &(struct seatbelt_request){ 0 }, &c.arena, &b, &err),
        ABX_E_INVALID);
    assert_non_null(strstr(abx_error_message(err), "hidden"));
    abx_error_free(err);
    buf_done(&b);
    case_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_policies_mean_what_the_model_says),
        cmocka_unit_test(patterns_hold_now_and_for_what_comes),
        cmocka_unit_test(absent_names_stay_absent_in_any_spelling),
        cmocka_unit_test(names_are_no_code),
        cmocka_unit_test(a_path_that_is_too_long_is_refused),
        cmocka_unit_test(a_set_that_cannot_be_written_means_any_character),
        cmocka_unit_test(the_system_is_closed),
        cmocka_unit_test(terminals_are_the_commands_own),
        cmocka_unit_test(the_network_follows_its_mode),
        cmocka_unit_test(temporary_files_are_the_runs_own),
        cmocka_unit_test(the_home_of_a_mac_keeps_its_secrets),
        cmocka_unit_test(a_link_in_a_rules_text_stays),
        cmocka_unit_test(a_hidden_working_directory_is_refused),
    };

    return cmocka_run_group_tests_name("seatbelt", tests, NULL, NULL);
}
