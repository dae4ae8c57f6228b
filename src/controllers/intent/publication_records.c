#include <string.h>

#include "controllers/intent/publication_reconcile.h"
#include "kinds/dnsupdaterecord/dnsupdaterecord_names.h"
#include "kinds/emco_name.h"

// Which records a publication uses, and which it has used, with the names that may stand at their
// providers.

// ---- which records ------------------------------------------------------------------------------

static bool is_record(const struct published_record *written, const struct object *object)
{
    return text_equal(written->namespace_, object_namespace(object)) &&
           text_equal(written->name, object_name(object));
}

struct publication_record *publication_find_record(const struct publication_reconcile *reconcile,
                                                   const struct object *object)
{
    for (size_t i = 0; i < reconcile->record_count; i++)
        if (is_record(&reconcile->records[i].written, object))
            return &reconcile->records[i];
    return NULL;
}

static struct publication_record *add_record(struct publication_reconcile *reconcile,
                                             const struct object *object)
{
    struct publication_record *record = &reconcile->records[reconcile->record_count++];
    record->object = object;
    record->written.namespace_ = object_namespace(object);
    record->written.name = object_name(object);
    return record;
}

static void list_written(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->before.record_count; i++) {
        struct publication_record *record = &reconcile->records[reconcile->record_count++];
        record->written = reconcile->before.records[i];
        record->was_written = true;
        record->object = model_find(&reconcile->reader, &dnsupdaterecord_kind,
                                    record->written.namespace_, record->written.name);
    }
}

static bool has_condition(const struct update_record_status *status, const char *type,
                          enum condition_status wanted)
{
    const struct condition *found = conditions_find(&status->conditions, type);
    return found && found->status == wanted;
}

// A record that is deleted goes on being used while our finalizer keeps it, unless its namespace
// ends.
static bool is_going(struct publication_reconcile *reconcile, const struct object *record)
{
    return (record->deleted_s && !record->has_finalizer) ||
           model_namespace_ends(&reconcile->reader, object_namespace(record));
}

// A record that moves to another place, or is going, is left by all.
static bool is_usable(struct publication_reconcile *reconcile, const struct resolved_record *record)
{
    return !record->fault && !is_going(reconcile, record->object) &&
           !has_condition(record->status, "Moving", CONDITION_TRUE);
}

static void list_wanted(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->endpoint_count; i++) {
        const struct intent_endpoint *endpoint = &reconcile->endpoints[i];
        if (!endpoint->set_count || !is_usable(reconcile, endpoint->record))
            continue;
        struct publication_record *record =
            publication_find_record(reconcile, endpoint->record->object);
        if (!record)
            record = add_record(reconcile, endpoint->record->object);
        record->is_wanted = true;
    }
}

struct publication_record *publication_record_of(const struct publication_reconcile *reconcile,
                                                 const struct standing_endpoint *standing)
{
    struct text name = text_map_find(standing->says.annotations, standing->says.annotation_count,
                                     TEXT(INTENT_RECORD_ANNOTATION));
    struct text object = text_of(emco_object_name(reconcile->arena, name));
    for (size_t i = 0; i < reconcile->record_count; i++)
        if (text_equal(reconcile->records[i].written.name, object) &&
            text_equal(reconcile->records[i].written.namespace_,
                       object_namespace(standing->object)))
            return &reconcile->records[i];
    return NULL;
}

static void count_endpoints(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->context.standing_count; i++) {
        struct publication_record *record =
            publication_record_of(reconcile, &reconcile->context.standing[i]);
        if (record)
            record->endpoints++;
    }
}

static void decode_records(struct publication_reconcile *reconcile)
{
    for (size_t i = 0; i < reconcile->record_count; i++) {
        struct publication_record *record = &reconcile->records[i];
        struct update_record *spec = arena_new_of(reconcile->arena, struct update_record);
        struct update_record_status *status =
            arena_new_of(reconcile->arena, struct update_record_status);
        if (!record->object)
            continue;
        update_record_unpack(reconcile->arena, object_spec(record->object), spec);
        update_record_put_in_force(reconcile->arena, spec);
        update_record_status_unpack(object_spec(record->object), object_managed(record->object),
                                    status);
        spec->may_abandon |=
            spec->may_abandon_move && has_condition(status, "Moving", CONDITION_TRUE);
        record->spec = spec;
        record->status = status;
    }
}

