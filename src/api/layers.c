/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration as layers: the files of the system, the user and the project, each read once
 * (probe/configfiles.c), their entries side by side in one settings object with their origins.
 * Nothing is entered unless all of them are in order; all problems are told at once. A file of
 * another program (policy/import.c) takes the place of the project's, and is one in every respect.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/internal.h"
#include "base/path.h"
#include "classify/ruleset.h"
#include "policy/decode.h"
#include "policy/import.h"
#include "probe/state.h"
#include "probe/trust.h"

static void file_done(struct config_file *file)
{
    free(file->path);
    free(file->directory);
    free(file->hides);
}

void config_done(abx_config *config)
{
    settings_free(config->settings);
    abx_error_free(config->notes);
    ruleset_free(config->rules);
    for (size_t i = 0; i < config->file_count; i++)
        file_done(&config->files[i]);
}

void config_unref(abx_config *config)
{
    if (config && __atomic_sub_fetch(&config->refs, 1, __ATOMIC_ACQ_REL) == 0)
        abx_config_free(config);
}

static bool copy_file(struct config_file *to, const struct config_file *from)
{
    *to = *from;
    to->path = strdup(from->path);
    to->directory = from->directory ? strdup(from->directory) : NULL;
    to->hides = from->hides ? strdup(from->hides) : NULL;
    return to->path && (to->directory || !from->directory) && (to->hides || !from->hides);
}

int32_t config_copy(const abx_config *config, abx_config **ret, abx_error **err)
{
    abx_config *copy = calloc(1, sizeof *copy);

    if (!copy)
        return err_nomem(err);
    int32_t code = settings_copy(config->settings, &copy->settings, err);
    for (size_t i = 0; i < config->file_count && code == ABX_OK; i++)
        if (!copy_file(&copy->files[copy->file_count++], &config->files[i]))
            code = err_nomem(err);
    if (code != ABX_OK) {
        abx_config_free(copy);
        return code;
    }
    *ret = copy;
    return ABX_OK;
}

const struct config_file *config_project(const abx_config *config)
{
    for (size_t i = 0; i < config->file_count; i++)
        if (config->files[i].origin == ORIGIN_PROJECT && config->files[i].directory)
            return &config->files[i];
    return NULL;
}

int32_t config_merge(const abx_config *config, const struct settings *call, uint32_t skip,
                     struct arena *arena, struct layers *ret, abx_error **err)
{
    const struct settings *const list[] = { config->settings, call };

    return layers_merge(list, ARRAY_LEN(list), skip, arena, ret, err);
}

int32_t config_policy(const abx_config *config, const struct layers *layers, const char *log,
                      struct arena *arena, const struct policy **ret, abx_error **err)
{
    const char *guards[CONFIGFILES_COUNT + 2] = { NULL };
    size_t n = 0;

    for (size_t i = 0; i < config->file_count; i++)
        if (config->files[i].directory)
            guards[n++] = config->files[i].path;
    guards[n] = log;
    return policy_build_layers(layers, guards, arena, ret, err);
}

/* ---- loading ---- */

/* What relative paths of a foreign file mean is known now, and only now. */
static int32_t decode_foreign(abx_config *config, const struct configfile *file, const char *cwd,
                              bool strict, abx_error **err)
{
    _arena_ struct arena arena = { 0 };
    char *here = realpath(cwd ? cwd : ".", NULL);

    if (!here)
        return err_sys(err, ABX_E_IO, -errno, "find the directory '%s'", cwd ? cwd : ".");
    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    const char *home = configfiles_home(&arena);
    const struct import_request request = { .name = file->path,
                                            .text = file->text,
                                            .len = file->len,
                                            .cwd = here,
                                            .home = home ? path_clean(&arena, "/", home) : NULL,
                                            .strict = strict };
    int32_t code = import_decode(config->settings, &request, &config->notes, err);
    free(here);
    return code;
}

static int32_t decode_files(abx_config *config, const struct configfile *files, size_t count,
                            const char *cwd, uint32_t flags, abx_error **err)
{
    struct settings *settings = config->settings;
    enum origin origin = settings->origin;
    abx_error *problems = NULL;
    int32_t code = ABX_OK;

    for (size_t i = 0; i < count; i++) {
        abx_error *found = NULL;
        if (!files[i].text)
            continue;
        settings->origin = files[i].origin;
        int32_t r = (flags & ABX_LOAD_SETTINGS) && files[i].origin == ORIGIN_PROJECT
                        ? decode_foreign(config, &files[i], cwd, !(flags & ABX_LOAD_FILE_ONLY),
                                         &found)
                        : config_decode(settings, files[i].path, files[i].text, files[i].len,
                                        doc_format_of_name(files[i].path), &found);
        if (r != ABX_OK && code == ABX_OK)
            code = r;
        if (found)
            err_append(&problems, found);
    }
    settings->origin = origin;
    if (err)
        *err = problems;
    else
        abx_error_free(problems);
    return code;
}

