/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another program's configuration to settings.
 *
 * The text is foreign, as every configuration: doc.h reads it within its limits, and every value
 * that is taken over passes settings_set or settings_append like one of our own. import.def has a
 * row for each key; a key without one is a problem even where the other program ignores it, since
 * a misspelt "denyRead" must not pass for a protection.
 *
 * What comes out is never looser than what the text says for files and hosts as it names them. What
 * has no equivalent is a note, unless leaving it out would protect less and a run is to follow:
 * then it is a problem. Values that ask for nothing (false, an empty list) pass in silence.
 *
 * Where the defaults differ, the text's meaning is written out: sandbox-runtime grants no cache, no
 * agent's folder and no working directory; agent-sandbox shares the network and guards git.
 */
#include "policy/import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "policy/domain.h"
#include "policy/import_rows.h"

#define TREE_LIMIT   ((size_t)128 << 20)
#define KEY_NAME_MAX 128 /* of a key; all in import.def are shorter */

enum program { SANDBOX_RUNTIME, AGENT_SANDBOX };

/* ---- what is wrong, and what is told ---- */

void import_refuse(struct importer *im, const struct doc_node *node, const char *key,
                   const char *wanted)
{
    problems_add(&im->problems, node->place, key, NULL, "'%s' must be %s", key, wanted);
}

static bool is_list_key(const char *key)
{
    for (size_t i = 0; i < KEY_COUNT; i++)
        if (str_eq(schema_row(i)->name, key))
            return schema_row(i)->type >= SETTINGS_PATHS;
    return false;
}

static int32_t enter(struct importer *im, const struct doc_node *node, const char *key,
                     const char *value, abx_error **err)
{
    const char *source = arena_printf(im->arena, "%s:%" PRIu32 ":%" PRIu32, im->request->name,
                                      node->place.line, node->place.column);

    if (!source || !value)
        return err_nomem(err);
    return is_list_key(key) ? settings_append(im->settings, key, value, source, err)
                            : settings_set(im->settings, key, value, source, err);
}

void import_enter(struct importer *im, const struct doc_node *node, const char *key,
                  const char *value)
{
    abx_error *err = NULL;

    if (enter(im, node, key, value, &err) != ABX_OK)
        problems_take(&im->problems, node->place, err);
}

size_t import_list(struct importer *im, const struct doc_node *node, const char *key)
{
    if (node->type != DOC_LIST)
        import_refuse(im, node, key, "a list");
    else if (node->count > IMPORT_MAX_PATHS)
        problems_add(&im->problems, node->place, key, NULL, "'%s' has more than %d entries", key,
                     IMPORT_MAX_PATHS);
    else
        return node->count;
    return 0;
}

const struct doc_node *import_find(const struct importer *im, const char *key)
{
    const struct doc_node *node = im->root;

    while (node && *key) {
        size_t len = strcspn(key, ".");
        const struct doc_node *child = node->type == DOC_MAP ? node->first : NULL;

        while (child && (strncmp(child->key, key, len) != 0 || child->key[len] != '\0'))
            child = child->next;
        node = child;
        key += len + (key[len] == '.');
    }
    return node;
}

/* ---- one function for each word in import.def's column `how` ---- */

/* false, an empty list, an empty object: as if it were not there. */
static bool asks_nothing(const struct doc_node *node)
{
    return (node->type == DOC_BOOL && !node->truth) || (node->type >= DOC_LIST && !node->first);
}

static void take_idle(struct importer *im, const struct doc_node *node,
                      const struct import_row *row)
{
    if (!asks_nothing(node))
        problems_add(&im->notes, node->place, row->key, NULL, "'%s' is not needed: %s", row->key,
                     row->say);
}

static void take_narrow(struct importer *im, const struct doc_node *node,
                        const struct import_row *row)
{
    if (!asks_nothing(node))
        problems_add(&im->notes, node->place, row->key, NULL, "'%s' has no equivalent: %s",
                     row->key, row->say);
}

