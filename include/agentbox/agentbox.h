/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libagentbox: run commands that nobody vouches for in a sandbox made of the host's own kernel.
 *
 * Five calls are enough:
 *
 *     abx_manager *m; abx_command *c; abx_result *r; abx_error *e = NULL;
 *     const char *argv[] = { "make", "test", NULL };
 *
 *     abx_manager_new(NULL, NULL, &m, &e);                   the default policy
 *     abx_command_new(argv, &c, &e);                         what to run
 *     abx_command_append(c, "filesystem.rw", "/src", &e);    what it may change besides
 *     abx_manager_run(m, c, &r, &e);                         run it, wait, collect output
 *     printf("%d\n%s", abx_result_exit_code(r), abx_result_stdout(r, NULL));
 *
 * Rules that hold for every function:
 *  - A fallible call returns ABX_OK (0) or ABX_E_*, and fills *err (if err is not NULL) exactly
 *    when it fails. The caller owns that error: abx_error_free.
 *  - Outputs come just before err and are left alone on failure.
 *  - Strings passed in are copied. A returned const char * lives as long as its object; a returned
 *    char * is the caller's: abx_free.
 *  - Every *_free accepts NULL. A manager outlives the commands that it wrapped; a process and its
 *    command may be freed in any order.
 *  - Nothing prints, exits, installs a signal handler or changes global state. Managers are
 *    independent of each other and may be used from any thread. A command, process or result is
 *    used by one thread at a time, except abx_command_cancel and abx_process_signal.
 *  - A callback may call abx_command_cancel, abx_process_signal and abx_manager_answer, and nothing
 *    else on the same manager.
 *  - After fork() without exec, calls on managers, commands, processes, proxies and bridges of the
 *    parent give ABX_E_FORKED; freeing them there only frees the child's copies. As long as a child
 *    has copies, what runs does not end with a parent that dies.
 */
#ifndef AGENTBOX_H
#define AGENTBOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ABX_API __attribute__((visibility("default")))
#else
#define ABX_API
#endif

/* ---- version ---- */

#define ABX_VERSION_MAJOR 0
#define ABX_VERSION_MINOR 1
#define ABX_VERSION_PATCH 0

/* "0.1.0": the library that is loaded, which may be newer than the header. */
ABX_API const char *abx_version(void);

/* ---- errors ---- */

#define ABX_OK            0
#define ABX_E_FORBIDDEN   1 /* the classifier forbids the command; no approval helps */
#define ABX_E_ESCALATED   2 /* the command needs an approval that it did not get */
#define ABX_E_UNSUPPORTED 3 /* this host, or this platform, cannot do it */
#define ABX_E_DEPENDENCY  4 /* the launcher cannot be had, or bubblewrap, where it is asked for */
#define ABX_E_CLOSED      5 /* the manager was closed */
#define ABX_E_CONFIG      6 /* a key, a value or a file of the configuration is wrong */
#define ABX_E_PROXY       7 /* the network proxy could not start or died */
#define ABX_E_INVALID     8 /* misuse: NULL, empty, out of range */
#define ABX_E_STATE       9 /* right call, wrong moment (spawn before wrap, …) */
#define ABX_E_NOMEM       10
#define ABX_E_SANDBOX     11 /* a step failed, or a layer is missing; nothing was started */
#define ABX_E_EXEC        12 /* the sandbox stood, the program could not be executed */
#define ABX_E_TIMEOUT     13
#define ABX_E_CANCELED    14
#define ABX_E_IO          15
#define ABX_E_CALLBACK    16 /* a callback of the caller failed */
#define ABX_E_FORKED      17

typedef struct abx_error abx_error;

ABX_API int32_t abx_error_code(const abx_error *err);        /* ABX_E_*; ABX_OK for NULL */
ABX_API const char *abx_error_message(const abx_error *err); /* what was tried, on what; one line */
ABX_API const char *abx_error_subject(
    const abx_error *err);                                /* path, key, host or step; may be "" */
ABX_API const char *abx_error_hint(const abx_error *err); /* what to do about it; may be "" */
ABX_API int32_t abx_error_errno(const abx_error *err);    /* the system's reason, or 0 */
ABX_API const abx_error *abx_error_next(const abx_error *err); /* the next problem, or NULL */
ABX_API void abx_error_free(abx_error *err);
ABX_API const char *abx_error_name(int32_t code); /* "ABX_E_SANDBOX"; "ABX_E_?" if unknown */

