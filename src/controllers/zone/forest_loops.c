#include "controllers/zone/forest_private.h"
#include "dns/rr_type.h"

enum { HOPS_MAX = 16 }; // from zone to zone; as many as a resolver follows

// ---- which aliases lead into other zones --------------------------------------------------------

// The zone that an alias in force leads into; NULL: its own, or none of ours.
static struct node *zone_behind(const struct forest *forest, const struct leaf *leaf)
{
    struct dname target;
    if (!leaf->entry || zone_record_outcome(leaf->entry).reason)
        return NULL;
    uint16_t type = zone_record_type(leaf->entry);
    if ((type != RR_CNAME && type != RR_DNAME) || !zone_record_target(leaf->entry, &target))
        return NULL;
    struct node *to = live_find(forest, target, false);
    return to == leaf->home ? NULL : to;
}

static void note(struct forest *forest, struct leaf *leaf)
{
    if (leaf->state & LEAF_IS_CROSSING || !zone_behind(forest, leaf))
        return;
    leaf->state |= LEAF_IS_CROSSING;
    mem_reserve(&forest->crossings, &forest->crossing_capacity, forest->crossing_count + 1);
    forest->crossings[forest->crossing_count++] = (struct crossing){.leaf = leaf->id};
}

static void note_all(struct forest *forest, bool has_new_nodes)
{
    for (uint32_t id = 0; has_new_nodes && id < forest->leaf_end; id++)
        if (forest->leaves[id])
            note(forest, forest->leaves[id]);
    for (size_t i = 0; !has_new_nodes && i < forest->touched_count; i++)
        if (!(forest->touched[i]->state & LEAF_IS_GONE))
            note(forest, forest->touched[i]);
}

// What a freed one leaves behind may name the one that has its id now, or the same twice.
static bool is_crossing(const struct forest *forest, struct crossing *crossing, bool has_new_nodes)
{
    struct leaf *leaf = forest->leaves[crossing->leaf];
    if (!leaf || (leaf->state & (LEAF_IS_CROSSING | LEAF_IS_KEPT)) != LEAF_IS_CROSSING)
        return false;
    if (has_new_nodes || leaf->state & LEAF_IS_TOUCHED) {
        crossing->to = zone_behind(forest, leaf);
        crossing->ends_there = false;
    }
    if (crossing->to)
        leaf->state |= LEAF_IS_KEPT;
    return crossing->to != NULL;
}

static void set_looping(struct forest *forest, struct leaf *leaf, bool is_looping)
{
    if (is_looping == !!(leaf->state & LEAF_IS_LOOPING))
        return;
    leaf->state ^= LEAF_IS_LOOPING;
    leaf_touch(forest, leaf, LEAF_IS_TOLD);
}

static void drop(struct forest *forest, const struct crossing *crossing)
{
    struct leaf *leaf = forest->leaves[crossing->leaf];
    if (!leaf || (leaf->state & (LEAF_IS_CROSSING | LEAF_IS_KEPT)) != LEAF_IS_CROSSING)
        return;
    set_looping(forest, leaf, false);
    leaf->state &= (uint8_t)~LEAF_IS_CROSSING;
}

static void sift(struct forest *forest, bool has_new_nodes)
{
    size_t kept = 0;
    for (size_t i = 0; i < forest->crossing_count; i++) {
        struct crossing crossing = forest->crossings[i];
        if (is_crossing(forest, &crossing, has_new_nodes))
            forest->crossings[kept++] = crossing;
        else
            drop(forest, &crossing);
    }
    forest->crossing_count = kept;
    mem_relax(&forest->crossings, &forest->crossing_capacity);
}

// ---- where they lead ----------------------------------------------------------------------------

static bool leads_back(const struct forest *forest, const struct leaf *leaf,
                       struct crossing *crossing)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    const void *by = NULL;
    const struct node *to = crossing->to;
    if (!zone_record_target(leaf->entry, &name))
        return false;
    for (size_t i = 0; to && i < HOPS_MAX; i++) {
        crossing->ends_there = !i;
        if (!to->compiler || !zone_compiler_follow(to->compiler, &name, octets, &by) || !by)
            return false;
        crossing->ends_there = false;
        if (by == leaf)
            return true;
        const struct node *next = live_find(forest, name, false);
        to = next == to ? NULL : next;
    }
    return false;
}

// Only one between zones that others lead into and out of.
static void judge(struct forest *forest, struct crossing *crossing)
{
    struct leaf *leaf = forest->leaves[crossing->leaf];
    bool may_loop =
        zone_record_type(leaf->entry) == RR_CNAME && leaf->home->entering && crossing->to->leaving;
    bool is_known = crossing->ends_there && crossing->to->compiled_at != forest->settles;
    leaf->state &= (uint8_t)~LEAF_IS_KEPT;
    if (may_loop && is_known)
        return;
    crossing->ends_there = false;
    set_looping(forest, leaf, may_loop && leads_back(forest, leaf, crossing));
}

static void count(const struct forest *forest, bool is_to_nothing)
{
    for (size_t i = 0; i < forest->crossing_count; i++) {
        const struct crossing *crossing = &forest->crossings[i];
        struct node *home = forest->leaves[crossing->leaf]->home;
        home->leaving = is_to_nothing ? 0 : home->leaving + 1;
        crossing->to->entering = is_to_nothing ? 0 : crossing->to->entering + 1;
    }
}

// ---- public -------------------------------------------------------------------------------------

void loops_settle(struct forest *forest, bool has_new_nodes)
{
    if (!has_new_nodes && !forest->has_compiled)
        return;
    note_all(forest, has_new_nodes);
    sift(forest, has_new_nodes);
    count(forest, false);
    for (size_t i = 0; i < forest->crossing_count; i++)
        judge(forest, &forest->crossings[i]);
    count(forest, true);
    forest->has_compiled = false;
    forest->settles++;
}
