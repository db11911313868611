/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers: commands about which nobody needs to be asked. Allowed and sandboxed run in the same
 * sandbox, so these only decide whether the caller says anything. They are careful all the same:
 * the program must come from PATH or from where the system keeps its own, nothing may be written by
 * a redirect, and a file whose name only the run tells is not "only looked at".
 */
#include <string.h>

#include "base/str.h"
#include "classify/code.h"
#include "classify/place.h"
#include "classify/rules.h"
#include "classify/writes.h"

static bool redirects_to_file(const struct subject *s)
{
    for (size_t i = 0; i < s->call->redirect_count; i++) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->op != REDIRECT_OUT && r->op != REDIRECT_APPEND && r->op != REDIRECT_BOTH &&
            r->op != REDIRECT_BOTH_APPEND && r->op != REDIRECT_INOUT)
            continue;
        if (!list_has("/dev/null /dev/stdout /dev/stderr /dev/tty NUL nul", r->target.text))
            return true;
    }
    return false;
}

static bool is_plain(const struct subject *s)
{
    return is_system_program(s) && !redirects_to_file(s);
}

static bool args_have_hole(const struct subject *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->args[i].flags & WORD_UNKNOWN)
            return true;
    }
    return false;
}

static bool starts_with_any(const char *text, const char *starts)
{
    for (const char *at = starts; *at;) {
        size_t n = strcspn(at, " ");

        if (strncmp(text, at, n) == 0)
            return true;
        at += n;
        at += strspn(at, " ");
    }
    return false;
}

MATCH(safe)
{
    if (!is_plain(s))
        return false;
    if (strcmp(s->name, "find") == 0) {
        for (size_t i = 0; i < s->count; i++) {
            if (starts_with_any(s->args[i].text, "-exec -ok -delete -fprint -fls"))
                return false;
        }
        return true;
    }
    if (strcmp(s->name, "date") == 0)
        return !args_have_short(s, "s") && !args_have_long(s, "set");
    if (strcmp(s->name, "hostname") == 0)
        return verb_of(s, 0, "", "")[0] == '\0' && !args_have_short(s, "Fb");
    if (strcmp(s->name, "sort") == 0)
        return !args_have_short(s, "o") && !args_have_long(s, "output") &&
               !args_have_long(s, "compress-program");
    if (strcmp(s->name, "rg") == 0)
        return !args_have_long(s, "pre");
    return !(list_has("cat head tail", s->name) && args_have_hole(s));
}

/* ---- git ---- */

static bool all_in(const struct word *words, size_t count, const char *flags, const char *values)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = strcspn(words[i].text, "=");

        if (list_has_n(values, words[i].text, n)) {
            if (words[i].text[n] != '=' && i + 1 < count && !word_is_flag(&words[i + 1]))
                i++;
            continue;
        }
        if (!list_has_n(flags, words[i].text, n))
            return false;
    }
    return true;
}

static bool any_in(const struct word *words, size_t count, const char *list)
{
    for (size_t i = 0; i < count; i++) {
        if (list_has_n(list, words[i].text, strcspn(words[i].text, "=")))
            return true;
    }
    return false;
}

/* git grep -nO x: what is found goes to a pager. */
static bool git_grep_opens(const struct word *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = words[i].text;

        if (starts_with_any(text, "--open") ||
            (text[0] == '-' && text[1] != '-' && strchr(text, 'O') &&
             strcspn(text, "O") < strcspn(text, "efABCm")))
            return true;
    }
    return false;
}

MATCH(git_read)
{
    const struct word *rest;
    size_t count;
    const char *verb = git_verb(s, &rest, &count);

    if (!is_plain(s) || any_in(rest, count, "--output --ext-diff --textconv"))
        return false;
    if (list_has("status log diff show rev-parse blame ls-files describe shortlog rev-list "
                 "ls-tree cat-file merge-base name-rev grep whatchanged count-objects help version",
                 verb))
        return !(strcmp(verb, "grep") == 0 && git_grep_opens(rest, count));
    if (strcmp(verb, "tag") == 0)
        return count == 0 ||
               (any_in(rest, count, "-l --list -v --verify") &&
                !any_in(rest, count, "-a -d -s -f --annotate --delete --sign --force"));
    if (strcmp(verb, "branch") == 0)
        return all_in(rest, count,
                      "-a -r -v -vv -l --all --remotes --verbose --list --show-current --column "
                      "--color --no-color --no-column --no-abbrev -av -rv -avv",
                      "--sort --format --contains --no-contains --merged --no-merged --points-at "
                      "--abbrev --color");
    if (strcmp(verb, "remote") == 0)
        return (count == 0 || any_in(rest, count, "-v --verbose get-url show")) &&
               !any_in(rest, count,
                       "add remove rm rename set-url set-head set-branches prune update");
    return strcmp(verb, "stash") == 0 && count > 0 && list_has("list", rest[0].text);
}

/* ---- small ones ---- */

MATCH(version)
{
    return s->call->count == 2 && is_plain(s) && args_have(s, "--version -v -V --help -h") &&
           *s->name && !subject_is(s, TRAIT_SHELL);
}

