#include "kinds/zone/zone_kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/kinds.h"
#include "kinds/test_arena.h"

static struct value *object_of(const char *spec, const char *labels, const char *status)
{
    return quote(arena, arena_printf(arena,
                                     "{'apiVersion':'kubi.zone/v1alpha1','kind':'Zone',"
                                     "'metadata':{'name':'example','namespace':'dns',"
                                     "'labels':{%s}},'spec':{%s},'status':{%s}}",
                                     labels, spec, status));
}

static void unpack(const struct value *object, struct zone_spec *spec, struct zone_status *status)
{
    struct bodies bodies = bodies_of(&zone_kind, object);
    zone_unpack(arena, bodies.spec, bodies.ours, spec, status);
}

// Everything that a spec says, as one text.
static void add_text(struct buffer *out, struct text text)
{
    buffer_printf(out, "%s%.*s;", text.at ? "" : "-", TEXT_ARGS(text));
}

static void add_texts(struct buffer *out, const struct text *texts, size_t count)
{
    buffer_printf(out, "[%zu:", count);
    for (size_t i = 0; i < count; i++)
        add_text(out, texts[i]);
    buffer_add_char(out, ']');
}

static void add_delegation(struct buffer *out, const struct zone_delegation *delegation)
{
    add_texts(out, delegation->namespaces, delegation->namespace_count);
    add_texts(out, delegation->zones, delegation->zone_count);
    for (size_t i = 0; i < delegation->record_count; i++) {
        add_text(out, delegation->records[i].pattern);
        add_texts(out, delegation->records[i].types, delegation->records[i].type_count);
    }
}

static const char *shown(const struct zone_spec *spec)
{
    AUTO_BUFFER out = {0};
    add_text(&out, spec->domain_name);
    add_text(&out, spec->ref.name);
    add_text(&out, spec->ref.namespace_);
    buffer_printf(&out, "%lld %lld %lld %lld %lld ", (long long)spec->ttl_s,
                  (long long)spec->refresh_s, (long long)spec->retry_s, (long long)spec->expire_s,
                  (long long)spec->minimum_s);
    add_text(&out, spec->mname);
    add_text(&out, spec->rname);
    add_text(&out, spec->servers);
    buffer_printf(&out, "%s %d %u ", serial_policy_name(spec->serial_policy),
                  spec->has_minimum_serial, spec->minimum_serial);
    for (size_t i = 0; i < spec->delegation_count; i++)
        add_delegation(&out, &spec->delegations[i]);
    for (size_t i = 0; i < spec->nameserver_count; i++) {
        add_text(&out, spec->nameservers[i].name);
        add_texts(&out, spec->nameservers[i].addresses, spec->nameservers[i].address_count);
    }
    return arena_copy(arena, out.at, out.len);
}

static void defaults_are_those_of_kubizone(void **state)
{
    (void)state;
    struct zone_spec spec;
    zone_decode(arena, object_of("'domainName':'example.org.','delegations':[]", "", ""), &spec);
    assert_string_equal(shown(&spec), "example.org.;-;-;360 86400 7200 3600000 360 -;-;default;"
                                      "date 0 0 ");
}

#define FULL                                                                                       \
    "'domainName':'sub','zoneRef':{'name':'example','namespace':'other'},'ttl':0,'refresh':1,"     \
    "'retry':4294967295,'expire':99999999999,'negativeResponseCache':5,'mname':'ns1',"             \
    "'rname':'a.b@c.d','serialPolicy':'counter','minimumSerial':4294967295,'servers':'edge',"      \
    "'nameservers':[{'name':'ns1','addresses':['192.0.2.1','2001:db8::1']},{'name':'ns.x.'}],"     \
    "'delegations':[{},{'namespaces':['a','b'],'zones':['*','dev'],'records':["                    \
    "{'pattern':'*'},{'pattern':'@','types':['A','TXT']}]}]"

