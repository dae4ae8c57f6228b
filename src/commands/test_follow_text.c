#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "commands/follow_text.h"

static const struct save web_saved = {.path = "web.yaml", .at_ms = 1000};
static const struct save web_deleted = {.path = "web.yaml", .at_ms = 1000, .is_deletion = true};

static struct view_row row_of(const struct text *value)
{
    return (struct view_row){.object = "DNSRecord/default/web",
                             .path = "web.yaml",
                             .what = "www.example.com A",
                             .ready = "True",
                             .reason = "RecordCreated",
                             .message = "",
                             .is_right = true,
                             .has_question = true,
                             .question = {.name = TEXT("www.example.com"),
                                          .type = 1,
                                          .ttl_s = 300,
                                          .set = {.type = RECORD_A,
                                                  .domain = TEXT("example.com"),
                                                  .subdomain = TEXT("www"),
                                                  .ttl_s = 300,
                                                  .values = value,
                                                  .value_count = 1,
                                                  .priority = -1,
                                                  .weight = -1,
                                                  .port = -1}},
                             .answer_text = ""};
}

static const struct text one = TEXT("192.0.2.1");
static const struct text two = TEXT("192.0.2.2");

static struct view_row answered(enum answer answer, const char *text)
{
    struct view_row row = row_of(&one);
    row.answer = answer;
    row.answer_text = text;
    row.answer_ttl_s = 60;
    return row;
}

static void assert_change(const struct change *change, const char *expected)
{
    AUTO_BUFFER out = {0};
    follow_write_change(&out, change, 1131);
    assert_string_equal(out.at, expected);
}

static void assert_row(const struct view_row *row, const char *expected)
{
    AUTO_BUFFER out = {0};
    follow_write_row(&out, row);
    assert_string_equal(out.at, expected);
}

// ---- lines --------------------------------------------------------------------------------------

static void changed_value_is_told_with_its_latency(void **state)
{
    (void)state;
    struct change change = {
        .row = answered(ANSWER_OK, "192.0.2.1"), .before = "192.0.2.9", .save = &web_saved};
    assert_change(&change, "www.example.com A  192.0.2.9 -> 192.0.2.1  "
                           "answered 131 ms after the save of web.yaml");
}

static void removed_record_is_told_from_the_deletion_of_its_file(void **state)
{
    (void)state;
    struct change change = {.row = answered(ANSWER_NONE, "NXDOMAIN"),
                            .before = "192.0.2.1",
                            .save = &web_deleted,
                            .is_removal = true};
    assert_change(&change, "www.example.com A  192.0.2.1 -> nothing  "
                           "answered 131 ms after web.yaml was deleted");
}

static void clock_that_steps_back_gives_no_negative_latency(void **state)
{
    (void)state;
    struct save later = web_saved;
    later.at_ms = 2000;
    struct change change = {.row = answered(ANSWER_OK, "192.0.2.1"), .save = &later};
    assert_change(&change, "www.example.com A  192.0.2.1  answered 0 ms after the save of "
                           "web.yaml");
}

static void new_ttl_of_the_same_values_is_told(void **state)
{
    (void)state;
    struct change change = {.row = answered(ANSWER_OK, "192.0.2.1"),
                            .before = "192.0.2.1",
                            .before_ttl_s = 300,
                            .save = &web_saved};
    assert_change(&change, "www.example.com A  192.0.2.1 (TTL now 60)  "
                           "answered 131 ms after the save of web.yaml");
}

static void many_values_are_cut_and_the_latency_stays(void **state)
{
    (void)state;
    AUTO_BUFFER many = {0};
    for (int i = 0; i < 256; i++)
        buffer_printf(&many, "%s%03d", i ? ", " : "", i);
    struct change change = {
        .row = answered(ANSWER_OK, many.at), .before = "192.0.2.9", .save = &web_saved};
    assert_change(&change, "www.example.com A  192.0.2.9 -> "
                           "000, 001, 002, 003, 004, 005, 006, 007, 008, 009, 010, 01...  "
                           "answered 131 ms after the save of web.yaml");
    change.row.answer = ANSWER_DIFFERS;
    AUTO_BUFFER out = {0};
    follow_write_overdue(&out, &change, 5);
    assert_true(out.len < 200);
    struct view_row row = change.row;
    buffer_clear(&out);
    follow_write_row(&out, &row);
    assert_true(out.len < 200);
}

static void long_latency_is_told_in_seconds(void **state)
{
    (void)state;
    struct save early = web_saved;
    early.at_ms = 1131 - 72345;
    struct change change = {
        .row = answered(ANSWER_OK, "192.0.2.1"), .before = "192.0.2.9", .save = &early};
    assert_change(&change, "www.example.com A  192.0.2.9 -> 192.0.2.1  "
                           "answered 72.3 s after the save of web.yaml");
}

