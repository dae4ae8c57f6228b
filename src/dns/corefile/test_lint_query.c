#include "dns/corefile/test_lint.h"

static void template_answers_a_class_and_a_type(void **state)
{
    (void)state;
    const struct row heads[] = {
        {NULL, "template IN AAAA .", ""},
        {NULL, "template IN", "plugin/template: " AT("2") WRONG_COUNT "'IN'"},
        {NULL, "template in A", "plugin/template: " AT("2") "invalid query class in"},
        {NULL, "template IN a", "plugin/template: " AT("2") "invalid RR class a"},
        {NULL, "template IN TYPE64", "plugin/template: " AT("2") "invalid RR class TYPE64"},
        {NULL, "template IN NXNAME", ""},
        {"1.10.1", "template IN NXNAME", "plugin/template: " AT("2") "invalid RR class NXNAME"},
    };
    CHECK_LINES(heads);
    const struct row rows[] = {
        {NULL, "match ^a[.]$ b\nanswer \"{{ .Name }}\"\nrcode NXDOMAIN\nederror 15 \"a text\"", ""},
        {NULL, "match", AT("3") WRONG_COUNT "'match'"},
        {NULL, "match a**",
         AT("3") "could not parse regex: a**, error parsing regexp: invalid nested repetition "
                 "operator: `**`"},
        {NULL, "rcode nxdomain", AT("3") "unknown rcode nxdomain"},
        {NULL, "rcode BADVERS", AT("3") "unknown rcode BADVERS"},
        {NULL, "ederror 65536",
         AT("3") "error parsing extended DNS error code 65536, strconv.ParseUint: parsing "
                 "\"65536\": value out of range"},
        {NULL, "ederror 1 2 3", AT("3") WRONG_COUNT "'3'"},
        {"1.10.0", "ederror 1", AT("3") WRONG_COUNT "'ederror'"},
        {NULL, "nothing", AT("3") WRONG_COUNT "'nothing'"},
    };
    CHECK_OPTIONS("template IN A", rows);
}

static void long_expressions_are_refused_since_there_is_a_limit(void **state)
{
    (void)state;
    enum { LIMIT = 10000 };
    char *pattern = arena_new_array(arena, char, LIMIT + 2);
    memset(pattern, 'a', LIMIT + 1);
    const struct row rows[] = {
        {NULL, arena_printf(arena, "match %s", pattern),
         AT("3") "regex pattern too long: 10001 > 10000"},
        {"1.13.2", arena_printf(arena, "match %s", pattern), ""},
        {NULL, arena_printf(arena, "match %s", pattern + 1), ""},
    };
    CHECK_OPTIONS("template IN A", rows);
}

static void acl_has_networks_and_types(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "allow net 10.0.0.0/8 * x\nBLOCK TYPE ANY NET *\nfilter\ndrop", ""},
        {NULL, "allow net 192.0.2.1 2001:db8::1", ""},
        {NULL, "allow net ten", AT("3") "illegal CIDR notation \"ten/32\""},
        {NULL, "allow net a:b", AT("3") "illegal CIDR notation \"a:b/128\""},
        {NULL, "allow net 10.0.0.0/33", AT("3") "illegal CIDR notation \"10.0.0.0/33\""},
        {NULL, "block type aaaa", AT("3") "unexpected token \"aaaa\"; expect legal QTYPE"},
        {NULL, "block Type net *", AT("3") "no token specified in \"type\" section"},
        {NULL, "block x", AT("3") "unexpected token \"x\"; expect 'type | net'"},
        {NULL, "forbid net *",
         AT("3") "unexpected token \"forbid\"; expect 'allow', 'block', 'filter' or 'drop'"},
    };
    CHECK_OPTIONS("acl a.example", rows);
}

static void dns64_has_a_prefix_of_whole_octets(void **state)
{
    (void)state;
    const struct row heads[] = {
        {NULL, "dns64", ""},
        {NULL, "dns64 64:ff9b::/96", ""},
        {NULL, "dns64 64:ff9b::/96 x", "plugin/dns64: " AT("2") WRONG_COUNT "'x'"},
        {NULL, "dns64 x", "plugin/dns64: invalid CIDR address: x"},
        {NULL, "dns64 64:ff9b::/96 {\nnonsense\n}", ""},
    };
    CHECK_LINES(heads);
    const struct row rows[] = {
        {NULL, "prefix 2001:db8::/32\ntranslate_all\nallow_ipv4", ""},
        {NULL, "prefix", AT("3") WRONG_COUNT "'prefix'"},
        {NULL, "prefix 2001:db8::1/33", AT("3") "invalid prefix length \"2001:db8::/33\""},
        {NULL, "prefix 2001:db8::/24", AT("3") "invalid prefix length \"2001:d00::/24\""},
        {NULL, "prefix 192.0.2.1/24", AT("3") "invalid netmask 32 IPv6 address: \"192.0.2.0/24\""},
        {NULL, "translate_all x", AT("3") "unknown property 'x'"},
    };
    CHECK_OPTIONS("dns64", rows);
}

static void loadbalance_turns_records_round_or_weighs_them(void **state)
{
    (void)state;
    const struct row rows[] = {
        {NULL, "loadbalance round_robin {\nprefer 192.0.2.0/24 2001:db8::/32\n}", ""},
        {NULL, "loadbalance weighted weights {\nreload 5s\n}", ""},
        {NULL, "loadbalance round_robin x",
         "plugin/loadbalance: " AT("2") "unknown property for round_robin"},
        {NULL, "loadbalance weighted",
         "plugin/loadbalance: " AT("2") "missing weight file argument"},
        {NULL, "loadbalance weighted a b", "plugin/loadbalance: " AT("2") "unexpected argument(s)"},
        {NULL, "loadbalance x", "plugin/loadbalance: unknown policy: x"},
        {"1.10.0", "loadbalance weighted weights", "plugin/loadbalance: unknown policy: weighted"},
        {NULL, "loadbalance weighted weights {\nreload\n}",
         "plugin/loadbalance: " AT("3") "reload duration value is missing"},
        {NULL, "loadbalance weighted weights {\nreload 1s 1s\n}",
         "plugin/loadbalance: " AT("3") "unexpected argument"},
        {NULL, "loadbalance weighted weights {\nreload 1\n}",
         "plugin/loadbalance: " AT("3") "invalid reload duration '1'"},
        {NULL, "loadbalance weighted weights {\nprefer ::/0\n}",
         "plugin/loadbalance: " AT("3") "unknown property 'prefer'"},
        {NULL, "loadbalance {\nprefer ::1\n}",
         "plugin/loadbalance: " AT("3") "invalid CIDR \"::1\": invalid CIDR address: ::1"},
        {NULL, "loadbalance {\nreload 5s\n}",
         "plugin/loadbalance: " AT("3") "unknown property 'reload'"},
        {"1.12.3", "loadbalance {\nnonsense\n}", ""},
        {"1.12.4", "loadbalance {\nnonsense\n}",
         "plugin/loadbalance: " AT("3") "unknown property 'nonsense'"},
    };
    CHECK_LINES(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(template_answers_a_class_and_a_type),
        UNIT(long_expressions_are_refused_since_there_is_a_limit),
        UNIT(acl_has_networks_and_types),
        UNIT(dns64_has_a_prefix_of_whole_octets),
        UNIT(loadbalance_turns_records_round_or_weighs_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
