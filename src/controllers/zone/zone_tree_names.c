#include <stdlib.h>
#include <string.h>

#include "controllers/zone/zone_tree_private.h"

static const struct dname root = {(const uint8_t *)"", 1};

// ---- reading ------------------------------------------------------------------------------------

static void set_own(struct tree_entry *tree_entry, enum name_form form, struct dname name)
{
    tree_entry->form = form;
    tree_entry->own = mem_copy(name.at, name.len);
    tree_entry->own_len = name.len;
}

static void set_fault(struct tree_entry *tree_entry, enum reason fault)
{
    tree_entry->form = NAME_AT_FAULT;
    tree_entry->name_fault = (uint16_t)fault;
}

static void read_name(struct tree_entry *tree_entry, const struct zone_spec *spec)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    enum reason fault = zone_read_name(spec, octets, &name, NULL);
    if (fault)
        set_fault(tree_entry, fault);
    else
        set_own(tree_entry, spec->ref.name.at ? NAME_PARTIAL : NAME_FULL, name);
}

// A zone whose name is at fault keeps the name that its status has, and stays served, frozen.
static void recall_name(struct tree_entry *tree_entry, struct text fqdn)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    if (fqdn.len && dname_read(fqdn, NULL, DNAME_OF_OBJECT, octets, &name, NULL))
        set_own(tree_entry, NAME_FULL, name);
}

static void set_ref(struct zone_tree *zone_tree, struct tree_entry *tree_entry,
                    struct tree_entry *ref)
{
    struct tree_entry *old = tree_entry->ref;
    tree_entry->ref = ref;
    if (ref)
        ref->referrers++;
    if (!old)
        return;
    old->referrers--;
    tree_entry_forsake(zone_tree, old);
}

static void read_tree_entry(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct zone_spec spec;
    struct zone_status ours;
    struct tree_entry *ref = NULL;
    free(steal(tree_entry->own));
    set_fault(tree_entry, REASON_NONE);
    if (tree_entry->object) {
        zone_unpack(zone_tree->arena, object_spec(tree_entry->object),
                    object_managed(tree_entry->object), &spec, &ours);
        read_name(tree_entry, &spec);
        if (tree_entry->form == NAME_AT_FAULT)
            recall_name(tree_entry, ours.fqdn);
        if (tree_entry->form == NAME_PARTIAL)
            ref = tree_entry_want(zone_tree, tree_entry_key_of_ref(tree_entry->object, &spec.ref));
    }
    set_ref(zone_tree, tree_entry, ref);
    arena_reset(zone_tree->arena);
}

// ---- working out --------------------------------------------------------------------------------

static void set_name(struct tree_entry *tree_entry, struct dname first, struct dname rest)
{
    tree_entry->now.len = first.len - 1 + rest.len;
    tree_entry->now.octets = mem_resize(NULL, tree_entry->now.len, 1);
    memcpy(tree_entry->now.octets, first.at, first.len - 1);
    memcpy(tree_entry->now.octets + first.len - 1, rest.at, rest.len);
}

static void name_partial(struct tree_entry *tree_entry, struct dname own)
{
    const struct tree_entry *ref = tree_entry->ref;
    if (!ref->object)
        tree_entry->now.reason = REASON_ZONE_NOT_FOUND;
    else if (!tree_entry_has_name(ref))
        tree_entry->now.reason = REASON_ZONE_WAITING;
    else if (own.len - 1 + ref->now.len > DNAME_MAX)
        tree_entry->now.reason = REASON_INVALID_NAME;
    else
        set_name(tree_entry, own, tree_entry_name(ref));
}

// Before: the name of the Zone that it refers to.
static void name_tree_entry(struct tree_entry *tree_entry)
{
    struct dname own = {tree_entry->own, tree_entry->own_len};
    tree_entry->walk = WALK_DONE;
    if (!tree_entry->object)
        return;
    if (tree_entry->form == NAME_AT_FAULT)
        tree_entry->now.reason = tree_entry->name_fault;
    else if (tree_entry->form == NAME_FULL)
        set_name(tree_entry, own, root);
    else
        name_partial(tree_entry, own);
}

// Marks the entries of a loop: those of `path` up to `tree_entry`. Returns what is left of the
// path.
static struct tree_entry *end_loop(struct tree_entry *path, const struct tree_entry *tree_entry)
{
    bool is_whole = false;
    while (path && !is_whole) {
        is_whole = path == tree_entry;
        path->walk = WALK_DONE;
        path->now.reason = REASON_ZONE_LOOP;
        path = path->path;
    }
    return path;
}

// Goes from a zone to the one that it refers to, and so on; then back, making the names.
static void walk(struct tree_entry *tree_entry)
{
    struct tree_entry *path = NULL;
    while (tree_entry->walk == WALK_NOT_YET && tree_entry->object &&
           tree_entry->form == NAME_PARTIAL) {
        tree_entry->walk = WALK_ON_PATH;
        tree_entry->path = path;
        path = tree_entry;
        tree_entry = tree_entry->ref;
    }
    if (tree_entry->walk == WALK_ON_PATH)
        path = end_loop(path, tree_entry);
    else if (tree_entry->walk == WALK_NOT_YET)
        name_tree_entry(tree_entry);
    for (; path; path = path->path)
        name_tree_entry(path);
}

void names_settle(struct zone_tree *zone_tree)
{
    // Reading may add tree entries: the end is asked for each time.
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id] && zone_tree->tree_entries[id]->is_fresh)
            read_tree_entry(zone_tree, zone_tree->tree_entries[id]);
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++) {
        struct tree_entry *tree_entry = zone_tree->tree_entries[id];
        if (!tree_entry)
            continue;
        tree_entry->walk = WALK_NOT_YET;
        tree_entry->was = tree_entry->now;
        tree_entry->now = (struct tree_entry_state){.octets = NULL};
    }
    for (uint32_t id = 0; id < zone_tree->tree_entry_slots.end; id++)
        if (zone_tree->tree_entries[id])
            walk(zone_tree->tree_entries[id]);
}
