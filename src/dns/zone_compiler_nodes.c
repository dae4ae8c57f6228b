#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "dns/zone_compiler_private.h"

enum { BUCKETS_START = 64 };

// ---- table --------------------------------------------------------------------------------------

static uint32_t hash_below(uint32_t hash, const uint8_t *label)
{
    uint64_t below = hash_octets(label, *label + 1u) ^ hash;
    return (uint32_t)(below * 0x9e3779b97f4a7c15u >> 32);
}

static struct zone_node **bucket_of(const struct zone_compiler *compiler, uint32_t slot)
{
    return &compiler->buckets[slot & (compiler->bucket_count - 1)];
}

static void enter(struct zone_compiler *compiler, struct zone_node *node)
{
    struct zone_node **bucket = bucket_of(compiler, node->slot);
    node->chain = *bucket;
    *bucket = node;
}

static void leave(struct zone_compiler *compiler, struct zone_node *node)
{
    struct zone_node **at = bucket_of(compiler, node->slot);
    while (*at != node)
        at = &(*at)->chain;
    *at = node->chain;
}

static void grow(struct zone_compiler *compiler)
{
    size_t old_count = compiler->bucket_count;
    struct zone_node **old = compiler->buckets;
    compiler->bucket_count = old_count ? old_count * 2 : BUCKETS_START;
    compiler->buckets = mem_new_array(struct zone_node *, compiler->bucket_count);
    for (size_t i = 0; i < old_count; i++) {
        struct zone_node *next;
        for (struct zone_node *node = old[i]; node; node = next) {
            next = node->chain;
            enter(compiler, node);
        }
    }
    free(old);
}

// The label that stands right before the parent's name.
static const uint8_t *top_label(const struct zone_node *node)
{
    const uint8_t *label = node->labels;
    while (label + *label + 1 < node->labels + node->len)
        label += *label + 1;
    return label;
}

static bool has_top(const struct zone_node *node, const uint8_t *label)
{
    return memcmp(top_label(node), label, *label + 1u) == 0;
}

static struct zone_node *find(const struct zone_compiler *compiler, const struct zone_node *parent,
                              const uint8_t *label)
{
    uint32_t slot = hash_below(parent->hash, label);
    struct zone_node *node = *bucket_of(compiler, slot);
    while (node && (node->slot != slot || node->parent != parent || !has_top(node, label)))
        node = node->chain;
    return node;
}

struct zone_node *zone_node_star(const struct zone_compiler *compiler,
                                 const struct zone_node *parent)
{
    return parent->first_child ? find(compiler, parent, (const uint8_t *)"\1*") : NULL;
}

// ---- tree ---------------------------------------------------------------------------------------

static size_t octets_with(size_t room)
{
    return (offsetof(struct zone_node, labels) + room + 7u) & ~(size_t)7;
}

static struct zone_node *make(struct zone_compiler *compiler, const uint8_t *labels, size_t len)
{
    struct zone_node *node = slab_take(compiler->slab, octets_with(len));
    memset(node, 0, offsetof(struct zone_node, labels));
    node->len = node->room = (uint8_t)len;
    if (len)
        memcpy(node->labels, labels, len);
    return node;
}

struct zone_node *zone_node_root(struct zone_compiler *compiler)
{
    if (!compiler->buckets)
        grow(compiler);
    return make(compiler, NULL, 0);
}

static void link_below(struct zone_node *parent, struct zone_node *node)
{
    struct zone_node *first = parent->first_child;
    node->parent = parent;
    node->next = NULL;
    node->previous = first ? first->previous : node;
    if (first) {
        first->previous->next = node;
        first->previous = node;
    } else {
        parent->first_child = node;
    }
}

static void unlink_below(struct zone_node *node)
{
    struct zone_node *parent = node->parent;
    struct zone_node *first = parent->first_child;
    if (node->next)
        node->next->previous = node->previous;
    else
        first->previous = node->previous;
    if (node == first)
        parent->first_child = node->next;
    else
        node->previous->next = node->next;
}

// Labels of a name, the first one first.
struct labels {
    size_t count;
    const uint8_t *at[DNAME_LABELS_MAX];
    const uint8_t *end;
};

static void read_labels(struct labels *labels, const uint8_t *at, size_t len)
{
    labels->count = 0;
    labels->end = at + len;
    for (; at < labels->end; at += *at + 1)
        labels->at[labels->count++] = at;
}

// Those that stand before the apex.
static void read_name(const struct zone_compiler *compiler, struct dname name,
                      struct labels *labels)
{
    read_labels(labels, name.at, name.len - compiler->apex_len);
}

