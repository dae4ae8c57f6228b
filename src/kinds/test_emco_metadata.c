#include "kinds/emco_metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

#define NAMED(own, name)                                                                           \
    "{'metadata':{'name':'" own "','annotations':{'dns.homelab.mortenolsen.pro/name':'" name "'}}" \
    "}"

static const struct text coordinates[] = {TEXT("webshop"), TEXT("v1")};

static const char *name_fault(const char *json, size_t count)
{
    struct findings findings = {.arena = arena};
    emco_check_name(quote(arena, json), coordinates, count, &findings);
    return findings_join(&findings, FINDING_ERROR);
}

static void an_object_is_called_what_its_name_becomes(void **state)
{
    (void)state;
    assert_null(name_fault("{'metadata':{'name':'public-dns'}}", 0));
    assert_null(name_fault(NAMED("a-b-c-cec53d90", "A_b.C"), 0));
    assert_null(name_fault("{'metadata':{'generateName':'a-'}}", 0));
    assert_string_equal(name_fault(NAMED("a-b-c", "A_b.C"), 0),
                        "metadata.name: must be a-b-c-cec53d90, with A_b.C in annotation "
                        "dns.homelab.mortenolsen.pro/name");
    assert_non_null(name_fault("{'metadata':{'name':'a.b'}}", 0));
    assert_string_equal(name_fault(NAMED("a-b", "a/b"), 0),
                        "metadata.annotations[dns.homelab.mortenolsen.pro/name]: must be 1 to 128 "
                        "letters, digits, - _ or . with a letter or digit at both ends");
}

static void a_name_that_another_has_gets_its_coordinates_hash(void **state)
{
    (void)state;
    const char *below = emco_object_name_below(arena, coordinates, 2, TEXT("dig-1"));
    const char *json = arena_printf(arena, NAMED("%s", "dig-1"), below);
    assert_true(text_starts(text_of(below), "dig-1-"));
    assert_null(name_fault(json, 2));
    assert_non_null(name_fault(json, 1));
    assert_null(name_fault("{'metadata':{'name':'dig-1'}}", 2));
}

static void texts_for_people_are_read_from_the_spec(void **state)
{
    (void)state;
    struct emco_metadata metadata = emco_object_metadata(
        quote(arena, "{'metadata':{'name':'a'},'spec':{'description':'d','userData1':'1',"
                     "'userData2':7,'extra':{'level':'1'}}}"));
    assert_true(text_is(metadata.name, "a"));
    assert_true(text_is(metadata.description, "d"));
    assert_true(text_is(metadata.user_data1, "1"));
    assert_null(metadata.user_data2.at);
    assert_true(text_is(value_text_at(metadata.tree, "extra.level"), "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(an_object_is_called_what_its_name_becomes),
        UNIT(a_name_that_another_has_gets_its_coordinates_hash),
        UNIT(texts_for_people_are_read_from_the_spec),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
