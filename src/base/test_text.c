#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void absent_and_empty_texts_are_equal_in_content(void **state)
{
    (void)state;
    assert_null(text_of(NULL).at);
    assert_non_null(text_of("").at);
    assert_true(text_equal(text_of(NULL), TEXT("")));
    assert_true(text_is(TEXT("ns1"), "ns1"));
    assert_false(text_is(TEXT("ns1"), "ns"));
}

static void ascii_case_is_ignored_where_asked(void **state)
{
    (void)state;
    assert_true(text_equal_nocase(TEXT("Example.ORG"), TEXT("eXAMPLE.org")));
    assert_false(text_equal_nocase(TEXT("[a"), TEXT("{a")));
    assert_false(text_equal_nocase(TEXT("\xc3\x84"), TEXT("\xc3\xa4")));
    assert_false(text_equal(TEXT("A"), TEXT("a")));
}

static void prefix_sorts_first_and_octets_are_unsigned(void **state)
{
    (void)state;
    assert_int_equal(text_compare(TEXT("ab"), TEXT("abc")), -1);
    assert_int_equal(text_compare(TEXT("abc"), TEXT("ab")), 1);
    assert_int_equal(text_compare(TEXT("\xff"), TEXT("a")), 1);
    assert_int_equal(text_compare(TEXT("a"), TEXT("a")), 0);
    assert_int_equal(text_compare(text_of(NULL), TEXT("")), 0);
}

static void starts_and_ends_are_found(void **state)
{
    (void)state;
    assert_true(text_starts(TEXT("_acme"), "_"));
    assert_false(text_starts(TEXT("_"), "_a"));
    assert_true(text_starts(text_of(NULL), ""));
    assert_true(text_ends(TEXT("example.org."), "org."));
    assert_false(text_ends(TEXT("g."), "org."));
    assert_true(text_ends(text_of(NULL), ""));
}

static void cut_yields_every_piece_even_empty_ones(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", "", "b", ""};
    struct text rest = TEXT("a,,b,");
    struct text piece;
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        assert_true(text_cut(&rest, ',', &piece));
        assert_true(text_is(piece, pieces[i]));
    }
    assert_null(rest.at);
    assert_false(text_cut(&rest, ',', &piece));
}

static void cut_of_an_empty_text_is_one_empty_piece(void **state)
{
    (void)state;
    struct text rest = TEXT("");
    struct text piece;
    assert_true(text_cut(&rest, ',', &piece));
    assert_int_equal(piece.len, 0);
    assert_false(text_cut(&rest, ',', &piece));
}

static void trim_takes_blanks_at_both_ends(void **state)
{
    (void)state;
    assert_true(text_is(text_trim(TEXT(" \t\r\na b\n ")), "a b"));
    assert_true(text_is(text_trim(TEXT(" \n")), ""));
    assert_null(text_trim(text_of(NULL)).at);
}

