#include "controllers/intent/update_record.h"

#include <string.h>

#include "base/labels.h"
#include "controllers/intent/native.h"
#include "controllers/intent/publication.h"
#include "controllers/intent/update_record_reconcile.h"
#include "controllers/intent/verify.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"
#include "kinds/role/role_kind.h"
#include "kinds/rolebinding/rolebinding_kind.h"
#include "kinds/secret/secret_kind.h"
#include "kinds/serviceaccount/serviceaccount_kind.h"
#include "kinds/tree_body.h"

#define INSTANCE_LABEL "app.kubernetes.io/instance"
#define WORKLOAD_LABELS                                                                            \
    "app.kubernetes.io/name=external-dns,app.kubernetes.io/managed-by=signpost," INSTANCE_LABEL
#define NAME_PREFIX "external-dns-"

enum { HASH_OCTETS = 9 }; // at the end of a label of a record: "-b4bbad42"

// ---- inputs -------------------------------------------------------------------------------------

static void index_endpoint(const struct object *object, struct strings *out)
{
    struct dnsendpoint endpoint;
    dnsendpoint_unpack(out->arena, object_spec(object), &endpoint);
    struct text record = text_map_find(endpoint.annotations, endpoint.annotation_count,
                                       TEXT(INTENT_RECORD_ANNOTATION));
    if (record.len)
        strings_add(out, "%.*s/%.*s", TEXT_ARGS(object_namespace(object)), TEXT_ARGS(record));
}

static struct text record_name(struct arena *arena, const struct object *subject)
{
    struct update_record record;
    update_record_unpack(arena, object_spec(subject), &record);
    return record.name;
}

static void look_up_endpoints(const struct object *subject, struct strings *out)
{
    strings_add(out, "%.*s/%.*s", TEXT_ARGS(object_namespace(subject)),
                TEXT_ARGS(record_name(out->arena, subject)));
}

// The hash at the end of a label is made of the project as well, whose name no input has: objects
// of a few other records may be found, too.
static void add_label(struct strings *out, struct text namespace_, struct text label)
{
    if (label.len > HASH_OCTETS)
        strings_add(out, "%.*s/%.*s", TEXT_ARGS(namespace_), (int)(label.len - HASH_OCTETS),
                    label.at);
}

static void index_workload(const struct object *object, struct strings *out)
{
    add_label(out, object_namespace(object),
              labels_find(object_spec(object), TEXT(INSTANCE_LABEL)));
}

static void look_up_workload(const struct object *subject, struct strings *out)
{
    add_label(out, object_namespace(subject),
              text_of(update_record_label(out->arena, TEXT(""), record_name(out->arena, subject))));
}

static void look_up_secret(const struct object *subject, struct text name, struct strings *out)
{
    const char *key = arena_printf(out->arena, "%.*s/%.*s", TEXT_ARGS(object_namespace(subject)),
                                   TEXT_ARGS(name));
    for (size_t i = 0; i < out->count; i++)
        if (!strcmp(out->items[i], key))
            return;
    strings_add(out, "%s", key);
}

static void look_up_secrets(const struct object *subject, struct strings *out)
{
    struct update_record record;
    update_record_unpack(out->arena, object_spec(subject), &record);
    for (size_t i = 0; i < record.ref_count; i++)
        look_up_secret(subject, record.refs[i].name, out);
    update_record_put_in_force(out->arena, &record); // with that of a place that is to be left
    for (size_t i = 0; i < record.ref_count; i++)
        look_up_secret(subject, record.refs[i].name, out);
}

#define WORKLOAD_INPUT(kind_)                                                                      \
    {                                                                                              \
        .kind = &(kind_), .labels = WORKLOAD_LABELS, .index_keys = index_workload,                 \
        .lookup_keys = look_up_workload, .reads_own_writes = true                                  \
    }

