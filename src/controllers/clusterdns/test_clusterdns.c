#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_certificate.h"
#include "controllers/clusterdns/test_usual.h"

// ---- adopted ------------------------------------------------------------------------------------

static void a_config_is_in_the_status_before_it_is_written(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    reconcile_once(DNS_MAIN_NAME);
    assert_int_equal(strlen(config_id()), CONFIG_ID_LEN);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
    reconcile_once(DNS_MAIN_NAME);
    const char *copy = arena_printf(arena, "coredns-%s", config_id());
    assert_string_equal(data_of("kube-system", copy, "Corefile"),
                        data_of("kube-system", "coredns", "Corefile"));
}

static void a_zone_that_a_block_of_others_serves_stays_theirs(void **state)
{
    (void)state;
    use_kubeadm();
    const char *theirs = arena_printf(arena,
                                      "tls://b.example {\n    whoami\n}\nz.example "
                                      "A.Example:53 {\n    whoami\n}\n%s",
                                      kubeadm);
    put_text_map("kube-system", "coredns", "Corefile", theirs);
    put_main("'servers':[" SERVER("'a.example','b.example'", "'192.0.2.1'") "]");
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_true(text_starts(text_of(text), "# b.example\nb.example:53 {"));
    assert_true(text_ends(text_of(text), theirs));
    const struct value *first = value_at(status_of(DNS_MAIN_NAME), "forwarders[0]", NULL);
    assert_true(text_is(value_text_at(first, "reason"), "ZoneServedElsewhere"));
    assert_true(text_starts(value_text_at(first, "message"), "a.example is served by Corefile:"));
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
}

static void our_blocks_stand_before_what_others_wrote(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_non_null(strstr(text, "a.example:53 {\n    prometheus :9153\n    forward . 192.0.2.1"));
    assert_non_null(strstr(text, arena_printf(arena, "chaos signpost-%s signpost", config_id())));
    assert_true(text_ends(text_of(text), kubeadm));
    assert_string_equal(now("Accepted"), "True/Accepted");
    assert_string_equal(now("Converged"), "Unknown/NoPods");
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
}

static void without_entries_every_octet_of_others_is_back(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE ",'upstreamResolvers':{'upstreams':[{'type':'Network','address':"
                      "'192.0.2.9','port':54}]}");
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_non_null(strstr(text, "forward . 192.0.2.9:54 {"));
    assert_non_null(strstr(text, "max_concurrent 1000"));
    put_main("");
    settle(DNS_MAIN_NAME);
    assert_true(text_ends(text_of(data_of("kube-system", "coredns", "Corefile")), kubeadm));
    end_main();
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
}

static void faulty_resolvers_leave_the_root_of_others_alone(void **state)
{
    (void)state;
    use_kubeadm();
    put_main("'upstreamResolvers':{'upstreams':[{'type':'Network'}]}");
    settle(DNS_MAIN_NAME);
    assert_true(text_ends(text_of(data_of("kube-system", "coredns", "Corefile")), kubeadm));
    assert_string_equal(now("Accepted"), "False/Refused");
}

static void a_file_that_others_replaced_gets_our_blocks_again(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    put_text_map("kube-system", "coredns", "Corefile", ".:53 {\n    whoami\n}\n");
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_non_null(strstr(text, "a.example:53 {"));
    assert_true(text_ends(text_of(text), ".:53 {\n    whoami\n}\n"));
}

static void a_lost_annotation_makes_no_second_block(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const char *before = data_of("kube-system", "coredns", "Corefile");
    put_text_map("kube-system", "coredns", "Corefile", before);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), before);
    assert_string_equal(now("Accepted"), "True/Accepted");
}

static void a_zone_of_somebody_elses_block_is_refused(void **state)
{
    (void)state;
    use_kubeadm();
    put_text_map("kube-system", "coredns", "Corefile",
                 ".:53 {\n    whoami\n}\na.example:53 {\n    forward . 192.0.2.99\n}\n");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Accepted"), "False/Refused");
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Accepted"),
                           "a.example is served by Corefile:7, which is not ours"));
}

static void a_broken_file_of_others_is_left_alone(void **state)
{
    (void)state;
    static const char broken[] = ".:53 {\n    whomai\n}\n";
    use_kubeadm();
    put_text_map("kube-system", "coredns", "Corefile", broken);
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), broken);
    assert_string_equal(now("Degraded"), "True/ForeignCorefileBroken");
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Degraded"),
                           "Corefile:2 - Error during parsing: Unknown directive 'whomai'"));
}

// ---- proof --------------------------------------------------------------------------------------

static void it_has_converged_when_all_pods_say_so(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/Waiting");
    assert_int_equal(cluster.questions[0].good_for_ms, 1500);
    pods_answer(config_id());
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "True/Converged");
    assert_string_equal(now("Progressing"), "False/AsExpected");
    assert_int_equal(cluster.questions[0].good_for_ms, 60000);
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
}

static void servers_that_fail_health_checks_are_named(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    converge();
    assert_string_equal(now("UpstreamsHealthy"), "Unknown/NotObserved");
    cluster.failing = "";
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("UpstreamsHealthy"), "True/Healthy");
    cluster.failing = "192.0.2.1:53";
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("UpstreamsHealthy"), "False/Failing");
    assert_non_null(
        strstr(message_of(arena, status_of(DNS_MAIN_NAME), "UpstreamsHealthy"), "192.0.2.1:53"));
}

static void pods_that_stay_silent_restore_nothing(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    converge();
    pods_answer(NULL);
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "Unknown/PodsSilent");
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "b.example"));
}

static void what_no_pod_loads_is_put_back(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const char *good = config_id();
    const char *text = data_of("kube-system", "coredns", "Corefile");
    pods_answer(good);
    settle(DNS_MAIN_NAME);
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    const char *bad = config_id();
    assert_string_equal(now("Converged"), "False/Waiting");
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), text);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_non_null(
        find_stored(&config_map_kind, "kube-system", arena_printf(arena, "coredns-%s", bad)));
    assert_string_equal(now("Accepted"), "False/Refused");
    const struct value *first = value_at(status_of(DNS_MAIN_NAME), "forwarders[0]", NULL);
    assert_true(text_is(value_text_at(first, "state"), "Refused"));
    assert_true(text_is(value_text_at(first, "reason"), "CorefileRefused"));
    // The same spec is not tried again, another one is.
    cluster.now_ms += 600 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), text);
    put_main("'servers':[" SERVER("'c.example'", "'192.0.2.3'") "]");
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "c.example"));
    assert_string_equal(now("Degraded"), "False/AsExpected");
    assert_string_equal(now("Accepted"), "True/Accepted");
}

static void a_pod_that_crashes_brings_back_the_last_good_one_with_its_words(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    converge();
    const char *text = data_of("kube-system", "coredns", "Corefile");
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    put(&pod_kind, "kube-system", "coredns-c", "'labels':{'k8s-app':'kube-dns'}",
        "'spec':{'containers':[{'name':'coredns'}]},'status':{'phase':'Pending',"
        "'containerStatuses':[{'name':'coredns','state':{},'lastState':{'terminated':"
        "{'exitCode':1,'message':'Corefile:3 - Error during parsing: no'}}}]}");
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), text);
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Degraded"),
                           "Corefile:3 - Error during parsing: no"));
}

static void put_crashed_pod(const char *labels, const char *finished)
{
    put(&pod_kind, "kube-system", "coredns-c", labels,
        arena_printf(arena,
                     "'spec':{'containers':[{'name':'coredns'}]},'status':{'phase':'Pending',"
                     "'containerStatuses':[{'name':'coredns','state':{},'lastState':{'terminated':"
                     "{'exitCode':1,'finishedAt':'%s','message':'Corefile:3 - no'}}}]}",
                     finished));
}

