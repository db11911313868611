/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as bytes and back; nothing but a whole, sound image is accepted. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan/codec.h"

static const struct mount_op mounts[] = {
    { MOUNT_BIND_RW, MOUNT_CWD, 0, 0, 1, 2, "/w", "@base ." },
    { MOUNT_TMPFS, MOUNT_SEAL, 01777, UINT64_C(1) << 40, 0, 0, "/tmp", "" },
};
static const struct landlock_rule rules[] = { { GRANT_READ, 0, "/" },
                                              { GRANT_WRITE, MOUNT_OPTIONAL, "/w" } };
static const struct plan_limit limits[] = { { 7, 1024 }, { 4, UINT64_MAX } };
static const char *const argv[] = { "sh", "-c", "", NULL };
static const char *const env[] = { "A=1", NULL };
static const uint64_t insns[] = { 1, UINT64_MAX, 3 };

static struct plan sample(void)
{
    return (struct plan){
        .layers = 0x3ff,
        .required = 0x3fe,
        .test_skip = 4,
        .tty = 1,
        .network_shared = 1,
        .nested = 1,
        .map_all_ids = 1,
        .uid = UINT32_MAX,
        .gid = 5,
        .pid_max = 99,
        .timeout_ns = INT64_MAX,
        .grace_ns = -1,
        .hostname = "h",
        .cwd = "/w",
        .path = "/bin",
        .mount_count = 2,
        .rule_count = 2,
        .limit_count = 2,
        .argv_count = 3,
        .env_count = 1,
        .mounts = mounts,
        .rules = rules,
        .limits = limits,
        .argv = argv,
        .env = env,
        .filter = { 3, insns },
        .init_filter = { 1, insns },
    };
}

struct image {
    uint8_t *bytes, *memory;
    size_t size, memory_size;
};

static struct image encode(const struct plan *p)
{
    struct image im = { .size = plan_encoded_size(p) };

    assert_true(im.size > 0);
    im.bytes = malloc(im.size);
    im.memory_size = plan_decode_memory(im.size);
    im.memory = malloc(im.memory_size);
    assert_true(im.bytes && im.memory);
    plan_encode(p, im.bytes, im.size);
    return im;
}

static void image_free(struct image *im)
{
    free(im->bytes);
    free(im->memory);
}

static int decode(const struct image *im, size_t size, struct plan *ret)
{
    return plan_decode(im->bytes, size, im->memory, im->memory_size, ret);
}

static void everything_comes_back(void **state)
{
    struct plan p = sample(), q;
    struct image im = encode(&p);

    (void)state;
    assert_int_equal(decode(&im, im.size, &q), 0);
    assert_int_equal(q.layers, p.layers);
    assert_int_equal(q.required, p.required);
    assert_int_equal(q.test_skip, 4);
    assert_int_equal(q.uid, UINT32_MAX);
    assert_int_equal(q.pid_max, 99);
    assert_true(q.timeout_ns == INT64_MAX && q.grace_ns == -1);
    assert_true(q.tty && q.network_shared && q.nested && q.map_all_ids);
    assert_string_equal(q.hostname, "h");
    assert_string_equal(q.cwd, "/w");
    assert_string_equal(q.path, "/bin");
    assert_int_equal(q.mount_count, 2);
    assert_int_equal(q.mounts[0].flags, MOUNT_CWD);
    assert_int_equal(q.mounts[0].ino, 2);
    assert_string_equal(q.mounts[0].text, "@base .");
    assert_int_equal(q.mounts[1].mode, 01777);
    assert_true(q.mounts[1].size == UINT64_C(1) << 40);
    assert_int_equal(q.rules[1].flags, MOUNT_OPTIONAL);
    assert_true(q.limits[1].value == UINT64_MAX);
    assert_string_equal(q.argv[1], "-c");
    assert_string_equal(q.argv[2], "");
    assert_null(q.argv[3]);
    assert_null(q.env[1]);
    assert_int_equal(q.filter.count, 3);
    assert_true(q.filter.insns[1] == UINT64_MAX);
    assert_int_equal(q.init_filter.count, 1);
    image_free(&im);
}

