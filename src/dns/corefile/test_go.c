#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/test_arena.h"
#include "dns/corefile/setup.h"

static void texts_are_quoted_as_go_does(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wanted;
    } rows[] = {
        {"", "\"\""},
        {"a\"b\\c", "\"a\\\"b\\\\c\""},
        {"\t\n\r\a\v", "\"\\t\\n\\r\\a\\v\""},
        {"\x01\x7f", "\"\\x01\\x7f\""},
        {"\xff\xc3", "\"\\xff\\xc3\""},
        {"\xc3\xa4 \xe2\x82\xac", "\"\xc3\xa4 \xe2\x82\xac\""},
        {"\xc2\xa0\xe2\x80\x83", "\"\\u00a0\\u2003\""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(go_quote(arena, text_of(rows[i].text)), rows[i].wanted);
}

static void durations_are_written_as_go_does(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *wanted;
    } rows[] = {
        {0, "0s"},
        {1, "1ns"},
        {1500, "1.5\xc2\xb5s"},
        {20000000, "20ms"},
        {1000000000, "1s"},
        {1050000000, "1.05s"},
        {INT64_C(90000000000), "1m30s"},
        {INT64_C(60500000000), "1m0.5s"},
        {INT64_C(-5400000000000), "-1h30m0s"},
        {INT64_MIN, "-2562047h47m16.854775808s"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(go_duration_text(arena, rows[i].ns), rows[i].wanted);
}

static void durations_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wanted; // NULL: it is a duration
    } rows[] = {
        {"1h30m", NULL},
        {"+.5s", NULL},
        {"-1.5h", NULL},
        {"0", NULL},
        {"1\xc2\xb5s", NULL},
        {"", "time: invalid duration \"\""},
        {"5", "time: missing unit in duration \"5\""},
        {"1d", "time: unknown unit \"d\" in duration \"1d\""},
        {".s", "time: invalid duration \".s\""},
        {"2562048h", "time: invalid duration \"2562048h\""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t ns;
        const char *fault = go_duration_error(arena, text_of(rows[i].text), &ns);
        assert_string_equal(fault ? fault : "", rows[i].wanted ? rows[i].wanted : "");
    }
}

static void whole_numbers_have_a_sign_and_no_underscores(void **state)
{
    (void)state;
    int64_t number = 0;
    assert_true(go_read_int(TEXT("+7"), &number) && number == 7);
    assert_true(go_read_int(TEXT("007"), &number) && number == 7);
    assert_true(go_read_int(TEXT("-9223372036854775808"), &number) && number == INT64_MIN);
    static const char *const wrong[] = {
        "", "+", "--1", "+-1", "1_0", "0x1", " 1", "1 ", "9223372036854775808"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(go_read_int(text_of(wrong[i]), &number));
    assert_string_equal(go_int_error(arena, TEXT("9223372036854775808"), &number),
                        "strconv.Atoi: parsing \"9223372036854775808\": value out of range");
    uint64_t natural = 0;
    assert_null(go_uint_error(arena, TEXT("65535"), 16, &natural));
    assert_int_equal(natural, 65535);
    assert_string_equal(go_uint_error(arena, TEXT("+1"), 16, &natural),
                        "strconv.ParseUint: parsing \"+1\": invalid syntax");
}

// A setup that nothing is read from, for what reports its own errors.
struct lone_setup {
    struct corefile_file file;
    struct corefile corefile;
    struct corefile_problems problems;
    struct linter linter;
    struct setup setup;
};

static void lone_setup_init(struct lone_setup *lone)
{
    *lone = (struct lone_setup){.file = {.path = "Corefile"}};
    lone->corefile.files = &lone->file;
    lone->problems.arena = arena;
    lone->linter = (struct linter){&lone->corefile, NULL, &lone->problems, arena};
    lone->setup = (struct setup){.linter = &lone->linter, .plugin = "x"};
}

static void a_number_may_name_its_base(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t wanted;
    } rows[] = {{"0", 0},       {"10", 10},   {"0x1F", 31},    {"0XfF", 255},
                {"010", 8},     {"0o17", 15}, {"0b101", 5},    {"1_000", 1000},
                {"0x_ff", 255}, {"0_7", 7},   {"65535", 65535}};
    static const char *const wrong[] = {"",     "x",  "0x",  "_1", "1_",
                                        "1__0", "08", "0b2", "+1", "65536"};
    struct lone_setup lone;
    lone_setup_init(&lone);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t number = UINT64_MAX;
        assert_true(go_uint_of_any_base(&lone.setup, text_of(rows[i].text), 16, &number));
        assert_int_equal(number, rows[i].wanted);
    }
    assert_int_equal(lone.problems.count, 0);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        uint64_t number;
        assert_false(go_uint_of_any_base(&lone.setup, text_of(wrong[i]), 16, &number));
    }
    assert_int_equal(lone.problems.count, COUNT_OF(wrong));
}

static void fractions_have_exponents_and_names(void **state)
{
    (void)state;
    static const char *const good[] = {"1",    "-1.5", ".5",  "1.",        "1e3",
                                       "1E-3", "+inf", "NaN", "-Infinity", "1_0.5_0"};
    static const char *const wrong[] = {"",     ".",  "e1", "1e",   "1e+",  "+nan",
                                        "1_.5", "1f", "1 ", "1e39", "-1e39"};
    double number;
    for (size_t i = 0; i < COUNT_OF(good); i++)
        assert_null(go_float_error(arena, text_of(good[i]), &number));
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_non_null(go_float_error(arena, text_of(wrong[i]), &number));
    assert_null(go_float_error(arena, TEXT("1_0.5"), &number));
    assert_true(number > 10.4 && number < 10.6);
}

