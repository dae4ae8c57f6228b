#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "controllers/clusterdns/test_usual.h"

// A Corefile of others that answers version.bind itself: Pods can't be asked which one they run.

static const char *live(void)
{
    return data_of("kube-system", "coredns", "Corefile");
}

static const char *live_hash(void)
{
    char hash[RELOAD_HASH_LEN + 1];
    const struct corefile_file file = {"Corefile", text_of(live())};
    const struct corefile_options options = {0};
    struct corefile_problems problems = {.arena = arena};
    CLEANUP(corefile) struct corefile *corefile = corefile_new(&file, &options, &problems);
    corefile_reload_hash(corefile, hash);
    return arena_copy_text(arena, hash);
}

static void adopt(void)
{
    use_kubeadm();
    put_text_map("kube-system", "coredns", "Corefile",
                 arena_printf(arena, "%sversion.bind:53 {\n    chaos theirs\n}\n", kubeadm));
    put_kube_dns_pods();
    pods_answer("");
    cluster.failing = "";
    put_main(ONE_ZONE);
    (void)reconcile_once(DNS_MAIN_NAME); // nothing is written yet, so no Pod has it
    assert_string_equal(now("Converged"), "False/Waiting");
    settle(DNS_MAIN_NAME);
    assert_non_null(strstr(live(), "a.example:53 {"));
    assert_null(strstr(live(), "signpost-"));
}

static void pods_show_in_their_metrics_what_they_run(void **state)
{
    (void)state;
    adopt();
    cluster.reload_hash = "0123";
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/Waiting");
    cluster.reload_hash = live_hash();
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "True/Converged");
    assert_int_equal(reconcile_once(DNS_MAIN_NAME), 0);
}

static void what_their_metrics_do_not_show_in_time_is_put_back(void **state)
{
    (void)state;
    adopt();
    cluster.reload_hash = live_hash();
    settle(DNS_MAIN_NAME);
    const char *good = live();
    put_main(OTHER_ZONE);
    settle(DNS_MAIN_NAME);
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Degraded"), "True/CorefileRefused");
    assert_string_equal(live(), good);
}

// The hash is that of the file that failed.
static void after_a_failed_reload_metrics_prove_nothing(void **state)
{
    (void)state;
    adopt();
    const char *text = live();
    cluster.reload_hash = live_hash();
    cluster.reload_failures = 1;
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "Unknown/PodsSilent");
    assert_string_equal(live(), text);
}

static void make_pods_at(const char *time)
{
    for (size_t i = 0; i < cluster.count; i++)
        if (cluster.objects[i].tree && cluster.objects[i].kind == &pod_kind)
            value_put_text(arena, cluster.objects[i].tree, "metadata.creationTimestamp", time);
}

// One that was there before may run what it began with.
static void a_pod_that_never_reloaded_has_what_stood_there_when_it_was_made(void **state)
{
    (void)state;
    adopt();
    make_pods_at("2025-12-30T09:00:00Z");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "False/Waiting");
    cluster.now_ms += 181 * 1000;
    make_pods_at("2025-12-30T10:30:00Z");
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "True/Converged");
}

// Paths of imported files are part of the hash, and nobody knows them here.
static void imports_can_not_be_told_by_their_hash(void **state)
{
    (void)state;
    adopt();
    value_put_text(arena, find_stored(&config_map_kind, "kube-system", "coredns")->tree,
                   "data.Corefile", arena_printf(arena, "%simport more/*.server\n", live()));
    cluster.now_ms += 5000;
    settle(DNS_MAIN_NAME);
    cluster.reload_hash = live_hash();
    cluster.now_ms += 181 * 1000;
    settle(DNS_MAIN_NAME);
    assert_string_equal(now("Converged"), "Unknown/PodsSilent");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(pods_show_in_their_metrics_what_they_run),
        STORY(what_their_metrics_do_not_show_in_time_is_put_back),
        STORY(after_a_failed_reload_metrics_prove_nothing),
        STORY(a_pod_that_never_reloaded_has_what_stood_there_when_it_was_made),
        STORY(imports_can_not_be_told_by_their_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