static size_t count_copies(void)
{
    size_t count = 0;
    for (size_t i = 0; i < cluster.count; i++)
        count += cluster.objects[i].tree && cluster.objects[i].kind == &config_map_kind &&
                 text_starts(value_text_at(cluster.objects[i].tree, "metadata.name"), "coredns-");
    return count;
}

static void copies_that_nobody_needs_go(void **state)
{
    (void)state;
    use_kubeadm();
    for (int i = 0; i < 5; i++) { // none of them is proved
        put_main(arena_printf(arena, "'servers':[" SERVER("'z%d.example'", "'192.0.2.1'") "]", i));
        settle(DNS_MAIN_NAME);
    }
    assert_int_equal(count_copies(), 1);
    put_kube_dns_pods();
    pods_answer(config_id());
    settle(DNS_MAIN_NAME);
    for (int i = 0; i < 3; i++) { // each is refused
        put_main(arena_printf(arena, "'servers':[" SERVER("'r%d.example'", "'192.0.2.1'") "]", i));
        settle(DNS_MAIN_NAME);
        cluster.now_ms += 181 * 1000;
        settle(DNS_MAIN_NAME);
        assert_string_equal(now("Degraded"), "True/CorefileRefused");
    }
    assert_int_equal(count_copies(), 2);
}

static void an_annotation_lost_together_with_an_edit_leaves_no_block(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    put_text_map("kube-system", "coredns", "Corefile",
                 data_of("kube-system", "coredns", "Corefile"));
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example"));
    end_main();
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
}

static void going_back_leaves_what_others_wrote_meanwhile(void **state)
{
    (void)state;
    static const char theirs[] = "z.example:53 {\n    whoami # theirs\n}\n";
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE ",'upstreamResolvers':{'policy':'Random'}");
    converge();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    struct value *map = find_stored(&config_map_kind, "kube-system", "coredns")->tree;
    value_put_text(
        arena, map, "data.Corefile",
        arena_printf(arena, "%s%s", data_of("kube-system", "coredns", "Corefile"), theirs));
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_non_null(strstr(text, "a.example:53 {"));
    assert_non_null(strstr(text, "policy random"));
    assert_null(strstr(text, "b.example"));
    assert_true(text_ends(text_of(text), theirs));
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
    put_main("");
    settle(DNS_MAIN_NAME);
    assert_true(text_ends(text_of(data_of("kube-system", "coredns", "Corefile")),
                          arena_printf(arena, "%s%s", kubeadm, theirs)));
}

static void a_first_config_that_makes_pods_crash_goes_without_a_trace(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    put_crashed_pod("'labels':{'k8s-app':'kube-dns'}", "2030-01-01T00:00:00Z");
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Degraded"),
                           ", and our part of it is taken out; "));
    const struct value *annotations =
        value_at(find_stored(&config_map_kind, "kube-system", "coredns")->tree,
                 "metadata.annotations", NULL);
    assert_int_equal(value_count(annotations), 0);
}

static void a_crash_from_before_says_nothing_of_a_config(void **state)
{
    (void)state;
    use_kubeadm();
    put_crashed_pod("'labels':{'k8s-app':'kube-dns'}", "2025-12-30T09:59:59Z");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example:53 {"));
    assert_string_equal(now("Degraded"), "False/AsExpected");
}

static void without_its_annotation_our_part_goes_all_the_same(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    put_text_map("kube-system", "coredns", "Corefile",
                 data_of("kube-system", "coredns", "Corefile"));
    end_main();
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
}

static void two_proved_copies_are_kept(void **state)
{
    (void)state;
    const char *ids[4];
    static const char *const zones[] = {"a", "b", "c", "d"};
    use_kubeadm();
    put_kube_dns_pods();
    for (size_t i = 0; i < 4; i++) {
        put_main(arena_printf(arena,
                              "'servers':[{'zones':['%s.example'],'forwardPlugin':{"
                              "'upstreams':['192.0.2.1']}}]",
                              zones[i]));
        settle(DNS_MAIN_NAME);
        ids[i] = config_id();
        pods_answer(ids[i]);
        settle(DNS_MAIN_NAME);
    }
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(find_stored(&config_map_kind, "kube-system",
                                     arena_printf(arena, "coredns-%s", ids[i])) != NULL,
                         i >= 2);
}

// ---- owned --------------------------------------------------------------------------------------

static void an_own_coredns_is_made(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_non_null(find_stored(&daemonset_kind, "openshift-dns", "dns-default"));
    assert_non_null(find_stored(&service_kind, "openshift-dns", "dns-default"));
    assert_non_null(find_stored(&serviceaccount_kind, "openshift-dns", "dns"));
    const struct value *daemonset =
        find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree;
    assert_true(text_is(value_text_at(daemonset, "spec.template.metadata.annotations"
                                                 "[" CONFIG_ID_ANNOTATION "]"),
                        config_id()));
    assert_non_null(strstr(data_of("openshift-dns", "dns-default", "Corefile"), "a.example:5353"));
    assert_true(text_is(value_text_at(status_of(DNS_MAIN_NAME), "config.mode"), "owned"));
    assert_true(
        text_is(value_text_at(status_of(DNS_MAIN_NAME), "config.corednsVersion"), "1.12.4"));
}

static void without_an_image_all_but_the_daemonset_is_made(void **state)
{
    (void)state;
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(find_stored(&daemonset_kind, "openshift-dns", "dns-default"));
    assert_non_null(find_stored(&service_kind, "openshift-dns", "dns-default"));
    assert_string_equal(now("Progressing"), "True/ImageMissing");
}

static void drift_is_put_back(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const char *text = data_of("openshift-dns", "dns-default", "Corefile");
    struct value *map = find_stored(&config_map_kind, "openshift-dns", "dns-default")->tree;
    value_put_text(arena, map, "data.Corefile", ".:5353 {\n whoami\n}\n");
    struct value *daemonset = find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree;
    value_put(arena, daemonset, "spec.template.spec.nodeSelector", quote(arena, "{'disk':'ssd'}"));
    value_put_text(arena, daemonset, "metadata.labels.theirs", "kept");
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("openshift-dns", "dns-default", "Corefile"), text);
    daemonset = find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree;
    assert_true(text_is(value_text_at(daemonset, "metadata.labels.theirs"), "kept"));
    assert_true(text_is(value_text_at(daemonset, "spec.template.spec.nodeSelector"
                                                 "[kubernetes.io/os]"),
                        "linux"));
}

// Each change is put back, with no more than one write.
static void any_drift_of_template_and_service_is_put_back(void **state)
{
    static const struct {
        const struct kind *kind;
        const char *path;
        const char *value;
    } rows[] = {
        {&daemonset_kind, "spec.template.spec.containers[0].args", "['-conf','/other']"},
        {&daemonset_kind, "spec.template.spec.containers[0].readinessProbe.httpGet.port", "1"},
        {&daemonset_kind, "spec.template.spec.volumes[0].configMap.name", "'other'"},
        {&daemonset_kind, "spec.template.spec.tolerations", "[{'operator':'Exists'}]"},
        {&daemonset_kind, "spec.template.spec.serviceAccountName", "'default'"},
        {&daemonset_kind, "spec.updateStrategy.type", "'OnDelete'"},
        {&service_kind, "spec.ports[0].targetPort", "53"},
        {&service_kind, "spec.selector", "{'app':'theirs'}"},
    };
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct stored *stored = find_stored(rows[i].kind, "openshift-dns", "dns-default");
        struct value *before = value_copy(arena, stored->tree);
        struct value *there = value_at(stored->tree, rows[i].path, NULL);
        assert_non_null(there);
        struct value edited = *quote(arena, rows[i].value);
        edited.key = there->key;
        edited.next = there->next;
        *there = edited;
        assert_int_equal(reconcile_once(DNS_MAIN_NAME), 1);
        assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
        stored = find_stored(rows[i].kind, "openshift-dns", "dns-default");
        assert_true(value_covers(value_find(stored->tree, "spec"), value_find(before, "spec")));
    }
}

