#pragma once

#include <stdbool.h>
#include <stdint.h>

// A queue of ids that are due: in order of arrival within a level, and changes that people made
// before start-up work. It holds every id at most once. Ids are small and dense.

enum queue_level {
    QUEUE_URGENT,     // goes before everything else; for few ids
    QUEUE_USER,       // somebody waits for it
    QUEUE_BACKGROUND, // first list, resync; rises after 60 s of waiting
};

struct queue;
struct queue *queue_new(void);
void queue_free(struct queue *queue);
// Makes the id due now. One that waits already keeps its position, or moves to the better level.
void queue_add(struct queue *queue, uint32_t id, enum queue_level level, int64_t now_ms);
// Makes the id due at at_ms (of any clock, but always the same one); the earlier time and the
// better level win. `level` is USER or URGENT.
void queue_after(struct queue *queue, uint32_t id, enum queue_level level, int64_t at_ms);
// When the id is due. INT64_MIN: now; INT64_MAX: never. Not to be asked of a BACKGROUND id.
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
// When the next timed id is due. INT64_MIN: something is due now; INT64_MAX: nothing ever.
int64_t queue_next_ms(const struct queue *queue);
