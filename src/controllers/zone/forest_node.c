#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/must.h"
#include "controllers/zone/forest_private.h"

// ---- identity -----------------------------------------------------------------------------------

struct node_key node_key_of(const struct object *object)
{
    return (struct node_key){object_namespace(object), object_name(object)};
}

struct node_key node_key_of_ref(const struct object *object, const struct zone_ref *ref)
{
    bool has_namespace = ref->namespace_.len > 0;
    return (struct node_key){has_namespace ? ref->namespace_ : object_namespace(object), ref->name};
}

static uint64_t hash_of(const struct node_key *key)
{
    return hash_octets(key->name.at, key->name.len) * 31 +
           hash_octets(key->namespace_.at, key->namespace_.len);
}

static bool is_same(const struct node_key *a, const struct node_key *b)
{
    return text_equal(a->name, b->name) && text_equal(a->namespace_, b->namespace_);
}

static bool node_matches(const void *context, uint32_t id, const void *key)
{
    const struct forest *forest = context;
    return is_same(&forest->nodes[id]->key, key);
}

static uint64_t node_hash(const void *context, uint32_t id)
{
    const struct forest *forest = context;
    return hash_of(&forest->nodes[id]->key);
}

struct leaf_key {
    struct node_key key;
    uint32_t hash;
};

static struct leaf_key leaf_key_of(struct node_key key)
{
    return (struct leaf_key){key, (uint32_t)hash_of(&key)};
}

static bool leaf_matches(const void *context, uint32_t id, const void *key)
{
    const struct forest *forest = context;
    const struct leaf_key *wanted = key;
    if (forest->leaf_hashes[id] != wanted->hash)
        return false;
    struct node_key own = node_key_of(forest->leaves[id]->object);
    return is_same(&own, &wanted->key);
}

static uint64_t leaf_hash(const void *context, uint32_t id)
{
    const struct forest *forest = context;
    return forest->leaf_hashes[id];
}

static const struct table_ops node_ops = {node_matches, node_hash};
static const struct table_ops leaf_ops = {leaf_matches, leaf_hash};

// ---- nodes --------------------------------------------------------------------------------------

struct node *node_find(const struct forest *forest, struct node_key key)
{
    uint32_t id = table_find(&forest->node_table, hash_of(&key), &key);
    return id == TABLE_NONE ? NULL : forest->nodes[id];
}

static uint32_t new_node_id(struct forest *forest)
{
    if (forest->free_node_count)
        return forest->free_nodes[--forest->free_node_count];
    mem_reserve(&forest->nodes, &forest->node_capacity, forest->node_end + 1u);
    return forest->node_end++;
}

static struct node_key copy_of(struct node_key key)
{
    char *namespace_ = mem_new(1, key.namespace_.len + key.name.len + 1);
    char *name = namespace_ + key.namespace_.len;
    if (key.namespace_.len)
        memcpy(namespace_, key.namespace_.at, key.namespace_.len);
    if (key.name.len)
        memcpy(name, key.name.at, key.name.len);
    return (struct node_key){{namespace_, key.namespace_.len}, {name, key.name.len}};
}

static void free_key(const struct node_key *key)
{
    union {
        const char *shared;
        char *own;
    } cast = {.shared = key->namespace_.at};
    free(cast.own);
}

struct node *node_want(struct forest *forest, struct node_key key)
{
    struct node *node = node_find(forest, key);
    if (node)
        return node;
    forest->node_table.ops = &node_ops;
    forest->node_table.context = forest;
    node = mem_new_of(struct node);
    node->key = copy_of(key);
    node->id = new_node_id(forest);
    forest->nodes[node->id] = node;
    table_add(&forest->node_table, hash_of(&key), node->id);
    return node;
}

static bool is_idle(const struct node *node)
{
    return !node->object && !node->removed && !node->referrers && !node->lists[LIST_REFERRING] &&
           !node->lists[LIST_BELOW];
}

void node_forsake(struct forest *forest, struct node *node)
{
    if (node->is_idle || node == &forest->nowhere || !is_idle(node))
        return;
    node->is_idle = true;
    mem_reserve(&forest->idle, &forest->idle_capacity, forest->idle_count + 1);
    forest->idle[forest->idle_count++] = node;
}

void node_free_idle(struct forest *forest)
{
    for (size_t i = 0; i < forest->idle_count; i++) {
        struct node *node = forest->idle[i];
        node->is_idle = false;
        if (is_idle(node))
            node_free(forest, node);
    }
    forest->idle_count = 0;
    mem_relax(&forest->idle, &forest->idle_capacity);
}

void node_free(struct forest *forest, struct node *node)
{
    table_remove(&forest->node_table, hash_of(&node->key), node->id);
    forest->nodes[node->id] = NULL;
    mem_reserve(&forest->free_nodes, &forest->free_node_capacity, forest->free_node_count + 1);
    forest->free_nodes[forest->free_node_count++] = node->id;
    compile_free(forest, node);
    rules_free(node->rules);
    object_unref(node->object);
    object_unref(node->removed);
    free(node->own);
    free(node->now.octets);
    free_key(&node->key);
    free(node);
}

