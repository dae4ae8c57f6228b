#include "store/cluster/split.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

// What came: documents, each behind `|`; skipped ones as `~why:length of head|`.
struct heard {
    struct buffer all;
    size_t documents;
    size_t stop_after; // 0: never
    const char *last_at;
    size_t last_len;
};

static bool handle_reply(void *context, struct text document)
{
    struct heard *heard = context;
    buffer_add(&heard->all, document.at, document.len);
    buffer_add_char(&heard->all, '|');
    heard->last_at = document.at;
    heard->last_len = document.len;
    return ++heard->documents != heard->stop_after;
}

static void handle_skipped(void *context, struct text head, const char *why)
{
    struct heard *heard = context;
    buffer_printf(&heard->all, "~%s:%zu|", why, head.len);
}

static struct splitter *open_splitter(enum split_mode mode, struct heard *heard)
{
    struct splitter_sink sink = {handle_reply, handle_skipped, heard};
    return splitter_new(mode, &sink);
}

static bool feed_in_steps(struct splitter *splitter, struct text all, size_t step,
                          struct error *err)
{
    for (size_t at = 0; at < all.len; at += step) {
        size_t len = all.len - at < step ? all.len - at : step;
        autofree char *piece = mem_copy(all.at + at, len); // its end is known to the sanitizer
        if (!splitter_feed(splitter, (struct text){piece, len}, err))
            return false;
    }
    return true;
}

static void expect(enum split_mode mode, struct text all, const char *reported_text,
                   const char *frame)
{
    static const size_t steps[] = {1, 2, 3, 5, 7, 4096, SIZE_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct heard heard = {0};
        struct error err = {0};
        CLEANUP(splitter) struct splitter *splitter = open_splitter(mode, &heard);
        if (!feed_in_steps(splitter, all, steps[i], &err))
            fail_msg("step %zu: %s", steps[i], err.text);
        assert_true(splitter_is_done(splitter));
        assert_string_equal(buffer_text(&heard.all).at, reported_text);
        if (frame)
            assert_true(text_is(splitter_frame(splitter), frame));
        buffer_done(&heard.all);
    }
}

static void expect_events(const char *all, const char *reported_text)
{
    expect(SPLIT_EVENTS, text_of(all), reported_text, NULL);
}

static void expect_list(const char *all, const char *reported_text, const char *frame)
{
    expect(SPLIT_LIST, text_of(all), reported_text, frame);
}

static void expect_garbage(enum split_mode mode, struct text all, const char *text)
{
    for (size_t step = 1; step <= all.len; step++) {
        struct heard heard = {0};
        struct error err = {0};
        CLEANUP(splitter) struct splitter *splitter = open_splitter(mode, &heard);
        assert_false(feed_in_steps(splitter, all, step, &err));
        assert_int_equal(err.fault, FAULT_AGAIN);
        assert_string_equal(err.text, text);
        buffer_done(&heard.all);
    }
}

static void events_are_framed_by_themselves_at_every_cut(void **state)
{
    (void)state;
    expect_events("", "");
    expect_events("{\"a\":1}\n{\"b\":[2,{}]}\n", "{\"a\":1}|{\"b\":[2,{}]}|");
    expect_events("{}{} \t\r\n{}", "{}|{}|{}|");
    expect_events("{\"a\":-1.5e+3,\"b\":true,\"c\":null,\"d\":false}",
                  "{\"a\":-1.5e+3,\"b\":true,\"c\":null,\"d\":false}|");
}

static void brackets_in_strings_and_behind_escapes_count_for_nothing(void **state)
{
    (void)state;
    expect_events("{\"a\":\"}]{[\"}{\"\\\"}\":\"\\\\\"}", "{\"a\":\"}]{[\"}|{\"\\\"}\":\"\\\\\"}|");
    expect_events("{\"a\":\"\\u007d\xc3\xa4\"}", "{\"a\":\"\\u007d\xc3\xa4\"}|");
}

static void an_end_within_a_document_is_not_a_clean_one(void **state)
{
    (void)state;
    struct text all = TEXT("{\"a\":\"b\\\"\"}");
    for (size_t len = 1; len <= all.len; len++) {
        struct heard heard = {0};
        CLEANUP(splitter) struct splitter *splitter = open_splitter(SPLIT_EVENTS, &heard);
        assert_true(splitter_is_done(splitter));
        assert_true(splitter_feed(splitter, (struct text){all.at, len}, NULL));
        assert_int_equal(splitter_is_done(splitter), len == all.len);
        buffer_done(&heard.all);
    }
}

