/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A git command line, read as git reads it, and judged by the rows of git_stops.def.
 *
 * git itself takes options before the subcommand, never abbreviated; subcommands take theirs in any
 * place before "--", long ones abbreviated, short ones in groups. An option whose value is the next
 * word must be known, or the value is mistaken for an option ("commit -m --no-verify"). Settings
 * given for one call count where they replace a flag (core.hooksPath, gc.*, what is pushed to a
 * remote, and include.path, which may hold any). What only git can know is left to the caller: what
 * an alias stands for, whether "checkout NAME" names a file.
 *
 * Trusts nothing about the words. What is not in the table runs: this is advice.
 */
#include "wrap/guard.h"
#include "wrap/words.h"

enum {
    GIT_NONE = 0,
    GIT_FORCE = 1 << 0,
    GIT_DRY = 1 << 1,
    GIT_DELETE = 1 << 2,
    GIT_KILL = 1 << 3,
    GIT_MOVE = 1 << 4,
    GIT_COPY = 1 << 5,
    GIT_REMOTE = 1 << 6,
    GIT_NO_VERIFY = 1 << 7,
    GIT_STAGED = 1 << 8,
    GIT_WORKTREE = 1 << 9,
    GIT_PATCH = 1 << 10,
    GIT_CREATE = 1 << 11,
    GIT_RENEW = 1 << 12,
    GIT_PATHS = 1 << 13,
    GIT_ELSEWHERE = 1 << 14,
    GIT_ASKS = 1 << 15,
    GIT_PRUNE = 1 << 16,
    GIT_LEASE = 1 << 17,
    GIT_MIRROR = 1 << 18,
    GIT_MERGE = 1 << 19,
    GIT_STDIN = 1 << 20,
    GIT_PLUS = 1 << 21,
    GIT_GONE = 1 << 22,
    GIT_HOOKS = 1 << 23,
    GIT_SETTINGS = 1 << 24,
    GIT_REFSPECS = 1 << 25,
};

/* Flags that take the harm out of a line: a way to turn them off again must not be missed. */
#define GIT_EXCUSES (GIT_DRY | GIT_ASKS | GIT_REMOTE | GIT_STAGED | GIT_ELSEWHERE | GIT_CREATE)

/* Options before the subcommand whose value may be the next word. */
static const char globals[] = "--attr-source --config-env --git-dir --namespace --shallow-file "
                              "--super-prefix --work-tree -C -c";

/* The tables hold no pointers: each would be one more relocation at every start of the launcher. */
static const struct git_verb {
    char name[16], shorts[8], glued[4], longs[160];
} verbs[] = {
#define GIT_VERB(name, shorts, glued, longs) { name, shorts, glued, longs },
#include "wrap/git_verbs.def"
#undef GIT_VERB
};

static const struct git_flag {
    char verb[16], letters[4], name[20];
    uint32_t flag;
} flags[] = {
#define GIT_FLAG(verb, letters, name, flag) { verb, letters, name, flag },
#include "wrap/git_flags.def"
#undef GIT_FLAG
};

static const struct git_stop {
    char verb[16], sub[8];
    uint32_t all, none;
    char what[28], why[56], instead[96];
} stops[] = {
#define GIT_STOP(verb, sub, all, none, what, why, instead)                                         \
    { verb, sub, all, none, what, why, instead },
#include "wrap/git_stops.def"
#undef GIT_STOP
};

#define GIT_OPERANDS 3 /* that are looked at one by one */

/* A subcommand's words, sorted out. */
struct git_line {
    const struct guard_call *call;
    const struct git_verb *verb;
    uint32_t flags;
    size_t count;                  /* operands before "--" */
    size_t operands[GIT_OPERANDS]; /* their places */
    bool ended;                    /* there is a "--" */
    size_t behind;                 /* operands behind it */
    const char *text;              /* of --exec: shell text */
};

bool git_is_global(const char *word)
{
    return words_list(globals, word, words_len(word));
}

const char *git_find_verb(const struct guard_call *call, size_t *ret_next)
{
    const char *name = words_base(call->argv[0]);
    size_t i = 1;

    if (words_begin(name, "git-") && name[4]) {
        *ret_next = 1;
        return name + 4;
    }
    while (i < call->argc && call->argv[i][0] == '-')
        i += git_is_global(call->argv[i]) ? 2 : 1;
    *ret_next = MIN_OF(i + 1, call->argc);
    return i < call->argc ? call->argv[i] : NULL;
}

/* ---- settings for one call ---- */

static bool ends_lower(const char *key, size_t len, const char *end)
{
    size_t n = words_len(end);

    return len >= n && words_same_lower(key + len - n, n, end);
}

static uint32_t setting_flags(const char *key, size_t len)
{
    if (words_same_lower(key, len, "core.hookspath"))
        return GIT_HOOKS;
    if (words_begin_lower(key, len, "include.") || words_begin_lower(key, len, "includeif."))
        return GIT_HOOKS | GIT_SETTINGS | GIT_REFSPECS;
    if (words_begin_lower(key, len, "remote.") &&
        (ends_lower(key, len, ".push") || ends_lower(key, len, ".mirror")))
        return GIT_REFSPECS;
    return words_begin_lower(key, len, "gc.") ? GIT_SETTINGS : 0;
}

