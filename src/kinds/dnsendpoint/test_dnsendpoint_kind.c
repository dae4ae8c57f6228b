#include "kinds/dnsendpoint/dnsendpoint_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/labels.h"
#include "kinds/test_manifest.h"

static const char whole[] =
    "{'metadata':{'generation':3,'labels':{'a':'b'},'annotations':{'dns.homelab.mortenolsen.pro/"
    "project':'Shop','a/b':'c'}},'spec':{'endpoints':[{'dnsName':"
    "'www.example.org','recordType':'A','targets':['192.0.2.1','192.0.2.2'],'recordTTL':60,"
    "'setIdentifier':'east','providerSpecific':[{'name':'aws/weight','value':'10'}],'labels':{}},"
    "{'dnsName':'b.example.org','recordType':'CNAME','targets':['c.example.']}]},'status':{"
    "'observedGeneration':2}}";

static void endpoints_survive_packing(void **state)
{
    struct dnsendpoint found;
    (void)state;
    struct text body = spec_body_of(&dnsendpoint_kind, whole);
    dnsendpoint_unpack(arena, body, &found);
    assert_true(labels_match("a=b", body));
    assert_int_equal(found.annotation_count, 1);
    assert_true(text_is(found.annotations[0].value, "Shop"));
    assert_int_equal(found.generation, 3);
    assert_int_equal(found.observed_generation, 2);
    assert_int_equal(found.count, 2);
    const struct endpoint *first = &found.endpoints[0];
    assert_true(text_is(first->dns_name, "www.example.org"));
    assert_true(text_is(first->type, "A"));
    assert_int_equal(first->target_count, 2);
    assert_int_equal(first->ttl_s, 60);
    assert_true(text_is(first->set_identifier, "east"));
    assert_int_equal(first->property_count, 1);
    assert_true(text_is(first->properties[0].value, "10"));
    assert_int_equal(found.endpoints[1].ttl_s, 0);
    assert_null(found.endpoints[1].set_identifier.at);
}

static void what_is_written_reads_back(void **state)
{
    struct dnsendpoint found;
    (void)state;
    dnsendpoint_unpack(arena, spec_body_of(&dnsendpoint_kind, whole), &found);
    assert_string_equal(
        json_of(dnsendpoint_encode(arena, found.endpoints, found.count)),
        quote_text(arena, "{'endpoints':[{'dnsName':'www.example.org','recordType':'A','targets':["
                          "'192.0.2.1','192.0.2.2'],'recordTTL':60,'setIdentifier':'east',"
                          "'providerSpecific':[{'name':'aws/weight','value':'10'}]},{'dnsName':"
                          "'b.example.org','recordType':'CNAME','targets':['c.example.']}]}"));
    dnsendpoint_unpack(arena, spec_body_of(&dnsendpoint_kind, "{}"), &found);
    assert_int_equal(found.count, 0);
}

static void each_type_has_its_rule_for_the_final_dot(void **state)
{
    static const char must[] = "must end in a dot";
    static const char must_not[] = "must not end in a dot";
    static const struct {
        const char *type;
        const char *target;
        const char *with_dot;
        const char *without;
    } rules[] = {
        {"A", "192.0.2.1", must_not, NULL},
        {"AAAA", "2001:db8::1", must_not, NULL},
        {"NS", "ns.example", must_not, NULL},
        {"PTR", "host.example", must_not, NULL},
        {"SRV", "0 50 80 host.example", NULL, must},
        {"NAPTR", "100 50 \"s\" \"SIP\" \"\" host.example", NULL, must},
        {"CNAME", "host.example", NULL, NULL},
        {"TXT", "text", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        struct text type = text_of(rules[i].type);
        struct text bare = text_of(rules[i].target);
        struct text dotted = text_of(arena_printf(arena, "%s.", rules[i].target));
        const char *fault = dnsendpoint_target_fault(type, bare);
        const char *dotted_fault = dnsendpoint_target_fault(type, dotted);
        assert_string_equal(fault ? fault : "", rules[i].without ? rules[i].without : "");
        assert_string_equal(dotted_fault ? dotted_fault : "",
                            rules[i].with_dot ? rules[i].with_dot : "");
    }
}

static void a_target_that_is_dropped_is_warned_of(void **state)
{
    (void)state;
    const struct value *object = manifest_of(
        &dnsendpoint_kind, "'name':'a'",
        "{'endpoints':[{'dnsName':'a.b','recordType':'CNAME','targets':['c.']},{'dnsName':'a.b',"
        "'recordType':'A','targets':['192.0.2.1','192.0.2.2.']}],'other':1}");
    assert_findings(&dnsendpoint_kind, object, FINDING_WARNING,
                    "spec.endpoints[1].targets[1]: must not end in a dot in a record set of type "
                    "A, or external-dns drops it");
    assert_findings(&dnsendpoint_kind, object, FINDING_ERROR, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(endpoints_survive_packing),
        UNIT(what_is_written_reads_back),
        UNIT(each_type_has_its_rule_for_the_final_dot),
        UNIT(a_target_that_is_dropped_is_warned_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