static void take_wide(struct importer *im, const struct doc_node *node,
                      const struct import_row *row)
{
    struct problems *list = im->request->strict ? &im->problems : &im->notes;

    if (!asks_nothing(node))
        problems_add(list, node->place, row->key,
                     "without it the command may do more: remove it "
                     "if that is fine",
                     "'%s' cannot be kept: %s", row->key, row->say);
}

static void take_scalar(struct importer *im, const struct doc_node *node,
                        const struct import_row *row)
{
    if (node->type >= DOC_LIST)
        import_refuse(im, node, row->key, "a single value");
    else
        import_enter(im, node, row->to, node->text);
}

static void take_texts(struct importer *im, const struct doc_node *node,
                       const struct import_row *row)
{
    if (!import_list(im, node, row->key))
        return;
    for (const struct doc_node *item = node->first; item; item = item->next) {
        if (item->type == DOC_STRING)
            import_enter(im, item, row->to, item->text);
        else
            import_refuse(im, item, row->key, "a list of texts");
    }
}

/* Blanks around a name do not count there. */
static void take_presets(struct importer *im, const struct doc_node *node,
                         const struct import_row *row)
{
    if (!import_list(im, node, row->key))
        return;
    for (const struct doc_node *item = node->first; item; item = item->next) {
        if (item->type != DOC_STRING) {
            import_refuse(im, item, row->key, "a list of texts");
            continue;
        }
        const char *text = item->text + strspn(item->text, " \t\r\n");
        size_t len = strlen(text);
        while (len > 0 && strchr(" \t\r\n", text[len - 1]))
            len--;
        import_enter(im, item, row->to, arena_strndup(im->arena, text, len));
    }
}

static void take_network(struct importer *im, const struct doc_node *node,
                         const struct import_row *row)
{
    if (node->type != DOC_BOOL)
        import_refuse(im, node, row->key, "true or false");
    else
        import_enter(im, node, row->to, node->truth ? "allowed" : "blocked");
}

/* A wrapper may be named without a slash there: it lies in the working directory. */
static void take_commands(struct importer *im, const struct doc_node *node,
                          const struct import_row *row)
{
    if (node->type != DOC_MAP) {
        import_refuse(im, node, row->key, "an object");
        return;
    }
    for (const struct doc_node *item = node->first; item; item = item->next) {
        bool text = item->type == DOC_STRING;
        const char *here = text && item->text[0] != '@' && !strchr(item->text, '/') ? "./" : "";

        if (!item->key[0] || strchr(item->key, '='))
            problems_add(&im->problems, item->key_place, row->key, NULL,
                         "'%.256s' is no name of a command", item->key);
        else if (text || item->type == DOC_BOOL)
            import_enter(im, item, row->to,
                         arena_printf(im->arena, "%s=%s%s", item->key, here, item->text));
        else
            import_refuse(im, item, row->key, "an object of true, false and texts");
    }
}

/* A host that we cannot name is not allowed: a note. */
static void take_allowed(struct importer *im, const struct doc_node *node,
                         const struct import_row *row)
{
    for (const struct doc_node *item = import_list(im, node, row->key) ? node->first : NULL; item;
         item = item->next) {
        struct domain_fault fault = { 0 };

        if (item->type != DOC_STRING) {
            import_refuse(im, item, row->key, "a list of texts");
        } else if (!domain_is_pattern(item->text, &fault)) {
            problems_add(&im->notes, item->place, row->key, fault.hint,
                         "'%.256s' in '%s' is left out: %s", item->text, row->key, fault.why);
        } else {
            import_enter(im, item, row->to, item->text);
            im->reaches = true;
        }
    }
}