static void what_a_spec_says_survives_packing(void **state)
{
    (void)state;
    struct zone_spec read;
    struct zone_spec unpacked;
    const struct value *object = object_of(FULL, "", "");
    zone_decode(arena, object, &read);
    assert_string_equal(
        shown(&read),
        "sub;example;other;0 1 4294967295 99999999999 5 ns1;a.b@c.d;edge;counter 1 4294967295 "
        "[0:][0:][2:a;b;][2:*;dev;]*;[0:]@;[2:A;TXT;]ns1;[2:192.0.2.1;2001:db8::1;]ns.x.;[0:]");
    unpack(object, &unpacked, NULL);
    assert_string_equal(shown(&unpacked), shown(&read));
    object = object_of("", "", "");
    zone_decode(arena, object, &read);
    unpack(object, &unpacked, NULL);
    assert_string_equal(shown(&unpacked), shown(&read));
}

// An empty list of namespaces means all: an item of the wrong shape must not make one.
static void an_item_of_the_wrong_type_stays_in_its_list(void **state)
{
    (void)state;
    struct zone_spec spec;
    zone_decode(arena,
                object_of("'domainName':'a.','delegations':[{'namespaces':[7],"
                          "'records':[{'pattern':'*','types':[null]}]}]",
                          "", ""),
                &spec);
    assert_string_equal(shown(&spec), "a.;-;-;360 86400 7200 3600000 360 -;-;default;date 0 0 "
                                      "[1:-;][0:]*;[1:-;]");
}

#define STATUS                                                                                     \
    "'fqdn':'example.org.','hash':'17805488931213979224','serial':2026112100,'entries':["          \
    "{'fqdn':'example.org.','type':'SOA','class':'IN','ttl':360,'rdata':'a b (1 2 3 4 5)'},"       \
    "{'fqdn':'example.org.','type':'NS','class':'IN','ttl':360,'rdata':'ns1.'}],"                  \
    "'entryCount':2,'excludedCount':1,'entriesComplete':true,'nameservers':['ns1.'],"              \
    "'serverGroup':'internal',"                                                                    \
    "'servers':[{'name':'ns1','serial':0,'fetchedSerial':4294967295,'state':'Behind'},"            \
    "{'name':'ns2','state':'Refused'}],'observedGeneration':7,'conditions':["                      \
    "{'type':'Accepted','status':'True','observedGeneration':7,"                                   \
    "'lastTransitionTime':'2025-12-30T10:00:00Z','reason':'Accepted','message':''},"               \
    "{'type':'Ready','status':'False','observedGeneration':7,"                                     \
    "'lastTransitionTime':'2025-12-30T10:00:01Z','reason':'NoNameservers','message':''},"          \
    "{'type':'Warned','status':'True','observedGeneration':7,"                                     \
    "'lastTransitionTime':'2025-12-30T10:00:02Z','reason':'PatternNarrowed','message':''}]"
#define LABELS "'kubi.zone/parent-zone':'org.dns','kubi.zone/zonefile':'zf.dns'"

static void a_status_that_was_read_is_written_the_same(void **state)
{
    (void)state;
    struct zone_status status;
    const struct value *object = object_of(FULL, LABELS, STATUS);
    zone_status_decode(arena, object, &status);
    assert_int_equal(status.entry_count, 2);
    assert_string_equal(json_of(zone_status_encode(arena, &status)),
                        json_of(value_find(object, "status")));
}

static void a_status_survives_packing_but_for_its_entries(void **state)
{
    (void)state;
    struct zone_spec spec;
    struct zone_status read;
    struct zone_status unpacked;
    const struct value *object = object_of(FULL, LABELS, STATUS);
    zone_status_decode(arena, object, &read);
    unpack(object, &spec, &unpacked);
    assert_int_equal(unpacked.entry_count, 0);
    assert_true(text_is(unpacked.parent_label, "org.dns"));
    assert_true(text_is(unpacked.file_label, "zf.dns"));
    assert_int_equal(unpacked.conditions.items[2].reason, REASON_PATTERN_NARROWED);
    unpacked.entries = read.entries;
    unpacked.entry_count = read.entry_count;
    for (size_t i = 0; i < unpacked.conditions.count; i++)
        unpacked.conditions.items[i].observed_generation = 7;
    assert_string_equal(json_of(zone_status_encode(arena, &unpacked)),
                        json_of(zone_status_encode(arena, &read)));
    unpack(object_of(FULL, "", ""), &spec, &unpacked);
    assert_null(unpacked.parent_label.at);
    assert_null(unpacked.hash.at);
    assert_false(unpacked.has_serial);
}

