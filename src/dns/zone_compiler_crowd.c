#include <stdlib.h>

#include "dns/rdata.h"
#include "dns/zone_compiler_private.h"

// How much stands at one name. Servers set limits, and named fetches no zone in which one name is
// over them; so the oldest records stay, up to the limits.

struct guest {
    struct zone_record *record;
    size_t age; // its place in the order of ages
};
struct crowd {
    const struct zone_compiler *compiler;
    const struct zone_node *node;
    struct guest *guests;
    size_t count;
    size_t capacity;
    bool has_put_out;
};

// Two records are few enough by any limit, unless both are large.
static bool may_be_over(const struct zone_compiler *compiler, const struct zone_node *node)
{
    size_t count = 0, octets = 0;
    const struct zone_limits *limits = &compiler->frame.limits;
    for (const struct zone_record *record = node->records; record; record = record->next) {
        count++;
        octets += record->rdata_len + RDATA_OVERHEAD;
    }
    return (limits->records_per_type && count > limits->records_per_type) ||
           (limits->types_per_name && count + 1 > limits->types_per_name) ||
           octets > RDATA_SET_ROOM - DNAME_MAX;
}

static void collect(struct crowd *crowd)
{
    crowd->count = 0;
    crowd->has_put_out = false;
    const struct zone_record *by = NULL;
    struct zone_rivals rivals = zone_rivals_of(crowd->compiler, crowd->node);
    for (struct zone_record *record = crowd->node->records; record; record = record->next) {
        if (crowd->node->flags & NODE_IS_CHILD && zone_record_is_foreign(record))
            continue;
        if (zone_rivals_meet(&rivals, record, &by))
            continue;
        mem_reserve(&crowd->guests, &crowd->capacity, crowd->count + 1);
        crowd->guests[crowd->count] = (struct guest){record, crowd->count};
        crowd->count++;
    }
}

static int by_number(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

// Equal ones beside each other, the oldest of these first.
static int compare_content(const void *a, const void *b)
{
    const struct guest *left = a, *right = b;
    int order = by_number(left->record->type, right->record->type);
    if (!order)
        order = text_compare(zone_record_rdata(left->record), zone_record_rdata(right->record));
    return order ? order : by_number(left->age, right->age);
}

// Each has the age of the oldest that is equal: they stand in the zone as one.
static int compare_type_and_age(const void *a, const void *b)
{
    const struct guest *left = a, *right = b;
    int order = by_number(left->record->type, right->record->type);
    return order ? order : by_number(left->age, right->age);
}

static int compare_age(const void *a, const void *b)
{
    const struct guest *left = a, *right = b;
    return by_number(left->age, right->age);
}

static void merge_equal(struct crowd *crowd)
{
    qsort(crowd->guests, crowd->count, sizeof *crowd->guests, compare_content);
    for (size_t i = 1; i < crowd->count; i++)
        if (zone_record_equal(crowd->guests[i].record, crowd->guests[i - 1].record))
            crowd->guests[i].age = crowd->guests[i - 1].age;
}

static size_t end_of_type(const struct crowd *crowd, size_t first)
{
    size_t end = first + 1;
    while (end < crowd->count &&
           crowd->guests[end].record->type == crowd->guests[first].record->type)
        end++;
    return end;
}

static void put_out(struct crowd *crowd, const struct guest *guest, uint16_t flag)
{
    guest->record->flags |= flag;
    crowd->has_put_out = true;
}

static size_t owner_octets(const struct crowd *crowd)
{
    uint8_t octets[DNAME_MAX];
    return zone_node_name(crowd->compiler, crowd->node, octets).len;
}

// Of one type, the older ones first.
static void limit_type(struct crowd *crowd, size_t first, size_t end)
{
    uint32_t most = crowd->compiler->frame.limits.records_per_type;
    size_t count = 0, octets = owner_octets(crowd);
    bool is_over = false;
    for (size_t i = first; i < end; i++) {
        struct guest *guest = &crowd->guests[i];
        bool is_new = i == first || guest->age != crowd->guests[i - 1].age;
        size_t more = guest->record->rdata_len + (size_t)RDATA_OVERHEAD;
        if (is_new)
            is_over = (most && count == most) || octets + more > RDATA_SET_ROOM;
        if (is_over)
            put_out(crowd, guest, RECORD_OVER_RECORDS);
        count += is_new && !is_over;
        octets += is_new && !is_over ? more : 0;
    }
}

static void limit_records(struct crowd *crowd)
{
    qsort(crowd->guests, crowd->count, sizeof *crowd->guests, compare_type_and_age);
    for (size_t first = 0, end; first < crowd->count; first = end) {
        end = end_of_type(crowd, first);
        limit_type(crowd, first, end);
    }
}

static bool is_nameserver(const struct crowd *crowd)
{
    const struct zone_compiler *compiler = crowd->compiler;
    for (size_t i = 0; i < compiler->nameserver_within_count; i++)
        if (zone_record_link(compiler->nameservers_within[i])->target == crowd->node)
            return true;
    return false;
}

// Without these types there would be no zone: they come first, whoever was there before.
static bool is_vital(const struct crowd *crowd, const struct zone_record *record)
{
    return (crowd->node == crowd->compiler->apex && record->type == RR_NS) ||
           (zone_record_is_address(record) && is_nameserver(crowd));
}

// Of the guests by type and age: the type is as old as its oldest.
static void limit_types(struct crowd *crowd)
{
    uint32_t most = crowd->compiler->frame.limits.types_per_name;
    size_t count = crowd->node == crowd->compiler->apex; // which has the SOA
    if (!most)
        return;
    for (size_t first = 0, end; first < crowd->count; first = end) {
        end = end_of_type(crowd, first);
        struct guest oldest = crowd->guests[first];
        for (size_t i = first; i < end; i++)
            crowd->guests[i].age = oldest.age + (is_vital(crowd, oldest.record) ? 0 : crowd->count);
    }
    qsort(crowd->guests, crowd->count, sizeof *crowd->guests, compare_age);
    for (size_t i = 0; i < crowd->count; i++) {
        bool is_new = !i || crowd->guests[i].age != crowd->guests[i - 1].age;
        count += is_new;
        if (count > most)
            put_out(crowd, &crowd->guests[i], RECORD_OVER_TYPES);
    }
}

static void limit(struct crowd *crowd)
{
    if (!crowd->count)
        return;
    merge_equal(crowd);
    limit_records(crowd);
    limit_types(crowd);
}

void zone_crowd_settle(const struct zone_compiler *compiler, struct zone_node *node)
{
    struct crowd crowd = {.compiler = compiler, .node = node};
    for (struct zone_record *record = node->records; record; record = record->next)
        record->flags &= (uint16_t)~RECORD_OVER;
    if (!may_be_over(compiler, node))
        return;
    // Those that are out let in who had lost to them.
    do {
        collect(&crowd);
        limit(&crowd);
    } while (crowd.has_put_out);
    free(crowd.guests);
}
