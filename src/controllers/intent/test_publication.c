#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controllers/intent/test_site.h"

static const char *text_of_name(size_t at, const char *key)
{
    const struct value *name =
        value_at(status_of("dig"), arena_printf(arena, "names[%zu]", at), NULL);
    struct text text = value_text_at(name, key);
    return text.at ? arena_copy(arena, text.at, text.len) : "";
}

// ---- addresses ----------------------------------------------------------------------------------

#define SERVICE(type, status)                                                                      \
    "'spec':{'type':'" type                                                                        \
    "','clusterIPs':['10.96.0.7']},'status':{'loadBalancer':{'ingress':[" status "]}}"
#define NODE(ready, unschedulable)                                                                 \
    "'spec':{'unschedulable':" unschedulable "},'status':{'conditions':[{'type':'Ready',"          \
    "'status':'" ready "'}],'addresses':[{'type':'ExternalIP','address':'203.0.113.5'},"           \
    "{'type':'InternalIP','address':'10.0.0.5'}]}"

// The rows of the table of sources, each below all that come before it.
static void the_first_source_that_has_an_address_counts(void **state)
{
    static const struct {
        const char *pairs;
        const char *load_balancer;
        const char *service;
        const char *mesh;
        const char *record;
        const char *published;
    } rows[] = {
        {"{'dnsPublicAddress.web':'198.51.100.1'},{'dnsPublicAddress':'198.51.100.2'}", "", NULL,
         "", "", "A 198.51.100.1 300"},
        {"{'dnsPublicAddress':'198.51.100.2'},{'istioIngressGatewayAddress':'198.51.100.3'}", "",
         NULL, ",'serviceMesh':'istio'", "", "A 198.51.100.2 300"},
        {"{'istioIngressGatewayAddress':'198.51.100.3'}", ",'loadBalancerIP':'198.51.100.4'", NULL,
         ",'serviceMesh':'istio'", "", "A 198.51.100.3 300"},
        {"{'istioIngressGatewayAddress':'198.51.100.3'}", ",'loadBalancerIP':'198.51.100.4'", NULL,
         "", "", "A 198.51.100.4 300"},
        {"{'x':'y'}", ",'loadBalancerIP':'0.0.0.0'",
         SERVICE("LoadBalancer", "{'ip':'198.51.100.5'},{'ip':'2001:db8::5'}"), "", "",
         "A 198.51.100.5 300; AAAA 2001:db8::5 300"},
        {"{'x':'y'}", "", SERVICE("LoadBalancer", "{'ip':'10.0.0.9'}"), "", "", ""},
        {"{'x':'y'}", "", SERVICE("LoadBalancer", "{'ip':'10.0.0.9'}"), "", ",'allowPrivate':true",
         "A 10.0.0.9 300"},
        {"{'x':'y'}", "", SERVICE("LoadBalancer", "{'hostname':'lb.example.net.'}"), "", "",
         "CNAME lb.example.net 300"},
        {"{'x':'y'}", "", SERVICE("NodePort", ""), "", "", "A 203.0.113.5 300"},
        {"{'x':'y'}", "", SERVICE("ClusterIP", ""), "", "", ""},
        {"{'dnsPublicAddress':'10.0.0.1'}", "", NULL, "", ",'ttl':60", "A 10.0.0.1 60"},
        {"{'dnsPublicAddress':' 198.51.100.9 ,lb.example.net, 198.51.100.8'}", "", NULL, "", "",
         "A 198.51.100.8 198.51.100.9 300"},
        {"{'dnsPublicAddress':'b.example.net,a.example.net'}", "", NULL, "", "",
         "CNAME b.example.net 300"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        close_site(NULL);
        open_site(state);
        put_usual();
        put_record("", rows[i].record);
        put_cluster(rows[i].pairs, ",'local':true");
        put_cloud(rows[i].load_balancer, LISTED);
        put_intent("shop.example.org", rows[i].mesh);
        put(&node_kind, "node-1", NODE("True", "false"));
        put(&node_kind, "node-2", NODE("False", "false"));
        put(&node_kind, "node-3", NODE("True", "true"));
        if (rows[i].service)
            put(&service_kind, "web", rows[i].service);
        reconcile_site("dig");
        assert_string_equal(published(), rows[i].published);
        assert_string_equal(text_of_name(0, "state"),
                            *rows[i].published ? "Written" : "AddressPending");
    }
}

static void a_record_that_a_cluster_lists_has_its_local_addresses(void **state)
{
    static const struct {
        const char *pairs;
        const char *service;
        const char *published;
    } rows[] = {
        {"{'dnsLocalAddress.web':'10.1.0.1'},{'dnsLocalAddress':'10.1.0.2'}", NULL,
         "A 10.1.0.1 300"},
        {"{'dnsLocalAddress':'10.1.0.2'},{'dnsTTL':'120'}", NULL, "A 10.1.0.2 120"},
        {"{'dnsPublicAddress':'198.51.100.2'}", SERVICE("NodePort", ""), "A 10.0.0.5 300"},
        {"{'x':'y'}", SERVICE("ClusterIP", ""), "A 10.96.0.7 300"},
        {"{'x':'y'}", SERVICE("LoadBalancer", "{'ip':'10.0.0.9'}"), "A 10.0.0.9 300"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        close_site(NULL);
        open_site(state);
        put_usual();
        put_cloud("", "");
        put_cluster(arena_printf(arena, "%s]},{'name':'dns-update-record-list','kv':[" LISTED,
                                 rows[i].pairs),
                    ",'local':true");
        put(&node_kind, "node-1", NODE("True", "false"));
        if (rows[i].service)
            put(&service_kind, "web", rows[i].service);
        reconcile_site("dig");
        assert_string_equal(published(), rows[i].published);
        assert_string_equal(text_of_name(0, "cluster"), "vendor/one");
    }
}

static void addresses_and_host_names_together_are_told(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'dnsPublicAddress':'198.51.100.9,lb.example.net'}", "");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "reason"), "MixedTargets");
    assert_string_equal(text_of_name(0, "state"), "Written");
}

static void a_private_address_that_is_written_for_the_public_is_told(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'dnsPublicAddress':'198.51.100.9,10.0.0.7'}", "");
    reconcile_site("dig");
    assert_string_equal(published(), "A 10.0.0.7 198.51.100.9 300");
    assert_string_equal(text_of_name(0, "reason"), "PrivateTarget");
    assert_non_null(strstr(text_of_name(0, "message"), "10.0.0.7 is a private address"));
    put_cluster("{'dnsPublicAddress':'198.51.100.9'}", "");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "reason"), "");
}

static void what_a_name_was_warned_of_does_not_hinder_its_end(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'dnsPublicAddress':'10.0.0.7'}", "");
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    decide_site("dig");
    assert_true(text_is(value_text_at(site.decision.status, "state"), "Terminating"));
    assert_null(value_at(site.decision.status, "names[0].reason", NULL));
}

static void an_alias_that_coredns_mistakes_is_told(void **state)
{
    static const struct {
        const char *record;
        const char *target;
        const char *reason;
    } rows[] = {
        {"'provider':'coredns'", "lb.example.net", "AliasWithText"},
        {"'provider':'coredns'", "198.51.100.9", ""},
        {"'provider':'coredns','external-dns-parameters':{'registry':'noop'}", "lb.example.net",
         ""},
        {"'provider':'aws'", "lb.example.net", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_usual();
        put(&dnsupdaterecord_kind, "public", arena_printf(arena, "'spec':{%s}", rows[i].record));
        put_cluster(arena_printf(arena, "{'dnsPublicAddress':'%s'}", rows[i].target), "");
        reconcile_site("dig");
        assert_string_equal(text_of_name(0, "reason"), rows[i].reason);
    }
}

// ---- holding ------------------------------------------------------------------------------------

static void a_target_that_cannot_be_is_told_and_the_others_are_published(void **state)
{
    static const struct {
        const char *targets;
        const char *published;
        const char *state;
        const char *reason;
    } rows[] = {
        {"300.1.1.1", "", "Invalid", "InvalidTarget"},
        {"a b.example.net", "", "Invalid", "InvalidTarget"},
        {"a..example.net", "", "Invalid", "InvalidTarget"},
        {"198.51.100.7,300.1.1.1", "A 198.51.100.7 300", "Written", "InvalidTarget"},
        {"0.0.0.0", "", "Invalid", "InvalidTarget"},
        {"224.0.0.1", "", "Invalid", "InvalidTarget"},
        {"255.255.255.255", "", "Invalid", "InvalidTarget"},
        {"::", "", "Invalid", "InvalidTarget"},
        {"ff02::1, 198.51.100.7", "A 198.51.100.7 300", "Written", "InvalidTarget"},
        {"127.0.0.1", "A 127.0.0.1 300", "Written", "PrivateTarget"},
        {"fe80::1", "AAAA fe80::1 300", "Written", "PrivateTarget"},
        {"Shop.Example.org.", "", "Invalid", "InvalidTarget"},
        {"shop.example.org, lb.example.net", "CNAME lb.example.net 300", "Written",
         "InvalidTarget"},
        {"2001:DB8::0:5,2001:db8::5", "AAAA 2001:db8::5 300", "Written", ""},
        {"LB.example.net.,lb.example.net", "CNAME lb.example.net 300", "Written", ""},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        close_site(NULL);
        open_site(state);
        put_usual();
        put_cluster(arena_printf(arena, "{'dnsPublicAddress':'%s'}", rows[i].targets), "");
        reconcile_site("dig");
        assert_string_equal(published(), rows[i].published);
        assert_string_equal(text_of_name(0, "state"), rows[i].state);
        assert_string_equal(text_of_name(0, "reason"), rows[i].reason);
    }
}

static void the_last_addresses_stay_for_ever_or_for_the_time_that_is_asked_for(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    put_cluster("{'x':'y'}", "");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(text_of_name(0, "state"), "Held");
    assert_string_equal(condition_of(arena, status_of("dig"), "AddressesReady"), "False/Held");
    site.now_ms += 1000LL * 3600 * 24 * 365;
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    put_publication(WANTED ",'holdDown':'1h'");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(text_of_name(0, "state"), "AddressPending");
}

static void held_addresses_go_at_their_time_and_are_forgotten_when_others_come(void **state)
{
    (void)state;
    put_usual();
    put_publication(WANTED ",'holdDown':'1h'");
    reconcile_site("dig");
    put_cluster("{'x':'y'}", "");
    reconcile_site("dig");
    assert_int_equal(site.decision.wake_ms, site.now_ms + 3600 * 1000);
    put_cluster("{'dnsPublicAddress':'198.51.100.8'}", "");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.8 300");
    site.now_ms += 1800 * 1000;
    put_cluster("{'x':'y'}", "");
    reconcile_site("dig");
    assert_int_equal(site.decision.wake_ms, site.now_ms + 3600 * 1000);
    site.now_ms += 3600 * 1000;
    reconcile_site("dig");
    assert_string_equal(published(), "");
}

// ---- lists --------------------------------------------------------------------------------------

static void what_is_wrong_in_a_list_is_told_and_the_others_count(void **state)
{
    static const struct {
        const char *list;
        const char *condition;
        const char *part;
    } rows[] = {
        {"", "False/NoProvider", "lists a DNSUpdateRecord"},
        {"{'a':'gone'}," LISTED, "False/RecordNotFound", "kv[0] a of logical cloud cloud"},
        {"{'a':7}," LISTED, "False/NotAString", "kv[0] a of logical cloud cloud is no text"},
        {"{'a':'a/b/c'}," LISTED, "False/RecordNotFound", "names no record"},
        {"{'a':'other/public'}," LISTED, "False/RecordNotFound", "other/public"},
        {"{'a':'gone'},{'b':7}," LISTED, "False/RecordNotFound",
         "kv[1] b of logical cloud cloud is no text"},
        {"{'a':'v'},{'b':'w'},{'c':'x'},{'d':'y'},{'e':'z'},{'f':'q'}," LISTED,
         "False/RecordNotFound", "; and 2 more"},
    };
    (void)state;
    put_usual();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_cloud("", rows[i].list);
        reconcile_site("dig");
        assert_string_equal(condition_of(arena, status_of("dig"), "Published"), rows[i].condition);
        assert_non_null(strstr(message_of(arena, status_of("dig"), "Published"), rows[i].part));
        assert_string_equal(published(), *rows[i].list ? "A 198.51.100.7 300" : "");
    }
}

