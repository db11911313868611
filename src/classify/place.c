/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical path text and the system's places.
 *
 * "/./", "//", "a/..", "~", "~root" and /proc/self/root in front are spelling; they are resolved
 * before anybody compares. A component that holds a hole is never cancelled by "..": it may stand
 * for several. Danger is judged for what a recursive delete or change would take with it, so
 * patterns in the last component count as all they could match.
 */
#include "classify/place.h"

#include <string.h>

#include "base/glob.h"
#include "base/path.h"
#include "base/str.h"
#include "classify/rules.h"

#define TOPS                                                                                       \
    "bin boot dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys usr "   \
    "var System Library Applications Users Volumes private cores"
#define SECONDS                                                                                    \
    "/usr/bin /usr/sbin /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/share /usr/include "      \
    "/usr/local /usr/src /var/lib /var/log /private/etc /private/var /private/tmp"

/* ---- canonical text ---- */

struct trail {
    char *text;
    size_t len;
    bool absolute;
};

static bool last_can_go(const struct trail *t, size_t *ret_len)
{
    size_t start = t->len;

    while (start > 0 && t->text[start - 1] != '/')
        start--;
    if (start == t->len || memchr(t->text + start, WORD_HOLE, t->len - start) ||
        (t->len - start == 2 && memcmp(t->text + start, "..", 2) == 0))
        return false;
    *ret_len = start > 1 ? start - 1 : start;
    return true;
}

static void trail_add(struct trail *t, const char *text)
{
    for (const char *at = text; *at;) {
        size_t n = strcspn(at, "/");

        if (n == 2 && memcmp(at, "..", 2) == 0) {
            bool empty = t->absolute && t->len <= 1;

            if (!empty && !last_can_go(t, &t->len)) {
                if (t->len > 0 && t->text[t->len - 1] != '/')
                    t->text[t->len++] = '/';
                memcpy(t->text + t->len, "..", 2);
                t->len += 2;
            }
        } else if (n > 0 && !(n == 1 && *at == '.')) {
            if (t->len > 0 && t->text[t->len - 1] != '/')
                t->text[t->len++] = '/';
            memcpy(t->text + t->len, at, n);
            t->len += n;
        }
        at += n;
        at += strspn(at, "/");
    }
}

/* What stands for the tilde at the start of text, and where the rest begins. */
static const char *tilde(const struct subject *s, const char *text, const char **ret_rest)
{
    size_t n = strcspn(text, "/");
    const char *home = ruleset_home(s->rules);

    *ret_rest = text + n;
    if (n == 1)
        return home;
    if (n == 2 && text[1] == '+')
        return "";
    if (n == 2 && text[1] == '-') /* the directory before this one: anything */
        return "\x01";
    if (n == 5 && memcmp(text, "~root", 5) == 0)
        return "/root";
    char *other = arena_printf(s->arena, "/home/%.*s", (int)MIN_OF(n - 1, 255U), text + 1);
    return other ? other : home;
}

/* ${HOME} that no shell expanded: somebody will. */
static bool is_home_variable(const char *text, const char **ret_rest)
{
    static const char *const spellings[] = { "$HOME", "${HOME}" };

    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        size_t n = strlen(spellings[i]);

        if (strncmp(text, spellings[i], n) == 0 && (text[n] == '/' || text[n] == '\0')) {
            *ret_rest = text + n;
            return true;
        }
    }
    return false;
}

static const char *without_proc_root(const char *place)
{
    while (str_has_prefix(place, "/proc/")) {
        const char *at = place + strlen("/proc/");

        at += strcspn(at, "/");
        if (!str_has_prefix(at, "/root") || (at[5] != '/' && at[5] != '\0'))
            break;
        place = at[5] ? at + 5 : "/";
    }
    return place;
}

