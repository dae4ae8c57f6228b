#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_certificate.h"
#include "controllers/clusterdns/test_cluster.h"

// The objects of a CoreDNS of our own.

#define NAMESPACE "openshift-dns"
#define NAME "dns-default"
#define ONE_ZONE "'servers':[" SERVER("'a.example'", "'192.0.2.1'") "]"

static struct value *tree_of_kind(const struct kind *kind)
{
    struct stored *stored = find_stored(kind, NAMESPACE, NAME);
    assert_non_null(stored);
    return stored->tree;
}

static void put_own(const char *spec)
{
    cluster.settings.image = "registry/coredns:v1.12.4";
    put_main(spec);
    settle(DNS_MAIN_NAME);
}

// ---- what they say ------------------------------------------------------------------------------

static const char daemonset_spec[] =
    "{'minReadySeconds':9,'updateStrategy':{'type':'RollingUpdate','rollingUpdate':{'maxSurge':"
    "'10%%','maxUnavailable':0}},'selector':{'matchLabels':{'" DAEMON_SET_LABEL "':'default'}},"
    "'template':{'metadata':{'labels':{'" DAEMON_SET_LABEL "':'default','" OPERATOR_LABEL
    "':'default'},'annotations':{'" CONFIG_ID_ANNOTATION "':'%s'}},'spec':{"
    "'serviceAccountName':'dns','priorityClassName':'system-node-critical','dnsPolicy':'Default',"
    "'terminationGracePeriodSeconds':30,'volumes':[{'name':'config-volume','configMap':{'name':"
    "'dns-default','items':[{'key':'Corefile','path':'Corefile'}]}}],'nodeSelector':{"
    "'kubernetes.io/os':'linux'},'tolerations':[{'key':'node-role.kubernetes.io/master','operator':"
    "'Exists'}],'containers':[{'name':'dns','args':['-conf','/etc/coredns/Corefile'],'ports':["
    "{'name':'dns','containerPort':%d,'protocol':'UDP'},{'name':'dns-tcp','containerPort':%d,"
    "'protocol':'TCP'},{'name':'metrics','containerPort':9153,'protocol':'TCP'}],'resources':{"
    "'requests':{'cpu':'50m','memory':'70Mi'}},'securityContext':{'readOnlyRootFilesystem':true,"
    "'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL'],'add':['NET_BIND_SERVICE']}},"
    "'readinessProbe':{'httpGet':{'path':'/ready','port':8181,'scheme':'HTTP'},"
    "'initialDelaySeconds':10,'periodSeconds':3,'timeoutSeconds':3,'successThreshold':1,"
    "'failureThreshold':3},'livenessProbe':{'httpGet':{'path':'/health','port':8080,'scheme':"
    "'HTTP'},'initialDelaySeconds':60,'timeoutSeconds':5,'periodSeconds':10,'successThreshold':1,"
    "'failureThreshold':5},'terminationMessagePolicy':'FallbackToLogsOnError','image':"
    "'registry/coredns:v1.12.4','volumeMounts':[{'name':'config-volume','mountPath':'/etc/coredns',"
    "'readOnly':true}]}]}}}";
static const char service_spec[] =
    "{'ports':[{'name':'dns','port':53,'targetPort':'dns','protocol':'UDP'},{'name':'dns-tcp',"
    "'port':53,'targetPort':'dns-tcp','protocol':'TCP'},{'name':'metrics','port':9153,'targetPort':"
    "'metrics','protocol':'TCP'}],'selector':{'" DAEMON_SET_LABEL "':'default'}}";

static void assert_spec(const struct kind *kind, const char *wanted)
{
    assert_string_equal(json_of(arena, value_find(tree_of_kind(kind), "spec")),
                        json_of(arena, quote(arena, wanted)));
}