static void the_end_of_the_object_is_the_end_of_all_that_is_ours(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    end_main();
    assert_null(find_stored(&daemonset_kind, "openshift-dns", "dns-default"));
    assert_null(find_stored(&config_map_kind, "openshift-dns", "dns-default"));
}

static void unmanaged_only_looks(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(ONE_ZONE ",'managementState':'Unmanaged'");
    settle(DNS_MAIN_NAME);
    assert_null(find_stored(&config_map_kind, "openshift-dns", "dns-default"));
    assert_string_equal(now("Upgradeable"), "False/OperatorUnmanaged");
    assert_string_equal(now("Accepted"), "True/Accepted");
}

#define TLS_ZONE                                                                                   \
    "{'zones':['a.example'],'forwardPlugin':{'upstreams':['192.0.2.1'],'transportConfig':{"        \
    "'transport':'TLS','tls':{'serverName':'dns.example','caBundle':{'name':'corp'}}}}}"

static void put_authorities(const char *before, const char *certificates)
{
    put_text_map("openshift-config", "corp", "ca-bundle.crt",
                 arena_printf(arena, "%s%s", before, certificates));
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
}

// "ca-corp-VERSION", of the folder that the Corefile names; NULL: it names none.
static const char *mounted_copy(void)
{
    static const char head[] = "        tls /etc/pki/dns.example-";
    const char *at = strstr(data_of("openshift-dns", "dns-default", "Corefile"), head);
    if (!at)
        return NULL;
    at += sizeof head - 1;
    return arena_copy(arena, at, (size_t)(strchr(at, '/') - at));
}

// The copy that the DaemonSet mounts where the Corefile expects it; NULL: none.
static const char *volume_copy(void)
{
    const struct value *pod =
        value_at(find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree,
                 "spec.template.spec", NULL);
    struct text path = value_text_at(pod, "containers[0].volumeMounts[1].mountPath");
    struct text copy = value_text_at(pod, "volumes[1].configMap.name");
    if (!copy.at)
        return NULL;
    assert_true(text_equal(value_text_at(pod, "volumes[1].name"),
                           value_text_at(pod, "containers[0].volumeMounts[1].name")));
    assert_true(text_ends(path, arena_printf(arena, "-%.*s", TEXT_ARGS(copy))));
    return arena_copy(arena, copy.at, copy.len);
}

static const char *use_authorities(void)
{
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main("'servers':[" TLS_ZONE "]");
    put_authorities("", test_certificate);
    const char *copy = mounted_copy();
    assert_non_null(copy);
    assert_string_equal(volume_copy(), copy);
    assert_string_equal(data_of("openshift-dns", copy, "ca-bundle.crt"), test_certificate);
    return copy;
}

static void authorities_are_copied_and_mounted(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main("'servers':[" TLS_ZONE "]");
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("openshift-dns", "dns-default", "Corefile"), "        tls\n"));
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Accepted"),
                           "ConfigMap openshift-config/corp of the authorities is not there; the "
                           "system's authorities are trusted"));
    const char *copy = use_authorities();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(volume_copy());
    assert_null(data_of("openshift-dns", copy, "ca-bundle.crt"));
}

static void other_certificates_are_another_copy_and_another_mount(void **state)
{
    (void)state;
    cluster.settings.update = "reload";
    const char *before = use_authorities();
    put_pod(true, "dns-a", "10.0.0.1");
    set_answer(0, "10.0.0.1:5353", config_id());
    settle(DNS_MAIN_NAME);
    put_authorities("# rotated\n", test_certificate);
    const char *after = mounted_copy();
    assert_string_not_equal(after, before);
    assert_string_equal(volume_copy(), after);
    assert_non_null(data_of("openshift-dns", before, "ca-bundle.crt")); // to go back to
    assert_non_null(data_of("openshift-dns", after, "ca-bundle.crt"));
    const char *versions[] = {"# third\n", "# fourth\n"};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        set_answer(0, "10.0.0.1:5353", config_id());
        settle(DNS_MAIN_NAME);
        put_authorities(versions[i], test_certificate);
    }
    assert_null(data_of("openshift-dns", before, "ca-bundle.crt"));
}

static void a_change_of_other_fields_of_the_authorities_changes_nothing(void **state)
{
    (void)state;
    const char *copy = use_authorities();
    touch(find_stored(&config_map_kind, "openshift-config", "corp")->tree);
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
    assert_string_equal(mounted_copy(), copy);
}

static void authorities_that_turn_bad_or_go_leave_the_old_ones(void **state)
{
    (void)state;
    const char *copy = use_authorities();
    put_authorities("", "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n");
    assert_string_equal(mounted_copy(), copy);
    assert_string_equal(volume_copy(), copy);
    assert_non_null(data_of("openshift-dns", copy, "ca-bundle.crt"));
    const struct value *first = value_at(status_of(DNS_MAIN_NAME), "forwarders[0]", NULL);
    assert_true(text_is(value_text_at(first, "state"), "LastGood"));
    assert_true(text_is(value_text_at(first, "reason"), "CABundleInvalid"));
    remove_stored(&config_map_kind, "openshift-config", "corp");
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(mounted_copy(), copy);
    assert_string_equal(volume_copy(), copy);
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Accepted"),
                           "those that it had last are trusted"));
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
}

static void authorities_that_can_not_be_had_are_told_with_what_to_do(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    cluster.settings.mode = "owned";
    cluster.unreadable = "forbidden: cannot get configmaps";
    put_main("'servers':[" TLS_ZONE "]");
    settle(DNS_MAIN_NAME);
    assert_non_null(
        strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Accepted"),
               "openshift-config/corp cannot be read: forbidden: cannot get configmaps"));
    cluster.unreadable = NULL;
    const char *name = arena_printf(arena, "%0250d", 7);
    put_main(arena_printf(arena,
                          "'servers':[{'zones':['a.example'],'forwardPlugin':{'upstreams':["
                          "'192.0.2.1'],'transportConfig':{'transport':'TLS','tls':{'serverName':"
                          "'dns.example','caBundle':{'name':'%s'}}}}}]",
                          name));
    settle(DNS_MAIN_NAME);
    put_text_map("openshift-config", name, "ca-bundle.crt", test_certificate);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Accepted"),
                           "leaves no room for that of a copy"));
    assert_null(mounted_copy());
}

static void a_write_that_the_store_refuses_is_told(void **state)
{
    (void)state;
    static const struct error refusal = {.fault = FAULT_AUTH, .text = "forbidden: cannot patch"};
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    cluster.refused = &refusal;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/Forbidden");
    assert_string_equal(message_of(arena, status_of(DNS_MAIN_NAME), "Degraded"),
                        "forbidden: cannot patch");
    cluster.refused = NULL;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "False/AsExpected");
}

