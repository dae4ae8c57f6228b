#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "controllers/zone/zone_tree_private.h"

// ---- live zones by name -------------------------------------------------------------------------

static bool live_matches(const void *context, uint32_t id, const void *key)
{
    const struct zone_tree *zone_tree = context;
    return dname_equal(tree_entry_name(zone_tree->tree_entries[id]), *(const struct dname *)key);
}

uint64_t live_hash(struct dname name)
{
    return hash_octets(name.at, name.len);
}

static uint64_t hash_of_id(const void *context, uint32_t id)
{
    const struct zone_tree *zone_tree = context;
    return live_hash(tree_entry_name(zone_tree->tree_entries[id]));
}

const struct table_ops live_ops = {live_matches, hash_of_id};

static struct tree_entry *find_live(const struct zone_tree *zone_tree, struct dname name)
{
    uint32_t id = table_find(&zone_tree->live, live_hash(name), &name);
    return id == TABLE_NONE ? NULL : zone_tree->tree_entries[id];
}

struct tree_entry *live_find(const struct zone_tree *zone_tree, struct dname name, bool is_strict)
{
    if (is_strict && !dname_is_root(name))
        name = dname_parent(name);
    for (; !dname_is_root(name); name = dname_parent(name)) {
        struct tree_entry *tree_entry = find_live(zone_tree, name);
        if (tree_entry)
            return tree_entry;
    }
    return NULL;
}

// ---- in the order in which it is settled --------------------------------------------------------

struct candidate {
    struct tree_entry *tree_entry;
    size_t labels;
};

// Short names first; of one name the older object.
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->labels != b->labels)
        return a->labels < b->labels ? -1 : 1;
    int order = dname_compare(tree_entry_name(a->tree_entry), tree_entry_name(b->tree_entry));
    return order ? order : object_compare_age(a->tree_entry->object, b->tree_entry->object);
}

static struct candidate *candidates_new(const struct zone_tree *zone_tree, size_t *count)
{
    struct candidate *all = mem_new_array(struct candidate, zone_tree->tree_entry_slots.end + 1u);
    *count = 0;
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++) {
        struct tree_entry *tree_entry = zone_tree->tree_entries[id];
        if (tree_entry && tree_entry_has_name(tree_entry))
            all[(*count)++] =
                (struct candidate){tree_entry, dname_label_count(tree_entry_name(tree_entry))};
    }
    qsort(all, *count, sizeof *all, compare);
    return all;
}

// ---- one zone -----------------------------------------------------------------------------------

static bool is_same_name(const struct tree_entry_state *a, const struct tree_entry_state *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->octets, b->octets, a->len));
}

static void read_rules(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    CLEANUP(rules) struct rules *old = steal(tree_entry->rules);
    struct zone_frame frame;
    struct zone_spec spec;
    zone_unpack(zone_tree->arena, object_spec(tree_entry->object),
                object_managed(tree_entry->object), &spec, NULL);
    tree_entry->rules = rules_new(&spec, tree_entry_name(tree_entry));
    tree_entry->has_new_rules = !rules_equal(old, tree_entry->rules);
    struct frame_faults faults = frame_make(zone_tree->settings, zone_tree->arena,
                                            tree_entry_name(tree_entry), &spec, &frame, NULL);
    tree_entry->spec_fault = (uint16_t)faults.accepted;
    tree_entry->ready_fault = (uint16_t)faults.ready;
    arena_reset(zone_tree->arena);
}

static bool is_listed(const struct tree_entry *above, const struct tree_entry *tree_entry)
{
    return rules_hold_zone(above->rules, tree_entry->key.namespace_, tree_entry_name(tree_entry));
}

// A zone that was there first stays live: making one above it takes nothing down.
static bool is_older(const struct tree_entry *tree_entry, const struct tree_entry *above)
{
    return object_compare_age(tree_entry->object, above->object) < 0;
}

