#include "base/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/value.h"

static const char *const right_when[] = {"Accepted=True", "Synced!=False", "Programmed=True", NULL};
static const struct kind plain = {.name = "Plain"};
static const struct kind careful = {.name = "Careful", .right_when = right_when};

#define ACCEPTED "{\"type\":\"Accepted\",\"status\":\"True\"}"
#define PROGRAMMED "{\"type\":\"Programmed\",\"status\":\"True\"}"

static void expect(const struct kind *kind, const char *conditions, const char *type, bool is_right)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    AUTO_BUFFER json = {0};
    bool is_found_right;
    buffer_printf(&json, "{\"conditions\":[%s]}", conditions);
    const struct value *status =
        value_read_json(arena, buffer_text(&json), &value_manifest_limits, NULL);
    const struct value *found = kind_find_reporting(kind, status, &is_found_right);
    assert_int_equal(is_found_right, is_right);
    if (type)
        assert_true(text_is(value_text_at(found, "type"), type));
    else
        assert_null(found);
}

static void an_object_is_right_when_it_is_ready(void **state)
{
    (void)state;
    expect(&plain, "{\"type\":\"Ready\",\"status\":\"True\"}", "Ready", true);
    expect(&plain, "{\"type\":\"Ready\",\"status\":\"False\"}", "Ready", false);
    expect(&plain, ACCEPTED, NULL, false);
    expect(&plain, "", NULL, false);
}

static void the_first_condition_that_is_otherwise_reports(void **state)
{
    (void)state;
    expect(&careful, ACCEPTED "," PROGRAMMED, "Programmed", true);
    expect(&careful, "{\"type\":\"Accepted\",\"status\":\"False\"}," PROGRAMMED, "Accepted", false);
    expect(&careful, ACCEPTED ",{\"type\":\"Synced\",\"status\":\"False\"}," PROGRAMMED, "Synced",
           false);
    expect(&careful, ACCEPTED ",{\"type\":\"Synced\",\"status\":\"Unknown\"}," PROGRAMMED,
           "Programmed", true);
    expect(&careful, ACCEPTED, NULL, false);
}

static void a_status_without_conditions_reports_nothing(void **state)
{
    bool is_right;
    (void)state;
    assert_null(kind_find_reporting(&plain, NULL, &is_right));
    assert_false(is_right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_is_right_when_it_is_ready),
        cmocka_unit_test(the_first_condition_that_is_otherwise_reports),
        cmocka_unit_test(a_status_without_conditions_reports_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
