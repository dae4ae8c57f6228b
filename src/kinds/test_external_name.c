#include "kinds/external_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define L61 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void names_are_published_in_one_form(void **state)
{
    static const char *const names[][2] = {
        {"WWW.Example.ORG", "www.example.org"},
        {"www.example.org.", "www.example.org"},
        {"*.example.org", "*.example.org"},
        {"_sip._tcp.a-b.example", "_sip._tcp.a-b.example"},
        {"m\xc3\xbcnchen.example", "xn--mnchen-3ya.example"},
        {"M\xc3\x9cNCHEN.example", "xn--mnchen-3ya.example"},
        {"stra\xc3\x9f"
         "e.example",
         "xn--strae-oqa.example"},
        {"-a-.example", "-a-.example"},
        {"r3---sn-ab.example", "r3---sn-ab.example"},
        {"XN--Mnchen-3YA.example", "xn--mnchen-3ya.example"},
        {"*.m\xc3\xbcnchen.example.", "*.xn--mnchen-3ya.example"},
        {"_a.m\xc3\xbcnchen.example", "_a.xn--mnchen-3ya.example"},
        {"example", "example"},
        {"7.example", "7.example"},
        {L63 "." L63 "." L63 "." L61 ".", L63 "." L63 "." L63 "." L61},
        {L63 "." L63 "." L63 "." L61, L63 "." L63 "." L63 "." L61},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct error err;
        AUTO_BUFFER out = {0};
        if (!external_name_write(&out, text_of(names[i][0]), &err))
            fail_msg("%s: %s", names[i][0], err.text);
        assert_string_equal(out.at, names[i][1]);
    }
}

static void what_is_no_name_is_refused_with_the_reason(void **state)
{
    static const char *const names[][2] = {
        {"", "it has no label"},
        {".", "it has no label"},
        {"@", "it has no label"},
        {"a..b", "it has an empty label: remove a dot"},
        {"a.b..", "it has an empty label"},
        {".a", "it has an empty label"},
        {"*.*.b", "the label '*' may hold only"},
        {"**.b", "wildcard"},
        {" a.b", "invalid character"},
        {"a.b ", "invalid character"},
        {"a+b.c", "invalid character +"},
        {"www\xe3\x80\x82"
         "example",
         "a full stop of another script: write '.'"},
        {"xn--a\xc3\xbc.example", "is not a valid international label"},
        {"\xe2\x98\x83.example", "is not a valid international label"},
        {"xn--.example", "does not decode as Punycode"},
        {"a.*.b", "the label '*' may hold only"},
        {"*a.b", "wildcard segments must have length 1"},
        {"a/b.c", "the label 'a/b' may hold only"},
        {"a\\.b.c", "the label 'a.b' may hold only"},
        {"a b.c", "invalid character"},
        {"a" L63 ".b", "a label has 64 octets: at most 63 are allowed"},
        {L63 "." L63 "." L63 ".a" L61, "it has 254 octets: at most 253 are allowed"},
        {"xn--\x80.b", "it is not valid UTF-8"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct error err;
        AUTO_BUFFER out = {0};
        assert_false(external_name_write(&out, text_of(names[i][0]), &err));
        if (!strstr(err.text, names[i][1]))
            fail_msg("%s: %s", names[i][0], err.text);
        assert_int_equal(out.len, 0);
        assert_string_equal(err.reason, "InvalidName");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(names_are_published_in_one_form),
        UNIT(what_is_no_name_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