ABX_API void abx_free(void *memory);

/* ---- configuration ---- */

/*
 * A configuration is a set of keys, named as in the config file ("filesystem.rw", "network.mode",
 * "resourceLimits.maxMemoryBytes", …; `agentbox help keys` lists them). Scalars are set, lists are
 * appended to; the other way round is ABX_E_INVALID. A wrong key or value is ABX_E_CONFIG at once.
 */
typedef struct abx_config abx_config;

ABX_API int32_t abx_config_new(abx_config **ret_config, abx_error **err);
ABX_API int32_t abx_config_set_string(abx_config *config, const char *key, const char *value,
                                      abx_error **err);
ABX_API int32_t abx_config_append(abx_config *config, const char *key, const char *value,
                                  abx_error **err);
/*
 * Enters a configuration file's text. format is "json", "jsonc" (comments, trailing commas) or
 * "yaml"; name is what messages call it. *err is the first of all problems (abx_error_next), each
 * with "NAME:LINE:COLUMN: " in front, and nothing is entered if there is one.
 */
ABX_API int32_t abx_config_parse(abx_config *config, const char *name, const char *text, size_t len,
                                 const char *format, abx_error **err);
/*
 * The same for a regular file of at most 1 MiB. Its name's end tells the format: .json, .yaml or
 * .yml; anything else is jsonc.
 */
ABX_API int32_t abx_config_load(abx_config *config, const char *path, abx_error **err);
/* What only all keys together can show. Single values were checked when they were entered. */
ABX_API int32_t abx_config_validate(const abx_config *config, abx_error **err);
/* What was entered: "json", a configuration file; or "text", a line for each with its source. */
ABX_API int32_t abx_config_dump(const abx_config *config, const char *format, char **ret_text,
                                abx_error **err);
ABX_API void abx_config_free(abx_config *config);

/*
 * The layers of the program's files, weaker first: the system's (/etc/agentbox/config.*), the
 * user's ($XDG_CONFIG_HOME/agentbox/config.* or ~/.config), the project's (.agentbox.* in cwd, or
 * above it up to the top of the outermost git repository). What was set by calls counts as the
 * user's. cwd NULL: the process's own. file, if not NULL, replaces the project's. The system's file
 * always counts. All problems of all files are told at once; on failure nothing is changed. Once
 * for each configuration.
 *
 * A project's file that grants more than would hold without it, or that was found in the place of
 * another one further up, makes a run fail (ABX_E_CONFIG, the grants as further errors) until the
 * user has accepted exactly these bytes: abx_config_trust.
 */
#define ABX_LOAD_SYSTEM_ONLY 1u /* neither the user's nor the project's file */
#define ABX_LOAD_FILE_ONLY   2u /* file alone: to check it, as whose it is by its directory */
#define ABX_LOAD_SETTINGS    4u /* file is another program's; see abx_config_notes */
ABX_API int32_t abx_config_load_layers(abx_config *config, const char *cwd, const char *file,
                                       uint32_t flags, abx_error **err);
/*
 * With ABX_LOAD_SETTINGS, file is the settings file of Anthropic's sandbox-runtime, or an
 * agent-sandbox configuration: its keys are replaced by ours. What is not the same here is a chain
 * of notes, each "FILE:LINE:COLUMN: …"; NULL: nothing. It is the configuration's. What would
 * protect less is an error; with ABX_LOAD_FILE_ONLY, too, a note.
 */
ABX_API const abx_error *abx_config_notes(const abx_config *config);
/* What was looked for: path, "system", "global" or "project", and what was found. */
#define ABX_FILE_ABSENT  0
#define ABX_FILE_LOADED  1
#define ABX_FILE_TRUSTED 2 /* loaded, a project's, and its grants were accepted */
ABX_API size_t abx_config_files(const abx_config *config);
ABX_API const char *abx_config_file_path(const abx_config *config, size_t index);
ABX_API const char *abx_config_file_origin(const abx_config *config, size_t index);
ABX_API int32_t abx_config_file_state(const abx_config *config, size_t index);
/* Every value that counts, with its origin. format is "text" or "json", here and below. */
ABX_API int32_t abx_config_show(const abx_config *config, const char *format, char **ret_text,
                                abx_error **err);
