#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controllers/clusterdns/test_cluster.h"

#define ENTRIES "signpost_corefile_entries"
#define PODS "signpost_corefile_pods"
#define CONVERGED "signpost_corefile_converged"
#define LAST_CONVERGED "signpost_corefile_last_converged_timestamp_seconds"
#define RESTORES "signpost_corefile_restores_total"

enum { ABSENT = -1 };

static const char corefile[] =
    ".:53 {\n    errors\n    kubernetes cluster.local in-addr.arpa ip6.arpa {\n"
    "        fallthrough in-addr.arpa ip6.arpa\n    }\n"
    "    forward . /etc/resolv.conf\n    reload\n}\n";

static void use_two_pods(void)
{
    put_text_map("kube-system", "coredns", "Corefile", corefile);
    put(&deployment_kind, "kube-system", "coredns", "",
        "'spec':{'replicas':2,'template':{'spec':{'containers':[{'image':"
        "'registry/coredns:v1.12.4'}]}}},'status':{'updatedReplicas':2,'availableReplicas':2}");
    put(&service_kind, "kube-system", "kube-dns", "", "'spec':{'clusterIP':'10.96.0.10'}");
    put_pod(false, "coredns-a", "10.0.0.1");
    put_pod(false, "coredns-b", "10.0.0.2");
}

static void pods_answer(const char *first, const char *second)
{
    set_answer(0, "10.0.0.1:53", first);
    set_answer(1, "10.0.0.2:53", second);
}

static int64_t sample(const char *name, const char *label)
{
    for (size_t i = 0; i < cluster.decision.sample_count; i++) {
        const struct decision_sample *at = &cluster.decision.samples[i];
        if (!strcmp(at->metric->name, name) && (!label || !strcmp(at->label, label)))
            return at->value;
    }
    return ABSENT;
}

// Counts as the engine does: each decision whose write succeeds.
struct counts {
    int64_t restores;
    int64_t programmed;
    int64_t programmed_ms; // of the last one
};

static struct counts settle_and_count(void)
{
    struct counts counts = {0};
    for (size_t writes = 1; writes;) {
        writes = reconcile_once(DNS_MAIN_NAME);
        int64_t restored = sample(RESTORES, NULL);
        counts.restores += restored == ABSENT ? 0 : restored;
        counts.programmed += cluster.decision.programmed_ms > 0;
        if (cluster.decision.programmed_ms)
            counts.programmed_ms = cluster.decision.programmed_ms;
    }
    return counts;
}

#define GOOD "{'name':'good','zones':['a.example'],'forwardPlugin':{'upstreams':['192.0.2.1']}}"
#define BAD "{'name':'bad','zones':['b.example'],'forwardPlugin':{'upstreams':['no address']}}"

static void entries_are_counted_by_their_state(void **state)
{
    (void)state;
    use_two_pods();
    put_main("'servers':[" GOOD "," BAD "]");
    settle(DNS_MAIN_NAME);
    assert_int_equal(sample(ENTRIES, "Serving"), 1);
    assert_int_equal(sample(ENTRIES, "LastGood"), 0);
    assert_int_equal(sample(ENTRIES, "Refused"), 1);
    put_main("'servers':[{'name':'good','zones':['a.example'],"
             "'forwardPlugin':{'upstreams':['no address']}}]");
    settle(DNS_MAIN_NAME);
    assert_int_equal(sample(ENTRIES, "Serving"), 0);
    assert_int_equal(sample(ENTRIES, "LastGood"), 1);
    assert_int_equal(sample(ENTRIES, "Refused"), 0);
}

static void pods_are_counted_by_what_they_run(void **state)
{
    (void)state;
    use_two_pods();
    pods_answer("0123456789abcdef", NULL);
    put_main("'servers':[" GOOD "]");
    settle(DNS_MAIN_NAME);
    assert_int_equal(sample(PODS, "current"), 0);
    assert_int_equal(sample(PODS, "old"), 1);
    assert_int_equal(sample(PODS, "silent"), 1);
    pods_answer(config_id(), config_id());
    settle(DNS_MAIN_NAME);
    assert_int_equal(sample(PODS, "current"), 2);
    assert_int_equal(sample(PODS, "old"), 0);
    assert_int_equal(sample(PODS, "silent"), 0);
}

