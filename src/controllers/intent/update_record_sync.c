#include <stdlib.h>
#include <string.h>

#include "base/labels.h"
#include "controllers/intent/update_record_reconcile.h"
#include "kinds/dnsendpoint/dnsendpoint_kind.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

// What the external-dns that runs says of its synchronizations, asked of its pod.

enum {
    SECOND_MS = 1000,
    EAGER_MS = 15 * SECOND_MS, // while something is waited for
    REST_MS = 60 * SECOND_MS,
    RETRY_BASE_MS = 5 * SECOND_MS,
    IN_FLIGHT_MAX = 1,
    INTERVAL_DEFAULT_S = 60,
    SLACK_S = 30,
};
#define INSTANCE_LABEL "app.kubernetes.io/instance"
#define NAME_PREFIX_LEN (sizeof "external-dns-" - 1)

// ---- pods ---------------------------------------------------------------------------------------

static bool is_pod(const struct update_record_reconcile *reconcile, const struct object *object)
{
    struct text instance = labels_find(object_spec(object), TEXT(INSTANCE_LABEL));
    return !object->deleted_s && text_is(instance, reconcile->name + NAME_PREFIX_LEN);
}

static const struct object *find_pod(const struct update_record_reconcile *reconcile, bool is_ready)
{
    const struct input_objects *pods = &reconcile->in->inputs[UPDATE_RECORD_PODS];
    for (size_t i = pods->count; i-- > 0;) { // the newest first
        struct pod pod;
        pod_unpack(object_spec(pods->objects[i]), &pod);
        if (is_pod(reconcile, pods->objects[i]) && pod.is_ready == is_ready &&
            (!is_ready || pod.ip.len))
            return pods->objects[i];
    }
    return NULL;
}

const char *update_record_crash(const struct update_record_reconcile *reconcile)
{
    struct pod pod;
    const struct object *object = find_pod(reconcile, false);
    if (!object || reconcile->sync.pod)
        return NULL;
    pod_unpack(object_spec(object), &pod);
    const struct pod_end *end = pod.end.is_known ? &pod.end : &pod.last_end;
    if (!end->is_known)
        return NULL;
    return end->message.len
               ? update_record_mask(reconcile, end->message)
               : arena_printf(reconcile->arena, "it ended with code %lld and said nothing",
                              (long long)end->exit_code);
}

// ---- DNSEndpoints -------------------------------------------------------------------------------

struct wanted_set {
    struct text name;
    struct text type;
    struct text set_identifier;
    int64_t ttl_s;
};

static int compare_sets(const void *a, const void *b)
{
    const struct wanted_set *left = a;
    const struct wanted_set *right = b;
    int order = text_compare(left->name, right->name);
    if (!order)
        order = text_compare(left->type, right->type);
    if (!order)
        order = text_compare(left->set_identifier, right->set_identifier);
    if (!order)
        order = (left->ttl_s > right->ttl_s) - (left->ttl_s < right->ttl_s);
    return order;
}

// External-dns makes one of those that are equal in all of this.
static void count_sets(struct update_record_sync *sync, struct wanted_set *sets, size_t count)
{
    if (count)
        qsort(sets, count, sizeof *sets, compare_sets);
    for (size_t i = 0; i < count; i++) {
        sync->wanted_endpoints += !i || compare_sets(&sets[i - 1], &sets[i]) != 0;
        sync->names += !i || !text_equal(sets[i - 1].name, sets[i].name);
    }
}

static void read_endpoints(struct update_record_reconcile *reconcile)
{
    struct update_record_sync *sync = &reconcile->sync;
    const struct input_objects *found = &reconcile->in->inputs[UPDATE_RECORD_ENDPOINTS];
    size_t count = 0;
    struct wanted_set *sets =
        arena_new_array(reconcile->arena, struct wanted_set, reconcile->endpoint_count + 1);
    for (size_t i = 0; i < found->count; i++) {
        struct dnsendpoint endpoint;
        dnsendpoint_unpack(reconcile->arena, object_spec(found->objects[i]), &endpoint);
        sync->is_fresh |= endpoint.observed_generation < endpoint.generation ||
                          found->objects[i]->created_s + SLACK_S >= sync->last_sync_s;
        for (size_t at = 0; at < endpoint.count; at++)
            sets[count++] = (struct wanted_set){
                endpoint.endpoints[at].dns_name, endpoint.endpoints[at].type,
                endpoint.endpoints[at].set_identifier, endpoint.endpoints[at].ttl_s};
    }
    count_sets(sync, sets, count);
}

// ---- the question -------------------------------------------------------------------------------

static bool is_waited_for(const struct update_record_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->view.user_count; i++)
        if (reconcile->view.users[i].is_draining || reconcile->view.users[i].is_awaited)
            return true;
    return false;
}

