/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 against the vectors of FIPS 180-4 and NIST's CAVP, whole and in pieces. */
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void expect(const void *data, size_t len, const char *hex)
{
    uint8_t digest[SHA256_BYTES];
    char text[SHA256_HEX_BYTES];

    sha256(data, len, digest);
    sha256_hex(digest, text);
    assert_string_equal(text, hex);
}

static void known_texts_have_the_known_digests(void **state)
{
    static const struct {
        const char *text, *hex;
    } table[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
          "lmnopqrsmnopqrstnopqrstu",
          "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1" },
        { "\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1" },
        { "\x5f\xd4", "7c4fbf484498d21b487b9d61de8914b2eadaf2698712936d47c3ada2558f6788" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        expect(table[i].text, strlen(table[i].text), table[i].hex);
}

static void a_million_letters_have_the_known_digest(void **state)
{
    static char letters[1000000];

    (void)state;
    memset(letters, 'a', sizeof letters);
    expect(letters, sizeof letters,
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void pieces_of_any_size_give_the_same_digest(void **state)
{
    uint8_t data[300], whole[SHA256_BYTES], pieces[SHA256_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    for (size_t len = 0; len <= sizeof data; len++) {
        sha256(data, len, whole);
        for (size_t step = 1; step <= 130; step += 43) {
            struct sha256 s;
            sha256_init(&s);
            for (size_t at = 0; at < len; at += step)
                sha256_update(&s, data + at, MIN_OF(step, len - at));
            sha256_final(&s, pieces);
            assert_memory_equal(whole, pieces, sizeof whole);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_texts_have_the_known_digests),
        cmocka_unit_test(a_million_letters_have_the_known_digest),
        cmocka_unit_test(pieces_of_any_size_give_the_same_digest),
    };

    return cmocka_run_group_tests_name("sha256", tests, NULL, NULL);
}
