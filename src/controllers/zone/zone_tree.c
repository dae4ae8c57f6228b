#include "controllers/zone/zone_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "controllers/zone/zone_tree_private.h"

// ---- zones --------------------------------------------------------------------------------------

static bool is_same_spec(const struct object *a, const struct object *b)
{
    return a->created_s == b->created_s && a->generation == b->generation &&
           text_equal(object_spec(a), object_spec(b));
}

static void set_object(const struct object **at, const struct object *object)
{
    const struct object *old = *at;
    *at = object ? object_ref(object) : NULL;
    object_unref(old);
}

static void put_zone(struct zone_tree *zone_tree, const struct object *object)
{
    struct tree_entry *tree_entry = tree_entry_want(zone_tree, tree_entry_key_of(object));
    if (!tree_entry->object || !is_same_spec(tree_entry->object, object))
        zone_tree->has_new_tree_entries = tree_entry->is_fresh = true;
    set_object(&tree_entry->object, object);
    tree_entry_report(zone_tree, tree_entry);
}

static void remove_zone(struct zone_tree *zone_tree, const struct object *object)
{
    struct tree_entry *tree_entry = tree_entry_find(zone_tree, tree_entry_key_of(object));
    if (!tree_entry || !tree_entry->object)
        return;
    set_object(&tree_entry->removed, tree_entry->object);
    set_object(&tree_entry->object, NULL);
    zone_tree->has_new_tree_entries = tree_entry->is_fresh = true;
}

// ---- records ------------------------------------------------------------------------------------

static void put_record(struct zone_tree *zone_tree, const struct object *object)
{
    struct record_entry *record_entry = record_entry_find(zone_tree, tree_entry_key_of(object));
    if (!record_entry) {
        record_entry_touch(zone_tree, record_entry_new(zone_tree, object),
                           RECORD_ENTRY_IS_FRESH | RECORD_ENTRY_IS_REPORTED);
        return;
    }
    bool is_same = is_same_spec(record_entry->object, object);
    if (!is_same)
        record_entry_withdraw(zone_tree, record_entry);
    set_object(&record_entry->object, object);
    record_entry_touch(zone_tree, record_entry,
                       is_same ? RECORD_ENTRY_IS_REPORTED
                               : RECORD_ENTRY_IS_FRESH | RECORD_ENTRY_IS_REPORTED);
}

static void remove_record(struct zone_tree *zone_tree, const struct object *object)
{
    struct record_entry *record_entry = record_entry_find(zone_tree, tree_entry_key_of(object));
    if (record_entry)
        record_entry_free(zone_tree, record_entry);
}

// ---- telling ------------------------------------------------------------------------------------

static void report_gone(struct zone_tree *zone_tree, const struct zone_tree_reported *reported)
{
    for (size_t i = 0; i < zone_tree->gone_count; i++) {
        struct gone *gone = &zone_tree->gone[i];
        reported->gone(reported->context, gone->object, (struct dname){gone->octets, gone->len});
        object_unref(gone->object);
        free(gone->octets);
    }
    zone_tree->gone_count = 0;
    mem_relax(&zone_tree->gone, &zone_tree->gone_capacity);
}

static void report_tree_entries(struct zone_tree *zone_tree,
                                const struct zone_tree_reported *reported)
{
    for (size_t i = 0; i < zone_tree->reported_count; i++) {
        struct tree_entry *tree_entry = zone_tree->reported[i];
        if (tree_entry->object)
            reported->changed(reported->context, tree_entry->object);
        if (tree_entry->has_content && tree_entry->compiler)
            reported->content(reported->context, tree_entry->object);
        tree_entry->is_reported = tree_entry->has_content = false;
    }
    zone_tree->reported_count = 0;
    mem_relax(&zone_tree->reported, &zone_tree->reported_capacity);
}

static void report_record_entries(struct zone_tree *zone_tree,
                                  const struct zone_tree_reported *reported)
{
    for (size_t i = 0; i < zone_tree->touched_count; i++) {
        struct record_entry *record_entry = zone_tree->touched[i];
        if (!(record_entry->state & RECORD_ENTRY_IS_GONE) &&
            record_entry->state & RECORD_ENTRY_IS_REPORTED)
            reported->changed(reported->context, record_entry->object);
        record_entry->state &= RECORD_ENTRY_IS_LASTING;
        if (record_entry->state & RECORD_ENTRY_IS_GONE)
            slab_give(record_entry, sizeof *record_entry);
    }
    zone_tree->touched_count = 0;
    mem_relax(&zone_tree->touched, &zone_tree->touched_capacity);
}

// ---- public -------------------------------------------------------------------------------------

struct zone_tree *zone_tree_new(const struct zone_tree_settings *settings)
{
    struct zone_tree *zone_tree = mem_new_of(struct zone_tree);
    zone_tree->slab = slab_new();
    zone_tree->arena = arena_new();
    zone_tree_set_settings(zone_tree, settings);
    return zone_tree;
}

