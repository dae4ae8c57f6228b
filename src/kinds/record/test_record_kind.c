#include "kinds/record/record_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/test_arena.h"

static struct value *object_of(const char *spec, const char *labels, const char *status)
{
    return quote(arena, arena_printf(arena,
                                     "{'apiVersion':'kubi.zone/v1alpha1','kind':'Record',"
                                     "'metadata':{'name':'www','namespace':'shop','labels':{%s}},"
                                     "'spec':{%s},'status':{%s}}",
                                     labels, spec, status));
}

static void unpack(const struct value *object, struct record_spec *spec,
                   struct record_status *status, size_t lengths[2])
{
    struct bodies bodies = bodies_of(&record_kind, object);
    lengths[0] = bodies.spec.len;
    lengths[1] = bodies.ours.len;
    record_unpack(arena, bodies.spec, bodies.ours, spec, status);
}

static bool is_text(struct text text, const char *wanted)
{
    return wanted ? text_is(text, wanted) : !text.at;
}

static void assert_same_spec(const struct record_spec *a, const struct record_spec *b)
{
    assert_true(text_equal(a->domain_name, b->domain_name));
    assert_true(text_equal(a->ref.name, b->ref.name));
    assert_true(text_equal(a->ref.namespace_, b->ref.namespace_));
    assert_int_equal(!a->ref.name.at, !b->ref.name.at);
    assert_true(text_equal(a->type, b->type));
    assert_true(text_equal(a->class_, b->class_));
    assert_int_equal(a->has_ttl, b->has_ttl);
    assert_int_equal(a->ttl_s, b->ttl_s);
    assert_true(text_equal(a->rdata, b->rdata));
}

static void what_a_spec_says_survives_packing(void **state)
{
    (void)state;
    static const char *const specs[] = {
        "'domainName':'www.example.org.','type':'A','rdata':'192.0.2.1'",
        "'domainName':'www','zoneRef':{'name':'example-org'},'type':'A','rdata':'192.0.2.1'",
        "'domainName':'@','zoneRef':{'name':'z','namespace':'dns'},'type':'MX','rdata':'10 a'",
        "'domainName':'a.b.','type':'TYPE65280','class':'CH','ttl':0,'rdata':'\\\\# 0'",
        "'domainName':'a.b.','type':'TYPE1','ttl':4294967296,'rdata':''",
        "'domainName':'a.b.','type':'aaaa','ttl':2147483647,'rdata':'::1'",
        "'domainName':'a.b.','type':'','class':'','rdata':'x'",
        "'domainName':'a.b.','type':'nonsense','rdata':'x','zoneRef':null,'ttl':null",
        "",
    };
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        size_t lengths[2];
        struct record_spec read;
        struct record_spec unpacked;
        const struct value *object = object_of(specs[i], "", "");
        record_decode(object, &read);
        unpack(object, &unpacked, NULL, lengths);
        assert_same_spec(&read, &unpacked);
    }
}

static void class_is_in_and_ttl_open_when_not_given(void **state)
{
    (void)state;
    size_t lengths[2];
    struct record_spec spec;
    unpack(object_of("'domainName':'a.','type':'A','rdata':'192.0.2.1','ttl':null", "", ""), &spec,
           NULL, lengths);
    assert_true(text_is(spec.class_, "IN"));
    assert_false(spec.has_ttl);
    assert_null(spec.ref.name.at);
}

#define USUAL "'domainName':'www.example.org.','type':'A','rdata':'192.0.2.1'"
#define SETTLED                                                                                    \
    "'fqdn':'www.example.org.','zone':{'name':'example-org','namespace':'dns'},"                   \
    "'observedGeneration':2,'conditions':["                                                        \
    "{'type':'Accepted','status':'True','reason':'Adopted','message':'x',"                         \
    "'observedGeneration':2,'lastTransitionTime':'2025-12-30T10:00:00Z'},"                         \
    "{'type':'Conflicted','status':'False','reason':'NoConflict','message':'x',"                   \
    "'observedGeneration':2,'lastTransitionTime':'2025-12-30T10:00:00Z'},"                         \
    "{'type':'Programmed','status':'True','reason':'Published','message':'x',"                     \
    "'observedGeneration':2,'lastTransitionTime':'2025-12-30T10:00:01Z'}]"

