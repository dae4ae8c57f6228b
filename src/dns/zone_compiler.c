#include "dns/zone_compiler.h"

#include <stdlib.h>
#include <string.h>

#include "dns/zone_compiler_private.h"

// ---- what a name is by itself -------------------------------------------------------------------

struct facts {
    struct zone_record *ns;
    struct zone_record *dname;
    struct zone_record *cname;
    uint32_t flags;
};

static uint32_t glue_flag(const struct zone_record *record)
{
    if (record->fault || !zone_record_is_address(record))
        return 0;
    return record->flags & RECORD_GIVEN ? NODE_HAS_GIVEN_GLUE : NODE_HAS_OWN_GLUE;
}

static void note(struct facts *facts, struct zone_record *record)
{
    facts->flags |= NODE_HAS_DATA | (zone_record_is_address(record) ? NODE_HAS_ADDRESS : 0u);
    if (record->type == RR_NS && !facts->ns)
        facts->ns = record;
    if (record->type == RR_DNAME && !facts->dname)
        facts->dname = record;
    if (record->type == RR_CNAME && !facts->cname)
        facts->cname = record;
}

static uint32_t asks_flag(const struct zone_node *node, const struct zone_record *record)
{
    if (record->type == RR_DS || record->type == RR_CDS || record->type == RR_CDNSKEY)
        return NODE_ASKS;
    if (!(record->flags & RECORD_LINKED))
        return 0;
    if (record->type == RR_NS)
        return node->parent ? NODE_ASKS_NS : 0;
    return record->type == RR_MX || record->type == RR_SRV ? NODE_ASKS : 0;
}

static struct facts read_facts(const struct zone_compiler *compiler, const struct zone_node *node)
{
    struct facts facts = {0};
    const struct zone_record *by = NULL;
    struct zone_rivals rivals = zone_rivals_of(compiler, node);
    for (struct zone_record *record = node->records; record; record = record->next) {
        facts.flags |= glue_flag(record) | asks_flag(node, record);
        if (record->type == RR_NS)
            facts.flags |= NODE_HAS_NS;
        if (node->flags & NODE_IS_CHILD && zone_record_is_foreign(record))
            continue;
        if (!zone_rivals_meet(&rivals, record, &by))
            note(&facts, record);
    }
    return facts;
}

static enum zone_node_kind kind_of(const struct zone_node *node, const struct facts *facts)
{
    if (node->flags & NODE_IS_CHILD)
        return NODE_CHILD;
    if (facts->ns && node->parent)
        return NODE_CUT;
    return facts->dname ? NODE_DNAME : NODE_PLAIN;
}

static struct zone_record *winner_of(enum zone_node_kind kind, const struct facts *facts)
{
    struct zone_record *const winners[] = {
        [NODE_PLAIN] = facts->cname,
        [NODE_CUT] = facts->ns,
        [NODE_CHILD] = NULL,
        [NODE_DNAME] = facts->dname,
    };
    return winners[kind];
}

// What is found there is of no interest where nothing points to and no wildcard answers.
static void mark_look(struct zone_compiler *compiler, struct zone_node *node)
{
    if (node->referrers || zone_node_is_star(node))
        zone_node_mark(&compiler->look, node, NODE_LOOK);
}

static void renew(struct zone_compiler *compiler, struct zone_node *node)
{
    zone_record_sort(compiler, node);
    zone_crowd_settle(compiler, node);
    struct facts facts = read_facts(compiler, node);
    enum zone_node_kind kind = kind_of(node, &facts);
    struct zone_record *winner = winner_of(kind, &facts);
    bool is_other = node->flags & NODE_FORCED || winner != node->winner;
    if (kind != node->kind || (kind && is_other))
        zone_nodes_push(&compiler->structure, node);
    if (kind != node->kind || is_other || (facts.flags ^ node->flags) & NODE_FACTS)
        mark_look(compiler, node);
    node->kind = (uint8_t)kind;
    node->winner = winner;
    node->flags &=
        ~(uint32_t)(NODE_FACTS | NODE_HAS_NS | NODE_ASKS_NS | NODE_ASKS | NODE_FORCED | NODE_OWN);
    node->flags |= facts.flags;
    zone_node_mark(&compiler->touched, node, NODE_TOUCHED);
    zone_node_mark(&compiler->eval, node, NODE_EVAL);
}