const char *place_of(const struct subject *s, const struct word *w, const char *text)
{
    const struct call *call = s->call;
    const char *rest = text, *front = "", *cwd = call->cwd ? call->cwd : "";

    if (text[0] == '~' && (w->flags & WORD_TILDE || s->from_argv || text != w->text))
        front = tilde(s, text, &rest);
    else if ((s->from_argv || text != w->text) && is_home_variable(text, &rest))
        front = ruleset_home(s->rules);
    bool absolute = front[0] == '/' || (rest == text && text[0] == '/');
    bool unknown = !absolute && call->flags & CALL_CWD_UNKNOWN;
    const char *start = absolute || unknown || cwd[0] == '/' ? "" : s->start;

    if (absolute || unknown)
        cwd = unknown ? "\x01" : "";
    else if (cwd[0] == '~') /* cd ~/x */
        start = tilde(s, cwd, &cwd);
    if (text[0] == WORD_HOLE || front[0] == WORD_HOLE) /* it may be absolute */
        start = cwd = "";
    size_t size = strlen(start) + strlen(cwd) + strlen(front) + strlen(rest) + 8;
    struct trail t = { .text = arena_alloc(s->arena, size, 1),
                       .absolute = absolute || start[0] == '/' || cwd[0] == '/' };

    if (!t.text) {
        *s->no_memory = true;
        return "\x01";
    }
    if (t.absolute)
        t.text[t.len++] = '/';
    trail_add(&t, start);
    trail_add(&t, cwd);
    trail_add(&t, front);
    trail_add(&t, rest);
    if (t.len == 0)
        t.text[t.len++] = '.';
    t.text[t.len] = '\0';
    return without_proc_root(t.text);
}

/* ---- danger ---- */

static bool is_glob(const char *text, size_t len)
{
    return glob_is_pattern(text, len);
}

/* "*", ".*", "??*": whatever is there. */
static bool matches_everything(const char *name)
{
    return strchr(name, '*') && strspn(name, "*?.{}!()@+") == strlen(name);
}

static bool glob_hits_list(const char *pattern, size_t len, const char *list)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, " ");

        if (glob_match(pattern, len, at, n))
            return true;
        at += n;
        at += strspn(at, " ");
    }
    return false;
}

static bool is_danger_top(const char *name, size_t len)
{
    if (strcspn(name, "/") == len && matches_everything(name))
        return true;
    if (len == 1) /* a drive under MSYS; elsewhere nobody has such a directory */
        return true;
    return is_glob(name, len) ? glob_hits_list(name, len, TOPS) : list_has_n(TOPS, name, len);
}

static bool is_danger_exact(const struct subject *s, const char *place)
{
    const char *home = ruleset_home(s->rules);

    if (place[0] == '\0' || strcmp(place, "/") == 0 || strcmp(place, home) == 0)
        return true;
    const char *last = strrchr(place, '/');

    if (place[0] != '/' || strchr(last, WORD_HOLE))
        return false;
    const char *first = place + 1, *rest = strchr(first, '/');

    if (!rest)
        return is_danger_top(first, strlen(first)) || path_is_beneath(home, place);
    if (strchr(rest + 1, '/'))
        return path_is_beneath(home, place);
    size_t n = (size_t)(rest - first);

    if (list_has_n("home Users", first, n) || path_is_beneath(home, place))
        return true;
    return list_has(SECONDS, place) || (list_has_n("mnt", first, n) && strlen(rest + 1) == 1);
}

bool place_is_danger(const struct subject *s, const char *place)
{
    const char *slash = strrchr(place, '/');

    if (is_danger_exact(s, place))
        return true;
    if (!slash || slash == place)
        return false; /* "/" and a pattern was looked at above; "*" is the directory's own */
    if (!matches_everything(slash + 1))
        return false;
    char *above = arena_strndup(s->arena, place, (size_t)(slash - place));

    if (!above)
        *s->no_memory = true;
    return above && place_is_danger(s, above);
}

