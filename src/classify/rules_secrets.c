/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers: what a person should see because something is not known or not public. Programs whose
 * name only the run tells, targets likewise, files with secrets, variables that make other programs
 * load code, words that are decoded on the way.
 */
#include <string.h>

#include "base/str.h"
#include "classify/place.h"
#include "classify/rules.h"
#include "classify/writes.h"

/* ---- not known ---- */

MATCH(unknown_command)
{
    const struct call *call = s->call;

    if (call->count == 0)
        return false;
    const struct word *w = &call->words[0];

    if (strcmp(s->name, "$env") == 0)
        return false;
    if (w->flags & WORD_UNKNOWN || memchr(w->text, WORD_HOLE, w->len))
        return true;
    return w->flags & WORD_GLOB && !list_has("[ [[", w->text) && strpbrk(w->text, "*?[");
}

/* rm $FLAGS / */
static bool may_have_flags(const struct subject *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->args[i].flags & WORD_SPLITS)
            return true;
    }
    return false;
}

MATCH(delete_unknown)
{
    bool move = strcmp(s->name, "mv") == 0, changes = !move && strcmp(s->name, "rm") != 0;
    bool recursive = move || args_have_short(s, "rR") || args_have_long(s, "recursive");
    struct writes w;
    struct write one;

    if (!recursive && !may_have_flags(s))
        return false;
    writes_init(&w, s);
    while (writes_next(&w, &one)) {
        if (one.how == WRITE_REDIRECT || (move && one.how != WRITE_DELETE))
            continue;
        const char *place = place_of(s, one.word, one.text);

        if (!move && place_is_danger(s, place)) /* with flags that are not known */
            return true;
        if (!recursive)
            continue;
        if (strchr(one.text, WORD_HOLE) && strchr(one.text, '/') && place_may_be_danger(s, place)) {
            s->reason = "If the variable is empty, this is a system directory, a home or all of /.";
            return true;
        }
        bool upwards = str_has_prefix(place, "..") && strspn(place, "./") == strlen(place);

        if (!move && !changes && (upwards || place_may_be_danger(s, place)))
            return true;
    }
    return false;
}

MATCH(hidden_argument)
{
    if (!(s->call->flags & CALL_SUBSTITUTION))
        return false;
    if (strcmp(s->name, "xxd") == 0)
        return args_have_short(s, "r");
    if (strcmp(s->name, "openssl") == 0)
        return args_have(s, "-d") && args_have(s, "base64 enc");
    if (list_has("rev uudecode", s->name))
        return true;
    return args_have_short(s, "dD") || args_have_long(s, "decode");
}

/* ---- secrets ---- */

static bool is_telling(const struct subject *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (text_has_any(s->args[i].text, "secret password passwd token key credential apikey pwd"))
            return true;
    }
    return false;
}

/* env | grep -i token */
static bool searches_environment(const struct subject *s)
{
    const struct call *feeder = s->call->feeder;
    struct subject f = *s;

    if (!feeder || !list_has("grep egrep fgrep rg awk sed", s->name))
        return false;
    subject_init(&f, feeder);
    return (list_has("printenv set export declare", f.name) ||
            (strcmp(f.name, "env") == 0 && f.count == 0)) &&
           is_telling(s);
}

/* All of it, for a command line, a file of its own, or another machine. */
static bool takes_environment(const struct subject *s)
{
    const struct call *feeder = s->call->feeder;
    struct subject f = *s;

    if (list_has("env printenv", s->name) && s->count == 0)
        return s->call->flags & CALL_SUBSTITUTION;
    if (!feeder || !list_has("curl wget nc ncat netcat socat ssh", s->name))
        return false;
    subject_init(&f, feeder);
    return list_has("env printenv set export", f.name) && f.count == 0;
}

/* cp -r ~ x, tar c ~: the keys are in it. */
static bool copies_trees(const struct subject *s)
{
    if (list_has("cp zip rsync scp", s->name))
        return true;
    return list_has("tar bsdtar gtar", s->name) && s->count > 0 &&
           (args_have_short(s, "c") || args_have_long(s, "create") || s->args[0].text[0] == 'c');
}

