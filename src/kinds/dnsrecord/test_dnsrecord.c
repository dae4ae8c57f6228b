#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/digest.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/test_arena.h"

#define CLASS "'dnsClassRef':{'name':'home'}"

static struct findings resolve(const char *spec, struct record_set *set, bool *is_ok)
{
    struct dnsrecord record;
    struct findings findings = {.arena = arena};
    dnsrecord_decode(arena, quote(arena, arena_printf(arena, "{'spec':%s}", spec)), &record);
    *is_ok = dnsrecord_resolve(arena, &record, 300, set, &findings);
    return findings;
}

// All errors joined, "" when there is none.
static const char *errors_of(const char *spec)
{
    bool is_ok;
    struct record_set set;
    struct findings findings = resolve(spec, &set, &is_ok);
    const char *joined = findings_join(&findings, FINDING_ERROR);
    assert_int_equal(is_ok, joined == NULL);
    return joined ? joined : "";
}

static const char *warnings_of(const char *spec)
{
    bool is_ok;
    struct record_set set;
    struct findings findings = resolve(spec, &set, &is_ok);
    const char *joined = findings_join(&findings, FINDING_WARNING);
    assert_null(findings_join(&findings, FINDING_ERROR));
    assert_true(is_ok);
    return joined ? joined : "";
}

static const char *of_type(const char *type, const char *rest)
{
    return arena_printf(
        arena, "{'type':'%s','domain':'example.com','subdomain':'www'," CLASS ",%s}", type, rest);
}

struct row {
    const char *spec;
    const char *text; // the whole text, or its begin when it ends in "*"
};

static void assert_text(const char *found, const char *wanted, const char *spec)
{
    size_t len = strlen(wanted);
    bool is_begin = len && wanted[len - 1] == '*';
    bool is_same = is_begin ? strncmp(found, wanted, len - 1) == 0 : strcmp(found, wanted) == 0;
    if (!is_same)
        fail_msg("%s\n  gives:  %s\n  wanted: %s", spec, found, wanted);
}

static void required_fields_have_their_own_texts(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{'domain':'example.com','subdomain':'www'," CLASS ",'values':['192.0.2.1']}",
         "spec.type is required"},
        {"{'type':'','domain':'example.com','subdomain':'www'," CLASS ",'values':['192.0.2.1']}",
         "spec.type is required"},
        {"{'type':'A','subdomain':'www'," CLASS ",'values':['192.0.2.1']}",
         "spec.domain is required"},
        {"{'type':'A','domain':'example.com'," CLASS ",'values':['192.0.2.1']}",
         "spec.subdomain is required"},
        {"{'type':'A','domain':'example.com','subdomain':'www'," CLASS "}",
         "spec.values must have at least one value"},
        {"{'type':'A','domain':'example.com','subdomain':'www'," CLASS ",'values':[]}",
         "spec.values must have at least one value"},
        {"{'type':'A','domain':'example.com','subdomain':'www','values':['192.0.2.1']}",
         "spec.dnsClassRef.name is required"},
        {"{'type':'A','domain':'example.com','subdomain':'www','dnsClassRef':{},"
         "'values':['192.0.2.1']}",
         "spec.dnsClassRef.name is required"},
        {"{'type':'a','domain':'example.com','subdomain':'www'," CLASS ",'values':['192.0.2.1']}",
         "unsupported record type: a"},
        {"{'type':'CAA','domain':'example.com','subdomain':'www'," CLASS ",'values':['x']}",
         "unsupported record type: CAA"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_text(errors_of(rows[i].spec), rows[i].text, rows[i].spec);
}

static void bad_names_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *domain;
        const char *subdomain;
        const char *text;
    } rows[] = {
        {"example..com", "www", "spec.domain must be a valid domain name: *"},
        {".", "www", "spec.domain must be a valid domain name: *"},
        {"exa mple.com", "www", "spec.domain must be a valid domain name: *"},
        {"example.com/", "www", "spec.domain must be a valid domain name: *"},
        {"*.example.com", "www", "spec.domain must be a valid domain name: *"},
        {"example.com", "a..b", "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example.com", "a.*", "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example.com", "a?b", "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example.com", "a#b", "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example.com", "a%2f", "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example.com", "@.www", "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example.com", "a\\\\b", "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example.com", "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcd",
         "spec.subdomain must be '@' or a valid subdomain: *"},
        {"example..com", "a..b",
         "spec.domain must be a valid domain name: label 2 is empty: remove the extra dot; "
         "spec.subdomain must be '@' or a valid subdomain: *"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *spec = arena_printf(
            arena, "{'type':'A','domain':'%s','subdomain':'%s'," CLASS ",'values':['192.0.2.1']}",
            rows[i].domain, rows[i].subdomain);
        assert_text(errors_of(spec), rows[i].text, spec);
    }
}

