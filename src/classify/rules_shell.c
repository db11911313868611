/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers: programs that get their code, or their terminal, from somewhere else. An interpreter
 * whose program is its standard input runs whatever the pipe brings; one whose program is the
 * output of a download does the same. A shell whose streams are a connection belongs to whoever is
 * at the other end.
 */
#include <string.h>

#include "base/str.h"
#include "classify/place.h"
#include "classify/rules.h"

#define SOURCE_MAX_CALLS 16 /* what is behind these is not looked at */
#define SOURCE_MAX_WORDS 16

#define FETCHERS "curl wget fetch aria2c nc ncat netcat socat base64 base32 xxd openssl lynx http"

/* ---- code from a pipe ---- */

/*
 * fd 0 is a file or a text after all. A redirect of a compound around the pipe does not count; own
 * ones are written in the part.
 */
static bool has_other_stdin(const struct subject *s)
{
    if (s->call->part && !memchr(s->call->part, '<', s->call->part_len))
        return false;
    for (size_t i = 0; i < s->call->redirect_count; i++) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->fd == 0 && (r->op == REDIRECT_TEXT ||
                           (r->op == REDIRECT_IN && !list_has(STDIN_NAMES, r->target.text))))
            return true;
    }
    return false;
}

static const char *code_flags(const struct subject *s)
{
    const char *name = s->name;

    if (list_has("python pypy", name))
        return "cm";
    if (list_has("perl ruby", name))
        return "eE";
    if (list_has("node nodejs", name))
        return "ep";
    if (strcmp(name, "php") == 0)
        return "rf";
    return subject_is(s, TRAIT_SHELL) ? "c" : "e";
}

/* bash +x: flags that a shell takes back. */
static bool at_plus_flag(const struct subject *s, const struct flags *f)
{
    return subject_is(s, TRAIT_SHELL) && f->next < s->count && !f->only_operands &&
           s->args[f->next].text[0] == '+' && s->args[f->next].text[1];
}

/* No program is named: no file, no -c. */
static bool reads_program(const struct subject *s)
{
    const char *with_program = code_flags(s);
    struct flags f;
    enum flag_kind kind;

    flags_init(&f, s->args, s->count, subject_is(s, TRAIT_SHELL) ? "oO" : "WXI",
               "rcfile init-file require");
    f.stop_at_operand = true;
    while ((kind = flags_next(&f)) != FLAG_END || at_plus_flag(s, &f)) {
        if (kind == FLAG_END)
            f.next += list_has("+o +O", s->args[f.next].text) ? 2 : 1;
        if (kind == FLAG_SHORT && f.letter == 's' && subject_is(s, TRAIT_SHELL))
            return true;
        if (kind == FLAG_SHORT && strchr(with_program, f.letter))
            return false;
        if (kind == FLAG_LONG && list_has_n("eval print command version help", f.name, f.name_len))
            return false;
    }
    if (f.next >= s->count)
        return !s->xargs || subject_is(s, TRAIT_SHELL);
    const struct word *file = &s->args[f.next];

    if (list_has("deno bun", s->name))
        return word_is(file, "-") || (word_is(file, "run") && args_have(s, "-"));
    return list_has("- " STDIN_NAMES, file->text);
}

/* Whether a hole of the word is the output of one of these, itself or what feeds it. */
static bool comes_from(const struct subject *s, const struct word *w, const char *names)
{
    const struct call *call = w->source;

    for (unsigned i = 0; call && i < SOURCE_MAX_CALLS; i++, call = call->feeder) {
        struct subject source = *s;

        subject_init(&source, call);
        if (list_has(names, source.name))
            return true;
        /* sudo curl, timeout 5 wget */
        for (size_t k = 0; k < source.count && k < SOURCE_MAX_WORDS; k++) {
            if (list_has(names, source.args[k].text))
                return true;
        }
    }
    return false;
}