static void the_cache_keeps_of_the_entries_whose_they_are(void **state)
{
    (void)state;
    struct zone_spec spec;
    struct zone_status unpacked;
    struct value *object = object_of(FULL, LABELS, STATUS);
    unpack(object, &spec, &unpacked);
    assert_true(text_is(unpacked.content_fqdn, "example.org."));
    assert_int_equal(unpacked.entry_count, 0);
    value_remove(value_find(object, "status"), "entries");
    unpack(object, &spec, &unpacked);
    assert_null(unpacked.content_fqdn.at);
}

static void our_own_labels_and_status_do_not_change_the_spec(void **state)
{
    (void)state;
    struct bodies before = bodies_of(&zone_kind, object_of(FULL, "", ""));
    struct bodies after = bodies_of(&zone_kind, object_of(FULL, LABELS, STATUS));
    assert_true(text_equal(before.spec, after.spec));
}

static void a_zone_without_content_has_no_numbers(void **state)
{
    (void)state;
    struct zone_status status = {.fqdn = TEXT("a."), .observed_generation = 1};
    assert_string_equal(json_of(zone_status_encode(arena, &status)),
                        "{\"fqdn\":\"a.\",\"hash\":null,\"serial\":null,\"entries\":[],"
                        "\"entryCount\":null,\"excludedCount\":null,\"entriesComplete\":null,"
                        "\"nameservers\":null,\"serverGroup\":null,\"servers\":null,"
                        "\"observedGeneration\":1,\"conditions\":[]}");
}

// As they stand in the guide of Kubizone and in its examples.
static void manifests_of_kubizone_pass_unchanged(void **state)
{
    (void)state;
    static const char *const documents[] = {
        "apiVersion: kubi.zone/v1alpha1\n"
        "kind: Zone\n"
        "metadata:\n"
        "  name: example-org\n"
        "spec:\n"
        "  domainName: example.org.\n"
        "  delegations:\n"
        "    - namespaces: [\"development\"]\n"
        "      records:\n"
        "        - pattern: \"*.dev\"\n"
        "    - zones: [\"*\"]\n"
        "      records:\n"
        "        - pattern: \"*\"\n"
        "          types: [A, AAAA]\n",
        "apiVersion: kubi.zone/v1alpha1\n"
        "kind: Zone\n"
        "metadata: {name: sub, namespace: dns}\n"
        "spec:\n"
        "  domainName: sub\n"
        "  zoneRef:\n"
        "    name: example-org\n"
        "  delegations: []\n"
        "  ttl: 60\n"
        "  refresh: 86400\n"
        "  retry: 7200\n"
        "  expire: 3600000\n"
        "  negativeResponseCache: 360\n",
        "apiVersion: kubi.zone/v1alpha1\n"
        "kind: Record\n"
        "metadata:\n"
        "  name: kube-apiserver-n1\n"
        "  namespace: kube-system\n"
        "spec:\n"
        "  class: IN\n"
        "  domainName: api.kronform.example.\n"
        "  rdata: 192.0.2.182\n"
        "  type: A\n",
        "apiVersion: kubi.zone/v1alpha1\n"
        "kind: ZoneFile\n"
        "metadata:\n"
        "  name: example-zonefile\n"
        "spec:\n"
        "  zoneRefs:\n"
        "  - name: example-org\n"
        "  - name: dev-example-org\n"
        "    namespace: dev\n",
    };
    for (size_t i = 0; i < COUNT_OF(documents); i++) {
        bool is_known;
        bool has;
        struct value *tree;
        struct findings findings = {.arena = arena};
        CLEANUP(yaml_reader)
        struct yaml_reader *reader = yaml_reader_new(text_of(documents[i]), &value_manifest_limits);
        assert_true(yaml_reader_next(reader, arena, &tree, &has, NULL) && has);
        const struct kind *kind = kind_lookup(kinds, kind_count, tree, &is_known);
        assert_non_null(kind);
        kind_check(kind, tree, &findings);
        assert_null(findings_join(&findings, FINDING_ERROR));
    }
}