/* The path in a word: behind @, file://, key=. */
static const char *path_in(const char *text)
{
    const char *equals = strchr(text, '=');

    if (equals && (text[0] == '-' || equals - text < 8))
        text = equals + 1;
    text += *text == '@' || *text == '<';
    return str_has_prefix(text, "file://") ? text + strlen("file://") : text;
}

static bool may_be_path(const struct subject *s, const struct word *w, const char *text)
{
    if (*text == '\0' || strpbrk(text, " \n\t"))
        return false;
    return strpbrk(text, ".~/*?[") || (s->call->cwd && *s->call->cwd) || w->flags & WORD_TILDE ||
           str_has_prefix(text, "id_");
}

static bool word_is_secret(const struct subject *s, const struct word *w, bool sure, bool copies)
{
    const char *text = path_in(w->text);

    if (!may_be_path(s, w, text) && sure)
        return false;
    const char *place = place_of(s, w, text);

    if (place_is_secret(place, sure) || place_is_secret_dir(place) ||
        (copies && strcmp(place, ruleset_home(s->rules)) == 0))
        return true;
    /* git show HEAD:.env, docker cp c:/etc/shadow */
    const char *colon = strchr(text, ':');

    return colon && colon[1] != '/' && colon[1] != '\0' && place_is_secret(colon + 1, true);
}

static bool reads_secret_redirect(const struct subject *s)
{
    for (size_t i = 0; i < s->call->redirect_count; i++) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->op != REDIRECT_IN && r->op != REDIRECT_INOUT)
            continue;
        const char *place = place_of(s, &r->target, r->target.text);

        if (place_is_secret(place, false))
            return true;
    }
    return false;
}

/* ${X:-~/.ssh/id_rsa}: the words are not known, but what is written tells enough. */
static bool mentions_secret(const struct subject *s)
{
    static const char *const telling[] = { ".ssh/", "id_rsa", "id_ed25519", "/etc/shadow",
                                           ".aws/", ".netrc", ".gnupg/",    ".git-credentials" };
    const struct call *call = s->call;
    bool unknown = false;

    for (size_t i = 0; i < s->count; i++)
        unknown |= s->args[i].flags & WORD_UNKNOWN && !s->args[i].source;
    for (size_t i = 0; unknown && call->part && i < ARRAY_LEN(telling); i++) {
        const char *at = memmem(call->part, call->part_len, telling[i], strlen(telling[i]));

        if (at && !memmem(at, call->part_len - (size_t)(at - call->part), ".pub", 4))
            return true;
    }
    return false;
}

/* Its output becomes words of another command. */
static bool output_is_used(const struct subject *s)
{
    return s->call->flags & (CALL_SUBSTITUTION | CALL_STDOUT_PIPE) &&
           list_has("echo printf find fd ls readlink realpath", s->name);
}

/* curl --cacert ca.pem, openssl x509 -in c.pem: certificates, which anybody may read. */
static bool is_certificate(const struct subject *s, size_t i)
{
    if (i == 0 || !list_has("curl openssl", s->name))
        return false;
    return arg_is(s, i - 1, "--cacert -CAfile") ||
           (arg_is(s, 0, "x509") && arg_is(s, i - 1, "-in"));
}

MATCH(credentials)
{
    size_t first = 0, last = s->count;

    if (s->call->redirect_count > 0 && reads_secret_redirect(s))
        return true;
    if (searches_environment(s) || takes_environment(s))
        return true;
    if (s->count == 0 ||
        (subject_is(s, TRAIT_MENTIONER) && !output_is_used(s) && !args_have(s, "-exec -execdir")))
        return false;
    if (list_has("git", s->name) &&
        !list_has("show diff log cat-file archive grep blame stash", git_verb(s, NULL, NULL)))
        return false;
    bool runs = list_has("find gfind", s->name) && args_have(s, "-exec -execdir");
    bool sure = !subject_is(s, TRAIT_READER) && !runs;
    bool copies = copies_trees(s);

    if (subject_is(s, TRAIT_SEARCHER)) {
        while (first < s->count && word_is_flag(&s->args[first]))
            first++;
        first++;
    }
    if (list_has("cp mv install ln", s->name)) /* the last is written, not read */
        last = s->count > 1 ? s->count - 1 : s->count;
    for (size_t i = first; i < last; i++) {
        if ((word_is_flag(&s->args[i]) && !strchr(s->args[i].text, '=')) || is_certificate(s, i))
            continue;
        if (word_is_secret(s, &s->args[i], sure && first == 0, copies))
            return true;
    }
    return !s->from_argv && !s->derived && mentions_secret(s);
}

