/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handles of the public header, as the files of this folder see them.
 *
 * Locks: manager->lock guards its list of active runs, its questions and `closed`; command->lock
 * guards `run` and `question`, so that a cancel from another thread never meets one that is being
 * freed; process->lock guards `pumping` and `finished`, and whoever sets the first has the run,
 * which is the caller's once the second is set; that of the
 * network is in net.h. Taken in the order process, command, network, manager.
 */
#ifndef ABX_API_INTERNAL_H
#define ABX_API_INTERNAL_H

#include <pthread.h>
#include <sys/types.h>

#include "agentbox/agentbox.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"
#include "plan/compile.h"
#include "plan/facts.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "probe/configfiles.h"
#include "run/bwrap.h"
#include "run/run.h"

/* A file that a configuration was looked for in. */
struct config_file {
    enum origin origin;
    char *path, *directory; /* directory: NULL if there is no file */
    char *hides;            /* of the project: the file whose place it takes, or NULL */
    uint8_t digest[SHA256_BYTES];
    bool trusted; /* of the project: what it grants was accepted */
    bool foreign; /* … another program's: ABX_LOAD_SETTINGS */
    bool named;   /* … by the caller: then it may take another's place */
};

struct abx_config {
    unsigned refs; /* of a manager's copy, which never changes; atomic */
    struct settings *settings;
    struct config_file files[CONFIGFILES_COUNT];
    size_t file_count;
    abx_error *notes;      /* of ABX_LOAD_SETTINGS; copies have none */
    struct ruleset *rules; /* of a manager's copy: made once; under its lock */
    bool rules_withheld;   /* a project's file that is not trusted would loosen them */
};

struct net;
struct net_run;

struct abx_manager {
    pid_t owner;        /* the process that made it */
    bool no_stream[3];  /* closed when it was made: what has the number later is not a stream */
    abx_config *config; /* under lock: abx_manager_update replaces it */
    abx_hooks hooks;
    char *helper_dir, *program;
    struct image image;
    int epoll_fd;    /* of all processes, and of the network */
    struct net *net; /* made with the first filtered run, under lock; stays */
    int log_fd;      /* abx_hooks.log_file, or -1 */
    char *log_path;  /* its canonical name, or NULL */

    pthread_mutex_t lock;
    pthread_cond_t idle; /* an active run ended */
    struct active *active;
    struct run_rest *rests; /* launchers on their way out, to be reaped */
    size_t rest_count, rest_capacity;
    abx_process *processes; /* all handles, finished ones too */
    struct kept *kept;      /* of the last run's plan (api/kept.h), or NULL */
    /* approve.c */
    struct pending *pending;           /* keys that somebody is asking about */
    abx_question *questions;           /* that a callback is looking at */
    unsigned askers;                   /* threads that want an answer, or wait for another's */
    char (*session)[SHA256_HEX_BYTES]; /* keys that are approved as long as we live */
    size_t session_count, session_capacity;
    uint64_t last_id;
    bool closed;
    bool has_thread, stop_thread;
    pthread_t thread;
    int wake_fd; /* base/wake.h: the thread looks at stop_thread */
};

/* A run that abx_manager_close has to end. */
struct active {
    struct run *run;
    struct active *next, **prev;
};

enum command_state { COMMAND_NEW, COMMAND_WRAPPED, COMMAND_SPAWNED };

struct abx_exec_form {
    pid_t owner;
    int status_fd, lifeline_fd; /* ours */
    int32_t fds[LAUNCH_FD_PARENT - 3];
    struct hold hold;
    struct net_run *net; /* NULL: not filtered */
    char layers[16];
    const char *argv[6];
    char *path, *cwd;
};

/* What a command's owner asks for. */
struct command_wish {
    char **argv; /* NULL-terminated copy, or NULL for shell text */
    char *text;
    char **env; /* NULL: the caller's */
    char *cwd;  /* NULL: likewise */
    int64_t timeout_ns;
    struct settings *settings; /* the keys of this call; NULL once it was started */
    int32_t stdio_mode[3];
    int stdio_fd[3];
    abx_output_fn output;
    void *output_user;
};

struct abx_command {
    pid_t owner; /* the process that made it */
    enum command_state state;
    struct command_wish wish; /* set until it is wrapped or run, and only read from then on */

    /* What became of it, from wrap on. */
    abx_manager *manager;
    struct arena arena;
    abx_config *config; /* that it was wrapped with */
    struct layers layers;
    bool judged;         /* the classifier, or somebody it asked, lets it run */
    uint32_t backend;    /* enum plan_backend */
    struct bwrap bwrap;  /* BACKEND_BWRAP: which one */
    uint32_t shortfalls; /* bits of enum shortfall */
    const struct policy *policy;
    const struct facts *facts;
    const struct plan *plan;
    struct abx_exec_form *form;
    bool noticed;
    uint32_t required; /* layers, once it was started */

    abx_process *process; /* that it became, while that exists */

    pthread_mutex_t lock;
    struct run *run;        /* while one is going on */
    abx_question *question; /* while one is being asked */
    abx_manager *asking;    /* while an answer is wanted */
    _Atomic bool canceled;  /* set under lock */
};