static bool has_one_label(const struct zone_node *node)
{
    return node->labels[0] + 1u == node->len;
}

static void hash(struct zone_node *node)
{
    struct labels labels;
    node->hash = node->parent->hash;
    read_labels(&labels, node->labels, node->len);
    for (size_t i = labels.count; i-- > 0;) {
        node->hash = hash_below(node->hash, labels.at[i]);
        if (i + 1 == labels.count)
            node->slot = node->hash;
    }
}

static void attach(struct zone_compiler *compiler, struct zone_node *parent, struct zone_node *node)
{
    link_below(parent, node);
    hash(node);
    enter(compiler, node);
}

// The first `count` labels, or of these the last one if it makes a wildcard.
static struct zone_node *add_below(struct zone_compiler *compiler, struct zone_node *parent,
                                   const struct labels *labels, size_t count)
{
    const uint8_t *last = labels->at[count - 1];
    const uint8_t *end = last + *last + 1;
    const uint8_t *first = dname_label_is_star(last) ? last : labels->at[0];
    if (compiler->node_count >= compiler->bucket_count)
        grow(compiler);
    struct zone_node *node = make(compiler, first, (size_t)(end - first));
    node->occluder = parent->occluder ? parent->occluder : parent->kind ? parent : NULL;
    compiler->node_count++;
    attach(compiler, parent, node);
    return node;
}

// Makes a node of the last `count` labels of another, which is below it then.
static struct zone_node *split(struct zone_compiler *compiler, struct zone_node *node, size_t count)
{
    struct labels labels;
    struct zone_node *parent = node->parent;
    read_labels(&labels, node->labels, node->len);
    const uint8_t *from = labels.at[labels.count - count];
    if (compiler->node_count >= compiler->bucket_count)
        grow(compiler);
    leave(compiler, node);
    unlink_below(node);
    struct zone_node *upper = make(compiler, from, (size_t)(labels.end - from));
    upper->occluder = node->occluder;
    upper->visible = node->visible;
    compiler->node_count++;
    attach(compiler, parent, upper);
    node->len = (uint8_t)(from - node->labels);
    attach(compiler, upper, node);
    // A wildcard is a node of its own.
    if (count + 1 < labels.count && dname_label_is_star(labels.at[labels.count - count - 1]))
        split(compiler, node, 1);
    return upper;
}

// How far a name whose first `left` labels lie below the parent goes along with this node, which it
// has the last of them in common with.
struct common {
    size_t count;
    bool is_whole;   // it lies at or below the node
    bool is_at_star; // the first label of the node that it has not is that of a wildcard
    bool is_at_last; // and the last one that there is
};

static struct common compare(const struct zone_node *node, const struct labels *labels, size_t left)
{
    struct labels own;
    struct common common = {.count = 1, .is_whole = true};
    if (has_one_label(node))
        return common;
    read_labels(&own, node->labels, node->len);
    while (common.count < own.count && common.count < left) {
        const uint8_t *label = own.at[own.count - common.count - 1];
        if (memcmp(label, labels->at[left - common.count - 1], *label + 1u) != 0)
            break;
        common.count++;
    }
    common.is_whole = common.count == own.count;
    common.is_at_last = common.count + 1 == own.count;
    common.is_at_star =
        !common.is_whole && dname_label_is_star(own.at[own.count - common.count - 1]);
    return common;
}

struct zone_node *zone_node_add(struct zone_compiler *compiler, struct dname name)
{
    struct labels labels;
    struct zone_node *node = compiler->apex;
    read_name(compiler, name, &labels);
    for (size_t left = labels.count; left;) {
        struct zone_node *below = find(compiler, node, labels.at[left - 1]);
        if (!below)
            below = add_below(compiler, node, &labels, left);
        struct common common = compare(below, &labels, left);
        node = common.is_whole ? below : split(compiler, below, common.count);
        left -= common.count;
    }
    return node;
}

struct zone_near zone_node_nearest(const struct zone_compiler *compiler, struct dname name)
{
    struct labels labels;
    struct common common = {.is_whole = true};
    struct zone_near near = {.node = compiler->apex};
    read_name(compiler, name, &labels);
    size_t left = labels.count;
    while (left && common.is_whole) {
        struct zone_node *below = find(compiler, near.node, labels.at[left - 1]);
        if (!below)
            return near;
        common = compare(below, &labels, left);
        left -= common.count;
        if (common.is_whole)
            near.node = below;
        else
            near.between = below;
    }
    near.is_it = !left;
    near.is_at_star = common.is_at_star;
    near.is_at_last = common.is_at_last;
    return near;
}