static void a_fragment_finds_its_authorities(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main("");
    put(&dns_kind, "", "team-a", "", "'spec':{'servers':[" TLS_ZONE "]}");
    settle(DNS_MAIN_NAME);
    put_authorities("", test_certificate);
    assert_non_null(mounted_copy());
    settle("team-a");
    assert_string_equal(condition_of(arena, status_of("team-a"), "Accepted"), "True/Accepted");
    assert_string_equal(message_of(arena, status_of("team-a"), "Accepted"),
                        "every entry is served as it is written");
}

// ---- preflight ----------------------------------------------------------------------------------

static void the_first_config_needs_no_preflight(void **state)
{
    (void)state;
    assert_non_null(run_own());
    assert_null(preflight_pod());
}

static void one_pod_loads_a_config_before_the_others(void **state)
{
    (void)state;
    const char *before = run_own();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("openshift-dns", "dns-default", "Corefile"), before);
    const struct value *spec = value_find(preflight_pod()->tree, "spec");
    assert_true(text_is(value_text_at(spec, "restartPolicy"), "Never"));
    assert_true(text_is(value_text_at(spec, "volumes[0].configMap.name"),
                        arena_printf(arena, "dns-default-%s", config_id())));
    report_of_pod("{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}");
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("openshift-dns", "dns-default", "Corefile"), "b.example"));
    assert_null(preflight_pod());
}

static void what_the_first_pod_can_not_load_replaces_nothing(void **state)
{
    (void)state;
    const char *before = run_own();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    report_of_pod(
        "{'phase':'Failed','containerStatuses':[{'name':'dns','state':{'terminated':{'exitCode':1,"
        "'message':'Corefile:3 - Error during parsing: no'}}}]}");
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("openshift-dns", "dns-default", "Corefile"), before);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Degraded"),
                           "Corefile:3 - Error during parsing: no"));
    assert_null(preflight_pod());
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "False/AsExpected");
}

static void with_no_config_to_go_back_to_the_file_stays_as_it_is(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    pods_answer("");
    cluster.settings.preflight = "auto";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const char *name = arena_printf(arena, "coredns-preflight-%.8s", config_id());
    struct stored *pod = find_stored(&pod_kind, "kube-system", name);
    assert_non_null(pod);
    value_set(pod->tree, TEXT("status"),
              quote(arena, "{'phase':'Failed','containerStatuses':[{'name':'coredns','state':"
                           "{'terminated':{'exitCode':1,'message':'no'}}}]}"));
    touch(pod->tree);
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_null(find_stored(&pod_kind, "kube-system", name));
    assert_string_equal(now("Converged"), "False/Waiting");
    cluster.now_ms += 3600 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
}

static void the_first_pod_is_one_as_those_that_run(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    pods_answer("");
    cluster.settings.preflight = "auto";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const char *copy = arena_printf(arena, "coredns-%s", config_id());
    const struct value *tree =
        find_stored(&pod_kind, "kube-system",
                    arena_printf(arena, "coredns-preflight-%.8s", config_id()))
            ->tree;
    const struct value *wanted = quote(
        arena,
        arena_printf(arena,
                     "{'serviceAccountName':'coredns','containers':[{'name':'coredns','image':"
                     "'registry/coredns:v1.11.1','env':[{'name':'A'}],'ports':[{'containerPort':53}"
                     "],'terminationMessagePolicy':'FallbackToLogsOnError'}],'volumes':[{'name':"
                     "'c','configMap':{'name':'%s','items':[]}},{'name':'x','projected':{'sources':"
                     "[{'configMap':{'name':'%s'}},{'configMap':{'name':'zones'}}]}}],"
                     "'restartPolicy':'Never'}",
                     copy, copy));
    assert_true(value_equal(value_find(tree, "spec"), wanted));
    assert_null(value_at(tree, "metadata.labels.k8s-app", NULL));
}

// What the Pod says, after so many seconds, lets the others have the Corefile. `event`: it was not
// loaded for certain.
static void what_the_first_pod_says_is_enough(void **state)
{
    static const struct {
        const char *status;
        int64_t after_s;
        const char *answer;
        bool is_written;
        bool is_skipped;
    } rows[] = {
        {"{'phase':'Pending'}", 0, NULL, false, false},
        {"{'phase':'Pending'}", 3600, NULL, true, true},
        {"{'phase':'Running','podIP':'10.0.0.9'}", 0, NULL, false, false},
        {"{'phase':'Running','podIP':'10.0.0.9'}", 0, "0000000000000000", false, false},
        {"{'phase':'Running','podIP':'10.0.0.9'}", 0, "wanted", true, false},
        {"{'phase':'Running','podIP':'10.0.0.9'}", 3600, NULL, true, true},
        {"{'phase':'Failed','reason':'Evicted'}", 0, NULL, true, true},
        {"{'phase':'Succeeded'}", 0, NULL, true, true},
        {"{'phase':'Failed','containerStatuses':[{'name':'dns','state':{'terminated':{'exitCode':"
         "137}}}]}",
         0, NULL, true, true},
        {"{'phase':'Failed','containerStatuses':[{'name':'dns','state':{'terminated':{'exitCode':"
         "2}}}]}",
         0, NULL, false, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tear_down(state);
        open_cluster(state);
        cluster.now_ms = BEGAN_S * 1000LL - 3000 * 1000;
        const char *before = run_own();
        put_main(OTHER_ZONE);
        settle(DNS_MAIN_NAME);
        bool is_wanted = rows[i].answer && !strcmp(rows[i].answer, "wanted");
        set_answer(1, "10.0.0.9:5353", is_wanted ? config_id() : rows[i].answer);
        report_of_pod(rows[i].status);
        cluster.now_ms += rows[i].after_s * 1000;
        (void)reconcile_once(DNS_MAIN_NAME);
        bool is_skipped = event_of(&cluster.decision, "PreflightSkipped") != NULL;
        (void)reconcile_once(DNS_MAIN_NAME);
        assert_int_equal(strcmp(data_of("openshift-dns", "dns-default", "Corefile"), before) != 0,
                         rows[i].is_written);
        assert_int_equal(is_skipped, rows[i].is_skipped);
    }
}

static void a_pod_that_may_not_be_made_is_not_waited_for(void **state)
{
    (void)state;
    static const struct error refusal = {.fault = FAULT_AUTH, .text = "exceeded quota"};
    (void)run_own();
    put_main(OTHER_ZONE);
    reconcile_once(DNS_MAIN_NAME);
    reconcile_once(DNS_MAIN_NAME);
    cluster.refused = &refusal;
    assert_null(event_of(&cluster.decision, "PreflightSkipped"));
    const char *pod = arena_printf(arena, "dns-default-preflight-%.8s", config_id());
    remove_stored(&pod_kind, "openshift-dns", pod);
    cluster.now_ms += 61 * 1000;
    reconcile_once(DNS_MAIN_NAME);
    assert_non_null(strstr(event_of(&cluster.decision, "PreflightSkipped"), "exceeded quota"));
    assert_non_null(strstr(data_of("openshift-dns", "dns-default", "Corefile"), "b.example"));
}

// ---- import -------------------------------------------------------------------------------------

static void where_the_file_imports_ours_is_a_key_of_its_own(void **state)
{
    (void)state;
    static const char main_file[] = ".:53 {\n    errors\n    import /etc/coredns/custom/"
                                    "*.override\n}\nimport /etc/coredns/custom/*.server\n";
    put_text_map("kube-system", "coredns", "Corefile", main_file);
    struct value *custom = put_text_map("kube-system", "coredns-custom", "theirs.server", "x");
    (void)custom;
    put_main(ONE_ZONE ",'upstreamResolvers':{'policy':'Random'}");
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), main_file);
    assert_string_equal(data_of("kube-system", "coredns-custom", "theirs.server"), "x");
    assert_non_null(
        strstr(data_of("kube-system", "coredns-custom", "signpost.server"), "a.example:53 {"));
    assert_string_equal(now("Accepted"), "False/PartiallyAccepted");
    value_put_text(arena, find_stored(&dns_kind, "", DNS_MAIN_NAME)->tree,
                   "metadata.deletionTimestamp", "2025-12-30T11:00:00Z");
    settle(DNS_MAIN_NAME);
    assert_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    assert_string_equal(data_of("kube-system", "coredns-custom", "theirs.server"), "x");
}

