#include "dns/corefile/test_lint.h"

// What stands behind `rewrite`, and what is said of it.
static void check_rules(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *wanted =
            *rows[i].wanted ? arena_printf(arena, "plugin/rewrite: %s", rows[i].wanted) : "";
        const char *text = arena_printf(arena, ". {\nrewrite %s\n}\n", rows[i].text);
        assert_string_equal(lint(rows[i].version, text), wanted);
    }
}
#define CHECK_RULES(rows) check_rules(rows, COUNT_OF(rows))

static void a_rule_has_a_kind(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "", "no rule type specified for rewrite"},
        {NULL, "Continue", "continue rule must begin with a rule type"},
        {NULL, "stop", "stop rule must begin with a rule type"},
        {NULL, "stop NAME a b", ""},
        {NULL, "name {\nexact a b\n}", ""},
        {NULL, "{\nname a\nb\n}", ""},
        {NULL, "{\n}", "no rule type specified for rewrite"},
        {NULL, "x a b", "invalid rule type \"x\""},
        {NULL, "stop x a b", "invalid rule type \"stop\""},
        {NULL, "answer name a b", "response rewrites must begin with a name rule"},
        {NULL, "class CH in", ""},
        {NULL, "class in", "class rules must have exactly two arguments"},
        {NULL, "class in xx", "invalid class \"XX\""},
        {NULL, "type any hinfo", ""},
        {NULL, "type a b c", "type rules must have exactly two arguments"},
        {NULL, "type type64 A", "invalid type \"TYPE64\""},
    };
    CHECK_RULES(rows);
}

static void names_match_in_five_ways(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "name a", "too few arguments for a name rule"},
        {NULL, "name Exact a b", ""},
        {NULL, "name prefix a b", ""},
        {NULL, "name suffix .a .b answer auto", ""},
        {NULL, "name substring a b", ""},
        {NULL, "name regex (.*)\\.a {1}.b", ""},
        {NULL, "name X a b",
         "name rule supports only exact, prefix, suffix, substring, and regex name matching, "
         "received: x"},
        {NULL, "name regex ( b", "invalid regex matching pattern: ("},
        {NULL, "name a *.B", "invalid regex matching pattern: *.b."},
        {NULL, "name *.a b", ""},
        {NULL, "name regex (.*)\\.a {1}.{2}.b",
         "the rewrite regex pattern ({1}.{2}.b) uses more subexpressions than its corresponding "
         "matching regex pattern ((.*)\\.a)"},
        {NULL, "name regex (.*)\\.a {1}.{1}.{01}.{x}.b", ""},
    };
    CHECK_RULES(rows);
}

static void answers_are_rewritten_back(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "name regex (.*)\\.a {1}.b answer name (.*)\\.b {1}.a value (.*)\\.b {1}.a", ""},
        {NULL, "name suffix .a .b x", "invalid arguments for suffix rule"},
        {NULL, "name suffix .a .b x y",
         "exceeded the number of arguments for a non-answer rule argument for suffix rule"},
        {NULL, "name exact a b answer auto answer", "type missing for answer rule for exact rule"},
        {NULL, "name exact a b answer all", "invalid type \"all\" for answer rule for exact rule"},
        {NULL, "name exact a b answer name x",
         "name answer rule for exact rule: 2 arguments required"},
        {NULL, "name exact a b answer value * x",
         "value answer rule for exact rule: invalid regex matching pattern: *"},
        {NULL, "name exact a b answer auto name x y",
         "auto name answer rule cannot be combined with explicit name anwer rules"},
    };
    CHECK_RULES(rows);
}

