#include "store/cluster/kube_events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "store/cluster/test_kube_events_bench.h"
#include "store/cluster/test_server.h"

enum { SEEN_MAX = 4096, MINUTE_MS = 60 * 1000, QUEUE = 1000 };
static const int64_t start_ms = 1767323045250; // 2026-01-02T03:04:05.25Z

struct seen {
    bool is_patch;
    bool is_warning;
    int64_t at_ms;
    char name[64]; // of the Event
    char body[96]; // of a PATCH; of a POST: its note
};

struct bench {
    struct loop *loop;
    struct random random;
    struct world world;
    struct api api;
    struct log *log;
    struct kube_events *kube_events;
    struct object *www;
    struct seen *seen;
    size_t count;
    int status;       // to answer with; 0: as it should be
    const char *code; // of a Status
    unsigned clashes; // POSTs to be refused as there already
    bool is_lost;     // replies get lost, what was asked for is done
    char lines[4096];
    bool is_flushed;
};

static void fill(struct random *random, void *out, size_t len)
{
    (void)random;
    memset(out, 0x40, len);
}

static int answer(struct bench *bench, bool is_patch)
{
    if (bench->status)
        return bench->status;
    if (!is_patch && bench->clashes) {
        bench->clashes--;
        return 409;
    }
    return is_patch ? 200 : 201;
}

static void keep_event(struct seen *seen, const char *json)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct value *tree = value_read_json(arena, text_of(json), &value_reply_limits, NULL);
    assert_non_null(tree);
    text_clean_into(seen->name, sizeof seen->name, value_text_at(tree, "metadata.name"));
    text_clean_into(seen->body, sizeof seen->body, value_text_at(tree, "note"));
    seen->is_warning = text_is(value_text_at(tree, "type"), "Warning");
}

static void serve(void *context, const struct api_call *call, struct test_reply *reply)
{
    static const char events[] = "/apis/events.k8s.io/v1/namespaces/shop/events";
    struct bench *bench = context;
    struct seen *seen = &bench->seen[bench->count++];
    assert_true(bench->count <= SEEN_MAX);
    seen->is_patch = !strcmp(call->method, "PATCH");
    seen->at_ms = loop_mono_ms(bench->loop) - VIRTUAL_LOOP_START_MS;
    assert_memory_equal(call->path, events, strlen(events));
    if (seen->is_patch) {
        assert_string_equal(call->content_type, "application/merge-patch+json");
        snprintf(seen->body, sizeof seen->body, "%s", call->body);
        snprintf(seen->name, sizeof seen->name, "%.*s",
                 (int)(strchr(call->path, '?') - call->path - (ptrdiff_t)sizeof events),
                 call->path + sizeof events);
    } else {
        keep_event(seen, call->body);
    }
    reply->status = answer(bench, seen->is_patch);
    reply->code = bench->code;
}

static int64_t delay(void *context, bool is_reply)
{
    struct bench *bench = context;
    return is_reply && bench->is_lost ? TEST_LOST : 1;
}

static void on_line(void *context, struct text line)
{
    struct bench *bench = context;
    size_t used = strlen(bench->lines);
    snprintf(bench->lines + used, sizeof bench->lines - used, "%.*s", TEXT_ARGS(line));
}

static int64_t log_now(void *context)
{
    (void)context;
    return start_ms;
}

static int set_up(void **state)
{
    struct bench *bench = mem_new_of(struct bench);
    const struct log_sink sink = {on_line, log_now, bench};
    bench->loop = virtual_loop_new(start_ms);
    bench->random.fill = fill;
    bench->world = (struct world){.loop = bench->loop, .random = &bench->random};
    bench->api =
        (struct api){.loop = bench->loop, .serve = serve, .delay = delay, .context = bench};
    bench->log = log_new(&sink, LOG_TEXTUAL, LOG_INFO);
    bench->seen = mem_new_array(struct seen, SEEN_MAX);
    static const struct api_versions versions;
    bench->kube_events =
        kube_events_new(&bench->world, bench->log, &bench->api, &versions, "pod-1");
    bench->www = test_regarded(&thing_kind, "shop", "www");
    *state = bench;
    return 0;
}

static int tear_down(void **state)
{
    struct bench *bench = *state;
    kube_events_free(bench->kube_events);
    test_api_done(&bench->api);
    size_t timers = virtual_loop_timer_count(bench->loop);
    loop_free(bench->loop);
    log_free(bench->log);
    object_unref(bench->www);
    free(bench->seen);
    free(bench);
    return timers ? -1 : 0;
}

static void pass(struct bench *bench, int64_t ms)
{
    virtual_loop_run_until(bench->loop, loop_mono_ms(bench->loop) + ms);
}

