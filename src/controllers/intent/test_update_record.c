#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "controllers/intent/test_site.h"
#include "controllers/intent/update_record.h"
#include "kinds/deployment/deployment_kind.h"
#include "kinds/pod/pod_kind.h"
#include "kinds/role/role_kind.h"
#include "kinds/rolebinding/rolebinding_kind.h"
#include "kinds/secret/secret_kind.h"
#include "kinds/serviceaccount/serviceaccount_kind.h"

// ---- a cluster in which external-dns may run ----------------------------------------------------

#define WORKLOAD "external-dns-public-a421a762"
#define LABELS                                                                                     \
    "'labels':{'app.kubernetes.io/name':'external-dns','app.kubernetes.io/instance':"              \
    "'public-a421a762','app.kubernetes.io/managed-by':'signpost'}"

static struct {
    struct intent_settings settings;
    bool runs_workloads;
    bool has_no_endpoints;
    const struct value *metrics; // what external-dns answers; NULL: it is silent
    struct error refused;
    struct question questions[4];
    size_t question_count;
    int64_t good_for_ms; // of the last question; 0: none
    bool has_backend;
} runtime;

static int open_runtime(void **state)
{
    int code = open_site(state);
    memset(&runtime, 0, sizeof runtime);
    runtime.settings = (struct intent_settings){"v0.22.0", "registry.example/external-dns:v0.22.0"};
    runtime.runs_workloads = true;
    return code;
}

// It is there.
static struct site_object *get_at_site(const struct kind *kind, const char *name)
{
    size_t at = 0;
    while (&site.objects[at] != find_at_site(kind, name))
        must(++at < site.count);
    return &site.objects[at];
}

static const struct object **list_kind(const struct kind *kind, size_t *count)
{
    const struct object **found = arena_new_array(arena, const struct object *, site.count + 1);
    *count = 0;
    for (size_t i = 0; i < site.count; i++)
        if (site.objects[i].tree && site.objects[i].kind == kind)
            found[(*count)++] = site.objects[i].object;
    return found;
}

static struct answer_view answer_question(const struct question *question)
{
    static const struct error silence = {.fault = FAULT_AGAIN, .text = "connection refused"};
    struct content_id about = value_content_id(question->about);
    struct content_hash hash = content_hash_new();
    content_hash_add_text(&hash, text_of(question->backend));
    content_hash_add_text(&hash, text_of(question->name));
    content_hash_add(&hash, about.words[0]);
    content_hash_add(&hash, about.words[1]);
    return (struct answer_view){
        .id = content_hash_end(&hash),
        .backend = question->backend,
        .name = question->name,
        .answered_ms = site.now_ms,
        .is_ok = runtime.metrics,
        .value = runtime.metrics,
        .error = runtime.metrics ? NULL : &silence,
    };
}

static void decide_record(void)
{
    struct answer_view answers[4];
    struct input_objects inputs[UPDATE_RECORD_INPUTS] = {0};
    struct site_object *subject = get_at_site(&dnsupdaterecord_kind, "public");
    settle_model();
    for (size_t i = 0; i < UPDATE_RECORD_INPUTS; i++) {
        inputs[i].objects = list_kind(update_record_controller.inputs[i].kind, &inputs[i].count);
        inputs[i].is_synced = true;
    }
    inputs[UPDATE_RECORD_ENDPOINTS].is_missing = runtime.has_no_endpoints;
    for (size_t i = 0; i < runtime.question_count; i++)
        answers[i] = answer_question(&runtime.questions[i]);
    const struct snapshot snapshot = {
        .arena = arena,
        .namespace_ = TEXT("shop"),
        .name = TEXT("public"),
        .subject = subject->object,
        .inputs = inputs,
        .answers = answers,
        .answer_count = runtime.question_count,
        .now_ms = site.now_ms,
        .is_leading = true,
        .runs_workloads = runtime.runs_workloads,
        .owner_id = "1a2b3c4d",
        .settings = &runtime.settings,
        .refused = *runtime.refused.text ? &runtime.refused : NULL,
    };
    drop_decision();
    update_record_decide(&snapshot, site.model, &site.decision);
    must(site.decision.question_count <= COUNT_OF(runtime.questions));
    for (size_t i = 0; i < site.decision.question_count; i++)
        runtime.questions[i] = site.decision.questions[i];
    runtime.question_count = site.decision.question_count;
    runtime.good_for_ms = runtime.question_count ? runtime.questions[0].good_for_ms : 0;
}

static bool apply_metadata(struct site_object *subject)
{
    bool is_new =
        site.decision.finalizer == FINALIZER_ADD || site.decision.metadata_change_count > 0;
    if (site.decision.finalizer == FINALIZER_ADD)
        value_put(arena, subject->tree, "metadata.finalizers",
                  quote(arena, "['" UPDATE_RECORD_FINALIZER "']"));
    for (size_t i = 0; i < site.decision.metadata_change_count; i++)
        value_put(
            arena, subject->tree,
            arena_printf(arena, "metadata.annotations[%s]", site.decision.metadata_changes[i].key),
            value_make_text(arena, text_of(site.decision.metadata_changes[i].value)));
    return is_new;
}

// Carries decisions out until there is nothing left to do.
static void reconcile_record(void)
{
    site.writes = 0;
    for (int round = 0; round < 12; round++) {
        size_t before = site.writes;
        size_t asked = runtime.question_count;
        decide_record();
        if (site.decision.finalizer == FINALIZER_REMOVE) {
            put_away(&dnsupdaterecord_kind, "public");
            return;
        }
        for (size_t i = 0; i < site.decision.object_count; i++)
            carry_out(&site.decision.objects[i]);
        struct site_object *subject = get_at_site(&dnsupdaterecord_kind, "public");
        bool is_new = apply_metadata(subject);
        struct value *status = value_find(subject->tree, "status");
        struct value *after =
            site.decision.status
                ? value_merge_patch(arena, status, value_copy(arena, site.decision.status))
                : status;
        bool is_same = after == status || (status && value_equal(status, after));
        if (after)
            value_set(subject->tree, TEXT("status"), after);
        store_tree(subject);
        if (!is_new && is_same && site.writes == before && asked == runtime.question_count)
            return;
    }
    must(false); // the decisions do not come to an end
}

static const struct value *record_status(void)
{
    return value_find(get_at_site(&dnsupdaterecord_kind, "public")->tree, "status");
}

static void assert_condition(const char *type, const char *expected)
{
    const char *found = condition_of(arena, record_status(), type);
    if (strcmp(found, expected) != 0)
        fail_msg("%s is %s, not %s: %s", type, found, expected,
                 message_of(arena, record_status(), type));
}

static const struct value *deployment(void)
{
    struct site_object *found = find_at_site(&deployment_kind, WORKLOAD);
    return found ? found->tree : NULL;
}

static const char *deployment_json(const char *path)
{
    return json_of(arena, value_at(deployment(), path, NULL));
}

