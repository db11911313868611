/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agentbox init: three questions, and a project has its configuration.
 *
 * What is found in the directory and on PATH is offered as the answer; options answer beforehand,
 * --yes takes what was found. Without a terminal nobody is asked: what no option answers is an
 * error. Answers are checked by the library as they come, so what is written is valid. The file is
 * made new, never changed. It is trusted at once: whoever answered has just read what it grants;
 * inside a sandbox nobody can, because what is trusted is kept out of its reach.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/config_options.h"
#include "cli/init_options.h"
#include "cli/run_options.h"

#define ANSWER_MAX 4096
#define NOT_TRUSTED                                                                                \
    PROJECT_FILE " is written, but not trusted; once that is mended, type there: agentbox "        \
                 "config trust"

enum {
    OPTION_AGENT,
    OPTION_ALLOW,
    OPTION_EXCLUDE,
    OPTION_YES,
    OPTION_CWD,
    OPTION_OUTPUT,
    OPTION_JSON,
    OPTION_HELP
};
const struct opt_spec init_options[INIT_OPTION_COUNT] = {
    { OPTION_AGENT, 0, "agent", "none|aider|claude|codex|cursor-agent|gemini|opencode",
      "Which agent works here." },
    { OPTION_ALLOW, 0, "allow", "LIST",
      "What it may reach besides its service: hosts and groups such as @npm; none." },
    { OPTION_EXCLUDE, 0, "exclude", "LIST", "What it must not see: paths and patterns; none." },
    { OPTION_YES, 'y', "yes", NULL, "Take what was found for what is not given." },
    { OPTION_CWD, 'C', "cwd", "DIR", "The project's directory." },
    { OPTION_OUTPUT, 'o', "output", "FILE",
      "Where to write (" PROJECT_FILE "); - is standard output." },
    { OPTION_JSON, 0, "json", NULL, "Print JSON: the file, and whether it is trusted." },
    { OPTION_HELP, 'h', "help", NULL, "This text." },
};

enum { QUESTION_AGENT, QUESTION_ALLOW, QUESTION_EXCLUDE, QUESTION_COUNT };
static const struct {
    const char *key; /* of the configuration */
    const char *text;
    bool is_list;
} questions[QUESTION_COUNT] = {
    { "profile",
      "1/3 Which agent works here? (none, aider, claude, codex, cursor-agent, gemini, opencode)",
      false },
    { "network.allowedDomains",
      "2/3 What may it reach besides its own service? (hosts; @github, @npm, @pypi, …; none)",
      true },
    { "filesystem.exclude", "3/3 Which files must it never see? (paths, patterns; none)", true },
};

struct init {
    const char *cwd, *output;
    bool yes, json, help;
    const char *given[QUESTION_COUNT];
    char found[QUESTION_COUNT][ANSWER_MAX];
    char typed[QUESTION_COUNT][ANSWER_MAX];
};

/* ---- what is there ---- */

static void add_word(char *list, const char *word)
{
    size_t len = strlen(list);

    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && (!at[strlen(word)] || at[strlen(word)] == ' '))
            return;
    if (len + strlen(word) + 2 < ANSWER_MAX)
        (void)snprintf(list + len, ANSWER_MAX - len, "%s%s", len ? " " : "", word);
}

static bool on_path(const char *program)
{
    const char *path = getenv("PATH");
    char file[ANSWER_MAX];

    for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
        int n = snprintf(file, sizeof file, "%.*s/%s", (int)strcspn(path, ":"), path, program);
        if (n > 0 && (size_t)n < sizeof file && file[0] == '/' && access(file, X_OK) == 0)
            return true;
    }
    return false;
}

