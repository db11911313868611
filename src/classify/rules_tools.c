/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers: tools that act outside of the project. The verb is found behind the tool's own flags
 * (docker -H h run, apt -y install), which are the two strings in each call of verb_of.
 */
#include <ctype.h>
#include <string.h>

#include "base/str.h"
#include "classify/rules.h"
#include "classify/writes.h"

/* ---- rights and users ---- */

MATCH(sudo)
{
    return !(s->count == 1 && args_have(s, "--help --version -V -h"));
}

MATCH(su)
{
    if (strcmp(s->name, "setpriv") == 0)
        return !arg_is(s, 0, "--help -h --version -V --dump -d");
    return !(s->count == 1 && args_have(s, "--help --version -V -h"));
}

MATCH(users)
{
    if (args_want_info(s))
        return false;
    return !(strcmp(s->name, "passwd") == 0 && s->count <= 2 && args_have(s, "-S --status"));
}

MATCH(permission)
{
    return !args_have(s, "--help --version");
}

MATCH(kill)
{
    static const char looks[] = "-l --list -L --table --help --version";

    /* Behind a process's number a flag is none any more. */
    return strcmp(s->name, "kill") == 0 ? !arg_is(s, 0, looks) : !args_have(s, looks);
}

MATCH(escape)
{
    return !arg_is(s, 0, "--help -h --version -V"); /* further on it is the command's */
}

MATCH(mounts)
{
    return s->count > 0 && !args_want_info(s) &&
           !(s->count == 1 && args_have(s, "-l --list --show -v")) &&
           !(strcmp(s->name, "losetup") == 0 && args_have(s, "-a --all"));
}

/* ---- packages ---- */

MATCH(system_install)
{
    const char *verb = verb_of(s, 0, "otacqCD",
                               "option target-release config installroot root setopt repo");

    if (list_has("winget choco", s->name))
        return list_has("install upgrade uninstall", verb);
    if (strcmp(s->name, "scoop") == 0)
        return list_has("install update uninstall", verb);
    if (strcmp(s->name, "pacman") == 0)
        return args_have_short(s, "SRU") && !args_have(s, "-Ss -Si -Sl -Sg");
    if (strcmp(s->name, "dpkg") == 0)
        return args_have_short(s, "irP") || args_have_long(s, "install") ||
               args_have_long(s, "remove") || args_have_long(s, "purge");
    if (strcmp(s->name, "rpm") == 0)
        return args_have_short(s, "iUeF") && !args_have_short(s, "q");
    if (list_has("apk", s->name))
        return list_has("add del upgrade fix", verb);
    if (strcmp(s->name, "emerge") == 0)
        return s->count > 0 && !args_have(s, "-s --search --info -p --pretend --version");
    return list_has("install remove purge autoremove upgrade dist-upgrade full-upgrade reinstall "
                    "uninstall erase groupinstall localinstall downgrade dup refresh-hold tap",
                    verb) ||
           (list_has("yum dnf zypper", s->name) && list_has("update in rm up", verb));
}

static bool npm_installs(const char *verb)
{
    return list_has("install i add ci in ins isntall install-test it link uninstall update "
                    "upgrade remove rm un dedupe rebuild",
                    verb);
}

MATCH(global_install)
{
    const char *verb = verb_of(s, 0, "C", "prefix dir filter workspace registry cwd");

    if (strcmp(s->name, "yarn") == 0)
        return strcmp(verb, "global") == 0 && list_has("add remove upgrade", verb_of(s, 1, "", ""));
    return npm_installs(verb) && args_have(s, "-g --global --location=global");
}

static bool python_installs(const struct subject *s)
{
    for (size_t i = 0; i + 2 < s->count; i++) {
        const char *text = s->args[i].text;

        if (text[0] == '-' && text[1] != '-' && text[s->args[i].len - 1] == 'm')
            return (str_has_prefix(s->args[i + 1].text, "pip") ||
                    word_is(&s->args[i + 1], "ensurepip")) &&
                   (args_have(s, "install uninstall download wheel") ||
                    word_is(&s->args[i + 1], "ensurepip"));
        if (!word_is_flag(&s->args[i]))
            return false;
    }
    return false;
}

