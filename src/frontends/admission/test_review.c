#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/value.h"
#include "frontends/admission/review.h"
#include "kinds/dnsclass/dnsclass.h"
#include "kinds/dnsrecord/dnsrecord.h"
#include "kinds/ingress/ingress_kind.h"

#define UID "5a0b1c2d-0000-4000-8000-000000000001"
#define WWW                                                                                        \
    "'type':'A','domain':'example.com','subdomain':'www','dnsClassRef':{'name':'home'},"           \
    "'values':['192.0.2.1']"

static struct bench {
    struct arena *arena;
    struct review_rules rules;
    struct buffer reply;
    struct error err;
    struct value *response;
    unsigned judged;
} bench;

static int set_up(void **state)
{
    (void)state;
    bench = (struct bench){.arena = arena_new(), .rules.patterns = kind_patterns_new()};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    kind_patterns_free(bench.rules.patterns);
    buffer_done(&bench.reply);
    arena_free(bench.arena);
    return 0;
}

static char *quoted(const char *json)
{
    char *text = arena_copy_text(bench.arena, json);
    for (char *at = text; *at; at++)
        if (*at == '\'')
            *at = '"';
    return text;
}

static bool answer(const struct kind *kind, const char *body)
{
    bench.err = (struct error){0};
    buffer_clear(&bench.reply);
    if (!review_answer(bench.arena, &bench.rules, kind, text_of(body), &bench.reply, &bench.err))
        return false;
    struct value *root =
        value_read_json(bench.arena, buffer_text(&bench.reply), &value_manifest_limits, NULL);
    assert_true(text_is(value_text_at(root, "apiVersion"), "admission.k8s.io/v1"));
    assert_true(text_is(value_text_at(root, "kind"), "AdmissionReview"));
    bench.response = value_find(root, "response");
    assert_true(text_is(value_text_at(bench.response, "uid"), UID));
    return true;
}

static const char *record_json(const char *metadata, const char *spec)
{
    return arena_printf(bench.arena,
                        "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'DNSRecord',"
                        "'metadata':{'name':'web','namespace':'shop'%s},'spec':{%s}}",
                        metadata, spec);
}

static const char *review_json(const char *kind, const char *operation, const char *objects)
{
    return quoted(arena_printf(
        bench.arena,
        "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':{'uid':'" UID "',"
        "'kind':{'group':'dns.homelab.mortenolsen.pro','version':'v1alpha1','kind':'%s'},"
        "'operation':'%s',%s}}",
        kind, operation, objects));
}

static bool create(const char *spec)
{
    const char *object = record_json("", spec);
    return answer(&dnsrecord_kind,
                  review_json("DNSRecord", "CREATE",
                              arena_printf(bench.arena, "'object':%s,'oldObject':null", object)));
}

static bool update(const char *old, const char *new_)
{
    return answer(&dnsrecord_kind,
                  review_json("DNSRecord", "UPDATE",
                              arena_printf(bench.arena, "'object':%s,'oldObject':%s", new_, old)));
}

static bool is_allowed(void)
{
    return value_bool_at(bench.response, "allowed", false);
}

static size_t warnings(void)
{
    return value_count(value_find(bench.response, "warnings"));
}

static void assert_has(struct text text, const char *part)
{
    if (!memmem(text.at ? text.at : "", text.len, part, strlen(part)))
        fail_msg("'%s' is not in: %.*s", part, TEXT_ARGS(text));
}

static void assert_denied(const char *part)
{
    const struct value *status = value_find(bench.response, "status");
    assert_false(is_allowed());
    assert_int_equal(value_int_at(status, "code", 0), 403);
    assert_true(text_is(value_text_at(status, "reason"), "Invalid"));
    assert_has(value_text_at(status, "message"), part);
}

static void assert_warned(const char *part)
{
    assert_true(is_allowed());
    assert_int_equal(warnings(), 1);
    assert_has(value_text(value_find(bench.response, "warnings")->first), part);
}

// ---- writes -------------------------------------------------------------------------------------

