#include "dns/zone_compiler_private.h"

// Zones as people write them take two or three; from half of them on one kind waits for no other,
// so that nobody's loops without end keep what is wrong elsewhere.
enum { ROUNDS_MAX = 32 };

// ---- what a round puts out ----------------------------------------------------------------------

static bool is_alias(const struct zone_record *record)
{
    return record->type == RR_CNAME || record->type == RR_DNAME;
}
static bool is_ns(const struct zone_record *record)
{
    return record->type == RR_NS;
}
static bool is_any(const struct zone_record *record)
{
    (void)record;
    return true;
}

// Of the reasons that depend on other names, or on others of this one that these put out.
static bool is_by_others(enum zone_reason reason)
{
    return reason >= ZONE_NS_TARGET_IS_ALIAS && reason <= ZONE_CNAME_LOOP;
}
static bool is_by_rivals(enum zone_reason reason)
{
    return reason == ZONE_CNAME_CONFLICT || reason == ZONE_DUPLICATE_SINGLETON ||
           reason == ZONE_NULL_MX_CONFLICT || reason == ZONE_TOO_MANY_RECORDS;
}

// Would the name, or what is told of its other records, be the same without them?
static bool is_missed(const struct zone_compiler *compiler, const struct zone_node *node,
                      size_t count)
{
    bool is_any_in = !node->parent;
    for (size_t i = 0; i < count; i++) {
        const struct zone_result *result = &compiler->results[i];
        if (is_by_rivals(result->reason) || (result->reason && result->record == node->winner))
            return true;
        is_any_in |= !result->reason;
    }
    return !is_any_in;
}

static void bar(struct zone_compiler *compiler, struct zone_node *node,
                const struct zone_result *result)
{
    result->record->fault = result->reason;
    result->record->flags |= RECORD_BARRED;
    zone_node_mark(&compiler->own, node, NODE_OWN);
    zone_node_mark(&compiler->barred, node, NODE_BARRED);
}

static void bar_at(struct zone_compiler *compiler, struct zone_node *node,
                   bool (*is_of)(const struct zone_record *record))
{
    size_t count = zone_judge_look(compiler, node);
    if (!is_missed(compiler, node, count))
        return;
    for (size_t i = 0; i < count; i++) {
        const struct zone_result *result = &compiler->results[i];
        if (is_by_others(result->reason) && !result->record->fault && is_of(result->record))
            bar(compiler, node, result);
    }
}

// ---- rounds -------------------------------------------------------------------------------------

static void list_due(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->eval.count; i++) {
        struct zone_node *node = compiler->eval.at[i];
        if (node->flags & NODE_ASKS_NS)
            zone_node_mark(&compiler->ns_due, node, NODE_NS_DUE);
        if (node->flags & NODE_ASKS)
            zone_node_mark(&compiler->rest_due, node, NODE_REST_DUE);
    }
}

static void bar_loops(struct zone_compiler *compiler)
{
    for (size_t i = 0; i < compiler->eval.count; i++)
        if (compiler->eval.at[i]->flags & NODE_IN_LOOP)
            bar_at(compiler, compiler->eval.at[i], is_alias);
}

static void bar_due(struct zone_compiler *compiler, struct zone_nodes *list, uint32_t flag,
                    bool (*is_of)(const struct zone_record *record))
{
    if (compiler->own.count && compiler->round < ROUNDS_MAX / 2)
        return;
    for (size_t i = 0; i < list->count; i++)
        bar_at(compiler, list->at[i], is_of);
    zone_nodes_unmark(list, flag);
}

// The next settle has to come back to them.
static void give_up(struct zone_compiler *compiler)
{
    struct zone_nodes *lists[] = {&compiler->eval, &compiler->ns_due, &compiler->rest_due};
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (size_t j = 0; j < lists[i]->count; j++)
            if (i || lists[i]->at[j]->flags & NODE_IN_LOOP)
                zone_node_mark(&compiler->barred, lists[i]->at[j], NODE_BARRED);
    zone_nodes_unmark(&compiler->ns_due, NODE_NS_DUE);
    zone_nodes_unmark(&compiler->rest_due, NODE_REST_DUE);
}

static void move(struct zone_nodes *from, uint32_t from_flag, struct zone_nodes *to, uint32_t flag)
{
    for (size_t i = 0; i < from->count; i++)
        zone_node_mark(to, from->at[i], flag);
    zone_nodes_unmark(from, from_flag);
}

bool zone_rounds_next(struct zone_compiler *compiler)
{
    list_due(compiler);
    if (++compiler->round < ROUNDS_MAX) {
        bar_loops(compiler);
        bar_due(compiler, &compiler->ns_due, NODE_NS_DUE, is_ns);
        bar_due(compiler, &compiler->rest_due, NODE_REST_DUE, is_any);
    } else {
        give_up(compiler);
    }
    if (compiler->own.count) {
        move(&compiler->eval, NODE_EVAL, &compiler->due, NODE_DUE);
        return true;
    }
    move(&compiler->due, NODE_DUE, &compiler->eval, NODE_EVAL);
    return false;
}

static void unbar(struct zone_compiler *compiler, struct zone_node *node)
{
    for (struct zone_record *record = node->records; record; record = record->next) {
        if (!(record->flags & RECORD_BARRED))
            continue;
        record->flags &= (uint16_t)~RECORD_BARRED;
        record->fault = ZONE_FINE;
    }
    zone_node_mark(&compiler->own, node, NODE_OWN);
    zone_node_mark(&compiler->fading, node, NODE_FADING);
}

void zone_rounds_start(struct zone_compiler *compiler)
{
    compiler->round = 0;
    if (!compiler->own.count && !compiler->eval.count)
        return;
    for (size_t i = 0; i < compiler->barred.count; i++)
        unbar(compiler, compiler->barred.at[i]);
    zone_nodes_unmark(&compiler->barred, NODE_BARRED);
}