MATCH(package_install)
{
    const char *name = s->name;
    const char *verb = verb_of(s, has_toolchain(s) ? 1 : 0, "Cpn",
                               "prefix dir filter workspace registry cwd directory project python "
                               "manifest-path cache-dir proxy name log userconfig");

    if (list_has("npm pnpm bun", name))
        return npm_installs(verb);
    if (strcmp(name, "yarn") == 0)
        return list_has("install add up upgrade remove link", verb) ||
               (!*verb && !args_want_info(s) && !args_have(s, "-v"));
    if (strcmp(name, "uv") == 0)
        return list_has("add remove sync", verb) ||
               (list_has("pip tool python", verb) &&
                list_has("install uninstall sync", verb_of(s, 1, "p", "directory project python")));
    if (list_has("poetry pipenv", name))
        return list_has("add install update remove uninstall sync", verb);
    if (list_has("python pypy py", name))
        return python_installs(s);
    if (strcmp(name, "composer") == 0)
        return list_has("install require update remove", verb);
    if (strcmp(name, "pip") == 0)
        return list_has("install uninstall download wheel", verb);
    if (list_has("cpan cpanm", name))
        return s->count > 0 && !args_want_info(s);
    return list_has("install uninstall", verb) ||
           (strcmp(name, "gem") == 0 && args_have(s, "update"));
}

/* ---- settings of the machine ---- */

MATCH(settings)
{
    static const char changes[] = "add del delete set flush change replace append up down";

    if (args_want_info(s))
        return false;
    if (strcmp(s->name, "ip") == 0)
        return list_has(changes, verb_of(s, 1, "nf", "netns family"));
    if (strcmp(s->name, "sysctl") == 0) {
        for (size_t i = 0; i < s->count; i++) {
            if (strchr(s->args[i].text, '=') || list_has("-w -p --write --system", s->args[i].text))
                return true;
        }
        return false;
    }
    if (list_has("timedatectl hostnamectl localectl", s->name))
        return str_has_prefix(verb_of(s, 0, "", ""), "set-");
    return s->count > 0 && !args_have(s, "-l --list status");
}

/* ---- containers and clusters ---- */

#define DOCKER_SHORT "Hlc"
#define DOCKER_LONG                                                                                \
    "host log-level context config tlscacert tlscert tlskey connection url identity root runroot " \
    "storage-driver tmpdir"

static const char *docker_verb(const struct subject *s, size_t n)
{
    return verb_of(s, n, DOCKER_SHORT, DOCKER_LONG);
}

MATCH(docker_build)
{
    const char *verb = docker_verb(s, 0), *second = docker_verb(s, 1);

    if (list_has("build push pull bud login import load save commit", verb))
        return true;
    return list_has("image buildx builder", verb) &&
           list_has("build push pull bake load save import", second);
}

MATCH(docker_container)
{
    const char *verb = docker_verb(s, 0), *second = docker_verb(s, 1);

    if (strchr(verb, WORD_HOLE))
        return true;
    if (list_has("run exec stop rm restart kill pause unpause start create cp update rename rmi "
                 "attach",
                 verb))
        return true;
    if (strcmp(verb, "system") == 0)
        return strcmp(second, "prune") == 0;
    if (strcmp(verb, "container") == 0 &&
        list_has("run exec stop restart kill pause unpause start create cp", second))
        return true;
    return list_has("volume image container network builder", verb) &&
           list_has("rm prune remove", second);
}

MATCH(docker_compose)
{
    bool plugin = strcmp(s->name, "docker-compose") != 0;
    size_t at = 0;

    if (plugin) {
        if (strcmp(docker_verb(s, 0), "compose") != 0)
            return false;
        at = 1;
    }
    return list_has("up down restart rm stop kill run start create",
                    verb_of(s, at, "Hlcfp",
                            DOCKER_LONG " file project-name profile env-file "
                                        "project-directory"));
}

