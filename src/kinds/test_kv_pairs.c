#include "kinds/kv_pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/test_manifest.h"

static struct kv_sets sets_of(const char *json)
{
    return kv_sets_decode(arena, quote(arena, json));
}

static const char *text_or_none(struct text text)
{
    return text.at ? arena_copy(arena, text.at, text.len) : "none";
}

static const char *found(const char *json, const char *key)
{
    struct kv_sets sets = sets_of(json);
    return text_or_none(kv_sets_find(&sets, text_of(key)));
}

static void the_first_set_by_name_that_has_the_key_counts(void **state)
{
    (void)state;
    static const char sets[] =
        "[{'name':'z','kv':[{'a':'1'},{'b':'2','only':'3'}]},{'name':'B','kv':[{'c':'4','a':'5'},"
        "{'a':'6'}]},{'name':'dns-update-record-list','kv':[{'d':'7'}]},{'name':'a'}]";
    assert_string_equal(found(sets, "a"), "5");
    assert_string_equal(found(sets, "only"), "3");
    assert_string_equal(found(sets, "d"), "none");
    assert_string_equal(found("[{'name':'a','kv':[{'k':7},{'k':''},{'k':'x'},3]}]", "k"), "x");
    assert_string_equal(found("[]", "a"), "none");
    assert_int_equal(kv_sets_decode(arena, NULL).count, 0);
}

static void pairs_keep_their_order_and_sets_their_texts(void **state)
{
    (void)state;
    struct kv_sets sets = sets_of("[{'name':'a','description':'d','kv':[{'y':'1','x':'2'},{'w':3}]"
                                  "}]");
    assert_int_equal(sets.count, 1);
    assert_true(text_is(sets.items[0].metadata.description, "d"));
    assert_int_equal(sets.items[0].count, 3);
    assert_true(text_is(sets.items[0].pairs[0].key, "y"));
    assert_true(text_is(sets.items[0].pairs[1].value, "2"));
    assert_int_equal(sets.items[0].pairs[2].index, 1);
    assert_null(sets.items[0].pairs[2].value.at);
}

// "project/record" of each, or its fault.
static const char *records_of(const char *json)
{
    static const char *const faults[] = {"", " is no text", " is no name"};
    size_t count;
    AUTO_BUFFER out = {0};
    struct kv_sets sets = sets_of(json);
    const struct kv_record *records = kv_record_list(arena, &sets, TEXT("own"), &count);
    for (size_t i = 0; i < count; i++) {
        buffer_add_text(&out, i ? "; " : "");
        if (records[i].fault)
            buffer_printf(&out, "%s%s", records[i].where, faults[records[i].fault]);
        else
            buffer_printf(&out, "%.*s/%.*s", TEXT_ARGS(records[i].project),
                          TEXT_ARGS(records[i].record));
    }
    return arena_copy(arena, buffer_text(&out).at, out.len);
}

#define LIST "{'name':'dns-update-record-list','kv':"

static void records_are_listed_in_order_and_once(void **state)
{
    (void)state;
    assert_string_equal(records_of("[" LIST "[{'k2':'b','k1':'a'},{'x':'other/a'},{'y':'a'},"
                                   "{'z':'own/b'}]}]"),
                        "own/b; own/a; other/a");
    assert_string_equal(records_of("[{'name':'x','kv':[{'a':'b'}]}]"), "");
    assert_string_equal(records_of("[" LIST "[{'a':'b'},{'key':7},{'c':'a/b/c'},{'d':'/b'},"
                                   "{'e':''},{'f':'B_1'}]}]"),
                        "own/b; dns-update-record-list kv[1] key is no text; "
                        "dns-update-record-list kv[2] c is no name; "
                        "dns-update-record-list kv[3] d is no name; "
                        "dns-update-record-list kv[4] e is no name; own/B_1");
}

