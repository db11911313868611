/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers with ways of their own: find and its kind, git, ssh, editors, cmd and PowerShell. What
 * they would run is told to the sink; whether that is good is not asked here.
 */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "classify/unwrap.h"

/* ---- for each of many ---- */

UNWRAP(find)
{
    bool found = false;

    (void)w;
    for (size_t i = 0; i < s->count; i++) {
        if (!list_has("-exec -execdir -ok -okdir", s->args[i].text))
            continue;
        size_t start = ++i;

        while (i < s->count && !word_is(&s->args[i], ";") &&
               !(word_is(&s->args[i], "+") && word_is(&s->args[i - 1], "{}")))
            i++;
        if (i > start) {
            inner_words(sink, s, with_holes(s, s->args + start, i - start, "{}"), i - start,
                        INNER_FIND);
            found = true;
        }
    }
    return found;
}

/* What is glued to -x, -X, --exec= or --exec-batch=: "" if nothing; NULL: another word. */
static const char *fd_glued(const char *text)
{
    if (str_has_prefix(text, "--exec")) {
        text += strlen("--exec");
        text += str_has_prefix(text, "-batch") ? strlen("-batch") : 0;
        return *text == '=' ? text + 1 : *text ? NULL : text;
    }
    const char *flag = text[0] == '-' && text[1] != '-' ? strpbrk(text, "xX") : NULL;

    return flag && strcspn(text, "dEetScjo") > (size_t)(flag - text) ? flag + 1 : NULL;
}

UNWRAP(fd)
{
    (void)w;
    for (size_t i = 0; i < s->count; i++) {
        const char *glued = fd_glued(s->args[i].text);
        size_t rest = s->count - i - 1 + (glued && *glued);

        if (!glued || rest == 0)
            continue;
        struct word *words = arena_alloc(s->arena, rest, sizeof(*words));

        if (!words) {
            inner_text(sink, s, "\x01", INNER_FIND);
            return true;
        }
        memcpy(words, s->args + s->count - rest, rest * sizeof(*words));
        if (*glued)
            words[0] = (struct word){ .text = glued, .len = strlen(glued) };
        inner_words(sink, s, with_holes(s, words, rest, "{}"), rest, INNER_FIND);
        return true;
    }
    return false;
}

UNWRAP(xargs)
{
    struct flags f;
    enum flag_kind kind;
    const char *mark = "";

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    f.stop_at_operand = true;
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (kind == FLAG_SHORT && (f.letter == 'I' || f.letter == 'J') && f.value)
            mark = f.value;
        else if ((kind == FLAG_SHORT && f.letter == 'i') ||
                 (kind == FLAG_LONG && flags_is_long(&f, "replace")))
            mark = f.value ? f.value : "{}";
    }
    size_t count = s->count - f.next;

    if (count == 0)
        return false;
    /* One more word stands for what is read, unless it has a place of its own. */
    struct word *words = arena_alloc(s->arena, count + 1, sizeof(*words));

    if (!words) {
        inner_text(sink, s, "\x01", INNER_XARGS);
        return true;
    }
    memcpy(words, with_holes(s, s->args + f.next, count, mark), count * sizeof(*words));
    if (!*mark)
        words[count++] =
            (struct word){ .text = "\x01", .len = 1, .flags = WORD_UNKNOWN | WORD_SPLITS };
    inner_words(sink, s, words, count, INNER_XARGS);
    return true;
}

UNWRAP(parallel)
{
    struct flags f;
    size_t end;

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    f.stop_at_operand = true;
    while (flags_next(&f) != FLAG_END)
        ;
    for (end = f.next; end < s->count && !str_has_prefix(s->args[end].text, ":::"); end++)
        ;
    if (end > f.next) { /* as xargs does, and through a shell */
        size_t count = end - f.next;
        struct word *words = arena_alloc(s->arena, count + 1, sizeof(*words));

        if (words) {
            memcpy(words, with_holes(s, s->args + f.next, count, "{}"), count * sizeof(*words));
            words[count] = (struct word){ .text = "\x01", .len = 1 };
        }
        return inner_joined(sink, s, words, words ? count + 1 : 0, INNER_XARGS);
    }
    for (size_t i = end + 1; i < s->count; i++) /* the arguments are the commands */
        inner_text(sink, s, s->args[i].text, 0);
    if (end >= s->count)
        inner_text(sink, s, "\x01", INNER_XARGS);
    return true;
}

