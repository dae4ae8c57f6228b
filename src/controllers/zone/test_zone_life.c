#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/zone/zone_life.h"
#include "controllers/zone/zone_text.h"

// ---- which state a server has -------------------------------------------------------------------

enum { OURS = 2026010105 };

// A life whose published version has that serial.
static struct zone_life life_at(uint32_t serial)
{
    const struct dname apex = {(const uint8_t *)"\4shop", 6};
    const struct zone_soa soa = {.mname = apex, .rname = apex, .serial = serial};
    return (struct zone_life){
        .published = {.zone = zone_new(zone_soa_set(apex, 0, &soa), NULL, 0)}};
}

static void expect_state(const struct server_view *server, enum zone_server_state wanted)
{
    struct zone_life life = life_at(OURS);
    assert_int_equal(zone_life_state(&life, server), wanted);
    zone_unref(life.published.zone);
}

static void of_a_server_that_is_asked_its_answer_counts(void **state)
{
    (void)state;
    struct server_view server = {.is_probed = true, .has_fetched = true, .fetched = OURS};
    expect_state(&server, SERVER_UNKNOWN);
    server.has_serial = true;
    server.serial = OURS;
    expect_state(&server, SERVER_CURRENT);
    server.serial = OURS - 1;
    expect_state(&server, SERVER_BEHIND);
    server.serial = OURS + 1;
    expect_state(&server, SERVER_AHEAD);
    server.serial = OURS + 2147483648u; // undefined, so not ahead
    expect_state(&server, SERVER_BEHIND);
}

static void of_a_server_that_signs_or_is_not_asked_its_fetches_count(void **state)
{
    (void)state;
    static const struct server_view servers[] = {
        {.is_probed = true, .signs = true, .has_serial = true, .serial = OURS + 7},
        {.is_probed = false},
    };
    for (size_t i = 0; i < COUNT_OF(servers); i++) {
        struct server_view server = servers[i];
        expect_state(&server, SERVER_UNKNOWN);
        server.has_fetched = true;
        server.fetched = OURS - 1;
        expect_state(&server, SERVER_BEHIND);
        server.fetched = OURS;
        expect_state(&server, SERVER_CURRENT);
    }
}

static void an_older_fetch_of_before_this_process_proves_nothing(void **state)
{
    (void)state;
    struct server_view server = {.has_fetched = true, .fetched = OURS - 1, .is_recalled = true};
    expect_state(&server, SERVER_UNKNOWN);
    server.signs = server.is_probed = true;
    expect_state(&server, SERVER_UNKNOWN);
    server.fetched = OURS;
    expect_state(&server, SERVER_CURRENT);
    server.fetched = OURS + 1;
    expect_state(&server, SERVER_AHEAD);
    server = (struct server_view){.is_probed = true, .has_serial = true, .serial = OURS - 1};
    server.is_recalled = true;
    expect_state(&server, SERVER_BEHIND);
}

static void faults_go_before_what_a_server_had(void **state)
{
    (void)state;
    struct server_view server = {.is_probed = true, .has_serial = true, .serial = OURS};
    server.fault.fault = FAULT_AGAIN;
    expect_state(&server, SERVER_UNREACHABLE);
    server.fault.fault = FAULT_AUTH;
    expect_state(&server, SERVER_REFUSED);
}

static void nothing_is_known_of_a_zone_that_was_never_published(void **state)
{
    (void)state;
    const struct zone_life life = {.object = NULL};
    const struct server_view server = {.is_probed = true, .has_serial = true, .serial = 1};
    assert_int_equal(zone_life_state(&life, &server), SERVER_UNKNOWN);
}

// ---- what they come to --------------------------------------------------------------------------

struct row {
    struct zone_status_server servers[2];
    enum reason reason;
};

static void the_worst_that_a_server_does_is_told(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{.state = SERVER_CURRENT}, {.state = SERVER_CURRENT}}, REASON_PUBLISHED},
        {{{.state = SERVER_BEHIND, .has_serial = true}, {.state = SERVER_CURRENT}},
         REASON_SERVER_BEHIND},
        {{{.state = SERVER_UNREACHABLE}, {.state = SERVER_CURRENT}}, REASON_NEVER_LOADED},
        {{{.state = SERVER_UNREACHABLE, .has_fetched = true}, {.state = SERVER_UNKNOWN}},
         REASON_SERVER_BEHIND},
        {{{.state = SERVER_UNKNOWN, .has_fetched = true, .is_doubtful = true},
          {.state = SERVER_CURRENT}},
         REASON_PENDING},
        {{{.state = SERVER_UNKNOWN, .has_fetched = true, .is_doubtful = true},
          {.state = SERVER_BEHIND, .has_serial = true}},
         REASON_SERVER_BEHIND},
        {{{.state = SERVER_BEHIND, .has_serial = true}, {.state = SERVER_AHEAD}},
         REASON_SERVER_AHEAD},
        {{{.state = SERVER_AHEAD, .has_serial = true}, {.state = SERVER_REFUSED}},
         REASON_SERVER_REFUSED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct row row = rows[i];
        const struct zone_status status = {.servers = row.servers, .server_count = 2};
        assert_int_equal(zone_programmed(&status, true), row.reason);
        assert_int_equal(zone_programmed(&status, false), REASON_NO_SERVERS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_server_that_is_asked_its_answer_counts),
        cmocka_unit_test(of_a_server_that_signs_or_is_not_asked_its_fetches_count),
        cmocka_unit_test(an_older_fetch_of_before_this_process_proves_nothing),
        cmocka_unit_test(faults_go_before_what_a_server_had),
        cmocka_unit_test(nothing_is_known_of_a_zone_that_was_never_published),
        cmocka_unit_test(the_worst_that_a_server_does_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
