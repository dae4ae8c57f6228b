#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dns/record.h"

typedef bool normalise(struct arena *arena, struct text text, struct text *out, struct error *err);

static bool target(struct arena *arena, struct text text, struct text *out, struct error *err)
{
    return target_normalise(arena, text, false, out, err);
}

static bool target_or_root(struct arena *arena, struct text text, struct text *out,
                           struct error *err)
{
    return target_normalise(arena, text, true, out, err);
}

static void expect_text(normalise *function, struct text text, const char *wanted)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text out = {0};
    struct error err = {0};
    if (!function(arena, text, &out, &err))
        fail_msg("'%.*s' was refused: %s", TEXT_ARGS(text), err.text);
    assert_int_equal(out.len, strlen(wanted));
    assert_memory_equal(out.at, wanted, out.len);
}

static void expect(normalise *function, const char *text, const char *wanted)
{
    expect_text(function, text_of(text), wanted);
}

static void refuse_text(normalise *function, struct text text, const char *wanted)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text out = TEXT("untouched");
    struct error err = {0};
    if (function(arena, text, &out, &err))
        fail_msg("'%.*s' was accepted as '%.*s'", TEXT_ARGS(text), TEXT_ARGS(out));
    assert_int_equal(err.fault, FAULT_SPEC);
    if (!strstr(err.text, wanted))
        fail_msg("'%s' does not say '%s'", err.text, wanted);
    assert_true(text_is(out, "untouched"));
}

static void refuse(normalise *function, const char *text, const char *wanted)
{
    refuse_text(function, text_of(text), wanted);
}

static void names_go_to_lower_case_and_lose_one_final_dot(void **state)
{
    (void)state;
    expect(domain_normalise, "Example.COM", "example.com");
    expect(domain_normalise, "example.com.", "example.com");
    expect(subdomain_normalise, "WWW.", "www");
    refuse(domain_normalise, "example.com..", "label 3 is empty: remove the extra dot");
}

static void hyphens_at_an_edge_underscores_and_single_labels_are_accepted(void **state)
{
    (void)state;
    expect(domain_normalise, "-a-._b_.c", "-a-._b_.c");
    expect(domain_normalise, "lan", "lan");
    expect(domain_normalise, "192.0.2.1", "192.0.2.1");
    expect(subdomain_normalise, "_sip._tcp", "_sip._tcp");
}

static void empty_names_and_empty_labels_are_refused(void **state)
{
    (void)state;
    refuse(domain_normalise, "", "it is empty");
    refuse(domain_normalise, NULL, "it is empty");
    refuse(domain_normalise, ".", "root");
    refuse(domain_normalise, ".example.com", "label 1 is empty");
    refuse(domain_normalise, "example..com", "label 2 is empty");
    refuse(subdomain_normalise, "", "it is empty");
}

static void characters_that_a_path_would_escape_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"a/b", "a?b", "a#b", "a%b", "a\"b", "a\\b", "a@b", "a:b",
                                      "a(b", "a;b", "a'b", "a~b", "a+b",  "a,b",  "a[b", "a`b"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        refuse(domain_normalise, bad[i], "only letters, digits, '-' and '_' are allowed");
        refuse(subdomain_normalise, bad[i], bad[i]);
        refuse(target, bad[i], "contains");
    }
    refuse(domain_normalise, "ex ample.com", "label 'ex ample' contains a blank");
    refuse(domain_normalise, "a\tb", "blank");
    refuse(domain_normalise, "a\nb", "control character");
    refuse(domain_normalise, "a\177b", "control character");
    refuse_text(domain_normalise, TEXT("a\0b"), "control character");
}

static void wildcard_is_the_leftmost_label_of_a_subdomain_alone(void **state)
{
    (void)state;
    expect(subdomain_normalise, "*", "*");
    expect(subdomain_normalise, "*.apps", "*.apps");
    refuse(subdomain_normalise, "apps.*", "leftmost");
    refuse(subdomain_normalise, "a*", "label of its own");
    refuse(subdomain_normalise, "**", "label of its own");
    refuse(domain_normalise, "*.example.com", "leftmost of a subdomain");
    refuse(target, "*.example.com", "leftmost of a subdomain");
}