static void record_that_takes_a_name_over_is_named(void **state)
{
    (void)state;
    struct change change = {.row = answered(ANSWER_OK, "192.0.2.1"),
                            .before = "192.0.2.9",
                            .save = &web_saved,
                            .is_quiet = true};
    assert_change(&change, "www.example.com A  192.0.2.9 -> 192.0.2.1  "
                           "answered 131 ms after the save of web.yaml, for default/web");
}

static void change_that_does_not_come_says_what_is_answered(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    struct change change = {.row = answered(ANSWER_DIFFERS, "192.0.2.9"), .save = &web_saved};
    follow_write_overdue(&out, &change, 5);
    assert_string_equal(out.at, "www.example.com A  not answered as declared within 5 s after the "
                                "save of web.yaml; answered: 192.0.2.9");
}

static void rows_say_what_is_wrong(void **state)
{
    (void)state;
    struct view_row row = answered(ANSWER_OK, "192.0.2.1");
    assert_row(&row, "DNSRecord/default/web  www.example.com A  ready");
    row = answered(ANSWER_NONE, "NXDOMAIN");
    assert_row(&row, "DNSRecord/default/web  www.example.com A  ready, but answered: nothing");
    row = answered(ANSWER_DIFFERS, "192.0.2.9");
    row.is_right = false;
    row.reason = "Conflict";
    row.message = "held by default/other";
    assert_row(&row, "DNSRecord/default/web  www.example.com A  Conflict: held by default/other");
    row.answer = ANSWER_OK;
    row.answer_text = "192.0.2.1";
    assert_row(&row, "DNSRecord/default/web  www.example.com A  Conflict: held by default/other; "
                     "still answered: 192.0.2.1");
    row.is_ahead = true;
    assert_row(&row, "DNSRecord/default/web  www.example.com A  Conflict: held by default/other");
}

// ---- judging ------------------------------------------------------------------------------------

static void change_is_done_when_the_answer_is_as_declared(void **state)
{
    (void)state;
    struct change change = {.row = answered(ANSWER_DIFFERS, "192.0.2.9")};
    assert_int_equal(follow_judge(&change), CHANGE_WAITING);
    change.row.answer = ANSWER_FAILED;
    assert_int_equal(follow_judge(&change), CHANGE_WAITING);
    change.row.answer = ANSWER_OK;
    assert_int_equal(follow_judge(&change), CHANGE_DONE);
}

static void declared_ttl_is_waited_for(void **state)
{
    (void)state;
    struct change change = {.row = answered(ANSWER_OK, "192.0.2.1")};
    change.row.question.has_ttl = true;
    assert_int_equal(follow_judge(&change), CHANGE_WAITING);
    change.row.answer_ttl_s = 300;
    assert_int_equal(follow_judge(&change), CHANGE_DONE);
}

static void failures_of_the_far_side_are_tried_again(void **state)
{
    (void)state;
    struct view_row row = row_of(&one);
    row.reason = "ServerUnreachable";
    assert_true(follow_is_retried(&row));
    row.reason = "ValidationFailed";
    assert_false(follow_is_retried(&row));
    row.reason = "Conflict";
    assert_false(follow_is_retried(&row));
}

static void ttl_that_is_no_longer_declared_has_to_go(void **state)
{
    (void)state;
    struct change change = {.row = answered(ANSWER_OK, "192.0.2.1"), .before_ttl_s = 60};
    assert_int_equal(follow_judge(&change), CHANGE_WAITING);
    change.row.answer_ttl_s = 300;
    assert_int_equal(follow_judge(&change), CHANGE_DONE);
}

static void removal_is_done_when_nothing_is_answered(void **state)
{
    (void)state;
    struct change change = {.row = answered(ANSWER_OK, "192.0.2.1"), .is_removal = true};
    assert_int_equal(follow_judge(&change), CHANGE_WAITING);
    change.row.answer = ANSWER_DIFFERS;
    assert_int_equal(follow_judge(&change), CHANGE_REPLACED);
    change.row.answer = ANSWER_NONE;
    assert_int_equal(follow_judge(&change), CHANGE_DONE);
}

static void save_covers_its_file_and_what_was_in_its_folder(void **state)
{
    (void)state;
    const struct save folder = {.path = "sub"};
    assert_true(follow_save_covers(&web_saved, "web.yaml"));
    assert_false(follow_save_covers(&web_saved, "web.yaml2"));
    assert_false(follow_save_covers(&web_saved, "sub/web.yaml"));
    assert_true(follow_save_covers(&folder, "sub/web.yaml"));
    assert_false(follow_save_covers(&folder, "subway.yaml"));
}

// ---- from view to view --------------------------------------------------------------------------

struct pair {
    struct view old;
    struct view now;
    struct view_row rows[2];
};

