/* SPDX-License-Identifier: Apache-2.0 */
/* The name in a ClientHello, whatever the records and pieces it comes in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/clienthello.h"

#define EXT(literal) (literal), sizeof(literal) - 1
#define SNI_OK       "\x00\x00\x00\x0c\x00\x0a\x00\x00\x07ok.test"
#define GREASE       "\x0a\x0a\x00\x00\x1a\x1a\x00\x01\x00"
#define ECH          "\xfe\x0d\x00\x03\x00\x00\x01"
#define ALPN         "\x00\x10\x00\x05\x00\x03\x02h2"

static void put16(struct buf *b, size_t v)
{
    (void)buf_putc(b, (char)(v >> 8));
    (void)buf_putc(b, (char)v);
}

/* A handshake message: everything before the extensions is as OpenSSL would write it. */
static void put_hello(struct buf *b, const char *extensions, size_t len)
{
    static const char zeros[64];
    size_t body = 2 + 32 + 1 + 32 + 2 + 4 + 2 + (extensions ? 2 + len : 0);

    (void)buf_putc(b, 1);
    (void)buf_putc(b, 0);
    put16(b, body);
    (void)buf_append(b, "\x03\x03", 2);
    (void)buf_append(b, zeros, 32);
    (void)buf_putc(b, 32);
    (void)buf_append(b, zeros, 32);
    (void)buf_append(b, "\x00\x04\x13\x01\x0a\x0a\x01\x00", 8);
    if (extensions) {
        put16(b, len);
        (void)buf_append(b, extensions, len);
    }
}

static void put_records(struct buf *b, const char *bytes, size_t len, size_t size)
{
    for (size_t at = 0; at < len; at += size) {
        size_t n = MIN_OF(size, len - at);
        (void)buf_append(b, "\x16\x03\x01", 3);
        put16(b, n);
        (void)buf_append(b, bytes + at, n);
    }
}

static enum clienthello_step feed(struct clienthello *c, const struct buf *b, size_t piece)
{
    enum clienthello_step step = CLIENTHELLO_MORE;

    memset(c, 0, sizeof *c);
    for (size_t at = 0; at < b->len; at += piece)
        step = clienthello_feed(c, (const uint8_t *)b->data + at, MIN_OF(piece, b->len - at));
    return step;
}

static const struct {
    const char *extensions; /* NULL: no list of them */
    size_t len;
    enum clienthello_step step;
    const char *name;
} hellos[] = {
    { NULL, 0, CLIENTHELLO_NONE, NULL },
    { EXT(""), CLIENTHELLO_NONE, NULL },
    { EXT(ALPN), CLIENTHELLO_NONE, NULL },
    { EXT(SNI_OK), CLIENTHELLO_NAME, "ok.test" },
    { EXT(GREASE SNI_OK ALPN), CLIENTHELLO_NAME, "ok.test" },
    { EXT(ALPN SNI_OK GREASE), CLIENTHELLO_NAME, "ok.test" },
    { EXT("\x00\x00\x00\x0c\x00\x0a\x00\x00\x07OK.TEST"), CLIENTHELLO_NAME, "ok.test" },
    { EXT("\x00\x00\x00\x0e\x00\x0c\x00\x00\x09"
          "127.0.0.1"),
      CLIENTHELLO_NAME, "127.0.0.1" },
    { EXT(SNI_OK ECH), CLIENTHELLO_ECH, "ok.test" },
    { EXT(ECH), CLIENTHELLO_ECH, NULL },
    /* malformed */
    { EXT(SNI_OK SNI_OK), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x00"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x01\x00"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x02\x00\x00"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x05\x00\x03\x00\x00\x00"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x0c\x00\x0b\x00\x00\x07ok.test"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x0c\x00\x0a\x00\x00\x08ok.test"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x0c\x00\x0a\x00\x00\x06ok.test"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x0c\x00\x0a\x01\x00\x07ok.test"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x0d\x00\x0a\x00\x00\x07ok.test"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x0c\x00\x0a\x00\x00\x07ok\0test"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x00\x00\x0c\x00\x0a\x00\x00\x07o_.test"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x10\x00\x06\x00\x03\x02h2"), CLIENTHELLO_MALFORMED, NULL },
    { EXT("\x00\x10\x00"), CLIENTHELLO_MALFORMED, NULL },
    /* two names: evil behind ok */
    { EXT("\x00\x00\x00\x16\x00\x14\x00\x00\x07ok.test\x00\x00\x07no.test"), CLIENTHELLO_MALFORMED,
      NULL },
};

static void names_are_found_in_any_pieces(void **state)
{
    static const size_t records[] = { 1, 2, 3, 5, 17, 100, 16384 };
    static const size_t pieces[] = { 1, 4, 7, 100000 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(hellos) * ARRAY_LEN(records) * ARRAY_LEN(pieces); i++) {
        size_t row = i % ARRAY_LEN(hellos), k = i / ARRAY_LEN(hellos);
        _buf_ struct buf hello = { .limit = 65536 }, stream = { .limit = 65536 };
        struct clienthello c;
        enum clienthello_step step;

        put_hello(&hello, hellos[row].extensions, hellos[row].len);
        put_records(&stream, hello.data, hello.len, records[k % ARRAY_LEN(records)]);
        step = feed(&c, &stream, pieces[k / ARRAY_LEN(records)]);
        if (step != hellos[row].step || c.has_host != (hellos[row].name != NULL))
            fail_msg("row %zu, records %zu: %d", row, records[k % ARRAY_LEN(records)], step);
        if (c.has_host)
            assert_string_equal(c.host.text, hellos[row].name);
    }
}

