#include "kinds/trafficgroupintent/trafficgroupintent_kind.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_manifest.h"

// A whole object of one entry that has these members besides those that it must have.
static struct value *intent_of(const char *members)
{
    return manifest_of(
        &trafficgroupintent_kind, "'name':'traffic'",
        arena_printf(arena,
                     "{'compositeApp':'webshop','version':'v1',"
                     "'deploymentIntentGroup':'dig-1','inbound':[{'name':'front-in',"
                     "'app':'front','appLabel':'app=front','serviceName':'web-front',"
                     "'port':8080,'protocol':'HTTP'%s}]}",
                     members));
}

static void services_survive_packing(void **state)
{
    struct trafficgroupintent intent;
    struct pack_writer out;
    (void)state;
    pack_init(&out);
    trafficgroupintent_kind.pack_spec(
        intent_of(",'externalName':'Shop.example','externalSupport':true,'serviceMesh':'istio'"),
        &out);
    trafficgroupintent_unpack(arena, buffer_text(&out.out), &intent);
    const struct inbound_intent *inbound = &intent.inbound[0];
    assert_true(text_is(intent.metadata.name, "traffic"));
    assert_true(text_is(intent.coordinates.composite_app, "webshop"));
    assert_true(text_is(intent.coordinates.group, "dig-1"));
    assert_int_equal(intent.inbound_count, 1);
    assert_true(text_is(inbound->metadata.name, "front-in"));
    assert_true(text_is(inbound->service, "web-front"));
    assert_true(text_is(inbound->app_label, "app=front"));
    assert_int_equal(inbound->port, 8080);
    assert_true(text_is(inbound->external_name, "Shop.example"));
    assert_true(inbound->is_istio);
    assert_true(inbound_intent_is_published(inbound));
    pack_done(&out);
}

static void a_name_alone_is_not_published(void **state)
{
    (void)state;
    assert_false(
        inbound_intent_is_published(&(struct inbound_intent){.external_name = TEXT("a.b")}));
    assert_false(inbound_intent_is_published(&(struct inbound_intent){.is_external = true}));
}

