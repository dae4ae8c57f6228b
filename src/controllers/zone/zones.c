#include "controllers/zone/zones.h"

#include <stdlib.h>
#include <string.h>

#include "base/metric.h"
#include "base/must.h"
#include "base/slots.h"
#include "base/table.h"
#include "controllers/zone/fallbacks.h"
#include "controllers/zone/zone_text.h"
#include "kinds/record/record_kind.h"
#include "kinds/zonefile/zonefile_kind.h"

struct zone_wait {
    uint32_t row;
    uint64_t number;
    int64_t since_ms;
};

// A Record.
struct row {
    const struct object *object; // NULL: the slot is free
    uint64_t number;             // the content that it came about with
    int64_t since_ms;
    uint32_t life; // or NO_ROW
};

#define NO_ROW UINT32_MAX

struct rows {
    struct row *items;
    size_t capacity;
    struct slots slots;
    struct table table;
};
struct lives {
    struct zone_life **items; // NULL: free
    size_t capacity;
    struct slots slots;
    struct table table;
};

struct zones {
    const struct zone_settings *settings;
    struct zone_tree_settings zone_tree_settings;
    struct zone_tree *zone_tree;
    struct fallbacks *fallbacks;
    struct zonefiles *files;
    struct zone_tree_claim *claims;
    struct rows rows;
    struct lives lives;
    // ---- of the settle under way
    uint64_t number;
    int64_t now_ms;
    const struct shared_model_calls *calls;
};

// ---- tables -------------------------------------------------------------------------------------

static struct zone_ref ref_of(const struct object *object)
{
    return (struct zone_ref){object_name(object), object_namespace(object)};
}

static uint64_t hash_of(const struct object *object)
{
    return object_name_hash(object_namespace(object), object_name(object));
}

static bool is_same(const struct object *a, const struct object *b)
{
    return text_equal(object_name(a), object_name(b)) &&
           text_equal(object_namespace(a), object_namespace(b));
}

static bool row_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct rows *rows = context;
    return is_same(rows->items[id].object, wanted);
}

static uint64_t row_hash(const void *context, uint32_t id)
{
    const struct rows *rows = context;
    return hash_of(rows->items[id].object);
}

static bool life_matches(const void *context, uint32_t id, const void *wanted)
{
    const struct lives *lives = context;
    const struct zone_ref *ref = wanted;
    const struct object *object = lives->items[id]->object;
    return text_equal(object_name(object), ref->name) &&
           text_equal(object_namespace(object), ref->namespace_);
}

static uint64_t life_hash(const void *context, uint32_t id)
{
    const struct lives *lives = context;
    return hash_of(lives->items[id]->object);
}

static const struct table_ops row_ops = {row_matches, row_hash};
static const struct table_ops life_ops = {life_matches, life_hash};

static void row_put(struct rows *rows, const struct object *object)
{
    uint32_t id = table_find(&rows->table, hash_of(object), object);
    if (id != TABLE_NONE) {
        const struct object *old = rows->items[id].object;
        rows->items[id].object = object_ref(object);
        object_unref(old);
        return;
    }
    id = slots_take(&rows->slots);
    mem_reserve(&rows->items, &rows->capacity, rows->slots.end);
    rows->items[id] = (struct row){.object = object_ref(object), .life = NO_ROW};
    table_add(&rows->table, hash_of(object), id);
}

static void row_remove(struct rows *rows, const struct object *object)
{
    uint32_t id = table_find(&rows->table, hash_of(object), object);
    if (id == TABLE_NONE)
        return;
    table_remove(&rows->table, hash_of(object), id);
    object_unref(rows->items[id].object);
    rows->items[id] = (struct row){0};
    slots_give(&rows->slots, id);
}

static uint32_t life_find(const struct lives *lives, struct zone_ref ref)
{
    return table_find(&lives->table, object_name_hash(ref.namespace_, ref.name), &ref);
}

static void life_put(struct lives *lives, const struct object *object)
{
    uint32_t id = life_find(lives, ref_of(object));
    if (id != TABLE_NONE) {
        const struct object *old = lives->items[id]->object;
        lives->items[id]->object = object_ref(object);
        object_unref(old);
        return;
    }
    id = slots_take(&lives->slots);
    mem_reserve(&lives->items, &lives->capacity, lives->slots.end);
    lives->items[id] = mem_new_of(struct zone_life);
    lives->items[id]->object = object_ref(object);
    table_add(&lives->table, hash_of(object), id);
}

