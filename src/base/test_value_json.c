#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/value.h"

static int make_arena(void **state)
{
    *state = arena_new();
    return 0;
}

static int drop_arena(void **state)
{
    arena_free(*state);
    return 0;
}

static void assert_reads(struct arena *arena, struct text json, const char *expected)
{
    struct error err = {0};
    AUTO_BUFFER out = {0};
    struct value *value = value_read_json(arena, json, &value_manifest_limits, &err);
    if (!value)
        fail_msg("%.*s: %s", TEXT_ARGS(json), err.text);
    value_write_json(&out, value);
    assert_string_equal(out.at, expected);
}

static void assert_fails(struct arena *arena, struct text json, const char *expected)
{
    struct error err = {0};
    if (value_read_json(arena, json, &value_manifest_limits, &err))
        fail_msg("%.*s was taken", TEXT_ARGS(json));
    assert_string_equal(err.text, expected);
    assert_int_equal(err.fault, FAULT_SPEC);
}

static void documents_come_back_as_they_were(void **state)
{
    static const char *const same[] = {
        "{\"a\":[1,-2,{\"b\":null}],\"c\":true,\"d\":false,\"e\":\"\",\"f\":{},\"g\":[]}",
        "123",
        "null",
        "\"x\"",
        "0.1",
        "1.7976931348623157e+308",
        "[9223372036854775807,-9223372036854775808]",
        "{\"\":1}",
        "\"\xc3\xa9\xf0\x9f\x98\x80/\x7f\"",
    };
    for (size_t i = 0; i < COUNT_OF(same); i++)
        assert_reads(*state, text_of(same[i]), same[i]);
}

static void escapes_are_decoded_and_only_needed_ones_written(void **state)
{
    assert_reads(*state, TEXT("\"\\u00e9\\ud83d\\ude00\\/\\u0041\""),
                 "\"\xc3\xa9\xf0\x9f\x98\x80/A\"");
    assert_reads(*state, TEXT("\"\\b\\t\\n\\f\\r\\\"\\\\\\u0001\\u001F\""),
                 "\"\\b\\t\\n\\f\\r\\\"\\\\\\u0001\\u001f\"");
}

static void text_keeps_its_zero_octet(void **state)
{
    struct error err;
    struct value *value =
        value_read_json(*state, TEXT("\"a\\u0000b\""), &value_manifest_limits, &err);
    assert_int_equal(value->text.len, 3);
    assert_memory_equal(value->text.at, "a\0b", 3);
    assert_fails(*state, TEXT("{\"a\\u0000b\":1}"), "1:6: a key must not contain \\u0000");
}

static void integers_beyond_int64_become_floats_and_never_wrap(void **state)
{
    assert_reads(*state, TEXT("[9223372036854775808,18446744073709551616,-9223372036854775809]"),
                 "[9.223372036854776e+18,1.8446744073709552e+19,-9.223372036854776e+18]");
    assert_reads(*state, TEXT("123456789012345678901234567890"), "1.2345678901234568e+29");
}

static void whole_numbers_are_integers_however_written(void **state)
{
    struct error err;
    struct value *value =
        value_read_json(*state, TEXT("[1e3,8.0,-0,1E+2]"), &value_manifest_limits, &err);
    value_each (item, value)
        assert_int_equal(item->type, VALUE_INT);
    assert_int_equal(value_int_at(value, "[0]", 0), 1000);
}

