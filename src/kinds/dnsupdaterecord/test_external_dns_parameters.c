#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/dnsupdaterecord/external_dns_private.h"
#include "kinds/dnsupdaterecord/test_record.h"

// A parameter as it is accepted and passed on, and as it is refused.
static const struct {
    const char *name;
    const char *provider;
    const char *good;    // NULL: never accepted
    const char *emitted; // NULL: not passed on
    const char *bad;
    const char *fault;
} rows[] = {
    {"aws-zone-type", "aws", "'public'", "--aws-zone-type=public", "'both'",
     "must be public or private"},
    {"aws-assume-role", "aws", "'arn:aws:iam::1:role/x'", "--aws-assume-role=arn:aws:iam::1:role/x",
     "'role'", "\"role\" must be an ARN"},
    {"aws-zone-tags", "aws", "'a=b, c=d'", "--aws-zone-tags=a=b --aws-zone-tags=c=d", "[1]",
     "expected texts in the list, found a number"},
    {"aws-batch-change-size", "aws", "1000", "--aws-batch-change-size=1000", "0",
     "must be between 1 and"},
    {"aws-api-retries", "aws-sd", "0", "--aws-api-retries=0", "-1", "must be between 0 and"},
    {"aws-batch-change-interval", "aws", "'1s'", "--aws-batch-change-interval=1s", "'0s'",
     "must be more than 0s"},
    {"aws-evaluate-target-health", "aws", "true", "--aws-evaluate-target-health", "'true'",
     "expected a boolean, found text"},
    {"aws-prefer-cname", "aws", "false", "--no-aws-prefer-cname", "1", "expected a boolean"},
    {"no-aws-evaluate-target-health", "aws", "true", "--no-aws-evaluate-target-health", "'x'",
     "expected a boolean"},
    {"azure-config-file", "azure", "'/etc/kubernetes/azure.json'",
     "--azure-config-file=/etc/signpost/azure-config-file", "''", "must not be empty"},
    {"azure-resource-group", "azure", "'my group'", "--azure-resource-group=my group", "1",
     "expected text"},
    {"azure-subscription-id", "azure", "'id'", "--azure-subscription-id=id", "[]", "expected text"},
    {"azure-user-assigned-identity-client-id", "azure", "'id'",
     "--azure-user-assigned-identity-client-id=id", "{}", "expected text"},
    {"coredns-prefix", "coredns", "'skydns'", "--coredns-prefix=/skydns/", "1", "expected text"},
    {"rfc2136-host", "rfc2136", "['192.0.2.1','192.0.2.2']",
     "--rfc2136-host=192.0.2.1 --rfc2136-host=192.0.2.2 --rfc2136-port=53", "''", "is required"},
    {"rfc2136-zone", "rfc2136", "['a.org','b.org']", "--rfc2136-zone=a.org --rfc2136-zone=b.org",
     "7", "expected text or a list of texts"},
    {"rfc2136-insecure", "rfc2136", "false", "--no-rfc2136-insecure", "'x'", "expected a boolean"},
    {"rfc2136-tsig-keyname", "rfc2136", "'key'", "--rfc2136-tsig-keyname=key", "''",
     "is required unless"},
    {"rfc2136-tsig-secret", "rfc2136", NULL, NULL, "'c2VjcmV0'", "must not stand in the object"},
    {"rfc2136-tsig-secret-alg", "rfc2136", "'hmac-sha512'", "--rfc2136-tsig-secret-alg=hmac-sha512",
     "'hmac-md5'", "must be hmac-sha1, "},
    {"rfc2136-tsig-axfr", "rfc2136", "'axfr'", "--rfc2136-axfr", "'yes'",
     "must be true, false or axfr"},
    {"request-timeout", "aws", "'0s'", "--kube-api-request-timeout=0s", "'30'",
     "\"30\" is not a duration"},
    {"contour-load-balancer", "aws", "'heptio-contour/contour'", NULL, "1", "expected text"},
    {"fqdn-template", "aws", "'{{.Name}}'", NULL, "1", "expected text"},
    {"combine-fqdn-annotation", "aws", "true", NULL, "'true'", "expected a boolean"},
    {"ignore-hostname-annotation", "aws", "false", NULL, "true", "needs fqdn-template"},
    {"compatibility", "aws", "'mate'", NULL, "'x'", "must be mate or molecule"},
    {"publish-internal-services", "aws", "true", NULL, "1", "expected a boolean"},
    {"publish-host-ip", "aws", "'true'", NULL, "1", "expected a boolean or text"},
    {"service-type-filter", "aws", "['all','NodePort']", NULL, "'Pod'", "must be all, ClusterIP"},
    {"domain-filter", "aws", "' a.org , b.org,'", "--domain-filter=a.org --domain-filter=b.org",
     "true", "expected text or a list"},
    {"exclude-domains", "aws", "['x.example.org']", "--exclude-domains=x.example.org", "1",
     "expected text or a list"},
    {"zone-id-filter", "aws", "'Z1'", "--zone-id-filter=Z1", "1", "expected text or a list"},
    {"tls-ca", "rfc2136", "'/ca.pem'", "--tls-ca=/ca.pem", "'ca.pem'", "must be an absolute path"},
    {"tls-client-cert", "rfc2136", "'/cert.pem'", "--tls-client-cert=/cert.pem", "''",
     "is missing: tls-client-cert and"},
    {"tls-client-cert-key", "rfc2136", "'/key.pem'", "--tls-client-cert-key=/key.pem", "'k'",
     "must be an absolute path"},
    {"policy", "aws", "'upsert-only'", "--policy=upsert-only", "''",
     "must be sync, upsert-only or create-only"},
    {"registry", "aws-sd", "'aws-sd'", "--registry=aws-sd", "'etcd'", "must be txt, noop"},
    {"txt-owner-id", "aws", "'mine'", "--txt-owner-id=mine", "'a=b'", "must not have any of"},
    {"txt-prefix", "aws", "'%{record_type}-x.'", "--txt-prefix=%{record_type}-x.", "'X'",
     "\"X\" may hold only a-z"},
    {"txt-cache-interval", "aws", "'1d'", "--txt-cache-interval=1d", "'-1s'",
     "must not be negative"},
    {"interval", "aws", "'1s'", "--interval=1s", "'999ms'", "\"999ms\" must be at least 1s"},
    {"once", "aws", "false", NULL, "true", "would restart for ever"},
    {"dry-run", "aws", "true", "--dry-run", "'true'", "expected a boolean"},
    {"log-format", "aws", "'json'", "--log-format=json", "'xml'", "must be text or json"},
    {"log-level", "aws", "'debug'", "--log-level=debug", "'trace'", "must be panic, debug"},
    {"metrics-address", "aws", "'[::]:8080'", "--metrics-address=[::]:8080", "'127.0.0.1:7979'",
     "must not be a loopback address"},
    {"rfc2136-port", "rfc2136", "5353", "--rfc2136-host=192.0.2.53 --rfc2136-port=5353", "65536",
     "must be between 1 and 65535"},
    {"rfc2136-min-ttl", "rfc2136", "'60s'", "--rfc2136-min-ttl=60s", "'60'", "is not a duration"},
    {"rfc2136-load-balancing-strategy", "rfc2136", "'random'",
     "--rfc2136-load-balancing-strategy=random", "'best'", "must be disabled, round-robin or"},
    {"rfc2136-use-tls", "rfc2136", "true", "--rfc2136-use-tls", "'x'", "expected a boolean"},
    {"aws-assume-role-external-id", "aws", "'x'", "--aws-assume-role-external-id=x", "1",
     "expected text"},
    {"aws-batch-change-size-bytes", "aws", "32000", "--aws-batch-change-size-bytes=32000", "'1'",
     "expected a number, found text"},
    {"aws-batch-change-size-values", "aws", "1000", "--aws-batch-change-size-values=1000", "0",
     "must be between 1 and"},
    {"aws-zones-cache-duration", "aws", "'1h'", "--aws-zones-cache-duration=1h", "'h'",
     "is not a duration"},
    {"txt-suffix", "aws", "'-x'", "--txt-suffix=-x", "'a b'", "\"a b\" may hold only"},
    {"managed-record-types", "aws", "'A,CNAME'",
     "--managed-record-types=A --managed-record-types=CNAME --annotation-prefix", "['B']",
     "must be A, AAAA, CNAME"},
    {"annotation-prefix", "aws", "'x.org/'", "--annotation-prefix=x.org/", "'x.org'",
     "must end with a slash"},
    {"min-event-sync-interval", "aws", "'1s'", "--min-event-sync-interval=1s", "'1'",
     "is not a duration"},
    {"coredns-strictly-owned", "coredns", "false", "--no-coredns-strictly-owned", "'x'",
     "expected a boolean"},
    {"txt-wildcard-replacement", "aws", "'any'", "--txt-wildcard-replacement=any", "'*'",
     "may hold only"},
};

