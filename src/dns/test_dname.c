#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "dns/dname.h"

static const struct dname shop = {(const uint8_t *)"\4shop\7example", 14};

static struct dname read_as(enum dname_rules rules, const char *text, uint8_t out[DNAME_MAX])
{
    struct dname name = {0};
    struct error err = {0};
    if (!dname_read(text_of(text), &shop, rules, out, &name, &err))
        fail_msg("'%s' was refused: %s", text, err.text);
    return name;
}

static void expect_as(enum dname_rules rules, const char *text, const char *wanted)
{
    uint8_t octets[DNAME_MAX];
    AUTO_BUFFER out = {0};
    dname_write(&out, read_as(rules, text, octets));
    assert_string_equal(out.at, wanted);
}

static void refuse_as(enum dname_rules rules, const char *text, const char *wanted)
{
    uint8_t octets[DNAME_MAX];
    struct dname name = {0};
    struct error err = {0};
    if (dname_read(text_of(text), &shop, rules, octets, &name, &err))
        fail_msg("'%s' was accepted", text);
    assert_int_equal(err.fault, FAULT_SPEC);
    assert_string_equal(err.text, wanted);
}

static void names_are_completed_unless_a_dot_ends_them(void **state)
{
    (void)state;
    expect_as(DNAME_OF_OBJECT, "www", "www.shop.example.");
    expect_as(DNAME_OF_OBJECT, "a.b", "a.b.shop.example.");
    expect_as(DNAME_OF_OBJECT, "www.", "www.");
    expect_as(DNAME_OF_OBJECT, "WwW.Example.ORG.", "www.example.org.");
    expect_as(DNAME_OF_OBJECT, "@", "shop.example.");
    expect_as(DNAME_OF_OBJECT, ".", ".");
    assert_true(dname_text_is_full(TEXT("a.")));
    assert_false(dname_text_is_full(TEXT("a\\.")));
    assert_true(dname_text_is_full(TEXT("a\\\\.")));
    assert_false(dname_text_is_full(TEXT("")));
}

static void a_name_that_is_not_complete_needs_an_origin(void **state)
{
    (void)state;
    uint8_t octets[DNAME_MAX];
    struct dname name;
    struct error err;
    assert_false(dname_read(TEXT("www"), NULL, DNAME_OF_OBJECT, octets, &name, &err));
    assert_string_equal(err.text, "the name is not complete: end it with a dot");
    assert_false(dname_read(TEXT("@"), NULL, DNAME_OF_OBJECT, octets, &name, &err));
    assert_true(dname_read(TEXT("www."), NULL, DNAME_OF_OBJECT, octets, &name, &err));
    assert_int_equal(name.len, 5);
}

static void octets_that_are_not_plain_are_escaped(void **state)
{
    (void)state;
    expect_as(DNAME_OF_OBJECT, "a\\.b.", "a\\.b.");
    expect_as(DNAME_OF_OBJECT, "a\\046b.", "a\\.b.");
    expect_as(DNAME_OF_OBJECT, "a\\032\\000\\255.", "a\\032\\000\\255.");
    expect_as(DNAME_OF_OBJECT, "\\065\\@\\;.", "a\\@\\;.");
    expect_as(DNAME_OF_OBJECT, "1/25._tcp.", "1/25._tcp.");
    expect_as(DNAME_OF_FILE, "a<b+c.[!.", "a\\<b\\+c.\\091\\!.");
}