static void a_key_is_loaded_by_one_pod_with_all_the_others(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    pods_answer("");
    cluster.settings.preflight = "auto";
    put_text_map("kube-system", "coredns", "Corefile",
                 ".:53 {\n    errors\n}\nimport /etc/coredns/custom/*.server\n");
    put_text_map("kube-system", "coredns-custom", "theirs.server", "x");
    value_put_text(arena,
                   value_at(find_stored(&deployment_kind, "kube-system", "coredns")->tree,
                            "spec.template.spec.volumes[0].configMap", NULL),
                   "name", "coredns-custom");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const char *copy = arena_printf(arena, "coredns-custom-%s", config_id());
    assert_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    assert_non_null(strstr(data_of("kube-system", copy, "signpost.server"), "a.example:53 {"));
    assert_string_equal(data_of("kube-system", copy, "theirs.server"), "x");
    struct stored *pod =
        find_stored(&pod_kind, "kube-system",
                    arena_printf(arena, "coredns-custom-preflight-%.8s", config_id()));
    assert_true(text_is(value_text_at(pod->tree, "spec.volumes[0].configMap.name"), copy));
    value_put(arena, pod->tree, "status",
              quote(arena, "{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}"));
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns-custom", "signpost.server"),
                        data_of("kube-system", copy, "signpost.server"));
}

static void a_first_key_that_makes_pods_crash_goes_again(void **state)
{
    (void)state;
    use_kubeadm();
    put_text_map("kube-system", "coredns", "Corefile",
                 ".:53 {\n    errors\n}\nimport /etc/coredns/custom/*.server\n");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_non_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    put_crashed_pod("'labels':{'k8s-app':'kube-dns'}", "2030-01-01T00:00:00Z");
    settle(DNS_MAIN_NAME);
    assert_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    put_main(OTHER_ZONE);
    remove_stored(&pod_kind, "kube-system", "coredns-c");
    settle(DNS_MAIN_NAME);
    assert_non_null(
        strstr(data_of("kube-system", "coredns-custom", "signpost.server"), "b.example:53 {"));
}

// ---- who is asked -------------------------------------------------------------------------------

static void openshifts_operator_is_left_alone(void **state)
{
    (void)state;
    put(&deployment_kind, "openshift-dns-operator", "dns-operator", "", "");
    put_main(ONE_ZONE);
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
    assert_non_null(event_of(&cluster.decision, "ForeignOperator"));
    assert_null(cluster.decision.status);
}

static void a_fragment_is_served_with_the_main_object(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    put(&dns_kind, "", "team", "",
        "'spec':{'servers':[" SERVER("'a.example','t.example'", "'192.0.2.7'") "]}");
    settle(DNS_MAIN_NAME);
    settle("team");
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "t.example:53 {"));
    assert_string_equal(condition_of(arena, status_of("team"), "Accepted"),
                        "False/PartiallyAccepted");
    assert_non_null(strstr(message_of(arena, status_of("team"), "Accepted"),
                           "a.example is forwarded by default spec.servers[0] already"));
    remove_stored(&dns_kind, "", DNS_MAIN_NAME);
    settle("team");
    assert_string_equal(condition_of(arena, status_of("team"), "Accepted"), "False/NotDefault");
}

static void a_fragment_that_goes_takes_nothing_away(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    put(&dns_kind, "", "team", "", "'spec':{'servers':[" SERVER("'t.example'", "'192.0.2.7'") "]}");
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    value_put_text(arena, find_stored(&dns_kind, "", "team")->tree, "metadata.deletionTimestamp",
                   "2025-12-30T11:00:00Z");
    assert_int_equal(reconcile_once("team"), 0);
    assert_int_equal(cluster.decision.finalizer, FINALIZER_LEAVE);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), text);
}

static void any_name_of_an_entry_makes_a_file_that_stays_as_it_is(void **state)
{
    (void)state;
    static const char *const names[] = {"team a ", " # x", "signpost-0000000000000000", "{$HOME}"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        use_kubeadm();
        put_main(arena_printf(arena,
                              "'servers':[{'name':'%s','zones':['a.example'],"
                              "'forwardPlugin':{'upstreams':['192.0.2.1']}}]",
                              names[i]));
        settle(DNS_MAIN_NAME);
        const char *text = data_of("kube-system", "coredns", "Corefile");
        assert_non_null(strstr(text, arena_printf(arena, "chaos signpost-%s ", config_id())));
        cluster.now_ms += 5000;
        settle(DNS_MAIN_NAME);
        assert_string_equal(data_of("kube-system", "coredns", "Corefile"), text);
    }
}

static void an_entry_that_coredns_would_refuse_costs_itself_alone(void **state)
{
    (void)state;
    use_kubeadm();
    put_main("'servers':[" SERVER("'a.example'", "'192.0.2.1'") "]");
    settle(DNS_MAIN_NAME);
    put_main("'servers':[{'zones':['a.example'],'forwardPlugin':{'upstreams':['192.0.2.9'],"
             "'options':{'except':['']}}},{'zones':['x.example'],'forwardPlugin':{'upstreams':["
             "'192.0.2.9'],'options':{'except':['']}}}," SERVER("'b.example'", "'192.0.2.2'") "]");
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_non_null(strstr(text, "b.example:53 {"));
    assert_non_null(strstr(text, "forward . 192.0.2.1 {"));
    assert_null(strstr(text, "192.0.2.9"));
    assert_string_equal(now("Degraded"), "False/AsExpected");
    const struct value *list = value_find(status_of(DNS_MAIN_NAME), "forwarders");
    assert_true(text_is(value_text_at(list->first, "state"), "Refused"));
    assert_true(text_is(value_text_at(list->first, "reason"), "InvalidOption"));
    assert_true(text_starts(value_text_at(list->first, "message"), "spec.servers[1].forward"));
    assert_true(text_is(value_text_at(list->first->next, "state"), "LastGood"));
}

// A server block of some 300 kB.
static void put_large_entry(struct buffer *out, size_t number)
{
    buffer_printf(out,
                  "%s{'zones':['z%zu.example'],'forwardPlugin':{'upstreams':['192.0.2.1'],"
                  "'options':{'except':[",
                  number ? "," : "", number);
    for (size_t i = 0; i < 1500; i++)
        buffer_printf(out, "%s'%050zu.%050zu.%050zu.%050zu.example'", i ? "," : "", i, i, i, i);
    buffer_add_text(out, "]}}}");
}

static void entries_for_which_there_is_no_room_are_named(void **state)
{
    (void)state;
    AUTO_BUFFER spec = {0};
    use_kubeadm();
    buffer_add_text(&spec, "'servers':[");
    for (size_t i = 0; i < 4; i++)
        put_large_entry(&spec, i);
    buffer_add_text(&spec, ",{'zones':['small.example'],'forwardPlugin':{'upstreams':["
                           "'192.0.2.1']}}]");
    put_main(spec.at);
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_true(strlen(text) < CONFIG_OCTETS_MAX);
    assert_non_null(strstr(text, "z0.example:53 {"));
    assert_non_null(strstr(text, "small.example:53 {"));
    assert_null(strstr(text, "z3.example:53 {"));
    const struct value *first = value_at(status_of(DNS_MAIN_NAME), "forwarders[0]", NULL);
    assert_true(text_is(value_text_at(first, "reason"), "TooLarge"));
    assert_string_equal(now("Degraded"), "False/AsExpected");
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
}