static bool is_eager(const struct update_record_reconcile *reconcile)
{
    const struct condition *synced = conditions_find(&reconcile->before.conditions, "Synced");
    return is_waited_for(reconcile) || reconcile->sync.is_fresh || reconcile->is_moving ||
           !synced || synced->status != CONDITION_TRUE;
}

static const char *open_backend(struct update_record_reconcile *reconcile)
{
    const struct object *subject = reconcile->in->subject;
    const char *name =
        arena_printf(reconcile->arena, "external-dns-%.*s/%.*s",
                     TEXT_ARGS(object_namespace(subject)), TEXT_ARGS(object_name(subject)));
    *decision_add_backend(reconcile->out, reconcile->arena) = (struct backend_want){
        .name = name,
        .provider = "externaldns",
        .registry = name,
        .config = value_make(reconcile->arena, VALUE_MAP),
        .max_in_flight = IN_FLIGHT_MAX,
        .retry_base_ms = RETRY_BASE_MS,
        .retry_max_ms = REST_MS,
        .retry_slow_ms = REST_MS,
        .was_well = true,
        .guard_percent = 100,
    };
    return name;
}

static const char *address_of(struct update_record_reconcile *reconcile)
{
    struct pod pod;
    struct text host;
    unsigned port;
    pod_unpack(object_spec(reconcile->sync.pod), &pod);
    struct text address = update_record_text(&reconcile->record, PARAMETER_METRICS_ADDRESS);
    if (!external_dns_address_read(address, &host, &port))
        return NULL;
    bool is_6 = memchr(pod.ip.at, ':', pod.ip.len);
    return arena_printf(reconcile->arena, is_6 ? "[%.*s]:%u" : "%.*s:%u", TEXT_ARGS(pod.ip), port);
}

static void ask_pod(struct update_record_reconcile *reconcile)
{
    const char *address = address_of(reconcile);
    struct value *about = value_make(reconcile->arena, VALUE_MAP);
    if (!address)
        return;
    const char *backend = open_backend(reconcile);
    value_put_text(reconcile->arena, about, "address", address);
    *decision_add_question(reconcile->out, reconcile->arena) = (struct question){
        .backend = backend,
        .name = "metrics",
        .about = about,
        .good_for_ms = is_eager(reconcile) ? EAGER_MS : REST_MS,
    };
    reconcile->sync.answer = snapshot_answer(reconcile->in, backend, "metrics", about);
}

// By when external-dns should have synchronized again (Unix).
static int64_t late_from_s(const struct update_record_reconcile *reconcile)
{
    int64_t ns;
    int64_t since_s = value_int_at(reconcile->sync.answer->value, "lastSync", 0);
    struct text interval = update_record_text(&reconcile->record, PARAMETER_INTERVAL);
    bool is_given = interval.len && external_dns_duration_ns(interval, &ns);
    int64_t interval_s = is_given ? ns / 1000000000 : INTERVAL_DEFAULT_S;
    if (since_s < reconcile->sync.pod->created_s)
        since_s = reconcile->sync.pod->created_s;
    return since_s + 2 * interval_s + SLACK_S;
}

// An answer that stays the same wakes nobody.
static void wake_when_late(struct update_record_reconcile *reconcile)
{
    int64_t late_ms = (late_from_s(reconcile) + 1) * SECOND_MS;
    if (reconcile->sync.answer->answered_ms < late_ms)
        decision_wake_at(reconcile->out, late_ms > reconcile->in->now_ms
                                             ? late_ms
                                             : reconcile->in->now_ms + EAGER_MS);
}

void update_record_ask(struct update_record_reconcile *reconcile)
{
    struct update_record_sync *sync = &reconcile->sync;
    bool is_known = reconcile->may_stand || reconcile->seen[EXTERNAL_DNS_DEPLOYMENT];
    sync->last_sync_s = is_known ? reconcile->before.last_sync_s : 0;
    read_endpoints(reconcile);
    sync->pod = find_pod(reconcile, true);
    if (!sync->pod || reconcile->is_native || !reconcile->wants_deployment)
        return;
    ask_pod(reconcile);
    if (!sync->answer || !sync->answer->is_ok)
        return;
    int64_t last_sync_s = value_int_at(sync->answer->value, "lastSync", 0);
    if (last_sync_s > sync->last_sync_s)
        sync->last_sync_s = last_sync_s;
    wake_when_late(reconcile);
}

// ---- the condition ------------------------------------------------------------------------------

static struct condition make_condition(enum condition_status status, enum reason reason,
                                       const char *message)
{
    return (struct condition){
        .type = "Synced", .status = status, .reason = reason, .message = message};
}

