#include "base/shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// A struct with a member of each type.
enum colour { RED, GREEN, BLUE };
struct point {
    int x;
    int64_t y;
};
struct thing {
    bool flag;
    int number;
    enum colour colour;
    unsigned positive;
    int64_t large;
    uint64_t huge;
    char chars[8];
    uint8_t octets[4];
    const char *string;
    const char *const *strings;
    size_t string_count;
    struct text text;
    const struct text *texts;
    size_t text_count;
    const struct value *value;
    struct point inner;
    const struct point *pointer;
    struct point array[3];
    size_t array_count;
    const struct point *list;
    size_t list_count;
    const struct point *const *pointers;
    size_t pointer_count;
    const char *other;
    const char *const *others;
    size_t other_count;
};

static struct value *write_backwards(void *context, struct arena *arena, const void *member)
{
    const char *text;
    (void)context;
    memcpy(&text, member, sizeof text);
    if (!text)
        return NULL;
    size_t len = strlen(text);
    char *out = arena_alloc(arena, len + 1, 1);
    for (size_t i = 0; i < len; i++)
        out[i] = text[len - 1 - i];
    return value_make_text(arena, text_of(out));
}

static bool read_backwards(void *context, struct arena *arena, const struct value *value,
                           void *member, struct error *err)
{
    struct text text = value_text(value);
    char *out = arena_alloc(arena, text.len + 1, 1);
    (void)context;
    if (!text.at)
        return error_set(err, FAULT_SPEC, "", "no text");
    for (size_t i = 0; i < text.len; i++)
        out[i] = text.at[text.len - 1 - i];
    memcpy(member, &out, sizeof out);
    return true;
}
static const struct shape_other backwards = {write_backwards, read_backwards};

static const struct shape_member point_members[] = {
    SHAPE(struct point, SHAPE_INT, x),
    SHAPE(struct point, SHAPE_INT64, y),
};
static const struct shape point_shape = SHAPE_OF(struct point, point_members);

static const struct shape_member thing_members[] = {
    SHAPE(struct thing, SHAPE_BOOL, flag),
    SHAPE(struct thing, SHAPE_INT, number),
    SHAPE_CHOICE(struct thing, colour, BLUE),
    SHAPE(struct thing, SHAPE_UNSIGNED, positive),
    SHAPE(struct thing, SHAPE_INT64, large),
    SHAPE(struct thing, SHAPE_UINT64, huge),
    SHAPE(struct thing, SHAPE_CHARS, chars),
    SHAPE(struct thing, SHAPE_OCTETS, octets),
    SHAPE(struct thing, SHAPE_STRING, string),
    SHAPE_COUNTED(struct thing, SHAPE_STRINGS, strings, string_count),
    SHAPE_NAMED(struct thing, SHAPE_TEXT, text, "words"),
    SHAPE_COUNTED(struct thing, SHAPE_TEXTS, texts, text_count),
    SHAPE(struct thing, SHAPE_VALUE, value),
    SHAPE_NESTED(struct thing, SHAPE_STRUCT, inner, &point_shape),
    SHAPE_NESTED(struct thing, SHAPE_POINTER, pointer, &point_shape),
    SHAPE_NESTED_COUNTED(struct thing, SHAPE_ARRAY, array, array_count, &point_shape),
    SHAPE_NESTED_COUNTED(struct thing, SHAPE_LIST, list, list_count, &point_shape),
    SHAPE_NESTED_COUNTED(struct thing, SHAPE_POINTERS, pointers, pointer_count, &point_shape),
    SHAPE_BY(struct thing, other, &backwards),
    SHAPE_COUNTED_BY(struct thing, others, other_count, &backwards),
};
static const struct shape thing_shape = SHAPE_OF(struct thing, thing_members);

static const char whole[] =
    "{\"flag\":true,\"number\":-7,\"colour\":2,\"positive\":4294967295,"
    "\"large\":-9000000000000000000,\"huge\":-1,\"chars\":\"chars\",\"octets\":\"00010203\","
    "\"string\":\"s\",\"strings\":[\"a\",\"b\"],\"words\":\"\",\"texts\":[\"c\",\"d\"],"
    "\"value\":{\"any\":[1,null]},\"inner\":{\"x\":1},\"pointer\":{\"y\":2},"
    "\"array\":[{\"x\":3},{\"x\":4}],\"list\":[{\"x\":5},{},{\"y\":6}],"
    "\"pointers\":[{\"x\":7},null],\"other\":\"olleh\",\"others\":[\"ba\",\"dc\"]}";

static char *written(struct arena *arena, const struct thing *thing)
{
    AUTO_BUFFER out = {0};
    value_write_json(&out, shape_write(NULL, arena, &thing_shape, thing));
    return arena_copy(arena, out.at, out.len);
}

static bool take(struct arena *arena, const char *json, struct thing *out, struct error *err)
{
    const struct value *tree = value_read_json(arena, text_of(json), &value_manifest_limits, NULL);
    assert_non_null(tree);
    return shape_read(NULL, arena, &thing_shape, tree, out, err);
}

