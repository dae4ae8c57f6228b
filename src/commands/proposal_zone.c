#include <inttypes.h>
#include <string.h>

#include "commands/proposal.h"

// Changes of zones that we serve ourselves, as text and as JSON.

const char *proposal_zone_type(const struct proposal_zone *zone)
{
    static const char *const words[] = {[PROPOSAL_ZONE] = "zone", [PROPOSAL_MEMBER] = "member"};
    return zone->part == PROPOSAL_RECORDS ? zone->type : words[zone->part];
}

// ---- text ---------------------------------------------------------------------------------------

static void write_counts(struct buffer *out, const struct proposal_zone *zone)
{
    bool is_there = zone->records >= 0;
    int64_t count = is_there ? zone->records : zone->records_before;
    buffer_printf(out, "of %" PRId64 " record%s", count, count == 1 ? "" : "s");
    if (is_there && zone->records_before >= 0)
        buffer_printf(out, ", %" PRId64 " before", zone->records_before);
    if (zone->note)
        buffer_printf(out, "; %s", zone->note);
}

void proposal_zone_write_values(struct buffer *out, const struct proposal_zone *zone)
{
    if (zone->part == PROPOSAL_ZONE)
        write_counts(out, zone);
    else if (zone->part == PROPOSAL_MEMBER)
        buffer_printf(out, "of catalog %s", zone->catalog);
    for (size_t i = 0; i < zone->value_count; i++)
        buffer_printf(out, "%s%s", i ? ", " : "", zone->values[i]);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void put_known(struct arena *arena, struct value *map, const char *key, const char *text)
{
    if (text)
        value_put_text(arena, map, key, text);
}

static void put_count(struct arena *arena, struct value *map, const char *key, int64_t count)
{
    if (count >= 0)
        value_put_int(arena, map, key, count);
}

static void put_values(struct arena *arena, struct value *map, const struct proposal_zone *zone)
{
    struct value *values = value_make(arena, VALUE_LIST);
    for (size_t i = 0; i < zone->value_count; i++)
        value_append(values, value_make_text(arena, text_of(zone->values[i])));
    value_put_int(arena, map, "ttl", zone->ttl_s);
    value_set(map, TEXT("values"), values);
}

void proposal_zone_put(struct arena *arena, struct value *map, const struct proposal_zone *zone,
                       bool is_deletion)
{
    value_put_text(arena, map, "zone", zone->apex);
    put_known(arena, map, "servers", zone->servers);
    value_put_text(arena, map, "name", zone->name);
    value_put_text(arena, map, "type", proposal_zone_type(zone));
    put_known(arena, map, "catalog", zone->catalog);
    put_count(arena, map, "records", zone->records);
    put_count(arena, map, "recordsBefore", zone->records_before);
    put_known(arena, map, "hash", zone->hash);
    put_known(arena, map, "note", zone->note);
    if (zone->part == PROPOSAL_RECORDS && !is_deletion)
        put_values(arena, map, zone);
}

// ---- order --------------------------------------------------------------------------------------

// The zone itself first; then its records by name.
int proposal_zone_compare(const struct proposal_zone *a, const struct proposal_zone *b)
{
    int order = (a->part > b->part) - (a->part < b->part);
    if (!order)
        order = strcmp(a->name, b->name);
    return order ? order : strcmp(proposal_zone_type(a), proposal_zone_type(b));
}

static bool is_same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool proposal_zone_equal(const struct proposal_zone *a, const struct proposal_zone *b)
{
    bool is_same = is_same_text(a->note, b->note) && is_same_text(a->catalog, b->catalog) &&
                   is_same_text(a->hash, b->hash) && a->records == b->records &&
                   a->records_before == b->records_before && a->ttl_s == b->ttl_s &&
                   a->value_count == b->value_count;
    for (size_t i = 0; is_same && i < a->value_count; i++)
        is_same = !strcmp(a->values[i], b->values[i]);
    return is_same;
}
