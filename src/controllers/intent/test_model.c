#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controllers/intent/test_site.h"

static struct record_view view_of(const char *record)
{
    struct record_view view;
    settle_model();
    intent_model_record(site.model, arena, at_site(&dnsupdaterecord_kind, record)->object, &view);
    return view;
}

static void who_publishes_by_a_record_uses_it_until_its_names_are_gone(void **state)
{
    (void)state;
    put_usual();
    put_publication("'desired':'Created'");
    assert_int_equal(view_of("public").user_count, 0);
    assert_int_equal(view_of("public").listed, 1);
    put_publication(WANTED);
    reconcile_site("dig");
    struct record_view view = view_of("public");
    assert_int_equal(view.user_count, 1);
    assert_true(text_is(view.users[0].project, "shop"));
    assert_true(text_is(view.users[0].composite_app, "app"));
    assert_int_equal(view.users[0].names, 1);
    assert_false(view.users[0].is_draining);
    struct site_object *record = at_site(&dnsupdaterecord_kind, "public");
    value_set(record->tree, TEXT("status"),
              quote(arena, "{'deployment':'d','lastSyncTime':'2025-12-30T10:00:00Z','conditions':["
                           "{'type':'DeploymentAvailable','status':'True','reason':'Available',"
                           "'message':'','lastTransitionTime':'2025-12-30T09:00:00Z'}]}"));
    store_tree(record);
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_true(view_of("public").users[0].is_draining);
    value_put(arena, record->tree, "metadata.annotations",
              quote(arena, "{'" ABANDON_ANNOTATION "':'true'}"));
    struct value *available = value_list_at(record->tree, "status.conditions")->first;
    value_put_text(arena, available, "status", "False");
    value_put_text(arena, available, "reason", "Progressing");
    store_tree(record);
    reconcile_site("dig");
    assert_int_equal(view_of("public").user_count, 0);
    put_cloud("", "{'a':'b'}");
    assert_int_equal(view_of("public").listed, 0);
}

// Of two with one owner id the younger one is told of the older.
static void an_owner_id_is_had_by_the_oldest_record(void **state)
{
    (void)state;
    put_usual();
    put(&dnsupdaterecord_kind, "one", "'spec':{'provider':'aws','adoptOwner':'mine'}");
    put(&dnsupdaterecord_kind, "two",
        "'spec':{'provider':'rfc2136','external-dns-parameters':{'txt-owner-id':'mine'}}");
    put(&dnsupdaterecord_kind, "three",
        "'spec':{'provider':'rfc2136','external-dns-parameters':{'txt-owner-id':'default'}}");
    assert_null(view_of("one").owner_holder);
    assert_null(view_of("three").owner_holder);
    assert_null(view_of("public").owner_holder);
    assert_true(text_is(object_name(view_of("two").owner_holder), "one"));
    put_away(&dnsupdaterecord_kind, "one");
    assert_null(view_of("two").owner_holder);
}

static const char *woken;
static void note_wake(void *context, const struct object *object)
{
    (void)context;
    woken =
        arena_printf(arena, "%s%s%.*s", woken, *woken ? " " : "", TEXT_ARGS(object_name(object)));
}
static const char *wake_of(void)
{
    const struct shared_model_calls calls = {note_wake, model_programmed, NULL};
    woken = "";
    intent_shared_model.settle(site.model, site.now_ms, &calls);
    return woken;
}

static void a_change_wakes_whom_it_concerns_and_no_other(void **state)
{
    (void)state;
    put_usual();
    settle_model();
    put(&dnspublication_kind, "other",
        "'spec':{'compositeApp':'other','version':'v1','deploymentIntentGroup':'other',"
        "'logicalCloud':'other'}");
    assert_string_equal(wake_of(), "other");
    put(&edgecluster_kind, "vendor.far", "'spec':{'provider':'vendor','cluster':'far'}");
    assert_string_equal(wake_of(), "");
    put(&service_kind, "web", "'spec':{'type':'ClusterIP'}");
    assert_string_equal(wake_of(), ""); // no cluster is ours
    put_cluster("{'dnsPublicAddress':'198.51.100.8'}", ",'local':true");
    assert_non_null(strstr(wake_of(), "dig"));
    put(&service_kind, "web", "'spec':{'type':'NodePort'}");
    assert_non_null(strstr(wake_of(), "dig"));
    put(&node_kind, "node", "'status':{}");
    assert_non_null(strstr(wake_of(), "dig"));
    put_away(&node_kind, "node");
    assert_non_null(strstr(wake_of(), "dig"));
    put_away(&service_kind, "web");
    assert_non_null(strstr(wake_of(), "dig"));
    put(&logicalcloud_kind, "other", "'spec':{}");
    assert_string_equal(wake_of(), "other");
    put_intent("www.example.org", "");
    assert_non_null(strstr(wake_of(), "dig"));
    put_record("", ",'ttl':60");
    assert_non_null(strstr(wake_of(), "dig"));
    put(&namespace_kind, "shop", "'status':{}");
    assert_non_null(strstr(wake_of(), "dig"));
    site.namespace_ = "abroad";
    put(&service_kind, "far", "'spec':{'type':'NodePort'}");
    assert_string_equal(wake_of(), "");
}