static char *without_holes(const struct subject *s, const char *place)
{
    size_t len = strlen(place), n = 0;
    char *text = arena_alloc(s->arena, len + 2, 1);

    if (!text)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        if (place[i] == WORD_HOLE || (place[i] == '/' && n > 0 && text[n - 1] == '/'))
            continue;
        text[n++] = place[i];
    }
    while (n > 1 && text[n - 1] == '/')
        n--;
    text[n] = '\0';
    return text;
}

bool place_may_be_danger(const struct subject *s, const char *place)
{
    if (!strchr(place, WORD_HOLE))
        return false;
    if (place[0] == WORD_HOLE) {
        const char *rest = place + strspn(place, "\x01/");

        /* Something below an unknown directory is named: an accident hits that name at most. */
        if (strspn(rest, "./*") == strlen(rest) || matches_everything(rest) || !strchr(place, '/'))
            return true;
    }
    char *empty = without_holes(s, place);

    return !empty || place_is_danger(s, empty);
}

/* ---- the system's places ---- */

static bool below(const char *place, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(place, dir, n) == 0 && (place[n] == '/' || place[n] == '\0');
}

static bool below_any(const char *place, const char *const *dirs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (below(place, dirs[i]))
            return true;
    }
    return false;
}

bool place_is_socket(const char *place)
{
    return below(place, "/dev/tcp") || below(place, "/dev/udp");
}

bool place_is_disk(const char *place)
{
    static const char *const disks[] = { "sd",    "nvme",    "hd",     "vd",     "xvd",
                                         "loop",  "dm-",     "mmcblk", "md",     "disk",
                                         "rdisk", "mapper/", "nbd",    "sr",     "mtd",
                                         "zd",    "ram",     "block/", "bcache", "pmem" };

    if (!str_has_prefix(place, "/dev/"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(disks); i++) {
        if (str_has_prefix(place + 5, disks[i]))
            return true;
    }
    return false;
}

static bool is_harmless_device(const char *place)
{
    static const char *const dirs[] = { "/dev/fd",  "/dev/pts", "/dev/shm",
                                        "/dev/tcp", "/dev/udp", "/proc/self/fd" };

    return list_has("/dev/null /dev/zero /dev/full /dev/stdout /dev/stderr /dev/stdin /dev/tty "
                    "/dev/random /dev/urandom /dev/ptmx",
                    place) ||
           below_any(place, dirs, ARRAY_LEN(dirs));
}

enum place_kind place_kind(const char *place)
{
    static const char *const keys[] = {
        "/etc/passwd",    "/etc/shadow",         "/etc/group", "/etc/gshadow", "/etc/sudoers",
        "/etc/sudoers.d", "/etc/ld.so.preload",  "/etc/pam.d", "/etc/crontab", "/etc/ssh",
        "/boot",          "/var/spool/cron",     "/dev/mem",   "/dev/kmem",    "/dev/port",
        "/proc/sys",      "/proc/sysrq-trigger", "/sys"
    };
    static const char *const states[] = { "/etc", "/dev", "/proc", "/private/etc" };
    static const char *const hosts[] = { "/usr",   "/bin",    "/sbin",   "/lib",     "/lib32",
                                         "/lib64", "/libx32", "/System", "/Library", "/var/lib" };

    if (place[0] != '/' || is_harmless_device(place))
        return PLACE_ORDINARY;
    if (place[1] == '\0')
        return PLACE_SYSTEM;
    if (below_any(place, keys, ARRAY_LEN(keys)) || str_has_prefix(place, "/etc/cron") ||
        place_is_disk(place))
        return PLACE_SYSTEM_KEY;
    if (below_any(place, states, ARRAY_LEN(states)))
        return PLACE_SYSTEM_STATE;
    if (below_any(place, hosts, ARRAY_LEN(hosts)) && !str_has_prefix(place, "/usr/local/"))
        return PLACE_SYSTEM;
    return PLACE_ORDINARY;
}