// Why it may not be live whoever else has its name; REASON_NONE: it may.
static enum reason refusal(const struct zone_tree *zone_tree, const struct tree_entry *tree_entry)
{
    const struct tree_entry *above = tree_entry->now.enclosing;
    if (zone_tree->settings->is_open || tree_entry->now.parent)
        return REASON_NONE;
    if (tree_entry->form == NAME_PARTIAL)
        return REASON_NOT_DELEGATED;
    if (above && text_equal(above->key.namespace_, tree_entry->key.namespace_))
        return REASON_NONE;
    if (above && !is_older(tree_entry, above))
        return REASON_NOT_DELEGATED;
    if (zone_tree->claims && !rules_hold_zone(zone_tree->claims, tree_entry->key.namespace_,
                                              tree_entry_name(tree_entry)))
        return REASON_ZONE_NOT_ALLOWED;
    return REASON_NONE;
}

const char *zone_tree_catalog_of(const struct zone_tree *zone_tree,
                                 const struct tree_entry *tree_entry)
{
    const struct zone_tree_settings *settings = zone_tree->settings;
    return settings->catalog_of
               ? settings->catalog_of(settings->context, tree_entry_name(tree_entry))
               : NULL;
}

static void settle_live(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct dname name = tree_entry_name(tree_entry);
    struct tree_entry *above = live_find(zone_tree, name, true);
    tree_entry->now.enclosing = above;
    tree_entry->now.parent = above && is_listed(above, tree_entry) ? above : NULL;
    tree_entry->now.reason = (uint16_t)refusal(zone_tree, tree_entry);
    if (!tree_entry->now.reason && zone_tree_catalog_of(zone_tree, tree_entry))
        tree_entry->now.reason = REASON_ZONE_CONFLICT;
    if (!tree_entry->now.reason && (tree_entry->now.rival = find_live(zone_tree, name)))
        tree_entry->now.reason = REASON_ZONE_CONFLICT;
    tree_entry->now.is_live = !tree_entry->now.reason;
    if (!tree_entry->now.is_live)
        tree_entry->now.parent = NULL;
    else
        tree_entry->now.reason = tree_entry->name_fault   ? tree_entry->name_fault
                                 : tree_entry->spec_fault ? tree_entry->spec_fault
                                                          : REASON_ACCEPTED;
    if (tree_entry->now.is_live)
        table_add(&zone_tree->live, live_hash(name), tree_entry->id);
}

// ---- what that alters ---------------------------------------------------------------------------

static void alter_parents(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct tree_entry *parents[] = {tree_entry->was.parent, tree_entry->now.parent};
    for (size_t i = 0; i < COUNT_OF(parents); i++) {
        if (!parents[i])
            continue;
        parents[i]->has_new_children = true;
        compile_due(zone_tree, parents[i]);
    }
}

// Came to live: records below it had another zone, or none.
static void alter_above(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct tree_entry *above = tree_entry->now.enclosing;
    (above ? above : &zone_tree->nowhere)->has_new_below = true;
}

static bool is_altered(const struct tree_entry *tree_entry)
{
    const struct tree_entry_state *was = &tree_entry->was;
    const struct tree_entry_state *now = &tree_entry->now;
    return tree_entry->is_fresh || !is_same_name(was, now) || was->is_live != now->is_live ||
           was->reason != now->reason || was->enclosing != now->enclosing ||
           was->parent != now->parent || now->reason == REASON_ZONE_LOOP;
}

// True if a zone that the texts of this one name has changed.
static bool is_name_above_altered(const struct tree_entry *tree_entry)
{
    const struct tree_entry *above[] = {tree_entry->now.enclosing, tree_entry->now.rival,
                                        tree_entry->ref};
    for (size_t i = 0; i < COUNT_OF(above); i++)
        if (above[i] && (above[i]->is_fresh || above[i]->was.reason != above[i]->now.reason ||
                         !is_same_name(&above[i]->was, &above[i]->now)))
            return true;
    return false;
}