// Whoever wants a name of one that goes may have it.
static void a_name_that_is_given_up_wakes_its_rivals(void **state)
{
    (void)state;
    put_usual();
    put(&trafficgroupintent_kind, "second",
        "'spec':{'compositeApp':'second','version':'v1','deploymentIntentGroup':'dig','inbound':[{"
        "'name':'in','app':'a','appLabel':'app=a','serviceName':'web','port':443,'protocol':'TCP',"
        "'externalName':'shop.example.org','externalSupport':true}]}");
    put(&dnspublication_kind, "second",
        "'spec':{'compositeApp':'second','version':'v1','deploymentIntentGroup':'dig',"
        "'logicalCloud':'cloud'," WANTED "}");
    settle_model();
    put_intent("www.example.org", "");
    assert_non_null(strstr(wake_of(), "second"));
    put_intent("shop.example.org", "");
    assert_non_null(strstr(wake_of(), "second"));
    put_publication("'desired':'Terminated'");
    assert_non_null(strstr(wake_of(), "second"));
    put_publication(WANTED);
    assert_non_null(strstr(wake_of(), "second"));
    put_away(&dnspublication_kind, "dig");
    assert_non_null(strstr(wake_of(), "second"));
    assert_string_equal(wake_of(), "");
}

// "public" is what one record is called, and "abroad/public" would be another.
static void a_name_stands_by_the_record_of_its_project_alone(void **state)
{
    const char *native = "'spec':{'provider':'rfc2136','engine':'native',"
                         "'external-dns-parameters':{'rfc2136-host':'192.0.2.53',"
                         "'rfc2136-insecure':true,'rfc2136-zone':'example.org'}}";
    (void)state;
    put_usual();
    put_record("", ",'engine':'native'");
    reconcile_site("dig");
    site.namespace_ = "abroad";
    struct site_object *far = put(&dnsupdaterecord_kind, "far", native);
    value_put(arena, far->tree, "metadata.annotations",
              quote(arena, "{'" EMCO_NAME_ANNOTATION "':'public'}"));
    store_tree(far);
    site.namespace_ = "shop";
    put_publication("'desired':'Terminated'");
    struct site_object *dig = at_site(&dnspublication_kind, "dig");
    value_set(
        dig->tree, TEXT("status"),
        quote(arena,
              "{'state':'Terminating','names':[{'name':'shop.example.org','type':'A',"
              "'record':'public','targets':['198.51.100.7'],'state':'Removing'}],"
              "'records':[{'namespace':'shop','name':'public','drainingSince':'2025-12-30T10:00:"
              "00Z'},"
              "{'namespace':'abroad','name':'far','drainingSince':'2025-12-30T10:00:00Z'}]}"));
    store_tree(dig);
    struct site_object *rival =
        put(&dnspublication_kind, "rival",
            "'spec':{'compositeApp':'rival','version':'v1','deploymentIntentGroup':'rival',"
            "'logicalCloud':'cloud'," WANTED "}");
    settle_model();
    int64_t ttl_s = 0;
    struct update_record record;
    const struct object *own = at_site(&dnsupdaterecord_kind, "public")->object;
    struct model_reader reader = {.model = site.model, .arena = arena};
    update_record_unpack(arena, object_spec(own), &record);
    update_record_put_in_force(arena, &record);
    const struct record_name name = {own, &record, TEXT("shop.example.org")};
    assert_null(intent_model_holder(&reader, rival->object, &name, &ttl_s));
    update_record_unpack(arena, object_spec(far->object), &record);
    update_record_put_in_force(arena, &record);
    const struct record_name foreign = {far->object, &record, TEXT("shop.example.org")};
    assert_ptr_equal(intent_model_holder(&reader, rival->object, &foreign, &ttl_s), dig->object);
}

#define SITE(name) cmocka_unit_test_setup_teardown(name, open_site, close_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SITE(who_publishes_by_a_record_uses_it_until_its_names_are_gone),
        SITE(an_owner_id_is_had_by_the_oldest_record),
        SITE(a_change_wakes_whom_it_concerns_and_no_other),
        SITE(a_name_that_is_given_up_wakes_its_rivals),
        SITE(a_name_stands_by_the_record_of_its_project_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