MATCH(kubernetes)
{
    static const char values[] =
        "namespace context cluster kubeconfig user server token as "
        "as-group kube-context cache-dir request-timeout username password "
        "client-key client-certificate certificate-authority "
        "tls-server-name kube-apiserver registry-config";
    const char *verb = verb_of(s, 0, "nsv", values);

    if (strchr(verb, WORD_HOLE))
        return true;
    if (strcmp(s->name, "k9s") == 0)
        return !args_want_info(s) && !arg_is(s, 0, "version info help");
    if (strcmp(s->name, "helm") == 0)
        return list_has("install upgrade uninstall delete rollback push", verb);
    if (strcmp(verb, "rollout") == 0)
        return !list_has("status history", verb_of(s, 1, "nsv", values));
    return list_has(
        "exec run delete apply create edit patch scale cp replace set label "
        "annotate drain cordon uncordon taint expose autoscale attach debug port-forward "
        "proxy new-app login",
        verb);
}

/* ---- git ---- */

/* A flag of the verb, in front of "--". */
static bool git_flag(const struct word *rest, size_t count, const char *letters, const char *names)
{
    struct flags f;
    enum flag_kind kind;

    flags_init(&f, rest, count, "bBcCes", "exclude source orphan conflict pathspec-from-file");
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (kind == FLAG_SHORT && strchr(letters, f.letter))
            return true;
        if (kind == FLAG_LONG && long_list_has(names, f.name, f.name_len))
            return true;
    }
    return false;
}

/* A directory or a pattern: more than one file. */
static bool git_names_many(const struct word *rest, size_t count)
{
    struct flags f;
    enum flag_kind kind;

    flags_init(&f, rest, count, "bBcCs", "source orphan conflict");
    while ((kind = flags_next(&f)) != FLAG_END) {
        const char *text = f.word->text;
        size_t len = f.word->len;

        if (kind == FLAG_LONG && long_list_has("pathspec-from-file", f.name, f.name_len))
            return true;
        if (kind == FLAG_OPERAND && len > 0 &&
            (list_has(". ..", text) || text[len - 1] == '/' || str_has_suffix(text, "/.") ||
             str_has_suffix(text, "/..") || text[0] == ':' || strpbrk(text, "*?[")))
            return true;
    }
    return false;
}

/* Changes that were never committed, or commits that only a branch names. */
static bool git_discards(const char *verb, const struct word *rest, size_t count)
{
    if (strcmp(verb, "clean") == 0)
        return !git_flag(rest, count, "n", "dry-run");
    if (strcmp(verb, "checkout") == 0)
        return git_flag(rest, count, "f", "force") ||
               (!git_flag(rest, count, "bBp", "orphan patch") && git_names_many(rest, count));
    if (strcmp(verb, "switch") == 0)
        return git_flag(rest, count, "f", "force discard-changes");
    if (strcmp(verb, "checkout-index") == 0)
        return git_flag(rest, count, "f", "force");
    if (strcmp(verb, "read-tree") == 0)
        return git_flag(rest, count, "u", "") && git_flag(rest, count, "", "reset");
    if (strcmp(verb, "restore") != 0 || git_flag(rest, count, "p", "patch"))
        return false;
    return git_names_many(rest, count) &&
           (!git_flag(rest, count, "S", "staged") || git_flag(rest, count, "W", "worktree"));
}

/* The subcommand's own: git submodule --quiet update --init. */
static bool git_sub_is(const struct word *rest, size_t count, const char *list)
{
    size_t i = 0;

    while (i < count && word_is_flag(&rest[i]))
        i++;
    return i < count && list_has(list, rest[i].text);
}

/* git p*: whatever file is called that. */
static bool verb_is_pattern(const struct subject *s, const char *verb)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->args[i].text == verb)
            return s->args[i].flags & WORD_GLOB;
    }
    return false;
}

MATCH(git_write)
{
    const struct word *rest;
    size_t count;
    const char *verb = git_verb(s, &rest, &count);

    if (strchr(verb, WORD_HOLE) || verb_is_pattern(s, verb)) {
        s->reason = "What git will do is only known when it runs.";
        return true;
    }
    if (list_has("push pull clone fetch reset rebase merge filter-branch filter-repo send-email "
                 "svn p4 send-pack http-push fetch-pack for-each-repo",
                 verb))
        return true;
    if (git_discards(verb, rest, count))
        return true;
    if (strcmp(verb, "reflog") == 0)
        return count > 0 && list_has("expire delete", rest[0].text);
    if (strcmp(verb, "subtree") == 0 || strcmp(verb, "lfs") == 0)
        return git_sub_is(rest, count, "add push pull fetch clone");
    return strcmp(verb, "submodule") == 0 && git_sub_is(rest, count, "update add");
}