/* "*" and "*:PORT" are every host: nothing is reached, or every address at that port is denied. */
static void take_denied(struct importer *im, const struct doc_node *node,
                        const struct import_row *row)
{
    for (const struct doc_node *item = import_list(im, node, row->key) ? node->first : NULL; item;
         item = item->next) {
        if (item->type != DOC_STRING) {
            import_refuse(im, item, row->key, "a list of texts");
        } else if (str_eq(item->text, "*")) {
            im->blocked = true;
        } else if (str_has_prefix(item->text, "*:")) {
            import_enter(im, item, row->to, arena_printf(im->arena, "0.0.0.0/0%s", item->text + 1));
            import_enter(im, item, row->to, arena_printf(im->arena, "[::/0]%s", item->text + 1));
        } else {
            import_enter(im, item, row->to, item->text);
        }
    }
}

static void take_port(struct importer *im, const struct doc_node *node,
                      const struct import_row *row, const char *scheme)
{
    if (node->type != DOC_NUMBER) {
        import_refuse(im, node, row->key, "a number");
        return;
    }
    import_enter(im, node, row->to,
                 arena_printf(im->arena, "%s://127.0.0.1:%s", scheme, node->text));
    problems_add(&im->notes, node->place, row->key, NULL,
                 "'%s' becomes '%s': the lists of hosts count as well", row->key, row->to);
}

static void take_http_port(struct importer *im, const struct doc_node *node,
                           const struct import_row *row)
{
    take_port(im, node, row, "http");
}

static void take_socks_port(struct importer *im, const struct doc_node *node,
                            const struct import_row *row)
{
    take_port(im, node, row, "socks5");
}

/* Each is {"name", "mode", …}: "deny" takes the variable away, "mask" would show another value. */
static void take_variables(struct importer *im, const struct doc_node *node,
                           const struct import_row *row)
{
    for (const struct doc_node *item = import_list(im, node, row->key) ? node->first : NULL; item;
         item = item->next) {
        const struct doc_node *name = NULL, *mode = NULL;

        for (const struct doc_node *m = item->type == DOC_MAP ? item->first : NULL; m; m = m->next)
            if (str_eq(m->key, "name"))
                name = m;
            else if (str_eq(m->key, "mode"))
                mode = m;
        if (!name || name->type != DOC_STRING) {
            import_refuse(im, item, row->key, "a list of objects with a name");
            continue;
        }
        import_enter(im, name, row->to, name->text);
        if (!mode || mode->type != DOC_STRING || !str_eq(mode->text, "deny"))
            problems_add(&im->notes, item->place, row->key, NULL,
                         "'%.256s' is taken away, not masked: requests are passed on as they are",
                         name->text);
    }
}

/* ---- the tree ---- */

static const struct import_row rows[] = {
#define IMPORT(program, key, how, to, say) { program, key, take_##how, to, say },
#include "policy/import.def"
#undef IMPORT
};

static const struct import_row *find_row(enum program program, const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].program == program && str_eq(rows[i].key, key))
            return &rows[i];
    return NULL;
}

/* "network" for "network.allowedDomains". */
static bool is_section(enum program program, const char *key)
{
    size_t len = strlen(key);

    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].program == program && strncmp(rows[i].key, key, len) == 0 &&
            rows[i].key[len] == '.')
            return true;
    return false;
}

static void refuse_key(struct importer *im, enum program program, const struct doc_node *node,
                       const char *prefix)
{
    const char *names[ARRAY_LEN(rows) + 1];
    size_t len = strlen(prefix), n = 0;
    char hint[2 * KEY_NAME_MAX];

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *key = rows[i].key;
        if (rows[i].program != program || strncmp(key, prefix, len) != 0)
            continue;
        names[n] = arena_strndup(im->arena, key + len, strcspn(key + len, "."));
        n += names[n] != NULL;
    }
    names[n] = NULL;
    const char *nearest = str_nearest(node->key, names);
    (void)snprintf(hint, sizeof hint, "did you mean '%s%s'?", prefix, nearest ? nearest : "");
    problems_add(&im->problems, node->key_place, node->key, nearest ? hint : NULL,
                 "unknown key '%s%.256s' of %s", prefix, node->key,
                 program == AGENT_SANDBOX ? "agent-sandbox" : "sandbox-runtime");
}

