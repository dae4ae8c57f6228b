#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/rr_type.h"
#include "dns/zone_private.h"

// Takes the references of the sets.
static struct zone_chunk *chunk_new(struct rrset *const *sets, size_t count)
{
    struct zone_chunk *chunk = mem_resize(NULL, 1, sizeof *chunk + count * sizeof(struct rrset *));
    *chunk = (struct zone_chunk){.refs = 1, .count = (uint32_t)count};
    memcpy(chunk->sets, sets, count * sizeof(struct rrset *));
    for (size_t i = 0; i < count; i++) {
        chunk->record_count += sets[i]->count;
        chunk->octets += rrset_wire_octets(sets[i]);
    }
    return chunk;
}

void zone_chunk_unref(struct zone_chunk *chunk)
{
    if (--chunk->refs)
        return;
    for (size_t i = 0; i < chunk->count; i++)
        rrset_unref(chunk->sets[i]);
    free(chunk);
}

static void push_chunk(struct zone_builder *builder, struct zone_chunk *chunk)
{
    mem_reserve(&builder->chunks, &builder->chunk_capacity, builder->chunk_count + 1);
    builder->chunks[builder->chunk_count++] = chunk;
}

void zone_builder_add(struct zone_builder *builder, struct rrset *set)
{
    mem_reserve(&builder->sets, &builder->set_capacity, builder->set_count + 1);
    builder->sets[builder->set_count++] = set;
}

void zone_builder_share(struct zone_builder *builder, struct rrset *const *sets, size_t count)
{
    mem_reserve(&builder->sets, &builder->set_capacity, builder->set_count + count);
    for (size_t i = 0; i < count; i++)
        builder->sets[builder->set_count++] = rrset_ref(sets[i]);
}

// Spreads what waits evenly.
static void flush(struct zone_builder *builder)
{
    size_t count = builder->set_count;
    size_t parts = (count + CHUNK_SETS_FILL - 1) / CHUNK_SETS_FILL;
    if (count <= CHUNK_SETS_MAX)
        parts = count > 0;
    for (size_t i = 0; i < parts; i++) {
        size_t from = count * i / parts;
        size_t to = count * (i + 1) / parts;
        push_chunk(builder, chunk_new(builder->sets + from, to - from));
    }
    builder->set_count = 0;
}

void zone_builder_cut(struct zone_builder *builder)
{
    if (builder->set_count >= CHUNK_SETS_MIN)
        flush(builder);
}

void zone_builder_share_chunk(struct zone_builder *builder, struct zone_chunk *chunk)
{
    if (builder->set_count) {
        zone_builder_share(builder, chunk->sets, chunk->count);
        zone_builder_cut(builder);
        return;
    }
    chunk->refs++;
    push_chunk(builder, chunk);
}

// The few that are left at the end go with the chunk before them.
static void flush_last(struct zone_builder *builder)
{
    bool is_small = builder->set_count && builder->set_count < CHUNK_SETS_MIN;
    if (!is_small || !builder->chunk_count) {
        flush(builder);
        return;
    }
    struct zone_chunk *before = builder->chunks[--builder->chunk_count];
    struct rrset **few = builder->sets;
    size_t count = builder->set_count;
    builder->sets = NULL;
    builder->set_count = builder->set_capacity = 0;
    zone_builder_share(builder, before->sets, before->count);
    for (size_t i = 0; i < count; i++)
        zone_builder_add(builder, few[i]);
    zone_chunk_unref(before);
    free(few);
    flush(builder);
}

struct zone *zone_builder_end(struct zone_builder *builder, struct rrset *soa)
{
    struct zone *zone = mem_new_of(struct zone);
    flush_last(builder);
    must(soa->type == RR_SOA && soa->count == 1);
    *zone = (struct zone){
        .refs = 1,
        .soa = soa,
        .chunks = builder->chunks,
        .chunk_count = builder->chunk_count,
        .set_count = 1,
        .record_count = 1,
        .octets = rrset_wire_octets(soa),
    };
    for (size_t i = 0; i < zone->chunk_count; i++) {
        zone->set_count += zone->chunks[i]->count;
        zone->record_count += zone->chunks[i]->record_count;
        zone->octets += zone->chunks[i]->octets;
    }
    free(builder->sets);
    return zone;
}
