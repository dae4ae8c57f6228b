#include "store/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"
#include "base/slots.h"
#include "base/table.h"
#include "store/backlog.h"

#define NO_ID UINT32_MAX
#define NO_TIME INT64_MAX

enum { RISE_MS = 60000, SHRINK_FROM = 4096, LINES = QUEUE_BACKGROUND };

// An id that people wait for or that has a timer. The others cost nothing: after a flood the slots
// go back. Background work comes in floods and stands in a backlog.
struct entry {
    uint32_t id; // NO_ID: a free slot
    uint32_t next;
    uint32_t previous;
    uint32_t added_ms; // wraps around
    int64_t timer_ms;  // NO_TIME: none
    bool is_due;
    uint8_t level;       // of the line that it is due in
    uint8_t timer_level; // of the one that it comes up in
};

// Slots in order of coming.
struct line {
    uint32_t first;
    uint32_t last;
};

struct alarm {
    int64_t at_ms;
    uint32_t id;
};

struct queue {
    struct entry *entries;
    size_t capacity;
    struct slots slots;
    struct table by_id;
    struct line lines[LINES]; // by level
    uint32_t line_depth;
    struct backlog background;
    uint64_t adds;
    uint32_t last_wait_ms;
    struct alarm *alarms; // binary heap; stale ones are skipped
    size_t alarm_count;
    size_t alarm_capacity;
};

static uint64_t id_hash(uint32_t id)
{
    return (id * 0x9e3779b97f4a7c15ULL) >> 20;
}

static bool slot_matches(const void *context, uint32_t slot, const void *id)
{
    const struct queue *queue = context;
    return queue->entries[slot].id == *(const uint32_t *)id;
}

static uint64_t slot_hash(const void *context, uint32_t slot)
{
    const struct queue *queue = context;
    return id_hash(queue->entries[slot].id);
}

static const struct table_ops slot_ops = {slot_matches, slot_hash};

struct queue *queue_new(void)
{
    struct queue *queue = mem_new_of(struct queue);
    queue->by_id.ops = &slot_ops;
    queue->by_id.context = queue;
    for (size_t i = 0; i < LINES; i++)
        queue->lines[i] = (struct line){NO_ID, NO_ID};
    return queue;
}

void queue_free(struct queue *queue)
{
    if (!queue)
        return;
    table_done(&queue->by_id);
    backlog_done(&queue->background);
    slots_done(&queue->slots);
    free(queue->entries);
    free(queue->alarms);
    free(queue);
}

static uint32_t slot_find(const struct queue *queue, uint32_t id)
{
    return table_find(&queue->by_id, id_hash(id), &id);
}

static uint32_t slot_get(struct queue *queue, uint32_t id)
{
    uint32_t slot = slot_find(queue, id);
    must(id != NO_ID);
    if (slot != TABLE_NONE)
        return slot;
    slot = slots_take(&queue->slots);
    mem_reserve(&queue->entries, &queue->capacity, queue->slots.end);
    queue->entries[slot] = (struct entry){.id = id,
                                          .next = NO_ID,
                                          .previous = NO_ID,
                                          .timer_ms = NO_TIME,
                                          .level = QUEUE_USER,
                                          .timer_level = QUEUE_BACKGROUND};
    table_add(&queue->by_id, id_hash(id), slot);
    return slot;
}

static void slot_put_back(struct queue *queue, uint32_t slot)
{
    struct entry *entry = &queue->entries[slot];
    if (entry->is_due || entry->timer_ms != NO_TIME)
        return;
    table_remove(&queue->by_id, id_hash(entry->id), slot);
    entry->id = NO_ID;
    slots_give(&queue->slots, slot);
}

static void line_remove(struct queue *queue, uint32_t slot)
{
    struct entry *entry = &queue->entries[slot];
    struct line *line = &queue->lines[entry->level];
    if (entry->previous == NO_ID)
        line->first = entry->next;
    else
        queue->entries[entry->previous].next = entry->next;
    if (entry->next == NO_ID)
        line->last = entry->previous;
    else
        queue->entries[entry->next].previous = entry->previous;
    entry->is_due = false;
    entry->next = entry->previous = NO_ID;
    queue->line_depth--;
}