static void what_is_wrong_with_a_zone_by_itself_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *text;
    } rows[] = {
        {"'domainName':'example.org.','ttl':2147483647,'refresh':4294967295", NULL},
        {"'domainName':'sub','zoneRef':{'name':'z'}", NULL},
        {"'domainName':'sub'",
         "spec.domainName is not complete: end it with a dot, or set spec.zoneRef"},
        {"'domainName':'sub.','zoneRef':{'name':'z'}",
         "spec.domainName ends with a dot and spec.zoneRef is set: drop one"},
        {"'domainName':'@','zoneRef':{'name':'z'}",
         "spec.domainName: @ is for records: name the zone"},
        {"'domainName':'.'", "spec.domainName: the root is not a zone"},
        {"'domainName':'a*b.c.'", "spec.domainName: wildcard segments must have length 1"},
        {"'domainName':'a.','ttl':2147483648,'expire':4294967296",
         "spec.ttl: 2147483648 is not within 0..2147483647; "
         "spec.expire: 4294967296 is not within 0..4294967295"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct findings findings = {.arena = arena};
        zone_kind.validate(object_of(rows[i].spec, "", ""), &findings);
        const char *text = findings_join(&findings, FINDING_ERROR);
        if (rows[i].text && text)
            assert_string_equal(text, rows[i].text);
        assert_int_equal(!text, !rows[i].text);
    }
}

static void the_schema_takes_what_conditions_tell_of(void **state)
{
    (void)state;
    static const char *const specs[] = {
        FULL,
        "'domainName':'','delegations':[],'zoneRef':null,'ttl':99999999999,'refresh':null",
        ("'domainName':'a.','delegations':[{'namespaces':[],'records':[{'pattern':'a*b*',"
         "'types':['nonsense']}]}],'servers':'','mname':'..','rname':'@@'"),
    };
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        assert_null(schema_errors_of(&zone_kind, object_of(specs[i], "", "")));
}

static void the_schema_refuses_what_has_no_condition(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *text;
    } rows[] = {
        {"'domainName':'a.'", "spec.delegations is required"},
        {"'domainName':'a.','delegations':[],'ttl':-1", "spec.ttl: must be at least 0"},
        {"'domainName':'a.','delegations':[],'minimumSerial':4294967296",
         "spec.minimumSerial: must be between 0 and 4294967295"},
        {"'domainName':'a.','delegations':[],'serialPolicy':'random'",
         "spec.serialPolicy must be date, unixtime or counter"},
        {"'domainName':'a.','delegations':[{'records':[{}]}]",
         "spec.delegations[0].records[0].pattern is required"},
        {"'domainName':'a.','delegations':[],'nameservers':[{}]",
         "spec.nameservers[0].name is required"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(schema_errors_of(&zone_kind, object_of(rows[i].spec, "", "")),
                            rows[i].text);
}

// So many times the item.
static const char *list_of(const char *item, size_t count)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < count; i++)
        buffer_printf(&out, "%s%s", i ? "," : "", item);
    return arena_copy(arena, out.at, out.len);
}

static const char *errors_with_servers(const char *servers)
{
    const char *spec =
        arena_printf(arena, "'domainName':'a.','delegations':[],'nameservers':[%s]", servers);
    return schema_errors_of(&zone_kind, object_of(spec, "", ""));
}