/* What the path presets mean on this machine, in cwd; the groups of hosts and the profiles. */
ABX_API int32_t abx_config_presets(const abx_config *config, const char *cwd, const char *format,
                                   char **ret_text, abx_error **err);
/* What the project's file grants beyond the other layers; as text: "" if nothing. */
ABX_API int32_t abx_config_grants(const abx_config *config, const char *cwd, const char *format,
                                  char **ret_text, abx_error **err);
/* Accepts the project's file as it was read: its path and the hash of its content are kept. */
ABX_API int32_t abx_config_trust(abx_config *config, abx_error **err);
/* Takes that back for a file, which need not exist any more. ret_was: whether it was trusted. */
ABX_API int32_t abx_config_untrust(const char *cwd, const char *file, int32_t *ret_was,
                                   abx_error **err);
/* The JSON Schema of a configuration file ("schema"), or a commented one to start from ("starter").
 */
ABX_API int32_t abx_config_template(const char *what, char **ret_text, abx_error **err);

/* The keys, by index from 0; NULL beyond the last. */
ABX_API const char *abx_key_name(size_t index);
ABX_API const char *abx_key_help(size_t index);

/* ---- classification ---- */

/*
 * Before a command is planned it is judged by what its words say: every command of a shell text,
 * and what these would run in turn. The strictest verdict is that of the whole. It is advice that
 * saves people from accidents; what stops malice is the sandbox, which every command gets.
 */
#define ABX_DECISION_ALLOW     0                         /* known to be harmless */
#define ABX_DECISION_SANDBOXED 1                         /* nothing is known against it */
#define ABX_DECISION_ESCALATED 2                         /* runs only if somebody approves it */
#define ABX_DECISION_FORBIDDEN 3                         /* never runs; nobody is asked */
ABX_API const char *abx_decision_name(int32_t decision); /* "allow", …; "?" if unknown */

typedef struct abx_check abx_check;
ABX_API int32_t abx_check_decision(const abx_check *check);
ABX_API const char *abx_check_rule(const abx_check *check);   /* "" if no rule matched */
ABX_API const char *abx_check_reason(const abx_check *check); /* a sentence for a person, or "" */
/* The part of the command that decided, as written: escape it before a terminal shows it. */
ABX_API const char *abx_check_part(const abx_check *check);
ABX_API int32_t abx_check_json(const abx_check *check, char **ret_text, abx_error **err);
/*
 * For abx_hooks.classify: another verdict. What a built-in rule forbids stays forbidden
 * (ABX_E_FORBIDDEN). rule and reason may be NULL.
 */
ABX_API int32_t abx_check_set(abx_check *check, int32_t decision, const char *rule,
                              const char *reason, abx_error **err);
ABX_API void abx_check_free(abx_check *check);

/* The built-in rules, by index from 0; NULL (decision: -1) beyond the last. */
ABX_API const char *abx_rule_name(size_t index);
ABX_API int32_t abx_rule_decision(size_t index);
ABX_API const char *abx_rule_reason(size_t index);
ABX_API const char *abx_rule_example(size_t index); /* a command that it matches */

/* ---- approvals ---- */

/*
 * What an approver is asked. Texts are escaped for a terminal: control, bidirectional and invisible
 * characters are shown, not obeyed. The question lives as long as the callback.
 */
typedef struct abx_question abx_question;
ABX_API const char *abx_question_command(const abx_question *question);
ABX_API const char *abx_question_part(const abx_question *question); /* of it, that decided */
ABX_API const char *abx_question_rule(const abx_question *question);
ABX_API const char *abx_question_reason(const abx_question *question);
ABX_API const char *abx_question_cwd(const abx_question *question);
/* 0: the answer cannot be kept, SESSION and ALWAYS mean ONCE. */
ABX_API int32_t abx_question_can_keep(const abx_question *question);
/* Readable once nobody needs the answer any more (canceled, closed); -1: there is none. */
ABX_API int32_t abx_question_fd(const abx_question *question);
/* What is left of the command's time; -1: no limit. A later answer counts as no. */
ABX_API int64_t abx_question_timeout_ms(const abx_question *question);

