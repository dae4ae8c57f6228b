#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/object.h"
#include "store/test_kind.h"

static const char www[] = "{\"apiVersion\":\"test.example.org/v1\",\"kind\":\"Thing\","
                          "\"metadata\":{\"name\":\"www\",\"namespace\":\"shop\","
                          "\"uid\":\"12345678-9abc-4def-8123-456789abcdef\","
                          "\"resourceVersion\":\"42\",\"generation\":3,"
                          "\"creationTimestamp\":\"2025-12-30T10:00:00Z\","
                          "\"finalizers\":[\"other/one\",\"test.example.org/finalizer\"],"
                          "\"annotations\":{\"test.example.org/claims\":\"[1]\"}},"
                          "\"spec\":{\"value\":\"10.0.0.1\",\"size\":7}}";

static struct value *read_json(struct arena *arena, const char *json)
{
    struct error err = {0};
    struct value *tree = value_read_json(arena, text_of(json), &value_manifest_limits, &err);
    assert_string_equal(err.text, "");
    return tree;
}

static struct object *make(const char *json)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    return object_new(&thing_kind, TEST_FINALIZER, read_json(arena, json));
}

static struct object *make_with(const char *path, const char *json)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct value *tree = read_json(arena, www);
    value_set(tree, text_of(path), read_json(arena, json));
    return object_new(&thing_kind, TEST_FINALIZER, tree);
}

static void object_holds_metadata_and_bodies(void **state)
{
    (void)state;
    struct object *object = make(www);
    assert_true(text_is(object_namespace(object), "shop"));
    assert_true(text_is(object_name(object), "www"));
    assert_true(text_is(object_version(object), "42"));
    assert_int_equal(object->generation, 3);
    assert_int_equal(object->created_s, 1767088800);
    assert_int_equal(object->deleted_s, 0);
    assert_true(object->has_finalizer);
    struct pack_reader spec = pack_open(object_spec(object));
    assert_true(text_is(unpack_text(&spec), "10.0.0.1"));
    assert_int_equal(unpack_signed(&spec), 7);
    struct pack_reader ours = pack_open_behind(object_spec(object), object_managed(object));
    assert_true(text_is(unpack_text(&ours), "[1]"));
    uint64_t version;
    assert_true(object_version_number(object, &version));
    assert_int_equal(version, 42);
    object_unref(object);
}

static void uid_reads_back_as_it_was(void **state)
{
    (void)state;
    struct object *object = make(www);
    char uid[37];
    object_write_uid(object, uid);
    assert_string_equal(uid, "12345678-9abc-4def-8123-456789abcdef");
    object_unref(object);
}

static void owner_references_name_the_owner(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER out = {0};
    struct object *object = make(www);
    value_write_json(&out, object_owner_references(arena, object, true));
    buffer_add_text(&out, "\n");
    value_write_json(&out, object_owner_references(arena, object, false));
    assert_string_equal(
        out.at, "[{\"apiVersion\":\"test.example.org/v1\",\"controller\":true,\"kind\":\"Thing\","
                "\"name\":\"www\",\"uid\":\"12345678-9abc-4def-8123-456789abcdef\"}]\n"
                "[{\"apiVersion\":\"test.example.org/v1\",\"kind\":\"Thing\","
                "\"name\":\"www\",\"uid\":\"12345678-9abc-4def-8123-456789abcdef\"}]");
    object_unref(object);
}

static void uid_that_is_no_uuid_is_told_from_others(void **state)
{
    (void)state;
    uint8_t a[16], b[16], none[16];
    object_uid_parse(TEXT("static-pod-a"), a);
    object_uid_parse(TEXT("static-pod-b"), b);
    object_uid_parse((struct text){0}, none);
    assert_memory_not_equal(a, b, 16);
    assert_memory_equal(none, (uint8_t[16]){0}, 16);
}

