#include "base/pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void numbers_come_back_at_every_edge(void **state)
{
    (void)state;
    static const uint64_t numbers[] = {
        0, 1, 127, 128, 16383, 16384, 255, UINT32_MAX, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
    struct pack_writer writer;
    pack_init(&writer);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        pack_number(&writer, numbers[i]);
    struct pack_reader reader = pack_open(buffer_text(&writer.out));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        assert_true(unpack_number(&reader) == numbers[i]);
    assert_int_equal(reader.at, writer.out.len);
    pack_done(&writer);
}

static void signed_numbers_near_zero_are_short(void **state)
{
    (void)state;
    static const int64_t numbers[] = {0, -1, 1, -64, 63, INT64_MIN, INT64_MAX};
    struct pack_writer writer;
    pack_init(&writer);
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        pack_signed(&writer, numbers[i]);
    assert_int_equal(writer.out.len, 5 + 10 + 10);
    struct pack_reader reader = pack_open(buffer_text(&writer.out));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        assert_true(unpack_signed(&reader) == numbers[i]);
    pack_done(&writer);
}

static void absent_and_empty_texts_are_told_apart(void **state)
{
    (void)state;
    struct pack_writer writer;
    pack_init(&writer);
    pack_text(&writer, text_of(NULL));
    pack_text(&writer, TEXT(""));
    pack_text(&writer, TEXT("a"));
    struct pack_reader reader = pack_open(buffer_text(&writer.out));
    assert_null(unpack_text(&reader).at);
    struct text empty = unpack_text(&reader);
    assert_true(empty.at && empty.len == 0);
    assert_true(text_is(unpack_text(&reader), "a"));
    pack_done(&writer);
}

static void repeated_text_costs_two_octets_and_is_the_same_text(void **state)
{
    (void)state;
    struct pack_writer writer;
    pack_init(&writer);
    pack_octets(&writer, "0123456789012345678901234567890123456789012345678901234567890123", 64);
    pack_text(&writer, TEXT("shop.example.org."));
    size_t before = writer.out.len;
    pack_text(&writer, TEXT("shop.example.org."));
    assert_int_equal(writer.out.len, before + 2);
    pack_text(&writer, TEXT("shop.example.com."));
    struct pack_reader reader = pack_open(buffer_text(&writer.out));
    assert_memory_equal(unpack_octets(&reader, 64), "0123", 4);
    struct text first = unpack_text(&reader);
    struct text second = unpack_text(&reader);
    assert_ptr_equal(first.at, second.at);
    assert_true(text_is(second, "shop.example.org."));
    assert_true(text_is(unpack_text(&reader), "shop.example.com."));
    pack_done(&writer);
}

static void more_texts_than_are_remembered_come_back(void **state)
{
    (void)state;
    struct pack_writer writer;
    pack_init(&writer);
    for (int i = 0; i < 600; i++) {
        AUTO_BUFFER name = {0};
        buffer_printf(&name, "name-%d", i % 100 + i % 3);
        pack_text(&writer, buffer_text(&name));
    }
    struct pack_reader reader = pack_open(buffer_text(&writer.out));
    for (int i = 0; i < 600; i++) {
        AUTO_BUFFER name = {0};
        buffer_printf(&name, "name-%d", i % 100 + i % 3);
        assert_true(text_equal(unpack_text(&reader), buffer_text(&name)));
    }
    assert_int_equal(reader.at, writer.out.len);
    pack_done(&writer);
}

static void same_content_gives_the_same_body(void **state)
{
    (void)state;
    struct pack_writer writers[2];
    for (size_t i = 0; i < 2; i++) {
        pack_init(&writers[i]);
        pack_text(&writers[i], TEXT("web"));
        pack_number(&writers[i], 300);
        pack_text(&writers[i], TEXT("web"));
    }
    assert_true(text_equal(buffer_text(&writers[0].out), buffer_text(&writers[1].out)));
    pack_done(&writers[0]);
    pack_done(&writers[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_back_at_every_edge),
        cmocka_unit_test(signed_numbers_near_zero_are_short),
        cmocka_unit_test(absent_and_empty_texts_are_told_apart),
        cmocka_unit_test(repeated_text_costs_two_octets_and_is_the_same_text),
        cmocka_unit_test(more_texts_than_are_remembered_come_back),
        cmocka_unit_test(same_content_gives_the_same_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
