#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/value.h"

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

// The first document; NULL with err filled on failure.
static struct value *first(struct arena *arena, struct text yaml, struct error *err)
{
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(yaml, &value_manifest_limits);
    struct value *value = NULL;
    bool has;
    error_clear(err);
    if (!yaml_reader_next(reader, arena, &value, &has, err))
        return NULL;
    return value;
}

static void assert_reads(struct arena *arena, const char *yaml, const char *expected)
{
    struct error err;
    AUTO_BUFFER out = {0};
    struct value *value = first(arena, text_of(yaml), &err);
    if (err.fault)
        fail_msg("%s: %s", yaml, err.text);
    value_write_json(&out, value);
    assert_string_equal(out.at, expected);
}

static void assert_fails(struct arena *arena, const char *yaml, const char *expected)
{
    struct error err;
    assert_null(first(arena, text_of(yaml), &err));
    assert_int_equal(err.fault, FAULT_SPEC);
    assert_string_equal(err.text, expected);
}

static void plain_scalars_mean_what_kubectl_takes_them_for(void **state)
{
    static const char *const rows[][2] = {
        {"yes", "true"},
        {"On", "true"},
        {"TRUE", "true"},
        {"no", "false"},
        {"off", "false"},
        {"False", "false"},
        {"yEs", "\"yEs\""},
        {"y", "\"y\""},
        {"N", "\"N\""},
        {"~", "null"},
        {"Null", "null"},
        {"", "null"},
        {"010", "8"},
        {"0o17", "15"},
        {"0x1F", "31"},
        {"0b101", "5"},
        {"-0x10", "-16"},
        {"08", "8"},
        {"1_000", "1000"},
        {"_1", "\"_1\""},
        {"+5", "5"},
        {"1e3", "1000"},
        {"1.", "1"},
        {".5", "0.5"},
        {"._5", "\"._5\""},
        {".5_0", "0.5"},
        {"1e400", "\"1e400\""},
        {"0x", "\"0x\""},
        {"0xg", "\"0xg\""},
        {"+", "\"+\""},
        {"1:20", "\"1:20\""},
        {"10.0.0.1", "\"10.0.0.1\""},
        {"2001-01-01", "\"2001-01-01\""},
        {"9223372036854775807", "9223372036854775807"},
        {"9223372036854775808", "9.223372036854776e+18"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"0xffffffffffffffff", "1.8446744073709552e+19"},
        {"\"yes\"", "\"yes\""},
        {"'010'", "\"010\""},
        {"!!str 5", "\"5\""},
        {"! yes", "\"yes\""},
        {"!!int \"7\"", "7"},
        {"!!float 7", "7"},
        {"!!null ''", "null"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER yaml = {0};
        AUTO_BUFFER json = {0};
        buffer_printf(&yaml, "a: %s\n", rows[i][0]);
        buffer_printf(&json, "{\"a\":%s}", rows[i][1]);
        assert_reads(*state, yaml.at, json.at);
    }
}

static void keys_that_are_no_text_become_text(void **state)
{
    assert_reads(*state, "on: 1\n0x50: 2\n1.5: 3\n", "{\"true\":1,\"80\":2,\"1.5\":3}");
    assert_fails(*state, "? [a]\n: x\n", "1:3: a key must be text");
    assert_fails(*state, "~: x\n", "1:1: a key must be text");
}

static void positions_are_those_of_keys_and_values(void **state)
{
    struct error err;
    struct value *root = first(*state,
                               TEXT("# c\nspec:\n  ttl: '300'\n  values:\n  - \xc3\xa9\n"
                                    "  - {a: b}\n"),
                               &err);
    struct value *ttl = value_at(root, "spec.ttl", NULL);
    assert_int_equal(ttl->key_line, 3);
    assert_int_equal(ttl->key_column, 3);
    assert_int_equal(ttl->line, 3);
    assert_int_equal(ttl->column, 8);
    struct value *item = value_at(root, "spec.values[1].a", NULL);
    assert_int_equal(item->key_line, 6);
    assert_int_equal(item->key_column, 6);
    assert_int_equal(root->line, 2);
    assert_int_equal(root->column, 1);
}

static void plain_scalars_keep_what_was_typed(void **state)
{
    struct error err;
    struct value *root = first(*state, TEXT("a: 0x1F\nb: yes\nc: \"yes\"\nd: |\n  yes\n"), &err);
    assert_true(value_find(root, "a")->is_plain);
    assert_true(text_is(value_find(root, "a")->text, "0x1F"));
    assert_true(text_is(value_find(root, "b")->text, "yes"));
    assert_false(value_find(root, "c")->is_plain);
    assert_false(value_find(root, "d")->is_plain);
    assert_null(value_text(value_find(root, "a")).at);
}

static void documents_come_one_by_one(void **state)
{
    CLEANUP(yaml_reader)
    struct yaml_reader *reader =
        yaml_reader_new(TEXT("a: &x 1\n---\n---\nb: 2\n...\n# end\n"), &value_manifest_limits);
    struct value *value;
    struct error err;
    bool has;
    assert_true(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_int_equal(value_int_at(value, "a", 0), 1);
    assert_true(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_true(has);
    assert_null(value);
    assert_true(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_int_equal(value_int_at(value, "b", 0), 2);
    assert_true(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_false(has);
    assert_true(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_false(has);
}

static void empty_streams_have_no_document(void **state)
{
    static const char *const empty[] = {"", "\n", "# only a comment\n"};
    for (size_t i = 0; i < COUNT_OF(empty); i++) {
        CLEANUP(yaml_reader)
        struct yaml_reader *reader = yaml_reader_new(text_of(empty[i]), &value_manifest_limits);
        struct value *value;
        struct error err;
        bool has = true;
        assert_true(yaml_reader_next(reader, *state, &value, &has, &err));
        assert_false(has);
    }
}

static void fault_ends_the_stream_but_not_what_came_before(void **state)
{
    CLEANUP(yaml_reader)
    struct yaml_reader *reader =
        yaml_reader_new(TEXT("a: 1\n---\nb: [\n---\nc: 3\n"), &value_manifest_limits);
    struct value *value;
    struct error err = {0};
    struct error again = {0};
    bool has;
    assert_true(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_false(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_false(yaml_reader_next(reader, *state, &value, &has, &again));
    assert_string_equal(err.text, again.text);
}

static void aliases_are_copies_and_merges_yield_to_explicit_keys(void **state)
{
    assert_reads(*state, "a: &a [1, {b: c}]\nd: *a\n",
                 "{\"a\":[1,{\"b\":\"c\"}],\"d\":[1,{\"b\":\"c\"}]}");
    assert_reads(*state, "b: &b\n  x: 1\n  y: 2\nd:\n  <<: *b\n  y: 3\n",
                 "{\"b\":{\"x\":1,\"y\":2},\"d\":{\"y\":3,\"x\":1}}");
    assert_reads(*state, "b: &b {x: 1, y: 2}\nd:\n  y: 3\n  <<: [*b, {z: 5, x: 9}]\n",
                 "{\"b\":{\"x\":1,\"y\":2},\"d\":{\"y\":3,\"x\":1,\"z\":5}}");
    assert_reads(*state, "\"<<\": {a: 1}\n", "{\"<<\":{\"a\":1}}");
    assert_reads(*state, "&k key: 1\nb: *k\n", "{\"key\":1,\"b\":\"key\"}");
    assert_reads(*state, "- &a 1\n- &a 2\n- *a\n", "[1,2,2]");
    assert_fails(*state, "a:\n  <<: 5\n",
                 "2:3: << wants a map or a list of maps, of at most 1024 keys in all");
    assert_fails(*state, "<<: {a: 1}\n<<: {b: 1}\n", "2:1: duplicate key \"<<\", first at 1:1");
}

static void aliases_cannot_bomb(void **state)
{
    assert_fails(*state,
                 "a: &a [l,l,l,l,l,l,l,l]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\n"
                 "c: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"
                 "e: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n",
                 "6:8: aliases make the document too large or too deep");
    assert_fails(*state, "a: &a [*a]\n", "1:8: an alias stands inside of what it names");
    assert_fails(*state, "a: *b\n",
                 "1:4: unknown alias: quote a value that begins with an asterisk");
    AUTO_BUFFER yaml = {0};
    buffer_add_text(&yaml, "- &a x\n");
    for (unsigned i = 0; i < value_manifest_limits.aliases; i++)
        buffer_add_text(&yaml, "- *a\n");
    struct error err;
    assert_int_equal(value_count(first(*state, buffer_text(&yaml), &err)), 65);
    buffer_add_text(&yaml, "- *a\n");
    assert_fails(*state, yaml.at, "66:3: more than 64 aliases in one document");
}

static void depth_counts_through_aliases(void **state)
{
    AUTO_BUFFER yaml = {0};
    AUTO_BUFFER deep = {0};
    for (int i = 0; i < 40; i++)
        buffer_add_char(&deep, '[');
    buffer_printf(&yaml, "- &a %s", deep.at);
    for (int i = 0; i < 40; i++)
        buffer_add_char(&yaml, ']');
    buffer_printf(&yaml, "\n- %s*a", deep.at);
    for (int i = 0; i < 40; i++)
        buffer_add_char(&yaml, ']');
    assert_fails(*state, yaml.at, "2:43: aliases make the document too large or too deep");
    buffer_clear(&yaml);
    buffer_printf(&yaml, "%s%s", deep.at, deep.at);
    assert_fails(*state, yaml.at, "1:65: lists and maps are nested deeper than 64");
}

static void duplicate_keys_are_refused_with_both_places(void **state)
{
    assert_fails(*state, "a: 1\nb: 2\n\"a\": 3\n", "3:1: duplicate key \"a\", first at 1:1");
    assert_fails(*state, "x:\n  1: a\n  '1': b\n", "3:3: duplicate key \"1\", first at 2:3");
    AUTO_BUFFER yaml = {0};
    for (int i = 0; i < 100; i++)
        buffer_printf(&yaml, "key%d: 1\n", i);
    buffer_add_text(&yaml, "key42: 2\n");
    assert_fails(*state, yaml.at, "101:1: duplicate key \"key42\", first at 43:1");
}

static void what_is_not_json_is_refused(void **state)
{
    assert_fails(*state, "a: .inf\n", "1:4: .inf is not a number that JSON has: quote it");
    assert_fails(*state, "a: .NaN\n", "1:4: .NaN is not a number that JSON has: quote it");
    assert_fails(
        *state, "a: !foo x\n",
        "1:4: this tag is not supported: quote a value that begins with an exclamation mark");
    assert_fails(
        *state, "a: !!binary aGk=\n",
        "1:4: this tag is not supported: quote a value that begins with an exclamation mark");
    assert_fails(*state, "a: !!int x\n", "1:4: text is not of type int");
    assert_fails(*state, "a: !!map [1]\n", "1:4: a list is not of type map");
}

static void syntax_errors_name_their_place(void **state)
{
    assert_fails(*state, "a: [1, 2\nb: 3\n",
                 "2:2: did not find expected ',' or ']' while parsing a flow sequence that began "
                 "at 1:4");
    assert_fails(*state, "a: \x01\n",
                 "1:4: control characters are not allowed: the file must be UTF-8 text");
    assert_fails(*state, "a:\n  - \xc3\xbc\n\t- 1\n",
                 "3:1: found a tab, which YAML forbids for indentation: use spaces");
    assert_fails(*state, "a: 1\nb: \xff\n",
                 "2:4: invalid leading UTF-8 octet: the file must be UTF-8 text");
}

static void json_files_are_yaml_too(void **state)
{
    assert_reads(*state, "{\"a\":\"x\\/y\",\"b\":[1,\n\t2],\"c\":{}}\n",
                 "{\"a\":\"x/y\",\"b\":[1,2],\"c\":{}}");
    assert_reads(*state,
                 "\xef\xbb\xbf"
                 "a: 1\n",
                 "{\"a\":1}");
}

static void input_over_the_limit_is_refused(void **state)
{
    const struct value_limits limits = {.octets = 5, .depth = 4, .aliases = 0};
    CLEANUP(yaml_reader) struct yaml_reader *reader = yaml_reader_new(TEXT("a: 100"), &limits);
    struct value *value;
    struct error err;
    bool has;
    assert_false(yaml_reader_next(reader, *state, &value, &has, &err));
    assert_string_equal(err.text, "1:1: larger than 5 octets");
}

static void written_yaml_is_block_style_and_quotes_traps(void **state)
{
    static const char json[] =
        "{\"name\":\"web\",\"ip\":\"10.0.0.1\",\"span\":\"5m\",\"yes\":\"yes\",\"one\":\"1\","
        "\"date\":\"2001-01-01\",\"n\":\"n\",\"empty\":\"\",\"list\":[1,[true,null],{\"a\":1,"
        "\"b\":[]}],\"map\":{\"c\":{}},\"colon\":\"a: b\",\"star\":\"*.x\",\"lines\":\"a\\n b\\n\","
        "\"open\":\"a\\nb\"}";
    static const char expected[] = "name: web\n"
                                   "ip: 10.0.0.1\n"
                                   "span: 5m\n"
                                   "\"yes\": \"yes\"\n"
                                   "one: \"1\"\n"
                                   "date: \"2001-01-01\"\n"
                                   "\"n\": \"n\"\n"
                                   "empty: \"\"\n"
                                   "list:\n"
                                   "- 1\n"
                                   "- - true\n"
                                   "  - null\n"
                                   "- a: 1\n"
                                   "  b: []\n"
                                   "map:\n"
                                   "  c: {}\n"
                                   "colon: \"a: b\"\n"
                                   "star: \"*.x\"\n"
                                   "lines: |\n"
                                   "  a\n"
                                   "   b\n"
                                   "open: |-\n"
                                   "  a\n"
                                   "  b\n";
    struct error err;
    AUTO_BUFFER out = {0};
    struct value *value = value_read_json(*state, text_of(json), &value_manifest_limits, &err);
    value_write_yaml(&out, value, 0);
    assert_string_equal(out.at, expected);
    buffer_clear(&out);
    value_write_yaml(&out, value_find(value, "map"), 4);
    assert_string_equal(out.at, "    c: {}\n");
}

static const char *const pieces[] = {
    "yes",
    "~",
    "0x1f",
    "1_0",
    "1e3",
    "-",
    "- ",
    "---",
    "...",
    ": ",
    " #",
    "\n",
    " ",
    "\t",
    "\"",
    "'",
    "\\",
    "a",
    "<<",
    "{",
    "]",
    ",",
    "&a",
    "*a",
    "!",
    "|",
    ">",
    "%",
    "@",
    "?",
    "=",
    "\r",
    "y",
    "+",
    "08",
    ".5",
    "\xc3\xa9",
    "\x7f",
    "\xc2\x85",
    "\xe2\x80\xa8",
    "\xef\xbb\xbf",
    "\xef\xbf\xbe",
    "\xf0\x9f\x98\x80",
    "\x01",
};

static struct text odd_text(struct arena *arena, uint64_t *seed)
{
    AUTO_BUFFER text = {0};
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    unsigned length = (*seed >> 60) == 0 ? 300 : (unsigned)(*seed >> 33) % 6;
    for (unsigned i = 0; i < length; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        buffer_add_text(&text, pieces[(*seed >> 33) % COUNT_OF(pieces)]);
    }
    return (struct text){arena_copy(arena, buffer_text(&text).at, text.len), text.len};
}

static void any_text_survives_yaml_as_key_value_and_item(void **state)
{
    struct arena *arena = *state;
    uint64_t seed = 1;
    for (int i = 0; i < 3000; i++) {
        arena_reset(arena);
        struct error err;
        AUTO_BUFFER out = {0};
        struct value *map = value_make(arena, VALUE_MAP);
        struct value *list = value_make(arena, VALUE_LIST);
        value_set(map, odd_text(arena, &seed), value_make_text(arena, odd_text(arena, &seed)));
        value_append(list, value_make_text(arena, odd_text(arena, &seed)));
        value_set(map, odd_text(arena, &seed), list);
        value_set(map, TEXT("end"), value_make_int(arena, i));
        value_write_yaml(&out, map, (unsigned)i % 3);
        struct value *back = first(arena, buffer_text(&out), &err);
        if (!value_equal(map, back))
            fail_msg("%s\n%s", err.text, out.at);
    }
}

// However many values a document has, a step takes only some of them.
static void document_is_read_in_parts(void **state)
{
    struct arena *arena = *state;
    enum { ITEMS = 5000 };
    AUTO_BUFFER text = {0};
    struct value *tree = NULL;
    enum yaml_step step = YAML_AGAIN;
    unsigned steps = 0;
    buffer_add_text(&text, "first: &a {x: [1, 2]}\nitems:\n");
    for (int i = 0; i < ITEMS; i++)
        buffer_printf(&text, "- {name: n%d, <<: {y: [%d]}}\n", i, i);
    buffer_add_text(&text, "last: *a\n---\nb: 2\n");
    CLEANUP(yaml_reader)
    struct yaml_reader *reader = yaml_reader_new(buffer_text(&text), &value_manifest_limits);
    for (; step == YAML_AGAIN; steps++)
        assert_true(yaml_reader_step(reader, arena, &tree, &step, NULL));
    assert_true(step == YAML_DOCUMENT && steps > ITEMS / 1000);
    assert_int_equal(value_count(value_find(tree, "items")), ITEMS);
    assert_int_equal(value_int_at(tree, "items[4999].y[0]", 0), 4999);
    assert_int_equal(value_int_at(tree, "last.x[1]", 0), 2);
    assert_true(yaml_reader_step(reader, arena, &tree, &step, NULL));
    assert_true(step == YAML_DOCUMENT && value_int_at(tree, "b", 0) == 2);
    assert_true(yaml_reader_step(reader, arena, &tree, &step, NULL));
    assert_true(step == YAML_OVER && !tree);
}

int main(void)
{
#define row(name) cmocka_unit_test_setup_teardown(name, make_arena, drop_arena)
    const struct CMUnitTest tests[] = {
        row(plain_scalars_mean_what_kubectl_takes_them_for),
        row(keys_that_are_no_text_become_text),
        row(positions_are_those_of_keys_and_values),
        row(plain_scalars_keep_what_was_typed),
        row(documents_come_one_by_one),
        row(document_is_read_in_parts),
        row(empty_streams_have_no_document),
        row(fault_ends_the_stream_but_not_what_came_before),
        row(aliases_are_copies_and_merges_yield_to_explicit_keys),
        row(aliases_cannot_bomb),
        row(depth_counts_through_aliases),
        row(duplicate_keys_are_refused_with_both_places),
        row(what_is_not_json_is_refused),
        row(syntax_errors_name_their_place),
        row(json_files_are_yaml_too),
        row(input_over_the_limit_is_refused),
        row(written_yaml_is_block_style_and_quotes_traps),
        row(any_text_survives_yaml_as_key_value_and_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