/* bash <(curl …), source <(…), sh -c "$(curl …)", eval "`curl …`" */
static bool runs_substitution(const struct subject *s)
{
    bool text = strcmp(s->name, "eval") == 0 || args_have_short(s, code_flags(s));
    bool file = subject_is(s, TRAIT_INTERPRETER) || list_has("source .", s->name);

    if (list_has("xargs parallel", s->name))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        const struct word *w = &s->args[i];

        if (!(w->flags & WORD_UNKNOWN))
            continue;
        if (file && w->flags & WORD_PROCESS && (!text || comes_from(s, w, FETCHERS)))
            return subject_is(s, TRAIT_SHELL) || !subject_is(s, TRAIT_INTERPRETER) ||
                   comes_from(s, w, FETCHERS);
        if (text && comes_from(s, w, FETCHERS))
            return true;
    }
    return false;
}

/* The descriptors 0 to 9 that read from a process, a bit each. */
static unsigned process_descriptors(const struct subject *s)
{
    unsigned set = 0;

    for (size_t i = 0; i < s->call->redirect_count; i++) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->fd >= 0 && r->fd <= 9 && r->op == REDIRECT_IN && r->target.flags & WORD_PROCESS)
            set |= 1U << r->fd;
    }
    return set;
}

/* A single digit behind the prefix: the bit of that descriptor; 0: it is none. */
static unsigned descriptor_in(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);

    if (strncmp(text, prefix, len) != 0 || text[len] < '0' || text[len] > '9' || text[len + 1])
        return 0;
    return 1U << (text[len] - '0');
}

/* sh < <(curl …), sh 3< <(curl …) <&3, sh /dev/fd/3 3< <(curl …): a pipe by another name. */
static bool program_is_process(const struct subject *s)
{
    const unsigned set = process_descriptors(s);
    bool reads = set && reads_program(s);

    if (reads && (set & 1))
        return true;
    for (size_t i = 0; reads && i < s->call->redirect_count; i++) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->fd == 0 && r->op == REDIRECT_DUP_IN && set & descriptor_in(r->target.text, ""))
            return true;
    }
    for (size_t i = 0; i < s->count; i++) {
        if (set & (descriptor_in(s->args[i].text, "/dev/fd/") |
                   descriptor_in(s->args[i].text, "/proc/self/fd/")))
            return true;
    }
    return false;
}

MATCH(pipe_to_shell)
{
    if (runs_substitution(s))
        return true;
    if (strcmp(s->name, "xargs") == 0 || strcmp(s->name, "eval") == 0)
        return false;
    if (list_has("source .", s->name))
        return arg_is(s, 0, STDIN_NAMES) &&
               ((s->call->flags & CALL_STDIN_PIPE) || (process_descriptors(s) & 1));
    if (strcmp(s->name, "parallel") == 0)
        return s->call->flags & CALL_STDIN_PIPE && s->count == 0;
    /* xargs sh -c: the next word that is read is the program. */
    if (s->xargs && subject_is(s, TRAIT_SHELL) && s->count > 0 &&
        word_is_hole(&s->args[s->count - 1]) &&
        (s->count == 1 ||
         (word_is_flag(&s->args[s->count - 2]) && strchr(s->args[s->count - 2].text, 'c'))))
        return true;
    if (s->call->flags & CALL_STDIN_PIPE && reads_program(s) && !has_other_stdin(s))
        return true;
    return s->call->redirect_count > 0 && subject_is(s, TRAIT_INTERPRETER) && program_is_process(s);
}

/* ---- a shell for somebody else ---- */

static bool streams_to_socket(const struct subject *s)
{
    bool shell = subject_is(s, TRAIT_SHELL) || strcmp(s->name, "exec") == 0;

    for (size_t i = 0; i < s->call->redirect_count; i++) {
        const struct redirect *r = &s->call->redirects[i];

        if (r->op == REDIRECT_TEXT || r->op == REDIRECT_DUP_IN || r->op == REDIRECT_DUP_OUT)
            continue;
        const char *place = place_of(s, &r->target, r->target.text);

        if (place_is_socket(place) && (r->op == REDIRECT_INOUT || r->fd > 2 || shell) &&
            !(args_have_short(s, "c") && r->op != REDIRECT_INOUT))
            return true;
    }
    return false;
}

