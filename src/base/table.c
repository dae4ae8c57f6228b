#include "base/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"

enum { CAPACITY_START = 16 };

#define SLOT_EMPTY TABLE_NONE
#define SLOT_GONE (TABLE_NONE - 1)

void table_done(struct table *table)
{
    free(table->slots);
    table->slots = NULL;
    table->capacity = 0;
    table->count = 0;
    table->used = 0;
}

uint32_t table_find(const struct table *table, uint64_t hash, const void *key)
{
    if (table->count == 0)
        return TABLE_NONE;
    uint32_t mask = table->capacity - 1;
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        uint32_t id = table->slots[i];
        if (id == SLOT_EMPTY)
            return TABLE_NONE;
        if (id != SLOT_GONE && table->ops->matches(table->context, id, key))
            return id;
    }
}

static void put(struct table *table, uint64_t hash, uint32_t id)
{
    uint32_t mask = table->capacity - 1;
    uint32_t i = (uint32_t)hash & mask;
    while (table->slots[i] < SLOT_GONE)
        i = (i + 1) & mask;
    table->used += table->slots[i] == SLOT_EMPTY;
    table->count++;
    table->slots[i] = id;
}

// At most half full afterwards, and without tombstones.
static void rebuild(struct table *table)
{
    uint32_t *old = table->slots;
    uint32_t old_capacity = table->capacity;
    uint32_t wanted = CAPACITY_START;
    while (wanted / 2 <= table->count) {
        must(wanted <= UINT32_MAX / 2);
        wanted *= 2;
    }
    table->slots = mem_resize(NULL, wanted, sizeof *table->slots);
    memset(table->slots, 0xff, (size_t)wanted * sizeof *table->slots);
    table->capacity = wanted;
    table->count = 0;
    table->used = 0;
    for (uint32_t i = 0; i < old_capacity; i++)
        if (old[i] < SLOT_GONE)
            put(table, table->ops->hash(table->context, old[i]), old[i]);
    free(old);
}

void table_add(struct table *table, uint64_t hash, uint32_t id)
{
    must(id < SLOT_GONE);
    if (table->used >= table->capacity - table->capacity / 16 * 3)
        rebuild(table);
    put(table, hash, id);
}

static void clear_slot(struct table *table, uint32_t i)
{
    uint32_t mask = table->capacity - 1;
    table->slots[i] = SLOT_GONE;
    table->count--;
    if (table->slots[(i + 1) & mask] != SLOT_EMPTY)
        return;
    for (; table->slots[i] == SLOT_GONE; i = (i - 1) & mask) {
        table->slots[i] = SLOT_EMPTY;
        table->used--;
    }
}

bool table_remove(struct table *table, uint64_t hash, uint32_t id)
{
    if (table->count == 0)
        return false;
    uint32_t mask = table->capacity - 1;
    for (uint32_t i = (uint32_t)hash & mask;; i = (i + 1) & mask) {
        if (table->slots[i] == SLOT_EMPTY)
            return false;
        if (table->slots[i] != id)
            continue;
        clear_slot(table, i);
        return true;
    }
}
