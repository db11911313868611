/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the vectors of FIPS 180-4 and of the NIST examples, whole and in pieces. */
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void check(const void *data, size_t len, const char *want)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    sha256(data, len, digest);
    sha256_hex(digest, hex);
    assert_string_equal(hex, want);
}

static void known_texts_have_the_known_digests(void **state)
{
    (void)state;
    check("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void a_million_letters_have_the_known_digest(void **state)
{
    char *text = malloc(1000000);

    (void)state;
    assert_non_null(text);
    memset(text, 'a', 1000000);
    check(text, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(text);
}

static void pieces_give_the_same_as_the_whole(void **state)
{
    uint8_t data[300], whole[SHA256_SIZE], pieces[SHA256_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 7);
    for (size_t len = 0; len <= sizeof(data); len++) {
        struct sha256 h;
        size_t cut = len / 3;

        sha256(data, len, whole);
        sha256_init(&h);
        sha256_update(&h, data, cut);
        sha256_update(&h, data + cut, 0);
        sha256_update(&h, data + cut, len - cut);
        sha256_final(&h, pieces);
        assert_memory_equal(whole, pieces, SHA256_SIZE);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_the_known_digests),
        cmocka_unit_test(a_million_letters_have_the_known_digest),
        cmocka_unit_test(pieces_give_the_same_as_the_whole),
    };

    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