static size_t key_len(const char *setting)
{
    const char *equals = words_find(setting, '=');

    return equals ? (size_t)(equals - setting) : words_len(setting);
}

/* 'key=value' 'key'='value' …, as git passes them to its children. */
static uint32_t parameter_flags(const char *text)
{
    uint32_t found = 0;

    for (size_t i = 0; text[i]; i++)
        if (i == 0 || text[i - 1] == '\'' || text[i - 1] == ' ') {
            size_t len = 0;
            while (text[i + len] && text[i + len] != '=' && text[i + len] != '\'')
                len++;
            found |= setting_flags(text + i, len);
        }
    return found;
}

static uint32_t environment_flags(const char *const *envp)
{
    uint32_t found = 0;

    for (; envp && *envp; envp++) {
        const char *value = words_find(*envp, '=');
        if (!value)
            continue;
        if (words_begin(*envp, "GIT_CONFIG_KEY_"))
            found |= setting_flags(value + 1, words_len(value + 1));
        else if (words_begin(*envp, "GIT_CONFIG_PARAMETERS="))
            found |= parameter_flags(value + 1);
    }
    return found;
}

/* argv[1 … end): the options before the subcommand. */
static uint32_t global_flags(const struct guard_call *call, size_t end)
{
    uint32_t found = 0;

    for (size_t i = 1; i + 1 < end; i++) {
        const char *word = call->argv[i];
        bool next = i + 2 < end;
        if (words_begin(word, "--config-env="))
            found |= setting_flags(word + 13, key_len(word + 13));
        else if (next && (words_same(word, "-c") || words_same(word, "--config-env")))
            found |= setting_flags(call->argv[i + 1], key_len(call->argv[i + 1]));
        i += git_is_global(word) ? 1 : 0;
    }
    return found;
}

/* ---- a subcommand's words ---- */

