#include <stdlib.h>

#include "base/must.h"
#include "dns/zone_private.h"

struct place {
    const struct zone *zone;
    size_t chunk;
    size_t item;
};

struct differ {
    struct zone_delta *out;
    size_t removed_capacity;
    size_t added_capacity;
};

static bool is_at_end(const struct place *place)
{
    return place->chunk == place->zone->chunk_count;
}

static const struct rrset *set_at(const struct place *place)
{
    return place->zone->chunks[place->chunk]->sets[place->item];
}

static void step(struct place *place)
{
    if (++place->item < place->zone->chunks[place->chunk]->count)
        return;
    place->item = 0;
    place->chunk++;
}

static void count_set(struct zone_delta *out, const struct rrset *set)
{
    out->record_count += set->count;
    out->octets += rrset_wire_octets(set);
}

// Both take the reference.
static void put_removed(struct differ *differ, struct rrset *set)
{
    struct zone_delta *out = differ->out;
    mem_reserve(&out->removed, &differ->removed_capacity, out->removed_count + 1);
    out->removed[out->removed_count++] = set;
    count_set(out, set);
}

static void put_added(struct differ *differ, struct rrset *set)
{
    struct zone_delta *out = differ->out;
    mem_reserve(&out->added, &differ->added_capacity, out->added_count + 1);
    out->added[out->added_count++] = set;
    count_set(out, set);
}

// The RRs of one set that the other does not have; NULL: there are none.
static struct rrset *without(const struct rrset *set, const struct rrset *other)
{
    autofree struct text *left = mem_new_array(struct text, set->count);
    size_t count = 0;
    size_t cursor = 0;
    size_t other_cursor = 0;
    struct text rdata;
    struct text other_rdata;
    bool has_other = rrset_next(other, &other_cursor, &other_rdata);
    while (rrset_next(set, &cursor, &rdata)) {
        while (has_other && text_compare(other_rdata, rdata) < 0)
            has_other = rrset_next(other, &other_cursor, &other_rdata);
        if (!has_other || !text_equal(other_rdata, rdata))
            left[count++] = rdata;
    }
    if (count == set->count)
        return rrset_ref(set);
    return count ? rrset_new(rrset_owner(set), set->type, set->ttl_s, left, count) : NULL;
}

static void compare_sets(struct differ *differ, const struct rrset *old, const struct rrset *new_)
{
    bool has_ttl_changed = old->ttl_s != new_->ttl_s;
    struct rrset *removed = has_ttl_changed ? rrset_ref(old) : without(old, new_);
    struct rrset *added = has_ttl_changed ? rrset_ref(new_) : without(new_, old);
    if (removed)
        put_removed(differ, removed);
    if (added)
        put_added(differ, added);
}

// What both have in common is reached in both at once, wherever their chunks begin: the sets before
// it are passed in order. So a chunk of both is met at its first set.
static bool skip_equal(struct place *old, struct place *new_)
{
    if (old->zone->chunks[old->chunk] == new_->zone->chunks[new_->chunk]) {
        must(!old->item && !new_->item);
        old->chunk++;
        new_->chunk++;
        return true;
    }
    if (!rrset_equal(set_at(old), set_at(new_)))
        return false;
    step(old);
    step(new_);
    return true;
}

static void compare_here(struct differ *differ, struct place *old, struct place *new_)
{
    if (skip_equal(old, new_))
        return;
    const struct rrset *left = set_at(old);
    const struct rrset *right = set_at(new_);
    int order = rrset_compare(left, right);
    if (order == 0)
        compare_sets(differ, left, right);
    else if (order < 0)
        put_removed(differ, rrset_ref(left));
    else
        put_added(differ, rrset_ref(right));
    if (order <= 0)
        step(old);
    if (order >= 0)
        step(new_);
}

void zone_compare(const struct zone *old, const struct zone *new_, struct zone_delta *out)
{
    struct differ differ = {.out = out};
    struct place left = {.zone = old};
    struct place right = {.zone = new_};
    must(dname_equal(zone_apex(old), zone_apex(new_)));
    *out = (struct zone_delta){0};
    while (!is_at_end(&left) && !is_at_end(&right))
        compare_here(&differ, &left, &right);
    for (; !is_at_end(&left); step(&left))
        put_removed(&differ, rrset_ref(set_at(&left)));
    for (; !is_at_end(&right); step(&right))
        put_added(&differ, rrset_ref(set_at(&right)));
}

void zone_delta_done(struct zone_delta *delta)
{
    for (size_t i = 0; i < delta->removed_count; i++)
        rrset_unref(delta->removed[i]);
    for (size_t i = 0; i < delta->added_count; i++)
        rrset_unref(delta->added[i]);
    free(delta->removed);
    free(delta->added);
    *delta = (struct zone_delta){0};
}