static bool file_is_trusted(const struct configfile *file, struct arena *arena)
{
    const char *const *dirs = state_directories(arena, configfiles_home(arena));

    return file->origin == ORIGIN_PROJECT && dirs && trust_is_given(dirs, file->path, file->digest);
}

static int32_t note_files(abx_config *config, const struct configfile *files, size_t count,
                          bool named, uint32_t flags, struct arena *arena, abx_error **err)
{
    for (size_t i = 0; i < count; i++) {
        struct config_file found = { .origin = files[i].origin,
                                     .path = (char *)files[i].path,
                                     .directory = (char *)files[i].directory,
                                     .hides = (char *)files[i].hides,
                                     .named = named,
                                     .trusted = files[i].text && file_is_trusted(&files[i], arena),
                                     .foreign = (flags & ABX_LOAD_SETTINGS) &&
                                                files[i].origin == ORIGIN_PROJECT };
        memcpy(found.digest, files[i].digest, sizeof found.digest);
        if (!copy_file(&config->files[config->file_count++], &found))
            return err_nomem(err);
    }
    return ABX_OK;
}

/* What to do about a file that cannot be read; `file` was named by somebody, or is NULL. */
static void hint_unread(const char *file, abx_error **err)
{
    struct stat st;

    if (!err || !*err)
        return;
    if (file && stat(file, &st) == 0 && S_ISDIR(st.st_mode))
        err_hint(err, "it is a directory: name the file in it");
    else if (file && abx_error_errno(*err) == ENOENT)
        err_hint(err, "is the name right? A path is relative to the working directory");
    else if (abx_error_errno(*err) == EACCES)
        err_hint(err, "you may not read it: ask its owner, or %s",
                 file ? "name another file" : "run without it: --no-config");
}

/* A file by itself. One of another program stands in the project's place. */
static int32_t read_single(const char *cwd, const char *file, uint32_t flags, struct arena *arena,
                           struct configfile *ret, abx_error **err)
{
    enum origin origin = ORIGIN_PROJECT;
    int32_t code = flags & ABX_LOAD_SETTINGS ? ABX_OK
                                             : configfiles_origin(cwd, file, arena, &origin, err);

    return code == ABX_OK ? configfiles_read(cwd, file, origin, arena, ret, err) : code;
}

int32_t abx_config_load_layers(abx_config *config, const char *cwd, const char *file,
                               uint32_t flags, abx_error **err)
{
    if (!config || (flags & ~(ABX_LOAD_SYSTEM_ONLY | ABX_LOAD_FILE_ONLY | ABX_LOAD_SETTINGS)))
        return err_new(err, ABX_E_INVALID, "load configuration: no object, or unknown flags");
    if (((flags & (ABX_LOAD_FILE_ONLY | ABX_LOAD_SETTINGS)) && !file) ||
        ((flags & ABX_LOAD_SYSTEM_ONLY) && file))
        return err_new(err, ABX_E_INVALID, "load configuration: %s",
                       file ? "a file, and none but the system's" : "no file is named");
    if (config->file_count)
        return err_new(err, ABX_E_STATE, "load configuration: it was loaded already");

    _arena_ struct arena arena = { 0 };
    struct configfile files[CONFIGFILES_COUNT] = { 0 };
    const struct configfiles_request request = { cwd, file, flags & ABX_LOAD_SYSTEM_ONLY };
    bool single = flags & ABX_LOAD_FILE_ONLY;
    size_t count = single ? 1 : CONFIGFILES_COUNT;
    abx_config *copy = NULL;

    arena_init(&arena, ARENA_DEFAULT_LIMIT);
    int32_t code = single ? read_single(cwd, file, flags, &arena, files, err)
                          : configfiles_find(&request, &arena, files, err);
    if (code != ABX_OK)
        hint_unread(file, err);
    else
        code = config_copy(config, &copy, err);
    if (code != ABX_OK || !copy)
        return code;
    code = decode_files(copy, files, count, cwd, flags, err);
    if (code == ABX_OK)
        code = note_files(copy, files, count, file != NULL, flags, &arena, err);
    if (code != ABX_OK) {
        abx_config_free(copy);
        return code;
    }
    config_done(config);
    *config = *copy;
    free(copy);
    return ABX_OK;
}

size_t abx_config_files(const abx_config *config)
{
    return config ? config->file_count : 0;
}

const char *abx_config_file_path(const abx_config *config, size_t index)
{
    return config && index < config->file_count ? config->files[index].path : NULL;
}

const char *abx_config_file_origin(const abx_config *config, size_t index)
{
    return config && index < config->file_count ? origin_name(config->files[index].origin) : NULL;
}

int32_t abx_config_file_state(const abx_config *config, size_t index)
{
    if (!config || index >= config->file_count || !config->files[index].directory)
        return ABX_FILE_ABSENT;
    return config->files[index].trusted ? ABX_FILE_TRUSTED : ABX_FILE_LOADED;
}

const abx_error *abx_config_notes(const abx_config *config)
{
    return config ? config->notes : NULL;
}