static void every_type_is_read_back_as_it_was_written(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct thing thing;
    assert_true(take(arena, whole, &thing, NULL));
    assert_true(thing.flag && thing.number == -7 && thing.colour == BLUE);
    assert_true(thing.positive == UINT32_MAX && thing.huge == UINT64_MAX);
    assert_string_equal(thing.chars, "chars");
    assert_int_equal(thing.octets[3], 3);
    assert_string_equal(thing.strings[1], "b");
    assert_true(thing.text.at && !thing.text.len);
    assert_true(text_is(thing.texts[1], "d"));
    assert_true(thing.inner.x == 1 && thing.pointer->y == 2 && thing.array[1].x == 4);
    assert_true(thing.list_count == 3 && thing.list[2].y == 6);
    assert_true(thing.pointers[0]->x == 7 && !thing.pointers[1] && thing.pointer_count == 2);
    assert_string_equal(thing.other, "hello");
    assert_string_equal(thing.others[1], "cd");
    assert_string_equal(written(arena, &thing), whole);
}

static void what_is_nothing_is_left_out_and_read_as_that(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct thing thing = {0};
    assert_string_equal(written(arena, &thing), "{}");
    memset(&thing, 0xff, sizeof thing);
    assert_true(take(arena, "{\"unknown\":1}", &thing, NULL));
    assert_string_equal(written(arena, &thing), "{}");
}

static void another_type_is_refused_by_the_name_of_the_member(void **state)
{
    static const struct {
        const char *json;
        const char *text;
    } rows[] = {
        {"{\"flag\":1}", "flag: "},
        {"{\"number\":\"1\"}", "number: "},
        {"{\"colour\":3}", "colour: "},
        {"{\"colour\":-1}", "colour: "},
        {"{\"large\":true}", "large: "},
        {"{\"chars\":\"too long for it\"}", "chars: "},
        {"{\"octets\":\"0001\"}", "octets: "},
        {"{\"octets\":\"0001020x\"}", "octets: "},
        {"{\"string\":1}", "string: "},
        {"{\"strings\":[1]}", "strings: "},
        {"{\"words\":[]}", "words: "},
        {"{\"texts\":[{}]}", "texts: "},
        {"{\"inner\":{\"x\":{}}}", "x: "},
        {"{\"pointer\":{\"y\":\"\"}}", "y: "},
        {"{\"array\":[{},{},{},{}]}", "array: "},
        {"{\"list\":[{\"x\":[]}]}", "x: "},
        {"{\"pointers\":[{\"x\":[]}]}", "x: "},
        {"{\"other\":1}", "no text"},
        {"{\"others\":[1]}", "no text"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(arena) struct arena *arena = arena_new();
        struct thing thing;
        struct error err = {0};
        assert_false(take(arena, rows[i].json, &thing, &err));
        assert_int_equal(err.fault, FAULT_SPEC);
        assert_memory_equal(err.text, rows[i].text, strlen(rows[i].text));
    }
}

struct pair {
    const char *const *names;
    const struct point *points;
    size_t count;
};
static const struct shape_member pair_members[] = {
    SHAPE_COUNTED(struct pair, SHAPE_STRINGS, names, count),
    SHAPE_NESTED_COUNTED(struct pair, SHAPE_LIST, points, count, &point_shape),
    {.name = "needed",
     .type = SHAPE_SIZE_OF(struct pair, count) == 8 ? SHAPE_UINT64 : SHAPE_INT,
     .is_needed = true,
     .offset = offsetof(struct pair, count)},
};
static const struct shape pair_shape = {pair_members, 2, sizeof(struct pair)};
static const struct shape needing_shape = SHAPE_OF(struct pair, pair_members);

static void members_that_one_number_counts_are_of_one_length(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct pair pair;
    struct error err = {0};
    static const struct {
        const char *json;
        const char *text;
    } rows[] = {
        {"{\"names\":[\"a\",\"b\"],\"points\":[{}]}", "points: 2 are expected there, not 1"},
        {"{\"names\":[],\"points\":[{}]}", "names: an empty list is not expected there"},
        {"{\"names\":5,\"points\":[{}]}", "names: a number is not expected there"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct value *tree =
            value_read_json(arena, text_of(rows[i].json), &value_manifest_limits, NULL);
        assert_false(shape_read(NULL, arena, &pair_shape, tree, &pair, &err));
        assert_string_equal(err.text, rows[i].text);
    }
}

static void a_member_that_is_needed_and_missing_is_told(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct pair pair;
    struct error err = {0};
    const struct value *tree = value_read_json(arena, TEXT("{}"), &value_manifest_limits, NULL);
    assert_false(shape_read(NULL, arena, &needing_shape, tree, &pair, &err));
    assert_string_equal(err.text, "needed is missing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read_back_as_it_was_written),
        cmocka_unit_test(what_is_nothing_is_left_out_and_read_as_that),
        cmocka_unit_test(another_type_is_refused_by_the_name_of_the_member),
        cmocka_unit_test(members_that_one_number_counts_are_of_one_length),
        cmocka_unit_test(a_member_that_is_needed_and_missing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
