/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matchers: what others see, or run. Registries of packages, hosts of code, clouds: a table says by
 * which words each tool changes something there. What only looks is not in it.
 */
#include <string.h>

#include "base/str.h"
#include "classify/rules.h"

#define VALUES_SHORT "CRn"
#define VALUES_LONG                                                                                \
    "prefix dir filter workspace registry cwd chdir stack repo hostname profile region project "   \
    "endpoint-url output config token app resource-group subscription directory manifest-path "    \
    "userconfig otp tag"

/* Letters of single tools that take a value; elsewhere the same ones may be switches. */
static const struct {
    const char *programs, *letters;
} short_values[] = {
    { "cargo", VALUES_SHORT "Z" },       { "cdk", VALUES_SHORT "ac" },
    { "firebase", VALUES_SHORT "P" },    { "fly flyctl", VALUES_SHORT "act" },
    { "netlify", VALUES_SHORT "s" },     { "npm", VALUES_SHORT "w" },
    { "pnpm", VALUES_SHORT "F" },        { "pulumi", VALUES_SHORT "s" },
    { "railway", VALUES_SHORT "es" },    { "sls serverless", VALUES_SHORT "rs" },
    { "terraform tofu terragrunt", "" }, /* -chdir=main is one word, not letters */
    { "vercel", VALUES_SHORT "St" },     { "wrangler", VALUES_SHORT "ce" },
};

static const char *letters_of(const char *program)
{
    for (size_t i = 0; i < ARRAY_LEN(short_values); i++)
        if (list_has(short_values[i].programs, program))
            return short_values[i].letters;
    return VALUES_SHORT;
}

static const struct publisher {
    const char *programs, *first, *second; /* second: "" is any */
} publishers[] = {
    { "npm yarn pnpm bun cargo poetry uv hatch flit lerna vsce",
      "publish unpublish login adduser yank owner deprecate dist-tag", "" },
    { "yarn", "npm", "publish login tag" },
    { "cargo", "release", "" },
    { "gem", "push yank", "" },
    { "twine", "upload", "" },
    { "pod", "trunk", "push delete deprecate add-owner" },
    { "goreleaser", "release publish", "" },
    { "terraform tofu terragrunt", "apply destroy import taint state force-unlock", "" },
    { "terraform tofu terragrunt", "workspace", "delete" },
    { "terragrunt", "run-all run", "apply destroy import taint state" },
    { "pulumi cdk sls serverless", "up destroy deploy remove refresh", "" },
    { "vercel netlify firebase fly flyctl eb wrangler railway surge eas",
      "deploy publish launch destroy remove rm delete promote rollback submit scale secrets", "" },
    { "supabase", "db", "push reset" },
    { "gh", "pr",
      "create merge close reopen edit comment review ready lock unlock update-branch revert" },
    { "gh", "issue",
      "create close reopen edit comment delete transfer lock unlock pin unpin develop" },
    { "gh", "release", "create delete delete-asset edit upload" },
    { "gh", "repo", "create delete edit rename archive unarchive fork sync deploy-key" },
    { "gh", "workflow", "run enable disable" },
    { "gh", "run", "rerun cancel delete" },
    { "gh", "gist label secret variable ssh-key gpg-key cache",
      "create edit delete remove rename set add clone" },
    { "gh", "extension", "install upgrade remove" },
    { "gh", "codespace cs", "create delete edit ssh cp stop rebuild" },
    { "glab", "mr issue release repo", "create merge close reopen update note delete approve" },
    { "gsutil", "rm cp mv rsync mb rb acl iam", "" },
};

static bool in_table(const struct subject *s, const char *first, const char *second)
{
    for (size_t i = 0; i < ARRAY_LEN(publishers); i++) {
        const struct publisher *p = &publishers[i];

        if (list_has(p->programs, s->name) && list_has(p->first, first) &&
            (!*p->second || list_has(p->second, second)))
            return true;
    }
    return false;
}

