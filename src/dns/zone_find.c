#include "dns/rr_type.h"
#include "dns/zone_private.h"

static bool is_before(const struct rrset *set, struct rrset_key key)
{
    struct dname owner = rrset_owner(set);
    int order = dname_equal(owner, key.owner) ? 0 : dname_compare(owner, key.owner);
    return order < 0 || (order == 0 && set->type < key.type);
}

// Both searches go in steps that double, then in halves: what is near is found at once, and what is
// far as fast as anything.

size_t zone_chunk_find(const struct zone_chunk *chunk, size_t at, struct rrset_key key)
{
    size_t count = chunk->count;
    size_t step = 1;
    while (at + step <= count && is_before(chunk->sets[at + step - 1], key)) {
        at += step;
        step *= 2;
    }
    size_t end = at + step <= count ? at + step - 1 : count;
    while (at < end) {
        size_t middle = at + (end - at) / 2;
        if (is_before(chunk->sets[middle], key))
            at = middle + 1;
        else
            end = middle;
    }
    return at;
}

static bool begins_after(const struct zone *zone, size_t chunk, struct rrset_key key)
{
    const struct rrset *first = zone->chunks[chunk]->sets[0];
    return !is_before(first, key) && !rrset_has_key(first, key);
}

size_t zone_find_chunk(const struct zone *zone, size_t at, struct rrset_key key)
{
    size_t step = 1;
    while (at + step < zone->chunk_count && !begins_after(zone, at + step, key)) {
        at += step;
        step *= 2;
    }
    size_t end = at + step < zone->chunk_count ? at + step : zone->chunk_count;
    while (at + 1 < end) {
        size_t middle = at + (end - at) / 2;
        if (begins_after(zone, middle, key))
            end = middle;
        else
            at = middle;
    }
    return at;
}

const struct rrset *zone_find(const struct zone *zone, struct dname owner, uint16_t type)
{
    struct rrset_key key = {owner, type};
    if (type == RR_SOA)
        return rrset_has_key(zone->soa, key) ? zone->soa : NULL;
    if (!zone->chunk_count)
        return NULL;
    const struct zone_chunk *chunk = zone->chunks[zone_find_chunk(zone, 0, key)];
    size_t at = zone_chunk_find(chunk, 0, key);
    return at < chunk->count && rrset_has_key(chunk->sets[at], key) ? chunk->sets[at] : NULL;
}
