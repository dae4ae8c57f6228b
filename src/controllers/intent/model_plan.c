#include <stdlib.h>
#include <string.h>

#include "controllers/intent/model_private.h"
#include "controllers/intent/native.h"

// What one publication wants, and what that stands on.

int model_compare_hashes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

uint64_t model_name_key(struct arena *arena, const struct record_name *name)
{
    struct native_zones zones = {.count = 0};
    struct content_hash hash = content_hash_new();
    if (name->record->is_native)
        native_zones_of(arena, name->record, &zones);
    size_t at = native_zone_of_name(&zones, name->name);
    if (at < NATIVE_ZONES_MAX) {
        const char *registry = native_registry(arena, name->record, zones.items[at]);
        content_hash_add_text(&hash, text_of(registry));
    } else {
        content_hash_add_text(&hash, object_namespace(name->object));
        content_hash_add_text(&hash, object_name(name->object));
    }
    content_hash_add_text(&hash, name->name);
    return content_hash_end(&hash).words[0];
}

static void drop_records(struct plan *plan)
{
    for (size_t i = 0; i < plan->record_count; i++) {
        object_unref(plan->records[i].object);
        free(plan->records[i].failure);
    }
    free(plan->records);
    plan->records = NULL;
    plan->record_count = 0;
}

static void plan_clear(struct plan *plan)
{
    drop_records(plan);
    free(plan->inputs);
    free(plan->names);
    free(plan->share_group);
    plan->inputs = NULL;
    plan->names = NULL;
    plan->share_group = NULL;
    plan->input_count = plan->name_count = 0;
}

void model_plan_done(struct plan *plan)
{
    plan_clear(plan);
    object_unref(plan->publication);
    *plan = (struct plan){0};
}

int model_compare_wanted(const void *a, const void *b)
{
    const struct wanted_name *left = a;
    const struct wanted_name *right = b;
    if (left->key != right->key)
        return left->key < right->key ? -1 : 1;
    if (left->stands_by != right->stands_by)
        return left->stands_by < right->stands_by ? -1 : 1;
    return (left->publication > right->publication) - (left->publication < right->publication);
}

static struct used_record *use_record(struct plan *plan, const struct object *object)
{
    for (size_t i = 0; i < plan->record_count; i++)
        if (plan->records[i].object == object)
            return &plan->records[i];
    plan->records = mem_resize(plan->records, plan->record_count + 1, sizeof *plan->records);
    struct used_record *used = &plan->records[plan->record_count++];
    *used = (struct used_record){.object = object_ref(object)};
    return used;
}

static const struct object *find_record(struct model_reader *reader, struct text namespace_,
                                        struct text name)
{
    return model_find(reader, &dnsupdaterecord_kind, namespace_, name);
}

// Records at whose providers names may stand, as the status has written ahead.
static void use_written_records(struct plan *plan, struct model_reader *reader,
                                const struct dnspublication_status *status)
{
    for (size_t i = 0; i < status->record_count; i++) {
        const struct published_record *written = &status->records[i];
        const struct object *object = find_record(reader, written->namespace_, written->name);
        if (!object)
            continue;
        struct used_record *used = use_record(plan, object);
        used->is_written = true;
        used->is_draining = written->draining_since_s != 0;
        used->is_carried = written->is_carried;
    }
}

static bool is_written(const struct dnspublication_status *status, const struct object *record)
{
    for (size_t i = 0; i < status->record_count; i++)
        if (!status->records[i].draining_since_s &&
            text_equal(status->records[i].namespace_, object_namespace(record)) &&
            text_equal(status->records[i].name, object_name(record)))
            return true;
    return false;
}

static bool is_awaited(const struct dnspublication_status *status, const char *shown)
{
    for (size_t i = 0; i < status->name_count; i++)
        if (text_is(status->names[i].record, shown) &&
            (status->names[i].state == NAME_WRITTEN || status->names[i].state == NAME_READ ||
             status->names[i].state == NAME_REMOVING))
            return true;
    return false;
}

// Whoever carries the name out has done so, and the servers answer with something else.
static bool is_answered_otherwise(const struct published_name *name)
{
    return (name->state == NAME_READ || name->state == NAME_SYNCED) &&
           (name->reason == REASON_MISMATCH || name->reason == REASON_OWNER_MISMATCH);
}

// The server says that the name belongs to another owner.
static bool is_of_others(const struct published_name *name)
{
    return name->state == NAME_CONFLICT && name->reason == REASON_CONFLICT;
}

// A name that is written, or goes, and of which the server or our backend says why no more comes of
// it; or that the servers answer with something else. What the guard holds waits for people, and
// what we may not write is no fault of whoever carries names out.
static bool is_failing(const struct published_name *name)
{
    static const enum reason warnings[] = {
        REASON_MIXED_TARGETS,  REASON_PRIVATE_TARGET, REASON_ALIAS_WITH_TEXT,
        REASON_INVALID_TARGET, REASON_HELD,           REASON_FORBIDDEN};
    for (size_t i = 0; i < COUNT_OF(warnings); i++)
        if (name->reason == warnings[i])
            return false;
    return is_answered_otherwise(name) || is_of_others(name) ||
           ((name->state == NAME_WRITTEN || name->state == NAME_REMOVING) && name->reason);
}