static void asterisks_stand_alone_in_objects(void **state)
{
    (void)state;
    uint8_t octets[DNAME_MAX];
    assert_true(dname_is_wildcard(read_as(DNAME_OF_OBJECT, "*", octets)));
    assert_false(dname_has_inner_asterisk(read_as(DNAME_OF_OBJECT, "*.a", octets)));
    assert_true(dname_has_inner_asterisk(read_as(DNAME_OF_OBJECT, "a.*.b", octets)));
    assert_true(dname_has_inner_asterisk(read_as(DNAME_OF_FILE, "a*b", octets)));
    refuse_as(DNAME_OF_OBJECT, "a*", "wildcard segments must have length 1");
    refuse_as(DNAME_OF_OBJECT, "**.a", "wildcard segments must have length 1");
    expect_as(DNAME_OF_PATTERN, "a*b", "a*b.shop.example.");
    refuse_as(DNAME_OF_PATTERN, "a*b*", "patterns can only have one wildcard");
}

static void labels_of_other_scripts_become_a_labels(void **state)
{
    (void)state;
    expect_as(DNAME_OF_OBJECT, "b\303\274cher.", "xn--bcher-kva.");
    expect_as(DNAME_OF_OBJECT, "B\303\234CHER._tcp.", "xn--bcher-kva._tcp.");
    expect_as(DNAME_OF_OBJECT, "xn--bcher-kva.", "xn--bcher-kva.");
    expect_as(DNAME_OF_FILE, "b\303\274cher.", "xn--bcher-kva.");
    expect_as(DNAME_OF_OBJECT, "xn--i-7iq.", "xn--i-7iq."); // with an emoji
    expect_as(DNAME_OF_OBJECT, "ab--c.-a.b-.", "ab--c.-a.b-.");
    refuse_as(DNAME_OF_OBJECT, "xn--\\045\\045\\045.", "xn----- does not decode as Punycode");
    refuse_as(DNAME_OF_OBJECT,
              "b\xc3\xbc"
              "cher*.",
              "invalid character *");
    refuse_as(DNAME_OF_OBJECT, "\xff.", "it is not valid UTF-8");
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    char label[80];
    char longest[300];
    memset(label, 'a', sizeof label);
    memcpy(label + 64, ".", 2);
    refuse_as(DNAME_OF_OBJECT, label, "segment too long 64 > 63");
    for (size_t i = 0; i < sizeof longest; i++)
        longest[i] = i % 2 ? '.' : 'a';
    longest[sizeof longest - 1] = '\0';
    refuse_as(DNAME_OF_OBJECT, longest, "name too long 314 > 255");
    refuse_as(DNAME_OF_OBJECT, "", "segment is an empty string");
    refuse_as(DNAME_OF_OBJECT, "..", "segment is an empty string");
    refuse_as(DNAME_OF_OBJECT, ".a", "segment is an empty string");
    refuse_as(DNAME_OF_OBJECT, "a..b", "segment is an empty string");
    refuse_as(DNAME_OF_OBJECT, "a..", "segment is an empty string");
    refuse_as(DNAME_OF_OBJECT, "a b", "invalid character  ");
    refuse_as(DNAME_OF_OBJECT, "a%b", "invalid character %");
    refuse_as(DNAME_OF_OBJECT, "a\nb", "invalid character \\010");
    refuse_as(DNAME_OF_OBJECT, "@.a", "invalid character @");
    refuse_as(DNAME_OF_OBJECT, "a\\256", "no octet: \\256");
    refuse_as(DNAME_OF_OBJECT, "a\\",
              "a backslash must be followed by a character or three digits");
    refuse_as(DNAME_OF_OBJECT, "a\\12",
              "a backslash must be followed by a character or three digits");
}

static void a_name_of_255_octets_is_taken(void **state)
{
    (void)state;
    char text[256];
    uint8_t octets[DNAME_MAX];
    for (size_t i = 0; i < 254; i++)
        text[i] = i % 2 ? '.' : 'a';
    text[254] = '\0';
    struct dname name = read_as(DNAME_OF_OBJECT, text, octets);
    assert_int_equal(name.len, 255);
    assert_int_equal(dname_label_count(name), 127);
    text[253] = 'a'; // no final dot: the origin would go behind it
    refuse_as(DNAME_OF_OBJECT, text, "name too long 269 > 255");
}

