/* SPDX-License-Identifier: Apache-2.0 */
/* What comes after an attempt to start that failed. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "agentbox/agentbox.h"
#include "api/next.h"
#include "policy/policy.h"

#define WARN   .strict = false
#define STRICT .strict = true

/* A step that failed; bubblewrap's words have no errno. */
#define STEP(name, error)                                                                          \
    {                                                                                              \
        .kind = STATUS_FAILED, .err = (error), .step = name                                        \
    }
#define NATIVE(name, error)                                                                        \
    {                                                                                              \
        .backend = BACKEND_NATIVE, .code = ABX_E_SANDBOX, .failure = STEP(name, error)             \
    }
#define BY_BWRAP(name, error)                                                                      \
    {                                                                                              \
        .backend = BACKEND_BWRAP, .code = ABX_E_SANDBOX, .failure = STEP(name, error)              \
    }

static const struct {
    const char *claim;
    struct start_past past;
    struct setback setback;
    enum next next;
} cases[] = {
    { "an error of another kind is the caller's",
      { WARN, .tries = 1 },
      { .backend = BACKEND_NATIVE, .code = ABX_E_INVALID },
      NEXT_STOP },
    { "a command that is not found is not tried otherwise",
      { WARN, .tries = 1 },
      { .backend = BACKEND_NATIVE, .code = ABX_E_EXEC, .failure = STEP("exec", ENOENT) },
      NEXT_STOP },
    { "canceled", { WARN, .tries = 1 }, { .code = ABX_E_CANCELED }, NEXT_STOP },

    { "changed tree", { STRICT, .tries = 1 }, NATIVE("mounts", ESTALE), NEXT_PLAN_ANEW },
    { "vanished path", { STRICT, .tries = 4 }, NATIVE("mounts", ENOENT), NEXT_PLAN_ANEW },
    { "five times", { STRICT, .tries = 5 }, NATIVE("mounts", ENOENT), NEXT_STOP },
    { "less, then", { WARN, .tries = 5 }, NATIVE("mounts", ENOENT), NEXT_LESS },
    { "by bubblewrap 19 times",
      { STRICT, .tries = 19 },
      BY_BWRAP("mounts", ELOOP),
      NEXT_PLAN_ANEW },
    { "… and no more", { STRICT, .tries = 20 }, BY_BWRAP("mounts", ELOOP), NEXT_STOP },
    { "a launcher of the entry code that cannot run here",
      { STRICT, .tries = 1 },
      { .backend = BACKEND_NATIVE, .code = ABX_E_SANDBOX, .mute = true },
      NEXT_PLAN_ANEW },
    { "another that was killed",
      { STRICT, .tries = 1 },
      { .backend = BACKEND_NATIVE, .code = ABX_E_SANDBOX },
      NEXT_STOP },

    { "namespaces refused", { STRICT, .tries = 1 }, NATIVE("namespaces", EPERM), NEXT_BWRAP },
    { "id map refused", { WARN, .tries = 1 }, NATIVE("identity", EACCES), NEXT_BWRAP },
    { "no new /proc", { WARN, .tries = 1 }, NATIVE("prepare", EPERM), NEXT_BWRAP },
    { "no network", { WARN, .tries = 1 }, NATIVE("netns", ENOSPC), NEXT_BWRAP },
    { "no setns", { WARN, .tries = 1 }, NATIVE("loopback", EPERM), NEXT_BWRAP },
    { "no openat2", { WARN, .tries = 1 }, NATIVE("mounts", ENOSYS), NEXT_BWRAP },
    { "out of descriptors", { STRICT, .tries = 1 }, NATIVE("prepare", EMFILE), NEXT_STOP },
    { "… or memory is no missing layer",
      { WARN, .tries = 1 },
      NATIVE("namespaces", ENOMEM),
      NEXT_STOP },
    { "we gave up ourselves", { WARN, .tries = 1 }, NATIVE("namespaces", ECANCELED), NEXT_LESS },
    { "a later step is no reason for bubblewrap",
      { STRICT, .tries = 1 },
      NATIVE("landlock", ENOSYS),
      NEXT_STOP },
    { "… but for less", { WARN, .tries = 1 }, NATIVE("landlock", ENOSYS), NEXT_LESS },
    { "native by name",
      { STRICT, .choice = CHOICE_NATIVE, .tries = 1 },
      NATIVE("namespaces", EPERM),
      NEXT_STOP },
    { "native by name, and less of it",
      { WARN, .choice = CHOICE_NATIVE, .tries = 1 },
      NATIVE("namespaces", EPERM),
      NEXT_LESS },
    { "there is no bubblewrap",
      { STRICT, .tries = 1, .bwrap_tried = true },
      NATIVE("namespaces", EPERM),
      NEXT_STOP },
    { "there is no bubblewrap, so less",
      { WARN, .tries = 1, .bwrap_tried = true },
      NATIVE("namespaces", EPERM),
      NEXT_LESS },
    { "less once only",
      { WARN, .tries = 2, .bwrap_tried = true, .reduced = true },
      NATIVE("namespaces", EPERM),
      NEXT_STOP },
    { "Landlock alone has no second choice",
      { WARN, .tries = 1, .reduced = true },
      { .backend = BACKEND_LANDLOCK, .code = ABX_E_SANDBOX, .failure = STEP("enclose", EPERM) },
      NEXT_STOP },
    { "inside another sandbox",
      { STRICT, .tries = 1 },
      { .backend = BACKEND_INNER, .code = ABX_E_SANDBOX, .failure = STEP("namespaces", EPERM) },
      NEXT_STOP },

    { "bubblewrap spoke: the host, or the tree?",
      { STRICT, .tries = 2, .bwrap_tried = true },
      BY_BWRAP("bwrap", 0),
      NEXT_ASK_BWRAP },
    { "the tree",
      { STRICT, .tries = 2, .bwrap_tried = true, .bwrap = BWRAP_WORKS },
      BY_BWRAP("bwrap", 0),
      NEXT_PLAN_ANEW },
    { "the tree, twenty times",
      { STRICT, .tries = 20, .bwrap_tried = true, .bwrap = BWRAP_WORKS },
      BY_BWRAP("bwrap", 0),
      NEXT_NATIVE },
    { "the host",
      { STRICT, .tries = 2, .bwrap_tried = true, .bwrap = BWRAP_FAILS },
      BY_BWRAP("bwrap", 0),
      NEXT_NATIVE },
    { "bubblewrap by name",
      { STRICT, .choice = CHOICE_BWRAP, .tries = 1, .bwrap = BWRAP_FAILS },
      BY_BWRAP("bwrap", 0),
      NEXT_STOP },
    { "it could not be executed: nothing to ask",
      { STRICT, .tries = 2, .bwrap_tried = true },
      BY_BWRAP("bwrap", EACCES),
      NEXT_NATIVE },
    { "our own reason came first",
      { STRICT, .tries = 2, .bwrap_tried = true },
      BY_BWRAP("bwrap", ECANCELED),
      NEXT_ASK_BWRAP },
    { "… and bubblewrap fails anyway",
      { STRICT, .tries = 2, .bwrap_tried = true, .bwrap = BWRAP_FAILS },
      BY_BWRAP("bwrap", ECANCELED),
      NEXT_NATIVE },
    { "… and it is the reason",
      { STRICT, .tries = 2, .bwrap_tried = true, .bwrap = BWRAP_WORKS },
      BY_BWRAP("bwrap", ECANCELED),
      NEXT_STOP },
    { "no word at all",
      { STRICT, .tries = 2, .bwrap_tried = true },
      { .backend = BACKEND_BWRAP, .code = ABX_E_SANDBOX },
      NEXT_ASK_BWRAP },
    { "bubblewrap cannot take the plan: under warn there is less",
      { WARN, .tries = 1, .bwrap_tried = true },
      { .backend = BACKEND_BWRAP, .code = ABX_E_UNSUPPORTED },
      NEXT_NATIVE },
    { "… under strict that is said",
      { STRICT, .tries = 1, .bwrap_tried = true },
      { .backend = BACKEND_BWRAP, .code = ABX_E_UNSUPPORTED },
      NEXT_STOP },
    { "… and to who asked for it by name",
      { WARN, .choice = CHOICE_BWRAP, .tries = 1 },
      { .backend = BACKEND_BWRAP, .code = ABX_E_UNSUPPORTED },
      NEXT_STOP },
    { "what pid 1 found wrong in bubblewrap's view stays the reason",
      { STRICT, .tries = 2, .bwrap_tried = true },
      BY_BWRAP("mounts", EPROTO),
      NEXT_STOP },
    { "a layer that bubblewrap does not make",
      { WARN, .tries = 2, .bwrap_tried = true },
      BY_BWRAP("landlock", ENOSYS),
      NEXT_LESS },
};

