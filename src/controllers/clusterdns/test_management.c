#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controllers/clusterdns/test_cluster.h"

// What managementState and the end of objects do in each mode.

#define ZONES(zone) "'servers':[" SERVER("'" zone "'", "'192.0.2.1'") "]"
#define OTHER_ROOT ",'upstreamResolvers':{'upstreams':[{'type':'Network','address':'192.0.2.9'}]}"

static const char theirs[] = ".:53 {\n    errors\n    forward . /etc/resolv.conf\n    reload\n}\n";
static const char importing[] = ".:53 {\n    errors\n    forward . /etc/resolv.conf\n    reload\n"
                                "}\nimport /etc/coredns/custom/*.server\n";

static const struct site {
    const char *mode;
    const char *corefile; // kube-system/coredns; NULL: none
    const char *address;  // of the CoreDNS
    bool is_own;
} sites[] = {
    {"adopted", theirs, "10.0.0.1:53", false},
    {"import", importing, "10.0.0.1:53", false},
    {"owned", NULL, "10.0.0.1:5353", true},
    {"file", NULL, "10.0.0.1:53", false},
};

static const char *const servers[] = {"10.0.0.1", NULL};

static void open_site(void **state, const struct site *site)
{
    tear_down(state);
    open_cluster(state);
    if (site->corefile)
        put_text_map("kube-system", "coredns", "Corefile", site->corefile);
    if (!strcmp(site->mode, "file")) {
        cluster.settings.corefile_path = "/Corefile";
        cluster.settings.coredns_addresses = servers;
    } else {
        put_pod(site->is_own, "dns-a", "10.0.0.1");
    }
    put_text_map("kube-system", "coredns-custom", "theirs.server", "x");
    cluster.settings.image = "registry/coredns:v1.12.4";
}

static void end_main(void)
{
    value_put_text(arena, find_stored(&dns_kind, "", DNS_MAIN_NAME)->tree,
                   "metadata.deletionTimestamp", "2025-12-30T11:00:00Z");
    settle(DNS_MAIN_NAME);
}

static bool is_ended(void)
{
    return !find_stored(&dns_kind, "", DNS_MAIN_NAME);
}

// All that is stored but DNS objects and Pods, as JSON without what each write changes.
static const char *all_objects(void)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < cluster.count; i++) {
        if (!cluster.objects[i].tree || cluster.objects[i].kind == &dns_kind)
            continue;
        struct value *copy = value_copy(arena, cluster.objects[i].tree);
        value_remove(value_at(copy, "metadata", NULL), "resourceVersion");
        buffer_printf(&out, "%s\n", json_of(arena, copy));
    }
    return arena_copy(arena, out.at ? out.at : "", out.len);
}

static bool writes_a_file(void)
{
    for (size_t i = 0; i < cluster.question_count; i++)
        if (value_find(cluster.questions[i].about, "text"))
            return true;
    return false;
}

// ---- the end ------------------------------------------------------------------------------------

static void an_object_ends_in_each_mode(void **state)
{
    for (size_t i = 0; i < COUNT_OF(sites); i++) {
        const struct site *site = &sites[i];
        open_site(state, site);
        put_main(ZONES("a.example") OTHER_ROOT);
        settle(DNS_MAIN_NAME);
        assert_true(text_is(value_text_at(status_of(DNS_MAIN_NAME), "config.mode"), site->mode));
        end_main();
        assert_true(is_ended());
        assert_string_equal(data_of("kube-system", "coredns-custom", "theirs.server"), "x");
        assert_null(data_of("kube-system", "coredns-custom", "signpost.server"));
        assert_null(find_stored(&config_map_kind, "openshift-dns", "dns-default"));
        if (!site->corefile)
            continue;
        assert_string_equal(data_of("kube-system", "coredns", "Corefile"), site->corefile);
        static const char *const maps[] = {"coredns", "coredns-custom"};
        for (size_t map = 0; map < COUNT_OF(maps); map++)
            assert_int_equal(
                value_count(value_at(find_stored(&config_map_kind, "kube-system", maps[map])->tree,
                                     "metadata.annotations", NULL)),
                0);
    }
}

static void an_object_ends_without_its_objects(void **state)
{
    for (size_t i = 0; i < COUNT_OF(sites); i++) {
        open_site(state, &sites[i]);
        put_main(ZONES("a.example"));
        settle(DNS_MAIN_NAME);
        for (size_t at = 0; at < cluster.count; at++)
            if (cluster.objects[at].kind != &dns_kind)
                cluster.objects[at].tree = NULL;
        end_main();
        assert_true(is_ended());
    }
}

static void an_unmanaged_object_ends_at_once_and_leaves_all(void **state)
{
    for (size_t i = 0; i < COUNT_OF(sites); i++) {
        open_site(state, &sites[i]);
        put_main(ZONES("a.example") OTHER_ROOT);
        settle(DNS_MAIN_NAME);
        put_main(ZONES("a.example") ",'managementState':'Unmanaged'");
        const char *before = all_objects();
        end_main();
        assert_true(is_ended());
        assert_string_equal(all_objects(), before);
    }
}

// ---- managementState ----------------------------------------------------------------------------

