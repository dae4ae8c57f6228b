#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/dnsupdaterecord/test_record.h"

#define WITH(parameters) "'external-dns-parameters':{" parameters "}"

// The example of rfc2136 with one field of its spec besides.
static struct value *edge_record(const char *version)
{
    struct value *spec = quote(
        arena, "{'provider':'rfc2136','external-dns-parameters':{'interval':'30s',"
               "'request-timeout':'30s','rfc2136-tsig-axfr':'axfr','domain-filter':'example.org',"
               "'rfc2136-tsig-secret-alg':'hmac-sha256','rfc2136-tsig-keyname':'edge-key',"
               "'rfc2136-zone':'example.org','rfc2136-host':'192.0.2.53'},'secretRefs':[{"
               "'target':'rfc2136-tsig-secret','name':'public-dns-credentials','key':'tsig'}]}");
    value_set(spec, TEXT("version"), value_make_text(arena, text_of(version)));
    return object_of(spec);
}

static void the_known_record_has_the_known_arguments(void **state)
{
    (void)state;
    struct value *object = edge_record("v0.22.0");
    assert_string_equal(errors_of(object), "");
    assert_string_equal(
        args_of(object),
        " --source=crd --namespace=edge-shop "
        "--label-filter=dns.homelab.mortenolsen.pro/update-record=public-dns-b4bbad42 "
        "--provider=rfc2136 --policy=sync --registry=txt "
        "--txt-owner-id=signpost-edge-shop-public-dns-b11d8e2a --metrics-address=:7979 --events "
        "--min-event-sync-interval=5s --events-emit=RecordError --managed-record-types=A "
        "--managed-record-types=AAAA --managed-record-types=CNAME "
        "--annotation-prefix=external-dns.kubernetes.io/ --rfc2136-host=192.0.2.53 "
        "--rfc2136-port=53 --rfc2136-zone=example.org --rfc2136-tsig-keyname=edge-key "
        "--rfc2136-tsig-secret-alg=hmac-sha256 --rfc2136-axfr --kube-api-request-timeout=30s "
        "--domain-filter=example.org --interval=30s ");
}

static void older_releases_spell_flags_otherwise(void **state)
{
    (void)state;
    const char *v21 = args_of(edge_record("v0.21.0"));
    const char *v20 = args_of(edge_record("v0.20.0"));
    const char *v19 = args_of(edge_record("v0.19.0"));
    check_holds(v21, " --annotation-prefix=external-dns.alpha.kubernetes.io/ ");
    check_holds(v21, " --rfc2136-tsig-axfr --kube-api-request-timeout=30s ");
    check_holds(v20, " --annotation-prefix=external-dns.alpha.kubernetes.io/ ");
    check_holds(v20, " --rfc2136-tsig-axfr --request-timeout=30s ");
    check_holds(v19, " --managed-record-types=CNAME --rfc2136-host=");
    assert_null(strstr(v19, "annotation-prefix"));
    check_holds(args_of(edge_record("v0.99.0")), " --rfc2136-axfr ");
}

static void a_secret_comes_by_the_environment_alone(void **state)
{
    (void)state;
    struct external_dns_start start = start_of(edge_record("v0.22.0"));
    assert_int_equal(start.env_count, 1);
    assert_string_equal(start.env[0].name, "EXTERNAL_DNS_RFC2136_TSIG_SECRET");
    assert_null(start.env[0].value.at);
    assert_true(text_is(start.env[0].secret, "public-dns-credentials"));
    assert_true(text_is(start.env[0].key, "tsig"));
    assert_int_equal(start.file_count, 0);
    assert_int_equal(start.port, 7979);
}

static void files_are_mounted_where_arguments_and_variables_say(void **state)
{
    (void)state;
    struct value *object =
        record_with("rfc2136", "tls-ca", "'/anywhere/ca.pem'",
                    "'secretRefs':[{'target':'tls-ca','name':'tls','key':'ca'},"
                    "{'target':'rfc2136-kerberos-password','name':'k','key':'p'}]");
    struct external_dns_start start = start_of(object);
    check_holds(args_of(object), " --tls-ca=/etc/signpost/tls-ca --tls-client-cert=/c ");
    assert_int_equal(start.file_count, 1);
    assert_string_equal(start.files[0].path, "/etc/signpost/tls-ca");
    assert_true(text_is(start.files[0].target, "tls-ca") && text_is(start.files[0].key, "ca"));
    assert_string_equal(start.env[0].name, "EXTERNAL_DNS_RFC2136_KERBEROS_PASSWORD");
    start =
        start_of(record_with("coredns", NULL, NULL,
                             "'secretRefs':[{'target':'env:ETCD_CA_FILE','name':'e','key':'ca'},"
                             "{'target':'env:ETCD_PASSWORD','name':'e','key':'p'}]"));
    assert_int_equal(start.env_count, 3);
    assert_string_equal(start.env[0].name, "ETCD_URLS");
    assert_true(text_is(start.env[0].value, "http://etcd:2379"));
    assert_string_equal(start.env[1].name, "ETCD_CA_FILE");
    assert_true(text_is(start.env[1].value, "/etc/signpost/ETCD_CA_FILE"));
    assert_string_equal(start.files[0].path, "/etc/signpost/ETCD_CA_FILE");
    assert_string_equal(start.env[2].name, "ETCD_PASSWORD");
    assert_true(text_is(start.env[2].secret, "e") && !start.env[2].value.at);
}