static void a_record_in_both_lists_counts_for_the_logical_cloud(void **state)
{
    (void)state;
    put_usual();
    put_cluster("{'dnsPublicAddress':'198.51.100.7'},{'dnsLocalAddress':'10.0.0.1'}]},"
                "{'name':'dns-update-record-list','kv':[" LISTED,
                "");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"), "False/ScopeConflict");
}

// ---- names --------------------------------------------------------------------------------------

static void a_name_that_cannot_be_is_told_with_its_reason(void **state)
{
    static const struct {
        const char *name;
        const char *parameters;
        const char *reason;
    } rows[] = {
        {"a..example.org", "", "InvalidName"},
        {"a b.example.org", "", "InvalidName"},
        {"www.example.net", "", "OutsideDomainFilter"},
        {"www.shop.example.org", ",'exclude-domains':'shop.example.org'", "OutsideDomainFilter"},
        {"a23456789012345678901234567890123456789012345678901234567890123.example.org", "",
         "NameTooLongForRegistry"},
        {"a23456789012345678901234567890123456789012345678901234567890123.example.org",
         ",'registry':'noop'", ""},
        {"*.example.org", "", ""},
        {"B\xc3\xbc"
         "cher.example.org.",
         "", ""},
    };
    (void)state;
    put_usual();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_record(rows[i].parameters, "");
        put_intent(rows[i].name, "");
        reconcile_site("dig");
        assert_string_equal(text_of_name(0, "reason"), rows[i].reason);
        assert_string_equal(published(), *rows[i].reason ? "" : "A 198.51.100.7 300");
    }
}

// External-dns would ask for its ownership record in one UPDATE with its neighbours, and the server
// refuses all of them.
static void what_cannot_stand_at_an_apex_is_invalid_alone(void **state)
{
    static const struct {
        const char *parameters;
        const char *address;
        const char *message; // NULL: it can
    } rows[] = {
        {"", "198.51.100.7",
         "its ownership record would be a-example.org, outside of the zone example.org: set a "
         "TXT prefix that has %{record_type} in it and ends in a dot, such as %{record_type}.own."},
        {",'txt-suffix':'-own'", "198.51.100.7", "its ownership record would be a-example-own.org"},
        {",'txt-prefix':'%{record_type}.own.'", "198.51.100.7", NULL},
        {",'registry':'noop'", "198.51.100.7", NULL},
        {",'registry':'noop'", "lb.example.net",
         "a host name cannot stand at the apex of the zone example.org: give an address"},
        {",'rfc2136-zone':['example.org','org']", "198.51.100.7", "its ownership record"},
        {",'rfc2136-zone':'org'", "198.51.100.7", NULL},
    };
    (void)state;
    put_usual();
    put_intent("example.org", "");
    for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
        size_t at = i / 2;
        put_record(rows[at].parameters, i % 2 ? ",'engine':'native'" : "");
        put_cluster(arena_printf(arena, "{'dnsPublicAddress':'%s'}", rows[at].address), "");
        reconcile_site("dig");
        assert_int_equal(*published() != 0, !rows[at].message);
        assert_int_equal(*claimed() != 0, !rows[at].message && i % 2);
        if (!rows[at].message)
            continue;
        assert_string_equal(text_of_name(0, "state"), "Invalid");
        assert_string_equal(text_of_name(0, "reason"), "ValidationFailed");
        assert_non_null(strstr(text_of_name(0, "message"), rows[at].message));
    }
}

// ---- writing ------------------------------------------------------------------------------------

static void the_record_is_written_ahead_of_the_first_endpoint(void **state)
{
    (void)state;
    put_usual();
    decide_site("dig");
    assert_int_equal(site.decision.finalizer, FINALIZER_ADD);
    assert_int_equal(site.decision.object_count, 0);
    reconcile_site("dig");
    assert_int_equal(site.writes, 1);
    assert_true(text_is(value_text_at(status_of("dig"), "records[0].name"), "public"));
    reconcile_site("dig");
    assert_int_equal(site.writes, 0);
}

static void an_endpoint_that_somebody_edits_is_put_back(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    struct site_object *endpoint = &site.objects[site.count - 1]; // made last
    value_put(arena, endpoint->tree, "spec.endpoints", quote(arena, "[]"));
    store_tree(endpoint);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    value_put(arena, endpoint->tree, "metadata.labels", quote(arena, "{'a':'b'}"));
    store_tree(endpoint);
    reconcile_site("dig");
    assert_int_equal(site.writes, 1);
}

static void without_the_cloud_what_stands_stays(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    put_away(&logicalcloud_kind, "cloud");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(condition_of(arena, status_of("dig"), "Accepted"),
                        "False/LogicalCloudNotFound");
    assert_string_equal(condition_of(arena, status_of("dig"), "AddressesReady"),
                        "Unknown/LogicalCloudNotFound");
    assert_int_equal(value_count(value_at(status_of("dig"), "names", NULL)), 1);
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(published(), "");
}

static void without_the_kind_nothing_is_written_and_it_is_told(void **state)
{
    (void)state;
    put_usual();
    site.has_no_endpoints = true;
    reconcile_site("dig");
    assert_int_equal(site.writes, 0);
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"), "False/CRDMissing");
}

// ---- draining -----------------------------------------------------------------------------------

#define AVAILABLE(status, reason)                                                                  \
    "{'type':'DeploymentAvailable','status':'" status "','reason':'" reason                        \
    "','message':'','lastTransitionTime':'2025-12-30T09:00:00Z'}"
#define SYNCED(status, reason)                                                                     \
    ",{'type':'Synced','status':'" status "','reason':'" reason                                    \
    "','message':'','lastTransitionTime':'2025-12-30T09:00:00Z'}"

static void set_record_status(const char *conditions, int64_t sync_s)
{
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    struct value *status =
        quote(arena, arena_printf(arena, "{'deployment':'external-dns-public','conditions':[%s]}",
                                  conditions));
    if (sync_s)
        value_put(arena, status, "lastSyncTime", status_time_make(arena, sync_s));
    value_set(record->tree, TEXT("status"), status);
    store_tree(record);
}

static const char *drained(void)
{
    return condition_of(arena, status_of("dig"), "Drained");
}

static const char *state_of_dig(void)
{
    struct text state = value_text_at(status_of("dig"), "state");
    return arena_copy(arena, state.at, state.len);
}

static void assert_retained(const char *expected)
{
    assert_string_equal(json_of(arena, value_find(status_of("dig"), "retained")), expected);
}

static void publish_and_terminate(const char *conditions)
{
    put_usual();
    set_record_status(conditions, BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(published(), "");
}

// ---- the state of the whole ---------------------------------------------------------------------

static void assert_state(const char *state, const char *condition)
{
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), state);
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"), condition);
}

