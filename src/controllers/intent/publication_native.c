#include <stdlib.h>
#include <string.h>

#include "controllers/intent/native.h"
#include "controllers/intent/publication_reconcile.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"

// Names of records with engine: native. A DNSEndpoint that stands is what remembers that something
// of ours may be at the provider: a name is claimed when its object stands, and the object goes
// when the name is proven to be gone.

// ---- which record sets --------------------------------------------------------------------------

static int compare_natives(const void *a, const void *b)
{
    const struct native_claim *left = a;
    const struct native_claim *right = b;
    if (left->record != right->record)
        return left->record < right->record ? -1 : 1;
    int order = text_compare(left->name, right->name);
    return order ? order : text_compare(left->type, right->type);
}

static bool is_native(const struct publication_record *record)
{
    return record && record->spec && record->spec->is_native;
}

// Does nobody remove what stands at the provider?
static bool keeps_names(const struct publication_record *record)
{
    return update_record_why_names_stay(record->spec) || update_record_is_dry_run(record->spec);
}

static size_t count_sets(const struct publication_reconcile *reconcile)
{
    size_t count = 0;
    for (size_t i = 0; i < reconcile->context.standing_count; i++)
        count += reconcile->context.standing[i].says.count;
    return count + reconcile->endpoint_count * ENDPOINT_SETS_MAX +
           reconcile->before.name_count * (reconcile->record_count + reconcile->ended_count);
}

static void add_wanted(struct publication_reconcile *reconcile,
                       const struct intent_endpoint *endpoint)
{
    const struct publication_record *record =
        publication_find_record(reconcile, endpoint->record->object);
    for (size_t i = 0; is_native(record) && i < endpoint->set_count; i++)
        reconcile->natives[reconcile->native_count++] = (struct native_claim){
            .record = record,
            .name = endpoint->sets[i].dns_name,
            .type = endpoint->sets[i].type,
            .targets = endpoint->sets[i].targets,
            .target_count = endpoint->sets[i].target_count,
            .ttl_s = endpoint->sets[i].ttl_s,
            .is_wanted = true,
            .is_standing = endpoint->standing,
        };
}

static void add_standing(struct publication_reconcile *reconcile,
                         const struct standing_endpoint *standing)
{
    const struct dnsendpoint *seen = &standing->says;
    const struct publication_record *record = publication_record_of(reconcile, standing);
    for (size_t i = 0; is_native(record) && i < seen->count; i++)
        reconcile->natives[reconcile->native_count++] =
            (struct native_claim){.record = record,
                                  .name = seen->endpoints[i].dns_name,
                                  .type = seen->endpoints[i].type,
                                  .is_standing = true};
}

// Adds names that no DNSEndpoint has any more and that were not proven to be gone: it has another
// type by now, or somebody has removed it, such as the end of the namespace.
static void add_remembered(struct publication_reconcile *reconcile,
                           const struct publication_record *record)
{
    const struct dnspublication_status *before = &reconcile->before;
    for (size_t i = 0; is_native(record) && i < before->name_count; i++)
        if (publication_remembers(reconcile, &before->names[i], record))
            reconcile->natives[reconcile->native_count++] =
                (struct native_claim){.record = record,
                                      .name = before->names[i].name,
                                      .type = before->names[i].type,
                                      .is_standing = true};
}

void native_add_targets(struct arena *arena, struct native_claim *claim, const struct text *more,
                        size_t count)
{
    struct text *targets = arena_new_array(arena, struct text, claim->target_count + count + 1);
    size_t all = 0;
    for (size_t i = 0; i < claim->target_count; i++)
        targets[all++] = claim->targets[i];
    for (size_t i = 0; i < count; i++)
        targets[all++] = more[i];
    claim->targets = targets;
    claim->target_count = endpoint_sort_targets(targets, all);
}