static void a_file_needs_no_parameter_beside_its_secret(void **state)
{
    (void)state;
    check_holds(args_of(record_with("azure", NULL, NULL, NULL)),
                " --azure-config-file=/etc/signpost/azure-config-file ");
    const char *args = args_of(record_with("aws", "tls-ca", "'/ca'", NULL));
    assert_null(strstr(args, "tls-ca"));
}

static void what_is_not_set_has_a_default_where_external_dns_has_none(void **state)
{
    (void)state;
    static const struct {
        const char *provider;
        const char *fields;
        const char *holds;
        const char *lacks;
    } rows[] = {
        {"rfc2136", "", " --rfc2136-axfr ", NULL},
        {"rfc2136", WITH("'policy':'create-only'"), " --policy=create-only ", "axfr"},
        {"rfc2136", WITH("'rfc2136-tsig-axfr':'false'"), " --no-rfc2136-axfr ", NULL},
        {"rfc2136", WITH("'rfc2136-use-tls':true"), " --rfc2136-port=853 ", "=53 "},
        {"rfc2136", WITH("'rfc2136-zone':''"), " --rfc2136-port=53 ", "zone"},
        {"coredns", "", " --coredns-strictly-owned ", "rfc2136"},
        {"coredns", "'version':'v0.20.0'", " --provider=coredns ", "strictly"},
        {"aws", WITH("'registry':'noop','metrics-address':':80'"),
         " --registry=noop --txt-owner-id=", "coredns"},
        {"aws", WITH("'interval':'30s'") ",'extraArgs':[{'name':'a'},{'name':'b','value':''}]",
         " --interval=30s --a --b= ", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *args = args_of(record_with(rows[i].provider, NULL, NULL, rows[i].fields));
        check_holds(args, rows[i].holds);
        assert_true(!rows[i].lacks || !strstr(args, rows[i].lacks));
    }
    assert_int_equal(start_of(record_with("aws", "metrics-address", "'0.0.0.0:80'", NULL)).port,
                     80);
}

static void the_element_of_one_of_is_passed_on(void **state)
{
    (void)state;
    check_holds(args_of(record_with("coredns", "oneOf",
                                    "[{'aws-zone-type':'public'},{'coredns-prefix':'/a/'}]", NULL)),
                " --coredns-prefix=/a/ --domain-filter=");
}

static void the_owner_is_made_unless_one_is_given(void **state)
{
    (void)state;
    static const struct {
        const char *fields;
        const char *owner;
    } rows[] = {
        {"", "signpost-edge-shop-public-dns-b11d8e2a"},
        {WITH("'txt-owner-id':'default'"), "signpost-edge-shop-public-dns-b11d8e2a"},
        {WITH("'txt-owner-id':'mine'"), "mine"},
        {"'adoptOwner':'default'", "default"},
        {"'adoptOwner':'a'," WITH("'txt-owner-id':'default'"), "a"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_holds(args_of(record_with("aws", NULL, NULL, rows[i].fields)),
                    arena_printf(arena, " --txt-owner-id=%s ", rows[i].owner));
}

static void what_is_pinned_stays_whatever_the_record_says(void **state)
{
    (void)state;
    struct external_dns_pinned read;
    const struct external_dns_pinned pinned = {
        .owner_id = TEXT("old"), .txt_prefix = TEXT("p-"), .annotation_prefix = TEXT("a.org/")};
    const char *json = external_dns_pinned_write(arena, &pinned);
    assert_string_equal(json, "{\"txt-owner-id\":\"old\",\"txt-prefix\":\"p-\","
                              "\"annotation-prefix\":\"a.org/\"}");
    assert_true(external_dns_pinned_read(arena, text_of(json), &read));
    assert_true(text_is(read.txt_prefix, "p-"));
    assert_false(external_dns_pinned_read(arena, TEXT("old"), &read));
    json = external_dns_pinned_write(arena, &(struct external_dns_pinned){.owner_id = TEXT("x")});
    check_holds(json, "\"txt-prefix\":\"\"");
    json = external_dns_pinned_write(arena, &pinned);
    struct value *object = record_with("aws", "txt-prefix", "'new'", NULL);
    value_set(value_put(arena, object, "metadata.annotations", value_make(arena, VALUE_MAP)),
              TEXT(PINNED_ANNOTATION), value_make_text(arena, text_of(json)));
    assert_string_equal(errors_of(object), "");
    check_holds(args_of(object), " --txt-owner-id=old ");
    check_holds(args_of(object), " --annotation-prefix=a.org/ ");
    check_holds(args_of(object), " --txt-prefix=p- ");
}

static void a_label_is_made_of_project_and_record(void **state)
{
    (void)state;
    assert_string_equal(update_record_label(arena, TEXT("edge-shop"), TEXT("public-dns")),
                        "public-dns-b4bbad42");
    assert_string_equal(update_record_label(arena, TEXT("Edge_Shop"), TEXT("A_b.C")),
                        "a-b-c-c8b56ac5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(the_known_record_has_the_known_arguments),
        UNIT(older_releases_spell_flags_otherwise),
        UNIT(a_secret_comes_by_the_environment_alone),
        UNIT(files_are_mounted_where_arguments_and_variables_say),
        UNIT(a_file_needs_no_parameter_beside_its_secret),
        UNIT(what_is_not_set_has_a_default_where_external_dns_has_none),
        UNIT(the_element_of_one_of_is_passed_on),
        UNIT(the_owner_is_made_unless_one_is_given),
        UNIT(what_is_pinned_stays_whatever_the_record_says),
        UNIT(a_label_is_made_of_project_and_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
