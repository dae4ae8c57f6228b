#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/dname_pattern.h"

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

static struct dname_pattern pattern_of(const char *text)
{
    struct dname_pattern pattern;
    struct error err = {0};
    if (!dname_pattern_read(text_of(text), shop, &pattern, &err))
        fail_msg("'%s' was refused: %s", text, err.text);
    return pattern;
}

static struct dname name_of(const char *text, uint8_t octets[DNAME_MAX])
{
    struct dname name = {0};
    assert_true(dname_read(text_of(text), &shop, DNAME_OF_OBJECT, octets, &name, NULL));
    return name;
}

static bool matches(const char *pattern_text, const char *name)
{
    uint8_t octets[DNAME_MAX];
    struct dname_pattern pattern = pattern_of(pattern_text);
    return dname_pattern_matches(&pattern, name_of(name, octets));
}

static bool matches_loosely(const char *pattern_text, const char *name)
{
    uint8_t octets[DNAME_MAX];
    struct dname_pattern pattern = pattern_of(pattern_text);
    return dname_pattern_matches_loosely(&pattern, name_of(name, octets));
}

struct row {
    const char *pattern;
    const char *name;
    bool is_met;
};

static void labels_are_compared_from_right_to_left_all_of_them(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"www", "www", true},
        {"www", "WWW", true},
        {"www", "a.www", false},
        {"www", "@", false},
        {"www.shop.example.", "www", true},
        {"a.b", "a.b", true},
        {"a.b", "b", false},
        {"*", "www", true},
        {"*", "a.b.c", true},
        {"*", "*", true},
        {"*", "@", false},
        {"*.a", "b.a", true},
        {"*.a", "c.b.a", true},
        {"*.a", "a", false},
        {"_acme-challenge.*", "_acme-challenge.www", true},
        {"_acme-challenge.*", "_acme-challenge.a.b", false},
        {"_acme-challenge.*", "www.b", false},
        {"_acme-challenge.*", "_acme-challenge", false},
        {"@", "@", true},
        {"@", "www", false},
        {"www.@", "www", true},
        {"*", "www.other.example.", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (matches(rows[i].pattern, rows[i].name) != rows[i].is_met)
            fail_msg("%s and %s", rows[i].pattern, rows[i].name);
}

static void an_asterisk_within_a_label_stands_for_octets_of_that_label(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"app-*", "app-1", true},    {"app-*", "app-", true}, {"app-*", "app", false},
        {"app-*", "x.app-1", false}, {"*-eu", "a-eu", true},  {"*-eu", "b.a-eu", false},
        {"a*b", "ab", true},         {"a*b", "axb", true},    {"a*b", "axc", false},
        {"ab*ba", "aba", false},     {"ab*ba", "abba", true}, {"x.app-*", "x.app-7", true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (matches(rows[i].pattern, rows[i].name) != rows[i].is_met)
            fail_msg("%s and %s", rows[i].pattern, rows[i].name);
}

static void what_was_hardly_meant_is_marked(void **state)
{
    (void)state;
    assert_true(pattern_of("www.other.example.").is_outside);
    assert_true(pattern_of("*.example.").is_outside);
    assert_false(pattern_of("www.shop.example.").is_outside);
    assert_false(pattern_of("www").is_outside);
    assert_true(pattern_of("www.shop.example").looks_absolute);
    assert_true(pattern_of("shop.example").looks_absolute);
    assert_false(pattern_of("www.shop.example.").looks_absolute);
    assert_false(pattern_of("example").looks_absolute);
    assert_false(pattern_of("@").looks_absolute);
}

static void what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    struct dname_pattern pattern;
    struct error err;
    assert_false(dname_pattern_read(TEXT("*a*"), shop, &pattern, &err));
    assert_string_equal(err.text, "patterns can only have one wildcard");
    assert_false(dname_pattern_read(TEXT("a..b"), shop, &pattern, &err));
    assert_string_equal(err.text, "segment is an empty string");
}

static void the_loose_reading_ends_at_the_last_asterisk(void **state)
{
    (void)state;
    assert_true(matches_loosely("_acme-challenge.*", "www.b"));
    assert_true(matches_loosely("_acme-challenge.*", "b"));
    assert_true(matches_loosely("*", "a.b"));
    assert_false(matches_loosely("*", "@"));
    assert_false(matches_loosely("*.a", "b"));
    assert_true(matches_loosely("app-*", "app-1"));
    assert_false(matches_loosely("app-*", "x.app-1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_are_compared_from_right_to_left_all_of_them),
        cmocka_unit_test(an_asterisk_within_a_label_stands_for_octets_of_that_label),
        cmocka_unit_test(what_was_hardly_meant_is_marked),
        cmocka_unit_test(what_cannot_be_read_is_refused),
        cmocka_unit_test(the_loose_reading_ends_at_the_last_asterisk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
