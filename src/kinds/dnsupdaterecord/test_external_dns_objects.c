#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kinds/dnsupdaterecord/external_dns_objects.h"
#include "kinds/dnsupdaterecord/test_record.h"

static struct value *objects[EXTERNAL_DNS_OBJECTS];

static void make_of(const char *provider, const char *fields, const char *image)
{
    const struct value *object = record_with(provider, NULL, NULL, fields);
    const struct external_dns_start start = start_of(object);
    const struct external_dns_workload workload = {
        .record = record_of(object),
        .start = &start,
        .project = TEXT("edge-shop"),
        .namespace_ = TEXT("edge"),
        .image = text_of(image),
        .version = TEXT("v0.22.0"),
        .secret_checksum = TEXT("5eb63bbb"),
    };
    external_dns_objects_make(arena, &workload, objects);
}

static struct text at(enum external_dns_object object, const char *path)
{
    return value_text_at(objects[object], path);
}

#define POD "spec.template.spec"
#define CONTAINER POD ".containers[0]"

static void all_objects_share_a_name_and_the_account(void **state)
{
    (void)state;
    make_of("aws", NULL, "external-dns:v0.22.0");
    for (size_t i = 0; i < EXTERNAL_DNS_OBJECTS; i++) {
        assert_true(text_is(at(i, "metadata.name"), "external-dns-public-dns-b4bbad42"));
        assert_true(text_is(at(i, "metadata.namespace"), "edge"));
        assert_true(
            text_is(at(i, "metadata.labels[app.kubernetes.io/instance]"), "public-dns-b4bbad42"));
    }
    assert_true(text_equal(at(EXTERNAL_DNS_DEPLOYMENT, POD ".serviceAccountName"),
                           at(EXTERNAL_DNS_ACCOUNT, "metadata.name")));
    assert_true(text_equal(at(EXTERNAL_DNS_ROLE_BINDING, "subjects[0].name"),
                           at(EXTERNAL_DNS_ACCOUNT, "metadata.name")));
    assert_true(text_is(at(EXTERNAL_DNS_ROLE_BINDING, "subjects[0].namespace"), "edge"));
}

static void an_account_may_read_dns_endpoints_and_nothing_else(void **state)
{
    (void)state;
    make_of("aws", NULL, "external-dns:v0.22.0");
    assert_string_equal(json_of(value_find(objects[EXTERNAL_DNS_ROLE], "rules")),
                        "[{\"apiGroups\":[\"externaldns.k8s.io\"],\"resources\":[\"dnsendpoints\"],"
                        "\"verbs\":[\"get\",\"list\",\"watch\"]},"
                        "{\"apiGroups\":[\"externaldns.k8s.io\"],"
                        "\"resources\":[\"dnsendpoints/status\"],\"verbs\":[\"update\"]}]");
}

#define LABELS                                                                                     \
    "'labels':{'app.kubernetes.io/name':'external-dns','app.kubernetes.io/instance':"              \
    "'public-dns-b4bbad42','app.kubernetes.io/managed-by':'signpost','app.kubernetes.io/version':" \
    "'v0.22.0'}"
#define PROBE(name, delay, failures)                                                               \
    "'" name "':{'httpGet':{'path':'/healthz','port':'http'},'initialDelaySeconds':" delay         \
    ",'periodSeconds':10,'timeoutSeconds':5,'failureThreshold':" failures "}"

// With all but the arguments, which test_external_dns_render.c has.
static void one_pod_runs_without_rights_on_its_node(void **state)
{
    (void)state;
    make_of("aws", NULL, "external-dns:v0.22.0");
    struct value *deployment = objects[EXTERNAL_DNS_DEPLOYMENT];
    value_remove(value_at(deployment, CONTAINER, NULL), "args");
    assert_string_equal(
        json_of(value_find(deployment, "spec")),
        quote_text(
            arena,
            "{'replicas':1,'strategy':{'type':'Recreate'},'selector':{'matchLabels':{"
            "'app.kubernetes.io/instance':'public-dns-b4bbad42'}},'template':{'metadata':{" LABELS
            ",'annotations':{'dns.homelab.mortenolsen.pro/secret-checksum':'5eb63bbb'}},'spec':{"
            "'serviceAccountName':'external-dns-public-dns-b4bbad42','securityContext':{"
            "'runAsNonRoot':true,'runAsUser':65532,'runAsGroup':65532,'fsGroup':65534,"
            "'seccompProfile':{'type':'RuntimeDefault'}},'containers':[{'name':'external-dns',"
            "'image':'external-dns:v0.22.0','ports':[{'name':'http','containerPort':7979}]," PROBE(
                "livenessProbe", "10",
                "2") "," PROBE("readinessProbe", "5",
                               "6") ",'securityContext':{'allowPrivilegeEscalation':false,'"
                                    "readOnlyRootFilesystem':true,"
                                    "'capabilities':{'drop':['ALL']}},'terminationMessagePolicy':"
                                    "'FallbackToLogsOnError'}]}}}"));
}