/* gh api -X DELETE x; with fields it is a POST. */
static bool gh_api_changes(const struct subject *s)
{
    struct flags f;
    enum flag_kind kind;
    bool fields = false;

    flags_init(&f, s->args, s->count, "XfFHqtp",
               "method field raw-field header jq template preview input hostname cache");
    while ((kind = flags_next(&f)) != FLAG_END) {
        if ((kind == FLAG_SHORT && f.letter == 'X') ||
            (kind == FLAG_LONG && flags_is_long(&f, "method")))
            return f.value && strcasecmp(f.value, "GET") != 0;
        fields |= (kind == FLAG_SHORT && strchr("fF", f.letter)) ||
                  (kind == FLAG_LONG && (flags_is_long(&f, "field") || flags_is_long(&f, "input") ||
                                         flags_is_long(&f, "raw-field")));
    }
    return fields && !args_have(s, "graphql");
}

/* aws s3 cp s3://b/x ., gsutil cp gs://b/x .: from there, and there is nothing to it but that. */
static bool only_fetches(const struct subject *s, size_t operand, const char *scheme)
{
    static const char values[] = VALUES_LONG
        " include exclude acl storage-class sse sse-kms-key-id content-type grants "
        "cache-control metadata page-size source-region request-payer";
    const char *to = verb_of(s, operand + 1, VALUES_SHORT, values);
    size_t there = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (s->args[i].text[0] == WORD_HOLE)
            return false;
        there += str_has_prefix(s->args[i].text, scheme) ? 1 : 0;
    }
    return there == 1 && *to && str_has_prefix(verb_of(s, operand, VALUES_SHORT, values), scheme);
}

/* aws SERVICE OPERATION */
static bool aws_changes(const struct subject *s, const char *service, const char *operation)
{
    static const char *const looks[] = {
        "describe", "list", "get",      "head",   "batch-get", "ls",      "help",
        "wait",     "scan", "query",    "lookup", "search",    "presign", "view",
        "filter",   "tail", "simulate", "check",  "validate",  "estimate"
    };

    if (!*operation || list_has("configure sso help sts", service))
        return false;
    if (strcmp(service, "s3") == 0 && list_has("cp sync", operation) && only_fetches(s, 2, "s3://"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        size_t len = strlen(looks[i]);

        if (strncmp(operation, looks[i], len) == 0 && (!operation[len] || operation[len] == '-'))
            return false;
    }
    return true;
}

/* python -m twine upload dist/x */
static bool python_publishes(const struct subject *s)
{
    for (size_t i = 0; i + 2 < s->count; i++) {
        if (word_is(&s->args[i], "-m"))
            return list_has("twine flit hatch poetry", s->args[i + 1].text) &&
                   list_has("upload publish", s->args[i + 2].text);
    }
    return false;
}

MATCH(publish)
{
    bool terraform = list_has("terraform tofu terragrunt", s->name);
    const char *letters = letters_of(s->name);
    size_t at = has_toolchain(s) ? 1 : 0;
    const char *first = verb_of(s, at, letters, VALUES_LONG);
    const char *second = verb_of(s, at + 1, letters, VALUES_LONG);

    if (list_has("python pypy py", s->name))
        return python_publishes(s);
    if (strcmp(s->name, "ansible-playbook") == 0)
        return !args_want_info(s) && !args_have(s, "--syntax-check --check --list-hosts");
    if (terraform && strcmp(first, "state") == 0 && list_has("list show", second))
        return false;
    if (args_want_info(s) || (strcmp(s->name, "goreleaser") == 0 && args_have(s, "--snapshot")))
        return false;
    if (strcmp(s->name, "aws") == 0)
        return aws_changes(s, first, second);
    if (strcmp(s->name, "gsutil") == 0 && list_has("cp rsync", first) &&
        only_fetches(s, 1, "gs://"))
        return false;
    if (list_has("gcloud az doctl", s->name))
        return args_have(s, "delete deploy create update remove restart reset resize purge submit "
                            "ssh scp");
    if (strcmp(s->name, "gh") == 0 && strcmp(first, "api") == 0)
        return gh_api_changes(s);
    if (strcmp(s->name, "vercel") == 0 && (!*first || args_have(s, "--prod")))
        return true;
    return in_table(s, first, second);
}
