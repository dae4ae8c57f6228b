#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A hash table of uint32 ids, open addressing, 4 octets a slot: the caller keeps the things in an
// array and the table finds an id by content. Iteration order is not defined; never let it reach
// an outcome. `context` is handed to the operations: let it be what owns the array, not the array,
// which may move. A thing must still be whole while its id is removed.
//
//     struct table by_name = {.ops = &ops, .context = zones};
//     uint32_t id = table_find(&by_name, hash, &name);

#define TABLE_NONE UINT32_MAX

struct table_ops {
    // Does the thing `id` match `key`?
    bool (*matches)(const void *context, uint32_t id, const void *key);
    // Hash of the thing `id`, for growing.
    uint64_t (*hash)(const void *context, uint32_t id);
};

struct table {
    const struct table_ops *ops;
    const void *context;
    uint32_t *slots;
    uint32_t capacity; // power of two or 0
    uint32_t count;
    uint32_t used; // with tombstones
};

void table_done(struct table *table);
uint32_t table_find(const struct table *table, uint64_t hash, const void *key); // or TABLE_NONE
void table_add(struct table *table, uint64_t hash, uint32_t id); // must not be there yet
bool table_remove(struct table *table, uint64_t hash, uint32_t id);