static const struct input inputs[UPDATE_RECORD_INPUTS] = {
    [UPDATE_RECORD_ENDPOINTS] = {.kind = &dnsendpoint_kind,
                                 .labels = INTENT_RECORD_LABEL,
                                 .index_keys = index_endpoint,
                                 .lookup_keys = look_up_endpoints,
                                 .reads_own_writes = true,
                                 .is_optional = true},
    [UPDATE_RECORD_DEPLOYMENTS] = WORKLOAD_INPUT(deployment_kind),
    [UPDATE_RECORD_ACCOUNTS] = WORKLOAD_INPUT(serviceaccount_kind),
    [UPDATE_RECORD_ROLES] = WORKLOAD_INPUT(role_kind),
    [UPDATE_RECORD_BINDINGS] = WORKLOAD_INPUT(rolebinding_kind),
    [UPDATE_RECORD_PODS] = WORKLOAD_INPUT(pod_kind),
    [UPDATE_RECORD_SECRETS] = {.kind = &secret_kind,
                               .lookup_keys = look_up_secrets,
                               .is_named = true},
};

// ---- one reconciliation -------------------------------------------------------------------------

static const struct object *find_seen(const struct update_record_reconcile *reconcile,
                                      enum update_record_input input)
{
    const struct input_objects *found = &reconcile->in->inputs[input];
    for (size_t i = 0; i < found->count; i++)
        if (text_is(object_name(found->objects[i]), reconcile->name))
            return found->objects[i];
    return NULL;
}

static void find_workload(struct update_record_reconcile *reconcile)
{
    static const enum update_record_input by_object[EXTERNAL_DNS_OBJECTS] = {
        [EXTERNAL_DNS_ACCOUNT] = UPDATE_RECORD_ACCOUNTS,
        [EXTERNAL_DNS_ROLE] = UPDATE_RECORD_ROLES,
        [EXTERNAL_DNS_ROLE_BINDING] = UPDATE_RECORD_BINDINGS,
        [EXTERNAL_DNS_DEPLOYMENT] = UPDATE_RECORD_DEPLOYMENTS,
    };
    reconcile->name = arena_printf(
        reconcile->arena, NAME_PREFIX "%s",
        update_record_label(reconcile->arena, reconcile->view.project, reconcile->record.name));
    for (size_t i = 0; i < EXTERNAL_DNS_OBJECTS; i++)
        reconcile->seen[i] = find_seen(reconcile, by_object[i]);
    const struct object *deployment = reconcile->seen[EXTERNAL_DNS_DEPLOYMENT];
    if (deployment)
        deployment_unpack(object_spec(deployment), &reconcile->deployment);
}

static void find_standing(struct update_record_reconcile *reconcile)
{
    const struct input_objects *endpoints = &reconcile->in->inputs[UPDATE_RECORD_ENDPOINTS];
    for (size_t i = 0; i < endpoints->count; i++) {
        struct dnsendpoint endpoint;
        dnsendpoint_unpack(reconcile->arena, object_spec(endpoints->objects[i]), &endpoint);
        reconcile->endpoint_count += endpoint.count;
    }
    reconcile->may_stand = endpoints->count > 0;
    for (size_t i = 0; i < reconcile->view.user_count; i++)
        reconcile->may_stand |= reconcile->view.users[i].is_written;
}

// What the record leaves out, the settings say; it is checked like what stands there.
static struct value *complete_tree(const struct snapshot *snapshot)
{
    const struct intent_settings *settings =
        snapshot->settings ? snapshot->settings : &intent_defaults;
    struct pack_reader in = pack_open(object_spec(snapshot->subject));
    struct value *tree = value_copy(snapshot->arena, tree_unpack(snapshot->arena, &in));
    const char *version = settings->version ? settings->version : intent_defaults.version;
    if (!value_text_at(tree, "spec.version").len)
        value_put_text(snapshot->arena, tree, "spec.version", version);
    if (!value_text_at(tree, "spec.image").len && settings->image)
        value_put_text(snapshot->arena, tree, "spec.image", settings->image);
    return tree;
}

static void open_reconcile(struct update_record_reconcile *reconcile,
                           const struct snapshot *snapshot, const void *model, struct decision *out)
{
    struct findings ignored = {.arena = snapshot->arena};
    struct value *tree = complete_tree(snapshot);
    *reconcile = (struct update_record_reconcile){
        .in = snapshot,
        .out = out,
        .arena = snapshot->arena,
        .findings = {.arena = snapshot->arena},
        .checksum = "",
    };
    dnsupdaterecord_kind.validate(tree, &reconcile->findings);
    update_record_decode(snapshot->arena, tree, &ignored, &reconcile->record);
    reconcile->minor = update_record_minor(&reconcile->record, (struct text){0});
    update_record_status_unpack(object_spec(snapshot->subject), object_managed(snapshot->subject),
                                &reconcile->before);
    intent_model_record(model, snapshot->arena, snapshot->subject, &reconcile->view);
    find_workload(reconcile);
    find_standing(reconcile);
}

