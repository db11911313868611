/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of another program's configuration.
 *
 * In sandbox-runtime a denied write wins over every allowed one, an allowed read over every denied
 * one, and what may be written may be read. Here the longest path wins, then exclude, ro, rw. So
 * what would come out looser is left out, with a note: a writable path below a denied one. What may
 * be read again is writable only where the text says that, too.
 *
 * Paths are compared as they are written, made absolute; links are not followed. Patterns are not
 * compared: sandbox-runtime does not know them for writing on Linux. Two stars as a last component
 * mean the directory itself.
 */
#include <limits.h>
#include <string.h>

#include "base/glob.h"
#include "base/path.h"
#include "base/str.h"
#include "policy/import_rows.h"

/* The path with a backslash before everything that means something in a pattern. */
static const char *escape(struct importer *im, const char *path)
{
    char *out = arena_alloc(im->arena, 2 * strlen(path) + 1, 1), *at = out;

    for (; out && *path; path++) {
        if (strchr("*?[\\", *path))
            *at++ = '\\';
        *at++ = *path;
    }
    if (out)
        *at = '\0';
    return out;
}

/* The text of an item and whether it is meant literally; NULL: it is none. */
static const char *raw_path(const struct doc_node *item, bool *ret_literal)
{
    const struct doc_node *path = item->type == DOC_STRING ? item : NULL, *literal = NULL;

    for (const struct doc_node *m = item->type == DOC_MAP ? item->first : NULL; m; m = m->next)
        if (str_eq(m->key, "path") && m->type == DOC_STRING)
            path = m;
        else if (str_eq(m->key, "literal"))
            literal = m;
    *ret_literal = literal && literal->type == DOC_BOOL && literal->truth;
    return path ? path->text : NULL;
}

/* A path as ours are written, from a text or {"path", "literal"}; NULL with a problem. */
static const char *import_path(struct importer *im, const struct doc_node *item, const char *key)
{
    bool literal;
    const char *text = raw_path(item, &literal);
    size_t len = text ? strlen(text) : 0;

    if (!text || len >= PATH_MAX) {
        import_refuse(im, item, key,
                      text ? "a list of paths shorter than 4096 bytes" : "a list of paths");
        return NULL;
    }
    if (literal)
        text = escape(im, text);
    else if (len > 3 && str_has_suffix(text, "/**"))
        text = arena_strndup(im->arena, text, len - 3);
    if (!text)
        problems_take(&im->problems, item->place, NULL);
    return text;
}

/* Absolute and clean, or NULL for patterns and for what cannot be told. */
static const char *absolute(struct importer *im, const char *path)
{
    const char *home = im->request->home;

    if (glob_is_pattern(path, strlen(path)))
        return NULL;
    if (path[0] == '~' && (!home || (path[1] != '\0' && path[1] != '/')))
        return NULL;
    const char *base = path[0] == '~' ? home : im->request->cwd;
    const char *rest = path[0] == '~' ? path + 1 + strspn(path + 1, "/") : path;
    const char *full = path_clean(im->arena, base, rest[0] ? rest : ".");
    if (!full)
        problems_take(&im->problems, im->root->place, NULL);
    return full;
}

/* The directories that a list names, each once made absolute. */
static void read_dirs(struct importer *im, const char *key, struct import_dirs *ret)
{
    const struct doc_node *list = import_find(im, key);
    bool literal;

    if (!list || list->type != DOC_LIST || list->count > IMPORT_MAX_PATHS)
        return; /* absent, or a problem when its turn comes */
    ret->list = arena_alloc(im->arena, list->count, sizeof *ret->list);
    if (!ret->list)
        problems_take(&im->problems, list->place, NULL);
    for (const struct doc_node *item = list->first; item && ret->list; item = item->next) {
        const char *text = raw_path(item, &literal);
        size_t len = text ? strlen(text) : PATH_MAX;

        if (len >= PATH_MAX)
            continue;
        if (!literal && len > 3 && str_has_suffix(text, "/**"))
            text = arena_strndup(im->arena, text, len - 3);
        if (text && !glob_is_pattern(text, strlen(text)))
            ret->list[ret->count++] = absolute(im, text);
    }
}

void import_read_dirs(struct importer *im)
{
    read_dirs(im, "filesystem.allowWrite", &im->writable);
    read_dirs(im, "filesystem.denyWrite", &im->unwritable);
}

/* Whether one of them is the path, or above it. What could not be made absolute is not. */
static bool covers(const struct import_dirs *dirs, const char *path)
{
    for (size_t i = 0; path && i < dirs->count; i++)
        if (dirs->list[i] && path_is_beneath(path, dirs->list[i]))
            return true;
    return false;
}

static bool names(const struct import_dirs *dirs, const char *path)
{
    for (size_t i = 0; i < dirs->count; i++)
        if (dirs->list[i] && str_eq(dirs->list[i], path))
            return true;
    return false;
}

void take_paths(struct importer *im, const struct doc_node *node, const struct import_row *row)
{
    for (const struct doc_node *item = import_list(im, node, row->key) ? node->first : NULL; item;
         item = item->next) {
        const char *path = import_path(im, item, row->key);
        if (path)
            import_enter(im, item, row->to, path);
    }
}

void take_writable(struct importer *im, const struct doc_node *node, const struct import_row *row)
{
    for (const struct doc_node *item = import_list(im, node, row->key) ? node->first : NULL; item;
         item = item->next) {
        const char *path = import_path(im, item, row->key);
        if (path && covers(&im->unwritable, absolute(im, path)))
            problems_add(&im->notes, item->place, row->key, NULL,
                         "'%.256s' stays read-only: 'filesystem.denyWrite' wins", path);
        else if (path)
            import_enter(im, item, row->to, path);
    }
}

/* Everything can be read anyway, but for what is hidden; this shows it again. */
void take_readable(struct importer *im, const struct doc_node *node, const struct import_row *row)
{
    for (const struct doc_node *item = import_list(im, node, row->key) ? node->first : NULL; item;
         item = item->next) {
        const char *path = import_path(im, item, row->key);
        const char *full = path ? absolute(im, path) : NULL;
        bool written = covers(&im->writable, full) && !covers(&im->unwritable, full);
        if (path && !(written && names(&im->writable, full))) /* else it is writable already */
            import_enter(im, item, written ? "filesystem.rw" : row->to, path);
    }
}

/* Each is {"path", "mode", …}: "deny" hides the file, "mask" would show another content. */
void take_files(struct importer *im, const struct doc_node *node, const struct import_row *row)
{
    for (const struct doc_node *item = import_list(im, node, row->key) ? node->first : NULL; item;
         item = item->next) {
        const char *path = item->type == DOC_MAP ? import_path(im, item, row->key) : NULL;
        bool denied = false;

        for (const struct doc_node *m = path ? item->first : NULL; m; m = m->next)
            denied = denied ||
                     (str_eq(m->key, "mode") && m->type == DOC_STRING && str_eq(m->text, "deny"));
        if (path)
            import_enter(im, item, row->to, path);
        else if (item->type != DOC_MAP)
            import_refuse(im, item, row->key, "a list of objects with a path");
        if (path && !denied)
            problems_add(&im->notes, item->place, row->key, NULL,
                         "'%.256s' is hidden, not masked: requests are passed on as they are",
                         path);
    }
}

void import_close_directory(struct importer *im)
{
    if (covers(&im->writable, im->request->cwd))
        return;
    import_enter(im, im->root, "filesystem.ro", ".");
    problems_add(&im->notes, im->root->place, "filesystem.allowWrite", NULL,
                 "the working directory is read-only: 'filesystem.allowWrite' does not name it");
}
