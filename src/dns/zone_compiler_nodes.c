#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "dns/zone_compiler_private.h"

enum { BUCKETS_START = 64 };

// ---- table --------------------------------------------------------------------------------------

static uint32_t hash_of(const struct zone_node *parent, const uint8_t *label)
{
    uint64_t hash = hash_octets(label, *label + 1u) ^ parent->hash;
    return (uint32_t)(hash * 0x9e3779b97f4a7c15u >> 32);
}

static void grow(struct zone_compiler *compiler)
{
    size_t count = compiler->bucket_count ? compiler->bucket_count * 2 : BUCKETS_START;
    struct zone_node **buckets = mem_new_array(struct zone_node *, count);
    for (size_t i = 0; i < compiler->bucket_count; i++) {
        struct zone_node *next;
        for (struct zone_node *node = compiler->buckets[i]; node; node = next) {
            next = node->chain;
            node->chain = buckets[node->hash & (count - 1)];
            buckets[node->hash & (count - 1)] = node;
        }
    }
    free(compiler->buckets);
    compiler->buckets = buckets;
    compiler->bucket_count = count;
}

static struct zone_node *find(const struct zone_compiler *compiler, const struct zone_node *parent,
                              const uint8_t *label, uint32_t hash)
{
    struct zone_node *node = compiler->buckets[hash & (compiler->bucket_count - 1)];
    while (node && (node->hash != hash || node->parent != parent ||
                    memcmp(node->label, label, *label + 1u) != 0))
        node = node->chain;
    return node;
}

struct zone_node *zone_node_child(const struct zone_compiler *compiler,
                                  const struct zone_node *parent, const uint8_t *label)
{
    return parent->first_child ? find(compiler, parent, label, hash_of(parent, label)) : NULL;
}

// ---- tree ---------------------------------------------------------------------------------------

static size_t octets_with(const uint8_t *label)
{
    return (sizeof(struct zone_node) + *label + 8u) & ~(size_t)7;
}

static struct zone_node *make(struct zone_compiler *compiler, const uint8_t *label)
{
    struct zone_node *node = slab_take(compiler->slab, octets_with(label));
    memset(node, 0, sizeof *node);
    memcpy(node->label, label, *label + 1u);
    return node;
}

struct zone_node *zone_node_root(struct zone_compiler *compiler)
{
    if (!compiler->buckets)
        grow(compiler);
    return make(compiler, (const uint8_t *)"");
}

static void link_below(struct zone_node *parent, struct zone_node *node)
{
    struct zone_node *first = parent->first_child;
    node->parent = parent;
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

static struct zone_node *add_below(struct zone_compiler *compiler, struct zone_node *parent,
                                   const uint8_t *label)
{
    uint32_t hash = hash_of(parent, label);
    struct zone_node *node = find(compiler, parent, label, hash);
    if (node)
        return node;
    if (compiler->node_count * 2 >= compiler->bucket_count)
        grow(compiler);
    node = make(compiler, label);
    node->hash = hash;
    link_below(parent, node);
    node->chain = compiler->buckets[hash & (compiler->bucket_count - 1)];
    compiler->buckets[hash & (compiler->bucket_count - 1)] = node;
    compiler->node_count++;
    node->occluder = parent->occluder ? parent->occluder : parent->kind ? parent : NULL;
    return node;
}

// Labels that stand before the apex, the first one first.
static size_t labels_of(const struct zone_compiler *compiler, struct dname name,
                        const uint8_t *labels[DNAME_LABELS_MAX])
{
    size_t count = 0;
    const uint8_t *end = name.at + name.len - compiler->apex_len;
    for (const uint8_t *label = name.at; label < end; label += *label + 1)
        labels[count++] = label;
    return count;
}

struct zone_node *zone_node_add(struct zone_compiler *compiler, struct dname name)
{
    const uint8_t *labels[DNAME_LABELS_MAX];
    struct zone_node *node = compiler->apex;
    for (size_t i = labels_of(compiler, name, labels); i-- > 0;)
        node = add_below(compiler, node, labels[i]);
    return node;
}

struct zone_node *zone_node_nearest(const struct zone_compiler *compiler, struct dname name,
                                    bool *is_it)
{
    const uint8_t *labels[DNAME_LABELS_MAX];
    struct zone_node *node = compiler->apex;
    *is_it = false;
    for (size_t i = labels_of(compiler, name, labels); i-- > 0;) {
        struct zone_node *below = zone_node_child(compiler, node, labels[i]);
        if (!below)
            return node;
        node = below;
    }
    *is_it = true;
    return node;
}

struct dname zone_node_name(const struct zone_compiler *compiler, const struct zone_node *node,
                            uint8_t out[DNAME_MAX])
{
    size_t len = 0;
    for (; node->parent; node = node->parent) {
        memcpy(out + len, node->label, node->label[0] + 1u);
        len += node->label[0] + 1u;
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

size_t zone_nodes_octets(const struct zone_compiler *compiler)
{
    size_t octets = compiler->bucket_count * sizeof *compiler->buckets;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        octets += list_at(compiler, i)->capacity * sizeof(struct zone_node *);
    return octets;
}

// ---- going --------------------------------------------------------------------------------------

static void take_out(struct zone_compiler *compiler, struct zone_node *node)
{
    struct zone_node **at = &compiler->buckets[node->hash & (compiler->bucket_count - 1)];
    while (*at != node)
        at = &(*at)->chain;
    *at = node->chain;
    compiler->node_count--;
    unlink_below(node);
}

void zone_node_fade(struct zone_compiler *compiler, struct zone_node *node)
{
    enum {
        LISTED = NODE_OWN | NODE_EVAL | NODE_LOOK | NODE_TOUCHED | NODE_VIA_DNAME | NODE_FADING |
                 NODE_BARRED,
        HELD = LISTED | NODE_IS_CHILD | NODE_HELD,
    };
    while (node->parent && !node->records && !node->referrers && !node->first_child &&
           !(node->flags & HELD)) {
        struct zone_node *parent = node->parent;
        take_out(compiler, node);
        slab_give(node, octets_with(node->label));
        node = parent;
    }
}

static void free_all(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->bucket_count; i++) {
        struct zone_node *next;
        for (struct zone_node *node = compiler->buckets[i]; node; node = next) {
            next = node->chain;
            slab_give(node, octets_with(node->label));
        }
    }
    slab_give(compiler->apex, octets_with(compiler->apex->label));
    slab_give(compiler->outside, octets_with(compiler->outside->label));
}

void zone_nodes_done(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        free(list_at(compiler, i)->at);
    free_all(compiler);
    free(compiler->buckets);
}