static void line_append(struct queue *queue, uint32_t slot, enum queue_level level)
{
    struct entry *entry = &queue->entries[slot];
    struct line *line = &queue->lines[level];
    entry->is_due = true;
    entry->level = (uint8_t)level;
    entry->next = NO_ID;
    entry->previous = line->last;
    if (line->last == NO_ID)
        line->first = slot;
    else
        queue->entries[line->last].next = slot;
    line->last = slot;
    queue->line_depth++;
}

static void add_to_line(struct queue *queue, uint32_t id, enum queue_level level, int64_t now_ms)
{
    uint32_t slot = slot_get(queue, id);
    bool was_due = queue->entries[slot].is_due;
    if (was_due && queue->entries[slot].level <= level)
        return;
    if (was_due) {
        line_remove(queue, slot);
    } else {
        queue->entries[slot].added_ms = (uint32_t)now_ms;
        queue->adds += !backlog_remove(&queue->background, id);
    }
    line_append(queue, slot, level);
}

static void add_in_background(struct queue *queue, uint32_t id, int64_t now_ms)
{
    uint32_t slot = slot_find(queue, id);
    must(id != NO_ID);
    if (backlog_has(&queue->background, id) || (slot != TABLE_NONE && queue->entries[slot].is_due))
        return;
    backlog_add(&queue->background, id, (uint32_t)now_ms);
    queue->adds++;
}

void queue_add(struct queue *queue, uint32_t id, enum queue_level level, int64_t now_ms)
{
    if (level == QUEUE_BACKGROUND)
        add_in_background(queue, id, now_ms);
    else
        add_to_line(queue, id, level, now_ms);
}

static bool alarm_before(const struct alarm *a, const struct alarm *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->id < b->id;
}

static void alarm_push(struct queue *queue, struct alarm alarm)
{
    mem_reserve(&queue->alarms, &queue->alarm_capacity, queue->alarm_count + 1);
    size_t at = queue->alarm_count++;
    while (at > 0 && alarm_before(&alarm, &queue->alarms[(at - 1) / 2])) {
        queue->alarms[at] = queue->alarms[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    queue->alarms[at] = alarm;
}

static void alarm_drop_first(struct queue *queue)
{
    struct alarm moved = queue->alarms[--queue->alarm_count];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= queue->alarm_count)
            break;
        if (child + 1 < queue->alarm_count &&
            alarm_before(&queue->alarms[child + 1], &queue->alarms[child]))
            child++;
        if (!alarm_before(&queue->alarms[child], &moved))
            break;
        queue->alarms[at] = queue->alarms[child];
        at = child;
    }
    if (queue->alarm_count)
        queue->alarms[at] = moved;
}

static bool alarm_is_stale(const struct queue *queue, const struct alarm *alarm)
{
    uint32_t slot = slot_find(queue, alarm->id);
    return slot == TABLE_NONE || queue->entries[slot].timer_ms != alarm->at_ms;
}

static void alarms_trim(struct queue *queue)
{
    while (queue->alarm_count && alarm_is_stale(queue, &queue->alarms[0]))
        alarm_drop_first(queue);
}

void queue_after(struct queue *queue, uint32_t id, enum queue_level level, int64_t at_ms)
{
    uint32_t slot = slot_get(queue, id);
    struct entry *entry = &queue->entries[slot];
    if (level < entry->timer_level)
        entry->timer_level = (uint8_t)level;
    if (entry->timer_ms <= at_ms)
        return;
    entry->timer_ms = at_ms;
    alarm_push(queue, (struct alarm){at_ms, id});
}

int64_t queue_time_ms(const struct queue *queue, uint32_t id)
{
    uint32_t slot = slot_find(queue, id);
    if (slot == TABLE_NONE)
        return INT64_MAX;
    return queue->entries[slot].is_due ? INT64_MIN : queue->entries[slot].timer_ms;
}

void queue_cancel_timer(struct queue *queue, uint32_t id)
{
    uint32_t slot = slot_find(queue, id);
    if (slot == TABLE_NONE || queue->entries[slot].timer_ms == NO_TIME)
        return;
    queue->entries[slot].timer_ms = NO_TIME;
    queue->entries[slot].timer_level = QUEUE_BACKGROUND;
    slot_put_back(queue, slot);
    alarms_trim(queue);
}

