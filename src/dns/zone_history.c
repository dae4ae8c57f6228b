#include "dns/zone_history.h"

#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "dns/serial.h"

enum { ZONE_PART = 4 }; // more than this part of a zone costs more than all of it

struct zone_history {
    struct zone *newest;
    struct zone_step **steps;
    size_t count;
    size_t capacity;
    size_t octets;
};

static uint32_t serial_of(const struct rrset *soa)
{
    struct zone_soa read;
    zone_soa_read(soa, &read);
    return read.serial;
}

struct zone_step *zone_step_ref(const struct zone_step *step)
{
    struct zone_step *own = (struct zone_step *)(uintptr_t)step;
    own->refs++;
    return own;
}

void zone_step_unref(const struct zone_step *step)
{
    struct zone_step *own = (struct zone_step *)(uintptr_t)step;
    if (!own)
        return;
    must(own->refs);
    if (--own->refs)
        return;
    rrset_unref(own->old_soa);
    rrset_unref(own->new_soa);
    zone_delta_done(&own->delta);
    free(own);
}

struct zone_history *zone_history_new(void)
{
    return mem_new_of(struct zone_history);
}

static void forget(struct zone_history *history, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        history->octets -= history->steps[i]->delta.octets;
        zone_step_unref(history->steps[i]);
    }
    history->count -= count;
    if (count)
        memmove(history->steps, history->steps + count, history->count * sizeof *history->steps);
}

void zone_history_free(struct zone_history *history)
{
    if (!history)
        return;
    forget(history, history->count);
    zone_unref(history->newest);
    free(history->steps);
    free(history);
}

static struct zone_step *step_new(const struct zone *old, const struct zone *new_)
{
    struct zone_step *step = mem_new_of(struct zone_step);
    step->refs = 1;
    step->old_soa = rrset_ref(zone_soa(old));
    step->new_soa = rrset_ref(zone_soa(new_));
    zone_compare(old, new_, &step->delta);
    return step;
}

static void keep_step(struct zone_history *history, struct zone_step *step)
{
    mem_reserve(&history->steps, &history->capacity, history->count + 1);
    history->steps[history->count++] = step;
    history->octets += step->delta.octets;
}

// How many of the oldest steps are too much, or so old that serials came round to theirs.
static size_t excess(const struct zone_history *history)
{
    uint32_t serial = zone_serial(history->newest);
    size_t octets_max = zone_octets(history->newest) / ZONE_PART;
    size_t octets = history->octets;
    size_t count = 0;
    if (octets_max > ZONE_STEPS_OCTETS_MAX)
        octets_max = ZONE_STEPS_OCTETS_MAX;
    while (count < history->count &&
           (history->count - count > ZONE_STEPS_MAX || octets > octets_max ||
            !serial_is_before(serial_of(history->steps[count]->old_soa), serial)))
        octets -= history->steps[count++]->delta.octets;
    return count;
}

static bool have_one_content(const struct zone *a, const struct zone *b)
{
    uint8_t left[32];
    uint8_t right[32];
    if (a == b)
        return true;
    if (zone_serial(a) != zone_serial(b) || !dname_equal(zone_apex(a), zone_apex(b)))
        return false;
    zone_digest(a, left);
    zone_digest(b, right);
    return !memcmp(left, right, sizeof left);
}

static bool follows(const struct zone *old, const struct zone *new_)
{
    return dname_equal(zone_apex(old), zone_apex(new_)) &&
           serial_is_before(zone_serial(old), zone_serial(new_));
}

static void replace_newest(struct zone_history *history, const struct zone *zone)
{
    struct zone *old = history->newest;
    history->newest = zone_ref(zone);
    zone_unref(old);
}

void zone_history_publish(struct zone_history *history, const struct zone *zone)
{
    const struct zone *old = history->newest;
    if (old && follows(old, zone))
        keep_step(history, step_new(old, zone));
    else if (old && !have_one_content(old, zone))
        forget(history, history->count);
    replace_newest(history, zone);
    forget(history, excess(history));
}

const struct zone *zone_history_newest(const struct zone_history *history)
{
    return history->newest;
}

size_t zone_history_steps(const struct zone_history *history, uint32_t serial,
                          struct zone_step *const **steps)
{
    for (size_t i = history->count; i-- > 0;)
        if (serial_of(history->steps[i]->old_soa) == serial) {
            *steps = history->steps + i;
            return history->count - i;
        }
    return 0;
}

size_t zone_history_octets(const struct zone_history *history)
{
    return history->octets;
}