static void a_publication_goes_from_created_to_terminated_and_back(void **state)
{
    (void)state;
    put_usual();
    put_publication("'desired':'Created'");
    assert_state("Created", "False/NotInstantiated");
    value_put_text(arena, at_site(&dnspublication_kind, "dig")->tree,
                   "metadata.annotations[" DNSPUBLICATION_APPROVED_ANNOTATION "]", "true");
    store_tree(at_site(&dnspublication_kind, "dig"));
    assert_state("Approved", "False/NotInstantiated");
    put_publication(WANTED);
    put_cluster("{'x':'y'}", "");
    assert_state("Instantiating", "False/AddressPending");
    put_cluster("{'dnsPublicAddress':'198.51.100.7'}", "");
    assert_state("Instantiating", "False/Progressing"); // external-dns has yet to come
    assert_string_equal(text_of_name(0, "state"), "Written");
    set_record_status(AVAILABLE("False", "CrashLoop"), 0);
    assert_state("Instantiating", "False/CrashLoop");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    assert_state("Instantiated", "True/Published");
    put_cloud("", ""); // only the names of that list are drained
    assert_state("Updating", "False/NoProvider");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 60);
    reconcile_site("dig");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 120);
    assert_state("Instantiated", "False/NoProvider");
    put_cloud("", LISTED);
    assert_state("Instantiated", "True/Published");
    put_publication("'desired':'Terminated'");
    assert_state("Terminating", "False/Draining");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 180);
    reconcile_site("dig");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 240);
    assert_state("Terminated", "False/NotInstantiated");
    put_publication(WANTED);
    assert_state("Instantiated", "True/Published");
}

static void nothing_is_told_as_published_before_it_is_written(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    put(&dnsupdaterecord_kind, "native",
        "'spec':{'provider':'rfc2136','engine':'native','external-dns-parameters':{"
        "'rfc2136-host':'192.0.2.53','rfc2136-insecure':true,'rfc2136-zone':'example.org'}},"
        "'status':{'conditions':[" AVAILABLE("True", "Unused") "]}");
    put_cloud("", "{'one':'native'}");
    struct site_object *publication = at_site(&dnspublication_kind, "dig");
    value_put(arena, publication->tree, "metadata.finalizers",
              quote(arena, "['" INTENT_PUBLICATION_FINALIZER "']"));
    store_tree(publication);
    decide_site("dig");
    assert_int_equal(site.decision.object_count, 0); // the record is written ahead
    assert_string_equal(condition_of(arena, site.decision.status, "Published"),
                        "False/Progressing");
    assert_int_equal(site.decision.event_count, 0);
    assert_state("Instantiated", "True/Published");
}

static void what_the_store_refuses_fails_and_is_tried_again(void **state)
{
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    put_cluster("{'dnsPublicAddress':'198.51.100.8'}", "");
    error_set(&site.refused, FAULT_AUTH, "Forbidden", "dnsendpoints is forbidden");
    decide_site("dig");
    assert_int_equal(site.decision.object_count, 1);
    assert_true(text_is(value_text_at(site.decision.status, "state"), "InstantiateFailed"));
    assert_string_equal(condition_of(arena, site.decision.status, "Published"), "False/Forbidden");
    for (int i = 0; i < 2; i++) { // what stands is told
        const struct value *name = value_at(site.decision.status, "names[0]", NULL);
        assert_true(text_is(value_text_at(name, "name"), "shop.example.org"));
        assert_true(text_is(value_text_at(name, "reason"), "Forbidden"));
        assert_true(text_is(value_text(value_at(name, "targets[0]", NULL)), "198.51.100.7"));
        put_intent("other.example.org", "");
        decide_site("dig");
    }
    put_intent("shop.example.org", "");
    put_publication("'desired':'Terminated'");
    decide_site("dig");
    assert_int_equal(site.decision.object_count, 1);
    assert_true(text_is(value_text_at(site.decision.status, "state"), "TerminateFailed"));
    site.refused = (struct error){0};
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(state_of_dig(), "Terminating");
}

static void two_synchronizations_after_the_last_endpoint_went_are_the_proof(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("True", "Synced"));
    assert_string_equal(state_of_dig(), "Terminating");
    assert_string_equal(drained(), "False/Draining");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 60);
    reconcile_site("dig");
    reconcile_site("dig");
    assert_string_equal(drained(), "False/Draining");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 120);
    reconcile_site("dig");
    assert_string_equal(drained(), "True/Drained");
    assert_string_equal(state_of_dig(), "Terminated");
    put_publication(WANTED);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
}

static const struct decision_sample *find_drains(void)
{
    for (size_t i = 0; i < site.decision.sample_count; i++)
        if (site.decision.samples[i].metric == &intent_metrics[INTENT_DRAIN_METRIC])
            return &site.decision.samples[i];
    return NULL;
}

static void a_drain_is_timed_once_when_it_ends(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("True", "Synced"));
    assert_null(find_drains());
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 60);
    reconcile_site("dig");
    assert_null(find_drains());
    site.now_ms += 120 * 1000;
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 120);
    decide_site("dig");
    assert_non_null(find_drains());
    assert_int_equal(find_drains()->value, 120);
    assert_int_equal(find_drains()->times, 1);
    reconcile_site("dig");
    assert_null(find_drains());
}

static void names_that_stay_are_no_drain(void **state)
{
    (void)state;
    put_usual();
    put_record(",'policy':'upsert-only'", "");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    for (int round = 0; round < 3; round++) {
        decide_site("dig");
        assert_null(find_drains());
        for (size_t i = 0; i < site.decision.object_count; i++)
            carry_out(&site.decision.objects[i]);
    }
}

static void a_record_that_comes_back_into_use_begins_anew(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("True", "Synced"));
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S + 60);
    reconcile_site("dig");
    put_publication(WANTED);
    reconcile_site("dig");
    assert_null(value_at(status_of("dig"), "records[0].syncs", NULL));
    assert_string_equal(published(), "A 198.51.100.7 300");
}

static void without_metrics_two_intervals_of_readiness_are_believed(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("Unknown", "NotScraped"));
    assert_string_equal(drained(), "False/Draining");
    assert_int_equal(site.decision.wake_ms, site.now_ms + 150 * 1000);
    site.now_ms += 150 * 1000;
    reconcile_site("dig");
    assert_string_equal(drained(), "True/DrainAssumed");
}

// Its Deployment is changed when a publication ends, too: its users are noted there.
static void while_external_dns_is_rolled_out_the_drain_waits(void **state)
{
    (void)state;
    publish_and_terminate(
        "{'type':'DeploymentAvailable','status':'False','reason':'Progressing','message':'',"
        "'lastTransitionTime':'2025-12-30T10:00:00Z'}" SYNCED("True", "Synced"));
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_put(arena, record->tree, "metadata.annotations",
              quote(arena, "{'" ABANDON_ANNOTATION "':'true'}"));
    store_tree(record);
    reconcile_site("dig");
    assert_string_equal(drained(), "False/Draining");
    assert_int_equal(site.decision.wake_ms, site.now_ms + 30 * 1000);
    site.now_ms += 30 * 1000;
    reconcile_site("dig");
    assert_string_equal(drained(), "False/RecordsRetained");
}

static void without_external_dns_nothing_is_proven_unless_people_say_so(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("False", "CrashLoop") SYNCED("Unknown", "NotScraped"));
    assert_string_equal(drained(), "False/DrainBlocked");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"),
                           "or set the annotation " ABANDON_ANNOTATION ": \"true\""));
    site.now_ms += 1000LL * 3600 * 24;
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "TerminateFailed");
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_put(arena, record->tree, "metadata.annotations",
              quote(arena, "{'" ABANDON_ANNOTATION "':'true'}"));
    store_tree(record);
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminated");
    assert_string_equal(drained(), "False/RecordsRetained");
}

static void what_an_external_dns_cannot_remove_stays_when_people_say_so(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("False", "SyncFailing"));
    assert_string_equal(drained(), "False/SyncFailing");
    assert_string_equal(state_of_dig(), "TerminateFailed");
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_put(arena, record->tree, "metadata.annotations",
              quote(arena, "{'" ABANDON_ANNOTATION "':'true'}"));
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(drained(), "False/Draining");
    set_record_status(AVAILABLE("True", "Available") SYNCED("False", "SyncFailing"), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminated");
    assert_string_equal(drained(), "False/RecordsRetained");
}

static void a_policy_that_removes_nothing_ends_at_once_and_is_told(void **state)
{
    (void)state;
    put_usual();
    put_record(",'policy':'upsert-only'", "");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminated");
    assert_string_equal(drained(), "False/RecordsRetained");
    assert_retained("[{\"namespace\":\"shop\",\"name\":\"public\",\"names\":"
                    "[\"shop.example.org\"],\"message\":\"its policy removes nothing\"}]");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"),
                           "shop.example.org of DNSUpdateRecord shop/public stay"));
    put_intent("other.example.org", "");
    put_publication(WANTED);
    reconcile_site("dig");
    assert_string_equal(drained(), "False/RecordsRetained"); // the first name still stays
    put_intent("shop.example.org", "");
    reconcile_site("dig");
    assert_string_equal(drained(), "");
    assert_retained("null");
}

static void what_external_dns_cannot_list_stays_and_is_told(void **state)
{
    (void)state;
    put_usual();
    put_record(",'rfc2136-tsig-axfr':false", "");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(drained(), "False/RecordsRetained");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"),
                           "without rfc2136-tsig-axfr external-dns lists nothing"));
}

// Each of its synchronizations counts as a success.
static void a_zone_that_external_dns_cannot_list_proves_nothing(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("False", "SyncFailing"));
    for (int i = 1; i <= 4; i++) {
        set_record_status(AVAILABLE("True", "Available") SYNCED("False", "SyncFailing"),
                          BEGAN_S + 60 * i);
        reconcile_site("dig");
        assert_string_equal(drained(), "False/SyncFailing");
        assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"),
                               "DNSUpdateRecord shop/public can't do its work"));
    }
    for (int i = 5; i <= 6; i++) {
        set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"),
                          BEGAN_S + 60 * i);
        reconcile_site("dig");
    }
    assert_string_equal(drained(), "True/Drained");
}

static void what_the_servers_answer_for_other_names_hinders_no_proof(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("False", "Mismatch"));
    for (int i = 1; i <= 2; i++) {
        set_record_status(AVAILABLE("True", "Available") SYNCED("False", "Mismatch"),
                          BEGAN_S + 60 * i);
        reconcile_site("dig");
    }
    assert_string_equal(drained(), "True/Drained");
}

