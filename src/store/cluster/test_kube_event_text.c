#include "store/cluster/kube_event_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "store/cluster/test_kube_events_bench.h"

static const int64_t unix_us = 1767323045250000; // 2026-01-02T03:04:05.25Z

static struct kube_event note_of(const struct object *object)
{
    return (struct kube_event){
        .regarding = object, .reason = "RecordCreated", .action = "Reconcile", .text = "made"};
}

static void an_event_has_all_that_the_server_requires(void **state)
{
    (void)state;
    struct object *object = test_regarded(&thing_kind, "shop", "www");
    struct kube_event event = note_of(object);
    AUTO_BUFFER rest = {0};
    AUTO_BUFFER out = {0};
    kube_event_write_rest(&rest, &event, "test.example.org/v1", NULL, "pod-1", unix_us);
    kube_event_write(&out, TEXT("www.1"), kube_event_namespace(&event), buffer_text(&rest));
    assert_string_equal(
        out.at, "{\"apiVersion\":\"events.k8s.io/v1\",\"kind\":\"Event\",\"metadata\":{"
                "\"name\":\"www.1\",\"namespace\":\"shop\"},"
                "\"eventTime\":\"2026-01-02T03:04:05.250000Z\","
                "\"reportingController\":\"signpost\",\"reportingInstance\":\"pod-1\","
                "\"action\":\"Reconcile\",\"reason\":\"RecordCreated\",\"type\":\"Normal\","
                "\"note\":\"made\",\"regarding\":{\"apiVersion\":\"test.example.org/v1\","
                "\"kind\":\"Thing\",\"namespace\":\"shop\",\"name\":\"www\","
                "\"uid\":\"12345678-9abc-4def-8123-456789abcdef\",\"resourceVersion\":\"42\"}}");
    object_unref(object);
}

static void what_has_no_namespace_is_noted_in_default(void **state)
{
    (void)state;
    struct object *object = test_regarded(&place_kind, "", "attic");
    struct kube_event event = note_of(object);
    AUTO_BUFFER rest = {0};
    event.is_warning = true;
    kube_event_write_rest(&rest, &event, "test.example.org/v1", NULL, "pod-1", unix_us);
    assert_true(text_is(kube_event_namespace(&event), "default"));
    assert_non_null(strstr(rest.at, "\"type\":\"Warning\""));
    assert_null(strstr(rest.at, "\"namespace\""));
    object_unref(object);
}

static size_t length_of(struct text rest, const char *field)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER json = {0};
    buffer_printf(&json, "{%.*s", TEXT_ARGS(rest));
    const struct value *tree =
        value_read_json(arena, buffer_text(&json), &value_manifest_limits, NULL);
    assert_non_null(tree);
    return value_text(value_find(tree, field)).len;
}

static void fields_keep_within_the_limits_of_the_server(void **state)
{
    (void)state;
    char longest[3000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memcpy(longest + 1022, "\xc3\xa4\xc3\xa4", 4); // over the limit of the note
    struct object *object = test_regarded(&thing_kind, "shop", "www");
    struct kube_event event = note_of(object);
    event.reason = event.action = event.text = longest;
    AUTO_BUFFER rest = {0};
    kube_event_write_rest(&rest, &event, "test.example.org/v1", NULL, longest, unix_us);
    assert_int_equal(length_of(buffer_text(&rest), "reportingInstance"), 128);
    assert_int_equal(length_of(buffer_text(&rest), "reason"), 128);
    assert_int_equal(length_of(buffer_text(&rest), "action"), 128);
    assert_int_equal(length_of(buffer_text(&rest), "note"), 1024);
    object_unref(object);
}

static void an_action_that_is_missing_is_the_reason(void **state)
{
    (void)state;
    struct object *object = test_regarded(&thing_kind, "shop", "www");
    struct kube_event event = note_of(object);
    AUTO_BUFFER rest = {0};
    event.action = NULL;
    kube_event_write_rest(&rest, &event, "test.example.org/v1", NULL, "pod-1", unix_us);
    assert_int_equal(length_of(buffer_text(&rest), "action"), strlen("RecordCreated"));
    object_unref(object);
}

static void a_name_is_the_object_and_the_time_and_stays_a_name(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    kube_event_write_name(&out, TEXT("www"), 0x18a1b2c3d4e5f607);
    assert_string_equal(out.at, "www.18a1b2c3d4e5f607");
    char longest[254];
    memset(longest, 'x', 253);
    longest[253] = '\0';
    longest[234] = longest[235] = '-';
    buffer_clear(&out);
    kube_event_write_name(&out, text_of(longest), 0x18a1b2c3d4e5f607);
    assert_int_equal(out.len, 251);
    assert_null(strchr(out.at, '-'));
}

static void a_series_is_one_object_type_action_and_reason(void **state)
{
    (void)state;
    struct object *object = test_regarded(&thing_kind, "shop", "www");
    struct object *sister = test_regarded(&thing_kind, "shop", "mail");
    struct kube_event event = note_of(object);
    uint64_t series = kube_event_series(&event);
    event.text = "other words";
    assert_true(kube_event_series(&event) == series);
    event.reason = "RecordUpdated";
    assert_true(kube_event_series(&event) != series);
    event = note_of(object);
    event.is_warning = true;
    assert_true(kube_event_series(&event) != series);
    event = note_of(object);
    event.action = "Other";
    assert_true(kube_event_series(&event) != series);
    event = note_of(sister);
    assert_true(kube_event_series(&event) != series);
    object_unref(object);
    object_unref(sister);
}

static void a_count_is_a_merge_patch(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    kube_event_write_series(&out, 2, unix_us);
    assert_string_equal(
        out.at, "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-02T03:04:05.250000Z\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_all_that_the_server_requires),
        cmocka_unit_test(what_has_no_namespace_is_noted_in_default),
        cmocka_unit_test(fields_keep_within_the_limits_of_the_server),
        cmocka_unit_test(an_action_that_is_missing_is_the_reason),
        cmocka_unit_test(a_name_is_the_object_and_the_time_and_stays_a_name),
        cmocka_unit_test(a_series_is_one_object_type_action_and_reason),
        cmocka_unit_test(a_count_is_a_merge_patch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