// ---- objects ------------------------------------------------------------------------------------

// As people apply it: what Signpost wrote there stays.
static void apply_record(const char *parameters, const char *more, const char *annotations)
{
    struct site_object *there = find_at_site(&dnsupdaterecord_kind, "public");
    struct value *status = there ? value_find(there->tree, "status") : NULL;
    struct value *finalizers = there ? value_at(there->tree, "metadata.finalizers", NULL) : NULL;
    struct value *pinned =
        there ? value_at(there->tree, "metadata.annotations[" PINNED_ANNOTATION "]", NULL) : NULL;
    there = put(&dnsupdaterecord_kind, "public",
                arena_printf(arena,
                             "'spec':{'provider':'rfc2136','external-dns-parameters':{"
                             "'rfc2136-host':'192.0.2.53','domain-filter':'example.org',%s}%s%s}",
                             parameters, more, unverified_unless(more)));
    value_put(arena, there->tree, "metadata.annotations",
              quote(arena, arena_printf(arena, "{%s}", annotations)));
    if (pinned)
        value_put(arena, there->tree, "metadata.annotations[" PINNED_ANNOTATION "]", pinned);
    if (status)
        value_set(there->tree, TEXT("status"), status);
    if (finalizers)
        value_put(arena, there->tree, "metadata.finalizers", finalizers);
    store_tree(there);
}

#define PLAIN "'rfc2136-zone':'example.org','rfc2136-insecure':true"
#define SIGNED_AT(zone)                                                                            \
    "'rfc2136-zone':'" zone "','rfc2136-tsig-keyname':'k','rfc2136-tsig-secret-alg':'hmac-sha256'"
#define SIGNED SIGNED_AT("example.org")
#define REFS_TO(secret)                                                                            \
    ",'secretRefs':[{'target':'rfc2136-tsig-secret','name':'" secret "','key':'secret'}]"
#define NATIVE_WITH(secret) ",'engine':'native'" REFS_TO(secret)
#define NATIVE NATIVE_WITH("tsig")

static void put_project(void)
{
    put_cluster("{'dnsPublicAddress':'198.51.100.7'}", "");
    put_cloud("", LISTED);
    put_intent("shop.example.org", "");
}

// A record that a publication uses, up to the Deployment.
static void use_record(const char *parameters, const char *more)
{
    apply_record(parameters, more, "");
    put_project();
    put_publication(WANTED);
    reconcile_site("dig");
    reconcile_record();
}

// As kubelet and the controller of Deployments do.
static void run_pod(bool is_ready, const char *message)
{
    struct site_object *found = get_at_site(&deployment_kind, WORKLOAD);
    value_set(
        found->tree, TEXT("status"),
        quote(arena, arena_printf(arena,
                                  "{'observedGeneration':%lld,'replicas':1,"
                                  "'updatedReplicas':1,'availableReplicas':%d}",
                                  (long long)value_int_at(found->tree, "metadata.generation", 0),
                                  is_ready)));
    store_tree(found);
    found = put(&pod_kind, "pod", "'spec':{'containers':[{'name':'external-dns'}]}");
    value_put(arena, found->tree, "metadata.labels",
              value_find(quote(arena, "{" LABELS "}"), "labels"));
    value_set(
        found->tree, TEXT("status"),
        quote(arena, arena_printf(
                         arena,
                         "{'phase':'Running','podIP':'10.1.0.7','conditions':[{'type':'Ready',"
                         "'status':'%s'}],'containerStatuses':[{'name':'external-dns',"
                         "'lastState':{%s}}]}",
                         is_ready ? "True" : "False",
                         message ? arena_printf(arena, "'terminated':{'exitCode':1,'message':'%s'}",
                                                message)
                                 : "")));
    store_tree(found);
}

static void answer_metrics(const char *json)
{
    runtime.metrics = quote(arena, json);
}

#define METRICS(sync, more)                                                                        \
    "{'lastSync':" sync ",'sourceEndpoints':1,'registryEndpoints':3" more "}"
#define EMPTY_METRICS(sync) "{'lastSync':" sync ",'sourceEndpoints':0,'registryEndpoints':2}"

// ---- life ---------------------------------------------------------------------------------------

static void a_deployment_comes_with_the_first_name_and_goes_behind_the_last(void **state)
{
    (void)state;
    apply_record(PLAIN, "", "");
    put_project();
    reconcile_record();
    assert_condition("Accepted", "True/Accepted");
    assert_condition("DeploymentAvailable", "True/Unused");
    assert_null(deployment());
    put_publication(WANTED);
    reconcile_record();
    assert_null(deployment()); // no DNSEndpoint stands yet
    reconcile_site("dig");
    reconcile_record();
    assert_non_null(deployment());
    assert_non_null(find_at_site(&serviceaccount_kind, WORKLOAD));
    assert_non_null(find_at_site(&role_kind, WORKLOAD));
    assert_non_null(find_at_site(&rolebinding_kind, WORKLOAD));
    assert_condition("DeploymentAvailable", "False/Progressing");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767088800", ""));
    reconcile_record();
    assert_condition("DeploymentAvailable", "True/Available");
    assert_condition("Synced", "True/Synced");
    put_publication("'desired':'Terminated'");
    for (int i = 1; i <= 4; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, EMPTY_METRICS("%d"), BEGAN_S + 15 * i));
        reconcile_site("dig");
        reconcile_record();
    }
    assert_null(deployment());
    assert_null(find_at_site(&role_kind, WORKLOAD));
    assert_condition("DeploymentAvailable", "True/Unused");
    assert_string_equal(condition_of(arena, record_status(), "Synced"), "");
}

static void what_is_pinned_stands_before_the_deployment(void **state)
{
    (void)state;
    apply_record(PLAIN, "", "");
    put_project();
    put_publication(WANTED);
    reconcile_site("dig");
    decide_record();
    assert_int_equal(site.decision.finalizer, FINALIZER_ADD);
    assert_int_equal(site.decision.metadata_change_count, 1);
    assert_string_equal(site.decision.metadata_changes[0].key, PINNED_ANNOTATION);
    assert_int_equal(site.decision.object_count, 0);
    error_set(&runtime.refused, FAULT_AUTH, "Forbidden", "dnsupdaterecords is forbidden");
    decide_record();
    assert_int_equal(site.decision.object_count, 0);
    assert_string_equal(condition_of(arena, site.decision.status, "DeploymentAvailable"),
                        "False/Forbidden");
}

static void the_account_stands_before_the_deployment(void **state)
{
    (void)state;
    apply_record(PLAIN, "", "");
    put_project();
    put_publication(WANTED);
    reconcile_site("dig");
    decide_record();
    apply_metadata(get_at_site(&dnsupdaterecord_kind, "public"));
    store_tree(get_at_site(&dnsupdaterecord_kind, "public"));
    decide_record();
    assert_int_equal(site.decision.object_count, 2);
    for (size_t i = 0; i < site.decision.object_count; i++) {
        assert_ptr_not_equal(site.decision.objects[i].key.kind, &deployment_kind);
        assert_ptr_not_equal(site.decision.objects[i].key.kind, &rolebinding_kind);
    }
}