static void integers_are_read_to_the_edge_and_no_further(void **state)
{
    (void)state;
    int64_t number = 7;
    assert_true(text_to_int64(TEXT("9223372036854775807"), &number));
    assert_true(number == INT64_MAX);
    assert_true(text_to_int64(TEXT("-9223372036854775808"), &number));
    assert_true(number == INT64_MIN);
    assert_true(text_to_int64(TEXT("007"), &number));
    assert_int_equal(number, 7);
    static const char *const wrong[] = {"",
                                        "-",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1a",
                                        "0x1",
                                        "--1",
                                        "9223372036854775808",
                                        "-9223372036854775809",
                                        "99999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(text_to_int64(text_of(wrong[i]), &number));
    assert_int_equal(number, 7);
}

static void buffer_grows_and_stays_terminated(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    assert_string_equal(buffer_text(&buffer).at, "");
    for (int i = 0; i < 1000; i++) {
        buffer_add_char(&buffer, 'x');
        assert_int_equal(buffer.at[buffer.len], '\0');
    }
    buffer_add_text(&buffer, "end");
    assert_int_equal(buffer.len, 1003);
    assert_true(text_ends(buffer_text(&buffer), "xend"));
}

static void printf_longer_than_the_room_is_complete(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    for (int width = 1; width < 200; width++) {
        buffer_clear(&buffer);
        buffer_printf(&buffer, "%0*d|", width, 7);
        assert_int_equal(buffer.len, (size_t)width + 1);
        assert_int_equal(buffer.at[width - 1], '7');
        assert_int_equal(strlen(buffer.at), buffer.len);
    }
}

static void dropped_front_leaves_the_rest(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    buffer_drop_front(&buffer, 0);
    buffer_add_text(&buffer, "one two");
    buffer_drop_front(&buffer, 4);
    assert_string_equal(buffer.at, "two");
    buffer_drop_front(&buffer, 3);
    assert_string_equal(buffer.at, "");
}

static void numbers_are_added_in_decimal(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    buffer_add_number(&buffer, 0);
    buffer_add_char(&buffer, ' ');
    buffer_add_number(&buffer, 1009);
    buffer_add_char(&buffer, ' ');
    buffer_add_number(&buffer, UINT64_MAX);
    assert_string_equal(buffer.at, "0 1009 18446744073709551615");
}

static void stolen_buffer_is_empty_and_reusable(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    autofree char *nothing = buffer_steal(&buffer);
    assert_string_equal(nothing, "");
    buffer_add_text(&buffer, "a");
    autofree char *taken = buffer_steal(&buffer);
    assert_string_equal(taken, "a");
    assert_null(buffer.at);
    buffer_add_text(&buffer, "b");
    assert_string_equal(buffer.at, "b");
}

static void utf8_is_checked_to_the_letter(void **state)
{
    (void)state;
    static const char *const right[] = {"",
                                        "plain",
                                        "\x7f",
                                        "\xc2\x80",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf"};
    static const char *const wrong[] = {
        "\x80",     "\xc0\x80",         "\xc1\xbf",         "\xc2",
        "\xc2g",    "\xe0\x9f\xbf",     "\xed\xa0\x80",     "\xed\xbf\xbf",
        "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80",
        "\xff"};
    for (size_t i = 0; i < COUNT_OF(right); i++)
        assert_true(utf8_is_valid(text_of(right[i])));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(utf8_is_valid(text_of(wrong[i])));
    assert_true(utf8_is_valid(text_of(NULL)));
}

static void decode_tells_point_and_length(void **state)
{
    (void)state;
    uint32_t point = 0;
    assert_int_equal(utf8_decode(TEXT("\xe2\x82\xac!"), &point), 3);
    assert_int_equal(point, 0x20ac);
    assert_int_equal(utf8_decode(TEXT("\xf0\x9f\x98\x80"), &point), 4);
    assert_int_equal(point, 0x1f600);
    assert_int_equal(utf8_decode(TEXT("a"), &point), 1);
    assert_int_equal(point, 'a');
}

static void prefix_never_cuts_a_character(void **state)
{
    (void)state;
    struct text a = TEXT("a\xe2\x82\xac"
                         "b");
    static const size_t lens[] = {0, 1, 1, 1, 4, 5, 5};
    for (size_t limit = 0; limit < COUNT_OF(lens); limit++)
        assert_int_equal(utf8_prefix(a, limit).len, lens[limit]);
    assert_int_equal(utf8_prefix(TEXT("\x80\x80\x80\x80\x80\x80"), 5).len, 5);
}

static void check_clean(const char *foreign, size_t limit, const char *expected)
{
    AUTO_BUFFER out = {0};
    text_clean(&out, text_of(foreign), limit);
    assert_string_equal(buffer_text(&out).at, expected);
    char fixed[64];
    assert_int_equal(text_clean_into(fixed, limit + 1, text_of(foreign)), strlen(expected));
    assert_string_equal(fixed, expected);
}

static void clean_text_has_nothing_a_terminal_obeys(void **state)
{
    (void)state;
    check_clean("a\x1b[31mb", 40, "a [31mb");
    check_clean("a\r\n\tb", 40, "a b");
    check_clean("a\xc2\x9b"
                "b\x7f",
                40, "a b ");
    check_clean("a\xe2\x80\xae"
                "b",
                40, "a b");
    check_clean("a\xff"
                "b",
                40,
                "a\xef\xbf\xbd"
                "b");
    check_clean("\xc3\xa4\xe2\x82\xac", 40, "\xc3\xa4\xe2\x82\xac");
}

static void clean_text_is_cut_between_characters(void **state)
{
    (void)state;
    check_clean("abc", 2, "ab");
    check_clean("ab\xe2\x82\xac", 4, "ab");
    check_clean("ab\xe2\x82\xac", 5, "ab\xe2\x82\xac");
    check_clean("ab\xff", 4, "ab");
    check_clean("ab", 0, "");
}

static void nearest_word_is_suggested(void **state)
{
    (void)state;
    static const char *const words[] = {"ttl", "type", "values", "domain", "targetRef"};
    static const struct {
        const char *wrong;
        const char *nearest;
    } rows[] = {{"tpye", "type"},     {"tll", "ttl"},   {"TTL", "ttl"},
                {"vlaues", "values"}, {"target", NULL}, {"domian", "domain"},
                {"", NULL},           {"xyzzy", NULL},  {"targetRefs", "targetRef"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *found = text_nearest(text_of(rows[i].wrong), words, COUNT_OF(words));
        if (rows[i].nearest)
            assert_string_equal(found ? found : "(none)", rows[i].nearest);
        else
            assert_null(found);
    }
}

static void overlong_words_have_no_nearest(void **state)
{
    (void)state;
    char wide[100];
    memset(wide, 'a', sizeof wide);
    const char *const words[] = {"a"};
    assert_null(text_nearest((struct text){wide, sizeof wide}, words, 1));
}

static void the_plain_part_of_a_json_string_ends_at_quotes_backslashes_and_controls(void **state)
{
    (void)state;
    char text[33];
    for (int c = 0; c < 256; c++) {
        bool is_plain = c >= 0x20 && c != '"' && c != '\\';
        for (size_t at = 0; at < 32; at++) {
            memset(text, 'x', 32);
            text[at] = (char)c;
            assert_ptr_equal(json_plain_end(text, text + 32), text + (is_plain ? 32 : at));
            assert_ptr_equal(json_plain_end(text, text + at), text + at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_plain_part_of_a_json_string_ends_at_quotes_backslashes_and_controls),
        cmocka_unit_test(absent_and_empty_texts_are_equal_in_content),
        cmocka_unit_test(ascii_case_is_ignored_where_asked),
        cmocka_unit_test(prefix_sorts_first_and_octets_are_unsigned),
        cmocka_unit_test(starts_and_ends_are_found),
        cmocka_unit_test(cut_yields_every_piece_even_empty_ones),
        cmocka_unit_test(cut_of_an_empty_text_is_one_empty_piece),
        cmocka_unit_test(trim_takes_blanks_at_both_ends),
        cmocka_unit_test(integers_are_read_to_the_edge_and_no_further),
        cmocka_unit_test(buffer_grows_and_stays_terminated),
        cmocka_unit_test(printf_longer_than_the_room_is_complete),
        cmocka_unit_test(dropped_front_leaves_the_rest),
        cmocka_unit_test(numbers_are_added_in_decimal),
        cmocka_unit_test(stolen_buffer_is_empty_and_reusable),
        cmocka_unit_test(utf8_is_checked_to_the_letter),
        cmocka_unit_test(decode_tells_point_and_length),
        cmocka_unit_test(prefix_never_cuts_a_character),
        cmocka_unit_test(clean_text_has_nothing_a_terminal_obeys),
        cmocka_unit_test(clean_text_is_cut_between_characters),
        cmocka_unit_test(nearest_word_is_suggested),
        cmocka_unit_test(overlong_words_have_no_nearest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
