#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/rr_type.h"
#include "dns/zone_private.h"

// Those of one name and type become one set.
static void push_merged(struct zone_builder *builder, struct rrset **sets, size_t count)
{
    struct rrset *set = count == 1 ? rrset_ref(sets[0]) : rrset_merged(sets, count);
    must(set->type != RR_SOA);
    for (size_t i = 0; i < count; i++)
        rrset_unref(sets[i]);
    if (set->count)
        zone_builder_add(builder, set);
    else
        rrset_unref(set);
}

struct zone *zone_new(struct rrset *soa, struct rrset **sets, size_t count)
{
    autofree struct rrset **sorted = rrset_sorted(sets, count);
    struct zone_builder builder = {0};
    size_t end;
    for (size_t at = 0; at < count; at = end) {
        end = at + 1;
        while (end < count && rrset_has_key(sorted[end], rrset_key(sorted[at])))
            end++;
        push_merged(&builder, sorted + at, end - at);
    }
    return zone_builder_end(&builder, soa);
}

struct zone *zone_ref(const struct zone *zone)
{
    struct zone *own = (struct zone *)(uintptr_t)zone;
    own->refs++;
    return own;
}

void zone_unref(const struct zone *zone)
{
    struct zone *own = (struct zone *)(uintptr_t)zone;
    if (!own)
        return;
    must(own->refs);
    if (--own->refs)
        return;
    for (size_t i = 0; i < own->chunk_count; i++)
        zone_chunk_unref(own->chunks[i]);
    zone_digest_done(own);
    rrset_unref(own->soa);
    free(own->chunks);
    free(own);
}

struct dname zone_apex(const struct zone *zone)
{
    return rrset_owner(zone->soa);
}

uint32_t zone_serial(const struct zone *zone)
{
    struct zone_soa soa;
    zone_soa_read(zone->soa, &soa);
    return soa.serial;
}

const struct rrset *zone_soa(const struct zone *zone)
{
    return zone->soa;
}

size_t zone_record_count(const struct zone *zone)
{
    return zone->record_count;
}

size_t zone_octets(const struct zone *zone)
{
    return zone->octets;
}

static bool is_at_soa(const struct zone_walk *walk, const struct rrset *next)
{
    return !walk->is_past_soa && (!next || rrset_compare(walk->zone->soa, next) < 0);
}

const struct rrset *zone_walk(struct zone_walk *walk)
{
    const struct zone *zone = walk->zone;
    const struct zone_chunk *chunk =
        walk->chunk < zone->chunk_count ? zone->chunks[walk->chunk] : NULL;
    const struct rrset *set = chunk ? chunk->sets[walk->item] : NULL;
    if (is_at_soa(walk, set)) {
        walk->is_past_soa = true;
        return zone->soa;
    }
    if (chunk && ++walk->item == chunk->count) {
        walk->item = 0;
        walk->chunk++;
    }
    return set;
}