static void a_sound_record_is_allowed_in_as_few_words_as_possible(void **state)
{
    (void)state;
    assert_true(create(WWW));
    assert_string_equal(buffer_text(&bench.reply).at,
                        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
                        "\"response\":{\"uid\":\"" UID "\",\"allowed\":true}}");
}

static void all_faults_of_a_record_come_in_one_denial(void **state)
{
    (void)state;
    assert_true(create("'type':'A','domain':'-..example','subdomain':'www','ttl':0,"
                       "'dnsClassRef':{'name':'home'},'values':['192.0.2.1','2001:db8::1']"));
    assert_denied("spec.domain must be a valid domain name: ");
    assert_denied("; spec.values[1] must be a valid IPv4 address: ");
    assert_denied("spec.ttl: ");
}

static void a_fault_whose_text_does_not_name_its_field_is_told_behind_it(void **state)
{
    (void)state;
    assert_true(create("'type':'CNAME','domain':'example.com','subdomain':'www',"
                       "'dnsClassRef':{'name':'home'},'values':['a.example','b.example']"));
    assert_denied("spec.values: CNAME records must have exactly one value");
}

static void a_field_of_the_wrong_shape_is_told_of_once(void **state)
{
    (void)state;
    assert_true(create("'type':'A','domain':'example.com','subdomain':'www',"
                       "'dnsClassRef':{'name':'home'},'values':'192.0.2.1'"));
    assert_denied("spec.values: expected a list");
    assert_null(strstr(bench.reply.at, "at least one value"));
}

static void a_class_with_an_inline_secret_is_allowed_with_a_warning(void **state)
{
    (void)state;
    const char *object =
        "'object':{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'DNSClass',"
        "'metadata':{'name':'home'},'spec':{'server':'http://127.0.0.1:7100',"
        "'hmacAuth':{'secret':'hunter2-hunter2-hunter2'}}}";
    assert_true(answer(&dnsclass_kind, review_json("DNSClass", "CREATE", object)));
    assert_warned("hmacAuth.secret: is readable by everyone");
    assert_null(strstr(bench.reply.at, "hunter2"));
}

static const struct field fixed_fields[] = {
    {.path = "spec", .type = FIELD_MAP},
    {.path = "spec.zone", .type = FIELD_TEXT, .flags = FIELD_IMMUTABLE, .max = 100},
};
static const struct kind fixed_kind = {
    .group = "dns.homelab.mortenolsen.pro",
    .version = "v1alpha1",
    .name = "Fixed",
    .is_namespaced = true,
    .fields = fixed_fields,
    .field_count = COUNT_OF(fixed_fields),
};

static void an_update_is_held_against_the_old_object(void **state)
{
    (void)state;
#define FIXED(zone)                                                                                \
    "{'apiVersion':'dns.homelab.mortenolsen.pro/v1alpha1','kind':'Fixed',"                         \
    "'metadata':{'name':'a','namespace':'b'},'spec':{'zone':'" zone "'}}"
    assert_true(
        answer(&fixed_kind,
               review_json("Fixed", "UPDATE", "'object':" FIXED("x") ",'oldObject':" FIXED("y"))));
    assert_denied("spec.zone is immutable");
    assert_true(
        answer(&fixed_kind,
               review_json("Fixed", "UPDATE", "'object':" FIXED("x") ",'oldObject':" FIXED("x"))));
    assert_true(is_allowed());
}

static void what_the_server_adds_to_metadata_is_no_fault(void **state)
{
    (void)state;
    const char *object = record_json(
        ",'uid':'" UID "','resourceVersion':'12','generation':2,'managedFields':[{'manager':'k',"
        "'fieldsV1':{'f:spec':{'.':{},'f:ttl':{}}}}],'creationTimestamp':'2025-12-30T10:00:00Z'",
        WWW);
    assert_true(update(object, object));
    assert_true(is_allowed());
    assert_int_equal(warnings(), 0);
}

// ---- what is not judged -------------------------------------------------------------------------

static void an_object_that_goes_may_be_written_however_wrong_it_is(void **state)
{
    (void)state;
    const char *object = record_json(",'deletionTimestamp':'2025-12-30T10:00:00Z'", "'type':'X'");
    assert_true(update(object, object));
    assert_true(is_allowed());
}