static void test_next(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum next next = next_attempt(&cases[i].past, &cases[i].setback);
        if (next != cases[i].next)
            fail_msg("%s: %d, not %d", cases[i].claim, (int)next, (int)cases[i].next);
    }
}

/* Whatever happens, and whatever turns out not to be possible, there is an end. */
static void test_ends(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct start_past past = cases[i].past;
        struct setback setback = cases[i].setback;
        enum next next;
        int questions = 0;

        past.tries = 0;
        past.bwrap_tried = past.reduced = false;
        past.bwrap = BWRAP_UNKNOWN;
        while ((next = next_attempt(&past, &setback)) != NEXT_STOP) {
            assert_true(++questions < 50);
            past.tries += next == NEXT_PLAN_ANEW || next == NEXT_BWRAP || next == NEXT_LESS;
            past.reduced = past.reduced || next == NEXT_LESS;
            past.bwrap_tried = past.bwrap_tried || next == NEXT_BWRAP;
            if (next == NEXT_ASK_BWRAP)
                past.bwrap = i % 2 ? BWRAP_WORKS : BWRAP_FAILS;
            if (next == NEXT_BWRAP)
                setback.backend = BACKEND_BWRAP;
            if (next == NEXT_NATIVE)
                setback.backend = BACKEND_NATIVE;
        }
    }
}

static void test_less(void **state)
{
    const uint32_t all = LAYER_BIT(LAYER_COUNT) - 1, landlock = LAYER_BIT(LAYER_LANDLOCK);

    (void)state;
    assert_int_equal(next_less(all, all), LESS_NONE);
    assert_int_equal(next_less(all & ~landlock, all), LESS_NONE);
    assert_int_equal(next_less(all, all & ~landlock), LESS_LAYERS);
    assert_int_equal(next_less(all, all & ~LAYER_BIT(LAYER_NETNS)), LESS_LAYERS);
    assert_int_equal(next_less(all, all & ~LAYERS_OF_VIEW), LESS_LANDLOCK);
    assert_int_equal(next_less(all, all & ~LAYERS_OF_VIEW & ~landlock), LESS_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_less),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
