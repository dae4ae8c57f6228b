#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/rdata.h"
#include "dns/rr_type.h"

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};
static const struct rdata_rules rules = {.origin = &shop, .names = DNAME_OF_OBJECT};

static uint16_t type_of(const char *name)
{
    uint16_t type = 0;
    assert_true(rr_type_read(text_of(name), &type));
    return type;
}

static void refuse(uint16_t type, struct text text, const char *reason, const char *wanted)
{
    AUTO_BUFFER out = {0};
    struct error err = {0};
    if (rdata_read(type, text, &rules, &out, NULL, &err))
        fail_msg("'%.*s' was accepted", TEXT_ARGS(text));
    assert_int_equal(err.fault, FAULT_SPEC);
    assert_string_equal(err.reason, reason);
    assert_string_equal(err.text, wanted);
}

static const struct {
    const char *type;
    const char *text;
    const char *reason;
    const char *wanted;
} vectors[] = {
    {"A", "192.0.2.256", "InvalidRData",
     "'192.0.2.256' is no IPv4 address: write four numbers 0..255 with dots, as 192.0.2.1 (at "
     "character 1)"},
    {"A", "192.0.2.01", "InvalidRData",
     "'192.0.2.01' is no IPv4 address: write four numbers 0..255 with dots, as 192.0.2.1 (at "
     "character 1)"},
    {"A", "1.2.3", "InvalidRData",
     "'1.2.3' is no IPv4 address: write four numbers 0..255 with dots, as 192.0.2.1 (at character "
     "1)"},
    {"AAAA", "1:2:3:4:5:6:7:8::", "InvalidRData",
     "'1:2:3:4:5:6:7:8::' is no IPv6 address: write it as 2001:db8::1 (at character 1)"},
    {"AAAA", ":1", "InvalidRData",
     "':1' is no IPv6 address: write it as 2001:db8::1 (at character 1)"},
    {"AAAA", "1:", "InvalidRData",
     "'1:' is no IPv6 address: write it as 2001:db8::1 (at character 1)"},
    {"AAAA", "1::2::3", "InvalidRData",
     "'1::2::3' is no IPv6 address: write it as 2001:db8::1 (at character 1)"},
    {"MX", "70000 mail", "InvalidRData", "number 70000 is out of range 0..65535 (at character 1)"},
    {"MX", "-1 mail", "InvalidRData", "number -1 is out of range 0..65535 (at character 1)"},
    {"MX", "10 192.0.2.1", "MXTargetIsAddress",
     "192.0.2.1 is an address: write the name of a host that has it (at character 4)"},
    {"MX", "10 192.0.2.1.", "MXTargetIsAddress",
     "192.0.2.1. is an address: write the name of a host that has it (at character 4)"},
    {"MX", "10", "InvalidRData", "a domain name is missing (at character 3)"},
    {"MX", "10 a b", "InvalidRData", "nothing may follow here: remove 'b' (at character 6)"},
    {"NS", "2001:db8::1", "NSTargetIsAddress",
     "2001:db8::1 is an address: write the name of a host that has it (at character 1)"},
    {"NS", "ns%.", "InvalidName", "invalid character % (at character 1)"},
    {"SVCB", "1 . ech=AEP+D\\#A", "InvalidRData",
     "this does not belong into base64 text (at character 5)"},
    {"IPSECKEY", "10 0 0 .", "InvalidRData", "base64 text is missing (at character 9)"},
    {"TXT", "\"a\"b", "InvalidRData", "a blank must follow the closing quote (at character 4)"},
    {"TXT", "\"abc", "InvalidRData", "the quote that opens here is never closed (at character 1)"},
    {"TXT", "", "InvalidRData", "a string is missing (at character 1)"},
    {"CAA", "300 issue x", "InvalidRData", "number 300 is out of range 0..255 (at character 1)"},
    {"CAA", "0 is-sue x", "InvalidRData",
     "the tag may hold letters and digits alone (at character 5)"},
    {"LOC", "91 N 0 E 0", "InvalidRData",
     "write 0..90 degrees, minutes 0..59, seconds 0..59.999, then N or S (at character 1)"},
    {"SVCB", "1 foo.example.com. key123=abc key123=def", "InvalidRData",
     "parameter key123 stands there twice (at character 20)"},
    {"SVCB", "1 foo.example.com. mandatory", "InvalidRData",
     "the value is missing: write mandatory=... (at character 20)"},
    {"SVCB", "1 foo.example.com. alpn", "InvalidRData",
     "the value is missing: write alpn=... (at character 20)"},
    {"SVCB", "1 foo.example.com. port", "InvalidRData",
     "the value is missing: write port=... (at character 20)"},
    {"SVCB", "1 foo.example.com. no-default-alpn=abc", "InvalidRData",
     "remove the value: this parameter has none (at character 20)"},
    {"SVCB", "1 foo.example.com. no-default-alpn", "InvalidRData",
     "parameter no-default-alpn needs alpn beside it (at character 20)"},
    {"SVCB", "1 foo.example.com. mandatory=key123", "InvalidRData",
     "parameter key123 is mandatory, but missing (at character 20)"},
    {"SVCB", "1 foo.example.com. mandatory=mandatory", "InvalidRData",
     "parameter mandatory has a value that is malformed (at character 20)"},
    {"SVCB", "1 foo.example.com. mandatory=key123,key123 key123=abc", "InvalidRData",
     "parameter mandatory has a value that is malformed (at character 20)"},
    {"SVCB", "1 foo.example.com. key65535=a", "InvalidRData",
     "no parameter has the key 'key65535': write key<0-65534> (at character 20)"},
    {"SVCB", "1 . port=70000", "InvalidRData",
     "number 70000 is out of range 0..65535 (at character 5)"},
    {"CDS", "0 0 0 01", "InvalidRData",
     "algorithm 0 asks for removal: write 0 0 0 00 (at character 7)"},
    {"CDNSKEY", "0 3 0 BB==", "InvalidRData",
     "the end of the base64 text was cut off (at character 7)"},
    {"DS", "60485 5 1 ( 2BB183AF5F22588179A53B0A 98631FAD1A292118 )", "InvalidRData",
     "( outside of quotes: put the text in quotes, or remove it (at character 11)"},
    {"DS", "60485 5 2 2BB183AF5F22588179A53B0A98631FAD1A292118", "InvalidRData",
     "a digest of type 2 has 32 octets, not 20 (at character 11)"},
    {"SSHFP", "2 1 123456789abcdef67890123456789abcdef6789", "InvalidRData",
     "39 hex digits: an even number is wanted (at character 5)"},
    {"TLSA", "3 1 1 abcd", "InvalidRData",
     "a digest of type 1 has 32 octets, not 2 (at character 7)"},
    {"SMIMEA", "3 1 2 abcd", "InvalidRData",
     "a digest of type 2 has 64 octets, not 2 (at character 7)"},
    {"DNSKEY", "257 4 13 AAAA", "InvalidRData",
     "the protocol of a zone's key is 3 (at character 10)"},
    {"CDNSKEY", "257 4 13 AAAA", "InvalidRData",
     "the protocol of a zone's key is 3 (at character 10)"},
    {"NAPTR", "100 10 \"u-\" \"\" \"\" .", "InvalidRData",
     "flags are letters and digits (at character 19)"},
    {"RRSIG", "A 5 3 0 20030229000000 0 1 a. AAAA", "InvalidRData",
     "no time from 1970 to 2106: write YYYYMMDDHHmmSS (at character 9)"},
    {"RRSIG", "A 5 3 0 20030228240000 0 1 a. AAAA", "InvalidRData",
     "no time from 1970 to 2106: write YYYYMMDDHHmmSS (at character 9)"},
    {"RRSIG", "A 5 3 0 19691231235959 0 1 a. AAAA", "InvalidRData",
     "no time from 1970 to 2106: write YYYYMMDDHHmmSS (at character 9)"},
    {"RRSIG", "A 5 3 0 21060207062816 0 1 a. AAAA", "InvalidRData",
     "no time from 1970 to 2106: write YYYYMMDDHHmmSS (at character 9)"},
    {"SSHFP", "300 1 aa", "InvalidRData", "number 300 is out of range 0..255 (at character 1)"},
    {"NAPTR", "100 10 \"u\" \"E2U+sip\" \"!^.*$!sip:\\\\1@example.com!\" .", "InvalidRData",
     "the regexp is none that servers load: write it as !pattern!replacement! (at character 51)"},
    {"NAPTR", "100 10 \"u\" \"E2U+sip\" \"!^.*$\" .", "InvalidRData",
     "the regexp is none that servers load: write it as !pattern!replacement! (at character 30)"},
    {"TYPE65280", "\\# 3 DEADBEEF", "InvalidRData",
     "4 octets of hex text: 3 were announced (at character 6)"},
    {"TYPE65280", "abc", "InvalidRData",
     "type TYPE65280 is not known: write its rdata as \\# LEN HEX (at character 1)"},
    {"A", "\\# 5 C000020101", "InvalidRData",
     "octets are left over behind the last field (at character 6)"},
    {"MX", "\\# 4 000AC000", "InvalidRData", "a name in it is malformed (at character 6)"},
};