static void look_around(struct init *i, int dir)
{
    static const struct {
        const char *file, *group;
    } managers[] = {
        { "Cargo.toml", "@crates" },       { "Gemfile", "@rubygems" },
        { "build.gradle", "@gradle" },     { "build.gradle.kts", "@gradle" },
        { "composer.json", "@packagist" }, { "go.mod", "@golang" },
        { "package.json", "@npm" },        { "pom.xml", "@maven" },
        { "pyproject.toml", "@pypi" },     { "requirements.txt", "@pypi" },
        { "setup.py", "@pypi" },
    };
    static const char *const agents[] = { "claude",   "codex", "gemini",
                                          "opencode", "aider", "cursor-agent" };
    static const char *const secrets[] = {
        ".env",    ".env.local",   ".env.production", "credentials.json",
        "secrets", "secrets.yaml", "secrets.yml"
    };

    for (size_t k = 0; k < ARRAY_LEN(agents) && !i->found[QUESTION_AGENT][0]; k++)
        if (on_path(agents[k]))
            add_word(i->found[QUESTION_AGENT], agents[k]);
    for (size_t k = 0; k < ARRAY_LEN(managers); k++)
        if (faccessat(dir, managers[k].file, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            add_word(i->found[QUESTION_ALLOW], managers[k].group);
    for (size_t k = 0; k < ARRAY_LEN(secrets); k++)
        if (faccessat(dir, secrets[k], F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            add_word(i->found[QUESTION_EXCLUDE], secrets[k]);
    for (size_t k = 0; k < QUESTION_COUNT; k++)
        if (!i->found[k][0])
            add_word(i->found[k], "none");
}

/* ---- answers ---- */

/* Cuts the next word off a list; blanks and commas separate. NULL: no more. */
static char *next_word(char **rest)
{
    static const char separators[] = " ,\t";
    char *word = *rest + strspn(*rest, separators), *end = word + strcspn(word, separators);

    *rest = *end ? end + 1 : end;
    *end = '\0';
    return *word ? word : NULL;
}

static bool answer_is_none(const char *answer)
{
    return str_eq(answer, "none") || str_eq(answer, "");
}

/* Enters an answer into a configuration, which knows what is right. */
static int32_t enter(abx_config *config, size_t question, const char *answer, abx_error **err)
{
    const char *key = questions[question].key;
    char copy[ANSWER_MAX];
    int32_t code = ABX_OK;

    if (!questions[question].is_list)
        return abx_config_set_string(config, key, answer_is_none(answer) ? "none" : answer, err);
    (void)snprintf(copy, sizeof copy, "%s", answer);
    if (answer_is_none(answer))
        return ABX_OK;
    char *rest = copy;
    for (char *word; code == ABX_OK && (word = next_word(&rest));)
        code = abx_config_append(config, key, word, err);
    return code;
}

/* 0, or an exit code after the complaint. */
static int check(size_t question, const char *answer)
{
    abx_config *config = NULL;
    abx_error *err = NULL;
    int32_t code = strlen(answer) >= ANSWER_MAX - 1 ? ABX_E_INVALID : abx_config_new(&config, &err);

    if (code == ABX_E_INVALID)
        return cli_misuse("write the file by hand: agentbox config init",
                          "init: the answer is longer than %d bytes", ANSWER_MAX - 2);
    if (code == ABX_OK)
        code = enter(config, question, answer, &err);
    abx_config_free(config);
    return code == ABX_OK ? 0 : cli_fail(err);
}

static int ask(struct init *i, size_t question)
{
    char *line = i->typed[question];

    for (;;) {
        (void)fprintf(stderr, "%s\n    [%s] ", questions[question].text, i->found[question]);
        if (!fgets(line, ANSWER_MAX, stdin)) {
            (void)fputc('\n', stderr);
            return cli_misuse("nothing was written; --yes takes what was found",
                              "init: the questions were not answered");
        }
        line[strcspn(line, "\n")] = '\0';
        i->given[question] = line[0] ? line : i->found[question];
        if (check(question, i->given[question]) == 0)
            return 0;
    }
}

static int collect(struct init *i)
{
    int code = 0;

    for (size_t q = 0; q < QUESTION_COUNT && code == 0; q++) {
        if (i->given[q]) {
            code = check(q, i->given[q]);
        } else if (i->yes) {
            i->given[q] = i->found[q];
        } else if (isatty(STDIN_FILENO)) {
            code = ask(i, q);
        } else {
            code = cli_misuse("--yes takes what was found; --agent, --allow and --exclude answer",
                              "init: there is no terminal to ask on");
        }
    }
    return code;
}

/* ---- the file ---- */

static void put_list(struct buf *b, const char *section, const char *key, const char *answer)
{
    char copy[ANSWER_MAX];
    char *rest = copy;
    struct json j;

    if (answer_is_none(answer))
        return;
    (void)snprintf(copy, sizeof copy, "%s", answer);
    (void)buf_printf(b, "  \"%s\": { \"%s\": ", section, key);
    json_init(&j, b);
    json_array(&j);
    for (char *word; (word = next_word(&rest));)
        json_str(&j, word);
    json_array_end(&j);
    (void)buf_puts(b, " },\n");
}

static void write_text(struct buf *b, const struct init *i)
{
    (void)buf_puts(
        b, "// Made by `agentbox init`. `agentbox help keys` lists what else there is, and\n"
           "// `agentbox config validate` checks this file. After a change that widens it:\n"
           "// `agentbox config trust`.\n"
           "{\n");
    if (!answer_is_none(i->given[QUESTION_AGENT]))
        (void)buf_printf(b, "  \"profile\": \"%s\",\n", i->given[QUESTION_AGENT]);
    put_list(b, "network", "allowedDomains", i->given[QUESTION_ALLOW]);
    put_list(b, "filesystem", "exclude", i->given[QUESTION_EXCLUDE]);
    (void)buf_puts(b, "}\n");
}

/* What was read says what we wrote: a run that is going on could have put another in its place. */
static int32_t check_written(const abx_config *config, const char *text, bool *ret, abx_error **err)
{
    abx_config *own = NULL;
    char *is = NULL, *wanted = NULL;
    int32_t code = abx_config_new(&own, err);

    if (code == ABX_OK)
        code = abx_config_parse(own, PROJECT_FILE, text, strlen(text), "jsonc", err);
    if (code == ABX_OK)
        code = abx_config_dump(own, "json", &wanted, err);
    if (code == ABX_OK)
        code = abx_config_dump(config, "json", &is, err);
    *ret = code == ABX_OK && str_eq(is, wanted);
    abx_free(is);
    abx_free(wanted);
    abx_config_free(own);
    return code;
}

static int trust_file(const char *cwd, const char *text)
{
    abx_config *config = NULL;
    abx_error *err = NULL;
    bool same = false;
    int32_t code = abx_config_new(&config, &err);

    if (code == ABX_OK)
        code = abx_config_load_layers(config, cwd, PROJECT_FILE, ABX_LOAD_FILE_ONLY, &err);
    if (code == ABX_OK)
        code = check_written(config, text, &same, &err);
    if (code == ABX_OK && same)
        code = abx_config_trust(config, &err);
    abx_config_free(config);
    if (code != ABX_OK)
        return cli_fail(err);
    return same ? 0
                : cli_misuse("look at it; does a run go on there?",
                             "trust " PROJECT_FILE ": it does not say any more what was written");
}

/* All files are looked at first: what is wrong in another one stops every run here. */
static int trust(const char *cwd, const char *text)
{
    abx_config *config = NULL;
    int code = load_config(cwd, NULL, false, &config);

    abx_config_free(config);
    return code == 0 ? trust_file(cwd, text) : code;
}

/* What to type now, from here: where the project is elsewhere, or its file has another name. */
static void put_next(struct buf *b, const struct init *i, const char *name)
{
    _buf_ struct buf words = { .limit = (size_t)1 << 16 };
    const char *agent = i->given[QUESTION_AGENT];

    (void)buf_puts(&words, i->cwd ? " -C " : "");
    if (i->cwd)
        (void)str_word(&words, i->cwd);
    if (i->output && !words.failed) {
        (void)buf_printf(b, "  agentbox config trust%s ", words.data);
        (void)str_word(b, name);
        (void)buf_puts(b, "\n");
        (void)buf_puts(&words, " --config ");
        (void)str_word(&words, name);
    }
    if (words.failed)
        b->failed = words.failed;
    (void)buf_printf(b, "  agentbox run%s -- %s\n  agentbox plan%s        what that enforces\n",
                     words.data, answer_is_none(agent) ? "make test" : agent, words.data);
}

static int finish(const struct init *i)
{
    _buf_ struct buf b = { .limit = (size_t)1 << 20 };
    const char *name = NULL;

    write_text(&b, i);
    if (b.failed)
        return cli_misuse(NULL, "out of memory");
    if (i->output && str_eq(i->output, "-"))
        return fputs(b.data, stdout) < 0 ? EXIT_AGENTBOX : 0;
    int code = config_write_new(i->cwd, i->output, b.data, "init", &name);
    if (code != 0)
        return code;
    code = i->output ? 0 : trust(i->cwd, b.data);
    if (code != 0) {
        cli_notice(NULL, ABX_NOTICE_WARNING, "init", NOT_TRUSTED);
        cli_flush_notices();
        return code;
    }
    if (i->json)
        return config_print_written(name, !i->output);
    (void)buf_puts(&b, "next:\n");
    put_next(&b, i, name);
    if (b.failed)
        return cli_misuse(NULL, "out of memory");
    (void)printf("wrote %s%s\n%s", name, i->output ? "" : ", trusted as it reads now", b.data);
    return 0;
}

static void read_option(struct init *i, int id, const char *value)
{
    switch (id) {
    case OPTION_AGENT:
    case OPTION_ALLOW:
    case OPTION_EXCLUDE:
        i->given[id] = value;
        break;
    case OPTION_YES:
        i->yes = true;
        break;
    case OPTION_CWD:
        i->cwd = value;
        break;
    case OPTION_OUTPUT:
        i->output = value;
        break;
    case OPTION_JSON:
        i->json = true;
        break;
    default:
        i->help = true;
    }
}

CLI_COMMAND(init)
{
    static struct init i;
    struct opt opt;

    opt_init(&opt, init_options, ARRAY_LEN(init_options), argc - 1, argv + 1, 0);
    for (int id; (id = opt_next(&opt)) != OPT_END;) {
        if (id < 0)
            return cli_bad_option(command, &opt, id);
        read_option(&i, id, opt.value);
    }
    if (i.help)
        return cli_help(command);
    if (i.json && i.output && str_eq(i.output, "-"))
        return config_refuse_json_text("init");
    int dir = config_open_directory(i.cwd ? i.cwd : ".");
    if (dir < 0)
        return EXIT_AGENTBOX;
    int code = i.output ? 0 : config_refuse_second(dir, "init");
    if (code == 0) {
        look_around(&i, dir);
        code = collect(&i);
    }
    (void)close(dir);
    return code == 0 ? finish(&i) : code;
}