static void nothing_is_said_before_the_end(void **state)
{
    _buf_ struct buf hello = { .limit = 65536 }, stream = { .limit = 65536 };
    struct clienthello c = { 0 };

    (void)state;
    put_hello(&hello, EXT(SNI_OK ALPN));
    put_records(&stream, hello.data, hello.len, 50);
    for (size_t i = 0; i + 1 < stream.len; i++)
        assert_int_equal(clienthello_feed(&c, (const uint8_t *)stream.data + i, 1),
                         CLIENTHELLO_MORE);
    assert_int_equal(clienthello_feed(&c, (const uint8_t *)stream.data + stream.len - 1, 1),
                     CLIENTHELLO_NAME);
    assert_int_equal(clienthello_feed(&c, (const uint8_t *)"x", 1), CLIENTHELLO_NAME);
}

static void other_protocols_are_told_at_once(void **state)
{
    static const struct {
        const char *bytes;
        size_t len;
        enum clienthello_step step;
    } table[] = {
        { EXT("G"), CLIENTHELLO_NOT_TLS },
        { EXT("SSH-2.0"), CLIENTHELLO_NOT_TLS },
        { EXT("\x80\x2e\x01\x03\x01"), CLIENTHELLO_NONE }, /* in the form of SSL 2 */
        { EXT("\x80\x2e\x01"), CLIENTHELLO_MORE },
        { EXT("\x80\x2e\x02"), CLIENTHELLO_NOT_TLS },
        { EXT("\xff\xfb\x01\xff"), CLIENTHELLO_NOT_TLS },
        { EXT("\x15\x03\x01\x00\x02"), CLIENTHELLO_MALFORMED }, /* an alert */
        { EXT("\x14\x03"), CLIENTHELLO_MALFORMED },
        { EXT("\x18\x03"), CLIENTHELLO_MALFORMED },
        { EXT("\x13\x03"), CLIENTHELLO_NOT_TLS },
        { EXT("\x19\x03"), CLIENTHELLO_NOT_TLS },
        { EXT("\x16\x03"), CLIENTHELLO_MORE },
        { EXT("\x17\x02"), CLIENTHELLO_NOT_TLS },
        /* versions that do not exist: as some servers read them, and as none does */
        { EXT("\x16\x02\x00\x00\x40"), CLIENTHELLO_MORE },
        { EXT("\x16\x02\x00\x00\x40\x01"), CLIENTHELLO_MALFORMED },
        { EXT("\x16\xff\xff\xff\xff\x01"), CLIENTHELLO_MALFORMED },
        { EXT("\x16\x00\x00\x00\x00\x16"), CLIENTHELLO_MALFORMED },
        { EXT("\x16\x02\x00\x00\x40\x02"), CLIENTHELLO_NOT_TLS },
        { EXT("\x15\x02\x00\x00\x02\x01"), CLIENTHELLO_MALFORMED },
        { EXT("\x15\x04\x00\x00\x01\x02"), CLIENTHELLO_MALFORMED },
        { EXT("\x15\x04\x00\x00\x03\x02"), CLIENTHELLO_NOT_TLS },
        { EXT("\x14\x00\x00\x00\x01\x01"), CLIENTHELLO_MALFORMED },
        { EXT("\x14\x00\x00\x00\x01\x02"), CLIENTHELLO_NOT_TLS },
        { EXT("\x14\x00\xfb\x05\x0b\x01"), CLIENTHELLO_NOT_TLS },
        { EXT("\x16\x03\x01\x00\x00"), CLIENTHELLO_MALFORMED },
        { EXT("\x16\x03\x01\x40\x01"), CLIENTHELLO_MALFORMED },
        { EXT("\x16\x03\x01\x00\x04\x02\x00\x00\x40"), CLIENTHELLO_MALFORMED }, /* ServerHello */
        { EXT("\x16\x03\x01\x00\x04\x01\x00\x00\x10"), CLIENTHELLO_MALFORMED }, /* too short */
        { EXT("\x16\x03\x01\x00\x04\x01\x02\x00\x00"), CLIENTHELLO_MALFORMED }, /* too long */
        { EXT("\x16\x03\x01\x00\x01\x01\x17\x03\x01\x00\x01"), CLIENTHELLO_MALFORMED },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct clienthello c = { 0 };
        enum clienthello_step step = clienthello_feed(&c, (const uint8_t *)table[i].bytes,
                                                      table[i].len);
        if (step != table[i].step)
            fail_msg("row %zu: %d", i, step);
    }
}

static void endless_hellos_are_cut_off(void **state)
{
    /* One byte a record: the headers alone go beyond the limit. */
    _buf_ struct buf hello = { .limit = 65536 }, stream = { .limit = 1 << 20 };
    static char padding[20000] = "\x00\x15\x4e\x1c";
    struct clienthello c;

    (void)state;
    put_hello(&hello, padding, sizeof padding);
    put_records(&stream, hello.data, hello.len, 1);
    assert_int_equal(feed(&c, &stream, 1000), CLIENTHELLO_MALFORMED);
    assert_true(c.seen <= CLIENTHELLO_MAX);
    buf_done(&stream);
    buf_init(&stream, 1 << 20);
    put_records(&stream, hello.data, hello.len, 2000);
    assert_int_equal(feed(&c, &stream, 1000), CLIENTHELLO_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_found_in_any_pieces),
        cmocka_unit_test(nothing_is_said_before_the_end),
        cmocka_unit_test(other_protocols_are_told_at_once),
        cmocka_unit_test(endless_hellos_are_cut_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