static void wrong_text_is_refused_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        refuse(type_of(vectors[i].type), text_of(vectors[i].text), vectors[i].reason,
               vectors[i].wanted);
}

// Raw, they would add records to a zone file.
static void control_characters_are_refused_wherever_they_stand(void **state)
{
    (void)state;
    static const char *const texts[] = {"a\nb", "\"a\nb\"", "\"a\" \x7f", "a\\\n", "\ta"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        AUTO_BUFFER out = {0};
        struct error err = {0};
        assert_false(rdata_read(RR_TXT, text_of(texts[i]), &rules, &out, NULL, &err));
        assert_non_null(strstr(err.text, "control character \\"));
        assert_false(rdata_read(RR_CNAME, text_of(texts[i]), &rules, &out, NULL, NULL));
    }
    refuse(RR_A, TEXT("192.0.2.1\nevil IN A 192.0.2.6"), "InvalidRData",
           "control character \\010: write it as an escape in quotes (at character 10)");
}

// As named takes them.
static const char *const regexps[] = {
    "!a!b!",
    "!a)!b!",
    "!()!b!",
    "!^.*$!sip:x@y!",
    "!^(\\\\+44.*)$!h323:\\\\1@gw!i",
    "![]a]!x!",
    "![^]a]!x!",
    "![a-]!x!",
    "![[:alpha:]-]!x!",
    "!a{2}!x!",
    "!a{2,}!x!",
    "!a{2,2}!x!",
    "!a}!x!",
    "!{!x!",
    "!(a)\\\\1!x!",
    "!a!x!ii",
    "!a!!",
    "/a/b/",
    "![a-[.z.]]!b!",
    "![[=a=]b]!b!",
    "!a\\\\!b!c!",
    "![\\\\]!b!",
    "!a|b!x!",
};
static const char *const wrong_regexps[] = {
    "!a(!b!",      "!(|a)!b!",       "!(a|)!b!",       "!|!x!",      "!!x!",
    "!a**!x!",     "!^*!x!",         "!(a)*!\\\\2!",   "![a!x!",     "![z-a]!x!",
    "![a-z-9]!x!", "![[:foo:]]!x!",  "![[:alpha:]!x!", "!a{2,1}!x!", "!a{2,!x!",
    "!a{256}!x!",  "!{2}!x!",        "!a{2!x!",        "!\\\\!x!",   "!\\\\1!x!",
    "!a!x!g",      "!a!\\\\0!",      "!a!b",           "a!b!c",      "iaibi",
    "1a1b1",       "\\\\a\\\\b\\\\", "!a!\\\\",
};