// A process that has just begun has asked nobody yet.
static struct condition explain_silence(const struct update_record_reconcile *reconcile)
{
    const struct answer_view *answer = reconcile->sync.answer;
    const struct condition *before = conditions_find(&reconcile->before.conditions, "Synced");
    if (!reconcile->sync.pod)
        return make_condition(CONDITION_UNKNOWN, REASON_NOT_SCRAPED,
                              "no pod of external-dns is ready, so its metrics can't be read");
    if (answer && answer->answered_ms)
        return make_condition(
            CONDITION_UNKNOWN, REASON_NOT_SCRAPED,
            arena_printf(reconcile->arena,
                         "the metrics of external-dns can't be read: %s; let Signpost reach its "
                         "pods",
                         answer->error ? answer->error->text : "it did not answer"));
    if (before && before->reason != REASON_NOT_SCRAPED)
        return make_condition(before->status, before->reason,
                              "the metrics of external-dns are being read again");
    return make_condition(CONDITION_UNKNOWN, REASON_NOT_SCRAPED,
                          "the metrics of external-dns have not been read yet");
}

static struct condition explain_mismatch(const struct update_record_reconcile *reconcile,
                                         const struct value *value)
{
    const struct value *mismatches = value_find(value, "mismatches");
    const struct value *first = mismatches ? mismatches->first : NULL;
    struct text owner = value_text_at(first, "owner");
    struct text domain = value_text_at(first, "domain");
    const char *whose = owner.len ? arena_printf(reconcile->arena, "%.*s", TEXT_ARGS(owner))
                                  : "nobody that it knows";
    return make_condition(
        CONDITION_FALSE, REASON_OWNER_MISMATCH,
        arena_printf(reconcile->arena,
                     "records in %.*s belong to %s, so external-dns leaves them alone: remove "
                     "them there, or take them over with spec.adoptOwner",
                     TEXT_ARGS(domain.len ? domain : TEXT("the zone")), whose));
}

static bool is_late(const struct update_record_reconcile *reconcile)
{
    return reconcile->sync.answer->answered_ms / SECOND_MS > late_from_s(reconcile);
}

static bool is_lagging(const struct update_record_reconcile *reconcile)
{
    const struct value *value = reconcile->sync.answer->value;
    return !value_int_at(value, "lastSync", 0) ||
           value_int_at(value, "sourceEndpoints", 0) < (int64_t)reconcile->sync.wanted_endpoints;
}

// A transfer that is refused is a line in the log of external-dns, and its synchronization succeeds
// with a zone that looks empty: it removes nothing then. A zone that was listed has its NS.
static bool lists_nothing(const struct update_record_reconcile *reconcile)
{
    return update_record_lists_by_axfr(&reconcile->record) &&
           !value_int_at(reconcile->sync.answer->value, "registryEndpoints", 0);
}

// Does external-dns add endpoints of its own to those that it reads?
static bool makes_more(const struct update_record *record)
{
    for (size_t i = 0; i < record->extra_arg_count; i++)
        if (text_is(record->extra_args[i].name, "create-ptr") ||
            text_is(record->extra_args[i].name, "nat64-networks"))
            return true;
    return false;
}

bool update_record_reads_gone(const struct update_record_reconcile *reconcile)
{
    const struct answer_view *answer = reconcile->sync.answer;
    int64_t left = (int64_t)reconcile->sync.wanted_endpoints;
    return answer && answer->is_ok && value_int_at(answer->value, "sourceEndpoints", 0) > left &&
           !(left && makes_more(&reconcile->record));
}

struct condition update_record_synced(const struct update_record_reconcile *reconcile)
{
    const struct answer_view *answer = reconcile->sync.answer;
    if (!answer || !answer->is_ok)
        return explain_silence(reconcile);
    if (value_int_at(answer->value, "lastSync", 0) && lists_nothing(reconcile))
        return make_condition(
            CONDITION_FALSE, REASON_SYNC_FAILING,
            "external-dns can't list the zone, so it removes nothing: let the "
            "name server transfer it (AXFR) to external-dns, whose log says more");
    if (value_int_at(answer->value, "invalidEndpoints", 0))
        return make_condition(CONDITION_FALSE, REASON_INVALID_ENDPOINTS,
                              "external-dns has dropped names as invalid: its log names them");
    if (value_int_at(answer->value, "ownerMismatches", 0))
        return explain_mismatch(reconcile, answer->value);
    if (value_int_at(answer->value, "softErrors", 0) || is_late(reconcile))
        return make_condition(CONDITION_FALSE, REASON_SYNC_FAILING,
                              "external-dns does not reach its provider, or is refused there: its "
                              "log says why");
    if (is_lagging(reconcile))
        return make_condition(CONDITION_FALSE, REASON_SOURCE_LAGGING,
                              "external-dns has not read all names yet");
    if (update_record_is_dry_run(&reconcile->record))
        return make_condition(CONDITION_TRUE, REASON_DRY_RUN,
                              "external-dns only logs what it would write");
    return make_condition(CONDITION_TRUE, REASON_SYNCED,
                          "external-dns has written what is published");
}