struct abx_process {
    abx_command *command; /* NULL once it is gone */
    abx_manager *manager; /* NULL once the manager is gone */
    pid_t owner;          /* the process that spawned it */
    abx_process *next, **prev;
    uint64_t id;   /* what epoll knows it by: a pointer could be stale */
    unsigned pins; /* dispatchers at work on it */
    struct run run;
    struct active active;
    struct net_run *net; /* NULL: not filtered */
    int epoll_fd;        /* of this run's descriptors and of done_fd; in the manager's */
    int done_fd;         /* readable from the end on, when the others are closed */
    int wait_fd; /* one of the two, for who waits: what a thread will do is not his business */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool pumping; /* somebody is at the run, without the lock: callbacks may take their time */
    pthread_t pumper;
    bool finished;
    /* What a result needs when the command is gone. */
    uint32_t required;
};

struct abx_result {
    int32_t exit_code, signal;
    bool timed_out, canceled, sandboxed;
    int64_t duration_ns, user_ns, system_ns, max_rss;
    uint32_t layers;
    uint32_t backend;    /* enum plan_backend */
    uint32_t shortfalls; /* bits of enum shortfall */
    const char *enforced[LAYER_NAME_COUNT + 1];
    bool monitor, reads; /* what was watched */
    struct violations violations;
    struct {
        bool captured, truncated;
        bool passed_on; /* captured for the caller's callback: nothing was kept */
        char *bytes;
        size_t len;
        uint64_t total;
    } streams[3];
};

/* ---- manager.c ---- */
void cond_init(pthread_cond_t *cond);                         /* on the monotonic clock */
struct timespec deadline_after(int32_t timeout_ms);           /* for it */
int32_t manager_check(const abx_manager *m, abx_error **err); /* NULL, forked */
int32_t manager_check_open(abx_manager *m, const char *what, abx_error **err); /* … closed */
void manager_notice(const abx_manager *m, int32_t level, const char *text);
int32_t manager_enter(abx_manager *m, struct active *a, struct run *run, abx_error **err);
void manager_leave(abx_manager *m, struct active *a);
/* Ends a run; what is left of its launcher is reaped now or later. */
void manager_finish(abx_manager *m, struct run *run);
int32_t manager_watch(abx_manager *m, abx_process *p, abx_error **err);
void manager_forget(abx_manager *m,
                    abx_process *p); /* waits until no dispatcher is at work on it */
bool manager_has_thread(const abx_manager *m);
int32_t manager_net(abx_manager *m, struct net **ret, abx_error **err);
/* Somebody pumps from now on: the manager's thread, if it may have one. */
int32_t manager_pump(abx_manager *m, abx_error **err);
/* The configuration of this moment; for config_unref. */
abx_config *manager_config(abx_manager *m);

/* ---- command.c ---- */
int32_t command_check(const abx_command *c, const char *what, abx_error **err); /* NULL, forked */
int32_t command_check_wrapped(const abx_command *c, const char *what, abx_error **err);

/* ---- plan_command.c: policy, facts, plan ---- */
int32_t command_build_policy(abx_manager *m, abx_command *c, abx_error **err);
/* Facts and plan, after the policy. */
int32_t command_compile(abx_command *c, abx_error **err);
/*
 * The back end cannot do what the policy asks for: an error under "strict" (its hint is the
 * caller's), else a warning. where: "inside another sandbox"; what: "ports cannot be published".
 */
int32_t command_cannot(const abx_command *c, const char *where, const char *what, abx_error **err);
/* backend.c */
int32_t command_choose_backend(abx_command *c, abx_error **err);
/* … Landlock alone: refused under "strict", else said; what was planned is void. */
int32_t command_choose_landlock(abx_command *c, abx_error **err);
/* Namespaces were refused: the hint has the cause; under "strict" also what there is without. */
void command_hint_closed(abx_command *c, const struct status_msg *refusal, abx_error **err);
/* bwrap.c: … by bubblewrap: refused if there is none, or if it lacks something under "strict". */
int32_t command_choose_bwrap(abx_command *c, abx_error **err);
int32_t command_finish_bwrap(abx_command *c, struct plan *plan, abx_error **err);
/* Whether "warn" would run by bubblewrap; what would be lost then, in words. */
bool command_would_lack(abx_command *c, struct buf *text);
/* It runs: says what is lost, if nobody asked for bubblewrap. */
void command_tell_bwrap(const abx_command *c);
/* It is the back end: tried now, with the plan's layers. */
bool command_bwrap_works(const abx_command *c);
uint32_t command_layers(const abx_command *c);
int32_t command_finish_plan(abx_command *c, struct plan *plan, struct arena *arena,
                            abx_error **err);
void backend_notice(const abx_command *c);
/* Before placeholders are made: their registry is there, and the plan hides it. */
int32_t command_hide_state(abx_command *c, const char *const *state_dirs, abx_error **err);
uint32_t command_wants_tty(const abx_command *c); /* a bit for each stream that does */