static void unmanaged_writes_nothing_but_its_status(void **state)
{
    for (size_t i = 0; i < COUNT_OF(sites); i++) {
        open_site(state, &sites[i]);
        cluster.settings.preflight = "auto";
        put_main(ZONES("a.example") ",'managementState':'Unmanaged'");
        const char *before = all_objects();
        for (int again = 0; again < 4; again++) {
            reconcile_once(DNS_MAIN_NAME);
            assert_false(writes_a_file());
            assert_null(event_of(&cluster.decision, EVENT_COREFILE_WRITTEN));

            set_answer(0, sites[i].address, config_id()); // somebody else put it there
            cluster.now_ms += 5000;
        }
        assert_string_equal(now("Converged"), "True/Converged");
        assert_string_equal(now("Upgradeable"), "False/OperatorUnmanaged");
        assert_string_equal(all_objects(), before);
        set_answer(0, sites[i].address, "0123456789abcdef");
        settle(DNS_MAIN_NAME);
        cluster.now_ms += 181 * 1000;
        settle(DNS_MAIN_NAME);
        assert_string_equal(now("Converged"), "False/PodsOnOldConfig");
        assert_string_equal(all_objects(), before);
    }
}

static void unmanaged_takes_no_corefile_back(void **state)
{
    open_site(state, &sites[0]);
    put_main(ZONES("a.example"));
    settle(DNS_MAIN_NAME);
    set_answer(0, sites[0].address, config_id());
    settle(DNS_MAIN_NAME);
    put_main(ZONES("b.example"));
    settle(DNS_MAIN_NAME);
    put_main(ZONES("b.example") ",'managementState':'Unmanaged'");
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "False/AsExpected");
    assert_string_equal(now("Converged"), "False/PodsOnOldConfig");
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "b.example:53 {"));
    put_main(ZONES("b.example"));
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example:53 {"));
}

static void force_and_removed_count_as_managed(void **state)
{
    static const char *const words[] = {"Force", "Removed"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        open_site(state, &sites[0]);
        put_main(arena_printf(arena, ZONES("a.example") ",'managementState':'%s'", words[i]));
        settle(DNS_MAIN_NAME);
        assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example:53 {"));
        assert_string_equal(now("Upgradeable"), "True/AsExpected");
        assert_string_equal(now("Accepted"), "True/Accepted");
        assert_string_equal(message_of(arena, status_of(DNS_MAIN_NAME), "Accepted"),
                            arena_printf(arena,
                                         "managementState %s counts as Managed: the cluster keeps "
                                         "its DNS",
                                         words[i]));
    }
}

// ---- several objects ----------------------------------------------------------------------------

static void a_zone_goes_to_the_next_object_when_the_first_one_ends(void **state)
{
    open_site(state, &sites[0]);
    put_main("");
    put(&dns_kind, "", "old", "", "'spec':{'servers':[" SERVER("'a.example'", "'192.0.2.7'") "]}");
    put(&dns_kind, "", "new", "", "'spec':{'servers':[" SERVER("'a.example'", "'192.0.2.8'") "]}");
    settle(DNS_MAIN_NAME);
    settle("new");
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "192.0.2.7 {"));
    assert_string_equal(condition_of(arena, status_of("new"), "Accepted"), "False/Refused");
    assert_non_null(strstr(message_of(arena, status_of("new"), "Accepted"),
                           "a.example is forwarded by old spec.servers[0] already"));
    // Others may hold the object back for long; its zones are free at once.
    value_put_text(arena, find_stored(&dns_kind, "", "old")->tree, "metadata.deletionTimestamp",
                   "2025-12-30T11:00:00Z");
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    settle("new");
    const char *text = data_of("kube-system", "coredns", "Corefile");
    assert_non_null(strstr(text, "192.0.2.8 {"));
    assert_null(strstr(text, "192.0.2.7"));
    assert_string_equal(condition_of(arena, status_of("new"), "Accepted"), "True/Accepted");
}

static void changes_of_one_second_are_one_write(void **state)
{
    open_site(state, &sites[0]);
    put_main(ZONES("a.example"));
    settle(DNS_MAIN_NAME);
    put_main(ZONES("b.example"));
    reconcile_once(DNS_MAIN_NAME); // the status names it
    put_main(ZONES("c.example"));
    cluster.now_ms -= 4500;
    reconcile_once(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "a.example"));
    assert_true(cluster.decision.wake_ms > cluster.now_ms);
    assert_true(cluster.decision.wake_ms <= cluster.now_ms + 1000);
    cluster.now_ms = cluster.decision.wake_ms;
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(data_of("kube-system", "coredns", "Corefile"), "c.example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(an_object_ends_in_each_mode),
        STORY(an_object_ends_without_its_objects),
        STORY(an_unmanaged_object_ends_at_once_and_leaves_all),
        STORY(unmanaged_writes_nothing_but_its_status),
        STORY(unmanaged_takes_no_corefile_back),
        STORY(force_and_removed_count_as_managed),
        STORY(a_zone_goes_to_the_next_object_when_the_first_one_ends),
        STORY(changes_of_one_second_are_one_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