static void at_sign_alone_is_the_domain_itself(void **state)
{
    (void)state;
    expect(subdomain_normalise, "@", "@");
    refuse(subdomain_normalise, "@.", "'@'");
    refuse(subdomain_normalise, "a.@", "'@'");
    refuse(domain_normalise, "@", "'@'");
}

static void labels_have_at_most_63_octets(void **state)
{
    (void)state;
    char label[65];
    memset(label, 'a', 64);
    label[64] = '\0';
    refuse(domain_normalise, label, "has 64 octets: at most 63");
    label[63] = '\0';
    expect(domain_normalise, label, label);
}

static void names_have_at_most_253_octets(void **state)
{
    (void)state;
    char name[256];
    for (size_t i = 0; i < 255; i++)
        name[i] = i % 2 ? '.' : 'a';
    name[253] = '\0';
    expect(domain_normalise, name, name);
    name[253] = '.';
    name[254] = '\0';
    name[253 - 1] = 'b';
    expect_text(domain_normalise, (struct text){name, 254},
                "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a."
                "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a."
                "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a."
                "a.a.a.a.a.a.b");
    name[253] = 'b';
    refuse_text(domain_normalise, (struct text){name, 254}, "it has 254 octets: at most 253");
}

static void oversized_input_is_refused_before_it_is_looked_at(void **state)
{
    (void)state;
    char name[1026];
    memset(name, '/', sizeof name);
    refuse_text(domain_normalise, (struct text){name, 1025}, "it has 1025 octets");
}

static void international_labels_become_a_labels(void **state)
{
    (void)state;
    expect(domain_normalise, "b\u00fccher.example", "xn--bcher-kva.example");
    expect(domain_normalise, "B\u00dcCHER.example", "xn--bcher-kva.example");
    expect(domain_normalise, "bu\u0308cher.example", "xn--bcher-kva.example");
    expect(domain_normalise, "stra\u00dfe.example", "xn--strae-oqa.example");
    expect(subdomain_normalise, "*.\u4f8b\u3048", "*.xn--r8jz45g");
    expect(target, "\u4f8b\u3048.example.", "xn--r8jz45g.example");
}

static void underscores_beside_international_labels_stay(void **state)
{
    (void)state;
    expect(subdomain_normalise, "_dmarc.b\u00fccher", "_dmarc.xn--bcher-kva");
    expect(subdomain_normalise, "_Acme-Challenge", "_acme-challenge");
}

static void a_labels_pass_as_they_are(void **state)
{
    (void)state;
    expect(domain_normalise, "xn--bcher-kva.example", "xn--bcher-kva.example");
    expect(domain_normalise, "XN--BCHER-KVA.example", "xn--bcher-kva.example");
    expect(domain_normalise, "xn--0.example", "xn--0.example");
    expect(domain_normalise, "ab--cd.example", "ab--cd.example");
}

static void labels_that_no_a_label_can_carry_are_refused(void **state)
{
    (void)state;
    refuse(domain_normalise, "a\u00fc/b", "contains '/'");
    refuse(domain_normalise, "\u00ad", "no visible character");
    refuse(domain_normalise, "a\u3002b", "full stop of another script");
    refuse(domain_normalise, "a\u2028b", "not a valid international label");
    refuse(domain_normalise, "\u0301a", "not a valid international label");
    refuse(domain_normalise, "\uff0f", "contains '/'");
    refuse(domain_normalise, "\uff0a", "contains '*'");
    char label[2 * 63 + 1] = "";
    for (size_t i = 0; i < 63; i++)
        memcpy(label + 2 * i, "\u00fc", 2);
    refuse_text(domain_normalise, (struct text){label, 2 * 63}, "shorten it");
}

static void invalid_utf8_is_refused(void **state)
{
    (void)state;
    refuse(domain_normalise, "a\xff.example", "not valid UTF-8");
    refuse(subdomain_normalise, "\xc0\xaf", "not valid UTF-8");
    refuse(target, "\xed\xa0\x80", "not valid UTF-8");
}

