#include "base/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

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

static struct value *tree(struct arena *arena, const char *json)
{
    struct error err = {0};
    struct value *value = value_read_json(arena, text_of(json), &value_manifest_limits, &err);
    if (!value)
        fail_msg("%s: %s", json, err.text);
    return value;
}

static void assert_json(const struct value *value, const char *expected)
{
    AUTO_BUFFER out = {0};
    value_write_json(&out, value);
    assert_string_equal(out.at, expected);
}

static void set_replaces_in_place_and_appends_what_is_new(void **state)
{
    struct arena *arena = *state;
    struct value *map = tree(arena, "{\"a\":1,\"b\":2}");
    value_set(map, TEXT("a"), value_make_text(arena, TEXT("x")));
    value_set(map, TEXT("b"), value_make_bool(arena, true));
    value_set(map, TEXT("c"), value_make(arena, VALUE_NULL));
    assert_json(map, "{\"a\":\"x\",\"b\":true,\"c\":null}");
    assert_int_equal(value_count(map), 3);
    value_set(map, TEXT("c"), value_find(map, "c"));
    assert_int_equal(value_count(map), 3);
}

static void removed_last_entry_leaves_a_list_that_can_grow(void **state)
{
    struct arena *arena = *state;
    struct value *map = tree(arena, "{\"a\":1,\"b\":2,\"c\":3}");
    assert_true(value_remove(map, "c"));
    assert_false(value_remove(map, "c"));
    value_set(map, TEXT("d"), value_make_int(arena, 4));
    assert_true(value_remove(map, "a"));
    assert_json(map, "{\"b\":2,\"d\":4}");
    assert_true(value_remove(map, "b"));
    assert_true(value_remove(map, "d"));
    assert_json(map, "{}");
}

static void copy_outlives_its_source(void **state)
{
    struct arena *arena = *state;
    struct arena *other = arena_new();
    struct value *copy = value_copy(arena, tree(other, "{\"a\":[1,{\"b\":\"text\"}],\"c\":\"d\"}"));
    arena_free(other);
    assert_json(copy, "{\"a\":[1,{\"b\":\"text\"}],\"c\":\"d\"}");
    assert_null(value_copy(arena, NULL));
}

static void paths_reach_items_and_keys_with_dots(void **state)
{
    struct value *root = tree(*state, "{\"spec\":{\"values\":[\"a\",{\"b\":7}],\"on\":true},"
                                      "\"labels\":{\"a.b/c\":\"x\"}}");
    assert_true(text_is(value_text_at(root, "spec.values[0]"), "a"));
    assert_int_equal(value_int_at(root, "spec.values[1].b", 0), 7);
    assert_true(value_bool_at(root, "spec.on", false));
    assert_true(text_is(value_text_at(root, "labels[a.b/c]"), "x"));
    assert_ptr_equal(value_at(root, "", NULL), root);
}

static void put_makes_the_maps_on_the_way(void **state)
{
    static const char *const words[] = {"a", "b", NULL};
    struct value *root = value_make(*state, VALUE_MAP);
    value_put_text(*state, root, "metadata.labels[a.b/c]", "x");
    value_put_int(*state, root, "metadata.generation", 1);
    value_put_bool(*state, root, "[d.e].f", true);
    value_put_texts(*state, root, "metadata.list", words);
    value_put_int(*state, root, "metadata.generation", 2);
    assert_json(root, "{\"metadata\":{\"labels\":{\"a.b/c\":\"x\"},\"generation\":2,"
                      "\"list\":[\"a\",\"b\"]},\"d.e\":{\"f\":true}}");
    assert_true(text_is(value_text_at(root, "metadata.labels[a.b/c]"), "x"));
    assert_true(value_lists_text(value_at(root, "metadata.list", NULL), TEXT("b")));
    assert_false(value_lists_text(value_at(root, "metadata.list", NULL), TEXT("c")));
    assert_false(value_lists_text(value_at(root, "metadata.generation", NULL), TEXT("b")));
}

static void missing_paths_give_the_fallback_and_the_nearest_ancestor(void **state)
{
    struct value *root = tree(*state, "{\"spec\":{\"values\":[\"a\"],\"ttl\":\"x\"}}");
    const struct value *nearest;
    assert_null(value_at(root, "spec.values[3].x", &nearest));
    assert_ptr_equal(nearest, value_at(root, "spec.values", NULL));
    assert_null(value_at(root, "status", &nearest));
    assert_ptr_equal(nearest, root);
    assert_int_equal(value_int_at(root, "spec.ttl", 300), 300);
    assert_null(value_text_at(root, "spec").at);
    assert_null(value_at(NULL, "spec", &nearest));
    assert_null(nearest);
    assert_null(value_at(root, "spec.ttl.x", NULL));
    assert_null(value_at(root, "spec[x", NULL));
    assert_null(value_find(NULL, "x"));
    assert_int_equal(value_count(value_find(root, "x")), 0);
    assert_false(value_lists_text(value_find(root, "x"), TEXT("a")));
    assert_false(value_lists_text(NULL, TEXT("a")));
}

