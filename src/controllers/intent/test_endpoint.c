#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controllers/intent/address.h"
#include "controllers/intent/test_site.h"
#include "kinds/target.h"

// The DNSEndpoints of a publication: which names they have, and which addresses of which clusters.

static const char *text_of_name(const char *publication, const char *key)
{
    const struct value *name = value_at(status_of(publication), "names[0]", NULL);
    struct text text = value_text_at(name, key);
    return text.at ? arena_copy(arena, text.at, text.len) : "";
}

// ---- addresses ----------------------------------------------------------------------------------

#define INGRESS(points)                                                                            \
    "'spec':{'type':'LoadBalancer','clusterIPs':['10.96.0.7','fd00::7']},'status':{'loadBalancer'" \
    ":{'ingress':[" points "]}}"
#define NODES                                                                                      \
    "'status':{'conditions':[{'type':'Ready','status':'True'}],'addresses':["                      \
    "{'type':'ExternalIP','address':'%s'},{'type':'InternalIP','address':'%s'}]}"

static void renew_site(void)
{
    void *unused;
    close_site(NULL);
    open_site(&unused);
}

// What a cluster of ours has for a publication, by a record of the logical cloud or of the cluster.
static const char *published_in(const char *pairs, const char *service, const char *node,
                                bool is_local)
{
    put_usual();
    put_cloud(",'loadBalancerIP':'0.0.0.0'", is_local ? "" : LISTED);
    put_cluster(
        is_local ? arena_printf(arena, "%s]},{'name':'dns-update-record-list','kv':[" LISTED, pairs)
                 : pairs,
        ",'local':true");
    if (service)
        put(&service_kind, "web", service);
    if (node)
        put(&node_kind, "node", node);
    reconcile_site("dig");
    return published();
}