static void free_tree_entries(struct zone_tree *zone_tree)
{
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id])
            tree_entry_free(zone_tree, zone_tree->tree_entries[id]);
    for (size_t i = 0; i < zone_tree->gone_count; i++) {
        object_unref(zone_tree->gone[i].object);
        free(zone_tree->gone[i].octets);
    }
    table_done(&zone_tree->tree_entry_table);
    table_done(&zone_tree->live);
    free(zone_tree->tree_entries);
    slots_done(&zone_tree->tree_entry_slots);
    free(zone_tree->idle);
    free(zone_tree->reported);
    free(zone_tree->gone);
}

static void free_record_entries(struct zone_tree *zone_tree)
{
    for (uint32_t id = 0; id < zone_tree->record_entry_slots.end; id++)
        if (zone_tree->record_entries[id])
            record_entry_free(zone_tree, zone_tree->record_entries[id]);
    for (size_t i = 0; i < zone_tree->touched_count; i++)
        slab_give(zone_tree->touched[i], sizeof *zone_tree->touched[i]);
    table_done(&zone_tree->record_entry_table);
    free(zone_tree->record_entries);
    free(zone_tree->record_entry_hashes);
    free(zone_tree->crossings);
    slots_done(&zone_tree->record_entry_slots);
    free(zone_tree->touched);
}

void zone_tree_free(struct zone_tree *zone_tree)
{
    if (!zone_tree)
        return;
    // First: then no record has to be taken out of its zone.
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id])
            compile_free(zone_tree, zone_tree->tree_entries[id]);
    free_record_entries(zone_tree);
    free_tree_entries(zone_tree);
    rules_free(zone_tree->claims);
    buffer_done(&zone_tree->rdata);
    arena_free(zone_tree->arena);
    slab_free(zone_tree->slab);
    free(zone_tree);
}

void zone_tree_put(struct zone_tree *zone_tree, const struct object *object)
{
    must(object->kind == &zone_kind || object->kind == &record_kind);
    if (object->kind == &zone_kind)
        put_zone(zone_tree, object);
    else
        put_record(zone_tree, object);
}

void zone_tree_refresh(struct zone_tree *zone_tree, const struct object *object)
{
    bool is_zone = object->kind == &zone_kind;
    struct tree_entry *tree_entry =
        is_zone ? tree_entry_find(zone_tree, tree_entry_key_of(object)) : NULL;
    struct record_entry *record_entry =
        is_zone ? NULL : record_entry_find(zone_tree, tree_entry_key_of(object));
    // A zone whose name is at fault may have the one of its status: then that counts, too.
    if (tree_entry && tree_entry->object && !tree_entry->name_fault &&
        is_same_spec(tree_entry->object, object))
        set_object(&tree_entry->object, object);
    else if (record_entry && is_same_spec(record_entry->object, object))
        set_object(&record_entry->object, object);
    else
        zone_tree_put(zone_tree, object);
}

const struct object *zone_tree_home(const struct zone_tree *zone_tree, const struct object *record)
{
    const struct record_entry *record_entry =
        record_entry_find(zone_tree, tree_entry_key_of(record));
    return record_entry && record_entry->entry ? record_entry->home->object : NULL;
}

enum zone_reason zone_tree_excluded(const struct zone_tree *zone_tree, const struct object *record)
{
    const struct record_entry *record_entry =
        record_entry_find(zone_tree, tree_entry_key_of(record));
    return record_entry && record_entry->entry ? zone_record_outcome(record_entry->entry).reason
                                               : ZONE_FINE;
}

void zone_tree_remove(struct zone_tree *zone_tree, const struct object *object)
{
    must(object->kind == &zone_kind || object->kind == &record_kind);
    if (object->kind == &zone_kind)
        remove_zone(zone_tree, object);
    else
        remove_record(zone_tree, object);
}

void zone_tree_set_settings(struct zone_tree *zone_tree, const struct zone_tree_settings *settings)
{
    zone_tree->settings = settings;
    rules_free(zone_tree->claims);
    zone_tree->claims =
        settings->claims ? rules_of_claims(settings->claims, settings->claim_count) : NULL;
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id])
            zone_tree->tree_entries[id]->is_fresh = true;
    zone_tree->has_new_tree_entries = true;
}

void zone_tree_settle(struct zone_tree *zone_tree, const struct zone_tree_reported *reported)
{
    bool has_new_tree_entries = zone_tree->has_new_tree_entries;
    if (has_new_tree_entries) {
        names_settle(zone_tree);
        live_settle(zone_tree);
        zone_tree->has_new_tree_entries = false;
    }
    for (size_t i = 0; i < zone_tree->touched_count; i++) {
        struct record_entry *record_entry = zone_tree->touched[i];
        if (!(record_entry->state & RECORD_ENTRY_IS_GONE) &&
            record_entry->state & RECORD_ENTRY_IS_FRESH)
            record_entry_settle(zone_tree, record_entry);
    }
    compile_settle(zone_tree);
    loops_settle(zone_tree, has_new_tree_entries);
    report_gone(zone_tree, reported);
    report_tree_entries(zone_tree, reported);
    report_record_entries(zone_tree, reported);
    tree_entry_free_idle(zone_tree);
}