static void each_parameter_is_in_the_tests_once(void **state)
{
    (void)state;
    assert_int_equal(COUNT_OF(rows), PARAMETERS);
    for (size_t i = 0; i < PARAMETERS; i++) {
        size_t found = 0;
        for (size_t j = 0; j < COUNT_OF(rows); j++)
            found += !strcmp(rows[j].name, external_dns_parameters[i].name);
        assert_int_equal(found, 1);
    }
}

static void a_good_value_is_passed_on(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (!rows[i].good)
            continue;
        struct value *object = record_with(rows[i].provider, rows[i].name, rows[i].good, NULL);
        const char *args = args_of(object);
        assert_string_equal(errors_of(object), "");
        if (rows[i].emitted)
            check_holds(args, arena_printf(arena, " %s", rows[i].emitted));
        else
            assert_null(strstr(args, arena_printf(arena, "--%s", rows[i].name)));
    }
}

static void a_wrong_value_is_refused_with_its_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value *object = record_with(rows[i].provider, rows[i].name, rows[i].bad, NULL);
        const char *path = arena_printf(arena, "spec.external-dns-parameters.%s: ", rows[i].name);
        check_holds(errors_of(object), path);
        check_holds(errors_of(object), rows[i].fault);
        assert_null(strstr(errors_of(object), "; "));
    }
}