// ---- names --------------------------------------------------------------------------------------

static bool is_name_of(struct publication_reconcile *reconcile, const struct published_name *name,
                       const struct publication_record *record)
{
    return resolved_is_name_of(&reconcile->reader, &reconcile->resolved, name, &record->written);
}

bool publication_remembers(struct publication_reconcile *reconcile,
                           const struct published_name *name,
                           const struct publication_record *record)
{
    return resolved_may_stand(name) && is_name_of(reconcile, name, record);
}

struct name_list {
    struct arena *arena;
    struct text *items;
    size_t count;
    size_t capacity;
};

static void add_names(struct name_list *list, const struct text *names, size_t count)
{
    arena_reserve(list->arena, &list->items, &list->capacity, list->count + count);
    for (size_t i = 0; i < count; i++)
        list->items[list->count++] = names[i];
}

// Has the status that set of the record as one that is another's at the server?
static bool is_of_others(struct publication_reconcile *reconcile, const struct endpoint *set,
                         const struct publication_record *record)
{
    const struct dnspublication_status *before = &reconcile->before;
    for (size_t i = 0; i < before->name_count; i++)
        if (before->names[i].state == NAME_CONFLICT &&
            text_equal(before->names[i].name, set->dns_name) &&
            text_equal(before->names[i].type, set->type) &&
            is_name_of(reconcile, &before->names[i], record))
            return true;
    return false;
}

static void add_standing_names(struct name_list *list, struct name_list *targets,
                               struct publication_reconcile *reconcile,
                               const struct publication_record *record)
{
    for (size_t i = 0; i < reconcile->context.standing_count; i++) {
        const struct standing_endpoint *standing = &reconcile->context.standing[i];
        for (size_t at = 0;
             publication_record_of(reconcile, standing) == record && at < standing->says.count;
             at++) {
            const struct endpoint *set = &standing->says.endpoints[at];
            if (is_of_others(reconcile, set, record))
                continue;
            add_names(list, &set->dns_name, 1);
            add_names(targets, set->targets, set->target_count);
        }
    }
}

// Collects what may stand at the provider from the last status, too: the DNSEndpoints that it
// announced may not have been written.
static void collect_names(struct publication_reconcile *reconcile,
                          struct publication_record *record)
{
    struct name_list list = {.arena = reconcile->arena};
    struct name_list targets = {.arena = reconcile->arena};
    const struct dnspublication_status *before = &reconcile->before;
    add_names(&list, record->written.names, record->written.name_count);
    add_names(&targets, record->written.targets, record->written.target_count);
    add_standing_names(&list, &targets, reconcile, record);
    for (size_t i = 0; i < before->name_count; i++)
        if (publication_remembers(reconcile, &before->names[i], record)) {
            add_names(&list, &before->names[i].name, 1);
            add_names(&targets, before->names[i].targets, before->names[i].target_count);
        }
    record->written.names = list.items;
    record->written.name_count = list.count ? endpoint_sort_targets(list.items, list.count) : 0;
    record->written.targets = targets.items;
    record->written.target_count =
        targets.count ? endpoint_sort_targets(targets.items, targets.count) : 0;
}

// ---- use ----------------------------------------------------------------------------------------

// Is somebody there who carries the names to the provider, or is about to?
static bool has_carrier(const struct publication_record *record)
{
    const struct condition *available =
        record->object ? conditions_find(&record->status->conditions, "DeploymentAvailable") : NULL;
    if (!record->object || update_record_is_dry_run(record->spec))
        return false;
    return record->spec->is_native || (record->status->deployment.len && available &&
                                       available->reason != REASON_NOT_A_CLUSTER);
}

static void note_use(struct publication_record *record)
{
    struct published_record *written = &record->written;
    *written = (struct published_record){.namespace_ = written->namespace_,
                                         .name = written->name,
                                         .is_carried = written->is_carried || has_carrier(record)};
}