static void a_settled_record_is_small_and_whole(void **state)
{
    (void)state;
    size_t lengths[2];
    struct record_spec spec;
    struct record_status status;
    unpack(object_of(USUAL, "'kubi.zone/parent-zone':'example-org.dns'", SETTLED), &spec, &status,
           lengths);
    assert_true(text_is(status.fqdn, "www.example.org."));
    assert_true(text_is(status.zone.name, "example-org"));
    assert_true(text_is(status.zone.namespace_, "dns"));
    assert_true(text_is(status.parent_label, "example-org.dns"));
    assert_int_equal(status.observed_generation, 2);
    assert_int_equal(status.conditions.count, 3);
    assert_int_equal(conditions_find(&status.conditions, "Accepted")->reason, REASON_ADOPTED);
    assert_int_equal(conditions_find(&status.conditions, "Conflicted")->status, CONDITION_FALSE);
    assert_int_equal(conditions_find(&status.conditions, "Programmed")->transition_s, 1767088801);
    assert_in_range(lengths[0], 1, 32);
    assert_in_range(lengths[1], 1, 40);
}

static void any_label_survives_packing(void **state)
{
    (void)state;
    static const struct {
        const char *labels;
        const char *status;
        const char *label;
    } rows[] = {
        {"", SETTLED, NULL},
        {"", "", NULL},
        {"'kubi.zone/parent-zone':'by.hand'", SETTLED, "by.hand"},
        {"'kubi.zone/parent-zone':'by.hand'", "", "by.hand"},
        {"'kubi.zone/parent-zone':''", "", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        size_t lengths[2];
        struct record_spec spec;
        struct record_status status;
        unpack(object_of(USUAL, rows[i].labels, rows[i].status), &spec, &status, lengths);
        assert_true(is_text(status.parent_label, rows[i].label));
    }
}

static void our_own_label_and_status_do_not_change_the_spec(void **state)
{
    (void)state;
    struct bodies before = bodies_of(&record_kind, object_of(USUAL, "", ""));
    struct bodies after =
        bodies_of(&record_kind, object_of(USUAL, "'kubi.zone/parent-zone':'a.b'", SETTLED));
    assert_true(text_equal(before.spec, after.spec));
}

static void a_status_has_all_our_fields(void **state)
{
    (void)state;
    struct record_status status = {.observed_generation = 3};
    assert_string_equal(json_of(record_status_encode(arena, &status)),
                        "{\"fqdn\":null,\"zone\":null,\"observedGeneration\":3,"
                        "\"conditions\":[]}");
    status.fqdn = TEXT("www.example.org.");
    status.zone = (struct zone_ref){TEXT("example-org"), TEXT("dns")};
    assert_string_equal(json_of(record_status_encode(arena, &status)),
                        "{\"fqdn\":\"www.example.org.\",\"zone\":{\"name\":\"example-org\","
                        "\"namespace\":\"dns\"},\"observedGeneration\":3,\"conditions\":[]}");
}

static void a_written_status_reads_back(void **state)
{
    (void)state;
    struct record_status status;
    struct record_status again;
    record_status_decode(object_of(USUAL, "", SETTLED), &status);
    struct value *object = value_make(arena, VALUE_MAP);
    value_set(object, TEXT("status"), value_copy(arena, record_status_encode(arena, &status)));
    record_status_decode(object, &again);
    assert_true(text_equal(again.fqdn, status.fqdn));
    assert_true(text_equal(again.zone.name, status.zone.name));
    assert_int_equal(again.conditions.count, 3);
    assert_int_equal(again.observed_generation, 2);
}

// What admission says of the object, "" when nothing.
static const char *faults_of(const char *spec)
{
    struct findings findings = {.arena = arena};
    record_kind.validate(object_of(spec, "", ""), &findings);
    const char *joined = findings_join(&findings, FINDING_ERROR);
    return joined ? joined : "";
}

static void a_record_that_is_well_by_itself_has_no_faults(void **state)
{
    (void)state;
    static const char *const specs[] = {
        USUAL,
        "'domainName':'@','zoneRef':{'name':'z'},'type':'MX','rdata':'10 mail'",
        "'domainName':'*.a.','type':'TYPE65280','rdata':'\\\\# 1 00','class':'in'",
        "'domainName':'b\u00fccher.example.','type':'CNAME','rdata':'@'",
        "'domainName':'_dmarc.a.','type':'TXT','rdata':'v=DMARC1; p=none (really)'",
        "'domainName':'www.a.','type':'HTTPS','rdata':'0 www.a'",
        "'domainName':'www','zoneRef':{'name':'z'},'type':'HTTPS','rdata':'0 www.z.'",
        "'domainName':'*.a.','type':'A','rdata':'192.0.2.1','ttl':2147483647",
    };
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        assert_string_equal(faults_of(specs[i]), "");
}

static void what_is_wrong_with_a_record_by_itself_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *text;
    } rows[] = {
        {"'domainName':'a','type':'A','rdata':'192.0.2.1'",
         "spec.domainName is not complete: end it with a dot, or set spec.zoneRef"},
        {"'domainName':'a.','zoneRef':{'name':'z'},'type':'A','rdata':'192.0.2.1'",
         "spec.domainName ends with a dot and spec.zoneRef is set: drop one"},
        {"'domainName':'a..b.','type':'A','rdata':'192.0.2.1'",
         "spec.domainName: segment is an empty string"},
        {"'domainName':'a.','type':'TYPE65536','rdata':''", "spec.type TYPE65536 is no RR type"},
        {"'domainName':'a.','type':'SOA','rdata':''",
         "spec.type SOA is not for records: the zone makes it"},
        {"'domainName':'a.','type':'A','rdata':'192.0.2.1','ttl':2147483648",
         "spec.ttl 2147483648 is not within 0..2147483647"},
        {"'domainName':'a.','type':'A','rdata':'192.0.2.1','class':'CH'",
         "spec.class CH is not the zone's, which is IN"},
        {"'domainName':'a.','type':'A','rdata':'192.0.2.1','ttl':'soon'",
         "spec.ttl is no whole number"},
        {"'domainName':'a.','type':'A','rdata':'192.0.2.1','ttl':1.5",
         "spec.ttl is no whole number"},
        {"'domainName':'a.','type':'A','rdata':'192.0.2.1','class':7",
         "spec.class is no class; the zone's is IN"},
        {"'domainName':'a.','type':'TXT','rdata':'a\\u009fb'",
         "spec.rdata: control character \\194\\159: write it as escapes in quotes (at character "
         "2)"},
        {"'domainName':'*.a.','type':'NS','rdata':'ns1.b.'",
         "NS records cannot stand at a wildcard"},
        {"'domainName':'www.a.','type':'HTTPS','rdata':'0 www.a.'",
         "spec.rdata: the alias points at its own name"},
        {"'domainName':'www','zoneRef':{'name':'z'},'type':'SVCB','rdata':'0 www'",
         "spec.rdata: the alias points at its own name"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(faults_of(rows[i].spec), rows[i].text);
}

static void all_faults_of_a_record_are_told_together(void **state)
{
    (void)state;
    const char *text =
        faults_of("'domainName':'a','type':'MX','rdata':'70000 b','class':'HS','ttl':-1");
    assert_non_null(strstr(text, "spec.domainName is not complete"));
    assert_non_null(strstr(text, "; spec.ttl -1 is not within"));
    assert_non_null(strstr(text, "; spec.class HS is"));
    assert_non_null(strstr(text, "; spec.rdata: "));
    assert_non_null(strstr(text, "70000"));
}

// Faults of these become conditions; the objects stand.
static void the_schema_takes_what_conditions_tell_of(void **state)
{
    (void)state;
    static const char *const specs[] = {
        USUAL,
        "'domainName':'www','zoneRef':{'name':'z','namespace':null},'type':'A','rdata':''",
        "'domainName':'','type':'','rdata':'','class':'HS','ttl':9999999999",
        "'domainName':'a..b.','type':'TYPE70000','rdata':'x','zoneRef':null,'ttl':null",
        "'domainName':'a.','type':'A','rdata':'x','class':null",
    };
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        assert_null(schema_errors_of(&record_kind, object_of(specs[i], "", "")));
    char *rdata = arena_alloc(arena, (1 << 20) + 1, 1);
    memset(rdata, 'x', 1 << 20);
    assert_null(schema_errors_of(
        &record_kind,
        object_of(arena_printf(arena, "'domainName':'a.','type':'TXT','rdata':'%s'", rdata), "",
                  "")));
}

static void the_schema_refuses_what_its_predecessor_refused(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *text;
    } rows[] = {
        {"'type':'A','rdata':'x'", "spec.domainName is required"},
        {"'domainName':'a.','rdata':'x'", "spec.type is required"},
        {"'domainName':'a.','type':'A','rdata':null", "spec.rdata is required"},
        {USUAL ",'class':'ANY'", "spec.class must be IN, CH or HS"},
        {USUAL ",'ttl':-1", "spec.ttl: must be at least 0"},
        {USUAL ",'ttl':'60'", "spec.ttl: expected a number, found text: remove the quotes"},
        {USUAL ",'zoneRef':{}", "spec.zoneRef.name is required"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(schema_errors_of(&record_kind, object_of(rows[i].spec, "", "")),
                            rows[i].text);
}

static void the_crd_has_the_columns_defaults_and_formats_of_its_predecessor(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "name: records.kubi.zone",
        "name: domain name",
        ".metadata.labels.kubi\\.zone/parent-zone",
        "default: IN",
        "format: int64",
        "nullable: true",
    };
    AUTO_BUFFER crd = {0};
    kind_write_crd(&crd, &record_kind);
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!strstr(crd.at, wanted[i]))
            fail_msg("not in the CRD: %s\n%s", wanted[i], crd.at);
    assert_null(strstr(crd.at, "shortNames"));
    assert_null(strstr(crd.at, "categories"));
    assert_null(strstr(strstr(crd.at, "rdata"), "maxLength: 4096"));
}