static void an_own_coredns_has_the_numbers_of_openshifts(void **state)
{
    (void)state;
    put_own(ONE_ZONE);
    assert_spec(&daemonset_kind, arena_printf(arena, daemonset_spec, config_id(), 5353, 5353));
    assert_spec(&service_kind, service_spec);
    cluster.settings.dns_port = 1053;
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_spec(&daemonset_kind, arena_printf(arena, daemonset_spec, config_id(), 1053, 1053));
    assert_non_null(strstr(data_of(NAMESPACE, NAME, "Corefile"), "\n.:1053 {\n"));
}

static void each_object_of_ours_has_our_label_and_owner(void **state)
{
    (void)state;
    put_own(ONE_ZONE);
    const char *uid = arena_printf(
        arena, "%.*s",
        TEXT_ARGS(value_text_at(find_stored(&dns_kind, "", DNS_MAIN_NAME)->tree, "metadata.uid")));
    size_t count = 0;
    for (size_t i = 0; i < cluster.count; i++) {
        const struct value *tree = cluster.objects[i].tree;
        if (!tree || cluster.objects[i].kind == &dns_kind)
            continue;
        count++;
        assert_true(text_is(value_text_at(tree, "metadata.labels[" OPERATOR_LABEL "]"), "default"));
        assert_true(text_is(value_text_at(tree, "metadata.ownerReferences[0].uid"), uid));
        assert_true(value_bool_at(tree, "metadata.ownerReferences[0].controller", false));
    }
    assert_int_equal(count, 5); // with the copy of the Corefile
}

// ---- drift --------------------------------------------------------------------------------------

static struct value *spoiled(const struct value *leaf)
{
    if (leaf->type == VALUE_TEXT)
        return value_make_text(arena, TEXT("other"));
    return quote(arena, leaf->type == VALUE_BOOL ? leaf->boolean ? "false" : "true" : "7");
}

// Spoils one value that is no map and no list; false: there are not so many.
static bool spoil_value(struct value *at, size_t *number)
{
    bool is_tree = at->type == VALUE_LIST || at->type == VALUE_MAP;
    for (struct value *member = is_tree ? at->first : NULL; member; member = member->next)
        if (spoil_value(member, number))
            return true;
    if (is_tree || (*number)--)
        return false;
    struct value other = *spoiled(at);
    other.key = at->key;
    other.next = at->next;
    *at = other;
    return true;
}

static size_t put_all_drift_back(const struct kind *kind)
{
    size_t number = 0;
    const char *wanted = json_of(arena, value_find(tree_of_kind(kind), "spec"));
    for (;; number++) {
        size_t left = number;
        if (!spoil_value(value_find(tree_of_kind(kind), "spec"), &left))
            return number;
        assert_int_equal(reconcile_once(DNS_MAIN_NAME), 1);
        assert_string_equal(json_of(arena, value_find(tree_of_kind(kind), "spec")), wanted);
        assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
    }
}

static void whatever_differs_from_what_is_wanted_is_put_back_by_one_write(void **state)
{
    (void)state;
    put_own(ONE_ZONE);
    assert_int_equal(put_all_drift_back(&daemonset_kind), 58);
    assert_int_equal(put_all_drift_back(&service_kind), 13);
}

static void an_edited_corefile_is_put_back_with_an_event(void **state)
{
    (void)state;
    put_own(ONE_ZONE);
    const char *text = data_of(NAMESPACE, NAME, "Corefile");
    value_put_text(arena, tree_of_kind(&config_map_kind), "data.Corefile", ". {\n}\n");
    reconcile_once(DNS_MAIN_NAME);
    assert_string_equal(data_of(NAMESPACE, NAME, "Corefile"), text);
    assert_string_equal(cluster.decision.objects[0].event->text,
                        "ConfigMap openshift-dns/dns-default has another Corefile");
}

