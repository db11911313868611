/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a shell text, and the reader that makes it (lex.c, word.c, expansion.c, parse.c,
 * compound.c). Everything lives in one arena; text is pointed at where it stands in the source and
 * copied only where an escape changes it. A tree never changes once it is built.
 */
#ifndef ABX_CLASSIFY_SHELL_H
#define ABX_CLASSIFY_SHELL_H

#include "classify/walk.h"

/* ---- words ----------------------------------------------------------------------------------- */

enum part_kind {
    PART_TEXT,
    PART_PARAM,       /* $x ${x…} */
    PART_COMMAND,     /* $(…) `…` */
    PART_PROCESS_IN,  /* <(…) */
    PART_PROCESS_OUT, /* >(…) */
    PART_ARITH,       /* $((…)) $[…] */
    PART_ARRAY,       /* the (…) of NAME=(…): always the last part */
};

#define PART_QUOTED 0x1u /* quoted or escaped: not split, no pattern, no brace, no tilde */

struct shell_part {
    struct shell_part *next;
    const char *text; /* PART_TEXT */
    union {
        const struct shell_param *param;
        const struct shell_list *list; /* PART_COMMAND, PART_PROCESS_* */
        const struct shell_word *word; /* PART_ARITH: the expression; PART_ARRAY: the elements */
    } u;
    uint32_t len;
    uint8_t kind, flags;
};

#define SHELL_WORD_BRACE  0x1u  /* an unquoted {: perhaps a brace expansion */
#define SHELL_WORD_PLAIN  0x2u  /* one unquoted text, nothing else: may be a reserved word */
#define SHELL_WORD_ASSIGN 0x4u  /* NAME=… NAME+=… NAME[…]=… */
#define SHELL_WORD_ARRAY  0x8u  /* … of which the value is (…) */
#define SHELL_WORD_CR     0x10u /* ends in a carriage return, before the end of the line */

#define SHELL_WORD_JOINED 0x20u /* over several lines */

struct shell_word {
    struct shell_word *next;
    struct shell_part *parts, *last, first; /* parts: NULL, or &first */
    const char *raw;                        /* as written */
    const char *value;                      /* SHELL_WORD_ASSIGN: what is behind the = */
    uint32_t raw_len, flags;
};

enum param_op {
    PARAM_PLAIN,
    PARAM_DEFAULT,   /* - */
    PARAM_ASSIGN,    /* = */
    PARAM_ERROR,     /* ? */
    PARAM_ALTERNATE, /* + */
    PARAM_PREFIX,    /* # ## */
    PARAM_SUFFIX,    /* % %% */
    PARAM_REPLACE,   /* / // */
    PARAM_CASE,      /* ^ ^^ , ,, */
    PARAM_SUBSTRING, /* : */
    PARAM_TRANSFORM, /* @ */
};

struct shell_param {
    const char *name; /* a name, digits, or one of @*#?-$!_ */
    uint32_t name_len;
    uint8_t op;
    bool colon, length, indirect;
    const struct shell_word *index;   /* of ${x[…]} */
    const struct shell_word *operand; /* after the operator */
    const struct shell_word *second;  /* the replacement of / */
};

/* ---- commands -------------------------------------------------------------------------------- */

struct shell_redirect {
    struct shell_redirect *next;
    enum redirect_op op;
    bool file_or_dup;         /* >& and <&: what follows decides */
    bool strip_tabs, literal; /* here-documents: <<-, and a quoted delimiter */
    bool here;                /* << and <<-: target is the delimiter, then the body */
    int fd;
    const char *name; /* of {name}> */
    uint32_t name_len;
    const struct shell_word *target;
};