static void a_publication_that_is_deleted_says_which_names_stay(void **state)
{
    (void)state;
    put_usual();
    put_record(",'policy':'create-only'", "");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    struct site_object *publication = at_site(&dnspublication_kind, "dig");
    value_put_text(arena, publication->tree, "metadata.deletionTimestamp", "2025-12-30T10:00:30Z");
    store_tree(publication);
    decide_site("dig");
    carry_out(&site.decision.objects[0]);
    decide_site("dig"); // the status of the decision before was not written
    assert_int_equal(site.decision.finalizer, FINALIZER_REMOVE);
    assert_int_equal(site.decision.event_count, 1);
    assert_string_equal(site.decision.events[0].reason, "RecordsRetained");
    assert_non_null(strstr(site.decision.events[0].text, "shop.example.org"));
}

static void a_dry_run_that_comes_later_removes_nothing_and_says_so(void **state)
{
    (void)state;
    for (int is_native = 0; is_native < 2; is_native++) {
        const char *engine = is_native ? ",'engine':'native'" : "";
        close_site(NULL);
        open_site(state);
        put_usual();
        put_record("", engine);
        set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
        if (is_native)
            put_record("", engine);
        reconcile_site("dig");
        put_record(",'dry-run':true", engine);
        reconcile_site("dig");
        put_publication("'desired':'Terminated'");
        reconcile_site("dig");
        assert_string_equal(drained(), "False/RecordsRetained");
        assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"), "shop.example.org"));
        assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"), "dry run"));
    }
}

static void a_record_that_is_gone_takes_along_whoever_would_remove_names(void **state)
{
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    put_away(&dnsupdaterecord_kind, "public"); // somebody took its finalizer away
    reconcile_site("dig");
    assert_string_equal(drained(), "False/RecordsRetained");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"), "shop.example.org"));
}

static void a_folder_has_nobody_who_drains(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("Unknown", "NotACluster"));
    assert_string_equal(state_of_dig(), "Terminated");
    assert_string_equal(drained(), "True/Drained");
}

static void a_record_that_moves_is_left_and_used_again(void **state)
{
    static const char moving[] =
        ",{'type':'Moving','status':'True','reason':'Draining','message':'',"
        "'lastTransitionTime':'2025-12-30T09:00:00Z'}";
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available"), BEGAN_S);
    reconcile_site("dig");
    set_record_status(arena_printf(arena, AVAILABLE("True", "Available") "%s", moving), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(published(), "");
    set_record_status(AVAILABLE("True", "Available"), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
}

// People whose record only moves need not let names stay for good.
static void a_move_that_is_blocked_names_the_annotation_of_moves(void **state)
{
    static const char moving[] = ",{'type':'Moving','status':'True','reason':'Moving','message':'',"
                                 "'lastTransitionTime':'2025-12-30T09:00:00Z'}";
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available"), BEGAN_S);
    reconcile_site("dig");
    set_record_status(arena_printf(arena, AVAILABLE("False", "CrashLoop") "%s", moving), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(drained(), "False/DrainBlocked");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"),
                           "or set the annotation " MOVE_ANNOTATION ": abandon"));
}

// Names are absent while their record moves, and that is told.
static void names_of_a_record_that_moves_are_not_called_written(void **state)
{
    static const char moving[] = ",{'type':'Moving','status':'True','reason':'Moving','message':'',"
                                 "'lastTransitionTime':'2025-12-30T09:00:00Z'}";
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available"), BEGAN_S);
    reconcile_site("dig");
    set_record_status(arena_printf(arena, AVAILABLE("True", "Available") "%s", moving), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(text_of_name(0, "state"), "Removing");
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"), "False/Moving");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Published"), "absent"));
    assert_string_equal(state_of_dig(), "Updating");
}

static void an_endpoint_that_somebody_removes_comes_back(void **state)
{
    (void)state;
    put_usual();
    reconcile_site("dig");
    site.objects[site.count - 1].tree = NULL; // the DNSEndpoint, made last
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
}

#define BOTH "{'one':'public','two':'second'}"

static void a_record_that_leaves_a_list_takes_only_its_own_names(void **state)
{
    (void)state;
    put_usual();
    put(&dnsupdaterecord_kind, "second",
        "'spec':{'provider':'rfc2136','external-dns-parameters':{'rfc2136-host':'192.0.2.54',"
        "'rfc2136-insecure':true,'domain-filter':'example.org','rfc2136-zone':'example.org'}}");
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    put_cloud("", BOTH);
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300; A 198.51.100.7 300");
    put_cloud("", "{'two':'second'}");
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(drained(), "False/Draining");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"), "shop/public"));
    assert_string_equal(text_of_name(0, "record"), "second");
    for (int i = 1; i <= 2; i++) {
        set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"),
                          BEGAN_S + 60 * i);
        reconcile_site("dig");
    }
    assert_int_equal(value_count(value_find(status_of("dig"), "records")), 1);
}

static void a_list_that_goes_takes_its_names_along_with_proof(void **state)
{
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    put_cloud("", "");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"), "False/NoProvider");
    assert_string_equal(drained(), "False/Draining");
    assert_string_equal(state_of_dig(), "Updating");
    for (int i = 1; i <= 2; i++) {
        set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"),
                          BEGAN_S + 60 * i);
        reconcile_site("dig");
    }
    assert_null(value_at(status_of("dig"), "records[0]", NULL));
    assert_string_equal(state_of_dig(), "Instantiated");
}

static void readiness_that_is_lost_begins_the_two_intervals_anew(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("Unknown", "NotScraped"));
    site.now_ms += 140 * 1000;
    set_record_status(AVAILABLE("False", "CrashLoop") SYNCED("Unknown", "NotScraped"), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(drained(), "False/DrainBlocked");
    set_record_status(
        "{'type':'DeploymentAvailable','status':'True','reason':'Available',"
        "'message':'','lastTransitionTime':'2025-12-30T10:02:20Z'}" SYNCED("Unknown", "NotScraped"),
        BEGAN_S);
    site.now_ms += 20 * 1000;
    reconcile_site("dig");
    assert_string_equal(drained(), "False/Draining");
    assert_int_equal(site.decision.wake_ms, (BEGAN_S + 140 + 150) * 1000LL);
}

// External-dns has synchronized, and still reads names that are no more.
static void a_synchronization_with_names_of_before_is_no_proof(void **state)
{
    static const char lagging[] =
        ",{'type':'Draining','status':'True','reason':'SourceLagging','message':'',"
        "'lastTransitionTime':'2025-12-30T09:00:00Z'}";
    (void)state;
    publish_and_terminate(AVAILABLE("True", "Available") SYNCED("True", "Synced"));
    for (int i = 1; i <= 3; i++) {
        set_record_status(arena_printf(arena,
                                       AVAILABLE("True", "Available") SYNCED("True", "Synced") "%s",
                                       lagging),
                          BEGAN_S + 60 * i);
        reconcile_site("dig");
        assert_string_equal(drained(), "False/Draining");
    }
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"), "still reads"));
    for (int i = 4; i <= 5; i++) {
        set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"),
                          BEGAN_S + 60 * i);
        reconcile_site("dig");
    }
    assert_string_equal(drained(), "True/Drained");
}

static void a_name_that_a_filter_leaves_out_is_not_called_gone(void **state)
{
    static const char running[] = AVAILABLE("True", "Available") SYNCED("True", "Synced");
    (void)state;
    for (int has_other = 0; has_other < 2; has_other++) {
        close_site(NULL);
        open_site(state);
        put_usual();
        if (has_other)
            put(&trafficgroupintent_kind, "more",
                "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'dig',"
                "'inbound':[{'name':'in','app':'front','appLabel':'app=front','serviceName':'web',"
                "'port':443,'protocol':'TCP','externalName':'www.example.org',"
                "'externalSupport':true}]}");
        set_record_status(running, BEGAN_S);
        reconcile_site("dig");
        put_record(",'exclude-domains':'shop.example.org'", "");
        for (int i = 0; i <= 2; i++) {
            set_record_status(running, BEGAN_S + 60 * i);
            reconcile_site("dig");
        }
        assert_string_equal(published(), has_other ? "A 198.51.100.7 300" : "");
        assert_string_equal(drained(), "False/RecordsRetained");
        assert_retained("[{\"namespace\":\"shop\",\"name\":\"public\",\"names\":["
                        "\"shop.example.org\"],\"message\":\"they are outside of its "
                        "domain-filter now, so external-dns leaves them alone\"}]");
        put_record("", ""); // it sees them again
        set_record_status(running, BEGAN_S + 120);
        reconcile_site("dig");
        assert_null(value_at(status_of("dig"), "retained[0]", NULL));
    }
}

// ---- engine: native -----------------------------------------------------------------------------

static void a_native_name_is_claimed_when_its_object_stands(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    site.outcome = RECEIPT_WAITING;
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
    assert_string_equal(text_of_name(0, "state"), "Written");
    site.failure = "192.0.2.53:53 does not answer";
    reconcile_site("dig");
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "reason"), "ServerUnreachable");
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"),
                        "False/ServerUnreachable");
    site.failure = NULL;
    site.outcome = RECEIPT_SETTLED;
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "state"), "Synced");
}

static void a_native_name_that_is_warned_of_is_published(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_set(record->tree, TEXT("status"),
              quote(arena, "{'conditions':[" AVAILABLE("True", "Unused") "]}"));
    store_tree(record);
    put_cluster("{'dnsPublicAddress':'10.0.0.7'}", "");
    reconcile_site("dig");
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "state"), "Synced");
    assert_string_equal(text_of_name(0, "reason"), "PrivateTarget");
    assert_state("Instantiated", "True/Published");
}

static void a_native_object_goes_behind_its_name(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    site.outcome = RECEIPT_WAITING;
    reconcile_site("dig");
    assert_string_equal(claimed(), "REMOVE A shop example.org");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(state_of_dig(), "Terminating");
    site.outcome = RECEIPT_SETTLED;
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(state_of_dig(), "Terminated");
    assert_string_equal(drained(), "True/Drained");
}