// A name that several clusters have at one record stands there with the targets of all.
static void merge_natives(struct publication_reconcile *reconcile)
{
    size_t kept = 0;
    struct native_claim *all = reconcile->natives;
    qsort(all, reconcile->native_count, sizeof *all, compare_natives);
    for (size_t i = 0; i < reconcile->native_count; i++) {
        struct native_claim *last = kept ? &all[kept - 1] : NULL;
        if (!last || compare_natives(last, &all[i])) {
            all[kept++] = all[i];
            continue;
        }
        if (all[i].target_count)
            native_add_targets(reconcile->arena, last, all[i].targets, all[i].target_count);
        last->ttl_s = last->ttl_s ? last->ttl_s : all[i].ttl_s;
        last->is_wanted |= all[i].is_wanted;
        last->is_standing |= all[i].is_standing;
    }
    reconcile->native_count = kept;
}

static void list_natives(struct publication_reconcile *reconcile)
{
    reconcile->natives =
        arena_new_array(reconcile->arena, struct native_claim, count_sets(reconcile) + 1);
    for (size_t i = 0; i < reconcile->endpoint_count; i++)
        if (publication_writes(reconcile, &reconcile->endpoints[i]))
            add_wanted(reconcile, &reconcile->endpoints[i]);
    for (size_t i = 0; i < reconcile->context.standing_count; i++)
        add_standing(reconcile, &reconcile->context.standing[i]);
    for (size_t i = 0; i < reconcile->record_count + reconcile->ended_count; i++)
        add_remembered(reconcile, &reconcile->records[i]);
    merge_natives(reconcile);
}

// ---- claims -------------------------------------------------------------------------------------

// The part of the name before the zone; "@" at its apex.
static struct text subdomain_of(struct text name, struct text zone)
{
    return name.len > zone.len ? (struct text){name.at, name.len - zone.len - 1} : TEXT("@");
}

// The number of the record's zone that has the name; NATIVE_ZONES_MAX: none has it.
static size_t zone_of(struct arena *arena, const struct native_claim *native, struct text *zone)
{
    struct native_zones zones;
    native_zones_of(arena, native->record->spec, &zones);
    size_t at = native_zone_of_name(&zones, native->name);
    if (at != NATIVE_ZONES_MAX)
        *zone = zones.items[at];
    return at;
}

static bool is_of_name(const struct native_claim *other, const struct native_claim *native)
{
    return other->record == native->record && text_equal(other->name, native->name);
}

// Claims of one name stand together.
static bool has_successor(const struct publication_reconcile *reconcile,
                          const struct native_claim *native)
{
    size_t at = (size_t)(native - reconcile->natives);
    while (at && is_of_name(&reconcile->natives[at - 1], native))
        at--;
    for (; at < reconcile->native_count && is_of_name(&reconcile->natives[at], native); at++)
        if (reconcile->natives[at].is_wanted)
            return true;
    return false;
}

// A publication that ends and a record that moves or goes ask for their removals, and a name that
// has another type by now stays.
static bool is_asked_for(const struct publication_reconcile *reconcile,
                         const struct native_claim *native)
{
    const struct condition *moving = conditions_find(&native->record->status->conditions, "Moving");
    return !reconcile->is_wanted || native->record->object->deleted_s ||
           (moving && moving->status == CONDITION_TRUE) || has_successor(reconcile, native);
}

// Another record of the same zone that still has to give the set up; NULL: there is none. The two
// would be one claim.
static const struct publication_record *
find_leaving_twin(const struct publication_reconcile *reconcile, const struct native_claim *native,
                  const char *registry)
{
    struct text zone;
    const struct endpoint set = {.dns_name = native->name, .type = native->type};
    for (size_t i = 0; native->is_wanted && i < reconcile->record_count + reconcile->ended_count;
         i++) {
        const struct publication_record *record = &reconcile->records[i];
        const struct native_claim *other = publication_native_of(reconcile, record, &set);
        if (other && !other->is_wanted && other->is_standing && !keeps_names(record) &&
            zone_of(reconcile->arena, other, &zone) != NATIVE_ZONES_MAX &&
            !strcmp(native_registry(reconcile->arena, record->spec, zone), registry))
            return record;
    }
    return NULL;
}