static void what_rfc_8259_lacks_is_refused_with_its_place(void **state)
{
    static const char *const rows[][2] = {
        {"", "1:1: the document ends too early"},
        {" \n ", "2:2: the document ends too early"},
        {"{\"a\":1", "1:7: the document ends too early"},
        {"{'a':1}", "1:2: expected a key in double quotes"},
        {"['a']", "1:2: expected a value"},
        {"[NaN]", "1:2: expected a value"},
        {"[Infinity]", "1:2: expected a value"},
        {"[-Infinity]", "1:3: expected a digit"},
        {"[tru]", "1:2: expected a value"},
        {"[TRUE]", "1:2: expected a value"},
        {"[1,]", "1:4: expected a value"},
        {"{\"a\":1,}", "1:8: expected a key in double quotes"},
        {"[01]", "1:2: a number must not start with 0"},
        {"[+1]", "1:2: expected a value"},
        {"[.5]", "1:2: expected a value"},
        {"[1.]", "1:4: expected a digit"},
        {"[1e]", "1:4: expected a digit"},
        {"[1e400]", "1:2: number out of range"},
        {"[1 2]", "1:4: expected , or ]"},
        {"{\"a\" 1}", "1:6: expected : behind the key"},
        {"{\"a\":1 \"b\":2}", "1:8: expected , or }"},
        {"[1]\n x", "2:2: nothing may follow the document"},
        {"[1] // x", "1:5: nothing may follow the document"},
        {"/* x */ 1", "1:1: expected a value"},
        {"\"a\tb\"", "1:3: a control character in text must be escaped"},
        {"\"a\\qb\"", "1:4: unknown escape behind \\"},
        {"\"\\u12g4\"", "1:4: \\u needs four hex digits"},
        {"\"\\ud800\"", "1:4: half of a surrogate pair"},
        {"\"\\ud800\\u0041\"", "1:4: half of a surrogate pair"},
        {"\"\\udc00\"", "1:4: half of a surrogate pair"},
        {"\"\xc3\xa9\xff\"", "1:3: invalid UTF-8"},
        {"\"\xed\xa0\x80\"", "1:2: invalid UTF-8"},
        {"\xef\xbb\xbf{}", "1:1: expected a value"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_fails(*state, text_of(rows[i][0]), rows[i][1]);
    assert_fails(*state, (struct text){"[1]\0", 4}, "1:4: nothing may follow the document");
}

static void duplicate_keys_are_refused_with_both_places(void **state)
{
    assert_fails(*state, TEXT("{\"a\":1,\n \"a\":2}"), "2:2: duplicate key \"a\", first at 1:2");
    assert_fails(*state, TEXT("{\"a\":1,\"\\u0061\":1}"), "1:8: duplicate key \"a\", first at 1:2");
    assert_fails(*state, TEXT("[{\"k\":{\"x\":[{}]}},{\"k\":1,\"l\":{\"k\":1},\"k\":2}]"),
                 "1:38: duplicate key \"k\", first at 1:20");
    assert_reads(*state, TEXT("[{\"a\":1},{\"a\":{\"a\":2}}]"), "[{\"a\":1},{\"a\":{\"a\":2}}]");
}

static void limits_hold_to_the_last_octet_and_level(void **state)
{
    const struct value_limits limits = {.octets = 8, .depth = 3};
    struct error err;
    assert_non_null(value_read_json(*state, TEXT("[[[ 1]]]"), &limits, &err));
    assert_null(value_read_json(*state, TEXT("[[[ 1]]] "), &limits, &err));
    assert_string_equal(err.text, "1:1: the document is larger than 8 octets");
    assert_null(value_read_json(*state, TEXT("[[[[]]]]"), &limits, &err));
    assert_string_equal(err.text, "1:4: lists and maps are nested too deep");
    const struct value_limits few = {.octets = 16, .depth = 3, .nodes = 3};
    assert_non_null(value_read_json(*state, TEXT("[1,2]"), &few, &err));
    assert_null(value_read_json(*state, TEXT("[1,2,3]"), &few, &err));
    assert_string_equal(err.text, "1:6: too many values in one document");
}

static void deepest_document_of_the_limit_is_read(void **state)
{
    AUTO_BUFFER json = {0};
    for (unsigned i = 0; i < value_manifest_limits.depth; i++)
        buffer_add_text(&json, i % 2 ? "{\"a\":" : "[");
    buffer_add_text(&json, "1");
    for (unsigned i = value_manifest_limits.depth; i-- > 0;)
        buffer_add_char(&json, i % 2 ? '}' : ']');
    assert_reads(*state, buffer_text(&json), json.at);
}

static void the_list_or_map_behind_a_passed_key_comes_out_empty(void **state)
{
    static const struct value_limits limits = {
        .octets = 1000, .depth = 3, .nodes = 10, .passed_key = "m"};
    static const struct {
        const char *json;
        const char *expected; // NULL: refused
    } rows[] = {
        {"{\"a\":{\"m\": [[[[1,\"]\\\"\"]]],{}] ,\"b\":2}}", "{\"a\":{\"m\":[],\"b\":2}}"},
        {"{\"m\":{\"x\":1},\"n\":[1]}", "{\"m\":{},\"n\":[1]}"},
        {"{\"m\":\"x\"}", "{\"m\":\"x\"}"},
        {"{\"\\u006d\":[1,]}", "{\"m\":[]}"},
        {"{\"m\":[],\"m\":[]}", NULL},
        {"{\"m\":[\"\\x\"]}", NULL},
        {"{\"m\":[\"\x01\"]}", NULL},
        {"[{\"m\":[]},{\"m\":[]},{\"m\":[]},{\"m\":[]},{\"m\":[]}]", NULL}, // too many values
        {"{\"m\":[1", NULL},
        {"{\"m\":[\"", NULL},
        {"{\"m\":", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct error err = {0};
        AUTO_BUFFER out = {0};
        struct value *value = value_read_json(*state, text_of(rows[i].json), &limits, &err);
        assert_int_equal(value != NULL, rows[i].expected != NULL);
        if (!value)
            continue;
        value_write_json(&out, value);
        assert_string_equal(out.at, rows[i].expected);
    }
}

int main(void)
{
#define row(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)
    const struct CMUnitTest tests[] = {
        row(the_list_or_map_behind_a_passed_key_comes_out_empty),
        row(documents_come_back_as_they_were),
        row(escapes_are_decoded_and_only_needed_ones_written),
        row(text_keeps_its_zero_octet),
        row(integers_beyond_int64_become_floats_and_never_wrap),
        row(whole_numbers_are_integers_however_written),
        row(what_rfc_8259_lacks_is_refused_with_its_place),
        row(duplicate_keys_are_refused_with_both_places),
        row(limits_hold_to_the_last_octet_and_level),
        row(deepest_document_of_the_limit_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
