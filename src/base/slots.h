#pragma once

#include <stddef.h>
#include <stdint.h>

// Which ids of an array are taken: small and dense ones, and one that was given back is given out
// again before a new one. The array is the caller's and grows with `end`. {0} is empty.
//
//     uint32_t id = slots_take(&rows->slots);
//     mem_reserve(&rows->items, &rows->capacity, rows->slots.end);
//     rows->items[id] = (struct row){...};

struct slots {
    uint32_t end;   // all ids that were ever given out are below
    uint32_t *free; // those given back, the last one first to go
    size_t free_count;
    size_t free_capacity;
};

// Never UINT32_MAX, which is nobody's.
uint32_t slots_take(struct slots *slots);
// Gives back an id that is taken; twice is an error that nothing finds.
void slots_give(struct slots *slots, uint32_t id);
size_t slots_taken(const struct slots *slots);
// Gives all back and frees what it holds.
void slots_done(struct slots *slots);
