#include "kinds/tree_body.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_tree_is_packed_as_json),
        UNIT(only_what_people_say_to_us_is_kept_of_an_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