static void users_stand_on_the_deployment(void **state)
{
    static const char key[] = "metadata.annotations[users." DNS_GROUP "/other]";
    (void)state;
    use_record(PLAIN, "");
    struct site_object *found = get_at_site(&deployment_kind, WORKLOAD);
    value_put_text(arena, found->tree, key, "somebody/v1/else");
    store_tree(found);
    reconcile_record();
    assert_null(value_at(deployment(), key, NULL));
    assert_non_null(strstr(deployment_json("metadata.annotations"), "\"app/v1/dig\""));
    assert_string_equal(json_of(arena, value_find(record_status(), "users")),
                        "[{\"project\":\"shop\",\"compositeApp\":\"app\",\"version\":\"v1\","
                        "\"deploymentIntentGroup\":\"dig\",\"names\":1}]");
}

// Another project's publication by our record.
static void put_foreign_user(const char *desired)
{
    put(&namespace_kind, "abroad", "'status':{}");
    site.namespace_ = "abroad";
    put(&logicalcloud_kind, "far",
        "'spec':{'clusterReferences':[{'name':'r','clusterProvider':'vendor','cluster':'one'}],"
        "'kvPairs':[{'name':'dns-update-record-list','kv':[{'a':'shop/public'}]}]}");
    put(&trafficgroupintent_kind, "foreign",
        "'spec':{'compositeApp':'theirs','version':'v2','deploymentIntentGroup':'group','inbound':"
        "[{'name':'in','app':'front','appLabel':'app=front','serviceName':'web','port':443,"
        "'protocol':'TCP','externalName':'theirs.example.org','externalSupport':true}]}");
    put(&dnspublication_kind, "foreign",
        arena_printf(arena,
                     "'spec':{'compositeApp':'theirs','version':'v2','deploymentIntentGroup':"
                     "'group','logicalCloud':'far','desired':'%s'}",
                     desired));
    site.namespace_ = "shop";
}

static void a_user_of_another_project_is_told_with_it(void **state)
{
    (void)state;
    put(&namespace_kind, "shop", "'status':{}");
    use_record(PLAIN, ",'allowedProjects':['abroad']");
    put_foreign_user("Instantiated");
    reconcile_site("foreign");
    reconcile_record();
    const char *users = "users." DNS_GROUP "/";
    const struct value *annotations = value_at(deployment(), "metadata.annotations", NULL);
    size_t count = 0;
    value_each (item, annotations)
        count += text_starts(item->key, users);
    assert_int_equal(count, 2);
    assert_true(
        text_is(value_text_at(deployment(), "metadata.annotations[users." DNS_GROUP "/44fa0da1f8]"),
                "app/v1/dig"));
    assert_true(
        text_is(value_text_at(deployment(), "metadata.annotations[users." DNS_GROUP "/e141efd8c7]"),
                "abroad:theirs/v2/group"));
    // Who goes takes along its own alone.
    const struct value *want = NULL;
    put_foreign_user("Terminated");
    reconcile_site("foreign");
    decide_record();
    for (size_t i = 0; i < site.decision.object_count; i++)
        if (site.decision.objects[i].key.kind == &deployment_kind)
            want = site.decision.objects[i].tree;
    assert_non_null(want);
    assert_int_equal(
        value_at(want, "metadata.annotations[users." DNS_GROUP "/e141efd8c7]", NULL)->type,
        VALUE_NULL);
}

static void what_others_change_is_put_back(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    struct site_object *found = get_at_site(&deployment_kind, WORKLOAD);
    value_put_int(arena, found->tree, "spec.replicas", 3);
    value_put_text(arena, found->tree, "spec.template.spec.restartPolicy", "Always");
    store_tree(found);
    put_away(&role_kind, WORKLOAD);
    reconcile_record();
    assert_string_equal(deployment_json("spec.replicas"), "1");
    assert_string_equal(deployment_json("spec.template.spec.restartPolicy"), "\"Always\"");
    assert_non_null(find_at_site(&role_kind, WORKLOAD));
    put_away(&deployment_kind, WORKLOAD);
    reconcile_record();
    assert_non_null(deployment());
}

static void fields_that_the_record_gives_no_more_go(void **state)
{
    (void)state;
    use_record(PLAIN, ",'nodeSelector':{'a':'b','c':'d'},'resources':{'limits':{'cpu':'0.5'}}");
    assert_string_equal(deployment_json("spec.template.spec.nodeSelector"),
                        "{\"a\":\"b\",\"c\":\"d\"}");
    apply_record(PLAIN, ",'nodeSelector':{'a':'b'}", "");
    reconcile_record();
    assert_string_equal(deployment_json("spec.template.spec.nodeSelector"), "{\"a\":\"b\"}");
    assert_string_equal(deployment_json("spec.template.spec.containers[0].resources"), "");
    apply_record(PLAIN, "", "");
    reconcile_record();
    assert_string_equal(deployment_json("spec.template.spec.nodeSelector"), "");
}

static void delete_record(void)
{
    struct site_object *found = get_at_site(&dnsupdaterecord_kind, "public");
    value_put_text(arena, found->tree, "metadata.deletionTimestamp", "2025-12-30T10:00:30Z");
    store_tree(found);
}

static void a_deleted_record_stays_until_nobody_lists_it_and_it_is_drained(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767088800", ""));
    reconcile_record();
    delete_record();
    reconcile_record();
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 300");
    assert_non_null(deployment());
    assert_condition("Draining", "False/InUse");
    assert_non_null(strstr(message_of(arena, record_status(), "Draining"), "shop/dig"));
    put_publication("'desired':'Terminated'");
    for (int i = 1; i <= 4; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, EMPTY_METRICS("%d"), BEGAN_S + 15 * i));
        reconcile_site("dig");
        reconcile_record();
    }
    assert_null(deployment());
    assert_condition("Draining", "False/InUse"); // it is listed, though nobody wants names
    put_cloud("", "");
    reconcile_site("dig");
    reconcile_record();
    assert_null(find_at_site(&dnsupdaterecord_kind, "public"));
}

static void end_namespace(void)
{
    struct site_object *found = put(&namespace_kind, "shop", "'spec':{}");
    value_put_text(arena, found->tree, "metadata.deletionTimestamp", "2025-12-30T10:00:30Z");
    store_tree(found);
}

