#include "io/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void an_address_comes_back_as_it_was(void **state)
{
    static const char *const addresses[] = {"192.0.2.1", "::1", "2001:db8::5", "::"};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        AUTO_BUFFER out = {0};
        uint8_t octets[ADDRESS_OCTETS];
        assert_true(address_read(addresses[i], octets));
        address_write(&out, octets);
        assert_string_equal(out.at, addresses[i]);
        assert_int_equal(address_is_ipv4(octets), i == 0);
    }
}

static void both_spellings_of_ipv4_are_one(void **state)
{
    uint8_t short_form[ADDRESS_OCTETS], long_form[ADDRESS_OCTETS];
    (void)state;
    assert_true(address_read("192.0.2.1", short_form));
    assert_true(address_read("::ffff:192.0.2.1", long_form));
    assert_memory_equal(short_form, long_form, ADDRESS_OCTETS);
}

static void what_is_no_address_is_refused(void **state)
{
    static const char *const texts[] = {"",    "localhost", "192.0.2", "192.0.2.256",
                                        "::g", "1::2::3"};
    uint8_t octets[ADDRESS_OCTETS];
    (void)state;
    for (size_t i = 0; i < 6; i++)
        assert_false(address_read(texts[i], octets));
}

static void loopback_addresses_are_known(void **state)
{
    static const char *const ours[] = {"localhost", "127.0.0.1", "127.9.8.7", "::1",
                                       "::ffff:127.0.0.1"};
    static const char *const others[] = {
        "", "128.0.0.1", "::", "::2", "127.0.0.1.example", "127.", "localhost.example"};
    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        assert_true(address_is_loopback(ours[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(address_is_loopback(others[i]));
}

static void peers_of_both_families_are_read(void **state)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(5300)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(5301)};
    uint8_t expected[ADDRESS_OCTETS], octets[ADDRESS_OCTETS];
    uint16_t port;
    (void)state;
    inet_pton(AF_INET, "192.0.2.7", &four.sin_addr);
    inet_pton(AF_INET6, "2001:db8::7", &six.sin6_addr);
    address_of((const struct sockaddr *)&four, octets, &port);
    assert_true(address_read("192.0.2.7", expected));
    assert_memory_equal(octets, expected, ADDRESS_OCTETS);
    assert_int_equal(port, 5300);
    address_of((const struct sockaddr *)&six, octets, &port);
    assert_memory_equal(octets, &six.sin6_addr, ADDRESS_OCTETS);
    assert_int_equal(port, 5301);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_comes_back_as_it_was),
        cmocka_unit_test(both_spellings_of_ipv4_are_one),
        cmocka_unit_test(what_is_no_address_is_refused),
        cmocka_unit_test(loopback_addresses_are_known),
        cmocka_unit_test(peers_of_both_families_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
