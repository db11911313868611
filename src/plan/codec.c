/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan <-> bytes.
 *
 * code_plan() walks the fields once; struct coder says whether that means measuring, writing or
 * reading. Integers are 64-bit words in the image, as this CPU has them (size does not matter: an
 * image lives for a millisecond), strings are a length, the bytes and a NUL, padded to 8.
 *
 * Reading trusts nothing: a length beyond the image, a missing NUL, a count above its limit or an
 * enum out of range makes the whole image invalid. The reader is fuzzed (tests/fuzz/fuzz_plan.c).
 */
#include "plan/codec.h"

#include <errno.h>

#include "plan/watch.h"

#define CODEC_MAGIC   UINT64_C(0x314e4c5058424146) /* "FABXPLN1" */
#define CODEC_VERSION UINT64_C(1)

enum coder_mode { CODER_MEASURE, CODER_WRITE, CODER_READ };

struct coder {
    enum coder_mode mode;
    const uint8_t *in;
    uint8_t *out;
    size_t pos, size;
    uint8_t *memory; /* CODER_READ: arrays come from here */
    size_t memory_pos, memory_size;
    bool bad;
};

static bool coder_room(struct coder *c, size_t len)
{
    if (!c->bad && (len > PLAN_MAX_BYTES || c->pos > PLAN_MAX_BYTES))
        c->bad = true;
    if (!c->bad && c->mode != CODER_MEASURE && len > c->size - c->pos)
        c->bad = true;
    return !c->bad;
}

static void code_u64(struct coder *c, uint64_t *value)
{
    if (!coder_room(c, 8))
        return;
    if (c->mode == CODER_READ)
        __builtin_memcpy(value, c->in + c->pos, sizeof *value);
    else if (c->mode == CODER_WRITE)
        __builtin_memcpy(c->out + c->pos, value, sizeof *value);
    c->pos += 8;
}

static void code_u32(struct coder *c, uint32_t *value)
{
    uint64_t v = *value;

    code_u64(c, &v);
    if (v > UINT32_MAX)
        c->bad = true;
    if (!c->bad && c->mode == CODER_READ)
        *value = (uint32_t)v;
}

static void code_i64(struct coder *c, int64_t *value)
{
    uint64_t v = (uint64_t)*value;

    code_u64(c, &v);
    if (!c->bad && c->mode == CODER_READ)
        *value = (int64_t)v;
}

static size_t text_length(const char *s)
{
    size_t n = 0;

    while (s[n])
        n++;
    return n;
}

/* A NULL string reads back as "". */
static void code_str(struct coder *c, const char **s)
{
    uint64_t len = 0;

    if (c->mode != CODER_READ && *s)
        len = text_length(*s);
    code_u64(c, &len);
    if (c->bad || len >= PLAN_MAX_BYTES) {
        c->bad = true;
        return;
    }

    size_t padded = ((size_t)len + 8) & ~(size_t)7; /* at least one NUL */

    if (!coder_room(c, padded))
        return;
    if (c->mode == CODER_WRITE) {
        __builtin_memset(c->out + c->pos + padded - 8, 0, 8);
        if (*s && len)
            __builtin_memcpy(c->out + c->pos, *s, (size_t)len);
    } else if (c->mode == CODER_READ) {
        const char *text = (const char *)c->in + c->pos;
        if (text[len] != '\0' || text_length(text) != len)
            c->bad = true;
        else
            *s = text;
    }
    c->pos += padded;
}

/*
 * The array behind items: in the reader's memory when reading (with one zeroed item more, the
 * terminator of a string list), the plan's own otherwise.
 */
static void *code_array(struct coder *c, uint32_t *count, uint32_t limit, const void *items,
                        size_t item_size)
{
    code_u32(c, count);
    if (c->bad || *count > limit) {
        c->bad = true;
        return NULL;
    }
    if (c->mode != CODER_READ)
        return (void *)(uintptr_t)items;

    size_t need = (((size_t)*count + 1) * item_size + 15) & ~(size_t)15;

    if (need > c->memory_size - c->memory_pos) {
        c->bad = true;
        return NULL;
    }
    uint8_t *array = c->memory + c->memory_pos;
    __builtin_memset(array, 0, need);
    c->memory_pos += need;
    return array;
}

static void code_enum(struct coder *c, uint32_t *value, uint32_t count)
{
    code_u32(c, value);
    if (*value >= count)
        c->bad = true;
}

static void code_strings(struct coder *c, uint32_t *count, const char *const **list)
{
    const char **items = code_array(c, count, PLAN_MAX_STRINGS, (const void *)*list,
                                    sizeof(const char *));

    for (uint32_t i = 0; i < *count && !c->bad; i++) {
        const char *s = c->mode == CODER_READ ? NULL : items[i];
        code_str(c, &s);
        if (c->mode == CODER_READ && !c->bad)
            items[i] = s;
    }
    *list = items;
}