static void alter_record_entries(struct zone_tree *zone_tree, struct tree_entry *tree_entry,
                                 bool is_moved)
{
    bool is_same = is_same_name(&tree_entry->was, &tree_entry->now) &&
                   tree_entry->was.is_live == tree_entry->now.is_live &&
                   !tree_entry->has_new_rules &&
                   (tree_entry->now.is_live || tree_entry->was.reason == tree_entry->now.reason);
    if (!is_same)
        tree_entry_touch_record_entries(zone_tree, tree_entry, LIST_REFERRING);
    if (is_moved || tree_entry->has_new_rules)
        tree_entry_touch_record_entries(zone_tree, tree_entry, LIST_BELOW);
}

static void alter(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    bool is_same = is_same_name(&tree_entry->was, &tree_entry->now);
    bool is_moved = tree_entry->was.is_live && !(is_same && tree_entry->now.is_live);
    bool is_born = tree_entry->now.is_live && !(is_same && tree_entry->was.is_live);
    alter_record_entries(zone_tree, tree_entry, is_moved);
    if (is_moved)
        compile_end(zone_tree, tree_entry);
    if (is_born) {
        compile_begin(zone_tree, tree_entry);
        alter_above(zone_tree, tree_entry);
    } else if (tree_entry->now.is_live && tree_entry->is_fresh) {
        compile_set_frame(zone_tree, tree_entry);
    }
    if (is_moved || is_born || tree_entry->was.parent != tree_entry->now.parent)
        alter_parents(zone_tree, tree_entry);
    if (is_altered(tree_entry) || is_name_above_altered(tree_entry))
        tree_entry_report(zone_tree, tree_entry);
}

// Records below the zone that have another zone now are judged anew.
static void find_new_homes(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    list_each (record_entry, &tree_entry->lists[LIST_BELOW])
        if (!(record_entry->state & RECORD_ENTRY_IS_FRESH) &&
            record_entry_has_new_home(zone_tree, record_entry))
            record_entry_touch(zone_tree, record_entry, RECORD_ENTRY_IS_FRESH);
    tree_entry->has_new_below = false;
}

static void end_tree_entry(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    object_unref(tree_entry->removed);
    tree_entry->removed = NULL;
    tree_entry_forsake(zone_tree, tree_entry);
    free(tree_entry->was.octets);
    tree_entry->was = (struct tree_entry_state){.octets = NULL};
    tree_entry->is_fresh = false;
    tree_entry->has_new_rules = false;
}

static void link_children(struct tree_entry *tree_entry)
{
    struct tree_entry *parent = tree_entry->now.parent;
    if (!parent)
        return;
    tree_entry->next_child = parent->first_child;
    parent->first_child = tree_entry;
}

// ---- public -------------------------------------------------------------------------------------

static void forget_rules(struct tree_entry *tree_entry)
{
    tree_entry->first_child = NULL;
    tree_entry->next_child = NULL;
    if (tree_entry_has_name(tree_entry))
        return;
    rules_free(steal(tree_entry->rules));
    tree_entry->spec_fault = tree_entry->ready_fault = REASON_NONE;
}

static void settle_all(struct zone_tree *zone_tree)
{
    size_t count;
    autofree struct candidate *all = candidates_new(zone_tree, &count);
    table_done(&zone_tree->live);
    zone_tree->live.ops = &live_ops;
    zone_tree->live.context = zone_tree;
    for (size_t i = 0; i < count; i++) {
        struct tree_entry *tree_entry = all[i].tree_entry;
        if (tree_entry->is_fresh || !is_same_name(&tree_entry->was, &tree_entry->now))
            read_rules(zone_tree, tree_entry);
        settle_live(zone_tree, tree_entry);
        link_children(tree_entry);
    }
}

void live_settle(struct zone_tree *zone_tree)
{
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id])
            forget_rules(zone_tree->tree_entries[id]);
    settle_all(zone_tree);
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id])
            alter(zone_tree, zone_tree->tree_entries[id]);
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id] && zone_tree->tree_entries[id]->has_new_below)
            find_new_homes(zone_tree, zone_tree->tree_entries[id]);
    if (zone_tree->nowhere.has_new_below)
        find_new_homes(zone_tree, &zone_tree->nowhere);
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id])
            end_tree_entry(zone_tree, zone_tree->tree_entries[id]);
}
