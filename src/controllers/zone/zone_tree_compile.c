#include <stdlib.h>

#include "controllers/zone/zone_tree_private.h"

// ---- what a compiler asks about its records -----------------------------------------------------

static int compare_age(const void *a, const void *b)
{
    const struct record_entry *left = a;
    const struct record_entry *right = b;
    return object_compare_age(left->object, right->object);
}

static void write_record_entry_name(const void *tag, struct buffer *out)
{
    const struct record_entry *record_entry = tag;
    object_write_name(out, record_entry->object);
}

// ---- what a parent gets of a zone ---------------------------------------------------------------

static void drop_summary(struct zone_child *summary)
{
    rrset_unref(summary->ns);
    for (size_t i = 0; i < summary->address_count; i++)
        rrset_unref(summary->addresses[i]);
    union {
        const struct rrset *const *shared;
        void *own;
    } cast = {.shared = summary->addresses};
    free(cast.own);
    *summary = (struct zone_child){.ns = NULL};
}

static bool is_same_set(const struct rrset *a, const struct rrset *b)
{
    return a == b || (a && b && rrset_equal(a, b));
}

static bool is_same_summary(const struct zone_child *a, const struct zone_child *b)
{
    if (!is_same_set(a->ns, b->ns) || a->address_count != b->address_count)
        return false;
    for (size_t i = 0; i < a->address_count; i++)
        if (!is_same_set(a->addresses[i], b->addresses[i]))
            return false;
    return true;
}

static void keep_summary(struct zone_child *own, const struct zone_child *fresh)
{
    const struct rrset **sets = mem_new_array(const struct rrset *, fresh->address_count + 1);
    for (size_t i = 0; i < fresh->address_count; i++)
        sets[i] = rrset_ref(fresh->addresses[i]);
    *own = (struct zone_child){
        .ns = fresh->ns ? rrset_ref(fresh->ns) : NULL,
        .addresses = sets,
        .address_count = fresh->address_count,
    };
}

static void update_summary(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct zone_child fresh = {.ns = NULL};
    zone_compiler_as_child(tree_entry->compiler, &fresh);
    if (is_same_summary(&tree_entry->summary, &fresh))
        return;
    struct zone_child old = tree_entry->summary;
    keep_summary(&tree_entry->summary, &fresh);
    drop_summary(&old);
    if (!tree_entry->now.parent)
        return;
    tree_entry->now.parent->has_new_children = true;
    compile_due(zone_tree, tree_entry->now.parent);
}

static void set_children(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    size_t count = 0;
    for (const struct tree_entry *child = tree_entry->first_child; child; child = child->next_child)
        count++;
    struct zone_child *children = arena_new_array(zone_tree->arena, struct zone_child, count + 1);
    count = 0;
    for (const struct tree_entry *child = tree_entry->first_child; child;
         child = child->next_child) {
        if (!child->summary.ns)
            continue;
        children[count] = child->summary;
        children[count++].apex = tree_entry_name(child);
    }
    zone_compiler_set_children(tree_entry->compiler, children, count);
    arena_reset(zone_tree->arena);
}

// ---- which zones are due ------------------------------------------------------------------------

void compile_due(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    if (!tree_entry->compiler || tree_entry->is_due)
        return;
    struct tree_entry **list =
        &zone_tree->due[dname_label_count(zone_compiler_apex(tree_entry->compiler))];
    tree_entry->is_due = true;
    tree_entry->next_due = *list;
    *list = tree_entry;
}

static void take_from_due(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    if (!tree_entry->is_due)
        return;
    struct tree_entry **at =
        &zone_tree->due[dname_label_count(zone_compiler_apex(tree_entry->compiler))];
    while (*at != tree_entry)
        at = &(*at)->next_due;
    *at = tree_entry->next_due;
    tree_entry->is_due = false;
}

static void handle_outcome(void *context, const void *tag, const struct zone_outcome *outcome)
{
    union {
        const void *shared;
        struct record_entry *own;
    } cast = {.shared = tag};
    (void)outcome;
    record_entry_touch(context, cast.own, RECORD_ENTRY_IS_REPORTED);
}

static void compile(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    tree_entry->is_due = false;
    if (tree_entry->has_new_children)
        set_children(zone_tree, tree_entry);
    tree_entry->has_new_children = false;
    zone_compiler_settle(tree_entry->compiler, handle_outcome, zone_tree);
    tree_entry->has_content = zone_tree->has_compiled = true;
    tree_entry->compiled_at = zone_tree->settles;
    tree_entry_report(zone_tree, tree_entry);
    update_summary(zone_tree, tree_entry);
}

// ---- public -------------------------------------------------------------------------------------

void compile_set_frame(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct zone_spec spec;
    struct zone_frame frame;
    zone_unpack(zone_tree->arena, object_spec(tree_entry->object),
                object_managed(tree_entry->object), &spec, NULL);
    (void)frame_make(zone_tree->settings, zone_tree->arena, tree_entry_name(tree_entry), &spec,
                     &frame, NULL);
    zone_compiler_set_frame(tree_entry->compiler, &frame);
    arena_reset(zone_tree->arena);
    compile_due(zone_tree, tree_entry);
}

void compile_begin(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct zone_compiler_ops ops = {compare_age, write_record_entry_name, zone_tree->slab};
    tree_entry->compiler = zone_compiler_new(tree_entry_name(tree_entry), &ops);
    tree_entry->has_new_children = tree_entry->first_child != NULL;
    compile_set_frame(zone_tree, tree_entry);
}

void compile_end(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    struct dname apex = zone_compiler_apex(tree_entry->compiler);
    mem_reserve(&zone_tree->gone, &zone_tree->gone_capacity, zone_tree->gone_count + 1);
    zone_tree->gone[zone_tree->gone_count++] = (struct gone){
        .object = object_ref(tree_entry->removed ? tree_entry->removed : tree_entry->object),
        .octets = mem_copy(apex.at, apex.len),
        .len = apex.len,
    };
    compile_free(zone_tree, tree_entry);
}

void compile_free(struct zone_tree *zone_tree, struct tree_entry *tree_entry)
{
    if (!tree_entry->compiler)
        return;
    take_from_due(zone_tree, tree_entry);
    for (size_t list = 0; list < LISTS; list++)
        list_each (record_entry, &tree_entry->lists[list])
            record_entry->entry = NULL;
    drop_summary(&tree_entry->summary);
    zone_compiler_free(steal(tree_entry->compiler));
}

// Compiles child zones before their parents, whose delegations consist of the children's NS and
// address records.
void compile_settle(struct zone_tree *zone_tree)
{
    for (size_t labels = COUNT_OF(zone_tree->due); labels-- > 0;) {
        while (zone_tree->due[labels]) {
            struct tree_entry *tree_entry = zone_tree->due[labels];
            zone_tree->due[labels] = tree_entry->next_due;
            compile(zone_tree, tree_entry);
        }
    }
}
