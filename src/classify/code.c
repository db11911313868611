/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at inline code for words that show what it does. That is no analysis: code can hide, and
 * only the sandbox stops it then. It catches what is written plainly, and decoding that serves to
 * hide. awk and sed are languages of their own (script.c): in them only their ways to start a
 * program count.
 */
#include "classify/code.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "classify/rules.h"
#include "classify/script.h"

/* Blank-separated pieces of text, case ignored. */
#define RUNS                                                                                       \
    "os.system subprocess popen pty.spawn os.exec os.spawn getoutput child_process execsync "      \
    "spawnsync execfile spawn( shell_exec passthru proc_open pcntl_exec os.execute system( "       \
    "system: kernel.exec open3 processbuilder runtime.exec runtime.getruntime bun.spawn bun.$ "    \
    "deno.command deno.run posix_spawn ctypes runcommand shell-command call-process do(shell "     \
    "exec(\" exec(' %x( %x{ qx( qx{ qx/ shell:"
#define DELETES                                                                                    \
    "rmtree os.remove os.unlink os.rmdir unlink rmdir fs.rm rmsync rimraf fileutils.rm "           \
    "file.delete dir.delete remove_tree deno.remove os.removedirs shutil.move .unlink("
#define NETWORK                                                                                    \
    "socket urllib requests.get requests.post requests.put http.client httplib httpx aiohttp "     \
    "fetch( http.get https.get http.request https.request net.connect net/http open-uri lwp:: "    \
    "http::tiny ftplib smtplib paramiko fsockopen curl_init websocket xmlrpc net.createconnection"
#define SECRETS                                                                                    \
    ".ssh/ id_rsa id_ed25519 .aws/ /etc/shadow .netrc .npmrc .pypirc .git-credentials .kube/ "     \
    ".gnupg .env' .env\" .bash_history .git/hooks .claude/ keyring"
#define HIDES                                                                                      \
    "b64decode base64 atob( fromhex __import__ getattr(os unhexlify codecs.decode marshal.loads "  \
    "pickle.loads exec(compile rot13 pack(\"H pack('H fromcharcode decode64"

static bool acts(const char *code)
{
    return text_has_any(code, RUNS) || text_has_any(code, DELETES) || text_has_any(code, NETWORK) ||
           text_has_any(code, SECRETS) || text_has_any(code, HIDES);
}

enum code_sight {
    CODE_NONE,  /* no code in the command */
    CODE_QUIET, /* nothing seen that matters */
    CODE_ACTS,  /* runs programs, deletes, uses the network, reads secrets, or hides what it does */
};

typedef enum code_sight look_fn(const struct subject *s, const char *code);

static enum code_sight look_at(const struct subject *s, const char *code)
{
    if (strchr(code, WORD_HOLE) && strspn(code, "\x01 ") == strlen(code))
        return CODE_ACTS;
    if (strcmp(s->name, "osascript") == 0 && text_has(code, "do shell script"))
        return CODE_ACTS;
    if (list_has("expect tclsh wish", s->name) &&
        (bytes_have_word(code, strlen(code), "spawn") ||
         bytes_have_word(code, strlen(code), "exec") || text_has(code, "open \"|")))
        return CODE_ACTS;
    if (list_has("perl ruby php", s->name) &&
        (strchr(code, '`') || bytes_have_word(code, strlen(code), "system") ||
         bytes_have_word(code, strlen(code), "exec")))
        return CODE_ACTS;
    return acts(code) ? CODE_ACTS : CODE_QUIET;
}

static enum code_sight look_at_awk(const struct subject *s, const char *code)
{
    (void)s;
    return text_has_any(code, "system( /inet/ @load " SECRETS) || text_has(code, "> \"/") ||
                   text_has(code, ">\"/") || script_awk_acts(code)
               ? CODE_ACTS
               : CODE_QUIET;
}

static enum code_sight look_at_sed(const struct subject *s, const char *code)
{
    (void)s;
    return text_has(code, "w /etc/") || text_has(code, "w /usr/") || text_has_any(code, SECRETS) ||
                   script_sed_acts(code)
               ? CODE_ACTS
               : CODE_QUIET;
}