// Though it is listed; and nothing is made again of what the end has taken.
static void a_record_goes_with_its_namespace(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767088800", ""));
    reconcile_record();
    reconcile_site("dig");
    end_namespace();
    delete_record();
    reconcile_record();
    assert_non_null(deployment()); // it may remove names as long as it stands
    put_away(&role_kind, WORKLOAD);
    put_away(&deployment_kind, WORKLOAD);
    put_away(&rolebinding_kind, WORKLOAD);
    put_away(&serviceaccount_kind, WORKLOAD);
    reconcile_record();
    assert_int_equal(site.decision.object_count, 0);
    assert_condition("DeploymentAvailable", "True/Unused");
    reconcile_site("dig"); // leaves the record, which nobody can drain any more
    assert_string_equal(condition_of(arena, status_of("dig"), "Drained"), "False/RecordsRetained");
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"), "False/RecordNotFound");
    reconcile_record();
    assert_null(find_at_site(&dnsupdaterecord_kind, "public"));
}

// Its user is no user any more, and another one keeps it alive.
static void who_drains_stands_on_the_deployment_no_more(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767088800", ""));
    reconcile_record();
    assert_non_null(strstr(deployment_json("metadata.annotations"), "app/v1/dig"));
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    reconcile_record();
    assert_non_null(deployment());
    assert_null(strstr(deployment_json("metadata.annotations"), "app/v1/dig"));
    assert_condition("Draining", "True/SourceLagging");
    put_publication(WANTED);
    reconcile_site("dig");
    for (int i = 1; i <= 4; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, METRICS("%d", ""), BEGAN_S + 15 * i));
        reconcile_record();
        reconcile_site("dig");
        assert_non_null(deployment());
    }
    assert_non_null(strstr(deployment_json("metadata.annotations"), "app/v1/dig"));
    assert_string_equal(condition_of(arena, record_status(), "Draining"), "");
}

static void a_drain_is_not_proven_while_external_dns_reads_what_is_gone(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767088800", ""));
    reconcile_record();
    put_publication("'desired':'Terminated'");
    for (int i = 1; i <= 4; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, METRICS("%d", ""), BEGAN_S + 15 * i));
        reconcile_site("dig");
        reconcile_record();
    }
    assert_non_null(deployment());
    assert_condition("Draining", "True/SourceLagging");
    assert_string_equal(condition_of(arena, status_of("dig"), "Drained"), "False/Draining");
    for (int i = 5; i <= 8; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, EMPTY_METRICS("%d"), BEGAN_S + 15 * i));
        reconcile_record();
        reconcile_site("dig");
    }
    reconcile_record();
    assert_string_equal(condition_of(arena, status_of("dig"), "Drained"), "True/Drained");
    assert_null(deployment());
}

static void native_removes_the_deployment_at_once(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    assert_non_null(deployment());
    apply_record(SIGNED, NATIVE, "");
    reconcile_record();
    assert_null(deployment());
    assert_non_null(list_endpoints(&(size_t){0})[0]);
    assert_condition("DeploymentAvailable", "True/Unused");
    assert_null(value_text_at(record_status(), "deployment").at);
    apply_record(PLAIN, "", "");
    reconcile_record();
    assert_non_null(deployment());
}

static void external_dns_comes_to_remove_what_was_published_natively(void **state)
{
    (void)state;
    use_record(SIGNED, NATIVE);
    reconcile_site("dig");
    assert_null(deployment());
    apply_record(PLAIN, "", "");
    decide_record();
    struct site_object *record = get_at_site(&dnsupdaterecord_kind, "public");
    assert_true(apply_metadata(record)); // external-dns is in force, and not made yet
    store_tree(record);
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    reconcile_record();
    assert_non_null(deployment());
    run_pod(true, NULL);
    for (int i = 1; i <= 4; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, EMPTY_METRICS("%d"), BEGAN_S + 15 * i));
        reconcile_record();
        reconcile_site("dig");
    }
    reconcile_record();
    assert_string_equal(condition_of(arena, status_of("dig"), "Drained"), "True/Drained");
    assert_null(deployment());
}

// ---- what is accepted ---------------------------------------------------------------------------

static void a_record_that_is_refused_leaves_what_runs(void **state)
{
    static const struct {
        const char *parameters;
        const char *more;
        const char *accepted;
    } rows[] = {
        {PLAIN ",'interval':'0s'", "", "False/InvalidParameter"},
        {PLAIN, ",'version':'v0.18.0','image':'e:v0.18.0'", "False/VersionUnsupported"},
        {PLAIN, ",'version':'v0.21.0'", "False/InvalidParameter"}, // the image is another release
        {PLAIN, ",'version':'v0.99.0','image':'e:v0.99.0'", "True/VersionUnknown"},
    };
    (void)state;
    use_record(PLAIN, "");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *before = deployment_json("spec");
        apply_record(rows[i].parameters, rows[i].more, "");
        reconcile_record();
        assert_condition("Accepted", rows[i].accepted);
        assert_int_equal(strcmp(before, deployment_json("spec")) == 0,
                         strncmp(rows[i].accepted, "False", 5) == 0);
    }
}

static void two_records_with_one_owner_conflict(void **state)
{
    (void)state;
    apply_record(PLAIN ",'txt-owner-id':'mine'", "", "");
    struct site_object *other =
        put(&dnsupdaterecord_kind, "older",
            "'spec':{'provider':'rfc2136','external-dns-parameters':{'rfc2136-host':'192.0.2.54',"
            "'rfc2136-zone':'example.net','rfc2136-insecure':true,'txt-owner-id':'mine'}}");
    value_put_text(arena, other->tree, "metadata.creationTimestamp", "2025-01-01T00:00:00Z");
    store_tree(other);
    reconcile_record();
    assert_condition("Accepted", "False/OwnerConflict");
    assert_non_null(
        strstr(message_of(arena, record_status(), "Accepted"), "DNSUpdateRecord shop/older"));
}

static void a_place_in_use_does_not_change(void **state)
{
    static const char *const places[] = {
        "'rfc2136-zone':'example.net','rfc2136-insecure':true",
        PLAIN ",'rfc2136-port':5353",
        PLAIN ",'registry':'noop'",
        PLAIN ",'txt-owner-id':'other'",
        PLAIN ",'txt-prefix':'p-'",
        PLAIN ",'txt-suffix':'-s'",
    };
    (void)state;
    use_record(PLAIN, "");
    const char *before = deployment_json("spec");
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        apply_record(places[i], "", "");
        reconcile_record();
        assert_condition("Accepted", "False/PinnedChange");
        assert_non_null(strstr(message_of(arena, record_status(), "Accepted"), "app/v1/dig"));
        assert_string_equal(deployment_json("spec"), before);
    }
    apply_record(PLAIN ",'log-level':'debug'", "", "");
    reconcile_record();
    assert_condition("Accepted", "True/Accepted");
    assert_non_null(strstr(deployment_json("spec"), "--log-level=debug"));
}

