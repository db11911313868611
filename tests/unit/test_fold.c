/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: what was put aside is gone while it is, and is as it was after it. */
#include "cli/fold.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define PAGE  ((size_t)4096)
#define PAGES 600u /* more than one look, and more than there is room for if nothing is zero */

static uint64_t *map_pages(size_t count)
{
    void *p = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(p, MAP_FAILED);
    return p;
}

static void fold(const void *from, size_t pages, bool file)
{
    fold_pages((uintptr_t)from, (uintptr_t)from + pages * PAGE, file);
}

static size_t count_there(void *from, size_t pages)
{
    unsigned char there[PAGES];
    size_t count = 0;

    assert_int_equal(mincore(from, pages * PAGE, there), 0);
    for (size_t i = 0; i < pages; i++)
        count += there[i] & 1;
    return count;
}

/* One word of `every` is not zero; every seventh page is never touched. */
static void fill(uint64_t *words, size_t pages, size_t every)
{
    for (size_t i = 0; i < pages * PAGE / sizeof *words; i++)
        if (i * sizeof *words / PAGE % 7 && i % every == 0)
            words[i] = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void pages_are_gone_and_come_back(void **state)
{
    uint64_t *words = map_pages(PAGES), *copy = map_pages(PAGES);

    (void)state;
    fill(words, PAGES, 37);
    fill(copy, PAGES, 37);
    const size_t there = count_there(words, PAGES);
    for (int again = 0; again < 2; again++) {
        fold(words, PAGES, false);
        assert_int_equal(count_there(words, PAGES), 0);
        fold_open();
        assert_true(again || count_there(words, PAGES) == there); /* reading maps the others */
        assert_memory_equal(words, copy, PAGES * PAGE);
    }
    assert_int_equal(munmap(words, PAGES * PAGE) | munmap(copy, PAGES * PAGE), 0);
}

static void what_finds_no_room_stays(void **state)
{
    uint64_t *words = map_pages(PAGES), *copy = map_pages(PAGES);

    (void)state;
    fill(words, PAGES, 1);
    fill(copy, PAGES, 1);
    fold(words, PAGES, false);
    const size_t left = count_there(words, PAGES);
    assert_in_range(left, 1, PAGES - 100);
    assert_memory_equal(words + (PAGES - 1) * PAGE / sizeof *words,
                        copy + (PAGES - 1) * PAGE / sizeof *copy, PAGE);
    fold_open();
    assert_memory_equal(words, copy, PAGES * PAGE);
    assert_int_equal(munmap(words, PAGES * PAGE) | munmap(copy, PAGES * PAGE), 0);
}

/* A page of a file that was given back is the file's, and its zeros are not what was there. */
static void pages_of_a_file_keep_their_zeros(void **state)
{
    char text[2 * PAGE];
    FILE *f = tmpfile();

    (void)state;
    assert_non_null(f);
    memset(text, 'x', sizeof text);
    assert_int_equal(fwrite(text, 1, sizeof text, f), sizeof text);
    assert_int_equal(fflush(f), 0);
    char *own = mmap(NULL, sizeof text, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(f), 0);
    assert_ptr_not_equal(own, MAP_FAILED);
    memset(own + 100, 0, 4000);
    own[4097] = 'y';
    memcpy(text, own, sizeof text);
    fold(own, 2, true);
    assert_int_equal(own[200], 'x');
    fold_open();
    assert_memory_equal(own, text, sizeof text);
    assert_int_equal(munmap(own, sizeof text), 0);
    (void)fclose(f);
}

static void the_store_has_pages_of_its_own(void **state)
{
    uintptr_t from, to;

    (void)state;
    fold_place(&from, &to);
    assert_int_equal(from % PAGE, 0);
    assert_int_equal(to % PAGE, 0);
    assert_true(from < to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_gone_and_come_back),
        cmocka_unit_test(what_finds_no_room_stays),
        cmocka_unit_test(pages_of_a_file_keep_their_zeros),
        cmocka_unit_test(the_store_has_pages_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