static const char *flags_with_code(const char *name)
{
    if (list_has("python pypy expect tclsh", name))
        return "c";
    if (strcmp(name, "perl") == 0 || strcmp(name, "julia") == 0)
        return "eE";
    if (list_has("node nodejs", name))
        return "ep";
    if (strcmp(name, "php") == 0)
        return "rRB";
    return "e";
}

static enum code_sight worse(enum code_sight a, enum code_sight b)
{
    return a > b ? a : b;
}

static enum code_sight look_at_flags(const struct subject *s)
{
    const char *letters = flags_with_code(s->name);
    enum code_sight sight = CODE_NONE;
    struct flags f;
    enum flag_kind kind;

    flags_init(&f, s->args, s->count, letters, "eval print expression");
    f.stop_at_operand = list_has("python pypy node nodejs php lua luajit", s->name);
    while ((kind = flags_next(&f)) != FLAG_END) {
        bool code = (kind == FLAG_SHORT && strchr(letters, f.letter)) ||
                    (kind == FLAG_LONG && list_has_n("eval print", f.name, f.name_len));

        if (code && f.value)
            sight = worse(sight, look_at(s, f.value));
        if (kind == FLAG_OPERAND && strcmp(s->name, "deno") == 0 && word_is(f.word, "eval") &&
            f.next < f.count)
            sight = worse(sight, look_at(s, f.words[f.next].text));
    }
    return sight;
}

/* -f FILE, --file=FILE */
static bool flag_names_script(const struct flags *f, enum flag_kind kind)
{
    return f->value && ((kind == FLAG_SHORT && f->letter == 'f') ||
                        (kind == FLAG_LONG && flags_is_long(f, "file")));
}

bool code_is_elsewhere(const struct subject *s)
{
    struct flags f;
    enum flag_kind kind;

    flags_init(&f, s->args, s->count, "vFfiel", "expression file assign source");
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (flag_names_script(&f, kind) &&
            (list_has("- " STDIN_NAMES, f.value) || strchr(f.value, WORD_HOLE)))
            return true;
    }
    return false;
}

/* All texts on the standard input: zsh reads one behind the other, others the last. */
static enum code_sight look_at_input(const struct subject *s, look_fn *look)
{
    enum code_sight sight = CODE_NONE;

    for (size_t i = 0; i < s->call->redirect_count; i++) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->op == REDIRECT_TEXT && r->fd == 0)
            sight = worse(sight, look(s, r->target.text));
    }
    return sight;
}

static enum code_sight look_at_script(const struct subject *s, bool awk)
{
    look_fn *const look = awk ? look_at_awk : look_at_sed;
    struct flags f;
    enum flag_kind kind;
    enum code_sight sight = CODE_NONE;
    bool given = false;

    flags_init(&f, s->args, s->count, awk ? "vFfiel" : "efl", "expression file assign source");
    while ((kind = flags_next(&f)) != FLAG_END) {
        const char *code = NULL;

        if ((kind == FLAG_SHORT && f.letter == 'e') ||
            (kind == FLAG_LONG && (flags_is_long(&f, "expression") || flags_is_long(&f, "source"))))
            code = f.value;
        else if (kind == FLAG_OPERAND && !given)
            code = f.word->text;
        else if (flag_names_script(&f, kind) && list_has("- " STDIN_NAMES, f.value))
            sight = worse(sight, look_at_input(s, look));
        else if (awk && kind == FLAG_SHORT && f.letter == 'l')
            return CODE_ACTS; /* a library */
        given |= code || flag_names_script(&f, kind);
        if (code)
            sight = worse(sight, look(s, code));
    }
    return sight;
}

static enum code_sight code_look(const struct subject *s)
{
    if (list_has("awk gawk mawk nawk", s->name))
        return look_at_script(s, true);
    if (list_has("sed gsed", s->name))
        return look_at_script(s, false);
    enum code_sight sight = look_at_flags(s);

    return sight == CODE_NONE ? look_at_input(s, look_at) : sight;
}

MATCH(inline_code)
{
    return code_look(s) == CODE_ACTS;
}

MATCH(quiet_code)
{
    return code_look(s) == CODE_QUIET;
}