static void life_remove(struct lives *lives, const struct object *object)
{
    uint32_t id = life_find(lives, ref_of(object));
    if (id == TABLE_NONE)
        return;
    table_remove(&lives->table, hash_of(object), id);
    zone_life_free(lives->items[id]);
    lives->items[id] = NULL;
    slots_give(&lives->slots, id);
}

// ---- making -------------------------------------------------------------------------------------

static const struct zones_config *config_of(const struct zones *zones)
{
    const struct zone_settings *settings = zones->settings;
    return settings->config ? *settings->config : NULL;
}

static const struct zones_group *find_group(const struct zones *zones, struct text name)
{
    const struct zones_config *config = config_of(zones);
    return config ? zones_config_group(config, name) : NULL;
}

static bool take_group(const void *context, struct text name, struct zone_limits *limits)
{
    const struct zones_group *group = find_group(context, name);
    bool is_elsewhere = ((const struct zones *)context)->settings->is_config_elsewhere;
    if (is_elsewhere)
        *limits = (struct zone_limits){0, 0};
    else if (group)
        *limits = (struct zone_limits){group->max_records_per_type, group->max_types_per_name};
    return group || is_elsewhere;
}

static const char *catalog_of(const void *context, struct dname name)
{
    const struct zones_config *config = config_of(context);
    const struct zones_group *group = config ? zones_config_catalog(config, name) : NULL;
    return group ? group->name : NULL;
}

const struct zones_group *zones_group_of(const struct zones *zones, const struct zone_spec *spec,
                                         const struct zone_status *ours)
{
    const struct zones_group *group = find_group(zones, spec->servers);
    bool is_unknown = spec->servers.at && !text_is(spec->servers, "default");
    return group || !is_unknown ? group : find_group(zones, ours->server_group);
}

static void set_claims(struct zones *zones)
{
    const struct zones_config *config = config_of(zones);
    if (!config || !config->has_claims)
        return;
    zones->claims = mem_new_array(struct zone_tree_claim, config->claim_count + 1);
    for (size_t i = 0; i < config->claim_count; i++)
        zones->claims[i] = (struct zone_tree_claim){
            .patterns = (const char *const *)config->claims[i].patterns,
            .pattern_count = config->claims[i].pattern_count,
            .namespaces = (const char *const *)config->claims[i].namespaces,
            .namespace_count = config->claims[i].namespace_count,
        };
    zones->zone_tree_settings.claims = zones->claims;
    zones->zone_tree_settings.claim_count = config->claim_count;
}

static void *make(const void *settings)
{
    struct error err;
    struct zones *zones = mem_new_of(struct zones);
    zones->settings = settings ? settings : &zone_defaults;
    zones->rows.table = (struct table){.ops = &row_ops, .context = &zones->rows};
    zones->lives.table = (struct table){.ops = &life_ops, .context = &zones->lives};
    zones->fallbacks = fallbacks_new(zones->settings->nameservers, &err);
    must(zones->fallbacks); // the settings were checked
    zones->zone_tree_settings = (struct zone_tree_settings){
        .is_open = !strcmp(zones->settings->claims, "open"),
        .fallbacks = fallbacks_items(zones->fallbacks),
        .fallback_count = fallbacks_count(zones->fallbacks),
        .find_group = take_group,
        .catalog_of = catalog_of,
        .context = zones,
    };
    set_claims(zones);
    zones->zone_tree = zone_tree_new(&zones->zone_tree_settings);
    zones->files = zonefiles_new();
    return zones;
}

static void zones_free(void *state)
{
    struct zones *zones = state;
    zone_tree_free(zones->zone_tree);
    fallbacks_free(zones->fallbacks);
    zonefiles_free(zones->files);
    for (uint32_t id = 0; id < zones->rows.slots.end; id++)
        object_unref(zones->rows.items[id].object);
    for (uint32_t id = 0; id < zones->lives.slots.end; id++)
        zone_life_free(zones->lives.items[id]);
    table_done(&zones->rows.table);
    table_done(&zones->lives.table);
    slots_done(&zones->rows.slots);
    slots_done(&zones->lives.slots);
    free(zones->rows.items);
    free(zones->lives.items);
    free(zones->claims);
    free(zones);
}

struct zone_tree *zones_zone_tree(struct zones *zones)
{
    return zones->zone_tree;
}

