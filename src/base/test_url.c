#include "base/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"

static void urls_are_normalised(void **state)
{
    (void)state;
    static const struct {
        const char *typed;
        const char *normal;
        const char *host_header;
    } rows[] = {{"http://pi.hole", "http://pi.hole", "pi.hole"},
                {"HTTP://Pi.Hole:80/", "http://pi.hole", "pi.hole"},
                {"https://a.example.:443", "https://a.example.", "a.example."},
                {"https://dns:8443/Prefix//", "https://dns:8443/Prefix", "dns:8443"},
                {"http://h:443", "http://h:443", "h:443"},
                {"http://h:/x", "http://h/x", "h"},
                {"http://192.0.2.1:8080", "http://192.0.2.1:8080", "192.0.2.1:8080"},
                {"https://[2001:DB8:0::1]/a%2Fb", "https://[2001:db8::1]/a%2Fb", "[2001:db8::1]"},
                {"http://[::1]:8080/", "http://[::1]:8080", "[::1]:8080"},
                {"http://web_1.docker:05000/a.b/..c", "http://web_1.docker:5000/a.b/..c",
                 "web_1.docker:5000"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct url url;
        struct url again;
        AUTO_BUFFER out = {0};
        AUTO_BUFFER host = {0};
        assert_true(url_parse(&url, text_of(rows[i].typed), NULL));
        url_write(&out, &url);
        assert_string_equal(out.at, rows[i].normal);
        url_write_host(&host, &url);
        assert_string_equal(host.at, rows[i].host_header);
        assert_true(url_parse(&again, buffer_text(&out), NULL));
        assert_true(again.is_https == url.is_https && again.is_ipv6 == url.is_ipv6);
        assert_string_equal(again.host, url.host);
        assert_int_equal(again.port, url.port);
        assert_string_equal(again.path, url.path);
    }
}

static void parts_are_reported(void **state)
{
    (void)state;
    struct url url;
    assert_true(url_parse(&url, TEXT("https://[::1]/api"), NULL));
    assert_true(url.is_https && url.is_ipv6);
    assert_string_equal(url.host, "::1");
    assert_int_equal(url.port, 443);
    assert_string_equal(url.path, "/api");
}

static void wrong_urls_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {{"", "empty"},
                {"pi.hole", "must start with http"},
                {"ftp://pi.hole", "must start with http"},
                {"http:/pi.hole", "must start with http"},
                {"http://", "host is missing"},
                {"http:///path", "host is missing"},
                {"http://:80", "host is missing"},
                {"http://user:secret@h/", "user info is not allowed"},
                {"http://@h/", "user info is not allowed"},
                {"http://h/?a=b", "a query is not allowed"},
                {"http://h?", "a query is not allowed"},
                {"http://h/#a", "a fragment is not allowed"},
                {"http://h:0", "port"},
                {"http://h:65536", "port"},
                {"http://h:8080x", "port"},
                {"http://h:-1", "port"},
                {"http://h:000080", "port"},
                {"http://::1/", "host is missing"},
                {"http://[::1", "IPv6"},
                {"http://[::1]x", "port"},
                {"http://[fe80::1%25eth0]/", "IPv6"},
                {"http://[192.0.2.1]/", "IPv6"},
                {"http://256.0.0.1/", "host is not valid"},
                {"http://1.2.3/", "host is not valid"},
                {"http://a..b/", "host is not valid"},
                {"http://.a/", "host is not valid"},
                {"http://-a/", "host is not valid"},
                {"http://a-/", "host is not valid"},
                {"http://a%41/", "host is not valid"},
                {"http://a b/", "blanks"},
                {"http://h/\n", "blanks"},
                {"http://b\xc3\xbc"
                 "cher/",
                 "outside ASCII"},
                {"http://h/a\\b", "is not allowed"},
                {"http://h/%4", "two hex digits"},
                {"http://h/%zz", "two hex digits"},
                {"http://h/../a", "\"..\""},
                {"http://h/a/.", "\"..\""}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct url url = {.port = 7};
        struct error err = {0};
        assert_false(url_parse(&url, text_of(rows[i].text), &err));
        assert_int_equal(url.port, 7);
        assert_int_equal(err.fault, FAULT_SPEC);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s", rows[i].text, err.text);
        assert_null(strstr(err.text, "secret"));
    }
}