static void addresses_of_a_service_stay(void **state)
{
    (void)state;
    static const char given[] =
        "{'clusterIP':'172.30.0.9','clusterIPs':['172.30.0.9','fd02::9'],'ipFamilies':['IPv4',"
        "'IPv6'],'ipFamilyPolicy':'PreferDualStack','type':'ClusterIP'}";
    cluster.settings.cluster_ip = "172.30.0.10";
    put_own(ONE_ZONE);
    struct value *spec = value_find(tree_of_kind(&service_kind), "spec");
    assert_true(text_is(value_text_at(spec, "clusterIP"), "172.30.0.10"));
    value_each (member, quote(arena, given))
        value_set(spec, member->key, value_copy(arena, member));
    value_put_text(arena, value_at(spec, "ports[0]", NULL), "name", "other");
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 2); // and the status has another clusterIP
    spec = value_find(tree_of_kind(&service_kind), "spec");
    assert_true(text_is(value_text_at(spec, "ports[0].name"), "dns"));
    assert_true(value_covers(spec, quote(arena, given)));
    assert_true(text_is(value_text_at(status_of(DNS_MAIN_NAME), "clusterIP"), "172.30.0.9"));
}

// ---- authorities --------------------------------------------------------------------------------

#define TLS(name)                                                                                  \
    "'transportConfig':{'transport':'TLS','tls':{'serverName':'" name                              \
    "','caBundle':{'name':'corp'}}}"
#define TLS_SERVER(zone, name)                                                                     \
    "{'zones':['" zone "'],'forwardPlugin':{'upstreams':['192.0.2.1']," TLS(name) "}}"

static void several_servers_share_the_volume_of_a_bundle(void **state)
{
    (void)state;
    put_text_map("openshift-config", "corp", "ca-bundle.crt", test_certificate);
    put_own("'servers':[" TLS_SERVER("a.example", "one.example") "," TLS_SERVER(
        "b.example",
        "two.example") "," TLS_SERVER("c.example",
                                      "one.example") "],"
                                                     "'upstreamResolvers':{'upstreams':[{'type':'"
                                                     "Network','address':'192.0.2.9'}]," TLS(
                                                         "two.example") "}");
    const struct value *pod = value_at(tree_of_kind(&daemonset_kind), "spec.template.spec", NULL);
    assert_int_equal(value_count(value_list_at(pod, "volumes")), 2);
    const struct value *mounts = value_list_at(pod, "containers[0].volumeMounts");
    assert_int_equal(value_count(mounts), 3);
    const char *text = data_of(NAMESPACE, NAME, "Corefile");
    value_each (mount, mounts) {
        struct text path = value_text_at(mount, "mountPath");
        if (text_is(path, "/etc/coredns"))
            continue;
        assert_true(text_is(value_text_at(mount, "name"), "ca-1"));
        assert_non_null(
            strstr(text, arena_printf(arena, "tls %.*s/ca-bundle.crt\n", TEXT_ARGS(path))));
    }
}

// ---- placement ----------------------------------------------------------------------------------

static void a_first_placement_that_no_node_meets_leaves_the_default(void **state)
{
    (void)state;
    put(&node_kind, "", "n1", "'labels':{'kubernetes.io/os':'linux'}", "");
    put_own(ONE_ZONE ",'nodePlacement':{'nodeSelector':{'disk':'tape'}}");
    const struct value *selector =
        value_at(tree_of_kind(&daemonset_kind), "spec.template.spec.nodeSelector", NULL);
    assert_string_equal(json_of(arena, selector), "{\"kubernetes.io/os\":\"linux\"}");
    assert_string_equal(now("Accepted"), "False/PartiallyAccepted");
    assert_non_null(strstr(message_of(arena, status_of(DNS_MAIN_NAME), "Accepted"),
                           "spec.nodePlacement: no node that takes Pods"));
    put(&node_kind, "", "n2", "'labels':{'disk':'tape'}", "");
    settle(DNS_MAIN_NAME);
    selector = value_at(tree_of_kind(&daemonset_kind), "spec.template.spec.nodeSelector", NULL);
    assert_string_equal(json_of(arena, selector), "{\"disk\":\"tape\"}");
    assert_string_equal(now("Accepted"), "True/Accepted");
}