static const char *rule_faults(const char *sets, enum finding_level level)
{
    struct findings findings = {.arena = arena};
    kv_pairs_check(quote(arena, arena_printf(arena, "{'spec':{'kvPairs':[%s]}}", sets)), &findings);
    return findings_join(&findings, level);
}

static void a_value_that_lists_no_record_is_warned_of(void **state)
{
    (void)state;
    assert_string_equal(
        rule_faults("{'name':'a'}," LIST "[{'a':'b','k.x':'-'},{'c':'p/r'}]}", FINDING_WARNING),
        "spec.kvPairs[1].kv[0][k.x]: lists no record: write its name, or its "
        "project, / and its name");
    assert_null(rule_faults("{'name':'a','kv':[{'a':'-'}]}", FINDING_WARNING));
}

static void a_value_that_does_not_count_is_warned_of(void **state)
{
    static const char *const rows[][2] = {
        {"'dnsTTL':'60','dnsLocalAddress':'10.0.0.1'", NULL},
        {"'dnsTTL':'2147483647','dnsTTLs':'x','dnsPublicAddresses':'-','dnsTTL.web':'x'", NULL},
        {"'dnsTTL':'','dnsPublicAddress':'','dnsPublicAddress.web':' , ,'", NULL},
        {"'dnsPublicAddress':' 198.51.100.9 ,lb.example.net.,2001:db8::1'", NULL},
        {"'dnsTTL':'abc'", "[0].dnsTTL: \"abc\" "},
        {"'dnsTTL':'0'", "[0].dnsTTL: \"0\" "},
        {"'dnsTTL':'-1'", "[0].dnsTTL: \"-1\" "},
        {"'dnsTTL':'2147483648'", "[0].dnsTTL: \"2147483648\" "},
        {"'dnsTTL':'99999999999'", "[0].dnsTTL: \"99999999999\" "},
        {"'dnsPublicAddress':'10.0.0.1,a b'", "[0].dnsPublicAddress: \"a b\" is neither an"},
        {"'dnsPublicAddress.web':'1.2.3'", "[0][dnsPublicAddress.web]: \"1.2.3\" is neither an"},
        {"'dnsLocalAddress':'256.0.0.1'", "[0].dnsLocalAddress: \"256.0.0.1\" is neither an"},
        {"'dnsLocalAddress.web':'0.0.0.0'", "[0][dnsLocalAddress.web]: \"0.0.0.0\" is an address"},
        {"'istioIngressGatewayAddress':'a_b c'", "[0].istioIngressGatewayAddress: \"a_b c\" is"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *sets = arena_printf(arena, "{'name':'a','kv':[{%s}]}", rows[i][0]);
        const char *told = rule_faults(sets, FINDING_WARNING);
        assert_int_equal(!told, !rows[i][1]);
        if (told)
            assert_non_null(strstr(told, arena_printf(arena, "spec.kvPairs[0].kv%s", rows[i][1])));
        assert_null(rule_faults(sets, FINDING_ERROR));
    }
}

static void keys_values_and_sets_have_an_end(void **state)
{
    AUTO_BUFFER many = {0};
    (void)state;
    assert_string_equal(rule_faults("{'kv':[{'':'x'}]}", FINDING_ERROR),
                        "spec.kvPairs[0].kv[0].: a key must have 1 to 253 octets, has 0");
    for (int i = 0; i < 1025; i++)
        buffer_printf(&many, "%s'k%d':'v'", i ? "," : "", i);
    assert_string_equal(rule_faults(arena_printf(arena, "{'kv':[{%s}]}", many.at), FINDING_ERROR),
                        "spec.kvPairs[0].kv: must have at most 1024 pairs, has 1025");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_first_set_by_name_that_has_the_key_counts),
        UNIT(pairs_keep_their_order_and_sets_their_texts),
        UNIT(records_are_listed_in_order_and_once),
        UNIT(a_value_that_lists_no_record_is_warned_of),
        UNIT(a_value_that_does_not_count_is_warned_of),
        UNIT(keys_values_and_sets_have_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
