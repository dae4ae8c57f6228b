#include <string.h>

#include "dns/zone_compiler_private.h"

enum { REWRITES_MAX = 16 }; // as many as a resolver follows

// ---- what is found at a name --------------------------------------------------------------------

static bool is_cut(const struct zone_node *node)
{
    return node->kind == NODE_CUT || node->kind == NODE_CHILD;
}

static struct zone_look look_under(const struct zone_node *occluder)
{
    return (struct zone_look){is_cut(occluder) ? LOOK_CUT : LOOK_DNAME, occluder};
}

static struct zone_look look_at_star(const struct zone_node *star)
{
    return (struct zone_look){is_cut(star) ? LOOK_CUT : LOOK_HERE, star};
}

// The name itself does not exist (RFC 4592 3.3.1): `node` is the deepest above it.
static struct zone_look look_wildcard(const struct zone_compiler *compiler,
                                      const struct zone_node *node)
{
    while (!node->visible)
        node = node->parent;
    const struct zone_node *star = zone_node_star(compiler, node);
    if (!star || !star->visible)
        return (struct zone_look){LOOK_NOTHING, NULL};
    return look_at_star(star);
}

struct zone_look zone_look(const struct zone_compiler *compiler, const struct zone_node *node)
{
    if (node->occluder)
        return look_under(node->occluder);
    if (is_cut(node))
        return (struct zone_look){LOOK_CUT, node};
    if (node->visible)
        return (struct zone_look){LOOK_HERE, node};
    return look_wildcard(compiler, node->parent);
}

struct zone_look zone_look_name(const struct zone_compiler *compiler, struct dname name)
{
    struct zone_near near = zone_node_nearest(compiler, name);
    const struct zone_node *node = near.node;
    if (near.is_it && !near.between)
        return zone_look(compiler, node);
    if (node->occluder || node->kind)
        return look_under(node->occluder ? node->occluder : node);
    if (!near.between || !near.between->visible)
        return look_wildcard(compiler, node);
    if (!near.is_it && near.is_at_star && near.is_at_last)
        return look_at_star(near.between);
    return (struct zone_look){near.is_it || near.is_at_star ? LOOK_BETWEEN : LOOK_NOTHING, NULL};
}

static const struct zone_record *cname_at(const struct zone_node *node)
{
    return node->kind == NODE_PLAIN && !node->occluder ? node->winner : NULL;
}

const struct zone_record *zone_look_cname(struct zone_look look)
{
    return look.kind == LOOK_HERE ? cname_at(look.node) : NULL;
}

const struct zone_record *zone_look_alias(struct zone_look look)
{
    return look.kind == LOOK_DNAME ? look.node->winner : zone_look_cname(look);
}

bool zone_node_has_glue(const struct zone_node *node)
{
    const struct zone_node *cut = node->occluder ? node->occluder : node;
    uint32_t wanted =
        cut->kind == NODE_CHILD ? NODE_HAS_GIVEN_GLUE : NODE_HAS_GIVEN_GLUE | NODE_HAS_OWN_GLUE;
    return node->flags & wanted;
}

// ---- where aliases lead -------------------------------------------------------------------------

static struct zone_node *target_of(const struct zone_node *node)
{
    const struct zone_link *link = node->winner ? zone_record_link(node->winner) : NULL;
    return link ? link->target : NULL;
}

// Puts the DNAME's target in the place of its owner (RFC 6672 2.2). False: it gets too long.
static bool rewrite(const struct zone_compiler *compiler, const struct zone_node *dname,
                    uint8_t octets[DNAME_MAX], struct dname *name)
{
    uint8_t owner[DNAME_MAX];
    struct dname target;
    size_t kept = name->len - zone_node_name(compiler, dname, owner).len;
    if (!zone_record_target(dname->winner, &target) || kept + target.len > DNAME_MAX)
        return false;
    memcpy(octets + kept, target.at, target.len);
    *name = (struct dname){octets, kept + target.len};
    return true;
}

// The next CNAME on the way of a query that came to this one.
static struct zone_node *after_cname(struct zone_compiler *compiler, struct zone_node *node)
{
    uint8_t octets[DNAME_MAX];
    const struct zone_node *target = target_of(node);
    if (!target)
        return NULL;
    struct zone_look look = zone_look(compiler, target);
    struct dname name = {octets, 0};
    if (look.kind == LOOK_DNAME)
        name = zone_node_name(compiler, target, octets);
    for (size_t i = 0; look.kind == LOOK_DNAME && i < REWRITES_MAX; i++) {
        zone_node_mark(&compiler->via, node, NODE_VIA_DNAME);
        if (look.node->flags & NODE_IN_LOOP || !rewrite(compiler, look.node, octets, &name) ||
            !dname_is_within(name, zone_apex_of(compiler)))
            return NULL;
        look = zone_look_name(compiler, name);
    }
    const struct zone_record *cname = zone_look_cname(look);
    return cname ? cname->node : NULL;
}