static void a_list_is_handed_out_by_item_and_keeps_its_frame(void **state)
{
    (void)state;
    expect_list("{\"kind\":\"ZoneList\",\"metadata\":{\"resourceVersion\":\"7\"},"
                "\"items\": [ {\"a\":1} , {\"items\":[1]},{} ]}\n",
                "{\"a\":1}|{\"items\":[1]}|{}|",
                "{\"kind\":\"ZoneList\",\"metadata\":{\"resourceVersion\":\"7\"},\"items\": []}");
    expect_list("{\"items\":[{}],\"metadata\":{\"continue\":\"x\"}}", "{}|",
                "{\"items\":[],\"metadata\":{\"continue\":\"x\"}}");
}

static void a_list_without_items_is_all_frame(void **state)
{
    (void)state;
    expect_list("{\"items\":[]}", "", "{\"items\":[]}");
    expect_list("{\"items\" : [ ] }", "", "{\"items\" : [] }");
    expect_list("{\"items\":null}", "", "{\"items\":null}");
    expect_list("{}", "", "{}");
}

static void only_the_key_items_of_the_list_itself_holds_documents(void **state)
{
    (void)state;
    expect_list("{\"a\":{\"items\":[1]},\"b\":\"items\",\"c\":[{}],\"items\":{\"d\":[2]}}", "",
                "{\"a\":{\"items\":[1]},\"b\":\"items\",\"c\":[{}],\"items\":{\"d\":[2]}}");
}

static void what_is_not_json_is_refused_at_its_octet(void **state)
{
    (void)state;
    expect_garbage(SPLIT_EVENTS, TEXT("<html>"), "octet 0 is not JSON");
    expect_garbage(SPLIT_EVENTS, TEXT("{} [1]"), "octet 3 is not JSON");
    expect_garbage(SPLIT_EVENTS, TEXT("{\"a\":[1}"), "octet 7 is not JSON");
    expect_garbage(SPLIT_EVENTS, TEXT("{\"a\":x}"), "octet 5 is not JSON");
    expect_garbage(SPLIT_EVENTS, TEXT("{\"a\":\"\n\"}"), "octet 6 is not JSON");
    expect_garbage(SPLIT_EVENTS, TEXT("{}\0"), "octet 2 is not JSON");
    expect_garbage(SPLIT_LIST, TEXT("[{}]"), "octet 0 is not JSON");
    expect_garbage(SPLIT_LIST, TEXT("{\"items\":[{},]}"), "octet 13 is not JSON");
    expect_garbage(SPLIT_LIST, TEXT("{\"items\":[{}{}]}"), "octet 12 is not JSON");
    expect_garbage(SPLIT_LIST, TEXT("{\"items\":[1]}"), "octet 10 is not JSON");
    expect_garbage(SPLIT_LIST, TEXT("{\"items\":[]} {}"), "octet 13 is not JSON");
}

static void add_nested(struct buffer *out, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        buffer_add_text(out, i + 1 < depth ? "{\"a\":" : "{");
    for (size_t i = 0; i < depth; i++)
        buffer_add_char(out, '}');
}

static void an_object_of_128_levels_comes_and_a_deeper_one_is_skipped(void **state)
{
    (void)state;
    AUTO_BUFFER list = {0}, heard = {0};
    buffer_add_text(&list, "{\"items\":[");
    add_nested(&list, SPLIT_DEPTH_MAX);
    buffer_add_char(&list, ',');
    add_nested(&list, SPLIT_DEPTH_MAX + 1);
    buffer_add_char(&list, ',');
    add_nested(&list, SPLIT_DEPTH_MAX + 500);
    buffer_add_text(&list, ",{}]}");
    add_nested(&heard, SPLIT_DEPTH_MAX);
    buffer_printf(&heard, "|~nested too deep:%d|~nested too deep:%d|{}|", 129 * 6 - 4, 628 * 6 - 4);
    expect(SPLIT_LIST, buffer_text(&list), heard.at, "{\"items\":[]}");
}