static void note_of(struct bench *bench, const struct object *object, const char *reason,
                    bool is_warning)
{
    const struct kube_event event = {
        .regarding = object,
        .is_warning = is_warning,
        .reason = reason,
        .action = "Reconcile",
        .text = reason,
    };
    kube_events_add(bench->kube_events, &event);
}

static void event(struct bench *bench, const char *reason)
{
    note_of(bench, bench->www, reason, false);
}

// Notes that are all of different objects.
static void note_many(struct bench *bench, unsigned from, unsigned count, bool is_warning)
{
    for (unsigned i = from; i < from + count; i++) {
        char name[24];
        snprintf(name, sizeof name, "o%u", i);
        struct object *object = test_regarded(&thing_kind, "shop", name);
        note_of(bench, object, name, is_warning);
        object_unref(object);
    }
}

static void expect_metric(const struct bench *bench, const char *sample)
{
    AUTO_BUFFER out = {0};
    AUTO_BUFFER line = {0};
    buffer_printf(&line, "\n%s\n", sample);
    kube_events_write_metrics(bench->kube_events, &out);
    if (!strstr(out.at, line.at))
        fail_msg("no %s in:\n%s", sample, out.at);
}

// ---- series -------------------------------------------------------------------------------------

static void what_happens_once_is_one_event(void **state)
{
    struct bench *bench = *state;
    event(bench, "Made");
    pass(bench, 10);
    assert_int_equal(bench->count, 1);
    // 1767323045250 ms in hex ns
    assert_string_equal(bench->seen[0].name, "www.1886caf22b7ce480");
    assert_string_equal(bench->seen[0].body, "Made");
    expect_metric(bench, "signpost_events_sent_total 1");
}

static void its_second_time_makes_a_series_of_it(void **state)
{
    struct bench *bench = *state;
    event(bench, "Made");
    pass(bench, 1000);
    event(bench, "Made");
    pass(bench, 1000);
    assert_int_equal(bench->count, 2);
    assert_true(bench->seen[1].is_patch);
    assert_string_equal(bench->seen[1].name, bench->seen[0].name);
    assert_string_equal(
        bench->seen[1].body,
        "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-02T03:04:06.250000Z\"}}");
}

static void times_before_the_event_is_made_are_told_with_its_count(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 5; i++)
        event(bench, "Made");
    pass(bench, 1000);
    assert_int_equal(bench->count, 2);
    assert_non_null(strstr(bench->seen[1].body, "\"count\":5,"));
}

static void later_times_are_counted_and_refreshed_each_half_hour(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 65; i++) {
        event(bench, "Made");
        pass(bench, MINUTE_MS);
    }
    assert_int_equal(bench->count, 4);
    assert_non_null(strstr(bench->seen[1].body, "\"count\":2,"));
    assert_true(bench->seen[2].at_ms - bench->seen[1].at_ms >= 30 * MINUTE_MS);
    assert_true(bench->seen[2].at_ms - bench->seen[1].at_ms <= 31 * MINUTE_MS);
    assert_true(bench->seen[3].is_patch);
}

static void after_six_minutes_the_last_count_is_told_and_a_new_event_begins(void **state)
{
    struct bench *bench = *state;
    for (int i = 0; i < 4; i++) {
        event(bench, "Made");
        pass(bench, 1000);
    }
    pass(bench, 7 * MINUTE_MS);
    assert_int_equal(bench->count, 3);
    assert_non_null(strstr(bench->seen[2].body, "\"count\":4,"));
    event(bench, "Made");
    pass(bench, 10);
    assert_int_equal(bench->count, 4);
    assert_false(bench->seen[3].is_patch);
}

static void when_nothing_happens_nothing_is_left_to_wake_us(void **state)
{
    struct bench *bench = *state;
    event(bench, "Made");
    pass(bench, 8 * MINUTE_MS);
    assert_int_equal(virtual_loop_timer_count(bench->loop), 0);
}

static void a_series_whose_event_has_expired_begins_anew(void **state)
{
    struct bench *bench = *state;
    event(bench, "Made");
    pass(bench, 10);
    bench->status = 404;
    bench->code = "NotFound";
    event(bench, "Made");
    pass(bench, 10);
    bench->status = 0;
    event(bench, "Made");
    pass(bench, 10);
    assert_int_equal(bench->count, 3);
    assert_false(bench->seen[2].is_patch);
}

// ---- budget -------------------------------------------------------------------------------------

