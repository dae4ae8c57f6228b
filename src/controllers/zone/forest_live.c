#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "controllers/zone/forest_private.h"

// ---- live zones by name -------------------------------------------------------------------------

static bool live_matches(const void *context, uint32_t id, const void *key)
{
    const struct forest *forest = context;
    return dname_equal(node_name(forest->nodes[id]), *(const struct dname *)key);
}

uint64_t live_hash(struct dname name)
{
    return hash_octets(name.at, name.len);
}

static uint64_t hash_of_id(const void *context, uint32_t id)
{
    const struct forest *forest = context;
    return live_hash(node_name(forest->nodes[id]));
}

const struct table_ops live_ops = {live_matches, hash_of_id};

static struct node *find_live(const struct forest *forest, struct dname name)
{
    uint32_t id = table_find(&forest->live, live_hash(name), &name);
    return id == TABLE_NONE ? NULL : forest->nodes[id];
}

struct node *live_find(const struct forest *forest, struct dname name, bool is_strict)
{
    if (is_strict && !dname_is_root(name))
        name = dname_parent(name);
    for (; !dname_is_root(name); name = dname_parent(name)) {
        struct node *node = find_live(forest, name);
        if (node)
            return node;
    }
    return NULL;
}

// ---- in the order in which it is settled --------------------------------------------------------

struct candidate {
    struct node *node;
    size_t labels;
};

// Short names first; of one name the older object.
static int compare(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;
    if (a->labels != b->labels)
        return a->labels < b->labels ? -1 : 1;
    int order = dname_compare(node_name(a->node), node_name(b->node));
    return order ? order : object_compare_age(a->node->object, b->node->object);
}

static struct candidate *candidates_new(const struct forest *forest, size_t *count)
{
    struct candidate *all = mem_new_array(struct candidate, forest->node_end + 1u);
    *count = 0;
    for (uint32_t id = 0; id < forest->node_end; id++) {
        struct node *node = forest->nodes[id];
        if (node && node_has_name(node))
            all[(*count)++] = (struct candidate){node, dname_label_count(node_name(node))};
    }
    qsort(all, *count, sizeof *all, compare);
    return all;
}

// ---- one zone -----------------------------------------------------------------------------------

static bool is_same_name(const struct node_state *a, const struct node_state *b)
{
    return a->len == b->len && (!a->len || !memcmp(a->octets, b->octets, a->len));
}

static void read_rules(struct forest *forest, struct node *node)
{
    CLEANUP(rules) struct rules *old = steal(node->rules);
    struct zone_frame frame;
    struct zone_spec spec;
    zone_unpack(forest->arena, object_spec(node->object), object_ours(node->object), &spec, NULL);
    node->rules = rules_new(&spec, node_name(node));
    node->has_new_rules = !rules_equal(old, node->rules);
    struct frame_faults faults =
        frame_make(forest->settings, forest->arena, node_name(node), &spec, &frame, NULL);
    node->spec_fault = (uint16_t)faults.accepted;
    node->ready_fault = (uint16_t)faults.ready;
    arena_reset(forest->arena);
}

static bool is_listed(const struct node *above, const struct node *node)
{
    return rules_hold_zone(above->rules, node->key.namespace_, node_name(node));
}

// It was there first: whoever makes a zone above those of others takes nothing down with it.
static bool is_older(const struct node *node, const struct node *above)
{
    return object_compare_age(node->object, above->object) < 0;
}

// Why it may not be live whoever else has its name; REASON_NONE: it may.
static enum reason refusal(const struct forest *forest, const struct node *node)
{
    const struct node *above = node->now.enclosing;
    if (forest->settings->is_open || node->now.parent)
        return REASON_NONE;
    if (node->form == NAME_PARTIAL)
        return REASON_NOT_DELEGATED;
    if (above && text_equal(above->key.namespace_, node->key.namespace_))
        return REASON_NONE;
    if (above && !is_older(node, above))
        return REASON_NOT_DELEGATED;
    if (forest->claims && !rules_hold_zone(forest->claims, node->key.namespace_, node_name(node)))
        return REASON_ZONE_NOT_ALLOWED;
    return REASON_NONE;
}

const char *forest_catalog_of(const struct forest *forest, const struct node *node)
{
    const struct forest_settings *settings = forest->settings;
    return settings->catalog_of ? settings->catalog_of(settings->context, node_name(node)) : NULL;
}

static void settle_live(struct forest *forest, struct node *node)
{
    struct dname name = node_name(node);
    struct node *above = live_find(forest, name, true);
    node->now.enclosing = above;
    node->now.parent = above && is_listed(above, node) ? above : NULL;
    node->now.reason = (uint16_t)refusal(forest, node);
    if (!node->now.reason && forest_catalog_of(forest, node))
        node->now.reason = REASON_ZONE_CONFLICT;
    if (!node->now.reason && (node->now.rival = find_live(forest, name)))
        node->now.reason = REASON_ZONE_CONFLICT;
    node->now.is_live = !node->now.reason;
    if (!node->now.is_live)
        node->now.parent = NULL;
    else
        node->now.reason = node->name_fault   ? node->name_fault
                           : node->spec_fault ? node->spec_fault
                                              : REASON_ACCEPTED;
    if (node->now.is_live)
        table_add(&forest->live, live_hash(name), node->id);
}