#define ABX_APPROVE_FAILED  (-1) /* the approver could not ask: no */
#define ABX_APPROVE_NO      0    /* as is every other value */
#define ABX_APPROVE_ONCE    1    /* this run */
#define ABX_APPROVE_SESSION 2    /* exactly this command, as long as the manager lives */
#define ABX_APPROVE_ALWAYS  3    /* exactly this command; kept by the cache, if there is one */
/*
 * "Exactly": the same bytes in the same directory under the same configuration, and files that the
 * command names have the same content. Equal questions from several threads are asked once; who
 * waits shares every answer but ONCE. A no is not kept. Called without any lock, by the thread that
 * wraps, spawns or runs; the time that it takes is bounded by abx_command_set_timeout, and the
 * command then has its time all the same.
 */
typedef int32_t (*abx_approve_fn)(void *user, const abx_question *question);

/* A cache of ALWAYS answers. key: 64 hexadecimal digits. lookup: 1 if it was stored, else 0. */
typedef int32_t (*abx_approval_lookup_fn)(void *user, const char *key);
/* Returns 0, or anything else if it could not be stored: then it holds for the manager. */
typedef int32_t (*abx_approval_store_fn)(void *user, const char *key, const abx_question *question);

/*
 * The ALWAYS answers that are kept (ABX_KEEP_APPROVALS), the newest first. format: "text" or "json"
 * (key, time, command, part, rule, cwd). Texts are as they were shown.
 */
ABX_API int32_t abx_approvals_list(const char *format, char **ret_text, abx_error **err);
/*
 * Takes one back: its key, or the first six or more digits of it that no other begins with; NULL:
 * all. ret_count (may be NULL): how many. Managers that live keep what they were told.
 */
ABX_API int32_t abx_approvals_forget(const char *key, size_t *ret_count, abx_error **err);

/* ---- manager ---- */

typedef struct abx_manager abx_manager;

/* A notice: something the host may want to show. Called from the thread that made it happen. */
#define ABX_NOTICE_INFO    0
#define ABX_NOTICE_WARNING 1
#define ABX_NOTICE_DEBUG   2 /* only with ABX_TRACE */
/* A violation, as it happens: text is abx_violation_text, module is "monitor". */
#define ABX_NOTICE_VIOLATION 3
typedef void (*abx_notice_fn)(void *user, int32_t level, const char *module, const char *text);

/*
 * A classifier of the caller's, asked after the built-in one about what that does not forbid; check
 * holds the verdict so far. Anything but 0 is a failure: the command does not run.
 */
typedef struct abx_command abx_command;
typedef int32_t (*abx_classify_fn)(void *user, const abx_command *command, abx_check *check);

/*
 * A command of a filtered network wants a host that no rule mentions. Must not wait for anybody:
 * answer with abx_manager_answer, from here or later, from any thread; silence for a minute is a
 * no. Commands that want the same host and port at the same time share a question. Called by
 * whoever pumps (the manager's thread, or the caller's own call).
 */
typedef void (*abx_network_fn)(void *user, uint32_t question, const char *host, int32_t port);
#define ABX_ANSWER_NO          0 /* the next one asks again */
#define ABX_ANSWER_YES         1
#define ABX_ANSWER_YES_SESSION 2 /* as long as the manager lives */
#define ABX_ANSWER_NO_SESSION  3

#define ABX_NO_THREAD 1u /* the caller polls abx_manager_fd and calls abx_manager_dispatch */
#define ABX_TRACE     2u /* notices tell how a plan came about, and the plan */
/* ALWAYS answers are files in the user's state directory, out of every sandbox's reach. */
#define ABX_KEEP_APPROVALS 4u
/* What runs were refused is appended to a log there, too: abx_log_text. */
#define ABX_KEEP_LOG 16u
/*
 * The approver is a person: after five noes within a minute, of all programs of the user together,
 * nobody is asked until that minute is over, and what needs an approval does not run.
 */
#define ABX_LIMIT_QUESTIONS 8u