static void carry(struct pair *pair, struct view_row old, struct view_row now)
{
    pair->rows[0] = old;
    pair->rows[1] = now;
    pair->old = (struct view){.arena = arena_new(), .rows = &pair->rows[0], .count = 1};
    pair->now = (struct view){.arena = arena_new(), .rows = &pair->rows[1], .count = 1};
    follow_carry(&pair->now, &pair->old);
}

static void pair_done(struct pair *pair)
{
    arena_free(pair->old.arena);
    arena_free(pair->now.arena);
}

static void answer_is_kept_while_the_same_is_declared(void **state)
{
    (void)state;
    struct pair pair;
    carry(&pair, answered(ANSWER_OK, "192.0.2.1"), row_of(&one));
    assert_int_equal(pair.rows[1].answer, ANSWER_OK);
    assert_string_equal(pair.rows[1].answer_text, "192.0.2.1");
    pair_done(&pair);
    carry(&pair, answered(ANSWER_OK, "192.0.2.1"), row_of(&two));
    assert_int_equal(pair.rows[1].answer, ANSWER_NOT_ASKED);
    pair_done(&pair);
}

static void refused_manifest_keeps_what_the_last_good_one_declared(void **state)
{
    (void)state;
    struct pair pair;
    struct view_row refused = row_of(&two);
    refused.has_question = false;
    refused.is_refused = true;
    carry(&pair, answered(ANSWER_OK, "192.0.2.1"), refused);
    assert_true(pair.rows[1].has_question);
    assert_true(text_is(pair.rows[1].question.set.values[0], "192.0.2.1"));
    assert_int_equal(pair.rows[1].answer, ANSWER_OK);
    pair_done(&pair);
}

static void gone_manifest_declares_nothing(void **state)
{
    (void)state;
    struct pair pair;
    struct view_row gone = row_of(&one);
    gone.has_question = false;
    gone.is_gone = true;
    carry(&pair, answered(ANSWER_OK, "192.0.2.1"), gone);
    assert_false(pair.rows[1].has_question);
    pair_done(&pair);
}

static void declared_anew_is_name_type_values_or_ttl(void **state)
{
    (void)state;
    struct view_row row = row_of(&one);
    struct view_row other = row;
    assert_false(follow_is_declared_anew(&row, &other));
    other.question.ttl_s = 60;
    assert_true(follow_is_declared_anew(&row, &other));
    other = row_of(&two);
    assert_true(follow_is_declared_anew(&row, &other));
    other = row;
    other.question.name = TEXT("w.example.com");
    assert_true(follow_is_declared_anew(&row, &other));
    other = row;
    other.question.type = 28;
    assert_true(follow_is_declared_anew(&row, &other));
}

static void one_record_of_a_set_is_told_by_its_data(void **state)
{
    (void)state;
    struct view_row row = row_of(&one);
    row.question.set = (struct record_set){0};
    row.question.rdata = TEXT("\xc0\x00\x02\x01");
    struct view_row other = row;
    assert_false(follow_is_declared_anew(&row, &other));
    other.question.rdata = TEXT("\xc0\x00\x02\x02");
    assert_true(follow_is_declared_anew(&row, &other));
    assert_true(follow_is_same_question(&row, &other));
    other = row_of(&one);
    assert_true(follow_is_declared_anew(&row, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_value_is_told_with_its_latency),
        cmocka_unit_test(removed_record_is_told_from_the_deletion_of_its_file),
        cmocka_unit_test(clock_that_steps_back_gives_no_negative_latency),
        cmocka_unit_test(new_ttl_of_the_same_values_is_told),
        cmocka_unit_test(many_values_are_cut_and_the_latency_stays),
        cmocka_unit_test(long_latency_is_told_in_seconds),
        cmocka_unit_test(record_that_takes_a_name_over_is_named),
        cmocka_unit_test(change_that_does_not_come_says_what_is_answered),
        cmocka_unit_test(rows_say_what_is_wrong),
        cmocka_unit_test(change_is_done_when_the_answer_is_as_declared),
        cmocka_unit_test(declared_ttl_is_waited_for),
        cmocka_unit_test(failures_of_the_far_side_are_tried_again),
        cmocka_unit_test(one_record_of_a_set_is_told_by_its_data),
        cmocka_unit_test(ttl_that_is_no_longer_declared_has_to_go),
        cmocka_unit_test(removal_is_done_when_nothing_is_answered),
        cmocka_unit_test(save_covers_its_file_and_what_was_in_its_folder),
        cmocka_unit_test(answer_is_kept_while_the_same_is_declared),
        cmocka_unit_test(refused_manifest_keeps_what_the_last_good_one_declared),
        cmocka_unit_test(gone_manifest_declares_nothing),
        cmocka_unit_test(declared_anew_is_name_type_values_or_ttl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