static void a_name_over_253_octets_is_refused(void **state)
{
    (void)state;
    char label[64];
    memset(label, 'a', 63);
    label[63] = '\0';
    const char *spec =
        arena_printf(arena,
                     "{'type':'A','domain':'%s.%s.example.com','subdomain':'%s.%s'," CLASS
                     ",'values':['192.0.2.1']}",
                     label, label, label, label);
    assert_text(errors_of(spec), "spec.subdomain must be '@' or a valid subdomain: *", spec);
}

static void names_are_normalised(void **state)
{
    (void)state;
    static const struct {
        const char *domain;
        const char *subdomain;
        const char *joined;
    } rows[] = {
        {"Example.COM.", "WWW", "www.example.com"},
        {"example.com", "@", "example.com"},
        {"example.com", "*", "*.example.com"},
        {"example.com", "*.apps", "*.apps.example.com"},
        {"example.com", "_sip._tcp", "_sip._tcp.example.com"},
        {"example.com", "a.b.c", "a.b.c.example.com"},
        {"b\u00fccher.example", "www", "www.xn--bcher-kva.example"},
        {"lan", "nas", "nas.lan"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool is_ok;
        struct record_set set;
        struct text joined;
        resolve(arena_printf(arena,
                             "{'type':'A','domain':'%s','subdomain':'%s'," CLASS
                             ",'values':['192.0.2.1']}",
                             rows[i].domain, rows[i].subdomain),
                &set, &is_ok);
        assert_true(is_ok);
        assert_true(record_name_join(arena, set.domain, set.subdomain, &joined, NULL));
        assert_string_equal(arena_copy(arena, joined.at, joined.len), rows[i].joined);
    }
}

static void bad_values_name_their_index(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        const char *rest;
        const char *text;
    } rows[] = {
        {"A", "'values':['192.0.2.1','192.0.2.256']",
         "spec.values[1] must be a valid IPv4 address: *"},
        {"A", "'values':['192.0.02.1']", "spec.values[0] must be a valid IPv4 address: *"},
        {"A", "'values':['::ffff:192.0.2.1']", "spec.values[0] must be a valid IPv4 address: *"},
        {"A", "'values':['']", "spec.values[0] cannot be empty"},
        {"A", "'values':['192.0.2.1','',7]",
         "spec.values[1] cannot be empty; spec.values[2] cannot be empty"},
        {"AAAA", "'values':['192.0.2.1']", "spec.values[0] must be a valid IPv6 address: *"},
        {"AAAA", "'values':['fe80::1%eth0']", "spec.values[0] must be a valid IPv6 address: *"},
        {"AAAA", "'values':['::ffff:192.0.2.1']", "spec.values[0] must be a valid IPv6 address: *"},
        {"CNAME", "'values':['192.0.2.1']", "spec.values[0] must be a valid domain name: *"},
        {"CNAME", "'values':['.']", "spec.values[0] must be a valid domain name: *"},
        {"CNAME", "'values':['a.example.net','b.example.net']",
         "CNAME records must have exactly one value"},
        {"CNAME", "'values':['WWW.example.com.']",
         "spec.values[0] must be a valid domain name: a CNAME can't point to itself"},
        {"TXT", "'values':['a\\u0007']", "spec.values[0] must be valid text: *"},
        {"NS", "'values':['192.0.2.1']", "spec.values[0] must be a valid domain name: *"},
        {"NS", "'values':['.']", "spec.values[0] must be a valid domain name: *"},
        {"PTR", "'values':['2001:db8::1']", "spec.values[0] must be a valid domain name: *"},
        {"MX", "'values':['mail.example.com']", "MX records must have spec.metadata.priority"},
        {"MX", "'values':['192.0.2.1'],'metadata':{'priority':10}",
         "spec.values[0] must be a valid domain name: *"},
        {"MX", "'values':['.','mail.example.com'],'metadata':{'priority':0}",
         "spec.values must be valid domain names: a null MX (.) stands alone, with priority 0"},
        {"MX", "'values':['.'],'metadata':{'priority':5}",
         "spec.values must be valid domain names: a null MX (.) stands alone, with priority 0"},
        {"MX", "'values':['mail.example.com'],'metadata':{'priority':65536}",
         "spec.metadata.priority must be between 0 and 65535"},
        {"SRV", "'values':['.','sip.example.com'],'metadata':{'priority':0,'weight':0,'port':0}",
         "spec.values must be valid domain names: . (the service is absent) stands alone"},
        {"SRV", "'values':['sip.example.com']", "SRV records must have spec.metadata: *"},
        {"SRV", "'values':['sip.example.com'],'metadata':{}",
         "SRV records must have spec.metadata: *"},
        {"SRV", "'values':['sip.example.com'],'metadata':{'weight':1,'port':2}",
         "SRV records must have spec.metadata.priority"},
        {"SRV", "'values':['sip.example.com'],'metadata':{'priority':1,'port':2}",
         "SRV records must have spec.metadata.weight"},
        {"SRV", "'values':['sip.example.com'],'metadata':{'priority':1,'weight':2}",
         "SRV records must have spec.metadata.port"},
        {"SRV", "'values':['sip.example.com'],'metadata':{'priority':1,'weight':2,'port':-7}",
         "spec.metadata.port must be between 0 and 65535"},
        {"A", "'values':['192.0.2.1'],'ttl':-1", "spec.ttl must be between 1 and 2147483647"},
        {"A", "'values':['192.0.2.1'],'ttl':2147483648",
         "spec.ttl must be between 1 and 2147483647"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *spec = of_type(rows[i].type, rows[i].rest);
        assert_text(errors_of(spec), rows[i].text, spec);
    }
}

static void all_faults_are_told_together(void **state)
{
    (void)state;
    const char *spec = "{'type':'A','domain':'','subdomain':'','values':['x','']}";
    assert_text(errors_of(spec),
                "spec.domain is required; spec.subdomain is required; "
                "spec.dnsClassRef.name is required; "
                "spec.values[0] must be a valid IPv4 address: *",
                spec);
    assert_non_null(strstr(errors_of(spec), "; spec.values[1] cannot be empty"));
}

static void more_values_than_the_schema_has_are_refused(void **state)
{
    (void)state;
    AUTO_BUFFER values = {0};
    for (int i = 0; i < 257; i++)
        buffer_printf(&values, "%s'10.0.%d.%d'", i ? "," : "", i / 256, i % 256);
    const char *spec = of_type("A", arena_printf(arena, "'values':[%s]", values.at));
    assert_text(errors_of(spec), "spec.values must have at most 256 values", "257 values");
    char *octets = arena_alloc(arena, 4098, 1);
    memset(octets, 'x', 4097);
    spec = of_type("TXT", arena_printf(arena, "'values':['%s']", octets));
    assert_text(errors_of(spec), "spec.values[0] must have at most 4096 octets", "4097 octets");
}

static void what_is_legal_but_odd_is_a_warning(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{'type':'A','domain':'lan','subdomain':'nas'," CLASS ",'values':['192.0.2.1']}",
         "spec.domain: lan is a single label"},
        {"{'type':'A','domain':'example.com','subdomain':'a-.b'," CLASS ",'values':['192.0.2.1']}",
         "spec.subdomain: label a- begins or ends with a hyphen"},
        {"{'type':'A','domain':'-x.com','subdomain':'b'," CLASS ",'values':['192.0.2.1']}",
         "spec.domain: label -x begins or ends with a hyphen"},
        {"{'type':'CNAME','domain':'example.com','subdomain':'@'," CLASS
         ",'values':['a.example.net']}",
         "spec.subdomain: a CNAME at the domain itself is *"},
        {"{'type':'TXT','domain':'example.com','subdomain':'@'," CLASS ",'values':['\\\"x\\\"']}",
         "spec.values[0]: the quotes become part of the text"},
        {"{'type':'SRV','domain':'example.com','subdomain':'sip'," CLASS
         ",'values':['.'],'metadata':{'priority':0,'weight':0,'port':0}}",
         "spec.subdomain: an SRV name begins with two labels like _sip._tcp"},
        {"{'type':'PTR','domain':'example.com','subdomain':'1'," CLASS
         ",'values':['a.example.net']}",
         "spec.domain: PTR records usually lie *"},
        {"{'type':'A','domain':'example.com','subdomain':'www'," CLASS
         ",'values':['192.0.2.1','192.0.2.1']}",
         "spec.values[1]: is there twice, one is enough"},
        {"{'type':'A','domain':'example.com','subdomain':'www'," CLASS
         ",'values':['192.0.2.1'],'metadata':{'priority':1}}",
         "spec.metadata.priority: is ignored, only MX and SRV *"},
        {"{'type':'MX','domain':'example.com','subdomain':'@'," CLASS
         ",'values':['mail.example.com'],'metadata':{'priority':1,'port':25}}",
         "spec.metadata.port: is ignored, *"},
        {"{'type':'PTR','domain':'2.0.192.in-addr.arpa','subdomain':'1'," CLASS
         ",'values':['a.example.net']}",
         ""},
        {"{'type':'SRV','domain':'example.com','subdomain':'_sip._tcp'," CLASS
         ",'values':['sip.example.com'],'metadata':{'priority':0,'weight':0,'port':0}}",
         ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_text(warnings_of(rows[i].spec), rows[i].text, rows[i].spec);
}

static void values_go_out_as_the_server_shall_hold_them(void **state)
{
    (void)state;
    bool is_ok;
    struct record_set set;
    resolve(of_type("CNAME", "'values':['Target.Example.NET.']"), &set, &is_ok);
    assert_true(is_ok);
    assert_int_equal(set.value_count, 1);
    assert_false(text_ends(set.values[0], "."));
    assert_int_equal(set.ttl_s, 300);
    assert_int_equal(set.priority, -1);
    resolve(of_type("A", "'values':['192.0.2.9','192.0.2.1','192.0.2.9'],'ttl':60,"
                         "'metadata':{'priority':3}"),
            &set, &is_ok);
    assert_true(is_ok);
    assert_int_equal(set.value_count, 2);
    assert_true(text_is(set.values[0], "192.0.2.9"));
    assert_true(text_is(set.values[1], "192.0.2.1"));
    assert_int_equal(set.ttl_s, 60);
    assert_int_equal(set.priority, -1);
    resolve(of_type("SRV", "'values':['.'],'metadata':{'priority':1,'weight':2,'port':3}"), &set,
            &is_ok);
    assert_true(is_ok);
    assert_int_equal(set.priority, 1);
    assert_int_equal(set.weight, 2);
    assert_int_equal(set.port, 3);
}

static const char settled[] =
    "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'DNSRecord','metadata':{"
    "'name':'web','namespace':'shop','annotations':{'other':'x',"
    "'dns.homelab.mortenolsen.pro/claims':'%s'%s}},"
    "'spec':{'type':'A','domain':'example.com','subdomain':'www'," CLASS
    ",'values':['192.0.2.1']%s},"
    "'status':{'conditions':[{'type':'Ready','status':'True','reason':'RecordCreated',"
    "'lastTransitionTime':'2025-12-30T10:00:00Z'},{'type':'Accepted','status':'True',"
    "'reason':'Accepted','lastTransitionTime':'2025-12-30T10:00:00Z'}],'state':'Created',"
    "'lastSyncTime':'2025-12-30T10:00:01Z','fqdn':'www.example.com','observedGeneration':1,"
    "'applied':[{'class':'home','server':'http://127.0.0.1:7100','type':'A',"
    "'domain':'example.com','subdomain':'www','hash':'00112233445566ff',"
    "'time':'2025-12-30T10:00:01Z'}]%s}}";

static const char claim[] =
    "[{\\'class\\':\\'home\\',\\'server\\':\\'http://127.0.0.1:7100\\',\\'type\\':\\'A\\',"
    "\\'domain\\':\\'example.com\\',\\'subdomain\\':\\'www\\'}]";

// `claims` uses \' where the JSON within the JSON has quotes.
static struct value *object_of(const char *claims, const char *annotations, const char *spec,
                               const char *status)
{
    char *text = arena_alloc(arena, sizeof settled + 70000, 1);
    snprintf(text, sizeof settled + 70000, settled, claims, annotations, spec, status);
    return quote(arena, text);
}

static void pack(const struct value *object, struct dnsrecord *record,
                 struct dnsrecord_managed *ours, size_t lengths[2])
{
    struct bodies bodies = bodies_of(&dnsrecord_kind, object);
    lengths[0] = bodies.spec.len;
    lengths[1] = bodies.ours.len;
    dnsrecord_unpack(arena, bodies.spec, bodies.ours, record, ours);
}

static void a_settled_record_is_small_and_whole(void **state)
{
    (void)state;
    size_t lengths[2];
    struct dnsrecord record;
    struct dnsrecord_managed ours;
    pack(object_of(claim, "", "", ""), &record, &ours, lengths);
    assert_in_range(lengths[0], 20, 45);
    assert_in_range(lengths[1], 40, 75);
    assert_true(text_is(record.type, "A"));
    assert_true(text_is(record.domain, "example.com"));
    assert_true(text_is(record.subdomain, "www"));
    assert_true(text_is(record.class_name, "home"));
    assert_int_equal(record.value_count, 1);
    assert_true(text_is(record.values[0], "192.0.2.1"));
    assert_int_equal(record.ttl_s, 0);
    assert_int_equal(record.port, -1);
    assert_null(record.retry.at);
    assert_false(ours.has_broken_claims);
    assert_int_equal(ours.claim_count, 1);
    assert_true(text_is(ours.claims[0].server, "http://127.0.0.1:7100"));
    assert_int_equal(ours.applied_count, 1);
    assert_true(dnsrecord_claim_is_same_place(&ours.claims[0], &ours.applied[0].key));
    assert_memory_equal(ours.applied[0].hash, "\x00\x11\x22\x33\x44\x55\x66\xff", 8);
    assert_int_equal(ours.applied[0].time_s, 1767088801);
    assert_int_equal(conditions_find(&ours.conditions, "Ready")->reason, REASON_RECORD_CREATED);
    assert_int_equal(ours.state, RECORD_STATE_CREATED);
    assert_int_equal(ours.last_sync_s, 1767088801);
    assert_int_equal(ours.error_time_s, 0);
    assert_int_equal(ours.observed_generation, 1);
}

static void everything_a_person_may_set_survives_packing(void **state)
{
    (void)state;
    size_t lengths[2];
    struct dnsrecord record;
    struct dnsrecord_managed ours;
    pack(object_of("[]",
                   ",'dns.homelab.mortenolsen.pro/paused':'true',"
                   "'dns.homelab.mortenolsen.pro/force-delete':'true',"
                   "'dns.homelab.mortenolsen.pro/retry':'7'",
                   ",'ttl':60,'deletionPolicy':'Retain',"
                   "'metadata':{'priority':1,'weight':0,'port':65535}",
                   ",'error':{'timestamp':'2025-12-30T10:00:05Z'}"),
         &record, &ours, lengths);
    assert_true(record.is_paused);
    assert_true(record.is_force_deleted);
    assert_true(record.is_retained);
    assert_true(text_is(record.retry, "7"));
    assert_int_equal(record.ttl_s, 60);
    assert_int_equal(record.priority, 1);
    assert_int_equal(record.weight, 0);
    assert_int_equal(record.port, 65535);
    assert_int_equal(ours.claim_count, 0);
    assert_int_equal(ours.applied_count, 1);
    assert_int_equal(ours.error_time_s, 1767088805);
}

static void a_failed_attempt_survives_packing_with_what_it_stood_on(void **state)
{
    (void)state;
    size_t lengths[2];
    struct dnsrecord record;
    struct dnsrecord_managed ours;
    pack(object_of(claim, "", "",
                   ",'error':{'timestamp':'2025-12-30T10:00:05Z'},'attempts':3,"
                   "'nextAttempt':'2025-12-30T10:00:25Z','attemptHash':'0102030405060708'"),
         &record, &ours, lengths);
    assert_int_equal(ours.attempts, 3);
    assert_int_equal(ours.next_attempt_s, 1767088825);
    assert_memory_equal(ours.attempt_hash, "\1\2\3\4\5\6\7\10", 8);
    pack(object_of(claim, "", "", ",'attempts':3,'nextAttempt':'2025-12-30T10:00:25Z'"), &record,
         &ours, lengths);
    assert_int_equal(ours.attempts, 0);
}

static void an_unlisted_type_survives_packing(void **state)
{
    (void)state;
    struct dnsrecord record;
    struct pack_writer spec;
    pack_init(&spec);
    dnsrecord_kind.pack_spec(quote(arena, "{'spec':{'type':'CAA'}}"), &spec);
    dnsrecord_unpack(arena, buffer_text(&spec.out), (struct text){0}, &record, NULL);
    assert_true(text_is(record.type, "CAA"));
    assert_null(record.domain.at);
    assert_int_equal(record.value_count, 0);
    pack_done(&spec);
}

static struct dnsrecord_claim www(void)
{
    return (struct dnsrecord_claim){
        .class_name = TEXT("home"),
        .server = TEXT("http://127.0.0.1:7100"),
        .type = RECORD_MX,
        .domain = TEXT("example.com"),
        .subdomain = TEXT("@"),
    };
}

static void claims_survive_the_annotation(void **state)
{
    (void)state;
    const struct text values[] = {TEXT("a.example.com"), TEXT("b.example.com")};
    const struct record_set was = {
        .type = RECORD_MX,
        .domain = TEXT("example.com"),
        .subdomain = TEXT("@"),
        .ttl_s = 60,
        .values = values,
        .value_count = 2,
        .priority = 10,
        .weight = -1,
        .port = -1,
    };
    struct dnsrecord_claim claims[] = {www(), www()};
    struct dnsrecord_claim *found;
    size_t count;
    claims[0].was = &was;
    claims[1].type = RECORD_A;
    const struct dnsrecord_refusal refusal = {
        .spec = TEXT("0123456789abcdef"),
        .reason = TEXT("Conflict"),
        .code = TEXT("OWNED_BY_OTHER"),
        .text = TEXT("not yours"),
    };
    claims[1].refusal = &refusal;
    const char *json = dnsrecord_claims_encode(arena, claims, 2);
    assert_true(dnsrecord_claims_decode(arena, text_of(json), &found, &count));
    assert_int_equal(count, 2);
    assert_true(dnsrecord_claim_is_same_place(&found[0], &claims[0]));
    assert_true(dnsrecord_claim_is_same_place(&found[1], &claims[1]));
    assert_non_null(found[0].was);
    assert_true(record_set_equal(found[0].was, &was));
    assert_null(found[1].was);
    assert_null(found[0].refusal);
    assert_true(text_is(found[1].refusal->spec, "0123456789abcdef"));
    assert_true(text_is(found[1].refusal->reason, "Conflict"));
    assert_true(text_is(found[1].refusal->code, "OWNED_BY_OTHER"));
    assert_true(text_is(found[1].refusal->text, "not yours"));
    assert_string_equal(dnsrecord_claims_encode(arena, found, count), json);
    assert_string_equal(dnsrecord_claims_encode(arena, NULL, 0), "[]");
}

static void what_was_survives_packing(void **state)
{
    (void)state;
    size_t lengths[2];
    struct dnsrecord record;
    struct dnsrecord_managed ours;
    pack(object_of("[{\\'class\\':\\'home\\',\\'server\\':\\'http://127.0.0.1:7100\\',"
                   "\\'type\\':\\'CNAME\\',\\'domain\\':\\'example.com\\',\\'subdomain\\':"
                   "\\'www\\',\\'was\\':{\\'values\\':[\\'a.example.net\\'],\\'ttl\\':60},"
                   "\\'refused\\':{\\'spec\\':\\'00ff\\',\\'text\\':\\'no\\'}}]",
                   "", "", ""),
         &record, &ours, lengths);
    assert_int_equal(ours.claim_count, 1);
    assert_non_null(ours.claims[0].was);
    assert_int_equal(ours.claims[0].was->type, RECORD_CNAME);
    assert_int_equal(ours.claims[0].was->ttl_s, 60);
    assert_int_equal(ours.claims[0].was->value_count, 1);
    assert_true(text_is(ours.claims[0].was->values[0], "a.example.net"));
    assert_int_equal(ours.claims[0].was->priority, -1);
    assert_true(text_is(ours.claims[0].refusal->spec, "00ff"));
    assert_true(text_is(ours.claims[0].refusal->text, "no"));
    assert_null(ours.claims[0].refusal->code.at);
}

static void broken_claims_are_reported(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "",
        "nonsense",
        "{}",
        "[7]",
        "[{\"class\":\"home\"}]",
        "[{\"class\":\"home\",\"server\":\"http://a\",\"type\":\"A\",\"domain\":\"example.com\"}]",
        "[{\"class\":\"home\",\"server\":\"http://a\",\"type\":\"CAA\",\"domain\":\"example.com\","
        "\"subdomain\":\"www\"}]",
        "[{\"class\":\"home\",\"server\":\"http://a\",\"type\":\"A\",\"domain\":\"EXAMPLE.com\","
        "\"subdomain\":\"www\"}]",
        "[{\"class\":\"home\",\"server\":\"http://a\",\"type\":\"A\",\"domain\":\"example.com\","
        "\"subdomain\":\"../health\"}]",
        "[{\"class\":\"\",\"server\":\"http://a\",\"type\":\"A\",\"domain\":\"example.com\","
        "\"subdomain\":\"www\"}]",
    };
    struct dnsrecord_claim *claims;
    size_t count;
    for (size_t i = 0; i < COUNT_OF(broken); i++)
        assert_false(dnsrecord_claims_decode(arena, text_of(broken[i]), &claims, &count));
    size_t lengths[2];
    struct dnsrecord record;
    struct dnsrecord_managed ours;
    pack(object_of("nonsense", "", "", ""), &record, &ours, lengths);
    assert_true(ours.has_broken_claims);
    assert_int_equal(ours.claim_count, 0);
    assert_int_equal(ours.applied_count, 1);
}

