/* SPDX-License-Identifier: Apache-2.0 */
/* The environment of the command: what is removed, what is set, who has the last word. */
#include "lib/facts_case.h"

#include "base/str.h"
#include "plan/env.h"

struct env_case {
    struct facts_case base;
    struct policy_env entries[8];
    struct env_result result;
};

static void env_init(struct env_case *c)
{
    case_init(&c->base);
    c->base.policy.env = c->entries;
}

static void env_add(struct env_case *c, uint32_t action, const char *name, const char *value)
{
    c->entries[c->base.policy.env_count++] = (struct policy_env){ action, ORIGIN_CALL, name,
                                                                  value };
}

static void env_run(struct env_case *c, const char *const *envp)
{
    assert_int_equal(env_compile(&c->base.policy, &c->base.facts,
                                 &(struct env_request){ envp, NULL }, &c->base.arena, &c->result,
                                 NULL),
                     ABX_OK);
    assert_null(c->result.env[c->result.env_count]);
}

static const char *value_of(const struct env_case *c, const char *name)
{
    const char *value = NULL;
    size_t len = strlen(name);

    for (size_t i = 0; i < c->result.env_count; i++)
        if (strncmp(c->result.env[i], name, len) == 0 && c->result.env[i][len] == '=') {
            assert_null(value); /* only once */
            value = c->result.env[i] + len + 1;
        }
    return value;
}

static const char *reason_for(const struct env_case *c, const char *name)
{
    for (size_t i = 0; i < c->result.removed_count; i++)
        if (str_eq(c->result.removed[i].name, name))
            return c->result.removed[i].reason;
    return NULL;
}

static const char *const removed[] = {
    "LD_PRELOAD=x",
    "LD_LIBRARY_PATH=x",
    "LD_AUDIT=x",
    "DYLD_INSERT_LIBRARIES=x",
    "GCONV_PATH=x",
    "BASH_ENV=x",
    "ENV=x",
    "SHELLOPTS=x",
    "PS4=x",
    "PROMPT_COMMAND=x",
    "PYTHONSTARTUP=x",
    "PYTHONHOME=x",
    "NODE_OPTIONS=x",
    "PERL5OPT=x",
    "RUBYOPT=x",
    "JAVA_TOOL_OPTIONS=x",
    "IFS=x",
    "GLIBC_TUNABLES=x",
    "BASH_FUNC_ls%%=() { evil; }",
    "GITHUB_TOKEN=x",
    "github_token=x",
    "MY_SECRET=x",
    "DB_PASSWORD=x",
    "OPENAI_API_KEY=x",
    "AWS_SECRET_ACCESS_KEY=x",
    "AWS_PROFILE=x",
    "GOOGLE_APPLICATION_CREDENTIALS=x",
    "GITHUB_PAT=x",
    "DOCKER_AUTH_CONFIG=x",
    "SENTRY_DSN=x",
    "NPM_TOKEN=x",
    "KUBECONFIG=x",
    "SSH_PRIVATE_KEY=x",
    "SSH_AUTH_SOCK=x",
    "GPG_AGENT_INFO=x",
    "DBUS_SESSION_BUS_ADDRESS=x",
    "XAUTHORITY=x",
    "DISPLAY=:0",
    "WAYLAND_DISPLAY=x",
    "DOCKER_HOST=x",
    "TMUX=x",
    "VSCODE_IPC_HOOK_CLI=x",
    "XDG_RUNTIME_DIR=x",
    "DATABASE_URL=postgres://u:pw@h/db",
    "HTTPS_PROXY=http://a:b@proxy:1",
    "HARMLESS=ghp_abcdef",
    "OTHER=sk-abc",
    "KEYFILE=-----BEGIN RSA PRIVATE KEY-----",
    "SSHPASS=x",
    "MYSQL_PWD=x",
    "OPENAI_KEY=x",
    "stripe_key=x",
    "CI_JOB_JWT=x",
    "CI_JOB_JWT_V2=x",
    "JWT=x",
    "SLACK_WEBHOOK_URL=x",
    "JIRA_CRED=x",
    "JIRA_CREDS=x",
    "CREDS=x",
    "STRIPE_SK=x",
    "COOKIE=x",
    "SESSION_COOKIES=x",
    "PRIVATE_PEM=x",
    "TLS_KEY_PEM=x",
    "CONNECTION=Server=h;User=u;Password=p",
    "JDBC=jdbc:x://h/?user=u&password=p",
    "OPTIONS=-DPASSWORD=p",
    "ODBC=Server=h;Uid=u;Pwd=p",
    "STORAGE=DefaultEndpointsProtocol=https;AccountName=n;AccountKey=k",
    "QUEUE=Endpoint=sb://h/;SharedAccessKey=k",
    "WHERE=https://hooks.slack.com/services/T/B/x",
    "WHO=eyJhbGciOiJIUzI1NiJ9.e30.x",
    "PAY=sk_live_x",
    "CODE=ghs_x",
};

