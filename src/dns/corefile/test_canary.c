#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "dns/corefile/canary.h"

#define QUESTION                                                                                   \
    "\x07version\x04"                                                                              \
    "bind\x00\x00\x10\x00\x03"
#define ID "7123ad3aa85b6c10"
// A TXT record of the question's name, class CH, TTL 0, with that rdata.
#define RECORD(len, rdata) "\xc0\x0c\x00\x10\x00\x03\x00\x00\x00\x00\x00" len rdata
#define REPLY(flags, answers) "\x12\x34" flags "\x00\x01\x00" answers "\x00\x00\x00\x00" QUESTION
#define OCTETS(literal) ((struct text){(literal), sizeof(literal) - 1})

static const char current[] = REPLY("\x85\x00", "\x01") RECORD("\x1a", "\x19"
                                                                       "signpost-" ID);

static void the_query_has_the_octets_that_dig_sends(void **state)
{
    (void)state;
    static const char expected[] = "\x12\x34\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00" QUESTION;
    AUTO_BUFFER octets = {0};
    canary_query(&octets, 0x1234);
    assert_int_equal(octets.len, 30);
    assert_memory_equal(octets.at, expected, sizeof expected - 1);
}

static void a_config_id_is_current_or_old(void **state)
{
    (void)state;
    struct canary_reply reply;
    struct error err;
    assert_true(canary_is_reply(OCTETS(current), 0x1234));
    assert_true(canary_read(OCTETS(current), 0x1234, &reply, &err));
    assert_string_equal(canary_config_id(&reply), ID);
    assert_int_equal(canary_judge(&reply, ID), CANARY_CURRENT);
    assert_int_equal(canary_judge(&reply, NULL), CANARY_CURRENT);
    assert_int_equal(canary_judge(&reply, "0000000000000000"), CANARY_OLD);
}

static void what_names_no_config_id_is_silent(void **state)
{
    (void)state;
    static const struct {
        struct text octets;
        unsigned rcode;
        const char *text;
    } rows[] = {
        {OCTETS(REPLY("\x85\x00", "\x01") RECORD("\x0f", "\x0e"
                                                         "CoreDNS-1.14.7")),
         0, "CoreDNS-1.14.7"},
        {OCTETS(REPLY("\x85\x00", "\x01") RECORD("\x06", "\x02"
                                                         "a\n"
                                                         "\x02"
                                                         "bc")),
         0, "a bc"},
        {OCTETS(REPLY("\x81\x05", "\x00")), 5, ""},
        {OCTETS(REPLY("\x85\x00", "\x01") RECORD("\x00", "")), 0, ""},
        // A record of the class IN, and one of another name.
        {OCTETS(REPLY("\x85\x00", "\x01") "\xc0\x0c\x00\x10\x00\x01\x00\x00\x00\x00\x00\x02\x01x"),
         0, ""},
        {OCTETS(REPLY("\x85\x00", "\x01") "\xc0\x14\x00\x10\x00\x03\x00\x00\x00\x00\x00\x02\x01x"),
         0, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct canary_reply reply;
        struct error err;
        assert_true(canary_read(rows[i].octets, 0x1234, &reply, &err));
        assert_int_equal(reply.rcode, rows[i].rcode);
        assert_string_equal(reply.text, rows[i].text);
        assert_null(canary_config_id(&reply));
        assert_int_equal(canary_judge(&reply, ID), CANARY_SILENT);
    }
    assert_int_equal(canary_judge(NULL, NULL), CANARY_SILENT);
}

static void a_reply_to_another_query_is_refused(void **state)
{
    (void)state;
    static const struct text others[] = {
        OCTETS(""),
        OCTETS("\x12\x34"),
        OCTETS("\x12\x34\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00" QUESTION), // a query
        OCTETS("\x12\x34\x85\x00\x00\x00\x00\x00\x00\x00\x00\x00"),          // no question
        OCTETS("\x12\x34\x85\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07version\x04"
               "bind\x00\x00\x10\x00\x01"), // class IN
        OCTETS("\x12\x34\x85\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04"
               "bind\x00\x00\x10\x00\x03"),
    };
    struct canary_reply reply;
    struct error err;
    assert_false(canary_is_reply(OCTETS(current), 0x1235));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_false(canary_is_reply(others[i], 0x1234));
        assert_false(canary_read(others[i], 0x1234, &reply, &err));
        assert_int_equal(err.fault, FAULT_AGAIN);
    }
}

static void a_malformed_reply_is_refused(void **state)
{
    (void)state;
    static const struct text malformed[] = {
        OCTETS(REPLY("\x85\x00", "\x01")), // an answer is missing
        OCTETS(REPLY("\x85\x00", "\x01") RECORD("\x02", "\x05x")),
        OCTETS(REPLY("\x85\x00", "\x01") RECORD("\x09", "\x01x")),
    };
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        struct canary_reply reply;
        struct error err;
        assert_false(canary_read(malformed[i], 0x1234, &reply, &err));
        assert_int_equal(err.fault, FAULT_SPEC);
    }
    for (size_t len = 0; len < sizeof current - 1; len++) {
        struct canary_reply reply;
        struct error err;
        assert_false(canary_read((struct text){current, len}, 0x1234, &reply, &err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_query_has_the_octets_that_dig_sends),
        cmocka_unit_test(a_config_id_is_current_or_old),
        cmocka_unit_test(what_names_no_config_id_is_silent),
        cmocka_unit_test(a_reply_to_another_query_is_refused),
        cmocka_unit_test(a_malformed_reply_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