static void a_zone_has_at_most_13_name_servers_of_8_addresses(void **state)
{
    (void)state;
    static const char server[] = "{'name':'ns1','addresses':[%s]}";
    const char *full = arena_printf(arena, server, list_of("'192.0.2.1'", 8));
    assert_null(errors_with_servers(list_of(full, 13)));
    assert_string_equal(errors_with_servers(list_of(full, 14)),
                        "spec.nameservers: must have at most 13 entries, has 14");
    assert_string_equal(errors_with_servers(arena_printf(arena, server, list_of("'192.0.2.1'", 9))),
                        "spec.nameservers[0].addresses: must have at most 8 entries, has 9");
}

// As in Kubizone's CRD: whoever decodes its lists stops at an entry that lacks one.
static void every_field_of_an_entry_is_required(void **state)
{
    (void)state;
    AUTO_BUFFER found = {0};
    for (size_t i = 0; i < zone_kind.field_count; i++) {
        const struct field *field = &zone_kind.fields[i];
        if (strstr(field->path, "status.entries[].") && field->flags & FIELD_REQUIRED)
            buffer_printf(&found, "%s ", field->path + strlen("status.entries[]."));
    }
    assert_string_equal(found.at, "fqdn type class ttl rdata ");
}

// Path and default of each row that has one.
static void the_crd_stores_the_defaults_of_kubizone_and_no_other(void **state)
{
    (void)state;
    AUTO_BUFFER found = {0};
    for (size_t i = 0; i < zone_kind.field_count; i++)
        if (zone_kind.fields[i].fallback)
            buffer_printf(&found, "%s=%s\n", zone_kind.fields[i].path,
                          zone_kind.fields[i].fallback);
    assert_string_equal(found.at, "spec.delegations[].namespaces=[]\n"
                                  "spec.delegations[].zones=[]\n"
                                  "spec.delegations[].records=[]\n"
                                  "spec.delegations[].records[].types=[]\n"
                                  "spec.ttl=360\n"
                                  "spec.refresh=86400\n"
                                  "spec.retry=7200\n"
                                  "spec.expire=3600000\n"
                                  "spec.negativeResponseCache=360\n"
                                  "status.entries=[]\n");
}

static void columns_keep_their_names_and_order(void **state)
{
    (void)state;
    AUTO_BUFFER found = {0};
    for (size_t i = 0; i < zone_kind.column_count; i++)
        buffer_printf(&found, "%s=%s\n", zone_kind.columns[i].name, zone_kind.columns[i].json_path);
    assert_string_equal(found.at,
                        "domain name=.spec.domainName\n"
                        "fqdn=.status.fqdn\n"
                        "hash=.status.hash\n"
                        "serial=.status.serial\n"
                        "parent=.metadata.labels.kubi\\.zone/parent-zone\n"
                        "ready=.status.conditions[?(@.type==\"Ready\")].status\n"
                        "programmed=.status.conditions[?(@.type==\"Programmed\")].status\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(defaults_are_those_of_kubizone),
        UNIT(what_a_spec_says_survives_packing),
        UNIT(an_item_of_the_wrong_type_stays_in_its_list),
        UNIT(a_status_that_was_read_is_written_the_same),
        UNIT(a_status_survives_packing_but_for_its_entries),
        UNIT(the_cache_keeps_of_the_entries_whose_they_are),
        UNIT(our_own_labels_and_status_do_not_change_the_spec),
        UNIT(a_zone_without_content_has_no_numbers),
        UNIT(manifests_of_kubizone_pass_unchanged),
        UNIT(what_is_wrong_with_a_zone_by_itself_is_told),
        UNIT(the_schema_takes_what_conditions_tell_of),
        UNIT(the_schema_refuses_what_has_no_condition),
        UNIT(a_zone_has_at_most_13_name_servers_of_8_addresses),
        UNIT(every_field_of_an_entry_is_required),
        UNIT(the_crd_stores_the_defaults_of_kubizone_and_no_other),
        UNIT(columns_keep_their_names_and_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
