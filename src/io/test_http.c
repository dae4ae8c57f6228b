#include "io/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/memory.h"

enum { NOW_S = 1700000000 }; // Tue, 14 Nov 2023 22:13:20 GMT

static void retry_after_is_seconds_or_a_date_and_never_more_than_an_hour(void **state)
{
    static const struct {
        const char *value; // NULL: absent
        bool is_given;
        int64_t ms;
    } rows[] = {
        {NULL, false, 0},
        {"", false, 0},
        {"soon", false, 0},
        {"-1", false, 0},
        {"-9000000000000000000", false, 0},
        {"99999999999999999999", false, 0},
        {"0", true, 0},
        {" 7 ", true, 7000},
        {"3600", true, 3600000},
        {"3601", true, 3600000},
        {"9000000000000000000", true, 3600000},
        {"Tue, 14 Nov 2023 22:13:30 GMT", true, 10000},
        {"Tue, 14 Nov 2023 22:13:20 GMT", true, 0},
        {"Tue, 14 Nov 2023 22:13:19 GMT", false, 0},
        {"Wed, 15 Nov 2023 22:13:20 GMT", true, 3600000},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct http_header header = {"retry-after", rows[i].value};
        const struct http_reply reply = {.headers = &header, .header_count = rows[i].value ? 1 : 0};
        int64_t ms = -1;
        assert_int_equal(http_reply_retry_after(&reply, NOW_S, &ms), rows[i].is_given);
        assert_int_equal(ms, rows[i].ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retry_after_is_seconds_or_a_date_and_never_more_than_an_hour),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
