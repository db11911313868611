/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preset tables and their toggles. A list of toggles is read from left to right and the last
 * mention of a preset wins; a macro (@all, @lint/all) stands for its members. Names are compared
 * whole.
 */
#include "policy/presets.h"

#include "base/str.h"
#include "policy/policy.h"

static const struct {
    const char *name;
    uint32_t bits;
} presets[] = {
    { "@agents", PRESET_AGENTS },
    { "@agents/aider", PRESET_AIDER },
    { "@agents/claude", PRESET_CLAUDE },
    { "@agents/codex", PRESET_CODEX },
    { "@agents/cursor-agent", PRESET_CURSOR },
    { "@agents/gemini", PRESET_GEMINI },
    { "@agents/opencode", PRESET_OPENCODE },
    { "@agents/pi", PRESET_PI },
    { "@all", PRESET_ALL },
    { "@base", PRESET_BASE },
    { "@caches", PRESET_CACHES },
    { "@git", PRESET_GIT },
    { "@git-strict", PRESET_GIT_STRICT },
    { "@lint/all", PRESET_LINT_ALL },
    { "@lint/go", PRESET_LINT_GO },
    { "@lint/python", PRESET_LINT_PYTHON },
    { "@lint/ts", PRESET_LINT_TS },
};

#define NAME_OF_BASE        "@base"
#define NAME_OF_CACHES      "@caches"
#define NAME_OF_AIDER       "@agents/aider"
#define NAME_OF_CLAUDE      "@agents/claude"
#define NAME_OF_CODEX       "@agents/codex"
#define NAME_OF_CURSOR      "@agents/cursor-agent"
#define NAME_OF_GEMINI      "@agents/gemini"
#define NAME_OF_OPENCODE    "@agents/opencode"
#define NAME_OF_PI          "@agents/pi"
#define NAME_OF_LINT_ALL    "@lint/all"
#define NAME_OF_LINT_GO     "@lint/go"
#define NAME_OF_LINT_PYTHON "@lint/python"
#define NAME_OF_LINT_TS     "@lint/ts"

#define GLOB       RULE_GLOB
#define IF_PRESENT RULE_IF_PRESENT
#define NURSERY    RULE_NURSERY
#define STORE      RULE_STORE
#define PROTECT    RULE_PROTECT
#define WORKDIR    RULE_WORKDIR
static const struct preset_row rows[] = {
#define PRESET(preset, access, flags, path)                                                        \
    { PRESET_##preset, NAME_OF_##preset, ACCESS_##access, flags, path },
#include "policy/presets.def"
#undef PRESET
};

static const struct name_row names[] = {
#define NAME(name, when) { name, NAME_##when },
#include "policy/names.def"
#undef NAME
};

static uint32_t preset_bits(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(presets); i++)
        if (str_eq(presets[i].name, name))
            return presets[i].bits;
    return 0;
}

bool preset_is_toggle(const char *text)
{
    return preset_bits(text + (text[0] == '!')) != 0;
}

uint32_t preset_toggle(uint32_t set, const char *text)
{
    if (text[0] == '!')
        return set & ~preset_bits(text + 1);
    return set | preset_bits(text);
}

bool preset_is_all(const char *text)
{
    return str_eq(text + (text[0] == '!'), "@all");
}

const char *preset_list(void)
{
    return "@all @base @caches @agents @agents/NAME @git @git-strict @lint/all @lint/ts @lint/go "
           "@lint/python, each with '!' in front to remove it";
}

const struct preset_row *preset_row(size_t i)
{
    return i < ARRAY_LEN(rows) ? &rows[i] : NULL;
}

const struct name_row *name_row(size_t i)
{
    return i < ARRAY_LEN(names) ? &names[i] : NULL;
}