static void what_is_not_passed_on_is_warned_of(void **state)
{
    (void)state;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct external_dns_parameter *row = &external_dns_parameters[i];
        if (row->form != FORM_IGNORED)
            continue;
        const char *json = row->types & 1U << VALUE_BOOL ? "false" : "''";
        struct value *object = record_with("aws", row->name, json, NULL);
        check_holds(warnings_of(object), arena_printf(arena, "%s: has no effect", row->name));
    }
    check_holds(warnings_of(record_with("aws", "tls-ca", "'tls ca path'", NULL)),
                "tls-ca: has no effect");
    assert_string_equal(errors_of(record_with("aws", "tls-ca", "'tls ca path'", NULL)), "");
}

// The CRD has each row, in the same order and with the same words.
static void table_and_schema_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < PARAMETERS; i++) {
        const struct external_dns_parameter *row = &external_dns_parameters[i];
        const struct field *field =
            kind_find_field(&dnsupdaterecord_kind,
                            arena_printf(arena, "spec.external-dns-parameters.%s", row->name));
        static const unsigned types[] = {[FIELD_TEXT] = 1U << VALUE_TEXT,
                                         [FIELD_INT] = 1U << VALUE_INT,
                                         [FIELD_BOOL] = 1U << VALUE_BOOL};
        assert_non_null(field);
        assert_ptr_equal(field->choices, row->choices);
        assert_string_equal(field->doc, row->doc);
        assert_int_equal(field->max, row->max);
        assert_int_equal(!!(field->flags & FIELD_SECRET), row->form == FORM_SECRET);
        if (field->type == FIELD_ANY)
            assert_int_equal(__builtin_popcount(row->types), 2);
        else
            assert_int_equal(types[field->type], row->types);
    }
}

static void entries_and_texts_have_a_limit(void **state)
{
    (void)state;
    char *text = arena_alloc(arena, 1, 2048);
    text[0] = '\'';
    for (size_t i = 1; i < 1026; i++)
        text[i] = 'a';
    text[1026] = '\'';
    check_holds(errors_of(record_with("azure", "azure-resource-group", text, NULL)),
                "must have at most 1024 octets, has 1025");
    for (size_t i = 2; i < 1026; i += 2)
        text[i] = ',';
    check_holds(errors_of(record_with("aws", "zone-id-filter", text, NULL)),
                "must have at most 256 entries, has 513");
}

static void an_unknown_name_is_refused_with_the_nearest(void **state)
{
    (void)state;
    check_holds(errors_of(record_with("aws", "domain-filtre", "'a'", NULL)), "domain-filter");
    assert_string_equal(external_dns_nearest(TEXT("rfc2136-hots")), "rfc2136-host");
}