static void a_name_in_two_clusters_is_one_native_claim(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    put(&edgecluster_kind, "vendor.two",
        "'spec':{'provider':'vendor','cluster':'two','kvPairs':[{'name':'a','kv':["
        "{'dnsLocalAddress':'10.0.0.2'}]},{'name':'dns-update-record-list','kv':[" LISTED "]}]}");
    put_cluster("{'dnsLocalAddress':'10.0.0.1'}]},{'name':'dns-update-record-list','kv':[" LISTED,
                "");
    put(&logicalcloud_kind, "cloud",
        "'spec':{'clusterReferences':[{'name':'r','clusterProvider':'vendor','cluster':'one'},"
        "{'name':'s','clusterProvider':'vendor','cluster':'two'}]}");
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 10.0.0.1 10.0.0.2");
    put_cluster("{'dnsLocalAddress':'10.0.0.1'}", "");
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 10.0.0.2");
    assert_string_equal(published(), "A 10.0.0.2 300");
}

static void put_second_native(const char *zone)
{
    put(&dnsupdaterecord_kind, "second",
        arena_printf(arena,
                     "'spec':{'provider':'rfc2136','engine':'native','verify':{'enabled':false},"
                     "'external-dns-parameters':{'rfc2136-host':'192.0.2.53',"
                     "'rfc2136-insecure':true,'rfc2136-zone':'%s'}},"
                     "'status':{'conditions':[" AVAILABLE("True", "Unused") "]}",
                     zone));
}

// Each of them has an owner id of its own.
static void of_two_native_records_of_one_zone_one_has_the_name(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    put_second_native("example.org");
    put_cluster("{'dnsLocalAddress':'10.0.0.1'},{'dnsPublicAddress':'198.51.100.7'}]},"
                "{'name':'dns-update-record-list','kv':[{'one':'second'}",
                "");
    for (int i = 0; i < 2; i++) {
        reconcile_site("dig");
        assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
        assert_string_equal(published(), "A 198.51.100.7 300");
        assert_string_equal(condition_of(arena, status_of("dig"), "Published"),
                            "False/NameConflict");
        assert_non_null(strstr(message_of(arena, status_of("dig"), "Published"),
                               "DNSUpdateRecord public has the name in the same zone"));
    }
    put_cloud("", "");
    for (int i = 0; i < 3; i++) { // the name goes from the first one ahead of that
        site.outcome = RECEIPT_SETTLED;
        decide_site("dig");
        reconcile_site("dig");
    }
    assert_string_equal(claimed(), "SET A shop example.org 10.0.0.1");
    put_cloud("", LISTED); // the one that stands keeps it
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 10.0.0.1");
    put_second_native("shop.example.org','txt-prefix':'%{record_type}.own.");
    reconcile_site("dig");
    reconcile_site("dig");
    assert_non_null(strstr(claimed(), "SET A @ shop.example.org 10.0.0.1"));
    assert_non_null(strstr(claimed(), "SET A shop example.org 198.51.100.7"));
}

// Both would be one claim, as what they are at the server is one name.
static void
a_native_name_that_goes_to_another_record_of_its_zone_goes_from_the_first_one_ahead(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    put_second_native("example.org");
    site.outcome = RECEIPT_SETTLED;
    reconcile_site("dig");
    for (int i = 0; i < 2; i++) { // there and back
        site.outcome = RECEIPT_WAITING;
        put_cloud("", i ? LISTED : "{'one':'second'}");
        reconcile_site("dig");
        reconcile_site("dig");
        assert_string_equal(claimed(), "REMOVE A shop example.org");
        size_t heir = i ? 0 : 1; // by the records' names
        assert_string_equal(text_of_name(heir, "record"), i ? "public" : "second");
        assert_string_equal(text_of_name(heir, "state"), "Conflict");
        assert_string_equal(text_of_name(heir, "reason"), "NameConflict");
        assert_non_null(strstr(text_of_name(heir, "message"),
                               i ? "DNSUpdateRecord shop/second" : "DNSUpdateRecord shop/public"));
        assert_string_equal(text_of_name(1 - heir, "state"), "Removing");
        assert_state("Instantiating", "False/NameConflict");
        site.outcome = RECEIPT_SETTLED;
        decide_site("dig");
        reconcile_site("dig");
        assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
        assert_string_equal(published(), "A 198.51.100.7 300");
        assert_string_equal(text_of_name(0, "record"), i ? "public" : "second");
    }
}

static void a_native_claim_waits_until_external_dns_has_ended(void **state)
{
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available"), BEGAN_S);
    reconcile_site("dig");
    put_record("", ",'engine':'native'");
    set_record_status(AVAILABLE("True", "Unused"), BEGAN_S);
    reconcile_site("dig");
    assert_string_equal(claimed(), "suspended SET A shop example.org 198.51.100.7");
    assert_string_equal(published(), "A 198.51.100.7 300");
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_remove(value_find(record->tree, "status"), "deployment");
    store_tree(record);
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
    put_record("", "");
    reconcile_site("dig");
    assert_string_equal(claimed(), "");
    assert_string_equal(published(), "A 198.51.100.7 300");
}

static void without_the_cloud_a_native_name_stays(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    reconcile_site("dig");
    put_away(&logicalcloud_kind, "cloud");
    reconcile_site("dig");
    assert_int_equal(site.decision.claim_count, 1);
    assert_int_equal(site.decision.claims[0].intent, CLAIM_KEEP);
    assert_string_equal(published(), "A 198.51.100.7 300");
}

static void a_dry_run_sends_no_native_name(void **state)
{
    (void)state;
    put_usual();
    put_record(",'dry-run':true", ",'engine':'native'");
    reconcile_site("dig");
    assert_string_equal(claimed(), "suspended SET A shop example.org 198.51.100.7");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(claimed(), "");
    assert_string_equal(state_of_dig(), "Terminated");
}

static void a_native_name_has_the_least_ttl_at_least(void **state)
{
    static const struct {
        const char *parameters;
        uint32_t ttl_s;
    } rows[] = {
        {"", 300},
        {",'rfc2136-min-ttl':'5m0.9s'", 300},
        {",'rfc2136-min-ttl':'301s'", 301},
        {",'rfc2136-min-ttl':'1d'", 86400},
        {",'rfc2136-min-ttl':'90000d'", INT32_MAX},
    };
    (void)state;
    put_usual();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_record(rows[i].parameters, ",'engine':'native'");
        reconcile_site("dig");
        assert_int_equal(site.decision.claim_count, 1);
        assert_int_equal(site.decision.claims[0].set.ttl_s, rows[i].ttl_s);
    }
}

static void a_native_name_outside_of_the_zones_is_told(void **state)
{
    (void)state;
    put_usual();
    put_record(",'rfc2136-zone':'example.net'", ",'engine':'native'");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "reason"), "OutsideDomainFilter");
    assert_string_equal(claimed(), "");
    assert_state("Instantiating", "False/OutsideDomainFilter");
    put_second_native("example.org"); // which has it
    put_cloud("", "{'one':'public'},{'two':'second'}");
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
    assert_state("Instantiated", "True/Published");
}

#define SHARED WANTED ",'shareGroup':'blue'"

#define OTHER_ENDPOINT                                                                             \
    "{'metadata':{'name':'other','namespace':'shop','annotations':{"                               \
    "'dns.homelab.mortenolsen.pro/publication':'shop/other',"                                      \
    "'dns.homelab.mortenolsen.pro/update-record':'public'}},'spec':{'endpoints':[{"                \
    "'dnsName':'shop.example.org','recordType':'%s','targets':['%s'],'recordTTL':300}]}}"

// Another publication of that group, and what it has of the name in the record.
static void put_other(const char *desired, const char *type, const char *target)
{
    put(&dnspublication_kind, "other",
        arena_printf(arena,
                     "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'other',"
                     "'logicalCloud':'cloud','shareGroup':'blue','desired':'%s'}",
                     desired));
    object_unref(site.shared);
    site.shared = object_new(&dnsendpoint_kind, NULL,
                             quote(arena, arena_printf(arena, OTHER_ENDPOINT, type, target)));
}

static void drop_other(void)
{
    object_unref(site.shared);
    site.shared = NULL;
}

static void native_names_of_a_share_group_stand_together(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    put_other("Instantiated", "A", "203.0.113.9");
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
    assert_false(site.decision.claims[0].shares);
    put_publication(SHARED);
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7 203.0.113.9");
    assert_true(site.decision.claims[0].shares);
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_string_equal(text_of_name(0, "state"), "Synced");
    put_other("Terminated", "A", "203.0.113.9");
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
    drop_other();
}

static void a_native_name_that_goes_leaves_those_of_its_share_group(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    put_other("Instantiated", "A", "203.0.113.9");
    put_publication(SHARED);
    reconcile_site("dig");
    put_publication("'desired':'Terminated','shareGroup':'blue'");
    site.outcome = RECEIPT_WAITING;
    reconcile_site("dig");
    assert_string_equal(claimed(), "REMOVE A shop example.org");
    assert_string_equal(published(), "A 198.51.100.7 300");
    site.outcome = RECEIPT_SETTLED;
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(state_of_dig(), "Terminated");
    drop_other();
}

static void a_shared_name_that_is_still_being_agreed_on_is_no_conflict(void **state)
{
    static const struct {
        const char *holder;
        const char *state;
    } rows[] = {{"DNSPublication shop/other", "Written"},
                {"DNSPublication shop/stranger", "Conflict"}, // by another record of the server
                {"DNSRecord shop/other", "Conflict"}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        close_site(NULL);
        open_site(state);
        put_usual();
        put_record("", ",'engine':'native'");
        put_other("Instantiated", "A", "203.0.113.9");
        put_publication(SHARED);
        site.outcome = RECEIPT_LOST;
        reconcile_site("dig");
        site.receipts[0].holder = text_of(rows[i].holder);
        site.receipts[0].holder_namespace = TEXT("shop");
        decide_site("dig");
        const struct value *first = value_at(site.decision.status, "names[0]", NULL);
        assert_true(text_is(value_text_at(first, "state"), rows[i].state));
        drop_other();
    }
}