static void status_does_not_change_the_spec_hash(void **state)
{
    (void)state;
    struct object *bare = make(www);
    struct object *with = make_with("status", "{\"state\":\"Created\"}");
    assert_true(object_spec_hash(bare) == object_spec_hash(with));
    assert_false(content_id_equal(bare->status_id, with->status_id));
    object_unref(bare);
    object_unref(with);
}

static void foreign_status_fields_are_marked_and_left_out_of_the_hash(void **state)
{
    (void)state;
    struct object *own = make_with("status", "{\"state\":\"Created\"}");
    struct object *mixed = make_with("status", "{\"theirs\":1,\"state\":\"Created\"}");
    assert_false(own->has_foreign_status);
    assert_true(mixed->has_foreign_status);
    assert_true(content_id_equal(own->status_id, mixed->status_id));
    object_unref(own);
    object_unref(mixed);
}

static void foreign_conditions_are_marked_and_left_out_of_the_hash(void **state)
{
    (void)state;
    struct object *own = make_with("status", "{\"conditions\":[{\"type\":\"Ready\"}]}");
    struct object *mixed =
        make_with("status", "{\"conditions\":[{\"type\":\"Theirs\"},{\"type\":\"Ready\"}]}");
    assert_true(mixed->has_foreign_status);
    assert_true(content_id_equal(own->status_id, mixed->status_id));
    object_unref(own);
    object_unref(mixed);
}

static void status_that_is_no_map_counts_as_none(void **state)
{
    (void)state;
    struct object *bare = make(www);
    struct object *odd = make_with("status", "[1,2]");
    assert_true(content_id_equal(bare->status_id, odd->status_id));
    assert_false(odd->has_foreign_status);
    object_unref(bare);
    object_unref(odd);
}

static void age_decides_before_names(void **state)
{
    (void)state;
    struct object *old = make("{\"metadata\":{\"name\":\"b\",\"namespace\":\"x\","
                              "\"creationTimestamp\":\"2025-01-01T00:00:00Z\"}}");
    struct object *young = make("{\"metadata\":{\"name\":\"a\",\"namespace\":\"x\","
                                "\"creationTimestamp\":\"2025-01-01T00:00:01Z\"}}");
    struct object *twin = make("{\"metadata\":{\"name\":\"b\",\"namespace\":\"y\","
                               "\"creationTimestamp\":\"2025-01-01T00:00:00Z\"}}");
    assert_true(object_compare_age(old, young) < 0);
    assert_true(object_compare_age(young, old) > 0);
    assert_true(object_compare_age(old, twin) < 0);
    assert_int_equal(object_compare_age(old, old), 0);
    object_unref(old);
    object_unref(young);
    object_unref(twin);
}

static void name_of_cluster_scoped_object_stands_alone(void **state)
{
    (void)state;
    struct object *object = make("{\"metadata\":{\"name\":\"home\"}}");
    struct object *namespaced = make(www);
    AUTO_BUFFER out = {0};
    object_write_name(&out, object);
    assert_string_equal(out.at, "home");
    buffer_clear(&out);
    object_write_name(&out, namespaced);
    assert_string_equal(out.at, "shop/www");
    object_unref(object);
    object_unref(namespaced);
}

static void typical_object_takes_less_than_250_octets(void **state)
{
    (void)state;
    struct object *object = make(www);
    assert_true(object_octets(object) < 250);
    object_unref(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(object_holds_metadata_and_bodies),
        cmocka_unit_test(uid_reads_back_as_it_was),
        cmocka_unit_test(owner_references_name_the_owner),
        cmocka_unit_test(uid_that_is_no_uuid_is_told_from_others),
        cmocka_unit_test(status_does_not_change_the_spec_hash),
        cmocka_unit_test(foreign_status_fields_are_marked_and_left_out_of_the_hash),
        cmocka_unit_test(foreign_conditions_are_marked_and_left_out_of_the_hash),
        cmocka_unit_test(status_that_is_no_map_counts_as_none),
        cmocka_unit_test(age_decides_before_names),
        cmocka_unit_test(name_of_cluster_scoped_object_stands_alone),
        cmocka_unit_test(typical_object_takes_less_than_250_octets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