// The DNAME that rewrites every name that this one has rewritten.
static struct zone_node *after_dname(const struct zone_node *node)
{
    struct zone_node *target = target_of(node);
    struct zone_node *next = target && target->occluder ? target->occluder : target;
    return next && next->kind == NODE_DNAME ? next : NULL;
}

static void lead(struct zone_compiler *compiler, struct zone_node *node, struct zone_node *to)
{
    if (node->leads_to == to)
        return;
    node->leads_to = to;
    if (to)
        zone_nodes_push(&compiler->aliases, node);
}

// ---- loops --------------------------------------------------------------------------------------

// Before anything of it leads elsewhere.
static void dissolve(struct zone_compiler *compiler, struct zone_node *node)
{
    while (node->flags & NODE_IN_LOOP) {
        node->flags &= ~(uint32_t)NODE_IN_LOOP;
        zone_node_mark(&compiler->eval, node, NODE_EVAL);
        zone_nodes_push(&compiler->aliases, node);
        node = node->leads_to;
    }
}

static void mark_loop(struct zone_compiler *compiler, struct zone_node *node)
{
    while (!(node->flags & NODE_IN_LOOP)) {
        node->flags |= NODE_IN_LOOP;
        zone_node_mark(&compiler->eval, node, NODE_EVAL);
        node = node->leads_to;
    }
}

static void follow(struct zone_compiler *compiler, struct zone_node *start)
{
    struct zone_node *node = start;
    size_t first = compiler->walked.count;
    while (node && !(node->flags & NODE_WALKED)) {
        node->flags |= NODE_ON_PATH;
        zone_node_mark(&compiler->walked, node, NODE_WALKED);
        node = node->leads_to;
    }
    if (node && node->flags & NODE_ON_PATH)
        mark_loop(compiler, node);
    for (size_t i = first; i < compiler->walked.count; i++)
        compiler->walked.at[i]->flags &= ~(uint32_t)NODE_ON_PATH;
}

static void find_loops(struct zone_compiler *compiler, bool of_dnames)
{
    for (size_t i = 0; i < compiler->aliases.count; i++)
        if ((compiler->aliases.at[i]->kind == NODE_DNAME) == of_dnames)
            follow(compiler, compiler->aliases.at[i]);
    for (size_t i = 0; i < compiler->walked.count; i++)
        compiler->walked.at[i]->flags &= ~(uint32_t)NODE_WALKED;
    compiler->walked.count = 0;
}

static void recall_rewritten(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->via.count; i++) {
        struct zone_node *node = compiler->via.at[i];
        node->flags &= ~(uint32_t)NODE_VIA_DNAME;
        zone_node_mark(&compiler->eval, node, NODE_EVAL);
    }
    compiler->via.count = 0;
}

void zone_alias_settle(struct zone_compiler *compiler)
{
    struct zone_nodes *eval = &compiler->eval;
    if (!eval->count)
        return;
    recall_rewritten(compiler);
    size_t count = eval->count;
    for (size_t i = 0; i < count; i++)
        dissolve(compiler, eval->at[i]);
    for (size_t i = 0; i < count; i++) {
        struct zone_node *node = eval->at[i];
        bool is_dname = node->kind == NODE_DNAME && !node->occluder;
        if (is_dname || !cname_at(node))
            lead(compiler, node, is_dname ? after_dname(node) : NULL);
    }
    find_loops(compiler, true);
    for (size_t i = 0; i < count; i++)
        if (cname_at(eval->at[i]))
            lead(compiler, eval->at[i], after_cname(compiler, eval->at[i]));
    find_loops(compiler, false);
    compiler->aliases.count = 0;
}

// ---- out of the zone ----------------------------------------------------------------------------

static bool follow_one(const struct zone_compiler *compiler, struct zone_look look,
                       uint8_t octets[DNAME_MAX], struct dname *name)
{
    struct dname target;
    if (look.kind == LOOK_DNAME)
        return rewrite(compiler, look.node, octets, name);
    if (!zone_record_target(zone_look_alias(look), &target))
        return false;
    memcpy(octets, target.at, target.len);
    *name = (struct dname){octets, target.len};
    return true;
}

bool zone_compiler_follow(const struct zone_compiler *compiler, struct dname *name,
                          uint8_t octets[DNAME_MAX], const void **tag)
{
    memmove(octets, name->at, name->len);
    name->at = octets;
    *tag = NULL;
    for (size_t i = 0; i <= REWRITES_MAX; i++) {
        if (!dname_is_within(*name, zone_apex_of(compiler)))
            return true;
        struct zone_look look = zone_look_name(compiler, *name);
        const struct zone_record *alias = zone_look_alias(look);
        if (!alias || !follow_one(compiler, look, octets, name))
            return look.kind == LOOK_CUT && *tag;
        *tag = alias->tag;
    }
    return false;
}