static void equality_and_hash_ignore_the_order_of_maps_only(void **state)
{
    struct arena *arena = *state;
    struct value *a = tree(arena, "{\"a\":1,\"b\":[1,2],\"c\":{\"d\":null}}");
    struct value *b = tree(arena, "{\"c\":{\"d\":null},\"b\":[1,2],\"a\":1}");
    struct value *c = tree(arena, "{\"a\":1,\"b\":[2,1],\"c\":{\"d\":null}}");
    assert_true(value_equal(a, b));
    assert_true(content_id_equal(value_content_id(a), value_content_id(b)));
    assert_false(value_equal(a, c));
    assert_true(!content_id_equal(value_content_id(a), value_content_id(c)));
    assert_false(value_equal(a, tree(arena, "{\"a\":1,\"b\":[1,2],\"e\":{\"d\":null}}")));
    assert_false(value_equal(a, tree(arena, "{\"a\":1,\"b\":[1,2]}")));
    assert_false(value_equal(a, NULL));
    assert_true(value_equal(NULL, NULL));
}

static void different_types_and_shapes_are_different_values(void **state)
{
    static const char *const all[] = {"null",
                                      "true",
                                      "false",
                                      "0",
                                      "1",
                                      "1.5",
                                      "\"\"",
                                      "\"1\"",
                                      "[]",
                                      "{}",
                                      "[0]",
                                      "{\"\":0}",
                                      "[[1],2]",
                                      "[[1,2]]",
                                      "[[1],[2]]",
                                      "[\"ab\"]",
                                      "[\"a\",\"b\"]",
                                      "{\"a\":\"bc\"}",
                                      "{\"ab\":\"c\"}",
                                      "{\"a\":{\"b\":1},\"c\":2}",
                                      "{\"a\":{\"b\":1,\"c\":2}}"};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        for (size_t k = 0; k < COUNT_OF(all); k++) {
            struct value *a = tree(*state, all[i]);
            struct value *b = tree(*state, all[k]);
            assert_int_equal(value_equal(a, b), i == k);
            assert_int_equal(content_id_equal(value_content_id(a), value_content_id(b)), i == k);
        }
    }
}

static void whole_floats_are_the_same_number_as_integers(void **state)
{
    struct arena *arena = *state;
    struct value *real = value_make(arena, VALUE_FLOAT);
    real->real = 4503599627370496.0;
    struct value *integer = value_make_int(arena, 4503599627370496);
    assert_true(value_equal(real, integer));
    assert_true(content_id_equal(value_content_id(real), value_content_id(integer)));
    assert_json(real, "4503599627370496");
}

static void merge_patch_follows_the_examples_of_rfc_7386(void **state)
{
    static const char *const rows[][3] = {
        {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
        {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
        {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
        {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
        {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
        {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
        {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
        {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
        {"{\"a\":\"foo\"}", "null", "null"},
        {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
        {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
        {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
        {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };
    struct arena *arena = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value *target = tree(arena, rows[i][0]);
        assert_json(value_merge_patch(arena, target, tree(arena, rows[i][1])), rows[i][2]);
        assert_json(target, rows[i][0]);
    }
    assert_json(value_merge_patch(arena, NULL, tree(arena, "{\"a\":1}")), "{\"a\":1}");
}

static void a_tree_covers_what_is_wanted_of_it(void **state)
{
    struct arena *arena = *state;
    static const struct {
        const char *there;
        const char *wanted;
        bool is_covered;
    } rows[] = {
        {"{\"a\":1,\"b\":2}", "{\"b\":2}", true},
        {"{\"a\":1}", "{\"a\":2}", false},
        {"{\"a\":1}", "{\"b\":2}", false},
        {"{\"a\":{\"x\":1,\"y\":[1]}}", "{\"a\":{\"y\":[1]}}", true},
        {"[{\"a\":1,\"b\":2},3]", "[{\"a\":1},3]", true},
        {"[1,2]", "[1]", false},
        {"[1]", "[1,2]", false},
        {"[2,1]", "[1,2]", false},
        {"{\"a\":1}", "{\"a\":null}", false},
        {"{}", "{\"a\":null,\"b\":[],\"c\":{},\"d\":\"\"}", true},
        {"{}", "{\"a\":[1]}", false},
        {"{\"a\":[1]}", "{\"a\":[]}", false},
        {"{\"a\":\"1\"}", "{\"a\":1}", false},
        {"{\"a\":[]}", "{\"a\":{}}", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(value_covers(tree(arena, rows[i].there), tree(arena, rows[i].wanted)),
                         rows[i].is_covered);
}

int main(void)
{
#define row(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)
    const struct CMUnitTest tests[] = {
        row(set_replaces_in_place_and_appends_what_is_new),
        row(removed_last_entry_leaves_a_list_that_can_grow),
        row(copy_outlives_its_source),
        row(paths_reach_items_and_keys_with_dots),
        row(put_makes_the_maps_on_the_way),
        row(missing_paths_give_the_fallback_and_the_nearest_ancestor),
        row(equality_and_hash_ignore_the_order_of_maps_only),
        row(different_types_and_shapes_are_different_values),
        row(whole_floats_are_the_same_number_as_integers),
        row(merge_patch_follows_the_examples_of_rfc_7386),
        row(a_tree_covers_what_is_wanted_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
