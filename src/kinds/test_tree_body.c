#include "kinds/tree_body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static void a_tree_is_packed_as_json(void **state)
{
    struct pack_writer out;
    (void)state;
    pack_init(&out);
    tree_pack(&out, quote(arena, "{'n':5,'t':['10%',true]}"));
    tree_pack(&out, NULL);
    tree_pack(&out, quote(arena, "{'x':1.5}"));
    struct pack_reader in = pack_open(buffer_text(&out.out));
    assert_true(text_is(unpack_text(&in), quote_text(arena, "{'n':5,'t':['10%',true]}")));
    assert_null(tree_unpack(arena, &in));
    assert_string_equal(json_of(tree_unpack(arena, &in)), "{\"x\":1.5}");
    pack_done(&out);
}

static void only_what_people_say_to_us_is_kept_of_an_object(void **state)
{
    struct pack_writer out;
    (void)state;
    pack_init(&out);
    object_tree_pack(quote(arena, "{'metadata':{'name':'a','labels':{'b':'c'},'annotations':{"
                                  "'dns.homelab.mortenolsen.pro/name':'A','other/name':'B'}},"
                                  "'spec':{'x':[1]},'status':{}}"),
                     &out);
    object_tree_pack(quote(arena, "{}"), &out);
    struct pack_reader in = pack_open(buffer_text(&out.out));
    assert_string_equal(json_of(tree_unpack(arena, &in)),
                        quote_text(arena, "{'metadata':{'name':'a','annotations':{"
                                          "'dns.homelab.mortenolsen.pro/name':'A'}},"
                                          "'spec':{'x':[1]}}"));
    assert_non_null(tree_unpack(arena, &in));
    pack_done(&out);
}

// JSON may take six octets for one that YAML has.
static void a_tree_reads_back_however_large_its_text_is(void **state)
{
    enum { OCTETS = 3 << 20 };
    struct pack_writer out;
    char *octets = arena_alloc(arena, OCTETS, 1);
    (void)state;
    memset(octets, 1, OCTETS);
    pack_init(&out);
    tree_pack(&out, value_make_text(arena, (struct text){octets, OCTETS}));
    struct pack_reader in = pack_open(buffer_text(&out.out));
    assert_int_equal(tree_unpack(arena, &in)->text.len, OCTETS);
    pack_done(&out);
}

// Aliases of YAML make more values than a document has of its own.
static void a_tree_reads_back_however_many_values_it_has(void **state)
{
    enum { VALUES = (1 << 20) + 1 };
    struct pack_writer out;
    struct value *list = value_make(arena, VALUE_LIST);
    (void)state;
    for (size_t i = 0; i < VALUES; i++)
        value_append(list, value_make(arena, VALUE_NULL));
    pack_init(&out);
    tree_pack(&out, list);
    struct pack_reader in = pack_open(buffer_text(&out.out));
    assert_int_equal(value_count(tree_unpack(arena, &in)), VALUES);
    pack_done(&out);
}

// An API server lets an object nest deeper than a manifest may.
static void a_tree_reads_back_however_deep_it_is(void **state)
{
    enum { DEPTH = 200 };
    struct pack_writer out;
    struct value *tree = value_make(arena, VALUE_LIST);
    (void)state;
    for (size_t i = 0; i < DEPTH; i++) {
        struct value *around = value_make(arena, VALUE_LIST);
        value_append(around, tree);
        tree = around;
    }
    pack_init(&out);
    tree_pack(&out, tree);
    struct pack_reader in = pack_open(buffer_text(&out.out));
    assert_true(value_equal(tree_unpack(arena, &in), tree));
    pack_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_tree_is_packed_as_json),
        UNIT(a_tree_reads_back_however_large_its_text_is),
        UNIT(a_tree_reads_back_however_many_values_it_has),
        UNIT(a_tree_reads_back_however_deep_it_is),
        UNIT(only_what_people_say_to_us_is_kept_of_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