/* ---- reduce.c: a plan on a host that has not every layer ---- */
struct probe_facts;
/* What works here, without what a missing layer takes along. */
uint32_t layers_available(const struct probe_facts *facts);
/*
 * After a start that failed (refused: by the host): true if there is less to try, and it was said.
 * known: what the host has; NULL: it is asked.
 */
bool command_reduce(abx_command *c, bool refused, const struct probe_facts *known);
/* Whether "warn" would run with a view, but without some layers; their names, each after a ' '. */
bool command_would_cut(abx_command *c, struct buf *text);
/* foresee.c: the plan of a run, by what this host has now; or the command's, `refused`. */
int32_t command_foresee(const abx_command *c, struct arena *arena, const struct plan **ret,
                        abx_error **err);

/* ---- layers.c: a configuration as layers ---- */
int32_t config_copy(const abx_config *config, abx_config **ret, abx_error **err);
void config_done(abx_config *config);                               /* its contents */
void config_unref(abx_config *config);                              /* NULL is fine */
const struct config_file *config_project(const abx_config *config); /* the project's, or NULL */
/* skip: LAYERS_SKIP. call may be NULL. */
int32_t config_merge(const abx_config *config, const struct settings *call, uint32_t skip,
                     struct arena *arena, struct layers *ret, abx_error **err);
/* log: a file that no command changes, whatever the layers say, or NULL. */
int32_t config_policy(const abx_config *config, const struct layers *layers, const char *log,
                      struct arena *arena, const struct policy **ret, abx_error **err);

/* A value as people may see it: of variables the names only. In the arena; NULL: no memory. */
const char *entry_shown(const struct settings_entry *entry, struct arena *arena);

/* ---- text.c ---- */
bool format_is_known(const char *format); /* "text" or "json"; NULL is not */
int32_t take_text(struct buf *b, char **ret_text, abx_error **err);
/* The text in quotes, as people may see it, between two that are ours. */
void put_quoted(struct buf *b, const char *before, const char *text, const char *after);

/* ---- trust.c ---- */
/* ABX_E_CONFIG: the project's file was looked for, takes another's place and is not trusted. */
int32_t config_check_place(const abx_config *config, abx_error **err);
#define TRUST_LOOKS 3
/*
 * ABX_OK if there is no project's file, if it is trusted, or if it grants this plan nothing.
 * *ret_widens: it grants something; a plan that is made anew may say otherwise.
 */
int32_t command_check_trust(const abx_command *c, const struct plan *plan, bool *ret_widens,
                            abx_error **err);
/* What to do about an untrusted file; otherwise: what else. */
void hint_trust(const struct config_file *file, const char *otherwise, abx_error **err);

/* ---- check.c ---- */
/*
 * The verdict of the rules, and where it needs one, an approval. ABX_OK: the command may run. After
 * the policy was built; once it said yes, it says nothing more.
 */
int32_t command_judge(abx_command *c, abx_error **err);

/* ---- approve.c ---- */
/* With the manager's lock: nobody needs answers any more. */
void manager_drop_questions(abx_manager *m);

/* ---- trace.c: ABX_TRACE; nothing happens without it ---- */
void trace_config(const abx_manager *m, const abx_config *config, const struct layers *layers);
void trace_verdict(const abx_manager *m, const char *decision, const char *rule);
void trace_plan(const abx_command *c);

/* ---- start.c: from a command, wrapped or with its policy built, to a started run ---- */
/*
 * capture: the defaults of abx_manager_run; otherwise those of abx_command_spawn. *ret_net is for
 * net_run_free, and NULL where the run is not filtered.
 */
int32_t command_start_run(abx_command *c, struct run *run, bool capture, struct net_run **ret_net,
                          abx_error **err);

void form_free(struct abx_exec_form *form);

/* ---- watch.c ---- */
/* Before the plan is delivered: what the monitor tells will be explained by it. */
int32_t command_watch(abx_command *c, struct run *run, abx_error **err);
/* The command runs, watched: its arena, with the plan, becomes the run's. */
void command_keep_plan(abx_command *c, struct run *run);

/* ---- remains.c: what an ended run left for the host's git, as notices, once ---- */
void tell_remains(const abx_manager *m, struct run *run);

/* ---- limits.c: limits that an ended run hit become violations, once ---- */
void add_limit_records(struct run *run);

/* ---- violations.c ---- */
struct json;
void violation_json(struct json *j, const abx_violation *violation);
void violation_members(struct json *j, const abx_violation *violation); /* of an open object */

/* ---- log.c ---- */
#define LOG_DIRECTORY "log" /* in the state directory */
/* Appends the run's violations, once; nothing happens where no log is kept. m may be NULL. */
void log_run(const abx_manager *m, struct run *run);
/* A notice, if the run's log_error is one. It calls the host: without a lock. */
void log_tell(const abx_manager *m, int error);
int32_t log_open(const char *path, int *ret_fd, abx_error **err);

/* ---- result.c ---- */
/* m may be gone (NULL); it keeps the log. */
int32_t result_from_run(const abx_manager *m, struct run *run, uint32_t required, abx_result **ret,
                        abx_error **err);

#endif