static void sizes_are_capped(void **state)
{
    (void)state;
    struct url url;
    AUTO_BUFFER wide = {0};
    buffer_add_text(&wide, "http://h/");
    while (wide.len < 8 + 1023)
        buffer_add_char(&wide, 'a');
    assert_true(url_parse(&url, buffer_text(&wide), NULL));
    assert_int_equal(strlen(url.path), 1023);
    buffer_add_char(&wide, 'a');
    assert_false(url_parse(&url, buffer_text(&wide), NULL));
    buffer_clear(&wide);
    buffer_add_text(&wide, "http://");
    for (int i = 0; i < 126; i++)
        buffer_add_text(&wide, "a.");
    buffer_add_text(&wide, "b.");
    assert_true(url_parse(&url, buffer_text(&wide), NULL));
    assert_int_equal(strlen(url.host), 254);
    buffer_add_text(&wide, "c");
    assert_false(url_parse(&url, buffer_text(&wide), NULL));
    buffer_clear(&wide);
    buffer_printf(&wide, "http://%064d/", 1);
    assert_false(url_parse(&url, buffer_text(&wide), NULL));
}

static void addresses_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *typed;
        uint16_t default_port;
        const char *normal;
    } rows[] = {{"127.0.0.1:8080", 0, "127.0.0.1:8080"},
                {"127.0.0.1", 53, "127.0.0.1:53"},
                {"[::1]:8080", 0, "[::1]:8080"},
                {"[::1]", 53, "[::1]:53"},
                {"2001:DB8::0:1", 53, "[2001:db8::1]:53"},
                {":8080", 53, ":8080"},
                {"Ns1.Example.org:53", 0, "ns1.example.org:53"},
                {"ns1", 53, "ns1:53"},
                {"127.0.0.1:0", 0, "127.0.0.1:0"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hostport at;
        AUTO_BUFFER out = {0};
        assert_true(hostport_parse(&at, text_of(rows[i].typed), rows[i].default_port, true, NULL));
        hostport_write(&out, &at);
        assert_string_equal(out.at, rows[i].normal);
    }
}

static void wildcard_has_an_empty_host(void **state)
{
    (void)state;
    struct hostport at;
    assert_true(hostport_parse(&at, TEXT(":9"), 0, false, NULL));
    assert_string_equal(at.host, "");
    assert_int_equal(at.port, 9);
}

static void localhost_is_an_address(void **state)
{
    (void)state;
    struct hostport at;
    assert_true(hostport_parse(&at, TEXT("LocalHost:8081"), 0, false, NULL));
    assert_string_equal(at.host, "127.0.0.1");
    assert_int_equal(at.port, 8081);
}

static void wrong_addresses_are_refused_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *why;
    } rows[] = {{"", "empty"},
                {"127.0.0.1", "port is missing"},
                {"[::1]", "port is missing"},
                {"::1", "[ADDR]:PORT"},
                {"[::1", "[ADDR]:PORT"},
                {"[::1]53", "[ADDR]:PORT"},
                {"[]:53", "IPv6"},
                {"[127.0.0.1]:53", "IPv6"},
                {":", "port must be"},
                {"127.0.0.1:", "port must be"},
                {"127.0.0.1:65536", "port must be"},
                {"127.0.0.1:+53", "port must be"},
                {"ns1.example:53", "must be an IP address or localhost"},
                {"1.2.3:53", "must be an IP address"},
                {"localhost", "port is missing"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct hostport at = {.port = 7};
        struct error err = {0};
        assert_false(hostport_parse(&at, text_of(rows[i].text), 0, false, &err));
        assert_int_equal(at.port, 7);
        if (!strstr(err.text, rows[i].why))
            fail_msg("%s: %s", rows[i].text, err.text);
    }
    struct hostport at;
    assert_false(hostport_parse(&at, TEXT("1.2.3:53"), 0, true, NULL));
    assert_false(hostport_parse(&at, TEXT("a/b:53"), 0, true, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urls_are_normalised),
        cmocka_unit_test(parts_are_reported),
        cmocka_unit_test(wrong_urls_are_refused_by_name),
        cmocka_unit_test(sizes_are_capped),
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(wildcard_has_an_empty_host),
        cmocka_unit_test(localhost_is_an_address),
        cmocka_unit_test(wrong_addresses_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
