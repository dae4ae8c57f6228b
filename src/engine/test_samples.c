#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/state.h"

enum { KEYS = 3 };

static const struct controller_metric pods = {
    .name = "made_up_pods", .type = METRIC_GAUGE, .label = "state", .help = "Pods."};
static const struct controller_metric seen = {
    .name = "made_up_seen", .type = METRIC_GAUGE, .help = "Time."};
static const struct controller_metric errors = {
    .name = "made_up_errors_total", .type = METRIC_COUNT, .help = "Errors."};
static const struct controller_metric turns = {
    .name = "made_up_turns_total", .type = METRIC_COUNT, .label = "side", .help = "Turns."};
static const struct controller_metric drains = {
    .name = "made_up_drain_seconds", .type = METRIC_SECONDS, .help = "Drains."};
static const struct controller_metric *const all[] = {&pods, &seen, &errors, &turns};

// As much of an engine as samples look at.
struct rig {
    struct engine engine;
    struct controller_state state;
    struct buffer text;
};

static int rig_open(void **state)
{
    struct rig *rig = mem_new_of(struct rig);
    rig->engine.controllers = &rig->state;
    rig->engine.keys = mem_new_array(struct key, KEYS);
    *state = rig;
    return 0;
}

static int rig_close(void **state)
{
    struct rig *rig = *state;
    samples_done(&rig->state.samples);
    buffer_done(&rig->text);
    free(rig->engine.keys);
    free(rig);
    return 0;
}

static void count(struct rig *rig, uint32_t key, const struct controller_metric *metric,
                  const char *label, int64_t value)
{
    samples_count(&rig->engine, key,
                  &(struct decision_sample){.metric = metric, .label = label, .value = value});
}

static void assert_metrics(struct rig *rig, const char *text)
{
    buffer_done(&rig->text);
    for (size_t i = 0; i < COUNT_OF(all); i++)
        samples_write(&rig->state.samples, all[i], &rig->text);
    assert_string_equal(rig->text.at, text);
}

static void gauges_show_what_the_last_decisions_of_all_keys_say(void **state)
{
    struct rig *rig = *state;
    struct decision first = {0};
    struct decision second = {0};
    decision_add_sample(&first, &pods, "old", 2);
    decision_add_sample(&first, &pods, "new", 1);
    decision_add_sample(&first, &seen, NULL, 17);
    decision_add_sample(&second, &pods, "old", 40);
    samples_replace(&rig->engine, 0, &first);
    samples_replace(&rig->engine, 0, &first);
    samples_replace(&rig->engine, 1, &second);
    assert_metrics(rig, "made_up_pods{state=\"old\"} 42\nmade_up_pods{state=\"new\"} 1\n"
                        "made_up_seen 17\nmade_up_errors_total 0\n");
    samples_replace(&rig->engine, 0, &(struct decision){0});
    assert_metrics(rig, "made_up_pods{state=\"old\"} 40\nmade_up_errors_total 0\n");
    samples_forget(&rig->engine, 1);
    assert_metrics(rig, "made_up_errors_total 0\n");
}

static void counters_outlive_the_keys_that_counted(void **state)
{
    struct rig *rig = *state;
    struct decision decision = {0};
    count(rig, 0, &errors, NULL, 1);
    count(rig, 1, &errors, NULL, 2);
    count(rig, 2, &turns, "left", 1);
    count(rig, 2, &turns, "right", 5);
    count(rig, 0, &turns, "left", 1);
    samples_replace(&rig->engine, 0, &decision);
    samples_forget(&rig->engine, 1);
    samples_forget(&rig->engine, 2);
    assert_metrics(rig, "made_up_errors_total 3\nmade_up_turns_total{side=\"left\"} 2\n"
                        "made_up_turns_total{side=\"right\"} 5\n");
}

static void a_decision_counts_when_its_report_is_sent(void **state)
{
    struct rig *rig = *state;
    struct decision decision = {.programmed_ms = 1500};
    decision_add_sample(&decision, &pods, "old", 1);
    decision_add_sample(&decision, &errors, NULL, 1);
    CLEANUP(report) struct report *report = report_new(&decision);
    assert_metrics(rig, "made_up_errors_total 0\n");
    report_send(&rig->engine, 0, report, NULL);
    assert_metrics(rig, "made_up_errors_total 1\n");
    assert_int_equal(rig->state.programmed_seconds.count, 1);
    const struct decision quiet = {.samples = {{.metric = &pods, .label = "old", .value = 1}},
                                   .sample_count = 1};
    assert_null(report_new(&quiet));
}

static void times_add_up_with_how_many_there_were(void **state)
{
    struct rig *rig = *state;
    struct decision decision = {0};
    samples_write(&rig->state.samples, &drains, &rig->text);
    assert_string_equal(rig->text.at,
                        "made_up_drain_seconds_sum 0\nmade_up_drain_seconds_count 0\n");
    buffer_done(&rig->text);
    decision_add_sample(&decision, &drains, NULL, 90);
    CLEANUP(report) struct report *report = report_new(&decision);
    report_send(&rig->engine, 0, report, NULL);
    samples_count(&rig->engine, 1,
                  &(struct decision_sample){.metric = &drains, .value = 40, .times = 2});
    samples_write(&rig->state.samples, &drains, &rig->text);
    assert_string_equal(rig->text.at,
                        "made_up_drain_seconds_sum 130\nmade_up_drain_seconds_count 3\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(gauges_show_what_the_last_decisions_of_all_keys_say,
                                        rig_open, rig_close),
        cmocka_unit_test_setup_teardown(counters_outlive_the_keys_that_counted, rig_open,
                                        rig_close),
        cmocka_unit_test_setup_teardown(times_add_up_with_how_many_there_were, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(a_decision_counts_when_its_report_is_sent, rig_open,
                                        rig_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