static void what_is_no_place_is_applied_where_it_runs(void **state)
{
    static const struct {
        const char *parameters;
        const char *arg;
    } rows[] = {
        {PLAIN ",'interval':'30s'", "--interval=30s"},
        {PLAIN ",'log-level':'debug'", "--log-level=debug"},
        {PLAIN ",'log-format':'json'", "--log-format=json"},
        {PLAIN ",'exclude-domains':'a.example.org'", "--exclude-domains=a.example.org"},
    };
    (void)state;
    use_record(PLAIN, "");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        apply_record(rows[i].parameters, "", "");
        reconcile_record();
        assert_condition("Accepted", "True/Accepted");
        assert_string_equal(condition_of(arena, record_status(), "Moving"), "");
        assert_non_null(strstr(deployment_json("spec"), rows[i].arg));
        reconcile_site("dig");
        assert_string_equal(published(), "A 198.51.100.7 300");
    }
    const char *before = deployment_json("spec");
    apply_record(rows[3].parameters, ",'ttl':60", "");
    reconcile_record();
    reconcile_site("dig");
    assert_string_equal(published(), "A 198.51.100.7 60");
    assert_string_equal(deployment_json("spec"), before);
}

static void a_move_waits_until_the_old_place_is_drained(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767088800", ""));
    apply_record(PLAIN ",'txt-owner-id':'other'", "", "'" MOVE_ANNOTATION "':'drain'");
    reconcile_record();
    assert_condition("Moving", "True/Moving");
    assert_condition("Accepted", "True/Accepted");
    assert_null(strstr(deployment_json("spec"), "--txt-owner-id=other"));
    reconcile_site("dig");
    assert_string_equal(condition_of(arena, status_of("dig"), "Published"), "False/Moving");
    answer_metrics(EMPTY_METRICS("1767088800"));
    reconcile_record();
    assert_condition("Draining", "True/Draining");
    assert_int_equal(runtime.good_for_ms, 15000);
    assert_non_null(deployment());
    for (int i = 1; i <= 4; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, EMPTY_METRICS("%d"), BEGAN_S + 15 * i));
        reconcile_record();
        reconcile_site("dig");
        reconcile_record();
    }
    assert_string_equal(condition_of(arena, record_status(), "Moving"), "");
    reconcile_site("dig");
    reconcile_record();
    assert_non_null(strstr(deployment_json("spec"), "--txt-owner-id=other"));
    assert_string_equal(condition_of(arena, record_status(), "Moving"), "");
}

// ---- the place of a native record ---------------------------------------------------------------

#define ELSEWHERE ",'rfc2136-port':5353"

static const char *claimed_at(void)
{
    decide_site("dig");
    return arena_printf(arena, "%s %s", claimed(),
                        site.decision.claim_count ? site.decision.claims[0].registry : "");
}

static const char *opened(void)
{
    decide_record();
    return site.decision.backend_count ? site.decision.backends[0].registry : "";
}

static void use_native(void)
{
    use_record(SIGNED, NATIVE);
    reconcile_site("dig");
    assert_string_equal(claimed_at(),
                        "SET A shop example.org 198.51.100.7 rfc2136://192.0.2.53:53/example.org");
}

#define OWNER "signpost-shop-public-1f1e5f41"

// The owner stays when the engine changes.
static void a_native_record_has_the_owner_and_no_object_of_external_dns(void **state)
{
    static const struct kind *const kinds[] = {&deployment_kind, &serviceaccount_kind, &role_kind,
                                               &rolebinding_kind};
    (void)state;
    put(&secret_kind, "tsig", "'data':{'secret':'YzJWamNtVjA='}");
    use_record(SIGNED ",'txt-prefix':'own-'", REFS_TO("tsig"));
    const char *args = deployment_json("spec.template.spec.containers[0].args");
    assert_non_null(strstr(args, "\"--txt-owner-id=" OWNER "\""));
    assert_non_null(strstr(args, "\"--txt-prefix=own-\""));
    apply_record(SIGNED ",'txt-prefix':'own-','rfc2136-min-ttl':'30s'", NATIVE, "");
    reconcile_record();
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        assert_null(find_at_site(kinds[i], WORKLOAD));
    decide_record();
    assert_string_equal(json_of(arena, site.decision.backends[0].config),
                        json_of(arena, quote(arena, "{'server':'192.0.2.53:53','zone':"
                                                    "'example.org','tsigName':'k','tsigAlgorithm':"
                                                    "'hmac-sha256','ownerId':'" OWNER
                                                    "','txtPrefix':'own-','minTtl':30}")));
}

static void a_native_record_without_registry_has_no_owner(void **state)
{
    (void)state;
    put(&secret_kind, "tsig", "'data':{'secret':'YzJWamNtVjA='}");
    use_record(SIGNED ",'registry':'noop'", NATIVE);
    decide_record();
    assert_string_equal(json_of(arena, site.decision.backends[0].config),
                        json_of(arena, quote(arena, "{'server':'192.0.2.53:53','zone':"
                                                    "'example.org','tsigName':'k','tsigAlgorithm':"
                                                    "'hmac-sha256'}")));
    assert_null(find_at_site(&serviceaccount_kind, WORKLOAD));
}

static void a_native_place_in_use_does_not_change(void **state)
{
    static const char *const places[] = {
        SIGNED ",'rfc2136-port':5353",    SIGNED_AT("example.net"),
        SIGNED ",'txt-owner-id':'other'", SIGNED ",'txt-prefix':'p-'",
        SIGNED ",'txt-suffix':'-s'",      SIGNED ",'registry':'noop'",
    };
    (void)state;
    put(&secret_kind, "tsig", "'data':{'secret':'YzJWamNtVjA='}");
    use_record(SIGNED, NATIVE);
    reconcile_site("dig");
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        apply_record(places[i], NATIVE, "");
        reconcile_record();
        assert_condition("Accepted", "False/PinnedChange");
        assert_non_null(strstr(message_of(arena, record_status(), "Accepted"), "app/v1/dig"));
        reconcile_site("dig");
        assert_string_equal(published(), "A 198.51.100.7 300");
        assert_string_equal(claimed_at(), "SET A shop example.org 198.51.100.7 "
                                          "rfc2136://192.0.2.53:53/example.org");
        assert_string_equal(opened(), "rfc2136://192.0.2.53:53/example.org");
        assert_int_equal(site.decision.backends[0].fault.fault, FAULT_NONE);
    }
    static const char *const spellings[] = {SIGNED_AT("Example.ORG."), SIGNED ",'registry':'txt'",
                                            SIGNED ",'rfc2136-port':53"};
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        apply_record(spellings[i], NATIVE, "");
        reconcile_record();
        assert_condition("Accepted", "True/Accepted");
        assert_string_equal(opened(), "rfc2136://192.0.2.53:53/example.org");
    }
    apply_record(SIGNED, NATIVE_WITH("new"), ""); // a key is no place
    put(&secret_kind, "new", "'data':{'secret':'YzJWamNtVjA='}");
    reconcile_record();
    assert_condition("Accepted", "True/Accepted");
}