static void injection_secrets_and_sockets_are_removed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(removed); i++) {
        const char *envp[] = { removed[i], NULL };
        struct env_case c = { 0 };
        char *name = strndup(removed[i], strcspn(removed[i], "="));
        assert_non_null(name);
        env_init(&c);
        env_run(&c, envp);
        if (value_of(&c, name) || !reason_for(&c, name))
            fail_msg("%s was passed", name);
        free(name);
        case_done(&c.base);
    }
}

static const char *const passed[] = {
    "USER=u",
    "LANG=C.UTF-8",
    "LC_ALL=C",
    "TERM=xterm",
    "EDITOR=vi",
    "PAGER=less",
    "PYTHONPATH=x",
    "GOPATH=/go",
    "CARGO_HOME=x",
    "RUSTFLAGS=-g",
    "CFLAGS=-O2",
    "CI=true",
    "LESSOPEN=x",
    "AWS_REGION=eu",
    "TOKENIZERS_PARALLELISM=false",
    "COLORTERM=truecolor",
    "HTTP_PROXY=http://proxy:3128",
    "URL=https://u@h/x",
    "X=a:b@c",
    "LDFLAGS=-s",
    "KEYBOARD=de",
    "OLD=",
    "MONKEY=1",
    "GIT_DIR=.git",
    "SSH_TTY=/dev/pts/0",
    "AUTHOR=me",
    "COMPASS=n",
    "XKEYSYMDB=/x",
    "SSH_ASKPASS_REQUIRE=never",
    "LS_COLORS=rs=0:di=01;34",
    "GPG_TTY=/dev/pts/0",
    "OLDPWD=/x",
    "KEY=x",
    "HOTKEY=x",
    "KEYMAP=us",
    "KEYTIMEOUT=1",
    "KEY_BINDINGS=vi",
    "GIT_CONFIG_KEY_0=user.name",
    "CI_CACHE_KEY=x",
    "SSH_PUBLIC_KEY=ssh-ed25519 x",
    "DB_CA_PEM=x",
    "TLS_CERT_PEM=x",
    "GOPRIVATE=example.com",
    "COOKIECUTTER_CONFIG=/x",
    "SACRED=1",
    "TASK=build",
    "RISK=low",
    "PEM=1",
    "TZ=Asia/Tokyo",
    "SUDO_PROMPT=[sudo] password for %u: ",
    "PS1=\\w$ ",
    "SHOW=pwd=1",
    "LC_TIME=sk_SK.UTF-8",
};

static void ordinary_variables_are_passed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        const char *envp[] = { passed[i], NULL };
        const char *equals = strchr(passed[i], '=');
        struct env_case c = { 0 };
        char *name = strndup(passed[i], (size_t)(equals - passed[i]));
        assert_non_null(name);
        env_init(&c);
        env_run(&c, envp);
        const char *value = value_of(&c, name);
        if (!value || !str_eq(value, equals + 1))
            fail_msg("%s was not passed", name);
        assert_int_equal(c.result.removed_count, 0);
        free(name);
        case_done(&c.base);
    }
}

static void pass_brings_back_what_would_be_removed(void **state)
{
    const char *envp[] = { "GITHUB_TOKEN=t", "LD_PRELOAD=x", NULL };
    struct env_case c = { 0 };

    (void)state;
    env_init(&c);
    env_add(&c, ENV_PASS, "GITHUB_TOKEN", NULL);
    env_add(&c, ENV_PASS, "NOT_THERE", NULL);
    env_run(&c, envp);
    assert_string_equal(value_of(&c, "GITHUB_TOKEN"), "t");
    assert_null(value_of(&c, "NOT_THERE"));
    assert_null(reason_for(&c, "GITHUB_TOKEN"));
    assert_non_null(reason_for(&c, "LD_PRELOAD"));
    case_done(&c.base);
}