typedef struct abx_hooks {
    uint32_t size; /* sizeof(abx_hooks) of the caller; abx_hooks_init sets it */
    uint32_t flags;
    abx_notice_fn notice;
    void *user;
    void (*user_free)(void *user);          /* also called when abx_manager_new fails */
    const char *helper_dir;                 /* where the launcher's fallback copy lies, or NULL */
    abx_approve_fn approve;                 /* NULL: what is escalated does not run */
    abx_classify_fn classify;               /* or NULL */
    abx_approval_lookup_fn approval_lookup; /* both or none; not with ABX_KEEP_APPROVALS */
    abx_approval_store_fn approval_store;
    const char *log_file;   /* gets violations as JSON lines; no command writes it; NULL: none */
    const char *program;    /* agentbox, for the network proxy; NULL: the installed one */
    abx_network_fn network; /* NULL: what no rule mentions is refused */
} abx_hooks;

ABX_API void abx_hooks_init(abx_hooks *hooks, uint32_t size);

/* config and hooks may be NULL (built-in defaults). Both are copied. */
ABX_API int32_t abx_manager_new(const abx_config *config, const abx_hooks *hooks,
                                abx_manager **ret_manager, abx_error **err);
/*
 * Another configuration for the commands to come; those that are wrapped or running keep theirs,
 * but for the rules of a filtered network: those are in force for all when this returns, and what
 * is open to hosts that they do not allow is closed. It is checked first: on failure the old one
 * stays.
 */
ABX_API int32_t abx_manager_update(abx_manager *manager, const abx_config *config, abx_error **err);
/* To abx_hooks.network: ABX_ANSWER_*. One that comes too late is nobody's any more. */
ABX_API int32_t abx_manager_answer(abx_manager *manager, uint32_t question, int32_t answer,
                                   abx_error **err);
/*
 * No new commands from now on; running ones are ended and waited for, at most timeout_ms (negative:
 * as long as it takes).
 */
ABX_API int32_t abx_manager_close(abx_manager *manager, int32_t timeout_ms, abx_error **err);
ABX_API void abx_manager_free(abx_manager *manager); /* closes first */

/* For ABX_NO_THREAD: readable when abx_manager_dispatch has work. */
ABX_API int32_t abx_manager_fd(abx_manager *manager);
ABX_API int32_t abx_manager_dispatch(abx_manager *manager, int32_t timeout_ms, abx_error **err);

/* ---- commands ---- */

/*
 * A command goes NEW -> WRAPPED -> SPAWNED. Setters work in NEW only; spawning before wrap is
 * ABX_E_STATE, so that nothing runs unsandboxed because a call was forgotten.
 */
ABX_API int32_t abx_command_new(const char *const *argv, abx_command **ret_command,
                                abx_error **err);
ABX_API int32_t abx_command_new_shell(const char *text, abx_command **ret_command, abx_error **err);
ABX_API void abx_command_free(abx_command *command);
/* What was given: the shell text, or the arguments, and the directory; NULL if it was not. */
ABX_API const char *abx_command_text(const abx_command *command);
ABX_API const char *const *abx_command_argv(const abx_command *command);
ABX_API const char *abx_command_cwd(const abx_command *command);

ABX_API int32_t abx_command_set_cwd(abx_command *command, const char *dir, abx_error **err);
/* The environment to start from ("K=V", NULL-terminated); without it, the caller's own. */
ABX_API int32_t abx_command_set_env(abx_command *command, const char *const *envp, abx_error **err);
ABX_API int32_t abx_command_set_timeout(abx_command *command, int64_t timeout_ms, abx_error **err);
/* Per-call keys: the config's own names, on top of the manager's configuration. */
ABX_API int32_t abx_command_set_string(abx_command *command, const char *key, const char *value,
                                       abx_error **err);
ABX_API int32_t abx_command_append(abx_command *command, const char *key, const char *value,
                                   abx_error **err);

/* Standard streams. abx_manager_run captures 1 and 2 and gives an empty 0 unless told otherwise. */
#define ABX_STDIO_DEFAULT 0 /* run: 0 null, 1 and 2 captured; spawn: all inherited */
#define ABX_STDIO_INHERIT 1
#define ABX_STDIO_NULL    2
#define ABX_STDIO_CAPTURE 3 /* streams 1 and 2 only; bounded by maxOutputBytes */
#define ABX_STDIO_FD      4 /* the given descriptor; the caller keeps it */
#define ABX_STDIO_TTY     5 /* a new terminal inside, one for all that say so: abx_process_tty_fd */
#define ABX_STDIO_STREAM  6 /* as CAPTURE, for abx_command_set_output alone: nothing is kept */
ABX_API int32_t abx_command_set_stdio(abx_command *command, int32_t stream, int32_t mode,
                                      int32_t fd, abx_error **err);
