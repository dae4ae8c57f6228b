#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "controllers/intent/test_site.h"

// Publications in clusters that are read through their kubeconfigs: vendor.one and vendor.two.

#define SECRET ",'kubeconfigSecret':{'namespace':'clusters','name':'%s'}"
#define WEB(members) "{'services':[{'name':'web'" members "}]}"

static void put_remote(const char *name, const char *pairs)
{
    put(&edgecluster_kind, arena_printf(arena, "vendor.%s", name),
        arena_printf(arena,
                     "'spec':{'provider':'vendor','cluster':'%s','kvPairs':[{'name':'a','kv':["
                     "{'x':'y'}%s]}]" SECRET "}",
                     name, pairs, name));
}

static void publish(const char *more)
{
    struct site_object *there = find_at_site(&dnspublication_kind, "dig");
    const struct value *status = there ? value_find(there->tree, "status") : NULL;
    there = put(&dnspublication_kind, "dig",
                arena_printf(arena,
                             "'spec':{'compositeApp':'app','version':'v1',"
                             "'deploymentIntentGroup':'dig','logicalCloud':'cloud',%s}",
                             more));
    value_put(arena, there->tree, "metadata.finalizers",
              quote(arena, "['" INTENT_PUBLICATION_FINALIZER "']"));
    if (status)
        value_set(there->tree, TEXT("status"), value_copy(arena, status));
    store_tree(there);
}

static void put_clouds(const char *clusters)
{
    put(&dnsupdaterecord_kind, "public",
        "'spec':{'provider':'rfc2136','external-dns-parameters':{'rfc2136-host':'192.0.2.53',"
        "'rfc2136-zone':'example.org','rfc2136-insecure':true}}");
    put(&logicalcloud_kind, "cloud",
        arena_printf(arena,
                     "'spec':{'namespace':'apps','clusterReferences':[%s],'kvPairs':[{'name':"
                     "'dns-update-record-list','kv':[{'one':'public'}]}]}",
                     clusters));
    put(&trafficgroupintent_kind, "traffic",
        "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'dig','inbound':[{"
        "'name':'in','app':'front','appLabel':'app=front','serviceName':'web','port':443,"
        "'protocol':'TCP','externalName':'shop.example.org','externalSupport':true}]}");
    publish(WANTED);
}

#define REFERENCE(name) "{'name':'" name "','clusterProvider':'vendor','cluster':'" name "'}"
#define ONE REFERENCE("one")
#define BOTH REFERENCE("one") "," REFERENCE("two")

static void put_one(void)
{
    put_remote("one", "");
    put_clouds(ONE);
}

static const char *text_of_name(const char *key)
{
    const struct value *name = value_at(status_of("dig"), "names[0]", NULL);
    struct text text = value_text_at(name, key);
    return text.at ? arena_copy(arena, text.at, text.len) : "";
}

// ---- what a cluster answers ---------------------------------------------------------------------

static void a_cluster_is_asked_about_the_namespace_of_the_logical_cloud(void **state)
{
    (void)state;
    put_one();
    reconcile_site("dig");
    assert_int_equal(site.decision.question_count, 1);
    const struct question *question = &site.decision.questions[0];
    assert_string_equal(question->backend, "edge-cluster-vendor.one");
    assert_string_equal(question->name, "addresses");
    assert_true(text_is(value_text_at(question->about, "namespace"), "apps"));
    assert_int_equal(question->good_for_ms, 15000);
}

static void a_cluster_that_comes_into_reach_is_asked_at_once(void **state)
{
    (void)state;
    put_one();
    reconcile_site("dig");
    uint64_t epoch = site.decision.questions[0].epoch;
    struct site_object *cluster = find_at_site(&edgecluster_kind, "vendor.one");
    value_set(cluster->tree, TEXT("status"),
              quote(arena, "{'conditions':[{'type':'Reachable','status':'True','reason':"
                           "'Reachable','lastTransitionTime':'2025-12-30T10:30:00Z'}]}"));
    store_tree(cluster);
    reconcile_site("dig");
    assert_int_not_equal(site.decision.questions[0].epoch, epoch);
}

static void a_cluster_is_asked_at_once_when_people_want_an_update(void **state)
{
    (void)state;
    put_one();
    reconcile_site("dig");
    uint64_t epoch = site.decision.questions[0].epoch;
    put_publication(WANTED ",'update':1");
    reconcile_site("dig");
    assert_int_not_equal(site.decision.questions[0].epoch, epoch);
}