void queue_forget(struct queue *queue, uint32_t id)
{
    uint32_t slot = slot_find(queue, id);
    backlog_remove(&queue->background, id);
    if (slot == TABLE_NONE)
        return;
    queue->entries[slot].timer_ms = NO_TIME;
    if (queue->entries[slot].is_due)
        line_remove(queue, slot);
    slot_put_back(queue, slot);
    alarms_trim(queue);
}

static void alarms_ring(struct queue *queue, int64_t now_ms)
{
    for (alarms_trim(queue); queue->alarm_count && queue->alarms[0].at_ms <= now_ms;
         alarms_trim(queue)) {
        uint32_t id = queue->alarms[0].id;
        struct entry *entry = &queue->entries[slot_find(queue, id)];
        enum queue_level level = entry->timer_level;
        entry->timer_ms = NO_TIME;
        entry->timer_level = QUEUE_BACKGROUND;
        alarm_drop_first(queue);
        queue_add(queue, id, level, now_ms);
    }
}

// Only timers are left: they move to slots of their own number.
static void shrink(struct queue *queue)
{
    size_t live = slots_taken(&queue->slots);
    if (queue->capacity < SHRINK_FROM || live > queue->capacity / 8)
        return;
    struct entry *kept = mem_new_array(struct entry, live + 1);
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < queue->slots.end; slot++)
        if (queue->entries[slot].id != NO_ID)
            kept[count++] = queue->entries[slot];
    table_done(&queue->by_id);
    free(queue->entries);
    queue->entries = kept;
    queue->capacity = (size_t)count + 1;
    slots_done(&queue->slots);
    queue->slots.end = count;
    for (uint32_t slot = 0; slot < count; slot++)
        table_add(&queue->by_id, id_hash(kept[slot].id), slot);
}

// Background work rises: once it waited for long it goes before what came later.
static bool goes_first(const struct queue *queue, const struct backlog_item *item, int64_t now_ms)
{
    uint32_t first = queue->lines[QUEUE_USER].first;
    if (first == NO_ID)
        return true;
    uint32_t other_ms = queue->entries[first].added_ms;
    return (uint32_t)now_ms - item->added_ms > RISE_MS && (int32_t)(item->added_ms - other_ms) <= 0;
}

static void pop_from(struct queue *queue, enum queue_level level, int64_t now_ms, uint32_t *id)
{
    uint32_t slot = queue->lines[level].first;
    *id = queue->entries[slot].id;
    queue->last_wait_ms = (uint32_t)now_ms - queue->entries[slot].added_ms;
    line_remove(queue, slot);
    slot_put_back(queue, slot);
}

bool queue_has_urgent(const struct queue *queue)
{
    return queue->lines[QUEUE_URGENT].first != NO_ID;
}

bool queue_pop_urgent(struct queue *queue, int64_t now_ms, uint32_t *id)
{
    alarms_ring(queue, now_ms);
    if (!queue_has_urgent(queue))
        return false;
    pop_from(queue, QUEUE_URGENT, now_ms, id);
    return true;
}

bool queue_pop(struct queue *queue, int64_t now_ms, uint32_t *id)
{
    if (queue_pop_urgent(queue, now_ms, id))
        return true;
    const struct backlog_item *item = backlog_first(&queue->background);
    if (!queue_depth(queue)) {
        shrink(queue);
        return false;
    }
    if (item && goes_first(queue, item, now_ms)) {
        *id = item->id;
        queue->last_wait_ms = (uint32_t)now_ms - item->added_ms;
        backlog_remove(&queue->background, *id);
    } else {
        pop_from(queue, QUEUE_USER, now_ms, id);
    }
    return true;
}

uint32_t queue_depth(const struct queue *queue)
{
    return queue->line_depth + queue->background.depth;
}

uint64_t queue_adds(const struct queue *queue)
{
    return queue->adds;
}

int64_t queue_last_wait_ms(const struct queue *queue)
{
    return queue->last_wait_ms;
}

int64_t queue_next_ms(const struct queue *queue)
{
    if (queue_depth(queue))
        return INT64_MIN;
    return queue->alarm_count ? queue->alarms[0].at_ms : INT64_MAX;
}