static void address_is_no_target(void **state)
{
    (void)state;
    static const char *const addresses[] = {"\315\2170.0.1.9", "192.0.2.1",   "192.0.2.1.",
                                            "2001:db8::1",     "[::1]",       "::ffff:192.0.2.1",
                                            "010.001.2.3",     "999.0.2.300", "fe80::1"};
    for (size_t i = 0; i < COUNT_OF(addresses); i++)
        refuse(target, addresses[i], "it is an IP address");
    expect(target, "1.2.3.example", "1.2.3.example");
    expect(target, "1.2.0.192.in-addr.arpa", "1.2.0.192.in-addr.arpa");
    expect(target, "_dmarc.Example.com.", "_dmarc.example.com");
}

static void root_is_a_target_only_where_allowed(void **state)
{
    (void)state;
    expect(target_or_root, ".", ".");
    refuse(target, ".", "only in MX and SRV");
    refuse(target_or_root, "..", "label 1 is empty");
    refuse(target_or_root, "", "it is empty");
}

static void subdomain_and_domain_join_to_the_owner_name(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct text out;
    assert_true(record_name_join(arena, TEXT("example.com"), TEXT("www"), &out, NULL));
    assert_true(text_is(out, "www.example.com"));
    assert_true(record_name_join(arena, TEXT("example.com"), TEXT("@"), &out, NULL));
    assert_true(text_is(out, "example.com"));
}

static void joined_names_have_at_most_253_octets(void **state)
{
    (void)state;
    CLEANUP(arena) struct arena *arena = arena_new();
    char domain[243];
    memset(domain, 'a', sizeof domain);
    struct text out = TEXT("untouched");
    struct error err;
    assert_true(record_name_join(arena, (struct text){domain, 243}, TEXT("sub.sub.s"), &out, &err));
    assert_int_equal(out.len, 253);
    assert_false(
        record_name_join(arena, (struct text){domain, 243}, TEXT("sub.sub.su"), &out, &err));
    assert_string_equal(err.text,
                        "subdomain and domain together have 254 octets: at most 253 are allowed");
    assert_int_equal(out.len, 253);
}

static void name_lies_within_a_zone_on_a_label_boundary(void **state)
{
    (void)state;
    assert_true(name_is_within(TEXT("example.com"), TEXT("example.com")));
    assert_true(name_is_within(TEXT("a.b.example.com"), TEXT("example.com")));
    assert_false(name_is_within(TEXT("badexample.com"), TEXT("example.com")));
    assert_false(name_is_within(TEXT("com"), TEXT("example.com")));
    assert_false(name_is_within(TEXT("example.org"), TEXT("example.com")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_go_to_lower_case_and_lose_one_final_dot),
        cmocka_unit_test(hyphens_at_an_edge_underscores_and_single_labels_are_accepted),
        cmocka_unit_test(empty_names_and_empty_labels_are_refused),
        cmocka_unit_test(characters_that_a_path_would_escape_are_refused),
        cmocka_unit_test(wildcard_is_the_leftmost_label_of_a_subdomain_alone),
        cmocka_unit_test(at_sign_alone_is_the_domain_itself),
        cmocka_unit_test(labels_have_at_most_63_octets),
        cmocka_unit_test(names_have_at_most_253_octets),
        cmocka_unit_test(oversized_input_is_refused_before_it_is_looked_at),
        cmocka_unit_test(international_labels_become_a_labels),
        cmocka_unit_test(underscores_beside_international_labels_stay),
        cmocka_unit_test(a_labels_pass_as_they_are),
        cmocka_unit_test(labels_that_no_a_label_can_carry_are_refused),
        cmocka_unit_test(invalid_utf8_is_refused),
        cmocka_unit_test(address_is_no_target),
        cmocka_unit_test(root_is_a_target_only_where_allowed),
        cmocka_unit_test(subdomain_and_domain_join_to_the_owner_name),
        cmocka_unit_test(joined_names_have_at_most_253_octets),
        cmocka_unit_test(name_lies_within_a_zone_on_a_label_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