static void later_entry_has_the_last_word(void **state)
{
    const char *envp[] = { "A=outside", "B=outside", "C_TOKEN=outside", NULL };
    struct env_case c = { 0 };

    (void)state;
    env_init(&c);
    env_add(&c, ENV_SET, "A", "config");
    env_add(&c, ENV_UNSET, "B", NULL);
    env_add(&c, ENV_UNSET, "A", NULL);
    env_add(&c, ENV_SET, "B", "call");
    env_add(&c, ENV_PASS, "C_TOKEN", NULL);
    env_add(&c, ENV_SET, "NEW_SECRET", "on purpose");
    env_run(&c, envp);
    assert_null(value_of(&c, "A"));
    assert_string_equal(value_of(&c, "B"), "call");
    assert_string_equal(value_of(&c, "C_TOKEN"), "outside");
    assert_string_equal(value_of(&c, "NEW_SECRET"), "on purpose");
    assert_int_equal(c.result.removed_count, 0);
    case_done(&c.base);
}

static void of_equal_names_the_last_one_counts_once(void **state)
{
    const char *envp[] = { "A=1", "B=x", "A=2", "A=3", NULL };
    struct env_case c = { 0 };

    (void)state;
    env_init(&c);
    env_run(&c, envp);
    assert_string_equal(value_of(&c, "A"), "3");
    assert_string_equal(c.result.env[0], "A=3"); /* where it first stood */
    case_done(&c.base);
}

static void secret_in_a_second_copy_is_seen(void **state)
{
    const char *envp[] = { "A=harmless", "A=ghp_token", NULL };
    struct env_case c = { 0 };

    (void)state;
    env_init(&c);
    env_run(&c, envp);
    assert_null(value_of(&c, "A"));
    case_done(&c.base);
}

static void malformed_entries_are_dropped(void **state)
{
    const char *envp[] = { "NOEQUALS", "=value", "", "A=1", NULL };
    struct env_case c = { 0 };

    (void)state;
    env_init(&c);
    env_run(&c, envp);
    for (size_t i = 0; i < c.result.env_count; i++)
        assert_true(strchr(c.result.env[i], '=') > c.result.env[i]);
    assert_string_equal(value_of(&c, "A"), "1");
    case_done(&c.base);
}

static void working_directory_tmp_and_home_are_set(void **state)
{
    const char *envp[] = { "PWD=/lie", "TMPDIR=/var/folders/x", "HOME=/home/other", NULL };
    struct env_case c = { 0 };

    (void)state;
    env_init(&c);
    env_run(&c, envp);
    assert_string_equal(value_of(&c, "PWD"), "/w");
    assert_string_equal(value_of(&c, "TMPDIR"), "/tmp");
    assert_string_equal(value_of(&c, "HOME"), "/home/other");
    c.base.policy.tmp_private = false;
    env_run(&c, envp);
    assert_string_equal(value_of(&c, "TMPDIR"), "/var/folders/x");
    case_done(&c.base);
}

static void missing_home_and_path_get_a_value(void **state)
{
    const char *envp[] = { "HOME=relative", "PATH=", NULL };
    struct env_case c = { 0 };

    (void)state;
    env_init(&c);
    env_run(&c, envp);
    assert_string_equal(value_of(&c, "HOME"), "/home/u");
    assert_non_null(strstr(value_of(&c, "PATH"), "/usr/bin"));
    assert_string_equal(c.result.path, value_of(&c, "PATH"));
    c.base.facts.home = NULL;
    env_run(&c, NULL);
    assert_string_equal(value_of(&c, "HOME"), "/tmp");
    assert_non_null(c.result.path);
    case_done(&c.base);
}

static void running_out_of_memory_is_reported(void **state)
{
    const char *envp[] = { "A=1", "B_TOKEN=2", "PATH=/bin", NULL };

    (void)state;
    for (size_t limit = 0; limit < 3000; limit += 100) {
        struct env_case c = { 0 };
        struct arena small;
        env_init(&c);
        arena_init(&small, limit);
        int32_t r = env_compile(&c.base.policy, &c.base.facts, &(struct env_request){ envp, NULL },
                                &small, &c.result, NULL);
        assert_true(r == ABX_OK || r == ABX_E_NOMEM);
        arena_done(&small);
        case_done(&c.base);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(injection_secrets_and_sockets_are_removed),
        cmocka_unit_test(ordinary_variables_are_passed),
        cmocka_unit_test(pass_brings_back_what_would_be_removed),
        cmocka_unit_test(later_entry_has_the_last_word),
        cmocka_unit_test(of_equal_names_the_last_one_counts_once),
        cmocka_unit_test(secret_in_a_second_copy_is_seen),
        cmocka_unit_test(malformed_entries_are_dropped),
        cmocka_unit_test(working_directory_tmp_and_home_are_set),
        cmocka_unit_test(missing_home_and_path_get_a_value),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };

    return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