// A name as an older publication of the share group has it, and the address that we have for it.
static const struct rivals {
    const char *type;
    const char *target;
    const char *address;
    const char *published; // by us; NULL: the other has the name
} rival_rows[] = {
    {"CNAME", "a.example.net", "198.51.100.7", NULL},
    {"A", "203.0.113.9", "b.example.net", NULL},
    {"AAAA", "2001:db8::9", "b.example.net", NULL},
    {"CNAME", "a.example.net", "b.example.net", NULL},
    {"CNAME", "a.example.net", "a.example.net", "CNAME a.example.net 300"},
    {"AAAA", "2001:db8::9", "198.51.100.7", "A 198.51.100.7 300"},
    {"A", "203.0.113.9", "198.51.100.7, b.example.net", "A 198.51.100.7 300"},
};

static void put_rivals(void **state, const struct rivals *row, bool is_native)
{
    close_site(NULL);
    open_site(state);
    put_other("Instantiated", row->type, row->target);
    put_usual();
    put_record("", is_native ? ",'engine':'native'" : "");
    put_cluster(arena_printf(arena, "{'dnsPublicAddress':'%s'}", row->address), "");
    put_publication(SHARED);
    reconcile_site("dig");
}

static void assert_rival_has_the_name(void)
{
    assert_string_equal(published(), "");
    assert_string_equal(claimed(), "");
    assert_string_equal(text_of_name(0, "state"), "Conflict");
    assert_string_equal(text_of_name(0, "reason"), "NameConflict");
    assert_non_null(strstr(text_of_name(0, "message"), "DNSPublication shop/other"));
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Published"), "shop/other"));
}

static void a_name_goes_to_the_older_of_a_share_group_where_both_cannot_stand(void **state)
{
    for (int is_native = 0; is_native < 2; is_native++)
        for (size_t i = 0; i < COUNT_OF(rival_rows); i++) {
            put_rivals(state, &rival_rows[i], is_native);
            if (rival_rows[i].published)
                assert_string_equal(published(), rival_rows[i].published);
            else
                assert_rival_has_the_name();
            drop_other();
            reconcile_site("dig");
            assert_string_not_equal(published(), "");
            assert_string_not_equal(text_of_name(0, "state"), "Conflict");
        }
}

static void the_older_of_a_share_group_keeps_its_host_name(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    put_cluster("{'dnsPublicAddress':'b.example.net'}", "");
    put_other("Instantiated", "CNAME", "a.example.net");
    put_publication(SHARED);
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET CNAME shop example.org b.example.net");
    put_other("Instantiated", "A", "203.0.113.9");
    reconcile_site("dig");
    assert_string_equal(claimed(), "SET CNAME shop example.org b.example.net");
    drop_other();
}

static void an_endpoint_says_its_share_group_as_long_as_it_has_one(void **state)
{
    const char *path = "metadata.annotations[dns.homelab.mortenolsen.pro/share-group]";
    (void)state;
    put_usual();
    put_publication(SHARED);
    reconcile_site("dig");
    const struct object_want *want;
    put_publication(WANTED);
    decide_site("dig");
    assert_int_equal(site.decision.object_count, 1);
    want = &site.decision.objects[0];
    assert_int_equal(value_at(want->tree, path, NULL)->type, VALUE_NULL);
    put_publication(SHARED);
    decide_site("dig");
    assert_int_equal(site.decision.object_count, 0);
}

static void names_that_a_folder_leaves_to_nobody_keep_their_objects(void **state)
{
    (void)state;
    for (int gives_up = 0; gives_up < 2; gives_up++) {
        close_site(NULL);
        open_site(state);
        put_usual();
        put_record("", ",'engine':'native'");
        reconcile_site("dig");
        put_record("", "");
        set_record_status(AVAILABLE("Unknown", "NotACluster"), 0);
        reconcile_site("dig");
        put_publication("'desired':'Terminated'");
        reconcile_site("dig");
        assert_string_equal(drained(), "False/DrainBlocked");
        assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"), "shop.example.org"));
        assert_string_equal(published(), "A 198.51.100.7 300");
        if (gives_up) {
            struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
            value_put(arena, record->tree, "metadata.annotations",
                      quote(arena, "{'" ABANDON_ANNOTATION "':'true'}"));
            store_tree(record);
        } else {
            put_record("", ",'engine':'native'");
        }
        reconcile_site("dig");
        assert_string_equal(published(), "");
        assert_string_equal(state_of_dig(), "Terminated");
        assert_string_equal(drained(), gives_up ? "False/RecordsRetained" : "True/Drained");
    }
}

static void names_that_external_dns_was_to_remove_are_not_taken_for_gone(void **state)
{
    (void)state;
    publish_and_terminate(AVAILABLE("False", "CrashLoop") SYNCED("Unknown", "NotScraped"));
    assert_string_equal(drained(), "False/DrainBlocked");
    put_record("", ",'engine':'native'");
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_put(arena, record->tree, "metadata.annotations",
              quote(arena, "{'" PINNED_ANNOTATION "':'{\\'txt-owner-id\\':\\'o\\',"
                           "\\'txt-prefix\\':\\'\\',\\'annotation-prefix\\':\\'a/\\',"
                           "\\'place\\':\\'provider=rfc2136\\'}'}"));
    store_tree(record);
    reconcile_site("dig");
    assert_string_equal(drained(), "False/DrainBlocked");
    assert_non_null(strstr(message_of(arena, status_of("dig"), "Drained"), "shop.example.org"));
    assert_string_equal(state_of_dig(), "TerminateFailed");
}

// Whoever has done it.
static void a_native_name_goes_though_its_object_went_before(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    site.outcome = RECEIPT_WAITING;
    for (size_t i = 0; i < site.count; i++)
        if (site.objects[i].kind == &dnsendpoint_kind)
            site.objects[i].tree = NULL;
    reconcile_site("dig");
    assert_string_equal(claimed(), "REMOVE A shop example.org");
    assert_string_equal(text_of_name(0, "state"), "Removing");
    assert_string_equal(state_of_dig(), "Terminating");
    site.outcome = RECEIPT_SETTLED;
    for (int i = 0; i < 3; i++) { // the same, as long as the status has not taken it in
        decide_site("dig");
        assert_string_equal(claimed(), "REMOVE A shop example.org");
    }
    assert_true(text_is(value_text_at(site.decision.status, "state"), "Terminated"));
    reconcile_site("dig");
    assert_string_equal(claimed(), "");
    assert_string_equal(drained(), "True/Drained");
    assert_string_equal(state_of_dig(), "Terminated");
}

// A process that begins anew has tried nothing yet.
static void a_native_name_that_may_stay_is_tried_first(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    reconcile_site("dig");
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_put(arena, record->tree, "metadata.annotations",
              quote(arena, "{'" ABANDON_ANNOTATION "':'true'}"));
    store_tree(record);
    put_publication("'desired':'Terminated'");
    site.outcome = RECEIPT_WAITING;
    for (size_t i = 0; i < site.count; i++)
        if (site.objects[i].kind == &dnsendpoint_kind)
            site.objects[i].tree = NULL;
    reconcile_site("dig");
    assert_string_equal(claimed(), "REMOVE A shop example.org");
    assert_string_equal(state_of_dig(), "Terminating");
    site.failure = "192.0.2.53:53 does not answer";
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(drained(), "False/RecordsRetained");
    assert_string_equal(state_of_dig(), "Terminated");
    site.failure = NULL;
}

// The next attempt failed like that, and the decisions have heard of it.
static void fail_claims(const char *reason, const char *failure)
{
    site.failure_reason = reason;
    site.failure = failure;
    site.outcome = RECEIPT_WAITING;
    decide_site("dig");
    reconcile_site("dig");
}

static void publish_what_others_own(const char *parameters)
{
    put_usual();
    put_record(parameters, ",'engine':'native'");
    reconcile_site("dig");
    fail_claims("Conflict", "the name belongs to the owner them");
    assert_string_equal(text_of_name(0, "state"), "Conflict");
    assert_string_equal(text_of_name(0, "reason"), "Conflict");
    assert_string_equal(text_of_name(0, "message"), "the name belongs to the owner them");
    assert_state("Instantiating", "False/Conflict");
}

static void a_native_name_that_others_own_is_a_conflict_until_they_let_go(void **state)
{
    (void)state;
    publish_what_others_own("");
    fail_claims(NULL, NULL); // a process that begins anew has heard nothing yet
    assert_string_equal(claimed(), "SET A shop example.org 198.51.100.7");
    assert_string_equal(text_of_name(0, "state"), "Conflict");
    assert_string_equal(text_of_name(0, "message"), "the name belongs to the owner them");
    fail_claims("ServerUnreachable", "192.0.2.53:53 does not answer"); // it may have taken it
    assert_string_equal(text_of_name(0, "state"), "Written");
    assert_string_equal(text_of_name(0, "reason"), "ServerUnreachable");
    fail_claims(NULL, NULL);
    site.outcome = RECEIPT_SETTLED;
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "state"), "Synced");
    assert_string_equal(text_of_name(0, "reason"), "");
}

// What of ours stands by accident goes behind its DNSEndpoint, and nothing else.
static void a_native_name_that_others_own_is_not_taken_for_ours_at_a_drain(void **state)
{
    (void)state;
    publish_what_others_own("");
    put_publication("'desired':'Terminated'");
    fail_claims(NULL, NULL);
    assert_string_equal(claimed(), "REMOVE A shop example.org");
    assert_string_equal(text_of_name(0, "state"), "Conflict");
    assert_string_equal(state_of_dig(), "Terminating");
    for (size_t i = 0; i < site.count; i++)
        if (site.objects[i].kind == &dnsendpoint_kind)
            site.objects[i].tree = NULL;
    reconcile_site("dig");
    assert_string_equal(claimed(), "");
    assert_string_equal(state_of_dig(), "Terminated");
    assert_string_equal(drained(), "True/Drained");
}