/* ---- other shells ---- */

UNWRAP(cmd)
{
    (void)w;
    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (text[0] != '/' || tolower((unsigned char)text[1]) != 'c')
            continue;
        if (text[2])
            inner_text(sink, s, text + 2, 0);
        return inner_joined(sink, s, s->args + i + 1, s->count - i - 1, 0) || text[2];
    }
    return false;
}

UNWRAP(powershell)
{
    static const char values[] = "-executionpolicy -inputformat -outputformat -file -ep "
                                 "-configurationname -windowstyle -version -psconsolefile";
    char flag[32];

    (void)w;
    for (size_t i = 0; i < s->count; i++) {
        size_t n = MIN_OF(s->args[i].len, sizeof(flag) - 1);

        for (size_t k = 0; k < n; k++)
            flag[k] = (char)tolower((unsigned char)s->args[i].text[k]);
        flag[n] = '\0';
        if (n >= 2 && (str_has_prefix("-command", flag) || strcmp(flag, "-c") == 0))
            return inner_joined(sink, s, s->args + i + 1, s->count - i - 1, 0);
        if (n >= 2 && (str_has_prefix("-encodedcommand", flag) || strcmp(flag, "-enc") == 0)) {
            inner_text(sink, s, "\x01", 0);
            return true;
        }
        if (list_has(values, flag))
            i++;
        else if (flag[0] != '-')
            return inner_joined(sink, s, s->args + i, s->count - i, 0);
    }
    return false;
}

/* ---- git ---- */

/* Settings whose value git runs. */
static bool is_command_setting(const char *name, size_t len)
{
    static const char *const names[] = { "core.pager",
                                         "core.editor",
                                         "core.sshcommand",
                                         "core.fsmonitor",
                                         "core.askpass",
                                         "core.gitproxy",
                                         "sequence.editor",
                                         "diff.external",
                                         "gpg.program",
                                         "credential.helper",
                                         "interactive.difffilter",
                                         "core.alternaterefscommand",
                                         "uploadpack.packobjectshook",
                                         "receive.procreceiverefs",
                                         "sendemail.sendmailcmd" };
    static const char *const ends[] = { ".textconv", ".command", ".clean", ".smudge", ".process",
                                        ".driver",   ".cmd",     ".path",  ".helper", ".program" };
    char lower[128];

    if (len >= sizeof(lower))
        return true;
    for (size_t i = 0; i < len; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    lower[len] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(lower, names[i]) == 0)
            return true;
    }
    if (str_has_prefix(lower, "pager.") || str_has_prefix(lower, "alias."))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ends) && !str_has_prefix(lower, "submodule."); i++) {
        if (str_has_suffix(lower, ends[i]))
            return true;
    }
    return false;
}

static bool git_setting(const struct subject *s, const struct inner_sink *sink, const char *name,
                        size_t len, const char *value)
{
    bool alias = len > 6 && (memcmp(name, "alias.", 6) == 0);

    if (!is_command_setting(name, len))
        return false;
    if (*value == '!')
        inner_text(sink, s, value + 1, 0);
    else if (alias) {
        char *text = arena_printf(s->arena, "git %s", value);

        inner_text(sink, s, text ? text : "\x01", 0);
    } else if (*value && !list_has("true false cat less store cache osxkeychain manager", value))
        inner_text(sink, s, value, 0);
    return *value != '\0';
}

static bool git_globals(const struct subject *s, const struct inner_sink *sink)
{
    bool found = false;

    for (size_t i = 0; i + 1 < s->count; i++) {
        const char *text = s->args[i + 1].text;
        const char *equals = strchr(text, '=');

        if (!word_is_flag(&s->args[i]))
            break;
        if (word_is(&s->args[i], "-c") && equals)
            found |= git_setting(s, sink, text, (size_t)(equals - text), equals + 1);
        i += list_has("-c -C --git-dir --work-tree --namespace --config-env", s->args[i].text);
    }
    return found;
}

