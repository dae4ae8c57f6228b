#include <stdlib.h>

#include "controllers/zone/forest_private.h"

// ---- what a compiler asks about its records -----------------------------------------------------

static int compare_age(const void *a, const void *b)
{
    const struct leaf *left = a;
    const struct leaf *right = b;
    return object_compare_age(left->object, right->object);
}

static void write_leaf_name(const void *tag, struct buffer *out)
{
    const struct leaf *leaf = tag;
    object_write_name(out, leaf->object);
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

static void update_summary(struct forest *forest, struct node *node)
{
    struct zone_child fresh = {.ns = NULL};
    zone_compiler_as_child(node->compiler, &fresh);
    if (is_same_summary(&node->summary, &fresh))
        return;
    struct zone_child old = node->summary;
    keep_summary(&node->summary, &fresh);
    drop_summary(&old);
    if (!node->now.parent)
        return;
    node->now.parent->has_new_children = true;
    compile_due(forest, node->now.parent);
}

static void set_children(struct forest *forest, struct node *node)
{
    size_t count = 0;
    for (const struct node *child = node->first_child; child; child = child->next_child)
        count++;
    struct zone_child *children = arena_new_array(forest->arena, struct zone_child, count + 1);
    count = 0;
    for (const struct node *child = node->first_child; child; child = child->next_child) {
        if (!child->summary.ns)
            continue;
        children[count] = child->summary;
        children[count++].apex = node_name(child);
    }
    zone_compiler_set_children(node->compiler, children, count);
    arena_reset(forest->arena);
}

// ---- when ---------------------------------------------------------------------------------------

void compile_due(struct forest *forest, struct node *node)
{
    if (!node->compiler || node->is_due)
        return;
    struct node **list = &forest->due[dname_label_count(zone_compiler_apex(node->compiler))];
    node->is_due = true;
    node->next_due = *list;
    *list = node;
}

static void take_from_due(struct forest *forest, struct node *node)
{
    if (!node->is_due)
        return;
    struct node **at = &forest->due[dname_label_count(zone_compiler_apex(node->compiler))];
    while (*at != node)
        at = &(*at)->next_due;
    *at = node->next_due;
    node->is_due = false;
}

static void hear(void *context, const void *tag, const struct zone_outcome *outcome)
{
    union {
        const void *shared;
        struct leaf *own;
    } cast = {.shared = tag};
    (void)outcome;
    leaf_touch(context, cast.own, LEAF_IS_TOLD);
}

static void compile(struct forest *forest, struct node *node)
{
    node->is_due = false;
    if (node->has_new_children)
        set_children(forest, node);
    node->has_new_children = false;
    zone_compiler_settle(node->compiler, hear, forest);
    node->has_content = forest->has_compiled = true;
    node->compiled_at = forest->settles;
    node_tell(forest, node);
    update_summary(forest, node);
}

// ---- public -------------------------------------------------------------------------------------

void compile_set_frame(struct forest *forest, struct node *node)
{
    struct zone_spec spec;
    struct zone_frame frame;
    zone_unpack(forest->arena, object_spec(node->object), object_ours(node->object), &spec, NULL);
    (void)frame_make(forest->settings, forest->arena, node_name(node), &spec, &frame, NULL);
    zone_compiler_set_frame(node->compiler, &frame);
    arena_reset(forest->arena);
    compile_due(forest, node);
}

void compile_begin(struct forest *forest, struct node *node)
{
    struct zone_compiler_ops ops = {compare_age, write_leaf_name, forest->slab};
    node->compiler = zone_compiler_new(node_name(node), &ops);
    node->has_new_children = node->first_child != NULL;
    compile_set_frame(forest, node);
}

void compile_end(struct forest *forest, struct node *node)
{
    struct dname apex = zone_compiler_apex(node->compiler);
    mem_reserve(&forest->gone, &forest->gone_capacity, forest->gone_count + 1);
    forest->gone[forest->gone_count++] = (struct gone){
        .object = object_ref(node->removed ? node->removed : node->object),
        .octets = mem_copy(apex.at, apex.len),
        .len = apex.len,
    };
    compile_free(forest, node);
}

void compile_free(struct forest *forest, struct node *node)
{
    if (!node->compiler)
        return;
    take_from_due(forest, node);
    for (size_t list = 0; list < LISTS; list++)
        for (struct leaf *leaf = node->lists[list]; leaf; leaf = leaf->next)
            leaf->entry = NULL;
    drop_summary(&node->summary);
    zone_compiler_free(steal(node->compiler));
}

// Children before their parents, whose cuts they make.
void compile_settle(struct forest *forest)
{
    for (size_t labels = COUNT_OF(forest->due); labels-- > 0;) {
        while (forest->due[labels]) {
            struct node *node = forest->due[labels];
            forest->due[labels] = node->next_due;
            compile(forest, node);
        }
    }
}