enum command_kind {
    COMMAND_SIMPLE,
    COMMAND_GROUP,     /* { first; } */
    COMMAND_SUBSHELL,  /* ( first ) */
    COMMAND_IF,        /* if first; then second; else third (an elif is a third of one item) */
    COMMAND_WHILE,     /* while or until first; do second; done */
    COMMAND_FOR,       /* for and select: name, words, first */
    COMMAND_FOR_ARITH, /* for ((words)); do first; done */
    COMMAND_CASE,      /* case words in clauses esac */
    COMMAND_FUNCTION,  /* name, body */
    COMMAND_TEST,      /* [[ words ]] */
    COMMAND_ARITH,     /* ((words)) */
    COMMAND_COPROC,    /* name, body */
};

#define COMMAND_PIPE_BOTH 0x1u /* |& follows */
#define COMMAND_ARGS      0x2u /* for without in: over the arguments */
#define COMMAND_SELECT    0x4u
#define COMMAND_MATCH     0x8u /* [[ with =~: sets BASH_REMATCH */

struct shell_clause {
    struct shell_clause *next;
    const struct shell_word *patterns;
    const struct shell_list *body;
    bool falls; /* ;& or ;;& */
};

struct shell_command {
    struct shell_command *next; /* of the pipeline */
    enum command_kind kind;
    uint32_t flags;
    const char *raw; /* as written */
    size_t raw_len;
    struct shell_redirect *redirects;
    const struct shell_word *words, *assigns;
    const char *name;
    size_t name_len;
    const struct shell_list *first, *second, *third;
    const struct shell_clause *clauses;
    const struct shell_command *body;
};

enum shell_next { NEXT_SEQUENCE, NEXT_AND, NEXT_OR, NEXT_BACKGROUND };

struct shell_item { /* a pipeline, and what stands behind it */
    struct shell_item *next;
    struct shell_command *pipeline;
    enum shell_next op;
    bool negated;
    bool ends_line; /* a newline stands behind it */
};

struct shell_list {
    struct shell_item *items;
};

/* ---- the reader ------------------------------------------------------------------------------ */

#define SHELL_MAX_HEREDOCS 16 /* begun on one line */

/* What all readers of one text share. */
struct shell {
    struct arena *arena;
    uint32_t depth;    /* of the constructs being read */
    uint32_t commands; /* simple ones, so far */
    uint64_t steps;    /* bytes looked at, again for each time */
    enum walk_result result;
    struct walk_problem problem;
    struct shell_list *whole;     /* the list that is not in another */
    struct shell_item *last_line; /* … the last of its items that a line ends behind */
    bool plain;   /* as a shell reads it that knows neither $'…', $"…", $[…], [[, (( nor &> */
    bool differs; /* there is one of these: such a shell reads it differently */
};

enum shell_token {
    TOKEN_NONE, /* the next one is not read yet */
    TOKEN_END,
    TOKEN_NEWLINE,
    TOKEN_WORD,
    TOKEN_SEMI,       /* ; */
    TOKEN_BREAK,      /* ;; */
    TOKEN_FALL,       /* ;& */
    TOKEN_TEST_NEXT,  /* ;;& */
    TOKEN_BACKGROUND, /* & */
    TOKEN_AND,        /* && */
    TOKEN_OR,         /* || */
    TOKEN_PIPE,       /* | */
    TOKEN_PIPE_BOTH,  /* |& */
    TOKEN_OPEN,       /* ( */
    TOKEN_CLOSE,      /* ) */
    TOKEN_REDIRECT,
};

#define READ_COMMAND 0x1u  /* a command may begin: NAME=, NAME[, no pattern !(…) */
#define READ_ARRAY   0x2u  /* NAME=(…) is one word: declare and its like */
#define READ_TEST    0x4u  /* inside [[ ]]: < and > are words, no pattern !(…) */
#define READ_PATTERN 0x8u  /* … the right side of ==: patterns again */
#define READ_REGEX   0x10u /* … of =~: ( ) and | too */

