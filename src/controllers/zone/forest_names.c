#include <stdlib.h>
#include <string.h>

#include "controllers/zone/forest_private.h"

static const struct dname root = {(const uint8_t *)"", 1};

// ---- reading ------------------------------------------------------------------------------------

static void set_own(struct node *node, enum name_form form, struct dname name)
{
    node->form = form;
    node->own = mem_copy(name.at, name.len);
    node->own_len = name.len;
}

static void set_fault(struct node *node, enum reason fault)
{
    node->form = NAME_AT_FAULT;
    node->name_fault = (uint16_t)fault;
}

static void read_name(struct node *node, const struct zone_spec *spec)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    enum reason fault = zone_read_name(spec, octets, &name, NULL);
    if (fault)
        set_fault(node, fault);
    else
        set_own(node, spec->ref.name.at ? NAME_PARTIAL : NAME_FULL, name);
}

// One whose name is at fault now keeps the one that it had, as the store tells: it stays frozen.
static void recall_name(struct node *node, struct text fqdn)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    if (fqdn.len && dname_read(fqdn, NULL, DNAME_OF_OBJECT, octets, &name, NULL))
        set_own(node, NAME_FULL, name);
}

static void set_ref(struct forest *forest, struct node *node, struct node *ref)
{
    struct node *old = node->ref;
    node->ref = ref;
    if (ref)
        ref->referrers++;
    if (!old)
        return;
    old->referrers--;
    node_forsake(forest, old);
}

static void read_node(struct forest *forest, struct node *node)
{
    struct zone_spec spec;
    struct zone_status ours;
    struct node *ref = NULL;
    free(steal(node->own));
    set_fault(node, REASON_NONE);
    if (node->object) {
        zone_unpack(forest->arena, object_spec(node->object), object_ours(node->object), &spec,
                    &ours);
        read_name(node, &spec);
        if (node->form == NAME_AT_FAULT)
            recall_name(node, ours.fqdn);
        if (node->form == NAME_PARTIAL)
            ref = node_want(forest, node_key_of_ref(node->object, &spec.ref));
    }
    set_ref(forest, node, ref);
    arena_reset(forest->arena);
}

// ---- working out --------------------------------------------------------------------------------

static void set_name(struct node *node, struct dname first, struct dname rest)
{
    node->now.len = first.len - 1 + rest.len;
    node->now.octets = mem_resize(NULL, node->now.len, 1);
    memcpy(node->now.octets, first.at, first.len - 1);
    memcpy(node->now.octets + first.len - 1, rest.at, rest.len);
}

static void name_partial(struct node *node, struct dname own)
{
    const struct node *ref = node->ref;
    if (!ref->object)
        node->now.reason = REASON_ZONE_NOT_FOUND;
    else if (!node_has_name(ref))
        node->now.reason = REASON_ZONE_WAITING;
    else if (own.len - 1 + ref->now.len > DNAME_MAX)
        node->now.reason = REASON_INVALID_NAME;
    else
        set_name(node, own, node_name(ref));
}

// The Zone that it names has been worked out.
static void name_node(struct node *node)
{
    struct dname own = {node->own, node->own_len};
    node->walk = WALK_DONE;
    if (!node->object)
        return;
    if (node->form == NAME_AT_FAULT)
        node->now.reason = node->name_fault;
    else if (node->form == NAME_FULL)
        set_name(node, own, root);
    else
        name_partial(node, own);
}

// All from `path` on up to `node`, which names one of them.
static struct node *end_loop(struct node *path, const struct node *node)
{
    bool is_whole = false;
    while (path && !is_whole) {
        is_whole = path == node;
        path->walk = WALK_DONE;
        path->now.reason = REASON_ZONE_LOOP;
        path = path->path;
    }
    return path;
}

// Up by what each names, then back with the names.
static void walk(struct node *node)
{
    struct node *path = NULL;
    while (node->walk == WALK_NOT_YET && node->object && node->form == NAME_PARTIAL) {
        node->walk = WALK_ON_PATH;
        node->path = path;
        path = node;
        node = node->ref;
    }
    if (node->walk == WALK_ON_PATH)
        path = end_loop(path, node);
    else if (node->walk == WALK_NOT_YET)
        name_node(node);
    for (; path; path = path->path)
        name_node(path);
}

void names_settle(struct forest *forest)
{
    // Reading may make nodes.
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id] && forest->nodes[id]->is_fresh)
            read_node(forest, forest->nodes[id]);
    for (uint32_t id = 0; id < forest->node_end; id++) {
        struct node *node = forest->nodes[id];
        if (!node)
            continue;
        node->walk = WALK_NOT_YET;
        node->was = node->now;
        node->now = (struct node_state){.octets = NULL};
    }
    for (uint32_t id = 0; id < forest->node_end; id++)
        if (forest->nodes[id])
            walk(forest->nodes[id]);
}
