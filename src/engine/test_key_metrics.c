#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/state.h"

enum { KEYS = 9000, ROWS = 8192 };

// As much of an engine as a key metrics looks at.
struct rig {
    struct engine engine;
    struct controller_state state;
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
    key_metrics_done(&rig->state.key_metrics);
    free(rig->engine.keys);
    free(rig);
    return 0;
}

static void count(struct rig *rig, uint32_t key, const char *class_label, const char *reason)
{
    const struct decision decision = {.class_label = class_label, .reason_label = reason};
    key_metrics_count(&rig->engine, key, &decision);
}

static const struct key_metrics_row *row_of(const struct rig *rig, uint32_t key)
{
    uint16_t row = rig->engine.keys[key].key_metrics_row;
    return row ? &rig->state.key_metrics.rows[row - 1] : NULL;
}

static void a_key_counts_once_where_its_last_decision_puts_it(void **state)
{
    struct rig *rig = *state;
    count(rig, 0, "home", "Pending");
    count(rig, 1, "home", "Pending");
    assert_int_equal(row_of(rig, 0)->keys, 2);
    count(rig, 0, "home", "RecordCreated");
    count(rig, 0, "home", "RecordCreated");
    assert_int_equal(row_of(rig, 0)->keys, 1);
    assert_int_equal(row_of(rig, 1)->keys, 1);
    count(rig, 0, NULL, NULL);
    assert_null(row_of(rig, 0));
}

static void rows_without_keys_are_used_again(void **state)
{
    struct rig *rig = *state;
    char name[32];
    for (uint32_t i = 0; i < 3 * ROWS; i++) {
        snprintf(name, sizeof name, "class-%u", i);
        count(rig, 0, name, "Pending");
    }
    assert_int_equal(rig->state.key_metrics.used, 1);
}

static void retries_stay_when_the_key_has_gone_on(void **state)
{
    struct rig *rig = *state;
    count(rig, 0, "home", "ServerError");
    key_metrics_retry(&rig->engine, 0);
    uint16_t row = rig->engine.keys[0].key_metrics_row;
    count(rig, 0, "home", "RecordCreated");
    assert_int_equal(rig->state.key_metrics.rows[row - 1].retries, 1);
    count(rig, 0, "home", "ServerError");
    assert_int_equal(rig->engine.keys[0].key_metrics_row, row);
}

static void more_classes_than_rows_count_by_reason_alone(void **state)
{
    struct rig *rig = *state;
    char name[32];
    for (uint32_t i = 0; i < KEYS; i++) {
        snprintf(name, sizeof name, "class-%u", i);
        count(rig, i, name, "Pending");
    }
    assert_int_equal(rig->state.key_metrics.used, ROWS + 1);
    assert_string_equal(row_of(rig, KEYS - 1)->class_label, "");
    assert_int_equal(row_of(rig, KEYS - 1)->keys, KEYS - ROWS);
    count(rig, 0, NULL, NULL);
    count(rig, KEYS - 1, "late", "Pending");
    assert_string_equal(row_of(rig, KEYS - 1)->class_label, "late");
}

static void at_the_cap_rows_of_the_past_give_way(void **state)
{
    struct rig *rig = *state;
    char name[32];
    for (uint32_t i = 0; i < ROWS; i++) {
        snprintf(name, sizeof name, "class-%u", i);
        count(rig, i, name, "Pending");
        key_metrics_retry(&rig->engine, i);
    }
    count(rig, 7, "late", "Pending");
    assert_string_equal(row_of(rig, 7)->class_label, "late");
    assert_int_equal(row_of(rig, 7)->retries, 0);
    assert_int_equal(rig->state.key_metrics.used, ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_counts_once_where_its_last_decision_puts_it, rig_open,
                                        rig_close),
        cmocka_unit_test_setup_teardown(rows_without_keys_are_used_again, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(retries_stay_when_the_key_has_gone_on, rig_open, rig_close),
        cmocka_unit_test_setup_teardown(more_classes_than_rows_count_by_reason_alone, rig_open,
                                        rig_close),
        cmocka_unit_test_setup_teardown(at_the_cap_rows_of_the_past_give_way, rig_open, rig_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