static void a_host_and_a_port_are_split(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wanted; // "HOST|PORT", or what is wrong
    } rows[] = {
        {"a:1", "a|1"},
        {":1", "|1"},
        {"[::1]:1", "::1|1"},
        {"a:", "a|"},
        {"", "missing port in address"},
        {"a", "address a: missing port in address"},
        {"::1", "address ::1: too many colons in address"},
        {"[::1]", "address [::1]: missing port in address"},
        {"[::1]x", "address [::1]x: missing port in address"},
        {"[::1", "address [::1: missing ']' in address"},
        {"[a]:b:1", "address [a]:b:1: too many colons in address"},
        {"a[b:1", "address a[b:1: unexpected '[' in address"},
        {"a]b:1", "address a]b:1: unexpected ']' in address"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct text host;
        struct text port;
        const char *fault = go_split_host_port(arena, text_of(rows[i].text), &host, &port);
        const char *found =
            fault ? fault : arena_printf(arena, "%.*s|%.*s", TEXT_ARGS(host), TEXT_ARGS(port));
        assert_string_equal(found, rows[i].wanted);
    }
}

static void networks_are_without_their_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wanted;
    } rows[] = {
        {"10.1.2.3/8", "10.0.0.0/8"},
        {"192.0.2.255/25", "192.0.2.128/25"},
        {"2001:db8:ffff::1/33", "2001:db8:8000::/33"},
        {"64:ff9b::1/96", "64:ff9b::/96"},
        {"192.0.2.1/32", "192.0.2.1/32"},
    };
    struct go_network network;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(go_network_read(arena, text_of(rows[i].text), &network));
        assert_string_equal(network.text, rows[i].wanted);
    }
    static const char *const wrong[] = {"",           "/8",          "10.0.0.0",    "10.0.0.0/",
                                        "::/129",     "10.0.0.0/33", "010.0.0.0/8", "::%eth0/8",
                                        "10.0.0.0/+8"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(go_network_read(arena, text_of(wrong[i]), &network));
}

// ---- expressions --------------------------------------------------------------------------------

static void expressions_have_groups(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned groups;
    } rows[] = {
        {"", 0},          {"^a.*$", 0},   {"(a)(b)", 2},  {"((a)|b)?", 2},     {"(?:a)(b)", 1},
        {"(?P<n>a)", 1},  {"(?<n>a)", 1}, {"(?i)(a)", 1}, {"[a-z0-9_.-]+", 0}, {"[^a]", 0},
        {"a\\.b\\d+", 0}, {"a{2}b", 0},   {"a{2,}?", 0},  {"a{,2}", 0},        {"a{x}", 0},
        {"a|", 0},        {"()", 1},      {"a{02}", 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unsigned groups = UINT8_MAX;
        const char *fault;
        assert_int_equal(go_regexp_read(arena, text_of(rows[i].text), &groups, &fault),
                         GO_REGEXP_GOOD);
        assert_int_equal(groups, rows[i].groups);
    }
}

static void expressions_that_are_none_have_the_words_of_go(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *wanted;
    } rows[] = {
        {"*a", "missing argument to repetition operator: `*`"},
        {"(*?)", "missing argument to repetition operator: `*?`"},
        {"a|+", "missing argument to repetition operator: `+`"},
        {"a**", "invalid nested repetition operator: `**`"},
        {"a+?*", "invalid nested repetition operator: `+?*`"},
        {"a{2}{3}", "invalid nested repetition operator: `{2}{3}`"},
        {"a{1001}", "invalid repeat count: `{1001}`"},
        {"a{3,2}", "invalid repeat count: `{3,2}`"},
        {"(a", "missing closing ): `(a`"},
        {"a)", "unexpected ): `a)`"},
        {"x[a", "missing closing ]: `[a`"},
        {"a\\", "trailing backslash at end of expression: ``"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unsigned groups;
        const char *fault;
        assert_int_equal(go_regexp_read(arena, text_of(rows[i].text), &groups, &fault),
                         GO_REGEXP_BAD);
        assert_string_equal(fault, arena_printf(arena, "error parsing regexp: %s", rows[i].wanted));
    }
}

static void rare_expressions_are_not_judged(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "(?i:a)", "(?=a)", "(?P<n>a)(?P<n>b)", "[[:alpha:]]", "[\\d]", "\\pL",
        "\\x41",  "[z-a]", "(a{9}){9}",        "\xc3\xa4",    "[]a]"};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        unsigned groups;
        const char *fault;
        assert_int_equal(go_regexp_read(arena, text_of(rows[i]), &groups, &fault),
                         GO_REGEXP_UNKNOWN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(texts_are_quoted_as_go_does),
        UNIT(durations_are_written_as_go_does),
        UNIT(durations_have_units),
        UNIT(whole_numbers_have_a_sign_and_no_underscores),
        UNIT(a_number_may_name_its_base),
        UNIT(fractions_have_exponents_and_names),
        UNIT(a_host_and_a_port_are_split),
        UNIT(networks_are_without_their_hosts),
        UNIT(expressions_have_groups),
        UNIT(expressions_that_are_none_have_the_words_of_go),
        UNIT(rare_expressions_are_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