static void a_flag_of_any_release_leads_to_its_parameter(void **state)
{
    (void)state;
    bool is_negated;
    static const struct {
        const char *flag;
        const char *name;
        bool is_negated;
    } flags[] = {
        {"rfc2136-axfr", "rfc2136-tsig-axfr", false},
        {"no-rfc2136-tsig-axfr", "rfc2136-tsig-axfr", true},
        {"kube-api-request-timeout", "request-timeout", false},
        {"no-aws-evaluate-target-health", "aws-evaluate-target-health", true},
        {"no-policy", NULL, false},
        {"zone-name-filter", NULL, false},
    };
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        const struct external_dns_parameter *row =
            external_dns_find_flag(text_of(flags[i].flag), &is_negated);
        assert_true(flags[i].name ? row && !strcmp(row->name, flags[i].name) : !row);
        assert_true(!row || is_negated == flags[i].is_negated);
    }
    assert_ptr_equal(external_dns_find_variable(TEXT("EXTERNAL_DNS_RFC2136_AXFR")),
                     &external_dns_parameters[PARAMETER_RFC2136_TSIG_AXFR]);
    assert_ptr_equal(external_dns_find_variable(TEXT("EXTERNAL_DNS_RFC2136_TSIG_SECRET")),
                     &external_dns_parameters[PARAMETER_RFC2136_TSIG_SECRET]);
    assert_null(external_dns_find_variable(TEXT("HOME")));
}

static void place_parameters_say_where_records_stand(void **state)
{
    (void)state;
    static const char *const places[] = {
        "provider",       "rfc2136-host",    "rfc2136-zone",
        "coredns-prefix", "aws-assume-role", "azure-subscription-id",
        "registry",       "txt-owner-id",    "azure-resource-group",
        "txt-prefix",     "txt-suffix",
    };
    for (size_t i = 0; i < COUNT_OF(places); i++)
        assert_true(external_dns_is_place(text_of(places[i])));
    assert_false(external_dns_is_place(TEXT("interval")));
    assert_false(external_dns_is_place(TEXT("domain-filter")));
    assert_false(external_dns_is_place(TEXT("zone-name-filter")));
}

static void a_release_is_supported_too_old_or_too_new(void **state)
{
    (void)state;
    static const struct {
        const char *version;
        enum external_dns_support support;
        unsigned minor;
    } versions[] = {
        {"v0.19.0", EXTERNAL_DNS_SUPPORTED, 19},     {"v0.20.1", EXTERNAL_DNS_SUPPORTED, 20},
        {"v0.22.7-rc1", EXTERNAL_DNS_SUPPORTED, 22}, {"v0.18.9", EXTERNAL_DNS_TOO_OLD, 19},
        {"v0.23.0", EXTERNAL_DNS_TOO_NEW, 22},       {"v1.0.0", EXTERNAL_DNS_TOO_NEW, 22},
        {"0.22.0", EXTERNAL_DNS_NO_RELEASE, 22},     {"v0.22", EXTERNAL_DNS_NO_RELEASE, 22},
        {"v0.x.0", EXTERNAL_DNS_NO_RELEASE, 22},     {"v0.22.0.1", EXTERNAL_DNS_NO_RELEASE, 22},
        {"v", EXTERNAL_DNS_NO_RELEASE, 22},          {"", EXTERNAL_DNS_NO_RELEASE, 22},
    };
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        unsigned minor;
        assert_int_equal(external_dns_release_read(text_of(versions[i].version), &minor),
                         versions[i].support);
        assert_int_equal(minor, versions[i].minor);
    }
}

static void an_image_names_the_release_that_runs(void **state)
{
    (void)state;
    static const struct {
        const char *image;
        const char *version;
        const char *fault;
    } images[] = {
        {"r.io/external-dns:v0.22.0", "v0.22.0", NULL},
        {"r.io/external-dns:v0.22.0-amd64", "v0.22.0", NULL},
        {"r.io:5000/external-dns@sha256:00", "v0.22.0", NULL},
        {"r.io/external-dns:ours", "v0.22.0", NULL},
        {"r.io/external-dns:v0.21.0", NULL, NULL},
        {"r.io/external-dns:v0.21.0", "v0.22.0", "has the tag v0.21.0, but the version is v0.22.0"},
        {"r.io/external-dns:latest", NULL, "must not have the tag latest"},
        {"r.io:5000/external-dns", NULL, "must have a tag or a digest"},
        {"external-dns:", NULL, "must have a tag or a digest"},
        {"external-dns@", NULL, "must have a tag or a digest"},
        {"", NULL, "must have a tag or a digest"},
    };
    for (size_t i = 0; i < COUNT_OF(images); i++) {
        const char *fault =
            external_dns_image_fault(arena, text_of(images[i].image), text_of(images[i].version));
        assert_int_equal(!fault, !images[i].fault);
        check_holds(fault ? fault : "", images[i].fault);
    }
}

