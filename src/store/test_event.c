#include "store/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"

enum { REASON_OCTETS_MAX = 128 }; // of an Event

static void each_reason_has_a_name_of_its_own_that_an_event_may_bear(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EVENT_REASONS; i++) {
        const char *name = event_reason_name((enum event_reason)i);
        size_t len = name ? strlen(name) : 0;
        assert_in_range(len, 1, REASON_OCTETS_MAX);
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(name, event_reason_name((enum event_reason)k));
    }
}

static void a_reason_is_called_as_the_table_says(void **state)
{
    (void)state;
    assert_string_equal(event_reason_name(EVENT_RECORD_ORPHANED), "RecordOrphaned");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reason_has_a_name_of_its_own_that_an_event_may_bear),
        cmocka_unit_test(a_reason_is_called_as_the_table_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
