#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/usage.h"

static double sample(const struct buffer *out, const char *name)
{
    char line[80];
    snprintf(line, sizeof line, "\n%s ", name);
    const char *found = strstr(out->at, line);
    assert_non_null(found);
    return strtod(found + strlen(line), NULL);
}

static void what_this_process_uses_is_told(void **state)
{
    (void)state;
    AUTO_BUFFER out = {0};
    usage_write_metrics(&out);
    assert_true(sample(&out, "process_cpu_seconds_total") >= 0);
    assert_true(sample(&out, "process_resident_memory_bytes") > 100000);
    assert_true(sample(&out, "process_virtual_memory_bytes") >=
                sample(&out, "process_resident_memory_bytes"));
    assert_true(sample(&out, "process_start_time_seconds") > 1.7e9);
    assert_true(sample(&out, "process_open_fds") >= 3);
    assert_true(sample(&out, "process_max_fds") >= sample(&out, "process_open_fds"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_this_process_uses_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
