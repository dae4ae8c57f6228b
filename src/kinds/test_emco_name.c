#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/emco_name.h"
#include "kinds/test_quote.h"

static void check_slug(const char *text, size_t limit, const char *slug)
{
    AUTO_BUFFER out = {0};
    buffer_add_text(&out, "front-");
    emco_slug_write(&out, text_of(text), limit);
    assert_string_equal(out.at + strlen("front-"), slug);
}

static void check_hash(size_t digits, const struct text *components, size_t count,
                       const char *expected)
{
    AUTO_BUFFER out = {0};
    emco_hash_write(&out, digits, components, count);
    assert_string_equal(out.at, expected);
}

static void a_name_begins_and_ends_with_a_letter_or_digit(void **state)
{
    (void)state;
    char longest[EMCO_NAME_MAX + 1];
    memset(longest, 'a', sizeof longest);
    assert_true(emco_name_is_valid(TEXT("7")));
    assert_true(emco_name_is_valid(TEXT("Edge_Shop-1.b")));
    assert_true(emco_name_is_valid((struct text){longest, EMCO_NAME_MAX}));
    assert_false(emco_name_is_valid((struct text){longest, EMCO_NAME_MAX + 1}));
    assert_false(emco_name_is_valid(TEXT("")));
    assert_false(emco_name_is_valid(TEXT("-a")));
    assert_false(emco_name_is_valid(TEXT("a.")));
    assert_false(emco_name_is_valid(TEXT("a/b")));
    assert_false(emco_name_is_valid(TEXT("\xc3\xa4")));
}

static void a_slug_has_one_dash_for_each_run_of_other_characters(void **state)
{
    (void)state;
    check_slug("A_b.C", 63, "a-b-c");
    check_slug("__Web  Front__", 63, "web-front");
    check_slug("web-front", 4, "web");
    check_slug("web-front", 5, "web-f");
    check_slug("...", 63, "x");
    check_slug("", 63, "x");
    check_slug("\xc3\xa4pfel", 63, "pfel");
}

static void a_hash_has_a_line_feed_behind_each_component(void **state)
{
    (void)state;
    const struct text record[] = {TEXT("edge-shop"), TEXT("public-dns"), TEXT("1a2b3c4d")};
    const struct text endpoint[] = {TEXT("edge-shop"),  TEXT("webshop"), TEXT("v1"),
                                    TEXT("dig-1"),      TEXT("traffic"), TEXT("front-in"),
                                    TEXT("public-dns"), TEXT(""),        TEXT("")};
    check_hash(64, record, 2, "b4bbad42346c4884afbc455c431e2a644c6dce423c0a0521d8307fa5609a8458");
    check_hash(8, record, 3, "b11d8e2a");
    check_hash(10, record, 1, "02af0fbf8f");
    check_hash(10, endpoint, 4, "f475c5fcea");
    check_hash(8, endpoint, 9, "ae44a74a");
}

static void an_object_has_the_name_itself_if_it_is_a_label(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    char name[EMCO_NAME_MAX];
    memset(name, 'a', sizeof name);
    assert_string_equal(emco_object_name(arena, TEXT("public-dns")), "public-dns");
    assert_string_equal(emco_object_name(arena, TEXT("A_b.C")), "a-b-c-cec53d90");
    assert_int_equal(strlen(emco_object_name(arena, (struct text){name, 63})), 63);
    assert_null(strchr(emco_object_name(arena, (struct text){name, 63}), '-'));
    const char *cut = emco_object_name(arena, (struct text){name, 64});
    assert_int_equal(strlen(cut), 63);
    assert_int_equal(cut[54], '-');
}

static void an_annotation_tells_the_name_of_an_object_that_has_another(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *plain = quote(arena, "{'metadata':{'name':'public-dns'}}");
    const struct value *other = quote(arena, "{'metadata':{'name':'a-b-c-cec53d90','annotations':"
                                             "{'dns.homelab.mortenolsen.pro/name':'A_b.C'}}}");
    assert_true(text_is(emco_name_of(plain), "public-dns"));
    assert_true(text_is(emco_name_of(other), "A_b.C"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_begins_and_ends_with_a_letter_or_digit),
        cmocka_unit_test(a_slug_has_one_dash_for_each_run_of_other_characters),
        cmocka_unit_test(a_hash_has_a_line_feed_behind_each_component),
        cmocka_unit_test(an_object_has_the_name_itself_if_it_is_a_label),
        cmocka_unit_test(an_annotation_tells_the_name_of_an_object_that_has_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