static void claim_native(struct publication_reconcile *reconcile, struct native_claim *native)
{
    enum record_type type;
    struct text zone;
    const struct publication_record *record = native->record;
    size_t at = zone_of(reconcile->arena, native, &zone);
    if (at == NATIVE_ZONES_MAX || !record_type_parse(native->type, &type) || !native->is_standing)
        return;
    if (!native->is_wanted && keeps_names(record))
        return;
    bool is_known = publication_is_known(reconcile);
    native->is_suspended = update_record_is_dry_run(record->spec) ||
                           record->status->deployment.len; // its external-dns still runs
    native->is_guarded = !native->is_wanted && !is_asked_for(reconcile, native);
    struct text subdomain = subdomain_of(native->name, zone);
    const char *registry = native_registry(reconcile->arena, record->spec, zone);
    struct text spec = object_spec(record->object);
    struct text own = object_spec(reconcile->in->subject);
    uint32_t min_ttl_s = native_min_ttl_s(record->spec);
    native->left_by = find_leaving_twin(reconcile, native, registry);
    if (native->left_by)
        return;
    native->receipt = snapshot_receipt(reconcile->in, registry, type, zone, subdomain);
    *decision_add_claim(reconcile->out, reconcile->arena) = (struct claim_want){
        .backend = native_backend_name(reconcile->arena, record->written.namespace_,
                                       record->written.name, at),
        .registry = registry,
        .intent = native->is_wanted ? CLAIM_SET
                  : is_known        ? CLAIM_REMOVE
                                    : CLAIM_KEEP,
        .is_guarded = native->is_guarded,
        .shares = native->is_shared,
        .is_suspended = native->is_suspended,
        .may_stand = true,
        .set = {.type = type,
                .domain = zone,
                .subdomain = subdomain,
                .ttl_s = native->ttl_s > min_ttl_s ? (uint32_t)native->ttl_s : min_ttl_s,
                .values = native->targets,
                .value_count = native->target_count,
                .priority = -1},
        .epoch = hash_octets(spec.at, spec.len) ^ hash_octets(own.at, own.len),
    };
}

static bool has_natives(const struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->record_count + reconcile->ended_count; i++)
        if (is_native(&reconcile->records[i]))
            return true;
    return false;
}

void publication_claim_natives(struct publication_reconcile *reconcile)
{
    if (!has_natives(reconcile))
        return;
    list_natives(reconcile);
    publication_share_natives(reconcile);
    for (size_t i = 0; i < reconcile->native_count; i++)
        claim_native(reconcile, &reconcile->natives[i]);
}

// ---- what came of them --------------------------------------------------------------------------

bool native_claim_is_settled(const struct native_claim *claim)
{
    const struct receipt *receipt = claim->receipt;
    return receipt && receipt->state == RECEIPT_SETTLED &&
           receipt->intent == (claim->is_wanted ? CLAIM_SET : CLAIM_REMOVE);
}

struct native_claim *publication_native_of(const struct publication_reconcile *reconcile,
                                           const struct publication_record *record,
                                           const struct endpoint *set)
{
    const struct native_claim wanted = {.record = record, .name = set->dns_name, .type = set->type};
    return reconcile->native_count ? bsearch(&wanted, reconcile->natives, reconcile->native_count,
                                             sizeof wanted, compare_natives)
                                   : NULL;
}

const struct native_claim *publication_find_native(const struct publication_reconcile *reconcile,
                                                   const struct intent_endpoint *endpoint,
                                                   const struct endpoint *set)
{
    return publication_native_of(reconcile,
                                 publication_find_record(reconcile, endpoint->record->object), set);
}