static bool read_regexp(const char *regexp)
{
    AUTO_BUFFER text = {0};
    AUTO_BUFFER out = {0};
    buffer_printf(&text, "1 1 \"u\" \"x\" \"%s\" .", regexp);
    return rdata_read(type_of("NAPTR"), buffer_text(&text), &rules, &out, NULL, NULL);
}

static void regexps_that_servers_do_not_load_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(regexps); i++)
        if (!read_regexp(regexps[i]))
            fail_msg("%s was refused", regexps[i]);
    for (size_t i = 0; i < COUNT_OF(wrong_regexps); i++)
        if (read_regexp(wrong_regexps[i]))
            fail_msg("%s was accepted", wrong_regexps[i]);
}

static void places_count_characters_not_octets(void **state)
{
    (void)state;
    refuse(RR_MX, TEXT("b\xc3\xbc 70000"), "InvalidRData",
           "'b\xc3\xbc' is no number: write one of 0..65535 (at character 1)");
    refuse(RR_TXT, TEXT("\"\xc3\xbc\"x"), "InvalidRData",
           "a blank must follow the closing quote (at character 4)");
}

static void words_of_a_file_are_told_by_their_number(void **state)
{
    (void)state;
    static const struct rdata_word words[] = {{TEXT("10"), false}, {TEXT("a..b."), false}};
    AUTO_BUFFER out = {0};
    struct error err = {0};
    assert_false(rdata_read_words(RR_MX, words, 2, &rules, &out, NULL, &err));
    assert_string_equal(err.reason, "InvalidName");
    assert_string_equal(err.text, "segment is an empty string (at word 2)");
    assert_false(rdata_read_words(RR_MX, words, 1, &rules, &out, NULL, &err));
    assert_string_equal(err.text, "a domain name is missing (at word 2)");
    assert_false(rdata_read_words(RR_A, words, 2, &rules, &out, NULL, &err));
    assert_string_equal(err.text, "'10' is no IPv4 address: write four numbers 0..255 with dots, "
                                  "as 192.0.2.1 (at word 1)");
}

static void numbers_and_names_stand_without_quotes(void **state)
{
    (void)state;
    refuse(RR_MX, TEXT("\"10\" mail"), "InvalidRData",
           "remove the quotes: a number is wanted here (at character 2)");
    refuse(RR_CNAME, TEXT("\"www\""), "InvalidRData",
           "remove the quotes: a domain name is wanted here (at character 2)");
}