/* One place in one piece of text. A substitution is read by a reader of its own. */
struct shell_reader {
    struct shell *shell;
    const char *text;
    size_t pos, end;
    size_t origin; /* of a copy: where its source stands */
    bool is_copy;
    uint32_t flags; /* READ_*: for the next token */
    enum shell_token token;
    size_t token_begin;
    size_t last_end; /* of the token taken last */
    struct shell_word *word;
    struct shell_redirect *redirect;
    struct shell_redirect
        *pending[SHELL_MAX_HEREDOCS]; /* here-documents whose body comes after the line */
    size_t pending_count;
};

/* The text as a list, in the shell's arena; NULL: see shell->result and problem. */
const struct shell_list *shell_parse(struct shell *shell, const char *text, size_t len);
/* After it failed: the lines in front, which a shell has run when it comes to the problem. */
const struct shell_list *shell_lines_before(struct shell *shell);

/* Internal to the reader. Each returns false or NULL after shell_fail. */
bool shell_fail(struct shell_reader *r, const char *what, size_t pos);
bool shell_limit(struct shell_reader *r, const char *what, size_t pos);
void *shell_alloc(struct shell_reader *r, size_t size);
bool shell_enter(struct shell_reader *r); /* one construct deeper */
void shell_leave(struct shell_reader *r);

/* The next token; reads it if needed. TOKEN_NONE: failed. */
enum shell_token shell_peek(struct shell_reader *r);
void shell_take(struct shell_reader *r);                                /* the token is used */
bool shell_is_reserved(const struct shell_reader *r, const char *word); /* the token is this word */
bool shell_name_byte(char c);                                           /* of NAME */

struct shell_word *shell_word_new(struct shell_reader *r);
bool shell_word_text(struct shell_reader *r, struct shell_word *word, const char *text, size_t len,
                     uint8_t flags);
struct shell_part *shell_word_part(struct shell_reader *r, struct shell_word *word,
                                   enum part_kind kind, uint8_t flags);

/* Where a piece of a word stands: what ends it and what is special in it. */
enum word_place {
    PLACE_WORD,
    PLACE_REGEX,             /* a word in which ( ) and | are text */
    PLACE_DOUBLE,            /* in "…" */
    PLACE_HERE,              /* the body of a here-document: to the end of the text */
    PLACE_PARAM,             /* in ${…}: to } */
    PLACE_PARAM_DOUBLE,      /* … inside "…" or a here-document */
    PLACE_PARAM_DOUBLE_TEXT, /* … where ' is text: after - = ? + */
    PLACE_PATTERN,           /* in @(…): to ) */
    PLACE_ARITH,             /* to the closing ) */
    PLACE_INDEX,             /* to ] */
    PLACE_SUBSCRIPT,         /* … of NAME[…]=: operators are refused */
};

/* Reads to what ends the place, which is not taken. slash: an unquoted / ends it too. */
bool shell_read_parts(struct shell_reader *r, struct shell_word *word, enum word_place place,
                      bool slash);
bool shell_read_word(struct shell_reader *r); /* the token */
bool shell_read_dollar(struct shell_reader *r, struct shell_word *word, enum word_place place);
bool shell_read_backquote(struct shell_reader *r, struct shell_word *word, enum word_place place);
bool shell_read_process(struct shell_reader *r, struct shell_word *word);
/* After "((": to behind "))". *ret_word NULL: these are commands, nothing was taken. */
bool shell_read_arith(struct shell_reader *r, const struct shell_word **ret_word);

const struct shell_list *shell_parse_list(struct shell_reader *r, bool may_be_empty);
struct shell_command *shell_parse_compound(struct shell_reader *r, bool *ret_is_one);
struct shell_command *shell_command_new(struct shell_reader *r, enum command_kind kind);
bool shell_parse_redirects(struct shell_reader *r, struct shell_command *command);
bool shell_skip_newlines(struct shell_reader *r);
bool shell_expect(struct shell_reader *r, const char *word); /* reserved, in command position */
struct shell_command *shell_parse_coproc(struct shell_reader *r);
struct shell_command *shell_parse_simple(struct shell_reader *r, struct shell_word *name);

#endif
