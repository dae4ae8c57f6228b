#include "controllers/zone/zonefiles.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "base/table.h"
#include "controllers/zone/zones.h"
#include "kinds/zonefile/zonefile_kind.h"

// A Zone that some ZoneFile names, be it there or not.
struct place {
    char *namespace_; // NULL: the slot is free
    char *name;
    const struct object **files; // own references
    size_t count;
    size_t capacity;
    uint64_t seen;      // of the Zone's state; 0: none
    bool is_zone_due;   // other ZoneFiles name it now
    bool are_files_due; // it is another now
};

// A ZoneFile.
struct file {
    const struct object *object;
    char *config_map;
    bool is_due; // it, or who else writes its ConfigMap, says something else now
};

struct zonefiles {
    struct place *places;
    size_t capacity;
    uint32_t used;
    struct table table;
    struct file *files;
    size_t file_count;
    size_t file_capacity;
};

// ---- places -------------------------------------------------------------------------------------

static uint64_t hash_of(struct zone_ref ref)
{
    return object_name_hash(ref.namespace_, ref.name);
}

static struct zone_ref ref_of_place(const struct place *place)
{
    return (struct zone_ref){text_of(place->name), text_of(place->namespace_)};
}

static struct zone_ref ref_of(const struct object *zone)
{
    return (struct zone_ref){object_name(zone), object_namespace(zone)};
}

static bool place_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct zonefiles *files = context;
    const struct zone_ref *ref = wanted;
    return text_is(ref->name, files->places[id].name) &&
           text_is(ref->namespace_, files->places[id].namespace_);
}

static uint64_t place_hash(const void *context, uint32_t id)
{
    const struct zonefiles *files = context;
    return hash_of(ref_of_place(&files->places[id]));
}

static const struct table_ops place_ops = {place_matches, place_hash};

static struct place *place_find(const struct zonefiles *files, struct zone_ref ref)
{
    uint32_t id = table_find(&files->table, hash_of(ref), &ref);
    return id == TABLE_NONE ? NULL : &files->places[id];
}

static char *copy_of(struct text text)
{
    struct buffer copy = {0};
    buffer_add(&copy, text.at, text.len);
    return buffer_steal(&copy);
}

static uint32_t place_slot(struct zonefiles *files)
{
    mem_reserve(&files->places, &files->capacity, (size_t)files->used + 1);
    must(files->places);
    for (uint32_t id = 0; files->table.count < files->used && id < files->used; id++)
        if (!files->places[id].namespace_)
            return id;
    return files->used++;
}

static struct place *place_make(struct zonefiles *files, struct zone_ref ref)
{
    struct place *found = place_find(files, ref);
    if (found)
        return found;
    uint32_t id = place_slot(files);
    files->places[id] =
        (struct place){.namespace_ = copy_of(ref.namespace_), .name = copy_of(ref.name)};
    table_add(&files->table, hash_of(ref), id);
    return &files->places[id];
}

static void place_done(struct place *place)
{
    for (size_t i = 0; i < place->count; i++)
        object_unref(place->files[i]);
    free(place->files);
    free(place->namespace_);
    free(place->name);
    *place = (struct place){0};
}

// ---- ZoneFiles ----------------------------------------------------------------------------------

struct zone_ref zonefile_ref(const struct object *file, struct zone_ref ref)
{
    if (!ref.namespace_.at)
        ref.namespace_ = object_namespace(file);
    return ref;
}

static bool is_same(const struct object *a, const struct object *b)
{
    return text_equal(object_name(a), object_name(b)) &&
           text_equal(object_namespace(a), object_namespace(b));
}

// NULL: it is not among them.
static const struct object **find(const struct object **list, size_t count,
                                  const struct object *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (is_same(list[i], wanted))
            return &list[i];
    return NULL;
}

static void link_place(struct place *place, const struct object *file)
{
    if (find(place->files, place->count, file))
        return;
    mem_reserve(&place->files, &place->capacity, place->count + 1);
    place->files[place->count++] = object_ref(file);
    place->is_zone_due = true;
}

static void unlink_place(struct place *place, const struct object *file)
{
    const struct object **at = place ? find(place->files, place->count, file) : NULL;
    if (!at)
        return;
    object_unref(*at);
    *at = place->files[--place->count];
    place->is_zone_due = true;
}

static struct zonefile_spec spec_of(struct arena *arena, const struct object *file)
{
    struct zonefile_spec spec;
    zonefile_unpack(arena, object_spec(file), object_managed(file), &spec, NULL);
    return spec;
}

static void unlink_all(struct zonefiles *files, const struct object *file)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct zonefile_spec spec = spec_of(arena, file);
    for (size_t i = 0; i < spec.zone_count; i++)
        unlink_place(place_find(files, zonefile_ref(file, spec.zones[i])), file);
}

static void link_all(struct zonefiles *files, const struct object *file)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct zonefile_spec spec = spec_of(arena, file);
    for (size_t i = 0; i < spec.zone_count; i++)
        if (spec.zones[i].name.len)
            link_place(place_make(files, zonefile_ref(file, spec.zones[i])), file);
}

// NULL: it is not known.
static struct file *file_find(const struct zonefiles *files, const struct object *wanted)
{
    for (size_t i = 0; i < files->file_count; i++)
        if (is_same(files->files[i].object, wanted))
            return &files->files[i];
    return NULL;
}

static struct file *file_make(struct zonefiles *files)
{
    mem_reserve(&files->files, &files->file_capacity, files->file_count + 1);
    files->files[files->file_count] = (struct file){0};
    return &files->files[files->file_count++];
}