static void a_change_counts_once_all_pods_run_it(void **state)
{
    (void)state;
    use_two_pods();
    put_main("'servers':[" GOOD "]");
    assert_int_equal(settle_and_count().programmed, 0);
    assert_int_equal(sample(CONVERGED, "False"), 1);
    assert_int_equal(sample(CONVERGED, "True"), 0);
    assert_int_equal(sample(LAST_CONVERGED, NULL), ABSENT);
    cluster.now_ms += 40 * 1000;
    pods_answer(config_id(), config_id());
    struct counts counts = settle_and_count();
    assert_int_equal(counts.programmed, 1);
    assert_int_equal(counts.programmed_ms, 40 * 1000);
    assert_int_equal(sample(CONVERGED, "False"), 0);
    assert_int_equal(sample(CONVERGED, "True"), 1);
    int64_t converged_s = cluster.now_ms / 1000;
    assert_int_equal(sample(LAST_CONVERGED, NULL), converged_s);
    cluster.now_ms += 60 * 1000;
    assert_int_equal(settle_and_count().programmed, 0);
    assert_int_equal(sample(LAST_CONVERGED, NULL), converged_s);
}

static void a_pod_that_comes_back_is_no_change(void **state)
{
    (void)state;
    use_two_pods();
    put_main("'servers':[" GOOD "]");
    settle(DNS_MAIN_NAME);
    const char *id = config_id();
    pods_answer(id, id);
    settle(DNS_MAIN_NAME);
    int64_t converged_s = cluster.now_ms / 1000;
    cluster.now_ms += 600 * 1000;
    pods_answer(id, NULL);
    assert_int_equal(settle_and_count().programmed, 0);
    assert_int_equal(sample(CONVERGED, "True"), 0);
    assert_int_equal(sample(LAST_CONVERGED, NULL), converged_s);
    cluster.now_ms += 10 * 1000;
    pods_answer(id, id);
    assert_int_equal(settle_and_count().programmed, 0);
    assert_int_equal(sample(LAST_CONVERGED, NULL), converged_s + 610);
}

static void a_restart_of_the_program_is_no_change_either(void **state)
{
    (void)state;
    use_two_pods();
    cluster.failing = "";
    put_main("'servers':[" GOOD "]");
    settle(DNS_MAIN_NAME);
    const char *id = config_id();
    pods_answer(id, id);
    settle(DNS_MAIN_NAME);
    settle(DNS_MAIN_NAME); // and its metrics
    assert_string_equal(now("UpstreamsHealthy"), "True/Healthy");
    int64_t converged_s = sample(LAST_CONVERGED, NULL);
    cluster.now_ms += 600 * 1000;
    cluster.question_count = 0; // nobody has been asked yet
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
    assert_int_equal(sample(PODS, "current"), 2);
    assert_string_equal(now("Converged"), "True/Converged");
    assert_string_equal(now("Progressing"), "False/AsExpected");
    assert_string_equal(now("UpstreamsHealthy"), "True/Healthy");
    pods_answer(id, NULL);
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "Unknown/PodsSilent");
    pods_answer(id, id);
    settle(DNS_MAIN_NAME);
    assert_int_equal(sample(LAST_CONVERGED, NULL), converged_s + 600);
}

static void a_corefile_that_is_put_back_counts_once(void **state)
{
    (void)state;
    use_two_pods();
    put_main("'servers':[" GOOD "]");
    settle(DNS_MAIN_NAME);
    pods_answer(config_id(), config_id());
    assert_int_equal(settle_and_count().restores, 0);
    put_main("'servers':[" SERVER("'c.example'", "'192.0.2.3'") "]");
    assert_int_equal(settle_and_count().restores, 0);
    cluster.now_ms += 181 * 1000;
    struct counts counts = settle_and_count();
    assert_int_equal(counts.restores, 1);
    assert_int_equal(counts.programmed, 0);
    cluster.now_ms += 600 * 1000;
    assert_int_equal(settle_and_count().restores, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(entries_are_counted_by_their_state),
        STORY(pods_are_counted_by_what_they_run),
        STORY(a_change_counts_once_all_pods_run_it),
        STORY(a_pod_that_comes_back_is_no_change),
        STORY(a_restart_of_the_program_is_no_change_either),
        STORY(a_corefile_that_is_put_back_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