static void private_addresses_of_a_cluster_are_for_no_public_name(void **state)
{
    static const char *const addresses[][2] = {
        {"10.0.0.1", ""},
        {"172.15.255.255", "A 172.15.255.255 300"},
        {"172.16.0.1", ""},
        {"172.31.255.255", ""},
        {"172.32.0.1", "A 172.32.0.1 300"},
        {"192.168.1.1", ""},
        {"192.169.0.1", "A 192.169.0.1 300"},
        {"100.63.255.255", "A 100.63.255.255 300"},
        {"100.64.0.1", ""},
        {"100.127.255.255", ""},
        {"100.128.0.1", "A 100.128.0.1 300"},
        {"127.0.0.1", ""},
        {"169.254.1.1", ""},
        {"fc00::1", ""},
        {"fdff::1", ""},
        {"fe00::1", "AAAA fe00::1 300"},
        {"fe80::1", ""},
        {"febf::1", ""},
        {"::1", ""},
        {"2001:db8::1", "AAAA 2001:db8::1 300"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(addresses); i++)
        for (int way = 0; way < 3; way++) {
            renew_site();
            bool is_local = way == 2;
            struct text address = text_of(addresses[i][0]);
            const char *ingress = arena_printf(arena, INGRESS("{'ip':'%s'}"), address.at);
            const char *node = arena_printf(arena, NODES, address.at, address.at);
            const char *service = way == 1 ? "'spec':{'type':'NodePort'}" : ingress;
            assert_string_equal(
                published_in("{'x':'y'}", service, way == 1 ? node : NULL, is_local),
                is_local ? arena_printf(arena, "%s %s 300", address_type(address), address.at)
                         : addresses[i][1]);
        }
}

// The rows of the table below those that an operator writes.
static void a_cluster_says_its_addresses_in_order(void **state)
{
    static const char node_ports[] = "'spec':{'type':'NodePort','clusterIPs':['10.96.0.7']}";
    static const struct {
        const char *service;
        bool has_node;
        bool is_local;
        const char *published;
    } rows[] = {
        {INGRESS("{'ip':'203.0.113.1'},{'ip':'203.0.113.2','hostname':'lb.example.net'}"), true,
         false, "A 203.0.113.1 203.0.113.2 300"},
        {"'spec':{'type':'NodePort','clusterIPs':['10.96.0.7']},'status':{'loadBalancer':{"
         "'ingress':[{'ip':'203.0.113.1'}]}}",
         true, false, "A 203.0.113.1 300"},
        {"'spec':{'type':'NodePort','clusterIPs':['10.96.0.7']},'status':{'loadBalancer':{"
         "'ingress':[{'ip':'203.0.113.1'}]}}",
         true, true, "A 203.0.113.1 300"},
        {INGRESS(""), true, false, ""},
        {INGRESS(""), true, true, "A 10.96.0.7 300; AAAA fd00::7 300"},
        {node_ports, true, false, "A 203.0.113.5 300"},
        {node_ports, true, true, "A 10.0.0.5 300"},
        {node_ports, false, false, ""},
        {node_ports, false, true, "A 10.96.0.7 300"},
        {"'spec':{'type':'ClusterIP','clusterIP':'None','clusterIPs':['None']}", true, true, ""},
        {"'spec':{'type':'ExternalName','externalName':'a.example.net'}", true, true, ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        renew_site();
        const char *node = arena_printf(arena, NODES, "203.0.113.5", "10.0.0.5");
        assert_string_equal(published_in("{'x':'y'}", rows[i].service,
                                         rows[i].has_node ? node : NULL, rows[i].is_local),
                            rows[i].published);
    }
}

static void what_is_written_for_one_scope_is_for_no_other(void **state)
{
    static const struct {
        const char *pairs;
        bool is_local;
        const char *published;
    } rows[] = {
        {"{'dnsPublicAddress':'198.51.100.1'}", true, ""},
        {"{'dnsPublicAddress.web':'198.51.100.1'}", true, ""},
        {"{'dnsLocalAddress':'198.51.100.1'}", false, ""},
        {"{'dnsLocalAddress.web':'198.51.100.1'}", false, ""},
        {"{'dnsPublicAddress.other':'198.51.100.1'}", false, ""},
        {"{'dnsPublicAddress.web':' , ,'},{'dnsPublicAddress':' 198.51.100.2,,198.51.100.1 '}",
         false, "A 198.51.100.1 198.51.100.2 300"},
        {"{'dnsLocalAddress.web':' '},{'dnsLocalAddress':'a.example.net.'}", true,
         "CNAME a.example.net 300"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        renew_site();
        assert_string_equal(published_in(rows[i].pairs, NULL, NULL, rows[i].is_local),
                            rows[i].published);
    }
}

#define REFERENCE(name) "{'name':'" name "','clusterProvider':'vendor','cluster':'" name "'}"

static void put_cluster_named(const char *name, const char *pairs, const char *list)
{
    put(&edgecluster_kind, arena_printf(arena, "vendor.%s", name),
        arena_printf(arena,
                     "'spec':{'provider':'vendor','cluster':'%s','kvPairs':[{'name':'a','kv':[%s]},"
                     "{'name':'dns-update-record-list','kv':[%s]}]}",
                     name, pairs, list));
}

static void put_two_clusters(const char *ones, const char *twos, const char *cloud_list)
{
    const char *list = *cloud_list ? "" : LISTED;
    put_usual();
    put_cluster_named("one", ones, list);
    put_cluster_named("two", twos, list);
    put(&logicalcloud_kind, "cloud",
        arena_printf(arena,
                     "'spec':{'clusterReferences':[" REFERENCE("two") "," REFERENCE(
                         "one") "],'kvPairs':[{'name':'dns-update-record-list','kv':[%s]}]}",
                     cloud_list));
}

static void the_gateway_of_a_mesh_counts_in_both_scopes(void **state)
{
    static const char pairs[] = "{'istioIngressGatewayAddress':'198.51.100.3'}";
    (void)state;
    for (int is_local = 0; is_local < 2; is_local++)
        for (int is_istio = 0; is_istio < 2; is_istio++) {
            renew_site();
            put_usual();
            put_two_clusters(pairs, "{'x':'y'}", is_local ? "" : LISTED);
            put_intent("shop.example.org", is_istio ? ",'serviceMesh':'istio'" : "");
            reconcile_site("dig");
            assert_string_equal(published(), is_istio ? "A 198.51.100.3 300" : "");
        }
}

// One without externalSupport is for other clusters alone.
static void only_entries_with_support_and_a_name_are_published(void **state)
{
    static const char *const entries[] = {
        "'externalName':'shop.example.org'",
        "'externalName':'shop.example.org','externalSupport':false",
        "'externalSupport':true",
        "'externalName':'','externalSupport':true",
    };
    (void)state;
    put_usual();
    for (size_t i = 0; i < COUNT_OF(entries); i++) {
        put(&trafficgroupintent_kind, "traffic",
            arena_printf(arena,
                         "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':"
                         "'dig','inbound':[{'name':'in','app':'front','appLabel':'app=front',"
                         "'serviceName':'web','port':443,'protocol':'TCP',%s}]}",
                         entries[i]));
        reconcile_site("dig");
        assert_string_equal(published(), "");
        assert_int_equal(value_int_at(status_of("dig"), "namesTotal", -1), 0);
    }
}

static void a_cluster_reference_has_an_address_for_the_public_alone(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'x':'y'}]},{'name':'dns-update-record-list','kv':[" LISTED, "");
    put_cloud(",'loadBalancerIP':'198.51.100.4'", "");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    put_cluster("{'x':'y'}", "");
    put_cloud(",'loadBalancerIP':'198.51.100.4'", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.4 300");
}

// One that is neither ours nor has a kubeconfig says nothing, though we have a Service of that
// name.
static void a_cluster_that_is_not_read_has_what_is_written_alone(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'x':'y'}", "");
    put(&service_kind, "web", INGRESS("{'ip':'203.0.113.1'}"));
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(text_of_name("dig", "state"), "AddressPending");
    put_cluster("{'x':'y'}", ",'local':true");
    reconcile_site("dig");
    assert_string_equal(published(), "A 203.0.113.1 300");
}

static void the_services_are_those_in_the_namespace_of_the_logical_cloud(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'x':'y'}", ",'local':true");
    put(&logicalcloud_kind, "cloud",
        "'spec':{'namespace':'apps','clusterReferences':[{'name':'r','clusterProvider':'vendor',"
        "'cluster':'one'}],'kvPairs':[{'name':'dns-update-record-list','kv':[" LISTED "]}]}");
    put(&service_kind, "web", INGRESS("{'ip':'203.0.113.1'}"));
    reconcile_site("dig");
    assert_string_equal(published(), "");
    put_away(&service_kind, "web");
    site.namespace_ = "apps";
    put(&service_kind, "web", INGRESS("{'ip':'203.0.113.2'}"));
    reconcile_site("dig");
    assert_string_equal(published(), "A 203.0.113.2 300");
}

// ---- clusters of one logical cloud --------------------------------------------------------------

static void a_record_of_the_cloud_has_the_addresses_of_all_clusters(void **state)
{
    (void)state;
    put_two_clusters("{'dnsPublicAddress':'198.51.100.1,2001:db8::1'}",
                     "{'dnsPublicAddress':'198.51.100.2,198.51.100.1'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.1 198.51.100.2 300; AAAA 2001:db8::1 300");
    assert_string_equal(text_of_name("dig", "cluster"), "");
}

static void of_host_names_that_of_the_first_cluster_counts(void **state)
{
    (void)state;
    put_two_clusters("{'dnsPublicAddress':'a.example.net'}", "{'dnsPublicAddress':'b.example.net'}",
                     LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "CNAME b.example.net 300");
    assert_string_equal(text_of_name("dig", "reason"), "MixedTargets");
    put_cluster_named("one", "{'dnsPublicAddress':'198.51.100.1'}", "");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.1 300");
    assert_string_equal(text_of_name("dig", "reason"), "MixedTargets");
}

static void a_record_of_two_clusters_has_an_object_for_each_with_one_ttl(void **state)
{
    (void)state;
    put_two_clusters("{'dnsLocalAddress':'10.0.0.1'},{'dnsTTL':'60'}",
                     "{'dnsLocalAddress':'10.0.0.2'}", "");
    reconcile_site("dig");
    assert_string_equal(published(), "A 10.0.0.2 60; A 10.0.0.1 60");
    assert_string_equal(text_of_name("dig", "cluster"), "vendor/one");
    put_cluster_named("two", "{'dnsLocalAddress':'10.0.0.2'},{'dnsTTL':'70'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 10.0.0.2 70; A 10.0.0.1 70");
}

static void a_name_of_two_clusters_is_of_one_kind(void **state)
{
    static const struct {
        const char *one;
        const char *two;
        const char *published;
        const char *claimed;
        const char *reason;
    } rows[] = {
        {"10.0.0.1", "10.0.0.2", "A 10.0.0.2 300; A 10.0.0.1 300",
         "SET A shop example.org 10.0.0.1 10.0.0.2", ""},
        {"a.example.net", "10.0.0.2", "A 10.0.0.2 300", "SET A shop example.org 10.0.0.2",
         "MixedTargets"},
        {"fd00::1", "b.example.net", "AAAA fd00::1 300", "SET AAAA shop example.org fd00::1",
         "MixedTargets"},
        {"a.example.net", "b.example.net", "CNAME b.example.net 300",
         "SET CNAME shop example.org b.example.net", "MixedTargets"},
        {"a.example.net", "a.example.net", "CNAME a.example.net 300; CNAME a.example.net 300",
         "SET CNAME shop example.org a.example.net", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (int is_native = 0; is_native < 2; is_native++) {
            renew_site();
            put_two_clusters(arena_printf(arena, "{'dnsLocalAddress':'%s'}", rows[i].one),
                             arena_printf(arena, "{'dnsLocalAddress':'%s'}", rows[i].two), "");
            put_record("", is_native ? ",'engine':'native'" : "");
            reconcile_site("dig");
            assert_string_equal(published(), rows[i].published);
            assert_string_equal(claimed(), is_native ? rows[i].claimed : "");
            assert_string_equal(text_of_name("dig", "reason"), rows[i].reason);
            assert_int_equal(value_count(value_list_at(status_of("dig"), "names")),
                             *rows[i].reason ? 1 : 2);
        }
}

static void only_the_last_addresses_of_a_name_are_held(void **state)
{
    (void)state;
    put_two_clusters("{'dnsLocalAddress':'10.0.0.1'}", "{'dnsLocalAddress':'10.0.0.2'}", "");
    reconcile_site("dig");
    put_cluster_named("two", "{'x':'y'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 10.0.0.1 300");
    assert_string_equal(condition_of(arena, status_of("dig"), "AddressesReady"),
                        "False/AddressPending");
    put_cluster_named("one", "{'x':'y'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 10.0.0.1 300");
    assert_string_equal(text_of_name("dig", "state"), "AddressPending");
    put_cluster_named("two", "{'dnsLocalAddress':'10.0.0.3'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 10.0.0.3 300");
}

static void another_record_may_have_a_name_of_another_kind(void **state)
{
    (void)state;
    put_usual();
    put(&dnsupdaterecord_kind, "site",
        arena_printf(arena, "'spec':{" RECORD ",'verify':{'enabled':false}}",
                     ",'rfc2136-zone':'example.org'"));
    put_cluster("{'dnsPublicAddress':'198.51.100.7'},{'dnsLocalAddress':'a.example.net'}]},"
                "{'name':'dns-update-record-list','kv':[{'a':'site'}",
                "");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300; CNAME a.example.net 300");
}

static void a_host_name_comes_when_the_addresses_of_others_are_gone(void **state)
{
    (void)state;
    put_two_clusters("{'dnsLocalAddress':'a.example.net'}", "{'dnsLocalAddress':'10.0.0.2'}", "");
    reconcile_site("dig");
    put_cluster_named("two", "{'x':'y'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "CNAME a.example.net 300");
    put_cluster_named("one", "{'x':'y'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "CNAME a.example.net 300");
    assert_string_equal(condition_of(arena, status_of("dig"), "AddressesReady"),
                        "False/AddressPending");
}

static void an_app_has_the_addresses_of_where_it_is_placed(void **state)
{
    static const struct {
        const char *placement;
        const char *published;
    } rows[] = {
        {"{'app':'front','clusters':[{'provider':'vendor','cluster':'two'}]}",
         "A 198.51.100.2 300"},
        {"{'app':'other','clusters':[{'provider':'vendor','cluster':'one'}]}", ""},
        {"{'app':'other','clusters':[{'provider':'vendor','cluster':'two'}]},"
         "{'app':'front','clusters':[{'provider':'vendor','cluster':'one'}]}",
         "A 198.51.100.1 300"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        renew_site();
        put_two_clusters("{'dnsPublicAddress':'198.51.100.1'}",
                         "{'dnsPublicAddress':'198.51.100.2'}", LISTED);
        put_publication(arena_printf(arena, WANTED ",'placement':[%s]", rows[i].placement));
        reconcile_site("dig");
        assert_string_equal(published(), rows[i].published);
    }
}

// ---- names that several want --------------------------------------------------------------------

static void set_age(struct site_object *stored, const char *created)
{
    value_put_text(arena, stored->tree, "metadata.creationTimestamp", created);
    store_tree(stored);
}

// An app of its own that wants the name of the usual one.
static void put_app(const char *name, const char *created, const char *cloud, const char *more)
{
    const char *place = arena_printf(
        arena, "'compositeApp':'%s','version':'v1','deploymentIntentGroup':'dig'", name);
    put(&trafficgroupintent_kind, arena_printf(arena, "traffic-%s", name),
        arena_printf(arena,
                     "'spec':{%s,'inbound':[{'name':'in','app':'front','appLabel':'app=front',"
                     "'serviceName':'web','port':443,'protocol':'TCP','externalName':"
                     "'shop.example.org','externalSupport':true}]}",
                     place));
    set_age(put(&dnspublication_kind, name,
                arena_printf(arena, "'spec':{%s,'logicalCloud':'%s'," WANTED "%s}", place, cloud,
                             more)),
            created);
}

static void put_record_and_cloud(void)
{
    put_record("", "");
    put_cluster("{'dnsPublicAddress':'198.51.100.7'}", "");
    put_cloud("", LISTED);
}

static void assert_conflict(const char *name, const char *holder)
{
    reconcile_site(name);
    assert_string_equal(text_of_name(name, "reason"), holder ? "NameConflict" : "");
    if (holder)
        assert_non_null(strstr(text_of_name(name, "message"),
                               arena_printf(arena, "DNSPublication shop/%s has the name", holder)));
}

static void the_oldest_has_the_name_and_the_others_are_told_of_it(void **state)
{
    (void)state;
    put_record_and_cloud();
    put_app("young", "2025-12-30T10:00:03Z", "cloud", "");
    put_app("middle", "2025-12-30T10:00:02Z", "cloud", "");
    put_app("old-b", "2025-12-30T10:00:01Z", "cloud", "");
    put_app("old-a", "2025-12-30T10:00:01Z", "cloud", "");
    assert_conflict("young", "old-a");
    assert_conflict("middle", "old-a");
    assert_conflict("old-b", "old-a");
    assert_conflict("old-a", NULL);
    put_away(&dnspublication_kind, "old-a");
    assert_conflict("young", "old-b");
    assert_conflict("old-b", NULL);
}

static void a_share_group_has_the_name_with_the_ttl_of_its_first(void **state)
{
    (void)state;
    put_record_and_cloud();
    put(&logicalcloud_kind, "slow",
        "'spec':{'clusterReferences':[{'name':'r','clusterProvider':'vendor','cluster':'one'}],"
        "'kvPairs':[{'name':'dns-update-record-list','kv':[" LISTED "]},{'name':'x','kv':[{"
        "'dnsTTL':'900'}]}]}");
    put_app("stranger", "2025-12-30T10:00:02Z", "cloud", "");
    put_app("young", "2025-12-30T10:00:03Z", "cloud", ",'shareGroup':'blue'");
    put_app("other", "2025-12-30T10:00:03Z", "cloud", ",'shareGroup':'red'");
    put_app("old", "2025-12-30T10:00:01Z", "slow", ",'shareGroup':'blue'");
    assert_conflict("old", NULL);
    assert_string_equal(published(), "A 198.51.100.7 900");
    assert_conflict("young", NULL);
    assert_string_equal(published(), "A 198.51.100.7 900; A 198.51.100.7 900");
    assert_conflict("stranger", "old");
    assert_conflict("other", "old");
}

// Another project's publication by our record, in a share group of the same name.
static void put_foreign(const char *created)
{
    site.namespace_ = "abroad";
    put(&logicalcloud_kind, "far",
        "'spec':{'clusterReferences':[{'name':'r','clusterProvider':'vendor','cluster':'one'}],"
        "'kvPairs':[{'name':'dns-update-record-list','kv':[{'a':'shop/public'}]}]}");
    put_app("foreign", created, "far", ",'shareGroup':'blue'");
    site.namespace_ = "shop";
}

static void put_projects(void)
{
    put(&namespace_kind, "shop", "'status':{}");
    put(&namespace_kind, "abroad", "'status':{}");
}

static void a_share_group_ends_at_its_project(void **state)
{
    (void)state;
    put_projects();
    put_record_and_cloud();
    put_record("", ",'allowedProjects':['abroad']");
    put_app("own", "2025-12-30T10:00:01Z", "cloud", ",'shareGroup':'blue'");
    put_foreign("2025-12-30T10:00:02Z");
    assert_conflict("own", NULL);
    reconcile_site("foreign");
    assert_string_equal(text_of_name("foreign", "reason"), "NameConflict");
    put_away(&dnspublication_kind, "own");
    reconcile_site("foreign");
    assert_string_equal(text_of_name("foreign", "reason"), "");
}

static void a_record_of_another_project_is_used_where_it_allows_that(void **state)
{
    (void)state;
    put_projects();
    put_record_and_cloud();
    put_foreign("2025-12-30T10:00:02Z");
    reconcile_site("foreign");
    assert_string_equal(published(), "");
    assert_string_equal(condition_of(arena, status_of("foreign"), "Published"),
                        "False/RecordNotAllowed");
    assert_string_equal(message_of(arena, status_of("foreign"), "Published"),
                        "dns-update-record-list kv[0] a of logical cloud far: DNSUpdateRecord "
                        "shop/public does not have project abroad in spec.allowedProjects");
    put_record("", ",'allowedProjects':['x','abroad']");
    reconcile_site("foreign");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(text_of_name("foreign", "record"), "shop/public");
}

// An object of that name may be one of another EMCO name.
static void what_a_publication_names_is_found_by_its_emco_name(void **state)
{
    static const struct {
        const struct kind *kind;
        const char *name;
        const char *path;
    } rows[] = {
        {&logicalcloud_kind, "cloud", "metadata.annotations[" DNS_GROUP "/name]"},
        {&dnsupdaterecord_kind, "public", "metadata.annotations[" DNS_GROUP "/name]"},
        {&edgecluster_kind, "vendor.one", "spec.cluster"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        renew_site();
        put_usual();
        struct site_object *found = at_site(rows[i].kind, rows[i].name);
        value_put_text(arena, found->tree, rows[i].path, "Another");
        store_tree(found);
        reconcile_site("dig");
        assert_string_equal(published(), "");
    }
}

// ---- objects ------------------------------------------------------------------------------------

// An object whose entry has another name now goes behind the one that comes.
static void what_comes_stands_before_what_goes(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    struct site_object *intent = at_site(&trafficgroupintent_kind, "traffic");
    value_put_text(arena, value_list_at(intent->tree, "spec.inbound")->first, "name", "renamed");
    store_tree(intent);
    decide_site("dig");
    assert_int_equal(site.decision.object_count, 1);
    assert_non_null(site.decision.objects[0].tree);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_int_equal(site.writes, 2);
}

static void set_record_status(int64_t sync_s)
{
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    struct value *status =
        quote(arena, "{'deployment':'d','conditions':[{'type':'Synced','status':'True','reason':"
                     "'Synced','message':'','lastTransitionTime':'2025-12-30T09:00:00Z'}]}");
    value_put(arena, status, "lastSyncTime", status_time_make(arena, sync_s));
    value_set(record->tree, TEXT("status"), status);
    store_tree(record);
    reconcile_site("dig");
}

static struct site_object *the_endpoint(void)
{
    size_t count;
    struct text name = object_name(list_endpoints(&count)[0]);
    must(count == 1);
    return at_site(&dnsendpoint_kind, arena_copy(arena, name.at, name.len));
}

// As external-dns does, whatever becomes of the endpoints.
static void read_endpoint(void)
{
    struct value *tree = the_endpoint()->tree;
    value_put_int(arena, tree, "status.observedGeneration",
                  value_int_at(tree, "metadata.generation", 0));
    store_tree(the_endpoint());
}

static void a_name_is_read_and_then_synced(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    set_record_status(BEGAN_S + 60);
    assert_string_equal(text_of_name("dig", "state"), "Written");
    site.now_ms += 70 * 1000;
    read_endpoint();
    set_record_status(BEGAN_S + 60);
    assert_string_equal(text_of_name("dig", "state"), "Read");
    set_record_status(BEGAN_S + 70);
    assert_string_equal(text_of_name("dig", "state"), "Read");
    set_record_status(BEGAN_S + 71);
    assert_string_equal(text_of_name("dig", "state"), "Synced");
    put_cluster("{'dnsPublicAddress':'198.51.100.8'}", "");
    set_record_status(BEGAN_S + 130);
    assert_string_equal(text_of_name("dig", "state"), "Written");
}

// What external-dns read is not what we wrote.
static void a_name_that_somebody_edits_is_not_called_read(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    struct value *tree = the_endpoint()->tree;
    value_put(arena, tree, "spec.endpoints", quote(arena, "[]"));
    read_endpoint();
    decide_site("dig");
    const struct value *name = value_at(site.decision.status, "names[0]", NULL);
    assert_true(!site.decision.status || text_is(value_text_at(name, "state"), "Written"));
}

static const struct value *endpoint_metadata(void)
{
    return value_find(the_endpoint()->tree, "metadata");
}

static void assert_json(const struct value *found, const char *expected)
{
    assert_string_equal(json_of(arena, found), json_of(arena, quote(arena, expected)));
}

static void assert_labels(const struct value *metadata, const char *project,
                          const char *publication)
{
    const char *labels = arena_printf(arena,
                                      "{'app.kubernetes.io/managed-by':'signpost','" DNS_GROUP
                                      "/project':'%s','" DNS_GROUP "/publication':'%s','" DNS_GROUP
                                      "/update-record':'public-a421a762'}",
                                      project, publication);
    assert_json(value_find(metadata, "labels"), labels);
}

static void an_object_says_whose_it_is(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    const struct value *metadata = endpoint_metadata();
    assert_labels(metadata, "0f94d09be3", "44fa0da1f8");
    assert_json(value_find(metadata, "annotations"),
                "{'" DNS_GROUP "/publication':'shop/dig','" DNS_GROUP
                "/update-record':'public','" DNS_GROUP "/project':'shop','" DNS_GROUP
                "/composite-app':'app','" DNS_GROUP "/version':'v1','" DNS_GROUP
                "/deployment-intent-group':'dig'}");
    assert_json(value_find(metadata, "ownerReferences"),
                "[{'apiVersion':'" DNS_GROUP "/v1alpha1','controller':true,'kind':"
                "'DNSPublication','name':'dig','uid':"
                "'00000000-0000-0000-0000-000000000005'}]");
}

static void an_object_stands_where_its_record_is(void **state)
{
    (void)state;
    put_projects();
    put_record_and_cloud();
    put_record("", ",'allowedProjects':['abroad']");
    put_foreign("2025-12-30T10:00:02Z");
    reconcile_site("foreign");
    const struct value *metadata = endpoint_metadata();
    assert_true(text_is(value_text_at(metadata, "namespace"), "shop"));
    assert_null(value_find(metadata, "ownerReferences"));
    assert_labels(metadata, "032a4bafaa", "9b76ddaa08");
    assert_json(value_find(metadata, "annotations"),
                "{'" DNS_GROUP "/publication':'abroad/foreign','" DNS_GROUP
                "/update-record':'public','" DNS_GROUP "/project':'abroad','" DNS_GROUP
                "/composite-app':'foreign','" DNS_GROUP "/version':'v1','" DNS_GROUP
                "/deployment-intent-group':'dig','" DNS_GROUP "/share-group':'abroad/blue'}");
}

// ---- objects that people remove -----------------------------------------------------------------

static void remove_object(void)
{
    struct text name = object_name(the_endpoint()->object);
    put_away(&dnsendpoint_kind, arena_copy(arena, name.at, name.len));
}

static void addresses_that_are_held_come_back_and_stay_no_longer_for_that(void **state)
{
    (void)state;
    put_usual();
    put_publication(WANTED ",'holdDown':'1h'");
    put_cluster("{'dnsPublicAddress':'198.51.100.7,2001:db8::7'}", "");
    reconcile_site("dig");
    put_cluster("{'x':'y'}", "");
    reconcile_site("dig");
    site.now_ms += 1800 * 1000;
    remove_object();
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300; AAAA 2001:db8::7 300");
    assert_string_equal(text_of_name("dig", "state"), "Held");
    site.now_ms += 1800 * 1000;
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(text_of_name("dig", "state"), "AddressPending");
}

static void addresses_that_are_held_come_back_into_an_object_that_is_emptied(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    put_cluster("{'x':'y'}", "");
    reconcile_site("dig");
    value_put(arena, the_endpoint()->tree, "spec.endpoints", quote(arena, "[]"));
    store_tree(the_endpoint());
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(text_of_name("dig", "state"), "Held");
}

static void addresses_that_are_held_are_put_back_where_somebody_changes_them(void **state)
{
    (void)state;
    put_usual();
    put_publication(WANTED ",'holdDown':'1h'");
    reconcile_site("dig");
    put_cluster("{'x':'y'}", "");
    reconcile_site("dig");
    site.now_ms += 1800 * 1000;
    value_put(arena, the_endpoint()->tree, "spec.endpoints",
              quote(arena, "[{'dnsName':'web.example.org','recordType':'A','recordTTL':300,"
                           "'targets':['203.0.113.66']},{'dnsName':'other.example.org',"
                           "'recordType':'A','recordTTL':300,'targets':['203.0.113.67']}]"));
    store_tree(the_endpoint());
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(text_of_name("dig", "state"), "Held");
    site.now_ms += 1800 * 1000;
    reconcile_site("dig");
    assert_string_equal(published(), "");
}

static void names_that_end_do_not_come_back(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    put_cluster("{'x':'y'}", "");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    put_publication(WANTED);
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(text_of_name("dig", "state"), "AddressPending");
}

static void a_service_does_not_come_by_the_addresses_of_another(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'dnsPublicAddress.web':'198.51.100.7'}", "");
    reconcile_site("dig");
    struct value *intent = at_site(&trafficgroupintent_kind, "traffic")->tree;
    value_put_text(arena, value_list_at(intent, "spec.inbound")->first, "serviceName", "other");
    store_tree(at_site(&trafficgroupintent_kind, "traffic"));
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(text_of_name("dig", "state"), "AddressPending");
}

// Two entries have one name, and the status does not tell them apart.
static void an_entry_without_address_does_not_come_by_those_of_another(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'dnsPublicAddress.web':'198.51.100.7'}", "");
    struct site_object *intent = at_site(&trafficgroupintent_kind, "traffic");
    struct value *inbound = value_at(intent->tree, "spec.inbound", NULL);
    struct value *second = value_copy(arena, inbound->first);
    value_put_text(arena, second, "name", "second");
    value_put_text(arena, second, "serviceName", "other");
    value_append(inbound, second);
    store_tree(intent);
    reconcile_site("dig");
    remove_object();
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
}

static void a_cluster_without_address_does_not_come_by_those_of_another(void **state)
{
    (void)state;
    put_two_clusters("{'dnsLocalAddress':'10.0.0.1'}", "{'x':'y'}", "");
    reconcile_site("dig");
    remove_object();
    put_cluster_named("one", "{'x':'y'}", LISTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 10.0.0.1 300");
}

#define SITE(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SITE(private_addresses_of_a_cluster_are_for_no_public_name),
        SITE(a_cluster_says_its_addresses_in_order),
        SITE(what_is_written_for_one_scope_is_for_no_other),
        SITE(the_gateway_of_a_mesh_counts_in_both_scopes),
        SITE(only_entries_with_support_and_a_name_are_published),
        SITE(a_cluster_reference_has_an_address_for_the_public_alone),
        SITE(a_cluster_that_is_not_read_has_what_is_written_alone),
        SITE(the_services_are_those_in_the_namespace_of_the_logical_cloud),
        SITE(the_oldest_has_the_name_and_the_others_are_told_of_it),
        SITE(a_share_group_has_the_name_with_the_ttl_of_its_first),
        SITE(a_share_group_ends_at_its_project),
        SITE(a_record_of_the_cloud_has_the_addresses_of_all_clusters),
        SITE(of_host_names_that_of_the_first_cluster_counts),
        SITE(a_record_of_two_clusters_has_an_object_for_each_with_one_ttl),
        SITE(a_name_of_two_clusters_is_of_one_kind),
        SITE(only_the_last_addresses_of_a_name_are_held),
        SITE(a_host_name_comes_when_the_addresses_of_others_are_gone),
        SITE(an_app_has_the_addresses_of_where_it_is_placed),
        SITE(a_record_of_another_project_is_used_where_it_allows_that),
        SITE(what_comes_stands_before_what_goes),
        SITE(a_name_is_read_and_then_synced),
        SITE(a_name_that_somebody_edits_is_not_called_read),
        SITE(an_object_says_whose_it_is),
        SITE(an_object_stands_where_its_record_is),
        SITE(addresses_that_are_held_come_back_and_stay_no_longer_for_that),
        SITE(addresses_that_are_held_come_back_into_an_object_that_is_emptied),
        SITE(addresses_that_are_held_are_put_back_where_somebody_changes_them),
        SITE(an_entry_without_address_does_not_come_by_those_of_another),
        SITE(a_cluster_without_address_does_not_come_by_those_of_another),
        SITE(another_record_may_have_a_name_of_another_kind),
        SITE(what_a_publication_names_is_found_by_its_emco_name),
        SITE(names_that_end_do_not_come_back),
        SITE(a_service_does_not_come_by_the_addresses_of_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