const struct zone_settings *zones_settings(const struct zones *zones)
{
    return zones->settings;
}

struct zone_life *zones_life(struct zones *zones, const struct object *zone)
{
    return zones_life_named(zones, ref_of(zone));
}

struct zone_life *zones_life_named(struct zones *zones, struct zone_ref ref)
{
    uint32_t id = life_find(&zones->lives, ref);
    return id == TABLE_NONE ? NULL : zones->lives.items[id];
}

struct zonefiles *zones_files(const struct zones *zones)
{
    return zones->files;
}

static void keep_group(char **kept, const char *group)
{
    free(*kept);
    *kept = group ? mem_copy_text(group) : NULL;
}

// Notes the group that the zone has now. `is_new`: it has just come, and has moved nowhere.
static void note_group(const struct zones *zones, const struct object *object, bool is_new)
{
    struct zone_spec spec;
    struct zone_status ours;
    CLEANUP(arena) struct arena *arena = arena_new();
    struct zone_life *life = zones->lives.items[life_find(&zones->lives, ref_of(object))];
    zone_unpack(arena, object_spec(object), object_managed(object), &spec, &ours);
    const struct zones_group *group = zones_group_of(zones, &spec, &ours);
    const char *name = group ? group->name : NULL;
    life->is_moved |= !is_new && !zone_life_is_group(life->group, name);
    keep_group(&life->group, name);
}

static void put_zone(struct zones *zones, const struct object *object)
{
    bool is_new = life_find(&zones->lives, ref_of(object)) == TABLE_NONE;
    life_put(&zones->lives, object);
    note_group(zones, object, is_new);
    zonefiles_put_zone(zones->files, object);
}

static void put(void *state, const struct object *object)
{
    struct zones *zones = state;
    if (object->kind == &zonefile_kind) {
        zonefiles_put(zones->files, object);
        return;
    }
    if (object->kind == &zone_kind)
        put_zone(zones, object);
    else
        row_put(&zones->rows, object);
    zone_tree_refresh(zones->zone_tree, object);
}

static void remove_object(void *state, const struct object *object)
{
    struct zones *zones = state;
    if (object->kind == &zonefile_kind) {
        zonefiles_remove(zones->files, object);
        return;
    }
    zone_tree_remove(zones->zone_tree, object);
    if (object->kind == &zone_kind) {
        zonefiles_wake_for(zones->files, object);
        life_remove(&zones->lives, object);
    } else {
        row_remove(&zones->rows, object);
    }
}

// ---- what the engine tells ----------------------------------------------------------------------

static void published(void *state, const struct object *object, const struct zone *zone)
{
    struct zones *zones = state;
    struct zone_life *life = zones_life(zones, object);
    if (!life || (life->stored.zone != zone && life->published.zone))
        return;
    if (life->stored.zone == zone) {
        zone_life_note_published(life);
    } else {
        life->published.zone = zone_ref(zone); // of before this shared model was made
    }
    zonefiles_wake_for(zones->files, object);
    life->published_ms = 0;
    life->is_due = true;
}

static void servers_reported(void *state, const struct object *object, const char *group,
                             const struct server_view *servers, size_t count)
{
    struct zone_life *life = zones_life(state, object);
    if (!life)
        return;
    if (count != life->server_count)
        life->servers = mem_resize(life->servers, count + 1, sizeof *servers);
    if (count)
        memcpy(life->servers, servers, count * sizeof *servers);
    life->server_count = count;
    keep_group(&life->servers_group, group);
    life->is_due = true;
    zone_life_complete(life);
}

static void wake(const struct zones *zones, const struct object *object)
{
    zones->calls->wake(zones->calls->context, object);
}

// ---- settling -----------------------------------------------------------------------------------

static void on_content(void *context, const struct object *object)
{
    struct zones *zones = context;
    struct zone_life *life = zones_life(zones, object);
    wake(zones, object);
    if (life)
        life->number = zones->number;
}

static void on_gone(void *context, const struct object *object, struct dname fqdn)
{
    const struct zones *zones = context;
    (void)fqdn;
    wake(zones, object);
}

