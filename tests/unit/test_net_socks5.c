/* SPDX-License-Identifier: Apache-2.0 */
/* SOCKS5: greetings, requests, replies; every prefix of a message asks for more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/socks5.h"

#define BYTES(literal) (const uint8_t *)(literal), sizeof(literal) - 1

static void greetings_offer_no_authentication(void **state)
{
    static const struct {
        const uint8_t *bytes;
        size_t len;
        enum socks5_step step;
        size_t used;
    } table[] = {
        { BYTES("\x05\x01\x00"), SOCKS5_OK, 3 },
        { BYTES("\x05\x02\x02\x00"), SOCKS5_OK, 4 },
        { BYTES("\x05\x01\x00\x05\x01"), SOCKS5_OK, 3 },
        { BYTES("\x05\x01\x02"), SOCKS5_NO_METHOD, 3 },
        { BYTES("\x05\x00"), SOCKS5_NO_METHOD, 0 },
        { BYTES("\x04\x01\x00\x50"), SOCKS5_IS_SOCKS4, 0 },
        { BYTES("GET "), SOCKS5_NOT_SOCKS, 0 },
        { BYTES("\x16\x03\x01"), SOCKS5_NOT_SOCKS, 0 },
        { BYTES(""), SOCKS5_MORE, 0 },
        { BYTES("\x05"), SOCKS5_MORE, 0 },
        { BYTES("\x05\x02\x00"), SOCKS5_MORE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        size_t used = 0;
        enum socks5_step step = socks5_parse_greeting(table[i].bytes, table[i].len, &used);
        if (step != table[i].step || used != table[i].used)
            fail_msg("row %zu: %d, %zu bytes", i, step, used);
    }
}

static void requests_have_one_canonical_target(void **state)
{
    static const struct {
        const uint8_t *bytes;
        size_t len;
        const char *target;
    } table[] = {
        { BYTES("\x05\x01\x00\x01\x08\x08\x08\x08\x01\xbb"), "8.8.8.8:443" },
        { BYTES("\x05\x01\x00\x03\x07OK.test\x00\x50"), "ok.test:80" },
        { BYTES("\x05\x01\x00\x03\x08ok.test.\xff\xff"), "ok.test:65535" },
        { BYTES("\x05\x01\x00\x03\x06"
                "0x7f.1\x00\x50"),
          "127.0.0.1:80" },
        { BYTES("\x05\x01\x00\x03\x03::1\x00\x50"), "[::1]:80" },
        { BYTES("\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\x00\x50"), "[::1]:80" },
        { BYTES("\x05\x01\x00\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x00\x50"),
          "127.0.0.1:80" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char text[HOST_AUTHORITY_MAX];
        struct socks5_request r;
        size_t used = 0;

        for (size_t len = 0; len < table[i].len; len++)
            assert_int_equal(socks5_parse_request(table[i].bytes, len, &used, &r), SOCKS5_MORE);
        assert_int_equal(socks5_parse_request(table[i].bytes, table[i].len, &used, &r), SOCKS5_OK);
        assert_int_equal(used, table[i].len);
        (void)host_format(&r.host, r.port, text);
        assert_string_equal(text, table[i].target);
    }
}

static void refusals_have_their_code(void **state)
{
    static const struct {
        const uint8_t *bytes;
        size_t len;
        enum socks5_code code;
    } table[] = {
        { BYTES("\x04"), SOCKS5_FAILED },
        { BYTES("\x05\x02"), SOCKS5_BAD_COMMAND },                     /* BIND */
        { BYTES("\x05\x03\x00\x01\0\0\0\0\0\0"), SOCKS5_BAD_COMMAND }, /* UDP ASSOCIATE */
        { BYTES("\x05\xf0"), SOCKS5_BAD_COMMAND },                     /* Tor's RESOLVE */
        { BYTES("\x05\x01\x01"), SOCKS5_FAILED },
        { BYTES("\x05\x01\x00\x02"), SOCKS5_BAD_ADDRESS_TYPE },
        { BYTES("\x05\x01\x00\x00"), SOCKS5_BAD_ADDRESS_TYPE },
        { BYTES("\x05\x01\x00\x01\x08\x08\x08\x08\x00\x00"), SOCKS5_FAILED },
        { BYTES("\x05\x01\x00\x03\x00\x00\x50"), SOCKS5_FAILED },
        { BYTES("\x05\x01\x00\x03\x13"
                "evil.test\0wild.test\x00\x50"),
          SOCKS5_FAILED }, /* A94 */
        { BYTES("\x05\x01\x00\x03\x08ok.te\r\nt\x00\x50"), SOCKS5_FAILED },
        { BYTES("\x05\x01\x00\x03\x07o_.test\x00\x50"), SOCKS5_FAILED },
        { BYTES("\x05\x01\x00\x03\x09"
                "256.1.1.1\x00\x50"),
          SOCKS5_FAILED },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct socks5_request r;
        size_t used = 0;
        enum socks5_step step = socks5_parse_request(table[i].bytes, table[i].len, &used, &r);
        if (step != SOCKS5_REFUSED || r.code != table[i].code || !r.why)
            fail_msg("row %zu: %d, code %d", i, step, r.code);
    }
}

static void the_longest_messages_are_as_promised(void **state)
{
    uint8_t greeting[SOCKS5_GREETING_MAX] = { 5, 255 };
    uint8_t request[SOCKS5_REQUEST_MAX] = { 5, 1, 0, 3, 255 };
    struct socks5_request r;
    size_t used = 0;

    (void)state;
    assert_int_equal(socks5_parse_greeting(greeting, sizeof greeting - 1, &used), SOCKS5_MORE);
    assert_int_equal(socks5_parse_greeting(greeting, sizeof greeting, &used), SOCKS5_OK);
    memset(request + 5, 'a', 255);
    request[261] = 80;
    assert_int_equal(socks5_parse_request(request, sizeof request - 1, &used, &r), SOCKS5_MORE);
    assert_int_equal(socks5_parse_request(request, sizeof request, &used, &r), SOCKS5_REFUSED);
}

static void replies_are_exact(void **state)
{
    uint8_t reply[SOCKS5_REPLY_LEN], method[2], four[SOCKS4_REPLY_LEN];

    (void)state;
    socks5_reply(SOCKS5_NOT_ALLOWED, reply);
    assert_memory_equal(reply, "\x05\x02\x00\x01\0\0\0\0\0\0", SOCKS5_REPLY_LEN);
    socks5_method(true, method);
    assert_memory_equal(method, "\x05\x00", 2);
    socks5_method(false, method);
    assert_memory_equal(method, "\x05\xff", 2);
    socks4_refusal(four);
    assert_memory_equal(four, "\x00\x5b\0\0\0\0\0\0", SOCKS4_REPLY_LEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(greetings_offer_no_authentication),
        cmocka_unit_test(requests_have_one_canonical_target),
        cmocka_unit_test(refusals_have_their_code),
        cmocka_unit_test(the_longest_messages_are_as_promised),
        cmocka_unit_test(replies_are_exact),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
