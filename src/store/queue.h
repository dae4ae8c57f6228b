#pragma once

#include <stdbool.h>
#include <stdint.h>

// Which ids are due, in order: first come, first served within a level; what people did goes before
// start-up work. An id stands in it once, however often it is added. Ids are small and dense.

enum queue_level {
    QUEUE_URGENT,     // all else waits for it; few ids
    QUEUE_USER,       // somebody waits for it
    QUEUE_BACKGROUND, // first list, resync; rises after 60 s of waiting
};

struct queue;
struct queue *queue_new(void);
void queue_free(struct queue *queue);
// Due now. An id that waits already keeps its place, or moves up to the better level.
void queue_add(struct queue *queue, uint32_t id, enum queue_level level, int64_t now_ms);
// Due at at_ms (any clock, always the same one); the earlier time and the better level win. Not in
// the background: its level is USER or URGENT.
void queue_after(struct queue *queue, uint32_t id, enum queue_level level, int64_t at_ms);
// When it is due: INT64_MIN: now; INT64_MAX: never. Not of one in the background.
int64_t queue_time_ms(const struct queue *queue, uint32_t id);
void queue_cancel_timer(struct queue *queue, uint32_t id);
void queue_forget(struct queue *queue, uint32_t id); // neither due nor timed any more
// Next due id; false when none is.
bool queue_pop(struct queue *queue, int64_t now_ms, uint32_t *id);
bool queue_pop_urgent(struct queue *queue, int64_t now_ms, uint32_t *id); // only of that level
bool queue_has_urgent(const struct queue *queue);
uint32_t queue_depth(const struct queue *queue);       // due ones
uint64_t queue_adds(const struct queue *queue);        // ids that became due since the beginning
int64_t queue_last_wait_ms(const struct queue *queue); // how long the id popped last was due
// The same, but INT64_MIN when something is due.
int64_t queue_next_ms(const struct queue *queue);
