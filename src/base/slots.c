#include "base/slots.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/must.h"

uint32_t slots_take(struct slots *slots)
{
    if (slots->free_count) {
        uint32_t id = slots->free[--slots->free_count];
        if (!slots->free_count)
            mem_relax(&slots->free, &slots->free_capacity);
        return id;
    }
    must(slots->end < UINT32_MAX);
    return slots->end++;
}

void slots_give(struct slots *slots, uint32_t id)
{
    must(id < slots->end && slots->free_count < slots->end);
    mem_reserve(&slots->free, &slots->free_capacity, slots->free_count + 1);
    slots->free[slots->free_count++] = id;
}

size_t slots_taken(const struct slots *slots)
{
    return slots->end - slots->free_count;
}

void slots_done(struct slots *slots)
{
    free(slots->free);
    *slots = (struct slots){0};
}