static void durations_have_days_and_weeks(void **state)
{
    (void)state;
    int64_t ns;
    assert_true(external_dns_duration_ns(TEXT("1d"), &ns) && ns == INT64_C(86400000000000));
    assert_true(external_dns_duration_ns(TEXT("1w2d1.5h"), &ns) && ns == INT64_C(783000000000000));
    assert_true(external_dns_duration_ns(TEXT("-30s"), &ns) && ns == INT64_C(-30000000000));
    assert_true(external_dns_duration_ns(TEXT("0"), &ns) && ns == 0);
    static const char *const wrong[] = {
        "",  "-",     "1",        "d",   "--1s",
        "s", "1d-1s", "9999999w", "1d1", "100000000000000000000000000000000000d"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(external_dns_duration_ns(text_of(wrong[i]), &ns));
}

static void a_host_has_no_port(void **state)
{
    (void)state;
    static const char *const wrong[] = {"192.0.2.53:5353", "ns.example.org:53", "[2001:db8::53]:53",
                                        "[2001:db8::53]"};
    static const char *const right[] = {"192.0.2.53", "ns.example.org", "2001:db8::53"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        check_holds(external_dns_check_host(text_of(wrong[i])), "rfc2136-port");
    for (size_t i = 0; i < COUNT_OF(right); i++)
        assert_null(external_dns_check_host(text_of(right[i])));
}

static void an_address_has_a_port(void **state)
{
    (void)state;
    struct text host;
    unsigned port;
    assert_true(external_dns_address_read(TEXT(":7979"), &host, &port));
    assert_true(!host.len && port == 7979);
    assert_true(external_dns_address_read(TEXT("[2001:db8::1]:80"), &host, &port));
    assert_true(text_is(host, "2001:db8::1") && port == 80);
    static const char *const wrong[] = {"", "7979", ":0", ":65536", ":", "::1:80", "a:b", ":-1"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(external_dns_address_read(text_of(wrong[i]), &host, &port));
}

// Those that are passed: what is kept without effect may be gone.
static void each_parameter_is_a_flag_of_its_releases(void **state)
{
    (void)state;
    for (unsigned minor = EXTERNAL_DNS_OLDEST; minor <= EXTERNAL_DNS_NEWEST; minor++)
        for (size_t i = 0; i < PARAMETERS; i++) {
            const struct external_dns_parameter *row = &external_dns_parameters[i];
            const char *flag = external_dns_flag(row, minor);
            bool is_negated;
            if (!flag || row->form == FORM_IGNORED || row->form == FORM_FOLDED)
                continue;
            const struct external_dns_flag_row *known =
                external_dns_flag_find(text_of(flag), minor, &is_negated);
            assert_non_null(known);
            assert_false(is_negated);
            assert_int_equal(known->form == FLAG_LIST, row->form == FORM_LIST);
            assert_int_equal(known->form == FLAG_SWITCH, row->form == FORM_FLAG);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(each_parameter_is_in_the_tests_once),
        UNIT(a_good_value_is_passed_on),
        UNIT(a_wrong_value_is_refused_with_its_path),
        UNIT(what_is_not_passed_on_is_warned_of),
        UNIT(table_and_schema_agree),
        UNIT(entries_and_texts_have_a_limit),
        UNIT(an_unknown_name_is_refused_with_the_nearest),
        UNIT(a_flag_of_any_release_leads_to_its_parameter),
        UNIT(place_parameters_say_where_records_stand),
        UNIT(a_release_is_supported_too_old_or_too_new),
        UNIT(an_image_names_the_release_that_runs),
        UNIT(durations_have_days_and_weeks),
        UNIT(a_host_has_no_port),
        UNIT(an_address_has_a_port),
        UNIT(each_parameter_is_a_flag_of_its_releases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