static bool shares(const struct file *file, const struct file *other)
{
    return !strcmp(file->config_map, other->config_map) &&
           text_equal(object_namespace(file->object), object_namespace(other->object));
}

// All that write its ConfigMap, itself included.
static void wake_sharers(struct zonefiles *files, const struct file *of)
{
    for (size_t i = 0; i < files->file_count; i++)
        files->files[i].is_due |= shares(&files->files[i], of);
}

static char *config_map_of(const struct object *object)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    return copy_of(spec_of(arena, object).config_map);
}

static bool says_the_same(const struct object *old, const struct object *now)
{
    return old->generation == now->generation && old->created_s == now->created_s &&
           object_has_same_spec(old, now);
}

// Takes over what it was before; NULL in it: nothing.
static void drop_before(struct zonefiles *files, struct file *before)
{
    if (!before->object)
        return;
    wake_sharers(files, before);
    unlink_all(files, before->object);
    object_unref(before->object);
    free(before->config_map);
}

void zonefiles_put(struct zonefiles *files, const struct object *object)
{
    struct file *file = file_find(files, object);
    if (!file)
        file = file_make(files);
    if (file->object && says_the_same(file->object, object)) {
        object_unref(file->object);
        file->object = object_ref(object);
        return;
    }
    struct file before = *file;
    *file = (struct file){.object = object_ref(object), .config_map = config_map_of(object)};
    drop_before(files, &before);
    link_all(files, object);
    wake_sharers(files, file);
}

void zonefiles_remove(struct zonefiles *files, const struct object *object)
{
    struct file *file = file_find(files, object);
    if (!file)
        return;
    struct file before = *file;
    *file = files->files[--files->file_count];
    drop_before(files, &before);
}

const struct object *zonefiles_rival(const struct zonefiles *files, const struct object *object)
{
    const struct file *file = file_find(files, object);
    const struct object *oldest = object;
    for (size_t i = 0; file && i < files->file_count; i++)
        if (shares(&files->files[i], file) &&
            object_compare_age(files->files[i].object, oldest) < 0)
            oldest = files->files[i].object;
    return oldest == object ? NULL : oldest;
}

const struct object *zonefiles_only(const struct zonefiles *files, const struct object *zone)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    const struct place *place = place_find(files, ref_of(zone));
    const struct object *only = NULL;
    struct zone_spec spec;
    zone_unpack(arena, object_spec(zone), object_managed(zone), &spec, NULL);
    for (size_t i = 0; place && i < place->count; i++) {
        if (!zone_allows_file(&spec, object_namespace(zone), object_namespace(place->files[i])))
            continue;
        if (only)
            return NULL;
        only = place->files[i];
    }
    return only;
}

// ---- Zones --------------------------------------------------------------------------------------

static uint64_t state_of(const struct object *zone)
{
    CLEANUP(arena) struct arena *arena = arena_new();
    struct zone_spec spec;
    struct zone_status status;
    zone_unpack(arena, object_spec(zone), object_managed(zone), &spec, &status);
    const struct condition *accepted = conditions_find(&status.conditions, "Accepted");
    uint64_t mixed[] = {hash_octets(status.fqdn.at, status.fqdn.len),
                        hash_octets(status.hash.at, status.hash.len), status.serial,
                        accepted ? accepted->reason : REASON_NONE,
                        hash_octets(spec.file_namespaces.at, spec.file_namespaces.len)};
    return hash_octets(mixed, sizeof mixed) | 1;
}

void zonefiles_put_zone(struct zonefiles *files, const struct object *zone)
{
    struct place *place = place_find(files, ref_of(zone));
    if (!place)
        return;
    uint64_t seen = state_of(zone);
    place->are_files_due |= seen != place->seen;
    place->seen = seen;
}

void zonefiles_wake_for(struct zonefiles *files, const struct object *zone)
{
    struct place *place = place_find(files, ref_of(zone));
    if (!place)
        return;
    place->seen = 0;
    place->are_files_due = true;
}

static void settle_place(struct zonefiles *files, uint32_t id, struct zones *zones,
                         const struct shared_model_calls *calls)
{
    struct place *place = &files->places[id];
    const struct zone_life *life = zones_life_named(zones, ref_of_place(place));
    if (place->is_zone_due && life)
        calls->wake(calls->context, life->object);
    for (size_t i = 0; place->are_files_due && i < place->count; i++)
        calls->wake(calls->context, place->files[i]);
    place->is_zone_due = place->are_files_due = false;
    if (place->count)
        return;
    table_remove(&files->table, hash_of(ref_of_place(place)), id);
    place_done(place);
}

void zonefiles_settle(struct zonefiles *files, struct zones *zones,
                      const struct shared_model_calls *calls)
{
    for (uint32_t id = 0; id < files->used; id++)
        if (files->places[id].is_zone_due || files->places[id].are_files_due)
            settle_place(files, id, zones, calls);
    for (size_t i = 0; i < files->file_count; i++) {
        if (files->files[i].is_due)
            calls->wake(calls->context, files->files[i].object);
        files->files[i].is_due = false;
    }
}

// ---- life ---------------------------------------------------------------------------------------

struct zonefiles *zonefiles_new(void)
{
    struct zonefiles *files = mem_new_of(struct zonefiles);
    files->table = (struct table){.ops = &place_ops, .context = files};
    return files;
}

void zonefiles_free(struct zonefiles *files)
{
    for (uint32_t id = 0; id < files->used; id++)
        place_done(&files->places[id]);
    for (size_t i = 0; i < files->file_count; i++) {
        object_unref(files->files[i].object);
        free(files->files[i].config_map);
    }
    table_done(&files->table);
    free(files->places);
    free(files->files);
    free(files);
}