// ---- what stands in the way ---------------------------------------------------------------------

static void what_may_not_be_read_counts_not_as_absent(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    cluster.unreadable = "forbidden: cannot get configmaps";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(find_stored(&config_map_kind, "openshift-dns", "dns-default"));
    assert_null(find_stored(&daemonset_kind, "openshift-dns", "dns-default"));
    put(&deployment_kind, "kube-system", "coredns", "", "");
    use_kubeadm();
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
    assert_string_equal(now("Degraded"), "True/Forbidden");
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Degraded"),
                           "can't be seen, so nothing is changed: forbidden: cannot get"));
    cluster.unreadable = NULL;
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example"));
}

static void objects_of_others_are_neither_changed_nor_removed(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put(&service_kind, "openshift-dns", "dns-default", "", "'spec':{'clusterIP':'172.30.0.10'}");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(find_stored(&daemonset_kind, "openshift-dns", "dns-default"));
    assert_string_equal(now("Converged"), "False/Waiting");
    end_main();
    assert_non_null(find_stored(&service_kind, "openshift-dns", "dns-default"));
}

static void a_crd_that_drops_the_config_is_told(void **state)
{
    (void)state;
    use_kubeadm();
    cluster.prunes_config = true;
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
    assert_string_equal(now("Degraded"), "True/Forbidden");
    assert_non_null(
        strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Degraded"), "keeps no status.config"));
}

static void a_long_zone_is_cut_in_the_status(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(arena_printf(arena, "'servers':[" SERVER("'%020000d.example'", "'192.0.2.1'") "]", 7));
    settle(DNS_MAIN_NAME);
    AUTO_BUFFER json = {0};
    value_write_json(&json, status_of(DNS_MAIN_NAME));
    assert_non_null(strstr(json.at, "InvalidZone"));
    assert_true(json.len < 8000);
}

static void a_file_that_begins_to_import_ours_loses_our_blocks(void **state)
{
    (void)state;
    static const char imports[] = "import /etc/coredns/custom/*.server\n";
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    struct value *map = find_stored(&config_map_kind, "kube-system", "coredns")->tree;
    value_put_text(
        arena, map, "data.Corefile",
        arena_printf(arena, "%s%s", data_of("kube-system", "coredns", "Corefile"), imports));
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"),
                        arena_printf(arena, "%s%s", kubeadm, imports));
    assert_non_null(
        strstr(data_of("kube-system", "coredns-custom", "signpost.server"), "a.example:53 {"));
    put_text_map("kube-system", "coredns", "Corefile", kubeadm);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example:53 {"));
    assert_string_equal(now("Accepted"), "True/Accepted");
}

// ---- placement ----------------------------------------------------------------------------------

static void put_node(const char *name, const char *labels, const char *spec)
{
    put(&node_kind, "", name, arena_printf(arena, "'labels':{%s}", labels),
        arena_printf(arena, "'spec':{%s}", spec));
}

// Which nodes let CoreDNS move, and which leave it where it is.
static void a_placement_that_no_node_meets_is_not_taken(void **state)
{
    static const struct {
        const char *placement;
        bool is_taken;
    } rows[] = {
        {"'nodeSelector':{'disk':'ssd'}", true},
        {"'nodeSelector':{'disk':'tape'}", false},
        {"'nodeSelector':{'pool':'infra'}", false},
        {"'nodeSelector':{'pool':'infra'},'tolerations':[{'key':'infra','operator':'Exists'}]",
         true},
        {"'nodeSelector':{'pool':'infra'},'tolerations':[{'key':'infra','value':'yes'}]", true},
        {"'nodeSelector':{'pool':'infra'},'tolerations':[{'key':'infra','value':'no'}]", false},
        {"'nodeSelector':{'pool':'infra'},'tolerations':[{'operator':'Exists','effect':"
         "'NoExecute'}]",
         false},
        {"'nodeSelector':{'pool':'infra'},'tolerations':[{'operator':'Exists'}]", true},
        {"'nodeSelector':{'pool':'drained'}", false},
        // Pods that an API server refuses.
        {"'nodeSelector':{'disk':'ssd'},'tolerations':[{'key':'a','operator':'Exists','value':"
         "'b'}]",
         false},
        {"'nodeSelector':{'disk':'ssd'},'tolerations':[{'value':'b'}]", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tear_down(state);
        open_cluster(state);
        cluster.settings.image = "registry/coredns:v1.12.4";
        put_node("n1", "'kubernetes.io/os':'linux','disk':'ssd'", "");
        put_node("n2", "'pool':'infra'",
                 "'taints':[{'key':'infra','value':'yes','effect':'NoSchedule'},{'key':'x',"
                 "'effect':'PreferNoSchedule'}]");
        put_node("n3", "'pool':'drained'", "'unschedulable':true");
        put_main(ONE_ZONE);
        settle(DNS_MAIN_NAME);
        put_main(arena_printf(arena, ONE_ZONE ",'nodePlacement':{%s}", rows[i].placement));
        settle(DNS_MAIN_NAME);
        const struct value *selector =
            value_at(find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree,
                     "spec.template.spec.nodeSelector", NULL);
        assert_int_equal(value_find(selector, "kubernetes.io/os") == NULL, rows[i].is_taken);
        assert_string_equal(now("Accepted"),
                            rows[i].is_taken ? "True/Accepted" : "False/PartiallyAccepted");
    }
}

// ---- what a stranger did to it ------------------------------------------------------------------

static void a_broken_file_is_not_edited_at_the_end_either(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    char *broken = arena_copy_text(arena, data_of("kube-system", "coredns", "Corefile"));
    char *brace = strchr(strstr(broken, "chaos"), '}');
    *brace = ' ';
    value_put_text(arena, find_stored(&config_map_kind, "kube-system", "coredns")->tree,
                   "data.Corefile", broken);
    end_main();
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), broken);
}

static void a_forward_that_its_owner_wrote_anew_stays(void **state)
{
    (void)state;
    static const char theirs[] = ".:53 {\n    errors\n    forward . 10.9.9.9 {\n"
                                 "       max_concurrent 77\n    }\n    reload\n}\n";
    use_kubeadm();
    put_main("'upstreamResolvers':{'upstreams':[{'type':'Network','address':'192.0.2.9'}]}");
    settle(DNS_MAIN_NAME);
    value_put_text(arena, find_stored(&config_map_kind, "kube-system", "coredns")->tree,
                   "data.Corefile", theirs);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_non_null(strstr(text, "forward . 192.0.2.9 {"));
    assert_non_null(strstr(text, "max_concurrent 77"));
    end_main();
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), theirs);
}

static void a_forward_is_theirs_at_the_same_moment_as_the_spec_is_cleared(void **state)
{
    (void)state;
    static const char theirs[] = ".:53 {\n    errors\n    forward . 10.9.9.9\n    reload\n}\n";
    use_kubeadm();
    put_main("'upstreamResolvers':{'upstreams':[{'type':'Network','address':'192.0.2.9'}]}");
    settle(DNS_MAIN_NAME);
    value_put_text(arena, find_stored(&config_map_kind, "kube-system", "coredns")->tree,
                   "data.Corefile", theirs);
    put_main("");
    settle(DNS_MAIN_NAME);
    assert_true(text_ends(text_of(data_of("kube-system", "coredns", "Corefile")), theirs));
}