static void an_object_says_that_it_is_ours(void **state)
{
    (void)state;
    make_of("aws", NULL, "external-dns:v0.22.0");
    for (size_t i = 0; i < EXTERNAL_DNS_OBJECTS; i++)
        assert_string_equal(
            json_of(value_find(objects[i], "metadata")),
            quote_text(arena,
                       "{'name':'external-dns-public-dns-b4bbad42','namespace':'edge'," LABELS
                       "}"));
    assert_string_equal(json_of(value_find(objects[EXTERNAL_DNS_ROLE_BINDING], "roleRef")),
                        quote_text(arena, "{'apiGroup':'rbac.authorization.k8s.io','kind':'Role',"
                                          "'name':'external-dns-public-dns-b4bbad42'}"));
    assert_string_equal(json_of(value_find(objects[EXTERNAL_DNS_ROLE_BINDING], "subjects")),
                        quote_text(arena,
                                   "[{'kind':'ServiceAccount','name':"
                                   "'external-dns-public-dns-b4bbad42','namespace':'edge'}]"));
}

static void the_port_follows_the_address_of_metrics(void **state)
{
    (void)state;
    make_of("aws", "'external-dns-parameters':{'metrics-address':':9100'}", NULL);
    assert_int_equal(
        value_int_at(objects[EXTERNAL_DNS_DEPLOYMENT], CONTAINER ".ports[0].containerPort", 0),
        9100);
    assert_null(at(EXTERNAL_DNS_DEPLOYMENT, CONTAINER ".image").at);
}

static void files_come_from_secrets_by_one_volume(void **state)
{
    (void)state;
    make_of("azure", "'external-dns-parameters':{'azure-config-file':'/etc/azure.json'}", "a:b");
    const struct value *deployment = objects[EXTERNAL_DNS_DEPLOYMENT];
    assert_string_equal(
        json_of(value_at(deployment, POD ".volumes", NULL)),
        "[{\"name\":\"files\",\"projected\":{\"defaultMode\":288,\"sources\":[{\"secret\":"
        "{\"name\":\"az\",\"items\":[{\"key\":\"azure.json\",\"path\":\"azure-config-file\"}]}}]}}"
        "]");
    assert_string_equal(json_of(value_at(deployment, CONTAINER ".volumeMounts", NULL)),
                        "[{\"name\":\"files\",\"mountPath\":\"/etc/signpost\",\"readOnly\":true}]");
    make_of("aws", NULL, "a:b");
    assert_null(value_at(objects[EXTERNAL_DNS_DEPLOYMENT], POD ".volumes", NULL));
}

static void no_argument_becomes_the_value_of_a_variable(void **state)
{
    (void)state;
    make_of("coredns",
            "'env':[{'name':'ETCD_URLS','value':'http://$(ETCD_PASSWORD):2379'}],"
            "'external-dns-parameters':{'zone-id-filter':'$(ETCD_PASSWORD)'}",
            "a:b");
    const char *container = json_of(value_at(objects[EXTERNAL_DNS_DEPLOYMENT], CONTAINER, NULL));
    check_holds(container, "--zone-id-filter=$$(ETCD_PASSWORD)");
    check_holds(container, "http://$$(ETCD_PASSWORD):2379");
    assert_null(strstr(container, "=$("));
}

static void what_the_record_says_of_its_pod_is_copied(void **state)
{
    (void)state;
    make_of("aws",
            "'nodeSelector':{'disk':'ssd'},'resources':{'limits':{'memory':'64Mi'}},"
            "'tolerations':[{'operator':'Exists'}],'imagePullSecrets':[{'name':'pull'}],"
            "'serviceAccountAnnotations':{'example.org/role':'dns'}",
            "a:b");
    assert_true(text_is(at(EXTERNAL_DNS_DEPLOYMENT, POD ".nodeSelector.disk"), "ssd"));
    assert_true(text_is(at(EXTERNAL_DNS_DEPLOYMENT, POD ".tolerations[0].operator"), "Exists"));
    assert_true(text_is(at(EXTERNAL_DNS_DEPLOYMENT, POD ".imagePullSecrets[0].name"), "pull"));
    assert_true(text_is(at(EXTERNAL_DNS_DEPLOYMENT, CONTAINER ".resources.limits.memory"), "64Mi"));
    assert_true(text_is(at(EXTERNAL_DNS_ACCOUNT, "metadata.annotations[example.org/role]"), "dns"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        UNIT(all_objects_share_a_name_and_the_account),
        UNIT(an_account_may_read_dns_endpoints_and_nothing_else),
        UNIT(one_pod_runs_without_rights_on_its_node),
        UNIT(an_object_says_that_it_is_ours),
        UNIT(the_port_follows_the_address_of_metrics),
        UNIT(files_come_from_secrets_by_one_volume),
        UNIT(no_argument_becomes_the_value_of_a_variable),
        UNIT(what_the_record_says_of_its_pod_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