static void find_failure(const struct dnspublication_status *status, const char *shown,
                         struct used_record *used)
{
    AUTO_BUFFER text = {0};
    for (size_t i = 0; !used->failure && i < status->name_count; i++) {
        const struct published_name *name = &status->names[i];
        if (!is_failing(name) || !text_is(name->record, shown))
            continue;
        buffer_printf(&text, "%.*s: %s", TEXT_ARGS(name->name),
                      name->message ? name->message : reason_name(name->reason));
        used->failure = buffer_steal(&text);
        used->failure_reason = is_answered_otherwise(name) ? name->reason
                               : is_of_others(name)        ? REASON_OWNER_MISMATCH
                                                           : REASON_SYNC_FAILING;
    }
}

static size_t count_names(const struct resolved *resolved)
{
    return resolved->service_count * resolved->record_count;
}

static void plan_names(struct plan *plan, uint32_t id, struct arena *arena,
                       const struct resolved *resolved, const struct resolved_record *record)
{
    struct used_record *used = use_record(plan, record->object);
    for (size_t i = 0; i < resolved->service_count; i++) {
        const struct resolved_service *service = &resolved->services[i];
        if (!resolved_is_published(resolved, service, record))
            continue;
        used->names++;
        const struct record_name name = {record->object, record->record, service->name};
        plan->names[plan->name_count++] =
            (struct wanted_name){model_name_key(arena, &name), 0, id, (int32_t)record->ttl_s};
    }
}

static bool is_listed(const struct resolved *resolved, const struct object *record)
{
    for (size_t i = 0; i < resolved->record_count; i++)
        if (resolved->records[i].object == record)
            return true;
    return false;
}

static void add_standing_name(struct plan *plan, uint32_t id, uint64_t key,
                              const struct object *record, bool is_left)
{
    uint64_t stands_by =
        model_hash(&dnsupdaterecord_kind, object_namespace(record), object_name(record));
    plan->names[plan->name_count++] = (struct wanted_name){key, stands_by, id, 0};
    if (is_left)
        plan->names[plan->name_count++] = (struct wanted_name){key, 0, id, 0};
}

// Names that go from a record which is not listed any more stay the publication's until that is
// done. A share group has its names together.
static void plan_standing_names(struct plan *plan, uint32_t id, struct model_reader *reader,
                                const struct resolved *resolved,
                                const struct dnspublication_status *status)
{
    for (size_t i = 0; i < status->record_count; i++) {
        struct update_record record;
        const struct published_record *written = &status->records[i];
        const struct object *object = find_record(reader, written->namespace_, written->name);
        if (!object)
            continue;
        bool is_left = !written->draining_since_s && !is_listed(resolved, object);
        update_record_unpack(reader->arena, object_spec(object), &record);
        update_record_put_in_force(reader->arena, &record);
        for (size_t at = 0; record.is_native && at < status->name_count; at++) {
            const struct published_name *published = &status->names[at];
            const struct record_name name = {object, &record, published->name};
            if (resolved_may_stand(published) &&
                resolved_is_name_of(reader, resolved, published, written))
                add_standing_name(plan, id, model_name_key(reader->arena, &name), object, is_left);
        }
    }
}

// A name that several services or clusters have counts once.
static void sort_names(struct plan *plan)
{
    size_t kept = 0;
    qsort(plan->names, plan->name_count, sizeof *plan->names, model_compare_wanted);
    for (size_t i = 0; i < plan->name_count; i++)
        if (!kept || plan->names[kept - 1].key != plan->names[i].key ||
            plan->names[kept - 1].stands_by != plan->names[i].stands_by)
            plan->names[kept++] = plan->names[i];
    plan->name_count = kept;
}

void model_plan_make(struct intent_model *model, uint32_t id, struct arena *arena)
{
    struct resolved resolved;
    struct dnspublication publication;
    struct dnspublication_status status;
    struct plan *plan = &model->plans[id];
    struct model_reader reader = {.model = model, .arena = arena};
    const struct object *object = plan->publication;
    resolve_publication(&reader, object, &resolved);
    dnspublication_unpack(arena, object_spec(object), object_managed(object), &publication,
                          &status);
    plan_clear(plan);
    use_written_records(plan, &reader, &status);
    plan->names =
        mem_new_array(struct wanted_name,
                      count_names(&resolved) + 2 * status.record_count * status.name_count + 1);
    bool is_wanted = publication.desired == DNSPUBLICATION_WANTS_INSTANTIATED && !object->deleted_s;
    for (size_t i = 0; i < resolved.record_count; i++) {
        const struct resolved_record *record = &resolved.records[i];
        if (record->fault)
            continue;
        use_record(plan, record->object)->is_listed = true;
        if (is_wanted || is_written(&status, record->object))
            plan_names(plan, id, arena, &resolved, record);
        struct used_record *used = use_record(plan, record->object);
        used->is_awaited |= is_awaited(&status, record->shown);
        find_failure(&status, record->shown, used);
    }
    if (!publication.share_group.len)
        plan_standing_names(plan, id, &reader, &resolved, &status);
    sort_names(plan);
    if (publication.share_group.len)
        plan->share_group = text_dup(publication.share_group);
    plan->input_count = reader.input_count;
    plan->inputs = mem_copy(reader.inputs, reader.input_count * sizeof *reader.inputs);
    qsort(plan->inputs, plan->input_count, sizeof *plan->inputs, model_compare_hashes);
    plan->is_dirty = false;
    plan->is_changed = true;
}