static void an_event_may_be_a_level_deeper_than_its_object(void **state)
{
    (void)state;
    AUTO_BUFFER events = {0}, heard = {0};
    add_nested(&events, SPLIT_DEPTH_MAX + 1);
    buffer_printf(&heard, "%s|~nested too deep:%d|", events.at, 130 * 6 - 4);
    add_nested(&events, SPLIT_DEPTH_MAX + 2);
    expect(SPLIT_EVENTS, buffer_text(&events), heard.at, NULL);
}

static void add_long(struct buffer *out, size_t len)
{
    static const char filler[] = "0123456789abcdef";
    buffer_add_text(out, "{\"a\":\"");
    for (len -= 8; len; len -= len < 16 ? len : 16)
        buffer_add(out, filler, len < 16 ? len : 16);
    buffer_add_text(out, "\"}");
}

static void handle_long_list(size_t step, struct text list, struct heard *heard)
{
    CLEANUP(splitter) struct splitter *splitter = open_splitter(SPLIT_LIST, heard);
    assert_true(feed_in_steps(splitter, list, step, NULL));
    assert_true(text_is(splitter_frame(splitter), "{\"items\":[]}"));
}

static void an_object_of_2_mib_comes_and_a_longer_one_is_skipped_to_its_end(void **state)
{
    (void)state;
    static const size_t steps[] = {1000, 16384, 3 * SPLIT_OCTETS_MAX};
    AUTO_BUFFER list = {0};
    buffer_add_text(&list, "{\"items\":[");
    add_long(&list, SPLIT_OCTETS_MAX);
    buffer_add_char(&list, ',');
    add_long(&list, SPLIT_OCTETS_MAX + 1);
    buffer_add_text(&list, ",{}]}");
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        struct heard heard = {0};
        handle_long_list(steps[i], buffer_text(&list), &heard);
        assert_int_equal(heard.documents, 2);
        struct text tail = buffer_text(&heard.all);
        assert_true(text_ends(tail, "|~too large:4096|{}|"));
        assert_int_equal(tail.len, SPLIT_OCTETS_MAX + sizeof "|~too large:4096|{}|" - 1);
        buffer_done(&heard.all);
    }
}

static void a_frame_without_end_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER list = {0};
    struct heard heard = {0};
    CLEANUP(splitter) struct splitter *splitter = open_splitter(SPLIT_LIST, &heard);
    add_long(&list, SPLIT_OCTETS_MAX + 1);
    assert_false(splitter_feed(splitter, buffer_text(&list), NULL));
}

static void a_document_in_one_piece_is_not_copied(void **state)
{
    (void)state;
    struct heard heard = {0};
    CLEANUP(splitter) struct splitter *splitter = open_splitter(SPLIT_EVENTS, &heard);
    struct text piece = TEXT(" {\"a\":1} ");
    assert_true(splitter_feed(splitter, piece, NULL));
    assert_ptr_equal(heard.last_at, piece.at + 1);
    buffer_done(&heard.all);
}

static void the_listener_ends_the_feeding(void **state)
{
    (void)state;
    struct heard heard = {.stop_after = 2};
    CLEANUP(splitter) struct splitter *splitter = open_splitter(SPLIT_EVENTS, &heard);
    assert_true(splitter_feed(splitter, TEXT("{}{}{}<"), NULL));
    assert_int_equal(heard.documents, 2);
    buffer_done(&heard.all);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_framed_by_themselves_at_every_cut),
        cmocka_unit_test(brackets_in_strings_and_behind_escapes_count_for_nothing),
        cmocka_unit_test(an_end_within_a_document_is_not_a_clean_one),
        cmocka_unit_test(a_list_is_handed_out_by_item_and_keeps_its_frame),
        cmocka_unit_test(a_list_without_items_is_all_frame),
        cmocka_unit_test(only_the_key_items_of_the_list_itself_holds_documents),
        cmocka_unit_test(what_is_not_json_is_refused_at_its_octet),
        cmocka_unit_test(an_object_of_128_levels_comes_and_a_deeper_one_is_skipped),
        cmocka_unit_test(an_event_may_be_a_level_deeper_than_its_object),
        cmocka_unit_test(an_object_of_2_mib_comes_and_a_longer_one_is_skipped_to_its_end),
        cmocka_unit_test(a_frame_without_end_is_refused),
        cmocka_unit_test(a_document_in_one_piece_is_not_copied),
        cmocka_unit_test(the_listener_ends_the_feeding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