static void what_it_answers_counts_as_objects_of_our_own_cluster_do(void **state)
{
    static const struct {
        const char *answer;
        const char *record;
        const char *published;
    } rows[] = {
        {WEB(",'ips':['198.51.100.7','10.0.0.1'],'hostnames':[]"), "", "A 198.51.100.7 300"},
        {WEB(",'ips':['10.0.0.1']"), ",'allowPrivate':true", "A 10.0.0.1 300"},
        {WEB(",'hostnames':['lb.example.net.']"), "", "CNAME lb.example.net 300"},
        {WEB(",'type':'NodePort'}],'nodes':[{'externalIPs':['203.0.113.5'],'internalIPs':"
             "['10.0.0.5']}],'x':[{"),
         "", "A 203.0.113.5 300"},
        {WEB(",'clusterIPs':['10.96.0.7']"), "", ""},
        {"{'services':[{'name':'other','ips':['198.51.100.7']}]}", "", ""},
        {"{}", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        close_site(NULL);
        open_site(state);
        put_one();
        put(&dnsupdaterecord_kind, "public",
            arena_printf(arena,
                         "'spec':{'provider':'rfc2136','external-dns-parameters':{'rfc2136-host':"
                         "'192.0.2.53','rfc2136-zone':'example.org','rfc2136-insecure':true}%s}",
                         rows[i].record));
        site.answer = rows[i].answer;
        reconcile_site("dig");
        assert_string_equal(published(), rows[i].published);
        assert_string_equal(text_of_name("state"),
                            *rows[i].published ? "Written" : "AddressPending");
    }
}

static void a_record_that_a_cluster_lists_has_its_local_addresses(void **state)
{
    static const char *const rows[][2] = {
        {WEB(",'clusterIPs':['10.96.0.7']"), "A 10.96.0.7 300"},
        {WEB(",'type':'NodePort','clusterIPs':['10.96.0.7']}],'nodes':[{'internalIPs':"
             "['10.0.0.5']}],'x':[{"),
         "A 10.0.0.5 300"},
        {WEB(",'type':'NodePort','clusterIPs':['10.96.0.7']}],'nodesUnreadable':'HTTP 403','x':[{"),
         ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        close_site(NULL);
        open_site(state);
        put_one();
        put(&logicalcloud_kind, "cloud",
            "'spec':{'namespace':'apps','clusterReferences':[" ONE "]}");
        put_remote("one", "]},{'name':'dns-update-record-list','kv':[{'one':'public'}");
        site.answer = rows[i][0];
        reconcile_site("dig");
        assert_string_equal(published(), rows[i][1]);
    }
    assert_string_equal(text_of_name("message"),
                        "the Nodes of cluster vendor/one cannot be read: HTTP 403");
}

static void nobody_is_asked_where_an_address_is_written(void **state)
{
    (void)state;
    put_remote("one", ",{'dnsPublicAddress':'198.51.100.1'}");
    put_clouds(ONE);
    reconcile_site("dig");
    assert_int_equal(site.decision.question_count, 0);
    assert_string_equal(published(), "A 198.51.100.1 300");
}

static void nobody_is_asked_for_a_publication_that_ends(void **state)
{
    (void)state;
    put_one();
    publish("'desired':'Terminated'");
    reconcile_site("dig");
    assert_int_equal(site.decision.question_count, 0);
}

// ---- clusters that cannot be asked --------------------------------------------------------------

static void until_a_cluster_answers_its_names_wait(void **state)
{
    (void)state;
    put_one();
    reconcile_site("dig");
    assert_string_equal(text_of_name("state"), "AddressPending");
    assert_string_equal(text_of_name("message"),
                        "cluster vendor/one has not been read yet: the condition Reachable of "
                        "EdgeCluster vendor.one says whether it can be");
    site.silence = "connection refused";
    reconcile_site("dig");
    assert_string_equal(text_of_name("message"),
                        "cluster vendor/one cannot be read: connection refused");
    site.silence = NULL;
    site.answer = WEB(",'ips':['198.51.100.7']");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
}

static void a_cluster_that_cannot_be_asked_takes_no_name_away(void **state)
{
    (void)state;
    put_one();
    site.answer = WEB(",'ips':['198.51.100.7','2001:db8::7']");
    reconcile_site("dig");
    site.answer = NULL;
    site.silence = "connection refused";
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300; AAAA 2001:db8::7 300");
    assert_string_equal(text_of_name("state"), "Written");
    struct text object = object_name(list_endpoints(&(size_t){0})[0]); // somebody removes it
    put_away(&dnsendpoint_kind, arena_copy(arena, object.at, object.len));
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300; AAAA 2001:db8::7 300");
    assert_string_equal(text_of_name("state"), "Written");
}

static void the_host_name_of_a_silent_cluster_stays(void **state)
{
    (void)state;
    put_remote("one", "");
    put_remote("two", ",{'dnsPublicAddress':'two.example.net'}");
    put_clouds(BOTH);
    site.answer = WEB(",'hostnames':['one.example.net']");
    reconcile_site("dig");
    assert_string_equal(published(), "CNAME one.example.net 300");
    site.answer = NULL;
    site.silence = "no route";
    reconcile_site("dig");
    assert_string_equal(published(), "CNAME one.example.net 300");
    site.silence = NULL;
    site.answer = "{'services':[]}";
    reconcile_site("dig");
    assert_string_equal(published(), "CNAME two.example.net 300");
}

static void after_a_restart_nothing_is_taken_away_before_there_is_an_answer(void **state)
{
    (void)state;
    put_one();
    site.answer = WEB(",'ips':['198.51.100.7']");
    reconcile_site("dig");
    site.answer = NULL;
    drop_decision();
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_int_equal(site.writes, 0);
}

static void targets_of_the_other_clusters_still_come_while_one_is_silent(void **state)
{
    (void)state;
    put_remote("one", "");
    put_remote("two", ",{'dnsPublicAddress':'198.51.100.2'}");
    put_clouds(BOTH);
    site.answer = WEB(",'ips':['198.51.100.1']");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.1 198.51.100.2 300");
    site.answer = NULL;
    site.silence = "no route";
    put_remote("two", ",{'dnsPublicAddress':'198.51.100.2,198.51.100.3'}");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.1 198.51.100.2 198.51.100.3 300");
    site.silence = NULL;
    site.answer = "{'services':[]}";
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.2 198.51.100.3 300");
}

static void the_last_addresses_are_held_when_the_cluster_says_that_there_are_none(void **state)
{
    (void)state;
    put_one();
    publish(WANTED ",'holdDown':'1h'");
    site.answer = WEB(",'ips':['198.51.100.7']");
    reconcile_site("dig");
    site.answer = "{'services':[]}";
    reconcile_site("dig");
    assert_string_equal(text_of_name("state"), "Held");
    assert_string_equal(published(), "A 198.51.100.7 300");
    site.now_ms += 3600 * 1000;
    reconcile_site("dig");
    assert_string_equal(published(), "");
}

static void addresses_that_are_held_stay_so_while_the_cluster_is_silent(void **state)
{
    (void)state;
    put_one();
    publish(WANTED ",'holdDown':'1h'");
    site.answer = WEB(",'ips':['198.51.100.7']");
    reconcile_site("dig");
    site.answer = "{'services':[]}";
    reconcile_site("dig");
    site.answer = NULL;
    site.silence = "connection refused";
    site.now_ms += 7200 * 1000;
    reconcile_site("dig");
    assert_int_equal(site.writes, 0);
    assert_string_equal(text_of_name("state"), "Held");
    assert_string_equal(published(), "A 198.51.100.7 300");
    site.silence = NULL;
    site.answer = "{'services':[]}";
    reconcile_site("dig");
    assert_string_equal(published(), "");
}

#define SITE(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SITE(a_cluster_is_asked_about_the_namespace_of_the_logical_cloud),
        SITE(a_cluster_that_comes_into_reach_is_asked_at_once),
        SITE(a_cluster_is_asked_at_once_when_people_want_an_update),
        SITE(what_it_answers_counts_as_objects_of_our_own_cluster_do),
        SITE(a_record_that_a_cluster_lists_has_its_local_addresses),
        SITE(nobody_is_asked_where_an_address_is_written),
        SITE(nobody_is_asked_for_a_publication_that_ends),
        SITE(until_a_cluster_answers_its_names_wait),
        SITE(a_cluster_that_cannot_be_asked_takes_no_name_away),
        SITE(the_host_name_of_a_silent_cluster_stays),
        SITE(after_a_restart_nothing_is_taken_away_before_there_is_an_answer),
        SITE(targets_of_the_other_clusters_still_come_while_one_is_silent),
        SITE(the_last_addresses_are_held_when_the_cluster_says_that_there_are_none),
        SITE(addresses_that_are_held_stay_so_while_the_cluster_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