// ---- what it hides ------------------------------------------------------------------------------

static struct zone_node *occluder_of(const struct zone_node *node)
{
    struct zone_node *parent = node->parent;
    return parent->occluder ? parent->occluder : parent->kind ? parent : NULL;
}

// One that is hidden itself hides nothing; if that changed too, the one above it does this.
static void hide_below(struct zone_compiler *compiler, struct zone_node *top)
{
    if (top->occluder)
        return;
    for (struct zone_node *node = zone_node_after(top, top, false); node;
         node = zone_node_after(top, node, false)) {
        node->occluder = occluder_of(node);
        zone_node_mark(&compiler->touched, node, NODE_TOUCHED);
        mark_look(compiler, node);
        zone_node_mark(&compiler->eval, node, NODE_EVAL);
    }
}

// ---- which names there are ----------------------------------------------------------------------

static void see(struct zone_compiler *compiler, struct zone_node *node)
{
    bool was_seen = node->flags & NODE_SEEN;
    bool is_seen = node == compiler->apex || (!node->occluder && node->flags & NODE_HAS_DATA);
    if (is_seen == was_seen)
        return;
    node->flags ^= NODE_SEEN;
    for (struct zone_node *at = node; at; at = at->parent) {
        bool did_exist = at->visible > 0;
        at->visible += is_seen ? 1u : UINT32_MAX;
        if (did_exist == (at->visible > 0))
            continue;
        mark_look(compiler, at);
        if (at->first_child)
            zone_node_mark(&compiler->flipped, at, NODE_FLIPPED);
    }
}

// An NS record in force makes the addresses of its target glue.
static void enforce(struct zone_compiler *compiler, struct zone_node *node)
{
    bool is_place = !node->occluder && (!node->parent || node->kind == NODE_CUT);
    if (!(node->flags & NODE_HAS_NS))
        return;
    for (struct zone_record *record = node->records; record; record = record->next) {
        struct zone_link *link = zone_record_link(record);
        bool is_copied =
            node->kind == NODE_CHILD && !node->occluder && record->flags & RECORD_GIVEN;
        bool was_active = record->flags & RECORD_ACTIVE;
        bool is_active = !record->fault && (is_place || is_copied);
        if (!link || record->type != RR_NS || was_active == is_active)
            continue;
        record->flags ^= RECORD_ACTIVE;
        link->target->glue_refs += was_active ? UINT32_MAX : 1u;
        if (link->target->glue_refs == !was_active)
            zone_node_mark(&compiler->eval, link->target, NODE_EVAL);
    }
}

// Whether a name exists decides by which wildcard those below it are answered.
static void report_below(struct zone_compiler *compiler, struct zone_node *top)
{
    struct zone_node *node = top;
    bool is_over = false;
    while (compiler->link_count && (node = zone_node_after(top, node, is_over))) {
        is_over = node->flags & NODE_FLIPPED;
        if (node->referrers)
            zone_node_mark(&compiler->look, node, NODE_LOOK);
    }
}

static void report_referrers(struct zone_compiler *compiler, const struct zone_node *node)
{
    const struct zone_record *record = node->referrers;
    for (; record; record = zone_record_link(record)->next)
        zone_node_mark(&compiler->eval, record->node, NODE_EVAL);
}

static void report_look(struct zone_compiler *compiler, struct zone_node *node)
{
    struct zone_node *top = node->parent;
    report_referrers(compiler, node);
    if (!top || !zone_node_is_star(node) || !compiler->link_count)
        return;
    for (struct zone_node *at = top; at; at = zone_node_after(top, at, false))
        if (at->referrers && !at->visible)
            report_referrers(compiler, at);
}

// ---- settling -----------------------------------------------------------------------------------