// ---- Pods ---------------------------------------------------------------------------------------

static void put_node_of_pods(const char *is_ready)
{
    put(&node_kind, "", "n1", "'labels':{'kubernetes.io/os':'linux'}",
        arena_printf(arena, "'status':{'conditions':[{'type':'Ready','status':'%s'}]}", is_ready));
}

static void a_silent_pod_counts_only_while_its_node_is_ready(void **state)
{
    (void)state;
    put_pod(true, "dns-a", "10.0.0.1");
    put_pod(true, "dns-b", "10.0.0.2");
    value_put_text(arena, find_stored(&pod_kind, NAMESPACE, "dns-a")->tree, "spec.nodeName", "n0");
    put_node_of_pods("True");
    put_own(ONE_ZONE);
    set_answer(0, "10.0.0.1:5353", config_id());
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/Waiting");
    assert_int_equal(value_int_at(status_of(DNS_MAIN_NAME), "pods.silent", -1), 1);
    put_node_of_pods("Unknown");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "True/Converged");
    assert_int_equal(value_int_at(status_of(DNS_MAIN_NAME), "pods.silent", -1), 0);
}

// Which of 45 Pods have their metrics read now; the others are only looked at.
static uint64_t asked_metrics(void)
{
    uint64_t asked = 0;
    for (size_t i = 0; i < cluster.question_count; i++) {
        const struct question *question = &cluster.questions[i];
        struct text address = value_text_at(question->about, "address");
        if (strcmp(question->name, "metrics") != 0 || !question->good_for_ms)
            continue;
        assert_int_equal(question->good_for_ms, 60000);
        asked |= UINT64_C(1) << strtoul(address.at + strlen("10.0.0."), NULL, 10);
    }
    return asked;
}

static void metrics_of_twenty_pods_are_read_in_a_minute_in_turn(void **state)
{
    enum { PODS = 45, TURNS = 3 };
    (void)state;
    uint64_t asked = 0;
    for (size_t i = 0; i < PODS; i++)
        put_pod(true, arena_printf(arena, "dns-%zu", i), arena_printf(arena, "10.0.0.%zu", i));
    put_own(ONE_ZONE);
    for (size_t i = 0; i < PODS; i++)
        set_answer(i, arena_printf(arena, "10.0.0.%zu:5353", i), config_id());
    for (size_t turn = 0; turn < TURNS; turn++) {
        settle(DNS_MAIN_NAME);
        assert_int_equal(__builtin_popcountll(asked_metrics()), 20);
        asked |= asked_metrics();
        assert_int_equal(cluster.decision.wake_ms, (cluster.now_ms / 60000 + 1) * 60000);
        cluster.now_ms = cluster.decision.wake_ms;
    }
    assert_int_equal(asked, (UINT64_C(1) << PODS) - 1);
}

static void put_pod_of_template(const char *name, const char *id, const char *is_ready)
{
    put_pod(true, name, "10.0.0.1");
    struct value *tree = find_stored(&pod_kind, NAMESPACE, name)->tree;
    if (id)
        value_put_text(arena, tree, "metadata.annotations[" CONFIG_ID_ANNOTATION "]", id);
    value_put_text(arena, value_at(tree, "status.conditions[0]", NULL), "status", is_ready);
}

