#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_certificate.h"
#include "controllers/clusterdns/test_usual.h"

// What becomes of a Corefile that CoreDNS refuses, of the copies, and of a change of mode.

#define THIRD_ZONE "'servers':[" SERVER("'c.example'", "'192.0.2.3'") "]"
#define BAD_ZONE "'servers':[" SERVER("'a.example'", "'nobody'") "]"
#define TLS_ZONE                                                                                   \
    "'servers':[{'zones':['s.example'],'forwardPlugin':{'upstreams':['192.0.2.9'],"                \
    "'transportConfig':{'transport':'TLS','tls':{'serverName':'dns.example','caBundle':"           \
    "{'name':'corp-ca'}}}}}]"
#define CRASHED                                                                                    \
    "{'phase':'Failed','containerStatuses':[{'name':'dns','state':{'terminated':{'exitCode':1,"    \
    "'message':'Corefile:3 - Error during parsing: no'}}}]}"

static const char *live(void)
{
    return data_of("kube-system", "coredns", "Corefile");
}

static const char *text_at(const char *name, const char *path)
{
    struct text text = value_text_at(status_of(name), path);
    return text.at ? arena_copy(arena, text.at, text.len) : "";
}

static bool has_copy(const char *id)
{
    return find_stored(&config_map_kind, "kube-system", arena_printf(arena, "coredns-%s", id));
}

// ONE_ZONE is proved, OTHER_ZONE refused. Returns the id of the refused one.
static const char *refuse_other_zone(void)
{
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    converge();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    const char *refused = config_id();
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    return refused;
}

// A Pod of kube-dns that ended on its Corefile.
static void put_ended_pod(const char *created, const char *finished, const char *message)
{
    struct value *pod = put(
        &pod_kind, "kube-system", "coredns-c", "'labels':{'k8s-app':'kube-dns'}",
        arena_printf(arena,
                     "'spec':{'containers':[{'name':'coredns'}]},'status':{'phase':'Pending',"
                     "'containerStatuses':[{'name':'coredns','state':{},'lastState':{'terminated':"
                     "{'exitCode':1,'finishedAt':'%s','message':'%s'}}}]}",
                     finished, message));
    value_put_text(arena, pod, "metadata.creationTimestamp", created);
}

static const char *time_in(int64_t seconds)
{
    struct value *map = value_make(arena, VALUE_MAP);
    value_set(map, TEXT("t"), status_time_make(arena, cluster.now_ms / 1000 + seconds));
    struct text text = value_text_at(map, "t");
    return arena_copy(arena, text.at, text.len);
}

// ---- the status ---------------------------------------------------------------------------------

static void the_status_names_the_config_that_stands_in_for_a_refused_one(void **state)
{
    (void)state;
    const char *refused = refuse_other_zone();
    assert_string_not_equal(config_id(), refused);
    assert_non_null(strstr(live(), config_id()));
    assert_string_equal(text_at(DNS_MAIN_NAME, "config.refused"), refused);
    assert_string_equal(now("Converged"), "True/Converged");
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
}

static void what_was_refused_is_tried_again_after_another_spec(void **state)
{
    (void)state;
    const char *refused = refuse_other_zone();
    const char *good = live();
    put_main(THIRD_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(text_at(DNS_MAIN_NAME, "config.refusal"), "");
    assert_true(has_copy(refused));
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(config_id(), refused);
    assert_non_null(strstr(live(), "b.example"));
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(live(), good);
}

static void the_copy_of_a_refused_config_stays_until_one_is_proved(void **state)
{
    (void)state;
    const char *refused = refuse_other_zone();
    assert_true(has_copy(refused));
    put_main(THIRD_ZONE);
    settle(DNS_MAIN_NAME);
    assert_true(has_copy(refused));
    pods_answer(config_id());
    settle(DNS_MAIN_NAME);
    assert_false(has_copy(refused));
    assert_string_equal(text_at(DNS_MAIN_NAME, "config.refused"), "");
}

static void a_fragment_is_told_what_coredns_refused(void **state)
{
    (void)state;
    (void)refuse_other_zone();
    put(&dns_kind, "", "team", "", "'spec':{'servers':[" SERVER("'t.example'", "'192.0.2.7'") "]}");
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    settle("team");
    assert_string_equal(condition_of(arena, status_of("team"), "Accepted"), "False/Refused");
    assert_string_equal(text_at("team", "forwarders[0].reason"), "CorefileRefused");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    settle("team");
    assert_string_equal(condition_of(arena, status_of("team"), "Accepted"), "True/Accepted");
}

// ---- how it is refused --------------------------------------------------------------------------

static void what_stands_there_is_kept_up_though_it_was_never_proved(void **state)
{
    (void)state;
    const char *before = run_own();
    struct value *main_tree = find_stored(&dns_kind, "", DNS_MAIN_NAME)->tree;
    value_put(arena, main_tree, "status.config.proved", value_make(arena, VALUE_LIST));
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    report_of_pod(CRASHED);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    remove_stored(&service_kind, "openshift-dns", "dns-default");
    remove_stored(&daemonset_kind, "openshift-dns", "dns-default");
    settle(DNS_MAIN_NAME);
    assert_non_null(find_stored(&service_kind, "openshift-dns", "dns-default"));
    assert_non_null(find_stored(&daemonset_kind, "openshift-dns", "dns-default"));
    assert_string_equal(data_of("openshift-dns", "dns-default", "Corefile"), before);
}

static void a_pod_that_still_has_a_refused_file_says_nothing_of_the_next(void **state)
{
    (void)state;
    (void)refuse_other_zone();
    put_main(THIRD_ZONE);
    settle(DNS_MAIN_NAME);
    put_ended_pod("2025-12-30T09:00:00Z", time_in(30), "Corefile:3 - no");
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(live(), "c.example"));
    put_ended_pod("2025-12-30T09:00:00Z", time_in(130), "Corefile:3 - no");
    settle(DNS_MAIN_NAME);
    assert_null(strstr(live(), "c.example"));
}