static void what_leaves_the_spec_as_it_is_goes_through(void **state)
{
    (void)state;
    const char *before = record_json("", "'type':'X'");
    assert_true(update(record_json(",'labels':{'a':'b'}", "'type':'X'"), before));
    assert_true(is_allowed());
    assert_true(update(record_json("", "'type':'Y'"), before));
    assert_false(is_allowed());
}

static void a_status_is_nobodys_business_here(void **state)
{
    (void)state;
    const char *objects = arena_printf(bench.arena, "'subResource':'status','object':%s",
                                       record_json("", "'type':'X'"));
    assert_true(answer(&dnsrecord_kind, review_json("DNSRecord", "UPDATE", objects)));
    assert_true(is_allowed());
    assert_int_equal(warnings(), 0);
}

static void unknown_operations_and_kinds_are_allowed_with_a_warning(void **state)
{
    (void)state;
    const char *bad = arena_printf(bench.arena, "'object':%s", record_json("", "'type':'X'"));
    assert_true(answer(&dnsrecord_kind, review_json("DNSRecord", "DELETE", bad)));
    assert_warned("CREATE and UPDATE, not DELETE");
    assert_true(answer(&dnsrecord_kind, review_json("DNSRecord", "CONNECT", bad)));
    assert_warned("not CONNECT");
    assert_true(answer(&dnsrecord_kind, review_json("Zone", "CREATE", bad)));
    assert_warned("the path is for DNSRecord of dns.homelab.mortenolsen.pro/v1alpha1");
    assert_true(answer(&dnsrecord_kind, review_json("DNSRecord", "CREATE", "'object':null")));
    assert_warned("no object");
}

static void a_path_without_a_kind_allows_whatever_comes(void **state)
{
    (void)state;
    assert_true(answer(NULL, review_json("DNSRecord", "CREATE", "'object':{}")));
    assert_true(is_allowed());
    assert_int_equal(warnings(), 0);
}

// ---- other objects ------------------------------------------------------------------------------

static void judge(void *context, const struct kind *kind, const struct value *object,
                  struct findings *findings)
{
    const enum finding_level *level = context;
    assert_ptr_equal(kind, &dnsrecord_kind);
    assert_non_null(object);
    bench.judged++;
    findings_add(findings, *level, "", "DNSClass home does not exist");
}

static void what_others_say_is_asked_only_of_an_object_that_is_in_order(void **state)
{
    (void)state;
    enum finding_level level = FINDING_WARNING;
    bench.rules.judge = judge;
    bench.rules.context = &level;
    assert_true(create("'type':'X'"));
    assert_int_equal(bench.judged, 0);
    assert_true(create(WWW));
    assert_warned("DNSClass home does not exist");
    level = FINDING_ERROR;
    assert_true(create(WWW));
    assert_denied("DNSClass home does not exist");
}

static void be_strict(void *context, const struct kind *kind, const struct value *object,
                      struct findings *findings)
{
    (void)context;
    (void)object;
    assert_ptr_equal(kind, &ingress_kind);
    bench.judged++;
    findings_add(findings, FINDING_ERROR, "metadata", "not as it should be");
}

static bool review_ingress(const char *operation, const char *object)
{
    return answer(
        &ingress_kind,
        quoted(arena_printf(
            bench.arena,
            "{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':{'uid':'" UID
            "','kind':{'group':'networking.k8s.io','version':'v1','kind':'Ingress'},"
            "'operation':'%s','object':%s,'oldObject':%s}}",
            operation, object, object)));
}

static void objects_of_others_are_advised_and_never_denied(void **state)
{
    static const char odd[] = "{'apiVersion':'x','spec':{'rules':7}}";
    (void)state;
    assert_true(review_ingress("CREATE", odd));
    assert_true(is_allowed());
    assert_int_equal(warnings(), 0);
    bench.rules.judge = be_strict;
    assert_true(review_ingress("CREATE", odd));
    assert_warned("not as it should be");
    // Annotations have no part in the spec.
    assert_true(review_ingress("UPDATE", odd));
    assert_warned("not as it should be");
    assert_int_equal(bench.judged, 2);
}