static void code_mounts(struct coder *c, struct plan *p)
{
    struct mount_op *ops = code_array(c, &p->mount_count, PLAN_MAX_MOUNTS, p->mounts, sizeof *ops);

    for (uint32_t i = 0; i < p->mount_count && !c->bad; i++) {
        struct mount_op *op = &ops[i];
        code_enum(c, &op->kind, MOUNT_KIND_COUNT);
        code_u32(c, &op->flags);
        code_u32(c, &op->mode);
        code_u64(c, &op->size);
        code_u64(c, &op->dev);
        code_u64(c, &op->ino);
        code_str(c, &op->path);
        code_str(c, &op->text);
        if (!c->bad && c->mode == CODER_READ && op->path[0] != '/')
            c->bad = true;
    }
    p->mounts = ops;
}

static void code_rules(struct coder *c, struct plan *p)
{
    struct landlock_rule *rules = code_array(c, &p->rule_count, PLAN_MAX_RULES, p->rules,
                                             sizeof *rules);

    for (uint32_t i = 0; i < p->rule_count && !c->bad; i++) {
        code_enum(c, &rules[i].grant, GRANT_COUNT);
        code_u32(c, &rules[i].flags);
        code_str(c, &rules[i].path);
    }
    p->rules = rules;
}

static void code_limits(struct coder *c, struct plan *p)
{
    struct plan_limit *limits = code_array(c, &p->limit_count, PLAN_MAX_LIMITS, p->limits,
                                           sizeof *limits);

    for (uint32_t i = 0; i < p->limit_count && !c->bad; i++) {
        code_u32(c, &limits[i].resource);
        code_u64(c, &limits[i].value);
    }
    p->limits = limits;
}

static void code_filter(struct coder *c, struct plan_filter *f)
{
    uint64_t *insns = code_array(c, &f->count, PLAN_MAX_INSNS, f->insns, sizeof *insns);

    for (uint32_t i = 0; i < f->count && !c->bad; i++)
        code_u64(c, &insns[i]);
    f->insns = insns;
}

static void code_plan(struct coder *c, struct plan *p)
{
    uint64_t magic = CODEC_MAGIC, version = CODEC_VERSION;

    code_u64(c, &magic);
    code_u64(c, &version);
    if (c->bad || magic != CODEC_MAGIC || version != CODEC_VERSION) {
        c->bad = true;
        return;
    }
    code_u32(c, &p->layers);
    code_u32(c, &p->required);
    code_u32(c, &p->test_skip);
    code_u32(c, &p->tty);
    code_u32(c, &p->tty_rows);
    code_u32(c, &p->tty_columns);
    code_u32(c, &p->network_shared);
    code_u32(c, &p->proxied);
    code_u32(c, &p->relayed);
    code_u32(c, &p->publishes);
    code_u32(c, &p->nested);
    code_u32(c, &p->map_all_ids);
    code_u32(c, &p->uid);
    code_u32(c, &p->gid);
    code_u32(c, &p->pid_max);
    code_i64(c, &p->timeout_ns);
    code_i64(c, &p->grace_ns);
    code_str(c, &p->hostname);
    code_str(c, &p->cwd);
    code_str(c, &p->path);
    code_mounts(c, p);
    code_rules(c, p);
    code_limits(c, p);
    code_strings(c, &p->argv_count, &p->argv);
    code_strings(c, &p->env_count, &p->env);
    code_strings(c, &p->word_count, &p->words);
    code_u32(c, &p->named);
    code_enum(c, &p->watch, WATCH_LEVEL_COUNT);
    code_u32(c, &p->reads);
    code_filter(c, &p->filter);
    code_filter(c, &p->watch_filter);
    code_filter(c, &p->init_filter);
}

size_t plan_encoded_size(const struct plan *plan)
{
    struct coder c = { .mode = CODER_MEASURE };
    struct plan copy = *plan; /* measuring writes nothing back but counts */

    code_plan(&c, &copy);
    return c.bad ? 0 : c.pos;
}

void plan_encode(const struct plan *plan, uint8_t *out, size_t size)
{
    struct coder c = { .mode = CODER_WRITE, .out = out, .size = size };
    struct plan copy = *plan;

    code_plan(&c, &copy);
}

size_t plan_decode_memory(size_t image_size)
{
    /* No item of an array is more than four times as large in memory as in the image. */
    return 4 * image_size + 8192;
}

int plan_decode(const uint8_t *image, size_t size, void *memory, size_t memory_size,
                struct plan *ret)
{
    struct coder c = {
        .mode = CODER_READ,
        .in = image,
        .size = size,
        .memory = memory,
        .memory_size = memory_size,
    };
    static const struct plan empty;

    if (size > PLAN_MAX_BYTES)
        return -EINVAL;
    *ret = empty;
    code_plan(&c, ret);
    if (c.bad || c.pos != size || ret->argv_count == 0)
        return -EINVAL;
    return 0;
}
