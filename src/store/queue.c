#include "store/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/must.h"

#define NO_ID UINT32_MAX
#define RISE_MS 60000
#define NO_TIME INT64_MAX
#define SHRINK_FROM 4096

enum place { PLACE_NOWHERE, PLACE_USER, PLACE_BACKGROUND };

struct entry {
    uint32_t next;
    uint32_t previous;
    int64_t timer_ms; // NO_TIME: none
    uint32_t added_s;
    enum place place;
};

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
    size_t entry_capacity;
    struct line lines[PLACE_BACKGROUND + 1];
    uint32_t depth;
    struct alarm *alarms; // binary heap; stale ones are skipped
    size_t alarm_count;
    size_t alarm_capacity;
};

struct queue *queue_new(void)
{
    struct queue *queue = mem_new_of(struct queue);
    for (size_t i = 0; i < COUNT_OF(queue->lines); i++)
        queue->lines[i] = (struct line){NO_ID, NO_ID};
    return queue;
}

void queue_free(struct queue *queue)
{
    if (!queue)
        return;
    free(queue->entries);
    free(queue->alarms);
    free(queue);
}

static struct entry *entry_get(struct queue *queue, uint32_t id)
{
    size_t old = queue->entry_capacity;
    must(id != NO_ID);
    mem_reserve(&queue->entries, &queue->entry_capacity, (size_t)id + 1);
    for (size_t i = old; i < queue->entry_capacity; i++)
        queue->entries[i] = (struct entry){NO_ID, NO_ID, NO_TIME, 0, PLACE_NOWHERE};
    return &queue->entries[id];
}

static void line_remove(struct queue *queue, uint32_t id)
{
    struct entry *entry = &queue->entries[id];
    struct line *line = &queue->lines[entry->place];
    if (entry->previous == NO_ID)
        line->first = entry->next;
    else
        queue->entries[entry->previous].next = entry->next;
    if (entry->next == NO_ID)
        line->last = entry->previous;
    else
        queue->entries[entry->next].previous = entry->previous;
    entry->place = PLACE_NOWHERE;
    entry->next = entry->previous = NO_ID;
    queue->depth--;
}

static void line_append(struct queue *queue, uint32_t id, enum place place)
{
    struct entry *entry = &queue->entries[id];
    struct line *line = &queue->lines[place];
    entry->place = place;
    entry->next = NO_ID;
    entry->previous = line->last;
    if (line->last == NO_ID)
        line->first = id;
    else
        queue->entries[line->last].next = id;
    line->last = id;
    queue->depth++;
}

void queue_add(struct queue *queue, uint32_t id, enum queue_level level, int64_t now_ms)
{
    struct entry *entry = entry_get(queue, id);
    enum place place = level == QUEUE_USER ? PLACE_USER : PLACE_BACKGROUND;
    if (entry->place == PLACE_USER || entry->place == place)
        return;
    if (entry->place != PLACE_NOWHERE)
        line_remove(queue, id);
    else
        entry->added_s = (uint32_t)(now_ms / 1000);
    line_append(queue, id, place);
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
    return queue->entries[alarm->id].timer_ms != alarm->at_ms;
}

static void alarms_trim(struct queue *queue)
{
    while (queue->alarm_count && alarm_is_stale(queue, &queue->alarms[0]))
        alarm_drop_first(queue);
}

void queue_after(struct queue *queue, uint32_t id, int64_t at_ms)
{
    struct entry *entry = entry_get(queue, id);
    if (entry->timer_ms <= at_ms)
        return;
    entry->timer_ms = at_ms;
    alarm_push(queue, (struct alarm){at_ms, id});
}

void queue_cancel_timer(struct queue *queue, uint32_t id)
{
    if (id >= queue->entry_capacity)
        return;
    queue->entries[id].timer_ms = NO_TIME;
    alarms_trim(queue);
}

void queue_forget(struct queue *queue, uint32_t id)
{
    if (id >= queue->entry_capacity)
        return;
    if (queue->entries[id].place != PLACE_NOWHERE)
        line_remove(queue, id);
    queue_cancel_timer(queue, id);
}

static void alarms_ring(struct queue *queue, int64_t now_ms)
{
    for (alarms_trim(queue); queue->alarm_count && queue->alarms[0].at_ms <= now_ms;
         alarms_trim(queue)) {
        uint32_t id = queue->alarms[0].id;
        queue->entries[id].timer_ms = NO_TIME;
        alarm_drop_first(queue);
        queue_add(queue, id, QUEUE_USER, now_ms);
    }
}

// After the start-up flood: the ids that still have a timer are few, and mostly small.
static void shrink(struct queue *queue)
{
    size_t needed = 1;
    if (queue->depth || queue->entry_capacity < SHRINK_FROM)
        return;
    for (size_t i = 0; i < queue->alarm_count; i++)
        if (!alarm_is_stale(queue, &queue->alarms[i]) && queue->alarms[i].id >= needed)
            needed = (size_t)queue->alarms[i].id + 1;
    if (needed > queue->entry_capacity / 4)
        return;
    for (size_t i = queue->alarm_count; i-- > 0;)
        if (queue->alarms[i].id >= needed)
            return;
    queue->entries = mem_resize(queue->entries, needed, sizeof *queue->entries);
    queue->entry_capacity = needed;
}

static bool has_waited(const struct queue *queue, uint32_t id, int64_t now_ms)
{
    return now_ms - (int64_t)queue->entries[id].added_s * 1000 > RISE_MS;
}

bool queue_pop(struct queue *queue, int64_t now_ms, uint32_t *id)
{
    alarms_ring(queue, now_ms);
    uint32_t user = queue->lines[PLACE_USER].first;
    uint32_t background = queue->lines[PLACE_BACKGROUND].first;
    if (user == NO_ID && background == NO_ID) {
        shrink(queue);
        return false;
    }
    bool is_background =
        user == NO_ID || (background != NO_ID && has_waited(queue, background, now_ms) &&
                          queue->entries[background].added_s <= queue->entries[user].added_s);
    *id = is_background ? background : user;
    line_remove(queue, *id);
    return true;
}

uint32_t queue_depth(const struct queue *queue)
{
    return queue->depth;
}

int64_t queue_next_ms(const struct queue *queue)
{
    if (queue->depth)
        return INT64_MIN;
    return queue->alarm_count ? queue->alarms[0].at_ms : INT64_MAX;
}
