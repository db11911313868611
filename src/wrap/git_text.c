/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text around git: the words of an alias, split as git splits them; shell text in which git may be
 * called; the names that cannot be aliases. Shell text is only skimmed: blanks part words, quotes
 * hold them together, operators part commands. That finds what is written plainly, and no more.
 */
#include "wrap/guard.h"
#include "wrap/words.h"

#define TEXT_WORDS 128
#define TEXT_BYTES 2048

/* What needs no look into the configuration: git prefers these to an alias. */
static const char known[] =
    "add annotate apply archive blame bugreport bundle cat-file check-attr check-ignore "
    "check-mailmap check-ref-format cherry clone column commit-graph commit-tree config "
    "count-objects credential daemon describe diagnose diff diff-files diff-index diff-tree "
    "difftool fast-export fast-import fetch fetch-pack fmt-merge-msg for-each-ref for-each-repo "
    "format-patch fsck grep hash-object help hook index-pack init init-db instaweb "
    "interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance merge-base "
    "merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index name-rev notes "
    "pack-objects pack-refs patch-id prune-packed range-diff receive-pack remote repack replace "
    "request-pull rerere rev-list rev-parse send-email send-pack shortlog show show-branch "
    "show-index show-ref sparse-checkout stage status stripspace symbolic-ref tag unpack-file "
    "unpack-objects update-index update-server-info upload-archive upload-pack var verify-commit "
    "verify-pack verify-tag version whatchanged write-tree";

bool git_is_known(const char *name)
{
    return words_list(known, name, words_len(name));
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

long git_split_alias(const char *value, size_t len, char *text, const char **words, size_t room)
{
    size_t count = 0, out = 0;
    char quote = '\0';
    bool in_word = false;

    for (size_t i = 0; i < len; i++) {
        char c = value[i];
        if (!quote && is_blank(c)) {
            if (in_word)
                text[out++] = '\0';
            in_word = false;
            continue;
        }
        if (!in_word) {
            if (count == room)
                return -1;
            words[count++] = text + out;
            in_word = true;
        }
        if (!quote && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == quote) {
            quote = '\0';
        } else {
            if (c == '\\' && quote != '\'' && ++i == len)
                return -1;
            text[out++] = value[i];
        }
    }
    text[out] = '\0';
    return quote ? -1 : (long)count;
}

/* The end of one command in shell text: an operator outside of quotes, or the end. */
static size_t command_end(const char *text)
{
    char quote = '\0';
    size_t i = 0;

    for (; text[i]; i++) {
        char c = text[i];
        if (quote) {
            quote = c == quote ? '\0' : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == ';' || c == '|' || c == '&' || c == '(' || c == ')' || c == '\n') {
            break;
        }
    }
    return i;
}

static void judge_words(const char **words, size_t count, uint32_t depth, struct guard_verdict *ret)
{
    static const char *const no_environment[] = { NULL };

    for (size_t i = 0; i < count; i++)
        if (words_same(words_base(words[i]), "git")) {
            const struct guard_call call = { count - i, words + i, no_environment, depth };
            git_judge(&call, ret);
            return;
        }
}

void git_judge_text(const char *text, uint32_t depth, struct guard_verdict *ret)
{
    char buffer[TEXT_BYTES];
    const char *words[TEXT_WORDS];

    *ret = (struct guard_verdict){ .action = GUARD_RUN };
    while (*text && ret->action != GUARD_STOP) {
        size_t len = command_end(text);
        long count = len < sizeof buffer
                         ? git_split_alias(text, len, buffer, words, ARRAY_LEN(words))
                         : -1;
        if (count > 0)
            judge_words(words, (size_t)count, depth, ret);
        text += len + (text[len] != '\0');
    }
    if (ret->action != GUARD_STOP)
        *ret = (struct guard_verdict){ .action = GUARD_RUN };
    ret->is_local = false; /* the text may first go elsewhere */
}

/* path[0 … len) is dir[0 … dir_len) or lies in it. */
static bool is_at_or_below(const char *path, size_t len, const char *dir, size_t dir_len)
{
    if (len < dir_len || (len > dir_len && path[dir_len] != '/'))
        return false;
    for (size_t i = 0; i < dir_len; i++)
        if (path[i] != dir[i])
            return false;
    return true;
}

bool git_dir_is_private(const struct guard_private *p, const char *dir, size_t len)
{
    size_t tmp = words_len(p->tmp);

    if (!tmp || len == tmp || !is_at_or_below(dir, len, p->tmp, tmp))
        return false;
    for (size_t i = 0; i < p->root_count; i++) {
        const char *root = p->roots[i];
        size_t root_len = words_len(root);
        if (is_at_or_below(dir, len, root, root_len) || is_at_or_below(root, root_len, dir, len))
            return false;
    }
    return true;
}