static void options_of_edns0_are_set_and_unset(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "edns0 local set 0xffee 0xabcd", ""},
        {NULL, "edns0 local append 1_0 text revert", ""},
        {NULL, "edns0 local replace 0xffee {client_ip}", ""},
        {NULL, "edns0 local set 0xffee {a/b}", ""},
        {NULL, "edns0 local set 0xffee {a}", "unsupported variable name \"{a}\""},
        {NULL, "edns0 local set 0xffee 0xxy", "encoding/hex: invalid byte: U+0078 'x'"},
        {NULL, "edns0 local set 0xffee 0xa\xc3\xa4",
         "encoding/hex: invalid byte: U+00C3 '\xc3\x83'"},
        {NULL, "edns0 local set 0xffee 0xa\x01", "encoding/hex: invalid byte: U+0001"},
        {NULL, "edns0 local set 0xffee 0xa'", "encoding/hex: invalid byte: U+0027 '''"},
        {NULL, "edns0 local set 0xffee 0xabc", "encoding/hex: odd length hex string"},
        {NULL, "edns0 local set x a", "strconv.ParseUint: parsing \"x\": invalid syntax"},
        {NULL, "edns0 local set 0x10000 a",
         "strconv.ParseUint: parsing \"0x10000\": value out of range"},
        {NULL, "edns0 local set 1", "EDNS0 local rules require three or four args"},
        {"1.11.3", "edns0 local set 1", "EDNS0 local rules require exactly three args"},
        {"1.11.3", "edns0 nsid set revert", "EDNS0 NSID rules do not accept args"},
        {"1.11.4", "edns0 nsid set revert", ""},
        {NULL, "edns0 nsid set x", "EDNS0 NSID rules can accept no more than one arg"},
        {NULL, "edns0 subnet set 24 56", ""},
        {NULL, "edns0 subnet set 33 56", "invalid IPv4 bit mask length 33"},
        {NULL, "edns0 subnet set 32 129", "invalid IPv6 bit mask length 129"},
        {NULL, "edns0 local unset 1", ""},
        {NULL, "edns0 local unset 1 2", "local unset action requires exactly two arguments"},
        {NULL, "edns0 subnet unset x", "subnet unset action requires exactly one argument"},
        {"1.12.2", "edns0 nsid unset", "invalid action: \"unset\""},
        {NULL, "edns0 nsid X", "invalid action: \"x\""},
        {NULL, "edns0 X set", "invalid rule type \"x\""},
        {NULL, "edns0 nsid", "too few arguments for an EDNS0 rule"},
    };
    CHECK_RULES(rows);
}

static void values_stand_behind_a_name(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "ttl a 30", ""},
        {NULL, "ttl suffix a 30-60", ""},
        {NULL, "ttl a 30-", ""},
        {NULL, "ttl a -60", ""},
        {NULL, "ttl a", "too few (1) arguments for a ttl rule"},
        {NULL, "ttl a -", "invalid TTL '-' for a ttl rule"},
        {NULL, "ttl a 60-30", "invalid TTL '60-30' for a ttl rule"},
        {NULL, "ttl a 30s", "invalid TTL '30s' for a ttl rule"},
        {NULL, "ttl a b c 30", "invalid TTL '' for a ttl rule"},
        {NULL, "ttl regex + 30", "invalid regex pattern in a ttl rule: +"},
        {NULL, "ttl x a 30",
         "ttl rule supports only exact, prefix, suffix, substring, and regex name matching"},
        {NULL, "rcode a NXDOMAIN 0", ""},
        {NULL, "rcode suffix a nxdomain noerror", ""},
        {NULL, "rcode a 0", "too few (2) arguments for a rcode rule"},
        {NULL, "rcode a 24 0", "invalid matching RCODE '24' for a rcode rule"},
        {NULL, "rcode a 23 x", "invalid replacement RCODE 'x' for a rcode rule"},
        {NULL, "rcode x a 0 0",
         "rcode rule supports only exact, prefix, suffix, substring, and regex name matching"},
        {"1.11.1", "rcode a NXDOMAIN 0", "invalid rule type \"rcode\""},
        {NULL, "cname a b", ""},
        {NULL, "cname regex (.*) b", ""},
        {NULL, "cname a", "too few (1) arguments for a cname rule"},
        {NULL, "cname X a b", "unknown cname rewrite type: x"},
        {NULL, "cname regex A) b",
         "invalid cname rewrite regex pattern: error parsing regexp: unexpected ): `a)`"},
        {"1.10.1", "cname a b", "invalid rule type \"cname\""},
    };
    CHECK_RULES(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(a_rule_has_a_kind),          UNIT(names_match_in_five_ways),
        UNIT(answers_are_rewritten_back), UNIT(options_of_edns0_are_set_and_unset),
        UNIT(values_stand_behind_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