/* Captured bytes as they come, also beyond the limit. Called by whoever pumps the process. */
typedef void (*abx_output_fn)(void *user, int32_t stream, const char *bytes, size_t len);
ABX_API int32_t abx_command_set_output(abx_command *command, abx_output_fn output, void *user,
                                       abx_error **err);

/*
 * Ends the command now, or as soon as it is spawned; also one that its exec form started. From any
 * thread, any number of times.
 */
ABX_API void abx_command_cancel(abx_command *command);

/*
 * Verdict, policy, plan, seal. Nothing runs yet. ABX_E_FORBIDDEN or ABX_E_ESCALATED (not approved;
 * also silence, errors and no approver) if the classifier has something against it.
 */
ABX_API int32_t abx_manager_wrap(abx_manager *manager, abx_command *command, abx_error **err);

/*
 * What would be enforced. format is "text" or "json": with the back end that a run would have here,
 * for which the host is tried; "bwrap": a command that shows the same files by bubblewrap, for a
 * shell; or "seatbelt": the profile that macOS would enforce for the same policy and tree. The
 * command must be wrapped.
 */
ABX_API int32_t abx_command_plan(const abx_command *command, const char *format, char **ret_text,
                                 abx_error **err);

/*
 * Why: what the command may do, by the plan that it would run with. operation is "read", "write" or
 * "exec" with a path (relative to the command's working directory), or "net" with HOST or
 * HOST:PORT. The command must be wrapped.
 */
typedef struct abx_answer abx_answer;
ABX_API int32_t abx_command_explain(const abx_command *command, const char *operation,
                                    const char *target, abx_answer **ret_answer, abx_error **err);
ABX_API int32_t abx_answer_allowed(const abx_answer *answer);
ABX_API const char *abx_answer_target(const abx_answer *answer); /* canonical path, or host */
ABX_API int32_t abx_answer_port(const abx_answer *answer);       /* "net": 0 if none was named */
ABX_API const char *abx_answer_rule(const abx_answer *answer);   /* "default" if none decides */
ABX_API const char *abx_answer_origin(const abx_answer *answer); /* "built-in", "project", … */
ABX_API const char *abx_answer_source(const abx_answer *answer); /* "FILE:LINE:COLUMN", or "" */
ABX_API const char *abx_answer_grant(
    const abx_answer *answer); /* option that would allow it, or "" */
ABX_API const char *abx_answer_note(const abx_answer *answer); /* what else counts, or "" */
ABX_API int32_t abx_answer_json(const abx_answer *answer, char **ret_text, abx_error **err);
ABX_API void abx_answer_free(abx_answer *answer);

/*
 * For a runtime that spawns by itself: start path with argv, envp and cwd, and with fds[i] as
 * descriptor 3 + i. The exit status is the command's (128 + N for a signal, 125 if the sandbox
 * could not be set up). The form belongs to the command and closes its descriptors with it, which
 * ends what still runs; abx_manager_close does not.
 */
typedef struct abx_exec_form abx_exec_form;
ABX_API int32_t abx_command_exec_form(abx_command *command, const abx_exec_form **ret_form,
                                      abx_error **err);
ABX_API const char *abx_exec_form_path(const abx_exec_form *form);
ABX_API const char *const *abx_exec_form_argv(const abx_exec_form *form);
ABX_API const char *const *abx_exec_form_envp(const abx_exec_form *form);
ABX_API const char *abx_exec_form_cwd(const abx_exec_form *form);
ABX_API size_t abx_exec_form_fds(const abx_exec_form *form, const int32_t **ret_fds);

/* ---- processes ---- */

typedef struct abx_process abx_process;
typedef struct abx_result abx_result;

/* Returns once the command has been executed inside, or with the step that failed. */
ABX_API int32_t abx_command_spawn(abx_command *command, abx_process **ret_process, abx_error **err);
/* wrap + spawn of a new command; faster than both, because they overlap. */
ABX_API int32_t abx_manager_spawn(abx_manager *manager, abx_command *command,
                                  abx_process **ret_process, abx_error **err);