// A name that no zone of the record has was never claimed, and a record may let names stay.
static bool is_removed(const struct publication_reconcile *reconcile,
                       const struct native_claim *claim)
{
    struct native_zones zones;
    if (claim->is_wanted || keeps_names(claim->record))
        return false;
    native_zones_of(reconcile->arena, claim->record->spec, &zones);
    return native_zone_of_name(&zones, claim->name) != NATIVE_ZONES_MAX;
}

// Why its backend can send nothing; NULL: it can, or is not known yet.
static const struct error *fault_of(const struct publication_reconcile *reconcile,
                                    const struct native_claim *claim)
{
    struct text zone;
    size_t at = zone_of(reconcile->arena, claim, &zone);
    const char *name = native_backend_name(reconcile->arena, claim->record->written.namespace_,
                                           claim->record->written.name, at);
    for (size_t i = 0; i < reconcile->in->backend_count; i++) {
        const struct backend_view *backend = reconcile->in->backends[i];
        if (backend && !strcmp(backend->name, name))
            return backend->fault.fault         ? &backend->fault
                   : backend->unavailable.fault ? &backend->unavailable
                                                : NULL;
    }
    return NULL;
}

// Why its server does not remove or set it; NULL: that is not known.
static const struct error *failure_of(const struct publication_reconcile *reconcile,
                                      const struct native_claim *claim)
{
    const struct receipt *receipt = claim->receipt;
    bool has_failed = receipt && receipt->attempts && !receipt->is_recalled;
    return has_failed ? &receipt->error : fault_of(reconcile, claim);
}

// The claim on a name that the status remembers; false: it was never claimed.
static bool find_claim(const struct publication_reconcile *reconcile,
                       const struct publication_record *record, const struct published_name *name,
                       struct native_claim *out)
{
    enum record_type type;
    struct text zone;
    *out = (struct native_claim){.record = record, .name = name->name};
    if (zone_of(reconcile->arena, out, &zone) == NATIVE_ZONES_MAX ||
        !record_type_parse(name->type, &type))
        return false;
    out->receipt =
        snapshot_receipt(reconcile->in, native_registry(reconcile->arena, record->spec, zone), type,
                         zone, subdomain_of(name->name, zone));
    return true;
}

static bool is_left(const struct publication_reconcile *reconcile, const struct native_claim *claim,
                    bool may_fail)
{
    return !native_claim_is_settled(claim) && !(may_fail && failure_of(reconcile, claim));
}

bool publication_natives_are_gone(struct publication_reconcile *reconcile,
                                  const struct publication_record *record, bool may_fail)
{
    const struct dnspublication_status *before = &reconcile->before;
    struct native_claim claim;
    for (size_t i = 0; i < before->name_count; i++)
        if (publication_remembers(reconcile, &before->names[i], record) &&
            find_claim(reconcile, record, &before->names[i], &claim) &&
            is_left(reconcile, &claim, may_fail))
            return false;
    return true;
}

// The server does not remove it, and people have said that it may stay then.
static bool is_given_up(const struct publication_reconcile *reconcile,
                        const struct native_claim *claim)
{
    return claim->record->spec->may_abandon && failure_of(reconcile, claim);
}

bool publication_is_released(const struct publication_reconcile *reconcile,
                             const struct standing_endpoint *standing)
{
    const struct publication_record *record = publication_record_of(reconcile, standing);
    if (record && publication_is_stranded(record))
        return false;
    for (size_t i = 0; is_native(record) && i < standing->says.count; i++) {
        const struct native_claim *claim =
            publication_native_of(reconcile, record, &standing->says.endpoints[i]);
        if (claim && is_removed(reconcile, claim) && !native_claim_is_settled(claim) &&
            !is_given_up(reconcile, claim))
            return false;
    }
    return true;
}

const struct native_claim *publication_find_removal(struct publication_reconcile *reconcile,
                                                    const struct published_name *name)
{
    for (size_t i = 0; i < reconcile->record_count; i++) {
        const struct publication_record *record = &reconcile->records[i];
        const struct endpoint set = {.dns_name = name->name, .type = name->type};
        const struct native_claim *claim =
            is_native(record) && publication_remembers(reconcile, name, record)
                ? publication_native_of(reconcile, record, &set)
                : NULL;
        if (claim && !claim->is_wanted)
            return claim;
    }
    return NULL;
}

