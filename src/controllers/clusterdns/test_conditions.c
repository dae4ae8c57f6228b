#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controllers/clusterdns/test_cluster.h"

// The status of a DNS object: conditions, numbers, zones; and what its objects are marked with.

#define ONE_ZONE "'servers':[" SERVER("'a.example'", "'192.0.2.1'") "]"
#define PREFIX "dns.operator.openshift.io/"

static struct value *stored_tree(const struct kind *kind, const char *namespace_, const char *name)
{
    const struct stored *stored = find_stored(kind, namespace_, name);
    assert_non_null(stored);
    return stored->tree;
}

// An own CoreDNS whose Pods all run what is wanted.
static void use_own(void)
{
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    put_pod(true, "dns-a", "10.0.0.1");
    set_answer(0, "10.0.0.1:5353", config_id());
}

static void put_address(const char *ip)
{
    value_put_text(arena, stored_tree(&service_kind, "openshift-dns", "dns-default"),
                   "spec.clusterIP", ip);
}

static void put_numbers(int64_t desired, int64_t updated, int64_t available)
{
    struct value *tree = stored_tree(&daemonset_kind, "openshift-dns", "dns-default");
    value_put_int(arena, tree, "status.desiredNumberScheduled", desired);
    value_put_int(arena, tree, "status.updatedNumberScheduled", updated);
    value_put_int(arena, tree, "status.numberAvailable", available);
}

static void check(const char *type, const char *condition, const char *part)
{
    const char *message = message_of(arena, status_of(DNS_MAIN_NAME), type);
    if (strcmp(now(type), condition) != 0 || !strstr(message, part))
        fail_msg("%s is %s: %s; not %s: %s", type, now(type), message, condition, part);
}

// ---- Pods and addresses -------------------------------------------------------------------------

static const struct row {
    const char *ip;
    int64_t desired, updated, available;
    const char *available_is, *available_part;
    const char *progressing_is, *progressing_part;
    const char *degraded_is, *degraded_part;
} rows[] = {
    {"10.96.0.10", 1, 1, 1, "True/AsExpected", "cluster IP", "False/AsExpected", "",
     "False/AsExpected", ""},
    {"", 1, 1, 1, "False/NoService", "No IP address is assigned to the DNS service.",
     "True/Reconciling", "No IP address is assigned to the DNS service.", "False/AsExpected", ""},
    {"", 1, 1, 0, "False/NoDaemonSetPodsNoService",
     "no pods available. No IP address is assigned to the DNS service.", "True/Reconciling",
     "No IP address", "False/AsExpected", ""},
    {"10.96.0.10", 3, 2, 2, "True/AsExpected", "", "True/Reconciling",
     "Have 2 up-to-date DNS pods, want 3.", "False/AsExpected", ""},
    {"10.96.0.10", 0, 0, 0, "False/NoDaemonSetPods", "The DNS daemonset has no pods available.",
     "False/AsExpected", "", "True/DegradedConditions", "NoDNSPodsDesired: "},
    {"10.96.0.10", 3, 3, 0, "False/NoDaemonSetPods", "", "False/AsExpected", "",
     "True/DegradedConditions", "NoDNSPodsAvailable: "},
    // A tenth of those that are desired may be missing, rounded up.
    {"10.96.0.10", 3, 3, 2, "True/AsExpected", "", "False/AsExpected", "", "False/AsExpected", ""},
    {"10.96.0.10", 10, 10, 9, "True/AsExpected", "", "False/AsExpected", "", "False/AsExpected",
     ""},
    {"10.96.0.10", 10, 10, 8, "True/AsExpected", "", "False/AsExpected", "",
     "True/DegradedConditions",
     "MaxUnavailableDNSPodsExceeded: Too many DNS pods are unavailable "
     "(2 > 1 max unavailable)."},
    {"10.96.0.10", 11, 11, 9, "True/AsExpected", "", "False/AsExpected", "", "False/AsExpected",
     ""},
    {"10.96.0.10", 11, 11, 8, "True/AsExpected", "", "False/AsExpected", "",
     "True/DegradedConditions", "(3 > 2 max unavailable)"},
};

static void numbers_of_pods_are_told_as_openshift_tells_them(void **state)
{
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        tear_down(state);
        open_cluster(state);
        use_own();
        put_address(row->ip);
        put_numbers(row->desired, row->updated, row->available);
        cluster.now_ms += 60 * 1000;
        settle(DNS_MAIN_NAME);
        check("Available", row->available_is, row->available_part);
        check("Progressing", row->progressing_is, row->progressing_part);
        check("Degraded", row->degraded_is, row->degraded_part);
        check("Upgradeable", "True/AsExpected", "");
    }
}

