#include "kinds/text_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static void entries_come_back_in_their_order_and_other_things_are_left_out(void **state)
{
    size_t count;
    struct pack_writer out;
    (void)state;
    pack_init(&out);
    text_map_pack(&out, quote(arena, "{'b':'2','n':7,'a':'','l':['x'],'c':'2'}"));
    text_map_pack(&out, quote(arena, "['b']"));
    text_map_pack(&out, NULL);
    pack_number(&out, 7);
    struct pack_reader in = pack_open(buffer_text(&out.out));
    const struct text_pair *pairs = text_map_unpack(arena, &in, &count);
    assert_int_equal(count, 3);
    assert_true(text_is(pairs[0].key, "b") && text_is(pairs[1].key, "a"));
    assert_true(text_is(text_map_find(pairs, count, TEXT("c")), "2"));
    assert_non_null(text_map_find(pairs, count, TEXT("a")).at);
    assert_null(text_map_find(pairs, count, TEXT("n")).at);
    text_map_unpack(arena, &in, &count);
    assert_int_equal(count, 0);
    text_map_skip(&in);
    assert_int_equal(unpack_number(&in), 7);
    pack_done(&out);
}

static void a_tree_and_a_body_give_the_same_entries(void **state)
{
    size_t count;
    (void)state;
    const struct text_pair *pairs =
        text_map_make(arena, quote(arena, "{'b':'2','n':7,'a':''}"), &count);
    assert_int_equal(count, 2);
    assert_true(text_is(pairs[0].value, "2") && text_is(pairs[1].key, "a"));
    text_map_make(arena, NULL, &count);
    assert_int_equal(count, 0);
}

static void a_domain_may_stand_below_another_name(void **state)
{
    size_t count;
    struct pack_writer out;
    (void)state;
    pack_init(&out);
    text_map_pack_of(&out,
                     quote(arena, "{'g.org/name':'1','users.g.org/a':'2','xg.org/b':'3','g.org':"
                                  "'4','org/c':'5','g.org/n':7}"),
                     "g.org");
    struct pack_reader in = pack_open(buffer_text(&out.out));
    const struct text_pair *pairs = text_map_unpack(arena, &in, &count);
    assert_int_equal(count, 2);
    assert_true(text_is(pairs[0].value, "1") && text_is(pairs[1].value, "2"));
    pack_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(entries_come_back_in_their_order_and_other_things_are_left_out),
        UNIT(a_tree_and_a_body_give_the_same_entries),
        UNIT(a_domain_may_stand_below_another_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
