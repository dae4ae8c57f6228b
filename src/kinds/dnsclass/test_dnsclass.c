#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/dnsclass/dnsclass.h"
#include "kinds/test_arena.h"

static struct value *object_of(const char *spec)
{
    return quote(arena, arena_printf(arena,
                                     "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':"
                                     "'DNSClass','metadata':{'name':'home'},'spec':%s}",
                                     spec));
}

static const char *texts_of(const char *spec, enum finding_level level)
{
    struct dnsclass dnsclass;
    struct findings findings = {.arena = arena};
    dnsclass_decode(arena, object_of(spec), &dnsclass);
    dnsclass_check(arena, &dnsclass, &findings);
    const char *joined = findings_join(&findings, level);
    return joined ? joined : "";
}

static void assert_text(const char *found, const char *wanted, const char *spec)
{
    size_t len = strlen(wanted);
    bool is_begin = len && wanted[len - 1] == '*';
    bool is_same = is_begin ? strncmp(found, wanted, len - 1) == 0 : strcmp(found, wanted) == 0;
    if (!is_same)
        fail_msg("%s\n  gives:  %s\n  wanted: %s", spec, found, wanted);
}

#define SERVER "'server':'http://127.0.0.1:7100'"

static void each_fault_has_its_text(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *text;
    } rows[] = {
        {"{" SERVER "}", ""},
        {"{" SERVER ",'hmacAuth':{'secret':'x'}}", ""},
        {"{" SERVER ",'hmacAuth':{'secretRef':{'name':'a','namespace':'b','key':'c'},"
         "'algorithm':'SHA512'}}",
         ""},
        {"{}", "spec.server is required"},
        {"{'server':''}", "spec.server is required"},
        {"{'server':'ftp://a'}", "spec.server must be a valid HTTP or HTTPS URL: *"},
        {"{'server':'http://u:p@a'}", "spec.server must be a valid HTTP or HTTPS URL: *"},
        {"{'server':'http://a?b'}", "spec.server must be a valid HTTP or HTTPS URL: *"},
        {"{'server':'http://'}", "spec.server must be a valid HTTP or HTTPS URL: *"},
        {"{" SERVER ",'hmacAuth':{}}", "hmacAuth must have either secretRef or secret"},
        {"{" SERVER ",'hmacAuth':{'secret':''}}",
         "hmacAuth must have either secretRef or secret: *"},
        {"{" SERVER ",'hmacAuth':{'secret':'x','secretRef':{'name':'a','namespace':'b',"
         "'key':'c'}}}",
         "hmacAuth cannot have both secretRef and secret"},
        {"{" SERVER ",'hmacAuth':{'secretRef':{}}}",
         "hmacAuth.secretRef.name is required; hmacAuth.secretRef.namespace is required; "
         "hmacAuth.secretRef.key is required"},
        {"{" SERVER ",'hmacAuth':{'secret':'x','algorithm':'MD5'}}",
         "hmacAuth.algorithm must be SHA256 or SHA512"},
        {"{" SERVER ",'signedPath':'Maybe'}", "spec.signedPath must be Auto, Full or Relative"},
        {"{" SERVER ",'metadataStyle':'Maybe'}", "spec.metadataStyle must be Object or Inline"},
        {"{" SERVER ",'defaultTTL':0}", "spec.defaultTTL must be between 1 and 2147483647"},
        {"{" SERVER ",'timeoutSeconds':0}", "spec.timeoutSeconds must be between 1 and 2147483647"},
        {"{" SERVER ",'maxInFlight':33}", "spec.maxInFlight must be between 1 and 32"},
        {"{" SERVER ",'tls':{'caBundle':'!'}}", "spec.tls.caBundle must be base64 of PEM *"},
        {"{" SERVER ",'tls':{'caBundle':'aGFsbG8='}}",
         "spec.tls.caBundle must be base64 of PEM certificates: there is none in it"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_text(texts_of(rows[i].spec, FINDING_ERROR), rows[i].text, rows[i].spec);
}

static void a_field_that_is_not_built_yet_is_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *text;
    } rows[] = {
        {"'tokenAuth':{}", "spec.tokenAuth is not supported by this version: remove it"},
        {"'tls':{'clientCertSecretRef':{'name':'a','namespace':'b'}}",
         "spec.tls.clientCertSecretRef is not supported by this version: remove it"},
        {"'namespaceSelector':{}",
         "spec.namespaceSelector is not supported by this version: remove it"},
        {"'domains':['example.com']", "spec.domains is not supported by this version: remove it"},
        {"'verify':{'timeoutSeconds':9}",
         "spec.verify is not supported by this version: remove it"},
        {"'preflight':'Maybe'", "spec.preflight must be Off, Warn or Refuse"},
        {"'drift':{'policy':'Report'}",
         "spec.drift.policy is not supported by this version: set it to \"Off\""},
        {"'drift':{'intervalSeconds':60}",
         "spec.drift.policy is not supported by this version: set it to \"Off\""},
        {"'domains':[]", ""},
        {"'preflight':'Off','drift':{'policy':'Off','intervalSeconds':60}", ""},
        {"'preflight':'Warn'", ""},
        {"'preflight':'Refuse'", ""},
        {"'batch':'Auto','maxInFlight':8,'signedPath':'Full','metadataStyle':'Inline'", ""},
        {"'drift':{'policy':'Repair'},'verify':{}",
         "spec.verify is not supported by this version: remove it; "
         "spec.drift.policy is not supported by this version: set it to \"Off\""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *spec = arena_printf(arena, "{" SERVER ",%s}", rows[i].spec);
        assert_text(texts_of(spec, FINDING_ERROR), rows[i].text, spec);
    }
}

