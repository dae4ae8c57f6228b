#include "io/http_proxy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"

static const char *const names[] = {"HTTP_PROXY",  "http_proxy", "HTTPS_PROXY",
                                    "https_proxy", "NO_PROXY",   "no_proxy"};

static int clear_environment(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    return 0;
}

static bool is_direct(const char *exceptions, const char *host, uint16_t port)
{
    char proxy[] = "http://proxy.test:3128", list[256];
    snprintf(list, sizeof(list), "%s", exceptions);
    struct http_proxies proxies = {.http = proxy, .exceptions = list};
    return !http_proxies_find(&proxies, false, host, port);
}

static void without_environment_there_is_no_proxy(void **state)
{
    (void)state;
    struct http_proxies proxies;
    http_proxies_init(&proxies);
    assert_null(http_proxies_find(&proxies, false, "example.org", 80));
    assert_null(http_proxies_find(&proxies, true, "example.org", 443));
    http_proxies_done(&proxies);
}

static void each_scheme_has_its_own_proxy(void **state)
{
    (void)state;
    struct http_proxies proxies;
    setenv("HTTP_PROXY", "http://plain.test:1", 1);
    setenv("https_proxy", "secure.test:2", 1);
    http_proxies_init(&proxies);
    assert_string_equal(http_proxies_find(&proxies, false, "a.test", 80), "http://plain.test:1");
    assert_string_equal(http_proxies_find(&proxies, true, "a.test", 443), "http://secure.test:2");
    http_proxies_done(&proxies);
}

static void upper_case_goes_before_lower_case(void **state)
{
    (void)state;
    struct http_proxies proxies;
    setenv("HTTP_PROXY", "http://upper.test:1", 1);
    setenv("http_proxy", "http://lower.test:1", 1);
    http_proxies_init(&proxies);
    assert_string_equal(http_proxies_find(&proxies, false, "a.test", 80), "http://upper.test:1");
    http_proxies_done(&proxies);
}

static void an_empty_variable_counts_as_unset(void **state)
{
    (void)state;
    struct http_proxies proxies;
    setenv("HTTP_PROXY", "", 1);
    setenv("http_proxy", "http://lower.test:1", 1);
    http_proxies_init(&proxies);
    assert_string_equal(http_proxies_find(&proxies, false, "a.test", 80), "http://lower.test:1");
    http_proxies_done(&proxies);
}

static void a_socks_proxy_resolves_names(void **state)
{
    (void)state;
    struct http_proxies proxies;
    setenv("HTTP_PROXY", "socks5://socks.test:1080", 1);
    http_proxies_init(&proxies);
    assert_string_equal(http_proxies_find(&proxies, false, "a.test", 80),
                        "socks5h://socks.test:1080");
    http_proxies_done(&proxies);
}

static void loopback_is_never_proxied(void **state)
{
    (void)state;
    assert_true(is_direct("", "localhost", 80));
    assert_true(is_direct("", "LOCALHOST", 80));
    assert_true(is_direct("", "127.0.0.1", 80));
    assert_true(is_direct("", "127.8.9.1", 80));
    assert_true(is_direct("", "::1", 80));
    assert_true(is_direct("", "::ffff:127.0.0.1", 80));
    assert_false(is_direct("", "128.0.0.1", 80));
    assert_false(is_direct("", "localhost.test", 80));
}

static void a_star_excepts_everything(void **state)
{
    (void)state;
    assert_true(is_direct("a.test, *", "example.org", 80));
}

static void a_domain_excepts_itself_and_what_is_below(void **state)
{
    (void)state;
    assert_true(is_direct("Example.org", "example.ORG", 80));
    assert_true(is_direct("a.test,example.org", "www.example.org", 80));
    assert_false(is_direct("example.org", "notexample.org", 80));
    assert_false(is_direct("example.org", "example.org.test", 80));
}

static void a_leading_dot_excepts_only_what_is_below(void **state)
{
    (void)state;
    assert_true(is_direct(".example.org", "www.example.org", 80));
    assert_false(is_direct(".example.org", "example.org", 80));
    assert_true(is_direct("*.example.org", "www.example.org", 80));
    assert_false(is_direct("*.example.org", "example.org", 80));
}

static void a_port_narrows_an_exception(void **state)
{
    (void)state;
    assert_true(is_direct("example.org:8080", "example.org", 8080));
    assert_false(is_direct("example.org:8080", "example.org", 80));
    assert_true(is_direct("192.0.2.1:8080", "192.0.2.1", 8080));
    assert_false(is_direct("[2001:db8::1]:8080", "2001:db8::1", 80));
    assert_true(is_direct("[2001:db8::1]:8080", "2001:db8::1", 8080));
}

static void addresses_and_networks_are_compared_as_numbers(void **state)
{
    (void)state;
    assert_true(is_direct("192.0.2.1", "192.0.2.1", 80));
    assert_false(is_direct("192.0.2.1", "192.0.2.11", 80));
    assert_true(is_direct("2001:db8:0::1", "2001:db8::1", 80));
    assert_true(is_direct("10.0.0.0/8", "10.255.0.1", 80));
    assert_false(is_direct("10.0.0.0/8", "11.0.0.1", 80));
    assert_true(is_direct("10.64.0.0/10", "10.127.0.1", 80));
    assert_false(is_direct("10.64.0.0/10", "10.128.0.1", 80));
    assert_true(is_direct("2001:db8::/33", "2001:db8:7fff::1", 80));
    assert_false(is_direct("2001:db8::/33", "2001:db8:8000::1", 80));
    assert_true(is_direct("0.0.0.0/0", "192.0.2.1", 80));
    assert_false(is_direct("0.0.0.0/0", "2001:db8::1", 80));
}

static void nonsense_excepts_nothing(void **state)
{
    (void)state;
    static const char *const lists[] = {",,", "10.0.0.0/33", "10.0.0.0/x", "/",   ":80",
                                        "[]", ".",           "*.",         "[::1"};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        assert_false(is_direct(lists[i], "192.0.2.1", 80));
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        assert_false(is_direct(lists[i], "example.org", 80));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_environment_there_is_no_proxy, clear_environment),
        cmocka_unit_test_setup(each_scheme_has_its_own_proxy, clear_environment),
        cmocka_unit_test_setup(upper_case_goes_before_lower_case, clear_environment),
        cmocka_unit_test_setup(an_empty_variable_counts_as_unset, clear_environment),
        cmocka_unit_test_setup(a_socks_proxy_resolves_names, clear_environment),
        cmocka_unit_test(loopback_is_never_proxied),
        cmocka_unit_test(a_star_excepts_everything),
        cmocka_unit_test(a_domain_excepts_itself_and_what_is_below),
        cmocka_unit_test(a_leading_dot_excepts_only_what_is_below),
        cmocka_unit_test(a_port_narrows_an_exception),
        cmocka_unit_test(addresses_and_networks_are_compared_as_numbers),
        cmocka_unit_test(nonsense_excepts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
