/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only git itself can say about its command line, asked of the real one with the same options
 * and the same environment: what an alias stands for (whatever way it was set), and which
 * repository is meant. Asked only where it matters: for a name that is no command of git's, and for
 * a command that would be stopped in a private /tmp.
 */
#include <asm/signal.h>
#include <linux/stat.h>

#include "wrap/words.h"
#include "wrapper/wrapper.h"

#define ANSWER_BYTES 8192

/* What the child does; ends in exec or in 127. */
static ATTR_NORETURN void become_git(const struct wrapper *w, const char *const *argv, int out)
{
    long null = TRY4(__NR_openat, SYS_AT_FDCWD, "/dev/null", SYS_O_RDWR, 0);

    if (null >= 0) {
        (void)TRY3(__NR_dup3, null, 0, 0);
        (void)TRY3(__NR_dup3, null, 2, 0);
    }
    if (TRY3(__NR_dup3, out, 1, 0) >= 0)
        (void)TRY3(__NR_execve, w->real, argv, w->envp);
    launcher_exit(127);
}

#define TOO_MUCH (-2)

/* The length of what git printed; -1: it failed; TOO_MUCH: there is no room for all of it. */
static long ask_git(const struct wrapper *w, const char *const *argv, char answer[ANSWER_BYTES])
{
    int ends[2] = { -1, -1 }, status = -1;
    long len = 0, n = -1;

    if (TRY2(__NR_pipe2, ends, SYS_O_CLOEXEC) < 0)
        return -1;
    long pid = TRY5(__NR_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        become_git(w, argv, ends[1]);
    file_close(ends[1]);
    while (pid > 0 && len < ANSWER_BYTES - 1) {
        n = TRY3(__NR_read, ends[0], answer + len, (size_t)(ANSWER_BYTES - 1 - len));
        if (n <= 0)
            break;
        len += n;
    }
    file_close(ends[0]);
    while (pid > 0 && TRY4(__NR_wait4, pid, &status, 0, 0) == -EINTR)
        ;
    if (pid > 0 && n > 0)
        return TOO_MUCH;
    if (pid < 0 || n != 0 || status != 0)
        return -1;
    answer[len] = '\0';
    return len;
}

/* git's options before the subcommand, then these words. */
static const char **question(const struct guard_call *call, const char *const *words, size_t count)
{
    size_t next, n = 0;

    if (!git_find_verb(call, &next))
        return NULL;
    bool dashed = next == 1; /* called as git-VERB: there are none */
    size_t end = dashed ? 1 : next - 1;
    const char **argv = wrapper_alloc(end + count + 1, sizeof *argv);

    if (!argv)
        return NULL;
    argv[n++] = "git";
    for (size_t i = 1; i < end; i++)
        argv[n++] = call->argv[i];
    for (size_t i = 0; i < count; i++)
        argv[n++] = words[i];
    return argv;
}

/* Without the newline that git prints behind it. */
static const char *trimmed(char *text)
{
    size_t len = text_len(text);

    if (len > 0 && text[len - 1] == '\n')
        text[len - 1] = '\0';
    return text;
}

static char *put(char *out, const char *text)
{
    while (*text)
        *out++ = *text++;
    return out;
}

/* Text for a shell and the arguments that git puts behind it, each in quotes. */
static const char *with_arguments(const char *text, const struct guard_call *call, size_t from)
{
    size_t size = text_len(text) + 1;

    for (size_t i = from; i < call->argc; i++)
        size += 4 * text_len(call->argv[i]) + 3;
    char *joined = wrapper_alloc(size, 1), *out = joined;
    if (!joined)
        return text;
    out = put(out, text);
    for (size_t i = from; i < call->argc; i++) {
        out = put(out, " '");
        for (const char *at = call->argv[i]; *at; at++)
            out = *at == '\'' ? put(out, "'\\''") : put(out, (const char[]){ *at, '\0' });
        out = put(out, "'");
    }
    *out = '\0';
    return joined;
}

/* More than can be followed is not run on the off chance. */
static bool stop_alias(struct guard_verdict *ret)
{
    *ret = (struct guard_verdict){ .action = GUARD_STOP,
                                   .what = "alias",
                                   .why = "it stands for more than can be followed",
                                   .instead = "call the command that it stands for" };
    return false;
}

/* The call with the alias in the place of its name; false: none, or *ret says what it does. */
static bool expand_alias(const struct wrapper *w, struct guard_call *call, size_t at,
                         struct guard_verdict *ret)
{
    char key[300] = "alias.", answer[ANSWER_BYTES];
    const char *const words[] = { "config", "--get", key };

    if (text_len(call->argv[at]) >= 256)
        return stop_alias(ret);
    text_append(key, sizeof key, call->argv[at]);
    const char **argv = question(call, words, ARRAY_LEN(words));
    long len = argv ? ask_git(w, argv, answer) : -1;
    if (len == TOO_MUCH)
        return stop_alias(ret);
    if (len <= 0)
        return false;
    if (answer[0] == '!') {
        git_judge_text(with_arguments(trimmed(answer + 1), call, at + 1), 0, ret);
        return false;
    }
    char *text = wrapper_alloc((size_t)len + 1, 1);
    const char **expanded = wrapper_alloc(call->argc + (size_t)len + 1, sizeof *expanded);
    if (!text || !expanded)
        return stop_alias(ret);
    long count = git_split_alias(answer, (size_t)len, text, expanded + at, (size_t)len);
    if (count <= 0 || words_same(expanded[at], call->argv[at]))
        return false; /* git refuses it */
    for (size_t i = 0; i < at; i++)
        expanded[i] = call->argv[i];
    for (size_t i = at + 1; i < call->argc; i++)
        expanded[(size_t)count + i - 1] = call->argv[i];
    call->argc += (size_t)count - 1;
    call->argv = expanded;
    return true;
}

/* Where git looks for files: the directories of all -C, one after the other. */
static long open_place(const struct guard_call *call)
{
    long dir = SYS_AT_FDCWD;
    size_t next;

    if (!git_find_verb(call, &next))
        return dir;
    for (size_t i = 1; i + 2 < next; i++) {
        if (words_same(call->argv[i], "-C") && call->argv[i + 1][0])
            dir = TRY4(__NR_openat, dir, call->argv[i + 1],
                       SYS_O_PATH | SYS_O_DIRECTORY | SYS_O_CLOEXEC, 0);
        if (dir < 0 && dir != SYS_AT_FDCWD)
            return dir;
        i += git_is_global(call->argv[i]) ? 1 : 0;
    }
    return dir;
}

/* The files of git's repository may lie elsewhere than the words say. */
static bool is_elsewhere(const struct guard_call *call)
{
    size_t next;

    for (const char *const *e = call->envp; *e; e++)
        if (text_has_prefix(*e, "GIT_DIR=") || text_has_prefix(*e, "GIT_WORK_TREE=") ||
            text_has_prefix(*e, "GIT_CONFIG"))
            return true;
    if (!git_find_verb(call, &next))
        return false;
    for (size_t i = 1; i + 1 < next; i++)
        if (text_has_prefix(call->argv[i], "--git-dir") || words_same(call->argv[i], "-c") ||
            text_has_prefix(call->argv[i], "--work-tree") ||
            text_has_prefix(call->argv[i], "--config-env"))
            return true;
    return false;
}

/* A file that git knows, as the real one sees it. */
static bool is_tracked(const struct wrapper *w, const struct guard_call *call, const char *word)
{
    const char *const words[] = { "ls-files", "--", word };
    const char **argv = question(call, words, ARRAY_LEN(words));
    char answer[ANSWER_BYTES];
    long len = argv ? ask_git(w, argv, answer) : -1;

    return len > 0 || len == TOO_MUCH;
}

static bool names_a_file(const struct wrapper *w, const struct guard_call *call, size_t at)
{
    const char *word = call->argv[at];
    struct statx st;

    if (word[0] == ':')
        return true;
    for (const char *c = "*?[\\"; *c; c++)
        if (words_find(word, *c))
            return true; /* patterns; no branch can be called that */
    long dir = open_place(call);
    if ((dir >= 0 || dir == SYS_AT_FDCWD) &&
        TRY5(__NR_statx, dir, word, SYS_AT_NOFOLLOW, STATX_TYPE, &st) == 0)
        return true;
    return is_elsewhere(call) && is_tracked(w, call, word);
}

/* The objects of another repository, of which git says nothing. */
static bool borrows_objects(const struct wrapper *w)
{
    for (const char *const *e = w->envp; *e; e++)
        if (text_has_prefix(*e, "GIT_OBJECT_DIRECTORY="))
            return true;
    return false;
}

/* All of the repository goes with the run. */
static bool is_private(const struct wrapper *w, const struct guard_call *call)
{
    static const char *const words[] = { "rev-parse", "--path-format=absolute", "--git-common-dir",
                                         "--show-toplevel" };
    char answer[ANSWER_BYTES];
    size_t lines = 0;

    if (!w->private.tmp[0] || borrows_objects(w))
        return false;
    const char **argv = question(call, words, ARRAY_LEN(words));
    if (!argv || ask_git(w, argv, answer) <= 0)
        return false;
    for (const char *line = answer; *line; lines++) {
        size_t len = 0;
        while (line[len] && line[len] != '\n')
            len++;
        if (!git_dir_is_private(&w->private, line, len))
            return false;
        line += len + (line[len] == '\n');
    }
    return lines == 2;
}

void wrapper_judge_git(const struct wrapper *w, struct guard_verdict *ret)
{
    struct guard_call call = { w->argc, w->argv, w->envp, 0 };

    for (int i = 0; i <= GIT_MAX_ALIASES; i++) {
        git_judge(&call, ret);
        if (ret->action != GUARD_ALIAS || !expand_alias(w, &call, ret->word, ret))
            break;
        if (i == GIT_MAX_ALIASES)
            (void)stop_alias(ret);
    }
    if (ret->action == GUARD_IF_FILE && names_a_file(w, &call, ret->word))
        ret->action = GUARD_STOP;
    if (ret->action == GUARD_STOP && ret->is_local && is_private(w, &call))
        ret->action = GUARD_RUN;
}