/* Waits for the end (timeout_ms < 0: without limit; ABX_E_TIMEOUT leaves the process running). */
ABX_API int32_t abx_process_wait(abx_process *process, int32_t timeout_ms, abx_result **ret_result,
                                 abx_error **err);
/* SIGTERM, SIGINT, SIGHUP: delivered, grace period, then the end; a second one ends it at once. */
ABX_API int32_t abx_process_signal(abx_process *process, int32_t signal_number, abx_error **err);
ABX_API int32_t abx_process_pid(const abx_process *process); /* of the keeper, in the host */
/* ABX_STDIO_TTY: the master side of the terminal inside; -1 otherwise. Lives with the process. */
ABX_API int32_t abx_process_tty_fd(const abx_process *process);
/* The signal that stopped the command (Ctrl-Z), or 0 while it runs. SIGCONT makes it go on. */
ABX_API int32_t abx_process_stopped(abx_process *process);
/* Readable when abx_process_wait with timeout 0 has something to do. */
ABX_API int32_t abx_process_fd(const abx_process *process);
ABX_API void abx_process_free(abx_process *process); /* ends it if it still runs */

/* wrap + spawn + wait. */
ABX_API int32_t abx_manager_run(abx_manager *manager, abx_command *command, abx_result **ret_result,
                                abx_error **err);

/*
 * The verdict alone, with the manager's rules (NULL: the built-in ones) and the command's own keys.
 * Nobody is asked and nothing runs; the command may be in any state, but has no keys of its own any
 * more once it was spawned.
 */
ABX_API int32_t abx_manager_check(abx_manager *manager, const abx_command *command,
                                  abx_check **ret_check, abx_error **err);

/* One call, the default policy. */
ABX_API int32_t abx_check_shell(const char *shell_text, abx_check **ret_check, abx_error **err);
ABX_API int32_t abx_exec(const char *shell_text, abx_result **ret_result, abx_error **err);
ABX_API int32_t abx_exec_args(const char *const *argv, abx_result **ret_result, abx_error **err);

/* ---- results ---- */

ABX_API int32_t
abx_result_exit_code(const abx_result *result); /* 128 + N for a signal; 124 timed out */
ABX_API int32_t abx_result_signal(const abx_result *result); /* 0 if it exited by itself */
ABX_API int32_t abx_result_timed_out(const abx_result *result);
ABX_API int32_t abx_result_canceled(const abx_result *result);
/* NUL-terminated for convenience; NULL where the stream was not captured. */
ABX_API const char *abx_result_stdout(const abx_result *result, size_t *ret_len);
ABX_API const char *abx_result_stderr(const abx_result *result, size_t *ret_len);
ABX_API int32_t abx_result_truncated(const abx_result *result, int32_t stream);
ABX_API uint64_t abx_result_output_bytes(const abx_result *result,
                                         int32_t stream); /* also dropped ones */
ABX_API int64_t abx_result_duration_ns(const abx_result *result);
ABX_API int64_t abx_result_user_ns(const abx_result *result);
ABX_API int64_t abx_result_system_ns(const abx_result *result);
ABX_API int64_t abx_result_max_rss_bytes(const abx_result *result);
/* 1 only if every layer that the policy asks for was in force, and there is no gap. */
ABX_API int32_t abx_result_sandboxed(const abx_result *result);
/* "native", "bwrap", "landlock" or "none" */
ABX_API const char *abx_result_backend(const abx_result *result);
/* The layers in force: names, NULL-terminated. */
ABX_API const char *const *abx_result_enforced(const abx_result *result);
ABX_API int32_t abx_result_json(const abx_result *result, char **ret_text, abx_error **err);
ABX_API void abx_result_free(abx_result *result);

/* ---- violations ---- */

/*
 * What the command tried and was refused: one record for each different thing, with a count. The
 * records explain, they never decide: the kernel refuses whether or not anybody looks, and a
 * command that wants to can hide from them or make some up. They live as long as the result.
 */
typedef struct abx_violation abx_violation;