static void columns_keep_their_names_and_order(void **state)
{
    (void)state;
    AUTO_BUFFER found = {0};
    for (size_t i = 0; i < record_kind.column_count; i++)
        buffer_printf(&found, "%s=%s\n", record_kind.columns[i].name,
                      record_kind.columns[i].json_path);
    assert_string_equal(found.at,
                        "domain name=.spec.domainName\n"
                        "class=.spec.class\n"
                        "type=.spec.type\n"
                        "data=.spec.rdata\n"
                        "fqdn=.status.fqdn\n"
                        "parent=.metadata.labels.kubi\\.zone/parent-zone\n"
                        "programmed=.status.conditions[?(@.type==\"Programmed\")].status\n");
}

static struct record_spec owned_spec(const char *labels, const char *controller)
{
    struct record_spec spec;
    const char *json = arena_printf(
        arena,
        "{'metadata':{'name':'a','labels':{%s},'ownerReferences':[{'kind':'Pod','apiVersion':'v1',"
        "'name':'p'},{'apiVersion':'networking.k8s.io/v1','kind':'Ingress','name':'web','uid':'u',"
        "'controller':%s}]},'spec':{'domainName':'a.','type':'A','rdata':'192.0.2.1'}}",
        labels, controller);
    struct bodies bodies = bodies_of(&record_kind, quote(arena, json));
    record_unpack(arena, bodies.spec, bodies.ours, &spec, NULL);
    return spec;
}