static bool is_synced(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < UPDATE_RECORD_INPUTS; i++)
        if (!snapshot->inputs[i].is_synced && !snapshot->inputs[i].is_missing)
            return false;
    return true;
}

// Names that somebody else has carried, and that external-dns is to remove.
static bool has_heritage(const struct update_record_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->view.user_count; i++)
        if (reconcile->view.users[i].is_draining && reconcile->view.users[i].is_carried)
            return true;
    return false;
}

// A new external-dns removes what no DNSEndpoint names, so it comes only when they stand, or when
// it is to remove something. One that was there stays, or is put back, until the last name is
// proven to be gone.
static void choose_deployment(struct update_record_reconcile *reconcile)
{
    bool was_there = reconcile->seen[EXTERNAL_DNS_DEPLOYMENT] ||
                     reconcile->before.deployment.len > 0 || has_heritage(reconcile);
    bool has_endpoints = reconcile->in->inputs[UPDATE_RECORD_ENDPOINTS].count > 0;
    reconcile->wants_deployment =
        !reconcile->is_native && (has_endpoints || (reconcile->may_stand && was_there));
    if (reconcile->view.is_ending && !reconcile->seen[EXTERNAL_DNS_DEPLOYMENT])
        reconcile->wants_deployment = false; // nothing can be made there
    reconcile->is_held = reconcile->view.is_ending || reconcile->fault.reason ||
                         reconcile->credentials.reason || reconcile->is_moving ||
                         !reconcile->has_start || !reconcile->record.image.len;
}

static bool is_over(const struct update_record_reconcile *reconcile)
{
    const struct record_view *view = &reconcile->view;
    return reconcile->in->subject->deleted_s && !reconcile->may_stand &&
           !update_record_has_workload(reconcile) &&
           (view->is_ending || (!view->listed && !view->user_count));
}

// What the annotation says is in force as long as something of the record may stand.
static bool is_pinned(const struct update_record_reconcile *reconcile)
{
    const struct external_dns_pinned *there = &reconcile->record.pinned;
    const struct external_dns_pinned *wanted = &reconcile->pinned;
    return reconcile->record.has_pinned && external_dns_is_same_place(there, wanted) &&
           there->is_native == wanted->is_native &&
           (!wanted->is_native || text_equal(there->signer, wanted->signer));
}

// True: the rest of the decision stands on what is written now.
static bool write_ahead(struct update_record_reconcile *reconcile)
{
    struct decision *out = reconcile->out;
    bool is_wanted = !reconcile->in->subject->deleted_s &&
                     (reconcile->view.listed || reconcile->view.user_count || reconcile->may_stand);
    if (!is_wanted || reconcile->fault.reason || !reconcile->has_pinned)
        return false;
    if (!reconcile->in->subject->has_finalizer)
        out->finalizer = FINALIZER_ADD;
    if (!is_pinned(reconcile))
        out->metadata_changes[out->metadata_change_count++] = (struct decision_metadata_change){
            .key = PINNED_ANNOTATION,
            .value = external_dns_pinned_write(reconcile->arena, &reconcile->pinned),
        };
    if (!out->finalizer && !out->metadata_change_count)
        return false;
    reconcile->is_held = true; // as long as the store refuses that
    return !reconcile->in->refused;
}

// A change of place that waits for consent is no fault of the place that it would leave.
static const struct update_record_fault *
native_fault(const struct update_record_reconcile *reconcile)
{
    bool is_pinned = reconcile->fault.reason == REASON_PINNED_CHANGE;
    return reconcile->fault.reason && !is_pinned ? &reconcile->fault : &reconcile->credentials;
}

static void open_native(struct update_record_reconcile *reconcile)
{
    struct error fault;
    struct update_record record = reconcile->record;
    const struct update_record_fault *why = native_fault(reconcile);
    update_record_put_in_force(reconcile->arena, &record);
    const struct update_record_ref *ref =
        update_record_find_ref(&record, TEXT("rfc2136-tsig-secret"));
    if (!record.is_native || !record.pinned.place.len)
        return;
    CLEANUP(secret) struct secret *secret = ref ? update_record_secret(reconcile, ref) : NULL;
    if (why->reason)
        error_set(&fault, FAULT_WAIT, reason_name(why->reason), "%s", why->text);
    const struct native_owner owner = {
        .object = reconcile->in->subject,
        .record = &record,
        .pinned = &record.pinned,
        .secret = secret,
        .fault = why->reason ? &fault : NULL,
    };
    native_open(&owner, reconcile->arena, reconcile->out);
}