static void an_object_has_25_requests_and_then_one_each_5_minutes(void **state)
{
    struct bench *bench = *state;
    char reason[24];
    for (int i = 0; i < 40; i++) {
        snprintf(reason, sizeof reason, "Reason%d", i);
        event(bench, reason);
    }
    pass(bench, 1000);
    assert_int_equal(bench->count, 25);
    expect_metric(bench, "signpost_events_dropped_total{why=\"budget\"} 15");
    note_many(bench, 0, 1, false); // of another object
    pass(bench, 5 * MINUTE_MS);
    assert_int_equal(bench->count, 26);
    event(bench, "OneMore");
    event(bench, "TwoMore");
    pass(bench, 1000);
    assert_int_equal(bench->count, 27);
}

// ---- queue --------------------------------------------------------------------------------------

static void beyond_a_thousand_normal_notes_are_dropped(void **state)
{
    struct bench *bench = *state;
    note_many(bench, 0, QUEUE + 50, false);
    expect_metric(bench, "signpost_events_waiting 1000");
    expect_metric(bench, "signpost_events_dropped_total{why=\"queue_full\"} 50");
    pass(bench, 10000);
    assert_int_equal(bench->count, QUEUE);
    assert_string_equal(bench->seen[QUEUE - 1].body, "o999");
}

static void a_warning_pushes_out_the_oldest_normal_note(void **state)
{
    struct bench *bench = *state;
    note_many(bench, 0, QUEUE, false);
    note_many(bench, QUEUE, 2, true);
    expect_metric(bench, "signpost_events_dropped_total{why=\"queue_full\"} 2");
    pass(bench, 10000);
    assert_int_equal(bench->count, QUEUE);
    assert_string_equal(bench->seen[0].body, "o0"); // under way
    assert_string_equal(bench->seen[1].body, "o3");
    assert_string_equal(bench->seen[QUEUE - 1].body, "o1001");
    assert_true(bench->seen[QUEUE - 1].is_warning);
}

static void among_warnings_alone_the_newest_is_dropped(void **state)
{
    struct bench *bench = *state;
    note_many(bench, 0, QUEUE + 1, true);
    expect_metric(bench, "signpost_events_dropped_total{why=\"queue_full\"} 1");
    pass(bench, 10000);
    assert_string_equal(bench->seen[QUEUE - 1].body, "o999");
}

static void what_was_dropped_is_an_event_again_when_noted_again(void **state)
{
    struct bench *bench = *state;
    note_many(bench, 0, QUEUE + 1, false);
    pass(bench, 10000);
    note_many(bench, QUEUE, 1, false);
    pass(bench, 10);
    assert_int_equal(bench->count, QUEUE + 1);
    assert_false(bench->seen[QUEUE].is_patch);
    assert_string_equal(bench->seen[QUEUE].body, "o1000");
}

// ---- faults -------------------------------------------------------------------------------------

static void a_server_in_trouble_is_tried_twelve_times_ten_seconds_apart(void **state)
{
    struct bench *bench = *state;
    bench->status = 500;
    event(bench, "Made");
    pass(bench, 10 * MINUTE_MS);
    assert_int_equal(bench->count, 12);
    for (size_t i = 1; i < 12; i++) {
        int64_t apart_ms = bench->seen[i].at_ms - bench->seen[i - 1].at_ms;
        assert_true(apart_ms >= 7500 && apart_ms <= 12510);
    }
    expect_metric(bench, "signpost_events_dropped_total{why=\"failed\"} 1");
    assert_non_null(strstr(bench->lines, "Events cannot be written"));
    assert_null(strstr(strstr(bench->lines, "Events cannot") + 1, "Events cannot"));
}

static void a_name_that_is_taken_moves_on_by_a_nanosecond(void **state)
{
    struct bench *bench = *state;
    bench->clashes = 2;
    event(bench, "Made");
    pass(bench, 20);
    assert_int_equal(bench->count, 3);
    assert_string_equal(bench->seen[2].name, "www.1886caf22b7ce482");
    event(bench, "Made");
    pass(bench, 20);
    assert_string_equal(bench->seen[3].name, "www.1886caf22b7ce482");
}

static void notes_of_one_moment_have_names_of_their_own(void **state)
{
    struct bench *bench = *state;
    event(bench, "Made");
    event(bench, "Changed");
    pass(bench, 20);
    assert_int_equal(bench->count, 2);
    assert_string_not_equal(bench->seen[0].name, bench->seen[1].name);
}

static void an_event_whose_reply_got_lost_is_not_made_twice(void **state)
{
    struct bench *bench = *state;
    bench->is_lost = true;
    event(bench, "Made");
    pass(bench, 10100);
    bench->is_lost = false;
    bench->clashes = 1;
    pass(bench, MINUTE_MS);
    assert_int_equal(bench->count, 2);
    assert_string_equal(bench->seen[1].name, bench->seen[0].name);
    expect_metric(bench, "signpost_events_sent_total 1");
}

