#include "kinds/configmap/configmap_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_arena.h"

static struct config_map map_of(const char *json)
{
    struct config_map map;
    config_map_unpack(arena, spec_body_of(&config_map_kind, json), &map);
    return map;
}

static void annotations_and_data_are_kept(void **state)
{
    (void)state;
    struct config_map map = map_of(
        "{'metadata':{'labels':{'x':'y','dns.operator.openshift.io/owning-dns':'default'},"
        "'annotations':{'dns.homelab.mortenolsen.pro/config-id':'7123ad3aa85b6c10','a':'b'}},"
        "'data':{'Corefile':'. {\\n}\\n','empty':''},'binaryData':{'z':'eA=='}}");
    assert_int_equal(map.annotation_count, 2);
    assert_true(text_is(config_map_annotation(&map, "dns.homelab.mortenolsen.pro/config-id"),
                        "7123ad3aa85b6c10"));
    assert_null(config_map_annotation(&map, "Corefile").at);
    assert_int_equal(map.data_count, 2);
    assert_true(text_is(config_map_data(&map, "Corefile"), ". {\n}\n"));
    assert_non_null(config_map_data(&map, "empty").at);
    assert_null(config_map_data(&map, "z").at);
}

static void an_empty_object_has_nothing(void **state)
{
    (void)state;
    struct config_map map = map_of("{'metadata':{'labels':[],'annotations':7},'data':'x'}");
    assert_int_equal(map.annotation_count + map.data_count, 0);
    assert_null(config_map_data(&map, "x").at);
}

static void a_text_of_a_mebibyte_is_kept_whole(void **state)
{
    enum { LEN = 1 << 20 };
    (void)state;
    char *text = arena_new_array(arena, char, LEN + 1);
    memset(text, 'x', LEN);
    text[LEN - 1] = 'y';
    struct config_map map = map_of(arena_printf(arena, "{'data':{'a':'%s','b':'z'}}", text));
    assert_true(text_is(config_map_data(&map, "a"), text));
    assert_true(text_is(config_map_data(&map, "b"), "z"));
}

static void any_change_is_another_body(void **state)
{
    static const char *const variants[] = {
        "{'data':{'a':'b'}}",
        "{'data':{'a':'c'}}",
        "{'data':{'a':'b'},'metadata':{'annotations':{'a':'b'}}}",
        "{'data':{'a':'b'},'metadata':{'labels':{'dns.operator.openshift.io/owning-dns':'x'}}}",
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(variants); i++)
        for (size_t j = 0; j < i; j++)
            assert_false(text_equal(spec_body_of(&config_map_kind, variants[i]),
                                    spec_body_of(&config_map_kind, variants[j])));
}

static void inputs_may_select_by_its_labels(void **state)
{
    (void)state;
    struct text body = spec_body_of(&config_map_kind, "{'metadata':{'labels':{'a':'b'}}}");
    assert_true(labels_match("a=b", body));
    assert_false(labels_match("a=c", body));
}

static void a_value_that_is_no_text_is_told(void **state)
{
    (void)state;
    assert_string_equal(
        schema_errors_of(&config_map_kind,
                         quote(arena, "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':"
                                      "'a'},'data':{'port':53}}")),
        "data.port: expected text, found a number");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(annotations_and_data_are_kept),      UNIT(an_empty_object_has_nothing),
        UNIT(a_text_of_a_mebibyte_is_kept_whole), UNIT(any_change_is_another_body),
        UNIT(inputs_may_select_by_its_labels),    UNIT(a_value_that_is_no_text_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