struct dname zone_node_name(const struct zone_compiler *compiler, const struct zone_node *node,
                            uint8_t out[DNAME_MAX])
{
    size_t len = 0;
    for (; node->parent; node = node->parent) {
        memcpy(out + len, node->labels, node->len);
        len += node->len;
    }
    memcpy(out + len, compiler->apex_name, compiler->apex_len);
    return (struct dname){out, len + compiler->apex_len};
}

struct zone_node *zone_node_after(const struct zone_node *top, struct zone_node *at, bool is_over)
{
    if (at->first_child && !is_over)
        return at->first_child;
    for (; at != top; at = at->parent)
        if (at->next)
            return at->next;
    return NULL;
}

// ---- lists --------------------------------------------------------------------------------------

void zone_nodes_push(struct zone_nodes *list, struct zone_node *node)
{
    mem_reserve(&list->at, &list->capacity, list->count + 1);
    list->at[list->count++] = node;
}

void zone_node_mark(struct zone_nodes *list, struct zone_node *node, uint32_t flag)
{
    if (node->flags & flag)
        return;
    node->flags |= flag;
    zone_nodes_push(list, node);
}

void zone_nodes_unmark(struct zone_nodes *list, uint32_t flag)
{
    for (size_t i = 0; i < list->count; i++)
        list->at[i]->flags &= ~flag;
    list->count = 0;
}

static const size_t lists[] = {
    offsetof(struct zone_compiler, own),     offsetof(struct zone_compiler, eval),
    offsetof(struct zone_compiler, look),    offsetof(struct zone_compiler, touched),
    offsetof(struct zone_compiler, flipped), offsetof(struct zone_compiler, structure),
    offsetof(struct zone_compiler, via),     offsetof(struct zone_compiler, aliases),
    offsetof(struct zone_compiler, walked),  offsetof(struct zone_compiler, fading),
    offsetof(struct zone_compiler, ns_due),  offsetof(struct zone_compiler, rest_due),
    offsetof(struct zone_compiler, due),     offsetof(struct zone_compiler, barred),
};

static struct zone_nodes *list_at(const struct zone_compiler *compiler, size_t i)
{
    return (struct zone_nodes *)(void *)((uintptr_t)compiler + lists[i]);
}

void zone_nodes_relax(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct zone_nodes *list = list_at(compiler, i);
        if (!list->count)
            mem_relax(&list->at, &list->capacity);
    }
}

// ---- going --------------------------------------------------------------------------------------

static void take_out(struct zone_compiler *compiler, struct zone_node *node)
{
    leave(compiler, node);
    compiler->node_count--;
    unlink_below(node);
    slab_give(node, octets_with(node->room));
}

// Gives the only node below back the labels that a split took from it. False: it is not such a one.
static bool rejoin(struct zone_compiler *compiler, struct zone_node *node)
{
    struct zone_node *below = node->first_child;
    struct zone_node *parent = node->parent;
    if (below->next || below->len + node->len > below->room || zone_node_is_star(node))
        return false;
    memcpy(below->labels + below->len, node->labels, node->len);
    leave(compiler, below);
    unlink_below(below);
    below->len = (uint8_t)(below->len + node->len);
    take_out(compiler, node);
    attach(compiler, parent, below);
    return true;
}

void zone_node_fade(struct zone_compiler *compiler, struct zone_node *node)
{
    enum {
        LISTED = NODE_OWN | NODE_EVAL | NODE_LOOK | NODE_TOUCHED | NODE_VIA_DNAME | NODE_FADING |
                 NODE_BARRED,
        HELD = LISTED | NODE_IS_CHILD | NODE_HELD,
    };
    while (node->parent && !node->records && !node->referrers && !(node->flags & HELD)) {
        struct zone_node *parent = node->parent;
        if (!node->first_child)
            take_out(compiler, node);
        else if (!rejoin(compiler, node))
            return;
        node = parent;
    }
}

static void free_all(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->bucket_count; i++) {
        struct zone_node *next;
        for (struct zone_node *node = compiler->buckets[i]; node; node = next) {
            next = node->chain;
            slab_give(node, octets_with(node->room));
        }
    }
    slab_give(compiler->apex, octets_with(compiler->apex->room));
    slab_give(compiler->outside, octets_with(compiler->outside->room));
}

void zone_nodes_done(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        free(list_at(compiler, i)->at);
    free_all(compiler);
    free(compiler->buckets);
}
