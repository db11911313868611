/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command writes to. Redirects say so themselves; for programs a table knows which operands
 * and which flags name files that are made, changed or deleted. A program that is not in the table
 * may write anything: that is what the sandbox is for. Here only the accidents that show are found.
 */
#include "classify/writes.h"

#include <string.h>

#include "base/str.h"
#include "classify/rules.h"

enum which {
    WHICH_ALL,  /* operands, behind the first `skip` */
    WHICH_LAST, /* the last operand of at least two, and what -t names */
    WHICH_MOVE, /* all: the first are deleted, the last is written */
    WHICH_NONE, /* only flags */
    WHICH_OF,   /* of=FILE */
    WHICH_EDIT, /* operands if -i is there, the first is the script unless -e or -f gave one */
    WHICH_GIT,  /* checkout, restore, rm, mv: the paths; diff and its kind: what --output names */
    WHICH_LONG, /* -flag FILE, -flag=FILE: long flags with one dash */
};

struct writer {
    const char *names;
    enum write_how how;
    enum which which;
    size_t skip;
    const char *short_values, *long_values; /* flags that take a value */
    const char *out;                        /* of these, the letters that name a file */
    const char *long_out;
};

static const struct writer writers[] = {
    { "rm unlink rmdir srm trash trash-put", WRITE_DELETE, WHICH_ALL, 0, "", "", "", "" },
    { "touch mkdir mkfifo mknod sponge ed", WRITE_FILE, WHICH_ALL, 0, "mdrt", "mode date reference",
      "", "" },
    { "truncate", WRITE_FILE, WHICH_ALL, 0, "sr", "size reference", "", "" },
    { "shred", WRITE_DELETE, WHICH_ALL, 0, "ns", "iterations size random-source", "", "" },
    { "tee", WRITE_STREAM, WHICH_ALL, 0, "", "output-error", "", "" },
    { "chmod chown chgrp chattr setfacl setcap", WRITE_MODE, WHICH_ALL, 1, "", "reference from", "",
      "" },
    { "mv", WRITE_FILE, WHICH_MOVE, 0, "tS", "target-directory suffix", "t", "target-directory" },
    { "cp ln rsync scp ditto", WRITE_FILE, WHICH_LAST, 0, "tSeoiFPlc",
      "target-directory suffix rsh", "t", "target-directory" },
    { "install", WRITE_FILE, WHICH_LAST, 0, "tSmgo", "target-directory suffix mode group owner",
      "t", "target-directory" },
    { "dd", WRITE_STREAM, WHICH_OF, 0, "", "", "", "" },
    { "uniq", WRITE_FILE, WHICH_LAST, 0, "fsw", "skip-fields skip-chars check-chars", "", "" },
    { "xxd", WRITE_FILE, WHICH_LAST, 0, "closgn", "", "", "" },
    { "tree", WRITE_FILE, WHICH_NONE, 0, "LPIHTo", "", "o", "" },
    { "sort", WRITE_FILE, WHICH_NONE, 0, "okStT", "output key field-separator", "o", "output" },
    { "curl", WRITE_FILE, WHICH_NONE, 0, "oHdXuAbceFmTwxDEKPQrtyYzC",
      "output header data request user user-agent cookie cookie-jar form max-time upload-file "
      "dump-header output-dir",
      "ocD", "output cookie-jar dump-header output-dir" },
    { "wget", WRITE_FILE, WHICH_NONE, 0, "OPoaieUTtQAR",
      "output-document directory-prefix output-file append-output", "OPoa",
      "output-document directory-prefix output-file append-output" },
    { "gcc g++ cc c++ clang clang++ ld rustc", WRITE_FILE, WHICH_NONE, 0, "oILlDUfWOxX", "", "o",
      "" },
    { "tar bsdtar gtar", WRITE_FILE, WHICH_NONE, 0, "fCTXIbFgK", "file directory", "C",
      "directory" },
    { "unzip", WRITE_FILE, WHICH_NONE, 0, "dxP", "", "d", "" },
    { "patch", WRITE_FILE, WHICH_ALL, 0, "idopDBFYzr", "input directory output", "o", "output" },
    { "sed gsed", WRITE_FILE, WHICH_EDIT, 1, "eflE", "expression file line-length", "", "" },
    { "perl ruby", WRITE_FILE, WHICH_EDIT, 1, "eEIlF", "", "", "" },
    { "yq", WRITE_FILE, WHICH_EDIT, 1, "oPp", "", "", "" },
    { "gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd", WRITE_FILE, WHICH_ALL, 0, "SoT", "suffix",
      "o", "" },
    { "git", WRITE_FILE, WHICH_GIT, 0, "", "", "", "" },
    { "find gfind", WRITE_FILE, WHICH_LONG, 0, "", "", "", "fprint fprint0 fprintf fls" },
    { "go", WRITE_FILE, WHICH_LONG, 0, "", "", "",
      "o coverprofile cpuprofile memprofile blockprofile mutexprofile trace outputdir" },
    { "split csplit", WRITE_FILE, WHICH_LAST, 0, "abCdln", "", "", "" },
};
const size_t writer_count = ARRAY_LEN(writers);

const char *writer_names(const struct writer *w)
{
    return w->names;
}

const struct writer *writer_at(size_t i)
{
    return &writers[i];
}

static size_t count_operands(const struct subject *s, const struct writer *w)
{
    struct flags f;
    enum flag_kind kind;
    size_t n = 0;

    flags_init(&f, s->args, s->count, w->short_values, w->long_values);
    while ((kind = flags_next(&f)) != FLAG_END)
        n += kind == FLAG_OPERAND;
    return n;
}