void node_tell(struct forest *forest, struct node *node)
{
    if (node->is_told)
        return;
    node->is_told = true;
    mem_reserve(&forest->told, &forest->told_capacity, forest->told_count + 1);
    forest->told[forest->told_count++] = node;
}

void node_touch_leaves(struct forest *forest, struct node *node, enum leaf_list list)
{
    for (struct leaf *leaf = node->lists[list]; leaf; leaf = leaf->next)
        leaf_touch(forest, leaf, LEAF_IS_FRESH);
}

// ---- leaves -------------------------------------------------------------------------------------

struct leaf *leaf_find(const struct forest *forest, struct node_key key)
{
    struct leaf_key wanted = leaf_key_of(key);
    uint32_t id = table_find(&forest->leaf_table, wanted.hash, &wanted);
    return id == TABLE_NONE ? NULL : forest->leaves[id];
}

static uint32_t new_leaf_id(struct forest *forest)
{
    if (forest->free_leaf_count)
        return forest->free_leaves[--forest->free_leaf_count];
    mem_reserve(&forest->leaves, &forest->leaf_capacity, forest->leaf_end + 1u);
    mem_reserve(&forest->leaf_hashes, &forest->leaf_hash_capacity, forest->leaf_end + 1u);
    return forest->leaf_end++;
}

struct leaf *leaf_new(struct forest *forest, const struct object *object)
{
    struct leaf *leaf = slab_take(forest->slab, sizeof *leaf);
    *leaf = (struct leaf){.object = object_ref(object), .id = new_leaf_id(forest)};
    forest->leaf_table.ops = &leaf_ops;
    forest->leaf_table.context = forest;
    forest->leaves[leaf->id] = leaf;
    forest->leaf_hashes[leaf->id] = leaf_key_of(node_key_of(object)).hash;
    table_add(&forest->leaf_table, leaf_hash(forest, leaf->id), leaf->id);
    return leaf;
}

static void forget(struct forest *forest, struct leaf *leaf)
{
    table_remove(&forest->leaf_table, leaf_hash(forest, leaf->id), leaf->id);
    forest->leaves[leaf->id] = NULL;
    mem_reserve(&forest->free_leaves, &forest->free_leaf_capacity, forest->free_leaf_count + 1);
    forest->free_leaves[forest->free_leaf_count++] = leaf->id;
    object_unref(leaf->object);
    leaf->object = NULL;
}

void leaf_free(struct forest *forest, struct leaf *leaf)
{
    if (leaf->object) {
        leaf_withdraw(forest, leaf);
        leaf_hang(forest, leaf, NULL, LIST_REFERRING);
        forget(forest, leaf);
    }
    if (leaf->state & LEAF_IS_TOUCHED)
        leaf->state |= LEAF_IS_GONE;
    else
        slab_give(leaf, sizeof *leaf);
}

void leaf_withdraw(struct forest *forest, struct leaf *leaf)
{
    if (!leaf->entry)
        return;
    zone_compiler_remove(leaf->home->compiler, leaf->entry);
    leaf->entry = NULL;
    compile_due(forest, leaf->home);
}

static void unhang(struct forest *forest, struct leaf *leaf)
{
    struct node *home = leaf->home;
    *(leaf->before ? &leaf->before->next : &home->lists[leaf->list]) = leaf->next;
    if (leaf->next)
        leaf->next->before = leaf->before;
    leaf->home = NULL;
    node_forsake(forest, home);
}

void leaf_hang(struct forest *forest, struct leaf *leaf, struct node *home, enum leaf_list list)
{
    if (leaf->home == home && (!home || leaf->list == list))
        return;
    leaf_set_narrowed(forest, leaf, false);
    if (leaf->home)
        unhang(forest, leaf);
    if (!home)
        return;
    leaf->home = home;
    leaf->list = list;
    leaf->before = NULL;
    leaf->next = home->lists[list];
    if (leaf->next)
        leaf->next->before = leaf;
    home->lists[list] = leaf;
}

void leaf_touch(struct forest *forest, struct leaf *leaf, unsigned states)
{
    leaf->state |= (uint8_t)states;
    if (leaf->state & LEAF_IS_TOUCHED)
        return;
    leaf->state |= LEAF_IS_TOUCHED;
    mem_reserve(&forest->touched, &forest->touched_capacity, forest->touched_count + 1);
    forest->touched[forest->touched_count++] = leaf;
}

void leaf_set_narrowed(struct forest *forest, struct leaf *leaf, bool is_narrowed)
{
    if (is_narrowed == !!(leaf->state & LEAF_IS_NARROWED))
        return;
    leaf->state ^= LEAF_IS_NARROWED;
    leaf->home->narrowed_count += is_narrowed ? 1 : (size_t)-1;
    node_tell(forest, leaf->home);
}