static void what_all_pods_ran_is_not_refused_because_one_ends(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    converge();
    pods_answer(NULL);
    put_crashed_pod("'labels':{'k8s-app':'kube-dns'}", "2030-01-01T00:00:00Z");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "False/AsExpected");
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example:53 {"));
}

static void a_copy_of_authorities_is_not_made_of_other_ones(void **state)
{
    (void)state;
    const char *copy = use_authorities();
    put_authorities("", "garbage");
    remove_stored(&config_map_kind, "openshift-dns", copy);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_null(data_of("openshift-dns", copy, "ca-bundle.crt"));
}

static void resolvers_whose_authorities_turn_bad_stay_as_they_were(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main("'upstreamResolvers':{'upstreams':[{'type':'Network','address':'192.0.2.9'}],"
             "'transportConfig':{'transport':'TLS','tls':{'serverName':'dns.example','caBundle':{"
             "'name':'corp'}}}}");
    settle(DNS_MAIN_NAME);
    put_authorities("", test_certificate);
    const char *copy = mounted_copy();
    assert_non_null(copy);
    put_authorities("", "garbage");
    assert_string_equal(mounted_copy(), copy);
    assert_string_equal(now("Accepted"), "False/Refused");
}

static void an_edited_copy_is_not_put_back(void **state)
{
    (void)state;
    const char *before = run_own();
    const char *good = config_id();
    cluster.settings.preflight = "off";
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    value_put_text(
        arena,
        find_stored(&config_map_kind, "openshift-dns", arena_printf(arena, "dns-default-%s", good))
            ->tree,
        "data.Corefile", "broken {\n whomai\n}\n");
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_null(strstr(data_of("openshift-dns", "dns-default", "Corefile"), "whomai"));
    assert_non_null(before);
}

static void a_label_without_a_value_is_wanted_too(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(ONE_ZONE ",'nodePlacement':{'nodeSelector':{'a':'x'}}");
    settle(DNS_MAIN_NAME);
    put_main(ONE_ZONE ",'nodePlacement':{'nodeSelector':{'a':'x','infra':''}}");
    settle(DNS_MAIN_NAME);
    assert_non_null(value_at(find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree,
                             "spec.template.spec.nodeSelector.infra", NULL));
}

static void a_daemonset_without_node_labels_stays_where_it_is(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_node("n1", "'kubernetes.io/os':'linux'", "");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    put_main(ONE_ZONE ",'nodePlacement':{'nodeSelector':{'disk':'tape'}}");
    settle(DNS_MAIN_NAME);
    value_remove(value_at(find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree,
                          "spec.template.spec", NULL),
                 "nodeSelector");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Accepted"), "False/PartiallyAccepted");
}

static void an_object_that_is_switched_off_can_end(void **state)
{
    (void)state;
    use_kubeadm();
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    cluster.settings.mode = "off";
    put(&deployment_kind, "openshift-dns-operator", "dns-operator", "", "");
    value_put_text(arena, find_stored(&dns_kind, "", DNS_MAIN_NAME)->tree,
                   "metadata.deletionTimestamp", "2025-12-30T11:00:00Z");
    settle(DNS_MAIN_NAME);
    assert_non_null(find_stored(&dns_kind, "", DNS_MAIN_NAME)); // OpenShift's operator ends it
    remove_stored(&deployment_kind, "openshift-dns-operator", "dns-operator");
    settle(DNS_MAIN_NAME);
    assert_null(find_stored(&dns_kind, "", DNS_MAIN_NAME));
}

static void zones_stay_until_the_next_mode_has_them(void **state)
{
    (void)state;
    use_kubeadm();
    put_kube_dns_pods();
    pods_answer("");
    put_text_map("kube-system", "coredns", "Corefile",
                 arena_printf(arena, "%simport /etc/coredns/custom/*.server\n", kubeadm));
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_non_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    cluster.settings.preflight = "auto";
    put_text_map("kube-system", "coredns", "Corefile", kubeadm);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_non_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    assert_string_equal(data_of("kube-system", "coredns", "Corefile"), kubeadm);
}

static void fragments_can_be_switched_off(void **state)
{
    (void)state;
    use_kubeadm();
    cluster.settings.has_fragments = false;
    put_main(ONE_ZONE);
    put(&dns_kind, "", "team", "", "'spec':{'servers':[" SERVER("'t.example'", "'192.0.2.7'") "]}");
    settle(DNS_MAIN_NAME);
    settle("team");
    assert_null(strstr(data_of("kube-system", "coredns", "Corefile"), "t.example"));
    assert_string_equal(condition_of(arena, status_of("team"), "Accepted"), "False/NotDefault");
}

// ---- what else there may be ---------------------------------------------------------------------

// The address that the Service of an own CoreDNS asks for, where the networks are so; "": none.
static const char *address_with(const char *networks)
{
    remove_stored(&service_kind, "openshift-dns", "dns-default");
    put(&network_kind, "", "cluster", "", networks);
    settle(DNS_MAIN_NAME);
    struct text address = value_text_at(
        find_stored(&service_kind, "openshift-dns", "dns-default")->tree, "spec.clusterIP");
    return address.at ? arena_copy(arena, address.at, address.len) : "";
}

static void a_service_has_the_tenth_address_where_the_cluster_names_a_network(void **state)
{
    static const struct {
        const char *networks;
        const char *address;
    } rows[] = {
        {"'status':{'serviceNetwork':['172.30.0.0/16','fd02::/112']}", "172.30.0.10"},
        {"'spec':{'serviceNetwork':['10.96.0.240/28']}", "10.96.0.250"},
        {"'status':{'serviceNetwork':['10.96.7.9/12']}", "10.96.0.10"},
        {"'status':{'serviceNetwork':['fd02::/112']}", "fd02::a"},
        {"'status':{'serviceNetwork':['10.96.0.0/29']}", ""},
        {"'status':{'serviceNetwork':['10.96.0.0','10.97.0.0/16']}", ""},
        {"'spec':{}", ""},
    };
    (void)state;
    put_main(ONE_ZONE);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(address_with(rows[i].networks), rows[i].address);
    cluster.settings.cluster_ip = "172.30.0.99";
    assert_string_equal(address_with(rows[0].networks), "172.30.0.99");
}

static void a_service_that_is_there_keeps_its_address(void **state)
{
    (void)state;
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    struct value *service = find_stored(&service_kind, "openshift-dns", "dns-default")->tree;
    value_put_text(arena, service, "spec.clusterIP", "10.96.0.77");
    put(&network_kind, "", "cluster", "", "'status':{'serviceNetwork':['172.30.0.0/16']}");
    settle(DNS_MAIN_NAME);
    assert_true(text_is(value_text_at(service, "spec.clusterIP"), "10.96.0.77"));
    assert_ptr_equal(find_stored(&service_kind, "openshift-dns", "dns-default")->tree, service);
}

static struct value *monitor(void)
{
    const struct stored *stored = find_stored(&servicemonitor_kind, "openshift-dns", "dns-default");
    return stored ? stored->tree : NULL;
}