static int compare_keys(struct dname a, struct dname b)
{
    uint8_t left[DNAME_KEY_MAX];
    uint8_t right[DNAME_KEY_MAX];
    size_t left_len = dname_write_key(a, left);
    size_t right_len = dname_write_key(b, right);
    int order = memcmp(left, right, left_len < right_len ? left_len : right_len);
    return order ? order : (left_len > right_len) - (left_len < right_len);
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

// RFC 4034 6.1, with its own example.
static void the_order_is_the_canonical_one(void **state)
{
    (void)state;
    static const char *const names[] = {
        ".",
        "example.",
        "a.example.",
        "yljkjljk.a.example.",
        "Z.a.example.",
        "zABC.a.EXAMPLE.",
        "z.example.",
        "\\000.z.example.",
        "\\000\\001.z.example.",
        "\\001.z.example.",
        "\\001\\000.z.example.",
        "\\002.z.example.",
        "*.z.example.",
        "\\200.z.example.",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t j = 0; j < COUNT_OF(names); j++) {
            uint8_t left[DNAME_MAX];
            uint8_t right[DNAME_MAX];
            struct dname a = read_as(DNAME_OF_OBJECT, names[i], left);
            struct dname b = read_as(DNAME_OF_OBJECT, names[j], right);
            int wanted = (i > j) - (i < j);
            assert_int_equal(sign(dname_compare(a, b)), wanted);
            assert_int_equal(sign(compare_keys(a, b)), wanted);
            assert_int_equal(dname_equal(a, b), i == j);
        }
}

static void a_name_is_within_its_zone_on_a_label_boundary(void **state)
{
    (void)state;
    uint8_t octets[DNAME_MAX];
    assert_true(dname_is_within(read_as(DNAME_OF_OBJECT, "@", octets), shop));
    assert_true(dname_is_within(read_as(DNAME_OF_OBJECT, "a.b", octets), shop));
    assert_false(dname_is_within(read_as(DNAME_OF_OBJECT, "myshop.example.", octets), shop));
    assert_false(dname_is_within(read_as(DNAME_OF_OBJECT, "example.", octets), shop));
    // The octets of the zone, but within a label.
    assert_false(
        dname_is_within(read_as(DNAME_OF_OBJECT, "a\\004shop\\007example.", octets), shop));
    struct dname parent = dname_parent(read_as(DNAME_OF_OBJECT, "a.b", octets));
    assert_int_equal(dname_label_count(parent), 3);
    assert_true(dname_is_root(dname_parent(read_as(DNAME_OF_OBJECT, "a.", octets))));
    assert_true(dname_is_within(shop, (struct dname){(const uint8_t *)"", 1}));
}

static void host_names_are_told_apart(void **state)
{
    (void)state;
    uint8_t octets[DNAME_MAX];
    assert_true(dname_is_host_name(read_as(DNAME_OF_OBJECT, "a-1.b", octets)));
    assert_true(dname_is_host_name(read_as(DNAME_OF_OBJECT, "*.b", octets)));
    static const char *const others[] = {"_a", "a_b", "-a", "a-", "a.b-", "1/2", "a.*.b"};
    for (size_t i = 0; i < COUNT_OF(others); i++)
        assert_false(dname_is_host_name(read_as(DNAME_OF_OBJECT, others[i], octets)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_completed_unless_a_dot_ends_them),
        cmocka_unit_test(a_name_that_is_not_complete_needs_an_origin),
        cmocka_unit_test(octets_that_are_not_plain_are_escaped),
        cmocka_unit_test(asterisks_stand_alone_in_objects),
        cmocka_unit_test(labels_of_other_scripts_become_a_labels),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(a_name_of_255_octets_is_taken),
        cmocka_unit_test(the_order_is_the_canonical_one),
        cmocka_unit_test(a_name_is_within_its_zone_on_a_label_boundary),
        cmocka_unit_test(host_names_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