static void what_a_publication_hears_of_a_native_name_is_told_of_its_record(void **state)
{
    (void)state;
    put(&secret_kind, "tsig", "'data':{'secret':'YzJWamNtVjA='}");
    use_record(SIGNED, NATIVE);
    reconcile_site("dig");
    reconcile_record();
    assert_condition("Synced", "True/Synced");
    struct value *status = value_find(get_at_site(&dnspublication_kind, "dig")->tree, "status");
    struct value *name = value_find(status, "names")->first;
    value_put_text(arena, name, "state", "Written");
    value_put_text(arena, name, "reason", "ServerError");
    value_put_text(arena, name, "message", "the server answered REFUSED");
    store_tree(get_at_site(&dnspublication_kind, "dig"));
    reconcile_record();
    assert_condition("Synced", "False/SyncFailing");
    assert_string_equal(message_of(arena, record_status(), "Synced"),
                        "shop.example.org: the server answered REFUSED");
    value_put_text(arena, name, "state", "Conflict");
    value_put_text(arena, name, "reason", "Conflict");
    store_tree(get_at_site(&dnspublication_kind, "dig"));
    reconcile_record();
    assert_condition("Synced", "False/OwnerMismatch");
}

static void a_native_move_removes_at_the_old_place_first(void **state)
{
    (void)state;
    use_native();
    apply_record(SIGNED ELSEWHERE, NATIVE, "'" MOVE_ANNOTATION "':'drain'");
    reconcile_record();
    assert_condition("Accepted", "True/Accepted");
    assert_condition("Moving", "True/Moving");
    site.outcome = RECEIPT_WAITING;
    reconcile_site("dig");
    for (int i = 0; i < 2; i++) { // as often as it is looked at
        assert_string_equal(claimed_at(),
                            "REMOVE A shop example.org rfc2136://192.0.2.53:53/example.org");
        assert_string_equal(opened(), "rfc2136://192.0.2.53:53/example.org");
        assert_string_equal(published(), "A 198.51.100.7 300");
        reconcile_record();
    }
    site.outcome = RECEIPT_SETTLED;
    decide_site("dig");
    reconcile_site("dig");
    assert_string_equal(published(), "");
    reconcile_record();
    assert_string_equal(condition_of(arena, record_status(), "Moving"), "");
    assert_string_equal(opened(), "rfc2136://192.0.2.53:5353/example.org");
    reconcile_site("dig");
    assert_string_equal(
        claimed_at(), "SET A shop example.org 198.51.100.7 rfc2136://192.0.2.53:5353/example.org");
}

// A server's key stays with it.
static void a_native_move_removes_with_the_old_key(void **state)
{
    (void)state;
    put(&secret_kind, "tsig", "'data':{'secret':'b2xk'}");
    use_record(SIGNED, NATIVE);
    reconcile_site("dig");
    put(&secret_kind, "new", "'data':{'secret':'bmV3'}");
    apply_record("'rfc2136-zone':'example.org','rfc2136-port':5353,'rfc2136-tsig-keyname':'other',"
                 "'rfc2136-tsig-secret-alg':'hmac-sha512'",
                 NATIVE_WITH("new"), "'" MOVE_ANNOTATION "':'drain'");
    for (int is_new = 0; is_new < 2; is_new++) {
        reconcile_record();
        assert_string_equal(opened(), is_new ? "rfc2136://192.0.2.53:5353/example.org"
                                             : "rfc2136://192.0.2.53:53/example.org");
        const struct backend_want *backend = &site.decision.backends[0];
        assert_true(text_is(value_text_at(backend->config, "tsigName"), is_new ? "other" : "k"));
        assert_true(text_is(value_text_at(backend->config, "tsigAlgorithm"),
                            is_new ? "hmac-sha512" : "hmac-sha256"));
        assert_true(text_is(secret_expose(backend->secret), is_new ? "new" : "old"));
        reconcile_site("dig");
    }
}

static void an_engine_that_comes_with_another_place_waits_for_the_old_one(void **state)
{
    (void)state;
    use_native();
    apply_record(PLAIN ELSEWHERE, "", ""); // external-dns, at another server
    reconcile_record();
    reconcile_site("dig");
    assert_condition("Accepted", "False/PinnedChange");
    assert_null(deployment());
    assert_string_equal(claimed_at(),
                        "SET A shop example.org 198.51.100.7 rfc2136://192.0.2.53:53/example.org");
    apply_record(PLAIN, "", ""); // at the same
    reconcile_record();
    assert_condition("Accepted", "True/Accepted");
    assert_non_null(deployment());
    reconcile_site("dig");
    assert_int_equal(site.decision.claim_count, 0);
    apply_record(SIGNED ELSEWHERE, NATIVE, ""); // and back, at another one
    reconcile_record();
    reconcile_site("dig");
    assert_condition("Accepted", "False/PinnedChange");
    assert_non_null(deployment());
    assert_int_equal(site.decision.claim_count, 0);
    assert_string_equal(opened(), "");
    apply_record(SIGNED, NATIVE, "");
    reconcile_record();
    assert_null(deployment());
    reconcile_site("dig");
    assert_string_equal(claimed_at(),
                        "SET A shop example.org 198.51.100.7 rfc2136://192.0.2.53:53/example.org");
}

static void external_dns_drains_on_though_the_engine_is_changed(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767088800", ""));
    reconcile_record();
    reconcile_site("dig");
    put_publication("'desired':'Terminated'");
    reconcile_site("dig");
    apply_record(SIGNED, NATIVE, "");
    reconcile_record();
    assert_non_null(deployment());
    for (int i = 1; i <= 4; i++) {
        site.now_ms += 15000;
        answer_metrics(arena_printf(arena, EMPTY_METRICS("%d"), BEGAN_S + 15 * i));
        reconcile_record();
        reconcile_site("dig");
    }
    reconcile_record();
    assert_string_equal(condition_of(arena, status_of("dig"), "Drained"), "True/Drained");
    assert_null(deployment());
}

static void a_place_is_remembered_without_its_deployment(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    put_away(&deployment_kind, WORKLOAD);
    apply_record(PLAIN ELSEWHERE, "", "");
    reconcile_record();
    assert_condition("Accepted", "False/PinnedChange");
    assert_null(deployment());
}

// ---- credentials --------------------------------------------------------------------------------

static void coredns_without_an_etcd_says_so(void **state)
{
    (void)state;
    put(&dnsupdaterecord_kind, "public", "'spec':{'provider':'coredns'}");
    reconcile_record();
    assert_condition("CredentialsReady", "False/EtcdUrlsMissing");
    put(&dnsupdaterecord_kind, "public",
        "'spec':{'provider':'coredns','env':[{'name':'ETCD_URLS','value':'http://etcd:2379'}]}");
    reconcile_record();
    assert_condition("CredentialsReady", "True/Ready");
}

static void assert_credentials(const char *data, const char *condition, const char *message)
{
    put(&secret_kind, "tsig", arena_printf(arena, "'data':{'secret':'%s'}", data));
    reconcile_record();
    assert_condition("CredentialsReady", condition);
    assert_string_equal(message_of(arena, record_status(), "CredentialsReady"), message);
}