MATCH(stash_drop)
{
    const struct word *rest;
    size_t count;

    return strcmp(git_verb(s, &rest, &count), "stash") == 0 && count > 0 &&
           list_has("drop clear", rest[0].text);
}

/* The parts that git runs are judged by themselves; this names the setting. */
MATCH(git_config)
{
    static const char runs[] = "core.pager core.editor core.sshcommand core.fsmonitor core.askpass "
                               "core.hookspath sequence.editor diff.external gpg.program "
                               "credential.helper alias. pager. .textconv .smudge .clean filter. "
                               "core.gitproxy protocol.ext include.path includeif. .driver "
                               "interactive.difffilter .command .cmd .process .program "
                               ".uploadpack .receivepack .vcs .tunnel alternaterefscommand "
                               "packobjectshook templatedir keycommand instaweb.httpd sendmailcmd";
    static const char plain[] = "cat less more true false";
    bool sets = strcmp(git_verb(s, NULL, NULL), "config") == 0;

    for (size_t i = 0; i + 1 < s->count; i++) {
        const char *text = s->args[i + 1].text, *equals = strchr(text, '=');

        if (word_is(&s->args[i], "-c") && equals && text_has_any(text, runs) &&
            !list_has(plain, equals + 1) && equals[1])
            return true;
        if (str_has_prefix(s->args[i].text, "--config-env") ||
            str_has_prefix(s->args[i].text, "--exec-path="))
            return true;
        if (sets && !word_is_flag(&s->args[i]) && strchr(s->args[i].text, '.') &&
            text_has_any(s->args[i].text, runs) && !str_has_prefix(s->args[i].text, "alias.") &&
            !list_has(plain, text) && i > 0 &&
            !list_has("--get --get-all --unset -l", s->args[i - 1].text))
            return true;
    }
    return false;
}

/* ---- the network ---- */

MATCH(ssh)
{
    return !(s->count == 1 && word_is(&s->args[0], "-V"));
}

MATCH(transfer)
{
    return !args_have(s, "--version --help") && s->count > 0;
}

static bool is_no_file(const char *value)
{
    return !value || list_has("- /dev/null /dev/stdout /dev/stderr NUL nul", value);
}

MATCH(download)
{
    struct flags f;
    enum flag_kind kind;

    if (strcmp(s->name, "curl") != 0)
        return s->count > 0 && !args_have(s, "--help -h --version -V");
    flags_init(&f, s->args, s->count, "oHdXuAbceFmTwxDEKPQrtyYzC",
               "output header data request user user-agent cookie cookie-jar form max-time "
               "upload-file write-out proxy output-dir data-raw data-binary url");
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (kind == FLAG_SHORT && (f.letter == 'O' || (f.letter == 'o' && !is_no_file(f.value))))
            return true;
        if (kind == FLAG_LONG &&
            (list_has_n("remote-name remote-name-all", f.name, f.name_len) ||
             (list_has_n("output", f.name, f.name_len) && !is_no_file(f.value))))
            return true;
    }
    return false;
}

MATCH(scan)
{
    return !args_want_info(s);
}

static bool iptables_looks(const struct subject *s)
{
    bool lists = false;

    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (list_has("-L --list -S --list-rules -nL -vL -nvL -vnL -Ln -Lnv -Lvn", text))
            lists = true;
        else if (list_has("-t --table", text))
            i++;
        else if (word_is_flag(&s->args[i]) &&
                 !list_has("-n --numeric -v --verbose --line-numbers -x --exact -w --wait -nv",
                           text))
            return false;
    }
    return lists;
}

