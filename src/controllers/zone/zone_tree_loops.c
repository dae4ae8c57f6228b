#include "controllers/zone/zone_tree_private.h"
#include "dns/rr_type.h"

enum { HOPS_MAX = 16 }; // from zone to zone; as many as a resolver follows

// ---- which aliases lead into other zones --------------------------------------------------------

// The zone that an alias in force leads into; NULL: its own, or none of ours.
static struct tree_entry *zone_behind(const struct zone_tree *zone_tree,
                                      const struct record_entry *record_entry)
{
    struct dname target;
    if (!record_entry->entry || zone_record_outcome(record_entry->entry).reason)
        return NULL;
    uint16_t type = zone_record_type(record_entry->entry);
    if ((type != RR_CNAME && type != RR_DNAME) || !zone_record_target(record_entry->entry, &target))
        return NULL;
    struct tree_entry *to = live_find(zone_tree, target, false);
    return to == record_entry->home ? NULL : to;
}

static void note(struct zone_tree *zone_tree, struct record_entry *record_entry)
{
    if (record_entry->state & RECORD_ENTRY_IS_CROSSING || !zone_behind(zone_tree, record_entry))
        return;
    record_entry->state |= RECORD_ENTRY_IS_CROSSING;
    mem_reserve(&zone_tree->crossings, &zone_tree->crossing_capacity,
                zone_tree->crossing_count + 1);
    zone_tree->crossings[zone_tree->crossing_count++] =
        (struct crossing){.record_entry = record_entry->id};
}

static void note_all(struct zone_tree *zone_tree, bool has_new_tree_entries)
{
    for (uint32_t id = 0; has_new_tree_entries && id < zone_tree->record_entry_slots.end; id++)
        if (zone_tree->record_entries[id])
            note(zone_tree, zone_tree->record_entries[id]);
    for (size_t i = 0; !has_new_tree_entries && i < zone_tree->touched_count; i++)
        if (!(zone_tree->touched[i]->state & RECORD_ENTRY_IS_GONE))
            note(zone_tree, zone_tree->touched[i]);
}

// False if it leads nowhere any more. After a record entry was freed, another one may have its id,
// and two crossings may name that.
static bool is_crossing(const struct zone_tree *zone_tree, struct crossing *crossing,
                        bool has_new_tree_entries)
{
    struct record_entry *record_entry = zone_tree->record_entries[crossing->record_entry];
    if (!record_entry || (record_entry->state & (RECORD_ENTRY_IS_CROSSING |
                                                 RECORD_ENTRY_IS_KEPT)) != RECORD_ENTRY_IS_CROSSING)
        return false;
    if (has_new_tree_entries || record_entry->state & RECORD_ENTRY_IS_TOUCHED) {
        crossing->to = zone_behind(zone_tree, record_entry);
        crossing->ends_there = false;
    }
    if (crossing->to)
        record_entry->state |= RECORD_ENTRY_IS_KEPT;
    return crossing->to != NULL;
}

static void set_looping(struct zone_tree *zone_tree, struct record_entry *record_entry,
                        bool is_looping)
{
    if (is_looping == !!(record_entry->state & RECORD_ENTRY_IS_LOOPING))
        return;
    record_entry->state ^= RECORD_ENTRY_IS_LOOPING;
    record_entry_touch(zone_tree, record_entry, RECORD_ENTRY_IS_REPORTED);
}

static void drop(struct zone_tree *zone_tree, const struct crossing *crossing)
{
    struct record_entry *record_entry = zone_tree->record_entries[crossing->record_entry];
    if (!record_entry || (record_entry->state & (RECORD_ENTRY_IS_CROSSING |
                                                 RECORD_ENTRY_IS_KEPT)) != RECORD_ENTRY_IS_CROSSING)
        return;
    set_looping(zone_tree, record_entry, false);
    record_entry->state &= (uint8_t)~RECORD_ENTRY_IS_CROSSING;
}

static void sift(struct zone_tree *zone_tree, bool has_new_tree_entries)
{
    size_t kept = 0;
    for (size_t i = 0; i < zone_tree->crossing_count; i++) {
        struct crossing crossing = zone_tree->crossings[i];
        if (is_crossing(zone_tree, &crossing, has_new_tree_entries))
            zone_tree->crossings[kept++] = crossing;
        else
            drop(zone_tree, &crossing);
    }
    zone_tree->crossing_count = kept;
    mem_relax(&zone_tree->crossings, &zone_tree->crossing_capacity);
}

// ---- where they lead ----------------------------------------------------------------------------

static bool leads_back(const struct zone_tree *zone_tree, const struct record_entry *record_entry,
                       struct crossing *crossing)
{
    uint8_t octets[DNAME_MAX];
    struct dname name;
    const void *by = NULL;
    const struct tree_entry *to = crossing->to;
    if (!zone_record_target(record_entry->entry, &name))
        return false;
    for (size_t i = 0; to && i < HOPS_MAX; i++) {
        crossing->ends_there = !i;
        if (!to->compiler || !zone_compiler_follow(to->compiler, &name, octets, &by) || !by)
            return false;
        crossing->ends_there = false;
        if (by == record_entry)
            return true;
        const struct tree_entry *next = live_find(zone_tree, name, false);
        to = next == to ? NULL : next;
    }
    return false;
}

// Only an alias from a zone that others lead into, to one that others lead out of, can be in a
// loop.
static void judge(struct zone_tree *zone_tree, struct crossing *crossing)
{
    struct record_entry *record_entry = zone_tree->record_entries[crossing->record_entry];
    bool may_loop = zone_record_type(record_entry->entry) == RR_CNAME &&
                    record_entry->home->entering && crossing->to->leaving;
    bool is_known = crossing->ends_there && crossing->to->compiled_at != zone_tree->settles;
    record_entry->state &= (uint8_t)~RECORD_ENTRY_IS_KEPT;
    if (may_loop && is_known)
        return;
    crossing->ends_there = false;
    set_looping(zone_tree, record_entry, may_loop && leads_back(zone_tree, record_entry, crossing));
}

static void count(const struct zone_tree *zone_tree, bool is_to_nothing)
{
    for (size_t i = 0; i < zone_tree->crossing_count; i++) {
        const struct crossing *crossing = &zone_tree->crossings[i];
        struct tree_entry *home = zone_tree->record_entries[crossing->record_entry]->home;
        home->leaving = is_to_nothing ? 0 : home->leaving + 1;
        crossing->to->entering = is_to_nothing ? 0 : crossing->to->entering + 1;
    }
}

// ---- public -------------------------------------------------------------------------------------

void loops_settle(struct zone_tree *zone_tree, bool has_new_tree_entries)
{
    if (!has_new_tree_entries && !zone_tree->has_compiled)
        return;
    note_all(zone_tree, has_new_tree_entries);
    sift(zone_tree, has_new_tree_entries);
    count(zone_tree, false);
    for (size_t i = 0; i < zone_tree->crossing_count; i++)
        judge(zone_tree, &zone_tree->crossings[i]);
    count(zone_tree, true);
    zone_tree->has_compiled = false;
    zone_tree->settles++;
}
