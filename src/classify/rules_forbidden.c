/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers: what is never right. Deletes, disks, the kernel, the system's files. Each looks at one
 * command whose name the table has already matched, and at words, never at raw text; ifs-bypass is
 * the exception, because by the time there are words the trick has done its work.
 */
#include <string.h>

#include "base/str.h"
#include "classify/place.h"
#include "classify/rules.h"
#include "classify/writes.h"

MATCH(fork_bomb)
{
    return s->call->flags & CALL_FORK_BOMB;
}

/* ---- deletes ---- */

static bool is_recursive(const struct subject *s)
{
    return args_have_short(s, "rR") || args_have_long(s, "recursive");
}

static bool is_drive(const char *text)
{
    return ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z')) &&
           text[1] == ':' && (!text[2] || list_has("\\ / \\* /*", text + 2));
}

static bool writes_danger(const struct subject *s, bool all)
{
    struct writes w;
    struct write one;

    writes_init(&w, s);
    while (writes_next(&w, &one)) {
        if (one.how == WRITE_REDIRECT || (!all && one.how != WRITE_DELETE))
            continue;
        const char *place = place_of(s, one.word, one.text);

        if (place_is_danger(s, place) || is_drive(one.text))
            return true;
    }
    return false;
}

MATCH(delete_root)
{
    if (strcmp(s->name, "mv") == 0)
        return writes_danger(s, false);
    return (is_recursive(s) || list_has("trash trash-put", s->name)) && writes_danger(s, true);
}

MATCH(perm_root)
{
    return (args_have_short(s, "R") || args_have_long(s, "recursive")) && writes_danger(s, true);
}

MATCH(find_delete)
{
    if (list_has("rm unlink", s->name))
        return s->find;
    return args_have(s, "-delete") &&
           (strcmp(s->name, "find") == 0 || strcmp(s->name, "gfind") == 0);
}

MATCH(xargs_delete)
{
    return s->xargs;
}

/* ---- disks and the machine ---- */

MATCH(disk_wipe)
{
    struct writes w;
    struct write one;

    if (strcmp(s->name, "dd") != 0)
        return !args_want_info(s) && s->count > 0 &&
               (strcmp(s->name, "wipefs") != 0 || args_have_short(s, "a") ||
                args_have_long(s, "all"));
    writes_init(&w, s);
    while (writes_next(&w, &one)) {
        const char *place = one.how == WRITE_STREAM ? place_of(s, one.word, one.text) : "";

        if (place_is_disk(place))
            return true;
    }
    return false;
}

MATCH(format)
{
    if (args_want_info(s))
        return false;
    return !(list_has("fdisk parted", s->name) && args_have(s, "-l --list -lu"));
}

MATCH(partition)
{
    return !args_want_info(s) && !args_have(s, "-l --list --dump -d --verify -V");
}

MATCH(kernel_module)
{
    if (args_want_info(s))
        return false;
    if (strcmp(s->name, "kmod") == 0)
        return arg_is(s, 0, "insert remove");
    if (strcmp(s->name, "modprobe") != 0)
        return true;
    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (str_has_prefix(text, "--show-") || str_has_prefix(text, "--dump-") ||
            list_has("--dry-run -n -D -c --showconfig", text))
            return false;
    }
    return true;
}

MATCH(shutdown)
{
    if (list_has("init telinit", s->name))
        return arg_is(s, 0, "0 6");
    if (strcmp(s->name, "systemctl") == 0)
        return list_has("poweroff reboot halt kexec soft-reboot",
                        verb_of(s, 0, "tpHMnso", "type property host machine"));
    if (args_have(s, "--help --version"))
        return false;
    return !(strcmp(s->name, "shutdown") == 0 && args_have(s, "/a -c"));
}

MATCH(history_exec)
{
    return args_have_short(s, "se");
}

/* ---- the system's files ---- */

static bool writes_kind(const struct subject *s, bool streams, enum place_kind from,
                        enum place_kind to)
{
    struct writes w;
    struct write one;

    writes_init(&w, s);
    while (writes_next(&w, &one)) {
        bool stream = one.how == WRITE_REDIRECT || one.how == WRITE_STREAM;

        if (stream != streams)
            continue;
        const char *place = place_of(s, one.word, one.text);
        enum place_kind kind = place_kind(place);

        if (one.how == WRITE_DELETE && strcmp(place, "/") == 0)
            continue; /* without -r nothing happens; with it other rules know */

        if (kind >= from && kind <= to)
            return true;
    }
    return false;
}

MATCH(redirect_system)
{
    return writes_kind(s, true, PLACE_SYSTEM_STATE, PLACE_SYSTEM_KEY);
}

MATCH(system_file)
{
    return writes_kind(s, false, PLACE_SYSTEM_KEY, PLACE_SYSTEM_KEY);
}

MATCH(system_path)
{
    return writes_kind(s, false, PLACE_SYSTEM, PLACE_SYSTEM_STATE) ||
           writes_kind(s, true, PLACE_SYSTEM, PLACE_SYSTEM);
}

MATCH(startup_file)
{
    struct writes w;
    struct write one;

    writes_init(&w, s);
    while (writes_next(&w, &one)) {
        const char *place = place_of(s, one.word, one.text);

        if (place_is_startup_file(place))
            return true;
    }
    return false;
}

/* ---- tricks ---- */

static bool is_beside(char c)
{
    return c != ' ' && c != '\t' && c != '\n' && c != '|' && c != ';' && c != '"' && c != '\'' &&
           c != '\0';
}

/* $IFS or ${IFS…} outside single quotes, glued to something. */
MATCH(ifs_bypass)
{
    const char *text = s->call->part;
    size_t len = text && !s->from_argv && !s->derived ? s->call->part_len : 0;
    bool single = false;

    for (size_t i = 0; i + 4 <= len; i++) {
        if (text[i] == '\\') {
            i++;
            continue;
        }
        if (text[i] == '\'')
            single = !single;
        if (single || text[i] != '$')
            continue;
        bool braced = text[i + 1] == '{';
        size_t end = i + 4 + braced;

        if (end > len || memcmp(text + i + 1 + braced, "IFS", 3) != 0)
            continue;
        if (braced) {
            while (end < len && text[end] != '}')
                end++;
            end += end < len;
        }
        if ((i > 0 && is_beside(text[i - 1]) && text[i - 1] != '=') ||
            (end < len && is_beside(text[end])))
            return true;
    }
    return false;
}