static void more_than_eight_or_repeated_claims_are_broken(void **state)
{
    (void)state;
    struct dnsrecord_claim claims[9];
    struct dnsrecord_claim *found;
    size_t count;
    for (size_t i = 0; i < COUNT_OF(claims); i++) {
        claims[i] = www();
        claims[i].subdomain = text_of(arena_printf(arena, "n%zu", i));
    }
    const char *json = dnsrecord_claims_encode(arena, claims, 8);
    assert_true(dnsrecord_claims_decode(arena, text_of(json), &found, &count));
    assert_int_equal(count, 8);
    json = dnsrecord_claims_encode(arena, claims, 9);
    assert_false(dnsrecord_claims_decode(arena, text_of(json), &found, &count));
    claims[1] = claims[0];
    claims[1].class_name = TEXT("other");
    json = dnsrecord_claims_encode(arena, claims, 2);
    assert_false(dnsrecord_claims_decode(arena, text_of(json), &found, &count));
}

static void a_broken_was_is_no_was(void **state)
{
    (void)state;
    static const char *const wases[] = {"7",
                                        "{}",
                                        "{\"values\":[],\"ttl\":60}",
                                        "{\"values\":[\"192.0.2.1\"]}",
                                        "{\"values\":[\"192.0.2.1\"],\"ttl\":0}",
                                        "{\"values\":[\"nonsense\"],\"ttl\":60}",
                                        "{\"values\":[7],\"ttl\":60}"};
    for (size_t i = 0; i < COUNT_OF(wases); i++) {
        struct dnsrecord_claim *found;
        size_t count;
        const char *json =
            arena_printf(arena,
                         "[{\"class\":\"home\",\"server\":\"http://a\",\"type\":\"A\",\"domain\":"
                         "\"example.com\",\"subdomain\":\"www\",\"was\":%s}]",
                         wases[i]);
        assert_true(dnsrecord_claims_decode(arena, text_of(json), &found, &count));
        assert_null(found[0].was);
    }
}

