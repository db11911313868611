/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that hold keys, passwords or what somebody typed. Known by where they are (compared at the
 * start of a component, so that it does not matter whose home), or by their name. A pattern is such
 * a file if it could match one; as in the shell, a star does not match a leading dot. A hole below
 * a directory of secrets counts as one of them.
 */
#include <ctype.h>
#include <string.h>

#include "base/glob.h"
#include "base/str.h"
#include "classify/place.h"

/* Beginnings of paths, in any directory. */
static const char *const known[] = {
    ".ssh/id_",
    ".ssh/identity",
    ".ssh/known_hosts",
    ".ssh/authorized_keys",
    ".aws/credentials",
    ".aws/config",
    ".aws/sso/",
    ".kube/config",
    ".azure/",
    ".docker/config.json",
    ".alibabacloud/",
    ".config/gcloud/",
    ".config/gh/hosts",
    ".config/hub",
    ".config/rclone/",
    ".config/git/credentials",
    ".gnupg/",
    ".password-store/",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".node_repl_history",
    ".mysql_history",
    ".psql_history",
    ".rediscli_history",
    ".npmrc",
    ".pypirc",
    ".netrc",
    ".pgpass",
    ".my.cnf",
    ".git-credentials",
    ".cargo/credentials",
    ".gem/credentials",
    ".vault-token",
    ".terraform.d/credentials",
    ".s3cfg",
    ".boto",
    ".local/share/keyrings/",
    "Library/Keychains/",
    ".mozilla/firefox/",
    ".config/google-chrome/",
    ".config/chromium/",
    ".subversion/auth/",
    ".kaggle/kaggle.json",
    ".claude/.credentials",
    ".codex/auth.json",
    ".config/op/",
    ".electrum/",
};

/* What a pattern is tried against: its last components. */
static const char *const examples[] = {
    ".ssh/id_rsa",
    ".ssh/id_ed25519",
    ".ssh/id_ecdsa",
    ".aws/credentials",
    ".kube/config",
    ".env",
    ".netrc",
    ".npmrc",
    ".docker/config.json",
    ".pypirc",
    ".pgpass",
    ".git-credentials",
    ".bash_history",
    ".zsh_history",
    ".env.local",
    ".gnupg/secring.gpg",
    "/etc/shadow",
    "/etc/gshadow",
    ".aws/config",
};

static const char *last_name(const char *place)
{
    const char *slash = strrchr(place, '/');

    return slash ? slash + 1 : place;
}

static bool is_known(const char *place)
{
    for (const char *at = place; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (*at != '.' && *at != 'L')
            continue;
        for (size_t i = 0; i < ARRAY_LEN(known); i++) {
            if (str_has_prefix(at, known[i]))
                return true;
        }
    }
    return false;
}

static bool is_system_secret(const char *place)
{
    static const char *const files[] = { "/etc/shadow", "/etc/gshadow", "/etc/sudoers",
                                         "/etc/security/opasswd", "/etc/krb5.keytab" };

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        if (str_has_prefix(place, files[i]))
            return true;
    }
    if (str_has_prefix(place, "/proc/") &&
        (str_has_suffix(place, "/environ") || str_has_suffix(place, "/mem")))
        return true;
    if (str_has_prefix(place, "/etc/ssh/ssh_host_") && str_has_suffix(place, "_key"))
        return true;
    return str_has_prefix(place, "/run/secrets/") || str_has_prefix(place, "/var/run/secrets/");
}

static bool is_env_file(const char *name)
{
    if (strcmp(name, ".env") == 0 || strcmp(name, ".envrc") == 0)
        return true;
    return str_has_prefix(name, ".env.") &&
           !list_has("example sample template defaults dist", name + 5);
}

/* src/token.rs is about tokens and holds none. Scripts with settings in them are not sure. */
static bool is_source_code(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot &&
           list_has("c h cc cpp cxx hpp hh rs go java kt swift ts tsx jsx vue css scss html md "
                    "rst cs scala zig ex hs ml mli proto y l",
                    dot + 1);
}

