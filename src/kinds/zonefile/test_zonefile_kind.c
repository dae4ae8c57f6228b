#include "kinds/zonefile/zonefile_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static void unpack(const char *json, struct zonefile_spec *spec, struct zonefile_status *status)
{
    struct bodies bodies = bodies_of(&zonefile_kind, quote(arena, json));
    zonefile_unpack(arena, bodies.spec, bodies.ours, spec, status);
}

static void the_config_map_has_the_name_of_the_object_when_not_given(void **state)
{
    (void)state;
    struct zonefile_spec spec;
    struct zonefile_status status;
    unpack("{'metadata':{'name':'zf'},'spec':{'configMapName':null,'zoneRefs':[{'name':'a'},"
           "{'name':'b','namespace':'dns'}]}}",
           &spec, &status);
    assert_true(text_is(spec.config_map, "zf"));
    assert_int_equal(spec.zone_count, 2);
    assert_null(spec.zones[0].namespace_.at);
    assert_true(text_is(spec.zones[1].namespace_, "dns"));
    assert_int_equal(status.zone_count, 0);
    unpack("{'metadata':{'name':'zf'},'spec':{'configMapName':'other','zoneRefs':[]}}", &spec,
           NULL);
    assert_true(text_is(spec.config_map, "other"));
}

static void a_status_survives_packing(void **state)
{
    (void)state;
    struct zonefile_spec spec;
    struct zonefile_status status;
    unpack("{'metadata':{'name':'zf'},'spec':{'zoneRefs':[]},'status':{"
           "'hash':{'a.':'1','b.':'2','c.':'3','d.':4,'e.':'5'},"
           "'serial':{'b.':4294967295,'a.':0,'c.':4294967296,'d.':1},'observedGeneration':4,"
           "'conditions':[{'type':'Ready','status':'True','reason':'Written','message':'',"
           "'lastTransitionTime':'2025-12-30T10:00:00Z'}]}}",
           &spec, &status);
    assert_int_equal(conditions_find(&status.conditions, "Ready")->reason, REASON_WRITTEN);
    status.conditions.count = 0;
    assert_string_equal(json_of(zonefile_status_encode(arena, &status)),
                        "{\"hash\":{\"a.\":\"1\",\"b.\":\"2\"},"
                        "\"serial\":{\"a.\":0,\"b.\":4294967295},"
                        "\"observedGeneration\":4,\"conditions\":[]}");
}

static void a_status_has_both_maps_also_when_they_are_empty(void **state)
{
    (void)state;
    const struct zonefile_status status = {.observed_generation = 1};
    assert_string_equal(json_of(zonefile_status_encode(arena, &status)),
                        "{\"hash\":{},\"serial\":{},\"observedGeneration\":1,\"conditions\":[]}");
}

static void the_crd_has_maps_of_texts_and_of_numbers(void **state)
{
    (void)state;
    AUTO_BUFFER crd = {0};
    kind_write_crd(&crd, &zonefile_kind);
    const char *serial = strstr(crd.at, "\"serial\":");
    if (!serial)
        serial = strstr(crd.at, "serial:");
    assert_non_null(serial);
    assert_non_null(strstr(serial, "additionalProperties"));
    assert_non_null(strstr(serial, "format: int64"));
    assert_non_null(strstr(crd.at, "zoneRefs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_config_map_has_the_name_of_the_object_when_not_given),
        UNIT(a_status_survives_packing),
        UNIT(a_status_has_both_maps_also_when_they_are_empty),
        UNIT(the_crd_has_maps_of_texts_and_of_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