static void names_need_an_origin_or_their_final_dot(void **state)
{
    (void)state;
    static const struct rdata_rules bare = {.names = DNAME_OF_FILE};
    AUTO_BUFFER out = {0};
    struct error err = {0};
    assert_false(rdata_read(RR_NS, TEXT("ns1"), &bare, &out, NULL, &err));
    assert_string_equal(err.reason, "InvalidName");
    assert_true(rdata_read(RR_NS, TEXT("ns%."), &bare, &out, NULL, &err));
}

static void more_than_a_message_can_hold_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    AUTO_BUFFER out = {0};
    struct error err = {0};
    for (size_t i = 0; i < 64747; i++) // and 254 lengths: one octet too many
        buffer_add_char(&text, 'a');
    assert_false(rdata_read(RR_TXT, buffer_text(&text), &rules, &out, NULL, &err));
    assert_non_null(strstr(err.text, "rdata of 65001 octets: at most 65000 are possible"));
    text.len--;
    assert_true(rdata_read(RR_TXT, buffer_text(&text), &rules, &out, NULL, &err));
    assert_int_equal(out.len, RDATA_WRITTEN_MAX);
}

// One such record would keep named, Knot or NSD from loading the zone.
static void octets_that_some_server_cannot_decode_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *text;
    } rows[] = {
        {"TYPE10", "\\# 0"},
        {"TYPE11", "\\# 0"},
        {"TYPE11", "\\# 4 C0000201"},
        {"TYPE11", "\\# 7 C00002010600 00"},
        {"TYPE25", "\\# 5 C0000305AA"},
        {"TYPE25", "\\# 5 000003FD41"},
        {"TYPE30", "\\# 1 00"},
        {"TYPE30", "\\# 2 0080"},
        {"TYPE30", "\\# 2 0000"},
        {"TYPE31", "\\# 0"},
        {"TYPE32", "\\# 0"},
        {"TYPE34", "\\# 1 00"},
        {"TYPE34", "\\# 2 0141"},
        {"TYPE38", "\\# 0"},
        {"TYPE38", "\\# 1 81"},
        {"TYPE38", "\\# 2 7902"},
        {"TYPE38", "\\# 1 80"},
        {"TYPE40", "\\# 2 0000"},
        {"TYPE48", "\\# 5 000003FD41"},
        {"TYPE57", "\\# 4 00000305"},
        {"TYPE57", "\\# 5 0001030541"},
        {"TYPE66", "\\# 5 0000000000"},
        {"TYPE67", "\\# 0"},
        {"TYPE68", "\\# 0"},
        {"TYPE259", "\\# 9 000000000000000000"},
        {"TYPE260", "\\# 1 00"},
        {"TYPE260", "\\# 3 000000"},
        {"TYPE260", "\\# 2 0001"},
        {"TYPE261", "\\# 0"},
        {"TYPE262", "\\# 2 0261"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER out = {0};
        struct error err = {0};
        if (rdata_read(type_of(rows[i].type), text_of(rows[i].text), &rules, &out, NULL, &err))
            fail_msg("%s %s was accepted", rows[i].type, rows[i].text);
        assert_string_equal(err.reason, "InvalidRData");
    }
}

static void more_than_nsd_has_room_for_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *head;
        size_t most;
    } rows[] = {{"APL", "", 64}, {"SVCB", "1 .", 62}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_BUFFER text = {0};
        AUTO_BUFFER out = {0};
        struct error err = {0};
        buffer_add_text(&text, rows[i].head);
        for (size_t item = 0; item < rows[i].most; item++)
            if (i)
                buffer_printf(&text, " key%zu", item + 1000);
            else
                buffer_add_text(&text, " 1:192.0.2.0/24");
        assert_true(
            rdata_read(type_of(rows[i].type), buffer_text(&text), &rules, &out, NULL, &err));
        buffer_add_text(&text, i ? " key9999" : " 1:192.0.2.0/24");
        assert_false(
            rdata_read(type_of(rows[i].type), buffer_text(&text), &rules, &out, NULL, &err));
        assert_non_null(strstr(err.text, "NSD takes"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_text_is_refused_with_its_place),
        cmocka_unit_test(control_characters_are_refused_wherever_they_stand),
        cmocka_unit_test(regexps_that_servers_do_not_load_are_refused),
        cmocka_unit_test(places_count_characters_not_octets),
        cmocka_unit_test(words_of_a_file_are_told_by_their_number),
        cmocka_unit_test(numbers_and_names_stand_without_quotes),
        cmocka_unit_test(names_need_an_origin_or_their_final_dot),
        cmocka_unit_test(more_than_a_message_can_hold_is_refused),
        cmocka_unit_test(octets_that_some_server_cannot_decode_are_refused),
        cmocka_unit_test(more_than_nsd_has_room_for_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