// Drops the waits of records that changed again: those have a later one.
static void sweep_waits(const struct zones *zones, struct zone_life *life)
{
    size_t kept = 0;
    size_t reported = 0;
    for (size_t i = life->wait_first; i < life->wait_count; i++) {
        const struct zone_wait *wait = &life->waits[i];
        if (zones->rows.items[wait->row].number != wait->number)
            continue;
        reported += i < life->wait_reported;
        life->waits[kept++] = *wait;
    }
    life->wait_first = 0;
    life->wait_reported = reported;
    life->wait_count = kept;
}

static void wait_add(const struct zones *zones, struct zone_life *life, struct zone_wait wait)
{
    if (life->wait_count == life->wait_capacity) {
        sweep_waits(zones, life);
        if (life->wait_count > life->wait_capacity / 2)
            mem_reserve(&life->waits, &life->wait_capacity, life->wait_capacity + 1);
    }
    mem_reserve(&life->waits, &life->wait_capacity, life->wait_count + 1);
    life->waits[life->wait_count++] = wait;
}

// Notes which content the change of a record became part of: the present one. True: the record
// waits for its servers to have that.
static bool date_row(struct zones *zones, uint32_t id)
{
    struct row *row = &zones->rows.items[id];
    const struct object *zone = zone_tree_home(zones->zone_tree, row->object);
    row->life = zone ? life_find(&zones->lives, ref_of(zone)) : NO_ROW;
    if (row->life == NO_ROW)
        return false;
    struct zone_life *life = zones->lives.items[row->life];
    row->number = life->number;
    row->since_ms = zones->now_ms;
    if (row->number <= life->answered)
        return false;
    wait_add(zones, life, (struct zone_wait){id, row->number, zones->now_ms});
    return true;
}

// Of a record that is in and waits there is nothing to say before its servers answer or are late.
static void on_changed(void *context, const struct object *object)
{
    struct zones *zones = context;
    uint32_t id = object->kind == &zone_kind
                      ? TABLE_NONE
                      : table_find(&zones->rows.table, hash_of(object), object);
    if (id == TABLE_NONE || !date_row(zones, id) ||
        zone_tree_excluded(zones->zone_tree, object) != ZONE_FINE)
        wake(zones, object);
}

static void wake_row(struct zones *zones, uint32_t id)
{
    const struct row *row = &zones->rows.items[id];
    if (row->object)
        wake(zones, row->object);
}

// The zone has other servers from now on, which answer none of its records yet.
static void move_rows(struct zones *zones, uint32_t id, int64_t now_ms)
{
    struct zone_life *life = zones->lives.items[id];
    life->is_moved = false;
    life->is_due = true;
    if (life->group)
        life->answered = 0;
    for (uint32_t at = 0; at < zones->rows.slots.end; at++) {
        struct row *row = &zones->rows.items[at];
        if (!row->object || row->life != id)
            continue;
        wake_row(zones, at);
        if (!life->group)
            continue;
        row->number = life->number;
        row->since_ms = now_ms;
        wait_add(zones, life, (struct zone_wait){at, row->number, now_ms});
    }
}

static void report_programmed(const struct zones *zones, const struct zone_wait *wait,
                              int64_t now_ms)
{
    const struct row *row = &zones->rows.items[wait->row];
    if (row->object && row->number == wait->number)
        zones->calls->programmed(zones->calls->context, row->object, now_ms - wait->since_ms);
}

static void end_waits(struct zone_life *life)
{
    life->wait_first = life->wait_count = life->wait_reported = 0;
    mem_relax(&life->waits, &life->wait_capacity);
}

static void wake_answered(struct zones *zones, struct zone_life *life, int64_t now_ms)
{
    while (life->wait_first < life->wait_count &&
           life->waits[life->wait_first].number <= life->answered) {
        const struct zone_wait *wait = &life->waits[life->wait_first++];
        report_programmed(zones, wait, now_ms);
        wake_row(zones, wait->row);
    }
    if (life->wait_reported < life->wait_first)
        life->wait_reported = life->wait_first;
    if (life->wait_first == life->wait_count)
        end_waits(life);
}

// Returns when the next one's patience ends, or 0. (A clock that was set back ends it.)
static int64_t wake_late(struct zones *zones, struct zone_life *life, int64_t now_ms)
{
    while (life->wait_reported < life->wait_count) {
        const struct zone_wait *wait = &life->waits[life->wait_reported];
        if (wait->since_ms <= now_ms && wait->since_ms + ZONE_PATIENCE_MS > now_ms)
            return wait->since_ms + ZONE_PATIENCE_MS;
        wake_row(zones, wait->row);
        life->wait_reported++;
    }
    return 0;
}