MATCH(cd_sleep)
{
    return is_plain(s);
}

MATCH(processes)
{
    return is_plain(s);
}

MATCH(assignment)
{
    return s->call->count == 0 && !redirects_to_file(s);
}

MATCH(builtin)
{
    /* A file is loaded, a name bound to a program. */
    if (list_has("enable hash", s->name) && args_have_short(s, "fp"))
        return false;
    return is_plain(s);
}

MATCH(files)
{
    return is_plain(s);
}

MATCH(text)
{
    return is_plain(s) && !writes_in_place(s) &&
           !(list_has("awk gawk mawk sed gsed", s->name) && code_is_elsewhere(s));
}

MATCH(open)
{
    const char *target = verb_of(s, 0, "ab", "");

    if (!is_plain(s))
        return false;
    if (strcmp(s->name, "start") == 0 && !*target)
        return true;
    return starts_with_any(target, "http:// https:// ftp:// ftps:// ms-settings: ms-windows-store: "
                                   "mailto:");
}

MATCH(net_look)
{
    if (strcmp(s->name, "route") == 0 && args_have(s, "add delete del change flush"))
        return false;
    if (strcmp(s->name, "ifconfig") == 0)
        return is_plain(s) && s->count <= 1;
    if (strcmp(s->name, "arp") == 0 && args_have_short(s, "ds"))
        return false;
    return is_plain(s) && !(strcmp(s->name, "ss") == 0 && args_have_short(s, "K"));
}

/* ---- the project's own tools ---- */

MATCH(dev_tool)
{
    if (!is_plain(s))
        return false;
    if (list_has("npx uvx", s->name))
        return !args_have(s, "install -y --yes");
    if (strcmp(s->name, "deno") == 0)
        return !args_have(s, "install upgrade eval");
    if (strcmp(s->name, "bun") == 0)
        return !args_have(s, "install add remove upgrade x");
    return true;
}

static bool make_plain(const struct subject *s)
{
    if (args_have(s, "- --file=- --makefile=-"))
        return false;
    return !args_have(s, "clean distclean install uninstall mrproper deploy publish");
}

static bool mvn_plain(const struct subject *s)
{
    struct flags f;
    enum flag_kind kind;

    flags_init(&f, s->args, s->count, "DPfpls", "file projects settings");
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (kind == FLAG_OPERAND &&
            !list_has("compile test verify package validate clean test-compile", f.word->text) &&
            !starts_with_any(f.word->text, "dependency: help: versions:"))
            return false;
    }
    return true;
}

MATCH(build_tool)
{
    if (!is_system_program(s) && strcmp(s->name, "gradlew") != 0)
        return false;
    if (redirects_to_file(s))
        return false;
    if (list_has("make gmake", s->name))
        return make_plain(s);
    if (strcmp(s->name, "mvn") == 0)
        return mvn_plain(s);
    if (strcmp(s->name, "cargo") == 0)
        return !args_have(s, "install uninstall publish login yank owner add remove");
    if (strcmp(s->name, "dotnet") == 0)
        return s->count == 0 ||
               (arg_is(s, 0,
                       "build run test clean restore publish format watch --info --version") &&
                !args_have(s, "install --install-sdk"));
    if (list_has("gradle gradlew", s->name))
        return !args_have(s, "publish uploadArchives");
    return !list_has("ninja meson cmake", s->name) ||
           !(args_have(s, "install clean uninstall") || args_have_long(s, "install"));
}

MATCH(go_tool)
{
    if (!is_plain(s))
        return false;
    if (strcmp(s->name, "go") != 0)
        return true;
    const char *verb = verb_of(s, 0, "C", "");

    if (strcmp(verb, "env") == 0)
        return !args_have(s, "-w -u");
    return !list_has("install get generate", verb) && !args_have(s, "-exec -toolexec");
}

/* ---- archives ---- */

static bool tar_looks(const struct subject *s)
{
    bool first = true;

    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (starts_with_any(text, "--extract --get --create --append --update --delete "
                                  "--concatenate --catenate --to-command --checkpoint-action "
                                  "--use-compress-program --info-script --new-volume-script"))
            return false;
        if ((text[0] == '-' && text[1] != '-' && strpbrk(text, "xcruAI")) ||
            (first && text[0] != '-' && strpbrk(text, "xcruA")))
            return false;
        first = false;
    }
    return s->count > 0;
}

MATCH(archive)
{
    const char *name = s->name;

    if (!is_plain(s))
        return false;
    if (list_has("tar bsdtar gtar", name))
        return tar_looks(s);
    if (strcmp(name, "unzip") == 0)
        return args_have(s, "-l -p -t -v -Z");
    if (strcmp(name, "zip") == 0)
        return args_have(s, "-l -sf");
    if (strcmp(name, "zipinfo") == 0)
        return true;
    if (list_has("7z 7za", name))
        return arg_is(s, 0, "l t");
    if (list_has("rar unrar", name))
        return arg_is(s, 0, "l lt v vt t lb");
    return args_have(s, "-l --list -t --test -c --stdout -tv -lv");
}