static bool netcat_runs(const struct subject *s)
{
    struct flags f;
    enum flag_kind kind;
    bool runs = false;

    flags_init(&f, s->args, s->count, "ecpsqwiIoOxXTgG", "exec sh-exec lua-exec source-port wait");
    while ((kind = flags_next(&f)) != FLAG_END) {
        if (kind == FLAG_SHORT && f.letter == 'z')
            return false;
        if (kind == FLAG_SHORT)
            runs |= f.letter == 'e' || f.letter == 'c';
        else if (kind == FLAG_LONG)
            runs |= flags_is_long(&f, "exec") || flags_is_long(&f, "sh-exec") ||
                    flags_is_long(&f, "lua-exec");
    }
    return runs;
}

static bool joined_args(const struct subject *s, char *text, size_t size)
{
    size_t at = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (at + s->args[i].len + 2 > size)
            break;
        memcpy(text + at, s->args[i].text, s->args[i].len);
        at += s->args[i].len;
        text[at++] = ' ';
    }
    text[at] = '\0';
    return at > 0;
}

static bool code_connects_shell(const struct subject *s)
{
    char text[8192];

    if (!joined_args(s, text, sizeof(text)))
        return false;
    if (list_has("python pypy", s->name)) {
        if (!text_has(text, "import socket") && !text_has(text, "from socket"))
            return text_has(text, "socket.socket") && text_has_any(text, "pty.spawn dup2");
        bool inline_code = args_have_short(s, "c");

        /* Code as plain arguments, or code that is nothing but the import. */
        if (!inline_code || (s->count == 2 && strcmp(s->args[1].text, "import socket") == 0))
            return true;
        return text_has_any(text, "dup2 subprocess.call subprocess.popen subprocess.run pty.spawn "
                                  "os.system os.popen os.exec /bin/sh /bin/bash");
    }
    if (strcmp(s->name, "perl") == 0)
        return text_has(text, "use socket") || text_has(text, "io::socket");
    if (strcmp(s->name, "ruby") == 0)
        return text_has_any(text, "-rsocket tcpsocket");
    if (strcmp(s->name, "php") == 0)
        return text_has_any(text, "fsockopen stream_socket_client");
    if (list_has("node nodejs", s->name))
        return text_has_any(text, "net.connect net.socket createconnection") &&
               text_has_any(text, "child_process spawn( /bin/sh /bin/bash");
    if (list_has("awk gawk mawk", s->name))
        return text_has(text, "/inet/");
    return list_has("lua luajit", s->name) && text_has(text, "socket") &&
           text_has_any(text, "os.execute io.popen");
}

static bool feeds_interpreter(const struct subject *s)
{
    const struct call *feeder = s->call->feeder;
    struct subject f = *s;

    if (!feeder || !subject_is(s, TRAIT_INTERPRETER) || !(s->call->flags & CALL_STDIN_PIPE))
        return false;
    subject_init(&f, feeder);
    return strcmp(f.name, "telnet") == 0 ||
           (strcmp(f.name, "openssl") == 0 && args_have(&f, "s_client")) ||
           subject_is(&f, TRAIT_NETCAT);
}

MATCH(reverse_shell)
{
    char text[1024];

    if (s->call->redirect_count > 0 && streams_to_socket(s))
        return true;
    if (subject_is(s, TRAIT_NETCAT))
        return netcat_runs(s);
    if (strcmp(s->name, "socat") == 0 && joined_args(s, text, sizeof(text)))
        return text_has_any(text, "exec: system: shell:") &&
               text_has_any(text, "tcp ssl openssl udp sctp");
    if (s->name[0] == 'g' || s->name[0] == 'm' || s->name[0] == 'a')
        return list_has("awk gawk mawk", s->name) && code_connects_shell(s);
    if (!subject_is(s, TRAIT_INTERPRETER))
        return false;
    return (subject_is(s, TRAIT_CODER) && code_connects_shell(s)) || feeds_interpreter(s);
}