/* Visits the members of a map. With im: takes them over. Returns how many the program knows. */
static size_t visit(struct importer *im, enum program program, const struct doc_node *map,
                    const char *prefix)
{
    size_t known = 0;

    for (const struct doc_node *node = map->first; node; node = node->next) {
        char key[KEY_NAME_MAX];
        int n = snprintf(key, sizeof key, "%s%s", prefix, node->key);
        bool whole = n > 0 && (size_t)n < sizeof key - 1 && !strchr(node->key, '.');
        const struct import_row *row = whole ? find_row(program, key) : NULL;

        if (row) {
            known++;
            if (im && node->type != DOC_NULL)
                row->take(im, node, row);
        } else if (whole && is_section(program, key) && node->type == DOC_MAP) {
            key[n] = '.';
            key[n + 1] = '\0';
            known += 1 + visit(im, program, node, key);
        } else if (im && whole && is_section(program, key) && node->type != DOC_NULL) {
            import_refuse(im, node, key, "an object");
        } else if (im && !is_section(program, key) && !str_eq(key, "$schema")) {
            refuse_key(im, program, node, prefix);
        }
    }
    return known;
}

/* What sandbox-runtime's file means beyond its keys. */
static void finish_sandbox_runtime(struct importer *im)
{
    import_enter(im, im->root, "filesystem.presets", "!@caches");
    import_enter(im, im->root, "filesystem.presets", "!@agents");
    import_enter(im, im->root, "network.mode",
                 im->reaches && !im->blocked ? "filtered" : "blocked");
    import_close_directory(im);
}

static void finish_agent_sandbox(struct importer *im)
{
    const struct doc_node *network = import_find(im, "network");
    const struct doc_node *git = import_find(im, "commands.git");

    if (!network || network->type == DOC_NULL) {
        import_enter(im, im->root, "network.mode", "allowed");
        problems_add(&im->notes, im->root->place, "network", "network.mode filtered is safer",
                     "the host's network is shared, as agent-sandbox does by default");
    }
    if (!git)
        import_enter(im, im->root, "commands", "git=@git");
    problems_add(&im->notes, im->root->place, "filesystem.tmp",
                 "set filesystem.tmp to host if the command needs it",
                 "/tmp is the run's own, not the host's as with agent-sandbox");
}

static void convert(struct importer *im)
{
    if (im->root->type != DOC_MAP) {
        problems_add(&im->problems, im->root->place, "", NULL, "the file must hold an object");
        return;
    }
    enum program program = visit(NULL, AGENT_SANDBOX, im->root, "") >
                                   visit(NULL, SANDBOX_RUNTIME, im->root, "")
                               ? AGENT_SANDBOX
                               : SANDBOX_RUNTIME;
    import_read_dirs(im);
    (void)visit(im, program, im->root, "");
    if (program == AGENT_SANDBOX)
        finish_agent_sandbox(im);
    else
        finish_sandbox_runtime(im);
}

int32_t import_decode(struct settings *settings, const struct import_request *request,
                      abx_error **ret_notes, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    size_t before = settings->count;
    struct doc doc;

    arena_init(&arena, TREE_LIMIT);
    if (doc_read(&arena, request->text, request->len, DOC_JSONC, &doc) == -ENOMEM)
        return err_nomem(err);

    struct importer im = {
        .request = request, .settings = settings, .arena = &arena, .root = doc.root
    };
    im.problems.name = im.notes.name = request->name;
    problems_of_doc(&im.problems, &doc);
    if (doc.root)
        convert(&im);
    _err_ abx_error *notes = NULL;
    (void)problems_report(&im.notes, &notes);
    int32_t r = problems_report(&im.problems, err);
    if (r != ABX_OK)
        settings_cut(settings, before);
    else if (ret_notes)
        *ret_notes = TAKE_PTR(notes);
    problems_done(&im.problems);
    problems_done(&im.notes);
    return r;
}