static void a_secret_of_tsig_is_base64(void **state)
{
    static const char not_base64[] =
        "key secret of Secret shop/tsig must be base64: copy it from the server's key as it stands";
    static const char empty[] = "key secret of Secret shop/tsig is empty: put the value there";
    (void)state;
    for (int is_native = 0; is_native < 2; is_native++) {
        close_site(NULL);
        open_site(state);
        put(&secret_kind, "tsig", "'data':{}");
        use_record(SIGNED, is_native ? REFS_TO("tsig") ",'engine':'native'" : REFS_TO("tsig"));
        assert_credentials("Pyo=", "False/InvalidConfiguration", not_base64);     // ?*
        assert_credentials("c2VjcmV0", "False/InvalidConfiguration", not_base64); // secret
        assert_null(deployment());
        assert_credentials("", "False/SecretKeyMissing", empty);
        assert_credentials("Cg==", "False/SecretKeyMissing", empty); // a line feed
        assert_credentials("YzJWamNtVjAK", "True/Ready",
                           "all Secrets that the record names are there, with their keys");
    }
}

static void an_incomplete_secret_holds_the_deployment(void **state)
{
    (void)state;
    use_record(SIGNED, REFS_TO("tsig"));
    assert_condition("CredentialsReady", "False/SecretNotFound");
    assert_null(deployment());
    put(&secret_kind, "tsig", "'data':{'other':'c2VjcmV0'}");
    reconcile_record();
    assert_condition("CredentialsReady", "False/SecretKeyMissing");
    assert_null(deployment());
    put(&secret_kind, "tsig", "'data':{'secret':'YzJWamNtVjA='}");
    reconcile_record();
    assert_condition("CredentialsReady", "True/Ready");
    const char *before = deployment_json("spec.template.metadata.annotations");
    assert_non_null(strstr(before, "secret-checksum"));
    put(&secret_kind, "tsig", "'data':{}");
    reconcile_record();
    assert_condition("CredentialsReady", "False/SecretKeyMissing");
    assert_string_equal(deployment_json("spec.template.metadata.annotations"), before);
    put(&secret_kind, "tsig", "'data':{'secret':'YjNSb1pYST0='}");
    reconcile_record();
    assert_string_not_equal(deployment_json("spec.template.metadata.annotations"), before);
    assert_null(strstr(json_of(arena, record_status()), "b3RoZXI="));
}

// ---- how it fares -------------------------------------------------------------------------------

static void a_crash_is_shown_with_its_last_line_and_no_secret(void **state)
{
    (void)state;
    put(&secret_kind, "tsig", "'data':{'secret':'aHVudGVyMjI='}"); // hunter22
    use_record(SIGNED, REFS_TO("tsig"));
    run_pod(false, "first\\nfatal: bad key hunter22 given\\n");
    reconcile_record();
    assert_condition("DeploymentAvailable", "False/CrashLoop");
    assert_string_equal(message_of(arena, record_status(), "DeploymentAvailable"),
                        "external-dns ended: fatal: bad key *** given");
    AUTO_BUFFER line = {0};
    for (int i = 0; i < 249; i++)
        buffer_add_char(&line, 'x');
    run_pod(false, arena_printf(arena, "%s hunter22hunter22", line.at));
    reconcile_record();
    assert_string_equal(message_of(arena, record_status(), "DeploymentAvailable"),
                        arena_printf(arena, "external-dns ended: %s ******", line.at));
    for (int i = 0; i < 100; i++)
        buffer_add_char(&line, 'x');
    run_pod(false, line.at);
    reconcile_record();
    assert_int_equal(strlen(message_of(arena, record_status(), "DeploymentAvailable")),
                     strlen("external-dns ended: ") + 256);
    run_pod(true, "fatal: of before");
    reconcile_record();
    assert_condition("DeploymentAvailable", "True/Available");
    put_away(&pod_kind, "pod");
    run_pod(false, "fatal: bad key");
    reconcile_record();
    assert_condition("DeploymentAvailable", "False/CrashLoop");
    assert_condition("Synced", "Unknown/NotScraped");
}

static void what_keeps_a_deployment_away_is_named(void **state)
{
    (void)state;
    runtime.settings.image = NULL;
    use_record(PLAIN, "");
    assert_condition("DeploymentAvailable", "False/ImageNotSet");
    assert_null(deployment());
    runtime.settings.image = "registry.example/external-dns:v0.22.0";
    error_set(&runtime.refused, FAULT_AUTH, "Forbidden", "deployments is forbidden");
    reconcile_record();
    assert_condition("DeploymentAvailable", "False/Forbidden");
    runtime.refused = (struct error){0};
    runtime.runs_workloads = false;
    reconcile_record();
    assert_condition("DeploymentAvailable", "Unknown/NotACluster");
    assert_string_equal(condition_of(arena, record_status(), "Synced"), "");
    assert_non_null(deployment());
}

static void without_its_crd_there_is_no_deployment(void **state)
{
    (void)state;
    runtime.has_no_endpoints = true;
    site.has_no_endpoints = true;
    use_record(PLAIN, "");
    assert_condition("DeploymentAvailable", "False/CRDMissing");
    assert_null(deployment());
}

static void what_external_dns_says_becomes_a_condition(void **state)
{
    static const struct {
        const char *metrics;
        const char *more;
        const char *synced;
        const char *message;
    } rows[] = {
        {METRICS("1767096000", ""), "", "True/Synced", ""},
        {METRICS("1767096000", ""), ",'dry-run':true", "True/DryRun", ""},
        {"{'lastSync':1767096000,'sourceEndpoints':0,'registryEndpoints':2}", "",
         "False/SourceLagging", ""},
        {"{'lastSync':1767096000,'sourceEndpoints':1,'registryEndpoints':0}", "",
         "False/SyncFailing", "external-dns can't list the zone"},
        {"{'lastSync':1767096000,'sourceEndpoints':1,'registryEndpoints':0}",
         ",'rfc2136-tsig-axfr':false", "True/Synced", ""},
        {"{'sourceEndpoints':1}", "", "False/SyncFailing", ""},
        {METRICS("1767090000", ""), "", "False/SyncFailing", ""},
        {"{'lastSync':1767096000,'sourceEndpoints':1,'softErrors':2}", "", "False/SyncFailing", ""},
        {"{'lastSync':1767096000,'sourceEndpoints':0,'registryEndpoints':2,'invalidEndpoints':1}",
         "", "False/InvalidEndpoints", ""},
        {"{'lastSync':1767096000,'sourceEndpoints':0,'invalidEndpoints':1}", "",
         "False/SyncFailing", "external-dns can't list the zone"},
        {METRICS("1767096000",
                 ",'ownerMismatches':1,'mismatches':[{'domain':'example.org','owner':'them'}]"),
         "", "False/OwnerMismatch", "records in example.org belong to them"},
        {NULL, "", "Unknown/NotScraped", "connection refused"},
    };
    (void)state;
    use_record(PLAIN, "");
    site.now_ms += 7200000;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        apply_record(arena_printf(arena, PLAIN "%s", rows[i].more), "", "");
        reconcile_record();
        run_pod(true, NULL);
        runtime.metrics = rows[i].metrics ? quote(arena, rows[i].metrics) : NULL;
        reconcile_record();
        assert_condition("Synced", rows[i].synced);
        assert_non_null(strstr(message_of(arena, record_status(), "Synced"), rows[i].message));
    }
}

