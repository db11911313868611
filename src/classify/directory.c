/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory that a text is in after cd, pushd and popd.
 *
 * Paths are joined and cleaned as the shell does it by default, by their text: "a/.." is nothing,
 * whatever a is. What does not begin with / or ~ is relative to where the text starts. A target
 * that is not known, and CDPATH, make the directory unknown until a cd to an absolute path.
 */
#include <string.h>

#include "base/str.h"
#include "classify/walker.h"

#define CWD_MAX 4096

/* One component more; ".." takes one away where that is certain. */
static size_t path_add(char *path, size_t used, const char *part, size_t len)
{
    size_t slash = used;

    if (len == 0 || (len == 1 && part[0] == '.'))
        return used;
    while (slash > 0 && path[slash - 1] != '/')
        slash--;
    if (len == 2 && memcmp(part, "..", 2) == 0) {
        bool is_up = used - slash == 2 && memcmp(path + slash, "..", 2) == 0;

        if (used == 1 && path[0] == '/')
            return used;
        if (used > 0 && !is_up && path[slash] != '~')
            return slash > 1 ? slash - 1 : slash;
    }
    if (used > 0 && path[used - 1] != '/')
        path[used++] = '/';
    memcpy(path + used, part, len);
    return used + len;
}

static void cwd_forget(struct walker *w)
{
    scope_forget(w->scope, &w->scope->cwd);
}

/* The directory that target leads to from here. */
static bool cwd_change(struct walker *w, const struct word *target)
{
    struct value cwd = scope_get(w->scope, &w->scope->cwd);
    bool absolute = target->text[0] == '/' || (target->flags & WORD_TILDE);
    size_t base = absolute || cwd.kind != VALUE_SCALAR ? 0 : cwd.items[0].len, used = base;
    struct word path = { .flags = 0 };
    char *text;

    scope_set(w->scope, &w->scope->old_cwd, w->scope->cwd.value);
    if ((target->flags & (WORD_UNKNOWN | WORD_SPLITS | WORD_GLOB)) ||
        (!absolute && cwd.kind != VALUE_SCALAR) || base + target->len + 3 > CWD_MAX ||
        base + target->len > w->budget) {
        cwd_forget(w);
        return true;
    }
    w->budget -= base + target->len;
    text = walk_alloc(w, base + target->len + 4, 1);
    if (!text)
        return false;
    if (base > 0)
        memcpy(text, cwd.items[0].text, base);
    if (target->text[0] == '/')
        text[used++] = '/';
    for (const char *part = target->text; *part;) {
        size_t len = strcspn(part, "/");

        used = path_add(text, used, part, len);
        part += len + (part[len] == '/');
    }
    if (!absolute && text[0] == '~' && base == 0) { /* a directory of that name, not the home */
        memmove(text + 2, text, used);
        memcpy(text, "./", 2);
        used += 2;
    }
    text[used] = '\0';
    path.text = text;
    path.len = used;
    scope_set_word(w->scope, &w->scope->cwd, &path);
    return true;
}

static bool text_sets(const struct walker *w, const char *name)
{
    return scope_get(w->scope, scope_find(w->scope, name, strlen(name))).kind != VALUE_UNKNOWN ||
           scope_find(w->scope, name, strlen(name));
}

bool builtin_cd(struct walker *w, const struct word *words, size_t count)
{
    static const struct word home = { .text = "~", .len = 1, .flags = WORD_TILDE };
    struct value old = scope_get(w->scope, &w->scope->old_cwd);
    bool physical = false;
    size_t i = 1;

    for (; i < count && words[i].text[0] == '-' && words[i].len > 1; i++) {
        physical |= strchr(words[i].text, 'P') != NULL;
        if (str_eq(words[i].text, "--")) {
            i++;
            break;
        }
    }
    if (i == count && !text_sets(w, "HOME"))
        return cwd_change(w, &home);
    if (i + 1 == count && str_eq(words[i].text, "-") && old.kind == VALUE_SCALAR) {
        scope_set(w->scope, &w->scope->old_cwd, w->scope->cwd.value);
        scope_set(w->scope, &w->scope->cwd, old);
        return true;
    }
    if (i + 1 != count || str_eq(words[i].text, "-") || (physical && strstr(words[i].text, "..")) ||
        (words[i].text[0] != '/' && words[i].text[0] != '.' && text_sets(w, "CDPATH"))) {
        scope_set(w->scope, &w->scope->old_cwd, w->scope->cwd.value);
        cwd_forget(w);
        return true;
    }
    return cwd_change(w, &words[i]);
}

/* The stack of directories: the newest first. */
bool builtin_pushd(struct walker *w, const struct word *words, size_t count)
{
    struct scope *s = w->scope;
    struct value cwd = scope_get(s, &s->cwd), dirs = scope_get(s, &s->dirs);
    struct word *items;

    if (count != 2 || words[1].text[0] == '-' || words[1].text[0] == '+' ||
        cwd.kind != VALUE_SCALAR || dirs.count >= WALK_MAX_NESTED) {
        scope_forget(s, &s->dirs);
        cwd_forget(w);
        return true;
    }
    items = walk_alloc(w, dirs.count + 1, sizeof(*items));
    if (!items)
        return false;
    items[0] = cwd.items[0];
    if (dirs.count > 0)
        memcpy(items + 1, dirs.items, dirs.count * sizeof(*items));
    scope_set(s, &s->dirs,
              (struct value){ .kind = VALUE_LIST, .count = dirs.count + 1, .items = items });
    return cwd_change(w, &words[1]);
}

bool builtin_popd(struct walker *w, const struct word *words, size_t count)
{
    struct scope *s = w->scope;
    struct value dirs = scope_get(s, &s->dirs);

    (void)words;
    if (count != 1 || dirs.kind != VALUE_LIST || dirs.count == 0) {
        scope_forget(s, &s->dirs);
        cwd_forget(w);
        return true;
    }
    scope_set(s, &s->old_cwd, s->cwd.value);
    scope_set_word(s, &s->cwd, &dirs.items[0]);
    dirs.items++;
    dirs.count--;
    scope_set(s, &s->dirs, dirs);
    return true;
}

/* cd ~; cd x; rm -rf *: nobody looks whether the second one fails, and then this is where it is. */
bool cwd_is_risky(const struct value *cwd)
{
    static const char *const places[] = { "/",    "/bin",  "/boot", "/etc", "/home",  "/lib",
                                          "/opt", "/root", "/srv",  "/usr", "/Users", "/var" };
    const char *text = cwd->kind == VALUE_SCALAR ? cwd->items[0].text : "";

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (str_eq(text, places[i]))
            return true;
    }
    return text[0] == '~' && !strchr(text, '/');
}