static void say_much(void *context, const struct kind *kind, const struct value *object,
                     struct findings *findings)
{
    (void)kind;
    (void)object;
    for (size_t i = 0; i < *(const size_t *)context; i++)
        findings_add(findings, FINDING_WARNING, "", "%0300d\xc3\xa4", (int)i);
}

static size_t runes_of(struct text text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += (text.at[i] & 0xc0) != 0x80;
    return count;
}

static void long_warnings_are_cut_only_when_all_of_them_are_too_long(void **state)
{
    (void)state;
    size_t count = 13; // of 301 characters: 3913
    bench.rules.judge = say_much;
    bench.rules.context = &count;
    assert_true(create(WWW));
    assert_int_equal(warnings(), 13);
    assert_int_equal(runes_of(value_find(bench.response, "warnings")->first->text), 301);
    count = 100;
    assert_true(create(WWW));
    assert_int_equal(warnings(), 16);
    assert_int_equal(runes_of(value_find(bench.response, "warnings")->first->text), 256);
}

// ---- what is no review --------------------------------------------------------------------------

static void what_is_no_review_is_refused_with_a_text(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *text;
    } rows[] = {
        {"", "1:1: "},
        {"{", "1:2: "},
        {"hello", "1:1: "},
        {"[]", "apiVersion is nothing"},
        {"{'apiVersion':'admission.k8s.io/v1beta1','kind':'AdmissionReview'}",
         "apiVersion is admission.k8s.io/v1beta1"},
        {"{'apiVersion':'admission.k8s.io/v1','kind':'Pod'}", "kind is Pod"},
        {"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview'}", "it has no request"},
        {"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':[]}",
         "it has no request"},
        {"{'apiVersion':'admission.k8s.io/v1','kind':'AdmissionReview','request':{'uid':''}}",
         "no uid"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_false(answer(&dnsrecord_kind, quoted(rows[i].body)));
        assert_int_equal(bench.err.status, 400);
        assert_int_equal(bench.reply.len, 0);
        assert_has(text_of(bench.err.text), "not an AdmissionReview of admission.k8s.io/v1: ");
        assert_has(text_of(bench.err.text), rows[i].text);
    }
}

static void a_review_nested_without_end_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER body = {0};
    for (int i = 0; i < 100000; i++)
        buffer_add_text(&body, "{\"a\":");
    assert_false(answer(&dnsrecord_kind, buffer_text(&body).at));
    assert_int_equal(bench.err.status, 400);
}

static void a_review_of_more_values_than_memory_bears_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER body = {0};
    buffer_add_text(&body, "[0");
    for (int i = 0; i < 1 << 17; i++)
        buffer_add_text(&body, ",0");
    buffer_add_text(&body, "]");
    assert_false(answer(&dnsrecord_kind, buffer_text(&body).at));
    assert_int_equal(bench.err.status, 400);
    assert_has(text_of(bench.err.text), "too many values");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_sound_record_is_allowed_in_as_few_words_as_possible),
        TEST(all_faults_of_a_record_come_in_one_denial),
        TEST(a_fault_whose_text_does_not_name_its_field_is_told_behind_it),
        TEST(a_field_of_the_wrong_shape_is_told_of_once),
        TEST(a_class_with_an_inline_secret_is_allowed_with_a_warning),
        TEST(an_update_is_held_against_the_old_object),
        TEST(what_the_server_adds_to_metadata_is_no_fault),
        TEST(an_object_that_goes_may_be_written_however_wrong_it_is),
        TEST(what_leaves_the_spec_as_it_is_goes_through),
        TEST(a_status_is_nobodys_business_here),
        TEST(unknown_operations_and_kinds_are_allowed_with_a_warning),
        TEST(a_path_without_a_kind_allows_whatever_comes),
        TEST(what_others_say_is_asked_only_of_an_object_that_is_in_order),
        TEST(objects_of_others_are_advised_and_never_denied),
        TEST(long_warnings_are_cut_only_when_all_of_them_are_too_long),
        TEST(what_is_no_review_is_refused_with_a_text),
        TEST(a_review_nested_without_end_is_refused),
        TEST(a_review_of_more_values_than_memory_bears_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