static void encoding_again_gives_the_same_bytes(void **state)
{
    struct plan p = sample(), q;
    struct image im = encode(&p);

    (void)state;
    assert_int_equal(decode(&im, im.size, &q), 0);
    struct image again = encode(&q);
    assert_int_equal(again.size, im.size);
    assert_memory_equal(again.bytes, im.bytes, im.size);
    image_free(&again);
    image_free(&im);
}

static void every_truncation_is_refused(void **state)
{
    struct plan p = sample(), q;
    struct image im = encode(&p);

    (void)state;
    for (size_t n = 0; n < im.size; n++) {
        /* A copy of just that size, so that a sanitizer sees its end. */
        uint8_t *part = malloc(n + !n);
        assert_non_null(part);
        memcpy(part, im.bytes, n);
        assert_int_equal(plan_decode(part, n, im.memory, im.memory_size, &q), -EINVAL);
        free(part);
    }
    image_free(&im);
}

static void bytes_after_the_end_are_refused(void **state)
{
    struct plan p = sample(), q;
    struct image im = encode(&p);
    uint8_t *longer = calloc(1, im.size + 8);

    (void)state;
    assert_non_null(longer);
    memcpy(longer, im.bytes, im.size);
    assert_int_equal(plan_decode(longer, im.size + 8, im.memory, im.memory_size, &q), -EINVAL);
    free(longer);
    image_free(&im);
}

static void every_flipped_byte_is_refused_or_read_safely(void **state)
{
    struct plan p = sample(), q;
    struct image im = encode(&p);

    (void)state;
    for (size_t i = 0; i < im.size; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            im.bytes[i] ^= (uint8_t)(1u << bit);
            if (decode(&im, im.size, &q) == 0)
                assert_true(plan_encoded_size(&q) > 0);
            im.bytes[i] ^= (uint8_t)(1u << bit);
        }
    image_free(&im);
}

static void counts_beyond_the_limits_are_refused(void **state)
{
    struct plan p = sample();

    (void)state;
    p.limit_count = PLAN_MAX_LIMITS + 1;
    assert_int_equal(plan_encoded_size(&p), 0);
    p = sample();
    p.filter.count = PLAN_MAX_INSNS + 1;
    assert_int_equal(plan_encoded_size(&p), 0);
    p = sample();
    p.mount_count = PLAN_MAX_MOUNTS + 1;
    assert_int_equal(plan_encoded_size(&p), 0);
}

static void relative_mount_paths_and_empty_commands_are_refused(void **state)
{
    struct mount_op op = mounts[0];
    struct plan p = sample(), q;

    (void)state;
    op.path = "w";
    p.mounts = &op;
    p.mount_count = 1;
    struct image im = encode(&p);
    assert_int_equal(decode(&im, im.size, &q), -EINVAL);
    image_free(&im);
    p = sample();
    p.argv_count = 0;
    im = encode(&p);
    assert_int_equal(decode(&im, im.size, &q), -EINVAL);
    image_free(&im);
}

static void unknown_kinds_are_refused(void **state)
{
    struct mount_op op = mounts[0];
    struct plan p = sample(), q;

    (void)state;
    op.kind = MOUNT_KIND_COUNT;
    p.mounts = &op;
    p.mount_count = 1;
    /* Writing checks as reading does. */
    if (plan_encoded_size(&p)) {
        struct image im = encode(&p);
        assert_int_equal(decode(&im, im.size, &q), -EINVAL);
        image_free(&im);
    }
}

static void too_little_memory_is_refused(void **state)
{
    struct plan p = sample(), q;
    struct image im = encode(&p);

    (void)state;
    assert_int_equal(plan_decode(im.bytes, im.size, im.memory, 64, &q), -EINVAL);
    assert_int_equal(plan_decode(im.bytes, im.size, im.memory, 0, &q), -EINVAL);
    image_free(&im);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(encoding_again_gives_the_same_bytes),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(bytes_after_the_end_are_refused),
        cmocka_unit_test(every_flipped_byte_is_refused_or_read_safely),
        cmocka_unit_test(counts_beyond_the_limits_are_refused),
        cmocka_unit_test(relative_mount_paths_and_empty_commands_are_refused),
        cmocka_unit_test(unknown_kinds_are_refused),
        cmocka_unit_test(too_little_memory_is_refused),
    };

    return cmocka_run_group_tests_name("codec", tests, NULL, NULL);
}