static void what_is_refused_is_dropped_and_its_neighbours_go_on(void **state)
{
    struct bench *bench = *state;
    bench->status = 403;
    bench->code = "Forbidden";
    event(bench, "Made");
    event(bench, "Changed");
    pass(bench, 10);
    bench->status = 0;
    event(bench, "Gone");
    pass(bench, 10);
    assert_int_equal(bench->count, 3);
    expect_metric(bench, "signpost_events_dropped_total{why=\"refused\"} 2");
}

static void a_namespace_that_is_gone_is_no_trouble(void **state)
{
    struct bench *bench = *state;
    bench->status = 404;
    bench->code = "NotFound";
    event(bench, "Made");
    pass(bench, 10);
    assert_string_equal(bench->lines, "");
    bench->status = 0;
    event(bench, "Changed");
    pass(bench, 10);
    assert_int_equal(bench->count, 2);
}

static void a_server_without_the_api_is_asked_once(void **state)
{
    struct bench *bench = *state;
    bench->status = 404;
    note_many(bench, 0, 10, false);
    pass(bench, 1000);
    note_many(bench, 10, 10, false);
    pass(bench, 1000);
    assert_int_equal(bench->count, 1);
    assert_non_null(strstr(bench->lines, "no events.k8s.io"));
    expect_metric(bench, "signpost_events_waiting 0");
}

// ---- leaving ------------------------------------------------------------------------------------

static void on_flushed(void *context)
{
    struct bench *bench = context;
    bench->is_flushed = true;
}

static void flushing_sends_what_waits_and_takes_no_more(void **state)
{
    struct bench *bench = *state;
    note_many(bench, 0, 20, false);
    kube_events_flush(bench->kube_events, 5000, on_flushed, bench);
    event(bench, "Late");
    pass(bench, 20);
    assert_false(bench->is_flushed);
    pass(bench, 30);
    assert_true(bench->is_flushed);
    assert_int_equal(bench->count, 20);
}

static void flushing_nothing_ends_at_once(void **state)
{
    struct bench *bench = *state;
    kube_events_flush(bench->kube_events, 5000, on_flushed, bench);
    assert_true(bench->is_flushed);
}

static void flushing_tries_at_once_what_waited_for_its_next_try(void **state)
{
    struct bench *bench = *state;
    bench->status = 500;
    event(bench, "Made");
    pass(bench, 100);
    bench->status = 0;
    kube_events_flush(bench->kube_events, 5000, on_flushed, bench);
    pass(bench, 10);
    assert_true(bench->is_flushed);
    assert_int_equal(bench->count, 2);
}

static void flushing_ends_when_its_time_is_over(void **state)
{
    struct bench *bench = *state;
    bench->is_lost = true;
    note_many(bench, 0, 5, false);
    kube_events_flush(bench->kube_events, 5000, on_flushed, bench);
    pass(bench, 4990);
    assert_false(bench->is_flushed);
    pass(bench, 20);
    assert_true(bench->is_flushed);
}

int main(void)
{
#define UNIT(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        UNIT(what_happens_once_is_one_event),
        UNIT(its_second_time_makes_a_series_of_it),
        UNIT(times_before_the_event_is_made_are_told_with_its_count),
        UNIT(later_times_are_counted_and_refreshed_each_half_hour),
        UNIT(after_six_minutes_the_last_count_is_told_and_a_new_event_begins),
        UNIT(when_nothing_happens_nothing_is_left_to_wake_us),
        UNIT(a_series_whose_event_has_expired_begins_anew),
        UNIT(an_object_has_25_requests_and_then_one_each_5_minutes),
        UNIT(beyond_a_thousand_normal_notes_are_dropped),
        UNIT(a_warning_pushes_out_the_oldest_normal_note),
        UNIT(among_warnings_alone_the_newest_is_dropped),
        UNIT(what_was_dropped_is_an_event_again_when_noted_again),
        UNIT(a_server_in_trouble_is_tried_twelve_times_ten_seconds_apart),
        UNIT(a_name_that_is_taken_moves_on_by_a_nanosecond),
        UNIT(notes_of_one_moment_have_names_of_their_own),
        UNIT(an_event_whose_reply_got_lost_is_not_made_twice),
        UNIT(what_is_refused_is_dropped_and_its_neighbours_go_on),
        UNIT(a_namespace_that_is_gone_is_no_trouble),
        UNIT(a_server_without_the_api_is_asked_once),
        UNIT(flushing_sends_what_waits_and_takes_no_more),
        UNIT(flushing_nothing_ends_at_once),
        UNIT(flushing_tries_at_once_what_waited_for_its_next_try),
        UNIT(flushing_ends_when_its_time_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