/* One of the names, or a long one abbreviated. */
static bool git_flag_is(const char *names, const char *text, size_t len)
{
    for (const char *at = names; *at;) {
        size_t n = strcspn(at, " ");

        if (len <= n && (len == n || (len > 4 && text[1] == '-')) && memcmp(at, text, len) == 0)
            return true;
        at += n;
        at += strspn(at, " ");
    }
    return false;
}

/* The value of --name or -x behind the verb is text for a shell. */
static bool git_text_flags(const struct subject *s, const struct inner_sink *sink,
                           const struct word *args, size_t count, const char *names)
{
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        const char *text = args[i].text, *equals = strchr(text, '=');
        size_t n = equals ? (size_t)(equals - text) : args[i].len;

        if (text[0] == '-' && text[1] != '-' && list_has(names, "-x") && strchr(text, 'x')) {
            const char *glued = strchr(text, 'x') + 1; /* -yx TEXT, -xTEXT */

            inner_text(sink, s, *glued || i + 1 == count ? glued : args[i + 1].text, 0);
            found = true;
            continue;
        }
        if (text[0] != '-' || !git_flag_is(names, text, n))
            continue;
        if (equals || i + 1 < count) {
            inner_text(sink, s, equals ? equals + 1 : args[i + 1].text, 0);
            found = true;
        }
    }
    return found;
}

static bool git_verbs(const struct subject *s, const struct inner_sink *sink, const char *verb,
                      const struct word *rest, size_t count)
{
    if (strcmp(verb, "bisect") == 0 && count > 1 && word_is(&rest[0], "run")) {
        inner_words(sink, s, rest + 1, count - 1, 0);
        return true;
    }
    if (strcmp(verb, "submodule") == 0) {
        for (size_t i = 0; i + 1 < count; i++) {
            if (word_is(&rest[i], "foreach")) {
                for (i++; i < count && word_is_flag(&rest[i]);)
                    i++;
                return inner_joined(sink, s, rest + i, count - i, 0);
            }
        }
    }
    if (strcmp(verb, "config") == 0) {
        for (size_t i = 0; i + 1 < count; i++) {
            if (!word_is_flag(&rest[i]) && strchr(rest[i].text, '.'))
                return git_setting(s, sink, rest[i].text, rest[i].len, rest[i + 1].text);
        }
    }
    return false;
}

UNWRAP(git)
{
    const struct word *rest;
    size_t count;
    const char *verb = git_verb(s, &rest, &count);
    const char *names = "--upload-pack --receive-pack --exec --open-files-in-pager --extcmd";
    bool found;

    (void)w;
    if (strcmp(verb, "filter-branch") == 0)
        names = "--env-filter --tree-filter --index-filter --parent-filter --msg-filter "
                "--commit-filter --tag-name-filter --setup";
    else if (strcmp(verb, "rebase") == 0)
        names = "--exec -x";
    else if (strcmp(verb, "difftool") == 0)
        names = "--extcmd -x";
    else if (list_has("grep", verb))
        names = "--open-files-in-pager";
    found = git_globals(s, sink);
    found |= git_verbs(s, sink, verb, rest, count);
    found |= git_text_flags(s, sink, rest, count, names);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(verb, "grep") == 0 && str_has_prefix(rest[i].text, "-O") && rest[i].text[2]) {
            inner_text(sink, s, rest[i].text + 2, 0);
            found = true;
        }
        if (str_has_prefix(rest[i].text, "ext::")) {
            inner_text(sink, s, rest[i].text + 5, 0);
            found = true;
        }
    }
    return found;
}

/* ---- the others ---- */

/* nix develop -c make test */
UNWRAP(nix)
{
    (void)w;
    for (size_t i = 0; i + 1 < s->count; i++) {
        if (list_has("-c --command", s->args[i].text)) {
            inner_words(sink, s, s->args + i + 1, s->count - i - 1, 0);
            return true;
        }
    }
    return false;
}

