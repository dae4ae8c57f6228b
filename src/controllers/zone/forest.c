#include "controllers/zone/forest.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "controllers/zone/forest_private.h"

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

static void put_zone(struct forest *forest, const struct object *object)
{
    struct node *node = node_want(forest, node_key_of(object));
    if (!node->object || !is_same_spec(node->object, object))
        forest->has_new_nodes = node->is_fresh = true;
    set_object(&node->object, object);
    node_tell(forest, node);
}

static void remove_zone(struct forest *forest, const struct object *object)
{
    struct node *node = node_find(forest, node_key_of(object));
    if (!node || !node->object)
        return;
    set_object(&node->removed, node->object);
    set_object(&node->object, NULL);
    forest->has_new_nodes = node->is_fresh = true;
}

// ---- records ------------------------------------------------------------------------------------

static void put_record(struct forest *forest, const struct object *object)
{
    struct leaf *leaf = leaf_find(forest, node_key_of(object));
    if (!leaf) {
        leaf_touch(forest, leaf_new(forest, object), LEAF_IS_FRESH | LEAF_IS_TOLD);
        return;
    }
    bool is_same = is_same_spec(leaf->object, object);
    if (!is_same)
        leaf_withdraw(forest, leaf);
    set_object(&leaf->object, object);
    leaf_touch(forest, leaf, is_same ? LEAF_IS_TOLD : LEAF_IS_FRESH | LEAF_IS_TOLD);
}

static void remove_record(struct forest *forest, const struct object *object)
{
    struct leaf *leaf = leaf_find(forest, node_key_of(object));
    if (leaf)
        leaf_free(forest, leaf);
}

// ---- telling ------------------------------------------------------------------------------------

static void tell_gone(struct forest *forest, const struct forest_told *told)
{
    for (size_t i = 0; i < forest->gone_count; i++) {
        struct gone *gone = &forest->gone[i];
        told->gone(told->context, gone->object, (struct dname){gone->octets, gone->len});
        object_unref(gone->object);
        free(gone->octets);
    }
    forest->gone_count = 0;
    mem_relax(&forest->gone, &forest->gone_capacity);
}

static void tell_nodes(struct forest *forest, const struct forest_told *told)
{
    for (size_t i = 0; i < forest->told_count; i++) {
        struct node *node = forest->told[i];
        if (node->object)
            told->changed(told->context, node->object);
        if (node->has_content && node->compiler)
            told->content(told->context, node->object);
        node->is_told = node->has_content = false;
    }
    forest->told_count = 0;
    mem_relax(&forest->told, &forest->told_capacity);
}

static void tell_leaves(struct forest *forest, const struct forest_told *told)
{
    for (size_t i = 0; i < forest->touched_count; i++) {
        struct leaf *leaf = forest->touched[i];
        if (!(leaf->state & LEAF_IS_GONE) && leaf->state & LEAF_IS_TOLD)
            told->changed(told->context, leaf->object);
        leaf->state &= LEAF_IS_LASTING;
        if (leaf->state & LEAF_IS_GONE)
            slab_give(leaf, sizeof *leaf);
    }
    forest->touched_count = 0;
    mem_relax(&forest->touched, &forest->touched_capacity);
}

// ---- public -------------------------------------------------------------------------------------

struct forest *forest_new(const struct forest_settings *settings)
{
    struct forest *forest = mem_new_of(struct forest);
    forest->slab = slab_new();
    forest->arena = arena_new();
    forest_set_settings(forest, settings);
    return forest;
}

static void free_nodes(struct forest *forest)
{
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id])
            node_free(forest, forest->nodes[id]);
    for (size_t i = 0; i < forest->gone_count; i++) {
        object_unref(forest->gone[i].object);
        free(forest->gone[i].octets);
    }
    table_done(&forest->node_table);
    table_done(&forest->live);
    free(forest->nodes);
    free(forest->free_nodes);
    free(forest->idle);
    free(forest->told);
    free(forest->gone);
}

static void free_leaves(struct forest *forest)
{
    for (uint32_t id = 0; id < forest->leaf_end; id++)
        if (forest->leaves[id])
            leaf_free(forest, forest->leaves[id]);
    for (size_t i = 0; i < forest->touched_count; i++)
        slab_give(forest->touched[i], sizeof *forest->touched[i]);
    table_done(&forest->leaf_table);
    free(forest->leaves);
    free(forest->leaf_hashes);
    free(forest->crossings);
    free(forest->free_leaves);
    free(forest->touched);
}

void forest_free(struct forest *forest)
{
    if (!forest)
        return;
    // Records that are in no zone any more need not be taken out of it.
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id])
            compile_free(forest, forest->nodes[id]);
    free_leaves(forest);
    free_nodes(forest);
    rules_free(forest->claims);
    buffer_done(&forest->rdata);
    arena_free(forest->arena);
    slab_free(forest->slab);
    free(forest);
}

void forest_put(struct forest *forest, const struct object *object)
{
    must(object->kind == &zone_kind || object->kind == &record_kind);
    if (object->kind == &zone_kind)
        put_zone(forest, object);
    else
        put_record(forest, object);
}

void forest_refresh(struct forest *forest, const struct object *object)
{
    bool is_zone = object->kind == &zone_kind;
    struct node *node = is_zone ? node_find(forest, node_key_of(object)) : NULL;
    struct leaf *leaf = is_zone ? NULL : leaf_find(forest, node_key_of(object));
    // One whose name is at fault may have it of its status.
    if (node && node->object && !node->name_fault && is_same_spec(node->object, object))
        set_object(&node->object, object);
    else if (leaf && is_same_spec(leaf->object, object))
        set_object(&leaf->object, object);
    else
        forest_put(forest, object);
}

const struct object *forest_home(const struct forest *forest, const struct object *record)
{
    const struct leaf *leaf = leaf_find(forest, node_key_of(record));
    return leaf && leaf->entry ? leaf->home->object : NULL;
}

enum zone_reason forest_excluded(const struct forest *forest, const struct object *record)
{
    const struct leaf *leaf = leaf_find(forest, node_key_of(record));
    return leaf && leaf->entry ? zone_record_outcome(leaf->entry).reason : ZONE_FINE;
}

void forest_remove(struct forest *forest, const struct object *object)
{
    must(object->kind == &zone_kind || object->kind == &record_kind);
    if (object->kind == &zone_kind)
        remove_zone(forest, object);
    else
        remove_record(forest, object);
}

void forest_set_settings(struct forest *forest, const struct forest_settings *settings)
{
    forest->settings = settings;
    rules_free(forest->claims);
    forest->claims =
        settings->claims ? rules_of_claims(settings->claims, settings->claim_count) : NULL;
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id])
            forest->nodes[id]->is_fresh = true;
    forest->has_new_nodes = true;
}

void forest_settle(struct forest *forest, const struct forest_told *told)
{
    bool has_new_nodes = forest->has_new_nodes;
    if (has_new_nodes) {
        names_settle(forest);
        live_settle(forest);
        forest->has_new_nodes = false;
    }
    for (size_t i = 0; i < forest->touched_count; i++) {
        struct leaf *leaf = forest->touched[i];
        if (!(leaf->state & LEAF_IS_GONE) && leaf->state & LEAF_IS_FRESH)
            leaf_settle(forest, leaf);
    }
    compile_settle(forest);
    loops_settle(forest, has_new_nodes);
    tell_gone(forest, told);
    tell_nodes(forest, told);
    tell_leaves(forest, told);
    node_free_idle(forest);
}