/* -i, -ni, -i.bak, --in-place; of perl also -pi. */
bool writes_in_place(const struct subject *s)
{
    if (list_has("awk gawk", s->name))
        return args_have(s, "inplace -iinplace --include=inplace");
    if (args_have_long(s, "in-place") || args_have_long(s, "inplace"))
        return true;
    bool coder = list_has("perl ruby", s->name); /* flags end where the script's name is */

    for (size_t i = 0; i < s->count; i++) {
        const char *text = s->args[i].text;

        if (text[0] != '-' && coder && (i == 0 || !list_has("-e -E", s->args[i - 1].text)))
            return false;
        if (text[0] != '-' || text[1] == '-')
            continue;
        size_t n = strcspn(text, "i");

        if (text[n] == 'i' && strcspn(text, coder ? "eEI" : "ef") > n)
            return true;
    }
    return false;
}

static const struct writer git_paths = { "", WRITE_FILE, WHICH_ALL, 0, "", "", "", "" };
static const struct writer git_output = {
    "", WRITE_FILE, WHICH_NONE, 0, "", "output", "", "output"
};
static const struct writer git_export = {
    "", WRITE_FILE, WHICH_NONE, 0, "o", "output output-directory", "o", "output output-directory"
};

static const struct writer *git_writer(const char *verb)
{
    if (list_has("checkout restore rm mv apply update-index", verb))
        return &git_paths;
    return list_has("archive format-patch", verb) ? &git_export : &git_output;
}

void writes_init(struct writes *w, const struct subject *s)
{
    const struct writer *writer = s->command ? s->command->writer : NULL;
    const struct word *words = s->args;
    size_t count = s->count;

    *w = (struct writes){ .s = s };
    if (!writer)
        return;
    if (writer->which == WHICH_EDIT && !writes_in_place(s))
        return;
    if (writer->which == WHICH_GIT)
        writer = git_writer(git_verb(s, &words, &count));
    w->writer = writer;
    w->script_flag = writer->which == WHICH_EDIT &&
                     (args_have_short(s, "ef") || args_have_long(s, "expression") ||
                      args_have_long(s, "file"));
    if (writer->which == WHICH_LAST || writer->which == WHICH_MOVE) {
        w->last = count_operands(s, writer);
        w->makes_dirs = strcmp(s->name, "install") == 0 &&
                        (args_have_short(s, "d") || args_have_long(s, "directory"));
        w->into = strchr(writer->out, 't') &&
                  (args_have_short(s, "t") || args_have_long(s, "target-directory"));
    }
    flags_init(&w->flags, words, count, writer->short_values, writer->long_values);
}

static bool is_write(const struct redirect *r)
{
    return r->op == REDIRECT_OUT || r->op == REDIRECT_APPEND || r->op == REDIRECT_BOTH ||
           r->op == REDIRECT_BOTH_APPEND || r->op == REDIRECT_INOUT;
}

static bool operand_counts(struct writes *w, struct write *ret)
{
    const struct writer *writer = w->writer;
    size_t i = w->operand++;

    ret->how = writer->how;
    ret->word = w->flags.word;
    ret->text = ret->word->text;
    switch (writer->which) {
    case WHICH_ALL:
        return i >= writer->skip;
    case WHICH_EDIT:
        return i >= writer->skip || w->script_flag;
    case WHICH_LAST:
        return w->makes_dirs || (!w->into && w->last > 1 && i + 1 == w->last);
    case WHICH_MOVE:
        if (w->into || i + 1 < w->last)
            ret->how = WRITE_DELETE;
        return true;
    case WHICH_OF:
        if (!str_has_prefix(ret->text, "of="))
            return false;
        ret->text += 3;
        return true;
    case WHICH_NONE:
    case WHICH_GIT:
    case WHICH_LONG:
        break;
    }
    return false;
}

static bool flag_counts(struct writes *w, enum flag_kind kind, struct write *ret)
{
    const struct flags *f = &w->flags;

    if (!f->value)
        return false;
    ret->how = WRITE_FILE;
    ret->word = f->word;
    ret->text = f->value;
    if (kind == FLAG_SHORT)
        return strchr(w->writer->out, f->letter) != NULL;
    return long_list_has(w->writer->long_out, f->name, f->name_len);
}

/* The next of the flags that have one dash, or two. */
static bool next_long(struct writes *w, struct write *ret)
{
    const struct subject *s = w->s;

    while (w->operand < s->count) {
        const struct word *word = &s->args[w->operand++];
        const char *name = word->text + strspn(word->text, "-");
        size_t len = strcspn(name, "=");

        if (word->text[0] != '-' || !list_has_n(w->writer->long_out, name, len))
            continue;
        if (name[len] != '=' && w->operand == s->count)
            return false;
        if (name[len] != '=')
            word = &s->args[w->operand++];
        *ret = (struct write){ w->writer->how, word,
                               name[len] == '=' ? name + len + 1 : word->text };
        return true;
    }
    return false;
}

bool writes_next(struct writes *w, struct write *ret)
{
    const struct call *call = w->s->call;
    enum flag_kind kind;

    while (w->redirect < call->redirect_count) {
        const struct redirect *r = &call->redirects[w->redirect++];

        if (is_write(r)) {
            *ret = (struct write){ WRITE_REDIRECT, &r->target, r->target.text };
            return true;
        }
    }
    if (!w->writer)
        return false;
    if (w->writer->which == WHICH_LONG)
        return next_long(w, ret);
    while ((kind = flags_next(&w->flags)) != FLAG_END) {
        if (kind == FLAG_OPERAND ? operand_counts(w, ret) : flag_counts(w, kind, ret))
            return true;
    }
    return false;
}