static void open_verify(const struct update_record_reconcile *reconcile)
{
    struct update_record record = reconcile->record;
    update_record_put_in_force(reconcile->arena, &record);
    verify_open(reconcile->arena, reconcile->in->subject, &record, reconcile->out);
}

void update_record_decide(const struct snapshot *snapshot, void *model, struct decision *out)
{
    struct update_record_reconcile reconcile;
    if (!snapshot->subject || snapshot->subject->is_lost || !is_synced(snapshot))
        return;
    open_reconcile(&reconcile, snapshot, model, out);
    update_record_accept(&reconcile);
    update_record_read_secrets(&reconcile);
    choose_deployment(&reconcile);
    if (is_over(&reconcile)) {
        out->finalizer = FINALIZER_REMOVE;
        return;
    }
    open_native(&reconcile);
    open_verify(&reconcile);
    if (write_ahead(&reconcile))
        return;
    update_record_ask(&reconcile);
    update_record_write_workload(&reconcile);
    update_record_report(&reconcile);
}

// ---- the controller -----------------------------------------------------------------------------

static const char *const change[] = {"get", "list", "watch", "patch", NULL};
static const char *const keep[] = {"get", "list", "watch", "create", "patch", "delete", NULL};
static const char *const follow[] = {"get", "list", "watch", NULL};
static const char *const follow_one[] = {"get", "watch", NULL};
static const char *const patch[] = {"patch", NULL};
static const char *const update[] = {"update", NULL};

static const struct kube_right rights[] = {
    {.group = DNS_GROUP,
     .resource = "dnsupdaterecords",
     .verbs = change,
     .scope = RIGHT_OBJECTS,
     .why = "Which providers are updated; what is pinned, and the finalizer."},
    {.group = DNS_GROUP,
     .resource = "dnsupdaterecords/status",
     .verbs = patch,
     .scope = RIGHT_OBJECTS,
     .why = "How the external-dns of a record fares."},
    {.group = "apps",
     .resource = "deployments",
     .verbs = keep,
     .scope = RIGHT_OBJECTS,
     .why = "The external-dns of each record that is in use."},
    {.group = "",
     .resource = "serviceaccounts",
     .verbs = keep,
     .scope = RIGHT_OBJECTS,
     .why = "Whom it acts as."},
    {.group = "rbac.authorization.k8s.io",
     .resource = "roles",
     .verbs = keep,
     .scope = RIGHT_OBJECTS,
     .why = "What it may do in its namespace."},
    {.group = "rbac.authorization.k8s.io",
     .resource = "rolebindings",
     .verbs = keep,
     .scope = RIGHT_OBJECTS,
     .why = "That it may do that."},
    {.group = "externaldns.k8s.io",
     .resource = "dnsendpoints/status",
     .verbs = update,
     .scope = RIGHT_OBJECTS,
     .why = "For external-dns: nobody can give rights that he does not have."},
    {.group = "",
     .resource = "pods",
     .verbs = follow,
     .scope = RIGHT_OBJECTS,
     .why = "Whether it runs, where its metrics are, and what it said at its end."},
    {.group = "",
     .resource = "secrets",
     .verbs = follow_one,
     .scope = RIGHT_REFERENCED,
     .why = "Whether the credentials that records name are there: each by its name."},
    {0},
};

const struct controller update_record_controller = {
    .name = "update-record",
    .kind = &dnsupdaterecord_kind,
    .finalizer = UPDATE_RECORD_FINALIZER,
    .inputs = inputs,
    .input_count = COUNT_OF(inputs),
    .decide = update_record_decide,
    .shared_model = &intent_shared_model,
    .reads_own_writes = true,
    .rights = rights,
    .settings = intent_setting_rows,
    .setting_count = INTENT_SETTINGS,
    .settings_size = sizeof(struct intent_settings),
    .metrics = &update_record_metric,
    .metric_count = 1,
};