static void a_native_name_that_others_own_is_not_called_retained(void **state)
{
    (void)state;
    publish_what_others_own(",'policy':'upsert-only'");
    put_publication("'desired':'Terminated'");
    fail_claims(NULL, NULL);
    assert_string_equal(state_of_dig(), "Terminated");
    assert_retained("null");
}

// ---- the end of a namespace ---------------------------------------------------------------------

static void end_namespace(void)
{
    struct site_object *found = put(&namespace_kind, "shop", "'spec':{}");
    value_put(arena, found->tree, "metadata.deletionTimestamp",
              status_time_make(arena, site.now_ms / 1000));
    store_tree(found);
    for (size_t i = 0; i < site.count; i++)
        if (site.objects[i].kind == &dnsendpoint_kind)
            site.objects[i].tree = NULL;
    found = at_site(&dnspublication_kind, "dig");
    value_put(arena, found->tree, "metadata.deletionTimestamp",
              status_time_make(arena, site.now_ms / 1000));
    store_tree(found);
}

static void assert_it_goes_and_tells(void)
{
    assert_int_equal(site.decision.finalizer, FINALIZER_REMOVE);
    assert_int_equal(site.decision.event_count, 1);
    assert_string_equal(site.decision.events[0].reason, "RecordsRetained");
    assert_non_null(strstr(site.decision.events[0].text, "shop.example.org"));
    assert_ptr_equal(site.decision.events[0].regarding->kind, &namespace_kind);
    assert_int_equal(site.decision.line_count, 1);
    assert_string_equal(site.decision.lines[0].message, "names are not drained");
    assert_true(text_is(site.decision.lines[0].attrs[0].text, "shop/dig"));
    assert_non_null(strstr(site.decision.lines[0].attrs[2].text.at, "shop.example.org"));
}

static void the_end_of_a_namespace_gives_native_names_a_last_chance(void **state)
{
    (void)state;
    for (int goes = 0; goes < 2; goes++) {
        close_site(NULL);
        open_site(state);
        put_usual();
        put_record("", ",'engine':'native'");
        reconcile_site("dig");
        site.outcome = RECEIPT_WAITING;
        end_namespace();
        decide_site("dig");
        assert_string_equal(claimed(), "REMOVE A shop example.org");
        assert_int_equal(site.decision.wake_ms, site.now_ms + 30000);
        decide_site("dig");
        assert_int_equal(site.decision.finalizer, FINALIZER_LEAVE);
        if (goes)
            site.outcome = RECEIPT_SETTLED;
        else
            site.now_ms += 30000;
        decide_site("dig");
        if (goes) {
            decide_site("dig");
            assert_int_equal(site.decision.finalizer, FINALIZER_REMOVE);
            assert_int_equal(site.decision.event_count, 0);
        } else {
            assert_it_goes_and_tells();
        }
    }
}

static void the_end_of_a_namespace_tells_what_external_dns_leaves(void **state)
{
    (void)state;
    put_usual();
    set_record_status(AVAILABLE("True", "Available") SYNCED("True", "Synced"), BEGAN_S);
    reconcile_site("dig");
    end_namespace();
    decide_site("dig");
    assert_int_equal(site.decision.finalizer, FINALIZER_LEAVE); // its pod may still run
    set_record_status(AVAILABLE("True", "Unused"), BEGAN_S);
    decide_site("dig");
    assert_it_goes_and_tells();
}

#define SITE(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)

// ---- verify -------------------------------------------------------------------------------------

#define VERIFIED ",'verify':{'servers':['192.0.2.1','[2001:db8::1]:5353']}"
#define ANSWER(values) "{'rcode':'NOERROR','authoritative':true,'values':[" values "]}"

// "192.0.2.1:53 shop.example.org A; ..." of the last decision's questions.
static const char *asked(void)
{
    AUTO_BUFFER out = {0};
    for (size_t i = 0; i < site.decision.question_count; i++) {
        const struct value *about = site.decision.questions[i].about;
        buffer_printf(&out, "%s%.*s %.*s %.*s", out.len ? "; " : "",
                      TEXT_ARGS(value_text_at(about, "address")),
                      TEXT_ARGS(value_text_at(about, "name")),
                      TEXT_ARGS(value_text_at(about, "type")));
    }
    return arena_copy(arena, out.at ? out.at : "", out.len);
}

static void an_rfc2136_is_verified_at_its_own_host_and_port(void **state)
{
    (void)state;
    put_usual();
    put_record(",'rfc2136-port':5300", ",'engine':'native','verify':{}");
    reconcile_site("dig");
    assert_string_equal(asked(), "192.0.2.53:5300 shop.example.org A");
    assert_string_equal(site.decision.questions[0].backend, "name-servers-shop/public");
    assert_string_equal(text_of_name(0, "state"), "Synced");
    put_record("", ",'engine':'native','verify':{'enabled':false}");
    reconcile_site("dig");
    assert_string_equal(asked(), "");
}

static void a_name_is_verified_when_all_servers_answer_with_its_targets(void **state)
{
    static const struct {
        const char *answer;
        const char *state;
        const char *reason; // when the time is over
    } rows[] = {
        {ANSWER("'198.51.100.7'"), "Verified", ""},
        {ANSWER("'198.51.100.8'"), "Synced", "Mismatch"},
        {ANSWER("'198.51.100.7','198.51.100.8'"), "Synced", "Mismatch"},
        {ANSWER(""), "Synced", "Mismatch"},
        {"{'rcode':'NOERROR','authoritative':false,'values':['198.51.100.7']}", "Synced",
         "LameServer"},
        {"{'rcode':'REFUSED','authoritative':false,'values':[]}", "Synced", "LameServer"},
        {NULL, "Synced", "NotAnswered"},
    };
    (void)state;
    put_usual();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        site.silence = NULL;
        site.answer = ANSWER("'198.51.100.7'");
        put_record("", ",'engine':'native'" VERIFIED);
        reconcile_site("dig");
        put_record("", ",'engine':'native','verify':{'enabled':false}");
        reconcile_site("dig");
        put_record("", ",'engine':'native'" VERIFIED);
        site.answer = rows[i].answer;
        site.silence = rows[i].answer ? NULL : "192.0.2.1:53 does not answer";
        reconcile_site("dig");
        assert_string_equal(text_of_name(0, "state"), rows[i].state);
        assert_string_equal(text_of_name(0, "reason"), "");
        site.now_ms += 301 * 1000;
        decide_site("dig");
        reconcile_site("dig");
        assert_string_equal(text_of_name(0, "reason"), rows[i].reason);
        bool has_asked_both = strstr(asked(), "192.0.2.1:53 shop.example.org A") &&
                              strstr(asked(), "[2001:db8::1]:5353 shop.example.org A");
        assert_true(*rows[i].reason ? has_asked_both : !*asked());
    }
}

#define MARK(text) ANSWER("'\\\"" text "\\\"'")

// External-dns does not report a name that it leaves alone; the ownership record shows the owner.
static void a_name_of_another_owner_is_told_at_once(void **state)
{
    static const struct {
        const char *text;
        const char *reason;
    } rows[] = {
        {MARK("heritage=external-dns,external-dns/owner=them,external-dns/resource=x"),
         "OwnerMismatch"},
        {MARK("heritage=external-dns,external-dns/owner=them"), "OwnerMismatch"},
        {MARK("heritage=external-dns,external-dns/owner=us"), ""},
        {MARK("v=spf1 -all"), ""},
        {ANSWER(""), ""},
    };
    (void)state;
    put_usual();
    site.answer = ANSWER("'198.51.100.8'");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_record("", ",'adoptOwner':'us','engine':'native'" VERIFIED);
        site.text_answer = rows[i].text;
        reconcile_site("dig");
        reconcile_site("dig");
        assert_string_equal(text_of_name(0, "state"), "Synced");
        assert_string_equal(text_of_name(0, "reason"), rows[i].reason);
        assert_true(!*rows[i].reason || strstr(text_of_name(0, "message"), "the owner them, so"));
    }
}

// What another owner has there of another type stands in the way all the same.
static void another_owners_record_of_another_type_is_told_at_once(void **state)
{
    static const struct {
        const char *target;
        const char *answer;
        const char *question; // for the owner; NULL: there is none
        const char *part;     // of the message
    } rows[] = {
        {"198.51.100.7",
         "{'rcode':'NOERROR','authoritative':true,'values':[],'alias':'lb.example.net'}",
         "cname-shop.example.org TXT", "answers with the host name lb.example.net: "},
        {"lb.example.org", ANSWER(""), "a-shop.example.org TXT", "answers nothing: "},
        {"lb.example.org", ANSWER(""), "aaaa-shop.example.org TXT", "answers nothing: "},
        {"lb.example.org", "{'rcode':'NXDOMAIN','authoritative':true,'values':[]}", NULL, ""},
        {"198.51.100.7", ANSWER(""), NULL, ""},
    };
    (void)state;
    put_usual();
    site.text_answer = MARK("heritage=external-dns,external-dns/owner=them");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_record("", ",'adoptOwner':'us','engine':'native'" VERIFIED);
        put_cluster(arena_printf(arena, "{'dnsPublicAddress':'%s'}", rows[i].target), "");
        site.answer = rows[i].answer;
        for (int round = 0; round < 3; round++)
            reconcile_site("dig");
        assert_string_equal(text_of_name(0, "state"), "Synced");
        assert_string_equal(text_of_name(0, "reason"), rows[i].question ? "OwnerMismatch" : "");
        assert_non_null(strstr(text_of_name(0, "message"), rows[i].part));
        assert_true(rows[i].question ? strstr(asked(), rows[i].question) != NULL
                                     : !strstr(asked(), "TXT"));
    }
}

static void a_verified_name_that_changes_is_asked_for_again(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'" VERIFIED);
    site.answer = ANSWER("'198.51.100.7'");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "state"), "Verified");
    put_cluster("{'dnsPublicAddress':'198.51.100.9'}", "");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "state"), "Synced");
    site.answer = ANSWER("'198.51.100.9'");
    reconcile_site("dig");
    assert_string_equal(text_of_name(0, "state"), "Verified");
}