static void a_new_pod_has_the_next_file_at_once(void **state)
{
    (void)state;
    (void)refuse_other_zone();
    put_main(THIRD_ZONE);
    settle(DNS_MAIN_NAME);
    put_ended_pod(time_in(1), time_in(2), "Corefile:3 - no");
    settle(DNS_MAIN_NAME);
    assert_null(strstr(live(), "c.example"));
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
}

static void a_port_that_is_taken_is_no_fault_of_the_file(void **state)
{
    (void)state;
    static const char taken[] = "Listen: listen tcp :53: bind: address already in use";
    use_kubeadm();
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    converge();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    put_ended_pod(time_in(1), time_in(2), taken);
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(live(), "b.example"));
}

static void pods_that_are_replaced_have_time_from_the_last_of_them_on(void **state)
{
    (void)state;
    (void)run_own();
    cluster.settings.preflight = "off";
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    cluster.now_ms += 170 * 1000;
    put_pod(true, "dns-b", "10.0.0.2");
    value_put_text(arena, find_stored(&pod_kind, "openshift-dns", "dns-b")->tree,
                   "metadata.creationTimestamp", time_in(0));
    set_answer(1, "10.0.0.2:5353", config_id());
    cluster.now_ms += 100 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/Waiting");
    cluster.now_ms += 100 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/PodsOnOldConfig");
}

static void pods_of_others_leave_the_deadline_alone(void **state)
{
    (void)state;
    (void)run_own();
    cluster.settings.preflight = "off";
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    struct value *pod =
        put(&pod_kind, "elsewhere", "dns-x", "'labels':{'" DAEMON_SET_LABEL "':'default'}",
            "'status':{'phase':'Running','podIP':'10.0.0.7'}");
    value_put_text(arena, pod, "metadata.creationTimestamp", time_in(170));
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
}

static void unmanaged_leaves_no_pod_of_a_preflight(void **state)
{
    (void)state;
    (void)run_own();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    assert_non_null(preflight_pod());
    put_main(OTHER_ZONE ",'managementState':'Unmanaged'");
    settle(DNS_MAIN_NAME);
    assert_null(preflight_pod());
}

// As after an upgrade of the program alone.
static void a_crd_that_drops_the_list_of_copies_stops_nothing(void **state)
{
    (void)state;
    cluster.prunes_copies = true;
    const char *before = run_own();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    report_of_pod(CRASHED);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_string_equal(data_of("openshift-dns", "dns-default", "Corefile"), before);
}

// ---- another mode -------------------------------------------------------------------------------

// Nothing of the cluster names an object of ours any more.
static size_t count_copies_in(const char *namespace_, const char *prefix)
{
    size_t count = 0;
    for (size_t i = 0; i < cluster.count; i++) {
        const struct value *tree = cluster.objects[i].tree;
        count += tree && cluster.objects[i].kind == &config_map_kind &&
                 text_is(value_text_at(tree, "metadata.namespace"), namespace_) &&
                 text_starts(value_text_at(tree, "metadata.name"), prefix);
    }
    return count;
}