// Publications report what name servers answer.
static void what_external_dns_leaves_alone_is_told_of_its_record(void **state)
{
    static const struct {
        const char *state;
        const char *reason;
        const char *synced;
    } rows[] = {
        {"Synced", "OwnerMismatch", "False/OwnerMismatch"},
        {"Synced", "Mismatch", "False/Mismatch"},
        {"Synced", "NotAnswered", "True/Synced"},
        {"Written", "Forbidden", "True/Synced"}, // to us, which external-dns has no part in
    };
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    answer_metrics(METRICS("1767096000", ""));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct value *status = value_find(get_at_site(&dnspublication_kind, "dig")->tree, "status");
        struct value *name = value_find(status, "names")->first;
        value_put_text(arena, name, "state", rows[i].state);
        value_put_text(arena, name, "reason", rows[i].reason);
        value_put_text(arena, name, "message", "192.0.2.53:53 answers 192.0.2.9");
        store_tree(get_at_site(&dnspublication_kind, "dig"));
        reconcile_record();
        assert_condition("Synced", rows[i].synced);
    }
}

static void read_endpoints(void)
{
    size_t count;
    const struct object **found = list_endpoints(&count);
    for (size_t i = 0; i < count; i++) {
        struct text name = object_name(found[i]);
        struct site_object *endpoint =
            get_at_site(&dnsendpoint_kind, arena_copy(arena, name.at, name.len));
        value_put_int(arena, endpoint->tree, "status.observedGeneration",
                      value_int_at(endpoint->tree, "metadata.generation", 0));
        store_tree(endpoint);
    }
}

// The name is written all the same, and those beside it are as well.
static void run_beside_answer(const char *text_answer, const char *reason)
{
    use_record(PLAIN, ",'verify':{'servers':['192.0.2.1'],'timeoutSeconds':60}");
    run_pod(true, NULL);
    site.answer = "{'rcode':'NOERROR','authoritative':true,'values':['203.0.113.9']}";
    site.text_answer = text_answer;
    for (int i = 0; i < 24; i++, site.now_ms += 15000) {
        read_endpoints();
        answer_metrics(arena_printf(arena, METRICS("%lld", ""),
                                    (long long)((site.now_ms + 30000) / 60000 * 60 - 30)));
        reconcile_site("dig");
        reconcile_record();
        const struct value *name = value_find(status_of("dig"), "names")->first;
        if (i < 10)
            continue;
        assert_true(text_is(value_text_at(name, "state"), "Synced"));
        assert_true(text_is(value_text_at(name, "reason"), reason));
        assert_condition("Synced", arena_printf(arena, "False/%s", reason));
    }
}

static void a_name_that_servers_answer_otherwise_is_told_as_long_as_they_do(void **state)
{
    (void)state;
    run_beside_answer(NULL, "Mismatch");
}

static void a_name_that_is_another_owners_is_told_as_long_as_it_is(void **state)
{
    (void)state;
    run_beside_answer("{'rcode':'NOERROR','authoritative':true,'values':["
                      "'heritage=external-dns,external-dns/owner=them']}",
                      "OwnerMismatch");
}

static void it_is_asked_rarely_when_all_is_well(void **state)
{
    (void)state;
    use_record(PLAIN, "");
    run_pod(true, NULL);
    reconcile_record();
    assert_int_equal(runtime.good_for_ms, 15000);
    read_endpoints();
    site.now_ms += 3600000;
    reconcile_site("dig"); // external-dns has read the name
    answer_metrics(arena_printf(arena, METRICS("%d", ""), BEGAN_S + 3600));
    reconcile_record();
    reconcile_record();
    assert_int_equal(runtime.good_for_ms, 15000);
    site.now_ms += 15000;
    answer_metrics(arena_printf(arena, METRICS("%d", ""), BEGAN_S + 3615));
    reconcile_record();
    reconcile_site("dig"); // and carried it out
    reconcile_record();
    assert_int_equal(runtime.good_for_ms, 60000);
    assert_int_equal(site.decision.wake_ms, site.now_ms + 151000); // it would be late then
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, open_runtime, close_site)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORY(a_deployment_comes_with_the_first_name_and_goes_behind_the_last),
        STORY(what_is_pinned_stands_before_the_deployment),
        STORY(the_account_stands_before_the_deployment),
        STORY(users_stand_on_the_deployment),
        STORY(a_user_of_another_project_is_told_with_it),
        STORY(what_others_change_is_put_back),
        STORY(fields_that_the_record_gives_no_more_go),
        STORY(a_deleted_record_stays_until_nobody_lists_it_and_it_is_drained),
        STORY(a_record_goes_with_its_namespace),
        STORY(who_drains_stands_on_the_deployment_no_more),
        STORY(a_drain_is_not_proven_while_external_dns_reads_what_is_gone),
        STORY(native_removes_the_deployment_at_once),
        STORY(external_dns_comes_to_remove_what_was_published_natively),
        STORY(a_record_that_is_refused_leaves_what_runs),
        STORY(two_records_with_one_owner_conflict),
        STORY(a_place_in_use_does_not_change),
        STORY(what_is_no_place_is_applied_where_it_runs),
        STORY(a_move_waits_until_the_old_place_is_drained),
        STORY(a_native_record_has_the_owner_and_no_object_of_external_dns),
        STORY(a_native_record_without_registry_has_no_owner),
        STORY(a_native_place_in_use_does_not_change),
        STORY(what_a_publication_hears_of_a_native_name_is_told_of_its_record),
        STORY(a_native_move_removes_at_the_old_place_first),
        STORY(a_native_move_removes_with_the_old_key),
        STORY(an_engine_that_comes_with_another_place_waits_for_the_old_one),
        STORY(external_dns_drains_on_though_the_engine_is_changed),
        STORY(a_place_is_remembered_without_its_deployment),
        STORY(coredns_without_an_etcd_says_so),
        STORY(a_secret_of_tsig_is_base64),
        STORY(an_incomplete_secret_holds_the_deployment),
        STORY(a_crash_is_shown_with_its_last_line_and_no_secret),
        STORY(what_keeps_a_deployment_away_is_named),
        STORY(without_its_crd_there_is_no_deployment),
        STORY(what_external_dns_says_becomes_a_condition),
        STORY(what_external_dns_leaves_alone_is_told_of_its_record),
        STORY(it_is_asked_rarely_when_all_is_well),
        STORY(a_name_that_servers_answer_otherwise_is_told_as_long_as_they_do),
        STORY(a_name_that_is_another_owners_is_told_as_long_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