// ---- what stays ---------------------------------------------------------------------------------

static struct published_record *find_retained(struct publication_reconcile *reconcile,
                                              const struct published_record *record)
{
    for (size_t i = 0; i < reconcile->retained_count; i++)
        if (text_equal(reconcile->retained[i].namespace_, record->namespace_) &&
            text_equal(reconcile->retained[i].name, record->name))
            return &reconcile->retained[i];
    return NULL;
}

static void retain(struct publication_reconcile *reconcile, const struct publication_record *record)
{
    struct name_list list = {.arena = reconcile->arena};
    struct published_record *retained = find_retained(reconcile, &record->written);
    if (!retained)
        retained = &reconcile->retained[reconcile->retained_count++];
    add_names(&list, retained->names, retained->name_count);
    add_names(&list, record->written.names, record->written.name_count);
    *retained =
        (struct published_record){.namespace_ = record->written.namespace_,
                                  .name = record->written.name,
                                  .names = list.items,
                                  .name_count = endpoint_sort_targets(list.items, list.count),
                                  .message = text_of(record->message)};
}

static bool is_published_again(const struct publication_reconcile *reconcile,
                               const struct published_record *retained, struct text name)
{
    for (size_t i = 0; i < reconcile->endpoint_count; i++) {
        const struct intent_endpoint *endpoint = &reconcile->endpoints[i];
        if (publication_writes(reconcile, endpoint) && text_equal(endpoint->service->name, name) &&
            is_record(retained, endpoint->record->object))
            return true;
    }
    return false;
}

// Names that are published again are not retained any more.
static void list_retained(struct publication_reconcile *reconcile)
{
    const struct dnspublication_status *before = &reconcile->before;
    reconcile->retained = arena_new_array(reconcile->arena, struct published_record,
                                          before->retained_count + reconcile->record_count + 1);
    for (size_t i = 0; i < before->retained_count; i++) {
        struct published_record *kept = &reconcile->retained[reconcile->retained_count];
        struct name_list list = {.arena = reconcile->arena};
        *kept = before->retained[i];
        for (size_t at = 0; at < before->retained[i].name_count; at++)
            if (!is_published_again(reconcile, kept, kept->names[at]))
                add_names(&list, &kept->names[at], 1);
        kept->names = list.items;
        kept->name_count = list.count;
        reconcile->retained_count += list.count > 0;
    }
}

// The external-dns that has removed its names has removed the retained ones with them.
static void forget_retained(struct publication_reconcile *reconcile,
                            const struct publication_record *record)
{
    struct published_record *retained = find_retained(reconcile, &record->written);
    if (retained && record->written.is_carried)
        *retained = reconcile->retained[--reconcile->retained_count];
}

enum { SHOWN_NAMES_MAX = 10 };

const char *publication_list_names(struct arena *arena, const struct published_record *written)
{
    AUTO_BUFFER list = {0};
    for (size_t i = 0; i < written->name_count && i < SHOWN_NAMES_MAX; i++)
        buffer_printf(&list, "%s%.*s", i ? ", " : "", TEXT_ARGS(written->names[i]));
    if (written->name_count > SHOWN_NAMES_MAX)
        buffer_printf(&list, " and %zu more", written->name_count - SHOWN_NAMES_MAX);
    return list.len ? arena_copy(arena, list.at, list.len) : "the names";
}

// An external-dns whose filter leaves a name out does not look at it again.
static bool is_out_of_reach(const struct publication_reconcile *reconcile,
                            const struct publication_record *record, struct text name)
{
    const char *text;
    return record->object && record->written.is_carried && !record->spec->is_native &&
           update_record_name_fault(reconcile->arena, record->spec, name, TEXT("A"), &text) ==
               REASON_OUTSIDE_DOMAIN_FILTER;
}