// Nobody can be asked for a Corefile that does not say its id.
static void in_the_layout_of_openshift_pods_prove_a_config_by_being_ready(void **state)
{
    (void)state;
    cluster.settings.layout = "openshift";
    put_own(ONE_ZONE);
    const char *before = config_id();
    put_pod_of_template("dns-a", before, "False");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/Waiting");
    put_pod_of_template("dns-a", before, "True");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "True/Converged");
    put_own("'servers':[" SERVER("'b.example'", "'192.0.2.1'") "]");
    assert_string_equal(now("Converged"), "False/Waiting");
    cluster.now_ms += 7200 * 1000; // Pods are made within an hour
    put_pod_of_template("dns-b", config_id(), "True");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/PodsOnOldConfig");
    put_pod_of_template("dns-a", NULL, "True");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "Unknown/PodsSilent");
    assert_string_equal(message_of(arena, status_of(DNS_MAIN_NAME), "Converged"),
                        "these Pods do not show that they run it: dns-a");
    put_pod_of_template("dns-a", config_id(), "True");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "True/Converged");
}

static void in_the_layout_of_openshift_pods_on_the_old_config_bring_it_back(void **state)
{
    (void)state;
    cluster.settings.layout = "openshift";
    put_own(ONE_ZONE);
    const char *text = data_of(NAMESPACE, NAME, "Corefile");
    const char *before = config_id();
    put_pod_of_template("dns-a", before, "True");
    settle(DNS_MAIN_NAME);
    put_own("'servers':[" SERVER("'b.example'", "'192.0.2.1'") "]");
    put_pod_of_template("dns-b", config_id(), "False");
    assert_string_not_equal(data_of(NAMESPACE, NAME, "Corefile"), text);
    cluster.now_ms += 7200 * 1000; // Pods are made within an hour
    settle(DNS_MAIN_NAME);
    assert_string_equal(data_of(NAMESPACE, NAME, "Corefile"), text);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_true(
        text_is(value_text_at(tree_of_kind(&daemonset_kind),
                              "spec.template.metadata.annotations[" CONFIG_ID_ANNOTATION "]"),
                before));
}

static void put_crashed_pod(const char *id)
{
    struct value *tree =
        put(&pod_kind, NAMESPACE, "dns-b", "'labels':{'" DAEMON_SET_LABEL "':'default'}",
            "'spec':{'containers':[{'name':'dns'}]},'status':{'phase':'Running',"
            "'containerStatuses':[{'name':'dns','state':{},'lastState':{'terminated':{'exitCode':1,"
            "'finishedAt':'2030-01-01T00:00:00Z','message':'no such file'}}}]}");
    value_put_text(arena, tree, "metadata.annotations[" CONFIG_ID_ANNOTATION "]", id);
}

// It may lack what the new one mounts.
static void a_pod_of_the_template_before_refuses_no_new_corefile(void **state)
{
    (void)state;
    put_pod(true, "dns-a", "10.0.0.1");
    put_own(ONE_ZONE);
    const char *before = config_id();
    set_answer(0, "10.0.0.1:5353", before);
    settle(DNS_MAIN_NAME);
    put_own("'servers':[" SERVER("'b.example'", "'192.0.2.1'") "]");
    put_crashed_pod(before);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/Waiting");
    assert_non_null(strstr(data_of(NAMESPACE, NAME, "Corefile"), "b.example:5353 {"));
    put_crashed_pod(config_id());
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_non_null(strstr(data_of(NAMESPACE, NAME, "Corefile"), "a.example:5353 {"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(an_own_coredns_has_the_numbers_of_openshifts),
        STORY(each_object_of_ours_has_our_label_and_owner),
        STORY(whatever_differs_from_what_is_wanted_is_put_back_by_one_write),
        STORY(an_edited_corefile_is_put_back_with_an_event),
        STORY(addresses_of_a_service_stay),
        STORY(several_servers_share_the_volume_of_a_bundle),
        STORY(a_first_placement_that_no_node_meets_leaves_the_default),
        STORY(a_silent_pod_counts_only_while_its_node_is_ready),
        STORY(metrics_of_twenty_pods_are_read_in_a_minute_in_turn),
        STORY(a_pod_of_the_template_before_refuses_no_new_corefile),
        STORY(in_the_layout_of_openshift_pods_prove_a_config_by_being_ready),
        STORY(in_the_layout_of_openshift_pods_on_the_old_config_bring_it_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
