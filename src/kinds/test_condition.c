#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/condition.h"
#include "kinds/test_quote.h"

static const char *const types[] = {"Ready", "Accepted", NULL};

static struct condition ready(enum condition_status status, enum reason reason)
{
    return (struct condition){.type = "Ready",
                              .status = status,
                              .reason = reason,
                              .message = "text",
                              .observed_generation = 4};
}

static void transition_time_moves_only_with_the_status(void **state)
{
    (void)state;
    struct conditions old = {0};
    struct conditions same = {0};
    struct conditions other = {0};
    conditions_set(&old, NULL, ready(CONDITION_TRUE, REASON_RECORD_CREATED), 100);
    conditions_set(&same, &old, ready(CONDITION_TRUE, REASON_RECORD_UPDATED), 200);
    conditions_set(&other, &old, ready(CONDITION_FALSE, REASON_SERVER_ERROR), 200);
    assert_int_equal(conditions_find(&old, "Ready")->transition_s, 100);
    assert_int_equal(conditions_find(&same, "Ready")->transition_s, 100);
    assert_int_equal(conditions_find(&other, "Ready")->transition_s, 200);
}

static void setting_a_type_again_replaces_it_in_place(void **state)
{
    (void)state;
    struct conditions conditions = {0};
    conditions_set(&conditions, NULL, ready(CONDITION_TRUE, REASON_RECORD_CREATED), 100);
    conditions_set(&conditions, NULL,
                   (struct condition){.type = "Accepted", .reason = REASON_ACCEPTED}, 100);
    conditions_set(&conditions, NULL, ready(CONDITION_FALSE, REASON_CONFLICT), 300);
    assert_int_equal(conditions.count, 2);
    assert_int_equal(conditions.items[0].reason, REASON_CONFLICT);
}

static void every_reason_is_found_by_its_name(void **state)
{
    (void)state;
    for (int i = REASON_NONE + 1; i < REASONS; i++)
        assert_int_equal(reason_find(text_of(reason_name((enum reason)i))), i);
    assert_int_equal(reason_find(TEXT("Sunday")), REASON_NONE);
    assert_int_equal(reason_find((struct text){0}), REASON_NONE);
}

static void conditions_survive_encoding_and_packing(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct conditions set = {0};
    struct conditions decoded, unpacked;
    conditions_set(&set, NULL, ready(CONDITION_FALSE, REASON_SERVER_ERROR), 1767092400);
    conditions_set(
        &set, NULL,
        (struct condition){.type = "Accepted", .status = CONDITION_TRUE, .reason = REASON_ACCEPTED},
        1767092300);
    conditions_decode(&decoded, conditions_encode(arena, &set), types);
    struct pack_writer out;
    pack_init(&out);
    conditions_pack(&out, &decoded, types, 1700000000);
    struct pack_reader in = pack_open(buffer_text(&out.out));
    conditions_unpack(&in, &unpacked, types, 1700000000);
    assert_int_equal(unpacked.count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_ptr_equal(unpacked.items[i].type, types[i]);
        assert_int_equal(unpacked.items[i].status, set.items[i].status);
        assert_int_equal(unpacked.items[i].reason, set.items[i].reason);
        assert_int_equal(unpacked.items[i].transition_s, set.items[i].transition_s);
    }
    pack_done(&out);
}

static void unknown_types_are_left_out_when_decoding(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct conditions out;
    conditions_decode(&out,
                      quote(arena, "[{'type':'Verified','status':'True'},"
                                   "{'type':'Ready','status':'False','reason':'Odd',"
                                   "'lastTransitionTime':'rubbish'},'text',7]"),
                      types);
    assert_int_equal(out.count, 1);
    assert_int_equal(out.items[0].status, CONDITION_FALSE);
    assert_int_equal(out.items[0].reason, REASON_NONE);
    assert_int_equal(out.items[0].transition_s, 0);
}

static void messages_are_cleaned_and_cut(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    char *text = arena_alloc(arena, 3001, 1);
    memset(text, 'x', 3000);
    text[5] = '\033';
    struct conditions conditions = {0};
    struct condition condition = ready(CONDITION_FALSE, REASON_SERVER_ERROR);
    condition.message = text;
    conditions_set(&conditions, NULL, condition, 1);
    struct text message = value_text_at(conditions_encode(arena, &conditions)->first, "message");
    assert_int_equal(message.len, CONDITION_TEXT_MAX);
    assert_int_equal(message.at[5], ' ');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transition_time_moves_only_with_the_status),
        cmocka_unit_test(setting_a_type_again_replaces_it_in_place),
        cmocka_unit_test(every_reason_is_found_by_its_name),
        cmocka_unit_test(conditions_survive_encoding_and_packing),
        cmocka_unit_test(unknown_types_are_left_out_when_decoding),
        cmocka_unit_test(messages_are_cleaned_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