static void retain_out_of_reach(struct publication_reconcile *reconcile,
                                const struct publication_record *record,
                                const struct name_list *names)
{
    struct publication_record left = *record;
    struct name_list list = {.arena = reconcile->arena};
    for (size_t i = 0; i < names->count; i++)
        if (is_out_of_reach(reconcile, record, names->items[i]))
            add_names(&list, &names->items[i], 1);
    left.written.names = list.items;
    left.written.name_count = list.count;
    left.message = "they are outside of its domain-filter now, so external-dns leaves them alone";
    if (list.count)
        retain(reconcile, &left);
}

static void take_outcome(struct publication_reconcile *reconcile,
                         const struct publication_record *record)
{
    struct name_list list = {.arena = reconcile->arena};
    const struct published_record *retained = find_retained(reconcile, &record->written);
    if (record->reason == REASON_RECORDS_RETAINED) {
        retain(reconcile, record);
        return;
    }
    add_names(&list, record->written.names, record->written.name_count);
    if (retained)
        add_names(&list, retained->names, retained->name_count);
    forget_retained(reconcile, record);
    retain_out_of_reach(reconcile, record, &list);
}

static void count_drain(struct publication_reconcile *reconcile,
                        const struct publication_record *record)
{
    if (!record->object || record->reason == REASON_RECORDS_RETAINED)
        return;
    reconcile->drain_count++;
    reconcile->drain_s += reconcile->in->now_ms / 1000 - record->written.draining_since_s;
}

static void drop_drained(struct publication_reconcile *reconcile)
{
    size_t kept = 0;
    struct publication_record *ended =
        arena_new_array(reconcile->arena, struct publication_record, reconcile->record_count + 1);
    for (size_t i = 0; i < reconcile->record_count; i++) {
        const struct publication_record *record = &reconcile->records[i];
        if (!record->is_drained) {
            reconcile->records[kept++] = *record;
            continue;
        }
        count_drain(reconcile, record);
        take_outcome(reconcile, record);
        reconcile->has_drained = true;
        reconcile->drained = *record;
        ended[reconcile->ended_count++] = *record;
    }
    for (size_t i = 0; i < reconcile->ended_count; i++)
        reconcile->records[kept + i] = ended[i];
    reconcile->record_count = kept;
}

// Retains names of a record that is still used, but whose domain-filter leaves them out by now.
static void retain_left_out(struct publication_reconcile *reconcile,
                            const struct publication_record *record)
{
    struct name_list list = {.arena = reconcile->arena};
    const struct dnspublication_status *before = &reconcile->before;
    for (size_t i = 0; !record->reason && i < before->name_count; i++)
        if (publication_remembers(reconcile, &before->names[i], record))
            add_names(&list, &before->names[i].name, 1);
    retain_out_of_reach(reconcile, record, &list);
}

static bool is_used(const struct publication_reconcile *reconcile,
                    const struct publication_record *record)
{
    return (reconcile->is_wanted && record->is_wanted) || !publication_is_known(reconcile);
}

void publication_records(struct publication_reconcile *reconcile)
{
    size_t most = reconcile->before.record_count + reconcile->resolved.record_count;
    reconcile->records = arena_new_array(reconcile->arena, struct publication_record, most + 1);
    list_written(reconcile);
    if (reconcile->is_wanted)
        list_wanted(reconcile);
    decode_records(reconcile);
    count_endpoints(reconcile);
    for (size_t i = 0; i < reconcile->record_count; i++) {
        struct publication_record *record = &reconcile->records[i];
        if (is_used(reconcile, record)) {
            note_use(record);
            continue;
        }
        collect_names(reconcile, record);
        publication_drain(reconcile, record);
    }
    list_retained(reconcile);
    for (size_t i = 0; i < reconcile->record_count; i++)
        retain_left_out(reconcile, &reconcile->records[i]);
    drop_drained(reconcile);
}

const bool *publication_published_services(const struct publication_reconcile *reconcile)
{
    const struct resolved *resolved = &reconcile->resolved;
    bool *out = arena_new_array(reconcile->arena, bool, resolved->service_count + 1);
    for (size_t i = 0; i < reconcile->endpoint_count; i++)
        out[reconcile->endpoints[i].service - resolved->services] |=
            reconcile->endpoints[i].set_count > 0;
    return out;
}
