#include "dns/primary_records.h"

#include <stdlib.h>

#include "dns/rr_type.h"
#include "dns/serial.h"

// Differences of more than this part of the zone are slower to take in than all of it.
enum { WORTHWHILE_PART = 4 };

void primary_records_init(struct primary_records *records, const struct zone *zone,
                          enum primary_shape shape)
{
    *records = (struct primary_records){.shape = shape, .zone = zone_ref(zone)};
    records->walk.zone = records->zone;
}

static bool is_worthwhile(const struct zone *zone, struct zone_step *const *steps, size_t count)
{
    size_t records = 0;
    for (size_t i = 0; i < count; i++)
        records += steps[i]->delta.record_count;
    return count && records <= zone_record_count(zone) / WORTHWHILE_PART;
}

void primary_records_init_since(struct primary_records *records, const struct zone_history *history,
                                uint32_t serial)
{
    struct zone_step *const *steps;
    const struct zone *zone = zone_history_newest(history);
    if (!serial_is_before(serial, zone_serial(zone))) {
        primary_records_init(records, zone, PRIMARY_ONE_SOA);
        return;
    }
    size_t count = zone_history_steps(history, serial, &steps);
    if (!is_worthwhile(zone, steps, count)) {
        primary_records_init(records, zone, PRIMARY_WHOLE);
        return;
    }
    primary_records_init(records, zone, PRIMARY_STEPS);
    records->steps = mem_new_array(struct zone_step *, count);
    records->step_count = count;
    for (size_t i = 0; i < count; i++)
        records->steps[i] = zone_step_ref(steps[i]);
}

void primary_records_done(struct primary_records *records)
{
    for (size_t i = 0; i < records->step_count; i++)
        zone_step_unref(records->steps[i]);
    free(records->steps);
    zone_unref(records->zone);
    *records = (struct primary_records){0};
}

static const struct rrset *set_of_zone(struct primary_records *records)
{
    const struct rrset *set = zone_walk(&records->walk);
    return set && set->type == RR_SOA ? zone_walk(&records->walk) : set;
}

// NULL: the step has no more.
static const struct rrset *set_of_step(const struct zone_step *step, size_t item)
{
    const struct zone_delta *delta = &step->delta;
    if (item == 0)
        return step->old_soa;
    if (--item < delta->removed_count)
        return delta->removed[item];
    item -= delta->removed_count;
    if (item == 0)
        return step->new_soa;
    return --item < delta->added_count ? delta->added[item] : NULL;
}

static const struct rrset *set_of_steps(struct primary_records *records)
{
    for (; records->step < records->step_count; records->step++, records->item = 0) {
        const struct rrset *set = set_of_step(records->steps[records->step], records->item);
        records->item++;
        if (set)
            return set;
    }
    return NULL;
}

static const struct rrset *inner_set(struct primary_records *records)
{
    return records->shape == PRIMARY_STEPS ? set_of_steps(records) : set_of_zone(records);
}

static const struct rrset *next_set(struct primary_records *records)
{
    if (records->is_done)
        return NULL;
    if (!records->is_begun) {
        records->is_begun = true;
        records->is_done = records->shape == PRIMARY_ONE_SOA;
        return zone_soa(records->zone);
    }
    const struct rrset *set = inner_set(records);
    records->is_done = !set;
    return set ? set : zone_soa(records->zone);
}

bool primary_records_see(struct primary_records *records, const struct rrset **set,
                         struct text *rdata)
{
    while (!records->has_record) {
        if (records->set && rrset_next(records->set, &records->cursor, &records->rdata)) {
            records->has_record = true;
            break;
        }
        records->set = next_set(records);
        records->cursor = 0;
        if (!records->set)
            return false;
    }
    *set = records->set;
    *rdata = records->rdata;
    return true;
}

void primary_records_take(struct primary_records *records)
{
    records->has_record = false;
}