static void a_status_has_all_our_fields(void **state)
{
    (void)state;
    struct dnsrecord_status status = {.observed_generation = 3};
    assert_string_equal(json_of(dnsrecord_status_encode(arena, &status)),
                        "{\"conditions\":[],\"state\":null,\"lastSyncTime\":null,\"fqdn\":null,"
                        "\"observedGeneration\":3,\"error\":null,\"applied\":null,"
                        "\"attempts\":null,\"nextAttempt\":null,\"attemptHash\":null}");
}

static void a_status_is_written_as_the_contract_has_it(void **state)
{
    (void)state;
    struct dnsrecord_applied applied = {.key = www(), .time_s = 1767088801};
    struct dnsrecord_status status = {
        .state = RECORD_STATE_ERROR,
        .last_sync_s = 1767088801,
        .fqdn = TEXT("example.com"),
        .observed_generation = 3,
        .has_error = true,
        .error_code = "SERVER_ERROR",
        .error_message = "boom",
        .error_time_s = 1767088802,
        .error_trace_id = "0af7651916cd43dd8448eb211c80319c",
        .applied = &applied,
        .applied_count = 1,
        .attempts = 2,
        .next_attempt_s = 1767088812,
        .attempt_hash = {1, 2, 3, 4, 5, 6, 7, 8},
    };
    assert_string_equal(
        json_of(dnsrecord_status_encode(arena, &status)),
        "{\"conditions\":[],\"state\":\"Error\",\"lastSyncTime\":\"2025-12-30T10:00:01Z\","
        "\"fqdn\":\"example.com\",\"observedGeneration\":3,\"error\":{\"code\":\"SERVER_ERROR\","
        "\"message\":\"boom\",\"timestamp\":\"2025-12-30T10:00:02Z\","
        "\"traceID\":\"0af7651916cd43dd8448eb211c80319c\"},\"applied\":[{\"class\":\"home\","
        "\"server\":\"http://127.0.0.1:7100\",\"type\":\"MX\",\"domain\":\"example.com\","
        "\"subdomain\":\"@\",\"hash\":\"0000000000000000\",\"time\":\"2025-12-30T10:00:01Z\"}],"
        "\"attempts\":2,\"nextAttempt\":\"2025-12-30T10:00:12Z\","
        "\"attemptHash\":\"0102030405060708\"}");
}