/* socat - EXEC:'ls -l',pty */
UNWRAP(socat)
{
    static const char *const kinds[] = { "exec:", "system:", "shell:" };
    bool found = false;

    (void)w;
    for (size_t i = 0; i < s->count; i++) {
        for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
            const char *text = s->args[i].text;
            size_t len = strlen(kinds[k]);

            if (strncasecmp(text, kinds[k], len) != 0)
                continue;
            char *command = arena_strndup(s->arena, text + len, strcspn(text + len, ","));

            inner_text(sink, s, command ? command : "\x01", INNER_STDIN_PIPE);
            found = true;
        }
    }
    return found;
}

UNWRAP(ssh)
{
    struct flags f;
    bool found = false;
    enum flag_kind kind;

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    f.stop_at_operand = true;
    for (int operands = 0; operands < 2; operands++) {
        while ((kind = flags_next(&f)) != FLAG_END) {
            const char *equals = f.value ? strpbrk(f.value, "= ") : NULL;

            if (kind != FLAG_SHORT || f.letter != 'o' || !equals)
                continue;
            if (text_has_any(f.value, "proxycommand localcommand knownhostscommand")) {
                inner_text(sink, s, equals + 1, 0);
                found = true;
            }
        }
        if (operands == 0 && f.next < s->count)
            f.next++; /* the host; flags may follow it */
    }
    return inner_joined(sink, s, s->args + f.next, s->count - f.next, 0) || found;
}

/* vim -c '!ls', +'!ls', --cmd 'call system("ls")' */
UNWRAP(vim)
{
    bool found = false;

    (void)w;
    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;
        const char *code = NULL;

        if (list_has("-c --cmd", text) && i + 1 < s->count)
            code = s->args[++i].text;
        else if (text[0] == '+')
            code = text + 1;
        if (!code)
            continue;
        const char *bang = strchr(code, '!');
        const char *call = strstr(code, "system(");

        if (call)
            inner_text(sink, s, "\x01", 0);
        else if (bang && !list_has(":q! :wq! q! wq! :qa! qa! :x! x! :wqa! wqa! :w! w!", code))
            inner_text(sink, s, bang + 1, 0);
        found |= call || bang;
    }
    return found;
}

/* gdb -ex 'shell ls', -ex '!ls', --args ls */
UNWRAP(gdb)
{
    bool found = false;

    for (size_t i = 0; i + 1 < s->count; i++) {
        const char *code = s->args[i + 1].text;

        if (!list_has("-ex -iex --ex --iex -eval-command --eval-command", s->args[i].text))
            continue;
        code += strspn(code, " \t");
        if (*code == '!' || str_has_prefix(code, "shell ") || str_has_prefix(code, "she ")) {
            inner_text(sink, s, code + strcspn(code, "! ") + 1, 0);
            found = true;
        } else if (text_has_any(code, "python system( pipe source")) {
            inner_text(sink, s, "\x01", 0);
            found = true;
        }
    }
    return unwrap_prefix(s, w, sink) || found;
}

UNWRAP(tmux)
{
    const char *verb = verb_of(s, 0, "LSf", "");
    struct flags f;
    size_t at = 0;

    (void)w;
    if (!list_has("new-session new new-window neww split-window splitw respawn-pane respawn-window "
                  "run-shell run send-keys send if-shell pipe-pane popup display-popup",
                  verb))
        return false;
    while (at < s->count && s->args[at].text != verb)
        at++;
    flags_init(&f, s->args + at + 1, s->count - at - 1, "nstcexyFlpwh", "");
    f.stop_at_operand = true;
    while (flags_next(&f) != FLAG_END)
        ;
    return inner_joined(sink, s, f.words + f.next, f.count - f.next, 0);
}

UNWRAP(cmake)
{
    (void)w;
    if (s->count > 1 && word_is(&s->args[0], "-E")) {
        inner_words(sink, s, s->args + 1, s->count - 1, 0);
        return true;
    }
    return false;
}

UNWRAP(make)
{
    bool found = false;

    (void)w;
    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (str_has_prefix(text, "SHELL=")) {
            inner_text(sink, s, text + strlen("SHELL="), 0);
            found = true;
        } else if (str_has_prefix(text, "--eval")) {
            inner_text(sink, s, "\x01", 0);
            found = true;
        }
    }
    return found;
}