/* secret, password, … between the ends, "_", "-" and ".". */
static bool has_telling_word(const char *name)
{
    static const char telling[] = "secret secrets credential credentials password passwords token "
                                  "tokens";
    char word[16];

    if (is_source_code(name))
        return false;
    for (const char *at = name; *at;) {
        size_t n = strcspn(at, "_-.");

        if (n > 0 && n < sizeof(word)) {
            for (size_t i = 0; i < n; i++)
                word[i] = (char)tolower((unsigned char)at[i]);
            word[n] = '\0';
            if (list_has(telling, word))
                return true;
        }
        at += n;
        at += strspn(at, "_-.");
    }
    return false;
}

static bool looks_secret(const char *name)
{
    static const char shown[] = ".example .sample .template .dist example. sample. template.";
    static const char *const suffixes[] = { ".pem", ".key",  ".p12",     ".pfx",
                                            ".jks", ".kdbx", ".keystore" };

    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (str_has_suffix(name, suffixes[i]))
            return true;
    }
    return has_telling_word(name) && !text_has_any(name, shown);
}

static bool could_match(const char *pattern, size_t len, const char *name, size_t name_len)
{
    if (name[0] == '.' && len > 0 && pattern[0] != '.' && pattern[0] != '[')
        return false;
    return glob_match(pattern, len, name, name_len);
}

/* The last components of the pattern against all of the example. */
static bool tail_could_match(const char *pattern, const char *example)
{
    const char *p = pattern + strlen(pattern), *e = example + strlen(example);

    for (;;) {
        const char *p_end = p, *e_end = e;

        while (p > pattern && p[-1] != '/')
            p--;
        while (e > example && e[-1] != '/')
            e--;
        if (!could_match(p, (size_t)(p_end - p), e, (size_t)(e_end - e)))
            return false;
        if (e == example)
            return true;
        if (p == pattern)
            return false;
        p--;
        e--;
        if (e == example) /* the example is absolute: so must be the pattern */
            return p == pattern;
    }
}

static bool pattern_could_match(const char *place)
{
    if (!glob_is_pattern(place, strlen(place)))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
        if (tail_could_match(place, examples[i]))
            return true;
    }
    return false;
}

bool place_is_secret_dir(const char *place)
{
    const char *name = last_name(place);

    return list_has(".ssh .aws .gnupg .kube .azure .password-store .docker", name) ||
           str_has_suffix(place, ".config/gcloud") || str_has_suffix(place, ".config/gh");
}

/* ~/.ssh/$X */
static bool is_hole_in_secret_dir(const char *place)
{
    const char *slash = strrchr(place, '/');
    char dir[256];

    if (!slash || !strchr(slash, WORD_HOLE) || (size_t)(slash - place) >= sizeof(dir))
        return false;
    memcpy(dir, place, (size_t)(slash - place));
    dir[slash - place] = '\0';
    return place_is_secret_dir(dir);
}

bool place_is_startup_file(const char *place)
{
    static const char *const ends[] = { "/.ssh/authorized_keys", "/.ssh/config", "/.ssh/rc",
                                        "/.config/fish/config.fish", "/.config/git/config" };
    static const char *const within[] = { "/Library/LaunchAgents/", "/.config/autostart/",
                                          "/.config/systemd/user/" };

    if (list_has(".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile "
                 ".zlogin .kshrc .cshrc .tcshrc .gitconfig .vimrc .inputrc .xprofile .xinitrc",
                 last_name(place)))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        if (str_has_suffix(place, ends[i]))
            return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(within); i++) {
        if (strstr(place, within[i]))
            return true;
    }
    return false;
}

bool place_is_secret(const char *place, bool sure)
{
    const char *name = last_name(place);

    if (str_has_suffix(place, ".pub"))
        return false;
    if (is_known(place) || is_system_secret(place) || is_env_file(name))
        return true;
    if (list_has("id_rsa id_dsa id_ecdsa id_ed25519", name))
        return true;
    if (str_has_prefix(name, "id_") && glob_is_pattern(name, strlen(name)))
        return true;
    if (pattern_could_match(place) || is_hole_in_secret_dir(place))
        return true;
    return !sure && looks_secret(name);
}