static void the_crd_carries_texts_columns_and_limits(void **state)
{
    (void)state;
    static const char *const wanted[] = {
        "dnsrecords.dns.homelab.mortenolsen.pro",
        "spec.values must be valid IPv4 addresses",
        "spec.values must be valid IPv6 addresses",
        "spec.values must be valid domain names",
        "CNAME records must have exactly one value",
        "MX records must have spec.metadata.priority",
        "SRV records must have spec.metadata.port",
        "or a valid subdomain",
        "dnsrec",
        "FQDN",
        "Verified",
        "x-kubernetes-validations",
        "PTR",
    };
    AUTO_BUFFER crd = {0};
    kind_write_crd(&crd, &dnsrecord_kind);
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!strstr(crd.at, wanted[i]))
            fail_msg("not in the CRD: %s\n%s", wanted[i], crd.at);
    assert_null(strstr(crd.at, "isIP("));
    assert_null(strstr(crd.at, "default:"));
}

// The shape check and the rules together: what the folder store and admission do.
static void validation_runs_on_a_whole_object(void **state)
{
    (void)state;
    struct findings findings = {.arena = arena};
    struct value *object = object_of(claim, "", "", "");
    kind_check(&dnsrecord_kind, object, &findings);
    dnsrecord_kind.validate(object, &findings);
    assert_null(findings_join(&findings, FINDING_ERROR));
    object = object_of(claim, "", ",'tll':5", "");
    kind_check(&dnsrecord_kind, object, &findings);
    assert_text(findings_join(&findings, FINDING_ERROR), "spec.tll: unknown field; did you *",
                "tll");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(required_fields_have_their_own_texts),
        UNIT(bad_names_are_refused),
        UNIT(a_name_over_253_octets_is_refused),
        UNIT(names_are_normalised),
        UNIT(bad_values_name_their_index),
        UNIT(all_faults_are_told_together),
        UNIT(more_values_than_the_schema_has_are_refused),
        UNIT(what_is_legal_but_odd_is_a_warning),
        UNIT(values_go_out_as_the_server_shall_hold_them),
        UNIT(a_settled_record_is_small_and_whole),
        UNIT(everything_a_person_may_set_survives_packing),
        UNIT(a_failed_attempt_survives_packing_with_what_it_stood_on),
        UNIT(an_unlisted_type_survives_packing),
        UNIT(claims_survive_the_annotation),
        UNIT(what_was_survives_packing),
        UNIT(broken_claims_are_reported),
        UNIT(more_than_eight_or_repeated_claims_are_broken),
        UNIT(a_broken_was_is_no_was),
        UNIT(a_status_has_all_our_fields),
        UNIT(a_status_is_written_as_the_contract_has_it),
        UNIT(the_crd_carries_texts_columns_and_limits),
        UNIT(validation_runs_on_a_whole_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
