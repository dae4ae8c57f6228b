#include "frontends/primary/transfer_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char *samples(const struct buffer *out)
{
    const char *type = strstr(out->at, "# TYPE");
    return strchr(type, '\n') + 1;
}

static void each_server_kind_and_result_has_its_row(void **state)
{
    struct transfer_counts counts = {0};
    AUTO_BUFFER out = {0};
    (void)state;
    transfer_counts_add(&counts, "ns1", "axfr", "success");
    transfer_counts_add(&counts, "ns1", "ixfr", "success");
    transfer_counts_add(&counts, "n\"2", "axfr", "cut");
    transfer_counts_add(&counts, "ns1", "axfr", "success");
    transfer_counts_add(&counts, "", "axfr", "refused");
    transfer_counts_write(&counts, &out);
    assert_string_equal(
        samples(&out),
        "signpost_zone_transfers_total{server=\"ns1\",kind=\"axfr\",result=\"success\"} 2\n"
        "signpost_zone_transfers_total{server=\"ns1\",kind=\"ixfr\",result=\"success\"} 1\n"
        "signpost_zone_transfers_total{server=\"n\\\"2\",kind=\"axfr\",result=\"cut\"} 1\n"
        "signpost_zone_transfers_total{server=\"\",kind=\"axfr\",result=\"refused\"} 1\n");
    transfer_counts_done(&counts);
}

static void rows_are_bounded(void **state)
{
    struct transfer_counts counts = {0};
    (void)state;
    for (unsigned i = 0; i < 2000; i++) {
        char server[16];
        snprintf(server, sizeof server, "ns%u", i);
        transfer_counts_add(&counts, server, "axfr", "success");
    }
    assert_int_equal(counts.used, 1024);
    transfer_counts_add(&counts, "ns7", "axfr", "success");
    assert_int_equal(counts.rows[7].count, 2);
    transfer_counts_done(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_server_kind_and_result_has_its_row),
        cmocka_unit_test(rows_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