// ---- what that alters ---------------------------------------------------------------------------

static void alter_parents(struct forest *forest, struct node *node)
{
    struct node *parents[] = {node->was.parent, node->now.parent};
    for (size_t i = 0; i < COUNT_OF(parents); i++) {
        if (!parents[i])
            continue;
        parents[i]->has_new_children = true;
        compile_due(forest, parents[i]);
    }
}

// Came to live: records below it had another zone, or none.
static void alter_above(struct forest *forest, struct node *node)
{
    struct node *above = node->now.enclosing;
    (above ? above : &forest->nowhere)->has_new_below = true;
}

static bool is_altered(const struct node *node)
{
    const struct node_state *was = &node->was;
    const struct node_state *now = &node->now;
    return node->is_fresh || !is_same_name(was, now) || was->is_live != now->is_live ||
           was->reason != now->reason || was->enclosing != now->enclosing ||
           was->parent != now->parent || now->reason == REASON_ZONE_LOOP;
}

// Texts of those below name it.
static bool is_name_above_altered(const struct node *node)
{
    const struct node *above[] = {node->now.enclosing, node->now.rival, node->ref};
    for (size_t i = 0; i < COUNT_OF(above); i++)
        if (above[i] && (above[i]->is_fresh || above[i]->was.reason != above[i]->now.reason ||
                         !is_same_name(&above[i]->was, &above[i]->now)))
            return true;
    return false;
}

static void alter_leaves(struct forest *forest, struct node *node, bool is_moved)
{
    bool is_same = is_same_name(&node->was, &node->now) && node->was.is_live == node->now.is_live &&
                   !node->has_new_rules &&
                   (node->now.is_live || node->was.reason == node->now.reason);
    if (!is_same)
        node_touch_leaves(forest, node, LIST_REFERRING);
    if (is_moved || node->has_new_rules)
        node_touch_leaves(forest, node, LIST_BELOW);
}

static void alter(struct forest *forest, struct node *node)
{
    bool is_same = is_same_name(&node->was, &node->now);
    bool is_moved = node->was.is_live && !(is_same && node->now.is_live);
    bool is_born = node->now.is_live && !(is_same && node->was.is_live);
    alter_leaves(forest, node, is_moved);
    if (is_moved)
        compile_end(forest, node);
    if (is_born) {
        compile_begin(forest, node);
        alter_above(forest, node);
    } else if (node->now.is_live && node->is_fresh) {
        compile_set_frame(forest, node);
    }
    if (is_moved || is_born || node->was.parent != node->now.parent)
        alter_parents(forest, node);
    if (is_altered(node) || is_name_above_altered(node))
        node_tell(forest, node);
}

// Those that have another zone now.
static void find_new_homes(struct forest *forest, struct node *node)
{
    for (struct leaf *leaf = node->lists[LIST_BELOW]; leaf; leaf = leaf->next)
        if (!(leaf->state & LEAF_IS_FRESH) && leaf_has_new_home(forest, leaf))
            leaf_touch(forest, leaf, LEAF_IS_FRESH);
    node->has_new_below = false;
}

static void end_node(struct forest *forest, struct node *node)
{
    object_unref(node->removed);
    node->removed = NULL;
    node_forsake(forest, node);
    free(node->was.octets);
    node->was = (struct node_state){.octets = NULL};
    node->is_fresh = false;
    node->has_new_rules = false;
}

static void link_children(struct node *node)
{
    struct node *parent = node->now.parent;
    if (!parent)
        return;
    node->next_child = parent->first_child;
    parent->first_child = node;
}

// ---- public -------------------------------------------------------------------------------------

static void forget_rules(struct node *node)
{
    node->first_child = NULL;
    node->next_child = NULL;
    if (node_has_name(node))
        return;
    rules_free(steal(node->rules));
    node->spec_fault = node->ready_fault = REASON_NONE;
}

static void settle_all(struct forest *forest)
{
    size_t count;
    autofree struct candidate *all = candidates_new(forest, &count);
    table_done(&forest->live);
    forest->live.ops = &live_ops;
    forest->live.context = forest;
    for (size_t i = 0; i < count; i++) {
        struct node *node = all[i].node;
        if (node->is_fresh || !is_same_name(&node->was, &node->now))
            read_rules(forest, node);
        settle_live(forest, node);
        link_children(node);
    }
}

void live_settle(struct forest *forest)
{
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id])
            forget_rules(forest->nodes[id]);
    settle_all(forest);
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id])
            alter(forest, forest->nodes[id]);
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id] && forest->nodes[id]->has_new_below)
            find_new_homes(forest, forest->nodes[id]);
    if (forest->nowhere.has_new_below)
        find_new_homes(forest, &forest->nowhere);
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id])
            end_node(forest, forest->nodes[id]);
}