enum { MANY = 120, TURN_S = 30 };

static void put_many(void)
{
    AUTO_BUFFER inbound = {0};
    for (int i = 0; i < MANY; i++)
        buffer_printf(&inbound,
                      "%s{'name':'in%d','app':'front','appLabel':'a=b','serviceName':'web',"
                      "'port':443,'protocol':'TCP','externalName':'n%03d.example.org',"
                      "'externalSupport':true}",
                      i ? "," : "", i, i);
    put(&trafficgroupintent_kind, "traffic",
        arena_printf(arena,
                     "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'dig',"
                     "'inbound':[%s]}",
                     inbound.at));
}

static size_t note_asked(bool *is_asked)
{
    size_t count = 0;
    for (int i = 0; i < MANY; i++) {
        bool is_new = strstr(asked(), arena_printf(arena, " n%03d.example.org A", i));
        count += is_new;
        is_asked[i] |= is_new;
    }
    return count;
}

// Each has two servers that are asked for it and for its owner.
static void names_that_are_never_proven_take_turns(void **state)
{
    bool is_asked[MANY] = {false};
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'" VERIFIED);
    put_many();
    site.answer = ANSWER("'203.0.113.1'");
    site.text_answer = ANSWER("");
    reconcile_site("dig");
    site.now_ms += 301 * 1000;
    for (int turn = 0; turn < MANY; turn++) {
        reconcile_site("dig");
        assert_in_range(note_asked(is_asked), 40, 100);
        site.now_ms += TURN_S * 1000;
    }
    for (int i = 0; i < MANY; i++)
        assert_true(is_asked[i]);
    for (int turn = 0; turn < 4; turn++) { // what was found stays while others are asked for
        decide_site("dig");
        for (int i = 0; i < MANY; i++)
            assert_string_equal(text_of_name(i, "reason"), "Mismatch");
        reconcile_site("dig");
        site.now_ms += TURN_S * 1000;
    }
}

static void names_that_are_never_gone_take_turns(void **state)
{
    bool is_asked[MANY] = {false};
    (void)state;
    put_usual();
    put_record("", ",'adoptOwner':'us','engine':'native'" VERIFIED);
    put_many();
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    site.answer = ANSWER("'198.51.100.7'");
    site.text_answer = MARK("heritage=external-dns,external-dns/owner=us");
    for (int turn = 0; turn < MANY; turn++) {
        reconcile_site("dig");
        note_asked(is_asked);
        site.now_ms += TURN_S * 1000;
    }
    assert_string_equal(state_of_dig(), "Terminating");
    for (int i = 0; i < MANY; i++)
        assert_true(is_asked[i]);
}

static void a_drain_waits_until_no_server_answers_with_our_targets(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'" VERIFIED);
    site.answer = ANSWER("'198.51.100.7'");
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    assert_string_equal(state_of_dig(), "Terminating");
    assert_string_equal(drained(), "False/Draining");
    site.now_ms += 1000 * 1000;
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminating");
    site.answer = ANSWER("'203.0.113.1'");
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminated");
    assert_string_equal(drained(), "True/Drained");
}

static void a_drain_does_not_wait_for_a_name_that_others_publish(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'" VERIFIED);
    site.answer = ANSWER("'198.51.100.7'");
    reconcile_site("dig");
    put(&dnspublication_kind, "heir",
        "'spec':{'compositeApp':'app','version':'v1','deploymentIntentGroup':'dig',"
        "'logicalCloud':'cloud'," WANTED "}");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminated");
}

static void a_drain_waits_for_silent_servers_as_long_as_the_record_says(void **state)
{
    (void)state;
    put_usual();
    put_record("", ",'engine':'native','verify':{'servers':['192.0.2.1'],'timeoutSeconds':60}");
    site.silence = "192.0.2.1:53 does not answer";
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminating");
    site.now_ms += 61 * 1000;
    reconcile_site("dig");
    assert_string_equal(state_of_dig(), "Terminated");
}

static int run_native_tests(void)
{
    const struct CMUnitTest tests[] = {
        SITE(a_native_name_goes_though_its_object_went_before),
        SITE(a_native_name_that_may_stay_is_tried_first),
        SITE(a_native_name_that_others_own_is_a_conflict_until_they_let_go),
        SITE(a_native_name_that_others_own_is_not_taken_for_ours_at_a_drain),
        SITE(a_native_name_that_others_own_is_not_called_retained),
        SITE(the_end_of_a_namespace_gives_native_names_a_last_chance),
        SITE(a_native_name_is_claimed_when_its_object_stands),
        SITE(a_native_name_that_is_warned_of_is_published),
        SITE(a_native_object_goes_behind_its_name),
        SITE(a_name_in_two_clusters_is_one_native_claim),
        SITE(of_two_native_records_of_one_zone_one_has_the_name),
        SITE(a_native_name_that_goes_to_another_record_of_its_zone_goes_from_the_first_one_ahead),
        SITE(a_native_claim_waits_until_external_dns_has_ended),
        SITE(without_the_cloud_a_native_name_stays),
        SITE(a_dry_run_sends_no_native_name),
        SITE(a_native_name_has_the_least_ttl_at_least),
        SITE(a_native_name_outside_of_the_zones_is_told),
        SITE(native_names_of_a_share_group_stand_together),
        SITE(a_native_name_that_goes_leaves_those_of_its_share_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SITE(the_first_source_that_has_an_address_counts),
        SITE(a_record_that_a_cluster_lists_has_its_local_addresses),
        SITE(addresses_and_host_names_together_are_told),
        SITE(what_a_name_was_warned_of_does_not_hinder_its_end),
        SITE(an_alias_that_coredns_mistakes_is_told),
        SITE(a_private_address_that_is_written_for_the_public_is_told),
        SITE(a_target_that_cannot_be_is_told_and_the_others_are_published),
        SITE(the_last_addresses_stay_for_ever_or_for_the_time_that_is_asked_for),
        SITE(held_addresses_go_at_their_time_and_are_forgotten_when_others_come),
        SITE(what_is_wrong_in_a_list_is_told_and_the_others_count),
        SITE(a_record_in_both_lists_counts_for_the_logical_cloud),
        SITE(a_name_that_cannot_be_is_told_with_its_reason),
        SITE(what_cannot_stand_at_an_apex_is_invalid_alone),
        SITE(the_record_is_written_ahead_of_the_first_endpoint),
        SITE(an_endpoint_that_somebody_edits_is_put_back),
        SITE(without_the_cloud_what_stands_stays),
        SITE(without_the_kind_nothing_is_written_and_it_is_told),
        SITE(a_publication_goes_from_created_to_terminated_and_back),
        SITE(nothing_is_told_as_published_before_it_is_written),
        SITE(what_the_store_refuses_fails_and_is_tried_again),
        SITE(a_drain_is_timed_once_when_it_ends),
        SITE(names_that_stay_are_no_drain),
        SITE(two_synchronizations_after_the_last_endpoint_went_are_the_proof),
        SITE(a_record_that_comes_back_into_use_begins_anew),
        SITE(without_metrics_two_intervals_of_readiness_are_believed),
        SITE(while_external_dns_is_rolled_out_the_drain_waits),
        SITE(without_external_dns_nothing_is_proven_unless_people_say_so),
        SITE(what_an_external_dns_cannot_remove_stays_when_people_say_so),
        SITE(a_policy_that_removes_nothing_ends_at_once_and_is_told),
        SITE(what_external_dns_cannot_list_stays_and_is_told),
        SITE(a_zone_that_external_dns_cannot_list_proves_nothing),
        SITE(what_the_servers_answer_for_other_names_hinders_no_proof),
        SITE(a_publication_that_is_deleted_says_which_names_stay),
        SITE(a_dry_run_that_comes_later_removes_nothing_and_says_so),
        SITE(a_record_that_is_gone_takes_along_whoever_would_remove_names),
        SITE(names_that_a_folder_leaves_to_nobody_keep_their_objects),
        SITE(names_that_external_dns_was_to_remove_are_not_taken_for_gone),
        SITE(the_end_of_a_namespace_tells_what_external_dns_leaves),
        SITE(a_folder_has_nobody_who_drains),
        SITE(a_record_that_moves_is_left_and_used_again),
        SITE(a_move_that_is_blocked_names_the_annotation_of_moves),
        SITE(names_of_a_record_that_moves_are_not_called_written),
        SITE(an_endpoint_that_somebody_removes_comes_back),
        SITE(a_record_that_leaves_a_list_takes_only_its_own_names),
        SITE(a_list_that_goes_takes_its_names_along_with_proof),
        SITE(a_name_that_a_filter_leaves_out_is_not_called_gone),
        SITE(readiness_that_is_lost_begins_the_two_intervals_anew),
        SITE(a_synchronization_with_names_of_before_is_no_proof),
        SITE(an_rfc2136_is_verified_at_its_own_host_and_port),
        SITE(a_name_is_verified_when_all_servers_answer_with_its_targets),
        SITE(a_name_of_another_owner_is_told_at_once),
        SITE(another_owners_record_of_another_type_is_told_at_once),
        SITE(a_verified_name_that_changes_is_asked_for_again),
        SITE(names_that_are_never_proven_take_turns),
        SITE(names_that_are_never_gone_take_turns),
        SITE(a_drain_waits_until_no_server_answers_with_our_targets),
        SITE(a_drain_does_not_wait_for_a_name_that_others_publish),
        SITE(a_drain_waits_for_silent_servers_as_long_as_the_record_says),
        SITE(a_shared_name_that_is_still_being_agreed_on_is_no_conflict),
        SITE(a_name_goes_to_the_older_of_a_share_group_where_both_cannot_stand),
        SITE(the_older_of_a_share_group_keeps_its_host_name),
        SITE(an_endpoint_says_its_share_group_as_long_as_it_has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + run_native_tests();
}