MATCH(firewall)
{
    if (args_want_info(s))
        return false;
    if (list_has("iptables ip6tables ebtables", s->name))
        return !iptables_looks(s);
    if (strcmp(s->name, "ufw") == 0)
        return !arg_is(s, 0, "status version");
    if (strcmp(s->name, "nft") == 0)
        return strcmp(verb_of(s, 0, "", ""), "list") != 0;
    if (strcmp(s->name, "netsh") == 0)
        return !args_have(s, "show");
    if (strcmp(s->name, "firewall-cmd") != 0)
        return true;
    for (size_t i = 0; i < s->count; i++) {
        if (s->args[i].text[0] == '-' &&
            !list_has("--list-all --list-all-zones --state --get-active-zones --list-ports "
                      "--list-services",
                      s->args[i].text))
            return true;
    }
    return s->count == 0;
}

/* ---- services, times, databases ---- */

MATCH(services)
{
    const char *verb = verb_of(s, 0, "tpHMnso", "type state property host machine lines output");

    if (strcmp(s->name, "systemctl") == 0)
        return *verb && !list_has("status is-active is-enabled is-failed show list-units "
                                  "list-unit-files list-timers list-sockets list-dependencies cat "
                                  "list-jobs help is-system-running show-environment get-default",
                                  verb);
    if (strcmp(s->name, "launchctl") == 0)
        return *verb && !list_has("list print blame help version", verb);
    if (list_has("service rc-service", s->name))
        return s->count > 0 && !arg_is(s, 1, "status") && !args_have(s, "--status-all");
    if (strcmp(s->name, "sc") == 0)
        return arg_is(s, 0, "start stop create delete config");
    if (strcmp(s->name, "systemd-run") == 0)
        return !arg_is(s, 0, "--help -h --version");
    return list_has("start stop restart reload", verb);
}

MATCH(cron)
{
    if (args_want_info(s))
        return false;
    if (strcmp(s->name, "crontab") == 0)
        return !(args_have(s, "-l") && !args_have(s, "-e -r -i"));
    return !(strcmp(s->name, "at") == 0 && s->count <= 2 && args_have(s, "-c -l"));
}

static bool db_info(const struct subject *s)
{
    if (strcmp(s->name, "redis-cli") == 0) /* behind its command a flag is an argument */
        return arg_is(s, 0, "--help --version -V");
    return args_have(s, "--help --version") || (s->count == 1 && word_is(&s->args[0], "-V"));
}

MATCH(db_backup)
{
    if (strcmp(s->name, "redis-cli") == 0)
        return args_have(s, "SAVE BGSAVE save bgsave --rdb");
    return !db_info(s);
}

/* Nothing but verbs that ask how the server is, and flags, known ones, that say where it is. */
static bool db_asks(const struct subject *s, const char *valued, const char *plain,
                    const char *verbs)
{
    bool asks = false;

    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;
        size_t len = text[0] == '-' && text[1] != '-' ? MIN_OF(s->args[i].len, 2) /* -uroot */
                                                      : strcspn(text, "=");

        if (list_has(valued, text))
            i++;
        else if (list_has(verbs, text))
            asks = true;
        else if (!list_has_n(valued, text, len) && !list_has_n(plain, text, len))
            return false;
    }
    return asks;
}

MATCH(db_client)
{
    if (strcmp(s->name, "redis-cli") == 0 &&
        db_asks(s, "-h -p -s -a -u -n -t --user --pass", "--tls --no-auth-warning", "ping PING"))
        return false;
    if (strcmp(s->name, "mysqladmin") == 0 &&
        db_asks(s, "-u -h -P -S --user --host --port --socket --protocol --connect-timeout",
                "-p -s --password --silent",
                "ping status extended-status processlist variables version"))
        return false;
    return !db_info(s);
}

/* ---- the shell itself ---- */

MATCH(eval)
{
    return s->count > 0;
}

MATCH(background)
{
    if (strcmp(s->name, "tmux") == 0)
        return list_has("new-session new new-window neww", verb_of(s, 0, "LSf", ""));
    if (strcmp(s->name, "screen") == 0)
        return s->count > 0 && !arg_is(s, 0, "-ls -list -v --version --help");
    if (strcmp(s->name, "setsid") == 0)
        return args_have_short(s, "f") || args_have_long(s, "fork");
    return !(s->count == 1 && args_have(s, "--help --version"));
}

MATCH(in_place)
{
    return writes_in_place(s);
}
