#include "store/cluster/lease_object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { UNIX_S = 1767323045 }; // 2026-01-02T03:04:05Z

static const struct lease_change ours = {
    .namespace_ = "dns",
    .name = "signpost",
    .holder = "host_1",
    .duration_ms = 15000,
    .unix_ms = UNIX_S * INT64_C(1000) + 250,
};

static struct value *read_json(struct arena *arena, const char *json)
{
    struct error err = {0};
    struct value *tree = value_read_json(arena, text_of(json), &value_reply_limits, &err);
    if (!tree)
        fail_msg("%s", err.text);
    return tree;
}

static void expect_json(const struct value *tree, const char *json)
{
    AUTO_BUFFER out = {0};
    value_write_json(&out, tree);
    assert_string_equal(out.at, json);
}

static void a_new_lease_names_its_holder_and_counts_no_hand_over(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    expect_json(lease_object_make(arena, NULL, &ours),
                "{\"metadata\":{\"name\":\"signpost\",\"namespace\":\"dns\"},"
                "\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
                "\"spec\":{\"holderIdentity\":\"host_1\",\"leaseDurationSeconds\":15,"
                "\"acquireTime\":\"2026-01-02T03:04:05.250000Z\",\"leaseTransitions\":0,"
                "\"renewTime\":\"2026-01-02T03:04:05.250000Z\"}}");
}

static const char other_json[] =
    "{\"metadata\":{\"name\":\"signpost\",\"namespace\":\"dns\",\"resourceVersion\":\"7\","
    "\"labels\":{\"a\":\"b\"},\"annotations\":{\"note\":\"kept\"},\"managedFields\":[{}]},"
    "\"spec\":{\"holderIdentity\":\"host_0\",\"leaseDurationSeconds\":30,"
    "\"acquireTime\":\"2026-01-01T00:00:00.000000Z\",\"renewTime\":\"2026-01-02T03:04:05.250000Z\","
    "\"leaseTransitions\":4,\"strategy\":\"x\"}}";

static void taking_over_counts_and_keeps_what_else_stands_there(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *made = lease_object_make(arena, read_json(arena, other_json), &ours);
    assert_true(text_is(value_text_at(made, "metadata.resourceVersion"), "7"));
    assert_true(text_is(value_text_at(made, "metadata.labels.a"), "b"));
    assert_true(text_is(value_text_at(made, "metadata.annotations.note"), "kept"));
    assert_null(value_at(made, "metadata.managedFields", NULL));
    assert_true(text_is(value_text_at(made, "spec.strategy"), "x"));
    assert_int_equal(value_int_at(made, "spec.leaseTransitions", -1), 5);
    assert_int_equal(value_int_at(made, "spec.leaseDurationSeconds", -1), 15);
    assert_true(text_is(value_text_at(made, "spec.acquireTime"), "2026-01-02T03:04:05.250000Z"));
}

static void a_renewal_at_the_same_moment_differs_all_the_same(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *made = lease_object_make(arena, read_json(arena, other_json), &ours);
    assert_true(text_is(value_text_at(made, "spec.renewTime"), "2026-01-02T03:04:05.250001Z"));
}

static void renewing_keeps_when_it_was_acquired(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct lease_change later = ours;
    later.unix_ms += 2000;
    later.duration_ms = 15001;
    const struct value *made =
        lease_object_make(arena, lease_object_make(arena, NULL, &ours), &later);
    assert_true(text_is(value_text_at(made, "spec.acquireTime"), "2026-01-02T03:04:05.250000Z"));
    assert_true(text_is(value_text_at(made, "spec.renewTime"), "2026-01-02T03:04:07.250000Z"));
    assert_int_equal(value_int_at(made, "spec.leaseTransitions", -1), 0);
    assert_int_equal(value_int_at(made, "spec.leaseDurationSeconds", -1), 16);
}

static void giving_back_leaves_nobody_and_one_second(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct lease_change release = ours;
    release.holder = "";
    const struct value *made = lease_object_make(arena, read_json(arena, other_json), &release);
    assert_true(text_is(value_text_at(made, "spec.holderIdentity"), ""));
    assert_int_equal(value_int_at(made, "spec.leaseDurationSeconds", -1), 1);
    assert_int_equal(value_int_at(made, "spec.leaseTransitions", -1), 4);
    assert_true(text_is(value_text_at(made, "spec.acquireTime"), "2026-01-01T00:00:00.000000Z"));
}

static void the_owner_id_is_an_annotation_beside_others(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct lease_change change = ours;
    change.holder = NULL;
    change.owner_id = "0af76519";
    const struct value *made = lease_object_make(arena, read_json(arena, other_json), &change);
    struct lease_object read;
    lease_object_read(&read, made);
    assert_true(text_is(read.owner_id, "0af76519"));
    assert_true(text_is(read.holder, "host_0"));
    assert_true(text_is(read.version, "7"));
    assert_int_equal(read.duration_ms, 30000);
    assert_true(text_is(value_text_at(made, "metadata.annotations.note"), "kept"));
}

static void a_lease_of_odd_shape_says_nothing(void **state)
{
    (void)state;
    static const char wrong_types[] =
        "{\"metadata\":{\"annotations\":\"x\"},\"spec\":{\"holderIdentity\":1,"
        "\"leaseDurationSeconds\":-4,\"leaseTransitions\":\"many\"}}";
    static const char *const odd[] = {"{}", "{\"metadata\":[],\"spec\":7}", wrong_types};
    CLEANUP(arena) struct arena *arena = arena_new();
    for (size_t i = 0; i < COUNT_OF(odd); i++) {
        struct lease_object read;
        lease_object_read(&read, read_json(arena, odd[i]));
        assert_int_equal(read.holder.len, 0);
        assert_int_equal(read.duration_ms, 0);
        const struct value *made = lease_object_make(arena, read_json(arena, odd[i]), &ours);
        lease_object_read(&read, made);
        assert_true(text_is(read.holder, "host_1"));
        assert_int_equal(value_int_at(made, "spec.leaseTransitions", -1), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_lease_names_its_holder_and_counts_no_hand_over),
        cmocka_unit_test(taking_over_counts_and_keeps_what_else_stands_there),
        cmocka_unit_test(a_renewal_at_the_same_moment_differs_all_the_same),
        cmocka_unit_test(renewing_keeps_when_it_was_acquired),
        cmocka_unit_test(giving_back_leaves_nobody_and_one_second),
        cmocka_unit_test(the_owner_id_is_an_annotation_beside_others),
        cmocka_unit_test(a_lease_of_odd_shape_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
