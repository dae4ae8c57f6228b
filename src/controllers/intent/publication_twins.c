#include <stdlib.h>

#include "controllers/intent/native.h"
#include "controllers/intent/publication_reconcile.h"

// Names that one publication has in two native records which lead to one zone of one server. Each
// record has an owner id of its own there, so only one of them can have the name.

// ---- records ------------------------------------------------------------------------------------

static bool is_native(const struct resolved_record *record)
{
    return !record->fault && record->object && record->record->is_native;
}

static bool has_common_server(struct arena *arena, const struct resolved_record *a,
                              const struct resolved_record *b)
{
    return a->object != b->object &&
           !strcmp(native_server(arena, a->record), native_server(arena, b->record));
}

static bool has_twins(const struct publication_reconcile *reconcile)
{
    const struct resolved *resolved = &reconcile->resolved;
    for (size_t i = 0; i < resolved->record_count; i++)
        for (size_t at = 0; at < i && is_native(&resolved->records[i]); at++)
            if (is_native(&resolved->records[at]) &&
                has_common_server(reconcile->arena, &resolved->records[at], &resolved->records[i]))
                return true;
    return false;
}

// ---- names --------------------------------------------------------------------------------------

// Sorts by name; of one name, endpoints that stand already come first.
static int compare_endpoints(const void *a, const void *b)
{
    const struct intent_endpoint *left = *(const struct intent_endpoint *const *)a;
    const struct intent_endpoint *right = *(const struct intent_endpoint *const *)b;
    int order = text_compare(left->service->name, right->service->name);
    if (!order)
        order = (left->standing == NULL) - (right->standing == NULL);
    return order ? order : (left > right) - (left < right);
}

static bool is_in_way(struct arena *arena, const struct intent_endpoint *first,
                      const struct intent_endpoint *other)
{
    if (!first->set_count || !has_common_server(arena, first->record, other->record))
        return false;
    struct text name = other->service->name;
    struct text zone = native_zone_for(arena, other->record->record, name);
    return zone.len && text_equal(native_zone_for(arena, first->record->record, name), zone);
}

static void yield_to(struct publication_reconcile *reconcile, const struct intent_endpoint *first,
                     struct intent_endpoint *endpoint)
{
    struct arena *arena = reconcile->arena;
    endpoint_give_up(endpoint, NAME_CONFLICT, REASON_NAME_CONFLICT,
                     arena_printf(arena,
                                  "DNSUpdateRecord %s has the name in the same zone of the same "
                                  "server: list one of the two records for it",
                                  first->record->shown));
}

void publication_yield_to_twins(struct publication_reconcile *reconcile)
{
    size_t count = 0;
    if (!has_twins(reconcile))
        return;
    struct intent_endpoint **sorted =
        arena_new_array(reconcile->arena, struct intent_endpoint *, reconcile->endpoint_count + 1);
    for (size_t i = 0; i < reconcile->endpoint_count; i++)
        if (reconcile->endpoints[i].set_count && is_native(reconcile->endpoints[i].record))
            sorted[count++] = &reconcile->endpoints[i];
    if (count)
        qsort(sorted, count, sizeof *sorted, compare_endpoints);
    for (size_t i = 1; i < count; i++)
        for (size_t at = i; sorted[i]->set_count && at-- > 0;) {
            if (!text_equal(sorted[at]->service->name, sorted[i]->service->name))
                break;
            if (is_in_way(reconcile->arena, sorted[at], sorted[i]))
                yield_to(reconcile, sorted[at], sorted[i]);
        }
}