static const struct git_verb *find_verb(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (words_same(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

static bool begins(const char *word, size_t len, const char *name)
{
    for (size_t i = 0; i < len; i++)
        if (word[i] != name[i])
            return false;
    return len > 0;
}

/* An option of which this is the whole name is no abbreviation of another. */
static bool is_exact(const struct git_line *l, const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (words_same(flags[i].verb, l->verb->name) && words_len(flags[i].name) == len &&
            begins(word, len, flags[i].name))
            return true;
    return words_list(l->verb->longs, word, len);
}

/* gc --prune=DATE: without a date nothing young goes. */
static bool value_matters(const struct git_line *l, const struct git_flag *f, const char *value)
{
    if (!words_same(l->verb->name, "gc") || f->flag != GIT_PRUNE)
        return true;
    return value && !words_same(value, "never");
}

/* "--name" or "--name=value"; true: the next word is its value. */
static bool read_long(struct git_line *l, const char *word, const char *next)
{
    size_t len = key_len(word);
    const char *value = word[len] ? word + len + 1 : NULL;
    bool exact = is_exact(l, word, len);

    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        const struct git_flag *f = &flags[i];
        if (!f->name[0] || !words_same(f->verb, l->verb->name))
            continue;
        bool same = words_len(f->name) == len;
        if (begins(word, len, f->name) && (same || !exact) && value_matters(l, f, value))
            l->flags |= f->flag;
        if (words_begin(word, "no-") &&
            (words_same(word + 3, f->name) ||
             ((f->flag & GIT_EXCUSES) && begins(word + 3, len - 3, f->name))))
            l->flags &= ~f->flag;
        if (words_begin(f->name, "no-") && words_same(f->name + 3, word))
            l->flags &= ~f->flag;
    }
    bool takes = exact ? words_list(l->verb->longs, word, len)
                       : words_list_begins(l->verb->longs, word, len);
    if (takes && begins(word, len, "exec") && words_same(l->verb->name, "rebase"))
        l->text = value ? value : next;
    return takes && !value;
}

/* A group of letters; true: the next word is the value of the last. */
static bool read_shorts(struct git_line *l, const char *word, const char *next)
{
    for (; *word; word++) {
        for (size_t i = 0; i < ARRAY_LEN(flags); i++)
            if (words_same(flags[i].verb, l->verb->name) && words_find(flags[i].letters, *word))
                l->flags |= flags[i].flag;
        if (words_find(l->verb->glued, *word))
            return false;
        if (!words_find(l->verb->shorts, *word))
            continue;
        if (*word == 'x' && words_same(l->verb->name, "rebase"))
            l->text = word[1] ? word + 1 : next;
        return !word[1];
    }
    return false;
}

static void add_operand(struct git_line *l, size_t place)
{
    const char *word = l->call->argv[place];

    if (l->ended)
        l->behind++;
    else if (l->count < GIT_OPERANDS)
        l->operands[l->count] = place;
    if (words_same(l->verb->name, "push") && l->count + l->behind > (l->ended ? 1u : 0u)) {
        if (word[0] == '+')
            l->flags |= GIT_PLUS;
        if (word[0] == ':' && word[1])
            l->flags |= GIT_GONE;
    }
    l->count += !l->ended;
}

static void read_line(struct git_line *l, size_t from)
{
    bool operands_only = false;

    for (size_t i = from; i < l->call->argc; i++) {
        const char *word = l->call->argv[i];
        const char *next = i + 1 < l->call->argc ? l->call->argv[i + 1] : NULL;

        if (l->ended || operands_only || word[0] != '-' || !word[1])
            add_operand(l, i);
        else if (words_same(word, "--"))
            l->ended = true;
        else if (words_same(word, "--end-of-options"))
            operands_only = true;
        else if (word[1] == '-')
            i += read_long(l, word + 2, next) ? 1 : 0;
        else
            i += read_shorts(l, word + 1, next) ? 1 : 0;
    }
}

static const char *operand(const struct git_line *l, size_t i)
{
    return i < l->count && i < GIT_OPERANDS ? l->call->argv[l->operands[i]] : "";
}

static bool is_zeros(const char *word)
{
    while (*word == '0')
        word++;
    return !*word;
}

/* What operands alone say. */
static void read_operands(struct git_line *l, struct guard_verdict *ret)
{
    bool names_a_branch = l->flags & (GIT_CREATE | GIT_RENEW);

    if (words_same(l->verb->name, "update-ref") && l->count > 1 && is_zeros(operand(l, 1)))
        l->flags |= GIT_GONE;
    if (!words_same(l->verb->name, "checkout"))
        return;
    if (l->behind > 0 || (!names_a_branch && !l->ended && l->count > 1))
        l->flags |= GIT_PATHS;
    if (!names_a_branch && !l->ended && l->count == 1 && !words_same(operand(l, 0), "-"))
        *ret = (struct guard_verdict){ .action = GUARD_IF_FILE, .word = l->operands[0] };
}

static void stop(const struct git_stop *row, struct guard_verdict *ret)
{
    *ret = (struct guard_verdict){
        .action = GUARD_STOP,
        .word = ret->word,
        .what = row->what,
        .why = row->why,
        .instead = row->instead,
        .is_local = !words_same(row->verb, "push"),
    };
}

static const struct git_stop *find_stop(const struct git_line *l, uint32_t more)
{
    uint32_t set = l->flags | more;

    for (size_t i = 0; i < ARRAY_LEN(stops); i++)
        if (words_same(stops[i].verb, l->verb->name) && (set & stops[i].all) == stops[i].all &&
            !(set & stops[i].none) && (!stops[i].sub[0] || words_same(stops[i].sub, operand(l, 0))))
            return &stops[i];
    return NULL;
}

/* Words that git would hand to a shell: "bisect run WORD…", "submodule foreach WORD…". */
static size_t shell_words(const struct git_line *l)
{
    if (l->count < 2)
        return 0;
    bool runs = words_same(l->verb->name, "bisect") && words_same(operand(l, 0), "run");
    bool each = words_same(l->verb->name, "submodule") && words_same(operand(l, 0), "foreach");

    return runs || each ? l->operands[1] : 0;
}

static void judge_line(struct git_line *l, size_t from, struct guard_verdict *ret)
{
    read_line(l, from);
    read_operands(l, ret);
    const struct git_stop *row = find_stop(l, 0);
    if (row) {
        stop(row, ret);
        return;
    }
    if (ret->action == GUARD_IF_FILE) {
        row = find_stop(l, GIT_PATHS);
        stop(row, ret);
        ret->action = GUARD_IF_FILE;
        return;
    }
    size_t at = shell_words(l);
    if (at && words_same(words_base(l->call->argv[at]), "git")) {
        const struct guard_call inner = { l->call->argc - at, l->call->argv + at, l->call->envp,
                                          l->call->depth + 1 };
        git_judge(&inner, ret);
        ret->is_local = false; /* it may have a -C of its own */
    } else if (at || l->text) {
        git_judge_text(at ? l->call->argv[at] : l->text, l->call->depth + 1, ret);
    }
    if (ret->action != GUARD_STOP)
        *ret = (struct guard_verdict){ .action = GUARD_RUN };
}

void git_judge(const struct guard_call *call, struct guard_verdict *ret)
{
    struct git_line l = { .call = call };
    size_t next;

    *ret = (struct guard_verdict){ .action = GUARD_RUN };
    if (call->argc == 0 || call->depth > GIT_MAX_DEPTH)
        return;
    const char *name = git_find_verb(call, &next);
    if (!name)
        return;
    bool helps = next < call->argc &&
                 (words_same(call->argv[next], "--help") ||
                  (words_same(call->argv[next], "-h") && next + 1 == call->argc));
    if (helps)
        return;
    l.verb = find_verb(name);
    if (!l.verb) {
        if (!git_is_known(name) && next > 1)
            *ret = (struct guard_verdict){ .action = GUARD_ALIAS, .word = next - 1 };
        return;
    }
    l.flags = global_flags(call, next) | environment_flags(call->envp);
    judge_line(&l, next, ret);
}