static void settle_names(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->own.count; i++)
        renew(compiler, compiler->own.at[i]);
    for (size_t i = 0; i < compiler->structure.count; i++)
        hide_below(compiler, compiler->structure.at[i]);
    for (size_t i = 0; i < compiler->touched.count; i++) {
        see(compiler, compiler->touched.at[i]);
        enforce(compiler, compiler->touched.at[i]);
    }
    for (size_t i = 0; i < compiler->flipped.count; i++)
        report_below(compiler, compiler->flipped.at[i]);
    for (size_t i = 0; i < compiler->look.count; i++)
        report_look(compiler, compiler->look.at[i]);
    compiler->own.count = compiler->structure.count = 0;
    zone_nodes_unmark(&compiler->touched, NODE_TOUCHED);
    zone_nodes_unmark(&compiler->flipped, NODE_FLIPPED);
    zone_nodes_unmark(&compiler->look, NODE_LOOK);
}

static void fade(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->fading.count; i++) {
        struct zone_node *node = compiler->fading.at[i];
        node->flags &= ~(uint32_t)NODE_FADING;
        zone_node_fade(compiler, node);
    }
    compiler->fading.count = 0;
}

void zone_compiler_settle(struct zone_compiler *compiler, zone_reported *reported, void *context)
{
    zone_frame_settle(compiler);
    zone_rounds_start(compiler);
    do {
        settle_names(compiler);
        zone_alias_settle(compiler);
    } while (zone_rounds_next(compiler));
    for (size_t i = 0; i < compiler->eval.count; i++)
        zone_judge(compiler, compiler->eval.at[i], reported, context);
    if (compiler->eval.count)
        zone_output_as_child(compiler);
    zone_nodes_unmark(&compiler->eval, NODE_EVAL);
    fade(compiler);
    zone_nodes_relax(compiler);
}

// ---- the rest -----------------------------------------------------------------------------------

struct zone_compiler *zone_compiler_new(struct dname apex, const struct zone_compiler_ops *ops)
{
    struct zone_compiler *compiler = mem_new_of(struct zone_compiler);
    memcpy(compiler->apex_name, apex.at, apex.len);
    compiler->apex_len = apex.len;
    compiler->ops = *ops;
    compiler->slab = ops->slab ? ops->slab : slab_new();
    compiler->apex = zone_node_root(compiler);
    compiler->outside = zone_node_root(compiler);
    compiler->apex->flags |= NODE_SEEN;
    compiler->apex->visible = 1;
    return compiler;
}

static void free_records(struct zone_compiler *compiler, struct zone_node *node)
{
    while (node->records)
        zone_record_remove(compiler, node->records);
}

void zone_compiler_free(struct zone_compiler *compiler)
{
    if (!compiler)
        return;
    zone_output_done(compiler);
    struct zone_node *top = compiler->apex;
    for (struct zone_node *node = top; node; node = zone_node_after(top, node, false))
        free_records(compiler, node);
    free_records(compiler, compiler->outside);
    zone_frame_done(compiler);
    zone_nodes_done(compiler);
    free(compiler->results);
    free(compiler->order);
    free(compiler->nameservers_within);
    if (!compiler->ops.slab)
        slab_free(compiler->slab);
    free(compiler);
}

struct dname zone_compiler_apex(const struct zone_compiler *compiler)
{
    return zone_apex_of(compiler);
}

struct zone_record *zone_compiler_put(struct zone_compiler *compiler,
                                      const struct zone_entry *entry)
{
    return zone_record_put(compiler, entry, 0);
}

void zone_compiler_remove(struct zone_compiler *compiler, struct zone_record *record)
{
    zone_record_remove(compiler, record);
}

struct zone_outcome zone_record_outcome(const struct zone_record *record)
{
    return (struct zone_outcome){record->reason, record->warnings, record->by};
}

size_t zone_compiler_record_count(const struct zone_compiler *compiler)
{
    return compiler->record_count + 1;
}

size_t zone_compiler_excluded_count(const struct zone_compiler *compiler)
{
    return compiler->excluded_count;
}