static void warnings_never_refuse(void **state)
{
    (void)state;
    static const struct {
        const char *spec;
        const char *text;
    } rows[] = {
        {"{" SERVER ",'timeoutSeconds':301}", "spec.timeoutSeconds: acts as 300, the longest"},
        {"{" SERVER ",'hmacAuth':{'secret':'x'}}",
         "hmacAuth.secret: is readable by everyone who may read the class, use secretRef; "
         "hmacAuth.secret: is short; 32 random octets are good"},
        {"{" SERVER ",'hmacAuth':{'secret':'0123456789abcdef'}}",
         "hmacAuth.secret: is readable by everyone who may read the class, use secretRef"},
        {"{" SERVER ",'tls':{'serverName':'x'}}", "spec.tls: is not used, *"},
        {"{" SERVER ",'timeoutSeconds':300}", ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_text(texts_of(rows[i].spec, FINDING_WARNING), rows[i].text, rows[i].spec);
        assert_text(texts_of(rows[i].spec, FINDING_ERROR), "", rows[i].spec);
    }
}

static void no_text_shows_the_secret(void **state)
{
    (void)state;
    const char *spec = "{'server':'x','hmacAuth':{'secret':'hunter2','secretRef':{},"
                       "'algorithm':'MD5'}}";
    assert_null(strstr(texts_of(spec, FINDING_ERROR), "hunter2"));
    assert_null(strstr(texts_of(spec, FINDING_WARNING), "hunter2"));
    assert_true(dnsclass_kind.has_secret(object_of(spec)));
    assert_false(dnsclass_kind.has_secret(object_of("{" SERVER "}")));
}

static void user_info_of_the_server_is_a_secret(void **state)
{
    (void)state;
    static const char *const specs[] = {"{'server':'http://u:hunter2@a'}",
                                        "{'server':'http://u:hun/ter2@a'}"};
    for (size_t i = 0; i < COUNT_OF(specs); i++) {
        assert_true(dnsclass_kind.has_secret(object_of(specs[i])));
        assert_null(strstr(texts_of(specs[i], FINDING_ERROR), "ter2"));
    }
}

static void pack(const struct value *object, struct dnsclass *out, struct dnsclass_managed *ours)
{
    struct bodies bodies = bodies_of(&dnsclass_kind, object);
    dnsclass_unpack(arena, bodies.spec, bodies.ours, out, ours);
}

static void defaults_are_resolved_when_read(void **state)
{
    (void)state;
    struct dnsclass found;
    struct dnsclass_managed ours;
    pack(object_of("{" SERVER "}"), &found, &ours);
    assert_int_equal(found.default_ttl_s, 300);
    assert_int_equal(found.timeout_s, 30);
    assert_int_equal(found.max_in_flight, 4);
    assert_true(text_is(found.algorithm, "SHA256"));
    assert_true(text_is(found.signed_path, "Auto"));
    assert_true(text_is(found.metadata_style, "Object"));
    assert_false(found.has_hmac);
    assert_null(found.secret.at);
    assert_int_equal(found.unsupported, 0);
    assert_int_equal(ours.conditions.count, 0);
    assert_int_equal(ours.last_health_check_s, 0);
}

static void every_field_survives_packing(void **state)
{
    (void)state;
    struct dnsclass found;
    struct value *object =
        object_of("{'server':'https://dns.example.com/api/','defaultTTL':60,'timeoutSeconds':900,"
                  "'hmacAuth':{'secretRef':{'name':'n','namespace':'s','key':'k'},'secret':'x',"
                  "'algorithm':'SHA512'},'signedPath':'Relative','metadataStyle':'Inline',"
                  "'tls':{'caBundle':'QQ==','serverName':'inner'},'maxInFlight':7,'verify':{}}");
    value_set(object, TEXT("status"),
              quote(arena, "{'lastHealthCheck':'2025-12-30T10:00:00Z','observedGeneration':3,"
                           "'conditions':[{'type':'Ready','status':'True',"
                           "'reason':'ServerHealthy',"
                           "'lastTransitionTime':'2025-12-30T10:00:00Z'}]}"));
    struct dnsclass_managed ours;
    pack(object, &found, &ours);
    assert_int_equal(found.default_ttl_s, 60);
    assert_int_equal(found.timeout_s, 300);
    assert_true(found.is_timeout_capped);
    assert_true(found.has_hmac && found.has_secret_ref);
    assert_true(text_is(found.secret_name, "n") && text_is(found.secret_namespace, "s"));
    assert_true(text_is(found.secret_key, "k") && text_is(found.secret, "x"));
    assert_true(text_is(found.algorithm, "SHA512"));
    assert_true(text_is(found.signed_path, "Relative"));
    assert_true(text_is(found.metadata_style, "Inline"));
    assert_true(text_is(found.ca_bundle, "QQ==") && text_is(found.tls_server_name, "inner"));
    assert_int_equal(found.max_in_flight, 7);
    assert_true(found.unsupported != 0);
    assert_true(text_is(dnsclass_server(arena, &found), "https://dns.example.com/api"));
    assert_int_equal(ours.last_health_check_s, 1767088800);
    assert_int_equal(ours.observed_generation, 3);
    assert_int_equal(conditions_find(&ours.conditions, "Ready")->reason, REASON_SERVER_HEALTHY);
}

static void the_server_is_normalised(void **state)
{
    (void)state;
    static const struct {
        const char *written;
        const char *normal;
    } rows[] = {
        {"HTTP://Example.COM:80/", "http://example.com"},
        {"https://example.com:443", "https://example.com"},
        {"https://example.com:8443/a/", "https://example.com:8443/a"},
        {"http://[2001:DB8::1]:7100", "http://[2001:db8::1]:7100"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct dnsclass dnsclass = {.server = text_of(rows[i].written)};
        struct text found = dnsclass_server(arena, &dnsclass);
        assert_string_equal(arena_copy(arena, found.at, found.len), rows[i].normal);
    }
    const struct dnsclass dnsclass = {.server = TEXT("nonsense")};
    assert_null(dnsclass_server(arena, &dnsclass).at);
}

static void a_status_keeps_what_is_known_of_capabilities(void **state)
{
    (void)state;
    struct dnsclass_status status = {
        .last_health_check_s = 1767088800,
        .health = "Healthy",
        .health_message = "fine\n",
        .observed_generation = 2,
        .capabilities = quote(arena, "{'batch':{'maxOperations':500,'x':1},'get':true,'list':'no',"
                                     "'types':['A',7,'AAAA'],'zones':{},'future':true}"),
        .server = "http://a",
        .signed_path = "Full",
    };
    assert_string_equal(
        json_of(dnsclass_status_encode(arena, &status)),
        "{\"conditions\":[],\"lastHealthCheck\":\"2025-12-30T10:00:00Z\","
        "\"health\":{\"status\":\"Healthy\",\"lastCheck\":"
        "\"2025-12-30T10:00:00Z\",\"message\":\"fine \"},"
        "\"observedGeneration\":2,\"server\":\"http://a\",\"capabilities\":{\"batch\":"
        "{\"maxOperations\":500},\"get\":true,\"types\":[\"A\",\"AAAA\"]},"
        "\"signedPath\":\"Full\"}");
    status = (struct dnsclass_status){.health = "Unknown", .observed_generation = 1};
    assert_string_equal(json_of(dnsclass_status_encode(arena, &status)),
                        "{\"conditions\":[],\"lastHealthCheck\":null,\"health\":"
                        "{\"status\":\"Unknown\"},\"observedGeneration\":1,"
                        "\"server\":null,\"capabilities\":null,\"signedPath\":null}");
}

static void the_crd_has_the_one_stored_default(void **state)
{
    (void)state;
    AUTO_BUFFER crd = {0};
    kind_write_crd(&crd, &dnsclass_kind);
    const char *found = strstr(crd.at, "default:");
    assert_non_null(found);
    assert_null(strstr(found + 1, "default:"));
    assert_non_null(strstr(crd.at, "hmacAuth must have either secretRef or secret"));
    assert_non_null(strstr(crd.at, "hmacAuth cannot have both secretRef and secret"));
    assert_non_null(strstr(crd.at, "dnscls"));
    assert_non_null(strstr(crd.at, "Cluster"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_fault_has_its_text),
        UNIT(a_field_that_is_not_built_yet_is_an_error),
        UNIT(warnings_never_refuse),
        UNIT(no_text_shows_the_secret),
        UNIT(user_info_of_the_server_is_a_secret),
        UNIT(defaults_are_resolved_when_read),
        UNIT(every_field_survives_packing),
        UNIT(the_server_is_normalised),
        UNIT(a_status_keeps_what_is_known_of_capabilities),
        UNIT(the_crd_has_the_one_stored_default),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