static void update_answered(struct zones *zones, struct zone_life *life, int64_t now_ms)
{
    life->is_due = false;
    if (!life->published_ms)
        life->published_ms = now_ms;
    uint64_t answered = zone_life_answered(life);
    if (answered > life->answered)
        life->answered = answered;
    if (life->server_count && life->published.zone && answered == life->published.number)
        life->is_new = false; // all of them have it of us
    wake(zones, life->object);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return !a || (b && b < a) ? b : a;
}

static int64_t settle(void *state, int64_t now_ms, const struct shared_model_calls *calls)
{
    struct zones *zones = state;
    int64_t next_ms = 0;
    const struct zone_tree_reported reported = {
        .changed = on_changed, .content = on_content, .gone = on_gone, .context = zones};
    zones->calls = calls;
    zones->now_ms = now_ms;
    zones->number++;
    zone_tree_settle(zones->zone_tree, &reported);
    zonefiles_settle(zones->files, zones, calls);
    for (uint32_t id = 0; id < zones->lives.slots.end; id++) {
        struct zone_life *life = zones->lives.items[id];
        if (!life)
            continue;
        if (life->is_moved)
            move_rows(zones, id, now_ms);
        if (life->is_due)
            update_answered(zones, life, now_ms);
        wake_answered(zones, life, now_ms);
        next_ms = earlier(next_ms, wake_late(zones, life, now_ms));
    }
    return next_ms;
}

bool zones_is_answered(const struct zones *zones, const struct object *record, int64_t *since_ms)
{
    uint32_t id = table_find(&zones->rows.table, hash_of(record), record);
    *since_ms = 0;
    if (id == TABLE_NONE || zones->rows.items[id].life == NO_ROW)
        return false;
    const struct row *row = &zones->rows.items[id];
    const struct zone_life *life = zones->lives.items[row->life];
    *since_ms = row->since_ms;
    return life && row->number <= life->answered && life->published.zone;
}

// ---- metrics ------------------------------------------------------------------------------------

struct excluded {
    size_t counts[ZONE_REASON_COUNT];
};

static const char *name_of(const struct zones *zones, struct arena *arena,
                           const struct zone_life *life)
{
    struct zone_tree_zone view;
    if (!zone_tree_zone(zones->zone_tree, arena, life->object, &view) || !view.has_fqdn)
        return "";
    return zone_name_text(arena, view.fqdn);
}

static void write_excluded(const char *zone, const struct excluded *excluded, struct buffer *out)
{
    for (int reason = ZONE_FINE + 1; reason < ZONE_REASON_COUNT; reason++) {
        if (!excluded->counts[reason])
            continue;
        buffer_add_text(out, "signpost_zone_excluded_records{zone=\"");
        metric_write_label(out, zone);
        buffer_printf(out, "\",reason=\"%s\"} %zu\n", zone_reason_name((enum zone_reason)reason),
                      excluded->counts[reason]);
    }
}

static void write_metrics(const void *state, struct buffer *out)
{
    const struct zones *zones = state;
    autofree struct excluded *excluded = mem_new_array(struct excluded, zones->lives.slots.end + 1);
    CLEANUP(arena) struct arena *arena = arena_new();
    for (uint32_t id = 0; id < zones->rows.slots.end; id++) {
        const struct row *row = &zones->rows.items[id];
        if (row->object && row->life != NO_ROW)
            excluded[row->life].counts[zone_tree_excluded(zones->zone_tree, row->object)]++;
    }
    metric_write_head(out, "signpost_zone_excluded_records", "gauge",
                      "Records that are kept out of their zone, by reason.");
    for (uint32_t id = 0; id < zones->lives.slots.end; id++)
        if (zones->lives.items[id])
            write_excluded(name_of(zones, arena, zones->lives.items[id]), &excluded[id], out);
}

static const struct kind *const shared_model_kinds[] = {&zone_kind, &record_kind, &zonefile_kind,
                                                        NULL};

const struct shared_model zones_shared_model = {
    .kinds = shared_model_kinds,
    .make = make,
    .free = zones_free,
    .put = put,
    .remove = remove_object,
    .published = published,
    .servers_reported = servers_reported,
    .settle = settle,
    .write_metrics = write_metrics,
    .seconds_metric = "signpost_zone_compile_seconds",
    .seconds_help = "How long it took to work out what a batch of changes comes to.",
};