static void each_rule_has_its_words(void **state)
{
    static const char *const faults[][2] = {
        {"", NULL},
        {",'management':{'sidecarProxy':'no','tlsType':''},'edgeCNF':'none','extra':{'a':1},"
         "'external':{'externalCerts':{'caCertificate':'-----BEGIN CERTIFICATE-----'}}",
         NULL},
        {",'external':{'privateKeySecret':{'name':'a'}}",
         "spec.inbound[0].external.privateKeySecret.key is required"},
        {",'portt':1", "spec.inbound[0].portt: unknown field; did you mean port?"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        assert_findings(&trafficgroupintent_kind, intent_of(faults[i][0]), FINDING_ERROR,
                        faults[i][1]);
    assert_findings(&trafficgroupintent_kind,
                    manifest_of(&trafficgroupintent_kind, "'name':'a'",
                                "{'compositeApp':'a','version':'v1','deploymentIntentGroup':'d',"
                                "'inbound':[{'name':'a','port':65536,'protocol':'HTTP/2'}]}"),
                    FINDING_ERROR,
                    "spec.inbound[0].port: must be between 1 and 65535; "
                    "spec.inbound[0].protocol: must have at most 5 octets, has 6; "
                    "spec.inbound[0].app is required; spec.inbound[0].appLabel is required; "
                    "spec.inbound[0].serviceName is required");
}

static void an_entry_with_a_bad_name_is_warned_of_alone(void **state)
{
    (void)state;
    assert_findings(&trafficgroupintent_kind,
                    intent_of(",'externalSupport':true,'externalName':'a..b'"), FINDING_WARNING,
                    "spec.inbound[0].externalName: this entry is not published: it has an empty "
                    "label: remove a dot");
    assert_findings(&trafficgroupintent_kind, intent_of(",'externalSupport':true"), FINDING_WARNING,
                    "spec.inbound[0].externalName: without it nothing is published for "
                    "externalSupport");
    assert_findings(&trafficgroupintent_kind,
                    intent_of(",'externalSupport':true,'externalName':'a.b.'"), FINDING_WARNING,
                    NULL);
    assert_findings(&trafficgroupintent_kind, intent_of(",'externalName':'a..b'"), FINDING_ERROR,
                    NULL);
}

static void a_private_key_is_refused_and_never_shown(void **state)
{
    static const char *const keys[][2] = {
        {",'external':{'externalCerts':{'servicePrivateKey':'hunter2'}}",
         "spec.inbound[0].external.externalCerts.servicePrivateKey"},
        {",'external':{'externalCerts':{'a.b':['x','-----BEGIN RSA PRIVATE KEY-----']}}",
         "spec.inbound[0].external.externalCerts[a.b][1]"},
        {",'extra':{'servicePrivateKey':'hunter2'}", "spec.inbound[0].extra.servicePrivateKey"},
        {",'external':{'externalCerts':{'cert':'"
         "MC4CAQAwBQYDK2VwBCIEIFP7gnKsDKfawEEPnSzbTtAuafQFqJBp3"
         "hCEi6LOo0jp'}}",
         "spec.inbound[0].external.externalCerts.cert"},
        {",'external':{'externalCerts':{'cert':'LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCk1DNEM='}}",
         "spec.inbound[0].external.externalCerts.cert"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const struct value *object = intent_of(keys[i][0]);
        assert_findings(&trafficgroupintent_kind, object, FINDING_ERROR,
                        arena_printf(arena,
                                     "%s: is a private key, which would stay in the object's "
                                     "history: put it into a Secret and name that in "
                                     "external.privateKeySecret",
                                     keys[i][1]));
        assert_true(trafficgroupintent_kind.has_secret(object));
    }
    assert_false(trafficgroupintent_kind.has_secret(
        intent_of(",'external':{'externalCerts':{'servicePrivateKey':''}}")));
}

static size_t octets_in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// The path of each value would be as long as all the keys above it.
static void a_deep_tree_with_many_values_takes_no_memory_to_check(void **state)
{
    enum { DEPTH = 50, VALUES = 20000, MOST = 1 << 20 };
    struct findings findings = {.arena = arena};
    struct value *tree = value_make(arena, VALUE_LIST);
    struct value *object = intent_of("");
    (void)state;
    for (size_t i = 0; i < VALUES; i++)
        value_append(tree, value_make_int(arena, 1));
    for (size_t i = 0; i < DEPTH; i++) {
        struct value *around = value_make(arena, VALUE_MAP);
        value_set(around, text_of(letters(250)), tree);
        tree = around;
    }
    value_put(arena, object, "spec.extra", tree);
    size_t before = octets_in_use();
    trafficgroupintent_kind.validate(object, &findings);
    assert_true(octets_in_use() <= before + MOST);
    assert_int_equal(findings.count, 0);
}

static void it_stays_with_its_group(void **state)
{
    static const char *const fixed[] = {"compositeApp", "version", "deploymentIntentGroup"};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(fixed); i++) {
        struct findings findings = {.arena = arena};
        struct value *next = intent_of("");
        value_set(value_find(next, "spec"), text_of(fixed[i]),
                  value_make_text(arena, TEXT("another")));
        kind_check_update(&trafficgroupintent_kind, intent_of(""), next, &findings);
        assert_int_equal(findings_errors(&findings), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(services_survive_packing),
        UNIT(a_name_alone_is_not_published),
        UNIT(each_rule_has_its_words),
        UNIT(an_entry_with_a_bad_name_is_warned_of_alone),
        UNIT(a_private_key_is_refused_and_never_shown),
        UNIT(a_deep_tree_with_many_values_takes_no_memory_to_check),
        UNIT(it_stays_with_its_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
