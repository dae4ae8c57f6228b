#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Ids in order of coming, each once, for work by the hundred thousand: eight octets for each one.
// Ids are small and dense. One that is removed and added again may come at its old place.

struct backlog_item {
    uint32_t id;
    uint32_t added_ms; // as it was told
};

struct backlog {
    struct backlog_item *items; // some are stale: their ids were removed
    size_t first;
    size_t end;
    size_t capacity;
    uint64_t *waiting; // a bit for each id
    size_t word_count;
    uint32_t depth;
};

void backlog_done(struct backlog *backlog);
bool backlog_has(const struct backlog *backlog, uint32_t id);
void backlog_add(struct backlog *backlog, uint32_t id, uint32_t now_ms); // must not be in it
bool backlog_remove(struct backlog *backlog, uint32_t id);               // false: was not in it
// Borrowed until the next change; NULL when it is empty. backlog_remove takes it off.
const struct backlog_item *backlog_first(struct backlog *backlog);