static void without_a_daemonset_nothing_is_available(void **state)
{
    (void)state;
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    check("Available", "False/NoDaemonSetNoService",
          "The DNS daemonset does not exist. No IP address is assigned to the DNS service.");
    check("Progressing", "True/ImageMissing",
          "No IP address is assigned to the DNS service. The DNS daemonset is not made");
    put_address("10.96.0.10");
    settle(DNS_MAIN_NAME);
    check("Available", "False/NoDaemonSet", "The DNS daemonset does not exist.");
    check("Progressing", "True/ImageMissing", "--coredns-image says which image");
    check("Degraded", "False/AsExpected", "");
}

// Pods that come and go within 40 s are no news; a status of before that time stays as it is.
static void numbers_of_pods_are_damped(void **state)
{
    (void)state;
    use_own();
    put_address("10.96.0.10");
    put_numbers(3, 3, 3);
    cluster.now_ms += 60 * 1000;
    settle(DNS_MAIN_NAME);
    check("Progressing", "False/AsExpected", "");
    int64_t since_ms = cluster.now_ms;
    put_numbers(3, 2, 3);
    cluster.now_ms = since_ms + 40 * 1000;
    settle(DNS_MAIN_NAME);
    check("Progressing", "False/AsExpected", "");
    assert_int_equal(cluster.decision.wake_ms, since_ms + 41 * 1000);
    cluster.now_ms = since_ms + 41 * 1000;
    settle(DNS_MAIN_NAME);
    check("Progressing", "True/Reconciling", "Have 2 up-to-date DNS pods, want 3.");
}

static void another_config_is_on_its_way_until_all_pods_run_it(void **state)
{
    (void)state;
    use_own();
    put_address("10.96.0.10");
    put_numbers(1, 1, 1);
    settle(DNS_MAIN_NAME);
    put_main("'servers':[" SERVER("'b.example'", "'192.0.2.1'") "]");
    settle(DNS_MAIN_NAME);
    check("Progressing", "True/CorefileRollingOut",
          "Not all DNS pods run the wanted Corefile yet.");
    check("Degraded", "False/AsExpected", "");
    check("Converged", "False/Waiting", config_id());
}

static const char *time_of(const char *type)
{
    value_each (item, value_list_at(status_of(DNS_MAIN_NAME), "conditions"))
        if (text_is(value_text_at(item, "type"), type)) {
            struct text time = value_text_at(item, "lastTransitionTime");
            return arena_copy(arena, time.at, time.len);
        }
    return "";
}

static void a_condition_that_does_not_flip_keeps_its_time(void **state)
{
    (void)state;
    use_own();
    put_address("10.96.0.10");
    put_numbers(1, 1, 0);
    settle(DNS_MAIN_NAME);
    const char *before = time_of("Available");
    cluster.now_ms += 60 * 1000;
    put_address("");
    settle(DNS_MAIN_NAME);
    check("Available", "False/NoDaemonSetPodsNoService", "");
    assert_string_equal(time_of("Available"), before);
    cluster.now_ms += 60 * 1000;
    put_address("10.96.0.10");
    put_numbers(1, 1, 1);
    settle(DNS_MAIN_NAME);
    check("Available", "True/AsExpected", "");
    assert_string_not_equal(time_of("Available"), before);
}

// ---- the rest of the status ---------------------------------------------------------------------