/* "notify": system calls are watched; "none": only what is refused elsewhere is known. */
ABX_API const char *abx_result_monitor(const abx_result *result);
/* 1 if refused reads are among the records, too: masks that tell, or monitor "learn". */
ABX_API int32_t abx_result_reads_reported(const abx_result *result);
ABX_API size_t abx_result_violations(const abx_result *result);
ABX_API const abx_violation *abx_result_violation(const abx_result *result, size_t index);
/* How many more there were than could be kept or looked at. */
ABX_API uint64_t abx_result_violations_dropped(const abx_result *result);
/*
 * For people and agents: "" if there are none, else lines between <sandbox_violations> and
 * </sandbox_violations>, one for each record, at most max_lines (0: all), the rest as a number. No
 * name in them ends the block: "</" becomes "\x3c/".
 */
ABX_API int32_t abx_result_violations_text(const abx_result *result, size_t max_lines,
                                           char **ret_text, abx_error **err);

/* Texts are as the sandbox saw them, not escaped, and "" where there is nothing to say. */
ABX_API int64_t abx_violation_time_ns(const abx_violation *violation); /* of the first; Unix time */
/* "file-read", "file-write", "network", "process" or "other" */
ABX_API const char *abx_violation_operation(const abx_violation *violation);
ABX_API const char *abx_violation_path(const abx_violation *violation);
ABX_API const char *abx_violation_host(const abx_violation *violation);
ABX_API int32_t abx_violation_port(const abx_violation *violation);        /* 0: none */
ABX_API const char *abx_violation_detail(const abx_violation *violation);  /* call, protocol */
ABX_API int32_t abx_violation_pid(const abx_violation *violation);         /* inside; 0: none */
ABX_API const char *abx_violation_process(const abx_violation *violation); /* its name */
ABX_API const char *abx_violation_rule(const abx_violation *violation);    /* "default", … */
ABX_API const char *abx_violation_origin(const abx_violation *violation);  /* "built-in", … */
ABX_API const char *abx_violation_source(const abx_violation *violation);  /* FILE:LINE:COLUMN */
ABX_API const char *abx_violation_grant(const abx_violation *violation);   /* what would allow it */
/* The path that the grant names, not quoted; "" if it names none. */
ABX_API const char *abx_violation_grant_path(const abx_violation *violation);
ABX_API const char *abx_violation_note(const abx_violation *violation); /* one sentence */
/*
 * 1: seen when the call was made, before the kernel decided it. A command whose threads swap the
 * path in between can make it be about another one.
 */
ABX_API int32_t abx_violation_attempt(const abx_violation *violation);
ABX_API uint64_t abx_violation_count(const abx_violation *violation);
/* One line, escaped for a terminal. */
ABX_API const char *abx_violation_text(const abx_violation *violation);

/*
 * The log of ABX_KEEP_LOG, oldest first. format is "text" or "json" (a record a line); last: only
 * so many of the newest, 0: all that there are.
 */
ABX_API int32_t abx_log_text(const char *format, size_t last, char **ret_text, abx_error **err);

/* ---- what this host can do ---- */

#define ABX_STATUS_OK      0
#define ABX_STATUS_LIMITED 1
#define ABX_STATUS_MISSING 2

typedef struct abx_report abx_report;

/* Tries each layer in a throw-away child. refresh != 0 ignores what was learnt since boot. */
ABX_API int32_t abx_probe(int32_t refresh, abx_report **ret_report, abx_error **err);
/* "native"; "bwrap", if its layer is ok; with fallbackPolicy "warn" only: "bwrap" that is limited,
 * "landlock", or "none": fewer layers, if a run starts at all. */
ABX_API const char *abx_report_backend(const abx_report *report);
/* What a run would be watched by: "notify" or "none". */
ABX_API const char *abx_report_monitor(const abx_report *report);
ABX_API size_t abx_report_layers(const abx_report *report);
ABX_API const char *abx_report_layer_name(const abx_report *report, size_t index);
ABX_API int32_t abx_report_layer_status(const abx_report *report, size_t index);
ABX_API const char *abx_report_layer_detail(const abx_report *report, size_t index);
ABX_API const char *abx_report_layer_hint(const abx_report *report, size_t index);
ABX_API int32_t abx_report_json(const abx_report *report, char **ret_text, abx_error **err);
ABX_API void abx_report_free(abx_report *report);

/* 1 if the calling process runs inside an agentbox sandbox, 0 if not. */
ABX_API int32_t abx_inside(void);

#ifdef __cplusplus
}
#endif

#include <agentbox/network.h> /* the proxy, the network's rules and bridges on their own */

#endif