static void what_was_made_for_an_ingress_is_known_by_label_and_owner(void **state)
{
    const char *label = "'app.kubernetes.io/managed-by':'signpost'";
    (void)state;
    struct record_spec spec = owned_spec(label, "true");
    assert_true(text_is(spec.ingress, "web"));
    assert_true(text_is(spec.ingress_uid, "u"));
    assert_true(text_is(spec.rdata, "192.0.2.1"));
    assert_null(owned_spec("", "true").ingress.at);
    assert_null(owned_spec(label, "false").ingress.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(what_a_spec_says_survives_packing),
        UNIT(class_is_in_and_ttl_open_when_not_given),
        UNIT(a_settled_record_is_small_and_whole),
        UNIT(any_label_survives_packing),
        UNIT(our_own_label_and_status_do_not_change_the_spec),
        UNIT(a_status_has_all_our_fields),
        UNIT(a_written_status_reads_back),
        UNIT(a_record_that_is_well_by_itself_has_no_faults),
        UNIT(what_is_wrong_with_a_record_by_itself_is_told),
        UNIT(all_faults_of_a_record_are_told_together),
        UNIT(the_schema_takes_what_conditions_tell_of),
        UNIT(the_schema_refuses_what_its_predecessor_refused),
        UNIT(the_crd_has_the_columns_defaults_and_formats_of_its_predecessor),
        UNIT(columns_keep_their_names_and_order),
        UNIT(what_was_made_for_an_ingress_is_known_by_label_and_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