static void an_own_coredns_is_scraped_where_prometheus_has_an_operator(void **state)
{
    (void)state;
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(monitor());
    cluster.has_monitors = true;
    settle(DNS_MAIN_NAME);
    const struct value *service = find_stored(&service_kind, "openshift-dns", "dns-default")->tree;
    assert_true(
        text_equal(value_text_at(monitor(), "spec.selector.matchLabels[" OPERATOR_LABEL "]"),
                   value_text_at(service, "metadata.labels[" OPERATOR_LABEL "]")));
    assert_true(
        text_is(value_text_at(monitor(), "spec.namespaceSelector.matchNames[0]"), "openshift-dns"));
    assert_true(text_equal(value_text_at(monitor(), "spec.endpoints[0].port"),
                           value_text_at(service, "spec.ports[2].name")));
    assert_non_null(value_at(monitor(), "metadata.ownerReferences[0]", NULL));
    value_put(arena, monitor(), "spec.endpoints", quote(arena, "[{'port':'other'}]"));
    settle(DNS_MAIN_NAME);
    assert_true(text_is(value_text_at(monitor(), "spec.endpoints[0].port"), "metrics"));
    end_main();
    assert_null(monitor());
}

static void metrics_are_reached_where_they_are_served(void **state)
{
    (void)state;
    cluster.settings.image = "registry/coredns:v1.12.4";
    cluster.settings.metrics_address = ":9200";
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    const struct value *container =
        value_at(find_stored(&daemonset_kind, "openshift-dns", "dns-default")->tree,
                 "spec.template.spec.containers[0]", NULL);
    assert_non_null(strstr(data_of("openshift-dns", "dns-default", "Corefile"), "metheus :9200"));
    assert_int_equal(value_int_at(container, "ports[2].containerPort", 0), 9200);
}

static void metrics_that_only_the_pod_can_reach_are_not_scraped(void **state)
{
    (void)state;
    cluster.has_monitors = true;
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_non_null(monitor());
    cluster.settings.metrics_address = "127.0.0.1:9153";
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_null(monitor());
}

static void a_coredns_of_others_is_not_scraped(void **state)
{
    (void)state;
    use_kubeadm();
    cluster.has_monitors = true;
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(find_stored(&servicemonitor_kind, "kube-system", "coredns"));
    assert_null(monitor());
}

static bool has_account(const char *mode, const char *path)
{
    const char *namespace_, *name;
    cluster.settings.mode = mode;
    cluster.settings.corefile_path = path;
    bool is_there =
        clusterdns_controller.workload_account->find(&cluster.settings, &namespace_, &name);
    assert_true(!is_there || (!strcmp(namespace_, "openshift-dns") && !strcmp(name, "dns")));
    return is_there;
}

static void an_account_is_for_a_coredns_that_can_be_ours(void **state)
{
    (void)state;
    assert_true(has_account("auto", NULL));
    assert_true(has_account("owned", "Corefile"));
    assert_false(has_account("auto", "Corefile"));
    assert_false(has_account("adopted", NULL));
    assert_false(has_account("off", NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(an_account_is_for_a_coredns_that_can_be_ours),
        STORY(a_service_has_the_tenth_address_where_the_cluster_names_a_network),
        STORY(a_service_that_is_there_keeps_its_address),
        STORY(an_own_coredns_is_scraped_where_prometheus_has_an_operator),
        STORY(metrics_are_reached_where_they_are_served),
        STORY(metrics_that_only_the_pod_can_reach_are_not_scraped),
        STORY(a_coredns_of_others_is_not_scraped),
        STORY(a_config_is_in_the_status_before_it_is_written),
        STORY(a_zone_that_a_block_of_others_serves_stays_theirs),
        STORY(our_blocks_stand_before_what_others_wrote),
        STORY(without_entries_every_octet_of_others_is_back),
        STORY(faulty_resolvers_leave_the_root_of_others_alone),
        STORY(a_file_that_others_replaced_gets_our_blocks_again),
        STORY(a_lost_annotation_makes_no_second_block),
        STORY(a_zone_of_somebody_elses_block_is_refused),
        STORY(a_broken_file_of_others_is_left_alone),
        STORY(it_has_converged_when_all_pods_say_so),
        STORY(servers_that_fail_health_checks_are_named),
        STORY(pods_that_stay_silent_restore_nothing),
        STORY(what_no_pod_loads_is_put_back),
        STORY(a_pod_that_crashes_brings_back_the_last_good_one_with_its_words),
        STORY(copies_that_nobody_needs_go),
        STORY(an_annotation_lost_together_with_an_edit_leaves_no_block),
        STORY(going_back_leaves_what_others_wrote_meanwhile),
        STORY(a_first_config_that_makes_pods_crash_goes_without_a_trace),
        STORY(a_crash_from_before_says_nothing_of_a_config),
        STORY(without_its_annotation_our_part_goes_all_the_same),
        STORY(two_proved_copies_are_kept),
        STORY(an_own_coredns_is_made),
        STORY(without_an_image_all_but_the_daemonset_is_made),
        STORY(drift_is_put_back),
        STORY(any_drift_of_template_and_service_is_put_back),
        STORY(the_end_of_the_object_is_the_end_of_all_that_is_ours),
        STORY(unmanaged_only_looks),
        STORY(authorities_are_copied_and_mounted),
        STORY(other_certificates_are_another_copy_and_another_mount),
        STORY(a_change_of_other_fields_of_the_authorities_changes_nothing),
        STORY(authorities_that_turn_bad_or_go_leave_the_old_ones),
        STORY(authorities_that_can_not_be_had_are_told_with_what_to_do),
        STORY(a_write_that_the_store_refuses_is_told),
        STORY(a_fragment_finds_its_authorities),
        STORY(the_first_config_needs_no_preflight),
        STORY(one_pod_loads_a_config_before_the_others),
        STORY(what_the_first_pod_can_not_load_replaces_nothing),
        STORY(with_no_config_to_go_back_to_the_file_stays_as_it_is),
        STORY(the_first_pod_is_one_as_those_that_run),
        STORY(what_the_first_pod_says_is_enough),
        STORY(a_pod_that_may_not_be_made_is_not_waited_for),
        STORY(where_the_file_imports_ours_is_a_key_of_its_own),
        STORY(a_key_is_loaded_by_one_pod_with_all_the_others),
        STORY(a_first_key_that_makes_pods_crash_goes_again),
        STORY(openshifts_operator_is_left_alone),
        STORY(a_fragment_is_served_with_the_main_object),
        STORY(a_fragment_that_goes_takes_nothing_away),
        STORY(any_name_of_an_entry_makes_a_file_that_stays_as_it_is),
        STORY(an_entry_that_coredns_would_refuse_costs_itself_alone),
        STORY(entries_for_which_there_is_no_room_are_named),
        STORY(what_may_not_be_read_counts_not_as_absent),
        STORY(objects_of_others_are_neither_changed_nor_removed),
        STORY(a_crd_that_drops_the_config_is_told),
        STORY(a_long_zone_is_cut_in_the_status),
        STORY(a_file_that_begins_to_import_ours_loses_our_blocks),
        STORY(a_placement_that_no_node_meets_is_not_taken),
        STORY(a_broken_file_is_not_edited_at_the_end_either),
        STORY(a_forward_that_its_owner_wrote_anew_stays),
        STORY(a_forward_is_theirs_at_the_same_moment_as_the_spec_is_cleared),
        STORY(what_all_pods_ran_is_not_refused_because_one_ends),
        STORY(a_copy_of_authorities_is_not_made_of_other_ones),
        STORY(resolvers_whose_authorities_turn_bad_stay_as_they_were),
        STORY(an_edited_copy_is_not_put_back),
        STORY(a_label_without_a_value_is_wanted_too),
        STORY(a_daemonset_without_node_labels_stays_where_it_is),
        STORY(an_object_that_is_switched_off_can_end),
        STORY(zones_stay_until_the_next_mode_has_them),
        STORY(fragments_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
