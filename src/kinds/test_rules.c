#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/group.h"
#include "kinds/kinds.h"

// What the CEL environment of Kubernetes 1.30 knows, of that which rules of ours use. Newer servers
// compile new rules against the library of the minor before, so isIP() and its like wait for 1.32.
static const char *const known[] = {"has",      "size",     "all",       "exists",
                                    "matches",  "replace",  "split",     "lowerAscii",
                                    "contains", "endsWith", "startsWith"};

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_known(struct text name)
{
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (text_is(name, known[i]))
            return true;
    return false;
}

// Behind the string literal that begins at `at`; raw ones are the only ones with backslashes.
static const char *behind_literal(const char *at)
{
    const char *end = strchr(at + 1, '\'');
    assert_non_null(end);
    return end + 1;
}

static const char *check_word(const char *at)
{
    const char *end = at;
    while (is_word_char(*end))
        end++;
    struct text word = {at, (size_t)(end - at)};
    if (*end == '(' && !text_is(word, "in") && !is_known(word))
        fail_msg("%.*s() is not in the library of Kubernetes 1.30, or not in this test's list",
                 TEXT_ARGS(word));
    return end;
}

static void check_rule(const char *rule)
{
    for (const char *at = rule; *at;) {
        if (*at == '\'')
            at = behind_literal(at);
        else if (is_word_char(*at))
            at = check_word(at);
        else
            at++;
    }
}

static void rules_call_only_functions_that_the_oldest_server_knows(void **state)
{
    size_t count = 0;
    (void)state;
    for (size_t i = 0; i < kind_count; i++)
        for (size_t j = 0; j < kinds[i]->rule_count; j++, count++)
            check_rule(kinds[i]->rules[j].rule);
    assert_true(count > 10);
}

static void rules_stand_on_maps_that_the_table_has(void **state)
{
    (void)state;
    for (size_t i = 0; i < kind_count; i++) {
        for (size_t j = 0; j < kinds[i]->rule_count; j++) {
            const char *path = kinds[i]->rules[j].path;
            const struct field *row = *path ? kind_find_field(kinds[i], path) : NULL;
            assert_true(!*path || (row && row->type == FIELD_MAP));
        }
    }
}

static void texts_and_lists_of_our_kinds_have_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < kind_count; i++) {
        for (size_t j = 0; j < kinds[i]->field_count; j++) {
            const struct field *row = &kinds[i]->fields[j];
            bool grows =
                row->type == FIELD_TEXT || row->type == FIELD_LIST || row->type == FIELD_TEXT_MAP;
            if (grows && !kinds[i]->is_foreign && !kinds[i]->is_lenient)
                assert_true(kind_field_max(kinds[i], row) != INT64_MAX);
        }
    }
}

// Those of the lenient kinds are their predecessor's, and tested with them.
static void conditions_are_a_list_map_and_only_one_default_is_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < kind_count; i++) {
        const struct field *row = kind_find_field(kinds[i], "status.conditions");
        assert_true(!kinds[i]->has_status || (row && row->list_key));
        for (size_t j = 0; j < kinds[i]->field_count; j++) {
            const struct field *field = &kinds[i]->fields[j];
            if (field->fallback && !kinds[i]->is_lenient)
                assert_string_equal(field->path, "spec.hmacAuth.algorithm");
        }
    }
}

// A word of another API would show or delete its objects together with ours, or ours with its:
// "dns" is the singular of a resource of OpenShift's.
static void our_kinds_stand_in_a_category_of_our_own_name_or_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < kind_count; i++) {
        const char *const *categories = kinds[i]->categories;
        bool is_of_ours = !strcmp(kinds[i]->group, DNS_GROUP);
        if (kinds[i]->is_foreign)
            continue;
        if (!is_of_ours) {
            assert_null(categories);
            continue;
        }
        assert_non_null(categories);
        assert_string_equal(categories[0], "signpost");
        assert_null(categories[1]);
    }
}

// `signpost status` shows the objects that have one of ours, or that we give advice on.
static void only_kinds_that_status_shows_have_a_summary(void **state)
{
    (void)state;
    for (size_t i = 0; i < kind_count; i++)
        assert_true(!kinds[i]->write_summary || kinds[i]->has_status || kinds[i]->advised);
}

// An API server shows the first of many values alone, as if there were no other.
static void a_column_has_one_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < kind_count; i++)
        for (size_t j = 0; j < kinds[i]->column_count; j++)
            assert_null(strstr(kinds[i]->columns[j].json_path, "[*]"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_call_only_functions_that_the_oldest_server_knows),
        cmocka_unit_test(rules_stand_on_maps_that_the_table_has),
        cmocka_unit_test(texts_and_lists_of_our_kinds_have_bounds),
        cmocka_unit_test(conditions_are_a_list_map_and_only_one_default_is_stored),
        cmocka_unit_test(our_kinds_stand_in_a_category_of_our_own_name_or_none),
        cmocka_unit_test(a_column_has_one_value),
        cmocka_unit_test(only_kinds_that_status_shows_have_a_summary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
