#include "base/slab.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/poison.h"

enum {
    STEP = 4,
    ALIGNMENT = 8,
    SIZES = SLAB_OCTETS_MAX / STEP,
    CHUNK_OCTETS = 256 * 1024, // as large as what malloc maps and unmaps by itself
    KEPT_OCTETS = 4096,        // of an empty chunk, so much was ever used
    MANY = 8,                  // who filled so many chunks of a size is likely to fill the next
    SLOT_NONE = UINT32_MAX,
};

struct chunk {
    struct slab *slab;
    struct chunk *next; // with room, of the same size
    struct chunk *previous;
    uint32_t size;  // of a slot
    uint32_t used;  // slots
    uint32_t fresh; // this one and those behind were never taken
    uint32_t free;  // the first of those given back; each names the next
    alignas(ALIGNMENT) char slots[];
};

struct slab {
    struct chunk *with_room[SIZES];
    uint16_t made[SIZES]; // chunks so far, as far as it matters
    size_t chunk_count;
    bool is_closed; // goes with its last chunk
};

static uint32_t slot_size(size_t octets)
{
    return octets ? (uint32_t)(octets + STEP - 1) / STEP * STEP : STEP;
}

// Chunks lie at multiples of their size.
static struct chunk *chunk_around(char *slot)
{
    return (struct chunk *)(void *)(slot - (uintptr_t)slot % CHUNK_OCTETS);
}

static uint32_t capacity_of(const struct chunk *chunk)
{
    return (uint32_t)(CHUNK_OCTETS - offsetof(struct chunk, slots)) / chunk->size;
}

static char *slot_at(struct chunk *chunk, uint32_t slot)
{
    return chunk->slots + (size_t)slot * chunk->size;
}

static struct chunk **room_of(struct chunk *chunk)
{
    return &chunk->slab->with_room[chunk->size / STEP - 1];
}

static void link_chunk(struct chunk *chunk)
{
    struct chunk **first = room_of(chunk);
    chunk->previous = NULL;
    chunk->next = *first;
    if (chunk->next)
        chunk->next->previous = chunk;
    *first = chunk;
}

static void unlink_chunk(struct chunk *chunk)
{
    if (chunk->next)
        chunk->next->previous = chunk->previous;
    if (chunk->previous)
        chunk->previous->next = chunk->next;
    else
        *room_of(chunk) = chunk->next;
}

static struct chunk *chunk_new(struct slab *slab, uint32_t size)
{
    struct chunk *chunk = mem_new_aligned(CHUNK_OCTETS);
    uint16_t *made = &slab->made[size / STEP - 1];
    if (*made == MANY)
        mem_populate(chunk, CHUNK_OCTETS);
    else
        ++*made;
    *chunk = (struct chunk){.slab = slab, .size = size, .free = SLOT_NONE};
    ASAN_POISON_MEMORY_REGION(chunk->slots, CHUNK_OCTETS - offsetof(struct chunk, slots));
    link_chunk(chunk);
    slab->chunk_count++;
    return chunk;
}

static void maybe_free(struct slab *slab)
{
    if (slab->is_closed && slab->chunk_count == 0)
        free(slab);
}

static void chunk_free(struct chunk *chunk)
{
    unlink_chunk(chunk);
    chunk->slab->chunk_count--;
    ASAN_UNPOISON_MEMORY_REGION(chunk->slots, CHUNK_OCTETS - offsetof(struct chunk, slots));
    free(chunk);
}

static uint32_t *link_in(char *slot)
{
    return (uint32_t *)(void *)slot;
}

static char *next_slot(struct chunk *chunk)
{
    if (chunk->free == SLOT_NONE)
        return slot_at(chunk, chunk->fresh++);
    char *at = slot_at(chunk, chunk->free);
    ASAN_UNPOISON_MEMORY_REGION(at, sizeof(uint32_t));
    chunk->free = *link_in(at);
    return at;
}

static void *take_slot(struct chunk *chunk, size_t octets)
{
    char *at = next_slot(chunk);
    ASAN_UNPOISON_MEMORY_REGION(at, octets);
    if (++chunk->used == capacity_of(chunk))
        unlink_chunk(chunk);
    return at;
}

// So that a single thing that comes and goes costs nothing. Of what a flood left nothing stays.
static bool is_kept(const struct chunk *chunk)
{
    return !chunk->slab->is_closed && (size_t)chunk->fresh * chunk->size <= KEPT_OCTETS;
}

static void give_slot(struct chunk *chunk, char *at)
{
    if (chunk->used-- == capacity_of(chunk))
        link_chunk(chunk);
    ASAN_UNPOISON_MEMORY_REGION(at, sizeof(uint32_t));
    *link_in(at) = chunk->free;
    chunk->free = (uint32_t)((size_t)(at - chunk->slots) / chunk->size);
    ASAN_POISON_MEMORY_REGION(at, chunk->size);
    struct slab *slab = chunk->slab;
    if (chunk->used || is_kept(chunk))
        return;
    chunk_free(chunk);
    maybe_free(slab);
}

// ---- public -------------------------------------------------------------------------------------

struct slab *slab_new(void)
{
    return mem_new_of(struct slab);
}

void slab_free(struct slab *slab)
{
    if (!slab)
        return;
    for (size_t i = 0; i < SIZES; i++) {
        struct chunk *next;
        for (struct chunk *left = slab->with_room[i]; left; left = next) {
            next = left->next;
            if (!left->used)
                chunk_free(left);
        }
    }
    slab->is_closed = true;
    maybe_free(slab);
}

void *slab_take(struct slab *slab, size_t octets)
{
    if (octets > SLAB_OCTETS_MAX)
        return mem_resize(NULL, octets, 1);
    uint32_t size = slot_size(octets);
    struct chunk *chunk = slab->with_room[size / STEP - 1];
    return take_slot(chunk ? chunk : chunk_new(slab, size), octets);
}

void slab_give(void *at, size_t octets)
{
    if (octets > SLAB_OCTETS_MAX) {
        free(at);
        return;
    }
    struct chunk *chunk = chunk_around(at);
    must(chunk->size == slot_size(octets));
    give_slot(chunk, at);
}

size_t slab_octets(const struct slab *slab)
{
    return slab->chunk_count * CHUNK_OCTETS;
}