static bool has_words(const struct subject *s, const char *first, const char *second)
{
    const char *verb = verb_of(s, 0, "nR", "namespace context profile region project repo");

    return list_has(first, verb) &&
           list_has(second, verb_of(s, 1, "nR", "namespace context profile region project repo"));
}

/* git credential fill, git credential-store get */
static bool git_gives_password(const struct subject *s)
{
    const struct word *rest;
    size_t count;
    const char *verb = git_verb(s, &rest, &count);

    return str_has_prefix(verb, "credential") && count > 0 &&
           list_has("fill get", rest[count - 1].text);
}

MATCH(secret_tool)
{
    const char *name = s->name;

    if (strcmp(name, "git") == 0)
        return git_gives_password(s);
    if (strcmp(name, "gh") == 0 || strcmp(name, "heroku") == 0)
        return has_words(s, "auth", "token login") || (name[0] == 'h' && arg_is(s, 0, "config")) ||
               (has_words(s, "auth", "status") && args_have(s, "-t --show-token"));
    if (strcmp(name, "aws") == 0)
        return has_words(s, "configure", "get export-credentials") ||
               has_words(s, "ecr", "get-login-password") || args_have(s, "--with-decryption") ||
               has_words(s, "secretsmanager", "get-secret-value") ||
               has_words(s, "sts", "get-session-token assume-role");
    if (list_has("gcloud az", name))
        return args_have(s, "print-access-token print-identity-token get-access-token access");
    if (list_has("kubectl oc", name))
        return has_words(s, "get describe", "secret secrets") || args_have(s, "view-secret") ||
               (has_words(s, "config", "view") && args_have(s, "--raw"));
    if (strcmp(name, "security") == 0)
        return args_have(s, "find-generic-password find-internet-password dump-keychain export");
    if (list_has("gpg gpg2", name))
        return args_have_long(s, "export-secret-keys") || args_have_long(s, "decrypt") ||
               args_have_short(s, "d") || args_have_long(s, "export-secret-subkeys");
    return s->count > 0 && !args_want_info(s) && !arg_is(s, 0, "ls list status version whoami");
}

/* ---- variables ---- */

#define LOADERS                                                                                    \
    "LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES DYLD_LIBRARY_PATH BASH_ENV ENV "    \
    "PROMPT_COMMAND GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_GLOBAL GIT_CONFIG_PARAMETERS "          \
    "GIT_CONFIG_SYSTEM MAKEFILES LUA_INIT VIMINIT EXINIT ZDOTDIR R_PROFILE R_PROFILE_USER "        \
    "ERL_FLAGS ERL_AFLAGS ERL_ZFLAGS AWKLIBPATH OPENSSL_CONF PHPRC PHP_INI_SCAN_DIR "              \
    "NODE_REPL_EXTERNAL_MODULE "                                                                   \
    "GIT_EXEC_PATH GIT_TEMPLATE_DIR PYTHONSTARTUP PYTHONHOME PERL5OPT PERL5DB PERL5LIB RUBYOPT "   \
    "RUBYLIB JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS BASH_FUNC_ls%% GCONV_PATH "          \
    "LD_BIND_NOT HOSTALIASES NLSPATH PYTHONINSPECT SHELLOPTS BASHOPTS"
#define RUNNERS                                                                                    \
    "GIT_PAGER GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF "          \
    "GIT_ASKPASS GIT_PROXY_COMMAND PAGER EDITOR VISUAL LESSOPEN LESSCLOSE MANPAGER MANOPT "        \
    "BROWSER FZF_DEFAULT_COMMAND FCEDIT CVS_RSH RUSTC RUSTDOC CARGO_BUILD_RUSTC "                  \
    "SSH_ASKPASS SUDO_ASKPASS SUDO_EDITOR SYSTEMD_PAGER RSYNC_RSH TAR_OPTIONS RUSTC_WRAPPER "      \
    "RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER npm_config_script_shell "                   \
    "NPM_CONFIG_SCRIPT_SHELL npm_config_node_options"