static void copies_of_an_earlier_mode_go(void **state)
{
    (void)state;
    (void)run_own();
    assert_int_equal(count_copies_in("openshift-dns", "dns-default-"), 1);
    use_kubeadm();
    cluster.settings.mode = "adopted";
    cluster.settings.preflight = "off";
    put_kube_dns_pods();
    cluster.now_ms += 5000;
    converge();
    assert_int_equal(count_copies_in("openshift-dns", "dns-default-"), 0);
    assert_int_equal(count_copies_in("kube-system", "coredns-"), 1);
}

static void an_entry_that_is_bad_keeps_its_zones_in_another_mode(void **state)
{
    (void)state;
    static const char imports[] = "import /etc/coredns/custom/*.server\n";
    use_kubeadm();
    put_text_map("kube-system", "coredns", "Corefile",
                 arena_printf(arena, "%s%s", kubeadm, imports));
    put_kube_dns_pods();
    put_main(ONE_ZONE);
    converge();
    put_main(BAD_ZONE);
    settle(DNS_MAIN_NAME);
    assert_string_equal(text_at(DNS_MAIN_NAME, "forwarders[0].state"), "LastGood");
    put_text_map("kube-system", "coredns", "Corefile", kubeadm);
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(live(), "a.example:53 {\n"));
    assert_non_null(strstr(live(), "forward . 192.0.2.1 {"));
    assert_string_equal(text_at(DNS_MAIN_NAME, "forwarders[0].state"), "LastGood");
    assert_null(data_of("kube-system", "coredns-custom", "signpost.server"));
    value_put_text(arena, find_stored(&config_map_kind, "kube-system", "coredns")->tree,
                   "data.Corefile", arena_printf(arena, "%s%s", live(), imports));
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("kube-system", "coredns-custom", "signpost.server"),
                           "forward . 192.0.2.1 {"));
}

// Their CoreDNS has no file with the authorities.
static void an_entry_with_authorities_is_not_kept_where_they_can_not_be_mounted(void **state)
{
    (void)state;
    put_text_map("openshift-config", "corp-ca", "ca-bundle.crt", test_certificate);
    (void)run_own();
    put_main(TLS_ZONE);
    cluster.settings.preflight = "off";
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("openshift-dns", "dns-default", "Corefile"), "/etc/pki/"));
    use_kubeadm();
    cluster.settings.mode = "adopted";
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_null(strstr(live(), "/etc/pki/"));
    assert_string_equal(text_at(DNS_MAIN_NAME, "forwarders[0].reason"), "CABundleUnsupported");
}

// Its copy is made and removed again and again where the two texts are mistaken for each other.
static void the_bundle_of_a_refused_config_is_left_alone_until_it_is_wanted_again(void **state)
{
    (void)state;
    put_text_map("openshift-config", "corp-ca", "ca-bundle.crt", test_certificate);
    (void)run_own();
    put_main(TLS_ZONE);
    settle(DNS_MAIN_NAME);
    report_of_pod(CRASHED);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_false(reconcile_once(DNS_MAIN_NAME));
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    assert_false(reconcile_once(DNS_MAIN_NAME));
}

static void a_key_without_our_annotation_goes_with_the_mode(void **state)
{
    (void)state;
    use_kubeadm();
    put_text_map("kube-system", "coredns-custom", "signpost.server", "a.example:53 {\n}\n");
    put_main(ONE_ZONE);
    settle(DNS_MAIN_NAME);
    assert_null(data_of("kube-system", "coredns-custom", "signpost.server"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(the_status_names_the_config_that_stands_in_for_a_refused_one),
        STORY(what_was_refused_is_tried_again_after_another_spec),
        STORY(the_copy_of_a_refused_config_stays_until_one_is_proved),
        STORY(a_fragment_is_told_what_coredns_refused),
        STORY(what_stands_there_is_kept_up_though_it_was_never_proved),
        STORY(a_pod_that_still_has_a_refused_file_says_nothing_of_the_next),
        STORY(a_new_pod_has_the_next_file_at_once),
        STORY(a_port_that_is_taken_is_no_fault_of_the_file),
        STORY(pods_that_are_replaced_have_time_from_the_last_of_them_on),
        STORY(pods_of_others_leave_the_deadline_alone),
        STORY(unmanaged_leaves_no_pod_of_a_preflight),
        STORY(a_crd_that_drops_the_list_of_copies_stops_nothing),
        STORY(copies_of_an_earlier_mode_go),
        STORY(an_entry_that_is_bad_keeps_its_zones_in_another_mode),
        STORY(an_entry_with_authorities_is_not_kept_where_they_can_not_be_mounted),
        STORY(the_bundle_of_a_refused_config_is_left_alone_until_it_is_wanted_again),
        STORY(a_key_without_our_annotation_goes_with_the_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