// ---- what people are told of a name -------------------------------------------------------------

// Others of its share group want other targets until they have heard of the change.
static bool is_being_shared(const struct publication_reconcile *reconcile,
                            const struct native_claim *claim)
{
    return claim->receipt->state == RECEIPT_LOST &&
           publication_shares_with(reconcile, claim, claim->receipt->holder);
}

static void show_error(const struct publication_reconcile *reconcile, const struct error *error,
                       struct published_name *name)
{
    enum reason reason = reason_find(text_of(error->reason));
    name->reason = reason ? reason : REASON_SERVER_ERROR;
    name->message = arena_copy_text(reconcile->arena, error->text);
}

void native_show_removal(const struct publication_reconcile *reconcile,
                         const struct native_claim *claim, struct published_name *name)
{
    const struct receipt *receipt = claim->receipt;
    const struct error *failure = failure_of(reconcile, claim);
    name->reason = REASON_NONE;
    name->message = NULL;
    if (receipt && claim->is_guarded && !claim->is_suspended &&
        receipt->state == RECEIPT_SUSPENDED) {
        name->reason = REASON_HELD;
        name->message = "the guard against mass deletion keeps it, as many names went together "
                        "while nobody looked: `signpost status` names the plan that asks";
    } else if (failure) {
        show_error(reconcile, failure, name);
    }
}

static void show_holder(const struct publication_reconcile *reconcile,
                        const struct receipt *receipt, struct published_name *name)
{
    name->state = NAME_CONFLICT;
    name->reason = REASON_NAME_CONFLICT;
    name->message = arena_printf(reconcile->arena, "%.*s has the name", TEXT_ARGS(receipt->holder));
}

static void show_twin(const struct publication_reconcile *reconcile,
                      const struct published_record *twin, struct published_name *name)
{
    name->state = NAME_CONFLICT;
    name->reason = REASON_NAME_CONFLICT;
    name->message = arena_printf(reconcile->arena,
                                 "DNSUpdateRecord %.*s/%.*s has yet to remove the name from the "
                                 "same zone of the same server; it is taken over then",
                                 TEXT_ARGS(twin->namespace_), TEXT_ARGS(twin->name));
}

static void show_failure(const struct publication_reconcile *reconcile, const struct error *failure,
                         struct published_name *name)
{
    show_error(reconcile, failure, name);
    if (name->reason == REASON_CONFLICT)
        name->state = NAME_CONFLICT;
}

// Has a process that begins anew yet to try what was another's?
static bool is_conflict_still(const struct receipt *receipt, const struct published_name *before)
{
    return before && before->state == NAME_CONFLICT && before->reason == REASON_CONFLICT &&
           !receipt->is_open;
}

bool native_show(const struct publication_reconcile *reconcile, const struct native_claim *claim,
                 const struct published_name *before, struct published_name *name)
{
    const struct receipt *receipt = claim ? claim->receipt : NULL;
    if (name->state != NAME_WRITTEN || !claim || !(receipt || claim->left_by))
        return false;
    if (!receipt) {
        show_twin(reconcile, &claim->left_by->written, name);
        return true;
    }
    if (native_claim_is_settled(claim)) {
        name->state = NAME_SYNCED;
        return false;
    }
    if (is_being_shared(reconcile, claim))
        return false;
    const struct error *failure = failure_of(reconcile, claim);
    if (receipt->state == RECEIPT_LOST) {
        show_holder(reconcile, receipt, name);
    } else if (failure) {
        show_failure(reconcile, failure, name);
    } else if (is_conflict_still(receipt, before)) {
        name->state = NAME_CONFLICT;
        name->reason = before->reason;
        name->message = before->message;
    } else {
        return false;
    }
    return true;
}