/* Many names are usual; what lies in the project, or where everybody writes, is not. */
#define COMPILERS "CC CXX CPP HOSTCC HOSTCXX LD AR"
/* Expanded by the shell whenever it shows them. */
#define PROMPTS "PS0 PS1 PS2 PS4 PROMPT RPROMPT"
/* Options of Java for one tool. */
#define JAVA_OPTIONS "JAVA_OPTS MAVEN_OPTS GRADLE_OPTS SBT_OPTS ANT_OPTS"

/* GH_PAGER, KUBE_EDITOR */
static bool is_viewer(const char *name, size_t len)
{
    return len > 6 && (strncmp(name + len - 6, "_PAGER", 6) == 0 ||
                       (len > 7 && strncmp(name + len - 7, "_EDITOR", 7) == 0));
}

static bool is_scratch(const char *value)
{
    return str_has_prefix(value, "/tmp") || str_has_prefix(value, "/var/tmp") ||
           str_has_prefix(value, "/dev/shm");
}

static bool is_injection(const char *name, size_t len, const char *value)
{
    if (list_has_n(LOADERS, name, len) || (len > 10 && memcmp(name, "BASH_FUNC_", 10) == 0))
        return *value != '\0';
    if (list_has_n(PROMPTS, name, len))
        return text_has_any(value, "$( ` @P} \x01");
    if (list_has_n(JAVA_OPTIONS, name, len))
        return text_has_any(value, "-javaagent -agentlib -agentpath -XX:On");
    if (list_has_n(RUNNERS, name, len) || is_viewer(name, len))
        return !list_has(
                   "cat less more true : false vi vim nvim nano emacs delta bat sccache sh bash "
                   "rustc rustdoc none",
                   value) &&
               *value != '\0';
    if (list_has_n("NODE_OPTIONS", name, len))
        return text_has_any(value, "--require --import --loader -r --inspect") ||
               strchr(value, WORD_HOLE);
    if (list_has_n("GOFLAGS", name, len))
        return text_has_any(value, "-toolexec -exec");
    if (list_has_n("MAKEFLAGS GNUMAKEFLAGS", name, len))
        return text_has_any(value, "--eval SHELL=");
    if (list_has_n(COMPILERS, name, len))
        return is_scratch(value) || str_has_prefix(value, "./") || str_has_prefix(value, "../");
    if (list_has_n("PATH", name, len)) /* the first place wins */
        return value[0] == ':' || is_scratch(value) || strcmp(value, ".") == 0 ||
               str_has_prefix(value, ".:");
    return false;
}

/* read NAME, printf -v NAME: the value is one that nobody sees here. */
static bool sets_injection(const struct subject *s)
{
    bool prints = strcmp(s->name, "printf") == 0;

    if (!prints && !list_has("read mapfile readarray getopts", s->name))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (prints && str_has_prefix(text, "-v") && text[2])
            text += 2;
        else if (prints && (i == 0 || !word_is(&s->args[i - 1], "-v")))
            continue;
        size_t len = strcspn(text, "[");

        if (list_has_n(LOADERS " " RUNNERS " " PROMPTS " " JAVA_OPTIONS
                               " PATH NODE_OPTIONS GOFLAGS MAKEFLAGS GNUMAKEFLAGS",
                       text, len) ||
            is_viewer(text, len))
            return true;
    }
    return false;
}

MATCH(injection)
{
    const struct call *call = s->call;

    for (size_t i = 0; i < call->assign_count; i++) {
        const struct assignment *a = &call->assigns[i];

        if (is_injection(a->name, strlen(a->name), a->value.text))
            return true;
    }
    if (!subject_is(s, TRAIT_EXPORTER))
        return sets_injection(s);
    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text, *equals = strchr(text, '=');

        if (equals && is_injection(text, (size_t)(equals - text), equals + 1))
            return true;
        if (!equals && strcmp(s->name, "setenv") == 0 && i == 0 && s->count > 1 &&
            is_injection(text, s->args[0].len, s->args[1].text))
            return true;
    }
    return false;
}