static void a_status_says_which_file_stands_where(void **state)
{
    (void)state;
    use_own();
    put_address("10.96.0.10");
    cluster.settings.cluster_domain = "k8s.example";
    settle(DNS_MAIN_NAME);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    const struct value *status = status_of(DNS_MAIN_NAME);
    const char *text = data_of("openshift-dns", "dns-default", "Corefile");
    assert_non_null(strstr(text, "kubernetes k8s.example "));
    static const struct {
        const char *path, *value;
    } texts[] = {
        {"clusterIP", "10.96.0.10"},
        {"clusterDomain", "k8s.example"},
        {"config.configMap", "openshift-dns/dns-default"},
        {"config.mode", "owned"},
        {"config.layout", "plain"},
        {"config.corednsVersion", "1.12.4"},
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (!text_is(value_text_at(status, texts[i].path), texts[i].value))
            fail_msg("%s is not %s", texts[i].path, texts[i].value);
    uint8_t digest[DIGEST_MAX];
    char hex[2 * DIGEST_MAX + 1];
    digest_of(DIGEST_SHA256, text_of(text), digest);
    hex_encode(digest, 32, hex);
    assert_true(text_is(value_text_at(status, "config.sha256"), hex));
    assert_non_null(strstr(text, arena_printf(arena, "chaos signpost-%s ", config_id())));
    assert_int_equal(value_int_at(status, "observedGeneration", 0), 1);
}

static void at_most_100_zones_are_shown_and_the_bad_ones_first(void **state)
{
    (void)state;
    AUTO_BUFFER spec = {0};
    put_text_map("kube-system", "coredns", "Corefile", ".:53 {\n    forward . 192.0.2.9\n}\n");
    buffer_add_text(&spec, "'servers':[");
    for (int i = 0; i < 119; i++)
        buffer_printf(&spec,
                      "{'zones':['z%d.example'],'forwardPlugin':{'upstreams':['192.0.2.1']}},", i);
    buffer_add_text(&spec, SERVER("'a_b.example'", "'192.0.2.1'") "]");
    put_main(spec.at);
    settle(DNS_MAIN_NAME);
    const struct value *status = status_of(DNS_MAIN_NAME);
    const struct value *list = value_list_at(status, "forwarders");
    assert_int_equal(value_count(list), 100);
    assert_int_equal(value_int_at(status, "forwardersTotal", 0), 120);
    assert_true(text_is(value_text_at(list->first, "zone"), "a_b.example"));
    assert_true(text_is(value_text_at(list->first, "state"), "Refused"));
    assert_true(text_is(value_text_at(list->first, "reason"), "InvalidZone"));
    assert_true(
        text_is(value_text_at(list->first, "source"), "default spec.servers[119].zones[0]"));
    assert_true(text_is(value_text_at(list->first->next, "zone"), "z0.example"));
    assert_true(text_is(value_text_at(list->first->next, "state"), "Serving"));
    check("Accepted", "False/PartiallyAccepted", "spec.servers[119].zones[0]: a_b.example is no");
}

static void ten_pods_that_run_something_else_are_named(void **state)
{
    (void)state;
    use_own();
    put_address("10.96.0.10");
    put_numbers(13, 13, 13);
    for (size_t i = 0; i < 12; i++) {
        const char *ip = arena_printf(arena, "10.0.1.%zu", i + 1);
        put_pod(true, arena_printf(arena, "old-%02zu", i), ip);
        set_answer(i + 1, arena_printf(arena, "%s:5353", ip), i ? "0123456789abcdef" : NULL);
    }
    settle(DNS_MAIN_NAME);
    const struct value *pods = value_find(status_of(DNS_MAIN_NAME), "pods");
    assert_int_equal(value_int_at(pods, "current", -1), 1);
    assert_int_equal(value_int_at(pods, "old", -1), 11);
    assert_int_equal(value_int_at(pods, "silent", -1), 1);
    assert_int_equal(value_count(value_list_at(pods, "stale")), 10);
    cluster.now_ms += 7200 * 1000; // all of them are older than the deadline
    settle(DNS_MAIN_NAME);
    check("Converged", "False/PodsOnOldConfig", "old-01");
    check("Degraded", "True/PodsOnOldConfig", "old-01");
    check("Progressing", "False/AsExpected", "");
}

static void words_that_count_as_managed_are_told(void **state)
{
    static const char *const words[] = {"Force", "Removed"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        tear_down(state);
        open_cluster(state);
        put_main(arena_printf(arena, ONE_ZONE ",'managementState':'%s'", words[i]));
        settle(DNS_MAIN_NAME);
        assert_non_null(data_of("openshift-dns", "dns-default", "Corefile"));
        check("Accepted", "True/Accepted",
              arena_printf(arena, "managementState %s counts as Managed", words[i]));
        check("Upgradeable", "True/AsExpected", "");
    }
}

static void a_refused_object_says_so(void **state)
{
    (void)state;
    put_main("'servers':[" SERVER("'a_b.example'", "'192.0.2.1'") "]");
    settle(DNS_MAIN_NAME);
    check("Accepted", "False/Refused", "a_b.example is no zone");
    put_main("'cache':{'positiveTTL':'soon'}," ONE_ZONE);
    settle(DNS_MAIN_NAME);
    check("Accepted", "False/PartiallyAccepted", "spec.cache.positiveTTL: must be a duration");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    check("Accepted", "True/Accepted", "every entry is served as it is written");
}

static void both_addresses_of_the_clusters_dns_are_known(void **state)
{
    static const char *const addresses[] = {"10.96.0.10", "[fd00::a]:53", "::ffff:10.96.0.10"};
    (void)state;
    put_text_map("kube-system", "coredns", "Corefile", ".:53 {\n    forward . 192.0.2.9\n}\n");
    put(&service_kind, "kube-system", "kube-dns", "",
        "'spec':{'clusterIP':'10.96.0.10','clusterIPs':['10.96.0.10','fd00:0::a']}");
    for (size_t i = 0; i < COUNT_OF(addresses); i++) {
        put_main(arena_printf(arena,
                              "'servers':[{'zones':['a.example'],'forwardPlugin':{'upstreams':"
                              "['%s']}}]",
                              addresses[i]));
        settle(DNS_MAIN_NAME);
        check("Accepted", "False/Refused", "is the address of the cluster's own DNS");
    }
    put_main("'servers':[" SERVER("'0.0.0.0.0.0.d.f.ip6.arpa'", "'192.0.2.1'") "]");
    settle(DNS_MAIN_NAME);
    check("Accepted", "True/Accepted", "");
    put_main("'servers':[" SERVER("'0.0.d.f.ip6.arpa'", "'192.0.2.1'") "]");
    settle(DNS_MAIN_NAME);
    check("Accepted", "True/Accepted", "covers fd00:0::a, the address of the cluster's DNS");
}

// ---- names, labels, annotations -----------------------------------------------------------------

static void what_is_ours_is_labelled_and_owned(void **state)
{
    (void)state;
    use_own();
    const struct {
        const struct kind *kind;
        const char *name;
    } objects[] = {
        {&config_map_kind, "dns-default"},
        {&config_map_kind, arena_printf(arena, "dns-default-%s", config_id())},
        {&daemonset_kind, "dns-default"},
        {&service_kind, "dns-default"},
        {&serviceaccount_kind, "dns"},
    };
    for (size_t i = 0; i < COUNT_OF(objects); i++) {
        const struct value *tree = stored_tree(objects[i].kind, "openshift-dns", objects[i].name);
        const struct value *owner = value_at(tree, "metadata.ownerReferences[0]", NULL);
        assert_true(
            text_is(value_text_at(tree, "metadata.labels[" PREFIX "owning-dns]"), "default"));
        assert_true(text_is(value_text_at(owner, "kind"), "DNS"));
        assert_true(text_is(value_text_at(owner, "name"), "default"));
        assert_true(value_bool_at(owner, "controller", false));
    }
    assert_true(value_bool_at(stored_tree(&config_map_kind, "openshift-dns", objects[1].name),
                              "immutable", false));
    const struct value *daemonset = stored_tree(&daemonset_kind, "openshift-dns", "dns-default");
    static const char selector[] = "spec.selector.matchLabels[" PREFIX "daemonset-dns]";
    static const char label[] = "spec.template.metadata.labels[" PREFIX "daemonset-dns]";
    static const char annotation[] =
        "spec.template.metadata.annotations[dns.homelab.mortenolsen.pro/config-id]";
    assert_true(text_is(value_text_at(daemonset, selector), "default"));
    assert_true(text_is(value_text_at(daemonset, label), "default"));
    assert_true(text_is(value_text_at(daemonset, annotation), config_id()));
    assert_true(
        text_is(value_text_at(stored_tree(&config_map_kind, "openshift-dns", "dns-default"),
                              "metadata.annotations[dns.homelab.mortenolsen.pro/config-id]"),
                config_id()));
}

static void what_is_ours_in_a_file_of_others_is_annotated(void **state)
{
    (void)state;
    put_text_map("kube-system", "coredns", "Corefile",
                 ".:53 {\n    kubernetes cluster.local\n    forward . 192.0.2.9\n}\n");
    put_main(ONE_ZONE
             ",'upstreamResolvers':{'upstreams':[{'type':'Network','address':'192.0.2.8'}]}");
    settle(DNS_MAIN_NAME);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    const struct value *annotations = value_at(
        stored_tree(&config_map_kind, "kube-system", "coredns"), "metadata.annotations", NULL);
    assert_true(text_is(
        value_text(value_find(annotations, "dns.homelab.mortenolsen.pro/config-id")), config_id()));
    struct text zones = value_text(value_find(annotations, "dns.homelab.mortenolsen.pro/zones"));
    assert_true(text_starts(zones, "["));
    assert_non_null(strstr(zones.at, "a.example"));
    assert_true(
        text_is(value_text(value_find(annotations, "dns.homelab.mortenolsen.pro/saved-forward")),
                "forward . 192.0.2.9"));
    assert_null(value_at(stored_tree(&config_map_kind, "kube-system", "coredns"),
                         "metadata.ownerReferences[0]", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(numbers_of_pods_are_told_as_openshift_tells_them),
        STORY(without_a_daemonset_nothing_is_available),
        STORY(numbers_of_pods_are_damped),
        STORY(another_config_is_on_its_way_until_all_pods_run_it),
        STORY(a_condition_that_does_not_flip_keeps_its_time),
        STORY(a_status_says_which_file_stands_where),
        STORY(at_most_100_zones_are_shown_and_the_bad_ones_first),
        STORY(ten_pods_that_run_something_else_are_named),
        STORY(words_that_count_as_managed_are_told),
        STORY(a_refused_object_says_so),
        STORY(both_addresses_of_the_clusters_dns_are_known),
        STORY(what_is_ours_is_labelled_and_owned),
        STORY(what_is_ours_in_a_file_of_others_is_annotated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
